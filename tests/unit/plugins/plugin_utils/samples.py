# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts as the module preflight returns them, for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.words import (
    CHECKS,
    without_answer,
)

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)

NO_BOUND = 'AuthType "auth/none" has no known landing bound'
KEPT = "comments are kept; AccountingStoreFlags=job_comment"
NOT_KEPT = (
    "comments are not kept: AccountingStoreFlags lacks job_comment; AccountingStoreFlags=(null)"
)
DISABLED = "Slurm accounting storage is disabled; AccountingStoreFlags=(null)"


def capability_list(
    hold: tuple[str, str] = ("yes", ""), accounting: tuple[str, str] = ("yes", KEPT)
) -> list[dict[str, str]]:
    """The fourteen capabilities with the two probed answers given."""
    probed = {"Hold": hold, "AccountingHistory": accounting}
    found = []
    for name, one in without_answer("").items():
        support, reason = probed.get(name, (one.support.value, one.reason))
        reason = reason.replace("KillWait unknown", "KillWait 5 sec")
        source = one.source.value
        found.append({"name": name, "support": support, "source": source, "reason": reason})
    return found


def check(name: str, verdict: str, evidence: str, remedy: str = "") -> dict[str, str]:
    """One check of a preflight."""
    return {"name": name, "verdict": verdict, "evidence": evidence, "remedy": remedy}


def checks(**changed: Mapping[str, str]) -> list[dict[str, str]]:
    """All the preflight's checks, passing, but for the ones that are given."""
    names = [name for name in CHECKS if name != "preflight"]
    return [dict(changed.get(name, check(name, "pass", "%s seen" % name))) for name in names]


def settings(**changed: Any) -> dict[str, Any]:
    """Live settings of a sound cluster, with some changed."""
    found: dict[str, Any] = {
        "AuthType": "auth/munge",
        "AuthInfo": None,
        "AuthAltTypes": [],
        "MinJobAge": 60,
        "MessageTimeout": 10,
        "SlurmdTimeout": 60,
        "KillWait": 5,
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStoreFlags": ["job_comment"],
        "PrologFlags": [],
        "SchedulerParameters": [],
        "JobSubmitPlugins": [],
        "PrivateData": [],
        "JobRequeue": 1,
        "ClusterName": "trixie",
        "SLURM_VERSION": "24.11.5",
    }
    found.update(changed)
    return found


def sound_fact(**changed: Any) -> dict[str, Any]:
    """The fact of a cluster that everything is right with, with top keys replaced."""
    fact: dict[str, Any] = {
        "format": 1,
        "cluster": {
            "name": "trixie",
            "version": "24.11.5",
            "auth_type": "auth/munge",
            "auth_alternates": [],
            "usable": "yes",
            "degraded": "no",
            "controllers": [{"role": "primary", "host": "ctl1", "up": "yes"}],
        },
        "settings": settings(),
        "declarations": {
            "node_loss_window": 180,
            "call_bound": 316,
            "polled_loss": {"state": 60, "cause": 60, "exit_code": 60, "execution": "unbounded"},
            "shortest_bounded_window": 60,
        },
        "capabilities": capability_list(),
        "rules": [
            {"action": "Resubmit", "support": "yes", "source": "declared", "reason": ""},
            {"action": "Hold", "support": "yes", "source": "probed", "reason": ""},
        ],
        "interfaces": [
            {"name": "Holder", "offered": "yes", "modules": ["job_hold", "job_release"]},
            {"name": "CessationSignal", "offered": "no", "modules": []},
        ],
        "checks": checks(),
        "probe": {
            "mode": "auto",
            "ran_at": 1796035200,
            "valid_until": 1796121600,
            "age": 12,
            "cached": True,
            "job_id": "41",
            "user": "root",
            "host": "ctl1",
            "skew": 0,
        },
    }
    fact.update(changed)
    return fact


def authnone_fact() -> dict[str, Any]:
    """A cluster whose writes have no landing bound."""
    fact = sound_fact(
        settings=settings(AuthType="auth/none", ClusterName="authnone"),
        capabilities=capability_list(hold=("no", NO_BOUND)),
        checks=checks(credential_lifetime=check("credential_lifetime", "fail", NO_BOUND)),
    )
    fact["cluster"].update(name="authnone", auth_type="auth/none")
    fact["declarations"].update(call_bound=0)
    return fact


def nocomment_fact() -> dict[str, Any]:
    """A cluster whose accounting forgets comments."""
    fact = sound_fact(
        settings=settings(AccountingStoreFlags=None, ClusterName="nocomment"),
        capabilities=capability_list(accounting=("yes", NOT_KEPT)),
        checks=checks(
            accounting_store_flags=check(
                "accounting_store_flags", "warn", "AccountingStoreFlags = (null)", "Add it"
            )
        ),
    )
    fact["cluster"].update(name="nocomment")
    return fact


def noaccounting_fact() -> dict[str, Any]:
    """A cluster without accounting."""
    fact = sound_fact(
        settings=settings(
            AccountingStorageType=None, AccountingStoreFlags=None, ClusterName="noaccounting"
        ),
        capabilities=capability_list(accounting=("no", DISABLED)),
        checks=checks(
            accounting_storage=check(
                "accounting_storage", "warn", "AccountingStorageType = (null)", "Configure it"
            ),
            accounting_reachable=check(
                "accounting_reachable", "warn", "Slurm accounting storage is disabled"
            ),
        ),
    )
    fact["cluster"].update(name="noaccounting")
    fact["declarations"]["polled_loss"].update(execution=0)
    return fact


CONTROLLER_DOWN = "slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)"


def down_fact() -> dict[str, Any]:
    """What a failed preflight still returns when no controller answers."""
    fact = sound_fact(
        cluster={"name": "unknown", "version": "unknown", "usable": "no", "degraded": "yes"},
        settings=dict.fromkeys(settings(), "unknown"),
        declarations={"node_loss_window": "unknown", "call_bound": "unknown"},
        capabilities=capability_list(
            hold=("unknown", CONTROLLER_DOWN), accounting=("unknown", CONTROLLER_DOWN)
        ),
        interfaces=[],
        checks=[
            check("commands", "pass", "/usr/bin/scontrol"),
            check("controller", "fail", "primary ctl1 is DOWN", "Start slurmctld"),
        ],
    )
    fact["probe"].update(ran_at=None, valid_until=None, job_id=None)
    return fact


def answered(fact: Mapping[str, Any]) -> dict[str, Any]:
    """The registered result of a preflight that worked."""
    return {"changed": False, "ansible_facts": {"slurm_preflight": dict(fact)}}


UNREACHABLE = {
    "unreachable": True,
    "changed": False,
    "msg": "Failed to connect to the host via ssh: ssh: connect to host 10.9.9.9 port 22: timeout",
}

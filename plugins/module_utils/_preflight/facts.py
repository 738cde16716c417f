# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fact ``slurm_preflight``, put together from what was read and answered. Pure.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    Configuration,
    Controller,
    degraded,
    json_safe,
    usable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.landing import landing_bound
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import UNKNOWN
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.cache import Answers
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.capabilities import (
    Support,
    capabilities,
    interfaces,
    rules,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.declarations import (
    declarations,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.started import Place
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.verdicts import Check

FORMAT = 1

#: The settings that the answers and the audit rest on.
SETTINGS = (
    "ClusterName",
    "SLURM_VERSION",
    "AuthType",
    "AuthInfo",
    "AuthAltTypes",
    "MinJobAge",
    "MessageTimeout",
    "SlurmdTimeout",
    "KillWait",
    "AccountingStorageType",
    "AccountingStoreFlags",
    "PrologFlags",
    "SchedulerParameters",
    "JobSubmitPlugins",
    "PrivateData",
    "JobRequeue",
)


@dataclass(frozen=True)
class View:
    """What was read of the cluster; without an answer the configuration is empty."""

    configuration: Configuration
    controllers: Tuple[Controller, ...]


@dataclass(frozen=True)
class Probed:
    """The probe's answers as they stand, and the probe that they rest on (None: there is none)."""

    hold: Support
    accounting: Support
    answers: Optional[Answers] = None
    cached: bool = False
    removed: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Terms:
    """What the caller asked for, as far as the fact depends on it. Durations in seconds."""

    mode: str
    max_age: int
    place: Place
    actions: Sequence[str]
    ceased: bool


def preflight_facts(
    view: View, seen: Probed, checks: Sequence[Check], terms: Terms, now: float
) -> Dict[str, Any]:
    """The value of ``ansible_facts.slurm_preflight``; ``now`` is the host's clock."""
    configuration = view.configuration
    bound = landing_bound(configuration, seen.answers.skew if seen.answers else 0)
    kill_wait = configuration.settings.get("KillWait")
    offered = capabilities(seen.hold, seen.accounting, kill_wait.raw if kill_wait else UNKNOWN)
    named: List[Dict[str, str]] = [
        dict(name=name, **support.as_fact()) for name, support in offered.items()
    ]
    return {
        "format": FORMAT,
        "cluster": _cluster(view),
        "settings": {key: json_safe(configuration.value(key)) for key in SETTINGS},
        "declarations": declarations(configuration, bound, seen.accounting),
        "capabilities": named,
        "rules": rules(terms.actions, seen.hold),
        "interfaces": interfaces(seen.hold, bound, terms.ceased),
        "checks": [check.as_fact() for check in checks],
        "probe": _probe(seen, terms, now),
    }


def _cluster(view: View) -> Dict[str, Any]:
    configuration = view.configuration
    return {
        "name": json_safe(configuration.text("ClusterName")) or UNKNOWN,
        "version": json_safe(configuration.text("SLURM_VERSION")) or UNKNOWN,
        "auth_type": json_safe(configuration.text("AuthType")) or UNKNOWN,
        "auth_alternates": json_safe(configuration.members("AuthAltTypes")),
        "usable": usable(view.controllers).value,
        "degraded": degraded(view.controllers).value,
        "controllers": [one.as_fact() for one in view.controllers],
    }


def _probe(seen: Probed, terms: Terms, now: float) -> Dict[str, Any]:
    answers = seen.answers
    return {
        "mode": terms.mode,
        "ran_at": answers.ran_at if answers else None,
        "valid_until": answers.ran_at + terms.max_age if answers and answers.lasting else None,
        "age": max(0, int(now) - answers.ran_at) if answers else None,
        "cached": seen.cached,
        "job_id": answers.job_id if answers else None,
        "user": terms.place.user,
        "host": terms.place.host,
        "skew": answers.skew if answers else 0,
        "offset": answers.offset if answers else 0.0,
        "removed_jobs": list(seen.removed),
    }

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's closed sets of words: verdicts, capabilities, checks, with what is said about each.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.capabilities import (
    READ_ONLY,
    Support,
    capabilities,
    probed,
)

__all__ = ["READ_ONLY", "Answer"]


class Verdict(StrEnum):
    """What a finding says. ``waived``: the policy has an active waiver for what it found."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"
    WAIVED = "waived"


#: The order in which verdicts weigh: the first one that occurs is the cluster's.
GRAVITY = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.WARN)


def gravest(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of a whole from those of its parts; passed and waived parts don't count."""
    found = set(verdicts)
    return next((verdict for verdict in GRAVITY if verdict in found), Verdict.PASS)


def without_answer(reason: str) -> dict[str, Support]:
    """The fourteen capabilities when no preflight answered: nothing probed, declared ones stand."""
    nothing = probed(Answer.UNKNOWN, reason)
    return capabilities(nothing, nothing, "unknown")


CAPABILITIES: tuple[str, ...] = tuple(without_answer(""))

#: How findings about capabilities are named.
CAPABILITY_PREFIX = "capability_"


@dataclass(frozen=True)
class CheckWords:
    """What a report calls a check, and what the check asks for."""

    title: str
    wanted: str


#: The preflight's checks in its order, behind the audit's own one about the preflight itself.
CHECKS: dict[str, CheckWords] = {
    "preflight": CheckWords("Preflight", "the preflight runs on the host and is answered"),
    "commands": CheckWords("Commands", "Slurm's clients, timeout and date are on the host"),
    "configuration_source": CheckWords("Configuration source", "the clients find a configuration"),
    "controller": CheckWords("Controller", "every configured slurmctld answers"),
    "version": CheckWords("Slurm release", "a release from 22.05 to 26.05"),
    "environment": CheckWords(
        "Environment", "no variable changes what Slurm prints or how it authenticates"
    ),
    "live_configuration": CheckWords(
        "Live configuration", "readable, and the same as this host's slurm.conf"
    ),
    "auth_type": CheckWords("AuthType", "a type with a known landing bound"),
    "credential_lifetime": CheckWords("Credential lifetime", "a known number of seconds"),
    "clock_skew": CheckWords(
        "Clock skew", "slurmctld and the Ansible controller agree on the time"
    ),
    "min_job_age": CheckWords("MinJobAge", "long enough to see how a job ended"),
    "accounting_storage": CheckWords("Accounting storage", "accounting is configured"),
    "accounting_store_flags": CheckWords("AccountingStoreFlags", "job_comment is stored"),
    "accounting_reachable": CheckWords("Accounting answers", "sacct is answered"),
    "requeue_settings": CheckWords(
        "Requeue settings", "nothing requeues a job submitted with --no-requeue"
    ),
    "job_submit_plugins": CheckWords("Job submit plug-ins", "none that could refuse an update"),
    "private_data": CheckWords("PrivateData", "other users' jobs are not hidden"),
    "probe": CheckWords("Probe", "a probe job gave the answers, and nothing of it is left behind"),
}


def check_words(name: str) -> CheckWords:
    """Words for a check, also for one that this version does not know."""
    return CHECKS.get(name, CheckWords(name, "the preflight's own measure"))


def finding_names() -> tuple[str, ...]:
    """Every name that a waiver can be for."""
    return (*CHECKS, *(CAPABILITY_PREFIX + name for name in CAPABILITIES))

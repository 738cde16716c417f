# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why an execution ended: one word for each way, never one for another."""

from __future__ import annotations

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.causes import (
    Cause,
    cause_in_accounting,
    cause_of,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.exits import ExitCode
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import (
    Base,
    Coarse,
    parse_accounting_state,
    parse_state,
)
from ansible_collections.hpcops.slurm.tests.unit import case_words

WORDS = {
    "COMPLETED": "completed",
    "FAILED": "failed",
    "CANCELLED": "cancelled",
    "TIMEOUT": "timeout",
    "OUT_OF_MEMORY": "out_of_memory",
    "PREEMPTED": "preempted",
    "NODE_FAIL": "node_lost",
    "BOOT_FAIL": "boot_failure",
    "DEADLINE": "deadline",
    "PENDING": None,
    "RUNNING": None,
    "SUSPENDED": None,
}


def test_every_base_state_has_a_cause_of_its_own() -> None:
    assert set(WORDS) == set(Base.__members__)
    causes = [word for word in WORDS.values() if word]
    assert len(set(causes)) == len(causes)
    for text, word in WORDS.items():
        assert cause_of(parse_state(text), "None") == word
        accounted = cause_in_accounting(parse_accounting_state(text), "n1", ExitCode(0, 0))
        assert accounted == word
        assert (word is None) == (parse_state(text).coarse is not Coarse.ENDED)


@pytest.mark.parametrize("text", ["FROBNICATED", "OUT_OF_ME+", "", "COMPLETING", "FAILED,TIMEOUT"])
def test_what_is_not_known_is_unknown(text: str) -> None:
    assert cause_of(parse_state(text), "None") is Cause.UNKNOWN
    found = cause_in_accounting(parse_accounting_state(text), "n1", ExitCode(1, 0))
    assert found is Cause.UNKNOWN


def test_flags_that_are_causes() -> None:
    for text in ("REVOKED", "CANCELLED,REVOKED"):
        assert cause_of(parse_state(text), "None") is Cause.REVOKED
    requeued = parse_accounting_state("REQUEUED")
    assert cause_in_accounting(requeued, "n1", ExitCode(0, 0)) is Cause.REQUEUED
    assert cause_of(parse_state("REQUEUED"), "None") is None


def test_no_capacity_is_no_failure() -> None:
    """salloc --immediate on a full cluster, as 24.11.5 shows it in squeue and in sacct."""
    assert cause_of(parse_state("FAILED"), "BadConstraints") is Cause.NO_CAPACITY
    failed = parse_accounting_state("FAILED")
    assert cause_in_accounting(failed, "None assigned", ExitCode(1, 0)) is Cause.NO_CAPACITY
    assert cause_in_accounting(failed, "None assigned", ExitCode(0, 1)) is Cause.UNKNOWN
    assert cause_in_accounting(failed, "n1", ExitCode(1, 0)) is Cause.FAILED


def test_case_d_04() -> None:
    """D-04: states with a tail, cut short, or never seen before."""
    expected = {
        "41007": "cancelled",
        "41008": "out_of_memory",
        "41009": "unknown",
        "41010": "unknown",
        "41012": "completed",
        "41013": "failed",
    }
    said = case_words.case("D-04")["input"]["text"]
    rows = [line.split("|") for line in said.splitlines() if "." not in line]
    found = {
        job: cause_in_accounting(parse_accounting_state(state), "n1", None)
        for job, state, _exit in rows
    }
    assert found == expected

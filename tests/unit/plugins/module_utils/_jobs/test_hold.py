# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hold's encoding, and the gate."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs import hold
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hold import HoldKind
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import parse_state
from ansible_collections.hpcops.slurm.tests.unit import case_words
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes

G_02 = list(case_words.runs("G-02"))


@given(st.integers(hold.MIN_INSTANCE, hold.MAX_INSTANCE))
def test_an_instance_comes_back(instance: int) -> None:
    encoded = hold.encode_hold(instance)
    assert encoded.startswith("uts")
    assert hold.decode_hold(int(encoded[3:])) == instance


@pytest.mark.parametrize("instance", [0, -1, 1000000000])
def test_other_numbers_are_no_instances(instance: int) -> None:
    with pytest.raises(ValueError, match="between 1 and 999999999"):
        hold.encode_hold(instance)


@pytest.mark.parametrize(
    ("eligible_time", "instance"),
    [
        (4102444800, None),
        (4102444801, 1),
        (5102444799, 999999999),
        (5102444800, None),
        (253402214400, None),
        (1796035504, None),
        (None, None),
        ("unknown", "unknown"),
    ],
)
def test_what_a_time_carries(eligible_time: int | str | None, instance: object) -> None:
    assert hold.decode_hold(eligible_time) == instance


@pytest.mark.parametrize(
    ("state", "priority", "gate"),
    [
        ("PENDING", 0, Answer.YES),
        ("SPECIAL_EXIT", 0, Answer.YES),
        ("PENDING", 1, Answer.NO),
        ("RUNNING", 0, Answer.NO),
        ("SUSPENDED", 0, Answer.NO),
        ("CANCELLED", 0, Answer.NO),
        ("PENDING", None, Answer.UNKNOWN),
        ("PENDING", "unknown", Answer.UNKNOWN),
        ("COMPLETING", 0, Answer.UNKNOWN),
        ("COMPLETING", 4294, Answer.NO),
        ("WOBBLY", 0, Answer.UNKNOWN),
    ],
)
def test_the_gate(state: str, priority: int | str | None, gate: Answer) -> None:
    assert hold.gate_closed(parse_state(state), priority) is gate


@pytest.mark.parametrize(
    ("gate", "reason", "kind"),
    [
        (Answer.YES, "JobHeldUser", HoldKind.USER),
        (Answer.YES, "JobHeldAdmin", HoldKind.ADMIN),
        (Answer.YES, "launch failed requeued held", HoldKind.UNKNOWN),
        (Answer.YES, "job requeued in held state", HoldKind.UNKNOWN),
        (Answer.YES, "JobHeldUserX", HoldKind.UNKNOWN),
        (Answer.NO, "JobHeldUser", None),
        (Answer.UNKNOWN, "JobHeldUser", HoldKind.UNKNOWN),
    ],
)
def test_who_may_open_it(gate: Answer, reason: str, kind: HoldKind | None) -> None:
    assert hold.hold_kind(gate, reason) is kind


def record_of(said: dict[str, Any]) -> dict[str, Any]:
    """The words for a job that a case describes, read from squeue's text."""
    instance = said["hold_instance"]
    eligible = str(hold.hold_time(instance)) if instance else "1796035504"
    return case_words.record_words(
        fakes.read(
            fakes.job(
                "41007",
                State=said["state"],
                PriorityLong=str(said["priority"]),
                Reason=str(said["reason"]),
                Nice=str(said["nice"]),
                EligibleTime=eligible,
            )
        )
    )


@pytest.mark.parametrize(("name", "run", "expected"), G_02, ids=["G-02 " + run[0] for run in G_02])
def test_the_job_after_a_call(name: str, run: dict[str, Any], expected: dict[str, Any]) -> None:
    """What is read back after the calls of the case, or before those that send none."""
    words = record_of(run.get("after", run["before"]))
    asked = {"priority_hold", "hold_kind", "hold_instance"} & expected.keys()
    assert asked
    assert case_words.differing({key: expected[key] for key in asked}, words) == {}


def test_g_01_tasks_of_an_array_that_are_held_for_another_reason() -> None:
    found = case_words.case("G-01")
    before = found["input"]["before_rows"]
    held = []
    for row in case_words.rows(
        before["text"], before["fields"], before["separator"], case_words.SQUEUE_FIELDS
    ):
        record = fakes.read(fakes.job(row.pop("JobID"), **row))
        if record.gate is Answer.YES:
            held.append((record.id_text, record.hold_kind))
    assert held == [("70210_36", HoldKind.UNKNOWN)]

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each action makes of a job in each state, and how scontrol is told about many."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hold import (
    HOLD_BASE,
    MAX_INSTANCE,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import parse_job_id
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import JobRecord
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import Marks
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Call, Outcome
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import (
    BATCH,
    BATCH_ROWS,
    BATCH_TEXT,
    LONGEST_ADDRESS,
    Action,
    Hold,
    Memory,
    Open,
    Plan,
    Release,
    Requeue,
    Restore,
    addresses,
    batches,
    in_effect,
    spans_text,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import Address
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes

NOW = 1796035504
MARKS = Marks("~x", "^x")
FIN, NOPEND = FailureClass.JOB_FINISHED, FailureClass.JOB_NOT_PENDING
NONE = FailureClass.NONE

ENDED = (
    "COMPLETED CANCELLED FAILED TIMEOUT NODE_FAIL PREEMPTED BOOT_FAIL DEADLINE OUT_OF_MEMORY"
).split()


def record(job_id: str = "5", /, **values: Any) -> JobRecord:
    return fakes.read(fakes.job(job_id, **{key: str(value) for key, value in values.items()}))


def planned(action: Action, memory: Memory | None = None, **values: Any) -> Plan:
    return action.plan("5", record(**values), memory or Memory())


def of(plan: Plan) -> tuple[Outcome | None, FailureClass]:
    return plan.outcome, plan.failure


HOLD, RELEASE = Hold(7, NOW), Release(7, NOW)
EVERY: list[Action] = [
    HOLD,
    RELEASE,
    Open(),
    Requeue(0),
    Requeue(started_before=NOW),
    Restore(True),
]


# States


@pytest.mark.parametrize("state", ENDED)
@pytest.mark.parametrize("action", EVERY, ids=lambda action: action.name)
def test_what_has_ended_is_left_alone(action: Action, state: str) -> None:
    values: dict[str, Any] = {
        "State": state, "EligibleTime": HOLD_BASE + 7, "PriorityLong": 0,
    }  # fmt: skip
    plan = planned(action, Memory(bit_set=True), **values)
    assert of(plan) == (Outcome.REJECTED, FIN)
    assert state in plan.reason


@pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "CONFIGURING", "STOPPED", "RESIZING"])
def test_what_runs_can_not_be_held(state: str) -> None:
    assert of(planned(HOLD, State=state)) == (Outcome.REJECTED, NOPEND)


@pytest.mark.parametrize("state", ["PENDING", "SPECIAL_EXIT", "REQUEUE_HOLD", "COMPLETING"])
def test_what_will_run_can_be_held(state: str) -> None:
    """A completing job may come back: slurmctld decides."""
    assert of(planned(HOLD, State=state)) == (None, NONE)


HELD = {
    7: (Outcome.UNCHANGED, None),
    6: (None, Outcome.STALE),
    1: (None, Outcome.STALE),
    8: (Outcome.STALE, Outcome.STALE),
    MAX_INSTANCE: (Outcome.STALE, Outcome.STALE),
}


@pytest.mark.parametrize("placed", HELD)
def test_instances(placed: int) -> None:
    values: dict[str, Any] = {"EligibleTime": HOLD_BASE + placed}
    assert (planned(HOLD, **values).outcome, planned(RELEASE, **values).outcome) == HELD[placed]


@pytest.mark.parametrize(
    "eligible", ["N/A", NOW - 5, NOW + 5, HOLD_BASE, HOLD_BASE - 1, HOLD_BASE + MAX_INSTANCE + 1]
)
def test_no_instance(eligible: Any) -> None:
    assert planned(HOLD, EligibleTime=eligible).outcome is None
    assert planned(RELEASE, EligibleTime=eligible).outcome is Outcome.UNCHANGED


def test_what_can_not_be_read_is_unknown() -> None:
    assert planned(HOLD, EligibleTime="soon").outcome is Outcome.UNKNOWN
    assert planned(RELEASE, EligibleTime="soon").outcome is Outcome.UNKNOWN
    assert planned(Open(), State="NEW_STATE", PriorityLong=0).outcome is Outcome.UNKNOWN
    assert planned(Open(), PriorityLong="?").outcome is Outcome.UNKNOWN
    assert planned(Restore(True), Requeue="?").outcome is Outcome.UNKNOWN
    running: dict[str, Any] = {"State": "RUNNING", "StartTime": NOW - 5}
    assert planned(Requeue(0), **running, Requeue="?").outcome is Outcome.UNKNOWN
    assert planned(Requeue(0), **running, RestartCnt="?").outcome is Outcome.UNKNOWN
    no_start = planned(Requeue(started_before=NOW), State="RUNNING", StartTime="Unknown")
    assert no_start.outcome is Outcome.UNKNOWN


def test_begin_time_behind_a_hold() -> None:
    """The journal keeps it, through a higher hold too, and the release puts it back."""
    own = NOW + 3600
    assert planned(HOLD, EligibleTime=own).begin == own
    assert planned(HOLD, EligibleTime="N/A").begin == 0
    assert planned(HOLD, EligibleTime=HOLD_BASE + 6).begin == 0
    assert planned(HOLD, Memory(begin=own), EligibleTime=HOLD_BASE + 6).begin == own
    # One far beyond any instance is a time of the job's own as well.
    far = HOLD_BASE + MAX_INSTANCE + 1
    assert planned(HOLD, EligibleTime=far).begin == far
    lifted = planned(RELEASE, Memory(begin=own), EligibleTime=HOLD_BASE + 7)
    assert (lifted.begin, lifted.outcome) == (own, None)
    over = planned(RELEASE, Memory(begin=NOW), EligibleTime=HOLD_BASE + 7)
    assert over.begin == 0


def test_a_hold_of_somebody_elses_may_hide_a_begin_time() -> None:
    """Its journal is another one: what can't be put back is said."""
    for action in (HOLD, RELEASE):
        there = HOLD_BASE + (6 if action is HOLD else 7)
        unknown = planned(action, EligibleTime=there)
        assert "begin time of its own, it is not known here" in unknown.reason
        for known in (0, NOW + 3600):
            reason = planned(action, Memory(begin=known), EligibleTime=there).reason
            assert "not known" not in reason
    assert "not known" not in planned(HOLD).reason


def test_gate() -> None:
    held: dict[str, Any] = {"PriorityLong": 0, "Reason": "JobHeldUser"}
    assert planned(Open(), **held).outcome is None
    assert planned(Open(), PriorityLong=0, Reason="launch failed requeued held").outcome is None
    assert planned(Open(), State="SPECIAL_EXIT", **held).outcome is None
    assert planned(Open()).outcome is Outcome.UNCHANGED
    assert planned(Open(), Reason="Dependency").outcome is Outcome.UNCHANGED
    for state in ("RUNNING", "SUSPENDED"):
        assert planned(Open(), State=state, PriorityLong=0).outcome is Outcome.UNCHANGED


RUNS: dict[str, Any] = {"State": "RUNNING", "StartTime": NOW - 100, "RestartCnt": 2, "Requeue": 0}


@pytest.mark.parametrize(
    ("action", "values", "outcome"),
    [
        (Requeue(2), {}, None),
        (Requeue(1), {}, Outcome.UNCHANGED),
        (Requeue(0), {}, Outcome.UNCHANGED),
        (Requeue(3), {}, Outcome.REJECTED),
        (Requeue(2), {"State": "PENDING"}, Outcome.UNCHANGED),
        (Requeue(2), {"State": "COMPLETING"}, Outcome.REJECTED),
        (Requeue(1), {"State": "COMPLETING"}, Outcome.UNCHANGED),
        (Requeue(2), {"State": "STAGE_OUT"}, Outcome.REJECTED),
        (Requeue(2), {"State": "NEW_STATE"}, Outcome.REJECTED),
        (Requeue(2), {"State": "CONFIGURING"}, None),
        (Requeue(2), {"State": "SUSPENDED"}, Outcome.REJECTED),
        (Requeue(2, suspended=True), {"State": "SUSPENDED"}, None),
        (Requeue(2), {"BatchFlag": 0}, Outcome.REJECTED),
        (Requeue(started_before=NOW), {}, None),
        (Requeue(started_before=NOW - 99), {}, None),
        (Requeue(started_before=NOW - 100), {}, Outcome.UNCHANGED),
        (Requeue(started_before=NOW - 101), {}, Outcome.UNCHANGED),
        (Requeue(started_before=NOW), {"State": "PENDING", "StartTime": "N/A"}, Outcome.UNCHANGED),
    ],
)
def test_executions(action: Requeue, values: dict[str, Any], outcome: Outcome | None) -> None:
    assert planned(action, **{**RUNS, **values}).outcome is outcome


def test_a_completing_job_that_we_requeued() -> None:
    values = {**RUNS, "State": "COMPLETING"}
    by_time = Requeue(started_before=NOW)
    assert planned(by_time, Memory(requeued=1), **values).outcome is Outcome.UNCHANGED
    assert planned(by_time, Memory(requeued=2), **values).outcome is Outcome.REJECTED
    assert planned(by_time, **values).outcome is Outcome.REJECTED


def test_heterogeneous_jobs_are_not_requeued() -> None:
    plan = Requeue(2).plan("5+1", record("5+1", **RUNS), Memory())
    assert of(plan) == (Outcome.REJECTED, FailureClass.ID_MALFORMED)
    assert "heterogeneous" in plan.reason
    assert Hold(7, NOW).plan("5+1", record("5+1"), Memory()).outcome is None


@pytest.mark.parametrize(
    ("force", "ours", "bit", "outcome"),
    [
        (False, True, 1, None),
        (True, False, 1, None),
        (False, False, 1, Outcome.REJECTED),
        (False, False, 0, Outcome.UNCHANGED),
        (True, True, 0, Outcome.UNCHANGED),
    ],
)
def test_restore(force: bool, ours: bool, bit: int, outcome: Outcome | None) -> None:
    assert planned(Restore(force), Memory(bit_set=ours), Requeue=bit).outcome is outcome


@pytest.mark.parametrize("instance", [0, -1, MAX_INSTANCE + 1, 10**30])
def test_instances_out_of_range(instance: int) -> None:
    with pytest.raises(ValueError, match="instance"):
        Hold(instance, NOW)
    with pytest.raises(ValueError, match="instance"):
        Release(instance, NOW)


# Doing it again, and what shows


EFFECTS: list[tuple[Action, dict[str, Any], dict[str, Any]]] = [
    (HOLD, {}, {"EligibleTime": HOLD_BASE + 7}),
    (HOLD, {"EligibleTime": HOLD_BASE + 6}, {"EligibleTime": HOLD_BASE + 7}),
    (RELEASE, {"EligibleTime": HOLD_BASE + 7}, {"EligibleTime": NOW}),
    (Open(), {"PriorityLong": 0}, {"PriorityLong": 4294}),
    (Open(), {"PriorityLong": 0}, {"State": "RUNNING", "PriorityLong": 4294}),
    (Requeue(0), {"State": "RUNNING"}, {"State": "COMPLETING", "RestartCnt": 1}),
    (Requeue(0), {"State": "RUNNING"}, {"State": "PENDING", "RestartCnt": 1}),
    (Requeue(0), {"State": "RUNNING"}, {"State": "RUNNING", "RestartCnt": 1}),
    (Restore(True), {"Requeue": 1}, {"Requeue": 0}),
]


@pytest.mark.parametrize(("action", "before", "after"), EFFECTS)
def test_done_once_done_for_good(
    action: Action, before: dict[str, Any], after: dict[str, Any]
) -> None:
    first = planned(action, **before)
    assert first.sends
    aim = action.aim(first.before)
    assert in_effect(aim, first.before) is Answer.NO
    assert in_effect(aim, record(**after)) is Answer.YES
    assert planned(action, **after).outcome is Outcome.UNCHANGED
    seen, then = action.view(first.before), action.predicted(first)
    assert {**seen, **then} != seen


@pytest.mark.parametrize(
    ("action", "before", "after", "answer"),
    [
        (HOLD, {}, {"EligibleTime": HOLD_BASE + 8}, Answer.NO),
        (HOLD, {}, {"EligibleTime": "?"}, Answer.UNKNOWN),
        (RELEASE, {"EligibleTime": HOLD_BASE + 7}, {"EligibleTime": "?"}, Answer.UNKNOWN),
        # A release may yet land on another instance that is in place.
        (RELEASE, {"EligibleTime": HOLD_BASE + 7}, {"EligibleTime": HOLD_BASE + 8}, Answer.UNKNOWN),
        # Who ended without having run need not have been released, or opened.
        (
            RELEASE,
            {"EligibleTime": HOLD_BASE + 7},
            {"State": "CANCELLED", "EligibleTime": NOW},
            Answer.UNKNOWN,
        ),
        (
            RELEASE,
            {"EligibleTime": HOLD_BASE + 7},
            {"State": "COMPLETED", "EligibleTime": NOW},
            Answer.YES,
        ),
        (Open(), {"PriorityLong": 0}, {"State": "CANCELLED", "PriorityLong": 0}, Answer.UNKNOWN),
        (Open(), {"PriorityLong": 0}, {"State": "NEW_STATE", "PriorityLong": 0}, Answer.UNKNOWN),
        (Open(), {"PriorityLong": 0}, {"State": "FAILED", "PriorityLong": 1}, Answer.YES),
        (Requeue(0), {"State": "RUNNING"}, {"RestartCnt": "?"}, Answer.UNKNOWN),
        (Requeue(0), {"State": "RUNNING"}, {"State": "COMPLETED"}, Answer.NO),
        (Restore(True), {"Requeue": 1}, {"Requeue": "?"}, Answer.UNKNOWN),
    ],
)
def test_what_shows(
    action: Action, before: dict[str, Any], after: dict[str, Any], answer: Answer
) -> None:
    assert in_effect(action.aim(record(**before)), record(**after)) is answer


# Addresses


def plans(*items: tuple[str, JobRecord], rows: int = 1) -> list[Plan]:
    return [Plan(name, one, None, "", rows=rows) for name, one in items]


def task(array: int, number: int, own: int | None = None, **values: Any) -> JobRecord:
    """A task of an array, of its one record unless it has a number of its own."""
    return record(f"{array}_{number}", **{"JobID": own or array, **values})


def texts(found: list[Address]) -> list[str]:
    return [one.text for one in found]


def nothing(one: JobRecord) -> str:
    return ""


def test_addresses_of_single_jobs() -> None:
    found = addresses(
        plans(
            ("5", record("5")),
            ("6+1", record("6+1")),
            ("70_3", task(70, 3, 75)),
            ("76", task(70, 4, 76)),
            ("71", task(71, 1, 77)),
            ("8", record("8+0")),
        ),
        nothing,
    )
    assert texts(found) == ["5", "6+1", "70_3", "76", "71_1", "8+0"]
    assert [one.members for one in found] == [("5",), ("6+1",), ("70_3",), ("76",), ("71",), ("8",)]
    assert [one.number for one in found] == [5, 6, 75, 76, 77, 8]
    assert [(one.array, one.tasks) for one in found] == [
        (None, ()), (None, ()), (70, (3,)), (70, (4,)), (71, (1,)), (None, ()),
    ]  # fmt: skip


def test_tasks_of_one_record_stay_together() -> None:
    found = addresses(
        plans(
            ("70_9", task(70, 9)),
            ("70_1", task(70, 1)),
            ("5", record("5")),
            ("70_2", task(70, 2)),
            ("70_3", task(70, 3, 75)),
            rows=4,
        ),
        nothing,
    )
    assert texts(found) == ["5", "70_3", "70_[1-2,9]"]
    group = found[-1]
    assert (group.number, group.rows, group.array) == (70, 4, 70)
    assert group.members == ("70_1", "70_2", "70_9")
    assert group.tasks == (1, 2, 9)


def test_the_last_task_of_an_array_by_its_number() -> None:
    """One record is left, and the user wrote the array's number."""
    (found,) = addresses(plans(("70", task(70, 4))), nothing)
    assert (found.text, found.members, found.tasks) == ("70_4", ("70",), (4,))


def test_very_many_scattered_tasks() -> None:
    many = [task(70, number) for number in range(0, 60000, 2)]
    found = addresses(plans(*((one.id_text, one) for one in many), rows=31000), nothing)
    assert len(found) > 1
    assert all(len(one.text) <= LONGEST_ADDRESS for one in found)
    assert sorted(t for one in found for t in one.tasks) == list(range(0, 60000, 2))
    # Each part is sent after the ones before it have left the record.
    left = 31000
    for one in found:
        assert one.rows == left
        left -= len(one.members)
    assert [len(batch) for batch in batches(found)] == [1] * len(found)


@given(st.sets(st.integers(0, 500), min_size=1, max_size=60))
def test_spans(tasks: set[int]) -> None:
    text = spans_text(sorted(tasks))
    named = parse_job_id(f"70_[{text}]")
    assert set(named.tasks()) == tasks
    assert len(named.spans) == sum(number - 1 not in tasks for number in tasks)


# Batches


def test_batches_of_thousands() -> None:
    found = addresses(plans(*((str(n), record(str(n))) for n in range(1, 3502))), nothing)
    done = batches(found)
    assert [len(batch) for batch in done] == [BATCH, BATCH, BATCH, 501]
    assert [one.text for batch in done for one in batch] == [str(n) for n in range(1, 3502)]


def test_batches_by_rows_and_by_text() -> None:
    groups = [Address(f"{n}_[1-500]", n, (), 500) for n in range(1, 10)]
    assert [len(batch) for batch in batches(groups)] == [4, 4, 1]
    long = [Address("x" * 40000, n, ()) for n in range(1, 6)]
    done = batches(long)
    assert all(sum(len(one.text) for one in batch) <= BATCH_TEXT + 40000 for batch in done)
    assert all(sum(len(one.text) + 1 for one in batch) < 131072 for batch in done)
    assert sum(map(len, done)) == 5
    huge = [Address("70_[1-90000]", 70, (), 90000), Address("5", 5, ("5",))]
    assert [len(batch) for batch in batches(huge)] == [1, 1]
    assert BATCH_ROWS < 90000
    parts = [Address("70_1", 70, ("70_1",), 2), Address("70_2", 70, ("70_2",), 1)]
    assert [len(batch) for batch in batches(parts)] == [1, 1]
    assert batches([]) == []


def test_thousands_of_requeues_are_few_lists() -> None:
    both = [
        Plan(str(n), record(str(n), State="RUNNING", Requeue=n % 2), None, "")
        for n in range(1, 6001)
    ]
    found = Requeue(0).scripts(both, MARKS)
    lists = [one for one in found if one.calls == (Call.REQUEUE,)]
    single = [one for one in found if one.calls == (Call.SET_BIT, Call.REQUEUE, Call.CLEAR_BIT)]
    assert [len(one.addresses) for one in lists] == [1000, 1000, 1000]
    assert len(single) == 3000
    assert {one.addresses[0].expected for one in found} == {"0"}


def test_a_release_groups_by_begin_time() -> None:
    begins = {"5": 0, "6": NOW + 60, "7": 0, "8": NOW + 60}
    sent = [
        Plan(one, record(one, EligibleTime=HOLD_BASE + 7), None, "", begin=begin)
        for one, begin in begins.items()
    ]
    found = RELEASE.scripts(sent, MARKS)
    assert {one.arguments[0]: one.members for one in found} == {
        "StartTime=now": ("5", "7"),
        f"StartTime=uts{NOW + 60}": ("6", "8"),
    }
    assert {a.expected for one in found for a in one.addresses} == {str(HOLD_BASE + 7)}


@pytest.mark.parametrize(
    ("accrue", "stopped"),
    [(HOLD_BASE + 7, True), (HOLD_BASE + 3, True), (NOW - 60, False), ("N/A", False), ("", False)],
)
def test_a_job_that_the_hold_keeps_from_ageing(accrue: Any, stopped: bool) -> None:
    held = replace(record(EligibleTime=HOLD_BASE + 7), extra={"AccrueTime": str(accrue)})
    plan = RELEASE.plan("5", held, Memory())
    assert (plan.outcome, plan.age_stopped) == (None, stopped)
    assert RELEASE.reads == ("AccrueTime",)


def test_a_release_lets_only_those_jobs_age_anew_that_did_not() -> None:
    sent = [
        replace(
            RELEASE.plan(one, record(one, EligibleTime=HOLD_BASE + 7), Memory()), age_stopped=anew
        )
        for one, anew in {"5": False, "6": True, "7": False}.items()
    ]
    found = {one.members: "ResetAccrueTime" in one.text for one in RELEASE.scripts(sent, MARKS)}
    assert found == {("5", "7"): False, ("6",): True}


def test_a_hold_expects_what_was_read() -> None:
    values: dict[str, object] = {
        "5": "N/A", "6": NOW, "7": NOW + 1, "8": HOLD_BASE + 6, "9": HOLD_BASE,
    }  # fmt: skip
    sent = [Plan(one, record(one, EligibleTime=when), None, "") for one, when in values.items()]
    (found,) = HOLD.scripts(sent, MARKS)
    assert [one.expected for one in found.addresses] == [
        "come", "come", str(NOW + 1), str(HOLD_BASE + 6), str(HOLD_BASE),
    ]  # fmt: skip

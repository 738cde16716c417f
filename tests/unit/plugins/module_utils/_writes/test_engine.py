# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole tasks on a Slurm of our own: what is sent, what is said, and that it is so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    FailureClass,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hold import MAX_INSTANCE
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import Selection
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.engine import GRACE
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import Journal
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import (
    Action,
    Hold,
    Open,
    Release,
    Requeue,
    Restore,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.results import (
    TAKEN_AND_GONE,
    difference,
    failed,
)
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._writes.slurm import (
    BASE,
    CALL_BOUND,
    HANGS,
    NOW,
    Call,
    Host,
    Killed,
    Slurm,
    changes,
    outcomes,
)

MINE = Selection(users=("user1",))
RUNS = {"State": "RUNNING", "StartTime": str(NOW - 100), "Requeue": "0"}
HELD = {"EligibleTime": str(BASE + 7)}
GATED = {"PriorityLong": "0", "Reason": "JobHeldUser"}


def hold(instance: int = 7) -> Hold:
    return Hold(instance, NOW)


def release(instance: int = 7) -> Release:
    return Release(instance, NOW)


# First run, second run, check mode

DEEDS: dict[str, tuple[Action, dict[str, str], dict[str, str]]] = {
    "hold": (hold(), {}, {"EligibleTime": str(BASE + 7)}),
    "hold over a lower one": (hold(8), HELD, {"EligibleTime": str(BASE + 8)}),
    "release": (release(), HELD, {"EligibleTime": str(NOW)}),
    "open": (Open(), GATED, {"PriorityLong": "4294"}),
    "requeue": (Requeue(0), RUNS, {"RestartCnt": "1", "Requeue": "0"}),
    "requeue by time": (Requeue(started_before=NOW), RUNS, {"RestartCnt": "1"}),
    "requeue only": (Requeue(0), {**RUNS, "Requeue": "1"}, {"RestartCnt": "1", "Requeue": "1"}),
    "restore": (Restore(True), {"Requeue": "1"}, {"Requeue": "0"}),
}


@pytest.mark.parametrize("deed", DEEDS)
def test_check_first_and_second_run(slurm: Slurm, host: Host, deed: str) -> None:
    action, before, after = DEEDS[deed]
    for job_id in ("5", "6"):
        slurm.add(job_id, **before)
    untouched = [dict(one) for one in slurm.jobs]
    predicted = host.task(action, "5", "6", check=True)
    assert (slurm.calls, slurm.jobs) == ([], untouched)
    assert slurm.reads == 1
    assert not host.directory.exists()
    first = host.task(action, "5", "6")
    assert outcomes(predicted) == outcomes(first) == {"5": "applied", "6": "applied"}
    assert changes(predicted) == changes(first) == {"5": True, "6": True}
    for job in slurm.jobs:
        assert {key: job[key] for key in after} == after
    sent = len(slurm.calls)
    second = host.task(action, "5", "6")
    assert outcomes(second) == {"5": "unchanged", "6": "unchanged"}
    assert len(slurm.calls) == sent
    again = host.task(action, "5", "6", check=True)
    assert outcomes(again) == outcomes(second)
    for report in (predicted, first, second):
        for made in report.results.values():
            assert (made["before"] != made["after"]) is made["changed"]
            sides = difference([made])
            assert (sides["before"] != sides["after"]) is made["changed"]
            assert json.loads(json.dumps(made)) == made


def test_one_call_for_many(slurm: Slurm, host: Host) -> None:
    for number in range(1, 1101):
        slurm.add(str(number))
    report = host.task(hold(), select=MINE)
    assert set(outcomes(report).values()) == {"applied"}
    assert len(report.results) == 1100
    assert len(slurm.calls) == 2
    assert slurm.reads == 2 + 2  # before, after, and right before each call
    again = host.task(hold(), *map(str, range(1, 1101)))
    assert set(outcomes(again).values()) == {"unchanged"}
    assert len(slurm.calls) == 2


# Names


def test_a_job_named_twice_has_one_result(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    slurm.add("70_3", JobID="75")
    report = host.task(hold(), "5", "75", "5", "70_3", "70")
    assert outcomes(report) == {"5": "applied", "75": "applied"}
    assert slurm.calls == [("update", "JobId=5,75", f"StartTime=uts{BASE + 7}")]


def test_the_last_task_by_the_arrays_number(slurm: Slurm, host: Host) -> None:
    slurm.add("70_4")
    assert outcomes(host.task(hold(), "70")) == {"70": "applied"}
    assert slurm.calls[0][1] == "JobId=70_4"
    assert outcomes(host.task(release(), "70_4")) == {"70_4": "applied"}


def test_whole_arrays_and_parts(slurm: Slurm, host: Host) -> None:
    for number in range(1, 7):
        slurm.add(f"70_{number}")
    whole = host.task(hold(), "70")
    assert outcomes(whole) == {f"70_{number}": "applied" for number in range(1, 7)}
    assert slurm.calls[-1][1] == "JobId=70_[1-6]"
    part = host.task(hold(9), "70_3", "70_[5-6]")
    assert outcomes(part) == {"70_3": "applied", "70_5": "applied", "70_6": "applied"}
    assert slurm.calls[-1][1] == "JobId=70_[3,5-6]"
    mixed = host.task(release(), "70")
    assert outcomes(mixed) == {
        "70_1": "applied", "70_2": "applied", "70_4": "applied",
        "70_3": "stale", "70_5": "stale", "70_6": "stale",
    }  # fmt: skip
    assert slurm.calls[-1][1] == "JobId=70_[1-2,4]"
    one = host.task(release(9), "70_5")
    assert outcomes(one) == {"70_5": "applied"}


def test_part_of_an_array_runs_by_now(slurm: Slurm, host: Host) -> None:
    """A refusal of two tasks is none of the others, which newer releases say nothing about."""
    for number in range(1, 5):
        slurm.add(f"70_{number}")

    def start() -> None:
        for number in (1, 2):
            slurm.job(f"70_{number}").update(State="RUNNING", JobID=str(75 + number))

    slurm.before_call[0] = start
    report = host.task(hold(), "70")
    assert outcomes(report) == {
        "70_1": "rejected", "70_2": "rejected", "70_3": "applied", "70_4": "applied",
    }  # fmt: skip
    assert report.results["70_1"]["failure_class"] == FailureClass.JOB_NOT_PENDING.value
    assert changes(report)["70_3"] is True


def test_heterogeneous_jobs(slurm: Slurm, host: Host) -> None:
    for component in range(2):
        slurm.add(f"5+{component}", JobID=str(5 + component))
    report = host.task(hold(), "5")
    assert outcomes(report) == {"5+0": "applied", "5+1": "applied"}
    assert slurm.calls[0][1] == "JobId=5+0,5+1"
    for job in slurm.jobs:
        job.update(RUNS)
    refused = host.task(Requeue(0), "5+1", "5")
    assert set(outcomes(refused).values()) == {"rejected"}
    assert len(slurm.calls) == 1


def test_tasks_that_squeue_does_not_show_one_by_one(slurm: Slurm, host: Host) -> None:
    slurm.add("70", ArrayTaskID="1-4")
    assert outcomes(host.task(hold(), "70")) == {"70": "unknown"}
    assert slurm.calls == []


# Bad names


@pytest.mark.parametrize("bad", ["12.batch", "abc", "1;rm", "-5", "9" * 30, "", " 5", "0", "5,6"])
def test_ids_that_are_none(slurm: Slurm, host: Host, bad: str) -> None:
    slurm.add("5")
    with pytest.raises(SlurmError) as raised:
        host.task(hold(), "5", bad)
    assert raised.value.failure is FailureClass.ID_MALFORMED
    assert (slurm.calls, slurm.reads) == ([], 0)


def test_no_ids(slurm: Slurm, host: Host) -> None:
    assert host.task(hold()).results == {}
    assert (slurm.calls, slurm.reads) == ([], 0)


def test_unknown_ids(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    report = host.task(hold(), "5", "99999")
    assert outcomes(report) == {"5": "applied", "99999": "not_found"}
    assert [one["job_id"] for one in failed(list(report.results.values()), True)] == ["99999"]
    slurm.complaint = "squeue: error: something\n"
    doubtful = host.task(hold(), "99999")
    assert outcomes(doubtful) == {"99999": "unknown"}


# A controller that is silent


def test_silent_before(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    slurm.silent = (0, NOW + 1000)
    with pytest.raises(SlurmError) as raised:
        host.task(hold(), "5")
    assert raised.value.failure is FailureClass.CONTROLLER_UNREACHABLE
    assert (slurm.calls, slurm.scripts) == ([], [])


def test_silent_after_an_answer(slurm: Slurm, host: Host) -> None:
    """slurmctld said yes: that is success."""
    slurm.add("5")
    slurm.before_call[0] = lambda: setattr(slurm, "silent", (0, NOW + 30))
    report = host.task(hold(), "5")
    assert outcomes(report) == {"5": "applied"}
    assert report.results["5"]["after"] is None
    sides = difference(list(report.results.values()))
    assert sides["before"] != sides["after"]


def test_silent_after_a_requeues_answer(slurm: Slurm, host: Host) -> None:
    """No error proves nothing there; a later read does."""
    slurm.add("5", **RUNS, BatchFlag="1")
    slurm.before_call[2] = lambda: setattr(slurm, "silent", (0, slurm.clock.now + 30))
    report = host.task(Requeue(0), "5")
    assert outcomes(report) == {"5": "applied"}
    assert host.waited_for == ["1 jobs are not settled"] * len(host.waited_for)
    assert host.rounds > 1


@pytest.mark.parametrize("settle", [True, False])
def test_silent_at_the_look(slurm: Slurm, host: Host, settle: bool) -> None:
    """Nothing is sent then, and that is known."""
    slurm.add("5")
    slurm.before_script = lambda: setattr(slurm, "silent", (0, slurm.clock.now + 5))
    report = host.task(hold(), "5", settle=settle)
    assert outcomes(report) == {"5": "not_run"}
    assert slurm.calls == []


# An unknown outcome, settled


@pytest.mark.parametrize("late", [30.0, 100.0, 300.0])
@pytest.mark.parametrize("deed", DEEDS)
def test_a_call_that_lands_late(slurm: Slurm, host: Host, deed: str, late: float) -> None:
    action, before, _after = DEEDS[deed]
    slurm.add("5", **before)
    target = 1 if deed in ("requeue", "requeue by time") else 0
    slurm.faults[target] = Call(124, "", late)
    report = host.task(action, "5", ttl=20)
    bit = deed in ("requeue", "requeue by time")
    # A requeue whose first try hangs until the deadline has no time left to clear the bit.
    assert outcomes(report) == {"5": "applied"}
    made = report.results["5"]
    assert made["changed"] is True
    assert (made["settled"], made["may_land_until"]) == (True, None)
    assert made["requeue_bit_left"] == ("yes" if bit else "no")
    assert made["failure_class"] == "none"
    assert made["after"] != made["before"]
    assert host.rounds > 1


@pytest.mark.parametrize("deed", ["hold", "hold over a lower one", "release", "open", "restore"])
def test_a_call_that_never_lands(slurm: Slurm, host: Host, deed: str) -> None:
    action, before, _after = DEEDS[deed]
    slurm.add("5", **before)
    slurm.faults[0] = HANGS
    report = host.task(action, "5", ttl=20)
    made = report.results["5"]
    assert (made["outcome"], made["changed"], made["settled"]) == ("not_applied", False, True)
    assert slurm.clock.now > NOW + 20 + CALL_BOUND
    assert slurm.clock.now < NOW + 20 + CALL_BOUND + 20
    assert len(slurm.calls) == 1


#: What the job shows when somebody else has changed it since.
SINCE: dict[str, tuple[str, dict[str, str]]] = {
    "held under more": ("hold", {"EligibleTime": str(BASE + 9)}),
    "the hold is lifted": ("hold", {"EligibleTime": str(NOW + 5)}),
    "opened, and the gate closed again": ("open", {"EligibleTime": str(NOW + 5), **GATED}),
}


@pytest.mark.parametrize("lands", [True, False])
@pytest.mark.parametrize("answer", ["no error", "none"])
@pytest.mark.parametrize("since", SINCE)
def test_what_was_changed_since_is_not_told_from_what_never_landed(
    slurm: Slurm, host: Host, since: str, answer: str, lands: bool
) -> None:
    """Both leave the job so: neither applied nor not_applied would be right for both."""
    deed, shows = SINCE[since]
    action, before, _after = DEEDS[deed]
    slurm.add("5", **before)
    slurm.faults[0] = Call(0, "", lands) if answer == "no error" else Call(124, "", lands)
    slurm.after_call[0] = lambda: slurm.job("5").update(shows) or None
    report = host.task(action, "5", ttl=20)
    made = report.results["5"]
    assert (made["outcome"], made["changed"], made["settled"]) == ("unknown", False, True)
    assert made["may_land_until"] is None
    assert "changed since" in made["reason"]
    waited = slurm.clock.now > NOW + 20 + CALL_BOUND
    assert waited is (answer == "none")


def test_without_settling(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    slurm.faults[0] = Call(124, "", 30.0)
    report = host.task(hold(), "5", ttl=20, settle=False, offset=3.0)
    made = report.results["5"]
    assert (made["outcome"], made["settled"], made["changed"]) == ("unknown", False, False)
    assert made["may_land_until"] == NOW + 3 + 20 + CALL_BOUND
    assert made["failure_class"] == "controller_unreachable"
    assert "124" in made["reason"]
    assert host.rounds == 1
    slurm.clock.sleep(15)
    assert outcomes(host.task(hold(), "5")) == {"5": "unchanged"}


def test_a_controller_that_stays_away(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    slurm.faults[0] = HANGS
    slurm.before_call[0] = lambda: setattr(slurm, "silent", (0, NOW + 10000))
    report = host.task(hold(), "5", ttl=20)
    made = report.results["5"]
    assert (made["outcome"], made["settled"], made["changed"]) == ("unknown", False, False)
    assert "could not be asked" in made["reason"]
    assert NOW + 20 + CALL_BOUND + GRACE < slurm.clock.now < NOW + 20 + CALL_BOUND + GRACE + 60


def test_a_controller_that_comes_back_at_the_very_end(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    slurm.faults[0] = Call(124, "", 30.0)
    until = NOW + 20 + CALL_BOUND
    slurm.before_call[0] = lambda: setattr(slurm, "silent", (0, until))
    report = host.task(hold(), "5", ttl=20)
    assert outcomes(report) == {"5": "applied"}


def test_absence_in_a_doubtful_answer_proves_nothing(slurm: Slurm, host: Host) -> None:
    """squeue complained and left the job out: not gone, and not settled by that."""
    slurm.add("5")
    slurm.faults[0] = HANGS
    kept = slurm.jobs

    def vanish() -> None:
        slurm.jobs, slurm.complaint = [], "squeue: error: something\n"

    slurm.before_call[0] = vanish
    report = host.task(hold(), "5", ttl=20, rounds=30)
    assert report.open
    assert not report.results["5"]["settled"]
    slurm.jobs = kept


def test_a_job_that_is_gone_in_the_end(slurm: Slurm, host: Host) -> None:
    """Whether it was held before it went is not known."""
    slurm.add("5")
    slurm.faults[0] = HANGS
    slurm.before_call[0] = slurm.jobs.clear
    report = host.task(hold(), "5", ttl=20)
    made = report.results["5"]
    assert (made["outcome"], made["settled"]) == ("unknown", True)
    assert slurm.clock.now > NOW + 20 + CALL_BOUND


def test_a_held_job_that_is_cancelled_while_it_is_opened(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **GATED)
    slurm.faults[0] = HANGS
    slurm.before_call[0] = lambda: slurm.job("5").update(State="CANCELLED")
    report = host.task(Open(), "5", ttl=20)
    made = report.results["5"]
    assert (made["outcome"], made["changed"], made["settled"]) == ("unknown", False, True)


def test_cut_off_half_way(slurm: Slurm, host: Host) -> None:
    """Ids before the kill are in, the one in flight lands late, the others were never sent."""
    for number in range(1, 7):
        slurm.add(str(number))

    def cut() -> None:
        for number in (1, 2, 3):
            slurm.job(str(number))["EligibleTime"] = str(BASE + 7)
        slurm._due.append(
            (NOW + 60, lambda: slurm.job("4").update(EligibleTime=str(BASE + 7)) or None)
        )

    slurm.before_call[0] = cut
    slurm.faults[0] = Call(124, "Unexpected message received for job 1\n", False)
    report = host.task(hold(), *"123456", ttl=20)
    assert outcomes(report) == {
        "1": "applied", "2": "applied", "3": "applied", "4": "applied",
        "5": "not_applied", "6": "not_applied",
    }  # fmt: skip


def test_an_error_that_made_the_change(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    text = "Requested partition configuration not available now for job 5\n"
    slurm.faults[0] = Call(1, text, True)
    report = host.task(hold(), "5")
    made = report.results["5"]
    assert (made["outcome"], made["changed"]) == ("applied", True)
    assert made["message"] == text.strip()
    assert host.rounds == 1


def test_the_same_error_without_the_change(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    text = "Requested partition configuration not available now for job 5\n"
    slurm.faults[0] = Call(1, text, False)
    report = host.task(hold(), "5", settle=False)
    made = report.results["5"]
    assert (made["outcome"], made["failure_class"]) == ("unknown", "unclassified")
    assert made["message"] == text.strip()


def test_no_error_and_nothing_done(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    slurm.faults[0] = Call(0, "", False)
    report = host.task(hold(), "5")
    made = report.results["5"]
    assert (made["outcome"], made["settled"], made["may_land_until"]) == ("unknown", True, None)
    assert made["reason"] == TAKEN_AND_GONE
    assert outcomes(host.task(hold(), "5")) == {"5": "applied"}  # nothing has to be waited for


# Refusals


def test_refused_by_slurmctld(slurm: Slurm, host: Host) -> None:
    slurm.add("5", UserName="user2")
    slurm.add("6")
    slurm.add("7")
    slurm.before_call[0] = lambda: slurm.job("7").update(State="CANCELLED")
    report = host.task(hold(), "5", "6", "7")
    assert outcomes(report) == {"5": "rejected", "6": "applied", "7": "rejected"}
    classes = {one: made["failure_class"] for one, made in report.results.items()}
    assert classes == {"5": "permission_denied", "6": "none", "7": "job_finished"}
    assert host.rounds == 1


def test_a_refusal_stands_whatever_shows(slurm: Slurm, host: Host) -> None:
    """A job that ended is not open, only because its gate does not show any more."""
    slurm.add("5", **GATED)
    slurm.before_call[0] = lambda: slurm.job("5").update(State="COMPLETED")
    report = host.task(Open(), "5")
    made = report.results["5"]
    assert (made["outcome"], made["failure_class"]) == ("rejected", "job_finished")
    assert made["changed"] is False


# Jobs that change between the read and the call


def test_a_higher_hold_came_in_between(slurm: Slurm, host: Host) -> None:
    """Neither a lower hold nor a release of another instance is sent then."""
    slurm.add("5")
    slurm.before_script = lambda: slurm.job("5").update(EligibleTime=str(BASE + 9))
    assert outcomes(host.task(hold(), "5")) == {"5": "stale"}
    slurm.job("5").update(HELD)
    assert outcomes(host.task(release(), "5")) == {"5": "stale"}
    assert slurm.calls == []
    assert slurm.job("5")["EligibleTime"] == str(BASE + 9)


def test_another_instance_in_a_list_of_good_ones(slurm: Slurm, host: Host) -> None:
    """The list's success is none of the job that was left out."""
    for number in "567":
        slurm.add(number, **HELD)
    slurm.before_script = lambda: slurm.job("6").update(EligibleTime=str(BASE + 9))
    report = host.task(release(), "5", "6", "7")
    assert outcomes(report) == {"5": "applied", "6": "stale", "7": "applied"}
    assert slurm.calls == [("update", "JobId=5,7", "StartTime=now")]
    assert changes(report)["6"] is False


@pytest.mark.parametrize(
    ("action", "before", "meanwhile", "outcome"),
    [
        (hold(), {}, {"EligibleTime": str(BASE + 7)}, "unchanged"),
        (hold(), {}, {"EligibleTime": str(NOW + 600)}, "not_run"),
        (hold(), {}, {"State": "CANCELLED", "EligibleTime": str(NOW + 9)}, "rejected"),
        (release(), HELD, {"EligibleTime": str(NOW)}, "unchanged"),
        (Open(), GATED, {"PriorityLong": "4294", "Reason": "None"}, "unchanged"),
        (Open(), GATED, {"PriorityLong": "4294", "State": "COMPLETED"}, "unchanged"),
        (Open(), GATED, {"PriorityLong": "1", "State": "CANCELLED"}, "rejected"),
        (Requeue(0), RUNS, {"RestartCnt": "1"}, "unchanged"),
        (Requeue(0), {**RUNS, "Requeue": "1"}, {"RestartCnt": "1"}, "unchanged"),
    ],
)
def test_changed_in_between(
    slurm: Slurm,
    host: Host,
    action: Action,
    before: dict[str, str],
    meanwhile: dict[str, str],
    outcome: str,
) -> None:
    slurm.add("5", **before)
    slurm.before_script = lambda: slurm.job("5").update(meanwhile)
    report = host.task(action, "5")
    assert outcomes(report) == {"5": outcome}
    assert slurm.calls == []
    assert report.results["5"]["requeue_bit_left"] == "no"


@pytest.mark.parametrize(("action", "before"), [(hold(), {}), (release(), HELD), (Open(), GATED)])
def test_gone_in_between(slurm: Slurm, host: Host, action: Action, before: dict[str, str]) -> None:
    slurm.add("5", **before)
    slurm.before_script = slurm.jobs.clear
    report = host.task(action, "5")
    assert outcomes(report) == {"5": "not_found"}
    assert slurm.calls == []


def test_nothing_seen_after_nothing_sent(slurm: Slurm, host: Host) -> None:
    """That no hold is in place is not known then."""
    slurm.add("5", **HELD)

    def meanwhile() -> None:
        slurm.job("5").update(EligibleTime=str(BASE + 9))
        slurm.silent = (slurm.clock.now + 0.1, NOW + 1000)

    slurm.before_script = meanwhile
    slurm.before_call[0] = lambda: None
    original = slurm._squeue

    def look_then_silence(argv: tuple[str, ...]) -> Any:
        reply = original(argv)
        slurm.clock.now += 1
        return reply

    # Only this one fake is to behave so.
    slurm._squeue = look_then_silence  # type: ignore[method-assign]
    report = host.task(release(), "5")
    assert outcomes(report) == {"5": "not_run"}


def test_a_job_that_ends_as_it_is_requeued(slurm: Slurm, host: Host) -> None:
    """``requeue incomplete`` answers 0 and does nothing; such a job has left the selection."""
    slurm.add("5", **{**RUNS, "Requeue": "1"})
    slurm.before_call[0] = lambda: slurm.job("5").update(State="COMPLETED")
    report = host.task(Requeue(0), select=MINE)
    made = report.results["5"]
    assert (made["outcome"], made["failure_class"]) == ("rejected", "job_finished")
    assert failed([made], by_name=False) == []
    assert slurm.job("5")["RestartCnt"] == "0"


def test_deadline_passed(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    for ttl in (-10.0, 0.0, 0.5, -NOW - 5.0, -1e30):
        report = host.task(hold(), "5", ttl=ttl)
        assert outcomes(report) == {"5": "expired"}
    assert slurm.calls == []
    assert slurm.clock.now < NOW + 5


# The journal


def entries(host: Host) -> list[Any]:
    with Journal(str(host.directory)) as journal:
        return journal.entries()


def test_the_begin_time_survives(slurm: Slurm, host: Host) -> None:
    own = NOW + 7200
    slurm.add("5", EligibleTime=str(own))
    host.task(hold(7), "5")
    host.task(hold(9), "5")
    assert slurm.job("5")["EligibleTime"] == str(BASE + 9)
    report = host.task(release(9), "5")
    assert slurm.job("5")["EligibleTime"] == str(own)
    assert report.results["5"]["after"]["begin_time"] == own
    assert "put back" in report.results["5"]["reason"]


@pytest.mark.parametrize(
    ("held_as", "released_as"), [("75", "70_3"), ("70_3", "75"), (None, "75"), ("70", None)]
)
def test_the_begin_time_survives_another_name(
    slurm: Slurm, host: Host, held_as: str | None, released_as: str | None
) -> None:
    own = NOW + 7200
    slurm.add("70_3", JobID="75", EligibleTime=str(own))
    names = [held_as] if held_as else []
    host.task(hold(), *names, select=None if held_as else MINE)
    names = [released_as] if released_as else []
    host.task(release(), *names, select=None if released_as else MINE)
    assert slurm.job("75")["EligibleTime"] == str(own)


def test_a_begin_time_that_has_passed_is_not_put_back(slurm: Slurm, host: Host) -> None:
    slurm.add("5", EligibleTime=str(NOW + 60))
    host.task(hold(), "5")
    slurm.clock.sleep(100)
    host.task(Release(7, slurm.clock.now), "5")
    assert slurm.calls[-1][-1] == "StartTime=now"


def test_a_hold_that_was_not_placed_leaves_no_begin_time(slurm: Slurm, host: Host) -> None:
    slurm.add("5", EligibleTime=str(NOW + 7200))
    assert outcomes(host.task(hold(7), "5", ttl=-1)) == {"5": "expired"}
    slurm.job("5").update(EligibleTime=str(BASE + 7))  # somebody else's hold
    host.task(release(7), "5")
    assert slurm.calls[-1][-1] == "StartTime=now"


def test_a_later_job_with_the_number_is_another_job(slurm: Slurm, host: Host) -> None:
    slurm.add("5", EligibleTime=str(NOW + 7200))
    host.task(hold(), "5")
    slurm.job("5").update(SubmitTime=str(NOW + 1), RestartCnt="0")
    host.task(release(), "5")
    assert slurm.calls[-1][-1] == "StartTime=now"


def killed_hold(slurm: Slurm, host: Host, lands: bool | float) -> None:
    """A run that places hold 7 and dies while scontrol is not answered; its script goes on."""
    slurm.add("5")
    slurm.faults[0] = Call(124, "", lands)
    play = slurm.run_detached

    def dies(argv: tuple[str, ...], patience: float) -> Any:
        play(argv, patience)
        raise Killed

    # Only this one fake is to behave so.
    slurm.run_detached = dies  # type: ignore[method-assign]
    with pytest.raises(Killed):
        host.task(hold(7), "5", ttl=20)
    # Only this one fake is to behave so.
    slurm.run_detached = play  # type: ignore[method-assign]


def test_after_a_killed_run_whose_write_shows(slurm: Slurm, host: Host) -> None:
    """Nothing of it can land again: nobody has to wait."""
    killed_hold(slurm, host, True)
    report = host.task(release(7), "5")
    assert (outcomes(report), host.waited_for) == ({"5": "applied"}, [])
    assert [one.outcome for one in entries(host)] == ["applied", "applied"]


def test_after_a_killed_run_whose_write_lands_late(slurm: Slurm, host: Host) -> None:
    """A release now would find nothing, and be undone by the hold that lands."""
    killed_hold(slurm, host, 100.0)
    report = host.task(release(7), "5", ttl=600)
    assert outcomes(report) == {"5": "applied"}
    assert all("an earlier write of job 5" in one for one in host.waited_for)
    assert NOW + 100 <= slurm.clock.now < NOW + 110
    assert slurm.job("5")["EligibleTime"] != str(BASE + 7)


def test_after_a_killed_run_whose_write_never_lands(slurm: Slurm, host: Host) -> None:
    killed_hold(slurm, host, False)
    report = host.task(release(7), "5", ttl=600)
    assert outcomes(report) == {"5": "unchanged"}
    assert slurm.clock.now >= NOW + 20 + CALL_BOUND
    assert len(slurm.calls) == 1


def test_the_same_write_again_after_a_killed_run(slurm: Slurm, host: Host) -> None:
    killed_hold(slurm, host, True)
    report = host.task(hold(7), "5")
    assert (outcomes(report), host.waited_for) == ({"5": "unchanged"}, [])


def test_an_earlier_write_outlasts_the_deadline(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    slurm.faults[0] = Call(124, "", 100.0)
    host.task(hold(7), "5", ttl=10, settle=False)
    report = host.task(hold(8), "5", ttl=20)
    made = report.results["5"]
    assert (made["outcome"], made["changed"]) == ("unknown", False)
    assert "nothing was sent" in made["reason"]
    assert made["may_land_until"] == NOW + 10 + CALL_BOUND
    assert len(slurm.calls) == 1
    at_once = host.task(hold(8), "5", settle=False)
    assert outcomes(at_once) == {"5": "unknown"}
    predicted = host.task(hold(8), "5", check=True)
    assert outcomes(predicted) == {"5": "unknown"}
    assert len(slurm.calls) == 1


def test_only_the_jobs_in_flight_wait(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    slurm.add("6")
    slurm.faults[0] = Call(124, "", 30.0)
    host.task(hold(7), "5", ttl=10, settle=False)
    before = slurm.clock.now
    moments: list[float] = []
    slurm.before_call[1] = lambda: moments.append(slurm.clock.now)
    report = host.task(hold(8), "5", "6", ttl=600)
    assert outcomes(report) == {"5": "applied", "6": "applied"}
    assert moments == [before]
    assert slurm.calls[1][1] == "JobId=6"
    assert slurm.calls[2][1] == "JobId=5"
    assert slurm.job("5")["EligibleTime"] == str(BASE + 8)


def test_in_flight_under_another_name(slurm: Slurm, host: Host) -> None:
    slurm.add("70_3", JobID="75")
    slurm.faults[0] = HANGS
    host.task(hold(7), "75", ttl=10, settle=False)
    report = host.task(release(7), "70_3", settle=False)
    assert outcomes(report) == {"70_3": "unknown"}


def test_another_cluster_is_another_job(slurm: Slurm, host: Host) -> None:
    slurm.add("5", EligibleTime=str(NOW + 7200))
    slurm.faults[0] = HANGS
    host.task(hold(7), "5", ttl=10, settle=False)
    report = host.task(hold(8), "5", cluster="cl2")
    assert outcomes(report) == {"5": "applied"}


def test_what_has_ended_waits_for_nothing(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    slurm.faults[0] = HANGS
    host.task(hold(7), "5", ttl=10, settle=False)
    slurm.job("5")["State"] = "CANCELLED"
    report = host.task(release(7), "5")
    assert (outcomes(report), host.waited_for) == ({"5": "rejected"}, [])


def test_a_controller_that_goes_silent_while_a_job_waits(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    slurm.faults[0] = Call(124, "", 40.0)
    host.task(hold(7), "5", ttl=10, settle=False)
    slurm.silent = (slurm.clock.now + 3, slurm.clock.now + 60)
    report = host.task(hold(8), "5", ttl=600)
    assert outcomes(report) == {"5": "applied"}


def test_a_controller_that_stays_silent_while_a_job_waits(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    slurm.faults[0] = HANGS
    host.task(hold(7), "5", ttl=10, settle=False)
    slurm.silent = (slurm.clock.now + 3, NOW + 10000)
    report = host.task(hold(8), "5", ttl=60)
    assert outcomes(report) == {"5": "unknown"}
    assert "nothing was sent" in report.results["5"]["reason"]


# The requeue bit


def left_set(slurm: Slurm, host: Host) -> Any:
    """A requeue whose bit is left set, for certain: the deadline came before step 3."""
    slurm.add("5", **RUNS)
    slurm.before_call[1] = lambda: slurm.clock.sleep(60)
    return host.task(Requeue(0), "5", ttl=30)


def test_a_bit_that_is_left_set(slurm: Slurm, host: Host) -> None:
    report = left_set(slurm, host)
    made = report.results["5"]
    assert slurm.job("5")["Requeue"] == "1"
    assert (made["requeue_bit_left"], made["outcome"], made["changed"]) == ("yes", "not_run", True)
    assert failed([made], by_name=False) == [made]
    assert difference([made])["after"]["5"]["requeue"] == "yes"
    slurm.add("6")
    next_run = host.task(hold(), "6")
    assert outcomes(next_run) == {"6": "applied"}
    (warning,) = next_run.warnings
    assert "job 5" in warning
    assert "job_restore" in warning
    predicted = host.task(Restore(), "5", check=True)
    assert outcomes(predicted) == {"5": "applied"}
    restored = host.task(Restore(), "5")
    assert (outcomes(restored), restored.warnings) == ({"5": "applied"}, [])
    assert slurm.job("5")["Requeue"] == "0"
    assert host.task(hold(), "6").warnings == []
    assert outcomes(host.task(Restore(), "5")) == {"5": "unchanged"}


def test_a_restore_that_fails_forgets_nothing(slurm: Slurm, host: Host) -> None:
    left_set(slurm, host)
    assert outcomes(host.task(Restore(), "5", ttl=-1)) == {"5": "expired"}
    slurm.add("6")
    assert len(host.task(hold(), "6").warnings) == 1
    assert outcomes(host.task(Restore(), "5")) == {"5": "applied"}


def test_a_bit_of_somebody_else_is_left_alone(slurm: Slurm, host: Host) -> None:
    slurm.add("5", Requeue="1")
    report = host.task(Restore(), "5")
    assert outcomes(report) == {"5": "rejected"}
    assert slurm.calls == []


def test_a_bit_that_was_cleared_since_is_forgotten(slurm: Slurm, host: Host) -> None:
    left_set(slurm, host)
    slurm.job("5")["Requeue"] = "0"
    slurm.clock.sleep(30 + CALL_BOUND + 1)
    slurm.add("6")
    assert host.task(hold(), "6").warnings == []
    slurm.job("5")["Requeue"] = "1"  # its owner wants it so
    assert host.task(hold(8), "6").warnings == []
    assert outcomes(host.task(Restore(), "5")) == {"5": "rejected"}


def test_a_bit_that_comes_back(slurm: Slurm, host: Host) -> None:
    """A slurmctld that was killed has forgotten that it had cleared the bit."""
    slurm.add("5", **RUNS)
    slurm.add("6")
    assert outcomes(host.task(Requeue(0), "5", ttl=20)) == {"5": "applied"}
    assert host.task(hold(), "6").warnings == []
    slurm.job("5")["Requeue"] = "1"
    (warning,) = host.task(hold(), "6").warnings
    assert warning == (
        "A requeue of job 5 cleared the requeue bit, which is set again: run job_restore"
    )
    assert outcomes(host.task(Restore(), "5")) == {"5": "applied"}
    assert host.task(hold(), "6").warnings == []
    slurm.job("5")["Requeue"] = "1"
    (warning,) = host.task(hold(), "6").warnings
    assert warning == (
        "A restore of job 5 cleared the requeue bit, which is set again: run job_restore"
    )
    assert outcomes(host.task(Restore(), "5", ttl=30)) == {"5": "applied"}
    slurm.clock.sleep(30 + CALL_BOUND + 1)
    assert host.task(hold(), "6").warnings == []
    slurm.job("5")["Requeue"] = "1"  # its owner wants it so
    assert host.task(hold(), "6").warnings == []


def test_a_requeue_that_slurmctld_has_forgotten(slurm: Slurm, host: Host) -> None:
    """Killed after its last answer, slurmctld shows the job as it was once the bit was set."""
    slurm.add("5", **RUNS)
    slurm.before_call[1] = slurm.save
    slurm.after_call[2] = slurm.crash
    made = host.task(Requeue(0), "5", ttl=20).results["5"]
    assert (made["outcome"], made["requeue_bit_left"]) == ("not_applied", "yes")
    assert made["changed"] is True
    assert slurm.clock.now > NOW + 20 + CALL_BOUND  # it may have been done all the same
    assert outcomes(host.task(Restore(), "5")) == {"5": "applied"}


def test_the_clearing_alone_was_forgotten(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS)
    slurm.before_call[2] = slurm.save
    slurm.after_call[2] = slurm.crash
    made = host.task(Requeue(0), "5", ttl=20).results["5"]
    assert (made["outcome"], made["requeue_bit_left"]) == ("applied", "yes")
    assert slurm.clock.now < NOW + 20


def test_a_forgotten_requeue_that_was_too_late_for_its_clearing(slurm: Slurm, host: Host) -> None:
    def crash() -> None:
        slurm.crash()
        slurm.clock.sleep(60)

    slurm.add("5", **RUNS)
    slurm.save()
    slurm.after_call[1] = crash
    made = host.task(Requeue(0), "5", ttl=30).results["5"]
    assert (made["outcome"], made["requeue_bit_left"]) == ("not_applied", "no")


@pytest.mark.parametrize(("submitted", "outcome"), [(-200, "unknown"), (200, "applied")])
def test_an_earlier_submit_time_is_the_same_job(
    slurm: Slurm, host: Host, submitted: int, outcome: str
) -> None:
    """A slurmctld that was killed shows an earlier one; a new job with the number a later one."""
    slurm.add("5", Requeue="1", RestartCnt="0", SubmitTime=str(NOW))
    other = {"Requeue": "1", "SubmitTime": str(NOW + submitted)}
    slurm.after_call[0] = lambda: slurm.job("5").update(other)
    made = host.task(Restore(force=True), "5", ttl=20).results["5"]
    assert made["outcome"] == outcome


def test_the_bit_of_a_requeue_that_was_not_started_comes_back(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS)
    slurm.add("6")
    slurm.faults[1] = Call(127, "", False)
    made = host.task(Requeue(0), "5", ttl=20).results["5"]
    assert (made["outcome"], made["requeue_bit_left"]) == ("not_run", "no")
    slurm.job("5")["Requeue"] = "1"
    (warning,) = host.task(hold(), "6").warnings
    assert "set again" in warning
    slurm.job("5")["Requeue"] = "0"
    slurm.clock.sleep(20 + CALL_BOUND + 1)
    assert host.task(hold(), "6").warnings == []


def test_a_bit_that_is_seen_off_later_has_not_come_back(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS)
    slurm.add("6")
    host.task(Requeue(0), "5", ttl=20)
    slurm.clock.sleep(20 + CALL_BOUND + 1)
    assert host.task(hold(), "6").warnings == []
    slurm.job("5")["Requeue"] = "1"  # its owner wants it so
    assert host.task(hold(), "6").warnings == []
    assert outcomes(host.task(Restore(), "5")) == {"5": "rejected"}


def test_a_bit_of_a_job_that_is_gone_is_forgotten(slurm: Slurm, host: Host) -> None:
    left_set(slurm, host)
    slurm.jobs.clear()
    slurm.add("6")
    assert host.task(hold(), "6").warnings == []
    reads = slurm.reads
    host.task(hold(7), "6")
    assert slurm.reads == reads + 1


def test_nothing_is_forgotten_in_check_mode(slurm: Slurm, host: Host) -> None:
    left_set(slurm, host)
    slurm.job("5")["Requeue"] = "0"
    text = (host.directory / "journal.jsonl").read_bytes()
    host.task(Restore(), "5", check=True)
    assert (host.directory / "journal.jsonl").read_bytes() == text


@pytest.mark.parametrize("dies_at", [1, 2])
def test_a_killed_requeue(slurm: Slurm, host: Host, dies_at: int) -> None:
    """Killed together with its script, between two calls: the next run reports the bit."""

    def die() -> None:
        raise Killed

    slurm.add("5", **RUNS)
    slurm.before_call[dies_at] = die
    with pytest.raises(Killed):
        host.task(Requeue(0), "5", ttl=20)
    slurm.before_call.clear()
    assert slurm.job("5")["Requeue"] == "1"
    early = host.task(Restore(), "5", settle=False)
    assert outcomes(early) == {"5": "unknown"}  # the script may go on yet
    slurm.clock.sleep(20 + CALL_BOUND + 1)
    slurm.add("6")
    (warning,) = host.task(hold(), "6").warnings
    assert "job 5" in warning
    assert outcomes(host.task(Restore(), "5")) == {"5": "applied"}
    assert slurm.job("5")["Requeue"] == "0"


def test_a_bit_that_may_yet_land(slurm: Slurm, host: Host) -> None:
    """Setting it was not answered: seen off is not off until the landing bound has passed."""
    slurm.add("5", **RUNS)
    slurm.faults[0] = Call(1, "Unexpected message received for job 5\n", 100.0)
    report = host.task(Requeue(0), "5", ttl=20)
    made = report.results["5"]
    assert slurm.clock.now > NOW + 20 + CALL_BOUND
    assert slurm.job("5")["Requeue"] == "1"
    assert (made["requeue_bit_left"], made["outcome"], made["changed"]) == (
        "yes", "not_applied", True,
    )  # fmt: skip
    assert failed([made], by_name=True) == [made]
    assert [one[0] for one in slurm.calls] == ["update", "update"]


def test_a_bit_that_did_not_land(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS)
    slurm.faults[0] = Call(1, "Unexpected message received for job 5\n", False)
    made = host.task(Requeue(0), "5", ttl=20).results["5"]
    assert (made["requeue_bit_left"], made["outcome"], made["changed"]) == (
        "no", "not_applied", False,
    )  # fmt: skip
    unsettled = host.task(Requeue(0), "5", ttl=20, settle=False)
    assert outcomes(unsettled) == {"5": "applied"}


def test_a_bit_in_doubt_without_settling_blocks_the_next_run(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS)
    slurm.faults[0] = Call(1, "Unexpected message received for job 5\n", 100.0)
    made = host.task(Requeue(0), "5", ttl=20, settle=False).results["5"]
    assert (made["outcome"], made["requeue_bit_left"]) == ("unknown", "unknown")
    assert outcomes(host.task(Restore(), "5", settle=False)) == {"5": "unknown"}


def test_a_clear_that_is_refused_by_the_end_of_the_job(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS)
    slurm.before_call[2] = lambda: slurm.job("5").update(State="COMPLETED")
    made = host.task(Requeue(0), "5").results["5"]
    assert (made["outcome"], made["requeue_bit_left"]) == ("applied", "no")


def test_a_bit_that_was_seen_off_right_afterwards(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS)

    def late() -> None:
        slurm.clock.sleep(60)
        slurm._due.append((NOW + 60, lambda: slurm.job("5").update(Requeue="0") or None))

    slurm.before_call[1] = late
    made = host.task(Requeue(0), "5", ttl=30).results["5"]
    assert (made["requeue_bit_left"], made["outcome"], made["changed"]) == ("no", "applied", True)


def test_a_clear_that_was_not_answered(slurm: Slurm, host: Host) -> None:
    """The execution is over; whether the bit is off stays open, for the next run too."""
    slurm.add("5", **RUNS)
    slurm.faults[2] = Call(1, "Unexpected message received for job 5\n", 100.0)
    made = host.task(Requeue(0), "5", ttl=20, settle=False).results["5"]
    assert (made["outcome"], made["requeue_bit_left"]) == ("applied", "unknown")
    assert failed([made], by_name=True) == [made]
    assert made["may_land_until"] == NOW + 20 + CALL_BOUND
    assert outcomes(host.task(Restore(), "5", settle=False)) == {"5": "unknown"}
    slurm.clock.sleep(110)
    assert outcomes(host.task(Restore(), "5", ttl=600)) == {"5": "unchanged"}


def test_a_clear_that_was_not_answered_is_settled(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS)
    slurm.faults[2] = Call(1, "Unexpected message received for job 5\n", 100.0)
    made = host.task(Requeue(0), "5", ttl=20).results["5"]
    assert (made["outcome"], made["requeue_bit_left"]) == ("applied", "no")
    assert (made["changed"], made["may_land_until"]) == (True, None)


def test_many_requeues_at_once(slurm: Slurm, host: Host) -> None:
    for number in range(1, 41):
        slurm.add(str(number), **{**RUNS, "Requeue": str(number % 2)})
    report = host.task(Requeue(0), select=MINE)
    assert set(outcomes(report).values()) == {"applied"}
    assert {one["RestartCnt"] for one in slurm.jobs} == {"1"}
    assert {one["JobID"]: one["Requeue"] for one in slurm.jobs} == {
        str(number): str(number % 2) for number in range(1, 41)
    }
    assert len(slurm.scripts) == 20 + 1


def test_a_second_requeue_by_time_while_the_first_completes(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS)
    assert outcomes(host.task(Requeue(started_before=NOW), "5")) == {"5": "applied"}
    assert slurm.job("5")["State"] == "COMPLETING"
    assert outcomes(host.task(Requeue(started_before=NOW), "5")) == {"5": "unchanged"}


# Without a landing bound


def test_an_opening_without_a_bound(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **GATED)
    slurm.add("6", **GATED)
    assert outcomes(host.task(Open(), "5", bound=None)) == {"5": "applied"}
    slurm.faults[1] = HANGS
    report = host.task(Open(), "6", bound=None, ttl=20)
    made = report.results["6"]
    assert (made["outcome"], made["may_land_until"], made["settled"]) == ("unknown", None, False)


# The selection


def test_failures_by_name_and_by_selection(slurm: Slurm, host: Host) -> None:
    slurm.add("5", UserName="user1")
    slurm.add("6")
    slurm.add("7", EligibleTime=str(BASE + 9))
    slurm.before_call[0] = lambda: slurm.job("6").update(State="CANCELLED")
    report = host.task(hold(), select=MINE)
    assert outcomes(report) == {"5": "applied", "6": "rejected", "7": "stale"}
    results = list(report.results.values())
    assert [one["job_id"] for one in failed(results, by_name=True)] == ["6", "7"]
    assert [one["job_id"] for one in failed(results, by_name=False)] == ["7"]


def test_the_largest_instance(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    assert outcomes(host.task(Hold(MAX_INSTANCE, NOW), "5")) == {"5": "applied"}
    assert outcomes(host.task(Release(MAX_INSTANCE, NOW), "5")) == {"5": "applied"}


# The disk


def test_a_journal_that_can_not_be_written(
    slurm: Slurm, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm.add("5")

    def full(*ignored: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(SlurmError, match="No space left on device"):
        host.task(hold(), "5")
    assert slurm.calls == []


def test_a_disk_that_is_full_afterwards(
    slurm: Slurm, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was sent is reported as it is; that the journal doesn't know it is a warning."""
    slurm.add("5")

    def full(*ignored: object) -> None:
        raise OSError(28, "No space left on device")

    slurm.before_call[0] = lambda: monkeypatch.setattr("os.fsync", full)
    report = host.task(hold(), "5")
    assert outcomes(report) == {"5": "applied"}
    (warning,) = report.warnings
    assert "No space left on device" in warning
    assert "nothing was sent" not in warning


def test_a_damaged_journal_is_told_once(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    host.directory.mkdir(mode=0o700)
    path = Path(host.directory) / "journal.jsonl"
    path.write_text("garbage\n\x00\n{}\n[]\nnull\n", encoding="utf-8")
    path.chmod(0o600)
    report = host.task(hold(), "5")
    assert outcomes(report) == {"5": "applied"}
    assert len(report.warnings) == 1
    assert outcomes(host.task(hold(), "5")) == {"5": "unchanged"}


def test_every_script_is_in_the_journal_before_it_is_started(slurm: Slurm, host: Host) -> None:
    slurm.add("5", EligibleTime=str(NOW + 60))
    slurm.add("6", EligibleTime=str(NOW + 60))
    seen: list[set[str]] = []
    slurm.before_script = lambda: seen.append(
        {one.job_id for one in entries(host) if one.outcome is None}
    )
    host.task(hold(), "5", "6")
    assert seen == [{"5", "6"}]
    assert {one.outcome for one in entries(host)} == {"applied"}
    assert {one.begin for one in entries(host)} == {NOW + 60}
    assert {one.until for one in entries(host)} == {NOW + 60 + CALL_BOUND}


# What the model has found (tests/model)


def test_what_was_in_flight_at_the_read_still_counts_when_the_lock_is_had(
    slurm: Slurm, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hold lands between the read and the lock, and its bound passes there, too."""
    slurm.add("5")
    slurm.faults[0] = Call(124, "", 300)
    assert outcomes(host.task(hold(), "5", settle=False)) == {"5": "unknown"}
    enter = Journal.__enter__

    def late(self: Journal) -> Journal:
        slurm.clock.now += CALL_BOUND + 100
        slurm.settle_due()
        return enter(self)

    monkeypatch.setattr(Journal, "__enter__", late)
    report = host.task(release(), "5")
    assert slurm.job("5")["EligibleTime"] == str(BASE + 7)
    assert outcomes(report) == {"5": "unknown"}


def test_a_begin_time_survives_a_hold_that_is_placed_while_the_job_is_requeued(
    slurm: Slurm, host: Host
) -> None:
    """Its restart count has risen already, and its submit time is still the old one."""
    own = str(NOW + 100000)
    slurm.add("5", **RUNS, RestartCnt="1", EligibleTime=own)
    slurm.job("5").update(State="COMPLETING", SubmitTime=str(NOW - 500))
    assert outcomes(host.task(hold(), "5")) == {"5": "applied"}
    slurm.job("5").update(State="PENDING", StartTime="N/A", SubmitTime=str(NOW + 5))
    assert outcomes(host.task(release(), "5")) == {"5": "applied"}
    assert slurm.job("5")["EligibleTime"] == own

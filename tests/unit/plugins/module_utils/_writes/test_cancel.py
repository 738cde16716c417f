# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cancelling on a Slurm of our own, which ends jobs as 22.05 to 26.05 were seen to do."""

from __future__ import annotations

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import Selection
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.cancel import Cancel
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.engine import Report
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import Hold
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.results import (
    difference,
    ended,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.task import alive_message
from ansible_collections.hpcops.slurm.tests.unit.old_pythons import paired
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._writes.slurm import (
    CALL_BOUND,
    HANGS,
    NOW,
    Call,
    Host,
    Slurm,
    changes,
    outcomes,
)

RUNS = {"State": "RUNNING", "StartTime": str(NOW - 100), "EndTime": str(NOW + 500)}
#: COMPLETING with ten minutes of limit: cancelled half way, and requeued.
ENDING = {"State": "COMPLETING", "StartTime": str(NOW - 100), "EndTime": str(NOW)}
BACK = {"State": "COMPLETING", "StartTime": str(NOW), "EndTime": str(NOW + 600), "RestartCnt": "1"}


def reason(report: Report, job_id: str) -> str:
    return str(report.results[job_id]["reason"])


def over(report: Report) -> dict[str, str]:
    return {one: ended(made["after"]).value for one, made in report.results.items()}


# What is there


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, Answer.NO),
        (RUNS, Answer.NO),
        ({"State": "SUSPENDED"}, Answer.NO),
        ({"State": "CANCELLED"}, Answer.YES),
        ({"State": "COMPLETED"}, Answer.YES),
        (ENDING, Answer.YES),
        ({**ENDING, "TimeLimit": "UNLIMITED"}, Answer.YES),
        (BACK, Answer.UNKNOWN),
        ({**BACK, "TimeLimit": "UNLIMITED", "EndTime": "NONE"}, Answer.UNKNOWN),
        # A job that ran to its limit looks like one that was requeued.
        ({**ENDING, "StartTime": str(NOW - 600)}, Answer.UNKNOWN),
        ({**ENDING, "EndTime": "N/A"}, Answer.UNKNOWN),
        ({**ENDING, "State": "STAGE_OUT"}, Answer.UNKNOWN),
        ({**ENDING, "State": "COMPLETING,REQUEUED"}, Answer.NO),
        ({"State": "SOMETHING"}, Answer.UNKNOWN),
    ],
)
def test_whether_a_job_is_ending(values: dict[str, str], expected: Answer) -> None:
    assert fakes.read(fakes.job("5", **values)).ending is expected


# First run, second run, check mode

ALIVE = {
    "pending": {},
    "held": {"PriorityLong": "0", "Reason": "JobHeldUser"},
    "running": RUNS,
    "suspended": {**RUNS, "State": "SUSPENDED"},
    "no batch job": {**RUNS, "BatchFlag": "0"},
}


@pytest.mark.parametrize("action", [Cancel(), Cancel(restarts=0)])
def test_check_first_and_second_run(slurm: Slurm, host: Host, action: Cancel) -> None:
    ids = [str(number) for number in range(5, 5 + len(ALIVE))]
    for job_id, values in paired(ids, ALIVE.values()):
        slurm.add(job_id, **values)
    untouched = [dict(one) for one in slurm.jobs]
    predicted = host.task(action, *ids, check=True)
    assert (slurm.calls, slurm.jobs) == ([], untouched)
    first = host.task(action, *ids)
    assert set(outcomes(first).values()) == {"applied"}
    assert outcomes(predicted) == outcomes(first)
    sides = difference(list(first.results.values()))
    assert sides == difference(list(predicted.results.values()))
    assert sides["after"]["5"] == {"ending": "yes"}
    assert slurm.calls == [("scancel", *ids)]
    assert over(predicted) == over(first)
    assert over(first) == {"5": "yes", "6": "yes", "7": "no", "8": "no", "9": "no"}
    second = host.task(action, *ids)
    assert set(outcomes(second).values()) == {"unchanged"}
    assert not any(changes(second).values())
    assert len(slurm.calls) == 1


@pytest.mark.parametrize("state", ["CANCELLED", "COMPLETED", "FAILED", "TIMEOUT", "NODE_FAIL"])
def test_what_has_ended_is_left_alone(slurm: Slurm, host: Host, state: str) -> None:
    slurm.add("5", State=state)
    slurm.add("6", **ENDING)
    report = host.task(Cancel(), "5", "6", "99")
    assert outcomes(report) == {"5": "unchanged", "6": "unchanged", "99": "not_found"}
    assert slurm.calls == []
    assert state in reason(report, "5")


def test_a_job_that_would_run_again(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **BACK)
    report = host.task(Cancel(), "5")
    assert outcomes(report) == {"5": "applied"}
    assert slurm.calls == [("scancel", "5")]
    assert outcomes(host.task(Cancel(), "5")) == {"5": "unchanged"}
    assert len(slurm.calls) == 1


def test_a_job_that_ends_by_itself_meanwhile(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS)
    slurm.before_call[0] = lambda: slurm.job("5").update(State="COMPLETED")
    report = host.task(Cancel(), "5")
    assert (outcomes(report), changes(report)) == ({"5": "unchanged"}, {"5": False})
    assert "ended by itself meanwhile (COMPLETED)" in reason(report, "5")


# The execution


@pytest.mark.parametrize(
    ("action", "outcome"),
    [
        (Cancel(restarts=1), "unchanged"),
        (Cancel(restarts=2), "applied"),
        (Cancel(restarts=3), "rejected"),
        (Cancel(started_before=NOW - 100), "unchanged"),
        (Cancel(started_before=NOW - 99), "applied"),
    ],
)
def test_the_execution_that_is_named(
    slurm: Slurm, host: Host, action: Cancel, outcome: str
) -> None:
    slurm.add("5", **RUNS, RestartCnt="2")
    assert outcomes(host.task(action, "5", check=True)) == {"5": outcome}
    assert outcomes(host.task(action, "5")) == {"5": outcome}
    assert len(slurm.calls) == (outcome == "applied")


def test_a_pending_job_has_no_execution_that_began(slurm: Slurm, host: Host) -> None:
    slurm.add("5")
    assert outcomes(host.task(Cancel(started_before=NOW), "5")) == {"5": "unchanged"}
    assert slurm.calls == []


def test_an_execution_that_is_replaced_meanwhile(slurm: Slurm, host: Host) -> None:
    """The look right before the call keeps a newer execution from being hit."""
    slurm.add("5", **RUNS)
    slurm.before_script = lambda: slurm.job("5").update(RestartCnt="1", State="PENDING")
    report = host.task(Cancel(restarts=0), "5")
    assert outcomes(report) == {"5": "not_run"}
    assert slurm.calls == []
    assert slurm.job("5")["State"] == "PENDING"


# Refusals, and no answer


def test_other_users_jobs(slurm: Slurm, host: Host) -> None:
    slurm.add("5", UserName="user2")
    slurm.add("6")
    report = host.task(Cancel(), "5", "6")
    assert outcomes(report) == {"5": "rejected", "6": "applied"}
    assert report.results["5"]["failure_class"] == "permission_denied"
    assert report.results["5"]["calls"] == [{"call": "cancel", "status": 210}]


@pytest.mark.parametrize(
    "stderr",
    [
        "scancel: error: Kill job error on job id 5: Socket timed out on send/recv operation\n",
        "scancel: error: Kill job error on job id 6: Access/permission denied\n",
        "Access/permission denied for job 5\n",
        "",
    ],
)
@pytest.mark.parametrize("status", [210, 140, 60, 1, 8])
def test_answers_that_prove_nothing(slurm: Slurm, host: Host, stderr: str, status: int) -> None:
    slurm.add("5", **RUNS)
    slurm.faults[0] = Call(status, stderr, False)
    report = host.task(Cancel(), "5", settle=False)
    assert outcomes(report) == {"5": "unknown"}
    assert report.results["5"]["may_land_until"] is not None


def test_success_that_did_nothing(slurm: Slurm, host: Host) -> None:
    """scancel says nothing of jobs that it does not find."""
    slurm.add("5", **RUNS)
    slurm.faults[0] = Call(0, "", False)
    assert outcomes(host.task(Cancel(), "5")) == {"5": "not_applied"}
    slurm.before_call[1] = slurm.jobs.clear
    report = host.task(Cancel(), "5")
    assert outcomes(report) == {"5": "unknown"}  # a job that was cancelled and forgotten looks so
    assert report.results["5"]["settled"] is True
    assert report.results["5"]["may_land_until"] is None


def test_a_job_that_is_read_while_it_is_requeued(slurm: Slurm, host: Host) -> None:
    """It is the same job when its submit time changes, after its restart count."""
    slurm.add("5", State="COMPLETING", RestartCnt="1", SubmitTime=str(NOW - 500))
    slurm.job("5").update(StartTime=str(NOW - 100), EndTime=str(NOW + 500))

    def is_back() -> None:
        slurm.job("5").update(State="PENDING", StartTime="N/A", SubmitTime=str(NOW))

    slurm.before_call[0] = is_back
    assert outcomes(host.task(Cancel(), "5")) == {"5": "applied"}


def test_late_landing(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS)
    slurm.add("6", **RUNS)
    slurm.faults.update({0: HANGS, 1: Call(124, "", 100.0)})
    report = host.task(Cancel(), "5")
    assert outcomes(report) == {"5": "not_applied"}
    assert slurm.clock.now >= NOW + CALL_BOUND
    report = host.task(Cancel(), "6")
    assert outcomes(report) == {"6": "applied"}


def test_without_a_landing_bound(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS)
    slurm.add("6", **RUNS)
    assert outcomes(host.task(Cancel(), "5", bound=None)) == {"5": "applied"}
    slurm.faults[1] = Call(124, "", 100.0)
    made = host.task(Cancel(), "6", bound=None).results["6"]
    assert (made["outcome"], made["settled"], made["may_land_until"]) == ("unknown", False, None)
    assert "without a landing bound it may still land at any time" in made["reason"]
    slurm.clock.now += 200
    assert outcomes(host.task(Cancel(), "6", bound=None)) == {"6": "unchanged"}
    assert len(slurm.calls) == 2


def test_nothing_has_to_be_waited_for(slurm: Slurm, host: Host) -> None:
    """A hold that may still land can't bring a job back; a hold waits for a cancelling."""
    slurm.add("5")
    slurm.faults.update({0: HANGS, 1: HANGS})
    assert outcomes(host.task(Hold(7, NOW), "5", settle=False)) == {"5": "unknown"}
    assert outcomes(host.task(Cancel(), "5", settle=False)) == {"5": "unknown"}
    waits = host.task(Hold(7, NOW), "5", settle=False)
    assert "an earlier cancel may still land" in reason(waits, "5")
    assert outcomes(host.task(Cancel(), "5")) == {"5": "applied"}
    assert len(slurm.calls) == 3


# Arrays and heterogeneous jobs


def test_tasks_that_leave_no_trace(slurm: Slurm, host: Host) -> None:
    for task in range(1, 7):
        slurm.add(f"70_{task}")
    named = {f"70_{task}": "applied" for task in (2, 3, 5)}
    report = host.task(Cancel(), "70_[2-3]", "70_5")
    assert outcomes(report) == named
    assert slurm.calls == [("scancel", "70_[2-3,5]")]
    assert set(over(report).values()) == {"yes"}
    assert {one["ArrayTaskID"] for one in slurm.jobs} == {"1", "4", "6"}
    again = host.task(Cancel(), "70_[2-3]", "70_5")
    assert outcomes(again) == dict.fromkeys(named, "unchanged")
    assert set(over(again).values()) == {"yes"}
    both = host.task(Cancel(), "70_[1-2]", wait_limit=60)
    assert outcomes(both) == {"70_1": "applied", "70_2": "unchanged"}
    # Nobody knows of a task that no run of ours has seen.
    assert outcomes(host.task(Cancel(), "70_9", "70_[2,9]")) == {
        "70_9": "not_found", "70_[2,9]": "not_found"
    }  # fmt: skip
    whole = host.task(Cancel(), "70")
    assert outcomes(whole) == {"70_4": "applied", "70_6": "applied"}
    assert outcomes(host.task(Cancel(), "70")) == {"70": "unchanged"}
    assert outcomes(host.task(Cancel(), "70_4")) == {"70_4": "unchanged"}
    slurm.jobs.clear()
    assert outcomes(host.task(Cancel(), "70_4")) == {"70_4": "not_found"}


def test_an_answer_that_is_not_trusted_shows_no_end(slurm: Slurm, host: Host) -> None:
    slurm.add("70_1")
    slurm.add("70_2")
    host.task(Cancel(), "70_2")
    slurm.complaint = "squeue: error: something\n"
    assert outcomes(host.task(Cancel(), "70_2")) == {"70_2": "unknown"}


def het(slurm: Slurm, **values: str) -> None:
    slurm.add("40+0", JobID="40", **values)
    slurm.add("40+1", **{"JobID": "41", "HetJobID": "40", "HetJobOffset": "1", **values})


@pytest.mark.parametrize("names", [["40"], ["40+0", "40+1"], ["41", "40+0"]])
@pytest.mark.parametrize("values", [{}, RUNS])
def test_a_whole_heterogeneous_job(
    slurm: Slurm, host: Host, names: list[str], values: dict[str, str]
) -> None:
    het(slurm, **values)
    report = host.task(Cancel(), *names)
    assert set(outcomes(report).values()) == {"applied"}
    assert len(report.results) == 2
    assert slurm.calls == [("scancel", "40")]
    assert set(outcomes(host.task(Cancel(), *names)).values()) == {"unchanged"}


def test_a_part_of_a_heterogeneous_job(slurm: Slurm, host: Host) -> None:
    het(slurm)
    for name in ("40+0", "40+1", "41"):
        report = host.task(Cancel(), name)
        assert outcomes(report) == {name: "rejected"}
    assert slurm.calls == []
    for one in slurm.jobs:
        one.update(RUNS)
    assert outcomes(host.task(Cancel(), "40+0")) == {"40+0": "rejected"}
    assert outcomes(host.task(Cancel(), "40+1")) == {"40+1": "applied"}
    assert slurm.calls == [("scancel", "40+1")]
    slurm.jobs[1]["State"] = "CANCELLED"
    assert outcomes(host.task(Cancel(), "40+0")) == {"40+0": "applied"}


def test_a_selection_of_a_part(slurm: Slurm, host: Host) -> None:
    het(slurm)
    slurm.jobs[0]["UserName"] = "other"
    report = host.task(Cancel(), select=Selection(users=("user1",)))
    assert outcomes(report) == {"40+1": "rejected"}


# Waiting for the end


def test_waiting(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS)
    slurm.add("6")
    slurm._due.append((NOW + 30, lambda: slurm.job("5").update(State="CANCELLED")))
    report = host.task(Cancel(), "5", "6", "99", wait_limit=60)
    assert outcomes(report) == {"5": "applied", "6": "applied", "99": "not_found"}
    assert (report.alive, over(report)["5"]) == ([], "yes")
    assert NOW + 30 <= slurm.clock.now < NOW + 40
    assert "job 5 did not end yet" in host.waited_for
    assert len(slurm.calls) == 1


def test_waiting_in_vain(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS)
    slurm.add("6", State="CANCELLED")
    report = host.task(Cancel(), "5", "6", wait_limit=20)
    assert outcomes(report) == {"5": "applied", "6": "unchanged"}
    assert report.alive == ["5"]
    assert NOW + 19 <= slurm.clock.now < NOW + 30
    text = "1 jobs are not known to have ended within wait_limit: 5 COMPLETING"
    assert alive_message(report) == text


def test_waiting_for_a_job_that_is_forgotten(slurm: Slurm, host: Host) -> None:
    """Its end was not seen, and that it is not shown any more does not prove it."""
    slurm.add("5", **RUNS)
    slurm._due.append((NOW + 10, slurm.jobs.clear))
    report = host.task(Cancel(), "5", wait_limit=60)
    assert (outcomes(report), over(report)) == ({"5": "applied"}, {"5": "unknown"})
    assert report.alive == ["5"]
    assert "is not shown any more" in alive_message(report)
    assert slurm.clock.now < NOW + 30


def test_a_newer_execution_is_not_waited_for(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS, RestartCnt="1")
    slurm.add("6", **ENDING)
    slurm._due.append((NOW + 10, lambda: slurm.job("6").update(State="CANCELLED")))
    report = host.task(Cancel(restarts=0), "5", "6", wait_limit=60)
    assert outcomes(report) == {"5": "unchanged", "6": "unchanged"}
    assert (report.alive, over(report)) == ([], {"5": "no", "6": "yes"})
    assert slurm.clock.now < NOW + 30


def test_waiting_through_silence(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS)
    slurm.silent = (NOW + 5, NOW + 20)
    slurm._due.append((NOW + 10, lambda: slurm.job("5").update(State="CANCELLED")))
    report = host.task(Cancel(), "5", wait_limit=100)
    assert over(report) == {"5": "yes"}


def test_waiting_begins_when_all_is_settled(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS)
    slurm.faults[0] = Call(124, "", 100.0)
    slurm._due.append((NOW + 120, lambda: slurm.job("5").update(State="CANCELLED")))
    report = host.task(Cancel(), "5", wait_limit=40)
    assert (outcomes(report), over(report)) == ({"5": "applied"}, {"5": "yes"})


def test_check_mode_does_not_wait(slurm: Slurm, host: Host) -> None:
    slurm.add("5", **RUNS)
    report = host.task(Cancel(), "5", check=True, wait_limit=60)
    assert (outcomes(report), slurm.clock.now) == ({"5": "applied"}, NOW)
    assert host.rounds == 1

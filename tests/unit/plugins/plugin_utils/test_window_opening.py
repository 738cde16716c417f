# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an opening maintenance window decides, and what it says of the outcome."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.plugin_utils._window import manifest, opening
from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.opening import Done
from ansible_collections.hpcops.slurm.tests.unit.plugins.plugin_utils.windows import (
    HEADER,
    NOW,
    Data,
    kept,
    queue,
    record,
    result,
    wish,
)

NOTHING = Done()
REFUSED = {"outcome": "rejected", "failure_class": "unclassified", "message": "no for job 1"}


def planned(*records: Data, done: Done = NOTHING, **asked: Any) -> opening.Plan:
    return opening.plan(queue(*records), wish(**asked), done)


def ids(jobs: Any) -> list[str]:
    return [job.job_id for job in jobs]


def reasons(plan: opening.Plan) -> dict[str, str]:
    return {job.job_id: reason for job, reason in plan.active}


def test_only_pending_jobs_without_a_hold_are_held() -> None:
    plan = planned(
        record("1"),
        record("2", hold=7),
        record("3", hold=6),
        record("4", hold=8),
        record("5", "RUNNING"),
        record("6", "COMPLETED"),
        record("7", gate="yes", eligible_time=None),
        record("8", "COMPLETING"),
        record("9", "CANCELLED", hold=7),
    )
    assert ids(plan.hold) == ["1", "7"]
    assert ids(plan.held) == ["2"]
    assert [(job.job_id, job.hold) for job in plan.left] == [("3", 6), ("4", 8)]
    assert not plan.requeue


def test_a_begin_time_that_was_not_read_is_no_free_job() -> None:
    plan = planned(record("1", hold="unknown"), record("2", "FAILED", hold="unknown"))
    assert ids(plan.hold) == []
    assert ids(plan.doubtful) == ["1"]
    assert "1" in opening.failure(opening.report(plan, NOTHING), wish(), True)


def test_a_probe_that_waits_behind_its_gate_is_not_held() -> None:
    probe = {"name": "hpcops-slurm-preflight"}
    plan = planned(record("1", gate="yes", **probe), record("2", hold=1, **probe))
    assert not plan.hold
    # A job that calls itself so and can start is held all the same.
    assert ids(planned(record("1", **probe)).hold) == ["1"]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"requeue": "no"}, "its requeue bit is off"),
        ({"requeue": "unknown"}, "its requeue bit is unknown"),
        ({"batch": "no"}, "only batch jobs can be requeued"),
        ({"batch": "unknown"}, "its kind is unknown"),
        ({"raw_state": "SUSPENDED", "coarse_state": "suspended"}, "it is suspended"),
        ({"raw_state": "COMPLETING", "coarse_state": "unknown"}, "it is completing"),
    ],
)
def test_what_may_not_be_sent_back_is_waited_for(more: Data, reason: str) -> None:
    plan = planned(record("1", "RUNNING", **more), record("2", "RUNNING"), running="requeue")
    assert ids(plan.requeue) == ["2"]
    assert reasons(plan) == {"1": reason, "2": ""}
    assert opening.as_data(plan, wish("requeue"))["waits"]


def test_jobs_without_the_bit_are_sent_back_when_that_is_asked_for() -> None:
    plan = planned(record("1", "RUNNING", requeue="no"), running="requeue", any_bit=True)
    assert ids(plan.requeue) == ["1"]


@pytest.mark.parametrize(("running", "waits"), [("leave", False), ("wait", True)])
def test_running_jobs_stay(running: str, waits: bool) -> None:
    plan = planned(record("1", "RUNNING"), running=running)
    assert not plan.requeue
    assert opening.as_data(plan, wish(running))["waits"] is waits


def test_nodes_narrow_the_running_jobs_only() -> None:
    jobs = [
        record("1", "RUNNING", node_list="n[1-2]"),
        record("2", "RUNNING", node_list="n3"),
        record("3", "RUNNING", node_list="n[3-"),
        record("4"),
    ]
    plan = planned(*jobs, running="requeue", nodes="n[2,9]")
    # A list of nodes that can't be read may hold one of these.
    assert ids(plan.requeue) == ["1", "3"]
    assert ids(plan.hold) == ["4"]
    assert ids(planned(*jobs, running="requeue").requeue) == ["1", "2", "3"]


def test_started_before_names_every_execution_that_is_to_end() -> None:
    early = record("1", "RUNNING", start_time=int(NOW) - 900)
    late = record("2", "RUNNING", start_time=int(NOW) - 3)
    assert planned(early, late, running="requeue").started_before == int(NOW) - 2


def test_what_is_sent_back_is_held_while_it_completes_once() -> None:
    done = Done(requeues=[result("1")])
    completing = record("1", "COMPLETING", restarts=1)
    plan = planned(completing, done=done, running="requeue")
    assert ids(plan.hold) == ["1"]
    assert plan.urgent
    refused = result("1", "rejected", failure_class="job_finished")
    again = Done(requeues=done.requeues, holds=[refused])
    assert not planned(completing, done=again, running="requeue").hold
    # Pending again: whatever was said before.
    back = planned(record("1", restarts=1), done=again, running="requeue")
    assert ids(back.hold) == ["1"]
    assert back.urgent


def test_a_completing_job_that_nobody_sent_back_is_not_held() -> None:
    assert not planned(record("1", "COMPLETING"), running="requeue").hold


def test_a_new_submission_can_wait_a_little() -> None:
    plan = planned(record("1"), record("2", "RUNNING"), running="wait")
    assert plan.acts
    assert not plan.urgent


def test_a_requeue_that_failed_is_not_tried_again() -> None:
    done = Done(requeues=[result("1", "rejected", reason="het", message="no")])
    plan = planned(record("1", "RUNNING"), done=done, running="requeue")
    assert not plan.requeue
    assert reasons(plan) == {"1": "rejected: het (no)"}


def test_a_job_that_runs_again_is_sent_back_again() -> None:
    done = Done(requeues=[result("1")])
    plan = planned(record("1", "RUNNING", restarts=1), done=done, running="requeue")
    assert ids(plan.requeue) == ["1"]


def test_a_job_that_slurm_will_not_have_held_is_reported() -> None:
    done = Done(holds=[result("1", **REFUSED)])
    plan = planned(record("1"), done=done)
    assert not plan.acts
    data = opening.report(plan, done)
    assert ids(plan.refused) == [one["job_id"] for one in data["refused"]] == ["1"]
    assert "no for job 1" in opening.failure(data, wish(), True)
    assert opening.failure(data, wish(), False) == ""


def test_a_job_that_started_and_waits_again_is_tried_again() -> None:
    done = Done(holds=[result("1", "rejected", failure_class="job_not_pending")])
    assert ids(planned(record("1"), done=done).hold) == ["1"]


def test_bits_that_an_interrupted_run_left_set_are_cleared_once() -> None:
    jobs = queue(record("1", hold=7), record("2", hold=7, requeue="no"), record("3", hold=7))
    plan = opening.plan(jobs, wish(), NOTHING, {"1", "2"})
    assert plan.restore == ("1",)
    assert plan.acts
    done = Done(restores=[result("1", "rejected", failure_class="requeue_disabled")])
    assert not opening.plan(jobs, wish(), done, {"1", "2"}).acts


def test_a_report_after_a_calm_read() -> None:
    done = Done(holds=[result("1"), result("2")], requeues=[result("3"), result("4")])
    plan = planned(
        record("1", hold=7), record("3", hold=7), record("4", "COMPLETING", hold=7),
        record("5", hold=9), done=done, running="requeue"
    )  # fmt: skip
    data = opening.report(plan, done)
    # Job 2 was let go by somebody since, and has ended.
    assert data["held"] == ["1", "3", "4"]
    assert data["newly_held"] == ["1", "2"]
    assert data["requeued"] == ["3", "4"]
    assert data["left"] == [{"job_id": "5", "user": "user1", "window": 9}]
    assert [one["why"] for one in data["running"]] == ["it is completing"]
    assert opening.headline(data, wish("requeue"), False) == (
        "window 7: 3 pending jobs held, 2 of them by this run, 2 requeued,"
        " 1 left to other windows, 1 running"
    )
    assert opening.lines(data) == [
        "left to window 9: 5 of user1",
        "running, it is completing: 4 of user1",
    ]
    assert "Still there: 4" in opening.failure(data, wish("requeue"), True)
    assert opening.failure(data, wish("requeue"), False) == ""


def test_a_report_when_the_last_look_came_before_the_last_calls() -> None:
    done = Done(
        holds=[result("1"), result("2", "not_applied"), result("3", "not_found")],
        requeues=[result("4")],
    )
    plan = planned(record("1"), record("2"), record("3"), record("4", "RUNNING"), running="requeue")
    data = opening.report(plan, done)
    assert data["held"] == ["1"]
    assert [one["job_id"] for one in data["not_held"]] == ["2"]
    assert data["running"] == []
    assert "2 (not_applied" in opening.failure(data, wish("requeue"), False)
    assert "still coming in" in opening.headline(data, wish("requeue"), False)
    assert opening.headline(data, wish(), True).startswith("window 7 would be opened: ")
    assert "still coming in" not in opening.headline(data, wish(), True)


def test_what_is_unknown_fails_with_the_time_until_which_it_may_land() -> None:
    done = Done(holds=[result("1", "unknown")], requeues=[result("2", "unknown")])
    assert done.unknown
    plan = planned(record("1"), record("2", "RUNNING"), running="requeue")
    data = opening.report(plan, done)
    assert {one["job_id"]: one["may_land_until"] for one in data["unknown"]} == {
        "1": 1800000360,
        "2": 1800000360,
    }
    said = opening.failure(data, wish(), False)
    assert "1 (unknown: it is so; it may still land until 2027-01-15T08:06:00+00:00)" in said


def test_an_unknown_hold_that_a_later_read_shows_is_known() -> None:
    done = Done(holds=[result("1", "unknown")])
    data = opening.report(planned(record("1", hold=7), done=done), done)
    assert data["unknown"] == []
    assert data["held"] == ["1"]


def test_a_bit_that_was_left_set_fails_until_a_restore_has_cleared_it() -> None:
    left = result("1", "unknown", requeue_bit_left="yes")
    finished = result("2", "unknown", requeue_bit_left="unknown")
    done = Done(requeues=[left, finished], restores=[result("2")])
    assert done.bits_left == ["1"]
    data = opening.report(planned(record("1", hold=7), record("2", hold=7), done=done), done)
    assert "left set on 1" in opening.failure(data, wish(), False)
    assert data["bits_cleared"] == ["2"]


def test_the_manifest_keeps_what_was_held_and_what_may_be() -> None:
    before = kept([record("1"), record("9")])
    made = manifest.opened(before, HEADER, "cl1", 7, NOW)
    done = Done(holds=[result("2"), result("3", "unknown"), result("4", "rejected")])
    read = queue(record("1", hold=7), record("2"), record("3"), record("4"))
    plan = opening.plan(read, wish(), NOTHING)
    made = manifest.with_jobs(made, plan.hold, plan.held, plan.requeue, NOW)
    assert manifest.ids(made) == ["1", "2", "3", "4", "9"]
    data = opening.report(plan, done)
    left = opening.left_by(made, before, data, done)
    assert manifest.ids(left) == ["1", "2", "3", "9"]
    assert left["state"] == "opening"
    assert left["opened_at"] == before["opened_at"]


def test_a_window_that_was_closed_begins_anew() -> None:
    before = kept([record("1")], state="closed", closed_at="2027-01-15T08:00:00+00:00")
    made = manifest.opened(before, HEADER, "cl1", 7, NOW)
    plan = opening.plan(queue(record("1"), record("2")), wish(), NOTHING)
    made = manifest.with_jobs(made, plan.hold, plan.held, plan.requeue, NOW)
    done = Done(holds=[result("1", "not_found"), result("2")])
    left = opening.left_by(made, before, opening.report(plan, done), done)
    assert manifest.ids(left) == ["2"]
    assert (left["state"], left["closed_at"]) == ("open", None)


@pytest.mark.parametrize("number", [0, -1, 1000000000, "seven", "", None])
def test_numbers_that_are_none(number: object) -> None:
    with pytest.raises(ValueError, match="lies between 1 and 999999999"):
        opening.wish_from(number, "leave", False, "")
    assert opening.wish_from("12", "leave", False, "").number == 12


def test_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match="kill"):
        opening.wish_from(7, "kill", False, "")
    with pytest.raises(ValueError, match="host"):
        opening.wish_from(7, "leave", False, "n[1-")

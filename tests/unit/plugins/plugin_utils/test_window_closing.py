# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a closing maintenance window releases, and what it says has changed meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.plugin_utils._window import closing
from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.jobs import iso
from ansible_collections.hpcops.slurm.tests.unit.plugins.plugin_utils.windows import (
    BASE,
    NOW,
    Data,
    kept,
    queue,
    record,
    result,
)


def report(
    manifest: Data, read: list[Data], releases: list[Data], **more: list[Data]
) -> dict[str, Any]:
    past, restores = more.get("past", []), more.get("restores", [])
    seen = closing.Seen(queue(*read), queue(*past), releases, restores)
    return closing.report(seen, manifest, 7, NOW)


def test_the_queue_alone_decides_what_is_released() -> None:
    manifest = kept([record("1"), record("3"), record("9")])
    read = [
        record("1", hold=7),
        record("2", hold=7),
        record("3", hold=8),
        record("4"),
        record("5", "RUNNING", hold=7),
        record("6", "CANCELLED", hold=7),
        record("7", "COMPLETING", hold=7),
        record("8", gate="yes", eligible_time=None),
    ]
    plan = closing.plan(queue(*read), manifest, 7)
    assert plan.release == ("1", "2", "7")
    assert plan.absent == ("9",)
    assert plan.windows == {7: 3, 8: 1}


def test_a_probes_own_hold_is_not_released() -> None:
    probe: Data = {"name": "hpcops-slurm-preflight", "hold": 7}
    jobs = queue(record("1", **probe), record("2", **probe))
    assert closing.plan(jobs, {}, 7).release == ()
    # A job of that name that the window did hold.
    assert closing.plan(jobs, kept([record("2")]), 7).release == ("2",)


def test_bits_of_jobs_that_were_sent_back_are_cleared() -> None:
    sent_back = [
        {"job_id": "1", "user": "user1", "restarts": 0, "requeue": "no"},
        {"job_id": "2", "user": "user1", "restarts": 0, "requeue": "yes"},
        {"job_id": "3", "user": "user1", "restarts": 0, "requeue": "no"},
        {"job_id": "4", "user": "user1", "restarts": 0, "requeue": "no"},
    ]
    read = [record("1"), record("2"), record("3", requeue="no"), record("4", "FAILED")]
    plan = closing.plan(queue(*read), kept(requeued=sent_back), 7)
    assert plan.restore == ("1",)
    assert closing.as_data(plan, {})["acts"]


def test_a_window_that_was_not_opened() -> None:
    jobs = queue(record("1", hold=8), record("2", hold=8), record("3"))
    plan = closing.plan(jobs, {}, 7)
    said = closing.unopened(plan, {}, 7, "/there/alpha.window-7.json")
    assert "Window 7 was not opened" in said
    assert "/there/alpha.window-7.json" in said
    assert "Nothing was changed" in said
    assert "8 (2 jobs)" in said
    assert closing.unopened(plan, kept(state="closed"), 7, "") == ""
    held = closing.plan(queue(record("1", hold=7)), {}, 7)
    assert closing.unopened(held, {}, 7, "") == ""
    unread = closing.plan(queue(record("1", hold="unknown")), {}, 7)
    assert closing.unopened(unread, {}, 7, "") == ""
    assert "now: none" in closing.unopened(closing.plan([], {}, 7), {}, 7, "")


def test_what_changed_meanwhile_is_told() -> None:
    manifest = kept([record(str(number)) for number in range(1, 9)])
    read = [
        record("1", hold=7),
        record("2", hold=8),
        record("3"),
        record("4", "RUNNING"),
        record("5", "CANCELLED", hold=7),
        record("6", hold=7),
        record("10", hold=7),
    ]
    past = [record("7", "TIMEOUT")]
    releases = [result("1"), result("6", "stale", reason="instance 9 is in place"), result("10")]
    data = report(manifest, read, releases, past=past)
    assert data["released"] == ["1", "10"]
    assert data["new"] == ["10"]
    assert {one["job_id"]: one["what"] for one in data["changes"]} == {
        "2": "held by window 8",
        "3": "not held any more",
        "4": "running",
        "5": "ended (cancelled)",
        "6": "stale: instance 9 is in place",
        "7": "ended (timeout)",
        "8": "not shown any more",
    }
    assert closing.failure(data, 7) == ""
    left, writes = closing.left_by(manifest, data, False, NOW)
    assert writes
    assert (left["state"], left["closed_at"]) == ("closed", iso(NOW))
    assert [one["fate"] for one in left["jobs"]][:2] == ["released", "held by window 8"]
    assert closing.headline(data, manifest, 7, False).startswith("window 7: 2 jobs released, ")
    assert "running: 4 of user1" in closing.lines(data)


def test_a_second_closing_changes_nothing() -> None:
    manifest = kept([record("1")], state="closed", closed_at=iso(NOW - 60))
    plan = closing.plan(queue(record("2")), manifest, 7)
    assert closing.as_data(plan, manifest) == {
        "release": [],
        "restore": [],
        "absent": [],
        "acts": False,
    }
    data = report(manifest, [record("2")], [])
    assert closing.left_by(manifest, data, False, NOW) == (manifest, False)
    said = closing.headline(data, manifest, 7, False)
    assert said == "window 7: nothing to do, it was closed at %s" % iso(NOW - 60)


def test_a_hold_that_landed_after_the_closing_is_released_later() -> None:
    manifest = kept([record("1")], state="closed", closed_at=iso(NOW - 60))
    data = report(manifest, [record("1", hold=7)], [result("1")])
    assert data["released"] == ["1"]
    left, writes = closing.left_by(manifest, data, False, NOW)
    assert writes
    assert left["closed_at"] == iso(NOW)


def test_without_a_manifest_nothing_is_compared() -> None:
    data = report({}, [record("1", hold=7)], [result("1")])
    assert (data["changes"], data["new"]) == ([], [])
    assert closing.left_by({}, data, False, NOW) == ({}, False)
    said = closing.headline(data, {}, 7, False)
    assert said == "window 7: 1 job released, no manifest to compare them with"


@pytest.mark.parametrize("outcome", ["unknown", "expired", "not_run", "not_applied", "unsupported"])
def test_what_is_not_known_to_be_released_fails(outcome: str) -> None:
    manifest = kept([record("1")])
    data = report(manifest, [record("1", hold=7)], [result("1", outcome)])
    said = closing.failure(data, 7)
    assert "Window 7 is not wholly closed" in said
    assert "1 (%s" % outcome in said
    assert ("may still land until" in said) is (outcome == "unknown")
    left, _writes = closing.left_by(manifest, data, True, NOW)
    assert (left["state"], left["closed_at"]) == ("closing", None)


def test_the_last_result_counts() -> None:
    releases = [result("1", "not_run"), result("1")]
    data = report(kept([record("1")]), [record("1", hold=7)], releases)
    assert data["unknown"] == []
    assert data["released"] == ["1"]


def test_a_begin_time_that_was_not_put_back_is_told_with_the_command() -> None:
    begin = int(NOW) + 7200
    manifest = kept([record(one, eligible_time=begin) for one in ("1", "2", "3")])
    back = {"state": "PENDING", "hold_instance": None, "begin_time": begin}
    releases = [result("1"), result("2", after=back), result("3", after=None)]
    data = report(manifest, [record(one, hold=7) for one in ("1", "2", "3")], releases)
    assert [one["job_id"] for one in data["begin_lost"]] == ["1"]
    assert "scontrol update JobId=1 StartTime=uts%d" % begin in closing.failure(data, 7)


def test_a_begin_time_that_has_passed_is_no_loss() -> None:
    manifest = kept([record("1", eligible_time=int(NOW) - 900)])
    assert manifest["jobs"][0]["begin_time"] == iso(NOW - 900)
    assert report(manifest, [record("1", hold=7)], [result("1")])["begin_lost"] == []


@pytest.mark.parametrize(
    ("outcome", "left"),
    [("applied", []), ("rejected", []), ("not_found", []), ("unknown", ["1"]), ("expired", ["1"])],
)
def test_bits_that_stay_set_fail(outcome: str, left: list[str]) -> None:
    data = report(kept(), [record("1")], [], restores=[result("1", outcome)])
    assert data["bits_left"] == left
    assert bool(closing.failure(data, 7)) is bool(left)


def test_a_job_whose_begin_time_was_not_read_fails() -> None:
    data = report(kept(), [record("1", hold="unknown"), record("2", eligible_time=BASE)], [])
    assert "1 (its begin time was not readable)" in closing.failure(data, 7)

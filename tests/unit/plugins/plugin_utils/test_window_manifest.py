# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifest of a maintenance window: what is believed, and what it keeps."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.jobs import epoch, id_order, iso
from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.manifest import (
    bits,
    ids,
    opened,
    read_manifest,
    with_jobs,
)
from ansible_collections.hpcops.slurm.tests.unit.plugins.plugin_utils.windows import (
    BASE,
    HEADER,
    NOW,
    kept,
    queue,
    record,
)


def test_no_file_is_an_empty_manifest() -> None:
    assert read_manifest("", "cl1", 7) == ({}, "")
    assert read_manifest(" \n", "cl1", 7) == ({}, "")


def test_a_manifest_is_read_back() -> None:
    made = kept([record("1"), record("2")])
    assert read_manifest(json.dumps(made), "cl1", 7) == (made, "")


@pytest.mark.parametrize(
    ("change", "trouble"),
    [
        ({"cluster": "cl2"}, "it is of the cluster cl2, and this is the cluster cl1"),
        ({"window": 8}, "it is of the window 8, not 7"),
        ({"format": "other"}, "no manifest of a maintenance window"),
        ({"format_version": 2}, "format_version is 2, not 1"),
        ({"state": "ajar"}, "its state is ajar"),
        ({"jobs": {"1": "held"}}, "its jobs are no list of jobs"),
        ({"jobs": [{"job_id": 1, "begin_time": None}]}, "its jobs are no list of jobs"),
        ({"requeued": ["1"]}, "its requeued are no list of jobs"),
        ({"requeued": [{"job_id": "1"}]}, "its requeued are no list of jobs"),
    ],
)
def test_a_manifest_that_is_not_believed(change: dict[str, Any], trouble: str) -> None:
    found, why = read_manifest(json.dumps({**kept(), **change}), "cl1", 7)
    assert found == {}
    assert trouble in why


@pytest.mark.parametrize("text", ["{", "[1]", "null", '"text"', "7"])
def test_a_damaged_file_is_not_believed(text: str) -> None:
    found, why = read_manifest(text, "cl1", 7)
    assert found == {}
    assert why


@pytest.mark.parametrize(
    ("state", "goes_on"),
    [("opening", True), ("open", True), ("closing", True), ("closed", False)],
)
def test_only_a_closed_window_begins_anew(state: str, goes_on: bool) -> None:
    before = kept([record("1")], state=state)
    made = opened(before, HEADER, "cl1", 7, NOW)
    assert ids(made) == (["1"] if goes_on else [])
    assert (made["opened_at"] == before["opened_at"]) is goes_on
    assert made["state"] == "opening"


def test_own_begin_times_are_kept_while_they_lie_ahead() -> None:
    ahead = int(NOW) + 3600
    jobs = [
        record("1", eligible_time=ahead),
        record("2", eligible_time=int(NOW) - 1),
        record("3", eligible_time=None),
        record("4", eligible_time=BASE + 5, hold=5),
    ]
    made = with_jobs(kept(), queue(*jobs), (), (), NOW)
    assert [epoch(one["begin_time"]) for one in made["jobs"]] == [ahead, None, None, None]


def test_a_job_that_is_held_stays_as_it_is_known_and_one_that_was_freed_is_read_anew() -> None:
    before = with_jobs(kept(), queue(record("1", eligible_time=int(NOW) + 60)), (), (), NOW)
    held = with_jobs(before, (), queue(record("1", hold=7)), (), NOW)
    assert held == before
    other = queue(record("1", eligible_time=int(NOW) + 120))
    again = with_jobs(before, other, (), (), NOW)
    assert again["jobs"][0]["begin_time"] == iso(NOW + 120)


def test_a_job_that_is_sent_back_twice_keeps_the_bit_that_it_had_first() -> None:
    first = queue(record("1", "RUNNING", requeue="no"), record("2", "RUNNING"))
    made = with_jobs(kept(), (), (), first, NOW)
    assert bits(made) == {"1"}
    again = queue(record("1", "RUNNING", requeue="yes", restarts=1))
    assert bits(with_jobs(made, (), (), again, NOW)) == {"1"}


def test_ids_are_sorted_by_their_numbers() -> None:
    names = ["10_11", "9", "10_2", "11+1", "11+0", "10_[3-5]", "2"]
    found = sorted(names, key=id_order)
    assert found == ["2", "9", "10_2", "10_[3-5]", "10_11", "11+0", "11+1"]


def test_instants_are_read_back() -> None:
    assert epoch(iso(NOW)) == int(NOW)
    assert epoch("soon") is None
    assert epoch(None) is None

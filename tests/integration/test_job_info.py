# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""job_info over ssh, against what was submitted and what raw squeue says in the same play."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.integration.conftest import Cluster
from ansible_collections.hpcops.slurm.tests.integration.write_plays import (
    BASE,
    Jobs,
    Result,
    Task,
    as_user,
    look,
    play,
    rows,
    told,
)

NEVER = "67043327"
ODD = [
    "a|b~c^d",
    "x\nJobState=RUNNING\n12|RUNNING|",
    "~abc^abc\n~abc^abc\n",
    "Größe→☃",
    "tab\tand\x1besc[31m\x1e\x1f",
    "  blanks around  ",
    "%s {{ 7*7 }} $(id) `id`",
    '{"changed": true}',
]


@pytest.fixture
def jobs(cluster: Cluster) -> Iterator[Jobs]:
    """Jobs that are gone after the test."""
    made = Jobs(cluster)
    yield made
    made.cancel()


def info(user: str = "user1", **options: Any) -> Task:
    """A task that reads jobs."""
    return as_user(user, {"hpcops.slurm.job_info": options})


def ids(result: Result) -> set[str]:
    """The ids of the records."""
    told(result, changed=False)
    return {one["job_id"] for one in result["jobs"]}


def queue() -> Task:
    """Every job and task that raw squeue shows, one id a line."""
    argv = ["squeue", "-h", "-a", "-r", "-t", "all", "-o", "%i"]
    return {"ansible.builtin.command": {"argv": argv}, "changed_when": False}


def test_jobs_are_what_squeue_shows(cluster: Cluster, jobs: Jobs) -> None:
    name = f"read{time.time_ns()}"
    far = ["--begin=2101-01-01T00:00:00", "-J", name, "--comment=to be read"]
    gated, held = jobs.one("--hold", "--nice=5", "-J", name), jobs.one(*far)
    running = jobs.one("--no-requeue", "-J", name)
    array = jobs.one("--array=1-3%1", "--hold", "-J", name)
    jobs.await_state("RUNNING", running)
    everything = [gated, held, running, array]
    read, seen, chosen, pending, before, whole, after = play(
        cluster,
        info(jobs=[*everything, NEVER, f"{array}_9"]),
        look(*everything),
        info(select={"names": [name]}),
        info(select={"names": [name], "states": ["PENDING"], "users": ["user1"]}),
        queue(),
        info(),
        queue(),
    )
    raw = rows(seen)
    assert ids(read) == ids(chosen) == set(raw) == {
        gated, held, running, *(f"{array}_{task}" for task in (1, 2, 3)),
    }  # fmt: skip
    assert (read["missing"], read["doubtful"]) == ([NEVER, f"{array}_9"], [])
    assert ids(pending) == set(raw) - {running}
    always = set(before["stdout_lines"]) & set(after["stdout_lines"])
    ever = set(before["stdout_lines"]) | set(after["stdout_lines"])
    assert always <= ids(whole) <= ever
    assert set(raw) <= ids(whole)
    by_id = {one["job_id"]: one for one in read["jobs"]}
    for job_id, row in raw.items():
        one = by_id[job_id]
        assert one["raw_state"] == row["State"]
        assert str(one["raw_id"]) == row["JobID"]
        assert str(one["eligible_time"]) == row["EligibleTime"].replace("N/A", "None")
        assert one["requeue"] == {"0": "no", "1": "yes"}[row["Requeue"]]
        assert str(one["restarts"]) == row["RestartCnt"]
        assert str(one["priority"]) == row["PriorityLong"]
        assert str(one["nice"]) == row["Nice"]
        assert one["reason"] == row["Reason"]
        assert one["gate"] == ("yes" if row["PriorityLong"] == "0" else "no")
    hold = int(raw[held]["EligibleTime"]) - BASE
    assert by_id[held]["hold_instance"] == hold > 0
    assert by_id[held]["comment"] == "to be read"
    assert {by_id[one]["hold_instance"] for one in (gated, running)} == {None}
    assert (by_id[gated]["coarse_state"], by_id[running]["coarse_state"]) == ("pending", "running")
    assert by_id[running]["batch"] == "yes"


@pytest.mark.variants("bookworm-munge", "trixie-munge", "forky-munge")
def test_odd_names_and_comments_come_through(cluster: Cluster, jobs: Jobs) -> None:
    made = {jobs.one("--hold", "-J", text, f"--comment={text}"): text for text in ODD}
    # What stands in a play's options is a template.
    named = {job_id: text for job_id, text in made.items() if "{{" not in text}
    select = {"users": ["user1"], "names": list(named.values())}
    by_jobs, by_name = play(cluster, info(jobs=list(made)), info(select=select))
    for read, expected in ((by_jobs, made), (by_name, named)):
        assert ids(read) >= set(expected)
        for one in read["jobs"]:
            if one["job_id"] in made:
                text = made[one["job_id"]]
                assert (one["name"], one["comment"]) == (text, text)


@pytest.mark.variants("trixie-munge")
def test_ids_that_are_none(cluster: Cluster) -> None:
    wrong = ["12.batch", "1;rm", "-1", "abc", ""]
    *refused, empty = play(cluster, *(info(jobs=[NEVER, one]) for one in wrong), info(jobs=[]))
    for result in refused:
        told(result, changed=False, failed=True)
        assert result["failure_class"] == "id_malformed"
    assert (empty["jobs"], empty["missing"]) == ([], [])

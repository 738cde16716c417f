# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""job_cancel, over ssh as users run it, on every release.

The truth is what raw squeue and sacct show, and what the jobs themselves wrote down.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.integration.conftest import Cluster
from ansible_collections.hpcops.slurm.tests.integration.faults import BACK, fault, install
from ansible_collections.hpcops.slurm.tests.integration.write_plays import (
    Jobs,
    Result,
    Task,
    column,
    forget,
    look,
    mapped,
    outcomes,
    play,
    preflight,
    ready,
    reasons,
    rows,
    settings,
    shell,
    told,
    wait_for,
    write,
)

#: Every release, and auth/slurm.
KINDS = pytest.mark.variants("bookworm-munge", "trixie-munge", "trixie-slurm", "forky-slurm")
#: The oldest and the newest: what is shown there is the same on all that were tried.
BOTH_ENDS = pytest.mark.variants("bookworm-munge", "forky-slurm")

ME, OTHER = "user1", "user2"
NONE = "67043327"

#: The batch script and a child of it write down that they were asked to end. What is left when the
#: batch script has ended is killed, so it waits.
TOLD = """log=/tmp/cancel-$SLURM_JOB_ID
(trap 'echo child >> $log; exit' TERM; while :; do sleep 0.1; done) &
trap 'echo batch >> $log; wait; exit' TERM
echo began >> $log
while :; do sleep 0.1; done"""
#: It goes on writing down the time.
DEAF = """trap '' TERM
while :; do date +%s >> /tmp/cancel-$SLURM_JOB_ID; sleep 0.2; done"""


@pytest.fixture
def jobs(cluster: Cluster) -> Iterator[Jobs]:
    """Jobs that are gone after the test."""
    made = Jobs(cluster)
    yield made
    made.cancel()
    cluster.sh(["rm", "-f", *(f"/tmp/cancel-{job}" for job in made.ids)])


@pytest.fixture(scope="session")
def known(cluster: Cluster) -> Iterator[set[str]]:
    """The users whose preflight a cluster has; what they keep there is gone in the end."""
    users: set[str] = set()
    yield users
    forget(cluster, *users)


@pytest.fixture
def mine(cluster: Cluster, known: set[str]) -> None:
    """user1 may write."""
    ready(cluster, known, ME)


def cancel(*ids: str, user: str = ME, **options: Any) -> Task:
    return write("job_cancel", user, jobs=list(ids), **options)


def ended(result: Result) -> dict[str, str]:
    """Whether it has ended, by job."""
    return {one["job_id"]: one["ended"] for one in result["results"]}


def begun(jobs: Jobs, *ids: str) -> None:
    """Wait until these jobs have set their traps, and written something down."""
    argv = ["ls", *(f"/tmp/cancel-{job}" for job in ids)]
    wait_for(lambda: jobs.cluster.sh(argv).status == 0)


def written(jobs: Jobs, job: str) -> list[str]:
    """What a job wrote down."""
    return jobs.cluster.sh(["cat", f"/tmp/cancel-{job}"]).text.split()


@KINDS
@pytest.mark.usefixtures("mine")
def test_cancel(cluster: Cluster, jobs: Jobs) -> None:
    theirs, gated = jobs.one("--hold", user=OTHER), jobs.one("--hold")
    later, listens = jobs.one("--begin=now+3600", "--requeue"), jobs.one(script=TOLD)
    deaf, done = jobs.one("--requeue", "-t", "10", script=DEAF), jobs.one(script="true")
    begun(jobs, listens, deaf)
    jobs.await_state("COMPLETED", done)
    ids = [gated, later, listens, deaf]
    # What has ended is forgotten after a minute, so what needs it comes soon.
    others, predicted, before, first, after, second, waited, last = play(
        cluster,
        cancel(done, theirs, NONE),
        cancel(*ids, check=True),
        look(*ids, done),
        cancel(*ids),
        look(*ids),
        cancel(*ids),
        cancel(*ids, wait=True, wait_limit=90),
        look(*ids, theirs),
    )
    told(predicted, changed=True)
    assert outcomes(predicted) == outcomes(first) == mapped("applied", *ids)
    assert predicted["diff"] == first["diff"]
    assert first["diff"]["before"] == mapped({"ending": "no"}, *ids)
    assert first["diff"]["after"] == mapped({"ending": "yes"}, *ids)
    assert column(before, "State") == {
        **mapped("PENDING", gated, later), **mapped("RUNNING", listens, deaf), done: "COMPLETED"
    }  # fmt: skip
    told(first, changed=True)
    shown = column(after, "State")
    assert (shown[gated], shown[later]) == ("CANCELLED", "CANCELLED")
    assert {shown[listens], shown[deaf]} <= {"COMPLETING", "CANCELLED"}
    for one in first["results"]:
        assert one["ended"] == {"COMPLETING": "no", "CANCELLED": "yes"}[one["after"]["state"]]
    told(second, changed=False)
    assert outcomes(second) == mapped("unchanged", *ids)

    told(others, changed=False, failed=True)
    assert outcomes(others) == {done: "unchanged", theirs: "rejected", NONE: "not_found"}
    assert reasons(others)[theirs] == "Access/permission denied"
    told(waited, changed=False)
    assert outcomes(waited) == mapped("unchanged", *ids)
    assert ended(waited) == mapped("yes", *ids)
    assert column(last, "State") == {**mapped("CANCELLED", *ids), theirs: "PENDING"}
    assert column(last, "RestartCnt") == mapped("0", *ids, theirs)

    # SIGTERM to every process, the batch script too; SIGKILL after KillWait.
    assert sorted(written(jobs, listens)) == ["batch", "began", "child"]
    argv = ["env", "SLURM_TIME_FORMAT=%s", "squeue", "-h", "-t", "all", "-j", deaf, "-o", "%e"]
    asked = int(cluster.sh(argv).text)
    patience = int(settings(cluster)["KillWait"].split()[0])
    assert int(written(jobs, deaf)[-1]) >= asked + patience - 2
    assert cluster.sh(["pgrep", "-f", f"slurmstepd:? .*{deaf}"]).status == 1


@BOTH_ENDS
@pytest.mark.usefixtures("mine")
def test_the_execution_that_is_named(cluster: Cluster, jobs: Jobs) -> None:
    newer, comes_back = jobs.submit("--requeue", script=DEAF, count=2)
    pending, dated = jobs.one("--hold"), jobs.one()
    jobs.await_state("RUNNING", newer, comes_back, dated)
    begun(jobs, newer, comes_back)
    argv = ["env", "SLURM_TIME_FORMAT=%s", "squeue", "-h", "-j", dated, "-o", "%S"]
    began = int(cluster.sh(argv).text)
    _requeued, plain, twice, over, ahead, none_there, later, left, named, before, gone = play(
        cluster,
        shell(f"scontrol requeue {newer} {comes_back}"),
        # It is COMPLETING for a while, and would run again.
        cancel(comes_back),
        cancel(comes_back),
        cancel(newer, restarts=0),
        cancel(dated, restarts=1),
        cancel(pending, started_before=began + 3600),
        cancel(dated, started_before=began),
        look(newer, comes_back, dated, pending),
        cancel(newer, restarts=1, wait=True, wait_limit=90),
        cancel(dated, started_before=began + 1),
        look(newer, dated, pending),
    )
    for result in (over, none_there, later):
        told(result, changed=False)
    assert reasons(over) == {newer: "execution 0 is over, 1 is there"}
    assert outcomes(ahead) == {dated: "rejected"}
    shown = column(left, "State")
    assert (shown[dated], shown[pending]) == ("RUNNING", "PENDING")
    assert shown[comes_back] in ("COMPLETING", "CANCELLED")
    assert column(left, "RestartCnt")[newer] == column(left, "RestartCnt")[comes_back] == "1"
    told(plain, changed=True)
    assert outcomes(plain) == {comes_back: "applied"}
    told(twice, changed=False)
    told(named, changed=True)
    assert outcomes(named) == {newer: "applied"}
    assert ended(named) == {newer: "yes"}
    assert outcomes(before) == {dated: "applied"}
    assert rows(gone)[pending]["State"] == "PENDING"
    assert column(gone, "RestartCnt") == {newer: "1", dated: "0", pending: "0"}
    jobs.await_state("CANCELLED", newer, dated)


@BOTH_ENDS
@pytest.mark.usefixtures("mine")
def test_arrays_and_heterogeneous_jobs(cluster: Cluster, jobs: Jobs) -> None:
    array = jobs.one("--array=1-6%2")
    leader = jobs.one("--hold", "-J", "cancel-het", ":", "-n1", "--mem=10", "-J", "cancel-part")
    jobs.await_state("RUNNING", f"{array}_1", f"{array}_2")
    part = [f"{array}_[2,4]", f"{array}_6"]
    named = [f"{array}_{task}" for task in (2, 4, 6)]
    both = [f"{leader}+0", f"{leader}+1"]
    first, seen, second, whole, none, third, one, zero, chosen, kept, all_, gone, last = play(
        cluster,
        cancel(*part),
        look(array),
        cancel(*part),
        cancel(array, wait=True),
        look(array),
        cancel(array),
        cancel(both[1]),
        cancel(both[0]),
        write("job_cancel", ME, select={"names": ["cancel-het"], "users": [ME]}),
        look(leader),
        cancel(leader),
        look(leader),
        cancel(leader),
    )
    told(first, changed=True)
    assert outcomes(first) == mapped("applied", *named)
    states = column(seen, "State")
    assert not {f"{array}_4", f"{array}_6"} & set(states)
    assert states[f"{array}_2"] in ("COMPLETING", "CANCELLED")
    alive = [f"{array}_{task}" for task in (1, 3, 5)]
    assert {states[task] for task in alive} <= {"RUNNING", "PENDING"}
    told(second, changed=False)
    assert outcomes(second) == mapped("unchanged", *named)
    told(whole, changed=True)
    assert {task: outcomes(whole)[task] for task in alive} == mapped("applied", *alive)
    assert set(ended(whole).values()) == {"yes"}
    assert set(column(none, "State").values()) == {"CANCELLED"}
    told(third, changed=False)

    for result in (one, zero):
        told(result, changed=False, failed=True)
        assert set(outcomes(result).values()) == {"rejected"}
    told(chosen, changed=False)
    assert column(kept, "State") == mapped("PENDING", *both)
    told(all_, changed=True)
    assert outcomes(all_) == mapped("applied", *both)
    assert column(gone, "State") == mapped("CANCELLED", *both)
    told(last, changed=False)


@pytest.mark.variants("trixie-munge")
@pytest.mark.usefixtures("mine")
def test_a_job_that_does_not_end_in_time(cluster: Cluster, jobs: Jobs) -> None:
    deaf, quick = jobs.one(script=DEAF), jobs.one("--hold")
    begun(jobs, deaf)
    waited, wrong, late, shown = play(
        cluster,
        cancel(deaf, quick, wait=True, wait_limit=1),
        cancel(quick, wait=True, wait_limit=0),
        cancel(jobs.one("--hold"), deadline="2020-01-01T00:00:00+01:00", wait=True),
        look(jobs.ids[-1]),
    )
    told(waited, changed=True, failed=True)
    assert outcomes(waited) == mapped("applied", deaf, quick)
    assert ended(waited) == {deaf: "no", quick: "yes"}
    assert f"1 jobs are not known to have ended within wait_limit: {deaf}" in waited["msg"]
    assert f"job {deaf} did not end yet" in shown["screen"]
    assert "wait_limit lies between" in wrong["msg"]
    assert outcomes(late) == {jobs.ids[-1]: "expired"}
    assert column(shown, "State") == {jobs.ids[-1]: "PENDING"}


@pytest.mark.variants("bookworm-munge", "trixie-munge")
@pytest.mark.usefixtures("mine")
def test_slurmctlds_clock_is_ahead(cluster: Cluster, jobs: Jobs) -> None:
    """squeue's own clock says whether a job without a limit has reached its end."""
    wrapper = '#!/bin/sh\nexec faketime -f -100 /usr/bin/squeue "$@"\n'
    place = "mkdir -p /opt/behind && cat > /opt/behind/squeue && chmod 755 /opt/behind/squeue"
    assert cluster.sh(["sh", "-c", place], stdin=wrapper.encode()).status == 0
    job = jobs.one(script=DEAF)
    begun(jobs, job)
    behind = {"PATH": "/opt/behind:/usr/local/bin:/usr/bin:/bin"}
    try:
        made, shown = play(cluster, cancel(job, environment=behind), look(job))
    finally:
        cluster.sh(["rm", "-rf", "/opt/behind"])
    told(made, changed=True)
    assert outcomes(made) == {job: "applied"}
    assert column(shown, "State")[job] in ("COMPLETING", "CANCELLED")


@pytest.mark.variants("trixie-authnone")
def test_without_a_known_landing_bound(cluster: Cluster, jobs: Jobs) -> None:
    """Seen to have ended, a job is; what is not seen stays unknown, without end."""
    install(cluster)
    held, runs = jobs.one("--hold"), jobs.one()
    jobs.await_state("RUNNING", runs)
    met = {"ttl": 12, "command_timeout": 2, "environment": fault("hang", "scancel *", 16)}
    try:
        _probe, predicted, made, again, hung, _back, shown, known = play(
            cluster,
            preflight("root"),
            cancel(held, user="root", check=True),
            cancel(held, user="root"),
            cancel(held, user="root"),
            cancel(runs, user="root", **met),
            BACK,
            look(held, runs),
            cancel(runs, user="root", wait=True),
        )
    finally:
        cluster.sh(["rm", "-rf", "/opt/faulty"])
        forget(cluster, "root")
    told(predicted, changed=True)
    told(made, changed=True)
    told(again, changed=False)
    told(hung, changed=False, failed=True)
    [said] = hung["results"]
    assert (said["outcome"], said["settled"], said["may_land_until"]) == ("unknown", False, None)
    assert "without a landing bound it may still land at any time" in hung["msg"]
    assert set(column(shown, "State").values()) <= {"CANCELLED", "COMPLETING"}
    told(known, changed=False)
    assert ended(known) == {runs: "yes"}

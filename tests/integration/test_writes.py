# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that write, over ssh as users run them, on every release.

The truth is what raw squeue shows between the tasks. A test is one play where it can be, since a
play's start is what takes longest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.integration.conftest import Cluster
from ansible_collections.hpcops.slurm.tests.integration.write_plays import (
    BASE,
    Jobs,
    Task,
    column,
    forget,
    held_at,
    home,
    look,
    mapped,
    outcomes,
    play,
    preflight,
    ready,
    reasons,
    rows,
    told,
    wait_for,
    write,
)

#: One cluster a release, and those with auth/slurm.
KINDS = pytest.mark.variants(
    "bookworm-munge", "trixie-munge", "forky-munge", "trixie-slurm", "forky-slurm"
)
RELEASES = pytest.mark.variants("bookworm-munge", "trixie-munge", "forky-munge")
ONE = pytest.mark.variants("trixie-munge")

ME, OTHER = "user1", "user2"


@pytest.fixture
def jobs(cluster: Cluster) -> Iterator[Jobs]:
    """Jobs that are gone after the test."""
    made = Jobs(cluster)
    yield made
    made.cancel()


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


@pytest.fixture
def ours(cluster: Cluster, known: set[str]) -> None:
    """user1, the operator and root may write."""
    ready(cluster, known, ME, "operator", "root")


# First run, second run, check mode, difference


@KINDS
@pytest.mark.usefixtures("mine")
def test_hold_and_release(cluster: Cluster, jobs: Jobs) -> None:
    gated = jobs.one("--hold", "--nice=50")
    later = jobs.one("--begin=now+3600", "--nice=7")
    waiting = jobs.one(f"--dependency=afterok:{gated}")
    ids = [gated, later, waiting]
    before = jobs.look(*ids)
    own_begin = before[later]["EligibleTime"]

    def hold(instance: int, **options: Any) -> Task:
        return write("job_hold", ME, jobs=ids, instance=instance, **options)

    def release(instance: int, **options: Any) -> Task:
        return write("job_release", ME, jobs=ids, instance=instance, **options)

    predicted, unheld, first, held, second, lower, higher, raised = play(
        cluster,
        hold(7, check=True),
        look(*ids),
        hold(7),
        look(*ids),
        hold(7),
        hold(6),
        hold(8),
        look(*ids),
    )
    told(predicted, changed=True)
    assert outcomes(predicted) == outcomes(first) == mapped("applied", *ids)
    assert predicted["diff"] == first["diff"]
    assert first["diff"]["before"][later] == {"hold_instance": None, "begin_time": int(own_begin)}
    assert first["diff"]["after"][later] == {"hold_instance": 7, "begin_time": BASE + 7}
    assert rows(unheld) == before
    told(first, changed=True)
    assert column(held, "EligibleTime") == mapped(str(BASE + 7), *ids)
    assert column(held, "Nice") == {gated: "50", later: "7", waiting: "0"}
    assert column(held, "PriorityLong")[gated] == "0"
    assert {job: row["PriorityLong"] == "0" for job, row in rows(held).items()} == {
        gated: True, later: False, waiting: False,
    }  # fmt: skip
    told(second, changed=False)
    assert outcomes(second) == mapped("unchanged", *ids)
    told(lower, changed=False, failed=True)
    assert outcomes(lower) == mapped("stale", *ids)
    told(higher, changed=True)
    assert column(raised, "EligibleTime") == mapped(str(BASE + 8), *ids)

    stale, still, foretold, yet, lifted, free, again = play(
        cluster,
        release(7),
        look(*ids),
        release(8, check=True),
        look(*ids),
        release(8),
        look(*ids),
        release(8),
    )
    told(stale, changed=False, failed=True)
    assert outcomes(stale) == mapped("stale", *ids)
    assert column(still, "EligibleTime") == mapped(str(BASE + 8), *ids)
    told(foretold, changed=True)
    assert column(yet, "EligibleTime") == mapped(str(BASE + 8), *ids)
    told(lifted, changed=True)
    assert outcomes(lifted) == outcomes(foretold) == mapped("applied", *ids)
    assert lifted["diff"]["after"][later] == {"hold_instance": None, "begin_time": int(own_begin)}
    shown = column(free, "EligibleTime")
    assert shown[later] == own_begin
    assert not any(held_at(shown[one]) for one in ids)
    assert rows(free)[gated]["PriorityLong"] == "0"
    assert column(free, "Nice") == {gated: "50", later: "7", waiting: "0"}
    assert rows(free)[waiting]["State"] == "PENDING"
    told(again, changed=False)
    assert outcomes(again) == mapped("unchanged", *ids)


@KINDS
@pytest.mark.usefixtures("mine")
def test_requeue_and_restore(cluster: Cluster, jobs: Jobs) -> None:
    done = jobs.one(script="true")
    off, dated = jobs.submit("--no-requeue", count=2)
    on = jobs.one("--requeue")
    later = jobs.one("--begin=now+3600")
    jobs.await_state("RUNNING", off, on, dated)
    jobs.await_state("COMPLETED", done)
    ids = [off, on, later]
    start = jobs.cluster.sh(
        ["env", "SLURM_TIME_FORMAT=%s", "squeue", "-h", "-j", dated, "-o", "%S"]
    ).text

    def requeue(*names: str, **options: Any) -> Task:
        return write("job_requeue", ME, jobs=list(names), **options)

    def restore(*names: str, **options: Any) -> Task:
        return write("job_restore", ME, jobs=list(names), **options)

    predicted, before, first, after, second, ahead, newer, older, ended = play(
        cluster,
        requeue(*ids, restarts=0, check=True),
        look(*ids, done),
        requeue(*ids, done, restarts=0),
        look(*ids, done),
        requeue(*ids, restarts=0),
        requeue(off, restarts=2),
        requeue(dated, started_before=int(start)),
        requeue(dated, started_before=int(start) + 1),
        look(dated),
    )
    told(predicted, changed=True)
    assert outcomes(predicted) == {off: "applied", on: "applied", later: "unchanged"}
    assert column(before, "RestartCnt") == mapped("0", *ids, done)
    told(first, changed=True, failed=True)
    assert outcomes(first) == {**outcomes(predicted), done: "rejected"}
    assert predicted["diff"] == first["diff"]
    assert first["diff"]["after"] == mapped({"restarts": 1}, off, on)
    assert column(after, "RestartCnt") == {off: "1", on: "1", later: "0", done: "0"}
    assert column(after, "Requeue") == {
        **column(before, "Requeue"), off: "0", on: "1"
    }  # fmt: skip
    assert rows(after)[done]["State"] == "COMPLETED"
    told(second, changed=False)
    assert outcomes(second) == mapped("unchanged", *ids)
    assert outcomes(ahead) == {off: "rejected"}
    assert outcomes(newer) == {dated: "unchanged"}
    told(older, changed=True)
    assert outcomes(older) == {dated: "applied"}
    assert rows(ended)[dated]["RestartCnt"] == "1"

    nothing, not_ours, foretold, set_still, forced, cleared, again = play(
        cluster,
        restore(off),
        restore(on),
        restore(on, force=True, check=True),
        look(on),
        restore(on, force=True),
        look(on),
        restore(on, force=True),
    )
    assert outcomes(nothing) == {off: "unchanged"}
    told(not_ours, changed=False, failed=True)
    assert outcomes(not_ours) == {on: "rejected"}
    told(foretold, changed=True)
    assert column(set_still, "Requeue") == {on: "1"}
    told(forced, changed=True)
    assert forced["diff"] == foretold["diff"]
    assert forced["diff"]["after"] == {on: {"requeue": "no"}}
    assert column(cleared, "Requeue") == {on: "0"}
    told(again, changed=False)
    # It has not come back; on a busy machine slurmctld has forgotten it by now.
    assert {row["State"] for row in jobs.look(done).values()} <= {"COMPLETED"}


@pytest.mark.variants("trixie-noaccounting", "trixie-nocomment")
@pytest.mark.usefixtures("mine")
def test_accounting_is_not_needed(cluster: Cluster, jobs: Jobs) -> None:
    job, running = jobs.one("--hold"), jobs.one("--no-requeue")
    jobs.await_state("RUNNING", running)
    hold, held, release, free, requeue, back = play(
        cluster,
        write("job_hold", ME, jobs=[job], instance=7),
        look(job),
        write("job_release", ME, jobs=[job], instance=7),
        look(job),
        write("job_requeue", ME, jobs=[running], restarts=0),
        look(running),
    )
    for result in (hold, release, requeue):
        told(result, changed=True)
    assert held_at(column(held, "EligibleTime")[job]) == 7
    assert held_at(column(free, "EligibleTime")[job]) is None
    assert (rows(back)[running]["RestartCnt"], rows(back)[running]["Requeue"]) == ("1", "0")


@pytest.mark.variants(
    "bookworm-munge",
    "trixie-munge",
    "forky-munge",
    "trixie-slurm",
    "forky-slurm",
    "trixie-authnone",
)
@pytest.mark.usefixtures("mine")
def test_open(cluster: Cluster, jobs: Jobs) -> None:
    """Without a landing bound too: an opening needs none."""
    gated = jobs.one("--hold", "--nice=50", "--begin=now+3600")
    free = jobs.one("--nice=60", "--begin=now+3600")
    ids = [gated, free]

    def open_(*names: str, user: str = ME, **options: Any) -> Task:
        return write("job_open", user, jobs=list(names), **options)

    predicted, closed, first, opened, second, as_root, kept = play(
        cluster,
        open_(*ids, check=True),
        look(*ids),
        open_(*ids),
        look(*ids),
        open_(*ids),
        # An operator's release of a job that is not held would reset its nice value.
        open_(*ids, user="root"),
        look(*ids),
    )
    told(predicted, changed=True)
    assert rows(closed)[gated]["PriorityLong"] == "0"
    told(first, changed=True)
    assert outcomes(first) == outcomes(predicted) == {gated: "applied", free: "unchanged"}
    assert first["diff"] == predicted["diff"]
    assert first["diff"]["after"] == {gated: {"gate": "no"}}
    assert rows(opened)[gated]["PriorityLong"] != "0"
    told(second, changed=False)
    assert outcomes(second) == outcomes(as_root) == mapped("unchanged", *ids)
    assert column(kept, "Nice") == {gated: "50", free: "60"}

    assert cluster.sh(["scontrol", "hold", gated]).status == 0
    refused, shut, allowed, open_now = play(
        cluster, open_(gated), look(gated), open_(gated, user="root"), look(gated)
    )
    told(refused, changed=False, failed=True)
    assert outcomes(refused) == {gated: "rejected"}
    assert refused["results"][0]["failure_class"] == "permission_denied"
    assert "Access/permission denied" in refused["results"][0]["message"]
    assert rows(shut)[gated]["PriorityLong"] == "0"
    told(allowed, changed=True)
    assert rows(open_now)[gated]["PriorityLong"] != "0"


@pytest.mark.variants("trixie-authnone")
def test_without_a_known_landing_bound(cluster: Cluster, jobs: Jobs) -> None:
    job, running = jobs.one("--begin=now+3600"), jobs.one()
    jobs.await_state("RUNNING", running)
    *refused, shown = play(
        cluster,
        write("job_hold", ME, jobs=[job], instance=7),
        write("job_hold", ME, jobs=[job], instance=7, check=True),
        write("job_hold", ME, select={"users": [ME]}, instance=7),
        write("job_release", ME, jobs=[job], instance=7),
        write("job_requeue", ME, jobs=[running], restarts=0),
        write("job_restore", ME, jobs=[running]),
        look(job, running),
    )
    for result in refused:
        told(result, changed=False, failed=True)
        assert 'AuthType "auth/none" has no known landing bound' in result["msg"]
        assert set(outcomes(result).values()) <= {"unsupported"}
    assert held_at(rows(shown)[job]["EligibleTime"]) is None
    assert rows(shown)[running]["RestartCnt"] == "0"


# Whose job it is


@KINDS
@pytest.mark.usefixtures("ours")
def test_other_users_jobs(cluster: Cluster, jobs: Jobs) -> None:
    gated = jobs.one("--hold", user=OTHER)
    running = jobs.one("--no-requeue", user=OTHER)
    jobs.await_state("RUNNING", running)

    def all_five(user: str) -> list[Task]:
        return [
            write("job_hold", user, jobs=[gated], instance=7),
            write("job_requeue", user, jobs=[running], restarts=0),
            write("job_restore", user, jobs=[running], force=True),
            write("job_open", user, jobs=[gated]),
        ]

    before = jobs.look(gated, running)
    *refused, shown = play(cluster, *all_five(ME), look(gated, running))
    assert rows(shown) == before
    hold, requeue, restore, open_ = (result["results"][0] for result in refused)
    for one in (hold, requeue, open_):
        assert (one["outcome"], one["failure_class"]) == ("rejected", "permission_denied"), one
    assert restore["outcome"] == "unchanged"  # the bit is off, whoever asks
    *allowed, shown, release_me, release = play(
        cluster,
        *all_five("operator"),
        look(gated, running),
        write("job_release", ME, jobs=[gated], instance=7),
        write("job_release", "operator", jobs=[gated], instance=7),
    )
    assert [result["results"][0]["outcome"] for result in allowed] == [
        "applied", "applied", "unchanged", "applied",
    ]  # fmt: skip
    now = rows(shown)
    assert now[gated]["EligibleTime"] == str(BASE + 7)
    assert now[gated]["PriorityLong"] != "0"
    assert (now[running]["RestartCnt"], now[running]["Requeue"]) == ("1", "0")
    assert outcomes(release_me) == {gated: "rejected"}
    assert outcomes(release) == {gated: "applied"}
    assert held_at(jobs.look(gated)[gated]["EligibleTime"]) is None


# Arrays, heterogeneous jobs, jobs that are no batch jobs


@RELEASES
@pytest.mark.usefixtures("mine")
def test_pending_arrays(cluster: Cluster, jobs: Jobs) -> None:
    array = jobs.one("--array=1-6%2", "--hold")
    tasks = [f"{array}_{task}" for task in range(1, 7)]
    whole, together, part, split, one, free, again, opened, gone = play(
        cluster,
        write("job_hold", ME, jobs=[array], instance=7),
        look(array),
        write("job_hold", ME, jobs=[f"{array}_3", f"{array}_[5-6]"], instance=9),
        look(array),
        write("job_release", ME, jobs=[array], instance=7),
        look(array),
        write("job_release", ME, jobs=[f"{array}_[3,5,6]"], instance=9),
        write("job_open", ME, jobs=[f"{array}_2"]),
        look(array),
    )
    told(whole, changed=True)
    assert outcomes(whole) == mapped("applied", *tasks)
    assert column(together, "EligibleTime") == mapped(str(BASE + 7), *tasks)
    assert set(column(together, "JobID").values()) == {array}, "the array was split"
    assert outcomes(part) == mapped("applied", *(f"{array}_{task}" for task in (3, 5, 6)))
    nine = {f"{array}_{task}" for task in (3, 5, 6)}
    assert column(split, "EligibleTime") == {
        task: str(BASE + (9 if task in nine else 7)) for task in tasks
    }
    told(one, changed=True, failed=True)
    assert outcomes(one) == {task: "stale" if task in nine else "applied" for task in tasks}
    left = {job for job, when in column(free, "EligibleTime").items() if held_at(when) == 9}
    assert left == nine
    assert outcomes(again) == mapped("applied", *nine)
    assert outcomes(opened) == {f"{array}_2": "applied"}
    assert not any(held_at(when) for when in column(gone, "EligibleTime").values())
    still = {job for job, row in rows(gone).items() if row["PriorityLong"] == "0"}
    assert still == set(tasks) - {f"{array}_2"}


@RELEASES
@pytest.mark.usefixtures("mine")
def test_arrays_that_run_in_part(cluster: Cluster, jobs: Jobs) -> None:
    array = jobs.one("--array=1-5%2", "--no-requeue")
    running, pending = [f"{array}_1", f"{array}_2"], [f"{array}_{task}" for task in (3, 4, 5)]
    wait_for(
        lambda: (
            {job for job, row in jobs.look(array).items() if row["State"] == "RUNNING"}
            == set(running)
        )
    )
    hold, held, requeue, after, again = play(
        cluster,
        write("job_hold", ME, jobs=[array], instance=7),
        look(array),
        write("job_requeue", ME, jobs=[array], restarts=0),
        look(array),
        write("job_requeue", ME, jobs=[array], restarts=0),
    )
    told(hold, changed=True, failed=True)
    assert outcomes(hold) == {**mapped("rejected", *running), **mapped("applied", *pending)}
    shown = column(held, "EligibleTime")
    assert {job: shown[job] for job in pending} == mapped(str(BASE + 7), *pending)
    assert not any(held_at(shown[job]) for job in running)
    told(requeue, changed=True)
    assert outcomes(requeue) == {**mapped("applied", *running), **mapped("unchanged", *pending)}
    assert column(after, "RestartCnt") == {**mapped("1", *running), **mapped("0", *pending)}
    assert set(column(after, "Requeue").values()) == {"0"}
    told(again, changed=False)
    assert outcomes(again) == mapped("unchanged", *running, *pending)


@RELEASES
@pytest.mark.usefixtures("mine")
def test_heterogeneous_jobs(cluster: Cluster, jobs: Jobs) -> None:
    leader = jobs.one("--hold", ":", "-n1", "--mem=10")
    both = [f"{leader}+0", f"{leader}+1"]
    whole, held, one, apart, part, left = play(
        cluster,
        write("job_hold", ME, jobs=[leader], instance=7),
        look(leader),
        write("job_hold", ME, jobs=[f"{leader}+1"], instance=9),
        look(leader),
        write("job_release", ME, jobs=[leader], instance=7),
        look(leader),
    )
    assert outcomes(whole) == mapped("applied", *both)
    assert set(column(held, "EligibleTime").values()) == {str(BASE + 7)}
    assert outcomes(one) == {f"{leader}+1": "applied"}
    assert column(apart, "EligibleTime") == {both[0]: str(BASE + 7), both[1]: str(BASE + 9)}
    assert outcomes(part) == {both[0]: "applied", both[1]: "stale"}
    shown = column(left, "EligibleTime")
    assert (held_at(shown[both[0]]), held_at(shown[both[1]])) == (None, 9)


@RELEASES
@pytest.mark.usefixtures("mine")
def test_jobs_of_srun(cluster: Cluster, jobs: Jobs) -> None:
    name = f"srun{time.time_ns()}"
    start = "for o in -n1 --hold; do setsid srun -J $0 -n1 --mem=10 $o sleep 300 & done; sleep 0.5"
    cluster.sh(["sh", "-c", f"({start}) </dev/null >/dev/null 2>&1", name], user=ME)

    def listed(state: str) -> str:
        argv = ["squeue", "-h", "-n", name, "-t", state, "-o", "%A"]
        return cluster.sh(argv).text

    wait_for(lambda: bool(listed("RUNNING") and listed("PENDING")))
    running, pending = listed("RUNNING"), listed("PENDING")
    jobs.ids += [running, pending]
    before = jobs.look(running)
    hold, held, release, free, requeue, set_bit = play(
        cluster,
        write("job_hold", ME, jobs=[running, pending], instance=7),
        look(pending),
        write("job_release", ME, jobs=[pending], instance=7),
        look(pending),
        write("job_requeue", ME, jobs=[running], restarts=0),
        look(running),
    )
    assert outcomes(hold) == {running: "rejected", pending: "applied"}
    assert column(held, "EligibleTime") == {pending: str(BASE + 7)}
    assert outcomes(release) == {pending: "applied"}
    assert held_at(column(free, "EligibleTime")[pending]) is None
    assert outcomes(requeue) == {running: "rejected"}
    assert reasons(requeue) == {running: "only batch jobs can be requeued"}
    assert rows(set_bit) == before


@pytest.mark.variants("trixie-munge", "forky-munge")
@pytest.mark.usefixtures("mine")
def test_scrontab_jobs(cluster: Cluster) -> None:
    table = b"#SCRON -J writes-cron\n0 0 1 1 * /bin/true\n"
    assert cluster.sh(["scrontab", "-"], user=ME, stdin=table).status == 0
    try:
        job = cluster.sh(["squeue", "-h", "-n", "writes-cron", "-o", "%A"]).text
        before, hold, requeue, after = play(
            cluster,
            look(job),
            write("job_hold", ME, jobs=[job], instance=7),
            write("job_requeue", ME, jobs=[job], restarts=0),
            look(job),
        )
    finally:
        assert cluster.sh(["scrontab", "-r"], user=ME).status == 0
    told(hold, changed=False, failed=True)
    assert outcomes(hold) == {job: "rejected"}
    [one] = hold["results"]
    assert one["message"].startswith("Cannot modify scrontab jobs through scontrol")
    assert outcomes(requeue) == {job: "unchanged"}
    assert rows(after)[job]["EligibleTime"] == rows(before)[job]["EligibleTime"]


# States of a job, and of its partition


@RELEASES
@pytest.mark.usefixtures("ours")
def test_jobs_that_are_suspended_or_have_ended(cluster: Cluster, jobs: Jobs) -> None:
    done, suspended = jobs.one("--requeue", script="true"), jobs.one("--no-requeue")
    jobs.await_state("RUNNING", suspended)
    jobs.await_state("COMPLETED", done)
    assert cluster.sh(["scontrol", "suspend", suspended]).status == 0
    hold, release, requeue, restore, open_, none, shown, asked, back = play(
        cluster,
        write("job_hold", ME, jobs=[done, suspended], instance=7),
        write("job_release", ME, jobs=[done], instance=7),
        write("job_requeue", ME, jobs=[done, suspended], restarts=0),
        write("job_restore", ME, jobs=[done], force=True),
        write("job_open", ME, jobs=[done]),
        write("job_hold", ME, jobs=["67043327"], instance=7),
        look(done, suspended),
        write("job_requeue", ME, jobs=[suspended], restarts=0, suspended=True),
        look(suspended),
    )
    both = mapped("rejected", done, suspended)
    assert outcomes(hold) == outcomes(requeue) == both
    assert outcomes(release) == outcomes(restore) == outcomes(open_) == {done: "rejected"}
    assert outcomes(none) == {"67043327": "not_found"}
    for result in (hold, release, requeue, restore, open_, none):
        told(result, changed=False, failed=True)
    assert column(shown, "State") == {done: "COMPLETED", suspended: "SUSPENDED"}
    assert column(shown, "RestartCnt") == mapped("0", done, suspended)
    assert column(shown, "Requeue") == {done: "1", suspended: "0"}
    told(asked, changed=True)
    assert outcomes(asked) == {suspended: "applied"}
    assert rows(back)[suspended]["RestartCnt"] == "1"
    assert rows(back)[suspended]["Requeue"] == "0"
    jobs.await_state("PENDING", suspended)
    assert jobs.look(suspended)[suspended]["Reason"] == "JobHeldAdmin"


@KINDS
@pytest.mark.usefixtures("mine")
def test_an_error_that_changed_the_job(cluster: Cluster, jobs: Jobs) -> None:
    """In a partition that is INACTIVE scontrol reports an error, and the change is made."""
    admin = ["scontrol", "create", "PartitionName=shut", "Nodes=n4", "State=UP"]
    assert cluster.sh(admin).status == 0
    try:
        gated = jobs.one("--hold", "-p", "shut")
        running = jobs.one("-p", "shut", "--no-requeue")
        jobs.await_state("RUNNING", running)
        assert cluster.sh(["scontrol", "update", "PartitionName=shut", "State=INACTIVE"]).text == ""
        hold, held, again, release, free, open_, opened, requeue, back = play(
            cluster,
            write("job_hold", ME, jobs=[gated], instance=7),
            look(gated),
            write("job_hold", ME, jobs=[gated], instance=7),
            write("job_release", ME, jobs=[gated], instance=7),
            look(gated),
            write("job_open", ME, jobs=[gated]),
            look(gated),
            write("job_requeue", ME, jobs=[running], restarts=0, settle=False),
            look(running),
        )
    finally:
        jobs.cancel()
        cluster.sh(["scontrol", "update", "PartitionName=shut", "State=UP"])
        wait_for(lambda: cluster.sh(["scontrol", "delete", "PartitionName=shut"]).status == 0)
    for result in (hold, release, open_):
        told(result, changed=True)
        [one] = result["results"]
        assert one["outcome"] == "applied"
        assert one["calls"][0]["status"] == 1
        assert "Requested partition configuration not available now" in one["message"]
    assert column(held, "EligibleTime") == {gated: str(BASE + 7)}
    told(again, changed=False)
    assert held_at(column(free, "EligibleTime")[gated]) is None
    assert column(opened, "PriorityLong")[gated] != "0"
    # Setting the bit came back with that error, so the requeue itself was not sent.
    assert outcomes(requeue) == {running: "unknown"}
    [one] = requeue["results"]
    assert [call["call"] for call in one["calls"]] == ["set_bit", "clear_bit"]
    assert (rows(back)[running]["RestartCnt"], rows(back)[running]["Requeue"]) == ("0", "0")


# Selections


@RELEASES
@pytest.mark.usefixtures("mine")
def test_selections(cluster: Cluster, jobs: Jobs) -> None:
    name = f"chosen{time.time_ns()}"
    main = jobs.submit("--hold", "-J", name, count=2)
    small = jobs.one("--hold", "-J", name, "-p", "small", "-t", "5")
    theirs = jobs.one("--hold", "-J", name, user=OTHER)
    on_n3, on_n4 = jobs.one("-J", name, "-w", "n3"), jobs.one("-J", name, "-w", "n4")
    jobs.await_state("RUNNING", on_n3, on_n4)
    everything = [*main, small, theirs, on_n3, on_n4]
    mine = {"users": [ME], "names": [name]}
    hold, held, mixed, requeue, back, empty = play(
        cluster,
        write("job_hold", ME, select={**mine, "partitions": ["main"], "states": ["PENDING"]},
              instance=7),
        look(*everything),
        write("job_hold", ME, select={"names": [name]}, instance=8),
        write("job_requeue", ME, select={**mine, "nodes": "n[1,4]", "states": ["RUNNING"]},
              restarts=0),
        look(*everything),
        write("job_hold", ME, select={**mine, "states": ["SUSPENDED"]}, instance=8),
    )  # fmt: skip
    told(hold, changed=True)
    assert outcomes(hold) == mapped("applied", *main)
    held_now = {job for job, when in column(held, "EligibleTime").items() if held_at(when) == 7}
    assert held_now == set(main)
    # Jobs that may have left a selection do not fail it.
    told(mixed, changed=True)
    assert outcomes(mixed) == {
        **mapped("applied", *main, small), **mapped("rejected", theirs, on_n3, on_n4),
    }  # fmt: skip
    told(requeue, changed=True)
    assert outcomes(requeue) == {on_n4: "applied"}
    assert {job for job, count in column(back, "RestartCnt").items() if count == "1"} == {on_n4}
    told(empty, changed=False)
    assert empty["results"] == []


# What a write needs to know


@RELEASES
@pytest.mark.usefixtures("ours")
def test_a_preflight_is_needed(cluster: Cluster, jobs: Jobs) -> None:
    job = jobs.one("--hold")
    fact = "{{ read.ansible_facts['slurm_preflight'] }}"
    elsewhere = "combine({'cluster': {'name': 'elsewhere'}}, recursive=true)"
    other = fact.replace("}}", f"| {elsewhere} }}}}")
    none = {"cache_path": f"{home(ME)}/.no-such-preflight.json"}
    missing, _read, given, held, foreign, old, _roots, as_another, shown = play(
        cluster,
        write("job_hold", ME, jobs=[job], instance=7, **none),
        {**preflight(ME), "register": "read"},
        write("job_hold", ME, jobs=[job], instance=7, preflight=fact, **none),
        look(job),
        write("job_hold", ME, jobs=[job], instance=8, preflight=other),
        write("job_hold", ME, jobs=[job], instance=8, preflight=fact, probe_max_age=0, **none),
        {**preflight("root"), "register": "read"},
        write("job_hold", ME, jobs=[job], instance=8, preflight=fact, **none),
        look(job),
    )
    told(missing, changed=False, failed=True)
    assert outcomes(missing) == {job: "unsupported"}
    assert f"run hpcops.slurm.preflight as {ME} on {cluster.name} first" in missing["msg"]
    assert none["cache_path"] in missing["msg"]
    told(given, changed=True)
    assert column(held, "EligibleTime") == {job: str(BASE + 7)}
    told(foreign, changed=False, failed=True)
    assert "preflight is of" in foreign["msg"]
    assert "elsewhere" in foreign["msg"]
    assert outcomes(old) == {job: "unsupported"}
    told(as_another, changed=False, failed=True)
    assert "preflight is of root" in as_another["msg"]
    assert column(shown, "EligibleTime") == {job: str(BASE + 7)}


@ONE
@pytest.mark.usefixtures("mine")
def test_bad_input(cluster: Cluster, jobs: Jobs) -> None:
    job = jobs.one("--hold")
    before = jobs.look(job)
    wrong_ids = ["12.batch", "1;rm", "-1", "99999999999", f"{job} {job}", ""]
    now = int(time.time())
    wrong: list[dict[str, Any]] = [
        *({"jobs": [job, one], "instance": 7} for one in wrong_ids),
        *({"jobs": [job], "instance": one} for one in (0, 1000000000)),
        *({"jobs": [job], "instance": 7, "ttl": one} for one in (0.5, 86401)),
        *({"jobs": [job], "instance": 7, "deadline": one} for one in
          ("2026-01-01T00:00:00", now + 90000)),
        {"instance": 7},
        {"jobs": [job], "select": {"users": [ME]}, "instance": 7},
    ]  # fmt: skip
    late = [str(now - 5), "2020-01-01T00:00:00+01:00"]
    results = play(
        cluster,
        *(write("job_hold", ME, **options) for options in wrong),
        *(write("job_hold", ME, jobs=[job], instance=7, deadline=one) for one in late),
        write("job_hold", ME, jobs=[], instance=7),
        look(job),
        write("job_hold", ME, jobs=[job, job], instance=7, deadline=now + 3600),
    )
    for options, result in zip(wrong, results, strict=False):
        assert result["failed"], options
        assert "results" not in result, options
        assert result["msg"], options
    expired = results[len(wrong) : len(wrong) + len(late)]
    nothing, shown, twice = results[-3:]
    for result in expired:
        told(result, changed=False, failed=True)
        assert outcomes(result) == {job: "expired"}
    told(nothing, changed=False)
    assert rows(shown) == before
    assert len(twice["results"]) == 1
    assert outcomes(twice) == {job: "applied"}

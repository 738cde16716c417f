# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes that are killed half way, and two controllers that write the same jobs at once."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.integration.conftest import Cluster
from ansible_collections.hpcops.slurm.tests.integration.faults import TTL, UP, fault, mend
from ansible_collections.hpcops.slurm.tests.integration.write_plays import (
    BASE,
    Jobs,
    Result,
    forget,
    look,
    outcomes,
    place,
    play,
    preflight,
    results,
    rows,
    shell,
    start,
    together,
    told,
    wait_for,
    write,
)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox's containers are root's")

REQUEUE = "requeue*"
STILL_SET = "left its requeue bit set: run job_restore"
COME_BACK = "cleared the requeue bit, which is set again: run job_restore"


@pytest.fixture(scope="module")
def sites(fleet: Mapping[str, Cluster]) -> Iterator[dict[str, Jobs]]:
    """Jobs on clusters where root may write."""
    found = {name: Jobs(cluster) for name, cluster in fleet.items()}
    for jobs in found.values():
        told(play(jobs.cluster, preflight("root", probe="always"))[0], changed=True)
    yield found
    for jobs in found.values():
        jobs.cancel()
        mend(jobs.cluster)
        forget(jobs.cluster, "root")


def warnings(result: Result) -> list[str]:
    """The warnings of a task."""
    return [str(text) for text in result.get("warnings", [])]


def test_a_requeue_that_is_killed_after_its_first_call(sites: dict[str, Jobs]) -> None:
    """The bit ends cleared, or the next run says that it was left set and a restore clears it."""
    jobs = {name: site.submit("--no-requeue", count=4) for name, site in sites.items()}
    for name, site in sites.items():
        site.await_state("RUNNING", *jobs[name])
    how = ("kill-module", "kill-connection", "kill-both", "kill-script")
    killed = together(
        {
            name: [
                *(
                    # The script of a killed module needs the time to clear the bit.
                    write("job_requeue", jobs=[job], restarts=0, ttl=3 * TTL,
                          environment=fault(do, REQUEUE, seconds=1.5))
                    for job, do in zip(jobs[name], how, strict=True)
                ),
                look(*jobs[name]),
            ]
            for name in sites
        }
    )  # fmt: skip
    later = together(
        {
            name: [
                write("job_requeue", jobs=mine, restarts=0),
                look(*mine),
                write("job_restore", jobs=mine),
                look(*mine),
                write("job_requeue", jobs=mine, restarts=0),
            ]
            for name, mine in jobs.items()
        }
    )
    for name, (module, connection, both, script) in jobs.items():
        no_module, no_connection, no_both, no_script, _looked = killed[name]
        assert no_module["failed"]
        assert "results" not in no_module
        assert no_connection["unreachable"]
        assert no_both["failed"]
        [one] = no_script["results"]
        assert (one["outcome"], one["requeue_bit_left"]) == ("applied", "yes")
        next_run, seen, restored, clear, last = later[name]
        # The killed script's requeue was on its way: the client outlived it.
        assert {row["RestartCnt"] for row in rows(seen).values()} == {"1"}
        bits = {job: row["Requeue"] for job, row in rows(seen).items()}
        left = {job for job, bit in bits.items() if bit == "1"}
        assert left == {both, script}
        told(next_run, changed=False)
        assert set(outcomes(next_run).values()) == {"unchanged"}
        [warning] = [text for text in warnings(next_run) if STILL_SET in text]
        assert set(re.findall(r"\d+", warning.partition("(")[2])) == left
        told(restored, changed=True)
        assert outcomes(restored) == {
            job: "applied" if job in left else "unchanged"
            for job in (module, connection, both, script)
        }
        assert {row["Requeue"] for row in rows(clear).values()} == {"0"}
        assert warnings(last) == []


@pytest.mark.parametrize(
    ("submit", "state", "clears"),
    [
        (["--no-requeue"], "RUNNING", {"module": "job_requeue", "restarts": 0}),
        (["--requeue", "--hold"], "PENDING", {"module": "job_restore", "force": True}),
    ],
    ids=["requeue", "restore"],
)
def test_a_bit_that_a_slurmctld_has_forgotten_to_have_cleared(
    sites: dict[str, Jobs], submit: list[str], state: str, clears: dict[str, Any]
) -> None:
    """Killed seconds after its answers, it comes back as it was between two of the calls."""
    came_back = 0
    for _try in range(4):
        jobs = {name: site.one(*submit) for name, site in sites.items()}
        for name, site in sites.items():
            site.await_state(state, jobs[name])
        time.sleep(8)  # until the last saving is long ago
        killed = f"slurm-service kill slurmctld; slurm-service start slurmctld; {UP}"
        done = together(
            {
                name: [
                    write(jobs=[job], environment=fault("save", "*Requeue=0*", 0.3), **clears),
                    shell(killed),
                    look(job),
                    write("job_hold", jobs=[job], instance=7, check=True),
                    write("job_restore", jobs=[job]),
                    look(job),
                ]
                for name, job in jobs.items()
            }
        )
        for name, (cleared, _killed, seen, next_run, restored, clear) in done.items():
            told(cleared, changed=True)
            if rows(clear)[jobs[name]]["State"] == "FAILED":
                # The slurmctld of before the requeue thought it running, and no node had it.
                assert outcomes(restored) == {jobs[name]: "rejected"}
                continue
            back = rows(seen)[jobs[name]]["Requeue"] == "1"
            assert any(COME_BACK in text for text in warnings(next_run)) is back
            told(restored, changed=back)
            assert rows(clear)[jobs[name]]["Requeue"] == "0"
            came_back += back
        if came_back:
            break
    assert came_back, "no slurmctld forgot anything: this test has shown nothing"


def test_two_controllers_hold_the_same_jobs(sites: dict[str, Jobs]) -> None:
    """The higher instance wins, whoever comes first, and the journal stays whole."""
    site = sites["writes-trixie"]
    jobs = site.submit("--hold", count=120)
    started = {
        instance: start(
            [site.cluster],
            [write("job_hold", jobs=jobs, instance=instance), write("job_hold", jobs=jobs,
             instance=instance, check=True)],
        )
        for instance in (7, 8)
    }  # fmt: skip
    (seven, _then), (eight, again) = (results(run, "writes-trixie", 2) for run in started.values())
    now = {row["EligibleTime"] for row in site.look(*jobs).values()}
    assert now == {str(BASE + 8)}
    # Held under 7 and found under 8: it is not there any more, and nobody says that it never was.
    replaced = [one for one in seven["results"] if one["outcome"] == "unknown"]
    assert all(one["settled"] and one["may_land_until"] is None for one in replaced)
    assert all("it was changed since" in one["reason"] for one in replaced)
    assert all(one["after"]["hold_instance"] == 8 for one in replaced)
    assert set(outcomes(seven).values()) <= {"applied", "stale", "unknown"}
    assert set(outcomes(eight).values()) == {"applied"}
    told(again, changed=False)
    text = site.cluster.sh(["cat", f"{place('root')['state_dir']}/journal.jsonl"]).text
    events = [json.loads(line) for line in text.splitlines()]
    begun = {
        (one["nonce"], job) for one in events if one["event"] == "start" for job in one["jobs"]
    }
    ended = {
        (one["nonce"], job) for one in events if one["event"] == "end" for job in one["outcomes"]
    }
    mine = {pair for pair in begun if pair[1] in jobs}
    assert {job for _nonce, job in mine} == set(jobs)
    assert mine <= ended


def test_a_connection_that_dies_leaves_the_release_whole(sites: dict[str, Jobs]) -> None:
    """The script goes on, and the next run finds the job as it is."""
    site = sites["writes-forky"]
    job = site.one("--begin=now+3600")
    own = site.look(job)[job]["EligibleTime"]
    held, dropped = play(
        site.cluster,
        write("job_hold", jobs=[job], instance=7),
        write("job_release", jobs=[job], instance=7, ttl=TTL,
              environment=fault("kill-connection", "*StartTime=*", seconds=1)),
    )  # fmt: skip
    told(held, changed=True)
    assert dropped["unreachable"]
    wait_for(lambda: site.look(job)[job]["EligibleTime"] == own)
    [again] = play(site.cluster, write("job_release", jobs=[job], instance=7))
    told(again, changed=False)
    assert outcomes(again) == {job: "unchanged"}

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Maintenance windows that are opened and closed on real queues, and all that may go wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.integration import plays
from ansible_collections.hpcops.slurm.tests.integration.conftest import Cluster
from ansible_collections.hpcops.slurm.tests.integration.faults import BACK, CREDENTIAL, TTL, fault
from ansible_collections.hpcops.slurm.tests.integration.plays import ROOT, Run, inventory
from ansible_collections.hpcops.slurm.tests.integration.write_plays import (
    LONGEST,
    Jobs,
    Row,
    Task,
    forget,
    held_at,
    look,
    mapped,
    place,
    ready,
    rows,
    shell,
    wait_for,
)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox's containers are root's")

ROLE = "hpcops.slurm.maintenance_window"
WRITES = ("job_hold", "job_release", "job_requeue", "job_restore")
MARK = "what came of it"
#: It may change what it keeps on the host, and nothing else.
PREFLIGHT = "Find out whether holds can be trusted here"


@dataclass(frozen=True)
class Came:
    """What came of one opening or closing."""

    report: Mapping[str, Any]
    failure: str
    changed: bool


@dataclass
class Site:
    """A cluster with jobs, and the manifests of its windows."""

    jobs: Jobs
    folder: Path

    def play(self, *tasks: Task) -> tuple[list[Came], list[dict[str, Row]]]:
        """Run windows and looks; what came of each, in order."""
        run = plays.ended(self.start(*tasks).wait(LONGEST))
        came, seen, changed = [], [], False
        for one in run.results:
            if one.task == MARK:
                failure = str(one.result["msg"]["failure"])
                came.append(Came(one.result["msg"]["report"], failure, changed))
                changed = False
            elif one.task == "look":
                seen.append(rows(dict(one.result)))
            elif one.task != PREFLIGHT:
                changed |= bool(one.result.get("changed"))
        assert len([*came, *seen]) == len(tasks), run.output
        assert run.process.returncode == 0, run.output
        return came, seen

    def start(self, *tasks: Task) -> Run:
        """Start a play with these tasks."""
        where = place("root")
        defaults = {f"hpcops.slurm.{name}": where for name in WRITES}
        kept = {"cache_path": where["cache_path"]}
        defaults.update({f"hpcops.slurm.{name}": kept for name in ("preflight", "job_info")})
        variables = {"maintenance_window_manifest_dir": str(self.folder)}
        more: dict[str, Any] = {"module_defaults": defaults, "vars": variables, "pipelining": True}
        return plays.start([self.jobs.cluster.name], tasks, ["--diff"], **more)

    def manifest(self, number: int) -> Path:
        """Where the manifest of a window is."""
        return self.folder / f"{self.jobs.cluster.name}.window-{number}.json"

    def state(self, number: int) -> str:
        """What a manifest says about its window."""
        return str(json.loads(self.manifest(number).read_text(encoding="utf-8"))["state"])


def window(
    action: str, number: int, before: str = "true", after: str = "true", **options: Any
) -> Task:
    """A window that is opened or closed; its failure does not end the play.

    ``before`` and ``after`` are lines of shell; options that don't belong to the role are the
    task's own.
    """
    names = ("check_mode", "environment", "module_defaults")
    keywords = {name: options.pop(name) for name in names if name in options}
    variables = {f"maintenance_window_{name}": value for name, value in options.items()}
    variables["maintenance_window_number"] = number
    role = {"name": ROLE, "tasks_from": action}
    forgotten = {"maintenance_window_report": {}, "window_failure": ""}
    told = {"report": "{{ maintenance_window_report }}", "failure": "{{ window_failure }}"}
    block: list[Task] = [
        {"ansible.builtin.set_fact": forgotten},
        shell(before),
        {
            "block": [{"ansible.builtin.import_role": role, "vars": variables}],
            "rescue": [
                {"ansible.builtin.set_fact": {"window_failure": "{{ ansible_failed_result.msg }}"}}
            ],
            **keywords,
        },
        shell(after),
        {"name": MARK, "ansible.builtin.debug": {"msg": told}},
    ]
    return {"block": block}


def seen(*ids: str) -> Task:
    """A task that looks at jobs."""
    return {"name": "look", **look(*ids)}


def held(row: Mapping[str, Row]) -> dict[str, int | None]:
    """Under which window each job is held."""
    return {job: held_at(one["EligibleTime"]) for job, one in row.items()}


@pytest.fixture
def site(cluster: Cluster, tmp_path: Path) -> Iterator[Site]:
    """A place for windows, without jobs afterwards."""
    made = Site(Jobs(cluster), tmp_path / "windows")
    yield made
    made.jobs.cancel()
    forget(cluster, "root")


@pytest.mark.variants("trixie-munge")
def test_two_windows_at_once_and_what_is_asked_wrongly(site: Site) -> None:
    jobs = site.jobs
    first = jobs.submit("-J", "window-a", "--begin=now+7200", count=3)
    gated = jobs.one("-J", "window-a", "--hold", user="user2")
    second = jobs.one("-J", "window-b", "--begin=now+7200")
    every = [*first, gated, second]
    start = jobs.look(*every)
    a, both = {"names": ["window-a"]}, {"names": ["window-a", "window-b"]}
    late = "cd /tmp; printf '#!/bin/sh\\n' | sbatch -J window-a --begin=now+7200 -o /dev/null"
    meanwhile = f"scancel {first[0]}; scontrol update JobId={first[1]} StartTime=now+7200"
    manifest = site.manifest(72)
    came, looks = site.play(
        window("close", 71),
        seen(*every),
        window("open", 71, select=a, check_mode=True),  # the first answer is cached by then
        seen(*every),
        window("open", 71, select=a),
        window("open", 72, select=both),
        seen(*every),
        window("open", 71, select=a, before=late, after=meanwhile),
        window("close", 71),
        seen(*every),
        window("close", 71),
        window("close", 72, check_mode=True),
    )
    unopened, check, opened, beside, again, closed, twice, foretold = came
    late_job = again.report["newly_held"][0]
    jobs.ids.append(late_job)
    # Closed without having been opened.
    assert "Window 71 was not opened" in unopened.failure
    assert not unopened.changed
    assert looks[0] == start
    # Foretold in check mode.
    assert check.failure == ""
    assert check.changed
    assert check.report["held"] == sorted([*first, gated], key=int)
    assert looks[1] == start
    # Two windows.
    assert (opened.failure, beside.failure) == ("", "")
    assert opened.report["held"] == check.report["held"]
    assert beside.report["newly_held"] == [second]
    assert {one["job_id"]: one["window"] for one in beside.report["left"]} == mapped(
        71, *first, gated
    )
    assert held(looks[2]) == {**mapped(71, *first, gated), second: 72}
    # Again: what came since.
    assert (again.failure, again.changed) == ("", True)
    assert len(again.report["newly_held"]) == 1
    # Closed: what changed meanwhile is told.
    assert closed.failure == ""
    assert closed.report["released"] == sorted([first[2], gated, late_job], key=int)
    assert {one["job_id"]: one["what"] for one in closed.report["changes"]} == {
        first[0]: "ended (cancelled)",
        first[1]: "not held any more",
    }
    assert looks[3][first[0]]["State"] == "CANCELLED"
    living = {job: row for job, row in looks[3].items() if job != first[0]}
    assert held(living) == {**mapped(None, *first[1:], gated), second: 72}
    assert looks[3][first[2]]["EligibleTime"] == start[first[2]]["EligibleTime"]
    assert looks[3][gated]["PriorityLong"] == "0"
    assert (twice.failure, twice.changed) == ("", False)
    assert "it was closed at" in twice.report["headline"]
    assert foretold.report["released"] == [second]
    assert site.state(72) == "open"
    # A manifest of another cluster stops it, and nothing is changed.
    good = manifest.read_text(encoding="utf-8")
    foreign = good.replace('"cluster": "', '"cluster": "not-')
    manifest.write_text(foreign, encoding="utf-8")
    came, looks = site.play(window("close", 72), seen(second))
    assert "it is of the cluster not-" in came[0].failure
    assert "Nothing was changed" in came[0].failure
    assert not came[0].changed
    assert held(looks[0]) == {second: 72}
    assert manifest.read_text(encoding="utf-8") == foreign
    # A manifest that was lost: the queue decides.
    manifest.unlink()
    came, looks = site.play(window("close", 72), seen(second))
    assert came[0].report["released"] == [second]
    assert "no manifest" in came[0].report["headline"]
    assert looks[0][second]["EligibleTime"] == start[second]["EligibleTime"]


@pytest.mark.variants("trixie-munge")
def test_running_jobs_go_back_and_a_run_that_was_killed_is_run_again(site: Site) -> None:
    jobs = site.jobs
    ready = jobs.one("-J", "window-c", "--requeue")
    unready = jobs.one("-J", "window-c", "--no-requeue", user="user2")
    srun = "srun -J window-c --mem=10 sleep 600 >/dev/null 2>&1 </dev/null &"
    assert jobs.cluster.sh(["sh", "-c", srun], user="user1").status == 0
    wait_for(lambda: len(named(jobs)) == 3)
    (alone,) = set(named(jobs)) - {ready, unready}
    jobs.ids.append(alone)
    jobs.await_state("RUNNING", ready, unready, alone)
    every = [ready, unready, alone]
    wish: dict[str, Any] = {"select": {"names": ["window-c"]}, "running": "requeue", "poll": 1}
    came, looks = site.play(window("open", 73, wait=4, **wish), seen(*every))
    # What may go back went back, and is held; the others were waited for in vain.
    assert f"{unready} (its requeue bit is off)" in came[0].failure
    assert f"{alone} (only batch jobs can be requeued)" in came[0].failure
    assert came[0].report["requeued"] == [ready]
    assert held(looks[0]) == {ready: 73, unready: None, alone: None}
    assert looks[0][ready]["RestartCnt"] == "1"
    # A run that is killed while it waits has held what came, and has not finished.
    late = jobs.one("-J", "window-c", "--begin=now+7200")
    run = site.start(window("open", 73, wait=300, **wish))
    wait_for(lambda: held(jobs.look(late)) == {late: 73})
    wait_for(lambda: "RETRYING" in run.output)
    os.killpg(run.process.pid, signal.SIGKILL)
    run.process.wait()
    assert site.state(73) == "opening"
    # Run again, it takes those without the bit as well, and leaves the bit as it was.
    more: dict[str, Any] = {**wish, "requeue_any": True, "wait": 60}
    came, looks = site.play(
        window("open", 73, before=f"scancel {alone}", **more),
        seen(ready, unready, late),
        window("close", 73),
        seen(ready, unready, late),
    )
    opened, closed = came
    assert opened.failure == ""
    assert opened.report["requeued"] == [unready]
    assert held(looks[0]) == mapped(73, ready, unready, late)
    assert {job: row["Requeue"] for job, row in looks[0].items()} == {
        ready: "1", unready: "0", late: "1"
    }  # fmt: skip
    assert {job: row["RestartCnt"] for job, row in looks[0].items()} == {
        ready: "1", unready: "1", late: "0"
    }  # fmt: skip
    assert closed.failure == ""
    assert closed.report["released"] == sorted([ready, unready, late], key=int)
    assert held(looks[1]) == mapped(None, ready, unready, late)


def named(jobs: Jobs) -> list[str]:
    """The jobs of the second test that are in the queue."""
    return jobs.cluster.sh(["squeue", "-h", "-n", "window-c", "-o", "%A"]).text.split()


@pytest.mark.variants("trixie-authnone")
def test_a_rollout_stops_at_the_first_failure(cluster: Cluster, tmp_path: Path) -> None:
    """A cluster that can't be trusted, or is not there, stops it; the next is not touched."""
    nobody = {"ansible_host": "127.0.0.1", "ansible_port": 1}
    hosts = {"a-dead": nobody, "z-next": nobody}
    more = tmp_path / "more.json"
    more.write_text(json.dumps({"slurm": {"hosts": hosts}}), encoding="utf-8")
    jobs = Jobs(cluster)
    waiting = jobs.one("--hold")
    before = jobs.look(waiting)
    try:
        text = playbook("open", more, inventory(cluster.name), f"{cluster.name},z-next", tmp_path)
        assert "the capability Hold of the cluster" in text
        assert 'is no: AuthType "auth/none" has no known landing bound' in " ".join(text.split())
        assert "z-next" not in text
        text = playbook("open", more, inventory(cluster.name), f"a-dead,{cluster.name}", tmp_path)
        assert "Nothing was changed: not reached, or failed: a-dead" in text
        assert f"ok: [{cluster.name}]" not in text
        text = playbook("close", more, inventory(cluster.name), cluster.name, tmp_path)
        assert "Nothing was changed" in text
        assert jobs.look(waiting) == before
        assert not (tmp_path / "windows").exists()
    finally:
        jobs.cancel()


def playbook(action: str, more: Path, cluster: Path, hosts: str, folder: Path) -> str:
    """What one of the collection's playbooks says that fails."""
    done = subprocess.run(
        [sys.executable, "-m", "ansible", "playbook", f"hpcops.slurm.maintenance_{action}"]
        + ["-i", str(more), "-i", str(cluster), "-e", f"slurm_hosts={hosts}"]
        + ["-e", "maintenance_window_number=74"]
        + ["-e", f"maintenance_window_manifest_dir={folder / 'windows'}"],
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "ANSIBLE_INJECT_FACT_VARS": "false",
            "ANSIBLE_NOCOLOR": "1",
        },
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode != 0, done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_hold_that_may_still_land(fleet: Mapping[str, Cluster], tmp_path: Path) -> None:
    """It fails with the time until which it may land; run again, the window opens."""
    site = Site(Jobs(fleet["writes-trixie"]), tmp_path / "windows")
    jobs = site.jobs
    waiting = jobs.submit("-J", "window-d", "--begin=now+7200", count=2)
    start = jobs.look(*waiting)
    asked: dict[str, Any] = {"select": {"names": ["window-d"]}}
    quick = {"hpcops.slurm.job_hold": {**place("root"), "settle": False, "ttl": TTL}}
    fast = {"hpcops.slurm.job_info": {"command_timeout": 30}}
    hung: dict[str, Any] = {
        "environment": fault("hang", seconds=CREDENTIAL + 10),
        "module_defaults": {**quick, **fast},
    }
    try:
        ready(jobs.cluster, set(), "root")
        came, _looks = site.play(window("open", 75, **asked, **hung))
        assert "Nothing is known about" in came[0].failure
        assert "may still land until" in came[0].failure
        assert site.state(75) == "opening"
        came, looks = site.play(
            window("open", 75, before=str(BACK["ansible.builtin.shell"]["cmd"]), **asked),
            seen(*waiting),
            window("close", 75),
            seen(*waiting),
        )
        opened, closed = came
        assert (opened.failure, closed.failure) == ("", "")
        assert held(looks[0]) == mapped(75, *waiting)
        assert closed.report["released"] == sorted(waiting, key=int)
        for job in waiting:
            assert looks[1][job]["EligibleTime"] == start[job]["EligibleTime"]
    finally:
        jobs.cancel()
        forget(jobs.cluster, "root")

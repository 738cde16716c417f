# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays against clusters, and the raw truth about jobs between their tasks.

A play is a list of tasks as playbooks have them. Its results come back as the modules returned
them, one a task. What squeue says in between is a task of its own, a plain command (:func:`look`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.hpcops.slurm.tests.integration import plays
from ansible_collections.hpcops.slurm.tests.integration.conftest import Cluster
from ansible_collections.hpcops.slurm.tests.integration.plays import Run

#: Seconds that one play may take: a test's longest row of waits, and room.
LONGEST = 600.0
#: Seconds that anything may take to come about: a job that could not be launched and was sent back
#: starts after two minutes.
WAIT = 200.0
#: The hold's base, written out: the tests don't ask the engine what a hold is.
BASE = 4102444800

Task = dict[str, Any]
Result = dict[str, Any]
Row = dict[str, str]

#: What is looked at, by raw squeue: none of it is text of a user.
COLUMNS = ("JobArrayID", "JobID", "HetJobOffset", "State", "EligibleTime", "Requeue", "RestartCnt",
           "PriorityLong", "Nice", "Reason")  # fmt: skip


def home(user: str) -> str:
    """A user's home directory on the clusters."""
    return "/root" if user == "root" else f"/home/{user}"


def place(user: str) -> dict[str, str]:
    """Where the tests' preflights and writes of a user keep what they keep."""
    folder = f"{home(user)}/.writes-test"
    return {"cache_path": f"{folder}/preflight.json", "state_dir": f"{folder}/state"}


def write(module: str, user: str = "root", **options: Any) -> Task:
    """A task of a module that writes; ``check``, ``environment`` and ``preflight`` as in a play."""
    keywords = {
        name: options.pop(alias)
        for alias, name in (("check", "check_mode"), ("environment", "environment"))
        if alias in options
    }
    task = {f"hpcops.slurm.{module}": {**place(user), **options}, **keywords}
    return as_user(user, task)


def preflight(user: str = "root", **options: Any) -> Task:
    """A task that probes, unless its answers are known already."""
    arguments = {"cache_path": place(user)["cache_path"], "probe": "auto", **options}
    return as_user(user, {"hpcops.slurm.preflight": arguments})


def as_user(user: str, task: Task) -> Task:
    """The task, run by a user that logs in himself."""
    return {**task, "vars": {**task.get("vars", {}), "ansible_user": user}}


def look(*ids: str) -> Task:
    """A task that reads jobs with raw squeue; its result is for :func:`rows`."""
    listed = ",".join([*ids, ids[0]])
    columns = ",".join(f"{name}:|" for name in COLUMNS)
    argv = ["squeue", "-h", "-a", "-r", "-t", "all", "-j", listed, "-O", columns]
    command = {"ansible.builtin.command": {"argv": argv}}
    return {**command, "environment": {"SLURM_TIME_FORMAT": "%s"}, "changed_when": False}


def shell(text: str, user: str = "root") -> Task:
    """A task that runs a few lines of shell."""
    return as_user(user, {"ansible.builtin.shell": {"cmd": text}, "changed_when": False})


def rows(result: Result) -> dict[str, Row]:
    """What a look saw, by id: ``N``, ``A_T`` for a task, ``L+C`` for a component."""
    assert result["rc"] == 0, result
    seen = {}
    for line in result["stdout"].splitlines():
        row = dict(zip(COLUMNS, line.split("|"), strict=False))
        offset = row["HetJobOffset"]
        key = row["JobArrayID"]
        if offset.isdigit() and "+" not in key:
            key = f"{key}+{offset}"
        seen[key] = row
    return seen


def start(
    clusters: Sequence[Cluster],
    tasks: Sequence[Task],
    variables: Mapping[str, Any] | None = None,
) -> Run:
    """Start a play on clusters, with differences shown. A task that fails doesn't end it."""
    kept = [{"ignore_errors": True, "ignore_unreachable": True, **task} for task in tasks]
    names = [one.name for one in clusters]
    return plays.start(names, kept, ["--diff"], pipelining=True, vars=dict(variables or {}))


def results(run: Run, cluster: str, count: int) -> list[Result]:
    """Wait for the end of a play of so many tasks; their results on a cluster, in order."""
    plays.ended(run.wait(LONGEST))
    found = [
        {"failed": one.status == "failed", **one.result, "unreachable": one.status == "unreachable"}
        for one in run.results
        if one.host == cluster
    ]
    assert len(found) == count, run.output
    found[-1]["screen"] = run.output
    return found


def play(
    cluster: Cluster, *tasks: Task, variables: Mapping[str, Any] | None = None
) -> list[Result]:
    """Run tasks on one cluster; their results, in order."""
    return results(start([cluster], tasks, variables), cluster.name, len(tasks))


def together(wanted: Mapping[str, Sequence[Task]]) -> dict[str, list[Result]]:
    """Run a play on each of these clusters at the same time; their results by cluster."""
    started = {name: start([Cluster(name)], tasks) for name, tasks in wanted.items()}
    return {name: results(run, name, len(wanted[name])) for name, run in started.items()}


def outcomes(result: Result) -> dict[str, str]:
    """Outcome by job of a write."""
    return {one["job_id"]: one["outcome"] for one in result["results"]}


def reasons(result: Result) -> dict[str, str]:
    """Reason by job of a write."""
    return {one["job_id"]: one["reason"] for one in result["results"]}


def mapped(value: Any, *ids: str) -> dict[str, Any]:
    """The same value for each of these ids."""
    return dict.fromkeys(ids, value)


def column(result: Result, name: str) -> dict[str, str]:
    """One column of a look, by id."""
    return {job_id: row[name] for job_id, row in rows(result).items()}


def held_at(eligible_time: str) -> int | None:
    """The instance that squeue's EligibleTime carries, None for none."""
    if not eligible_time.isdigit() or int(eligible_time) < BASE:
        return None
    return int(eligible_time) - BASE


def told(result: Result, changed: bool, failed: bool = False) -> None:
    """What the task as a whole says."""
    assert (result["changed"], result["failed"]) == (changed, failed), result


def ready(cluster: Cluster, known: set[str], *users: str) -> None:
    """See to it that these users may write; ``known`` are those whose preflight there is."""
    wanted = [user for user in users if user not in known]
    if wanted:
        for result in play(cluster, *(preflight(user) for user in wanted)):
            assert not result["failed"], result
        known.update(wanted)


def forget(cluster: Cluster, *users: str) -> None:
    """Remove what the tests' preflights and writes of these users have kept."""
    folders = [place(user)["state_dir"].rpartition("/")[0] for user in users]
    assert cluster.sh(["rm", "-rf", *folders]).status == 0


@dataclass
class Jobs:
    """Jobs on one cluster, cancelled at the end.

    ``environment``: what Slurm's commands are given here, each NAME=VALUE.
    """

    cluster: Cluster
    ids: list[str] = field(default_factory=list)
    environment: Sequence[str] = ()

    def submit(
        self, *options: str, user: str = "user1", script: str = "sleep 600", count: int = 1
    ) -> list[str]:
        """Submit the same job ``count`` times; the numbers."""
        argv = ["env", *self.environment, "sbatch", "--parsable", "-n1", "--mem=10"]
        argv += ["-o", "/dev/null", *options]
        loop = (
            'n=$1 job=$2; shift 2; for i in $(seq $n); do printf "#!/bin/sh\\n%s\\n" "$job" |'
            ' "$@" || exit 1; done'
        )
        said = self.cluster.sh(["sh", "-c", loop, "sh", str(count), script, *argv], user=user).text
        made = [line.partition(";")[0] for line in said.splitlines()]
        assert len(made) == count, said
        self.ids.extend(made)
        return made

    def one(self, *options: str, user: str = "user1", script: str = "sleep 600") -> str:
        """Submit one job; its number."""
        return self.submit(*options, user=user, script=script)[0]

    def look(self, *ids: str) -> dict[str, Row]:
        """The jobs as raw squeue shows them now."""
        listed = ",".join([*ids, ids[0]])
        columns = ",".join(f"{name}:|" for name in COLUMNS)
        argv = ["env", "SLURM_TIME_FORMAT=%s", *self.environment]
        argv += ["squeue", "-h", "-a", "-r", "-t", "all", "-j", listed, "-O", columns]
        reply = self.cluster.sh(argv)
        return rows({"rc": reply.status, "stdout": reply.stdout.decode()})

    def await_state(self, state: str, *ids: str, limit: float = WAIT) -> None:
        """Wait until all these jobs show a state; what is in their way is said otherwise."""
        try:
            wait_for(
                lambda: {row["State"] for row in self.look(*ids).values()} == {state}, limit=limit
            )
        except AssertionError:
            text = "squeue -a -t all -o '%i %P %T %r %S %N'; sinfo -N -o '%N %P %T %C %E'; date"
            seen = self.cluster.sh(["sh", "-c", text]).text
            raise AssertionError(f"{', '.join(ids)} never were all {state}:\n{seen}") from None

    def cancel(self) -> None:
        """Let none of them live on."""
        if self.ids:
            self.cluster.sh(["scancel", *self.ids])


def wait_for(condition: Callable[[], bool], limit: float = WAIT) -> None:
    """Wait until something holds."""
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.4)


def settings(cluster: Cluster) -> Mapping[str, str]:
    """What ``scontrol show config`` shows."""
    lines = cluster.sh(["scontrol", "show", "config"]).text.splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {key.strip(): value.strip() for key, _sign, value in pairs}

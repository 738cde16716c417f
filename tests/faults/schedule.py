# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done and what goes wrong meanwhile, drawn from a seed. Pure: no cluster is needed.

A *fault* hits one call of scontrol, right before it runs (``tests/integration/faults.py``). A
*disturbance* begins at some time in a task, and knows nothing of it: daemons that hang, crash or
are away, a network that loses packets, other users who do as they please, a module that is killed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ansible_collections.hpcops.slurm.tests.integration.faults import fault

#: Kinds of jobs and how many of each an episode has.
#: gated: on hold by its owner; begins: has a begin time of its own, tomorrow; waits: depends on a
#: gated one; runs and may_requeue: running without and with the requeue bit; ends: runs, and comes
#: to its end in seconds.
JOBS = {"gated": 3, "begins": 3, "waits": 2, "runs": 3, "may_requeue": 1, "ends": 1}
PENDING, RUNNING = ("gated", "begins", "waits"), ("runs", "may_requeue", "ends")

#: The calls of scontrol that a fault can hit, by module.
CALLS = {
    "job_hold": ("*StartTime=*",),
    "job_release": ("*StartTime=*",),
    "job_open": ("release*",),
    "job_requeue": ("*Requeue=1*", "requeue*", "*Requeue=0*", "*Requeue=0*"),
    "job_restore": ("*Requeue=0*",),
    "job_cancel": ("scancel*",),
}
#: Faults: for how many seconds they last at least and at most, and how often they are drawn. What
#: leaves a call in flight comes most often.
FAULTS = {
    "hang": (2, 13, 6),
    "late": (3, 11, 12),
    "mute": (2, 6, 3),
    "half": (3, 10, 4),
    "crash": (1, 4, 1),
    "munged": (1, 8, 1),
    "wait": (1, 7, 2),
    "kill-module": (0, 2, 2),
    "kill-script": (0, 0, 2),
    "kill-both": (0, 0, 2),
    "kill-connection": (0, 2, 2),
    "talk": (0, 0, 1),
    "forge": (0, 0, 1),
}
WEIGHTS = {"job_hold": 7, "job_release": 6, "job_open": 3, "job_requeue": 5, "job_restore": 1,
           "job_cancel": 2, "preflight": 1}  # fmt: skip

#: Lines of shell for the controller's host; SECONDS is how long a disturbance lasts, JOB a job.
#: What is written to NET is done by the campaign, outside of the container.
NET = "/var/log/slurm/network"
_SERVICE = "slurm-service {0} {1}; sleep SECONDS; slurm-service {2} {1}"
_NETWORK = f"echo {{0}} > {NET}; sleep SECONDS; echo whole > {NET}"
DISTURBANCES = {
    "slurmctld hangs": _SERVICE.format("pause", "slurmctld", "continue"),
    "slurmctld is killed": _SERVICE.format("kill", "slurmctld", "start"),
    "slurmctld is restarted": _SERVICE.format("stop", "slurmctld", "start"),
    "slurmdbd is slow": _SERVICE.format("pause", "slurmdbd", "continue"),
    "slurmdbd is down": _SERVICE.format("stop", "slurmdbd", "start"),
    "munged is stopped": _SERVICE.format("stop", "munged", "start"),
    "the network is cut": _NETWORK.format("cut"),
    "the network loses packets": _NETWORK.format("lossy"),
    "the network is slow": _NETWORK.format("slow"),
    "the module is killed": "for p in $(pgrep -f [A]nsiballZ_job_); do kill -9 $p; done",
    "its owner holds a job": "sandbox-as user1 scontrol hold JOB",
    "its owner releases a job": "sandbox-as user1 scontrol release JOB",
    "its owner sets a begin time": "sandbox-as user1 scontrol update JobId=JOB StartTime=now+2days",
    "its owner lifts any hold": "sandbox-as user1 scontrol update JobId=JOB StartTime=now",
    "its owner requeues a job": "sandbox-as user1 scontrol requeue JOB",
    "its owner cancels a job": "sandbox-as user1 scancel JOB",
}
#: What they do to a job of its own: it is not known any more what it would show without them.
INTERFERES = ("its owner",)
NEEDS_MUNGE = ("munged is stopped", "munged")


@dataclass
class Step:
    """One task to come. ``jobs`` are (kind, place) each; a job's number is not known yet."""

    module: str
    jobs: list[tuple[str, int]]
    options: dict[str, Any]
    environment: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    #: Shell text, the pause before it in seconds, and the job that it is about.
    disturbance: tuple[str, float, tuple[str, int]] | None = None
    repeats: bool = False
    #: Another controller's hold of the same jobs at the same time: its instance.
    second: int = 0
    #: Its journal is on a disk that is full.
    full_disk: bool = False


class Instances:
    """Numbers of holds that are used once only, so that the log tells whose hold it was."""

    def __init__(self) -> None:
        self._next = 100

    def __call__(self) -> int:
        self._next += 10
        return self._next


def episode(rng: Random, steps: int, new: Callable[[], int], munge: bool) -> list[Step]:
    """The tasks of one episode on fresh jobs, in their order."""
    made: list[Step] = []
    held: dict[tuple[str, int], int] = {}
    while len(made) < steps:
        module = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        if module == "job_release" and not held:
            module = "job_hold"
        step = _step(rng, module, held, new)
        _go_wrong(rng, step, munge)
        made.append(step)
        for job in step.jobs if module == "job_hold" else ():
            held[job] = max(step.options["instance"], step.second)
        on_its_way = step.faults == ["late"] and not step.options["settle"]
        if module == "job_hold" and on_its_way and len(made) < steps:
            # If this did not wait for the hold, it would find nothing to release.
            options = {**step.options, "settle": True}
            made.append(Step("job_release", step.jobs, options))
        quiet = not (step.faults or step.disturbance or step.second or step.full_disk)
        if quiet and len(made) < steps and module not in ("preflight", "job_release"):
            made.append(Step(module, step.jobs, step.options, repeats=True))
    return made


def _step(
    rng: Random, module: str, held: dict[tuple[str, int], int], new: Callable[[], int]
) -> Step:
    options: dict[str, Any] = {"ttl": rng.choice([5, 8, 12]), "settle": rng.random() < 0.6}
    if module == "preflight":
        return Step(module, [], {"probe": "always"})
    if module == "job_release":
        instance = rng.choice(sorted(set(held.values())))
        jobs = [job for job, number in held.items() if number == instance]
        if rng.random() < 0.2:
            jobs.append(rng.choice(list(held)))  # of another number: stale
        return Step(module, sorted(set(jobs)), {**options, "instance": instance})
    kinds: tuple[str, ...] = PENDING if module in ("job_hold", "job_open") else RUNNING
    if module == "job_cancel":
        kinds = (*PENDING, *RUNNING)
    pool = [(kind, place) for kind in kinds for place in range(JOBS[kind])]
    count = 1 if module == "job_cancel" else rng.randint(1, min(5, len(pool)))
    jobs = rng.sample(pool, count)
    if module == "job_hold":
        options["instance"] = new()
        if rng.random() < 0.1:
            jobs.append(("runs", 0))  # not pending: rejected
    if module == "job_requeue":
        options["restarts"] = rng.choice([0, 0, 0, 1])
    return Step(module, sorted(set(jobs)), options)


def _go_wrong(rng: Random, step: Step, munge: bool) -> None:
    chance = rng.random()
    if step.module == "preflight" or chance < 0.35:
        _disturb(rng, step, munge)
    elif chance < 0.8:
        names = [
            name
            for name in FAULTS
            if (munge or name not in NEEDS_MUNGE) and (name != "half" or len(step.jobs) > 2)
        ]
        name = rng.choices(names, [FAULTS[one][2] for one in names])[0]
        at = rng.choice(CALLS[step.module])
        if name == "half" and at != "*StartTime=*":
            name = "hang"
        least, most, _often = FAULTS[name]
        if name == "late" and step.module == "job_hold" and rng.random() < 0.6:
            # It is still on its way when the next task looks.
            step.options["settle"], least, most = False, 5, 9
        seconds = round(rng.uniform(least, most), 1)
        step.environment = fault(name, at, seconds)
        step.faults.append(name)
    elif chance < 0.86 and step.module in ("job_hold", "job_release"):
        step.full_disk = True
        step.faults.append("the journal's disk is full")
    own = [job for job in step.jobs if job[0] == "begins"]
    if step.module == "job_hold" and not own and rng.random() < 0.2:
        step.second = step.options["instance"] + rng.choice([-5, 5])
        step.faults.append("a second controller")


def _disturb(rng: Random, step: Step, munge: bool) -> None:
    names = [name for name in DISTURBANCES if munge or name not in NEEDS_MUNGE]
    if not step.jobs:
        names = [name for name in names if not name.startswith(INTERFERES)]
    name = rng.choice(names)
    job = rng.choice(step.jobs) if step.jobs else ("", 0)
    text = DISTURBANCES[name].replace("SECONDS", str(round(rng.uniform(1.5, 8), 1)))
    step.disturbance = (text, round(rng.uniform(0.3, 2.5), 1), job)
    step.faults.append(name)


def interfered(steps: Sequence[Step]) -> set[tuple[str, int]]:
    """The jobs whose owner, or another controller, does something to them."""
    found: set[tuple[str, int]] = set()
    for step in steps:
        if step.disturbance and any(one.startswith(INTERFERES) for one in step.faults):
            found.add(step.disturbance[2])
        if step.second:
            found.update(step.jobs)
    return found

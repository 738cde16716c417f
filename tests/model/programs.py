# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is explored: jobs, the tasks that are run on them, and how much may go wrong."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.hpcops.slurm.tests.model.protocol import Doing, Program
from ansible_collections.hpcops.slurm.tests.model.tasks import Setting
from ansible_collections.hpcops.slurm.tests.model.world import (
    OWN,
    REQUEUED,
    RUNNING,
    Job,
    instance,
)


class Case(NamedTuple):
    """One exploration: so many faults and events of others at most, and slurmctld may crash."""

    name: str
    program: Program
    setting: Setting
    faults: int
    others: int
    crash: bool = False


HELD = Job(begin=instance(1))
SKEWED = Setting(skew=2, offset=3)
UNBOUNDED = Setting(bounded=False)


def _two(job: Job, first: str, second: str) -> Program:
    return Program(job, (Doing(first), Doing(second)))


PAIRS: dict[str, Program] = {
    "hold, release; a begin time of its own": _two(Job(begin=OWN), "hold 1", "release 1"),
    "hold twice": _two(Job(), "hold 1", "hold 1"),
    "hold, a higher hold": _two(Job(), "hold 1", "hold 2"),
    "release, hold": _two(HELD, "release 1", "hold 2"),
    "hold, not settled, and release": Program(
        Job(), (Doing("hold 1", settle=False), Doing("release 1"))
    ),
    "release twice": _two(HELD, "release 1", "release 1"),
    "requeue twice": _two(Job(state=RUNNING), "requeue", "requeue"),
    "requeue, restore": _two(Job(state=RUNNING), "requeue", "restore"),
    "requeue twice, the bit is on": _two(Job(state=RUNNING, bit=True), "requeue", "requeue"),
    "hold, release of a job that is being requeued": _two(
        Job(state=REQUEUED, begin=OWN, restarts=1), "hold 1", "release 1"
    ),
    "open twice": _two(Job(gate=True), "open", "open"),
    "cancel a running job twice": _two(Job(state=RUNNING), "cancel", "cancel"),
    "cancel a pending job twice": _two(Job(), "cancel", "cancel"),
}

ONES: dict[str, Program] = {
    "hold": Program(Job(begin=OWN), (Doing("hold 1"),)),
    "hold, not settled": Program(Job(), (Doing("hold 1", settle=False),)),
    "release": Program(HELD, (Doing("release 1"),)),
    "requeue": Program(Job(state=RUNNING), (Doing("requeue"),)),
    "requeue of an execution that is over": Program(
        Job(state=RUNNING, restarts=1), (Doing("requeue"),)
    ),
    "requeue, not settled": Program(Job(state=RUNNING), (Doing("requeue", settle=False),)),
    "restore by force": Program(Job(bit=True), (Doing("restore, forced"),)),
    "open": Program(Job(gate=True), (Doing("open"),)),
    "cancel": Program(Job(state=RUNNING), (Doing("cancel"),)),
    "cancel an execution": Program(Job(state=RUNNING), (Doing("cancel of execution 0"),)),
    "restore of a job that is being requeued": Program(
        Job(state=REQUEUED, bit=True, restarts=1), (Doing("restore, forced"),)
    ),
}

SET_UPS: dict[str, tuple[Program, Setting]] = {
    "hold, release; clocks differ": (_two(Job(begin=OWN), "hold 1", "release 1"), SKEWED),
    "open; no bound is known": (Program(Job(gate=True), (Doing("open"),)), UNBOUNDED),
    "cancel; no bound is known": (Program(Job(), (Doing("cancel"),)), UNBOUNDED),
}

TOGETHER: dict[str, Program] = {
    "hold and release at once": PAIRS["hold, release; a begin time of its own"]._replace(
        together=True
    ),
    "two holds at once": PAIRS["hold, a higher hold"]._replace(together=True),
    "two requeues at once": PAIRS["requeue twice"]._replace(together=True),
}


CRASHES: dict[str, Program] = {
    f"{name}; slurmctld crashes": PAIRS[name]
    for name in (
        "hold, release; a begin time of its own",
        "hold, a higher hold",
        "release, hold",
        "requeue twice",
        "requeue, restore",
        "open twice",
        "cancel a running job twice",
    )
}

#: Those in which somebody else's doing matters most; enough for a short run.
SHORT = (
    "hold, release; a begin time of its own",
    "release, hold",
    "requeue, restore",
)
SHORT_FAULTS = (
    "hold twice",
    "hold, a higher hold",
    "hold, not settled, and release",
    "release twice",
    "requeue twice",
    "open twice",
    "cancel a running job twice",
)


def cases(bound: int) -> list[Case]:
    """Everything up to a bound: so many faults and events of others in all.

    Single tasks get one more; tasks at the same time get one less, and they and other settings get
    faults only. Bound 0 is bound 1 with less of others.
    """
    found = []
    plain = Setting()
    short = not bound
    bound = bound or 1
    for faults in range(bound + 1):
        others = bound - faults
        for name, one in PAIRS.items():
            if not short or name in (SHORT if others else SHORT + SHORT_FAULTS):
                found.append(Case(name, one, plain, faults, others))
    for faults in range(bound + 2):
        others = bound + 1 - faults
        if not (short and others > 1):
            found += [Case(name, one, plain, faults, others) for name, one in ONES.items()]
    found += [Case(name, one, how, bound, 0) for name, (one, how) in SET_UPS.items()]
    found += [Case(name, one, plain, bound - 1, 0) for name, one in TOGETHER.items()]
    faults = 0 if short else bound
    found += [Case(name, one, plain, faults, 0, crash=True) for name, one in CRASHES.items()]
    return found

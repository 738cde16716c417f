# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why an execution ended. Private to the collection."""

from __future__ import annotations

from enum import Enum
from typing import Callable, Dict, Optional, Union

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.exits import ExitCode
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.fields import Moment
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import (
    Base,
    Coarse,
    JobState,
)


class Cause(str, Enum):
    """One word for each way to end. ``failed`` is a script that ended badly, and nothing else."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    PREEMPTED = "preempted"
    NODE_LOST = "node_lost"
    BOOT_FAILURE = "boot_failure"
    DEADLINE = "deadline"
    NO_CAPACITY = "no_capacity"
    REVOKED = "revoked"
    REQUEUED = "requeued"
    UNKNOWN = "unknown"


#: Whether the node-loss window of an execution that ended then (epoch seconds) is still open.
Window = Callable[[Moment], Answer]

_OF_BASE: Dict[Base, Cause] = {
    Base.COMPLETED: Cause.COMPLETED,
    Base.FAILED: Cause.FAILED,
    Base.CANCELLED: Cause.CANCELLED,
    Base.TIMEOUT: Cause.TIMEOUT,
    Base.OUT_OF_MEMORY: Cause.OUT_OF_MEMORY,
    Base.PREEMPTED: Cause.PREEMPTED,
    Base.NODE_FAIL: Cause.NODE_LOST,
    Base.BOOT_FAIL: Cause.BOOT_FAILURE,
    Base.DEADLINE: Cause.DEADLINE,
}
#: What slurmctld gives as the reason of an allocation that could not be had at once, or no longer
#: (FAIL_BAD_CONSTRAINTS in src/slurmctld/job_mgr.c; seen with salloc --immediate, 24.11.5).
_NO_CAPACITY = "BadConstraints"
#: The exit code of such a job in sacct (squeue shows 0:1), and sacct's words for no nodes.
_IMMEDIATE = ExitCode(1, 0)
_NO_NODES = "None assigned"


def cause_of(state: JobState, reason: str) -> Optional[Cause]:
    """Why what squeue shows ended; None while it has not, UNKNOWN for a state that isn't known."""
    if "REVOKED" in state.flags:
        return Cause.REVOKED
    if state.base is None:
        return Cause.UNKNOWN
    if state.base is Base.FAILED and reason == _NO_CAPACITY:
        return Cause.NO_CAPACITY
    return _OF_BASE.get(state.base)


def cause_in_accounting(
    state: JobState, node_list: str, exit_code: Union[ExitCode, str, None]
) -> Optional[Cause]:
    """Why a row of sacct ended, from its state, its nodes and its exit code.

    A failed row that never had a node did not run: no script failed. sacct keeps no reason that
    tells which way it was; only that of an allocation that could not be had at once has an exit
    code of its own. A requeued row is an execution that is over while its job goes on.
    """
    if state.flags == ("REQUEUED",):
        return Cause.REQUEUED
    if state.base is Base.FAILED and node_list == _NO_NODES:
        return Cause.NO_CAPACITY if exit_code == _IMMEDIATE else Cause.UNKNOWN
    return cause_of(state, "")


def coarse_after_loss(window: Window, end_time: Moment) -> Coarse:
    """The coarse state of an execution whose node was lost.

    Slurm ends it when the node is silent, not when its processes are gone. So it is running until
    the node-loss window has passed, and unknown where that can't be told.
    """
    return {Answer.YES: Coarse.RUNNING, Answer.NO: Coarse.ENDED, Answer.UNKNOWN: Coarse.UNKNOWN}[
        window(end_time)
    ]

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hold's encoding, and the gate. Private to the collection.

A hold is a begin time far in the future that carries a number, the hold's instance. It is read
from EligibleTime: StartTime shows the scheduler's old estimate for up to a backfill interval after
a hold. The gate is Slurm's own hold (priority 0); the two don't touch each other.
"""

from __future__ import annotations

from enum import Enum
from typing import Dict, Union

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import UNKNOWN, Limit
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.fields import Moment
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import Base, JobState

#: 2100-01-01T00:00:00Z: beyond any begin time that a job has of its own.
HOLD_BASE = 4102444800
MIN_INSTANCE = 1
MAX_INSTANCE = 999999999

#: An instance, None (no hold of ours), or "unknown".
Instance = Union[int, None, str]


class HoldKind(str, Enum):
    """Who may open a gate: the owner, only an operator, or not known."""

    USER = "user"
    ADMIN = "admin"
    UNKNOWN = "unknown"


_KINDS: Dict[str, HoldKind] = {"JobHeldUser": HoldKind.USER, "JobHeldAdmin": HoldKind.ADMIN}


def hold_time(instance: int) -> int:
    """The begin time that carries ``instance``, in epoch seconds; ValueError when out of range."""
    if not MIN_INSTANCE <= instance <= MAX_INSTANCE:
        raise ValueError(
            "an instance lies between %d and %d, not %d" % (MIN_INSTANCE, MAX_INSTANCE, instance)
        )
    return HOLD_BASE + instance


def encode_hold(instance: int) -> str:
    """The value for ``scontrol update StartTime=``; ValueError when the instance is out of range.

    ``uts`` and the epoch seconds is read the same in every time zone and on every release, and
    times beyond 2106 read back exactly (src/common/parse_time.c; seen on 22.05.8 to 26.05.5).
    """
    return "uts%d" % hold_time(instance)


def decode_hold(eligible_time: Moment) -> Instance:
    """The instance that an EligibleTime carries.

    None for a time that is none of ours and for no time at all (a gated job that never had one);
    "unknown" for a time that could not be read.
    """
    if not isinstance(eligible_time, int):
        return UNKNOWN if eligible_time == UNKNOWN else None
    instance = eligible_time - HOLD_BASE
    return instance if MIN_INSTANCE <= instance <= MAX_INSTANCE else None


def gate_closed(state: JobState, priority: Limit) -> Answer:
    """Whether the job waits under Slurm's own hold: state PENDING (or SPECIAL_EXIT) and priority 0.

    A running or suspended job with priority 0 is not held: the hold was placed while it ran.
    """
    if isinstance(priority, int) and priority != 0:
        return Answer.NO
    if state.base is not None and state.base is not Base.PENDING:
        return Answer.NO
    if state.base is None or not isinstance(priority, int):
        return Answer.UNKNOWN
    return Answer.YES


def hold_kind(gate: Answer, reason: str) -> Union[HoldKind, None]:
    """Who may open the gate, from the job's reason; None for a job whose gate is open.

    Other reasons stand over a held job too (``launch failed requeued held``, ``job requeued in held
    state``): they don't tell.
    """
    if gate is Answer.NO:
        return None
    return _KINDS.get(reason, HoldKind.UNKNOWN) if gate is Answer.YES else HoldKind.UNKNOWN

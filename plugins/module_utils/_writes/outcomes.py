# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known about one job after a write. Pure. Private to the collection."""

from __future__ import annotations

from enum import Enum


class Outcome(str, Enum):
    """The design's words for what a write came to."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    REJECTED = "rejected"
    NOT_FOUND = "not_found"
    STALE = "stale"
    EXPIRED = "expired"
    NOT_RUN = "not_run"
    NOT_APPLIED = "not_applied"
    UNSUPPORTED = "unsupported"
    UNKNOWN = "unknown"


#: Outcomes that are what was asked for.
GOOD = frozenset((Outcome.APPLIED, Outcome.UNCHANGED))

#: Outcomes of a job that left a selection in the meantime: reported, and no failure there.
LEFT = frozenset((Outcome.REJECTED, Outcome.NOT_FOUND))


class Call(str, Enum):
    """The kinds of scontrol calls that write."""

    HOLD = "hold"
    RELEASE = "release"
    SET_BIT = "set_bit"
    REQUEUE = "requeue"
    CLEAR_BIT = "clear_bit"
    OPEN = "open"
    CANCEL = "cancel"


class Status(int, Enum):
    """Statuses of a call that mean something by themselves."""

    SUCCESS = 0
    ERROR = 1
    #: The script's own check found the deadline passed; the call was not started (EX_TEMPFAIL).
    EXPIRED = 75
    #: The script's own check found nothing that the call may be sent for; it was not started.
    NOTHING_TO_SEND = 76
    NOT_EXECUTABLE = 126
    NOT_THERE = 127
    #: scancel ends with the low byte of the last error: ESLURM_NOT_WHOLE_HET_JOB, ACCESS_DENIED.
    NOT_WHOLE = 60
    DENIED = 210

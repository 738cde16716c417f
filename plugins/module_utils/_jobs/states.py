# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""States of jobs: Slurm's words, and what they say. Private to the collection."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Dict, FrozenSet, List, Optional, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer, printable


class Base(str, Enum):
    """The base states (enum job_states in slurm/slurm.h, the same from 22.05 to 26.05)."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    NODE_FAIL = "NODE_FAIL"
    PREEMPTED = "PREEMPTED"
    BOOT_FAIL = "BOOT_FAIL"
    DEADLINE = "DEADLINE"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"


class Coarse(str, Enum):
    """What a supervisor needs to know first."""

    PENDING = "pending"
    RUNNING = "running"
    SUSPENDED = "suspended"
    ENDED = "ended"
    UNKNOWN = "unknown"


_NOT_ENDED: Dict[Base, Coarse] = {
    Base.PENDING: Coarse.PENDING,
    Base.RUNNING: Coarse.RUNNING,
    Base.SUSPENDED: Coarse.SUSPENDED,
}

#: Flags beside or, in squeue and sacct, instead of the base state (JOB_STATE_FLAGS in
#: slurm/slurm.h; job_state_string() prints one flag and hides the base behind it).
FLAGS: FrozenSet[str] = frozenset(
    """COMPLETING CONFIGURING EXPEDITING GETENV_FAILED LAUNCH_FAILED POWER_UP_NODE RECONFIG_FAIL
    REQUEUED REQUEUE_FED REQUEUE_HOLD RESIZING RESV_DEL_HOLD REVOKED SIGNALING SPECIAL_EXIT
    STAGE_OUT STOPPED""".split()
)

#: The base that slurmctld has under a flag that stands alone: the state is set anew, without flags,
#: when a job starts or ends (job_state_set() in src/slurmctld), so these flags name one base each.
#: COMPLETING and STAGE_OUT stand on ended jobs and on jobs that will run again, REVOKED on both
#: as well: they are left out.
_BASE_UNDER: Dict[str, Base] = {
    "CONFIGURING": Base.RUNNING,
    "RESIZING": Base.RUNNING,
    "STOPPED": Base.RUNNING,
    "EXPEDITING": Base.PENDING,
    "REQUEUED": Base.PENDING,
    "REQUEUE_FED": Base.PENDING,
    "REQUEUE_HOLD": Base.PENDING,
    "RESV_DEL_HOLD": Base.PENDING,
    "SPECIAL_EXIT": Base.PENDING,
}
#: A signal goes to running and to suspended jobs.
_LIVE_UNDER = frozenset(("SIGNALING",))
#: With these, an ended job still holds nodes, or comes back: "ended" is not the last word.
_NOT_OVER = frozenset(("COMPLETING", "STAGE_OUT"))

_CANCELLED_BY = re.compile(r"CANCELLED by ([0-9]{1,10})")


@dataclass(frozen=True)
class JobState:
    """One state as read.

    ``raw`` is Slurm's text, ``base`` the base state or None when the text does not name one for
    certain, ``flags`` the words beside it (also words never heard of), ``by_uid`` who cancelled it,
    ``warnings`` what could not be understood.
    """

    raw: str
    base: Optional[Base] = None
    flags: Tuple[str, ...] = ()
    by_uid: Optional[int] = None
    warnings: Tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The base state's word, or "unknown"."""
        return "unknown" if self.base is None else self.base.value

    @property
    def coarse(self) -> Coarse:
        """The coarse state."""
        if self.base is None:
            return Coarse.UNKNOWN
        return _NOT_ENDED.get(self.base, Coarse.ENDED)

    @property
    def live(self) -> Answer:
        """Whether the job is not yet in a final state."""
        if self.base in _NOT_ENDED or (self.base is None and _LIVE_UNDER.intersection(self.flags)):
            return Answer.YES
        if self.base is None or _NOT_OVER.intersection(self.flags):
            return Answer.UNKNOWN
        return Answer.NO

    @property
    def succeeded(self) -> Answer:
        """Whether the job ended well."""
        if self.base is Base.COMPLETED:
            return Answer.YES
        if self.base is None or self.base in _NOT_ENDED:
            return Answer.UNKNOWN
        return Answer.NO

    def as_result(self) -> Dict[str, Any]:
        """JSON-safe values for a module's result."""
        return {
            "state": self.word,
            "state_flags": [printable(flag) for flag in self.flags],
            "raw_state": printable(self.raw),
            "coarse_state": self.coarse.value,
            "live": self.live.value,
            "succeeded": self.succeeded.value,
            "cancelled_by_uid": self.by_uid,
        }


@lru_cache(maxsize=1024)
def parse_state(text: str) -> JobState:
    """Read the state that squeue shows, or a list of words as job_state_string_complete() joins it.

    Never raises: what is not understood leaves the base None, with a warning.
    """
    return _read(text, _BASE_UNDER)


@lru_cache(maxsize=1024)
def parse_accounting_state(text: str) -> JobState:
    """Read the state of one sacct row, with ``CANCELLED by UID`` (src/sacct/print.c). Never raises.

    A flag that stands alone tells nothing about the job here: ``REQUEUED`` is the row of an
    execution that is over while the job goes on, in a row that may not be written yet.
    """
    cancelled = _CANCELLED_BY.fullmatch(text)
    if cancelled:
        return JobState(text, Base.CANCELLED, by_uid=int(cancelled.group(1)))
    return _read(text, {})


def _read(text: str, base_under: Dict[str, Base]) -> JobState:
    bases: List[Base] = []
    flags: List[str] = []
    warnings: List[str] = []
    for word in text.split(","):
        if word in Base.__members__:
            bases.append(Base[word])
            continue
        flags.append(word)
        if word not in FLAGS:
            warnings.append("unknown state %r" % (printable(word),) if word else "no state")
    if not bases and not warnings:
        bases = [base_under[flag] for flag in flags if flag in base_under]
    if len(set(bases)) > 1:
        warnings.append("contradictory states %r" % (printable(text),))
    base = bases[0] if len(set(bases)) == 1 else None
    return JobState(text, base, tuple(word for word in flags if word), None, tuple(warnings))

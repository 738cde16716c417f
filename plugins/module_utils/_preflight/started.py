# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a probe is asked and what comes of it, apart from its steps.

A run that finds cached answers needs these alone: the target compiles what it imports every time.
Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.capabilities import Support


@dataclass(frozen=True)
class Place:
    """Who probes, from where, and where the job is submitted to (None: the user's default)."""

    user: str
    host: str
    partition: Optional[str] = None
    account: Optional[str] = None
    qos: Optional[str] = None


@dataclass(frozen=True)
class Started:
    """A probe whose job is over: what is known, and what accounting has still to say.

    ``ran_at`` and ``cancelled_at`` are epoch seconds of the host, ``since`` is slurmctld's clock
    before the submission. ``accounting`` is None until it is known. ``removed`` are the jobs of
    earlier runs that were removed, ``trouble`` says what could not be.
    """

    job_id: str
    comment: str
    ran_at: int
    cancelled_at: float
    hold: Support
    accounting: Optional[Support] = None
    removed: Tuple[str, ...] = ()
    trouble: str = ""
    since: Optional[int] = None


@dataclass(frozen=True)
class NotStarted:
    """Why there is no probe; the rest as in :class:`Started`.

    ``refused``: slurmctld wants no such job. ``late``: there may have been a job, or may yet be.
    """

    reason: str
    refused: bool = False
    late: bool = False
    removed: Tuple[str, ...] = ()
    trouble: str = ""


class Interrupted(BaseException):
    """A signal asked the process to end, and what it has to put right was put right.

    ``trouble`` says what could not be removed, "" when nothing is left.
    """

    def __init__(self, number: int, trouble: str = "") -> None:
        super().__init__(number, trouble)
        self.number, self.trouble = number, trouble

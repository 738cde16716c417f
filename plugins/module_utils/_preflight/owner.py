# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose a probe's job is: the comment that names the process, and whether that still lives.

A lock can't tell: it lies beside the cache, whose path is an option, and the file system may not
let this user write one. Private to the collection.
"""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass
from typing import Optional

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer

COMMENT_START = "hpcops.slurm preflight probe"

_COMMENT = re.compile(
    re.escape(COMMENT_START) + r" host=(\S+) space=(\d+) process=(\d+)\.(\d+) nonce=[0-9a-f]+\Z"
)


@dataclass(frozen=True)
class Owner:
    """A process: its host, the number space that its id is from, its id, and when it started.

    ``space`` and ``started`` (clock ticks after the boot) are 0 where there is no ``/proc``.
    """

    host: str
    space: int
    process: int
    started: int

    @classmethod
    def this(cls, host: str) -> Owner:
        """This process."""
        process = os.getpid()
        return cls(re.sub(r"\s", "_", host), _space(), process, _started(process) or 0)

    @classmethod
    def of(cls, comment: Optional[str]) -> Optional[Owner]:
        """The owner that a job's comment names, None when it is no probe's comment."""
        match = _COMMENT.match(comment or "")
        if not match:
            return None
        return cls(match.group(1), *(int(number[:19]) for number in match.group(2, 3, 4)))

    def comment(self) -> str:
        """A comment that names this process and, by a random number, one probe."""
        return "%s host=%s space=%d process=%d.%d nonce=%s" % (
            COMMENT_START,
            self.host,
            self.space,
            self.process,
            self.started,
            secrets.token_hex(8),
        )

    def lives(self, host: str) -> Answer:
        """Whether the process still runs; unknown for one of another host or number space."""
        here = Owner.this(host)
        if (self.host, self.space) != (here.host, here.space) or not here.started:
            return Answer.UNKNOWN
        return Answer.YES if _started(self.process) == self.started else Answer.NO


def _space() -> int:
    """The number of this process's pid namespace (namespaces(7))."""
    try:
        return int(re.sub(r"\D", "", os.readlink("/proc/self/ns/pid")) or 0)
    except OSError:
        return 0


def _started(process: int) -> Optional[int]:
    """When a process started (proc(5), field 22), None when there is none, or only its remains."""
    try:
        with open("/proc/%d/stat" % process, "rb") as stream:
            fields = stream.read().rpartition(b")")[2].split()
        return None if fields[0] in (b"Z", b"X") else int(fields[19])
    except (OSError, ValueError, IndexError):
        return None

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What really happened to jobs, by slurmctld's own log. Pure; nothing of the collection is asked.

The lines are the same from 22.05 to 26.05, at ``SlurmctldDebug=debug2``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ansible_collections.hpcops.slurm.tests.integration.write_plays import held_at

#: Seconds of changes that slurmctld may have taken without having saved them when it is killed.
UNSAVED = 8.0

_LINE = re.compile(r"\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+)\] (.*)")
_JOB, _UID = r"JobId=(?P<job>\d+)", r"by uid (?P<uid>\d+)"
_SET = r"sched: _update_job: setting"
_KINDS = {
    "begin": re.compile(rf"{_SET} begin to (?P<value>\S+) for {_JOB}"),
    "bit": re.compile(rf"{_SET} requeue to (?P<value>[01]) for {_JOB}"),
    "open": re.compile(rf"sched: _release_job_rec: release hold on {_JOB} {_UID}"),
    "gate": re.compile(rf"sched: _hold_job_rec: hold on {_JOB} {_UID}"),
    "requeue": re.compile(rf"debug:  _job_requeue_op: {_JOB} state"),
    "cancel": re.compile(rf"job_signal: \d+ of (pending|running|suspended) {_JOB} successful"),
}
_UPDATED = re.compile(r"_slurm_rpc_update_job: complete JobId=(\d+) uid=(\d+)")
_KILL = re.compile(r"_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=(\d+) uid (\d+)")
_REQUEUE = re.compile(r"Processing RPC: REQUEST_JOB_REQUEUE from UID=(\d+)")
_STARTED = re.compile(r"slurmctld version \S+ started on cluster")
_STOPPED = re.compile(r"Terminate signal \(SIGINT or SIGTERM\) received")


@dataclass(frozen=True)
class Event:
    """One change of a job that slurmctld made. ``when`` is in epoch seconds of the host's clock.

    ``kind``: begin (``value``: the begin time, epoch seconds), bit (0 or 1), open, gate, requeue,
    cancel. ``uid`` is the user that asked for it, None where slurmctld died before it said so.
    ``lost``: slurmctld was killed so soon afterwards that the change may not have been saved.
    """

    when: float
    kind: str
    job: str
    value: str = ""
    uid: int | None = None
    lost: bool = False

    @property
    def instance(self) -> int | None:
        """The instance of the hold that a begin time carries, None for none."""
        return held_at(self.value) if self.kind == "begin" else None


def _lines(log: str) -> Iterator[tuple[float, str]]:
    for text in log.splitlines():
        found = _LINE.match(text)
        if found:
            yield _epoch(found.group(1)), found.group(2)


def _epoch(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def events(log: str, clock_offset: float = 0.0) -> list[Event]:
    """The changes in a slurmctld.log, in its order.

    ``clock_offset``: seconds that slurmctld's clock is ahead of the host's.
    """
    found: list[Event] = []
    killed_by: dict[str, int] = {}
    requeued_by: int | None = None
    clean, last = True, 0.0
    for when, text in _lines(log):
        if _STARTED.search(text) and not clean:
            since = last - clock_offset - UNSAVED
            found = [replace(one, lost=True) if one.when > since else one for one in found]
        clean = bool(_STOPPED.search(text)) or (clean and not _STARTED.search(text))
        last = when
        if match := _REQUEUE.search(text):
            requeued_by = int(match.group(1))
        elif match := _KILL.search(text):
            killed_by[match.group(1)] = int(match.group(2))
        elif match := _UPDATED.search(text):
            _attribute(found, match.group(1), int(match.group(2)))
        found += _changes(when - clock_offset, text, requeued_by, killed_by)
    return found


def _changes(
    when: float, text: str, requeued_by: int | None, killed_by: Mapping[str, int]
) -> Iterator[Event]:
    for kind, pattern in _KINDS.items():
        match = pattern.search(text)
        if not match:
            continue
        parts = match.groupdict()
        job, value = parts["job"], parts.get("value") or ""
        uid = int(parts["uid"]) if "uid" in parts else None
        if kind == "begin" and value[:1].isdigit():
            value = str(int(_epoch(value)))
        elif kind == "requeue":
            uid = requeued_by
        elif kind == "cancel":
            uid = killed_by.get(job)
        yield Event(when, kind, job, value, uid)


def _attribute(found: list[Event], job: str, uid: int) -> None:
    """An update says at its end who asked for it."""
    for place in range(len(found) - 1, -1, -1):
        one = found[place]
        if one.job == job:
            if one.kind in ("begin", "bit") and one.uid is None:
                found[place] = replace(one, uid=uid)
            return


@dataclass(frozen=True)
class Payload:
    """What a job's own script wrote: a line at each start, and one when it has come to its end."""

    lines: tuple[str, ...]

    @property
    def restarted_after_its_end(self) -> bool:
        """Whether it ran again after it had come to its end."""
        return any(
            line == "done" and later.startswith("start")
            for place, line in enumerate(self.lines)
            for later in self.lines[place + 1 :]
        )

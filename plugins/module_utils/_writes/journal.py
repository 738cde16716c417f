# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a write is about to do, and what became of it, on the disk of the host.

One file a user, one JSON line an event: a start before anything is sent, an end when outcomes are
known. A start without an end is a killed run's. The file is locked while it is read and appended
to, and forced to the disk before a call is started. Private to the collection.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    FailureClass,
    SlurmError,
)

FORMAT = 1
NAME = "journal.jsonl"
ROOT_DIRECTORY = "/var/lib/hpcops.slurm"
#: A larger file is rewritten with what is still needed.
COMPACT_AT = 4 << 20


@dataclass(frozen=True)
class Entry:
    """One job of one write.

    ``submitted`` (epoch seconds, None if unknown) tells one job from a later one with its id;
    ``begin`` is the job's own begin time before a hold, 0 for none; ``until`` the epoch second on
    the host's clock after which nothing of the write can land any more; ``outcome`` is None while
    it is not known.
    """

    nonce: str
    action: str
    job_id: str
    cluster: str
    submitted: Optional[int]
    instance: int
    begin: int
    restarts: Optional[int]
    deadline: int
    until: int
    outcome: Optional[str] = None

    def with_outcome(self, outcome: str) -> Entry:
        """The same entry with an outcome."""
        return replace(self, outcome=outcome)

    def in_flight(self, now: float) -> bool:
        """Whether it may still take effect."""
        return self.outcome in (None, "unknown") and now < self.until


def directory_for(user_id: int, home: str, state_home: Optional[str]) -> str:
    """Where the journal lies: one directory for root, the user's state directory otherwise."""
    if user_id == 0:
        return ROOT_DIRECTORY
    base = state_home if state_home and os.path.isabs(state_home) else ""
    return os.path.join(base or os.path.join(home, ".local", "state"), "hpcops.slurm")


@dataclass
class Journal:
    """The file of one user. Errors of the disk are :class:`SlurmError`: nothing is sent then."""

    directory: str
    warnings: List[str] = field(default_factory=list)
    _handle: Optional[int] = None

    @property
    def path(self) -> str:
        """The file."""
        return os.path.join(self.directory, NAME)

    def __enter__(self) -> Journal:
        """Open and lock, and read what is there."""
        try:
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
            self._handle = _locked(self.path)
            self._check(os.fstat(self._handle))
        except OSError as error:
            self._close()
            raise self._error("be opened", error) from error
        except SlurmError:
            self._close()
            raise
        return self

    def __exit__(self, *ignored: Any) -> None:
        self._close()

    def _close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _check(self, status: os.stat_result) -> None:
        others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or others:
            raise SlurmError(
                "The journal %s is not a file that only this user may write" % self.path,
                FailureClass.UNCLASSIFIED,
                remedy="Remove it, or set state_dir to a directory of this user's own",
            )

    def _error(self, what: str, error: OSError) -> SlurmError:
        return SlurmError(
            "The journal %s could not %s: %s; nothing was sent" % (self.path, what, error.strerror),
            FailureClass.UNCLASSIFIED,
            remedy="Make room, or set state_dir to a directory that this user may write",
        )

    def entries(self) -> List[Entry]:
        """Every entry, oldest first, with its latest outcome. A torn last line is passed over."""
        started: Dict[Tuple[str, str], Entry] = {}
        for event in self._events():
            nonce = event["nonce"]
            if event["event"] == "start":
                for entry in _entries_of(event):
                    started[nonce, entry.job_id] = entry
            else:
                for job_id, outcome in event["outcomes"].items():
                    before = started.get((nonce, job_id))
                    if before is not None:
                        started[nonce, job_id] = before.with_outcome(outcome)
        return list(started.values())

    def _events(self) -> Iterator[Mapping[str, Any]]:
        assert self._handle is not None
        size = os.fstat(self._handle).st_size
        text = os.pread(self._handle, size, 0).decode("utf-8", "replace")
        for line in text.split("\n"):
            if not line:
                continue
            try:
                event = json.loads(line)
                if event["format"] != FORMAT:
                    raise ValueError("format %r" % (event["format"],))
                _validated(event)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                self.warnings.append(
                    "The journal %s has a line that is not readable, which is passed over"
                    % self.path
                )
                continue
            yield event

    def start(self, entries: Sequence[Entry]) -> None:
        """Record what is about to be sent: one nonce, forced to the disk."""
        first = entries[0]
        jobs = {one.job_id: [one.submitted, one.begin, one.restarts] for one in entries}
        self._append(_start_event(first, jobs))

    def end(self, nonce: str, outcomes: Mapping[str, str]) -> None:
        """Record what became of jobs of a start."""
        self._append(_end_event(nonce, outcomes))

    def _append(self, event: Dict[str, Any]) -> None:
        assert self._handle is not None
        before = os.fstat(self._handle).st_size
        data = (json.dumps(event, sort_keys=True) + "\n").encode("utf-8")
        if before and os.pread(self._handle, 1, before - 1) != b"\n":
            data = b"\n" + data  # a torn line ends here
        try:
            if os.write(self._handle, data) != len(data):
                raise OSError(28, "no space left on the device")
            os.fsync(self._handle)
        except OSError as error:
            try:
                os.ftruncate(self._handle, before)
            except OSError:
                pass
            raise self._error("be written", error) from error

    def compact(self, now: float) -> None:
        """Rewrite a large file with the entries that can still matter."""
        assert self._handle is not None
        if os.fstat(self._handle).st_size < COMPACT_AT:
            return
        kept = [one for one in self.entries() if needed(one, now)]
        events = [event for one in kept for event in _events_of(one)]
        data = "".join(json.dumps(event, sort_keys=True) + "\n" for event in events).encode()
        fresh = self.path + ".new"
        with open(fresh, "wb") as stream:
            os.fchmod(stream.fileno(), 0o600)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.rename(fresh, self.path)


def _locked(path: str) -> int:
    """Open and lock the file; again, when it was rewritten while the lock was waited for."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    while True:
        handle = os.open(path, flags, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if os.stat(path).st_ino == os.fstat(handle).st_ino:
                return handle
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def needed(entry: Entry, now: float) -> bool:
    """Whether an entry can still matter: in flight, a bit left set, or a begin time ahead."""
    bit = entry.action == "requeue" and entry.outcome in (None, "unknown", BIT_LEFT)
    return entry.in_flight(now) or bit or entry.begin > now


#: The outcome of a requeue that is known to have left the bit set.
BIT_LEFT = "bit_left"


def _start_event(entry: Entry, jobs: Mapping[str, Any]) -> Dict[str, Any]:
    event = {name: getattr(entry, name) for name in _SHARED}
    event.update(format=FORMAT, event="start", jobs=dict(jobs))
    return event


def _end_event(nonce: str, outcomes: Mapping[str, str]) -> Dict[str, Any]:
    return {"format": FORMAT, "event": "end", "nonce": nonce, "outcomes": dict(outcomes)}


_SHARED = ("nonce", "action", "cluster", "instance", "deadline", "until")


def _events_of(entry: Entry) -> List[Dict[str, Any]]:
    jobs = {entry.job_id: [entry.submitted, entry.begin, entry.restarts]}
    events = [_start_event(entry, jobs)]
    if entry.outcome is not None:
        events.append(_end_event(entry.nonce, {entry.job_id: entry.outcome}))
    return events


def _entries_of(event: Mapping[str, Any]) -> List[Entry]:
    shared = {name: event[name] for name in _SHARED}
    return [
        Entry(job_id=job_id, submitted=known[0], begin=known[1], restarts=known[2], **shared)
        for job_id, known in event["jobs"].items()
    ]


def _validated(event: Mapping[str, Any]) -> None:
    """Raise ValueError, KeyError or TypeError for an event that is not a whole one."""
    if event["event"] == "end":
        texts = [event["nonce"], *event["outcomes"], *event["outcomes"].values()]
        numbers: List[Any] = []
    elif event["event"] == "start":
        texts = [event[name] for name in ("nonce", "action", "cluster")]
        numbers = [event[name] for name in ("instance", "deadline", "until")]
        for job_id, (submitted, begin, restarts) in event["jobs"].items():
            texts.append(job_id)
            numbers.append(begin)
            numbers.extend(one for one in (submitted, restarts) if one is not None)
    else:
        raise ValueError("event %r" % (event["event"],))
    if not all(isinstance(one, str) for one in texts):
        raise TypeError("a text is none")
    if not all(type(one) is int for one in numbers):
        raise TypeError("a number is none")

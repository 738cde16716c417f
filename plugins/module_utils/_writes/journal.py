# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a write is about to do, and what became of it, on the disk of the host.

One file a user, one JSON line an event: a start before anything is sent, an end when outcomes are
known. A start without an end is a killed run's. The file is locked while it is read and appended
to, and forced to the disk before a call is started. Private to the collection.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import stat
import tempfile
import time
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
#: Seconds after the landing bound for which every entry is kept.
RECENT = 3600
#: Seconds for which a submission is known again: by the journal after it was made, by accounting
#: after its job has ended. slurmctld shows a living job however old it is.
REMEMBERED = 30 * 86400
#: Seconds to wait for another run that has the file locked: it only reads and appends meanwhile.
PATIENCE = 60


@dataclass(frozen=True)
class Entry:
    """One job of one write.

    ``job_id`` is the job's one name (``JobRecord.id_text``), however it was called, or the comment
    that carries a submission, which has no job yet. ``submitted`` (epoch seconds, None if unknown)
    tells one job from a later one with its id;
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

    @property
    def bit_was_cleared(self) -> bool:
        """Whether slurmctld has said that the requeue bit, which had been set, is off."""
        return self.outcome in (APPLIED, BIT_CLEARED)

    @property
    def with_bit_off(self) -> str:
        """Its outcome once the bit was seen to be off for good."""
        return "not_applied" if self.outcome == BIT_CLEARED else BIT_OFF

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
    """The file of one user. Errors of the disk are :class:`SlurmError`.

    With ``read_only`` nothing is made or written, and a file that is not there is an empty one.
    """

    directory: str
    read_only: bool = False
    warnings: List[str] = field(default_factory=list)
    _handle: Optional[int] = None

    @property
    def path(self) -> str:
        """The file."""
        return os.path.join(self.directory, NAME)

    def __enter__(self) -> Journal:
        """Open and lock, and read what is there."""
        try:
            if not self.read_only:
                os.makedirs(self.directory, mode=0o700, exist_ok=True)
            self._check_directory()
            self._handle = self._locked()
        except FileNotFoundError as error:
            if not self.read_only:
                raise self._error("be opened", error) from error
        except OSError as error:
            raise self._error("be opened", error) from error
        return self

    def __exit__(self, *ignored: Any) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _locked(self) -> int:
        """Open and lock the file; again, when it was rewritten while the lock was waited for."""
        flags = os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        flags |= os.O_RDONLY if self.read_only else os.O_RDWR | os.O_CREAT
        end = time.monotonic() + PATIENCE
        while True:
            handle = os.open(self.path, flags, 0o600)
            try:
                self._check(os.fstat(handle))
                _lock(handle, end)
                if os.stat(self.path).st_ino == os.fstat(handle).st_ino:
                    if not (self.read_only or os.fstat(handle).st_size):
                        _sync_directory(self.directory)
                    return handle
            except FileNotFoundError:
                pass
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)

    def _check(self, status: os.stat_result) -> None:
        others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        # A second name may be that of any file of this user's.
        if not ours or others or status.st_nlink > 1:
            raise SlurmError(
                "The journal %s is not a file that only this user may write" % self.path,
                FailureClass.UNCLASSIFIED,
                remedy="Remove it, or set state_dir to a directory of this user's own",
            )

    def _check_directory(self) -> None:
        """Others could put another file in the journal's place."""
        status = os.stat(self.directory)
        others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        sticky = status.st_mode & stat.S_ISVTX
        # Whoever owns a link says where it leads to.
        owners = {status.st_uid, os.lstat(self.directory).st_uid}
        if not owners <= {0, os.geteuid()} or (others and not sticky):
            raise SlurmError(
                "The journal's directory %s is one that others may write" % self.directory,
                FailureClass.UNCLASSIFIED,
                remedy="Set state_dir to a directory of this user's own",
            )

    def _error(self, what: str, error: OSError) -> SlurmError:
        reason = error.strerror or str(error)
        return SlurmError(
            "The journal %s could not %s: %s" % (self.path, what, reason),
            FailureClass.UNCLASSIFIED,
            remedy="Make room, or set state_dir to a directory that this user may write",
        )

    def _warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

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
        if self._handle is None:
            return
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
                self._warn(
                    "The journal %s has a line that is not readable, which is passed over"
                    % self.path
                )
                continue
            yield event

    def start(self, groups: Sequence[Sequence[Entry]]) -> None:
        """Record what is about to be sent, forced to the disk: entries with one nonce a group."""
        events = []
        for entries in groups:
            jobs = {one.job_id: [one.submitted, one.begin, one.restarts] for one in entries}
            events.append(_start_event(entries[0], jobs))
        self._append(events)

    def end(self, outcomes: Mapping[str, Mapping[str, str]]) -> None:
        """Record what became of jobs, by nonce and job."""
        self._append([_end_event(nonce, jobs) for nonce, jobs in outcomes.items()])

    def _open(self) -> int:
        """The handle of the file, which is only there while the journal is entered."""
        if self._handle is None:
            raise RuntimeError("the journal is not entered")
        return self._handle

    def _append(self, events: Sequence[Mapping[str, Any]]) -> None:
        handle = self._open()
        before = os.fstat(handle).st_size
        data = _lines(events)
        if before and os.pread(handle, 1, before - 1) != b"\n":
            data = b"\n" + data  # a torn line ends here
        try:
            if os.write(handle, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(handle)
        except OSError as error:
            try:
                os.ftruncate(handle, before)
            except OSError:
                pass
            raise self._error("be written", error) from error

    def compact(self, now: float) -> None:
        """Rewrite a large file with the entries that can still matter, if that makes it small."""
        handle = self._open()
        size = os.fstat(handle).st_size
        if size < COMPACT_AT:
            return
        kept = needed(self.entries(), now)
        data = _lines([event for one in kept for event in _events_of(one)])
        if len(data) > size // 2:
            return
        try:
            fresh = self._replaced(data)
        except OSError as error:
            self._warn(self._error("be rewritten", error).message)
            return
        os.close(handle)
        self._handle = fresh

    def _replaced(self, data: bytes) -> int:
        """The handle of a new file with this text, locked before anybody else can see it."""
        fresh, temporary = tempfile.mkstemp(prefix=".journal-", dir=self.directory)
        try:
            fcntl.fcntl(fresh, fcntl.F_SETFL, fcntl.fcntl(fresh, fcntl.F_GETFL) | os.O_APPEND)
            fcntl.flock(fresh, fcntl.LOCK_EX)
            with os.fdopen(fresh, "wb", closefd=False) as stream:
                stream.write(data)
            os.fsync(fresh)
            os.rename(temporary, self.path)
        except BaseException:
            os.close(fresh)
            os.unlink(temporary)
            raise
        with contextlib.suppress(OSError):
            _sync_directory(self.directory)
        return fresh


def _lock(handle: int, end: float) -> None:
    """Take the lock, at the latest when the monotonic clock shows ``end``; OSError otherwise."""
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > end:
                raise TimeoutError(
                    errno.ETIMEDOUT, "another run has held it for %d s" % PATIENCE
                ) from None
            time.sleep(0.02)


def _sync_directory(directory: str) -> None:
    """Force a new name to the disk."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


#: Outcomes of a hold that was certainly not placed.
_NOT_PLACED = frozenset(("rejected", "not_found", "stale", "expired", "not_run", "not_applied"))
APPLIED = "applied"
#: The outcome of a requeue that is known to have left the bit set, of one that has set and cleared
#: it and did nothing else, and of one whose bit was seen to be off for good, or its job gone.
BIT_LEFT, BIT_CLEARED, BIT_OFF = "bit_left", "bit_cleared", "bit_off"
#: What is unknown for good: nothing of it can land any more, and it may have been in effect.
TAKEN = "taken"
#: Requeues that may have ended the execution, or left the bit set.
_OPEN_REQUEUE = (None, "unknown", TAKEN, BIT_LEFT)
#: Restores after which the bit was off.
_CLEARED = (APPLIED, BIT_OFF)
#: What may be found set after an action with such an outcome.
_BIT_DOUBTFUL = {"requeue": (*_OPEN_REQUEUE, APPLIED, BIT_CLEARED), "restore": (APPLIED,)}

_Key = Tuple[str, str]


def holds(entries: Sequence[Entry]) -> Dict[_Key, Entry]:
    """The last hold of each job, by cluster and job, that was or may have been placed."""
    return {
        (one.cluster, one.job_id): one
        for one in entries
        if one.action == "hold" and one.outcome not in _NOT_PLACED
    }


def bits_in_doubt(entries: Sequence[Entry]) -> Dict[_Key, Entry]:
    """Requeues and restores after which the bit may be set.

    Those that were cut off, are unknown, or are known to have left it, and those that cleared it: a
    slurmctld that is killed comes back with the state that it last saved, and has forgotten what it
    answered in the seconds before, so that the bit is set again (22.05 to 26.05).
    """
    left: Dict[_Key, Entry] = {}
    for one in entries:
        key = (one.cluster, one.job_id)
        if one.action == "restore" and one.outcome in _CLEARED:
            left.pop(key, None)
        if one.outcome in _BIT_DOUBTFUL.get(one.action, ()):
            left[key] = one
    return left


def requeues(entries: Sequence[Entry]) -> Dict[_Key, Entry]:
    """The last requeue of each job that ended an execution, or may have."""
    ended = (*_OPEN_REQUEUE, APPLIED, BIT_OFF)
    return {
        (one.cluster, one.job_id): one
        for one in entries
        if one.action in ("requeue", "requeue_only") and one.outcome in ended
    }


#: The word before a job's id and output directory in the outcome of a submission.
_SUBMITTED = "submitted"
_OUTCOME = re.compile(_SUBMITTED + r" ([1-9][0-9]{0,9}) (.*)", re.DOTALL)


def submitted(job_id: int, directory: str) -> str:
    """The outcome of a submission that became this job."""
    return "%s %d %s" % (_SUBMITTED, job_id, directory)


@dataclass(frozen=True)
class Recorded:
    """What the journal says about one submission.

    ``jobs`` are the jobs that it became, with their output directories. ``open`` are those attempts
    to make it of which it is not known what became of them.
    """

    jobs: Mapping[int, str]
    open: Tuple[Entry, ...]


def recorded(entries: Sequence[Entry], cluster: str, comment: str) -> Recorded:
    """What is known of the submission that this comment carries."""
    jobs: Dict[int, str] = {}
    doubtful = []
    for one in entries:
        if (one.action, one.cluster, one.job_id) != ("submit", cluster, comment):
            continue
        known = _OUTCOME.fullmatch(one.outcome or "")
        if known:
            jobs[int(known.group(1))] = known.group(2)
        elif one.outcome in (None, "unknown"):
            doubtful.append(one)
    return Recorded(jobs, tuple(doubtful))


def _is_remembered(entry: Entry, now: float) -> bool:
    """Whether a submission that was made, or may have been, still has to be known."""
    made = entry.outcome not in _NOT_PLACED
    return entry.action == "submit" and made and now < entry.deadline + REMEMBERED


def needed(entries: Sequence[Entry], now: float) -> List[Entry]:
    """The entries that can still matter, and what was written later about the same jobs.

    Recent ones, requeues that may have left a bit set, holds that keep a begin time ahead, and
    submissions.
    """
    doubts = bits_in_doubt(entries).values()
    matter = {id(one) for one in doubts if not one.bit_was_cleared}
    matter.update(id(one) for one in holds(entries).values() if one.begin > now)
    matter.update(id(one) for one in entries if _is_remembered(one, now))
    kept: List[Entry] = []
    keys = set()
    for one in entries:
        key = (one.cluster, one.job_id)
        if key in keys or id(one) in matter or now < one.until + RECENT:
            keys.add(key)
            kept.append(one)
    return kept


def _start_event(entry: Entry, jobs: Mapping[str, Any]) -> Dict[str, Any]:
    event = {name: getattr(entry, name) for name in _SHARED}
    event.update(format=FORMAT, event="start", jobs=dict(jobs))
    return event


def _lines(events: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(one, sort_keys=True) + "\n" for one in events).encode("utf-8")


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
    if any(isinstance(one, bool) or not isinstance(one, int) for one in numbers):
        raise TypeError("a number is none")

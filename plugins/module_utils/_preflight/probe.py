# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe: one tiny held job that never runs, and what it shows about holds and accounting.

The job is cancelled before accounting is asked, in the same process that submitted it, however
that ends; a job that a killed process left behind is removed by the next probe. Private to the
collection.
"""

from __future__ import annotations

import re
import secrets
import signal
import time
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.failures import (
    classify,
    failure_text,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    PASSING,
    Answer,
    FailureClass,
    Reply,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import UNKNOWN
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import parse_job_id
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import JobRecord
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import (
    Selection,
    read_jobs,
    read_queue,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.capabilities import (
    Support,
    probed,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.checks import JOB_NAME
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.hold import (
    open_arguments,
    place_arguments,
    release,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.judge import Proof

COMMENT_START = "hpcops.slurm preflight probe"

#: A probe's job of another host is removed when it is this many seconds old: its steps take far
#: less, and it never runs.
LONGEST_LIFE = 900

INSTANCE, STALE_INSTANCE = 1, 2

#: Seconds within which the release that has to be refused may be started.
RELEASE_TTL = 60

#: Failures that tell nothing about what a cluster can do.
_NO_ANSWER = frozenset((FailureClass.AUTHENTICATION_FAILED, FailureClass.COMMAND_MISSING))

NOT_REFUSED = "slurm: the preflight probe failed: a release naming instance 2 was not refused"


class Interrupted(BaseException):
    """A signal asked the process to end; raised in the main thread so that the job is removed."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Interruptible:
    """While this is entered, SIGTERM, SIGINT and SIGHUP raise :class:`Interrupted` once.

    After :meth:`shield` they only leave a note, so that what has to be put right is put right; the
    exit raises it then.
    """

    NUMBERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

    def __init__(self) -> None:
        self._shielded = False
        self._noted: Optional[int] = None
        self._before: Dict[int, Any] = {}

    def __enter__(self) -> Interruptible:
        self._before = {number: signal.signal(number, self._take) for number in self.NUMBERS}
        return self

    def shield(self) -> None:
        """From now on, only note signals."""
        self._shielded = True

    def _take(self, number: int, frame: Optional[FrameType]) -> None:
        del frame
        self._noted = number
        if not self._shielded:
            self.shield()
            raise Interrupted(number)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._noted is not None and not isinstance(error, Interrupted):
            raise Interrupted(self._noted)


@dataclass(frozen=True)
class Place:
    """Who probes, from where, and where the job is submitted to (None: the user's default)."""

    user: str
    host: str
    partition: Optional[str] = None
    account: Optional[str] = None
    qos: Optional[str] = None


def submit_arguments(place: Place, comment: str) -> List[str]:
    """The sbatch call of the probe; its script comes on standard input and never runs."""
    arguments = [
        "--parsable",
        "--hold",
        "--no-requeue",
        "--job-name=%s" % JOB_NAME,
        "--comment=%s" % comment,
        "--time=1",
        "--ntasks=1",
        "--output=/dev/null",
        "--error=/dev/null",
        "--chdir=/",
        "--export=NONE",
    ]
    for option in ("partition", "account", "qos"):
        value = getattr(place, option)
        if value:
            arguments.append("--%s=%s" % (option, value))
    return arguments


class ProbeError(Exception):
    """The probe's job could not be submitted: nothing was seen."""


def submit(run: Run, place: Place, comment: str) -> str:
    """Submit the probe's job and return its id.

    Raises :class:`ProbeError` with Slurm's words when there is no job.
    """
    reply: Reply = run("sbatch", *submit_arguments(place, comment), text_in="#!/bin/sh\nexit 0\n")
    job_id = reply.out.strip().partition(";")[0]
    if reply.status != 0 or not re.match(r"[1-9]\d*\Z", job_id, re.ASCII):
        raise ProbeError("submitting the probe: %s" % failure_text(reply))
    return job_id


def read_one(run: Run, job_id: str) -> Optional[JobRecord]:
    """The probe's job as slurmctld shows it, None when it shows none. Raises SlurmError."""
    return read_jobs(run, [parse_job_id(job_id)])[job_id].record


class HoldProbe:
    """The steps on a submitted job that show whether holds can be trusted.

    Each step returns None when it showed what it should, or the answer that ends the probe.
    """

    def __init__(self, run: Run, job_id: str) -> None:
        self.run, self.job_id = run, job_id

    def answer(self) -> Support:
        """Hold's answer, with the spec's reasons."""
        steps: List[Callable[[], Optional[Support]]] = [
            self.place,
            self.decodes,
            self.open,
            self.survives,
            self.refuses_stale,
            self.unchanged,
        ]
        for step in steps:
            ended = step()
            if ended is not None:
                return ended
        return probed(Answer.YES)

    def place(self) -> Optional[Support]:
        """Place hold 1."""
        reply = self.run("scontrol", *place_arguments(self.job_id, INSTANCE))
        return self._judged(reply, "placing hold 1 on the probe")

    def decodes(self) -> Optional[Support]:
        """Read hold 1 back."""
        return self._still("hold 1 did not decode from the probe's start time")

    def open(self) -> Optional[Support]:
        """Open the gate."""
        reply = self.run("scontrol", *open_arguments(self.job_id))
        return self._judged(reply, "opening the held probe")

    def survives(self) -> Optional[Support]:
        """The hold is there after the gate was opened, and the gate is open."""
        what = "the hold did not survive the gate's release"
        return self._still(what) or self._gate_open("opening the held probe")

    def refuses_stale(self) -> Optional[Support]:
        """A release that names another instance is refused."""
        known = release(self.run, self.job_id, STALE_INSTANCE, RELEASE_TTL)
        if known.proof is Proof.WITHHELD:
            return None
        if known.proof is Proof.ANSWERED:
            return probed(Answer.NO, NOT_REFUSED)
        return _unseen("a stale release changed the hold: %s" % known.message)

    def unchanged(self) -> Optional[Support]:
        """The refusal left the hold as it was."""
        return self._still("a stale release changed the hold")

    def _judged(self, reply: Reply, what: str) -> Optional[Support]:
        if reply.status == 0:
            return None
        reason = "%s: %s" % (what, failure_text(reply))
        kind = classify(reply)
        # Only a sentence that slurmctld says after it decided is a no that was seen.
        if kind in PASSING or kind in _NO_ANSWER or reply.status != 1:
            return _unseen(reason)
        return probed(Answer.NO, reason)

    def _still(self, what: str) -> Optional[Support]:
        record, trouble = self._read()
        if record is None:
            return _unseen("%s: %s" % (what, trouble))
        if record.hold_instance == INSTANCE:
            return None
        reason = "%s: EligibleTime is %s" % (what, record.eligible_time)
        return _unseen(reason) if record.hold_instance == UNKNOWN else probed(Answer.NO, reason)

    def _gate_open(self, what: str) -> Optional[Support]:
        record, trouble = self._read()
        if record is None:
            return _unseen("%s: %s" % (what, trouble))
        if record.gate is Answer.NO:
            return None
        reason = "%s: it is still held, %s" % (what, record.reason)
        return probed(Answer.NO, reason) if record.gate is Answer.YES else _unseen(reason)

    def _read(self) -> Tuple[Optional[JobRecord], str]:
        try:
            record = read_one(self.run, self.job_id)
        except SlurmError as error:
            return None, error.message
        return record, "slurmctld does not know the probe's job any more"


def _unseen(reason: str) -> Support:
    """An answer that was not seen, for a reason that may pass."""
    return probed(Answer.UNKNOWN, reason, passing=True)


@dataclass
class Cleaning:
    """Removal of the probe's own job, and of those that killed runs left behind.

    ``alone``: this process holds the lock, so that no other run of this user on this host has a
    job that it needs.
    """

    run: Run
    place: Place
    alone: bool
    removed: List[str] = field(default_factory=list)
    trouble: str = ""

    def left_behind(self, now: Optional[int]) -> None:
        """Remove the jobs of earlier runs; ``now`` is slurmctld's clock in epoch seconds."""
        try:
            for record in self._jobs():
                if self._ownerless(record, now) and self._cancelled(record.id_text):
                    self.removed.append(record.id_text)
        except SlurmError as error:
            self.trouble = error.message

    def own(self, job_id: Optional[str], comment: str) -> None:
        """Remove this run's job; without an id, whatever carries its comment.

        Tried again until slurmctld shows that the job is over, for some seconds.
        """
        for pause in (0.0, 0.2, 0.5, 1.0, 2.0):
            time.sleep(pause)
            try:
                if job_id is None:
                    mine = [one.id_text for one in self._jobs() if one.comment == comment]
                    job_id = mine[0] if mine else None
                if job_id is None or self._cancelled(job_id):
                    self.trouble = ""
                    return
                self.trouble = "probe job %s is still there after scancel" % job_id
            except SlurmError as error:
                self.trouble = error.message

    def _jobs(self) -> List[JobRecord]:
        queue = read_queue(self.run, Selection(users=(self.place.user,), names=(JOB_NAME,)))
        return [
            record
            for record in queue.records
            if record.state.live is not Answer.NO
            and (record.comment or "").startswith(COMMENT_START)
        ]

    def _ownerless(self, record: JobRecord, now: Optional[int]) -> bool:
        here = (record.comment or "").startswith(_comment_of(self.place.host, ""))
        if here and self.alone:
            return True
        submitted = record.submit_time
        return now is not None and isinstance(submitted, int) and now - submitted > LONGEST_LIFE

    def _cancelled(self, job_id: str) -> bool:
        self.run("scancel", job_id)
        record = read_one(self.run, job_id)
        return record is None or record.state.live is Answer.NO


def new_comment(place: Place) -> str:
    """A comment that names the probe, its host, and one run."""
    return _comment_of(place.host, secrets.token_hex(8))


def _comment_of(host: str, nonce: str) -> str:
    return "%s host=%s nonce=%s" % (COMMENT_START, host, nonce)


@dataclass(frozen=True)
class Started:
    """A probe whose job is over: what is known, and what accounting has still to say.

    Times are epoch seconds of the host. ``accounting`` is None until it is known. ``removed`` are
    the jobs of earlier runs that were removed, ``trouble`` says what could not be.
    """

    job_id: str
    comment: str
    ran_at: int
    cancelled_at: float
    hold: Support
    accounting: Optional[Support] = None
    removed: Tuple[str, ...] = ()
    trouble: str = ""


@dataclass(frozen=True)
class NotStarted:
    """Why there is no probe; the rest as in :class:`Started`."""

    reason: str
    removed: Tuple[str, ...] = ()
    trouble: str = ""


def attempt(
    run: Run, place: Place, now: Optional[int], alone: bool, hold: Optional[Support]
) -> Union[Started, NotStarted]:
    """Remove what was left behind, submit, look at holds, and remove the job again.

    ``now`` is slurmctld's clock. A ``hold`` that is given is the answer, and no hold is tried.
    Raises :class:`Interrupted` after the job was removed when a signal came.
    """
    cleaning = Cleaning(run, place, alone)
    cleaning.left_behind(now)
    comment, job_id, answer, reason = new_comment(place), None, hold, ""
    with Interruptible() as signals:
        try:
            job_id = submit(run, place, comment)
            answer = hold or HoldProbe(run, job_id).answer()
        except ProbeError as error:
            reason = str(error)
        finally:
            signals.shield()
            cleaning.own(job_id, comment)
    removed, trouble = tuple(cleaning.removed), cleaning.trouble
    if job_id is None or answer is None:
        return NotStarted(reason, removed, trouble)
    at = time.time()
    return Started(job_id, comment, int(at), at, answer, None, removed, trouble)

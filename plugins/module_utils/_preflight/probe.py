# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe: one tiny held job that never runs, and what it shows about holds and accounting.

The job is cancelled before accounting is asked, in the same process that submitted it, however
that ends; a job that a killed process left behind is removed by the next probe. Private to the
collection.
"""

from __future__ import annotations

import contextlib
import re
import signal
import time
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

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
    printable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import UNKNOWN
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import parse_job_id
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import (
    JobLookup,
    JobRecord,
)
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
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.owner import (
    COMMENT_START,
    Owner,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.started import (
    Interrupted,
    NotStarted,
    Place,
    Started,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.hold import (
    open_arguments,
    place_arguments,
    release,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Outcome

#: A probe's job whose process can't be looked at (another host's) is removed when it is this many
#: seconds old: its steps take far less, and it never runs.
LONGEST_LIFE = 900

#: No new attempt to remove the job is begun after this many seconds; the next run goes on with it.
LONGEST_CLEANING = 40.0

INSTANCE, STALE_INSTANCE = 1, 2

#: Failures that tell nothing about what a cluster can do; the first two say that the job is over.
_NO_ANSWER = frozenset(
    (
        FailureClass.JOB_UNKNOWN,
        FailureClass.JOB_FINISHED,
        FailureClass.AUTHENTICATION_FAILED,
        FailureClass.COMMAND_MISSING,
        FailureClass.NO_CONFIG_SOURCE,
    )
)

NOT_REFUSED = "slurm: the preflight probe failed: a release naming instance 2 was not refused"


class Interruptible:
    """Takes SIGTERM, SIGINT and SIGHUP while it is entered, and raises :class:`Interrupted` once.

    The handler itself only leaves a note and ends the command that runs: an exception out of it
    could be raised anywhere, and be lost there. The note is raised between the commands of a run
    that is guarded, inside ``with signals.open():``, and at the latest by the exit. What has to be
    done to the end is done outside. A signal that the process was started to ignore (nohup) stays
    ignored.
    """

    NUMBERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

    def __init__(self, end: Callable[[], None]) -> None:
        """``end`` ends the command that runs, if there is one."""
        self._end = end
        self._open = False
        self._noted: Optional[int] = None
        self._before: Dict[int, Any] = {}

    def __enter__(self) -> Interruptible:
        for number in self.NUMBERS:
            before = signal.getsignal(number)
            if before not in (signal.SIG_IGN, None):
                self._before[number] = before
                signal.signal(number, self._take)
        return self

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """While this is entered, a signal ends the command that runs."""
        self._open = True
        try:
            self._check()
            yield
        finally:
            self._open = False

    def guarded(self, run: Run) -> Run:
        """The same run, which raises between commands when a signal has come."""

        def guarded_run(*argv: str, **more: Any) -> Reply:
            self._check()
            reply: Reply = run(*argv, **more)
            self._check()
            return reply

        return guarded_run

    def _check(self) -> None:
        if self._noted is not None:
            raise Interrupted(self._noted)

    def _take(self, number: int, frame: Optional[FrameType]) -> None:
        del frame
        self._noted = number
        if self._open:
            self._end()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if not isinstance(error, Interrupted):
            self._check()


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
    """The probe's job has no id: nothing was seen. ``refused``: slurmctld wants no such job.

    ``late``: it is not known whether there is a job, and one may still appear.
    """

    def __init__(self, message: str, refused: bool, late: bool) -> None:
        super().__init__(message)
        self.refused, self.late = refused, late


#: Failures of sbatch after which there is no job, for certain, and no answer about one.
_NOTHING_SENT = frozenset((FailureClass.AUTHENTICATION_FAILED, FailureClass.NO_CONFIG_SOURCE))


def submit(run: Run, place: Place, comment: str) -> str:
    """Submit the probe's job and return its id.

    Raises :class:`ProbeError` with Slurm's words when there is no job, or none that is known of: a
    submission that was not answered in time is in the queue as soon as slurmctld gets to it.
    """
    reply: Reply = run("sbatch", *submit_arguments(place, comment), text_in="#!/bin/sh\nexit 0\n")
    job_id = reply.out.strip().partition(";")[0]
    if reply.status == 0 and re.match(r"[1-9]\d{0,9}\Z", job_id, re.ASCII):
        return job_id
    kind = classify(reply)
    sent = not (reply.not_started or kind in _NOTHING_SENT)
    late = sent and (reply.status != 1 or kind in PASSING)
    refused = sent and not late
    raise ProbeError("submitting the probe: %s" % failure_text(reply), refused, late)


def look_up(run: Run, job_id: str) -> JobLookup:
    """What slurmctld shows of the probe's job. Raises SlurmError."""
    return read_jobs(run, [parse_job_id(job_id)])[job_id]


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
        return self._judged(reply, "placing hold 1 on the probe", _unheld)

    def decodes(self) -> Optional[Support]:
        """Read hold 1 back."""
        return self._still("hold 1 did not decode from the probe's start time")

    def open(self) -> Optional[Support]:
        """Open the gate."""
        reply = self.run("scontrol", *open_arguments(self.job_id))
        return self._judged(reply, "opening the held probe", lambda record: record.gate)

    def survives(self) -> Optional[Support]:
        """The hold is there after the gate was opened, and the gate is open."""
        what = "the hold did not survive the gate's release"
        return self._still(what, _gate_open)

    def refuses_stale(self) -> Optional[Support]:
        """A release that names another instance is refused."""
        try:
            outcome = release(self.run, self.job_id, STALE_INSTANCE)
        except SlurmError as error:
            return _unseen("a stale release changed the hold: %s" % error.message)
        if outcome is Outcome.STALE:
            return None
        seen = outcome in (Outcome.APPLIED, Outcome.UNCHANGED)
        return probed(Answer.NO, NOT_REFUSED) if seen else _unseen(NOT_REFUSED)

    def unchanged(self) -> Optional[Support]:
        """The refusal left the hold as it was."""
        return self._still("a stale release changed the hold")

    def _judged(
        self, reply: Reply, what: str, undone: Callable[[JobRecord], Answer]
    ) -> Optional[Support]:
        """None for success. A refusal is a no only if the job shows that it is ``undone``.

        An exit status of 1 with a sentence can come with the change made (a partition that is
        INACTIVE), and can mean that somebody else ended the job.
        """
        if reply.status == 0:
            return None
        reason = "%s: %s" % (what, failure_text(reply))
        kind = classify(reply)
        if kind in PASSING or kind in _NO_ANSWER or reply.status != 1:
            return _unseen(reason)
        record, trouble = self._read()
        if record is None:
            return _unseen("%s; %s" % (reason, trouble))
        if undone(record) is Answer.YES:
            return probed(Answer.NO, reason)
        return _unseen("%s; and yet it may be done" % reason)

    def _still(
        self, what: str, also: Optional[Callable[[JobRecord], Optional[Support]]] = None
    ) -> Optional[Support]:
        """None when hold 1 is in place, and ``also`` finds nothing in the same row."""
        record, trouble = self._read()
        if record is None:
            return _unseen("%s: %s" % (what, trouble))
        if record.hold_instance == INSTANCE:
            return also(record) if also else None
        reason = "%s: EligibleTime is %s" % (what, record.eligible_time)
        return probed(Answer.NO, reason) if _unheld(record) is Answer.YES else _unseen(reason)

    def _read(self) -> Tuple[Optional[JobRecord], str]:
        """The living job, or why there is none to see."""
        try:
            record = look_up(self.run, self.job_id).record
        except SlurmError as error:
            return None, error.message
        if record is not None and record.state.live is not Answer.YES:
            return None, "the probe's job has ended meanwhile, %s" % record.state.word
        return record, "slurmctld does not show the probe's job any more"


def _gate_open(record: JobRecord) -> Optional[Support]:
    """None when the gate is open."""
    if record.gate is Answer.NO:
        return None
    reason = "opening the held probe: it is still held, %s" % printable(record.reason)
    return probed(Answer.NO, reason) if record.gate is Answer.YES else _unseen(reason)


def _unheld(record: JobRecord) -> Answer:
    """Whether the job shows that hold 1 is not in place."""
    if record.hold_instance == UNKNOWN:
        return Answer.UNKNOWN
    return Answer.NO if record.hold_instance == INSTANCE else Answer.YES


def _unseen(reason: str) -> Support:
    """An answer that was not seen, for a reason that may pass."""
    return probed(Answer.UNKNOWN, reason, passing=True)


@dataclass
class Cleaning:
    """Removal of the probe's own job, and of those that killed runs left behind.

    ``trouble`` says what could not be removed.
    """

    run: Run
    place: Place
    removed: List[str] = field(default_factory=list)
    trouble: str = ""

    def left_behind(self, now: Optional[int]) -> None:
        """Remove the jobs of earlier runs; ``now`` is slurmctld's clock in epoch seconds."""
        try:
            for record in self._jobs():
                if not self._ownerless(record, now):
                    continue
                if self._cancelled(record.id_text):
                    self.removed.append(record.id_text)
                else:
                    self._note("probe job %s is still there after scancel" % record.id_text)
        except SlurmError as error:
            self._note("looking for probe jobs of earlier runs: %s" % error.message)

    def own(self, job_id: Optional[str], comment: str, late: bool = False) -> None:
        """Remove this run's job; without an id, whatever carries its comment.

        Tried again until slurmctld shows that the job is over, for some seconds. ``late``: the job
        may still appear.
        """
        trouble, found = "", False
        until = time.monotonic() + LONGEST_CLEANING
        for pause in (0.0, 0.2, 0.5, 1.0, 2.0):
            if time.monotonic() + pause > until:
                break
            time.sleep(pause)
            try:
                mine = [job_id] if job_id else self._with(comment)
                found = found or bool(mine)
                trouble = self._unremoved(mine)
                if not trouble and (found or not late):
                    return
            except SlurmError as error:
                trouble = error.message
        self._note(trouble)
        if late and not found:
            self._note("its submission was not answered, and it may still appear")

    def _unremoved(self, jobs: List[str]) -> str:
        left = [job_id for job_id in jobs if not self._cancelled(job_id)]
        return "probe job %s is still there after scancel" % ", ".join(left) if left else ""

    def _note(self, trouble: str) -> None:
        self.trouble = "; ".join(filter(None, (self.trouble, trouble)))

    def _with(self, comment: str) -> List[str]:
        return [one.id_text for one in self._jobs() if one.comment == comment]

    def _jobs(self) -> List[JobRecord]:
        queue = read_queue(self.run, Selection(users=(self.place.user,), names=(JOB_NAME,)))
        return [
            record
            for record in queue.records
            if record.state.live is not Answer.NO
            and (record.comment or "").startswith(COMMENT_START)
        ]

    def _ownerless(self, record: JobRecord, now: Optional[int]) -> bool:
        owner = Owner.of(record.comment)
        lives = owner.lives(self.place.host) if owner else Answer.UNKNOWN
        submitted = record.submit_time
        if lives is Answer.UNKNOWN and now is not None and isinstance(submitted, int):
            return now - submitted > LONGEST_LIFE
        return lives is Answer.NO

    def _cancelled(self, job_id: str) -> bool:
        self.run("scancel", job_id)
        found = look_up(self.run, job_id)
        return found.live is Answer.NO or found.known is Answer.NO


def attempt(
    run: Run,
    place: Place,
    now: Optional[int],
    hold: Optional[Support],
    end: Callable[[], None] = lambda: None,
) -> Union[Started, NotStarted]:
    """Remove what was left behind, submit, look at holds, and remove the job again.

    ``now`` is slurmctld's clock. A ``hold`` that is given is the answer, and no hold is tried.
    Raises :class:`Interrupted` after the job was removed when a signal came; ``end`` ends the
    command that runs then.
    """
    cleaning = Cleaning(run, place)
    cleaning.left_behind(now)
    try:
        with Interruptible(end) as signals:
            found = _tried(run, place, hold, signals, cleaning)
    except Interrupted as stop:
        raise Interrupted(stop.number, cleaning.trouble) from None
    removed, trouble = tuple(cleaning.removed), cleaning.trouble
    if isinstance(found, ProbeError):
        return NotStarted(str(found), found.refused, found.late, removed, trouble)
    job_id, comment, answer = found
    at = time.time()
    return Started(job_id, comment, int(at), at, answer, None, removed, trouble, now)


def _tried(
    run: Run, place: Place, hold: Optional[Support], signals: Interruptible, cleaning: Cleaning
) -> Union[Tuple[str, str, Support], ProbeError]:
    """The job's id and comment and the answer about holds; the job is removed again."""
    comment, late = Owner.this(place.host).comment(), True
    job_id: Optional[str] = None
    try:
        # A sbatch that is ended half way may still leave a job: signals wait for its answer.
        job_id = submit(run, place, comment)
        with signals.open():
            return job_id, comment, hold or HoldProbe(signals.guarded(run), job_id).answer()
    except ProbeError as error:
        late = error.late
        return error
    finally:
        cleaning.own(job_id, comment, late)

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Look, send, look, settle: the rounds of one submission. Private to the collection."""

from __future__ import annotations

import math
import os
import secrets
import time
from dataclasses import dataclass, field
from typing import Any, Dict, Optional

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Commands
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.landing import KILL_AFTER
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.batch import (
    Job,
    sbatch_arguments,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.submission import Submission
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.engine import (
    GRACE,
    PAUSES,
    Bound,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import (
    REMEMBERED,
    Entry,
    Journal,
    Recorded,
    recorded,
    submitted,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.judge import Proof
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Outcome
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.results import (
    JobResult,
    result,
    without_bound,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import submit_script
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.sent import (
    Sent,
    judge_submission,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.submissions import (
    Finding,
    Past,
    Queued,
    Where,
    from_past,
    from_queue,
    read_past,
    read_queued,
    several,
)

#: Seconds that the window of accounting goes beyond the host's clock, which may be behind.
AHEAD = 86400


@dataclass(frozen=True)
class Submit:
    """What a task asks for. ``deadline`` is on the Ansible controller's clock, in epoch seconds.

    ``kept`` says whether accounting stores comments; ``min_job_age`` is how many seconds slurmctld
    shows a job that has ended.
    """

    job: Job
    text: str
    user: str
    cluster: str
    deadline: float
    settle: bool
    check: bool
    trust_journal: bool
    kept: Answer
    min_job_age: int


@dataclass
class Step:
    """What the rounds so far came to.

    ``aim`` is what is not settled yet; ``later``: nothing was sent yet, since an earlier run's
    submission may still land.
    """

    result: JobResult
    aim: Dict[str, Any] = field(default_factory=dict)
    later: bool = False
    waiting_for: str = ""
    until: Optional[float] = None


class Submitter:
    """Carries out one submission on this host."""

    def __init__(self, commands: Commands, order: Submit, bound: Bound, journal: Journal) -> None:
        self.commands, self.order, self.bound, self.journal = commands, order, bound, journal
        self.run, self.comment = commands.run, order.job.comment
        self.name = Submission(order.job.submission, order.job.attempt).name
        self.deadline = bound.on_host(order.deadline)
        until = bound.until(self.deadline)
        #: Without a bound it may land for as long as it is remembered.
        self.until = self.deadline + REMEMBERED if until is None else math.ceil(until)

    def first(self) -> Step:
        """Look, and send what is not there. Raises SlurmError when the queue can't be read."""
        looked = time.time()
        queued = read_queued(self.run, self.order.user, self.comment)
        with self.journal as journal:
            known = self._recorded(journal)
        step = self._found(queued, known)
        if step is not None:
            return step
        if self.order.check:
            return Step(self._made(Outcome.APPLIED, "it would be submitted"))
        nonce = secrets.token_hex(8)
        with self.journal as journal:
            now_known = self._recorded(journal)
            if now_known == known:
                journal.compact(time.time())
                journal.start([[self._entry(nonce)]])
        # Another run on this host has begun to submit it meanwhile: look at it anew.
        return self._send(nonce, looked) if now_known == known else self.first()

    def _recorded(self, journal: Journal) -> Recorded:
        return recorded(journal.entries(), self.order.cluster, self.comment)

    def more(self, step: Step, wait: float) -> Step:
        """A later round: look again, for ``wait`` seconds at most, or send what had to wait."""
        if not step.later:
            return self._settle(step, wait)
        try:
            return self.first()
        except SlurmError as error:
            if not self._may_wait():
                step.later = False
                step.waiting_for = ""
                step.result["reason"] += ": %s" % error.message
            return step

    def _may_wait(self) -> bool:
        return self.order.settle and not self.order.check and time.time() < self.deadline

    def _found(self, queued: Queued, known: Recorded) -> Optional[Step]:
        """The result where nothing is to be sent; None where the submission is known to be none."""
        finding = from_queue(queued, known)
        flying = [one for one in known.open if one.in_flight(time.time())]
        if not finding.jobs and queued.certain:
            trusted = self.order.trust_journal and not self.journal.warnings
            finding = from_past(self._past(), known, trusted)
        if finding.job is not None:
            return Step(self._unchanged(finding, queued, known))
        if finding.jobs:
            return Step(self._unknown(several(finding.jobs, self.name), sorted(finding.jobs)))
        if flying:
            return self._flying(max(flying, key=lambda one: one.until))
        if not queued.certain:
            return Step(self._unknown("nothing was sent: squeue complained"))
        if finding.doubt:
            reason = (
                "nothing was sent: %s. Give a new attempt, or see trust_journal" % finding.doubt
            )
            return Step(self._unknown(reason))
        trouble = _not_writable(self.order.job.output_dir)
        if trouble:
            return Step(self._made(Outcome.NOT_RUN, trouble))
        return None

    def _past(self) -> Past:
        now = int(time.time())
        return read_past(
            self.run,
            self.order.user,
            self.comment,
            self.order.job.name,
            self.order.kept,
            now - REMEMBERED,
            now + AHEAD,
        )

    def _flying(self, entry: Entry) -> Step:
        reason = "an earlier run's submission may still land; nothing was sent"
        if self.bound.call_bound is None:
            reason = "nothing was sent: the outcome of an earlier run's submission is unknown"
            step = Step(self._unknown(without_bound(reason) + ". Give a new attempt"))
            step.result["settled"] = False
            return step
        step = Step(self._unknown(reason))
        landed = math.ceil(entry.until + self.bound.offset)
        step.result.update(settled=False, may_land_until=landed)
        if self._may_wait():
            step.later = True
            step.waiting_for = "an earlier submission of %s may still land" % self.name
            step.until = min(entry.until, self.deadline)
        return step

    def _unchanged(self, finding: Finding, queued: Queued, known: Recorded) -> JobResult:
        job_id = finding.job or 0
        where = finding.jobs[job_id]
        made = self._made(Outcome.UNCHANGED, "%s knows it as job %d" % (where.value, job_id))
        made.update(job_id=str(job_id), known_from=where.value)
        record = next((one for one in queued.jobs if one.job_id == job_id), None)
        if record is not None:
            made["before"] = made["after"] = {"state": record.state.word}
        if known.open and not self.order.check:
            what = submitted(job_id, known.jobs.get(job_id, self.order.job.output_dir))
            self._record({one.nonce: what for one in known.open})
        return made

    def _made(self, outcome: Outcome, reason: str) -> JobResult:
        made = result("", outcome, reason)
        del made["requeue_bit_left"]
        job = self.order.job
        made.update(
            job_id=None,
            submission=job.submission,
            attempt=job.attempt,
            known_from=None,
            job_ids=[],
        )
        return made

    def _unknown(self, reason: str, job_ids: Any = ()) -> JobResult:
        made = self._made(Outcome.UNKNOWN, reason)
        made.update(settled=True, job_ids=[str(one) for one in job_ids])
        return made

    def _entry(self, nonce: str) -> Entry:
        return Entry(
            nonce=nonce,
            action="submit",
            job_id=self.comment,
            cluster=self.order.cluster,
            submitted=None,
            instance=0,
            begin=0,
            restarts=None,
            deadline=self.deadline,
            until=self.until,
        )

    def _send(self, nonce: str, looked: float) -> Step:
        script = submit_script(sbatch_arguments(self.order.job))
        patience = max(0.0, self.deadline - time.time()) + 2 * (KILL_AFTER + 1)
        end = self.commands.run_detached(
            script.argv(nonce, self.deadline), patience, self.order.text + "\n"
        )
        sent = judge_submission(end, nonce)
        started = time.time()
        queued = self._look()
        step = self._judged(sent, queued)
        step.result["calls"] = sent.calls
        if step.result["outcome"] == Outcome.UNKNOWN.value and not step.result["settled"]:
            if self.bound.call_bound is None:
                step.result["reason"] = without_bound(step.result["reason"])
                return step
            step.result["may_land_until"] = math.ceil(self.until + self.bound.offset)
            seen = looked if queued is None else started
            step.aim = {"nonce": nonce, "seen": seen, "gap": started - looked > self._age()}
            return self._waiting(step)
        self._record({nonce: self._for_journal(step.result)})
        return step

    def _age(self) -> float:
        return float(self.order.min_job_age)

    def _look(self) -> Optional[Queued]:
        """The queue; None where it can't be read, or its answer is not certain."""
        try:
            queued = read_queued(self.run, self.order.user, self.comment)
        except SlurmError:
            return None
        return queued if queued.certain or queued.jobs else None

    def _judged(self, sent: Sent, queued: Optional[Queued]) -> Step:
        jobs = {} if queued is None else {one.job_id: Where.QUEUE for one in queued.jobs}
        if sent.job_id is not None:
            jobs[sent.job_id] = Where.SBATCH
        if jobs:
            return Step(self._is_there(Finding(jobs), sent.message))
        made = self._made(sent.outcome or Outcome.UNKNOWN, sent.message)
        made.update(message=sent.message if sent.outcome is Outcome.REJECTED else "")
        made["failure_class"] = sent.failure.value
        if sent.proof is Proof.REFUSED and queued is None:
            reason = "sbatch reported an error, and the queue could not be read: %s" % sent.message
            made.update(outcome=Outcome.UNKNOWN.value, reason=reason, settled=False)
        return Step(made)

    def _is_there(self, finding: Finding, message: str) -> JobResult:
        """The result of a submission that is in the queue, or that sbatch has said the id of."""
        if finding.job is None:
            made = self._unknown(several(finding.jobs, self.name), sorted(finding.jobs))
            return dict(made, changed=True)
        where = finding.jobs[finding.job]
        made = self._made(Outcome.APPLIED, "submitted as job %d" % finding.job)
        made.update(job_id=str(finding.job), known_from=where.value, message=message)
        return made

    def _waiting(self, step: Step) -> Step:
        if self.order.settle:
            step.waiting_for = "it is not known yet whether %s was submitted" % self.name
            step.until = self.until
        return step

    def _settle(self, step: Step, wait: float) -> Step:
        """Look until the job shows, or until it is known that none will."""
        end = time.monotonic() + wait
        pauses = iter(PAUSES)
        pause = 0.0
        while True:
            over = time.time() > self.until
            looked = time.time()
            queued = self._look()
            if queued is not None:
                if looked - step.aim["seen"] > self._age():
                    step.aim["gap"] = True
                step.aim["seen"] = looked
            made = self._settled(queued, over, bool(step.aim["gap"]), step.result)
            if made is not None:
                made["calls"] = step.result["calls"]
                self._record({step.aim["nonce"]: self._for_journal(made)})
                return Step(made)
            pause = next(pauses, pause or PAUSES[-1])
            if time.monotonic() + pause > end:
                return step
            time.sleep(pause)

    def _settled(
        self, queued: Optional[Queued], over: bool, gap: bool, before: JobResult
    ) -> Optional[JobResult]:
        """The result when one more look makes it known, or nothing can be known any more.

        A job that slurmctld showed to nobody between two looks may have come, ended and been
        forgotten, where they lie further apart than MinJobAge: then accounting has to tell.
        """
        if queued is not None and queued.jobs:
            jobs = {one.job_id: Where.QUEUE for one in queued.jobs}
            return self._is_there(Finding(jobs), before["message"])
        if not over:
            return None
        if queued is None:
            if time.time() <= self.until + GRACE:
                return None
            return self._unknown("nothing can land any more, but slurmctld could not be asked")
        finding = Finding({}) if not gap else from_past(self._past(), Recorded({}, ()), False)
        if finding.jobs:
            return self._is_there(finding, before["message"])
        if finding.doubt:
            return self._unknown("nothing can land any more, but %s" % finding.doubt)
        reason = "nothing can land any more, and no job has its comment (%s)" % before["reason"]
        made = self._made(Outcome.NOT_APPLIED, reason)
        made["failure_class"] = before["failure_class"]
        return made

    def _for_journal(self, made: JobResult) -> str:
        if made["job_id"] is not None:
            return submitted(int(made["job_id"]), self.order.job.output_dir)
        if made["job_ids"]:
            return submitted(int(made["job_ids"][0]), self.order.job.output_dir)
        return str(made["outcome"])

    def _record(self, outcomes: Dict[str, str]) -> None:
        """Put outcomes into the journal. What can't be written stays open there."""
        try:
            with self.journal as journal:
                journal.end({nonce: {self.comment: one} for nonce, one in outcomes.items()})
        except SlurmError as error:
            self.journal.warnings.append(error.message)


def _not_writable(directory: str) -> str:
    """Why output can't be kept there, "" when it can, as far as that is known.

    Slurm takes a job whose output has no place, and lets it fail as soon as it starts, by a signal
    53 and without a word that anybody could read (22.05 to 26.05). A job on a full disk runs, and
    what it writes is lost.
    """
    if not os.path.isdir(directory):
        return "nothing was sent: output_dir %s is no directory on this host" % directory
    if not os.access(directory, os.W_OK | os.X_OK):
        return "nothing was sent: this user may not write to output_dir %s" % directory
    try:
        disk = os.statvfs(directory)
    except OSError:
        return ""
    free = disk.f_bavail if os.geteuid() else disk.f_bfree
    if disk.f_blocks and not free:
        return "nothing was sent: the disk of output_dir %s is full" % directory
    return ""

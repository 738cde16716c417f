# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read, plan, send, read, judge: the rounds of a write. Private to the collection."""

from __future__ import annotations

import math
import secrets
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Commands
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.landing import KILL_AFTER
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import (
    IdKind,
    JobId,
    parse_job_id,
    require_job_ids,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import (
    JobRecord,
    RecordIndex,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import fresh_marks
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import (
    Selection,
    read_jobs,
    read_queue,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.history import History
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import (
    BIT_LEFT,
    BIT_OFF,
    Entry,
    Journal,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.judge import (
    Ended,
    Known,
    judge,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Call, Outcome
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import (
    Action,
    Plan,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.results import (
    JobResult,
    Seen,
    judged,
    planned,
    result,
    settle,
    view,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import Script

#: Scripts that requeue one job each and run at the same time.
AT_ONCE = 8

#: Seconds after the landing bound for which slurmctld is still asked, if it does not answer.
GRACE = 30

#: The pauses between two reads of a job that is not settled, in seconds; the last one is kept.
PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class Bound:
    """What is known about time here.

    ``call_bound`` (seconds after a deadline within which a write may land) is None when no bound is
    known. ``offset`` is the most that the Ansible controller's clock can be ahead of the host's.
    """

    call_bound: Optional[int]
    offset: float

    def on_host(self, controller: float) -> int:
        """The last whole second of the host's clock that is not after a controller's time."""
        return max(0, math.floor(controller - self.offset))

    def until(self, deadline: float) -> Optional[float]:
        """When nothing started by the deadline can land any more, on the deadline's own clock."""
        return None if self.call_bound is None else deadline + self.call_bound


@dataclass(frozen=True)
class Permission:
    """What the preflight lets writes do. ``refusal`` says why nothing may be sent, "" if it may."""

    cluster: str
    bound: Bound
    refusal: str


@dataclass(frozen=True)
class Order:
    """What a task asks for. ``deadline`` is on the Ansible controller's clock, in epoch seconds."""

    action: Action
    jobs: Sequence[str]
    selection: Optional[Selection]
    deadline: float
    settle: bool
    check: bool
    cluster: str


@dataclass
class Report:
    """What the rounds so far came to.

    ``results`` by the jobs' ids; ``open`` are those that are not settled, with what they aim at;
    ``later`` those that nothing was sent for yet, since an earlier write of them may still land.
    """

    results: Dict[str, JobResult] = field(default_factory=dict)
    open: Dict[str, Dict[str, Any]] = field(default_factory=dict)
    later: List[str] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)
    waiting_for: str = ""
    until: Optional[float] = None

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to wait for."""
        return not self.waiting_for

    def wait(self, what: str, until: float) -> None:
        """Go on with another round, for one more reason."""
        self.waiting_for = "%s; %s" % (self.waiting_for, what) if self.waiting_for else what
        self.until = until if self.until is None else max(until, self.until)


_Found = Mapping[str, JobRecord]
_Rows = Mapping[int, Sequence[JobRecord]]


class Writer:
    """Carries out one order on this host."""

    def __init__(self, commands: Commands, order: Order, bound: Bound, journal: Journal) -> None:
        self.commands, self.order, self.bound, self.journal = commands, order, bound, journal
        self.run = commands.run
        self.deadline = bound.on_host(order.deadline)
        until = bound.until(self.deadline)
        #: Without a bound (only an opening is sent then), an outcome that is unknown stays so.
        self.until = math.ceil(until) if until is not None else self.deadline + KILL_AFTER

    def first(self) -> Report:
        """The first round: everything but settling. Raises SlurmError when nothing can be said."""
        report = Report()
        self._attempt(report, None if self.order.selection is not None else self.order.jobs)
        return self._ended(report)

    def more(self, report: Report, wait: float) -> Report:
        """A later round, with what the one before it left over.

        Sends what had to wait, if it still may, and reads what is not settled until it is, or
        ``wait`` seconds are over.
        """
        later, report.later = report.later, []
        if later:
            before = {one: report.results[one] for one in later}
            try:
                self._attempt(report, later)
                for name, made in before.items():
                    if report.results[name] is made:  # it means several jobs by now
                        del report.results[name]
            except SlurmError as error:
                self._put_off(report, later, error)
        over = self._settle(report, wait) if report.open else False
        return self._ended(report, over)

    def _ended(self, report: Report, over: bool = False) -> Report:
        """The report of a round, with what the next one is to wait for."""
        report.warnings.extend(one for one in self.journal.warnings if one not in report.warnings)
        if report.later:
            what = "an earlier write of %s may still land" % _some(report.later)
            landed = max(report.results[one]["may_land_until"] for one in report.later)
            report.wait(what, min(landed - self.bound.offset, self.deadline))
        if report.open and self.order.settle and not over:
            report.wait("%d jobs are not settled" % len(report.open), self.until)
        return report

    def _put_off(self, report: Report, later: Sequence[str], error: SlurmError) -> None:
        """Nothing could be read this time."""
        if self._may_wait():
            report.later = list(later)
            return
        for one in later:
            report.results[one]["reason"] += ": %s" % error.message

    def _may_wait(self) -> bool:
        return self.order.settle and not self.order.check and time.time() < self.deadline

    def _attempt(self, report: Report, names: Optional[Sequence[str]]) -> None:
        """Read, plan, send and judge; ``names`` are ids, or None for the selection.

        Nothing is sent for a job while an earlier write of it may still land.
        """
        found, rows = self._read(report, names)
        scripts: List[Tuple[str, Script]] = []
        with self.journal as journal:
            history = History(journal.entries(), self.order.cluster, time.time())
            plans = self._plans(found, rows, history)
            flying = {plan.job_id: history.flying(self.order.action, plan) for plan in plans}
            ready = [plan for plan in plans if plan.sends and flying[plan.job_id] is None]
            if not self.order.check:
                scripts = self._started(journal, ready)
        for plan in plans:
            entry = flying[plan.job_id]
            made = planned(self.order.action, plan)
            report.results[plan.job_id] = made if entry is None else self._flying(made, entry)
            if entry is not None and self._may_wait():
                report.later.append(plan.job_id)
        self._record(history.landed(plans))
        self._report_bits(report, history, found)
        if scripts:
            self._send(scripts, ready, report)

    def _flying(self, made: JobResult, entry: Entry) -> JobResult:
        reason = "an earlier %s may still land; nothing was sent" % entry.action
        waiting = result(made["job_id"], Outcome.UNKNOWN, reason)
        waiting.update(before=made["before"], after=made["before"])
        waiting["may_land_until"] = math.ceil(entry.until + self.bound.offset)
        return waiting

    def _read(self, report: Report, names: Optional[Sequence[str]]) -> Tuple[_Found, _Rows]:
        """The jobs by the ids of their results, and all rows by the number of their record.

        A job that is named twice counts once, by its first name.
        """
        if names is None:
            queue = read_queue(self.run, self.order.selection or Selection())
            every = RecordIndex(queue.records).rows
            return {record.id_text: record for record in queue.records}, every
        rows: Dict[int, Sequence[JobRecord]] = {}
        answer: _Rows = {}
        ids = require_job_ids(dict.fromkeys(names))
        found: Dict[str, JobRecord] = {}
        for text, lookup in (read_jobs(self.run, ids) if ids else {}).items():
            if lookup.rows is not answer:  # all ids of one answer share its rows
                answer = lookup.rows
                rows.update(answer)
            if lookup.known is Answer.YES:
                found.update(_named(lookup.asked, lookup.records))
            elif lookup.known is Answer.NO:
                reason = "slurmctld shows no such job (with PrivateData=jobs it hides other users')"
                failure = FailureClass.JOB_UNKNOWN
                report.results[text] = result(text, Outcome.NOT_FOUND, reason, failure)
            else:
                reason = "squeue did not show it, and complained"
                failure = FailureClass.UNCLASSIFIED
                report.results[text] = result(text, Outcome.UNKNOWN, reason, failure)
        names_of: Dict[str, str] = {}
        for name, record in found.items():
            names_of.setdefault(record.id_text, name)
        return {name: found[name] for name in names_of.values()}, rows

    def _plans(self, found: _Found, rows: _Rows, history: History) -> List[Plan]:
        expected = self.order.action.expected
        counted: Dict[int, Dict[str, int]] = {}
        plans = []
        for name, record in found.items():
            if record.array_tasks and record.array_task_id is None:
                reason = "squeue did not show its tasks one by one"
                plans.append(Plan(name, record, Outcome.UNKNOWN, reason))
                continue
            plan = self.order.action.plan(name, record, history.memory(record))
            if record.job_id not in counted:
                counted[record.job_id] = Counter(map(expected, rows[record.job_id]))
            plans.append(replace(plan, rows=counted[record.job_id][expected(record)]))
        return plans

    def _started(self, journal: Journal, plans: Sequence[Plan]) -> List[Tuple[str, Script]]:
        """Record every script in the journal, before any of them is started."""
        if not plans:
            return []
        by_id = {plan.job_id: plan for plan in plans}
        scripts = [
            (secrets.token_hex(8), script)
            for script in self.order.action.scripts(plans, fresh_marks())
        ]
        journal.compact(time.time())
        journal.start(
            [
                [self._entry(nonce, script, by_id[member]) for member in script.members]
                for nonce, script in scripts
            ]
        )
        return scripts

    def _entry(self, nonce: str, script: Script, plan: Plan) -> Entry:
        submitted, restarts = plan.before.submit_time, plan.before.restarts
        alone = script.calls == (Call.REQUEUE,)
        return Entry(
            nonce=nonce,
            action="requeue_only" if alone else self.order.action.name,
            job_id=plan.key,
            cluster=self.order.cluster,
            submitted=submitted if isinstance(submitted, int) else None,
            instance=self.order.action.number,
            begin=plan.begin,
            restarts=restarts if isinstance(restarts, int) else None,
            deadline=self.deadline,
            until=self.until,
        )

    def _send(
        self, scripts: Sequence[Tuple[str, Script]], plans: Sequence[Plan], report: Report
    ) -> None:
        nonces = {member: nonce for nonce, script in scripts for member in script.members}
        known = self._run_scripts(scripts)
        seen = self._look([plan.key for plan in plans])
        done: Dict[str, Dict[str, str]] = {}
        for plan in plans:
            made = judged(self.order.action, plan, known[plan.job_id], seen[plan.key])
            report.results[plan.job_id] = made
            nonce = nonces[plan.job_id]
            done.setdefault(nonce, {})[plan.key] = _for_journal(made)
            if _is_open(made) and self.bound.call_bound is not None:
                made["may_land_until"] = math.ceil(self.until + self.bound.offset)
                aim = self.order.action.aim(plan.before)
                report.open[plan.job_id] = dict(aim, nonce=nonce, key=plan.key)
        self._record(done)

    def _run_scripts(self, scripts: Sequence[Tuple[str, Script]]) -> Dict[str, Known]:
        single = [one for one in scripts if len(one[1].calls) > 1]
        lists = [one for one in scripts if len(one[1].calls) == 1]
        known: Dict[str, Known] = {}
        for one in lists:
            known.update(self._run_script(one))
        if single:
            with ThreadPoolExecutor(max_workers=min(AT_ONCE, len(single))) as pool:
                for found in pool.map(self._run_script, single):
                    known.update(found)
        return known

    def _run_script(self, one: Tuple[str, Script]) -> Dict[str, Known]:
        nonce, script = one
        calls = len(script.calls) + 1
        patience = max(0.0, self.deadline - time.time()) + calls * (KILL_AFTER + 1)
        end = self.commands.run_detached(script.argv(nonce, self.deadline), patience)
        return judge(Ended(script, nonce, end.status, end.stdout, end.stderr, end.not_started))

    def _look(self, keys: Sequence[str]) -> Dict[str, Seen]:
        """The jobs as slurmctld shows them now."""
        seen = dict.fromkeys(keys, Seen())
        try:
            lookups = read_jobs(self.run, [parse_job_id(one) for one in keys])
        except SlurmError:
            return seen
        for key, lookup in lookups.items():
            seen[key] = Seen(lookup.record, lookup.known is Answer.NO)
        return seen

    def _record(self, outcomes: Mapping[str, Mapping[str, str]]) -> None:
        """Put outcomes into the journal. What can't be written stays in flight there."""
        if not outcomes or self.order.check:
            return
        try:
            with self.journal as journal:
                journal.end(outcomes)
        except SlurmError as error:
            self.journal.warnings.append(error.message)

    def _report_bits(self, report: Report, history: History, found: _Found) -> None:
        """Warn of requeue bits that earlier runs left set, where they still are."""
        left = [
            one for one in history.bits() if parse_job_id(one.job_id).may_be_acted_on is Answer.YES
        ]
        if not left:
            return
        restores = self.order.action.name == "restore"
        told = {record.id_text for record in found.values()} if restores else set()
        seen = self._look([one.job_id for one in left])
        off: Dict[str, Dict[str, str]] = {}
        still = []
        for one in left:
            record = seen[one.job_id].record
            if seen[one.job_id].gone or (record is not None and record.requeue is Answer.NO):
                off.setdefault(one.nonce, {})[one.job_id] = BIT_OFF
            elif record is not None and record.requeue is Answer.YES and one.job_id not in told:
                still.append(one.job_id)
        self._record(off)
        if still:
            what = "A requeue of %s left its requeue bit set: run job_restore" % _some(still)
            report.warnings.append(what)

    def _settle(self, report: Report, wait: float) -> bool:
        """Read what is open until it is settled; whether there is no use in going on."""
        end = time.monotonic() + wait
        pauses = iter(PAUSES)
        pause = 0.0
        done: Dict[str, Dict[str, str]] = {}
        while report.open:
            over = time.time() > self.until
            seen = self._look([aim["key"] for aim in report.open.values()])
            for job_id, aim in list(report.open.items()):
                made = self._settled(report.results[job_id], aim, seen[aim["key"]], over)
                report.results[job_id] = made
                if made["settled"] and not _is_open(made):
                    done.setdefault(aim["nonce"], {})[aim["key"]] = _for_journal(made)
                    del report.open[job_id]
            pause = next(pauses, pause or PAUSES[-1])
            if not report.open or time.monotonic() + pause > end:
                break
            time.sleep(pause)
        self._record(done)
        if not report.open or time.time() <= self.until + GRACE:
            return False
        for job_id in report.open:
            reason = "nothing can land any more, but slurmctld could not be asked"
            report.results[job_id]["reason"] = reason
        return True

    def _settled(
        self, made: JobResult, aim: Mapping[str, Any], seen: Seen, over: bool
    ) -> JobResult:
        after = {} if seen.record is None else view(self.order.action, seen.record)
        return settle(made, aim, seen, over, after)


def _is_open(made: Mapping[str, Any]) -> bool:
    """Whether a later read may tell more."""
    doubtful = made["requeue_bit_left"] == Answer.UNKNOWN.value
    return doubtful or (made["outcome"] == Outcome.UNKNOWN.value and not made["settled"])


def _named(asked: JobId, records: Sequence[JobRecord]) -> Dict[str, JobRecord]:
    """Records by the id of their result: as the user wrote it, where that means one record."""
    if len(records) == 1 and asked.kind is not IdKind.ARRAY_TASKS:
        return {asked.text: records[0]}
    return {record.id_text: record for record in records}


def _for_journal(made: Mapping[str, Any]) -> str:
    """A result's outcome as later runs need it: what may still set the bit is unknown to them."""
    if made["requeue_bit_left"] == Answer.YES.value:
        return BIT_LEFT
    return Outcome.UNKNOWN.value if _is_open(made) else str(made["outcome"])


def _some(job_ids: Sequence[str]) -> str:
    if len(job_ids) == 1:
        return "job %s" % job_ids[0]
    more = ", …" if len(job_ids) > 5 else ""
    return "%d jobs (%s%s)" % (len(job_ids), ", ".join(job_ids[:5]), more)

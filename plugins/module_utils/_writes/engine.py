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
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

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
    JobLookup,
    JobRecord,
    RecordIndex,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import fresh_marks
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import (
    Selection,
    read_jobs,
    read_queue,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import Coarse
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.history import (
    History,
    array_rows,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import (
    BIT_CLEARED,
    BIT_LEFT,
    TAKEN,
    Entry,
    Journal,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.judge import (
    Ended,
    Known,
    judge,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import (
    Call,
    Outcome,
    Status,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import (
    Action,
    Plan,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.results import (
    JobResult,
    Seen,
    ended,
    judged,
    planned,
    result,
    settle,
    without_bound,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import Script

#: Scripts that requeue one job each and run at the same time.
AT_ONCE = 8

#: Seconds after the landing bound for which slurmctld is still asked, if it does not answer.
GRACE = 30

_LEFT_SET = "left its requeue bit set"
_SET_AGAIN = "cleared the requeue bit, which is set again"

#: The pauses between two reads of a job that is not settled, in seconds; the last one is kept.
PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0)

#: The same while jobs end: slurmctld forgets those that have after MinJobAge, 2 s at least.
END_PAUSES = (0.2, 0.5, 1.0)


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
    """What a task asks for. ``deadline`` is on the Ansible controller's clock, in epoch seconds.

    ``wait_limit``: seconds to wait until the jobs have ended, None for not at all.
    """

    action: Action
    jobs: Sequence[str]
    selection: Optional[Selection]
    deadline: float
    settle: bool
    check: bool
    cluster: str
    wait_limit: Optional[float] = None


@dataclass
class Report:
    """What the rounds so far came to.

    ``results`` by the jobs' ids; ``open`` are those that are not settled, with what they aim at;
    ``later`` those that nothing was sent for yet, since an earlier write of them may still land.
    ``end_by`` is when it is not waited any longer for jobs to end, on the host's clock.
    """

    results: Dict[str, JobResult] = field(default_factory=dict)
    open: Dict[str, Dict[str, Any]] = field(default_factory=dict)
    later: List[str] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)
    waiting_for: str = ""
    until: Optional[float] = None
    end_by: Optional[float] = None

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to wait for."""
        return not self.waiting_for

    @property
    def alive(self) -> List[str]:
        """The jobs that are to end, and are not known to have.

        A job of which a newer execution is there is left alone, and is none of them.
        """
        return [
            job_id
            for job_id, made in self.results.items()
            if _is_to_end(made) and ended(made["after"]) is not Answer.YES
        ]

    def wait(self, what: str, until: float) -> None:
        """Go on with another round, for one more reason."""
        self.waiting_for = "%s; %s" % (self.waiting_for, what) if self.waiting_for else what
        self.until = until if self.until is None else max(until, self.until)


_Found = Mapping[str, JobRecord]
_Rows = Mapping[int, Sequence[JobRecord]]


@dataclass(frozen=True)
class _Read:
    """The jobs by the ids of their results, all rows by the number of their record, and what
    slurmctld shows of each id that was asked for.
    """

    found: _Found
    rows: _Rows
    lookups: Sequence[JobLookup] = ()


class Writer:
    """Carries out one order on this host."""

    def __init__(self, commands: Commands, order: Order, bound: Bound, journal: Journal) -> None:
        self.commands, self.order, self.bound, self.journal = commands, order, bound, journal
        self.run = commands.run
        self.deadline = bound.on_host(order.deadline)
        until = bound.until(self.deadline)
        #: Without a bound (openings and cancellings are sent then), what is unknown stays so.
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
        if report.end_by is not None:
            self._await_ends(report, wait)
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
        if self.order.wait_limit is not None and not self.order.check and report.finished:
            self._wait_for_ends(report, self.order.wait_limit)
        return report

    def _wait_for_ends(self, report: Report, limit: float) -> None:
        """Go on with another round while jobs have not ended, and the limit has not passed."""
        if report.end_by is None:
            report.end_by = time.time() + limit
        living = self._living(report)
        if living and time.time() < report.end_by:
            report.wait("%s did not end yet" % _some(living), report.end_by)

    @staticmethod
    def _living(report: Report) -> List[str]:
        """Those whose end may yet be seen."""
        return [one for one in report.alive if report.results[one]["after"] is not None]

    def _await_ends(self, report: Report, wait: float) -> None:
        """Read the jobs that have not ended until they have, or ``wait`` seconds are over."""
        end = min(time.monotonic() + wait, time.monotonic() + (report.end_by or 0) - time.time())
        pauses = iter(END_PAUSES)
        pause = 0.0
        living = self._living(report)
        while living:
            for job_id, seen in self._look(living).items():
                made = report.results[job_id]
                if seen.record is not None or seen.gone:
                    made["after"] = seen.view(self.order.action)
                if made["after"] is None:
                    made["reason"] += "; slurmctld does not show it any more"
            living = self._living(report)
            pause = next(pauses, pause or END_PAUSES[-1])
            if time.monotonic() + pause > end:
                break
            time.sleep(pause)

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
        # What may land after this is in flight, though its bound has passed when the lock is had.
        now = time.time()
        read = self._read(report, names)
        whole = self._whole(read.found)
        scripts: List[Tuple[str, Script]] = []
        with self.journal as journal:
            history = History(journal.entries(), self.order.cluster, now)
            plans = self._plans(read, history, whole)
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
        if self.order.action.ends:
            self._tell_over(report, history, read.lookups)
        self._record(history.landed(plans))
        self._report_bits(report, history, read.found)
        if scripts:
            self._send(scripts, ready, report)

    def _flying(self, made: JobResult, entry: Entry) -> JobResult:
        reason = "an earlier %s may still land; nothing was sent" % entry.action
        waiting = result(made["job_id"], Outcome.UNKNOWN, reason)
        waiting.update(before=made["before"], after=made["before"])
        waiting["may_land_until"] = math.ceil(entry.until + self.bound.offset)
        return waiting

    def _whole(self, found: _Found) -> Set[int]:
        """Heterogeneous jobs of which all components that have not ended are to end; else none."""
        leaders = {record.het_job_id for record in found.values()} - {None}
        if not (leaders and self.order.action.ends):
            return set()
        named = {record.id_text for record in found.values()}
        lookups = read_jobs(self.run, [parse_job_id(str(one)) for one in leaders])
        return {
            lookup.asked.job or 0
            for lookup in lookups.values()
            if lookup.trusted
            and all(
                record.id_text in named or record.state.coarse is Coarse.ENDED
                for record in lookup.records
            )
        }

    def _tell_over(self, report: Report, history: History, lookups: Sequence[JobLookup]) -> None:
        """A second cancelling of tasks of which the first has left no trace changes nothing."""
        for lookup in lookups:
            tasks = history.ended_tasks(lookup)
            if tasks:
                report.results.pop(lookup.asked.text, None)
            for task in tasks:
                reason = "its array is shown without it: the task has ended"
                made = result(task, Outcome.UNCHANGED, reason)
                seen = Seen(gone=True, left_array=True).view(self.order.action)
                made.update(before=seen, after=seen)
                report.results[task] = made

    def _read(self, report: Report, names: Optional[Sequence[str]]) -> _Read:
        """What there is. A job that is named twice counts once, by its first name."""
        if names is None:
            queue = read_queue(
                self.run, self.order.selection or Selection(), self.order.action.reads
            )
            every = RecordIndex(queue.records).rows
            return _Read({record.id_text: record for record in queue.records}, every)
        rows: Dict[int, Sequence[JobRecord]] = {}
        answer: _Rows = {}
        ids = require_job_ids(dict.fromkeys(names))
        found: Dict[str, JobRecord] = {}
        lookups: List[JobLookup] = []
        reads = self.order.action.reads
        for text, lookup in (read_jobs(self.run, ids, reads) if ids else {}).items():
            if lookup.rows is not answer:  # all ids of one answer share its rows
                answer = lookup.rows
                rows.update(answer)
            lookups.append(lookup)
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
        return _Read({name: found[name] for name in names_of.values()}, rows, lookups)

    def _plans(self, read: _Read, history: History, whole: Set[int]) -> List[Plan]:
        expected = self.order.action.expected
        counted: Dict[int, Dict[str, int]] = {}
        plans = []
        for name, record in read.found.items():
            if record.array_tasks and record.array_task_id is None:
                reason = "squeue did not show its tasks one by one"
                plans.append(Plan(name, record, Outcome.UNKNOWN, reason))
                continue
            memory = replace(history.memory(record), whole=record.het_job_id in whole)
            plan = self.order.action.plan(name, record, memory)
            if record.job_id not in counted:
                counted[record.job_id] = Counter(map(expected, read.rows[record.job_id]))
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
            if _is_open(made) and self.bound.call_bound is None:
                made["reason"] = without_bound(made["reason"])
            elif _is_open(made):
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
            gone = lookup.known is Answer.NO
            seen[key] = Seen(lookup.record, gone, gone and bool(array_rows(lookup)))
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
        """Warn of requeue bits that are set after what earlier runs did."""
        left = [
            one for one in history.bits() if parse_job_id(one.job_id).may_be_acted_on is Answer.YES
        ]
        if not left:
            return
        restores = self.order.action.name == "restore"
        seen = {record.id_text: Seen(record) for record in found.values()}
        told = set(seen) if restores else set()
        seen.update(self._look([one.job_id for one in left if one.job_id not in seen]))
        off: Dict[str, Dict[str, str]] = {}
        still: Dict[Tuple[str, str], List[str]] = {}
        for one in left:
            record = seen[one.job_id].record
            bit = Answer.UNKNOWN if record is None else record.requeue
            if seen[one.job_id].gone or (bit is Answer.NO and history.stays_off(one)):
                off.setdefault(one.nonce, {})[one.job_id] = one.with_bit_off
            elif bit is Answer.YES and one.job_id not in told:
                what = _SET_AGAIN if one.bit_was_cleared else _LEFT_SET
                who = "restore" if one.action == "restore" else "requeue"
                still.setdefault((who, what), []).append(one.job_id)
        self._record(off)
        for (who, what), jobs in still.items():
            text = "A %s of %s %s: run job_restore" % (who, _some(jobs), what)
            report.warnings.append(text)

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
        return settle(made, aim, seen, over, seen.view(self.order.action))


def _is_to_end(made: Mapping[str, Any]) -> bool:
    """Whether a cancelling has left a job that ends, or found it so."""
    was_ending = (made["before"] or {}).get("ending") == Answer.YES.value
    unchanged = made["outcome"] == Outcome.UNCHANGED.value
    return made["outcome"] == Outcome.APPLIED.value or (unchanged and was_ending)


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
    if _is_open(made):
        return Outcome.UNKNOWN.value
    if made["outcome"] == Outcome.UNKNOWN.value:
        return TAKEN
    set_first = {"call": Call.SET_BIT.value, "status": Status.SUCCESS} in made["calls"]
    done = made["outcome"] == Outcome.APPLIED.value
    return BIT_CLEARED if set_first and not done else str(made["outcome"])


def _some(job_ids: Sequence[str]) -> str:
    if len(job_ids) == 1:
        return "job %s" % job_ids[0]
    more = ", …" if len(job_ids) > 5 else ""
    return "%d jobs (%s%s)" % (len(job_ids), ", ".join(job_ids[:5]), more)

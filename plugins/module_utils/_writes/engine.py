# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read, plan, send, read, judge: one round of a write. Private to the collection."""

from __future__ import annotations

import math
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
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
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import JobRecord
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import fresh_marks
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import (
    Selection,
    read_jobs,
    read_queue,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import (
    BIT_LEFT,
    Entry,
    Journal,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.judge import (
    Ended,
    Known,
    judge,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Outcome
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import (
    Action,
    Dispatch,
    Memory,
    Plan,
    Requeue,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.results import (
    JobResult,
    judged,
    planned,
    result,
    settle,
)

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
        return math.floor(controller - self.offset)

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
    """What a round came to: results, and the ids that are not settled with what they aim at."""

    results: List[JobResult]
    open: Dict[str, Dict[str, Any]] = field(default_factory=dict)
    warnings: List[str] = field(default_factory=list)
    waiting_for: str = ""
    until: Optional[float] = None

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to wait for."""
        return not self.waiting_for


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
        """The first round: everything but settling. Raises SlurmError when nothing can be said.

        While an earlier write of the same jobs may still land, nothing is sent for any of them: the
        report says what is waited for, and this is to be called again.
        """
        lookups, missing = self._read()
        with self.journal as journal:
            entries = [one for one in journal.entries() if one.cluster == self.order.cluster]
            plans = self._plans(lookups, entries)
            flying = in_flight(entries, self.order.action, plans, time.time())
            ready = [plan for plan in plans if plan.sends and plan.job_id not in flying]
            hold_back = [plan for plan in plans if plan.job_id in flying]
            if hold_back and self._may_wait():
                return self._wait_for(hold_back, flying)
            dispatches: List[Tuple[str, Dispatch]] = []
            if ready and not self.order.check:
                dispatches = self._started(journal, ready)
            warnings = list(dict.fromkeys(journal.warnings))
            left = bits_left(entries, time.time())
        results = {plan.job_id: planned(self.order.action, plan) for plan in plans}
        for plan in hold_back:
            results[plan.job_id] = self._flying(plan, flying[plan.job_id])
        report = Report(missing, warnings=warnings + self._bits(left, lookups))
        if dispatches:
            self._send(dispatches, ready, results, report)
        report.results = [*results.values(), *missing]
        return report

    def _may_wait(self) -> bool:
        return self.order.settle and not self.order.check and time.time() < self.deadline

    def _wait_for(self, plans: Sequence[Plan], flying: Mapping[str, Entry]) -> Report:
        until = max(flying[plan.job_id].until for plan in plans)
        what = "an earlier write of %s may still land" % _some([plan.job_id for plan in plans])
        return Report([], waiting_for=what, until=float(min(until, self.deadline)))

    def _flying(self, plan: Plan, entry: Entry) -> JobResult:
        reason = "an earlier %s may still land; nothing was sent" % entry.action
        made = planned(self.order.action, plan)
        made.update(result(plan.job_id, Outcome.UNKNOWN, reason), before=made["before"])
        made["may_land_until"] = math.ceil(entry.until + self.bound.offset)
        return made

    def _read(self) -> Tuple[Dict[str, JobRecord], List[JobResult]]:
        if self.order.selection is not None:
            queue = read_queue(self.run, self.order.selection)
            return {record.id_text: record for record in queue.records}, []
        ids = require_job_ids(dict.fromkeys(self.order.jobs))
        found: Dict[str, JobRecord] = {}
        missing: List[JobResult] = []
        for text, lookup in (read_jobs(self.run, ids) if ids else {}).items():
            if lookup.known is Answer.YES:
                found.update(_named(lookup.asked, lookup.records))
            elif lookup.known is Answer.NO:
                reason = "slurmctld shows no such job (with PrivateData=jobs it hides other users')"
                missing.append(result(text, Outcome.NOT_FOUND, reason, FailureClass.JOB_UNKNOWN))
            else:
                reason = "squeue did not show it, and complained"
                missing.append(result(text, Outcome.UNKNOWN, reason))
        return found, missing

    def _plans(self, found: Mapping[str, JobRecord], entries: Sequence[Entry]) -> List[Plan]:
        memories = {one.job_id: one for one in entries}
        begins = {
            one.job_id: one for one in entries if one.action == "hold" and one.outcome != "rejected"
        }
        bits = {one.job_id for one in bits_left(entries, time.time(), settled_only=False)}
        plans = []
        for job_id, record in found.items():
            held = begins.get(job_id)
            known = held is not None and held.submitted == record.submit_time
            memory = Memory(
                begin=held.begin if held is not None and known else 0,
                bit_set=job_id in bits and job_id in memories,
            )
            plans.append(self.order.action.plan(job_id, record, memory))
        return plans

    def _started(self, journal: Journal, plans: Sequence[Plan]) -> List[Tuple[str, Dispatch]]:
        """Record every script in the journal, before any of them is started."""
        by_id = {plan.job_id: plan for plan in plans}
        dispatches = []
        journal.compact(time.time())
        for dispatch in self.order.action.scripts(plans, fresh_marks()):
            nonce = secrets.token_hex(8)
            entries = [
                self._entry(nonce, dispatch, by_id[member])
                for address in dispatch.addresses
                for member in address.members
            ]
            journal.start(entries)
            dispatches.append((nonce, dispatch))
        return dispatches

    def _entry(self, nonce: str, dispatch: Dispatch, plan: Plan) -> Entry:
        record = plan.before
        submitted = record.submit_time if record else None
        restarts = record.restarts if record else None
        name = self.order.action.name
        if isinstance(self.order.action, Requeue) and len(dispatch.script.calls) == 1:
            name = "requeue_only"
        return Entry(
            nonce=nonce,
            action=name,
            job_id=plan.job_id,
            cluster=self.order.cluster,
            submitted=submitted if isinstance(submitted, int) else None,
            instance=self.order.action.number,
            begin=plan.begin,
            restarts=restarts if isinstance(restarts, int) else None,
            deadline=self.deadline,
            until=self.until,
        )

    def _send(
        self,
        dispatches: Sequence[Tuple[str, Dispatch]],
        plans: Sequence[Plan],
        results: Dict[str, JobResult],
        report: Report,
    ) -> None:
        nonces = {
            member: nonce
            for nonce, dispatch in dispatches
            for address in dispatch.addresses
            for member in address.members
        }
        known = self._run_scripts(dispatches)
        after, read = self._after([plan.job_id for plan in plans])
        for plan in plans:
            made = judged(self.order.action, plan, known[plan.job_id], after.get(plan.job_id), read)
            results[plan.job_id] = made
            if made["outcome"] == Outcome.UNKNOWN.value or _bit_open(made):
                assert plan.before is not None
                aim = dict(self.order.action.aim(plan.before), nonce=nonces[plan.job_id])
                self._leave_open(made, aim, report)
        self._record({one: (nonces[one], results[one]) for one in nonces})

    def _leave_open(self, made: JobResult, aim: Dict[str, Any], report: Report) -> None:
        if self.bound.call_bound is not None:
            made["may_land_until"] = math.ceil(self.until + self.bound.offset)
            report.open[made["job_id"]] = aim
            if self.order.settle:
                report.waiting_for = "%d jobs are not settled" % len(report.open)
                report.until = float(self.until)

    def _run_scripts(self, dispatches: Sequence[Tuple[str, Dispatch]]) -> Dict[str, Known]:
        single = [one for one in dispatches if len(one[1].script.calls) > 1]
        lists = [one for one in dispatches if len(one[1].script.calls) == 1]
        known: Dict[str, Known] = {}
        for one in lists:
            known.update(self._run_script(one))
        if single:
            with ThreadPoolExecutor(max_workers=min(AT_ONCE, len(single))) as pool:
                for found in pool.map(self._run_script, single):
                    known.update(found)
        return known

    def _run_script(self, one: Tuple[str, Dispatch]) -> Dict[str, Known]:
        nonce, dispatch = one
        script = dispatch.script
        calls = len(script.calls) + 1
        patience = max(0.0, self.deadline - time.time()) + calls * (KILL_AFTER + 1)
        ended = self.commands.run_detached(script.argv(nonce, self.deadline), patience)
        found = judge(Ended(script, nonce, ended.status, ended.stdout, ended.stderr))
        return {
            member: found[address.text]
            for address in dispatch.addresses
            for member in address.members
        }

    def _after(self, job_ids: Sequence[str]) -> Tuple[Dict[str, JobRecord], bool]:
        """The jobs as slurmctld shows them now, and whether it could be asked."""
        try:
            lookups = read_jobs(self.run, [parse_job_id(one) for one in job_ids])
        except SlurmError:
            return {}, False
        found = {text: lookup.record for text, lookup in lookups.items()}
        return {text: record for text, record in found.items() if record is not None}, True

    def _record(self, settled: Mapping[str, Tuple[str, JobResult]]) -> None:
        """Put outcomes into the journal. What can't be written stays in flight there."""
        by_nonce: Dict[str, Dict[str, str]] = {}
        for job_id, (nonce, made) in settled.items():
            by_nonce.setdefault(nonce, {})[job_id] = _for_journal(made)
        if not by_nonce:
            return
        try:
            with self.journal as journal:
                for nonce, outcomes in by_nonce.items():
                    journal.end(nonce, outcomes)
        except SlurmError as error:
            self.journal.warnings.append(error.message)

    def _bits(self, left: Sequence[Entry], found: Mapping[str, JobRecord]) -> List[str]:
        """Warnings about requeue bits that earlier runs left set, where they still are."""
        if not left:
            return []
        seen, _read = self._after([one.job_id for one in left])
        seen.update(found)
        return [
            "A requeue of job %s was cut off, and its requeue bit is still set: run job_restore"
            % one.job_id
            for one in left
            if one.job_id in seen and seen[one.job_id].requeue is Answer.YES
        ]

    def more(
        self, results: Sequence[JobResult], aims: Mapping[str, Mapping[str, Any]], wait: float
    ) -> Report:
        """A later round: read what is not settled until it is, or ``wait`` seconds are over."""
        by_id = {one["job_id"]: one for one in results}
        aims = dict(aims)
        end = time.monotonic() + wait
        pauses = iter(PAUSES)
        pause = 0.0
        done: Dict[str, Tuple[str, JobResult]] = {}
        while aims:
            over = time.time() > self.until
            seen, read = self._after(list(aims))
            if read:
                for job_id in list(aims):
                    by_id[job_id] = settle(by_id[job_id], aims[job_id], seen.get(job_id), over)
                    if by_id[job_id]["settled"] and not _bit_open(by_id[job_id]):
                        done[job_id] = (aims.pop(job_id)["nonce"], by_id[job_id])
            pause = next(pauses, pause or PAUSES[-1])
            if not aims or time.monotonic() + pause > end:
                break
            time.sleep(pause)
        self._record(done)
        left = {one: dict(aim) for one, aim in aims.items()}
        report = Report(list(by_id.values()), left, list(self.journal.warnings))
        if aims and time.time() > self.until + GRACE:
            for one in report.results:
                if one["job_id"] in aims:
                    one["reason"] = "nothing can land any more, but slurmctld could not be asked"
        elif aims:
            report.waiting_for = "%d jobs are not settled" % len(aims)
            report.until = float(self.until)
        return report


def _bit_open(made: Mapping[str, Any]) -> bool:
    return bool(made["requeue_bit_left"] == Answer.UNKNOWN.value)


def _named(asked: JobId, records: Sequence[JobRecord]) -> Dict[str, JobRecord]:
    """Records by the id of their result: as the user wrote it, where that means one record."""
    if len(records) == 1 and asked.kind is not IdKind.ARRAY_TASKS:
        return {asked.text: records[0]}
    return {record.id_text: record for record in records}


def _for_journal(made: Mapping[str, Any]) -> str:
    if made["requeue_bit_left"] != Answer.NO.value:
        return BIT_LEFT
    return str(made["outcome"])


def in_flight(
    entries: Sequence[Entry], action: Action, plans: Sequence[Plan], now: float
) -> Dict[str, Entry]:
    """Of these plans, the ones whose job has an earlier write that may still land.

    An earlier write of the very same change can't undo what is already there.
    """
    flying = {one.job_id: one for one in entries if one.in_flight(now)}
    found: Dict[str, Entry] = {}
    for plan in plans:
        entry = flying.get(plan.job_id)
        if entry is None:
            continue
        same = (entry.action, entry.instance) == (action.name, action.number)
        if plan.sends or not (same and plan.outcome is Outcome.UNCHANGED):
            found[plan.job_id] = entry
    return found


def bits_left(entries: Sequence[Entry], now: float, settled_only: bool = True) -> List[Entry]:
    """Requeues that may have left the bit set: cut off, or known to have.

    With ``settled_only`` those that are still in flight are left out.
    """
    latest: Dict[str, Entry] = {}
    for entry in entries:
        if entry.action in ("requeue", "restore"):
            latest[entry.job_id] = entry
    return [
        one
        for one in latest.values()
        if one.action == "requeue"
        and one.outcome in (None, Outcome.UNKNOWN.value, BIT_LEFT)
        and not (settled_only and one.in_flight(now))
    ]


def _some(job_ids: Sequence[str]) -> str:
    shown = ", ".join(job_ids[:5])
    return (
        "job %s" % shown
        if len(job_ids) == 1
        else "%d jobs (%s%s)"
        % (
            len(job_ids),
            shown,
            ", …" if len(job_ids) > 5 else "",
        )
    )

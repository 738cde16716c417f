# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deliberately broken variants of the rules, each of which the exploration has to find.

A rule is replaced while it is explored, in this process only; nothing in the product can be
switched off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple
from unittest import mock

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import JobRecord
from ansible_collections.hpcops.slurm.plugins.module_utils._writes import (
    engine,
    history,
    journal,
    judge,
    plans,
    reader,
    refusals,
    results,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import Entry
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.judge import Known, Proof
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Call, Outcome
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import (
    Hold,
    Memory,
    Plan,
    Release,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.reader import CallReport
from ansible_collections.hpcops.slurm.tests.model.protocol import Rules

Patches = Callable[[], list[Any]]


class Mutation(NamedTuple):
    """A broken rule: what is replaced, and the invariants of which it has to break one.

    ``where`` are the names of the cases that are tried, in this order, up to a ``bound``.
    """

    name: str
    breaks: tuple[str, ...]
    where: tuple[str, ...]
    patches: Patches = list
    rules: Rules = Rules()
    bound: int = 1


def _attribute(place: Any, name: str, value: Any) -> Any:
    return mock.patch.object(place, name, value)


def _shorter_bound() -> list[Any]:
    right = engine.Bound.until

    def until(self: engine.Bound, deadline: float) -> float | None:
        known = right(self, deadline)
        return None if known is None else known - 3

    return [_attribute(engine.Bound, "until", until)]


def _unknown_is_refusal() -> list[Any]:
    right = judge.judge_call

    def judge_call(*arguments: Any) -> dict[str, Known]:
        return {
            member: replace(known, proof=Proof.REFUSED, outcome=Outcome.REJECTED)
            if known.proof is Proof.NONE
            else known
            for member, known in right(*arguments).items()
        }

    return [_attribute(judge, "judge_call", judge_call)]


def _settled_at_once() -> list[Any]:
    right = results.settle

    def settle(made: Any, aim: Any, seen: Any, over: bool, after: Any) -> Any:
        return right(made, aim, seen, True, after)

    return [_attribute(engine, "settle", settle)]


def _missing_clear() -> list[Any]:
    right = judge._requeue

    def requeue(address: Any, member: str, reports: Any) -> Known:
        if [one.number for one in reports] == [1, 2]:
            reports = (*reports, CallReport(3, 0, b""))
        return right(address, member, reports)

    return [_attribute(judge, "_requeue", requeue)]


def _failed_clear() -> list[Any]:
    return [_attribute(judge, "_bit_set", lambda second, third: second)]


def _torn_stream() -> list[Any]:
    right = reader.read_reports

    def read_reports(stream: bytes, nonce: str, exit_status: int | None) -> Any:
        reports = right(stream, nonce, exit_status)
        if isinstance(reports, reader.Unreadable):
            return (CallReport(1, 0, b""),)
        return reports

    return [_attribute(judge, "read_reports", read_reports)]


def _no_look_at_instances() -> list[Any]:
    def plan(self: Release, job_id: str, record: Any, memory: Memory) -> Plan:
        begin = memory.begin or 0
        begin = begin if begin > self.now else 0
        return Plan(job_id, record, None, "lifted", begin=begin)

    return [_attribute(Release, "plan", plan)]


def _accepted(call: Call, text: str) -> Patches:
    def patches() -> list[Any]:
        accepted = dict(refusals.ACCEPTED)
        accepted[call] = (*accepted[call], text)
        kinds = dict(refusals.CLASSES, **{text: FailureClass.UNCLASSIFIED})
        return [
            _attribute(refusals, "ACCEPTED", accepted),
            _attribute(refusals, "CLASSES", kinds),
        ]

    return patches


def _nothing_flies() -> list[Any]:
    return [_attribute(history.History, "flying", lambda self, action, plan: None)]


def _flies_until_deadline() -> list[Any]:
    def in_flight(self: Entry, now: float) -> bool:
        return self.outcome in (None, "unknown") and now < self.deadline

    return [_attribute(Entry, "in_flight", in_flight)]


def _clock_after_read() -> list[Any]:
    right = history.History.__init__

    def init(self: Any, entries: Any, cluster: str, now: float) -> None:
        right(self, entries, cluster, vars(engine)["time"].time())

    return [_attribute(history.History, "__init__", init)]


def _killed_holds_forgotten() -> list[Any]:
    right = journal.holds

    def holds(entries: Any) -> Any:
        return right([one for one in entries if one.outcome is not None])

    return [_attribute(history, "holds", holds)]


def _begin_not_kept() -> list[Any]:
    right = Hold.plan

    def plan(self: Hold, *arguments: Any) -> Plan:
        return replace(right(self, *arguments), begin=0)

    return [_attribute(Hold, "plan", plan)]


def _killed_bits_forgotten() -> list[Any]:
    right = journal.bits_in_doubt

    def bits_in_doubt(entries: Any) -> Any:
        return right([one for one in entries if one.outcome is not None])

    return [_attribute(history, "bits_in_doubt", bits_in_doubt)]


def _no_doubt(action: str) -> Patches:
    def patches() -> list[Any]:
        right = journal.bits_in_doubt

        def bits_in_doubt(entries: Any) -> Any:
            kept = right(entries).items()
            return {
                key: one for key, one in kept if not (one.action == action and one.bit_was_cleared)
            }

        return [_attribute(history, "bits_in_doubt", bits_in_doubt)]

    return patches


def _bit_stays_cleared() -> list[Any]:
    return [_attribute(results, "_came_back", lambda calls, record: False)]


def _submitted_earlier() -> list[Any]:
    def was_submitted_at(self: JobRecord, submitted: Any) -> bool:
        return submitted == self.submit_time or self.restarts != 0

    return [_attribute(JobRecord, "was_submitted_at", was_submitted_at)]


def _requeue_is_one_call() -> list[Any]:
    right = history.landed

    def landed(entry: Entry, record: Any) -> bool:
        action = "requeue_only" if entry.action == "requeue" else entry.action
        return right(replace(entry, action=action), record)

    return [_attribute(history, "landed", landed)]


def _answer_is_believed() -> list[Any]:
    def answered(self: Any, effect: Answer) -> Any:
        return Outcome.APPLIED, self.plan.reason, FailureClass.NONE

    return [
        _attribute(results._Verdict, "_answered", answered),
    ]


def _silence_is_absence() -> list[Any]:
    right = engine.Writer._look

    def look(self: Any, keys: Any) -> Any:
        return {
            key: results.Seen(gone=True) if seen.record is None else seen
            for key, seen in right(self, keys).items()
        }

    def verdict(self: Any) -> Any:
        return self._over() or right_given(self)

    right_given = results._Verdict.given
    return [
        _attribute(engine.Writer, "_look", look),
        _attribute(results._Verdict, "given", verdict),
    ]


def _bit_settled_early() -> list[Any]:
    right = results.settle

    def settle(made: Any, aim: Any, seen: Any, over: bool, after: Any) -> Any:
        bit = made["requeue_bit_left"] == Answer.UNKNOWN.value
        return right(made, aim, seen, over or bit, after)

    return [_attribute(engine, "settle", settle)]


def _no_bound_told() -> list[Any]:
    right = engine.Writer._send

    def send(self: Any, scripts: Any, sent: Any, report: Any) -> None:
        right(self, scripts, sent, report)
        for one in report.results.values():
            one["may_land_until"] = None

    return [_attribute(engine.Writer, "_send", send)]


def _nothing_is_unchanged() -> list[Any]:
    right = Hold.plan

    def plan(self: Hold, *arguments: Any) -> Plan:
        made = right(self, *arguments)
        return replace(made, outcome=None) if made.outcome is Outcome.UNCHANGED else made

    return [_attribute(Hold, "plan", plan)]


def _any_unchanged_will_do() -> list[Any]:
    right = history.History.flying

    def flying(self: Any, action: Any, plan: Plan) -> Any:
        return None if plan.outcome is Outcome.UNCHANGED else right(self, action, plan)

    return [_attribute(history.History, "flying", flying)]


def _changed_since_is_not_applied() -> list[Any]:
    return [
        _attribute(results, "as_before", lambda aim, record: True),
        _attribute(plans, "as_before", lambda aim, record: True),
    ]


def _requeue_again() -> list[Any]:
    return [_attribute(plans, "other_execution", lambda *arguments: None)]


HOLDS = ("hold",)
PAIR = ("hold, release; a begin time of its own",)
REQUEUES = ("requeue", "requeue, restore", "requeue twice")
CRASH = ("requeue, restore; slurmctld crashes",)

MUTATIONS: tuple[Mutation, ...] = (
    Mutation("the landing bound is too short", ("not_applied", "bounded"), HOLDS, _shorter_bound),
    Mutation("an unknown status is a refusal", ("denied",), HOLDS, _unknown_is_refusal),
    Mutation("settled before the bound", ("not_applied", "bounded"), HOLDS, _settled_at_once),
    Mutation("a missing clear call is done", ("bit",), REQUEUES, _missing_clear),
    Mutation("a failed clear call is done", ("bit",), REQUEUES, _failed_clear),
    Mutation("slurmctld took it, says a torn stream", ("applied", "bounded"), HOLDS, _torn_stream),
    Mutation(
        "a release of any instance",
        ("undone", "begin time", "applied", "again"),
        ("release, hold", "release", "hold, release; a begin time of its own"),
        _no_look_at_instances,
    ),
    Mutation(
        "an error of a change that was made is a refusal",
        ("denied",),
        HOLDS,
        _accepted(Call.HOLD, "Requested partition configuration not available now"),
    ),
    Mutation(
        "no answer is a refusal",
        ("denied",),
        HOLDS,
        _accepted(Call.HOLD, "Unexpected message received"),
    ),
    Mutation("journal entries are ignored", ("undone",), PAIR, _nothing_flies),
    Mutation(
        "in flight until the deadline only",
        ("undone",),
        ("hold, not settled, and release",),
        _flies_until_deadline,
    ),
    Mutation(
        "in flight when the lock is had, not when was read", ("undone",), PAIR, _clock_after_read
    ),
    Mutation("holds of killed runs are forgotten", ("begin time",), PAIR, _killed_holds_forgotten),
    Mutation("a hold's begin time is not kept", ("begin time",), PAIR, _begin_not_kept),
    Mutation("bits of killed runs are forgotten", ("bit told",), REQUEUES, _killed_bits_forgotten),
    Mutation(
        "a requeue has landed once the count has risen",
        ("undone",),
        ("requeue, restore",),
        _requeue_is_one_call,
        bound=2,
    ),
    Mutation("no error means that it was done", ("applied",), REQUEUES, _answer_is_believed),
    Mutation("no answer of squeue is absence", ("denied",), HOLDS, _silence_is_absence),
    Mutation("a bit is settled before the bound", ("bit",), REQUEUES, _bit_settled_early),
    Mutation("unknown without a bound", ("bounded",), ("hold, not settled",), _no_bound_told),
    Mutation(
        "a hold that is in place is placed", ("again",), ("hold twice",), _nothing_is_unchanged
    ),
    Mutation("unchanged, though the contrary may land", ("undone",), PAIR, _any_unchanged_will_do),
    Mutation(
        "what was changed since never landed",
        ("not_applied",),
        ("hold",),
        _changed_since_is_not_applied,
    ),
    Mutation(
        "the execution is not looked at",
        ("execution",),
        ("requeue of an execution that is over",),
        _requeue_again,
    ),
    Mutation(
        "scripts don't look",
        ("undone", "begin time", "applied"),
        ("hold, release; a begin time of its own", "release, hold", "hold, a higher hold"),
        rules=Rules(looks=False),
    ),
    Mutation(
        "scripts don't mind the deadline",
        ("not_applied", "bounded", "undone", "denied"),
        HOLDS,
        rules=Rules(deadline=False),
    ),
    Mutation(
        "a requeue that was applied leaves no doubt", ("bit told",), CRASH, _no_doubt("requeue")
    ),
    Mutation("a restore leaves no doubt", ("bit told",), CRASH, _no_doubt("restore")),
    Mutation("a bit that was cleared is off", ("bit",), CRASH, _bit_stays_cleared),
    Mutation("a job submitted earlier is another one", ("applied",), CRASH, _submitted_earlier),
    Mutation("requeue without incomplete", ("completed",), REQUEUES, rules=Rules(incomplete=False)),
    Mutation(
        "scripts don't clear the bit",
        ("bit", "bit told"),
        REQUEUES,
        _missing_clear,
        Rules(clears=False),
    ),
)


@contextmanager
def broken(mutation: Mutation) -> Iterator[None]:
    """The rule is broken inside."""
    with ExitStack() as stack:
        for one in mutation.patches():
            stack.enter_context(one)
        yield

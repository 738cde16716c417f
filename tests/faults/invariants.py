# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold of every result, whatever happened. Pure: results beside what was observed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.hpcops.slurm.tests.faults.observer import Event, Payload

#: Outcomes that say that the change was not made, and won't be.
NEVER = frozenset(("rejected", "expired", "not_run", "not_applied", "stale", "not_found"))

#: The kind of event that each module's change is.
KINDS = {
    "job_hold": "begin",
    "job_release": "begin",
    "job_open": "open",
    "job_requeue": "requeue",
    "job_restore": "bit",
    "job_cancel": "cancel",
}

#: Modules whose changes the log does not tell apart: a requeue's last call clears the bit, too.
ALIKE = {"job_restore": ("job_restore", "job_requeue")}

#: Seconds that log and results may disagree about the order of things next to each other.
CLOSE = 1.0

TITLES = {
    "applied": "no applied that was not in effect",
    "never": "no outcome that denies a change which landed, then or later",
    "unknown": "nothing lands after an unknown's may_land_until, or once it is settled",
    "undone": "no success that an earlier call of the same user's undoes later",
    "sent": "a task that failed before it sent anything changed nothing",
    "again": "the same task again is unchanged",
    "bit": "no requeue bit left set that nothing tells about or that job_restore can't clear",
    "begin": "no begin time of the job's own lost",
    "completed": "no completed job restarted",
    "probe": "no probe job left behind",
}


@dataclass
class Operation:
    """One task, as it was asked for and as it ended.

    ``started`` and ``ended`` in epoch seconds of the host's clock; ``results`` by job, None when
    the task came to no result (its module was killed). ``nothing_sent``: the task itself says so.
    """

    number: int
    cluster: str
    uid: int
    module: str
    options: Mapping[str, Any]
    jobs: Sequence[str]
    faults: Sequence[str] = ()
    started: float = 0.0
    ended: float = 0.0
    results: Mapping[str, Mapping[str, Any]] | None = None
    nothing_sent: bool = False
    #: It ends an episode, and is not counted.
    closing: bool = False
    #: The task before it, when this one is the same once more and nobody interfered.
    repeats: Operation | None = None

    @property
    def instance(self) -> int:
        """The hold's number, 0 for none."""
        return int(self.options.get("instance", 0))

    def may_clear(self, job: str) -> bool:
        """Whether a requeue's script may clear the bit of the job after this operation's end."""
        if self.module != "job_requeue" or job not in self.jobs:
            return False
        made = (self.results or {}).get(job)
        return made is None or made["outcome"] == "unknown" or made["requeue_bit_left"] != "no"

    def follows(self, earlier: Operation) -> bool:
        """Whether it clears bits, after an earlier operation of the same user's."""
        later = self.number > earlier.number and self.uid == earlier.uid
        return later and self.module == "job_restore"

    def aims_at(self, event: Event) -> bool:
        """Whether the event is of the kind of change that this operation makes."""
        if event.job not in self.jobs or event.kind != KINDS.get(self.module):
            return False
        if self.module == "job_hold":
            return event.instance == self.instance
        if self.module == "job_release":
            return event.instance is None
        if self.module == "job_restore":
            return event.value == "0"
        return True


@dataclass(frozen=True)
class Violation:
    """One broken invariant."""

    invariant: str
    operation: int
    job: str
    text: str

    def __str__(self) -> str:
        return f"{self.invariant}: operation {self.operation}, job {self.job}: {self.text}"


@dataclass
class Observed:
    """What happened on one cluster."""

    events: Sequence[Event]
    payloads: Mapping[str, Payload] = field(default_factory=dict)

    def landed(self, operation: Operation, job: str, others: Iterable[Operation]) -> list[Event]:
        """The operation's own changes of a job, whenever they landed.

        A hold is known by its number, and anything else by who asked for it. What was asked for
        more than once is of the last operation that had begun.
        """
        mine = [
            one
            for one in self.events
            if one.job == job
            and one.uid in (operation.uid, None)
            and operation.aims_at(one)
            and one.when > operation.started - CLOSE
        ]
        if any(one.may_clear(job) for one in others if operation.follows(one)):
            return []  # the log does not tell whose it is
        hold = operation.module == "job_hold"
        later = [
            one.started
            for one in others
            if one.uid == operation.uid
            and one.module in ALIKE.get(operation.module, (operation.module,))
            and (one.instance == operation.instance or not hold)
            and one.number > operation.number
            and job in one.jobs
        ]
        return [one for one in mine if one.when < min(later, default=float("inf"))]

    def ended_by_itself(self, job: str) -> bool:
        """Whether the job's script has come to its end: whatever was true of it is not any more."""
        return job in self.payloads and "done" in self.payloads[job].lines

    def in_effect_once(self, operation: Operation, job: str) -> bool:
        """Whether the change was made by anybody before the operation ended."""
        done = [
            one
            for one in self.events
            if one.job == job and operation.aims_at(one) and one.when <= operation.ended + CLOSE
        ]
        if operation.module == "job_hold":
            return bool(done)
        since = operation.started - CLOSE
        if operation.module == "job_release":
            held = [one for one in self.events if one.job == job]
            since = max(
                (one.when for one in held if one.instance == operation.instance), default=0.0
            )
        return any(one.when >= since for one in done)


def check(operations: Sequence[Operation], observed: Observed) -> list[Violation]:
    """The violations of all operations on one cluster."""
    found: list[Violation] = []
    for operation in operations:
        if operation.module not in KINDS:
            continue
        if operation.nothing_sent:
            found += _nothing_sent(operation, observed, operations)
        for job, made in (operation.results or {}).items():
            found += _result(operation, job, made, observed, operations)
    for job, payload in observed.payloads.items():
        if payload.restarted_after_its_end:
            found.append(Violation("completed", 0, job, " / ".join(payload.lines)))
    return found


def check_bits(left: Iterable[str], told: Iterable[str], still: Iterable[str]) -> list[Violation]:
    """``left``: jobs that shall not have the bit, and had it before the last run of job_restore;
    ``told``: those that a result or a warning named; ``still``: those that have it after that run.
    """
    known = set(told)
    silent = [
        Violation("bit", 0, job, "it was left set, and nothing told about it")
        for job in left
        if job not in known
    ]
    return silent + [Violation("bit", 0, job, "job_restore did not clear it") for job in still]


def check_begins(wanted: Mapping[str, str], shown: Mapping[str, str]) -> list[Violation]:
    """Own begin times of jobs that nobody else has touched, and what squeue shows at the end."""
    return [
        Violation("begin", 0, job, f"squeue shows {shown[job]}, its own is {begin}")
        for job, begin in wanted.items()
        if job in shown and shown[job] != begin
    ]


def _nothing_sent(
    operation: Operation, observed: Observed, operations: Sequence[Operation]
) -> list[Violation]:
    return [
        Violation("sent", operation.number, job, f"{one} though it says that it sent nothing")
        for job in operation.jobs
        for one in observed.landed(operation, job, operations)
    ]


def _result(
    operation: Operation,
    job: str,
    made: Mapping[str, Any],
    observed: Observed,
    operations: Sequence[Operation],
) -> list[Violation]:
    outcome = made["outcome"]
    landed = observed.landed(operation, job, operations)
    kept = [one for one in landed if not one.lost]

    def broken(invariant: str, text: str) -> Violation:
        return Violation(invariant, operation.number, job, f"{outcome} ({made['reason']}): {text}")

    found = []
    if outcome == "applied" and not observed.in_effect_once(operation, job):
        found.append(broken("applied", "slurmctld made no such change by then"))
    if outcome in NEVER and kept:
        found.append(broken("never", f"it landed: {kept[0]}"))
    if outcome == "unknown":
        limit = made["may_land_until"]
        if limit is None and not made["settled"]:
            found.append(broken("unknown", "it has no may_land_until and is not settled"))
        end = operation.ended if limit is None else limit
        late = [one for one in landed if one.when > end + CLOSE]
        if late:
            found.append(broken("unknown", f"it landed after {end:.1f}: {late[0]}"))
    if outcome in ("applied", "unchanged"):
        late = _undone(operation, job, observed, operations)
        if late:
            found.append(broken("undone", f"an earlier call landed after it: {late[0]}"))
    first = (operation.repeats.results or {}).get(job) if operation.repeats else None
    same = outcome == "unchanged" or observed.ended_by_itself(job)
    if first and first["outcome"] in ("applied", "unchanged") and not same:
        found.append(broken("again", f"the same task had just ended with {first['outcome']}"))
    return found


def _undone(
    operation: Operation, job: str, observed: Observed, operations: Sequence[Operation]
) -> list[Event]:
    """Begin times that an earlier operation of the same user's sets after this one's success."""
    if KINDS[operation.module] != "begin":
        return []
    late: list[Event] = []
    for earlier in operations:
        own = earlier.uid == operation.uid and earlier.number < operation.number
        if not own or earlier.module != "job_hold" or job not in earlier.jobs:
            continue
        if (earlier.module, earlier.instance) == (operation.module, operation.instance):
            continue
        landed = observed.landed(earlier, job, operations)
        late += [one for one in landed if one.when > operation.ended + CLOSE]
    return late

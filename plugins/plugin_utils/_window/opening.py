# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an opening window has to do next, and what came of it. Pure. Private to the collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hosts import expand_hosts
from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.jobs import (
    GOOD,
    Job,
    Record,
    by,
    counted,
    details,
    id_order,
    latest,
    some,
    why,
    window_number,
)
from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.manifest import (
    Manifest,
    ids,
    only,
)


class Running(Enum):
    """What is done about jobs that run."""

    LEAVE = "leave"
    WAIT = "wait"
    REQUEUE = "requeue"


@dataclass(frozen=True)
class Wish:
    """What a window is asked to do.

    ``any_bit``: requeue also jobs whose requeue bit is off. ``nodes``: the only nodes on which
    running jobs matter, none for all.
    """

    number: int
    running: Running
    any_bit: bool
    nodes: frozenset[str] = frozenset()

    def concerns(self, job: Job) -> bool:
        """Whether a running job is one that has to go."""
        return job.active and (not self.nodes or job.may_have(self.nodes))


def wish_from(number: object, running: str, any_bit: bool, nodes: str) -> Wish:
    """A wish from the options of a filter; ValueError where one is none."""
    hosts = frozenset(expand_hosts(nodes))
    return Wish(window_number(number), Running(running), bool(any_bit), hosts)


@dataclass(frozen=True)
class Done:
    """The results so far, one list a module, in order."""

    holds: Sequence[Record] = ()
    requeues: Sequence[Record] = ()
    restores: Sequence[Record] = ()

    @property
    def requeued(self) -> set[str]:
        """Jobs of which an execution was ended, or may have been."""
        return {
            str(one["job_id"])
            for one in self.requeues
            if one["outcome"] in ("applied", "unknown") or one["requeue_bit_left"] != "no"
        }

    @property
    def given_up(self) -> set[str]:
        """Jobs that a requeue did not end: they are waited for."""
        return {
            job_id for job_id, one in latest(self.requeues).items() if one["outcome"] not in GOOD
        }

    @property
    def stops(self) -> bool:
        """Whether nothing more may be done: something is not known, or can't be done at all."""
        every = [*self.holds, *self.requeues, *self.restores]
        return any(one["outcome"] in ("unknown", "unsupported") for one in every)

    @property
    def unknown(self) -> list[Record]:
        """The last results of which nothing is known."""
        last = [*latest(self.holds).values(), *latest(self.requeues).values()]
        return [one for one in last if one["outcome"] == "unknown"]

    @property
    def bits_left(self) -> list[str]:
        """Jobs whose requeue bit a requeue left set, or may have, and that no restore has cleared.

        In check mode none is: nothing was sent.
        """
        cleared = {
            str(one["job_id"])
            for one in self.restores
            if one["outcome"] in (*GOOD, "not_found") or one["failure_class"] == "job_finished"
        }
        left = [
            job_id
            for job_id, one in latest(self.requeues).items()
            if one["requeue_bit_left"] != "no"
        ]
        return [job_id for job_id in left if job_id not in cleared]


@dataclass(frozen=True)
class Plan:
    """What there is to do, and what there is to wait for, after one read of the queue."""

    hold: tuple[Job, ...]
    requeue: tuple[Job, ...]
    #: Jobs whose requeue bit an interrupted run may have left set.
    restore: tuple[str, ...]
    held: tuple[Job, ...]
    left: tuple[Job, ...]
    refused: tuple[Job, ...]
    #: Jobs that run, each with the reason why it is not requeued ("" for one that is).
    active: tuple[tuple[Job, str], ...]
    doubtful: tuple[Job, ...]
    #: Whether something can't wait: what was sent back may start again in two minutes.
    urgent: bool

    @property
    def started_before(self) -> int:
        """An instant that all executions to be ended began before, and no later one."""
        return 1 + max((job.started or 0 for job in self.requeue), default=0)

    @property
    def acts(self) -> bool:
        """Whether anything is to be sent."""
        return bool(self.hold or self.requeue or self.restore)


def plan(queue: Sequence[Job], wish: Wish, done: Done, sent_back: Iterable[str] = ()) -> Plan:
    """What to do about the jobs of the window's selection.

    ``sent_back`` are jobs whose requeue bit was off when they were requeued.

    A job that carries the hold of another window is left alone: a hold with a higher number would
    replace it.
    """
    tried = latest(done.holds)
    clear = [job for job in queue if job.hold != "unknown" and job.coarse != "ended"]
    free = [job for job in clear if job.hold is None and not (job.probe and job.gate == "yes")]
    # A job that is being sent back can be held while it still completes.
    back = [job for job in free if job.completing and job.job_id in done.requeued]
    refused = [job for job in free if job.pending and _refused(tried.get(job.job_id))]
    wanted = [job for job in free if job.pending and not _refused(tried.get(job.job_id))]
    active = [(job, _why_not(job, wish, done)) for job in queue if wish.concerns(job)]
    hold = [*wanted, *(job for job in back if job.job_id not in tried)]
    requeue = [job for job, reason in active if not reason]
    bits, restored = set(sent_back), latest([*done.restores, *done.requeues])
    return Plan(
        hold=tuple(hold),
        requeue=tuple(requeue),
        restore=tuple(
            job.job_id
            for job in clear
            if job.job_id in bits and job.requeue == "yes" and job.job_id not in restored
        ),
        held=tuple(job for job in clear if job.hold == wish.number),
        left=tuple(job for job in clear if job.pending and job.hold not in (None, wish.number)),
        refused=tuple(refused),
        active=tuple(active),
        doubtful=tuple(job for job in queue if job.hold == "unknown" and job.coarse != "ended"),
        urgent=bool(requeue) or any(job.job_id in done.requeued for job in hold),
    )


def _refused(result: Record | None) -> bool:
    """Whether slurmctld won't have it held: a job of scrontab, for example.

    One that was running at that moment may be pending again.
    """
    if result is None or result["outcome"] != "rejected":
        return False
    return result["failure_class"] not in ("job_not_pending", "job_finished")


def _why_not(job: Job, wish: Wish, done: Done) -> str:
    """Why a running job is not requeued, "" when it is to be."""
    if wish.running is not Running.REQUEUE:
        return "it is left alone" if wish.running is Running.LEAVE else "it was waited for"
    if job.coarse != "running":
        return "it is %s" % job.word.lower()
    if job.batch != "yes":
        return "only batch jobs can be requeued" if job.batch == "no" else "its kind is unknown"
    if job.job_id in done.given_up:
        return why(latest(done.requeues)[job.job_id])
    if job.requeue == "unknown":
        return "its requeue bit is unknown"
    if job.requeue == "no" and not wish.any_bit:
        return "its requeue bit is off"
    return ""


def as_data(found: Plan, wish: Wish) -> dict[str, Any]:
    """A plan as a playbook reads it."""
    return {
        "hold": [job.job_id for job in found.hold],
        "requeue": [job.job_id for job in found.requeue],
        "restore": list(found.restore),
        "started_before": found.started_before,
        "acts": found.acts,
        "urgent": found.urgent,
        "waits": wish.running is not Running.LEAVE and bool(found.active),
    }


def report(found: Plan, done: Done) -> dict[str, Any]:
    """What came of an opening, after the results for the last plan came in."""
    holds, requeues = latest(done.holds), latest(done.requeues)
    sent = {job.job_id: holds[job.job_id] for job in found.hold if job.job_id in holds}
    held = {job.job_id for job in found.held}
    held |= {job_id for job_id, one in sent.items() if one["outcome"] in GOOD}
    unknown = [one for one in done.unknown if one["job_id"] not in held]
    doubt = {str(one["job_id"]) for one in unknown}
    ended = {job_id for job_id, one in requeues.items() if one["outcome"] in GOOD}
    failed = [
        job
        for job in found.hold
        if job.job_id not in held | doubt and _is_failure(sent.get(job.job_id))
    ]
    return {
        "held": in_order(held),
        "newly_held": _applied(done.holds),
        "requeued": _applied(done.requeues),
        "left": [_seen(job, window=job.hold) for job in found.left],
        "running": [
            _seen(job, state=job.word, why=reason or "it is being sent back")
            for job, reason in found.active
            if reason or job.job_id not in ended
        ],
        "refused": [_seen(job, why=why(holds[job.job_id])) for job in found.refused],
        "not_held": [_seen(job, why=why(sent[job.job_id])) for job in failed],
        "unknown": [
            *map(_result, unknown),
            *(_seen(job, why="its begin time was not readable") for job in found.doubtful),
        ],
        "bits_left": done.bits_left,
        "bits_cleared": _applied(done.restores),
        "still_arriving": found.acts,
    }


def _is_failure(result: Record | None) -> bool:
    """Whether a job that still waits should have been held. One that left the queue need not."""
    return result is not None and result["outcome"] not in (*GOOD, "rejected", "not_found")


def in_order(job_ids: Iterable[str]) -> list[str]:
    """Ids, sorted."""
    return sorted(job_ids, key=id_order)


def _applied(results: Sequence[Record]) -> list[str]:
    return in_order({str(one["job_id"]) for one in results if one["outcome"] == "applied"})


def _seen(job: Job, **more: object) -> dict[str, Any]:
    return {"job_id": job.job_id, "user": job.user, **more}


def _result(one: Record) -> dict[str, Any]:
    until = one.get("may_land_until")
    return {"job_id": one["job_id"], "why": why(one), "may_land_until": until}


def left_by(manifest: Manifest, before: Manifest, data: Mapping[str, Any], done: Done) -> Manifest:
    """The manifest that an opening leaves: what is or was held, and what may come to be.

    ``manifest`` has all that was planned, ``before`` is that of the run before.
    """
    goes_on = bool(before) and before["state"] != "closed"
    jobs = {*data["held"], *(one["job_id"] for one in data["unknown"])}
    requeued = done.requeued
    if goes_on:
        jobs.update(ids(before))
        requeued.update(ids(before, "requeued"))
    return {**only(manifest, jobs, requeued), "state": "opening" if data["unknown"] else "open"}


def headline(data: Mapping[str, Any], wish: Wish, check: bool) -> str:
    """One line for people."""
    parts = [
        "%s held, %d of them by this run"
        % (counted(len(data["held"]), "pending job"), len(data["newly_held"]))
    ]
    for name, text in (
        ("requeued", "requeued"),
        ("left", "left to other windows"),
        ("running", "running"),
        ("refused", "that can't be held"),
        ("not_held", "not held"),
        ("unknown", "unknown"),
    ):
        if data[name]:
            parts.append("%d %s" % (len(data[name]), text))
    if data["still_arriving"] and not check:
        parts.append("jobs were still coming in, run this again to hold them")
    return "window %d%s: %s" % (wish.number, " would be opened" if check else "", ", ".join(parts))


def lines(data: Mapping[str, Any]) -> list[str]:
    """What there is to say about single jobs, for people."""
    left = by(data["left"], "window")
    running = by(data["running"], "why")
    return details(
        [
            *(("left to window %s" % number, jobs) for number, jobs in left.items()),
            *(("running, %s" % reason, jobs) for reason, jobs in running.items()),
        ]
    )


def failure(data: Mapping[str, Any], wish: Wish, remaining_fail: bool) -> str:
    """Why the play has to stop, "" when the window is open."""
    texts = []
    if data["unknown"]:
        texts.append("Nothing is known about %s." % _each(data["unknown"]))
    if data["not_held"]:
        texts.append("Not held: %s." % _each(data["not_held"]))
    if data["bits_left"]:
        jobs = some(data["bits_left"])
        texts.append("The requeue bit may be left set on %s: run this again." % jobs)
    if remaining_fail and data["refused"]:
        texts.append("Can't be held: %s." % _each(data["refused"]))
    if remaining_fail and data["running"] and wish.running is not Running.LEAVE:
        texts.append("Still there: %s." % _each(data["running"]))
    if not texts:
        return ""
    return "\n".join(["Window %d is not wholly open." % wish.number, *texts])


def _each(entries: Sequence[Mapping[str, Any]]) -> str:
    return some(["%s (%s)" % (one["job_id"], one["why"]) for one in entries])

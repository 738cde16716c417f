# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs and results as a maintenance window looks at them. Pure. Private to the collection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hold import (
    HOLD_BASE,
    MAX_INSTANCE,
    MIN_INSTANCE,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hosts import expand_hosts
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.checks import (
    JOB_NAME as PROBE,
)

#: What of a job a window has to know, as job_info names it.
FIELDS = ("name", "user", "state", "raw_state", "coarse_state", "cause",
          "eligible_time", "start_time", "hold_instance", "gate",
          "requeue", "restarts", "batch", "node_list")  # fmt: skip

#: Outcomes of a write that leave a job as it was wanted, or as no longer concerned.
GOOD = frozenset({"applied", "unchanged"})

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Job:
    """One job of the queue, task of an array, or component, as it was read."""

    job_id: str
    user: str
    name: str
    word: str
    coarse: str
    cause: str
    #: The number of the hold in place, None for none, "unknown" where it could not be read.
    hold: int | str | None
    eligible: int | None
    started: int | None
    gate: str
    requeue: str
    restarts: int | None
    batch: str
    node_list: str

    @property
    def probe(self) -> bool:
        """Whether it has the name of a preflight's probe job, which places a hold of its own."""
        return self.name == PROBE

    @property
    def pending(self) -> bool:
        """Whether it waits."""
        return self.coarse == "pending"

    @property
    def completing(self) -> bool:
        """Whether its execution is being cleared away: it has ended, or comes back."""
        return self.coarse == "unknown" and self.word == "COMPLETING"

    @property
    def active(self) -> bool:
        """Whether it may have processes: everything that neither waits nor has ended for good."""
        return self.coarse not in ("pending", "ended")

    def may_have(self, nodes: frozenset[str]) -> bool:
        """Whether it has one of these nodes, or has a list of nodes that can't be read."""
        try:
            return not nodes.isdisjoint(expand_hosts(self.node_list))
        except ValueError:
            return True


def job_from(record: Record) -> Job:
    """A record of job_info, of which only the id has to be there."""
    hold = record.get("hold_instance")
    return Job(
        job_id=str(record["job_id"]),
        user=str(record.get("user") or ""),
        name=str(record.get("name") or ""),
        word=str(record.get("raw_state") or record.get("state") or "unknown"),
        coarse=str(record.get("coarse_state") or "unknown"),
        cause=str(record.get("cause") or "unknown"),
        hold=hold if hold is None or _is_number(hold) else "unknown",
        eligible=_number(record.get("eligible_time")),
        started=_number(record.get("start_time")),
        gate=str(record.get("gate", "unknown")),
        requeue=str(record.get("requeue", "unknown")),
        restarts=_number(record.get("restarts")),
        batch=str(record.get("batch", "unknown")),
        node_list=str(record.get("node_list") or ""),
    )


def jobs_from(records: Iterable[Record]) -> list[Job]:
    """The jobs of a read, in order of their ids."""
    return sorted(map(job_from, records), key=lambda job: id_order(job.job_id))


def id_order(job_id: str) -> tuple[object, ...]:
    """What ids are sorted by: 9 comes before 10_2, and that before 10_11."""
    return tuple(int(part) for part in re.findall(r"\d+", job_id)), job_id


def window_number(value: object) -> int:
    """The number of a window; ValueError for anything that is none."""
    try:
        number = int(str(value))
    except ValueError:
        number = 0
    if not MIN_INSTANCE <= number <= MAX_INSTANCE:
        raise ValueError(
            "the number of a window lies between %d and %d, not %s"
            % (MIN_INSTANCE, MAX_INSTANCE, value)
        )
    return number


def own_begin(job: Job, now: float) -> int | None:
    """The begin time that a job which isn't held has of its own, None when it lies behind."""
    begin = job.eligible
    return begin if begin is not None and now < begin < HOLD_BASE else None


def iso(epoch: float) -> str:
    """An instant in UTC."""
    return datetime.fromtimestamp(int(epoch), UTC).isoformat()


def epoch(text: object) -> int | None:
    """The instant that :func:`iso` has written, None for anything else."""
    try:
        return int(datetime.fromisoformat(str(text)).timestamp())
    except ValueError:
        return None


def latest(results: Sequence[Record]) -> dict[str, Record]:
    """The last result that there is of each job."""
    return {str(one["job_id"]): one for one in results}


def only_predicted(results: Sequence[Record]) -> bool:
    """Whether changes were predicted and nothing was sent, as in check mode."""
    changed = [one for one in results if one["outcome"] == "applied"]
    return bool(changed) and not any(one["calls"] for one in results)


def some(items: Sequence[str], most: int = 10) -> str:
    """A list for people, not all of a long one."""
    more = " and %d more" % (len(items) - most) if len(items) > most else ""
    return ", ".join(items[:most]) + more


def details(groups: Iterable[tuple[str, Sequence[Mapping[str, Any]]]]) -> list[str]:
    """What there is to say about single jobs, not all of many: a line each, under what is alike."""
    return [
        "%s: %s" % (text, some(["%s of %s" % (one["job_id"], one["user"]) for one in jobs]))
        for text, jobs in groups
        if jobs
    ]


def by(jobs: Iterable[Mapping[str, Any]], key: str) -> dict[str, list[Mapping[str, Any]]]:
    """Jobs that have the same value, under this value."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in jobs:
        found.setdefault(str(one[key]), []).append(one)
    return found


def counted(count: int, what: str) -> str:
    """A number of things: ``1 job``, ``2 jobs``."""
    return "%d %s%s" % (count, what, "" if count == 1 else "s")


def why(result: Record) -> str:
    """Why a result is what it is, with Slurm's own words."""
    text = "%s: %s" % (result["outcome"], result["reason"])
    message = str(result.get("message") or "")
    if message and message not in text:
        text += " (%s)" % message
    until = result.get("may_land_until")
    if until is not None:
        text += "; it may still land until %s" % iso(until)
    return text


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None

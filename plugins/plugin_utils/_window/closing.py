# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a closing window has to release, and what became of its jobs. Pure.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.jobs import (
    GOOD,
    Job,
    Record,
    by,
    counted,
    details,
    epoch,
    iso,
    latest,
    some,
    why,
)
from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.manifest import (
    Manifest,
    bits,
    ids,
)
from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.opening import in_order

RELEASED = "released"
LET_GO = "not held any more"
GONE = "not shown any more"


@dataclass(frozen=True)
class Plan:
    """What there is to do after one read of the whole queue."""

    release: tuple[str, ...]
    restore: tuple[str, ...]
    #: Jobs of the manifest that the queue does not show.
    absent: tuple[str, ...]
    doubtful: tuple[str, ...]
    windows: Mapping[int, int]


def plan(queue: Sequence[Job], manifest: Manifest, number: int) -> Plan:
    """What to do about a queue, which alone decides what is released."""
    by_id = {job.job_id: job for job in queue}
    waiting = [job for job in queue if job.pending or job.completing]
    windows: dict[int, int] = {}
    for job in waiting:
        if isinstance(job.hold, int):
            windows[job.hold] = windows.get(job.hold, 0) + 1
    known, sent_back = set(ids(manifest)), bits(manifest)
    held = [job for job in waiting if job.hold == number]
    left = [job.job_id for job in queue if job.requeue == "yes" and job.coarse != "ended"]
    return Plan(
        release=tuple(job.job_id for job in held if not job.probe or job.job_id in known),
        restore=tuple(job_id for job_id in left if job_id in sent_back),
        absent=tuple(job_id for job_id in ids(manifest) if job_id not in by_id),
        doubtful=tuple(job.job_id for job in waiting if job.hold == "unknown"),
        windows=windows,
    )


def as_data(found: Plan, manifest: Manifest) -> dict[str, Any]:
    """A plan as a playbook reads it. Fates of a window that is closed already are known."""
    closed = manifest.get("state") == "closed"
    return {
        "release": list(found.release),
        "restore": list(found.restore),
        "absent": [] if closed else list(found.absent),
        "acts": bool(found.release or found.restore),
    }


def unopened(found: Plan, manifest: Manifest, number: int, path: str) -> str:
    """Why there is nothing to close, "" when there is something, or was."""
    if manifest or found.release or found.doubtful:
        return ""
    held = ["%d (%s)" % (one, counted(found.windows[one], "job")) for one in sorted(found.windows)]
    return (
        "Window %d was not opened: no job is held under this number, and there is no manifest %s."
        " Nothing was changed. Windows that hold jobs now: %s."
        % (number, path, some(held) if held else "none")
    )


@dataclass(frozen=True)
class Seen:
    """What was seen and done. ``past`` are records of jobs that the queue does not show."""

    queue: Sequence[Job]
    past: Sequence[Job]
    releases: Sequence[Record]
    restores: Sequence[Record]


def report(seen: Seen, manifest: Manifest, number: int, now: float) -> dict[str, Any]:
    """What came of a closing. ``queue`` is the first read, before anything was released."""
    results = latest(seen.releases)
    known = set(ids(manifest))
    released = [job_id for job_id, one in results.items() if one["outcome"] == "applied"]
    bad = {job_id: one for job_id, one in results.items() if _is_failure(one)}
    restores = [*latest(seen.restores).items()]
    bits_left = [job_id for job_id, one in restores if not _is_over(one)]
    return {
        "released": in_order(released),
        "changes": [] if manifest.get("state") == "closed" else _changes(seen, manifest, number),
        "new": in_order(job_id for job_id in released if manifest and job_id not in known),
        "unknown": [
            {"job_id": job_id, "why": why(one), "may_land_until": one.get("may_land_until")}
            for job_id, one in bad.items()
        ]
        + [
            {"job_id": job.job_id, "why": "its begin time was not readable"}
            for job in seen.queue
            if job.hold == "unknown" and job.pending
        ],
        "begin_lost": _begin_lost(results, manifest, now),
        "bits_cleared": in_order(job_id for job_id, one in restores if one["outcome"] == "applied"),
        "bits_left": bits_left,
    }


def _is_over(restore: Record) -> bool:
    """Whether a bit is off, was never ours, or went with its job."""
    return restore["outcome"] in (*GOOD, "rejected", "not_found")


def _is_failure(result: Record) -> bool:
    """A job that left the queue meanwhile needs no release; nor one that another window holds."""
    return result["outcome"] not in (*GOOD, "rejected", "not_found", "stale")


def _changes(seen: Seen, manifest: Manifest, number: int) -> list[dict[str, Any]]:
    """What became of the manifest's jobs that were not released now."""
    jobs = {job.job_id: job for job in [*seen.past, *seen.queue]}
    results = latest(seen.releases)
    found = []
    for entry in manifest.get("jobs", ()):
        what = _fate(jobs.get(entry["job_id"]), results.get(entry["job_id"]), number)
        if what != RELEASED:
            found.append({"job_id": entry["job_id"], "user": entry.get("user", ""), "what": what})
    return found


def _fate(job: Job | None, result: Record | None, number: int) -> str:
    """What became of one job, in words."""
    if result is not None:
        return RELEASED if result["outcome"] == "applied" else why(result)
    if job is None:
        return GONE
    if job.coarse == "ended":
        return "ended (%s)" % job.cause
    if job.active:
        return job.word.lower()
    if job.hold is None:
        return LET_GO
    return "held by window %s" % job.hold if job.hold != number else RELEASED


def _begin_lost(
    results: Mapping[str, Record], manifest: Manifest, now: float
) -> list[dict[str, Any]]:
    """Released jobs that had a begin time of their own ahead, and have it no more.

    It is kept on the host where the hold was placed, by the user who did.
    """
    found = []
    for entry in manifest.get("jobs", ()):
        result = results.get(entry["job_id"])
        begin = epoch(entry["begin_time"])
        if result is None or result["outcome"] != "applied" or begin is None or begin <= now:
            continue
        if result["after"] is not None and result["after"]["begin_time"] != begin:
            command = "scontrol update JobId=%s StartTime=uts%d" % (entry["job_id"], begin)
            found.append({"job_id": entry["job_id"], "begin_time": iso(begin), "remedy": command})
    return found


def left_by(
    manifest: Manifest, data: Mapping[str, Any], failed: bool, now: float
) -> tuple[Manifest, bool]:
    """The manifest that a closing leaves, and whether it says anything new."""
    if not manifest:
        return {}, False
    if manifest["state"] == "closed" and not data["released"]:
        return manifest, False
    what = {one["job_id"]: one["what"] for one in data["changes"]}
    what.update(dict.fromkeys(data["released"], RELEASED))
    jobs = [{**one, "fate": what.get(one["job_id"], one.get("fate"))} for one in manifest["jobs"]]
    state, when = ("closing", None) if failed else ("closed", iso(now))
    return {**manifest, "state": state, "closed_at": when, "jobs": jobs}, True


def headline(data: Mapping[str, Any], manifest: Manifest, number: int, check: bool) -> str:
    """One line for people."""
    head = "window %d%s" % (number, " would be closed" if check else "")
    if manifest.get("state") == "closed" and not data["released"]:
        return "%s: nothing to do, it was closed at %s" % (head, manifest["closed_at"])
    parts = ["%s released" % counted(len(data["released"]), "job")]
    if not manifest:
        parts.append("no manifest to compare them with")
    for what, jobs in by(data["changes"], "what").items():
        parts.append("%d %s" % (len(jobs), what))
    for name, text in (
        ("new", "not in the manifest"),
        ("unknown", "unknown"),
        ("bits_cleared", "requeue bits cleared"),
    ):
        if data[name]:
            parts.append("%d %s" % (len(data[name]), text))
    return "%s: %s" % (head, ", ".join(parts))


def lines(data: Mapping[str, Any]) -> list[str]:
    """What has become of single jobs, for people."""
    return details(by(data["changes"], "what").items())


def failure(data: Mapping[str, Any], number: int) -> str:
    """Why the play has to stop, "" when the window is closed."""
    texts = []
    if data["unknown"]:
        each = ["%s (%s)" % (one["job_id"], one["why"]) for one in data["unknown"]]
        texts.append("Not known to be released: %s." % some(each))
    if data["bits_left"]:
        texts.append(
            "The requeue bit may be left set on %s: run this again." % some(data["bits_left"])
        )
    if data["begin_lost"]:
        each = [one["remedy"] for one in data["begin_lost"]]
        texts.append("Begin times of their owners were not put back, set them: %s." % some(each))
    if not texts:
        return ""
    return "\n".join(["Window %d is not wholly closed." % number, *texts])

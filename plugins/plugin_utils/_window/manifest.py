# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifest of a maintenance window: what it has held, kept on the controller. Pure.

The queue decides what is held; a manifest only tells what there was. It is believed as a whole or
not at all. Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.jobs import (
    Job,
    id_order,
    iso,
    own_begin,
)

FORMAT = "hpcops.slurm.maintenance_window"
FORMAT_VERSION = 1

#: A window that is being opened is left so by a run that was stopped.
STATES = ("opening", "open", "closing", "closed")

Manifest = dict[str, Any]
Entry = dict[str, Any]


def read_manifest(text: str, cluster: str, window: int) -> tuple[Manifest, str]:
    """The manifest that a file holds, and why it can't be used ("" if it can).

    Without a file (an empty text) the manifest is empty.
    """
    if not text.strip():
        return {}, ""
    try:
        data = json.loads(text)
    except ValueError as error:
        return {}, "it is no JSON: %s" % error
    return (data, "") if not (trouble := _trouble(data, cluster, window)) else ({}, trouble)


def _trouble(data: object, cluster: str, window: int) -> str:
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        return "it is no manifest of a maintenance window"
    if data.get("format_version") != FORMAT_VERSION:
        return "its format_version is %s, not %d" % (data.get("format_version"), FORMAT_VERSION)
    if data.get("cluster") != cluster:
        return "it is of the cluster %s, and this is the cluster %s" % (
            data.get("cluster"),
            cluster,
        )
    if data.get("window") != window:
        return "it is of the window %s, not %d" % (data.get("window"), window)
    if data.get("state") not in STATES:
        return "its state is %s, which is none of %s" % (data.get("state"), ", ".join(STATES))
    return _unsound(data)


def _unsound(data: Mapping[str, Any]) -> str:
    for name, field in (("jobs", "begin_time"), ("requeued", "requeue")):
        entries = data.get(name)
        sound = isinstance(entries, list) and all(
            isinstance(one, Mapping) and isinstance(one.get("job_id"), str) and field in one
            for one in entries
        )
        if not sound:
            return "its %s are no list of jobs" % name
    return ""


def opened(
    earlier: Manifest, header: Mapping[str, Any], cluster: str, window: int, now: float
) -> Manifest:
    """The manifest of a window that is about to be opened, or opened again.

    ``header`` has what was asked for: host, select, nodes, running. A closed window begins anew.
    """
    goes_on = bool(earlier) and earlier["state"] != "closed"
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "host": header["host"],
        "cluster": cluster,
        "window": window,
        "state": "opening",
        "select": dict(header["select"]),
        "nodes": header["nodes"],
        "running": header["running"],
        "opened_at": earlier["opened_at"] if goes_on else iso(now),
        "closed_at": None,
        "jobs": list(earlier["jobs"]) if goes_on else [],
        "requeued": list(earlier["requeued"]) if goes_on else [],
    }


def with_jobs(
    manifest: Manifest,
    hold: Iterable[Job],
    held: Iterable[Job],
    requeued: Iterable[Job],
    now: float,
) -> Manifest:
    """The manifest with these jobs as well.

    What it knows of a job that is held already, or was sent back before, stays.
    """
    known = _merged([_entry(job, now) for job in held], manifest["jobs"])
    return {
        **manifest,
        "jobs": _merged(known, [_entry(job, now) for job in hold]),
        "requeued": _merged([_requeued(job) for job in requeued], manifest["requeued"]),
    }


def only(manifest: Manifest, kept: Iterable[str], requeued: Iterable[str]) -> Manifest:
    """The manifest with these jobs alone."""
    jobs, again = set(kept), set(requeued)
    return {
        **manifest,
        "jobs": [one for one in manifest["jobs"] if one["job_id"] in jobs],
        "requeued": [one for one in manifest["requeued"] if one["job_id"] in again],
    }


def bits(manifest: Mapping[str, Any]) -> set[str]:
    """Jobs that were sent back, and whose requeue bit was off."""
    return {str(one["job_id"]) for one in manifest.get("requeued", ()) if one["requeue"] == "no"}


def ids(manifest: Mapping[str, Any], name: str = "jobs") -> list[str]:
    """The jobs that a manifest names, none for an empty one."""
    return [str(one["job_id"]) for one in manifest.get(name, ())]


def _entry(job: Job, now: float) -> Entry:
    begin = own_begin(job, now) if job.hold is None else None
    when = None if begin is None else iso(begin)
    return {"job_id": job.job_id, "user": job.user, "begin_time": when, "fate": None}


def _requeued(job: Job) -> Entry:
    return {
        "job_id": job.job_id,
        "user": job.user,
        "restarts": job.restarts,
        "requeue": job.requeue,
    }


def _merged(entries: Sequence[Entry], stronger: Sequence[Entry]) -> list[Entry]:
    found = {one["job_id"]: one for one in [*entries, *stronger]}
    return [found[one] for one in sorted(found, key=id_order)]

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records, results and manifests as the tests of maintenance windows need them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.hpcops.slurm.plugins.plugin_utils._window import manifest, opening
from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.jobs import Job, jobs_from

NOW = 1700000000.0
BASE = 4102444800
HEADER: dict[str, Any] = {"host": "alpha", "select": {}, "nodes": "", "running": "leave"}

Data = dict[str, Any]


def record(job_id: str, state: str = "PENDING", hold: Any = None, **more: Any) -> Data:
    """A record of job_info."""
    coarse = {"PENDING": "pending", "RUNNING": "running", "SUSPENDED": "suspended"}
    known = coarse.get(state, "unknown" if state in ("COMPLETING", "unknown") else "ended")
    begin = BASE + hold if isinstance(hold, int) else int(NOW) - 50
    return {
        "job_id": job_id,
        "name": "work",
        "user": "user1",
        "state": state,
        "raw_state": state,
        "coarse_state": known,
        "cause": None if known != "ended" else state.lower(),
        "eligible_time": begin,
        "start_time": None if known == "pending" else int(NOW) - 100,
        "hold_instance": hold,
        "gate": "no",
        "requeue": "yes",
        "restarts": 0,
        "batch": "yes",
        "node_list": "" if known == "pending" else "n1",
        **more,
    }


def result(job_id: str, outcome: str = "applied", **more: Any) -> Data:
    """A result of a module that writes."""
    return {
        "job_id": job_id,
        "outcome": outcome,
        "changed": outcome == "applied",
        "reason": "it is so",
        "message": "",
        "failure_class": "none",
        "before": {"state": "PENDING", "hold_instance": 7, "begin_time": BASE + 7},
        "after": {"state": "PENDING", "hold_instance": None, "begin_time": None},
        "calls": [{"call": "hold", "status": 0}],
        "settled": outcome != "unknown",
        "may_land_until": 1800000360 if outcome == "unknown" else None,
        "requeue_bit_left": "no",
        **more,
    }


def queue(*records: Mapping[str, Any]) -> list[Job]:
    """The jobs of a read."""
    return jobs_from(records)


def wish(running: str = "leave", any_bit: bool = False, nodes: str = "") -> opening.Wish:
    """What window 7 is asked to do."""
    return opening.wish_from(7, running, any_bit, nodes)


def kept(jobs: Sequence[Mapping[str, Any]] = (), state: str = "open", **more: Any) -> Data:
    """The manifest of window 7 with these jobs."""
    made = manifest.opened({}, HEADER, "cl1", 7, NOW - 1000)
    with_jobs = manifest.with_jobs(made, queue(*jobs), (), (), NOW - 1000)
    return {**with_jobs, "state": state, **more}

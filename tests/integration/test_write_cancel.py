# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""job_cancel while slurmctld hangs, on clusters whose credentials are short-lived."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.integration.conftest import Cluster
from ansible_collections.hpcops.slurm.tests.integration.faults import (
    ALIVE,
    EXPIRED,
    LATE,
    TTL,
    fault,
)
from ansible_collections.hpcops.slurm.tests.integration.write_plays import (
    Jobs,
    Task,
    column,
    forget,
    held_at,
    look,
    outcomes,
    play,
    preflight,
    rows,
    shell,
    together,
    told,
    write,
)

BACK = shell("until scontrol ping | grep -q 'is UP'; do sleep 0.3; done; sleep 1")


def cancel(job: str, **options: Any) -> Task:
    return write("job_cancel", "root", jobs=[job], **options)


def hang(seconds: float) -> dict[str, Any]:
    return {"ttl": TTL, "environment": fault("hang", "scancel *", seconds)}


@pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox's containers are root's")
def test_slurmctld_hangs(fleet: Mapping[str, Cluster]) -> None:
    all_jobs = {name: Jobs(cluster) for name, cluster in fleet.items()}
    try:
        for cluster in fleet.values():  # its clock is better known while nothing else goes on
            told(play(cluster, preflight("root", probe="always"))[0], changed=True)
        ids = {name: jobs.submit(count=3) for name, jobs in all_jobs.items()}
        for name, jobs in all_jobs.items():
            jobs.await_state("RUNNING", *ids[name])
        results = together({name: _hanging(*ids[name]) for name in fleet})
    finally:
        for jobs in all_jobs.values():
            jobs.cancel()
            forget(jobs.cluster, "root")
    for name, (lands, waits, never) in ids.items():
        late, _back, landed, settled, _back, ended_, lost, _back, lives, hold, again = results[name]
        told(late, changed=False, failed=True)
        assert outcomes(late) == {lands: "unknown"}
        assert f"it may land until {late['results'][0]['may_land_until']}" in late["msg"]
        assert column(landed, "State")[lands] in ("COMPLETING", "CANCELLED")
        told(settled, changed=True)
        assert outcomes(settled) == {waits: "applied"}
        assert settled["results"][0]["ended"] == "yes"
        assert column(ended_, "State") == {waits: "CANCELLED"}
        told(lost, changed=False, failed=True)
        assert outcomes(lost) == {never: "not_applied"}
        assert column(lives, "State") == {never: "RUNNING"}
        told(again, changed=True)
        assert outcomes(again) == {never: "applied"}
        assert held_at(rows(lives)[never]["EligibleTime"]) is None
        assert outcomes(hold) == {never: "rejected"}


def _hanging(lands: str, waits: str, never: str) -> list[Task]:
    return [
        cancel(lands, settle=False, **hang(LATE)),
        BACK,
        look(lands),
        cancel(waits, wait=True, **hang(ALIVE)),
        BACK,
        look(waits),
        cancel(never, **hang(EXPIRED)),
        BACK,
        look(never),
        write("job_hold", "root", jobs=[never], instance=7),
        cancel(never),
    ]

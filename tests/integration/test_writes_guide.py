# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rollout in the guide, run as it stands there."""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from ansible_collections.hpcops.slurm.tests.integration.conftest import Cluster
from ansible_collections.hpcops.slurm.tests.integration.plays import ROOT
from ansible_collections.hpcops.slurm.tests.integration.write_plays import (
    Jobs,
    column,
    held_at,
    look,
    mapped,
    play,
    shell,
    told,
)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox's containers are root's")

GUIDE = ROOT / "docs" / "docsite" / "rst" / "guide_writes.rst"


def rollout() -> dict[str, Any]:
    """The play in the guide."""
    text = GUIDE.read_text(encoding="utf-8")
    indented = text.split(".. code-block:: yaml\n", 1)[1].split("\n.. code-block::", 1)[0]
    [found] = yaml.safe_load(textwrap.dedent(indented))
    assert isinstance(found, dict)
    return found


def partition(cluster: Cluster, state: str) -> None:
    """Let the partition's jobs start, or not."""
    command = ["scontrol", "update", "PartitionName=small", f"State={state}"]
    assert cluster.sh(command).status == 0


def test_the_rollout_runs(fleet: Mapping[str, Cluster]) -> None:
    cluster = fleet["writes-trixie"]
    jobs = Jobs(cluster)
    small = ["-p", "small", "-t", "30"]
    try:
        running = [jobs.one(*small, option) for option in ("--no-requeue", "--requeue")]
        waiting = jobs.one(*small, "--begin=now+7200")
        elsewhere = jobs.one("--begin=now+7200")
        jobs.await_state("RUNNING", *running)
        # What comes back may start at once when it is released: the upgrade takes longer.
        partition(cluster, "DOWN")
        everything = [*running, waiting, elsewhere]
        before = jobs.look(*everything)
        tasks = rollout()["tasks"]
        names = [one["name"] for one in tasks]
        variables = {**rollout()["vars"], "opened": int(time.time()) + 1}
        middle = names.index("Go on only when nothing does") + 1
        tasks.insert(middle, look(*everything))
        results = play(cluster, *tasks, look(*everything), variables=variables)
        assert not any(result["failed"] for result in results), results[-1]["screen"]
        held, last = column(results[middle], "EligibleTime"), results[-1]
        assert {job: held_at(when) for job, when in held.items()} == {
            **mapped(7, *running, waiting), elsewhere: None
        }  # fmt: skip
        free = column(last, "EligibleTime")
        assert not any(held_at(when) for when in free.values())
        for job in (waiting, elsewhere):
            assert free[job] == before[job]["EligibleTime"]
        counts = {**mapped("1", *running), **mapped("0", waiting, elsewhere)}
        assert column(last, "RestartCnt") == counts
        bits = column(last, "Requeue")
        assert [bits[job] for job in running] == ["0", "1"]
        again = play(cluster, *rollout()["tasks"], look(*everything), variables=variables)
        assert not any(result["failed"] for result in again), again[-1]["screen"]
        told(
            again[names.index("Send back what has been running since before the window opened")],
            changed=False,
        )
        assert column(again[-1], "RestartCnt") == counts
    finally:
        jobs.cancel()
        partition(cluster, "UP")
        play(cluster, shell("rm -rf /var/lib/hpcops.slurm /etc/ansible/facts.d"))

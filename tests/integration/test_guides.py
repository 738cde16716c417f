# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plays in the guides, run as they stand there; only job ids, places and times are put in."""

from __future__ import annotations

import re
import textwrap
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from ansible_collections.hpcops.slurm.tests.integration import plays
from ansible_collections.hpcops.slurm.tests.integration.conftest import Cluster
from ansible_collections.hpcops.slurm.tests.integration.plays import ROOT
from ansible_collections.hpcops.slurm.tests.integration.write_plays import (
    Jobs,
    forget,
    held_at,
    place,
)

FOLDER = "/tmp/guides-test"
WRITES = ("job_hold", "job_release", "job_requeue", "job_restore", "job_cancel", "job_submit")


def guide(name: str, number: int, **put: str) -> list[dict[str, Any]]:
    """The tasks of a play in a guide, counted from 0, with some of its words replaced."""
    text = (ROOT / "docs" / "docsite" / "rst" / f"guide_{name}.rst").read_text(encoding="utf-8")
    pieces = re.split(r"^\.\. code-block:: yaml\n", text, flags=re.MULTILINE)[1:]
    text = re.split(r"^(?=\S)", pieces[number], maxsplit=1, flags=re.MULTILINE)[0]
    for old, new in put.items():
        old = {"job": '"41007"', "folder": "/home/operator/output", "partition": "[old]"}[old]
        assert old in text
        text = text.replace(old, new)
    [found] = yaml.safe_load(textwrap.dedent(text))
    tasks: list[dict[str, Any]] = found["tasks"]
    return tasks


@pytest.fixture
def jobs(cluster: Cluster) -> Iterator[Jobs]:
    """Jobs that are gone after the test."""
    made = Jobs(cluster)
    yield made
    made.cancel()
    forget(cluster, "root")
    cluster.sh(["rm", "-rf", FOLDER])


@pytest.mark.variants("trixie-munge")
def test_the_plays_run(cluster: Cluster, jobs: Jobs) -> None:
    held = jobs.one("--begin=now+3600")
    requeued, kept = jobs.submit("--no-requeue", count=2)
    small = jobs.one("-p", "small", "-t", "5")
    jobs.await_state("RUNNING", requeued, kept, small)
    where = place("root")
    defaults: dict[str, Any] = {f"hpcops.slurm.{name}": where for name in WRITES}
    defaults["hpcops.slurm.preflight"] = {"cache_path": where["cache_path"]}
    defaults["hpcops.slurm.job_output_info"] = {"state_dir": where["state_dir"]}
    tasks = [
        *guide("preflight", 0),
        *guide("preflight", 1),
        *guide("deadlines", 1, job=f'"{held}"'),
        *guide("holds", 0),
        *guide("deadlines", 0),
        *guide("holds", 1, job=f'"{kept}"'),
        *guide("statuses", 0, job=f'"{requeued}"'),
        *guide("output", 0),
        *guide("output", 1, job='"{{ output.job_id }}"', folder=FOLDER),
        *guide("writes", 1, partition="[small]"),
    ]
    variables = {"folder": FOLDER, "window_ends": str(time.time() + 600)}
    run = plays.play(
        [cluster.name], tasks, pipelining=True, vars=variables, module_defaults=defaults
    )
    assert run.process.returncode == 0, run.output
    assert not [one.task for one in run.results if one.status == "failed"], run.output
    shown = jobs.look(held, requeued, kept)
    assert held_at(shown[held]["EligibleTime"]) is None  # the release in the guide has lifted it
    assert held_at(shown[kept]["EligibleTime"]) == 7
    assert [shown[one]["RestartCnt"] for one in (requeued, kept)] == ["1", "1"]
    ended = ["sacct", "-X", "-n", "-P", "-o", "State", "-j", small]
    assert cluster.sh(ended).text.startswith("CANCELLED")  # slurmctld may have forgotten it
    said = run.result("Show standard output of all executions").result["msg"]
    assert said.startswith("execution 0 of attempt 1 on ")

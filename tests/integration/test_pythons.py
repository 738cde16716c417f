# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules from beginning to end under every Python of this machine that a managed host may have.

The managed hosts are this machine, once for each Python; their Slurm commands lead into a cluster.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

# Private, and the one place that says which Pythons this release of ansible-core can manage.
from ansible.module_utils.basic import _PY_MIN

from ansible_collections.hpcops.slurm.tests.integration import plays
from ansible_collections.hpcops.slurm.tests.integration.conftest import SANDBOX, Cluster
from ansible_collections.hpcops.slurm.tests.integration.write_plays import Jobs, held_at

COMMANDS = ("scontrol", "squeue", "sacct", "sbatch", "scancel")
NEWEST = 14


def pythons() -> Iterator[tuple[str, str]]:
    """Version and path of each Python that runs; a version manager's names may lead nowhere."""
    folders = [Path(entry) for entry in os.environ["PATH"].split(os.pathsep) if entry]
    folders += Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/3.*/bin")
    for minor in range(_PY_MIN[1], NEWEST + 1):
        for folder in folders:
            path = folder / f"python3.{minor}"
            if not path.exists():
                continue
            argv = [str(path), "-c", "import sys; print(sys.executable)"]
            told = subprocess.run(argv, capture_output=True, text=True, check=False)
            if told.returncode == 0:
                yield f"3.{minor}", told.stdout.strip()
                break


@pytest.fixture
def jobs(cluster: Cluster) -> Iterator[Jobs]:
    """Jobs that are gone after the test."""
    made = Jobs(cluster)
    yield made
    made.cancel()


@pytest.mark.variants("trixie-munge")
def test_modules_run_under_every_python(cluster: Cluster, jobs: Jobs, tmp_path: Path) -> None:
    for command in COMMANDS:
        path = tmp_path / command
        # What the modules set in a command's environment goes along.
        path.write_text(
            f"#!/bin/sh\nexec {SANDBOX} exec {cluster.name} -- env"
            " ${SLURM_TIME_FORMAT+SLURM_TIME_FORMAT=$SLURM_TIME_FORMAT}"
            f' {command} "$@"\n'
        )
        path.chmod(0o755)
    found = dict(pythons())
    assert found
    held = dict(zip(found, jobs.submit("--begin=now+7200", count=len(found)), strict=True))
    hosts = {
        f"py{version}": {
            "ansible_connection": "local",
            "ansible_python_interpreter": path,
            "job": held[version],
        }
        for version, path in found.items()
    }
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
    where = {"cache_path": f"{tmp_path}/cache.json", "state_dir": f"{tmp_path}/state"}
    write = {"jobs": ["{{ job }}"], "instance": 7, **where}
    tasks = [
        plays.task("python", "ansible.builtin.setup", {"gather_subset": ["!all", "python"]}),
        plays.config_info(),
        # One probe is enough: the others find its answer.
        plays.preflight(more={"throttle": 1}, cache_path=where["cache_path"]),
        plays.task("hold", "hpcops.slurm.job_hold", write),
        plays.task("look", "hpcops.slurm.job_info", {"jobs": ["{{ job }}"]}),
    ]
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    run = plays.play([], tasks, ["-i", str(tmp_path / "hosts.json")], environment=environment)
    assert run.process.returncode == 0, run.output
    for version in found:
        host = f"py{version}"
        told = run.result("python", host).result["ansible_facts"]["ansible_python_version"]
        assert told.startswith(f"{version}.")
        assert run.result("config_info", host).result["settings"]["MinJobAge"] == 60
        assert run.result("preflight", host).support("Hold")[0] == "yes"
        [one] = run.result("hold", host).result["results"]
        assert (one["outcome"], one["changed"]) == ("applied", True), run.output
        [seen] = run.result("look", host).result["jobs"]
        assert (seen["job_id"], seen["hold_instance"]) == (held[version], 7)
    shown = jobs.look(*held.values())
    assert {held_at(row["EligibleTime"]) for row in shown.values()} == {7}

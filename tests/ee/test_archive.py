# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The archive installs into an empty folder without a network, and works from there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.hpcops.slurm.tests.ee.conftest import Cluster, run
from ansible_collections.hpcops.slurm.tests.integration.plays import ROOT


def test_what_is_installed(installed: Path) -> None:
    listed = run("ansible-galaxy", "collection", "list", "--format", "json", "-p", str(installed))
    found = json.loads(listed.stdout)[str(installed / "ansible_collections")]
    version = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["version"]
    assert found == {"hpcops.slurm": {"version": version}}
    verified = run("ansible-galaxy", "collection", "verify", "--offline", "hpcops.slurm",
                   "-p", str(installed))  # fmt: skip
    assert verified.returncode == 0, verified.stdout + verified.stderr


@pytest.mark.parametrize("kind", ["role", "module", "filter", "callback"])
def test_documentation(installed: Path, kind: str) -> None:
    place: dict[str, Any] = {"ANSIBLE_COLLECTIONS_PATH": str(installed)}
    listed = run("ansible-doc", "-t", kind, "-l", "--json", "hpcops.slurm", **place)
    names = list(json.loads(listed.stdout))
    assert names, listed.stderr
    shown = run("ansible-doc", "-t", kind, "--json", *names, **place)
    assert (shown.returncode, sorted(json.loads(shown.stdout))) == (0, sorted(names)), shown.stderr


@pytest.mark.variants("trixie-munge")
def test_audit_runs_from_there(
    installed: Path, hosts: Path, cluster: Cluster, tmp_path: Path
) -> None:
    done = run(
        *("ansible-playbook", "-i", str(hosts), "hpcops.slurm.audit"),
        # The clocks are compared within the time that a task takes, and a busy machine is slow.
        *("-e", "capability_audit_clock_skew_max=60"),
        cwd=tmp_path,
        ANSIBLE_COLLECTIONS_PATH=str(installed),
        ANSIBLE_CALLBACKS_ENABLED="hpcops.slurm.capability_table",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "AccountingHistory" in done.stdout
    report = json.loads((tmp_path / "slurm-capability-audit" / f"{cluster.name}.json").read_text())
    assert report["verdict"] == "pass"

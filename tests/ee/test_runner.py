# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""audit.yml runs unchanged under ansible-runner, which is what AWX runs in its containers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.ee.conftest import Cluster, run

ESCAPE = "\x1b"


@dataclass(frozen=True)
class Artifacts:
    """What ansible-runner leaves of a run."""

    folder: Path
    reports: Path

    def text(self, name: str) -> str:
        """One of its files."""
        return (self.folder / name).read_text(encoding="utf-8")

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of the run, in order."""
        found = [
            json.loads(path.read_text(encoding="utf-8"))
            for path in (self.folder / "job_events").glob("*.json")
        ]
        return sorted(found, key=lambda event: int(event["counter"]))

    @property
    def statistics(self) -> dict[str, Any]:
        """What set_stats left, which AWX shows as the artifacts of a job."""
        [last] = [one for one in self.events if one["event"] == "playbook_on_stats"]
        found: dict[str, Any] = last["event_data"].get("artifact_data", {})
        return found

    @property
    def failures(self) -> list[str]:
        """The messages of the tasks that failed."""
        failed = [one for one in self.events if one["event"] == "runner_on_failed"]
        return [str(one["event_data"]["res"]["msg"]) for one in failed]


@pytest.fixture
def audit(installed: Path, hosts: Path, tmp_path: Path) -> Any:
    """Run the audit with the variables of a survey, and check what holds for every run."""

    def run_it(name: str, survey: Mapping[str, Any]) -> tuple[int, Artifacts]:
        place = tmp_path / name
        for folder in ("inventory", "env", "project"):
            (place / folder).mkdir(parents=True)
        shutil.copy(hosts, place / "inventory" / "hosts.yml")
        settings = {"ANSIBLE_COLLECTIONS_PATH": str(installed), "ANSIBLE_NOCOLOR": "1"}
        (place / "env" / "envvars").write_text(json.dumps(settings))
        # The clocks are compared within the time that a task takes, and a busy machine is slow.
        variables = {"capability_audit_clock_skew_max": 60, **survey}
        (place / "env" / "extravars").write_text(json.dumps(variables))
        argv = ["ansible-runner", "run", str(place), "-p", "hpcops.slurm.audit", "--ident", name]
        done = run(*argv, cwd=place)
        found = Artifacts(place / "artifacts" / name, place / "slurm-capability-audit")
        assert found.text("rc") == str(done.returncode), done.stdout + done.stderr
        files = [path for path in place.rglob("*") if path.is_file()]
        assert [path for path in files if ESCAPE.encode() in path.read_bytes()] == []
        assert ESCAPE not in json.dumps(found.events, ensure_ascii=False)
        return done.returncode, found

    return run_it


@pytest.mark.variants("trixie-munge")
def test_audit_passes(audit: Any, cluster: Cluster) -> None:
    status, artifacts = audit("passes", {})
    assert (status, artifacts.text("status")) == (0, "successful"), artifacts.text("stdout")
    version = cluster.sh(["sinfo", "--version"]).text.split()[1]
    verdicts = artifacts.statistics["slurm_capability_audit"]
    assert (verdicts["verdict"], verdicts["headline"]) == ("pass", "1 cluster, and it passes")
    assert verdicts["clusters"][cluster.name]["version"] == version
    # Ansible's fact cache has the preflight's answers, as AWX's has them.
    [facts] = (artifacts.folder / "fact_cache").iterdir()
    assert "slurm_preflight" in facts.read_text(encoding="utf-8")
    written = {path.name for path in artifacts.reports.iterdir()}
    assert {f"{cluster.name}.html", "fleet.json", "fleet.prom"} <= written


@pytest.mark.variants("trixie-munge")
def test_audit_fails(audit: Any, cluster: Cluster) -> None:
    status, artifacts = audit(
        "fails", {"capability_audit_required_capabilities": ["Hold", "ContainerImage"]}
    )
    assert (status, artifacts.text("status")) == (2, "failed")
    [message] = artifacts.failures
    assert "ContainerImage" in message
    assert artifacts.statistics["slurm_capability_audit"]["verdict"] == "fail"
    assert (artifacts.reports / f"{cluster.name}.html").exists()


@pytest.mark.variants("trixie-munge")
def test_wrong_answers_in_a_survey(audit: Any) -> None:
    status, artifacts = audit(
        "wrong",
        {
            "capability_audit_probe": "sometimes",
            "capability_audit_poll_interval": "soon",
            "capability_audit_required_capabilities": ["Hold", "Teleport"],
            "capability_audit_fail_on": ["worse"],
        },
    )
    assert status == 2
    [message] = artifacts.failures
    assert "capability_audit_probe must be one of: auto, always, never, got: sometimes" in message
    assert "capability_audit_poll_interval" in message
    assert "Got no match for: Teleport" in message
    assert "Got no match for: worse" in message
    assert "slurm_capability_audit" not in artifacts.statistics
    modules = {one["event_data"].get("resolved_action") for one in artifacts.events}
    assert "ansible.builtin.validate_argument_spec" in modules
    assert "hpcops.slurm.preflight" not in modules

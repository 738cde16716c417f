# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""awx_setup.yml, with AWX's own modules, against a stand-in for AWX."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.hpcops.slurm.tests.ee.conftest import place_named_by, run
from ansible_collections.hpcops.slurm.tests.ee.fake_awx import TOKEN, Awx, awx
from ansible_collections.hpcops.slurm.tests.integration.plays import ROOT
from ansible_collections.hpcops.slurm.tests.unit.examples import page_examples

SECRET = "a-password-of-the-test"
#: What the guide shows, and a password.
GUIDE = next(page_examples(ROOT / "docs" / "docsite" / "rst" / "guide_awx.rst"))
WANTED: dict[str, Any] = {**yaml.safe_load(GUIDE), "awx_email_password": SECRET}


@pytest.fixture
def tower() -> Iterator[Awx]:
    """A stand-in for AWX."""
    with awx() as state:
        yield state


@pytest.fixture(scope="session")
def paths(installed: Path) -> str:
    """Where this collection and AWX's are."""
    return os.pathsep.join([str(installed), str(place_named_by("AWX_COLLECTION"))])


def setup(
    paths: str, url: str, *arguments: str, token: str = TOKEN, **variables: Any
) -> subprocess.CompletedProcess[str]:
    """Run the playbook."""
    given = {**WANTED, "awx_host": url, "awx_token": token, **variables}
    done = run(
        *("ansible-playbook", "hpcops.slurm.awx_setup", "-i", "localhost,", *arguments),
        *("-e", json.dumps(given)),
        ANSIBLE_COLLECTIONS_PATH=paths,
        ANSIBLE_NOCOLOR="1",
        ANSIBLE_PIPELINING="1",
    )
    assert "Traceback" not in done.stdout + done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert TOKEN not in done.stdout + done.stderr
    return done


def changed(done: subprocess.CompletedProcess[str]) -> int:
    """How many tasks of a run that succeeded have changed something."""
    assert done.returncode == 0, done.stdout + done.stderr
    [(count, failed)] = re.findall(r"changed=(\d+) .*failed=(\d+)", done.stdout)
    assert failed == "0"
    return int(count)


def test_awx_is_set_up_once(tower: Awx, paths: str) -> None:
    changed(setup(paths, tower.url, "--check"))
    assert tower.writes == []
    assert changed(setup(paths, tower.url, "--diff")) == 9
    made = len(tower.writes)
    inventory, template = tower.named("inventories"), tower.named("job_templates")
    hosts = {one["name"]: one for one in tower.objects["hosts"].values()}
    assert json.loads(hosts["alpha"]["variables"]) == WANTED["awx_clusters"][0]["variables"]
    group = tower.named("groups")
    assert (group["name"], group["inventory"]) == ("slurm", inventory["id"])
    assert tower.linked[f"groups/{group['id']}/hosts"] == [one["id"] for one in hosts.values()]
    assert tower.named("execution_environments")["image"] == WANTED["awx_image"]
    assert template["execution_environment"] == tower.named("execution_environments")["id"]
    assert template["project"] == tower.named("projects")["id"]
    assert (ROOT / template["playbook"]).exists()
    assert template["use_fact_cache"] is True
    assert template["survey_enabled"] is True
    notifications = list(tower.objects["notification_templates"])
    errors = tower.linked[f"job_templates/{template['id']}/notification_templates_error"]
    assert sorted(errors) == notifications
    assert len(notifications) == 2
    schedule = tower.named("schedules")
    assert schedule["unified_job_template"] == template["id"]
    assert "RRULE:FREQ=DAILY" in schedule["rrule"]
    survey_is_the_roles(tower.surveys[template["id"]])

    assert changed(setup(paths, tower.url)) == 0
    assert len(tower.writes) == made


def survey_is_the_roles(survey: dict[str, Any]) -> None:
    """The survey asks for options of the role, and offers what the role takes."""
    path = ROOT / "roles" / "capability_audit" / "meta" / "argument_specs.yml"
    options = yaml.safe_load(path.read_text())["argument_specs"]["main"]["options"]
    asked = {one["variable"]: one for one in survey["spec"]}
    assert [name.removeprefix("capability_audit_") for name in asked] == [
        "poll_interval",
        "required_capabilities",
        "fail_on",
        "probe",
    ]
    for name, question in asked.items():
        option = options[name]
        default = WANTED[f"awx_{name.removeprefix('capability_audit_')}"]
        assert question["default"] == ("\n".join(default) if isinstance(default, list) else default)
        assert question.get("choices", "").split("\n") == option.get("choices", [""])


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "AWX does not accept the account (HTTP 401 from {url}/api/v2/me/)"),
        (404, "there is no AWX at {url}/api/v2/me/ (HTTP 404)"),
        (503, "AWX answers HTTP 503 at {url}/api/v2/me/"),
    ],
)
def test_awx_refuses(tower: Awx, paths: str, status: int, message: str) -> None:
    tower.status = status
    done = setup(paths, tower.url)
    assert done.returncode == 2
    assert message.format(url=tower.url) in done.stdout
    assert tower.writes == []


def test_awx_does_not_answer(paths: str) -> None:
    with awx() as gone:
        pass
    done = setup(paths, gone.url)
    assert done.returncode == 2
    assert f"AWX was not reached at {gone.url}/api/v2/me/: " in done.stdout
    assert "refused" in done.stdout


def test_awx_collection_is_missing(tower: Awx, installed: Path) -> None:
    done = setup(str(installed), tower.url)
    assert done.returncode == 2
    assert "The collection awx.awx is not installed on this machine" in done.stdout
    assert tower.writes == []


def test_variables_are_wrong(tower: Awx, paths: str) -> None:
    wrong: dict[str, Any] = {
        "awx_poll_interval": "soon",
        "awx_probe": "sometimes",
        "awx_fail_on": ["worse"],
    }
    done = setup(paths, tower.url, **wrong)
    assert done.returncode == 2
    assert "value of awx_probe must be one of: auto, always, never, got: sometimes" in done.stdout
    assert "awx_poll_interval" in done.stdout
    assert "Got no match for: worse" in done.stdout
    done = setup(paths, "", token="", awx_image="", awx_clusters=[], awx_poll_interval=-1)
    assert done.returncode == 2
    for message in ("awx_host is empty", "there is no account", "awx_image is empty",
                    "awx_clusters is empty", "poll_interval"):  # fmt: skip
        assert message in done.stdout
    assert tower.writes == []

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters of maintenance windows as the role calls them, and the manifest's form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.hpcops.slurm.plugins.filter import (
    window_close_plan,
    window_close_report,
    window_manifest,
    window_open_plan,
    window_open_report,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.shapes import NAMES
from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.jobs import FIELDS
from ansible_collections.hpcops.slurm.tests.unit.plugins.filter import pages
from ansible_collections.hpcops.slurm.tests.unit.plugins.plugin_utils.windows import (
    HEADER,
    kept,
    record,
    result,
)

ROLE = Path(__file__).resolve().parents[4] / "roles" / "maintenance_window"
SENT_BACK = {"job_id": "5", "user": "user2", "restarts": 0, "requeue": "no"}


@pytest.mark.parametrize(
    "module",
    [
        window_close_plan,
        window_close_report,
        window_manifest,
        window_open_plan,
        window_open_report,
    ],
)
def test_a_file_gives_the_filter_that_it_is_named_after(module: Any) -> None:
    name = module.__name__.rpartition(".")[2]
    assert module.FilterModule().filters() == {name: getattr(module, name)}
    assert "name: %s\n" % name in module.DOCUMENTATION


def test_the_role_reads_what_the_filters_look_at() -> None:
    variables = yaml.safe_load((ROLE / "vars" / "main.yml").read_text(encoding="utf-8"))
    assert variables["__maintenance_window_fields"] == list(FIELDS)
    assert set(FIELDS) <= set(NAMES)


def test_a_window_from_its_opening_to_its_closing() -> None:
    read = window_manifest.window_manifest("", "cl1", 7, {**HEADER, "running": "requeue"})
    assert (read["manifest"], read["error"]) == ({}, "")
    queue = [record("1"), record("2", "RUNNING", requeue="no")]
    asked: dict[str, Any] = {"window": "7", "running": "requeue", "any_bit": True}
    plan = window_open_plan.window_open_plan(queue, **asked, manifest=read["opening"])
    assert (plan["hold"], plan["requeue"], plan["acts"]) == (["1"], ["2"], True)
    done = {"holds": [result("1"), result("2")], "requeues": [result("2")], "restores": []}
    held = [record("1", hold=7), record("2", hold=7, requeue="no", restarts=1)]
    more = {"done": done, "manifest": plan["manifest"]}
    plan = window_open_plan.window_open_plan(held, **asked, **more)
    assert not plan["acts"]
    opened = window_open_report.window_open_report(held, **asked, **more)
    assert opened["failure"] == ""
    assert opened["manifest"]["state"] == "open"
    plan = window_close_plan.window_close_plan(held, 7, opened["manifest"])
    assert (plan["release"], plan["unopened"]) == (["1", "2"], "")
    results = {"releases": [result("1"), result("2")], "restores": []}
    closed = window_close_report.window_close_report(held, 7, results, opened["manifest"])
    assert closed["failure"] == ""
    assert closed["writes"]
    again = window_manifest.window_manifest(json.dumps(closed["manifest"]), "cl1", 7, HEADER)
    assert again["manifest"] == closed["manifest"]
    assert again["opening"]["jobs"] == []


def test_remaining_jobs_fail_unless_told_otherwise() -> None:
    arguments: dict[str, Any] = {"jobs": [record("1", "RUNNING")], "window": 7, "running": "wait"}
    found = window_open_report.window_open_report(**arguments)
    assert "Still there: 1" in found["failure"]
    assert window_open_report.window_open_report(**arguments, check=True)["failure"] == ""
    found = window_open_report.window_open_report(**arguments, remaining_fail=False)
    assert found["failure"] == ""


def test_what_was_only_foretold_is_told_so() -> None:
    """A task in check mode does not say so to the others: its results have no calls."""
    foretold = result("1", calls=[])
    done = {"holds": [foretold], "requeues": [], "restores": []}
    found = window_open_report.window_open_report([record("1")], 7, "leave", done=done)
    assert found["headline"].startswith("window 7 would be opened: 1 pending job held")
    closed = {"releases": [foretold], "restores": []}
    found = window_close_report.window_close_report([record("1", hold=7)], 7, closed)
    assert found["headline"].startswith("window 7 would be closed: 1 job released")


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (window_manifest.window_manifest, ("", "cl1", 0, HEADER)),
        (window_open_plan.window_open_plan, ([], "x", "leave")),
        (window_open_plan.window_open_plan, ([], 7, "kill")),
        (window_open_report.window_open_report, ([], 7, "leave", False, "n[")),
        (window_close_plan.window_close_plan, ([], None)),
        (window_close_report.window_close_report, ([], 10**9, {"releases": [], "restores": []})),
    ],
)
def test_mistakes_are_told_with_the_filters_name(call: Any, arguments: Any) -> None:
    with pytest.raises(AnsibleFilterError, match="hpcops.slurm.%s: " % call.__name__):
        call(*arguments)


@pytest.mark.parametrize("state", ["opening", "open", "closing", "closed"])
def test_the_manifest_has_the_form_that_is_promised(state: str) -> None:
    rule = pages.schema("maintenance_window.schema.json")
    closed_at = "2027-01-15T08:00:00+00:00" if state == "closed" else None
    jobs = [record("1", eligible_time=4000000000), record("2_3"), record("4+1")]
    more = {"requeued": [SENT_BACK], "select": {"users": ["user1"]}, "closed_at": closed_at}
    data = kept(jobs, state=state, **more)
    assert data["jobs"][0]["begin_time"]
    pages.check_schema(data, rule, rule)


def test_the_schema_is_sound_and_says_the_same_to_a_real_validator() -> None:
    rule = pages.schema("maintenance_window.schema.json")
    jsonschema.Draft202012Validator.check_schema(rule)
    jsonschema.validate(kept([record("1")]), rule)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(kept(state="ajar"), rule)

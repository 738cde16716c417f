# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables on the terminal: at several widths, with wide and hidden characters, with nothing."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.callback import capability_table
from ansible_collections.hpcops.slurm.plugins.filter.audit_judge import audit_judge
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.terminal import (
    cluster_page,
    fleet_page,
    preflight_page,
)
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.text import width_of
from ansible_collections.hpcops.slurm.tests.unit.plugins.plugin_utils import samples

SNAPSHOTS = Path(__file__).parent / "snapshots"
NOW = "2026-11-30T12:00:00Z"
WAIVER = {"check": "accounting_storage", "reason": "no database yet", "expires": "2027-03-31"}


def report(result: dict[str, Any], host: str, previous: str = "") -> dict[str, Any]:
    """A report as the role's fact has it."""
    return audit_judge(result, {"waivers": [WAIVER]}, host, NOW, previous)


REPORTS = {
    "alpha": report(samples.answered(samples.sound_fact()), "alpha"),
    "beta-東京": report(samples.answered(samples.noaccounting_fact()), "beta-東京"),
    "gone.example.org-with-a-long-name": report(
        samples.UNREACHABLE, "gone.example.org-with-a-long-name"
    ),
}


def task_result(host: str, data: dict[str, Any], new: bool = True) -> Any:
    """A task result as a callback gets it, of ansible-core 2.19 or later, or of 2.18."""
    named = SimpleNamespace(get_name=lambda: host)
    if new:
        return SimpleNamespace(host=named, result=data)
    return SimpleNamespace(_host=named, _result=data)


class Screen:
    """Stands for Ansible's display."""

    verbosity = 0

    def __init__(self) -> None:
        self.lines: list[str] = []

    def display(self, text: str, **_more: object) -> None:
        """Keep a line."""
        self.lines.append(text)


@pytest.fixture
def callback(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The callback with a screen of its own, and without colours."""
    monkeypatch.setattr("ansible.utils.color.ANSIBLE_COLOR", False)
    screen: Any = Screen()
    made = capability_table.CallbackModule(display=screen)
    monkeypatch.setattr(made, "get_option", lambda name: {"width": 0}[name])
    return made


def audited(callback: Any, hosts: dict[str, dict[str, Any]]) -> None:
    """Give it the results of an audit."""
    for host, found in hosts.items():
        facts = {"ansible_facts": {"capability_audit_report": found}}
        callback.v2_runner_on_ok(task_result(host, facts))


def text_of(callback: Any, width: int) -> str:
    """Everything that is printed at a width."""
    return "".join("\n".join(["", *page]) + "\n" for page in callback.pages(width))


@pytest.mark.parametrize("width", [40, 80, 140])
def test_tables(callback: Any, width: int) -> None:
    """The files were looked at by people; write text_of() there after a change that was meant."""
    audited(callback, REPORTS)
    callback.v2_runner_on_ok(
        task_result("delta", {"ansible_facts": {"slurm_preflight": samples.authnone_fact()}})
    )
    shown = text_of(callback, width)
    assert shown == (SNAPSHOTS / ("tables-%d.txt" % width)).read_text(encoding="utf-8")
    assert max(width_of(line) for line in shown.split("\n")) <= width


def test_nothing_audited_prints_nothing(callback: Any) -> None:
    callback.v2_runner_on_ok(task_result("alpha", {"ansible_facts": {"os_family": "Debian"}}))
    callback.v2_runner_on_ok(task_result("alpha", {"changed": False}))
    callback.v2_runner_on_ok(task_result("alpha", {"ansible_facts": None}))
    callback.v2_runner_on_ok(
        task_result("alpha", {"ansible_facts": {"capability_audit_report": "text"}})
    )
    callback.v2_playbook_on_stats(None)
    assert callback._display.lines == []


def test_a_failed_preflight_is_shown_too(callback: Any) -> None:
    facts = {"slurm_preflight": samples.down_fact()}
    callback.v2_runner_on_failed(task_result("alpha", {"ansible_facts": facts, "failed": True}))
    callback.v2_playbook_on_stats(None)
    shown = "\n".join(callback._display.lines)
    assert "Slurm preflight: alpha" in shown
    assert "primary ctl1 is DOWN" in shown


@pytest.mark.parametrize("new", [True, False])
def test_a_report_counts_more_than_the_fact(callback: Any, new: bool) -> None:
    fact = {"slurm_preflight": samples.sound_fact()}
    found = {"capability_audit_report": REPORTS["alpha"]}
    for facts in (fact, found, fact):
        callback.v2_runner_on_ok(task_result("alpha", {"ansible_facts": facts}, new))
    (page,) = callback.pages(80)
    assert page[0] == "Slurm capability audit: alpha"


def test_clusters_come_in_the_order_of_the_inventory(callback: Any) -> None:
    hosts = list(REPORTS)
    for host in hosts:
        callback.v2_runner_on_start(SimpleNamespace(get_name=lambda host=host: host), None)
    audited(callback, dict(reversed(REPORTS.items())))
    heads = [page[0] for page in callback.pages(140)]
    assert heads[:3] == ["Slurm capability audit: %s" % host for host in hosts]
    assert heads[3] == "Slurm capability audit: 3 clusters"


def test_the_width_is_the_options_or_the_terminals(
    callback: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    audited(callback, {"gone": REPORTS["gone.example.org-with-a-long-name"]})
    monkeypatch.setenv("COLUMNS", "44")
    callback.v2_playbook_on_stats(None)
    assert max(map(width_of, callback._display.lines)) <= 44
    callback._display.lines.clear()
    monkeypatch.setattr(callback, "get_option", lambda name: {"width": 120}[name])
    callback.v2_playbook_on_stats(None)
    assert 44 < max(map(width_of, callback._display.lines)) <= 120


def test_colours_are_ansibles_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ansible.utils.color.ANSIBLE_COLOR", True)
    green, red, yellow = (capability_table.paint("x", one) for one in ("yes", "no", "unknown"))
    assert len({"x", green, red, yellow}) == 4
    assert all("\x1b[" in one for one in (green, red, yellow))
    assert capability_table.paint("x", "") == capability_table.paint("x", "declared") == "x"
    monkeypatch.setattr("ansible.utils.color.ANSIBLE_COLOR", False)
    assert capability_table.paint("x", "no") == "x"


HOSTILE = st.text(st.characters(codec=None, exclude_categories=()), max_size=80)


@settings(max_examples=60)
@given(HOSTILE, st.integers(20, 160))
def test_any_text_keeps_the_width_and_moves_no_cursor(text: str, width: int) -> None:
    fact = samples.authnone_fact()
    fact["cluster"].update(name=text, version=text, auth_type=text)
    fact["capabilities"] = [
        {"name": text, "support": text, "source": text, "reason": text},
        *fact["capabilities"],
    ]
    fact["checks"] = [samples.check(text, "fail", text, text)]
    fact["probe"].update(user=text, host=text)
    for page in (
        preflight_page(text, fact, width),
        cluster_page(report(samples.answered(fact), text), width),
        fleet_page([report(samples.answered(fact), text)] * 3, width),
    ):
        assert all(width_of(line) <= max(width, 41) for line in page)
        assert not [one for line in page for one in line if ord(one) < 32 or one in "\x7f\u202e"]

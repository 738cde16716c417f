# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drift: what changed since the last report, since when, and which report is believed."""

from __future__ import annotations

import copy
import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.facts import iso
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.history import (
    CHANGES_KEPT,
    NotBelieved,
    read_history,
)
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.judge import Judgement, judge
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.policy import Policy, read_policy
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.report import as_data
from ansible_collections.hpcops.slurm.tests.unit.plugins.plugin_utils import samples

POLICY = Policy()


def hour(number: int) -> datetime:
    """An instant some hours after the first audit."""
    return samples.NOW + timedelta(hours=number)


class Audits:
    """Audits of one host, each with the report of the one before as the file has it."""

    def __init__(self) -> None:
        self.text = ""

    def run(
        self, fact: object, number: int, failure: str = "", policy: Policy = POLICY
    ) -> Judgement:
        """One more audit at a full hour."""
        made = judge(fact, policy, self.text, "alpha", hour(number), failure)
        self.text = json.dumps(as_data(made.report), ensure_ascii=False)
        return made

    @property
    def data(self) -> dict[str, Any]:
        """The last report."""
        found: dict[str, Any] = json.loads(self.text)
        return found

    def changes(self) -> list[tuple[str, str, str, str]]:
        """What the last report says has changed."""
        return [(one["at"], one["name"], one["was"], one["now"]) for one in self.data["changes"]]

    def one(self, section: str, name: str) -> dict[str, Any]:
        """One entry of the last report."""
        return next(dict(one) for one in self.data[section] if one["name"] == name)


def test_nothing_new_leaves_the_report_as_it_is() -> None:
    audits = Audits()
    audits.run(samples.sound_fact(), 0)
    before = audits.text
    for number in (1, 30, 9000):
        fact = samples.sound_fact()
        fact["probe"].update(age=number * 3600, mode="never", cached=False)
        audits.run(fact, number)
        assert audits.text == before
    assert audits.data["findings_since"] == audits.data["recorded_since"] == iso(hour(0))


def test_a_hold_that_is_lost_and_comes_back() -> None:
    audits = Audits()
    lost = samples.sound_fact(capabilities=samples.capability_list(hold=("no", "opening failed")))
    audits.run(samples.sound_fact(), 0)
    audits.run(lost, 1)
    audits.run(lost, 2)
    assert audits.changes() == [(iso(hour(1)), "Hold", "yes", "no")]
    assert audits.one("capabilities", "Hold")["since"] == iso(hour(1))
    assert audits.one("capabilities", "OutputRead")["since"] == iso(hour(0))
    assert audits.one("findings", "capability_Hold")["since"] == iso(hour(1))
    assert audits.data["findings_since"] == iso(hour(1))
    audits.run(samples.sound_fact(), 3)
    assert audits.changes()[0] == (iso(hour(3)), "Hold", "no", "yes")
    assert audits.data["recorded_since"] == iso(hour(0))


def test_an_outage_changes_no_setting() -> None:
    audits = Audits()
    shorter = samples.sound_fact(settings=samples.settings(MinJobAge=10))
    audits.run(samples.sound_fact(), 0)
    audits.run(None, 1, "host unreachable: timeout")
    assert [one[1:] for one in audits.changes()] == [
        ("Hold", "yes", "unknown"),
        ("AccountingHistory", "yes", "unknown"),
        ("preflight", "pass", "unknown"),
    ]
    setting = audits.one("settings", "MinJobAge")
    assert (setting["text"], setting["last_known"]) == ("unknown", "60 s")
    assert setting["since"] == iso(hour(0))
    during = audits.text
    audits.run(None, 2, "host unreachable: timeout")
    assert audits.text == during
    audits.run(shorter, 3)
    assert [one[1:] for one in audits.changes()[:5]] == [
        ("Hold", "unknown", "yes"),
        ("AccountingHistory", "unknown", "yes"),
        ("MinJobAge", "60 s", "10 s"),
        ("preflight", "unknown", "pass"),
        ("min_job_age", "unknown", "fail"),
    ]


def test_a_setting_first_read_after_an_outage_is_no_change() -> None:
    audits = Audits()
    audits.run(samples.down_fact(), 0, "controller down")
    audits.run(samples.sound_fact(), 1)
    assert "MinJobAge" not in [one[1] for one in audits.changes()]
    assert audits.one("settings", "MinJobAge")["since"] == iso(hour(1))


def test_a_waiver_is_no_drift_but_new_findings() -> None:
    audits = Audits()
    waiver = {"check": "auth_type", "reason": "why", "expires": "2027-01-01"}
    audits.run(samples.authnone_fact(), 0)
    audits.run(samples.authnone_fact(), 1, policy=read_policy({"waivers": [waiver]}))
    assert audits.changes() == []
    assert audits.one("findings", "auth_type")["since"] == iso(hour(0))
    assert audits.data["findings_since"] == iso(hour(1))


def test_what_the_policy_newly_asks_for_is_no_drift() -> None:
    audits = Audits()
    audits.run(samples.sound_fact(), 0)
    audits.run(samples.sound_fact(), 1, policy=read_policy({"required_capabilities": "OutputRead"}))
    assert audits.changes() == []
    assert audits.one("findings", "capability_OutputRead")["since"] == iso(hour(1))


def test_old_changes_are_dropped() -> None:
    audits = Audits()
    for number in range(CHANGES_KEPT + 10):
        age = 60 + number % 2
        audits.run(samples.sound_fact(settings=samples.settings(MinJobAge=age)), number)
    assert len(audits.changes()) == CHANGES_KEPT
    assert audits.changes()[0][0] == iso(hour(CHANGES_KEPT + 9))


def test_long_values_do_not_change_by_themselves() -> None:
    audits = Audits()
    fact = samples.sound_fact(settings=samples.settings(AuthInfo="x" * 5000 + "\x1b"))
    audits.run(fact, 0)
    before = audits.text
    audits.run(fact, 1)
    assert audits.text == before


def earlier(**changed: Any) -> dict[str, Any]:
    """An earlier report with some keys replaced."""
    made = judge(samples.sound_fact(), POLICY, None, "alpha", hour(0)).report
    data = as_data(made)
    assert isinstance(data, dict)
    return {**copy.deepcopy(data), **changed}


@pytest.mark.parametrize(
    "previous",
    [
        "{",
        b"\xff\xfe\x00binary",
        "[]",
        "null",
        '"text"',
        "[" * 100000,
        json.dumps({"format": "something.else"}),
        json.dumps(earlier(format_version=99)),
        json.dumps(earlier(host="beta")),
        json.dumps(earlier(findings=None)),
        json.dumps(earlier(findings=[{"name": "auth_type"}])),
        json.dumps(earlier(findings=[{**earlier()["findings"][0], "raw_verdict": "fine"}])),
        json.dumps(earlier(findings=[{**earlier()["findings"][0], "follows": "no"}])),
        json.dumps(earlier(capabilities=[{**earlier()["capabilities"][0], "support": "maybe"}])),
        json.dumps(earlier(recorded_since="yesterday")),
        json.dumps(earlier(recorded_since="2026-02-30T00:00:00Z")),
        json.dumps(earlier(recorded_since="2027-06-01T00:00:00Z")),
        json.dumps(earlier(changes=[{"at": iso(hour(0)), "kind": "mood", "name": "x"}])),
        json.dumps(earlier())[:-200],
    ],
)
def test_a_report_that_is_not_whole_is_not_believed(previous: str | bytes) -> None:
    made = judge(samples.authnone_fact(), POLICY, previous, "alpha", hour(1))
    assert len(made.warnings) == 1
    assert "not used" in made.warnings[0]
    assert made.report.changes == ()
    assert made.report.recorded_since == iso(hour(1))
    with pytest.raises(NotBelieved):
        read_history(previous, "alpha", hour(1))


def test_a_report_on_another_cluster_is_not_believed() -> None:
    other = samples.sound_fact(settings=samples.settings(ClusterName="other", MinJobAge=99))
    made = judge(other, POLICY, json.dumps(earlier()), "alpha", hour(1))
    assert made.report.changes == ()
    assert "the cluster trixie, this one is other" in made.warnings[0]


@pytest.mark.parametrize("previous", [None, "", b""])
def test_a_first_audit_warns_of_nothing(previous: object) -> None:
    assert judge(samples.sound_fact(), POLICY, previous, "alpha", hour(0)).warnings == ()


def test_a_clock_set_back_a_little_is_no_reason_to_forget() -> None:
    made = judge(samples.sound_fact(), POLICY, json.dumps(earlier()), "alpha", hour(-3))
    assert made.warnings == ()
    assert made.report.recorded_since == iso(hour(0))


@settings(max_examples=60)
@given(
    st.sampled_from(sorted(earlier())),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=6,
    ),
)
def test_any_damage_is_a_warning_at_most(key: str, value: object) -> None:
    made = judge(
        samples.sound_fact(), POLICY, json.dumps(earlier(**{key: value})), "alpha", hour(1)
    )
    assert made.report.verdict.value == "pass"
    assert len(made.warnings) <= 1

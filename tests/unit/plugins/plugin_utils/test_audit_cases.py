# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Field cases A-03, H-02 and H-03: live settings judged against a policy."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    parse_configuration,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight import checks as preflight
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.facts import read_facts
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.findings import store_flag
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.judge import judge
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.policy import read_policy
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.report import Finding, Report
from ansible_collections.hpcops.slurm.tests.unit.case_words import case
from ansible_collections.hpcops.slurm.tests.unit.plugins.plugin_utils.samples import (
    NOW,
    sound_fact,
)

#: The words of the cases, and the policy's own.
POLICY_WORDS = {
    "required_seconds": "poll_interval",
    "warn_above_seconds": "min_job_age_maximum",
    "allowed_auth_types": "allowed_auth_types",
}
KEYS = ("AuthType", "AuthAltTypes", "MinJobAge", "AccountingStoreFlags")


def runs(found: dict[str, Any]) -> list[Any]:
    """The runs of a case, each with what is expected of it."""
    expected = found["expect"]["runs"]
    return [
        pytest.param(run, expected[run["name"]], id="%s-%s" % (found["id"], run["name"]))
        for run in found["input"]["runs"]
    ]


def fact_of(text: str) -> dict[str, Any]:
    """The fact that the preflight makes of a listing of the live configuration."""
    configuration = parse_configuration("Configuration data as of 1796035200\n" + text)
    found = [
        preflight.auth(configuration),
        preflight.min_job_age(configuration, None),
        preflight.accounting_store_flags(configuration),
    ]
    return sound_fact(
        settings={key: configuration.value(key) for key in KEYS},
        checks=[one.as_fact() for one in found],
    )


def policy_of(found: dict[str, Any]) -> dict[str, Any]:
    """The policy of a case in the role's words."""
    return {POLICY_WORDS[key]: value for key, value in found["input"]["policy"].items()}


def audited(text: str, **policy: Any) -> Report:
    """The report on a cluster with that configuration."""
    return judge(fact_of(text), read_policy(policy), None, "alpha", NOW).report


def finding(report: Report, name: str) -> Finding:
    """One finding of a report."""
    return next(one for one in report.findings if one.name == name)


def setting(report: Report, name: str) -> Any:
    """The value of a setting in a report."""
    return next(one.value for one in report.settings if one.name == name)


A_03 = case("A-03")
H_02 = case("H-02")
H_03 = case("H-03")


@pytest.mark.parametrize(("run", "expected"), runs(A_03))
def test_min_job_age(run: dict[str, Any], expected: dict[str, Any]) -> None:
    report = audited(run["text"], **policy_of(A_03))
    found = finding(report, "min_job_age")
    assert found.verdict.value == expected["verdict"]
    assert expected.get("evidence_contains", "") in found.evidence
    value = setting(report, "MinJobAge")
    seconds = value if isinstance(value, int) else None
    assert seconds == expected["min_job_age_seconds"]


@pytest.mark.parametrize(("run", "expected"), runs(H_02))
def test_store_flags(run: dict[str, Any], expected: dict[str, Any]) -> None:
    asked = H_02["input"]["flags_asked"]
    failure = "scontrol ended with 1" if run["rc"] else ""
    fact = None if failure else fact_of(run["text"])
    facts = read_facts(fact, failure)
    answers = {flag: store_flag(facts, flag).value for flag in asked}
    assert {flag: answers[flag] for flag in expected["flags"]} == expected["flags"]

    policy = read_policy({"required_store_flags": asked})
    report = judge(fact, policy, None, "alpha", NOW, failure).report
    found = finding(report, "accounting_store_flags")
    wanted = "pass"
    if "unknown" in answers.values():
        wanted = "unknown"
    if "no" in answers.values():
        wanted = "fail"
    assert found.verdict.value == wanted
    for flag, answer in answers.items():
        assert "%s: %s" % (flag, answer) in found.evidence


@pytest.mark.parametrize(("run", "expected"), runs(H_03))
def test_auth_type(run: dict[str, Any], expected: dict[str, Any]) -> None:
    report = audited(run["text"], **policy_of(H_03))
    found = finding(report, "auth_type")
    assert found.verdict.value == expected["verdict"]
    assert setting(report, "AuthType") == expected["auth_type"]
    assert list(setting(report, "AuthAltTypes")) == expected["alternates"]
    # Only munge has a credential life of 300 s; nothing of munge is asked of the other types.
    assert "munge" not in found.evidence or expected["munge_checks_apply"] == "yes"

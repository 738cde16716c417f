# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters as templates call them: what they take, give and refuse."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.hpcops.slurm.plugins.filter import (
    audit_failure,
    audit_file_stem,
    audit_fleet,
    audit_judge,
    audit_policy_errors,
    report_text,
)
from ansible_collections.hpcops.slurm.tests.unit.plugins.plugin_utils import samples

NOW = "2026-11-30T12:00:00Z"


def judged(result: dict[str, Any], host: str = "alpha", **policy: Any) -> dict[str, Any]:
    """A report, through the filter."""
    return audit_judge.audit_judge(result, policy, host, NOW)


@pytest.mark.parametrize(
    "module",
    [audit_failure, audit_file_stem, audit_fleet, audit_judge, audit_policy_errors, report_text],
)
def test_a_file_gives_the_filter_that_it_is_named_after(module: Any) -> None:
    name = module.__name__.rpartition(".")[2]
    assert module.FilterModule().filters() == {name: getattr(module, name)}
    assert "name: %s\n" % name in module.DOCUMENTATION


def test_policy_errors() -> None:
    assert audit_policy_errors.audit_policy_errors({"fail_on": []}) == []
    (problem,) = audit_policy_errors.audit_policy_errors({"required_capabilities": ["Holdd"]})
    assert "Holdd" in problem
    assert "AccountingHistory" in problem
    with pytest.raises(AnsibleFilterError, match="not a dictionary"):
        audit_policy_errors.audit_policy_errors("Hold")


def test_judge() -> None:
    report = judged(samples.answered(samples.sound_fact()))
    assert report["verdict"] == "pass"
    assert report["verdict"].__class__ is str
    assert report["findings_since"] == NOW


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("text", {}, "alpha", NOW), "dictionaries"),
        (({}, [], "alpha", NOW), "dictionaries"),
        (({}, {}, "alpha", "today"), "today"),
        (({}, {}, "alpha", None), "must be str"),
        (({}, {"poll_interval": 0}, "alpha", NOW), "capability_audit_poll_interval"),
    ],
)
def test_judge_refuses(arguments: Any, message: str) -> None:
    with pytest.raises(AnsibleFilterError, match=message):
        audit_judge.audit_judge(*arguments)


def test_judge_warns_of_an_earlier_report_that_is_damaged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(audit_judge.display, "warning", warnings.append)
    audit_judge.audit_judge(samples.answered(samples.sound_fact()), {}, "alpha", NOW, "{broken")
    assert len(warnings) == 1
    assert "alpha" in warnings[0]


def test_fleet() -> None:
    reports = [judged(samples.answered(samples.sound_fact())), judged(samples.UNREACHABLE, "beta")]
    data = audit_fleet.audit_fleet(["beta", "alpha", "gamma"], reports)
    clusters: Any = data["clusters"]
    assert [one["host"] for one in clusters] == ["beta", "alpha", "gamma"]
    assert [one["audited"] for one in clusters] == [True, True, False]
    assert data["verdict"] == "unknown"
    assert data["headline"] == "Of 3 clusters 2 are unknown, 1 passes"
    assert audit_fleet.audit_fleet(["alpha"], reports)["headline"] == "1 cluster, and it passes"


@pytest.mark.parametrize(
    "arguments",
    [("alpha", []), (["alpha"], "x"), (["alpha"], [{"host": "alpha", "verdict": "fine"}])],
)
def test_fleet_refuses(arguments: Any) -> None:
    with pytest.raises(AnsibleFilterError):
        audit_fleet.audit_fleet(*arguments)


def test_failure_lists_what_fails_with_its_remedy_and_the_report() -> None:
    report = judged(samples.answered(samples.authnone_fact()))
    text = audit_failure.audit_failure(report, ["fail"], ["/srv/audit/alpha.html"])
    assert text.startswith("alpha: Of 20 checks 3 fail")
    for words in ("auth_type", "evidence  AuthType = auth/none", "wanted    one of auth/munge"):
        assert words in text
    assert "A reconfigure is not" in text
    assert text.endswith("\nreport: /srv/audit/alpha.html")


def test_failure_is_empty_when_nothing_counts() -> None:
    failing = judged(samples.answered(samples.authnone_fact()))
    assert audit_failure.audit_failure(failing, ["unknown"]) == ""
    assert audit_failure.audit_failure(failing, []) == ""
    assert audit_failure.audit_failure(judged(samples.answered(samples.sound_fact()))) == ""
    waiver = {"check": "auth_type", "reason": "r", "expires": "2027-01-01"}
    waived = judged(samples.answered(samples.authnone_fact()), waivers=[waiver])
    assert "auth_type" not in audit_failure.audit_failure(waived)
    with pytest.raises(AnsibleFilterError):
        audit_failure.audit_failure("report")


def test_failure_says_an_outage_once() -> None:
    text = audit_failure.audit_failure(judged(samples.UNREACHABLE))
    assert text.count("host unreachable: Failed to connect") == 1
    assert "not answered either: auth_type, min_job_age" in text


def test_file_stem() -> None:
    assert audit_file_stem.audit_file_stem("login1.alpha") == "login1.alpha"
    assert "/" not in audit_file_stem.audit_file_stem("../../etc/passwd")


def test_report_text() -> None:
    assert report_text.report_text("<b>|\n", "html") == "&lt;b&gt;|"
    assert report_text.report_text(3, "markdown") == "3"
    with pytest.raises(AnsibleFilterError, match="prometheus"):
        report_text.report_text("x", "latex")

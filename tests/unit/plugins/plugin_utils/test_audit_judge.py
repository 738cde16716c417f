# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a policy makes of a preflight: verdicts, remedies, waivers, and what is not known."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    parse_configuration,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight import checks as preflight
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight import clock
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.facts import read_facts
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.judge import judge
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.outcome import outcome_of
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.policy import read_policy
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.report import (
    Finding,
    Report,
    WaiverState,
    as_data,
    file_stem,
)
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.words import (
    CAPABILITIES,
    CHECKS,
    Answer,
    Verdict,
    gravest,
)
from ansible_collections.hpcops.slurm.tests.unit.plugins.plugin_utils import samples


def report_on(result: dict[str, Any], **policy: Any) -> Report:
    """The first report on a registered result."""
    outcome = outcome_of(result)
    asked = read_policy(policy)
    return judge(outcome.fact, asked, None, "alpha", samples.NOW, outcome.failure).report


def finding(report: Report, name: str) -> Finding:
    """One finding of a report."""
    return next(one for one in report.findings if one.name == name)


def verdicts(report: Report) -> dict[str, str]:
    """Those findings that do not pass, by name."""
    return {
        one.name: one.verdict.value for one in report.findings if one.verdict is not Verdict.PASS
    }


def test_a_sound_cluster_passes() -> None:
    report = report_on(samples.answered(samples.sound_fact()))
    assert verdicts(report) == {}
    assert report.verdict is Verdict.PASS
    assert report.headline == "All 20 checks pass"
    assert report.counts == {"pass": 20, "warn": 0, "fail": 0, "unknown": 0, "waived": 0}


def test_findings_keep_the_order_of_the_checks() -> None:
    report = report_on(samples.answered(samples.sound_fact()))
    names = [one.name for one in report.findings]
    assert names == [*CHECKS, "capability_Hold", "capability_AccountingHistory"]


def test_auth_none() -> None:
    report = report_on(samples.answered(samples.authnone_fact()))
    assert verdicts(report) == {
        "auth_type": "fail",
        "credential_lifetime": "fail",
        "capability_Hold": "fail",
    }
    assert samples.NO_BOUND in finding(report, "capability_Hold").evidence
    for name in ("auth_type", "capability_Hold"):
        assert "reconfigure is not enough" in finding(report, name).remedy
    assert next(one.text for one in report.windows if one.name == "call_bound") == "no known bound"


def test_comments_that_are_not_kept() -> None:
    report = report_on(samples.answered(samples.nocomment_fact()))
    assert verdicts(report) == {"accounting_store_flags": "fail"}
    found = finding(report, "accounting_store_flags")
    assert found.evidence == "AccountingStoreFlags = (null); job_comment: no"
    assert "scontrol reconfigure" in found.remedy
    without = report_on(samples.answered(samples.nocomment_fact()), required_store_flags=[])
    assert verdicts(without) == {"accounting_store_flags": "warn"}


def test_no_accounting() -> None:
    report = report_on(samples.answered(samples.noaccounting_fact()))
    assert verdicts(report) == {
        "accounting_storage": "warn",
        "accounting_store_flags": "fail",
        "accounting_reachable": "warn",
        "capability_AccountingHistory": "fail",
    }
    assert "accounting_storage/slurmdbd" in finding(report, "capability_AccountingHistory").remedy
    assert "accounting first" in finding(report, "accounting_store_flags").remedy


def test_an_outage_of_the_database_is_told_from_no_accounting() -> None:
    reason = "sacct: error: Problem talking to the database: Connection refused"
    fact = samples.sound_fact(capabilities=samples.capability_list(accounting=("no", reason)))
    remedy = finding(report_on(samples.answered(fact)), "capability_AccountingHistory").remedy
    assert "no change of Slurm's configuration is needed" in remedy


@pytest.mark.parametrize(
    ("age", "policy", "verdict"),
    [
        (30, {}, "pass"),
        (29, {}, "fail"),
        (7200, {}, "pass"),
        (7201, {}, "warn"),
        (60, {"min_job_age_minimum": 61}, "fail"),
        (60, {"min_job_age_minimum": 60}, "pass"),
        (True, {}, "unknown"),
        ("unknown", {}, "unknown"),
        (None, {}, "unknown"),
        (-1, {}, "unknown"),
    ],
)
def test_min_job_age(age: object, policy: dict[str, Any], verdict: str) -> None:
    fact = samples.sound_fact(settings=samples.settings(MinJobAge=age))
    found = finding(report_on(samples.answered(fact), **policy), "min_job_age")
    assert found.verdict.value == verdict
    assert bool(found.remedy) is (verdict != "pass")


@pytest.mark.parametrize(
    ("flags", "answers"),
    [
        (None, "job_comment: no, job_env: no"),
        ([], "job_comment: no, job_env: no"),
        (["Job_Comment", " JOB_ENV "], "job_comment: yes, job_env: yes"),
        ("job_comment, job_env", "job_comment: yes, job_env: yes"),
        (["job_comment_x"], "job_comment: no, job_env: no"),
        ("unknown", "job_comment: yes, job_env: unknown"),  # the check itself passed
    ],
)
def test_store_flags(flags: object, answers: str) -> None:
    fact = samples.sound_fact(settings=samples.settings(AccountingStoreFlags=flags))
    report = report_on(samples.answered(fact), required_store_flags=["job_comment", "job_env"])
    assert finding(report, "accounting_store_flags").evidence.endswith(answers)


@pytest.mark.parametrize("name", CAPABILITIES)
@pytest.mark.parametrize(
    ("support", "verdict"),
    [("yes", "pass"), ("no", "fail"), ("unknown", "unknown"), (True, "unknown")],
)
def test_a_required_capability(name: str, support: object, verdict: str) -> None:
    capabilities: list[dict[str, Any]] = [dict(one) for one in samples.capability_list()]
    next(one for one in capabilities if one["name"] == name)["support"] = support
    fact = samples.sound_fact(capabilities=capabilities)
    report = report_on(samples.answered(fact), required_capabilities=[name])
    found = finding(report, "capability_" + name)
    assert found.verdict.value == verdict
    assert bool(found.remedy) is (verdict != "pass")
    assert [one.name for one in report.capabilities if one.required] == [name]


def test_a_capability_that_is_missing_is_not_a_no() -> None:
    fact = samples.sound_fact(capabilities=[])
    report = report_on(samples.answered(fact))
    assert {one.support for one in report.capabilities} == {Answer.UNKNOWN}
    assert verdicts(report)["capability_Hold"] == "unknown"


def test_a_host_that_was_not_reached() -> None:
    report = report_on(samples.UNREACHABLE)
    assert report.verdict is Verdict.UNKNOWN
    assert set(verdicts(report).values()) == {"unknown"}
    probed = [one for one in report.capabilities if one.source == "probed"]
    assert {one.name for one in probed} == {"Hold", "AccountingHistory"}
    for one in probed:
        assert one.support is Answer.UNKNOWN
        assert one.reason.startswith("host unreachable: Failed to connect")
    assert [one.name for one in report.findings if not one.follows] == ["preflight"]


def test_a_controller_that_is_down() -> None:
    result = samples.answered(samples.down_fact())
    result.update(msg=samples.CONTROLLER_DOWN, failure_class="controller_unreachable")
    report = report_on(result)
    assert verdicts(report)["controller"] == "fail"
    assert verdicts(report)["preflight"] == "unknown"
    assert samples.CONTROLLER_DOWN in finding(report, "preflight").evidence
    acted_on = [
        one.name for one in report.findings if one.verdict is not Verdict.PASS and not one.follows
    ]
    assert acted_on == ["preflight", "controller"]


@pytest.mark.parametrize(
    ("result", "failure"),
    [
        ({}, "the preflight gave no answer"),
        ({"msg": "boom", "failed": True}, "boom"),
        ({"msg": "m", "cmd": "scontrol ping", "rc": 1}, "m (scontrol ping: exit status 1)"),
        ({"msg": "m", "cmd": "c", "rc": 1, "stderr": "e\n"}, "m (c: exit status 1, e)"),
        ({"unreachable": True}, "host unreachable: no message"),
        ({"ansible_facts": {"slurm_preflight": {}}}, ""),
        ({"ansible_facts": {"slurm_preflight": {}}, "failed": True, "msg": "x"}, "x"),
    ],
)
def test_what_became_of_the_task(result: dict[str, Any], failure: str) -> None:
    assert outcome_of(result).failure == failure


def test_a_fact_of_another_format_is_not_read() -> None:
    report = report_on(samples.answered(samples.sound_fact(format=2)))
    assert report.verdict is Verdict.UNKNOWN
    assert "format" in finding(report, "preflight").evidence
    assert report.settings == ()


def test_a_check_that_is_new_is_taken_over() -> None:
    new = samples.check("moon_phase", "warn", "full", "Wait.")
    fact = samples.sound_fact(checks=[*samples.checks(), new])
    found = finding(report_on(samples.answered(fact)), "moon_phase")
    assert (found.verdict, found.evidence, found.remedy) == (Verdict.WARN, "full", "Wait")


def test_the_checks_are_those_of_the_preflight() -> None:
    configuration = parse_configuration("Configuration data as of 1796035200\n")
    made = [
        preflight.commands({}),
        preflight.configuration_source(None, [], False),
        preflight.controller([]),
        preflight.version(configuration),
        preflight.environment([]),
        preflight.live_configuration(configuration, None),
        clock.check(None, 5),
        *preflight.of_configuration(configuration, None, None),
    ]
    assert {"preflight", "probe", *(one.name for one in made)} == set(CHECKS)


WAIVER = {"check": "auth_type", "reason": "moves in spring", "expires": "2026-11-30"}


@pytest.mark.parametrize(
    ("now", "verdict", "state"),
    [
        (datetime(2026, 11, 29, 12, tzinfo=UTC), Verdict.WAIVED, WaiverState.ACTIVE),
        (datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC), Verdict.WAIVED, WaiverState.ACTIVE),
        (datetime(2026, 12, 1, 0, 0, 0, tzinfo=UTC), Verdict.FAIL, WaiverState.EXPIRED),
    ],
)
def test_a_waiver_around_its_last_day(now: datetime, verdict: Verdict, state: WaiverState) -> None:
    policy = read_policy({"waivers": [WAIVER]})
    report = judge(samples.authnone_fact(), policy, None, "alpha", now).report
    found = finding(report, "auth_type")
    assert (found.verdict, found.raw_verdict) == (verdict, Verdict.FAIL)
    assert report.counts["waived"] == (verdict is Verdict.WAIVED)
    assert [one.state for one in report.waivers] == [state]
    applied, expired = found.waiver, found.expired_waiver
    assert (applied is None) is (state is WaiverState.EXPIRED)
    assert (expired is None) is (state is WaiverState.ACTIVE)


def test_a_waiver_that_is_not_needed_or_for_another_host() -> None:
    elsewhere = {**WAIVER, "hosts": ["beta"]}
    report = report_on(samples.answered(samples.sound_fact()), waivers=[WAIVER, elsewhere])
    assert [one.state for one in report.waivers] == [WaiverState.UNUSED]
    report = report_on(samples.answered(samples.authnone_fact()), waivers=[elsewhere])
    assert report.waivers == ()
    assert verdicts(report)["auth_type"] == "fail"


def test_all_that_is_wrong_waived_passes() -> None:
    names = ["auth_type", "credential_lifetime", "capability_Hold"]
    waivers = [{**WAIVER, "check": name} for name in names]
    report = report_on(samples.answered(samples.authnone_fact()), waivers=waivers)
    assert report.verdict is Verdict.PASS
    assert report.headline == "17 of 20 checks pass, 3 waived"


def test_the_gravest_verdict_counts() -> None:
    assert gravest([]) is Verdict.PASS
    assert gravest([Verdict.WAIVED, Verdict.PASS]) is Verdict.PASS
    assert gravest([Verdict.WARN, Verdict.PASS]) is Verdict.WARN
    assert gravest([Verdict.WARN, Verdict.UNKNOWN]) is Verdict.UNKNOWN
    assert gravest([Verdict.UNKNOWN, Verdict.FAIL]) is Verdict.FAIL


def test_file_names_are_no_paths() -> None:
    assert file_stem("alpha-1.example") == "alpha-1.example"
    assert file_stem("a/../b") == "a%2F..%2Fb"
    assert file_stem("fleet") != "fleet"


JUNK = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@settings(max_examples=50)
@given(st.sampled_from(sorted(samples.sound_fact())), JUNK, JUNK)
def test_any_fact_gives_a_report(key: str, value: object, more: object) -> None:
    fact = samples.sound_fact(**{key: value, "extra": more})
    if isinstance(fact.get("settings"), dict):
        fact["settings"] = {**fact["settings"], "MinJobAge": more}
    report = judge(fact, read_policy({}), None, "alpha", samples.NOW).report
    text = json.dumps(as_data(report), allow_nan=False)
    assert json.loads(text)["verdict"] in ("pass", "warn", "fail", "unknown")
    if key == "capabilities":
        assert finding(report, "capability_Hold").verdict is not Verdict.PASS


@settings(max_examples=50)
@given(JUNK)
def test_any_junk_gives_an_unknown_report(value: object) -> None:
    facts = read_facts(value, "")
    assert not facts.answered
    report = judge(value, read_policy({}), None, "alpha", samples.NOW).report
    assert report.verdict is Verdict.UNKNOWN

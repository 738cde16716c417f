# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reports in every format: what they say, and that no text can change their structure."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.judge import judge
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.outcome import outcome_of
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.policy import read_policy
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.report import as_data
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.text import visible
from ansible_collections.hpcops.slurm.tests.unit.plugins.filter import pages
from ansible_collections.hpcops.slurm.tests.unit.plugins.plugin_utils import samples

ENDINGS = ("html", "md", "json", "junit.xml", "prom")
WAIVERS = [
    {"check": "accounting_storage", "reason": "no database until spring", "expires": "2027-03-31"},
    {"check": "accounting_store_flags", "reason": "was to be done", "expires": "2026-11-01"},
]


def report(result: dict[str, Any], host: str = "alpha", previous: Any = None, **policy: Any) -> Any:
    """A report as data."""
    outcome = outcome_of(result)
    asked = read_policy(policy)
    made = judge(outcome.fact, asked, previous, host, samples.NOW, outcome.failure)
    return as_data(made.report)


def result_of_an_outage() -> dict[str, Any]:
    """What a preflight returns when the controller is down."""
    extra = {"msg": samples.CONTROLLER_DOWN, "failure_class": "controller_unreachable"}
    return {**samples.answered(samples.down_fact()), **extra}


REPORTS = {
    "sound": report(samples.answered(samples.sound_fact()), "sound"),
    "authnone": report(
        samples.answered(samples.authnone_fact()),
        "authnone",
        report(
            samples.answered(samples.sound_fact(settings=samples.settings(ClusterName="authnone"))),
            "authnone",
        ),
    ),
    "noaccounting": report(
        samples.answered(samples.noaccounting_fact()), "noaccounting", waivers=WAIVERS
    ),
    "down": report(result_of_an_outage(), "down"),
    "gone": report(samples.UNREACHABLE, "gone"),
}
FLEET = pages.fleet_data([*REPORTS, "never"], list(REPORTS.values()))


@pytest.mark.parametrize("name", REPORTS)
def test_json_has_the_form_that_is_promised(name: str) -> None:
    rule = pages.schema("capability_audit.schema.json")
    data = json.loads(pages.page("json", REPORTS[name]))
    assert data == REPORTS[name]
    pages.check_schema(data, rule, rule)


def test_the_fleets_json_has_the_form_that_is_promised() -> None:
    rule = pages.schema("capability_audit_fleet.schema.json")
    data = json.loads(pages.fleet_page("json", FLEET))
    assert data == FLEET
    pages.check_schema(data, rule, rule)


def test_the_schemas_are_sound_and_say_the_same_to_a_real_validator() -> None:
    for name, data in (("capability_audit", REPORTS["gone"]), ("capability_audit_fleet", FLEET)):
        rule = pages.schema(name + ".schema.json")
        jsonschema.Draft202012Validator.check_schema(rule)
        jsonschema.validate(data, rule)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**data, "verdict": "fine"}, rule)


@pytest.mark.parametrize("name", REPORTS)
def test_html_says_what_was_found(name: str) -> None:
    tags, text = pages.html_structure(pages.page("html", REPORTS[name]))
    assert not [tag for tag in tags if tag.split()[0] in ("script", "link", "img", "iframe")]
    assert REPORTS[name]["headline"] in text
    for one in REPORTS[name]["findings"]:
        assert one["evidence"] in text
        if one["verdict"] not in ("pass", "waived") and not one["follows"]:
            assert one["remedy"] in text
    for one in REPORTS[name]["capabilities"]:
        assert one["reason"] in text


def test_html_heads_belong_to_rows_and_columns() -> None:
    document = pages.page("html", REPORTS["noaccounting"])
    assert re.findall("<th ", document)
    assert all("scope=" in one for one in re.findall("<th [^>]*>", document))
    assert document.count("<h1>") == 1


def test_the_verdict_stands_before_everything_else() -> None:
    body = pages.page("html", REPORTS["authnone"]).partition("<body>")[2]
    places = [body.index(word) for word in ("<b>fail</b>", "What to do", "Capabilities")]
    assert places == sorted(places)


@pytest.mark.parametrize("name", REPORTS)
def test_markdown_has_whole_tables(name: str) -> None:
    document = pages.page("md", REPORTS[name])
    shape = pages.markdown_shape(document)
    assert 5 in shape
    assert document.endswith("|\n")
    assert "\n\n\n" not in document
    assert shape.count("# ") == 1


def test_the_fleets_markdown_has_whole_tables() -> None:
    document = pages.fleet_page("md", FLEET)
    assert 1 + len(REPORTS) + 1 in pages.markdown_shape(document)
    assert "[authnone](authnone.md)" in document
    assert "[never]" not in document


def test_junit_maps_verdicts() -> None:
    root = ElementTree.fromstring(pages.page("junit.xml", REPORTS["noaccounting"]))
    suite = root[0]
    cases = {one.get("name"): [part.tag for part in one] for one in suite}
    assert len(cases) == int(suite.get("tests") or 0) == len(REPORTS["noaccounting"]["findings"])
    assert cases["accounting_storage"] == ["skipped", "system-out"]
    assert cases["accounting_store_flags"] == ["failure"]
    assert cases["accounting_reachable"] == ["system-out"]
    assert cases["auth_type"] == []
    root = ElementTree.fromstring(pages.page("junit.xml", REPORTS["gone"]))
    assert {part.tag for one in root[0] for part in one} == {"error"}
    assert root.get("errors") == "6"


def test_junit_of_the_fleet_has_a_case_a_cluster() -> None:
    root = ElementTree.fromstring(pages.fleet_page("junit.xml", FLEET))
    cases = {one.get("name"): [part.tag for part in one] for one in root[0]}
    assert cases == {
        "sound": [],
        "authnone": ["failure"],
        "noaccounting": ["failure"],
        "down": ["failure"],
        "gone": ["error"],
        "never": ["error"],
    }


def samples_of(document: str) -> dict[tuple[str, ...], float]:
    """Value by name and the labels' values, without host and cluster."""
    return {
        (name, *(value for key, value in labels.items() if key not in ("host", "cluster"))): number
        for name, labels, number in pages.prometheus_samples(document)
    }


def test_prometheus_has_answers_verdicts_and_seconds() -> None:
    found = samples_of(pages.page("prom", REPORTS["noaccounting"]))
    base = "slurm_capability_audit_"
    assert found[base + "verdict", "fail"] == 1
    assert found[base + "verdict", "pass"] == 0
    assert found[base + "findings", "waived"] == 1
    assert found[base + "finding", "accounting_storage", "waived"] == 1
    assert found[base + "capability", "AccountingHistory", "no"] == 1
    assert found[base + "capability", "AccountingHistory", "yes"] == 0
    assert found[base + "setting_seconds", "MinJobAge"] == 60
    assert found[base + "window_seconds", "call_bound"] == 316
    assert found[base + "probe_timestamp_seconds",] == 1796035200
    assert found[base + "last_run_timestamp_seconds",] == 1796040000
    sound = samples_of(pages.page("prom", REPORTS["sound"]))
    assert sound[base + "window_seconds", "polled_loss_execution"] == float("inf")


def test_prometheus_has_no_number_for_what_was_not_read() -> None:
    names = {name[0] for name in samples_of(pages.page("prom", REPORTS["gone"]))}
    assert not names & {
        "slurm_capability_audit_setting_seconds",
        "slurm_capability_audit_window_seconds",
        "slurm_capability_audit_probe_timestamp_seconds",
    }
    found = samples_of(pages.page("prom", REPORTS["gone"]))
    assert found["slurm_capability_audit_capability", "Hold", "unknown"] == 1


def test_one_folder_of_prometheus_files_has_no_series_twice() -> None:
    documents = [pages.page("prom", one) for one in REPORTS.values()]
    documents.append(pages.fleet_page("prom", FLEET))
    series = [
        (name, tuple(sorted(labels.items())))
        for document in documents
        for name, labels, _value in pages.prometheus_samples(document)
    ]
    assert len(series) == len(set(series))


def test_the_fleet_lists_what_is_to_be_done() -> None:
    _tags, text = pages.html_structure(pages.fleet_page("html", FLEET))
    assert FLEET["headline"] == "Of 6 clusters 3 fail, 2 are unknown, 1 passes"
    assert FLEET["headline"] in text
    assert "Not audited in this run" in text
    named = [(one["host"], one["name"]) for one in FLEET["findings"]]
    assert ("gone", "preflight") in named
    assert ("gone", "auth_type") not in named
    assert named.index(("down", "controller")) < named.index(("gone", "preflight"))


def hostile_result(text: str) -> dict[str, Any]:
    """A preflight's result with the text in every place that holds text."""
    one = {"name": "Hold", "support": "no", "source": "probed", "reason": text}
    fact = samples.sound_fact(
        cluster={
            "name": text,
            "version": text,
            "auth_type": text,
            "auth_alternates": [text, text],
            "usable": "yes",
            "degraded": text,
            "controllers": [{"role": text, "host": text, "up": "no"}],
        },
        settings={**dict.fromkeys(samples.settings(), text), "AuthAltTypes": [text], text: text},
        declarations={"call_bound": text, "polled_loss": {"state": text}},
        capabilities=[one, {**one, "name": "OutputRead", "source": text, "support": text}],
        rules=[{"action": text, "support": "yes", "source": text, "reason": text}],
        interfaces=[{"name": text, "offered": "no", "modules": [text, text]}],
        checks=[
            *(samples.check(name, "fail", text, text) for name in ("controller", text)),
            samples.check("min_job_age", "pass", text, text),
        ],
        probe={"ran_at": 1796035200, "job_id": text, "user": text, "host": text, "skew": text},
    )
    return {**samples.answered(fact), "msg": text, "failure_class": "x", "cmd": text, "rc": 1}


def hostile_report(text: str) -> Any:
    """A report with the text in every place, also in what it knows of earlier."""
    waivers = [
        {"check": "controller", "reason": text, "expires": "2026-12-31"},
        {"check": "auth_type", "reason": text, "expires": "2026-11-01"},
    ]
    before = report(samples.answered(samples.sound_fact()), text)
    before["settings"] = [one for one in before["settings"] if one["name"] != "ClusterName"]
    return report(hostile_result(text), text, before, waivers=waivers)


BENIGN = "xplain"
#: Not empty, and no word that the audit itself uses.
HOSTILE = st.text(st.characters(codec=None, exclude_categories=()), max_size=60).map("x{}".format)
NASTY = [
    "x</td></tr></table><script>alert(1)</script>",
    "x\"'><img src=x onerror=alert(1)>&amp;&lt;",
    "x]]></failure><!--",
    "x|y|\n| a | b |\n# head\n```\n[l](javascript:x) ![i](u) <b>*_~\\",
    "x{{ 7*7 }}{% raw %}{# c #}",
    'x"} 1\nslurm_evil 2\\',
    "x\x00\x1b[2J\u202e\ud800\udc80\ufffe\U0001ffff\u2028",
]


def check_every_format(text: str) -> None:
    """The documents with that text have the structure of those with a plain one."""
    hostile, plain = hostile_report(text), hostile_report(BENIGN)
    shown = visible(text)
    rule = pages.schema("capability_audit.schema.json")
    pages.check_schema(json.loads(pages.page("json", hostile)), rule, rule)

    tags, seen = pages.html_structure(pages.page("html", hostile))
    assert tags == pages.html_structure(pages.page("html", plain))[0]
    assert shown in seen

    found, words = pages.xml_structure(pages.page("junit.xml", hostile))
    assert found == pages.xml_structure(pages.page("junit.xml", plain))[0]
    assert shown in words

    document = pages.page("md", hostile)
    assert pages.markdown_shape(document) == pages.markdown_shape(pages.page("md", plain))

    labels = [one for _name, one, _value in pages.prometheus_samples(pages.page("prom", hostile))]
    plainly = [one for _name, one, _value in pages.prometheus_samples(pages.page("prom", plain))]
    assert [list(one) for one in labels] == [list(one) for one in plainly]
    assert {one["host"] for one in labels} == {shown}


def check_the_fleet(text: str) -> None:
    """The same for the documents on the fleet."""
    hostile, plain = (
        pages.fleet_data([one, "y" + one], [hostile_report(one)]) for one in (text, BENIGN)
    )
    rule = pages.schema("capability_audit_fleet.schema.json")
    pages.check_schema(json.loads(pages.fleet_page("json", hostile)), rule, rule)
    for ending, read in (("html", pages.html_structure), ("junit.xml", pages.xml_structure)):
        structure, seen = read(pages.fleet_page(ending, hostile))
        assert structure == read(pages.fleet_page(ending, plain))[0]
        assert visible(text) in seen
    shape = pages.markdown_shape(pages.fleet_page("md", hostile))
    assert shape == pages.markdown_shape(pages.fleet_page("md", plain))
    assert list(pages.prometheus_samples(pages.fleet_page("prom", hostile))) == list(
        pages.prometheus_samples(pages.fleet_page("prom", plain))
    )


@pytest.mark.parametrize("text", NASTY)
def test_no_nasty_text_changes_a_document(text: str) -> None:
    check_every_format(text)
    check_the_fleet(text)


@settings(max_examples=40, deadline=None)
@given(HOSTILE)
def test_no_text_changes_a_document(text: str) -> None:
    check_every_format(text)
    check_the_fleet(text)


def test_the_test_would_see_an_injection() -> None:
    document = pages.page("html", hostile_report(BENIGN))
    changed = document.replace(BENIGN, "<b>x</b>", 1)
    try:
        tags = pages.html_structure(changed)[0]
    except AssertionError:
        return
    assert tags != pages.html_structure(document)[0]

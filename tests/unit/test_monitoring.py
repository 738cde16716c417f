# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The dashboard and the alert rules ask for what the audit's Prometheus files have: all of it.

`promtool check rules docs/monitoring/alerts.yml`, where Prometheus is installed, reads the rules as
Prometheus does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.report import WaiverState
from ansible_collections.hpcops.slurm.tests.unit.plugins.filter import pages
from ansible_collections.hpcops.slurm.tests.unit.plugins.filter.test_report_pages import (
    FLEET,
    REPORTS,
)

FOLDER = pages.ROOT / "docs" / "monitoring"
DASHBOARD = json.loads((FOLDER / "grafana-dashboard.json").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((FOLDER / "alerts.yml").read_text(encoding="utf-8"))
GUIDE = pages.ROOT / "docs" / "docsite" / "rst" / "guide_monitoring.rst"

PREFIX = "slurm_capability_audit_"
NAME = re.compile(rf"\b{PREFIX}\w+")
SELECTOR = re.compile(rf"\b({PREFIX}\w+)\{{([^}}]*)\}}")
MATCHER = re.compile(r'(\w+)(=~|=)"([^"]*)"')


def described() -> set[str]:
    """The metrics of both templates."""
    texts = [path.read_text(encoding="utf-8") for path in pages.TEMPLATES.glob("*.prom.j2")]
    return {name for text in texts for name in re.findall(r"^# HELP (\w+) ", text, re.MULTILINE)}


def values() -> dict[str, dict[str, set[str]]]:
    """Metric -> label -> values, as files of several clusters have them."""
    documents = [pages.page("prom", one) for one in REPORTS.values()]
    found: dict[str, dict[str, set[str]]] = {name: {} for name in described()}
    for document in (*documents, pages.fleet_page("prom", FLEET)):
        for name, labels, _number in pages.prometheus_samples(document):
            for label, value in labels.items():
                found[name].setdefault(label, set()).add(value)
    found[f"{PREFIX}waiver"]["state"] |= {str(one) for one in WaiverState}
    return found


RULES: list[dict[str, Any]] = [rule for group in ALERTS["groups"] for rule in group["rules"]]
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = {
    **{rule["alert"]: rule["expr"] for rule in RULES},
    **{f"{one['title']} {target['refId']}": target["expr"]
       for one in PANELS for target in one["targets"]},
    **{f"${one['name']}": one["definition"]
       for one in DASHBOARD["templating"]["list"] if one["type"] == "query"},
}  # fmt: skip


def test_every_metric_is_shown_or_watched_and_each_of_them_exists() -> None:
    asked = {name for query in QUERIES.values() for name in NAME.findall(query)}
    assert asked == described()


@pytest.mark.parametrize("query", QUERIES)
def test_labels_and_their_values_exist(query: str) -> None:
    known = values()
    for name, inside in SELECTOR.findall(QUERIES[query]):
        matchers = MATCHER.findall(inside)
        assert ",".join(f'{label}{sign}"{value}"' for label, sign, value in matchers) == inside
        for label, _sign, value in matchers:
            assert label in known[name], (query, name)
            if not value.startswith("$"):
                assert set(value.split("|")) <= known[name][label], (query, name)


def labels_kept(rule: dict[str, Any]) -> set[str]:
    """The labels that an alert has."""
    kept = re.findall(r"max by \(([\w, ]+)\)", rule["expr"])
    return set(kept[0].split(", ")) if kept else set()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_names_only_labels_that_it_has(rule: dict[str, Any]) -> None:
    named = re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"]))
    assert set(named) <= labels_kept(rule)
    assert set(rule["annotations"]) == {"summary", "description"}
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}


def boxes() -> Iterator[tuple[str, set[tuple[int, int]]]]:
    """Title of each panel, and the cells that it covers."""
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                 for y in range(at["y"], at["y"] + at["h"])}  # fmt: skip
        yield panel["title"], cells


def test_no_panel_covers_another_or_leaves_the_page() -> None:
    taken: set[tuple[int, int]] = set()
    for title, cells in boxes():
        assert not taken & cells, title
        assert max(x for x, _y in cells) < 24, title
        taken |= cells
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(numbers) == len(set(numbers))


def test_the_guide_lists_every_metric_and_every_alert() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert set(NAME.findall(text)) == described()
    assert set(re.findall(r"``(Slurm\w+)``", text)) == {rule["alert"] for rule in RULES}

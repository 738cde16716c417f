# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report on several clusters, from the reports on each of them. Pure.

Private to the collection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.report import file_stem
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.text import visible
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.words import (
    CAPABILITIES,
    GRAVITY,
    Answer,
    Verdict,
    gravest,
)

FORMAT = "hpcops.slurm.capability_audit_fleet"
FORMAT_VERSION = 1
CHANGES_SHOWN = 20

NOT_AUDITED = "Not audited in this run"

Data = Mapping[str, object]


@dataclass(frozen=True)
class FleetCluster:
    """One row of the matrix. ``audited`` is false for a host of the play without a report."""

    host: str
    file_stem: str
    audited: bool
    name: str
    version: str
    verdict: Verdict
    headline: str
    counts: Mapping[str, int]
    findings_since: str | None
    supports: Mapping[str, str]
    required: tuple[str, ...]


@dataclass(frozen=True)
class FleetAnswer:
    """What the probe saw on one cluster; the matrix has no room for the reason."""

    host: str
    file_stem: str
    name: str
    support: str
    reason: str
    required: bool


@dataclass(frozen=True)
class FleetFinding:
    """A finding to act on, and whose it is."""

    host: str
    file_stem: str
    name: str
    title: str
    verdict: Verdict
    evidence: str
    wanted: str
    remedy: str
    since: str


@dataclass(frozen=True)
class FleetWaiver:
    """A waiver that is in use or has expired, and where."""

    host: str
    check: str
    reason: str
    expires: str
    state: str


@dataclass(frozen=True)
class FleetChange:
    """Something that changed on a cluster."""

    host: str
    at: str
    kind: str
    name: str
    was: str
    now: str


@dataclass(frozen=True)
class Fleet:
    """The report on all clusters of a play, in the play's order."""

    format: str
    format_version: int
    verdict: Verdict
    headline: str
    counts: Mapping[str, int]
    capabilities: tuple[str, ...]
    clusters: tuple[FleetCluster, ...]
    probed: tuple[FleetAnswer, ...]
    findings: tuple[FleetFinding, ...]
    waivers: tuple[FleetWaiver, ...]
    changes: tuple[FleetChange, ...]


def fleet(hosts: Sequence[str], reports: Mapping[str, object]) -> Fleet:
    """The fleet's report: ``hosts`` are inventory names, ``reports`` data by their key ``host``.

    A host without a report was not audited, and counts as unknown. Raises ValueError when a report
    has a verdict that is none.
    """
    known = {host: one for host in hosts if isinstance(one := reports.get(visible(host)), Mapping)}
    clusters = tuple(_cluster(host, known.get(host)) for host in hosts)
    return Fleet(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        verdict=gravest(one.verdict for one in clusters),
        headline=_headline(clusters),
        counts={verdict.value: 0 for verdict in (*GRAVITY, Verdict.PASS)}
        | Counter(one.verdict.value for one in clusters),
        capabilities=CAPABILITIES,
        clusters=clusters,
        probed=tuple(
            _answer(host, one)
            for host, report in known.items()
            for one in _list(report, "capabilities")
            if one.get("source") == "probed"
        ),
        findings=tuple(_findings(known)),
        waivers=tuple(
            FleetWaiver(visible(host), *_texts(one, "check", "reason", "expires", "state"))
            for host, report in known.items()
            for one in _list(report, "waivers")
            if one.get("state") != "unused"
        ),
        changes=_changes(known),
    )


def _cluster(host: str, report: Data | None) -> FleetCluster:
    if report is None:
        return FleetCluster(
            host=visible(host),
            file_stem=file_stem(host),
            audited=False,
            name="unknown",
            version="unknown",
            verdict=Verdict.UNKNOWN,
            headline=NOT_AUDITED,
            counts={verdict.value: 0 for verdict in Verdict},
            findings_since=None,
            supports=dict.fromkeys(CAPABILITIES, Answer.UNKNOWN.value),
            required=(),
        )
    cluster, counts = report.get("cluster"), report.get("counts")
    name, version = _texts(cluster if isinstance(cluster, Mapping) else {}, "name", "version")
    capabilities = _list(report, "capabilities")
    supports = {str(one.get("name")): str(one.get("support")) for one in capabilities}
    return FleetCluster(
        host=visible(host),
        file_stem=file_stem(host),
        audited=True,
        name=name,
        version=version,
        verdict=Verdict(str(report.get("verdict"))),
        headline=_texts(report, "headline")[0],
        counts=dict(counts) if isinstance(counts, Mapping) else {},
        findings_since=_texts(report, "findings_since")[0],
        supports={name: supports.get(name, Answer.UNKNOWN.value) for name in CAPABILITIES},
        required=tuple(str(one.get("name")) for one in capabilities if one.get("required")),
    )


def _findings(known: Mapping[str, Data]) -> list[FleetFinding]:
    """What is to be acted on, the gravest first, each in the play's order.

    What only follows from a preflight without an answer is left to the cluster's own report.
    """
    found = [
        _finding(host, one)
        for host, report in known.items()
        for one in _list(report, "findings")
        if one.get("verdict") in [verdict.value for verdict in GRAVITY] and not one.get("follows")
    ]
    return sorted(found, key=lambda one: GRAVITY.index(one.verdict))


def _finding(host: str, data: Data) -> FleetFinding:
    name, title, evidence = _texts(data, "name", "title", "evidence")
    wanted, remedy, since = _texts(data, "wanted", "remedy", "since")
    return FleetFinding(
        host=visible(host),
        file_stem=file_stem(host),
        name=name,
        title=title,
        verdict=Verdict(str(data.get("verdict"))),
        evidence=evidence,
        wanted=wanted,
        remedy=remedy,
        since=since,
    )


def _changes(known: Mapping[str, Data]) -> tuple[FleetChange, ...]:
    """The newest changes of all clusters, newest first."""
    found = [
        FleetChange(visible(host), *_texts(one, "at", "kind", "name", "was", "now"))
        for host, report in known.items()
        for one in _list(report, "changes")
    ]
    return tuple(sorted(found, key=lambda one: one.at, reverse=True)[:CHANGES_SHOWN])


_SAYING = {
    Verdict.FAIL: ("fails", "fail"),
    Verdict.UNKNOWN: ("is unknown", "are unknown"),
    Verdict.WARN: ("warns", "warn"),
}


def _headline(clusters: Sequence[FleetCluster]) -> str:
    total = "1 cluster" if len(clusters) == 1 else "%d clusters" % len(clusters)
    parts = []
    for verdict in GRAVITY:
        number = sum(one.verdict is verdict for one in clusters)
        if number:
            parts.append("%d %s" % (number, _SAYING[verdict][number > 1]))
    passed = sum(one.verdict is Verdict.PASS for one in clusters)
    if not parts:
        return "%s, and %s" % (total, "it passes" if passed == 1 else "all pass")
    if passed:
        parts.append("%d %s" % (passed, "passes" if passed == 1 else "pass"))
    return "Of %s %s" % (total, ", ".join(parts))


def _list(report: Data, key: str) -> list[Data]:
    value = report.get(key)
    if not isinstance(value, (list, tuple)):
        return []
    return [one for one in value if isinstance(one, Mapping)]


def _answer(host: str, one: Data) -> FleetAnswer:
    name, support, reason = _texts(one, "name", "support", "reason")
    required = bool(one.get("required"))
    return FleetAnswer(visible(host), file_stem(host), name, support, reason, required)


def _texts(data: Data, *keys: str) -> tuple[str, ...]:
    return tuple(visible(data.get(key)) for key in keys)

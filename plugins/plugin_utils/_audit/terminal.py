# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports as text for a terminal of any width. Pure.

Works on reports as data, since that is what task results carry. Private to the collection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.facts import instant_text
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.text import (
    padded,
    visible,
    width_of,
    wrapped,
)
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.words import GRAVITY

#: ``paint(text, tone)`` gives the text its colour; a tone is a verdict, an answer, or "head".
Paint = Callable[[str, str], str]
Data = Mapping[str, object]

_NARROWEST = 20
_LEAST_FOR_LAST_COLUMN = 24
_CHANGES_SHOWN = 5


def plain(text: str, tone: str) -> str:
    """No colour."""
    return text


@dataclass
class Page:
    """Lines of at most ``width`` columns."""

    width: int
    paint: Paint = plain
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.width = max(self.width, _NARROWEST)

    def blank(self) -> None:
        """An empty line."""
        self.lines.append("")

    def heading(self, text: str) -> None:
        """A line that stands out, with a rule below."""
        shown = wrapped(text, self.width)
        self.lines += [self.paint(line, "head") for line in shown]
        self.lines.append("-" * min(self.width, max(map(width_of, shown))))

    def text(self, text: str, indent: int = 0, label: str = "", tone: str = "") -> None:
        """A paragraph; the lines after the first stand below the text, not below the label."""
        lead = " " * indent + label
        room = self.width - width_of(lead)
        if room < _NARROWEST // 2:
            lead, room = " " * indent, self.width - indent
            text = label + text
        for line in wrapped(text, room):
            shown = self.paint(lead, tone) if tone and lead.strip() else lead
            self.lines.append((shown + line).rstrip())
            lead = " " * (self.width - room)

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        """Columns of which the last is wrapped; below its row where there is no room for it."""
        fixed = len(heads) - 1
        widths = [
            max(width_of(row[i].text) for row in [_cells(heads), *rows]) for i in range(fixed)
        ]
        taken = sum(widths) + 2 * fixed
        if self.width - taken >= _LEAST_FOR_LAST_COLUMN:
            for row in [_cells(heads, "head"), *rows]:
                self._beside(row, widths, self.width - taken)
        elif taken - 2 <= self.width:
            for row in [_cells(heads[:-1], "head"), *rows]:
                self._below(row, widths)
        else:
            for row in rows:
                self._stacked(row)

    def row(self, row: Sequence[Cell], widths: Sequence[int]) -> None:
        """One line of cells, each padded to its width."""
        self.lines.append(self._row(row, widths).rstrip())

    def _row(self, row: Sequence[Cell], widths: Sequence[int]) -> str:
        return "  ".join(
            self.paint(padded(cell.text, width), cell.tone)
            for cell, width in zip(row, widths, strict=False)
        )

    def _beside(self, row: Sequence[Cell], widths: Sequence[int], room: int) -> None:
        lead = self._row(row, widths) + "  "
        last = row[-1]
        for line in wrapped(last.text, room):
            self.lines.append((lead + (self.paint(line, last.tone) if line else "")).rstrip())
            lead = " " * (sum(widths) + 2 * len(widths))

    def _below(self, row: Sequence[Cell], widths: Sequence[int]) -> None:
        self.row(row, widths)
        if len(row) > len(widths) and row[-1].text:
            self.text(row[-1].text, indent=2)

    def _stacked(self, row: Sequence[Cell]) -> None:
        for line in wrapped(row[0].text, self.width):
            self.lines.append(self.paint(line, row[0].tone))
        middle = [cell for cell in row[1:-1] if cell.text]
        if not middle:
            pass
        elif sum(2 + width_of(cell.text) for cell in middle) <= self.width:
            self.lines.append("".join("  " + self.paint(one.text, one.tone) for one in middle))
        else:
            self.text(" ".join(cell.text for cell in middle), indent=2)
        if row[-1].text:
            self.text(row[-1].text, indent=2)


@dataclass(frozen=True)
class Cell:
    """One cell of a table."""

    text: str
    tone: str = ""


def _cells(texts: Iterable[str], tone: str = "") -> list[Cell]:
    return [Cell(text, tone) for text in texts]


def cluster_page(report: Data, width: int, paint: Paint = plain) -> list[str]:
    """The report on one cluster: verdict, capabilities, findings, changes."""
    page = Page(width, paint)
    page.heading("Slurm capability audit: %s" % _text(report, "host"))
    _verdict(page, report)
    page.text(_identity(report))
    page.blank()
    _capability_table(page, _list(report, "capabilities"))
    _findings(page, report)
    _changes(page, report)
    return page.lines


def failure_text(report: Data, files: Sequence[str], fail_on: Sequence[str], width: int) -> str:
    """Why a play fails: each finding of a verdict in ``fail_on``, and the files of the report.

    Empty when there is no such finding.
    """
    wanted = [one for one in _list(report, "findings") if one.get("verdict") in fail_on]
    if not wanted:
        return ""
    page = Page(width)
    page.text("%s: %s" % (_text(report, "host"), _text(report, "headline")))
    _finding_list(page, wanted)
    if files:
        page.blank()
        for file in files:
            page.lines.append("report: %s" % visible(file))
    return "\n".join(page.lines)


def preflight_page(host: str, fact: Data, width: int, paint: Paint = plain) -> list[str]:
    """The fact slurm_preflight alone, where no audit judged it."""
    page = Page(width, paint)
    page.heading("Slurm preflight: %s" % visible(host))
    page.text(_identity(fact))
    page.blank()
    _capability_table(page, _list(fact, "capabilities"))
    odd = [one for one in _list(fact, "checks") if one.get("verdict") != "pass"]
    if odd:
        page.blank()
        page.lines.append(page.paint("Checks that do not pass", "head"))
    for check in sorted(odd, key=_gravity):
        _finding(page, check)
    return page.lines


def fleet_page(reports: Sequence[Data], width: int, paint: Paint = plain) -> list[str]:
    """Capabilities by cluster, and each cluster's verdict; in blocks that fit the width."""
    page = Page(width, paint)
    page.heading("Slurm capability audit: %d clusters" % len(reports))
    names = [_text(one, "name") for one in _list(reports[0], "capabilities")] if reports else []
    first = max([len("Capability"), *map(len, names)])
    for block in _blocks(reports, page.width - first):
        _matrix(page, names, first, block)
        page.blank()
    for report in reports:
        _verdict(page, report, "%s: " % _text(report, "host"))
    return page.lines


def _blocks(reports: Sequence[Data], room: int) -> list[list[Data]]:
    """The reports in groups whose columns fit into ``room``; at least one in each."""
    blocks: list[list[Data]] = []
    taken = 0
    for report in reports:
        need = _column(report) + 2
        if not blocks or taken + need > room:
            blocks.append([])
            taken = 0
        blocks[-1].append(report)
        taken += need
    return blocks


def _column(report: Data) -> int:
    return max(len("unknown"), width_of(_short(report)))


def _short(report: Data, most: int = 16) -> str:
    """A host name that fits over a column."""
    name = _text(report, "host")
    return name if width_of(name) <= most else wrapped(name, most - 1)[0] + "~"


def _matrix(page: Page, names: Sequence[str], first: int, block: Sequence[Data]) -> None:
    widths = [first, *(_column(report) for report in block)]
    rows = [[Cell("Capability", "head"), *(Cell(_short(one), "head") for one in block)]]
    answers = [_supports(report) for report in block]
    for name in names:
        found = [answer.get(name, "unknown") for answer in answers]
        rows.append([Cell(name), *(Cell(one, one) for one in found)])
    verdicts = [_text(report, "verdict") for report in block]
    rows.append([Cell("Verdict"), *(Cell(one.upper(), one) for one in verdicts)])
    for row in rows:
        page.row(row, widths)


def _supports(report: Data) -> dict[str, str]:
    return {_text(one, "name"): _text(one, "support") for one in _list(report, "capabilities")}


def _verdict(page: Page, report: Data, before: str = "") -> None:
    verdict = _text(report, "verdict")
    page.text(_text(report, "headline"), 0, "%s%s  " % (before, verdict.upper()), verdict)


def _identity(data: Data) -> str:
    """Which cluster answered, and what its probe was, for a report and for a fact alike."""
    cluster, probe = _map(data, "cluster"), _map(data, "probe")
    parts = [
        "Cluster %s" % _text(cluster, "name"),
        "Slurm %s" % _text(cluster, "version"),
        "authentication %s" % _text(cluster, "auth_type"),
    ]
    ran_at = probe.get("ran_at")
    if ran_at is None:
        parts.append("no probe")
    else:
        when = ran_at if isinstance(ran_at, str) else instant_text(ran_at)
        whose = (visible(when), _text(probe, "user"), _text(probe, "host"))
        parts.append("probed at %s as %s on %s" % whose)
    return ", ".join(parts)


def _capability_table(page: Page, capabilities: Sequence[Data]) -> None:
    rows = [
        [
            Cell(_text(one, "name") + (" *" if one.get("required") else "")),
            Cell(_text(one, "support"), _text(one, "support")),
            Cell(_text(one, "source")),
            Cell(_text(one, "reason")),
        ]
        for one in capabilities
    ]
    page.table(["Capability", "Support", "Source", "Reason"], rows)
    if any(one.get("required") for one in capabilities):
        page.text("* required by the policy")


def _findings(page: Page, report: Data) -> None:
    odd = [one for one in _list(report, "findings") if one.get("verdict") != "pass"]
    if odd:
        page.blank()
        page.lines.append(page.paint("Findings that do not pass", "head"))
    _finding_list(page, sorted(odd, key=_gravity))


def _finding_list(page: Page, findings: Sequence[Data]) -> None:
    """Findings with all that is known of them; those that follow from others in one line."""
    for finding in findings:
        if not finding.get("follows"):
            _finding(page, finding)
    names = [_text(one, "name") for one in findings if one.get("follows")]
    if names:
        page.text("not answered either: %s" % ", ".join(names), 0, "UNKNOWN  ", "unknown")


def _finding(page: Page, finding: Data) -> None:
    verdict = _text(finding, "verdict")
    label = verdict.upper().ljust(9)
    page.text(_text(finding, "name"), 0, label, verdict)
    for key in ("evidence", "wanted", "remedy"):
        if finding.get(key):
            page.text(_text(finding, key), 2, key.ljust(10))
    for key, label in (("waiver", "waived"), ("expired_waiver", "expired")):
        waiver = finding.get(key)
        if isinstance(waiver, Mapping):
            shown = "%s (last day %s)" % (_text(waiver, "reason"), _text(waiver, "expires"))
            page.text(shown, 2, label.ljust(10))


def _gravity(finding: Data) -> int:
    words = [verdict.value for verdict in GRAVITY]
    verdict = finding.get("verdict")
    return words.index(verdict) if verdict in words else len(words)


def _changes(page: Page, report: Data) -> None:
    changes = _list(report, "changes")[:_CHANGES_SHOWN]
    if changes:
        page.blank()
        page.lines.append(page.paint("Latest changes", "head"))
    for one in changes:
        was, now = _text(one, "was"), _text(one, "now")
        page.text("%s was %s, is %s" % (_text(one, "name"), was, now), 2, _text(one, "at") + "  ")


def _text(data: Data, key: str) -> str:
    return visible(data.get(key, "unknown"))


def _map(data: Data, key: str) -> Data:
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}


def _list(data: Data, key: str) -> list[Data]:
    value = data.get(key)
    if not isinstance(value, (list, tuple)):
        return []
    return [one for one in value if isinstance(one, Mapping)]

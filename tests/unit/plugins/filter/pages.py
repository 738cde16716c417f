# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders the role's templates, and reads the documents back strictly."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jinja2

from ansible_collections.hpcops.slurm.plugins.filter.report_text import report_text
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.fleet import fleet
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.report import as_data

ROOT = Path(__file__).parents[4]
TEMPLATES = ROOT / "roles" / "capability_audit" / "templates"
SCHEMAS = ROOT / "docs" / "schemas"

Data = Mapping[str, Any]

#: Elements of HTML that have no end tag.
VOID = ("meta", "link", "br", "hr", "img", "input")


def _environment() -> jinja2.Environment:
    """Jinja as the module ansible.builtin.template sets it up."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters["hpcops.slurm.report_text"] = report_text
    made.filters["regex_replace"] = lambda value, old, new: re.sub(old, new, value)
    made.filters["ansible.builtin.to_nice_json"] = json.dumps
    return made


ENVIRONMENT = _environment()


def page(ending: str, report: Mapping[str, Any]) -> str:
    """One cluster's document."""
    return ENVIRONMENT.get_template("report.%s.j2" % ending).render(
        capability_audit_report=report, __capability_audit_epoch=1796040000
    )


def fleet_data(hosts: Sequence[str], reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The fleet's report as data."""
    data = as_data(fleet(hosts, {one["host"]: one for one in reports}))
    assert isinstance(data, dict)
    return data


def fleet_page(ending: str, data: Mapping[str, Any]) -> str:
    """The fleet's document."""
    return ENVIRONMENT.get_template("fleet.%s.j2" % ending).render(
        capability_audit_fleet=data, __capability_audit_epoch=1796040000
    )


class _Structure(HTMLParser):
    """Collects tags with the names of their attributes, and checks that they are nested well."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(" ".join([tag, *(name for name, _value in attrs)]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, "</%s> without a beginning" % tag
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment: %r" % data)

    def unknown_decl(self, data: str) -> None:
        raise AssertionError("a declaration: %r" % data)

    def handle_pi(self, data: str) -> None:
        raise AssertionError("a processing instruction: %r" % data)


def html_structure(document: str) -> tuple[list[str], str]:
    """Tags with attribute names in order, and all text; the nesting has to be right."""
    reader = _Structure()
    reader.feed(document)
    reader.close()
    assert reader.open == []
    return reader.tags, "".join(reader.text)


def xml_structure(document: str) -> tuple[list[tuple[str, tuple[str, ...]]], str]:
    """Elements with attribute names in order, and all text and attribute values."""
    root = ElementTree.fromstring(document.encode("utf-8"))
    found = [(one.tag, tuple(one.attrib)) for one in root.iter()]
    words = [text for one in root.iter() for text in (one.text or "", *one.attrib.values())]
    return found, "\n".join(words)


def markdown_shape(document: str) -> list[int | str]:
    """For each line the number of its cells, or how it begins; rows of a table have to agree."""
    shape: list[int | str] = []
    for line in document.split("\n"):
        if line.startswith("|"):
            assert line.endswith("|")
            cells = _cells(line)
            if shape and isinstance(shape[-1], int):
                assert cells == shape[-1], line
            shape.append(cells)
        else:
            shape.append(line[:2])
    return shape


def _cells(line: str) -> int:
    """Cells of a row as GitHub splits it: at each bar that no backslash stands before."""
    return len(re.findall(r"(?<!\\)\|", line)) - 1


_SAMPLE = re.compile(
    r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\+Inf|-?\d+(?:\.\d+)?)\Z'
)
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"')


def prometheus_samples(document: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """Name, labels and value of each sample of the text exposition format, read strictly."""
    assert document.endswith("\n")
    described: set[str] = set()
    typed: set[str] = set()
    seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    for line in document[:-1].split("\n"):
        if line.startswith("# HELP "):
            assert line.split(" ")[2] not in described
            described.add(line.split(" ")[2])
            continue
        if line.startswith("# TYPE "):
            assert line.split(" ")[3] == "gauge"
            typed.add(line.split(" ")[2])
            continue
        match = _SAMPLE.match(line)
        assert match, line
        name, labels, value = match.groups()
        pairs = tuple(
            (key, re.sub(r"\\(.)", lambda one: {"n": "\n"}.get(one[1], one[1]), text))
            for key, text in _LABEL.findall(labels or "")
        )
        assert name in described & typed
        assert (name, pairs) not in seen
        seen.add((name, pairs))
        yield name, dict(pairs), float(value)


def schema(name: str) -> dict[str, Any]:
    """One of the collection's JSON schemas."""
    found: dict[str, Any] = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    return found


_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_KNOWN = {
    *("$schema", "$id", "$defs", "$ref", "title", "description", "type", "const", "enum"),
    *("properties", "required", "additionalProperties", "items", "anyOf", "pattern", "minimum"),
}


def check_schema(value: Any, rule: Data, root: Data, at: str = "") -> None:
    """Validate against the part of JSON Schema that the collection's schemas use."""
    assert set(rule) <= _KNOWN, "%s: the test does not know %s" % (at, set(rule) - _KNOWN)
    if "$ref" in rule:
        check_schema(value, root["$defs"][rule["$ref"].rpartition("/")[2]], root, at)
    if "anyOf" in rule:
        assert any(_fits(value, one, root) for one in rule["anyOf"]), "%s: %r" % (at, value)
    _check_scalar(value, rule, at)
    if isinstance(value, dict):
        _check_object(value, rule, root, at)
    if isinstance(value, list) and "items" in rule:
        for number, one in enumerate(value):
            check_schema(one, rule["items"], root, "%s[%d]" % (at, number))


def _check_scalar(value: Any, rule: Data, at: str) -> None:
    if "const" in rule:
        assert value == rule["const"], at
    if "enum" in rule:
        assert value in rule["enum"], "%s: %r" % (at, value)
    if "type" in rule:
        names = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
        allowed = tuple(one for name in names for one in _TYPES[name])
        assert isinstance(value, allowed), "%s: %r" % (at, value)
        assert "boolean" in names or not isinstance(value, bool), at
    if "pattern" in rule:
        assert re.search(rule["pattern"], value), "%s: %r" % (at, value)
    if "minimum" in rule:
        assert value >= rule["minimum"], at


def _check_object(value: Data, rule: Data, root: Data, at: str) -> None:
    properties = rule.get("properties", {})
    assert set(rule.get("required", ())) <= set(value), at
    for key, one in value.items():
        more = rule.get("additionalProperties", True)
        assert key in properties or more is not False, "%s.%s" % (at, key)
        if key in properties:
            check_schema(one, properties[key], root, "%s.%s" % (at, key))
        elif isinstance(more, dict):
            check_schema(one, more, root, "%s.%s" % (at, key))


def _fits(value: Any, rule: Data, root: Data) -> bool:
    try:
        check_schema(value, rule, root)
    except AssertionError:
        return False
    return True

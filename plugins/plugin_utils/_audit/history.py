# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an earlier report said, and since when: read from the JSON report on the controller. Pure.

The file may have been edited, cut off, or belong to another cluster. It is believed as a whole or
not at all. Private to the collection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.facts import UNKNOWN
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.text import clipped, visible
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.words import Answer, Verdict

FORMAT = "hpcops.slurm.capability_audit"
FORMAT_VERSION = 1

#: Changes that a report keeps, newest first.
CHANGES_KEPT = 50

#: What can change, the most telling first.
KINDS = ("capability", "setting", "check")

#: A report may be dated this much later than now: clocks are set back a little, not by days.
_SLACK = timedelta(days=1)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z", re.ASCII)


class NotBelieved(Exception):
    """The earlier report can't be used; the text says why."""


@dataclass(frozen=True)
class Was:
    """An earlier value, and the instant since when it had been so.

    ``follows``: it was a finding that was unknown only because the preflight gave no answer.
    """

    value: str
    since: str
    follows: bool = False


@dataclass(frozen=True)
class Change:
    """Something that was one thing and is another. ``kind`` is one of :data:`KINDS`."""

    at: str
    kind: str
    name: str
    was: str
    now: str


@dataclass(frozen=True)
class History:
    """What the last report said. The empty history is that of a first audit."""

    recorded_since: str = ""
    findings_since: str = ""
    findings: Mapping[str, Was] = field(default_factory=dict)
    effective: tuple[tuple[str, str], ...] = ()
    capabilities: Mapping[str, Was] = field(default_factory=dict)
    settings: Mapping[str, Was] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()

    def setting(self, name: str) -> str:
        """The last value of a setting that was read, "unknown" when there was none."""
        was = self.settings.get(name)
        return UNKNOWN if was is None else was.value


def read_history(data: object, host: str, now: datetime) -> History:
    """The history in a JSON report (text, bytes or parsed); nothing gives the empty history.

    Raises :class:`NotBelieved` when it is not a whole report about this host.
    """
    if data is None or data == "" or data == b"":
        return History()
    try:
        return _history(_document(data), host, now)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        what = "%s: %s" % (type(error).__name__, error)
        raise NotBelieved("it is not a whole report (%s)" % clipped(what, 200)) from error


def _document(data: object) -> Mapping[str, object]:
    if isinstance(data, (str, bytes)):
        data = json.loads(data)
    if not isinstance(data, Mapping):
        raise NotBelieved("it is not a JSON object")
    if data.get("format") != FORMAT or data.get("format_version") != FORMAT_VERSION:
        raise NotBelieved("it is not a report of format %s version %d" % (FORMAT, FORMAT_VERSION))
    return data


def _history(data: Mapping[str, object], host: str, now: datetime) -> History:
    if data["host"] != host:
        raise NotBelieved("it is about the host %s" % clipped(data["host"], 80))
    instants = _Instants(now)
    return History(
        recorded_since=instants.read(data["recorded_since"]),
        findings_since=instants.read(data["findings_since"]),
        findings={
            _text(one["name"]): Was(
                Verdict(_text(one["raw_verdict"])).value,
                instants.read(one["since"]),
                _truth(one["follows"]),
            )
            for one in _mappings(data["findings"])
        },
        effective=tuple(
            (_text(one["name"]), Verdict(_text(one["verdict"])).value)
            for one in _mappings(data["findings"])
        ),
        capabilities={
            _text(one["name"]): Was(
                Answer(_text(one["support"])).value, instants.read(one["since"])
            )
            for one in _mappings(data["capabilities"])
        },
        settings={
            _text(one["name"]): Was(_text(one["last_known"]), instants.read(one["since"]))
            for one in _mappings(data["settings"])
        },
        changes=tuple(_change(one, instants) for one in _mappings(data["changes"])),
    )


def _change(data: Mapping[str, object], instants: _Instants) -> Change:
    kind = _text(data["kind"])
    if kind not in KINDS:
        raise ValueError("not a kind of change: %r" % kind[:40])
    return Change(
        at=instants.read(data["at"]),
        kind=kind,
        name=_text(data["name"]),
        was=_text(data["was"]),
        now=_text(data["now"]),
    )


class _Instants:
    """Reads instants, and refuses those that lie ahead."""

    def __init__(self, now: datetime) -> None:
        self.latest = now + _SLACK

    def read(self, value: object) -> str:
        text = _text(value)
        if not _INSTANT.match(text):
            raise ValueError("not an instant: %r" % text[:40])
        instant = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        if instant > self.latest:
            raise NotBelieved("it is dated %s, which lies ahead" % text)
        return text


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text: %.40r" % (value,))
    return visible(value)


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("not a truth value: %.40r" % (value,))
    return value


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise TypeError("not an object: %.40r" % (value,))
    return value


def _mappings(value: object) -> list[Mapping[str, object]]:
    if not isinstance(value, list):
        raise TypeError("not an array: %.40r" % (value,))
    return [_mapping(one) for one in value]


@dataclass
class Ledger:
    """Compares what is with what was, and collects the changes. ``now`` is an ISO-8601 text."""

    history: History
    now: str
    changes: list[Change] = field(default_factory=list)

    def since(self, kind: str, name: str, value: str, was: Was | None) -> str:
        """Since when the value has been so; notes a change if there was another one.

        No ``kind``: the change is noted elsewhere.
        """
        if was is None:
            return self.now
        if was.value == value:
            return was.since
        if kind:
            self.changes.append(Change(self.now, kind, name, was.value, value))
        return self.now

    def all_changes(self) -> tuple[Change, ...]:
        """The changes of this audit and of earlier ones, newest first, no more than are kept."""
        fresh = sorted(self.changes, key=lambda one: KINDS.index(one.kind))
        return (*fresh, *self.history.changes)[:CHANGES_KEPT]

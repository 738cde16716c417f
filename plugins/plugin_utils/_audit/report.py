# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report on one cluster: the one structure that every format is made from. Pure.

Nothing in it moves by itself, so an audit that finds nothing new leaves its files unchanged.
Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from enum import Enum, StrEnum
from urllib.parse import quote

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.facts import (
    Cluster,
    Interface,
    Probe,
    Scalar,
    Support,
    Value,
)
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.history import Change
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.words import Answer, Verdict


@dataclass(frozen=True)
class AppliedWaiver:
    """The waiver that a finding falls under: why, and the last day it holds."""

    reason: str
    expires: str


@dataclass(frozen=True)
class Finding:
    """One answer to the policy.

    ``raw_verdict`` is what was found, ``verdict`` what counts: they differ when a waiver is active.
    ``since`` is when the raw verdict was first recorded. ``follows``: it is unknown only because
    the preflight gave no answer.
    """

    name: str
    title: str
    verdict: Verdict
    raw_verdict: Verdict
    evidence: str
    wanted: str
    remedy: str
    follows: bool
    since: str
    waiver: AppliedWaiver | None = None
    expired_waiver: AppliedWaiver | None = None


@dataclass(frozen=True)
class Capability:
    """A capability, since when its answer has been so, and whether the policy asks for it."""

    name: str
    support: Answer
    source: str
    reason: str
    since: str
    required: bool


@dataclass(frozen=True)
class Setting:
    """A live setting.

    ``value`` is typed, ``text`` is for people, ``last_known`` the text when it was last read;
    ``since`` is when that text was first recorded.
    """

    name: str
    value: Value
    text: str
    last_known: str
    since: str


@dataclass(frozen=True)
class Window:
    """A declared length of time: seconds, or "unbounded" or "unknown"; ``text`` is for people."""

    name: str
    title: str
    value: Scalar
    text: str


class WaiverState(StrEnum):
    """Whether a waiver does anything."""

    ACTIVE = "active"
    UNUSED = "unused"
    EXPIRED = "expired"


@dataclass(frozen=True)
class ListedWaiver:
    """A waiver of the policy that is for this cluster, and what became of it."""

    check: str
    reason: str
    expires: str
    state: WaiverState


@dataclass(frozen=True)
class Report:
    """The report on one cluster. Times are ISO-8601 texts in UTC, durations seconds."""

    format: str
    format_version: int
    host: str
    file_stem: str
    verdict: Verdict
    headline: str
    counts: Mapping[str, int]
    recorded_since: str
    findings_since: str
    cluster: Cluster
    findings: tuple[Finding, ...]
    capabilities: tuple[Capability, ...]
    rules: tuple[Support, ...]
    interfaces: tuple[Interface, ...]
    windows: tuple[Window, ...]
    settings: tuple[Setting, ...]
    waivers: tuple[ListedWaiver, ...]
    changes: tuple[Change, ...]
    probe: Probe
    policy: Mapping[str, object]


def file_stem(host: str) -> str:
    """The part of a report's file name that is the host's: never a path, never the fleet's own."""
    stem = quote(host.encode("utf-8", "surrogatepass"), safe="")
    return "%66leet" if stem == "fleet" else stem


def as_data(value: object) -> object:
    """Records, enums, tuples and dates as what JSON knows."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: as_data(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_data(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_data(one) for one in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date):
        return value.isoformat()
    return value

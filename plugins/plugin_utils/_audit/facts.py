# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fact ``slurm_preflight`` as records. Pure.

The fact comes from another host and may come from another release of the collection, so nothing
about its form is taken for granted: what can't be read is unknown. Private to the collection.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.capabilities import Source
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.text import clipped
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.words import (
    CAPABILITIES,
    Answer,
    Verdict,
    check_words,
    without_answer,
)

FORMAT = 1
UNKNOWN = "unknown"
UNBOUNDED = "unbounded"
INFINITE = "infinite"

#: A value as a report has it: texts are visible; "unknown", "infinite", "unbounded" are words.
Scalar = str | int | float | bool | None
Value = Scalar | tuple[Scalar, ...]

#: Instants from here on are none: 9999-12-31.
LATEST = 253402214400

#: Where an answer can come from.
SOURCES = tuple(one.value for one in Source)

#: The declared windows, as ``polled_loss.state``.
POLLED = ("state", "cause", "exit_code", "execution")


@dataclass(frozen=True)
class Controller:
    """One configured controller. ``up`` is an answer word."""

    role: str
    host: str
    up: str


@dataclass(frozen=True)
class Cluster:
    """Which cluster answered. Texts are "unknown" when they were not read."""

    name: str = UNKNOWN
    version: str = UNKNOWN
    auth_type: str = UNKNOWN
    auth_alternates: tuple[str, ...] = ()
    usable: str = UNKNOWN
    degraded: str = UNKNOWN
    controllers: tuple[Controller, ...] = ()


@dataclass(frozen=True)
class Support:
    """The answer about one capability or recovery action."""

    name: str
    support: Answer
    source: str
    reason: str


@dataclass(frozen=True)
class Interface:
    """An optional interface, and which modules carry it."""

    name: str
    offered: Answer
    modules: tuple[str, ...]


@dataclass(frozen=True)
class Check:
    """What the preflight says about one of its checks."""

    name: str
    title: str
    verdict: Verdict
    evidence: str
    remedy: str


@dataclass(frozen=True)
class Probe:
    """The probe behind the probed answers. None when there was none; ``skew`` is in seconds."""

    ran_at: str | None = None
    ran_at_epoch: int | None = None
    valid_until: str | None = None
    job_id: str | None = None
    user: str = UNKNOWN
    host: str = UNKNOWN
    skew: Scalar = None


@dataclass(frozen=True)
class Facts:
    """The whole fact. ``answered`` is false when it stands for a preflight that gave none."""

    answered: bool
    cluster: Cluster
    settings: Mapping[str, Value]
    declarations: Mapping[str, Scalar]
    capabilities: tuple[Support, ...]
    rules: tuple[Support, ...]
    interfaces: tuple[Interface, ...]
    checks: tuple[Check, ...]
    probe: Probe

    def setting(self, name: str) -> Value:
        """A live setting, "unknown" when it was not read."""
        return self.settings.get(name, UNKNOWN)

    def check(self, name: str) -> Check | None:
        """The preflight's own word on a check, None when it has none."""
        return next((check for check in self.checks if check.name == name), None)

    def capability(self, name: str) -> Support:
        """The answer about a capability."""
        return next(one for one in self.capabilities if one.name == name)


def read_facts(data: object, failure: str) -> Facts:
    """The fact from a module's result; ``failure`` says what went wrong when there is none.

    A fact that is missing or of another format gives a :class:`Facts` that knows nothing.
    """
    fact = _mapping(data)
    if fact.get("format") != FORMAT:
        return no_facts(failure or "the preflight's fact is not of format %d" % FORMAT)
    declarations = _mapping(fact.get("declarations"))
    polled = _mapping(declarations.get("polled_loss"))
    return Facts(
        answered=True,
        cluster=_cluster(_mapping(fact.get("cluster"))),
        settings={
            clipped(name): value_of(value) for name, value in _mapping(fact.get("settings")).items()
        },
        declarations={
            "node_loss_window": _scalar(declarations.get("node_loss_window", UNKNOWN)),
            "call_bound": _scalar(declarations.get("call_bound", UNKNOWN)),
            "shortest_bounded_window": _scalar(
                declarations.get("shortest_bounded_window", UNKNOWN)
            ),
            **{"polled_loss_" + name: _scalar(polled.get(name, UNKNOWN)) for name in POLLED},
        },
        capabilities=_capabilities(fact.get("capabilities")),
        rules=tuple(_support(one, "action") for one in _mappings(fact.get("rules"))),
        interfaces=tuple(_interface(one) for one in _mappings(fact.get("interfaces"))),
        checks=tuple(_check(one) for one in _mappings(fact.get("checks"))),
        probe=_probe(_mapping(fact.get("probe"))),
    )


def no_facts(reason: str) -> Facts:
    """What is known when no preflight answered: the declared answers, and nothing probed."""
    declared = without_answer(clipped(reason)).items()
    return Facts(
        answered=False,
        cluster=Cluster(),
        settings={},
        declarations={},
        capabilities=tuple(
            Support(name, one.support, one.source.value, one.reason) for name, one in declared
        ),
        rules=(),
        interfaces=(),
        checks=(),
        probe=Probe(),
    )


def value_of(value: object) -> Value:
    """A setting's value with visible texts; what has no place in a report becomes text."""
    if isinstance(value, (list, tuple)):
        return tuple(_scalar(one) for one in value)
    return _scalar(value)


def _scalar(value: object) -> Scalar:
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return clipped(value)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _mappings(value: object) -> list[Mapping[str, object]]:
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        return []
    return [one for one in value if isinstance(one, Mapping)]


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        return ()
    return tuple(clipped(one) for one in value)


def _text(data: Mapping[str, object], key: str) -> str:
    return clipped(data.get(key, UNKNOWN)) or UNKNOWN


def _answer(value: object) -> Answer:
    """An answer word; anything else is not an answer."""
    return Answer(value) if value in [one.value for one in Answer] else Answer.UNKNOWN


def _cluster(data: Mapping[str, object]) -> Cluster:
    return Cluster(
        name=_text(data, "name"),
        version=_text(data, "version"),
        auth_type=_text(data, "auth_type"),
        auth_alternates=_texts(data.get("auth_alternates")),
        usable=_answer(data.get("usable")).value,
        degraded=_answer(data.get("degraded")).value,
        controllers=tuple(
            Controller(_text(one, "role"), _text(one, "host"), _answer(one.get("up")).value)
            for one in _mappings(data.get("controllers"))
        ),
    )


def _support(data: Mapping[str, object], key: str = "name") -> Support:
    return Support(
        name=_text(data, key),
        support=_answer(data.get("support")),
        source=_text(data, "source") if data.get("source") in SOURCES else UNKNOWN,
        reason=clipped(data.get("reason")),
    )


def _capabilities(value: object) -> tuple[Support, ...]:
    """All fourteen in their order; one that the fact does not answer is unknown."""
    found = {one.name: one for one in map(_support, _mappings(value))}
    missing = {
        name: Support(name, Answer.UNKNOWN, one.source.value, "not in the preflight's answer")
        for name, one in without_answer("").items()
    }
    return tuple(found.get(name, missing[name]) for name in CAPABILITIES)


def _interface(data: Mapping[str, object]) -> Interface:
    return Interface(_text(data, "name"), _answer(data.get("offered")), _texts(data.get("modules")))


def _check(data: Mapping[str, object]) -> Check:
    name = _text(data, "name")
    words = [one.value for one in Verdict if one is not Verdict.WAIVED]
    verdict = data.get("verdict")
    return Check(
        name=name,
        title=clipped(data.get("title")) or check_words(name).title,
        verdict=Verdict(verdict) if verdict in words else Verdict.UNKNOWN,
        evidence=clipped(data.get("evidence")),
        remedy=clipped(data.get("remedy")).rstrip("."),
    )


def _probe(data: Mapping[str, object]) -> Probe:
    job, ran_at = data.get("job_id"), _epoch(data.get("ran_at"))
    return Probe(
        ran_at=instant_text(ran_at),
        ran_at_epoch=ran_at,
        valid_until=instant_text(_epoch(data.get("valid_until"))),
        job_id=None if job is None else clipped(job),
        user=_text(data, "user"),
        host=_text(data, "host"),
        skew=_scalar(data.get("skew")),
    )


def _epoch(value: object) -> int | None:
    """Whole epoch seconds; None for anything that is not an instant of this era."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < LATEST else None


def instant_text(value: object) -> str | None:
    """Epoch seconds as an ISO-8601 text; None for anything that is not an instant of this era."""
    seconds = _epoch(value)
    return None if seconds is None else iso(datetime.fromtimestamp(seconds, tz=UTC))


def iso(instant: datetime) -> str:
    """An instant as ISO-8601 in UTC, to the second: ``2026-03-01T08:00:00Z``."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

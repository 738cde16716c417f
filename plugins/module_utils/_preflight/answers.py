# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preflight's answers as the other modules use them: the fact that was given, or the cache.

Private to the collection.
"""

from __future__ import annotations

import os
import pwd
import socket
import time
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import Configuration
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.cache import (
    Cache,
    default_path,
    identity,
)


@dataclass(frozen=True)
class Source:
    """Where the preflight's answers come from: the fact that was given, or the cache."""

    fact: Optional[Mapping[str, Any]]
    cache_path: str
    max_age: int
    user: str
    host: str

    @property
    def missing(self) -> str:
        """Why there are no answers, and what to do."""
        return (
            "no valid preflight: run hpcops.slurm.preflight as %s on %s first (it keeps its answers"
            " in %s), or give its fact with preflight" % (self.user, self.host, self.cache_path)
        )


@dataclass(frozen=True)
class Found:
    """The answers. ``hold_reason`` and ``accounting_reason`` are the spec's texts."""

    hold: Answer
    hold_reason: str
    accounting: Answer
    accounting_reason: str
    skew: float
    offset: float


def source_from(params: Mapping[str, Any]) -> Source:
    """The source that a module's options name, for this user and host."""
    who = pwd.getpwuid(os.geteuid())
    default = default_path(who.pw_uid, who.pw_dir, os.environ.get("XDG_STATE_HOME"))
    return Source(
        fact=params["preflight"],
        cache_path=params["cache_path"] or default,
        max_age=params["probe_max_age"],
        user=who.pw_name,
        host=socket.gethostname(),
    )


def find_answers(source: Source, configuration: Configuration) -> Optional[Found]:
    """The answers for this live configuration; None when there are none that are valid.

    Raises :class:`SlurmError` (FACTS_UNUSABLE) when the fact that was given is none, or is another
    user's, host's or cluster's.
    """
    return _given(source, configuration) if source.fact else _cached(source, configuration)


def _cached(source: Source, configuration: Configuration) -> Optional[Found]:
    key = identity(configuration, source.user, source.host)
    answers = Cache(source.cache_path).find(key, time.time(), source.max_age)
    if answers is None:
        return None
    hold, accounting = answers.hold, answers.accounting
    return Found(
        hold.support,
        hold.reason,
        accounting.support,
        accounting.reason,
        answers.skew,
        answers.offset,
    )


def _given(source: Source, configuration: Configuration) -> Optional[Found]:
    """The answers of a fact that was given; None when they are too old."""
    try:
        fact: Mapping[str, Any] = source.fact or {}
        probe, cluster = fact["probe"], fact["cluster"]
        whose = [probe["user"], probe["host"], cluster["name"], cluster["version"]]
        whose.append(cluster["auth_type"])
        supports = (*_support(fact, "Hold"), *_support(fact, "AccountingHistory"))
        skew, offset, ran_at = float(probe["skew"]), float(probe["offset"]), probe["ran_at"]
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        raise SlurmError(
            "preflight is no fact of hpcops.slurm.preflight: %r" % (error,),
            FailureClass.FACTS_UNUSABLE,
            remedy="Give ansible_facts['slurm_preflight'] as the module returned it",
        ) from error
    here = [source.user, source.host, *map(configuration.text, _IDENTITY)]
    if whose != here:
        raise SlurmError(
            "preflight is of %s, and this is %s" % (_list(whose), _list(here)),
            FailureClass.FACTS_UNUSABLE,
            remedy="Run hpcops.slurm.preflight on this host as this user",
        )
    if ran_at is None or not 0 <= time.time() - float(ran_at) <= source.max_age:
        return None
    return Found(*supports, skew, offset)


def _support(fact: Mapping[str, Any], name: str) -> Tuple[Answer, str]:
    found = next(one for one in fact["capabilities"] if one["name"] == name)
    return Answer(found["support"]), str(found["reason"])


_IDENTITY = ("ClusterName", "SLURM_VERSION", "AuthType")


def _list(values: Any) -> str:
    return ", ".join(str(one) for one in values)

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether writes may be sent on this cluster, and how late they may land.

Private to the collection.
"""

from __future__ import annotations

import os
import pwd
import socket
import time
from dataclasses import dataclass
from typing import Any, Mapping, Optional

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    Configuration,
    read_configuration,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.landing import (
    auth_type,
    landing_bound,
    no_bound_reason,
)
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
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.engine import (
    Bound,
    Permission,
)


@dataclass(frozen=True)
class Source:
    """Where the preflight's answers come from: the fact that was given, or the cache."""

    fact: Optional[Mapping[str, Any]]
    cache_path: str
    max_age: int
    user: str
    host: str


@dataclass(frozen=True)
class _Answers:
    hold: Answer
    reason: str
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


def permit(run: Run, params: Mapping[str, Any], needs_bound: bool) -> Permission:
    """Read the live configuration and the preflight's answers for it.

    A write that ``needs_bound`` is refused where AuthType has no known landing bound, where holds
    were not seen to work, and where no preflight is valid. Raises :class:`SlurmError` when the
    controller gives no configuration, or when the fact that was given is another cluster's.
    """
    source = source_from(params)
    configuration = read_configuration(run)
    cluster = configuration.text("ClusterName") or ""
    kind = auth_type(configuration)
    found = _given(source, configuration) if source.fact else _cached(source, configuration)
    if found is None:
        bound = landing_bound(configuration, 0)
        nothing = Bound(None, 0.0)
        if not needs_bound:
            return Permission(cluster, nothing, "")
        reason = no_bound_reason(kind) if bound.seconds == 0 else _missing(source)
        return Permission(cluster, nothing, reason)
    bound = landing_bound(configuration, found.skew)
    refusal = ""
    if needs_bound and not bound.known:
        refusal = bound.reason
    elif needs_bound and found.hold is not Answer.YES:
        refusal = found.reason or "Hold is %s" % found.hold.value
    return Permission(cluster, Bound(bound.seconds or None, found.offset), refusal)


def _missing(source: Source) -> str:
    return (
        "no valid preflight: run hpcops.slurm.preflight as %s on %s first (it keeps its answers in"
        " %s), or give its fact with preflight" % (source.user, source.host, source.cache_path)
    )


def _cached(source: Source, configuration: Configuration) -> Optional[_Answers]:
    key = identity(configuration, source.user, source.host)
    answers = Cache(source.cache_path).find(key, time.time(), source.max_age)
    if answers is None:
        return None
    return _Answers(answers.hold.support, answers.hold.reason, answers.skew, answers.offset)


def _given(source: Source, configuration: Configuration) -> Optional[_Answers]:
    """The answers of a fact that was given; None when they are too old."""
    try:
        fact: Mapping[str, Any] = source.fact or {}
        probe, cluster = fact["probe"], fact["cluster"]
        whose = [probe["user"], probe["host"], cluster["name"], cluster["version"]]
        whose.append(cluster["auth_type"])
        hold = next(one for one in fact["capabilities"] if one["name"] == "Hold")
        support, reason = Answer(hold["support"]), str(hold["reason"])
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
    return _Answers(support, reason, skew, offset)


_IDENTITY = ("ClusterName", "SLURM_VERSION", "AuthType")


def _list(values: Any) -> str:
    return ", ".join(str(one) for one in values)

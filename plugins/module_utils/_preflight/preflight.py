# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One round of a preflight: read, probe or take the cached answers, judge.

Private to the collection.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, List, Mapping, Optional

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import (
    Commands,
    removed_variables,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    Configuration,
    read_configuration,
    read_controllers,
    require_source,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.landing import landing_bound
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    Reply,
    SlurmError,
    printable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight import checks, clock
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.cache import (
    Answers,
    Cache,
    Lock,
    identity,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.capabilities import (
    READ_ONLY,
    Support,
    probed,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.facts import (
    Probed,
    Terms,
    View,
    preflight_facts,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.rounds import Message
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.started import (
    NotStarted,
    Started,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.verdicts import Check

#: Where packages and sackd put slurm.conf; scontrol may have another place built in.
USUAL_PLACES = (
    "/etc/slurm/slurm.conf",
    "/etc/slurm-llnl/slurm.conf",
    "/usr/local/etc/slurm.conf",
    "/run/slurm/conf/slurm.conf",
)

#: Failures that scontrol ping meets again, one of them after a minute.
_NOT_ASKED = (FailureClass.NO_CONFIG_SOURCE, FailureClass.COMMAND_MISSING)

#: What shows whether accounting answers.
_ACCOUNTING = ("sacct", "-X", "-n", "-P", "-o", "JobID", "-j", "1")

#: Seconds to wait for another preflight of this user on this host.
LOCK_PATIENCE = 120.0


@dataclass(frozen=True)
class Request:
    """The caller's options. Durations in seconds; ``read_only``: check mode, or probe=never."""

    terms: Terms
    cache_path: str
    read_only: bool
    poll_interval: Optional[int]
    clock_skew_max: float


@dataclass
class Round:
    """What one round came to.

    ``facts`` is None while the preflight is not finished. ``part`` goes to the action plugin.
    ``error`` is why there is no configuration, ``changed`` whether a probe ran (or would have).
    """

    part: Dict[str, Any]
    facts: Optional[Dict[str, Any]] = None
    error: Optional[SlurmError] = None
    changed: bool = False
    warnings: List[str] = field(default_factory=list)


class Preflight:
    """Runs one round on this host."""

    def __init__(self, commands: Commands, request: Request, message: Message) -> None:
        self.commands, self.request, self.message = commands, request, message
        self.run = commands.run
        self.cache = Cache(request.cache_path)
        self.began, self.wall = time.monotonic(), time.time()
        self.clock: Optional[clock.Sample] = None
        self.error: Optional[SlurmError] = None
        self.started = _started(message.state)
        self.not_started = NotStarted("")
        self.accounting: Callable[[], Reply] = lambda: self.run(*_ACCOUNTING)
        self.changed = self.started is not None

    def round(self) -> Round:
        """The whole of one round. Raises only ``Interrupted``."""
        with contextlib.ExitStack() as stack:
            if self.started is None and self.request.terms.mode != "always":
                # Most such rounds end with this: it may take as long as all the rest.
                self.accounting = stack.enter_context(self.commands.beside(*_ACCOUNTING))
            return self._round()

    def _round(self) -> Round:
        configuration = self._configuration()
        if self.error is not None:
            return self._end(configuration, self._unseen(self.error.message))
        if self.started is None:
            seen = self._without_probing(configuration) or self._start(configuration)
            if seen is not None:
                return self._end(configuration, seen)
        if self.started is None:
            raise AssertionError("a round that has not ended has a probe")
        return self._go_on(configuration, self.started)

    def _configuration(self) -> Configuration:
        asked = time.monotonic()
        try:
            require_source(self.commands.environment)
            configuration = read_configuration(self.run)
        except SlurmError as error:
            self.error = error
            return Configuration(None)
        if configuration.as_of is not None:
            # ended: filled in when the round ends
            self.clock = clock.Sample(
                configuration.as_of, self.wall, self.began, asked, time.monotonic(), 0.0
            )
        return configuration

    def _without_probing(self, configuration: Configuration) -> Optional[Probed]:
        """The cached answers, or that there are none to be had; None when a probe has to tell."""
        read_only, mode = self.request.read_only, self.request.terms.mode
        cached = self._cached(configuration) if read_only or mode != "always" else None
        if read_only:
            # What a run that may probe would do.
            self.changed = mode == "always" or (mode == "auto" and cached is None)
        if cached is not None:
            return Probed(cached.hold, cached.accounting, cached, cached=True)
        return self._unseen(READ_ONLY) if read_only else None

    def _key(self, configuration: Configuration) -> Dict[str, str]:
        place = self.request.terms.place
        return identity(configuration, place.user, place.host)

    def _cached(self, configuration: Configuration) -> Optional[Answers]:
        max_age = self.request.terms.max_age
        return self.cache.find(self._key(configuration), time.time(), max_age)

    def _start(self, configuration: Configuration) -> Optional[Probed]:
        """Probe, one run of this user at a time. None when the probe was started."""
        # Here, since most runs find cached answers: see started.py.
        from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.probe import attempt

        lock = Lock(self.request.cache_path)
        alone, why = lock.take(LOCK_PATIENCE)
        try:
            seen = self._without_probing(configuration)  # another run may have probed meanwhile
            if seen is not None:
                return seen
            if not alone:
                self.cache.warnings.append(printable("Probing without %s" % why))
            bound = landing_bound(configuration, 0)
            hold: Optional[Support] = None
            if bound.seconds is None:
                hold = probed(Answer.UNKNOWN, bound.reason, passing=True)
            elif not bound.known:
                hold = probed(Answer.NO, bound.reason)
            place, end = self.request.terms.place, self.commands.end_running
            found = attempt(self.run, place, configuration.as_of, hold, end)
        finally:
            lock.free()
        if isinstance(found, Started):
            self.started, self.changed = found, True
            return None
        self.not_started = found
        self.changed = found.late or bool(found.removed)
        return self._unseen(found.reason)

    def _go_on(self, configuration: Configuration, started: Started) -> Round:
        from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.history import (
            limit,
            wait_for_row,
        )

        waited = max(0.0, time.time() - started.cancelled_at)
        if started.accounting is None:
            answer, waited = wait_for_row(self.run, configuration, started, self.message.wait)
            started = replace(started, accounting=answer)
        skew = self.message.skew
        unmeasured = skew is None and self.clock is not None
        if started.accounting is None or unmeasured:
            return self._part(
                finished=False,
                state=_state(started),
                waiting=started.accounting is None,
                waited=round(waited, 1),
                limit=limit(configuration),
                job_id=started.job_id,
            )
        answers = Answers(
            key=self._key(configuration),
            ran_at=started.ran_at,
            job_id=started.job_id,
            skew=skew.bound if skew else 0,
            offset=math.ceil(skew.offset * 1000) / 1000 if skew and skew.offset else 0.0,
            hold=started.hold,
            accounting=started.accounting,
        )
        if answers.lasting:
            self.cache.store(answers)
        return self._end(configuration, Probed(answers.hold, answers.accounting, answers))

    def _unseen(self, reason: str) -> Probed:
        nothing = probed(Answer.UNKNOWN, reason, passing=True)
        return Probed(nothing, nothing)

    def _part(self, **more: Any) -> Round:
        sample = None
        if self.clock is not None:
            ended = replace(self.clock, ended=time.monotonic())
            sample = ended.as_fact()
        part = dict(clock=sample, clock_skew_max=self.request.clock_skew_max, **more)
        return Round(part, error=self.error, changed=self.changed, warnings=self.cache.warnings)

    def _end(self, configuration: Configuration, seen: Probed) -> Round:
        controllers = configuration.controllers
        if self.error is not None and self.error.failure not in _NOT_ASKED:
            controllers = read_controllers(self.run)
        view = View(configuration, controllers)
        seen = replace(seen, removed=(self.started or self.not_started).removed)
        found = self._checks(view, seen)
        ended = self._part(finished=True)
        ended.facts = preflight_facts(view, seen, found, self.request.terms, time.time())
        return ended

    def _checks(self, view: View, seen: Probed) -> List[Check]:
        commands, configuration = self.commands, view.configuration
        paths = {name: commands.path_of(name) for name in checks.COMMANDS}
        places = [path for path in USUAL_PLACES if os.path.exists(path)]
        named = commands.environment.get("SLURM_CONF")
        answered = self.error is None
        sacct: Optional[Reply] = None
        if answered:
            sacct = self.accounting()
        before_clock = [
            checks.commands(paths),
            checks.configuration_source(named, places, answered),
            checks.controller(view.controllers),
            checks.version(configuration),
            checks.environment(removed_variables(commands.caller)),
            checks.live_configuration(configuration, self.error),
        ]
        judged = checks.of_configuration(configuration, sacct, self.request.poll_interval)
        # The action plugin judges the clock, after the answer has come back to it.
        no_clock = clock.check(None, self.request.clock_skew_max)
        place, answers = self.request.terms.place, seen.answers
        job = (
            "probe job %s by %s on %s" % (answers.job_id, place.user, place.host)
            if answers
            else None
        )
        trouble = (self.started or self.not_started).trouble
        refused = self.not_started.refused
        probe = checks.probe(job, seen.hold, seen.accounting, refused, trouble)
        return [*before_clock, *judged[:2], no_clock, *judged[2:], probe]


def _state(started: Started) -> Dict[str, Any]:
    """A started probe as the hidden option carries it."""
    state = dict(vars(started))
    for name in ("hold", "accounting"):
        support: Optional[Support] = state[name]
        state[name] = None if support is None else dict(support.as_fact(), passing=support.passing)
    return state


def _started(state: Optional[Mapping[str, Any]]) -> Optional[Started]:
    """A started probe from the hidden option."""
    if state is None:
        return None
    values = dict(state)
    for name in ("hold", "accounting"):
        given: Optional[Mapping[str, Any]] = values[name]
        if given is not None:
            values[name] = probed(Answer(given["support"]), given["reason"], given["passing"])
    values["removed"] = tuple(values["removed"])
    return Started(**values)

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module's share of a task, cut into steps: the project's own engine does each of them.

A step is a function of what it reads: the job as squeue shows it, the journal's lines, the clock.
It is computed once and remembered. Nothing of the engine is copied; of it, only the clock, the
random numbers, the disk, the threads and the starting of programs are replaced.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Detached
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    parse_configuration,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.landing import landing_bound
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Reply,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs import squeue
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import Marks
from ansible_collections.hpcops.slurm.plugins.module_utils._writes import engine, task
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.cancel import Cancel
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.engine import (
    Bound,
    Order,
    Permission,
    Report,
    Writer,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import Journal
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import (
    Action,
    Hold,
    Open,
    Plan,
    Release,
    Requeue,
    Restore,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import Script
from ansible_collections.hpcops.slurm.tests.model.world import GONE, JOB_ID, Job, shown
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes

CREDENTIAL, MESSAGE_TIMEOUT, TTL = 3, 2, 10
CONFIGURATION = parse_configuration(
    "Configuration data as of 1796035468\nAuthType = auth/munge\n"
    f"AuthInfo = ttl={CREDENTIAL}\nMessageTimeout = {MESSAGE_TIMEOUT} sec\n"
)
CLUSTER = "cl1"

ACTIONS: dict[str, Callable[[float], Action]] = {
    "hold 1": lambda now: Hold(1, now),
    "hold 2": lambda now: Hold(2, now),
    "release 1": lambda now: Release(1, now),
    "release 2": lambda now: Release(2, now),
    "open": lambda now: Open(),
    "requeue": lambda now: Requeue(restarts=0),
    "restore": lambda now: Restore(),
    "restore, forced": lambda now: Restore(force=True),
    "cancel": lambda now: Cancel(),
    "cancel of execution 0": lambda now: Cancel(restarts=0),
}


class Setting(NamedTuple):
    """How the hosts are.

    ``skew``: how far the host's clock is ahead of slurmctld's; ``offset``: the Ansible controller's
    ahead of the host's; ``bounded``: whether a landing bound is known.
    """

    skew: int = 0
    offset: int = 0
    bounded: bool = True

    def bound(self) -> Bound:
        """The bound as the project computes it."""
        seconds = landing_bound(CONFIGURATION, self.skew).seconds
        return Bound(seconds if self.bounded else None, float(self.offset))


class Mail(NamedTuple):
    """What a step knows beside its own state: the clock, what squeue answers (None: nothing), and
    the journal.
    """

    now: int
    job: Job | None
    journal: tuple[str, ...]


class Made(NamedTuple):
    """What a step came to: ``send`` is the key of what is to be started, ``state`` what the next
    round gets, ``result`` the job's result once the task is over, ``failed`` that it said nothing.
    """

    journal: tuple[str, ...]
    send: int | None = None
    state: str = ""
    result: str = ""
    failed: bool = False


class Claim(NamedTuple):
    """What a task has said of the job."""

    outcome: str
    bit_left: str
    settled: bool
    may_land_until: int | None
    denies: bool


#: Outcomes that say that nothing was done. A requeue that was cut off before it cleared its bit is
#: ``not_run`` with ``changed``: it says that something was.
DENIALS = ("rejected", "expired", "not_run", "stale", "not_found", "unchanged")


class Clock:
    """The engine's module ``time``."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        raise AssertionError("a step does not wait")


class Lines(Journal):
    """A journal on a disk that never fails."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("/nowhere")
        self.lines = list(lines)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *ignored: Any) -> None:
        pass

    def _events(self) -> Iterator[Mapping[str, Any]]:
        return iter([json.loads(one) for one in self.lines])

    def _append(self, events: Sequence[Mapping[str, Any]]) -> None:
        self.lines += [json.dumps(one, sort_keys=True) for one in events]

    def compact(self, now: float) -> None:
        pass


@cache
def _squeue(job: Job, argv: tuple[str, ...]) -> Reply:
    return fakes.Squeue([] if job.state == GONE else [shown(job)])(*argv)


class Host:
    """What the engine has for Commands: squeue's answers in turn, and the end of a script.

    ``passed`` is called once the first answer was given: time passes after it.
    """

    def __init__(
        self,
        answers: Sequence[Job | None],
        end: Detached | None = None,
        passed: Callable[[], None] = lambda: None,
    ) -> None:
        self.answers, self.end, self.passed = list(answers), end, passed

    def run(self, program: str, *arguments: str, **options: Any) -> Reply:
        """squeue; its last answer stays."""
        job = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.passed()
        argv = (program, *arguments)
        if job is None:
            text = b"slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"
            return Reply(argv, 1, b"", text)
        return _squeue(job, argv)

    def run_detached(self, argv: tuple[str, ...], patience: float) -> Detached:
        """The script's end."""
        assert self.end is not None
        return self.end


class _InTurn:
    """The engine's thread pool: one after the other."""

    def __init__(self, max_workers: int) -> None:
        self.map = map

    def __enter__(self) -> _InTurn:
        return self

    def __exit__(self, *ignored: Any) -> None:
        pass


class _Captured(Exception):
    """The engine is about to start its scripts."""


class _Steps(Writer):
    """A writer that stops where a script is to be started, and goes on when that has ended."""

    captured: tuple[Sequence[tuple[str, Script]], Sequence[Plan], Report]

    def _send(
        self, scripts: Sequence[tuple[str, Script]], plans: Sequence[Plan], report: Report
    ) -> None:
        # The model's host stands for Commands, and knows how the script has ended.
        if self.commands.end is None:  # type: ignore[attr-defined]
            self.captured = (scripts, plans, report)
            raise _Captured
        super()._send(scripts, plans, report)


class Tasks:
    """The steps of one kind of task under one setting, each computed once."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.bound = setting, setting.bound()
        self.sent: list[tuple[Sequence[tuple[str, Script]], Sequence[Plan], str]] = []
        self._known: dict[Any, Made] = {}
        self._claims: dict[str, Claim] = {}
        self.clock = Clock()

    def deadline(self, began: int) -> int:
        """The deadline of a task that begins now, on the controller's clock."""
        return began + self.setting.offset + TTL

    def on_host(self, deadline: int) -> int:
        """The same on the host's clock."""
        return self.bound.on_host(deadline)

    def until(self, deadline: int) -> int:
        """When nothing can land any more, on the host's clock, as the project has it."""
        return self.on_host(deadline) + (self.bound.call_bound or 5)

    def lands_by(self, deadline: int) -> int:
        """The last second in which a call really may land: its client is dead at the latest when
        ``timeout -k`` has run out (5 s), a second before the deadline; its credential then lives
        on, on slurmctld's clock and in whole seconds, and slurmctld may be busy.
        """
        if not self.setting.bounded:
            return self.on_host(deadline) + 1000
        skew = max(0, self.setting.skew)
        return self.on_host(deadline) - 1 + 5 + CREDENTIAL + 1 + skew + MESSAGE_TIMEOUT

    def plan(
        self, name: str, deadline: int, settle: bool, state: str, first: Mail, mail: Mail
    ) -> Made:
        """A first round (``state`` is ""), or a later one, up to the start of its script.

        ``first`` is how it was when the first read was made; time may have passed since.
        """
        key = ("plan", name, deadline, settle, state, first.now, first.job, mail)
        if key not in self._known:
            self._known[key] = self._plan(name, deadline, settle, state, first, mail)
        return self._known[key]

    def end(self, name: str, deadline: int, settle: bool, send: int, end: Any, mail: Mail) -> Made:
        """The rest of the round, when the script has ended: ``end`` is status, stdout, stderr."""
        key = ("end", name, deadline, settle, send, end, mail)
        if key not in self._known:
            self._known[key] = self._end(name, deadline, settle, send, end, mail)
        return self._known[key]

    def _writer(
        self, name: str, deadline: int, settle: bool, host: Host, mail: Mail, check: bool = False
    ) -> _Steps:
        self.clock.now = float(mail.now)
        _put(engine, time=self.clock, ThreadPoolExecutor=_InTurn, fresh_marks=_marks)
        _put(squeue, fresh_marks=_marks)
        action = ACTIONS[name](float(mail.now))
        order = Order(action, [JOB_ID], None, float(deadline), settle, check, CLUSTER)
        # Host and journal have what is used of Commands and Journal.
        return _Steps(host, order, self.bound, Lines(mail.journal))  # type: ignore[arg-type]

    def _plan(
        self, name: str, deadline: int, settle: bool, state: str, first: Mail, mail: Mail
    ) -> Made:
        host = Host([first.job, mail.job], passed=lambda: setattr(self.clock, "now", mail.now))
        early = mail._replace(now=first.now)
        writer = self._writer(name, deadline, settle, host, early)
        _put(engine, secrets=_Nonces(len(mail.journal)))
        try:
            if state:
                return self._made(writer, writer.more(task.report_from(json.loads(state)), 0.0))
            return self._made(writer, writer.first())
        except SlurmError:
            return Made(_lines(writer), failed=True)
        except _Captured:
            scripts, plans, report = writer.captured
            self.sent.append((scripts, plans, _report_text(report)))
            return Made(_lines(writer), send=len(self.sent) - 1)

    def _end(self, name: str, deadline: int, settle: bool, send: int, end: Any, mail: Mail) -> Made:
        scripts, plans, text = self.sent[send]
        status, stdout, stderr = end
        host = Host([mail.job], Detached(status, stdout, stderr))
        writer = self._writer(name, deadline, settle, host, mail)
        report = Report(**json.loads(text))
        writer._send(scripts, plans, report)
        return self._made(writer, writer._ended(report))

    def _made(self, writer: Writer, report: Report) -> Made:
        permission = Permission(CLUSTER, self.bound, "")
        if not report.finished:
            return Made(_lines(writer), state=json.dumps(task._state(report, permission)))
        (result,) = report.results.values()
        return Made(_lines(writer), result=json.dumps(result))

    def claim(self, result: str) -> Claim:
        """What a result says."""
        if result not in self._claims:
            made = json.loads(result)
            self._claims[result] = Claim(
                made["outcome"],
                made["requeue_bit_left"],
                made["settled"],
                made["may_land_until"],
                made["outcome"] in DENIALS and not made["changed"],
            )
        return self._claims[result]

    def tells_bit(self, mail: Mail) -> bool:
        """Whether the next run, whatever it is for, tells that a requeue bit was left set."""
        key = ("tells", mail)
        if key not in self._known:
            writer = self._writer("open", mail.now, False, Host([mail.job]), mail, check=True)
            self._known[key] = Made((), failed=not _warned(writer.first()))
        return not self._known[key].failed


def _put(module: ModuleType, **values: Any) -> None:
    """Replace what a module of the engine has imported."""
    for name, value in values.items():
        setattr(module, name, value)


def _marks() -> Marks:
    return Marks("~mark", "^mark")


def _warned(report: Report) -> bool:
    return any("run job_restore" in one for one in report.warnings)


def _lines(writer: Writer) -> tuple[str, ...]:
    journal = writer.journal
    assert isinstance(journal, Lines)
    return tuple(journal.lines)


def _report_text(report: Report) -> str:
    return json.dumps(vars(report), sort_keys=True)


class _Nonces:
    """The engine's module ``secrets``: one nonce a line of the journal."""

    def __init__(self, place: int) -> None:
        self.place = place

    def token_hex(self, size: int) -> str:
        return "%016x" % self.place

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Slurm of our own for the engine: jobs, a clock that only a test moves, and calls that fail.

It answers squeue, and plays the deadline scripts as test_script.py shows that they behave. What
scontrol answers and does is the table of what real releases did.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Detached
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Reply
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import parse_job_id
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import Selection
from ansible_collections.hpcops.slurm.plugins.module_utils._writes import engine, script, task
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.engine import (
    Bound,
    Order,
    Permission,
    Report,
    Writer,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import Journal
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import Action
from ansible_collections.hpcops.slurm.tests.unit.old_pythons import (
    paired,
    without_prefix,
    without_suffix,
)
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes

NOW = 1796035504
BASE = 4102444800
CALL_BOUND = 316

FINISHED = "Job has already finished"
NOT_PENDING = "Job is no longer pending execution"
USER = "Invalid user id"
DENIED = "Access/permission denied"
UNKNOWN_ID = "Invalid job id specified"
DISABLED = "Requested operation is presently disabled"
BATCH = "Only batch jobs are accepted or processed"
NOT_WHOLE = "Operation not permitted on individual component of heterogeneous job"
SILENCE = "Unexpected message received"

PENDING = {"PENDING", "SPECIAL_EXIT"}
RUNNING = {"RUNNING", "SUSPENDED"}


class Clock:
    """What the engine takes for the module ``time``."""

    def __init__(self) -> None:
        self.now = float(NOW)

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Killed(BaseException):
    """The module's process dies here; what it has started goes on."""


@dataclass
class Call:
    """What is to become of one call of scontrol, beside what Slurm does by itself.

    ``status`` and ``stderr`` replace the answer; ``lands`` says whether the change is made now, or,
    as a number of seconds, how long after the call's start.
    """

    status: int | None = None
    stderr: str | None = None
    lands: bool | float = True


HANGS = Call(124, "", False)


@dataclass
class Slurm:
    """The jobs, and what happens to calls. ``calls`` are scontrol's arguments, in order."""

    clock: Clock
    jobs: list[dict[str, str]] = field(default_factory=list)
    user: str = "user1"
    #: By the number of scontrol's call, from 0.
    faults: dict[int, Call] = field(default_factory=dict)
    #: Done right before a script, and right before and after each call of scontrol, by number.
    before_script: Callable[[], None] = lambda: None
    before_call: dict[int, Callable[[], None]] = field(default_factory=dict)
    after_call: dict[int, Callable[[], None]] = field(default_factory=dict)
    #: From and until when squeue is not answered.
    silent: tuple[float, float] = (0.0, 0.0)
    complaint: str = ""
    calls: list[tuple[str, ...]] = field(default_factory=list)
    reads: int = 0
    scripts: list[tuple[str, ...]] = field(default_factory=list)
    _saved: list[dict[str, str]] = field(default_factory=list)
    _due: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    # What the engine sees of it

    def run(self, program: str, *arguments: str, **options: Any) -> Reply:
        """Only reads are run so."""
        assert program == "squeue"
        with self._lock:
            return self._squeue((program, *arguments))

    def run_detached(self, argv: tuple[str, ...], patience: float) -> Detached:
        """Play one script."""
        assert patience >= 0
        with self._lock:
            self.scripts.append(argv)
            self.before_script()
            return _Play(self, argv).ended()

    # Its jobs

    def add(self, job_id: str, **values: str) -> None:
        """A job, by the names of squeue's fields."""
        self.jobs.append(fakes.job(job_id, **{"EligibleTime": str(NOW - 100), **values}))

    def job(self, job_id: str) -> dict[str, str]:
        """One job's fields."""
        (found,) = self.of(job_id)
        return found

    def of(self, text: str) -> list[dict[str, str]]:
        """The jobs that scontrol takes an id for."""
        asked = parse_job_id(text)
        found = []
        for one in self.jobs:
            number = {one["JobID"], one["ArrayJobID"], one["HetJobID"]} - {"N/A"}
            if str(asked.job) not in number:
                continue
            if asked.spans and not asked.names_task(int(one["ArrayTaskID"])):
                continue
            if asked.component is not None and one["HetJobOffset"] != str(asked.component):
                continue
            found.append(one)
        return found

    def save(self) -> None:
        """What it comes back with after :meth:`crash`."""
        self._saved = [dict(one) for one in self.jobs]

    def crash(self) -> None:
        """Killed and started again, it has forgotten what it has not saved."""
        self.jobs[:] = [dict(one) for one in self._saved]

    def settle_due(self) -> None:
        """Let land what is due."""
        due = [one for one in self._due if one[0] <= self.clock.now]
        self._due = [one for one in self._due if one[0] > self.clock.now]
        for _when, change in due:
            change()

    def _squeue(self, argv: tuple[str, ...]) -> Reply:
        self.reads += 1
        self.settle_due()
        first, last = self.silent
        if first <= self.clock.now < last:
            self.clock.now += 20
            text = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"
            return Reply(argv, 1, b"", text.encode())
        shown = self.jobs
        states = fakes.option(argv, "--user")
        if states:
            shown = [one for one in shown if one["UserName"] in states.split(",")]
        return fakes.Squeue(shown, self.complaint)(*argv)

    # What scontrol does

    def scontrol(self, arguments: tuple[str, ...]) -> tuple[int, str]:
        """Status and stderr of one call."""
        number = len(self.calls)
        self.calls.append(arguments)
        self.settle_due()
        self.before_call.get(number, lambda: None)()
        fault = self.faults.get(number, Call())
        if fault.lands is True:
            status, stderr = self._done(arguments)
        else:
            status, stderr = 0, ""
            if fault.lands is not False:
                when = self.clock.now + fault.lands
                self._due.append((when, lambda: self._done(arguments) and None))
        self.after_call.get(number, lambda: None)()
        status = status if fault.status is None else fault.status
        return status, stderr if fault.stderr is None else fault.stderr

    def _done(self, arguments: tuple[str, ...]) -> tuple[int, str]:
        if arguments[0] == "scancel":
            return self._cancelled(arguments[1:])
        change = self._change(arguments)
        ids = arguments[1].partition("=")[2] if arguments[0] == "update" else arguments[-1]
        lines = []
        for text in _split(ids):
            jobs = self.of(text)
            messages = [change(one) for one in jobs] or [UNKNOWN_ID]
            if jobs and jobs[0]["ArrayTaskID"] != "N/A":
                self._split_off(text, jobs)
                lines += [
                    f"{one['ArrayJobID']}_[{one['ArrayTaskID']}]: {message}\n"
                    for one, message in paired(jobs, messages)
                    if message
                ]
            elif any(messages):
                message = next(filter(None, messages))
                lines.append(f"{message} for job {text}\n")
                if arguments[0] == "release":
                    lines.append(f"slurm_suspend error:{message}\n")
        return (1 if lines else 0), "".join(lines)

    def _cancelled(self, ids: tuple[str, ...]) -> tuple[int, str]:
        lines, status = [], 0
        for text in ids:
            message, code = "", 0
            jobs = self.of(text)
            part = "+" in text and jobs[0]["State"] == "PENDING" and not text.endswith("+0")
            if any(one["UserName"] != self.user for one in jobs):
                message, code = DENIED, 210
            elif part:
                message, code = NOT_WHOLE, 60
            else:
                for one in self.of(without_suffix(text, "+0")):
                    self._cancel(one)
            if message:
                lines.append(f"scancel: error: Kill job error on job id {text}: {message}\n")
                status = code
        return status, "".join(lines)

    def _cancel(self, job: dict[str, str]) -> None:
        if job["State"] in RUNNING | {"COMPLETING"}:
            started = job["StartTime"]
            ended = int(self.clock.now) if job["EndTime"] == "N/A" else int(job["EndTime"])
            if job["State"] != "COMPLETING" or ended > self.clock.now:
                ended = int(self.clock.now)
            began = started if started != "N/A" else str(ended - 10)
            job.update(State="COMPLETING", StartTime=began, EndTime=str(ended))
        elif job["State"] in PENDING and job["ArrayTaskID"] != "N/A":
            self.jobs.remove(job)
            if not any(one["JobID"] == job["JobID"] for one in self.jobs):
                self.jobs.append({**job, "ArrayTaskID": "N/A", "State": "CANCELLED"})
        elif job["State"] in PENDING:
            now = str(int(self.clock.now))
            job.update(State="CANCELLED", StartTime=now, EndTime=now)

    def _split_off(self, text: str, jobs: list[dict[str, str]]) -> None:
        """Tasks that are addressed without the rest of their record leave it."""
        array = jobs[0]["ArrayJobID"]
        record = [one for one in self.jobs if one["JobID"] == array]
        if len(jobs) < len(record):
            for one in jobs:
                if one["JobID"] == array:
                    one["JobID"] = str(max(int(each["JobID"]) for each in self.jobs) + 1)

    def _change(self, arguments: tuple[str, ...]) -> Callable[[dict[str, str]], str]:
        if arguments[0] == "release":
            return self._release
        if arguments[:2] == ("requeue", "incomplete"):
            return self._requeue
        assert arguments[0] == "update"
        assert len(arguments) == 3
        key, _equals, value = arguments[2].partition("=")
        return lambda job: self._update(job, key, value)

    def _update(self, job: dict[str, str], key: str, value: str) -> str:
        if job["UserName"] != self.user:
            return USER
        if job["State"] not in PENDING | RUNNING | {"COMPLETING"}:
            return FINISHED
        if key == "Requeue":
            job["Requeue"] = value
            return ""
        assert key == "StartTime"
        if job["State"] in RUNNING:
            return NOT_PENDING
        when = int(self.clock.now) if value == "now" else int(without_prefix(value, "uts"))
        job["EligibleTime"] = str(max(when, int(self.clock.now)))
        return ""

    def _requeue(self, job: dict[str, str]) -> str:
        if job["UserName"] != self.user:
            return DENIED
        if job["State"] not in RUNNING:
            return ""
        if job["Requeue"] != "1":
            return DISABLED
        if job["BatchFlag"] != "1":
            return BATCH
        job["State"] = "COMPLETING"
        job["RestartCnt"] = str(int(job["RestartCnt"]) + 1)
        return ""

    def _release(self, job: dict[str, str]) -> str:
        if job["UserName"] != self.user:
            return USER
        if job["State"] not in PENDING | RUNNING | {"COMPLETING"}:
            return FINISHED
        if job["Reason"] == "JobHeldAdmin":
            return DENIED
        if job["PriorityLong"] == "0":
            job.update(PriorityLong="4294", Reason="None")
        return ""


def _split(ids: str) -> Iterator[str]:
    """A list of ids, as scontrol splits it: a comma in brackets is none."""
    depth, one = 0, ""
    for letter in ids:
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "," and not depth:
            yield one
            one = ""
        else:
            one += letter
    yield one


class _Play:
    """One deadline script."""

    def __init__(self, slurm: Slurm, argv: tuple[str, ...]) -> None:
        assert argv[:2] == ("sh", "-c")
        self.slurm = slurm
        _sh, _c, self.text, _name, self.nonce, deadline, _grace, *self.arguments = argv
        self.deadline = int(deadline)
        self.out = self.err = ""
        self.last = 127

    def ended(self) -> Detached:
        common = script._COMMON
        play = {
            common + script._UPDATE: self._update,
            common + script._OPEN: self._open,
            common + script._REQUEUE: self._requeue,
            common + script._REQUEUE_ONLY: self._requeue_only,
            common + script._CLEAR: self._clear,
            common + script._CANCEL: self._cancel,
            common + script._CANCEL_EXECUTION: self._cancel_execution,
        }[self.text]
        play()
        return Detached(self.last, self.out.encode(), self.err.encode())

    def _told(self, number: int, status: int) -> None:
        self.err += f"\x1eDSL {self.nonce} call {number} {status}\n"
        self.last = status

    def _in_time(self, number: int) -> float:
        left = self.deadline - int(self.slurm.clock.now) - 1
        if left <= 0:
            self._told(number, 75)
        return left

    def _call(self, number: int, *arguments: str) -> None:
        left = self._in_time(number)
        if left <= 0:
            return
        status, stderr = self.slurm.scontrol(arguments)
        if status == 124:
            self.slurm.clock.now += left
        self.err += stderr
        self._told(number, 125 if status in (75, 76) else status)

    def _look(self, arguments: Sequence[str]) -> str | None:
        name, come, gap, end, numbers, *rest = arguments
        if self._in_time(1) <= 0:
            return None
        reply = self.slurm._squeue(
            ("squeue", f"--jobs={numbers},{numbers}", f"--Format=JobID:{gap},{name}:{end}")
        )
        found = []
        for row in reply.out.split() if reply.status == 0 else []:
            number, _gap, value = without_suffix(row, end).partition(gap)
            has_come = not value.isdigit() or int(value) <= self.slurm.clock.now
            found.append((number, come if come and has_come else value))
        chosen, ordinals = [], []
        for place in range(0, len(rest), 4):
            number, rows, expected, text = rest[place : place + 4]
            if come and expected.isdigit() and int(expected) <= self.slurm.clock.now:
                expected = come
            if found.count((number, expected)) == int(rows):
                chosen.append(text)
                ordinals.append(str(place // 4 + 1))
        if not chosen:
            self._told(1, 76)
            return None
        self.out += f"\x1eDSL {self.nonce} sent {','.join(ordinals)}\n"
        return ",".join(chosen)

    def _update(self) -> None:
        change, *look = self.arguments
        ids = self._look(look)
        if ids:
            self._call(1, "update", f"JobId={ids}", change)

    def _open(self) -> None:
        ids = self._look(self.arguments)
        if ids:
            self._call(1, "release", ids)

    def _requeue_only(self) -> None:
        ids = self._look(self.arguments)
        if ids:
            self._call(1, "requeue", "incomplete", ids)

    def _clear(self) -> None:
        self._call(1, "update", f"JobId={self.arguments[0]}", "Requeue=0")

    def _cancel(self) -> None:
        self._call(1, "scancel", *self.arguments)

    def _cancel_execution(self) -> None:
        ids = self._look(self.arguments)
        if ids:
            self._call(1, "scancel", *_split(ids))

    def _requeue(self) -> None:
        ids = self._look(self.arguments)
        if not ids:
            return
        self._call(1, "update", f"JobId={ids}", "Requeue=1")
        if self.last == 75:
            return
        if self.last == 0:
            self._call(2, "requeue", "incomplete", ids)
        self._call(3, "update", f"JobId={ids}", "Requeue=0")


class Host:
    """A host with a journal, from which tasks are carried out as the action plugin does it."""

    def __init__(self, slurm: Slurm, directory: Path) -> None:
        self.slurm, self.directory = slurm, directory
        self.rounds = 0
        self.waited_for: list[str] = []

    def task(
        self,
        action: Action,
        *jobs: str,
        select: Selection | None = None,
        ttl: float = 60,
        settle: bool = True,
        check: bool = False,
        bound: int | None = CALL_BOUND,
        offset: float = 0.0,
        cluster: str = "cl1",
        rounds: int = 1000,
        wait_limit: float | None = None,
    ) -> Report:
        """The report of a task's last round; ``rounds`` at most are run."""
        clock = self.slurm.clock
        limits = Bound(bound, offset)
        until = clock.now + offset + ttl
        order = Order(action, jobs, select, until, settle, check, cluster, wait_limit)
        permission = Permission(cluster, limits, "")
        state: dict[str, Any] | None = None
        warnings: list[str] = []
        while True:
            self.rounds += 1
            journal = Journal(str(self.directory), read_only=check)
            # The fake has what is used of Commands.
            writer = Writer(self.slurm, order, limits, journal)  # type: ignore[arg-type]
            if state is None:
                report = writer.first()
            else:
                report = writer.more(task.report_from(state), 6.0)
            warnings += [one for one in report.warnings if one not in warnings]
            report.warnings = warnings
            if report.finished or self.rounds >= rounds:
                return report
            self.waited_for.append(report.waiting_for)
            state = json.loads(json.dumps(task._state(report, permission)))
            if not report.open and report.end_by is None:
                clock.sleep(2.0)
            clock.sleep(0.5)  # a round takes its time


def outcomes(report: Report) -> dict[str, str]:
    """Outcome by job."""
    return {one: made["outcome"] for one, made in report.results.items()}


def changes(report: Report) -> dict[str, bool]:
    """Whether it was changed, by job."""
    return {one: made["changed"] for one, made in report.results.items()}


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> Slurm:
    """A Slurm without jobs."""
    clock = Clock()
    monkeypatch.setattr(engine, "time", clock)
    return Slurm(clock)


@pytest.fixture
def host(slurm: Slurm, tmp_path: Path) -> Host:
    """A host from which user1 writes."""
    return Host(slurm, tmp_path / "state")

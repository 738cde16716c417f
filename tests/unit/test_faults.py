# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fault campaign's observer and invariants: what they see, and that each of them bites."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.faults.campaign import GUARDS, ROOT
from ansible_collections.hpcops.slurm.tests.faults.invariants import (
    TITLES,
    Observed,
    Operation,
    check,
    check_begins,
    check_bits,
)
from ansible_collections.hpcops.slurm.tests.faults.observer import Event, Payload, events
from ansible_collections.hpcops.slurm.tests.faults.schedule import (
    DISTURBANCES,
    FAULTS,
    WEIGHTS,
    Instances,
    episode,
)

#: 22.05's, 24.11's and 26.05's log have these lines alike.
LOG = """\
[2026-11-30T18:45:30.000] slurmctld version 22.05.8 started on cluster faultsb
[2026-11-30T18:45:41.730] debug2: Processing RPC: REQUEST_UPDATE_JOB from UID=0
[2026-11-30T18:45:41.730] sched: _update_job: setting begin to 2100-01-01T00:00:07 for JobId=2
[2026-11-30T18:45:41.730] _update_job: updating accounting
[2026-11-30T18:45:41.730] _slurm_rpc_update_job: complete JobId=2 uid=0 usec=303
[2026-11-30T18:45:41.737] sched: _update_job: setting begin to 2026-11-30T18:45:41 for JobId=2
[2026-11-30T18:45:41.738] _slurm_rpc_update_job: complete JobId=2 uid=2001 usec=1157
[2026-11-30T18:45:41.739] _slurm_rpc_update_job: JobId=3 uid=0: Job is no longer pending execution
[2026-11-30T18:45:41.746] sched: _release_job_rec: release hold on JobId=2 by uid 0
[2026-11-30T18:45:41.746] _slurm_rpc_update_job: complete JobId=2 uid=0 usec=267
[2026-11-30T18:45:41.799] sched: _hold_job_rec: hold on JobId=2 by uid 2001
[2026-11-30T18:45:41.833] sched: _update_job: setting requeue to 1 for JobId=3
[2026-11-30T18:45:41.833] _slurm_rpc_update_job: complete JobId=3 uid=0 usec=292
[2026-11-30T18:45:41.838] debug2: Processing RPC: REQUEST_JOB_REQUEUE from UID=0
[2026-11-30T18:45:41.838] debug:  _job_requeue_op: JobId=3 state 0x8000 reason 0 priority -65538
[2026-11-30T18:45:41.869] _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=2 uid 0
[2026-11-30T18:45:41.869] job_signal: 9 of pending JobId=2 successful
"""
T0 = 1796064341.0


def test_the_log_is_read() -> None:
    found = [(one.kind, one.job, one.value, one.uid, one.lost) for one in events(LOG)]
    assert found == [
        ("begin", "2", "4102444807", 0, False),
        ("begin", "2", "1796064341", 2001, False),
        ("open", "2", "", 0, False),
        ("gate", "2", "", 2001, False),
        ("bit", "3", "1", 0, False),
        ("requeue", "3", "", 0, False),
        ("cancel", "2", "", 0, False),
    ]
    assert [one.instance for one in events(LOG)][:2] == [7, None]
    assert events(LOG)[0].when == pytest.approx(T0 + 0.73)
    assert events(LOG, clock_offset=10)[0].when == pytest.approx(T0 - 9.27)


@pytest.mark.parametrize("stopped", [True, False])
def test_what_a_crash_may_have_lost_is_marked(stopped: bool) -> None:
    end = "[2026-11-30T18:45:43.000] "
    end += "Terminate signal (SIGINT or SIGTERM) received\n" if stopped else "debug:  sched: x\n"
    again = "[2026-11-30T18:45:44.000] slurmctld version 22.05.8 started on cluster faultsb\n"
    late = "[2026-11-30T18:46:41.737] sched: _update_job: setting requeue to 0 for JobId=3\n"
    *before, after = events(LOG + end + again + late)
    assert {one.lost for one in before} == {not stopped}
    assert not after.lost


def operation(module: str = "job_hold", **more: Any) -> Operation:
    given: dict[str, Any] = {
        "number": 1, "cluster": "c", "uid": 0, "module": module,
        "options": {"instance": 7} if module in ("job_hold", "job_release") else {},
        "jobs": ["5"], "started": 100.0, "ended": 110.0,
    }  # fmt: skip
    return Operation(**{**given, **more})


def ended(outcome: str, until: float | None = None) -> dict[str, dict[str, Any]]:
    settled = outcome != "unknown" or until is None
    made = {"outcome": outcome, "reason": "", "may_land_until": until, "settled": settled}
    return {"5": made}


HELD = Event(105.0, "begin", "5", "4102444807", 0)
FREED = Event(105.0, "begin", "5", "1796064341", 0)


def late(event: Event, when: float, **more: Any) -> Event:
    return Event(when, event.kind, event.job, event.value, **{"uid": event.uid, **more})


FINE: dict[str, tuple[list[Operation], list[Event]]] = {
    "applied": ([operation(results=ended("applied"))], [HELD]),
    "never": ([operation(results=ended("not_applied"))], []),
    "another's hold": (
        [operation(results=ended("stale"))], [Event(105.0, "begin", "5", "4102444808", 2000)]
    ),
    "unknown": ([operation(results=ended("unknown", 130))], [late(HELD, 129)]),
    "lost in a crash": (
        [operation(results=ended("not_applied"))], [late(HELD, 105, lost=True)]
    ),
    "released by its owner": (
        [operation("job_release", results=ended("not_applied"))], [late(FREED, 105, uid=2001)]
    ),
    "again": (
        [operation(results=ended("applied")),
         operation(number=2, started=111.0, ended=120.0, results=ended("unchanged"),
                   repeats=operation(results=ended("applied")))],
        [HELD],
    ),
    "no result": ([operation()], [HELD]),
    "a killed requeue's script clears the bit": (
        [operation("job_requeue"),
         operation("job_restore", number=2, started=104.0, nothing_sent=True)],
        [Event(105, "bit", "5", "0", 0)],
    ),
    "a later requeue clears the bit": (
        [operation("job_restore", nothing_sent=True),
         operation("job_requeue", number=2, started=111.0, ended=120.0, results=None)],
        [Event(115, "bit", "5", "0", 0)],
    ),
    "too late, and once more": (
        [operation(results=ended("expired")),
         operation(number=2, started=111.0, ended=120.0, results=ended("applied"))],
        [late(HELD, 115)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FINE)
def test_what_is_so_is_no_violation(what: str) -> None:
    operations, happened = FINE[what]
    assert check(operations, Observed(happened)) == []


BROKEN: dict[str, tuple[str, list[Operation], list[Event]]] = {
    "applied, and nothing happened": ("applied", [operation(results=ended("applied"))], []),
    "applied before it was": (
        "applied", [operation(results=ended("applied"))], [late(HELD, 115)]
    ),
    "another release": (
        "applied", [operation("job_release", results=ended("applied"))],
        [late(FREED, 90), late(HELD, 95)],
    ),
    "an opening of yesterday": (
        "applied", [operation("job_open", results=ended("applied"))],
        [Event(50, "open", "5", "", 0)],
    ),
    **{
        f"{outcome}, and it landed {when} s": (
            "never", [operation(results=ended(outcome))], [late(HELD, when)]
        )
        for outcome in ("rejected", "expired", "not_run", "not_applied", "stale", "not_found")
        for when in (105, 900)
    },
    "a requeue that was denied": (
        "never", [operation("job_requeue", results=ended("rejected"))],
        [Event(105, "requeue", "5", "", 0)],
    ),
    "later than the bound": (
        "unknown", [operation(results=ended("unknown", 130))], [late(HELD, 140)]
    ),
    "settled, and it lands": ("unknown", [operation(results=ended("unknown"))], [late(HELD, 140)]),
    "an earlier hold comes late": (
        "undone",
        [operation(results=ended("unknown", 200)),
         operation("job_release", number=2, started=111.0, ended=120.0,
                   results=ended("unchanged"))],
        [late(HELD, 150)],
    ),
    "a bit is cleared though nothing was sent": (
        "sent", [operation("job_restore", nothing_sent=True)], [Event(105, "bit", "5", "0", 0)]
    ),
    "nothing was sent": ("sent", [operation(nothing_sent=True)], [HELD]),
    "again and again": (
        "again",
        [operation(results=ended("applied"),
                   repeats=operation(number=0, results=ended("applied")))],
        [HELD],
    ),
}  # fmt: skip


def test_a_job_that_has_ended_by_itself_may_be_refused_the_second_time() -> None:
    again = operation(
        "job_requeue",
        results=ended("rejected"),
        repeats=operation("job_requeue", number=0, results=ended("unchanged")),
    )
    whole, half = Payload(("start", "done")), Payload(("start",))
    assert check([again], Observed([], {"5": whole})) == []
    assert [one.invariant for one in check([again], Observed([], {"5": half}))] == ["again"]


@pytest.mark.parametrize("what", BROKEN)
def test_each_invariant_bites(what: str) -> None:
    invariant, operations, happened = BROKEN[what]
    assert [one.invariant for one in check(operations, Observed(happened))] == [invariant]


def test_what_is_left_behind_is_found() -> None:
    again = Payload(("start", "done", "start"))
    requeued = Payload(("start", "start", "done"))
    found = check([], Observed([], {"5": again, "6": requeued}))
    assert [(one.invariant, one.job) for one in found] == [("completed", "5")]
    bits = check_bits(["5", "6"], ["6"], ["7"])
    assert [(one.invariant, one.job) for one in bits] == [("bit", "5"), ("bit", "7")]
    begins = check_begins({"5": "10", "6": "10", "7": "10"}, {"5": "10", "6": "11"})
    assert [(one.invariant, one.job) for one in begins] == [("begin", "6")]
    told = {one for one, _operations, _events in BROKEN.values()}
    assert told | {"completed", "bit", "begin", "probe"} == set(TITLES)


def test_a_seed_gives_the_same_schedule_and_all_of_it_is_drawn() -> None:
    def drawn(seed: int) -> list[Any]:
        return episode(Random(seed), 60, Instances(), munge=True)

    assert drawn(1) == drawn(1) != drawn(2)
    steps = [step for seed in range(40) for step in drawn(seed)]
    assert {step.module for step in steps} == set(WEIGHTS)
    met = {one for step in steps for one in step.faults}
    assert met == {*FAULTS, *DISTURBANCES, "a second controller", "the journal's disk is full"}
    holds = [one for one in drawn(3) if one.module == "job_hold" and not one.repeats]
    numbers = [one.options["instance"] for one in holds]
    numbers += [one.second for one in holds if one.second]
    assert len(numbers) == len(set(numbers)) > 5
    without = [one for seed in range(40) for one in episode(Random(seed), 60, Instances(), False)]
    assert not any("munged" in fault for one in without for fault in one.faults)


@pytest.mark.parametrize("guard", GUARDS)
def test_a_guard_that_can_be_broken_is_there_once(guard: str) -> None:
    name, old, new = GUARDS[guard]
    text = (ROOT / "plugins/module_utils" / name).read_text(encoding="utf-8")
    assert text.count(old) == 1
    compile(text.replace(old, new), name, "exec")

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes while slurmctld hangs or is away, and what it does when it is back.

The clusters' credentials are short-lived, and Slurm's commands give up after 2 s. A scenario is a
task whose scontrol call meets a fault, and what has to be true afterwards: the outcome, and what
raw squeue shows once slurmctld answers again. Each cluster goes through its scenarios one after the
other, and all clusters do so at the same time, since most of it is waiting.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.integration.conftest import Cluster
from ansible_collections.hpcops.slurm.tests.integration.faults import (
    ALIVE,
    BACK,
    CREDENTIAL,
    EXPIRED,
    LATE,
    TTL,
    fault,
    mend,
)
from ansible_collections.hpcops.slurm.tests.integration.write_plays import (
    Jobs,
    Result,
    Task,
    column,
    forget,
    held_at,
    look,
    mapped,
    outcomes,
    play,
    preflight,
    reasons,
    rows,
    shell,
    together,
    told,
    write,
)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox's containers are root's")

BOOKWORM, TRIXIE, FORKY = "writes-bookworm", "writes-trixie", "writes-forky"
EVERYWHERE = (BOOKWORM, TRIXIE, FORKY)

HOLD, SET, REQUEUE, CLEAR = "*StartTime=*", "*Requeue=1*", "requeue*", "*Requeue=0*"


def hang(at: str, seconds: float) -> dict[str, str]:
    return fault("hang", at, seconds)


@dataclass
class Scenario:
    """One write of one job that meets a fault, and what is true afterwards."""

    where: tuple[str, ...]
    what: str
    fault: dict[str, str]
    outcome: str
    options: dict[str, Any] = field(default_factory=dict)
    #: What squeue shows afterwards.
    instance: int | None = None
    restarts: str = "0"
    bit: str = "0"
    #: What the result says about the bit.
    left: str = "no"
    count: int = 1

    @property
    def runs(self) -> bool:
        """Whether the job has to be running."""
        return self.what == "requeue"

    def tasks(self, *jobs: str) -> list[Task]:
        """Bring the job into its state, meet the fault, and look."""
        first: list[Task] = []
        common = {"jobs": list(jobs), "ttl": TTL, "environment": self.fault, **self.options}
        if self.what == "requeue":
            meets = write("job_requeue", restarts=0, **common)
        elif self.what == "release":
            first = [write("job_hold", jobs=list(jobs), instance=7)]
            meets = write("job_release", instance=7, **common)
        else:
            meets = write("job_hold", instance=7, **common)
        after = []
        if self.left != "no":
            after = [write("job_restore", jobs=list(jobs)), look(*jobs)]
        return [*first, meets, BACK, look(*jobs), *after]

    def verify(self, results: list[Result], *jobs: str) -> None:
        """The result is true, and is what this fault leads to."""
        results, after = (results[:-2], results[-2:]) if self.left != "no" else (results, [])
        *_first, result, _back, looked = results
        # A bit that was left set is a change too.
        told(
            result,
            changed=self.outcome == "applied" or self.left != "no",
            failed=self.outcome != "applied" or self.left != "no",
        )
        [one], seen = result["results"], rows(looked)[jobs[0]]
        assert one["outcome"] == self.outcome, one
        assert one["requeue_bit_left"] == self.left, one
        shown = (held_at(seen["EligibleTime"]), seen["RestartCnt"], seen["Requeue"])
        assert shown == (self.instance, self.restarts, self.bit), (one, seen)
        assert one["settled"] is (self.outcome != "unknown")
        if self.outcome == "unknown":
            deadline = result["invocation"]["module_args"]["_round"]["deadline"]
            assert one["may_land_until"] >= deadline + 5 + CREDENTIAL + 2 + 1
            assert f"it may land until {one['may_land_until']}" in result["msg"]
        if self.left != "no":
            assert "job_restore" in result["msg"]
            restored, clear = after
            told(restored, changed=True)
            assert rows(clear)[jobs[0]]["Requeue"] == "0"


class CutOff(Scenario):
    """A list call, and slurmctld hangs when two of its four ids were sent."""

    def verify(self, results: list[Result], *jobs: str) -> None:
        """The third id was in flight, and lands; the fourth was never sent."""
        result, _back, looked = results
        told(result, changed=True, failed=True)
        landed, never = jobs[:3], jobs[3:]
        assert outcomes(result) == {
            **mapped("applied", *landed), **mapped("not_applied", *never)
        }  # fmt: skip
        shown = {job: held_at(when) for job, when in column(looked, "EligibleTime").items()}
        assert shown == {**mapped(7, *landed), **mapped(None, *never)}


class InFlight(Scenario):
    """While a hold may still land, nothing else is sent for the job."""

    def tasks(self, *jobs: str) -> list[Task]:
        """A hold that is unknown, and a release that has to wait for it."""
        release: dict[str, Any] = {"jobs": list(jobs), "instance": 7}
        return [
            *super().tasks(*jobs),
            write("job_release", settle=False, **release),
            write("job_release", check=True, **release),
            write("job_release", **release),
            look(*jobs),
        ]

    def verify(self, results: list[Result], *jobs: str) -> None:
        """A release would answer that there is no hold, and the hold could land after it."""
        *hold, at_once, predicted, waited, looked = results
        super().verify(hold, *jobs)
        for result in (at_once, predicted):
            told(result, changed=False, failed=True)
            assert outcomes(result) == mapped("unknown", *jobs)
            assert "an earlier hold may still land" in reasons(result)[jobs[0]]
        told(waited, changed=False)
        assert outcomes(waited) == mapped("unchanged", *jobs)
        assert held_at(column(looked, "EligibleTime")[jobs[0]]) is None


SCENARIOS = {
    "a hold lands although its client is gone": Scenario(
        EVERYWHERE, "hold", hang(HOLD, LATE), "unknown", {"settle": False}, instance=7
    ),
    "a hold is waited for and lands": Scenario(
        (BOOKWORM,), "hold", hang(HOLD, ALIVE), "applied", instance=7
    ),
    "a release is waited for and lands": Scenario(
        (TRIXIE, FORKY), "release", fault("mute", HOLD, ALIVE), "applied"
    ),
    "a hold never lands once its credential has expired": Scenario(
        EVERYWHERE, "hold", hang(HOLD, EXPIRED), "not_applied"
    ),
    "a hold that is long on its way is waited for and lands": Scenario(
        (FORKY,), "hold", fault("late", HOLD, LATE), "applied", instance=7
    ),
    "a hold is longer on its way than its credential lives": Scenario(
        (BOOKWORM,), "hold", fault("late", HOLD, EXPIRED), "not_applied"
    ),
    "a release never lands": Scenario(
        (FORKY,), "release", hang(HOLD, EXPIRED), "not_applied", instance=7
    ),
    "a list is cut off": CutOff(
        (TRIXIE,), "hold", fault("half", HOLD, ALIVE), "not_applied", count=4
    ),
    "an earlier hold is in flight": InFlight(
        (BOOKWORM,), "hold", hang(HOLD, EXPIRED), "unknown", {"settle": False}
    ),
    "the clearing of the bit lands late": Scenario(
        (TRIXIE,), "requeue", hang(CLEAR, ALIVE), "applied", restarts="1"
    ),
    "the requeue lands late and the bit stays set": Scenario(
        EVERYWHERE, "requeue", hang(REQUEUE, ALIVE), "applied", restarts="1", bit="1", left="yes"
    ),
    "the requeue never lands and the bit stays set": Scenario(
        (FORKY,), "requeue", hang(REQUEUE, EXPIRED), "not_applied", bit="1", left="yes"
    ),
    "the bit is set late": Scenario(
        (TRIXIE,), "requeue", hang(SET, ALIVE), "not_applied", bit="1", left="yes"
    ),
    "the bit is never set": Scenario((BOOKWORM,), "requeue", hang(SET, EXPIRED), "not_applied"),
    "slurmctld crashes and comes back": Scenario(
        (BOOKWORM,), "hold", fault("crash", seconds=8), "not_applied"
    ),
    "munged is stopped": Scenario((TRIXIE,), "hold", fault("munged", seconds=9), "not_applied"),
    "scontrol has output of its own": Scenario(
        (FORKY,), "hold", fault("talk"), "applied", instance=7
    ),
    "scontrol forges a status line": Scenario(
        (FORKY,), "hold", fault("forge"), "applied", instance=7
    ),
}

Met = dict[tuple[str, str], tuple[list[str], list[Result]]]


def submitted(jobs: Jobs, scenarios: Mapping[str, Scenario]) -> dict[str, list[str]]:
    """The jobs of each scenario: running for a requeue, otherwise behind their gates."""
    found = {
        name: jobs.submit("--no-requeue", *([] if one.runs else ["--hold"]), count=one.count)
        for name, one in scenarios.items()
    }
    running = [job for name, one in scenarios.items() if one.runs for job in found[name]]
    jobs.await_state("RUNNING", *running)
    return found


@pytest.fixture(scope="module")
def met(fleet: Mapping[str, Cluster]) -> Iterator[Met]:
    """By scenario and cluster: the jobs, and the results of the tasks."""
    all_jobs = {name: Jobs(cluster) for name, cluster in fleet.items()}
    try:
        # One after the other: how well the clocks are known depends on how busy the machine is.
        for cluster in fleet.values():
            told(play(cluster, preflight("root", probe="always"))[0], changed=True)
        theirs = {
            name: {what: one for what, one in SCENARIOS.items() if name in one.where}
            for name in fleet
        }
        ids = {name: submitted(all_jobs[name], some) for name, some in theirs.items()}
        tasks = {
            name: {what: one.tasks(*ids[name][what]) for what, one in some.items()}
            for name, some in theirs.items()
        }
        results = together(
            {
                name: [task for some in mine.values() for task in some]
                for name, mine in tasks.items()
            }
        )
        found: Met = {}
        for name, mine in tasks.items():
            left = iter(results[name])
            for what, some in mine.items():
                found[what, name] = (
                    ids[name][what],
                    [one for _task, one in zip(some, left, strict=False)],
                )
        yield found
    finally:
        for jobs in all_jobs.values():
            jobs.cancel()
            mend(jobs.cluster)
            forget(jobs.cluster, "root")


@pytest.mark.parametrize(
    ("what", "name"), [(what, name) for what, one in SCENARIOS.items() for name in one.where]
)
def test_what_is_said_is_so(what: str, name: str, met: Met) -> None:
    jobs, results = met[what, name]
    SCENARIOS[what].verify(results, *jobs)


# Faults that let nothing be sent, and answers that are not believed


@pytest.fixture
def trixie(fleet: Mapping[str, Cluster]) -> Iterator[Jobs]:
    """Jobs on a cluster where root and user1 may write."""
    cluster = fleet[TRIXIE]
    for result in play(cluster, preflight("root"), preflight("user1")):
        assert not result["failed"], result
    jobs = Jobs(cluster)
    yield jobs
    jobs.cancel()
    mend(cluster)
    forget(cluster, "root", "user1")


def test_nothing_is_sent_without_a_journal(trixie: Jobs) -> None:
    job, running = trixie.one("--hold"), trixie.one("--no-requeue")
    trixie.await_state("RUNNING", running)
    before = trixie.look(job, running)
    full = "/dev/shm/writes-test"
    fill = f"mkdir -m 700 {full}; dd if=/dev/zero of={full}/filler bs=64k 2>/dev/null || true"
    _filled, hold, requeue, empty, elsewhere, no_folder, seen, after = play(
        trixie.cluster,
        shell(fill),
        write("job_hold", jobs=[job], instance=7, state_dir=full),
        write("job_requeue", jobs=[running], restarts=0, state_dir=full),
        shell(f"rm -r {full}"),
        write("job_hold", "user1", jobs=[job], instance=7, state_dir="/root/.writes-test/state"),
        write("job_hold", "user1", jobs=[job], instance=7, state_dir="/etc/passwd/state"),
        look(job, running),
        write("job_hold", jobs=[job], instance=7),
    )
    assert not empty["failed"]
    for result in (hold, requeue):
        told(result, changed=False, failed=True)
        assert "No space left on device" in result["msg"]
    for result in (hold, requeue, elsewhere, no_folder):
        told(result, changed=False, failed=True)
        assert "results" not in result
        assert "set state_dir" in result["msg"]
    assert rows(seen) == before
    told(after, changed=True)


def test_nothing_is_sent_without_an_answer(trixie: Jobs) -> None:
    job = trixie.one("--hold")
    before = trixie.look(job)
    _stopped, down, _killed, no_munge, _back, seen = play(
        trixie.cluster,
        shell("slurm-service stop slurmctld"),
        write("job_hold", jobs=[job], instance=7),
        shell("slurm-service start slurmctld; slurm-service stop munged"),
        write("job_hold", jobs=[job], instance=7),
        shell("slurm-service start munged"),
        look(job),
    )
    told(down, changed=False, failed=True)
    assert down["failure_class"] == "controller_unreachable"
    told(no_munge, changed=False, failed=True)
    assert no_munge["failure_class"] == "authentication_failed"
    assert rows(seen) == before


def test_answers_that_are_not_believed(trixie: Jobs) -> None:
    """user1 asks for user2's job, and Slurm's refusal is wrapped up or kept back."""
    job = trixie.one("--hold", user="user2")
    before = trixie.look(job)
    hold: dict[str, Any] = {"jobs": [job], "instance": 7}
    plain, noisy, kept_back, no_cancel, seen = play(
        trixie.cluster,
        write("job_hold", "user1", **hold),
        write("job_hold", "user1", settle=False, environment=fault("talk"), **hold),
        write("job_release", check=True, **hold),
        write("job_cancel", "user1", jobs=[job], settle=False,
              environment=fault("lie", "scancel *")),
        look(job),
    )  # fmt: skip
    assert outcomes(plain) == {job: "rejected"}
    assert outcomes(noisy) == {job: "unknown"}
    assert outcomes(no_cancel) == {job: "not_applied"}
    assert no_cancel["results"][0]["calls"] == [{"call": "cancel", "status": 0}]
    assert rows(seen) == before
    assert kept_back["failed"] is False
    [silent] = play(
        trixie.cluster,
        write("job_hold", "user1", jobs=[trixie.one("--hold", user="user2")], instance=7,
              environment=fault("lie")),
    )  # fmt: skip
    assert set(outcomes(silent).values()) == {"unknown"}


#: scontrol that ends a hold's call with a status of its own, and has not asked slurmctld.
ENDS = r"""mkdir -p /opt/ends && cd /opt/ends && cat > scontrol << 'END' && chmod 755 scontrol
#!/bin/sh
case $* in *StartTime=*) ;; *) exec /usr/bin/scontrol "$@" ;; esac
case $ENDS in KILL) kill -9 $$ ;; esac
exit "$ENDS"
END
"""
#: How it ends: the call's status, and the outcome.
STATUSES = {
    "3": (3, "unknown"),
    "125": (125, "unknown"),
    "126": (126, "not_run"),
    "127": (127, "not_run"),
    "KILL": (137, "unknown"),
    "143": (143, "unknown"),
    "255": (255, "unknown"),
}


def test_statuses_of_a_call(trixie: Jobs) -> None:
    """Only what proves that nothing was started is a not_run; all others may still land."""
    jobs = trixie.submit("--hold", count=len(STATUSES))
    path = "/opt/ends:/usr/bin:/bin"
    _made, *ended, seen, held, after = play(
        trixie.cluster,
        shell(ENDS),
        *(
            write("job_hold", jobs=[job], instance=7, settle=False,
                  environment={"PATH": path, "ENDS": how})
            for job, how in zip(jobs, STATUSES, strict=True)
        ),
        look(*jobs),
        write("job_hold", jobs=jobs[2:4], instance=7),
        look(*jobs),
    )  # fmt: skip
    for result, (status, outcome) in zip(ended, STATUSES.values(), strict=True):
        told(result, changed=False, failed=True)
        [one] = result["results"]
        assert (one["calls"], one["outcome"]) == ([{"call": "hold", "status": status}], outcome)
        assert one["settled"] is (outcome == "not_run")
        assert (one["may_land_until"] is None) is one["settled"]
    assert not any(held_at(when) for when in column(seen, "EligibleTime").values())
    # Nothing is in flight where nothing was started.
    told(held, changed=True)
    now = {job for job, when in column(after, "EligibleTime").items() if held_at(when) == 7}
    assert now == set(jobs[2:4])

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe, step by step: what it runs, what failures make of it, and that nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Commands
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer, Reply
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.capabilities import (
    Support,
    probed,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.owner import (
    COMMENT_START,
    Owner,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.probe import (
    LONGEST_LIFE,
    Interruptible,
    attempt,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.started import (
    Interrupted,
    NotStarted,
    Place,
    Started,
)
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs.fakes import option
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._preflight import fake_slurm
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._preflight.fake_slurm import (
    BASE,
    CUT_OFF,
    HUNG,
    NO_CONTROLLER,
    FakeSlurm,
    error,
)
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._preflight.samples import (
    AS_OF,
    spec,
)

PLACE = Place("root", "ctl1")


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, none of which is waited for."""
    made: list[float] = []
    monkeypatch.setattr(time, "sleep", made.append)
    return made


@pytest.fixture
def slurm() -> FakeSlurm:
    return FakeSlurm()


def run_probe(slurm: FakeSlurm, place: Place = PLACE, hold: Support | None = None) -> Started:
    found = attempt(slurm, place, AS_OF, hold)
    assert isinstance(found, Started), found
    return found


# What is run


def test_a_probe_that_succeeds_runs_these_commands_and_no_others(slurm: FakeSlurm) -> None:
    found = run_probe(slurm)
    assert found.hold == probed(Answer.YES)
    assert (found.job_id, found.removed, found.trouble, found.since) == ("41", (), "", AS_OF)
    look = ("--noheader", "--all", "--array", "--local", "--states=all")
    form = [call[-1] for call in slurm.of("squeue")]
    assert all(text.startswith("--Format=JobID:~") for text in form)
    assert slurm.calls == [
        ("squeue", *look, "--user=root", "--name=hpcops-slurm-preflight", form[0]),
        (
            "sbatch",
            "--parsable",
            "--hold",
            "--no-requeue",
            "--job-name=hpcops-slurm-preflight",
            f"--comment={found.comment}",
            "--time=1",
            "--ntasks=1",
            "--output=/dev/null",
            "--error=/dev/null",
            "--chdir=/",
            "--export=NONE",
        ),
        ("scontrol", "update", "JobId=41", f"StartTime=uts{BASE + 1}"),
        ("squeue", *look, "--jobs=41,41", form[1]),
        ("scontrol", "release", "41"),
        ("squeue", *look, "--jobs=41,41", form[2]),
        ("squeue", *look, "--jobs=41,41", form[3]),
        ("squeue", *look, "--jobs=41,41", form[4]),
        ("scancel", "41"),
        ("squeue", *look, "--jobs=41,41", form[5]),
    ]
    assert slurm.living == []
    assert slurm.scripts == ["#!/bin/sh\nexit 0\n"]
    assert found.comment.startswith(COMMENT_START)
    assert Owner.of(found.comment) == Owner.this("ctl1")


def test_partition_account_and_qos_are_one_word_each(slurm: FakeSlurm) -> None:
    place = Place("root", "ctl1", "-x; $(id)", "a b", "--hold")
    run_probe(slurm, place)
    (call,) = slurm.of("sbatch")
    assert call[-3:] == ("--partition=-x; $(id)", "--account=a b", "--qos=--hold")


def test_empty_places_are_the_users_default(slurm: FakeSlurm) -> None:
    run_probe(slurm, Place("root", "ctl1", "", None, ""))
    assert len(slurm.of("sbatch")[0]) == 12


@pytest.mark.parametrize("hold", [probed(Answer.NO, "x"), probed(Answer.UNKNOWN, "y", True)])
def test_a_hold_that_is_answered_is_not_tried(slurm: FakeSlurm, hold: Support) -> None:
    assert run_probe(slurm, hold=hold).hold == hold
    assert slurm.of("scontrol") == []
    assert (slurm.living, len(slurm.of("sbatch"))) == ([], 1)


# Steps that fail

UPDATE, RELEASE = ("scontrol", 1), ("scontrol", 2)
DECODES, SURVIVES, STALE, UNCHANGED = (("squeue", number) for number in (2, 3, 4, 5))
REFUSED = error("Unspecified error for job 41\n")


@pytest.mark.parametrize(
    ("step", "beginning", "said"),
    [
        (UPDATE, spec("hold", "placing"), "Unspecified error for job 41"),
        (RELEASE, spec("hold", "opening"), "Unspecified error for job 41"),
    ],
)
def test_a_refusal_that_changed_nothing_is_a_no(
    slurm: FakeSlurm, step: tuple[str, int], beginning: str, said: str
) -> None:
    slurm.fail[step] = REFUSED
    found = run_probe(slurm)
    assert found.hold == probed(Answer.NO, f"{beginning} {said}")
    assert slurm.living == []


@pytest.mark.parametrize("step", [UPDATE, RELEASE])
def test_an_error_that_changed_the_job_is_not_a_no(slurm: FakeSlurm, step: tuple[str, int]) -> None:
    slurm.done_all_the_same = True
    slurm.fail[step] = error("Requested partition configuration not available now for job 41\n")
    found = run_probe(slurm)
    assert (found.hold.support, found.hold.passing) == (Answer.UNKNOWN, True)
    assert "and yet it may be done" in found.hold.reason
    assert slurm.living == []


PASSING = {
    "hung": HUNG,
    "down": NO_CONTROLLER,
    "cut off": CUT_OFF,
    "killed": error("", 137),
    "munge": error("scontrol: error: Munge encode failed: x\nUnexpected message received\n"),
    "credential": error("Protocol authentication error for job 41\n"),
    "busy": error("scontrol: error: Rate limit exceeded, backing off\n"),
    "finished": error("Job has already finished for job 41\n"),
    "purged": error("Invalid job id specified for job 41\n"),
    "gone": Reply((), 127, b"", b"No such file", not_started=True),
    "odd status": error("Unspecified error for job 41\n", 3),
}


@pytest.mark.parametrize("name", PASSING)
@pytest.mark.parametrize(
    ("step", "beginning"), [(UPDATE, spec("hold", "placing")), (RELEASE, spec("hold", "opening"))]
)
def test_a_failure_that_may_pass_is_unknown(
    slurm: FakeSlurm, name: str, step: tuple[str, int], beginning: str
) -> None:
    slurm.fail[step] = PASSING[name]
    found = run_probe(slurm)
    assert (found.hold.support, found.hold.passing) == (Answer.UNKNOWN, True)
    assert found.hold.reason.startswith(beginning)
    assert slurm.living == []


READS = [
    (DECODES, spec("hold", "decoding")),
    (SURVIVES, spec("hold", "surviving")),
    (STALE, spec("hold", "changed")),
    (UNCHANGED, spec("hold", "changed")),
]


@pytest.mark.parametrize("name", [*PASSING, "nonsense", "complaint"])
@pytest.mark.parametrize(("step", "beginning"), READS)
def test_a_read_that_fails_is_unknown(
    slurm: FakeSlurm, name: str, step: tuple[str, int], beginning: str
) -> None:
    more = {
        "nonsense": error("", 0, "41|PENDING\n"),
        "complaint": error("squeue: error: something\n", 0),
    }
    slurm.fail[step] = {**PASSING, **more}[name]
    found = run_probe(slurm)
    assert (found.hold.support, found.hold.passing) == (Answer.UNKNOWN, True)
    assert found.hold.reason.startswith(beginning) or (
        step == STALE and found.hold.reason == spec("hold", "not_refused")
    )
    assert slurm.living == []


def change(slurm: FakeSlurm, step: tuple[str, int], **values: str) -> None:
    """Change the probe's job just before a step."""

    def before(program: str, number: int) -> None:
        if (program, number) == step:
            slurm.jobs["41"].update(values)

    slurm.before = before


@pytest.mark.parametrize("eligible", [str(BASE + 2), str(AS_OF), "N/A"])
@pytest.mark.parametrize(
    ("step", "beginning"),
    [
        (DECODES, spec("hold", "decoding")),
        (SURVIVES, spec("hold", "surviving")),
        (UNCHANGED, spec("hold", "changed")),
    ],
)
def test_a_hold_that_is_seen_not_to_be_there_is_a_no(
    slurm: FakeSlurm, step: tuple[str, int], beginning: str, eligible: str
) -> None:
    change(slurm, step, EligibleTime=eligible)
    found = run_probe(slurm).hold
    assert (found.support, found.passing) == (Answer.NO, False)
    assert found.reason.startswith(beginning + " EligibleTime is ")


@pytest.mark.parametrize(
    ("step", "beginning"),
    [
        (DECODES, spec("hold", "decoding")),
        (SURVIVES, spec("hold", "surviving")),
        (UNCHANGED, spec("hold", "changed")),
    ],
)
def test_a_time_that_can_not_be_read_is_unknown(
    slurm: FakeSlurm, step: tuple[str, int], beginning: str
) -> None:
    change(slurm, step, EligibleTime="soon")
    found = run_probe(slurm).hold
    assert (found.support, found.passing) == (Answer.UNKNOWN, True)
    assert found.reason.startswith(beginning)


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        ({"EligibleTime": str(BASE + 2)}, Answer.NO),  # it would have been lifted
        ({"EligibleTime": str(AS_OF)}, Answer.NO),
        ({"EligibleTime": "soon"}, Answer.UNKNOWN),
        ({"JobID": "7"}, Answer.UNKNOWN),  # there is none to see
    ],
)
def test_a_stale_release_that_is_not_refused(
    slurm: FakeSlurm, values: dict[str, str], answer: Answer
) -> None:
    if "JobID" in values:
        slurm.fail[STALE] = error("", 0)
    else:
        change(slurm, STALE, **values)
    found = run_probe(slurm).hold
    assert (found.support, found.passing) == (answer, answer is Answer.UNKNOWN)
    assert found.reason == spec("hold", "not_refused")
    lifted = [call for call in slurm.of("scontrol") if call[-1] == "StartTime=now"]
    assert len(lifted) == (1 if values.get("EligibleTime") == str(BASE + 2) else 0)


@pytest.mark.parametrize("said", ["Access/permission denied for job 41\n", ""])
def test_a_release_that_fails_when_it_should_be_refused_is_unknown(
    slurm: FakeSlurm, said: str
) -> None:
    change(slurm, STALE, EligibleTime=str(BASE + 2))
    slurm.fail["scontrol", 3] = error(said)
    found = run_probe(slurm).hold
    assert (found.support, found.passing) == (Answer.UNKNOWN, True)
    assert found.reason.startswith(spec("hold", "changed"))


@pytest.mark.parametrize(
    ("values", "answer"),
    [({"PriorityLong": "0"}, Answer.NO), ({"PriorityLong": "odd"}, Answer.UNKNOWN)],
)
def test_a_gate_that_stays_closed(slurm: FakeSlurm, values: dict[str, str], answer: Answer) -> None:
    change(slurm, SURVIVES, Reason="JobHeldAdmin\udcff", **values)
    found = run_probe(slurm).hold
    assert (found.support, found.passing) == (answer, answer is Answer.UNKNOWN)
    assert found.reason == spec("hold", "opening") + " it is still held, JobHeldAdmin\\xff"


@pytest.mark.parametrize("step", [UPDATE, DECODES, RELEASE, SURVIVES, STALE, UNCHANGED])
def test_a_job_that_somebody_ends_proves_nothing(slurm: FakeSlurm, step: tuple[str, int]) -> None:
    """An operator's scancel at any time, with the errors and rows that follow from it."""

    def before(program: str, number: int) -> None:
        if (program, number) == step:
            slurm.jobs["41"]["State"] = "CANCELLED"
        if slurm.jobs.get("41", {}).get("State") == "CANCELLED" and program == "scontrol":
            slurm.fail[program, number] = error("Job has already finished for job 41\n")

    slurm.before = before
    found = run_probe(slurm).hold
    if step != STALE:  # what that step looks at is still true of an ended job
        assert (found.support, found.passing) == (Answer.UNKNOWN, True)
    assert found.support is not Answer.NO
    assert slurm.living == []


# Submissions that fail

NO_PARTITION = error(
    "sbatch: error: invalid partition specified: nope\n"
    "sbatch: error: Batch job submission failed: Invalid partition name specified\n"
)


def not_started(slurm: FakeSlurm) -> NotStarted:
    found = attempt(slurm, PLACE, AS_OF, None)
    assert isinstance(found, NotStarted)
    return found


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (NO_PARTITION, "Invalid partition name specified"),
        (error("sbatch: error: site says no\n"), "site says no"),
        (
            error("sbatch: error: Batch job submission failed: User's group not permitted\n"),
            "group",
        ),
    ],
)
def test_a_submission_that_is_refused(slurm: FakeSlurm, reply: Reply, said: str) -> None:
    slurm.fail["sbatch", 1] = reply
    found = not_started(slurm)
    assert found.reason.startswith("submitting the probe: ")
    assert said in found.reason
    assert (found.refused, found.late, found.trouble, found.removed) == (True, False, "", ())
    assert slurm.programs == ["squeue", "sbatch", "squeue"]


@pytest.mark.parametrize(
    "reply",
    [
        error("sbatch: error: Munge encode failed: x\nsbatch: error: y\n"),
        Reply((), 127, b"", b"No such file", not_started=True),
        error("sbatch: fatal: Unable to process configuration file\n"),
    ],
)
def test_a_submission_that_was_not_sent(slurm: FakeSlurm, reply: Reply) -> None:
    slurm.fail["sbatch", 1] = reply
    found = not_started(slurm)
    assert (found.refused, found.late, found.trouble) == (False, False, "")


UNANSWERED = [
    error("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n"),
    CUT_OFF,
    error("", 137),
    error("sbatch: error: something\n", 255),
    error("", 0, "Welcome!\n"),
    error("", 0),
    error("", 0, "41 42\n"),
]


@pytest.mark.parametrize("reply", UNANSWERED)
def test_a_job_of_a_submission_that_was_not_answered_is_removed(
    slurm: FakeSlurm, reply: Reply
) -> None:
    slurm.done_all_the_same = True
    slurm.fail["sbatch", 1] = reply
    found = not_started(slurm)
    assert (found.refused, found.late, found.trouble) == (False, True, "")
    assert slurm.jobs["41"]["State"] == "CANCELLED"


@pytest.mark.parametrize("reply", UNANSWERED)
def test_a_job_that_may_still_appear_is_told(
    slurm: FakeSlurm, pauses: list[float], reply: Reply
) -> None:
    slurm.fail["sbatch", 1] = reply
    found = not_started(slurm)
    assert found.late
    assert "may still appear" in found.trouble
    assert pauses == [0.0, 0.2, 0.5, 1.0, 2.0]


def test_a_job_that_appears_late_is_removed(slurm: FakeSlurm) -> None:
    slurm.fail["sbatch", 1] = HUNG

    def before(program: str, number: int) -> None:
        if (program, number) == ("squeue", 4):
            slurm._sbatch(slurm.of("sbatch")[0])

    slurm.before = before
    found = not_started(slurm)
    assert (found.late, found.trouble, slurm.living) == (True, "", [])


# Removal


def test_removal_is_tried_until_the_job_is_over(slurm: FakeSlurm, pauses: list[float]) -> None:
    slurm.fail.update({("scancel", number): HUNG for number in (1, 2)})
    slurm.fail["squeue", 8] = NO_CONTROLLER
    found = run_probe(slurm)
    assert (found.trouble, slurm.living) == ("", [])
    assert len(slurm.of("scancel")) == 4
    assert pauses == [0.0, 0.2, 0.5, 1.0]
    assert found.hold.support is Answer.YES


def test_what_can_not_be_removed_is_told(slurm: FakeSlurm) -> None:
    slurm.fail.update({("scancel", number): HUNG for number in range(1, 9)})
    assert run_probe(slurm).trouble == "probe job 41 is still there after scancel"


def test_what_can_not_be_seen_to_be_over_is_told(slurm: FakeSlurm) -> None:
    slurm.fail.update({("squeue", number): NO_CONTROLLER for number in range(6, 20)})
    assert "Unable to contact slurm controller" in run_probe(slurm).trouble


def test_an_empty_answer_with_a_complaint_is_no_proof(slurm: FakeSlurm) -> None:
    reply = error("squeue: error: something\n", 0)
    slurm.fail.update({("squeue", number): reply for number in range(6, 20)})
    assert "still there" in run_probe(slurm).trouble


def test_removal_ends_after_a_time(slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 30))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    slurm.fail.update({("scancel", number): HUNG for number in range(1, 9)})
    assert "still there" in run_probe(slurm).trouble
    assert len(slurm.of("scancel")) == 1


def dead_owner(host: str = "ctl1") -> Owner:
    """A process of this host that has ended."""
    child = subprocess.Popen(["true"])
    child.wait()
    return replace(Owner.this(host), process=child.pid)


def test_jobs_that_killed_runs_left_are_removed(slurm: FakeSlurm) -> None:
    slurm.add("7", Comment=dead_owner().comment())
    slurm.add("8", Comment=dead_owner().comment(), State="CANCELLED")
    found = run_probe(slurm)
    assert found.removed == ("7",)
    assert slurm.living == []
    assert slurm.of("scancel") == [("scancel", "7"), ("scancel", "41")]


@pytest.mark.parametrize(
    ("comment", "age", "removed"),
    [
        (Owner.this("ctl1").comment(), LONGEST_LIFE + 5, False),  # lives
        (dead_owner("ctl2").comment(), 10, False),  # of another host
        (dead_owner("ctl2").comment(), LONGEST_LIFE, False),
        (dead_owner("ctl2").comment(), LONGEST_LIFE + 1, True),
        (dead_owner("ctl10").comment(), 10, False),
        (COMMENT_START + " of another version", 10, False),
        (COMMENT_START + " of another version", LONGEST_LIFE + 1, True),
        ("a comment of the user's own", LONGEST_LIFE + 1, False),
        ("", LONGEST_LIFE + 1, False),
    ],
    ids=lambda value: "comment" if isinstance(value, str) else None,  # each has a nonce
)
def test_other_jobs_are_left_alone(slurm: FakeSlurm, comment: str, age: int, removed: bool) -> None:
    slurm.add("7", Comment=comment, SubmitTime=str(AS_OF - age))
    assert run_probe(slurm).removed == (("7",) if removed else ())
    assert ("7" in slurm.living) is not removed


@pytest.mark.parametrize(
    "values",
    [
        {"Name": "hpcops-slurm-preflight2"},
        {"Name": "HPCOPS-SLURM-PREFLIGHT"},
        {"UserName": "user1"},
    ],
)
def test_jobs_of_other_names_and_users_are_left_alone(
    slurm: FakeSlurm, values: dict[str, str]
) -> None:
    slurm.add("7", Comment=dead_owner().comment(), **values)
    assert run_probe(slurm).removed == ()
    assert slurm.living == ["7"]


def test_ages_that_are_not_known_are_no_reason(slurm: FakeSlurm) -> None:
    slurm.add("7", Comment=dead_owner("ctl2").comment(), SubmitTime="N/A")
    slurm.add("8", Comment=dead_owner("ctl2").comment(), SubmitTime="1")
    assert isinstance(attempt(slurm, PLACE, None, None), Started)
    assert slurm.living == ["7", "8"]


def test_old_jobs_that_stay_are_told_and_do_not_stop_the_probe(slurm: FakeSlurm) -> None:
    slurm.add("7", Comment=dead_owner().comment())
    slurm.fail["scancel", 1] = HUNG
    found = run_probe(slurm)
    assert found.hold.support is Answer.YES
    assert (found.removed, found.trouble) == ((), "probe job 7 is still there after scancel")


def test_a_queue_that_can_not_be_read_before_is_told(slurm: FakeSlurm) -> None:
    slurm.fail["squeue", 1] = NO_CONTROLLER
    found = run_probe(slurm)
    assert found.hold.support is Answer.YES
    assert "looking for probe jobs of earlier runs: " in found.trouble


def test_a_forged_comment_ends_nobodys_job(slurm: FakeSlurm) -> None:
    """Another user's job may carry any comment: only this user's are looked at."""
    slurm.add("7", UserName="mallory", Comment=dead_owner().comment())
    run_probe(slurm)
    assert option(slurm.of("squeue")[0], "--user") == "root"
    assert slurm.living == ["7"]


# Signals


@pytest.fixture
def handlers() -> Iterator[dict[int, object]]:
    """Handlers of our own, which have to be back after the test.

    A test run in the background inherits ignored signals, and those stay ignored.
    """
    inherited = {number: signal.getsignal(number) for number in Interruptible.NUMBERS}

    def unexpected(number: int, _frame: object) -> None:
        raise AssertionError(f"signal {number} came outside")

    for number in Interruptible.NUMBERS:
        signal.signal(number, unexpected)
    yield dict.fromkeys(Interruptible.NUMBERS, unexpected)
    after = {number: signal.getsignal(number) for number in Interruptible.NUMBERS}
    for number, handler in inherited.items():
        signal.signal(number, handler)
    assert after == dict.fromkeys(Interruptible.NUMBERS, unexpected)


STEPS = [
    ("sbatch", 1),
    ("scontrol", 1),
    ("squeue", 2),
    ("scontrol", 2),
    ("squeue", 3),
    ("squeue", 4),
    ("squeue", 5),
    ("scancel", 1),
    ("squeue", 6),
]


@pytest.mark.parametrize("number", Interruptible.NUMBERS)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.usefixtures("handlers")
def test_a_signal_at_any_step_removes_the_job(
    slurm: FakeSlurm, step: tuple[str, int], number: signal.Signals
) -> None:
    def before(program: str, call: int) -> None:
        if (program, call) == step:
            os.kill(os.getpid(), number)

    slurm.before = before
    with pytest.raises(Interrupted) as raised:
        attempt(slurm, PLACE, AS_OF, None)
    assert (raised.value.number, raised.value.trouble) == (number, "")
    assert slurm.living == []
    # A submission is never ended half way.
    assert list(slurm.jobs) == ["41"]


@pytest.mark.parametrize("second", [("squeue", 2), ("scancel", 1), ("squeue", 3)])
@pytest.mark.usefixtures("handlers")
def test_a_second_signal_does_not_break_the_removal(
    slurm: FakeSlurm, second: tuple[str, int]
) -> None:
    def before(program: str, call: int) -> None:
        if (program, call) in (("scontrol", 1), second):
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)

    slurm.before = before
    slurm.fail["scancel", 1] = HUNG
    with pytest.raises(Interrupted) as raised:
        attempt(slurm, PLACE, AS_OF, None)
    assert raised.value.trouble == ""
    assert slurm.living == []


@pytest.mark.usefixtures("handlers")
def test_a_signal_tells_what_is_left(slurm: FakeSlurm) -> None:
    def before(program: str, call: int) -> None:
        if (program, call) == ("squeue", 2):
            os.kill(os.getpid(), signal.SIGTERM)

    slurm.before = before
    slurm.fail.update({("scancel", number): HUNG for number in range(1, 9)})
    with pytest.raises(Interrupted) as raised:
        attempt(slurm, PLACE, AS_OF, None)
    assert raised.value.trouble == "probe job 41 is still there after scancel"


@pytest.mark.usefixtures("handlers")
def test_a_signal_ends_the_command_that_runs(slurm: FakeSlurm) -> None:
    """A real one, which hangs as scontrol does when slurmctld is silent."""
    commands = Commands(30)

    def before(program: str, call: int) -> None:
        if (program, call) == ("scontrol", 1):
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
            assert commands.run("sleep", "20").status == 137

    slurm.before = before
    with pytest.raises(Interrupted):
        attempt(slurm, PLACE, AS_OF, None, commands.end_running)
    assert slurm.living == []
    # What comes after the signal is what removes the job.
    assert slurm.programs[-3:] == ["scontrol", "scancel", "squeue"]


@pytest.mark.usefixtures("handlers")
def test_a_signal_does_not_end_what_has_to_be_done(slurm: FakeSlurm) -> None:
    """Neither a submission nor the removal."""
    ended = []

    def before(program: str, call: int) -> None:
        if program in ("sbatch", "scancel"):
            os.kill(os.getpid(), signal.SIGTERM)

    slurm.before = before
    with pytest.raises(Interrupted):
        attempt(slurm, PLACE, AS_OF, None, lambda: ended.append(1))
    assert ended == []
    assert slurm.programs == ["squeue", "sbatch", "scancel", "squeue"]


@pytest.mark.usefixtures("handlers")
def test_a_signal_that_is_ignored_stays_ignored(slurm: FakeSlurm) -> None:
    """As under nohup: the job is removed in its own time."""
    before_handler = signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def before(program: str, call: int) -> None:
        if (program, call) == ("scontrol", 1):
            os.kill(os.getpid(), signal.SIGHUP)

    slurm.before = before
    try:
        assert run_probe(slurm).hold.support is Answer.YES
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before_handler)


@pytest.mark.usefixtures("handlers")
def test_an_error_of_our_own_removes_the_job(slurm: FakeSlurm) -> None:
    def before(program: str, call: int) -> None:
        if (program, call) == ("squeue", 2):
            raise ZeroDivisionError

    slurm.before = before
    with pytest.raises(ZeroDivisionError):
        attempt(slurm, PLACE, AS_OF, None)
    assert slurm.living == []


@pytest.mark.usefixtures("handlers")
def test_an_error_of_our_own_while_submitting_looks_for_the_job(slurm: FakeSlurm) -> None:
    class Broken(FakeSlurm):
        def _sbatch(self, argv: tuple[str, ...]) -> Reply:
            super()._sbatch(argv)
            raise ZeroDivisionError

    broken = Broken()
    with pytest.raises(ZeroDivisionError):
        attempt(broken, PLACE, AS_OF, None)
    assert list(broken.jobs) == ["41"]
    assert broken.living == []


def test_the_fake_is_no_more_lenient_than_slurm(slurm: FakeSlurm) -> None:
    """A job that nobody added is not there, and a probe's job begins held."""
    run_probe(slurm)
    assert fake_slurm.BASE == 4102444800
    with pytest.raises(AssertionError):
        slurm("scontrol", "hold", "41")
    with pytest.raises(AttributeError):
        slurm("srun", "true")

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a script's statuses prove, and the combined result of a requeue, written from the page."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import Marks
from ansible_collections.hpcops.slurm.plugins.module_utils._writes import script as scripts
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.judge import (
    Ended,
    Known,
    Proof,
    judge,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Call, Outcome
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import Address, Script

NONCE = "0123456789abcdef"
MARKS = Marks("~x", "^x")
FIVE, SIX = Address("5", 5, ("5",)), Address("6", 6, ("6",))
ARRAY = Address("70_[1-2]", 70, ("70_1", "70_2"), 2, array=70, tasks=(1, 2))

#: Every script of one call, with its kind.
SINGLE: dict[Call, Callable[[list[Address]], Script]] = {
    Call.HOLD: lambda sent: scripts.hold_script(7, MARKS, sent),
    Call.RELEASE: lambda sent: scripts.release_script(0, MARKS, sent),
    Call.OPEN: lambda sent: scripts.open_script(MARKS, sent),
    Call.REQUEUE: lambda sent: scripts.requeue_only_script(MARKS, sent),
    Call.CLEAR_BIT: scripts.restore_script,
}


def line(number: int, status: int) -> str:
    return f"\x1eDSL {NONCE} call {number} {status}\n"


def said(ordinals: str) -> bytes:
    return f"\x1eDSL {NONCE} sent {ordinals}\n".encode()


def ended(
    script: Script, calls: list[tuple[int, int, str]], stdout: bytes, **values: Any
) -> dict[str, Known]:
    """Judge a script that reported these calls: number, status, own text."""
    stderr = "".join(text + line(number, status) for number, status, text in calls)
    status = values.pop("status", calls[-1][1] if calls else 127)
    return judge(Ended(script, NONCE, status, stdout, stderr.encode(), **values))


# One call

STATUSES = {
    0: (Proof.ANSWERED, None),
    1: (Proof.NONE, None),
    2: (Proof.NONE, None),
    75: (Proof.EXPIRED, Outcome.EXPIRED),
    124: (Proof.NONE, None),
    125: (Proof.NONE, None),
    126: (Proof.NOT_RUN, Outcome.NOT_RUN),
    127: (Proof.NOT_RUN, Outcome.NOT_RUN),
    128: (Proof.NONE, None),
    129: (Proof.NONE, None),
    137: (Proof.NONE, None),
    143: (Proof.NONE, None),
    255: (Proof.NONE, None),
}


@pytest.mark.parametrize(
    ("call", "status"), [(call, status) for call in SINGLE for status in STATUSES]
)
def test_statuses(call: Call, status: int) -> None:
    judge_status(call, status)


@pytest.mark.parametrize("call", list(SINGLE))
def test_every_other_status_proves_nothing(call: Call) -> None:
    for status in set(range(256)) - set(STATUSES):
        judge_status(call, status)


def judge_status(call: Call, status: int) -> None:
    """One call that ended with this status proves what the table says."""
    proof, outcome = STATUSES.get(status, (Proof.NONE, None))
    script = SINGLE[call]([FIVE, SIX])
    assert script.calls == (call,)
    found = ended(script, [(1, status, "some text\n")], said("1,2") if script.looks else b"")
    assert list(found) == ["5", "6"]
    for known in found.values():
        assert (known.proof, known.outcome, known.bit_left) == (proof, outcome, Answer.NO)
        contradicts = status == 76 and script.looks
        assert known.calls == (() if contradicts else ((call.value, status),))
        if known.proof is Proof.NONE:
            assert known.message
            assert known.failure is not FailureClass.NONE


def test_text_of_a_success_is_not_judged() -> None:
    text = "Job has already finished for job 5\nscontrol: error: anything\n"
    (known,) = ended(SINGLE[Call.HOLD]([FIVE]), [(1, 0, text)], said("1")).values()
    assert known.proof is Proof.ANSWERED


def test_refusal() -> None:
    text = "Job has already finished for job 5\n"
    found = ended(SINGLE[Call.HOLD]([FIVE, SIX]), [(1, 1, text)], said("1,2"))
    assert (found["5"].proof, found["5"].outcome) == (Proof.REFUSED, Outcome.REJECTED)
    assert found["5"].failure is FailureClass.JOB_FINISHED
    assert (found["6"].proof, found["6"].outcome) == (Proof.NONE, None)


@pytest.mark.parametrize("status", [124, 137])
def test_a_killed_call_says_so(status: int) -> None:
    (known,) = ended(SINGLE[Call.HOLD]([FIVE]), [(1, status, "")], said("1")).values()
    assert str(status) in known.message
    assert known.failure is FailureClass.CONTROLLER_UNREACHABLE


@pytest.mark.parametrize("call", list(SINGLE))
@pytest.mark.parametrize("numbers", [(2,), (1, 2), (3,), (1, 3), (1, 2, 3), (99,)])
def test_wrong_calls(call: Call, numbers: tuple[int, ...]) -> None:
    script = SINGLE[call]([FIVE])
    (known,) = ended(script, [(one, 0, "") for one in numbers], said("1")).values()
    assert (known.proof, known.outcome, known.calls) == (Proof.NONE, None, ())


@pytest.mark.parametrize("call", list(SINGLE))
def test_unreadable_output(call: Call) -> None:
    script = SINGLE[call]([FIVE, SIX])
    for status, stderr in ((0, b""), (0, b"text"), (1, line(1, 0).encode()), (None, b"")):
        found = judge(Ended(script, NONCE, status, said("1,2"), stderr))
        assert {one.proof for one in found.values()} == {Proof.NONE}
        assert {one.bit_left for one in found.values()} == {Answer.NO}


def test_a_script_that_could_not_be_started() -> None:
    for script in (SINGLE[Call.HOLD]([FIVE, ARRAY]), scripts.requeue_script(MARKS, FIVE)):
        found = judge(Ended(script, NONCE, 127, b"", b"no sh\n", not_started=True))
        assert set(found) == set(script.members)
        assert {one.outcome for one in found.values()} == {Outcome.NOT_RUN}
        assert {one.bit_left for one in found.values()} == {Answer.NO}


# A script that looks first

LOOKING = [call for call in SINGLE if call is not Call.CLEAR_BIT]


@pytest.mark.parametrize("call", LOOKING)
def test_what_was_left_out_was_not_sent(call: Call) -> None:
    for status in (0, 1, 124, 75, 127):
        found = ended(SINGLE[call]([FIVE, ARRAY, SIX]), [(1, status, "")], said("1,3"))
        assert {found["70_1"].proof, found["70_2"].proof} == {Proof.WITHHELD}
        assert found["5"] == found["6"]
        assert found["5"].proof is STATUSES[status][0]


@pytest.mark.parametrize("call", LOOKING)
def test_nothing_to_send(call: Call) -> None:
    script = SINGLE[call]([FIVE, SIX])
    assert {one.proof for one in ended(script, [(1, 76, "")], b"").values()} == {Proof.WITHHELD}
    contradiction = ended(script, [(1, 76, "")], said("1"))
    assert {one.proof for one in contradiction.values()} == {Proof.NONE}


@pytest.mark.parametrize("call", LOOKING)
@pytest.mark.parametrize("status", [0, 1, 75, 76, 124, 127, 137])
def test_without_an_account_of_what_was_sent(call: Call, status: int) -> None:
    """It ended before it looked, or nothing is known."""
    early = {75: Proof.EXPIRED, 76: Proof.WITHHELD, 127: Proof.NOT_RUN}
    found = ended(SINGLE[call]([FIVE, SIX]), [(1, status, "")], b"a wrapper's words\n")
    assert {one.proof for one in found.values()} == {early.get(status, Proof.NONE)}


@pytest.mark.parametrize("stdout", [said("0"), said("3"), said("2,1"), said("1") + said("1")])
def test_an_account_that_can_not_be(stdout: bytes) -> None:
    found = ended(SINGLE[Call.HOLD]([FIVE, SIX]), [(1, 0, "")], stdout)
    assert {one.proof for one in found.values()} == {Proof.NONE}


def test_lines_about_what_was_not_sent_are_foreign() -> None:
    text = "Job has already finished for job 5\nJob has already finished for job 6\n"
    found = ended(SINGLE[Call.HOLD]([FIVE, SIX]), [(1, 1, text)], said("1"))
    assert (found["5"].proof, found["6"].proof) == (Proof.NONE, Proof.WITHHELD)


# A requeue

#: What one step may come to: its status and text.
FIN = "Job has already finished for job 5\n"
GONE = "Invalid job id specified for job 5\n"
USER = "Invalid user id for job 5\n"
DISABLED = "Requested operation is presently disabled for job 5\n"
BATCH = "Only batch jobs are accepted or processed for job 5\n"
ODD = "Unexpected message received for job 5\n"
STEP = {
    "ok": (0, ""),
    "late": (75, ""),
    "126": (126, ""),
    "127": (127, ""),
    "unclear": (1, ODD),
    "inactive": (1, "Requested partition configuration not available now for job 5\n"),
    "timeout": (124, ""),
    "broken": (125, ""),
    "killed": (137, ""),
    "other": (3, ""),
}
FIRST = {**STEP, "finished": (1, FIN), "gone": (1, GONE), "user": (1, USER)}
SECOND = {**STEP, "disabled": (1, DISABLED), "batch": (1, BATCH), "gone": (1, GONE)}
THIRD = FIRST
UNKNOWN = {"unclear", "inactive", "timeout", "broken", "killed", "other"}
NOT_STARTED = {"late", "126", "127"}


def requeued(*steps: tuple[int, tuple[int, str]], **values: Any) -> Known:
    """Judge a requeue of job 5 that reported these steps."""
    script = scripts.requeue_script(MARKS, FIVE)
    calls = [(number, status, text) for number, (status, text) in steps]
    return ended(script, calls, values.pop("stdout", said("1")), **values)["5"]


def own(step: str) -> tuple[Proof, Outcome | None]:
    """What a step's result is by itself."""
    if step in UNKNOWN:
        return Proof.NONE, None
    if step in NOT_STARTED:
        late = step == "late"
        return (Proof.EXPIRED, Outcome.EXPIRED) if late else (Proof.NOT_RUN, Outcome.NOT_RUN)
    if step == "ok":
        return Proof.ANSWERED, None
    return Proof.REFUSED, Outcome.NOT_FOUND if step == "gone" else Outcome.REJECTED


@pytest.mark.parametrize("third", THIRD)
@pytest.mark.parametrize("first", sorted(set(FIRST) - {"ok"}))
def test_requeue_without_a_set_bit(first: str, third: str) -> None:
    """Step 1 did not succeed: its result is the requeue's."""
    if first == "late":
        known = requeued((1, FIRST[first]))
        assert (known.proof, known.outcome) == (Proof.EXPIRED, Outcome.EXPIRED)
        assert known.bit_left is Answer.NO
        return
    known = requeued((1, FIRST[first]), (3, THIRD[third]))
    assert (known.proof, known.outcome) == own(first)
    if first in UNKNOWN:
        assert known.bit_left is Answer.UNKNOWN
        assert "may be left set" in known.message
    else:
        assert known.bit_left is Answer.NO


@pytest.mark.parametrize(("second", "third"), list(itertools.product(SECOND, THIRD)))
def test_requeue_with_a_set_bit(second: str, third: str) -> None:
    known = requeued((1, (0, "")), (2, SECOND[second]), (3, THIRD[third]))
    if third in ("ok", "finished", "gone"):
        # It was cleared, or there is nothing left to clear: the result is step 2's own.
        assert (known.proof, known.outcome) == own(second)
        assert known.bit_left is Answer.NO
        return
    assert known.outcome not in (Outcome.REJECTED, Outcome.NOT_FOUND, Outcome.EXPIRED)
    assert "left set" in known.message
    if third not in NOT_STARTED:
        # It ran, and did not clear it for certain.
        assert (known.proof, known.outcome) == (Proof.NONE, None)
        assert known.bit_left is Answer.UNKNOWN
    elif second in UNKNOWN:
        assert (known.proof, known.outcome) == (Proof.NONE, None)
        assert known.bit_left is Answer.YES
    else:
        # Nothing is unknown: the bit is set.
        assert known.outcome is Outcome.NOT_RUN
        assert known.bit_left is Answer.YES


WRONG = [
    numbers
    for size in (1, 2, 3, 4)
    for numbers in itertools.combinations((1, 2, 3, 4), size)
    if numbers not in ((1, 2, 3), (1, 3))
]


@pytest.mark.parametrize("numbers", WRONG)
@pytest.mark.parametrize("first", FIRST)
def test_requeue_with_the_wrong_calls(first: str, numbers: tuple[int, ...]) -> None:
    steps = [(number, FIRST[first] if number == 1 else (0, "")) for number in numbers]
    known = requeued(*steps)
    if (first, numbers) == ("late", (1,)):
        assert known.outcome is Outcome.EXPIRED
        return
    assert (known.proof, known.outcome) == (Proof.NONE, None)
    assert known.bit_left is Answer.UNKNOWN
    assert "may be left set" in known.message


@pytest.mark.parametrize("first", FIRST)
def test_requeue_that_left_out_or_added_a_step(first: str) -> None:
    """Two calls behind a set bit, three behind one that is not set, any behind a late start."""
    numbers = (1, 3) if first == "ok" else (1, 2, 3)
    known = requeued((1, FIRST[first]), *((number, (0, "")) for number in numbers[1:]))
    assert (known.proof, known.bit_left) == (Proof.NONE, Answer.UNKNOWN)
    late = requeued((1, FIRST["late"]), (3, (0, "")))
    assert (late.proof, late.bit_left) == (Proof.NONE, Answer.UNKNOWN)


@pytest.mark.parametrize("status", [None, -9, 0, 1, 137])
def test_requeue_whose_output_can_not_be_read(status: int | None) -> None:
    script = scripts.requeue_script(MARKS, FIVE)
    for stderr in ("", "text", line(1, 0)[:-1], line(1, 0) + line(2, 0) + "cut"):
        known = judge(Ended(script, NONCE, status, said("1"), stderr.encode()))["5"]
        assert (known.proof, known.outcome) == (Proof.NONE, None)
        assert known.bit_left is Answer.UNKNOWN
        assert "may be left set" in known.message


@pytest.mark.parametrize(
    ("status", "proof"), [(75, Proof.EXPIRED), (76, Proof.WITHHELD), (127, Proof.NOT_RUN)]
)
def test_requeue_that_ended_before_it_sent_anything(status: int, proof: Proof) -> None:
    known = requeued((1, (status, "")), stdout=b"")
    assert (known.proof, known.bit_left) == (proof, Answer.NO)


def test_requeue_that_does_not_say_what_it_sent() -> None:
    known = requeued((1, (0, "")), (2, (0, "")), (3, (0, "")), stdout=b"")
    assert (known.proof, known.bit_left) == (Proof.NONE, Answer.UNKNOWN)


def test_calls_are_told() -> None:
    known = requeued((1, (0, "")), (2, (1, DISABLED)), (3, (0, "")))
    assert known.calls == (("set_bit", 0), ("requeue", 1), ("clear_bit", 0))

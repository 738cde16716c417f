# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What counts as a refusal: the tables of the specification, and what real releases printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pytest
import yaml

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import FailureClass
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import IdKind, parse_job_id
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.judge import (
    Known,
    Proof,
    judge_call,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Call, Outcome
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.reader import CallReport
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.refusals import (
    ACCEPTED,
    read_answer,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import Address
from ansible_collections.hpcops.slurm.tests.unit import case_words

TRANSCRIPTS = case_words.DATA / "transcripts"
RELEASES = ("22.05.8", "24.11.5", "25.11.8", "26.05.5")

FIN = "Job has already finished"
NOPEND = "Job is no longer pending execution"
UID = "Invalid user id"
DENY = "Access/permission denied"
CRON = "Cannot modify scrontab jobs through scontrol"
BADID = "Invalid job id specified"
DIS = "Requested operation is presently disabled"
BATCH = "Only batch jobs are accepted or processed"
NOTWHOLE = "Operation not permitted on individual component of heterogeneous job"
HETL = "Job not heterogeneous job leader"
PEND = "Job is pending execution"
INACTIVE = "Requested partition configuration not available now"
SILENCE = "Unexpected message received"

#: The specification's tables, written down once more.
TABLE = {
    Call.HOLD: {FIN, NOPEND, UID, CRON, BADID},
    Call.RELEASE: {FIN, NOPEND, UID, CRON, BADID},
    Call.SET_BIT: {FIN, UID, CRON, BADID},
    Call.CLEAR_BIT: {FIN, UID, CRON, BADID},
    Call.REQUEUE: {DIS, BATCH, BADID, DENY, HETL},
    Call.OPEN: {FIN, UID, DENY, CRON, BADID},
    Call.CANCEL: {DENY, NOTWHOLE},
}
CLASSES = {
    FIN: FailureClass.JOB_FINISHED,
    NOPEND: FailureClass.JOB_NOT_PENDING,
    UID: FailureClass.PERMISSION_DENIED,
    DENY: FailureClass.PERMISSION_DENIED,
    CRON: FailureClass.PERMISSION_DENIED,
    BADID: FailureClass.JOB_UNKNOWN,
    DIS: FailureClass.REQUEUE_DISABLED,
    BATCH: FailureClass.NOT_BATCH,
    HETL: FailureClass.ID_MALFORMED,
    NOTWHOLE: FailureClass.ID_MALFORMED,
}
NEVER = (
    INACTIVE,
    "Requested account has breached requested QOS usage threshold",
    SILENCE,
    "Protocol authentication error",
    "Unspecified error",
    "Slurm backup controller in standby mode",
    "Socket timed out on send/recv operation",
    "No error",
    PEND,
    "",
)


def plain(*ids: str) -> list[Address]:
    """Addresses of plain jobs."""
    return [Address(one, 1, (one,)) for one in ids]


def tasks(array: int, *numbers: int, text: str = "") -> Address:
    """The address of some tasks of an array."""
    members = tuple(f"{array}_{number}" for number in numbers)
    return Address(text or members[0], array, members, array=array, tasks=numbers)


def judged(call: Call, stderr: str, *addresses: Address, status: int = 1) -> dict[str, Known]:
    report = CallReport(1, status, stderr.encode("utf-8", "surrogateescape"))
    return judge_call(call, report, addresses)


def outcomes(call: Call, stderr: str, *addresses: Address) -> dict[str, Outcome | None]:
    return {one: known.outcome for one, known in judged(call, stderr, *addresses).items()}


# The table


def test_the_tables_are_the_specification() -> None:
    assert {call: set(messages) for call, messages in ACCEPTED.items()} == TABLE


EVERY = sorted(set().union(*TABLE.values()) | set(NEVER))


@pytest.mark.parametrize("message", EVERY)
@pytest.mark.parametrize("call", list(TABLE))
def test_one_line(call: Call, message: str) -> None:
    line, status = f"{message} for job 5\n", 1
    if call is Call.CANCEL:
        line = f"scancel: error: Kill job error on job id 5: {message}\n"
        status = 60 if message == NOTWHOLE else 210
    known = judged(call, line, *plain("5"), status=status)["5"]
    if message not in TABLE[call]:
        assert known.proof is Proof.NONE
        assert known.outcome is None
        assert message in known.message
        assert known.failure is not FailureClass.NONE
        return
    assert known.proof is Proof.REFUSED
    assert known.outcome is (Outcome.NOT_FOUND if message == BADID else Outcome.REJECTED)
    assert (known.failure, known.message) == (CLASSES[message], message)


NOT_ACCEPTED = {
    "no text": "",
    "blank lines": "\n  \n",
    "no id": f"{FIN}\n",
    "another id": f"{FIN} for job 6\n",
    "part of the id": f"{FIN} for job 55\n",
    "the id in another spelling": f"{FIN} for job 05\n",
    "words behind the id": f"{FIN} for job 5 \n",
    "words before the message": f"scontrol: {FIN} for job 5\n",
    "a log line": f"scontrol: error: {FIN} for job 5\n",
    "another case": f"{FIN.upper()} for job 5\n",
    "two different messages": f"{FIN} for job 5\n{UID} for job 5\n",
    "an unknown message too": f"{FIN} for job 5\nSomething else for job 5\n",
    "another line before": f"site filter: no\n{FIN} for job 5\n",
    "another line behind": f"{FIN} for job 5\nslurm_suspend error: {FIN}\n",
    "no error at all": "No error for job 5\n",
    "twice the id": f"{FIN} for job 5 for job 5\n",
    "a task's line": f"5_1: {FIN}\n",
    "a line end that is none": f"\x0b{FIN} for job 5\n",
    "a line in a line": f"site filter\x1e{FIN} for job 5\n",
    "a line separator": f"site filter\u2028{FIN} for job 5\n",
    "a carriage return": f"{FIN} for job 5\r\n",
    "bytes": f"\udcff{FIN} for job 5\n",
    "a plug-in that quotes": f"scontrol: error: denied: {FIN} for job 5\n{FIN} for job 5\n",
}


@pytest.mark.parametrize("case", NOT_ACCEPTED)
def test_not_accepted(case: str) -> None:
    known = judged(Call.HOLD, NOT_ACCEPTED[case], *plain("5"))["5"]
    assert (known.proof, known.outcome) == (Proof.NONE, None)
    assert known.failure is not FailureClass.NONE


@pytest.mark.parametrize(
    "text", [f"{FIN} for job 5\n" * 3, f"\n  \n{FIN} for job 5\n\t\n", f"{FIN} for job 5"]
)
def test_accepted_all_the_same(text: str) -> None:
    assert judged(Call.HOLD, text, *plain("5"))["5"].proof is Proof.REFUSED


@pytest.mark.parametrize("status", [2, 74, 76, 99, 124, 125, 128, 130, 137, 143, 255])
def test_text_of_any_other_status_is_no_refusal(status: int) -> None:
    known = judged(Call.HOLD, f"{FIN} for job 5\n", *plain("5"), status=status)["5"]
    assert (known.proof, known.outcome) == (Proof.NONE, None)


# The second line of a release


@pytest.mark.parametrize("second", ["slurm_suspend error: ", "slurm_suspend error:"])
@pytest.mark.parametrize("message", sorted(TABLE[Call.OPEN]))
def test_second_line_of_a_release(message: str, second: str) -> None:
    text = f"{message} for job 5\n{second}{message}\n"
    assert judged(Call.OPEN, text, *plain("5"))["5"].proof is Proof.REFUSED


@pytest.mark.parametrize(
    "second",
    [
        f"slurm_suspend error: {UID}",
        "slurm_suspend error: No error",
        "slurm_suspend error",
        "slurm_suspend error:",
        f"slurm_suspend error{FIN}",
        f"slurm_suspend error:  {FIN}",
        f"slurm_suspend: {FIN}",
        f"slurm_update error: {FIN}",
    ],
)
def test_second_line_that_says_something_else(second: str) -> None:
    text = f"{FIN} for job 5\n{second}\n"
    assert judged(Call.OPEN, text, *plain("5"))["5"].proof is Proof.NONE


def test_second_line_alone_is_nothing() -> None:
    text = f"slurm_suspend error: {FIN}\n"
    assert judged(Call.OPEN, text, *plain("5"))["5"].proof is Proof.NONE
    assert judged(Call.OPEN, text, *plain("5", "6"))["6"].proof is Proof.NONE


@pytest.mark.parametrize("second", ["slurm_suspend error: No error", "slurm_suspend error"])
def test_second_line_of_a_list(second: str) -> None:
    text = f"{BADID} for job 6\n{second}\n"
    known = judged(Call.OPEN, text, *plain("5", "6", "7"))
    assert {one: each.proof for one, each in known.items()} == {
        "5": Proof.NONE,
        "6": Proof.REFUSED,
        "7": Proof.NONE,
    }


# Lists


def test_each_id_of_a_list_has_its_own_line() -> None:
    text = f"{FIN} for job 5\n{SILENCE} for job 7\n{BADID} for job 8\n"
    known = judged(Call.HOLD, text, *plain("5", "6", "7", "8"))
    assert {one: each.outcome for one, each in known.items()} == {
        "5": Outcome.REJECTED,
        "6": None,
        "7": None,
        "8": Outcome.NOT_FOUND,
    }
    assert {one: each.message for one, each in known.items()} == {
        "5": FIN,
        "6": "",
        "7": SILENCE,
        "8": BADID,
    }
    assert known["7"].failure is FailureClass.CONTROLLER_UNREACHABLE


def test_one_foreign_line_leaves_nothing_certain() -> None:
    text = f"{FIN} for job 5\nsomething\n{BADID} for job 6\n"
    assert set(outcomes(Call.HOLD, text, *plain("5", "6")).values()) == {None}


def test_a_plug_ins_words_about_one_id_leave_nothing_certain() -> None:
    """They may be about any of them, and say anything."""
    text = f"scontrol: error: not now for job 5\n{FIN} for job 6\n"
    assert set(outcomes(Call.HOLD, text, *plain("5", "6")).values()) == {None}


def test_messages_stay_short_in_long_lists() -> None:
    ids = [str(number) for number in range(100000, 101000)]
    text = "".join(f"{FIN} for job {one}\n" for one in ids[::2])
    known = judged(Call.HOLD, text, *plain(*ids))
    assert sum(len(each.message) for each in known.values()) < 50000
    assert {known[one].outcome for one in ids[::2]} == {Outcome.REJECTED}
    assert {known[one].outcome for one in ids[1::2]} == {None}
    long = judged(Call.HOLD, "x" * 100000 + "\n", *plain(*ids))
    assert max(len(each.message) for each in long.values()) < 2000


# Arrays


@pytest.mark.parametrize("reply", ["70_2", "70_[2]"])
def test_a_task(reply: str) -> None:
    text = f"{reply}: {FIN}\n"
    assert outcomes(Call.HOLD, text, tasks(70, 2)) == {"70_2": Outcome.REJECTED}
    assert outcomes(Call.HOLD, text, tasks(70, 3)) == {"70_3": None}
    assert outcomes(Call.HOLD, text, tasks(71, 2)) == {"71_2": None}
    assert outcomes(Call.HOLD, text, *plain("70")) == {"70": None}


@pytest.mark.parametrize("reply", ["70_1-2", "70_[1-2]", "70_[1,2]", "70_0-2:1"])
def test_only_the_tasks_named_are_refused(reply: str) -> None:
    """24.11 and newer say nothing about the tasks that were changed."""
    text = f"{reply}: {NOPEND}\n"
    known = judged(Call.HOLD, text, tasks(70, 1, 2, 3, 4, text="70_[1-4]"))
    assert {one: each.proof for one, each in known.items()} == {
        "70_1": Proof.REFUSED,
        "70_2": Proof.REFUSED,
        "70_3": Proof.NONE,
        "70_4": Proof.NONE,
    }


def test_no_error_is_an_answer() -> None:
    text = f"70_1-2: {NOPEND}\n70_3-4: No error\n"
    known = judged(Call.HOLD, text, tasks(70, 1, 2, 3, 4, text="70_[1-4]"))
    assert [known[f"70_{task}"].proof for task in (1, 2, 3, 4)] == [
        Proof.REFUSED, Proof.REFUSED, Proof.ANSWERED, Proof.ANSWERED,
    ]  # fmt: skip
    with_more = judged(Call.HOLD, text + "something\n", tasks(70, 1, 3, text="70_[1,3]"))
    assert {each.proof for each in with_more.values()} == {Proof.NONE}
    twice = judged(Call.HOLD, f"70_3: No error\n70_3: {FIN}\n", tasks(70, 3))
    assert twice["70_3"].proof is Proof.NONE


@pytest.mark.parametrize(
    "reply",
    [
        "70_2-1",
        "70_1-99999999999",
        "70_[1-2",
        "70_1-2]",
        "70_",
        "70_[]",
        "070_2",
        "70_2 ",
        "70-2",
        "x70_2",
        "70_1,,2",
        "70_1-2-3",
    ],
)
def test_replies_about_no_readable_tasks(reply: str) -> None:
    assert read_answer(Call.HOLD, f"{reply}: {FIN}\n", [tasks(70, 2)]).foreign


def test_scontrol_takes_the_brackets_off() -> None:
    """The line of a call that was not answered for an array: its id has no brackets any more."""
    whole = tasks(70, 1, 2, text="70_[1-2]")
    answer = read_answer(Call.HOLD, f"{SILENCE} for job 70_1-2\n", [whole, *plain("5")])
    assert (answer.foreign, dict(answer.doubtful)) == (None, {"70_1": SILENCE, "70_2": SILENCE})
    assert set(outcomes(Call.HOLD, f"{BADID} for job 70_1-2\n", whole).values()) == {
        Outcome.NOT_FOUND
    }


def test_a_very_long_range_costs_nothing() -> None:
    text = f"70_0-4000000: {FIN}\n" * 500
    many = tasks(70, *range(2000), text="70_[0-1999]")
    assert set(outcomes(Call.HOLD, text, many).values()) == {Outcome.REJECTED}


# What real releases printed


def call_of(words: list[str]) -> Call | None:
    """Which call of ours a recorded command is, or is like."""
    if words[0] in ("release", "hold"):
        return Call.OPEN
    if words[0] == "requeue":
        return Call.REQUEUE
    if words[0] != "update" or not words[1].startswith("JobId="):
        return None
    value = words[2]
    if value.startswith("StartTime="):
        return Call.RELEASE if value == "StartTime=now" else Call.HOLD
    return Call.CLEAR_BIT if value == "Requeue=0" else Call.SET_BIT


def ids_of(words: list[str]) -> list[str]:
    """The ids of a recorded command."""
    named = words[1].partition("=")[2] if words[0] == "update" else words[-1]
    return re.split(r",(?![^[]*\])", named)


def addressed(text: str) -> Address:
    job_id = parse_job_id(text)
    if job_id.kind not in (IdKind.ARRAY_TASK, IdKind.ARRAY_TASKS):
        return Address(text, 1, (text,))
    assert job_id.job
    return tasks(job_id.job, *job_id.tasks(), text=text)


@lru_cache(maxsize=None)
def entries(release: str) -> list[dict[str, Any]]:
    """The recorded commands of a release that could alter a job and did not end with 0."""
    found = []
    for name in ("writes", "arrays-and-het", "not-answered"):
        text = (TRANSCRIPTS / release / f"{name}.yml").read_text(encoding="utf-8")
        for entry in yaml.load(text, yaml.CSafeLoader):
            if entry["rc"] != 0 and "scontrol" in entry["argv"]:
                words = entry["argv"][entry["argv"].index("scontrol") + 1 :]
                call = call_of(words)
                if call is not None:
                    found.append({**entry, "call": call, "words": words, "file": name})
    return found


def failing() -> Iterator[Any]:
    for release in RELEASES:
        for entry in entries(release):
            yield pytest.param(entry, id=f"{release} {entry['id']}")


def row_of(state: str, member: str) -> tuple[str, ...] | None:
    """What a write changes of a job, in a recorded state: times, bit, count, gate."""
    for line in state.splitlines():
        values = line.split("|")
        if values[0] == member:
            eligible, _start, bit, restarts, priority = values[-6:-1]
            return eligible, bit, restarts, str(float(priority) == 0)
    return None


def plainly_refused(entry: dict[str, Any]) -> str | None:
    """The accepted message of an entry with one plain id, by comparing whole texts."""
    (text,) = ids = ids_of(entry["words"])
    for message in TABLE[entry["call"]]:
        first = f"{message} for job {text}\n"
        seconds = ["", f"slurm_suspend error: {message}\n", f"slurm_suspend error:{message}\n"]
        allowed = seconds if entry["call"] is Call.OPEN else [""]
        if entry["rc"] == 1 and len(ids) == 1 and entry["stderr"] in [first + x for x in allowed]:
            return message
    return None


@pytest.mark.parametrize("entry", list(failing()))
def test_recorded_failures(entry: dict[str, Any]) -> None:
    stderr = entry["stderr"]
    text = stderr if isinstance(stderr, bytes) else stderr.encode()
    sent = [addressed(one) for one in ids_of(entry["words"])]
    known = judge_call(entry["call"], CallReport(1, entry["rc"], text), sent)
    refused = [one for one, each in known.items() if each.proof is Proof.REFUSED]
    for one in refused:
        assert known[one].message in TABLE[entry["call"]]
        assert row_of(entry["state_before"], one) == row_of(entry["state_after"], one)
    if len(refused) == len(known):
        assert entry["changed"] == "no"
    if entry["file"] == "not-answered":
        assert refused == []
    if len(sent) == 1 and sent[0].array is None:
        message = plainly_refused(entry)
        assert (refused == [sent[0].text]) == (message is not None)


@pytest.mark.parametrize("release", RELEASES)
def test_recorded_failures_are_many(release: str) -> None:
    """The tests above have something to judge, of every kind."""
    found = entries(release)
    assert len(found) > 200
    # What scancel refuses is seen by the integration tests.
    assert {entry["call"] for entry in found} == set(TABLE) - {Call.CANCEL}
    inactive = [entry for entry in found if INACTIVE in entry["stderr"]]
    assert "yes" in {entry["changed"] for entry in inactive}
    refused = [
        entry for entry in found if len(ids_of(entry["words"])) == 1 and plainly_refused(entry)
    ]
    assert len(refused) > 100

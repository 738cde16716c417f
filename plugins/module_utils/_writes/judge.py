# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a script's reports prove about each job. Pure. Private to the collection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Dict, Optional, Sequence, Tuple, Union

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.failures import (
    LONGEST_LINE,
    classify,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    Reply,
    printable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import (
    Call,
    Outcome,
    Status,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.reader import (
    CallReport,
    Unreadable,
    read_reports,
    read_sent,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.refusals import read_answer
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import (
    Address,
    Script,
)


class Proof(str, Enum):
    """What a call proves about one job."""

    #: slurmctld was told, and reported no error.
    ANSWERED = "answered"
    #: slurmctld decided, and changed nothing.
    REFUSED = "refused"
    #: The call was not started, or not for this job: too late, not startable, or not what was
    #: expected right before.
    EXPIRED = "expired"
    NOT_RUN = "not_run"
    WITHHELD = "withheld"
    #: Nothing.
    NONE = "none"


@dataclass(frozen=True)
class Known:
    """What is known about one job from the script alone.

    ``outcome`` is set when that is all there is to know. ``bit_left`` says whether the requeue bit
    was left set; if it is YES, something was changed, whatever the outcome. ``calls`` are kind and
    status of each call.
    """

    proof: Proof
    message: str = ""
    outcome: Optional[Outcome] = None
    failure: FailureClass = FailureClass.NONE
    bit_left: Answer = Answer.NO
    calls: Tuple[Tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Ended:
    """How a script ended: its exit status (None: its end was not seen), and what it printed."""

    script: Script
    nonce: str
    exit_status: Optional[int]
    stdout: bytes
    stderr: bytes
    not_started: bool = False


def judge(ended: Ended) -> Dict[str, Known]:
    """What is known about each member of the addresses that the script was given."""
    script = ended.script
    if ended.not_started:
        reason = "the script could not be started: %s" % shown(ended.stderr)
        nothing = Known(Proof.NOT_RUN, reason, Outcome.NOT_RUN, FailureClass.COMMAND_MISSING)
        return dict.fromkeys(script.members, nothing)
    reports = read_reports(ended.stderr, ended.nonce, ended.exit_status)
    if isinstance(reports, Unreadable):
        return _nothing(script, reports.reason)
    if reports[-1].number > len(script.calls):
        return _nothing(script, "the script reported the wrong calls")
    sent = _sent(ended, reports)
    if isinstance(sent, Unreadable):
        return _nothing(script, sent.reason)
    found = dict.fromkeys(script.members, _WITHHELD)
    if isinstance(sent, Known):
        found = dict.fromkeys(script.members, sent)
    elif len(script.calls) == 1:
        found.update(judge_call(script.calls[0], reports[0], sent))
    else:
        for one in sent:
            found.update({member: _requeue(one, member, reports) for member in one.members})
    calls = tuple((script.calls[one.number - 1].value, one.status) for one in reports)
    return {member: replace(known, calls=calls) for member, known in found.items()}


_WITHHELD = Known(Proof.WITHHELD, "the job was not as expected right before the call")


def _sent(
    ended: Ended, reports: Sequence[CallReport]
) -> Union[Sequence[Address], Known, Unreadable]:
    """The addresses that the reports are about, or what is known of all when none was sent.

    A script that looks ends early when it is late, has no clock, or finds nothing to send.
    """
    script, first = ended.script, reports[0]
    if not script.looks:
        return script.addresses
    places = read_sent(ended.stdout, ended.nonce, len(script.addresses))
    if isinstance(places, Unreadable):
        return places
    nothing = first.status == Status.NOTHING_TO_SEND
    if places is None:
        early = _WITHHELD if nothing else not_started(first.status)
        if len(reports) == 1 and first.number == 1 and early is not None:
            return early
        return Unreadable("the script does not say what it sent")
    if nothing:
        return Unreadable("the script says that it sent nothing, and what it sent")
    return [script.addresses[place] for place in places]


def _nothing(script: Script, reason: str) -> Dict[str, Known]:
    """Nothing is known about any member; a requeue may have set the bit."""
    doubt = Call.SET_BIT in script.calls
    if doubt:
        reason += "; the requeue bit may be left set"
    known = Known(
        Proof.NONE,
        reason,
        failure=FailureClass.OUTPUT_UNREADABLE,
        bit_left=Answer.UNKNOWN if doubt else Answer.NO,
    )
    return dict.fromkeys(script.members, known)


#: Statuses of a call that go with a refusal's text; scontrol has one for all.
_ERRORS = {Call.CANCEL: (Status.NOT_WHOLE, Status.DENIED)}


def judge_call(call: Call, report: CallReport, sent: Sequence[Address]) -> Dict[str, Known]:
    """What one call proves about each member of the addresses that it was sent for."""
    members = [member for one in sent for member in one.members]
    status = report.status
    if status == Status.SUCCESS:
        return dict.fromkeys(members, Known(Proof.ANSWERED))
    alone = not_started(status)
    if alone is not None:
        return dict.fromkeys(members, alone)
    failure = classify(Reply((), status, b"", report.text))
    if status not in _ERRORS.get(call, (Status.ERROR,)):
        message = "the call ended with %d: %s" % (status, shown(report.text))
        return dict.fromkeys(members, Known(Proof.NONE, message.rstrip(": "), failure=failure))
    answer = read_answer(call, report.text.decode("utf-8", "surrogateescape"), sent)
    message = shown(report.text) if answer.foreign is not None or len(members) == 1 else ""
    found = dict.fromkeys(members, Known(Proof.NONE, message, failure=failure))
    for one, text in answer.doubtful.items():
        kind = classify(Reply((), status, b"", text.encode("utf-8", "surrogateescape")))
        found[one] = Known(Proof.NONE, message or printable(text), failure=kind)
    for one in answer.taken:
        found[one] = Known(Proof.ANSWERED)
    for one, refusal in answer.refused.items():
        found[one] = Known(Proof.REFUSED, refusal.message, refusal.outcome, refusal.failure)
    return found


def shown(text: bytes) -> str:
    """A call's text on one line, not more of it than a message takes."""
    lines = text.decode("utf-8", "surrogateescape").split("\n")
    text_shown = printable(" / ".join(line.strip() for line in lines if line.strip()))
    if len(text_shown) <= LONGEST_LINE:
        return text_shown
    return text_shown[:LONGEST_LINE] + "..."


def not_started(status: int) -> Optional[Known]:
    """What a status proves that says that the call was not started; None for any other."""
    if status == Status.EXPIRED:
        reason = "the deadline had passed before the call was started"
        return Known(Proof.EXPIRED, reason, Outcome.EXPIRED)
    if status in (Status.NOT_EXECUTABLE, Status.NOT_THERE):
        reason = "the command could not be started (%d)" % status
        return Known(Proof.NOT_RUN, reason, Outcome.NOT_RUN, FailureClass.COMMAND_MISSING)
    return None


def _requeue(address: Address, member: str, reports: Sequence[CallReport]) -> Known:
    """The combined result of set, requeue and clear (spec page, "A requeue's combined result")."""
    kinds = (Call.SET_BIT, Call.REQUEUE, Call.CLEAR_BIT)
    steps = {
        report.number: judge_call(kinds[report.number - 1], report, (address,))[member]
        for report in reports
    }
    first = steps.get(1)
    if first is not None and first.proof is Proof.EXPIRED:
        right: Tuple[int, ...] = (1,)
    elif first is not None and first.proof is Proof.ANSWERED:
        right = (1, 2, 3)
    else:
        right = (1, 3)
    if first is None or tuple(steps) != right:
        reason = "the script reported the wrong calls; the requeue bit may be left set"
        return Known(
            Proof.NONE,
            reason,
            failure=FailureClass.OUTPUT_UNREADABLE,
            bit_left=Answer.UNKNOWN,
        )
    if first.proof is Proof.ANSWERED:
        return _bit_set(steps[2], steps[3])
    if first.proof is Proof.NONE:
        reason = "%s; the requeue bit may be left set" % first.message
        return replace(first, message=reason, bit_left=Answer.UNKNOWN)
    return first


def _bit_set(second: Known, third: Known) -> Known:
    gone = (FailureClass.JOB_FINISHED, FailureClass.JOB_UNKNOWN)
    refused = third.proof is Proof.REFUSED
    if third.proof is Proof.ANSWERED or (refused and third.failure in gone):
        return second
    if third.proof in (Proof.EXPIRED, Proof.NOT_RUN) and second.proof is not Proof.NONE:
        # Nothing is unknown: the bit is set, whatever became of the requeue.
        reason = "the requeue bit is left set: %s" % third.message
        return Known(second.proof, reason, Outcome.NOT_RUN, third.failure, Answer.YES)
    ran = third.proof not in (Proof.EXPIRED, Proof.NOT_RUN)
    bit = Answer.UNKNOWN if ran else Answer.YES
    reason = "the requeue bit %s left set: %s" % ("may be" if ran else "is", third.message)
    failure = second.failure if third.failure is FailureClass.NONE else third.failure
    return Known(Proof.NONE, reason, failure=failure, bit_left=bit)

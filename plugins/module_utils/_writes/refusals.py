# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which texts of scontrol are refusals: decided by slurmctld, and nothing changed. Pure.

A table per call, matched whole. Every entry was seen with nothing changed, on 22.05.8 to 26.05.5.
Never in it, though they have the form: "Requested partition configuration not available now" (the
change was made), "Unexpected message received" (nothing is known). Private to the collection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import FailureClass
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import JobId, parse_job_id
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Call, Outcome

_FINISHED = "Job has already finished"
_NOT_PENDING = "Job is no longer pending execution"
_USER = "Invalid user id"
_DENIED = "Access/permission denied"
_SCRONTAB = "Cannot modify scrontab jobs through scontrol"
_NO_JOB = "Invalid job id specified"
_DISABLED = "Requested operation is presently disabled"
_BATCH = "Only batch jobs are accepted or processed"
_LEADER = "Job not heterogeneous job leader"

ACCEPTED: Mapping[Call, Tuple[str, ...]] = {
    Call.HOLD: (_FINISHED, _NOT_PENDING, _USER, _SCRONTAB, _NO_JOB),
    Call.RELEASE: (_FINISHED, _NOT_PENDING, _USER, _SCRONTAB, _NO_JOB),
    Call.SET_BIT: (_FINISHED, _USER, _SCRONTAB, _NO_JOB),
    Call.CLEAR_BIT: (_FINISHED, _USER, _SCRONTAB, _NO_JOB),
    Call.REQUEUE: (_DISABLED, _BATCH, _DENIED, _LEADER, _NO_JOB),
    Call.OPEN: (_FINISHED, _USER, _DENIED, _SCRONTAB, _NO_JOB),
}

CLASSES: Mapping[str, FailureClass] = {
    _FINISHED: FailureClass.JOB_FINISHED,
    _NOT_PENDING: FailureClass.JOB_NOT_PENDING,
    _USER: FailureClass.PERMISSION_DENIED,
    _DENIED: FailureClass.PERMISSION_DENIED,
    _SCRONTAB: FailureClass.PERMISSION_DENIED,
    _NO_JOB: FailureClass.JOB_UNKNOWN,
    _DISABLED: FailureClass.REQUEUE_DISABLED,
    _BATCH: FailureClass.NOT_BATCH,
    _LEADER: FailureClass.ID_MALFORMED,
}

_OUTCOMES: Mapping[str, Outcome] = {_NO_JOB: Outcome.NOT_FOUND}

_ABOUT_TASKS = re.compile(r"([1-9][0-9]{0,9})_(?:\[([0-9,:-]+)\]|([0-9,:-]+)): (.+)")
_SECOND_LINE = re.compile(r"slurm_suspend error:? ?(.*)")
_NO_ERROR = "No error"


@dataclass(frozen=True)
class Refusal:
    """slurmctld decided about one job, and changed nothing."""

    outcome: Outcome
    failure: FailureClass
    message: str


@dataclass(frozen=True)
class Answered:
    """What the text of one failed call says about the ids that were sent.

    ``refused`` are certain. ``doubtful`` are ids with a line that proves nothing. ``foreign`` is
    the first line that is about none of them; with it, nothing is known about the ids that were
    not refused. Ids in none of them had no line of their own: slurmctld reported no error.
    """

    refused: Mapping[str, Refusal]
    doubtful: Mapping[str, str]
    foreign: Optional[str] = None

    def knows_about(self, sent: str) -> bool:
        """Whether the call is known to have come back for an id, with whatever answer."""
        return self.foreign is None and sent not in self.doubtful


def read_answer(call: Call, text: str, sent: Sequence[str]) -> Answered:
    """Judge the standard error of a call that ended with status 1.

    ``sent`` are the ids as they were typed. A single id is refused when every line is about it,
    with one and the same accepted message; so is each id of a list.
    """
    said: Dict[str, List[str]] = {}
    foreign: Optional[str] = None
    echoes: List[str] = []
    for line in (one for one in text.splitlines() if one.strip()):
        second = _SECOND_LINE.fullmatch(line)
        if second and call is Call.OPEN:
            echoes.append(second.group(1))
            continue
        about, message = _about(line, sent)
        if about is None:
            foreign = foreign or line
        else:
            said.setdefault(about, []).append(message)
    spoken = {message for messages in said.values() for message in messages}
    for echo in echoes:
        alone = len(sent) == 1
        if echo not in spoken and (alone or echo not in ("", _NO_ERROR)):
            foreign = foreign or "slurm_suspend error: %s" % echo
    return _answered(call, said, foreign)


def _answered(call: Call, said: Mapping[str, Sequence[str]], foreign: Optional[str]) -> Answered:
    refused: Dict[str, Refusal] = {}
    doubtful: Dict[str, str] = {}
    for about, messages in said.items():
        if about == ABOUT_OTHERS:
            continue
        first = messages[0]
        bad = [one for one in messages if one not in ACCEPTED[call] and one != _NO_ERROR]
        if bad:
            doubtful[about] = bad[0]
        elif foreign is None and first != _NO_ERROR and set(messages) == {first}:
            outcome = _OUTCOMES.get(first, Outcome.REJECTED)
            refused[about] = Refusal(outcome, CLASSES[first], first)
    return Answered(refused, doubtful, foreign)


def _about(line: str, sent: Sequence[str]) -> Tuple[Optional[str], str]:
    """The id that a line is about, as it was sent, and the message; (None, line) for other lines.

    The reply for an array names the record that answered, which can hold more tasks than were sent.
    """
    message, separator, about = line.rpartition(" for job ")
    if separator and about in sent:
        return about, message
    tasks = _ABOUT_TASKS.fullmatch(line)
    if tasks:
        job, inside, bare, said = tasks.groups()
        answered = parse_job_id("%s_[%s]" % (job, inside or bare))
        same = [one for one in sent if str(parse_job_id(one).job) == job]
        for one in same:
            if _overlap(parse_job_id(one), answered):
                return one, said
        if same:
            return ABOUT_OTHERS, said
    return None, line


#: A line about tasks of the same array that were not sent.
ABOUT_OTHERS = ""


def _overlap(one: JobId, other: JobId) -> bool:
    """Whether two ids of one array share a task; the array's number means all of them."""
    if not one.spans or not other.spans:
        return True
    return any(set(span) & set(more) for span in one.spans for more in other.spans)

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which texts are refusals: decided by slurmctld, and nothing changed. Pure.

A table per call, matched whole. Every entry was seen with nothing changed, on 22.05.8 to 26.05.5.
Never in it, though they have the form: "Requested partition configuration not available now" (the
change was made), "Unexpected message received" (nothing is known). Private to the collection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import FailureClass
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import task_spans
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Call, Outcome
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import Address

_FINISHED = "Job has already finished"
_NOT_PENDING = "Job is no longer pending execution"
_USER = "Invalid user id"
_DENIED = "Access/permission denied"
_SCRONTAB = "Cannot modify scrontab jobs through scontrol"
_NO_JOB = "Invalid job id specified"
_DISABLED = "Requested operation is presently disabled"
_BATCH = "Only batch jobs are accepted or processed"
_LEADER = "Job not heterogeneous job leader"
_NOT_WHOLE = "Operation not permitted on individual component of heterogeneous job"

ACCEPTED: Mapping[Call, Tuple[str, ...]] = {
    Call.HOLD: (_FINISHED, _NOT_PENDING, _USER, _SCRONTAB, _NO_JOB),
    Call.RELEASE: (_FINISHED, _NOT_PENDING, _USER, _SCRONTAB, _NO_JOB),
    Call.SET_BIT: (_FINISHED, _USER, _SCRONTAB, _NO_JOB),
    Call.CLEAR_BIT: (_FINISHED, _USER, _SCRONTAB, _NO_JOB),
    Call.REQUEUE: (_DISABLED, _BATCH, _DENIED, _LEADER, _NO_JOB),
    Call.OPEN: (_FINISHED, _USER, _DENIED, _SCRONTAB, _NO_JOB),
    Call.CANCEL: (_DENIED, _NOT_WHOLE),
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
    _NOT_WHOLE: FailureClass.ID_MALFORMED,
}

_OUTCOMES: Mapping[str, Outcome] = {_NO_JOB: Outcome.NOT_FOUND}

_ABOUT_TASKS = re.compile(r"([1-9][0-9]{0,9})_(?:\[([0-9,:-]+)\]|([0-9,:-]+)): (.+)")
_SECOND_LINE = re.compile(r"slurm_suspend error(?:: ?(.+))?")
_CANCEL_LINE = re.compile(r"scancel: error: Kill job error on job id ([^ ]+): (.+)")
_NO_ERROR = "No error"
#: scontrol's log lines begin so: authentication, name resolution, whatever a site's plug-in says.
_LOG = "scontrol: "


@dataclass(frozen=True)
class Refusal:
    """slurmctld decided about one job, and changed nothing."""

    outcome: Outcome
    failure: FailureClass
    message: str


@dataclass(frozen=True)
class Answered:
    """What the text of one failed call says about the members of the addresses that were sent.

    ``refused`` are certain, and so are ``taken`` ("No error"). ``doubtful`` are members with a line
    that proves nothing. ``foreign`` is the first line that is about none of them: with it, nothing
    is certain. A member in none of them had no line of its own.
    """

    refused: Mapping[str, Refusal] = field(default_factory=dict)
    taken: FrozenSet[str] = frozenset()
    doubtful: Mapping[str, str] = field(default_factory=dict)
    foreign: Optional[str] = None


class _Names:
    """The members by the names that lines have for them."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        self._texts: Dict[str, Tuple[str, ...]] = {}
        self._arrays: Dict[int, List[Tuple[int, str]]] = {}
        for one in addresses:
            # scontrol takes the brackets off before it sends an id, and prints it so.
            for text in (one.text, one.text.replace("[", "").replace("]", "")):
                self._texts[text] = one.members
            if one.array is not None:
                tasks = self._arrays.setdefault(one.array, [])
                tasks.extend(zip(one.tasks, one.members))

    def cancelled(self, line: str) -> Optional[Tuple[Sequence[str], str]]:
        """The same for a line of scancel."""
        match = _CANCEL_LINE.fullmatch(line)
        if match is None or match.group(1) not in self._texts or match.group(2) == _NO_ERROR:
            return None
        return self._texts[match.group(1)], match.group(2)

    def about(self, line: str) -> Optional[Tuple[Sequence[str], str]]:
        """The members that a line is about, and what it says; None for any other line.

        The reply for an array names the record that answered, which can hold more tasks than were
        sent, and other ones.
        """
        if line.startswith(_LOG):
            return None
        message, separator, text = line.rpartition(" for job ")
        if separator and text in self._texts and message != _NO_ERROR:
            return self._texts[text], message
        tasks = _ABOUT_TASKS.fullmatch(line)
        if tasks is None:
            return None
        array, inside, bare, said = tasks.groups()
        known = self._arrays.get(int(array))
        try:
            spans = task_spans(inside or bare)[0]
        except ValueError:
            return None
        if known is None:
            return None
        return [one for task, one in known if any(task in span for span in spans)], said


def read_answer(call: Call, text: str, addresses: Sequence[Address]) -> Answered:
    """Judge the standard error of a call that ended with an error, member by member.

    One is refused when every line about it says one and the same accepted message, and no line is
    about something else.
    """
    names = _Names(addresses)
    said: Dict[str, List[str]] = {}
    foreign: Optional[str] = None
    echoes: List[Tuple[str, str]] = []
    spoken = set()
    for line in (one for one in text.split("\n") if one.strip(" \t\r")):
        second = _SECOND_LINE.fullmatch(line)
        if second and call is Call.OPEN:
            echoes.append((second.group(1) or _NO_ERROR, line))
            continue
        found = names.cancelled(line) if call is Call.CANCEL else names.about(line)
        if found is None:
            foreign = foreign or line
            continue
        members, message = found
        spoken.add(message)
        for member in members:
            said.setdefault(member, []).append(message)
    if len(addresses) > 1:  # the second line tells how the last of them ended
        spoken.add(_NO_ERROR)
    for echo, line in echoes:
        if not said or echo not in spoken:
            foreign = foreign or line
    return _answered(call, said, foreign)


def _answered(call: Call, said: Mapping[str, Sequence[str]], foreign: Optional[str]) -> Answered:
    refused: Dict[str, Refusal] = {}
    taken: List[str] = []
    doubtful: Dict[str, str] = {}
    for member, messages in said.items():
        first = messages[0]
        bad = [one for one in messages if one not in ACCEPTED[call] and one != _NO_ERROR]
        if bad or set(messages) != {first}:
            doubtful[member] = bad[0] if bad else " / ".join(messages)
        elif foreign is None and first == _NO_ERROR:
            taken.append(member)
        elif foreign is None:
            outcome = _OUTCOMES.get(first, Outcome.REJECTED)
            refused[member] = Refusal(outcome, CLASSES[first], first)
    return Answered(refused, frozenset(taken), doubtful, foreign)

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether an execution whose node was lost has really ended, as a site's own command tells.

Slurm ends a job when its node is silent; its processes may go on there. The command's exit status
is the answer: 0 yes, 1 no, anything else nothing. Private to the collection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.failures import failure_text
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    Reply,
    printable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.causes import Cause
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hosts import expand_hosts
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.info import Info

#: What a word of the command can hold, between braces.
PLACEHOLDERS = ("job_id", "node_list", "execution")
#: The values of a job that are needed.
NAMES = ("job_id", "raw_state", "cause", "node_list", "restarts", "earlier_executions")

_ANSWERS = {0: Answer.YES, 1: Answer.NO}
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class Question:
    """The command as a list of words with placeholders, and its time limit in seconds."""

    words: Tuple[str, ...]
    time_limit: float

    def __post_init__(self) -> None:
        """Raises ValueError for a command that can't ask about one job."""
        if not self.words or not self.words[0]:
            raise ValueError("cessation_command names no program")
        named = {name for word in self.words for name in _PLACEHOLDER.findall(word)}
        strangers = sorted(named.difference(PLACEHOLDERS))
        if strangers:
            raise ValueError(
                "cessation_command has {%s}; what it can have is {%s}"
                % ("}, {".join(strangers), "}, {".join(PLACEHOLDERS))
            )
        if not named.intersection(("job_id", "node_list")):
            raise ValueError("cessation_command has neither {job_id} nor {node_list}")

    def argv(self, values: Mapping[str, Optional[str]]) -> Tuple[str, ...]:
        """The words for one execution. Raises ValueError when a value they need is not known."""

        def value(match: re.Match[str]) -> str:
            text = values[match.group(1)]
            if not text:
                raise ValueError("its %s is not known" % match.group(1).replace("_", " "))
            return text

        return tuple(_PLACEHOLDER.sub(value, word) for word in self.words)


class Ceased:
    """Asks about executions. A command with the same words is run once."""

    def __init__(self, run: Run, question: Question) -> None:
        self._run = run
        self._question = question
        self._replies: Dict[Tuple[str, ...], Reply] = {}

    def results(self, info: Info) -> List[Dict[str, Any]]:
        """An entry for each execution whose node was lost, and one for any other job and id."""
        made: List[Dict[str, Any]] = []
        for row in info.rows:
            made.extend(self._of_job(dict(zip(info.names, row))))
        for text in (*info.missing, *info.doubtful):
            made.append(_entry(printable(text), {}, Answer.UNKNOWN, info.reasons[text]))
        return made

    def _of_job(self, job: Mapping[str, Any]) -> List[Dict[str, Any]]:
        executions = [*(job["earlier_executions"] or ()), job]
        lost = [one for one in executions if one["cause"] == Cause.NODE_LOST.value]
        if lost:
            return [self._ask(job["job_id"], one) for one in lost]
        if job["cause"] == Cause.UNKNOWN.value:
            why = "whether its node was lost is not known: the state is %s" % job["raw_state"]
            return [_entry(job["job_id"], job, Answer.UNKNOWN, why)]
        why = "its node was not lost: the state is %s" % job["raw_state"]
        return [_entry(job["job_id"], job, Answer.NO, why)]

    def _ask(self, job_id: str, execution: Mapping[str, Any]) -> Dict[str, Any]:
        made = _entry(job_id, execution, Answer.YES, "")
        restarts = execution["restarts"]
        number = str(restarts) if isinstance(restarts, int) else None
        values = {"job_id": job_id, "node_list": made["node_list"], "execution": number}
        try:
            expand_hosts(made["node_list"] or "")
            argv = self._question.argv(values)
        except ValueError as error:
            made["reason"] = "the command was not run: %s" % error
            return made
        if argv not in self._replies:
            limit = self._question.time_limit
            self._replies[argv] = self._run(*argv, time_limit=limit)
        reply = self._replies[argv]
        ceased = answer_of(reply)
        made.update(ceased=ceased.value, reason=_reason(reply, ceased), **_evidence(reply))
        return made


def answer_of(reply: Reply) -> Answer:
    """What a reply says: only a command that ended by itself with 0 or 1 says anything."""
    if reply.timed_out or reply.not_started:
        return Answer.UNKNOWN
    return _ANSWERS.get(reply.status, Answer.UNKNOWN)


def _reason(reply: Reply, ceased: Answer) -> str:
    if reply.timed_out:
        return "the command was ended by its time limit"
    if ceased is not Answer.UNKNOWN:
        return "the command exited with %d" % reply.status
    if reply.not_started:
        return "the command could not be started: %s" % printable(reply.err.strip())
    return "the command exited with %d: %s" % (reply.status, failure_text(reply))


def _evidence(reply: Reply) -> Dict[str, Any]:
    found = reply.as_evidence()
    return {"cmd": found["cmd"], "rc": None if reply.timed_out else found["rc"]}


def _entry(job_id: str, execution: Mapping[str, Any], lost: Answer, reason: str) -> Dict[str, Any]:
    return {
        "job_id": job_id,
        "execution": execution.get("restarts"),
        "node_list": execution.get("node_list"),
        "lost": lost.value,
        "ceased": Answer.UNKNOWN.value,
        "reason": reason,
        "cmd": None,
        "rc": None,
    }

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The values that every room shares: three-valued answers, failure classes, replies, errors.

Private to the collection.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from enum import Enum
from typing import Any, Dict, Mapping, Optional, Tuple


class Answer(str, Enum):
    """A three-valued answer. Unknown is never folded into one of the others."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class FailureClass(str, Enum):
    """The kind of failure behind an outcome or a failed read."""

    NONE = "none"
    ID_MALFORMED = "id_malformed"
    JOB_UNKNOWN = "job_unknown"
    JOB_FINISHED = "job_finished"
    JOB_NOT_PENDING = "job_not_pending"
    PERMISSION_DENIED = "permission_denied"
    REQUEUE_DISABLED = "requeue_disabled"
    NOT_BATCH = "not_batch"
    CONTROLLER_UNREACHABLE = "controller_unreachable"
    CONTROLLER_BUSY = "controller_busy"
    NO_CONFIG_SOURCE = "no_config_source"
    ACCOUNTING_DISABLED = "accounting_disabled"
    ACCOUNTING_UNREACHABLE = "accounting_unreachable"
    OUTPUT_UNREADABLE = "output_unreadable"
    FACTS_UNUSABLE = "facts_unusable"
    COMMAND_MISSING = "command_missing"
    AUTHENTICATION_FAILED = "authentication_failed"
    UNCLASSIFIED = "unclassified"


#: Failures that pass by themselves: a read may be tried again, within a limit.
PASSING = frozenset(
    {
        FailureClass.CONTROLLER_UNREACHABLE,
        FailureClass.CONTROLLER_BUSY,
        FailureClass.ACCOUNTING_UNREACHABLE,
    }
)


@dataclass(frozen=True)
class Reply:
    """What one command answered.

    ``status`` is its exit status, as a shell counts it (128 + n for a signal). It is 124 with
    ``timed_out`` set when the runner's own limit ended it, and 126 or 127 with ``not_started``
    set when it could not be started; a command that exits with these numbers itself has neither.
    """

    argv: Tuple[str, ...]
    status: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    not_started: bool = False

    @property
    def out(self) -> str:
        """Standard output as text; bytes that are not UTF-8 become surrogate escapes."""
        return self.stdout.decode("utf-8", "surrogateescape")

    @property
    def err(self) -> str:
        """Standard error as text; bytes that are not UTF-8 become surrogate escapes."""
        return self.stderr.decode("utf-8", "surrogateescape")

    def as_evidence(self) -> Dict[str, Any]:
        """The reply as JSON-safe values for a module's result."""
        return {
            "cmd": " ".join(shlex.quote(word) for word in self.argv),
            "rc": self.status,
            "stdout": printable(self.out),
            "stderr": printable(self.err),
            "timed_out": self.timed_out,
        }


class SlurmError(Exception):
    """Nothing can be said: the class of the failure, what was run, what came back, what to do."""

    def __init__(
        self,
        message: str,
        failure: FailureClass,
        remedy: str = "",
        reply: Optional[Reply] = None,
        evidence: Optional[Mapping[str, Any]] = None,
    ) -> None:
        super().__init__(message)
        self.message = printable(message)
        self.failure = failure
        self.remedy = remedy
        self.reply = reply
        self.evidence = dict(evidence or {})

    @property
    def retry(self) -> Answer:
        """Whether the same read may be tried again."""
        return Answer.YES if self.failure in PASSING else Answer.NO

    def as_result(self) -> Dict[str, Any]:
        """Arguments for ``fail_json``."""
        text = (
            self.message if not self.remedy else "%s. %s" % (self.message.rstrip("."), self.remedy)
        )
        result: Dict[str, Any] = {
            "msg": text,
            "failure_class": self.failure.value,
            "retry": self.retry.value,
        }
        if self.reply is not None:
            result.update(self.reply.as_evidence())
        result.update(self.evidence)
        return result


def printable(text: str) -> str:
    """The same text with undecodable bytes written as ``\\xNN``, so that it can be encoded."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # surrogates that stand for no byte; only an option can hold them
        return text.encode("utf-8", "backslashreplace").decode("utf-8")


def require_started(reply: Reply) -> Reply:
    """The same reply; raises :class:`SlurmError` when the command could not be started."""
    if not reply.not_started:
        return reply
    raise SlurmError(
        "%s could not be started: %s" % (reply.argv[0], reply.err.strip()),
        FailureClass.COMMAND_MISSING,
        remedy="Install Slurm's client commands on this host, or put them on the task's PATH",
        reply=reply,
    )

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the end of sbatch's script proves about a submission. Pure. Private to the collection."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Optional

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Detached
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.failures import classify
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    PASSING,
    FailureClass,
    Reply,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.judge import (
    Proof,
    not_started,
    shown,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import (
    Outcome,
    Status,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.reader import (
    CallReport,
    Unreadable,
    read_reports,
)

_JOB = re.compile(rb"([1-9][0-9]{0,9})(?:;[^\n]*)?")
#: slurmctld's own answer: it is made when the request has been handled.
_ANSWERED = re.compile(r"sbatch: error: Batch job submission failed: \S.*")
#: sbatch's own refusals, before anything is sent: of its arguments, with this status, and of a
#: site's plug-in.
_ARGUMENTS = 255
_PLUGIN = re.compile(r"sbatch: error: cli_filter plugin terminated with error")
_SAYS = re.compile(r"sbatch: (?:error|fatal): \S.*")
#: Failures that an answer of slurmctld can't be: it may not have seen the request.
_NO_ANSWER = PASSING | {FailureClass.AUTHENTICATION_FAILED, FailureClass.NO_CONFIG_SOURCE}


@dataclass(frozen=True)
class Sent:
    """What is proved: ANSWERED with a job, REFUSED, EXPIRED, NOT_RUN, or NONE.

    ``outcome`` is that of everything but an answer and NONE.
    """

    proof: Proof
    message: str = ""
    job_id: Optional[int] = None
    outcome: Optional[Outcome] = None
    failure: FailureClass = FailureClass.NONE
    calls: List[Dict[str, Any]] = field(default_factory=list)


def judge_submission(end: Detached, nonce: str) -> Sent:
    """Judge the end of a script of :func:`script.submit_script`."""
    if end.not_started:
        reason = "the script could not be started: %s" % shown(end.stderr)
        missing = FailureClass.COMMAND_MISSING
        return Sent(Proof.NOT_RUN, reason, outcome=Outcome.NOT_RUN, failure=missing)
    reports = read_reports(end.stderr, nonce, end.status)
    if isinstance(reports, Unreadable) or len(reports) > 1 or reports[0].number != 1:
        reason = reports.reason if isinstance(reports, Unreadable) else "the wrong calls"
        return Sent(Proof.NONE, reason, failure=FailureClass.OUTPUT_UNREADABLE)
    report = reports[0]
    calls = [{"call": "submit", "status": report.status}]
    return replace(_judge_call(report, end.stdout), calls=calls)


def _judge_call(report: CallReport, stdout: bytes) -> Sent:
    early = not_started(report.status)
    if early is not None:
        return Sent(early.proof, early.message, outcome=early.outcome, failure=early.failure)
    message = shown(report.text)
    if report.status == Status.SUCCESS:
        ids = [one for one in map(_JOB.fullmatch, stdout.split(b"\n")) if one is not None]
        if len(ids) == 1:
            return Sent(Proof.ANSWERED, message, int(ids[0].group(1)))
        reason = "sbatch reported no error, and no job id: %s" % (shown(stdout) or "nothing")
        return Sent(Proof.NONE, reason, failure=FailureClass.OUTPUT_UNREADABLE)
    failure = classify(Reply((), report.status, b"", report.text))
    if failure not in _NO_ANSWER and _is_refusal(report):
        return Sent(Proof.REFUSED, message, outcome=Outcome.REJECTED, failure=failure)
    reason = "sbatch ended with %d: %s" % (report.status, message)
    return Sent(Proof.NONE, reason.rstrip(": "), failure=failure)


def _is_refusal(report: CallReport) -> bool:
    text = report.text.decode("utf-8", "surrogateescape")
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines:
        return False
    if report.status == _ARGUMENTS:
        return _SAYS.fullmatch(lines[-1]) is not None
    last = (_ANSWERED, _PLUGIN)
    return report.status == Status.ERROR and any(one.fullmatch(lines[-1]) for one in last)

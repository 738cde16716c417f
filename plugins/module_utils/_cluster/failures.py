# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kind of failure a command's texts name, and what to do about each kind.

Slurm's sentences are matched as the stable end of a line, never as words somewhere in it. Private
to the collection.
"""

from __future__ import annotations

import re
from typing import Dict, List, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    FailureClass,
    Reply,
    SlurmError,
    printable,
    require_started,
)

#: Characters of a line that a message shows: a wrapper can print anything.
LONGEST_LINE = 1000

#: What stands before Slurm's sentence: ``scontrol: error: ``, ``slurm_load_jobs error: `` (25.05
#: and newer write no blank after ``error:``), nested as often as the call was; sbatch and scancel
#: say which request failed.
_PREFIX = re.compile(
    r"^(?:[A-Za-z_0-9]+(?: error)?:\s*|Batch job submission failed:\s*"
    r"|Kill job error on job id [^:]*:\s*)+"
)

#: Sentences of slurm_errno.c, of the configuration reader (src/common/read_config.c) and of the
#: accounting clients (src/sacct, src/sacctmgr), each with the class it proves.
SENTENCES: Tuple[Tuple[str, FailureClass], ...] = (
    (
        r"Unable to contact slurm controller \((?:connect|send|receive|shutdown) failure\)",
        FailureClass.CONTROLLER_UNREACHABLE,
    ),
    (r"Socket timed out on send/recv operation", FailureClass.CONTROLLER_UNREACHABLE),
    (r"Zero Bytes were transmitted or received", FailureClass.CONTROLLER_UNREACHABLE),
    (r"Slurm backup controller in standby mode", FailureClass.CONTROLLER_UNREACHABLE),
    (
        r"Controller is in standby mode, try a different controller",
        FailureClass.CONTROLLER_UNREACHABLE,
    ),
    (r"Unexpected message received", FailureClass.CONTROLLER_UNREACHABLE),
    (r"Rate limit exceeded.*", FailureClass.CONTROLLER_BUSY),
    (r"Unable to process configuration file", FailureClass.NO_CONFIG_SOURCE),
    (r"Unable to establish configuration source", FailureClass.NO_CONFIG_SOURCE),
    (r"Could not establish a configuration source", FailureClass.NO_CONFIG_SOURCE),
    (r"Slurm accounting storage is disabled", FailureClass.ACCOUNTING_DISABLED),
    (
        r"You are not running a supported accounting_storage plugin",
        FailureClass.ACCOUNTING_DISABLED,
    ),
    (r"Problem talking to the database(?::.*)?", FailureClass.ACCOUNTING_UNREACHABLE),
    (r"Unable to connect to database(?::.*)?", FailureClass.ACCOUNTING_UNREACHABLE),
    (r"Protocol authentication error", FailureClass.AUTHENTICATION_FAILED),
    (r"Munge decode failed: .*", FailureClass.AUTHENTICATION_FAILED),
    (r"Munge encode failed: .*", FailureClass.AUTHENTICATION_FAILED),
    (r"failed to connect to any sack sockets", FailureClass.AUTHENTICATION_FAILED),
    (r"cannot create auth context for .*", FailureClass.AUTHENTICATION_FAILED),
    (r"failed to initialize auth plugin", FailureClass.AUTHENTICATION_FAILED),
    (r"Invalid job id specified", FailureClass.JOB_UNKNOWN),
    (r"Job has already finished", FailureClass.JOB_FINISHED),
)
#: scontrol writes behind its sentence which job it is about.
_COMPILED = tuple(
    (re.compile(sentence + r"(?: for job .*)?\Z"), kind) for sentence, kind in SENTENCES
)

REMEDIES: Dict[FailureClass, str] = {
    FailureClass.CONTROLLER_UNREACHABLE: (
        "Look at slurmctld on its host (systemctl status slurmctld) and at the network between"
        " this host and it; then run again"
    ),
    FailureClass.CONTROLLER_BUSY: (
        "Run again later, or raise the limits of rl_enable in SlurmctldParameters"
    ),
    FailureClass.NO_CONFIG_SOURCE: (
        "Install slurm.conf on this host, run sackd or slurmd in configless mode,"
        " or name the file with slurm_conf"
    ),
    FailureClass.ACCOUNTING_UNREACHABLE: (
        "Look at slurmdbd on AccountingStorageHost (systemctl status slurmdbd) and at its database;"
        " then run again"
    ),
    FailureClass.ACCOUNTING_DISABLED: (
        "Set AccountingStorageType=accounting_storage/slurmdbd and AccountingStorageHost in"
        " slurm.conf, run slurmdbd with its database, then restart slurmctld"
    ),
    FailureClass.AUTHENTICATION_FAILED: (
        "Look at munged (or sackd, with auth/slurm) on this host, at its key,"
        " and at the clocks of both hosts"
    ),
    FailureClass.COMMAND_MISSING: (
        "Install Slurm's client commands on this host and put them on PATH"
    ),
}


def sentence_of(line: str) -> str:
    """A line of output without the names of the programs and functions before Slurm's sentence."""
    return _PREFIX.sub("", line.strip())


def classify(reply: Reply) -> FailureClass:
    """The class of a failed command. The first line that a rule knows decides.

    NONE for status 0. A reply that the runner's own limit cut off is CONTROLLER_UNREACHABLE:
    Slurm's clients take that long only while they wait for an answer.
    """
    if reply.not_started:
        return FailureClass.COMMAND_MISSING
    if reply.timed_out or reply.status in (124, 137):
        return FailureClass.CONTROLLER_UNREACHABLE
    if reply.status == 0:
        return FailureClass.NONE
    for line in _lines(reply):
        sentence = sentence_of(line)
        for pattern, kind in _COMPILED:
            if pattern.match(sentence):
                return kind
    return FailureClass.UNCLASSIFIED


def _lines(reply: Reply) -> List[str]:
    return [line for line in (reply.err + "\n" + reply.out).split("\n") if line.strip()]


def failure_text(reply: Reply) -> str:
    """The one line that says best why a command failed, for reasons and messages; printable."""
    lines = _lines(reply)
    for line in lines:
        if any(pattern.match(sentence_of(line)) for pattern, kind in _COMPILED):
            return _shown(line)
    if lines:
        return _shown(lines[-1])
    if reply.timed_out:
        return "no answer within the time limit"
    return "exit status %d without a word" % reply.status


def _shown(line: str) -> str:
    text = printable(line.strip())
    return text if len(text) <= LONGEST_LINE else text[:LONGEST_LINE] + "..."


def as_error(reply: Reply, doing: str) -> SlurmError:
    """The error for a failed command; ``doing`` completes "could not …"."""
    require_started(reply)
    kind = classify(reply)
    return SlurmError(
        "Could not %s: %s" % (doing, failure_text(reply)),
        kind,
        remedy=REMEDIES.get(kind, ""),
        reply=reply,
    )

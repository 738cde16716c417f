# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cluster can do: capabilities, rules, interfaces. Pure.

The names, their order and the reason texts are those of the spec page "Capabilities and
declarations", character for character. Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Dict, List, Sequence, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.landing import LandingBound
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    printable,
)

READ_ONLY = "read-only, and no cached probe"


class Source(str, Enum):
    """Where an answer comes from: fixed by what the collection does, or seen by the probe."""

    DECLARED = "declared"
    PROBED = "probed"


@dataclass(frozen=True)
class Support:
    """One answer. ``passing``: it rests on a failure that may pass, so it is not cached."""

    support: Answer
    source: Source
    reason: str = ""
    passing: bool = False

    def as_fact(self) -> Dict[str, str]:
        """The answer as JSON-safe values."""
        return {
            "support": self.support.value,
            "source": self.source.value,
            "reason": printable(self.reason),
        }


def probed(support: Answer, reason: str = "", passing: bool = False) -> Support:
    """An answer that the probe gave."""
    return Support(support, Source.PROBED, reason, passing)


def _declared(support: Answer, reason: str) -> Support:
    return Support(support, Source.DECLARED, reason)


_CONTAINER_IMAGE = (
    "container images are not mapped in v1. A spec with the dispatch.Image extension is refused"
)
_NATIVE_REQUEUE = "jobs are submitted with --no-requeue, so Slurm never restarts one on its own"
_READMISSION_GATE = "under --no-requeue Slurm never starts an execution on its own authority"
_ENDED = "a job that has ended cannot be restarted or requeued under --no-requeue"


def capabilities(hold: Support, accounting: Support, kill_wait: str) -> Dict[str, Support]:
    """The fourteen capabilities by name, in the spec's order.

    ``kill_wait`` is KillWait as the cluster writes it (``30 sec``), or "unknown".
    """
    yes, no = Answer.YES, Answer.NO
    return {
        "ContainerImage": _declared(no, _CONTAINER_IMAGE),
        "NativeRequeue": _declared(no, _NATIVE_REQUEUE),
        "NativeRestart": _declared(no, _NATIVE_REQUEUE),
        "Hold": hold,
        "PreTerminationSignal": _declared(
            yes, "SIGTERM, then SIGKILL after KillWait %s" % kill_wait
        ),
        "AccountingHistory": accounting,
        "AttemptInjection": _declared(yes, "the batch script exports the DISPATCH_* variables"),
        "ReadmissionGate": _declared(no, _READMISSION_GATE),
        "WorkingDirectory": _declared(yes, "--chdir"),
        "ProcsPerNode": _declared(yes, "--ntasks-per-node"),
        "OutputPath": _declared(yes, "the dispatch.Output extension; see Output files"),
        "OutputRead": _declared(yes, "stdout and stderr, each execution's file in turn"),
        "OutputFollow": _declared(yes, "polled every two seconds"),
        "OutputRetained": _declared(yes, "the files stay in output.dir on the cluster"),
    }


#: The recovery actions that the spec names.
ACTIONS = ("Resubmit", "Escalate", "Restart", "Requeue", "Hold")


#: Which modules of this collection carry out an action; no others do.
CARRIERS: Dict[str, Tuple[str, ...]] = {
    "Resubmit": ("job_submit",),
    "Escalate": ("job_submit",),
    "Hold": ("job_hold", "job_release"),
}


def rules(actions: Sequence[str], hold: Support) -> List[Dict[str, Any]]:
    """For each recovery action of a policy, whether it can be carried out here, and by what."""
    return [
        {
            "action": action,
            **_rule(action, hold).as_fact(),
            "modules": list(CARRIERS.get(action, ())),
        }
        for action in actions
    ]


def _rule(action: str, hold: Support) -> Support:
    if action in ("Resubmit", "Escalate"):
        return _declared(Answer.YES, "")
    if action in ("Restart", "Requeue"):
        return _declared(Answer.NO, _ENDED)
    if action == "Hold":
        return hold
    return _declared(Answer.UNKNOWN, "action %s" % action)


#: Which modules of this collection carry an interface.
MODULES: Dict[str, Tuple[str, ...]] = {
    "Holder": ("job_hold", "job_release"),
    "Requeuer": ("job_requeue", "job_restore"),
    "CessationSignal": ("job_ceased_info",),
    "OutputReader": ("job_output_info",),
    "MultiFinder": ("job_info",),
}


def interfaces(hold: Support, bound: LandingBound, ceased: bool) -> List[Dict[str, Any]]:
    """The optional interfaces, whether each is offered on this cluster, and by which modules.

    ``ceased``: a cessation command is configured.
    """
    if bound.seconds is None:
        requeuer = Answer.UNKNOWN
    else:
        requeuer = Answer.YES if bound.known else Answer.NO
    offered = {
        "Holder": hold.support,
        "Requeuer": requeuer,
        "CessationSignal": Answer.YES if ceased else Answer.NO,
        "OutputReader": Answer.YES,
        "MultiFinder": Answer.YES,
    }
    return [
        {"name": name, "offered": answer.value, "modules": list(MODULES[name])}
        for name, answer in offered.items()
    ]

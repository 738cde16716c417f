# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Placing and lifting a hold on one job, and opening its gate. Private to the collection."""

from __future__ import annotations

from typing import Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.failures import as_error
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import UNKNOWN
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hold import (
    Instance,
    encode_hold,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import parse_job_id
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import read_jobs
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Outcome


def planned_release(in_place: Instance, named: int) -> Outcome:
    """What a release of the instance ``named`` is, given the one in place.

    APPLIED means that the release may be sent; every other outcome that nothing is sent.
    """
    if in_place == UNKNOWN:
        return Outcome.UNKNOWN
    if in_place is None:
        return Outcome.UNCHANGED
    return Outcome.APPLIED if in_place == named else Outcome.STALE


def place_arguments(job_id: str, instance: int) -> Tuple[str, ...]:
    """The scontrol call that places a hold; ValueError when the instance is out of range."""
    return ("update", "JobId=%s" % job_id, "StartTime=%s" % encode_hold(instance))


def lift_arguments(job_id: str) -> Tuple[str, ...]:
    """The scontrol call that lifts whatever begin time the job has."""
    return ("update", "JobId=%s" % job_id, "StartTime=now")


def open_arguments(job_id: str) -> Tuple[str, ...]:
    """The scontrol call that opens the gate."""
    return ("release", job_id)


def release(run: Run, job_id: str, instance: int) -> Outcome:
    """Lift the hold of one job if it is the instance named.

    Slurm has no compare-and-set: the instance is read immediately before the call, and nothing is
    sent when it is another one. Raises :class:`SlurmError` when a command failed.
    """
    record = read_jobs(run, [parse_job_id(job_id)])[job_id].record
    if record is None:
        return Outcome.NOT_FOUND
    plan = planned_release(record.hold_instance, instance)
    if plan is Outcome.APPLIED:
        reply = run("scontrol", *lift_arguments(job_id))
        if reply.status != 0:
            raise as_error(reply, "lift the hold of job %s" % job_id)
    return plan

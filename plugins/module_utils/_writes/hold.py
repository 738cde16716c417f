# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One hold, one release, one opening, for the preflight's probe. Private to the collection."""

from __future__ import annotations

import secrets
import time
from typing import Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Reply
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hold import encode_hold, hold_time
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import fresh_marks
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.judge import (
    Ended,
    Known,
    judge,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import (
    Address,
    release_script,
)


def place_arguments(job_id: str, instance: int) -> Tuple[str, ...]:
    """The scontrol call that places a hold; ValueError when the instance is out of range."""
    return ("update", "JobId=%s" % job_id, "StartTime=%s" % encode_hold(instance))


def open_arguments(job_id: str) -> Tuple[str, ...]:
    """The scontrol call that opens the gate."""
    return ("release", job_id)


def release(run: Run, job_id: str, instance: int, seconds: int) -> Known:
    """Lift the hold of one job if it is the instance named, as the module job_release does it.

    The call is not started later than ``seconds`` from now.
    """
    address = Address(job_id, int(job_id), (job_id,), expected=str(hold_time(instance)))
    script = release_script(0, fresh_marks(), [address])
    nonce = secrets.token_hex(8)
    reply: Reply = run(*script.argv(nonce, int(time.time()) + seconds))
    status = None if reply.timed_out else reply.status
    ended = Ended(script, nonce, status, reply.stdout, reply.stderr, reply.not_started)
    return judge(ended)[job_id]

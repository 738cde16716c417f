# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether sacct can describe a job that slurmctld has forgotten. Private to the collection."""

from __future__ import annotations

import time
from typing import Optional, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    Configuration,
    store_flag,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    SlurmError,
    printable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import parse_job_id
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.sacct import Accounting, Execution
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.capabilities import (
    Support,
    probed,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.checks import JOB_NAME
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.started import Started

#: Seconds between two looks at sacct (spec page "Capabilities and declarations").
POLL = 2.0

#: Where MinJobAge was not read: its default (slurm.conf(5)).
DEFAULT_MIN_JOB_AGE = 300

#: Texts of sacct that say that this user has no accounting (the same page).
_NO_ACCOUNTING = ("Slurm accounting storage is disabled", "Problem talking to the database")


def limit(configuration: Configuration) -> int:
    """Seconds for which the row of the probe's job is looked for: MinJobAge."""
    age = configuration.seconds("MinJobAge")
    return age if isinstance(age, int) else DEFAULT_MIN_JOB_AGE


def wait_for_row(
    run: Run, configuration: Configuration, started: Started, patience: float
) -> Tuple[Optional[Support], float]:
    """Look at sacct every two seconds, for ``patience`` seconds of this round at most.

    Returns AccountingHistory's answer, None while it is not known, and the seconds waited since
    the job was cancelled.
    """
    until = time.monotonic() + patience
    most = limit(configuration)
    accounting = Accounting(run)
    while True:
        waited = max(0.0, time.time() - started.cancelled_at)
        answer = look(accounting, configuration, started, last=waited >= most)
        pause = min(POLL, max(0.1, most - waited))
        if answer is not None or time.monotonic() + pause > until:
            return answer, waited
        time.sleep(pause)


def look(
    accounting: Accounting, configuration: Configuration, started: Started, last: bool
) -> Optional[Support]:
    """One look at sacct; None while it shows no row that tells, unless it is the last one."""
    answer: Optional[Support]
    try:
        answer = _seen(_row(accounting, started), configuration, started, last)
    except SlurmError as error:
        answer = _failed(error)
    if answer is None:
        return None
    flags = configuration.settings.get("AccountingStoreFlags")
    reason = "%s; AccountingStoreFlags=%s" % (answer.reason, flags.raw if flags else "unknown")
    return probed(answer.support, reason, answer.passing)


def _row(accounting: Accounting, started: Started) -> Optional[Execution]:
    """The row of the probe's job, None while there is none; not that of an older job with its id.

    slurmctld can begin again with id 1, and accounting keeps what was there before.
    """
    asked = parse_job_id(started.job_id)
    for row in reversed(accounting.histories([asked])[started.job_id].executions):
        if row.comment == started.comment:
            return row
        submitted, since = row.submit_time, started.since
        recent = since is None or (isinstance(submitted, int) and submitted >= since)
        if row.name == JOB_NAME and recent:
            return row
    return None


def _seen(
    row: Optional[Execution], configuration: Configuration, started: Started, last: bool
) -> Optional[Support]:
    if row is not None and row.comment == started.comment:
        return probed(Answer.YES, "comments are kept")
    over = row is not None and row.ended is Answer.YES
    if over and store_flag(configuration, "job_comment") is Answer.NO:
        return probed(Answer.YES, "comments are not kept: AccountingStoreFlags lacks job_comment")
    if not last:
        return None
    if over:
        return probed(Answer.YES, "comments are not kept: the probe's row has none", passing=True)
    reason = "no sacct row for probe job %s within MinJobAge" % started.job_id
    return probed(Answer.UNKNOWN, reason, passing=True)


def _failed(error: SlurmError) -> Support:
    reply = error.reply
    if reply is None or reply.not_started or reply.timed_out or reply.status == 0:
        return probed(Answer.UNKNOWN, "sacct: %s" % error.message, passing=True)
    said = printable(reply.err.strip())
    if any(text in said for text in _NO_ACCOUNTING):
        lasting = error.failure is FailureClass.ACCOUNTING_DISABLED
        return probed(Answer.NO, said, passing=not lasting)
    return probed(Answer.UNKNOWN, "sacct exited %d: %s" % (reply.status, said), passing=True)

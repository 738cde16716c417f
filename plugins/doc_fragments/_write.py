# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Options, attributes and results of the modules that write. Private to the collection."""

    DOCUMENTATION = r"""
options:
  ttl:
    description:
      - Seconds from the start of the task within which a call may be started, between 1 and 86400. The deadline is fixed on the Ansible
        controller when the task starts, so that a connection that stalls can't make a call start late.
    type: float
    default: 60
  deadline:
    description:
      - The instant after which no call may be started, on the Ansible controller's clock, as ISO-8601 with an offset or as epoch seconds. It
        takes the place of O(ttl).
      - When it has passed, the outcome is V(expired), and nothing was sent.
    type: str
  settle:
    description:
      - Whether to wait for jobs whose outcome is not known yet, until it shows or until nothing can land any more. That is at most the
        landing bound (C(call_bound) of M(hpcops.slurm.preflight)) after the deadline.
      - With V(false) such a job is V(unknown) at once, with RV(results[].may_land_until).
    type: bool
    default: true
  state_dir:
    description:
      - Directory of the journal, which tells later runs what this one was about to do.
      - By default C(/var/lib/hpcops.slurm) for root, and C(hpcops.slurm) in the state directory of any other user.
      - Nothing is sent when the journal can't be written.
    type: path
attributes:
  action:
    support: full
  async:
    support: none
    details:
      - The action plugin runs the module in short rounds to show how long it still waits.
  check_mode:
    support: full
    details:
      - Reads everything, sends nothing, and predicts each outcome.
  diff_mode:
    support: full
  idempotent:
    support: full
  platform:
    platforms: posix
notes:
  - "Outcomes: V(applied), the change is in effect. V(unchanged), it already was. V(rejected), slurmctld decided and changed nothing.
    V(not_found), slurmctld shows no such job. V(stale), another hold instance is in place, and nothing was changed. V(expired), the
    deadline passed before the call was started. V(not_run), the command could not be started, or was not, since the job changed right
    before. V(not_applied), nothing of it can land any more, and the job is as it was before. V(unsupported), the cluster can't do
    it. V(unknown), it is not in effect, and it may still land, or somebody has changed the job since."
"""

    INSTANCE = r"""
options:
  instance:
    description: The number of the hold, between 1 and 999999999.
    type: int
    required: true
"""

    EXECUTION = r"""
options:
  restarts:
    description: The restart count of the execution that is meant; 0 is a job's first.
    type: int
  started_before:
    description: The execution that is meant began before this instant, in epoch seconds of slurmctld's clock.
    type: int
"""

    JOBS = r"""
options: {}
notes:
  - With O(jobs), the task fails when any outcome is neither V(applied) nor V(unchanged), after all jobs were handled. With O(select),
    V(rejected) and V(not_found) are reported and do not fail it, since jobs leave a selection at any time.
"""

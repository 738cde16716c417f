#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: job_cancel
short_description: Cancel Slurm jobs
version_added: 0.1.0
author:
  - HPC Operations (@hpcops)
description:
  - Cancels jobs as C(scancel) does. A pending job ends at once. All processes of a running or suspended job, the batch script too, get
    SIGTERM, and those that are left after the cluster's KillWait get SIGKILL.
  - A job that has ended or is about to is V(unchanged), so that a second run of the same task changes nothing.
  - V(applied) says that the job has ended or is ending after the call, not who did it. A job that was seen to have ended in another way
    than by being cancelled is V(unchanged).
  - With O(restarts) or O(started_before) an execution is named, and a job of which a newer one is there is left alone, as is a pending job
    with O(started_before). By default the execution that is there is meant.
  - Jobs are cancelled for good, also those with the requeue bit. A job with an exit code of the cluster's RequeueExit may still come back
    after it has ended by itself.
  - This does not need a known landing bound. Without one, a job that is V(unknown) can't be settled.
options:
  wait:
    description:
      - Whether to wait until the jobs have ended, with their processes. The task fails when they have not within O(wait_limit), and says
        which. A job of which a newer execution is there than the one that is named is not waited for.
    type: bool
    default: false
  wait_limit:
    description: Seconds to wait for the end of the jobs after they were cancelled, between 1 and 86400. A job takes up to KillWait and the
      time of its epilog.
    type: int
    default: 300
extends_documentation_fragment:
  - hpcops.slurm._attributes
  - hpcops.slurm._attributes.actiongroup_slurm
  - hpcops.slurm._slurm
  - hpcops.slurm._slurm.rounds
  - hpcops.slurm._jobs
  - hpcops.slurm._answers
  - hpcops.slurm._write
  - hpcops.slurm._write.execution
  - hpcops.slurm._write.jobs
notes:
  - A component of a pending heterogeneous job can't be cancelled without the others, and neither can the first component of a running one.
    They are V(rejected), unless all components that have not ended are among the jobs, as they are with the leader's number in O(jobs).
  - A pending array task that is cancelled leaves no trace in the queue. Its state is shown as C(not shown) as long as slurmctld shows the
    rest of its array.
seealso:
  - module: hpcops.slurm.preflight
  - module: hpcops.slurm.job_info
  - module: hpcops.slurm.job_requeue
"""

EXAMPLES = r"""
- name: Cancel two jobs
  hpcops.slurm.job_cancel:
    jobs: ["41007", "41008"]

- name: Cancel an execution, and go on when its processes are gone
  hpcops.slurm.job_cancel:
    jobs: ["41007"]
    restarts: 0
    wait: true
    wait_limit: 120

- name: Cancel what waits for a partition that is taken out of service
  hpcops.slurm.job_cancel:
    select:
      partitions: [old]
      states: [PENDING]
"""

RETURN = r"""
results:
  description: One entry for each job, array task and component.
  returned: always, but for errors in the options
  type: list
  elements: dict
  contains:
    job_id:
      description: The id as it was given, or that of the task or component.
      type: str
      returned: always
      sample: "41007"
    outcome:
      description:
        - What is known about the job, see the notes. V(applied) says that it has ended or is ending after the call, and nothing about who
          ended it.
      type: str
      returned: always
      sample: applied
    changed:
      description: Whether this task changed the job.
      type: bool
      returned: always
      sample: true
    reason:
      description: Why the outcome is what it is.
      type: str
      returned: always
      sample: the job has ended or is ending
    message:
      description: Slurm's own words, if there were any.
      type: str
      returned: always
      sample: ""
    failure_class:
      description: The kind of failure behind the outcome, V(none) if there is none.
      type: str
      returned: always
      sample: none
    before:
      description: The job before, null when it was not read.
      type: dict
      returned: always
      sample: {state: RUNNING, ending: "no"}
    after:
      description: The job afterwards, or as predicted in check mode. Null when it was not read.
      type: dict
      returned: always
      sample: {state: COMPLETING, ending: "yes"}
    calls:
      description: The calls that were made, with the exit status of each.
      type: list
      elements: dict
      returned: always
      sample: [{call: cancel, status: 0}]
    settled:
      description: Whether the outcome is final.
      type: bool
      returned: always
      sample: true
    may_land_until:
      description: Epoch seconds on the Ansible controller's clock until which a change that is V(unknown) may still land.
      type: int
      returned: always
      sample: null
    requeue_bit_left:
      description: Always V(no), as no cancelling sets the requeue bit.
      type: str
      returned: always
      sample: "no"
    ended:
      description:
        - Whether the job is over, with its processes, as V(yes), V(no) or V(unknown). In check mode, whether it would be right after the
          call.
      type: str
      returned: always
      sample: "no"
summary:
  description: How many jobs came to each outcome.
  returned: always, but for errors in the options
  type: dict
  sample: {applied: 998, unchanged: 2}
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.options import readable_options
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.permission import permit
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.cancel import Cancel
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.options import (
    WRITE_RULES,
    write_options,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.task import run_write


def main() -> None:
    options = {
        **write_options(),
        "restarts": {"type": "int"},
        "started_before": {"type": "int"},
        "wait": {"type": "bool", "default": False},
        "wait_limit": {"type": "int", "default": 300},
    }
    rules = dict(WRITE_RULES)
    named = ("restarts", "started_before")
    rules["mutually_exclusive"] = [*rules["mutually_exclusive"], named]
    with readable_options():
        module = AnsibleModule(argument_spec=options, **rules)
    if not 1 <= module.params["wait_limit"] <= 86400:
        module.fail_json(msg="wait_limit lies between 1 and 86400 seconds")
    run_write(
        module,
        lambda params: Cancel(params["restarts"], params["started_before"]),
        permit,
    )


if __name__ == "__main__":
    main()

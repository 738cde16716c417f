#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: job_requeue
short_description: End an execution of Slurm jobs and let them run again
version_added: 0.1.0
author:
  - HPC Operations (@hpcops)
description:
  - Requeues running jobs. The execution that is meant is named, by the job's restart count (O(restarts)) or as the one that began before
    an instant (O(started_before)), so that a second run of the same task does not end the next execution.
  - A job that has ended is never restarted. A pending job, and one whose execution is newer, is V(unchanged).
  - Where the job's requeue bit is off, it is set, the job is requeued, and the bit is cleared again. Where it is on, it stays on.
  - V(applied) and V(unchanged) say that the execution is over and the job was requeued, not who did it.
options:
  suspended:
    description: Whether to requeue suspended jobs too. They come back held by an operator.
    type: bool
    default: false
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
seealso:
  - module: hpcops.slurm.preflight
  - module: hpcops.slurm.job_info
"""

EXAMPLES = r"""
- name: Free the nodes that are rolled out next
  hpcops.slurm.job_requeue:
    started_before: "{{ window_opened_at | int }}"
    select:
      nodes: n[1-4]
      states: [RUNNING]

- name: Requeue one job's first execution
  hpcops.slurm.job_requeue:
    jobs: ["41007"]
    restarts: 0
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
      description: What is known about the job, see the notes.
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
      sample: execution 0 was ended
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
      sample: {state: RUNNING, restarts: 0}
    after:
      description: The job afterwards, or as predicted in check mode. Null when it was not read.
      type: dict
      returned: always
      sample: {state: COMPLETING, restarts: 1}
    calls:
      description: The calls that were made, with the exit status of each.
      type: list
      elements: dict
      returned: always
      sample: [{call: set_bit, status: 0}]
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
      description: Whether a requeue left the job's requeue bit set, as V(yes), V(no) or V(unknown). M(hpcops.slurm.job_restore) clears it.
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
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.options import (
    WRITE_RULES,
    write_options,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import Requeue
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.task import run_write


def main() -> None:
    options = {
        **write_options(),
        "restarts": {"type": "int"},
        "started_before": {"type": "int"},
        "suspended": {"type": "bool", "default": False},
    }
    rules = dict(WRITE_RULES)
    named = ("restarts", "started_before")
    rules["mutually_exclusive"] = [*rules["mutually_exclusive"], named]
    rules["required_one_of"] = [*rules["required_one_of"], named]
    with readable_options():
        module = AnsibleModule(argument_spec=options, **rules)
    run_write(
        module,
        lambda params: Requeue(params["restarts"], params["started_before"], params["suspended"]),
        permit,
    )


if __name__ == "__main__":
    main()

#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: job_release
short_description: Lift the hold of Slurm jobs that a number names
version_added: 0.1.0
author:
  - HPC Operations (@hpcops)
description:
  - Lifts the hold of pending jobs if it is the instance that is named. Another instance in place is left alone, and the outcome is V(stale).
    A job without a hold is V(unchanged).
  - The instance is read once more immediately before the call, by the script that makes it.
  - The job's own begin time is put back if it still lies ahead. It is taken from the journal of M(hpcops.slurm.job_hold), so
    hold and release as the same user on the same host.
  - A job that could not age under its hold, since it waited for another job or behind its gate when the hold was placed, ages from the
    release on (C(ResetAccrueTime)).
  - The gate that a job was submitted under stays as it is, see M(hpcops.slurm.job_open).
extends_documentation_fragment:
  - hpcops.slurm._attributes
  - hpcops.slurm._attributes.actiongroup_slurm
  - hpcops.slurm._slurm
  - hpcops.slurm._slurm.rounds
  - hpcops.slurm._jobs
  - hpcops.slurm._answers
  - hpcops.slurm._write
  - hpcops.slurm._write.instance
  - hpcops.slurm._write.jobs
seealso:
  - module: hpcops.slurm.preflight
  - module: hpcops.slurm.job_info
"""

EXAMPLES = r"""
- name: Let go what the window held, and nothing else
  hpcops.slurm.job_release:
    instance: 7
    select:
      partitions: [batch]
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
      sample: instance 7 lifted
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
      sample: {state: PENDING, hold_instance: 7, begin_time: 4102444807}
    after:
      description: The job afterwards, or as predicted in check mode. Null when it was not read.
      type: dict
      returned: always
      sample: {state: PENDING, hold_instance: null, begin_time: null}
    calls:
      description: The calls that were made, with the exit status of each.
      type: list
      elements: dict
      returned: always
      sample: [{call: release, status: 0}]
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

import time

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.options import readable_options
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.permission import permit
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.options import (
    WRITE_RULES,
    write_options,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import Release
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.task import run_write


def main() -> None:
    options = {**write_options(), "instance": {"type": "int", "required": True}}
    with readable_options():
        module = AnsibleModule(argument_spec=options, **WRITE_RULES)
    run_write(module, lambda params: Release(params["instance"], time.time()), permit)


if __name__ == "__main__":
    main()

#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: job_restore
short_description: Clear a requeue bit that a requeue left set
version_added: 0.1.0
author:
  - HPC Operations (@hpcops)
description:
  - Clears the requeue bit of jobs on which a requeue of this collection has set it and could not clear it again, for example because it was
    killed. The bit of a job that is off already is V(unchanged).
  - A bit that a requeue has cleared, and that is set again before it was seen to be off later, is cleared too. A slurmctld that is killed
    forgets what it answered in the seconds before.
  - A bit that no requeue of this user on this host has set is V(rejected), unless O(force) is set.
options:
  force:
    description: Whether to clear a requeue bit that was not set by a requeue of this user on this host.
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
  - hpcops.slurm._write.jobs
seealso:
  - module: hpcops.slurm.preflight
  - module: hpcops.slurm.job_info
"""

EXAMPLES = r"""
- name: Clear what an interrupted requeue left set
  hpcops.slurm.job_restore:
    jobs: "{{ requeued.results | rejectattr('requeue_bit_left', 'eq', 'no') | map(attribute='job_id') | list }}"
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
      sample: the requeue bit was cleared
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
      sample: {state: RUNNING, requeue: "yes"}
    after:
      description: The job afterwards, or as predicted in check mode. Null when it was not read.
      type: dict
      returned: always
      sample: {state: RUNNING, requeue: "no"}
    calls:
      description: The calls that were made, with the exit status of each.
      type: list
      elements: dict
      returned: always
      sample: [{call: clear_bit, status: 0}]
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
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import Restore
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.task import run_write


def main() -> None:
    options = {**write_options(), "force": {"type": "bool", "default": False}}
    with readable_options():
        module = AnsibleModule(argument_spec=options, **WRITE_RULES)
    run_write(module, lambda params: Restore(params["force"]), permit)


if __name__ == "__main__":
    main()

#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: job_info
short_description: Read what slurmctld says about many Slurm jobs
version_added: 0.1.0
author:
  - HPC Operations (@hpcops)
description:
  - Reads many jobs with one squeue call, and returns typed records. Ids that slurmctld does not show are listed in RV(missing).
  - A job that is missing has not ended, let alone ended well, as far as this tells. slurmctld forgets jobs after C(MinJobAge), and with
    C(PrivateData=jobs) it hides other users' living jobs.
  - Without O(jobs) and O(select) the whole queue is read.
options:
  fields:
    description:
      - Names of the values that a record has beside its C(job_id), as they are in RV(jobs). All if empty.
      - Name the few that you need when you read tens of thousands of jobs. Nearly all of the time of such a task is what Ansible spends on
        each value.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - hpcops.slurm._attributes
  - hpcops.slurm._attributes.actiongroup_slurm
  - hpcops.slurm._attributes.info_module
  - hpcops.slurm._slurm
  - hpcops.slurm._jobs
seealso:
  - module: hpcops.slurm.job_hold
  - module: hpcops.slurm.job_release
"""

EXAMPLES = r"""
- name: Read three jobs
  hpcops.slurm.job_info:
    jobs: ["41007", "41008_3", "41009"]
  register: read

- name: See that all of them are known and wait under hold 7
  ansible.builtin.assert:
    that:
      - read.missing | length == 0
      - read.jobs | rejectattr('hold_instance', 'eq', 7) | length == 0

- name: Read what runs on the nodes of this rollout
  hpcops.slurm.job_info:
    select:
      nodes: n[1-4]
      states: [RUNNING]

- name: Read the whole queue, and of each job no more than this
  hpcops.slurm.job_info:
    fields: [state, user, hold_instance]
"""

RETURN = r"""
jobs:
  description:
    - A record for each job, array task and component. Times are epoch seconds or null, limits are seconds, null or V(infinite), and a
      value that could not be read is V(unknown).
  returned: success
  type: list
  elements: dict
  contains:
    job_id:
      description: The id that addresses just this record.
      type: str
      returned: always
      sample: "41008_3"
    state:
      description: The base state in Slurm's word, V(unknown) when the text does not name one for certain.
      type: str
      returned: always
      sample: PENDING
    raw_state:
      description: The state as squeue printed it.
      type: str
      returned: always
      sample: PENDING
    coarse_state:
      description: V(pending), V(running), V(suspended), V(ended) or V(unknown).
      type: str
      returned: always
      sample: pending
    hold_instance:
      description: The number of the hold in place, null for none.
      type: int
      returned: always
      sample: 7
    gate:
      description: Whether the job waits under Slurm's own hold, as V(yes), V(no) or V(unknown).
      type: str
      returned: always
      sample: "no"
    requeue:
      description: The requeue bit, as V(yes), V(no) or V(unknown).
      type: str
      returned: always
      sample: "no"
    restarts:
      description: How often the job was requeued, which is the number of its execution.
      type: int
      returned: always
      sample: 0
    eligible_time:
      description: When the job may start at the earliest.
      type: int
      returned: always
      sample: 4102444807
    comment:
      description: The job's comment, null for none.
      type: str
      returned: always
      sample: night run
missing:
  description: Ids that were asked for and that slurmctld does not show.
  returned: success
  type: list
  elements: str
  sample: ["41009"]
doubtful:
  description: Ids that were not shown in an answer with complaints, so that nothing is known about them.
  returned: success
  type: list
  elements: str
  sample: []
failure_class:
  description: The kind of failure, for example V(controller_unreachable) or V(id_malformed).
  returned: failure
  type: str
  sample: controller_unreachable
retry:
  description: Whether the same read may be tried again.
  returned: failure
  type: str
  sample: "yes"
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Commands
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.options import slurm_options
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import SlurmError
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.info import job_info
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.options import (
    job_options,
    selection_from,
)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **slurm_options(),
            **job_options(),
            "fields": {"type": "list", "elements": "str", "default": []},
        },
        mutually_exclusive=[("jobs", "select")],
        supports_check_mode=True,
    )
    params = module.params
    commands = Commands(params["command_timeout"], params["slurm_conf"])
    try:
        selection = selection_from(params["select"])
        read = job_info(commands.run, params["jobs"], selection, params["fields"])
    except ValueError as error:
        module.fail_json(msg=str(error))
    except SlurmError as error:
        module.fail_json(**error.as_result())
    for text in read.pop("warnings"):
        module.warn(text)
    module.exit_json(changed=False, **read)


if __name__ == "__main__":
    main()

#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: job_ceased_info
short_description: Ask whether executions on lost nodes have really ended
version_added: 0.1.0
author:
  - HPC Operations (@hpcops)
description:
  - Slurm ends a job when its node is silent, while the job's processes may go on there. This runs a command of the site's own for each
    execution whose node was lost, which knows better. For example, one that asks the node's power controller.
  - The command's exit status is the answer. 0 means that the execution has ended, 1 that it has not. Any other status, a signal, the time
    limit and a command that can't be started mean that nothing is known. The answer is never V(yes) by default.
  - For jobs whose node was not lost, and for those that were not found, the command is not run, and nothing is known either.
  - Jobs that slurmctld has forgotten are read from accounting, as by M(hpcops.slurm.job_info).
options:
  jobs:
    description: Ids of jobs. A job's number, C(N_T) for an array task, C(N_[T-U]) for several, or C(N+C) for a component of a heterogeneous job.
    type: list
    elements: str
    required: true
  cessation_command:
    description:
      - The command, as a list of words. The first is the program's path, or its name on the task's E(PATH).
      - C({job_id}), C({node_list}) and C({execution}) stand for the job's id, its nodes as a Slurm host list, and the number of the execution
        (0 first). One of the first two has to be there.
      - The words are handed over as they are. No shell reads them. A command with the same words is run once.
      - It must not change anything, since it is run in check mode too.
    type: list
    elements: str
    required: true
  cessation_timeout:
    description: Seconds that one run of the command may take, from 0.1 to 86400. Then it is ended, and nothing is known.
    type: float
    default: 30
extends_documentation_fragment:
  - hpcops.slurm._attributes
  - hpcops.slurm._attributes.actiongroup_slurm
  - hpcops.slurm._attributes.info_module
  - hpcops.slurm._slurm
  - hpcops.slurm._answers
seealso:
  - module: hpcops.slurm.job_info
  - module: hpcops.slurm.preflight
"""

EXAMPLES = r"""
- name: Ask the power controllers whether the nodes of these jobs are off
  hpcops.slurm.job_ceased_info:
    jobs: ["41007", "41008_3"]
    cessation_command: [/usr/local/sbin/nodes-are-off, --nodes, "{node_list}"]
  register: asked

- name: Say which executions still may run
  ansible.builtin.debug:
    msg: "{{ item.job_id }} execution {{ item.execution }} on {{ item.node_list }}: {{ item.ceased }}, {{ item.reason }}"
  loop: "{{ asked.executions | rejectattr('ceased', 'eq', 'yes') }}"
  loop_control:
    label: "{{ item.job_id }}"
"""

RETURN = r"""
executions:
  description:
    - An entry for each execution whose node was lost, oldest first within a job, and one for any other job that was asked for.
  returned: success
  type: list
  elements: dict
  contains:
    job_id:
      description: The id that addresses the job, or the id that was asked for when it was not found.
      type: str
      returned: always
      sample: "41007"
    execution:
      description: The number of the execution, null where it is not known.
      type: int
      returned: always
      sample: 0
    node_list:
      description: The nodes of the execution, null where they are not known.
      type: str
      returned: always
      sample: n[3-4]
    lost:
      description: Whether a node of the execution was lost, as V(yes), V(no) or V(unknown).
      type: str
      returned: always
      sample: "yes"
    ceased:
      description: Whether the execution has ended, as V(yes), V(no) or V(unknown). Always V(unknown) when the command was not run.
      type: str
      returned: always
      sample: "yes"
    reason:
      description: What the answer rests on.
      type: str
      returned: always
      sample: the command exited with 0
    cmd:
      description: The command that was run, null when none was.
      type: str
      returned: always
      sample: /usr/local/sbin/nodes-are-off --nodes 'n[3-4]'
    rc:
      description: Its exit status, null when it was not run, or was ended by the time limit.
      type: int
      returned: always
      sample: 0
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

from typing import Any, Dict, Mapping

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Commands
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.options import (
    LONGEST,
    TIMEOUT_RANGE,
    refused_options,
    slurm_options,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ceased import (
    NAMES,
    Ceased,
    Question,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.info import job_info
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.options import answer_options
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.task import run_read
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.access import read_access


def options() -> Dict[str, Dict[str, Any]]:
    return {
        **slurm_options(),
        **answer_options(),
        "jobs": {"type": "list", "elements": "str", "required": True},
        "cessation_command": {"type": "list", "elements": "str", "required": True},
        "cessation_timeout": {"type": "float", "default": 30},
    }


def result_of(params: Mapping[str, Any]) -> Dict[str, Any]:
    seconds = {"probe_max_age": (0, LONGEST), "cessation_timeout": TIMEOUT_RANGE}
    refused = refused_options(params, ("cache_path",), seconds)
    if refused:
        raise ValueError(refused)
    question = Question(tuple(params["cessation_command"]), params["cessation_timeout"])
    run = Commands(params["command_timeout"], params["slurm_conf"]).run
    info = job_info(run, params["jobs"], None, NAMES, lambda: read_access(run, params))
    executions = Ceased(run, question).results(info)
    return {"executions": executions, "warnings": list(info.warnings)}


def main() -> None:
    run_read(result_of, argument_spec=options())


if __name__ == "__main__":
    main()

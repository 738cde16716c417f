#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: job_submit
short_description: Submit a Slurm job once, and know it again
version_added: 0.1.0
author:
  - HPC Operations (@hpcops)
description:
  - Submits a batch job that carries O(submission) and O(attempt) in its comment. A job of this user that carries them already, in the queue
    or in accounting, is V(unchanged), whatever the other options say. So is a submission that the journal on this host has a record of.
  - Jobs are submitted with C(--no-requeue). Slurm does not restart one on its own.
  - Standard output and standard error of each execution have files of their own in O(output_dir), C(<job id>.<execution>.out) and
    C(<job id>.<execution>.err), also after a requeue. What Slurm itself says about the job, as C(CANCELLED AT) and why, is in
    C(<job id>.slurm). All of them are appended to, and stay. M(hpcops.slurm.job_output_info) reads them.
  - The job gets E(HOME), E(USER), E(LOGNAME), E(SHELL) and E(PATH) of this task's user, Slurm's own variables, O(environment),
    E(DISPATCH_SUBMISSION), E(DISPATCH_ATTEMPT), E(DISPATCH_JOB_ID) and E(DISPATCH_EXECUTION). For what a login sets up, begin O(script) with
    C(#!/bin/bash -l).
options:
  submission:
    description:
      - The caller's own name for this job, any text. Percent-encoded it has to fit into a comment, about 980 bytes.
    type: str
    required: true
  attempt:
    description: The number of the attempt to get it done. Each attempt is a job of its own.
    type: int
    default: 1
  script:
    description:
      - The script to run. Its first line names the interpreter, C(/bin/sh) without one.
      - Lines that begin with C(#SBATCH) are refused, since nobody would read them.
    type: str
  command:
    description: The command to run, one word an element. No shell reads it.
    type: list
    elements: str
  output_dir:
    description:
      - Absolute path of the directory for the output. It has to exist on this host and on the nodes, and this user has to be able to write
        there. Nothing is submitted where it is missing or closed, or where its disk is full.
    type: str
    required: true
  name:
    description: The job's name, at most 200 bytes. By default O(submission), percent-encoded, and O(attempt).
    type: str
  partition:
    description: The partition, the cluster's default without one.
    type: str
  account:
    description: The account, the user's default without one.
    type: str
  qos:
    description: The QOS, the user's default without one.
    type: str
  time_limit:
    description: Seconds that the job may run. Slurm rounds them up to minutes.
    type: int
  nodes:
    description: How many nodes.
    type: int
  ntasks:
    description: How many tasks.
    type: int
  ntasks_per_node:
    description: How many tasks on each node.
    type: int
  chdir:
    description: Absolute path of the job's working directory, the user's home without one.
    type: str
  environment:
    description:
      - Variables that the job gets, beside those above. Slurm keeps them with the job's batch script.
      - Ansible logs the options of a task on the managed host, unless the task says C(no_log=true).
    type: dict
    default: {}
  gate:
    description: Whether the job is submitted on hold. M(hpcops.slurm.job_open) lets it start.
    type: bool
    default: false
  trust_journal:
    description:
      - Whether the journal's word is enough where accounting can't tell whether the job was submitted before and is forgotten. Say V(true) if
        everything is submitted from this host by this user.
      - Where accounting works and keeps no comments, jobs with the same O(name) are what is looked for, and this option is not needed.
    type: bool
    default: false
  array:
    description: Not supported. It is an option to say so.
    type: str
  container_image:
    description: Not supported. It is an option to say so.
    type: str
extends_documentation_fragment:
  - hpcops.slurm._attributes
  - hpcops.slurm._attributes.actiongroup_slurm
  - hpcops.slurm._slurm
  - hpcops.slurm._slurm.rounds
  - hpcops.slurm._answers
  - hpcops.slurm._write
notes:
  - A job is known again for 30 days after it ended, or after it was submitted from this host.
  - This does not need a known landing bound. Without one, a submission that is V(unknown) stays so until a job shows that carries it, and
    nothing is sent for it meanwhile. Give a new O(attempt) to submit another one.
  - Two hosts that submit the same attempt in the same second can both do so. The next run finds both jobs, names them, and fails.
seealso:
  - module: hpcops.slurm.job_output_info
  - module: hpcops.slurm.job_open
  - module: hpcops.slurm.job_info
"""

EXAMPLES = r"""
- name: Submit a job on hold, once
  hpcops.slurm.job_submit:
    submission: rollout-17/check-n3
    command: [/usr/bin/stress-ng, --cpu, "8", --timeout, "60"]
    output_dir: /home/operator/output
    partition: main
    time_limit: 600
    gate: true
  register: submitted

- name: Let it start
  hpcops.slurm.job_open:
    jobs: ["{{ submitted.job_id }}"]

- name: Submit a script with a variable of its own, and start no call later than at six
  hpcops.slurm.job_submit:
    submission: nightly
    attempt: 2
    script: |
      #!/bin/bash -l
      srun ./check "$DATASET"
    environment:
      DATASET: /data/in
    output_dir: /home/operator/output
    ntasks: 4
    deadline: "2026-12-01T06:00:00+01:00"
"""

RETURN = r"""
job_id:
  description: The job, null when there is none, or none that is known.
  returned: always, but for errors in the options
  type: str
  sample: "41007"
output_dir:
  description: The directory of its output, as it was given.
  returned: always, but for errors in the options
  type: str
  sample: /home/operator/output
results:
  description: One entry, for the submission.
  returned: always, but for errors in the options
  type: list
  elements: dict
  contains:
    job_id:
      description: The job, null when there is none, or none that is known.
      type: str
      returned: always
      sample: "41007"
    submission:
      description: As it was given.
      type: str
      returned: always
      sample: nightly
    attempt:
      description: As it was given.
      type: int
      returned: always
      sample: 2
    outcome:
      description: What is known about the submission, see the notes.
      type: str
      returned: always
      sample: applied
    changed:
      description: Whether this task submitted it.
      type: bool
      returned: always
      sample: true
    known_from:
      description: Who says that it is a job, V(sbatch), V(queue), V(accounting) or V(journal). Null when nobody does.
      type: str
      returned: always
      sample: sbatch
    job_ids:
      description: All jobs that carry this submission and attempt, when there are several.
      type: list
      elements: str
      returned: always
      sample: []
    reason:
      description: Why the outcome is what it is.
      type: str
      returned: always
      sample: submitted as job 41007
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
      description: The job as it was found, null when it was not.
      type: dict
      returned: always
      sample: null
    after:
      description: The job as it was found, null when it was not.
      type: dict
      returned: always
      sample: null
    calls:
      description: The calls that were made, with the exit status of each.
      type: list
      elements: dict
      returned: always
      sample: [{call: submit, status: 0}]
    settled:
      description: Whether the outcome is final.
      type: bool
      returned: always
      sample: true
    may_land_until:
      description: Epoch seconds on the Ansible controller's clock until which a submission that is V(unknown) may still land.
      type: int
      returned: always
      sample: null
summary:
  description: How many submissions came to each outcome.
  returned: always, but for errors in the options
  type: dict
  sample: {applied: 1}
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.options import readable_options
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.permission import permit
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.options import deadline_options
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.submit_task import run_submit


def main() -> None:
    with readable_options():
        module = AnsibleModule(
            argument_spec={
                **deadline_options(),
                "submission": {"type": "str", "required": True},
                "attempt": {"type": "int", "default": 1},
                "script": {"type": "str"},
                "command": {"type": "list", "elements": "str"},
                "output_dir": {"type": "str", "required": True},
                "name": {"type": "str"},
                "partition": {"type": "str"},
                "account": {"type": "str"},
                "qos": {"type": "str"},
                "time_limit": {"type": "int"},
                "nodes": {"type": "int"},
                "ntasks": {"type": "int"},
                "ntasks_per_node": {"type": "int"},
                "chdir": {"type": "str"},
                "environment": {"type": "dict", "default": {}},
                "gate": {"type": "bool", "default": False},
                "trust_journal": {"type": "bool", "default": False},
                "array": {"type": "str"},
                "container_image": {"type": "str"},
            },
            mutually_exclusive=[("script", "command")],
            supports_check_mode=True,
        )
    run_submit(module, permit)


if __name__ == "__main__":
    main()

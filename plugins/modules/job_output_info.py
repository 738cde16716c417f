#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: job_output_info
short_description: Read what a Slurm job has written, execution by execution
version_added: 0.1.0
author:
  - HPC Operations (@hpcops)
description:
  - Reads the output of a job that M(hpcops.slurm.job_submit) has submitted. Each execution of a requeued job has files of its own, which
    are read in turn, oldest first.
  - A file that is missing is told apart from one that is empty, and from one that can't be read. Files are never removed.
  - With O(follow) it goes on, every two seconds, until the job has ended and everything is read, or a limit is reached.
options:
  job_id:
    description: The job. O(output_dir) is needed with it.
    type: str
  submission:
    description: What M(hpcops.slurm.job_submit) was given as O(submission), by this user.
    type: str
  attempt:
    description: What it was given as O(attempt).
    type: int
    default: 1
  output_dir:
    description:
      - The directory of the output. It is not needed with O(submission) where the journal on this host has a record of it.
    type: str
  streams:
    description:
      - What is read, in this order. V(slurm) is what Slurm itself has said about the job, in one file for all executions.
    type: list
    elements: str
    choices: [stdout, stderr, slurm]
    default: [stdout, stderr]
  offsets:
    description:
      - Where to begin, for each stream. Give RV(next) of an earlier call to go on from there.
    type: dict
    suboptions:
      stdout:
        description: How far standard output was read.
        type: dict
        suboptions: &position
          execution:
            description: The execution whose file is read first.
            type: int
            default: 0
          offset:
            description: Bytes of that file to leave out.
            type: int
            default: 0
      stderr:
        description: How far standard error was read.
        type: dict
        suboptions: *position
      slurm:
        description: How far Slurm's own file was read.
        type: dict
        suboptions: *position
  max_bytes:
    description:
      - How much is returned at most. RV(next) then says where to go on, and RV(complete) is V(false).
    type: int
    default: 1048576
  follow:
    description: Whether to wait for more, until the job has ended.
    type: bool
    default: false
  follow_limit:
    description: Seconds after which O(follow) ends.
    type: float
    default: 3600
  state_dir:
    description: Directory of the journal, as for M(hpcops.slurm.job_submit).
    type: path
extends_documentation_fragment:
  - hpcops.slurm._attributes
  - hpcops.slurm._attributes.actiongroup_slurm
  - hpcops.slurm._attributes.info_module
  - hpcops.slurm._slurm
attributes:
  action:
    support: full
  async:
    support: none
    details:
      - The action plugin looks again and again while it follows, and shows how far it is.
seealso:
  - module: hpcops.slurm.job_submit
"""

EXAMPLES = r"""
- name: Follow a submission until it has ended
  hpcops.slurm.job_output_info:
    submission: nightly
    attempt: 2
    follow: true
    follow_limit: 900
  register: output

- name: Show standard output of all executions
  ansible.builtin.debug:
    msg: "{{ output.parts | selectattr('stream', 'eq', 'stdout') | map(attribute='text') | join }}"

- name: Read what has been written since
  hpcops.slurm.job_output_info:
    job_id: "41007"
    output_dir: /home/operator/output
    offsets: "{{ output.next }}"
"""

RETURN = r"""
job_id:
  description: The job.
  returned: success
  type: str
  sample: "41007"
output_dir:
  description: Where its output lies.
  returned: success
  type: str
  sample: /home/operator/output
parts:
  description: One entry for each file that was looked at, in order.
  returned: success
  type: list
  elements: dict
  contains:
    stream:
      description: V(stdout), V(stderr) or V(slurm).
      type: str
      returned: always
      sample: stdout
    execution:
      description: The execution, null for V(slurm).
      type: int
      returned: always
      sample: 0
    path:
      description: The file.
      type: str
      returned: always
      sample: /home/operator/output/41007.0.out
    state:
      description:
        - V(read), there were bytes behind the offset. V(empty), the file is there and there were none. V(unread), the limit had been
          reached. V(missing), there is no file. V(unreadable), see the reason.
      type: str
      returned: always
      sample: read
    reason:
      description: Why it could not be read.
      type: str
      returned: always
      sample: ""
    offset:
      description: Where in the file it begins.
      type: int
      returned: always
      sample: 0
    size:
      description: Bytes that the file had, null if that is not known.
      type: int
      returned: always
      sample: 6
    base64:
      description: The bytes, as they are.
      type: str
      returned: always
      sample: aGVsbG8K
    text:
      description: The text, null for bytes that are not UTF-8.
      type: str
      returned: always
      sample: "hello\n"
next:
  description: Where to go on, for O(offsets).
  returned: success
  type: dict
  sample: {stdout: {execution: 0, offset: 6}, stderr: {execution: 0, offset: 0}}
complete:
  description: Whether everything that was there was read, as far as it could be.
  returned: success
  type: bool
  sample: true
ended:
  description: Whether the job has ended, as V(yes), V(no) or V(unknown). It says nothing about how.
  returned: success
  type: str
  sample: "yes"
shown:
  description: Whether slurmctld shows the job, as V(yes), V(no) or V(unknown).
  returned: success
  type: str
  sample: "yes"
state:
  description: The job's state in Slurm's word, V(unknown) when nobody tells.
  returned: success
  type: str
  sample: COMPLETED
reason:
  description: Why RV(ended) is V(unknown).
  returned: success
  type: str
  sample: ""
stopped:
  description:
    - Why O(follow) came to its end. V(ended), the job has ended and everything is read. V(limit), O(follow_limit) is reached. V(max_bytes),
      O(max_bytes) is reached. V(unknown), slurmctld does not show the job any more, and nobody tells whether it has ended.
  returned: with O(follow)
  type: str
  sample: ended
"""

import os
import pwd
from typing import Any, Dict

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Commands
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.options import (
    readable_options,
    refused_options,
    slurm_options,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import SlurmError
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import Journal
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.output_task import (
    read,
    unreadable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.task import state_dir


def arguments() -> Dict[str, Any]:
    numbers = {"type": "int", "default": 0}
    position = {"type": "dict", "options": {"execution": numbers, "offset": numbers}}
    streams = ["stdout", "stderr", "slurm"]
    return {
        **slurm_options(),
        "job_id": {"type": "str"},
        "submission": {"type": "str"},
        "attempt": {"type": "int", "default": 1},
        "output_dir": {"type": "str"},
        "streams": {
            "type": "list",
            "elements": "str",
            "choices": streams,
            "default": ["stdout", "stderr"],
        },
        "offsets": {"type": "dict", "options": dict.fromkeys(streams, position)},
        "max_bytes": {"type": "int", "default": 1048576},
        "follow": {"type": "bool", "default": False},
        "follow_limit": {"type": "float", "default": 3600},
        "state_dir": {"type": "path"},
    }


def main() -> None:
    with readable_options():
        module = AnsibleModule(
            argument_spec=arguments(),
            mutually_exclusive=[("job_id", "submission")],
            required_one_of=[("job_id", "submission")],
            supports_check_mode=True,
        )
    params = module.params
    refused = refused_options(params, ("output_dir", "state_dir"))
    if refused:
        module.fail_json(msg=refused)
    commands = Commands(params["command_timeout"], params["slurm_conf"])
    journal = Journal(state_dir(params), read_only=True)
    try:
        found = read(commands.run, params, journal, pwd.getpwuid(os.geteuid()).pw_name)
    except ValueError as error:
        module.fail_json(msg=str(error))
    except SlurmError as error:
        module.fail_json(**error.as_result())
    for text in journal.warnings:
        module.warn(text)
    trouble = unreadable(found["parts"])
    if trouble:
        module.fail_json(msg="Could not read %s" % trouble, **found)
    module.exit_json(changed=False, **found)


if __name__ == "__main__":
    main()

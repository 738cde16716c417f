#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: job_info
short_description: Read many Slurm jobs, those that slurmctld has forgotten too
version_added: 0.1.0
author:
  - HPC Operations (@hpcops)
description:
  - Reads many jobs with one squeue call, and returns typed records.
  - Jobs that are named and that slurmctld does not show any more are read from accounting with one sacct call, where the preflight has seen
    that accounting keeps them (its capability C(AccountingHistory) is V(yes)). The others are listed in RV(missing), with the reason in
    RV(reasons).
  - A job that is missing has not ended, let alone ended well, as far as this tells. slurmctld forgets jobs after C(MinJobAge), and with
    C(PrivateData=jobs) it hides other users' living jobs.
  - Without O(jobs) and O(select) the whole queue is read.
options:
  fields:
    description:
      - Names of the values that a record has beside its C(job_id), as they are in RV(jobs). All if empty.
      - Name the few that you need when you read tens of thousands of jobs. squeue is then asked for less, and nearly all of the time of such a
        task is what Ansible itself spends on each value of a result.
    type: list
    elements: str
    default: []
  _packed:
    description: What the action plugin tells the module about the form of its result. Not for use in a task.
    type: bool
    default: false
extends_documentation_fragment:
  - hpcops.slurm._attributes
  - hpcops.slurm._attributes.actiongroup_slurm
  - hpcops.slurm._attributes.info_module
  - hpcops.slurm._slurm
  - hpcops.slurm._jobs
  - hpcops.slurm._answers
attributes:
  action:
    support: partial
    details:
      - The action plugin unpacks the records, which travel as one short text.
notes:
  - Accounting lags behind slurmctld, and knows less. A record from there has no C(requeue), C(priority), C(nice) and C(batch), and no
    C(restarts) before Slurm 23.02. Its exit status is as sacct prints it, which takes 128 off a status of 128 and more, and is 0 for a job
    that was cancelled.
seealso:
  - module: hpcops.slurm.job_ceased_info
  - module: hpcops.slurm.job_hold
  - module: hpcops.slurm.job_release
  - module: hpcops.slurm.preflight
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

- name: Say how jobs ended, also when slurmctld has forgotten them
  ansible.builtin.debug:
    msg: "{{ item.job_id }}: {{ item.cause }} {{ item.exit_code }} {{ item.cancelled_by }}"
  loop: "{{ read.jobs | selectattr('coarse_state', 'eq', 'ended') }}"
  loop_control:
    label: "{{ item.job_id }}"

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
      description:
        - V(pending), V(running), V(suspended), V(ended) or V(unknown).
        - A job whose node was lost is V(running) until C(node_loss_window) of M(hpcops.slurm.preflight) has passed since Slurm ended it,
          since its processes may go on. M(hpcops.slurm.job_ceased_info) can know better.
        - V(unknown) for a job that accounting has as living and that slurmctld does not show.
      type: str
      returned: always
      sample: pending
    cause:
      description:
        - Why the execution ended. V(completed), V(failed) (a script that ended badly, see C(exit_code)), V(cancelled), V(timeout),
          V(out_of_memory), V(preempted), V(node_lost), V(boot_failure), V(deadline), V(no_capacity) (an allocation that could not be had at once,
          or no longer), V(revoked), V(requeued), or V(unknown) where the state is not known, which C(raw_state) then has.
        - Null while it has not ended.
      type: str
      returned: always
      sample: failed
    exit_code:
      description: The script's exit status, or the signal that ended it. It means something where C(cause) is V(completed) or V(failed).
      type: dict
      returned: always
      sample: {status: 3, signal: 0}
    cancelled_by:
      description: Who cancelled the job, null where that is not known. Only accounting knows it.
      type: str
      returned: always
      sample: user1
    source:
      description: V(slurmctld) or V(accounting).
      type: str
      returned: always
      sample: slurmctld
    earlier_executions:
      description:
        - The executions before this one, oldest first, with the values C(restarts), C(state), C(raw_state), C(coarse_state), C(cause), C(exit_code),
          C(cancelled_by), C(cancelled_by_uid), C(submit_time), C(start_time), C(end_time) and C(node_list).
        - Null where there are some that were not read, or are not in accounting yet. They are read for jobs that are named.
      type: list
      elements: dict
      returned: always
      sample: []
    submission:
      description: The submission that the job belongs to, from a comment as M(hpcops.slurm.job_submit) writes it, otherwise null.
      type: str
      returned: always
      sample: nightly-7
    attempt:
      description: The number of the attempt at that submission, otherwise null.
      type: int
      returned: always
      sample: 1
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
  description: Ids that were asked for and that were not found.
  returned: success
  type: list
  elements: str
  sample: ["41009"]
doubtful:
  description: Ids of which nothing is known, since squeue complained, or since accounting did not answer.
  returned: success
  type: list
  elements: str
  sample: []
reasons:
  description: Why an id is in RV(missing) or RV(doubtful), by the id.
  returned: success
  type: dict
  sample: {"41009": "neither slurmctld nor accounting shows it to this user"}
packed:
  description: The records in the form that the action plugin reads.
  returned: not in a task's result
  type: dict
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
    refused_options,
    slurm_options,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.info import job_info
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.options import (
    answer_options,
    job_options,
    selection_from,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.packing import packed
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.task import run_read
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.access import read_access


def options() -> Dict[str, Dict[str, Any]]:
    return {
        **slurm_options(),
        **job_options(),
        **answer_options(),
        "fields": {"type": "list", "elements": "str", "default": []},
        "_packed": {"type": "bool", "default": False},
    }


def result_of(params: Mapping[str, Any]) -> Dict[str, Any]:
    refused = refused_options(params, ("cache_path",), {"probe_max_age": (0, LONGEST)})
    if refused:
        raise ValueError(refused)
    run = Commands(params["command_timeout"], params["slurm_conf"]).run
    selection = selection_from(params["select"])
    info = job_info(
        run, params["jobs"], selection, params["fields"], lambda: read_access(run, params)
    )
    if params["_packed"]:
        result: Dict[str, Any] = {"packed": packed(info.names, info.rows)}
    else:
        result = {"jobs": [dict(zip(info.names, row)) for row in info.rows]}
    found = {"missing": info.missing, "doubtful": info.doubtful, "reasons": info.reasons}
    return {**result, **found, "warnings": list(info.warnings)}


def main() -> None:
    run_read(result_of, argument_spec=options(), mutually_exclusive=[("jobs", "select")])


if __name__ == "__main__":
    main()

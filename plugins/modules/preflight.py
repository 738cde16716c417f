#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight
short_description: Find out what a Slurm cluster can do, with evidence
version_added: 0.1.0
author:
  - HPC Operations (@hpcops)
description:
  - Reads the live configuration of a cluster and runs a probe, and returns as facts what can be done there. For example, whether a hold
    can be placed and trusted, whether a job's end can be read after slurmctld has forgotten the job, and how late a command can
    still take effect.
  - Run it on a host with Slurm's client commands, as the user whose rights count.
  - The probe submits one tiny job that is held and never runs, places a hold on it, opens its gate, tries a release that has to be
    refused, cancels it, and looks for it in accounting. The job is removed however the module ends. A job that a killed
    run left behind is removed by the next probe.
  - The probe's answers are kept in a cache on the host, which is also an Ansible local fact for root. The settings are read
    afresh by every run.
  - An answer is V(yes) or V(no) only when it was seen. Everything else is V(unknown), with the reason.
  - Fails when the running controller gives no configuration. The result has the facts even then, all V(unknown).
options:
  probe:
    description:
      - V(auto) takes valid cached answers, and probes when there are none.
      - V(always) probes.
      - V(never) submits no job. Without valid cached answers the capabilities C(Hold) and C(AccountingHistory) are V(unknown).
    type: str
    choices: [auto, always, never]
    default: auto
  probe_max_age:
    description: Seconds for which the probe's answers are valid.
    type: int
    default: 86400
  cache_path:
    description:
      - File that keeps the probe's answers.
      - By default C(/etc/ansible/facts.d/slurm_preflight.fact) for root, and C(hpcops.slurm/preflight.json) in the state directory of any
        other user (E(XDG_STATE_HOME), or C(~/.local/state)).
      - A file that belongs to neither this user nor root, or that others may write, is neither read nor replaced.
    type: path
  partition:
    description: Partition that the probe's job is submitted to. By default the cluster's default partition.
    type: str
  account:
    description: Account that the probe's job is submitted under. By default the user's default account.
    type: str
  qos:
    description: QOS that the probe's job is submitted with. By default that of the account.
    type: str
  poll_interval:
    description: Seconds between two looks of the supervisor that drives jobs here. The check RV(ignore:min_job_age) fails when MinJobAge is shorter.
    type: int
  clock_skew_max:
    description: Seconds by which the clocks of the Ansible controller and of slurmctld may differ.
    type: float
    default: 5
  cessation_command:
    description:
      - The command that tells whether an execution on a lost node has really ended, as a list of words.
      - It is not run here, but by M(hpcops.slurm.job_ceased_info). The interface C(CessationSignal) is offered when it is set.
    type: list
    elements: str
    default: []
  rules:
    description: The recovery actions to answer for. An action that is not known gets the answer V(unknown).
    type: list
    elements: str
    default: [Resubmit, Escalate, Restart, Requeue, Hold]
extends_documentation_fragment:
  - hpcops.slurm._attributes
  - hpcops.slurm._attributes.actiongroup_slurm
  - hpcops.slurm._slurm
  - hpcops.slurm._slurm.rounds
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
      - Reads only, as with O(probe=never), and reports changed when a probe would have been run.
  diff_mode:
    support: none
    details:
      - What it changes is its own cache.
  idempotent:
    support: partial
    details:
      - With O(probe=auto), while the cached answers are valid.
  platform:
    platforms: posix
seealso:
  - module: hpcops.slurm.config_info
"""

EXAMPLES = r"""
- name: Find out what this cluster can do
  hpcops.slurm.preflight:

- name: Go on only where holds can be trusted
  ansible.builtin.assert:
    that:
      - hold.support == 'yes'
    fail_msg: "Holds on {{ ansible_facts['slurm_preflight'].cluster.name }}: {{ hold.support }}, {{ hold.reason }}"
  vars:
    hold: "{{ ansible_facts['slurm_preflight'].capabilities | selectattr('name', 'eq', 'Hold') | first }}"

- name: Probe now, as the user that will drive the jobs
  hpcops.slurm.preflight:
    probe: always
    poll_interval: 30
  become: true
  become_user: operator
"""

RETURN = r"""
ansible_facts:
  description: Facts to add to ansible_facts.
  returned: always, but for errors in the options
  type: dict
  contains:
    slurm_preflight:
      description:
        - What the cluster can do. Support is always one of the strings V(yes), V(no) and V(unknown).
      returned: always
      type: dict
      contains:
        format:
          description: Version of this structure.
          type: int
          returned: always
          sample: 1
        cluster:
          description: Name, version, authentication, and controllers. C(usable) says whether a controller answers, C(degraded) whether one of them is down.
          type: dict
          returned: always
          sample: {name: alpha, version: 24.11.5, auth_type: auth/munge, auth_alternates: [], usable: "yes", degraded: "no",
                   controllers: [{role: primary, host: ctl1, up: "yes"}]}
        settings:
          description:
            - The live settings that the answers rest on, by Slurm's own names, typed as in M(hpcops.slurm.config_info).
            - V(unknown) where there was no such line.
          type: dict
          returned: always
          sample: {AuthType: auth/munge, AuthInfo: null, MinJobAge: 300, AccountingStoreFlags: [job_comment]}
        declarations:
          description:
            - C(node_loss_window), the seconds after which an execution on a silent node counts as ended.
            - C(call_bound), the seconds after its deadline within which a write may still take effect; 0 when no such bound is known.
            - C(polled_loss), the seconds for which a finished job's state, cause and exit code stay in squeue, and whether an earlier execution can
              be read after it was replaced (V(unbounded)) or not (0).
            - C(shortest_bounded_window), the seconds within which a supervisor has to look again.
          type: dict
          returned: always
          sample: {node_loss_window: 660, call_bound: 317, polled_loss: {state: 300, cause: 300, exit_code: 300, execution: unbounded},
                   shortest_bounded_window: 300}
        capabilities:
          description: The fourteen capabilities, in a fixed order. C(source) says whether the answer is declared or was probed.
          type: list
          elements: dict
          returned: always
          sample: [{name: Hold, support: "yes", source: probed, reason: ""}]
        rules:
          description: Whether each recovery action of O(rules) can be carried out here, and the modules of this collection that carry it.
          type: list
          elements: dict
          returned: always
          sample: [{action: Resubmit, support: "yes", source: declared, reason: "", modules: [job_submit]}]
        interfaces:
          description: The optional interfaces, whether each is offered on this cluster, and the modules of this collection that carry it.
          type: list
          elements: dict
          returned: always
          sample: [{name: Holder, offered: "yes", modules: [job_hold, job_release]}]
        checks:
          description: What was looked at, each with a verdict (V(pass), V(warn), V(fail), V(unknown)), the evidence, and a remedy.
          type: list
          elements: dict
          returned: always
          sample: [{name: auth_type, verdict: pass, evidence: AuthType = auth/munge, remedy: ""}]
        probe:
          description:
            - The probe that the answers rest on, with the job, the user and host it ran as and on, when it ran (epoch seconds), its age in
              seconds, and whether the answers came from the cache.
            - C(skew) is the Ansible controller's clock minus slurmctld's in seconds, rounded up, as it enters C(call_bound).
            - C(offset) is the most by which the Ansible controller's clock is ahead of the host's, in seconds. Deadlines are moved by it.
            - C(removed_jobs) are jobs that killed runs had left behind.
          type: dict
          returned: always
          sample: {mode: auto, ran_at: 1796035200, valid_until: 1796121600, age: 12, cached: true, job_id: "41", user: root, host: login1,
                   skew: 1, offset: 0.2, removed_jobs: []}
failure_class:
  description: The kind of failure, for example V(controller_unreachable) or V(no_config_source).
  returned: failure
  type: str
  sample: controller_unreachable
retry:
  description: Whether the same may be tried again.
  returned: failure
  type: str
  sample: "yes"
"""

import os
import pwd
import signal
import socket
from typing import Any, Dict, Tuple

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Commands
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.options import (
    LONGEST,
    readable_options,
    refused_options,
    slurm_options,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.cache import default_path
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.capabilities import ACTIONS
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.facts import Terms
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.preflight import (
    Preflight,
    Request,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.rounds import Message
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.started import (
    Interrupted,
    Place,
)


def options() -> Dict[str, Dict[str, Any]]:
    return {
        **slurm_options(),
        "probe": {"type": "str", "choices": ["auto", "always", "never"], "default": "auto"},
        "probe_max_age": {"type": "int", "default": 86400},
        "cache_path": {"type": "path"},
        "partition": {"type": "str"},
        "account": {"type": "str"},
        "qos": {"type": "str"},
        "poll_interval": {"type": "int"},
        "clock_skew_max": {"type": "float", "default": 5},
        "cessation_command": {"type": "list", "elements": "str", "default": []},
        "rules": {"type": "list", "elements": "str", "default": list(ACTIONS)},
        # What the action plugin tells each round; see module_utils/_preflight/rounds.py.
        "_round": {"type": "dict", "default": {}},
    }


def require_usable(module: AnsibleModule) -> None:
    lines = ("cache_path", "partition", "account", "qos")
    seconds = dict.fromkeys(("probe_max_age", "poll_interval", "clock_skew_max"), (0, LONGEST))
    refused = refused_options(module.params, lines, seconds)
    if refused:
        module.fail_json(msg=refused)


def user_and_home() -> Tuple[str, str]:
    try:
        who = pwd.getpwuid(os.geteuid())
    except KeyError:  # an id that no directory knows; Slurm takes the number
        return str(os.geteuid()), os.environ.get("HOME", "~")
    return who.pw_name, who.pw_dir


def request_from(module: AnsibleModule) -> Request:
    params = module.params
    user, home = user_and_home()
    place = Place(
        user=user,
        host=socket.gethostname(),
        partition=params["partition"],
        account=params["account"],
        qos=params["qos"],
    )
    terms = Terms(
        mode=params["probe"],
        max_age=params["probe_max_age"],
        place=place,
        actions=params["rules"],
        ceased=bool(params["cessation_command"]),
    )
    return Request(
        terms=terms,
        cache_path=params["cache_path"]
        or default_path(os.geteuid(), home, os.environ.get("XDG_STATE_HOME")),
        read_only=module.check_mode or params["probe"] == "never",
        poll_interval=params["poll_interval"],
        clock_skew_max=params["clock_skew_max"],
    )


def main() -> None:
    with readable_options():
        module = AnsibleModule(argument_spec=options(), supports_check_mode=True)
    require_usable(module)
    commands = Commands(module.params["command_timeout"], module.params["slurm_conf"])
    message = Message.read(module.params["_round"])
    try:
        ended = Preflight(commands, request_from(module), message).round()
    except Interrupted as stop:
        name = signal.Signals(stop.number).name
        left = "a probe job may be left: %s" % stop.trouble
        what = left if stop.trouble else "the probe's job was removed"
        module.fail_json(msg="Interrupted by %s; %s" % (name, what))
    for text in ended.warnings:
        module.warn(text)
    result: Dict[str, Any] = {"changed": ended.changed, "round": ended.part}
    if ended.facts is not None:
        result["ansible_facts"] = {"slurm_preflight": ended.facts}
    if ended.error is not None:
        module.fail_json(**result, **ended.error.as_result())
    module.exit_json(**result)


if __name__ == "__main__":
    main()

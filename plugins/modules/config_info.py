#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: config_info
short_description: Read the live configuration of a Slurm cluster
version_added: 0.1.0
author:
  - HPC Operations (@hpcops)
description:
  - Reads what the running controller uses, with C(scontrol show config), and returns it typed.
  - The live values count, not those of C(slurm.conf). For example, slurmctld uses 2 seconds where the file says C(MinJobAge=0).
  - Fails when the controller gives no configuration, with the command, its answer, and what to do.
extends_documentation_fragment:
  - hpcops.slurm._attributes
  - hpcops.slurm._attributes.actiongroup_slurm
  - hpcops.slurm._attributes.info_module
  - hpcops.slurm._slurm
seealso:
  - module: hpcops.slurm.preflight
"""

EXAMPLES = r"""
- name: Read the live configuration
  hpcops.slurm.config_info:
  register: slurm_config

- name: See that finished jobs can be read for five minutes
  ansible.builtin.assert:
    that:
      - slurm_config.settings.MinJobAge is number
      - slurm_config.settings.MinJobAge >= 300
    fail_msg: "MinJobAge is {{ slurm_config.raw.MinJobAge }}"
"""

RETURN = r"""
settings:
  description:
    - The main settings by Slurm's own names, typed.
    - Durations are seconds, comma-separated lists are lists, numbers are numbers. Where nothing is set the value is null, no limit is
      V(infinite), and V(unknown) stands where Slurm itself says so or where two lines contradict each other. What Slurm spells as a
      word, such as V(yes) or V(NO), stays that word.
    - Numbered keys such as C(SlurmctldHost[0]) are one list without the number.
  returned: success
  type: dict
  sample: {AuthType: auth/munge, MinJobAge: 300, AccountingStoreFlags: [job_comment], MaxMemPerNode: infinite, AuthInfo: null}
raw:
  description: The same settings as Slurm printed them.
  returned: success
  type: dict
  sample: {AuthType: auth/munge, MinJobAge: 300 sec, AccountingStoreFlags: job_comment, MaxMemPerNode: UNLIMITED, AuthInfo: (null)}
volatile:
  description: Settings that move by themselves, kept apart so that the others can be compared. Times are epoch seconds.
  returned: success
  type: dict
  sample: {BOOT_TIME: 1796034982, NEXT_JOB_ID: 1038, HASH_VAL: Match}
sections:
  description: The settings of plug-ins, typed, by the title that Slurm prints above them.
  returned: success
  type: dict
  sample: {MPI Plugins Configuration: {PMIxTimeout: 300}}
as_of:
  description: The controller's own clock when it answered, in epoch seconds. Null when it was not readable.
  returned: success
  type: int
  sample: 1796035468
controllers:
  description: The configured controllers with their role, host, and whether each is up.
  returned: success
  type: list
  elements: dict
  sample: [{role: primary, host: ctl1, up: "yes"}]
unread:
  description: Lines of a form that is not known.
  returned: success
  type: list
  elements: str
  sample: []
failure_class:
  description: The kind of failure, for example V(controller_unreachable) or V(no_config_source).
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
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    as_result,
    read_configuration,
    require_source,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.options import (
    readable_options,
    refused_options,
    slurm_options,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import SlurmError


def main() -> None:
    with readable_options():
        module = AnsibleModule(argument_spec=slurm_options(), supports_check_mode=True)
    refused = refused_options(module.params)
    if refused:
        module.fail_json(msg=refused)
    commands = Commands(module.params["command_timeout"], module.params["slurm_conf"])
    try:
        require_source(commands.environment)
        configuration = read_configuration(commands.run)
    except SlurmError as error:
        module.fail_json(**error.as_result())
    module.exit_json(changed=False, **as_result(configuration))


if __name__ == "__main__":
    main()

#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: config_setting
short_description: Change settings in slurm.conf and see that the controller uses them
version_added: 0.1.0
author:
  - HPC Operations (@hpcops)
description:
  - Makes the least change in C(slurm.conf) that a setting needs, such as one more flag in a list or a number raised to a minimum. What else
    the value holds stays, and so do comments, continued lines, order, owner and mode.
  - The file is the one that the running controller reads, so that this runs on a controller's host. A symbolic link stays one. Where the
    key stands in a file that is included, that file is edited; where it is set more than once, the last line is, which is the one that
    counts in Slurm; where it is not set, a line is added to the end of C(slurm.conf).
  - Before any file is touched, Slurm's own parser has to accept the text as it is going to be, and no other line may say anything else than
    before. Afterwards C(scontrol reconfigure) is run and the running controller is asked for its values. When it doesn't come to use
    them, the files are put back, it is made to read them again, and the task fails.
  - Fails when C(slurm.conf) was changed since slurmctld read it and something is to be done, since a reconfigure would make these
    changes count too.
extends_documentation_fragment:
  - hpcops.slurm._attributes
  - hpcops.slurm._attributes.actiongroup_slurm
  - hpcops.slurm._slurm
attributes:
  check_mode:
    support: full
    details:
      - Reads all, lets Slurm's parser judge the text as it would be, and writes nothing.
  diff_mode:
    support: full
    details:
      - Shows the lines that change without those around them, which may hold passwords.
  idempotent:
    support: full
options:
  settings:
    description:
      - The settings, all changed together or not at all.
      - A number that lies outside the range becomes the nearest that lies in it.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name as in C(slurm.conf), in any letter case. It has to be one that C(scontrol show config) lists.
        type: str
        required: true
      members:
        description: Flags or names that the setting's comma-separated list has to have, in any letter case. Others in it stay.
        type: list
        elements: str
      part:
        description: Which part of the value holds the number, such as V(ttl) in C(AuthInfo). Other parts stay.
        type: str
      at_least:
        description: Least number.
        type: int
      at_most:
        description: Largest number. A part that is not there or V(0), which is Slurm's default, gets it if there is no O(settings[].at_least).
        type: int
  backup:
    description: Whether each file that is changed is kept as a copy beside it, with the time in its name.
    type: bool
    default: true
  apply_pending:
    description: Whether changes of C(slurm.conf) that the controller has not read yet may take effect as well.
    type: bool
    default: false
  settle_timeout:
    description:
      - Seconds within which the controller has to answer after the reconfigure, from 1 to 3600.
      - One that answers, has read the file, and shows another value is given five seconds.
    type: float
    default: 60
notes:
  - Hosts that have a C(slurm.conf) of their own, among them those of backup controllers, need the same change. Where slurmctld hands the
    configuration out (configless), they get it with the reconfigure.
  - Up to Slurm 23.02 the daemons keep the credential lifetime that they read at their start, even though C(scontrol show config) shows the
    new one. RV(settings[].restart_needed) says so.
seealso:
  - module: hpcops.slurm.config_info
  - ref: ansible_collections.hpcops.slurm.docsite.guide_onboard
    description: Guide to onboarding a cluster.
"""

EXAMPLES = r"""
- name: Let accounting keep comments, and finished jobs be read for five minutes
  hpcops.slurm.config_setting:
    settings:
      - name: AccountingStoreFlags
        members: [job_comment]
      - name: MinJobAge
        at_least: 300
  become: true

- name: Let credentials expire after a minute, and keep the other parts of AuthInfo
  hpcops.slurm.config_setting:
    settings:
      - name: AuthInfo
        part: ttl
        at_most: 60
  become: true
  register: changed

- name: Say where a restart is needed
  ansible.builtin.debug:
    msg: "{{ changed.settings | rejectattr('restart_needed', 'equalto', 'no') | map(attribute='name') }}"
"""

RETURN = r"""
settings:
  description: The settings, in the order that was asked for.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The setting, as Slurm spells it.
      type: str
      sample: AuthInfo
    file:
      description: The file that has the line, or gets it.
      type: str
      sample: /etc/slurm/slurm.conf
    line:
      description: The line's number. Null where the key is not set and needs not be.
      type: int
      sample: 7
    before:
      description: The value in the file before, null where it was not set.
      type: str
      sample: socket=/run/munge/munge.socket.2
    after:
      description: The value in the file afterwards, in check mode the one that it would be.
      type: str
      sample: socket=/run/munge/munge.socket.2,ttl=60
    conf_line:
      description: The line of C(slurm.conf), for the files of other hosts.
      type: str
      sample: AuthInfo=socket=/run/munge/munge.socket.2,ttl=60
    live_before:
      description: What the running controller had, null for nothing.
      type: str
      sample: socket=/run/munge/munge.socket.2
    live:
      description: What the running controller has now.
      type: str
      sample: socket=/run/munge/munge.socket.2,ttl=60
    restart_needed:
      description: Whether daemons have to be restarted before it counts for all of them, V(yes), V(no) or V(unknown).
      type: str
      sample: "no"
    apply:
      description: How a change of this setting takes effect.
      type: str
      sample: scontrol reconfigure; no restart is needed
reconfigured:
  description: Whether C(scontrol reconfigure) was run.
  returned: success
  type: bool
  sample: true
backup_files:
  description: Copies of the files as they were before.
  returned: success, or failure after something was written
  type: list
  elements: str
  sample: [/etc/slurm/slurm.conf.2148.2026-11-30@20:01:44~]
rolled_back:
  description: Whether all files are as they were.
  returned: failure after something was written
  type: bool
  sample: true
controller_hosts:
  description: Where to run this.
  returned: failure, when this host runs no controller
  type: list
  elements: str
  sample: [ctl1]
failure_class:
  description: The kind of failure, for example V(controller_unreachable) or V(no_config_source).
  returned: failure
  type: str
  sample: no_config_source
"""

import contextlib
import os
import re
import tempfile
import time
from typing import Any, Dict, Iterator, Optional

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Commands
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.options import (
    readable_options,
    refused_options,
    slurm_options,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Reply, SlurmError
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.setting_task import (
    Host,
    Order,
    change_settings,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.wishes import LARGEST

_WORD = re.compile(r"[A-Za-z0-9_.+:/-]{1,200}\Z", re.ASCII)


class Files:
    """Reads and replaces files of this host with the module's own helpers."""

    def __init__(self, module: Any) -> None:
        self.module = module

    @contextlib.contextmanager
    def _raising(self) -> Iterator[None]:
        """Let the helpers raise OSError instead of ending the module: files have to be put back."""
        usual = self.module.fail_json

        def fail(msg: str, **_more: object) -> None:
            raise OSError(msg)

        self.module.fail_json = fail
        try:
            yield
        finally:
            self.module.fail_json = usual

    def _temporary(self, text: str, name: str) -> str:
        handle, path = tempfile.mkstemp(dir=self.module.tmpdir, suffix=name)
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode("utf-8", "surrogateescape"))
        return path

    def store(self, path: str, text: str) -> None:
        """Replace a file in one step; owner, mode and security context stay."""
        with self._raising():
            self.module.atomic_move(self._temporary(text, ""), path)

    def keep(self, path: str) -> str:
        """Copy a file to one beside it."""
        with self._raising():
            return str(self.module.backup_local(path))

    def parse(self, text: str) -> Reply:
        """Let Slurm read a text as its configuration; this asks no controller."""
        path = self._temporary(text, ".conf")
        commands = Commands(self.module.params["command_timeout"], path)
        try:
            return commands.run("scontrol", "show", "hostnames", "n1")
        finally:
            os.unlink(path)


def refused(params: Dict[str, Any]) -> Optional[str]:
    """Why the options can't be used, None when they can."""
    for one in params["settings"]:
        name, members = one["name"], one["members"]
        bounds = [one[key] for key in ("at_least", "at_most") if one[key] is not None]
        words = [name, *(members or [])] + ([one["part"]] if one["part"] is not None else [])
        for word in words:
            if not _WORD.match(word):
                return "settings: %r is not a name or a flag as slurm.conf has them" % word[:80]
        if bool(members) == bool(bounds):
            return "settings: %s has to have members, or else at_least or at_most" % name
        if members and one["part"] is not None:
            return "settings: %s has a part, which goes with at_least or at_most" % name
        if not all(0 <= number <= LARGEST for number in bounds) or bounds != sorted(bounds):
            return "settings: %s needs 0 <= at_least <= at_most <= %d" % (name, LARGEST)
    return refused_options(params, seconds={"settle_timeout": (1, 3600)})


def argument_spec() -> Dict[str, Any]:
    """The options."""
    suboptions = {
        "name": {"type": "str", "required": True},
        "members": {"type": "list", "elements": "str"},
        "part": {"type": "str"},
        "at_least": {"type": "int"},
        "at_most": {"type": "int"},
    }
    return {
        "settings": {
            "type": "list",
            "elements": "dict",
            "required": True,
            "options": suboptions,
        },
        "backup": {"type": "bool", "default": True},
        "apply_pending": {"type": "bool", "default": False},
        "settle_timeout": {"type": "float", "default": 60},
        **slurm_options(),
    }


def this_host(module: AnsibleModule) -> Host:
    """What the engine is given of this host."""
    files = Files(module)
    commands = Commands(module.params["command_timeout"], module.params["slurm_conf"])
    return Host(
        run=commands.run,
        parse=files.parse,
        store=files.store,
        keep=files.keep,
        environment=commands.environment,
        names=frozenset((os.uname().nodename,)),
        clock=time.monotonic,
        sleep=time.sleep,
    )


def main() -> None:
    with readable_options():
        module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    params = module.params
    mistake = refused(params)
    if mistake:
        module.fail_json(msg=mistake)
    order = Order(
        settings=tuple(params["settings"]),
        pending=params["apply_pending"],
        backup=params["backup"],
        predict=module.check_mode,
        patience=params["settle_timeout"],
    )
    try:
        result = change_settings(this_host(module), order)
    except SlurmError as error:
        module.fail_json(**error.as_result())
    for text in result.pop("warnings"):
        module.warn(text)
    module.exit_json(**result)


if __name__ == "__main__":
    main()

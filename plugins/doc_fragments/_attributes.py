# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Attributes that modules state. Private to the collection."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying the target.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in C(check_mode)), when in diff mode.
  idempotent:
    description: A second run with the same options, on an unchanged cluster, changes nothing.
  action:
    description: A part of this runs on the Ansible controller, in an action plugin of the same name.
    support: none
  async:
    description: Can be used with the C(async) keyword.
    support: full
  platform:
    description: Systems that it runs on.
    support: full
    platforms: posix
"""

    ACTIONGROUP_SLURM = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/hpcops.slurm.slurm) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - hpcops.slurm.slurm
"""

    INFO_MODULE = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This reads only.
  diff_mode:
    support: none
    details:
      - This reads only.
  idempotent:
    support: full
    details:
      - This reads only.
"""

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: the name of a host's report files."""

from __future__ import annotations

DOCUMENTATION = r"""
name: audit_file_stem
author: HPC Operations (@hpcops)
version_added: 0.1.0
short_description: Name of a host's report files, without the ending
description:
  - The inventory name itself, with percent signs for what has no place in a file name.
  - It is never a path, and never V(fleet), which is the report on all clusters.
positional: _input
options:
  _input:
    description: Inventory name.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Where the page on a cluster is
  ansible.builtin.debug:
    msg: "{{ inventory_hostname | hpcops.slurm.audit_file_stem }}.html"
"""

RETURN = r"""
_value:
  description: The name, as V(alpha) or V(login%2F1).
  type: str
"""

from collections.abc import Callable

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.report import file_stem


def audit_file_stem(host: object) -> str:
    """File name of a host's reports, without the ending."""
    return file_stem(str(host))


class FilterModule:
    """Gives the filter to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Filters by name."""
        return {"audit_file_stem": audit_file_stem}

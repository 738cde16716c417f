# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: the manifest of a maintenance window, read."""

from __future__ import annotations

DOCUMENTATION = r"""
name: window_manifest
author: HPC Operations (@hpcops)
version_added: 0.1.0
short_description: Read the manifest of a maintenance window
description:
  - Reads the file that the role P(hpcops.slurm.maintenance_window#role) keeps about a window,
    and says why it can't be used.
  - It has to be about the same cluster and the same window.
positional: _input
options:
  _input:
    description: The text of the file, empty when there is none.
    type: str
    required: true
  cluster:
    description: C(ClusterName) of the cluster.
    type: str
    required: true
  window:
    description: The window's number.
    type: int
    required: true
  header:
    description: What is asked for, as C(host), C(select), C(nodes) and C(running).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: See whether a window is open
  ansible.builtin.debug:
    msg: "{{ known.error or known.manifest.state | default('never opened') }}"
  vars:
    text: "{{ lookup('ansible.builtin.file', 'slurm-maintenance-windows/alpha.window-7.json') }}"
    known: >-
      {{ text | hpcops.slurm.window_manifest(cluster='alpha', window=7, header=header) }}
    header: {host: alpha, select: {}, nodes: "", running: leave}
"""

RETURN = r"""
_value:
  description:
    - C(manifest), empty without a file, C(error), why the file can't be used, and
      C(opening), the manifest of the window when it is opened now.
  type: dict
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.jobs import window_number
from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.manifest import (
    opened,
    read_manifest,
)


def window_manifest(
    text: object, cluster: str, window: object, header: Mapping[str, Any]
) -> dict[str, Any]:
    """The manifest in a file, or why it can't be used."""
    try:
        number = window_number(window)
    except ValueError as error:
        raise AnsibleFilterError(f"hpcops.slurm.window_manifest: {error}") from error
    manifest, trouble = read_manifest(str(text), str(cluster), number)
    opening = opened(manifest, header, str(cluster), number, time.time())
    return {"manifest": manifest, "error": trouble, "opening": opening}


class FilterModule:
    """Gives the filter to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Filters by name."""
        return {"window_manifest": window_manifest}

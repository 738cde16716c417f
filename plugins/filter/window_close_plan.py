# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: what a closing maintenance window has to release."""

from __future__ import annotations

DOCUMENTATION = r"""
name: window_close_plan
author: HPC Operations (@hpcops)
version_added: 0.1.0
short_description: Say what a closing maintenance window has to release
description:
  - Decides which jobs are released, by the queue alone. The manifest only adds which jobs are
    asked about.
positional: _input
extends_documentation_fragment:
  - hpcops.slurm._window
options:
  _input:
    description: Records of M(hpcops.slurm.job_info), of the whole queue.
    type: list
    elements: dict
    required: true
  path:
    description: Path of the manifest, for the message.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: See what a window holds
  ansible.builtin.debug:
    var: (queue.jobs | hpcops.slurm.window_close_plan(window=7)).release
"""

RETURN = r"""
_value:
  description:
    - Ids in C(release), C(restore) and C(absent) (jobs of the manifest that the queue does
      not show), whether anything C(acts), and C(unopened), why
      there is nothing to close.
  type: dict
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.hpcops.slurm.plugins.plugin_utils._window import closing
from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.jobs import (
    jobs_from,
    window_number,
)


def window_close_plan(
    jobs: Sequence[Mapping[str, Any]],
    window: object,
    manifest: Mapping[str, Any] | None = None,
    path: str = "",
) -> dict[str, Any]:
    """What is to be done after one read of the queue."""
    try:
        number = window_number(window)
    except ValueError as error:
        raise AnsibleFilterError(f"hpcops.slurm.window_close_plan: {error}") from error
    known = dict(manifest or {})
    plan = closing.plan(jobs_from(jobs), known, number)
    unopened = closing.unopened(plan, known, number, path)
    return {**closing.as_data(plan, known), "unopened": unopened}


class FilterModule:
    """Gives the filter to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Filters by name."""
        return {"window_close_plan": window_close_plan}

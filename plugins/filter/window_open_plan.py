# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: what an opening maintenance window has to do next."""

from __future__ import annotations

DOCUMENTATION = r"""
name: window_open_plan
author: HPC Operations (@hpcops)
version_added: 0.1.0
short_description: Say what an opening maintenance window has to do
description:
  - Decides which jobs are to be held and requeued, and which are waited for. A job under
    another window's hold is left alone.
positional: _input
extends_documentation_fragment:
  - hpcops.slurm._window
  - hpcops.slurm._window.open
"""

EXAMPLES = r"""
- name: See what a window would hold
  ansible.builtin.debug:
    var: queue.jobs | hpcops.slurm.window_open_plan(window=7, running='leave')
"""

RETURN = r"""
_value:
  description:
    - Ids in C(hold), C(requeue) and C(restore), C(started_before) for the requeue, whether anything
      C(acts), is C(urgent), or is waited for (C(waits)), and
      the C(manifest) with these jobs.
  type: dict
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.hpcops.slurm.plugins.plugin_utils._window import opening
from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.jobs import jobs_from
from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.manifest import bits, with_jobs


def window_open_plan(
    jobs: Sequence[Mapping[str, Any]],
    window: object,
    running: str,
    any_bit: bool = False,
    nodes: str = "",
    done: Mapping[str, Any] | None = None,
    manifest: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What is to be done after one read of the queue."""
    try:
        wish = opening.wish_from(window, running, any_bit, nodes)
    except ValueError as error:
        raise AnsibleFilterError(f"hpcops.slurm.window_open_plan: {error}") from error
    known = dict(manifest or {})
    plan = opening.plan(jobs_from(jobs), wish, opening.Done(**(done or {})), bits(known))
    data = opening.as_data(plan, wish)
    if known:
        now = time.time()
        data["manifest"] = with_jobs(known, plan.hold, plan.held, plan.requeue, now)
    return data


class FilterModule:
    """Gives the filter to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Filters by name."""
        return {"window_open_plan": window_open_plan}

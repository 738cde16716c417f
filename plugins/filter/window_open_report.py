# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: what came of opening a maintenance window."""

from __future__ import annotations

DOCUMENTATION = r"""
name: window_open_report
author: HPC Operations (@hpcops)
version_added: 0.1.0
short_description: Say what came of opening a maintenance window
description:
  - Puts the last read of the queue and the results of all modules together.
positional: _input
extends_documentation_fragment:
  - hpcops.slurm._window
  - hpcops.slurm._window.open
options:
  before:
    description: The manifest as it was before this run, empty without one.
    type: dict
    default: {}
  check:
    description: Whether nothing was sent.
    type: bool
    default: false
  remaining_fail:
    description: Whether jobs that remain are a failure.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: See what a window has come to
  ansible.builtin.debug:
    msg: "{{ (queue.jobs | hpcops.slurm.window_open_report(window=7, running='leave')).headline }}"
"""

RETURN = r"""
_value:
  description:
    - C(report), C(headline), C(lines) about single jobs,
      C(failure) (empty when the window is open), and the
      C(manifest) to be kept.
  type: dict
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.hpcops.slurm.plugins.plugin_utils._window import opening
from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.jobs import (
    jobs_from,
    only_predicted,
)
from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.manifest import bits


def window_open_report(
    jobs: Sequence[Mapping[str, Any]],
    window: object,
    running: str,
    any_bit: bool = False,
    nodes: str = "",
    done: Mapping[str, Any] | None = None,
    manifest: Mapping[str, Any] | None = None,
    before: Mapping[str, Any] | None = None,
    check: bool = False,
    remaining_fail: bool = True,
) -> dict[str, Any]:
    """What came of opening a window."""
    try:
        wish = opening.wish_from(window, running, any_bit, nodes)
    except ValueError as error:
        raise AnsibleFilterError(f"hpcops.slurm.window_open_report: {error}") from error
    results = opening.Done(**(done or {}))
    check = check or only_predicted([*results.holds, *results.requeues, *results.restores])
    plan = opening.plan(jobs_from(jobs), wish, results, bits(manifest or {}))
    data = opening.report(plan, results)
    kept = opening.left_by(dict(manifest), dict(before or {}), data, results) if manifest else {}
    return {
        "report": data,
        "headline": opening.headline(data, wish, check),
        "lines": opening.lines(data),
        "failure": opening.failure(data, wish, remaining_fail and not check),
        "manifest": kept,
    }


class FilterModule:
    """Gives the filter to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Filters by name."""
        return {"window_open_report": window_open_report}

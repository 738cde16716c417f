# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: what came of closing a maintenance window."""

from __future__ import annotations

DOCUMENTATION = r"""
name: window_close_report
author: HPC Operations (@hpcops)
version_added: 0.1.0
short_description: Say what came of closing a maintenance window
description:
  - Compares the manifest with what was found and released.
positional: _input
extends_documentation_fragment:
  - hpcops.slurm._window
options:
  _input:
    description: Records of M(hpcops.slurm.job_info), of the whole queue before anything was
      released.
    type: list
    elements: dict
    required: true
  done:
    description: The results of the modules, as the lists C(releases) and C(restores).
    type: dict
    required: true
  past:
    description: Records of M(hpcops.slurm.job_info) of jobs that the queue does not show.
    type: list
    elements: dict
    default: []
  check:
    description: Whether nothing was sent.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: See what has become of a window's jobs
  ansible.builtin.debug:
    var: found.report.changes
  vars:
    found: >-
      {{ queue.jobs
         | hpcops.slurm.window_close_report(window=7, manifest=manifest,
                                            done={'releases': [], 'restores': []}) }}
"""

RETURN = r"""
_value:
  description:
    - C(report), C(headline), C(lines) about single jobs,
      C(failure) (empty when the window is closed), the C(manifest)
      to be kept, and whether it C(writes) anything new.
  type: dict
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.hpcops.slurm.plugins.plugin_utils._window import closing
from ansible_collections.hpcops.slurm.plugins.plugin_utils._window.jobs import (
    jobs_from,
    only_predicted,
    window_number,
)


def window_close_report(
    jobs: Sequence[Mapping[str, Any]],
    window: object,
    done: Mapping[str, Any],
    manifest: Mapping[str, Any] | None = None,
    past: Sequence[Mapping[str, Any]] = (),
    check: bool = False,
) -> dict[str, Any]:
    """What came of closing a window."""
    try:
        number = window_number(window)
    except ValueError as error:
        raise AnsibleFilterError(f"hpcops.slurm.window_close_report: {error}") from error
    now, known = time.time(), dict(manifest or {})
    check = check or only_predicted([*done["releases"], *done["restores"]])
    seen = closing.Seen(jobs_from(jobs), jobs_from(past), done["releases"], done["restores"])
    data = closing.report(seen, known, number, now)
    failure = closing.failure(data, number)
    kept, writes = closing.left_by(known, data, bool(failure), now)
    return {
        "report": data,
        "headline": closing.headline(data, known, number, check),
        "lines": closing.lines(data),
        "failure": failure,
        "manifest": kept,
        "writes": writes,
    }


class FilterModule:
    """Gives the filter to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Filters by name."""
        return {"window_close_report": window_close_report}

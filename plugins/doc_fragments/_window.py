# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """What the filters of the role maintenance_window have in common. Private to the collection."""

    DOCUMENTATION = r"""
options:
  window:
    description: The window's number.
    type: int
    required: true
  manifest:
    description: The window's manifest, empty without one.
    type: dict
    default: {}
"""

    OPEN = r"""
options:
  _input:
    description: Records of M(hpcops.slurm.job_info), of the window's selection.
    type: list
    elements: dict
    required: true
  running:
    description: What is done about running jobs.
    type: str
    choices: [leave, wait, requeue]
    required: true
  any_bit:
    description: Whether jobs whose requeue bit is off are requeued too.
    type: bool
    default: false
  nodes:
    description: A host list. Only running jobs that have one of these nodes matter. Empty for all.
    type: str
    default: ""
  done:
    description: The results of the modules so far, as the lists C(holds), C(requeues) and C(restores).
    type: dict
    default: {}
"""

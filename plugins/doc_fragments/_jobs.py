# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Which jobs a module is about. Private to the collection."""

    DOCUMENTATION = r"""
options:
  jobs:
    description:
      - Ids of jobs. A job's number, C(N_T) for an array task, C(N_[T-U]) for several, or C(N+C) for a component of a heterogeneous job.
      - An array's number means all its tasks, a leader's number all components. Each task and each component has a result of its own.
    type: list
    elements: str
  select:
    description:
      - Jobs of the queue. Within an option any value matches, between options all must. At least one option has to be set.
    type: dict
    suboptions:
      users:
        description: Names of users.
        type: list
        elements: str
        default: []
      accounts:
        description: Names of accounts.
        type: list
        elements: str
        default: []
      partitions:
        description: Names of partitions.
        type: list
        elements: str
        default: []
      qos:
        description: Names of QOSs.
        type: list
        elements: str
        default: []
      states:
        description: States in Slurm's words, for example V(PENDING).
        type: list
        elements: str
        default: []
      names:
        description: Names of jobs, matched exactly.
        type: list
        elements: str
        default: []
      reservations:
        description: Names of reservations.
        type: list
        elements: str
        default: []
      nodes:
        description: A host list, for example V(n[1-4]). Jobs that have one of these nodes.
        type: str
"""

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Which preflight's answers count. Private to the collection."""

    DOCUMENTATION = r"""
options:
  preflight:
    description:
      - The fact C(ansible_facts['slurm_preflight']) of M(hpcops.slurm.preflight), run as this user on this host.
      - Without it, the answers that the preflight has cached on the host are used.
    type: dict
  probe_max_age:
    description: Seconds for which the preflight's answers are valid.
    type: int
    default: 86400
  cache_path:
    description: File that keeps the preflight's answers, as for M(hpcops.slurm.preflight).
    type: path
"""

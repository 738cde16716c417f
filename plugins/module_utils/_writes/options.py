# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that every write has. Private to the collection."""

from __future__ import annotations

from typing import Any, Dict

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.options import slurm_options
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.options import (
    answer_options,
    job_options,
)


def write_options() -> Dict[str, Dict[str, Any]]:
    """The spec of the fragments ``_slurm`` (and rounds), ``_jobs``, ``_answers``, ``_write``."""
    return {**job_options(), **deadline_options()}


def deadline_options() -> Dict[str, Dict[str, Any]]:
    """The spec of the fragments ``_slurm`` (and rounds), ``_answers`` and ``_write``."""
    return {
        **slurm_options(),
        "ttl": {"type": "float", "default": 60},
        "deadline": {"type": "str"},
        "settle": {"type": "bool", "default": True},
        **answer_options(),
        "state_dir": {"type": "path"},
        # What the action plugin tells each round; see rounds.py.
        "_round": {"type": "dict", "default": {}},
    }


#: Arguments of AnsibleModule beside the argument spec.
WRITE_RULES: Dict[str, Any] = {
    "mutually_exclusive": [("jobs", "select")],
    "required_one_of": [("jobs", "select")],
    "supports_check_mode": True,
}

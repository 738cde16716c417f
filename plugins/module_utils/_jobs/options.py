# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that say which jobs a module is about. Private to the collection."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    FailureClass,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import Selection

#: Options of ``select`` that are lists; they are the fields of a selection.
SELECT = ("users", "accounts", "partitions", "qos", "states", "names", "reservations")


def job_options() -> Dict[str, Dict[str, Any]]:
    """Argument spec of the documentation fragment ``hpcops.slurm._jobs``."""
    lists = {name: {"type": "list", "elements": "str", "default": []} for name in SELECT}
    return {
        "jobs": {"type": "list", "elements": "str"},
        "select": {"type": "dict", "options": {**lists, "nodes": {"type": "str"}}},
    }


def answer_options() -> Dict[str, Dict[str, Any]]:
    """Argument spec of the documentation fragment ``hpcops.slurm._answers``."""
    return {
        "preflight": {"type": "dict"},
        "probe_max_age": {"type": "int", "default": 86400},
        "cache_path": {"type": "path"},
    }


def selection_from(value: Optional[Mapping[str, Any]]) -> Optional[Selection]:
    """The selection that ``select`` names, None without one.

    Raises :class:`SlurmError` when it names nothing: the whole queue has to be asked for with a
    state, so that nobody holds every job by leaving a variable empty.
    """
    if value is None:
        return None
    given = {name: tuple(value[name]) for name in SELECT if value.get(name)}
    nodes = value.get("nodes") or ""
    if not given and not nodes:
        raise SlurmError(
            "select names no user, account, partition, QOS, state, name, reservation or node",
            FailureClass.UNCLASSIFIED,
            remedy="For the whole queue say states: [PENDING], for example",
        )
    return Selection(nodes=nodes, **given)

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module job_info returns. Private to the collection."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import require_job_ids
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import (
    Selection,
    read_jobs,
    read_queue,
)


def job_info(
    run: Run, jobs: Optional[Sequence[str]], selection: Optional[Selection]
) -> Dict[str, Any]:
    """Records of the jobs, of a selection, or (neither given) of the whole queue; JSON-safe.

    Raises :class:`SlurmError` when an id is none, before anything is run, and when the read failed.
    """
    if jobs is None:
        queue = read_queue(run, selection or Selection())
        records = [record.as_result() for record in queue.records]
        return {"jobs": records, "missing": [], "doubtful": [], "warnings": list(queue.warnings)}
    ids = require_job_ids(dict.fromkeys(jobs))
    found: Dict[int, Dict[str, Any]] = {}
    missing: List[str] = []
    doubtful: List[str] = []
    for text, lookup in (read_jobs(run, ids) if ids else {}).items():
        if lookup.known is Answer.YES:
            found.update((id(record), record.as_result()) for record in lookup.records)
        else:
            (missing if lookup.known is Answer.NO else doubtful).append(text)
    records = list(found.values())
    return {"jobs": records, "missing": missing, "doubtful": doubtful, "warnings": []}

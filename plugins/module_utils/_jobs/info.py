# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module job_info returns. Private to the collection."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import require_job_ids
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import NAMES
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import (
    Selection,
    read_jobs,
    read_queue,
)


def job_info(
    run: Run,
    jobs: Optional[Sequence[str]],
    selection: Optional[Selection],
    names: Sequence[str] = (),
) -> Dict[str, Any]:
    """Records of the jobs, of a selection, or (neither given) of the whole queue; JSON-safe.

    ``names`` are the values that a record is to have beside its id, all if empty. Raises ValueError
    for a name that is none, and :class:`SlurmError` when an id is none, both before anything is
    run, and when the read failed.
    """
    strangers = [name for name in names if name not in NAMES]
    if strangers:
        raise ValueError(
            "a record has no %s; it has %s" % (", ".join(strangers), ", ".join(sorted(NAMES)))
        )
    if jobs is None:
        queue = read_queue(run, selection or Selection())
        records = [record.as_result(names) for record in queue.records]
        return {"jobs": records, "missing": [], "doubtful": [], "warnings": list(queue.warnings)}
    ids = require_job_ids(dict.fromkeys(jobs))
    found: Dict[int, Dict[str, Any]] = {}
    missing: List[str] = []
    doubtful: List[str] = []
    for text, lookup in (read_jobs(run, ids) if ids else {}).items():
        if lookup.known is Answer.YES:
            found.update((id(record), record.as_result(names)) for record in lookup.records)
        else:
            (missing if lookup.known is Answer.NO else doubtful).append(text)
    records = list(found.values())
    return {"jobs": records, "missing": missing, "doubtful": doubtful, "warnings": []}

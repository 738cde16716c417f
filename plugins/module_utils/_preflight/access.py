# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether jobs that slurmctld has forgotten may be read from accounting.

Private to the collection.
"""

from __future__ import annotations

from typing import Any, Mapping

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    read_configuration,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.info import Access
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.answers import (
    find_answers,
    source_from,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.declarations import (
    node_loss_window,
)


def read_access(run: Run, params: Mapping[str, Any]) -> Access:
    """The preflight's answer, the node-loss window and slurmctld's clock, for a module's options.

    Raises :class:`SlurmError` when the controller gives no configuration, or when the fact that was
    given is another cluster's.
    """
    source = source_from(params)
    configuration = read_configuration(run)
    found = find_answers(source, configuration)
    window = node_loss_window(configuration)
    return Access(
        history=Answer.UNKNOWN if found is None else found.accounting,
        reason=source.missing if found is None else found.accounting_reason,
        loss_window=window if isinstance(window, int) else None,
        now=configuration.as_of,
    )

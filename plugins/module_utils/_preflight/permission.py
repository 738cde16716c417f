# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether writes may be sent on this cluster, and how late they may land.

Private to the collection.
"""

from __future__ import annotations

from typing import Any, Mapping

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    read_configuration,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.landing import (
    auth_type,
    landing_bound,
    no_bound_reason,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.answers import (
    find_answers,
    source_from,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.engine import (
    Bound,
    Permission,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import Needs


def permit(run: Run, params: Mapping[str, Any], needs: Needs) -> Permission:
    """Read the live configuration and the preflight's answers for it.

    A write that needs the clocks is refused where no preflight is valid, one that needs the bound
    also where AuthType has no known one, one that needs holds also where they were not seen to
    work. Raises :class:`SlurmError` when the controller gives no configuration, or when the fact
    that was given is another cluster's.
    """
    source = source_from(params)
    configuration = read_configuration(run)
    cluster = configuration.text("ClusterName") or ""
    kind = auth_type(configuration)
    found = find_answers(source, configuration)
    if found is None:
        bound = landing_bound(configuration, 0)
        nothing = Bound(None, 0.0)
        if needs is Needs.NOTHING:
            return Permission(cluster, nothing, "")
        in_vain = bound.seconds == 0 and needs is not Needs.CLOCKS
        return Permission(cluster, nothing, no_bound_reason(kind) if in_vain else source.missing)
    bound = landing_bound(configuration, found.skew)
    refusal = ""
    if needs in (Needs.BOUND, Needs.HOLD) and not bound.known:
        refusal = bound.reason
    elif needs is Needs.HOLD and found.hold is not Answer.YES:
        refusal = found.hold_reason or "Hold is %s" % found.hold.value
    return Permission(cluster, Bound(bound.seconds or None, found.offset), refusal)

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long things stay readable and how late things may land. Pure. Private to the collection."""

from __future__ import annotations

from typing import Any, Dict, Union

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import Configuration
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.landing import LandingBound
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import UNKNOWN
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.capabilities import Support

UNBOUNDED = "unbounded"

#: Seconds added to twice SlurmdTimeout (spec page "Capabilities and declarations").
NODE_LOSS_MARGIN = 60

Window = Union[int, str]


def declarations(
    configuration: Configuration, bound: LandingBound, accounting: Support
) -> Dict[str, Any]:
    """NodeLossWindow, CallBound and PolledLoss of the spec, in seconds.

    A value that was not read is "unknown", and "unbounded" means never lost.
    """
    polled = _window(configuration, "MinJobAge")
    execution: Window = UNBOUNDED if accounting.support is Answer.YES else 0
    return {
        "node_loss_window": node_loss_window(configuration),
        "call_bound": bound.as_fact(),
        "polled_loss": {
            "state": polled,
            "cause": polled,
            "exit_code": polled,
            "execution": execution,
        },
        "shortest_bounded_window": polled,
    }


def node_loss_window(configuration: Configuration) -> Window:
    """Seconds for which an execution whose node was lost counts as running."""
    slurmd = _window(configuration, "SlurmdTimeout")
    return 2 * slurmd + NODE_LOSS_MARGIN if isinstance(slurmd, int) else slurmd


def _window(configuration: Configuration, key: str) -> Window:
    seconds = configuration.seconds(key)
    return seconds if isinstance(seconds, int) else UNKNOWN

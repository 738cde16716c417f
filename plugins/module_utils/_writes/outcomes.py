# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known about one job after a write. Private to the collection."""

from __future__ import annotations

from enum import Enum

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import UNKNOWN
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hold import Instance


class Outcome(str, Enum):
    """The design's words for what a write came to."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    REJECTED = "rejected"
    NOT_FOUND = "not_found"
    STALE = "stale"
    UNKNOWN = "unknown"


def planned_release(in_place: Instance, named: int) -> Outcome:
    """What a release of the instance ``named`` is, given the one in place.

    APPLIED means that the release may be sent; every other outcome that nothing is sent.
    """
    if in_place == UNKNOWN:
        return Outcome.UNKNOWN
    if in_place is None:
        return Outcome.UNCHANGED
    return Outcome.APPLIED if in_place == named else Outcome.STALE

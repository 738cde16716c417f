# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check is. Small, since the action plugin needs no more of the checks than this.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Dict

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import printable


class Verdict(str, Enum):
    """What a check found; unknown is not a failure and not a pass."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Check:
    """One check. ``evidence`` is the line or value seen, ``remedy`` what to change, and where."""

    name: str
    verdict: Verdict
    evidence: str
    remedy: str = ""

    def as_fact(self) -> Dict[str, str]:
        """The check as JSON-safe values."""
        return {
            "name": self.name,
            "verdict": self.verdict.value,
            "evidence": printable(self.evidence),
            "remedy": self.remedy,
        }

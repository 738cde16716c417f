# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that every module which runs Slurm's commands has. Private to the collection."""

from __future__ import annotations

from typing import Any, Dict


def slurm_options() -> Dict[str, Dict[str, Any]]:
    """Argument spec of the documentation fragment ``hpcops.slurm._slurm``."""
    return {
        "slurm_conf": {"type": "path"},
        "command_timeout": {"type": "float", "default": 70},
    }

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fixtures of these tests."""

from __future__ import annotations

from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._writes.slurm import (
    host,
    slurm,
)

__all__ = ("host", "slurm")

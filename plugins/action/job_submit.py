# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's share of the module job_submit."""

from __future__ import annotations

from ansible_collections.hpcops.slurm.plugins.plugin_utils._write_action import WriteAction


class ActionModule(WriteAction):
    """See the base."""

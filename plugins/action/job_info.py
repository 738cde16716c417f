# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's share of the module job_info: unpacks the records."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.hpcops.slurm.plugins.plugin_utils._packed import unpacked


class ActionModule(ActionBase):
    """Lets the records of a queue travel as one short text.

    A task that runs on by itself (async) is read by another module later, so its result is plain.
    """

    _requires_connection = True
    _supports_check_mode = True
    _supports_async = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """The module's result, with the records in ``jobs``."""
        result = super().run(tmp, task_vars)
        del tmp
        arguments = {**self._task.args, "_packed": not self._task.async_val}
        answer = self._execute_module(
            module_args=arguments, task_vars=task_vars, wrap_async=bool(self._task.async_val)
        )
        records = answer.pop("packed", None)
        if records is not None:
            answer = {"jobs": unpacked(records), **answer}
        result.update(answer)
        return result

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's share of the modules that write: the deadline, and news while they settle.

Private to the collection.
"""

from __future__ import annotations

import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.hpcops.slurm.plugins.plugin_utils._deadlines import deadline_from

display = Display()

#: Seconds that one round of a module may wait.
ROUND = 6.0


class WriteAction(ActionBase):
    """Fixes the deadline when the task starts, and runs the module until its jobs are settled.

    A connection that stalls before the module runs can't make a call start late: the deadline is an
    instant, not a time that begins to run on the host.
    """

    _requires_connection = True
    _supports_check_mode = True
    _supports_async = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Result of the last round, with the warnings of all."""
        began = time.time()
        result = super().run(tmp, task_vars)
        del tmp
        arguments = self._task.args
        try:
            deadline = deadline_from(arguments.get("ttl", 60), arguments.get("deadline"), began)
        except ValueError as error:
            result.update(failed=True, msg=str(error))
            return result
        host = (task_vars or {}).get("inventory_hostname", "host")
        answer: dict[str, Any] = {}
        warnings: list[Any] = []
        state: dict[str, Any] | None = None
        while True:
            message = {"deadline": deadline, "state": state, "wait": ROUND}
            answer = self._round({**arguments, "_round": message}, answer, task_vars)
            warnings += [one for one in answer.pop("warnings", []) if one not in warnings]
            part = answer.pop("round", None) or {"finished": True}
            if part["finished"]:
                break
            state = part["state"]
            self._tell(host, part, began)
        if warnings:
            answer["warnings"] = warnings
        result.update(answer)
        return result

    def _round(
        self, arguments: dict[str, Any], before: dict[str, Any], task_vars: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Answer of one round; one that came to nothing keeps what the rounds before it knew."""
        try:
            answer: dict[str, Any] = self._execute_module(
                module_args=arguments, task_vars=task_vars
            )
        except AnsibleConnectionFailure as error:
            if not before:
                raise
            answer = {"unreachable": True, "msg": str(error)}
        if "results" not in answer and before:
            answer = {**before, "failed": True, **answer, "changed": before["changed"]}
        return answer

    def _tell(self, host: str, part: dict[str, Any], began: float) -> None:
        """Say what is waited for; and wait, where the module has nothing to look at meanwhile."""
        left = max(0.0, (part["until"] or part["now"]) - part["now"])
        waited = time.time() - began
        display.display(
            f"[{host}] {self._task.action}: {part['waiting_for']}: "
            f"{waited:.0f} s of {waited + left:.0f} s at most"
        )
        if not part["state"]["aims"] and part["state"].get("end_by") is None:
            time.sleep(min(ROUND, left, 2.0))

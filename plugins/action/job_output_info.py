# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's share of the module job_output_info: it follows, and says how far it is."""

from __future__ import annotations

import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.hpcops.slurm.plugins.plugin_utils._outputs import merged, stopped, total

display = Display()

#: Seconds between two looks (spec page "Capabilities and declarations").
POLL = 2.0
#: Seconds between two lines for the person who watches.
NEWS = 10.0


class ActionModule(ActionBase):
    """Runs the module once, or again and again until the job has ended."""

    _requires_connection = True
    _supports_check_mode = True
    _supports_async = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Result of the last look, with the output of all."""
        result = super().run(tmp, task_vars)
        del tmp
        answer = self._execute_module(module_args=self._task.args, task_vars=task_vars)
        try:
            follows = boolean(self._task.args.get("follow", False))
            limit = float(self._task.args.get("follow_limit", 3600))
        except (TypeError, ValueError):
            follows, limit = False, 0.0
        if follows and not answer.get("failed") and "parts" in answer:
            host = (task_vars or {}).get("inventory_hostname", "host")
            answer = self._followed(answer, limit, str(host), task_vars)
        result.update(answer)
        return result

    def _followed(
        self, answer: dict[str, Any], limit: float, host: str, task_vars: dict[str, Any] | None
    ) -> dict[str, Any]:
        began = told = looked = time.monotonic()
        most = answer["invocation"]["module_args"]["max_bytes"]
        while True:
            parts, left = answer["parts"], most - total(answer["parts"])
            why = stopped(answer, left, time.monotonic() - began >= limit)
            if why is not None:
                return {**answer, "stopped": why}
            if answer["complete"]:
                rest = limit - (time.monotonic() - began)
                time.sleep(max(0.0, min(looked + POLL - time.monotonic(), rest)))
            if time.monotonic() - told >= NEWS:
                told = time.monotonic()
                display.display(
                    f"[{host}] {self._task.action}: job {answer['job_id']} is {answer['state']}: "
                    f"{total(parts)} bytes after {told - began:.0f} s of {limit:.0f} s at most"
                )
            looked = time.monotonic()
            more = self._again(answer, left, task_vars)
            if more.get("failed") or more.get("unreachable") or "parts" not in more:
                kept = {**answer, **more, "next": answer["next"], "complete": False}
                return {**kept, "failed": True, "parts": parts}
            answer = {**more, "parts": merged(parts, more["parts"])}

    def _again(
        self, answer: dict[str, Any], left: int, task_vars: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Another look at the same job, from where the last one has ended."""
        arguments = {
            name: value
            for name, value in self._task.args.items()
            if name not in ("submission", "attempt")
        }
        arguments.update(
            job_id=answer["job_id"],
            output_dir=answer["output_dir"],
            offsets=answer["next"],
            max_bytes=left,
        )
        try:
            more: dict[str, Any] = self._execute_module(module_args=arguments, task_vars=task_vars)
        except AnsibleConnectionFailure as error:
            return {"unreachable": True, "msg": str(error)}
        return more

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's share of the module preflight: its clock, and news while sacct is polled."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.rounds import Exchange

display = Display()

#: How often the host's clock is looked at, until the skew is known well enough.
CLOCK_LOOKS = 3


class ActionModule(ActionBase):
    """Runs the module in short rounds until the probe's answers are complete."""

    _requires_connection = True
    _supports_check_mode = True
    _supports_async = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Result of the last round, with the clock check that only this side can make."""
        result = super().run(tmp, task_vars)
        del tmp
        host = (task_vars or {}).get("inventory_hostname", "host")
        exchange = Exchange()
        warnings: list[Any] = []
        while True:
            sent = time.time()
            answer = self._execute_module(
                module_args={**self._task.args, "_round": exchange.message()},
                task_vars=task_vars,
            )
            exchange.take(answer.pop("round", None), sent, time.time())
            self._compare_clocks(exchange)
            # A round that is not the last has warnings as well.
            warnings += [text for text in answer.pop("warnings", []) if text not in warnings]
            if exchange.finished:
                break
            if exchange.waiting:
                display.display(f"[{host}] {exchange.progress()}")
        exchange.complete(answer)
        if warnings:
            answer["warnings"] = warnings
        result.update(answer)
        return result

    def _compare_clocks(self, exchange: Exchange) -> None:
        """Look at the host's clock, a few times where the controller is busy."""
        for _time in range(CLOCK_LOOKS):
            if not exchange.unsure:
                return
            sent = time.time()
            # ansible-core leaves it without types
            reply = self._low_level_execute_command("date +%s.%N")  # type: ignore[no-untyped-call, unused-ignore]
            exchange.hear_host(str(reply.get("stdout", "")).strip(), sent, time.time())
            if not exchange.finished:
                return

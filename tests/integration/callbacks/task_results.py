# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Callback of the tests: every task's result as a line of JSON in the file TASK_RESULTS."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: task_results
type: aggregate
author: HPC Operations (@hpcops)
short_description: Write every result to a file
description:
  - Writes every task's result as a line of JSON to the file that E(TASK_RESULTS) names.
"""


# Some releases of ansible-core have no types of the base class.
class CallbackModule(CallbackBase):  # type: ignore[misc, unused-ignore]
    """Writes as the results come, so that a run that is killed leaves what it had."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "task_results"

    def _write(self, status: str, result: Any) -> None:
        # ansible-core 2.19 made what had an underscore public.
        values = getattr(result, "result", None) or result._result
        task = getattr(result, "task", None) or result._task
        host = getattr(result, "host", None) or result._host
        line = {
            "task": task.name,
            "host": host.name,
            "status": status,
            "when": time.time(),
            "result": dict(values),
        }
        with open(os.environ["TASK_RESULTS"], "a", encoding="utf-8") as stream:
            stream.write(json.dumps(line, default=str) + "\n")

    def v2_runner_on_ok(self, result: Any) -> None:
        """A task that succeeded."""
        self._write("ok", result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """A task that failed, ignored or not."""
        del ignore_errors
        self._write("failed", result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """A host that was not reached."""
        self._write("unreachable", result)

    def v2_runner_on_skipped(self, result: Any) -> None:
        """A task that was not run."""
        self._write("skipped", result)

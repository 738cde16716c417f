# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes every task's result to the file RECORDED_RESULTS, one line of JSON each."""

from __future__ import annotations

import json
import os
from typing import Any

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    """Beside what is on the screen."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "recorder"

    def _keep(self, result: Any, kind: str) -> None:
        # ansible-core before 2.19 has the private attribute only.
        answer = getattr(result, "result", None) or result._result
        host = getattr(result, "host", None) or result._host
        line = {"host": host.get_name(), "kind": kind, "result": answer}
        with open(os.environ["RECORDED_RESULTS"], "a", encoding="utf-8") as stream:
            stream.write(json.dumps(line, default=str) + "\n")

    def v2_runner_on_ok(self, result: Any) -> None:
        """A task that ended well."""
        self._keep(result, "ok")

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """A task that failed."""
        self._keep(result, "failed")

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """A host that could not be reached."""
        self._keep(result, "unreachable")

    def v2_runner_on_skipped(self, result: Any) -> None:
        """A task that was not run."""
        self._keep(result, "skipped")

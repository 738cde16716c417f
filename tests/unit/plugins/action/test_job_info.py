# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action plugin of job_info: records travel packed, and come out plain."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest

from ansible_collections.hpcops.slurm.plugins.action.job_info import ActionModule
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.packing import packed

ROWS: list[list[Any]] = [["1", None], ["2", 7]]
RECORDS = [{"job_id": "1", "hold_instance": None}, {"job_id": "2", "hold_instance": 7}]


def run(
    monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any], async_val: int = 0
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the task gives, and what the module was called with."""
    task = MagicMock(async_val=async_val, check_mode=False, action="hpcops.slurm.job_info")
    task.args = {"jobs": ["1", "2"]}
    connection = MagicMock()
    connection._shell.tmpdir = "/tmp/x"
    plugin = ActionModule(task, connection, MagicMock(), MagicMock(), MagicMock(), MagicMock())
    called: dict[str, Any] = {}

    def module(**keywords: Any) -> dict[str, Any]:
        called.update(keywords)
        return dict(answer)

    monkeypatch.setattr(plugin, "_execute_module", module)
    return plugin.run(task_vars={}), called


def test_packed_records_come_out_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = packed(["job_id", "hold_instance"], ROWS)
    result, called = run(monkeypatch, {"changed": False, "packed": rows, "missing": ["3"]})
    assert result["jobs"] == RECORDS
    assert (result["missing"], result["changed"]) == (["3"], False)
    assert "packed" not in result
    assert called["module_args"] == {"jobs": ["1", "2"], "_packed": True}
    assert called["wrap_async"] is False


def test_a_task_in_the_background_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its result is read by async_status, which knows nothing of packed records."""
    result, called = run(monkeypatch, {"started": 1, "ansible_job_id": "j"}, async_val=60)
    assert called["module_args"]["_packed"] is False
    assert called["wrap_async"] is True
    assert result["ansible_job_id"] == "j"


def test_a_failure_comes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _called = run(monkeypatch, {"failed": True, "msg": "no answer"})
    assert (result["failed"], result["msg"]) == (True, "no answer")
    assert "jobs" not in result

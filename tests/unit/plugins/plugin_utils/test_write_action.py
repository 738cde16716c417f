# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action plugin: one deadline for all rounds, and nothing lost between them."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest
from ansible.errors import AnsibleConnectionFailure

from ansible_collections.hpcops.slurm.plugins.plugin_utils import _write_action
from ansible_collections.hpcops.slurm.plugins.plugin_utils._write_action import WriteAction

NOW = 1796035504.0


def part(finished: bool = True, aims: Any = None, until: float | None = None) -> dict[str, Any]:
    state: dict[str, Any] = {"aims": aims or {}, "later": [], "results": []}
    return {
        "finished": finished,
        "state": None if finished else state,
        "waiting_for": "" if finished else "1 jobs are not settled",
        "until": until,
        "now": NOW,
    }


class Task:
    """A task whose module answers as a test says, on a clock that only the test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: Any, **arguments: Any) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []
        self.shown: list[str] = []
        self.now = NOW
        clock = MagicMock()
        clock.time = lambda: self.now
        clock.sleep = self.sleep
        monkeypatch.setattr(_write_action, "time", clock)
        display = MagicMock()
        display.display = self.shown.append
        monkeypatch.setattr(_write_action, "display", display)
        task = MagicMock(async_val=0, check_mode=False, action="hpcops.slurm.job_hold")
        task.args = arguments
        connection = MagicMock()
        connection._shell.tmpdir = "/tmp/x"
        self.plugin = WriteAction(
            task, connection, MagicMock(), MagicMock(), MagicMock(), MagicMock()
        )
        monkeypatch.setattr(self.plugin, "_execute_module", self.module)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def module(self, module_args: dict[str, Any], task_vars: Any) -> dict[str, Any]:
        self.asked.append(module_args)
        self.now += 1
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)

    def run(self) -> dict[str, Any]:
        return self.plugin.run(task_vars={"inventory_hostname": "login1"})


def answer(*outcomes: str, **values: Any) -> dict[str, Any]:
    results = [{"job_id": str(n), "outcome": one} for n, one in enumerate(outcomes)]
    return {"changed": "applied" in outcomes, "results": results, "round": part(), **values}


def test_one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(monkeypatch, answer("applied"), jobs=["5"], ttl=30)
    result = task.run()
    assert result["changed"] is True
    assert "round" not in result
    (asked,) = task.asked
    assert asked["_round"] == {"deadline": NOW + 30, "state": None, "wait": _write_action.ROUND}
    assert asked["jobs"] == ["5"]
    assert task.shown == []


def test_the_deadline_is_that_of_the_tasks_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same in every round, however long they take."""
    waiting = answer("unknown", round=part(False, {"0": {"hold": 7}}, NOW + 300))
    task = Task(monkeypatch, waiting, waiting, answer("applied"), jobs=["5"])
    assert task.run()["results"][0]["outcome"] == "applied"
    assert [one["_round"]["deadline"] for one in task.asked] == [NOW + 60] * 3
    assert [bool(one["_round"]["state"]) for one in task.asked] == [False, True, True]
    assert len(task.shown) == 2
    assert task.shown[0] == (
        "[login1] hpcops.slurm.job_hold: 1 jobs are not settled: 1 s of 301 s at most"
    )


def test_a_deadline_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(monkeypatch, answer("expired"), jobs=["5"], deadline="0", ttl="no matter")
    task.run()
    assert task.asked[0]["_round"]["deadline"] == 0.0


@pytest.mark.parametrize(
    "arguments", [{"ttl": 0}, {"ttl": "soon"}, {"deadline": "soon"}, {"deadline": NOW + 1e6}]
)
def test_bad_deadlines_start_nothing(
    monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any]
) -> None:
    task = Task(monkeypatch, jobs=["5"], **arguments)
    result = task.run()
    assert result["failed"] is True
    assert task.asked == []


def test_a_user_can_not_speak_for_the_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(monkeypatch, answer(), jobs=["5"], _round={"deadline": NOW + 1e9})
    task.run()
    assert task.asked[0]["_round"]["deadline"] == NOW + 60


def test_warnings_of_every_round_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that a requeue bit is still set comes in the first round."""
    first = answer("unknown", warnings=["a", "b"], round=part(False, {"0": {}}, NOW + 9))
    task = Task(monkeypatch, first, answer("applied", warnings=["b", "c"]))
    assert task.run()["warnings"] == ["a", "b", "c"]
    assert "warnings" not in Task(monkeypatch, answer()).run()


def test_waiting_for_an_earlier_write_does_not_ask_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting = answer("unknown", round=part(False, None, NOW + 300))
    task = Task(monkeypatch, waiting, waiting, answer("applied"))
    task.run()
    assert task.now == NOW + 3 + 2 * 2.0


def test_a_round_that_fails_keeps_what_was_known(monkeypatch: pytest.MonkeyPatch) -> None:
    first = answer("applied", "unknown", round=part(False, {"1": {}}, NOW + 9))
    broken = {"failed": True, "msg": "MODULE FAILURE", "changed": False}
    result = Task(monkeypatch, first, broken).run()
    assert (result["failed"], result["changed"]) == (True, True)
    assert result["msg"] == "MODULE FAILURE"
    assert [one["outcome"] for one in result["results"]] == ["applied", "unknown"]


def test_a_connection_that_breaks_keeps_what_was_known(monkeypatch: pytest.MonkeyPatch) -> None:
    first = answer("applied", "unknown", round=part(False, {"1": {}}, NOW + 9))
    result = Task(monkeypatch, first, AnsibleConnectionFailure("no route to host")).run()
    assert (result["unreachable"], result["changed"]) == (True, True)
    assert "no route to host" in result["msg"]
    assert [one["outcome"] for one in result["results"]] == ["applied", "unknown"]


def test_a_connection_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(monkeypatch, AnsibleConnectionFailure("no route to host"))
    with pytest.raises(AnsibleConnectionFailure):
        task.run()


def test_a_module_that_fails_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(monkeypatch, {"failed": True, "msg": "no id"})
    assert task.run()["msg"] == "no id"
    assert len(task.asked) == 1

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action plugin: rounds, progress, warnings of every round, and the clock's check."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.plugins.action import ActionBase

from ansible_collections.hpcops.slurm.plugins.action import preflight
from ansible_collections.hpcops.slurm.plugins.action.preflight import ActionModule
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.rounds import (
    FIRST_ROUND,
    ROUND,
)

STEADY = dict.fromkeys(("began", "asked", "answered", "ended"), 5.0)
CLOCK = {"as_of": 1000, "wall": 1796000000.0, **STEADY}


class Remote:
    """The module on the other side: its answers in order, and what it was asked."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []
        self.shown: list[str] = []
        self.commands: list[str] = []
        self.clock = "1796000000.5\n"

    def execute(self, *_: Any, module_args: dict[str, Any], **more: Any) -> dict[str, Any]:
        del more
        self.asked.append(module_args)
        return self.answers.pop(0)

    def low_level(self, command: str, **more: Any) -> dict[str, Any]:
        del more
        self.commands.append(command)
        return {"stdout": self.clock, "rc": 0}


@pytest.fixture
def act(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the plugin against a remote side."""

    def run(remote: Remote, times: Sequence[float] = (), **args: Any) -> dict[str, Any]:
        clock = iter(times)
        monkeypatch.setattr(
            ActionBase, "_execute_module", lambda self, **more: remote.execute(**more)
        )
        monkeypatch.setattr(
            ActionBase,
            "_low_level_execute_command",
            lambda self, command, **more: remote.low_level(command, **more),
        )
        monkeypatch.setattr(ActionBase, "run", lambda self, tmp=None, task_vars=None: {})
        monkeypatch.setattr(preflight.display, "display", remote.shown.append)
        monkeypatch.setattr(time, "time", lambda: next(clock, 1000.5))
        plugin = ActionModule.__new__(ActionModule)
        monkeypatch.setattr(plugin, "_task", SimpleNamespace(args=args), raising=False)
        return plugin.run(task_vars={"inventory_hostname": "alpha"})

    return run


def part(finished: bool, **more: Any) -> dict[str, Any]:
    return {"finished": finished, "clock": CLOCK, "clock_skew_max": 5.0, **more}


def facts(*names: str) -> dict[str, Any]:
    checks = [{"name": name, "verdict": "unknown"} for name in names]
    return {"slurm_preflight": {"checks": checks}}


def test_one_round(act: Any) -> None:
    remote = Remote(
        {
            "changed": False,
            "round": part(True),
            "ansible_facts": facts("version", "clock_skew"),
        }
    )
    result = act(remote, probe="never", _round="forged")
    assert "round" not in result
    assert "warnings" not in result
    checks = result["ansible_facts"]["slurm_preflight"]["checks"]
    assert [one["verdict"] for one in checks] == ["unknown", "pass"]
    assert remote.asked == [
        {"probe": "never", "_round": {"state": None, "skew": None, "wait": FIRST_ROUND}}
    ]
    assert (remote.shown, remote.commands) == ([], [])


def test_rounds_with_progress(act: Any) -> None:
    waiting = part(False, waiting=True, job_id="41", limit=60, state={"job_id": "41"})
    remote = Remote(
        {"round": {**waiting, "waited": 4.0}},
        {"round": {**waiting, "waited": 12.3}},
        {"round": part(False, waiting=False, state={"job_id": "41"})},
        {"changed": True, "round": part(True), "ansible_facts": facts("clock_skew")},
    )
    result = act(remote)
    assert result["changed"] is True
    assert [one["_round"]["state"] for one in remote.asked] == [None] + [{"job_id": "41"}] * 3
    assert [one["_round"]["wait"] for one in remote.asked] == [FIRST_ROUND] + [ROUND] * 3
    assert [one["_round"]["skew"] is None for one in remote.asked] == [True, False, False, False]
    text = "[alpha] preflight: probe job 41 is cancelled, waiting for its row in sacct: "
    assert remote.shown == [text + "4 s of 60 s", text + "12 s of 60 s"]


def test_the_hosts_clock_is_looked_at_once_a_round(act: Any) -> None:
    remote = Remote(
        {"round": part(False, waiting=False)},
        {"round": part(True), "ansible_facts": facts("clock_skew")},
    )
    act(remote)
    assert remote.commands == ["date +%s.%N"]
    assert remote.asked[1]["_round"]["skew"][:2] == [-0.5, 0.0]


@pytest.mark.parametrize(("clock", "looks"), [("1796000000.5\n", 1), ("+%s.%N: bad\n", 3)])
def test_a_vague_skew_is_looked_into(
    act: Any, monkeypatch: pytest.MonkeyPatch, clock: str, looks: int
) -> None:
    remote = Remote({"round": part(True), "ansible_facts": facts("clock_skew")})
    remote.clock = clock
    result = act(remote, times=[900.0, 1100.0])
    assert len(remote.commands) == looks
    verdict = result["ansible_facts"]["slurm_preflight"]["checks"][0]["verdict"]
    assert verdict == ("pass" if looks == 1 else "unknown")


def test_warnings_of_every_round_are_shown_once(act: Any) -> None:
    remote = Remote(
        {"round": part(False, waiting=False), "warnings": ["first", "both"]},
        {"round": part(True), "warnings": ["both", "last"]},
    )
    assert act(remote)["warnings"] == ["first", "both", "last"]


@pytest.mark.parametrize(
    "answer",
    [
        {"failed": True, "msg": "MODULE FAILURE"},
        {"failed": True, "msg": "bad option", "warnings": ["x"]},
        {"skipped": True},
        {"failed": True, "round": None, "ansible_facts": {}},
    ],
)
def test_a_module_that_ended_early_is_handed_through(act: Any, answer: dict[str, Any]) -> None:
    expected = {key: value for key, value in answer.items() if key != "round"}
    assert act(Remote(dict(answer))) == expected


def test_a_failure_keeps_its_facts(act: Any) -> None:
    failure = {
        "failed": True,
        "msg": "Could not read the configuration",
        "round": {"finished": True, "clock": None, "clock_skew_max": 5.0},
        "ansible_facts": facts("clock_skew"),
    }
    result = act(Remote(failure))
    assert result["failed"] is True
    assert result["ansible_facts"]["slurm_preflight"]["checks"][0]["verdict"] == "unknown"


def test_it_runs_in_check_mode_and_not_in_the_background() -> None:
    assert ActionModule._supports_check_mode is True
    assert ActionModule._supports_async is False
    assert ActionModule._requires_connection is True

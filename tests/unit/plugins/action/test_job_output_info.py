# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action plugin that follows: what it asks for, when it ends, and what it keeps."""

from __future__ import annotations

import base64
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from ansible_collections.hpcops.slurm.plugins.action import job_output_info
from ansible_collections.hpcops.slurm.plugins.action.job_output_info import POLL, ActionModule


class Clock:
    """What the plugin takes for the module ``time``."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def answer(
    data: bytes, offset: int = 0, ended: str = "no", execution: int = 0, **more: Any
) -> dict[str, Any]:
    """One look of the module at one file."""
    part = {
        "stream": "stdout",
        "execution": execution,
        "path": f"/o/41.{execution}.out",
        "state": "read" if data else "empty",
        "offset": offset,
        "base64": base64.b64encode(data).decode(),
        "text": None,
    }
    return {
        "changed": False,
        "job_id": "41",
        "output_dir": "/o",
        "parts": [part],
        "next": {"stdout": {"execution": execution, "offset": offset + len(data)}},
        "complete": True,
        "ended": ended,
        "shown": "yes",
        "state": "RUNNING",
        "invocation": {"module_args": {"max_bytes": 100}},
        **more,
    }


class Follower:
    """Runs the plugin against answers in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch, self.clock = monkeypatch, Clock()
        self.asked: list[dict[str, Any]] = []
        self.shown: list[str] = []

    def run(self, *answers: Any, **args: Any) -> dict[str, Any]:
        left = list(answers)

        def execute(*_: Any, module_args: dict[str, Any], **more: Any) -> dict[str, Any]:
            del more
            self.asked.append(module_args)
            found = left.pop(0)
            if isinstance(found, Exception):
                raise found
            return dict(found)

        patch = self.monkeypatch.setattr
        patch(ActionBase, "_execute_module", lambda self, **more: execute(**more))
        patch(ActionBase, "run", lambda self, tmp=None, task_vars=None: {})
        patch(job_output_info, "time", self.clock)
        patch(job_output_info.display, "display", self.shown.append)
        plugin = ActionModule.__new__(ActionModule)
        task = SimpleNamespace(args=args, action="job_output_info")
        patch(plugin, "_task", task, raising=False)
        result: dict[str, Any] = plugin.run(task_vars={"inventory_hostname": "alpha"})
        assert left == []
        return result


@pytest.fixture
def follower(monkeypatch: pytest.MonkeyPatch) -> Follower:
    return Follower(monkeypatch)


def test_one_look(follower: Follower) -> None:
    first = answer(b"a")
    assert follower.run(first, submission="s") == first
    assert follower.run({"failed": True, "msg": "x"}, follow=True) == {"failed": True, "msg": "x"}


def test_follows_until_the_end(follower: Follower) -> None:
    """From where the last look ended, every two seconds, the same job."""
    result = follower.run(
        answer(b"caf\xc3"),
        answer(b"\xa9", 4),
        answer(b"", 5),
        answer(b"x", execution=1, ended="yes"),
        submission="s",
        attempt=2,
        follow="yes",
    )
    first, second = result["parts"]
    assert (first["text"], first["offset"], first["state"]) == ("caf\u00e9", 0, "read")
    assert base64.b64decode(second["base64"]) == b"x"
    assert result["stopped"] == "ended"
    assert follower.clock.slept == [POLL] * 3
    again = {"job_id": "41", "output_dir": "/o", "follow": "yes"}
    assert follower.asked[1] == {
        **again, "max_bytes": 96, "offsets": {"stdout": {"execution": 0, "offset": 4}}
    }  # fmt: skip
    assert follower.asked[2]["max_bytes"] == 95


def test_what_is_there_is_read_without_a_pause(follower: Follower) -> None:
    more = answer(b"a", ended="yes", complete=False)
    assert follower.run(more, answer(b"b", 1, "yes"), follow=True)["parts"][0]["text"] == "ab"
    assert follower.clock.slept == []


@pytest.mark.parametrize(
    ("given", "args", "why"),
    [
        (answer(b"x" * 100), {}, "max_bytes"),
        (answer(b"x"), {"follow_limit": 0}, "limit"),
        (answer(b"x", ended="unknown", shown="no"), {}, "unknown"),
        (answer(b"x", ended="yes"), {}, "ended"),
    ],
)
def test_stops(follower: Follower, given: dict[str, Any], args: dict[str, Any], why: str) -> None:
    assert follower.run(given, follow=True, **args)["stopped"] == why


def test_a_controller_that_hangs_is_waited_for(follower: Follower) -> None:
    hangs = answer(b"", 1, "unknown", shown="unknown", state="unknown")
    result = follower.run(answer(b"x"), hangs, answer(b"y", 1, "yes"), follow=True)
    assert (result["stopped"], result["parts"][0]["text"]) == ("ended", "xy")


def test_progress(follower: Follower) -> None:
    looks = [answer(b"x", number) for number in range(6)]
    follower.run(*looks, answer(b"", 6, "yes"), follow=True, follow_limit=60)
    said = "[alpha] job_output_info: job 41 is RUNNING: 5 bytes after 10 s of 60 s at most"
    assert follower.shown == [said]


@pytest.mark.parametrize(
    "trouble",
    [{"failed": True, "msg": "no"}, AnsibleConnectionFailure("gone"), {"unreachable": True}],
)
def test_trouble_keeps_what_was_read(follower: Follower, trouble: Any) -> None:
    result = follower.run(answer(b"x"), trouble, follow=True)
    assert (result["failed"], result["complete"]) == (True, False)
    assert base64.b64decode(result["parts"][0]["base64"]) == b"x"
    assert result["next"] == {"stdout": {"execution": 0, "offset": 1}}

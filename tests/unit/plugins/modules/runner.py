# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a module's main() on scripted commands, and module specs that are data.

A spec file has ``test_cases``, each with ``id``, ``input`` (the options), ``flags`` (``check``),
``environ`` (of the task), ``files`` (made before, TMP in a text is the test's folder), ``commands``
and ``output``. Every command that the module runs has to be the next one of ``commands``, with
these very arguments and this environment, and none may be left over. ``output`` is compared key by
key, at any depth; a list has to have the same length. A text in ``contains`` stands in the value.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from ansible.module_utils import basic

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import (
    PINNED,
    Commands,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Reply

#: The environment of a task, but for what a spec adds.
TASK = {"PATH": "/nowhere", "HOME": "/root"}


class Left(BaseException):
    """The module has left, with this result."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__(result)
        self.result = result


@dataclass
class Script:
    """The commands that a module is expected to run, and what each answers."""

    expected: Sequence[Mapping[str, Any]]
    calls: list[tuple[str, ...]] = field(default_factory=list)

    def run(
        self,
        commands: Commands,
        program: str,
        *arguments: str,
        time_limit: float | None = None,
        text_in: str | None = None,
    ) -> Reply:
        """What stands in the place of Commands.run."""
        del time_limit, text_in
        argv = (program, *arguments)
        number = len(self.calls)
        self.calls.append(argv)
        assert number < len(self.expected), f"one command too many: {argv}"
        wanted = self.expected[number]
        assert list(argv) == wanted["command"]
        assert commands.environment == {**TASK, **PINNED, **wanted.get("environ", {})}
        return Reply(
            argv,
            wanted.get("rc", 0),
            str(wanted.get("out", "")).encode(),
            str(wanted.get("err", "")).encode(),
            timed_out=wanted.get("timed_out", False),
            not_started=wanted.get("not_started", False),
        )


def leave(
    module: ModuleType,
    options: Mapping[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    check: bool = False,
) -> dict[str, Any]:
    """The result with which a module leaves. It has to be JSON, and has to be the only one."""

    def exit_json(self: basic.AnsibleModule, **result: Any) -> None:
        del self
        raise Left(result)

    def fail_json(self: basic.AnsibleModule, msg: str, **result: Any) -> None:
        del self
        raise Left({**result, "msg": msg, "failed": True})

    arguments = {**options, "_ansible_check_mode": check}
    data = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode()
    monkeypatch.setattr(basic, "_ANSIBLE_ARGS", data)
    if hasattr(basic, "_ANSIBLE_PROFILE"):
        monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy")
    monkeypatch.setattr(basic.AnsibleModule, "exit_json", exit_json)
    monkeypatch.setattr(basic.AnsibleModule, "fail_json", fail_json)
    result = _left(module)
    json.dumps(result, allow_nan=False, ensure_ascii=False).encode("utf-8")
    return result


def _left(module: ModuleType) -> dict[str, Any]:
    """The result, handed to exit_json or fail_json, or printed before there is a module."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            module.main()
        except Left as left:
            return left.result
        except SystemExit:
            pass
    result: dict[str, Any] = json.loads(printed.getvalue())
    assert result["failed"]
    return result


def specs(name: str) -> list[Any]:
    """The test cases of a spec file, for parametrize."""
    path = Path(__file__).with_name(name)
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [pytest.param(case, id=case["id"]) for case in document["test_cases"]]


def check_spec(
    module: ModuleType, case: Mapping[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run one test case."""
    case = json.loads(json.dumps(case).replace("TMP", str(tmp_path)))
    for path, text in case.get("files", {}).items():
        Path(path).write_text(text)
    monkeypatch.setattr(os, "environ", {**TASK, **case.get("environ", {})})
    script = Script(case.get("commands", []))

    def run(commands: Commands, program: str, *arguments: str, **more: Any) -> Reply:
        return script.run(commands, program, *arguments, **more)

    @contextlib.contextmanager
    def beside(commands: Commands, program: str, *arguments: str) -> Iterator[Callable[[], Reply]]:
        yield lambda: run(commands, program, *arguments)

    monkeypatch.setattr(Commands, "run", run)
    monkeypatch.setattr(Commands, "beside", beside)
    check = case.get("flags", {}).get("check", False)
    result = leave(module, case["input"], monkeypatch, check)
    assert len(script.calls) == len(script.expected), "commands that were not run"
    differing = list(differences(case["output"], result, "result"))
    assert differing == []


def differences(wanted: Any, found: Any, where: str) -> list[str]:
    """Where a result is not what was wanted."""
    if isinstance(wanted, dict) and set(wanted) == {"contains"}:
        return [] if wanted["contains"] in str(found) else [f"{where}: {found!r}"]
    if isinstance(wanted, dict) and isinstance(found, Mapping):
        return [
            text
            for key, value in wanted.items()
            for text in differences(value, found.get(key, "(missing)"), f"{where}.{key}")
        ]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        return [
            text
            for number, value in enumerate(wanted)
            for text in differences(value, found[number], f"{where}[{number}]")
        ]
    return [] if type(wanted) is type(found) and wanted == found else [f"{where}: {found!r}"]

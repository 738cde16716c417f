# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module preflight: by its specs, on a fake Slurm, with any options, and as a process."""

from __future__ import annotations

import json
import os
import pwd
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Commands
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Reply
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.preflight import Preflight
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.started import Interrupted
from ansible_collections.hpcops.slurm.plugins.modules import config_info, preflight
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._preflight.fake_slurm import (
    FakeSlurm,
)
from ansible_collections.hpcops.slurm.tests.unit.plugins.modules.runner import (
    check_spec,
    leave,
    specs,
)


@pytest.mark.parametrize("case", specs("test_preflight.yml"))
def test_spec(case: Mapping[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_spec(preflight, case, tmp_path, monkeypatch)


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    """A sound cluster in the place of all commands."""
    fake = FakeSlurm()

    def run(commands: Commands, program: str, *arguments: str, **more: Any) -> Reply:
        del commands
        return fake(program, *arguments, **more)

    monkeypatch.setattr(Commands, "run", run)
    return fake


def two_rounds(monkeypatch: pytest.MonkeyPatch, **options: Any) -> dict[str, Any]:
    """The module's result of a probing preflight; the skew is given to the second round."""
    first = leave(preflight, options, monkeypatch)
    assert first["round"]["finished"] is False
    message = {"state": first["round"]["state"], "skew": [-0.5, 0.5, 0.25], "wait": 6.0}
    return leave(preflight, {**options, "_round": message}, monkeypatch)


def test_two_rounds_make_a_probe(
    slurm: FakeSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = two_rounds(monkeypatch, cache_path=str(tmp_path / "cache"))
    facts = result["ansible_facts"]["slurm_preflight"]
    support = {one["name"]: one["support"] for one in facts["capabilities"]}
    assert (support["Hold"], support["AccountingHistory"]) == ("yes", "yes")
    assert (result["changed"], result["round"]["finished"]) == (True, True)
    assert facts["probe"]["user"] == pwd.getpwuid(os.geteuid()).pw_name
    assert facts["probe"]["host"] == socket.gethostname()
    assert slurm.living == []


def test_a_user_that_no_directory_knows(
    slurm: FakeSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    result = leave(preflight, {"cache_path": str(tmp_path / "cache")}, monkeypatch)
    assert result["round"]["state"]["job_id"] == "41"
    assert slurm.of("squeue")[0][6] == f"--user={os.geteuid()}"


@pytest.mark.parametrize("trouble", ["", "probe job 41 is still there after scancel"])
def test_an_interrupted_probe_says_what_is_left(
    slurm: FakeSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    del slurm

    def interrupted(self: object) -> None:
        raise Interrupted(15, trouble)

    monkeypatch.setattr(Preflight, "round", interrupted)
    result = leave(preflight, {"cache_path": str(tmp_path / "cache")}, monkeypatch)
    assert result["failed"] is True
    wanted = f"a probe job may be left: {trouble}" if trouble else "the probe's job was removed"
    assert result["msg"] == f"Interrupted by SIGTERM; {wanted}"


# Any options

ODD = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "",
            " ",
            "-",
            "--help",
            "-x",
            "a\0b",
            "a\nb",
            "\x1b[31m",
            "$(id)",
            "`id`",
            "; rm -rf x",
            "'",
            '"',
            "{{ 7*7 }}",
            "%s%n",
            "\u202e",
            "x" * 200000,
            "/dev/zero",
            "/dev/null/x",
            "/proc/self/mem",
            "~nobody-at-all/x",
            "$HOME$PATH",
            "/" + "x" * 300,
            "..",
        ]
    ),
)
NUMBER = st.one_of(
    st.integers(), st.floats(), st.sampled_from(["nan", "inf", "-inf", "1e400", "0x1", "", "soon"])
)
OPTIONS = {
    "probe": st.one_of(st.sampled_from(["auto", "always", "never"]), ODD),
    "probe_max_age": NUMBER,
    "cache_path": ODD,
    "command_timeout": NUMBER,
    "slurm_conf": ODD,
    "cessation_command": st.one_of(ODD, st.lists(ODD, max_size=3)),
    "rules": st.one_of(ODD, st.lists(ODD, max_size=3)),
    "partition": ODD,
    "account": ODD,
    "qos": ODD,
    "clock_skew_max": NUMBER,
    "poll_interval": NUMBER,
}


#: The options that every module has.
OF_ALL = {key: OPTIONS[key] for key in ("slurm_conf", "command_timeout")}


@given(st.fixed_dictionaries({}, optional=OPTIONS), st.booleans())
@settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_options_end_in_a_result(tmp_path: Path, options: dict[str, Any], check: bool) -> None:
    """Never an exception, never text that can't be sent; and no job is left."""
    fake = FakeSlurm()
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setattr(preflight, "default_path", lambda *_: str(tmp_path / "cache"))

        def run(commands: Commands, program: str, *arguments: str, **more: Any) -> Reply:
            del commands
            return fake(program, *arguments, **more)

        monkeypatch.setattr(Commands, "run", run)
        result = leave(preflight, options, monkeypatch, check)
    assert "round" in result or result["failed"]
    assert fake.living == []


@given(st.fixed_dictionaries({}, optional=OF_ALL))
@settings(
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_options_of_config_info(options: dict[str, Any]) -> None:
    fake = FakeSlurm()
    with pytest.MonkeyPatch.context() as monkeypatch:

        def run(commands: Commands, program: str, *arguments: str, **more: Any) -> Reply:
            del commands
            return fake(program, *arguments, **more)

        monkeypatch.setattr(Commands, "run", run)
        result = leave(config_info, options, monkeypatch)
    assert "settings" in result or result["failed"]


# As a process

SCONTROL = """#!/bin/sh
case "$*" in
"show config") printf 'Configuration data as of 1796035468\\nMinJobAge = 60 sec\\n' ;;
*) exit 1 ;;
esac
"""


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a module as Ansible does: a process with its options on standard input."""
    program = tmp_path / "bin" / "scontrol"
    program.parent.mkdir()
    program.write_text(SCONTROL)
    program.chmod(0o755)

    def run(name: str, **options: Any) -> subprocess.CompletedProcess[str]:
        code = (
            "from ansible.module_utils import basic\n"
            "basic._ANSIBLE_PROFILE = 'legacy'\n"
            f"from ansible_collections.hpcops.slurm.plugins.modules import {name}\n"
            f"{name}.main()\n"
        )
        return subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps({"ANSIBLE_MODULE_ARGS": options}),
            env={
                "PATH": f"{program.parent}",
                "PYTHONPATH": os.pathsep.join(sys.path),
                "HOME": str(tmp_path),
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def test_config_info_as_a_process(
    process: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = process("config_info")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["settings"] == {"MinJobAge": 60}


@pytest.mark.parametrize("value", ["a\0b", "\ud800", "x" * 5000, "nan"])
@pytest.mark.parametrize("option", ["slurm_conf", "partition", "cache_path", "command_timeout"])
def test_odd_options_of_a_process(
    process: Callable[..., subprocess.CompletedProcess[str]], option: str, value: str
) -> None:
    done = process("preflight", **{"probe": "never", option: value})
    result = json.loads(done.stdout)
    assert "Traceback" not in done.stdout + done.stderr
    assert ("msg" in result) or option in ("partition", "cache_path")
    assert result.get("failed", False) == (done.returncode != 0)

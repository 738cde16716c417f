# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the module config_setting, and what it does with files of a host."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.modules import config_setting
from ansible_collections.hpcops.slurm.plugins.modules.config_setting import Files, refused

EMPTY = {"name": "MinJobAge", "members": None, "part": None, "at_least": None, "at_most": None}


def options(**setting: Any) -> dict[str, Any]:
    return {"settings": [{**EMPTY, **setting}], "settle_timeout": 60, "command_timeout": 70}


@pytest.mark.parametrize(
    "setting",
    [
        {"at_least": 0},
        {"at_most": 4294967293},
        {"at_least": 5, "at_most": 5},
        {"part": "ttl", "at_most": 60},
        {"members": ["job_comment", "a+b", "bf_max=5"[:6]]},
    ],
)
def test_options(setting: dict[str, Any]) -> None:
    assert refused(options(**setting)) is None


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({}, "MinJobAge has to have members, or else at_least or at_most"),
        ({"members": []}, "has to have members"),
        ({"members": ["a"], "at_least": 1}, "has to have members"),
        ({"members": ["a"], "part": "b"}, "has a part"),
        ({"at_least": 6, "at_most": 5}, "0 <= at_least <= at_most"),
        ({"at_least": -1}, "0 <= at_least"),
        ({"at_least": 4294967294}, "at_most <= 4294967293"),
        ({"members": ["a,b"]}, "'a,b' is not a name or a flag"),
        ({"members": ['a"']}, "is not a name or a flag"),
        ({"members": ["a#"]}, "is not a name or a flag"),
        ({"members": ["a\nNodeName"]}, "is not a name or a flag"),
        ({"members": [""]}, "is not a name or a flag"),
        ({"part": "", "at_least": 1}, "is not a name or a flag"),
        ({"part": "a=b", "at_least": 1}, "is not a name or a flag"),
        ({"name": "Min JobAge", "at_least": 1}, "is not a name or a flag"),
        ({"name": "MinJobAge\\", "at_least": 1}, "is not a name or a flag"),
    ],
)
def test_mistakes(setting: dict[str, Any], said: str) -> None:
    assert said in str(refused(options(**setting)))


def test_the_limits_of_time() -> None:
    assert "settle_timeout" in str(refused({**options(at_least=1), "settle_timeout": 0}))


class Ansible:
    """The helpers of AnsibleModule that the files need."""

    def __init__(self, folder: Path) -> None:
        self.tmpdir = str(folder)
        self.params = {"command_timeout": 5.0}
        self.told: list[str] = []

    def fail_json(self, msg: str, **_more: object) -> None:
        self.told.append(msg)

    def atomic_move(self, source: str, target: str) -> None:
        if target.endswith("forbidden"):
            self.fail_json(msg="Could not replace file", exception="...")
        os.replace(source, target)

    def backup_local(self, path: str) -> str:
        if not os.path.exists(path):
            self.fail_json(msg="Could not make backup")
        return path + "~"


def test_a_helper_that_fails_does_not_end_the_module(tmp_path: Path) -> None:
    module = Ansible(tmp_path)
    files = Files(module)
    with pytest.raises(OSError, match="Could not replace file"):
        files.store(str(tmp_path / "forbidden"), "A=1\n")
    with pytest.raises(OSError, match="Could not make backup"):
        files.keep(str(tmp_path / "missing"))
    assert module.told == []
    module.fail_json(msg="usual")
    assert module.told == ["usual"]


def test_bytes_are_written_as_they_were(tmp_path: Path) -> None:
    files = Files(Ansible(tmp_path))
    files.store(str(tmp_path / "a"), "# caf\udce9\r\n")
    assert (tmp_path / "a").read_bytes() == b"# caf\xe9\r\n"
    assert files.keep(str(tmp_path / "a")) == str(tmp_path / "a~")


def test_slurm_reads_the_text_from_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scontrol").write_text('#!/bin/sh\necho "$@"; cat "$SLURM_CONF"\n')
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    reply = Files(Ansible(tmp_path)).parse("A=1\n")
    assert (reply.status, reply.out) == (0, "show hostnames n1\nA=1\n")
    assert [one.name for one in tmp_path.iterdir()] == ["scontrol"]


def test_the_parser_is_told_no_other_file(tmp_path: Path) -> None:
    module = Ansible(tmp_path)
    # The stand-in has what is used of AnsibleModule, and numbers as its only other parameters.
    module.params["slurm_conf"] = "/etc/slurm/slurm.conf"  # type: ignore[assignment]
    host = config_setting.this_host(module)  # type: ignore[arg-type]
    assert host.environment["SLURM_CONF"] == "/etc/slurm/slurm.conf"
    assert host.names == {os.uname().nodename}

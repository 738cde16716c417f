# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What needs no root runs without it, and root is not led astray by what others have put there."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import SlurmError
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import Journal
from ansible_collections.hpcops.slurm.tests.unit.plugins.modules.runner import leave
from ansible_collections.hpcops.slurm.tests.unit.plugins.modules.test_hostile_options import (
    CHECKED,
    NAMES,
    Host,
    module_of,
)

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")


def work(name: str, host: Host, end: Path, user: int) -> None:
    """Run a module as a user, and leave its result in a file."""
    if user:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    os.umask(0o022)
    os.environ.update(PATH=str(host.bin), HOME=str(host.folder))
    with pytest.MonkeyPatch.context() as patch:
        result = leave(module_of(name), host.options(name), patch)
    end.write_text(json.dumps(result), encoding="utf-8")


def run_as(user: int, name: str) -> tuple[dict[str, Any], dict[str, os.stat_result]]:
    """A module's result, and the files that it has made, in a folder of the user's own."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        folder = Path(place)
        host = Host(folder)
        folder.chmod(0o755)
        for one in (folder, folder / "output"):
            os.chown(one, user, user)
        before = host.files()
        end = folder / "end"
        child = multiprocessing.get_context("fork").Process(
            target=work, args=(name, host, end, user)
        )
        child.start()
        child.join(60)
        assert child.exitcode == 0
        result = json.loads(end.read_text(encoding="utf-8"))
        made = {one.name: one.stat() for one in host.files() - before if one.name != "end"}
        return json.loads(json.dumps(result).replace(place, "HERE")), made


@as_root
@pytest.mark.parametrize("name", [one for one in NAMES if one not in CHECKED])
def test_without_root_it_is_the_same(name: str) -> None:
    mine, _made = run_as(0, name)
    theirs, made = run_as(NOBODY, name)
    for key in ("failed", "msg", "summary", "jobs", "results"):
        assert theirs.get(key) == mine.get(key), key
    assert {status.st_uid for status in made.values()} <= {NOBODY}
    assert "Permission denied" not in json.dumps(theirs)


@as_root
@pytest.mark.parametrize("name", ["job_hold", "job_submit"])
def test_nobody_else_reads_or_writes_the_journal(name: str) -> None:
    _result, made = run_as(NOBODY, name)
    for file in ("journal.jsonl", "state"):
        assert stat.S_IMODE(made[file].st_mode) & 0o077 == 0, file


# What others have put in the place of a directory or a file


def foreign_directory(place: Path) -> None:
    place.mkdir()
    os.chown(place, NOBODY, NOBODY)


def link_to_ours(place: Path) -> None:
    """Root's own directory, but somebody else says which one."""
    (place.parent / "ours").mkdir()
    foreign_link(place, place.parent / "ours")


def link_to_theirs(place: Path) -> None:
    foreign_directory(place.parent / "theirs")
    place.symlink_to(place.parent / "theirs")


def foreign_link(place: Path, target: Path) -> None:
    place.symlink_to(target)
    os.chown(place, NOBODY, NOBODY, follow_symlinks=False)


def file_in_it(place: Path) -> Path:
    place.mkdir(mode=0o1777)
    place.chmod(0o1777)
    return place / "journal.jsonl"


def foreign_file(place: Path) -> None:
    path = file_in_it(place)
    path.touch()
    os.chown(path, NOBODY, NOBODY)


def link_to_a_file_of_ours(place: Path) -> None:
    (place.parent / "precious").write_text("precious\n")
    foreign_link(file_in_it(place), place.parent / "precious")


def second_name_of_a_file_of_ours(place: Path) -> None:
    (place.parent / "precious").write_text("precious\n")
    os.link(place.parent / "precious", file_in_it(place))


@contextmanager
def shared() -> Iterator[Path]:
    """A directory like /tmp, where everybody may put things."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o1777)
        yield Path(folder)


@as_root
@pytest.mark.parametrize(
    "put",
    [
        foreign_directory,
        link_to_ours,
        link_to_theirs,
        foreign_file,
        link_to_a_file_of_ours,
        second_name_of_a_file_of_ours,
    ],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_root_writes_no_journal_there(put: Callable[[Path], None], read_only: bool) -> None:
    with shared() as folder:
        put(folder / "state")
        with pytest.raises(SlurmError, match="journal"), Journal(
            str(folder / "state"), read_only=read_only
        ):
            pass
        precious = folder / "precious"
        assert not precious.exists() or precious.read_text() == "precious\n"
        assert not list(folder.glob("ours/*")) + list(folder.glob("theirs/*"))

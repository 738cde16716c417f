# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.outputs import (
    Position,
    Wanted,
    complete,
    executions_there,
    output_name,
    position_from,
    read_output,
    read_part,
    whole_characters,
)

BOTH = {"stdout": Position(), "stderr": Position()}


def fill(folder: Path, **files: bytes) -> None:
    """Files of job 12, by execution and stream: ``out0``, ``err1``."""
    for name, data in files.items():
        (folder / f"12.{name[3:]}.{name[:3]}").write_bytes(data)


def states(
    folder: Path, last: int, limit: int = 100, **positions: Position
) -> list[tuple[str, str]]:
    parts, _ends = read_output(Wanted(str(folder), 12, last, positions or BOTH, limit))
    return [(Path(one.path).name, one.state) for one in parts]


def test_names() -> None:
    names = [output_name(12, 3, stream) for stream in ("stdout", "stderr", "slurm")]
    assert names == ["12.3.out", "12.3.err", "12.slurm"]


def test_executions_in_turn(tmp_path: Path) -> None:
    fill(tmp_path, out0=b"a", err0=b"", out1=b"b", err2=b"c")
    (tmp_path / "12.slurm").write_bytes(b"s")
    wanted = Wanted(str(tmp_path), 12, 2, {**BOTH, "slurm": Position()}, 100)
    parts, ends = read_output(wanted)
    assert [(Path(one.path).name, one.state, one.data) for one in parts] == [
        ("12.0.out", "read", b"a"), ("12.1.out", "read", b"b"), ("12.2.out", "missing", b""),
        ("12.0.err", "empty", b""), ("12.1.err", "missing", b""), ("12.2.err", "read", b"c"),
        ("12.slurm", "read", b"s"),
    ]  # fmt: skip
    assert complete(parts)
    assert ends == {"stdout": Position(2, 0), "stderr": Position(2, 1), "slurm": Position(0, 1)}


def test_limit_is_of_all_streams(tmp_path: Path) -> None:
    fill(tmp_path, out0=b"abc", out1=b"def", err0=b"ghi")
    assert states(tmp_path, 1, 4) == [
        ("12.0.out", "read"), ("12.1.out", "read"), ("12.0.err", "unread"),
    ]  # fmt: skip
    parts, ends = read_output(Wanted(str(tmp_path), 12, 1, BOTH, 4))
    assert not complete(parts)
    assert ends == {"stdout": Position(1, 1), "stderr": Position(0, 0)}


# Every example may use the same folder.
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.lists(st.one_of(st.none(), st.binary(max_size=40)), min_size=1, max_size=4),
    limit=st.integers(1, 30),
)
def test_read_in_pieces_is_the_whole(tmp_path: Path, files: list[bytes | None], limit: int) -> None:
    """Whatever the limit cuts, nothing is lost and nothing comes twice."""
    for path in tmp_path.glob("12.*"):
        path.unlink()
    for number, data in enumerate(files):
        if data is not None:
            fill(tmp_path, **{f"out{number}": data})
    position, found = {"stdout": Position()}, [b""] * len(files)
    for _round in range(200):
        wanted = Wanted(str(tmp_path), 12, len(files) - 1, position, limit)
        parts, position = read_output(wanted)
        assert sum(len(one.data) for one in parts) <= limit
        for one in parts:
            found[one.execution or 0] += one.data
        if complete(parts):
            break
    assert found == [data or b"" for data in files]


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "12.0.out")
    (tmp_path / "real").write_bytes(b"x")
    (tmp_path / "12.0.err").symlink_to(tmp_path / "real")
    parts, ends = read_output(Wanted(str(tmp_path), 12, 0, BOTH, 100))
    assert [one.state for one in parts] == ["unreadable", "unreadable"]
    assert parts[0].reason == "it is no regular file"
    assert not complete(parts)
    assert ends == BOTH


def test_missing_directory_is_told(tmp_path: Path) -> None:
    part = read_part(str(tmp_path / "none"), 12, 0, "stdout", 0, 10)
    assert part.state == "missing"
    assert part.reason == f"there is no directory {tmp_path}/none on this host"
    assert read_part(str(tmp_path), 12, 0, "stdout", 0, 10).reason == "No such file or directory"


def test_a_file_that_became_shorter(tmp_path: Path) -> None:
    fill(tmp_path, out0=b"abc")
    part = read_part(str(tmp_path), 12, 0, "stdout", 4, 10)
    assert (part.state, part.size) == ("unreadable", 3)
    assert "fewer than were read before" in part.reason


@pytest.mark.parametrize(
    ("data", "whole"),
    [
        (b"caf\xc3\xa9", b"caf\xc3\xa9"),
        (b"caf\xc3", b"caf"),
        (b"\xe6\x97", b"\xe6\x97"),  # nothing else there: it has to come out one day
        (b"a\xff", b"a\xff"),
        (b"", b""),
    ],
)
def test_characters_stay_whole(data: bytes, whole: bytes) -> None:
    assert whole_characters(data) == whole


def test_executions_there(tmp_path: Path) -> None:
    for name in ("12.0.out", "12.3.err", "12.03.out", "120.7.out", "12.slurm", "12.4.out~"):
        (tmp_path / name).touch()
    assert executions_there(str(tmp_path), 12) == (0, 3)
    assert executions_there(str(tmp_path / "none"), 12) == ()


def test_positions() -> None:
    assert position_from(None, "stdout") == Position()
    assert position_from(Position(2, 7).as_result(), "stdout") == Position(2, 7)
    with pytest.raises(ValueError, match=r"offsets.stdout is below 0"):
        position_from({"execution": 0, "offset": -1}, "stdout")

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows that can't be forged."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    FailureClass,
    Reply,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import (
    Marks,
    format_option,
    fresh_marks,
    sacct_rows,
    shortened,
    squeue_rows,
)
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes

MARKS = Marks("~abc", "^abc")
#: Whatever a job's name may hold: bytes without NUL.
VALUE = st.binary(max_size=20).map(lambda value: value.replace(b"\0", b""))
TABLE = st.lists(st.lists(VALUE, min_size=3, max_size=3), max_size=5)


def unreadable(rows: Callable[[], Iterable[list[str]]]) -> SlurmError:
    """The error that reading raises."""
    with pytest.raises(SlurmError) as raised:
        list(rows())
    assert raised.value.failure is FailureClass.OUTPUT_UNREADABLE
    return raised.value


def test_marks_are_new_for_every_call() -> None:
    marks = [fresh_marks() for _time in range(1000)]
    assert len({mark.separator for mark in marks}) == 1000
    for mark in marks:
        assert mark.separator != mark.end
        # squeue would read a digit or a dot as the field's width; a comma or colon ends it.
        assert not {mark.separator[0], mark.end[0]} & set("0123456789.+- ")
        assert not set(mark.separator + mark.end) & set(",:\n")


def test_format_marks_every_field() -> None:
    assert format_option(("JobID", "Name"), MARKS) == "JobID:~abc,Name:^abc"


def test_values_come_through_raw() -> None:
    out = b"1~abcx|\n2~def\n^abc\n\xff\xfe~abc^abcd\n^abc\n"
    assert list(squeue_rows(out, MARKS, 2)) == [
        ["1", "x|\n2~def\n"],
        ["\udcff\udcfe", "^abcd\n"],
    ]


def test_nothing_is_no_row() -> None:
    assert list(squeue_rows(b"", MARKS, 2)) == []
    assert list(sacct_rows(b"", "~abc", 2)) == []


@pytest.mark.parametrize(
    ("out", "text"),
    [
        (b"slurm_load_jobs error: X\n", "slurm_load_jobs error: X"),
        (b"1~abcx^abc\nwarning", "warning"),
        (b"warning\n1~abcx~abcy^abc\n", "warning"),
        (b"1~abcx^abc", "1~abcx"),
        (b"1^abc\n", "1"),
        (b"1~abcx~abcy^abc\n", "1~abcx~abcy"),
        (b"\n", ""),
        (b"41007|RUNNING\n", "41007|RUNNING"),
    ],
)
def test_other_text_from_squeue_is_unreadable(out: bytes, text: str) -> None:
    error = unreadable(lambda: squeue_rows(out, MARKS, 2))
    assert text in error.evidence["text"]


@pytest.mark.parametrize(
    "out",
    [b"x\n", b"1~abc", b"1~abc\n", b"1~abc2~abc", b"1~abc2~abc3~abc4~abc\n", b"1~abc2~abc\n\n"],
)
def test_other_text_from_sacct_is_unreadable(out: bytes) -> None:
    unreadable(lambda: sacct_rows(out, "~abc", 2))


@given(TABLE)
def test_any_values_of_squeue_come_back(table: list[list[bytes]]) -> None:
    marks = fresh_marks()
    out = b"".join(marks.separator.encode().join(row) + marks.end.encode() + b"\n" for row in table)
    assert encoded(squeue_rows(out, marks, 3)) == table


@given(TABLE)
def test_any_values_of_sacct_come_back(table: list[list[bytes]]) -> None:
    delimiter = fresh_marks().separator
    out = b"".join(b"".join(value + delimiter.encode() for value in row) + b"\n" for row in table)
    assert encoded(sacct_rows(out, delimiter, 3)) == table


@given(TABLE, st.binary(min_size=1, max_size=10), st.integers(0, 200))
def test_text_put_between_is_never_lost(table: list[list[bytes]], text: bytes, at: int) -> None:
    """What something else prints into the output makes it unreadable, or stands in a value."""
    marks = fresh_marks()
    out = b"".join(marks.separator.encode().join(row) + marks.end.encode() + b"\n" for row in table)
    at = min(at, len(out))
    rows = fakes.list_or_unreadable(lambda: squeue_rows(out[:at] + text + out[at:], marks, 3))
    if rows is None:
        return
    assert len(rows) == len(table)
    assert sum(len(value) for row in encoded(rows) for value in row) == len(text) + sum(
        len(value) for row in table for value in row
    )


@given(st.binary(max_size=200))
def test_any_output_is_rows_or_unreadable(out: bytes) -> None:
    fakes.list_or_unreadable(lambda: squeue_rows(out, MARKS, 2))
    fakes.list_or_unreadable(lambda: sacct_rows(out, MARKS.separator, 2))


def encoded(rows: Iterable[list[str]]) -> list[list[bytes]]:
    """The rows as bytes again."""
    return [[value.encode("utf-8", "surrogateescape") for value in row] for row in rows]


def test_a_long_reply_is_shown_by_its_beginning() -> None:
    reply = shortened(Reply(("squeue", "-j" + "1," * 5000), 0, b"x" * 5000, b"why"))
    assert len(reply.stdout) == 500
    assert len(reply.argv[1]) < 600
    assert reply.stderr == b"why"

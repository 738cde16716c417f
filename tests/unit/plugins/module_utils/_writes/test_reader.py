# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The strict reader: what it refuses, and that it never reads what a stream doesn't carry."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._writes.reader import (
    CallReport,
    Unreadable,
    read_reports,
    read_sent,
)

NONCE = "0123456789abcdef"
OTHER = "fedcba9876543210"


def line(number: object, status: object, nonce: str = NONCE) -> bytes:
    """One status line."""
    return f"\x1eDSL {nonce} call {number} {status}\n".encode()


def test_calls_and_their_own_text() -> None:
    stream = b"scontrol: no newline" + line(1, 0) + b"two\nlines\n" + line(2, 1) + line(3, 255)
    assert read_reports(stream, NONCE, 255) == (
        CallReport(1, 0, b"scontrol: no newline"),
        CallReport(2, 1, b"two\nlines\n"),
        CallReport(3, 255, b""),
    )


def test_numbers_may_leave_out_a_call() -> None:
    reports = read_reports(line(1, 1) + line(3, 0), NONCE, 0)
    assert not isinstance(reports, Unreadable)
    assert [one.number for one in reports] == [1, 3]


REFUSED = {
    "other nonce": (line(1, 0, OTHER), 0),
    "nonce in capitals": (line(1, 0, NONCE.upper()), 0),
    "part of the nonce": (line(1, 0, NONCE[:-1]), 0),
    "no nonce": (b"\x1eDSL call 1 0\n", 0),
    "one good line and one of another script": (line(1, 0) + line(2, 0, OTHER), 0),
    "the same number twice": (line(1, 0) + line(1, 0), 0),
    "a smaller number": (line(2, 0) + line(1, 0), 0),
    "number 0": (line(0, 0), 0),
    "number with a zero in front": (line("01", 0), 0),
    "negative number": (line(-1, 0), 0),
    "no number": (line("", 0), 0),
    "number of another script's digits": (line("\u0661", 0), 0),
    "status 256": (line(1, 256), 256),
    "status 1000": (line(1, 1000), 1000),
    "status with many digits": (line(1, "9" * 5000), 0),
    "status with a zero in front": (line(1, "00"), 0),
    "status with a sign": (line(1, "+0"), 0),
    "negative status": (line(1, -1), -1),
    "hexadecimal status": (line(1, "0x0"), 0),
    "status of another script's digits": (line(1, "\u0660"), 0),
    "status and a blank": (line(1, "0 "), 0),
    "status with a fraction": (line(1, "0.0"), 0),
    "no status": (line(1, ""), 0),
    "two statuses": (line(1, "0 0"), 0),
    "carriage return": (line(1, "0\r"), 0),
    "text after the last line": (line(1, 0) + b"late", 0),
    "a newline after the last line": (line(1, 0) + b"\n", 0),
    "nothing": (b"", 0),
    "text only": (b"Job has already finished for job 5\n", 1),
    "no end of the line": (line(1, 0)[:-1], 0),
    "no blank between the words": (b"\x1eDSL " + NONCE.encode() + b" call1 0\n", 0),
    "another word": (b"\x1eDSL " + NONCE.encode() + b" step 1 0\n", 0),
    "no frame": (line(1, 0)[1:], 0),
    "another frame": (b"\x1f" + line(1, 0)[1:], 0),
    "begins twice": (b"\x1eDSL " + line(1, 0), 0),
    "another exit status": (line(1, 0), 1),
    "exit status of the first call": (line(1, 0) + line(2, 1), 0),
    "killed": (line(1, 0), -9),
    "its end was not seen": (line(1, 0), None),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    stream, status = REFUSED[case]
    assert isinstance(read_reports(stream, NONCE, status), Unreadable)


def plainly_read(stream: bytes, nonce: bytes, status: int | None) -> list[tuple[int, int, bytes]]:
    """The same by the plainest means: word by word, and only words that are in a list."""
    statuses = [b"%d" % number for number in range(256)]
    found: list[tuple[int, int, bytes]] = []
    while stream:
        text, frame, rest = stream.partition(b"\x1eDSL ")
        one, newline, stream = rest.partition(b"\n")
        words = one.split(b" ")
        if not (frame and newline) or len(words) != 4 or words[:2] != [nonce, b"call"]:
            return []
        digits = words[2] != b"" and set(words[2]) <= set(b"0123456789")
        if not digits or words[2][:1] == b"0" or len(words[2]) > 6 or words[3] not in statuses:
            return []
        if found and int(words[2]) <= found[-1][0]:
            return []
        found.append((int(words[2]), int(words[3]), text))
    return found if found and found[-1][1] == status else []


def agree(stream: bytes, status: int | None) -> None:
    """The reader reads what the plain reading reads, and what it read makes up the stream."""
    reports = read_reports(stream, NONCE, status)
    plain = plainly_read(stream, NONCE.encode(), status)
    if isinstance(reports, Unreadable):
        assert plain == []
        return
    assert [(one.number, one.status, one.text) for one in reports] == plain
    assert b"".join(one.text + line(one.number, one.status) for one in reports) == stream
    assert reports[-1].status == status


TEXTS = st.sampled_from(
    [
        b"",
        b"Job has already finished for job 5\n",
        b"Killed\n",
        b"no newline",
        b"\x1e",
        b"\x1eDSL",
        b"DSL 0123456789abcdef call 1 0\n",
        b"\xff\xfe\x00\n\n",
    ]
) | st.binary(max_size=12)
CALLS = st.lists(
    st.tuples(TEXTS, st.integers(1, 3), st.sampled_from([0, 1, 75, 76, 124, 126, 127, 137, 255])),
    min_size=1,
    max_size=4,
)
PIECES = [
    line(1, 0, OTHER),
    line(2, 0),
    b"\x1eDSL ",
    b"\x1e",
    b"\n",
    b" ",
    b"0",
    b"9",
    NONCE.encode(),
    b" call ",
]
#: What is done to a stream: each three bytes are a kind of change, a place as parts of 256 of its
#: length, and a value.
CHANGES = st.binary(min_size=3, max_size=9)


def changed(stream: bytes, changes: bytes) -> bytes:
    """A stream with bytes flipped, put in, taken out, lines doubled and swapped, or cut off."""
    for start in range(0, len(changes) - 2, 3):
        kind, where, what = changes[start] % 7, changes[start + 1], changes[start + 2]
        at = where * len(stream) // 256
        lines = stream.splitlines(keepends=True)
        row = where * len(lines) // 256
        if kind == 0 and stream:
            stream = stream[:at] + bytes([stream[at] ^ (what or 1)]) + stream[at + 1 :]
        elif kind == 1:
            stream = stream[:at] + bytes([what]) + stream[at:]
        elif kind == 2:
            stream = stream[:at] + stream[at + 1 + what % 8 :]
        elif kind == 3:
            stream = stream[:at]
        elif kind == 4:
            stream = b"".join(lines[: row + 1] + lines[row:])
        elif kind == 5:
            stream = b"".join(lines[row:] + lines[:row])
        else:
            stream = stream[:at] + PIECES[what % len(PIECES)] + stream[at:]
    return stream


def many(examples: int) -> settings:
    """So many examples, each of which feeds the reader several streams."""
    return settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))


@many(2500)
@given(CALLS, st.lists(CHANGES, max_size=8), st.sampled_from([None, 0, 1, 75, 127, -9]))
def test_mutated_streams(
    calls: list[tuple[bytes, int, int]], mutants: list[bytes], other: int | None
) -> None:
    number, stream = 0, b""
    for text, step, status in calls:
        number += step
        stream += text + line(number, status)
    last = calls[-1][2]
    agree(stream, last)
    for changes in mutants:
        mutant = changed(stream, changes)
        agree(mutant, last)
        agree(mutant, other)


@many(1500)
@given(st.lists(st.binary(max_size=60), max_size=8), st.integers(-20, 300))
def test_arbitrary_streams(streams: list[bytes], status: int) -> None:
    for stream in streams:
        agree(stream, status)
        agree(stream + line(1, 0), 0)
        agree(line(1, 0) + stream, 0)


# What a script says that it sent


def sent(text: str, nonce: str = NONCE) -> bytes:
    return f"\x1eDSL {nonce} sent {text}\n".encode()


@pytest.mark.parametrize(
    ("stream", "places"),
    [
        (sent("1"), (0,)),
        (sent("1,3,10"), (0, 2, 9)),
        (b"a wrapper's words\n" + sent("2") + b"more of them", (1,)),
        (b"without a newline" + sent("2"), (1,)),
        (sent("1", OTHER) + sent("2"), (1,)),
        (b"", None),
        (sent("1", OTHER), None),
        (sent("1")[:-1], None),
        (b"sent 1\n", None),
    ],
)
def test_what_was_sent(stream: bytes, places: tuple[int, ...] | None) -> None:
    assert read_sent(stream, NONCE, 10) == places


@pytest.mark.parametrize(
    "stream",
    [
        sent(""),
        sent("0"),
        sent("01"),
        sent("11"),
        sent("2,1"),
        sent("1,1"),
        sent("1,"),
        sent(",1"),
        sent("1") + sent("1"),
        sent("9" * 400),
    ],
)
def test_no_account_of_what_was_sent(stream: bytes) -> None:
    assert isinstance(read_sent(stream, NONCE, 10), Unreadable)


@many(1000)
@given(st.lists(st.integers(1, 12), max_size=5), CHANGES)
def test_mutated_account(places: list[int], changes: bytes) -> None:
    stream = changed(sent(",".join(map(str, places))), changes)
    read = read_sent(stream, NONCE, 10)
    if isinstance(read, tuple):
        assert list(read) == sorted(set(read))
        assert set(read) <= set(range(10))
        assert sent(",".join(str(one + 1) for one in read)) in stream

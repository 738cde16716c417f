# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The strict reader of what a deadline script printed. Pure. Private to the collection.

Each scontrol call of a script ends with one framed line on standard error:
``<RS>DSL <nonce> call <i> <status>``, where ``<RS>`` is the byte 0x1E; what stands before it is
that call's own text (spec page "Exit codes of the deadline wrapper").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import List, Optional, Tuple, Union

RS = b"\x1e"
_START = RS + b"DSL "
_LINE = re.compile(rb"([^ \n]*) call ([1-9][0-9]{0,5}) ([^ \n]*)\n")
_SENT = re.compile(rb"([^ \n]*) sent ([0-9,]*)\n")
_ORDINAL = re.compile(rb"[1-9][0-9]{0,5}")
_DECIMAL = re.compile(rb"0|[1-9][0-9]{0,2}")
LARGEST_STATUS = 255


@dataclass(frozen=True)
class CallReport:
    """One call as the script reported it: its number, its status (0 to 255), its own text."""

    number: int
    status: int
    text: bytes


@dataclass(frozen=True)
class Unreadable:
    """Why a stream is not believed; nothing is known about any call of the script."""

    reason: str


Reports = Union[Tuple[CallReport, ...], Unreadable]


def read_reports(stream: bytes, nonce: str, exit_status: Optional[int]) -> Reports:
    """The calls that a script reported, in order.

    Refused: a line that has not the form, another script's nonce, a number that is not greater than
    the one before, a status that is no plain decimal up to 255, text after the last line, no line
    at all, and an exit status that is not the last call's (None: the script's end was not seen).
    """
    found: List[CallReport] = []
    pieces = stream.split(_START)
    text = pieces[0]
    if len(pieces) == 1:
        return Unreadable("no status line")
    for piece in pieces[1:]:
        match = _LINE.match(piece)
        if match is None:
            return Unreadable("a status line of another form: %r" % piece[:80])
        seen_nonce, number, status = match.groups()
        if seen_nonce != nonce.encode("ascii"):
            return Unreadable("a status line with another script's nonce")
        if not _DECIMAL.fullmatch(status) or int(status) > LARGEST_STATUS:
            return Unreadable("a status that is not readable: %r" % status[:80])
        before = found[-1].number if found else 0
        if int(number) <= before:
            return Unreadable("call %d after call %d" % (int(number), before))
        found.append(CallReport(int(number), int(status), text))
        text = piece[match.end() :]
    if text:
        return Unreadable("text after the last status line: %r" % text[:80])
    if exit_status != found[-1].status:
        return Unreadable(
            "the script ended with %s, its last call with %d" % (exit_status, found[-1].status)
        )
    return tuple(found)


def read_sent(stream: bytes, nonce: str, count: int) -> Union[Tuple[int, ...], Unreadable, None]:
    """Which of ``count`` addresses a script that looks has sent, by their place from 0.

    None when it does not say: then it has not got so far. ``stream`` is its standard output, where
    a command may have written what it likes, so that exactly one line has to be of this script.
    """
    mine = [
        match.group(2)
        for match in map(_SENT.match, stream.split(_START)[1:])
        if match is not None and match.group(1) == nonce.encode("ascii")
    ]
    if not mine:
        return None
    ordinals = mine[0].split(b",")
    if len(mine) > 1 or not all(map(_ORDINAL.fullmatch, ordinals)):
        return Unreadable("a line of another form about what was sent")
    places = tuple(int(one) - 1 for one in ordinals)
    if any(one >= other for one, other in zip(places, places[1:])) or places[-1] >= count:
        return Unreadable("a line about what was sent that can't be")
    return places

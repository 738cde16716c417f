# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of slurm.conf as Slurm reads it, and edits that leave all else as it is. Pure.

Source: src/common/parse_config.c of 22.05 to 26.05, which read alike, and their daemons. A comment
begins at a ``#`` without a backslash, also within quotes; a backslash at a line's end continues it;
then a backslash stands for the character behind it. One line holds one setting, its key in any
letter case, and of several lines with one key the last counts. Private to the collection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterator, List, NamedTuple, Optional, Tuple

#: isspace(3) in the C locale.
SPACE = " \t\n\v\f\r"

#: Keys that name one of several things: a second line of theirs replaces nothing.
RECORDS = frozenset(("nodename", "partitionname", "nodeset", "downnodes", "frontendname"))

_COMMENT = re.compile(r"(?<!\\)(?:\\\\)*#")
_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*(\\)[ \t\n\v\f\r]*\Z")
_ASSIGNMENT = re.compile(
    r"[ \t\n\v\f\r]*([A-Za-z0-9_.]+)[ \t\n\v\f\r]*[-*+/]?=[ \t\n\v\f\r]*"
    r'(?:"([^"]*)"|([^ \t\n\v\f\r]+))(?:[ \t\n\v\f\r]|\Z)'
)
_INCLUDE = re.compile(r"include[ \t\n\v\f\r]+([^ \t\n\v\f\r]*)", re.IGNORECASE)


class Character(NamedTuple):
    """A character that Slurm reads, and where it stands in the text, with its backslash."""

    what: str
    begin: int
    end: int


@dataclass(frozen=True)
class Statement:
    """What Slurm reads as one line.

    ``line`` counts from 1; ``begin`` and ``end`` are its place in the text, and ``said`` is what is
    left of it without comment, continuations and escapes. A setting has a ``key`` and a ``value``,
    which begins at ``value_at`` of what is said; an Include has ``include``.
    """

    line: int
    begin: int
    end: int
    said: str
    key: str = ""
    value: str = ""
    value_at: int = 0
    include: Optional[str] = None

    def sets(self, key: str) -> bool:
        """Whether this line sets a key, in any letter case."""
        return self.key.lower() == key.lower()


@dataclass(frozen=True)
class Change:
    """Characters of a value, from ``begin`` to before ``end``, that become ``new``."""

    begin: int
    end: int
    new: str

    def applied(self, value: str) -> str:
        """The value afterwards."""
        return value[: self.begin] + self.new + value[self.end :]


def statements(text: str) -> List[Statement]:
    """All that a text says, without the lines that say nothing."""
    found, number = [], 1
    for begin, end in _joined(text):
        said = "".join(one.what for one in _characters(text, begin, end))
        if said.strip(SPACE):
            found.append(_statement(number, begin, end, said))
        number += text.count("\n", begin, end)
    return found


def _joined(text: str) -> Iterator[Tuple[int, int]]:
    """Where lines begin and end, continued ones as one."""
    begin = at = 0
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        if not _CONTINUED.search(_uncommented(text[at:end])):
            yield begin, end
            begin = end
        at = end
    if begin < at:
        yield begin, at


def _uncommented(line: str) -> str:
    found = _COMMENT.search(line)
    return line if found is None else line[: found.end() - 1]


def _characters(text: str, begin: int, end: int) -> List[Character]:
    """What Slurm reads from the lines between two places."""
    raw: List[Tuple[str, int]] = []
    at = begin
    while at < end:
        following = text.find("\n", at, end) + 1 or end
        line = _uncommented(text[at:following])
        continued = _CONTINUED.search(line)
        if continued:
            line = line[: continued.start(1)]
        raw.extend((what, at + i) for i, what in enumerate(line))
        at = following
    found, index = [], 0
    while index < len(raw):
        what, place = raw[index]
        if what == "\\" and index + 1 < len(raw):
            index += 1
            what = raw[index][0]
        elif what == "\\":
            break
        found.append(Character(what, place, raw[index][1] + 1))
        index += 1
    return found


def _statement(number: int, begin: int, end: int, said: str) -> Statement:
    include = _INCLUDE.match(said)
    if include:
        return Statement(number, begin, end, said, include=include.group(1))
    match = _ASSIGNMENT.match(said)
    if not match:
        return Statement(number, begin, end, said)
    group = 3 if match.group(2) is None else 2
    return Statement(
        number, begin, end, said, match.group(1), match.group(group), match.start(group)
    )


def edited(text: str, statement: Statement, change: Change) -> str:
    """The text with one statement's value changed; comments and continuations stay."""
    read = _characters(text, statement.begin, statement.end)
    first, last = statement.value_at + change.begin, statement.value_at + change.end
    if first > statement.value_at:
        begin = read[first - 1].end if first == last else read[first].begin
    else:
        begin = read[first].begin
    end = read[last - 1].end if last > first else begin
    return text[:begin] + change.new + text[end:]


def with_line(text: str, key: str, value: str) -> str:
    """The text with a new line at its end, in a line of its own."""
    separator = "" if not text or text.endswith("\n") else "\n"
    return "%s%s%s=%s\n" % (text, separator, key, value)


def unusable(text: str) -> str:
    """Why a text can't be a slurm.conf that is edited, empty when it can."""
    if "\0" in text:
        return "it holds a NUL character, and Slurm reads no further than that in a line"
    return ""

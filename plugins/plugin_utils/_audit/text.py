# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text of unknown origin made safe to show: visible, escaped for a format, wrapped to a width.

Job comments, host names and configuration values can hold anything. Everything that a report
shows went through :func:`visible` once, and through the escape of its format when it is written.
Private to the collection.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum

#: Longest text that a report keeps of one value, in characters.
LONGEST = 2000

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
#: Categories that are not shown or that move what stands beside them (Cf has the bidi controls).
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class Format(StrEnum):
    """The formats that text is escaped for."""

    HTML = "html"
    MARKDOWN = "markdown"
    XML = "xml"
    PROMETHEUS = "prometheus"


def visible(value: object) -> str:
    """Any value as one line of text in which nothing is hidden; applied twice it changes no more.

    Control, format and bidirectional characters, line ends, undecodable bytes (surrogate escapes)
    and code points that XML 1.0 forbids become ``\\n``, ``\\x1b``, ``\\u202e`` and so on. Blanks at
    the ends go away; a backslash stays as it is. The result is valid in UTF-8 and in XML.
    """
    text = "" if value is None else str(value)
    return "".join(_shown(character) for character in text.strip(" \n\r\t"))


def clipped(value: object, longest: int = LONGEST) -> str:
    """Like :func:`visible`; of more than ``longest`` characters only the first ones, and a note."""
    text = "" if value is None else str(value)
    if len(text) <= longest:
        return visible(text)
    return "%s… (%d more characters)" % (visible(text[:longest]), len(text) - longest)


def _shown(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return "\\x%02x" % (code - 0xDC00)
    if unicodedata.category(character) not in _HIDDEN and code & 0xFFFE != 0xFFFE:
        return character
    if character in _NAMED:
        return _NAMED[character]
    if code < 0x100:
        return "\\x%02x" % code
    return ("\\u%04x" if code < 0x10000 else "\\U%08x") % code


_MARKUP: dict[str, str | int | None] = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
}
#: Entities where a backslash would not be enough: a cell is split before anything else is read.
_MARKDOWN: dict[str, str | int | None] = {
    **{mark: "\\" + mark for mark in "\\*[]~#$!"},
    "|": "&#124;",
    "`": "&#96;",
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
}
#: An underscore inside a word marks nothing and stays legible.
_EMPHASIS = re.compile(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_LABEL: dict[str, str | int | None] = {"\\": "\\\\", '"': '\\"'}


def _html(text: str) -> str:
    return text.translate(str.maketrans(_MARKUP))


def _markdown(text: str) -> str:
    # Nothing that a value holds becomes a link, so a comment can't send a reader anywhere.
    marked = _EMPHASIS.sub(r"\\_", text.translate(str.maketrans(_MARKDOWN)))
    return marked.replace("://", "&#58;//").replace("www.", "www&#46;")


def _prometheus(text: str) -> str:
    return text.translate(str.maketrans(_LABEL))


_ESCAPES: Mapping[Format, Callable[[str], str]] = {
    Format.HTML: _html,
    Format.MARKDOWN: _markdown,
    Format.XML: _html,
    Format.PROMETHEUS: _prometheus,
}


def escaped(value: object, form: Format) -> str:
    """A value as :func:`visible` text, escaped for a place in a document of that format.

    HTML and XML: element text or a quoted attribute. Markdown: a table cell, heading or list item
    behind other text. Prometheus: a label value between double quotes.
    """
    return _ESCAPES[form](visible(value))


def width_of(text: str) -> int:
    """Columns that a text takes on a terminal: wide characters two, combining ones none."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def padded(text: str, width: int) -> str:
    """The text with blanks behind it up to ``width`` columns."""
    return text + " " * max(0, width - width_of(text))


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most ``width`` columns, broken at blanks where there are any.

    At least one line. A word that is too long is broken between characters.
    """
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        for piece in _pieces(word, width):
            joined = "%s %s" % (line, piece) if line else piece
            if width_of(joined) <= width:
                line = joined
                continue
            lines.append(line)
            line = piece
    return [*lines, line]


def _pieces(word: str, width: int) -> Iterator[str]:
    """A word in pieces of at most ``width`` columns; a combining character stays with its base."""
    piece, taken = "", 0
    for character in word:
        columns = _columns(character)
        if piece and taken + columns > width:
            yield piece
            piece, taken = "", 0
        piece += character
        taken += columns
    if piece:
        yield piece

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows that can't be forged. Private to the collection.

Job names and comments come through squeue and sacct raw: they can hold any separator, a newline, a
whole row. So every call asks for marks that were made up for it, and a text without them in the
right places is no row.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import Iterator, List, Sequence

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    FailureClass,
    Reply,
    SlurmError,
    printable,
)

#: So much of an unreadable text is shown.
SHOWN = 500


@dataclass(frozen=True)
class Marks:
    """What stands behind a field and behind a row's last field."""

    separator: str
    end: str


def fresh_marks() -> Marks:
    """Marks for one call, 48 random bits in them.

    The first character keeps squeue from reading a field's width in them (``Field:[.]width``); a
    comma would end the field. Length costs: they stand behind each value of each job.
    """
    nonce = secrets.token_urlsafe(6)
    return Marks("~" + nonce, "^" + nonce)


def format_option(fields: Sequence[str], marks: Marks) -> str:
    """The value for squeue's ``--Format``: each field unpadded, uncut, with its mark behind it."""
    return ",".join(
        "%s:%s" % (field, marks.end if position == len(fields) else marks.separator)
        for position, field in enumerate(fields, 1)
    )


def squeue_rows(stdout: bytes, marks: Marks, width: int) -> Iterator[List[str]]:
    """The rows of a squeue call, ``width`` values each.

    Bytes that are not UTF-8 become surrogate escapes. Raises :class:`SlurmError`
    (OUTPUT_UNREADABLE, with the text) for anything between, before or after the rows.
    """
    text = stdout.decode("utf-8", "surrogateescape")
    end = marks.end + "\n"
    start, stop = 0, text.find(end)
    while stop >= 0:  # one row at a time: a queue can be megabytes
        values = text[start:stop].split(marks.separator)
        if len(values) != width:
            raise unreadable("a row of squeue", text[start:stop])
        yield values
        start = stop + len(end)
        stop = text.find(end, start)
    if start < len(text):
        raise unreadable("the end of squeue's output", text[start:])


def sacct_rows(stdout: bytes, delimiter: str, width: int) -> Iterator[List[str]]:
    """The rows of a ``sacct --parsable`` call, where the delimiter follows each value and a newline
    each row. Otherwise like :func:`squeue_rows`.
    """
    values = stdout.decode("utf-8", "surrogateescape").split(delimiter)
    rest = values.pop()
    if len(values) % width or rest != ("\n" if values else ""):
        raise unreadable("sacct's output", "".join((*values, rest)))
    for start in range(0, len(values), width):
        row = values[start : start + width]
        if start:
            if not row[0].startswith("\n"):
                raise unreadable("a row of sacct", row[0])
            row[0] = row[0][1:]
        yield row


def unreadable(what: str, text: str) -> SlurmError:
    """The error for a text that does not have the form that was asked for; it carries the text."""
    shown = printable(text[:SHOWN])
    return SlurmError(
        "Could not read %s: %r" % (what, shown),
        FailureClass.OUTPUT_UNREADABLE,
        remedy="Look for a wrapper or a site plug-in that changes what Slurm's commands print",
        evidence={"text": shown},
    )


def shortened(reply: Reply) -> Reply:
    """The same reply with the beginning of its output, for errors: a queue can be megabytes."""
    return replace(
        reply,
        argv=tuple(word if len(word) < 2000 else word[:SHOWN] + "..." for word in reply.argv),
        stdout=reply.stdout[:SHOWN],
    )

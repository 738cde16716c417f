# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm's ways to write numbers and durations. Private to the collection."""

from __future__ import annotations

import re
from typing import List, Union

#: Words that stand where a number could: none of them is a number.
UNKNOWN = "unknown"
INFINITE = "infinite"

#: A number, or one of the two words above, or None where nothing is set.
Limit = Union[int, float, str, None]

_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d+)\Z", re.ASCII)
_CLOCK_WITH_DAYS = re.compile(r"(\d+)-(\d+)(?::(\d+))?(?::(\d+))?\Z", re.ASCII)


def clock_seconds(text: str) -> int:
    """Seconds of Slurm's clock form ``[[D-]HH:]MM:SS``, or ``D-HH[:MM[:SS]]``.

    Source: secs2time_str() and time_str2secs() in src/common/parse_time.c. Raises ValueError with
    the text for anything else, also for a bare number (which Slurm reads as minutes or as seconds,
    depending on the field).
    """
    days_first = _CLOCK_WITH_DAYS.match(text)
    if days_first:
        days, hours, minutes, seconds = (int(part or 0) for part in days_first.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    match = _CLOCK.match(text)
    if not match:
        raise ValueError("not a duration in Slurm's clock form: %r" % (text,))
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return (hours * 60 + minutes) * 60 + seconds


def comma_list(text: str) -> List[str]:
    """The members of a comma-separated list, blanks around them removed, empty ones left out."""
    return [part.strip() for part in text.split(",") if part.strip()]

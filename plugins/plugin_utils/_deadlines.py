# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a write must not be started any more. Pure. Private to the collection."""

from __future__ import annotations

import math
from datetime import datetime

#: A deadline further ahead is a mistake: until it has passed, and the landing bound, nothing that
#: is unknown can be settled.
FURTHEST = 86400.0


def deadline_from(ttl: object, deadline: object, now: float) -> float:
    """The deadline in epoch seconds on the controller's clock.

    ``deadline`` (ISO-8601 with an offset, or epoch seconds) counts if it is given, otherwise
    ``ttl`` seconds from ``now``. A deadline in the past is one that has passed. Raises ValueError
    for anything else.
    """
    if deadline not in (None, ""):
        when = _instant(str(deadline))
    else:
        try:
            seconds = float(str(ttl))
        except ValueError:
            raise ValueError(f"ttl is no number of seconds: {ttl!r}") from None
        if not 1 <= seconds <= FURTHEST:
            raise ValueError(f"ttl lies between 1 and {FURTHEST:.0f} seconds, not {ttl!r}")
        when = now + seconds
    if when - now > FURTHEST:
        raise ValueError(f"deadline lies more than {FURTHEST:.0f} seconds ahead: {deadline!r}")
    return when


def _instant(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        pass
    else:
        if math.isfinite(number):
            return number
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        parsed = None
    if parsed is None or parsed.tzinfo is None:
        raise ValueError(f"deadline is neither epoch seconds nor ISO-8601 with an offset: {text!r}")
    return parsed.timestamp()

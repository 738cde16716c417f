# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several looks at a job's output as one. Pure. Private to the collection."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

Part = dict[str, Any]


def merged(before: Sequence[Part], after: Sequence[Part]) -> list[Part]:
    """The parts of two looks, the second of which went on where the first had ended."""
    parts = list(before)
    for part in after:
        places = [place for place, one in enumerate(parts) if one["path"] == part["path"]]
        if places:
            parts[places[0]] = _joined(parts[places[0]], part)
        else:
            parts.append(part)
    return parts


def _joined(before: Part, after: Part) -> Part:
    data = base64.b64decode(before["base64"]) + base64.b64decode(after["base64"])
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    joined = {**after, "base64": base64.b64encode(data).decode("ascii"), "text": text}
    joined["offset"] = before["offset"]
    if data and after["state"] in ("empty", "unread"):
        joined["state"] = "read"
    return joined


def total(parts: Sequence[Part]) -> int:
    """How many bytes were read."""
    return sum(len(base64.b64decode(one["base64"])) for one in parts)


def stopped(answer: Mapping[str, Any], left: int, over: bool) -> str | None:
    """Why following is at its end, None while it is not.

    ``left``: bytes that may still be read. ``over``: the time limit is reached. A job that nobody
    shows any more will not write: then there is nothing to wait for either.
    """
    if left <= 0:
        return "max_bytes"
    if answer["complete"] and answer["ended"] == "yes":
        return "ended"
    if answer["complete"] and (answer["ended"], answer["shown"]) == ("unknown", "no"):
        return "unknown"
    return "limit" if over else None

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A job's submission and attempt, as its comment carries them. Pure. Private to the collection.

``hpcops.slurm submission=<id> attempt=<n>``, the id percent-encoded: what is left of it is letters,
digits and ``-._~%``, which squeue and sacct give back unchanged, whatever the id holds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional
from urllib.parse import quote, unquote

#: Slurm refuses a longer comment (slurmctld, 22.05 to 26.05).
LONGEST_COMMENT = 1024
LARGEST_ATTEMPT = 999999999

_FORM = re.compile(r"hpcops\.slurm submission=([A-Za-z0-9._~%-]+) attempt=(0|[1-9][0-9]{0,8})")


@dataclass(frozen=True)
class Submission:
    """What a supervisor calls one job: its own id, and the number of the attempt."""

    submission: str
    attempt: int

    @property
    def name(self) -> str:
        """How messages call it."""
        return "submission %s attempt %d" % (encoded(self.submission), self.attempt)


def encoded(submission: str) -> str:
    """The id without a character that has a meaning anywhere."""
    return quote(submission, safe="")


def comment_of(submission: str, attempt: int) -> str:
    """The comment of a job. Raises ValueError for what no comment, or no variable, can hold."""
    if not submission:
        raise ValueError("submission is empty")
    if "\0" in submission:
        raise ValueError("submission holds a NUL, which no variable of the job can hold")
    if isinstance(attempt, bool) or not 0 <= attempt <= LARGEST_ATTEMPT:
        raise ValueError("attempt lies between 0 and %d, not %r" % (LARGEST_ATTEMPT, attempt))
    try:
        comment = "hpcops.slurm submission=%s attempt=%d" % (encoded(submission), attempt)
    except UnicodeEncodeError:
        raise ValueError("submission is no text that can be encoded as UTF-8") from None
    if len(comment) > LONGEST_COMMENT:
        raise ValueError(
            "submission makes a comment of %d bytes, and Slurm takes at most %d"
            % (len(comment), LONGEST_COMMENT)
        )
    return comment


def parse_comment(text: Optional[str]) -> Optional[Submission]:
    """The submission that a comment carries; None for any text that :func:`comment_of` never made.

    Never raises.
    """
    match = _FORM.fullmatch(text or "")
    if match is None:
        return None
    try:
        found = Submission(unquote(match.group(1), errors="strict"), int(match.group(2)))
        same = comment_of(found.submission, found.attempt) == text
    except ValueError:
        return None
    return found if same else None

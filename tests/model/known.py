# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Violations that are known and not mended yet: everything else is explored as if they were.

Each is explored as it is as well, and has to be found: one that is mended has to go from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple


class Known(NamedTuple):
    """A violation, the case that shows it, and the rule as it ought to be."""

    name: str
    case: str
    mended: Callable[[], Any]


KNOWN: Sequence[Known] = ()


@contextmanager
def mended(but: Known | None = None) -> Iterator[None]:
    """All of them are mended inside, but for one."""
    with ExitStack() as stack:
        for one in KNOWN:
            if one is not but:
                stack.enter_context(one.mended())
        yield

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads that are tried again, within a limit. Private to the collection."""

from __future__ import annotations

import time
from typing import Callable, TypeVar

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    SlurmError,
)

T = TypeVar("T")


def tried_again(
    read: Callable[[], T],
    tries: int = 3,
    pause: float = 2.0,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """The result of a read that is called up to ``tries`` times, with ``pause`` seconds between.

    Only failures that pass by themselves are tried again (controller or accounting out of reach,
    controller busy). Raises the last :class:`SlurmError`. For reads only: a write that failed may
    have been done.
    """
    for attempt in range(1, tries):
        try:
            return read()
        except SlurmError as error:
            if error.retry is not Answer.YES:
                raise
            sleep(pause * attempt)
    return read()

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exit codes of jobs. Private to the collection."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Union

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import UNKNOWN

_PAIR = re.compile(r"([0-9]{1,5}):([0-9]{1,5})")
_RAW = re.compile(r"[0-9]{1,10}")
#: NO_VAL (slurm/slurm.h), also printed as a signed number: the job has no exit code.
_NO_VALUE = frozenset(("", "4294967294", "-2"))


@dataclass(frozen=True)
class ExitCode:
    """How a job's script ended: its exit status, or the signal that ended it (0 for none)."""

    status: int
    signal: int


@lru_cache(maxsize=1024)
def parse_exit_code(text: str) -> Union[ExitCode, str, None]:
    """Read ``status:signal``, or the raw wait status that squeue of 22.05 prints.

    None when the job has no exit code, "unknown" for anything unreadable. Never raises. Source:
    _print_job_exit_code() in src/squeue/print.c, wait(2); 22.05.8 shows 768 where later releases
    show 3:0.
    """
    if text in _NO_VALUE:
        return None
    pair = _PAIR.fullmatch(text)
    if pair:
        return ExitCode(int(pair.group(1)), int(pair.group(2)))
    if not _RAW.fullmatch(text) or int(text) > 0xFFFF:
        return UNKNOWN
    raw = int(text)
    signal = raw & 0x7F
    if signal == 0x7F:  # stopped, not ended
        return UNKNOWN
    if signal:
        return ExitCode(0, signal)
    return UNKNOWN if raw & 0x80 else ExitCode(raw >> 8, 0)

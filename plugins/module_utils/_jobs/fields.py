# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Single values of squeue and sacct: times, limits, numbers, flags. Private to the collection.

None stands for "no value of its own", "unknown" for a value that Slurm or this reader does not
know, "infinite" for no limit; none of them is a number.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Any, Union

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    printable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import (
    INFINITE,
    UNKNOWN,
    Limit,
    clock_seconds,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.exits import ExitCode

#: Epoch seconds, None (not set), or "unknown".
Moment = Union[int, None, str]

_NOT_SET = frozenset(("", "N/A", "NONE", "None", "NOT_SET", "Partition_Limit", "(null)"))
_FLAGS = {"0": Answer.NO, "1": Answer.YES}
_NO_LIMIT = frozenset(("UNLIMITED", "INFINITE"))
#: NO_VAL and INFINITE of slurm/slurm.h, where a number is printed.
_NO_VAL = 0xFFFFFFFE
_INFINITE = 0xFFFFFFFF


def moment(text: str) -> Moment:
    """A time printed with SLURM_TIME_FORMAT=%s. Never raises.

    squeue prints ``N/A`` or ``NONE`` where there is none, slurm_make_time_str() in
    src/common/parse_time.c ``None`` for NO_VAL and ``Unknown`` for 0.
    """
    if text.isdecimal() and text.isascii() and len(text) < 20:
        return int(text)
    return None if text in _NOT_SET else UNKNOWN


@lru_cache(maxsize=4096)
def limit(text: str) -> Limit:
    """A time limit or an elapsed time in the clock form, in seconds. Never raises.

    Words of src/squeue/print.c, src/sacct/print.c and secs2time_str(): ``UNLIMITED``, ``NOT_SET``,
    ``Partition_Limit``, ``INVALID``.
    """
    if text in _NOT_SET:
        return None
    if text in _NO_LIMIT:
        return INFINITE
    try:
        return clock_seconds(text)
    except ValueError:
        return UNKNOWN


def number(text: str) -> Limit:
    """A whole number; NO_VAL is None, Slurm's INFINITE is "infinite". Never raises."""
    digits = text[1:] if text.startswith("-") else text
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 20):
        return None if text in _NOT_SET else UNKNOWN
    value = int(text)
    if value == _NO_VAL:
        return None
    return INFINITE if value == _INFINITE else value


def flag(text: str) -> Answer:
    """A flag printed as 0 or 1; anything else is unknown. Never raises."""
    return _FLAGS.get(text, Answer.UNKNOWN)


def plain(value: Any) -> Any:
    """A record's value as JSON has it: words for enums, printable text, a mapping for exits."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return value if value.isascii() else printable(value)
    if isinstance(value, ExitCode):
        return {"status": value.status, "signal": value.signal}
    return value

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deadlines as people write them."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.plugin_utils._deadlines import (
    FURTHEST,
    deadline_from,
)

NOW = 1796035504.25


@pytest.mark.parametrize(
    ("ttl", "expected"),
    [(1, NOW + 1), (60, NOW + 60), ("60", NOW + 60), (1.5, NOW + 1.5), (86400, NOW + 86400)],
)
def test_ttl(ttl: object, expected: float) -> None:
    assert deadline_from(ttl, None, NOW) == expected
    assert deadline_from(ttl, "", NOW) == expected


@pytest.mark.parametrize(
    "ttl",
    [0, 0.99, -1, -1e30, 86401, 1e30, "nan", "inf", "-inf", "", "soon", "1 m", None, True, [], {}],
    ids=repr,
)
def test_no_ttl(ttl: object) -> None:
    with pytest.raises(ValueError, match="ttl"):
        deadline_from(ttl, None, NOW)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1796035600", 1796035600.0),
        (1796035600, 1796035600.0),
        ("1796035600.5", 1796035600.5),
        ("2026-11-30T10:46:40Z", 1796035600.0),
        ("2026-11-30T10:46:40+00:00", 1796035600.0),
        ("2026-11-30T11:46:40+01:00", 1796035600.0),
        ("2026-11-30 11:46:40+01:00", 1796035600.0),
        (datetime(2026, 11, 30, 10, 46, 40, tzinfo=UTC), 1796035600.0),
        # What lies in the past has passed, however far.
        (0, 0.0),
        ("0", 0.0),
        ("-5", -5.0),
        ("-1e300", -1e300),
        ("1970-01-01T00:00:00Z", 0.0),
        ("0001-01-01T00:00:00Z", -62135596800.0),
    ],
    ids=repr,
)
def test_deadline(text: object, expected: float) -> None:
    assert deadline_from(60, text, NOW) == expected
    assert deadline_from("no ttl at all", text, NOW) == expected


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "2026-11-30T10:46:40",
        "2026-11-30",
        "10:46",
        "now+1h",
        "2026-13-30T10:46:40Z",
        "nan",
        "inf",
        "1e999",
        " ",
        datetime(2026, 11, 30, 10, 46, 40),
        [1796035600],
        {"at": 5},
        True,
    ],
    ids=repr,
)
def test_no_deadline(text: object) -> None:
    with pytest.raises(ValueError, match="deadline"):
        deadline_from(60, text, NOW)


@pytest.mark.parametrize("text", [NOW + FURTHEST + 1, "9999-12-31T23:59:59Z", "1e300"], ids=repr)
def test_too_far(text: object) -> None:
    with pytest.raises(ValueError, match="ahead"):
        deadline_from(60, text, NOW)


@given(st.one_of(st.text(), st.floats(), st.integers(), st.none()), st.text())
def test_never_late(deadline: object, ttl: str) -> None:
    """Whatever is written: an instant that is near enough, or an error in words."""
    try:
        when = deadline_from(ttl, deadline, NOW)
    except ValueError:
        return
    assert math.isfinite(when)
    assert when - NOW <= FURTHEST

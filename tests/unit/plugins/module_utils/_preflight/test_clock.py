# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The skew: the true one is always inside the interval, and only an interval inside passes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.clock import (
    Sample,
    Skew,
    check,
    host_offset,
    skew,
    skew_by_host,
)

#: Seconds that a stretch of the way takes.
TRANSIT = st.floats(0, 120, allow_nan=False)
OFFSET = st.floats(-1e6, 1e6, allow_nan=False)
EPSILON = 1e-4


@st.composite
def looks(draw: st.DrawFn, true: float, host: float, start: float) -> Skew:
    """One round trip as it really goes; what the two sides see of it.

    ``true`` is controller minus slurmctld, ``host`` controller minus host, ``start`` when the
    module is sent on the controller's clock.
    """
    way = [draw(TRANSIT) for _time in range(6)]
    began = start + way[0]  # the module begins on the host
    asked = began + way[1]
    read = asked + way[2]  # slurmctld looks at its clock
    answered = read + way[3]
    ended = answered + way[4]
    received = ended + way[5]
    sample = Sample(
        as_of=math.floor(read - true),
        wall=began - host,
        began=began - host,
        asked=asked - host,
        answered=answered - host,
        ended=ended - host,
    )
    return skew(sample, start, received)


@given(st.data(), OFFSET, OFFSET)
@settings(deadline=None)
def test_the_true_skew_is_inside(data: st.DataObject, true: float, host: float) -> None:
    seen = data.draw(looks(true, host, 1.8e9))
    assert seen.low - EPSILON <= true <= seen.high + EPSILON
    assert seen.bound >= true - EPSILON


@given(st.data(), OFFSET, OFFSET, st.integers(1, 4))
@settings(deadline=None)
def test_narrowing_keeps_the_true_skew(
    data: st.DataObject, true: float, host: float, rounds: int
) -> None:
    seen = data.draw(looks(true, host, 1.8e9))
    for number in range(rounds):
        following = data.draw(looks(true, host, 1.8e9 + 100 * number))
        narrower = seen.narrowed(following)
        assert narrower.high - narrower.low <= max(seen.high - seen.low, 0) + EPSILON or (
            narrower == following
        )
        seen = narrower
        assert seen.low - EPSILON <= true <= seen.high + EPSILON


@given(OFFSET, OFFSET, st.floats(-1e5, 1e5), st.lists(TRANSIT, min_size=6, max_size=6))
@settings(deadline=None)
def test_the_true_skew_is_inside_by_way_of_the_hosts_clock(
    true: float, host: float, steady: float, way: list[float]
) -> None:
    """``steady``: what the host's steady clock lacks to its own clock."""
    began = 1.8e9
    asked, read, answered = began + way[0], began + way[0] + way[1], began + sum(way[:3])
    sample = Sample(
        as_of=math.floor(read - true),
        wall=began - host,
        began=began - host - steady,
        asked=asked - host - steady,
        answered=answered - host - steady,
        ended=0.0,
    )
    sent = answered + 5
    told = sent + way[3]
    seen = skew_by_host(sample, host_offset(told - host, sent, told + way[4]))
    assert seen.low - EPSILON <= true <= seen.high + EPSILON
    # The controller is not further ahead of the host than this says, for writes' deadlines.
    assert seen.offset is not None
    assert seen.offset >= host - EPSILON
    # It is as wide as the journeys that were made, whatever the module's own took.
    width = way[3] + way[4] + way[1] + way[2] + 1
    assert abs((seen.high - seen.low) - width) < EPSILON


@given(st.data(), st.floats(-300, 300), OFFSET, st.floats(0, 100))
@settings(deadline=None)
def test_no_verdict_claims_more_than_is_known(
    data: st.DataObject, true: float, host: float, limit: float
) -> None:
    seen = data.draw(looks(true, host, 1.8e9))
    found = check(seen, limit)
    if found.verdict.value == "pass":
        assert abs(true) <= limit + EPSILON
    elif found.verdict.value == "fail":
        assert abs(true) >= limit - EPSILON
        assert found.remedy
    else:
        assert found.verdict.value == "unknown"


def test_intervals_that_exclude_each_other_leave_the_newer_one() -> None:
    """A clock was set in between: what was seen before is not true any more."""
    assert Skew(0, 1).narrowed(Skew(60, 61)) == Skew(60, 61)
    assert Skew(0, 3).narrowed(Skew(2, 5)) == Skew(2, 3)


def test_steady_clock_that_stands_still_is_no_loss() -> None:
    sample = Sample(as_of=1000, wall=7.0, began=5.0, asked=5.0, answered=5.0, ended=5.0)
    assert skew(sample, 1000.5, 1001.5) == Skew(-0.5, 1.5, 1001.5 - 7.0)


@pytest.mark.parametrize(
    ("low", "high", "verdict", "evidence"),
    [
        (-0.5, 1.5, "pass", "within 5 s"),
        (-5.0, 5.0, "pass", "within 5 s"),
        (-6.5, -5.5, "fail", "5 s ahead of the Ansible controller's, limit 5 s"),
        (59.0, 61.0, "fail", "60 s behind the Ansible controller's, limit 5 s"),
        (-61.0, -59.0, "fail", "60 s ahead of"),
        (4.0, 6.0, "unknown", "known only to within 2 s, limit 5 s"),
        (-100.0, 100.0, "unknown", "known only to within 200 s"),
    ],
)
def test_check(low: float, high: float, verdict: str, evidence: str) -> None:
    found = check(Skew(low, high), 5)
    assert found.verdict.value == verdict
    assert evidence in found.evidence


def test_no_clock_is_unknown() -> None:
    assert check(None, 5).verdict.value == "unknown"


def test_bound_is_the_upper_end_in_whole_seconds() -> None:
    assert (Skew(0, 1.2).bound, Skew(-9, -7.5).bound, Skew(0, 2).bound) == (2, -7, 2)

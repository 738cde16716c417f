# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The skew: Ansible controller clock minus slurmctld clock. Pure. Private to the collection.

The host in between has a clock of its own, whose offset cancels out. The journey from the
controller to the host takes a time that nobody knows, so the skew is an interval, and its upper end
enters the landing bound. A module's journey is long where the controller is busy: a look at the
host's clock alone takes a shorter one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Dict, Optional

from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.verdicts import (
    Check,
    Verdict,
)


@dataclass(frozen=True)
class Sample:
    """One look at slurmctld's clock: ``as_of`` in whole epoch seconds (rounded down).

    ``wall`` is the host's own clock when the module began, in epoch seconds. The others are seconds
    on the host's steady clock, which nobody sets: when the module began, just before and just after
    slurmctld was asked, and when the module ended.
    """

    as_of: int
    wall: float
    began: float
    asked: float
    answered: float
    ended: float

    def as_fact(self) -> Dict[str, float]:
        """The sample as JSON-safe values."""
        return dict(vars(self))


@dataclass(frozen=True)
class Skew:
    """Seconds, controller minus slurmctld: no less than ``low``, no more than ``high``.

    ``offset`` is the most that the controller's clock is ahead of the host's, None when that was
    not measured.
    """

    low: float
    high: float
    offset: Optional[float] = None

    @property
    def bound(self) -> int:
        """The upper end in whole seconds, for the landing bound."""
        return math.ceil(self.high)

    def narrowed(self, other: Skew) -> Skew:
        """What both intervals leave; the other one alone when they exclude each other."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        known = [one.offset for one in (self, other) if one.offset is not None]
        return Skew(low, high, min(known, default=None)) if low <= high else other


def skew(sample: Sample, sent: float, received: float) -> Skew:
    """The interval from one sample.

    ``sent`` and ``received``: the controller's clock before the module was sent and after its
    result had come back, in epoch seconds.
    """
    earliest = sent + max(0.0, sample.asked - sample.began)
    latest = received - max(0.0, sample.ended - sample.answered)
    ahead = received - (sample.wall + sample.ended - sample.began)
    return Skew(earliest - (sample.as_of + 1), latest - sample.as_of, ahead)


def host_offset(host: float, sent: float, received: float) -> Skew:
    """The controller's clock minus the host's, from one look at the host's.

    ``sent`` and ``received``: the controller's clock before and after; all in epoch seconds.
    """
    return Skew(sent - host, received - host)


def skew_by_host(sample: Sample, offset: Skew) -> Skew:
    """The interval from a sample, by way of the host's clock."""
    asked = sample.wall + sample.asked - sample.began
    answered = sample.wall + sample.answered - sample.began
    low, high = asked + offset.low - (sample.as_of + 1), answered + offset.high - sample.as_of
    return Skew(low, high, offset.high)


def check(measured: Optional[Skew], limit: float) -> Check:
    """Judge the skew against a limit in seconds. An interval that straddles it proves nothing."""
    name = "clock_skew"
    if measured is None:
        return Check(name, Verdict.UNKNOWN, "slurmctld's clock was not read")
    if -limit <= measured.low and measured.high <= limit:
        seen = "slurmctld's clock is within %g s of the Ansible controller's" % limit
        return Check(name, Verdict.PASS, seen)
    remedy = (
        "Synchronise the clocks of slurmctld's host and of the Ansible controller (chrony, ntpd)"
    )
    if measured.low > limit or measured.high < -limit:
        middle = (measured.low + measured.high) / 2
        seen = "slurmctld's clock is about %d s %s the Ansible controller's, limit %g s" % (
            5 * round(abs(middle) / 5),
            "behind" if middle > 0 else "ahead of",
            limit,
        )
        return Check(name, Verdict.FAIL, seen, remedy)
    seen = "the difference is known only to within %.0f s, limit %g s" % (
        math.ceil(measured.high - measured.low),
        limit,
    )
    return Check(
        name, Verdict.UNKNOWN, seen, "Run again over a faster connection, or raise the limit"
    )

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the action plugin and the module share one preflight in short rounds. Pure.

The module can't tell a person how long it still waits, and the controller's clock is needed after
the module's answer has come back; so the module runs in rounds, each of which gives the action
plugin what it needs to go on. Private to the collection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional

from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.clock import (
    Sample,
    Skew,
    check,
    host_offset,
    skew,
    skew_by_host,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.verdicts import (
    Check,
    Verdict,
)

#: Seconds that a round may wait for sacct. The first one waits for nothing: another has to follow
#: for the clock's sake, and whoever watches is told at once.
FIRST_ROUND, ROUND = 0.0, 6.0


@dataclass(frozen=True)
class Message:
    """What the action plugin tells a round.

    ``state`` is what the round before left over, ``skew`` what is known about the clocks, and
    ``wait`` the seconds that this round may wait.
    """

    state: Optional[Dict[str, Any]]
    skew: Optional[Skew]
    wait: float

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> Message:
        """The message from the module's hidden option."""
        ends = value.get("skew")
        return cls(
            state=value.get("state"),
            skew=Skew(float(ends[0]), float(ends[1]), ends[2]) if ends else None,
            wait=float(value.get("wait", 0)),
        )


class Exchange:
    """The action plugin's side: what to send next, what came back, and what to show."""

    def __init__(self) -> None:
        self.finished = False
        self._wait = FIRST_ROUND
        self._part: Dict[str, Any] = {}
        self._sample: Optional[Sample] = None
        self._skew: Optional[Skew] = None

    def message(self) -> Dict[str, Any]:
        """The hidden option of the next round."""
        known = self._skew
        ends: Optional[List[Optional[float]]] = None
        if known is not None:
            ends = [known.low, known.high, known.offset]
        return {"state": self._part.get("state"), "skew": ends, "wait": self._wait}

    def take(self, part: Optional[Dict[str, Any]], sent: float, received: float) -> None:
        """Read what a round left over; without anything, the module has ended early."""
        self._part, self._wait = part or {}, ROUND
        self.finished = self._part.get("finished", True)
        clock = self._part.get("clock")
        self._sample = Sample(**clock) if clock else None
        if self._sample is not None:
            self._narrow(skew(self._sample, sent, received))

    def _narrow(self, seen: Skew) -> None:
        self._skew = seen if self._skew is None else self._skew.narrowed(seen)

    @property
    def unsure(self) -> bool:
        """Whether a look at the host's clock is worth its while.

        It is before the skew enters the landing bound, and when the skew is known too vaguely to be
        judged.
        """
        if self._sample is None:
            return False
        return not self.finished or self._check().verdict is Verdict.UNKNOWN

    def hear_host(self, told: str, sent: float, received: float) -> None:
        """The last line of what ``date +%s.%N`` printed on the host; anything else is passed by."""
        last = (told.split("\n") if told else [""])[-1]
        if self._sample is not None and re.match(r"\d{9,11}\.\d{1,9}\Z", last, re.ASCII):
            offset = host_offset(float(last), sent, received)
            self._narrow(skew_by_host(self._sample, offset))

    def _check(self) -> Check:
        return check(self._skew, float(self._part.get("clock_skew_max", 0)))

    def progress(self) -> str:
        """One line for the person who waits."""
        return (
            "preflight: probe job %s is cancelled, waiting for its row in sacct: %.0f s of %s s"
            % (
                self._part.get("job_id"),
                self._part.get("waited", 0),
                self._part.get("limit"),
            )
        )

    @property
    def waiting(self) -> bool:
        """Whether there is something to wait for, and so something to tell."""
        return not self.finished and bool(self._part.get("waiting"))

    def complete(self, answer: Dict[str, Any]) -> None:
        """Put the clock's check into the facts of a module's result."""
        facts = answer.get("ansible_facts", {}).get("slurm_preflight")
        if not facts:
            return
        judged = self._check().as_fact()
        facts["checks"] = [
            judged if one["name"] == "clock_skew" else one for one in facts["checks"]
        ]

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads that are tried again."""

from __future__ import annotations

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    PASSING,
    FailureClass,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.retry import tried_again


class Reads:
    """A read that fails some times, then answers."""

    def __init__(self, *failures: FailureClass) -> None:
        self.failures = list(failures)
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.failures:
            raise SlurmError("no", self.failures.pop(0))
        return "rows"


def test_a_passing_failure_is_tried_again_after_a_pause() -> None:
    read = Reads(FailureClass.CONTROLLER_BUSY, FailureClass.CONTROLLER_UNREACHABLE)
    pauses: list[float] = []
    assert tried_again(read, tries=3, pause=2, sleep=pauses.append) == "rows"
    assert pauses == [2, 4]


def test_the_limit_holds() -> None:
    read = Reads(*[FailureClass.ACCOUNTING_UNREACHABLE] * 10)
    with pytest.raises(SlurmError) as raised:
        tried_again(read, tries=4, sleep=lambda _: None)
    assert raised.value.failure is FailureClass.ACCOUNTING_UNREACHABLE
    assert read.calls == 4


@pytest.mark.parametrize("failure", [kind for kind in FailureClass if kind not in PASSING])
def test_other_failures_are_final(failure: FailureClass) -> None:
    read = Reads(failure)
    with pytest.raises(SlurmError):
        tried_again(read, sleep=lambda _: None)
    assert read.calls == 1

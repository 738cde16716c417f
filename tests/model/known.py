# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Violations that are known and not mended yet: everything else is explored as if they were.

Each is explored as it is as well, and has to be found: one that is mended has to go from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple
from unittest import mock

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import JobRecord
from ansible_collections.hpcops.slurm.plugins.module_utils._writes import results
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.judge import Proof
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Outcome


class Known(NamedTuple):
    """A violation, the case that shows it, and the rule as it ought to be."""

    name: str
    case: str
    mended: Callable[[], Any]


def _same_job() -> Any:
    def same_job(before: JobRecord, after: JobRecord) -> bool:
        if not isinstance(before.submit_time, int) or not isinstance(after.submit_time, int):
            return True
        return after.submit_time == before.submit_time or after.restarts != 0

    return mock.patch.object(results, "same_job", same_job)


def _gone_while_cancelled() -> Any:
    right = results._Verdict._answered

    def answered(self: Any, effect: Answer) -> Any:
        if self.action.ends and self.seen.gone and self.known.proof is Proof.ANSWERED:
            return Outcome.UNKNOWN, results.TAKEN_AND_GONE, FailureClass.NONE
        return right(self, effect)

    return mock.patch.object(results._Verdict, "_answered", answered)


KNOWN: Sequence[Known] = (
    Known(
        "a job that was read while it was being requeued is taken for another one afterwards:"
        " its submit time changes after its restart count",
        "restore of a job that is being requeued",
        _same_job,
    ),
    Known(
        "not_found is said of a job that was cancelled, ended and was forgotten before it was read",
        "cancel a pending job twice",
        _gone_while_cancelled,
    ),
)


@contextmanager
def mended(but: Known | None = None) -> Iterator[None]:
    """All of them are mended inside, but for one."""
    with ExitStack() as stack:
        for one in KNOWN:
            if one is not but:
                stack.enter_context(one.mended())
        yield

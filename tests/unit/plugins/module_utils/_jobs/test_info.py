# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What job_info returns: all of a record, or the values that were asked for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Reply
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.info import job_info
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import NAMES
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes

JOBS = [fakes.job("12"), fakes.job("13_4", EligibleTime="4102444805")]


@pytest.mark.parametrize("jobs", [None, ["12", "13_4"]])
def test_a_record_has_all_its_values_unless_some_are_named(jobs: Sequence[str] | None) -> None:
    squeue = fakes.Squeue(JOBS)
    whole = job_info(squeue, jobs, None)["jobs"]
    assert [set(one) for one in whole] == [NAMES, NAMES]
    for name in NAMES:
        some = job_info(squeue, jobs, None, [name])["jobs"]
        assert some == [{"job_id": one["job_id"], name: one[name]} for one in whole]
    every = job_info(squeue, jobs, None, sorted(NAMES))["jobs"]
    assert every == whole


def test_a_name_that_is_none_is_refused_before_anything_is_run() -> None:
    def run(*_arguments: str) -> Reply:
        raise AssertionError("something was run")

    with pytest.raises(ValueError, match=r"a record has no hold, x; it has .*hold_instance"):
        job_info(run, None, None, ["hold", "state", "x"])

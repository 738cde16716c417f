# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a write may do, by what it needs and what the preflight has answered."""

from __future__ import annotations

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight import permission
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.answers import Found
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import Needs
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._preflight.samples import (
    configuration,
)

NO_BOUND = 'AuthType "auth/none" has no known landing bound'
STEP = "placing hold 1 on the probe: Access/permission denied"
PARAMS = {"preflight": None, "cache_path": "/nowhere", "probe_max_age": 60}


@pytest.mark.parametrize(
    ("needs", "auth", "hold", "refusal"),
    [
        (Needs.HOLD, "auth/munge", Answer.YES, ""),
        (Needs.HOLD, "auth/munge", Answer.NO, STEP),
        (Needs.HOLD, "auth/munge", Answer.UNKNOWN, STEP),
        (Needs.HOLD, "auth/none", Answer.NO, NO_BOUND),
        (Needs.BOUND, "auth/munge", Answer.NO, ""),
        (Needs.BOUND, "auth/munge", Answer.UNKNOWN, ""),
        (Needs.BOUND, "auth/none", Answer.NO, NO_BOUND),
        (Needs.CLOCKS, "auth/munge", Answer.NO, ""),
        (Needs.CLOCKS, "auth/none", Answer.NO, ""),
        (Needs.NOTHING, "auth/munge", Answer.NO, ""),
        (Needs.NOTHING, "auth/none", Answer.NO, ""),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_permit(
    needs: Needs,
    auth: str,
    hold: Answer,
    refusal: str,
    known: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = Found(hold, STEP, Answer.YES, "", 0, 0.0) if known else None
    monkeypatch.setattr(permission, "read_configuration", lambda _run: configuration(AuthType=auth))
    monkeypatch.setattr(permission, "find_answers", lambda _source, _configuration: found)
    # Nothing is run: what would be read stands above.
    given = permission.permit(lambda *_argv, **_more: None, PARAMS, needs)  # type: ignore[arg-type]
    if known:
        assert given.refusal == refusal
    elif needs is Needs.NOTHING:
        assert given.refusal == ""
    elif auth == "auth/none" and needs is not Needs.CLOCKS:
        assert given.refusal == NO_BOUND
    else:
        assert "run hpcops.slurm.preflight as" in given.refusal

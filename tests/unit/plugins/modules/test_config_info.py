# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module config_info by its specs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.modules import config_info
from ansible_collections.hpcops.slurm.tests.unit.plugins.modules.runner import check_spec, specs


@pytest.mark.parametrize("case", specs("test_config_info.yml"))
def test_spec(case: Mapping[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_spec(config_info, case, tmp_path, monkeypatch)

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that no command, file name or clock can take are refused before anything is run."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.options import (
    LONGEST,
    refused_options,
)

LINES = ("partition", "cache_path")
SECONDS = {"age": (0, LONGEST)}


def refused(**params: Any) -> str | None:
    return refused_options(params, LINES, SECONDS)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"slurm_conf": None, "command_timeout": 70.0, "partition": None, "age": None},
        {"slurm_conf": "/etc/slurm conf/ä.conf", "command_timeout": 0.1},
        {"partition": "-x; $(id) `id` 'a' \"b\" {{ 7 }}", "age": 0},
        {"partition": "x" * 4096, "age": LONGEST, "command_timeout": 86400},
        {"rules": ["any\nthing", "\x1b[31m"], "free": "tab\there"},
    ],
)
def test_usable(params: dict[str, Any]) -> None:
    assert refused(**params) is None


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"partition": "a\0b"}, "partition holds a character"),
        ({"rules": ["fine", "a\0b"]}, "rules holds a character"),
        ({"more": {"key": ["\ud800"]}}, "more holds a character"),
        ({"more": {"a\0": 1}}, "more holds a character"),
        ({"slurm_conf": "/a\nb"}, "slurm_conf holds a control character"),
        ({"partition": "a\x1b"}, "partition holds a control character"),
        ({"cache_path": "/a\x7f"}, "cache_path holds a control character"),
        ({"partition": "x" * 4097}, "partition has 4097 characters"),
        ({"command_timeout": float("nan")}, "command_timeout is nan"),
        ({"command_timeout": float("inf")}, "command_timeout is inf"),
        ({"command_timeout": 0.0}, "command_timeout is 0.0"),
        ({"command_timeout": -1.0}, "command_timeout is -1.0"),
        ({"command_timeout": 86401.0}, "command_timeout is 86401.0"),
        ({"age": -1}, "age is -1, and has to be 0 to"),
        ({"age": 10**30}, "age is 1000000"),
    ],
)
def test_unusable(params: dict[str, Any], said: str) -> None:
    text = refused(**params)
    assert text is not None
    assert said in text
    assert len(text) < 300

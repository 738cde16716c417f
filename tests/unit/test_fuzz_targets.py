# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The targets of the fuzzing, with what they begin with, whole and damaged; see tests/fuzz."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.tests.fuzz.targets import TARGETS, corpus

CORPUS = corpus()
PROGRAM = Path(__file__).resolve().parents[1] / "fuzz" / "fuzz.py"


@pytest.mark.parametrize("name", TARGETS)
def test_what_real_releases_print(name: str) -> None:
    for data in CORPUS:
        TARGETS[name](data)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Something of the corpus, with a part of it cut out, doubled or replaced."""
    data = draw(st.sampled_from(CORPUS))
    begin, end = sorted(draw(st.tuples(*[st.integers(0, len(data))] * 2)))
    part = draw(st.sampled_from([b"", data[begin:end] * 2, b"\xff", b"\x1e", b"9" * 20, b"\n"]))
    return data[:begin] + part + data[end:]


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=40, deadline=None)
@given(data=st.one_of(damaged(), st.binary(max_size=200)))
def test_damaged(name: str, data: bytes) -> None:
    TARGETS[name](data)


def test_the_program_compiles() -> None:
    """It needs what only `make fuzz` installs."""
    tree = ast.parse(PROGRAM.read_text(encoding="utf-8"))
    assert any(isinstance(one, ast.FunctionDef) and one.name == "main" for one in tree.body)

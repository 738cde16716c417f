# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Python 3.8 lacks: the engine's tests run with every Python that a managed host may have."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from typing import TypeVar

import pytest

#: For a test about what Ansible's controller does, whose Python is newer.
controllers_share = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="it is not run on managed hosts"
)

A = TypeVar("A")
B = TypeVar("B")


def paired(left: Collection[A], right: Collection[B]) -> Iterator[tuple[A, B]]:
    """The one and the other, which have to be as many: ``zip(strict=True)``."""
    assert len(left) == len(right), (left, right)
    return zip(left, right)


def without_prefix(text: str, prefix: str) -> str:
    """``str.removeprefix``."""
    return text[len(prefix) :] if text.startswith(prefix) else text


def without_suffix(text: str, suffix: str) -> str:
    """``str.removesuffix``."""
    return text[: -len(suffix)] if suffix and text.endswith(suffix) else text

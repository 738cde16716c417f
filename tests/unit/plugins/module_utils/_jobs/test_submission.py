# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.submission import (
    LARGEST_ATTEMPT,
    LONGEST_COMMENT,
    Submission,
    comment_of,
    parse_comment,
)

IDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=80
)
ATTEMPTS = st.integers(0, LARGEST_ATTEMPT)


@given(IDS, ATTEMPTS)
def test_comes_back_unchanged(submission: str, attempt: int) -> None:
    comment = comment_of(submission, attempt)
    assert parse_comment(comment) == Submission(submission, attempt)


@given(IDS, ATTEMPTS)
def test_nothing_in_it_has_a_meaning(submission: str, attempt: int) -> None:
    """No separator, quote, control character or byte beyond ASCII reaches Slurm."""
    words = comment_of(submission, attempt).split(" ")
    assert len(words) == 3
    assert words[1].count("=") == words[2].count("=") == 1
    assert not set("".join(words)) & set("|,;'\"`$\\\n\t/:#")
    assert "".join(words).isascii()


@given(IDS, ATTEMPTS, IDS, ATTEMPTS)
def test_no_two_are_alike(one: str, first: int, other: str, second: int) -> None:
    assert (comment_of(one, first) == comment_of(other, second)) == (
        (one, first) == (other, second)
    )


@given(st.text(max_size=60))
def test_reads_nothing_but_its_own(text: str) -> None:
    for candidate in (text, f"hpcops.slurm submission={text} attempt=1"):
        found = parse_comment(candidate)
        assert found is None or comment_of(found.submission, found.attempt) == candidate


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "hpcops.slurm submission= attempt=1",
        "hpcops.slurm submission=a attempt=01",
        "hpcops.slurm submission=a attempt=-1",
        "hpcops.slurm submission=a attempt=1 ",
        "hpcops.slurm submission=a attempt=1\n",
        "hpcops.slurm submission=a b attempt=1",
        "hpcops.slurm submission=%61 attempt=1",  # it would be written as a
        "hpcops.slurm submission=%c3%a9 attempt=1",
        "hpcops.slurm submission=%C3 attempt=1",
        "hpcops.slurm submission=%00 attempt=1",
        "hpcops.slurm submission=50% attempt=1",
        "hpcops.slurm  submission=a attempt=1",
        "hpcops.slurm submission=a attempt=\u0661",
        "x hpcops.slurm submission=a attempt=1",
    ],
)
def test_other_comments_carry_nothing(text: str | None) -> None:
    assert parse_comment(text) is None


@pytest.mark.parametrize(
    ("submission", "attempt", "said"),
    [
        ("", 1, "empty"),
        ("a\0b", 1, "NUL"),
        ("a\ud800", 1, "UTF-8"),
        ("a", -1, "between 0 and 999999999"),
        ("a", LARGEST_ATTEMPT + 1, "between 0 and 999999999"),
        ("a", True, "between 0 and 999999999"),
        ("\u00e9" * 200, 1, "at most 1024"),
    ],
)
def test_what_can_not_be_carried_is_refused(submission: str, attempt: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        comment_of(submission, attempt)


def test_longest() -> None:
    longest = LONGEST_COMMENT - len(comment_of("a", 1)) + 1
    assert len(comment_of("a" * longest, 1)) == LONGEST_COMMENT
    with pytest.raises(ValueError, match="of 1025 bytes"):
        comment_of("a" * (longest + 1), 1)

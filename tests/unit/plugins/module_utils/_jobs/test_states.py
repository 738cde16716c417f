# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""States of jobs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import (
    FLAGS,
    Base,
    Coarse,
    parse_accounting_state,
    parse_state,
)
from ansible_collections.hpcops.slurm.tests.unit import case_words
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes

F_01 = list(case_words.runs("F-01"))


def words_of(value: str) -> list[str]:
    """The words that one release's JSON gives for a job's state."""
    state = json.loads(value).get("job_state", [])
    return [state] if isinstance(state, str) else list(state)


@pytest.mark.parametrize(("name", "run", "expected"), F_01, ids=["F-01 " + run[0] for run in F_01])
def test_words_of_a_state(name: str, run: dict[str, str], expected: dict[str, object]) -> None:
    held = "0" if json.loads(run["value"]).get("hold") else "4294"
    text = ",".join(words_of(run["value"]))
    found = fakes.read(fakes.job("41007", State=text, PriorityLong=held))
    assert case_words.differing(expected, case_words.record_words(found)) == {}


@pytest.mark.parametrize(("name", "run", "expected"), F_01, ids=["F-01 " + run[0] for run in F_01])
def test_word_of_the_same_job_in_squeue(
    name: str, run: dict[str, str], expected: dict[str, object]
) -> None:
    """squeue prints one word, a flag rather than the base (job_state_string())."""
    words = words_of(run["value"])
    flags = [word for word in words if word not in Base.__members__]
    shown = flags[0] if flags else "".join(words)
    found = case_words.state_words(parse_state(shown))
    for key in ("state", "live", "succeeded"):
        assert found[key] in (expected.get(key, "unknown"), "unknown")
    if flags:
        assert found["flags"] == flags[:1]


@pytest.mark.parametrize(
    ("word", "coarse", "live", "succeeded"),
    [
        ("PENDING", Coarse.PENDING, Answer.YES, Answer.UNKNOWN),
        ("RUNNING", Coarse.RUNNING, Answer.YES, Answer.UNKNOWN),
        ("SUSPENDED", Coarse.SUSPENDED, Answer.YES, Answer.UNKNOWN),
        ("COMPLETED", Coarse.ENDED, Answer.NO, Answer.YES),
        *(
            (word, Coarse.ENDED, Answer.NO, Answer.NO)
            for word in (
                *("CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL"),
                *("DEADLINE", "OUT_OF_MEMORY"),
            )
        ),
    ],
)
def test_base_states(word: str, coarse: Coarse, live: Answer, succeeded: Answer) -> None:
    for parse in (parse_state, parse_accounting_state):
        state = parse(word)
        assert (state.base, state.flags, state.warnings) == (Base[word], (), ())
        assert (state.coarse, state.live, state.succeeded) == (coarse, live, succeeded)


@pytest.mark.parametrize(
    ("flag", "base", "live"),
    [
        ("CONFIGURING", Base.RUNNING, Answer.YES),
        ("RESIZING", Base.RUNNING, Answer.YES),
        ("STOPPED", Base.RUNNING, Answer.YES),
        ("SPECIAL_EXIT", Base.PENDING, Answer.YES),
        ("REQUEUED", Base.PENDING, Answer.YES),
        ("REQUEUE_HOLD", Base.PENDING, Answer.YES),
        ("REQUEUE_FED", Base.PENDING, Answer.YES),
        ("RESV_DEL_HOLD", Base.PENDING, Answer.YES),
        ("EXPEDITING", Base.PENDING, Answer.YES),
        ("SIGNALING", None, Answer.YES),
        ("COMPLETING", None, Answer.UNKNOWN),
        ("STAGE_OUT", None, Answer.UNKNOWN),
        ("REVOKED", None, Answer.UNKNOWN),
        ("LAUNCH_FAILED", None, Answer.UNKNOWN),
    ],
)
def test_a_flag_in_squeue_hides_the_base(flag: str, base: Base | None, live: Answer) -> None:
    state = parse_state(flag)
    assert (state.base, state.flags, state.warnings) == (base, (flag,), ())
    assert (state.live, state.succeeded) == (live, Answer.UNKNOWN)


@pytest.mark.parametrize("flag", sorted(FLAGS))
def test_a_flag_in_accounting_says_nothing_of_the_job(flag: str) -> None:
    state = parse_accounting_state(flag)
    assert (state.base, state.flags, state.warnings) == (None, (flag,), ())
    assert state.succeeded is Answer.UNKNOWN
    assert state.live is not Answer.NO


@pytest.mark.parametrize("text", ["CANCELLED,COMPLETING", "COMPLETING,CANCELLED"])
def test_an_ended_job_that_is_completing_is_not_over(text: str) -> None:
    state = parse_state(text)
    assert (state.base, state.live, state.succeeded) == (
        Base.CANCELLED,
        Answer.UNKNOWN,
        Answer.NO,
    )


@pytest.mark.parametrize(
    "text",
    [
        *("", "RUNNIN", "RUNNING+", "OUT_OF_ME+", "COMPLETED by 5", "running", "R", " RUNNING"),
        *("CANCELLED by root", "CANCELLED by ", "CANCELLED by 5 ", "CANCELLED+", "?", "RUNNING\n"),
        *("RUNNING,PENDING", "WOBBLY,CONFIGURING", "UNINITIALISED", "CANCELLED by -1"),
    ],
)
def test_no_state_is_claimed_for_other_words(text: str) -> None:
    for parse in (parse_state, parse_accounting_state):
        state = parse(text)
        assert (state.word, state.raw) == ("unknown", text)
        assert (state.live, state.succeeded) == (Answer.UNKNOWN, Answer.UNKNOWN)
        assert state.warnings


def test_who_cancelled_is_said_by_accounting_only() -> None:
    assert parse_accounting_state("CANCELLED by 1900000001").by_uid == 1900000001
    assert parse_state("CANCELLED by 1900000001").base is None


@given(st.text())
def test_any_text_is_read_as_something(text: str) -> None:
    for parse in (parse_state, parse_accounting_state):
        state = parse(text)
        assert state.raw == text
        assert state.base is not None or state.succeeded is Answer.UNKNOWN
        json.dumps(state.as_result())

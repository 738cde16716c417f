# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm's clock form, lists, printable text, and errors as results."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    PASSING,
    Answer,
    FailureClass,
    Reply,
    SlurmError,
    printable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import (
    clock_seconds,
    comma_list,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:00", 0),
        ("05:07", 307),
        ("00:02:03", 123),
        ("7-00:00:00", 604800),
        ("1-02", 93600),
        ("1-02:03", 93780),
        ("100:00:00", 360000),
    ],
)
def test_clock_form(text: str, seconds: int) -> None:
    assert clock_seconds(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "5", "UNLIMITED", "1:2:3:4", "-1:00", "1-", "\u0663:\u0660\u0660", "1:00\n"]
)
def test_what_is_no_clock_form(text: str) -> None:
    with pytest.raises(ValueError, match="clock form"):
        clock_seconds(text)


@given(st.integers(0, 10**6), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
@settings(deadline=None)
def test_clock_form_round_trips(days: int, hours: int, minutes: int, seconds: int) -> None:
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    assert clock_seconds(f"{days}-{hours:02}:{minutes:02}:{seconds:02}") == total


def test_comma_list() -> None:
    assert comma_list(" Job_Env, job_comment ,,") == ["Job_Env", "job_comment"]
    assert comma_list("") == []


@given(st.one_of(st.text(), st.binary().map(lambda b: b.decode("utf-8", "surrogateescape"))))
@settings(deadline=None)
def test_any_text_can_be_printed(text: str) -> None:
    shown = printable(text)
    shown.encode("utf-8")
    if not any(0xD800 <= ord(character) < 0xE000 for character in text):
        assert shown == text


def test_half_characters_are_shown() -> None:
    assert printable("a\udcffb") == "a\\xffb"
    assert printable("\ud800\udcff") == "\\ud800\\udcff"


def test_errors_carry_what_was_run_and_what_to_do() -> None:
    reply = Reply(("scontrol", "show", "a b"), 1, b"o", b"e\xff")
    error = SlurmError("It failed \udcff", FailureClass.CONTROLLER_BUSY, "Wait", reply, {"x": 1})
    assert error.as_result() == {
        "msg": "It failed \\xff. Wait",
        "failure_class": "controller_busy",
        "retry": "yes",
        "cmd": "scontrol show 'a b'",
        "rc": 1,
        "stdout": "o",
        "stderr": "e\\xff",
        "timed_out": False,
        "x": 1,
    }
    json.dumps(error.as_result()).encode("ascii")


def test_an_error_without_a_command() -> None:
    error = SlurmError("No.", FailureClass.NO_CONFIG_SOURCE)
    assert error.as_result() == {"msg": "No.", "failure_class": "no_config_source", "retry": "no"}


@pytest.mark.parametrize("failure", FailureClass)
def test_only_what_passes_may_be_tried_again(failure: FailureClass) -> None:
    passing = {"controller_unreachable", "controller_busy", "accounting_unreachable"}
    assert (failure in PASSING) is (failure.value in passing)
    expected = Answer.YES if failure in PASSING else Answer.NO
    assert SlurmError("x", failure).retry is expected

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Job ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import (
    MAX_JOB_ID,
    MAX_TASK_ID,
    IdKind,
    parse_job_id,
    require_job_ids,
    task_spans,
)
from ansible_collections.hpcops.slurm.tests.unit import case_words

E_01 = case_words.case("E-01")
E_02 = case_words.case("E-02")


@pytest.mark.parametrize("text", E_01["input"]["ids"], ids=lambda text: "E-01 " + text)
def test_array_expressions(text: str) -> None:
    expected = E_01["expect"]["ids"][text]
    job_id = parse_job_id(text)
    assert job_id.failure is case_words.failure_class(expected["class"])
    assert job_id.complete.value == expected["complete"]
    if "job" in expected:
        assert job_id.job == expected["job"]
    if expected["tasks"] == "unknown":
        assert job_id.spans == ()
        assert job_id.may_be_acted_on is Answer.NO
    else:
        assert list(job_id.tasks()) == (expected["tasks"] or [])


@pytest.mark.parametrize("text", E_02["input"]["ids"], ids=lambda text: "E-02 " + repr(text))
def test_kinds_of_ids(text: str) -> None:
    expected = dict(E_02["expect"]["ids"][text])
    job_id = parse_job_id(text)
    words = {
        "kind": job_id.kind.value,
        "job": job_id.job,
        "task": job_id.task,
        "component": job_id.component,
        "step": job_id.step,
        "may_be_acted_on": job_id.may_be_acted_on.value,
        "class": job_id.failure.value,
        "usable_from_slurm": "26.05" if "26.05" in job_id.reason else None,
    }
    assert case_words.differing(expected, words) == {}


@pytest.mark.parametrize(
    ("text", "tasks", "limit"),
    [
        ("9_[1-4%2]", (1, 2, 3, 4), 2),
        ("9_[3,5%2]", (3, 5), 2),
        ("9_[0-20:5%3]", (0, 5, 10, 15, 20), 3),
        ("9_[7]", (7,), None),
        ("9_[1-3,2]", (1, 2, 3), None),
        ("9_[1-9:4,20]", (1, 5, 9, 20), None),
    ],
)
def test_expressions_of_arrays(text: str, tasks: tuple[int, ...], limit: int | None) -> None:
    job_id = parse_job_id(text)
    assert (job_id.kind, job_id.job, job_id.limit) == (IdKind.ARRAY_TASKS, 9, limit)
    assert job_id.tasks() == tasks
    assert [each.text for each in job_id.each_task()] == ["9_%d" % task for task in tasks]
    assert all(job_id.names_task(task) for task in tasks)
    assert not job_id.names_task(21)


@pytest.mark.parametrize(
    "text",
    [
        *("9_[1,3,", "9_[", "9_[1-", "9_[1-3,5...", "9_[1-3,5...]", "9_[1-3,11...%5]", "9_[1,2+"),
        "9_[1-3:",
    ],
)
def test_expressions_that_were_cut_off(text: str) -> None:
    job_id = parse_job_id(text)
    assert job_id.failure is FailureClass.OUTPUT_UNREADABLE
    assert job_id.spans == ()
    assert job_id.job == 9
    assert job_id.may_be_acted_on is Answer.NO


@pytest.mark.parametrize(
    "text",
    [
        *("+7", "0x10", "007", " 7", "7 ", "7\n", "1,2", "1 2", "٣", "1e3", "--", "-O", "s123"),
        *("9_", "9+", "9.", "9_[]", "9_[1-2:0]", "9_[a]", "9_[1]x", "9_1-4", "9_4+1", "9+1_4"),
        *("9_[1-2].0", "9+128", "9_%d" % (MAX_TASK_ID + 1), "9_[1-2%]", "9_[01]", "9.-1", "9.x"),
        *(
            str(MAX_JOB_ID + 1),
            "99999999999",
            "4294967295",
            "9" * 10000,
            "uid=0(root) gid=0(root) groups=0(root)",
            "9;id",
        ),
    ],
)
def test_what_is_no_id(text: str) -> None:
    job_id = parse_job_id(text)
    assert (job_id.kind, job_id.failure) == (IdKind.INVALID, FailureClass.ID_MALFORMED)
    assert job_id.may_be_acted_on is Answer.NO
    assert job_id.reason


def test_largest_ids() -> None:
    assert parse_job_id(str(MAX_JOB_ID)).kind is IdKind.JOB
    assert parse_job_id("67043328").kind is IdKind.JOB
    assert parse_job_id("9_%d" % MAX_TASK_ID).task == MAX_TASK_ID
    assert parse_job_id("9_0").task == 0
    assert parse_job_id("9+0").component == 0


def test_step_of_a_component() -> None:
    job_id = parse_job_id("9.0+1")
    assert (job_id.kind, job_id.job, job_id.step) == (IdKind.STEP, 9, "0")


def test_a_hostile_expression_costs_nothing() -> None:
    assert parse_job_id("9_[0-4000000000]").failure is FailureClass.ID_MALFORMED
    many = parse_job_id("9_[%s]" % ",".join(["0-4000000"] * 1000))
    assert many.task_count == 4000001000
    with pytest.raises(SlurmError) as raised:
        many.tasks()
    assert raised.value.failure is FailureClass.ID_MALFORMED


def test_ids_are_refused_together_before_anything_is_run() -> None:
    with pytest.raises(SlurmError) as raised:
        require_job_ids(["12", "12.batch", "13", "x"])
    assert raised.value.failure is FailureClass.ID_MALFORMED
    assert raised.value.evidence["refused_ids"] == ["12.batch", "x"]
    assert raised.value.retry is Answer.NO
    with pytest.raises(SlurmError) as raised:
        require_job_ids(["12", "12_[1-3,..."])
    assert raised.value.failure is FailureClass.OUTPUT_UNREADABLE
    assert [job_id.text for job_id in require_job_ids(["12", "13_4"])] == ["12", "13_4"]


@given(st.text())
def test_any_text_is_read_as_something(text: str) -> None:
    job_id = parse_job_id(text)
    assert job_id.text == text
    if job_id.may_be_acted_on is Answer.YES:
        assert text[0] in "123456789"
        assert set(text) <= set("0123456789_[]-,:%+")
        assert job_id.job is not None


@given(st.text(alphabet="0123456789_[]-,:%+.abs", max_size=30))
def test_any_text_of_ids_letters_is_read_as_something(text: str) -> None:
    job_id = parse_job_id(text)
    assert (job_id.failure is FailureClass.NONE) == (not job_id.reason)
    assert (job_id.complete is Answer.YES) == (job_id.failure is FailureClass.NONE)


@given(st.integers(1, MAX_JOB_ID), st.lists(st.integers(0, 500), min_size=1, max_size=20))
def test_tasks_come_back(job: int, tasks: list[int]) -> None:
    job_id = parse_job_id("%d_[%s]" % (job, ",".join(map(str, tasks))))
    assert job_id.job == job
    assert job_id.tasks() == tuple(sorted(set(tasks)))


@given(st.text())
def test_spans_or_an_error(text: str) -> None:
    try:
        spans, _limit = task_spans(text)
    except ValueError:
        return
    assert all(0 <= span.start < span.stop <= MAX_TASK_ID + 1 for span in spans)

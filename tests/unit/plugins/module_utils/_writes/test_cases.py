# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The field cases about writes, carried out as whole tasks."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import parse_job_id
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import Selection, read_jobs
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.engine import Report
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.results import (
    difference,
    failed,
)
from ansible_collections.hpcops.slurm.tests.unit import case_words
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._writes.slurm import (
    BASE,
    NOW,
    Call,
    Host,
    Slurm,
)

#: What a case says of the task, beside what it says of its one job.
OF_THE_TASK = {"failed", "write_commands", "evidence_contains", "requeue_commands"}


def runs(case_id: str) -> list[Any]:
    return [
        pytest.param(run, expect, id=f"{case_id} {name}")
        for name, run, expect in case_words.runs(case_id)
    ]


def is_failed(report: Report, by_name: bool = True) -> bool:
    return bool(failed(list(report.results.values()), by_name))


def judge(
    report: Report, job_id: str, slurm: Slurm, expected: dict[str, Any], by_name: bool = True
) -> None:
    """Compare a task about one job with what a case expects."""
    made = report.results[job_id]
    words = {
        **case_words.result_words(made),
        "failed": is_failed(report, by_name),
        "write_commands": len(slurm.calls),
        "requeue_commands": sum(one[0] == "requeue" for one in slurm.calls),
    }
    if slurm.of(job_id):
        words.update(case_words.written_words(fakes.read(slurm.job(job_id))))
    if made["before"] and "restarts" in made["before"]:
        words["restarts_before"] = made["before"]["restarts"]
    expected = dict(expected)
    evidence = expected.pop("evidence_contains", "")
    never = expected.pop("outcome_is_never", [])
    assert case_words.differing(expected, words) == {}
    assert evidence in made["message"] + made["reason"]
    assert made["outcome"] not in never


def answer(slurm: Slurm, reply: dict[str, Any], number: int = 0) -> None:
    """Let a call of scontrol answer so, and change nothing by itself."""
    slurm.faults[number] = Call(reply["rc"], reply["stderr"], False)


def becomes(slurm: Slurm, job_id: str, after: dict[str, Any], number: int = 0) -> None:
    """Let the job be so once a call was made."""
    fields = case_words.write_fields(after, NOW, BASE)
    slurm.before_call[number] = lambda: slurm.job(job_id).update(fields)


#


@pytest.mark.parametrize(("run", "expect"), runs("A-02"))
def test_a_forgotten_job(slurm: Slurm, host: Host, run: dict[str, Any], expect: Any) -> None:
    request = run["request"]
    (job_id,) = request.get("ids") or request["selected"]
    (words,) = expect["jobs"].values()
    if "query" in request:
        lookup = read_jobs(slurm.run, [parse_job_id(job_id)])[job_id]
        assert case_words.differing(words, case_words.lookup_words(lookup)) == {}
        return
    action = case_words.action_of(request, NOW)
    by_name = "ids" in request
    if by_name:
        report = host.task(action, job_id, check=request.get("check_mode", False))
    else:
        slurm.add(job_id)
        slurm.before_script = slurm.jobs.clear
        report = host.task(action, select=Selection(users=("user1",)))
    of_the_task = {"failed": expect["failed"], "write_commands": 0}
    judge(report, job_id, slurm, {**words, **of_the_task}, by_name)
    assert any(one["changed"] for one in report.results.values()) is expect["changed"]


# G-01


@pytest.mark.parametrize(("run", "expect"), runs("G-01"))
def test_one_answer_per_group(slurm: Slurm, host: Host, run: dict[str, Any], expect: Any) -> None:
    given = case_words.case("G-01")["input"]
    rows = given["before_rows"]
    for row in case_words.rows(
        rows["text"], rows["fields"], rows["separator"], case_words.SQUEUE_FIELDS
    ):
        slurm.add(row["JobID"], **{key: row[key] for key in row if key != "JobID"})
    answer(slurm, run)

    def after() -> None:
        if run["after_row_of_36"] is None:
            slurm.silent = (0, NOW + 1000)
            return
        (row,) = case_words.rows(
            run["after_row_of_36"], rows["fields"], rows["separator"], case_words.SQUEUE_FIELDS
        )
        slurm.job(row.pop("JobID")).update(row)

    slurm.before_call[0] = after
    report = host.task(case_words.action_of(given["request"], NOW), "70210", settle=False)
    assert is_failed(report) is expect["failed"]
    if "changed" in expect:
        assert any(one["changed"] for one in report.results.values()) is expect["changed"]
    for job_id, words in expect["before"].items():
        before = report.results[job_id]["before"]
        assert {"priority_hold": before["gate"], "state": before["state"]} == words
    assert set(report.results) == set(expect["jobs"])
    for job_id, words in expect["jobs"].items():
        judge(report, job_id, slurm, words)
    assert expect.get("evidence_contains", "") in report.results["70210_36"]["message"]


# G-02


@pytest.mark.parametrize(("run", "expect"), runs("G-02"))
def test_kinds_of_holds(slurm: Slurm, host: Host, run: dict[str, Any], expect: Any) -> None:
    slurm.add("41007", **case_words.write_fields(run["before"], NOW, BASE))
    if "reply" in run:
        answer(slurm, run["reply"])
        becomes(slurm, "41007", run["after"])
    report = host.task(case_words.action_of(run["request"], NOW), "41007")
    judge(report, "41007", slurm, expect)


# G-03


@pytest.mark.parametrize(("run", "expect"), runs("G-03"))
def test_requeues(slurm: Slurm, host: Host, run: dict[str, Any], expect: Any) -> None:
    slurm.add("41007", **case_words.write_fields(run["before"], NOW, BASE))
    steps = 3 if run["before"]["requeue"] == 0 else 1
    replies = run.get("replies", {})
    for number in range(steps):
        requeues = steps == 1 or number == 1
        if "every_call" in replies or requeues:
            answer(
                slurm,
                replies.get("every_call") or replies.get("requeue_call") or {"rc": 0, "stderr": ""},
                number,
            )
    if "after" in run:
        becomes(slurm, "41007", run["after"], steps // 2)
    request = case_words.case("G-03")["input"]["request"]
    report = host.task(case_words.action_of(request, NOW), "41007")
    judge(report, "41007", slurm, expect)


# H-01


@pytest.mark.parametrize("state_after", ["PENDING", "CANCELLED"])
@pytest.mark.parametrize(("run", "expect"), runs("H-01"))
def test_wording(
    slurm: Slurm, host: Host, run: dict[str, Any], expect: Any, state_after: str
) -> None:
    """Whatever the job shows afterwards: the unheard-of is known by what it shows only."""
    slurm.add("41007", PriorityLong="0", Reason="JobHeldUser")
    answer(slurm, run)
    slurm.before_call[0] = lambda: slurm.job("41007").update(State=state_after)
    request = case_words.case("H-01")["input"]["request"]
    report = host.task(case_words.action_of(request, NOW), "41007", settle=False)
    judge(report, "41007", slurm, expect)


# I-02


@pytest.mark.parametrize(("run", "expect"), runs("I-02"))
def test_check_mode(slurm: Slurm, host: Host, run: dict[str, Any], expect: Any) -> None:
    everywhere = case_words.case("I-02")["expect"]["check_mode"]
    if run["before"]:
        slurm.add("41007", **case_words.write_fields(run["before"], NOW, BASE))
    action = case_words.action_of(run["request"], NOW)
    predicted = host.task(action, "41007", check=True)
    judge(predicted, "41007", slurm, expect["check_mode"])
    assert slurm.reads >= everywhere["read_commands_at_least"]
    assert len(slurm.calls) == everywhere["write_commands"]
    real = host.task(action, "41007")
    judge(real, "41007", slurm, expect["real_run"])
    for report in (predicted, real):
        sides = difference(list(report.results.values()))
        changed = report.results["41007"]["changed"]
        assert (sides["before"] != sides["after"]) is changed
    if run["after_real_run"]:
        fields = case_words.write_fields(run["after_real_run"], NOW, BASE)
        shown = case_words.written_words(fakes.read(slurm.job("41007")))
        wanted = case_words.written_words(fakes.read(fakes.job("41007", **fields)))
        assert shown == wanted
    sent = len(slurm.calls)
    assert not host.task(action, "41007").results["41007"]["changed"]
    assert len(slurm.calls) == sent

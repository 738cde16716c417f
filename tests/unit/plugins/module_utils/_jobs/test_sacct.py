# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading executions with sacct."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    Reply,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs import sacct
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import (
    parse_job_id,
    require_job_ids,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.retry import tried_again
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.sacct import (
    Accounting,
    Execution,
    History,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import read_jobs
from ansible_collections.hpcops.slurm.tests.unit import case_words
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes

B_01 = list(case_words.runs("B-01"))
B_02 = list(case_words.runs("B-02"))
B_03 = list(case_words.runs("B-03"))


def histories(table: list[dict[str, str]], *ids: str) -> dict[str, History]:
    """What is read of some ids when accounting has these rows."""
    return Accounting(fakes.Sacct(table)).histories(require_job_ids(ids))


def read_rows(case_id: str) -> tuple[list[Execution], dict[str, Any]]:
    """The executions in the text of a case, and its expectation."""
    found = case_words.case(case_id)
    said = found["input"]
    listed = case_words.rows(
        said["text"], said["fields"], said["separator"], case_words.SACCT_FIELDS
    )
    table = [fakes.row(row.pop("JobID"), **row) for row in listed]
    out = fakes.sacct_text(table, ",".join(sacct.FIELDS), "~abc")
    return list(sacct.parse_executions(out, "~abc", restarts=False)), found["expect"]


def failure_of(run: Any, ids: list[str]) -> SlurmError:
    """The error that reading these ids raises."""
    with pytest.raises(SlurmError) as raised:
        Accounting(run).histories(require_job_ids(ids))
    return raised.value


def both(controller: str, asked: list[str], run: Any) -> dict[str, dict[str, Any]]:
    """What is known of jobs from the controller, and from accounting where it answers."""
    listed = case_words.rows(controller, ["id", "state"], "|", case_words.SQUEUE_FIELDS)
    jobs = fakes.Squeue([fakes.job(row.pop("JobID"), **row) for row in listed])
    lookups = read_jobs(jobs, require_job_ids(asked))
    words = {job_id: case_words.lookup_words(lookup) for job_id, lookup in lookups.items()}
    try:
        found = {} if run is None else Accounting(run).histories(require_job_ids(asked))
    except SlurmError:
        found = {}
    for job_id, history in found.items():
        if words[job_id]["known_to_controller"] != "yes" and history.latest:
            words[job_id] = case_words.execution_words(history.latest[-1])
    return words


# Field cases


@pytest.mark.parametrize(("name", "run", "expected"), B_01, ids=["B-01 " + run[0] for run in B_01])
def test_accounting_switched_off(name: str, run: dict[str, Any], expected: dict[str, Any]) -> None:
    answer: Any = None
    if run["argv"] and run["rc"]:
        answer = fakes.replying(run["rc"], run["stdout"], run["stderr"])
        error = failure_of(answer, ["41007", "41008"])
        assert error.failure is case_words.failure_class(expected["class"])
        assert error.retry.value == expected["retry"]
        assert expected["reason_contains"] in error.message
    elif run["argv"]:
        rows = case_words.rows(run["stdout"], ["id", "state"], "|", case_words.SACCT_FIELDS)
        answer = fakes.Sacct([fakes.row(row.pop("JobID"), **row) for row in rows])
    words = both(run["controller_rows"], ["41007", "41008"], answer)
    for job_id, wanted in expected["jobs"].items():
        assert case_words.differing(wanted, words[job_id]) == {}


@pytest.mark.parametrize(("name", "run", "expected"), B_02, ids=["B-02 " + run[0] for run in B_02])
def test_a_database_that_is_down(name: str, run: dict[str, Any], expected: dict[str, Any]) -> None:
    said = case_words.case("B-02")["input"]
    calls: list[tuple[str, ...]] = []
    reply = fakes.replying(run["rc"], run["stdout"], run["stderr"])

    def counting(*argv: str) -> Reply:
        calls.append(argv)
        return reply(*argv)

    error = failure_of(counting, said["requested"])
    assert error.failure is case_words.failure_class(expected["class"])
    assert error.retry.value == expected["retry"]
    assert expected["reason_contains"] in error.message
    if expected["retry_bounded"]:
        calls.clear()
        with pytest.raises(SlurmError):
            tried_again(
                lambda: Accounting(counting).histories(require_job_ids(said["requested"])),
                sleep=lambda _: None,
            )
        assert len(calls) == 3
    words = both(said["controller_rows"], said["requested"], counting)
    for job_id, wanted in expected["jobs"].items():
        assert case_words.differing(wanted, words[job_id]) == {}


@pytest.mark.parametrize(("name", "run", "expected"), B_03, ids=["B-03 " + run[0] for run in B_03])
def test_nothing_is_not_nothing_there(
    name: str, run: dict[str, Any], expected: dict[str, Any]
) -> None:
    """sacctmgr is not run; sacct's empty, refused and full answers stay as far apart."""
    read = run["reads"][-1]
    if read["rc"]:
        error = failure_of(fakes.replying(read["rc"], read["stdout"], read["stderr"]), ["41007"])
        assert error.failure is case_words.failure_class(expected["class"])
        return
    rows = [fakes.row("41007", Account=account) for account in read["stdout"].split()]
    history = histories(rows, "41007")["41007"]
    if expected["associations_readable"] == "unknown":
        assert (history.executions, history.live, history.succeeded) == (
            (),
            Answer.UNKNOWN,
            Answer.UNKNOWN,
        )
    else:
        accounts = {execution.account for execution in history.executions}
        assert ("proj9" in accounts) == (expected["has_account"] == "yes")


def test_b_03_no_other_command_is_run() -> None:
    run = fakes.Sacct([fakes.row("12")])
    Accounting(run).histories(require_job_ids(["12"]))
    assert {argv[0] for argv in run.calls} == {"sacct"}
    assert not [word for argv in run.calls for word in argv if "json" in word.lower()]


def test_d_03_unlimited_unset_and_unknown() -> None:
    executions, expected = read_rows("D-03")
    assert [execution.id.text for execution in executions] == list(expected["jobs"])
    for execution in executions:
        wanted = expected["jobs"][execution.id.text]
        assert case_words.differing(wanted, case_words.execution_words(execution)) == {}


def test_d_04_states_with_a_tail() -> None:
    executions, expected = read_rows("D-04")
    assert len(executions) == expected["job_count"]
    assert [execution.id.text for execution in executions] == list(expected["jobs"])
    for execution in executions:
        wanted = expected["jobs"][execution.id.text]
        assert case_words.differing(wanted, case_words.execution_words(execution)) == {}


# Arguments


def test_arguments_name_rows_columns_and_window() -> None:
    assert sacct.arguments(require_job_ids(["12", "13_4", "13"]), "~abc") == (
        "--allocations",
        "--duplicates",
        "--noheader",
        "--parsable",
        "--local",
        "--delimiter=~abc",
        "--starttime=uts1000000",
        "--endtime=uts4102444800",
        "--format=" + ",".join(sacct.FIELDS) + ",Restarts",
        "--jobs=12,13",
    )
    later = sacct.arguments(require_job_ids(["12"]), "~abc", since=1796035504, restarts=False)
    assert "--starttime=uts1796035504" in later
    assert not [word for word in later if "Restarts" in word]
    assert "--starttime=uts1000000" in sacct.arguments(require_job_ids(["12"]), "~abc", since=0)


def test_restarts_are_asked_for_until_they_are_refused() -> None:
    old = fakes.Sacct([fakes.row("12")], restarts=False)
    accounting = Accounting(old)
    for _time in range(2):
        history = accounting.histories(require_job_ids(["12"]))["12"]
        assert [execution.restarts for execution in history.executions] == [None]
    assert ["Restarts" in fakes.option(argv, "--format") for argv in old.calls] == [
        *(True, False, False)
    ]
    new = fakes.Sacct([fakes.row("12", Restarts="3")])
    assert Accounting(new).histories(require_job_ids(["12"]))["12"].executions[0].restarts == 3
    assert len(new.calls) == 1


def test_another_refused_field_is_an_error() -> None:
    run = fakes.replying(1, "", 'sacct: error: Invalid field requested: "Group"\n')
    assert failure_of(run, ["12"]).failure is FailureClass.UNCLASSIFIED


def test_ids_that_may_not_be_acted_on_run_nothing() -> None:
    run = fakes.Sacct([])
    with pytest.raises(SlurmError) as raised:
        Accounting(run).histories([parse_job_id("12.0")])
    assert raised.value.failure is FailureClass.ID_MALFORMED
    assert Accounting(run).histories([]) == {}
    assert run.calls == []


# Rows


def test_executions_are_oldest_first() -> None:
    rows = [
        fakes.row("12", Submit="300", State="RUNNING", Restarts="2"),
        fakes.row("12", Submit="100", State="REQUEUED", Restarts="0"),
        fakes.row("12", Submit="200", State="NODE_FAIL", Restarts="1"),
    ]
    history = histories(rows, "12")["12"]
    assert [execution.restarts for execution in history.executions] == [0, 1, 2]
    assert [execution.ended for execution in history.executions] == [
        *(Answer.YES, Answer.YES, Answer.NO)
    ]
    assert [execution.state.word for execution in history.latest] == ["RUNNING"]
    assert (history.live, history.succeeded) == (Answer.YES, Answer.UNKNOWN)


def test_a_requeued_execution_is_over_and_its_job_is_not() -> None:
    history = histories([fakes.row("12", State="REQUEUED")], "12")["12"]
    assert history.executions[0].ended is Answer.YES
    assert (history.live, history.succeeded) == (Answer.UNKNOWN, Answer.UNKNOWN)


def test_a_row_that_nobody_understands() -> None:
    history = histories([fakes.row("12", State="FROBNICATED")], "12")["12"]
    assert history.executions[0].ended is Answer.UNKNOWN
    assert (history.live, history.succeeded) == (Answer.UNKNOWN, Answer.UNKNOWN)


TABLE = [
    fakes.row("20_1", JobIDRaw="21"),
    fakes.row("20_2", JobIDRaw="22", State="FAILED"),
    fakes.row("20_[3,5-7%2]", JobIDRaw="20", State="PENDING"),
    fakes.row("30+0", JobIDRaw="30"),
    fakes.row("30+1", JobIDRaw="31"),
    fakes.row("40"),
    fakes.row("40.batch", JobIDRaw="40.batch"),
]


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("20", ["20_1", "20_2", "20_[3,5-7%2]"]),
        ("20_1", ["20_1"]),
        ("20_6", ["20_[3,5-7%2]"]),
        ("20_4", []),
        ("20_[2-3]", ["20_2", "20_[3,5-7%2]"]),
        ("21", ["20_1"]),
        ("30", ["30+0", "30+1"]),
        ("30+1", ["30+1"]),
        ("31", ["30+1"]),
        ("40", ["40"]),
        ("41", []),
    ],
)
def test_rows_of_an_id(asked: str, shown: list[str]) -> None:
    found = histories(TABLE, asked)[asked]
    assert sorted(execution.id.text for execution in found.executions) == shown


def test_a_row_of_waiting_tasks_does_not_say_that_each_waits() -> None:
    found = histories(TABLE, "20", "20_3")
    assert found["20_3"].latest[0].state.word == "PENDING"
    assert (found["20_3"].live, found["20"].live) == (Answer.UNKNOWN, Answer.UNKNOWN)
    ended = [fakes.row("20_[3,5%2]", JobIDRaw="20", State="CANCELLED by 1001")]
    assert histories(ended, "20_3")["20_3"].live is Answer.NO


def test_success() -> None:
    found = histories(TABLE, "20", "20_1", "30", "30+1", "40", "41")
    assert {asked: history.succeeded.value for asked, history in found.items()} == {
        "20": "no",
        "20_1": "yes",
        "30": "unknown",
        "30+1": "yes",
        "40": "yes",
        "41": "unknown",
    }


@pytest.mark.parametrize("job_id", ["x", "", "12x", "12_[1-3,...", "12_[1-3"])
def test_rows_without_an_id_are_unreadable(job_id: str) -> None:
    run = fakes.Sacct([{**fakes.row("12"), "JobID": job_id}])
    error = failure_of(run, ["12"])
    assert error.failure is FailureClass.OUTPUT_UNREADABLE


def test_complaints_are_kept() -> None:
    run = fakes.Sacct([], stderr="sacct: error: something about a plug-in\n")
    history = Accounting(run).histories(require_job_ids(["12"]))["12"]
    assert history.warnings == ("sacct: error: something about a plug-in",)
    assert (history.executions, history.live) == ((), Answer.UNKNOWN)


@pytest.mark.parametrize("ours", [True, False])
def test_a_time_limit(ours: bool) -> None:
    run = fakes.replying(124, "12~x" if ours else "", "", timed_out=ours)
    error = failure_of(run, ["12"])
    assert error.failure is FailureClass.ACCOUNTING_UNREACHABLE
    assert error.retry is Answer.YES
    assert "slurmdbd" in error.remedy
    assert "12~x" not in error.message


def test_a_forged_row_stays_a_comment() -> None:
    text = "x|\n13|RUNNING|\n~abc"
    found = histories([fakes.row("12", Comment=text, JobName=text)], "12", "13")
    assert found["12"].executions[0].comment == text
    assert found["13"].executions == ()


@given(st.binary(max_size=300))
def test_any_output_is_executions_or_unreadable(out: bytes) -> None:
    fakes.list_or_unreadable(lambda: sacct.parse_executions(out, "~", True))
    fakes.list_or_unreadable(lambda: sacct.parse_executions(out, "~", False))


@given(
    st.dictionaries(
        st.sampled_from(sacct.FIELDS), st.text(st.characters(codec="utf-8"), max_size=20)
    )
)
def test_any_values_are_an_execution_or_unreadable(values: dict[str, str]) -> None:
    accounting = Accounting(fakes.Sacct([{**fakes.row("12"), **values, "JobIDRaw": "12"}]))
    found = fakes.list_or_unreadable(
        lambda: accounting.histories([parse_job_id("12")])["12"].executions
    )
    for execution in found or ():
        assert execution.comment == values.get("Comment", "")

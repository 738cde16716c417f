# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What job_info returns: from the queue, and from accounting for what the queue has no more."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    Reply,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.info import Access, job_info
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.packing import BATCH, packed
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.shapes import NAMES, REMEMBERED
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import Selection
from ansible_collections.hpcops.slurm.plugins.plugin_utils._packed import unpacked
from ansible_collections.hpcops.slurm.tests.unit import case_words
from ansible_collections.hpcops.slurm.tests.unit.old_pythons import controllers_share, paired
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes

JOBS = [fakes.job("12"), fakes.job("13_4", EligibleTime="4102444805")]
NOW, WINDOW = 1796040000, 180
KEPT = Access(Answer.YES, "", WINDOW, NOW)


class Slurm:
    """squeue and sacct over some jobs and rows, and the preflight's answer; keeps the calls."""

    def __init__(
        self,
        jobs: Sequence[dict[str, str]] = (),
        rows: Sequence[dict[str, str]] = (),
        access: Access = KEPT,
        sacct: Callable[..., Reply] | None = None,
        restarts: bool = True,
    ) -> None:
        self.squeue = fakes.Squeue(jobs)
        self.sacct = sacct or fakes.Sacct(rows, restarts=restarts)
        self.access = access
        self.calls: list[str] = []

    def __call__(self, *argv: str) -> Reply:
        self.calls.append(argv[0])
        return self.squeue(*argv) if argv[0] == "squeue" else self.sacct(*argv)

    def ask(self) -> Access:
        """Stands for the read of the live configuration."""
        self.calls.append("scontrol")
        return self.access

    def read(
        self,
        jobs: Sequence[str] | None = None,
        selection: Selection | None = None,
        names: Sequence[str] = (),
    ) -> dict[str, Any]:
        """What the module would return."""
        info = job_info(self, jobs, selection, names, self.ask)
        records = [dict(paired(info.names, row)) for row in info.rows]
        assert json.loads(json.dumps(records)) == records
        found = {"missing": info.missing, "doubtful": info.doubtful, "reasons": info.reasons}
        return {"jobs": records, **found, "warnings": list(info.warnings)}

    def one(self, job_id: str) -> dict[str, Any]:
        """The one record of an id."""
        (record,) = self.read([job_id])["jobs"]
        return dict(record)


def some(record: Mapping[str, Any], *names: str) -> list[Any]:
    """Some values of a record."""
    return [record[name] for name in names]


@pytest.mark.parametrize("jobs", [None, ["12", "13_4"]])
def test_a_record_has_all_its_values_unless_some_are_named(jobs: Sequence[str] | None) -> None:
    slurm = Slurm(JOBS)
    whole = slurm.read(jobs)["jobs"]
    assert [list(one) for one in whole] == [list(NAMES), list(NAMES)]
    for name in NAMES:
        some_values = slurm.read(jobs, names=[name])["jobs"]
        assert some_values == [{"job_id": one["job_id"], name: one[name]} for one in whole]
    assert "sacct" not in slurm.calls


def test_squeue_is_asked_for_what_is_needed() -> None:
    slurm = Slurm(JOBS)
    slurm.read(names=["user", "cause"])
    slurm.read()
    few, all_ = (fakes.option(argv, "--Format").split(",") for argv in slurm.squeue.calls)
    assert {one.partition(":")[0] for one in few} == {
        "JobID", "ArrayJobID", "ArrayTaskID", "HetJobID", "HetJobOffset", "State", "Reason",
        "UserName", "Reservation", "Name",
    }  # fmt: skip
    assert len(all_) == 26


def test_a_name_that_is_none_is_refused_before_anything_is_run() -> None:
    slurm = Slurm()
    with pytest.raises(ValueError, match=r"a record has no hold, x; it has .*hold_instance"):
        slurm.read(names=["hold", "state", "x"])
    assert slurm.calls == []


def test_a_selection_chooses_rows_as_it_chooses_records() -> None:
    jobs = [
        fakes.job("1", Name="a", Reservation="r1"),
        fakes.job("2", Name="A", Reservation="r2,r1"),
        fakes.job("3", Name="a", State="RUNNING", Reservation="r1"),
        fakes.job("4", Name="a"),
    ]
    slurm = Slurm(jobs)

    def chosen(**options: Any) -> list[str]:
        return [one["job_id"] for one in slurm.read(selection=Selection(**options))["jobs"]]

    assert chosen(names=("a",)) == ["1", "3", "4"]
    assert chosen(reservations=("r1",)) == ["1", "2", "3"]
    assert chosen(states=("RUNNING",), names=("a",)) == ["3"]


def test_more_texts_than_are_remembered() -> None:
    count = REMEMBERED + 100
    jobs = [fakes.job(str(number), Name=f"n{number % (count - 7)}") for number in range(1, count)]
    found = Slurm(jobs).read(names=["name"])["jobs"]
    assert found == [{"job_id": one["JobID"], "name": one["Name"]} for one in jobs]


def test_a_row_without_an_id_is_unreadable() -> None:
    with pytest.raises(SlurmError) as raised:
        Slurm([fakes.job("1"), fakes.job("2", JobID="x")]).read()
    assert raised.value.failure is FailureClass.OUTPUT_UNREADABLE


# The past


def test_a_job_that_left_is_read_from_accounting() -> None:
    comment = "hpcops.slurm submission=n%2F1 attempt=3"
    slurm = Slurm(JOBS, [fakes.row("9", State="FAILED", ExitCode="3:0", Comment=comment)])
    read = slurm.read(["12", "9", "8"])
    assert [one["job_id"] for one in read["jobs"]] == ["12", "9"]
    found = read["jobs"][1]
    assert sorted(found) == sorted(NAMES)
    assert some(found, "cause", "coarse_state", "source", "gate") == [
        "failed", "ended", "accounting", "no"
    ]  # fmt: skip
    assert found["exit_code"] == {"status": 3, "signal": 0}
    assert some(found, "submission", "attempt") == ["n/1", 3]
    assert (read["missing"], read["doubtful"]) == (["8"], [])
    assert read["reasons"] == {"8": "neither slurmctld nor accounting shows it to this user"}
    assert slurm.calls == ["squeue", "scontrol", "sacct"]


@pytest.mark.parametrize("answer", [Answer.NO, Answer.UNKNOWN])
def test_without_a_history_sacct_is_not_asked(answer: Answer) -> None:
    access = Access(answer, "the reason", WINDOW, NOW)
    slurm = Slurm([], [fakes.row("9")], access)
    read = slurm.read(["9"])
    assert (read["jobs"], read["missing"]) == ([], ["9"])
    assert f"AccountingHistory is {answer.value}: the reason" in read["reasons"]["9"]
    assert "sacct" not in slurm.calls


@pytest.mark.parametrize(("name", "said", "_expected"), list(case_words.runs("B-02")))
def test_accounting_that_is_down(name: str, said: Any, _expected: Any) -> None:
    """B-02: a job of which accounting says nothing is in doubt, and the others are read."""
    assert name
    sacct = fakes.replying(said["rc"], said["stdout"], said["stderr"])
    slurm = Slurm([fakes.job("41008", State="RUNNING")], sacct=sacct)
    read = slurm.read(["41008", "41009"])
    assert [one["state"] for one in read["jobs"]] == ["RUNNING"]
    assert (read["missing"], read["doubtful"]) == ([], ["41009"])
    assert "Problem talking to the database" in read["reasons"]["41009"]
    assert "Problem talking to the database" in read["warnings"][0]


def test_executions_are_kept_apart_oldest_first() -> None:
    first = {"State": "REQUEUED", "Submit": "100", "Start": "110", "End": "120", "Restarts": "0"}
    second = {"State": "NODE_FAIL", "Submit": "120", "Start": "130", "End": "140", "Restarts": "1"}
    third = {"State": "TIMEOUT", "Submit": "140", "Start": "150", "End": "160", "Restarts": "2"}
    rows = [fakes.row("9", **third), fakes.row("9", **first), fakes.row("9", **second)]
    older = fakes.row("9", State="COMPLETED", Submit="10", Start="11", End="12", Restarts="0")
    gone = Slurm([], [*rows, older]).one("9")
    assert some(gone, "cause", "restarts") == ["timeout", 2]
    causes = [some(one, "cause", "coarse_state") for one in gone["earlier_executions"]]
    assert causes == [["requeued", "ended"], ["node_lost", "ended"]]

    there = fakes.job("9", State="TIMEOUT", SubmitTime="140", RestartCnt="2")
    shown = Slurm([there], [*rows, older]).one("9")
    assert shown["source"] == "slurmctld"
    assert shown["earlier_executions"] == gone["earlier_executions"]

    early = Slurm([there], [fakes.row("9", **second)]).one("9")
    assert early["earlier_executions"] is None
    unread = Slurm([there], rows, Access(Answer.NO, "", WINDOW, NOW)).one("9")
    assert unread["earlier_executions"] is None


def test_a_requeued_row_alone_is_no_end_of_the_job() -> None:
    """22.05 has no row of the new execution for some seconds."""
    found = Slurm([], [fakes.row("9", State="REQUEUED")], restarts=False).one("9")
    assert some(found, "coarse_state", "cause", "succeeded") == ["unknown", "requeued", "unknown"]


@pytest.mark.parametrize("state", ["RUNNING", "PENDING", "SUSPENDED"])
def test_a_row_that_lives_is_no_proof(state: str) -> None:
    found = Slurm([], [fakes.row("9", State=state)]).one("9")
    assert some(found, "state", "coarse_state", "cause", "live") == [
        state, "unknown", "unknown", "unknown"
    ]  # fmt: skip
    assert some(found, "gate", "hold_instance") == ["unknown", "unknown"]


def test_who_cancelled_a_job_that_is_still_shown() -> None:
    rows = [fakes.row("9", State="CANCELLED by 0", Submit="100")]
    there = fakes.job("9", State="CANCELLED", SubmitTime="100")
    assert some(Slurm([there], rows).one("9"), "cause", "cancelled_by_uid", "cancelled_by") == [
        "cancelled", 0, "root"
    ]  # fmt: skip
    nobody = [fakes.row("9", State="CANCELLED by 1900000001", Submit="100")]
    assert some(Slurm([], nobody).one("9"), "cancelled_by_uid", "cancelled_by") == [
        1900000001, None
    ]  # fmt: skip


def test_an_array_that_left_has_a_record_for_each_task() -> None:
    rows = [
        fakes.row("9_1", JobIDRaw="10", State="COMPLETED"),
        fakes.row("9_2", JobIDRaw="9", State="FAILED", ExitCode="0:9"),
    ]
    records = Slurm([], rows).read(["9"])["jobs"]
    assert [some(one, "job_id", "array_job_id", "array_task_id", "cause") for one in records] == [
        ["9_2", 9, 2, "failed"], ["9_1", 9, 1, "completed"]
    ]  # fmt: skip
    (component,) = Slurm([], [fakes.row("7+1", JobIDRaw="8")]).read(["7+1"])["jobs"]
    assert some(component, "job_id", "het_job_id", "het_offset") == ["7+1", 7, 1]


def test_tasks_that_left_an_array_that_is_still_there() -> None:
    there = [
        fakes.job("9_3", JobID="11", State="RUNNING"),
        fakes.job("9_4", JobID="9"),
        fakes.job("9_5", JobID="9"),
    ]
    rows = [
        fakes.row("9_1", JobIDRaw="10", State="FAILED", NodeList="n1"),
        fakes.row("9_3", JobIDRaw="11", State="RUNNING"),
        fakes.row("9_[3-5]", JobIDRaw="9", State="PENDING"),
    ]

    def seen(*ids: str) -> list[list[Any]]:
        records = Slurm(there, rows).read(ids)["jobs"]
        return sorted(some(one, "job_id", "source", "coarse_state") for one in records)

    live = [
        ["9_3", "slurmctld", "running"],
        ["9_4", "slurmctld", "pending"],
        ["9_5", "slurmctld", "pending"],
    ]
    assert seen("9") == seen("9", "9_[1-5]") == [["9_1", "accounting", "ended"], *live]
    assert seen("9_[3-4]") == live[:2]
    unread = Slurm(there, rows, Access(Answer.NO, "", WINDOW, NOW)).read(["9"])
    assert len(unread["jobs"]) == 3


@pytest.mark.parametrize(
    ("end", "access", "coarse"),
    [
        (NOW - WINDOW + 1, KEPT, "running"),
        (NOW - WINDOW, KEPT, "ended"),
        (NOW - 5, Access(Answer.YES, "", None, NOW), "unknown"),
        (NOW - 5, Access(Answer.YES, "", WINDOW, None), "unknown"),
        (None, KEPT, "unknown"),
    ],
)
def test_a_lost_node(end: int | None, access: Access, coarse: str) -> None:
    text = "N/A" if end is None else str(end)
    job = fakes.job("9", State="NODE_FAIL", EndTime=text)
    rows = [fakes.row("9", State="NODE_FAIL", End=text)]
    slurm = Slurm([job], rows, access)
    for record in (
        slurm.read()["jobs"][0],
        slurm.one("9"),
        Slurm([], rows, access).one("9"),
    ):
        assert some(record, "coarse_state", "cause") == [coarse, "node_lost"]
        assert record["live"] == ("no" if coarse == "ended" else "unknown")
    few = slurm.read(names=["coarse_state"])["jobs"]
    assert few == [{"job_id": "9", "coarse_state": coarse}]


def test_a_state_that_is_not_known_is_kept_and_warned_about() -> None:
    jobs = [fakes.job("1", State="FROBNICATED"), fakes.job("2", State="FROBNICATED")]
    slurm = Slurm(jobs, [fakes.row("3", State="OUT_OF_ME+")])
    queue, named = slurm.read(), slurm.read(["1", "3"])
    for one in (*queue["jobs"], *named["jobs"]):
        assert some(one, "state", "coarse_state", "cause") == ["unknown"] * 3
    assert [one["raw_state"] for one in named["jobs"]] == ["FROBNICATED", "OUT_OF_ME+"]
    assert queue["warnings"] == ["squeue shows a job in an unknown state 'FROBNICATED'"]
    accounted = "sacct has a job in an unknown state 'OUT_OF_ME+'"
    assert named["warnings"] == [*queue["warnings"], accounted]


# Packed


@controllers_share
@pytest.mark.parametrize("count", [0, 1, BATCH, BATCH + 1, 2 * BATCH + 5])
def test_packed_rows_are_the_same(count: int) -> None:
    odd = 'Größe ☃\n"'
    rows: list[list[Any]] = [[str(one), one, None, {"a": odd}, []] for one in range(count)]
    value = json.loads(json.dumps(packed("abcde", iter(rows))))
    assert unpacked(value) == [dict(paired("abcde", row)) for row in rows]


@pytest.mark.parametrize("value", [{}, {"names": ["a"]}, {"names": ["a"], "rows": "eA=="}, None])
def test_what_is_not_packed_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"not packed|padding|base64"):
        unpacked(value)

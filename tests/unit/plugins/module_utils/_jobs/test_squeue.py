# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading jobs with squeue."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Commands
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    Reply,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs import squeue
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import (
    parse_job_id,
    require_job_ids,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import (
    FIELDS,
    JobLookup,
    JobRecord,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.retry import tried_again
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import Marks, fresh_marks
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.shapes import Shape
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import (
    Queue,
    Selection,
    read_jobs,
    read_queue,
)
from ansible_collections.hpcops.slurm.tests.unit import case_words
from ansible_collections.hpcops.slurm.tests.unit.old_pythons import paired
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes

MARKS = Marks("~abc", "^abc")
A_01 = list(case_words.runs("A-01"))
C_01 = list(case_words.runs("C-01"))


def lookups(jobs: list[dict[str, str]], *ids: str) -> dict[str, JobLookup]:
    """What is read of some ids on a cluster with these jobs."""
    return read_jobs(fakes.Squeue(jobs), require_job_ids(ids))


def failure_of(run: Any, ids: list[str]) -> SlurmError:
    """The error that reading these ids raises."""
    with pytest.raises(SlurmError) as raised:
        read_jobs(run, require_job_ids(ids))
    return raised.value


# Field cases


@pytest.mark.parametrize(("name", "run", "expected"), A_01, ids=["A-01 " + run[0] for run in A_01])
def test_unknown_ids(name: str, run: dict[str, Any], expected: dict[str, Any]) -> None:
    listed = case_words.rows(run["stdout"], ["id", "state"], "|", case_words.SQUEUE_FIELDS)
    jobs = [fakes.job(row.pop("JobID"), **row) for row in listed]
    ids = require_job_ids(run["requested"])
    marks = fresh_marks()
    form = fakes.option(squeue.jobs_arguments(ids, marks), "--Format")
    reply = Reply(("squeue",), run["rc"], fakes.squeue_text(jobs, form), run["stderr"].encode())
    found = squeue.lookups_from(reply, ids, marks)
    assert found.keys() == expected["jobs"].keys()
    for job_id, said in expected["jobs"].items():
        assert case_words.differing(said, case_words.lookup_words(found[job_id])) == {}
    assert lookups(jobs, *run["requested"]) == found
    assert (
        squeue.controller_reachable(FailureClass.NONE, reply).value
        == (expected["controller_reachable"])
    )


def test_a_02_forgotten_jobs_state() -> None:
    """A-02: the query of a state; its writes are tested where writes are."""
    found = case_words.case("A-02")
    reply = found["input"]["reads"][0]
    run = fakes.replying(reply["rc"], reply["stdout"], reply["stderr"])
    for job_id, said in found["expect"]["runs"]["state_query"]["jobs"].items():
        answer = read_jobs(run, require_job_ids([job_id]))[job_id]
        assert case_words.differing(said, case_words.lookup_words(answer)) == {}


def test_a_04_rows_of_ended_jobs() -> None:
    """A-04: a row in squeue is no proof that the job is alive."""
    found = case_words.case("A-04")
    said, expected = found["input"], found["expect"]
    listed = case_words.rows(
        said["text"], said["fields"], said["separator"], case_words.SQUEUE_FIELDS
    )
    run = fakes.Squeue([fakes.job(row.pop("JobID"), **row) for row in listed])
    queue = read_queue(run, Selection(users=("u17",)))
    words = {record.id_text: case_words.record_words(record) for record in queue.records}
    assert words.keys() == expected["jobs"].keys()
    for job_id, wanted in expected["jobs"].items():
        assert case_words.differing(wanted, words[job_id]) == {}
    assert sum(word["live"] == "yes" for word in words.values()) == expected["live_count"]


@pytest.mark.parametrize(("name", "run", "expected"), C_01, ids=["C-01 " + run[0] for run in C_01])
def test_failed_queries(name: str, run: dict[str, Any], expected: dict[str, Any]) -> None:
    requested = case_words.case("C-01")["input"]["requested"]
    calls: list[tuple[str, ...]] = []
    reply = fakes.replying(
        run["rc"], run["stdout"], run["stderr"], timed_out=name == "killed_by_own_time_limit"
    )

    def counting(*argv: str) -> Reply:
        calls.append(argv)
        return reply(*argv)

    error = failure_of(counting, requested)
    assert error.failure is case_words.failure_class(expected["class"])
    assert error.retry.value == expected["retry"]
    assert error.evidence["controller_reachable"] == expected["controller_reachable"]
    if expected.get("partial_output_used") is False:
        assert "RUNNING" not in error.message
    with pytest.raises(SlurmError) as raised:
        read_queue(counting, Selection())  # neither a queue nor an empty one
    assert raised.value.failure is error.failure
    if expected["retry_bounded"]:
        calls.clear()
        with pytest.raises(SlurmError):
            tried_again(
                lambda: read_jobs(counting, require_job_ids(requested)), sleep=lambda _: None
            )
        assert len(calls) == 3


def test_d_01_blanks_and_equal_signs() -> None:
    """D-01: squeue's reading; scontrol show job is not run (test_other_commands_are_not_run)."""
    found = case_words.case("D-01")
    values: dict[str, str] = {}
    for row in found["input"]["readings"][1]["rows"]:
        shown = case_words.rows(row["text"], row["fields"], "\x1f", case_words.SQUEUE_FIELDS)
        values.update(shown[0])
    assert "Reason=JobHeldUser" in found["input"]["readings"][0]["text"]
    job = fakes.job(values.pop("JobID"), Reason="JobHeldUser", **values)
    for job_id, expected in found["expect"]["jobs"].items():
        answer = read_jobs(fakes.Squeue([job]), [parse_job_id(job_id)], ("Command", "WorkDir"))
        assert case_words.differing(expected, case_words.lookup_words(answer[job_id])) == {}


def test_d_02_the_callers_environment(tmp_path: Path) -> None:
    """D-02: neither columns nor rows come from the environment of the caller."""
    found = case_words.case("D-02")
    said, expected = found["input"], found["expect"]
    env = expected["env_at_command"]
    states = said["jobs_on_the_cluster"]
    stub = tmp_path / "squeue"
    stub.write_text(
        "#!%s\nimport json, os, sys\n"
        "leaked = set(os.environ) & set(%r)\n"
        "leaked |= {n for n in %r if os.environ.get(n, '%%s') not in ('%%s', '0')}\n"
        "leaked |= {n for n, v in %r.items() if os.environ.get(n) not in v}\n"
        "if leaked: print(%r, end=''); sys.exit()\n"
        "form = next(a for a in sys.argv if a.startswith('--Format=')).partition('=')[2]\n"
        "for job in json.loads(%r):\n"
        "    columns = (c.partition(':') for c in form.split(','))\n"
        "    print(''.join(job[name] + end for name, _, end in columns))\n"
        % (
            sys.executable,
            env["absent"],
            env["absent_or_pinned"],
            env["one_of"],
            said["output_if_env_leaks"],
            json.dumps([fakes.job(job_id, State=state) for job_id, state in states.items()]),
        ),
        encoding="utf-8",
    )
    stub.chmod(0o755)
    commands = Commands(30, caller={**said["env"], "PATH": str(tmp_path)})
    commands.environment["PATH"] = str(tmp_path)

    def run(program: str, *arguments: str) -> Reply:
        return commands.run(str(tmp_path / program), *arguments)

    answers = read_jobs(run, require_job_ids(states))
    for job_id, wanted in expected["jobs"].items():
        assert case_words.differing(wanted, case_words.lookup_words(answers[job_id])) == {}
    assert expected["columns_named_in_argv"]
    assert fakes.option(squeue.jobs_arguments(require_job_ids(states), MARKS), "--Format")


def test_f_02_text_where_json_cannot_be() -> None:
    """F-02: what squeue says when it lacks the plug-in is no list of jobs."""
    said = next(run for run in case_words.runs("F-02") if run[0] == "not_json")
    text, expected = said[1]["value"], said[2]
    error = failure_of(fakes.replying(0, text + "\n"), ["41007"])
    assert error.failure is case_words.failure_class(expected["class"])
    assert text[:40] in error.evidence["text"]
    assert failure_of(fakes.replying(1, text + "\n"), ["41007"]).failure is (
        FailureClass.UNCLASSIFIED
    )


# Arguments


def test_arguments_name_rows_and_columns() -> None:
    arguments = squeue.jobs_arguments(require_job_ids(["12"]), MARKS, ("StdOut",))
    assert arguments == (
        "--noheader",
        "--all",
        "--array",
        "--local",
        "--states=all",
        "--jobs=12,12",
        "--Format=" + ",".join(f"{field}:~abc" for field in FIELDS) + ",StdOut:^abc",
    )


@pytest.mark.parametrize(
    ("ids", "asked"),
    [
        (["12"], "12,12"),
        (["12_3"], "12,12"),
        (["12_3", "12_4", "12"], "12,12"),
        (["12", "13"], "12,13"),
        (["12+1", "13_[1-4]", "12", "14"], "12,13,14"),
    ],
)
def test_numbers_asked_for(ids: list[str], asked: str) -> None:
    arguments = squeue.jobs_arguments(require_job_ids(ids), MARKS)
    assert fakes.option(arguments, "--jobs") == asked


def test_selections_arguments() -> None:
    selection = Selection(
        users=("user1", "1002"),
        accounts=("acc",),
        partitions=("debug", "long"),
        qos=("normal",),
        states=("PENDING",),
        names=("night run",),
        reservations=("r1",),
        nodes="n[01-02]",
    )
    assert squeue.selection_arguments(selection, MARKS)[4:-1] == (
        "--states=all",
        "--user=user1,1002",
        "--accounts=acc",
        "--partitions=debug,long",
        "--qos=normal",
        "--name=night run",
        "--nodelist=n[01-02]",
    )
    assert squeue.selection_arguments(Selection(), MARKS)[4:-1] == ("--states=all",)
    # A comma can't be written in squeue's lists: such a name is chosen from the answer.
    assert squeue.selection_arguments(Selection(names=("a,b", "c")), MARKS)[5:-1] == ()


def test_other_commands_are_not_run() -> None:
    """F-01, F-02, D-01, B-03: no JSON is asked for, and neither scontrol nor sacctmgr."""
    run = fakes.Squeue([fakes.job("12", Command="/bin/true")])
    read_jobs(run, require_job_ids(["12"]), ("Command",))
    read_queue(run, Selection(users=("user1",)))
    assert {argv[0] for argv in run.calls} == {"squeue"}
    words = [word.lower() for argv in run.calls for word in argv]
    assert not [word for word in words if word.startswith(("--json", "--yaml", "-o"))]


def test_ids_that_may_not_be_acted_on_run_nothing() -> None:
    run = fakes.Squeue([])
    ids = [parse_job_id(text) for text in ("12", "12.batch")]
    with pytest.raises(SlurmError) as raised:
        read_jobs(run, ids)
    assert raised.value.failure is FailureClass.ID_MALFORMED
    assert run.calls == []


def test_no_ids_run_nothing() -> None:
    run = fakes.Squeue([])
    assert read_jobs(run, []) == {}
    assert run.calls == []


def test_many_ids_stay_below_the_size_of_an_argument() -> None:
    run = fakes.Squeue([fakes.job(str(number)) for number in range(1000000, 1040000, 100)])
    ids = [parse_job_id(str(number)) for number in range(1000000, 1040000)]
    found = read_jobs(run, ids)
    assert len(run.calls) == 3
    assert max(len(word) for argv in run.calls for word in argv) < 131072
    assert list(found) == [job_id.text for job_id in ids]
    assert sum(lookup.known is Answer.YES for lookup in found.values()) == 400


def test_a_last_chunk_of_one_id_behaves_like_the_others() -> None:
    run = fakes.Squeue([])
    ids = [parse_job_id(str(number)) for number in (1000001, 1000002, 1000003)]
    chunks = list(squeue.chunks(ids, size=16))
    assert [[job_id.job for job_id in chunk] for chunk in chunks] == [[1000001, 1000002], [1000003]]
    assert fakes.option(squeue.jobs_arguments(chunks[1], MARKS), "--jobs") == "1000003,1000003"
    assert read_jobs(run, chunks[1])["1000003"].known is Answer.NO


# What an id stands for

ARRAY = [
    fakes.job("20_3"),
    fakes.job("20_5"),
    fakes.job("20_1", JobID="21", State="RUNNING"),
    fakes.job("20_4", JobID="22", EligibleTime="4102444804"),
]
HET = [
    fakes.job("30+0", State="RUNNING"),
    fakes.job("30+1", JobID="31", State="RUNNING"),
]


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("20", ["20_1", "20_3", "20_4", "20_5"]),
        ("20_3", ["20_3"]),
        ("20_4", ["20_4"]),
        ("20_[3-4]", ["20_3", "20_4"]),
        ("20_[4-99]", ["20_4", "20_5"]),
        ("20_2", []),
        ("21", ["20_1"]),
        ("21_1", []),
        ("30", ["30+0", "30+1"]),
        ("30+1", ["30+1"]),
        ("30+2", []),
        ("31", ["30+1"]),
        ("31+1", []),
        ("20+0", []),
    ],
)
def test_records_of_an_id(asked: str, shown: list[str]) -> None:
    found = lookups(ARRAY + HET, asked)[asked]
    assert sorted(record.id_text for record in found.records) == shown
    assert found.known is (Answer.YES if shown else Answer.NO)


def test_a_held_task_is_not_its_siblings() -> None:
    found = lookups(ARRAY, "20_3", "20_4")
    assert found["20_4"].records[0].hold_instance == 4
    assert found["20_3"].records[0].hold_instance is None


def test_rows_that_stand_for_several_tasks() -> None:
    """Without --array; never asked for, and still read right."""
    found = lookups([fakes.job("20", ArrayTaskID="3-5,9%2")], "20", "20_4", "20_6", "20_[6-9]")
    assert [len(found[asked].records) for asked in ("20", "20_4", "20_6", "20_[6-9]")] == [
        *(1, 1, 0, 1)
    ]
    record = found["20"].records[0]
    assert (record.array_task_id, record.id_text) == (None, "20")


def test_success_of_an_array_is_not_known_from_the_rest_of_it() -> None:
    ended = [fakes.job("20_%d" % task, State="COMPLETED") for task in (1, 2)]
    found = lookups(ended, "20", "20_1", "20_[1-2]", "20_[1-3]")
    assert {asked: answer.succeeded.value for asked, answer in found.items()} == {
        "20": "unknown",
        "20_1": "yes",
        "20_[1-2]": "yes",
        "20_[1-3]": "unknown",
    }
    assert found["20"].live is Answer.NO


def test_one_task_that_failed_fails_the_array() -> None:
    jobs = [fakes.job("20_1", State="FAILED"), fakes.job("20_2", State="RUNNING")]
    found = lookups(jobs, "20")["20"]
    assert (found.live, found.succeeded) == (Answer.YES, Answer.NO)


def test_success_of_a_het_job() -> None:
    jobs = [fakes.job("30+0", State="COMPLETED"), fakes.job("30+1", JobID="31", State="COMPLETED")]
    found = lookups(jobs, "30")["30"]
    assert (found.live, found.succeeded) == (Answer.NO, Answer.YES)


def test_an_id_nobody_knows_says_nothing() -> None:
    found = lookups([], "12", "13_4", "14+1", "15_[1-2]")
    for lookup in found.values():
        assert (lookup.known, lookup.live, lookup.succeeded) == (
            Answer.NO,
            Answer.UNKNOWN,
            Answer.UNKNOWN,
        )
        assert lookup.failure is FailureClass.JOB_UNKNOWN
        assert lookup.record is None


# Replies


@pytest.mark.parametrize(
    ("status", "stderr", "failure", "reachable"),
    [
        (
            1,
            "slurm_load_jobs error: Rate limit exceeded, please retry momentarily\n",
            FailureClass.CONTROLLER_BUSY,
            "yes",
        ),
        (
            1,
            "slurm_load_jobs error:Unable to contact slurm controller (connect failure)\n",
            FailureClass.CONTROLLER_UNREACHABLE,
            "no",
        ),
        (
            1,
            "squeue: fatal: Could not establish a configuration source\n",
            FailureClass.NO_CONFIG_SOURCE,
            "unknown",
        ),
        (
            1,
            "slurm_load_jobs error: Frobnication is pending\n",
            FailureClass.UNCLASSIFIED,
            "unknown",
        ),
        (1, "", FailureClass.UNCLASSIFIED, "unknown"),
        (139, "", FailureClass.UNCLASSIFIED, "unknown"),
        (1, "squeue: error: Invalid job id: abc\n", FailureClass.UNCLASSIFIED, "unknown"),
        (124, "", FailureClass.CONTROLLER_UNREACHABLE, "unknown"),
    ],
)
def test_classes_of_failed_reads(
    status: int, stderr: str, failure: FailureClass, reachable: str
) -> None:
    error = failure_of(fakes.replying(status, "", stderr), ["12", "13"])
    assert error.failure is failure
    assert error.evidence["controller_reachable"] == reachable
    assert error.as_result()["stderr"] == stderr


def test_the_sentence_for_one_unknown_id_is_not_taken_for_several() -> None:
    run = fakes.replying(1, "", "slurm_load_jobs error: Invalid job id specified\n")
    assert failure_of(run, ["12", "13"]).failure is FailureClass.UNCLASSIFIED
    assert read_jobs(run, require_job_ids(["12_3", "12"]))["12"].known is Answer.NO
    rows = fakes.replying(1, "x\n", "slurm_load_jobs error: Invalid job id specified\n")
    assert failure_of(rows, ["12"]).failure is FailureClass.UNCLASSIFIED


def test_rows_of_a_failed_call_are_not_used() -> None:
    jobs = fakes.Squeue([fakes.job("12")])

    def run(*argv: str) -> Reply:
        good = jobs(*argv)
        return Reply(argv, 1, good.stdout, b"slurm_load_partitions: error\n")

    assert failure_of(run, ["12", "13"]).failure is FailureClass.UNCLASSIFIED


def test_a_missing_command() -> None:
    run = fakes.replying(127, "", "No such file or directory: 'squeue'")

    def not_started(*argv: str) -> Reply:
        reply = run(*argv)
        return Reply(argv, reply.status, b"", reply.stderr, not_started=True)

    assert failure_of(not_started, ["12"]).failure is FailureClass.COMMAND_MISSING


def test_a_field_that_squeue_does_not_know() -> None:
    run = fakes.Squeue(
        [fakes.job("12", SLUID="")],
        stderr="squeue: error: Invalid job format specification: SLUID\n",
    )
    with pytest.raises(SlurmError) as raised:
        read_jobs(run, require_job_ids(["12"]), ("SLUID",))
    assert "SLUID" in raised.value.message


def test_a_user_that_does_not_exist_is_no_empty_queue() -> None:
    run = fakes.Squeue([], stderr="squeue: error: Invalid user: nosuch\n\n")
    with pytest.raises(SlurmError) as raised:
        read_queue(run, Selection(users=("nosuch",)))
    assert "Invalid user: nosuch" in raised.value.message


def test_complaints_leave_rows_good_and_absence_open() -> None:
    run = fakes.Squeue(
        [fakes.job("12")], stderr="slurm_load_partitions: Protocol authentication error\n"
    )
    found = read_jobs(run, require_job_ids(["12", "13"]))
    assert found["12"].known is Answer.YES
    assert (found["13"].known, found["13"].failure) == (Answer.UNKNOWN, FailureClass.NONE)
    queue = read_queue(run, Selection(names=("other",)))
    assert queue.warnings == ("slurm_load_partitions: Protocol authentication error",)
    assert (queue.records, queue.empty) == ((), Answer.UNKNOWN)


@pytest.mark.parametrize(
    "values",
    [{"JobID": "x"}, {"JobID": ""}, {"JobID": "0"}, {"ArrayTaskID": "3-5..."}, {"HetJobID": "?"}],
)
def test_rows_without_an_id_are_unreadable(values: dict[str, str]) -> None:
    run = fakes.Squeue([fakes.job("12"), {**fakes.job("12"), "ArrayJobID": "12", **values}])
    error = failure_of(run, ["12"])
    assert error.failure is FailureClass.OUTPUT_UNREADABLE
    assert error.evidence["text"]


def test_a_forged_row_stays_a_name() -> None:
    name = (
        "x~abc^abc\n13~abcRUNNING^abc\nslurm_load_jobs error: Invalid job id specified\n\x1f|\udcff"
    )
    found = lookups([fakes.job("12", Name=name, Comment=name)], "12", "13")
    assert found["12"].records[0].name == name
    assert found["12"].records[0].comment == name
    assert found["13"].known is Answer.NO


# Records


def test_values_that_are_not_there() -> None:
    record = fakes.read(fakes.job("12", exit_code="", RestartCnt="x", Requeue="7", BatchFlag=""))
    assert record.eligible_time is None
    assert record.exit_code is None
    assert record.comment is None
    assert record.restarts == "unknown"
    assert (record.requeue, record.batch) == (Answer.UNKNOWN, Answer.UNKNOWN)
    assert record.array_job_id is None
    assert record.nodes == ()


def as_result(record: JobRecord) -> dict[str, Any]:
    """All values that job_info returns of a job."""
    shape = Shape((), lambda _end: Answer.UNKNOWN)
    return dict(paired(shape.names, shape.reader(FIELDS)(record.row)))


def test_results_are_plain() -> None:
    result = as_result(
        fakes.read(
            fakes.job(
                "12", Name="\udcff", EligibleTime="4102444805", PriorityLong="0", exit_code="3:0"
            )
        )
    )
    assert json.loads(json.dumps(result)) == result
    assert (result["name"], result["hold_instance"], result["gate"]) == ("\\xff", 5, "yes")
    assert result["exit_code"] == {"status": 3, "signal": 0}
    assert (result["state"], result["live"], result["requeue"]) == ("PENDING", "yes", "yes")


# Selections


def chosen(selection: Selection, jobs: list[dict[str, str]]) -> list[str]:
    """The ids of the jobs that a selection reads."""
    return [record.id_text for record in read_queue(fakes.Squeue(jobs), selection).records]


def test_names_are_exact() -> None:
    jobs = [fakes.job("1", Name="Probe"), fakes.job("2", Name="probe"), fakes.job("3", Name="a,b")]
    assert chosen(Selection(names=("probe",)), jobs) == ["2"]
    assert chosen(Selection(names=("probe", "a,b")), jobs) == ["2", "3"]


def test_states_are_base_states_or_flags() -> None:
    jobs = [
        fakes.job("1"),
        fakes.job("2", State="SPECIAL_EXIT"),
        fakes.job("3", State="COMPLETING"),
        fakes.job("4", State="RUNNING"),
        fakes.job("5", State="WOBBLY"),
    ]
    assert chosen(Selection(states=("PENDING",)), jobs) == ["1", "2"]
    assert chosen(Selection(states=("COMPLETING", "RUNNING")), jobs) == ["3", "4"]


def test_reservations() -> None:
    jobs = [
        fakes.job("1", Reservation="r1"),
        fakes.job("2"),
        fakes.job("3", Reservation="r2,r1"),
        fakes.job("4", Reservation="r11"),
    ]
    assert chosen(Selection(reservations=("r1",)), jobs) == ["1", "3"]


def test_an_empty_queue() -> None:
    assert read_queue(fakes.Squeue([]), Selection()) == Queue(())
    assert Queue(()).empty is Answer.YES
    assert read_queue(fakes.Squeue([fakes.job("1")]), Selection()).empty is Answer.NO


# Properties


@given(st.binary(max_size=300))
def test_any_output_is_jobs_or_unreadable(out: bytes) -> None:
    fakes.list_or_unreadable(lambda: squeue.parse_jobs(out, MARKS))


@given(st.dictionaries(st.sampled_from(FIELDS), st.text(st.characters(codec="utf-8"), max_size=20)))
def test_any_values_are_a_record_or_unreadable(values: dict[str, str]) -> None:
    marks = fresh_marks()
    form = fakes.option(squeue.jobs_arguments([parse_job_id("12")], marks), "--Format")
    out = fakes.squeue_text([{**fakes.job("12"), **values}], form)
    records = fakes.list_or_unreadable(lambda: squeue.parse_jobs(out, marks))
    if records is None:
        return
    assert len(records) == 1
    assert records[0].name == values.get("Name", "sbatch")
    result = as_result(records[0])
    assert json.loads(json.dumps(result)) == result
    assert result["job_id"] == records[0].id_text

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What real releases printed, read by the engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    Reply,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs import sacct, squeue
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.exits import ExitCode
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import parse_job_id
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import JobRecord
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import fresh_marks
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.sacct import Execution
from ansible_collections.hpcops.slurm.tests.unit import case_words
from ansible_collections.hpcops.slurm.tests.unit.old_pythons import paired
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes

TRANSCRIPTS = case_words.DATA / "transcripts"
WHOLE = ("22.05.8", "24.11.5", "26.05.5")
RELEASES = (*WHOLE, "25.11.8")

SQUEUE_FIELDS = (
    "JobID ArrayJobID ArrayTaskID HetJobID State Reason EligibleTime StartTime EndTime SubmitTime"
    " Requeue RestartCnt PriorityLong exit_code BatchFlag UserName Comment"
).split()
SACCT_FIELDS = (
    "JobID JobIDRaw User State ExitCode Submit Eligible Start End Restarts Comment".split()
)


def lines_of(path: Path) -> list[str]:
    """The rows of a transcript; a job with an odd comment is one row, whatever is in it."""
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    return [text[:-1]] if path.name.startswith("odd-") else text.split("\n")[:-1]


def records_of(path: Path) -> list[JobRecord]:
    """The records of a transcript of squeue, its values put into the form that is asked for."""
    jobs = []
    for line in lines_of(path):
        values = line[:-1].split("|", len(SQUEUE_FIELDS) - 1)
        row = dict(paired(SQUEUE_FIELDS, values))
        jobs.append({**fakes.JOB, **row, "HetJobOffset": row["HetJobID"] and "N/A"})
    marks = fresh_marks()
    form = fakes.option(squeue.jobs_arguments([parse_job_id("1")], marks), "--Format")
    return list(squeue.parse_jobs(fakes.squeue_text(jobs, form), marks))


def executions_of(path: Path, release: str) -> list[Execution]:
    """The executions of a transcript of sacct, likewise."""
    restarts = release != "22.05.8"
    fields = [name for name in SACCT_FIELDS if restarts or name != "Restarts"]
    table = [
        {**fakes.ROW, **dict(paired(fields, line.split("\x1f", len(fields) - 1)))}
        for line in lines_of(path)
    ]
    form = fakes.option(sacct.arguments([parse_job_id("1")], "~", restarts=restarts), "--format")
    out = fakes.sacct_text(table, form, "~nonce")
    return list(sacct.parse_executions(out, "~nonce", restarts))


def files(folder: str) -> list[Any]:
    """Every file of one kind, of every release."""
    return [
        pytest.param(release, path, id=f"{release} {path.stem}")
        for release in WHOLE
        for path in sorted((TRANSCRIPTS / release / folder).glob("*.txt"))
    ]


#: state, gate, who may open it, hold, requeue bit, restarts, comment
GATED = ("PENDING", "yes", "user", None, "yes", 0)
SQUEUE: dict[str, tuple[Any, ...]] = {
    "completing-cancelled": ("unknown", "no", None, None, "no", 0, None),
    "completing-requeued": ("unknown", "no", None, None, "yes", 1, None),
    "finished-cancelled": ("CANCELLED", "no", None, None, "no", 0, None),
    "finished-cancelled-after-requeue": ("CANCELLED", "no", None, None, "yes", 1, None),
    "finished-cancelled-never-started": ("CANCELLED", "no", None, None, "yes", 0, "never ran"),
    "finished-completed": ("COMPLETED", "no", None, None, "no", 0, "done ok"),
    "finished-failed-exit3": ("FAILED", "no", None, None, "no", 0, None),
    "finished-signal9": ("FAILED", "no", None, None, "no", 0, None),
    "held-by-admin": ("PENDING", "yes", "admin", None, "yes", 0, None),
    "held-by-user": (*GATED, "gate"),
    "held-by-user-and-far-future": ("PENDING", "yes", "user", 1, "yes", 0, "gate"),
    "held-far-future": ("PENDING", "no", None, 7, "yes", 0, "waiting for a node"),
    "held-far-future-stale-start": ("PENDING", "no", None, 7, "yes", 0, "waiting for a node"),
    "odd-control": (*GATED, "x\x1b[31m\ty"),
    "odd-newline": (*GATED, "line1\n   Priority=0"),
    "odd-non-ascii": (*GATED, "Gr\u00f6\u00dfe\u2192\u2603"),
    "odd-pipe": (*GATED, "c|d|e"),
    "odd-spaces-equals": (*GATED, "k=v EligibleTime=2100-01-01T00:00:00 Priority=0"),
    "pending": ("PENDING", "no", None, None, "yes", 0, None),
    "pending-begin-near": ("PENDING", "no", None, None, "yes", 0, None),
    "pending-dependency": ("PENDING", "no", None, None, "yes", 0, None),
    "pending-with-estimate": ("PENDING", "no", None, None, "yes", 0, "waiting for a node"),
    "requeued-in-held-state": ("PENDING", "yes", "unknown", None, "yes", 1, None),
    "requeued-pending": ("PENDING", "no", None, None, "yes", 1, None),
    "running": ("RUNNING", "no", None, None, "yes", 0, "run me"),
    "running-with-hold": ("RUNNING", "no", None, None, "yes", 0, "run me"),
    "special-exit": ("PENDING", "yes", "unknown", None, "yes", 1, None),
    "suspended": ("SUSPENDED", "no", None, None, "yes", 0, None),
}
#: Several rows: the ids that they stand for, by the array's or leader's number.
SQUEUE_SEVERAL = {
    "array-mixed": ["3-5", "1", "2"],
    "array-mixed-r": ["3", "4", "5", "1", "2"],
    "array-one-task-held": ["3-5", "1", "2"],
    "array-one-task-held-r": ["4", "3", "5", "1", "2"],
    "het-pending": ["-", "-"],
    "several-ids": ["-", "-", "3-5", "-", "1", "2", "-"],
}
EXITS = {
    "finished-failed-exit3": ExitCode(3, 0),
    "finished-signal9": ExitCode(0, 9),
    "completing-cancelled": ExitCode(0, 15),
    "finished-cancelled": ExitCode(0, 15),
    "finished-cancelled-after-requeue": ExitCode(0, 15),
}


@pytest.mark.parametrize(("release", "path"), files("squeue"))
def test_rows_of_squeue(release: str, path: Path) -> None:
    records = records_of(path)
    assert not [record.state.warnings for record in records if record.state.warnings]
    assert {record.user for record in records} == {"user1"}
    assert all(record.batch is Answer.YES for record in records)
    assert all(isinstance(record.submit_time, int) for record in records)
    if path.stem in SQUEUE_SEVERAL:
        assert [tasks_of(record) for record in records] == SQUEUE_SEVERAL[path.stem]
        return
    (record,) = records
    words = case_words.record_words(record)
    found = [words[key] for key in ("state", "priority_hold", "hold_kind", "hold_instance")]
    found += [record.requeue.value, record.restarts, record.comment]
    assert tuple(found) == SQUEUE[path.stem]
    assert record.exit_code == EXITS.get(path.stem, ExitCode(0, 0))


def tasks_of(record: JobRecord) -> str:
    """The tasks of a row as it wrote them."""
    return (
        ",".join(
            str(span.start) if len(span) == 1 else "%d-%d" % (span.start, span[-1])
            for span in record.array_tasks
        )
        or "-"
    )


@pytest.mark.parametrize("release", WHOLE)
def test_one_held_task_shows_with_array_only(release: str) -> None:
    folder = TRANSCRIPTS / release / "squeue"
    apart = records_of(folder / "array-one-task-held-r.txt")
    assert [record.hold_instance for record in apart] == [4, None, None, None, None]
    merged = records_of(folder / "array-one-task-held.txt")
    assert [record.hold_instance for record in merged] == [None, None, None]


@pytest.mark.parametrize("release", WHOLE)
def test_start_time_is_stale_after_a_hold(release: str) -> None:
    (record,) = records_of(TRANSCRIPTS / release / "squeue" / "held-far-future-stale-start.txt")
    assert isinstance(record.start_time, int)
    assert record.start_time < 2000000000
    assert record.eligible_time == 4102444807


#: The states of the rows, and the comment of the last one.
SACCT: dict[str, tuple[list[str], str]] = {
    "array-cancelled": (["CANCELLED"] * 4, ""),
    "cancelled-never-started": (["CANCELLED"], "never ran"),
    "cancelled-running": (["CANCELLED"], ""),
    "completed": (["COMPLETED"], "done ok"),
    "failed-exit3": (["FAILED"], ""),
    "odd-control": (["CANCELLED"], "x\x1b[31m\ty"),
    "odd-newline": (["CANCELLED"], "line1\n   Priority=0"),
    "odd-non-ascii": (["CANCELLED"], "Gr\u00f6\u00dfe\u2192\u2603"),
    "odd-pipe": (["CANCELLED"], "c|d|e"),
    "odd-spaces-equals": (["CANCELLED"], "k=v EligibleTime=2100-01-01T00:00:00 Priority=0"),
    "requeued-cancelled": (["unknown", "CANCELLED"], ""),
    "requeued-cancelled-steps": (["unknown", "CANCELLED"], ""),
    "requeued-running": (["unknown", "RUNNING"], ""),
    "signal9": (["FAILED"], ""),
    "unknown": ([], ""),
}
#: Where 22.05 lags behind.
SACCT_22 = {
    "array-mixed": (["PENDING"], ""),
    "pending-held": ([], ""),
    "requeued-pending": (["unknown"], ""),
    "requeued-pending-without-duplicates": (["unknown"], ""),
    "running": (["PENDING"], ""),
}
SACCT_LATER = {
    "array-mixed": (["RUNNING", "RUNNING", "PENDING"], ""),
    "pending-held": (["PENDING"], ""),
    "requeued-pending": (["unknown", "PENDING"], ""),
    "requeued-pending-without-duplicates": (["PENDING"], ""),
    "running": (["RUNNING"], ""),
}


@pytest.mark.parametrize(("release", "path"), files("sacct"))
def test_rows_of_sacct(release: str, path: Path) -> None:
    executions = executions_of(path, release)
    expected = {**SACCT, **(SACCT_22 if release == "22.05.8" else SACCT_LATER)}[path.stem]
    assert [execution.state.word for execution in executions] == expected[0]
    if executions:
        assert executions[-1].comment == expected[1]
    assert not [execution for execution in executions if execution.state.warnings]
    for execution in executions:
        cancelled = execution.state.word == "CANCELLED"
        assert execution.state.by_uid == (1001 if cancelled else None)
        assert execution.user == "user1"
        requeued = execution.state.flags == ("REQUEUED",)
        ended = requeued or execution.state.word not in ("PENDING", "RUNNING")
        assert execution.ended is (Answer.YES if ended else Answer.NO)


@pytest.mark.parametrize("release", WHOLE)
def test_tasks_in_accounting(release: str) -> None:
    executions = executions_of(TRANSCRIPTS / release / "sacct" / "array-cancelled.txt", release)
    assert [execution.id.tasks() for execution in executions] == [(1,), (2,), (4,), (3, 5)]
    assert executions[-1].id.limit == 2


# Failures


def entries(name: str, program: str) -> Iterator[Any]:
    """The recorded calls of one program in one file of every release."""
    for release in RELEASES:
        text = (TRANSCRIPTS / release / name).read_text(encoding="utf-8")
        for entry in yaml.safe_load(text):
            if entry["argv"][0] == program:
                yield pytest.param(entry, id=f"{release} {entry['id']}")


def reply_of(entry: dict[str, Any]) -> Reply:
    """The reply of a recorded call."""
    out, err = entry["stdout"], entry["stderr"]
    return Reply(
        tuple(entry["argv"]),
        entry["rc"],
        out if isinstance(out, bytes) else out.encode(),
        err if isinstance(err, bytes) else err.encode(),
    )


READ_FAILURES = {
    "hang/": FailureClass.CONTROLLER_UNREACHABLE,
    "ctld-down/": FailureClass.CONTROLLER_UNREACHABLE,
    "munged-down/": FailureClass.AUTHENTICATION_FAILED,
    "SLURM_JWT/": FailureClass.AUTHENTICATION_FAILED,
    "SLURM_SACK": FailureClass.AUTHENTICATION_FAILED,
    "conf/nonexistent": FailureClass.NO_CONFIG_SOURCE,
    "SLURM_CONF-": FailureClass.NO_CONFIG_SOURCE,
}


@pytest.mark.parametrize(
    "entry", [*entries("reads.yml", "squeue"), *entries("environment.yml", "squeue")]
)
def test_failed_calls_of_squeue(entry: dict[str, Any]) -> None:
    reply = reply_of(entry)
    asked = [parse_job_id("1")]
    if "Invalid job id specified" in reply.err:
        found = squeue.lookups_from(reply, asked, fresh_marks())["1"]
        assert (found.known, found.live) == (Answer.NO, Answer.UNKNOWN)
        return
    if reply.status == 0 and not reply.stdout:
        assert squeue.lookups_from(reply, asked, fresh_marks())["1"].known is Answer.NO
        return
    # Rows in another form than the one asked for are no rows.
    with pytest.raises(SlurmError) as raised:
        squeue.lookups_from(reply, asked, fresh_marks())
    expected = FailureClass.UNCLASSIFIED
    if reply.status == 0 and "Invalid job format" not in reply.err:
        expected = FailureClass.OUTPUT_UNREADABLE
    for part, failure in READ_FAILURES.items():
        if reply.status != 0 and part in entry["id"]:
            expected = failure
    if "reply-not-verifiable/" in entry["id"]:
        assert raised.value.retry is Answer.NO
        return
    assert raised.value.failure is expected
    assert raised.value.retry is (
        Answer.YES if expected is FailureClass.CONTROLLER_UNREACHABLE else Answer.NO
    )


ACCOUNTING_FAILURES = {
    "noacct/": FailureClass.ACCOUNTING_DISABLED,
    "unset/": FailureClass.ACCOUNTING_DISABLED,
    "dbd-stopped/": FailureClass.ACCOUNTING_UNREACHABLE,
    "dbd-hung/": FailureClass.ACCOUNTING_UNREACHABLE,
    "db-stopped/": FailureClass.ACCOUNTING_UNREACHABLE,
    "munged-down/": FailureClass.AUTHENTICATION_FAILED,
}


@pytest.mark.parametrize("entry", list(entries("accounting.yml", "sacct")))
def test_calls_of_sacct(entry: dict[str, Any]) -> None:
    reply = reply_of(entry)
    asked = [parse_job_id("1")]
    if reply.status == 0 and not reply.stdout:
        found = sacct.histories_from(reply, asked, "~nonce", restarts=True)["1"]
        assert (found.executions, found.succeeded) == ((), Answer.UNKNOWN)
        return
    with pytest.raises(SlurmError) as raised:
        sacct.histories_from(reply, asked, "~nonce", restarts=True)
    expected = FailureClass.OUTPUT_UNREADABLE if reply.status == 0 else FailureClass.UNCLASSIFIED
    for part, failure in ACCOUNTING_FAILURES.items():
        if part in entry["id"] and reply.status != 0:
            expected = failure
    if "Slurm accounting storage is disabled" in reply.err:  # 25.11.8 ran without a database
        expected = FailureClass.ACCOUNTING_DISABLED
    assert raised.value.failure is expected
    assert sacct.refuses_restarts(reply) == ('requested: "Restarts"' in reply.err)

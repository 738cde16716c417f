# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm's commands as the tests need them: they answer the very arguments they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    FailureClass,
    Reply,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs import records, sacct

T = TypeVar("T")

JOB = {
    **dict.fromkeys(records.FIELDS, "N/A"),
    "State": "PENDING",
    "Reason": "None",
    "SubmitTime": "1796035504",
    "AccrueTime": "1796035504",
    "Requeue": "1",
    "RestartCnt": "0",
    "PriorityLong": "4294",
    "Nice": "0",
    "exit_code": "0:0",
    "BatchFlag": "1",
    "TimeLimit": "10:00",
    "UserName": "user1",
    "Account": "acc",
    "Partition": "debug",
    "QOS": "normal",
    "Reservation": "(null)",
    "NodeList": "",
    "Name": "sbatch",
    "Comment": "(null)",
}
ROW = {
    **dict.fromkeys(sacct.FIELDS, ""),
    "State": "COMPLETED",
    "ExitCode": "0:0",
    "Submit": "1796035504",
    "Eligible": "1796035504",
    "Start": "1796035505",
    "End": "1796035506",
    "Elapsed": "00:00:01",
    "Timelimit": "00:10:00",
    "User": "user1",
    "Restarts": "0",
}


def job(job_id: str, **values: str) -> dict[str, str]:
    """A job by squeue's fields: ``N``, ``A_T`` or ``L+C``, a plain pending one unless said."""
    number, _sign, task = job_id.partition("_")
    number, _sign, component = number.partition("+")
    ids = {"JobID": number, "ArrayJobID": number, "ArrayTaskID": task or "N/A"}
    if component:
        ids.update({"HetJobID": number, "HetJobOffset": component})
    return {**JOB, **ids, **values}


def row(job_id: str, **values: str) -> dict[str, str]:
    """A row of sacct for a job, a successful one unless said."""
    raw = job_id.replace("_", ".").replace("+", ".").partition(".")[0]
    step = job_id.partition(".")[2]
    return {**ROW, "JobID": job_id, "JobIDRaw": raw + ("." + step if step else ""), **values}


def option(argv: Sequence[str], name: str) -> str:
    """The value of a long option; "" if it is not there."""
    found = [word.partition("=")[2] for word in argv if word.startswith(name + "=")]
    return found[-1] if found else ""


def squeue_text(jobs: Sequence[dict[str, str]], form: str) -> bytes:
    """squeue's output for its ``--Format``: each value, then the text behind the colon."""
    columns = [column.partition(":") for column in form.split(",")]
    lines = ("".join(item[name] + end for name, _width, end in columns) + "\n" for item in jobs)
    return "".join(lines).encode("utf-8", "surrogateescape")


def sacct_text(table: Sequence[dict[str, str]], form: str, delimiter: str) -> bytes:
    """The output of ``sacct --parsable``."""
    lines = ("".join(item[name] + delimiter for name in form.split(",")) + "\n" for item in table)
    return "".join(lines).encode("utf-8", "surrogateescape")


class Squeue:
    """A squeue over some jobs, with its way of answering unknown ids; keeps the calls."""

    def __init__(self, jobs: Sequence[dict[str, str]], stderr: str = "") -> None:
        self.jobs = jobs
        self.stderr = stderr
        self.calls: list[tuple[str, ...]] = []

    def __call__(self, *argv: str) -> Reply:
        assert argv[0] == "squeue"
        self.calls.append(argv)
        asked = option(argv, "--jobs").split(",") if option(argv, "--jobs") else []
        chosen = [
            item
            for item in self.jobs
            if not asked or {item["JobID"], item["ArrayJobID"], item["HetJobID"]} & set(asked)
        ]
        if len(asked) == 1 and not chosen:
            text = b"slurm_load_jobs error: Invalid job id specified\n"
            return Reply(argv, 1, b"", text)
        return Reply(argv, 0, squeue_text(chosen, option(argv, "--Format")), self.stderr.encode())


class Sacct:
    """A sacct over some rows; with ``restarts`` off it is one of 22.05. Keeps the calls."""

    def __init__(
        self, table: Sequence[dict[str, str]], restarts: bool = True, stderr: str = ""
    ) -> None:
        self.table = table
        self.restarts = restarts
        self.stderr = stderr
        self.calls: list[tuple[str, ...]] = []

    def __call__(self, *argv: str) -> Reply:
        assert argv[0] == "sacct"
        self.calls.append(argv)
        form = option(argv, "--format")
        if "Restarts" in form and not self.restarts:
            return Reply(argv, 1, b"", b'sacct: error: Invalid field requested: "Restarts"\n')
        asked = set(option(argv, "--jobs").split(","))
        chosen = [
            item
            for item in self.table
            if {item["JobIDRaw"], item["JobID"].replace("+", "_").partition("_")[0]} & asked
        ]
        out = sacct_text(chosen, form, option(argv, "--delimiter"))
        return Reply(argv, 0, out, self.stderr.encode())


def replying(
    status: int, stdout: str = "", stderr: str = "", timed_out: bool = False
) -> Callable[..., Reply]:
    """A command that always answers the same."""

    def run(*argv: str) -> Reply:
        return Reply(argv, status, stdout.encode(), stderr.encode(), timed_out=timed_out)

    return run


def read(item: dict[str, str], extra: Sequence[str] = ()) -> records.JobRecord:
    """The record that the engine makes of a job."""
    return records.record_from([item[name] for name in (*records.FIELDS, *extra)], extra)


def list_or_unreadable(read: Callable[[], Iterable[T]]) -> list[T] | None:
    """What is read, or None for an output that is properly called unreadable."""
    try:
        return list(read())
    except SlurmError as error:
        failure = error.failure
    assert failure is FailureClass.OUTPUT_UNREADABLE
    return None

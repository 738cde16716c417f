# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules run in processes of their own, as Ansible runs them, beside a Slurm made of programs."""

from __future__ import annotations

import json
import multiprocessing
import os
import pwd
import runpy
import socket
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible.module_utils import basic

# Imported here, so that each process finds them.
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight import permission, preflight
from ansible_collections.hpcops.slurm.plugins.module_utils._writes import task
from ansible_collections.hpcops.slurm.tests.unit import case_words
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes

IMPORTED = (permission, preflight, task)
MODULES = "ansible_collections.hpcops.slurm.plugins.modules"

#: squeue, scontrol and scancel in one: it keeps its jobs in a file, and notes each call.
PROGRAM = """\
import fcntl, json, os, sys, time
here = os.path.dirname(os.path.realpath(__file__))
name, argv = os.path.basename(sys.argv[0]), sys.argv[1:]
lock = open(here + "/lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
with open(here + "/calls", "a") as calls:
    calls.write(json.dumps([name, *argv]) + "\\n")
with open(here + "/jobs") as stream:
    jobs = json.load(stream)
options = dict(word.partition("=")[::2] for word in argv if word.startswith("--"))
if name == "squeue":
    asked = options.get("--jobs", "").split(",")
    if asked == [""]:
        asked = []
    columns = [column.partition(":") for column in options["--Format"].split(",")]
    for job in jobs:
        if not asked or {job["JobID"], job["ArrayJobID"]} & set(asked):
            print("".join(job[field] + end for field, _colon, end in columns))
    sys.exit()
if argv[:2] == ["show", "config"]:
    with open(here + "/config") as stream:
        sys.stdout.write(stream.read())
    sys.exit()
if os.path.exists(here + "/answer"):
    with open(here + "/answer") as stream:
        status, text = json.load(stream)
    sys.stderr.write(text)
    sys.exit(status)
if name == "scancel":
    argv = ["cancel", ",".join(argv)]
ids = (argv[1].partition("=")[2] if argv[0] == "update" else argv[-1]).split(",")
for job in jobs:
    names = {job["JobID"], job["ArrayJobID"] + "_" + job["ArrayTaskID"]}
    if not names & set(ids):
        continue
    if argv[0] == "release":
        job["PriorityLong"] = "4294"
    elif argv[0] == "cancel":
        job.update(State="CANCELLED", EndTime=str(int(time.time())))
    elif argv[0] == "requeue":
        if job["Requeue"] == "1":
            job.update(State="COMPLETING", RestartCnt=str(int(job["RestartCnt"]) + 1))
    else:
        key, _equals, value = argv[2].partition("=")
        if key == "StartTime":
            value = str(int(time.time())) if value == "now" else value[3:]
        job["EligibleTime" if key == "StartTime" else key] = value
with open(here + "/jobs", "w") as stream:
    json.dump(jobs, stream)
"""


class Slurm:
    """The programs, and what they were asked. They come first on PATH while a module runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        program = folder / "slurm.py"
        program.write_text(f"#!{sys.executable} -IS\n{PROGRAM}", encoding="utf-8")
        program.chmod(0o755)
        for name in ("squeue", "scontrol", "scancel"):
            (folder / name).symlink_to(program)
        config = case_words.DATA / "transcripts" / "26.05.5" / "show-config.txt"
        (folder / "config").write_bytes(config.read_bytes())
        self.jobs([])

    def jobs(self, jobs: list[dict[str, str]]) -> None:
        """The jobs that there are."""
        (self.folder / "jobs").write_text(json.dumps(jobs), encoding="utf-8")

    def job(self, job_id: str) -> dict[str, str]:
        """One of them as it is now."""
        jobs = json.loads((self.folder / "jobs").read_text(encoding="utf-8"))
        (found,) = (one for one in jobs if one["JobID"] == job_id)
        return dict(found)

    def answer(self, status: int, text: str) -> None:
        """Let every write be answered so, and do nothing."""
        (self.folder / "answer").write_text(json.dumps([status, text]), encoding="utf-8")

    @property
    def calls(self) -> list[list[str]]:
        """Every call so far."""
        path = self.folder / "calls"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    @property
    def writes(self) -> list[list[str]]:
        """The calls that could alter a job."""
        return [
            one
            for one in self.calls
            if one[0] == "scancel" or (one[0] == "scontrol" and one[1] != "show")
        ]


def _redirect(out: Path, err: Path) -> None:
    """Let this process write into two files, and read nothing."""
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, closefd=False) for number, mode in enumerate("rww")
    )


@dataclass(frozen=True)
class Ran:
    """How a module's process ended; ``result`` is the JSON that it printed."""

    status: int
    stdout: str
    stderr: str

    @property
    def result(self) -> dict[str, Any]:
        """Its result; there is exactly one, and nothing else was printed."""
        assert self.stderr == ""
        found: dict[str, Any] = json.loads(self.stdout)
        return found


def run_module(
    name: str,
    params: dict[str, Any],
    slurm: Slurm,
    scratch: Path,
    check: bool = False,
    before: Callable[[], None] = lambda: None,
) -> Ran:
    """Run a module with these options to its end; ``before`` is done in its process."""
    options = {
        **params,
        "_ansible_check_mode": check,
        "_ansible_diff": True,
        "_ansible_no_log": False,
        "_ansible_remote_tmp": str(scratch),
        "_ansible_keep_remote_files": False,
        "_ansible_socket": None,
        "_ansible_syslog_facility": "LOG_USER",
        "_ansible_module_name": f"hpcops.slurm.{name}",
    }
    out, err = scratch / "out", scratch / "err"

    def work() -> None:
        _redirect(out, err)
        os.environ["PATH"] = f"{slurm.folder}:/usr/bin:/bin"
        status = 1
        try:
            before()
            basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": options}).encode()
            basic._ANSIBLE_PROFILE = "legacy"  # from ansible-core 2.19 on
            runpy.run_module(f"{MODULES}.{name}", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except BaseException:  # noqa: BLE001 - whatever it is, the test is to see it
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(60)
    assert child.exitcode is not None
    return Ran(child.exitcode, out.read_text(), err.read_text())


def fact(**values: Any) -> dict[str, Any]:
    """The preflight's fact for this user, this host, and the cluster of the transcripts."""
    return {
        "probe": {
            "user": pwd.getpwuid(os.geteuid()).pw_name,
            "host": socket.gethostname(),
            "skew": 0.0,
            "offset": 0.0,
            "ran_at": time.time() - 60,
        },
        "cluster": {"name": "cl1", "version": "26.05.5", "auth_type": "auth/munge"},
        "capabilities": [
            {"name": name, "support": "yes", "reason": "", "source": "probed"}
            for name in ("Hold", "AccountingHistory")
        ],
        **values,
    }


def job(job_id: str, **values: str) -> dict[str, str]:
    """A pending job."""
    return fakes.job(job_id, **{"EligibleTime": str(int(time.time()) - 60), **values})

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The batch script, run by each shell that may be a node's /bin/sh."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.batch import (
    LONGEST_SCRIPT,
    Job,
    batch_script,
    interpreter,
    sbatch_arguments,
)
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._writes.scripts import (
    SHELLS,
    shell_argv,
)

ODD = 'it\'s; $(date) `x` "q" \\ %s %% * \n\t caf\u00e9'
JOB = Job("a", 1, "name", "/out", command=("true",))
DUMP = ("sh", "-c", 'printf "%s\\0" "$@"; env -0 >&2', "sh")


def run(
    shell: str, job: Job, where: Path, base: dict[str, str] | None = None, **slurm: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the job's batch script as slurmstepd would."""
    path = where / "slurm_script"
    path.write_text(batch_script(job, base or {}), encoding="utf-8")
    return subprocess.run(
        [*shell_argv(shell), str(path)],
        env={"SLURM_JOB_ID": "12", "PATH": "/usr/bin:/bin", **slurm},
        capture_output=True,
        check=False,
    )


def variables(path: Path) -> dict[str, str]:
    """What ``env -0`` has written."""
    text = path.read_bytes().decode()
    return dict(one.split("=", 1) for one in text.split("\0") if one)


@pytest.mark.parametrize("shell", SHELLS)
def test_command_gets_its_words_and_variables(tmp_path: Path, shell: str) -> None:
    out = tmp_path / f"out {ODD.replace('/', '')}"
    out.mkdir()
    job = replace(
        JOB,
        submission=ODD,
        attempt=7,
        output_dir=str(out).replace("\\", ""),
        command=(*DUMP, ODD, "", "-n", "*"),
        environment={"ODD": ODD, "HOME": "/mine"},
    )
    Path(job.output_dir).mkdir(exist_ok=True)
    leaks = dict.fromkeys(("SLURM_EXPORT_ENV", "SLURM_OPEN_MODE", "SLURM_TIME_FORMAT"), "x")
    ended = run(shell, job, tmp_path, {"HOME": "/base", "USER": "me"}, **leaks)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    folder = Path(job.output_dir)
    assert (folder / "12.0.out").read_bytes().decode() == f"{ODD}\0\0-n\0*\0"
    seen = variables(folder / "12.0.err")
    wanted = {
        "DISPATCH_SUBMISSION": ODD, "DISPATCH_ATTEMPT": "7", "DISPATCH_JOB_ID": "12",
        "DISPATCH_EXECUTION": "0", "ODD": ODD, "HOME": "/mine", "USER": "me",
    }  # fmt: skip
    assert {key: seen.get(key) for key in wanted} == wanted
    assert not set(leaks) & set(seen)


@pytest.mark.parametrize("shell", SHELLS)
def test_each_execution_has_files_of_its_own(tmp_path: Path, shell: str) -> None:
    """And nothing that is there is overwritten."""
    job = replace(JOB, output_dir=str(tmp_path), command=("echo", "x"))
    run(shell, job, tmp_path)
    run(shell, job, tmp_path, SLURM_RESTART_COUNT="1")
    run(shell, job, tmp_path, SLURM_RESTART_COUNT="1")
    found = {path.name: path.read_text() for path in tmp_path.glob("12.*")}
    assert found == {"12.0.out": "x\n", "12.0.err": "", "12.1.out": "x\nx\n", "12.1.err": ""}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("", "sh 3"),
        ("#!/bin/sh\n", "sh 3"),
        ("#! /bin/bash --posix\n", "sh 3"),
        ("#!/usr/bin/env bash\n", "sh 3"),
    ],
)
def test_script(tmp_path: Path, shell: str, first: str, said: str) -> None:
    """It is run by its own interpreter, and leaves nothing behind."""
    text = f"{first}echo sh $((1 + 2))\ncat <<'EOF'\n{ODD}\nEOF\nkill -TERM $$\n"
    (tmp_path / "tmp").mkdir()
    job = replace(JOB, command=(), script=text, output_dir=str(tmp_path))
    ended = run(shell, job, tmp_path, TMPDIR=str(tmp_path / "tmp"))
    assert ended.returncode == -15  # the signal is the job's own end
    assert ended.stderr == b""
    assert (tmp_path / "12.0.out").read_text() == f"{said}\n{ODD}\n"
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_python_script(tmp_path: Path, shell: str) -> None:
    text = "#!/usr/bin/env python3\nimport sys\nprint(len(sys.argv))\nsys.exit(9)\n"
    job = replace(JOB, command=(), script=text, output_dir=str(tmp_path))
    assert run(shell, job, tmp_path).returncode == 9
    assert (tmp_path / "12.0.out").read_text() == "1\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_output_that_has_no_place_is_said_where_slurm_listens(tmp_path: Path, shell: str) -> None:
    ended = run(shell, replace(JOB, output_dir=str(tmp_path / "none")), tmp_path)
    assert ended.returncode != 0
    assert b"12.0.out" in ended.stderr


@settings(
    # Every example may use the same folder.
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(words=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_any_words(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "12.0.out").unlink(missing_ok=True)
    job = replace(JOB, output_dir=str(tmp_path), command=(*DUMP, *words))
    assert run("dash", job, tmp_path).returncode == 0
    expected = "".join(f"{word}\0" for word in words) if words else "\0"
    assert (tmp_path / "12.0.out").read_bytes().decode() == expected


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo", ["/bin/sh"]),
        ("#!/bin/bash\n", ["/bin/bash"]),
        ("#! /bin/bash  -l \n", ["/bin/bash", "-l"]),
        ("#!/usr/bin/env -S python3 -u\n", ["/usr/bin/env", "-S python3 -u"]),
        ("#!bash\n", ["/bin/sh"]),
    ],
)
def test_interpreter(script: str, words: list[str]) -> None:
    assert interpreter(script) == words


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"command": ()}, "one of script and command"),
        ({"script": "true"}, "one of script and command"),
        ({"command": (), "script": " \n"}, "script is empty"),
        ({"command": ("", "x")}, "first word"),
        ({"command": (), "script": "#!/bin/sh\n  #SBATCH -N 2\n"}, "#SBATCH"),
        ({"output_dir": "out"}, "absolute"),
        ({"output_dir": "/o\\ut"}, "backslash"),
        ({"output_dir": "/" + "x" * 4000}, "longer than"),
        ({"chdir": "x"}, "chdir"),
        ({"environment": {"A-B": "1"}}, "A-B"),
        ({"environment": {"": "1"}}, "no variable"),
        ({"environment": {"DISPATCH_X": "1"}}, "DISPATCH_X"),
        ({"environment": {"SLURM_JOB_ID": "1"}}, "SLURM_JOB_ID"),
        ({"nodes": 0}, "nodes is 0"),
        ({"time_limit": -1}, "time_limit is -1"),
        ({"submission": ""}, "submission is empty"),
        ({"environment": {"X": "x" * LONGEST_SCRIPT}}, "put it on the cluster as a file"),
    ],
)
def test_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        batch_script(replace(JOB, **values), {})


def test_arguments() -> None:
    job = replace(
        JOB, output_dir="/o%j,x", time_limit=3661, nodes=2, ntasks=4, ntasks_per_node=2, gate=True,
        partition="p", account="a", qos="q", chdir="/w",
    )  # fmt: skip
    assert sbatch_arguments(job) == (
        "--parsable", "--no-requeue", "--export=NIL", "--open-mode=append", "--input=/dev/null",
        "--output=/o%%j,x/%j.slurm", "--error=/o%%j,x/%j.slurm",
        "--comment=hpcops.slurm submission=a attempt=1", "--job-name=name", "--chdir=/w",
        "--partition=p", "--account=a", "--qos=q", "--nodes=2", "--ntasks=4",
        "--ntasks-per-node=2", "--time=61:01", "--hold",
    )  # fmt: skip
    plain = sbatch_arguments(JOB)
    assert not [one for one in plain if one.startswith(("--hold", "--nodes", "--time", "--part"))]

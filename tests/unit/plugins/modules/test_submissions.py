# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""job_submit and job_output_info in processes of their own: what they take, what they refuse."""

from __future__ import annotations

import base64
import time
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._writes import (
    output_task,
    submit_task,
)
from ansible_collections.hpcops.slurm.tests.unit.plugins.modules.processes import (
    Ran,
    Slurm,
    fact,
    job,
    run_module,
)

IMPORTED = (output_task, submit_task)


class Bench:
    """One host with a Slurm whose sbatch takes everything, and whose accounting is empty."""

    def __init__(self, tmp_path: Path) -> None:
        self.slurm = Slurm(tmp_path)
        self.scratch = tmp_path / "scratch"
        self.output = tmp_path / "output"
        for folder in (self.scratch, self.output):
            folder.mkdir()
        self.state = tmp_path / "state"
        self.program("sbatch", f"env > {tmp_path}/environment; cat > {tmp_path}/script; echo 41")
        self.program("sacct", "exit 0")

    def program(self, name: str, text: str) -> None:
        path = self.slurm.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def submit(self, check: bool = False, **given: Any) -> Ran:
        params = {
            "submission": "a/b",
            "command": ["true"],
            "output_dir": str(self.output),
            "state_dir": str(self.state),
            "cache_path": str(self.scratch / "cache"),
            "preflight": fact(),
            "_round": {"deadline": time.time() + 60, "state": None, "wait": 1.0},
            **given,
        }
        wanted = {key: value for key, value in params.items() if value is not None}
        return run_module("job_submit", wanted, self.slurm, self.scratch, check)

    def read(self, **given: Any) -> Ran:
        params = {"state_dir": str(self.state), **given}
        return run_module("job_output_info", params, self.slurm, self.scratch)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_check_first_and_second_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_RESTART_COUNT", "SLURM_JOB_ID", "SBATCH_PARTITION"):
        monkeypatch.setenv(name, "7")
    predicted = bench.submit(check=True)
    assert (predicted.status, predicted.result["changed"]) == (0, True)
    assert not (bench.slurm.folder / "script").exists()
    first = bench.submit()
    assert (first.status, first.result["job_id"]) == (0, "41")
    assert first.result["diff"] == predicted.result["diff"]
    assert "DISPATCH_SUBMISSION=a/b" in (bench.slurm.folder / "script").read_text()
    environment = (bench.slurm.folder / "environment").read_text()
    for name in ("SLURM_RESTART_COUNT", "SLURM_JOB_ID", "SBATCH_PARTITION"):
        assert name not in environment
    second = bench.submit()
    assert (second.result["changed"], second.result["job_id"]) == (False, "41")
    assert second.result["results"][0]["known_from"] == "journal"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"container_image": "x"}, "container images are not mapped in v1"),
        ({"array": "1-3"}, "arrays are not submitted"),
        ({"submission": ""}, "submission is empty"),
        ({"submission": "x" * 1000}, "Slurm takes at most 1024"),
        ({"attempt": -1}, "attempt lies between"),
        ({"name": "x" * 201}, "more than 200 bytes"),
        ({"name": "a\nb"}, "control character"),
        ({"command": []}, "one of script and command"),
        ({"command": ["a\0"]}, "no argument"),
        ({"output_dir": "out"}, "absolute"),
        ({"environment": {"DISPATCH_X": "1"}}, "DISPATCH_X"),
        ({"_round": {}}, "needs its action plugin"),
        ({"preflight": None}, "no valid preflight"),
        ({"output_dir": "/none"}, "is no directory on this host"),
    ],
)
def test_refused(bench: Bench, given: dict[str, Any], said: str) -> None:
    ran = bench.submit(**given)
    assert (ran.status, ran.result["failed"]) == (1, True)
    assert said in ran.result["msg"]
    assert not (bench.slurm.folder / "script").exists()


def test_output_by_submission_and_by_id(bench: Bench) -> None:
    bench.submit()
    (bench.output / "41.0.out").write_bytes(b"a\xff")
    (bench.output / "41.1.err").write_bytes(b"b")
    bench.slurm.jobs([job("41", State="RUNNING", RestartCnt="1")])
    found = bench.read(submission="a/b").result
    assert [(one["stream"], one["execution"], one["state"]) for one in found["parts"]] == [
        ("stdout", 0, "read"), ("stdout", 1, "missing"),
        ("stderr", 0, "missing"), ("stderr", 1, "read"),
    ]  # fmt: skip
    assert [base64.b64decode(one["base64"]) for one in found["parts"]] == [b"a\xff", b"", b"", b"b"]
    assert [one["text"] for one in found["parts"]] == [None, "", "", "b"]
    assert (found["job_id"], found["ended"], found["shown"]) == ("41", "no", "yes")
    more = bench.read(job_id="41", output_dir=str(bench.output), offsets=found["next"]).result
    assert [(one["stream"], one["state"]) for one in more["parts"]] == [
        ("stdout", "missing"), ("stderr", "empty"),
    ]  # fmt: skip
    bench.slurm.jobs([])
    gone = bench.read(job_id="41", output_dir=str(bench.output)).result
    assert (gone["ended"], gone["shown"], gone["state"]) == ("unknown", "no", "unknown")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"job_id": "41"}, "give output_dir"),
        ({"job_id": "41_1", "output_dir": "/o"}, "no number of a job"),
        ({"submission": "never"}, "is no job of"),
        ({"submission": "x", "attempt": -1}, "attempt lies between"),
        ({"job_id": "41", "output_dir": "/o", "max_bytes": 0}, "max_bytes is 0"),
        ({"job_id": "41", "output_dir": "/o", "streams": []}, "streams"),
        ({"job_id": "41", "output_dir": "/o", "offsets": {"stdout": {"offset": -1}}}, "below 0"),
        ({}, "one of the following is required"),
    ],
)
def test_output_refused(bench: Bench, given: dict[str, Any], said: str) -> None:
    # These clusters' accounting keeps comments, so that a submission can be known to be none.
    config = bench.slurm.folder / "config"
    lines = config.read_text().splitlines()
    kept = [one for one in lines if not one.startswith("AccountingStoreFlags")]
    kept.insert(1, "AccountingStoreFlags    = job_comment")
    config.write_text("\n".join(kept) + "\n")
    ran = bench.read(**given)
    assert (ran.status, ran.result["failed"]) == (1, True)
    assert said in ran.result["msg"]

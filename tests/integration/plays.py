# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs tasks on clusters of the sandbox as a user would, and gives their results as data."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.hpcops.slurm.tests.integration.conftest import SANDBOX

ROOT = SANDBOX.parents[2]
#: Where plays find the collection: this checkout, or a copy that was broken on purpose.
COLLECTIONS = Path(os.environ.get("COLLECTIONS_UNDER_TEST") or ROOT / ".collections")
CALLBACKS = Path(__file__).with_name("callbacks")
#: Seconds that one run may take: the longest wait of Slurm's clients, and room.
LONGEST = 180.0

Task = Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    """One task's result on one host; ``when`` it came, in epoch seconds."""

    task: str
    host: str
    status: str
    when: float
    result: Mapping[str, Any]

    @property
    def facts(self) -> dict[str, Any]:
        """The fact slurm_preflight in the result, whether the task failed or not."""
        found: dict[str, Any] = self.result["ansible_facts"]["slurm_preflight"]
        return found

    def support(self, name: str) -> tuple[str, str]:
        """Answer and reason of a capability."""
        (found,) = (one for one in self.facts["capabilities"] if one["name"] == name)
        return found["support"], found["reason"]

    def check(self, name: str) -> dict[str, str]:
        """One of the checks."""
        (found,) = (one for one in self.facts["checks"] if one["name"] == name)
        return dict(found)

    @property
    def warnings(self) -> str:
        """The task's warnings, whatever form this ansible-core gives them."""
        return json.dumps(self.result.get("warnings", []), default=str)

    @property
    def lines(self) -> list[str]:
        """Standard output of a raw command that must not fail."""
        assert self.status == "ok", self.result
        return list(self.result["stdout_lines"])


@dataclass
class Run:
    """A run of ansible-playbook, perhaps not at its end."""

    process: subprocess.Popen[bytes]
    folder: Path
    begun: float = field(default_factory=time.monotonic)
    read: list[Result] = field(default_factory=list)

    def wait(self, limit: float = LONGEST) -> Run:
        """Wait for the end. What was printed is in ``output`` then."""
        try:
            self.process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            raise AssertionError(f"the play did not end: {self.output}") from None
        return self

    @property
    def output(self) -> str:
        """What was printed so far."""
        return (self.folder / "output").read_text(encoding="utf-8", errors="replace")

    @property
    def results(self) -> list[Result]:
        """The results so far, in order."""
        path = self.folder / "results"
        if not self.read and path.exists():
            lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
            found = [Result(**one) for one in lines]
            if self.process.poll() is None:
                return found
            self.read = found
        return self.read

    def result(self, task: str, host: str | None = None) -> Result:
        """The one result of a task."""
        found = [one for one in self.results if one.task == task and host in (None, one.host)]
        assert len(found) == 1, (task, host, self.output)
        return found[0]


def inventory(cluster: str) -> Path:
    """The inventory that the sandbox wrote for a cluster."""
    return SANDBOX.parent / ".state" / cluster / "inventory.yml"


def start(
    clusters: Sequence[str],
    tasks: Sequence[Task],
    arguments: Sequence[str] = (),
    pipelining: bool = False,
    **play: Any,
) -> Run:
    """Start a play with these tasks on these clusters; the further keywords are the play's.

    ``pipelining`` makes it faster; the modules then have no terminal.
    """
    folder = Path(tempfile.mkdtemp(prefix="hpcops-play-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    playbook = folder / "playbook.json"  # JSON is YAML
    (folder / "ansible.cfg").write_text("")
    content = {"hosts": "all", "gather_facts": False, "tasks": list(tasks), **play}
    playbook.write_text(json.dumps([content]), encoding="utf-8")
    argv = [sys.executable, "-m", "ansible", "playbook", str(playbook), *arguments]
    for cluster in clusters:
        argv += ["-i", str(inventory(cluster))]
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
        "ANSIBLE_CALLBACKS_ENABLED": "task_results",
        "ANSIBLE_INJECT_FACT_VARS": "false",
        "ANSIBLE_FORKS": "8",
        "ANSIBLE_PIPELINING": str(pipelining),
        "ANSIBLE_NOCOLOR": "1",
        "TASK_RESULTS": str(folder / "results"),
    }
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    return Run(process, folder)


def play(
    clusters: Sequence[str], tasks: Sequence[Task], arguments: Sequence[str] = (), **more: Any
) -> Run:
    """Run a play to its end. None of its results may have the trace of an exception."""
    return ended(start(clusters, tasks, arguments, **more).wait())


def ended(run: Run) -> Run:
    """The same run, none of whose results has the trace of an exception."""
    assert "Traceback" not in run.output, run.output
    assert "MODULE FAILURE" not in run.output, run.output
    return run


def task(name: str, module: str, options: Mapping[str, Any] | None = None, **more: Any) -> Task:
    """One task, whose failure does not end the play."""
    return {"name": name, module: dict(options or {}), "ignore_errors": True, **more}


def preflight(
    name: str = "preflight", more: Mapping[str, Any] | None = None, **options: Any
) -> Task:
    """A task that runs the module preflight; ``more`` are the task's own keywords."""
    return task(name, "hpcops.slurm.preflight", options, **(more or {}))


def config_info(
    name: str = "config_info", more: Mapping[str, Any] | None = None, **options: Any
) -> Task:
    """A task that runs the module config_info."""
    return task(name, "hpcops.slurm.config_info", options, **(more or {}))


def raw(name: str, *argv: str, **more: Any) -> Task:
    """A task that runs a command as it is."""
    options = {"argv": list(argv)}
    return task(name, "ansible.builtin.command", options, changed_when=False, **more)

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What writing and reading many jobs costs, beside what it can't do without.

    .venv/bin/python tests/benchmarks/writes.py [--rounds N] [--jobs N] [--tasks N] [VARIANT...]

A hold and a release of many jobs in one task are measured against a ping play plus one raw list
call of scontrol, and against a loop of ansible.builtin.command over fewer jobs, scaled. A read of
many array tasks, of three values and of all, is measured against a ping play plus the very squeue
call that it makes, and against a play of ansible.builtin.command with that call, which gives no
more than its text. All are measured in turn, so that noise meets all of them; the table has
medians, and ratios within the same run. The jobs are on a cluster of the benchmark's own. The
memory is the most that the module's own process had on the host.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SANDBOX = ROOT / "tests/sandbox/sandbox"
PLAYBOOK = Path(sys.executable).with_name("ansible-playbook")
sys.path.insert(0, str(ROOT / ".collections"))

# The collection is found through the path above.
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (  # noqa: E402
    Answer,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import (  # noqa: E402
    fresh_marks,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.shapes import Shape  # noqa: E402
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import (  # noqa: E402
    Selection,
    selection_arguments,
)

#: Targets of the design: against the floor, and how many times a loop of commands is slower.
FLOOR_RATIO, LOOP_RATIO = 1.5, 100
#: So many jobs go through the loop of commands.
LOOPED = 10
#: Values of a record that a read of many jobs is asked for.
FIELDS = ["state", "user", "hold_instance"]
#: 2100-01-01, where holds begin.
BASE = 4102444800

SUBMIT = """
printf '#!/bin/sh\\nsleep 60\\n' > /tmp/bench.sh
for i in $(seq "$1"); do sbatch --parsable --hold -J bench -o /dev/null /tmp/bench.sh; done
"""
#: A Python that notes how much memory the program it runs has had, in KiB.
MEASURED = """#!/usr/bin/python3
import atexit, resource, runpy, sys
def note():
    with open("/tmp/measured", "w") as stream:
        stream.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
atexit.register(note)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
TIMED = 'begin=$(date +%s.%N); "$@" >/dev/null || exit 1; end=$(date +%s.%N); echo "$begin $end"'


@dataclass(frozen=True)
class Cluster:
    """A running cluster of the sandbox, with the jobs of the benchmark."""

    name: str
    inventory: str

    def sh(self, *argv: str) -> str:
        """What a command in the cluster prints."""
        command = [str(SANDBOX), "exec", self.name, "--", *argv]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
        return done.stdout

    def timed(self, *argv: str) -> float:
        """Seconds that a command takes in the cluster."""
        begin, end = self.sh("sh", "-c", TIMED, "sh", *argv).split()
        return float(end) - float(begin)

    def play(self, task: dict[str, Any], folder: Path) -> float:
        """Seconds that a play of one task takes, as a person would run it."""
        playbook = folder / "play.yml"
        play = {"hosts": "all", "gather_facts": False, "tasks": [task]}
        playbook.write_text(json.dumps([play]), encoding="utf-8")
        command = [str(PLAYBOOK), "-i", self.inventory, str(playbook)]
        begin = time.perf_counter()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - begin
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-3000:]}")
        return seconds


@contextmanager
def running(variant: str, tasks: int) -> Iterator[Cluster]:
    """A cluster that takes so many jobs, taken down in the end."""
    name = f"bench-{variant}"
    sizes = [f"MaxJobCount={tasks + 20000}", f"MaxArraySize={tasks + 1}"]
    options = [word for size in sizes for word in ("--set", size)]
    command = [str(SANDBOX), "up", variant, "--name", name, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    try:
        yield Cluster(name, done.stdout.splitlines()[-1])
    finally:
        subprocess.run([str(SANDBOX), "down", name], check=True)


Seconds = dict[str, list[float]]


def measure_writes(cluster: Cluster, jobs: Sequence[str], rounds: int, folder: Path) -> Seconds:
    """Seconds of a ping play, a hold, a release, the raw list call, and one job of a loop."""
    found: Seconds = {name: [] for name in ("ping", "hold", "release", "list call", "loop")}
    for instance in range(1, rounds + 1):
        common = {"jobs": list(jobs), "instance": instance}
        ping = cluster.play({"ansible.builtin.ping": {}}, folder)
        found["ping"].append(ping)
        found["hold"].append(cluster.play({"hpcops.slurm.job_hold": common}, folder))
        found["release"].append(cluster.play({"hpcops.slurm.job_release": common}, folder))
        # The raw calls leave what the modules left: no hold.
        raw = ["scontrol", "update", "JobId=" + ",".join(jobs)]
        found["list call"].append(cluster.timed(*raw, f"StartTime=uts{BASE + instance}"))
        cluster.timed(*raw, "StartTime=now")
        loop = {
            "ansible.builtin.command": "scontrol update JobId={{ item }} StartTime=now",
            "loop": list(jobs[:LOOPED]),
        }
        found["loop"].append((cluster.play(loop, folder) - ping) / LOOPED * len(jobs) + ping)
    return found


def reads() -> dict[str, tuple[dict[str, Any], list[str]]]:
    """For each read of the queue, the module's options and the squeue call that it makes."""
    found: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for what, names in (("three values", FIELDS), ("all values", [])):
        columns = Shape(names, lambda _end: Answer.UNKNOWN).columns
        arguments = selection_arguments(Selection(), fresh_marks(), columns=columns)
        found[what] = ({"fields": names}, ["squeue", *arguments])
    return found


def measure_reads(cluster: Cluster, rounds: int, folder: Path) -> dict[str, Seconds]:
    """Seconds of a ping play, a read, the squeue call behind it, and a play of that call."""
    found: dict[str, Seconds] = {}
    for _round in range(rounds):
        ping = cluster.play({"ansible.builtin.ping": {}}, folder)
        for what, (options, argv) in reads().items():
            command = {"ansible.builtin.command": {"argv": argv}}
            seconds = {
                "ping": ping,
                "read": cluster.play({"hpcops.slurm.job_info": options}, folder),
                "squeue": cluster.timed("env", "SLURM_TIME_FORMAT=%s", *argv),
                "command": cluster.play(command, folder),
            }
            for name, value in seconds.items():
                found.setdefault(what, {}).setdefault(name, []).append(value)
    return found


def memory(cluster: Cluster, options: dict[str, Any], folder: Path) -> int:
    """MiB that the module's process has at most."""
    cluster.sh(
        "sh", "-c", 'printf %s "$1" > /opt/measured; chmod 755 /opt/measured', "sh", MEASURED
    )
    interpreter = {"ansible_python_interpreter": "/opt/measured"}
    cluster.play({"hpcops.slurm.job_info": options, "vars": interpreter}, folder)
    return int(cluster.sh("cat", "/tmp/measured")) // 1024


def line(what: str, seconds: float, floor: float, loop: float | None = None) -> str:
    """A row of the table."""
    beside = f"{loop / seconds:9.0f}" if loop is not None else ""
    return f"  {what:22}{seconds:8.2f}{floor:8.2f}{seconds / floor:8.2f}{beside}"


def report(variant: str, arguments: argparse.Namespace) -> None:
    """Measure on one variant, and print its part of the table."""
    with running(variant, arguments.tasks) as cluster, tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        said = cluster.sh("sh", "-c", SUBMIT, "sh", str(arguments.jobs))
        jobs = [one.partition(";")[0] for one in said.split()]
        cluster.play({"hpcops.slurm.preflight": {}}, folder)
        writes = {
            name: median(all_)
            for name, all_ in measure_writes(cluster, jobs, arguments.rounds, folder).items()
        }
        cluster.sh("scancel", "--name=bench")
        array = f"--array=1-{arguments.tasks}"
        cluster.sh("sbatch", "--hold", "--job-name=bench", array, "/tmp/bench.sh")
        read = measure_reads(cluster, arguments.rounds, folder)
        most = {what: memory(cluster, one[0], folder) for what, one in reads().items()}
    floor = writes["ping"] + writes["list call"]
    print(f"{variant}: ping {writes['ping']:.2f}, one list call {writes['list call']:.2f}, "
          f"a loop of commands {writes['loop']:.0f}")  # fmt: skip
    print(line(f"hold of {arguments.jobs} jobs", writes["hold"], floor, writes["loop"]))
    print(line("release of them", writes["release"], floor, writes["loop"]))
    for what, seconds in read.items():
        own = {name: median(all_) for name, all_ in seconds.items()}
        print(line(f"{what} of {arguments.tasks}", own["read"], own["ping"] + own["squeue"]))
        print(
            f"    squeue {own['squeue']:.2f}, a play of the command {own['command']:.2f}, ratio to"
            f" that {own['read'] / own['command']:.2f}, memory {most[what]} MiB",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--tasks", type=int, default=50000)
    parser.add_argument("variants", nargs="*", default=["trixie-munge"])
    arguments = parser.parse_args()
    print(f"Medians of {arguments.rounds} rounds, in seconds; floor: a ping play and one call")
    print(f"  {'':22}{'seconds':>8}{'floor':>8}{'ratio':>8}{'loop is x':>9}")
    for variant in arguments.variants:
        report(variant, arguments)
    print(f"Targets: ratio at most {FLOOR_RATIO}, a loop is at least {LOOP_RATIO} times slower")


if __name__ == "__main__":
    main()

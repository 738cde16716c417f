# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How cost grows: holds of more jobs, reads of more jobs, audits of more clusters.

    make growth

Each size is measured in turn with a ping play of the same size, audits with a play of plain tasks
(plain_audit.yml) too; the table has medians, and the page docs/benchmarks.md with its plot is
written anew. Slurm's commands that were started are counted by wrappers on the task's PATH,
slurmctld's RPCs by sdiag, both on one play of their own. Memory is what the module's process had at
most.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib as mpl

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / ".collections"))
mpl.use("svg")

# The collection is found through the path above, and the drawing has to know what it draws to.
from matplotlib import pyplot

from ansible_collections.hpcops.slurm.tests.benchmarks import writes
from ansible_collections.hpcops.slurm.tests.benchmarks.writes import (
    FIELDS,
    ROOT,
    Cluster,
    running,
)

PAGE = ROOT / "docs/benchmarks.md"
PLOT = ROOT / "docs/benchmarks.svg"
PLAIN = Path(__file__).with_name("plain_audit.yml")

HOLDS = (10, 100, 1000, 5000)
READS = (100, 1000, 10000, 50000)
AUDITS = (1, 10, 50)
FORKS = (5, 25, 50)

#: Counts each of Slurm's commands that a task starts.
COUNTER = """#!/bin/sh
echo "${0##*/}" >> /tmp/started
exec "/usr/bin/${0##*/}" "$@"
"""
COMMANDS = ("scontrol", "squeue", "sacct", "sbatch", "scancel", "sdiag", "sacctmgr")
COUNTING = "/opt/counting:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass
class Row:
    """One size of one curve. Seconds are medians; ``floor`` is a ping play of the same size,
    ``plain`` an audit by plain tasks.
    """

    size: int
    seconds: float
    floor: float
    started: int = 0
    rpcs: int = 0
    memory: int = 0
    plain: float = 0.0


@dataclass
class Curve:
    """One kind of task at growing sizes."""

    title: str
    unit: str
    rows: list[Row] = field(default_factory=list)


def install(cluster: Cluster) -> None:
    """Put the counting commands there."""
    names = " ".join(COMMANDS)
    text = f'mkdir -p /opt/counting; for c in {names}; do printf %s "$1" > /opt/counting/$c; done'
    cluster.sh("sh", "-c", f"{text}; chmod 755 /opt/counting/*", "sh", COUNTER)


def counted(cluster: Cluster, task: dict[str, Any], folder: Path) -> tuple[int, int]:
    """Slurm's commands that a task starts, and the requests that slurmctld gets meanwhile."""
    cluster.sh("sh", "-c", ": > /tmp/started; sdiag --reset")
    cluster.play({**task, "environment": {"PATH": COUNTING}}, folder)
    said = cluster.sh("sdiag")
    by_user = said.partition("by user")[2].partition("Pending")[0]
    root = re.search(r"^\s*root\s.*?count:(\d+)", by_user, re.MULTILINE)
    started = len(cluster.sh("cat", "/tmp/started").split())
    return started, int(root.group(1)) - 1 if root else 0  # without sdiag's own


def grown(
    curve: Curve,
    cluster: Cluster,
    sizes: Sequence[int],
    task: Callable[[int, int], dict[str, Any]],
    rounds: int,
    folder: Path,
    undo: Callable[[int, int], None] = lambda _size, _round: None,
) -> None:
    """Measure a task at each size, in turn with a ping play."""
    for size in sizes:
        seconds, floors = [], []
        for number in range(rounds):
            floors.append(cluster.play({"ansible.builtin.ping": {}}, folder))
            seconds.append(cluster.play(task(size, number), folder))
            undo(size, number)
        started, rpcs = counted(cluster, task(size, rounds), folder)
        undo(size, rounds)
        interpreter = {"ansible_python_interpreter": "/opt/measured"}
        measured = {**task(size, rounds + 1), "vars": interpreter}
        cluster.sh("sh", "-c", 'printf %s "$1" > /opt/measured; chmod 755 /opt/measured', "sh",
                   writes.MEASURED)  # fmt: skip
        cluster.play(measured, folder)
        undo(size, rounds + 1)
        memory = int(cluster.sh("cat", "/tmp/measured")) // 1024
        curve.rows.append(Row(size, median(seconds), median(floors), started, rpcs, memory))
        print(f"{curve.title}, {size} {curve.unit}: {curve.rows[-1]}", flush=True)


def holds(cluster: Cluster, rounds: int, folder: Path) -> Curve:
    """Holds of so many jobs in one task."""
    curve = Curve("job_hold", "jobs")
    said = cluster.sh("sh", "-c", writes.SUBMIT, "sh", str(max(HOLDS)))
    jobs = [one.partition(";")[0] for one in said.split()]

    def task(size: int, number: int) -> dict[str, Any]:
        return {"hpcops.slurm.job_hold": {"jobs": jobs[:size], "instance": number + 1}}

    def undo(size: int, _number: int) -> None:
        cluster.sh("scontrol", "update", "JobId=" + ",".join(jobs[:size]), "StartTime=now")

    grown(curve, cluster, HOLDS, task, rounds, folder, undo)
    cluster.sh("scancel", "--name=bench")
    return curve


def infos(cluster: Cluster, rounds: int, folder: Path) -> Curve:
    """Reads of three values of a queue of so many jobs."""
    curve = Curve("job_info, three values", "jobs")
    read: dict[str, Any] = {"hpcops.slurm.job_info": {"fields": FIELDS}}
    for size in READS:
        cluster.sh("sbatch", "--hold", "--job-name=bench", f"--array=1-{size}", "/tmp/bench.sh")
        grown(curve, cluster, (size,), lambda _size, _round: read, rounds, folder)
        cluster.sh("scancel", "--name=bench")
        time.sleep(2)
    return curve


def audits(clusters: Sequence[Cluster], rounds: int, folder: Path) -> list[Curve]:
    """Audits of so many hosts, each with its own reports, for some numbers of forks."""
    ping = folder / "ping.yml"
    ping.write_text("- hosts: slurm\n  gather_facts: false\n  tasks: [ansible.builtin.ping: ]\n")
    (folder / "reports").mkdir()
    curves = []
    for forks in FORKS:
        curve = Curve(f"audit.yml, {forks} forks", "clusters")
        for size in AUDITS:
            inventory = inventory_of(clusters, size, folder)
            seconds, floors, plain = [], [], []
            for _round in range(1 if size > 1 else rounds):
                floors.append(_play(inventory, forks, folder, str(ping)))
                seconds.append(_play(inventory, forks, folder, "hpcops.slurm.audit"))
                plain.append(_play(inventory, forks, folder, str(PLAIN)))
            row = Row(size, median(seconds), median(floors), plain=median(plain))
            curve.rows.append(row)
            print(f"{curve.title}, {size} {curve.unit}: {curve.rows[-1]}", flush=True)
        curves.append(curve)
    return curves


def inventory_of(clusters: Sequence[Cluster], size: int, folder: Path) -> Path:
    """So many hosts, spread over a few clusters: each host is a cluster of its own to Ansible."""
    path = folder / f"hosts-{size}.json"
    hosts: dict[str, Any] = {}
    for number in range(size):
        cluster = clusters[number % len(clusters)]
        argv = [str(Path(sys.executable).with_name("ansible-inventory")), "-i", cluster.inventory]
        known = json.loads(subprocess.run([*argv, "--host", cluster.name], capture_output=True,
                                          text=True, check=True, cwd=ROOT).stdout)  # fmt: skip
        hosts[f"cluster{number + 1:02}"] = known
    path.write_text(json.dumps({"slurm": {"hosts": hosts}}), encoding="utf-8")
    return path


def _play(inventory: Path, forks: int, folder: Path, playbook: str) -> float:
    argv = [str(writes.PLAYBOOK), "-i", str(inventory), "--forks", str(forks), playbook]
    reports = f"{folder}/reports"
    variables = {"capability_audit_report_dir": reports, "report_dir": reports}
    argv += ["-e", json.dumps({**variables, "capability_audit_fail_on": ["fail"]})]
    begin = time.perf_counter()
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(argv)} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return time.perf_counter() - begin


def plot(curves: Sequence[Curve]) -> None:
    """Seconds over size, one field a kind of size."""
    units = list(dict.fromkeys(one.unit for one in curves))
    figure, fields = pyplot.subplots(1, len(units), figsize=(10, 4), squeeze=False)
    for place, unit in zip(fields[0], units, strict=True):
        for curve in (one for one in curves if one.unit == unit):
            sizes = [row.size for row in curve.rows]
            place.plot(sizes, [row.seconds for row in curve.rows], marker="o", label=curve.title)
        place.set_xscale("log")
        place.set_xlabel(unit)
        place.set_ylabel("seconds")
        place.set_ylim(bottom=0)
        place.grid(visible=True, alpha=0.3)
        place.legend()
    figure.tight_layout()
    mpl.rcParams["svg.hashsalt"] = "hpcops.slurm"
    figure.savefig(PLOT, metadata={"Date": None})
    # The house has no blanks at the ends of lines, and a drawing means the same without them.
    first, *lines = PLOT.read_text(encoding="utf-8").splitlines()
    text = "".join(f"{line.rstrip()}\n" for line in lines)
    PLOT.write_text(f"{first}\n{HEADER}{text}", encoding="utf-8")


def machine() -> str:
    """What it was measured on."""
    with open("/proc/cpuinfo", encoding="utf-8") as stream:
        model = re.search(r"model name\s*:\s*(.*)", stream.read())
    with open("/proc/meminfo", encoding="utf-8") as stream:
        memory = int(stream.readline().split()[1]) >> 20
    core = subprocess.run([str(writes.PLAYBOOK), "--version"], capture_output=True, text=True,
                          check=True).stdout.splitlines()[0]  # fmt: skip
    return (
        f"{os.cpu_count()} cores ({model.group(1) if model else platform.machine()}), {memory} GiB;"
        f" {core}, Python {platform.python_version()}; controller and clusters on the same machine"
    )


# REUSE-IgnoreStart
HEADER = """\
<!--
SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
SPDX-License-Identifier: GPL-3.0-or-later
-->
"""
# REUSE-IgnoreEnd
EXPLAINED = """\
Seconds are of a whole `ansible-playbook`, beside those of a play of `ansible.builtin.ping` on as
many hosts. Commands are Slurm's that the task started on the host, RPCs are what slurmctld got from
its user, memory is what the module's process had at most.

Audits of more than one cluster are measured once. Beside them stand those of `plain_audit.yml`, a
play of plain tasks that asks Slurm the same questions and writes one short report. The audit finds
its probe's answer in the cache; the plain tasks have to submit theirs each time."""


def page(curves: Sequence[Curve], variant: str, rounds: int) -> str:
    """The page, in Markdown."""
    day = time.strftime("%Y-%m-%d")
    intro = f"Written by `make growth` on {day}: medians of {rounds} rounds on `{variant}`."
    lines = [
        HEADER,
        "# How cost grows",
        "",
        f"{intro} {machine()}.",
        "",
        EXPLAINED,
        "",
        "![Seconds over size](benchmarks.svg)",
    ]
    for curve in curves:
        more = any(row.memory for row in curve.rows)
        plain = any(row.plain for row in curve.rows)
        heads = [curve.unit, "seconds", "ping", "ratio", *(["commands", "RPCs", "MiB"] * more)]
        heads += ["plain tasks"] * plain
        lines += ["", f"## {curve.title}", "", _line(heads), _line(["---:"] * len(heads))]
        for row in curve.rows:
            cells = [f"{row.size:,}", f"{row.seconds:.2f}", f"{row.floor:.2f}"]
            cells.append(f"{row.seconds / row.floor:.1f}")
            cells += [str(row.started), str(row.rpcs), str(row.memory)] * more
            lines.append(_line(cells + [f"{row.plain:.2f}"] * plain))
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure all curves, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--variant", default="trixie-munge")
    asked = parser.parse_args()
    with running(asked.variant, max(READS)) as cluster, tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        install(cluster)
        cluster.play({"hpcops.slurm.preflight": {}}, folder)
        curves = [holds(cluster, asked.rounds, folder), infos(cluster, asked.rounds, folder)]
        curves += audits([cluster], asked.rounds, folder)
    plot(curves)
    PAGE.write_text(page(curves, asked.variant, asked.rounds), encoding="utf-8")
    print(f"{PAGE}\n{PLOT}")


if __name__ == "__main__":
    main()

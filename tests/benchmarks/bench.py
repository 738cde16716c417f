# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a preflight costs, side by side with a bare ping play and with raw sacct.

    .venv/bin/python tests/benchmarks/bench.py [--rounds N] [VARIANT...]

The plays are measured in turn, so that noise meets all of them; the table has medians, and ratios
within the same run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
SANDBOX = ROOT / "tests/sandbox/sandbox"
PLAYBOOK = ROOT / ".venv/bin/ansible-playbook"

#: Targets of the design: a cached preflight against a ping play, and the seconds that a probing one
#: may take beside the time in which the probe's row appears in sacct.
CACHED_RATIO, PROBING_SECONDS = 1.3, 3.0

TASKS = {
    "ping": "ansible.builtin.ping: {}",
    "cached": "hpcops.slurm.preflight: {probe: auto}",
    "probing": "hpcops.slurm.preflight: {probe: always}",
}

#: Seconds from the end of a held job to its row in sacct, measured beside the collection.
ROW_DELAY = """
id=$(printf '#!/bin/sh\\n' | sbatch --parsable --hold --time=1 --output=/dev/null) || exit 1
scancel "$id"
begin=$(date +%s.%N)
until sacct -X -n -P -o State -j "$id" | grep -q CANCELLED; do sleep 0.05; done
end=$(date +%s.%N)
echo "$begin $end"
"""


@dataclass(frozen=True)
class Cluster:
    """A running cluster of the sandbox."""

    name: str
    inventory: str

    def play(self, task: str, folder: Path) -> float:
        """Seconds that a play of one task takes, as a person would run it."""
        playbook = folder / f"{task}.yml"
        playbook.write_text(f"- hosts: all\n  gather_facts: false\n  tasks:\n    - {TASKS[task]}\n")
        command = [str(PLAYBOOK), "-i", self.inventory, str(playbook)]
        begin = time.perf_counter()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - begin
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
        return seconds

    def row_delay(self) -> float:
        """Seconds until the row of a cancelled job appears in raw sacct."""
        command = [str(SANDBOX), "exec", self.name, "--", "sh", "-c", ROW_DELAY]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        begin, end = done.stdout.split()
        return float(end) - float(begin)


def up(variant: str) -> Cluster:
    """Start a cluster, or find it running."""
    command = [str(SANDBOX), "up", variant]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Cluster(variant, done.stdout.splitlines()[-1])


def measure(cluster: Cluster, rounds: int) -> dict[str, list[float]]:
    """Seconds of each play and of the row's own delay, ``rounds`` times in turn."""
    found: dict[str, list[float]] = {name: [] for name in (*TASKS, "row")}
    with tempfile.TemporaryDirectory() as folder:
        cluster.play("probing", Path(folder))  # the connection is open, and the answers cached
        for _round in range(rounds):
            for task in TASKS:
                found[task].append(cluster.play(task, Path(folder)))
            found["row"].append(cluster.row_delay())
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("variants", nargs="*", default=["bookworm-munge", "forky-munge"])
    arguments = parser.parse_args()
    print(f"Medians of {arguments.rounds} rounds, in seconds")
    print(
        f"{'cluster':16}{'ping':>8}{'cached':>8}{'ratio':>8}{'probing':>9}{'row':>8}{'beside':>8}"
    )
    for variant in arguments.variants:
        seconds = {
            name: median(all_) for name, all_ in measure(up(variant), arguments.rounds).items()
        }
        ratio = seconds["cached"] / seconds["ping"]
        beside = seconds["probing"] - seconds["row"]
        print(
            f"{variant:16}{seconds['ping']:8.2f}{seconds['cached']:8.2f}{ratio:8.2f}"
            f"{seconds['probing']:9.2f}{seconds['row']:8.2f}{beside:8.2f}"
        )
    print(f"Targets: ratio at most {CACHED_RATIO}, beside at most {PROBING_SECONDS} s")


if __name__ == "__main__":
    main()

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Coverage-guided fuzzing of what reads text from outside.

    make fuzz [FUZZ_SECONDS=60] [FUZZ="reader journal"]

Each target gets so many seconds, in a process of its own, beginning with what real releases have
printed. An input that breaks something is kept in build/fuzz/TARGET, and the run ends with 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["ansible_collections.hpcops.slurm"]):
    from ansible_collections.hpcops.slurm.tests.fuzz.targets import TARGETS, corpus

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "build" / "fuzz"


def one_target(name: str, seconds: int) -> None:
    """Fuzz one target; does not come back."""
    place = PLACE / name
    seeds = place / "corpus"
    seeds.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(corpus()):
        (seeds / f"seed-{number}").write_bytes(data)
    options = [f"-max_total_time={seconds}", f"-artifact_prefix={place}/", "-max_len=20000"]
    atheris.Setup([sys.argv[0], *options, "-print_final_stats=1", str(seeds)], TARGETS[name])
    atheris.Fuzz()


def main() -> int:
    """Fuzz every target in turn; 0 when nothing broke."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--only")
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS])
    wanted = parser.parse_args()
    if wanted.only:
        one_target(wanted.only, wanted.seconds)
    broken = []
    for name in wanted.targets or TARGETS:
        print(f"=== {name}, {wanted.seconds} s", flush=True)
        argv = [sys.executable, __file__, "--seconds", str(wanted.seconds), "--only", name]
        ended = subprocess.run(argv, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, check=False)
        lines = ended.stdout.decode("utf-8", "replace").splitlines()
        told = [one for one in lines if one.startswith(("stat::number_of_executed", "Done"))]
        print(*(told if ended.returncode == 0 else lines[-40:]), sep="\n", flush=True)
        if ended.returncode:
            broken.append(name)
    print("broken: " + ", ".join(broken) if broken else "nothing broke")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

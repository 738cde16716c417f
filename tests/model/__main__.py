# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Explore the write protocol, and show that what is broken on purpose is found.

    make model [MODEL='--bound 2 --jobs 2']

The bound is how many faults and events of others there are at most in two tasks, one more in a
single one; 0 is 1 with less of others. Ends with 1 when an invariant does not hold, or a rule
that is broken is not found.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from ansible_collections.hpcops.slurm.tests.model.explore import Explored, explore
from ansible_collections.hpcops.slurm.tests.model.known import KNOWN, mended
from ansible_collections.hpcops.slurm.tests.model.mutations import MUTATIONS, Mutation, broken
from ansible_collections.hpcops.slurm.tests.model.programs import Case, cases
from ansible_collections.hpcops.slurm.tests.model.protocol import (
    AS_IT_IS,
    ASSUMED,
    INVARIANTS,
    Protocol,
    Rules,
)
from ansible_collections.hpcops.slurm.tests.model.tasks import Tasks


class Caught(NamedTuple):
    """What the exploration of a broken rule came to: the case, and the violation's word."""

    name: str
    word: str
    where: str
    right: bool


def protocol(case: Case, rules: Rules = AS_IT_IS) -> Protocol:
    """What is to be explored."""
    tasks = Tasks(case.setting)
    return Protocol(case.program, tasks, case.faults, case.others, case.crash, rules)


def run_case(case: Case, rules: Rules = AS_IT_IS) -> Explored:
    """Explore one case."""
    with mended():
        return explore(protocol(case, rules))


def run_known(place: int) -> str:
    """The word of the violation that a known one comes to; "" when there is none any more."""
    known = KNOWN[place]
    for case in (one for one in cases(1) if one.name == known.case and one.others):
        with mended(but=known):
            made = explore(protocol(case))
        if made.found is not None:
            return made.found.word
    return ""


def run_mutation(place: int) -> Caught:
    """Explore with one rule broken, until it is found."""
    mutation: Mutation = MUTATIONS[place]
    for name in mutation.where:
        todo = [one for one in cases(mutation.bound) if one.name == name]
        # A fault and somebody's doing come first: that is a smaller case than two of a kind.
        for case in sorted(todo, key=lambda one: (max(one.faults, one.others), -one.faults)):
            with broken(mutation):
                found = run_case(case, mutation.rules).found
            if found is not None:
                right = found.word in mutation.breaks
                return Caught(mutation.name, found.word, case.name, right)
    return Caught(mutation.name, "nothing", "", False)


def main() -> int:
    """Print states, invariants and broken rules; 0 when all is as it has to be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bound", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    wanted = parser.parse_args()
    began, good = time.monotonic(), True
    with ProcessPoolExecutor(wanted.jobs) as pool:
        todo = cases(wanted.bound)
        states = steps = 0
        caught = pool.map(run_mutation, range(len(MUTATIONS)))
        print("states    steps  faults others  case")
        for case, made in zip(todo, pool.map(run_case, todo), strict=True):
            states, steps = states + made.states, steps + made.steps
            line = f"{made.states:>7} {made.steps:>8} {case.faults:>6} {case.others:>6}  "
            print(line + case.name, flush=True)
            if made.found is not None:
                good = False
                print(f"BROKEN {made.found.text}", *made.found.way, sep="\n    ")
        print(f"\n{states} states, {steps} steps in {len(todo)} cases. In each of them:")
        print(*(f"    {word}: {text}" for word, text in INVARIANTS.items()), sep="\n")
        print("Assumed:", *ASSUMED, sep="\n    ")
        print("\nKnown, and explored as if they were mended:" if KNOWN else "")
        for known, word in zip(KNOWN, pool.map(run_known, range(len(KNOWN))), strict=True):
            good = good and bool(word)
            print(f"    {word or 'IS MENDED: take it out of known.py':<12} {known.name}")
        print("\nRules broken on purpose, and the invariant that finds them:")
        for one in caught:
            good = good and one.right
            print(f"    {one.word:<12} {one.name} ({one.where or 'NOT FOUND'})")
    print(f"{time.monotonic() - began:.0f} s")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drives the modules against real clusters while things go wrong, and checks all they said.

    make faults [OPERATIONS=200] [SEED=7] [WITHOUT=landing-bound]

Operations and faults are drawn from the seed, which is printed: the same seed gives the same
schedule. WITHOUT breaks one guard in a copy of the collection, on purpose: the campaign then has to
find violations, and its exit status says whether it did.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from ansible_collections.hpcops.slurm.tests.faults.invariants import (
    KINDS,
    TITLES,
    Observed,
    Operation,
    Violation,
    check,
    check_begins,
    check_bits,
)
from ansible_collections.hpcops.slurm.tests.faults.observer import UNSAVED, Payload, events
from ansible_collections.hpcops.slurm.tests.faults.schedule import (
    JOBS,
    NET,
    RUNNING,
    Instances,
    Step,
    episode,
    interfered,
)
from ansible_collections.hpcops.slurm.tests.integration import plays
from ansible_collections.hpcops.slurm.tests.integration.conftest import SANDBOX, Cluster
from ansible_collections.hpcops.slurm.tests.integration.faults import PATIENT, own_clusters
from ansible_collections.hpcops.slurm.tests.integration.write_plays import (
    Jobs,
    Result,
    Task,
    held_at,
    preflight,
    results,
    shell,
    start,
    wait_for,
    write,
)

ROOT = SANDBOX.parents[2]

#: Seconds that a credential lives; Slurm's own commands give up after 2 s.
CREDENTIAL = 10
SETTINGS = (
    f"AuthInfo=ttl={CREDENTIAL}",
    "MessageTimeout=2",
    "MinJobAge=3600",
    "SchedulerParameters=bf_interval=1",
    "SlurmctldDebug=debug2",
)
#: Name -> variant. The slurmctld of the last one has a clock of its own, so many seconds ahead.
CLUSTERS = {
    "faults-bookworm": "bookworm-munge",
    "faults-trixie": "trixie-munge",
    "faults-forky": "forky-slurm",
    "faults-clock": "trixie-munge",
}
AHEAD = (3, 10, 40, 100)
ROOT_UID, OPERATOR_UID = 0, 2000
STEPS = 6
#: What squeue shows of a job that Slurm still changes.
NOT_ENDED = ("PENDING", "RUNNING", "SUSPENDED")
FULL = "/opt/full"
PAYLOADS = "/tmp/payloads"

#: How each guard is broken: file, what is there, what is put there instead.
GUARDS = {
    # An unknown is settled at once, not when the landing bound has passed.
    "landing-bound": (
        "_writes/engine.py",
        "over = time.time() > self.until",
        "over = True",
    ),
    # Writes of an earlier run that may still land are not waited for.
    "journal": (
        "_writes/engine.py",
        "flying = {plan.job_id: history.flying(self.order.action, plan) for plan in plans}",
        "flying = {plan.job_id: None for plan in plans}",
    ),
    # A status that says nothing is taken for a refusal.
    "strict-reader": (
        "_writes/judge.py",
        "    if status not in _ERRORS.get(call, (Status.ERROR,)):\n",
        """    if status not in (0, 1):
        return dict.fromkeys(members, Known(Proof.REFUSED, "ended", Outcome.REJECTED))
    if status not in _ERRORS.get(call, (Status.ERROR,)):
""",
    ),
    # A requeue bit that is left set is not told about.
    "requeue-bit": (
        "_writes/judge.py",
        "    refused = third.proof is Proof.REFUSED\n",
        "    return second\n    refused = third.proof is Proof.REFUSED\n",
    ),
}  # fmt: skip

NETWORKS = {
    "whole": "",
    "cut": "iif lo tcp dport 6817 drop\n",
    "lossy": "iif lo tcp dport 6817 numgen random mod 100 < 40 drop\n"
    "iif lo tcp sport 6817 numgen random mod 100 < 40 drop\n",
    "slow": "iif lo tcp dport 6817 limit rate over 8/second drop\n",
}

#: Everything is as it should be again, and slurmctld answers.
BACK = f"""
until [ ! -e /tmp/disturbing ]; do sleep 0.2; done
echo whole > {NET}
for service in munged slurmdbd slurmctld; do
  slurm-service continue $service 2>/dev/null; slurm-service start $service 2>/dev/null
done
until timeout 10 scontrol ping | grep -q 'is UP'; do sleep 0.3; done
true
"""
SCRIPT = (
    f'echo "start" >> {PAYLOADS}/$SLURM_JOB_ID; sleep %s; echo done >> {PAYLOADS}/$SLURM_JOB_ID'
)


def inside(cluster: str, what: str, *command: str, text: str = "") -> None:
    """Do to a container's namespace (``net`` or ``mount``) what the container itself may not."""
    pid = (SANDBOX.parent / ".state" / cluster / "pid").read_text(encoding="ascii").strip()
    argv = ["nsenter", "--target", pid, f"--{what}", *command]
    subprocess.run(argv, input=text, text=True, check=True, capture_output=True)


class Network(threading.Thread):
    """Does to a container's network what a file asks for."""

    def __init__(self, cluster: str) -> None:
        super().__init__(daemon=True)
        self.cluster = cluster
        self.wish = SANDBOX.parent / ".state" / cluster / "log" / Path(NET).name
        self.ended = threading.Event()
        self.now = "whole"

    def run(self) -> None:
        """Look five times a second."""
        while not self.ended.wait(0.2):
            self.become(self.wish.read_text().strip() if self.wish.exists() else "whole")
        self.become("whole")

    def become(self, network: str) -> None:
        """Put the rules there, all at once."""
        if network == self.now or network not in NETWORKS:
            return
        rules = f"chain input {{ type filter hook input priority 0;\n{NETWORKS[network]}}};"
        text = f"table inet faults\ndelete table inet faults\ntable inet faults {{ {rules} }}\n"
        inside(self.cluster, "net", "nft", "-f", "-", text=text)
        self.now = network


@dataclass
class Site:
    """One cluster, and all that was done on it."""

    cluster: Cluster
    seed: str
    clock_offset: int
    jobs: Jobs = field(init=False)
    operations: list[Operation] = field(default_factory=list)
    new: Instances = field(default_factory=Instances)
    begins: dict[str, str] = field(default_factory=dict)
    no_bit: list[str] = field(default_factory=list)
    told: set[str] = field(default_factory=set)
    violations: list[Violation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.jobs = Jobs(self.cluster, environment=[PATIENT])

    @property
    def munge(self) -> bool:
        """Whether it has munge, or auth/slurm."""
        return CLUSTERS[self.cluster.name].endswith("-munge")

    @property
    def done(self) -> int:
        """How many operations were carried out, without those that end an episode."""
        return sum(1 for one in self.operations if not one.closing)

    def prepare(self) -> None:
        """Make the folders, and let both users probe."""
        made = self.cluster.sh(["sh", "-c", f"mkdir -p -m 1777 {PAYLOADS}; mkdir -p {FULL}"])
        assert made.status == 0
        # A disk of its own: what fills /dev/shm keeps a slurmctld under faketime from starting.
        disk = f"mountpoint -q {FULL} || mount -t tmpfs -o size=64k,mode=700 full {FULL}"
        fill = f"dd if=/dev/zero of={FULL}/filler bs=4k 2>/dev/null; true"
        inside(self.cluster.name, "mount", "sh", "-c", f"{disk}; {fill}")
        tasks = [preflight("root", probe="always"), preflight("operator", probe="always")]
        for result in results(start([self.cluster], tasks), self.cluster.name, len(tasks)):
            assert not result["failed"], result

    def run(self, operations: int) -> None:
        """Episodes until so many operations were carried out."""
        number = 0
        while self.done < operations:
            rng = Random(f"{self.seed}/{self.cluster.name}/{number}")
            steps = episode(rng, min(STEPS, operations - self.done), self.new, self.munge)
            self.episode(steps)
            print(f"{self.cluster.name}: {self.done} of {operations} operations", flush=True)
            number += 1

    def submit(self) -> dict[tuple[str, int], str]:
        """Fresh jobs, by kind and place."""
        made: dict[tuple[str, int], str] = {}
        tomorrow = str(int(time.time()) // 60 * 60 + 86400)
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(int(tomorrow)))
        for kind, count in JOBS.items():
            options = {
                "gated": ["--hold"],
                "begins": [f"--begin={at}"],
                "waits": [f"--dependency=afterok:{made.get(('gated', 0), '')}"],
                "runs": ["--no-requeue"],
                "may_requeue": ["--requeue"],
                "ends": ["--no-requeue"],
            }[kind]
            script = SCRIPT % (20 if kind == "ends" else 3600)
            for place_, job in enumerate(self.jobs.submit(*options, script=script, count=count)):
                made[kind, place_] = job
        self.begins.update({job: tomorrow for (kind, _n), job in made.items() if kind == "begins"})
        self.no_bit += [job for (kind, _n), job in made.items() if kind in ("runs", "ends")]
        running = [job for (kind, _n), job in made.items() if kind in RUNNING]
        self.jobs.await_state("RUNNING", *running)
        # One that slurmctld forgets when it is killed gives its number to another.
        time.sleep(UNSAVED)
        return made

    def episode(self, steps: Sequence[Step]) -> None:
        """One play of these tasks on fresh jobs, another controller's beside it, and the checks."""
        ids = self.submit()
        others = interfered(steps)
        for job in others:
            self.begins.pop(ids.get(job, ""), None)
        mine: list[tuple[Operation | None, Task]] = []
        previous: Operation | None = None
        for step in steps:
            operation = self._operation(step, ids, ROOT_UID, step.options)
            operation.repeats = previous if step.repeats and not others & {*step.jobs} else None
            previous = operation
            mine += [(None, task) for task in self._before(step, ids)]
            mine += [(operation, self._task(step, operation)), (None, shell(BACK))]
        run = start([self.cluster], [task for _operation, task in mine])
        beside = self._second(steps, ids)
        self._read(run, mine)
        if beside:
            self._read(*beside)
        self._end(list(ids.values()))

    def _operation(
        self, step: Step, ids: Mapping[tuple[str, int], str], uid: int, options: Mapping[str, Any]
    ) -> Operation:
        made = Operation(
            number=len(self.operations) + 1,
            cluster=self.cluster.name,
            uid=uid,
            module=step.module,
            options=options,
            jobs=[ids[job] for job in step.jobs],
            faults=step.faults,
        )
        self.operations.append(made)
        return made

    def _before(self, step: Step, ids: Mapping[tuple[str, int], str]) -> list[Task]:
        if step.disturbance is None:
            return [shell("true")]
        text, pause, job = step.disturbance
        text = text.replace("JOB", ids.get(job, "0"))
        body = shlex.quote(f"sleep {pause}; {text}; rm -f /tmp/disturbing")
        begins = f"setsid sh -c {body} < /dev/null > /dev/null 2>&1 &"
        return [shell(f"touch /tmp/disturbing; {begins}")]

    def _task(self, step: Step, operation: Operation) -> Task:
        if step.module == "preflight":
            return preflight("root", **step.options)
        options = {**step.options, "jobs": list(operation.jobs)}
        if step.full_disk:
            options["state_dir"] = FULL
        if step.environment:
            options["environment"] = step.environment
        return write(step.module, "root", **options)

    def _second(
        self, steps: Sequence[Step], ids: Mapping[tuple[str, int], str]
    ) -> tuple[plays.Run, list[tuple[Operation | None, Task]]] | None:
        """The holds of another controller, as a play of its own."""
        tasks: list[tuple[Operation | None, Task]] = [(None, shell("true", "operator"))]
        for step in steps:
            if step.second:
                options = {**step.options, "instance": step.second}
                operation = self._operation(step, ids, OPERATOR_UID, options)
                task = write("job_hold", "operator", jobs=list(operation.jobs), **options)
                tasks.append((operation, task))
        if len(tasks) == 1:
            return None
        return start([self.cluster], [task for _operation, task in tasks]), tasks

    def _read(self, run: plays.Run, tasks: Sequence[tuple[Operation | None, Task]]) -> None:
        """What came of a play."""
        found = results(run, self.cluster.name, len(tasks))
        times = [one.when for one in run.results if one.host == self.cluster.name]
        begun = times[0]
        for (operation, _task), result, when in zip(tasks, found, times, strict=True):
            if operation is not None:
                operation.started, operation.ended = begun, when
                self._take(operation, result)
            begun = when

    def _take(self, operation: Operation, result: Result) -> None:
        self.told.update(_named(result.get("warnings") or []))
        if "results" in result:
            operation.results = {one["job_id"]: one for one in result["results"]}
            self.told.update(
                one["job_id"] for one in result["results"] if one["requeue_bit_left"] != "no"
            )
        elif "failure_class" in result:
            operation.nothing_sent = True

    def _end(self, ids: Sequence[str]) -> None:
        """Let go of the episode's jobs: lift what is held, clear the bits, and look."""
        wait_for(lambda: all(row["State"] != "COMPLETING" for row in self.jobs.look(*ids).values()))
        bits = {job: row["Requeue"] for job, row in self.jobs.look(*ids).items()}
        left = [job for job in self.no_bit if bits.get(job) == "1"]
        held = {
            job: number
            for job, row in self.jobs.look(*ids).items()
            if row["State"] == "PENDING" and (number := held_at(row["EligibleTime"])) is not None
        }
        last = [Step("job_restore", [], {})]
        last += [Step("job_release", [], {"instance": one}) for one in sorted(set(held.values()))]
        # A task begins when the one before it has ended.
        tasks: list[tuple[Operation | None, Task]] = [(None, shell("true"))]
        for step in last:
            number = step.options.get("instance")
            operation = self._operation(step, {}, ROOT_UID, step.options)
            restores = step.module == "job_restore"
            jobs = [
                job for job in ids if (job in self.no_bit if restores else held.get(job) == number)
            ]
            operation.jobs, operation.closing = jobs, True
            tasks.append((operation, self._task(step, operation)))
        self._read(start([self.cluster], [task for _operation, task in tasks]), tasks)
        # What is restored now was left set by a run of this user's: the journal knew of it.
        restored = tasks[1][0]
        for job, made in ((restored.results if restored else None) or {}).items():
            self.told.update([job] if made["changed"] else [])
        seen = self.jobs.look(*ids)
        # Slurm changes nothing of a job that has ended.
        still = [
            job
            for job, row in seen.items()
            if job in self.no_bit and row["Requeue"] == "1" and row["State"] in NOT_ENDED
        ]
        self.violations += check_bits(left, self.told, still)
        begins = {job: one for job, one in self.begins.items() if job in ids}
        shown = {job: row["EligibleTime"] for job, row in seen.items() if row["State"] == "PENDING"}
        self.violations += check_begins(begins, shown)
        wait_for(lambda: self._gone(*ids))
        self.jobs.ids.clear()

    def _gone(self, *ids: str) -> bool:
        """Cancel jobs, and say whether all have ended.

        As their owner: the log then tells it from what the modules did.
        """
        self.cluster.sh(["env", PATIENT, "scancel", *ids], user="user1")
        return all(row["State"] not in NOT_ENDED for row in self.jobs.look(*ids).values())

    def check(self) -> None:
        """All invariants, when nothing can land any more."""
        limits = [
            one["may_land_until"] or 0
            for operation in self.operations
            for one in (operation.results or {}).values()
        ]
        time.sleep(max(0.0, max(limits, default=0) + 2 - time.time()))
        log = self.cluster.sh(["cat", "/var/log/slurm/slurmctld.log"]).stdout
        lines = self.cluster.sh(
            ["sh", "-c", f"cd {PAYLOADS} && grep -H . * 2>/dev/null || true"]
        ).text.splitlines()
        payloads: dict[str, list[str]] = {}
        for line in lines:
            job, _sign, text = line.partition(":")
            payloads.setdefault(job, []).append(text)
        observed = Observed(
            events(log.decode("utf-8", "replace"), self.clock_offset),
            {job: Payload(tuple(text)) for job, text in payloads.items()},
        )
        self.violations += check(self.operations, observed)
        self._check_probes()

    def _check_probes(self) -> None:
        """One more preflight without faults: after it, there is no probe job of anybody's."""
        tasks = [preflight("root", probe="always"), preflight("operator", probe="always")]
        for result in results(start([self.cluster], tasks), self.cluster.name, len(tasks)):
            assert not result["failed"], result
        argv = ["squeue", "-h", "-a", "-t", "PENDING,RUNNING", "-o", "%i %j"]
        for line in self.cluster.sh(argv).text.splitlines():
            job, _blank, name = line.partition(" ")
            if "preflight" in name:
                self.violations.append(Violation("probe", 0, job, f"{name} is in the queue"))


def _named(warnings: Sequence[Any]) -> set[str]:
    """The jobs that warnings about requeue bits name."""
    text = " ".join(str(one) for one in warnings if "requeue bit" in str(one))
    return {
        word.strip("(),:")
        for word in text.replace(",", " ").split()
        if word.strip("(),:").isdigit()
    }


@contextmanager
def collections(without: str) -> Iterator[Path | None]:
    """A copy of the collection in which one guard is broken; None for the collection as it is."""
    if not without:
        yield None
        return
    name, old, new = GUARDS[without]
    with tempfile.TemporaryDirectory(prefix="hpcops-broken-") as folder:
        copy = Path(folder) / "ansible_collections/hpcops/slurm"
        for part in ("plugins", "meta", "galaxy.yml"):
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, copy / part)
            else:
                shutil.copy2(source, copy / part)
        broken = copy / "plugins/module_utils" / name
        text = broken.read_text(encoding="utf-8")
        if text.count(old) != 1:
            sys.exit(f"{name} does not have this once, so the guard can't be taken out:\n{old}")
        broken.write_text(text.replace(old, new), encoding="utf-8")
        yield Path(folder)


def table(sites: Sequence[Site]) -> str:
    """Operations, faults and outcomes, counted."""
    operations = [one for site in sites for one in site.operations if not one.closing]
    writes = [one for one in operations if one.module in KINDS]
    outcomes: dict[str, Counter[str]] = {}
    for one in operations:
        row = outcomes.setdefault(one.module, Counter())
        row["operations"] += 1
        for made in (one.results or {}).values():
            row[made["outcome"]] += 1
        if one.module in KINDS and one.results is None:
            row["no result"] += 1
    heads = sorted({head for row in outcomes.values() for head in row} - {"operations"})
    lines = [f"{'module':12} {'operations':>10}" + "".join(f" {head:>11}" for head in heads)]
    for module, row in sorted(outcomes.items()):
        cells = "".join(f" {row[head] or '':>11}" for head in heads)
        lines.append(f"{module:12} {row['operations']:>10}{cells}")
    faults = Counter(fault for one in operations for fault in one.faults)
    lines += ["", f"{'fault':30} {'operations':>10}"]
    lines += [f"{name:30} {count:>10}" for name, count in faults.most_common()]
    hit = sum(1 for one in operations if one.faults)
    jobs = sum(len(one.results or {}) for one in writes)
    total = f"{len(operations)} operations on {len(sites)} clusters, {hit} of them with a fault"
    return "\n".join([*lines, "", f"{total}; {jobs} results of jobs"])


def carry_out(names: Sequence[str], operations: int, seed: str) -> list[Site]:
    """The campaign on these clusters, on all of them at the same time."""
    offsets = {name: Random(seed).choice(AHEAD) for name in names if name == "faults-clock"}
    for name, ahead in offsets.items():
        print(f"{name}: slurmctld's clock is {ahead} s ahead", flush=True)
    wanted = [(name, CLUSTERS[name]) for name in names]
    with own_clusters(wanted, *SETTINGS, clock_offsets=offsets) as clusters:
        sites = [Site(clusters[name], seed, offsets.get(name, 0)) for name in names]
        networks = [Network(name) for name in names]
        for network in networks:
            network.start()
        shares = [
            operations // len(sites) + (n < operations % len(sites)) for n in range(len(sites))
        ]
        try:
            with ThreadPoolExecutor(len(sites)) as pool:
                list(pool.map(lambda pair: _work(*pair), zip(sites, shares, strict=True)))
        finally:
            for network in networks:
                network.ended.set()
                network.join()
        return sites


def _work(site: Site, operations: int) -> None:
    site.prepare()
    site.run(operations)
    site.check()


def main() -> int:
    """Run it, print the table, and say whether it is as it has to be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=200)
    parser.add_argument("--seed", default=str(int(time.time())))
    parser.add_argument("--without", choices=sorted(GUARDS), default="")
    parser.add_argument("--clusters", nargs="*", default=list(CLUSTERS), choices=list(CLUSTERS))
    asked = parser.parse_args()
    print(
        f"Seed {asked.seed}" + (f", without {asked.without}" if asked.without else ""), flush=True
    )
    begun = time.monotonic()
    with collections(asked.without) as broken:
        if broken is not None:
            plays.COLLECTIONS = broken
        sites = carry_out(asked.clusters, asked.operations, asked.seed)
    violations = [(site, one) for site in sites for one in site.violations]
    print(table(sites))
    print(f"{time.monotonic() - begun:.0f} s\n")
    counts = Counter(one.invariant for _site, one in violations)
    for name, title in TITLES.items():
        print(f"{counts[name]:4} violations: {title}")
    for site, one in violations:
        print(f"{site.cluster.name}: {one}")
    if asked.without:
        print("The broken guard was found." if violations else "The broken guard was NOT found.")
        return 0 if violations else 1
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())

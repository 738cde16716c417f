# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How jobs ended: from squeue while it shows them, and the same from accounting afterwards.

Jobs that end in every way that a sandbox can make are submitted once a cluster, read when they have
ended (those that take longer in a second play), and read again when slurmctld has forgotten them. A
node is lost for good: its slurmd is killed. The truth is what raw squeue and raw sacct say.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.integration.conftest import Cluster
from ansible_collections.hpcops.slurm.tests.integration.faults import own_clusters
from ansible_collections.hpcops.slurm.tests.integration.write_plays import (
    Result,
    Task,
    as_user,
    look,
    place,
    play,
    preflight,
    rows,
    together,
    told,
    wait_for,
)

NEVER = "67043327"
WANTED = [
    ("reads-bookworm", "bookworm-munge"),
    ("reads-trixie", "trixie-munge"),
    ("reads-forky", "forky-slurm"),
]
#: Twice SlurmdTimeout and a minute: so long does a lost execution count as running.
SLURMD_TIMEOUT, LOSS_WINDOW = 15, 90
SETTINGS = (
    "MinJobAge=60",
    f"SlurmdTimeout={SLURMD_TIMEOUT}",
    "SchedulerParameters=bf_interval=1,sched_interval=5",
    "PreemptType=preempt/partition_prio",
    "PreemptMode=CANCEL",
    "PartitionName=high Nodes=n[1-3] PriorityTier=10 State=UP",
)
#: Prints the number of each job behind its name. Free of n4 but for what is lost with it.
SUBMIT = r"""
s() { name=$1; shift; id=$(printf '#!/bin/sh\n%s\n' "$script" |
      sbatch --parsable -J "$name" -o /dev/null -n1 --mem=10 "$@") && echo "$name $id"; }
script='true' s well -w n1
script='exit 3' s badly -w n1
script='kill -9 $$' s killed -w n1
for name in boots memory sibling strange; do script='true' s $name -w n1; done
script='sleep 600'
s lives -w n1
s mine -w n1
s theirs --hold
s late -w n1 -t 1
s again --requeue -w n1
# 22.05 leaves a held job alone until the deadline itself has passed.
case $(squeue --version) in *" 22."*) ;; *)
s expired --hold -t 1 --deadline="$(date -d '+63 seconds' +%Y-%m-%dT%H:%M:%S)" ;;
esac
s lost -w n4 --no-requeue
s returns -w n4 --requeue
s victim -w n2 --exclusive --no-requeue
s busy -p high -w n3 --exclusive
"""
#: What each ends as, and by whom it was cancelled.
CAUSES: dict[str, tuple[str, str | None]] = {
    "well": ("completed", None),
    "badly": ("failed", None),
    "killed": ("failed", None),
    "mine": ("cancelled", "user1"),
    "theirs": ("cancelled", "root"),
    "late": ("timeout", None),
    "again": ("cancelled", "user1"),
    "expired": ("deadline", None),
    "victim": ("preempted", None),
    "full": ("no_capacity", None),
    "lost": ("node_lost", None),
}
#: Ends that a sandbox can't make: no node boots there, no cgroup limits memory, and there is no
#: federation. Accounting is told of them in its own numbers (enum job_states and JOB_REVOKED in
#: slurm/slurm.h), so that it is real sacct that says how they ended. The last is none at all.
TOLD: dict[str, tuple[str, str, str]] = {
    "boots": ("9", "BOOT_FAIL", "boot_failure"),
    "memory": ("11", "OUT_OF_MEMORY", "out_of_memory"),
    "sibling": ("4 | 1 << 19", "REVOKED", "revoked"),
    "strange": ("77", "?", "unknown"),
}
EXITS = {
    "well": {"status": 0, "signal": 0},
    "badly": {"status": 3, "signal": 0},
    "killed": {"status": 0, "signal": 9},
}


@dataclass
class Site:
    """One cluster, its jobs by name, and what its plays returned."""

    cluster: Cluster
    ids: dict[str, str]
    early: list[Result] = field(default_factory=list)
    middle: list[Result] = field(default_factory=list)
    late: list[Result] = field(default_factory=list)

    @property
    def causes(self) -> dict[str, tuple[str, str | None]]:
        """What each of its jobs ends as."""
        return {name: cause for name, cause in CAUSES.items() if name in self.ids}

    def named(self, result: Result) -> dict[str, dict[str, Any]]:
        """The records of a result by the names of the jobs."""
        told(result, changed=False)
        names = {number: name for name, number in self.ids.items()}
        return {names[one["job_id"]]: one for one in result["jobs"]}

    @property
    def before(self) -> dict[str, dict[str, Any]]:
        """The records from squeue, those of jobs that have ended from the play that saw that."""
        found = self.named(self.middle[0])
        for name, record in self.named(self.early[2]).items():
            if record["cause"] is not None:
                found[name] = record
        return found

    def states(self) -> dict[str, str]:
        """What raw squeue shows now."""
        argv = ["squeue", "-h", "-a", "-t", "all", "-O", "Name:|,State:|"]
        lines = self.cluster.sh(argv).text.splitlines()
        return {line.split("|")[0]: line.split("|")[1] for line in lines}


def info(**options: Any) -> Task:
    """A task that reads jobs as user1, whose preflight the tests have run."""
    paths = {"cache_path": place("user1")["cache_path"]}
    return as_user("user1", {"hpcops.slurm.job_info": {**paths, **options}})


def ceased(
    command: Sequence[str], jobs: Sequence[str], check: bool = False, limit: float = 30
) -> Task:
    """A task that asks whether jobs have ceased."""
    arguments = {
        "cache_path": place("user1")["cache_path"],
        "cessation_command": list(command),
        "cessation_timeout": limit,
        "jobs": list(jobs),
    }
    return as_user("user1", {"hpcops.slurm.job_ceased_info": arguments, "check_mode": check})


def sacct(*ids: str) -> Task:
    """A task that reads accounting with raw sacct."""
    argv = ["sacct", "-X", "-D", "-n", "-P", "-S", "uts1000000", "-j", ",".join(ids)]
    command = {"argv": [*argv, "-o", "JobIDRaw,State,ExitCode,Submit,Start,End"]}
    return {
        "ansible.builtin.command": command,
        "environment": {"SLURM_TIME_FORMAT": "%s"},
        "changed_when": False,
    }


def submitted(cluster: Cluster) -> Site:
    """The jobs of every kind, on their way to their ends."""
    said = cluster.sh(["bash", "-c", SUBMIT], user="user1").text
    site = Site(cluster, dict(line.split() for line in said.splitlines()))
    running = {"lives", "mine", "late", "again", "lost", "returns", "victim", "busy"}
    wait_for(lambda: {one for one, word in site.states().items() if word == "RUNNING"} == running)
    soon = time.time() + 2
    ends = "EndTime=" + time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(soon))
    calls = [
        ["scontrol", "update", "JobId=" + site.ids["late"], ends],
        ["scancel", site.ids["theirs"]],
        ["scontrol", "requeue", site.ids["again"]],
        ["slurm-service", "kill", "slurmd", "n4"],
    ]
    for argv in calls:
        assert cluster.sh(argv).status == 0, argv
    assert cluster.sh(["scancel", site.ids["mine"]], user="user1").status == 0
    high = ["-p", "high", "--exclusive", "-n1", "--mem=10"]
    full = ["salloc", *high, "-w", "n3", "-I1", "-J", "full", "true"]
    assert cluster.sh(full, user="user1").status != 0
    over = ["sbatch", "--parsable", *high, "-w", "n2", "-J", "over", "-o", "/dev/null"]
    assert cluster.sh([*over, "--wrap", "true"], user="user1").status == 0
    number = cluster.sh(["squeue", "-h", "-t", "all", "-n", "full", "-o", "%A"]).text
    site.ids["full"] = number
    wait_for(lambda: site.states()["again"] == "PENDING")
    assert cluster.sh(["scancel", site.ids["again"]], user="user1").status == 0
    return site


def ended(site: Site) -> bool:
    """Whether every job shows its end, and the one that comes back waits to run again."""
    states = site.states()
    live = {name for name, word in states.items() if word in ("RUNNING", "PENDING", "COMPLETING")}
    if not {"lost", "late", "returns"} <= set(states):
        return False
    return live <= {"lives", "returns", "busy"} and states["returns"] == "PENDING"


def forgotten(site: Site) -> bool:
    """Whether squeue shows none of the jobs that have ended."""
    return not {*site.causes, *TOLD} & set(site.states())


def tell_accounting(site: Site) -> None:
    """Let accounting know the ends that only it is told of."""
    table = site.cluster.name.replace("-", "") + "_job_table"
    for name, (number, _word, _cause) in TOLD.items():
        text = f"UPDATE {table} SET state = {number} WHERE id_job = {site.ids[name]}"
        database = ["mariadb", "--defaults-file=/etc/mysql/sandbox.cnf", "slurm_acct_db"]
        assert site.cluster.sh([*database, "--execute", text]).status == 0


def early_tasks(site: Site) -> list[Task]:
    """What is read while squeue shows the jobs that end soon."""
    ids = list(site.ids.values())
    return [info(jobs=[NEVER]), preflight("user1"), info(jobs=[*ids, NEVER]), look(*ids)]


def middle_tasks(site: Site) -> list[Task]:
    """What is read while squeue shows the others."""
    ids = list(site.ids.values())
    lost, returns = site.ids["lost"], site.ids["returns"]
    right = ["/usr/bin/test", "$(id) {job_id} {node_list} {execution}", "="]
    return [
        info(jobs=ids),
        look(*ids),
        ceased([*right, f"$(id) {lost} n4 0"], [lost, returns]),
        ceased([*right, f"$(id) {lost} n4 0"], [lost], check=True),
        ceased(["/usr/bin/sleep", "1{job_id}"], [lost], limit=0.3),
        ceased(["/nowhere/ask", "{job_id}"], [lost]),
        ceased(["/usr/bin/true", "{node_list}"], [site.ids["lives"], site.ids["mine"], NEVER]),
        ceased(["/usr/bin/true"], [lost]),
    ]


@pytest.fixture(scope="module")
def sites() -> Iterator[dict[str, Site]]:
    """The clusters, whose jobs were read before and after slurmctld forgot them."""
    with own_clusters(WANTED, *SETTINGS) as clusters:
        found = {name: submitted(cluster) for name, cluster in clusters.items()}
        early = together({name: early_tasks(site) for name, site in found.items()})
        wait_for(lambda: all(map(ended, found.values())))
        middle = together({name: middle_tasks(site) for name, site in found.items()})
        for name, site in found.items():
            site.early, site.middle = early[name], middle[name]
        wait_for(lambda: all(map(forgotten, found.values())), limit=300)
        for site in found.values():
            tell_accounting(site)
        ends = [site.before["lost"]["end_time"] for site in found.values()]
        time.sleep(max(0.0, max(ends) + LOSS_WINDOW + 2 - time.time()))
        tasks = {
            name: [info(jobs=[*site.ids.values(), NEVER]), sacct(*site.ids.values())]
            for name, site in found.items()
        }
        late = together(tasks)
        for name, site in found.items():
            site.late = late[name]
        yield found


@pytest.fixture(params=[name for name, _variant in WANTED])
def site(sites: Mapping[str, Site], request: pytest.FixtureRequest) -> Site:
    """One of them."""
    return sites[request.param]


def test_without_a_preflight_nothing_is_found(site: Site) -> None:
    first = site.early[0]
    assert (first["jobs"], first["missing"]) == ([], [NEVER])
    assert "no valid preflight: run hpcops.slurm.preflight as user1" in first["reasons"][NEVER]


def test_records_are_what_squeue_shows(site: Site) -> None:
    for read, seen in ((site.early[2], site.early[3]), (site.middle[0], site.middle[1])):
        shown = rows(seen)
        for one in read["jobs"]:
            if one["source"] == "slurmctld" and one["cause"] is not None and one["job_id"] in shown:
                assert one["raw_state"] == shown[one["job_id"]]["State"]


def test_the_cause_is_the_same_before_and_after(site: Site) -> None:
    before, after = site.before, site.named(site.late[0])
    assert set(before) == set(after) == set(site.ids)
    for name, (cause, by) in site.causes.items():
        one, other = before[name], after[name]
        assert (one["source"], other["source"]) == ("slurmctld", "accounting"), name
        assert (one["cause"], one["cancelled_by"]) == (cause, by), name
        assert (other["cause"], other["cancelled_by"]) == (cause, by), name
        assert (one["state"], one["name"]) == (other["state"], other["name"]), name
    for name, code in EXITS.items():
        assert before[name]["exit_code"] == after[name]["exit_code"] == code
    assert (before["lives"]["coarse_state"], before["lives"]["cause"]) == ("running", None)
    assert (site.early[2]["missing"], site.late[0]["missing"]) == ([NEVER], [NEVER])
    assert site.late[0]["reasons"][NEVER].startswith("neither slurmctld nor accounting")


def test_ends_that_only_accounting_knows(site: Site) -> None:
    """Never "failed", and a word that nobody knows is kept, and warned about."""
    after = site.named(site.late[0])
    raw = {line.split("|")[0]: line.split("|")[1] for line in site.late[1]["stdout_lines"]}
    for name, (_number, word, cause) in TOLD.items():
        one = after[name]
        assert raw[site.ids[name]] == one["raw_state"] == word
        assert (one["source"], one["cause"]) == ("accounting", cause), name
    assert (after["strange"]["state"], after["strange"]["coarse_state"]) == ("unknown", "unknown")
    assert {after[name]["coarse_state"] for name in ("boots", "memory")} == {"ended"}
    assert "sacct has a job in an unknown state '?'" in json.dumps(site.late[0]["warnings"])


def test_executions_are_kept_apart(site: Site) -> None:
    raw: dict[str, list[list[str]]] = {}
    for line in site.late[1]["stdout_lines"]:
        number, *values = line.split("|")
        raw.setdefault(number, []).append(values)
    again = raw[site.ids["again"]]
    assert [values[0].split()[0] for values in again] == ["REQUEUED", "CANCELLED"]
    for found in (site.before, site.named(site.late[0])):
        (first,) = found["again"]["earlier_executions"]
        assert (first["cause"], first["coarse_state"]) == ("requeued", "ended")
        assert [str(first[name]) for name in ("submit_time", "start_time", "end_time")] == (
            again[0][2:]
        )
        (lost,) = found["returns"]["earlier_executions"]
        assert (lost["cause"], lost["node_list"], lost["restarts"]) == ("node_lost", "n4", 0)
        assert found["returns"]["restarts"] == 1
        assert found["well"]["earlier_executions"] == []


def test_a_lost_execution_counts_as_running_until_its_window_has_passed(site: Site) -> None:
    before, after = site.before, site.named(site.late[0])
    assert (before["lost"]["state"], before["lost"]["coarse_state"]) == ("NODE_FAIL", "running")
    assert after["lost"]["coarse_state"] == "ended"
    assert before["returns"]["earlier_executions"][0]["coarse_state"] == "running"
    assert after["returns"]["earlier_executions"][0]["coarse_state"] == "ended"


def test_ceased(site: Site) -> None:
    both, checked, slow, absent, others, refused = site.middle[2:]
    for result in (both, checked, slow, absent, others):
        told(result, changed=False)
    lost, returns = site.ids["lost"], site.ids["returns"]
    answers = {
        one["job_id"]: (one["execution"], one["lost"], one["ceased"]) for one in both["executions"]
    }
    assert answers == {lost: (0, "yes", "yes"), returns: (0, "yes", "no")}
    assert [one["ceased"] for one in checked["executions"]] == ["yes"]
    (ended_by_us,), (not_started,) = slow["executions"], absent["executions"]
    assert (ended_by_us["ceased"], ended_by_us["rc"]) == ("unknown", None)
    assert "time limit" in ended_by_us["reason"]
    assert not_started["ceased"] == "unknown"
    assert "could not be started" in not_started["reason"]
    assert [(one["lost"], one["ceased"]) for one in others["executions"]] == [
        ("no", "unknown"), ("no", "unknown"), ("unknown", "unknown")
    ]  # fmt: skip
    told(refused, changed=False, failed=True)
    assert "neither {job_id} nor {node_list}" in refused["msg"]


@pytest.mark.variants("trixie-noaccounting")
def test_without_accounting_a_job_that_left_is_missing(cluster: Cluster) -> None:
    *_before, read = play(cluster, preflight("user1"), info(jobs=[NEVER]))
    assert (read["jobs"], read["missing"]) == ([], [NEVER])
    reason = read["reasons"][NEVER]
    assert "AccountingHistory is no: " in reason
    assert "Slurm accounting storage is disabled" in reason

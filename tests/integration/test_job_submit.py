# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Submitting to real Slurm: once, known again, and what its refusals and silences come to."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.integration.conftest import Cluster
from ansible_collections.hpcops.slurm.tests.integration.faults import (
    BACK,
    EXPIRED,
    fault,
    install,
)
from ansible_collections.hpcops.slurm.tests.integration.write_plays import (
    Result,
    Task,
    forget,
    home,
    place,
    play,
    preflight,
    shell,
    together,
    told,
    wait_for,
    write,
)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox's containers are root's")

USER = "user1"
OUT = f"{home(USER)}/submit-test"
ACCOUNTED = ("bookworm-munge", "trixie-munge", "forky-munge", "trixie-slurm", "forky-slurm")

#: What a supervisor may call a job: separators, quotes, newlines, text beyond ASCII.
ODD = "night/1 |;,='\"`$(date)\\\n\t% caf\u00e9 \u65e5\u672c attempt=9"


def submit(submission: str, user: str = USER, **options: Any) -> Task:
    """Submit a job that does nothing, unless it is told what to do."""
    work = {} if "script" in options else {"command": ["true"]}
    more = {"output_dir": OUT, "ttl": 60, "ntasks": 1, **work, **options}
    variables = more.pop("variables", {})
    task = write("job_submit", user, submission=submission, **more)
    task["hpcops.slurm.job_submit"]["environment"] = variables
    return task


def outcome(result: Result) -> tuple[str, str | None]:
    """Outcome, and who knows the job."""
    [one] = result["results"]
    assert one["job_id"] == result["job_id"]
    return one["outcome"], one["known_from"]


def reason(result: Result) -> str:
    """Why the outcome is what it is."""
    return str(result["results"][0]["reason"])


def fresh(text: str = "") -> str:
    """A submission that nobody has made yet."""
    return f"{uuid.uuid4().hex[:8]}{text}"


def lost_memory() -> Task:
    """The journal is lost, as on another host."""
    return shell(f"rm -rf {place(USER)['state_dir']}", USER)


def named(name: str, columns: str = "%i") -> Task:
    """What raw squeue shows of the jobs of a name."""
    return shell(f"squeue -h -t all -n {name} -o '{columns}'")


@pytest.fixture(scope="module")
def ready(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster where the user may submit, if anybody may."""
    assert cluster.sh(["mkdir", "-p", OUT], user=USER).status == 0
    [probed] = play(cluster, preflight(USER))
    assert not probed["failed"], probed
    yield cluster
    cluster.sh(["scancel", "--user", USER])
    cluster.sh(["rm", "-rf", OUT])
    forget(cluster, USER)


@pytest.mark.variants(*ACCOUNTED)
def test_submitted_once(ready: Cluster) -> None:
    """First run changed, second not, check mode predicts; and all values arrive."""
    odd, name = fresh(ODD), fresh()
    script = "#!/bin/sh\nenv -0 > environment; pwd >> place; sleep 1\n"
    work: dict[str, Any] = {
        "script": script, "name": name, "chdir": OUT, "gate": True, "partition": "main",
        "time_limit": 90, "nodes": 1, "ntasks": 2, "ntasks_per_node": 2, "attempt": 3,
        "variables": {"ODD": ODD, "PATH": "/opt/x:/usr/bin:/bin", "NUMBER": 7},
    }  # fmt: skip
    results = play(
        ready,
        submit(odd, check=True, **work),
        named(name),
        submit(odd, **work),
        submit(odd, check=True, **work),
        lost_memory(),
        submit(odd, **{**work, "name": "other"}),
        submit(odd, **{**work, "attempt": 4, "name": f"{name}-4"}),
        named(name, "%i %T %r %k"),
        shell(f"scontrol show job $(squeue -h -n {name} -o %i); scontrol release jobname={name}"),
        shell(f"until test -s {OUT}/place; do sleep 0.3; done; cat {OUT}/place", USER),
        shell(f"tr '\\0\\n' '\\n\\001' < {OUT}/environment", USER),
    )
    predicted, nothing, made, again, _lost, known, other, queue, shown, where, variables = results
    told(predicted, changed=True)
    assert (outcome(predicted), nothing["stdout"]) == (("applied", None), "")
    told(made, changed=True)
    assert outcome(made) == ("applied", "sbatch")
    assert made["diff"]["before"] == {}
    assert made["diff"]["after"]["attempt"] == 3
    for result in (again, known):
        told(result, changed=False)
        assert outcome(result) == ("unchanged", "queue")
        assert result["job_id"] == made["job_id"]
    told(other, changed=True)
    job, state, why, comment = queue["stdout"].split(" ", 3)
    assert (job, state, why) == (made["job_id"], "PENDING", "JobHeldUser")
    assert comment.startswith("hpcops.slurm submission=")
    assert comment.endswith(" attempt=3")
    for text in ("Requeue=0", "TimeLimit=00:02:00", "NumNodes=1", "NumTasks=2", f"WorkDir={OUT}"):
        assert text in shown["stdout"]
    assert where["stdout"] == OUT
    pairs = (line.partition("=") for line in variables["stdout"].split("\n"))
    seen = {key: value.replace("\001", "\n") for key, _sign, value in pairs}
    wanted = {
        "DISPATCH_SUBMISSION": odd, "DISPATCH_ATTEMPT": "3", "DISPATCH_JOB_ID": job,
        "DISPATCH_EXECUTION": "0", "ODD": ODD, "NUMBER": "7", "HOME": home(USER), "USER": USER,
        "PATH": "/opt/x:/usr/bin:/bin",
    }  # fmt: skip
    assert {key: seen.get(key) for key in wanted} == wanted
    assert not {"SLURM_TIME_FORMAT", "SLURM_EXPORT_ENV", "LC_ALL", "SSH_CONNECTION"} & set(seen)


@pytest.mark.variants("bookworm-munge", "forky-munge")
def test_known_after_slurmctld_forgot(ready: Cluster) -> None:
    """Accounting knows a gated job that never ran and one that did; the journal does too."""
    ran, gated = fresh(ODD), fresh("-gated")
    first = play(ready, submit(ran), submit(gated, gate=True))
    for result in first:
        told(result, changed=True)
    jobs = [result["job_id"] for result in first]
    ready.sh(["sh", "-c", f"sleep 3; scancel {jobs[1]}"])
    listed = ["squeue", "-h", "-t", "all", "-o", "%i", "-j", ",".join([*jobs, jobs[0]])]
    wait_for(lambda: ready.sh(listed).stdout == b"")
    again = (submit(ran), submit(gated))
    results = play(ready, *again, lost_memory(), *again, submit(fresh()))
    for journal, accounting, job in zip(results[:2], results[3:5], jobs, strict=True):
        assert outcome(journal) == ("unchanged", "journal")
        assert outcome(accounting) == ("unchanged", "accounting")
        assert (journal["job_id"], accounting["job_id"]) == (job, job)
    told(results[-1], changed=True)


@pytest.mark.variants("bookworm-munge", "trixie-munge", "forky-munge")
def test_refusals(ready: Cluster) -> None:
    """slurmctld's own words, and what is refused before it is asked; nothing is in the queue."""
    refused: dict[str, tuple[dict[str, Any], str]] = {
        "an unknown partition": ({"partition": "nope"}, "Invalid partition name specified"),
        "no output directory": ({"output_dir": f"{OUT}/none"}, "is no directory on this host"),
        "a closed output directory": ({"output_dir": "/root"}, "/root"),
        "a container image": (
            {"container_image": "x.sif"},
            "container images are not mapped in v1",
        ),
        "an array": ({"array": "1-3"}, "arrays are not submitted"),
        "a variable of its own": ({"variables": {"DISPATCH_ATTEMPT": "9"}}, "DISPATCH_ATTEMPT"),
    }
    name = fresh()
    tasks = [submit(name, **options) for options, _text in refused.values()]
    # Comments of other tests' jobs are not all text.
    count = shell(f"squeue -h -t all -o '%k' | grep -caF {name} || true")
    results = play(ready, *tasks, count)
    for result, (what, (_options, text)) in zip(results, refused.items(), strict=False):
        told(result, changed=False, failed=True)
        assert text in result["msg"], what
    assert [one["results"][0]["outcome"] for one in results[:5]] == [
        "rejected", "not_run", "not_run", "unsupported", "unsupported"
    ]  # fmt: skip
    assert results[-1]["stdout"] == "0"


@pytest.mark.variants("trixie-munge")
def test_what_no_node_can_do_is_rejected_again(ready: Cluster) -> None:
    """slurmctld keeps a record of a job that it refused: it is no job."""
    name = fresh()
    asked = submit(name, ntasks=100000)
    first, kept, second, done = play(ready, asked, named(name + ".1", "%T %r"), asked, submit(name))
    for result in (first, second):
        told(result, changed=False, failed=True)
        assert outcome(result) == ("rejected", None)
        assert "Requested node configuration is not available" in result["msg"]
    assert kept["stdout"] == "FAILED BadConstraints"
    told(done, changed=True)


@pytest.mark.variants("trixie-munge")
def test_two_jobs_with_one_comment(ready: Cluster) -> None:
    """Both are named, and no third one is made."""
    name = fresh()
    twin = (
        f"sbatch -n1 -H -J {name} --wrap true --comment='hpcops.slurm submission={name} attempt=1'"
    )
    results = play(ready, submit(name, gate=True, name=name), shell(twin, USER), submit(name),
                   named(name))  # fmt: skip
    both = sorted(results[3]["stdout"].split(), key=int)
    assert len(both) == 2
    told(results[2], changed=False, failed=True)
    [one] = results[2]["results"]
    assert (one["outcome"], one["job_ids"], one["job_id"]) == ("unknown", both, None)
    assert f"jobs {', '.join(both)} are all submission {name} attempt 1" in results[2]["msg"]


@pytest.mark.variants("trixie-nocomment")
def test_without_comments_in_accounting(ready: Cluster) -> None:
    """The journal knows; without it the job's name is a doubt, and nothing is sent."""
    name = fresh()
    [made] = play(ready, submit(name))
    told(made, changed=True)
    job = made["job_id"]
    wait_for(
        lambda: ready.sh(["squeue", "-h", "-t", "all", "-j", f"{job},{job}"]).stdout == b"", 150
    )
    kept, _lost, doubt, other = play(
        ready, submit(name), lost_memory(), submit(name), submit(fresh())
    )
    assert (outcome(kept), kept["job_id"]) == (("unchanged", "journal"), job)
    told(doubt, changed=False, failed=True)
    assert outcome(doubt) == ("unknown", None)
    assert f"job {job} has its name, and accounting keeps no comment that tells" in doubt["msg"]
    told(other, changed=True)


@pytest.mark.variants("trixie-noaccounting")
def test_without_accounting(ready: Cluster) -> None:
    """It can't be known whether it was submitted from elsewhere, until the user says so."""
    name = fresh()
    doubt, trusted, again = play(
        ready, submit(name), submit(name, trust_journal=True), submit(name)
    )
    told(doubt, changed=False, failed=True)
    assert outcome(doubt) == ("unknown", None)
    assert "accounting does not tell" in doubt["msg"]
    assert "trust_journal" in doubt["msg"]
    told(trusted, changed=True)
    told(again, changed=False)
    assert outcome(again) == ("unchanged", "queue")


#: As in faults.py, at sbatch: slurmctld hangs, and the client is killed while it waits.
WRAPPER = r"""#!/bin/sh
later() { setsid sh -c "sleep $1; $2" </dev/null >/dev/null 2>&1 & }
case $DO in
  hang)
    later "$FOR" "slurm-service continue slurmctld"
    slurm-service pause slurmctld || exit 98
    export SLURM_CONF=/opt/faulty/slurm.conf
    timeout -s KILL 2 /usr/bin/sbatch "$@"
    exit 137
    ;;
  lie) cat > /dev/null; echo "sbatch: error: something odd" >&2; exit 1 ;;
  silent) /usr/bin/sbatch "$@" > /dev/null; exit 0 ;;
esac
exec /usr/bin/sbatch "$@"
"""

#: Seconds for which slurmctld hangs until sbatch has been killed.
ALIVE = 6


def scenario(what: str, seconds: float, name: str, **options: Any) -> list[Task]:
    """A submission that meets a fault, what squeue shows afterwards, and a second run of it."""
    environment = fault(what, "", seconds)
    return [
        submit(name, "root", ttl=15, output_dir="/tmp", environment=environment, **options),
        BACK,
        named(f"{name}.1"),
        submit(name, "root", output_dir="/tmp"),
        named(f"{name}.1"),
    ]


def install_wrapper(cluster: Cluster) -> None:
    """Put it first on the PATH of a task that meets a fault."""
    text = "cat > /opt/faulty/sbatch && chmod 755 /opt/faulty/sbatch"
    assert cluster.sh(["sh", "-c", text], stdin=WRAPPER.encode()).status == 0


@pytest.mark.variants("trixie-authnone")
def test_without_a_landing_bound(ready: Cluster) -> None:
    """What is unknown stays so, without end, and nothing is sent again until it shows."""
    install(ready)
    install_wrapper(ready)
    name, late, never = fresh(), fresh("-late"), fresh("-never")

    try:
        results = play(
            ready,
            preflight(),
            submit(name),
            submit(name),
            named(f"{name}.1"),
            *scenario("hang", 9, late, command_timeout=2),
            *scenario("lie", 0, never),
            submit(never, "root", output_dir="/tmp", attempt=2),
        )
    finally:
        ready.sh(["sh", "-c", "rm -rf /opt/faulty; scancel --user root"])
        forget(ready, "root")
    _probe, made, again, queue, hung, _back, landed, known, one = results[:9]
    lied, _back, nothing, refused, still_nothing, other = results[9:]
    told(made, changed=True)
    told(again, changed=False)
    assert queue["stdout"] == made["job_id"] == again["job_id"]
    for result in (hung, lied, refused):
        told(result, changed=False, failed=True)
        [said] = result["results"]
        assert (said["outcome"], said["settled"], said["may_land_until"]) == (
            "unknown",
            False,
            None,
        ), said
        assert "without a landing bound it may still land at any time" in result["msg"]
    told(known, changed=False)
    assert landed["stdout"] == one["stdout"] == known["job_id"]
    assert "nothing was sent" in refused["msg"]
    assert (nothing["stdout"], still_nothing["stdout"]) == ("", "")
    told(other, changed=True)


#: By fault: the wrapper's word, for how long, further options; then the first run's outcome, who
#: knows the job, how many jobs there are, and the second run's outcome.
FAULTS: dict[str, tuple[str, float, dict[str, Any], tuple[str, str | None, int, str]]] = {
    "lands": ("hang", ALIVE, {}, ("applied", "queue", 1, "unchanged")),
    "never": ("hang", EXPIRED, {}, ("not_applied", None, 0, "applied")),
    "open": ("hang", ALIVE, {"settle": False}, ("unknown", None, 1, "unchanged")),
    "silent": ("silent", 0, {}, ("applied", "queue", 1, "unchanged")),
    "lie": ("lie", 0, {}, ("not_applied", None, 0, "applied")),
}
MEETS = {
    "writes-bookworm": ("lands", "never"),
    "writes-trixie": ("open", "never", "silent"),
    "writes-forky": ("lands", "never", "lie"),
}
#: An account that nobody has is refused where accounts are enforced.
ENFORCE = (
    "echo AccountingStorageEnforce=associations >> /etc/slurm/slurm.conf;"
    " slurm-service stop slurmctld; slurm-service start slurmctld;"
    " until scontrol ping | grep -q 'is UP'; do sleep 0.3; done"
)
RELAX = ENFORCE.replace(
    "echo AccountingStorageEnforce=associations >> /etc/slurm/slurm.conf",
    "sed -i /^AccountingStorageEnforce/d /etc/slurm/slurm.conf",
)


def test_cut_off(fleet: Mapping[str, Cluster]) -> None:
    """Killed while slurmctld hangs, it settles to what squeue shows; nothing is submitted twice."""
    for cluster in fleet.values():
        install_wrapper(cluster)
    tasks = {}
    for cluster_name in fleet:
        tasks[cluster_name] = [preflight()]
        for kind in MEETS[cluster_name]:
            what, seconds, options, _expected = FAULTS[kind]
            tasks[cluster_name] += scenario(what, seconds, fresh(f"-{kind}"), **options)
        refused = submit(fresh(), "root", account="nope", output_dir="/tmp")
        tasks[cluster_name] += [shell(ENFORCE), refused, shell(RELAX)]
    found = together(tasks)
    for cluster_name, [_probe, *results] in found.items():
        for number, kind in enumerate(MEETS[cluster_name]):
            first, where, jobs, second = FAULTS[kind][3]
            met, _back, queue, again, after = results[5 * number : 5 * number + 5]
            said = (cluster_name, kind, met["results"])
            assert outcome(met) == (first, where), said
            assert met["changed"] is (first == "applied"), said
            assert met["results"][0]["settled"] is (first != "unknown"), said
            assert len(queue["stdout"].split()) == jobs, said
            assert outcome(again)[0] == second, (said, again)
            assert len(after["stdout"].split()) == 1, (said, after)
        no_account = results[-2]
        told(no_account, changed=False, failed=True)
        assert outcome(no_account) == ("rejected", None)
        assert "Invalid account or account/partition combination specified" in no_account["msg"]

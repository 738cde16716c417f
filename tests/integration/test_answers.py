# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What preflight answers, against what is seen when it is done; and submissions that meet a fault.

The cluster is its own, with other settings than the variants have, so that no answer is right by
being a constant. What is seen is what raw Slurm commands and the jobs' own files show.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.integration.conftest import Cluster
from ansible_collections.hpcops.slurm.tests.integration.faults import own_clusters
from ansible_collections.hpcops.slurm.tests.integration.write_plays import (
    BASE,
    Result,
    Task,
    as_user,
    column,
    home,
    look,
    place,
    play,
    preflight,
    rows,
    shell,
    told,
    write,
)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox's containers are root's")

ME = "user1"
OUT = f"{home(ME)}/answers"
CACHE = {"cache_path": place(ME)["cache_path"]}
NEVER = "67043327"

KILL_WAIT, MIN_JOB_AGE, SLURMD_TIMEOUT, MESSAGE_TIMEOUT, CREDENTIAL = 7, 25, 20, 4, 33
SETTINGS = (
    f"KillWait={KILL_WAIT}",
    f"MinJobAge={MIN_JOB_AGE}",
    f"SlurmdTimeout={SLURMD_TIMEOUT}",
    f"MessageTimeout={MESSAGE_TIMEOUT}",
    f"AuthInfo=ttl={CREDENTIAL}",
    "JobSubmitPlugins=lua",
    "SchedulerParameters=bf_interval=1,sched_interval=5",
    "PartitionName=far Nodes=n4 State=UP",
)


#: An account and a QOS that are nobody's default.
NIGHT = """
for kind in account qos; do sacctmgr -i add $kind night; done
sacctmgr -i add user user1 account=night qos=normal,night defaultqos=normal
"""


#: squeue of this cluster, counted.
COUNTING = "/opt/counting"
COUNT = f"""
mkdir -p {COUNTING} && cd {COUNTING} && : > calls && chmod 666 calls
printf '#!/bin/sh\\necho $* >> {COUNTING}/calls\\nexec /usr/bin/squeue "$@"\\n' > squeue
chmod 755 squeue
"""


@pytest.fixture(scope="module")
def own() -> Iterator[Cluster]:
    """A cluster that tests may break, where user1 has a directory for output."""
    with own_clusters([("answers", "trixie-munge")], *SETTINGS) as clusters:
        cluster = clusters["answers"]
        assert cluster.sh(["mkdir", "-p", OUT], user=ME).status == 0
        assert cluster.sh(["sh", "-c", NIGHT + COUNT]).status == 0
        yield cluster


def fresh(text: str = "") -> str:
    """A submission that nobody has made yet."""
    return f"{uuid.uuid4().hex[:8]}{text}"


def submit(submission: str, **options: Any) -> Task:
    """Submit a job that does nothing, unless it is told what to do."""
    work = {} if "script" in options else {"command": ["true"]}
    more = {"output_dir": OUT, "ntasks": 1, "name": submission, **work, **options}
    return write("job_submit", ME, submission=submission, **more)


def output(job: str, **options: Any) -> Task:
    """Read what a job has written, to its end."""
    more = {"job_id": job, "output_dir": OUT, "follow": True, "follow_limit": 200, **options}
    return as_user(ME, {"hpcops.slurm.job_output_info": more})


def read(name: str, **options: Any) -> Task:
    """A task that reads jobs."""
    return as_user(ME, {f"hpcops.slurm.{name}": {**CACHE, **options}})


def text(result: Result) -> list[str]:
    """The lines that a job has written, all its executions."""
    assert not result["failed"], result
    return "".join(one["text"] for one in result["parts"] if one["stream"] == "stdout").split("\n")


# What each answer says, done


PLACED = """\
#!/bin/sh
pwd
echo "$DISPATCH_SUBMISSION $DISPATCH_ATTEMPT"
srun sh -c 'echo on $SLURMD_NODENAME'
"""
#: Says when it was asked to end, and goes on telling the time.
DEAF = """\
#!/bin/sh
trap 'date "+told %s"' TERM
while :; do date +%s; sleep 0.2; done
"""
FALLS = "#!/bin/sh\necho execution $DISPATCH_EXECUTION; sleep 600\n"
#: What raw squeue shows of our job and of another one after their node was lost, and what comes of
#: a requeue of ours.
FALL = """
other=$(sbatch --parsable --requeue -p far -n1 -o /dev/null --wrap 'sleep 600')
until squeue -h -j $other -t R | grep -q .; do sleep 0.2; done
scontrol update NodeName=n4 State=DOWN Reason=test
while squeue -h -j OURS,$other -t R,CG | grep -q .; do sleep 0.2; done
for job in OURS $other; do squeue -h -t all -j $job -O 'State:|,RestartCnt:|'; done
scontrol requeue OURS 2>&1
scontrol update NodeName=n4 State=RESUME
"""

RULES = ["Resubmit", "Escalate", "Restart", "Requeue", "Hold", "Paint"]


def life(tag: str) -> dict[str, Task]:
    """The tasks, by what is asked of their results."""
    placed, falls, deaf, gated = (
        f"{{{{ {name}.job_id }}}}" for name in ("placed", "falls", "deaf", "gated")
    )
    asked = ["/usr/bin/test", "{job_id} {execution}", "=", f"{falls} 0"]
    return {
        "answers": preflight(ME, probe="always", rules=RULES, cessation_command=["/bin/true"]),
        "image": submit(f"{tag}-image", container_image="x.sif"),
        "no image": shell(f"squeue -h -t all -n {tag}-image -o %i"),
        "placed": {
            **submit(
                f"{tag}-placed", script=PLACED, attempt=4, chdir="/var/tmp", nodes=2, ntasks=6,
                ntasks_per_node=3,
            ),
            "register": "placed",
        },
        "falls": {**submit(f"{tag}-falls", script=FALLS, partition="far"), "register": "falls"},
        "deaf": {**submit(f"{tag}-deaf", script=DEAF, partition="small"), "register": "deaf"},
        "gated": {
            **submit(
                f"{tag}-gated", script=FALLS, partition="small", account="night", qos="night",
                gate=True,
            ),
            "register": "gated",
        },
        # A job that may be requeued falls with it, and comes back.
        "falls down": shell(
            f"until test -s {OUT}/{falls}.0.out -a -s {OUT}/{deaf}.0.out; do sleep 0.2; done;"
            + FALL.replace("OURS", falls)
        ),
        "fell": output(falls),
        "hold": write("job_hold", ME, jobs=[gated], instance=3),
        "held": look(gated),
        "stale": write("job_release", ME, jobs=[gated], instance=2),
        "still": look(gated),
        "release": write("job_release", ME, jobs=[gated], instance=3),
        "free": look(gated),
        "open": write("job_open", ME, jobs=[gated]),
        "gated runs": shell(
            f"until test -s {OUT}/{gated}.0.out; do sleep 0.2; done;"
            f" squeue -h -j {deaf},{gated} -o '%P %a %q' | sort"
        ),
        "requeue": write("job_requeue", ME, jobs=[gated], restarts=0),
        "requeued": look(gated),
        "ceased": read("job_ceased_info", jobs=[falls], cessation_command=asked),
        "cancel": write("job_cancel", ME, jobs=[deaf, gated], wait=True),
        "killed": output(deaf),
        "many": {
            **read("job_info", jobs=[placed, falls, deaf, NEVER]),
            "environment": {"PATH": f"{COUNTING}:/usr/bin:/bin"},
        },
        "output": output(placed),
        "forgets": shell(f"until ! squeue -h -t all -o %i | grep -x {placed}; do sleep 0.5; done"),
        "forgotten": read("job_info", jobs=[placed, NEVER]),
        "resubmit": submit(f"{tag}-falls", attempt=2),
        "files": shell(
            f"wc -l < {COUNTING}/calls; cd {OUT} && ls {placed}.* {falls}.* {deaf}.* {gated}.*"
        ),
    }  # fmt: skip


@pytest.fixture(scope="module")
def story(own: Cluster) -> Mapping[str, Result]:
    """What came of it."""
    tasks = life(f"seen-{fresh()}")
    results = dict(zip(tasks, play(own, *tasks.values()), strict=True))
    own.sh(["sh", "-c", "scancel -u root; scancel -u user1"])
    return results


def answers(story: Mapping[str, Result], name: str = "answers") -> dict[str, Any]:
    """The fact of a preflight."""
    found: dict[str, Any] = story[name]["ansible_facts"]["slurm_preflight"]
    return found


def said(one: Result, outcome: str) -> bool:
    """Whether a write has come to this outcome, with every one of its jobs."""
    return {entry["outcome"] for entry in one["results"]} == {outcome}


def id_of(story: Mapping[str, Result], name: str) -> str:
    """The number of a job that was submitted."""
    told(story[name], changed=True)
    return str(story[name]["job_id"])


def never_came_back(story: Mapping[str, Result]) -> bool:
    """A job of ours whose node fell ended for good, while another one came back by itself."""
    ours, other = map(str, story["falls down"]["stdout_lines"][:2])
    assert other == "PENDING|1|"
    return ours == "NODE_FAIL|0|"


def not_restarted(story: Mapping[str, Result]) -> bool:
    """Slurm does not start it again when it is asked to."""
    answer: str = story["falls down"]["stdout_lines"][2]
    return "Requested operation is presently disabled" in answer


def held(story: Mapping[str, Result], when: str) -> bool:
    """Whether raw squeue shows hold 3."""
    return column(story[when], "EligibleTime") == {id_of(story, "gated"): str(BASE + 3)}


def waits_for_us(story: Mapping[str, Result]) -> bool:
    """Whether the hold does what Hold stands for."""
    stays = said(story["stale"], "stale") and held(story, "still")
    lifted = said(story["release"], "applied") and not held(story, "free")
    return said(story["hold"], "applied") and held(story, "held") and stays and lifted


def patience(story: Mapping[str, Result]) -> bool:
    """Whether what does not end at SIGTERM is killed after this cluster's KillWait."""
    lines = [line for line in text(story["killed"]) if line]
    [asked] = [int(line.split()[1]) for line in lines if line.startswith("told")]
    last = max(int(line) for line in lines if not line.startswith("told"))
    return said(story["cancel"], "applied") and last - asked >= KILL_WAIT - 1


def test_capabilities(story: Mapping[str, Result]) -> None:
    placed, falls, deaf, gated = (
        id_of(story, name) for name in ("placed", "falls", "deaf", "gated")
    )
    where, who, *nodes = text(story["output"])[:8]
    _calls, *files = story["files"]["stdout_lines"]
    fell = story["fell"]
    ours = [f"{job}.0.{end}" for job in (placed, falls, deaf, gated) for end in ("err", "out")]
    known = [(one["job_id"], one["source"], one["cause"]) for one in story["forgotten"]["jobs"]]
    image = story["image"]["results"][0]
    refused = image["outcome"] == "unsupported" and story["no image"]["stdout"] == ""
    seen = {
        "ContainerImage": not (refused and image["reason"] == "container images are not mapped"
                               " in v1"),
        "NativeRequeue": not never_came_back(story),
        "NativeRestart": not not_restarted(story),
        "Hold": waits_for_us(story),
        "PreTerminationSignal": patience(story),
        "AccountingHistory": known == [(placed, "accounting", "completed")],
        "AttemptInjection": who.endswith("-placed 4"),
        "ReadmissionGate": f"{falls}.1.out" in files,
        "WorkingDirectory": where == "/var/tmp",
        "ProcsPerNode": sorted(nodes.count(one) for one in set(nodes) if one) == [3, 3],
        "OutputPath": set(ours) <= set(files),
        "OutputRead": text(fell) == ["execution 0", ""],
        "OutputFollow": (fell["stopped"], fell["state"]) == ("ended", "NODE_FAIL"),
        "OutputRetained": {one.split(".")[0] for one in files} == {placed, falls, deaf, gated},
    }  # fmt: skip
    found = answers(story)["capabilities"]
    assert {one["name"]: one["support"] for one in found} == {
        name: "yes" if done else "no" for name, done in seen.items()
    }
    reasons = {one["name"]: one["reason"] for one in found}
    assert reasons["PreTerminationSignal"] == (
        f"SIGTERM, then SIGKILL after KillWait {KILL_WAIT} sec"
    )


def test_where_a_job_is_sent(story: Mapping[str, Result]) -> None:
    """Partition, account and QOS as they were given, or the user's own."""
    assert story["gated runs"]["stdout_lines"] == ["small night night", "small science normal"]


def test_interfaces(story: Mapping[str, Result]) -> None:
    requeued = rows(story["requeued"])[id_of(story, "gated")]
    [execution] = story["ceased"]["executions"]
    found = {one["job_id"] for one in story["many"]["jobs"]}
    jobs = {id_of(story, name) for name in ("placed", "falls", "deaf")}
    seen = {
        "Holder": waits_for_us(story),
        "Requeuer": (requeued["RestartCnt"], requeued["Requeue"]) == ("1", "0"),
        "CessationSignal": (execution["lost"], execution["ceased"]) == ("yes", "yes"),
        "OutputReader": text(story["fell"]) == ["execution 0", ""],
        "MultiFinder": (found, story["files"]["stdout_lines"][0]) == (jobs, "1"),
    }
    offered = {one["name"]: one["offered"] for one in answers(story)["interfaces"]}
    assert offered == {name: "yes" if done else "no" for name, done in seen.items()}


def test_rules(story: Mapping[str, Result]) -> None:
    again = id_of(story, "resubmit") != id_of(story, "falls")
    seen = {
        "Resubmit": again,
        "Escalate": again,
        "Restart": not not_restarted(story),
        "Requeue": not not_restarted(story),
        "Hold": waits_for_us(story),
    }
    found = {one["action"]: (one["support"], one["reason"]) for one in answers(story)["rules"]}
    assert found.pop("Paint") == ("unknown", "action Paint")
    assert {name: support for name, (support, _reason) in found.items()} == {
        name: "yes" if done else "no" for name, done in seen.items()
    }


def test_declarations(story: Mapping[str, Result]) -> None:
    found = answers(story)
    skew = max(0, found["probe"]["skew"])
    assert found["declarations"] == {
        "node_loss_window": 2 * SLURMD_TIMEOUT + 60,
        "call_bound": 5 + CREDENTIAL + skew + MESSAGE_TIMEOUT + 1,
        "polled_loss": {
            "state": MIN_JOB_AGE,
            "cause": MIN_JOB_AGE,
            "exit_code": MIN_JOB_AGE,
            "execution": "unbounded",
        },
        "shortest_bounded_window": MIN_JOB_AGE,
    }


# Submissions and reads that meet a fault

LUA = "/etc/slurm/job_submit.lua"
#: The plug-in is read anew when its time in whole seconds is another one.
REFUSE = f"""
cp --preserve=mode {LUA} {LUA}.kept
sed -i '0,/return slurm.SUCCESS/s//slurm.log_user("not on fridays") return slurm.ERROR/' {LUA}
sleep 1.1
"""
ALLOW = f"cp --preserve=mode {LUA}.kept {LUA}; sleep 1.1"
#: Holds are refused, and nothing else.
MEDDLE = (
    "sed -i '/slurm_job_modify/,$ s/return slurm.SUCCESS/if job_desc.begin_time > 4100000000 and"
    f" job_desc.begin_time < 4200000000 then return slurm.ERROR end &/' {LUA}; sleep 1.1"
)
#: slurmctld's clock is a minute ahead of this host's.
AHEAD = (
    "slurm-service stop slurmctld; cd /; env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin"
    " faketime -f +60 slurmctld; until scontrol ping | grep -q 'is UP'; do sleep 0.2; done"
)
FULL = "/dev/shm/full"
FILL = f"dd if=/dev/zero of={FULL}/filler bs=64k 2>/dev/null; df --output=avail {FULL} | tail -1"
#: What is written does not fit, and the script says so with its status.
WRITES = "#!/bin/sh\necho something || exit 28\n"
DATABASE_BACK = "slurm-service start slurmdbd; until sacct -n > /dev/null; do sleep 0.3; done"


def named(name: str, columns: str = "%i") -> Task:
    """What raw squeue shows of the jobs of a name."""
    return shell(f"squeue -h -t all -n {name} -o '{columns}'")


def faults(tag: str, gone: str) -> dict[str, Task]:
    """The tasks, by what is asked of their results; ``gone`` is a job that slurmctld forgot."""
    ahead, lua, full, late, lost = (f"{tag}-{word}" for word in "ahead lua full late lost".split())
    waits = submit(late, output_dir=FULL, gate=True, script=WRITES)
    return {
        "clock": shell(AHEAD),
        "ahead": {**submit(ahead), "register": "ahead"},
        "ahead again": submit(ahead),
        "refusing": shell(REFUSE),
        "refused": submit(lua),
        "refused in the queue": named(lua),
        "allowing": shell(ALLOW),
        "allowed": submit(lua),
        "allowed again": submit(lua),
        "waits": {**waits, "register": "waits"},
        "fill": shell(FILL, ME),
        "full": submit(full, output_dir=FULL),
        "full in the queue": shell(
            f"squeue -h -t all -n {full} -o %i; scontrol release jobname={late}"
        ),
        "wrote": output("{{ waits.job_id }}", output_dir=FULL),
        "wrote in the queue": named(late, "%T"),
        "cause": read("job_info", jobs=["{{ waits.job_id }}"]),
        "room": shell(f"rm {FULL}/filler", ME),
        "not full": submit(full, output_dir=FULL),
        "meddling": shell(MEDDLE),
        "no holds": preflight(ME, probe="always"),
        "runs": {**submit(f"{tag}-runs", script=FALLS), "register": "runs"},
        "running": shell(
            f"until squeue -h -t R -n {tag}-runs | grep -q .; do sleep 0.2; done; {ALLOW}"
        ),
        "no hold": write("job_hold", ME, jobs=["{{ runs.job_id }}"], instance=7),
        "requeue": write("job_requeue", ME, jobs=["{{ runs.job_id }}"], restarts=0),
        "requeued": look("{{ runs.job_id }}"),
        "cancel": write("job_cancel", ME, jobs=["{{ runs.job_id }}"]),
        "forgets": shell(
            f'until test -z "$(squeue -h -t all -n {ahead})"; do sleep 0.5; done;'
            f" rm -rf {place(ME)['state_dir']}"
        ),
        "ahead in accounting": submit(ahead),
        "right": shell("slurm-service restart slurmctld; slurm-service pause slurmdbd"),
        "slow": submit(lost, command_timeout=3),
        "slow past": read("job_info", jobs=[gone], command_timeout=3),
        "down": shell("slurm-service continue slurmdbd; slurm-service stop slurmdbd"),
        "no accounting": submit(lost),
        "no past": read("job_info", jobs=[gone]),
        "lost in the queue": named(lost),
        "back": shell(DATABASE_BACK),
        "submitted": submit(lost),
        "past": read("job_info", jobs=[gone]),
        "one in the queue": named(lost),
    }


@pytest.fixture(scope="module")
def met(own: Cluster, story: Mapping[str, Result]) -> Mapping[str, Result]:
    """What came of it."""
    tasks = faults(f"met-{fresh()}", id_of(story, "placed"))
    assert own.sh(["mkdir", FULL], user=ME).status == 0
    try:
        return dict(zip(tasks, play(own, *tasks.values()), strict=True))
    finally:
        own.sh(["rm", "-rf", FULL])


def nothing_sent(result: Result, outcome: str, text: str) -> None:
    """A submission that failed before or by slurmctld's own refusal."""
    told(result, changed=False, failed=True)
    assert said(result, outcome)
    assert text in result["msg"]


def test_a_plugin_refuses(met: Mapping[str, Result]) -> None:
    """slurmctld's refusal, with the site's words; the attempt can be made later, once."""
    nothing_sent(met["refused"], "rejected", "not on fridays")
    assert met["refused in the queue"]["stdout"] == ""
    told(met["allowed"], changed=True)
    told(met["allowed again"], changed=False)
    assert met["allowed again"]["job_id"] == met["allowed"]["job_id"]


def test_a_full_disk(met: Mapping[str, Result]) -> None:
    """Nothing is submitted there. A job that meets it later has failed, and wrote nothing."""
    assert met["fill"]["stdout"].strip() == "0"
    nothing_sent(met["full"], "not_run", f"the disk of output_dir {FULL} is full")
    assert met["full in the queue"]["stdout"] == ""
    wrote, [job] = met["wrote"], met["cause"]["jobs"]
    assert [(one["state"], one["size"]) for one in wrote["parts"]] == [("empty", 0)] * 2
    assert (wrote["state"], met["wrote in the queue"]["stdout"]) == ("FAILED", "FAILED")
    assert (job["cause"], job["exit_code"]) == ("failed", {"status": 28, "signal": 0})
    told(met["not full"], changed=True)


def test_where_holds_do_not_work(met: Mapping[str, Result]) -> None:
    """Hold and Holder are no; what does not need them is as it was."""
    found = answers(met, "no holds")
    [hold] = (one for one in found["capabilities"] if one["name"] == "Hold")
    assert (hold["support"], hold["reason"][:29]) == ("no", "placing hold 1 on the probe: ")
    offered = {one["name"]: one["offered"] for one in found["interfaces"]}
    assert (offered["Holder"], offered["Requeuer"]) == ("no", "yes")
    job = id_of(met, "runs")
    told(met["no hold"], changed=False, failed=True)
    assert said(met["no hold"], "unsupported")
    assert hold["reason"] in met["no hold"]["msg"]
    told(met["requeue"], changed=True)
    assert column(met["requeued"], "RestartCnt") == {job: "1"}
    told(met["cancel"], changed=True)


def test_accounting_is_away(met: Mapping[str, Result]) -> None:
    """Whether a job was submitted before is not known, nor what became of another one."""
    for name, why in (("slow", "no answer within"), ("no accounting", "Problem talking to")):
        nothing_sent(met[name], "unknown", "accounting does not tell (Could not read accounting: ")
        assert why in met[name]["msg"]
    assert met["lost in the queue"]["stdout"] == ""
    [known] = met["past"]["jobs"]
    assert (known["source"], known["cause"]) == ("accounting", "completed")
    for name in ("slow past", "no past"):
        read_ = met[name]
        assert (read_["jobs"], read_["missing"]) == ([], [])
        assert read_["doubtful"] == [known["job_id"]]
        assert read_["reasons"][known["job_id"]].startswith("Could not read accounting: ")
    told(met["submitted"], changed=True)
    assert met["one in the queue"]["stdout"] == met["submitted"]["job_id"]


def test_clocks_that_differ(met: Mapping[str, Result]) -> None:
    """The job is known again in the queue, and in accounting when slurmctld has forgotten it."""
    told(met["ahead"], changed=True)
    for name, where in (("ahead again", "queue"), ("ahead in accounting", "accounting")):
        told(met[name], changed=False)
        assert met[name]["results"][0]["known_from"] == where
        assert met[name]["job_id"] == met["ahead"]["job_id"]

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A job's whole life, as a supervisor drives it, on every release and with auth/slurm.

One play from the submission until slurmctld has forgotten the job, and the same play again. The
truth is what raw squeue, sacct and the files on the cluster show.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.integration.conftest import Cluster
from ansible_collections.hpcops.slurm.tests.integration.write_plays import (
    BASE,
    Result,
    Task,
    as_user,
    forget,
    look,
    outcomes,
    place,
    play,
    preflight,
    rows,
    told,
    write,
)

KINDS = pytest.mark.variants(
    "bookworm-munge", "trixie-munge", "forky-munge", "trixie-slurm", "forky-slurm"
)
ME = "user1"
JOB = "{{ submitted.job_id }}"
OUTPUT = f"/home/{ME}/life"
#: More than MinJobAge, and the time that slurmctld takes to look for jobs that are that old.
FORGOTTEN = 180

SCRIPT = """\
#!/bin/sh
echo "execution $DISPATCH_EXECUTION of $DISPATCH_SUBMISSION attempt $DISPATCH_ATTEMPT"
echo "complaint $DISPATCH_EXECUTION" >&2
sleep 600
"""


def until(command: str, condition: str, limit: int = 200) -> Task:
    """A task that asks Slurm by a raw command until it shows something."""
    return {
        "ansible.builtin.shell": {"cmd": command},
        "changed_when": False,
        "register": "asked",
        "until": condition,
        "failed_when": f"not ({condition})",
        "retries": limit,
        "delay": 1,
    }


def runs(restarts: int) -> Task:
    """A task that waits until the execution runs and has written something."""
    return until(
        f"squeue -h -j {JOB} -o %T; cat {OUTPUT}/{JOB}.{restarts}.err",
        f"asked.stdout == 'RUNNING\\ncomplaint {restarts}'",
    )


def read(name: str, **options: Any) -> Task:
    """A task that reads something about the job."""
    return as_user(ME, {f"hpcops.slurm.{name}": {**options}})


def life(submission: str) -> dict[str, Task]:
    """The tasks, by what is asked of their results."""
    cache = {"cache_path": place(ME)["cache_path"]}
    common = {"submission": submission, "output_dir": OUTPUT, "script": SCRIPT, "gate": True}
    submit = write("job_submit", ME, **common)
    resubmit = write("job_submit", ME, attempt=2, **common)
    state = f"squeue -h -j {JOB} -o %T"
    now = f"scontrol update JobId={JOB} StartTime=now"
    return {
        "submit": {**submit, "register": "submitted"},
        "hold": write("job_hold", ME, jobs=[JOB], instance=1),
        "open": write("job_open", ME, jobs=[JOB]),
        "held": look(JOB),
        "release": write("job_release", ME, jobs=[JOB], instance=1),
        "runs": runs(0),
        "requeue": write("job_requeue", ME, jobs=[JOB], restarts=0),
        # Slurm lets a requeued job wait for two minutes, from when it is pending again.
        "hurry": until(f"{state} | grep -q PENDING && {now}", "asked.rc == 0"),
        "runs again": runs(1),
        "output": read("job_output_info", job_id=JOB, output_dir=OUTPUT),
        "cancel": write("job_cancel", ME, jobs=[JOB], wait=True),
        "known": read("job_info", jobs=[JOB], **cache),
        # What the rules say: an ended job can't be restarted or requeued, only submitted again.
        "restart": as_user(
            ME,
            {
                "ansible.builtin.command": f"scontrol requeue {JOB}",
                "changed_when": False,
                "failed_when": False,
            },
        ),
        "resubmit": {**resubmit, "register": "resubmitted"},
        "cancel again": write("job_cancel", ME, jobs=["{{ resubmitted.job_id }}"]),
        "forgets": until(
            f"scontrol show job {JOB} 2>&1", "'Invalid job id' in asked.stdout", FORGOTTEN
        ),
        "forgotten": read("job_info", jobs=[JOB], **cache),
        "rows": as_user(
            ME,
            {
                "ansible.builtin.shell": {
                    "cmd": f"sacct -nPXD -j {JOB} -o State,Submit,Start,End; cat {OUTPUT}/{JOB}.*"
                },
                "changed_when": False,
            },
        ),
    }


#: The tasks that change the job, in their order.
WRITES = ("submit", "hold", "open", "release", "requeue", "cancel")
#: What needs a job that lives, or that slurmctld shows.
LIVING = ("held", "runs", "hurry", "runs again", "restart", "forgets")


def lived(cluster: Cluster, tasks: dict[str, Task]) -> dict[str, Result]:
    """Run the tasks; their results."""
    return dict(zip(tasks, play(cluster, *tasks.values()), strict=True))


@KINDS
def test_a_jobs_whole_life(cluster: Cluster) -> None:
    submission = f"a job's life; \u201c{time.time_ns()}\u201d"
    assert cluster.sh(["sh", "-c", f"rm -rf {OUTPUT}; mkdir {OUTPUT}"], user=ME).status == 0
    try:
        told(play(cluster, preflight(ME, probe="always"))[0], changed=True)
        first = lived(cluster, life(submission))
        for name in ("runs", "runs again", "forgets"):
            told(first[name], changed=False)
        for name in (*WRITES, "resubmit", "cancel again"):
            told(first[name], changed=True)
        job, other = first["submit"]["job_id"], first["resubmit"]["job_id"]
        assert job != other
        assert first["restart"]["rc"] == 1
        assert "Requested operation is presently disabled" in first["restart"]["stderr"]
        held = rows(first["held"])[job]
        assert (held["EligibleTime"], held["PriorityLong"] == "0") == (str(BASE + 1), False)
        assert written(first["output"], "stdout") == {
            number: f"execution {number} of {submission} attempt 1\n" for number in (0, 1)
        }
        assert written(first["output"], "stderr") == {
            number: f"complaint {number}\n" for number in (0, 1)
        }
        ended(first["known"], "slurmctld")
        ended(first["forgotten"], "accounting")
        raw = first["rows"]["stdout_lines"]
        assert [line.partition("|")[0].partition(" ")[0] for line in raw[:2]] == [
            "REQUEUED",
            "CANCELLED",
        ]

        tasks = {name: task for name, task in life(submission).items() if name not in LIVING}
        second = lived(cluster, tasks)
        assert [name for name, result in second.items() if result["changed"]] == []
        for name, same in (("submit", job), ("resubmit", other)):
            told(second[name], changed=False)
            assert second[name]["job_id"] == same
        for name in WRITES[1:]:
            assert outcomes(second[name]) == {job: "not_found"}
        ended(second["forgotten"], "accounting")
        assert second["rows"]["stdout"] == first["rows"]["stdout"]
        assert written(second["output"], "stdout") == written(first["output"], "stdout")
    finally:
        cluster.sh(["sh", "-c", f"scancel -u {ME}; rm -rf {OUTPUT}"], user=ME)
        forget(cluster, ME)


def written(result: Result, stream: str) -> dict[int, str]:
    """What each execution wrote, as the module returned it."""
    assert not result["failed"], result
    assert (result["complete"], result["ended"]) != (False, "yes"), result
    return {one["execution"]: one["text"] for one in result["parts"] if one["stream"] == stream}


def ended(result: Result, source: str) -> None:
    """Both executions, and how they ended."""
    [job] = result["jobs"]
    assert (job["source"], job["coarse_state"], job["cause"]) == (source, "ended", "cancelled")
    assert job["submission"].startswith("a job's life")
    assert job["attempt"] == 1
    [earlier] = job["earlier_executions"]
    assert (earlier["coarse_state"], earlier["cause"]) == ("ended", "requeued")

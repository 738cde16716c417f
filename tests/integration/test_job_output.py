# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading what jobs of real Slurm have written."""

from __future__ import annotations

import base64
import os
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.integration.conftest import Cluster
from ansible_collections.hpcops.slurm.tests.integration.write_plays import (
    Result,
    Task,
    as_user,
    forget,
    home,
    place,
    play,
    preflight,
    shell,
    told,
    write,
)

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox's containers are root's"),
    pytest.mark.variants("bookworm-munge", "trixie-munge", "forky-munge"),
]

USER = "user1"
OUT = f"{home(USER)}/output-test"

#: Bytes that are no text in the first execution; the second one ends by itself.
SCRIPT = r"""#!/bin/sh
printf 'execution %s \377\000\n' "$DISPATCH_EXECUTION"
echo "attempt $DISPATCH_ATTEMPT of $DISPATCH_SUBMISSION" >&2
if [ "$DISPATCH_EXECUTION" = 0 ]; then exec sleep 600; fi
printf 'caf\303\251\n'
sleep 3
echo end
"""


def submit(submission: str, **options: Any) -> Task:
    """Submit a job whose output lies in the tests' directory."""
    more = {"output_dir": OUT, "ttl": 30, "ntasks": 1, **options}
    return write("job_submit", USER, submission=submission, **more)


def output(submission: str = "", **options: Any) -> Task:
    """Read output."""
    given = {"submission": submission} if submission else {}
    arguments = {"state_dir": place(USER)["state_dir"], **given, **options}
    return as_user(USER, {"hpcops.slurm.job_output_info": arguments})


def await_file(name: str) -> Task:
    """Wait until something stands in a file of the job of that name."""
    find = f"$(squeue -h -t all -n {name} -o %i)"
    return shell(
        f"for i in $(seq 200); do test -s {OUT}/{find}.0.err && exit; sleep 0.3; done", USER
    )


def data(result: Result, stream: str) -> list[tuple[int | None, str, bytes]]:
    """Execution, state and bytes of each part of a stream."""
    return [
        (one["execution"], one["state"], base64.b64decode(one["base64"]))
        for one in result["parts"]
        if one["stream"] == stream
    ]


@pytest.fixture(scope="module")
def ready(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster where the user may submit."""
    assert cluster.sh(["mkdir", "-p", OUT], user=USER).status == 0
    [probed] = play(cluster, preflight(USER))
    assert not probed["failed"], probed
    yield cluster
    cluster.sh(["scancel", "--user", USER])
    cluster.sh(["rm", "-rf", OUT])
    forget(cluster, USER)


def requeued(name: str) -> Task:
    """Requeue by hand, and let the job start at once instead of in two minutes.

    The two minutes begin when it has completed: what is said before is lost.
    """
    return shell(
        f"id=$(squeue -h -t all -n {name} -o %i) && scontrol update JobId=$id Requeue=1 &&"
        " scontrol requeue $id && until squeue -h -j $id -o %T | grep -q PENDING; do sleep 0.2;"
        " done; scontrol update JobId=$id StartTime=now"
    )


def test_executions_in_turn(ready: Cluster) -> None:
    """Both executions' files after a requeue, followed to the end, and what Slurm said."""
    name = f"out-{uuid.uuid4().hex[:8]}"
    streams = ["stdout", "stderr", "slurm"]
    results = play(
        ready,
        submit(name, script=SCRIPT, name=name),
        await_file(name),
        output(name),
        {**output(name), "check_mode": True},
        requeued(name),
        output(name, follow=True, follow_limit=200, streams=streams),
        output(name, max_bytes=5),
        output(name, streams=["stdout"], offsets={"stdout": {"execution": 1, "offset": 12}}),
        shell(f"ls {OUT}", USER),
        output(name, offsets={"stdout": {"execution": 1, "offset": 999}}),
    )
    made, _wait, first, checked, _requeue, followed, short, part, raw, beyond = results
    told(made, changed=True)
    job = made["job_id"]

    told(first, changed=False)
    one = b"execution 0 \xff\x00\n"
    said = f"attempt 1 of {name}\n".encode()
    assert data(first, "stdout") == [(0, "read", one)]
    assert data(first, "stderr") == [(0, "read", said)]
    assert (first["ended"], first["complete"], first["state"]) == ("no", True, "RUNNING")
    assert [part["text"] for part in first["parts"]] == [None, said.decode()]
    assert checked["parts"] == first["parts"]

    told(followed, changed=False)
    other = b"execution 1 \xff\x00\ncaf\xc3\xa9\nend\n"
    assert data(followed, "stdout") == [(0, "read", one), (1, "read", other)]
    assert data(followed, "stderr") == [(0, "read", said), (1, "read", said)]
    [(execution, _state, words)] = data(followed, "slurm")
    assert execution is None
    assert b"CANCELLED AT" in words
    assert b"REQUEUE" in words
    assert (followed["stopped"], followed["ended"], followed["state"]) == (
        "ended", "yes", "COMPLETED"
    )  # fmt: skip

    assert (data(short, "stdout"), data(short, "stderr")[0][1:]) == (
        [(0, "read", one[:5])], ("unread", b"")
    )  # fmt: skip
    assert short["complete"] is False
    assert short["next"]["stdout"] == {"execution": 0, "offset": 5}
    assert data(part, "stdout") == [(1, "read", other[12:])]
    assert part["next"] == {"stdout": {"execution": 1, "offset": len(other)}}
    assert raw["stdout"].split() == [
        f"{job}.0.err", f"{job}.0.out", f"{job}.1.err", f"{job}.1.out", f"{job}.slurm"
    ]  # fmt: skip
    told(beyond, changed=False, failed=True)
    assert "fewer than were read before" in beyond["msg"]


def test_missing_empty_and_unreadable(ready: Cluster) -> None:
    """A directory that went away between submission and start: Slurm fails the job, with a signal
    53 and no word that is kept. Newer releases make the directory anew, where they may.
    """
    name, quiet = (f"{kind}-{uuid.uuid4().hex[:8]}" for kind in ("gone", "quiet"))
    closed_dir = f"{OUT}/{name}/out"
    ids = f"$(squeue -h -t all -n {name} -o %i)"
    results = play(
        ready,
        shell(f"mkdir -p {closed_dir}", USER),
        submit(name, command=["true"], name=name, gate=True, output_dir=closed_dir),
        output(name),
        shell(f"cd {OUT} && rmdir {name}/out && chmod 500 {name} && scontrol release {ids}", USER),
        output(name, follow=True, follow_limit=200),
        shell(f"squeue -h -t all -n {name} -O 'State:|,exit_code:|'", USER),
        submit(quiet, command=["true"], name=quiet),
        output(quiet, follow=True, follow_limit=200),
        shell(f"chmod 0 {OUT}/$(squeue -h -t all -n {quiet} -o %i).0.out", USER),
        output(quiet),
        output(f"{name}-other"),
        output(job_id="1"),
        output(job_id="x", output_dir=OUT),
    )
    _dir, gated, waiting, _go, lost, raw = results[:6]
    told(gated, changed=True)
    assert [one["state"] for one in waiting["parts"]] == ["missing", "missing"]
    assert (waiting["ended"], waiting["state"]) == ("no", "PENDING")
    told(lost, changed=False)
    assert (lost["stopped"], lost["state"]) == ("ended", "FAILED")
    assert {(one["state"], one["reason"]) for one in lost["parts"]} == {
        ("missing", f"there is no directory {closed_dir} on this host")
    }
    # 22.05 shows the raw status, whose lowest seven bits are the signal.
    assert raw["stdout"] in ("FAILED|0:53|", f"FAILED|{0xF00 | 0x80 | 53}|"), raw
    made, empty, _chmod, closed, stranger, no_dir, no_id = results[6:]
    told(made, changed=True)
    assert [(one["state"], one["size"]) for one in empty["parts"]] == [("empty", 0)] * 2
    assert (empty["state"], empty["stopped"]) == ("COMPLETED", "ended")
    told(closed, changed=False, failed=True)
    assert [one["state"] for one in closed["parts"]] == ["unreadable", "empty"]
    assert "Permission denied" in closed["msg"]
    for result, text in (
        (stranger, f"submission {name}-other attempt 1 is no job of user1"),
        (no_dir, "give output_dir with job_id"),
        (no_id, "job_id is no number of a job"),
    ):
        told(result, changed=False, failed=True)
        assert text in result["msg"]

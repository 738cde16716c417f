# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's reads of jobs against real releases: what it asks for, and what it makes of it.

The truth is what was submitted, and what scontrol and a bare squeue say.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import PINNED
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    Reply,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hold import HoldKind, encode_hold
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import require_job_ids
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import (
    FIELDS,
    JobLookup,
    JobRecord,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.sacct import Accounting, History
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.shapes import Shape
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import (
    Selection,
    read_jobs,
    read_queue,
)
from ansible_collections.hpcops.slurm.tests.integration.conftest import Cluster
from ansible_collections.hpcops.slurm.tests.integration.write_plays import wait_for

OWNER = "user1"
NEVER = "67043327"
ODD_NAMES = [
    "night run 2",
    "a|b~c^d",
    "x\nJobState=RUNNING\n12|RUNNING|",
    "~abc^abc\n~abc^abc\n",
    "slurm_load_jobs error: Invalid job id specified\n",
    "Größe→☃",
    "tab\tand\x1besc[31m\x1e\x1f",
    "  blanks around  ",
    "%s %n 100% {{ 7*7 }} $(id) `id`",
]


class Jobs:
    """Jobs on one cluster, cancelled at the end."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.ids: list[str] = []

    def submit(self, *options: str, script: str = "sleep 600", gate: bool = True) -> str:
        """Submit a job, held unless said; returns its number."""
        held = ["--hold"] if gate else []
        argv = ["sbatch", "--parsable", "-n1", "--mem=10", "-o", "/dev/null", *held, *options]
        reply = self.cluster.sh([*argv, "--wrap", script], user=OWNER)
        number = reply.text.partition(";")[0]
        self.ids.append(number)
        return number

    def run(self, program: str, *arguments: str) -> Reply:
        """The engine's way to run a command: in the environment that it would make."""
        pinned = [f"{name}={value}" for name, value in PINNED.items()]
        reply = self.cluster.sh(["env", *pinned, program, *arguments])
        return Reply((program, *arguments), reply.status, reply.stdout, reply.stderr)

    def read(self, *ids: str, extra: Sequence[str] = ()) -> dict[str, JobLookup]:
        """What the engine reads from the controller."""
        return read_jobs(self.run, require_job_ids(ids), extra)

    def record(self, job_id: str) -> JobRecord:
        """The engine's one record of an id."""
        record = self.read(job_id)[job_id].record
        assert record is not None
        return record

    def histories(self, *ids: str) -> dict[str, History]:
        """What the engine reads from accounting."""
        return Accounting(self.run).histories(require_job_ids(ids))

    def scontrol(self, *arguments: str, user: str = "root") -> None:
        """Change a job; the call has to succeed."""
        assert self.cluster.sh(["scontrol", *arguments], user=user).text == ""

    def shown(self, job_id: str) -> dict[str, str]:
        """``scontrol show job`` of a job whose name and comment are plain, times as epoch."""
        argv = ["env", "SLURM_TIME_FORMAT=%s", "scontrol", "show", "job", job_id]
        return dict(re.findall(r"(\S+?)=(\S*)", self.cluster.sh(argv).text))

    def await_state(self, job_id: str, *states: str) -> None:
        """Wait until scontrol shows one of the states."""
        wait_for(lambda: self.shown(job_id)["JobState"] in states)


@pytest.fixture
def jobs(cluster: Cluster) -> Iterator[Jobs]:
    """Jobs that are gone after the test."""
    made = Jobs(cluster)
    yield made
    if made.ids:
        cluster.sh(["scancel", *made.ids])


@pytest.fixture
def accounted(jobs: Jobs) -> Jobs:
    """Jobs on a cluster with accounting."""
    text = jobs.cluster.sh(["scontrol", "show", "config"]).text
    kind = re.search(r"AccountingStorageType\s*= (\S+)", text)
    assert kind is not None
    if kind.group(1) in ("(null)", "accounting_storage/none"):
        pytest.skip("the cluster has no accounting")
    return jobs


# The controller's view


def test_names_and_comments_come_through(jobs: Jobs) -> None:
    made = {jobs.submit("--job-name", name, "--comment", name): name for name in ODD_NAMES}
    found = jobs.read(*made, NEVER)
    for number, name in made.items():
        record = found[number].record
        assert record is not None
        # sbatch takes the blanks around a name away on no release; what it keeps is what it got.
        assert (record.name, record.comment) == (name, name)
        assert (record.state.word, record.gate, record.hold_kind) == (
            "PENDING",
            Answer.YES,
            HoldKind.USER,
        )
    assert found[NEVER].known is Answer.NO


def test_names_that_are_not_utf8_come_through(jobs: Jobs) -> None:
    # Made inside the cluster: podman hands nothing but UTF-8 through.
    script = (
        "sbatch --parsable --hold -n1 --mem=10 -o /dev/null --wrap true"
        " --job-name=\"$(printf 'caf\\351')\" --comment=\"$(printf '\\377\\376')\""
    )
    number = jobs.cluster.sh(["bash", "-c", script], user=OWNER).text.partition(";")[0]
    jobs.ids.append(number)
    record = jobs.record(number)
    assert record.name.encode("utf-8", "surrogateescape") == b"caf\xe9"
    assert (record.comment or "").encode("utf-8", "surrogateescape") == b"\xff\xfe"
    read = Shape(("name",), lambda _end: Answer.UNKNOWN).reader(FIELDS)
    assert "caf\\xe9" in read(record.row)


def test_records_are_what_scontrol_shows(jobs: Jobs) -> None:
    number = jobs.submit("--job-name=plain", "--no-requeue", "-t", "1:30:00", "--nice=50")
    jobs.scontrol("update", f"JobId={number}", "StartTime=" + encode_hold(7))
    record, shown = jobs.record(number), jobs.shown(number)
    assert str(record.job_id) == shown["JobId"]
    assert record.state.raw == shown["JobState"]
    assert record.reason == shown["Reason"]
    assert str(record.eligible_time) == shown["EligibleTime"] == "4102444807"
    assert str(record.submit_time) == shown["SubmitTime"]
    assert str(record.priority) == shown["Priority"] == "0"
    assert str(record.restarts) == shown["Restarts"]
    assert str(record.nice) == shown["Nice"] == "50"
    assert record.requeue is {"0": Answer.NO, "1": Answer.YES}[shown["Requeue"]] is Answer.NO
    assert record.batch is {"0": Answer.NO, "1": Answer.YES}[shown["BatchFlag"]] is Answer.YES
    assert shown["TimeLimit"] == "01:30:00"
    assert record.time_limit == 5400
    assert record.user == shown["UserId"].partition("(")[0] == OWNER
    assert record.partition == shown["Partition"]
    assert record.account == shown["Account"].replace("(null)", "")
    assert record.comment is None
    assert (record.hold_instance, record.gate) == (7, Answer.YES)


def test_extra_fields(jobs: Jobs) -> None:
    number = jobs.submit("-D", "/tmp", "-o", "/tmp/out-%j file")
    record = jobs.read(number, extra=("WorkDir", "StdOut"))[number].record
    assert record is not None
    assert record.extra["WorkDir"] == jobs.shown(number)["WorkDir"] == "/tmp"
    assert record.extra["StdOut"].startswith("/tmp/out-")
    with pytest.raises(SlurmError) as raised:
        jobs.read(number, extra=("NoSuchField",))
    assert "NoSuchField" in raised.value.message


def test_gate_and_hold_are_apart(jobs: Jobs) -> None:
    user, admin, both = (jobs.submit() for _time in range(3))
    jobs.scontrol("hold", admin)
    jobs.scontrol("update", f"JobId={both}", "StartTime=" + encode_hold(999999999))
    begin = jobs.submit("--begin=now+3600", gate=False)
    far = jobs.submit("--begin=now+3600", gate=False)
    jobs.scontrol("update", f"JobId={far}", "StartTime=" + encode_hold(1), user=OWNER)
    found = jobs.read(user, admin, both, begin, far)
    records = {number: lookup.record for number, lookup in found.items()}
    seen = {
        number: (record.gate.value, record.hold_kind, record.hold_instance)
        for number, record in records.items()
        if record is not None
    }
    assert seen == {
        user: ("yes", HoldKind.USER, None),
        admin: ("yes", HoldKind.ADMIN, None),
        both: ("yes", HoldKind.USER, 999999999),
        begin: ("no", None, None),
        far: ("no", None, 1),
    }


def test_ids_that_nobody_knows(jobs: Jobs) -> None:
    known = jobs.submit()
    for asked in ([NEVER], [NEVER, "67043326"], [NEVER, known], [NEVER + "_4"], [NEVER + "+1"]):
        found = jobs.read(*asked)
        for job_id, lookup in found.items():
            expected = Answer.YES if job_id == known else Answer.NO
            assert (lookup.known, lookup.succeeded) == (expected, Answer.UNKNOWN)
    assert jobs.read("2147483647")["2147483647"].known is Answer.NO


def test_states(jobs: Jobs) -> None:
    running = jobs.submit(gate=False)
    done = jobs.submit(gate=False, script="exit 0")
    failed = jobs.submit(gate=False, script="exit 3")
    cancelled = jobs.submit()
    jobs.cluster.sh(["scancel", cancelled])
    jobs.await_state(running, "RUNNING")
    jobs.await_state(done, "COMPLETED")
    jobs.await_state(failed, "FAILED")
    found = jobs.read(running, done, failed, cancelled)
    assert {
        number: (lookup.live.value, lookup.succeeded.value) for number, lookup in found.items()
    } == {
        running: ("yes", "unknown"),
        done: ("no", "yes"),
        failed: ("no", "no"),
        cancelled: ("no", "no"),
    }
    for number, lookup in found.items():
        assert lookup.record is not None
        assert lookup.record.state.raw == jobs.shown(number)["JobState"]
        exits = lookup.record.exit_code
        # It is "unknown" otherwise, and fails the test.
        assert f"{exits.status}:{exits.signal}" == jobs.shown(number)["ExitCode"]  # type: ignore[union-attr]
    record = found[running].record
    assert record is not None
    assert record.nodes == (jobs.shown(running)["NodeList"],)
    jobs.scontrol("suspend", running)
    assert jobs.record(running).state.word == jobs.shown(running)["JobState"] == "SUSPENDED"
    assert jobs.record(running).gate is Answer.NO


def test_tasks_of_an_array(jobs: Jobs) -> None:
    # Gaps without a pattern: a list that the default width of 64 characters would cut off.
    tasks = sorted({index * index % 397 for index in range(60)} | {398})
    number = jobs.submit("--array", ",".join(map(str, tasks)) + "%7")
    jobs.scontrol("update", f"JobId={number}_398", "StartTime=" + encode_hold(4))
    asked = [number, f"{number}_398", f"{number}_{tasks[1]}", f"{number}_[{tasks[0]}-{tasks[2]}]"]
    found = jobs.read(*asked, f"{number}_399", f"{number}_4000000")
    whole = found[number].records
    assert sorted(record.array_task_id or 0 for record in whole) == tasks
    listed = jobs.cluster.sh(["squeue", "-h", "-r", "-j", number, "-o", "%i"]).text.split()
    assert sorted(record.id_text for record in whole) == sorted(listed)
    held = [record for record in whole if record.hold_instance]
    assert [(record.id_text, record.hold_instance) for record in held] == [(asked[1], 4)]
    assert held[0].job_id != int(number)
    split = jobs.record(str(held[0].job_id))
    assert split.id_text == asked[1]
    task = found[asked[2]].record
    assert task is not None
    assert (task.array_task_id, task.job_id) == (tasks[1], int(number))
    assert len(found[asked[3]].records) == 3
    assert found[f"{number}_399"].known is Answer.NO
    assert found[f"{number}_4000000"].known is Answer.NO


def test_components_of_a_het_job(jobs: Jobs) -> None:
    argv = ["sbatch", "--parsable", "--hold", "-o", "/dev/null", "-n1", "--mem=10", ":", "-n1"]
    reply = jobs.cluster.sh([*argv, "--mem=10", "--wrap", "true"], user=OWNER)
    leader = reply.text.partition(";")[0]
    jobs.ids.append(leader)
    component = f"{leader}+1"
    jobs.scontrol("update", f"JobId={component}", "StartTime=" + encode_hold(3))
    found = jobs.read(leader, component, f"{leader}+2")
    assert sorted(record.id_text for record in found[leader].records) == [f"{leader}+0", component]
    assert found[f"{leader}+2"].known is Answer.NO
    record = found[component].record
    assert record is not None
    assert record.hold_instance == 3
    assert jobs.record(str(record.job_id)).id_text == component


def test_hundreds_of_jobs(jobs: Jobs) -> None:
    script = (
        "for i in $(seq 300); do"
        ' sbatch --parsable --hold -n1 --mem=10 -o /dev/null -J "many $i" --wrap true; done'
    )
    made = jobs.cluster.sh(["bash", "-c", script], user=OWNER).text.split()
    numbers = [line.partition(";")[0] for line in made]
    jobs.ids += numbers
    found = jobs.read(*numbers, NEVER)
    assert len(found) == 301
    assert [lookup.asked.text for lookup in found.values() if lookup.known is Answer.NO] == [NEVER]
    names = [lookup.record.name for lookup in found.values() if lookup.record is not None]
    assert names == [f"many {index}" for index in range(1, 301)]


def test_restart_counts(jobs: Jobs) -> None:
    number = jobs.submit("--requeue", gate=False)
    jobs.await_state(number, "RUNNING")
    jobs.scontrol("requeue", number)
    record = jobs.record(number)
    assert str(record.restarts) == jobs.shown(number)["Restarts"] == "1"
    assert record.hold_instance is None
    wait_for(lambda: jobs.shown(number)["JobState"] == "PENDING")
    record = jobs.record(number)
    assert (record.state.word, record.state.live) == ("PENDING", Answer.YES)
    assert record.gate is Answer.NO


# Selections


def test_selections(jobs: Jobs) -> None:
    mine = jobs.submit("--job-name=Probe,1")
    other = jobs.submit("--job-name=probe,1")
    running = jobs.submit("--job-name=probe,1", gate=False)
    jobs.await_state(running, "RUNNING")

    def chosen(selection: Selection) -> set[str]:
        queue = read_queue(jobs.run, selection)
        assert queue.warnings == ()
        return {record.id_text for record in queue.records} & {mine, other, running}

    assert chosen(Selection(users=(OWNER,))) == {mine, other, running}
    assert chosen(Selection(users=("user2",))) == set()
    assert chosen(Selection(users=(OWNER,), names=("Probe,1",))) == {mine}
    assert chosen(Selection(names=("probe,1",), states=("PENDING",))) == {other}
    assert chosen(Selection(states=("RUNNING",))) == {running}
    assert chosen(Selection(nodes=jobs.shown(running)["NodeList"])) == {running}
    assert chosen(Selection(partitions=(jobs.shown(mine)["Partition"],))) == {mine, other, running}
    assert chosen(Selection(partitions=("nosuch",))) == set()


def test_squeue_ignores_the_case_of_names_and_we_do_not(jobs: Jobs) -> None:
    upper, lower = jobs.submit("--job-name=PROBE"), jobs.submit("--job-name=probe")
    both = jobs.cluster.sh(["squeue", "-h", "--name=probe", "-o", "%A"]).text.split()
    assert {upper, lower} <= set(both)
    queue = read_queue(jobs.run, Selection(names=("probe",)))
    numbers = {record.id_text for record in queue.records}
    assert lower in numbers
    assert upper not in numbers


@pytest.mark.parametrize("selection", [Selection(users=("nosuch",)), Selection(nodes="nosuch")])
def test_what_does_not_exist_is_no_empty_queue(jobs: Jobs, selection: Selection) -> None:
    with pytest.raises(SlurmError) as raised:
        read_queue(jobs.run, selection)
    assert "nosuch" in raised.value.message


# Accounting


def test_executions_of_a_requeued_job(accounted: Jobs) -> None:
    jobs = accounted
    number = jobs.submit("--requeue", gate=False)
    jobs.await_state(number, "RUNNING")
    time.sleep(1.1)  # executions are told apart by whole seconds
    jobs.scontrol("requeue", number)
    wait_for(lambda: jobs.shown(number)["JobState"] == "PENDING")
    jobs.cluster.sh(["scancel", number])

    def latest() -> list[str]:
        return [
            row.state.raw.partition(" ")[0] for row in jobs.histories(number)[number].executions
        ]

    wait_for(lambda: latest() == ["REQUEUED", "CANCELLED"])
    history = jobs.histories(number)[number]
    first, second = history.executions
    assert (first.ended, second.ended) == (Answer.YES, Answer.YES)
    assert (first.restarts, second.restarts) in ((0, 1), (None, None))
    assert second.state.by_uid == 0
    assert (history.live, history.succeeded) == (Answer.NO, Answer.NO)
    assert isinstance(first.start_time, int)
    assert isinstance(second.submit_time, int)
    assert first.start_time <= second.submit_time


def test_comments_and_exits_in_accounting(accounted: Jobs) -> None:
    jobs = accounted
    flags = jobs.cluster.sh(["scontrol", "show", "config"]).text
    kept = "job_comment" in flags
    text = "line1\nline2|~abc^abc\n"
    number = jobs.submit("--comment", text, "--job-name", text, gate=False, script="exit 3")
    jobs.await_state(number, "FAILED")
    wait_for(lambda: jobs.histories(number)[number].live is Answer.NO)
    found = jobs.histories(number, NEVER)
    (row,) = found[number].executions
    # 22.05 can record a job that ends at once under the name "allocation", for a while or for good.
    argv = ["sacct", "-X", "-n", "-P", "-o", "JobName", "-j", number]

    def same_name() -> bool:
        (shown,) = jobs.histories(number)[number].executions
        raw = jobs.cluster.sh(argv)
        return raw.text in (text.strip(), "allocation") and shown.name == raw.stdout.decode()[:-1]

    wait_for(same_name)
    assert row.comment == (text if kept else "")
    # It is "unknown" otherwise, and fails the test.
    assert (row.state.word, row.exit_code.status) == ("FAILED", 3)  # type: ignore[union-attr]
    assert row.nodes == (jobs.shown(number)["NodeList"],)
    assert (row.user, row.restarts) in ((OWNER, 0), (OWNER, None))
    assert found[NEVER].executions == ()


def test_a_job_that_is_held_is_in_the_window(accounted: Jobs) -> None:
    jobs = accounted
    gated, far = jobs.submit(), jobs.submit("--begin=now+3600", gate=False)
    jobs.scontrol("update", f"JobId={far}", "StartTime=" + encode_hold(2))

    def known() -> bool:
        found = jobs.histories(gated, far)
        return all(history.executions for history in found.values())

    wait_for(known)


def test_tasks_in_accounting(accounted: Jobs) -> None:
    jobs = accounted
    number = jobs.submit("--array=1-3,7%2")
    asked = (number, f"{number}_2", f"{number}_7", f"{number}_8")
    # A task that waits with its array leaves no row when it is cancelled: split it off first.
    jobs.scontrol("update", f"JobId={asked[1]}", "StartTime=" + encode_hold(1))
    jobs.cluster.sh(["scancel", asked[1]])

    def cancelled() -> bool:
        rows = jobs.histories(*asked)[asked[1]].executions
        return "CANCELLED" in [row.state.word for row in rows]

    wait_for(cancelled)
    found = jobs.histories(*asked)
    assert [row.state.word for row in found[asked[2]].executions] == ["PENDING"]
    assert found[asked[2]].live is Answer.UNKNOWN
    assert found[asked[3]].executions == ()
    assert len(found[number].executions) == 2


def test_a_waiting_task_that_is_cancelled_is_forgotten(jobs: Jobs) -> None:
    number = jobs.submit("--array=1-3")
    jobs.cluster.sh(["scancel", f"{number}_2"])
    found = jobs.read(number, f"{number}_2")
    assert [record.array_task_id for record in found[number].records] == [1, 3]
    assert (found[f"{number}_2"].known, found[f"{number}_2"].live) == (Answer.NO, Answer.UNKNOWN)


def test_accounting_that_is_off(cluster: Cluster) -> None:
    jobs = Jobs(cluster)
    if cluster.sh(["sacct", "-n"]).status == 0:
        pytest.skip("the cluster has accounting")
    with pytest.raises(SlurmError) as raised:
        jobs.histories(NEVER)
    assert raised.value.failure is FailureClass.ACCOUNTING_DISABLED

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole submissions on a Slurm of our own: nothing twice, and nothing said that is not known."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Detached
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer, Reply
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.batch import Job
from ansible_collections.hpcops.slurm.plugins.module_utils._writes import submissions, submit
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.engine import Bound
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import (
    REMEMBERED,
    Entry,
    Journal,
    needed,
    recorded,
    submitted,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.judge import Proof
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import submit_script
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.sent import judge_submission
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.submit import (
    Step,
    Submit,
    Submitter,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.submit_task import (
    state_of,
    step_from,
)
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._writes.scripts import (
    NONCE,
    SHELLS,
    Bench,
)
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._writes.slurm import (
    CALL_BOUND,
    NOW,
    Clock,
    Killed,
)

MIN_JOB_AGE = 60
PARTITION = (
    "sbatch: error: invalid partition specified: nope\n"
    "sbatch: error: Batch job submission failed: Invalid partition name specified\n"
)
PLUGIN = "sbatch: error: no\nsbatch: error: Batch job submission failed: Unspecified error\n"
AUTHENTICATION = "sbatch: error: Batch job submission failed: Protocol authentication error\n"
SOCKET = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n"


@dataclass
class Fault:
    """What becomes of the next sbatch.

    The job ``lands`` so many seconds after it, or never (None), and the answer is this one.
    """

    status: int = 0
    stderr: str = ""
    lands: float | None = 0.0
    says_id: bool = True
    killed: bool = False


@dataclass
class Slurm:
    """The queue and accounting, with a clock that only the tests move."""

    clock: Clock
    jobs: list[dict[str, str]] = field(default_factory=list)
    past: list[dict[str, str]] = field(default_factory=list)
    kept: bool = True
    sacct_fails: bool = False
    complaint: str = ""
    faults: list[Fault] = field(default_factory=list)
    sent: list[tuple[str, ...]] = field(default_factory=list)
    silent: tuple[float, float] = (0.0, 0.0)
    while_sent: Callable[[], None] = lambda: None
    #: Seconds after its landing after which a job has left the queue.
    leaves: float | None = None
    _due: list[tuple[float, str, str]] = field(default_factory=list)

    def run(self, program: str, *arguments: str, **options: Any) -> Reply:
        """squeue and sacct."""
        argv = (program, *arguments)
        if program == "squeue":
            if self.silent[0] <= self.clock.now < self.silent[1]:
                self.clock.now += 20
                text = (
                    b"slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"
                )
                return Reply(argv, 1, b"", text)
            self._let_land()
            return fakes.Squeue(self.jobs, self.complaint)(*argv)
        assert program == "sacct"
        assert "--user=user1" in argv
        if self.sacct_fails:
            return Reply(argv, 1, b"", b"Slurm accounting storage is disabled\n")
        out = fakes.sacct_text(
            self.past, fakes.option(argv, "--format"), fakes.option(argv, "--delimiter")
        )
        return Reply(argv, 0, out, b"")

    def run_detached(self, argv: tuple[str, ...], patience: float, text_in: str = "") -> Detached:
        """Play the deadline script of an sbatch."""
        _sh, _c, _text, _name, nonce, deadline, *_rest = argv
        assert text_in.startswith("#!")
        self.sent.append(argv)
        self.while_sent()
        if self.clock.now >= int(deadline) - 1:
            return Detached(75, b"", b"\x1eDSL %s call 1 75\n" % nonce.encode())
        fault = self.faults.pop(0) if self.faults else Fault()
        comment = next(one for one in argv if one.startswith("--comment=")).partition("=")[2]
        number = str(10 + len(self.sent))
        if fault.lands is not None:
            self._due.append((self.clock.now + fault.lands, number, comment))
            self._let_land()
        if fault.killed:
            raise Killed
        out = f"{number}\n" if fault.status == 0 and fault.says_id else ""
        said = f"{fault.stderr}\x1eDSL {nonce} call 1 {fault.status}\n"
        return Detached(fault.status, out.encode(), said.encode())

    def _let_land(self) -> None:
        for when, number, comment in [one for one in self._due if one[0] <= self.clock.now]:
            self._due.remove((when, number, comment))
            if self.leaves is None or self.clock.now < when + self.leaves:
                self.jobs.append(fakes.job(number, Comment=comment, Name="a.1"))
            else:
                self._forget(number, comment)

    def _forget(self, number: str, comment: str) -> None:
        kept = comment if self.kept else ""
        self.past.append(fakes.row(number, Comment=kept, JobName="a.1", NodeList="n1"))

    def forget(self) -> None:
        """slurmctld forgets its jobs; accounting has them."""
        for job in self.jobs:
            self._forget(job["JobID"], job["Comment"])
        self.jobs.clear()


@dataclass
class Host:
    """A host from which tasks are carried out as the action plugin does it."""

    slurm: Slurm
    directory: Path
    output: Path
    warnings: list[str] = field(default_factory=list)

    def task(self, rounds: int = 1000, **options: Any) -> dict[str, Any]:
        """The result of a task's last round."""
        known = {"ttl": 60.0, "settle": True, "check": False, "attempt": 1, "trust": False}
        given = {**known, "bound": CALL_BOUND, **options}
        bound = Bound(given["bound"], 0.0)
        directory = given.get("output_dir", str(self.output))
        job = Job("a", given["attempt"], f"a.{given['attempt']}", directory, command=("true",))
        order = Submit(
            job=job,
            text="#!/bin/sh\n",
            user="user1",
            cluster="cl1",
            deadline=self.slurm.clock.now + given["ttl"],
            settle=given["settle"],
            check=given["check"],
            trust_journal=given["trust"],
            kept=Answer.YES if self.slurm.kept else Answer.NO,
            min_job_age=MIN_JOB_AGE,
        )
        step: Step | None = None
        for _round in range(rounds):
            journal = Journal(str(self.directory), read_only=order.check)
            # The fake has what is used of Commands.
            submitter = Submitter(self.slurm, order, bound, journal)  # type: ignore[arg-type]
            step = submitter.first() if step is None else submitter.more(step, 6.0)
            self.warnings += journal.warnings
            if not step.waiting_for:
                break
            if not step.aim:
                self.slurm.clock.now += 2
            state = state_of(step, order, bound)
            step = step_from(json.loads(json.dumps(state)))
        assert step is not None
        return step.result

    def lose_memory(self) -> None:
        """As on another host."""
        (self.directory / "journal.jsonl").unlink(missing_ok=True)


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> Slurm:
    clock = Clock()
    monkeypatch.setattr(submit, "time", clock)
    return Slurm(clock)


@pytest.fixture
def host(slurm: Slurm, tmp_path: Path) -> Host:
    output = tmp_path / "output"
    output.mkdir()
    return Host(slurm, tmp_path / "state", output)


def short(result: dict[str, Any]) -> tuple[str, str | None, str | None]:
    return result["outcome"], result["known_from"], result["job_id"]


def test_check_first_and_second_run(slurm: Slurm, host: Host) -> None:
    predicted = host.task(check=True)
    assert (short(predicted), predicted["changed"]) == (("applied", None, None), True)
    assert (slurm.sent, host.directory.exists()) == ([], False)
    first = host.task()
    assert (short(first), first["changed"]) == (("applied", "sbatch", "11"), True)
    assert first["calls"] == [{"call": "submit", "status": 0}]
    second = host.task()
    assert (short(second), second["changed"]) == (("unchanged", "queue", "11"), False)
    assert short(host.task(check=True)) == short(second)
    assert short(host.task(attempt=2)) == ("applied", "sbatch", "12")
    assert len(slurm.sent) == 2


def test_known_when_slurmctld_forgot(slurm: Slurm, host: Host) -> None:
    host.task()
    slurm.forget()
    assert short(host.task()) == ("unchanged", "journal", "11")
    host.lose_memory()
    assert short(host.task()) == ("unchanged", "accounting", "11")
    assert len(slurm.sent) == 1


@pytest.mark.parametrize("trust", [True, False])
def test_forgotten_where_comments_are_not_kept(slurm: Slurm, host: Host, trust: bool) -> None:
    """The journal knows. Without it, a job of that name is a doubt that nobody can trust away."""
    slurm.kept = False
    assert short(host.task(trust=trust)) == ("applied", "sbatch", "11")
    slurm.forget()
    assert short(host.task(trust=trust)) == ("unchanged", "journal", "11")
    host.lose_memory()
    doubt = host.task(trust=trust)
    assert (short(doubt), doubt["settled"]) == (("unknown", None, None), True)
    assert "job 11 has its name" in doubt["reason"]
    assert len(slurm.sent) == 1


def test_without_accounting(slurm: Slurm, host: Host) -> None:
    slurm.sacct_fails, slurm.kept = True, False
    doubt = host.task()
    assert (short(doubt), slurm.sent) == (("unknown", None, None), [])
    assert "Slurm accounting storage is disabled" in doubt["reason"]
    assert "trust_journal" in doubt["reason"]
    assert short(host.task(trust=True)) == ("applied", "sbatch", "11")
    slurm.forget()
    assert short(host.task()) == ("unchanged", "journal", "11")


def test_a_journal_that_is_damaged_is_not_trusted(slurm: Slurm, host: Host) -> None:
    slurm.sacct_fails = True
    host.task(trust=True)
    with (host.directory / "journal.jsonl").open("a") as stream:
        stream.write("half a line\n")
    assert short(host.task(trust=True, attempt=2))[0] == "unknown"
    assert "not readable" in host.warnings[-1]


def test_two_jobs(slurm: Slurm, host: Host) -> None:
    host.task()
    slurm.jobs.append(dict(slurm.jobs[0], JobID="99", ArrayJobID="99"))
    found = host.task()
    assert (short(found), found["job_ids"]) == (("unknown", None, None), ["11", "99"])
    assert "jobs 11, 99 are all submission a attempt 1" in found["reason"]


def test_another_one_appears_while_it_is_sent(slurm: Slurm, host: Host) -> None:
    """Another host has done the same."""
    slurm.faults = [Fault()]
    slurm.while_sent = lambda: slurm.jobs.append(
        fakes.job("5", Comment="hpcops.slurm submission=a attempt=1")
    )
    found = host.task()
    assert (found["outcome"], found["job_ids"], found["changed"]) == ("unknown", ["5", "11"], True)


def test_another_run_begins_while_this_one_looks(slurm: Slurm, host: Host) -> None:
    """The journal is read again under its lock."""
    submitter_run, other = slurm.run, {"done": False}

    def run(program: str, *arguments: str, **options: Any) -> Reply:
        reply = submitter_run(program, *arguments, **options)
        if program == "sacct" and not other["done"]:
            other["done"] = True
            assert short(host.task()) == ("applied", "sbatch", "11")
        return reply

    # Only this one fake is to behave so.
    slurm.run = run  # type: ignore[method-assign]
    assert short(host.task()) == ("unchanged", "queue", "11")
    assert len(slurm.sent) == 1


def test_queue_that_is_not_read(slurm: Slurm, host: Host) -> None:
    slurm.complaint = "squeue: error: something"
    found = host.task()
    assert (short(found), slurm.sent) == (("unknown", None, None), [])


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (Fault(1, PARTITION, None), "rejected"),
        (Fault(255, "sbatch: error: Invalid --time specification\n", None), "rejected"),
        (Fault(1, "sbatch: error: cli_filter plugin terminated with error\n", None), "rejected"),
        (Fault(1, PLUGIN, None), "rejected"),
        (Fault(127, "", None), "not_run"),
        # An error text is no proof: the job is there.
        (Fault(1, PARTITION, 0.0), "applied"),
        (Fault(1, SOCKET, 0.0), "applied"),
        (Fault(124, "", 0.0), "applied"),
        (Fault(0, "", 0.0, says_id=False), "applied"),
        # It comes later, or never.
        (Fault(1, SOCKET, 100.0), "applied"),
        (Fault(124, "", 300.0), "applied"),
        (Fault(1, SOCKET, None), "not_applied"),
        (Fault(1, "site: something odd\n", None), "not_applied"),
        (Fault(1, "", None), "not_applied"),
        (Fault(0, "", None, says_id=False), "not_applied"),
        (Fault(1, AUTHENTICATION, None), "not_applied"),
    ],
)
def test_faults(slurm: Slurm, host: Host, fault: Fault, outcome: str) -> None:
    """The outcome is what the queue shows, and a second run submits exactly what is not there."""
    slurm.faults = [fault]
    met = host.task()
    assert met["outcome"] == outcome
    assert met["changed"] is (outcome == "applied")
    assert (met["settled"], met["may_land_until"]) == (True, None)
    assert len(slurm.jobs) == (1 if outcome == "applied" else 0)
    again = host.task()
    assert again["outcome"] == ("unchanged" if outcome == "applied" else "applied")
    assert len(slurm.jobs) == 1


def test_expired(slurm: Slurm, host: Host) -> None:
    assert short(host.task(ttl=0.5)) == ("expired", None, None)
    assert short(host.task()) == ("applied", "sbatch", "12")


def test_unsettled_and_a_later_run(slurm: Slurm, host: Host) -> None:
    """While it may land nothing else is sent, and then it is there."""
    slurm.faults = [Fault(124, "", 100.0)]
    met = host.task(settle=False)
    assert (met["outcome"], met["settled"]) == ("unknown", False)
    assert met["may_land_until"] == NOW + 60 + CALL_BOUND
    waiting = host.task(settle=False)
    assert (waiting["outcome"], waiting["may_land_until"]) == ("unknown", NOW + 60 + CALL_BOUND)
    assert "may still land" in waiting["reason"]
    assert host.task(check=True)["outcome"] == "unknown"
    assert short(host.task(ttl=200)) == ("unchanged", "queue", "11")
    slurm.forget()
    assert short(host.task()) == ("unchanged", "journal", "11")
    assert len(slurm.sent) == 1


def test_killed_and_a_later_run(slurm: Slurm, host: Host) -> None:
    slurm.faults = [Fault(killed=True, lands=None)]
    with pytest.raises(Killed):
        host.task()
    assert short(host.task(ttl=1000)) == ("applied", "sbatch", "12")


@pytest.mark.parametrize("tells", [True, False])
def test_it_may_have_come_and_gone(slurm: Slurm, host: Host, tells: bool) -> None:
    """slurmctld was not seen for longer than it shows ended jobs: only accounting can tell."""
    slurm.faults = [Fault(124, "", 10.0)]
    slurm.leaves = 70.0
    slurm.silent = (NOW + 0.5, NOW + 380)
    slurm.while_sent = lambda: setattr(slurm.clock, "now", slurm.clock.now + 1)
    slurm.sacct_fails = not tells
    met = host.task(trust=True)
    if tells:
        assert short(met) == ("applied", "accounting", "11")
        return
    assert (short(met), met["settled"]) == (("unknown", None, None), True)
    assert "accounting does not tell" in met["reason"]
    # What this run has sent is no proof for the next one.
    assert host.task(trust=True)["outcome"] == "unknown"
    assert len(slurm.sent) == 1


@pytest.mark.parametrize("lands", [1000.0, None])
def test_without_a_landing_bound(slurm: Slurm, host: Host, lands: float | None) -> None:
    """What is unknown stays so, and is never sent again, until it shows somewhere."""
    slurm.faults = [Fault(124, "", lands)]
    met = host.task(bound=None)
    for _run in range(2):
        assert (met["outcome"], met["settled"], met["may_land_until"]) == ("unknown", False, None)
        assert "without a landing bound it may still land at any time" in met["reason"]
        slurm.clock.now += 400
        met = host.task(bound=None, trust=True)
        assert "Give a new attempt" in met["reason"]
    assert slurm.clock.now < NOW + 1000
    slurm.clock.now += 1000
    host.task(bound=None, check=True)
    slurm.forget()
    found = ("unchanged", "accounting", "11"), ("unknown", None, None)
    assert short(host.task(bound=None)) == found[lands is None]
    assert len(slurm.sent) == 1
    assert short(host.task(bound=None, attempt=2)) == ("applied", "sbatch", "12")


def test_slurmctld_stays_away(slurm: Slurm, host: Host) -> None:
    slurm.faults = [Fault(1, SOCKET, None)]
    slurm.silent = (NOW + 0.5, NOW + 10000)
    slurm.while_sent = lambda: setattr(slurm.clock, "now", slurm.clock.now + 1)
    met = host.task()
    assert (met["outcome"], met["settled"]) == ("unknown", True)
    assert "could not be asked" in met["reason"]


def test_output_directory(slurm: Slurm, host: Host) -> None:
    for check in (True, False):
        met = host.task(output_dir=str(host.output / "none"), check=check)
        assert met["outcome"] == "not_run"
        assert "is no directory on this host" in met["reason"]
    assert slurm.sent == []
    host.task()
    assert host.task(output_dir="/none")["outcome"] == "unchanged"


@pytest.mark.parametrize("user", [0, 1000])
def test_full_disk(slurm: Slurm, host: Host, monkeypatch: pytest.MonkeyPatch, user: int) -> None:
    """Nothing is left for this user. root has what is reserved."""
    left = SimpleNamespace(f_blocks=100, f_bfree=5, f_bavail=0)
    system = SimpleNamespace(**{**vars(os), "geteuid": lambda: user, "statvfs": lambda _path: left})
    monkeypatch.setattr(submit, "os", system)
    met = host.task()
    if user == 0:
        assert met["outcome"] == "applied"
        return
    assert met["outcome"] == "not_run"
    assert met["reason"].endswith("is full")
    assert slurm.sent == []


@pytest.mark.parametrize("blocks", [None, 0])
def test_a_disk_that_does_not_tell(
    host: Host, monkeypatch: pytest.MonkeyPatch, blocks: int | None
) -> None:
    """A file system without a size of its own, or one that can't be asked, is not full."""

    def tell(_path: str) -> SimpleNamespace:
        if blocks is None:
            raise OSError("no such call")
        return SimpleNamespace(f_blocks=blocks, f_bfree=0, f_bavail=0)

    monkeypatch.setattr("os.statvfs", tell)
    assert host.task()["outcome"] == "applied"


def test_record_of_a_refused_job_is_no_job(slurm: Slurm, host: Host) -> None:
    comment = "hpcops.slurm submission=a attempt=1"
    refused = {"Comment": comment, "State": "FAILED", "Reason": "BadConstraints"}
    when = fakes.JOB["SubmitTime"]
    slurm.jobs = [fakes.job("5", **refused, StartTime=when, EndTime=when)]
    row = {"Comment": comment, "State": "FAILED", "ExitCode": "1:0", "NodeList": "None assigned"}
    slurm.past = [fakes.row("4", **row, Start="None", End=fakes.ROW["Submit"])]
    assert short(host.task()) == ("applied", "sbatch", "11")
    # One that was taken, and failed later, is one.
    assert not submissions.was_refused(
        fakes.read(fakes.job("5", **refused, EndTime=str(int(when) + 9)))
    )


# The journal


def entry(**values: Any) -> Entry:
    given: dict[str, Any] = {
        "nonce": "aa", "action": "submit", "job_id": "c", "cluster": "cl1", "submitted": None,
        "instance": 0, "begin": 0, "restarts": None, "deadline": NOW, "until": NOW + 316, **values,
    }  # fmt: skip
    return Entry(**given)


def test_recorded() -> None:
    made = entry(nonce="a", outcome=submitted(5, "/out dir\n x"))
    cut_off, unknown = entry(nonce="b"), entry(nonce="c", outcome="unknown")
    others = [
        entry(nonce="d", cluster="cl2"), entry(nonce="e", job_id="d"),
        entry(nonce="f", action="hold"),
        entry(nonce="g", outcome="rejected"), entry(nonce="h", outcome="not_applied"),
        entry(nonce="i", outcome="submitted x /y"),
    ]  # fmt: skip
    known = recorded([made, cut_off, unknown, *others], "cl1", "c")
    assert (known.jobs, known.open) == ({5: "/out dir\n x"}, (cut_off, unknown))


def test_submissions_are_remembered() -> None:
    """For 30 days, whatever else is left out."""
    kept = [
        entry(nonce="a", outcome=submitted(5, "/o"), until=NOW, deadline=NOW),
        entry(nonce="b", job_id="d", outcome="unknown", until=NOW, deadline=NOW),
        entry(nonce="c", job_id="e", until=NOW, deadline=NOW),
    ]
    refused = entry(nonce="d", job_id="f", outcome="rejected", until=NOW)
    last = NOW + REMEMBERED - 1
    assert needed([*kept, refused], last) == kept
    assert needed(kept, last + 1) == []


def test_record_is_read_back(tmp_path: Path) -> None:
    with Journal(str(tmp_path / "state")) as journal:
        journal.start([[entry()]])
        assert recorded(journal.entries(), "cl1", "c").open == (entry(),)
        journal.end({"aa": {"c": submitted(5, "/caf\u00e9")}})
        assert recorded(journal.entries(), "cl1", "c").jobs == {5: "/caf\u00e9"}


# The script


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("text", ["#!/bin/sh\n$(x) `x` \\ 'END\nEND\n$text\n", "x" * 110000])
def test_script_reaches_sbatch(tmp_path: Path, shell: str, text: str) -> None:
    bench = Bench(tmp_path, shell)
    bench.command("sbatch", f"/bin/cat > '{tmp_path}/stdin'; echo '41;cl1'")
    arguments = ("--comment=a 'b", "--hold")
    ended = bench.run(submit_script(arguments), text_in=text)
    assert bench.calls() == [["sbatch", *arguments]]
    assert (tmp_path / "stdin").read_text() == text
    sent = judge_submission(Detached(ended.status, ended.stdout, ended.stderr), NONCE)
    assert (sent.proof, sent.job_id) == (Proof.ANSWERED, 41)


@pytest.mark.parametrize("shell", SHELLS)
def test_script_does_not_start_late(tmp_path: Path, shell: str) -> None:
    bench = Bench(tmp_path, shell)
    bench.command("sbatch", "echo 41")
    ended = bench.run(submit_script(()), deadline=1)
    assert bench.calls() == []
    assert judge_submission(Detached(ended.status, b"", ended.stderr), NONCE).proof is Proof.EXPIRED


@pytest.mark.parametrize(
    ("out", "proof"),
    [
        (b"41\n", Proof.ANSWERED),
        (b"41;cluster\n", Proof.ANSWERED),
        (b"site: welcome\n41\n", Proof.ANSWERED),
        (b"41\n42\n", Proof.NONE),
        (b"Submitted batch job 41\n", Proof.NONE),
        (b"0\n", Proof.NONE),
        (b"", Proof.NONE),
    ],
)
def test_id(out: bytes, proof: Proof) -> None:
    said = b"\x1eDSL %s call 1 0\n" % NONCE.encode()
    assert judge_submission(Detached(0, out, said), NONCE).proof is proof


@pytest.mark.parametrize("said", [b"", b"\x1eDSL ffff call 1 0\n", b"\x1eDSL %s call 2 0\n"])
def test_status_that_is_not_readable(said: bytes) -> None:
    said = said.replace(b"%s", NONCE.encode())
    sent = judge_submission(Detached(0, b"41\n", said), NONCE)
    assert (sent.proof, sent.job_id) == (Proof.NONE, None)


def test_script_that_is_not_started() -> None:
    end = Detached(127, b"", b"no sh", not_started=True)
    assert judge_submission(end, NONCE).proof is Proof.NOT_RUN
    assert replace(judge_submission(end, NONCE), message="").job_id is None

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Slurm that a probe can be run on: it keeps jobs and calls, and fails where it is told to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Reply
from ansible_collections.hpcops.slurm.tests.unit.old_pythons import without_prefix
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs.fakes import (
    job,
    option,
    row,
    sacct_text,
    squeue_text,
)
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._preflight.samples import (
    AS_OF,
    PING,
    listing,
)

BASE = 4102444800


def error(text: str, status: int = 1, out: str = "") -> Reply:
    """A reply that is not a success; its argv is put in where it is used."""
    return Reply((), status, out.encode(), text.encode("utf-8", "surrogateescape"))


CUT_OFF = Reply((), 124, b"", b"", timed_out=True)
NO_CONTROLLER = error(
    "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"
)
HUNG = error("x: Socket timed out on send/recv operation\n")


@dataclass
class FakeSlurm:
    """``fail`` has a reply for the n-th call (from 1) of a program, and is asked before anything is
    done; with ``done_all_the_same`` the call has its effect nevertheless. ``before`` is called with
    the program and the number of its call.
    """

    jobs: dict[str, dict[str, str]] = field(default_factory=dict)
    rows: list[dict[str, str]] = field(default_factory=list)
    settings: dict[str, str | None] = field(default_factory=dict)
    ping: str = PING
    accounting: bool = True
    next_id: int = 41
    fail: dict[tuple[str, int], Reply] = field(default_factory=dict)
    done_all_the_same: bool = False
    before: Callable[[str, int], None] = lambda program, number: None
    calls: list[tuple[str, ...]] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)

    def __call__(
        self, *argv: str, text_in: str | None = None, time_limit: float | None = None
    ) -> Reply:
        del time_limit
        self.calls.append(argv)
        number = sum(call[0] == argv[0] for call in self.calls)
        self.before(argv[0], number)
        if text_in is not None:
            self.scripts.append(text_in)
        reply = self.fail.get((argv[0], number))
        if reply is None or self.done_all_the_same:
            done = getattr(self, f"_{argv[0]}")(argv)
            assert isinstance(done, Reply)
            reply = reply or done
        return Reply(
            argv, reply.status, reply.stdout, reply.stderr, reply.timed_out, reply.not_started
        )

    # What tests ask

    @property
    def programs(self) -> list[str]:
        """The programs that were called, in order."""
        return [call[0] for call in self.calls]

    def of(self, program: str) -> list[tuple[str, ...]]:
        """The calls of one program."""
        return [call for call in self.calls if call[0] == program]

    @property
    def living(self) -> list[str]:
        """The jobs that are not over."""
        return [one for one, values in self.jobs.items() if values["State"] == "PENDING"]

    def add(self, number: str, **values: str) -> None:
        """A job that is there already."""
        made = {"Name": "hpcops-slurm-preflight", "UserName": "root", "SubmitTime": str(AS_OF - 10)}
        self.jobs[number] = job(number, **{**made, **values})

    # The programs

    def _sbatch(self, argv: tuple[str, ...]) -> Reply:
        number = str(self.next_id)
        self.next_id += 1
        self.add(
            number,
            Name=option(argv, "--job-name"),
            Comment=option(argv, "--comment"),
            PriorityLong="0" if "--hold" in argv else "4294",
            Reason="JobHeldUser",
            Requeue="0",
            SubmitTime=str(AS_OF),
        )
        return Reply(argv, 0, f"{number}\n".encode(), b"")

    def _squeue(self, argv: tuple[str, ...]) -> Reply:
        form = option(argv, "--Format")
        asked = option(argv, "--jobs")
        if asked:
            chosen = [self.jobs[one] for one in dict.fromkeys(asked.split(",")) if one in self.jobs]
        else:
            user, name = option(argv, "--user"), option(argv, "--name")
            chosen = [
                one
                for one in self.jobs.values()
                if one["UserName"] == user and one["Name"].lower() == name.lower()
            ]
        return Reply(argv, 0, squeue_text(chosen, form), b"")

    def _scontrol(self, argv: tuple[str, ...]) -> Reply:
        if argv[1:] == ("show", "config"):
            text = listing(self.settings, self.ping).encode("utf-8", "surrogateescape")
            return Reply(argv, 0, text, b"")
        if argv[1:] == ("ping",):
            return Reply(argv, 0 if "UP" in self.ping else 1, self.ping.encode(), b"")
        if argv[1] == "update":
            found = self.jobs[without_prefix(argv[2], "JobId=")]
            start = without_prefix(argv[3], "StartTime=")
            found["EligibleTime"] = str(AS_OF) if start == "now" else without_prefix(start, "uts")
        elif argv[1] == "release":
            self.jobs[argv[2]].update(PriorityLong="4294", Reason="BeginTime")
        else:
            raise AssertionError(argv)
        return Reply(argv, 0, b"", b"")

    def _scancel(self, argv: tuple[str, ...]) -> Reply:
        found = self.jobs.get(argv[1])
        if found is not None and found["State"] == "PENDING":
            found["State"] = "CANCELLED"
            if self.accounting:
                self._account(found)
        return Reply(argv, 0, b"", b"")

    def _account(self, found: dict[str, str]) -> None:
        kept = "job_comment" in (self.settings.get("AccountingStoreFlags", "job_comment") or "")
        self.rows.append(
            row(
                found["JobID"],
                State="CANCELLED by 0",
                JobName=found["Name"],
                Submit=found["SubmitTime"],
                User=found["UserName"],
                Comment=found["Comment"] if kept else "",
            )
        )

    def _sacct(self, argv: tuple[str, ...]) -> Reply:
        if not self.accounting:
            return Reply(argv, 1, b"", b"Slurm accounting storage is disabled\n")
        if "-X" in argv:  # the check that only asks whether there is an answer
            return Reply(argv, 0, b"", b"")
        asked = option(argv, "--jobs").split(",")
        chosen = [one for one in self.rows if one["JobIDRaw"] in asked]
        text = sacct_text(chosen, option(argv, "--format"), option(argv, "--delimiter"))
        return Reply(argv, 0, text, b"")

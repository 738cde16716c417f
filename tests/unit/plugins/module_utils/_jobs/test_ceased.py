# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a lost execution has ended: the command's exit status, and never yes by default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer, Reply
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ceased import (
    NAMES,
    Ceased,
    Question,
    answer_of,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.info import Access, job_info
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes

WORDS = ("/site/ask", "--job={job_id}", "{node_list}", "{execution}", '{"a": 1}')
NODE = {"State": "NODE_FAIL", "NodeList": "n[1-2]", "EndTime": "100"}


class Site:
    """squeue, sacct and the site's command; keeps the calls of the last."""

    def __init__(
        self,
        jobs: Sequence[dict[str, str]],
        rows: Sequence[dict[str, str]] = (),
        status: int = 0,
        restarts: bool = True,
    ) -> None:
        self.squeue, self.sacct = fakes.Squeue(jobs), fakes.Sacct(rows, restarts=restarts)
        self.status = status
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, *argv: str, time_limit: float | None = None) -> Reply:
        if argv[0] == "squeue":
            return self.squeue(*argv)
        if argv[0] == "sacct":
            return self.sacct(*argv)
        assert time_limit == 7
        self.asked.append(argv)
        return Reply(argv, self.status, b"", b"a word\n")

    def ask(self, *ids: str, words: Sequence[str] = WORDS) -> list[dict[str, Any]]:
        """The entries of the module's result."""
        access = Access(Answer.YES, "", 60, 1000)
        info = job_info(self, ids, None, NAMES, lambda: access)
        return Ceased(self, Question(tuple(words), 7)).results(info)


@pytest.mark.parametrize(
    ("status", "ceased"),
    [(0, "yes"), (1, "no"), (2, "unknown"), (124, "unknown"), (127, "unknown"), (137, "unknown")],
)
def test_the_exit_status_is_the_answer(status: int, ceased: str) -> None:
    site = Site([fakes.job("9", **NODE)], status=status)
    (entry,) = site.ask("9")
    assert site.asked == [("/site/ask", "--job=9", "n[1-2]", "0", '{"a": 1}')]
    assert (entry["ceased"], entry["lost"], entry["rc"]) == (ceased, "yes", status)
    assert f"exited with {status}" in entry["reason"]
    assert ("a word" in entry["reason"]) == (ceased == "unknown")


@pytest.mark.parametrize("status", [0, 1, 124])
def test_a_command_that_did_not_end_by_itself_says_nothing(status: int) -> None:
    assert answer_of(Reply((), status, b"", b"", timed_out=True)) is Answer.UNKNOWN
    assert answer_of(Reply((), status, b"", b"", not_started=True)) is Answer.UNKNOWN


@pytest.mark.parametrize("state", ["RUNNING", "PENDING", "COMPLETED", "FAILED", "CANCELLED"])
def test_a_job_whose_node_was_not_lost_is_not_asked_about(state: str) -> None:
    site = Site([fakes.job("9", State=state)])
    (entry,) = site.ask("9")
    assert (entry["lost"], entry["ceased"], site.asked) == ("no", "unknown", [])
    assert state in entry["reason"]


def test_what_is_not_known_is_unknown() -> None:
    site = Site([fakes.job("9", State="COMPLETING")], [fakes.row("8", State="RUNNING")])
    entries = site.ask("9", "8", "7")
    assert [(one["job_id"], one["lost"], one["ceased"]) for one in entries] == [
        ("9", "unknown", "unknown"), ("8", "unknown", "unknown"), ("7", "unknown", "unknown")
    ]  # fmt: skip
    assert "neither slurmctld nor accounting" in entries[2]["reason"]
    assert site.asked == []


def test_each_lost_execution_is_asked_about() -> None:
    lost = {"State": "NODE_FAIL", "NodeList": "n1", "Submit": "10", "End": "20"}
    rows = [fakes.row("9", **lost), fakes.row("9", Submit="20", Restarts="1", NodeList="n2")]
    there = fakes.job("9", State="RUNNING", SubmitTime="20", RestartCnt="1")
    words = ("ask", "{job_id}", "{execution}", "{node_list}")
    for jobs, restarts in (([], True), ([there], True), ([there], False)):
        site = Site(jobs, rows, restarts=restarts)
        (entry,) = site.ask("9", words=words)
        assert site.asked == [("ask", "9", "0", "n1")]
        assert (entry["execution"], entry["ceased"]) == (0, "yes")


def test_a_value_that_is_not_known_is_not_made_up() -> None:
    row = fakes.row("9", State="NODE_FAIL", NodeList="n1")
    site = Site([], [row], restarts=False)
    (entry,) = site.ask("9")
    assert (entry["lost"], entry["ceased"], site.asked) == ("yes", "unknown", [])
    assert entry["reason"] == "the command was not run: its execution is not known"
    (asked,) = site.ask("9", words=("ask", "{job_id}"))
    assert asked["ceased"] == "yes"
    cut_off = Site([], [{**row, "NodeList": "n[1-"}])
    (entry,) = cut_off.ask("9")
    assert (entry["ceased"], cut_off.asked) == ("unknown", [])


def test_the_same_words_are_run_once() -> None:
    site = Site([fakes.job("8", **NODE), fakes.job("9", **NODE)])
    entries = site.ask("8", "9", words=("ask", "{node_list}"))
    assert [one["ceased"] for one in entries] == ["yes", "yes"]
    assert site.asked == [("ask", "n[1-2]")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "names no program"),
        (["", "{job_id}"], "names no program"),
        (["ask"], r"neither \{job_id\} nor \{node_list\}"),
        (["ask", "{execution}"], r"neither \{job_id\} nor \{node_list\}"),
        (["ask", "{job_id}", "{node}"], r"has \{node\}; what it can have is \{job_id\}, "),
    ],
)
def test_a_command_that_cannot_ask_is_refused(words: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Question(tuple(words), 7)

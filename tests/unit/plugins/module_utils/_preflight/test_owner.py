# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose a probe's job is, told from its comment and from the processes of this host."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight import owner
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.owner import (
    COMMENT_START,
    Owner,
)


def of_process(number: int) -> Owner:
    started = int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[19])
    return replace(Owner.this("ctl1"), process=number, started=started)


def test_a_comment_names_its_process() -> None:
    mine = Owner.this("ctl1")
    assert mine.process == os.getpid()
    assert Owner.of(mine.comment()) == mine
    assert mine.comment().startswith(COMMENT_START)
    assert mine.comment() != mine.comment()
    assert len(mine.comment()) < 200  # sbatch takes 1024


@given(st.text(max_size=80))
@settings(deadline=None)
def test_any_host_name(host: str) -> None:
    mine = Owner.this(host)
    found = Owner.of(mine.comment())
    assert found == mine or (found is None and not host.strip())


@pytest.mark.parametrize(
    "comment",
    [
        None,
        "",
        COMMENT_START,
        COMMENT_START + " host=a nonce=12",
        COMMENT_START + " host=a space=1 process=2 nonce=12",
        COMMENT_START + " host=a space=x process=2.3 nonce=12",
        COMMENT_START + " host=a space=1 process=2.3 nonce=12\nmore",
        "x" + COMMENT_START + " host=a space=1 process=2.3 nonce=12",
    ],
)
def test_another_comment_names_nobody(comment: str | None) -> None:
    assert Owner.of(comment) is None


def test_this_process_lives() -> None:
    assert Owner.this("ctl1").lives("ctl1") is Answer.YES


def test_a_process_that_ended_does_not_live() -> None:
    child = subprocess.Popen(["sleep", "60"])
    found = of_process(child.pid)
    assert found.lives("ctl1") is Answer.YES
    child.kill()
    # Not waited for yet: what is left of it is no life.
    for _time in range(50):
        if found.lives("ctl1") is Answer.NO:
            break
        time.sleep(0.05)
    assert found.lives("ctl1") is Answer.NO
    child.wait()
    assert found.lives("ctl1") is Answer.NO


def test_a_number_that_was_given_again_is_another_process() -> None:
    mine = Owner.this("ctl1")
    assert replace(mine, started=mine.started - 1).lives("ctl1") is Answer.NO


def test_processes_of_other_hosts_are_not_judged() -> None:
    mine = Owner.this("ctl1")
    assert mine.lives("ctl10") is Answer.UNKNOWN
    assert replace(mine, space=mine.space + 1).lives("ctl1") is Answer.UNKNOWN
    assert replace(mine, host="ctl2", process=10**9).lives("ctl1") is Answer.UNKNOWN


def test_without_proc_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "_started", lambda process: None)
    monkeypatch.setattr(owner, "_space", lambda: 0)
    mine = Owner.this("ctl1")
    assert (mine.space, mine.started) == (0, 0)
    assert Owner.of(mine.comment()) == mine
    assert mine.lives("ctl1") is Answer.UNKNOWN


def test_numbers_without_end_are_no_trouble() -> None:
    nines = "9" * 5000
    found = Owner.of(f"{COMMENT_START} host=a space={nines} process={nines}.{nines} nonce=1")
    assert found is not None
    assert found.lives("a") is Answer.UNKNOWN

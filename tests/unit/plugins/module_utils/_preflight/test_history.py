# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""AccountingHistory: the spec's answers, field cases, the wait, and rows of other jobs."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import Configuration
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer, Reply
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.sacct import Accounting
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.capabilities import (
    Support,
    probed,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.history import (
    DEFAULT_MIN_JOB_AGE,
    limit,
    look,
    wait_for_row,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.started import Started
from ansible_collections.hpcops.slurm.tests.unit.case_words import runs
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs.fakes import row
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._preflight.fake_slurm import (
    CUT_OFF,
    FakeSlurm,
    error,
)
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._preflight.samples import (
    AS_OF,
    configuration,
    spec,
)

COMMENT = "hpcops.slurm preflight probe host=ctl1 space=1 process=2.3 nonce=ab"


def started(ago: float = 0.0, since: int | None = AS_OF) -> Started:
    at = time.time() - ago
    return Started("41", COMMENT, int(at), at, probed(Answer.YES), since=since)


def own_row(**values: str) -> dict[str, str]:
    made = {
        "State": "CANCELLED by 0",
        "JobName": "hpcops-slurm-preflight",
        "Submit": str(AS_OF),
        "Comment": COMMENT,
    }
    return row("41", **{**made, **values})


def ending(flags: str = "job_comment") -> str:
    return spec("accounting_history", "ending", flags=flags)


def answer(
    rows: list[dict[str, str]],
    live: Configuration | None = None,
    last: bool = False,
    since: int | None = AS_OF,
) -> Support | None:
    """One look at these rows."""
    accounting = Accounting(FakeSlurm(rows=rows))
    return look(accounting, live or configuration(), started(since=since), last)


def failed(reply: Reply, live: Configuration | None = None) -> Support:
    """One look that fails."""
    fake = FakeSlurm(fail={("sacct", 1): reply})
    found = look(Accounting(fake), live or configuration(), started(), last=False)
    assert found is not None
    return found


# The spec's answers


def test_comments_are_kept() -> None:
    assert answer([own_row()]) == probed(Answer.YES, spec("accounting_history", "kept") + ending())


def test_comments_are_not_kept() -> None:
    live = configuration(AccountingStoreFlags="(null)")
    assert answer([own_row(Comment="")], live) == probed(
        Answer.YES, spec("accounting_history", "not_kept") + ending("(null)")
    )


def test_accounting_is_disabled() -> None:
    found = failed(error("Slurm accounting storage is disabled\n"))
    assert found == probed(Answer.NO, spec("accounting_history", "disabled") + ending())


def test_no_row_within_the_limit() -> None:
    assert answer([]) is None
    assert answer([], last=True) == probed(
        Answer.UNKNOWN, spec("accounting_history", "no_row", id="41") + ending(), passing=True
    )


def test_sacct_that_fails_otherwise_is_unknown() -> None:
    said = "sacct: error: something new"
    assert failed(error(said + "\n", 3)) == probed(
        Answer.UNKNOWN,
        spec("accounting_history", "exited", n="3", stderr=said) + ending(),
        passing=True,
    )


@pytest.mark.parametrize(
    "reply",
    [CUT_OFF, error("", 0, "nonsense"), Reply((), 127, b"", b"No such file", not_started=True)],
)
def test_sacct_that_does_not_answer_is_unknown(reply: Reply) -> None:
    found = failed(reply)
    assert (found.support, found.passing) == (Answer.UNKNOWN, True)
    assert found.reason.startswith(spec("accounting_history", "error", error=""))
    assert found.reason.endswith(ending())


def test_flags_that_were_not_read_are_unknown_in_the_reason() -> None:
    found = answer([own_row()], configuration(AccountingStoreFlags=None))
    assert found is not None
    assert found.reason.endswith("; AccountingStoreFlags=unknown")


# Field cases


@pytest.mark.parametrize(("name", "run", "expected"), list(runs("B-01")))
def test_case_b_01(name: str, run: dict[str, Any], expected: dict[str, Any]) -> None:
    del name
    storage = run["config_text"].partition("= ")[2].strip()
    live = configuration(AccountingStorageType=storage)
    if run["argv"] is None:  # nobody asked: the preflight says read-only, which is unknown
        assert expected["accounting_history"] == "unknown"
        return
    if run["rc"] == 0:
        found = answer([own_row()], live)
        assert found is not None
    else:
        found = failed(error(run["stderr"], run["rc"], run["stdout"]), live)
    assert found.support.value == expected["accounting_history"]
    assert expected.get("reason_contains", "") in found.reason
    assert found.passing is False


@pytest.mark.parametrize(("name", "run", "expected"), list(runs("B-02")))
def test_case_b_02(name: str, run: dict[str, Any], expected: dict[str, Any]) -> None:
    del name
    found = failed(error(run["stderr"], run["rc"], run["stdout"]))
    assert found.support.value != expected["accounting_history_is_never"]
    assert expected["reason_contains"] in found.reason
    # It passes with time, so that it is not kept.
    assert found.passing is True


# Which row


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        ({}, True),
        ({"Submit": str(AS_OF + 100)}, True),
        ({"Submit": str(AS_OF - 1)}, False),  # slurmctld began again with id 1
        ({"Submit": "Unknown"}, False),
        ({"JobName": "another"}, False),
    ],
)
def test_a_row_of_an_older_job_with_the_same_id_is_not_the_probes(
    values: dict[str, str], seen: bool
) -> None:
    live = configuration(AccountingStoreFlags="(null)")
    found = answer([own_row(Comment="", **values)], live)
    assert (found is not None) is seen


def test_the_comment_proves_the_row() -> None:
    old = own_row(Comment="", Submit=str(AS_OF - 10000), JobName="another")
    mine = own_row(Submit="Unknown", JobName="changed by a plug-in")
    for rows in ([old, mine], [mine, old]):
        found = answer(rows)
        assert found is not None
        assert found.support is Answer.YES


def test_without_the_controllers_clock_the_name_has_to_do() -> None:
    live = configuration(AccountingStoreFlags="(null)")
    row_ = own_row(Comment="", Submit="1000000")
    assert answer([row_], live, since=None) is not None
    assert answer([{**row_, "JobName": "another"}], live, since=None) is None


@pytest.mark.parametrize("state", ["PENDING", "RUNNING", "FROBNICATED", ""])
def test_a_row_that_has_not_ended_does_not_tell(state: str) -> None:
    """Comments are written when an execution ends."""
    live = configuration(AccountingStoreFlags="(null)")
    rows = [own_row(Comment="", State=state)]
    assert answer(rows, live) is None
    found = answer(rows, live, last=True)
    assert found is not None
    assert (found.support, found.passing) == (Answer.UNKNOWN, True)


def test_a_comment_that_is_missing_against_the_flags_is_said_and_not_kept() -> None:
    rows = [own_row(Comment="changed by a plug-in")]
    assert answer(rows) is None
    found = answer(rows, last=True)
    assert found is not None
    assert (found.support, found.passing) == (Answer.YES, True)
    assert found.reason.startswith("comments are not kept: the probe's row has none")


def test_a_forged_comment_of_another_row_is_no_row() -> None:
    """Free text can hold anything; a row without the call's own marks is unreadable."""
    found = failed(error("", 0, f"41|41|CANCELLED|{COMMENT}\n"))
    assert found.support is Answer.UNKNOWN


# The wait


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that only the pauses move; holds the pauses."""
    now = [1.8e9]
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "time", lambda: now[0])
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return pauses


def wait(
    fake: FakeSlurm, patience: float, ago: float = 0.0, **changed: str | None
) -> tuple[Support | None, float]:
    live = configuration(**changed)
    return wait_for_row(fake, live, started(ago), patience)


def test_a_row_that_is_there_is_not_waited_for(clock: list[float]) -> None:
    found, waited = wait(FakeSlurm(rows=[own_row()]), 60)
    assert found is not None
    assert (found.support, waited, clock) == (Answer.YES, 0, [])


def test_looks_are_two_seconds_apart_and_go_on_to_the_limit(clock: list[float]) -> None:
    fake = FakeSlurm()
    found, waited = wait(fake, 1000)
    assert found is not None
    assert found.support is Answer.UNKNOWN
    assert (waited, set(clock), len(fake.of("sacct"))) == (60, {2.0}, 31)


def test_a_round_ends_with_its_patience(clock: list[float]) -> None:
    found, waited = wait(FakeSlurm(), 6)
    assert (found, waited, clock) == (None, 6, [2.0, 2.0, 2.0])


def test_a_row_that_comes_late_is_seen(clock: list[float]) -> None:
    fake = FakeSlurm()

    def before(program: str, number: int) -> None:
        if (program, number) == ("sacct", 3):
            fake.rows.append(own_row())

    fake.before = before
    found, waited = wait(fake, 60)
    assert found is not None
    assert (found.support, waited) == (Answer.YES, 4)


@pytest.mark.parametrize(("age", "looks"), [("2 sec", 2), ("1 sec", 2), ("3 sec", 3)])
def test_a_short_limit_is_waited_for_to_its_end(clock: list[float], age: str, looks: int) -> None:
    """MinJobAge=2 is what slurmctld makes of 0: a row may take that long on 22.05."""
    fake = FakeSlurm()
    found, waited = wait(fake, 60, MinJobAge=age)
    assert found is not None
    assert found.support is Answer.UNKNOWN
    assert (len(fake.of("sacct")), waited) == (looks, sum(clock))
    assert waited == float(age.split()[0])


def test_the_last_look_is_made_when_the_rounds_took_longer(clock: list[float]) -> None:
    found, waited = wait(FakeSlurm(rows=[own_row()]), 6, ago=500)
    assert found is not None
    assert (found.support, waited) == (Answer.YES, 500)
    assert wait(FakeSlurm(), 6, ago=500)[0] is not None


def test_a_clock_that_was_set_back_waits_no_less_than_nothing(clock: list[float]) -> None:
    found, waited = wait(FakeSlurm(), 2, ago=-100)
    assert (found, waited) == (None, 0)


def test_limit() -> None:
    assert limit(configuration()) == 60
    assert limit(configuration(MinJobAge="soon")) == DEFAULT_MIN_JOB_AGE


def test_22_05_is_asked_once_for_what_it_does_not_know(clock: list[float]) -> None:
    refusal = error('sacct: error: Invalid field requested: "Restarts"\n')
    fake = FakeSlurm(fail={("sacct", 1): refusal})
    assert wait(fake, 4)[0] is None
    asked = ["Restarts" in " ".join(call) for call in fake.of("sacct")]
    assert asked == [True, False, False, False]

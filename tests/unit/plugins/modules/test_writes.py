# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that write, each in a process of its own: what they take, and what they refuse."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.unit.plugins.modules.processes import (
    Ran,
    Slurm,
    fact,
    job,
    run_module,
)

BASE = 4102444800
INSTANCE = {"instance": 7}
#: What each module needs beside the jobs, and a job that it changes.
NEEDS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "job_hold": (INSTANCE, {}),
    "job_release": (INSTANCE, {"EligibleTime": str(BASE + 7)}),
    "job_requeue": ({"restarts": 0}, {"State": "RUNNING", "Requeue": "0"}),
    "job_restore": ({"force": True}, {"Requeue": "1"}),
    "job_open": ({}, {"PriorityLong": "0", "Reason": "JobHeldUser"}),
    "job_cancel": ({}, {"State": "RUNNING"}),
}


class Bench:
    """One host with a Slurm, where modules are run."""

    def __init__(self, tmp_path: Path) -> None:
        for name in ("slurm", "scratch"):
            (tmp_path / name).mkdir()
        self.slurm = Slurm(tmp_path / "slurm")
        self.scratch = tmp_path / "scratch"
        self.state = tmp_path / "state"

    def run(
        self,
        name: str,
        check: bool = False,
        before: Callable[[], None] = lambda: None,
        **given: Any,
    ) -> Ran:
        """Run a module with what it needs, and with what is given in place of that."""
        needs = NEEDS[name][0]
        ttl = given.pop("in_seconds", 60)
        params = {
            "state_dir": str(self.state),
            "cache_path": str(self.scratch / "cache"),
            "preflight": fact(),
            "_round": {"deadline": time.time() + ttl, "state": None, "wait": 1.0},
            **needs,
            **given,
        }
        wanted = {key: value for key, value in params.items() if value is not None}
        return run_module(name, wanted, self.slurm, self.scratch, check, before)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def outcomes(result: dict[str, Any]) -> dict[str, str]:
    return {one["job_id"]: one["outcome"] for one in result["results"]}


def refused(bench: Bench, ran: Ran) -> str:
    """The message of a module that did nothing, and said why in words."""
    assert ran.status == 1
    result = ran.result
    assert result["failed"] is True
    assert "Traceback" not in ran.stdout
    assert "exception" not in result
    assert bench.slurm.writes == []
    message = str(result["msg"])
    assert message
    return message


@pytest.mark.parametrize("name", list(NEEDS))
def test_check_first_and_second_run(bench: Bench, name: str) -> None:
    bench.slurm.jobs([job("5", **NEEDS[name][1])])
    before = bench.slurm.job("5")
    predicted = bench.run(name, check=True, jobs=["5"])
    assert (predicted.status, outcomes(predicted.result)) == (0, {"5": "applied"})
    assert (bench.slurm.writes, bench.slurm.job("5")) == ([], before)
    first = bench.run(name, jobs=["5"])
    assert (first.status, outcomes(first.result)) == (0, {"5": "applied"})
    assert first.result["changed"] is predicted.result["changed"] is True
    assert first.result["diff"]["before"] != first.result["diff"]["after"]
    assert first.result["summary"] == {"applied": 1}
    assert first.result["round"]["finished"] is True
    assert bench.slurm.job("5") != before
    sent = len(bench.slurm.writes)
    assert sent == (3 if name == "job_requeue" else 1)
    second = bench.run(name, jobs=["5"])
    assert (second.status, outcomes(second.result)) == (0, {"5": "unchanged"})
    assert second.result["changed"] is False
    assert second.result["diff"]["before"] == second.result["diff"]["after"]
    assert len(bench.slurm.writes) == sent


def test_a_selection(bench: Bench) -> None:
    bench.slurm.jobs([job("5"), job("6", EligibleTime=str(BASE + 7))])
    ran = bench.run("job_hold", select={"states": ["PENDING"]})
    assert outcomes(ran.result) == {"5": "applied", "6": "unchanged"}
    assert ran.status == 0


# Bad input

BAD_IDS: list[Any] = [
    "12.batch",
    "abc",
    "1;rm",
    "$(id)",
    "-5",
    "--help",
    "0",
    "007",
    "+7",
    "0x10",
    "5 6",
    "5,6",
    " 5",
    "5\n",
    "",
    "9" * 400,
    "4294967295",
    "5_",
    "5_[1-2",
    "5_99999999",
    "5+999",
    "s12345678901234",
    "é",
    "a\x00b",
    "JobId=5",
    None,
    [],
    True,
]


@pytest.mark.parametrize("bad", BAD_IDS, ids=repr)
def test_ids_that_are_none(bench: Bench, bad: Any) -> None:
    bench.slurm.jobs([job("5")])
    message = refused(bench, bench.run("job_hold", jobs=["5", bad]))
    assert bench.slurm.calls == []
    assert len(message) < 3000


@pytest.mark.parametrize("name", list(NEEDS))
def test_every_module_refuses_ids_that_are_none(bench: Bench, name: str) -> None:
    refused(bench, bench.run(name, jobs=["5", "12.batch"]))
    assert bench.slurm.calls == []


def test_no_jobs(bench: Bench) -> None:
    ran = bench.run("job_hold", jobs=[])
    assert (ran.status, ran.result["changed"], ran.result["results"]) == (0, False, [])
    refused(bench, bench.run("job_hold"))
    refused(bench, bench.run("job_hold", jobs=["5"], select={"users": ["user1"]}))
    refused(bench, bench.run("job_hold", select={}))
    refused(bench, bench.run("job_hold", select={"users": []}))


def test_duplicates(bench: Bench) -> None:
    bench.slurm.jobs([job("5")])
    ran = bench.run("job_hold", jobs=["5", 5, "5"])
    assert outcomes(ran.result) == {"5": "applied"}
    assert len(bench.slurm.writes) == 1


def test_unknown_and_huge_ids(bench: Bench) -> None:
    bench.slurm.jobs([job("5")])
    ran = bench.run("job_hold", jobs=["5", "99999", "2147483647"])
    assert ran.status == 1
    assert outcomes(ran.result) == {
        "5": "applied", "99999": "not_found", "2147483647": "not_found",
    }  # fmt: skip
    assert ran.result["changed"] is True


@pytest.mark.parametrize(
    "given",
    [
        {"instance": 0},
        {"instance": -1},
        {"instance": 1000000000},
        {"instance": 10**40},
        {"instance": "seven"},
        {"instance": 1.5},
        {"instance": None},
        {"instance": [7]},
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", ["job_hold", "job_release"])
def test_instances_that_are_none(bench: Bench, name: str, given: dict[str, Any]) -> None:
    refused(bench, bench.run(name, jobs=["5"], **given))
    assert bench.slurm.calls == []


@pytest.mark.parametrize(
    "given",
    [
        {"restarts": None},
        {"restarts": "x"},
        {"restarts": 0, "started_before": 5},
        {"restarts": None, "started_before": "yesterday"},
    ],
    ids=repr,
)
def test_executions_that_are_none(bench: Bench, given: dict[str, Any]) -> None:
    refused(bench, bench.run("job_requeue", jobs=["5"], **given))
    assert bench.slurm.calls == []


def test_an_execution_that_can_not_be(bench: Bench) -> None:
    bench.slurm.jobs([job("5", State="RUNNING")])
    for restarts in (-1, 10**30):
        ran = bench.run("job_requeue", jobs=["5"], restarts=restarts)
        expected = "unchanged" if restarts < 0 else "rejected"
        assert outcomes(ran.result) == {"5": expected}
    assert bench.slurm.writes == []


@pytest.mark.parametrize("ttl", [-1, 0, 0.9, -1e9, -1e30])
def test_a_deadline_in_the_past(bench: Bench, ttl: float) -> None:
    bench.slurm.jobs([job("5")])
    ran = bench.run("job_hold", jobs=["5"], in_seconds=ttl)
    assert (ran.status, outcomes(ran.result)) == (1, {"5": "expired"})
    assert bench.slurm.writes == []


def test_the_epoch_is_a_deadline_that_has_passed(bench: Bench) -> None:
    bench.slurm.jobs([job("5")])
    message = {"deadline": 0, "state": None, "wait": 1.0}
    ran = bench.run("job_hold", jobs=["5"], _round=message)
    assert outcomes(ran.result) == {"5": "expired"}


@pytest.mark.parametrize("message", [{}, {"deadline": None}, None])
def test_without_its_action_plugin(bench: Bench, message: Any) -> None:
    """Nobody has fixed a deadline, and a module must not start one late."""
    text = refused(bench, bench.run("job_hold", jobs=["5"], _round=message))
    assert "action plugin" in text


@pytest.mark.parametrize(
    "given",
    [
        {"command_timeout": 0},
        {"command_timeout": -5},
        {"command_timeout": 1e30},
        {"command_timeout": "soon"},
        {"slurm_conf": "/etc/x\ny"},
        {"state_dir": "/tmp/x\x00y"},
        {"state_dir": "/tmp/\x1b[31m"},
        {"cache_path": "x" * 5000},
        {"settle": "perhaps"},
        {"preflight": "yes"},
        {"select": {"users": ["a"], "colour": ["b"]}},
        {"select": {"names": ["\x00"]}},
        {"unheard_of": 1},
    ],
    ids=repr,
)
def test_options_that_are_none(bench: Bench, given: dict[str, Any]) -> None:
    jobs: dict[str, Any] = {} if "select" in given else {"jobs": ["5"]}
    refused(bench, bench.run("job_hold", **jobs, **given))
    assert bench.slurm.calls == []


# Permission


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"probe": {}}, "no fact of hpcops.slurm.preflight"),
        ({"capabilities": []}, "no fact of hpcops.slurm.preflight"),
        ({"cluster": {"name": "x", "version": "26.05.5", "auth_type": "auth/munge"}}, "preflight"),
    ],
)
def test_a_preflight_that_is_none_of_this_place(
    bench: Bench, change: dict[str, Any], text: str
) -> None:
    assert text in refused(bench, bench.run("job_hold", jobs=["5"], preflight=fact(**change)))


def test_without_a_preflight(bench: Bench) -> None:
    bench.slurm.jobs([job("5", PriorityLong="0")])
    ran = bench.run("job_hold", jobs=["5", "6"], preflight=None)
    assert ran.status == 1
    assert outcomes(ran.result) == {"5": "unsupported", "6": "unsupported"}
    assert "run hpcops.slurm.preflight" in ran.result["msg"]
    selected = bench.run("job_hold", select={"users": ["user1"]}, preflight=None)
    assert "run hpcops.slurm.preflight" in refused(bench, selected)
    opened = bench.run("job_open", jobs=["5"], preflight=None)
    assert outcomes(opened.result) == {"5": "applied"}


def test_a_hold_that_is_not_supported(bench: Bench) -> None:
    """Holds and releases are refused, and nothing else is."""
    hold = {"name": "Hold", "support": "no", "reason": "holds do not hold here"}
    answers = [hold, *fact()["capabilities"][1:]]
    for name in NEEDS:
        ran = bench.run(name, jobs=["5"], preflight=fact(capabilities=answers))
        refused_here = name in ("job_hold", "job_release")
        assert outcomes(ran.result) == {"5": "unsupported" if refused_here else "not_found"}
        assert ("holds do not hold here" in ran.result["msg"]) is refused_here
    assert bench.slurm.writes == []


def test_a_cluster_without_a_landing_bound(bench: Bench) -> None:
    config = bench.slurm.folder / "config"
    text = config.read_text(encoding="utf-8").replace("auth/munge", "auth/none")
    config.write_text(text, encoding="utf-8")
    cluster = {"name": "cl1", "version": "26.05.5", "auth_type": "auth/none"}
    for given in (fact(cluster=cluster), None):
        ran = bench.run("job_hold", jobs=["5"], preflight=given)
        assert outcomes(ran.result) == {"5": "unsupported"}
        assert 'AuthType "auth/none" has no known landing bound' in ran.result["msg"]


def test_an_old_preflight(bench: Bench) -> None:
    old = fact()
    old["probe"]["ran_at"] = time.time() - 100000
    ran = bench.run("job_hold", jobs=["5"], preflight=old)
    assert outcomes(ran.result) == {"5": "unsupported"}


# Faults


def test_refused_by_slurmctld(bench: Bench) -> None:
    bench.slurm.jobs([job("5")])
    bench.slurm.answer(1, "Invalid user id for job 5\n")
    ran = bench.run("job_hold", jobs=["5"])
    assert (ran.status, outcomes(ran.result)) == (1, {"5": "rejected"})
    assert ran.result["results"][0]["failure_class"] == "permission_denied"
    assert "Invalid user id" in ran.result["msg"]


def test_a_wrapper_with_output_of_its_own(bench: Bench) -> None:
    bench.slurm.jobs([job("5")])
    bench.slurm.answer(1, "site policy: no\nInvalid user id for job 5\n")
    ran = bench.run("job_hold", jobs=["5"], settle=False)
    (made,) = ran.result["results"]
    assert (made["outcome"], made["failure_class"]) == ("unknown", "unclassified")
    assert "site policy" in made["message"]
    assert made["may_land_until"] > time.time() + 300


def test_a_round_that_is_not_the_last(bench: Bench) -> None:
    """The next one goes on with what this one left, without asking for the configuration."""
    bench.slurm.jobs([job("5"), job("6", EligibleTime=str(BASE + 7))])
    bench.slurm.answer(1, "something\n")
    deadline = time.time() + 60
    first = bench.run(
        "job_hold", jobs=["5", "6"], _round={"deadline": deadline, "state": None, "wait": 1.0}
    )
    part = first.result["round"]
    assert (first.status, part["finished"], list(part["state"]["aims"])) == (0, False, ["5"])
    bench.slurm.jobs([job("5", EligibleTime=str(BASE + 7)), job("6")])
    config = len([one for one in bench.slurm.calls if one[1:3] == ["show", "config"]])
    second = bench.run(
        "job_hold",
        jobs=["5", "6"],
        preflight=None,
        _round={"deadline": deadline, "state": part["state"], "wait": 1.0},
    )
    assert (second.status, outcomes(second.result)) == (0, {"5": "applied", "6": "unchanged"})
    assert len([one for one in bench.slurm.calls if one[1:3] == ["show", "config"]]) == config
    assert len(bench.slurm.writes) == 1


def test_commands_that_are_not_there(bench: Bench) -> None:
    for name in ("squeue", "scontrol"):
        (bench.slurm.folder / name).unlink()
    message = refused(bench, bench.run("job_hold", jobs=["5"]))
    assert "could not be started" in message


def test_squeue_that_prints_something_else(bench: Bench) -> None:
    (bench.slurm.folder / "squeue").unlink()
    (bench.slurm.folder / "squeue").write_text("#!/bin/sh\necho 'Welcome to cl1'\n")
    (bench.slurm.folder / "squeue").chmod(0o755)
    ran = bench.run("job_hold", jobs=["5"])
    assert "Welcome to cl1" in refused(bench, ran)
    assert ran.result["failure_class"] == "output_unreadable"


def test_a_state_directory_that_is_none(bench: Bench) -> None:
    bench.slurm.jobs([job("5")])
    bench.state.touch()
    assert "journal" in refused(bench, bench.run("job_hold", jobs=["5"]))


def test_no_directory_for_the_scripts_output(bench: Bench) -> None:
    """Nothing was started, and that is known."""
    bench.slurm.jobs([job("5")])

    def nowhere() -> None:
        import tempfile

        tempfile.tempdir = "/nonexistent"

    ran = bench.run("job_hold", jobs=["5"], before=nowhere)
    assert outcomes(ran.result) == {"5": "not_run"}
    assert bench.slurm.writes == []


def test_no_shell(bench: Bench) -> None:
    bench.slurm.jobs([job("5")])

    def alone() -> None:
        os.environ["PATH"] = str(bench.slurm.folder)

    ran = bench.run("job_hold", jobs=["5"], before=alone)
    assert outcomes(ran.result) == {"5": "not_run"}


def test_variables_that_would_mislead_slurm(bench: Bench) -> None:
    """None of them reaches a command, in the script neither."""
    bench.slurm.jobs([job("5")])
    seen = bench.scratch / "environment"
    wrapper = bench.slurm.folder / "timeout"
    wrapper.write_text(f'#!/bin/sh\nenv >> {seen}\nexec /usr/bin/timeout "$@"\n')
    wrapper.chmod(0o755)

    def misled() -> None:
        for name in ("SQUEUE_USERS", "SLURM_JWT", "SLURM_CLUSTERS", "SCONTROL_ALL"):
            os.environ[name] = "x"
        os.environ["SLURM_TIME_FORMAT"] = "relative"

    ran = bench.run("job_hold", jobs=["5"], before=misled)
    assert outcomes(ran.result) == {"5": "applied"}
    variables = dict(line.partition("=")[::2] for line in seen.read_text().splitlines())
    assert not {"SQUEUE_USERS", "SLURM_JWT", "SLURM_CLUSTERS", "SCONTROL_ALL"} & set(variables)
    assert variables["SLURM_TIME_FORMAT"] == "%s"


def test_results_are_plain_json(bench: Bench) -> None:
    """Bytes that are no text are shown, and break nothing."""
    bench.slurm.jobs([job("5", Name="\udcff\udcfe", Comment="\x1b[31m")])
    bench.slurm.answer(1, "caf\u00e9 \udcff\n")
    ran = bench.run("job_hold", jobs=["5"], settle=False)
    assert json.loads(json.dumps(ran.result)) == ran.result

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that read jobs, each in a process of its own: what they take, return and refuse."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.plugin_utils._packed import unpacked
from ansible_collections.hpcops.slurm.tests.unit.old_pythons import controllers_share
from ansible_collections.hpcops.slurm.tests.unit.plugins.modules.processes import (
    Ran,
    Slurm,
    fact,
    job,
    run_module,
)

ASK = ["/usr/bin/test", "{job_id} {node_list} {execution}", "=", "5 n[1-2] 0"]
LOST = {"State": "NODE_FAIL", "NodeList": "n[1-2]", "EndTime": str(int(time.time()) - 86400)}


class Bench:
    """One host with a Slurm, where modules are run."""

    def __init__(self, tmp_path: Path) -> None:
        for name in ("slurm", "scratch"):
            (tmp_path / name).mkdir()
        self.slurm = Slurm(tmp_path / "slurm")
        self.scratch = tmp_path / "scratch"
        self.cache = tmp_path / "cache.json"

    def run(self, name: str, **params: Any) -> Ran:
        """Run a module, perhaps in ``check`` mode; it finds no preflight of its own."""
        check = params.pop("check", False)
        options = {"cache_path": str(self.cache), **params}
        return run_module(name, options, self.slurm, self.scratch, check)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A host without jobs."""
    return Bench(tmp_path)


@controllers_share
def test_packed_or_plain(bench: Bench) -> None:
    bench.slurm.jobs([job("5"), job("6_1", State="RUNNING")])
    plain = bench.run("job_info", fields=["state"]).result
    assert plain["jobs"] == [
        {"job_id": "5", "state": "PENDING"}, {"job_id": "6_1", "state": "RUNNING"}
    ]  # fmt: skip
    short = bench.run("job_info", fields=["state"], _packed=True).result
    assert unpacked(short["packed"]) == plain["jobs"]
    assert "jobs" not in short
    assert plain["changed"] is short["changed"] is False


def test_missing_jobs_and_the_preflight(bench: Bench) -> None:
    bench.slurm.jobs([job("5")])
    read = bench.run("job_info", jobs=["5", "7"]).result
    assert [one["job_id"] for one in read["jobs"]] == ["5"]
    assert read["missing"] == ["7"]
    assert "no valid preflight" in read["reasons"]["7"]
    no = {"name": "AccountingHistory", "support": "no", "reason": "disabled", "source": "probed"}
    given = fact(capabilities=[*fact()["capabilities"], no][::-1])
    read = bench.run("job_info", jobs=["7"], preflight=given).result
    assert "AccountingHistory is no: disabled" in read["reasons"]["7"]
    foreign = fact(cluster={"name": "other", "version": "26.05.5", "auth_type": "auth/munge"})
    refused = bench.run("job_info", jobs=["7"], preflight=foreign)
    assert refused.status == 1
    assert refused.result["failure_class"] == "facts_unusable"
    assert "jobs" not in refused.result


@pytest.mark.parametrize("name", ["job_info", "job_ceased_info"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": ["x"]}, "No job is named by 'x'"),
        ({"jobs": ["5"], "probe_max_age": -1}, "probe_max_age is -1"),
        ({"jobs": ["5"], "cache_path": "/a\nb"}, "cache_path holds a control character"),
        ({"jobs": ["5"], "command_timeout": 0}, "command_timeout is 0"),
    ],
)
def test_bad_options(name: str, options: dict[str, Any], message: str, bench: Bench) -> None:
    more = {"cessation_command": ASK} if name == "job_ceased_info" else {}
    refused = bench.run(name, **options, **more)
    assert refused.status == 1
    assert refused.result["msg"].startswith(message)
    assert bench.slurm.calls == []


@pytest.mark.parametrize("check", [False, True])
def test_ceased(check: bool, bench: Bench) -> None:
    bench.slurm.jobs([job("5", **LOST), job("6", **LOST), job("7")])
    asked = bench.run(
        "job_ceased_info", check=check, jobs=["5", "6", "7"], cessation_command=ASK
    ).result
    found = [(one["job_id"], one["lost"], one["ceased"]) for one in asked["executions"]]
    assert found == [("5", "yes", "yes"), ("6", "yes", "no"), ("7", "no", "unknown")]
    assert asked["changed"] is False
    assert bench.slurm.writes == []


def test_ceased_has_a_time_limit(bench: Bench) -> None:
    bench.slurm.jobs([job("5", **LOST)])
    options = {"cessation_command": ["/bin/sleep", "60{job_id}"], "cessation_timeout": 0.2}
    (entry,) = bench.run("job_ceased_info", jobs=["5"], **options).result["executions"]
    assert (entry["ceased"], entry["rc"]) == ("unknown", None)
    assert entry["reason"] == "the command was ended by its time limit"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cessation_command": ["true"]}, "neither {job_id} nor {node_list}"),
        ({"cessation_command": []}, "names no program"),
        ({"cessation_command": ASK, "cessation_timeout": float("nan")}, "cessation_timeout is nan"),
    ],
)
def test_questions_that_are_none(options: dict[str, Any], message: str, bench: Bench) -> None:
    refused = bench.run("job_ceased_info", jobs=["5"], **options)
    assert refused.status == 1
    assert message in refused.result["msg"]
    assert bench.slurm.calls == []

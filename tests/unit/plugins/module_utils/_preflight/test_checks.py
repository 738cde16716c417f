# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks: verdict, evidence, remedy."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    Configuration,
    Controller,
    parse_configuration,
    parse_controllers,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    Reply,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight import checks
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.capabilities import (
    READ_ONLY,
    probed,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.verdicts import Check
from ansible_collections.hpcops.slurm.tests.unit.case_words import case, runs
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._preflight.samples import (
    configuration,
)

HEADER = "Configuration data as of 1796035468\n"
NOTHING = Configuration(None)


def verdict(found: Check) -> str:
    """The verdict; what is not right says why, and what is wrong also what to do."""
    assert found.evidence
    if found.verdict.value in ("warn", "fail"):
        assert found.remedy
    if found.verdict.value == "pass":
        assert found.remedy == ""
    return found.verdict.value


# This host


def test_commands() -> None:
    found = dict.fromkeys(checks.COMMANDS, "/usr/bin/x")
    assert verdict(checks.commands(found)) == "pass"
    missing = checks.commands({**found, "sacct": None, "date": ""})
    assert verdict(missing) == "fail"
    assert missing.evidence == "not on PATH: sacct, date"


@pytest.mark.parametrize(
    ("named", "places", "answered", "wanted", "evidence"),
    [
        ("/x.conf", ["/etc/slurm/slurm.conf"], True, "pass", "SLURM_CONF = /x.conf"),
        (None, ["/etc/slurm/slurm.conf"], True, "pass", "/etc/slurm/slurm.conf"),
        (None, [], True, "pass", "no file in a usual place; scontrol found its own source"),
        (None, [], False, "unknown", "no slurm.conf in a usual place, and scontrol got none"),
    ],
)
def test_configuration_source(
    named: str | None, places: list[str], answered: bool, wanted: str, evidence: str
) -> None:
    found = checks.configuration_source(named, places, answered)
    assert verdict(found) == wanted
    assert found.evidence.startswith(evidence[:40])


def test_environment() -> None:
    assert verdict(checks.environment([])) == "pass"
    found = checks.environment(["SLURM_JWT", "SQUEUE_FORMAT"])
    assert verdict(found) == "warn"
    assert "SLURM_JWT, SQUEUE_FORMAT" in found.evidence


# The controllers


@pytest.mark.parametrize(("name", "run", "expected"), list(runs("C-02")))
def test_case_c_02_controllers(name: str, run: dict[str, Any], expected: dict[str, Any]) -> None:
    del name
    found = checks.controller(parse_controllers(run["stdout"]))
    wanted = {("yes", "no"): "pass", ("yes", "yes"): "warn", ("no", "yes"): "fail"}
    key = (expected["usable"], expected["degraded"])
    assert verdict(found) == wanted.get(key, "unknown")
    for one in expected["controllers"]:
        word = {"yes": "UP", "no": "DOWN"}[one["up"]]
        assert f"{one['role']} {one['host']} is {word}" in found.evidence


def test_a_ping_that_proves_nothing_is_no_failure() -> None:
    doubtful = Controller("primary", "c1", Answer.UNKNOWN)
    assert verdict(checks.controller([doubtful])) == "unknown"
    up = Controller("backup", "c2", Answer.YES)
    assert verdict(checks.controller([doubtful, up])) == "unknown"


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        ("22.05.8", "pass"),
        ("24.11.5", "pass"),
        ("25.11.8-0pre1", "pass"),
        ("26.05.5", "pass"),
        ("26.05.100", "warn"),
        ("26.11.0", "warn"),
        ("21.08.8", "warn"),
        ("main", "unknown"),
        (None, "unknown"),
    ],
)
def test_version(version: str | None, wanted: str) -> None:
    assert verdict(checks.version(configuration(SLURM_VERSION=version))) == wanted


def test_live_configuration() -> None:
    found = checks.live_configuration(configuration(), None)
    assert verdict(found) == "pass"
    assert found.evidence == "17 settings, HASH_VAL = Match"
    different = configuration(HASH_VAL="Different Ours=0x1 Slurmctld=0x2")
    assert verdict(checks.live_configuration(different, None)) == "warn"
    odd = parse_configuration(HEADER + "a line of another form\nA = 1\n")
    found = checks.live_configuration(odd, None)
    assert verdict(found) == "warn"
    assert "a line of another form" in found.evidence
    error = SlurmError("Could not read \udcff", FailureClass.CONTROLLER_UNREACHABLE, "Look")
    found = checks.live_configuration(NOTHING, error)
    assert verdict(found) == "fail"
    assert found.as_fact()["evidence"] == "Could not read \\xff"


# Authentication


@pytest.mark.parametrize(("name", "run", "expected"), list(runs("H-03")))
def test_case_h_03_auth_type(name: str, run: dict[str, Any], expected: dict[str, Any]) -> None:
    del name
    assert verdict(checks.auth(parse_configuration(HEADER + run["text"]))) == expected["verdict"]


@pytest.mark.parametrize(
    ("auth", "info", "wanted", "evidence"),
    [
        ("auth/munge", "(null)", "pass", "300 s (AuthInfo = (null))"),
        ("auth/munge", "ttl=5", "pass", "5 s (AuthInfo = ttl=5)"),
        ("auth/slurm", "(null)", "pass", "60 s (AuthInfo = (null))"),
        ("auth/munge", "ttl=x", "unknown", "AuthInfo = ttl=x"),
        ("auth/munge", None, "unknown", "no line AuthInfo"),
        ("auth/none", "(null)", "fail", 'AuthType "auth/none" has no known landing bound'),
        (None, "(null)", "unknown", "no line AuthType"),
    ],
)
def test_credentials(auth: str | None, info: str | None, wanted: str, evidence: str) -> None:
    found = checks.credentials(configuration(AuthType=auth, AuthInfo=info))
    assert (verdict(found), found.evidence) == (wanted, evidence)


# Memory and accounting


@pytest.mark.parametrize(("name", "run", "expected"), list(runs("A-03")))
def test_case_a_03_min_job_age(name: str, run: dict[str, Any], expected: dict[str, Any]) -> None:
    del name
    policy = case("A-03")["input"]["policy"]
    assert policy["warn_above_seconds"] == checks.LONG_MIN_JOB_AGE
    read = parse_configuration(HEADER + run["text"])
    found = checks.min_job_age(read, policy["required_seconds"])
    assert verdict(found) == expected["verdict"]
    assert expected.get("evidence_contains", "") in found.evidence


@pytest.mark.parametrize(
    ("raw", "poll", "wanted"),
    [
        ("300 sec", None, "pass"),
        ("2 sec", None, "warn"),
        ("2 sec", 2, "warn"),
        ("60 sec", 60, "pass"),
        ("60 sec", 61, "fail"),
        ("7200 sec", 30, "pass"),
        ("7201 sec", 30, "warn"),
        ("UNLIMITED", 30, "unknown"),
        (None, 30, "unknown"),
        (None, None, "unknown"),
    ],
)
def test_min_job_age(raw: str | None, poll: int | None, wanted: str) -> None:
    assert verdict(checks.min_job_age(configuration(MinJobAge=raw), poll)) == wanted


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("accounting_storage/slurmdbd", "pass"),
        ("accounting_storage/none", "warn"),
        ("(null)", "warn"),
        (None, "unknown"),
    ],
)
def test_accounting_storage(raw: str | None, wanted: str) -> None:
    assert verdict(checks.accounting_storage(configuration(AccountingStorageType=raw))) == wanted


@pytest.mark.parametrize(("name", "run", "expected"), list(runs("H-02")))
def test_case_h_02_store_flags(name: str, run: dict[str, Any], expected: dict[str, Any]) -> None:
    del name
    read = parse_configuration(HEADER + run["text"]) if run["rc"] == 0 else NOTHING
    wanted = {"yes": "pass", "no": "warn", "unknown": "unknown"}[expected["flags"]["job_comment"]]
    assert verdict(checks.accounting_store_flags(read)) == wanted


DATABASE = "sacct: error: Problem talking to the database: Connection refused"


@pytest.mark.parametrize(
    ("reply", "wanted", "remedy"),
    [
        (Reply((), 0, b"", b""), "pass", ""),
        (Reply((), 1, b"", b"Slurm accounting storage is disabled\n"), "warn", "slurmdbd"),
        (Reply((), 1, b"", DATABASE.encode()), "fail", "slurmdbd"),
        (Reply((), 124, b"", b"", timed_out=True), "fail", "slurmdbd"),
        (Reply((), 1, b"", b"sacct: error: something new"), "unknown", ""),
        (Reply((), 127, b"", b"No such file", not_started=True), "unknown", "Install"),
        (Reply((), 1, b"", b"sacct: error: Munge encode failed: x"), "unknown", "munged"),
        (None, "unknown", ""),
    ],
)
def test_accounting_reachable(reply: Reply | None, wanted: str, remedy: str) -> None:
    found = checks.accounting_reachable(reply)
    assert verdict(found) == wanted
    assert remedy in found.remedy
    assert "slurmctld" not in found.remedy.replace("restart slurmctld", "")


# Settings that break an answer


@pytest.mark.parametrize(
    ("prolog", "scheduler", "wanted"),
    [
        ("(null)", "(null)", "pass"),
        ("Alloc,Contain", "bf_interval=10", "pass"),
        ("Alloc,ForceRequeueOnFail", "(null)", "warn"),
        ("forcerequeueonfail", "(null)", "warn"),
        ("(null)", "bf_interval=10,requeue_on_resume_failure", "warn"),
        (None, "(null)", "unknown"),
        ("(null)", None, "unknown"),
    ],
)
def test_requeue_settings(prolog: str | None, scheduler: str | None, wanted: str) -> None:
    read = configuration(PrologFlags=prolog, SchedulerParameters=scheduler)
    assert verdict(checks.requeue_settings(read)) == wanted


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [("(null)", "pass"), ("lua", "warn"), ("all_partitions,lua", "warn"), (None, "unknown")],
)
def test_job_submit_plugins(raw: str | None, wanted: str) -> None:
    assert verdict(checks.job_submit_plugins(configuration(JobSubmitPlugins=raw))) == wanted


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("none", "pass"),
        ("usage", "pass"),
        ("jobs,usage", "warn"),
        ("Jobs", "warn"),
        (None, "unknown"),
    ],
)
def test_private_data(raw: str | None, wanted: str) -> None:
    assert verdict(checks.private_data(configuration(PrivateData=raw))) == wanted


def test_checks_of_the_configuration_are_in_order_and_never_claim() -> None:
    names = [one.name for one in checks.of_configuration(configuration(), None, None)]
    assert names == [
        "auth_type",
        "credential_lifetime",
        "min_job_age",
        "accounting_storage",
        "accounting_store_flags",
        "accounting_reachable",
        "requeue_settings",
        "job_submit_plugins",
        "private_data",
    ]
    assert {verdict(one) for one in checks.of_configuration(NOTHING, None, 30)} == {"unknown"}


# The probe

YES = probed(Answer.YES)
UNSEEN = probed(Answer.UNKNOWN, "submitting the probe: Invalid account", passing=True)
LATER = probed(Answer.NO, "Problem talking to the database", passing=True)


@pytest.mark.parametrize(
    ("job", "hold", "accounting", "refused", "trouble", "wanted", "evidence"),
    [
        ("probe job 41", YES, YES, False, "", "pass", "probe job 41"),
        ("probe job 41", YES, LATER, False, "", "unknown", "Problem talking"),
        (None, UNSEEN, UNSEEN, True, "", "fail", "Invalid account"),
        (None, UNSEEN, UNSEEN, False, "", "unknown", "there was no probe"),
        (None, probed(Answer.UNKNOWN, READ_ONLY), YES, False, "", "unknown", READ_ONLY),
        ("probe job 41", YES, YES, False, "job 41 is there", "fail", "job 41 is there"),
        (None, UNSEEN, UNSEEN, True, "job 7 is there", "fail", "job 7 is there"),
    ],
)
def test_probe(
    job: str | None,
    hold: Any,
    accounting: Any,
    refused: bool,
    trouble: str,
    wanted: str,
    evidence: str,
) -> None:
    found = checks.probe(job, hold, accounting, refused, trouble)
    assert verdict(found) == wanted
    assert evidence in found.evidence

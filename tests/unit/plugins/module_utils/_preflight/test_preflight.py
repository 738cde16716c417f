# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole rounds on a fake Slurm, driven as the action plugin drives them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Commands
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Reply
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight import preflight
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.cache import Lock
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.capabilities import ACTIONS
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.checks import COMMANDS
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.facts import (
    SETTINGS,
    Terms,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.owner import Owner
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.preflight import (
    Preflight,
    Request,
    Round,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.rounds import (
    Exchange,
    Message,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.started import Place
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._preflight.fake_slurm import (
    CUT_OFF,
    HUNG,
    NO_CONTROLLER,
    FakeSlurm,
    error,
)
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._preflight.samples import (
    AS_OF,
    SPEC,
    configuration,
    spec,
)

WRITERS = ("sbatch", "scancel")
CHECKS = """commands configuration_source controller version environment live_configuration
auth_type credential_lifetime clock_skew min_job_age accounting_storage accounting_store_flags
accounting_reachable requeue_settings job_submit_plugins private_data probe""".split()


class FakeCommands(Commands):
    """Commands of a fake Slurm on a host that has them all."""

    def __init__(self, slurm: FakeSlurm, caller: Mapping[str, str]) -> None:
        super().__init__(10, None, {"PATH": "/bin", **caller})
        self.slurm = slurm
        self.missing: tuple[str, ...] = ()

    def path_of(self, program: str) -> str | None:
        return None if program in self.missing else f"/usr/bin/{program}"

    def run(
        self,
        program: str,
        *arguments: str,
        time_limit: float | None = None,
        text_in: str | None = None,
    ) -> Reply:
        if program in self.missing:
            return Reply((program, *arguments), 127, b"", b"No such file", not_started=True)
        return self.slurm(program, *arguments, text_in=text_in, time_limit=time_limit)

    @contextmanager
    def beside(self, program: str, *arguments: str) -> Iterator[Callable[[], Reply]]:
        yield lambda: self.run(program, *arguments)


@dataclass
class Host:
    """One host, on which preflights are run round by round."""

    cache: Path
    slurm: FakeSlurm = field(default_factory=FakeSlurm)
    caller: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    user: str = "root"
    between: Callable[[int], None] = lambda number: None

    def preflight(
        self, mode: str = "auto", check: bool = False, max_age: int = 3600, **more: Any
    ) -> Answer:
        """What the module returns at last, and every round before."""
        terms = Terms(mode, max_age, Place(self.user, "ctl1"), more.pop("rules", ACTIONS), False)
        request = Request(
            terms=terms,
            cache_path=str(self.cache),
            read_only=check or mode == "never",
            poll_interval=more.pop("poll_interval", None),
            clock_skew_max=5.0,
        )
        exchange = Exchange()
        rounds: list[Round] = []
        while not exchange.finished:
            assert len(rounds) < 40, "it does not end"
            message = Message.read(json.loads(json.dumps(exchange.message())))
            commands = FakeCommands(self.slurm, self.caller)
            commands.missing = self.missing
            ended = Preflight(commands, request, message).round()
            json.dumps(ended.part, allow_nan=False)
            rounds.append(ended)
            exchange.take(json.loads(json.dumps(ended.part)), AS_OF, AS_OF + 0.5)
            self.between(len(rounds))
        answer = {"ansible_facts": {"slurm_preflight": rounds[-1].facts}}
        exchange.complete(answer)
        json.dumps(rounds[-1].facts, allow_nan=False, ensure_ascii=False).encode("utf-8")
        return Answer(rounds)


@dataclass
class Answer:
    """What came of a preflight."""

    rounds: list[Round]

    @property
    def last(self) -> Round:
        return self.rounds[-1]

    @property
    def facts(self) -> dict[str, Any]:
        assert self.last.facts is not None
        return self.last.facts

    def support(self, name: str) -> tuple[str, str]:
        (found,) = (one for one in self.facts["capabilities"] if one["name"] == name)
        return found["support"], found["reason"]

    def check(self, name: str) -> dict[str, str]:
        (found,) = (one for one in self.facts["checks"] if one["name"] == name)
        return dict(found)

    @property
    def warnings(self) -> list[str]:
        return [text for one in self.rounds for text in one.warnings]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which only the pauses move."""
    now = [float(AS_OF)]
    monkeypatch.setattr(time, "time", lambda: now[0])
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    return now


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path / "facts.d" / "slurm_preflight.fact")


KEPT = spec("accounting_history", "kept") + "; AccountingStoreFlags=job_comment"


# A sound cluster


def test_probing(host: Host) -> None:
    found = host.preflight()
    assert (found.last.changed, found.last.error, found.warnings) == (True, None, [])
    assert found.support("Hold") == ("yes", "")
    assert found.support("AccountingHistory") == ("yes", KEPT)
    facts = found.facts
    assert facts["format"] == 1
    assert facts["cluster"] == {
        "name": "alpha",
        "version": "24.11.5",
        "auth_type": "auth/munge",
        "auth_alternates": [],
        "usable": "yes",
        "degraded": "no",
        "controllers": [{"role": "primary", "host": "ctl1", "up": "yes"}],
    }
    assert list(facts["settings"]) == list(SETTINGS)
    assert [one["name"] for one in facts["capabilities"]] == [
        one["name"] for one in SPEC["capabilities"]
    ]
    assert [one["action"] for one in facts["rules"]] == list(ACTIONS)
    assert [one["name"] for one in facts["checks"]] == CHECKS
    assert {one["verdict"] for one in facts["checks"]} == {"pass"}, facts["checks"]
    assert facts["declarations"]["call_bound"] == 5 + 300 + 1 + 10 + 1  # the skew's upper end is 1
    probe = facts["probe"]
    assert (probe["cached"], probe["job_id"], probe["user"]) == (False, "41", "root")
    assert (probe["host"], probe["skew"], probe["removed_jobs"]) == ("ctl1", 1, [])
    assert probe["valid_until"] == probe["ran_at"] + 3600
    assert host.slurm.living == []


def test_a_second_run_takes_the_cached_answers(host: Host) -> None:
    first = host.preflight()
    host.slurm.calls.clear()
    second = host.preflight()
    assert host.slurm.programs == ["scontrol", "sacct"]
    assert (second.last.changed, len(second.rounds)) == (False, 1)
    expected = {**first.facts["probe"], "cached": True, "age": second.facts["probe"]["age"]}
    assert second.facts["probe"] == expected
    assert second.facts["capabilities"] == first.facts["capabilities"]
    assert second.facts["declarations"] == first.facts["declarations"]
    assert second.facts["checks"] == first.facts["checks"]


def test_always_probes_again(host: Host) -> None:
    host.preflight()
    found = host.preflight("always")
    assert (found.last.changed, found.facts["probe"]["job_id"]) == (True, "42")
    assert host.preflight().facts["probe"]["job_id"] == "42"


def test_stale_answers_are_probed_again(host: Host) -> None:
    host.preflight()
    document = json.loads(host.cache.read_text())
    document["probes"][0]["ran_at"] -= 3601
    host.cache.write_text(json.dumps(document))
    found = host.preflight()
    assert (found.last.changed, found.facts["probe"]["job_id"]) == (True, "42")


@pytest.mark.parametrize(
    "changed",
    [
        {"ClusterName": "beta"},
        {"SLURM_VERSION": "25.05.1"},
        {"AuthType": "auth/slurm"},
        {"AuthInfo": "ttl=5"},
        {"AccountingStoreFlags": "job_comment,job_env"},
        {"AccountingStorageType": "(null)"},
    ],
)
def test_answers_of_other_settings_are_probed_again(host: Host, changed: dict[str, str]) -> None:
    host.preflight()
    host.slurm.settings.update(changed)
    assert host.preflight().facts["probe"]["job_id"] == "42"
    # Changed back, the old ones are still good.
    host.slurm.settings.clear()
    assert host.preflight().facts["probe"]["job_id"] == "41"


def test_answers_of_another_user_are_not_taken(host: Host) -> None:
    host.preflight()
    host.user = "user1"
    host.slurm.add("41", UserName="x")
    assert host.preflight("never").support("Hold") == ("unknown", SPEC["hold"]["read_only"])


# Reading only


@pytest.mark.parametrize(
    ("mode", "check", "changed"),
    [("never", False, False), ("never", True, False), ("auto", True, True), ("always", True, True)],
)
def test_reading_only_submits_nothing(host: Host, mode: str, check: bool, changed: bool) -> None:
    found = host.preflight(mode, check)
    assert host.slurm.programs == ["scontrol", "sacct"]
    assert found.last.changed is changed
    for name in ("Hold", "AccountingHistory"):
        assert found.support(name) == ("unknown", "read-only, and no cached probe")
    assert found.check("probe")["verdict"] == "unknown"
    probe = found.facts["probe"]
    assert (probe["ran_at"], probe["job_id"], probe["skew"]) == (None, None, 0)
    assert found.facts["declarations"]["call_bound"] == 5 + 300 + 0 + 10 + 1
    assert not host.cache.exists()


@pytest.mark.parametrize(
    ("mode", "check", "changed"),
    [
        ("never", False, False),
        ("never", True, False),
        ("auto", True, False),
        ("always", True, True),
    ],
)
def test_reading_only_takes_cached_answers(
    host: Host, mode: str, check: bool, changed: bool
) -> None:
    host.preflight()
    before = host.cache.read_bytes()
    host.slurm.calls.clear()
    found = host.preflight(mode, check)
    assert host.slurm.programs == ["scontrol", "sacct"]
    assert (found.last.changed, found.support("Hold")) == (changed, ("yes", ""))
    assert found.facts["probe"]["cached"] is True
    assert host.cache.read_bytes() == before


@pytest.mark.parametrize("mode", ["auto", "always"])
def test_check_mode_predicts_what_the_run_says(host: Host, mode: str) -> None:
    for _time in range(2):
        predicted = host.preflight(mode, check=True).last.changed
        assert host.preflight(mode).last.changed is predicted


# Other clusters


def test_no_landing_bound(host: Host) -> None:
    host.slurm.settings["AuthType"] = "auth/none"
    found = host.preflight()
    assert found.support("Hold") == ("no", spec("hold", "no_bound", type="auth/none"))
    assert found.support("AccountingHistory") == ("yes", KEPT)
    assert found.facts["declarations"]["call_bound"] == 0
    offered = {one["name"]: one["offered"] for one in found.facts["interfaces"]}
    assert (offered["Holder"], offered["Requeuer"]) == ("no", "no")
    assert all(call[1] == "show" for call in host.slurm.of("scontrol"))
    assert host.preflight().facts["probe"]["cached"] is True


@pytest.mark.parametrize(
    "changed", [{"AuthType": None}, {"AuthInfo": "ttl=soon"}, {"MessageTimeout": None}]
)
def test_a_bound_that_was_not_read(host: Host, changed: dict[str, str | None]) -> None:
    host.slurm.settings.update(changed)
    found = host.preflight()
    assert found.support("Hold")[0] == "unknown"
    assert found.facts["declarations"]["call_bound"] == "unknown"
    assert not host.cache.exists()


def test_comments_that_are_not_kept(host: Host) -> None:
    host.slurm.settings["AccountingStoreFlags"] = "(null)"
    reason = spec("accounting_history", "not_kept") + "; AccountingStoreFlags=(null)"
    assert host.preflight().support("AccountingHistory") == ("yes", reason)
    assert host.preflight().facts["probe"]["cached"] is True


def test_no_accounting(host: Host) -> None:
    host.slurm.accounting = False
    host.slurm.settings.update(AccountingStorageType="(null)", AccountingStoreFlags="(null)")
    found = host.preflight()
    reason = spec("accounting_history", "disabled") + "; AccountingStoreFlags=(null)"
    assert found.support("AccountingHistory") == ("no", reason)
    assert found.facts["declarations"]["polled_loss"]["execution"] == 0
    assert found.check("accounting_reachable")["verdict"] == "warn"
    assert host.preflight().facts["probe"]["cached"] is True


# What passes is told, and not kept

DATABASE = error("sacct: error: Problem talking to the database: Connection refused\n")
SACCT_SILENT = Reply((), 124, b"", b"", timed_out=True)


@pytest.mark.parametrize(
    ("reply", "support", "reason", "verdict"),
    [
        (DATABASE, "no", "Problem talking to the database", "fail"),
        (SACCT_SILENT, "unknown", "sacct: ", "fail"),
        (
            error("sacct: error: new\n", 2),
            "unknown",
            "sacct exited 2: sacct: error: new",
            "unknown",
        ),
    ],
)
def test_accounting_that_fails_for_a_time(
    host: Host, reply: Reply, support: str, reason: str, verdict: str
) -> None:
    host.slurm.fail.update({("sacct", number): reply for number in range(1, 5)})
    found = host.preflight()
    assert found.support("Hold") == ("yes", "")
    assert found.support("AccountingHistory")[0] == support
    assert reason in found.support("AccountingHistory")[1]
    assert found.check("accounting_reachable")["verdict"] == verdict
    assert found.check("probe")["verdict"] == "unknown"
    assert found.facts["probe"]["valid_until"] is None
    assert not host.cache.exists()
    host.slurm.fail.clear()
    assert host.preflight().support("AccountingHistory") == ("yes", KEPT)


def test_a_hold_that_was_not_seen_is_not_kept(host: Host) -> None:
    host.slurm.fail["scontrol", 2] = HUNG
    found = host.preflight()
    assert found.support("Hold")[0] == "unknown"
    assert found.support("AccountingHistory") == ("yes", KEPT)
    assert not host.cache.exists()


def test_a_hold_that_was_refused_is_kept(host: Host) -> None:
    host.slurm.fail["scontrol", 2] = error("Unspecified error for job 41\n")
    reason = spec("hold", "placing") + " Unspecified error for job 41"
    for _time in range(2):
        assert host.preflight().support("Hold") == ("no", reason)
    assert len(host.slurm.of("sbatch")) == 1


def test_a_submission_that_is_refused(host: Host) -> None:
    host.slurm.fail["sbatch", 1] = error(
        "sbatch: error: Batch job submission failed: Invalid account\n"
    )
    found = host.preflight()
    for name in ("Hold", "AccountingHistory"):
        support, reason = found.support(name)
        assert support == "unknown"
        assert reason.startswith("submitting the probe: ")
    check = found.check("probe")
    assert check["verdict"] == "fail"
    assert "Invalid account" in check["evidence"]
    assert found.last.changed is False
    assert found.last.error is None
    assert not host.cache.exists()


def test_a_submission_that_is_not_answered(host: Host) -> None:
    host.slurm.fail["sbatch", 1] = HUNG
    found = host.preflight()
    assert found.support("Hold")[0] == "unknown"
    assert found.last.changed is True
    assert "may still appear" in found.check("probe")["evidence"]


# The wait


def test_a_row_that_comes_late_takes_more_rounds(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = FakeSlurm()
    monkeypatch.setattr(host.slurm, "_account", elsewhere._account)

    def between(number: int) -> None:
        if number == 4:
            host.slurm.rows.extend(elsewhere.rows)

    host.between = between
    found = host.preflight()
    assert found.support("AccountingHistory") == ("yes", KEPT)
    waits = [one.part for one in found.rounds[:-1]]
    assert all(part["waiting"] and part["limit"] == 60 for part in waits)
    waited = [part["waited"] for part in waits]
    assert waited == sorted(waited)
    assert len(waited) == 4
    assert found.facts["probe"]["valid_until"] is not None


def test_a_row_that_never_comes(
    host: Host, monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    monkeypatch.setattr(host.slurm, "_account", lambda found: None)
    found = host.preflight()
    support, reason = found.support("AccountingHistory")
    assert support == "unknown"
    assert reason.startswith(spec("accounting_history", "no_row", id="41"))
    assert 8 <= len(found.rounds) <= 12
    assert clock[0] - AS_OF < 62
    assert not host.cache.exists()


def test_a_controller_that_goes_away_between_rounds(host: Host) -> None:
    """The job is over by then; what was cleaned and what was seen of it is still told."""
    host.slurm.add("7", Comment=Owner("ctl1", *dead_process()).comment())

    def between(number: int) -> None:
        if number == 1:
            calls = len(host.slurm.of("scontrol"))
            host.slurm.fail["scontrol", calls + 1] = NO_CONTROLLER

    host.between = between
    found = host.preflight()
    assert len(found.rounds) == 2
    assert found.last.error is not None
    assert found.last.changed is True
    assert found.support("Hold")[0] == "unknown"
    assert found.facts["probe"]["removed_jobs"] == ["7"]
    assert host.slurm.living == []


def dead_process() -> tuple[int, int, int]:
    mine = Owner.this("ctl1")
    return mine.space, mine.process, mine.started - 1


# No configuration


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (NO_CONTROLLER, "controller_unreachable"),
        (HUNG, "controller_unreachable"),
        (CUT_OFF, "controller_unreachable"),
        (error("scontrol: error: Munge encode failed: x\n"), "authentication_failed"),
        (error("scontrol: fatal: Unable to process configuration file\n"), "no_config_source"),
        (error("", 0, "Welcome to login1\n"), "output_unreadable"),
        (error("", 0), "output_unreadable"),
        (error("sudo: a password is required\n"), "unclassified"),
    ],
)
def test_no_configuration_fails_with_unknown_everywhere(
    host: Host, reply: Reply, kind: str
) -> None:
    host.slurm.fail["scontrol", 1] = reply
    host.slurm.ping = "Slurmctld(primary) at ctl1 is DOWN\n"
    found = host.preflight()
    assert found.last.error is not None
    assert found.last.error.failure.value == kind
    assert (found.last.changed, len(found.rounds)) == (False, 1)
    facts = found.facts
    assert set(facts["settings"].values()) == {"unknown"}
    for name in ("name", "version", "auth_type", "auth_alternates"):
        assert facts["cluster"][name] == "unknown"
    for name in ("Hold", "AccountingHistory"):
        assert found.support(name) == ("unknown", found.last.error.message)
    assert facts["declarations"]["call_bound"] == "unknown"
    verdicts = {one["name"]: one["verdict"] for one in facts["checks"]}
    assert verdicts["live_configuration"] == "fail"
    assert verdicts["probe"] == "unknown"
    assert verdicts["auth_type"] == verdicts["min_job_age"] == "unknown"
    assert not set(host.slurm.programs) & set(WRITERS)
    expected = {"no_config_source": ("unknown", 1)}.get(kind, ("no", 2))
    assert (facts["cluster"]["usable"], len(host.slurm.of("scontrol"))) == expected


def test_a_missing_command_fails_clearly(host: Host) -> None:
    host.missing = ("scontrol",)
    found = host.preflight()
    assert found.last.error is not None
    assert found.last.error.failure.value == "command_missing"
    assert found.check("commands")["evidence"] == "not on PATH: scontrol"
    assert host.slurm.calls == []
    assert found.facts["cluster"]["usable"] == "unknown"


@pytest.mark.parametrize("program", [name for name in COMMANDS if name not in ("timeout", "date")])
def test_any_missing_command_leaves_no_wrong_answer(host: Host, program: str) -> None:
    host.missing = (program,)
    found = host.preflight()
    hold, history = found.support("Hold")[0], found.support("AccountingHistory")[0]
    assert found.check("commands")["verdict"] == "fail"
    if program in ("scontrol", "sbatch"):
        assert (hold, history) == ("unknown", "unknown")
    elif program == "sacct":
        assert (hold, history) == ("yes", "unknown")
    elif program == "squeue":
        assert hold == "unknown"
    if program == "scancel":
        assert found.check("probe")["verdict"] == "fail"
        assert "still there" in found.check("probe")["evidence"]
    elif program == "squeue":  # it was cancelled, and nobody could see it
        assert found.check("probe")["verdict"] == "fail"
    if program in ("sacct", "squeue"):
        assert host.slurm.living == []
    assert "no" not in (hold, history)


def test_slurm_conf_that_is_not_there_runs_nothing(host: Host) -> None:
    host.caller["SLURM_CONF"] = "/no/such/slurm.conf"
    found = host.preflight()
    assert found.last.error is not None
    assert found.last.error.failure.value == "no_config_source"
    assert "/no/such/slurm.conf" in found.last.error.message
    assert host.slurm.calls == []


def test_variables_are_named(host: Host) -> None:
    host.caller.update(SQUEUE_FORMAT="%i", SLURM_JWT="x", HOME="/root")
    found = host.preflight()
    assert found.check("environment")["verdict"] == "warn"
    assert "SLURM_JWT, SQUEUE_FORMAT" in found.check("environment")["evidence"]


def test_a_listing_that_contradicts_its_ping(host: Host) -> None:
    host.slurm.ping = "Slurmctld(primary) at ctl1 is DOWN\n"
    found = host.preflight()
    assert found.last.error is None
    assert found.facts["cluster"]["usable"] == "unknown"
    assert found.check("controller")["verdict"] == "unknown"


def test_odd_settings_do_not_break_the_fact(host: Host) -> None:
    odd = "<b>\x1b[31m\udcff{{ 7*7 }}\u202e"
    host.slurm.settings.update(
        dict.fromkeys(("ClusterName", "AccountingStoreFlags", "PrivateData", "KillWait"), odd)
    )
    found = host.preflight("never")
    assert found.facts["cluster"]["name"] == odd.replace("\udcff", "\\xff")


# The cache's troubles


def test_a_cache_that_is_refused_is_told_and_probed_past(host: Host) -> None:
    host.preflight()
    host.cache.chmod(0o666)
    found = host.preflight()
    assert found.support("Hold") == ("yes", "")
    assert (found.last.changed, found.facts["probe"]["cached"]) == (True, False)
    assert any("others may write it" in text for text in found.warnings)


def test_a_lock_that_is_held_is_told(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "LOCK_PATIENCE", 0.0)
    other = Lock(str(host.cache))
    assert other.take(0)[0]
    found = host.preflight()
    other.free()
    assert found.support("Hold") == ("yes", "")
    assert any("Probing without another preflight" in text for text in found.warnings)


def test_answers_of_a_run_that_probed_meanwhile_are_taken(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs at once: the second waits for the first one's probe, and needs none of its own."""
    other = Host(host.cache, host.slurm)

    class Waiting:
        def __init__(self, path: str) -> None:
            del path

        def take(self, patience: float) -> tuple[bool, str]:
            del patience
            monkeypatch.setattr(preflight, "Lock", Lock)
            other.preflight()
            return True, ""

        def free(self) -> None:
            """Nothing is held."""

    monkeypatch.setattr(preflight, "Lock", Waiting)
    found = host.preflight()
    assert (found.last.changed, found.facts["probe"]["cached"]) == (False, True)
    assert len(host.slurm.of("sbatch")) == 1


def test_left_behind_jobs_are_named(host: Host) -> None:
    host.slurm.add("7", Comment=Owner("ctl1", *dead_process()).comment())
    found = host.preflight()
    assert found.facts["probe"]["removed_jobs"] == ["7"]
    assert host.slurm.living == []


def test_poll_interval_and_rules_are_answered(host: Host) -> None:
    found = host.preflight("never", poll_interval=61, rules=["Hold", "Reboot"])
    assert found.check("min_job_age")["verdict"] == "fail"
    assert [one["action"] for one in found.facts["rules"]] == ["Hold", "Reboot"]
    assert found.facts["rules"][1]["reason"] == "action Reboot"


def test_the_settings_of_the_fact_are_typed() -> None:
    live = configuration()
    values = {key: live.value(key) for key in SETTINGS}
    assert values["MinJobAge"] == 60
    assert values["AccountingStoreFlags"] == ["job_comment"]
    assert values["AuthInfo"] is None
    assert values["PrivateData"] == []
    assert "unknown" not in values.values()

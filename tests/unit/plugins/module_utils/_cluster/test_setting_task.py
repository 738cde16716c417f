# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings are changed all or not at all, and only what the running controller shows is claimed.

The controller here is a pretended one that reads slurm.conf with the engine's own reader; what real
ones do is in tests/integration/test_onboard.py.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.conf_files import read_tree
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Reply, SlurmError
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.setting_task import (
    Host,
    Order,
    _alone,
    change_settings,
)

FLAGS = {"name": "accountingstoreFLAGS", "members": ["job_comment"]}
AGE = {"name": "MinJobAge", "at_least": 300}
TTL = {"name": "AuthInfo", "part": "ttl", "at_most": 60}
COUNT = {"name": "MaxJobCount", "at_least": 20000}
TEXT = "ClusterName=alpha\nMinJobAge=60 # short\nAuthInfo=cred_expire=9\n"
HEADER = "Configuration data as of 1796035468\n"


@dataclass
class Pretended:
    """A controller's host. What it does wrong is set by a test."""

    folder: Path
    version: str = "24.11.5"
    name: str = "ctl1"
    more: str = ""
    ignored: tuple[str, ...] = ()
    reconfigure: list[int] = field(default_factory=list)
    deaf: bool = False
    dies: bool = False
    parser: int = 0
    unwritable: tuple[str, ...] = ()
    calls: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    time: float = 0.0
    environment: dict[str, str] = field(default_factory=dict)
    read: str = ""
    fixed: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.path.write_text(TEXT)
        self.load()

    @property
    def path(self) -> Path:
        return self.folder / "slurm.conf"

    @property
    def text(self) -> str:
        return self.path.read_text()

    def said(self) -> str:
        return read_tree(str(self.path), (24, 11, 5)).flat()

    def load(self) -> None:
        self.read = self.said()
        before = dict(self.fixed)
        self.fixed = {"accountingstoreflags": "(null)", "authinfo": "(null)", "minjobage": "300"}
        self.fixed["maxjobcount"] = "10000"
        for line in read_tree(str(self.path), (24, 11, 5)).placed:
            self.fixed[line.statement.key.lower()] = line.statement.value
        for key in self.ignored:
            self.fixed[key] = before[key]

    def listing(self) -> str:
        match = "Match" if self.said() == self.read else "Different Ours=0x1 Slurmctld=0x2"
        return (
            HEADER
            + "".join(
                "%s = %s\n" % pair
                for pair in [
                    ("AccountingStoreFlags", self.fixed["accountingstoreflags"]),
                    ("AuthInfo", self.fixed["authinfo"]),
                    ("AuthType", "auth/munge"),
                    ("BOOT_TIME", "1000"),
                    ("ClusterName", "alpha"),
                    ("HASH_VAL", match),
                    ("MinJobAge", "%s sec" % self.fixed["minjobage"]),
                    ("SLURM_CONF", str(self.path)),
                    ("SLURM_VERSION", self.version),
                    ("SlurmctldHost[0]", "ctl1(10.0.0.1)"),
                    ("SlurmctldHost[1]", "ctl2.example.com"),
                    ("SlurmctldPidFile", str(self.folder / "pid")),
                    ("MaxJobCount", self.fixed["maxjobcount"]),
                    ("SlurmctldPort", "6817"),
                ]
            )
            + (self.more)
        )

    def run(self, *argv: str) -> Reply:
        self.calls.append(" ".join(argv[1:]))
        if argv[1:] == ("reconfigure",):
            status = self.reconfigure.pop(0) if self.reconfigure else 0
            if status == 0 and not self.deaf:
                self.load()
            if self.dies:
                self.version = ""
            return Reply(argv, status, b"", b"" if status == 0 else b"scontrol: error: no way")
        assert argv == ("scontrol", "show", "config")
        if not self.version:
            said = b"Unable to contact slurm controller (connect failure)"
            return Reply(argv, 1, b"", said)
        return Reply(argv, 0, self.listing().encode(), b"")

    def parse(self, text: str) -> Reply:
        self.calls.append("parse")
        assert "Include" not in text
        error = b"scontrol: fatal: Unable to process configuration file"
        return Reply(("scontrol",), self.parser, b"", error if self.parser else b"")

    def store(self, path: str, text: str) -> None:
        if os.path.basename(path) in self.unwritable:
            raise PermissionError(13, "Permission denied", path)
        Path(path).write_text(text)

    def keep(self, path: str) -> str:
        self.kept.append(Path(path).read_text())
        return path + "~"

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    def change(
        self, *settings: Mapping[str, Any], predict: bool = False, **order: Any
    ) -> dict[str, Any]:
        """Run the task as ctl1 or another host."""
        names = frozenset((self.name,))
        host = Host(
            self.run,
            self.parse,
            self.store,
            self.keep,
            self.environment,
            names,
            lambda: self.time,
            self.sleep,
        )
        wanted = {"pending": False, "backup": True, "patience": 20.0, **order}
        return change_settings(host, Order(settings, predict=predict, **wanted))

    def refused(self, *settings: Mapping[str, Any], **order: Any) -> SlurmError:
        """Run the task, which has to fail."""
        with pytest.raises(SlurmError) as caught:
            self.change(*settings, **order)
        return caught.value


@pytest.fixture
def host(tmp_path: Path) -> Pretended:
    return Pretended(tmp_path)


def writes(host: Pretended) -> list[str]:
    return [one for one in host.calls if one != "show config"]


def test_three_settings_in_one_go(host: Pretended) -> None:
    result = host.change(FLAGS, AGE, TTL)
    assert host.text == (
        "ClusterName=alpha\nMinJobAge=300 # short\nAuthInfo=cred_expire=9,ttl=60\n"
        "AccountingStoreFlags=job_comment\n"
    )
    assert writes(host) == ["parse", "reconfigure"]
    assert (result["changed"], result["reconfigured"], host.kept) == (True, True, [TEXT])
    assert [one["live"] for one in result["settings"]] == [
        "job_comment",
        "300",
        "cred_expire=9,ttl=60",
    ]
    assert [one["restart_needed"] for one in result["settings"]] == ["no", "no", "no"]
    assert result["warnings"] == []
    again = host.change(FLAGS, AGE, TTL)
    assert (again["changed"], again["reconfigured"], again["diff"]) == (False, False, [])
    assert writes(host) == ["parse", "reconfigure"]


def test_prediction(host: Pretended) -> None:
    result = host.change(FLAGS, AGE, TTL, predict=True)
    assert (result["changed"], host.text, host.kept) == (True, TEXT, [])
    assert writes(host) == ["parse"]
    (shown,) = result["diff"]
    lines = shown["prepared"].splitlines()
    assert "+MinJobAge=300 # short" in lines
    assert "-MinJobAge=60 # short" in lines
    assert not [one for one in lines if "ClusterName" in one]  # lines around may hold passwords
    (age,) = (one for one in result["settings"] if one["name"] == "MinJobAge")
    assert (age["before"], age["after"], age["live"], age["line"]) == ("60", "300", "60", 2)


def test_no_backup(host: Pretended) -> None:
    assert host.change(AGE, backup=False)["backup_files"] == []
    assert host.kept == []


@pytest.mark.parametrize("version", ["22.05.8", "23.02.1"])
def test_old_releases_need_a_restart_for_credentials(host: Pretended, version: str) -> None:
    host.version = version
    (setting,) = host.change(TTL)["settings"]
    assert (setting["restart_needed"], setting["live"]) == ("yes", "cred_expire=9,ttl=60")
    # The file is younger than slurmctld: whether it was restarted since is not known.
    assert host.change(TTL)["settings"][0]["restart_needed"] == "unknown"
    os.utime(host.path, (900, 900))
    assert host.change(TTL)["settings"][0]["restart_needed"] == "no"


def test_a_setting_that_is_fixed_at_the_start(host: Pretended) -> None:
    host.ignored = ("maxjobcount",)
    first = host.change(COUNT)
    assert (first["changed"], first["settings"][0]["restart_needed"]) == (True, "yes")
    assert "restart slurmctld" in first["warnings"][0]
    second = host.change(COUNT)
    assert (second["changed"], second["settings"][0]["restart_needed"]) == (False, "yes")


def test_a_shown_value_proves_it_for_known_settings_only(host: Pretended) -> None:
    (setting,) = host.change(COUNT)["settings"]
    assert (setting["live"], setting["restart_needed"]) == ("20000", "unknown")
    os.utime(host.path, (900, 900))
    assert host.change(COUNT)["settings"][0]["restart_needed"] == "no"


# What others did


def test_changes_of_others_are_not_taken_along(host: Pretended) -> None:
    host.path.write_text(TEXT + "KillWait=1\n")
    error = host.refused(AGE)
    assert "was changed since slurmctld read it (HASH_VAL = Different" in error.message
    assert "apply_pending" in error.remedy
    assert host.text == TEXT + "KillWait=1\n"
    assert writes(host) == []
    assert host.change(AGE, pending=True)["changed"] is True
    assert host.text == TEXT.replace("60", "300") + "KillWait=1\n"


def test_what_only_waits_for_a_reconfigure(host: Pretended) -> None:
    """As after a run that was killed between its two steps."""
    host.path.write_text(TEXT.replace("60", "300"))
    assert "changed since" in host.refused(AGE).message
    result = host.change(AGE, pending=True)
    assert (result["changed"], result["backup_files"]) == (True, [])
    assert result["settings"][0]["live"] == "300"


def test_a_warning_where_nothing_is_to_be_done(host: Pretended) -> None:
    host.path.write_text(TEXT + "KillWait=1\n")
    result = host.change({"name": "MinJobAge", "at_least": 5})
    assert result["changed"] is False
    assert "was changed since slurmctld read it" in result["warnings"][0]


def test_a_file_that_changes_meanwhile(host: Pretended, monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(text: str) -> Reply:
        host.path.write_text(TEXT + "# another editor\n")
        return Reply(("scontrol",), 0, b"", b"")

    monkeypatch.setattr(host, "parse", parse)
    assert "just been changed by somebody else" in host.refused(AGE).message
    assert host.text == TEXT + "# another editor\n"


def test_one_run_at_a_time(host: Pretended) -> None:
    with _alone(str(host.path)):
        assert "Another run is changing" in host.refused(AGE).message
    assert host.text == TEXT
    assert host.change(AGE)["changed"] is True


# What goes wrong


def test_slurms_parser_says_no(host: Pretended) -> None:
    host.parser = 1
    for predict in (True, False):
        error = host.refused(AGE, predict=predict)
        assert "own parser refuses" in error.message
    assert (host.text, writes(host)) == (TEXT, ["parse", "parse"])


def test_a_failed_reconfigure_is_taken_back(host: Pretended) -> None:
    host.reconfigure = [1, 0]
    error = host.refused(FLAGS, AGE, TTL)
    assert error.message.startswith(
        "scontrol reconfigure failed: scontrol: error: no way. The files"
    )
    assert "slurmctld has read them again" in error.message
    assert error.evidence == {"rolled_back": True, "backup_files": [str(host.path) + "~"]}
    assert (host.text, host.said() == host.read) == (TEXT, True)


def test_a_failure_that_was_none(host: Pretended) -> None:
    host.reconfigure = [1]
    real = host.run

    def run(*argv: str) -> Reply:
        reply = real(*argv)
        if argv[1] == "reconfigure":
            host.load()
        return reply

    # Only this one fake is to behave so.
    host.run = run  # type: ignore[method-assign]
    result = host.change(AGE)
    assert result["settings"][0]["live"] == "300"
    assert "failed, but all is in effect" in result["warnings"][0]


def test_a_controller_that_does_not_read(host: Pretended) -> None:
    host.deaf = True
    error = host.refused(AGE)
    assert error.message.startswith("slurmctld has not read slurm.conf (HASH_VAL = Different")
    assert host.text == TEXT


def test_a_reconfigure_without_an_answer_is_waited_for(
    host: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = host.run

    def run(*argv: str) -> Reply:
        if argv[1] == "reconfigure":
            text = b"slurm_reconfigure error: Socket timed out on send/recv operation"
            return Reply(argv, 1, b"", text)
        if host.time >= 12:
            host.load()
        return real(*argv)

    monkeypatch.setattr(host, "run", run)
    assert host.change(AGE)["settings"][0]["live"] == "300"
    assert 12 <= host.time < 20


def test_a_value_that_slurm_drops(host: Pretended) -> None:
    host.ignored = ("accountingstoreflags",)
    error = host.refused({"name": "AccountingStoreFlags", "members": ["job_coment"]})
    assert "does not take the value (AccountingStoreFlags = (null))" in error.message
    assert host.text == TEXT
    host.path.write_text(TEXT + "AccountingStoreFlags=job_coment\n")
    host.load()
    error = host.refused({"name": "AccountingStoreFlags", "members": ["job_coment"]})
    assert "already says so, and slurmctld does not take" in error.message


def test_a_controller_that_dies(host: Pretended) -> None:
    host.dies = True
    error = host.refused(AGE)
    assert "does not answer after the reconfigure" in error.message
    assert "start it on its host" in error.message
    assert host.text == TEXT
    assert host.time >= 20


def test_of_two_files_one_can_not_be_written(host: Pretended) -> None:
    (host.folder / "a.conf").write_text("AuthInfo=ttl=300\n")
    host.path.write_text(TEXT + "Include a.conf\n")
    host.load()
    before = host.text
    host.unwritable = ("a.conf",)
    error = host.refused(AGE, TTL)
    assert "could not be written" in error.message
    assert error.failure.value == "permission_denied"
    assert host.text == before
    assert "reconfigure" not in host.calls


def test_what_can_not_be_put_back_is_said(host: Pretended) -> None:
    host.reconfigure = [1]
    real = host.store

    def store(path: str, text: str) -> None:
        if text == TEXT:
            raise OSError("disk full")
        real(path, text)

    # Only this one fake is to behave so.
    host.store = store  # type: ignore[method-assign]
    error = host.refused(AGE)
    assert "COULD NOT BE PUT BACK" in error.message
    assert error.evidence["rolled_back"] is False


# Where


@pytest.mark.parametrize("name", ["ctl1", "CTL1.example.com", "ctl2", "ctl2.example.com"])
def test_controllers_hosts(host: Pretended, name: str) -> None:
    host.name = name
    assert host.change(AGE)["changed"] is True


@pytest.mark.parametrize("name", ["login1", "ctl2.example.org", "ctl11"])
def test_other_hosts(host: Pretended, name: str) -> None:
    host.name = name
    error = host.refused(AGE)
    assert error.remedy.endswith("Run this on the controller's host: ctl1, ctl2.example.com")
    assert error.evidence == {"controller_hosts": ["ctl1", "ctl2.example.com"]}
    assert host.text == TEXT


def test_a_configless_host(host: Pretended) -> None:
    host.name = "login1"
    host.more = "SlurmctldParameters = enable_configless\n"
    host.path.unlink()
    # Only this one fake is to behave so.
    host.said = lambda: host.read  # type: ignore[method-assign]
    error = host.refused(AGE)
    assert "(configless)" in error.message
    assert "ctl1" in error.remedy


def test_a_controller_by_another_name(host: Pretended) -> None:
    host.name = "node17"
    name = Path("/proc/self/comm").read_text()
    (host.folder / "pid").write_text("%d\n" % os.getpid())
    assert host.refused(AGE).evidence  # that process is no slurmctld
    Path("/proc/self/comm").write_text("slurmctld")
    try:
        assert host.change(AGE)["changed"] is True
    finally:
        Path("/proc/self/comm").write_text(name)


def test_a_file_that_is_not_there(host: Pretended) -> None:
    host.path.unlink()
    # Only this one fake is to behave so.
    host.said = lambda: host.read  # type: ignore[method-assign]
    assert "there is no such file here" in host.refused(AGE).message


def test_slurm_conf_names_another_file(host: Pretended) -> None:
    other = host.folder / "other.conf"
    other.write_text(TEXT)
    host.environment = {"SLURM_CONF": str(other)}
    assert "slurmctld reads %s" % host.path in host.refused(AGE).message
    link = host.folder / "link.conf"
    link.symlink_to(host.path)
    host.environment = {"SLURM_CONF": str(link)}
    assert host.change(AGE)["changed"] is True


@pytest.mark.parametrize(
    ("setting", "match"),
    [
        ({"name": "MinJobAges", "at_least": 1}, "MinJobAges is no setting"),
        ({"name": "HASH_VAL", "at_least": 1}, "HASH_VAL is no setting"),
        ({"name": "NodeName", "at_least": 1}, "NodeName is no setting"),
        ({"name": "SlurmctldPort", "at_least": 1}, "SlurmctldPort is no setting"),
        ({"name": "AuthInfo", "members": ["ttl"]}, "AuthInfo is not a list"),
    ],
)
def test_settings_that_can_not_be_changed(
    host: Pretended, setting: dict[str, Any], match: str
) -> None:
    assert match in host.refused(AGE, setting).message
    assert host.text == TEXT


def test_a_key_that_is_there_twice(host: Pretended) -> None:
    host.path.write_text("MINJOBAGE=900\n" + TEXT)
    host.load()
    result = host.change(AGE)
    assert host.text.startswith("MINJOBAGE=900\nClusterName=alpha\nMinJobAge=300 # short\n")
    assert "MinJobAge is set more than once" in result["warnings"][0]

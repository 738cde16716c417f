# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The live configuration: read from what four releases print, and from what none should."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    LISTS,
    NAMES,
    VOLATILE,
    Configuration,
    Controller,
    as_result,
    degraded,
    parse_configuration,
    parse_controllers,
    read_configuration,
    read_controllers,
    require_source,
    store_flag,
    typed,
    usable,
    version_numbers,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.landing import auth_type
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    Reply,
    SlurmError,
)
from ansible_collections.hpcops.slurm.tests.unit.case_words import DATA, case, runs

HEADER = "Configuration data as of 1796035468\n"
LISTINGS = sorted((DATA / "transcripts").glob("*/show-config*.txt"))
LINE = re.compile(r"(\S+?)(\[\d+\])?\s*= ?(.*)")


def listing(text: str) -> Configuration:
    """Lines of a listing, read."""
    return parse_configuration(HEADER + text)


def replying(status: int, out: str, err: str = "", **more: bool) -> Callable[..., Reply]:
    """A scontrol that always answers the same."""

    def run(*argv: str) -> Reply:
        assert argv[0] == "scontrol"
        return Reply(argv, status, out.encode("utf-8", "surrogateescape"), err.encode(), **more)

    return run


def name_of(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


# What releases print


@pytest.mark.parametrize("path", LISTINGS, ids=name_of)
def test_every_line_of_a_recorded_listing_is_read(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    read = parse_configuration(text)
    assert read.unread == ()
    assert read.controllers == (Controller("primary", "ctl1", Answer.YES),)
    main, _title, below = text.partition("MPI Plugins Configuration:")
    expected = {match[1]: match[3] for line in main.splitlines() if (match := LINE.match(line))}
    assert {key: one.raw for key, one in read.settings.items()} == expected
    if below:
        inside = {match[1]: match[3] for line in below.splitlines() if (match := LINE.match(line))}
        section = read.sections["MPI Plugins Configuration"]
        assert {key: one.raw for key, one in section.items()} == inside
    assert len(read.settings) > 150
    json.dumps(as_result(read), allow_nan=False)


@pytest.mark.parametrize("path", LISTINGS, ids=name_of)
def test_recorded_values_are_typed(path: Path) -> None:
    read = parse_configuration(path.read_text(encoding="utf-8"))
    variant = path.stem.endswith("variant")
    assert read.seconds("MinJobAge") == (2 if variant else 60)
    assert read.seconds("MessageTimeout") == 10
    assert read.seconds("SlurmdTimeout") == 60
    assert read.seconds("KillWait") == 5
    assert read.text("AuthType") == "auth/munge"
    assert read.text("AuthInfo") == ("ttl=60,cred_expire=60" if variant else None)
    assert read.members("AuthAltTypes") == []
    assert read.members("PrivateData") == (["jobs", "usage"] if variant else [])
    assert read.value("SuspendTime") == "infinite"
    # 22.05 shows it for priority/multifactor alone
    age = read.value("PriorityMaxAge")
    assert age == ("unknown" if path.parent.name == "22.05.8" else 604800)
    assert read.value("EpilogMsgTime") == 0.002
    assert read.value("ResumeRate") == 300
    assert read.value("SrunPortRange") == "0-0"
    assert read.value("SlurmctldHost") == ["ctl1"]
    assert version_numbers(read.text("SLURM_VERSION")) is not None
    requeueing = variant and path.parent.name != "22.05.8"
    assert ("ForceRequeueOnFail" in read.members("PrologFlags")) is requeueing


def test_the_controllers_clock_is_read_as_the_runner_asks_for_it() -> None:
    assert listing("").as_of == 1796035468
    assert parse_configuration("Configuration data as of 2026-11-30T10:24:28\n").as_of is None


def test_sections_do_not_mix_with_the_main_settings() -> None:
    read = listing("MinJobAge = 60 sec\n\nOther Plugins Configuration:\nMinJobAge = 5 sec\n")
    assert read.seconds("MinJobAge") == 60
    assert read.sections["Other Plugins Configuration"]["MinJobAge"].value == 5


def test_numbered_keys_are_one_list() -> None:
    read = listing("SlurmctldHost[0] = a(10.0.0.1)\nSlurmctldHost[1] = b\nSlurmctldHost[2] = N/A\n")
    assert read.value("SlurmctldHost") == ["a(10.0.0.1)", "b"]


def test_lines_that_contradict_each_other_are_unknown() -> None:
    read = listing("MinJobAge = 60 sec\nMinJobAge = 5 sec\nAuthType = auth/munge\nAuthType = x\n")
    assert read.seconds("MinJobAge") == "unknown"
    assert auth_type(read) == "unknown"
    assert read.evidence("MinJobAge") == "MinJobAge = 60 sec, and also 5 sec"
    assert listing("MinJobAge = 60 sec\nMinJobAge = 60 sec\n").seconds("MinJobAge") == 60


def test_volatile_keys_are_apart() -> None:
    result = as_result(
        listing("BOOT_TIME = 1796034982\nNEXT_JOB_ID = 7\nHASH_VAL = Match\nJobRequeue = 1\n")
    )
    assert result["volatile"] == {
        "BOOT_TIME": 1796034982,
        "NEXT_JOB_ID": 7,
        "HASH_VAL": "Match",
    }
    assert result["settings"] == {"JobRequeue": 1}
    assert result["raw"] == {"JobRequeue": "1"}


@pytest.mark.parametrize(
    ("key", "raw", "value"),
    [
        ("MinJobAge", "300 sec", 300),
        ("OverTimeLimit", "5 min", 300),
        ("VSizeFactor", "0 percent", 0),
        ("EpilogMsgTime", "2000 usec", 0.002),
        ("ResumeRate", "300 nodes/min", 300),
        ("PriorityDecayHalfLife", "7-00:00:00", 604800),
        ("PriorityCalcPeriod", "00:05:00", 300),
        ("MaxMemPerNode", "UNLIMITED", "infinite"),
        ("SuspendTime", "INFINITE", "infinite"),
        ("AuthInfo", "(null)", None),
        ("AccountingStorageUser", "N/A", None),
        ("AccountingStoreFlags", "(null)", []),
        ("AccountingStoreFlags", "Job_Env, job_comment", ["Job_Env", "job_comment"]),
        ("PrivateData", "none", []),
        ("BOOT_TIME", "Unknown", "unknown"),
        ("MinJobAge", "5 fortnights", "5 fortnights"),
        ("MinJobAge", "soon", "soon"),
        ("SrunPortRange", "60001-63000", "60001-63000"),
        ("ClusterName", "1234", "1234"),
        ("ClusterName", "12:34:56", "12:34:56"),
        ("SLURM_VERSION", "26.05", "26.05"),
        ("PriorityWeightAge", "-1", -1),
        ("Anything", "1.50", 1.5),
        ("Anything", "9" * 5000, "9" * 5000),
        ("Anything", "9" * 5000 + " sec", "9" * 5000 + " sec"),
        ("Anything", "9" * 5000 + ".5", "9" * 5000 + ".5"),
        ("Anything", "9" * 5000 + ":00:00", "9" * 5000 + ":00:00"),
        ("Anything", "\u0663 sec", "\u0663 sec"),
        ("Anything", "", ""),
    ],
)
def test_typed(key: str, raw: str, value: Any) -> None:
    found = typed(key, raw)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("raw", ["soon", "5 fortnights", "-5", "1.5", "yes", "1,2"])
def test_what_is_no_duration_is_unknown(raw: str) -> None:
    assert listing(f"MinJobAge = {raw}\n").seconds("MinJobAge") == "unknown"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("24.11.5", (24, 11, 5)),
        ("25.11.8-0pre1", (25, 11, 8)),
        ("26.05", None),
        ("", None),
        (None, None),
        ("unknown", None),
    ],
)
def test_version_numbers(text: str | None, numbers: tuple[int, int, int] | None) -> None:
    assert version_numbers(text) == numbers


# Field cases


@pytest.mark.parametrize(("name", "run", "expected"), list(runs("A-03")))
def test_case_a_03_live_min_job_age(
    name: str, run: dict[str, Any], expected: dict[str, Any]
) -> None:
    del name
    seconds = listing(run["text"]).seconds("MinJobAge")
    wanted = expected["min_job_age_seconds"]
    assert seconds == ("unknown" if wanted is None else wanted)


@pytest.mark.parametrize(("name", "run", "expected"), list(runs("C-01")))
def test_case_c_01_no_answer_is_no_configuration(
    name: str, run: dict[str, Any], expected: dict[str, Any]
) -> None:
    del name
    for listing_before in ("", HEADER + "MinJobAge = 60 sec\n"):
        if listing_before and run["rc"] == 1:
            continue  # a whole listing with a ping that failed counts
        out = listing_before + run["stdout"]
        with pytest.raises(SlurmError) as raised:
            read_configuration(replying(run["rc"], out, run["stderr"]))
        assert raised.value.failure.value == expected["class"]
        assert raised.value.retry.value == expected["retry"]


@pytest.mark.parametrize(("name", "run", "expected"), list(runs("C-02")))
def test_case_c_02_ping(name: str, run: dict[str, Any], expected: dict[str, Any]) -> None:
    del name
    found = read_controllers(replying(run["rc"], run["stdout"], run["stderr"]))
    assert [one.as_fact() for one in found] == expected["controllers"]
    assert usable(found).value == expected["usable"]
    assert degraded(found).value == expected["degraded"]


@pytest.mark.parametrize(("name", "run", "expected"), list(runs("H-02")))
def test_case_h_02_store_flags(name: str, run: dict[str, Any], expected: dict[str, Any]) -> None:
    del name
    read = listing(run["text"]) if run["rc"] == 0 else Configuration(None)
    asked = case("H-02")["input"]["flags_asked"]
    flags = {flag: store_flag(read, flag).value for flag in asked if flag in expected["flags"]}
    assert flags == expected["flags"]


@pytest.mark.parametrize(("name", "run", "expected"), list(runs("H-03")))
def test_case_h_03_auth_type(name: str, run: dict[str, Any], expected: dict[str, Any]) -> None:
    del name
    read = listing(run["text"])
    assert auth_type(read) == expected["auth_type"]
    assert read.members("AuthAltTypes") == expected["alternates"]


# Asking


def test_one_command_reads_the_configuration() -> None:
    calls = []

    def run(*argv: str) -> Reply:
        calls.append(argv)
        return Reply(argv, 0, (HEADER + "MinJobAge = 60 sec\n").encode(), b"")

    assert read_configuration(run).seconds("MinJobAge") == 60
    assert calls == [("scontrol", "show", "config")]


def test_a_whole_listing_counts_although_its_ping_failed() -> None:
    text = HEADER + "MinJobAge = 60 sec\n\nSlurmctld(primary) at c1 is DOWN\n"
    read = read_configuration(replying(1, text, "slurm_ping: Socket timed out\n"))
    assert read.seconds("MinJobAge") == 60
    # It has just answered: the failed ping does not say that it is down.
    assert usable(read.controllers) is Answer.UNKNOWN
    assert degraded(read.controllers) is Answer.UNKNOWN


def test_a_backup_in_charge_is_seen_in_the_listing() -> None:
    text = "\nSlurmctld(primary) at c1 is DOWN\nSlurmctld(backup) at c2 is UP\n"
    read = listing("MinJobAge = 60 sec\n" + text)
    assert (usable(read.controllers), degraded(read.controllers)) == (Answer.YES, Answer.YES)


@pytest.mark.parametrize(
    "out", ["", "hello\n", "MinJobAge = 60 sec\n", " Configuration data as of 1"]
)
def test_success_without_a_listing_is_unreadable(out: str) -> None:
    with pytest.raises(SlurmError) as raised:
        read_configuration(replying(0, out))
    assert raised.value.failure is FailureClass.OUTPUT_UNREADABLE
    assert raised.value.reply is not None
    assert raised.value.remedy


@pytest.mark.parametrize("status", [1, 2, 124, 137, 139, 255])
@pytest.mark.parametrize("out", ["", "some text\n"])
def test_failure_without_a_listing_is_an_error(status: int, out: str) -> None:
    with pytest.raises(SlurmError):
        read_configuration(replying(status, out))


@pytest.mark.parametrize("status", [2, 124, 137, 139])
def test_a_listing_of_a_killed_command_is_not_used(status: int) -> None:
    with pytest.raises(SlurmError):
        read_configuration(replying(status, HEADER + "MinJobAge = 60 sec\n"))


def test_a_listing_that_was_cut_off_is_not_used() -> None:
    with pytest.raises(SlurmError) as raised:
        read_configuration(replying(1, HEADER + "MinJobAge = 60 sec\n", timed_out=True))
    assert raised.value.failure is FailureClass.CONTROLLER_UNREACHABLE


MUNGE = """scontrol: error: If munged is up, restart with --num-threads=10
scontrol: error: Munge encode failed: Failed to access "/run/munge/munge.socket.2": No such file
scontrol: error: slurm_buffers_pack_msg: auth_g_create: REQUEST_PING has authentication error
"""
SACK = "scontrol: error: _sack_create: failed to connect to any sack sockets\n"


@pytest.mark.parametrize("err", [MUNGE, SACK])
def test_a_ping_that_was_not_authenticated_tells_nothing(err: str) -> None:
    found = read_controllers(replying(1, "Slurmctld(primary) at c1 is DOWN\n", err))
    assert [one.up for one in found] == [Answer.UNKNOWN]
    assert (usable(found), degraded(found)) == (Answer.UNKNOWN, Answer.UNKNOWN)


def test_a_ping_that_was_cut_off_tells_nothing() -> None:
    text = "Slurmctld(primary) at c1 is DOWN\n"
    assert read_controllers(replying(124, text, timed_out=True)) == ()
    assert read_controllers(replying(127, text, not_started=True)) == ()


def test_slurm_conf_has_to_name_a_file(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("")
    require_source({"SLURM_CONF": str(tmp_path / "slurm.conf")})
    require_source({})
    for path in (tmp_path / "missing", tmp_path, Path("/dev/null")):
        with pytest.raises(SlurmError) as raised:
            require_source({"SLURM_CONF": str(path)})
        assert raised.value.failure is FailureClass.NO_CONFIG_SOURCE
        assert str(path) in raised.value.message


# Any text

KEYS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,30}", fullmatch=True)
VALUES = st.text(
    st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=60
).map(str.strip)


@given(st.binary(max_size=2000))
@example(HEADER.encode() + b"MinJobAge = \xff\xfe sec\n\x85\x1c = 1\n")
@example(HEADER.encode() + b"A[99999999999999999999] = 1\nA = 2\n")
@settings(deadline=None)
def test_any_output_is_read_or_refused(data: bytes) -> None:
    for out in (data, HEADER.encode() + data):
        try:
            read = parse_configuration(out.decode("utf-8", "surrogateescape"))
        except SlurmError as error:
            json.dumps(error.as_result(), ensure_ascii=False).encode("utf-8")
            continue
        text = json.dumps(as_result(read), allow_nan=False, ensure_ascii=False)
        text.encode("utf-8")
        for key in read.settings:
            assert read.evidence(key).startswith(key)
            read.seconds(key), read.members(key), read.text(key)


@given(st.dictionaries(KEYS, VALUES, max_size=20))
@settings(deadline=None)
def test_rendered_settings_come_back(wanted: dict[str, str]) -> None:
    text = "".join(f"{key:<23} = {value}\n" for key, value in wanted.items())
    read = listing(text)
    assert {key: one.raw for key, one in read.settings.items()} == wanted
    for key, value in wanted.items():
        assert read.value(key) == typed(key, value)
    assert read.unread == ()


@given(st.text(max_size=200))
@settings(deadline=None)
def test_no_value_forges_a_line(value: str) -> None:
    """What str.splitlines() takes for a line's end besides the newline is part of a value."""
    value = value.replace("\n", " ")
    read = listing(f"Epilog = {value}\x0bMinJobAge = 1 sec\x85MinJobAge = 2 sec\u2028x\n")
    assert "MinJobAge" not in read.settings
    assert set(read.settings) == {"Epilog"}


@given(st.text(max_size=300))
@settings(deadline=None)
def test_any_text_has_controllers_or_none(text: str) -> None:
    for one in parse_controllers(text + "\nSlurmctld(primary) at a is UP\n"):
        assert one.up in (Answer.YES, Answer.NO)


def test_the_words_of_the_reader_do_not_overlap() -> None:
    assert not LISTS & NAMES
    assert set(VOLATILE) - NAMES == {"BOOT_TIME", "NEXT_JOB_ID"}

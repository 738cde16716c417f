# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exit codes, times, limits, numbers, host lists."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs import fields
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.exits import (
    ExitCode,
    parse_exit_code,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hosts import expand_hosts
from ansible_collections.hpcops.slurm.tests.unit import case_words
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._jobs import fakes

F_02 = [run for run in case_words.runs("F-02") if run[0] != "not_json"]


def squeue_number(value: object) -> str:
    """What squeue's PriorityLong prints for a number of the JSON (src/squeue/print.c)."""
    if isinstance(value, dict):
        if not value["set"]:
            return "4294967294"
        return "4294967295" if value["infinite"] else str(value["number"])
    return str(value)


def squeue_limit(value: object) -> str:
    """What squeue's TimeLimit prints for the minutes of the JSON."""
    number = squeue_number(value)
    if number in ("4294967294", "4294967295"):
        return {"4294967294": "NOT_SET", "4294967295": "UNLIMITED"}[number]
    return "%d:%02d:00" % divmod(int(number), 60)


@pytest.mark.parametrize(("name", "run", "expected"), F_02, ids=["F-02 " + run[0] for run in F_02])
def test_the_same_job_in_squeues_text(
    name: str, run: dict[str, str], expected: dict[str, object]
) -> None:
    found = json.loads(run["value"])["jobs"][0]
    state = found["job_state"]
    record = fakes.read(
        fakes.job(
            str(found["job_id"]),
            State=state if isinstance(state, str) else ",".join(state),
            PriorityLong=squeue_number(found["priority"]),
            TimeLimit=squeue_limit(found["time_limit"]),
        )
    )
    # The release is read from the configuration, not from the jobs.
    expected = {key: value for key, value in expected.items() if key != "slurm_version"}
    assert case_words.differing(expected, case_words.record_words(record)) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0:0", ExitCode(0, 0)),
        ("3:0", ExitCode(3, 0)),
        ("0:9", ExitCode(0, 9)),
        ("0:125", ExitCode(0, 125)),
        ("0", ExitCode(0, 0)),
        ("768", ExitCode(3, 0)),
        ("9", ExitCode(0, 9)),
        ("15", ExitCode(0, 15)),
        ("139", ExitCode(0, 11)),
        ("65280", ExitCode(255, 0)),
        ("", None),
        ("4294967294", None),
        ("-2", None),
        *((text, "unknown") for text in ("127", "128", "65536", "x", "3:", ":3", "3:0:1", "1.0")),
    ],
)
def test_exit_codes(text: str, expected: object) -> None:
    assert parse_exit_code(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1796035504", 1796035504),
        ("4102444807", 4102444807),
        ("253402214400", 253402214400),
        *((text, None) for text in ("N/A", "NONE", "None", "")),
        *((text, "unknown") for text in ("Unknown", "2026-11-30T10:24:28", "11:16:30", "-1")),
        *((text, "unknown") for text in ("#####", "١٢٣", "9" * 30, "1.5", "1796035504 ")),
    ],
)
def test_times(text: str, expected: object) -> None:
    assert fields.moment(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3-00:00:00", 259200),
        ("05:07", 307),
        ("00:00:00", 0),
        ("1:00:00", 3600),
        ("UNLIMITED", "infinite"),
        ("INFINITE", "infinite"),
        *((text, None) for text in ("NOT_SET", "Partition_Limit", "None", "N/A", "(null)", "")),
        *((text, "unknown") for text in ("INVALID", "Unknown", "60", "1:", "-1:00", "9" * 5000)),
    ],
)
def test_limits(text: str, expected: object) -> None:
    assert fields.limit(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("4294900381", 4294900381),
        ("-100", -100),
        ("4294967294", None),
        ("4294967295", "infinite"),
        ("", None),
        *(
            (text, "unknown")
            for text in ("0.5", "zero", "-", "--5", "5-", "\u0660", "0x0", "9" * 30)
        ),
    ],
)
def test_numbers(text: str, expected: object) -> None:
    assert fields.number(text) == expected


def test_flags() -> None:
    assert [fields.flag(text) for text in ("0", "1", "2", "", "yes")] == [
        Answer.NO,
        Answer.YES,
        Answer.UNKNOWN,
        Answer.UNKNOWN,
        Answer.UNKNOWN,
    ]


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n07", ["n07"]),
        ("n[01-02]", ["n01", "n02"]),
        ("n[08-11,3],m2", ["n08", "n09", "n10", "n11", "n3", "m2"]),
        ("r[0-1]c[0-1]", ["r0c0", "r0c1", "r1c0", "r1c1"]),
        ("a[1-2]-ib", ["a1-ib", "a2-ib"]),
        *((text, []) for text in ("", "None assigned", "(null)")),
    ],
)
def test_host_lists(text: str, hosts: list[str]) -> None:
    assert list(expand_hosts(text)) == hosts


@pytest.mark.parametrize(
    "text",
    [
        *("n[01-", "n[01-02", "n]", "n[]", "n[3-1]", "n[a-b]", "n,,m", "n[1-2]]", ",", "n m", "n["),
        *("n[0-4000000000]", "a[0-999]b[0-999]c[0-999]", "n[1-3...", "n[1,,2]", "n[1-2-3]"),
    ],
)
def test_what_is_no_host_list(text: str) -> None:
    with pytest.raises(ValueError, match=r"host|range"):
        expand_hosts(text)


@given(st.text())
def test_single_values_never_raise(text: str) -> None:
    for read in (fields.moment, fields.limit, fields.number, fields.flag, parse_exit_code):
        json.dumps(fields.plain(read(text)))


@given(st.text(alphabet="n0123456789[],-. ", max_size=40))
def test_hosts_or_an_error(text: str) -> None:
    try:
        hosts = expand_hosts(text, limit=1000)
    except ValueError:
        return
    assert len(hosts) <= 1000
    assert all(set(host) <= set("n0123456789-.") for host in hosts)

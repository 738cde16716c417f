# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""config_info on every cluster that runs, against the raw text and, where there is one, JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.integration.conftest import (
    Cluster,
)
from ansible_collections.hpcops.slurm.tests.integration.plays import (
    Result,
    Run,
    config_info,
    play,
    raw,
)

EPOCH = {"SLURM_TIME_FORMAT": "%s", "TZ": "UTC"}
VOLATILE = ("BOOT_TIME", "NEXT_JOB_ID", "HASH_VAL")


@pytest.fixture(scope="session")
def run(cluster: Cluster) -> Run:
    """One play."""
    tasks = [
        raw("text", "scontrol", "show", "config", environment=EPOCH),
        config_info(),
        config_info(
            "in check mode, in an odd environment",
            {
                "check_mode": True,
                "environment": {
                    "SLURM_TIME_FORMAT": "relative",
                    "SQUEUE_FORMAT": "%i",
                    "SLURM_JSON": "list",
                    "TZ": "Asia/Tokyo",
                    "LC_ALL": "C.UTF-8",
                },
            },
        ),
        raw("json", "scontrol", "show", "config", "--json"),
    ]
    return play([cluster.name], tasks, pipelining=True)


@pytest.fixture
def text(run: Run, cluster: Cluster) -> list[str]:
    """The lines of the raw listing."""
    return run.result("text", cluster.name).lines


@pytest.fixture
def found(run: Run, cluster: Cluster) -> Result:
    """What the module returned."""
    result = run.result("config_info", cluster.name)
    assert result.status == "ok"
    return result


def main_lines(text: list[str]) -> dict[str, str]:
    """The raw values of the main part, by key; numbered keys without their number."""
    pairs = {}
    for line in text[1:]:
        if line.endswith(":"):
            break
        match = re.fullmatch(r"(\w+)(\[\d+\])?\s*= ?(.*?)\s*", line)
        if match:
            pairs[match[1]] = match[3]
    return pairs


def test_every_line_is_there(found: Result, text: list[str]) -> None:
    raw_values = main_lines(text)
    assert found.result["changed"] is False
    assert found.result["unread"] == []
    assert len(raw_values) > 180
    lasting = {key: value for key, value in raw_values.items() if key not in VOLATILE}
    assert found.result["raw"] == lasting
    assert set(found.result["settings"]) == set(lasting)
    assert set(found.result["volatile"]) == set(VOLATILE)


def plain(value: str) -> Any:
    """What a raw value says, read by another rule than the module's."""
    if value == "(null)":
        return None
    if value in ("UNLIMITED", "INFINITE"):
        return "infinite"
    if match := re.fullmatch(r"(\d+) (sec|min|percent|nodes/min)", value):
        return int(match[1]) * (60 if match[2] == "min" else 1)
    if match := re.fullmatch(r"(\d+) usec", value):
        return int(match[1]) / 10**6
    if match := re.fullmatch(r"(?:(\d+)-)?(\d\d):(\d\d):(\d\d)", value):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return days * 86400 + hours * 3600 + minutes * 60 + seconds
    return int(value) if re.fullmatch(r"-?\d+", value) else value


def test_values_are_what_the_text_says(found: Result, text: list[str]) -> None:
    raw_values, different = main_lines(text), {}
    for key, value in found.result["settings"].items():
        shown = raw_values[key]
        if isinstance(value, list):
            words = [] if shown in ("(null)", "none", "NONE", "") else shown.split(",")
            wrong = value != words
        else:
            wrong = value != plain(shown)
        if wrong:
            different[key] = (value, shown)
    explained: dict[str, tuple[object, str]] = {
        "AccountingStorageUser": (None, "N/A"),  # another word for nothing set
        "CpuFreqDef": ("unknown", "Unknown"),  # Slurm's own word for what it does not know
        "JobContainerType": (None, "(null type)"),
        "SwitchType": (None, "(null type)"),
        "TaskPluginParam": ([], "(null type)"),
    }
    assert {key: value for key, value in different.items() if explained.get(key) != value} == {}


def test_volatile_values_and_the_controllers_clock(found: Result, text: list[str]) -> None:
    raw_values = main_lines(text)
    volatile = found.result["volatile"]
    assert volatile["BOOT_TIME"] == int(raw_values["BOOT_TIME"])
    assert volatile["HASH_VAL"] == raw_values["HASH_VAL"] == "Match"
    assert volatile["NEXT_JOB_ID"] >= int(raw_values["NEXT_JOB_ID"])
    as_of = int(text[0].removeprefix("Configuration data as of "))
    assert as_of <= found.result["as_of"] <= as_of + 120


def test_sections_are_kept(found: Result, text: list[str]) -> None:
    titles = [line.rstrip(":") for line in text if line.endswith(":")]
    assert list(found.result["sections"]) == titles
    for settings in found.result["sections"].values():
        assert settings


def test_controllers(found: Result, text: list[str]) -> None:
    (ping,) = (line for line in text if line.startswith("Slurmctld("))
    host = re.fullmatch(r"Slurmctld\(primary\) at (\S+) is UP", ping)
    assert host is not None
    assert found.result["controllers"] == [{"role": "primary", "host": host[1], "up": "yes"}]


def test_the_same_answer_in_other_circumstances(run: Run, cluster: Cluster, found: Result) -> None:
    other = run.result("in check mode, in an odd environment", cluster.name)
    assert other.status == "ok"
    for key in ("settings", "raw", "sections", "controllers"):
        assert other.result[key] == found.result[key]
    assert other.result["as_of"] >= found.result["as_of"]


# The JSON of newer releases

#: Keys that the two forms write differently: our value from the JSON's.
WRITTEN_DIFFERENTLY: Mapping[str, Callable[[Any], Any]] = {
    # The same in another unit or form.
    "EpilogMsgTime": lambda value: value / 10**6,
    "PriorityCalcPeriod": plain,
    "PriorityDecayHalfLife": plain,
    "PriorityMaxAge": plain,
    "JobAcctGatherFrequency": lambda value: int(value[0]),
    "SrunPortRange": lambda value: f"{value['minimum']}-{value['maximum']}",
    # A word for what the text has as a number, or the other way round.
    "PropagatePrioProcess": {"off": 0, "on": 1, "nice": 2}.__getitem__,
    "ReturnToService": {"never": 0, "non_responding": 1, "all": 2}.__getitem__,
    "PreemptMode": lambda value: ["OFF" if word == "DISABLED" else word for word in value],
    "PropagateResourceLimits": lambda value: [word for word in value if word != "NONE"],
    "CpuFreqDef": lambda value: "unknown" if value == "Unknown" else value,
}
#: Keys of which one form says less than the other.
SAYS_LESS = {
    "CpuFreqGovernors": "the JSON leaves the built-in governors out",
    "PriorityFlags": "the text leaves out the flag FAIR_TREE, which is the default",
    "SlurmUser": "the text has the uid behind the name",
    "SlurmdUser": "the text has the uid behind the name",
}


def from_json(value: Any) -> Any:
    """A value of the JSON in our words."""
    if isinstance(value, dict) and set(value) == {"set", "infinite", "number"}:
        if value["infinite"]:
            return "infinite"
        return value["number"] if value["set"] else None
    return value


def agree(ours: Any, theirs: Any) -> bool:
    """Whether two values mean the same: nothing, truth, a list of one, or the very same."""
    if isinstance(theirs, bool):
        return ours in ((1, "yes", "YES", "Yes") if theirs else (0, "no", "NO", "No"))
    if ours in (None, []):
        return theirs in ("", [], None)
    return bool(ours == theirs or [ours] == theirs)


def test_the_json_gives_the_same_answers(run: Run, cluster: Cluster, found: Result) -> None:
    reply = run.result("json", cluster.name)
    text = reply.result["stdout"]
    if not text.startswith("{"):
        pytest.skip("this release has no JSON form of the configuration")
    document = json.loads(text)
    theirs = {**document["slurm_conf"], **document["slurm_conf_meta"]}
    ours = {**found.result["settings"], **found.result["volatile"]}
    both = [key for key in theirs if key in ours and key not in SAYS_LESS]
    assert len(both) > 180
    different = {}
    for key in both:
        value = from_json(theirs[key])
        if key in WRITTEN_DIFFERENTLY:
            value = WRITTEN_DIFFERENTLY[key](value)
        if key != "NEXT_JOB_ID" and not agree(ours[key], value):
            different[key] = (ours[key], theirs[key])
    assert different == {}
    assert from_json(theirs["NEXT_JOB_ID"]) >= ours["NEXT_JOB_ID"]


def test_the_exceptions_are_still_needed(run: Run, found: Result, cluster: Cluster) -> None:
    """An exception that the newest release no longer needs is taken out."""
    text = run.result("json", cluster.name).result["stdout"]
    if not text.startswith("{"):
        pytest.skip("this release has no JSON form of the configuration")
    theirs = json.loads(text)["slurm_conf"]
    settings = found.result["settings"]
    needless = [
        key
        for key in (*WRITTEN_DIFFERENTLY, *SAYS_LESS)
        if key not in settings or agree(settings[key], from_json(theirs[key]))
    ]
    assert needless == []

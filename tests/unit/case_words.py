# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The field cases, and how their words read in the engine's own: the one place that knows both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import FailureClass
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.exits import ExitCode
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import JobLookup, JobRecord
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.sacct import Execution
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import JobState
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import (
    Action,
    Hold,
    Open,
    Release,
    Requeue,
    Restore,
)
from ansible_collections.hpcops.slurm.tests.unit.old_pythons import paired

DATA = Path(__file__).parent / "data"

#: A case's names of a job's fields, as squeue and sacct call them.
SQUEUE_FIELDS = {
    "id": "JobID",
    "state": "State",
    "priority": "PriorityLong",
    "reason": "Reason",
    "name": "Name",
    "command": "Command",
    "comment": "Comment",
    "work_dir": "WorkDir",
}
SACCT_FIELDS = {
    "id": "JobID",
    "state": "State",
    "start": "Start",
    "nodes": "NodeList",
    "elapsed": "Elapsed",
    "time_limit": "Timelimit",
    "group": "Group",
    "exit_code": "ExitCode",
}


def case(case_id: str) -> dict[str, Any]:
    """One field case, by its id."""
    for path in sorted((DATA / "cases").glob("theme-*.yaml")):
        for found in yaml.safe_load(path.read_text(encoding="utf-8"))["cases"]:
            if found["id"] == case_id:
                return dict(found)
    raise KeyError(case_id)


def runs(case_id: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Name, input and expectation of each run of a case; what holds for all is merged in."""
    found = case(case_id)
    for run in found["input"]["runs"]:
        own = found["expect"].get("runs", {}).get(run["name"], {})
        yield run["name"], run, _merged(found["expect"].get("all", {}), own)


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = {**below, **above}
    for key in below.keys() & above.keys():
        if isinstance(below[key], dict) and isinstance(above[key], dict):
            merged[key] = _merged(below[key], above[key])
    return merged


def rows(
    text: str, fields: list[str], separator: str, words: dict[str, str]
) -> list[dict[str, str]]:
    """A case's delimited text as rows with Slurm's field names; the last field takes the rest."""
    return [
        {
            words[field]: value
            for field, value in paired(fields, line.split(separator, len(fields) - 1))
        }
        for line in text.splitlines()
    ]


def failure_class(word: str) -> FailureClass:
    """The engine's class of failure for a case's word; both spell them alike."""
    return FailureClass(word)


def sentinel(value: Any) -> Any:
    """A case's word for one of our values: None is "unset", the other words are the same."""
    return "unset" if value is None else value


def state_words(state: JobState) -> dict[str, Any]:
    """What the cases ask about a state."""
    return {
        "state": state.word,
        "raw_state": state.raw,
        "flags": list(state.flags),
        "by_uid": state.by_uid,
        "live": state.live.value,
        "succeeded": state.succeeded.value,
        "warning": bool(state.warnings),
    }


def record_words(record: JobRecord) -> dict[str, Any]:
    """What the cases ask about a job that the controller shows."""
    limit = record.time_limit
    return {
        **state_words(record.state),
        "known_to_controller": "yes",
        "class": "none",
        "name": record.name,
        "comment": record.comment,
        "command": record.extra.get("Command"),
        "work_dir": record.extra.get("WorkDir"),
        "priority": sentinel(record.priority),
        "time_limit_minutes": limit // 60 if isinstance(limit, int) else sentinel(limit),
        "priority_hold": record.gate.value,
        "hold_kind": None if record.hold_kind is None else record.hold_kind.value,
        "hold_instance": record.hold_instance,
    }


def lookup_words(lookup: JobLookup) -> dict[str, Any]:
    """What the cases ask about an id that the controller was asked for."""
    if lookup.record is not None:
        return record_words(lookup.record)
    return {
        "class": lookup.failure.value,
        "known_to_controller": lookup.known.value,
        "state": "unknown",
        "live": lookup.live.value,
        "succeeded": lookup.succeeded.value,
    }


def execution_words(execution: Execution) -> dict[str, Any]:
    """What the cases ask about a row of accounting."""
    exits = execution.exit_code
    return {
        **state_words(execution.state),
        "exit_code": {"status": exits.status, "signal": exits.signal}
        if isinstance(exits, ExitCode)
        else sentinel(exits),
        "start": sentinel(execution.start_time),
        "nodes": list(execution.nodes),
        "elapsed_seconds": sentinel(execution.elapsed),
        "time_limit": sentinel(execution.time_limit),
        "group": execution.group,
    }


def action_of(request: dict[str, Any], now: float) -> Action:
    """The action that a case asks for."""
    kind, instance = request["action"], request.get("instance", 0)
    if kind == "requeue":
        return Requeue(request["execution"])
    made: Action = {
        "hold": lambda: Hold(instance, now),
        "release": lambda: Release(instance, now),
        "open": Open,
        "restore": Restore,
    }[kind]()
    return made


def write_fields(values: dict[str, Any], now: int, base: int) -> dict[str, str]:
    """A case's job before or after a write, by squeue's names.

    It names the hold's instance instead of the begin time that carries it.
    """
    names = {
        "state": "State",
        "priority": "PriorityLong",
        "reason": "Reason",
        "nice": "Nice",
        "requeue": "Requeue",
        "batch": "BatchFlag",
        "restarts": "RestartCnt",
    }
    fields = {names[key]: str(value) for key, value in values.items() if key in names}
    if "begins_in_seconds" in values:
        fields["EligibleTime"] = str(now + values["begins_in_seconds"])
    elif "hold_instance" in values:
        instance = values["hold_instance"]
        fields["EligibleTime"] = str(now - 60 if instance is None else base + instance)
    if values["state"] in ("RUNNING", "COMPLETED"):
        fields["StartTime"] = str(now - 60)
    return fields


def result_words(made: dict[str, Any]) -> dict[str, Any]:
    """What the cases ask about the result of a write."""
    return {"outcome": made["outcome"], "changed": made["changed"], "class": made["failure_class"]}


def written_words(record: JobRecord) -> dict[str, Any]:
    """What the cases ask about a job after a write."""
    kind = record.hold_kind
    return {
        "priority_hold": record.gate.value,
        "hold_kind": None if kind is None else kind.value,
        "hold_instance": record.hold_instance,
        "nice": record.nice,
        "requeue_bit_after": record.requeue.value,
        "restarts_after": record.restarts,
    }


#: Of a job that nobody could be asked about, or that nobody knows.
NOTHING_KNOWN = {
    "known_to_controller": "unknown",
    "state": "unknown",
    "live": "unknown",
    "succeeded": "unknown",
}


def differing(expected: dict[str, Any], words: dict[str, Any]) -> dict[str, Any]:
    """The expectations that are not met, each with what was reported instead."""
    return {
        key: (value, words.get(key))
        for key, value in expected.items()
        if key not in words or words[key] != value
    }

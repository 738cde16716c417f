# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kind of failure a text names: recorded ones of four releases, field cases, strangers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.failures import (
    LONGEST_LINE,
    REMEDIES,
    SENTENCES,
    as_error,
    classify,
    failure_text,
    sentence_of,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    PASSING,
    FailureClass,
    Reply,
    SlurmError,
)
from ansible_collections.hpcops.slurm.tests.unit.case_words import DATA, failure_class, runs


def reply(err: str, status: int = 1, out: str = "", **more: bool) -> Reply:
    return Reply(("squeue",), status, out.encode(), err.encode("utf-8", "surrogateescape"), **more)


def recorded(name: str) -> Iterator[Any]:
    """The entries of a kind of transcript, of every release."""
    for path in sorted((DATA / "transcripts").glob(f"*/{name}.yml")):
        for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
            yield pytest.param(entry, id=f"{path.parent.name}-{entry['id']}")


def as_bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value or "").encode()


def reply_of(entry: dict[str, Any]) -> Reply:
    argv = tuple(str(word) for word in entry["argv"])
    return Reply(argv, entry["rc"], as_bytes(entry["stdout"]), as_bytes(entry["stderr"]))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (
            "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
            "controller_unreachable",
        ),
        (
            "slurm_load_ctl_conf error:Socket timed out on send/recv operation",
            "controller_unreachable",
        ),
        (
            "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
            "controller_unreachable",
        ),
        (
            "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received",
            "controller_unreachable",
        ),
        (
            "scancel: error: Kill job error on job id 41: Socket timed out on send/recv operation",
            "controller_unreachable",
        ),
        ("Unexpected message received for job 41", "controller_unreachable"),
        (
            "slurm_load_jobs error: Slurm backup controller in standby mode",
            "controller_unreachable",
        ),
        ("scontrol: error: Rate limit exceeded, backing off", "controller_busy"),
        ("scontrol: fatal: Unable to process configuration file", "no_config_source"),
        ("scontrol: fatal: Could not establish a configuration source", "no_config_source"),
        ("Slurm accounting storage is disabled", "accounting_disabled"),
        (
            "sacct: error: Problem talking to the database: Connection refused",
            "accounting_unreachable",
        ),
        ("sacct: error: Problem talking to the database", "accounting_unreachable"),
        ("slurm_load_jobs error: Protocol authentication error", "authentication_failed"),
        ("sbatch: error: Munge encode failed: Failed to access", "authentication_failed"),
        ("scontrol: error: x: failed to connect to any sack sockets", "authentication_failed"),
        ("slurm_load_jobs error: Invalid job id specified", "job_unknown"),
        ("Invalid job id specified for job 41", "job_unknown"),
        ("Job has already finished for job 41", "job_finished"),
        ("slurm_suspend error:Job has already finished", "job_finished"),
        ("Protocol authentication error for job 41", "authentication_failed"),
        # Words of a sentence in another place are another sentence.
        ("lua: note that Slurm accounting storage is disabled", "unclassified"),
        ("scontrol: error: site: see also: Invalid job id specified, they say", "unclassified"),
        ("Batch job submission failed: Invalid partition name specified", "unclassified"),
        ("", "unclassified"),
    ],
)
def test_classify(line: str, kind: str) -> None:
    assert classify(reply(line + "\n")).value == kind
    assert classify(reply("scontrol: error: something else first\n" + line)).value == kind
    assert classify(reply("", out=line)).value == kind


def test_the_first_line_that_is_known_decides() -> None:
    both = "Munge encode failed: x\nsacct: error: Problem talking to the database: y\n"
    assert classify(reply(both)) is FailureClass.AUTHENTICATION_FAILED
    assert failure_text(reply(both)) == "Munge encode failed: x"


def test_what_was_not_answered_is_not_read() -> None:
    assert classify(reply("Slurm accounting storage is disabled", 124)).value == (
        "controller_unreachable"
    )
    assert classify(reply("x", 137)) is FailureClass.CONTROLLER_UNREACHABLE
    assert classify(reply("x", 124, timed_out=True)) is FailureClass.CONTROLLER_UNREACHABLE
    assert classify(reply("x", 127, not_started=True)) is FailureClass.COMMAND_MISSING
    assert classify(reply("Invalid job id specified", 0)) is FailureClass.NONE


@pytest.mark.parametrize("entry", list(recorded("accounting")))
def test_recorded_answers_of_accounting(entry: dict[str, Any]) -> None:
    found, text = classify(reply_of(entry)), str(entry["stderr"])
    if entry["rc"] == 0:
        assert found is FailureClass.NONE
    elif "Munge encode failed" in text:
        assert found is FailureClass.AUTHENTICATION_FAILED
    elif "accounting storage is disabled" in text or "not running a supported" in text:
        assert found is FailureClass.ACCOUNTING_DISABLED
    elif "Problem talking to the database" in text or "Unable to connect to database" in text:
        assert found is FailureClass.ACCOUNTING_UNREACHABLE
    elif "Invalid job id specified" in text:
        assert found is FailureClass.JOB_UNKNOWN
    else:
        assert found is FailureClass.UNCLASSIFIED
        assert entry["stderr"]


@pytest.mark.parametrize("entry", list(recorded("environment")))
def test_recorded_answers_in_odd_environments(entry: dict[str, Any]) -> None:
    found, text = classify(reply_of(entry)), str(entry["stderr"])
    if entry["rc"] == 0:
        assert found is FailureClass.NONE
    elif "any sack sockets" in text or "Munge encode" in text or "auth context" in text:
        assert found is FailureClass.AUTHENTICATION_FAILED
    elif "process configuration file" in text:
        assert found is FailureClass.NO_CONFIG_SOURCE
    elif "Problem talking to the database" in text:
        assert found is FailureClass.ACCOUNTING_UNREACHABLE
    else:
        assert found in (FailureClass.UNCLASSIFIED, FailureClass.CONTROLLER_UNREACHABLE)


@pytest.mark.parametrize("entry", list(recorded("reads")))
def test_recorded_reads(entry: dict[str, Any]) -> None:
    made, text = reply_of(entry), str(entry["stderr"])
    found = classify(made)
    if entry["rc"] == 0:
        assert found is FailureClass.NONE
    elif "Unable to contact slurm controller" in text or "Socket timed out" in text:
        assert found is FailureClass.CONTROLLER_UNREACHABLE
    elif "slurm_load_jobs error: Invalid job id specified" in text:
        assert found is FailureClass.JOB_UNKNOWN
    if entry["rc"] != 0:
        assert failure_text(made)


# Field cases


@pytest.mark.parametrize(("name", "run", "expected"), list(runs("B-01")))
def test_case_b_01_accounting_that_is_off(
    name: str, run: dict[str, Any], expected: dict[str, Any]
) -> None:
    del name
    if run["argv"] is None:
        return
    made = reply(run["stderr"], run["rc"], run["stdout"])
    assert classify(made) is failure_class(expected["class"])
    if "reason_contains" in expected:
        assert expected["reason_contains"] in failure_text(made)
        assert as_error(made, "read").retry.value == expected["retry"]


@pytest.mark.parametrize(("name", "run", "expected"), list(runs("B-02")))
def test_case_b_02_a_database_that_is_down(
    name: str, run: dict[str, Any], expected: dict[str, Any]
) -> None:
    del name
    error = as_error(reply(run["stderr"], run["rc"], run["stdout"]), "read accounting")
    assert error.failure is failure_class(expected["class"])
    assert error.retry.value == expected["retry"]
    assert expected["reason_contains"] in error.message


@pytest.mark.parametrize(("name", "run", "expected"), list(runs("C-01")))
def test_case_c_01_a_failed_query(name: str, run: dict[str, Any], expected: dict[str, Any]) -> None:
    del name
    error = as_error(reply(run["stderr"], run["rc"], run["stdout"]), "read the queue")
    assert error.failure is failure_class(expected["class"])
    assert error.retry.value == expected["retry"]


# Texts


def test_the_best_line_is_shown() -> None:
    text = "squeue: error: first\nslurm_load_jobs error: Invalid job id specified\nlast\n"
    assert failure_text(reply(text)) == "slurm_load_jobs error: Invalid job id specified"
    assert failure_text(reply("one\ntwo\n\n")) == "two"
    assert failure_text(reply("", 3)) == "exit status 3 without a word"
    assert failure_text(reply("", 124, timed_out=True)) == "no answer within the time limit"
    assert failure_text(reply("x\udcff")) == "x\\xff"


@given(st.binary(max_size=3000), st.binary(max_size=300), st.integers(1, 255))
@settings(deadline=None)
def test_any_failure_has_a_short_printable_text(err: bytes, out: bytes, status: int) -> None:
    made = Reply(("squeue",), status, out, err)
    text = failure_text(made)
    text.encode("utf-8")
    assert text
    assert len(text) <= LONGEST_LINE + 3
    classify(made)


def test_a_long_line_costs_no_long_time() -> None:
    made = reply("a:" * 100000 + "\n" + "error: " * 100000 + "x" * 100000)
    assert classify(made) is FailureClass.UNCLASSIFIED


@pytest.mark.parametrize("kind", [kind for _text, kind in SENTENCES])
def test_every_kind_that_is_known_says_what_to_do(kind: FailureClass) -> None:
    assert kind in REMEDIES or kind in (FailureClass.JOB_UNKNOWN, FailureClass.JOB_FINISHED)
    assert all(kind in REMEDIES for kind in PASSING)


def test_a_command_that_could_not_be_started_is_missing() -> None:
    with pytest.raises(SlurmError) as raised:
        as_error(Reply(("scontrol",), 127, b"", b"No such file", not_started=True), "read")
    assert raised.value.failure is FailureClass.COMMAND_MISSING


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("scontrol: error: slurm_load error: X y: z", "X y: z"),
        ("sacct: error: _open_persist_conn: failed: refused", "refused"),
        ("sbatch: error: Batch job submission failed: Invalid account", "Invalid account"),
        ("A sentence: with a colon", "A sentence: with a colon"),
    ],
)
def test_prefixes_are_taken_off(line: str, sentence: str) -> None:
    assert sentence_of(line) == sentence

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What reads text from outside, as functions of bytes: each raises for what must not be.

A parser may raise its own typed error and nothing else; what has an inverse comes back; and nothing
is certain that the input doesn't say.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    as_result,
    parse_configuration,
    parse_controllers,
    store_flag,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.failures import (
    as_error,
    classify,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.landing import landing_bound
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    Reply,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import clock_seconds
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs import fields
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.exits import parse_exit_code
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hosts import expand_hosts
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import parse_job_id
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import Marks
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.sacct import parse_executions
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import parse_jobs
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import (
    parse_accounting_state,
    parse_state,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.submission import (
    comment_of,
    parse_comment,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.cache import Cache
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import (
    APPLIED,
    Journal,
    bits_in_doubt,
    holds,
    needed,
    requeues,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.judge import (
    Ended,
    Proof,
    judge,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.reader import (
    Unreadable,
    read_reports,
    read_sent,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.refusals import ACCEPTED
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import (
    Address,
    Script,
    cancel_script,
    hold_script,
    open_script,
    requeue_script,
)

DATA = Path(__file__).resolve().parents[1] / "unit" / "data"
NONCE = "0123456789abcdef"
MARKS = Marks("~mark", "^mark")
ONE, OTHER = Address("5", 5, ("5",)), Address("6", 6, ("6",))
SCRIPTS: tuple[Script, ...] = (
    hold_script(7, MARKS, (ONE,)),
    hold_script(7, MARKS, (ONE, OTHER)),
    open_script(MARKS, (ONE, OTHER)),
    requeue_script(MARKS, ONE),
    cancel_script((ONE, OTHER)),
)
SENT = b"\x1eDSL " + NONCE.encode() + b" sent "


@contextlib.contextmanager
def unreadable_at_most() -> Iterator[None]:
    """Only the error for an output that can't be read may come out."""
    try:
        yield
    except SlurmError as error:
        if error.failure is not FailureClass.OUTPUT_UNREADABLE:
            raise


def expect(what: bool, text: str) -> None:
    """Raise when something is not as it has to be, also without assertions."""
    if not what:
        raise AssertionError(text)


def reader(data: bytes) -> None:
    """The status lines of a script: the first byte is its exit status."""
    status, stream = (data[0] if data else 0), data[1:]
    reports = read_reports(stream, NONCE, status)
    read_sent(stream, NONCE, 3)
    if isinstance(reports, Unreadable):
        return
    text = b"".join(
        one.text + b"\x1eDSL %s call %d %d\n" % (NONCE.encode(), one.number, one.status)
        for one in reports
    )
    expect(text == stream, "what was read does not say what was written")
    expect(reports[-1].status == status, "the exit status is another one")


def judged(data: bytes) -> None:
    """What a script's streams prove: the first byte chooses the script, the next one its status."""
    if len(data) < 2:
        return
    script, status, stream = SCRIPTS[data[0] % len(SCRIPTS)], data[1], data[2:]
    sent = SENT + b",".join(b"%d" % (place + 1) for place in range(len(script.addresses))) + b"\n"
    found = judge(Ended(script, NONCE, status, sent if script.looks else b"", stream))
    expect(set(found) == set(script.members), "somebody is missing")
    readable = not isinstance(read_reports(stream, NONCE, status), Unreadable)
    for known in found.values():
        if not readable:
            expect(known.proof is Proof.NONE, "something is proved by what is not readable")
            expect(known.outcome is None, "an outcome of what is not readable")
        if known.proof is Proof.REFUSED and known.outcome is not None and known.message:
            said = known.message in {one for texts in ACCEPTED.values() for one in texts}
            expect(said or known.bit_left is Answer.YES, "a refusal that nobody has made")
            expect(known.message.encode() in stream, "a refusal that is not in the stream")


def configuration(data: bytes) -> None:
    """What ``scontrol show config`` and ``scontrol ping`` print."""
    text = data.decode("utf-8", "surrogateescape")
    with unreadable_at_most():
        found = parse_configuration(text)
        result = as_result(found)
        json.dumps(result, allow_nan=False).encode("utf-8")
        if "AuthType" not in text:
            expect(not landing_bound(found, 0).known, "a bound of an AuthType that was not read")
        if "job_comment" not in text.lower():
            expect(store_flag(found, "job_comment") is not Answer.YES, "a flag that is not there")
    with unreadable_at_most():
        parse_controllers(text)


def squeue(data: bytes) -> None:
    """Rows of squeue."""
    with unreadable_at_most():
        for record in parse_jobs(data, MARKS):
            expect(record.job_id > 0, "a job without a number")
            for one in (record.gate, record.ending, record.hold_instance, record.hold_kind):
                str(one)
            with contextlib.suppress(ValueError):
                str(record.nodes)
            json.dumps(record.state.as_result())


def sacct(data: bytes) -> None:
    """Rows of sacct."""
    for restarts in (True, False):
        with unreadable_at_most():
            for one in parse_executions(data, "~", restarts):
                json.dumps(one.state.as_result())


def values(data: bytes) -> None:
    """Single values: ids, durations, states, exit codes, hosts, comments."""
    text = data.decode("utf-8", "surrogateescape")
    asked = parse_job_id(text)
    if asked.may_be_acted_on is Answer.YES:
        expect(re.fullmatch(r"[0-9][0-9_+\[\],:%-]*", text) is not None, f"an id from {text!r}")
        expect(parse_job_id(asked.text) == asked, "an id that does not come back")
    with contextlib.suppress(ValueError):
        expect(clock_seconds(text) >= 0, "a negative duration")
    for read in (fields.moment, fields.limit, fields.number, fields.flag, parse_exit_code):
        read(text)
    for state in (parse_state(text), parse_accounting_state(text)):
        json.dumps(state.as_result()).encode("utf-8")
        certain = state.succeeded is Answer.YES
        expect(not certain or "COMPLETED" in text, "a success that is not in the text")
    with contextlib.suppress(ValueError):
        expand_hosts(text, 1000)
    known = parse_comment(text)
    if known is not None:
        expect(comment_of(known.submission, known.attempt) == text, "another comment")
    with contextlib.suppress(ValueError):
        back = parse_comment(comment_of(text, 3))
        expect(back is not None and back.submission == text, "a submission that was changed")


def failures(data: bytes) -> None:
    """What a failed command has printed: its first byte is the status."""
    status, text = (data[0] if data else 1), data[1:]
    for out, err in ((text, b""), (b"", text)):
        reply = Reply(("squeue",), status, out, err)
        classify(reply)
        json.dumps(as_error(reply, "read").as_result()).encode("utf-8")


#: Written again and again: in memory, where there is such a place.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-", dir=MEMORY)


def cache(data: bytes) -> None:
    """The preflight's cache."""
    path = Path(FOLDER.name, "cache")
    path.write_bytes(data)
    path.chmod(0o600)
    for one in Cache(str(path))._entries():
        json.dumps(one.as_entry(), allow_nan=False)


def journal(data: bytes) -> None:
    """The journal."""
    path = Path(FOLDER.name, "journal.jsonl")
    path.write_bytes(data)
    path.chmod(0o600)
    with Journal(FOLDER.name, read_only=True) as opened:
        entries = opened.entries()
    for read in (holds, bits_in_doubt, requeues):
        read(entries)
    kept = needed(entries, 1796035504.0)
    left = {key: one for key, one in bits_in_doubt(entries).items() if one.outcome != APPLIED}
    expect(left.items() <= bits_in_doubt(kept).items(), "a bit that a rewrite forgets")
    if b'"start"' not in data and b"\\u" not in data:
        expect(not entries, "an entry that nobody has begun")


Target = Callable[[bytes], None]
TARGETS: dict[str, Target] = {
    one.__name__: one
    for one in (
        *(reader, judged, configuration, squeue, sacct),
        *(values, failures, cache, journal),
    )
}


def texts(node: Any) -> Iterator[str]:
    """Every text in a document."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for one in node.values():
            yield from texts(one)
    elif isinstance(node, list):
        for one in node:
            yield from texts(one)


JOURNAL = b"""\
{"cluster": "cl1", "deadline": 1796035564, "event": "start", "format": 1, "instance": 7, "jobs": \
{"5": [1796035504, 0, 0]}, "nonce": "a1", "action": "hold", "until": 1796035880}
{"event": "end", "format": 1, "nonce": "a1", "outcomes": {"5": "applied"}}
"""


def corpus() -> list[bytes]:
    """What real releases have printed, and files and streams as this collection writes them."""
    found = {
        one.read_bytes()
        for one in DATA.rglob("*")
        if one.is_file() and one.suffix != ".license" and one.stat().st_size < 20000
    }
    for path in DATA.rglob("transcripts/*/*.yml"):
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        found |= {one.encode("utf-8", "surrogateescape") for one in texts(document)}
    line = b"\x1eDSL " + NONCE.encode() + b" call "
    refusal = b"Job has already finished for job 5\n"
    found |= {
        b"\0" + line + b"1 0\n",
        b"\1" + refusal + line + b"1 1\n",
        b"\3\0" + line + b"1 0\n" + line + b"2 0\n" + line + b"3 0\n",
        b"\3\1" + line + b"1 0\n" + line + b"2 0\n" + refusal + line + b"3 1\n",
        b"5_[1-3,7]", b"5+1", b"1-02:03:04", b"UNLIMITED", b"n[1-3,7],m1",
        comment_of("a/b c", 2).encode(),
        JOURNAL,
    }  # fmt: skip
    return sorted(found)

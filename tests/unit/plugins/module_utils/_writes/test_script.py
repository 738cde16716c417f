# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The deadline scripts, run by every shell that a host may have, with commands of our own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._writes import script as scripts
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.judge import Proof
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Call, Outcome
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import Address, Script
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._writes.scripts import (
    MARKS,
    NONCE,
    SHELLS,
    Bench,
    Run,
)

NOW = 1796035504
HELD = 4102444807


def test_the_shell_finds_our_commands(bench: Bench) -> None:
    bench.clock(NOW)
    script = "date; timeout; squeue"
    bench.command("timeout", "echo ours")
    reply = subprocess.run(
        [*bench.argv, "-c", script], env={"PATH": str(bench.bin)}, capture_output=True, check=True
    )
    assert reply.stdout == b"%d\nours\n" % NOW, "install busybox, not busybox-static"


@pytest.fixture(params=list(SHELLS))
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(tmp_path, request.param)


def address(text: str, expected: str = "come", rows: int = 1) -> Address:
    return Address(text, int(re.split(r"\D", text)[0] or 0), (text,), rows, expected)


FIVE = address("5")
#: Each script for one job, 5, with the row that lets it go on and the calls that it makes.
ALL: dict[str, tuple[Callable[[], Script], str, list[list[str]]]] = {
    "hold": (
        lambda: scripts.hold_script(7, MARKS, [FIVE]),
        "5=N/A",
        [["update", "JobId=5", f"StartTime=uts{HELD}"]],
    ),
    "release": (
        lambda: scripts.release_script(0, MARKS, [address("5", str(HELD))]),
        f"5={HELD}",
        [["update", "JobId=5", "StartTime=now"]],
    ),
    "release with a begin time": (
        lambda: scripts.release_script(NOW, MARKS, [address("5", str(HELD))]),
        f"5={HELD}",
        [["update", "JobId=5", f"StartTime=uts{NOW}"]],
    ),
    "release of a job that has not aged": (
        lambda: scripts.release_script(0, MARKS, [address("5", str(HELD))], True),
        f"5={HELD}",
        [["update", "JobId=5", "StartTime=now", "ResetAccrueTime"]],
    ),
    "open": (
        lambda: scripts.open_script(MARKS, [address("5", "0")]),
        "5=0",
        [["release", "5"]],
    ),
    "requeue": (
        lambda: scripts.requeue_script(MARKS, address("5", "2")),
        "5=2",
        [
            ["update", "JobId=5", "Requeue=1"],
            ["requeue", "incomplete", "5"],
            ["update", "JobId=5", "Requeue=0"],
        ],
    ),
    "requeue only": (
        lambda: scripts.requeue_only_script(MARKS, [address("5", "2")]),
        "5=2",
        [["requeue", "incomplete", "5"]],
    ),
    "restore": (
        lambda: scripts.restore_script([FIVE]),
        "",
        [["update", "JobId=5", "Requeue=0"]],
    ),
    "cancel": (lambda: scripts.cancel_script([FIVE]), "", [["5"]]),
    "cancel an execution": (
        lambda: scripts.cancel_execution_script(MARKS, [address("5", "2")]),
        "5=2",
        [["5"]],
    ),
}
LOOKING = [kind for kind in ALL if kind not in ("restore", "cancel")]
#: One of each make: a look and a call, a look and three calls, a call.
MAKES = ["hold", "requeue", "restore"]


def run(bench: Bench, kind: str, deadline: float | None = None) -> Run:
    make, rows, _calls = ALL[kind]
    if rows:
        bench.shows(rows)
    return bench.run(make(), deadline)


def frames(done: Run) -> list[tuple[int, int]]:
    """Number and status of each status line, from the end of the stream backwards."""
    found = re.findall(rb"\x1eDSL (\w+) call (\d+) (\d+)\n", done.stderr)
    assert {nonce.decode() for nonce, _number, _status in found} <= {NONCE}
    return [(int(number), int(status)) for _nonce, number, status in found]


@pytest.mark.parametrize("kind", list(ALL))
def test_calls(bench: Bench, kind: str) -> None:
    done = run(bench, kind)
    calls = ALL[kind][2]
    assert [one[1:] for one in done.writes] == calls
    assert frames(done) == [(number, 0) for number in range(1, len(calls) + 1)]
    assert done.status == 0
    assert done.judged()["5"].proof is Proof.ANSWERED
    looks = [one for one in done.calls if one[0] == "squeue"]
    assert len(looks) == (kind in LOOKING)
    for look in looks:
        assert look[1:6] == ["--noheader", "--all", "--array", "--local", "--states=all"]
        assert look[6] == "--jobs=5,5"


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("hold", "EligibleTime"),
        ("release", "EligibleTime"),
        ("open", "PriorityLong"),
        ("requeue", "RestartCnt"),
        ("requeue only", "RestartCnt"),
        ("cancel an execution", "RestartCnt"),
    ],
)
def test_field_that_is_looked_at(bench: Bench, kind: str, field: str) -> None:
    done = run(bench, kind)
    assert done.calls[0][7:] == [f"--Format=JobID:{MARKS.separator},{field}:{MARKS.end}"]


# Values reach Slurm as they are

ODD = [
    "$(touch /tmp/never) `id` ; rm -rf x & | > y < z",
    "two\nlines\n\n",
    "-h",
    "--help",
    "*",
    "[a-z]?",
    "'single' \"double\" \\back\\slash\\",
    "  blanks   and\ttabs  ",
    "$1 ${deadline} $((1/0)) ~ ~root {a,b} !!",
    "%s %d \\033 \\n",
    "é \udcff \x01\x7f",
    "#",
    "=",
]


@pytest.mark.parametrize("value", ODD)
def test_values_are_arguments(bench: Bench, value: str) -> None:
    """An id is checked long before; should one ever hold anything, it is one argument."""
    made = scripts.restore_script([address("5"), Address(value, 6, ("6",))])
    assert bench.run(made).writes == [["scontrol", "update", f"JobId=5,{value}", "Requeue=0"]]
    bench.shows("6=come")
    opened = scripts.open_script(MARKS, [Address(value, 6, ("6",), expected="come")])
    assert bench.run(opened).writes[1:] == [["scontrol", "release", value]]


def test_expected_values_are_no_patterns(bench: Bench) -> None:
    bench.shows("5=123 6=abc")
    for expected in ("*", "1*", "[0-9]*", "???", "", "12", "1234", "123 ", " "):
        done = bench.run(scripts.open_script(MARKS, [address("5", expected)]))
        assert (done.status, done.writes) == (76, []), expected


# The deadline


@pytest.mark.parametrize("kind", MAKES)
@pytest.mark.parametrize("past", [0, 3600, NOW])
def test_after_the_deadline_nothing_is_started(bench: Bench, kind: str, past: int) -> None:
    bench.clock(NOW)
    done = run(bench, kind, NOW - past)
    assert (done.status, done.calls, frames(done)) == (75, [], [(1, 75)])
    assert done.judged()["5"].outcome is Outcome.EXPIRED
    assert done.judged()["5"].bit_left is Answer.NO


@pytest.mark.parametrize("kind", MAKES)
def test_the_last_second_counts_as_over(bench: Bench, kind: str) -> None:
    """The clock shows whole seconds: 0.x s may be left, or nothing."""
    bench.clock(NOW)
    done = run(bench, kind, NOW + 1)
    assert (done.status, done.calls) == (75, [])


def test_a_call_is_limited_to_what_is_left(bench: Bench) -> None:
    log = bench.folder / "limits"
    bench.command("timeout", f'echo "$1 $2 $3" >> {log}; shift 3; "$@"')
    bench.clock(NOW, NOW, NOW + 3, NOW + 8)
    done = run(bench, "requeue", NOW + 10)
    assert list(frames(done)) == [(1, 0), (2, 0), (3, 0)]
    assert log.read_text().splitlines() == ["-k 5 9", "-k 5 9", "-k 5 6", "-k 5 1"]


def test_no_call_outlives_the_deadline(bench: Bench) -> None:
    bench.command("scontrol", "exec /bin/sleep 30")
    done = run(bench, "restore", int(time.time()) + 5)
    # It ended long before the thirty seconds; busybox's own timeout has no 124.
    assert done.status in (124, 143)
    assert done.judged()["5"].proof is Proof.NONE


@pytest.mark.parametrize("kind", MAKES)
def test_deadline_between_two_calls(bench: Bench, kind: str) -> None:
    """The look was in time, the first call is not."""
    if kind == "restore":
        bench.clock(NOW)
    else:
        bench.clock(NOW, NOW + 9)
    done = run(bench, kind, NOW + (0 if kind == "restore" else 9))
    assert (done.status, done.writes, frames(done)) == (75, [], [(1, 75)])
    assert done.judged()["5"].outcome is Outcome.EXPIRED


@pytest.mark.parametrize(
    ("times", "steps", "bit", "proof"),
    [
        ((NOW, NOW, NOW + 9), [(1, 0), (2, 75), (3, 75)], Answer.YES, Proof.EXPIRED),
        ((NOW, NOW, NOW, NOW + 9), [(1, 0), (2, 0), (3, 75)], Answer.YES, Proof.ANSWERED),
    ],
)
def test_deadline_within_a_requeue(
    bench: Bench,
    times: tuple[int, ...],
    steps: list[tuple[int, int]],
    bit: Answer,
    proof: Proof,
) -> None:
    bench.clock(*times)
    done = run(bench, "requeue", NOW + 9)
    assert frames(done) == steps
    assert done.status == 75
    known = done.judged()["5"]
    assert (known.bit_left, known.proof, known.outcome) == (bit, proof, Outcome.NOT_RUN)


@pytest.mark.parametrize("kind", MAKES)
@pytest.mark.parametrize(
    "body", ["exit 1", "exit 3", "echo", "echo soon", "echo -5", "echo 1e9", "echo 5; exit 1"]
)
def test_a_clock_that_can_not_be_read(bench: Bench, kind: str, body: str) -> None:
    bench.command("date", body)
    done = run(bench, kind)
    assert done.calls == []
    assert done.judged()["5"].proof is Proof.NOT_RUN
    assert done.judged()["5"].bit_left is Answer.NO


# Commands that fail


@pytest.mark.parametrize("kind", MAKES)
@pytest.mark.parametrize(("mode", "status"), [(None, 127), (0o644, 126)])
def test_scontrol_that_can_not_be_started(
    bench: Bench, kind: str, mode: int | None, status: int
) -> None:
    path = bench.bin / "scontrol"
    path.unlink() if mode is None else path.chmod(mode)
    done = run(bench, kind)
    steps = [(1, status), (3, status)] if kind == "requeue" else [(1, status)]
    assert (frames(done), done.status) == (steps, status)
    known = done.judged()["5"]
    assert (known.outcome, known.bit_left) == (Outcome.NOT_RUN, Answer.NO)


def test_timeout_that_is_not_there(bench: Bench) -> None:
    (bench.bin / "timeout").unlink()
    done = run(bench, "restore")
    assert (done.calls, frames(done)) == ([], [(1, 127)])
    held = run(bench, "hold")  # squeue can't be asked either
    assert (held.calls, frames(held)) == ([], [(1, 76)])


def test_scontrol_that_ignores_sigterm(bench: Bench) -> None:
    made = scripts.restore_script([FIVE])
    bench.command("scontrol", "trap '' TERM; while :; do /bin/sleep 0.1; done")
    fixed = made.argv(NONCE, int(time.time()) + 5)
    quick = [*fixed[:6], "0.3", *fixed[7:]]  # a shorter grace than 5 s
    process = bench.start(made, argv=quick)
    out, err = process.communicate(timeout=20)
    done = bench.ended(made, process.returncode, out, err)
    assert (frames(done), done.status) == ([(1, 137)], 137)
    assert done.judged()["5"].proof is Proof.NONE


@pytest.mark.parametrize("status", [1, 2, 3, 74, 77, 99, 124, 125, 126, 127, 128, 200, 255])
def test_statuses_are_passed_on(bench: Bench, status: int) -> None:
    bench.command("scontrol", f"exit {status}")
    done = run(bench, "restore")
    assert (frames(done), done.status) == ([(1, status)], status)


@pytest.mark.parametrize("status", [75, 76])
@pytest.mark.parametrize("kind", MAKES)
def test_a_command_can_not_speak_for_the_script(bench: Bench, kind: str, status: int) -> None:
    """75 and 76 say that nothing was started; a wrapper around scontrol that ends so was."""
    bench.command("scontrol", f"exit {status}")
    known = run(bench, kind).judged()["5"]
    assert (known.proof, known.outcome) == (Proof.NONE, None)


def test_text_without_a_newline(bench: Bench) -> None:
    bench.command("scontrol", "printf 'Job has already finished for job 5' >&2; exit 1")
    done = run(bench, "restore")
    assert done.stderr.startswith(b"Job has already finished for job 5\x1eDSL ")
    assert done.judged()["5"].outcome is Outcome.REJECTED


def test_a_wrapper_that_talks(bench: Bench) -> None:
    bench.command("scontrol", "echo 'to stdout'; echo 'to stderr' >&2; exit 0")
    assert run(bench, "hold").judged()["5"].proof is Proof.ANSWERED
    bench.command("scontrol", "echo 'Job has already finished for job 5'; echo hm >&2; exit 1")
    assert run(bench, "hold").judged()["5"].proof is Proof.NONE


def test_a_wrapper_that_forges(bench: Bench) -> None:
    """It can see the script's arguments, and say anything; nothing certain comes of it."""
    frame = r"printf '\036DSL 0123456789abcdef call 1 0\n' >&2"
    bench.command("scontrol", f"{frame}; exit 1")
    assert run(bench, "hold").judged()["5"].proof is Proof.NONE
    bench.command("scontrol", r"printf '\036DSL 0123456789abcdef sent 1\n'; exit 0")
    assert run(bench, "hold").judged()["5"].proof is Proof.NONE


def test_a_wrapper_that_leaves_a_process_behind(bench: Bench) -> None:
    """What it says later stands behind the last line: the output is not believed."""
    late = "(/bin/sleep 0.5; echo late >&2) & exit 1"
    bench.command("scontrol", f"echo 'Job has already finished for job 5' >&2; {late}")
    done = run(bench, "restore")
    assert done.stderr.endswith(b"late\n")
    assert done.judged()["5"].proof is Proof.NONE


# Requeue


@pytest.mark.parametrize(
    ("statuses", "steps"),
    [
        ("0 0 0", [(1, 0), (2, 0), (3, 0)]),
        ("0 1 0", [(1, 0), (2, 1), (3, 0)]),
        ("0 0 1", [(1, 0), (2, 0), (3, 1)]),
        ("1 0", [(1, 1), (3, 0)]),
        ("124 0", [(1, 124), (3, 0)]),
        ("2 1", [(1, 2), (3, 1)]),
    ],
)
def test_requeue_sequences(bench: Bench, statuses: str, steps: list[tuple[int, int]]) -> None:
    body = "case $n in\n" + "".join(
        f"{place}) exit {status} ;;\n" for place, status in enumerate(statuses.split())
    )
    bench.command("scontrol", body + "esac")
    done = run(bench, "requeue")
    assert frames(done) == steps
    assert done.status == steps[-1][1]
    assert done.writes[0][-1] == "Requeue=1"
    assert done.writes[-1][-1] == "Requeue=0"


# The look


def looked(bench: Bench, rows: str, *sent: Address) -> Run:
    bench.shows(rows)
    return bench.run(scripts.release_script(0, MARKS, list(sent)))


def chosen(done: Run) -> str | None:
    """The ids that a release was sent for."""
    assert len(done.writes) <= 1
    return done.writes[0][2].partition("=")[2] if done.writes else None


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (f"5={HELD} 6={HELD} 7={HELD}", "5,6,7"),
        (f"7={HELD} 5={HELD} 6={HELD}", "5,6,7"),
        (f"5={HELD} 6={HELD + 1} 7={HELD}", "5,7"),
        (f"5={HELD - 1} 6=N/A 7={HELD}", "7"),
        (f"5={HELD} 6={HELD}", "5,6"),
        (f"55={HELD} 65={HELD} 7={HELD}", "7"),
        (f"5=1{HELD} 6={HELD}0 7={HELD}", "7"),
        (f"5={NOW} 6= 7={HELD}", "7"),
        ("5=N/A 6=N/A", None),
        ("", None),
    ],
)
def test_only_jobs_as_expected_are_sent(bench: Bench, rows: str, expected: str | None) -> None:
    sent = [address(one, str(HELD)) for one in ("5", "6", "7")]
    done = looked(bench, rows, *sent)
    assert chosen(done) == expected
    proofs = {one: known.proof for one, known in done.judged().items()}
    for one in ("5", "6", "7"):
        was_sent = expected is not None and one in expected.split(",")
        assert proofs[one] is (Proof.ANSWERED if was_sent else Proof.WITHHELD)
    if expected is None:
        assert (done.status, frames(done)) == (76, [(1, 76)])


@pytest.mark.parametrize(
    ("rows", "sent"),
    [
        (f"70={HELD} 70={HELD} 70={HELD}", True),
        (f"70={HELD} 70={HELD}", False),
        (f"70={HELD} 70={HELD} 71={HELD}", False),
        (f"70={HELD} 70={HELD} 70={HELD + 1}", False),
        (f"70={HELD} 70={HELD} 70={HELD} 70={HELD}", False),
        (f"70={HELD} 70={HELD} 70={HELD} 75={HELD + 1} 5={HELD}", True),
    ],
)
def test_tasks_of_one_record_are_counted(bench: Bench, rows: str, sent: bool) -> None:
    members = ("70_1", "70_2")
    group = Address("70_[1-2]", 70, members, 3, str(HELD), 70, (1, 2))
    done = looked(bench, rows, group)
    assert chosen(done) == ("70_[1-2]" if sent else None)
    proof = Proof.ANSWERED if sent else Proof.WITHHELD
    assert {known.proof for known in done.judged().values()} == {proof}


@pytest.mark.parametrize("kind", ["hold", "requeue"])
def test_squeue_that_fails(bench: Bench, kind: str) -> None:
    make, rows, _calls = ALL[kind]
    for status in (1, 124, 137):
        bench.shows(rows, status)
        done = bench.run(make())
        assert (done.writes, frames(done), done.status) == ([], [(1, 76)], 76)
        assert done.judged()["5"].proof is Proof.WITHHELD


@pytest.mark.parametrize("kind", ["hold", "requeue"])
def test_squeue_that_is_not_there(bench: Bench, kind: str) -> None:
    make, _rows, _calls = ALL[kind]
    (bench.bin / "squeue").unlink()
    done = bench.run(make())
    assert (done.writes, frames(done)) == ([], [(1, 76)])


@pytest.mark.parametrize("kind", ["hold", "requeue"])
def test_squeue_that_shows_something_else(bench: Bench, kind: str) -> None:
    make, rows, _calls = ALL[kind]
    value = rows.partition("=")[2]
    for text in (
        value,
        f"5{MARKS.separator}{value}",
        f"5{value}{MARKS.end}",
        f"5~other{value}^other",
        f"{MARKS.separator}{value}{MARKS.end}",
        f"x5{MARKS.separator}{value}{MARKS.end}",
        f"5{MARKS.separator}{value}{MARKS.end}x",
        "*",
    ):
        bench.command("squeue", f"printf '%s\\n' '{text}'")
        assert bench.run(make()).writes == [], text


def test_squeue_has_the_time_that_is_left(bench: Bench) -> None:
    bench.command("squeue", "exec /bin/sleep 30")
    deadline = int(time.time()) + 2
    done = bench.run(ALL["hold"][0](), deadline)
    # On a busy machine the deadline can have passed before squeue was started.
    assert done.writes == []
    assert frames(done) in ([(1, 76)], [(1, 75)])


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("N/A", True),
        ("Unknown", True),
        ("0", True),
        (str(NOW), True),
        (str(NOW + 1), False),
        (str(HELD), False),
        ("9" * 19, False),
        ("9" * 60, False),
        ("1e3", True),
    ],
)
def test_a_hold_without_a_begin_time_ahead(bench: Bench, value: str, sent: bool) -> None:
    """Somebody who has set one meanwhile, or a hold, would lose it."""
    bench.clock(NOW)
    bench.shows(f"5={value}")
    done = bench.run(scripts.hold_script(7, MARKS, [address("5", "come")]), NOW + 60)
    assert bool(done.writes) is sent
    assert done.stderr == b"\x1eDSL 0123456789abcdef call 1 %d\n" % (0 if sent else 76)


@pytest.mark.parametrize(
    ("value", "sent"),
    [(NOW + 600, True), (NOW + 601, False), (HELD, False), (NOW, False), ("N/A", False)],
)
def test_a_hold_over_a_begin_time(bench: Bench, value: object, sent: bool) -> None:
    """The time that the journal keeps is the one that is replaced."""
    bench.clock(NOW)
    bench.shows(f"5={value}")
    done = bench.run(scripts.hold_script(7, MARKS, [address("5", str(NOW + 600))]), NOW + 60)
    assert bool(done.writes) is sent


@pytest.mark.parametrize(
    ("value", "sent"), [("N/A", True), (NOW + 2, True), (NOW + 9, True), (NOW + 10, False)]
)
def test_a_begin_time_that_comes_meanwhile(bench: Bench, value: object, sent: bool) -> None:
    """It was two seconds ahead when the plan was made, and is none any more."""
    bench.clock(NOW + 9)
    bench.shows(f"5={value}")
    done = bench.run(scripts.hold_script(7, MARKS, [address("5", str(NOW + 2))]), NOW + 60)
    assert bool(done.writes) is sent
    assert frames(done) == [(1, 0 if sent else 76)]


def test_rows_are_no_patterns(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A star in a row is not replaced by the name of a file that looks like a row."""
    (tmp_path / f"5{MARKS.separator}0{MARKS.end}").touch()
    monkeypatch.chdir(tmp_path)
    for rows in ("*=0", "?=0", "[5]=0", "5=?"):
        bench.shows(rows)
        assert bench.run(scripts.open_script(MARKS, [address("5", "0")])).writes == []


def test_a_thousand_addresses(bench: Bench) -> None:
    numbers = range(100000, 101000)
    bench.shows(" ".join(f"{number}={HELD}" for number in numbers))
    done = looked(
        bench,
        " ".join(f"{number}={HELD}" for number in numbers),
        *(address(str(number), str(HELD)) for number in numbers),
    )
    assert chosen(done) == ",".join(map(str, numbers))
    assert {known.proof for known in done.judged().values()} == {Proof.ANSWERED}


# Signals


def wait_for(path: Path) -> None:
    end = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < end, f"{path} does not appear"
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGPIPE, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_signal_does_not_leave_the_bit_set(bench: Bench, number: signal.Signals, at: int) -> None:
    here, go = bench.folder / "here", bench.folder / "go"
    wait = f"echo > {here}; while [ ! -e {go} ]; do /bin/sleep 0.02; done"
    bench.command("scontrol", f"[ $n != {at} ] || {{ {wait}; }}")
    bench.shows("5=2")
    process = bench.start(ALL["requeue"][0]())
    wait_for(here)
    os.kill(process.pid, number)
    go.touch()
    out, err = process.communicate(timeout=20)
    done = bench.ended(ALL["requeue"][0](), process.returncode, out, err)
    assert [one[1:] for one in done.writes] == ALL["requeue"][2]
    assert frames(done) == [(1, 0), (2, 0), (3, 0)]


def test_a_reader_that_has_gone_does_not_leave_the_bit_set(bench: Bench) -> None:
    here, go = bench.folder / "here", bench.folder / "go"
    wait = f"echo > {here}; while [ ! -e {go} ]; do /bin/sleep 0.02; done"
    bench.command("scontrol", f"[ $n != 0 ] || {{ {wait}; }}; echo text >&2 || :")
    bench.shows("5=2")
    process = bench.start(ALL["requeue"][0]())
    wait_for(here)
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    process.stderr.close()
    go.touch()
    process.wait(timeout=20)
    assert [one[1:] for one in bench.calls() if one[0] == "scontrol"] == ALL["requeue"][2]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_script_that_is_killed_proves_nothing(bench: Bench, at: int) -> None:
    here, go = bench.folder / "here", bench.folder / "go"
    wait = f"echo > {here}; while [ ! -e {go} ]; do /bin/sleep 0.02; done"
    bench.command("scontrol", f"[ $n != {at} ] || {{ {wait}; }}")
    bench.shows("5=2")
    process = bench.start(ALL["requeue"][0]())
    wait_for(here)
    os.kill(process.pid, signal.SIGKILL)
    go.touch()
    out, err = process.communicate(timeout=20)
    done = bench.ended(ALL["requeue"][0](), process.returncode, out, err)
    assert done.status == -signal.SIGKILL
    known = done.judged()["5"]
    assert (known.proof, known.outcome, known.bit_left) == (Proof.NONE, None, Answer.UNKNOWN)


def test_calls_name_every_step() -> None:
    assert ALL["requeue"][0]().calls == (Call.SET_BIT, Call.REQUEUE, Call.CLEAR_BIT)
    for kind, (make, _rows, calls) in ALL.items():
        assert len(make().calls) == len(calls), kind
        assert make().looks is (kind in LOOKING)


@pytest.mark.parametrize("looks", [False, True])
def test_ids_are_arguments_of_scancel(bench: Bench, looks: bool) -> None:
    """A comma in the brackets of a task list does not end it."""
    tasks = Address("70_[1,3]", 70, ("70_1", "70_3"), 2, "0", 70, (1, 3))
    sent = [address("5", "0"), tasks, address("6", "0")]
    bench.shows("5=0 70=0 70=0 6=1")
    if looks:
        done = bench.run(scripts.cancel_execution_script(MARKS, sent))
        assert done.writes == [["scancel", "5", "70_[1,3]"]]
        assert done.judged()["6"].proof is Proof.WITHHELD
    else:
        done = bench.run(scripts.cancel_script(sent))
        assert done.writes == [["scancel", "5", "70_[1,3]", "6"]]
    assert done.judged()["70_3"].proof is Proof.ANSWERED

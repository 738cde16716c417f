# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one place that starts processes: environment, limits, and what comes back."""

from __future__ import annotations

import ast
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster import commands
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import (
    PINNED,
    Commands,
    clean_environment,
    removed_variables,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    FailureClass,
    Reply,
    SlurmError,
    require_started,
)
from ansible_collections.hpcops.slurm.tests.unit.case_words import case

#: Every variable that changes rows, columns, the cluster, exit statuses or authentication, as
#: squeue(1), scontrol(1), sacct(1), sbatch(1), scancel(1) and Slurm's source name them.
HARMFUL = """SQUEUE_FORMAT SQUEUE_FORMAT2 SQUEUE_STATES SQUEUE_USERS SQUEUE_PARTITION SQUEUE_NAMES
SQUEUE_ACCOUNT SQUEUE_QOS SQUEUE_LICENSES SQUEUE_SORT SQUEUE_ARRAY SQUEUE_ALL SQUEUE_FEDERATION
SACCT_FORMAT SACCT_FEDERATION SACCT_LOCAL SCONTROL_ALL SCONTROL_FUTURE SINFO_FORMAT SBATCH_PARTITION
SBATCH_ACCOUNT SBATCH_QOS SBATCH_REQUEUE SBATCH_NO_REQUEUE SBATCH_HOLD SBATCH_JOB_NAME
SBATCH_ARRAY_INX SBATCH_WAIT SBATCH_CLUSTERS SCANCEL_STATE SCANCEL_INTERACTIVE SCANCEL_USER
SALLOC_PARTITION SLURM_CLUSTERS SLURM_WORKING_CLUSTER SLURM_TIME_FORMAT SLURM_JSON SLURM_YAML
SLURM_BITSTR_LEN SLURM_DEBUG_FLAGS SLURM_EXIT_ERROR SLURM_JWT SLURM_SACK_KEY SLURM_SACK_JWKS
SLURM_CONFIG_FETCH POSIXLY_CORRECT""".split()


def environment_seen(caller: dict[str, str], slurm_conf: str | None = None) -> dict[str, str]:
    """The environment as a real command sees it."""
    run = Commands(30, slurm_conf, caller).run
    reply = run(sys.executable, "-I", "-S", "-c", "import os; print(ascii(dict(os.environ)))")
    assert reply.status == 0, reply
    seen: dict[str, str] = ast.literal_eval(reply.out)
    seen.pop("LC_CTYPE", None)  # Python's own coercion of the C locale
    return seen


# Environment


@pytest.mark.parametrize("name", HARMFUL)
def test_harmful_variable_does_not_reach_a_command(name: str) -> None:
    caller = {"PATH": "/usr/bin:/bin", "HOME": "/root", name: "harm"}
    seen = environment_seen(caller)
    assert seen == {"PATH": "/usr/bin:/bin", "HOME": "/root", **PINNED}
    assert removed_variables(caller) == [name]


def test_environment_of_case_d_02() -> None:
    found = case("D-02")
    caller = {"PATH": "/bin", **found["input"]["env"]}
    seen = environment_seen(caller)
    expected = found["expect"]["env_at_command"]
    assert [name for name in expected["absent"] if name in seen] == []
    for name in expected["absent_or_pinned"]:
        assert seen.get(name) in (None, PINNED.get(name))
    for name, values in expected["one_of"].items():
        assert seen[name] in values
    assert seen == {"PATH": "/bin", **PINNED}


def test_what_is_no_harm_is_kept() -> None:
    caller = {"PATH": "/bin", "HOME": "/h", "LANG": "de_DE.UTF-8", "SLURM_CONF": "/a/slurm.conf"}
    assert environment_seen(caller) == {**caller, **PINNED}
    assert removed_variables(caller) == []


@pytest.mark.parametrize("conf", ["", None])
def test_empty_slurm_conf_is_removed(conf: str | None) -> None:
    assert "SLURM_CONF" not in clean_environment({"SLURM_CONF": ""}, conf)


def test_slurm_conf_of_the_option_wins() -> None:
    assert clean_environment({"SLURM_CONF": "/a"}, "/b")["SLURM_CONF"] == "/b"


def test_the_callers_environment_is_the_default_and_is_not_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SQUEUE_STATES", "PD")
    made = Commands(1)
    assert "SQUEUE_STATES" not in made.environment
    assert os.environ["SQUEUE_STATES"] == "PD"
    assert removed_variables(made.caller) == ["SQUEUE_STATES"]


# Replies


def run(*argv: str, limit: float = 30, text_in: str | None = None) -> Reply:
    return Commands(limit).run(*argv, text_in=text_in)


def python(code: str, limit: float = 30, text_in: str | None = None) -> Reply:
    return run(sys.executable, "-c", code, limit=limit, text_in=text_in)


def test_reply_has_status_and_both_streams() -> None:
    reply = python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (reply.status, reply.out, reply.err) == (3, "out\n", "err\n")
    assert (reply.timed_out, reply.not_started) == (False, False)


def test_bytes_that_are_no_text_are_kept() -> None:
    reply = python(r"import sys; sys.stdout.buffer.write(b'caf\xe9\n\x00')")
    assert reply.stdout == b"caf\xe9\n\x00"
    assert reply.out.encode("utf-8", "surrogateescape") == reply.stdout
    assert reply.as_evidence()["stdout"] == "caf\\xe9\n\x00"


def test_death_by_a_signal_counts_as_in_a_shell() -> None:
    assert python("import os; os.kill(os.getpid(), 9)").status == 137
    assert python("import os; os.kill(os.getpid(), 15)").status == 143


@pytest.mark.parametrize("status", [75, 124, 126, 127, 137])
def test_statuses_of_the_command_itself_are_handed_through(status: int) -> None:
    reply = python(f"import sys; sys.exit({status})")
    assert (reply.status, reply.timed_out, reply.not_started) == (status, False, False)
    assert require_started(reply) is reply


def test_standard_input_is_empty_or_the_text_given() -> None:
    read = "import sys; sys.stdout.write(sys.stdin.read())"
    assert python(read).out == ""
    assert python(read, text_in="a script\n\u00e4").out == "a script\n\u00e4"
    assert python("", text_in="x" * 1000000).status == 0  # nobody reads it


def test_much_output_on_both_streams_does_not_block() -> None:
    code = "import sys\nfor _ in range(200): sys.stdout.write('o'*9999); sys.stderr.write('e'*9999)"
    reply = python(code)
    assert (len(reply.stdout), len(reply.stderr)) == (1999800, 1999800)


@pytest.mark.parametrize(
    ("argv", "status"),
    [
        (("no-such-program-anywhere",), 127),
        (("/etc/passwd",), 126),
        (("true", "a\0b"), 126),
        (("true", "\ud800"), 126),
        (("true", "x" * 200000), 126),
        (("/",), 126),
    ],
)
def test_what_can_not_be_started_says_so(argv: tuple[str, ...], status: int) -> None:
    reply = run(*argv)
    assert (reply.status, reply.not_started, reply.stdout) == (status, True, b"")
    with pytest.raises(SlurmError) as raised:
        require_started(reply)
    assert raised.value.failure is FailureClass.COMMAND_MISSING
    assert raised.value.remedy


def test_programs_are_found_on_the_tasks_path(tmp_path: Path) -> None:
    program = tmp_path / "scontrol"
    program.write_text("#!/bin/sh\necho mine\n")
    program.chmod(0o755)
    made = Commands(10, None, {"PATH": str(tmp_path)})
    assert made.path_of("scontrol") == str(program)
    assert made.run("scontrol").out == "mine\n"
    assert made.path_of("squeue") is None
    assert made.run("squeue").not_started


# The time limit


def test_limit_ends_the_command_and_its_children() -> None:
    reply = run("/bin/sh", "-c", "echo $$; sleep 60 & echo $!; wait", limit=0.5)
    assert (reply.status, reply.timed_out) == (124, True)
    for process in reply.out.split():
        assert ended(int(process))


def ended(process: int) -> bool:
    """Whether a process is gone, or only waits for its new parent, within seconds."""
    for _time in range(50):
        try:
            if ") Z " in Path(f"/proc/{process}/stat").read_text():
                return True
        except OSError:
            return True
        time.sleep(0.1)
    return False


def test_limit_of_one_call_wins() -> None:
    assert Commands(0.1).run("sleep", "0.3", time_limit=10).status == 0


def test_a_command_that_ignores_sigterm_is_ended() -> None:
    reply = run("/bin/sh", "-c", "trap '' TERM; echo on; while :; do sleep 1; done", limit=0.5)
    assert (reply.timed_out, reply.out) == (True, "on\n")


def test_a_process_that_left_its_session_does_not_hold_us(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "DRAIN", 0.3)
    reply = run("/bin/sh", "-c", "setsid sleep 60 & echo $!; sleep 60", limit=0.5)
    assert (reply.timed_out, reply.status) == (True, 124)
    os.kill(int(reply.out), signal.SIGKILL)  # it is still there: nobody has waited for its end


def test_the_command_that_runs_can_be_ended_from_outside(tmp_path: Path) -> None:
    made, note = Commands(30), tmp_path / "pid"
    made.end_running()  # there is none
    timer = threading.Timer(0.5, made.end_running)
    timer.start()
    reply = made.run("/bin/sh", "-c", f"sleep 60 & echo $! > {note}; wait")
    timer.join()
    assert (reply.status, reply.timed_out) == (137, False)
    assert ended(int(note.read_text()))
    made.end_running()
    assert made.run("true").status == 0


def test_a_command_beside_others_is_waited_for_when_it_is_asked_for() -> None:
    made = Commands(30)
    with made.beside("/bin/sh", "-c", "sleep 0.2; echo late; exit 3") as reply:
        assert made.run("echo", "first").out == "first\n"
        assert (reply().out, reply().status) == ("late\n", 3)
    with made.beside("no-such-program-anywhere") as reply:
        assert (reply().status, reply().not_started) == (127, True)
    with Commands(0.3).beside("sleep", "60") as reply:
        assert reply().timed_out


def test_a_command_beside_others_that_is_not_asked_for_is_ended(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    with Commands(30).beside("/bin/sh", "-c", f"sleep 60 & echo $! > {note}; wait"):
        while not (note.exists() and note.read_text()):
            time.sleep(0.02)
    assert ended(int(note.read_text()))


class Stop(BaseException):
    """What a signal handler raises here."""


def test_an_interrupted_command_is_ended_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "pid"

    def take(number: int, frame: object) -> None:
        del number, frame
        raise Stop

    before = signal.signal(signal.SIGUSR1, take)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        with pytest.raises(Stop):
            run("/bin/sh", "-c", f"sleep 60 & echo $! > {note}; wait")
    finally:
        signal.signal(signal.SIGUSR1, before)
        timer.join()
    assert ended(int(note.read_text()))

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one place where a process is started.

Every command is an argv list, runs in an environment that cannot change what Slurm prints or how
it authenticates, has no standard input, and has a time limit. Private to the collection.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Reply

#: Variables of the caller that hide rows, change columns, exit statuses or the cluster, add lines,
#: or switch authentication (squeue(1), scontrol(1), sacct(1), sbatch(1), and for the last four
#: src/interfaces/auth.c and src/plugins/auth/slurm).
REMOVED_PREFIXES = ("SQUEUE_", "SCONTROL_", "SACCT_", "SINFO_", "SBATCH_", "SALLOC_", "SCANCEL_")
REMOVED = frozenset(
    {
        "SLURM_CLUSTERS",
        "SLURM_WORKING_CLUSTER",
        "SLURM_TIME_FORMAT",
        "SLURM_JSON",
        "SLURM_YAML",
        "SLURM_BITSTR_LEN",
        "SLURM_DEBUG_FLAGS",
        "SLURM_EXIT_ERROR",
        "POSIXLY_CORRECT",
        "SLURM_JWT",
        "SLURM_SACK_KEY",
        "SLURM_SACK_JWKS",
        "SLURM_CONFIG_FETCH",
    }
)
PINNED = {"LC_ALL": "C", "TZ": "UTC", "SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}

#: Seconds that an ended command's output is still waited for: a process that it left behind in a
#: session of its own can hold the pipes open.
DRAIN = 2.0

#: ``run(program, *arguments)``: how the engine asks for a command; tests pass a fake.
Run = Callable[..., Reply]


def clean_environment(
    caller: Mapping[str, str], slurm_conf: Optional[str] = None
) -> Dict[str, str]:
    """The environment that a command gets.

    ``slurm_conf`` (a path) replaces the caller's SLURM_CONF; an empty SLURM_CONF is removed, since
    Slurm's clients wait a minute for the file named "".
    """
    kept = {
        name: value
        for name, value in caller.items()
        if name not in REMOVED and not name.startswith(REMOVED_PREFIXES)
    }
    kept.update(PINNED)
    if slurm_conf:
        kept["SLURM_CONF"] = slurm_conf
    if not kept.get("SLURM_CONF"):
        kept.pop("SLURM_CONF", None)
    return kept


def removed_variables(caller: Mapping[str, str]) -> List[str]:
    """Names of the caller's variables that commands do not get, sorted."""
    return sorted(name for name in caller if name in REMOVED or name.startswith(REMOVED_PREFIXES))


class Commands:
    """Runs commands on this host."""

    def __init__(
        self,
        time_limit: float,
        slurm_conf: Optional[str] = None,
        caller: Optional[Mapping[str, str]] = None,
    ) -> None:
        """``time_limit`` in seconds applies to every command that is given no other."""
        self.time_limit = time_limit
        self.caller = dict(os.environ if caller is None else caller)
        self.environment = clean_environment(self.caller, slurm_conf)
        self._running: Optional[subprocess.Popen[bytes]] = None

    def path_of(self, program: str) -> Optional[str]:
        """Absolute path of a program as the commands' own PATH finds it, None if it does not."""
        return shutil.which(program, path=self.environment.get("PATH", os.defpath))

    def run(
        self,
        program: str,
        *arguments: str,
        time_limit: Optional[float] = None,
        text_in: Optional[str] = None,
    ) -> Reply:
        """Run one command to its end, or to the time limit in seconds.

        Standard input is ``text_in``, or empty. The reply of a command that reached the limit has
        ``timed_out`` set and what it had written; the command and its children are gone then.
        """
        argv = (program,) + arguments
        limit = self.time_limit if time_limit is None else time_limit
        process = self._started(argv, subprocess.DEVNULL if text_in is None else subprocess.PIPE)
        if isinstance(process, Reply):
            return process
        self._running = process
        try:
            return _finish(process, argv, limit, text_in)
        finally:
            self._running = None

    @contextlib.contextmanager
    def beside(self, program: str, *arguments: str) -> Iterator[Callable[[], Reply]]:
        """Start a command that prints little, and go on; calling what is given waits for its end.

        The time limit counts from then. A command that was not waited for is ended.
        """
        argv = (program,) + arguments
        process = self._started(argv, subprocess.DEVNULL)
        if isinstance(process, Reply):
            failed = process
            yield lambda: failed
            return
        try:
            yield lambda: _finish(process, argv, self.time_limit, None)
        finally:
            if process.returncode is None:
                _end(process)

    def _started(self, argv: Tuple[str, ...], stdin: int) -> Union[subprocess.Popen[bytes], Reply]:
        try:
            # run_command of AnsibleModule can neither limit the time nor unset a variable.
            return subprocess.Popen(  # pylint: disable=ansible-bad-function
                argv,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self.environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            status = 127 if isinstance(error, FileNotFoundError) else 126
            return Reply(argv, status, b"", str(error).encode(), not_started=True)

    def end_running(self) -> None:
        """Kill the command that runs now, if there is one; its reply has the status 137.

        For a signal's handler.
        """
        process = self._running
        if process is not None and process.returncode is None:
            _kill_group(process)

    def run_detached(self, argv: Tuple[str, ...], patience: float, text_in: str = "") -> Detached:
        """Start a program that goes on when this process dies, and wait for its end.

        It has a session and files of its own; standard input holds ``text_in``, which nobody else
        can see, as the arguments can be. ``patience`` in seconds; a program that has not ended by
        then goes on, and its status is None.
        """
        with contextlib.ExitStack() as files:
            try:
                out = files.enter_context(tempfile.TemporaryFile())
                err = files.enter_context(tempfile.TemporaryFile())
                given = files.enter_context(tempfile.TemporaryFile())
                given.write(text_in.encode("utf-8", "surrogateescape"))
                given.seek(0)
                # run_command of AnsibleModule waits for the end, and takes it along.
                process = subprocess.Popen(  # pylint: disable=ansible-bad-function
                    argv,
                    stdin=given,
                    stdout=out,
                    stderr=err,
                    env=self.environment,
                    cwd="/",
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                return Detached(127, b"", str(error).encode(), not_started=True)
            status: Optional[int] = None
            try:
                status = process.wait(timeout=patience)
            except subprocess.TimeoutExpired:
                pass
            out.seek(0)
            err.seek(0)
            return Detached(status, out.read(), err.read())


@dataclass(frozen=True)
class Detached:
    """How a detached program ended: its status (negative: a signal, None: not seen), its output."""

    status: Optional[int]
    stdout: bytes
    stderr: bytes
    not_started: bool = False


def _finish(
    process: subprocess.Popen[bytes],
    argv: Tuple[str, ...],
    limit: float,
    text_in: Optional[str],
) -> Reply:
    data = None if text_in is None else text_in.encode("utf-8", "surrogateescape")
    try:
        out, err = process.communicate(data, timeout=limit)
    except subprocess.TimeoutExpired:
        out, err = _end(process)
        return Reply(argv, 124, out, err, timed_out=True)
    except BaseException:
        _end(process)
        raise
    status = process.returncode
    return Reply(argv, status if status >= 0 else 128 - status, out, err)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> Tuple[bytes, bytes]:
    """Kill the command with its group; what it had written."""
    _kill_group(process)
    try:
        return process.communicate(timeout=DRAIN)
    except subprocess.TimeoutExpired as late:
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        return late.stdout or b"", late.stderr or b""

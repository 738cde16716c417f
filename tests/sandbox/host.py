# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""This machine: running commands, what is installed, locks, and the progress that a person sees."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
STATE = HERE / ".state"
KEY = STATE / "ed25519"  # the ssh key that logs in to every cluster as every user

# Package, and the file by which its presence is seen. All are needed; only Debian 12 and 13 are
# known to have them under these names.
_PACKAGES = {
    "podman": "/usr/bin/podman",
    "runc": "/usr/sbin/runc",
    "netavark": "/usr/lib/podman/netavark",
    "aardvark-dns": "/usr/lib/podman/aardvark-dns",
    "iptables": "/usr/sbin/iptables",
    "nftables": "/usr/sbin/nft",
    "iproute2": "/usr/sbin/ip",
    "debootstrap": "/usr/sbin/debootstrap",
    "debian-archive-keyring": "/usr/share/keyrings/debian-archive-keyring.gpg",
    "openssh-client": "/usr/bin/ssh",
}
_DEBIAN_RELEASES = ("12", "13")
_HELPERS = ":/usr/lib/podman:/usr/libexec/podman:/usr/local/libexec/podman"

_STARTED = time.monotonic()


class Failure(Exception):
    """Something a person has to see to, as the message says."""

    def __init__(self, message: str, status: int = 1) -> None:
        """Takes the message and the exit status to end with."""
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Result:
    """How a command ended: its exit status and what it printed."""

    status: int
    stdout: str
    stderr: str


def say(message: str) -> None:
    """A line of progress on stderr, with the seconds since the command began."""
    print(f"sandbox: {time.monotonic() - _STARTED:6.1f} s  {message}", file=sys.stderr, flush=True)


def run(argv: Sequence[str], *, check: bool = True, seconds: float = 120) -> Result:
    """Runs a command; raises Failure if it can't be run, hangs, or (check) exits non-zero."""
    try:
        done = subprocess.run(
            argv,
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=seconds,
            env=environment(),
        )
    except FileNotFoundError as error:
        raise Failure(f"{argv[0]} is not installed: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise Failure(f"no answer within {seconds:.0f} s from: {' '.join(argv)}") from error
    if check and done.returncode != 0:
        text = (done.stderr or done.stdout).strip()
        raise Failure(f"exit status {done.returncode} from: {' '.join(argv)}\n{text}")
    return Result(done.returncode, done.stdout, done.stderr)


def run_logged(argv: Sequence[str], log: Path) -> None:
    """Runs a long command with its output in a log file; raises Failure with the log's end."""
    with log.open("a", encoding="utf-8") as stream:
        stream.write(f"+ {' '.join(argv)}\n")
        stream.flush()
        done = subprocess.run(
            argv,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env=environment(),
        )
    if done.returncode != 0:
        raise Failure(
            f"exit status {done.returncode} from: {' '.join(argv)}\n{tail(log, 25)}\n"
            f"The whole output is in {log}; running the command again continues where it failed."
        )


def environment() -> dict[str, str]:
    """The environment for commands: ours, with podman told to use our own containers.conf."""
    path = os.environ.get("PATH", "/usr/bin:/bin")
    return {
        **os.environ,
        "CONTAINERS_CONF": str(STATE / "containers.conf"),
        "LC_ALL": "C.UTF-8",
        # Said by podman 5 on each call, in the midst of what a command in the cluster prints.
        "PODMAN_IGNORE_CGROUPSV1_WARNING": "1",
        "PATH": f"{path}:/usr/sbin:/sbin",
    }


def tail(path: Path, lines: int) -> str:
    """The last lines of a file, or an empty string if there is no such file."""
    try:
        return "\n".join(path.read_text("utf-8", errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return ""


@contextlib.contextmanager
def lock(path: Path, waiting: str) -> Iterator[None]:
    """Holds an exclusive lock, and says what it is waiting for if somebody else has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another sandbox command: {waiting}")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def machine_lock(what: str) -> Path:
    """The path of a lock that all checkouts on this machine share."""
    return Path("/run/lock") / f"hpcops-slurm-sandbox-{what}.lock"


def need_root() -> None:
    """Raises Failure unless this runs as root."""
    if os.geteuid() != 0:
        raise Failure("clusters are containers of root's: run this as root, for example with sudo")


def prepare() -> None:
    """Installs what is missing, if this is a Debian that we know, and prepares podman."""
    missing = _missing()
    if missing:
        with lock(machine_lock("apt"), "it installs packages"):
            _install(_missing())
    prepare_podman()


def prepare_podman() -> None:
    """Writes the containers.conf that every podman of ours is told to use."""
    STATE.mkdir(exist_ok=True)
    give_to_owner(STATE)
    _write_containers_conf(STATE / "containers.conf")


def give_to_owner(*paths: Path) -> None:
    """Gives files to the owner of the checkout, who may not be root but runs Ansible."""
    owner = HERE.stat()
    for path in paths:
        os.chown(path, owner.st_uid, owner.st_gid)


def _missing() -> list[str]:
    found = environment()["PATH"] + _HELPERS
    return [
        package
        for package, file in _PACKAGES.items()
        if not Path(file).exists() and not shutil.which(Path(file).name, path=found)
    ]


def _install(missing: Sequence[str]) -> None:
    if not missing:
        return
    command = f"apt-get install {' '.join(missing)}"
    if not _is_known_debian():
        raise Failure(
            f"missing on this machine: {' '.join(missing)}."
            f" On Debian {' and '.join(_DEBIAN_RELEASES)} the sandbox installs them itself;"
            f" elsewhere install them first ({command})."
        )
    say(f"installing {' '.join(missing)}")
    STATE.mkdir(exist_ok=True)
    log = STATE / "apt.log"
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *missing]
    if not _package_lists_exist(missing):
        run_logged(["apt-get", "update"], log)
    try:
        run_logged(install, log)
    except Failure:  # the lists may be too old for the mirror
        run_logged(["apt-get", "update"], log)
        run_logged(install, log)


def _package_lists_exist(packages: Sequence[str]) -> bool:
    return run(["apt-cache", "show", *packages], check=False).status == 0


def _is_known_debian() -> bool:
    try:
        lines = Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return False
    release = dict(line.partition("=")[::2] for line in lines)
    version = release.get("VERSION_ID", "").strip('"')
    return release.get("ID", "").strip('"') == "debian" and version in _DEBIAN_RELEASES


def _write_containers_conf(path: Path) -> None:
    """Limits no higher than ours, because raising them takes a privilege; runc, because crun
    refuses hosts with hybrid cgroups.
    """
    files = _at_most(resource.RLIMIT_NOFILE, 20000)
    processes = _at_most(resource.RLIMIT_NPROC, 8192)
    text = f"""# Written by the sandbox.
[containers]
default_ulimits = ["nofile={files}:{files}", "nproc={processes}:{processes}"]
log_driver = "k8s-file"
pids_limit = 8192

[engine]
runtime = "runc"
events_logger = "file"

[network]
network_backend = "netavark"
"""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _at_most(limit: int, wanted: int) -> int:
    hard = resource.getrlimit(limit)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)

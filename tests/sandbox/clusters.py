# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters: one container each, its state in .state/NAME, known by labels of this checkout."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NoReturn

import config
import images
from config import Wish
from host import (
    HERE,
    KEY,
    STATE,
    Failure,
    environment,
    give_to_owner,
    lock,
    prepare,
    run,
    say,
    tail,
)

_CHECKOUT = hashlib.sha256(str(HERE).encode()).hexdigest()[:8]
_LABEL = "hpcops.slurm.sandbox"
_START_LIMIT = 300.0  # seconds; a start takes about ten, on a busy machine with many clusters more


def up(wish: Wish) -> Path:
    """Makes the cluster run as wished; returns its inventory's path, raises Failure if it won't."""
    prepare()
    with _locked(wish.name):
        image = images.image_name(wish.variant.suite)
        fingerprint = _fingerprint(wish, image)
        inventory = STATE / wish.name / "inventory.yml"
        if inventory.exists() and _reusable(wish, fingerprint):
            return inventory
        _refuse_clash(wish)
        images.ensure_image(wish.variant.suite)
        _remove(wish.name)
        return _start(wish, image, fingerprint)


def execute(name: str, user: str, command: Sequence[str]) -> NoReturn:
    """Becomes the command, run in the cluster as the user; raises Failure if it isn't running."""
    if not _seems_running(name):
        _check_running(name)
    flags = ["--interactive"]
    if os.isatty(0) and os.isatty(1):
        flags.append("--tty")
    argv = [
        "podman",
        "exec",
        *flags,
        "--workdir",
        "/",
        _container(name),
        "sandbox-as",
        user,
        *command,
    ]
    os.execvpe(argv[0], argv, environment())


def down(name: str) -> None:
    """Removes the cluster and what it left in .state; no error if there is none."""
    with _locked(name):
        if not (STATE / name).exists() and not _inspect(name):
            say(f"{name}: there is no such cluster")
            return
        _remove(name)
        say(f"{name}: removed")


def names() -> list[str]:
    """The names of this checkout's clusters, running or not."""
    listed = run(
        [
            "podman",
            "ps",
            "--all",
            "--filter",
            f"label={_LABEL}.checkout={_CHECKOUT}",
            "--format",
            f'{{{{index .Labels "{_LABEL}.name"}}}}',
        ]
    )
    return sorted(listed.stdout.split())


def _container(name: str) -> str:
    return f"sandbox-{_CHECKOUT}-{name}"


def _locked(name: str) -> AbstractContextManager[None]:
    return lock(STATE / ".locks" / name, f"it works on {name}")


def _fingerprint(wish: Wish, image: str) -> str:
    """The same for two wishes that make the same cluster."""
    parts = [wish.variant.name, image, config.slurm_conf(wish), str(wish.clock_offset)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _inspect(name: str) -> dict[str, str] | None:
    """The container's state, fingerprint and address, or None if there is no container."""
    done = run(["podman", "container", "inspect", _container(name)], check=False)
    if done.status != 0:
        return None
    found = json.loads(done.stdout)[0]
    return {
        "status": found["State"]["Status"],
        "fingerprint": found["Config"]["Labels"].get(f"{_LABEL}.fingerprint", ""),
        "address": found["NetworkSettings"]["IPAddress"],
    }


def _seems_running(name: str) -> bool:
    """Whether the first process of the container lives; no podman is needed to see it."""
    try:
        pid = int((STATE / name / "pid").read_text(encoding="ascii"))
        return b"sandbox-start" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return False


def _check_running(name: str) -> None:
    found = _inspect(name)
    if not found or found["status"] != "running":
        state = f"is {found['status']}" if found else "does not exist"
        known = ", ".join(names()) or "none"
        raise Failure(
            f"cluster {name} {state} (clusters here: {known}); start it with: sandbox up VARIANT"
            f" --name {name}",
            status=125,
        )


def _reusable(wish: Wish, fingerprint: str) -> bool:
    """Whether the cluster runs, was started with the same options, and is in order."""
    found = _inspect(wish.name)
    if not found or found["status"] != "running":
        return False
    if found["fingerprint"] != fingerprint:
        say(f"{wish.name}: runs with other options or another image: making it anew")
        return False
    health = run(["podman", "exec", _container(wish.name), "sandbox-health"], check=False)
    if health.status != 0:
        say(f"{wish.name}: {(health.stdout or health.stderr).strip()}: making it anew")
        return False
    live = run(["podman", "exec", _container(wish.name), "cat", "/etc/slurm/slurm.conf"])
    if live.stdout != config.slurm_conf(wish):
        say(
            f"{wish.name}: warning: its slurm.conf was changed after the start;"
            f" for a fresh cluster: sandbox down {wish.name}"
        )
    say(f"{wish.name}: runs already")
    return True


def _refuse_clash(wish: Wish) -> None:
    for other in names():
        if other != wish.name and other.replace("-", "") == wish.cluster_name:
            raise Failure(
                f"cluster {other} has the ClusterName {wish.cluster_name} already: choose another"
                " --name",
                status=2,
            )


def _remove(name: str) -> None:
    run(["podman", "rm", "--force", "--ignore", "--time", "5", "--volumes", _container(name)])
    shutil.rmtree(STATE / name, ignore_errors=True)


def _start(wish: Wish, image: str, fingerprint: str) -> Path:
    folder = STATE / wish.name
    log = folder / "log"
    log.mkdir(parents=True)
    _make_key(KEY, "sandbox")
    _make_key(folder / "host_key", wish.name)
    public = (folder / "host_key.pub").read_text(encoding="utf-8")
    config.write_config(
        wish,
        folder / "config",
        KEY.with_suffix(".pub").read_text(encoding="utf-8"),
        (folder / "host_key").read_text(encoding="utf-8"),
    )
    say(f"{wish.name}: starting")
    labels = {
        "checkout": _CHECKOUT,
        "name": wish.name,
        "variant": wish.variant.name,
        "fingerprint": fingerprint,
    }
    run(
        [
            "podman",
            "run",
            "--detach",
            "--pull=never",
            "--name",
            _container(wish.name),
            "--hostname",
            wish.name,
            "--pidfile",
            str(folder / "pid"),
            "--cap-add",
            "AUDIT_WRITE",
            *(f"--label={_LABEL}.{key}={value}" for key, value in labels.items()),
            "--volume",
            f"{folder / 'config'}:/sandbox:ro",
            "--volume",
            f"{log}:/var/log/slurm",
            image,
        ]
    )
    _follow(wish.name, log)
    found = _inspect(wish.name)
    if not found or not found["address"]:
        raise Failure(f"{wish.name}: the container has no address on podman's network")
    host_key = " ".join(public.split()[:2])
    inventory = config.write_inventory(wish, folder, found["address"], host_key)
    give_to_owner(KEY, KEY.with_suffix(".pub"), folder, inventory, folder / "known_hosts")
    return inventory


def _make_key(path: Path, comment: str) -> None:
    """An ssh key without a passphrase, if it isn't there yet."""
    with lock(STATE / ".locks" / "ssh-keygen", "it makes a key"):
        if not path.exists():
            run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)])


def _follow(name: str, log: Path) -> None:
    """Shows what the container's start does until it is ready; raises Failure if it fails."""
    shown = 0
    begun = time.monotonic()
    asked = begun
    while True:
        lines = tail(log / "start.log", 1000).splitlines()
        for line in lines[shown:]:
            say(f"{name}: {line}")
            if line == "ready":
                return
            if line.startswith("failed: "):
                raise _start_failure(name, log, line.removeprefix("failed: "))
        shown = len(lines)
        now = time.monotonic()
        if now - begun > _START_LIMIT:
            raise _start_failure(name, log, f"not ready after {_START_LIMIT:.0f} s")
        if now - asked > 2:
            asked = now
            found = _inspect(name)
            if not found or found["status"] not in ("created", "initialized", "running"):
                raise _start_failure(name, log, "the container ended")
        time.sleep(0.1)


def _start_failure(name: str, log: Path, reason: str) -> Failure:
    """The error for a failed start, with the ends of the logs that matter."""
    service = reason.partition(":")[0]
    every = sorted(log.glob("*.log"))
    about = [path for path in every if path.stem.partition("-")[0] == service] or every
    parts = [f"{name} did not start: {reason}"]
    parts += [f"--- {path}\n{tail(path, 15)}" for path in about]
    parts.append(
        f"All logs are in {log}. Look around with: sandbox exec {name} -- bash. If it was started"
        " with --set, check the settings; otherwise run `sandbox up` again, which makes it anew."
    )
    return Failure("\n".join(parts))

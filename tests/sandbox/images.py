# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images: a base made with debootstrap, and one image a suite made from it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from host import HERE, STATE, Failure, environment, lock, machine_lock, run, run_logged, say

_CONTEXT = HERE / "image"
_REPOSITORY = "localhost/hpcops-slurm-sandbox"
_FALLBACK_MIRROR = "http://deb.debian.org/debian"
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_SCRIPTS = Path("/usr/share/debootstrap/scripts")


def image_name(suite: str) -> str:
    """The image's name; its tag holds a hash of the files that it is made from."""
    digest = hashlib.sha256()
    for path in sorted(_CONTEXT.iterdir()):
        digest.update(f"{path.name}\0{path.stat().st_mode & 0o111}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return f"{_REPOSITORY}:{suite}-{digest.hexdigest()[:12]}"


def ensure_image(suite: str) -> str:
    """Builds the suite's image if it is missing; returns its name."""
    name = image_name(suite)
    if _exists(name):
        return name
    with lock(machine_lock(f"image-{suite}"), f"it builds the image of {suite}"):
        if not _exists(name):
            log = STATE / f"build-{suite}.log"
            log.write_text("", encoding="utf-8")
            base = _ensure_base(suite, log)
            say(f"building the image of {suite} (output in {log})")
            run_logged(
                [
                    "podman",
                    "build",
                    "--pull=never",
                    "--network=host",
                    "--build-arg",
                    f"BASE={base}",
                    "--build-arg",
                    f"SUITE={suite}",
                    "--tag",
                    name,
                    str(_CONTEXT),
                ],
                log,
            )
            say(f"image of {suite} built")
    return name


def _exists(name: str) -> bool:
    return run(["podman", "image", "exists", name], check=False).status == 0


def _ensure_base(suite: str, log: Path) -> str:
    name = f"{_REPOSITORY}-base:{suite}"
    if _exists(name):
        return name
    mirror = _mirror()
    say(f"making the base image of {suite} with debootstrap from {mirror}")
    with tempfile.TemporaryDirectory(prefix="sandbox-", dir="/var/tmp") as folder:
        root = Path(folder) / "root"
        try:
            run_logged(_debootstrap(suite, root, mirror), log)
            _import(root, name)
        finally:
            _unmount_below(root)
    return name


def _debootstrap(suite: str, root: Path, mirror: str) -> list[str]:
    argv = ["debootstrap", "--variant=minbase", f"--keyring={_KEYRING}"]
    if mirror.startswith("https:"):
        argv.append("--include=ca-certificates")
    argv += [suite, str(root), mirror]
    if not (_SCRIPTS / suite).exists():  # a suite newer than this debootstrap
        argv.append(str(_SCRIPTS / "sid"))
    return argv


def _import(root: Path, name: str) -> None:
    with subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE) as tar:
        done = subprocess.run(
            ["podman", "import", "--quiet", "-", name],
            check=False,
            stdin=tar.stdout,
            capture_output=True,
            text=True,
            env=environment(),
        )
    if done.returncode != 0 or tar.returncode != 0:
        raise Failure(f"podman import of {name} failed:\n{done.stderr}")


def _unmount_below(root: Path) -> None:
    """A debootstrap that failed can leave /proc mounted, and the folder is about to be removed."""
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text("utf-8").splitlines()]
    for mount in sorted((m for m in mounts if m.startswith(f"{root}/")), reverse=True):
        run(["umount", "--lazy", mount])


def _mirror() -> str:
    """SANDBOX_MIRROR, or the mirror that this machine's own apt uses, if it is one of Debian's."""
    if chosen := os.environ.get("SANDBOX_MIRROR"):
        return chosen.rstrip("/")
    form = "$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(SITE)"
    try:
        listed = run(["apt-get", "indextargets", "--format", form], check=False).stdout
    except Failure:  # no apt here
        listed = ""
    for line in listed.splitlines():
        origin, label, component, site = line.split("|", 3)
        if (origin, label, component) == ("Debian", "Debian", "main") and site.startswith("http"):
            return site.rstrip("/")
    return _FALLBACK_MIRROR

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is written for a cluster before it starts: slurm.conf, its keys, the inventory."""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import string
from dataclasses import dataclass
from pathlib import Path

from host import KEY, Failure
from variants import Auth, Variant

TEMPLATES = Path(__file__).resolve().parent / "templates"

# Keys that slurm.conf may hold several times, told apart by the name at their value's start.
_NAMED_KEYS = frozenset({"nodename", "partitionname", "nodeset", "downnodes"})


@dataclass(frozen=True)
class Setting:
    """One KEY=VALUE for slurm.conf; an empty value removes the key."""

    key: str
    value: str

    @property
    def identity(self) -> str:
        """What the line is known by: the key, for nodes and partitions with their name."""
        key = self.key.lower()
        return f"{key}={self.value.split()[0]}" if key in _NAMED_KEYS and self.value else key


@dataclass(frozen=True)
class Wish:
    """What a cluster is asked to be; two equal wishes are the same cluster."""

    name: str
    variant: Variant
    settings: tuple[Setting, ...]
    clock_offset: int

    @property
    def cluster_name(self) -> str:
        """Slurm's ClusterName: NAME without its hyphens, so lower-case letters and digits only."""
        return self.name.replace("-", "")


def parse_setting(text: str) -> Setting:
    """KEY=VALUE to a Setting; raises Failure for anything else."""
    match = re.fullmatch(r"([A-Za-z][A-Za-z0-9_]*)=([^\r\n]*)", text)
    if not match:
        raise Failure(f"--set takes KEY=VALUE with a key of slurm.conf, not {text!r}", status=2)
    return Setting(match[1], match[2].strip())


def check_name(name: str) -> str:
    """NAME, if it can be a host name and a ClusterName; raises Failure if not."""
    if not re.fullmatch(r"[a-z](-?[a-z0-9]){0,31}", name) or name == KEY.name:
        raise Failure(
            f"{name!r} can't be a cluster's name: use lower-case letters, digits and single"
            " hyphens, a letter first, 32 at most",
            status=2,
        )
    return name


def slurm_conf(wish: Wish) -> str:
    """The text of slurm.conf."""
    variant = wish.variant
    auth = variant.auth.value
    lines = _template(
        "slurm.conf", cluster=wish.cluster_name, host=wish.name, auth=auth
    ).splitlines()
    settings = list(wish.settings)
    if not variant.accounting:
        settings = [
            Setting("AccountingStorageType", ""),
            Setting("AccountingStorageHost", ""),
            Setting("AccountingStoreFlags", ""),
            *settings,
        ]
    if not variant.job_comment:
        settings = [Setting("AccountingStoreFlags", ""), *settings]
    for setting in settings:
        lines = _apply(lines, setting)
    return "\n".join(lines) + "\n"


def write_config(wish: Wish, folder: Path, authorized_key: str, host_key: str) -> None:
    """Writes the files that the container finds under /sandbox when it starts."""
    variant = wish.variant
    env = {
        "SANDBOX_CLUSTER": wish.cluster_name,
        "SANDBOX_SERVICES": " ".join(variant.services),
        "SANDBOX_CLOCK_OFFSET": str(wish.clock_offset),
    }
    files: dict[str, str | bytes] = {
        "env": "".join(f"{key}={shlex.quote(value)}\n" for key, value in env.items()),
        "slurm.conf": slurm_conf(wish),
        "sandbox_authorized_keys": authorized_key,
        "sandbox_host_key": host_key,
    }
    if variant.suite != "bookworm":  # unknown to Slurm 22.05, which does without
        files["cgroup.conf"] = _template("cgroup.conf")
    if variant.accounting:
        files["slurmdbd.conf"] = _template("slurmdbd.conf", auth=variant.auth.value)
    if variant.auth is Auth.MUNGE:
        files["munge.key"] = secrets.token_bytes(1024)
    if variant.auth is Auth.SLURM:
        files["slurm.key"] = secrets.token_bytes(1024)
    folder.mkdir(mode=0o700, parents=True)
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.encode()
        write_private(folder / name, data)


def write_inventory(wish: Wish, folder: Path, address: str, host_key: str) -> Path:
    """Writes known_hosts and inventory.yml into the folder; returns the inventory's path."""
    known_hosts = folder / "known_hosts"
    known_hosts.write_text(f"{address} {host_key}\n", encoding="utf-8")
    # ssh itself splits this value at blanks, so it has quotes of its own within the shell's.
    quoted = shlex.quote(f'UserKnownHostsFile="{known_hosts}"')
    ssh_args = (
        f"-o {quoted} -o GlobalKnownHostsFile=/dev/null -o StrictHostKeyChecking=yes"
        " -o IdentitiesOnly=yes -o ServerAliveInterval=15"
    )
    values = {
        "ansible_host": address,
        "ansible_user": "root",
        "ansible_ssh_private_key_file": str(KEY),
        "ansible_ssh_common_args": ssh_args,
        "ansible_python_interpreter": "/usr/bin/python3",
        "sandbox_variant": wish.variant.name,
    }
    lines = [
        "---",
        "# Written by the sandbox; gone when the cluster is taken down.",
        "all:",
        "  children:",
        "    slurm:",
        "      hosts:",
        f"        {wish.name}:",
    ]
    # A JSON string is a YAML string, whatever is in it.
    lines += [f"          {name}: {json.dumps(value)}" for name, value in values.items()]
    path = folder / "inventory.yml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_private(path: Path, data: bytes) -> None:
    """Writes a file that only root can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)


def _template(name: str, **values: str) -> str:
    text = (TEMPLATES / name).read_text(encoding="utf-8")
    return string.Template(text).substitute(values)


def _apply(lines: list[str], setting: Setting) -> list[str]:
    """slurm.conf's lines with the setting in the place of the old line, or else at the end."""
    new = f"{setting.key}={setting.value}"
    result: list[str] = []
    placed = not setting.value
    for line in lines:
        key, sign, value = line.partition("=")
        same = sign and not line.startswith("#") and _same(Setting(key, value), setting)
        if not same:
            result.append(line)
        elif not placed:
            result.append(new)
            placed = True
    return result if placed else [*result, new]


def _same(old: Setting, new: Setting) -> bool:
    if not new.value:
        return old.key.lower() == new.key.lower()
    return old.identity == new.identity

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-builder understands both definitions; `make ee-image` builds the image itself."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.hpcops.slurm.tests.ee.conftest import run
from ansible_collections.hpcops.slurm.tests.integration.plays import ROOT

DEFINITION = ROOT / "execution-environment.yml"


def load(path: Path) -> dict[str, Any]:
    """What a YAML file says."""
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def test_a_build_context_is_made(archive: Path, tmp_path: Path) -> None:
    shutil.copy(DEFINITION, tmp_path)
    (tmp_path / "build").mkdir()
    shutil.copy(archive, tmp_path / "build")
    done = run("ansible-builder", "create", "--output-filename", "Containerfile", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    context = tmp_path / "context"
    lines = (context / "Containerfile").read_text(encoding="utf-8").splitlines()
    [installs] = [line for line in lines if line.startswith("ARG ANSIBLE_INSTALL_REFS=")]
    wanted = installs.partition("=")[2].strip('"')
    # The Containerfile leaves the splitting to a shell.
    assert shlex.split(wanted) == ["ansible-core>=2.18,<2.22", "ansible-runner>=2.4,<3"]
    [collection] = load(context / "_build" / "requirements.yml")["collections"]
    copied = context / "_build" / "configs" / archive.name
    assert copied.read_bytes() == archive.read_bytes()
    assert collection == {"name": f"/build/configs/{archive.name}", "type": "file"}


def test_what_the_collection_needs_is_in_the_archive(installed: Path) -> None:
    home = installed / "ansible_collections" / "hpcops" / "slurm"
    definition = load(home / "meta" / "execution-environment.yml")
    assert definition["version"] == 1
    assert list(definition["dependencies"]) == ["system"], "nothing in Python is needed"
    wanted = run("ansible-builder", "introspect", str(installed))
    assert wanted.returncode == 0, wanted.stdout + wanted.stderr
    found = yaml.safe_load(wanted.stdout.split("---", 1)[1])
    assert found["python"] == []
    assert any(line.startswith("openssh-client ") for line in found["system"]), found

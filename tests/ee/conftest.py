# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection as it is published: installed from its archive into a folder of its own.

ARCHIVE names the archive, and AWX_COLLECTION a folder with the collection awx.awx; nox sets both.
The clusters are those of the integration tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# pytest finds its hooks and the fixture by their names.
from ansible_collections.hpcops.slurm.tests.integration.conftest import (
    Cluster,
    cluster,
    pytest_configure,
    pytest_generate_tests,
)
from ansible_collections.hpcops.slurm.tests.integration.plays import inventory

__all__ = ["Cluster", "cluster", "pytest_configure", "pytest_generate_tests"]

LONGEST = 300.0


def run(
    *argv: str, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program of Ansible's to its end, without what a checkout or a developer has set.

    The first argument is the name of a program in the folder of this Python.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ANSIBLE_", "CONTROLLER_", "TOWER_"))
    }
    programs = Path(sys.executable).parent
    kept["PATH"] = os.pathsep.join([str(programs), kept["PATH"]])
    if cwd is not None:
        kept["PWD"] = str(cwd)
    return subprocess.run(
        [str(programs / argv[0]), *argv[1:]],
        env={**kept, **environment},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )


def place_named_by(variable: str) -> Path:
    """What an environment variable names; a missing one is no reason to skip a test."""
    assert variable in os.environ, f"{variable} is not set: run these tests with make ee"
    return Path(os.environ[variable])


@pytest.fixture(scope="session")
def archive() -> Path:
    """The built archive of the collection."""
    return place_named_by("ARCHIVE")


@pytest.fixture(scope="session")
def installed(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collections path that was empty and has nothing but the installed archive."""
    place = tmp_path_factory.mktemp("collections")
    nowhere = {
        "ANSIBLE_GALAXY_SERVER": "http://127.0.0.1:9",
        "ANSIBLE_COLLECTIONS_PATH": str(place),
    }
    argv = ["ansible-galaxy", "collection", "install", str(archive), "-p", str(place), "--offline"]
    done = run(*argv, cwd=place, **nowhere)
    assert done.returncode == 0, done.stdout + done.stderr
    return place


@pytest.fixture(scope="session")
def hosts(cluster: Cluster) -> Path:
    """The inventory of the cluster."""
    return inventory(cluster.name)

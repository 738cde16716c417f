# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real clusters for the tests: those of the sandbox that run.

SLURM_TEST_CLUSTERS names the clusters (separated by blanks or commas); then each of them has to
run. Without it, the tests run on every variant that is up, and are skipped where none is. SANDBOX
names the sandbox command of another checkout, whose clusters are then used.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

# pytest-xdist has no type annotations.
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

SANDBOX = Path(
    os.environ.get("SANDBOX") or Path(__file__).resolve().parents[1] / "sandbox" / "sandbox"
)
NOT_RUNNING = 125


@dataclass(frozen=True)
class Reply:
    """What a command in a cluster answered."""

    status: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        """Standard output of a command that must not fail, without blanks around it."""
        assert self.status == 0, (self.status, self.stdout, self.stderr)
        return self.stdout.decode("utf-8", "surrogateescape").strip()


@dataclass(frozen=True)
class Cluster:
    """One cluster of the sandbox."""

    name: str

    def sh(
        self,
        argv: Sequence[str | bytes],
        user: str = "root",
        stdin: bytes | None = None,
        time_limit: float = 180,
    ) -> Reply:
        """Run a command in the controller's container, as a user; its input is empty by default."""
        done = subprocess.run(
            [str(SANDBOX), "exec", self.name, "--user", user, "--", *argv],
            input=stdin or b"",
            capture_output=True,
            timeout=time_limit,
            check=False,
        )
        return Reply(done.returncode, done.stdout, done.stderr)

    @property
    def runs(self) -> bool:
        """Whether the cluster is up."""
        return self.sh(["true"]).status != NOT_RUNNING


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers of these tests known."""
    text = "variants(*names): the only clusters that a test is about"
    config.addinivalue_line("markers", text)


def place_of(nodeid: str) -> str:
    """Where a test is run, from its parameters: a cluster, the fleet, or its file's own cluster."""
    file, _sign, parameters = nodeid.partition("[")
    places = ["fleet", *chosen_clusters()]
    named = (name for name in places if re.match(rf"{name}[]-]", parameters))
    return next(named, file.partition("::")[0])


# What it is made from has no types.
class OnePlaceEach(LoadScopeScheduling):  # type: ignore[misc]
    """Runs tests at one place one after the other, and places at the same time."""

    def _split_scope(self, nodeid: str) -> str:
        return place_of(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OnePlaceEach:
    """Say which tests may run at the same time."""
    return OnePlaceEach(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with what takes longest: the tests that break clusters of their own."""
    items.sort(key=lambda item: place_of(item.nodeid) in chosen_clusters())


@functools.cache
def chosen_clusters() -> list[str]:
    """The names of the clusters that the tests run on."""
    asked = [
        name for name in re.split(r"[\s,]+", os.environ.get("SLURM_TEST_CLUSTERS", "")) if name
    ]
    return asked or [name for name in _variants() if Cluster(name).runs]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test that asks for a cluster the clusters there are."""
    if "fleet" in metafunc.fixturenames:
        metafunc.parametrize("fleet", ["fleet"], indirect=True, scope="session")
    if "cluster" not in metafunc.fixturenames:
        return
    names = chosen_clusters()
    only = metafunc.definition.get_closest_marker("variants")
    if only is not None:
        names = [name for name in names if name in only.args]
    none = pytest.mark.skip(reason="no cluster is up: tests/sandbox/sandbox up VARIANT")
    parameters: Sequence[object] = names or [pytest.param("", marks=none, id="no cluster")]
    metafunc.parametrize("cluster", parameters, indirect=True, scope="session")


_known: list[str] = []


def _variants() -> list[str]:
    if not _known:
        listed = subprocess.run([str(SANDBOX), "list"], capture_output=True, text=True, check=True)
        _known.extend(listed.stdout.split())
    return _known


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """A running cluster."""
    found = Cluster(request.param)
    assert found.runs, f"{found.name} is not up: tests/sandbox/sandbox up {found.name}"
    return found


@pytest.fixture(scope="session")
def fleet() -> Iterator[Mapping[str, Cluster]]:
    """One cluster a release that tests may break, by name; one of them has auth/slurm.

    Credentials, the patience of Slurm's commands, and so the landing bound, are short.
    """
    # It needs what is above.
    from ansible_collections.hpcops.slurm.tests.integration.faults import CREDENTIAL, own_clusters

    wanted = [
        ("writes-bookworm", "bookworm-munge"),
        ("writes-trixie", "trixie-munge"),
        ("writes-forky", "forky-slurm"),
    ]
    settings = [
        f"AuthInfo=ttl={CREDENTIAL}",
        "MessageTimeout=2",
        "SchedulerParameters=bf_interval=1",
    ]
    with own_clusters(wanted, *settings) as clusters:
        yield clusters

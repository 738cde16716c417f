# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gates that need no cluster. antsibull-nox.toml adds those that antsibull-nox does well."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import antsibull_nox
import nox

ROOT = Path(__file__).resolve().parent
COLLECTION = Path("ansible_collections/hpcops/slurm")
REQUIREMENTS = Path("requirements")
PYTHONS = ROOT / ".cache/pythons"

# ansible-core release -> the Pythons that may run it on the controller.
CORES = {
    "2.18": ("3.11", "3.13"),
    "2.19": ("3.11", "3.13"),
    "2.20": ("3.12", "3.14"),
    "2.21": ("3.12", "3.14"),
}
# The oldest Python that a managed host may have.
OLDEST_TARGET = "3.8"

# What an installed collection has at its top.
SHIPPED = {
    "CHANGELOG.md",
    "FILES.json",
    "LICENSES",
    "MANIFEST.json",
    "README.md",
    "REUSE.toml",
    "changelogs",
    "docs",
    "meta",
    "playbooks",
    "plugins",
    "roles",
}

nox.needs_version = ">=2025.2.9"
nox.options.reuse_venv = "yes"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = True


def runs(python: Path) -> Path | None:
    """The real interpreter behind a name, or None: a version manager's shim may lead nowhere."""
    command = [str(python), "-c", "import os, sys; print(os.path.realpath(sys.executable))"]
    try:
        reply = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    return Path(reply.stdout.strip())


def real_pythons() -> dict[str, Path]:
    """Version (as in 3.11) -> a Python of this machine that runs."""
    folders = [Path(entry) for entry in os.environ["PATH"].split(os.pathsep) if entry]
    folders += Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/3.*/bin")
    found: dict[str, Path] = {}
    for version in [f"3.{minor}" for minor in range(8, 16)]:
        for folder in folders:
            name = folder / f"python{version}"
            if version not in found and name.exists() and (python := runs(name)):
                found[version] = python
    return found


def put_first_on_path(pythons: dict[str, Path]) -> None:
    """nox and ansible-test call Pythons by name: let each name lead to an interpreter that runs.

    The names are small scripts rather than links, so that environments made through them remember
    the interpreter itself.
    """
    PYTHONS.mkdir(parents=True, exist_ok=True)
    for version, python in pythons.items():
        name = PYTHONS / f"python{version}"
        text = f'#!/bin/sh\nexec {shlex.quote(str(python))} "$@"\n'
        # Another nox may be running through it: it is not touched without need.
        if not name.exists() or name.read_text() != text:
            name.write_text(text)
            name.chmod(0o755)
    for name in PYTHONS.iterdir():
        if name.name.removeprefix("python") not in pythons:
            name.unlink()
    # A folder with names that do not run is left out: ansible-test would fail on those.
    others = [
        entry
        for entry in os.environ["PATH"].split(os.pathsep)
        if not any(
            re.fullmatch(r"python3\.\d+", name.name) and name.name[6:] not in pythons
            for name in Path(entry).glob("python3.*")
        )
    ]
    os.environ["PATH"] = os.pathsep.join([str(PYTHONS), *others])


def usable_cores(pythons: dict[str, Path]) -> dict[str, str]:
    """ansible-core release -> Python to run it: the oldest core on the oldest Python, and so on."""
    cores = {}
    for core, (lowest, highest) in CORES.items():
        fitting = [
            version for version in pythons if number(lowest) <= number(version) <= number(highest)
        ]
        if fitting:
            cores[core] = (
                min(fitting, key=number) if core == min(CORES) else max(fitting, key=number)
            )
    return cores


def number(version: str) -> tuple[int, ...]:
    """3.9 comes before 3.11."""
    return tuple(int(part) for part in version.split("."))


def link_collection() -> Path:
    """A folder in which Python and Ansible find this checkout as hpcops.slurm."""
    link = ROOT / ".collections" / COLLECTION
    if not link.is_symlink():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to("../../..")
    return ROOT / ".collections"


def export(place: Path) -> Path:
    """The tracked files as they are now, in a git repository of their own."""
    shutil.rmtree(place, ignore_errors=True)
    target = place / COLLECTION
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, os.fsdecode(listing.stdout).split("\0")):
        if not os.path.lexists(ROOT / name):
            continue  # deleted, and not committed yet
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name, follow_symlinks=False)
    subprocess.run(["git", "init", "-q"], cwd=target, check=True)
    return target


@contextlib.contextmanager
def pip_bootstrap(session: nox.Session) -> Iterator[None]:
    """Lend ansible-test the script that it would download to put pip into its environments."""
    script = (
        "from ansible_test._internal.python_requirements import get_venv_packages as packages\n"
    )
    script += "from types import SimpleNamespace\n"
    script += "print(packages(SimpleNamespace(version='3.11'))['pip'])"
    pip = str(session.run("python", "-c", script, silent=True)).strip()
    place = Path.home() / f".ansible/test/cache/get_pip_{pip.replace('.', '_')}.py"
    ours = not place.exists()
    if ours:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / "tests/sanity/get_pip.py", place)
    try:
        yield
    finally:
        if ours:
            place.unlink(missing_ok=True)


def install_core(session: nox.Session, core: str, *more: str) -> None:
    """Install the newest ansible-core of a release."""
    session.install(f"ansible-core=={core}.*", *more)


def build_archive(session: nox.Session, place: Path) -> Path:
    """The archive of the collection, made of the tracked files."""
    copy = export(place / "galaxy")
    build = ["ansible-galaxy", "collection", "build", "--force", "--output-path", str(place)]
    session.run(*build, str(copy))
    return max(place.glob("hpcops-slurm-*.tar.gz"), key=lambda path: path.stat().st_mtime)


def awx_collection(session: nox.Session, place: Path) -> Path:
    """A folder with the collection awx.awx, out of the package that bundles many collections."""
    found = place / "awx"
    if not found.exists():
        wanted = ["--requirement", str(REQUIREMENTS / "awx.txt")]
        session.run("pip", "download", "-q", "--no-deps", "-d", str(place), *wanted)
        bundle = max(place.glob("ansible-*.whl"), key=lambda path: path.stat().st_mtime)
        with zipfile.ZipFile(bundle) as content:
            names = [name for name in content.namelist() if "_collections/awx/awx/" in name]
            content.extractall(found, names)
        bundle.unlink()
    return found


def add_units(core: str, python: str) -> None:
    """Unit tests under one ansible-core."""

    def units(session: nox.Session) -> None:
        install_core(session, core, "-r", str(REQUIREMENTS / "units.txt"))
        link_collection()
        session.run("pytest", *(session.posargs or ["-n", "auto", "tests/unit"]))

    units.__doc__ = f"Unit tests with ansible-core {core} on Python {python}"
    nox.session(name=f"units-{core}", python=python, default=False, tags=tags("units", core))(units)


def add_target(python: str) -> None:
    """What runs on managed hosts, tested with one of their Pythons."""

    def target(session: nox.Session) -> None:
        # The newest ansible-core that this Python can import: its module_utils is all that counts.
        session.install("ansible-core", "-r", str(REQUIREMENTS / "units.txt"))
        link_collection()
        places = [f"tests/unit/plugins/{place}" for place in ("module_utils", "modules")]
        session.run("pytest", *(session.posargs or ["-q", "-n", "auto", *places]))

    target.__doc__ = f"The engine's unit tests with Python {python}, as on a managed host"
    add = nox.session(
        name=f"target-{python}",
        python=python,
        default=False,
        tags=["matrix", *(["target"] if python == TARGETS[0] else [])],
        venv_backend="venv",  # virtualenv has left Python 3.8
    )
    add(target)


def add_sanity(core: str, python: str) -> None:
    """ansible-test sanity under one ansible-core.

    antsibull-nox has such sessions as well: they run in containers from a registry.
    """

    def sanity(session: nox.Session) -> None:
        install_core(session, core)
        copy = export(Path(session.create_tmp()) / "sanity")
        with pip_bootstrap(session), session.chdir(copy):
            session.run("ansible-test", "sanity", "--venv", "--color", "no", *session.posargs)

    sanity.__doc__ = f"ansible-test sanity of ansible-core {core} on Python {python}"
    nox.session(name=f"sanity-{core}", python=python, default=False, tags=tags("sanity", core))(
        sanity
    )


def tags(gate: str, core: str) -> list[str]:
    """The oldest and the newest core that runs here make a gate; the others are on demand."""
    return [gate] if core in (min(USABLE, key=number), max(USABLE, key=number)) else []


@nox.session(default=False)
def code(session: nox.Session) -> None:
    """ruff and mypy on everything written in Python."""
    wanted = [str(REQUIREMENTS / name) for name in ("code.txt", "nox.txt")]
    session.install("-r", wanted[0], "-r", wanted[1])
    collections = link_collection()
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    mypy = ["mypy", "--config-file", str(ROOT / "pyproject.toml")]
    with session.chdir(collections):
        places = [
            "plugins",
            "tests/unit",
            "tests/integration",
            "tests/ee",
            "tests/faults",
            "tests/fuzz/targets.py",
            "tests/model",
            "tests/benchmarks",
        ]
        session.run(*mypy, *(str(COLLECTION / place) for place in places))
    session.run(*mypy, "noxfile.py", "tests/sanity/get_pip.py")
    # The sandbox is a program of its own, with plain imports between its files.
    session.run(*mypy, "tests/sandbox", env={"MYPYPATH": str(ROOT / "tests/sandbox")})


@nox.session(default=False)
def changelog(session: nox.Session) -> None:
    """The changelog's fragments and its data."""
    session.install("-r", str(REQUIREMENTS / "changelog.txt"))
    session.run("antsibull-changelog", "lint")
    session.run("antsibull-changelog", "lint-changelog-yaml", "changelogs/changelog.yaml")


@nox.session(default=False)
def galaxy(session: nox.Session) -> None:
    """Build the archive, look into it, and import it as Ansible Galaxy does."""
    session.install("-r", str(REQUIREMENTS / "galaxy.txt"))
    place = Path(session.create_tmp())
    archive = build_archive(session, place)
    with tarfile.open(archive) as content:
        strangers = {name.split("/")[0] for name in content.getnames()} - SHIPPED
    if strangers:
        session.error(f"not meant for an installed collection: {', '.join(sorted(strangers))}")
    with session.chdir(place):
        log = session.run(
            *("python", "-m", "galaxy_importer.main", archive.name),
            env={"GALAXY_IMPORTER_CHECK_REQUIRED_TAGS": "true"},
            silent=True,
        )
    print(log)
    # The importer itself ends with 0 after a finding.
    findings = [line for line in str(log).splitlines() if line.startswith(("WARNING:", "ERROR:"))]
    if findings:
        session.error("the import has findings:\n" + "\n".join(findings))


@nox.session(name="docs-site", default=False)
def docs_site(session: nox.Session) -> None:
    """The collection's site in build/docs; a reference that leads nowhere fails."""
    session.install("-r", str(REQUIREMENTS / "docs-site.txt"))
    sources, site = Path(session.create_tmp()).resolve() / "site", ROOT / "build/docs"
    for place in (sources, site):
        shutil.rmtree(place, ignore_errors=True)
    sources.mkdir(mode=0o755, parents=True)
    session.run(
        *("antsibull-docs", "collection", "--use-current", "--squash-hierarchy", "--fail-on-error"),
        *("--dest-dir", str(sources), "hpcops.slurm"),
        env={"ANSIBLE_COLLECTIONS_PATH": str(link_collection())},
    )
    # All that is wrong is shown before it fails.
    strict = ["--fail-on-warning", "--keep-going", "--quiet"]
    session.run("sphinx-build", *strict, "-c", "docs/site", str(sources), str(site))
    print(f"The site: {site / 'index.html'}")


@nox.session(default=False)
def ee(session: nox.Session) -> None:
    """The collection as it is published: its archive installed, under ansible-runner, in AWX."""
    session.install("-r", str(REQUIREMENTS / "ee.txt"))
    link_collection()
    place = Path(session.create_tmp()).resolve()
    env = {
        "ARCHIVE": str(build_archive(session, place)),
        "AWX_COLLECTION": str(awx_collection(session, place)),
    }
    session.run(
        "pytest", *(session.posargs or ["-n", "2", "--dist", "loadfile", "tests/ee"]), env=env
    )


@nox.session(name="ee-image", default=False)
def ee_image(session: nox.Session) -> None:
    """The image of execution-environment.yml, and an audit in it; needs root and podman."""
    session.install("-r", str(REQUIREMENTS / "ee.txt"))
    tag = session.posargs or ["localhost/hpcops-slurm-ee"]
    session.run("tests/ee/build-image", session.bin, *tag, external=True)


@nox.session(default=False)
def molecule(session: nox.Session) -> None:
    """The molecule scenarios, each on a cluster of the sandbox that it starts and stops."""
    session.install("-r", str(REQUIREMENTS / "molecule.txt"))
    link_collection()
    plain = {} if sys.stdout.isatty() else {"COLUMNS": "120", "NO_COLOR": "1"}
    session.run("molecule", *(session.posargs or ["test", "--all"]), env=plain)


PYTHONS_FOUND = real_pythons()
put_first_on_path(PYTHONS_FOUND)
USABLE = usable_cores(PYTHONS_FOUND)
for usable_core, its_python in USABLE.items():
    add_units(usable_core, its_python)
    add_sanity(usable_core, its_python)
TARGETS = [one for one in PYTHONS_FOUND if number(one) >= number(OLDEST_TARGET)]
for its_python in TARGETS:
    add_target(its_python)
antsibull_nox.load_antsibull_nox_toml()

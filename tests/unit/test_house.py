# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of the house that no other tool checks."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "plugins"
ENGINE = PLUGINS / "module_utils"
# A room may know itself and those before it.
ROOMS = ["_cluster", "_jobs", "_writes", "_preflight"]
STARTS_PROCESSES = ENGINE / "_cluster" / "commands.py"
LONGEST_FUNCTION = 40


def names(folder: str, ending: str = ".py") -> list[str]:
    """What a folder of the checkout offers to users."""
    return sorted(path.stem for path in (ROOT / folder).glob(f"*{ending}"))


MODULES = names("plugins/modules")
FILTERS = names("plugins/filter")
CALLBACKS = names("plugins/callback")
PLAYBOOKS = names("playbooks", ".yml")
ROLES = sorted(path.name for path in (ROOT / "roles").glob("*/") if path.is_dir())


def load(path: Path) -> Any:
    """What a YAML file of this checkout says."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def tracked() -> list[Path]:
    """The files of the project that exist, committed or only added."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    paths = [ROOT / name for name in os.fsdecode(listing.stdout).split("\0") if name]
    return [path for path in paths if path.is_file()]


def python_files(folder: Path) -> list[Path]:
    """The Python files below a folder."""
    return sorted(folder.rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """The dotted names that a Python file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


# Modules


@pytest.fixture(scope="module")
def module_docs() -> dict[str, Any]:
    """Module -> its documentation, fragments included."""
    names = [f"hpcops.slurm.{name}" for name in MODULES]
    reply = subprocess.run(
        [sys.executable, "-m", "ansible.cli.doc", "--type", "module", "--json", *names],
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections")},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(reply.stdout)
    return found


@pytest.mark.parametrize("attribute", ["check_mode", "diff_mode", "idempotent"])
@pytest.mark.parametrize("module", MODULES)
def test_module_states_attribute(module: str, attribute: str, module_docs: dict[str, Any]) -> None:
    attributes = module_docs[f"hpcops.slurm.{module}"]["doc"].get("attributes", {})
    assert attribute in attributes
    stated = attributes[attribute]
    assert stated["support"] in {"full", "partial", "none", "N/A"}
    if stated["support"] in {"partial", "none"}:
        assert stated.get("details"), "what is missing is not said"


def test_action_group_is_the_modules() -> None:
    runtime = load(ROOT / "meta" / "runtime.yml")
    assert sorted(runtime["action_groups"]) == ["slurm"]
    assert runtime["action_groups"]["slurm"] == MODULES


# Roles


def options(role: str) -> dict[str, Any]:
    """The options of all entry points of a role; an option that two of them share must be one."""
    found: dict[str, Any] = {}
    specs = load(ROOT / "roles" / role / "meta" / "argument_specs.yml")["argument_specs"]
    for name, spec in specs.items():
        for option, meaning in (spec.get("options") or {}).items():
            same = found.setdefault(option, meaning)
            assert (same.get("type"), same.get("default")) == (
                meaning.get("type"),
                meaning.get("default"),
            ), f"{role}: {option} differs at entry point {name}"
    return found


@pytest.mark.parametrize("role", ROLES)
def test_role_defaults_agree_with_argument_specs(role: str) -> None:
    path = ROOT / "roles" / role / "defaults" / "main.yml"
    defaults = (load(path) or {}) if path.exists() else {}
    specified = {
        name: option["default"] for name, option in options(role).items() if "default" in option
    }
    assert specified == defaults


@pytest.mark.parametrize("role", ROLES)
def test_role_variables_carry_its_name(role: str) -> None:
    strangers = [name for name in options(role) if not name.startswith(f"{role}_")]
    assert strangers == []


@pytest.mark.parametrize("role", ROLES)
def test_role_entry_points_have_tasks(role: str) -> None:
    specs = load(ROOT / "roles" / role / "meta" / "argument_specs.yml")["argument_specs"]
    for name in specs:
        assert (ROOT / "roles" / role / "tasks" / f"{name}.yml").is_file()


# Engine


def listed_as_new(kind: str, name: str) -> list[str]:
    """What the changelog lists as new, released or not: ``kind`` is "object" or "plugin"."""
    fragments = [load(path) for path in (ROOT / "changelogs" / "fragments").glob("*.yml")]
    found = [one for fragment in fragments for one in fragment.get(f"add {kind}.{name}", [])]
    for release in load(ROOT / "changelogs" / "changelog.yaml")["releases"].values():
        found += release.get(f"{kind}s", {}).get(name, [])
    return sorted(one["name"] for one in found)


def test_new_roles_playbooks_and_filters_are_in_the_changelog() -> None:
    """Modules and callbacks are found by antsibull-changelog itself, these are not."""
    assert listed_as_new("object", "role") == ROLES
    assert listed_as_new("object", "playbook") == PLAYBOOKS
    assert listed_as_new("plugin", "filter") == FILTERS


@pytest.mark.parametrize("room", ROOMS)
def test_room_knows_only_those_before_it(room: str) -> None:
    later = ROOMS[ROOMS.index(room) + 1 :]
    prefix = "ansible_collections.hpcops.slurm.plugins.module_utils."
    strangers = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in python_files(ENGINE / room)
        for name in imports(path)
        if name.startswith(tuple(f"{prefix}{other}." for other in later))
    ]
    assert strangers == []


def test_processes_are_started_in_one_place() -> None:
    starters = [
        str(path.relative_to(ROOT))
        for path in python_files(PLUGINS)
        if path != STARTS_PROCESSES
        and any(name.split(".")[0] in {"subprocess", "pty"} for name in imports(path))
    ]
    assert starters == []


def length(function: ast.FunctionDef) -> int:
    """The lines of a function, less its docstring."""
    text = ast.get_docstring(function, clean=False)
    return (function.end_lineno or 0) - function.lineno + 1 - len((text or "").splitlines())


def test_functions_are_short() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {length(node)} lines"
        for path in python_files(PLUGINS)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and length(node) > LONGEST_FUNCTION
    ]
    assert long == []


def test_no_name_is_a_bare_underscore() -> None:
    """ansible-test's pylint refuses it, but needs minutes to say so."""
    bare = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in tracked()
        if path.suffix == ".py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name) and node.id == "_" and isinstance(node.ctx, ast.Store)
    ]
    assert bare == []


# Files


def test_every_file_names_its_licence() -> None:
    fragments = ROOT / "changelogs" / "fragments"
    # Taken over byte for byte; REUSE.toml speaks for them.
    data = ROOT / "tests" / "unit" / "data"
    nameless = []
    for path in tracked():
        beside = path.with_name(f"{path.name}.license")
        if path.parent in {fragments, ROOT / "LICENSES"} or data in path.parents:
            continue
        text = (beside if beside.exists() else path).read_bytes()
        # The two words are kept apart here: this line is no statement about a licence.
        if any(
            b"SPDX-" + word not in text for word in (b"FileCopyrightText:", b"License-Identifier:")
        ):
            nameless.append(str(path.relative_to(ROOT)))
    assert nameless == []


def test_archive_leaves_out_what_git_ignores() -> None:
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    ignored = {line.strip("/") for line in lines if line.startswith("/")}
    kept = set(load(ROOT / "galaxy.yml")["build_ignore"])
    assert {name for name in ignored if not {name, name.split("/")[0]} & kept} == set()


@pytest.mark.parametrize("content", [*MODULES, *ROLES, *PLAYBOOKS, *FILTERS, *CALLBACKS])
def test_readme_lists(content: str) -> None:
    assert f"`hpcops.slurm.{content}`" in (ROOT / "README.md").read_text(encoding="utf-8")

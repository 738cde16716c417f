# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the guides name exists: modules, options, results, tests. And nothing is left out."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight import capabilities
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.refusals import ACCEPTED

ROOT = Path(__file__).resolve().parents[2]
DOCSITE = ROOT / "docs" / "docsite"
GUIDES = sorted((DOCSITE / "rst").glob("guide_*.rst"))
COVERAGE = (DOCSITE / "rst" / "guide_coverage.rst").read_text(encoding="utf-8")
STATUSES = (DOCSITE / "rst" / "guide_statuses.rst").read_text(encoding="utf-8")

ROLE = re.compile(r":(ansopt|ansretval):`hpcops\.slurm\.(\w+)#module:([^`=]+)(?:=[^`]*)?`")
PLUGIN = re.compile(r":ansplugin:`hpcops\.slurm\.(\w+)#module`")
TEST = re.compile(r"``(tests/[\w/]+\.py)::(\w+)``")


def each(pattern: re.Pattern[str]) -> Iterator[tuple[str, ...]]:
    """What all guides name in one way, once each."""
    found = {match.groups() for guide in GUIDES for match in pattern.finditer(guide.read_text())}
    yield from sorted(found)


@cache
def docs() -> dict[str, Any]:
    """Module -> its documentation, fragments included."""
    names = sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("*.py"))
    reply = subprocess.run(
        [sys.executable, "-m", "ansible.cli.doc", "--type", "module", "--json"]
        + [f"hpcops.slurm.{name}" for name in names],
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections")},
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.rpartition(".")[2]: one for name, one in json.loads(reply.stdout).items()}


def inside(tree: dict[str, Any], path: str, below: str) -> dict[str, Any]:
    """The option or result that a path leads to; KeyError when there is none."""
    node: dict[str, Any] = {}
    for name in path.replace("[]", "").split("."):
        node = tree[name]
        tree = node.get(below) or {}
    return node


@cache
def functions(path: str) -> set[str]:
    """The tests in a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("kind", "module", "path"), list(each(ROLE)))
def test_options_and_results_exist(kind: str, module: str, path: str) -> None:
    doc = docs()[module]
    if kind == "ansopt":
        assert inside(doc["doc"]["options"], path, "suboptions")["type"]
    else:
        assert inside(doc["return"], path, "contains")["type"]


@pytest.mark.parametrize("module", [name for (name,) in each(PLUGIN)])
def test_modules_exist(module: str) -> None:
    assert module in docs()


@pytest.mark.parametrize(("path", "name"), list(each(TEST)))
def test_tests_exist(path: str, name: str) -> None:
    assert name in functions(path)


def blocks() -> Iterator[tuple[str, Any]]:
    """Every piece of YAML in the guides."""
    for guide in GUIDES:
        pieces = re.split(r"^\.\. code-block:: yaml\n", guide.read_text(), flags=re.MULTILINE)[1:]
        for piece in pieces:
            lines = re.split(r"^(?=\S)", piece, maxsplit=1, flags=re.MULTILINE)[0]
            yield guide.stem, yaml.safe_load(textwrap.dedent(lines))


def tasks(tree: Any) -> Iterator[dict[str, Any]]:
    """Every task in it, also in blocks."""
    if isinstance(tree, list):
        for one in tree:
            yield from tasks(one)
    elif isinstance(tree, dict):
        yield tree
        for key in ("tasks", "block", "rescue", "always"):
            yield from tasks(tree.get(key))


def test_examples_use_options_that_exist() -> None:
    used = set()
    for guide, block in blocks():
        for task in tasks(block):
            for name, options in task.items():
                module = name.removeprefix("hpcops.slurm.")
                if module == name:
                    continue
                used.add(module)
                known = docs()[module]["doc"]["options"]
                assert set(options or {}) <= set(known), (guide, task)
    assert used > {"preflight", "job_hold", "job_cancel", "job_submit", "job_output_info"}


def tables() -> dict[str, dict[str, str]]:
    """Each section of the coverage: what stands in a row, by its first cell."""
    _top, *parts = re.split(r"^([^\n]+)\n-{3,}\n", COVERAGE, flags=re.MULTILINE)
    found: dict[str, dict[str, str]] = {}
    for section, text in zip(parts[::2], parts[1::2], strict=True):
        rows = (row.split("\n", maxsplit=1) for row in text.split("\n   * - ")[1:])
        found[section] = {first: rest for first, rest in rows if first != "Row"}
    return found


def first_column(section: str) -> list[str]:
    """The first cells of the table in a section of the coverage."""
    return list(tables()[section])


def test_every_capability_rule_and_interface_has_a_row() -> None:
    unknown = capabilities.probed(Answer.UNKNOWN)
    named = capabilities.capabilities(unknown, unknown, "30 sec")
    assert first_column("Capabilities") == [f"``{name}``" for name in named]
    assert first_column("Interfaces") == [f"``{name}``" for name in capabilities.MODULES]
    rules = re.findall(r"``(\w+)``", " ".join(first_column("Rules")))
    assert rules == list(capabilities.ACTIONS)


def test_every_declaration_has_a_row() -> None:
    fact = docs()["preflight"]["return"]["ansible_facts"]["contains"]["slurm_preflight"]
    sample = fact["contains"]["declarations"]["sample"]
    wanted = {f"declarations.{name}" for name in sample if name != "polled_loss"}
    wanted |= {f"declarations.polled_loss.{name}" for name in sample["polled_loss"]}
    assert set(re.findall(r"``(declarations[\w.]+)``", COVERAGE)) == wanted


#: What real Slurm can't be made to show, and what only another clock, or another size, would.
NOT_ON_SLURM = {
    ("Hold", "``no``, a stale release was not refused"),  # our own release would have to do it
    ("Statuses of a call", "over 255, or no plain decimal"),  # no process ends so
    ("The status line", "the script ends with the last line's status"),  # nobody looks at it
    ("Constants", "5 s from SIGTERM to SIGKILL"),  # scontrol ends at SIGTERM
    ("Constants", "a TTL of 60 s"),
    ("Constants", "a day until the next probe"),
    ("What the pages leave open", "a job that is not shown may be hidden"),
}


def test_every_row_names_a_test_on_real_slurm() -> None:
    """All capabilities, interfaces, declarations and rules, and nearly all of the rest."""
    without = set()
    for section, rows in tables().items():
        for first, rest in rows.items():
            named = [path for path, _name in TEST.findall(rest)]
            assert named, first
            if not any(path.startswith("tests/integration/") for path in named):
                without.add((section, first))
    assert without == NOT_ON_SLURM
    always = {"Declarations", "Capabilities", "Rules", "Interfaces"}
    assert always <= set(tables())
    assert always.isdisjoint(section for section, _first in NOT_ON_SLURM)


def test_the_refusals_are_those_of_the_engine() -> None:
    shown: dict[str, set[str]] = {}
    for calls, sentences in re.findall(r"   \* - (``.+``)\n     - (``[A-Z].+``)\n", STATUSES):
        for call in re.findall(r"``(\w+)``", calls):
            shown[call] = set(re.findall(r"``([^`]+)``", sentences))
    assert shown == {call.value: set(texts) for call, texts in ACCEPTED.items()}


def test_every_guide_is_in_the_contents() -> None:
    sections = yaml.safe_load((DOCSITE / "extra-docs.yml").read_text())["sections"]
    listed = [name for section in sections for name in section["toctree"]]
    assert sorted(listed) == [guide.stem for guide in GUIDES]

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every piece of YAML that users may copy: examples of plugins, guides, and READMEs."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = [
    path
    for folder in ("modules", "filter", "callback", "lookup", "test", "inventory")
    for path in sorted((ROOT / "plugins" / folder).glob("*.py"))
]
PAGES = [
    *sorted((ROOT / "docs" / "docsite" / "rst").glob("*.rst")),
    *sorted((ROOT / "roles").glob("*/README.md")),
    ROOT / "README.md",
]
#: Keys of a task that is a block, or of a play.
INSIDE = ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always")


def plugin_example(path: Path) -> str:
    """The EXAMPLES of a plugin, empty for none."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "EXAMPLES":
            return str(ast.literal_eval(node.value))
    return ""


def page_examples(path: Path) -> Iterator[str]:
    """The YAML of a page in reStructuredText or Markdown."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        found = re.findall(r"^( *)```yaml\n(.*?)^\1```$", text, flags=re.MULTILINE | re.DOTALL)
        yield from (textwrap.dedent(block) for _indent, block in found)
        return
    for piece in re.split(r"^\.\. code-block:: yaml\n", text, flags=re.MULTILINE)[1:]:
        lines = re.split(r"^(?=\S)", piece, maxsplit=1, flags=re.MULTILINE)[0]
        # Options of the directive end with an empty line.
        yield textwrap.dedent(re.sub(r"\A(?: +:.*\n)+", "", lines))


def examples() -> Iterator[tuple[str, str]]:
    """Where each piece stands, and its text."""
    for path in PLUGINS:
        if text := plugin_example(path):
            yield f"{path.parent.name}/{path.stem}", text
    for path in PAGES:
        for number, text in enumerate(page_examples(path)):
            yield f"{path.relative_to(ROOT)}:{number}", text


def plays(place: str, text: str) -> list[dict[str, Any]]:
    """The plays of an example: tasks get a play around them, other YAML has none."""
    found = yaml.safe_load(text)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        return []
    if all("hosts" in one or "ansible.builtin.import_playbook" in one for one in found):
        return found
    return [{"name": f"Example of {place}", "hosts": "all", "gather_facts": False, "tasks": found}]


def tasks(tree: Any) -> Iterator[dict[str, Any]]:
    """Every task in it, also in blocks."""
    if isinstance(tree, list):
        for one in tree:
            yield from tasks(one)
    elif isinstance(tree, dict):
        yield tree
        for key in INSIDE:
            yield from tasks(tree.get(key))

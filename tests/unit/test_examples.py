# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users copy is understood by Ansible: examples of plugins, YAML in guides and READMEs.

tests/integration/test_examples.py and test_guides.py run them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ansible_collections.hpcops.slurm.tests.unit.examples import (
    INSIDE,
    PLUGINS,
    ROOT,
    examples,
    plays,
    plugin_example,
    tasks,
)

FOUND = list(examples())
PLAYS = {place: plays(place, text) for place, text in FOUND}


def test_all_examples_are_found() -> None:
    assert len([place for place in PLAYS if PLAYS[place]]) > 30
    assert {place.split(":")[0] for place in PLAYS} >= {"README.md", "modules/job_hold"}


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_plugin_has_an_example(plugin: Path) -> None:
    # A callback is enabled, not called.
    assert plugin_example(plugin) or plugin.parent.name == "callback"


@pytest.mark.parametrize("place", [place for place in PLAYS if PLAYS[place]])
def test_tasks_have_names_and_full_module_names(place: str) -> None:
    for play in PLAYS[place]:
        for task in tasks([play]):
            assert task["name"][0].isupper(), task
            known = {"any_errors_fatal", "become", "become_user", "delegate_to", "environment",
                     "failed_when", "hosts", "changed_when", "gather_facts", "ignore_errors",
                     "ignore_unreachable", "loop", "loop_control", "module_defaults", "name",
                     "no_log", "register", "roles", "run_once", "serial", "vars", "when",
                     *INSIDE}  # fmt: skip
            assert [key for key in task if key not in known and key.count(".") < 2] == [], task


def test_ansible_understands_every_play(tmp_path: Path) -> None:
    playbooks = []
    for number, (place, found) in enumerate(PLAYS.items()):
        if found:
            playbooks.append(tmp_path / f"{number}-{place.replace('/', '-')}.yml")
            playbooks[-1].write_text(yaml.safe_dump(found), encoding="utf-8")
    (tmp_path / "ansible.cfg").write_text("")
    argv = [sys.executable, "-m", "ansible", "playbook", "--syntax-check", "-i", "localhost,"]
    done = subprocess.run(
        [*argv, *map(str, playbooks)],
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(tmp_path / "ansible.cfg"),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("playbook: ") == len(playbooks)


def test_options_of_the_examples_exist() -> None:
    names = sorted({key for one in PLAYS.values() for task in tasks(one) for key in task
                    if key.startswith("hpcops.slurm.")})  # fmt: skip
    reply = subprocess.run(
        [sys.executable, "-m", "ansible.cli.doc", "--type", "module", "--json", *names],
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections")},
        capture_output=True,
        text=True,
        check=True,
    )
    docs = json.loads(reply.stdout)
    for place, found in PLAYS.items():
        for task in tasks(found):
            for name in names:
                known = docs[name]["doc"]["options"]
                assert set(task.get(name) or {}) <= set(known), (place, task)

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Callback: the capability tables on the terminal when a playbook ends."""

from __future__ import annotations

DOCUMENTATION = r"""
name: capability_table
type: aggregate
author: HPC Operations (@hpcops)
version_added: 0.1.0
short_description: Print what Slurm clusters can do when a playbook ends
description:
  - Prints for each cluster its verdict, its capabilities, and the findings that do not pass with
    their evidence and remedy. For several clusters also a matrix of capabilities by cluster.
  - Takes the reports of the role P(hpcops.slurm.capability_audit#role). Where only
    M(hpcops.slurm.preflight) was run, its capabilities and the checks that do not pass are printed.
  - Prints nothing when neither was run. It reads results only, and has no effect on the run.
  - The colours are Ansible's own. There are none with E(ANSIBLE_NOCOLOR) and where the output is no
    terminal.
requirements:
  - To be named in C(callbacks_enabled) in the configuration, or in E(ANSIBLE_CALLBACKS_ENABLED).
options:
  width:
    description: Columns to print in. V(0) takes those of the terminal, or E(COLUMNS), or 100.
    type: int
    default: 0
    env:
      - name: HPCOPS_SLURM_TABLE_WIDTH
    ini:
      - section: callback_capability_table
        key: width
"""

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from ansible import constants as C  # noqa: N812 (its usual name)
from ansible.plugins.callback import CallbackBase
from ansible.utils.color import stringc

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.terminal import (
    cluster_page,
    fleet_page,
    preflight_page,
)

DEFAULT_WIDTH = 100

#: Ansible's own colour for each word that the tables paint.
_SETTINGS = {
    "yes": "COLOR_OK",
    "pass": "COLOR_OK",
    "no": "COLOR_ERROR",
    "fail": "COLOR_ERROR",
    "unknown": "COLOR_CHANGED",
    "warn": "COLOR_WARN",
    "waived": "COLOR_SKIP",
    "head": "COLOR_HIGHLIGHT",
}


def paint(text: str, tone: str) -> str:
    """The text in Ansible's colour for a word, unchanged for any other."""
    setting = _SETTINGS.get(tone)
    return stringc(text, getattr(C, setting)) if setting and text else text


class CallbackModule(CallbackBase):
    """Collects reports and facts from task results, and prints them at the end."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "hpcops.slurm.capability_table"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.reports: dict[str, Mapping[str, Any]] = {}
        self.facts: dict[str, Mapping[str, Any]] = {}
        self.order: dict[str, int] = {}

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        """Note the order in which a task is begun, which is the inventory's."""
        self.order.setdefault(str(host.get_name()), len(self.order))

    def v2_runner_on_ok(self, result: Any) -> None:
        """Take what a task found."""
        self._take(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """A preflight that failed has its fact all the same."""
        self._take(result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Print all of it."""
        # ansible-core leaves it without types
        option: Any = self.get_option("width")  # type: ignore[no-untyped-call]
        width = int(option or 0)
        if width <= 0:
            width = shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns
        for lines in self.pages(width):
            for line in ["", *lines]:
                self._display.display(line)

    def pages(self, width: int) -> Sequence[list[str]]:
        """What is printed, a list of lines for each cluster and one for all of them."""
        audited = [self.reports[host] for host in self._ordered(self.reports)]
        found = [cluster_page(one, width, paint) for one in audited]
        found += [
            preflight_page(host, self.facts[host], width, paint)
            for host in self._ordered(self.facts)
            if host not in self.reports
        ]
        if len(audited) > 1:
            found.append(fleet_page(audited, width, paint))
        return found

    def _ordered(self, hosts: Mapping[str, object]) -> list[str]:
        return sorted(hosts, key=lambda host: self.order.get(host, len(self.order)))

    def _take(self, result: Any) -> None:
        """Remember the report or the fact in a result; the last one of a host counts."""
        if _is_about_jobs(result):
            return
        host, data = _parts(result)
        facts = data.get("ansible_facts")
        if not isinstance(facts, Mapping):
            return
        report, fact = facts.get("capability_audit_report"), facts.get("slurm_preflight")
        if isinstance(report, Mapping):
            self.reports[host] = report
        if isinstance(fact, Mapping):
            self.facts[host] = fact


def _is_about_jobs(result: Any) -> bool:
    """Whether a result is one of our modules' about jobs, which has no such fact.

    ansible-core walks over a whole result when a callback looks at it: seconds for a large queue.
    """
    task = getattr(result, "task", None) or getattr(result, "_task", None)
    return str(getattr(task, "action", "")).startswith("hpcops.slurm.job_")


def _parts(result: Any) -> tuple[str, Mapping[str, Any]]:
    """Inventory name and data of a task result, under the names of ansible-core 2.18 and later."""
    host = result.host if hasattr(result, "host") else result._host
    data = result.result if hasattr(result, "result") else result._result
    return str(host.get_name()), data

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: why an audit fails, as text for people."""

from __future__ import annotations

DOCUMENTATION = r"""
name: audit_failure
author: HPC Operations (@hpcops)
version_added: 0.1.0
short_description: Say why a cluster fails its audit
description:
  - Lists the findings of a report that are to fail a play, each with its evidence, what was
    wanted and what to change.
positional: _input
options:
  _input:
    description: A report of P(hpcops.slurm.audit_judge#filter).
    type: dict
    required: true
  fail_on:
    description: Verdicts that fail the play.
    type: list
    elements: str
    choices: [fail, unknown, warn]
    default: [fail, unknown]
  files:
    description: Paths of the report, which the text ends with.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Fail with the findings and what to do about them
  ansible.builtin.fail:
    msg: "{{ message }}"
  vars:
    message: "{{ capability_audit_report | hpcops.slurm.audit_failure(fail_on=['fail']) }}"
  when: message | length > 0
"""

RETURN = r"""
_value:
  description: Text of several lines. Empty when no finding has one of the verdicts.
  type: str
"""

from collections.abc import Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.terminal import failure_text

#: Columns; messages are indented by the callbacks that print them.
WIDTH = 96


def audit_failure(
    report: object, fail_on: Sequence[str] = ("fail", "unknown"), files: Sequence[str] = ()
) -> str:
    """Why a play fails on this report."""
    if not isinstance(report, Mapping):
        raise AnsibleFilterError("hpcops.slurm.audit_failure: the report is not a dictionary")
    wanted = [fail_on] if isinstance(fail_on, str) else [str(one) for one in fail_on]
    return failure_text(report, list(files), wanted, WIDTH)


class FilterModule:
    """Gives the filter to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Filters by name."""
        return {"audit_failure": audit_failure}

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: the mistakes of an audit policy."""

from __future__ import annotations

DOCUMENTATION = r"""
name: audit_policy_errors
author: HPC Operations (@hpcops)
version_added: 0.1.0
short_description: Mistakes in the policy of a capability audit
description:
  - Checks a policy of the role P(hpcops.slurm.capability_audit#role) before anything is run.
  - Unknown capabilities, findings, verdicts and keys, numbers out of range, and days that do not
    exist are mistakes.
positional: _input
options:
  _input:
    description:
      - The policy. Its keys are the names of the role's variables without C(capability_audit_).
      - Lists may be comma-separated text and numbers may be text, as they are when they come from
        the command line.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Refuse a policy that asks for something unknown
  ansible.builtin.assert:
    that: mistakes | length == 0
    fail_msg: "{{ mistakes }}"
  vars:
    mistakes: "{{ {'required_capabilities': ['Holdd']} | hpcops.slurm.audit_policy_errors }}"
"""

RETURN = r"""
_value:
  description: One sentence a mistake, which names the variable and the allowed words. Empty when
    there is none.
  type: list
  elements: str
"""

from collections.abc import Callable, Mapping

from ansible.errors import AnsibleFilterError

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.policy import (
    PolicyError,
    read_policy,
)


def audit_policy_errors(policy: object) -> list[str]:
    """Mistakes in a policy, one sentence each."""
    if not isinstance(policy, Mapping):
        raise AnsibleFilterError("hpcops.slurm.audit_policy_errors: the policy is not a dictionary")
    try:
        read_policy(policy)
    except PolicyError as error:
        return list(error.problems)
    return []


class FilterModule:
    """Gives the filter to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Filters by name."""
        return {"audit_policy_errors": audit_policy_errors}

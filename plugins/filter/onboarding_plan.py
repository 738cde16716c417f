# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: the lines of slurm.conf that a policy needs changed."""

from __future__ import annotations

DOCUMENTATION = r"""
name: onboarding_plan
author: HPC Operations (@hpcops)
version_added: 0.1.0
short_description: Lines of slurm.conf that a policy needs changed
description:
  - Compares the live settings in the result of M(hpcops.slurm.preflight) with an audit's policy,
    and says which lines of C(slurm.conf) have to change, to what, and how that takes effect.
  - Three settings are looked at, C(AccountingStoreFlags), C(MinJobAge) and the credential lifetime
    in C(AuthInfo). What else a value holds stays.
  - This is what the role P(hpcops.slurm.onboard#role) prints and, when it is told to, carries out.
    It reads and writes nothing.
positional: _input
options:
  _input:
    description: The registered result of M(hpcops.slurm.preflight).
    type: dict
    required: true
  policy:
    description: The policy, as for P(hpcops.slurm.audit_policy_errors#filter).
    type: dict
    required: true
  credential_lifetime:
    description: Seconds for which a command's credential may be accepted at most. V(0) for any.
    type: int
    default: 0
"""

EXAMPLES = r"""
- name: Ask the cluster
  hpcops.slurm.preflight:
    probe: never
  register: answer

- name: Show what is to be changed for a supervisor that looks every five minutes
  ansible.builtin.debug:
    msg: "{{ plan.lines | map(attribute='text') }}"
  vars:
    plan: >-
      {{ answer | hpcops.slurm.onboarding_plan(policy={'poll_interval': 300},
                                               credential_lifetime=60) }}
"""

RETURN = r"""
_value:
  description:
    - A dictionary. C(lines) has one entry for each line that is to be changed, with C(name),
      C(conf_line), C(live), C(apply), and all of it as C(text).
    - C(settings) is what M(hpcops.slurm.config_setting) takes to make these changes, with those
      that need none.
    - C(notes) has a sentence for each setting that a line can't settle.
  type: dict
"""

from collections.abc import Callable, Mapping

from ansible.errors import AnsibleFilterError

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.facts import read_facts
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.onboarding import plan
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.outcome import outcome_of
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.policy import (
    PolicyError,
    read_policy,
)


def onboarding_plan(
    result: object, policy: object, credential_lifetime: int = 0
) -> dict[str, object]:
    """The plan as plain values."""
    if not isinstance(result, Mapping) or not isinstance(policy, Mapping):
        raise AnsibleFilterError(
            "hpcops.slurm.onboarding_plan: the result and the policy have to be dictionaries"
        )
    try:
        asked = read_policy(policy)
    except PolicyError as error:
        raise AnsibleFilterError("hpcops.slurm.onboarding_plan: %s" % error) from error
    outcome = outcome_of(result)
    facts = read_facts(outcome.fact, outcome.failure)
    return plan(facts, asked, int(credential_lifetime)).as_data()


class FilterModule:
    """Gives the filter to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Filters by name."""
        return {"onboarding_plan": onboarding_plan}

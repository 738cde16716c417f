# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: a preflight's result judged against a policy."""

from __future__ import annotations

DOCUMENTATION = r"""
name: audit_judge
author: HPC Operations (@hpcops)
version_added: 0.1.0
short_description: Judge a preflight against a policy
description:
  - Makes the report on one cluster out of the result of M(hpcops.slurm.preflight), a policy and
    the report of an earlier audit.
  - This is what the role P(hpcops.slurm.capability_audit#role) does for every cluster. It reads
    and writes nothing.
  - A preflight that failed, and a host that was not reached, give a report as well. All that was
    to be probed is then V(unknown).
  - An earlier report that is damaged, dated ahead, or about another host or cluster is not used,
    with a warning.
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
  host:
    description: The inventory name that the report is about.
    type: str
    required: true
  now:
    description: The present instant in UTC, as V(2026-03-01T08:00:00Z). Its day decides whether a
      waiver has expired.
    type: str
    required: true
  previous:
    description: The text of the last JSON report on this host. Empty at the first audit.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Ask the cluster
  hpcops.slurm.preflight:
  register: answer
  failed_when: false
  ignore_unreachable: true

- name: Judge the answer
  ansible.builtin.set_fact:
    report: >-
      {{ answer
         | hpcops.slurm.audit_judge(policy=policy, host=inventory_hostname,
                                    now=now(utc=true, fmt='%Y-%m-%dT%H:%M:%SZ')) }}
  vars:
    policy:
      required_capabilities: [Hold]
"""

RETURN = r"""
_value:
  description:
    - The report. Its verdict is in C(verdict), one sentence about it in C(headline), and the
      findings are in C(findings).
    - The guide to the audit and its JSON schema describe all keys.
  type: dict
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from ansible.errors import AnsibleFilterError
from ansible.utils.display import Display

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.judge import judge
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.outcome import outcome_of
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.policy import (
    PolicyError,
    read_policy,
)
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.report import as_data

display = Display()


def audit_judge(
    result: object, policy: object, host: str, now: str, previous: str = ""
) -> dict[str, object]:
    """The report on one cluster as data."""
    if not isinstance(result, Mapping) or not isinstance(policy, Mapping):
        raise AnsibleFilterError(
            "hpcops.slurm.audit_judge: the result and the policy have to be dictionaries"
        )
    try:
        instant = datetime.strptime(now, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        asked = read_policy(policy)
    except (TypeError, ValueError, PolicyError) as error:
        raise AnsibleFilterError("hpcops.slurm.audit_judge: %s" % error) from error
    outcome = outcome_of(result)
    judgement = judge(outcome.fact, asked, previous, host, instant, outcome.failure)
    for warning in judgement.warnings:
        display.warning(warning)
    data = as_data(judgement.report)
    return data if isinstance(data, dict) else {}


class FilterModule:
    """Gives the filter to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Filters by name."""
        return {"audit_judge": audit_judge}

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: the reports on several clusters made into one."""

from __future__ import annotations

DOCUMENTATION = r"""
name: audit_fleet
author: HPC Operations (@hpcops)
version_added: 0.1.0
short_description: Make one report on a fleet of clusters
description:
  - Puts the reports of P(hpcops.slurm.audit_judge#filter) together. Clusters by capabilities, a
    verdict for each, what is to be done.
  - A host without a report is listed as not audited, and counts as V(unknown).
positional: _input
options:
  _input:
    description: Inventory names in the order in which the report shall have them.
    type: list
    elements: str
    required: true
  reports:
    description: The reports, in any order.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Put the reports of all clusters together
  ansible.builtin.set_fact:
    fleet: "{{ ansible_play_hosts_all | hpcops.slurm.audit_fleet(reports=reports) }}"
  vars:
    reports: >-
      {{ ansible_play_hosts_all | map('extract', hostvars, 'capability_audit_report')
         | select('defined') }}
"""

RETURN = r"""
_value:
  description: The report on the fleet, with C(verdict), C(headline), C(clusters), C(findings),
    C(waivers) and C(changes).
  type: dict
"""

from collections.abc import Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.fleet import fleet
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.report import as_data


def audit_fleet(hosts: object, reports: object) -> dict[str, object]:
    """The fleet's report as data."""
    if not isinstance(hosts, Sequence) or isinstance(hosts, str):
        raise AnsibleFilterError("hpcops.slurm.audit_fleet: the hosts are not a list")
    if not isinstance(reports, Sequence) or isinstance(reports, str):
        raise AnsibleFilterError("hpcops.slurm.audit_fleet: the reports are not a list")
    by_host = {str(one.get("host")): one for one in reports if isinstance(one, Mapping)}
    try:
        data = as_data(fleet([str(host) for host in hosts], by_host))
    except ValueError as error:
        raise AnsibleFilterError(
            "hpcops.slurm.audit_fleet: a report is not one of audit_judge: %s" % error
        ) from error
    return data if isinstance(data, dict) else {}


class FilterModule:
    """Gives the filter to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Filters by name."""
        return {"audit_fleet": audit_fleet}

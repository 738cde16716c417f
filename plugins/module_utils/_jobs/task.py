# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module that reads, from its options to its exit. Private to the collection."""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.options import readable_options
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import SlurmError


def run_read(make: Callable[[Mapping[str, Any]], Dict[str, Any]], **module_arguments: Any) -> None:
    """Make the result of a module's options, and leave the module.

    ``make`` raises ValueError for options that make no sense, and :class:`SlurmError`. What its
    result has in ``warnings`` is shown to the user.
    """
    with readable_options():
        module = AnsibleModule(supports_check_mode=True, **module_arguments)
    try:
        result = make(module.params)
    except ValueError as error:
        module.fail_json(msg=str(error))
    except SlurmError as error:
        module.fail_json(**error.as_result())
    for text in result.pop("warnings"):
        module.warn(text)
    module.exit_json(changed=False, **result)

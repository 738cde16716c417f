# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Listings and spec texts that the tests of this room share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    Configuration,
    parse_configuration,
)
from ansible_collections.hpcops.slurm.tests.unit.case_words import DATA

SPEC: dict[str, Any] = yaml.safe_load((DATA / "spec-capabilities.yml").read_text(encoding="utf-8"))
AS_OF = 1796035468
SETTINGS = {
    "AccountingStorageType": "accounting_storage/slurmdbd",
    "AccountingStoreFlags": "job_comment",
    "AuthAltTypes": "(null)",
    "AuthInfo": "(null)",
    "AuthType": "auth/munge",
    "ClusterName": "alpha",
    "HASH_VAL": "Match",
    "JobRequeue": "1",
    "JobSubmitPlugins": "(null)",
    "KillWait": "5 sec",
    "MessageTimeout": "10 sec",
    "MinJobAge": "60 sec",
    "PrivateData": "none",
    "PrologFlags": "(null)",
    "SchedulerParameters": "(null)",
    "SLURM_VERSION": "24.11.5",
    "SlurmdTimeout": "60 sec",
}
PING = "Slurmctld(primary) at ctl1 is UP\n"


def listing(changed: Mapping[str, str | None], ping: str = PING) -> str:
    """The output of scontrol show config; a setting that is None has no line."""
    lines = [f"Configuration data as of {AS_OF}"]
    for key, value in {**SETTINGS, **changed}.items():
        lines += [] if value is None else [f"{key:<23} = {value}"]
    return "\n".join(lines) + "\n\n" + ping


def configuration(**changed: str | None) -> Configuration:
    """A sound cluster's configuration, with some settings changed."""
    return parse_configuration(listing(changed))


def spec(*path: str, **filled: str) -> str:
    """A text of the spec page, with what stands in angle brackets filled in."""
    found: Any = SPEC
    for key in path:
        found = found[key]
    return re.sub(r"<(\w+)>", lambda match: filled[match[1]], str(found))

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of the preflight's task: its fact, or what it failed with. Pure.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.text import clipped

UNREACHABLE = "host unreachable"


@dataclass(frozen=True)
class Outcome:
    """``fact`` is None when there was none; ``failure`` is empty when nothing went wrong."""

    fact: object
    failure: str


def outcome_of(result: Mapping[str, object]) -> Outcome:
    """Read the registered result of the module preflight.

    The role's task counts as failed only without a fact, so a failure also shows in what the module
    returned: ``failure_class``, or a host that was not reached.
    """
    facts = result.get("ansible_facts")
    fact = facts.get("slurm_preflight") if isinstance(facts, Mapping) else None
    message = clipped(result.get("msg"))
    if result.get("unreachable"):
        return Outcome(None, "%s: %s" % (UNREACHABLE, message or "no message"))
    failed = bool(result.get("failed")) or result.get("failure_class", "none") != "none"
    if fact is not None and not failed:
        return Outcome(fact, "")
    return Outcome(fact, (message or "the preflight gave no answer") + _command(result, message))


def _command(result: Mapping[str, object], message: str) -> str:
    """The command behind a failure, if the result names one, and its words if they are new."""
    if not result.get("cmd"):
        return ""
    shown = " (%s: exit status %s" % (clipped(result["cmd"]), clipped(result.get("rc")))
    stderr = clipped(result.get("stderr"))
    return shown + ")" if stderr in message else "%s, %s)" % (shown, stderr)

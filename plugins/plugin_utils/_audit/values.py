# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings and durations as text for people. Pure. Private to the collection."""

from __future__ import annotations

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.facts import Value

#: Settings that are durations in seconds.
DURATIONS = frozenset({"MinJobAge", "MessageTimeout", "SlurmdTimeout", "KillWait"})


#: The preflight's declarations, and what a report calls them.
WINDOWS = {
    "node_loss_window": "A lost node's job counts as ended after",
    "call_bound": "A write may land after its deadline for",
    "polled_loss_state": "A finished job's state is readable for",
    "polled_loss_cause": "Its cause is readable for",
    "polled_loss_exit_code": "Its exit code is readable for",
    "polled_loss_execution": "An execution before a requeue is readable for",
    "shortest_bounded_window": "Shortest bounded window",
}


def text_of(value: Value) -> str:
    """A typed value as text: ``not set``, ``none`` for an empty list, members with commas."""
    if value is None:
        return "not set"
    if isinstance(value, tuple):
        return ", ".join(text_of(one) for one in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "%g" % value
    return str(value)


def slurm_text(value: Value) -> str:
    """A typed value as Slurm would print it, for evidence."""
    if value is None or value == ():
        return "(null)"
    return ",".join(map(text_of, value)) if isinstance(value, tuple) else text_of(value)


def setting_text(name: str, value: Value) -> str:
    """A setting as text, with the unit where it is a duration."""
    text = text_of(value)
    return "%s s" % text if name in DURATIONS and is_number(value) else text


def is_number(value: Value) -> bool:
    """Whether a value is a number; a truth value is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def duration_text(name: str, value: Value) -> str:
    """A declared window as text. A landing bound of 0 says that there is none."""
    if name == "call_bound" and value == 0:
        return "no known bound"
    if name == "polled_loss_execution" and value == 0:
        return "not readable"
    return "%s s" % text_of(value) if is_number(value) else text_of(value)

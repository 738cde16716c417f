# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings and durations as text for people. Pure. Private to the collection."""

from __future__ import annotations

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.facts import Value

#: Settings that are durations in seconds.
DURATIONS = frozenset({"MinJobAge", "MessageTimeout", "SlurmdTimeout", "KillWait"})


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
    return "%s s" % text_of(value) if is_number(value) else text_of(value)

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm's host lists. Private to the collection."""

from __future__ import annotations

import itertools
import re
from typing import List, Tuple

#: What stands where a list could, when no node is meant.
NO_HOSTS = frozenset(("", "None assigned", "(null)", "None", "N/A"))
MAX_HOSTS = 100000

_PIECE = re.compile(r"([^\[\],\s]*)(?:\[([0-9,-]+)\])?")
_SPAN = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")


def expand_hosts(text: str, limit: int = MAX_HOSTS) -> Tuple[str, ...]:
    """The hosts of ``n[01-03,7],m2,r[0-1]c[0-1]``, in the order written.

    Leading zeros are kept, as src/common/hostlist.c does. Raises ValueError for a text that is no
    host list (cut off, for example) or holds more than ``limit`` hosts.
    """
    if text in NO_HOSTS:
        return ()
    hosts: List[str] = []
    for member in _members(text):
        parts = [_choices(prefix, spans, limit) for prefix, spans in _pieces(member)]
        size = 1
        for part in parts:
            size *= len(part)
        if len(hosts) + size > limit:
            raise ValueError("more than %d hosts: %r" % (limit, text[:200]))
        hosts.extend("".join(choice) for choice in itertools.product(*parts))
    return tuple(hosts)


def _members(text: str) -> List[str]:
    members: List[str] = []
    start = depth = 0
    for position, char in enumerate(text):
        if char == "," and not depth:
            members.append(text[start:position])
            start = position + 1
        else:
            depth += {"[": 1, "]": -1}.get(char, 0)
    members.append(text[start:])
    return members


def _pieces(member: str) -> List[Tuple[str, str]]:
    pieces: List[Tuple[str, str]] = []
    position = 0
    while position < len(member):
        match = _PIECE.match(member, position)
        if not match or match.end() == position:
            raise ValueError("not a host list: %r" % (member[:200],))
        pieces.append((match.group(1), match.group(2) or ""))
        position = match.end()
    if not pieces:
        raise ValueError("an empty name in a host list")
    return pieces


def _choices(prefix: str, spans: str, limit: int) -> List[str]:
    if not spans:
        return [prefix]
    names: List[str] = []
    for part in spans.split(","):
        match = _SPAN.fullmatch(part)
        if not match:
            raise ValueError("not a range of hosts: %r" % (part[:200],))
        first, last = match.group(1), match.group(2) or match.group(1)
        count = int(last) - int(first) + 1
        if count < 1 or len(names) + count > limit:
            raise ValueError("not a range of at most %d hosts: %r" % (limit, part))
        names.extend(
            "%s%0*d" % (prefix, len(first), index) for index in range(int(first), int(last) + 1)
        )
    return names

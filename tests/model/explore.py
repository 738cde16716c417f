# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every state of a program, breadth first, each once."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from ansible_collections.hpcops.slurm.tests.model.protocol import Broken, Protocol, State


class Found(NamedTuple):
    """A violation: the invariant's word, what was seen, and the shortest way there."""

    word: str
    text: str
    way: tuple[str, ...]


class Explored(NamedTuple):
    """How many states and steps there are, and the first violation."""

    states: int
    steps: int
    found: Found | None


def explore(protocol: Protocol) -> Explored:
    """Visit every state that can be reached, up to the first violation.

    A state that was visited is remembered by its hash, with the step that led there.
    """
    first = protocol.begin()
    came: dict[int, tuple[int, str]] = {hash(first): (0, "")}
    queue: deque[State] = deque([first])
    steps = 0
    while queue:
        state = queue.popleft()
        here, what = hash(state), ""
        try:
            protocol.check_end(state)
            for what, after in protocol.steps(state):
                steps += 1
                key = hash(after)
                if key not in came:
                    came[key] = (here, what)
                    queue.append(after)
        except Broken as broken:
            # What was under way when it broke is named by the violation itself.
            way = tuple(_way(came, here))
            return Explored(len(came), steps, Found(broken.word, str(broken), way))
    return Explored(len(came), steps, None)


def _way(came: dict[int, tuple[int, str]], key: int) -> list[str]:
    way: list[str] = []
    while came[key][1]:
        key, what = came[key][0], came[key][1]
        way.append(what)
    return way[::-1]

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a setting is wished to be, and how a change of it takes effect. Pure.

A wish names the least change: a flag that is in a list, a number in a range, perhaps in one part of
a value such as ``ttl=60`` in AuthInfo. What else the value holds stays. Private to the collection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.conf_text import SPACE, Change
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import Configuration
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import (
    INFINITE,
    UNKNOWN,
)

#: The largest number that slurm.conf takes for 32 bits; the two above mean something else.
LARGEST = 2**32 - 3

#: Settings that ``scontrol reconfigure`` makes the running controller read again: seen on 22.05,
#: 24.11 and 26.05.
READ_AGAIN = frozenset(("AccountingStoreFlags", "AuthInfo", "MinJobAge"))

#: Since this release a reconfigure starts new processes of the daemons (scontrol(1)). Before, a
#: daemon keeps the credential lifetime that it read at its start, whatever show config says: seen
#: on 22.05.
STARTS_ANEW = (23, 11, 0)

_NUMBER = re.compile(r"\d{1,10}\Z", re.ASCII)
_NO_LIMIT = frozenset((INFINITE, "unlimited"))
_NOTHING = frozenset(("", "none", "(null)"))


class NoNumber(ValueError):
    """A value that should be a number is none."""


@dataclass(frozen=True)
class Wish:
    """What one key is wished to have: ``members`` in its list, or a number in a range.

    ``key`` is as the controller spells it. ``part`` is the name of the part that has the number,
    empty when the whole value is the number. Bounds may be None.
    """

    key: str
    members: Tuple[str, ...] = ()
    part: str = ""
    at_least: Optional[int] = None
    at_most: Optional[int] = None

    def change(self, value: Optional[str]) -> Optional[Change]:
        """What is to be changed in a value (None: it is not set), None when nothing is.

        Raises :class:`NoNumber`.
        """
        now = value or ""
        if self.members:
            return self._more_members(now)
        return self._part(now) if self.part else self._number(now, 0, len(now))

    def met_by(self, value: Optional[str]) -> bool:
        """Whether a value is as it is wished to be; False for one that is no number."""
        try:
            return self.change(value) is None
        except NoNumber:
            return False

    def _more_members(self, now: str) -> Optional[Change]:
        if now.lower() in _NOTHING:
            return Change(0, len(now), ",".join(self.members))
        present = {one.strip(SPACE).lower() for one in now.split(",")}
        missing = [one for one in self.members if one.lower() not in present]
        if not missing:
            return None
        comma = "" if now.endswith(",") else ","
        return Change(len(now), len(now), comma + ",".join(missing))

    def _part(self, now: str) -> Optional[Change]:
        if now.lower() in _NOTHING:
            return Change(0, len(now), "%s=%d" % (self.part, self._nearest(None)))
        begin = 0
        for one in now.split(","):
            name, equals, number = one.partition("=")
            # Slurm looks for ttl= in just these letters, and takes the first.
            if equals and name.strip(SPACE) == self.part:
                at = begin + len(name) + 1
                return self._number(now, at, at + len(number))
            begin += len(one) + 1
        comma = "" if now.endswith(",") else ","
        new = "%s%s=%d" % (comma, self.part, self._nearest(None))
        return Change(len(now), len(now), new)

    def _number(self, now: str, begin: int, end: int) -> Optional[Change]:
        text = now[begin:end].strip(SPACE)
        if text.lower() in _NO_LIMIT:
            number: Optional[int] = LARGEST + 1
        elif text == "":
            number = None
        elif _NUMBER.match(text):
            number = int(text)
        else:
            name = "%s in %s" % (self.part, self.key) if self.part else self.key
            raise NoNumber("%s is %r, which is no whole number" % (name, text[:80]))
        nearest = self._nearest(number)
        return None if nearest == number else Change(begin, end, "%d" % nearest)

    def _nearest(self, number: Optional[int]) -> int:
        """The number of the range that is nearest; a part that is 0 counts as not set."""
        bounds = [one for one in (self.at_least, self.at_most) if one is not None]
        if number is None or (number == 0 and self.part):
            return bounds[0]
        if self.at_most is not None:
            number = min(number, self.at_most)
        return number if self.at_least is None else max(number, self.at_least)


def shown_value(configuration: Configuration, key: str) -> Optional[str]:
    """What the running controller has for a key, in the form of slurm.conf; None: nothing.

    The text is "unknown" where the listing contradicts itself.
    """
    value = configuration.value(key)
    if value is None or value == []:
        return None
    if isinstance(value, list):
        return ",".join(value)
    return value if value in (UNKNOWN, INFINITE) else _plain(configuration, key)


def _plain(configuration: Configuration, key: str) -> str:
    value = configuration.value(key)
    return str(value) if isinstance(value, int) else configuration.settings[key].raw


def restart_needed(key: str, version: Optional[Tuple[int, int, int]]) -> bool:
    """Whether daemons have to be restarted until a change of this key counts for them."""
    return key == "AuthInfo" and (version is None or version < STARTS_ANEW)


def way_to_apply(
    key: str, version: Optional[Tuple[int, int, int]], auth_type: Optional[str]
) -> str:
    """How a changed line of slurm.conf takes effect, for a person."""
    if restart_needed(key, version):
        return (
            "scontrol reconfigure, which is enough for commands; slurmctld and the slurmds go on"
            " with the old credential lifetime until they are restarted"
        )
    if key == "AuthInfo" and auth_type == "auth/slurm":
        return "scontrol reconfigure; restart sackd on hosts that run one"
    if key in READ_AGAIN:
        return "scontrol reconfigure; no restart is needed"
    return "scontrol reconfigure, and a restart where scontrol show config then says that it is not"

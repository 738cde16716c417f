# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long after its deadline a write may still take effect. Private to the collection."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional, Union

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import Configuration
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import UNKNOWN

#: Seconds that ``timeout -k`` waits between SIGTERM and SIGKILL.
KILL_AFTER = 5

#: Seconds that a credential lives when AuthInfo has no ``ttl=`` (munge(7), slurm.conf(5) AuthInfo);
#: no other type has a bound (landed 400 s after its client's death with auth/none).
CREDENTIAL_LIFETIME = {"auth/munge": 300, "auth/slurm": 60}

#: One second, since slurmctld judges the credential in whole ones.
ROUNDING = 1


@dataclass(frozen=True)
class LandingBound:
    """``seconds`` from the deadline on; 0: no bound is known; None: it could not be read."""

    seconds: Optional[int]
    reason: str

    @property
    def known(self) -> bool:
        """Whether writes can be relied on to have landed by then, or never."""
        return bool(self.seconds)

    def as_fact(self) -> Union[int, str]:
        """The number for ``call_bound``, "unknown" when it could not be read."""
        return UNKNOWN if self.seconds is None else self.seconds


def auth_type(configuration: Configuration) -> str:
    """AuthType as text, "unknown" when it was not read."""
    return configuration.text("AuthType") or UNKNOWN


def no_bound_reason(kind: str) -> str:
    """The spec's reason for an AuthType without a known bound."""
    return 'AuthType "%s" has no known landing bound' % kind


def credential_lifetime(configuration: Configuration) -> Optional[int]:
    """Seconds that a credential is accepted after it was made, None when that is not known."""
    kind, info = auth_type(configuration), configuration.text("AuthInfo")
    default = CREDENTIAL_LIFETIME.get(kind)
    if default is None or info == UNKNOWN:
        return None
    for part in (info or "").split(","):
        name, _equals, number = part.strip().partition("=")
        if name == "ttl":  # in just these letters (slurm_get_auth_ttl())
            ok = re.match(r"\d{1,6}\Z", number, re.ASCII) and int(number) > 0
            return int(number) if ok else None
    return default


def landing_bound(configuration: Configuration, skew: float) -> LandingBound:
    """Kill-after + credential lifetime + max(0, skew) + MessageTimeout + 1 s.

    ``skew`` is the caller's clock minus slurmctld's, in seconds. Source: the spec page "Choose
    deadlines, TTL and skew" as settled in this project, measured on 22.05 to 26.05.
    """
    kind = auth_type(configuration)
    if kind == UNKNOWN:
        return LandingBound(None, "AuthType was not read")
    if kind not in CREDENTIAL_LIFETIME:
        return LandingBound(0, no_bound_reason(kind))
    lifetime = credential_lifetime(configuration)
    if lifetime is None:
        return LandingBound(None, "AuthInfo was not read: %s" % configuration.evidence("AuthInfo"))
    timeout = configuration.seconds("MessageTimeout")
    if not isinstance(timeout, int):
        return LandingBound(None, "MessageTimeout was not read")
    ahead = max(0, -int(-skew // 1))
    return LandingBound(KILL_AFTER + lifetime + ahead + timeout + ROUNDING, "")

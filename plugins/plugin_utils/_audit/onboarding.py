# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which lines of slurm.conf a policy needs changed, judged by the live settings. Pure.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    Configuration,
    Setting,
    version_numbers,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.landing import (
    CREDENTIAL_LIFETIME,
    credential_lifetime,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.wishes import (
    NoNumber,
    Wish,
    way_to_apply,
)
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.facts import UNKNOWN, Facts
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.policy import Policy
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.values import slurm_text


@dataclass(frozen=True)
class Line:
    """One line that is to be changed: as it has to be, what is live, and how it takes effect."""

    name: str
    conf_line: str
    live: str
    apply: str

    @property
    def text(self) -> str:
        """The line with what is there now and how it takes effect, as a comment of slurm.conf."""
        return "%s  # now %s; apply with %s" % (self.conf_line, self.live, self.apply)


@dataclass(frozen=True)
class Plan:
    """Lines to change, all that is wished (as config_setting takes it), and a sentence for each
    setting that a line can't settle.
    """

    lines: tuple[Line, ...] = ()
    settings: tuple[dict[str, object], ...] = ()
    notes: tuple[str, ...] = ()

    def as_data(self) -> dict[str, object]:
        """The plan as plain values."""
        return {
            "lines": [{**asdict(one), "text": one.text} for one in self.lines],
            "settings": list(self.settings),
            "notes": list(self.notes),
        }


def plan(facts: Facts, policy: Policy, lifetime: int) -> Plan:
    """The plan for one cluster; ``lifetime`` in seconds is the longest for credentials, 0: any."""
    if not facts.answered:
        return Plan(notes=("the cluster's settings were not read: nothing is known to be wrong",))
    planner = _Planner(facts)
    planner.store_flags(policy)
    planner.add(Wish("MinJobAge", at_least=policy.min_job_age_needed))
    if lifetime:
        planner.credentials(lifetime)
    return Plan(tuple(planner.lines), tuple(planner.settings), tuple(planner.notes))


class _Planner:
    """Collects lines and notes."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.lines: list[Line] = []
        self.settings: list[dict[str, object]] = []
        self.notes: list[str] = []

    def _live(self, name: str) -> str | None:
        """A live setting as slurm.conf has it, None when it is not set."""
        value = self.facts.setting(name)
        if value is None or value == ():
            return None
        return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)

    def add(self, wish: Wish) -> None:
        """Note what a wish needs."""
        live = self._live(wish.key)
        if live == UNKNOWN:
            self.notes.append("%s was not read" % wish.key)
            return
        try:
            change = wish.change(live)
        except NoNumber as error:
            self.notes.append(str(error))
            return
        setting = {
            "name": wish.key,
            "members": list(wish.members) or None,
            "part": wish.part or None,
            "at_least": wish.at_least,
            "at_most": wish.at_most,
        }
        self.settings.append({key: value for key, value in setting.items() if value is not None})
        if change is None:
            return
        version = version_numbers(self.facts.cluster.version)
        self.lines.append(
            Line(
                name=wish.key,
                conf_line="%s=%s" % (wish.key, change.applied(live or "")),
                live=slurm_text(self.facts.setting(wish.key)),
                apply=way_to_apply(wish.key, version, self.facts.cluster.auth_type),
            )
        )

    def store_flags(self, policy: Policy) -> None:
        """What the policy wants accounting to keep."""
        storage = self._live("AccountingStorageType")
        if not policy.required_store_flags:
            return
        if storage is None or storage.endswith("/none"):
            self.notes.append(
                "AccountingStoreFlags: there is no accounting that could keep anything; set it up"
                " first (AccountingStorageType)"
            )
            return
        self.add(Wish("AccountingStoreFlags", members=policy.required_store_flags))

    def credentials(self, longest: int) -> None:
        """For how long a command's credential may be accepted."""
        kind, info = self._live("AuthType"), self._live("AuthInfo")
        if kind not in CREDENTIAL_LIFETIME:
            self.notes.append("AuthInfo: with AuthType %s there is no credential lifetime" % kind)
            return
        read = {"AuthType": Setting(kind, kind), "AuthInfo": Setting(info or "(null)", info)}
        now = credential_lifetime(Configuration(None, read))
        if now is None or now > longest or "ttl=" in (info or ""):
            self.add(Wish("AuthInfo", part="ttl", at_most=longest))

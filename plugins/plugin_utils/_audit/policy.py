# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The site's policy: read from the role's variables, with every mistake named. Pure.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.text import clipped
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.words import (
    CAPABILITIES,
    GRAVITY,
    Verdict,
    finding_names,
)

#: What AccountingStoreFlags takes (slurmctld's own listing of them), for messages.
KNOWN_STORE_FLAGS = ("job_comment", "job_env", "job_extra", "job_script")

_FLAG = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z", re.ASCII)
_AUTH_TYPE = re.compile(r"auth/[A-Za-z0-9_]+\Z", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_WAIVER_KEYS = ("check", "reason", "expires", "hosts")


@dataclass(frozen=True)
class Waiver:
    """One finding that the site accepts, why, and until which day (that day included, in UTC).

    ``hosts`` are inventory names; empty means every host.
    """

    check: str
    reason: str
    expires: date
    hosts: tuple[str, ...] = ()

    def concerns(self, host: str) -> bool:
        """Whether the waiver is for this host."""
        return not self.hosts or host in self.hosts

    def expired(self, today: date) -> bool:
        """Whether its last day is over."""
        return today > self.expires


@dataclass(frozen=True)
class Policy:
    """What the site asks of a cluster. Durations in seconds."""

    allowed_auth_types: tuple[str, ...] = ("auth/munge", "auth/slurm")
    poll_interval: int = 30
    min_job_age_minimum: int = 0
    min_job_age_maximum: int = 7200
    required_store_flags: tuple[str, ...] = ("job_comment",)
    required_capabilities: tuple[str, ...] = ("Hold", "AccountingHistory")
    waivers: tuple[Waiver, ...] = ()
    fail_on: tuple[Verdict, ...] = (Verdict.FAIL, Verdict.UNKNOWN)

    @property
    def min_job_age_needed(self) -> int:
        """The least MinJobAge in seconds: how long a finished job has to stay readable."""
        return max(self.poll_interval, self.min_job_age_minimum)


class PolicyError(Exception):
    """The policy has mistakes; ``problems`` are sentences with the variable and the choices."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def read_policy(data: Mapping[str, object]) -> Policy:
    """The policy from a mapping whose keys are the fields of :class:`Policy`; others are refused.

    Numbers may be texts and lists may be comma-separated texts, as extra variables are. Raises
    :class:`PolicyError` with every mistake found, not only the first.
    """
    reader = _Reader(data)
    fallback = Policy()
    policy = Policy(
        allowed_auth_types=reader.auth_types("allowed_auth_types", fallback.allowed_auth_types),
        poll_interval=reader.number("poll_interval", fallback.poll_interval, 1),
        min_job_age_minimum=reader.number("min_job_age_minimum", fallback.min_job_age_minimum, 0),
        min_job_age_maximum=reader.number("min_job_age_maximum", fallback.min_job_age_maximum, 1),
        required_store_flags=reader.flags("required_store_flags", fallback.required_store_flags),
        required_capabilities=reader.chosen(
            "required_capabilities", fallback.required_capabilities, CAPABILITIES
        ),
        waivers=reader.waivers("waivers"),
        fail_on=reader.verdicts("fail_on", fallback.fail_on),
    )
    reader.leftovers()
    if policy.min_job_age_maximum < policy.min_job_age_needed:
        reader.complain(
            "min_job_age_maximum",
            "%d s is less than the %d s that poll_interval and min_job_age_minimum ask for"
            % (policy.min_job_age_maximum, policy.min_job_age_needed),
        )
    if reader.problems:
        raise PolicyError(tuple(reader.problems))
    return policy


class _Reader:
    """Takes values out of the variables and collects what is wrong with them."""

    def __init__(self, data: Mapping[str, object]) -> None:
        self.data = data
        self.problems: list[str] = []
        self.seen: list[str] = []

    def complain(self, name: str, what: str) -> None:
        """Note a mistake in a variable."""
        self.problems.append("capability_audit_%s: %s" % (name, what))

    def _get(self, name: str) -> object:
        self.seen.append(name)
        return self.data.get(name)

    def leftovers(self) -> None:
        """Note keys that nobody asked for."""
        for name in self.data:
            if name not in self.seen:
                allowed = ", ".join(self.seen)
                self.complain(clipped(name), "not part of a policy; allowed: %s" % allowed)

    def number(self, name: str, fallback: int, least: int) -> int:
        """A whole number of at least ``least``."""
        value = self._get(name)
        if value is None:
            return fallback
        text = str(value).strip()
        if isinstance(value, bool) or not re.match(r"-?\d{1,12}\Z", text, re.ASCII):
            self.complain(name, "%s is not a whole number of seconds" % _quoted(value))
            return fallback
        if int(text) < least:
            self.complain(name, "%s is less than %d" % (text, least))
            return fallback
        return int(text)

    def words(self, name: str, fallback: tuple[str, ...]) -> tuple[str, ...]:
        """A list of texts without repetitions."""
        value = self._get(name)
        if value is None:
            return fallback
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",") if part.strip()]
        if not isinstance(value, (list, tuple)):
            self.complain(name, "%s is not a list" % _quoted(value))
            return fallback
        return tuple(dict.fromkeys(str(one).strip() for one in value))

    def auth_types(self, name: str, fallback: tuple[str, ...]) -> tuple[str, ...]:
        """At least one AuthType."""
        found = self.words(name, fallback)
        for one in found:
            if not _AUTH_TYPE.match(one):
                self.complain(name, "%s is not of the form auth/munge" % _quoted(one))
        if not found:
            self.complain(name, "is empty; name at least one type, such as auth/munge")
        return found

    def flags(self, name: str, fallback: tuple[str, ...]) -> tuple[str, ...]:
        """Flags of AccountingStoreFlags in lower case. New releases may know more than we do."""
        found = self.words(name, fallback)
        for one in found:
            if not _FLAG.match(one):
                known = ", ".join(KNOWN_STORE_FLAGS)
                self.complain(name, "%s is not a flag; Slurm knows %s" % (_quoted(one), known))
        return tuple(dict.fromkeys(one.lower() for one in found))

    def chosen(
        self, name: str, fallback: tuple[str, ...], choices: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Words out of a closed set."""
        found = self.words(name, fallback)
        for one in found:
            if one not in choices:
                self.complain(name, _not_among(one, choices))
        return found

    def verdicts(self, name: str, fallback: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
        """Verdicts that a play can fail on."""
        choices = tuple(one.value for one in GRAVITY)
        found = self.chosen(name, tuple(one.value for one in fallback), choices)
        return tuple(Verdict(one) for one in found if one in choices)

    def waivers(self, name: str) -> tuple[Waiver, ...]:
        """The list of waivers."""
        value = self._get(name)
        if value is None:
            return ()
        if not isinstance(value, (list, tuple)):
            self.complain(name, "is not a list")
            return ()
        found = [self._waiver("%s[%d]" % (name, i), one) for i, one in enumerate(value)]
        return tuple(one for one in found if one is not None)

    def _waiver(self, name: str, value: object) -> Waiver | None:
        if not isinstance(value, Mapping):
            self.complain(name, "is not a mapping with check, reason and expires")
            return None
        before = len(self.problems)
        for key in value:
            if key not in _WAIVER_KEYS:
                self.complain(name, _not_among(str(key), _WAIVER_KEYS))
        check = str(value.get("check", ""))
        if check not in finding_names():
            self.complain(name + ".check", _not_among(check, finding_names()))
        reason = clipped(value.get("reason"))
        if not reason:
            self.complain(name + ".reason", "is missing: say why the finding is accepted")
        expires = self._date(name + ".expires", value.get("expires"))
        hosts = _Reader({"hosts": value.get("hosts")})
        names = hosts.words("hosts", ())
        if hosts.problems:
            self.complain(name + ".hosts", "%s is not a list" % _quoted(value.get("hosts")))
        if expires is None or len(self.problems) > before:
            return None
        return Waiver(check, reason, expires, names)

    def _date(self, name: str, value: object) -> date | None:
        """A day; YAML makes a date of an unquoted one."""
        if isinstance(value, date) and not isinstance(value, datetime):
            return value
        text = str(value if value is not None else "").strip()
        try:
            if _DATE.match(text):
                return date.fromisoformat(text)
        except ValueError:
            pass  # right form, no such day
        self.complain(name, "%s is not a day of the form YYYY-MM-DD" % _quoted(value))
        return None


def _quoted(value: object) -> str:
    return "nothing" if value is None else "«%s»" % clipped(value, 80)


def _not_among(word: str, choices: tuple[str, ...]) -> str:
    return "%s is not one of: %s" % (_quoted(word), ", ".join(choices))

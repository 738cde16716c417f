# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges a preflight against a policy: evidence, waivers and history become one report. Pure.

Private to the collection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.facts import (
    UNKNOWN,
    Facts,
    iso,
    read_facts,
)
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.findings import Judged, judged
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.history import (
    FORMAT,
    FORMAT_VERSION,
    History,
    Ledger,
    NotBelieved,
    Was,
    read_history,
)
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.policy import Policy, Waiver
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.report import (
    AppliedWaiver,
    Capability,
    Finding,
    ListedWaiver,
    Report,
    Setting,
    WaiverState,
    Window,
    as_data,
    file_stem,
)
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.text import clipped, visible
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.values import (
    WINDOWS,
    duration_text,
    setting_text,
)
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.words import (
    CAPABILITY_PREFIX,
    GRAVITY,
    Verdict,
    gravest,
)


@dataclass(frozen=True)
class Judgement:
    """A report, and warnings about this run that do not belong into a file."""

    report: Report
    warnings: tuple[str, ...]


def judge(
    preflight: object,
    policy: Policy,
    previous: object,
    host: str,
    now: datetime,
    failure: str = "",
) -> Judgement:
    """The report on one cluster.

    ``preflight``: the fact slurm_preflight, or None; ``previous``: the last JSON report as text,
    bytes or parsed, or None; ``host``: inventory name; ``now``: an aware instant; ``failure``: what
    the preflight or the connection failed with, empty when it did not.
    """
    facts = read_facts(preflight, clipped(failure))
    history, warnings = _believed(previous, visible(host), now, facts)
    ledger = Ledger(history, iso(now))
    today = now.astimezone(UTC).date()
    findings = tuple(
        _finding(one, policy, host, today, ledger)
        for one in judged(facts, policy, clipped(failure))
    )
    report = Report(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        host=visible(host),
        file_stem=file_stem(host),
        verdict=gravest(one.verdict for one in findings),
        headline=headline(findings),
        counts={verdict.value: 0 for verdict in Verdict}
        | Counter(one.verdict.value for one in findings),
        recorded_since=history.recorded_since or ledger.now,
        findings_since=_findings_since(findings, ledger),
        cluster=facts.cluster,
        findings=findings,
        capabilities=_capabilities(facts, policy, ledger),
        rules=facts.rules,
        interfaces=facts.interfaces,
        windows=_windows(facts),
        settings=_settings(facts, ledger),
        waivers=_listed(policy, host, today, findings),
        changes=ledger.all_changes(),
        probe=facts.probe,
        policy=_policy_data(policy),
    )
    return Judgement(report, warnings)


def _believed(
    previous: object, host: str, now: datetime, facts: Facts
) -> tuple[History, tuple[str, ...]]:
    """The history, or the empty one and why the earlier report was not believed."""
    try:
        history = read_history(previous, host, now)
        was, now_is = history.setting("ClusterName"), visible(facts.setting("ClusterName"))
        if UNKNOWN not in (was, now_is) and was != now_is:
            raise NotBelieved("it is about the cluster %s, this one is %s" % (was, now_is))
    except NotBelieved as error:
        return History(), (
            "The earlier report on %s is not used, so changes are counted from now: %s"
            % (host, error),
        )
    return history, ()


def _finding(one: Judged, policy: Policy, host: str, today: date, ledger: Ledger) -> Finding:
    was = ledger.history.findings.get(one.name)
    kind = "check" if _worth_noting(one, was) else ""
    since = ledger.since(kind, one.name, one.verdict.value, was)
    mine = [
        waiver for waiver in policy.waivers if waiver.check == one.name and waiver.concerns(host)
    ]
    passed = one.verdict is Verdict.PASS
    active = None if passed else _first(mine, today, expired=False)
    expired = None if passed or active else _first(mine, today, expired=True)
    return Finding(
        name=one.name,
        title=one.title,
        verdict=Verdict.WAIVED if active else one.verdict,
        raw_verdict=one.verdict,
        evidence=one.evidence,
        wanted=one.wanted,
        remedy=one.remedy,
        follows=one.follows,
        since=since,
        waiver=active,
        expired_waiver=expired,
    )


def _worth_noting(one: Judged, was: Was | None) -> bool:
    """Whether a change of this finding tells something that no other change does.

    A capability's is noted with the capability, and what only follows from a preflight without an
    answer, or is well again after one, is said by the preflight's own.
    """
    if one.name.startswith(CAPABILITY_PREFIX) or one.follows:
        return False
    return not (was is not None and was.follows and one.verdict is Verdict.PASS)


def _first(waivers: Sequence[Waiver], today: date, expired: bool) -> AppliedWaiver | None:
    """The waiver that holds longest among those that have expired, or that have not."""
    fitting = [one for one in waivers if one.expired(today) is expired]
    if not fitting:
        return None
    longest = max(fitting, key=lambda one: one.expires)
    return AppliedWaiver(longest.reason, longest.expires.isoformat())


def _findings_since(findings: Sequence[Finding], ledger: Ledger) -> str:
    """When this very set of verdicts was first recorded."""
    effective = tuple((one.name, one.verdict.value) for one in findings)
    return ledger.history.findings_since if effective == ledger.history.effective else ledger.now


def _capabilities(facts: Facts, policy: Policy, ledger: Ledger) -> tuple[Capability, ...]:
    return tuple(
        Capability(
            name=one.name,
            support=one.support,
            source=one.source,
            reason=one.reason,
            since=ledger.since(
                "capability",
                one.name,
                one.support.value,
                ledger.history.capabilities.get(one.name),
            ),
            required=one.name in policy.required_capabilities,
        )
        for one in facts.capabilities
    )


def _settings(facts: Facts, ledger: Ledger) -> tuple[Setting, ...]:
    """The settings read now, and those read earlier that no answer came for."""
    names = dict.fromkeys((*facts.settings, *ledger.history.settings))
    return tuple(_setting(name, facts, ledger) for name in names)


def _setting(name: str, facts: Facts, ledger: Ledger) -> Setting:
    value = facts.setting(name)
    text = setting_text(name, value)
    was = ledger.history.settings.get(name)
    if was is not None and UNKNOWN in (was.value, text):
        # Not having read a setting is no change of it: the next one read is compared with the last.
        kept = was if text == UNKNOWN else Was(text, ledger.now)
        return Setting(name, value, text, kept.value, kept.since)
    return Setting(name, value, text, text, ledger.since("setting", name, text, was))


def _windows(facts: Facts) -> tuple[Window, ...]:
    return tuple(
        Window(name, title, value, duration_text(name, value))
        for name, title in WINDOWS.items()
        for value in [facts.declarations.get(name, UNKNOWN)]
    )


def _listed(
    policy: Policy, host: str, today: date, findings: Sequence[Finding]
) -> tuple[ListedWaiver, ...]:
    found = {one.name: one.raw_verdict for one in findings}

    def state(one: Waiver) -> WaiverState:
        if one.expired(today):
            return WaiverState.EXPIRED
        needed = found.get(one.check, Verdict.PASS) is not Verdict.PASS
        return WaiverState.ACTIVE if needed else WaiverState.UNUSED

    return tuple(
        ListedWaiver(one.check, one.reason, one.expires.isoformat(), state(one))
        for one in policy.waivers
        if one.concerns(host)
    )


def _policy_data(policy: Policy) -> dict[str, object]:
    """The policy as a report shows it; the waivers have a section of their own."""
    names = [one.name for one in fields(policy) if one.name != "waivers"]
    return {name: as_data(getattr(policy, name)) for name in names}


_SAYING = {
    Verdict.FAIL: ("fails", "fail"),
    Verdict.UNKNOWN: ("could not be answered", "could not be answered"),
    Verdict.WARN: ("warns", "warn"),
}


def headline(findings: Sequence[Finding]) -> str:
    """One sentence: how many findings fail, are unknown or warn, and which."""
    parts = []
    for verdict in GRAVITY:
        titles = [one.title for one in findings if one.verdict is verdict]
        if titles:
            one, many = _SAYING[verdict]
            saying = one if len(titles) == 1 else many
            parts.append("%d %s (%s)" % (len(titles), saying, _names(titles)))
    waived = sum(one.verdict is Verdict.WAIVED for one in findings)
    if parts:
        parts[0] = "Of %d checks %s" % (len(findings), parts[0])
    elif waived:
        parts.append("%d of %d checks pass" % (len(findings) - waived, len(findings)))
    else:
        parts.append("All %d checks pass" % len(findings))
    if waived:
        parts.append("%d waived" % waived)
    return ", ".join(parts)


def _names(titles: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(titles[:most])
    return shown if len(titles) <= most else "%s and %d more" % (shown, len(titles) - most)

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the policy says about a preflight's answers, before waivers and history. Pure.

Whether a changed setting needs a restart is from slurm.conf(5) and scontrol(1): AuthType and the
accounting storage are fixed when a daemon starts, MinJobAge and AccountingStoreFlags are read again
by ``scontrol reconfigure``. Private to the collection.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.failures import REMEDIES
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import FailureClass
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.facts import (
    UNKNOWN,
    Check,
    Facts,
    Support,
)
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.outcome import UNREACHABLE
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.policy import Policy
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.values import slurm_text
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.words import (
    CAPABILITY_PREFIX,
    CHECKS,
    READ_ONLY,
    Answer,
    Verdict,
    check_words,
)


@dataclass(frozen=True)
class Judged:
    """A finding as the evidence alone gives it."""

    name: str
    title: str
    verdict: Verdict
    evidence: str
    wanted: str
    remedy: str = ""
    follows: bool = False


_FOLLOWS_REMEDY = "This follows from the findings about the preflight and the controller"


def judged(facts: Facts, policy: Policy, failure: str) -> list[Judged]:
    """All findings in a fixed order: the preflight, its checks, the required capabilities."""
    own: dict[str, Callable[[], Judged]] = {
        "preflight": lambda: _preflight(facts, failure),
        "auth_type": lambda: _auth_type(facts, policy),
        "min_job_age": lambda: _min_job_age(facts, policy),
    }
    if policy.required_store_flags:
        own["accounting_store_flags"] = lambda: _store_flags(facts, policy)
    foreign = [check.name for check in facts.checks if check.name not in CHECKS]
    found = []
    for name in dict.fromkeys((*CHECKS, *foreign)):
        check = facts.check(name)
        if name in own:
            found.append(own[name]())
        elif check is not None:
            found.append(_as_found(check))
    found.extend(_capability(facts.capability(name)) for name in policy.required_capabilities)
    silent = bool(failure) or not facts.answered
    return [_following(one) if silent else one for one in found]


def _following(one: Judged) -> Judged:
    """A finding of a preflight without an answer: what is unknown needs no remedy of its own."""
    if one.name == "preflight" or one.verdict is not Verdict.UNKNOWN:
        return one
    return replace(one, remedy=_FOLLOWS_REMEDY, follows=True)


def _as_found(check: Check) -> Judged:
    wanted = check_words(check.name).wanted
    return Judged(check.name, check.title, check.verdict, check.evidence, wanted, check.remedy)


def _own(name: str, verdict: Verdict, evidence: str, wanted: str, remedy: str = "") -> Judged:
    return Judged(name, CHECKS[name].title, verdict, evidence, wanted, remedy)


def _preflight(facts: Facts, failure: str) -> Judged:
    wanted = CHECKS["preflight"].wanted
    if failure or not facts.answered:
        seen = failure or facts.capability("Hold").reason
        if failure.startswith(UNREACHABLE):
            remedy = "Make the host reachable (ansible HOST -m ansible.builtin.ping), audit again"
        elif facts.answered:
            remedy = "Settle what the failed checks name, then audit again"
        else:
            remedy = "Run the audit with -vvv to see where the preflight ended"
        return _own("preflight", Verdict.UNKNOWN, seen, wanted, remedy)
    return _own("preflight", Verdict.PASS, "the preflight was answered", wanted)


def _unread(facts: Facts, name: str, setting: str) -> str:
    """Evidence for a setting that has no usable value: the preflight's raw text, if it has one."""
    check = facts.check(name)
    if check is not None and check.evidence:
        return check.evidence
    return "%s was not read" % setting


def _by_hand(setting: str) -> str:
    return "Run scontrol show config on the host, and see what stands in its line %s" % setting


def _auth_type(facts: Facts, policy: Policy) -> Judged:
    name, wanted = "auth_type", "one of %s" % ", ".join(policy.allowed_auth_types)
    kind = facts.setting("AuthType")
    if not isinstance(kind, str) or kind in ("", UNKNOWN):
        seen = _unread(facts, name, "AuthType")
        return _own(name, Verdict.UNKNOWN, seen, wanted, _by_hand("AuthType"))
    seen = "AuthType = %s" % kind
    alternates = facts.setting("AuthAltTypes")
    if isinstance(alternates, tuple) and alternates:
        seen += "; AuthAltTypes = %s" % slurm_text(alternates)
    if kind in policy.allowed_auth_types:
        return _own(name, Verdict.PASS, seen, wanted)
    remedy = (
        "Set AuthType in slurm.conf (and slurmdbd.conf) to %s. A reconfigure is not enough: stop "
        "every Slurm daemon and command first, change it on all hosts, then start them again"
        % " or ".join(policy.allowed_auth_types)
    )
    return _own(name, Verdict.FAIL, seen, wanted, remedy)


def _min_job_age(facts: Facts, policy: Policy) -> Judged:
    name, needed = "min_job_age", policy.min_job_age_needed
    wanted = "%d to %d s" % (needed, policy.min_job_age_maximum)
    if policy.poll_interval == needed:
        wanted += ", polled every %d s" % policy.poll_interval
    age = facts.setting("MinJobAge")
    if isinstance(age, bool) or not isinstance(age, (int, float)) or age < 0:
        seen = _unread(facts, name, "MinJobAge")
        return _own(name, Verdict.UNKNOWN, seen, wanted, _by_hand("MinJobAge"))
    seen = "MinJobAge = %g s" % age
    how = "in slurm.conf, then scontrol reconfigure; no restart is needed"
    if age < needed:
        remedy = "Set MinJobAge=%d or more %s" % (needed, how)
        return _own(name, Verdict.FAIL, seen, wanted, remedy)
    if age > policy.min_job_age_maximum:
        remedy = "Set MinJobAge=%d or less %s. A long age costs slurmctld memory" % (
            policy.min_job_age_maximum,
            how,
        )
        return _own(name, Verdict.WARN, seen, wanted, remedy)
    return _own(name, Verdict.PASS, seen, wanted)


def store_flag(facts: Facts, flag: str) -> Answer:
    """Whether AccountingStoreFlags has a flag, in any letter case.

    Where the setting was not read, the preflight's check still answers for ``job_comment``: it also
    knows the line that old releases have instead.
    """
    flags = facts.setting("AccountingStoreFlags")
    if flags is None:
        return Answer.NO
    if isinstance(flags, str) and flags != UNKNOWN:
        flags = tuple(flags.split(","))
    if isinstance(flags, tuple):
        present = [str(one).strip().lower() for one in flags]
        return Answer.YES if flag in present else Answer.NO
    check = facts.check("accounting_store_flags")
    if flag != "job_comment" or check is None:
        return Answer.UNKNOWN
    return {Verdict.PASS: Answer.YES, Verdict.WARN: Answer.NO, Verdict.FAIL: Answer.NO}.get(
        check.verdict, Answer.UNKNOWN
    )


def _store_flags(facts: Facts, policy: Policy) -> Judged:
    name = "accounting_store_flags"
    wanted = ", ".join(policy.required_store_flags)
    answers = {flag: store_flag(facts, flag) for flag in policy.required_store_flags}
    flags = facts.setting("AccountingStoreFlags")
    if flags == UNKNOWN:
        seen = _unread(facts, name, "AccountingStoreFlags")
    else:
        seen = "AccountingStoreFlags = %s" % slurm_text(flags)
    seen += "; " + ", ".join("%s: %s" % (flag, one.value) for flag, one in answers.items())
    missing = [flag for flag, answer in answers.items() if answer is Answer.NO]
    if missing:
        remedy = (
            "Add %s to AccountingStoreFlags in slurm.conf, then scontrol reconfigure; no restart "
            "is needed. Jobs that ended before stay without it" % ", ".join(missing)
        )
        storage = facts.setting("AccountingStorageType")
        if storage is None or str(storage).endswith("/none"):
            remedy = "Set up accounting first, since without it nothing is stored. " + remedy
        return _own(name, Verdict.FAIL, seen, wanted, remedy)
    if Answer.UNKNOWN in answers.values():
        return _own(name, Verdict.UNKNOWN, seen, wanted, _by_hand("AccountingStoreFlags"))
    return _own(name, Verdict.PASS, seen, wanted)


_VERDICT_OF = {
    Answer.YES: Verdict.PASS,
    Answer.NO: Verdict.FAIL,
    Answer.UNKNOWN: Verdict.UNKNOWN,
}


def _capability(one: Support) -> Judged:
    verdict = _VERDICT_OF[one.support]
    seen = "%s = %s (%s)" % (one.name, one.support.value, one.source)
    if one.reason:
        seen += ": " + one.reason
    remedy = "" if verdict is Verdict.PASS else _capability_remedy(one)
    name = CAPABILITY_PREFIX + one.name
    return Judged(name, one.name, verdict, seen, "%s = yes" % one.name, remedy)


_AUDIT_AGAIN = "Settle what the reason names, then audit again with capability_audit_probe always"


def _capability_remedy(one: Support) -> str:
    if one.source == "declared":
        return (
            "No setting of the cluster changes this answer. Take %s out of "
            "capability_audit_required_capabilities" % one.name
        )
    if one.reason.startswith(READ_ONLY):
        return (
            "Run the audit once without check mode and with capability_audit_probe auto or always"
        )
    known = {"Hold": _hold_remedy, "AccountingHistory": _accounting_remedy}
    return known[one.name](one) if one.name in known else _AUDIT_AGAIN


def _hold_remedy(one: Support) -> str:
    if "has no known landing bound" in one.reason:
        return (
            "Set AuthType to auth/munge or auth/slurm. A reconfigure is not enough: stop every "
            "Slurm daemon and command first, change it on all hosts, then start them again"
        )
    if one.support is Answer.NO:
        return (
            "Try the step that the reason names by hand as the probe's user (scontrol update "
            "StartTime=, scontrol release); a job_submit plug-in may refuse it"
        )
    return _AUDIT_AGAIN


def _accounting_remedy(one: Support) -> str:
    if "Slurm accounting storage is disabled" in one.reason:
        return REMEDIES[FailureClass.ACCOUNTING_DISABLED]
    if "Problem talking to the database" in one.reason:
        return (
            "Bring slurmdbd and its database back (systemctl status slurmdbd on "
            "AccountingStorageHost); no change of Slurm's configuration is needed"
        )
    if "no sacct row" in one.reason:
        return (
            "See whether slurmctld reaches slurmdbd (sdiag shows a DBD agent queue that grows) and "
            "whether MinJobAge is long enough for a row to arrive, then audit again"
        )
    return "Run sacct by hand as the probe's user on the host, then audit again"

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks of a preflight: each a verdict with its evidence and a remedy. Pure.

Evidence holds nothing that moves by itself, so that two runs of one cluster say the same. Private
to the collection.
"""

from __future__ import annotations

from typing import List, Mapping, Optional, Sequence

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    Configuration,
    Controller,
    degraded,
    store_flag,
    usable,
    version_numbers,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.failures import (
    REMEDIES,
    classify,
    failure_text,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.landing import (
    CREDENTIAL_LIFETIME,
    auth_type,
    credential_lifetime,
    no_bound_reason,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    Reply,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import UNKNOWN
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.capabilities import (
    READ_ONLY,
    Support,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.verdicts import (
    Check,
    Verdict,
)

#: Name of the probe's job.
JOB_NAME = "hpcops-slurm-preflight"

#: What the collection needs on the host: Slurm's clients, and two of coreutils.
COMMANDS = ("scontrol", "squeue", "sacct", "sbatch", "scancel", "timeout", "date")

#: Releases that the collection supports, first and last.
OLDEST, NEWEST = (22, 5, 0), (26, 5, 99)

#: Seconds of MinJobAge above which slurmctld keeps many finished jobs in memory for long.
LONG_MIN_JOB_AGE = 7200

_RECONFIGURE = "in slurm.conf on every host, then scontrol reconfigure"
_RESTART = "in slurm.conf on every host, then restart slurmctld and the slurmds"


def commands(paths: Mapping[str, Optional[str]]) -> Check:
    """``paths``: each of :data:`COMMANDS` with where it was found, None where it was not."""
    missing = [name for name in COMMANDS if not paths.get(name)]
    if missing:
        return Check(
            "commands",
            Verdict.FAIL,
            "not on PATH: %s" % ", ".join(missing),
            "%s and coreutils, and put them on the task's PATH"
            % REMEDIES[FailureClass.COMMAND_MISSING],
        )
    return Check("commands", Verdict.PASS, ", ".join(str(paths[name]) for name in COMMANDS))


def configuration_source(named: Optional[str], found: Sequence[str], answered: bool) -> Check:
    """``named``: the file that SLURM_CONF or the option names; ``found``: files in usual places."""
    name = "configuration_source"
    if named:
        return Check(name, Verdict.PASS, "SLURM_CONF = %s" % named)
    if found:
        return Check(name, Verdict.PASS, found[0])
    if answered:
        return Check(name, Verdict.PASS, "no file in a usual place; scontrol found its own source")
    return Check(
        name,
        Verdict.UNKNOWN,
        "no slurm.conf in a usual place, and scontrol got no configuration",
        REMEDIES[FailureClass.NO_CONFIG_SOURCE],
    )


def controller(controllers: Sequence[Controller]) -> Check:
    """Which controllers are up."""
    name, found = "controller", tuple(controllers)
    if not found:
        return Check(
            name,
            Verdict.UNKNOWN,
            "scontrol named no controller",
            REMEDIES[FailureClass.CONTROLLER_UNREACHABLE],
        )
    words = {
        Answer.YES: "UP",
        Answer.NO: "DOWN",
        Answer.UNKNOWN: "DOWN to a ping that failed",
    }
    seen = "; ".join("%s %s is %s" % (one.role, one.host, words[one.up]) for one in found)
    answers, broken = usable(found), degraded(found)
    if answers is Answer.NO:
        remedy = REMEDIES[FailureClass.CONTROLLER_UNREACHABLE]
        return Check(name, Verdict.FAIL, seen, remedy)
    if answers is Answer.YES and broken is Answer.YES:
        remedy = "Bring the controllers that are DOWN back to service"
        return Check(name, Verdict.WARN, seen, remedy)
    if Answer.UNKNOWN in (answers, broken):
        remedy = "Run scontrol ping by hand on this host, and see why it fails"
        return Check(name, Verdict.UNKNOWN, seen, remedy)
    return Check(name, Verdict.PASS, seen)


def version(configuration: Configuration) -> Check:
    """Whether the release is one that the collection supports."""
    seen = configuration.evidence("SLURM_VERSION")
    numbers = version_numbers(configuration.text("SLURM_VERSION"))
    if numbers is None:
        return Check("version", Verdict.UNKNOWN, seen)
    if OLDEST <= numbers <= NEWEST:
        return Check("version", Verdict.PASS, seen)
    return Check(
        "version",
        Verdict.WARN,
        "%s, supported are 22.05 to 26.05" % seen,
        "Use a supported release, or look for a newer version of this collection",
    )


def environment(removed: Sequence[str]) -> Check:
    """Variables of the user that change Slurm's output or authentication."""
    if not removed:
        return Check(
            "environment", Verdict.PASS, "no variable changes Slurm's output or authentication"
        )
    return Check(
        "environment",
        Verdict.WARN,
        "set for this user: %s (kept away from the commands of this collection)"
        % ", ".join(removed),
        "Remove them from this user's login environment: other tools read other rows and columns",
    )


def live_configuration(configuration: Configuration, error: Optional[SlurmError]) -> Check:
    """Whether the listing was readable, and whether this host has the controller's slurm.conf."""
    name = "live_configuration"
    if error is not None:
        return Check(name, Verdict.FAIL, error.message, error.remedy)
    if configuration.unread:
        seen = "%d lines of another form, first: %s" % (
            len(configuration.unread),
            configuration.unread[0],
        )
        remedy = "Run scontrol show config by hand: a wrapper may stand in front of it"
        return Check(name, Verdict.WARN, seen, remedy)
    seen = "%d settings, %s" % (
        len(configuration.settings),
        configuration.evidence("HASH_VAL"),
    )
    if str(configuration.text("HASH_VAL")).startswith("Different"):
        remedy = (
            "Put the controller's slurm.conf on this host: AuthInfo decides how late writes land"
        )
        return Check(name, Verdict.WARN, seen, remedy)
    return Check(name, Verdict.PASS, seen)


def auth(configuration: Configuration) -> Check:
    """Whether AuthType has a known landing bound."""
    kind, seen = auth_type(configuration), configuration.evidence("AuthType")
    if kind == UNKNOWN:
        return Check("auth_type", Verdict.UNKNOWN, seen)
    if kind in CREDENTIAL_LIFETIME:
        return Check("auth_type", Verdict.PASS, seen)
    remedy = "Set AuthType to auth/munge or auth/slurm %s" % _RESTART
    return Check("auth_type", Verdict.FAIL, seen, remedy)


def credentials(configuration: Configuration) -> Check:
    """How long a credential is accepted."""
    name, kind, seen = (
        "credential_lifetime",
        auth_type(configuration),
        configuration.evidence("AuthInfo"),
    )
    if kind == UNKNOWN:
        return Check(name, Verdict.UNKNOWN, configuration.evidence("AuthType"))
    if kind not in CREDENTIAL_LIFETIME:
        remedy = "Set AuthType to auth/munge or auth/slurm %s" % _RESTART
        return Check(name, Verdict.FAIL, no_bound_reason(kind), remedy)
    lifetime = credential_lifetime(configuration)
    if lifetime is None:
        remedy = "Give AuthInfo a ttl of whole seconds %s" % _RESTART
        return Check(name, Verdict.UNKNOWN, seen, remedy)
    return Check(name, Verdict.PASS, "%d s (%s)" % (lifetime, seen))


def min_job_age(configuration: Configuration, poll_interval: Optional[int]) -> Check:
    """The live MinJobAge against the interval in seconds at which a supervisor polls."""
    name, seen = "min_job_age", configuration.evidence("MinJobAge")
    age = configuration.seconds("MinJobAge")
    if not isinstance(age, int):
        return Check(name, Verdict.UNKNOWN, seen)
    if poll_interval is not None and age < poll_interval:
        remedy = "Set MinJobAge to %d or more %s" % (poll_interval, _RECONFIGURE)
        return Check(name, Verdict.FAIL, "%s, polled every %d s" % (seen, poll_interval), remedy)
    if age > LONG_MIN_JOB_AGE:
        remedy = "Set MinJobAge to %d or less %s: finished jobs cost slurmctld memory" % (
            LONG_MIN_JOB_AGE,
            _RECONFIGURE,
        )
        return Check(name, Verdict.WARN, seen, remedy)
    if age <= 2:
        remedy = "Set MinJobAge to a minute or more %s" % _RECONFIGURE
        return Check(name, Verdict.WARN, "%s: how a job ended is forgotten at once" % seen, remedy)
    return Check(name, Verdict.PASS, seen)


def accounting_storage(configuration: Configuration) -> Check:
    """Whether accounting is configured."""
    name, seen = "accounting_storage", configuration.evidence("AccountingStorageType")
    kind = configuration.text("AccountingStorageType")
    if kind == UNKNOWN:
        return Check(name, Verdict.UNKNOWN, seen)
    if kind is None or kind.endswith("/none"):
        return Check(name, Verdict.WARN, seen, REMEDIES[FailureClass.ACCOUNTING_DISABLED])
    return Check(name, Verdict.PASS, seen)


def accounting_store_flags(configuration: Configuration) -> Check:
    """Whether comments are kept in accounting."""
    name, seen = "accounting_store_flags", configuration.evidence("AccountingStoreFlags")
    kept = store_flag(configuration, "job_comment")
    if kept is Answer.YES:
        return Check(name, Verdict.PASS, seen)
    if kept is Answer.UNKNOWN:
        return Check(name, Verdict.UNKNOWN, seen)
    remedy = "Add job_comment to AccountingStoreFlags %s" % _RECONFIGURE
    return Check(name, Verdict.WARN, seen, remedy)


def accounting_reachable(reply: Optional[Reply]) -> Check:
    """Whether sacct is answered; tells an outage from accounting that is off."""
    name = "accounting_reachable"
    if reply is None:
        return Check(name, Verdict.UNKNOWN, "not asked: the configuration was not read")
    # sacct asks no controller, so that a reply cut off was slurmdbd's.
    kind = FailureClass.ACCOUNTING_UNREACHABLE if reply.timed_out else classify(reply)
    if kind is FailureClass.NONE:
        return Check(name, Verdict.PASS, "sacct was answered")
    seen, remedy = failure_text(reply), REMEDIES.get(kind, "")
    if kind is FailureClass.ACCOUNTING_DISABLED:
        return Check(name, Verdict.WARN, seen, remedy)
    if kind is FailureClass.ACCOUNTING_UNREACHABLE:
        return Check(name, Verdict.FAIL, seen, remedy)
    return Check(name, Verdict.UNKNOWN, "sacct: %s" % seen, remedy)


def requeue_settings(configuration: Configuration) -> Check:
    """Settings that requeue jobs submitted with --no-requeue, against the declared answers."""
    name, broken = "requeue_settings", []
    flags = configuration.members("PrologFlags")
    parameters = configuration.members("SchedulerParameters")
    if not isinstance(flags, list) or not isinstance(parameters, list):
        seen = "%s; %s" % (
            configuration.evidence("PrologFlags"),
            configuration.evidence("SchedulerParameters"),
        )
        return Check(name, Verdict.UNKNOWN, seen)
    if "forcerequeueonfail" in (one.lower() for one in flags):
        broken.append("PrologFlags=ForceRequeueOnFail")
    if any(one.lower().startswith("requeue_on_resume_failure") for one in parameters):
        broken.append("SchedulerParameters=requeue_on_resume_failure")
    if not broken:
        return Check(name, Verdict.PASS, "nothing requeues a job submitted with --no-requeue")
    remedy = "Remove it %s: with it NativeRequeue and ReadmissionGate do not hold" % _RECONFIGURE
    return Check(name, Verdict.WARN, ", ".join(broken), remedy)


def job_submit_plugins(configuration: Configuration) -> Check:
    """Plug-ins that can refuse updates, or add text of their own to the answers."""
    name, seen = "job_submit_plugins", configuration.evidence("JobSubmitPlugins")
    plugins = configuration.members("JobSubmitPlugins")
    if not isinstance(plugins, list):
        return Check(name, Verdict.UNKNOWN, seen)
    if not plugins:
        return Check(name, Verdict.PASS, seen)
    remedy = "See that they let hold, release and requeue pass: a refusal of theirs proves nothing"
    return Check(name, Verdict.WARN, seen, remedy)


def private_data(configuration: Configuration) -> Check:
    """Whether other users' jobs are hidden."""
    name, seen = "private_data", configuration.evidence("PrivateData")
    hidden = configuration.members("PrivateData")
    if not isinstance(hidden, list):
        return Check(name, Verdict.UNKNOWN, seen)
    if "jobs" not in (one.lower() for one in hidden):
        return Check(name, Verdict.PASS, seen)
    remedy = (
        "Make this user a Slurm operator, or act on its own jobs: hidden jobs look like gone ones"
    )
    return Check(name, Verdict.WARN, seen, remedy)


def of_configuration(
    configuration: Configuration, reply: Optional[Reply], poll_interval: Optional[int]
) -> List[Check]:
    """The checks on the live settings, in the order of the design, without the clock's."""
    return [
        auth(configuration),
        credentials(configuration),
        min_job_age(configuration, poll_interval),
        accounting_storage(configuration),
        accounting_store_flags(configuration),
        accounting_reachable(reply),
        requeue_settings(configuration),
        job_submit_plugins(configuration),
        private_data(configuration),
    ]


def probe(
    job: Optional[str], hold: Support, accounting: Support, refused: bool, trouble: str
) -> Check:
    """Whether the probe ran (``job`` names it then), saw what it looked for, and left nothing.

    ``refused``: slurmctld wants no such job of this user.
    """
    name = "probe"
    if trouble:
        remedy = "Remove it by hand: scancel --user=$USER --name=%s" % JOB_NAME
        return Check(name, Verdict.FAIL, "a probe job may be left: %s" % trouble, remedy)
    if job is None and hold.reason == READ_ONLY:
        return Check(
            name, Verdict.UNKNOWN, READ_ONLY, "Run once with probe: auto, not in check mode"
        )
    if job is None and refused:
        remedy = "See that this user may submit a job of one task (partition, account, qos)"
        return Check(name, Verdict.FAIL, hold.reason, remedy)
    if job is None:
        return Check(name, Verdict.UNKNOWN, "there was no probe: %s" % hold.reason, "Run again")
    unseen = [one.reason for one in (hold, accounting) if one.passing]
    if unseen:
        return Check(name, Verdict.UNKNOWN, "%s: %s" % (job, "; ".join(unseen)), "Run again")
    return Check(name, Verdict.PASS, job)

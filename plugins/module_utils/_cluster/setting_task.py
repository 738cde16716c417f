# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Change settings in slurm.conf, and see that the running controller uses them.

All or nothing: the new text is read by Slurm's own parser before any file is touched, and what was
written is taken back when the controller does not come to use it. Private to the collection.
"""

from __future__ import annotations

import contextlib
import difflib
import fcntl
import os
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Mapping, Optional, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.conf_files import (
    Edit,
    Plan,
    plan,
    read_text,
    read_tree,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    LISTS,
    VOLATILE,
    Configuration,
    read_configuration,
    require_source,
    version_numbers,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.failures import (
    classify,
    failure_text,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    PASSING,
    Answer,
    FailureClass,
    Reply,
    SlurmError,
    printable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import UNKNOWN
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.wishes import (
    READ_AGAIN,
    Wish,
    restart_needed,
    shown_value,
    way_to_apply,
)

#: What show config lists and slurm.conf does not set, or not by one value, or what no reconfigure
#: changes (scontrol(1)).
NOT_SETTABLE = frozenset(
    (*VOLATILE, "SLURM_CONF", "SLURM_VERSION", "SlurmctldHost", "ClusterName")
    + ("SlurmctldPort", "SlurmdPort")
)

#: Seconds between two looks at the controller after a reconfigure, and for how long one that has
#: read the file may still show an old value.
PAUSE, PATIENCE = 0.5, 5.0


@dataclass(frozen=True)
class Host:
    """What the task is given of this host.

    ``parse`` lets Slurm read a text as its slurm.conf, and asks no controller. ``store`` replaces a
    file in one step and keeps its owner and mode, ``keep`` copies one and returns the copy's path;
    both raise OSError. ``names`` are the host's own.
    """

    run: Run
    parse: Callable[[str], Reply]
    store: Callable[[str, str], None]
    keep: Callable[[str], str]
    environment: Mapping[str, str]
    names: FrozenSet[str]
    clock: Callable[[], float]
    sleep: Callable[[float], None]


@dataclass(frozen=True)
class Order:
    """What is asked for. ``patience`` in seconds is how long the controller may take.

    ``pending``: changes of slurm.conf that others made, and the controller has not read, may take
    effect as well.
    """

    settings: Tuple[Mapping[str, Any], ...]
    pending: bool
    backup: bool
    predict: bool
    patience: float


@dataclass
class Work:
    """What is known and done so far."""

    live: Configuration
    wishes: Tuple[Wish, ...]
    plan: Plan
    backups: List[str] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)
    reconfigured: bool = False
    after: Optional[Configuration] = None

    @property
    def version(self) -> Optional[Tuple[int, int, int]]:
        """Numbers of the Slurm release."""
        return version_numbers(self.live.text("SLURM_VERSION"))

    @property
    def unread(self) -> bool:
        """Whether this host's slurm.conf is another than the one that the controller has read."""
        return _differs(self.live)


def _differs(configuration: Configuration) -> bool:
    return str(configuration.text("HASH_VAL")).startswith("Different")


def change_settings(host: Host, order: Order) -> Dict[str, Any]:
    """Do it; the module's result. Raises :class:`SlurmError`."""
    require_source(host.environment)
    live = read_configuration(host.run)
    wishes = tuple(_wish(live, one) for one in order.settings)
    path = _source(live, host)
    version = version_numbers(live.text("SLURM_VERSION"))
    shown = tuple((one, shown_value(live, one.key)) for one in wishes)
    planned = plan(read_tree(path, version), version, shown)
    work = Work(live, wishes, planned)
    work.warnings.extend(_doubles(planned))
    needed = bool(planned.changed_files) or (work.unread and bool(_unmet(work, live)))
    if work.unread and not order.pending:
        if needed:
            raise _others_changed(path, live)
        work.warnings.append("%s was changed since slurmctld read it" % path)
    if needed and not order.predict:
        with _alone(planned.before.real):
            _carry_out(host, order, work)
    elif needed:
        _check_candidate(host, work)
    else:
        _see_that_it_counts(work)
    return _result(work, needed)


# What is asked for


def _wish(live: Configuration, setting: Mapping[str, Any]) -> Wish:
    name = setting["name"]
    spelt = {key.lower(): key for key in live.settings if key not in NOT_SETTABLE}
    key = spelt.get(name.lower())
    if key is None:
        raise SlurmError(
            "%s is no setting that this controller lists and that one line of slurm.conf sets"
            % name,
            FailureClass.UNCLASSIFIED,
            remedy="See scontrol show config for the names; Slurm does not start with a wrong one",
        )
    members = tuple(setting.get("members") or ())
    if members and key not in LISTS:
        raise SlurmError(
            "%s is not a list, so nothing can be added to it" % key, FailureClass.UNCLASSIFIED
        )
    part = setting.get("part") or ""
    return Wish(key, members, part, setting.get("at_least"), setting.get("at_most"))


def _source(live: Configuration, host: Host) -> str:
    """The slurm.conf that the running controller reads, which has to be a file of this host."""
    controllers = live.members("SlurmctldHost")
    listed = controllers if isinstance(controllers, list) else []
    path = live.text("SLURM_CONF") or UNKNOWN
    named = host.environment.get("SLURM_CONF")
    if not _is_controller(live, listed, host.names):
        raise _elsewhere(live, listed, os.path.exists(named or path))
    if not path.startswith("/") or not os.path.isfile(path):
        raise SlurmError(
            "slurmctld says that it reads %s, and there is no such file here" % printable(path),
            FailureClass.NO_CONFIG_SOURCE,
            remedy="Nothing was changed. See with which file slurmctld was started (its option -f)",
        )
    if named and os.path.realpath(named) != os.path.realpath(path):
        raise SlurmError(
            "SLURM_CONF names %s, and slurmctld reads %s" % (named, path),
            FailureClass.NO_CONFIG_SOURCE,
            remedy="Nothing was changed. Leave SLURM_CONF and slurm_conf out, or name that file",
        )
    return path


def _is_controller(live: Configuration, listed: List[str], names: FrozenSet[str]) -> bool:
    """Whether slurmctld is a program of this host, by a controller's name or by its pid file."""
    if any(_same_host(one.partition("(")[0], name) for one in listed for name in names):
        return True
    try:
        with open(live.text("SlurmctldPidFile") or "", encoding="ascii") as stream:
            number = int(stream.read(32))
        with open("/proc/%d/comm" % number, encoding="utf-8") as stream:
            return stream.read(64).startswith("slurmctld")
    except (OSError, ValueError):
        return False


def _same_host(one: str, other: str) -> bool:
    """Whether two host names can be the same: a short one is any domain's."""
    first, second = one.lower(), other.lower()
    if "." in first and "." in second:
        return first == second
    return first.partition(".")[0] == second.partition(".")[0]


def _elsewhere(live: Configuration, listed: List[str], has_file: bool) -> SlurmError:
    parameters = live.members("SlurmctldParameters")
    configless = isinstance(parameters, list) and "enable_configless" in (
        one.lower() for one in parameters
    )
    why = "slurmctld reads the one on its own host"
    if configless and not has_file:
        why = "it has none of its own, but gets it from slurmctld (configless)"
    hosts = ", ".join(one.partition("(")[0] for one in listed) or "the one that runs slurmctld"
    return SlurmError(
        "This host is no place to change the cluster's slurm.conf: %s" % why,
        FailureClass.NO_CONFIG_SOURCE,
        remedy="Nothing was changed. Run this on the controller's host: %s" % printable(hosts),
        evidence={"controller_hosts": [printable(one.partition("(")[0]) for one in listed]},
    )


def _others_changed(path: str, live: Configuration) -> SlurmError:
    return SlurmError(
        "%s was changed since slurmctld read it (%s), and a reconfigure would make that count too"
        % (path, live.evidence("HASH_VAL")),
        FailureClass.UNCLASSIFIED,
        remedy="Nothing was changed. See what it is and run scontrol reconfigure by hand, or set"
        " apply_pending",
    )


def _doubles(planned: Plan) -> List[str]:
    return [
        "%s is set more than once; Slurm takes the last, %s:%d, and passes over %s"
        % (one.wish.key, one.path, one.line, ", ".join(one.others))
        for one in planned.edits
        if one.others
    ]


def _unmet(work: Work, configuration: Configuration) -> List[Wish]:
    """Wishes that a running controller does not fulfil."""
    return [one for one in work.wishes if not one.met_by(shown_value(configuration, one.key))]


# Doing it


@contextlib.contextmanager
def _alone(path: str) -> Iterator[None]:
    """Keep other runs of this task away; the kernel drops the lock when the process dies."""
    handle = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SlurmError(
                "Another run is changing %s right now" % path,
                FailureClass.UNCLASSIFIED,
                remedy="Nothing was changed. Run again when it has ended",
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(handle)


def _check_candidate(host: Host, work: Work) -> None:
    """Let Slurm read the text as it is going to be."""
    reply = host.parse(work.plan.after.flat())
    if reply.status != 0 or reply.timed_out:
        raise SlurmError(
            "Slurm's own parser refuses the changed slurm.conf: %s" % failure_text(reply),
            FailureClass.UNCLASSIFIED,
            remedy="Nothing was changed. Try scontrol show hostnames n1 with SLURM_CONF set to the"
            " file, and correct what it names",
            reply=reply,
        )


def _see_that_it_counts(work: Work) -> None:
    """Raise where the files say what is wished, and the controller that has read them does not."""
    ignored = [one for one in _unmet(work, work.live) if _counts(one)]
    if ignored:
        shown = "; ".join(work.live.evidence(one.key) for one in ignored)
        raise SlurmError(
            "slurm.conf already says so, and slurmctld does not take the value (%s)" % shown,
            FailureClass.UNCLASSIFIED,
            remedy="Nothing was changed. See slurm.conf(5) for what the key may have",
        )


def _carry_out(host: Host, order: Order, work: Work) -> None:
    _check_candidate(host, work)
    _write(host, order, work)
    reply = host.run("scontrol", "reconfigure")
    work.reconfigured = True
    after = _await(host, order, work, reply)
    work.after = after
    missing = [] if after is None else [one for one in _unmet(work, after) if _counts(one)]
    if after is not None and not missing and not _differs(after):
        if reply.status != 0:
            said = failure_text(reply)
            work.warnings.append("scontrol reconfigure failed, but all is in effect: %s" % said)
        return
    raise _taken_back(host, work, reply, missing)


def _counts(wish: Wish) -> bool:
    """Whether a reconfigure is known to be enough for this key."""
    return wish.key in READ_AGAIN


def _write(host: Host, order: Order, work: Work) -> None:
    before, after = work.plan.before.texts, work.plan.after.texts
    written: List[str] = []
    try:
        for path in work.plan.changed_files:
            if read_text(path) != before[path]:
                raise OSError("it has just been changed by somebody else")
            if not os.access(os.path.dirname(path), os.W_OK):
                raise PermissionError("this user may not write in the folder of %s" % path)
            if order.backup:
                work.backups.append(host.keep(path))
            host.store(path, after[path])
            written.append(path)
    except (OSError, SlurmError) as error:
        for path in written:
            host.store(path, before[path])
        raise SlurmError(
            "slurm.conf could not be written: %s" % error,
            FailureClass.PERMISSION_DENIED
            if isinstance(error, PermissionError)
            else FailureClass.UNCLASSIFIED,
            remedy="Nothing was changed. Run this as a user who may write it, such as root",
        ) from error


def _await(host: Host, order: Order, work: Work, reply: Reply) -> Optional[Configuration]:
    """What the controller has, as soon as that is as wished; the last answer; None without one.

    A reconfigure whose answer did not come may still be under way, so that one is waited for.
    """
    waits = {"done": PATIENCE, "refused": 0.0, "open": order.patience}
    patience = waits[_how_it_went(reply)]
    began, answered = host.clock(), None
    last: Optional[Configuration] = None
    while True:
        with contextlib.suppress(SlurmError):
            last = read_configuration(host.run)
            if not _differs(last) and not [one for one in _unmet(work, last) if _counts(one)]:
                return last
            answered = host.clock() if answered is None else answered
        now = host.clock()
        if answered is not None and now - answered >= patience:
            return last
        if now - began >= order.patience:
            return last
        host.sleep(PAUSE)


def _how_it_went(reply: Reply) -> str:
    if reply.status == 0:
        return "done"
    return "open" if classify(reply) in PASSING else "refused"


def _taken_back(host: Host, work: Work, reply: Reply, missing: List[Wish]) -> SlurmError:
    """Put the files back, and let the controller read them again."""
    before = work.plan.before.texts
    failed = []
    for path in work.plan.changed_files:
        try:
            host.store(path, before[path])
        except OSError as error:
            failed.append("%s: %s" % (path, error))
    again = host.run("scontrol", "reconfigure")
    state = _state_now(host, again)
    if failed:
        state = "COULD NOT BE PUT BACK (%s); %s" % ("; ".join(failed), state)
    else:
        state = "the files are as they were; %s" % state
    why = _why(work, reply, missing)
    return SlurmError(
        "%s. %s%s" % (why, state[0].upper(), state[1:]),
        FailureClass.UNCLASSIFIED,
        remedy="See slurmctld's log",
        reply=reply,
        evidence={"rolled_back": not failed, "backup_files": list(work.backups)},
    )


def _state_now(host: Host, again: Reply) -> str:
    try:
        now = read_configuration(host.run)
    except SlurmError as error:
        return "slurmctld does not answer: start it on its host (%s)" % error.message
    if again.status != 0 or _differs(now):
        return "slurmctld answers, but has not read them again (%s)" % failure_text(again)
    return "slurmctld has read them again"


def _why(work: Work, reply: Reply, missing: List[Wish]) -> str:
    if reply.status != 0 or reply.timed_out:
        return "scontrol reconfigure failed: %s" % failure_text(reply)
    if work.after is None:
        return "slurmctld does not answer after the reconfigure"
    if _differs(work.after):
        return "slurmctld has not read slurm.conf (%s)" % work.after.evidence("HASH_VAL")
    shown = "; ".join(work.after.evidence(one.key) for one in missing)
    return "slurmctld has read slurm.conf, and does not take the value (%s)" % shown


# What is told


def _result(work: Work, changed: bool) -> Dict[str, Any]:
    entries = [_entry(work, edit) for edit in work.plan.edits]
    for one in entries:
        if one["restart_needed"] == Answer.YES.value:
            work.warnings.append(
                "%s: restart slurmctld and the slurmds, until then the old value counts there"
                % one["name"]
            )
    return {
        "changed": changed,
        "settings": entries,
        "reconfigured": work.reconfigured,
        "backup_files": [printable(one) for one in work.backups],
        "warnings": [printable(one) for one in work.warnings],
        "diff": [{"prepared": printable(one)} for one in _diffs(work.plan)],
    }


def _entry(work: Work, edit: Edit) -> Dict[str, Any]:
    key, value = edit.wish.key, edit.after
    shown = shown_value(work.live if work.after is None else work.after, key)
    text = value if value is not None else shown
    return {
        "name": key,
        "file": printable(edit.path),
        "line": edit.line or None,
        "before": None if edit.before is None else printable(edit.before),
        "after": None if value is None else printable(value),
        "conf_line": None if text is None else printable("%s=%s" % (key, text)),
        "live_before": _printable(shown_value(work.live, key)),
        "live": _printable(shown),
        "restart_needed": _restart(work, edit, shown).value,
        "apply": way_to_apply(key, work.version, work.live.text("AuthType")),
    }


def _printable(text: Optional[str]) -> Optional[str]:
    return None if text is None else printable(text)


def _restart(work: Work, edit: Edit, shown: Optional[str]) -> Answer:
    """Whether daemons have to be restarted before the setting counts for all of them.

    That the controller shows a value proves it only for keys that are known.
    """
    key, counts = edit.wish.key, _counts(edit.wish)
    done = work.after is not None or not edit.changes
    if done and not counts and not edit.wish.met_by(shown):
        return Answer.YES
    needed = restart_needed(key, work.version)
    if counts and not needed:
        return Answer.NO
    if edit.changes:
        return Answer.YES if needed else Answer.UNKNOWN
    boot = work.live.value("BOOT_TIME")
    if edit.before is None or (isinstance(boot, int) and os.stat(edit.path).st_mtime < boot):
        return Answer.NO
    return Answer.UNKNOWN  # the file was written after slurmctld began


def _diffs(planned: Plan) -> List[str]:
    """What changes in each file, without the lines around it: they may hold passwords."""
    found = []
    for path in planned.changed_files:
        before, after = planned.before.texts[path], planned.after.texts[path]
        lines = difflib.unified_diff(
            before.splitlines(), after.splitlines(), path, path, n=0, lineterm=""
        )
        found.append("\n".join(lines) + "\n")
    return found

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The running controller's configuration, read from ``scontrol show config``.

Only the live values count: slurm.conf may say ``MinJobAge=0`` where slurmctld uses 2 s. The text
form exists on every release and is the one read. Private to the collection.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.failures import (
    as_error,
    classify,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    FailureClass,
    Reply,
    SlurmError,
    printable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import (
    INFINITE,
    UNKNOWN,
    clock_seconds,
    comma_list,
)

#: Keys that move by themselves; HASH_VAL depends on the host that asks.
VOLATILE = ("BOOT_TIME", "NEXT_JOB_ID", "HASH_VAL")

#: Keys whose value is a comma-separated list (slurm.conf(5)).
LISTS = frozenset(
    """AccountingStorageEnforce AccountingStorageTRES AccountingStoreFlags AuthAltParameters
    AuthAltTypes BcastExclude BcastParameters CliFilterParameters CliFilterPlugins
    CommunicationParameters CpuFreqGovernors DataParserParameters DebugFlags DependencyParameters
    FederationParameters GresTypes JobAcctGatherParams JobCompParams JobDefaults JobSubmitPlugins
    LaunchParameters LicenseParameters Licenses MCSParameters MetricsParameters
    NodeFeaturesPlugins PreemptMode PreemptParameters PrEpParameters PrEpPlugins
    PriorityFlags PriorityParameters PrioritySiteFactorParameters PriorityWeightTRES PrivateData
    PrologFlags PropagateResourceLimits PropagateResourceLimitsExcept ReconfigFlags RequeueExit
    RequeueExitHold SchedulerParameters ScronParameters SelectTypeParameters SlurmctldAddr
    SlurmctldHttpAuthParameters SlurmctldParameters SlurmdHttpAuthParameters SlurmdParameters
    SuspendExcNodes SuspendExcParts SuspendExcStates SwitchParameters TaskPlugin TaskPluginParam
    TLSParameters TopologyParam X11Parameters""".split()
)

#: Keys whose value is a name, whatever it looks like: a cluster may be called 1234.
NAMES = frozenset(("ClusterName", "SLURM_VERSION", "HASH_VAL", "JobCompPass", "JobCompLoc"))

_UNSET = frozenset(("(null)", "(none)", "(null type)", "N/A"))
_NO_LIMIT = frozenset(("UNLIMITED", "INFINITE"))
_EMPTY_LIST = frozenset(("", "none", "NONE"))
#: What the words behind a number count: seconds, and things that are no time (read_config.c and
#: proc_msg.c write no others).
_UNITS = {"sec": 1, "min": 60, "percent": 1, "nodes/min": 1}

_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[(\d+)\])?\s*= ?(.*)\Z", re.ASCII)
_HEADER = re.compile(r"Configuration data as of (.*)\Z")
_SECTION = re.compile(r"([^=]*\S)\s*:\Z")
_PING = re.compile(r"Slurmctld\(([^()\s]+)\) at (\S+) is (UP|DOWN)\Z")
_NUMBER = re.compile(r"-?\d{1,19}\Z", re.ASCII)
_FRACTION = re.compile(r"\d{1,15}\.\d{1,15}\Z", re.ASCII)
_NUMBER_AND_UNIT = re.compile(r"(\d{1,19}) ([a-z/]+)\Z", re.ASCII)
#: As secs2time_str() writes it, always whole: ``0-0`` is a range of ports.
_CLOCK = re.compile(r"(?:\d{1,9}-)?\d{2,9}:\d\d:\d\d\Z", re.ASCII)

Value = Union[int, float, str, None, List[str]]


@dataclass(frozen=True)
class Setting:
    """One line of the configuration: Slurm's own text, and its typed value.

    ``value`` is an int (seconds, for durations), a float, a text, a list, None (unset),
    "infinite", or "unknown" (the lines contradict each other, or Slurm itself says so).
    """

    raw: str
    value: Value


@dataclass(frozen=True)
class Controller:
    """One line of ``scontrol ping``: role (primary, backup, backup1 …), host, and if it is up."""

    role: str
    host: str
    up: Answer

    def as_fact(self) -> Dict[str, str]:
        """The controller as JSON-safe values."""
        return {"role": self.role, "host": printable(self.host), "up": self.up.value}


@dataclass(frozen=True)
class Configuration:
    """What ``scontrol show config`` said.

    ``as_of`` is slurmctld's own clock in epoch seconds (whole ones), None if it was not readable.
    ``sections`` has the settings below a title line (plugins' own), apart from the main ones.
    ``unread`` are lines that have no known form.
    """

    as_of: Optional[int]
    settings: Mapping[str, Setting] = field(default_factory=dict)
    sections: Mapping[str, Mapping[str, Setting]] = field(default_factory=dict)
    controllers: Tuple[Controller, ...] = ()
    unread: Tuple[str, ...] = ()

    def value(self, key: str) -> Value:
        """Typed value of a key, "unknown" when there was no such line."""
        setting = self.settings.get(key)
        return UNKNOWN if setting is None else setting.value

    def text(self, key: str) -> Optional[str]:
        """Value of a key as text, None when unset, "unknown" when there was no such line."""
        value = self.value(key)
        if value is None or isinstance(value, str):
            return value
        return self.settings[key].raw

    def seconds(self, key: str) -> Union[int, str, None]:
        """Whole seconds of a key; None (unset), "infinite"; "unknown" for anything else."""
        value = self.value(key)
        if value is None or value == INFINITE or (isinstance(value, int) and value >= 0):
            return value
        return UNKNOWN

    def members(self, key: str) -> Union[List[str], str]:
        """Members of a list key, "unknown" when there was no such line."""
        value = self.value(key)
        if value is None:
            return []
        return value if isinstance(value, list) else UNKNOWN

    def evidence(self, key: str) -> str:
        """The line that was read, in one fixed form, or that there was none."""
        setting = self.settings.get(key)
        return "no line %s" % key if setting is None else "%s = %s" % (key, setting.raw)


def typed(key: str, raw: str) -> Value:
    """The value that a text stands for.

    Durations with a unit or in clock form become seconds, ``usec`` a fraction of one, other units
    (``nodes/min``, ``percent``) the bare number.
    """
    text = raw.strip()
    if text in _UNSET:
        return [] if key in LISTS else None
    if key in NAMES:
        return text
    if key in LISTS:
        return [] if text in _EMPTY_LIST else comma_list(text)
    if text in _NO_LIMIT:
        return INFINITE
    if text == "Unknown":
        return UNKNOWN
    return int(text) if _NUMBER.match(text) else _measure(text)


def _measure(text: str) -> Value:
    with_unit = _NUMBER_AND_UNIT.match(text)
    if with_unit:
        number, unit = int(with_unit.group(1)), with_unit.group(2)
        if unit == "usec":
            return number / 1000000
        # A unit that nobody knows is no number of seconds.
        return number * _UNITS[unit] if unit in _UNITS else text
    if _FRACTION.match(text):
        return float(text)
    return clock_seconds(text) if _CLOCK.match(text) else text


def parse_controllers(text: str) -> Tuple[Controller, ...]:
    """The controllers of ``scontrol ping``, in its order; lines of other forms are skipped."""
    found = []
    for line in text.split("\n"):
        match = _PING.match(line.strip())
        if match:
            up = Answer.YES if match.group(3) == "UP" else Answer.NO
            found.append(Controller(match.group(1), match.group(2), up))
    return tuple(found)


def usable(controllers: Tuple[Controller, ...]) -> Answer:
    """Whether any controller is up; unknown when none was listed, or none is known to be."""
    ups = {one.up for one in controllers}
    if Answer.YES in ups:
        return Answer.YES
    return Answer.NO if ups == {Answer.NO} else Answer.UNKNOWN


def degraded(controllers: Tuple[Controller, ...]) -> Answer:
    """Whether any controller is down; unknown when none was listed, or one is not known to be."""
    ups = {one.up for one in controllers}
    if Answer.NO in ups:
        return Answer.YES
    return Answer.NO if ups == {Answer.YES} else Answer.UNKNOWN


def parse_configuration(text: str) -> Configuration:
    """Read the output of ``scontrol show config``.

    Raises :class:`SlurmError` (output_unreadable) when no line is the header of that output.
    """
    lines = text.split("\n")
    start = next((i for i, line in enumerate(lines) if _HEADER.match(line)), None)
    if start is None:
        raise SlurmError(
            "The output of scontrol show config has no line «Configuration data as of …»",
            FailureClass.OUTPUT_UNREADABLE,
            remedy="Run scontrol show config by hand: a wrapper may stand in front of it",
            evidence={"stdout": printable(text[:2000])},
        )
    header = _HEADER.match(lines[start])
    stamp = header.group(1) if header else ""
    reader = _Reader(unread=[line for line in lines[:start] if line.strip()])
    for line in lines[start + 1 :]:
        reader.take(line)
    return Configuration(
        as_of=int(stamp) if re.match(r"\d{9,11}\Z", stamp, re.ASCII) else None,
        settings=reader.main,
        sections=reader.sections,
        controllers=_consistent(parse_controllers(text)),
        unread=tuple(reader.unread),
    )


def _consistent(controllers: Tuple[Controller, ...]) -> Tuple[Controller, ...]:
    """The controllers that the ping at the end of a listing names.

    One of them has just given the listing, so when all are DOWN the ping failed for another reason
    (a credential that ran out, a controller that was slow) and tells nothing.
    """
    return _doubted(controllers) if usable(controllers) is Answer.NO else controllers


def _doubted(controllers: Tuple[Controller, ...]) -> Tuple[Controller, ...]:
    return tuple(
        replace(one, up=Answer.UNKNOWN) if one.up is Answer.NO else one for one in controllers
    )


@dataclass
class _Reader:
    """Sorts lines into the main settings, sections, and what has no known form."""

    unread: List[str]
    main: Dict[str, Setting] = field(default_factory=dict)
    sections: Dict[str, Dict[str, Setting]] = field(default_factory=dict)
    current: Optional[Dict[str, Setting]] = None

    def take(self, line: str) -> None:
        if not line.strip() or _PING.match(line.strip()) or line.startswith("**"):
            return
        setting = _SETTING.match(line)
        title = _SECTION.match(line)
        if setting:
            self._add(*setting.groups())
        elif title:
            self.current = self.sections.setdefault(title.group(1), {})
        else:
            self.unread.append(line)

    def _add(self, key: str, index: Optional[str], raw: str) -> None:
        target = self.main if self.current is None else self.current
        raw = raw.rstrip()
        known = target.get(key)
        if index is not None:
            before = [] if known is None or not isinstance(known.value, list) else known.value
            shown = raw if known is None else "%s,%s" % (known.raw, raw)
            target[key] = Setting(shown, before + ([] if raw in _UNSET else [raw]))
        elif known is not None and known.raw != raw:
            target[key] = Setting("%s, and also %s" % (known.raw, raw), UNKNOWN)
        else:
            target[key] = Setting(raw, typed(key, raw))


def store_flag(configuration: Configuration, flag: str) -> Answer:
    """Whether AccountingStoreFlags lists a flag, in any letter case.

    Releases before 21.08 wrote AccountingStoreJobComment = Yes or No instead. Without either line
    the answer is unknown.
    """
    if "AccountingStoreFlags" in configuration.settings:
        flags = configuration.members("AccountingStoreFlags")
        if not isinstance(flags, list):
            return Answer.UNKNOWN
        return Answer.YES if flag.lower() in (one.lower() for one in flags) else Answer.NO
    old = configuration.settings.get("AccountingStoreJobComment")
    if flag.lower() == "job_comment" and old is not None:
        return {"yes": Answer.YES, "no": Answer.NO}.get(old.raw.lower(), Answer.UNKNOWN)
    return Answer.UNKNOWN


def version_numbers(text: Optional[str]) -> Optional[Tuple[int, int, int]]:
    """The three numbers of a Slurm version (``25.11.8-0pre1`` too), None if there are none."""
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", text or "", re.ASCII)
    if not match:
        return None
    major, minor, micro = (int(part) for part in match.groups())
    return major, minor, micro


def read_configuration(run: Run) -> Configuration:
    """Ask the running controller for its configuration.

    Exit status 1 with a complete listing is accepted: scontrol ends so when only the ping at the
    end of the listing fails. Raises :class:`SlurmError` when there is no listing.
    """
    reply: Reply = run("scontrol", "show", "config")
    listed = not reply.timed_out and any(_HEADER.match(line) for line in reply.out.split("\n"))
    if reply.status not in (0, 1) or not (listed or reply.status == 0):
        raise as_error(reply, "read the configuration of the running controller")
    try:
        return parse_configuration(reply.out)
    except SlurmError as error:
        error.reply = reply
        raise


def read_controllers(run: Run) -> Tuple[Controller, ...]:
    """The controllers and whether each is up, from ``scontrol ping`` (exit status 1: none is).

    A ping that this host could not authenticate says DOWN as well, and proves nothing.
    """
    reply: Reply = run("scontrol", "ping")
    if reply.timed_out or reply.not_started:
        return ()
    found = parse_controllers(reply.out)
    # A status of 1 alone is no failure here, so that only the texts count.
    unheard = classify(replace(reply, status=1)) is FailureClass.AUTHENTICATION_FAILED
    return _doubted(found) if unheard else found


def require_source(environment: Mapping[str, str]) -> None:
    """Raise :class:`SlurmError` when SLURM_CONF names no file: scontrol waits a minute for it."""
    named = environment.get("SLURM_CONF")
    if named and not os.path.isfile(named):
        raise SlurmError(
            "SLURM_CONF names %s, and there is no such file" % named,
            FailureClass.NO_CONFIG_SOURCE,
            remedy="Name a slurm.conf that exists, or leave SLURM_CONF and slurm_conf out",
        )


def as_result(configuration: Configuration) -> Dict[str, Any]:
    """The result of the module config_info, JSON-safe."""
    main = configuration.settings
    lasting = {key: setting for key, setting in main.items() if key not in VOLATILE}
    return {
        "settings": _typed_values(lasting),
        "raw": {key: printable(setting.raw) for key, setting in lasting.items()},
        "volatile": _typed_values({key: main[key] for key in VOLATILE if key in main}),
        "sections": {
            printable(title): _typed_values(settings)
            for title, settings in configuration.sections.items()
        },
        "as_of": configuration.as_of,
        "controllers": [one.as_fact() for one in configuration.controllers],
        "unread": [printable(line) for line in configuration.unread],
    }


def _typed_values(settings: Mapping[str, Setting]) -> Dict[str, Any]:
    return {key: json_safe(setting.value) for key, setting in settings.items()}


def json_safe(value: Value) -> Value:
    """A typed value whose texts can be encoded."""
    if isinstance(value, list):
        return [printable(one) for one in value]
    return printable(value) if isinstance(value, str) else value

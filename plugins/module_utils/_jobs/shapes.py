# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a row of squeue to the values of a result, fast: queues hold tens of thousands of jobs.

Only the columns behind the values that are wanted are asked for, and what a text means is worked
out once, not once a row. Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Callable, Dict, List, Mapping, Sequence, Set, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs import fields, hold
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.causes import (
    Window,
    cause_of,
    coarse_after_loss,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.exits import parse_exit_code
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import (
    FIELDS,
    address,
    comment_or_none,
    name_or_empty,
    only_task,
    read_ids,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import CHOSEN_BY
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import (
    Base,
    Coarse,
    parse_state,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.submission import parse_comment

#: Texts of one column whose meaning is remembered at the same time.
REMEMBERED = 4096

Values = Tuple[Any, ...]
Read = Callable[..., Values]


@dataclass(frozen=True)
class _Part:
    """Values of a result that come from the same columns. ``read`` takes the columns' texts."""

    columns: Tuple[str, ...]
    names: Tuple[str, ...]
    read: Read


def _one(column: str, name: str, read: Callable[[str], Any]) -> _Part:
    return _Part((column,), (name,), lambda text: (fields.plain(read(text)),))


def _ids(*texts: str) -> Values:
    job, array, spans, leader, offset = read_ids(*texts)
    task = only_task(spans)
    return address(job, array, task, leader, offset), job, array, task, leader, offset


def _state(text: str) -> Values:
    return tuple(parse_state(text).as_result().values())


def _cause(state: str, reason: str) -> Values:
    return (fields.plain(cause_of(parse_state(state), reason)),)


def _gate(state: str, priority: str, reason: str) -> Values:
    closed = hold.gate_closed(parse_state(state), fields.number(priority))
    return fields.plain(closed), fields.plain(hold.hold_kind(closed, reason))


def _begin(text: str) -> Values:
    moment = fields.moment(text)
    return moment, fields.plain(hold.decode_hold(moment))


def _restarts(text: str) -> Values:
    restarts = fields.number(text)
    return restarts, [] if restarts == 0 else None


def _comment(text: str) -> Values:
    comment = comment_or_none(text)
    found = parse_comment(comment)
    named = (None, None) if found is None else (fields.plain(found.submission), found.attempt)
    return (fields.plain(comment), *named)


IDS = ("job_id", "raw_id", "array_job_id", "array_task_id", "het_job_id", "het_offset")
STATES = tuple(parse_state("PENDING").as_result())
_PARTS = (
    _Part(FIELDS[:5], IDS, _ids),
    _Part(("State",), STATES, _state),
    _Part(("State", "Reason"), ("cause",), _cause),
    _Part(("State", "PriorityLong", "Reason"), ("gate", "hold_kind"), _gate),
    _one("Reason", "reason", str),
    _Part(("EligibleTime",), ("eligible_time", "hold_instance"), _begin),
    _one("StartTime", "start_time", fields.moment),
    _one("EndTime", "end_time", fields.moment),
    _one("SubmitTime", "submit_time", fields.moment),
    _one("Requeue", "requeue", fields.flag),
    _Part(("RestartCnt",), ("restarts", "earlier_executions"), _restarts),
    _one("PriorityLong", "priority", fields.number),
    _one("Nice", "nice", fields.number),
    _one("exit_code", "exit_code", parse_exit_code),
    _one("BatchFlag", "batch", fields.flag),
    _one("TimeLimit", "time_limit", fields.limit),
    _one("UserName", "user", str),
    _one("Account", "account", name_or_empty),
    _one("Partition", "partition", str),
    _one("QOS", "qos", name_or_empty),
    _one("Reservation", "reservation", name_or_empty),
    _one("NodeList", "node_list", str),
    _one("Name", "name", str),
    _Part(("Comment",), ("comment", "submission", "attempt"), _comment),
    # Every row has these; the columns are those of the ids.
    _Part(("JobID",), ("source", "cancelled_by"), lambda _text: ("slurmctld", None)),
)
#: The values of a result, by which some of them can be asked for.
NAMES = tuple(name for part in _PARTS for name in part.names)
#: What changes while the node-loss window of an execution is open.
_LOST = ("coarse_state", "live")


class _Remembered(Dict[Any, Values]):
    """What the texts of some columns mean, by the text or the tuple of them."""

    def __init__(self, part: _Part, names: Set[str]) -> None:
        super().__init__()
        self._part = part
        self._chosen = [number for number, name in enumerate(part.names) if name in names]

    def __missing__(self, key: Any) -> Values:
        if len(self) >= REMEMBERED:
            self.clear()
        read = self._part.read
        values = read(key) if len(self._part.columns) == 1 else read(*key)
        made = self[key] = tuple(values[number] for number in self._chosen)
        return made


class Shape:
    """Which values a result has of each job, and which columns squeue is asked for.

    ``names`` are some of :data:`NAMES`, all if empty; ``job_id`` is always there. ``columns`` and
    ``names`` are in the order of a row and of its values. ``warnings`` collects what was not
    understood of a state.
    """

    def __init__(self, names: Sequence[str], window: Window) -> None:
        wanted = {"job_id", *(names or NAMES)}
        parts = [part for part in _PARTS if wanted.intersection(part.names)]
        needed = {*FIELDS[:5], *CHOSEN_BY, *(column for part in parts for column in part.columns)}
        if wanted.intersection(_LOST):
            needed.add("EndTime")
        self.columns = tuple(column for column in FIELDS if column in needed)
        self.names = tuple(name for part in parts for name in part.names if name in wanted)
        self._parts = parts
        self._wanted = wanted
        self._window = window
        self.warnings: Dict[str, None] = {}

    def reader(self, columns: Sequence[str]) -> Callable[[Sequence[str]], List[Any]]:
        """What makes the values of a row with these columns.

        It raises ValueError when a row's ids are none.
        """
        texts = [
            (
                itemgetter(*(columns.index(column) for column in part.columns)),
                _Remembered(part, self._wanted),
            )
            for part in self._parts
        ]
        state = columns.index("State")

        def read(row: Sequence[str]) -> List[Any]:
            values: List[Any] = []
            for text, remembered in texts:
                values += remembered[text(row)]
            if row[state] not in _PLAIN_STATES:
                self._look_closer(values, row[state], row, columns)
            return values

        return read

    def _look_closer(
        self, values: List[Any], text: str, row: Sequence[str], columns: Sequence[str]
    ) -> None:
        state = parse_state(text)
        for warning in state.warnings:
            self.warnings["squeue shows a job in an %s" % warning] = None
        if state.base is Base.NODE_FAIL and self._wanted.intersection(_LOST):
            end_time = fields.moment(row[columns.index("EndTime")])
            for name, value in after_loss(self._window, end_time).items():
                if name in self.names:
                    values[self.names.index(name)] = value


_PLAIN_STATES = frozenset(Base.__members__) - {"NODE_FAIL"}


def after_loss(window: Window, end_time: fields.Moment) -> Mapping[str, str]:
    """The values of a result that say otherwise while a node-loss window is open."""
    coarse = coarse_after_loss(window, end_time)
    live = Answer.NO if coarse is Coarse.ENDED else Answer.UNKNOWN
    return {"coarse_state": coarse.value, "live": live.value}

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module job_info returns. Private to the collection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.fields import Moment
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import (
    JobId,
    parse_job_id,
    require_job_ids,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.past import beside, results_of
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import (
    FIELDS,
    JobRecord,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import unreadable
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.sacct import Accounting, History
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.shapes import NAMES, Shape
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.squeue import (
    Selection,
    queue_rows,
    read_jobs,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import Base


@dataclass(frozen=True)
class Access:
    """What a read of the past depends on.

    ``history`` is the preflight's answer AccountingHistory, ``reason`` why it is not "yes".
    ``loss_window`` in seconds and slurmctld's clock ``now`` in epoch seconds are None where they
    were not read.
    """

    history: Answer
    reason: str
    loss_window: Optional[int]
    now: Optional[int]

    def lost_lately(self, end_time: Moment) -> Answer:
        """Whether the node-loss window of an execution that ended then is still open."""
        if self.loss_window is None or self.now is None or not isinstance(end_time, int):
            return Answer.UNKNOWN
        return Answer.YES if self.now - end_time < self.loss_window else Answer.NO


#: Reads what :class:`Access` says, when it is needed.
Ask = Callable[[], Access]


@dataclass
class Info:
    """What was read. ``names`` are those of the values in each row.

    ``reasons`` says why an id is in ``missing`` or in ``doubtful``. The rows of a queue come while
    they are taken, and may raise a :class:`SlurmError`; ``warnings`` are whole after that.
    """

    names: Sequence[str]
    rows: Iterable[List[Any]]
    missing: List[str] = field(default_factory=list)
    doubtful: List[str] = field(default_factory=list)
    reasons: Dict[str, str] = field(default_factory=dict)
    warnings: Dict[str, None] = field(default_factory=dict)


def job_info(
    run: Run,
    jobs: Optional[Sequence[str]],
    selection: Optional[Selection],
    names: Sequence[str],
    ask: Ask,
) -> Info:
    """The jobs named, those of a selection, or (neither given) the whole queue.

    ``names`` are the values that a job is to have beside its id, all if empty. Raises ValueError
    for a name that is none, and :class:`SlurmError` when an id is none, both before anything is
    run, and when the read failed.
    """
    strangers = [name for name in names if name not in NAMES]
    if strangers:
        raise ValueError(
            "a record has no %s; it has %s" % (", ".join(strangers), ", ".join(sorted(NAMES)))
        )
    access = _Once(ask)
    shape = Shape(names, lambda end_time: access().lost_lately(end_time))
    if jobs is None:
        rows, complaints = queue_rows(run, selection or Selection(), shape.columns)
        info = Info(shape.names, _values(shape, rows), warnings=shape.warnings)
        info.warnings.update(dict.fromkeys(complaints))
        return info
    return _Named(run, access, shape).read(require_job_ids(dict.fromkeys(jobs)))


class _Once:
    """What is asked for at the first need, once."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._known: Optional[Access] = None

    def __call__(self) -> Access:
        if self._known is None:
            self._known = self._ask()
        return self._known


def _values(shape: Shape, rows: Iterable[Sequence[str]]) -> Iterator[List[Any]]:
    read = shape.reader(shape.columns)
    for row in rows:
        try:
            yield read(row)
        except ValueError:
            raise unreadable("a row of squeue", " ".join(row)) from None


class _Named:
    """A read of jobs by their ids, with their past where it is kept."""

    def __init__(self, run: Run, access: Ask, shape: Shape) -> None:
        self._run = run
        self._access = access
        self._shape = shape
        self._rows: List[List[Any]] = []
        self._info = Info(shape.names, self._rows, warnings=shape.warnings)

    def read(self, ids: Sequence[JobId]) -> Info:
        """One squeue call, and one of sacct for what that leaves open."""
        lookups = read_jobs(self._run, ids) if ids else {}
        found: Dict[int, JobRecord] = {}
        left: List[JobId] = []
        parts: List[JobId] = []
        for text, lookup in lookups.items():
            if lookup.known is Answer.YES:
                found.update((id(record), record) for record in lookup.records)
                parts += [lookup.asked] if lookup.may_lack_tasks else []
            elif lookup.known is Answer.NO:
                left.append(lookup.asked)
            else:
                self._doubt(text, "squeue answered, and complained")
        histories, trouble = self._histories([*left, *parts], list(found.values()))
        window = self._lost_lately
        read = self._shape.reader(FIELDS)
        for record in found.values():
            history = histories.get(record.id_text)
            more = beside(record, history, window) if history is not None else {}
            self._add(read(record.row), more)
        for asked in left:
            history = histories.get(asked.text)
            past = results_of(history, window) if history is not None else []
            self._rows.extend([one[name] for name in self._shape.names] for one in past)
            if not past:
                self._unseen(asked.text, trouble)
        shown = {record.id_text for record in found.values()}
        for array in parts:
            self._add_tasks(histories.get(array.text), shown)
        for history in histories.values():
            self._warn_of(history)
        return self._info

    def _lost_lately(self, end_time: Moment) -> Answer:
        return self._access().lost_lately(end_time)

    def _histories(
        self, left: Sequence[JobId], there: Sequence[JobRecord]
    ) -> Tuple[Dict[str, History], str]:
        """What accounting has of ids of which something left, and of jobs it can say more about.

        The text is why it could not be read, empty where it was, or is not to be.
        """
        more: List[JobId] = []
        if _ONLY_ACCOUNTED.intersection(self._shape.names):
            more = [parse_job_id(record.id_text) for record in there if _has_more(record)]
        ids = {one.text: one for one in (*left, *more)}
        if not ids or self._access().history is not Answer.YES:
            return {}, ""
        try:
            return Accounting(self._run).histories(list(ids.values())), ""
        except SlurmError as error:
            self._info.warnings["The past of jobs is not known: %s" % error.message] = None
            return {}, error.message

    def _add(self, values: List[Any], more: Mapping[str, Any]) -> None:
        names = self._shape.names
        if more:
            values = [more.get(name, value) for name, value in zip(names, values)]
        self._rows.append(values)

    def _add_tasks(self, history: Optional[History], shown: Set[str]) -> None:
        """Tasks of an array that slurmctld has forgotten, while it shows others.

        The row of tasks that wait is left out: it names tasks that have started since.
        """
        for one in results_of(history, self._lost_lately) if history is not None else ():
            if one["array_task_id"] is not None and one["job_id"] not in shown:
                shown.add(one["job_id"])
                self._rows.append([one[name] for name in self._shape.names])

    def _warn_of(self, history: History) -> None:
        for execution in history.executions:
            for warning in execution.state.warnings:
                self._info.warnings["sacct has a job in an %s" % warning] = None

    def _unseen(self, text: str, trouble: str) -> None:
        if trouble:
            self._doubt(text, trouble)
        else:
            self._miss(text)

    def _miss(self, text: str) -> None:
        access = self._access()
        if access.history is Answer.YES:
            why = "neither slurmctld nor accounting shows it to this user"
        else:
            why = "slurmctld does not show it to this user, and AccountingHistory is %s: %s" % (
                access.history.value,
                access.reason,
            )
        self._info.missing.append(text)
        self._info.reasons[text] = why

    def _doubt(self, text: str, why: str) -> None:
        self._info.doubtful.append(text)
        self._info.reasons[text] = why


#: Values that squeue does not have of every job.
_ONLY_ACCOUNTED = frozenset(("earlier_executions", "cancelled_by", "cancelled_by_uid"))


def _has_more(record: JobRecord) -> bool:
    """Whether accounting may know what squeue does not: earlier executions, who cancelled it."""
    return record.restarts != 0 or record.state.base is Base.CANCELLED

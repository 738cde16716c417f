# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading jobs with squeue. Private to the collection.

One call reads many jobs. It names its columns, asks for every state and every array task, and marks
its rows (rows.py); it never asks for JSON, whose shape changes between releases.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

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
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import (
    JobId,
    refuse_others,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.records import (
    FIELDS,
    JobLookup,
    JobRecord,
    RecordIndex,
    name_or_empty,
    record_from,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import (
    Marks,
    format_option,
    fresh_marks,
    shortened,
    squeue_rows,
    unreadable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.states import (
    JobState,
    parse_state,
)

PROGRAM = "squeue"
#: Linux takes at most 131,072 bytes, its end included, in one argument (MAX_ARG_STRLEN, execve(2)).
MAX_ARGUMENT = 120000

#: Rows of every state and of hidden partitions, each array task for itself, no header, this
#: cluster only even where FederationParameters=fed_display (squeue(1)). The long words also work
#: under POSIXLY_CORRECT.
_ALWAYS = ("--noheader", "--all", "--array", "--local", "--states=all")

_FIELD_REFUSED = re.compile(r"squeue: error: Invalid job format specification: ")
_NO_SUCH_USER = re.compile(r"squeue: error: Invalid user: ")


@dataclass(frozen=True)
class Selection:
    """Which jobs of the queue. Within a field any value matches, between fields all must.

    ``states`` are base states or flags in Slurm's words. ``names`` match exactly (squeue itself
    ignores their case). ``nodes`` is a host list: jobs that have one of these nodes.
    """

    users: Tuple[str, ...] = ()
    accounts: Tuple[str, ...] = ()
    partitions: Tuple[str, ...] = ()
    qos: Tuple[str, ...] = ()
    states: Tuple[str, ...] = ()
    names: Tuple[str, ...] = ()
    reservations: Tuple[str, ...] = ()
    nodes: str = ""

    def chooses(self, record: JobRecord) -> bool:
        """What squeue can't decide, or decides differently in different releases."""
        return self.admits(record.name, record.reservation, record.state)

    def admits(self, name: str, reservation: str, state: JobState) -> bool:
        """:meth:`chooses` by the values of a record that it looks at."""
        if self.names and name not in self.names:
            return False
        if self.reservations and not set(self.reservations).intersection(reservation.split(",")):
            return False
        shown = {state.word, *state.flags}
        return not self.states or bool(shown.intersection(self.states))


@dataclass(frozen=True)
class Queue:
    """The jobs that a selection read, and what squeue complained about meanwhile."""

    records: Tuple[JobRecord, ...]
    warnings: Tuple[str, ...] = ()

    @property
    def empty(self) -> Answer:
        """Whether the controller shows this user no such job; PrivateData may hide some."""
        if self.records:
            return Answer.NO
        return Answer.UNKNOWN if self.warnings else Answer.YES


def jobs_arguments(
    ids: Sequence[JobId], marks: Marks, extra: Sequence[str] = ()
) -> Tuple[str, ...]:
    """The arguments that read these ids (at least one).

    Tasks and components are asked for by the array's or the leader's number and picked out of the
    answer: older releases ignore what stands behind the number. One number is asked for twice,
    since squeue answers a single unknown id with an error and a list of them with silence.
    """
    numbers = list(dict.fromkeys(str(job_id.job) for job_id in ids))
    if len(numbers) == 1:
        numbers *= 2
    return (
        *_ALWAYS,
        "--jobs=" + ",".join(numbers),
        "--Format=" + format_option((*FIELDS, *extra), marks),
    )


def selection_arguments(
    selection: Selection, marks: Marks, extra: Sequence[str] = (), columns: Sequence[str] = FIELDS
) -> Tuple[str, ...]:
    """The arguments that read a selection. What squeue can't be asked for is chosen afterwards."""
    lists = (
        ("--user", selection.users),
        ("--accounts", selection.accounts),
        ("--partitions", selection.partitions),
        ("--qos", selection.qos),
        ("--name", selection.names),
    )
    asked = ["%s=%s" % (option, ",".join(values)) for option, values in lists if _listed(values)]
    if selection.nodes:
        asked.append("--nodelist=" + selection.nodes)
    return (*_ALWAYS, *asked, "--Format=" + format_option((*columns, *extra), marks))


def _listed(values: Sequence[str]) -> bool:
    """Whether squeue can be given these values: its lists have no way to write a comma."""
    return bool(values) and all(value and "," not in value for value in values)


def parse_jobs(stdout: bytes, marks: Marks, extra: Sequence[str] = ()) -> Iterator[JobRecord]:
    """The records in the output of a call made with the arguments above.

    Raises :class:`SlurmError` (OUTPUT_UNREADABLE, with the text) for anything that is no row.
    """
    for row in squeue_rows(stdout, marks, len(FIELDS) + len(extra)):
        try:
            yield record_from(row, extra)
        except ValueError:
            raise unreadable("a row of squeue", " ".join(row)) from None


def read_jobs(run: Run, ids: Sequence[JobId], extra: Sequence[str] = ()) -> Dict[str, JobLookup]:
    """Ask the controller for these ids: one lookup for every id, by its text.

    As few squeue calls as their arguments hold. Raises :class:`SlurmError`: ID_MALFORMED before
    anything is run, otherwise the class of the failed read; the output of a call that failed or
    was cut off is not used.
    """
    refuse_others(ids)
    lookups: Dict[str, JobLookup] = {}
    for chunk in chunks(ids):
        marks = fresh_marks()
        reply = run(PROGRAM, *jobs_arguments(chunk, marks, extra))
        lookups.update(lookups_from(reply, chunk, marks, extra))
    return lookups


def lookups_from(
    reply: Reply, ids: Sequence[JobId], marks: Marks, extra: Sequence[str] = ()
) -> Dict[str, JobLookup]:
    """Judge one reply to :func:`jobs_arguments`. Pure; errors as in :func:`read_jobs`."""
    if reply.status != 0 and _says_unknown(reply, ids):
        return {job_id.text: JobLookup(job_id, ()) for job_id in ids}
    warnings = _complaints(reply, "read the jobs")
    index = RecordIndex(_parsed(reply, marks, extra))
    return {
        job_id.text: JobLookup(job_id, index.of(job_id), not warnings, index.rows) for job_id in ids
    }


def _says_unknown(reply: Reply, ids: Sequence[JobId]) -> bool:
    return (
        len({job_id.job for job_id in ids}) == 1
        and not reply.stdout.strip()
        and classify(reply) is FailureClass.JOB_UNKNOWN
    )


def read_queue(run: Run, selection: Selection, extra: Sequence[str] = ()) -> Queue:
    """Read the jobs of a selection with one squeue call. Errors as in :func:`read_jobs`."""
    marks = fresh_marks()
    reply = run(PROGRAM, *selection_arguments(selection, marks, extra))
    return queue_from(reply, selection, marks, extra)


def queue_rows(
    run: Run, selection: Selection, columns: Sequence[str]
) -> Tuple[Iterator[List[str]], Tuple[str, ...]]:
    """The rows of a selection, and squeue's complaints: of each row the texts of these columns.

    ``columns`` are some of :data:`FIELDS`, in any order, those that a selection looks at among
    them (:data:`CHOSEN_BY`). Errors as in :func:`read_jobs`; OUTPUT_UNREADABLE comes while the rows
    are taken. For queues that are too long to be made into records.
    """
    marks = fresh_marks()
    reply = run(PROGRAM, *selection_arguments(selection, marks, columns=columns))
    return _chosen_rows(reply, selection, marks, columns), _complaints(reply, "read the queue")


#: The columns that decide whether a selection chooses a row.
CHOSEN_BY = ("Name", "Reservation", "State")


def _chosen_rows(
    reply: Reply, selection: Selection, marks: Marks, columns: Sequence[str]
) -> Iterator[List[str]]:
    every = not (selection.names or selection.reservations or selection.states)
    name, reservation, state = (columns.index(column) for column in CHOSEN_BY)
    try:
        for row in squeue_rows(reply.stdout, marks, len(columns)):
            shown = name_or_empty(row[reservation])
            if every or selection.admits(row[name], shown, parse_state(row[state])):
                yield row
    except SlurmError as error:
        error.reply = shortened(reply)
        raise


def queue_from(
    reply: Reply, selection: Selection, marks: Marks, extra: Sequence[str] = ()
) -> Queue:
    """Judge one reply to :func:`selection_arguments`. Pure."""
    warnings = _complaints(reply, "read the queue")
    records = _parsed(reply, marks, extra)
    return Queue(tuple(filter(selection.chooses, records)), warnings)


def _parsed(reply: Reply, marks: Marks, extra: Sequence[str]) -> Iterator[JobRecord]:
    try:
        yield from parse_jobs(reply.stdout, marks, extra)
    except SlurmError as error:
        error.reply = shortened(reply)
        raise


def _complaints(reply: Reply, doing: str) -> Tuple[str, ...]:
    """The lines on stderr of a call that succeeded; raises for one that did not.

    squeue exits with 0 when it did not understand a field or a user. Other complaints (a request
    for partition names that failed after the jobs were read) leave the rows as good as they are,
    and an absence without proof.
    """
    if reply.status != 0 or reply.timed_out or reply.not_started:
        raise _failed_read(reply, doing)
    lines = tuple(printable(line) for line in reply.err.splitlines() if line.strip())
    for line in lines:
        if _FIELD_REFUSED.match(line) or _NO_SUCH_USER.match(line):
            raise SlurmError(
                "Could not %s: %s" % (doing, line),
                FailureClass.UNCLASSIFIED,
                reply=shortened(reply),
            )
    return lines


def _failed_read(reply: Reply, doing: str) -> SlurmError:
    # What a call had written before it was cut off is not used, not even in the message.
    error = as_error(replace(reply, stdout=b"") if reply.timed_out else reply, doing)
    if error.failure is FailureClass.JOB_UNKNOWN:  # of which of the ids asked for?
        error.failure = FailureClass.UNCLASSIFIED
    error.reply = shortened(reply)
    error.evidence["controller_reachable"] = controller_reachable(error.failure, reply).value
    return error


def controller_reachable(failure: FailureClass, reply: Reply) -> Answer:
    """Whether a read shows that a controller answers. Our own time limit proves nothing."""
    if failure in (FailureClass.NONE, FailureClass.JOB_UNKNOWN, FailureClass.CONTROLLER_BUSY):
        return Answer.YES
    if failure is FailureClass.CONTROLLER_UNREACHABLE and not reply.timed_out:
        return Answer.UNKNOWN if reply.status in (124, 137) else Answer.NO
    return Answer.UNKNOWN


def chunks(ids: Sequence[JobId], size: int = MAX_ARGUMENT) -> Iterator[List[JobId]]:
    chunk: List[JobId] = []
    used = 0
    last: Optional[int] = None
    for job_id in ids:
        length = 0 if job_id.job == last else len(str(job_id.job)) + 1
        if chunk and used + length > size:
            yield chunk
            chunk, used, length = [], 0, len(str(job_id.job)) + 1
        chunk.append(job_id)
        used += length
        last = job_id.job
    if chunk:
        yield chunk

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a job's output lies, and reading it from an offset. Private to the collection.

``<dir>/<job id>.<execution>.out`` and ``.err``, one file a stream and execution: the batch script
opens them itself, since Slurm's own patterns have no restart count. ``<dir>/<job id>.slurm`` is
what Slurm is told as --output and --error: slurmstepd's own lines ("CANCELLED AT ...") of all
executions, each behind the one before. All of them are appended to, and kept.
"""

from __future__ import annotations

import base64
import codecs
import errno
import os
import re
import stat
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import printable

#: A stream, and how its files' names end. ``slurm`` has one file for all executions.
ENDINGS: Mapping[str, str] = {"stdout": "out", "stderr": "err", "slurm": "slurm"}
STREAMS = tuple(ENDINGS)

#: Bytes of the longest directory: the name of a file goes behind it (PATH_MAX is 4,096).
LONGEST_DIRECTORY = 3500


def output_name(job_id: int, execution: int, stream: str) -> str:
    """The name of the file that holds a stream of an execution."""
    if stream == "slurm":
        return "%d.slurm" % job_id
    return "%d.%d.%s" % (job_id, execution, ENDINGS[stream])


def slurm_pattern(directory: str) -> str:
    """What sbatch is given as --output and --error (sbatch(1), "filename pattern").

    ``%`` is doubled. Raises ValueError for a directory that can't be written as a pattern: a
    backslash switches all patterns off, wherever it stands.
    """
    if not os.path.isabs(directory):
        raise ValueError("output_dir is no absolute path: %r" % directory)
    if "\\" in directory:
        raise ValueError(
            "output_dir holds a backslash, which Slurm's patterns can't: %r" % directory
        )
    if len(os.fsencode(directory)) > LONGEST_DIRECTORY:
        raise ValueError("output_dir is longer than %d bytes" % LONGEST_DIRECTORY)
    return os.path.join(directory.replace("%", "%%"), "%j.slurm")


@dataclass(frozen=True)
class Position:
    """How far a stream was read: so many bytes of the file of this execution."""

    execution: int = 0
    offset: int = 0

    def as_result(self) -> Dict[str, int]:
        """JSON-safe values, which :func:`position_from` takes back."""
        return {"execution": self.execution, "offset": self.offset}


def position_from(value: Optional[Mapping[str, Any]], stream: str) -> Position:
    """The position that an option names, the beginning without one. Raises ValueError."""
    if value is None:
        return Position()
    given = {name: value.get(name) or 0 for name in ("execution", "offset")}
    if any(number < 0 for number in given.values()):
        raise ValueError("offsets.%s is below 0: %s" % (stream, given))
    return Position(**given)


@dataclass(frozen=True)
class Part:
    """What one look at one file came to.

    ``state`` is ``read``, ``empty`` (there, and nothing behind the offset), ``unread`` (the limit
    had been reached), ``missing`` or ``unreadable``. ``size`` is that of the file, None if it is
    not known.
    """

    stream: str
    execution: Optional[int]
    path: str
    state: str
    offset: int
    data: bytes = b""
    size: Optional[int] = None
    reason: str = ""

    @property
    def end(self) -> int:
        """The offset to go on from."""
        return self.offset + len(self.data)

    @property
    def whole(self) -> bool:
        """Whether the file was read to its end."""
        return self.size is not None and self.end >= self.size

    def as_result(self) -> Dict[str, Any]:
        """JSON-safe values for a module's result."""
        return {
            "stream": self.stream,
            "execution": self.execution,
            "path": printable(self.path),
            "state": self.state,
            "reason": printable(self.reason),
            "offset": self.offset,
            "size": self.size,
            "base64": base64.b64encode(self.data).decode("ascii"),
            "text": as_text(self.data),
        }


def as_text(data: bytes) -> Optional[str]:
    """The text of bytes that are UTF-8, None for others."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def whole_characters(data: bytes) -> bytes:
    """UTF-8 text without the beginning of a character that was cut off; other bytes as they are."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(data)
    except UnicodeDecodeError:
        return data
    pending = len(decoder.getstate()[0])
    return data[:-pending] if 0 < pending < len(data) else data


def read_part(
    directory: str, job_id: int, execution: int, stream: str, offset: int, limit: int
) -> Part:
    """Read a file from an offset on, at most ``limit`` bytes. Never raises OSError.

    Only a regular file is read: anything else could keep the reader waiting.
    """
    path = os.path.join(directory, output_name(job_id, execution, stream))
    number = None if stream == "slurm" else execution
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
        state = "missing" if missing else "unreadable"
        return Part(stream, number, path, state, offset, reason=_why(directory, error))
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            reason = "it is no regular file"
            return Part(stream, number, path, "unreadable", offset, reason=reason)
        if status.st_size < offset:
            reason = "it has %d bytes, fewer than were read before" % status.st_size
            return Part(
                stream, number, path, "unreadable", offset, size=status.st_size, reason=reason
            )
        data = whole_characters(os.pread(handle, limit, offset))
    except OSError as error:
        return Part(stream, number, path, "unreadable", offset, reason=error.strerror or str(error))
    finally:
        os.close(handle)
    size = max(status.st_size, offset + len(data))
    state = "read" if data else "empty" if size == offset else "unread"
    return Part(stream, number, path, state, offset, data, size)


def _why(directory: str, error: OSError) -> str:
    if error.errno == errno.ENOENT and not os.path.isdir(directory):
        return "there is no directory %s on this host" % directory
    return error.strerror or str(error)


_NAME = re.compile(r"([1-9][0-9]{0,9})\.(0|[1-9][0-9]{0,9})\.(out|err)")


def executions_there(directory: str, job_id: int) -> Tuple[int, ...]:
    """The executions of a job that have a file, oldest first; none where it can't be listed."""
    try:
        names = os.listdir(directory)
    except OSError:
        return ()
    matches = filter(None, map(_NAME.fullmatch, names))
    return tuple(sorted({int(one.group(2)) for one in matches if int(one.group(1)) == job_id}))


@dataclass(frozen=True)
class Wanted:
    """What is to be read: which files, from where, and how much at most.

    ``last`` is the newest execution that is known of, from slurmctld or from the files there.
    """

    directory: str
    job_id: int
    last: int
    positions: Mapping[str, Position]
    limit: int


def read_output(wanted: Wanted) -> Tuple[List[Part], Dict[str, Position]]:
    """Each stream's files in turn, oldest execution first, and where to go on.

    A stream stays at a file that was not read to its end. It goes on to a newer execution when the
    file of the one before it is at its end, or is not there.
    """
    parts: List[Part] = []
    ends: Dict[str, Position] = {}
    left = wanted.limit
    for stream, position in wanted.positions.items():
        found, ends[stream] = _read_stream(wanted, stream, position, left)
        parts.extend(found)
        left -= sum(len(one.data) for one in found)
    return parts, ends


def _read_stream(
    wanted: Wanted, stream: str, position: Position, left: int
) -> Tuple[List[Part], Position]:
    parts: List[Part] = []
    execution, offset = position.execution, position.offset
    while True:
        part = read_part(wanted.directory, wanted.job_id, execution, stream, offset, left)
        parts.append(part)
        left -= len(part.data)
        offset = part.end
        more = stream != "slurm" and execution < wanted.last
        if not more or not (part.whole or (part.state == "missing" and part.offset == 0)):
            return parts, Position(execution, offset)
        execution, offset = execution + 1, 0


def complete(parts: Sequence[Part]) -> bool:
    """Whether every file was read to the end that it had, or is not there."""
    return all(one.whole or one.state == "missing" for one in parts)

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The deadline script: POSIX sh, the same text for every value. Pure. Private to the collection.

Values reach it, and Slurm, as arguments, never through a shell's parser. Each call is started only
before the deadline, limited by ``timeout -k``, and followed by one framed status line on standard
error (reader.py). The script goes on when nobody listens any more: a requeue that has set the bit
still clears it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.landing import KILL_AFTER
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hold import encode_hold, hold_time
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import Marks
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Call

#: $1 nonce, $2 deadline in epoch seconds of this host, $3 seconds between SIGTERM and SIGKILL.
#: A clock that can't be read is a call that can't be started (127).
_COMMON = r"""
trap '' HUP PIPE
mark=$(printf '\036')
nonce=$1 deadline=$2 grace=$3
shift 3
last=127
told() {
  printf '%sDSL %s call %s %s\n' "$mark" "$nonce" "$1" "$2" >&2
  last=$2
}
call() {
  number=$1
  shift
  now=$(date +%s) || now=
  case $now in
    '' | *[!0-9]*) told "$number" 127; return ;;
  esac
  left=$((deadline - now))
  if [ "$left" -le 0 ]; then
    told "$number" 75
    return
  fi
  timeout -k "$grace" "$left" "$@"
  told "$number" $?
}
"""

#: $1 what to change, $2 the ids.
_UPDATE = r"""
call 1 scontrol update "JobId=$2" "$1"
exit "$last"
"""

#: $1 the ids.
_OPEN = r"""
call 1 scontrol release "$1"
exit "$last"
"""

#: $1 what to change, $2 the begin time that is in place, $3 the separator, $4 the row's end, $5 the
#: numbers to ask for, then three arguments for each address: the number of its record, how many
#: rows have to show it, and the address. What squeue shows goes to standard output: what is in
#: place is read immediately before the call, and everything else is left alone.
_RELEASE = r"""
change=$1 place=$2 gap=$3 end=$4 numbers=$5
shift 5
now=$(date +%s) || now=
case $now in
  '' | *[!0-9]*) told 1 127; exit 127 ;;
esac
left=$((deadline - now))
if [ "$left" -le 0 ]; then
  told 1 75
  exit 75
fi
rows=$(timeout -k "$grace" "$left" squeue --noheader --all --array --local --states=all \
  "--jobs=$numbers,$numbers" "--Format=JobID:$gap,EligibleTime:$end" 2>/dev/null) || rows=
printf '%s\n' "$rows"
found=' '
set -f
for row in $rows; do
  case $row in
    *"$gap$place$end") found="$found${row%%"$gap"*} " ;;
  esac
done
chosen=
while [ $# -ge 3 ]; do
  case $found in
    *" $1 "*)
      seen=1
      if [ "$2" -gt 1 ]; then
        seen=0
        for one in $found; do
          if [ "$one" = "$1" ]; then seen=$((seen + 1)); fi
        done
      fi
      if [ "$seen" -eq "$2" ]; then chosen=$chosen${chosen:+,}$3; fi
      ;;
  esac
  shift 3
done
if [ -z "$chosen" ]; then
  told 1 76
  exit 76
fi
call 1 scontrol update "JobId=$chosen" "$change"
exit "$last"
"""

#: $1 the id. The bit is cleared whatever became of the setting and of the requeue, unless the
#: deadline had passed before anything was started.
_REQUEUE = r"""
call 1 scontrol update "JobId=$1" Requeue=1
if [ "$last" = 75 ]; then
  exit 75
fi
if [ "$last" = 0 ]; then
  call 2 scontrol requeue incomplete "$1"
fi
call 3 scontrol update "JobId=$1" Requeue=0
exit "$last"
"""

#: $1 the ids, whose bit was on before and stays on.
_REQUEUE_ONLY = r"""
call 1 scontrol requeue incomplete "$1"
exit "$last"
"""


@dataclass(frozen=True)
class Script:
    """A script and what it is given. ``calls`` are the kinds of its calls, by number from 1."""

    text: str
    arguments: Tuple[str, ...]
    calls: Tuple[Call, ...]
    sent: Tuple[str, ...]

    def argv(self, nonce: str, deadline: int) -> Tuple[str, ...]:
        """What to start. ``deadline`` is in whole epoch seconds on the clock of the host."""
        fixed = ("sh", "-c", self.text, "deadline", nonce, str(deadline), str(KILL_AFTER))
        return fixed + self.arguments


def update_script(call: Call, change: str, sent: Sequence[str]) -> Script:
    """One ``scontrol update`` of all addresses."""
    return Script(_COMMON + _UPDATE, (change, ",".join(sent)), (call,), tuple(sent))


def hold_script(instance: int, sent: Sequence[str]) -> Script:
    """Place a hold on all addresses."""
    return update_script(Call.HOLD, "StartTime=%s" % encode_hold(instance), sent)


def restore_script(sent: Sequence[str]) -> Script:
    """Clear the requeue bit of all addresses."""
    return update_script(Call.CLEAR_BIT, "Requeue=0", sent)


def open_script(sent: Sequence[str]) -> Script:
    """Open the gate of all addresses."""
    return Script(_COMMON + _OPEN, (",".join(sent),), (Call.OPEN,), tuple(sent))


@dataclass(frozen=True)
class Address:
    """How scontrol is told about some records: ``text`` for the ``members`` (ids of results).

    ``number`` is the record's own job number, which the tasks of an array that were not split off
    share; ``rows`` is how many rows squeue shows for it.
    """

    text: str
    number: int
    members: Tuple[str, ...]

    @property
    def rows(self) -> int:
        """How many rows squeue shows for it."""
        return len(self.members)


def release_script(instance: int, begin: int, marks: Marks, addresses: Sequence[Address]) -> Script:
    """Lift the hold of those addresses that have this instance in place when the script looks.

    ``begin`` (epoch seconds) is the begin time that is put back, 0 for now.
    """
    change = "StartTime=uts%d" % begin if begin else "StartTime=now"
    numbers = ",".join(str(one.number) for one in addresses)
    fixed = (change, str(hold_time(instance)), marks.separator, marks.end, numbers)
    triples = [text for one in addresses for text in (str(one.number), str(one.rows), one.text)]
    sent = tuple(one.text for one in addresses)
    return Script(_COMMON + _RELEASE, (*fixed, *triples), (Call.RELEASE,), sent)


def requeue_script(sent: str) -> Script:
    """Set the bit, requeue, clear the bit, of one job."""
    calls = (Call.SET_BIT, Call.REQUEUE, Call.CLEAR_BIT)
    return Script(_COMMON + _REQUEUE, (sent,), calls, (sent,))


def requeue_only_script(sent: Sequence[str]) -> Script:
    """Requeue all addresses; their bit is on."""
    return Script(_COMMON + _REQUEUE_ONLY, (",".join(sent),), (Call.REQUEUE,), tuple(sent))

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The deadline script: POSIX sh, the same text for every value. Pure. Private to the collection.

Values reach it, and Slurm, as arguments, never through a shell's parser. Each call is started only
before the deadline, limited by ``timeout -k``, and followed by one framed status line on standard
error (reader.py). A script that may undo what somebody else did meanwhile looks first, and says on
standard output what it sends. It goes on when nobody listens any more, and when it is asked to end:
a requeue that has set the bit still clears it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Sequence, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.landing import KILL_AFTER
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.hold import encode_hold
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import Marks
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Call

#: $1 nonce, $2 deadline in epoch seconds of this host, $3 seconds between SIGTERM and SIGKILL.
#: A clock that can't be read is a call that can't be started (127). The clock shows whole seconds:
#: the one that has begun counts as over, so that no call outlives the deadline. 75 and 76 are the
#: script's own words: a command that ends with one of them was started all the same.
_COMMON = r"""
trap '' HUP PIPE
trap : INT TERM
mark=$(printf '\036')
nonce=$1 deadline=$2 grace=$3
shift 3
last=127 joint=,
told() {
  printf '%sDSL %s call %s %s\n' "$mark" "$nonce" "$1" "$2" >&2
  last=$2
}
in_time() {
  now=$(date +%s) || now=
  case $now in
    '' | *[!0-9]*) told "$1" 127; return 1 ;;
  esac
  left=$((deadline - now - 1))
  if [ "$left" -le 0 ]; then
    told "$1" 75
    return 1
  fi
}
call() {
  number=$1
  shift
  in_time "$number" || return 0
  timeout -k "$grace" "$left" "$@"
  status=$?
  case $status in
    75 | 76) status=125 ;;
  esac
  told "$number" "$status"
}
"""

#: What is there is read immediately before the call, and an address whose rows don't all show what
#: is expected is left out. $1 squeue's field, $2 not empty: a time that has come, and none at all,
#: read as this word, $3 the separator, $4 the row's end, $5 the numbers to ask for; then four
#: arguments for each address: the number of its record, how many rows have to show it, what they
#: have to show, and the address. Sets ``chosen``. The tasks of an array that were not split off
#: share one record; they leave it and never come back: their count tells whether they are the same.
_LOOK = r"""
field=$1 come=$2 gap=$3 end=$4 numbers=$5
shift 5
in_time 1 || exit "$last"
rows=$(timeout -k "$grace" "$left" squeue --noheader --all --array --local --states=all \
  "--jobs=$numbers,$numbers" "--Format=JobID:$gap,$field:$end" 2>/dev/null) || rows=
set -f
shown() {
  for row in $rows; do
    case $row in
      *"$gap"*"$end") ;;
      *) continue ;;
    esac
    value=${row#*"$gap"}
    value=${value%"$end"}
    if [ -n "$come" ]; then
      case $value in
        '' | *[!0-9]*) value=$come ;;
        *) if [ "$value" -le "$now" ]; then value=$come; fi ;;
      esac
    fi
    printf '%s=%s ' "${row%%"$gap"*}" "$value"
  done 2>/dev/null
}
found=" $(shown)"
chosen= ordinals= ordinal=0
while [ $# -ge 4 ]; do
  ordinal=$((ordinal + 1)) seen=0 want=$1=$3
  if [ -n "$come" ] && [ "$3" != "$come" ] && [ "$3" -le "$now" ]; then want=$1=$come; fi
  case $found in
    *" $want "*)
      seen=1
      if [ "$2" -gt 1 ]; then
        seen=0
        for one in $found; do
          if [ "$one" = "$want" ]; then seen=$((seen + 1)); fi
        done
      fi
      ;;
  esac
  if [ "$seen" -eq "$2" ]; then
    chosen=$chosen${chosen:+$joint}$4 ordinals=$ordinals${ordinals:+,}$ordinal
  fi
  shift 4
done
if [ -z "$chosen" ]; then
  told 1 76
  exit 76
fi
printf '%sDSL %s sent %s\n' "$mark" "$nonce" "$ordinals"
"""

#: $1 what to change; the rest is the look's.
_UPDATE = (
    "\nchange=$1\nshift\n"
    + _LOOK
    + r"""
call 1 scontrol update "JobId=$chosen" "$change"
exit "$last"
"""
)

#: The job grows older from its new begin time on.
_UPDATE_ANEW = _UPDATE.replace('"$change"', '"$change" ResetAccrueTime')

_OPEN = (
    _LOOK
    + r"""
call 1 scontrol release "$chosen"
exit "$last"
"""
)

#: One job. The bit is cleared whatever became of the setting and of the requeue, unless the
#: deadline had passed before anything was started.
_REQUEUE = (
    _LOOK
    + r"""
call 1 scontrol update "JobId=$chosen" Requeue=1
if [ "$last" = 75 ]; then
  exit 75
fi
if [ "$last" = 0 ]; then
  call 2 scontrol requeue incomplete "$chosen"
fi
call 3 scontrol update "JobId=$chosen" Requeue=0
exit "$last"
"""
)

#: Jobs whose bit was on before and stays on.
_REQUEUE_ONLY = (
    _LOOK
    + r"""
call 1 scontrol requeue incomplete "$chosen"
exit "$last"
"""
)

#: Each id is an argument: a list with commas would cut the tasks of an array apart.
_CANCEL = r"""
call 1 scancel "$@"
exit "$last"
"""

_CANCEL_EXECUTION = (
    "\njoint=' '\n"
    + _LOOK
    + r"""
IFS=' '
call 1 scancel $chosen
exit "$last"
"""
)

#: $1 the ids.
_CLEAR = r"""
call 1 scontrol update "JobId=$1" Requeue=0
exit "$last"
"""

#: The batch script is on standard input: it may hold what is nobody else's business.
_SUBMIT = r"""
call 1 sbatch "$@"
exit "$last"
"""


@dataclass(frozen=True)
class Address:
    """How scontrol is told about some records: ``text`` for the ``members`` (ids of results).

    ``number`` is the record's own job number, which the tasks of an array that were not split off
    share; ``rows`` is how many rows squeue shows for it, and ``expected`` what each of them has to
    show of the field that is looked at. ``array`` and ``tasks`` (one for each member) name array
    tasks as slurmctld's replies do.
    """

    text: str
    number: int
    members: Tuple[str, ...]
    rows: int = 1
    expected: str = ""
    array: Optional[int] = None
    tasks: Tuple[int, ...] = ()


@dataclass(frozen=True)
class Script:
    """A script and what it is given. ``calls`` are the kinds of its calls, by number from 1.

    A script that ``looks`` says on standard output which of its addresses it sends.
    """

    text: str
    arguments: Tuple[str, ...]
    calls: Tuple[Call, ...]
    addresses: Tuple[Address, ...]
    looks: bool = True

    def argv(self, nonce: str, deadline: int) -> Tuple[str, ...]:
        """What to start. ``deadline`` is in whole epoch seconds on the clock of the host."""
        fixed = ("sh", "-c", self.text, "deadline", nonce, str(deadline), str(KILL_AFTER))
        return fixed + self.arguments

    @property
    def members(self) -> Tuple[str, ...]:
        """The ids of the results that it is about."""
        return tuple(member for one in self.addresses for member in one.members)


#: What a hold expects of a job without a begin time ahead.
COME = "come"


def _look(
    field: str, marks: Marks, addresses: Sequence[Address], come: str = ""
) -> Tuple[str, ...]:
    numbers = ",".join(dict.fromkeys(str(one.number) for one in addresses))
    fixed = (field, come, marks.separator, marks.end, numbers)
    return fixed + tuple(
        text
        for one in addresses
        for text in (str(one.number), str(one.rows), one.expected, one.text)
    )


def hold_script(instance: int, marks: Marks, addresses: Sequence[Address]) -> Script:
    """Place a hold on those addresses whose begin time is the expected one."""
    change = "StartTime=%s" % encode_hold(instance)
    arguments = (change, *_look("EligibleTime", marks, addresses, COME))
    return Script(_COMMON + _UPDATE, arguments, (Call.HOLD,), tuple(addresses))


def release_script(
    begin: int, marks: Marks, addresses: Sequence[Address], anew: bool = False
) -> Script:
    """Lift the hold of those addresses that have the expected one in place.

    ``begin`` (epoch seconds) is the begin time that is put back, 0 for now. ``anew``: the jobs grow
    older from then on, since the hold has kept them from it.
    """
    change = "StartTime=uts%d" % begin if begin else "StartTime=now"
    arguments = (change, *_look("EligibleTime", marks, addresses))
    text = _UPDATE_ANEW if anew else _UPDATE
    return Script(_COMMON + text, arguments, (Call.RELEASE,), tuple(addresses))


def open_script(marks: Marks, addresses: Sequence[Address]) -> Script:
    """Open the gate of those addresses that have the expected priority (0)."""
    arguments = _look("PriorityLong", marks, addresses)
    return Script(_COMMON + _OPEN, arguments, (Call.OPEN,), tuple(addresses))


def requeue_script(marks: Marks, address: Address) -> Script:
    """Set the bit, requeue, clear the bit, of one job that has the expected restart count."""
    calls = (Call.SET_BIT, Call.REQUEUE, Call.CLEAR_BIT)
    return Script(_COMMON + _REQUEUE, _look("RestartCnt", marks, [address]), calls, (address,))


def requeue_only_script(marks: Marks, addresses: Sequence[Address]) -> Script:
    """Requeue those addresses that have the expected restart count; their bit is on."""
    arguments = _look("RestartCnt", marks, addresses)
    return Script(_COMMON + _REQUEUE_ONLY, arguments, (Call.REQUEUE,), tuple(addresses))


def restore_script(addresses: Sequence[Address]) -> Script:
    """Clear the requeue bit of all addresses."""
    ids = ",".join(one.text for one in addresses)
    return Script(_COMMON + _CLEAR, (ids,), (Call.CLEAR_BIT,), tuple(addresses), looks=False)


def cancel_script(addresses: Sequence[Address]) -> Script:
    """Cancel all addresses, whatever execution they are in."""
    ids = tuple(one.text for one in addresses)
    return Script(_COMMON + _CANCEL, ids, (Call.CANCEL,), tuple(addresses), looks=False)


def cancel_execution_script(marks: Marks, addresses: Sequence[Address]) -> Script:
    """Cancel those addresses that have the expected restart count."""
    arguments = _look("RestartCnt", marks, addresses)
    return Script(_COMMON + _CANCEL_EXECUTION, arguments, (Call.CANCEL,), tuple(addresses))


def submit_script(arguments: Sequence[str]) -> Script:
    """Submit what is on standard input, with these arguments of sbatch; it calls no scontrol."""
    return Script(_COMMON + _SUBMIT, tuple(arguments), (), (), looks=False)

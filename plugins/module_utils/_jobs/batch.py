# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The batch script of a submission, in POSIX sh, and the options of its sbatch. Pure.

What the user gave is data: each value is one quoted word, and nothing is left to a shell to read.
The user's command takes the place of the script (``exec``), so that signals and the exit status
are its own. Private to the collection.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, field
from typing import List, Mapping, Optional, Sequence, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.outputs import slurm_pattern
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.submission import comment_of

#: Linux takes at most 131,072 bytes, its end included, in one argument (MAX_ARG_STRLEN, execve(2)).
LONGEST_SCRIPT = 120000

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN = re.compile(r"DISPATCH_|SLURM_(JOB_ID|JOBID|RESTART_COUNT|EXPORT_ENV)\Z")
_DIRECTIVE = re.compile(r"^[ \t]*#(SBATCH|PBS|BSUB)\b", re.MULTILINE)
_INTERPRETER = re.compile(r"#![ \t]*(/[^ \t\n]+)[ \t]*([^\n]*)")

#: Slurm's variables are read before the user's are set. What sbatch leaves there for srun would
#: take a step's environment away (SLURM_EXPORT_ENV=NIL), and append where srun truncates.
_HEAD = """#!/bin/sh
# Made by hpcops.slurm.job_submit
unset SLURM_EXPORT_ENV SLURM_OPEN_MODE SLURM_TIME_FORMAT SLURM_BITSTR_LEN
job=$SLURM_JOB_ID execution=${SLURM_RESTART_COUNT:-0}
files=%s/$job.$execution
"""

#: The user's script is a file without a name: its interpreter gets it as file 9, and nothing is
#: left behind. A disk that is full is an error of the script then, in Slurm's own file.
_SCRIPT = """file=$(mktemp "${TMPDIR:-/tmp}/hpcops.XXXXXX") || exit 73
printf %%s %s > "$file" || { rm -f "$file"; exit 73; }
exec 9< "$file" || exit 73
rm -f "$file"
"""

#: ``%s`` are assignments, and the words of the command.
_RUN = """exec env %s \\
  "DISPATCH_JOB_ID=$job" "DISPATCH_EXECUTION=$execution" \\
  sh -c 'exec "$@"' sh %s >> "$files.out" 2>> "$files.err"
"""


@dataclass(frozen=True)
class Job:
    """What is to be submitted; the fields are the module's options."""

    submission: str
    attempt: int
    name: str
    output_dir: str
    script: Optional[str] = None
    command: Sequence[str] = ()
    chdir: str = "/"
    environment: Mapping[str, str] = field(default_factory=dict)
    partition: str = ""
    account: str = ""
    qos: str = ""
    time_limit: Optional[int] = None
    nodes: Optional[int] = None
    ntasks: Optional[int] = None
    ntasks_per_node: Optional[int] = None
    gate: bool = False

    @property
    def comment(self) -> str:
        """The comment that carries the submission."""
        return comment_of(self.submission, self.attempt)


def batch_script(job: Job, base: Mapping[str, str]) -> str:
    """The script that sbatch gets.

    ``base`` are the variables that every job gets (HOME and so on), over which the user's go.
    Raises ValueError for what can't be run as it stands.
    """
    check(job)
    variables = {
        **base,
        **job.environment,
        "DISPATCH_SUBMISSION": job.submission,
        "DISPATCH_ATTEMPT": str(job.attempt),
    }
    assignments = " ".join(shlex.quote("%s=%s" % one) for one in variables.items())
    text = _HEAD % shlex.quote(job.output_dir.rstrip("/"))
    if job.script is not None:
        text += _SCRIPT % shlex.quote(job.script)
        words = [*interpreter(job.script), "/dev/fd/9"]
    else:
        words = list(job.command)
    text += _RUN % (assignments, " ".join(map(shlex.quote, words)))
    size = len(text.encode("utf-8"))
    if size > LONGEST_SCRIPT:
        raise ValueError(
            "the batch script has %d bytes with its environment, and may have %d: put it on the"
            " cluster as a file, and name that in command" % (size, LONGEST_SCRIPT)
        )
    return text


def interpreter(script: str) -> List[str]:
    """The words of a script's first line, as the kernel reads it: a program and one argument."""
    match = _INTERPRETER.match(script)
    if match is None:
        return ["/bin/sh"]
    argument = match.group(2).strip()
    return [match.group(1), argument] if argument else [match.group(1)]


def check(job: Job) -> None:
    """Raise ValueError for what would not do what it says."""
    comment_of(job.submission, job.attempt)
    slurm_pattern(job.output_dir)
    if not os.path.isabs(job.chdir):
        raise ValueError("chdir is no absolute path: %r" % job.chdir)
    _check_work(job)
    for name in job.environment:
        if not _VARIABLE.fullmatch(name):
            raise ValueError("environment holds a name that no variable can have: %r" % name)
        if _OWN.match(name):
            raise ValueError("environment holds %s, which the job gets by itself" % name)
    for option in ("nodes", "ntasks", "ntasks_per_node", "time_limit"):
        value = getattr(job, option)
        if value is not None and value < 1:
            raise ValueError("%s is %d, and has to be 1 at least" % (option, value))


def _check_work(job: Job) -> None:
    if (job.script is None) == (not job.command):
        raise ValueError("give one of script and command")
    if job.script is None:
        if not job.command[0]:
            raise ValueError("the first word of command is empty")
        return
    if not job.script.strip():
        raise ValueError("script is empty")
    directive = _DIRECTIVE.search(job.script)
    if directive:
        raise ValueError(
            "script has a line #%s, which nobody would read: give options of the module instead"
            % directive.group(1)
        )


def sbatch_arguments(job: Job) -> Tuple[str, ...]:
    """The arguments of sbatch; the script comes on its standard input.

    --export=NIL: nothing of this process's environment but Slurm's own variables gets into the job.
    Without it, or with NONE, nodes start a login shell to make one, and hold the job when that
    fails. Source: sbatch(1); the environment of jobs on 22.05 and 24.11.
    """
    arguments = [
        "--parsable",
        "--no-requeue",
        "--export=NIL",
        "--open-mode=append",
        "--input=/dev/null",
        "--output=%s" % slurm_pattern(job.output_dir),
        "--error=%s" % slurm_pattern(job.output_dir),
        "--comment=%s" % job.comment,
        "--job-name=%s" % job.name,
        "--chdir=%s" % job.chdir,
    ]
    for option in ("partition", "account", "qos"):
        if getattr(job, option):
            arguments.append("--%s=%s" % (option, getattr(job, option)))
    for option in ("nodes", "ntasks", "ntasks_per_node"):
        if getattr(job, option) is not None:
            arguments.append("--%s=%d" % (option.replace("_", "-"), getattr(job, option)))
    if job.time_limit is not None:
        arguments.append("--time=%d:%02d" % divmod(job.time_limit, 60))
    if job.gate:
        arguments.append("--hold")
    return tuple(arguments)

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running the deadline scripts for real, with commands of our own in Slurm's place."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.rows import Marks
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.judge import (
    Ended,
    Known,
    judge,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.script import Script

#: Every POSIX shell that a host may have for /bin/sh, and the Debian package that brings it
#: (busybox-static won't do: it takes its own date and timeout, whatever PATH says).
SHELLS = {
    "dash": (["dash"], "dash"),
    "bash": (["bash", "--posix"], "bash"),
    "busybox": (["busybox", "sh"], "busybox"),
}
MARKS = Marks("~mark", "^mark")
NONCE = "0123456789abcdef"


def shell_argv(name: str) -> list[str]:
    """How a shell is started; says what to install when it is not there."""
    argv, package = SHELLS[name]
    path = shutil.which(argv[0])
    assert path, f"{argv[0]} is missing: apt-get install {package}"
    return [path, *argv[1:]]


@dataclass(frozen=True)
class Run:
    """How a script ended, and the arguments of every command that it started, in order."""

    script: Script
    status: int
    stdout: bytes
    stderr: bytes
    calls: list[list[str]]

    @property
    def writes(self) -> list[list[str]]:
        """The calls that could alter a job."""
        return [one for one in self.calls if one[0] in ("scontrol", "scancel")]

    def judged(self) -> dict[str, Known]:
        """What the engine makes of it."""
        return judge(Ended(self.script, NONCE, self.status, self.stdout, self.stderr))


class Bench:
    """A folder of commands that note how they were called and do what a test says."""

    def __init__(self, folder: Path, shell: str) -> None:
        self.argv = shell_argv(shell)
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.log = folder / "log"
        for name in ("timeout", "date", "sleep"):
            found = shutil.which(name)
            assert found
            (self.bin / name).symlink_to(found)
        self.command("scontrol", "")
        self.command("scancel", "")
        self.shows("")

    def command(self, name: str, body: str) -> None:
        """Put a command there; ``$n`` is how often it was called before."""
        path = self.bin / name
        path.unlink(missing_ok=True)
        log = self.log
        path.write_text(
            "#!/bin/dash\n"
            f"n=0; [ ! -e '{log}.{name}' ] || read -r n < '{log}.{name}'\n"
            f"echo $((n + 1)) > '{log}.{name}'\n"
            f'printf "%s\\0" $(($# + 1)) {name} "$@" >> \'{log}\'\n{body}\n',
            encoding="utf-8",
        )
        path.chmod(0o755)

    def shows(self, rows: str, status: int = 0) -> None:
        """Let squeue print these rows: ``number=value`` words."""
        lines = "".join(
            "%s%s%s%s\n"
            % (*one.split("=", 1)[:1], MARKS.separator, one.split("=", 1)[1], MARKS.end)
            for one in rows.split()
        )
        (self.folder / "rows").write_text(lines, encoding="utf-8")
        self.command("squeue", f"/bin/cat '{self.folder}/rows'; exit {status}")

    def clock(self, *seconds: int) -> None:
        """Let the clock show these epoch seconds, one a look, and the last one ever after."""
        cases = "".join(f"{place}) echo {second} ;;\n" for place, second in enumerate(seconds))
        self.command("date", f"case $n in\n{cases}*) echo {seconds[-1]} ;;\nesac")

    def start(
        self,
        script: Script,
        deadline: float | None = None,
        argv: Sequence[str] | None = None,
        given: int = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        """Start a script; by default its deadline is far, and ``argv`` its own."""
        when = int(time.time() + 60 if deadline is None else deadline)
        words = [*self.argv, *(argv or script.argv(NONCE, when))[1:]]
        return subprocess.Popen(
            [word.encode("utf-8", "surrogateescape") for word in words],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": str(self.bin), "LC_ALL": "C", "HOME": os.environ.get("HOME", "/")},
            start_new_session=True,
        )

    def run(self, script: Script, deadline: float | None = None, text_in: str = "") -> Run:
        """Run a script to its end."""
        process = self.start(script, deadline, given=subprocess.PIPE)
        out, err = process.communicate(text_in.encode(), timeout=30)
        return self.ended(script, process.returncode, out, err)

    def ended(self, script: Script, status: int, out: bytes, err: bytes) -> Run:
        """What is known of a script that has ended."""
        return Run(script, status, out, err, self.calls())

    def calls(self) -> list[list[str]]:
        """The calls so far, the clock's left out."""
        text = self.log.read_bytes().decode("utf-8", "surrogateescape") if self.log.exists() else ""
        words = text.split("\0")
        calls = []
        while len(words) > 1:
            count = int(words[0])
            calls.append(words[1 : count + 1])
            words = words[count + 1 :]
        return [one for one in calls if one[0] != "date"]

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters that may be broken, and a scontrol and a scancel that break them right before they run.

A task that is given :func:`fault` as its environment finds a wrapper first on its PATH. At the call
that AT names (a pattern of the shell, for scancel one that begins with this word) the wrapper does
what DO says, and then runs the real program. What undoes it goes on when the wrapper has ended.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.hpcops.slurm.tests.integration.conftest import SANDBOX, Cluster
from ansible_collections.hpcops.slurm.tests.integration.write_plays import shell

#: Seconds that a credential lives on the fleet, and until a call is ended.
CREDENTIAL, TTL = 20, 12
#: Seconds for which slurmctld hangs: until the call was ended, until the read after it has given up
#: too, and until the credential has expired.
ALIVE, LATE, EXPIRED = 13, 16, 23

#: A task that waits until slurmctld answers, and has handled what waited for it.
UP = "until scontrol ping | grep -q 'is UP'; do sleep 0.3; done"
BACK = shell(f"{UP}; sleep 1")

FOLDER = "/opt/faulty"
#: The environment of a client that waits for a minute.
PATIENT = f"SLURM_CONF={FOLDER}/slurm.conf"
LONG_WAY = Path(__file__).with_name("late.py")
WRAPPER = r"""#!/bin/sh
real=/usr/bin/${0##*/} said=$*
case $0 in
  */scancel) said="scancel $*" ;;
esac
pause() { slurm-service pause slurmctld || exit 98; }
later() { setsid sh -c "sleep $1; $2" </dev/null >/dev/null 2>&1 & }
parent() { read -r _pid _name _state parent _rest < "/proc/$1/stat"; echo "$parent"; }
# Above this wrapper: timeout, the script, the module.
script() { parent "$PPID"; }
module() { parent "$(script)"; }
# The processes that serve the connection, without the daemon that listens.
connection() {
  now=$(module)
  while [ "$now" -gt 1 ]; do
    above=$(parent "$now")
    case $(cat "/proc/$now/comm") in
      sshd*) if [ "$above" != 1 ]; then echo "$now"; fi ;;
    esac
    now=$above
  done
}
case $said in
  $AT)
    echo "$said" >> /tmp/faulty-calls
    case $DO in
      # What undoes it is started first: this wrapper may be killed.
      # The client would wait for a minute, and is ended before.
      hang)
        later "$FOR" "slurm-service continue slurmctld"
        pause
        export SLURM_CONF=/opt/faulty/slurm.conf
        ;;
      # Only this call is slow to arrive: slurmctld works, and answers whoever reads meanwhile.
      late) SLURM_CONF=$(python3 /opt/faulty/late.py "$FOR") || exit 98; export SLURM_CONF ;;
      # The client gives up by itself.
      mute) later "$FOR" "slurm-service continue slurmctld"; pause ;;
      half)
        # The first two ids of the list are sent; then slurmctld hangs.
        rest=${2#JobId=*,*,}
        first=${2%",$rest"}
        "$real" "$1" "$first" "$3"
        later "$FOR" "slurm-service continue slurmctld"
        pause
        export SLURM_CONF=/opt/faulty/slurm.conf
        set -- "$1" "JobId=$rest" "$3"
        ;;
      crash) later "$FOR" "slurm-service start slurmctld"; slurm-service kill slurmctld ;;
      munged) later "$FOR" "slurm-service start munged"; slurm-service stop munged ;;
      wait) sleep "$FOR" ;;
      # slurmctld saves its state at this change, and then not for some seconds.
      save) "$real" update "$2" Comment=saved; sleep "$FOR" ;;
      kill-module) kill -9 "$(module)"; sleep "$FOR" ;;
      kill-script) kill -9 "$(script)" ;;
      kill-both) kill -9 "$(module)" "$(script)" ;;
      kill-connection) kill -9 $(connection); sleep "$FOR" ;;
      talk)
        echo "site: this call is logged"
        echo "site: this call is logged" >&2
        printf '\036DSL 0000000000000000 call 1 0\n'
        ;;
      lie) "$real" "$@" 2> /dev/null; exit 0 ;;
      forge) printf '\036DSL 0000000000000000 call 1 0\n' >&2 ;;
    esac
    ;;
esac
exec "$real" "$@"
"""


def fault(do: str, at: str = "*StartTime=*", seconds: float = 0) -> dict[str, str]:
    """The environment of a task whose scontrol does this at such a call."""
    path = f"{FOLDER}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {"PATH": path, "DO": do, "AT": at, "FOR": str(seconds)}


def install(cluster: Cluster) -> None:
    """Put the wrapper there, and the configuration of a client that is patient."""
    text = (
        f"mkdir -p {FOLDER} && cat > {FOLDER}/scontrol && chmod 755 {FOLDER}/scontrol &&"
        f" ln -sf scontrol {FOLDER}/scancel && printf '%s' \"$1\" > {FOLDER}/late.py &&"
        " sed 's/^MessageTimeout=.*/MessageTimeout=60/' /etc/slurm/slurm.conf"
        f" > {FOLDER}/slurm.conf"
    )
    made = cluster.sh(["sh", "-c", text, "sh", LONG_WAY.read_text("utf-8")], stdin=WRAPPER.encode())
    assert made.status == 0, made


def mend(cluster: Cluster) -> None:
    """Bring back the nodes that faults have cost.

    A slurmctld that cannot register them when it starts, for want of munge, does without them for
    a while; and it drains one whose jobs went wrong.
    """
    text = (
        "for n in $(sinfo -h -N -t down,drain,fail -o %N | sort -u); do"
        " scontrol update NodeName=$n State=RESUME; done;"
        " for i in $(seq 600); do"
        " sinfo -h -N -o %T | grep -Eqv '^(idle|mixed|allocated)$' || exit 0; sleep 0.3; done;"
        " sinfo -N -o '%N %T %E'; exit 1"
    )
    whole = cluster.sh(["sh", "-c", text])
    assert whole.status == 0, whole


@contextmanager
def own_clusters(
    wanted: Sequence[tuple[str, str]],
    *settings: str,
    clock_offsets: Mapping[str, int] | None = None,
) -> Iterator[dict[str, Cluster]]:
    """Clusters that tests may break, by name: (name, variant) each.

    ``clock_offsets``: seconds that slurmctld's clock is ahead, by name. They start at the same
    time. One that ran before stays, any other is taken down in the end.
    """
    before = {name for name, _variant in wanted if Cluster(name).runs}
    ahead = clock_offsets or {}
    options = [word for setting in settings for word in ("--set", setting)]
    starts = [
        subprocess.Popen(
            [str(SANDBOX), "up", variant, "--name", name, *options]
            + (["--clock-offset", str(ahead[name])] if name in ahead else []),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for name, variant in wanted
    ]
    try:
        for process in starts:
            said = process.communicate(timeout=600)[0]
            assert process.returncode == 0, said.decode()
        found = {name: Cluster(name) for name, _variant in wanted}
        for name, variant in wanted:
            install(found[name])
            # One that was killed before it has saved all of its state does not start (26.05).
            if variant.startswith("forky"):
                found[name].sh(["slurm-service", "restart", "slurmctld"])
                assert found[name].sh(["sh", "-c", UP]).status == 0
        yield found
    finally:
        for process in starts:
            process.wait()
        for name, _variant in wanted:
            if name not in before:
                subprocess.run([str(SANDBOX), "down", name], check=True, capture_output=True)

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sandbox keeps what it promises, checked with raw commands on the clusters.

Clusters with their default names are tested where they run, and skipped where they don't: start all
with `for variant in $(tests/sandbox/sandbox list); do tests/sandbox/sandbox up $variant; done`.
One cluster more is started and removed here.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SANDBOX = Path(__file__).resolve().parents[1] / "sandbox" / "sandbox"
STATE = SANDBOX.parent / ".state"
OWN = "sandbox-test"

# Variant: Slurm release, AuthType, AccountingStorageType, AccountingStoreFlags.
DBD = "accounting_storage/slurmdbd"
EXPECTED = {
    "bookworm-munge": ("22.05.", "auth/munge", DBD, "job_comment"),
    "trixie-munge": ("24.11.", "auth/munge", DBD, "job_comment"),
    "forky-munge": ("26.05.", "auth/munge", DBD, "job_comment"),
    "trixie-slurm": ("24.11.", "auth/slurm", DBD, "job_comment"),
    "forky-slurm": ("26.05.", "auth/slurm", DBD, "job_comment"),
    "trixie-noaccounting": ("24.11.", "auth/munge", "(null)", "(null)"),
    "trixie-nocomment": ("24.11.", "auth/munge", DBD, "(null)"),
    "trixie-authnone": ("24.11.", "auth/none", DBD, "job_comment"),
}

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox's containers are root's")


def sandbox(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Runs the sandbox command."""
    return subprocess.run(
        [SANDBOX, *arguments], check=False, capture_output=True, text=True, input=stdin, timeout=900
    )


def inside(name: str, command: str, user: str = "root", stdin: str = "") -> str:
    """Runs a shell command in a cluster, which must succeed; returns its output."""
    done = sandbox("exec", name, "--user", user, "--", "sh", "-c", command, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


def settings(name: str) -> dict[str, str]:
    """What `scontrol show config` shows."""
    lines = inside(name, "scontrol show config").splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {key.strip(): value.strip() for key, _sign, value in pairs}


def wait_until(seen: Callable[[], bool]) -> None:
    """Asks until the answer is yes; fails after 30 s."""
    limit = time.monotonic() + 30
    while not seen():
        assert time.monotonic() < limit
        time.sleep(0.2)


@pytest.fixture(params=EXPECTED)
def variant(request: pytest.FixtureRequest) -> str:
    """The name of a running cluster, one for each variant."""
    name: str = request.param
    if sandbox("exec", name, "--", "true").returncode == 125:
        pytest.skip(f"cluster {name} does not run")
    return name


@pytest.fixture(scope="module")
def own() -> Iterator[str]:
    """A cluster of this module's own, which tests may break."""
    done = sandbox("up", "trixie-munge", "--name", OWN)
    assert done.returncode == 0, done.stderr
    yield OWN
    assert sandbox("down", OWN).returncode == 0
    assert not (STATE / OWN).exists()


def test_list_names_the_variants() -> None:
    assert sandbox("list").stdout.splitlines() == list(EXPECTED)


def test_cluster_is_what_its_variant_says(variant: str) -> None:
    version, auth, storage, flags = EXPECTED[variant]
    shown = settings(variant)
    assert shown["SLURM_VERSION"].startswith(version)
    assert shown["AuthType"] == auth
    assert shown["AccountingStorageType"] == storage
    assert shown["AccountingStoreFlags"] == flags
    assert shown["ClusterName"] == variant.replace("-", "")


def test_job_runs_and_its_comment_is_kept_as_the_variant_says(variant: str) -> None:
    _version, _auth, storage, flags = EXPECTED[variant]
    submit = "sbatch --parsable --output=/dev/null --comment=kept --wrap=true"
    job = inside(variant, submit, user="user1").strip()
    wait_until(lambda: "JobState=COMPLETED" in inside(variant, f"scontrol show job {job}"))
    read = ("sacct", "-n", "-X", "-P", "-o", "State,Comment", "-j", job)
    if storage != DBD:
        done = sandbox("exec", variant, "--", *read)
        assert done.returncode == 1
        assert "Slurm accounting storage is disabled" in done.stderr
        return
    wanted = "COMPLETED|kept\n" if flags == "job_comment" else "COMPLETED|\n"
    wait_until(lambda: sandbox("exec", variant, "--", *read).stdout == wanted)


def test_users_log_in_with_the_inventory(variant: str) -> None:
    text = (STATE / variant / "inventory.yml").read_text(encoding="utf-8")
    address = text.split('ansible_host: "')[1].split('"')[0]
    for user in ("root", "operator", "user1", "user2"):
        done = subprocess.run(
            ["ssh", "-F", "none", "-i", STATE / "ed25519", "-o", "BatchMode=yes", "-o",
             f'UserKnownHostsFile="{STATE / variant / "known_hosts"}"', "-o",
             "StrictHostKeyChecking=yes", f"{user}@{address}", "id -un"],
            check=False, capture_output=True, text=True, timeout=30,
        )  # fmt: skip
        assert done.stdout == f"{user}\n", done.stderr


@pytest.mark.parametrize("status", [0, 1, 7, 124, 255])
def test_exec_hands_the_exit_status_on(own: str, status: int) -> None:
    assert sandbox("exec", own, "--", "sh", "-c", f"exit {status}").returncode == status


def test_exec_hands_streams_and_arguments_on(own: str) -> None:
    text = "first\n\tsecond \u00e4"
    done = sandbox("exec", own, "--", "sh", "-c", "cat; echo said >&2", stdin=text)
    assert (done.stdout, done.stderr) == (text, "said\n")
    done = sandbox("exec", own, "--", "printf", "<%s>", "a b", "", "$HOME", "--", "--user")
    assert done.stdout == "<a b><><$HOME><--><--user>"


def test_exec_changes_the_user(own: str) -> None:
    seen = inside(own, 'echo "$(id -un) $(id -ru) $HOME $PWD"', user="user2")
    assert seen == "user2 2002 /home/user2 /home/user2\n"
    assert inside(own, 'echo "$(id -un) $HOME"') == "root /root\n"


def test_exec_in_no_cluster_and_as_nobody_known() -> None:
    done = sandbox("exec", "no-such-cluster", "--", "true")
    assert done.returncode == 125
    assert "cluster no-such-cluster does not exist" in done.stderr


def test_exec_as_an_unknown_user(own: str) -> None:
    assert sandbox("exec", own, "--user", "stranger", "--", "true").returncode == 125


def test_unknown_variant_is_a_clear_error() -> None:
    done = sandbox("up", "sarge-munge")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no variant 'sarge-munge'" in done.stderr
    assert all(variant in done.stderr for variant in EXPECTED)


@pytest.mark.parametrize("arguments", [("--name", "Up_per"), ("--set", "novalue")])
def test_wrong_option_is_a_clear_error(arguments: tuple[str, str]) -> None:
    done = sandbox("up", "trixie-munge", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert repr(arguments[1]) in done.stderr


def test_up_again_prints_the_same_inventory_and_leaves_the_cluster_alone(own: str) -> None:
    before = inside(own, "stat --format=%Z /proc/1 && scontrol show config | grep BOOT_TIME")
    done = sandbox("up", "trixie-munge", "--name", own)
    assert done.returncode == 0
    assert done.stdout == f"{STATE / own / 'inventory.yml'}\n"
    after = inside(own, "stat --format=%Z /proc/1 && scontrol show config | grep BOOT_TIME")
    assert after == before


def test_services_stop_and_start(own: str) -> None:
    assert "is UP" in inside(own, "scontrol ping")
    inside(own, "slurm-service kill slurmctld")
    assert sandbox("exec", own, "--", "scontrol", "ping").returncode == 1
    inside(own, "slurm-service start slurmctld")
    assert "is UP" in inside(own, "scontrol ping")
    inside(own, "slurm-service pause slurmctld")
    assert sandbox("exec", own, "--", "timeout", "3", "scontrol", "ping").returncode == 124
    inside(own, "slurm-service continue slurmctld")
    assert "is UP" in inside(own, "scontrol ping")


def test_up_with_other_options_makes_the_cluster_anew(own: str) -> None:
    changed = ("--set", "MinJobAge=30", "--set", "SlurmctldTimeout=", "--set", "JobRequeue=0")
    done = sandbox("up", "trixie-munge", "--name", own, *changed, "--clock-offset", "90")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{STATE / own / 'inventory.yml'}\n"
    shown = settings(own)
    assert shown["MinJobAge"] == "30 sec"
    assert shown["SlurmctldTimeout"] == "120 sec"  # Slurm's default, as the sandbox's was removed
    assert shown["JobRequeue"] == "0"
    clocks = inside(own, "SLURM_TIME_FORMAT=%s scontrol show config | head -n 1; date +%s")
    controller, here = (int(line.split()[-1]) for line in clocks.splitlines())
    assert 89 <= controller - here <= 91

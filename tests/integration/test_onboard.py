# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook onboard and the module config_setting on three releases of Slurm.

What is in effect is taken from raw ``scontrol show config``, what the files say from the files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.integration import plays
from ansible_collections.hpcops.slurm.tests.integration.conftest import SANDBOX, Cluster
from ansible_collections.hpcops.slurm.tests.integration.faults import fault, own_clusters
from ansible_collections.hpcops.slurm.tests.integration.plays import Result, Run, raw, task
from ansible_collections.hpcops.slurm.tests.integration.test_guides import guide

OLD = "onboard-bookworm"
WANTED = [
    (OLD, "bookworm-munge"),
    ("onboard-trixie", "trixie-munge"),
    ("onboard-forky", "forky-slurm"),
]
NAMES = [name for name, _variant in WANTED]
#: Where what check mode shows is looked at: it is the same on all.
SHOWN = "onboard-trixie"
#: Where the playbook is run twice: where a reconfigure is not all, and where it is.
TWICE = (OLD, SHOWN)
CONF = "/etc/slurm/slurm.conf"
#: Seconds that one play may take.
LONGEST = 600.0

#: What the running controller has, and what is in every file below.
LOOK = r"""
scontrol show config | sed -n 's/^\(MinJobAge\|AuthInfo\|AccountingStoreFlags\|KillWait\) *= /\1=/p
  s/^HASH_VAL *= \([A-Za-z]*\).*/HASH_VAL=\1/p'
for file in /etc/slurm/*.conf /etc/slurm/site.d/*.conf /srv/site/*.conf; do
  if [ -L "$file" ]; then printf '== %s -> %s\n' "$file" "$(readlink "$file")"; continue; fi
  if [ -e "$file" ]; then printf '== %s %s\n' "$file" "$(stat --format='%a %U:%G' "$file")"; fi
  cat "$file" 2>/dev/null; echo
done
"""

#: slurm.conf is a link, its settings are in files that it includes, one of them twice, in odd case,
#: commented, quoted, continued, and without a newline at the end. Which of the two limits.conf
#: Slurm reads depends on the release.
SITE = r"""
set -e
mkdir -p /srv/site /etc/slurm/site.d
name=$(sed -n 's/^ClusterName=//p' /etc/slurm/slurm.conf)
grep -Ev '^(MinJobAge|AuthInfo|AccountingStoreFlags)' /etc/slurm/slurm.conf > /srv/site/main.conf
printf '#MinJobAge=1\nMINJOBAGE=77\nInclude %%c-site.conf\ninclude site.d/last.conf # last' \
  >> /srv/site/main.conf
printf 'authinfo=cred_expire=90,\\\nttl=299 # ours\naccountingstoreflags = "job_script" # keep\n' \
  > /etc/slurm/$name-site.conf
printf 'Include limits.conf\n' > /etc/slurm/site.d/last.conf
printf '#MinJobAge=2\\\nminJobAge = 88 # twice' > /etc/slurm/limits.conf
cp /etc/slurm/limits.conf /etc/slurm/site.d/
chown root:operator /etc/slurm/$name-site.conf; chmod 664 /etc/slurm/$name-site.conf
ln -sf /srv/site/main.conf /etc/slurm/slurm.conf
scontrol reconfigure
"""

#: Accounting keeps a comment only where slurmctld knows the flag.
COMMENT = r"""
job=$(sbatch --parsable --comment=kept --output=/dev/null --wrap=true)
for _try in $(seq 100); do
  sacct -X -n -P -o Comment -j "$job" | grep -qx kept && exit 0
  sleep 0.3
done
exit 1
"""

MAIN = "/srv/site/main.conf 644 root:root"
SITE_BEFORE = """authinfo=cred_expire=90,\\
ttl=299 # ours
accountingstoreflags = "job_script" # keep"""
SITE_AFTER = """authinfo=cred_expire=90,\\
ttl=30 # ours
accountingstoreflags = "job_script,job_comment" # keep"""

#: A relative name in an included file is looked for beside that file up to 22.05, and beside
#: slurm.conf afterwards.
LIMITS = dict.fromkeys(NAMES, "/etc/slurm/limits.conf 644 root:root")
LIMITS[OLD] = "/etc/slurm/site.d/limits.conf 644 root:root"

FLAGS = {"name": "AccountingStoreFlags", "members": ["job_comment"]}
TTL = {"name": "AuthInfo", "part": "ttl", "at_most": 30}


def age(least: int) -> dict[str, Any]:
    return {"name": "minjobage", "at_least": least}


def change(name: str, *settings: Mapping[str, Any], **more: Any) -> plays.Task:
    """A task of the module; ``options`` are the module's further ones."""
    options = {"settings": list(settings), "settle_timeout": 20, **more.pop("options", {})}
    return task(name, "hpcops.slurm.config_setting", options, **more)


def look(name: str) -> plays.Task:
    return raw(name, "sh", "-c", LOOK, check_mode=False)


@dataclass(frozen=True)
class Story:
    """What was done with all clusters, and what was seen in between."""

    runs: Mapping[str, Run]
    reports: Path

    def result(self, host: str, name: str) -> Result:
        found = [
            one
            for run in self.runs.values()
            for one in run.results
            if one.task == name and one.host == host
        ]
        assert len(found) == 1, (name, host, [run.output for run in self.runs.values()])
        return found[0]

    def live(self, host: str, name: str) -> dict[str, str]:
        """What the controller had at a look."""
        lines = self.result(host, name).lines
        end = next(i for i, line in enumerate(lines) if line.startswith("== "))
        return dict(line.split("=", 1) for line in lines[:end])

    def files(self, host: str, name: str) -> dict[str, str]:
        """The files at a look, by name, mode and owner."""
        text = "\n".join(self.result(host, name).lines)
        pieces = (piece.partition("\n") for piece in text.split("\n== ")[1:])
        return {head: content.rstrip("\n") for head, _newline, content in pieces}

    def setting(self, host: str, name: str, key: str) -> dict[str, Any]:
        """One of the settings in the module's result."""
        result = self.result(host, name)
        assert result.status == "ok", result.result
        (found,) = (one for one in result.result["settings"] if one["name"] == key)
        return dict(found)

    def refusal(self, host: str, name: str) -> str:
        result = self.result(host, name)
        assert result.status == "failed", result.result
        return str(result.result["msg"])


def elsewhere(folder: Path) -> dict[str, str]:
    """The environment of a host with Slurm's commands and no slurm.conf."""
    text = f'#!/bin/sh\nexec "{SANDBOX}" exec "$CLUSTER" -- scontrol "$@"\n'
    (folder / "scontrol").write_text(text)
    (folder / "scontrol").chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin:/usr/sbin", "CLUSTER": "{{ inventory_hostname }}"}


def difficult(folder: Path) -> list[plays.Task]:
    """What is done to the module after the onboarding."""
    operator = {"become": True, "become_user": "operator"}
    here = {"delegate_to": "localhost", "environment": elsewhere(folder)}
    late = (
        r'printf "\nKillWait=6\n" | tee -a /etc/slurm/limits.conf >> /etc/slurm/site.d/limits.conf'
    )
    return [
        look("onboarded"),
        raw("comment", "sh", "-c", COMMENT),
        raw("site", "sh", "-c", SITE),
        look("before"),
        change("predicted", FLAGS, age(300), TTL, check_mode=True, diff=True),
        change("as user", FLAGS, age(300), TTL, **operator),
        change("elsewhere", age(300), **here),
        change("typo", {"name": "AccountingStoreFlags", "members": ["job_coment"]}, age(300)),
        change("no number", {"name": "MinJobAge", "part": "x", "at_most": 1}),
        change("no setting", {"name": "MinJobAgee", "at_least": 1}, age(300)),
        change("dead", age(300), environment=fault("crash", "reconfigure", 600)),
        raw("alive", "slurm-service", "start", "slurmctld"),
        look("after refusals"),
        change("changed", FLAGS, age(300), TTL),
        look("after the change"),
        change("again", FLAGS, age(300), TTL),
        raw("others", "sh", "-c", late),
        change("pending", age(400)),
        look("after pending"),
        change("all", age(400), options={"apply_pending": True, "backup": False}),
        look("after all"),
        *guide("onboard", 1),
    ]


def play(tasks: list[plays.Task], *arguments: str, **more: Any) -> Run:
    """Run tasks, and then what the arguments name, on all clusters."""
    run = plays.start(NAMES, tasks, arguments, pipelining=True, **more)
    return plays.ended(run.wait(LONGEST))


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """All runs; the clusters are taken down in the end."""
    reports = tmp_path_factory.mktemp("reports")
    settings = [
        *("AccountingStoreFlags=job_script", "AuthInfo=cred_expire=90"),
        *("MessageTimeout=2", "SlurmctldParameters=enable_configless"),
    ]
    more = {
        "capability_audit_report_dir": str(reports),
        "capability_audit_report_formats": ["json"],
        "capability_audit_poll_interval": 120,
        "capability_audit_required_capabilities": [],
        "capability_audit_fail_on": ["fail"],
        "capability_audit_probe": "never",
        "onboard_credential_lifetime": 30,
    }
    book = ["hpcops.slurm.onboard", "-e", json.dumps(more)]
    apply = [*book, "-e", "onboard_apply=true"]
    with own_clusters(WANTED, *settings):
        limit = ["--check", "--diff", "--limit", SHOWN]
        predict = play([look("at first")], *apply, *limit)
        first = play([look("after the prediction")], *apply)
        second = play([], *apply, "--limit", ",".join(TWICE))
        hard = play(difficult(tmp_path_factory.mktemp("elsewhere")), strategy="free")
        yield Story({"predict": predict, "first": first, "second": second, "hard": hard}, reports)


def printed(run: Run, host: str) -> list[str]:
    found = run.result("Say what to change in slurm.conf", host).result["msg"]
    return [str(line) for line in found]


@pytest.mark.parametrize("host", NAMES)
def test_the_lines_are_printed(story: Story, host: str) -> None:
    flags, minimum, info = printed(story.runs["first"], host)
    assert flags.startswith("AccountingStoreFlags=job_script,job_comment  # now job_script; ")
    assert minimum.startswith(
        "MinJobAge=120  # now 60; apply with scontrol reconfigure; no restart"
    )
    assert info.startswith("AuthInfo=cred_expire=90,ttl=30  # now cred_expire=90; apply with ")
    assert ("until they are restarted" in info) is (host == OLD)
    assert ("restart sackd" in info) is (host == "onboard-forky")


def test_check_mode_shows_the_change_and_makes_none(story: Story) -> None:
    result = story.runs["predict"].result("Change the lines and see that they count", SHOWN)
    assert (result.status, result.result["changed"]) == ("ok", True)
    (shown,) = result.result["diff"]
    assert "-MinJobAge=60\n+MinJobAge=120\n" in shown["prepared"]
    looks = ("at first", "after the prediction")
    before, after = (story.result(SHOWN, name).lines for name in looks)
    assert before == after
    assert printed(story.runs["predict"], SHOWN) == printed(story.runs["first"], SHOWN)
    assert story.runs["predict"].process.returncode == 2  # the policy does not accept it yet


@pytest.mark.parametrize("host", NAMES)
def test_the_running_controller_has_the_three_settings(story: Story, host: str) -> None:
    live = story.live(host, "onboarded")
    assert live["MinJobAge"] == "120 sec"
    assert set(live["AccountingStoreFlags"].split(",")) == {"job_comment", "job_script"}
    assert live["AuthInfo"] == "cred_expire=90,ttl=30"
    assert live["HASH_VAL"] == "Match"
    assert story.result(host, "comment").status == "ok"


@pytest.mark.parametrize("host", NAMES)
def test_old_daemons_keep_their_credentials(story: Story, host: str) -> None:
    """On 22.05 a reconfigure shows the new lifetime, and slurmctld goes on with the old one."""
    task_name = "Change the lines and see that they count"
    runs = [("first", "yes"), ("second", "unknown")]
    for run, needed in runs if host in TWICE else runs[:1]:
        settings = story.runs[run].result(task_name, host).result["settings"]
        found = {one["name"]: one["restart_needed"] for one in settings}
        info = needed if host == OLD else "no"
        assert found == {"AccountingStoreFlags": "no", "MinJobAge": "no", "AuthInfo": info}


def test_the_second_run_changes_nothing(story: Story) -> None:
    assert [story.runs[name].process.returncode for name in ("first", "second")] == [0, 0]
    second = story.runs["second"].results
    changed = {one.task for one in second if one.result.get("changed")}
    assert changed <= {"Write the fleet's reports"}  # which has fewer clusters this time
    for host in TWICE:
        assert printed(story.runs["second"], host) == ["nothing"]


@pytest.mark.parametrize("host", NAMES)
def test_a_baseline_is_kept(story: Story, host: str) -> None:
    report = json.loads((story.reports / f"{host}.json").read_text())
    settings = {one["name"]: one["last_known"] for one in report["settings"]}
    assert settings["MinJobAge"] == "120 s"
    assert settings["AuthInfo"] == "cred_expire=90,ttl=30"


# The module


@pytest.mark.parametrize("host", NAMES)
def test_of_two_lines_the_last_counts(story: Story, host: str) -> None:
    assert story.result(host, "site").status == "ok"
    live = story.live(host, "before")
    assert (live["MinJobAge"], live["AuthInfo"]) == ("88 sec", "cred_expire=90,ttl=299")
    assert (live["AccountingStoreFlags"], live["HASH_VAL"]) == ("job_script", "Match")


@pytest.mark.parametrize("host", NAMES)
def test_each_line_is_changed_where_it_stands(story: Story, host: str) -> None:
    before, after = (story.files(host, name) for name in ("before", "after the change"))
    limits = LIMITS[host]
    site = next(name for name in before if name.endswith("-site.conf 664 root:operator"))
    assert before[site] == SITE_BEFORE
    assert before[limits].endswith("minJobAge = 88 # twice")
    before[site] = SITE_AFTER
    before[limits] = before[limits].replace("88", "300")
    assert after == before
    assert f"{CONF} -> /srv/site/main.conf" in after
    assert "\n#MinJobAge=1\nMINJOBAGE=77\nInclude %c-site.conf\n" in after[MAIN]
    live = story.live(host, "after the change")
    assert (live["MinJobAge"], live["AuthInfo"]) == ("300 sec", "cred_expire=90,ttl=30")
    assert set(live["AccountingStoreFlags"].split(",")) == {"job_comment", "job_script"}
    assert live["HASH_VAL"] == "Match"
    result = story.result(host, "changed")
    assert len(result.result["backup_files"]) == 2
    assert "MinJobAge is set more than once" in result.warnings
    file = story.setting(host, "changed", "MinJobAge")["file"]
    assert limits == f"{file} 644 root:root"


@pytest.mark.parametrize("host", NAMES)
def test_once_is_enough(story: Story, host: str) -> None:
    assert story.result(host, "predicted").result["changed"] is True
    again = story.result(host, "again").result
    assert (again["changed"], again["reconfigured"], again["backup_files"]) == (False, False, [])


@pytest.mark.parametrize("host", NAMES)
def test_what_was_refused_changed_nothing(story: Story, host: str) -> None:
    assert story.files(host, "after refusals") == story.files(host, "before")
    assert story.live(host, "after refusals") == story.live(host, "before")


@pytest.mark.parametrize("host", NAMES)
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("as user", "this user may not write in the folder of /etc/slurm/"),
        ("no number", "Slurm's own parser refuses the changed slurm.conf: scontrol: "),
        ("no setting", "MinJobAgee is no setting that this controller lists"),
        ("typo", "slurmctld has read slurm.conf, and does not take the value"),
        ("dead", "scontrol reconfigure failed: "),
        ("dead", "slurmctld does not answer: start it on its host"),
        ("pending", "was changed since slurmctld read it (HASH_VAL = Different"),
    ],
)
def test_refusals(story: Story, host: str, name: str, said: str) -> None:
    assert said in story.refusal(host, name)


@pytest.mark.parametrize("host", NAMES)
def test_what_was_written_is_taken_back(story: Story, host: str) -> None:
    for name in ("typo", "dead"):
        assert story.result(host, name).result["rolled_back"] is True


@pytest.mark.parametrize("host", NAMES)
def test_a_configless_host_is_sent_to_the_controller(story: Story, host: str) -> None:
    assert "(configless). Nothing was changed. Run this on the controller's host: " in (
        story.refusal(host, "elsewhere")
    )
    assert story.result(host, "elsewhere").result["controller_hosts"] == [host]


@pytest.mark.parametrize("host", NAMES)
def test_changes_of_others_wait(story: Story, host: str) -> None:
    live = story.live(host, "after pending")
    assert (live["MinJobAge"], live["KillWait"], live["HASH_VAL"]) == (
        "300 sec",
        "5 sec",
        "Different",
    )
    assert "minJobAge = 300 # twice\nKillWait=6" in story.files(host, "after pending")[LIMITS[host]]
    live = story.live(host, "after all")
    assert (live["MinJobAge"], live["KillWait"], live["HASH_VAL"]) == ("400 sec", "6 sec", "Match")
    assert story.result(host, "all").result["backup_files"] == []
    said = story.result(host, "Show what the running controller has").result["msg"]
    assert said == "MinJobAge is 400"  # the play of the guide has lowered nothing


def test_clusters_answer_at_the_end(story: Story) -> None:
    for name in NAMES:
        assert "is UP" in Cluster(name).sh(["scontrol", "ping"]).text

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""preflight on every cluster that runs, against what Slurm's own commands say.

One play is run on all clusters at once, as root, and one as the operator; between its tasks raw
commands record the truth.
"""

from __future__ import annotations

import re

import pytest

from ansible_collections.hpcops.slurm.tests.integration.conftest import (
    Cluster,
)
from ansible_collections.hpcops.slurm.tests.integration.plays import (
    Result,
    Run,
    Task,
    play,
    preflight,
    raw,
    task,
)

LOCAL_FACT = "/etc/ansible/facts.d/slurm_preflight.fact"
OPERATORS_CACHE = "/home/operator/.local/state/hpcops.slurm/preflight.json"
USERS_CACHE = "/tmp/preflight-of-user2.json"
READ_ONLY = ("unknown", "read-only, and no cached probe")


#: What is true at one time: the listing, the cache files, the queue; of the probe also its log
#: lines and its row.
TRUTH = f"""
scontrol show config
printf '== file\\n'
stat --format='%U %a %n' {LOCAL_FACT} {OPERATORS_CACHE} {USERS_CACHE} 2>/dev/null
printf '== queue\\n'
squeue --noheader --states=all --name=hpcops-slurm-preflight --format='%i %T %u'
printf '== log\\n'
grep --word-regexp "JobId=$job" /var/log/slurm/slurmctld.log
printf '== accounting\\n'
sacct -X -n -P -o State,Start,End,Elapsed,Comment -j "${{job:-0}}"
true
"""


def truth(name: str, first: str = "", probe: str = "") -> Task:
    """Raw commands; ``probe`` is the registered result whose job they are about."""
    job = "{{ %s.ansible_facts.slurm_preflight.probe.job_id }}" % probe if probe else ""
    environment = {"SLURM_TIME_FORMAT": "%s", "TZ": "UTC", "job": job}
    return raw(name, "sh", "-c", first + TRUTH, environment=environment)


AS_ROOT = [
    truth("before", f"rm -f {LOCAL_FACT} {OPERATORS_CACHE} {USERS_CACHE};"),
    preflight("never", probe="never"),
    preflight("predicted", {"check_mode": True}),
    truth("after reading"),
    preflight("probe", {"register": "probe"}),
    truth("after the probe", probe="probe"),
    preflight("cached"),
    preflight("predicted, cached", {"check_mode": True}),
    truth("after the cached ones"),
    task("setup", "ansible.builtin.setup", {"gather_subset": ["!all", "!min", "local"]}),
    preflight(
        "become",
        {"become": True, "become_user": "user2"},
        cache_path=USERS_CACHE,
        cessation_command=["/usr/bin/true"],
        rules=["Paint", "Hold", "Requeue", "Restart", "Escalate", "Resubmit"],
    ),
    truth("at the end"),
]
AS_OPERATOR = [preflight("probe"), preflight("cached"), truth("at the end")]


@pytest.fixture(scope="session")
def plays(cluster: Cluster) -> tuple[Run, Run]:
    """Both plays."""
    names = [cluster.name]
    root = play(names, AS_ROOT, pipelining=True)
    return root, play(names, AS_OPERATOR, ["-e", "ansible_user=operator"], pipelining=True)


class Story:
    """What the plays did on one cluster."""

    def __init__(self, plays: tuple[Run, Run], cluster: Cluster) -> None:
        self.plays, self.name = plays, cluster.name

    def __getitem__(self, task: str) -> Result:
        return self.plays[0].result(task, self.name)

    def operator(self, task: str) -> Result:
        """A result of the play as the operator."""
        return self.plays[1].result(task, self.name)

    def truth(self, task: str, section: str, operator: bool = False) -> list[str]:
        """The lines of one section of the raw commands."""
        result = self.operator(task) if operator else self[task]
        text = "\n".join(result.lines)
        parts = (part.partition("\n") for part in f"listing\n{text}".split("\n== "))
        lines = {name: rest.split("\n") for name, _sign, rest in parts}
        return [line for line in lines[section] if line]

    def config(self, task: str = "before") -> dict[str, str]:
        """A raw listing as text, the keys' spelling Slurm's."""
        pairs = (line.partition("=") for line in self.truth(task, "listing") if "=" in line)
        return {key.strip(): value.strip() for key, _sign, value in pairs}

    def seconds(self, key: str) -> int:
        """A duration of the raw listing."""
        number, unit = self.config()[key].split()
        assert unit == "sec"
        return int(number)


@pytest.fixture
def story(plays: tuple[Run, Run], cluster: Cluster) -> Story:
    return Story(plays, cluster)


def test_every_task_succeeded(story: Story) -> None:
    for run in story.plays:
        assert run.process.returncode == 0, run.output
        assert [one.task for one in run.results if one.status != "ok"] == []


# The fact against the raw listing


def test_cluster_and_settings_are_the_live_ones(story: Story) -> None:
    config, facts = story.config(), story["probe"].facts
    assert facts["cluster"]["name"] == config["ClusterName"]
    assert facts["cluster"]["version"] == config["SLURM_VERSION"]
    assert facts["cluster"]["auth_type"] == config["AuthType"]
    assert facts["cluster"]["controllers"] == [
        {"role": "primary", "host": config["SlurmctldHost[0]"], "up": "yes"}
    ]
    assert (facts["cluster"]["usable"], facts["cluster"]["degraded"]) == ("yes", "no")
    settings = facts["settings"]
    for key in ("MinJobAge", "MessageTimeout", "SlurmdTimeout", "KillWait"):
        assert settings[key] == story.seconds(key)
    assert settings["JobRequeue"] == int(config["JobRequeue"])
    for key in ("AuthType", "AuthInfo", "AccountingStorageType", "ClusterName", "SLURM_VERSION"):
        assert settings[key] == (None if config[key] == "(null)" else config[key])
    for key in (
        "AuthAltTypes",
        "AccountingStoreFlags",
        "PrologFlags",
        "SchedulerParameters",
        "JobSubmitPlugins",
        "PrivateData",
    ):
        empty = config[key] in ("(null)", "none", "")
        assert settings[key] == ([] if empty else config[key].split(","))


def expected_hold(config: dict[str, str]) -> tuple[str, str]:
    if config["AuthType"] in ("auth/munge", "auth/slurm"):
        return "yes", ""
    return "no", f'AuthType "{config["AuthType"]}" has no known landing bound'


def expected_history(config: dict[str, str]) -> tuple[str, str]:
    flags = config["AccountingStoreFlags"]
    if config["AccountingStorageType"] in ("(null)", "accounting_storage/none"):
        answer, reason = "no", "Slurm accounting storage is disabled"
    elif "job_comment" in flags.split(","):
        answer, reason = "yes", "comments are kept"
    else:
        answer = "yes"
        reason = "comments are not kept: AccountingStoreFlags lacks job_comment"
    return answer, f"{reason}; AccountingStoreFlags={flags}"


def test_hold_and_history_are_what_the_cluster_can_do(story: Story) -> None:
    config = story.config()
    for result in (story["probe"], story["cached"], story["become"], story.operator("cached")):
        assert result.support("Hold") == expected_hold(config)
        assert result.support("AccountingHistory") == expected_history(config)
        rules = {one["action"]: one["support"] for one in result.facts["rules"]}
        assert rules["Hold"] == expected_hold(config)[0]


@pytest.mark.parametrize("name", ["never", "probe", "cached", "become"])
def test_call_bound_follows_the_formula(story: Story, name: str) -> None:
    config, facts = story.config(), story[name].facts
    lifetime = {"auth/munge": 300, "auth/slurm": 60}.get(config["AuthType"])
    bound = facts["declarations"]["call_bound"]
    if lifetime is None:
        assert bound == 0
        return
    skew = facts["probe"]["skew"]
    assert bound == 5 + lifetime + max(0, skew) + story.seconds("MessageTimeout") + 1
    # Both clocks are this machine's: the bound may be too large by what the look took.
    assert -1 <= skew <= 5
    if name == "never":
        assert skew == 0


def test_declarations_follow_the_settings(story: Story) -> None:
    declared = story["probe"].facts["declarations"]
    age = story.seconds("MinJobAge")
    assert declared["node_loss_window"] == 2 * story.seconds("SlurmdTimeout") + 60
    assert declared["shortest_bounded_window"] == age
    history = expected_history(story.config())[0]
    assert declared["polled_loss"] == {
        "state": age,
        "cause": age,
        "exit_code": age,
        "execution": "unbounded" if history == "yes" else 0,
    }


NO_IMAGE = (
    "container images are not mapped in v1. A spec with the dispatch.Image extension is refused"
)
NO_REQUEUE = "jobs are submitted with --no-requeue, so Slurm never restarts one on its own"
#: What the spec declares, whatever the cluster: answers and reasons.
DECLARED = {
    "ContainerImage": ("no", NO_IMAGE),
    "NativeRequeue": ("no", NO_REQUEUE),
    "NativeRestart": ("no", NO_REQUEUE),
    "AttemptInjection": ("yes", "the batch script exports the DISPATCH_* variables"),
    "ReadmissionGate": (
        "no",
        "under --no-requeue Slurm never starts an execution on its own authority",
    ),
    "WorkingDirectory": ("yes", "--chdir"),
    "ProcsPerNode": ("yes", "--ntasks-per-node"),
    "OutputPath": ("yes", "the dispatch.Output extension; see Output files"),
    "OutputRead": ("yes", "stdout and stderr, each execution's file in turn"),
    "OutputFollow": ("yes", "polled every two seconds"),
    "OutputRetained": ("yes", "the files stay in output.dir on the cluster"),
}


@pytest.mark.parametrize("name", ["never", "probe", "cached", "become"])
def test_fourteen_capabilities(story: Story, name: str) -> None:
    config, found = story.config(), story[name].facts["capabilities"]
    assert [one["name"] for one in found] == (
        "ContainerImage NativeRequeue NativeRestart Hold PreTerminationSignal AccountingHistory"
        " AttemptInjection ReadmissionGate WorkingDirectory ProcsPerNode OutputPath OutputRead"
        " OutputFollow OutputRetained"
    ).split()
    killed = f"SIGTERM, then SIGKILL after KillWait {config['KillWait']}"
    unread = name == "never"
    assert {one["name"]: (one["support"], one["reason"]) for one in found} == {
        **DECLARED,
        "PreTerminationSignal": ("yes", killed),
        "Hold": READ_ONLY if unread else expected_hold(config),
        "AccountingHistory": READ_ONLY if unread else expected_history(config),
    }
    assert {one["name"] for one in found if one["source"] == "probed"} == {
        "Hold", "AccountingHistory"
    }  # fmt: skip


def test_rules(story: Story) -> None:
    """In the order in which they were asked for."""
    ended = "a job that has ended cannot be restarted or requeued under --no-requeue"
    found = story["become"].facts["rules"]
    columns = ("action", "support", "reason", "modules")
    assert [tuple(one[name] for name in columns) for one in found] == [
        ("Paint", "unknown", "action Paint", []),
        ("Hold", *expected_hold(story.config()), ["job_hold", "job_release"]),
        ("Requeue", "no", ended, []),
        ("Restart", "no", ended, []),
        ("Escalate", "yes", "", ["job_submit"]),
        ("Resubmit", "yes", "", ["job_submit"]),
    ]
    usual = [one["action"] for one in story["probe"].facts["rules"]]
    assert usual == ["Resubmit", "Escalate", "Restart", "Requeue", "Hold"]


@pytest.mark.parametrize("name", ["never", "probe", "become"])
def test_interfaces(story: Story, name: str) -> None:
    config = story.config()
    hold = expected_hold(config)[0]
    assert {one["name"]: one["offered"] for one in story[name].facts["interfaces"]} == {
        "Holder": "unknown" if name == "never" else hold,
        "Requeuer": hold,  # where there is a landing bound, holds work on these clusters
        "CessationSignal": "yes" if name == "become" else "no",
        "OutputReader": "yes",
        "MultiFinder": "yes",
    }


def test_checks_are_right_about_this_cluster(story: Story) -> None:
    config = story.config()
    verdicts = {one["name"]: one["verdict"] for one in story["probe"].facts["checks"]}
    usual = {"auth/munge", "auth/slurm"}
    off = config["AccountingStorageType"] == "(null)"
    wrong = {
        "auth_type": "pass" if config["AuthType"] in usual else "fail",
        "credential_lifetime": "pass" if config["AuthType"] in usual else "fail",
        "accounting_storage": "warn" if off else "pass",
        "accounting_reachable": "warn" if off else "pass",
        "accounting_store_flags": "pass"
        if "job_comment" in config["AccountingStoreFlags"]
        else "warn",
    }
    assert verdicts == {**dict.fromkeys(verdicts, "pass"), **wrong}
    assert len(verdicts) == 17


# The probe's job


def next_id(config: dict[str, str]) -> int:
    return int(config["NEXT_JOB_ID"])


def test_reading_submits_nothing(story: Story) -> None:
    assert next_id(story.config("after reading")) == next_id(story.config())
    for name, changed in (("never", False), ("predicted", True)):
        result = story[name]
        assert result.result["changed"] is changed
        for capability in ("Hold", "AccountingHistory"):
            assert result.support(capability) == READ_ONLY
        assert result.facts["probe"]["job_id"] is None


def test_the_probes_job_was_there_and_never_ran(story: Story) -> None:
    result, config = story["probe"], story.config()
    job = result.facts["probe"]["job_id"]
    assert result.result["changed"] is True
    assert next_id(story.config("after the probe")) == int(job) + 1
    log = "\n".join(story.truth("after the probe", "log"))
    assert "_slurm_rpc_submit_batch_job" in log
    assert "InitPrio=0" in log  # it was held from the beginning
    assert not re.search(r"sched: Allocate|Started JobId|backfill: Started", log)
    assert ("2100-01-01T00:00:01" in log) is (expected_hold(config)[0] == "yes")
    rows = [line.split("|") for line in story.truth("after the probe", "accounting")]
    if expected_history(config)[0] == "no":
        assert rows == []
        return
    ((state, began, ended, elapsed, comment),) = rows
    assert (state, elapsed) == ("CANCELLED by 0", "00:00:00")
    assert began in ("None", ended)  # 22.05 writes the end there
    kept = "job_comment" in config["AccountingStoreFlags"]
    assert comment.startswith("hpcops.slurm preflight probe host=") is kept


@pytest.mark.parametrize("user", ["root", "user2", "operator"])
def test_nothing_is_left_in_the_queue(story: Story, user: str) -> None:
    def states(when: str) -> set[str]:
        lines = story.truth(when, "queue", operator=user == "operator")
        return {line.split()[1] for line in lines if line.split()[2] == user}

    # Right after the probe the controller still knows that there was one.
    assert states("after the probe" if user == "root" else "at the end") == {"CANCELLED"}
    assert states("at the end") <= {"CANCELLED"}


def test_the_second_run_is_cached(story: Story) -> None:
    first, second = story["probe"], story["cached"]
    assert second.result["changed"] is False
    for name in ("cached", "predicted, cached"):
        again = story[name]
        assert again.result["changed"] is False
        probe = again.facts["probe"]
        assert probe["cached"] is True
        assert probe["age"] >= 0
        moving = ("cached", "age")
        assert {key: value for key, value in probe.items() if key not in moving} == {
            key: value for key, value in first.facts["probe"].items() if key not in moving
        }
        for key in ("cluster", "settings", "declarations", "capabilities", "rules", "interfaces"):
            assert again.facts[key] == first.facts[key]
        # What a report is made of does not move by itself.
        assert again.facts["checks"] == first.facts["checks"]
    assert next_id(story.config("after the cached ones")) == next_id(
        story.config("after the probe")
    )


def test_the_cache_is_a_local_fact(story: Story) -> None:
    local = story["setup"].result["ansible_facts"]["ansible_local"]["slurm_preflight"]
    (entry,) = local["probes"]
    assert entry["job_id"] == story["probe"].facts["probe"]["job_id"]
    assert entry["key"]["ClusterName"] == story.config()["ClusterName"]
    assert entry["hold"]["support"] == expected_hold(story.config())[0]
    assert f"root 644 {LOCAL_FACT}" in story.truth("after the probe", "file")


def test_other_users_have_their_own(story: Story) -> None:
    probe, cached = story.operator("probe"), story.operator("cached")
    assert (probe.result["changed"], cached.result["changed"]) == (True, False)
    assert probe.facts["probe"]["user"] == "operator"
    assert cached.facts["probe"]["job_id"] == probe.facts["probe"]["job_id"]
    files = story.truth("at the end", "file", operator=True)
    assert f"operator 644 {OPERATORS_CACHE}" in files
    assert f"user2 644 {USERS_CACHE}" in files
    become = story["become"]
    assert become.facts["probe"]["user"] == "user2"
    assert become.result["changed"] is True

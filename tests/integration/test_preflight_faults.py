# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""preflight where something is broken: a clear error or an unknown, and never what was not seen.

The tests have a cluster of their own, which each of them leaves as it was.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.tests.integration.conftest import SANDBOX, Cluster
from ansible_collections.hpcops.slurm.tests.integration.plays import (
    Result,
    Run,
    Task,
    config_info,
    ended,
    play,
    preflight,
    raw,
    start,
)

#: Short, so that a silent controller costs little.
MESSAGE_TIMEOUT = 3
CONF = "/etc/slurm/slurm.conf"
LUA = "/etc/slurm/job_submit.lua"
CACHE = "/etc/ansible/facts.d/slurm_preflight.fact"
SERVICE = "/usr/local/sbin/slurm-service"
USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def sandbox(*arguments: str) -> None:
    done = subprocess.run([SANDBOX, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def broken() -> Iterator[Cluster]:
    """A cluster that may be broken."""
    settings = (
        f"MessageTimeout={MESSAGE_TIMEOUT}",
        "JobSubmitPlugins=lua",
        "EnforcePartLimits=ALL",  # a job that may not run there is refused rather than kept waiting
    )
    chosen = [word for setting in settings for word in ("--set", setting)]
    sandbox("up", "trixie-munge", "--name", "preflight-faults", *chosen)
    yield Cluster("preflight-faults")
    sandbox("down", "preflight-faults")


def plugin(submit: str, modify: str) -> str:
    """A job_submit plug-in, from what its two functions do."""
    return (
        "function slurm_job_submit(job_desc, part_list, submit_uid)\n"
        f" {submit}\nend\n"
        "function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)\n"
        f" {modify}\nend\n"
    )


class Faults:
    """Breaks the cluster, and mends it at the end of the test."""

    def __init__(self, cluster: Cluster, undo: ExitStack) -> None:
        self.cluster, self.undo = cluster, undo

    def sh(self, text: str, user: str = "root") -> str:
        """A shell command that must not fail."""
        return self.cluster.sh(["sh", "-c", text], user=user).text

    def later(self, text: str) -> None:
        """Run a shell command at the test's end."""
        self.undo.callback(self.sh, text)

    def stop(self, service: str) -> None:
        self.later(f"{SERVICE} start {service}")
        self.sh(f"{SERVICE} stop {service}")

    def pause(self, service: str) -> None:
        self.later(f"{SERVICE} continue {service}")
        self.sh(f"{SERVICE} pause {service}")

    def partition(self, name: str, setting: str, back: str) -> None:
        self.later(f"scontrol update partitionname={name} {back}")
        self.sh(f"scontrol update partitionname={name} {setting}")

    def lua(
        self, submit: str = "return slurm.SUCCESS", modify: str = "return slurm.SUCCESS"
    ) -> None:
        """A job_submit plug-in of the site's, in place at once."""
        self.later(f"cp --preserve=mode {LUA}.kept {LUA} && rm {LUA}.kept")
        self.sh(f"cp {LUA} {LUA}.kept")
        reply = self.cluster.sh(["tee", LUA], stdin=plugin(submit, modify).encode())
        assert reply.status == 0
        time.sleep(1.1)  # it is read anew when its time in whole seconds is another one

    def conf(self, *settings: str, files: str = "") -> None:
        """Other settings in slurm.conf, and slurmctld started anew."""
        self.later(f"cp {CONF}.kept {CONF} && rm {CONF}.kept && {SERVICE} restart slurmctld")
        keys = "|".join(setting.partition("=")[0] for setting in settings)
        lines = "\n".join(settings)
        self.sh(
            f"cp {CONF} {CONF}.kept && sed -i -E '/^({keys})=/d' {CONF}"
            f" && printf '%s\\n' '{lines}' >> {CONF} && {files or 'true'}"
            f" && {SERVICE} restart slurmctld"
        )

    def clock(self, offset: int) -> None:
        """slurmctld with a clock that is so many seconds ahead."""
        self.later(f"{SERVICE} restart slurmctld")
        self.sh(
            f"{SERVICE} stop slurmctld && cd / && env -i PATH={USUAL_PATH} faketime -f {offset:+d}"
            f" slurmctld && until scontrol ping | grep -q 'is UP'; do sleep 0.1; done"
        )

    @property
    def next_id(self) -> int:
        found = re.search(r"NEXT_JOB_ID\s*= (\d+)", self.sh("scontrol show config"))
        assert found is not None
        return int(found[1])

    @property
    def waiting(self) -> list[str]:
        """The living probe jobs, as a raw squeue shows them."""
        living = "--all --states=PENDING,RUNNING --name=hpcops-slurm-preflight"
        return self.sh(f"squeue --noheader {living} -o %i").split()

    @property
    def newest(self) -> str:
        """The number of the newest job of all, which is over or not."""
        return str(self.next_id - 1)

    def play(self, *tasks: Task, pipelining: bool = False) -> Run:
        """Run tasks to their end."""
        return play([self.cluster.name], tasks, pipelining=pipelining)

    def preflight(self, probe: str = "always", **options: Any) -> Result:
        """One preflight, and its result."""
        return self.play(preflight(probe=probe, **options)).result("preflight")


@pytest.fixture
def faults(broken: Cluster) -> Iterator[Faults]:
    """A sound cluster that a test may break; afterwards it is sound again, without probe jobs."""
    with ExitStack() as undo:
        found = Faults(broken, undo)
        found.sh(f"rm -f {CACHE}")
        yield found
        undo.close()
        assert found.waiting == []


def assert_nothing_claimed(result: Result) -> None:
    """Nothing but what is declared is yes or no, and nothing was cached."""
    assert result.support("Hold")[0] == "unknown"
    assert result.support("AccountingHistory")[0] == "unknown"
    assert result.support("Hold")[1]
    assert result.check("probe")["verdict"] != "pass"
    offered = {one["name"]: one["offered"] for one in result.facts["interfaces"]}
    assert offered["Holder"] == "unknown"


def assert_failed(result: Result, kind: str, *said: str) -> None:
    """A failure with its class, what was run, what to do, and a fact that claims nothing."""
    assert result.status == "failed"
    assert result.result["failure_class"] == kind
    for text in said:
        assert text in result.result["msg"]
    assert result.result["changed"] is False
    assert_nothing_claimed(result)
    facts = result.facts
    assert set(facts["settings"].values()) == {"unknown"}
    assert facts["cluster"]["version"] == facts["cluster"]["auth_type"] == "unknown"
    assert facts["declarations"]["call_bound"] == "unknown"
    verdicts = {one["name"]: one["verdict"] for one in facts["checks"]}
    assert verdicts["live_configuration"] == "fail"
    assert result.check("live_configuration")["remedy"]
    for name in ("version", "auth_type", "min_job_age", "requeue_settings", "private_data"):
        assert verdicts[name] == "unknown"


# Daemons


def test_controller_down(faults: Faults) -> None:
    faults.stop("slurmctld")
    run = faults.play(preflight(), config_info())
    result = run.result("preflight")
    said = "Unable to contact slurm controller"
    assert_failed(result, "controller_unreachable", said, "Look at slurmctld on its host")
    assert result.result["retry"] == "yes"
    assert result.result["cmd"] == "scontrol show config"
    assert said in result.result["stderr"]
    assert (result.facts["cluster"]["usable"], result.facts["cluster"]["degraded"]) == ("no", "yes")
    assert result.check("controller")["evidence"] == "primary preflight-faults is DOWN"
    info = run.result("config_info")
    assert (info.status, info.result["failure_class"]) == ("failed", "controller_unreachable")
    assert "settings" not in info.result


def test_controller_hung(faults: Faults) -> None:
    faults.pause("slurmctld")
    result = faults.preflight()
    assert_failed(result, "controller_unreachable", "Socket timed out", "Look at slurmctld")


def test_controller_hung_beyond_our_own_limit(faults: Faults) -> None:
    faults.pause("slurmctld")
    result = faults.preflight(command_timeout=0.5)
    assert_failed(result, "controller_unreachable", "no answer within the time limit")
    assert result.result["timed_out"] is True
    # A ping that was cut off tells nothing.
    assert result.facts["cluster"]["usable"] == "unknown"


@pytest.mark.parametrize("service", ["slurmdbd", "mariadb"])
def test_accounting_down(faults: Faults, service: str) -> None:
    faults.stop(service)
    result = faults.preflight("auto")
    assert result.status == "ok"
    assert result.support("Hold") == ("yes", "")
    support, reason = result.support("AccountingHistory")
    assert support == "no"  # the spec's answer; the check says that it is an outage
    assert "Problem talking to the database" in reason
    assert reason.endswith("; AccountingStoreFlags=job_comment")
    reachable = result.check("accounting_reachable")
    assert reachable["verdict"] == "fail"
    assert "Look at slurmdbd" in reachable["remedy"]
    assert result.check("accounting_storage")["verdict"] == "pass"
    assert result.facts["probe"]["valid_until"] is None
    assert faults.sh(f"test -e {CACHE} || echo none") == "none"


def test_accounting_hung(faults: Faults) -> None:
    faults.pause("slurmdbd")
    result = faults.preflight("auto", command_timeout=2)
    assert result.support("Hold") == ("yes", "")
    support, reason = result.support("AccountingHistory")
    assert support == "unknown"
    assert reason.startswith("sacct: ")
    assert result.check("accounting_reachable")["verdict"] == "fail"
    assert faults.sh(f"test -e {CACHE} || echo none") == "none"


def test_munged_down(faults: Faults) -> None:
    faults.stop("munged")
    result = faults.preflight()
    assert_failed(result, "authentication_failed", "Munge encode failed", "Look at munged")
    # The ping says DOWN, and could not have said anything else.
    assert "is DOWN" in faults.cluster.sh(["scontrol", "ping"]).stdout.decode()
    assert result.facts["cluster"]["usable"] == "unknown"
    assert result.check("controller")["verdict"] == "unknown"


# The host


def test_commands_missing(faults: Faults) -> None:
    faults.later("rm -r /tmp/some-commands")
    faults.sh(
        "mkdir /tmp/some-commands && cd /tmp/some-commands"
        " && for name in scontrol squeue sacct scancel; do ln -s /usr/bin/$name; done"
    )
    before = faults.next_id
    run = faults.play(
        preflight("none", {"environment": {"PATH": "/nowhere"}}),
        config_info("info", {"environment": {"PATH": "/nowhere"}}),
        preflight("no sbatch", {"environment": {"PATH": "/tmp/some-commands"}}),
        pipelining=True,
    )
    result = run.result("none")
    assert_failed(result, "command_missing", "scontrol could not be started", "PATH")
    assert result.check("commands")["evidence"].startswith("not on PATH: scontrol, squeue, sacct")
    assert result.facts["cluster"]["usable"] == "unknown"
    assert run.result("info").result["failure_class"] == "command_missing"
    partly = run.result("no sbatch")
    assert partly.status == "ok"
    assert partly.result["changed"] is False
    assert_nothing_claimed(partly)
    assert partly.check("commands")["evidence"] == "not on PATH: sbatch, timeout, date"
    assert "sbatch" in partly.support("Hold")[1]
    assert faults.next_id == before


HARMFUL = {
    "SLURM_CLUSTERS": "nosuch",
    "SLURM_JWT": "x",
    "SLURM_SACK_KEY": "/nowhere",
    "SLURM_SACK_JWKS": "/nowhere",
    "SLURM_TIME_FORMAT": "relative",
    "SLURM_EXIT_ERROR": "0",
    "SLURM_DEBUG_FLAGS": "NET",
    "SLURM_BITSTR_LEN": "1",
    "SQUEUE_FORMAT": "%R",
    "SQUEUE_STATES": "RUNNING",
    "SQUEUE_USERS": "nobody",
    "SACCT_FORMAT": "NodeList",
    "SBATCH_PARTITION": "nosuch",
    "SBATCH_ARRAY_INX": "1-3",
    "SBATCH_REQUEUE": "1",
    "SCANCEL_STATE": "RUNNING",
    "SCONTROL_ALL": "1",
    "POSIXLY_CORRECT": "1",
}


def test_harmful_variables(faults: Faults) -> None:
    others = {"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "COLUMNS": "10"}
    run = faults.play(
        raw("truth", "scontrol", "show", "config", environment=HARMFUL),
        preflight("probe", {"environment": {**HARMFUL, **others}}),
        preflight("sound"),
    )
    assert run.result("truth").status == "failed"  # they are harmful
    result = run.result("probe")
    assert (result.status, result.support("Hold")) == ("ok", ("yes", ""))
    assert result.support("AccountingHistory")[0] == "yes"
    warning = result.check("environment")
    assert warning["verdict"] == "warn"
    assert all(name in warning["evidence"] for name in HARMFUL)
    assert run.result("sound").facts["settings"] == result.facts["settings"]


def test_slurm_conf_that_is_not_there(faults: Faults) -> None:
    run = faults.play(
        preflight("variable", {"environment": {"SLURM_CONF": "/nowhere/slurm.conf"}}),
        preflight("option", slurm_conf="/nowhere/slurm.conf"),
        config_info("info", slurm_conf="/nowhere/slurm.conf"),
        preflight("empty", {"environment": {"SLURM_CONF": ""}}, probe="never"),
        preflight("named", probe="never", slurm_conf=CONF),
        pipelining=True,
    )
    for name in ("variable", "option"):
        assert_failed(run.result(name), "no_config_source", "/nowhere/slurm.conf")
    assert run.result("info").result["failure_class"] == "no_config_source"
    assert run.result("empty").status == "ok"
    assert run.result("named").check("configuration_source")["evidence"] == f"SLURM_CONF = {CONF}"


def test_no_slurm_conf_at_all(bare: Run) -> None:
    """Moved away on a cluster of its own, since it takes a minute."""
    result = bare.wait().result("preflight")
    assert "Traceback" not in bare.output
    assert_failed(result, "no_config_source", "Install slurm.conf on this host")
    assert result.check("configuration_source")["verdict"] == "unknown"
    assert result.facts["cluster"]["usable"] == "unknown"


@pytest.fixture(scope="module", autouse=True)
def bare() -> Iterator[Run]:
    """A preflight on a host without slurm.conf, begun before the other tests."""
    sandbox("up", "trixie-noaccounting", "--name", "preflight-bare")
    assert Cluster("preflight-bare").sh(["mv", CONF, f"{CONF}.away"]).status == 0
    run = start(["preflight-bare"], [preflight()])
    yield run
    run.wait()
    sandbox("down", "preflight-bare")


# The user's rights, partitions, plug-ins


def assert_refused(result: Result, said: str) -> None:
    """A submission that Slurm refused in these words: no answer, and no job."""
    assert (result.status, result.result["changed"]) == ("ok", False)
    assert_nothing_claimed(result)
    for name in ("Hold", "AccountingHistory"):
        assert result.support(name)[1].startswith("submitting the probe: ")
        assert said in result.support(name)[1]
    check = result.check("probe")
    assert check["verdict"] == "fail"
    assert said in check["evidence"]
    assert "may submit a job" in check["remedy"]


def as_user(name: str) -> dict[str, object]:
    return {"become": True, "become_user": name}


def test_rights_and_partitions(faults: Faults) -> None:
    faults.partition("small", "AllowGroups=user2", "AllowGroups=ALL")
    faults.partition("main", "State=INACTIVE", "State=UP")
    before = faults.next_id
    run = faults.play(
        preflight("no rights", as_user("user1"), partition="small"),
        preflight("inactive"),
        preflight("no partition", partition="nosuch"),
        preflight("an option", partition="--help"),
    )
    assert_refused(run.result("no rights"), "User's group not permitted to use this partition")
    assert_refused(run.result("inactive"), "Required partition not available")
    assert_refused(run.result("no partition"), "Invalid partition name specified")
    assert_refused(run.result("an option"), "Invalid partition name specified")
    assert faults.next_id == before


def test_partition_down(faults: Faults) -> None:
    """Jobs are taken there and wait, so that the probe sees all it needs."""
    faults.partition("main", "State=DOWN", "State=UP")
    result = faults.preflight()
    assert result.support("Hold") == ("yes", "")
    assert result.support("AccountingHistory")[0] == "yes"


def test_plugin_that_refuses_submissions(faults: Faults) -> None:
    faults.lua(submit='slurm.log_user("site says no: <b>%s</b>", "\\27[31m") return slurm.ERROR')
    before = faults.next_id
    result = faults.preflight()
    assert_refused(result, "Batch job submission failed")
    assert result.check("job_submit_plugins")["verdict"] == "warn"
    assert faults.next_id == before


def test_plugin_that_refuses_updates(faults: Faults) -> None:
    faults.lua(
        modify='slurm.log_user("no updates here") return slurm.ERROR',
    )
    result = faults.preflight("auto")
    support, reason = result.support("Hold")
    assert support == "no"
    assert reason.startswith("placing hold 1 on the probe: ")
    assert result.support("AccountingHistory")[0] == "yes"
    offered = {one["name"]: one["offered"] for one in result.facts["interfaces"]}
    assert (offered["Holder"], offered["Requeuer"]) == ("no", "yes")


HOLDING = "if job_desc.begin_time > 4100000000 and job_desc.begin_time < 4200000000 then"
OPENING = "if job_desc.priority ~= slurm.NO_VAL then"
LATER = "job_desc.begin_time = os.time() + 3600"
#: What a site's plug-in does to an update, and the answer that the probe comes to: it takes another
#: begin time than the hold's, refuses the opening of the gate, and lifts the hold with it.
MEDDLING = {
    "begins": (
        f"{HOLDING} {LATER} end",
        "hold 1 did not decode from the probe's start time: ",
    ),
    "opens": (f"{OPENING} return slurm.ERROR end", "opening the held probe: "),
    "survives": (f"{OPENING} {LATER} end", "the hold did not survive the gate's release: "),
}


def test_plugin_that_meddles(faults: Faults) -> None:
    faults.lua()
    tasks = []
    for what, (modify, _reason) in MEDDLING.items():
        put = ["sh", "-c", f'printf %s "$1" > {LUA}; sleep 1.1', "sh"]
        text = plugin("return slurm.SUCCESS", f"{modify} return slurm.SUCCESS")
        tasks += [raw(f"plug-in {what}", *put, text), preflight(what, probe="always")]
    run = faults.play(*tasks, pipelining=True)
    for what, (_modify, reason) in MEDDLING.items():
        result = run.result(what)
        support, why = result.support("Hold")
        assert (support, why[: len(reason)]) == ("no", reason), why
        assert result.support("AccountingHistory")[0] == "yes"
        offered = {one["name"]: one["offered"] for one in result.facts["interfaces"]}
        assert (offered["Holder"], offered["Requeuer"]) == ("no", "yes")


def test_plugin_that_lies(faults: Faults) -> None:
    """It says what Slurm says of a finished job, on success and on failure."""
    faults.lua(
        modify='slurm.log_user("Job has already finished for job 5") return slurm.SUCCESS',
    )
    result = faults.preflight()
    assert result.support("Hold") == ("yes", "")


# The cache


def test_cache_files_that_are_not_believed(faults: Faults) -> None:
    places = {
        "corrupt": "echo '{' > C",
        "writable": f"cp {CACHE} C; chmod 666 C",
        "foreign": f"cp {CACHE} C; chown user1 C",
        "link": f"ln -s {CACHE} C",
        "folder": "mkdir C",
        "fifo": "mkfifo C",
        "huge": f"cp {CACHE} C; truncate -s 2M C",
    }
    faults.later("rm -r /tmp/caches")
    make = "; ".join(text.replace(" C", f" /tmp/caches/{name}") for name, text in places.items())
    before = preflight("sound")
    tasks = [preflight(name, probe="never", cache_path=f"/tmp/caches/{name}") for name in places]
    run = faults.play(
        before,
        raw("make", "sh", "-c", f"mkdir /tmp/caches; {make}"),
        preflight("good", probe="never"),
        *tasks,
        preflight("probing past it", cache_path="/tmp/caches/writable"),
        raw("left alone", "cmp", CACHE, "/tmp/caches/writable"),
        pipelining=True,
    )
    assert run.result("sound").status == "ok"
    assert run.result("good").support("Hold") == ("yes", "")
    for name in places:
        result = run.result(name)
        assert result.status == "ok"
        assert_nothing_claimed(result)
        assert f"/tmp/caches/{name}" in result.warnings
    past = run.result("probing past it")
    assert past.support("Hold") == ("yes", "")
    assert "others may write it" in past.warnings
    assert run.result("left alone").status == "ok"


def test_a_cache_that_can_not_be_written(faults: Faults) -> None:
    """As far as the cache can tell: a name that is too long can't be written either."""
    path = "/tmp/" + "x" * 300
    result = faults.preflight("auto", cache_path=path)
    assert (result.status, result.support("Hold")) == ("ok", ("yes", ""))
    assert "File name too long" in result.warnings


# Settings

MARIADB = "mariadb --defaults-file=/etc/mysql/sandbox.cnf"


@contextmanager
def written_to_later(faults: Faults, seconds: int) -> Iterator[None]:
    """The database takes no writes meanwhile, at most for so long; sacct reads on."""
    hold = f"FLUSH TABLES WITH READ LOCK; SELECT SLEEP({seconds})"
    process = subprocess.Popen(
        [str(SANDBOX), "exec", faults.cluster.name, "--", *MARIADB.split(), "--execute", hold],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    shown = f"SLEEP({seconds})"
    holder = f"SELECT id FROM information_schema.processlist WHERE info = 'SELECT {shown}'"
    wait_until(lambda: shown in faults.sh(f"{MARIADB} --execute 'SHOW PROCESSLIST'"))
    try:
        yield
    finally:
        ids = f'$({MARIADB} -N --execute "{holder}")'
        faults.sh(f'for id in {ids}; do {MARIADB} --execute "KILL $id"; done')
        process.wait()


def test_settings_that_break_an_answer(faults: Faults) -> None:
    faults.conf(
        "PrivateData=jobs",
        "PrologFlags=ForceRequeueOnFail",
        "AuthInfo=ttl=5",
        "MinJobAge=0",
        "AccountingStorageEnforce=associations",
    )
    with written_to_later(faults, seconds=120):
        run = faults.play(
            preflight("daemon", as_user("daemon")),
            preflight("user1", as_user("user1"), poll_interval=30),
            raw("truth", "scontrol", "show", "config"),
        )
    stranger = run.result("daemon")  # a user without an association, and without a home to write in
    assert_refused(stranger, "Invalid account or account/partition combination")
    assert "Probing without the lock" in stranger.warnings
    result = run.result("user1")
    shown = "\n".join(run.result("truth").lines)
    assert re.search(r"MinJobAge\s+= 2 sec", shown)
    assert result.support("Hold") == ("yes", "")
    # The row takes longer than the two seconds for which the job is remembered.
    job = result.facts["probe"]["job_id"]
    assert result.support("AccountingHistory") == (
        "unknown",
        f"no sacct row for probe job {job} within MinJobAge; AccountingStoreFlags=job_comment",
    )
    skew = max(0, result.facts["probe"]["skew"])
    assert result.facts["declarations"]["call_bound"] == 5 + 5 + skew + MESSAGE_TIMEOUT + 1
    assert result.facts["declarations"]["shortest_bounded_window"] == 2
    assert result.check("credential_lifetime")["evidence"] == "5 s (AuthInfo = ttl=5)"
    assert result.check("min_job_age")["verdict"] == "fail"
    assert result.check("min_job_age")["evidence"] == "MinJobAge = 2 sec, polled every 30 s"
    for name in ("private_data", "requeue_settings"):
        assert result.check(name)["verdict"] == "warn"
    assert "ForceRequeueOnFail" in result.check("requeue_settings")["evidence"]


@pytest.mark.parametrize("offset", [60, -60])
def test_clocks_that_differ(faults: Faults, offset: int) -> None:
    faults.clock(offset)
    run = faults.play(
        preflight("probe"),
        preflight("tolerant", probe="never", clock_skew_max=120),
        raw(
            "truth",
            "sh",
            "-c",
            "scontrol show config | head -n 1; date +%s",
            environment={"SLURM_TIME_FORMAT": "%s"},
        ),
    )
    theirs, ours = (int(line.split()[-1]) for line in run.result("truth").lines)
    assert abs(theirs - ours - offset) <= 1
    result = run.result("probe")
    assert result.support("Hold") == ("yes", "")
    assert result.support("AccountingHistory")[0] == "yes"
    skew = result.facts["probe"]["skew"]  # our clock minus slurmctld's, rounded up
    assert -offset - 1 <= skew <= -offset + 4
    bound = 5 + 300 + max(0, skew) + MESSAGE_TIMEOUT + 1
    assert result.facts["declarations"]["call_bound"] == bound
    check = result.check("clock_skew")
    assert check["verdict"] == "fail"
    word = "ahead of" if offset > 0 else "behind"
    assert f"about 60 s {word} the Ansible controller's" in check["evidence"]
    assert run.result("tolerant").check("clock_skew")["verdict"] == "pass"


# A module that is killed

KILLER = """
import os, signal, sys, time

def module():
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as stream:
                    words = stream.read().split(b"\\0")
            except OSError:
                continue
            if len(words) > 1 and words[1].endswith(b"/AnsiballZ_preflight.py"):
                return int(name)

def session(process):
    while process > 1:
        with open(f"/proc/{process}/stat") as stream:
            text = stream.read()
        if text.partition("(")[2].startswith("sshd"):
            return process
        process = int(text.rpartition(")")[2].split()[1])

what, delay, marker = sys.argv[1], float(sys.argv[2]), sys.argv[3]
end = time.monotonic() + 60
while time.monotonic() < end:
    process = module()
    if process and (not marker or os.path.exists(marker)):
        time.sleep(delay)
        if what == "connection":
            os.kill(session(process), signal.SIGKILL)
        else:
            os.kill(process, getattr(signal, what))
        print(process)
        while what != "SIGKILL" and os.path.exists(f"/proc/{process}") and time.monotonic() < end:
            time.sleep(0.05)
        sys.exit(0)
    time.sleep(0.005)
sys.exit("there was no module to end")
"""

#: Where to end the module: the command, its first word's pattern, and before or after it.
POINTS = {
    "submitted": ("sbatch", "*", "after"),
    "placing": ("scontrol", "update*", "before"),
    "reading": ("squeue", "*--jobs=*", "before"),
    "opening": ("scontrol", "release*", "before"),
    "removing": ("scancel", "*", "before"),
}
SLOW = """#!/bin/sh
case "$*" in
PATTERN) ;;
*) exec /usr/bin/NAME "$@" ;;
esac
[ WHEN = before ] || { /usr/bin/NAME "$@"; status=$?; }
touch /tmp/slow/reached
sleep 3
[ WHEN = after ] && exit "$status"
exec /usr/bin/NAME "$@"
"""


class Killing:
    """A preflight that is ended at a chosen point."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        faults.later("rm -rf /tmp/slow")
        faults.cluster.sh(["mkdir", "-p", "/tmp/slow"])
        faults.cluster.sh(["tee", "/tmp/slow/killer.py"], stdin=KILLER.encode())

    def run(self, what: str, point: str = "", delay: float = 0.0) -> Run:
        """Run a preflight and end it; returns when the module is gone."""
        if point:
            name, pattern, when = POINTS[point]
            text = SLOW.replace("PATTERN", pattern).replace("NAME", name).replace("WHEN", when)
            script = f"cat > /tmp/slow/{name} && chmod 755 /tmp/slow/{name}"
            self.faults.cluster.sh(["sh", "-c", script], stdin=text.encode())
        marker = "/tmp/slow/reached" if point else ""
        argv = ["python3", "/tmp/slow/killer.py", what, str(delay), marker]
        killer = subprocess.Popen(
            [SANDBOX, "exec", self.faults.cluster.name, "--", *argv],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        path = f"/tmp/slow:{USUAL_PATH}"
        more = {"environment": {"PATH": path}, "ignore_unreachable": True}
        run = start([self.faults.cluster.name], [preflight("killed", more, probe="always")])
        _out, error = killer.communicate(timeout=90)
        assert killer.returncode == 0, error
        return run


@pytest.fixture
def killing(faults: Faults) -> Killing:
    return Killing(faults)


@pytest.mark.parametrize("point", POINTS)
def test_terminated_at_a_point(faults: Faults, killing: Killing, point: str) -> None:
    before = faults.next_id
    run = killing.run("SIGTERM", point)
    assert faults.waiting == []
    assert faults.next_id == before + 1
    result = run.wait().result("killed")
    assert result.status == "failed"
    assert result.result["msg"] == "Interrupted by SIGTERM; the probe's job was removed"
    assert "Traceback" not in run.output


@pytest.mark.parametrize("delay", [0.15, 0.2, 0.3])
def test_terminated_at_any_time(faults: Faults, killing: Killing, delay: float) -> None:
    run = killing.run("SIGTERM", delay=delay)
    assert faults.waiting == []
    run.wait()
    assert faults.waiting == []


@pytest.mark.parametrize("point", ["submitted", "opening"])
def test_killed_at_a_point(faults: Faults, killing: Killing, point: str) -> None:
    killing.run("SIGKILL", point).wait()
    left = faults.waiting
    assert left == [faults.newest]
    result = faults.preflight("always")
    assert faults.waiting == []
    assert result.facts["probe"]["removed_jobs"] == left
    assert result.support("Hold") == ("yes", "")
    assert result.result["changed"] is True


def test_a_killed_runs_job_is_found_with_another_cache(faults: Faults, killing: Killing) -> None:
    killing.run("SIGKILL", "placing").wait()
    left = faults.waiting
    assert len(left) == 1
    faults.later("rm -f /tmp/another-cache /tmp/.another-cache.lock")
    result = faults.preflight("always", cache_path="/tmp/another-cache")
    assert result.facts["probe"]["removed_jobs"] == left


def test_a_connection_that_is_cut(faults: Faults, killing: Killing) -> None:
    before = faults.next_id
    run = killing.run("connection", "opening")
    assert faults.waiting == []
    assert faults.next_id == before + 1
    assert run.wait().result("killed").status in ("unreachable", "failed")


def wait_until(seen: Callable[[], bool], limit: float = 30) -> None:
    end = time.monotonic() + limit
    while not seen():
        assert time.monotonic() < end
        time.sleep(0.2)


def test_a_submission_that_is_answered_too_late(faults: Faults, killing: Killing) -> None:
    """slurmctld is paused while sbatch waits: sbatch fails, and its job comes all the same."""
    script = SLOW.replace("PATTERN", "*").replace("NAME", "sbatch").replace("WHEN", "before")
    script = script.replace("sleep 3\n", f"{SERVICE} pause slurmctld\n")
    faults.cluster.sh(
        ["sh", "-c", "cat > /tmp/slow/sbatch && chmod 755 /tmp/slow/sbatch"], stdin=script.encode()
    )
    faults.later(f"{SERVICE} continue slurmctld")
    path = f"/tmp/slow:{USUAL_PATH}"
    run = faults.play(preflight("late", {"environment": {"PATH": path}}, probe="always"))
    result = run.result("late")
    assert_nothing_claimed(result)
    assert result.result["changed"] is True
    assert result.check("probe")["verdict"] == "fail"
    assert "may still appear" in result.check("probe")["evidence"]
    faults.sh(f"{SERVICE} continue slurmctld")
    wait_until(lambda: faults.waiting != [])
    left = faults.waiting
    again = faults.preflight("always")
    assert again.facts["probe"]["removed_jobs"] == left
    assert faults.waiting == []


def test_two_at_once(faults: Faults) -> None:
    """With one cache and so one lock, and with a cache of their own each."""
    faults.later("rm -f /tmp/another-cache /tmp/.another-cache.lock")
    before = faults.next_id
    options_of_each: list[dict[str, Any]] = [{}, {}, {"cache_path": "/tmp/another-cache"}]
    runs = [
        start([faults.cluster.name], [preflight(probe="always", **options)])
        for options in options_of_each
    ]
    for run in runs:
        result = run.wait().result("preflight")
        assert result.support("Hold") == ("yes", "")
        assert result.support("AccountingHistory")[0] == "yes"
        assert result.facts["probe"]["removed_jobs"] == []
        assert result.check("probe")["verdict"] == "pass"
    assert faults.next_id == before + 3


# The wait


#: What is shown while a probe's row is waited for: the job, the seconds waited, and their limit.
WAITING = re.compile(
    r"^\[preflight-faults\] preflight: probe job (\d+) is cancelled, waiting for its row in sacct:"
    r" (\d+) s of (\d+) s$",
    re.MULTILINE,
)


def test_progress_is_shown_while_accounting_is_waited_for(faults: Faults) -> None:
    """The row comes when this was seen three times."""
    with written_to_later(faults, seconds=120):
        run = start([faults.cluster.name], [preflight(probe="always")])
        wait_until(lambda: len(WAITING.findall(run.output)) >= 3, limit=90)
    result = ended(run.wait()).result("preflight")
    jobs, waited, limits = zip(*WAITING.findall(run.output), strict=True)
    assert set(jobs) == {result.facts["probe"]["job_id"]}
    seconds = [int(one) for one in waited]
    assert seconds == sorted(seconds)
    assert seconds[-1] >= 4
    assert set(limits) == {"60"}
    assert result.support("AccountingHistory")[0] == "yes"
    assert result.support("Hold") == ("yes", "")


def test_odd_options_end_in_a_message(faults: Faults) -> None:
    odd: dict[str, dict[str, Any]] = {
        "nul": {"partition": "a\0b"},
        "lines": {"account": "a\nb"},
        "folder": {"cache_path": "/etc", "probe": "never"},
        "never ready": {"command_timeout": -1},
        "words": {"rules": ["$(id)", "{{ 7 }}", "\x1b[31m"], "probe": "never"},
        "long": {"slurm_conf": "/" + "x" * 100000},
    }
    tasks = [preflight(name, **options) for name, options in odd.items()]
    run = faults.play(*tasks, pipelining=True)
    for name in ("nul", "lines", "never ready", "long"):
        result = run.result(name)
        assert result.status == "failed"
        assert len(result.result["msg"]) < 400
    assert "not a regular file" in run.result("folder").warnings
    rules = run.result("words").facts["rules"]
    assert [one["support"] for one in rules] == ["unknown"] * 3
    assert rules[0]["reason"] == "action $(id)"

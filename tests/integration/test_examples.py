# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples of modules and filters, run as they stand there on jobs that are made to fit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from ansible_collections.hpcops.slurm.tests.integration import plays
from ansible_collections.hpcops.slurm.tests.integration.conftest import Cluster
from ansible_collections.hpcops.slurm.tests.integration.write_plays import (
    Jobs,
    forget,
    held_at,
    place,
    wait_for,
)
from ansible_collections.hpcops.slurm.tests.unit.examples import PLUGINS, plugin_example

FOLDER = "/tmp/examples-test"
WRITES = ("job_hold", "job_release", "job_requeue", "job_restore", "job_cancel", "job_submit",
          "job_open")  # fmt: skip
#: Words of the examples that are put in place of others wherever they stand.
WORDS = {
    "MinJobAge >= 300": "MinJobAge >= 30",
    "[batch]": "[main]",
    "[old]": "[small]",
    "/home/operator/output": f"{FOLDER}/output",
    "/usr/local/sbin/nodes-are-off": "/bin/true",
    "/tmp/comment.html": f"{FOLDER}/comment.html",
    "2026-12-01T06:00:00+01:00": "{{ window_ends }}",
    "slurm-maintenance-windows/alpha.window-7.json": "/dev/null",  # never opened
}
PATIENCE = 65.5
#: One that shows a mistake.
FAILS = "Refuse a policy that asks for something unknown"


@pytest.fixture
def jobs(cluster: Cluster) -> Iterator[Jobs]:
    """Jobs that are gone after the test."""
    made = Jobs(cluster)
    yield made
    made.cancel()
    forget(cluster, "root")
    cluster.sh(["rm", "-rf", FOLDER])


class Examples:
    """The examples with these ids in place of those that they name, each of them once."""

    def __init__(self) -> None:
        self.left = {
            f"{path.parent.name}/{path.stem}": text
            for path in PLUGINS
            if (text := plugin_example(path))
        }

    def take(self, name: str, **ids: str) -> list[dict[str, Any]]:
        """The tasks of an example; ``a41007`` is put in place of the id 41007."""
        text = self.left.pop(name)
        for old, new in WORDS.items():
            text = text.replace(old, new)
        for old, new in ids.items():
            assert old[1:] in text, (name, old)
            text = text.replace(old[1:], new)
        found: list[dict[str, Any]] = yaml.safe_load(text)
        for task in found:
            if task["name"] == FAILS:
                task["ignore_errors"] = True
            if "hpcops.slurm.config_setting" in task:  # other tests run on this cluster
                task["check_mode"] = True
            if "become_user" in task:  # the play's place is root's
                task["hpcops.slurm.preflight"]["cache_path"] = f"{FOLDER}/operator.json"
        return found


@pytest.mark.variants("trixie-munge")
def test_the_examples_run(cluster: Cluster, jobs: Jobs) -> None:
    cluster.sh(["install", "-d", "-m", "1777", FOLDER])
    cluster.sh(["install", "-d", f"{FOLDER}/output"])
    now = int(time.time())
    later = "--begin=now+7200"
    first, second, third = jobs.submit(later, count=3)
    array = jobs.one("--array=1-3", later)
    gated = jobs.submit("--hold", later, count=2)
    small = jobs.one("-p", "small", "-t", "5", later)
    running = jobs.submit("--no-requeue", "-t", "30", count=2)
    jobs.await_state("RUNNING", *running)
    examples = Examples()
    held = {"a41007": first, "a41008_3": f"{array}_3"}
    tasks = [
        *examples.take("modules/preflight"),
        *examples.take("modules/config_info"),
        *examples.take("modules/config_setting"),
        *examples.take("modules/job_hold", **held),
        *examples.take("modules/job_info", **held, a41009=third),
        *examples.take("modules/job_ceased_info", **held),
        *examples.take("modules/job_release"),
        *examples.take("modules/job_open", a41007=gated[0], a41008=gated[1]),
        *examples.take("modules/job_requeue", a41007=running[0]),
        *examples.take("modules/job_restore"),
        # Accounting still knows what an earlier run has submitted.
        *examples.take(
            "modules/job_submit", **{"arollout-17": f"rollout-{now}", "anightly": f"n-{now}"}
        ),
        *examples.take(
            "modules/job_output_info", a41007="{{ output.job_id }}", anightly=f"n-{now}"
        ),
        *examples.take("modules/job_cancel", a41007=running[0], a41008=second),
        *examples.take("filter/audit_judge"),
        {
            "name": "Name the report as the role does",
            "ansible.builtin.set_fact": {"capability_audit_report": "{{ report }}"},
        },
        *examples.take("filter/audit_failure"),
        *examples.take("filter/audit_file_stem"),
        *examples.take("filter/audit_fleet"),
        *examples.take("filter/audit_policy_errors"),
        *examples.take("filter/report_text"),
        *examples.take("filter/onboarding_plan"),
        {
            "name": "Read the queue as the role does",
            "hpcops.slurm.job_info": {},
            "register": "queue",
        },
        *examples.take("filter/window_manifest"),
        *examples.take("filter/window_open_plan"),
        *examples.take("filter/window_open_report"),
        *examples.take("filter/window_close_plan"),
        *examples.take("filter/window_close_report"),
    ]
    assert examples.left == {}, "an example that is not run"
    where = place("root")
    defaults: dict[str, Any] = {f"hpcops.slurm.{name}": where for name in WRITES}
    # What a site sets for all of them reaches modules and actions.
    defaults["group/hpcops.slurm.slurm"] = {"command_timeout": PATIENCE}
    defaults["hpcops.slurm.preflight"] = {"cache_path": where["cache_path"]}
    defaults["hpcops.slurm.job_output_info"] = {"state_dir": where["state_dir"]}
    variables = {
        "window_opened_at": now + 3600,
        "window_ends": str(now + 3600),
        "manifest": {},
        "requeued": {"results": [{"job_id": running[0], "requeue_bit_left": "unknown"}]},
    }
    run = plays.play([cluster.name], tasks, pipelining=True, vars=variables,
                     module_defaults=defaults)  # fmt: skip
    assert run.process.returncode == 0, run.output
    assert [one.task for one in run.results if one.status == "failed"] == [FAILS], run.output
    ours = {one["name"] for one in tasks if any(key.startswith("hpcops.slurm.") for key in one)}
    for one in run.results:
        if one.task in ours:
            assert one.result["invocation"]["module_args"]["command_timeout"] == PATIENCE, one
    shown = jobs.look(third, *gated, *running)
    assert held_at(shown[third]["EligibleTime"]) is None
    assert [shown[one]["Reason"] for one in gated] == ["BeginTime", "BeginTime"]
    assert [shown[one]["RestartCnt"] for one in running] == ["1", "1"]
    assert {shown[one]["Requeue"] for one in running} == {"0"}
    states = ["sacct", "-X", "-n", "-P", "-o", "State", "-j", f"{second},{small}"]
    wait_for(lambda: cluster.sh(states).text.count("CANCELLED by") == 2)
    page = cluster.sh(["cat", f"{FOLDER}/comment.html"]).text
    assert page == "<p>&lt;b&gt;night run&lt;/b&gt;</p>"

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module job_submit does between its options and its result. Private to the collection."""

from __future__ import annotations

import os
import pwd
import time
from typing import Any, Dict, Mapping, NoReturn, Optional

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Commands, Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    read_configuration,
    store_flag,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.options import refused_options
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.batch import Job, batch_script
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.submission import encoded
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.engine import Bound
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import Journal
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import GOOD, Outcome
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import Needs
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.results import (
    JobResult,
    result,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.submit import (
    Step,
    Submit,
    Submitter,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.task import (
    Permit,
    permission_from,
    state_dir,
    summary,
)

#: The spec's reason, character for character.
NO_IMAGES = "container images are not mapped in v1"
NO_ARRAYS = "arrays are not submitted: each job is a submission of its own"

#: Bytes of a job's name that accounting keeps for certain (255 in its table).
LONGEST_NAME = 200
#: The options that become one argument each.
_LINES = ("name", "partition", "account", "qos", "chdir", "output_dir", "state_dir", "cache_path")
#: The options that are a job's fields as they stand.
_AS_GIVEN = tuple(
    "submission attempt script output_dir time_limit nodes ntasks ntasks_per_node gate".split()
)
#: Where MinJobAge was not read: the least that slurmctld uses.
LEAST_AGE = 2


def run_submit(module: AnsibleModule, permit: Permit) -> None:
    """Carry out one round, and leave the module. ``permit`` as for ``run_write``."""
    try:
        _run(module, permit)
    except ValueError as error:
        module.fail_json(msg=str(error))
    except SlurmError as error:
        module.fail_json(**error.as_result())


def job_from(params: Mapping[str, Any], home: str) -> Job:
    """The job that the options describe. Raises ValueError."""
    refused = refused_options(params, _LINES)
    if refused:
        raise ValueError(refused)
    name = params["name"]
    if not name:
        ending = ".%d" % params["attempt"]
        name = encoded(params["submission"])[: LONGEST_NAME - len(ending)] + ending
    if len(name.encode("utf-8")) > LONGEST_NAME:
        raise ValueError("name has more than %d bytes" % LONGEST_NAME)
    given = {option: params[option] for option in _AS_GIVEN}
    given.update({option: params[option] or "" for option in ("partition", "account", "qos")})
    return Job(
        name=name,
        command=tuple(params["command"] or ()),
        chdir=params["chdir"] or home,
        environment={key: str(value) for key, value in params["environment"].items()},
        **given,
    )


def base_environment(who: pwd.struct_passwd, caller: Mapping[str, str]) -> Dict[str, str]:
    """What every job gets, so that it does not depend on who starts this playbook, and how."""
    return {
        "HOME": who.pw_dir,
        "LOGNAME": who.pw_name,
        "USER": who.pw_name,
        "SHELL": who.pw_shell,
        "PATH": caller.get("PATH") or os.defpath,
    }


def caller_environment(caller: Mapping[str, str]) -> Dict[str, str]:
    """The caller's environment without what a job that this runs in has left there.

    sbatch takes Slurm's variables into the new job, whose number and restart count they are not.
    """
    return {
        name: value
        for name, value in caller.items()
        if name == "SLURM_CONF" or not name.startswith("SLURM")
    }


def _run(module: AnsibleModule, permit: Permit) -> None:
    params = module.params
    message: Dict[str, Any] = params["_round"]
    if message.get("deadline") is None:
        raise ValueError("no deadline was fixed: this module needs its action plugin")
    who = pwd.getpwuid(os.geteuid())
    for option, reason in (("container_image", NO_IMAGES), ("array", NO_ARRAYS)):
        if params[option] is not None:
            _leave(module, Step(_unsupported(params, reason)))
    job = job_from(params, who.pw_dir)
    text = batch_script(job, base_environment(who, os.environ))
    caller = caller_environment(os.environ)
    commands = Commands(params["command_timeout"], params["slurm_conf"], caller)
    state = message.get("state") or {}
    permission = permission_from(state) or permit(commands.run, params, Needs.CLOCKS)
    if permission.refusal:
        _leave(module, Step(_unsupported(params, permission.refusal)))
    order = Submit(
        job=job,
        text=text,
        user=who.pw_name,
        cluster=permission.cluster,
        deadline=float(message["deadline"]),
        settle=params["settle"],
        check=module.check_mode,
        trust_journal=params["trust_journal"],
        **(_settings(commands.run) if not state else _kept(state)),
    )
    journal = Journal(state_dir(params), read_only=order.check)
    submitter = Submitter(commands, order, permission.bound, journal)
    if state:
        step = submitter.more(step_from(state), float(message.get("wait", 0)))
    else:
        step = submitter.first()
    for warning in journal.warnings:
        module.warn(warning)
    _leave(module, step, order, permission.bound)


def _settings(run: Run) -> Dict[str, Any]:
    configuration = read_configuration(run)
    age = configuration.seconds("MinJobAge")
    return {
        "kept": store_flag(configuration, "job_comment"),
        "min_job_age": age if isinstance(age, int) else LEAST_AGE,
    }


def _kept(state: Mapping[str, Any]) -> Dict[str, Any]:
    """The settings as a first round has read them: slurmctld may hang meanwhile."""
    return {"kept": Answer(state["kept"]), "min_job_age": state["min_job_age"]}


def _unsupported(params: Mapping[str, Any], reason: str) -> JobResult:
    made = result("", Outcome.UNSUPPORTED, reason)
    del made["requeue_bit_left"]
    made.update(job_id=None, submission=params["submission"], attempt=params["attempt"])
    made.update(known_from=None, job_ids=[])
    return made


def _leave(
    module: AnsibleModule,
    step: Step,
    order: Optional[Submit] = None,
    bound: Optional[Bound] = None,
) -> NoReturn:
    one = step.result
    state = None
    if step.waiting_for and order is not None and bound is not None:
        state = state_of(step, order, bound)
    made: Dict[str, Any] = {
        "changed": one["changed"],
        "job_id": one["job_id"],
        "output_dir": module.params["output_dir"],
        "results": [one],
        "summary": summary([one]),
        "round": {
            "finished": not step.waiting_for,
            "state": state,
            "waiting_for": step.waiting_for,
            "until": step.until,
            "now": time.time(),
        },
    }
    if module._diff:
        made["diff"] = _difference(module, one)
    if step.waiting_for or Outcome(one["outcome"]) in GOOD:
        module.exit_json(**made)
    words = "Submission %s attempt %d is %s: %s" % (
        encoded(module.params["submission"]),
        module.params["attempt"],
        one["outcome"],
        one["reason"],
    )
    if one["may_land_until"] is not None and not one["settled"]:
        words += "; it may land until %d" % one["may_land_until"]
    module.fail_json(msg=words, **made)


def step_from(state: Mapping[str, Any]) -> Step:
    """What the round before has left over."""
    return Step(
        state["result"],
        dict(state["aims"]),
        state["later"],
        state["waiting_for"],
        state["until"],
    )


def state_of(step: Step, order: Submit, bound: Bound) -> Dict[str, Any]:
    """What the next round needs to go on."""
    return {
        "result": step.result,
        "aims": step.aim,
        "later": step.later,
        "waiting_for": step.waiting_for,
        "until": step.until,
        "kept": order.kept.value,
        "min_job_age": order.min_job_age,
        "permission": {
            "cluster": order.cluster,
            "call_bound": bound.call_bound,
            "offset": bound.offset,
        },
    }


def _difference(module: AnsibleModule, one: JobResult) -> Dict[str, Any]:
    """For diff mode: the job that was not there before."""
    sides: Dict[str, Any] = {"before": {}, "after": {}}
    if one["changed"]:
        shown = ("submission", "attempt", "name", "partition", "output_dir", "chdir", "gate")
        sides["after"] = {key: module.params[key] for key in shown}
    return sides

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One round of a write module, from its options to its exit. Private to the collection."""

from __future__ import annotations

import os
import pwd
import time
from typing import Any, Callable, Dict, List, Mapping, NoReturn, Optional, Sequence

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.commands import Commands, Run
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.options import refused_options
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import SlurmError
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.ids import require_job_ids
from ansible_collections.hpcops.slurm.plugins.module_utils._jobs.options import selection_from
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.engine import (
    Bound,
    Order,
    Permission,
    Report,
    Writer,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import (
    Journal,
    directory_for,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.outcomes import Outcome
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.plans import Action, Needs
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.results import (
    JobResult,
    difference,
    ended,
    failed,
    result,
)

ActionOf = Callable[[Mapping[str, Any]], Action]
Permit = Callable[[Run, Mapping[str, Any], Needs], Permission]


def run_write(module: AnsibleModule, action_of: ActionOf, permit: Permit) -> None:
    """Carry out one round, and leave the module.

    ``action_of`` makes the action of the module's options. ``permit`` says what the preflight
    allows; it is given, since preflight is a later room.
    """
    try:
        _run(module, action_of(module.params), permit)
    except ValueError as error:
        module.fail_json(msg=str(error))
    except SlurmError as error:
        module.fail_json(**error.as_result())


def _run(module: AnsibleModule, action: Action, permit: Permit) -> None:
    params = module.params
    message: Dict[str, Any] = params["_round"]
    refused = refused_options(params, ("state_dir", "cache_path", "deadline"))
    if refused or message.get("deadline") is None:
        raise ValueError(refused or "no deadline was fixed: this module needs its action plugin")
    selection = selection_from(params["select"])
    jobs: List[str] = list(dict.fromkeys(params["jobs"] or ()))
    require_job_ids(jobs)
    commands = Commands(params["command_timeout"], params["slurm_conf"])
    state = message.get("state") or {}
    # What a first round was permitted holds for its later ones: slurmctld may hang meanwhile.
    permission = permission_from(state) or permit(commands.run, params, action.needs)
    if permission.refusal:
        refusals = {one: result(one, Outcome.UNSUPPORTED, permission.refusal) for one in jobs}
        _leave(module, action, Report(refusals), permission)
    order = Order(
        action=action,
        jobs=jobs,
        selection=selection,
        deadline=float(message["deadline"]),
        settle=params["settle"],
        check=module.check_mode,
        cluster=permission.cluster,
        wait_limit=params["wait_limit"] if params.get("wait") else None,
    )
    journal = Journal(state_dir(params), read_only=order.check)
    writer = Writer(commands, order, permission.bound, journal)
    if state:
        report = writer.more(report_from(state), float(message.get("wait", 0)))
    else:
        report = writer.first()
    _leave(module, action, report, permission)


def permission_from(state: Mapping[str, Any]) -> Optional[Permission]:
    """The permission that a round before has left in its state, None in a first round."""
    if not state:
        return None
    given = state["permission"]
    return Permission(given["cluster"], Bound(given["call_bound"], given["offset"]), "")


def report_from(state: Mapping[str, Any]) -> Report:
    """What the round before has left over."""
    results = {one["job_id"]: one for one in state["results"]}
    aims, later = dict(state["aims"]), list(state["later"])
    return Report(results, aims, later, end_by=state.get("end_by"))


def state_dir(params: Mapping[str, Any]) -> str:
    """Where this user's journal lies."""
    who = pwd.getpwuid(os.geteuid())
    default = directory_for(who.pw_uid, who.pw_dir, os.environ.get("XDG_STATE_HOME"))
    return str(params["state_dir"] or default)


def _leave(
    module: AnsibleModule, action: Action, report: Report, permission: Permission
) -> NoReturn:
    results = list(report.results.values())
    if action.ends:
        for one in results:
            one["ended"] = ended(one["after"]).value
    for text in report.warnings:
        module.warn(text)
    made: Dict[str, Any] = {
        "changed": any(one["changed"] for one in results),
        "results": results,
        "summary": summary(results),
        "round": {
            "finished": report.finished,
            "state": _state(report, permission),
            "waiting_for": report.waiting_for,
            "until": report.until,
            "now": time.time(),
        },
    }
    if module._diff:
        made["diff"] = difference(results)
    if not report.finished:
        module.exit_json(**made)
    bad = failed(results, by_name=module.params["select"] is None)
    if permission.refusal and not bad:
        module.fail_json(msg="Not supported here: %s" % permission.refusal, **made)
    if bad:
        module.fail_json(msg=failure_message(bad), **made)
    if report.end_by is not None and report.alive:
        module.fail_json(msg=alive_message(report), **made)
    module.exit_json(**made)


def _state(report: Report, permission: Permission) -> Optional[Dict[str, Any]]:
    """What the next round needs to go on, None when there is none."""
    if report.finished:
        return None
    bound = permission.bound
    return {
        "results": list(report.results.values()),
        "aims": report.open,
        "later": report.later,
        "end_by": report.end_by,
        "permission": {
            "cluster": permission.cluster,
            "call_bound": bound.call_bound,
            "offset": bound.offset,
        },
    }


def summary(results: Sequence[JobResult]) -> Dict[str, int]:
    """How many jobs came to each outcome."""
    counted: Dict[str, int] = {}
    for one in results:
        counted[one["outcome"]] = counted.get(one["outcome"], 0) + 1
    return counted


def failure_message(bad: Sequence[JobResult]) -> str:
    """One line for a failed task: how many jobs, and the first of them."""
    lines = ["%s %s: %s" % (one["job_id"], one["outcome"], _why(one)) for one in bad[:5]]
    if len(bad) > 5:
        lines.append("and %d more" % (len(bad) - 5))
    return "%d jobs are not as asked for: %s" % (len(bad), "; ".join(lines))


def alive_message(report: Report) -> str:
    """One line for jobs that were waited for in vain."""
    lines = []
    for job_id in report.alive[:5]:
        after = report.results[job_id]["after"]
        lines.append("%s %s" % (job_id, after["state"] if after else "is not shown any more"))
    if len(report.alive) > 5:
        lines.append("and %d more" % (len(report.alive) - 5))
    what = "%d jobs are not known to have ended within wait_limit" % len(report.alive)
    return "%s: %s" % (what, "; ".join(lines))


def _why(one: JobResult) -> str:
    why = str(one["reason"])
    if one["message"] and one["message"] not in why:
        why += " (%s)" % one["message"]
    if one["requeue_bit_left"] != "no":
        why += "; its requeue bit may be left set: run job_restore"
    if one["may_land_until"] is not None and one["outcome"] == Outcome.UNKNOWN.value:
        why += "; it may land until %d" % one["may_land_until"]
    return why

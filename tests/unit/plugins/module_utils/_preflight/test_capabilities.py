# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Capabilities, rules, interfaces and declarations against the spec page's own words."""

from __future__ import annotations

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import Configuration
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.landing import (
    LandingBound,
    landing_bound,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.capabilities import (
    ACTIONS,
    MODULES,
    READ_ONLY,
    Support,
    capabilities,
    interfaces,
    probed,
    rules,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.declarations import (
    declarations,
)
from ansible_collections.hpcops.slurm.tests.unit.old_pythons import paired
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._preflight.samples import (
    SPEC,
    configuration,
    spec,
)

YES, NO, UNKNOWN = (probed(answer, f"seen {answer.value}") for answer in Answer)


def test_fourteen_capabilities_in_the_specs_order_and_words() -> None:
    found = [
        {"name": name, **support.as_fact()}
        for name, support in capabilities(YES, UNKNOWN, "5 sec").items()
    ]
    assert len(found) == 14
    assert [one["name"] for one in found] == [one["name"] for one in SPEC["capabilities"]]
    for one, wanted in paired(found, SPEC["capabilities"]):
        assert one["source"] == wanted["source"]
        if wanted["source"] == "declared":
            assert one["support"] == wanted["support"]
            assert one["reason"] == wanted["reason"].replace("<KillWait>", "5 sec")
    assert found[3]["reason"] == "seen yes"
    assert found[5]["support"] == "unknown"


@pytest.mark.parametrize("hold", [YES, NO, UNKNOWN])
def test_rules(hold: Support) -> None:
    found = {one.pop("action"): one for one in rules([*ACTIONS, "Reboot"], hold)}
    assert {name: one.pop("modules") for name, one in found.items()} == {
        "Resubmit": ["job_submit"],
        "Escalate": ["job_submit"],
        "Restart": [],
        "Requeue": [],
        "Hold": ["job_hold", "job_release"],
        "Reboot": [],
    }
    for action, wanted in SPEC["rules"].items():
        assert found[action] == wanted
    assert found["Hold"] == hold.as_fact()
    assert found["Reboot"] == {
        "support": "unknown",
        "source": "declared",
        "reason": spec("other_rule", name="Reboot"),
    }


@pytest.mark.parametrize("action", ["hold", "", "Hold ", "{{ 7 }}", "\x1b[31m"])
def test_rules_that_are_not_known(action: str) -> None:
    (found,) = rules([action], YES)
    assert (found["support"], found["reason"]) == ("unknown", f"action {action}")


def test_rules_keep_their_order_and_number() -> None:
    asked = ["Hold", "Resubmit", "Hold"]
    assert [one["action"] for one in rules(asked, YES)] == asked
    assert rules([], YES) == []


@pytest.mark.parametrize(
    ("hold", "bound", "ceased", "offered"),
    [
        (YES, LandingBound(316, ""), True, ["yes", "yes", "yes", "yes", "yes"]),
        (NO, LandingBound(0, "x"), False, ["no", "no", "no", "yes", "yes"]),
        (UNKNOWN, LandingBound(None, "x"), False, ["unknown", "unknown", "no", "yes", "yes"]),
        (NO, LandingBound(316, ""), False, ["no", "yes", "no", "yes", "yes"]),
    ],
)
def test_interfaces(hold: Support, bound: LandingBound, ceased: bool, offered: list[str]) -> None:
    found = interfaces(hold, bound, ceased)
    assert [one["name"] for one in found] == SPEC["interfaces"] == list(MODULES)
    assert [one["offered"] for one in found] == offered
    assert [one["modules"] for one in found] == [
        ["job_hold", "job_release"],
        ["job_requeue", "job_restore"],
        ["job_ceased_info"],
        ["job_output_info"],
        ["job_info"],
    ]


def test_read_only_reason_is_the_specs() -> None:
    assert spec("hold", "read_only") == spec("accounting_history", "read_only") == READ_ONLY


# Declarations


def test_declarations() -> None:
    live = configuration()
    assert declarations(live, landing_bound(live, 0), YES) == {
        "node_loss_window": 2 * 60 + 60,
        "call_bound": 5 + 300 + 10 + 1,
        "polled_loss": {"state": 60, "cause": 60, "exit_code": 60, "execution": "unbounded"},
        "shortest_bounded_window": 60,
    }


@pytest.mark.parametrize(("accounting", "window"), [(YES, "unbounded"), (NO, 0), (UNKNOWN, 0)])
def test_window_of_an_execution(accounting: Support, window: str | int) -> None:
    live = configuration()
    found = declarations(live, landing_bound(live, 0), accounting)
    assert found["polled_loss"]["execution"] == window


def test_what_was_not_read_is_not_declared() -> None:
    nothing = Configuration(None)
    assert declarations(nothing, landing_bound(nothing, 0), UNKNOWN) == {
        "node_loss_window": "unknown",
        "call_bound": "unknown",
        "polled_loss": {
            "state": "unknown",
            "cause": "unknown",
            "exit_code": "unknown",
            "execution": 0,
        },
        "shortest_bounded_window": "unknown",
    }


@pytest.mark.parametrize("raw", ["soon", "UNLIMITED", "(null)", None])
def test_timeouts_that_are_no_seconds(raw: str | None) -> None:
    live = configuration(MinJobAge=raw, SlurmdTimeout=raw)
    found = declarations(live, landing_bound(live, 0), YES)
    assert found["node_loss_window"] == "unknown"
    assert found["shortest_bounded_window"] == "unknown"
    assert found["polled_loss"]["execution"] == "unbounded"


def test_no_bound_is_zero() -> None:
    live = configuration(AuthType="auth/none")
    assert declarations(live, landing_bound(live, 0), NO)["call_bound"] == 0

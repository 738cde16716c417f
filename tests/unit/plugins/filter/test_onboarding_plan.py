# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which lines of slurm.conf a policy needs changed."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.hpcops.slurm.plugins.filter.onboarding_plan import (
    FilterModule,
    onboarding_plan,
)
from ansible_collections.hpcops.slurm.plugins.modules import config_setting
from ansible_collections.hpcops.slurm.tests.unit.plugins.plugin_utils import samples

AGE = {"name": "MinJobAge", "at_least": 300}
TTL = {"name": "AuthInfo", "part": "ttl", "at_most": 60}
FLAGS = {"name": "AccountingStoreFlags", "members": ["job_comment"]}


def plan(lifetime: int = 60, version: str = "24.11.5", **changed: Any) -> Any:
    """The plan for a sound cluster with some settings changed, polled every five minutes."""
    fact = samples.sound_fact(settings=samples.settings(**changed))
    fact["cluster"] = {**fact["cluster"], "version": version}
    auth = changed.get("AuthType", "auth/munge")
    fact["cluster"]["auth_type"] = auth
    return onboarding_plan(samples.answered(fact), {"poll_interval": 300}, lifetime)


def lines(found: Any) -> list[str]:
    return [one["conf_line"] for one in found["lines"]]


def test_three_lines() -> None:
    found = plan(AccountingStoreFlags=["job_script"], AuthInfo="socket=/run/m,ttl=300")
    assert lines(found) == [
        "AccountingStoreFlags=job_script,job_comment",
        "MinJobAge=300",
        "AuthInfo=socket=/run/m,ttl=60",
    ]
    assert found["settings"] == [FLAGS, AGE, TTL]
    assert found["notes"] == []
    assert found["lines"][1]["text"] == (
        "MinJobAge=300  # now 60; apply with scontrol reconfigure; no restart is needed"
    )
    assert [one["name"] for one in found["lines"]] == [one["name"] for one in found["settings"]]


def test_nothing_to_change() -> None:
    found = plan(MinJobAge=300, AuthInfo="ttl=20", AccountingStoreFlags=["JOB_COMMENT"])
    assert (found["lines"], found["notes"]) == ([], [])
    assert found["settings"] == [FLAGS, AGE, TTL]  # the module sees that they count


@pytest.mark.parametrize(
    ("lifetime", "changed", "wanted"),
    [
        (0, {}, []),
        (60, {}, ["AuthInfo=ttl=60"]),
        (300, {}, []),
        (60, {"AuthType": "auth/slurm"}, []),  # its default is a minute
        (30, {"AuthType": "auth/slurm"}, ["AuthInfo=ttl=30"]),
        (60, {"AuthInfo": "TTL=5"}, ["AuthInfo=TTL=5,ttl=60"]),
        (60, {"AuthInfo": "ttl=0"}, ["AuthInfo=ttl=60"]),
    ],
)
def test_credential_lifetimes(lifetime: int, changed: dict[str, Any], wanted: list[str]) -> None:
    assert lines(plan(lifetime, MinJobAge=300, **changed)) == wanted


@pytest.mark.parametrize(
    ("changed", "note", "rest"),
    [
        ({"MinJobAge": "unknown"}, "MinJobAge was not read", ["AuthInfo=ttl=60"]),
        ({"MinJobAge": "5m"}, "MinJobAge is '5m', which is no whole number", ["AuthInfo=ttl=60"]),
        ({"AuthInfo": "unknown"}, "AuthInfo was not read", ["MinJobAge=300"]),
        ({"AuthInfo": "ttl=x"}, "ttl in AuthInfo is 'x', which is no", ["MinJobAge=300"]),
        (
            {"AuthType": "auth/none"},
            "AuthInfo: with AuthType auth/none there is no credential lifetime",
            ["MinJobAge=300"],
        ),
        (
            {"AccountingStorageType": None, "AccountingStoreFlags": []},
            "AccountingStoreFlags: there is no accounting",
            ["MinJobAge=300", "AuthInfo=ttl=60"],
        ),
        (
            {"AccountingStorageType": "accounting_storage/none", "AccountingStoreFlags": []},
            "AccountingStoreFlags: there is no accounting",
            ["MinJobAge=300", "AuthInfo=ttl=60"],
        ),
        (
            {"AccountingStoreFlags": "unknown"},
            "AccountingStoreFlags was not read",
            ["MinJobAge=300", "AuthInfo=ttl=60"],
        ),
    ],
)
def test_notes(changed: dict[str, Any], note: str, rest: list[str]) -> None:
    found = plan(**changed)
    assert len(found["notes"]) == 1
    assert found["notes"][0].startswith(note)
    assert lines(found) == rest


def test_old_releases_need_a_restart() -> None:
    (line,) = plan(version="22.05.8", MinJobAge=300)["lines"]
    assert "until they are restarted" in line["apply"]


def test_without_an_answer_nothing_is_planned() -> None:
    for result in ({"unreachable": True, "msg": "no route"}, {"failed": True, "msg": "?"}):
        found = onboarding_plan(result, {}, 60)
        assert (found["lines"], found["settings"]) == ([], [])
        assert found["notes"] == [
            "the cluster's settings were not read: nothing is known to be wrong"
        ]


def test_the_module_takes_the_settings() -> None:
    known = set(config_setting.argument_spec()["settings"]["options"])
    for one in plan()["settings"]:
        assert set(one) <= known
        assert config_setting.refused({"settings": [{**dict.fromkeys(known), **one}]}) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("text", {}, 60), "dictionaries"),
        (({}, [], 60), "dictionaries"),
        (({}, {"poll_interval": 0}, 60), "capability_audit_poll_interval"),
    ],
)
def test_refusals(arguments: Any, message: str) -> None:
    with pytest.raises(AnsibleFilterError, match=message):
        onboarding_plan(*arguments)


def test_the_file_gives_its_filter() -> None:
    assert FilterModule().filters() == {"onboarding_plan": onboarding_plan}

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A policy is read whole, and every mistake in it is named with the allowed words."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.policy import (
    Policy,
    PolicyError,
    Waiver,
    read_policy,
)
from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.words import (
    CAPABILITIES,
    Verdict,
    finding_names,
)


def problems(**data: Any) -> tuple[str, ...]:
    """The mistakes in a policy."""
    with pytest.raises(PolicyError) as caught:
        read_policy(data)
    return caught.value.problems


def waiver(**changed: Any) -> dict[str, Any]:
    """A sound waiver with some keys changed."""
    return {"check": "min_job_age", "reason": "why", "expires": "2026-12-31", **changed}


def test_nothing_said_is_the_default() -> None:
    assert read_policy({}) == Policy()


def test_extra_variables_are_text() -> None:
    policy = read_policy(
        {
            "poll_interval": "45",
            "required_capabilities": "Hold, OutputRead",
            "required_store_flags": "JOB_COMMENT,job_script",
            "fail_on": "warn",
        }
    )
    assert policy.poll_interval == 45
    assert policy.required_capabilities == ("Hold", "OutputRead")
    assert policy.required_store_flags == ("job_comment", "job_script")
    assert policy.fail_on == (Verdict.WARN,)


def test_empty_lists_ask_for_nothing() -> None:
    policy = read_policy({"required_capabilities": [], "required_store_flags": [], "fail_on": []})
    assert policy.required_capabilities == policy.required_store_flags == policy.fail_on == ()


def test_the_longer_need_counts() -> None:
    assert Policy(poll_interval=30, min_job_age_minimum=200).min_job_age_needed == 200
    assert Policy(poll_interval=300, min_job_age_minimum=200).min_job_age_needed == 300


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [
        ({"required_capabilities": ["hold"]}, "required_capabilities", CAPABILITIES),
        ({"required_capabilities": {"Hold": 1}}, "required_capabilities", ["not a list"]),
        ({"fail_on": ["pass"]}, "fail_on", ["fail", "unknown", "warn"]),
        ({"required_store_flags": ["job comment"]}, "required_store_flags", ["job_comment"]),
        ({"allowed_auth_types": ["munge"]}, "allowed_auth_types", ["auth/munge"]),
        ({"allowed_auth_types": []}, "allowed_auth_types", ["empty"]),
        ({"poll_interval": 0}, "poll_interval", ["less than 1"]),
        ({"poll_interval": "soon"}, "poll_interval", ["whole number", "soon"]),
        ({"poll_interval": True}, "poll_interval", ["whole number"]),
        ({"min_job_age_minimum": -1}, "min_job_age_minimum", ["less than 0"]),
        ({"min_job_age_maximum": 20}, "min_job_age_maximum", ["20 s", "30 s"]),
        ({"polling": 3}, "polling", ["poll_interval", "waivers"]),
        ({"waivers": "min_job_age"}, "waivers", ["not a list"]),
        ({"waivers": ["min_job_age"]}, "waivers[0]", ["check, reason and expires"]),
        ({"waivers": [waiver(check="minjobage")]}, "waivers[0].check", finding_names()),
        ({"waivers": [waiver(), waiver(reason=" ")]}, "waivers[1].reason", ["missing"]),
        ({"waivers": [waiver(expires=None)]}, "waivers[0].expires", ["YYYY-MM-DD"]),
        ({"waivers": [waiver(expires="2026-13-01")]}, "waivers[0].expires", ["2026-13-01"]),
        ({"waivers": [waiver(expires="31.12.2026")]}, "waivers[0].expires", ["YYYY-MM-DD"]),
        ({"waivers": [waiver(expires=datetime(2026, 1, 1))]}, "waivers[0].expires", ["YYYY-"]),
        ({"waivers": [waiver(until=1)]}, "waivers[0]", ["check", "expires", "hosts"]),
        ({"waivers": [waiver(hosts=3)]}, "waivers[0].hosts", ["not a list"]),
    ],
)
def test_a_mistake_names_the_variable_and_the_words(
    data: dict[str, Any], name: str, words: tuple[str, ...]
) -> None:
    found = problems(**data)
    assert len(found) == 1
    assert found[0].startswith("capability_audit_%s: " % name)
    for word in words:
        assert word in found[0]


def test_every_mistake_is_found() -> None:
    found = problems(poll_interval=0, required_capabilities=["X"], waivers=[waiver(check="y")])
    assert len(found) == 3


@pytest.mark.parametrize("expires", ["2026-12-31", date(2026, 12, 31)])
def test_a_day_may_be_text_or_what_yaml_makes_of_it(expires: object) -> None:
    policy = read_policy({"waivers": [waiver(expires=expires)]})
    assert policy.waivers == (Waiver("min_job_age", "why", date(2026, 12, 31)),)
    written = yaml.safe_load("expires: 2026-12-31")
    assert read_policy({"waivers": [waiver(**written)]}) == policy


def test_a_waiver_holds_to_the_end_of_its_last_day() -> None:
    one = Waiver("min_job_age", "why", date(2026, 12, 31), ("alpha",))
    assert not one.expired(date(2026, 12, 31))
    assert one.expired(date(2027, 1, 1))
    assert one.concerns("alpha")
    assert not one.concerns("beta")


@given(st.dictionaries(st.text(), st.recursive(st.none() | st.text() | st.integers(), st.lists)))
def test_nonsense_is_refused_and_never_crashes(data: dict[str, Any]) -> None:
    if data:
        assert problems(**{"x" + key: value for key, value in data.items()})
    for key in ("waivers", "fail_on", "poll_interval", "required_capabilities"):
        for value in data.values():
            try:
                read_policy({key: value})
            except PolicyError as error:
                # Other errors are what the test looks for: this one has to say why.
                assert error.problems  # noqa: PT017

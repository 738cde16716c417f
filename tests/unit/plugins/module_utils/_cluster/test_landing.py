# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How late a write may land: the formula, and when there is none."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    Configuration,
    parse_configuration,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.landing import (
    auth_type,
    credential_lifetime,
    landing_bound,
)


def cluster(
    auth: str = "auth/munge", info: str | None = "(null)", timeout: str = "10 sec"
) -> Configuration:
    lines = ["Configuration data as of 1796035468", f"AuthType = {auth}"]
    lines += [f"MessageTimeout = {timeout}"] if timeout else []
    lines += [f"AuthInfo = {info}"] if info is not None else []
    return parse_configuration("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("auth", "info", "seconds"),
    [
        ("auth/munge", "(null)", 300),
        ("auth/slurm", "(null)", 60),
        ("auth/munge", "ttl=5", 5),
        ("auth/slurm", "ttl=5", 5),
        ("auth/munge", "ttl=60,cred_expire=60", 60),
        ("auth/munge", "cred_expire=60", 300),
        ("auth/munge", "socket=/run/m, ttl=7", 7),
        ("auth/munge", "TTL=7", 300),  # credentials live on with it: seen on 24.11
        ("auth/munge", "ttl=7,ttl=9", 7),
        ("auth/munge", "nottl=7", 300),
        ("auth/munge", "ttl=0", None),
        ("auth/munge", "ttl=-5", None),
        ("auth/munge", "ttl=5m", None),
        ("auth/munge", "ttl=", None),
        ("auth/munge", "ttl", None),
        ("auth/munge", "ttl=9999999", None),
        ("auth/munge", None, None),
        ("auth/none", "(null)", None),
        ("auth/jwt", "ttl=5", None),
        ("(null)", "(null)", None),
    ],
)
def test_credential_lifetime(auth: str, info: str | None, seconds: int | None) -> None:
    assert credential_lifetime(cluster(auth, info)) == seconds


@pytest.mark.parametrize(
    ("auth", "info", "timeout", "skew", "seconds"),
    [
        ("auth/munge", "(null)", "10 sec", 0, 5 + 300 + 10 + 1),
        ("auth/slurm", "(null)", "10 sec", 0, 5 + 60 + 10 + 1),
        ("auth/munge", "ttl=5", "100 sec", 0, 5 + 5 + 100 + 1),
        ("auth/munge", "(null)", "10 sec", 60, 5 + 300 + 60 + 10 + 1),
        ("auth/munge", "(null)", "10 sec", 0.2, 5 + 300 + 1 + 10 + 1),
        ("auth/munge", "(null)", "10 sec", -60, 5 + 300 + 10 + 1),
        ("auth/munge", "(null)", "10 sec", -0.5, 5 + 300 + 10 + 1),
    ],
)
def test_bound(auth: str, info: str, timeout: str, skew: float, seconds: int) -> None:
    bound = landing_bound(cluster(auth, info, timeout), skew)
    assert (bound.seconds, bound.known, bound.as_fact()) == (seconds, True, seconds)


@pytest.mark.parametrize("auth", ["auth/none", "auth/jwt", "auth/something"])
def test_another_type_has_no_bound(auth: str) -> None:
    bound = landing_bound(cluster(auth), 0)
    assert (bound.seconds, bound.known, bound.as_fact()) == (0, False, 0)
    assert bound.reason == f'AuthType "{auth}" has no known landing bound'


@pytest.mark.parametrize(
    ("configuration", "reason"),
    [
        (Configuration(None), "AuthType was not read"),
        (cluster("(null)"), "AuthType was not read"),
        (cluster(info="ttl=soon"), "AuthInfo was not read: AuthInfo = ttl=soon"),
        (cluster(info=None), "AuthInfo was not read: no line AuthInfo"),
        (cluster(timeout=""), "MessageTimeout was not read"),
        (cluster(timeout="soon"), "MessageTimeout was not read"),
        (cluster(timeout="INFINITE"), "MessageTimeout was not read"),
    ],
)
def test_what_was_not_read_gives_no_bound(configuration: Configuration, reason: str) -> None:
    bound = landing_bound(configuration, 0)
    assert (bound.seconds, bound.known, bound.as_fact()) == (None, False, "unknown")
    assert bound.reason == reason


@given(st.floats(-1e6, 1e6), st.integers(1, 999), st.integers(1, 999999))
@settings(deadline=None)
def test_the_bound_is_never_too_small(skew: float, timeout: int, ttl: int) -> None:
    bound = landing_bound(cluster(info=f"ttl={ttl}", timeout=f"{timeout} sec"), skew)
    assert bound.seconds == 5 + ttl + math.ceil(max(0.0, skew)) + timeout + 1


def test_auth_type_is_the_live_one() -> None:
    assert auth_type(cluster("auth/slurm")) == "auth/slurm"
    assert auth_type(Configuration(None)) == "unknown"

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is changed in a value, and nothing more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import (
    parse_configuration,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.wishes import (
    LARGEST,
    NoNumber,
    Wish,
    restart_needed,
    shown_value,
    way_to_apply,
)

FLAGS = Wish("AccountingStoreFlags", members=("job_comment", "job_script"))
AGE = Wish("MinJobAge", at_least=300)
TTL = Wish("AuthInfo", part="ttl", at_most=60)
RANGE = Wish("MinJobAge", at_least=300, at_most=7200)


def after(wish: Wish, value: str | None) -> str | None:
    """The value as it will be, None when it is as wished."""
    change = wish.change(value)
    return None if change is None else change.applied(value or "")


@pytest.mark.parametrize(
    ("wish", "value", "wanted"),
    [
        (FLAGS, None, "job_comment,job_script"),
        (FLAGS, "", "job_comment,job_script"),
        (FLAGS, "none", "job_comment,job_script"),
        (FLAGS, "job_env", "job_env,job_comment,job_script"),
        (FLAGS, "JOB_Comment, job_env", "JOB_Comment, job_env,job_script"),
        (FLAGS, "job_script,job_comment", None),
        (FLAGS, "job_comment,", "job_comment,job_script"),
        (AGE, None, "300"),
        (AGE, "0", "300"),
        (AGE, "299", "300"),
        (AGE, "300", None),
        (AGE, "86400", None),
        (AGE, "INFINITE", None),
        (AGE, "infinite", None),
        (RANGE, "7201", "7200"),
        (RANGE, "UNLIMITED", "7200"),
        (RANGE, "5000", None),
        (TTL, None, "ttl=60"),
        (TTL, "(null)", "ttl=60"),
        (TTL, "socket=/run/m", "socket=/run/m,ttl=60"),
        (TTL, "socket=/run/m,ttl=300,cred_expire=9", "socket=/run/m,ttl=60,cred_expire=9"),
        (TTL, "ttl=20", None),
        (TTL, "ttl=60", None),
        (TTL, "ttl=0", "ttl=60"),  # Slurm's default
        (TTL, "ttl=", "ttl=60"),
        (TTL, "ttl", "ttl,ttl=60"),
        (TTL, "TTL=5", "TTL=5,ttl=60"),  # Slurm reads no ttl in that
        (TTL, "ttl=300,ttl=5", "ttl=60,ttl=5"),  # Slurm takes the first
        (TTL, "use_client_ids,", "use_client_ids,ttl=60"),
    ],
)
def test_the_least_change(wish: Wish, value: str | None, wanted: str | None) -> None:
    assert after(wish, value) == wanted
    assert wish.met_by(value) is (wanted is None)


@pytest.mark.parametrize(
    ("wish", "value"), [(AGE, "5m"), (AGE, "-1"), (TTL, "ttl=abc"), (AGE, "1.5"), (AGE, "unknown")]
)
def test_no_number(wish: Wish, value: str) -> None:
    with pytest.raises(NoNumber, match="no whole number"):
        wish.change(value)
    assert not wish.met_by(value)


WORD = st.sampled_from(["a", "ttl", "socket", "job_comment", "b c", ""])
VALUES = st.lists(
    st.one_of(WORD, st.builds("%s=%d".__mod__, st.tuples(WORD, st.integers(0, 500)))), max_size=5
).map(",".join)


@given(VALUES, st.sampled_from([FLAGS, TTL]))
def test_afterwards_it_is_met_and_the_rest_is_there(value: str, wish: Wish) -> None:
    try:
        new = after(wish, value)
    except NoNumber:
        return
    if new is None:
        return
    assert wish.met_by(new)
    rest = [one for one in value.split(",") if not one.startswith("ttl=") and one]
    assert [one for one in new.split(",") if one in rest][: len(rest)] == rest


@given(st.integers(0, LARGEST), st.integers(0, LARGEST), st.integers(0, LARGEST))
def test_the_nearest_number_of_a_range(number: int, one: int, other: int) -> None:
    wish = Wish("MinJobAge", at_least=min(one, other), at_most=max(one, other))
    new = after(wish, str(number))
    assert int(number if new is None else new) == sorted((one, other, number))[1]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("MinJobAge               = 60 sec", "60"),
        ("MinJobAge               = UNLIMITED", "infinite"),
        ("MinJobAge               = (null)", None),
        ("KillWait                = 60 sec", "unknown"),
        ("MinJobAge = 60 sec\nMinJobAge = 61 sec", "unknown"),
    ],
)
def test_what_the_controller_has(line: str, wanted: str | None) -> None:
    listed = parse_configuration("Configuration data as of 1796035468\n%s\n" % line)
    assert shown_value(listed, "MinJobAge") == wanted


@pytest.mark.parametrize(
    ("text", "wanted"), [("(null)", None), ("none", None), ("a,b", "a,b"), ("a, b", "a,b")]
)
def test_what_the_controller_has_in_a_list(text: str, wanted: str | None) -> None:
    line = "AccountingStoreFlags = %s\n" % text
    listed = parse_configuration("Configuration data as of 1796035468\n" + line)
    assert shown_value(listed, "AccountingStoreFlags") == wanted


@pytest.mark.parametrize(
    ("key", "version", "needed"),
    [
        ("AuthInfo", (22, 5, 8), True),
        ("AuthInfo", (23, 2, 0), True),
        ("AuthInfo", None, True),
        ("AuthInfo", (23, 11, 0), False),
        ("AuthInfo", (26, 5, 5), False),
        ("MinJobAge", (22, 5, 8), False),
        ("AccountingStoreFlags", (22, 5, 8), False),
    ],
)
def test_restarts(key: str, version: tuple[int, int, int] | None, needed: bool) -> None:
    assert restart_needed(key, version) is needed
    said = way_to_apply(key, version, "auth/munge")
    assert said.startswith("scontrol reconfigure")
    assert ("until they are restarted" in said) is needed


def test_auth_slurm_has_one_more_daemon() -> None:
    assert "restart sackd" in way_to_apply("AuthInfo", (26, 5, 5), "auth/slurm")
    assert "restart where" not in way_to_apply("MinJobAge", (26, 5, 5), "auth/slurm")
    assert "a restart where" in way_to_apply("SlurmctldPort", (26, 5, 5), "auth/munge")

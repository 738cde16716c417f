# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the action plugin and the module tell each other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.clock import Skew
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.rounds import (
    ROUND,
    Exchange,
    Message,
)


def clock(as_of: int) -> dict[str, float]:
    steady = {"began": 1.0, "asked": 1.0, "answered": 1.0, "ended": 1.0}
    return {"as_of": as_of, "wall": 1796000000.0, **steady}


def part(finished: bool, **more: Any) -> dict[str, Any]:
    return {"finished": finished, "clock": clock(1000), "clock_skew_max": 5.0, **more}


def test_an_empty_message_is_a_round_of_its_own() -> None:
    assert Message.read({}) == Message(None, None, 0.0)


def test_messages_pass_through_json() -> None:
    exchange = Exchange()
    assert Message.read(json.loads(json.dumps(exchange.message()))) == Message(None, None, 0.0)
    exchange.take(part(False, state={"job_id": "41"}, waiting=True), 1000.0, 1001.0)
    message = Message.read(json.loads(json.dumps(exchange.message())))
    assert message == Message({"job_id": "41"}, Skew(-1.0, 1.0, 1001.0 - 1796000000.0), ROUND)


def test_rounds_go_on_until_the_module_has_finished() -> None:
    exchange = Exchange()
    exchange.take(part(False, waiting=True, job_id="41", waited=4.2, limit=60), 1000.0, 1001.0)
    assert (exchange.finished, exchange.waiting) == (False, True)
    assert exchange.progress() == (
        "preflight: probe job 41 is cancelled, waiting for its row in sacct: 4 s of 60 s"
    )
    exchange.take(part(False, waiting=False), 1000.0, 1001.0)
    assert (exchange.finished, exchange.waiting) == (False, False)
    exchange.take(part(True), 1000.0, 1001.0)
    assert (exchange.finished, exchange.waiting) == (True, False)


def test_a_module_that_ended_early_ends_the_rounds() -> None:
    for empty in (True, False):
        nothing: dict[str, Any] | None = {} if empty else None
        exchange = Exchange()
        exchange.take(nothing, 1000.0, 1001.0)
        assert (exchange.finished, exchange.waiting) == (True, False)
        answer: dict[str, Any] = {"failed": True, "msg": "x"}
        exchange.complete(answer)
        assert answer == {"failed": True, "msg": "x"}


def test_skew_narrows_from_round_to_round() -> None:
    exchange = Exchange()
    exchange.take(part(False), 1000.0, 1010.0)
    assert exchange.message()["skew"][:2] == [-1.0, 10.0]
    exchange.take(part(True), 1000.5, 1001.0)
    assert exchange.message()["skew"][:2] == [-0.5, 1.0]


def test_the_hosts_clock_is_asked_for_while_it_helps() -> None:
    exchange = Exchange()
    assert exchange.unsure is False
    exchange.take(part(False), 1000.0, 1001.0)
    assert exchange.unsure is True  # the skew enters the landing bound
    exchange.take(part(True), 1000.0, 1001.0)
    assert exchange.unsure is False
    busy = Exchange()
    busy.take(part(True), 980.0, 1020.0)
    assert busy.unsure is True
    busy.hear_host("1796000000.250000000", 1000.5, 1001.0)
    assert (busy.unsure, busy.message()["skew"][:2]) == (False, [-0.75, 0.75])
    none = Exchange()
    none.take({"finished": False, "clock": None}, 980.0, 1020.0)
    assert none.unsure is False


@pytest.mark.parametrize(
    "told", ["", "soon", "1796000000", "1796000000.N", "nan", "1e9.5", "1796000000.5 x", "9" * 400]
)
def test_what_is_no_clock_is_passed_by(told: str) -> None:
    exchange = Exchange()
    exchange.take(part(True), 980.0, 1020.0)
    exchange.hear_host(told, 1000.5, 1001.0)
    assert exchange.message()["skew"][:2] == [-21.0, 20.0]


def test_a_banner_before_the_clock_does_no_harm() -> None:
    exchange = Exchange()
    exchange.take(part(True), 980.0, 1020.0)
    exchange.hear_host("Welcome\n1234567890.5", 1000.5, 1001.0)
    assert exchange.message()["skew"][:2] != [-21.0, 20.0]


def test_the_clocks_check_is_put_in_its_place() -> None:
    exchange = Exchange()
    exchange.take(part(True), 1000.0, 1001.0)
    names = ["version", "clock_skew", "probe"]
    facts = {"checks": [{"name": name, "verdict": "unknown"} for name in names]}
    answer = {"ansible_facts": {"slurm_preflight": facts}}
    exchange.complete(answer)
    assert [one["name"] for one in facts["checks"]] == names
    assert [one["verdict"] for one in facts["checks"]] == ["unknown", "pass", "unknown"]


def test_without_a_clock_the_check_is_unknown() -> None:
    exchange = Exchange()
    exchange.take({"finished": True, "clock": None, "clock_skew_max": 5}, 1000.0, 1001.0)
    facts = {"checks": [{"name": "clock_skew", "verdict": "pass"}]}
    exchange.complete({"ansible_facts": {"slurm_preflight": facts}})
    assert facts["checks"][0]["verdict"] == "unknown"

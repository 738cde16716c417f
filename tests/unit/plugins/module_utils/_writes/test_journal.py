# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal: nothing is lost, nothing foreign is believed, and no fault goes unsaid."""

from __future__ import annotations

import errno
import fcntl
import json
import multiprocessing
import os
import random
import resource
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import SlurmError
from ansible_collections.hpcops.slurm.plugins.module_utils._writes import journal as journals
from ansible_collections.hpcops.slurm.plugins.module_utils._writes.journal import (
    BIT_CLEARED,
    BIT_LEFT,
    BIT_OFF,
    RECENT,
    Entry,
    Journal,
    bits_in_doubt,
    directory_for,
    holds,
    needed,
    requeues,
)

NOW = 1796035504


def entry(job_id: str = "5", nonce: str = "aa", **values: Any) -> Entry:
    given: dict[str, Any] = {
        "action": "hold",
        "cluster": "cl1",
        "submitted": NOW - 60,
        "instance": 7,
        "begin": 0,
        "restarts": 0,
        "deadline": NOW,
        "until": NOW + 316,
        **values,
    }
    return Entry(nonce=nonce, job_id=job_id, **given)


def place(tmp_path: Path) -> Path:
    """A directory as it should be."""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def write(folder: Path, *groups: list[Entry]) -> None:
    with Journal(str(folder)) as journal:
        journal.start(groups)


def read(folder: Path) -> list[Entry]:
    with Journal(str(folder)) as journal:
        return journal.entries()


# Round trip


def test_what_was_written_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "er" / "state"
    first = [entry("5"), entry("70_3", begin=NOW + 9, submitted=None, restarts=None)]
    second = [entry("6", "bb", action="requeue", instance=0)]
    write(folder, first, second)
    assert read(folder) == [*first, *second]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "journal.jsonl").stat().st_mode) == 0o600
    with Journal(str(folder)) as journal:
        journal.end({"aa": {"70_3": "applied", "99": "applied"}, "cc": {"5": "applied"}})
    assert read(folder) == [first[0], replace(first[1], outcome="applied"), *second]


def test_a_task_is_one_write_and_one_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = place(tmp_path)
    write(folder, [entry()])
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    write(folder, *[[entry(str(n), f"n{n}")] for n in range(1, 2000)])
    assert len(synced) == 1
    assert len(read(folder)) == 2000


def test_the_name_is_on_the_disk_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = place(tmp_path)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    write(folder, [entry()])
    assert synced == [folder.stat().st_ino, (folder / "journal.jsonl").stat().st_ino]


@pytest.mark.parametrize(
    ("user", "home", "state_home", "expected"),
    [
        (0, "/root", "/root/state", "/var/lib/hpcops.slurm"),
        (1000, "/home/user1", None, "/home/user1/.local/state/hpcops.slurm"),
        (1000, "/home/user1", "", "/home/user1/.local/state/hpcops.slurm"),
        (1000, "/home/user1", "/data/state", "/data/state/hpcops.slurm"),
        (1000, "/home/user1", "relative", "/home/user1/.local/state/hpcops.slurm"),
    ],
)
def test_place(user: int, home: str, state_home: str | None, expected: str) -> None:
    assert directory_for(user, home, state_home) == expected


def test_reading_only_makes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with Journal(str(folder), read_only=True) as journal:
        assert journal.entries() == []
    assert not folder.exists()
    folder.mkdir(mode=0o700)
    with Journal(str(folder), read_only=True) as journal:
        assert journal.entries() == []
    assert list(folder.iterdir()) == []
    write(folder, [entry()])
    with Journal(str(folder), read_only=True) as journal:
        assert journal.entries() == [entry()]


# Torn and damaged


def test_torn_at_every_byte(tmp_path: Path) -> None:
    """The machine may stop in the middle of a write: what was there before stays, and goes on."""
    folder = place(tmp_path)
    path = folder / "journal.jsonl"
    write(folder, [entry("5")])
    whole = path.read_bytes()
    write(folder, [entry("6", "bb")])
    both = path.read_bytes()
    for length in range(len(whole), len(both)):
        path.write_bytes(both[:length])
        with Journal(str(folder)) as journal:
            # A line that lacks nothing but its end is a whole one.
            expected = [entry("5")] if length < len(both) - 1 else [entry("5"), entry("6", "bb")]
            assert journal.entries() == expected
            assert bool(journal.warnings) is (len(whole) < length < len(both) - 1)
            journal.start([[entry("7", "cc")]])
        assert read(folder) == [*expected, entry("7", "cc")]


GOOD = json.dumps(
    {
        "format": 1, "event": "start", "nonce": "aa", "action": "hold", "cluster": "cl1",
        "instance": 7, "deadline": NOW, "until": NOW + 316, "jobs": {"5": [NOW, 0, 0]},
    }
)  # fmt: skip
BAD_LINES = [
    "garbage",
    "{",
    "{}",
    "[]",
    "null",
    "1",
    '"text"',
    "\x00" * 50,
    "[" * 100000,
    GOOD.replace('"format": 1', '"format": 2'),
    GOOD.replace('"event": "start"', '"event": "pause"'),
    GOOD.replace('"event": "start"', '"event": ["start"]'),
    GOOD.replace('"nonce": "aa"', '"nonce": 5'),
    GOOD.replace('"nonce": "aa"', '"nonce": ["aa"]'),
    GOOD.replace('"until"', '"until2"'),
    GOOD.replace(f'"until": {NOW + 316}', '"until": "soon"'),
    GOOD.replace(f'"until": {NOW + 316}', '"until": 1e3'),
    GOOD.replace(f'"until": {NOW + 316}', '"until": NaN'),
    GOOD.replace('"instance": 7', '"instance": true'),
    GOOD.replace(f'{{"5": [{NOW}, 0, 0]}}', "5"),
    GOOD.replace(f'{{"5": [{NOW}, 0, 0]}}', '["5"]'),
    GOOD.replace(f"[{NOW}, 0, 0]", "[0, 0]"),
    GOOD.replace(f"[{NOW}, 0, 0]", f"[{NOW}, null, 0]"),
    GOOD.replace(f"[{NOW}, 0, 0]", f'[{NOW}, 0, "0"]'),
    '{"format": 1, "event": "end", "nonce": "aa", "outcomes": ["5"]}',
    '{"format": 1, "event": "end", "nonce": "aa", "outcomes": {"5": 1}}',
    '{"format": 1, "event": "end", "nonce": {}, "outcomes": {"5": "applied"}}',
]


@pytest.mark.parametrize("line", BAD_LINES, ids=range(len(BAD_LINES)))
def test_a_line_that_is_not_readable(tmp_path: Path, line: str) -> None:
    assert line != GOOD
    folder = place(tmp_path)
    write(folder, [entry("5")])
    with (folder / "journal.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    write(folder, [entry("6", "bb")])
    with Journal(str(folder)) as journal:
        assert journal.entries() == [entry("5"), entry("6", "bb")]
        assert len(journal.warnings) == 1
        journal.entries()
        assert len(journal.warnings) == 1


@settings(
    # Every example may use the same folder.
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.binary(max_size=200), st.integers(0, 400), st.integers(0, 40))
def test_any_damage(tmp_path: Path, noise: bytes, at: int, less: int) -> None:
    """Any bytes anywhere: what can be read is, and what is written afterwards stays."""
    folder = place(tmp_path)
    path = folder / "journal.jsonl"
    path.unlink(missing_ok=True)
    write(folder, [entry("5"), entry("6")])
    text = path.read_bytes()
    path.write_bytes(text[:at] + noise + text[at + less :])
    with Journal(str(folder)) as journal:
        journal.entries()
        journal.start([[entry("7", "cc")]])
    assert entry("7", "cc") in read(folder)


# Files and directories that are none


def make_fifo(path: Path) -> None:
    os.mkfifo(path, 0o600)


def make_directory(path: Path) -> None:
    path.mkdir()


def make_symlink(path: Path) -> None:
    target = path.parent / "elsewhere"
    target.touch(mode=0o600)
    path.symlink_to(target)


def make_dangling(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def make_group_writable(path: Path) -> None:
    path.touch()
    path.chmod(0o660)


def make_world_writable(path: Path) -> None:
    path.touch()
    path.chmod(0o606)


@pytest.mark.parametrize(
    "make",
    [
        make_fifo,
        make_directory,
        make_symlink,
        make_dangling,
        make_group_writable,
        make_world_writable,
    ],
)
def test_what_is_no_file_of_ours(tmp_path: Path, make: Callable[[Path], None]) -> None:
    folder = place(tmp_path)
    make(folder / "journal.jsonl")
    for read_only in (False, True):
        with pytest.raises(SlurmError, match="journal"), Journal(str(folder), read_only):
            pass
    assert not (folder / "nowhere").exists()


def test_a_file_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = place(tmp_path)
    write(folder, [entry()])
    status = os.fstat
    foreign = os.geteuid() + 1

    def another(handle: int) -> os.stat_result:
        fields = list(status(handle))
        fields[stat.ST_UID] = foreign
        return os.stat_result(fields)

    monkeypatch.setattr(os, "fstat", another)
    with pytest.raises(SlurmError, match="only this user may write"), Journal(str(folder)):
        pass


def test_a_foreign_file_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever made it can hold its lock for ever."""
    monkeypatch.setattr(journals, "_lock", lambda *_: pytest.fail("its lock is waited for"))
    folder = place(tmp_path)
    path = folder / "journal.jsonl"
    make_world_writable(path)
    with pytest.raises(SlurmError), Journal(str(folder)):
        pass


@pytest.mark.parametrize(("mode", "good"), [(0o777, False), (0o770, False), (0o1777, True)])
def test_a_directory_that_others_may_write(tmp_path: Path, mode: int, good: bool) -> None:
    folder = place(tmp_path)
    folder.chmod(mode)
    if good:
        write(folder, [entry()])
        return
    with pytest.raises(SlurmError, match="others may write"), Journal(str(folder)):
        pass


@pytest.mark.parametrize("kind", ["a file", "below a file", "a name that is too long"])
def test_a_directory_that_can_not_be_made(tmp_path: Path, kind: str) -> None:
    (tmp_path / "file").touch()
    folder = {
        "a file": tmp_path / "file",
        "below a file": tmp_path / "file" / "state",
        "a name that is too long": tmp_path / ("x" * 300),
    }[kind]
    with pytest.raises(SlurmError, match="could not be opened"), Journal(str(folder)):
        pass


def test_a_directory_that_can_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write anywhere: the kernel's answer is played."""
    folder = place(tmp_path)

    def refused(*ignored: object, **more: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(SlurmError, match="Permission denied") as raised, Journal(str(folder)):
        pass
    assert "state_dir" in raised.value.remedy


# A full disk


def in_child(work: Callable[[], None]) -> None:
    """Do something in a process of its own, and fail if it fails."""
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(60)
    assert child.exitcode == 0


@pytest.mark.parametrize("room", [0, 1, 50, 150])
def test_a_full_disk(tmp_path: Path, room: int) -> None:
    """What does not fit leaves no trace, and the file goes on when there is room again."""
    folder = place(tmp_path)
    path = folder / "journal.jsonl"
    write(folder, [entry("5")])
    before = path.read_bytes()

    def limited() -> None:
        limit = len(before) + room
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        with pytest.raises(SlurmError, match="could not be written"):
            write(folder, [entry("6", "bb")])
        with Journal(str(folder)) as journal:
            with pytest.raises(SlurmError):
                journal.end({"aa": {"5": "applied"}, "bb": {"6": "x" * 200}})
            assert journal.entries() == [entry("5")]

    in_child(limited)
    assert path.read_bytes() == before
    write(folder, [entry("6", "bb")])
    assert read(folder) == [entry("5"), entry("6", "bb")]


def test_a_disk_that_fills_during_a_rewrite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old file stays, and is used."""
    folder = place(tmp_path)
    old = [entry(str(n), f"n{n}", until=NOW - 10 * RECENT) for n in range(1, 200)]
    write(folder, *[[one] for one in old])
    monkeypatch.setattr(journals, "COMPACT_AT", 100)
    rename = os.rename

    def full(*ignored: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with Journal(str(folder)) as journal:
        journal.compact(NOW)
        journal.start([[entry("999", "zz")]])
        assert len(journal.warnings) == 1
    monkeypatch.setattr(os, "rename", rename)
    assert read(folder) == [*old, entry("999", "zz")]
    assert [one.name for one in folder.iterdir()] == ["journal.jsonl"]


# Several processes


def append_many(folder: str, name: str, count: int) -> None:
    chance = random.Random(name)
    for number in range(count):
        nonce = f"{name}-{number}"
        with Journal(folder) as journal:
            journal.start([[entry(str(job), nonce) for job in range(1, chance.randint(2, 6))]])
        with Journal(folder) as journal:
            journal.end({nonce: {"1": "applied"}})


def run_processes(*works: tuple[Callable[..., None], tuple[Any, ...]]) -> None:
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=work, args=arguments) for work, arguments in works]
    for child in children:
        child.start()
    for child in children:
        child.join(120)
        assert child.exitcode == 0


def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of syncs take minutes; what is tested here is the lock."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def test_two_processes_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_sync(monkeypatch)
    folder = str(place(tmp_path))
    each = 700
    run_processes(*((append_many, (folder, name, each)) for name in ("a", "b", "c")))
    with Journal(folder) as journal:
        found = journal.entries()
        assert journal.warnings == []
    assert {one.nonce for one in found} == {f"{n}-{i}" for n in "abc" for i in range(each)}
    assert {one.outcome for one in found if one.job_id == "1"} == {"applied"}
    chances = {name: random.Random(name) for name in "abc"}
    expected = sum(chances[name].randint(2, 6) - 1 for name in "abc" for _turn in range(each))
    assert len(found) == expected


def compact_many(folder: str, count: int) -> None:
    for number in range(count):
        with Journal(folder) as journal:
            journal.compact(NOW)
            journal.start([[entry("9", f"compact-{number}")]])
            if number % 3 == 0:  # something to leave out next time
                old = [entry(str(n), f"old-{number}", until=0) for n in range(1, 100)]
                journal.start([old])


def test_rewriting_while_others_append_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_sync(monkeypatch)
    monkeypatch.setattr(journals, "COMPACT_AT", 500)
    folder = str(place(tmp_path))
    before = os.stat(folder).st_ino
    run_processes(
        (append_many, (folder, "a", 120)),
        (append_many, (folder, "b", 120)),
        (compact_many, (folder, 60)),
    )
    assert os.stat(folder).st_ino == before
    with Journal(folder) as journal:
        nonces = {one.nonce for one in journal.entries()}
        assert journal.warnings == []
    assert {f"{n}-{i}" for n in "ab" for i in range(120)} <= nonces
    assert {f"compact-{number}" for number in range(60)} <= nonces


def test_a_rewrite_while_another_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waited for the lock of the old file goes on with the new one."""
    monkeypatch.setattr(journals, "COMPACT_AT", 100)
    folder = place(tmp_path)
    old = [entry(str(n), f"n{n}", until=0) for n in range(1, 100)]
    write(folder, *[[one] for one in old])
    inode = (folder / "journal.jsonl").stat().st_ino
    done: list[list[Entry]] = []
    waiting = threading.Event()

    def other() -> None:
        waiting.set()
        with Journal(str(folder)) as journal:
            journal.start([[entry("888", "other")]])
            done.append(journal.entries())

    with Journal(str(folder)) as journal:
        thread = threading.Thread(target=other)
        thread.start()
        waiting.wait(10)
        time.sleep(0.1)
        journal.compact(NOW)
        with (folder / "journal.jsonl").open() as stream, pytest.raises(BlockingIOError):
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        journal.start([[entry("777", "mine")]])
        assert done == []
    thread.join(10)
    assert (folder / "journal.jsonl").stat().st_ino != inode
    assert done == [[entry("777", "mine"), entry("888", "other")]]
    assert read(folder) == done[0]
    assert stat.S_IMODE((folder / "journal.jsonl").stat().st_mode) == 0o600


def test_a_lock_that_is_never_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "PATIENCE", 0.2)
    folder = place(tmp_path)
    write(folder, [entry()])
    with (folder / "journal.jsonl").open() as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(SlurmError, match="another run"), Journal(str(folder)):
            pass


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*ignored: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(SlurmError, match="No locks available"), Journal(str(place(tmp_path))):
        pass


def test_no_handle_is_left_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "COMPACT_AT", 100)
    folder = place(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    for number in range(30):
        with Journal(str(folder)) as journal:
            journal.compact(NOW)
            journal.start([[entry(str(number + 1), f"n{number}", until=0)]])
    make = folder / "bad"
    make.mkdir(mode=0o700)
    make_world_writable(make / "journal.jsonl")
    for _turn in range(10):
        with pytest.raises(SlurmError), Journal(str(make)):
            pass
    assert len(os.listdir("/proc/self/fd")) == before


# What is kept, and what entries mean

LONG_AGO = NOW - 10 * RECENT


def test_a_small_file_is_left_as_it_is(tmp_path: Path) -> None:
    folder = place(tmp_path)
    write(folder, [entry(until=LONG_AGO)])
    text = (folder / "journal.jsonl").read_bytes()
    with Journal(str(folder)) as journal:
        journal.compact(NOW)
    assert (folder / "journal.jsonl").read_bytes() == text


def old(job_id: str, nonce: str, **values: Any) -> Entry:
    return entry(job_id, nonce, **{"until": LONG_AGO, **values})


def test_entries_that_are_needed_are_kept() -> None:
    flying = entry("1", "a", until=NOW + 5)
    recent = entry("2", "b", until=NOW - 5, outcome="applied")
    begins = old("3", "c", begin=NOW + 60, outcome="applied")
    cut_off = old("4", "d", action="requeue")
    left = old("5", "e", action="requeue", outcome=BIT_LEFT)
    unknown = old("6", "f", action="requeue", outcome="unknown")
    kept = [flying, recent, begins, cut_off, left, unknown]
    dropped = [
        old("7", "g", begin=NOW - 5, outcome="applied"),
        old("8", "h", begin=NOW + 60, outcome="rejected"),
        old("9", "i", action="requeue", outcome="applied"),
        old("10", "j", action="requeue", outcome=BIT_OFF),
        old("11", "k", action="release", outcome="applied"),
        old("12", "l"),
    ]
    assert needed(kept + dropped, NOW) == kept
    for first, second in ((kept, dropped), (dropped, kept)):
        assert set(needed([*first, *second], NOW)) == set(kept)


def test_a_later_hold_without_a_begin_time_is_not_dropped_before_an_earlier_one() -> None:
    """The earlier one's begin time would come back to life."""
    first = old("3", "a", begin=NOW + 60, outcome="applied", until=NOW + 5)
    second = old("3", "b", begin=0, outcome="applied")
    assert holds(needed([first, second], NOW)) == holds([first, second])
    assert needed([replace(first, until=LONG_AGO), second], NOW) == []


def test_a_restored_bit_is_not_dropped_before_its_requeue() -> None:
    requeue = entry("3", "a", action="requeue", outcome=BIT_LEFT)
    restore = old("3", "b", action="restore", outcome="applied")
    assert bits_in_doubt(needed([requeue, restore], NOW)) == {("cl1", "3"): restore}


ACTIONS = ("hold", "release", "open", "requeue", "requeue_only", "restore")
BITS = (BIT_LEFT, BIT_CLEARED, BIT_OFF)
OUTCOMES = (None, "unknown", "applied", "rejected", "expired", "not_applied", *BITS)
ENTRIES = st.lists(
    st.builds(
        entry,
        job_id=st.sampled_from(["5", "6"]),
        nonce=st.uuids().map(str),
        cluster=st.sampled_from(["cl1", "cl2"]),
        action=st.sampled_from(ACTIONS),
        outcome=st.sampled_from(OUTCOMES),
        begin=st.sampled_from([0, NOW - 5, NOW + 60]),
        until=st.sampled_from([LONG_AGO, NOW - 5, NOW + 5]),
    ),
    max_size=12,
)


@settings(max_examples=300, deadline=None)
@given(ENTRIES)
def test_leaving_out_changes_nothing(entries: list[Entry]) -> None:
    """Whatever a later run asks, it gets the same answer before and after a rewrite."""
    kept = needed(entries, NOW)
    assert [one for one in entries if one in kept] == kept
    doubts, before = bits_in_doubt(kept), bits_in_doubt(entries)
    # A bit that was cleared comes back within seconds, or never.
    recent = {key: one for key, one in before.items() if one in kept or not one.bit_was_cleared}
    assert doubts == recent
    for key, one in holds(entries).items():
        begin = one.begin if one.begin > NOW else 0
        now = holds(kept).get(key)
        assert (now.begin if now is not None and now.begin > NOW else 0) == begin
    assert [one for one in kept if one.in_flight(NOW)] == [
        one for one in entries if one.in_flight(NOW)
    ]


@pytest.mark.parametrize(
    ("outcome", "until", "flies"),
    [
        (None, NOW + 1, True),
        ("unknown", NOW + 1, True),
        (None, NOW, False),
        ("unknown", NOW - 1, False),
        ("applied", NOW + 1, False),
        ("rejected", NOW + 1, False),
        (BIT_LEFT, NOW + 1, False),
    ],
)
def test_in_flight(outcome: str | None, until: int, flies: bool) -> None:
    assert entry(outcome=outcome, until=until).in_flight(NOW) is flies


def test_bits_in_doubt() -> None:
    key = ("cl1", "5")
    requeue = entry("5", "a", action="requeue")
    for outcome in (None, "unknown", BIT_LEFT, BIT_CLEARED, "applied"):
        assert bits_in_doubt([replace(requeue, outcome=outcome)])
    for outcome in ("rejected", "not_applied", "expired", "not_run", BIT_OFF):
        assert not bits_in_doubt([replace(requeue, outcome=outcome)])
    left = replace(requeue, outcome=BIT_LEFT)
    for outcome in (None, "unknown", "rejected", "expired", "not_applied", "not_run"):
        failed = entry("5", "b", action="restore", outcome=outcome)
        assert bits_in_doubt([left, failed]) == {key: left}
    restored = entry("5", "b", action="restore", outcome="applied")
    assert bits_in_doubt([left, restored]) == {key: restored}
    assert bits_in_doubt([left, replace(restored, outcome=BIT_OFF)]) == {}
    refused = entry("5", "b", action="requeue", outcome="rejected")
    assert bits_in_doubt([left, refused]) == {key: left}
    later = entry("5", "b", action="requeue", outcome="applied")
    assert bits_in_doubt([left, later]) == {key: later}
    alone = entry("5", "b", action="requeue_only", outcome="applied")
    assert bits_in_doubt([left, alone]) == {key: left}
    assert bits_in_doubt([left, entry("5", "b", action="restore", outcome="applied", cluster="x")])


def test_requeues() -> None:
    first = entry("5", "a", action="requeue", restarts=0, outcome="applied")
    second = entry("5", "b", action="requeue_only", restarts=1, outcome="unknown")
    refused = entry("5", "c", action="requeue", restarts=2, outcome="rejected")
    assert requeues([first, second, refused]) == {("cl1", "5"): second}

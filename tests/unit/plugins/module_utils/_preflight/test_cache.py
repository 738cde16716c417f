# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cache: whose answers, how old, which files are believed, and what goes wrong on a disk."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import Answer
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight import cache as caches
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.cache import (
    LARGEST_FILE,
    LARGEST_NUMBER,
    LOCAL_FACT,
    Answers,
    Cache,
    Lock,
    default_path,
    identity,
    read_entry,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.capabilities import probed
from ansible_collections.hpcops.slurm.tests.unit.case_words import case, runs
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._preflight.samples import (
    configuration,
)

NOW = 1796035468
KEY = identity(configuration(), "root", "ctl1")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")


def answers(ran_at: int = NOW, key: Mapping[str, str] = MappingProxyType({})) -> Answers:
    return Answers(
        key={**KEY, **key},
        ran_at=ran_at,
        job_id="41",
        skew=1,
        offset=0.25,
        hold=probed(Answer.YES),
        accounting=probed(Answer.NO, "Slurm accounting storage is disabled"),
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "facts.d" / "slurm_preflight.fact"


@pytest.fixture
def stored(path: Path) -> Path:
    """A file with one sound answer."""
    cache = Cache(str(path))
    cache.store(answers())
    assert cache.warnings == []
    return path


def find(path: Path, now: float = NOW) -> tuple[Answers | None, Cache]:
    cache = Cache(str(path))
    return cache.find(KEY, now, 3600), cache


# Whose, and how old


def test_answers_come_back(stored: Path) -> None:
    found, cache = find(stored)
    assert found == answers()
    assert cache.warnings == []


@pytest.mark.parametrize(
    ("age", "usable"), [(-1, False), (0, True), (1, True), (3600, True), (3601, False)]
)
def test_age(stored: Path, age: int, usable: bool) -> None:
    assert (find(stored, NOW + age)[0] is not None) is usable
    # A part of a second is no second.
    assert (find(stored, NOW + age + 0.99)[0] is not None) is usable


@pytest.mark.parametrize("name", sorted(KEY))
def test_an_answer_of_another_identity_is_not_ours(stored: Path, name: str) -> None:
    for value in ("another", "unknown"):
        assert Cache(str(stored)).find({**KEY, name: value}, NOW, 3600) is None


def test_a_setting_that_was_not_read_makes_every_answer_unusable(path: Path) -> None:
    for changed in ({"AuthInfo": None}, {"AuthType": "Unknown"}):
        key = identity(configuration(**changed), "root", "ctl1")
        assert "unknown" in key.values()
        Cache(str(path)).store(answers(key=key))
        assert Cache(str(path)).find(key, NOW, 3600) is None


def test_identity_has_slurms_own_text() -> None:
    assert KEY == {
        "ClusterName": "alpha",
        "SLURM_VERSION": "24.11.5",
        "AuthType": "auth/munge",
        "AuthInfo": "(null)",
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStoreFlags": "job_comment",
        "user": "root",
        "host": "ctl1",
    }


def epoch(text: str | None) -> int | None:
    if text is None:
        return None
    # Not every Python reads the Z.
    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


@pytest.mark.parametrize(("name", "run", "expected"), list(runs("I-01")))
def test_case_i_01(path: Path, name: str, run: dict[str, Any], expected: dict[str, Any]) -> None:
    del name
    words = {"cluster": "ClusterName", "slurm_version": "SLURM_VERSION", "auth_type": "AuthType"}
    given_input = case("I-01")["input"]

    def key(case_key: dict[str, str]) -> dict[str, str]:
        values = {words.get(word, word): text for word, text in case_key.items()}
        return {**KEY, **values}

    if run["cached"] is not None:
        cached = dict(run["cached"])
        ran_at = epoch(cached.pop("ran_at"))
        entry = answers(0).as_entry()
        entry.update(key=key(cached), ran_at=ran_at)
        path.parent.mkdir()
        path.write_text(json.dumps({"format": 1, "probes": [entry]}))
    now = epoch(given_input["now"])
    assert now is not None
    found = Cache(str(path)).find(key(given_input["here"]), now, given_input["max_age_seconds"])
    assert ("no" if found is None else "yes") == expected["usable"]


def test_the_newest_of_several_counts(path: Path) -> None:
    cache = Cache(str(path))
    for ran_at in (NOW - 50, NOW - 10, NOW - 30):
        cache.store(answers(ran_at))
    document = json.loads(path.read_text())
    assert [one["ran_at"] for one in document["probes"]] == [NOW - 30]  # one answer for each key
    document["probes"].append(answers(NOW - 5).as_entry())
    path.write_text(json.dumps(document))
    found = find(path)[0]
    assert found is not None
    assert found.ran_at == NOW - 5


def test_others_answers_are_kept_up_to_a_number(path: Path) -> None:
    cache = Cache(str(path))
    for number in range(LARGEST_NUMBER + 3):
        cache.store(answers(NOW + number, key={"user": f"user{number}"}))
    kept = [one["key"]["user"] for one in json.loads(path.read_text())["probes"]]
    assert kept == [f"user{number}" for number in range(LARGEST_NUMBER + 2, 2, -1)]


# Which files are believed


def corrupt(path: Path, data: bytes) -> Cache:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    found, cache = find(path)
    assert found is None
    return cache


GOOD = json.dumps({"format": 1, "probes": [answers().as_entry()]}).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        GOOD[: len(GOOD) // 2],
        b"\x00" * 100,
        b"\xff\xfe",
        b"[]",
        b"null",
        b"7",
        b'"text"',
        b"{}",
        b'{"format": 1}',
        b'{"format": 2, "probes": []}',
        b'{"format": 1, "probes": 7}',
        b'{"format": 1, "probes": null}',
        b"[" * 100000,
        b'{"format": 1, "probes": [' + b"9" * 5000 + b"]}",
    ],
)
def test_a_file_that_can_not_be_read_is_ignored_and_replaced(path: Path, data: bytes) -> None:
    cache = corrupt(path, data)
    assert len(cache.warnings) == 1
    assert "is not readable" in cache.warnings[0]
    cache.store(answers())
    assert find(path)[0] == answers()


SCALAR = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5))
JSON = st.recursive(
    SCALAR,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELD = st.sampled_from(["key", "ran_at", "skew", "hold", "accounting_history", "job_id"])


@given(JSON)
@settings(deadline=None)
def test_any_entry_is_an_answer_or_none(entry: Any) -> None:
    assert read_entry(entry) is None


@given(FIELD, JSON)
@settings(deadline=None)
def test_any_field_of_an_entry(field: str, value: Any) -> None:
    found = read_entry({**answers().as_entry(), field: value})
    if found is not None:
        assert (
            field == "job_id"
            or {field: value}.items() <= found.as_entry().items()
            or (field in ("hold", "accounting_history"))
        )
        assert found.hold.support in Answer


@given(FIELD)
@settings(deadline=None)
def test_every_field_has_to_be_there(field: str) -> None:
    entry = answers().as_entry()
    del entry[field]
    assert read_entry(entry) is None


def test_times_are_whole_numbers_and_nothing_else() -> None:
    for value in (True, None, "1796035468", 1796035468.0, float("nan")):
        assert read_entry({**answers().as_entry(), "ran_at": value}) is None


def test_an_entry_that_is_not_whole_does_not_spoil_the_others(path: Path) -> None:
    entries = [{"key": 7}, answers().as_entry()]
    path.parent.mkdir()
    path.write_text(json.dumps({"format": 1, "probes": entries}))
    found, cache = find(path)
    assert found == answers()
    assert "not whole" in cache.warnings[0]


def refused(path: Path) -> str:
    """The one warning about a file that is neither read nor replaced."""
    before = path.lstat()
    found, cache = find(path)
    assert found is None
    (warning,) = cache.warnings
    cache.store(answers())
    after = path.lstat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert cache.warnings == [warning]
    assert str(path) in warning
    assert "set cache_path" in warning
    return warning


@pytest.mark.parametrize("mode", [0o666, 0o664, 0o646, 0o777])
def test_a_file_that_others_may_write_is_refused(stored: Path, mode: int) -> None:
    stored.chmod(mode)
    assert "others may write it" in refused(stored)


@as_root
def test_a_file_of_another_user_is_refused(stored: Path) -> None:
    os.chown(stored, 12345, -1)
    assert "belongs to uid 12345" in refused(stored)


def test_a_symbolic_link_is_refused(stored: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    stored.rename(target)
    stored.symlink_to(target)
    assert "is not readable" in refused(stored)
    assert json.loads(target.read_text())["probes"]


def test_a_dangling_link_is_refused(path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to("nowhere")
    refused(path)


def test_a_directory_is_refused(path: Path) -> None:
    path.mkdir(parents=True)
    assert "not a regular file" in refused(path)


def test_a_fifo_is_refused_and_does_not_block(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)
    assert "not a regular file" in refused(path)


def test_a_socket_and_a_device_are_refused(tmp_path: Path) -> None:
    found, cache = find(Path("/dev/zero"))
    assert found is None
    assert "not a regular file" in cache.warnings[0]
    assert "is not readable" in find(Path("/dev/null/x"))[1].warnings[0]


def test_a_huge_file_is_refused(stored: Path) -> None:
    with stored.open("r+b") as stream:
        stream.truncate(LARGEST_FILE + 1)
    assert f"{LARGEST_FILE + 1} bytes" in refused(stored)


def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    found, cache = find(tmp_path / ("x" * 300))
    assert found is None
    assert "is not readable" in cache.warnings[0]


def test_no_file_is_no_trouble(path: Path) -> None:
    found, cache = find(path)
    assert (found, cache.warnings) == (None, [])


# Writing


def test_the_file_is_a_local_fact_for_everybody_to_read(stored: Path) -> None:
    mode = stat.S_IMODE(stored.stat().st_mode)
    assert mode == 0o644  # one that could be executed would be, by setup
    assert json.loads(stored.read_text()) == {"format": 1, "probes": [answers().as_entry()]}


def test_the_default_places() -> None:
    assert default_path(0, "/root", "/x") == LOCAL_FACT
    assert default_path(1000, "/home/u", None) == "/home/u/.local/state/hpcops.slurm/preflight.json"
    assert default_path(1000, "/home/u", "/state") == "/state/hpcops.slurm/preflight.json"
    # XDG: a relative path is invalid.
    assert default_path(1000, "/home/u", "state").startswith("/home/u/.local/state/")


def test_replacing_is_atomic(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the new file is written, the old one is whole; nothing but the file is left."""
    seen = []

    def look(handle: int) -> None:
        del handle
        seen.append(json.loads(stored.read_text())["probes"][0]["ran_at"])

    monkeypatch.setattr(os, "fsync", look)
    Cache(str(stored)).store(answers(NOW + 7))
    assert seen == [NOW]
    assert json.loads(stored.read_text())["probes"][0]["ran_at"] == NOW + 7
    assert sorted(os.listdir(stored.parent)) == [".slurm_preflight.fact.lock", stored.name]


@pytest.mark.parametrize("place", ["fsync", "rename"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS])
def test_a_disk_that_fails_leaves_the_old_file(
    stored: Path, monkeypatch: pytest.MonkeyPatch, place: str, number: int
) -> None:
    def fail(*arguments: Any) -> None:
        del arguments
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, place, fail)
    cache = Cache(str(stored))
    cache.store(answers(NOW + 7))
    monkeypatch.undo()
    assert os.strerror(number) in cache.warnings[0]
    assert find(stored)[0] == answers()
    assert sorted(os.listdir(stored.parent)) == [".slurm_preflight.fact.lock", stored.name]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one page."""
    place = tmp_path / "disk"
    place.mkdir()
    argv = ["mount", "-t", "tmpfs", "-o", "size=4k,mode=755", "tmpfs", str(place)]
    if subprocess.run(argv, check=False, capture_output=True).returncode != 0:
        pytest.skip("file systems can't be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@as_root
def test_a_disk_that_is_full(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(b"x" * 4096)
    path = small_disk / "preflight.json"
    cache = Cache(str(path))
    cache.store(answers())
    assert "No space left on device" in cache.warnings[0]
    assert sorted(os.listdir(small_disk)) == [".preflight.json.lock", "filler"]
    assert find(path)[0] is None


WRITER = """
import sys
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.cache import Cache
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._preflight import test_cache
for number in range(20):
    cache = Cache(sys.argv[1])
    cache.store(test_cache.answers(test_cache.NOW + number, key={"user": sys.argv[2]}))
    assert cache.warnings == [], cache.warnings
"""


def test_several_processes_write_one_file(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), f"user{number}"], env=environment
        )
        for number in range(3)
    ]
    bad = 0
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            json.loads(path.read_text())
        bad += sum(writer.returncode not in (None, 0) for writer in writers)
        time.sleep(0.005)
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert bad == 0
    kept = {one["key"]["user"]: one["ran_at"] for one in json.loads(path.read_text())["probes"]}
    assert kept == {f"user{number}": NOW + 19 for number in range(3)}


UNPRIVILEGED = """
import os, sys
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.cache import Cache, Lock
from ansible_collections.hpcops.slurm.tests.unit.plugins.module_utils._preflight import test_cache
os.setgroups([])
os.setgid(12345)
os.setuid(12345)
cache = Cache(sys.argv[1])
print(cache.find(test_cache.KEY, test_cache.NOW, 60) is not None)
cache.store(test_cache.answers())
print(cache.warnings)
print(Lock(sys.argv[1]).take(0.1))
"""


def unprivileged(path: Path) -> list[str]:
    """What a user without rights finds, the warnings of its write, and its lock."""
    done = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@as_root
def test_a_user_without_rights() -> None:
    """Reads root's file, and neither replaces it nor trips over a folder that it may not enter."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        stored = Path(folder) / "slurm_preflight.fact"
        Cache(str(stored)).store(answers())
        stored.parent.chmod(0o755)
        found, warnings, lock = unprivileged(stored)
        assert (found, lock.startswith("(False, ")) == ("True", True)
        assert "Permission denied" in warnings
        stored.parent.chmod(0o700)
        found, warnings, lock = unprivileged(stored)
    assert (found, lock.startswith("(False, ")) == ("False", True)
    assert "Permission denied" in warnings


# The lock


def test_the_lock_is_held_by_one(path: Path) -> None:
    first, second = Lock(str(path)), Lock(str(path))
    assert first.take(0) == (True, "")
    held, why = second.take(0.1)
    assert held is False
    assert "another preflight" in why
    first.free()
    assert second.take(0) == (True, "")
    second.free()
    second.free()


def test_the_lock_is_waited_for(path: Path) -> None:
    first, second = Lock(str(path)), Lock(str(path))
    assert first.take(0)[0]
    timer = threading.Timer(0.3, first.free)
    timer.start()
    assert second.take(10) == (True, "")
    second.free()
    timer.join()


def test_the_lock_is_free_when_its_holder_was_killed(path: Path) -> None:
    code = f"""
import time
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.cache import Lock
lock = Lock({str(path)!r})
print(lock.take(0)[0], flush=True)
time.sleep(60)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    holder = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "True\n"
    assert Lock(str(path)).take(0)[0] is False
    holder.kill()
    holder.wait()
    assert Lock(str(path)).take(1) == (True, "")
    holder.stdout.close()


class Impatient:
    """A clock for those who must not wait."""

    monotonic = staticmethod(time.monotonic)

    def sleep(self, seconds: float) -> None:
        pytest.fail(f"it waits {seconds} s")


@pytest.mark.parametrize("kind", ["directory", "link"])
def test_a_lock_that_can_not_be_had_says_why(
    path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caches, "time", Impatient())
    lock = Lock(str(path))
    Path(lock.path).parent.mkdir()
    if kind == "directory":
        Path(lock.path).mkdir()
    else:
        Path(lock.path).symlink_to("elsewhere")
    held, why = lock.take(10)
    assert not held
    assert lock.path in why


def test_a_file_system_without_locks_is_not_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> None:
        del arguments
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", fail)
    monkeypatch.setattr(caches, "time", Impatient())
    held, why = Lock(str(path)).take(10)
    assert not held
    assert "No locks available" in why

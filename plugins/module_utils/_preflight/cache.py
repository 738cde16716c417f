# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe's answers, kept on the host: whose they are, how old, and whether to believe the file.

One JSON file, which is also an Ansible local fact. Private to the collection.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.config import Configuration
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    Answer,
    printable,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.values import UNKNOWN
from ansible_collections.hpcops.slurm.plugins.module_utils._preflight.capabilities import (
    Support,
    probed,
)

FORMAT = 1
LOCAL_FACT = "/etc/ansible/facts.d/slurm_preflight.fact"
LARGEST_FILE = 1 << 20
#: Answers of other clusters, users and hosts that one file keeps; the oldest are dropped first.
LARGEST_NUMBER = 32

#: Seconds to wait for another run that writes the file; without the lock its entry may be lost.
STORE_PATIENCE = 5.0

#: Settings that an answer depends on; with the user and the host they are its identity.
KEY_SETTINGS = (
    "ClusterName",
    "SLURM_VERSION",
    "AuthType",
    "AuthInfo",
    "AccountingStorageType",
    "AccountingStoreFlags",
)


def identity(configuration: Configuration, user: str, host: str) -> Dict[str, str]:
    """The key of an answer: Slurm's own text of each setting, the user, and the host.

    A setting that was not read, or reads twice and differently, is "unknown", and makes every
    answer unusable.
    """
    read = {
        name: setting.raw
        for name, setting in configuration.settings.items()
        if setting.value != UNKNOWN
    }
    key = {name: read.get(name, UNKNOWN) for name in KEY_SETTINGS}
    key.update(user=user, host=host)
    return key


@dataclass(frozen=True)
class Answers:
    """What one probe answered.

    ``ran_at`` is in epoch seconds of the host; ``skew`` and ``offset`` are seconds, the Ansible
    controller's clock minus slurmctld's and, at most, minus the host's.
    """

    key: Mapping[str, str]
    ran_at: int
    job_id: str
    skew: int
    offset: float
    hold: Support
    accounting: Support

    @property
    def lasting(self) -> bool:
        """Whether no answer rests on a failure that may pass."""
        return not (self.hold.passing or self.accounting.passing)

    def usable(self, key: Mapping[str, str], now: float, max_age: int) -> bool:
        """Whether they are answers for this key, and no older than ``max_age`` seconds."""
        same = dict(self.key) == dict(key) and UNKNOWN not in key.values()
        return same and 0 <= int(now) - self.ran_at <= max_age

    def as_entry(self) -> Dict[str, Any]:
        """The answers as the file has them."""
        return {
            "key": dict(self.key),
            "ran_at": self.ran_at,
            "job_id": self.job_id,
            "skew": self.skew,
            "offset": self.offset,
            "hold": self.hold.as_fact(),
            "accounting_history": self.accounting.as_fact(),
        }


def read_entry(entry: Any) -> Optional[Answers]:
    """The answers of one entry of the file, None when it is not a whole one."""
    try:
        key, ran_at, skew = entry["key"], entry["ran_at"], entry["skew"]
        offset = float(entry["offset"])
        whole = isinstance(key, dict) and all(
            isinstance(number, int) and not isinstance(number, bool) for number in (ran_at, skew)
        )
        if not whole or not all(isinstance(value, str) for value in key.values()):
            return None
        hold, accounting = (
            probed(Answer(entry[name]["support"]), str(entry[name]["reason"]))
            for name in ("hold", "accounting_history")
        )
        return Answers(dict(key), ran_at, str(entry["job_id"]), skew, offset, hold, accounting)
    except (KeyError, TypeError, ValueError):
        return None


def default_path(user_id: int, home: str, state_home: Optional[str]) -> str:
    """Where the cache lies: Ansible's local facts for root, the user's state directory else."""
    if user_id == 0:
        return LOCAL_FACT
    base = state_home if state_home and os.path.isabs(state_home) else ""
    return os.path.join(
        base or os.path.join(home, ".local", "state"), "hpcops.slurm", "preflight.json"
    )


class Cache:
    """The file. ``warnings`` collects why it was not believed or not written."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.warnings: List[str] = []
        self.refused = False

    def find(self, key: Mapping[str, str], now: float, max_age: int) -> Optional[Answers]:
        """Usable answers for this key, None when there are none."""
        fitting = [one for one in self._entries() if one.usable(key, now, max_age)]
        return max(fitting, key=lambda one: one.ran_at) if fitting else None

    def store(self, answers: Answers) -> None:
        """Put answers into the file, in place of older ones with the same key.

        A file that was refused is left alone. What goes wrong is a warning: the answers stand.
        """
        lock = Lock(self.path)
        lock.take(STORE_PATIENCE)
        try:
            kept = [one for one in self._entries() if dict(one.key) != dict(answers.key)]
            if self.refused:
                return
            newest = sorted(kept + [answers], key=lambda one: -one.ran_at)[:LARGEST_NUMBER]
            self._replace({"format": FORMAT, "probes": [one.as_entry() for one in newest]})
        except OSError as error:
            self._warn("was not written: %s" % error, "the next run probes again; set cache_path")
        finally:
            lock.free()

    def _warn(self, what: str, consequence: str) -> None:
        text = "The preflight cache %s %s (%s)" % (self.path, what, consequence)
        if text not in self.warnings:
            self.warnings.append(printable(text))

    def _entries(self) -> List[Answers]:
        data = self._read()
        if data is None:
            return []
        try:
            document = json.loads(data.decode("utf-8"))
            if document["format"] != FORMAT:
                raise ValueError("format %r" % (document["format"],))
            entries = [read_entry(entry) for entry in document["probes"]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            self._warn("is not readable: %r" % error, "ignored, and replaced by the next probe")
            return []
        if None in entries:
            self._warn("has an entry that is not whole", "that entry is ignored")
        return [one for one in entries if one is not None]

    def _read(self) -> Optional[bytes]:
        try:
            handle = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            self.refused = True
            self._warn("is not readable: %s" % error, "ignored; remove it or set cache_path")
            return None
        try:
            trouble = _distrust(os.fstat(handle))
            if trouble:
                self.refused = True
                self._warn("is refused: %s" % trouble, "remove it or set cache_path")
                return None
            with os.fdopen(handle, "rb", closefd=False) as stream:
                return stream.read(LARGEST_FILE)
        except OSError as error:
            self.refused = True
            self._warn("is not readable: %s" % error, "ignored; remove it or set cache_path")
            return None
        finally:
            os.close(handle)

    def _replace(self, document: Mapping[str, Any]) -> None:
        import tempfile  # costly, and most runs write nothing

        directory = _directory_of(self.path)
        handle, temporary = tempfile.mkstemp(prefix=".slurm_preflight-", dir=directory)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump(document, stream, indent=1, sort_keys=True)
                stream.write("\n")
                stream.flush()
                os.fchmod(stream.fileno(), 0o644)
                os.fsync(stream.fileno())
            os.rename(temporary, self.path)
        except BaseException:
            os.unlink(temporary)
            raise


def _directory_of(path: str) -> str:
    """The directory of a path, made if it is missing: local facts are for everybody to read."""
    directory = os.path.dirname(path)
    os.makedirs(directory, mode=0o755 if os.geteuid() == 0 else 0o700, exist_ok=True)
    return directory


def _distrust(status: os.stat_result) -> str:
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file"
    if status.st_uid not in (0, os.geteuid()):
        return "it belongs to uid %d, not to this user or root" % status.st_uid
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "others may write it (mode %04o)" % stat.S_IMODE(status.st_mode)
    if status.st_size > LARGEST_FILE:
        return "it has %d bytes" % status.st_size
    return ""


class Lock:
    """One probe at a time for a user on a host: a lock file beside the cache.

    The kernel drops the lock when the process dies, however it dies.
    """

    def __init__(self, cache_path: str) -> None:
        directory, name = os.path.split(cache_path)
        self.path = os.path.join(directory, ".%s.lock" % name)
        self._handle: Optional[int] = None

    def take(self, patience: float) -> Tuple[bool, str]:
        """Wait up to ``patience`` seconds. Returns whether it is held, and otherwise why not."""
        try:
            _directory_of(self.path)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._handle = os.open(self.path, flags, 0o600)
        except OSError as error:
            return False, "the lock %s: %s" % (self.path, error)
        end = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True, ""
            except OSError as error:
                if not isinstance(error, BlockingIOError):  # a file system without locks
                    self.free()
                    return False, "the lock %s: %s" % (self.path, error)
                if time.monotonic() >= end:
                    self.free()
                    return False, "another preflight has held %s for %g s" % (self.path, patience)
                time.sleep(0.2)

    def free(self) -> None:
        """Let the lock go, if it is held."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

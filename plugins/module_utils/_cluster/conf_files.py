# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""slurm.conf with the files that it includes: reading them, and planning edits. Writes nothing.

Private to the collection.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import Dict, Iterator, List, Optional, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.conf_text import (
    RECORDS,
    Change,
    Statement,
    edited,
    statements,
    unusable,
    with_line,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import (
    FailureClass,
    SlurmError,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.wishes import NoNumber, Wish

#: Bytes of one file: a slurm.conf of ten thousand lines has one million.
LARGEST_FILE = 16 << 20
#: How deep files include each other; deeper, they do so in a circle.
DEEPEST = 20

#: Since this release a relative Include is looked for beside slurm.conf; before, beside the file
#: that has the line (s_p_parse_file() in src/common/parse_config.c).
BESIDE_SLURM_CONF = (23, 2, 0)


def read_text(path: str) -> str:
    """The text of one file; bytes that are not UTF-8 become surrogate escapes.

    Raises :class:`SlurmError` when it can't be read or can't be a slurm.conf.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise _unreadable(path, "it is not a regular file")
            if status.st_size > LARGEST_FILE:
                raise _unreadable(path, "it has %d bytes" % status.st_size)
            text = stream.read(LARGEST_FILE + 1).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    trouble = unusable(text)
    if trouble:
        raise _unreadable(path, trouble)
    return text


def _unreadable(path: str, why: str) -> SlurmError:
    return SlurmError(
        "%s can't be read: %s" % (path, why),
        FailureClass.NO_CONFIG_SOURCE,
        remedy="Nothing was changed. Run this on the controller's host, as a user who may read it",
    )


@dataclass(frozen=True)
class Placed:
    """A statement and the file that has it, by its real path."""

    path: str
    statement: Statement

    @property
    def where(self) -> str:
        """File and line, for messages."""
        return "%s:%d" % (self.path, self.statement.line)


@dataclass(frozen=True)
class Tree:
    """A slurm.conf, its includes put in where they stand.

    ``path`` is its name, perhaps a symbolic link; ``real`` the file itself. ``texts`` are the files
    by their real paths, and ``placed`` is all that they say, in Slurm's order.
    """

    path: str
    real: str
    texts: Dict[str, str]
    placed: Tuple[Placed, ...]

    def lines_of(self, key: str) -> List[Placed]:
        """The lines that set a key; the last of them counts."""
        return [one for one in self.placed if one.statement.sets(key)]

    def flat(self) -> str:
        """One text that Slurm reads as it reads all the files."""
        pieces = []
        for one in self.placed:
            text = self.texts[one.path][one.statement.begin : one.statement.end]
            pieces.append(text if text.endswith("\n") else text + "\n")
        return "".join(pieces)


@dataclass
class _Reader:
    """Follows Include lines."""

    path: str
    version: Optional[Tuple[int, int, int]]
    given: Dict[str, str]
    texts: Dict[str, str] = field(default_factory=dict)
    cluster: str = ""

    def read(self, path: str, depth: int) -> Iterator[Placed]:
        if depth > DEEPEST:
            raise _unreadable(path, "files include each other in a circle")
        real = os.path.realpath(path)
        if real not in self.texts:
            self.texts[real] = self.given[real] if real in self.given else read_text(path)
        for one in statements(self.texts[real]):
            if one.include is not None and "*" not in one.include:
                yield from self.read(self._included(one.include, path, one), depth + 1)
                continue
            if one.sets("ClusterName"):
                self.cluster = one.value
            yield Placed(real, one)

    def _included(self, name: str, path: str, statement: Statement) -> str:
        if "%c" in name:
            if not self.cluster:
                raise _unreadable(path, "line %d needs ClusterName above it" % statement.line)
            name = name.replace("%c", self.cluster.lower())
        if not name:
            raise _unreadable(path, "line %d includes nothing" % statement.line)
        new = self.version is None or self.version >= BESIDE_SLURM_CONF
        return os.path.join(os.path.dirname(self.path if new else path), name)


def read_tree(
    path: str,
    version: Optional[Tuple[int, int, int]],
    texts: Optional[Dict[str, str]] = None,
) -> Tree:
    """Read a slurm.conf and what it includes, as this Slurm release does.

    ``texts`` (by real path) stand for files that are not to be read again. Raises
    :class:`SlurmError`. A name with ``*`` is left where it is: Slurm passes over it, or refuses.
    """
    reader = _Reader(path, version, texts or {})
    placed = tuple(reader.read(path, 0))
    return Tree(path, os.path.realpath(path), reader.texts, placed)


@dataclass(frozen=True)
class Edit:
    """One key before and after. ``path`` and ``line`` are where it stands or will stand.

    The values are None where the key is not set; ``others`` are earlier lines with the same key,
    which Slurm passes over.
    """

    wish: Wish
    path: str
    line: int
    before: Optional[str]
    after: Optional[str]
    others: Tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether the files are to be changed."""
        return self.before != self.after


@dataclass(frozen=True)
class Plan:
    """Edits, and the tree as it will be."""

    edits: Tuple[Edit, ...]
    before: Tree
    after: Tree

    @property
    def changed_files(self) -> List[str]:
        """Real paths of the files that are to be changed."""
        before, after = self.before.texts, self.after.texts
        return [path for path in before if before[path] != after[path]]


def plan(
    tree: Tree,
    version: Optional[Tuple[int, int, int]],
    wishes: Tuple[Tuple[Wish, Optional[str]], ...],
) -> Plan:
    """Plan the edits that fulfil wishes.

    Beside each wish stands what the running controller has for its key, which counts where the
    files don't set it. Raises :class:`SlurmError` when a value is no number, or when the files
    would then say anything else differently.
    """
    edits, now = [], tree
    for wish, shown in wishes:
        edit, texts = _edit(now, wish, shown)
        edits.append(edit)
        if edit.changes:
            after = read_tree(tree.path, version, texts)
            _compare(now, after, edit)
            now = after
    return Plan(tuple(edits), tree, now)


def _edit(tree: Tree, wish: Wish, shown: Optional[str]) -> Tuple[Edit, Dict[str, str]]:
    lines, texts = tree.lines_of(wish.key), dict(tree.texts)
    try:
        if not lines:
            return _addition(tree, wish, shown, texts)
        last = lines[-1]
        change = wish.change(last.statement.value)
    except NoNumber as error:
        where = lines[-1].where if lines else "the running controller"
        raise SlurmError(
            "%s: %s" % (where, error),
            FailureClass.UNCLASSIFIED,
            remedy="Nothing was changed. Correct that line by hand, then run again",
        ) from error
    value = last.statement.value
    others = tuple(one.where for one in lines[:-1])
    after = value if change is None else change.applied(value)
    if change is not None:
        texts[last.path] = edited(texts[last.path], last.statement, change)
    return Edit(wish, last.path, last.statement.line, value, after, others), texts


def _addition(
    tree: Tree, wish: Wish, shown: Optional[str], texts: Dict[str, str]
) -> Tuple[Edit, Dict[str, str]]:
    if wish.change(shown) is None:
        return Edit(wish, tree.real, 0, None, None), texts
    change = wish.change(None) or Change(0, 0, "")
    value = change.applied("")
    texts[tree.real] = with_line(texts[tree.real], wish.key, value)
    return Edit(wish, tree.real, texts[tree.real].count("\n"), None, value), texts


def _said(tree: Tree) -> List[Tuple[str, str]]:
    """What the files say, without where: keys in one letter case, other lines as they are."""
    found = []
    for one in tree.placed:
        said = one.statement
        plain = said.key and said.key.lower() not in RECORDS
        found.append((said.key.lower(), said.value) if plain else ("", said.said.strip()))
    return found


def _compare(before: Tree, after: Tree, edit: Edit) -> None:
    """Raise :class:`SlurmError` unless just this edit is the difference."""
    wanted, key = _said(before), edit.wish.key.lower()
    if edit.before is None:
        wanted.append((key, edit.after or ""))
    else:
        last = max(i for i, (name, _value) in enumerate(wanted) if name == key)
        wanted[last] = (key, edit.after or "")
    if _said(after) != wanted:
        raise SlurmError(
            "%s: %s can't be changed there without changing what other lines say"
            % (edit.path, edit.wish.key),
            FailureClass.UNCLASSIFIED,
            remedy="Nothing was changed. Look for a continued line (\\) at the end of the file or"
            " a file that is included twice, and set it by hand",
        )

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""slurm.conf is read as Slurm reads it, and an edit changes one value and nothing else."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.conf_text import (
    SPACE,
    Change,
    Statement,
    edited,
    statements,
    with_line,
)

# A reader that goes character by character, as the one in C does.


def c_lines(text: str) -> list[str]:
    """The lines that are left of a text without comments, continuations and escapes."""
    found, buffer = [], ""
    for line in re.findall(r"[^\n]*\n|[^\n]+\Z", text):
        kept, backslashes = "", 0
        for character in line:
            if character == "#" and backslashes % 2 == 0:
                break
            backslashes = backslashes + 1 if character == "\\" else 0
            kept += character
        end = len(kept.rstrip(SPACE))
        count = end - len(kept[:end].rstrip("\\"))
        if count % 2:
            buffer += kept[: end - 1]
            continue
        found.append(buffer + kept)
        buffer = ""
    found.append(buffer)
    return [one for one in map(unescaped, found) if one.strip(SPACE)]


def unescaped(line: str) -> str:
    """The line as it is after its escapes were taken out."""
    found, skip = "", False
    for character in line:
        if character == "\\" and not skip:
            skip = True
            continue
        found, skip = found + character, False
    return found


def c_pair(line: str) -> tuple[str, str] | None:
    """Key and value of a line, None when it sets nothing."""
    if re.match(r"include\s", line, re.IGNORECASE):
        return None
    match = re.match(r"\s*([A-Za-z0-9_.]+)\s*[-*+/]?=\s*(.*)", line, re.DOTALL | re.ASCII)
    if not match:
        return None
    key, rest = match.groups()
    quoted = re.match(r'"([^"]*)"(?=\s|\Z)', rest, re.ASCII)
    bare = re.match(r"\S+", rest, re.ASCII)
    if quoted:
        return key, quoted.group(1)
    return (key, bare.group(0)) if bare else None


def said(text: str) -> list[str]:
    return [one.said for one in statements(text)]


def pairs(text: str) -> list[tuple[str, str]]:
    return [(one.key, one.value) for one in statements(text) if one.key]


def only(text: str) -> Statement:
    (found,) = statements(text)
    return found


PIECES = st.sampled_from(
    ["MinJobAge", "authinfo", "X_1.y", "=", "+=", "ttl=5", "60", '"', "#", "\\", "\\\n", "\n", " "]
    + ["\t", "\r\n", ",", "Include ", "a.conf", "NodeName=n1 CPUs=2", "é", "\udcff", "\f", "\v"]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)


@given(TEXTS)
@example("MinJobAge=1 \\ # a\n")
@example("A=\\\\\n#\\\nB=2")
@example('A="a b" \nB="a b"c\nC=""\nD="')
@example("A=\\#b#c\nB=a\\\\#c")
@example("A=a\\\n")
def test_reads_what_c_reads(text: str) -> None:
    lines = c_lines(text)
    assert said(text) == lines
    assert pairs(text) == [one for one in map(c_pair, lines) if one]


@given(TEXTS)
def test_statements_cover_the_text_in_order(text: str) -> None:
    at = 0
    for one in statements(text):
        assert at <= one.begin < one.end <= len(text)
        assert one.line == text.count("\n", 0, one.begin) + 1
        at = one.end


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("MinJobAge=60\n", ("MinJobAge", "60")),
        ("  minJOBage \t=  60   # why\n", ("minJOBage", "60")),
        ("MinJobAge=60", ("MinJobAge", "60")),
        ("MinJobAge=60\r\n", ("MinJobAge", "60")),
        ('AuthInfo="socket=/run/a b,ttl=5"\n', ("AuthInfo", "socket=/run/a b,ttl=5")),
        ("AuthInfo=socket=/a,\\\nttl=5\n", ("AuthInfo", "socket=/a,ttl=5")),
        ("AuthInfo=socket=/a, \\ # the rest\nttl=5\n", ("AuthInfo", "socket=/a,")),
        ("MinJobAge\\\n=\\\n60\n", ("MinJobAge", "60")),
        ("A=x\\#y\n", ("A", "x#y")),
        ("A=x\\\\\n", ("A", "x\\")),
        ("NodeName=n1 CPUs=2\n", ("NodeName", "n1")),
    ],
)
def test_one_setting(text: str, pair: tuple[str, str]) -> None:
    found = only(text)
    assert (found.key, found.value) == pair


@pytest.mark.parametrize(
    "text", ["# MinJobAge=60\n", "#MinJobAge=60\\\n", " \n", "", "\\\n", "\t# a = b", "\\"]
)
def test_nothing_is_said(text: str) -> None:
    assert statements(text) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Include a.conf\n", "a.conf"),
        ("iNCLUDE \t /etc/b.conf # c\n", "/etc/b.conf"),
        ("include %c.conf", "%c.conf"),
        ("include \n", ""),
        ("Include=a\n", None),
        ("Includes a\n", None),
        (" Include a\n", None),  # Slurm wants it at the line's begin
    ],
)
def test_includes(text: str, name: str | None) -> None:
    assert only(text).include == name


@pytest.mark.parametrize(
    ("text", "change", "after"),
    [
        ("MinJobAge=60 # why\n", Change(0, 2, "300"), "MinJobAge=300 # why\n"),
        ("A=x", Change(1, 1, ",y"), "A=x,y"),
        ('A="x" # c', Change(1, 1, ",y"), 'A="x,y" # c'),
        ('A="" # c', Change(0, 0, "y"), 'A="y" # c'),
        ("A=x,\\\n  # c\n", Change(2, 2, "y"), "A=x,y\\\n  # c\n"),
        ("A=x,\\\nttl=5,\\\nz\n", Change(6, 7, "60"), "A=x,\\\nttl=60,\\\nz\n"),
        ("A=x,\\\nttl=5 \\\n\n", Change(7, 7, ",y"), "A=x,\\\nttl=5,y \\\n\n"),
        ("A=a\\#b,ttl=5\n", Change(8, 9, "6"), "A=a\\#b,ttl=6\n"),
        ("A=\\#\n", Change(0, 1, "n"), "A=n\n"),
        ("A=6\\\n0\n", Change(0, 2, "300"), "A=300\n"),
        ("A=x\r\n", Change(0, 1, "y"), "A=y\r\n"),
    ],
)
def test_edits(text: str, change: Change, after: str) -> None:
    assert edited(text, statements(text)[0], change) == after


@given(TEXTS, TEXTS, st.data())
def test_an_edit_changes_one_value(before: str, after: str, data: st.DataObject) -> None:
    line = data.draw(
        st.sampled_from(
            ["k=1,2,3", 'K = "1,2,3"', "k=1,\\\n2,\\\n3 # no", "k=\\1,2,3", "\tk\\\n=1,2,3\r"]
        )
    )
    text = "%s\n%s\n%s" % (before, line, after)
    found = [one for one in statements(text) if (one.key.lower(), one.value) == ("k", "1,2,3")]
    if not found:  # what comes before has swallowed the line
        return
    begin = data.draw(st.integers(0, 5))
    end = data.draw(st.integers(begin, 5))
    change = Change(begin, end, data.draw(st.sampled_from(["4", ",5", "ttl=60"])))
    wanted = [
        (one.key, change.applied(one.value) if one == found[0] else one.value)
        for one in statements(text)
    ]
    new = edited(text, found[0], change)
    assert [(one.key, one.value) for one in statements(new)] == wanted
    assert new.count("#") == text.count("#")
    assert new.startswith(text[: found[0].begin])
    assert new.endswith(text[found[0].end :])


@pytest.mark.parametrize(
    ("text", "after"),
    [("", "K=v\n"), ("a=b\n", "a=b\nK=v\n"), ("a=b", "a=b\nK=v\n"), ("#", "#\nK=v\n")],
)
def test_a_new_line(text: str, after: str) -> None:
    assert with_line(text, "K", "v") == after

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text of unknown origin: nothing hidden, nothing that a format could take for its own."""

from __future__ import annotations

import html
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.plugin_utils._audit.text import (
    Format,
    clipped,
    escaped,
    padded,
    visible,
    width_of,
    wrapped,
)

#: Surrogates too: they stand for bytes that are not UTF-8.
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
#: XML 1.0, Char.
XML_CHARACTERS = re.compile("[\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (3, "3"),
        ("plain", "plain"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x1b[31mred\x00\x7f\x85", "\\x1b[31mred\\x00\\x7f\\x85"),
        ("evil\u202etxt\u2066", "evil\\u202etxt\\u2066"),
        ("a\u2028b\ufeff\u200b", "a\\u2028b\\ufeff\\u200b"),
        (b"caf\xe9".decode("utf-8", "surrogateescape"), "caf\\xe9"),
        ("\ud800", "\\ud800"),
        ("\uffff\U0001fffe", "\\uffff\\U0001fffe"),
        ("\U000e0041", "\\U000e0041"),
        ("Zürich 東京", "Zürich 東京"),
        ("  ends\n", "ends"),
        ("C:\\x", "C:\\x"),
    ],
)
def test_visible(value: object, shown: str) -> None:
    assert visible(value) == shown


@given(ANY_TEXT)
def test_nothing_is_hidden(text: str) -> None:
    shown = visible(text)
    assert XML_CHARACTERS.fullmatch(shown)
    assert not {unicodedata.category(one) for one in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert visible(shown) == shown


@given(ANY_TEXT)
def test_html_and_xml_read_back(text: str) -> None:
    for form in (Format.HTML, Format.XML):
        shown = escaped(text, form)
        assert not set(shown) & set("<>\"'")
        assert html.unescape(shown) == visible(text)


def test_nothing_is_taken_for_markdown() -> None:
    shown = escaped("a|b`c`*d*_e_[f](http://g)<i>&amp; www.x \\| # ~~ $x$", Format.MARKDOWN)
    assert shown == (
        "a&#124;b&#96;c&#96;\\*d\\*\\_e\\_\\[f\\](http&#58;//g)&lt;i&gt;&amp;amp; www&#46;x "
        "\\\\&#124; \\# \\~\\~ \\$x\\$"
    )


def test_names_stay_legible_in_markdown() -> None:
    assert escaped("job_comment", Format.MARKDOWN) == "job_comment"


def test_labels() -> None:
    assert escaped('a"b\\c\nd', Format.PROMETHEUS) == 'a\\"b\\\\c\\\\nd'


def test_long_text_says_that_it_was_cut() -> None:
    assert clipped("x" * 2000) == "x" * 2000
    assert clipped("x" * 2001) == "x" * 2000 + "… (1 more characters)"
    once = clipped("y" * 9999)
    assert visible(once) == once


def test_width() -> None:
    assert width_of("abc") == 3
    assert width_of("東京") == 4
    assert width_of("e\u0301") == 1
    assert padded("東", 4) == "東  "


@given(ANY_TEXT, st.integers(2, 60))
def test_wrapping_fits_and_loses_nothing(text: str, width: int) -> None:
    shown = visible(text)
    lines = wrapped(shown, width)
    assert lines
    assert all(width_of(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == shown.replace(" ", "")

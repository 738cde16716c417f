# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""slurm.conf and its includes: which line counts, which file has it, and what an edit leaves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster import conf_files
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.conf_files import (
    Plan,
    plan,
    read_text,
    read_tree,
)
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.conf_text import statements
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import SlurmError
from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.wishes import Wish

NEW, OLD = (24, 11, 5), (22, 5, 8)
AGE = Wish("MinJobAge", at_least=300)
TTL = Wish("AuthInfo", part="ttl", at_most=60)
FLAGS = Wish("AccountingStoreFlags", members=("job_comment",))


def make(folder: Path, **texts: str) -> Path:
    """Files by name, with two underscores for a slash and one for a dot; the path of slurm.conf."""
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return folder / "slurm.conf"


def planned(
    path: Path, *wishes: Wish, version: tuple[int, int, int] = NEW, shown: str | None = None
) -> Plan:
    return plan(read_tree(str(path), version), version, tuple((one, shown) for one in wishes))


def text_after(found: Plan, path: Path) -> str:
    return found.after.texts[os.path.realpath(path)]


def test_the_file_that_has_the_key_is_changed(tmp_path: Path) -> None:
    path = make(
        tmp_path,
        slurm_conf="ClusterName=ALPHA\nInclude %c.conf\nInclude sub/b.conf\n",
        alpha_conf="minjobage=60 # old\n",
        sub__b_conf="NodeName=n1\n",
    )
    found = planned(path, AGE)
    assert found.changed_files == [os.path.realpath(tmp_path / "alpha.conf")]
    assert text_after(found, tmp_path / "alpha.conf") == "minjobage=300 # old\n"
    (edit,) = found.edits
    assert (edit.line, edit.before, edit.after, edit.others) == (1, "60", "300", ())


def test_the_last_line_counts(tmp_path: Path) -> None:
    path = make(
        tmp_path,
        slurm_conf="MinJobAge=600\nInclude a.conf\n#MinJobAge=9\nInclude b.conf\n",
        a_conf="MINJOBAGE=10\n",
        b_conf="x=1\nMinJobAge=20\n",
    )
    found = planned(path, AGE)
    assert text_after(found, tmp_path / "b.conf") == "x=1\nMinJobAge=300\n"
    assert len(found.changed_files) == 1
    (edit,) = found.edits
    where = os.path.realpath(tmp_path)
    assert edit.others == (f"{where}/slurm.conf:1", f"{where}/a.conf:1")


def test_a_link_is_read_beside_itself(tmp_path: Path) -> None:
    """Slurm looks beside the name, not beside the file that the name leads to."""
    make(tmp_path, shared__slurm_conf="Include a.conf\nMinJobAge=60", here__a_conf="A=1\n")
    link = tmp_path / "here" / "slurm.conf"
    link.symlink_to("../shared/slurm.conf")
    found = planned(link, AGE)
    target = os.path.realpath(tmp_path / "shared" / "slurm.conf")
    assert found.changed_files == [target]
    assert found.after.texts[target] == "Include a.conf\nMinJobAge=300"


@pytest.mark.parametrize(("version", "wanted"), [(OLD, "sub/b.conf"), (NEW, "b.conf")])
def test_relative_names_below_a_folder(
    tmp_path: Path, version: tuple[int, int, int], wanted: str
) -> None:
    path = make(
        tmp_path,
        slurm_conf="Include sub/a.conf\n",
        sub__a_conf="Include b.conf\n",
        sub__b_conf="MinJobAge=1\n",
        b_conf="MinJobAge=2\n",
    )
    found = planned(path, AGE, version=version)
    assert found.changed_files == [os.path.realpath(tmp_path / wanted)]


def test_absolute_names(tmp_path: Path) -> None:
    path = make(tmp_path, slurm_conf=f"include {tmp_path}/x/a.conf # c\n", x__a_conf="MinJobAge=1")
    assert planned(path, AGE).changed_files == [os.path.realpath(tmp_path / "x" / "a.conf")]


def test_what_is_not_set_gets_a_line(tmp_path: Path) -> None:
    path = make(tmp_path, slurm_conf="# AuthInfo=ttl=5\nA=1")
    found = planned(path, TTL, AGE)
    assert text_after(found, path) == "# AuthInfo=ttl=5\nA=1\nAuthInfo=ttl=60\nMinJobAge=300\n"
    assert [one.line for one in found.edits] == [3, 4]


def test_a_default_that_is_enough_gets_none(tmp_path: Path) -> None:
    path = make(tmp_path, slurm_conf="A=1\n")
    found = planned(path, AGE, shown="300")
    assert found.changed_files == []
    assert [(one.before, one.after, one.changes) for one in found.edits] == [(None, None, False)]


def test_two_parts_of_one_value(tmp_path: Path) -> None:
    path = make(tmp_path, slurm_conf='AuthInfo="socket=/run/a b,ttl=300" # c\n')
    found = planned(path, TTL, Wish("AuthInfo", part="cred_expire", at_least=120))
    assert text_after(found, path) == 'AuthInfo="socket=/run/a b,ttl=60,cred_expire=120" # c\n'


@pytest.mark.parametrize(
    ("texts", "wish", "match"),
    [
        ({"slurm_conf": "Include no.conf\n"}, AGE, "no.conf can't be read: No such file"),
        ({"slurm_conf": "Include \n"}, AGE, "line 1 includes nothing"),
        ({"slurm_conf": "A=1\nInclude %c.conf\n"}, AGE, "line 2 needs ClusterName"),
        ({"slurm_conf": "Include slurm.conf\n"}, AGE, "in a circle"),
        ({"slurm_conf": "A=\0\n"}, AGE, "NUL"),
        ({"slurm_conf": "MinJobAge=5m\n"}, AGE, "slurm.conf:1: MinJobAge is '5m'"),
        ({"slurm_conf": "AuthInfo=ttl=x\n"}, TTL, "slurm.conf:1: ttl in AuthInfo is 'x'"),
        # A last line that goes on would swallow the new one.
        ({"slurm_conf": "A=1 \\"}, AGE, "without changing what other lines say"),
        # Both lines would change.
        (
            {"slurm_conf": "Include a.conf\nB=1\nInclude a.conf\n", "a_conf": "MinJobAge=1\n"},
            AGE,
            "without changing what other lines say",
        ),
    ],
)
def test_refusals(tmp_path: Path, texts: dict[str, str], wish: Wish, match: str) -> None:
    path = make(tmp_path, **texts)
    with pytest.raises(SlurmError, match=match) as caught:
        planned(path, wish)
    assert "Nothing was changed" in caught.value.remedy


def test_a_folder_and_a_large_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SlurmError, match="can't be read: "):
        read_text(str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SlurmError, match="not a regular file"):
        read_text(str(tmp_path / "pipe"))
    monkeypatch.setattr(conf_files, "LARGEST_FILE", 3)
    with pytest.raises(SlurmError, match="has 4 bytes"):
        read_text(str(make(tmp_path, slurm_conf="A=1\n")))


def test_a_pattern_is_left_to_slurm(tmp_path: Path) -> None:
    path = make(tmp_path, slurm_conf="Include conf.d/*.conf\nMinJobAge=1\n")
    found = planned(path, AGE)
    assert found.after.flat() == "Include conf.d/*.conf\nMinJobAge=300\n"


def test_one_text_of_all_files(tmp_path: Path) -> None:
    path = make(
        tmp_path,
        slurm_conf="A=1 # a\nInclude a.conf\nC=3",
        a_conf="B=2\\\n2",
    )
    assert read_tree(str(path), NEW).flat() == "A=1 # a\nB=2\\\n2\nC=3\n"


def test_bytes_that_are_no_text_stay(tmp_path: Path) -> None:
    path = make(tmp_path, slurm_conf="# caf\udce9\nMinJobAge=60\n")
    found = planned(path, AGE)
    assert text_after(found, path).encode("utf-8", "surrogateescape") == (
        b"# caf\xe9\nMinJobAge=300\n"
    )


LINES = st.sampled_from(
    ["MinJobAge=60", "minjobage = 900 # x", "#MinJobAge=1", "AuthInfo=cred_expire=5,ttl=300"]
    + ["AuthInfo=\\", "ttl=5", "AccountingStoreFlags=job_env", 'AccountingStoreFlags=""', ""]
    + ["NodeName=n1 CPUs=2", "PartitionName=a \\", "Nodes=n1", "Include a.conf", "X=\\#y # z"]
)


@given(st.lists(LINES, max_size=8), st.lists(LINES, max_size=3), st.booleans())
def test_any_edit_is_the_only_difference(
    tmp_path_factory: pytest.TempPathFactory, main: list[str], other: list[str], end: bool
) -> None:
    included = "\n".join(one for one in other if not one.startswith("Include"))
    text = "\n".join(main) + ("\n" if end else "")
    path = make(tmp_path_factory.mktemp("conf"), slurm_conf=text, a_conf=included)
    wishes = (AGE, TTL, FLAGS)
    try:
        found = planned(path, *wishes)
    except SlurmError as error:
        if "without changing what other lines say" not in error.message:
            raise
        return
    for wish in wishes:
        assert wish.met_by(found.after.lines_of(wish.key)[-1].statement.value)
    untouched = [one for one in found.before.texts if one not in found.changed_files]
    assert all(found.after.texts[one] == found.before.texts[one] for one in untouched)
    keys = {wish.key.lower() for wish in wishes}
    for name in found.changed_files:
        before, after = (
            [one.said.rstrip() for one in statements(text) if one.key.lower() not in keys]
            for text in (found.before.texts[name], found.after.texts[name])
        )
        assert before == after
    again = planned_again(found, path, *wishes)
    assert again.changed_files == []


def planned_again(found: Plan, path: Path, *wishes: Wish) -> Plan:
    """A plan for the files as they are after a first one."""
    tree = read_tree(str(path), NEW, dict(found.after.texts))
    return plan(tree, NEW, tuple((one, None) for one in wishes))

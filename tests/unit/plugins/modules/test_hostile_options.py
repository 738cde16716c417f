# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every text option of every module, with what a shell, a parser and a kernel trip over.

The options are read from the modules' own argument specs, so that a new one is tried as well. The
programs on PATH note their arguments: a text ends in a clear error, or is one argument of theirs.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import pkgutil
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from ansible.module_utils import basic

from ansible_collections.hpcops.slurm.plugins.module_utils._writes import engine
from ansible_collections.hpcops.slurm.tests.unit import case_words
from ansible_collections.hpcops.slurm.tests.unit.plugins.modules.processes import fact
from ansible_collections.hpcops.slurm.tests.unit.plugins.modules.runner import leave

ROOT = Path(__file__).resolve().parents[4]
MODULES = "ansible_collections.hpcops.slurm.plugins.modules"
NAMES = sorted(one.name for one in pkgutil.iter_modules([str(ROOT / "plugins/modules")]))

#: squeue, scontrol, sacct, sbatch, scancel and id in one: they note their arguments, and show the
#: configuration. Written for a shell that starts at once.
PROGRAM = """\
#!/bin/sh
printf '%s\\0' "{name}" "$@" >> '{folder}/calls'
printf '\\1' >> '{folder}/calls'
case "{name} $*" in
  'scontrol show config') exec cat '{folder}/config' ;;
  sbatch*) cat > '{folder}/script'; echo 41 ;;
esac
exit 0
"""

WORD = "zwv"
#: What stands for a text; the folder of a test comes in the place of HERE.
HOSTILE = {
    "commands": (
        f"{WORD};touch HERE/canary;$(touch HERE/canary)`touch HERE/canary`|touch HERE/canary"
    ),
    "quotes": f"{WORD}'; touch HERE/canary; '\"; touch HERE/canary; \"",
    "blanks": f"{WORD} HERE/canary * ? ~ $HOME ${{IFS}}",
    "a newline": f"{WORD}\ntouch HERE/canary\n",
    "the frame of a status line": f"{WORD}\x1eDSL 0 call 1 0\n",
    "an option": f"--{WORD}=HERE/canary",
    "a short option": f"-{WORD}",
    "a comma": f"{WORD},{WORD}",
    "NUL": f"{WORD}\x00HERE/canary",
    "half a character": f"{WORD}\ud800",
    "a template": f"{{{{ lookup('pipe', 'touch HERE/canary') }}}}{WORD}",
    "a path upwards": f"../../../../HERE/canary/{WORD}",
    "a megabyte": WORD * 350000,
    "nothing": "",
}

#: Options that are commands, programs or texts of the user's own by what they are for.
OWN_COMMANDS = {
    ("job_ceased_info", "cessation_command"),
    ("job_submit", "command"),
    ("job_submit", "script"),
    ("job_submit", "environment"),
}

#: What a module needs to get as far as running something.
NEEDED: Mapping[str, Mapping[str, Any]] = {
    "config_info": {},
    "config_setting": {"settings": [{"name": "SchedulerParameters", "members": ["bf_continue"]}]},
    "preflight": {"probe": "never"},
    "job_ceased_info": {"jobs": ["5"], "cessation_command": ["/nowhere/asked", "{job_id}"]},
    "job_hold": {"jobs": ["5"], "instance": 1},
    "job_info": {"jobs": ["5"]},
    "job_open": {"jobs": ["5"]},
    "job_output_info": {"job_id": "5", "output_dir": "HERE/output"},
    "job_release": {"jobs": ["5"], "instance": 1},
    "job_requeue": {"jobs": ["5"], "restarts": 0},
    "job_restore": {"jobs": ["5"]},
    "job_cancel": {"jobs": ["5"]},
    "job_submit": {"submission": "a/b", "command": ["true"], "output_dir": "HERE/output"},
}
#: What changes the host's own files is only asked what it would do.
CHECKED = ("config_setting",)
EXCLUSIVE = {"select": "jobs", "submission": "job_id", "script": "command"}


class Spec(Exception):
    """The argument spec that a module was made with."""


def module_of(name: str) -> ModuleType:
    return importlib.import_module(f"{MODULES}.{name}")


def spec_of(name: str) -> dict[str, Any]:
    """A module's argument spec, taken from it when it is made."""
    caught: dict[str, Any] = {}

    def init(self: basic.AnsibleModule, argument_spec: dict[str, Any], **more: Any) -> None:
        caught.update(argument_spec)
        raise Spec

    with mock.patch.object(basic.AnsibleModule, "__init__", init), contextlib.suppress(Spec):
        module_of(name).main()
    return caught


def text_options(spec: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The places of a text: an option, or an option of an option."""
    for name, one in spec.items():
        kind = one.get("type", "str")
        if one.get("choices") or name == "_round":
            continue
        if kind in ("str", "path", "raw") or one.get("elements") in ("str", "path", "raw"):
            yield (*path, name)
        elif one.get("options"):
            yield from text_options(one["options"], (*path, name))
        elif kind == "dict":
            yield (*path, name)


OPTIONS = [(name, path) for name in NAMES for path in text_options(spec_of(name))]


def put(options: dict[str, Any], path: tuple[str, ...], spec: Mapping[str, Any], text: str) -> None:
    """Set one option, in the form that it has."""
    first, *rest = path
    if rest and spec[first].get("type") == "list":
        put(options.setdefault(first, [{}])[0], tuple(rest), spec[first]["options"], text)
    elif rest:
        inner = options.setdefault(first, {})
        put(inner, tuple(rest), spec[first]["options"], text)
    elif spec[first].get("type") == "list":
        options[first] = [text]
    elif spec[first].get("type") == "dict":
        options[first] = {"A": text}
    else:
        options[first] = text
    options.pop(EXCLUSIVE.get(first, ""), None)


class Host:
    """A host with programs that note how they were called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name in ("squeue", "scontrol", "sacct", "sbatch", "scancel", "touch"):
            program = self.bin / name
            program.write_text(PROGRAM.format(name=name, folder=folder), encoding="utf-8")
            program.chmod(0o755)
        for name in ("sh", "cat", "date", "timeout", "id"):
            found = shutil.which(name)
            assert found
            (self.bin / name).symlink_to(found)
        config = case_words.DATA / "transcripts" / "26.05.5" / "show-config.txt"
        here = str(folder / "slurm.conf")
        (folder / "config").write_text(config.read_text().replace("/etc/slurm/slurm.conf", here))
        (folder / "slurm.conf").write_text("ClusterName=cl1\n")
        (folder / "output").mkdir()

    def options(self, name: str) -> dict[str, Any]:
        """Options that a module can do its work with."""
        spec = spec_of(name)
        known = {
            "preflight": fact(),
            "cache_path": str(self.folder / "cache.json"),
            "state_dir": str(self.folder / "state"),
            "_round": {"deadline": time.time() + 60, "state": None, "wait": 0},
        }
        given = json.loads(json.dumps(NEEDED[name]).replace("HERE", str(self.folder)))
        return {**{key: value for key, value in known.items() if key in spec}, **given}

    def calls(self) -> list[list[bytes]]:
        """The calls since the last look."""
        path = self.folder / "calls"
        text = path.read_bytes() if path.exists() else b""
        path.unlink(missing_ok=True)
        return [call.split(b"\0")[:-1] for call in text.split(b"\1") if call]

    def files(self) -> set[Path]:
        return set(self.folder.rglob("*"))


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    made = Host(tmp_path)
    monkeypatch.chdir(tmp_path)  # where a relative path would lead to
    monkeypatch.setenv("PATH", str(made.bin))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(engine, "GRACE", 0)
    # A managed host has no settings of a controller, which another test may have loaded here. Newer
    # releases of ansible-core would refuse half a character by them, before a module sees it.
    with contextlib.suppress(ImportError):
        profiles = importlib.import_module("ansible.module_utils._internal._json._profiles")
        monkeypatch.setattr(
            profiles, "_string_encoding_check_enabled", lambda: False, raising=False
        )
    return made


def test_every_module_is_tried() -> None:
    assert set(NEEDED) == set(NAMES)
    assert {name for name, _path in OPTIONS} == set(NAMES)
    assert ("job_hold", ("select", "names")) in OPTIONS
    assert ("config_setting", ("settings", "part")) in OPTIONS


#: How a submission stands in names and comments: encoded, and cut where it is too long.
ENCODED = re.compile(rb"[A-Za-z0-9 ._~%=/-]+")


def is_one(argument: bytes, hostile: str, text: str) -> bool:
    """Whether a text stands in an argument as it was given; a comma may cut a list."""
    if argument.startswith((f"-{WORD}".encode(), f"--{WORD}".encode())):
        return False
    whole = WORD if hostile == "a comma" else text
    return whole.encode("utf-8", "replace") in argument or bool(ENCODED.fullmatch(argument))


@pytest.mark.parametrize(
    ("name", "path"), OPTIONS, ids=[f"{name}-{'.'.join(path)}" for name, path in OPTIONS]
)
def test_hostile(
    name: str, path: tuple[str, ...], host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, module = spec_of(name), module_of(name)
    for hostile, form in HOSTILE.items():
        text = form.replace("HERE", str(host.folder))
        options = host.options(name)
        put(options, path, spec, text)
        before = host.files()
        result = leave(
            module, options, monkeypatch, check=name in CHECKED or hostile == "a megabyte"
        )
        assert result.get("msg") or not result.get("failed"), hostile
        assert "Traceback" not in str(result.get("msg", "")), hostile
        assert "traceback" not in str(result.get("exception", "")).lower(), hostile
        made = {one.name for one in host.files() - before}
        assert not [one for one in made if WORD in one or one == "canary"], hostile
        if (name, path[0]) in OWN_COMMANDS:
            continue
        for call in host.calls():
            assert call[0] != b"touch", hostile
            for argument in call[1:]:
                if hostile == "nothing" or WORD.encode() not in argument:
                    continue
                assert is_one(argument, hostile, text), (hostile, call)


def test_nothing_but_the_programs_is_started(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """That the test above sees calls at all."""
    for name in NAMES:
        leave(module_of(name), host.options(name), monkeypatch, check=name in CHECKED)
        programs = {call[0].decode() for call in host.calls()}
        assert programs <= {"squeue", "scontrol", "sacct", "sbatch"}
        assert programs or name in ("job_output_info",), name


SECRETS = {
    "SLURM_JWT": "eyJsecret1",
    "SLURM_SACK_KEY": "/secret2/key",
    "SOME_PASSWORD": "secret3",
}


@pytest.mark.parametrize("name", NAMES)
def test_no_secret_is_shown(name: str, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in a result, nor in a file, nor in an argument, which everybody on the host sees."""
    for variable, secret in SECRETS.items():
        monkeypatch.setenv(variable, secret)
    result = leave(module_of(name), host.options(name), monkeypatch, check=name in CHECKED)
    shown = json.dumps(result).encode()
    shown += b"".join(b" ".join(call) for call in host.calls())
    shown += b"".join(one.read_bytes() for one in host.files() if one.is_file())
    for variable, secret in SECRETS.items():
        assert secret.encode() not in shown, variable


def test_a_jobs_variables_are_no_argument(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody on the host can read the arguments of every process."""
    everywhere = "cat /proc/[0-9]*/cmdline 2>/dev/null"
    program = host.bin / "sbatch"
    program.write_text(
        f"#!/bin/sh\ncat > '{host.folder}/script'\n{everywhere} > '{host.folder}/seen'\necho 41\n"
    )
    options = {**host.options("job_submit"), "environment": {"TOKEN": "secret-of-a-job"}}
    leave(module_of("job_submit"), options, monkeypatch)
    assert "secret-of-a-job" in (host.folder / "script").read_text()
    seen = (host.folder / "seen").read_bytes()
    assert b"--parsable" in seen
    assert b"secret-of-a-job" not in seen

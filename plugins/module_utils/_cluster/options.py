# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that every module which runs Slurm's commands has. Private to the collection."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple

from ansible_collections.hpcops.slurm.plugins.module_utils._cluster.results import printable

#: Least and most seconds of ``command_timeout``: poll(2) takes 2,147,483 at most.
TIMEOUT_RANGE = (0.1, 86400)
#: A hundred years, for whoever means "for ever".
LONGEST = 36525 * 86400

#: Characters in one text: a partition list is far shorter, and an argument takes 131,071 bytes.
LARGEST_TEXT = 4096

#: Files that have to be the same ones whatever directory a process has been started in.
_PATHS = ("slurm_conf", "state_dir", "cache_path")

_NO_TEXT = re.compile("[\\x00\\ud800-\\udfff]")
_CONTROL = re.compile("[\\x00-\\x1f\\x7f]")


def slurm_options() -> Dict[str, Dict[str, Any]]:
    """Argument spec of the documentation fragment ``hpcops.slurm._slurm``."""
    return {
        "slurm_conf": {"type": "path"},
        "command_timeout": {"type": "float", "default": 70},
    }


@contextlib.contextmanager
def readable_options() -> Iterator[None]:
    """Around the making of an AnsibleModule, which ends in an exception for an infinite integer and
    for half a character: the module then fails with a message.
    """
    try:
        yield
    except (OverflowError, UnicodeError) as error:
        text = "An option has a value that can't be read: %s" % printable(str(error))
        # There is no module yet that could say so.
        sys.stdout.write(json.dumps({"failed": True, "msg": text}) + "\n")
        raise SystemExit(1) from None


def refused_options(
    params: Mapping[str, Any],
    lines: Tuple[str, ...] = (),
    seconds: Optional[Mapping[str, Tuple[float, float]]] = None,
) -> Optional[str]:
    """Why a module's options can't be used, None when they can.

    No text may hold a NUL or half a character: no argument or file name can. ``lines`` names
    options that become an argument or a path, and so are one short line each. ``seconds`` names
    durations with the least and the most that each may be. ``slurm_conf`` and ``command_timeout``
    are looked at always. The paths of our own files and of slurm.conf have to be absolute.
    """
    for name, value in params.items():
        if any(_NO_TEXT.search(text) for text in _texts(value)):
            return "%s holds a character that no argument and no file name can hold" % name
    for name in ("slurm_conf", *lines):
        text = params.get(name) or ""
        if _CONTROL.search(text):
            return "%s holds a control character: %r" % (name, text[:80])
        if len(text) > LARGEST_TEXT:
            return "%s has %d characters, at most %d make sense" % (name, len(text), LARGEST_TEXT)
        if name in _PATHS and text and not os.path.isabs(text):
            return "%s is no absolute path: %r" % (name, text)
    for name, (least, most) in {"command_timeout": TIMEOUT_RANGE, **(seconds or {})}.items():
        number = params.get(name)
        # NaN is neither below nor above
        if number is not None and not least <= number <= most:
            return "%s is %s, and has to be %g to %d seconds" % (name, number, least, most)
    return None


def _texts(value: Any) -> Iterator[str]:
    """Every text in an option's value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _texts(key)
            yield from _texts(one)

# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many rows as one short text, for the way from a host to the Ansible controller.

AnsibleModule and ansible-core walk through every value of a result several times, and the
connection carries every key of every record. One text costs next to nothing. The reader is
plugin_utils/_packed.py. Private to the collection.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any, Dict, Iterable, List, Sequence

#: Rows that are made into text at the same time, so that memory does not grow with them.
BATCH = 1000


def packed(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Dict[str, Any]:
    """Rows of JSON-safe values, each in the order of ``names``, as a JSON-safe value."""
    squeezed = zlib.compressobj(1)
    parts = [squeezed.compress(b"[")]
    batch: List[Sequence[Any]] = []
    first = True
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            parts.append(squeezed.compress(_text(batch, first)))
            batch, first = [], False
    parts.append(squeezed.compress(_text(batch, first) + b"]"))
    parts.append(squeezed.flush())
    return {"names": list(names), "rows": base64.b64encode(b"".join(parts)).decode("ascii")}


def _text(batch: List[Sequence[Any]], first: bool) -> bytes:
    """The rows without brackets around them; what follows others begins with a comma."""
    if not batch:
        return b""
    text = json.dumps(batch, separators=(",", ":"))[1:-1]
    return (text if first else "," + text).encode("ascii")

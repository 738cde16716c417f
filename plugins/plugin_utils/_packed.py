# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reader of what module_utils/_jobs/packing.py writes. Private to the collection."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any


def unpacked(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows as mappings. Raises ValueError for anything else than a module has packed."""
    try:
        names = value["names"]
        rows = json.loads(zlib.decompress(base64.b64decode(value["rows"], validate=True)))
    except (KeyError, TypeError, zlib.error) as error:
        raise ValueError(f"not packed rows: {error!r}") from error
    return [dict(zip(names, row, strict=True)) for row in rows]

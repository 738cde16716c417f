# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Put pip into the virtual environment that runs this, without a download from anywhere else.

ansible-test would fetch a script for that from a server of its own. The sanity session of
noxfile.py lends it this one, which starts from the pip that Python brings along.
"""

from __future__ import annotations

import subprocess
import sys

# Options of the original script that pip itself does not know.
NOT_FOR_PIP = {"--no-setuptools", "--no-wheel"}

wanted = [argument for argument in sys.argv[1:] if argument not in NOT_FOR_PIP]
# Processes of their own: ensurepip would drop the machine's pip settings from this one.
subprocess.check_call([sys.executable, "-m", "ensurepip"], stdout=subprocess.DEVNULL)
subprocess.check_call([sys.executable, "-m", "pip", "install", *wanted])

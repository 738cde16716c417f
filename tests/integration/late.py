# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A long way to slurmctld, on a cluster: late.py SECONDS

Prints the name of a slurm.conf that leads here, and goes on in the background until nobody has come
for a while. What arrives is passed on so many seconds later, whether its sender is still there or
not.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import tempfile
import threading
import time

SLURM_CONF = "/etc/slurm/slurm.conf"
SLURMCTLD_PORT = 6817
#: Seconds without a byte after which a request is whole, and without a caller until the end.
SILENCE, PATIENCE = 0.3, 30.0


def carry(sender: socket.socket, seconds: float) -> None:
    """Take one request, pass it on late, and bring back the answer if anybody still wants it."""
    arrived = time.monotonic()
    sender.settimeout(SILENCE)
    request = bytearray()
    with contextlib.suppress(OSError):
        while part := sender.recv(65536):
            request += part
    time.sleep(max(0.0, arrived + seconds - time.monotonic()))
    with socket.create_connection((socket.gethostname(), SLURMCTLD_PORT)) as slurmctld:
        slurmctld.sendall(request)
        while part := slurmctld.recv(65536):
            with contextlib.suppress(OSError):
                sender.sendall(part)


def leading_to(port: int) -> str:
    """A slurm.conf in which slurmctld has this port."""
    with (
        open(SLURM_CONF, encoding="utf-8") as known,
        tempfile.NamedTemporaryFile("w", prefix="late-", delete=False) as made,
    ):
        made.write(f"{known.read()}SlurmctldPort={port}\n")
    return made.name


def main() -> None:
    """Listen, say where, and let the caller go on."""
    seconds = float(sys.argv[1])
    here = socket.create_server(("", 0))
    conf = leading_to(here.getsockname()[1])
    print(conf, flush=True)
    if os.fork():
        os._exit(0)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    here.settimeout(PATIENCE)
    with contextlib.suppress(TimeoutError):
        while True:
            threading.Thread(target=carry, args=(here.accept()[0], seconds)).start()
    os.remove(conf)


if __name__ == "__main__":
    main()

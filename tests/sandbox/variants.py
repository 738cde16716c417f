# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variants: which Slurm a cluster runs and what is special about its configuration."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Auth(enum.Enum):
    """How Slurm's daemons and commands authenticate; the value is the plug-in's name."""

    MUNGE = "munge"
    SLURM = "slurm"
    NONE = "none"


@dataclass(frozen=True)
class Variant:
    """One kind of cluster.

    suite: the Debian suite whose packages are run; slurm: the release packaged there.
    accounting: with slurmdbd. job_comment: AccountingStoreFlags has job_comment.
    """

    name: str
    suite: str
    slurm: str
    auth: Auth = Auth.MUNGE
    accounting: bool = True
    job_comment: bool = True

    @property
    def services(self) -> tuple[str, ...]:
        """The services of such a cluster, in the order in which they are started."""
        services = ["sshd"]
        if self.auth is Auth.MUNGE:
            services.append("munged")
        if self.accounting:
            services += ["mariadb", "slurmdbd"]
        return (*services, "slurmctld", "slurmd")


_ALL = (
    Variant("bookworm-munge", "bookworm", "22.05"),
    Variant("trixie-munge", "trixie", "24.11"),
    Variant("forky-munge", "forky", "26.05"),
    Variant("trixie-slurm", "trixie", "24.11", auth=Auth.SLURM),
    Variant("forky-slurm", "forky", "26.05", auth=Auth.SLURM),
    Variant("trixie-noaccounting", "trixie", "24.11", accounting=False),
    Variant("trixie-nocomment", "trixie", "24.11", job_comment=False),
    Variant("trixie-authnone", "trixie", "24.11", auth=Auth.NONE),
)

VARIANTS = {variant.name: variant for variant in _ALL}

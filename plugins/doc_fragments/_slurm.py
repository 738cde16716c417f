# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Options of every module that runs Slurm's commands. Private to the collection."""

    DOCUMENTATION = r"""
options:
  slurm_conf:
    description:
      - Path of the C(slurm.conf) that the commands use, as E(SLURM_CONF) would name it.
      - Without it, a E(SLURM_CONF) that is set and not empty in the task's environment counts, and otherwise Slurm's own place.
    type: path
  command_timeout:
    description:
      - Seconds that one of Slurm's commands may take before it is ended and its answer counts as none, from 0.1 to 86400.
      - Slurm's clients give up by themselves after C(MessageTimeout), or after about a minute when they find no configuration, so that
        the default lets them say why.
    type: float
    default: 70
requirements:
  - Slurm's client commands, 22.05 to 26.05
  - Python 3.8 or newer on the managed host, standard library only
notes:
  - Variables that change what Slurm's commands print or how they authenticate (E(SQUEUE_FORMAT), E(SLURM_CLUSTERS), E(SLURM_JWT), and so
    on) are kept away from them.
"""

    ROUNDS = r"""
options:
  _round:
    description: What the action plugin tells the module from round to round. Not for use in a task.
    type: dict
    default: {}
"""

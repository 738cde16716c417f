# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sandbox's command line: real Slurm clusters in containers, for tests and demonstrations."""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - whoever runs this may have an older one
    sys.exit("sandbox: error: this needs Python 3.11 or newer as python3")

import argparse
from collections.abc import Callable, Sequence

import clusters
import config
from host import Failure, need_root, prepare_podman
from variants import VARIANTS


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns the exit status."""
    parser = _parser()
    options = list(argv)
    command: list[str] = []
    if options[:1] == ["exec"] and "--" in options:
        cut = options.index("--")
        options, command = options[:cut], options[cut + 1 :]
    args = parser.parse_args(options)
    if args.action == "exec":
        if not command:
            parser.error("exec needs a command after --: sandbox exec NAME -- COMMAND...")
        args.command = command
    handler: Callable[[argparse.Namespace], None] = args.handler
    try:
        handler(args)
    except Failure as failure:
        print(f"sandbox: error: {failure}", file=sys.stderr)
        # For exec any small status could be the command's own.
        return 125 if args.action == "exec" else failure.status
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sandbox", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="print the variants, one a line")
    listing.set_defaults(handler=_list)
    up = actions.add_parser(
        "up", help="start a cluster; the last line printed is its inventory's path"
    )
    up.add_argument("variant", metavar="VARIANT", help="one of those that `list` prints")
    up.add_argument("--name", metavar="NAME", help="the cluster's name (default: the variant)")
    up.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="settings",
        help="a setting for slurm.conf; KEY= removes the key (repeatable)",
    )
    up.add_argument(
        "--clock-offset",
        metavar="SECONDS",
        type=int,
        default=0,
        help="how far slurmctld's clock is ahead (negative: behind)",
    )
    up.set_defaults(handler=_up)
    execute = actions.add_parser(
        "exec",
        help="run a command in a cluster",
        usage="sandbox exec NAME [--user USER] -- COMMAND...",
    )
    execute.add_argument("name", metavar="NAME")
    execute.add_argument("--user", metavar="USER", default="root", help="default: root")
    execute.set_defaults(handler=_exec)
    down = actions.add_parser("down", help="remove a cluster, or all of this checkout's")
    which = down.add_mutually_exclusive_group(required=True)
    which.add_argument("name", metavar="NAME", nargs="?")
    which.add_argument("--all", action="store_true")
    down.set_defaults(handler=_down)
    return parser


def _list(_args: argparse.Namespace) -> None:
    print("\n".join(VARIANTS))


def _up(args: argparse.Namespace) -> None:
    variant = VARIANTS.get(args.variant)
    if variant is None:
        raise Failure(
            f"there is no variant {args.variant!r}; the variants: {', '.join(VARIANTS)}", status=2
        )
    wish = config.Wish(
        name=config.check_name(args.name or variant.name),
        variant=variant,
        settings=tuple(config.parse_setting(text) for text in args.settings),
        clock_offset=args.clock_offset,
    )
    need_root()
    print(clusters.up(wish), flush=True)


def _exec(args: argparse.Namespace) -> None:
    need_root()
    prepare_podman()
    clusters.execute(config.check_name(args.name), args.user, args.command)


def _down(args: argparse.Namespace) -> None:
    need_root()
    prepare_podman()
    for name in clusters.names() if args.all else [config.check_name(args.name)]:
        clusters.down(name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

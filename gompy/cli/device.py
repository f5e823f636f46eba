"""``gompy device serve``: serve a device of this machine to programs on others.

Exit status: 0 ended by a signal; 1 it can't serve; 2 usage.
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

from gompy.cli.arguments import command_parser

EXAMPLES: Final = """\
examples:
  gompy device serve --port 7000 --token-file ~/.gompy-token
  gompy device serve --port 7000 --token-file ~/.gompy-token --bind 10.0.0.5 --device nvptx

On the other machine, with the same token in a file that only its owner reads:
  GOMPY_PLUGINS=remote GOMPY_REMOTE=10.0.0.5:7000 GOMPY_REMOTE_TOKEN_FILE=~/.gompy-token ./program

Who knows the token runs code as you.  The connection is not encrypted: use it on a network that you trust, or
through ssh -L.
exit status: 0 ended by a signal; 1 it can't serve; 2 usage"""


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    parser = command_parser(
        "device", "Serve a device of this machine to programs on others, each of which gets one of its own.", EXAMPLES
    )
    parser.add_argument("action", choices=["serve"], metavar="serve", help="the only action")
    parser.add_argument("--port", type=int, required=True, metavar="N", help="TCP port; 0: any that is free")
    parser.add_argument("--token-file", required=True, metavar="F", help="the token's file; made if it is not there")
    parser.add_argument("--bind", default="127.0.0.1", metavar="ADDR", help="the address to listen at (127.0.0.1)")
    parser.add_argument("--device", default="intelmic", choices=["intelmic", "nvptx"], help="its kind (intelmic)")
    parser.add_argument("--port-file", metavar="FILE", help="write the port's number there once it listens")
    parser.add_argument("--tls", action="store_true", help="not implemented")
    return parser


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy device``); the exit status."""
    options = parser().parse_args(argv)
    from gompy.remote import serve

    if not 0 <= options.port <= 65535:
        print(f"gompy device: error: --port {options.port}: not a number from 0 to 65535", file=sys.stderr)
        return 2
    if options.tls:
        print("gompy device: error: --tls is not implemented; ssh -L encrypts a connection", file=sys.stderr)
        return 1
    try:
        return serve.serve(options.bind, options.port, options.token_file, options.device, options.port_file)
    except serve.ServeError as error:
        print(f"gompy device: error: {error}", file=sys.stderr)
        return 1

"""``gompy device serve``: serve a device to programs on other machines; ``gompy device swap``: change a program's.

Exit status of serve: 0 ended by a signal; 1 it can't serve; 2 usage.  Of swap: 0 done; 1 it can't be; 2 usage.
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

from gompy import UserError
from gompy.cli.arguments import command_parser
from gompy.tools.toolmain import one_line

EXAMPLES: Final = """\
examples:
  gompy device serve --port 7000 --token-file ~/.gompy-token
  gompy device serve --port 7000 --token-file ~/.gompy-token --bind 10.0.0.5 --device nvptx

On the other machine, with the same token in a file that only its owner reads:
  GOMPY_PLUGINS=remote GOMPY_REMOTE=10.0.0.5:7000 GOMPY_REMOTE_TOKEN_FILE=~/.gompy-token ./program

Who knows the token runs code as you.  The connection is encrypted with --tls-cert only, and GOMPY_REMOTE_CA at the
other machine; else use it on a network that you trust, or through ssh -L.
exit status: 0 ended by a signal; 1 it can't serve; 2 usage"""
SWAP_EXAMPLES: Final = """\
examples:
  GOMPY_PLUGINS=python GOMPY_PYTHON_DEVICE=gompy.virtual:Swap ./program &
  gompy device swap $! 0 memory
  gompy device swap $! 0 remote:0

backends: intelmic (an emulated MIC), remote:N (the N-th of GOMPY_REMOTE in the program's environment), memory (the
program's own process)
exit status: 0 done; 1 it can't be done, and the program goes on as before; 2 usage"""


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = command_parser("device", "Serve a device to programs on other machines, or change a program's.", "")
    commands = made.add_subparsers(dest="action", metavar="serve|swap", required=True)
    text = "serve a device of this machine to programs on others, each of which gets one of its own"
    parser = commands.add_parser("serve", help=text, epilog=EXAMPLES)
    parser.add_argument("--port", type=int, required=True, metavar="N", help="TCP port; 0: any that is free")
    parser.add_argument("--token-file", required=True, metavar="F", help="the token's file; made if it is not there")
    parser.add_argument("--bind", default="127.0.0.1", metavar="ADDR", help="the address to listen at (127.0.0.1)")
    parser.add_argument("--device", default="intelmic", choices=["intelmic", "nvptx"], help="its kind (intelmic)")
    parser.add_argument("--port-file", metavar="FILE", help="write the port's number there once it listens")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input does, too")
    parser.add_argument("--tls-cert", metavar="F", help="encrypt by TLS: the certificate, PEM, with what has signed it")
    parser.add_argument("--tls-key", metavar="F", help="its key; without it, it is in the certificate's file")
    text = "have a running program go on with another device behind the same number; its data moves"
    parser = commands.add_parser("swap", help=text, epilog=SWAP_EXAMPLES)
    parser.add_argument("pid", type=int, metavar="PID", help="the program's process")
    parser.add_argument("number", type=int, metavar="DEVICE", help="the device's number in the program: 0")
    parser.add_argument("backend", metavar="BACKEND", help="what it runs on from now on")
    return made


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy device``); the exit status."""
    options = parser().parse_args(argv)
    return swap(options) if options.action == "swap" else serve_device(options)


def swap(options: argparse.Namespace) -> int:
    """Have a program change its device."""
    from gompy.virtual.control import ask_swap

    if options.number:
        print(f"gompy device: error: device {options.number}: only device 0 can be changed", file=sys.stderr)
        return 1
    try:
        print(ask_swap(options.pid, options.backend))
    except UserError as error:
        print(f"gompy device: error: {one_line(str(error))}", file=sys.stderr)
        return 1
    return 0


def serve_device(options: argparse.Namespace) -> int:
    """Serve until a signal ends it."""
    from gompy.remote import serve

    if not 0 <= options.port <= 65535:
        print(f"gompy device: error: --port {options.port}: not a number from 0 to 65535", file=sys.stderr)
        return 2
    if options.tls_key and not options.tls_cert:
        print("gompy device: error: --tls-key needs --tls-cert", file=sys.stderr)
        return 2
    wanted = serve.Options(
        *(options.bind, options.port, options.token_file, options.device, options.port_file, options.until_eof),
        *(options.tls_cert, options.tls_key),
    )
    try:
        return serve.serve(wanted)
    except serve.ServeError as error:
        print(f"gompy device: error: {error}", file=sys.stderr)
        return 1

"""``gompy cluster``: run a program whose devices are on the workers of a Dask cluster, or on the ranks of an MPI job.

Exit status: the program's, 128 and its number for a signal's; 1 no devices; 2 usage; 126, 127 the program can't be run.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
from typing import Any, Final

from gompy.cli.arguments import command_parser
from gompy.tools.toolmain import one_line

SCHEDULER: Final = "GOMPY_CLUSTER"
EXAMPLES: Final = """\
examples:
  gompy cluster local 4 -- ./program argument
  gompy cluster run --scheduler 10.0.0.5:8786 -- ./program argument
  GOMPY_CLUSTER=10.0.0.5:8786 gompy cluster run -- ./program argument
  mpirun -n 5 gompy cluster mpi -- ./program argument

Each worker of the cluster becomes a device of the program, of as many threads as the worker has.  gompy must be
installed where the workers are.  Dask comes with pip install 'gompy[cluster]', mpi4py with 'gompy[mpi]'.
exit status: the program's, 128 + N if signal N has ended it; 1 there are no devices; 2 usage; 126, 127 the program
cannot be run"""


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = command_parser("cluster", "Run a program with devices on the workers of a cluster.", EXAMPLES)
    commands = made.add_subparsers(dest="action", metavar="local|run|mpi", required=True)
    for name, text, usage in (
        ("local", "start N workers on this machine for it", "gompy cluster local N [OPTION...] -- PROG [ARG...]"),
        ("run", "use the workers of a scheduler", "gompy cluster run [OPTION...] -- PROG [ARG...]"),
        ("mpi", "use the ranks of an MPI job", "mpirun -n N gompy cluster mpi [OPTION...] -- PROG [ARG...]"),
    ):
        one = commands.add_parser(name, help=text, usage=usage, epilog=EXAMPLES)
        if name == "local":
            one.add_argument("count", type=int, metavar="N", help="workers, 1 to 64")
        elif name == "run":
            text = f"host:port of Dask's scheduler; else {SCHEDULER}"
            one.add_argument("--scheduler", metavar="ADDR", default=os.environ.get(SCHEDULER, ""), help=text)
            one.add_argument("--workers", type=int, metavar="N", default=1, help="wait for so many workers (1)")
        one.add_argument("--device", default="intelmic", choices=["intelmic", "nvptx"], help="their kind (intelmic)")
        one.add_argument("--per-worker", type=int, metavar="N", default=1, help="devices of each worker (1)")
        one.add_argument("--tls", action="store_true", help="encrypt the program's connections with the devices")
    return made


def run_program(words: list[str], environment: dict[str, str]) -> int:
    """Run the program to its end; its exit status.  A signal that asks us to end is passed on."""
    program = subprocess.Popen(words, env=environment)

    def pass_on(number: int, _frame: object) -> None:
        with contextlib.suppress(OSError):
            program.send_signal(number)

    signal.signal(signal.SIGTERM, pass_on)
    signal.signal(signal.SIGHUP, pass_on)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the program, too
    status = program.wait()
    return 128 - status if status < 0 else status


def run_on(client: Any, options: argparse.Namespace, count: int, words: list[str], before: dict[str, str]) -> int:
    """Start the devices, and run the program with them; before: its environment but for them."""
    from gompy.remote import dask

    devices = dask.Devices(client, options.device, options.per_worker, count, options.tls)
    with devices.environment() as variables:
        return run_program(words, before | variables)


def run_on_ranks(options: argparse.Namespace, words: list[str], before: dict[str, str]) -> int:
    """One rank's part of an MPI job: the program, or a server.  Raises ClusterError."""
    from gompy.remote import mpi

    job = mpi.communicator()
    if job.rank:
        return mpi.serve(job, options.device)
    return mpi.lead(job, options.per_worker, options.tls, lambda variables: run_program(words, before | variables))


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy cluster``); the exit status."""
    from gompy.cli import run_program as programs
    from gompy.remote import dask
    from gompy.remote.started import ClusterError

    made = parser()
    # Options may follow N, so what is the program's begins at "--".
    end = argv.index("--") if "--" in argv else len(argv)
    options, words = made.parse_args(argv[:end]), argv[end + 1 :]
    if not words:
        made.error("which program? Its name and its arguments follow --")
    count = options.count if options.action == "local" else options.workers if options.action == "run" else 1
    if count < 1 or options.per_worker < 1:
        made.error("numbers of workers and devices are 1 or more")
    if options.action == "run" and not options.scheduler:
        made.error(f"--scheduler or {SCHEDULER} names Dask's scheduler, as host:port")
    before = dict(os.environ)  # Dask's nannies change it: OMP_NUM_THREADS=1
    try:
        words[0] = programs.find(words[0])
        if options.action == "mpi":
            return run_on_ranks(options, words, before)
        with dask.local(count) if options.action == "local" else dask.connected(options.scheduler) as client:
            return run_on(client, options, count, words, before)
    except programs.RunError as error:
        print(f"gompy cluster: error: {one_line(str(error))}", file=sys.stderr)
        return error.status
    except ClusterError as error:
        print(f"gompy cluster: error: {one_line(str(error))}", file=sys.stderr)
        return 1

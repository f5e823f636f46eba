"""Devices on the ranks of an MPI job: each but the first starts a ``gompy device serve``, the first runs the program.

MPI carries what a launch needs: addresses, secrets, the end.  The program's data goes by the devices' own connections.
mpi4py is imported by the functions that need it: gompy[mpi].
"""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from gompy.remote.started import MOST, ClusterError, Secrets, StartedServer, environment, make_secrets

READY, END = 1, 2
"""Tags of messages."""
NAP: Final = 0.02
"""Seconds between two looks for a message: waiting in MPI would take a core from the device."""


def communicator() -> Any:
    """All ranks of the job.  Raises ClusterError."""
    if "OMPI_COMM_WORLD_SIZE" in os.environ:  # of mpi4py's two builds this is the one for mpirun's library
        os.environ.setdefault("MPI4PY_MPIABI", "openmpi")
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise ClusterError(f"MPI cannot be used ({error}): pip install 'gompy[mpi]', and an MPI library") from None
    return MPI.COMM_WORLD


def reachable(names: list[str], own: str) -> str:
    """The address at which other ranks reach this one.  names: the machines of all; own: this one's.

    Raises ClusterError.
    """
    if set(names) == {own}:
        return "127.0.0.1"
    try:
        found = [str(entry[4][0]) for entry in socket.getaddrinfo(own, None, type=socket.SOCK_STREAM)]
    except OSError as error:
        raise ClusterError(f"{own}: {error}") from None
    address = next((one for one in found if not ipaddress.ip_address(one.partition("%")[0]).is_loopback), None)
    if address is None:
        raise ClusterError(f"{own}: its name leads to {found[0]} only, where other machines do not reach it")
    return address


def await_message(job: Any, source: int, tag: int) -> Any:
    """Wait for a message without taking a core."""
    while not job.iprobe(source=source, tag=tag):
        time.sleep(NAP)
    return job.recv(source=source, tag=tag)


def serve(job: Any, kind: str) -> int:
    """What a rank with devices does: a server until the first rank says that the program has ended."""
    names = job.allgather(socket.gethostname())
    problems: list[str] = []
    try:
        address = reachable(names, names[job.rank])
    except ClusterError as error:
        address, problems = "", [str(error)]
    job.gather((address, problems), root=0)
    shared = job.bcast(None, root=0)
    server = None
    if shared is not None:
        try:
            threads = int(os.environ.get("OMP_NUM_THREADS", "0").partition(",")[0] or 0) or len(os.sched_getaffinity(0))
            server = StartedServer(address, Secrets(*shared), kind, threads)
            job.send((server.address(), ""), dest=0, tag=READY)
        except (ClusterError, OSError, ValueError) as error:
            job.send(("", str(error)), dest=0, tag=READY)
        await_message(job, 0, END)
    if server is not None:
        server.end()
    return 0


def lead(job: Any, per_rank: int, encrypted: bool, run: Callable[[dict[str, str]], int]) -> int:
    """What the first rank does: the program; run: given the variables that it needs.  Raises ClusterError."""
    job.allgather(socket.gethostname())
    told = job.gather(("", []), root=0)[1:]
    problem = next((words[0] for _, words in told if words), "")
    if not told:
        problem = "one rank only: the devices are on the others (mpirun -n 2, or more)"
    elif len(told) * per_rank > MOST:
        problem = f"{len(told)} ranks with {per_rank} devices each: a program has {MOST} at most"
    shared = None
    if not problem:
        try:
            shared = make_secrets({address for address, _ in told}, encrypted)
        except ImportError:
            problem = "the package cryptography is missing: pip install 'gompy[cluster]'"
    job.bcast(tuple(shared) if shared else None, root=0)
    if shared is None:
        raise ClusterError(problem)
    answers = [await_message(job, rank, READY) for rank in range(1, job.size)]
    try:
        problems = [f"rank {rank}: {text}" for rank, (_, text) in enumerate(answers, 1) if text]
        if problems:
            raise ClusterError(problems[0])
        with environment(shared, [one for one, _ in answers for _ in range(per_rank)]) as variables:
            sys.stdout.flush()
            return run(variables)
    finally:
        for rank in range(1, job.size):
            job.send(None, dest=rank, tag=END)

"""Devices on the workers of a Dask cluster: each worker starts a ``gompy device serve``, as an actor that Dask keeps.

An actor goes when its client does, however that ends, and its server with it.  The server reads a pipe of the worker's
process, whose end it follows.  Dask is imported by the functions that need it: gompy[cluster].
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gompy.remote.started import MOST, PATIENCE, ClusterError, Secrets, StartedServer, environment, make_secrets


class DeviceServer(StartedServer):
    """The actor: a ``gompy device serve`` on a worker's machine, for as long as the actor is there."""

    def __init__(self, shared: tuple[str, str, str], kind: str) -> None:
        from distributed import get_worker

        worker = get_worker()
        # Dask's nanny sets OMP_NUM_THREADS=1, for its own libraries' sake.
        super().__init__(str(worker.ip), Secrets(*shared), kind, worker.state.nthreads)

    def used(self) -> float:
        """CPU seconds of the server's clients, workers and devices' processes; waits until they have ended, 5 s."""
        until = time.monotonic() + 5
        while time.monotonic() < until and any(
            path.read_text().split() for path in Path(f"/proc/{self.process.pid}/task").glob("*/children")
        ):
            time.sleep(0.02)
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[13]) + int(words[14])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def local(count: int) -> Iterator[Any]:
    """A Dask cluster of so many workers on this machine, each of one thread; a client of it.

    Its connections are TLS with a certificate of its own, where ``cryptography`` is there: other users of the machine
    could run code by them.  Raises ClusterError.
    """
    _need_dask()
    import dask
    from distributed import Client, LocalCluster
    from distributed.security import Security

    try:
        security = Security.temporary()
    except ImportError:
        raise ClusterError("the package cryptography is missing: pip install 'gompy[cluster]'") from None
    try:
        with dask.config.set({f"distributed.{part}.http.routes": [] for part in ("scheduler", "worker")}):
            cluster = LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                silence_logs=logging.CRITICAL,
                security=security,
                host="127.0.0.1",
                protocol="tls://",
            )
    except (OSError, RuntimeError, TimeoutError) as error:
        raise ClusterError(f"no workers on this machine: {_one_line(error)}") from None
    with cluster, Client(cluster) as client:
        yield client


@contextlib.contextmanager
def connected(scheduler: str) -> Iterator[Any]:
    """A client of the cluster whose scheduler has this address, ``host:port``.  Raises ClusterError."""
    _need_dask()
    from distributed import Client

    try:
        client = Client(scheduler, timeout=10)
    except (OSError, ValueError, TimeoutError, RuntimeError) as error:
        raise ClusterError(f"scheduler {scheduler}: {_one_line(error)}") from None
    with client:
        yield client


def _need_dask() -> None:
    # What happens to a worker is told by the program that has lost its device.
    os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "critical")
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise ClusterError(f"Dask cannot be imported ({error}): pip install 'gompy[cluster]'") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)


def _one_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


class Devices:
    """Servers on all workers of a cluster."""

    def __init__(
        self, client: Any, kind: str = "intelmic", per_worker: int = 1, count: int = 1, encrypted: bool = False
    ) -> None:
        """client: of Dask; kind: the devices'; per_worker: how many on each; count: workers to wait for.

        encrypted: whether the program's connections with the devices are TLS.  Raises ClusterError.
        """
        from distributed.comm import get_address_host

        try:
            client.wait_for_workers(count, timeout=PATIENCE)
        except TimeoutError:
            raise ClusterError(f"the cluster has no {count} workers after {PATIENCE:.0f} s") from None
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        if len(workers) * per_worker > MOST:
            raise ClusterError(f"{len(workers)} workers with {per_worker} devices each: a program has {MOST} at most")
        try:
            self.shared = make_secrets({get_address_host(name) for name in workers}, encrypted)
        except ImportError:
            raise ClusterError("the package cryptography is missing: pip install 'gompy[cluster]'") from None
        self.futures = [
            client.submit(DeviceServer, tuple(self.shared), kind, actor=True, workers=[name], pure=False)
            for name in workers
        ]
        self.servers = []
        for name, future in zip(workers, self.futures, strict=True):
            try:
                self.servers.append(future.result(timeout=2 * PATIENCE))
            except ClusterError as error:
                raise ClusterError(f"worker {name}: {error}") from None
            except Exception as error:  # whatever the worker's Python says, as that gompy is not there
                raise ClusterError(f"worker {name}: {type(error).__name__}: {_one_line(error)}") from None
        self.addresses = [server.address().result() for server in self.servers for _ in range(per_worker)]

    def used(self) -> list[float]:
        """CPU seconds that the clients of each server have taken, those that have ended."""
        return [float(server.used().result()) for server in self.servers]

    @contextlib.contextmanager
    def environment(self) -> Iterator[dict[str, str]]:
        """The variables for a program that is to have these devices; the files with their secrets last as long."""
        with environment(self.shared, self.addresses) as found:
            yield found

"""Devices on the workers of a Dask cluster: each worker starts a ``gompy device serve``, as an actor that Dask keeps.

An actor goes when its client does, however that ends, and its server with it.  The server reads a pipe of the worker's
process, whose end it follows.  Dask is imported by the functions that need it: gompy[cluster].
"""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import logging
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

PACKAGE: Final = Path(__file__).resolve().parents[2]
"""The folder that gompy is imported from."""
PATIENCE: Final = 60.0
"""Seconds that a server has to start, and workers to turn up."""
MOST: Final = 64
"""Devices of the plugin ``remote``."""


class ClusterError(Exception):
    """There are no such devices; one line."""


class Secrets(NamedTuple):
    """What the servers of a program share: the token, and for TLS a certificate with its key, PEM, else ""."""

    token: str
    certificate: str
    key: str


def make_secrets(hosts: set[str], encrypted: bool) -> Secrets:
    """New ones; encrypted: with a certificate for these hosts, names or addresses, good for thirty days."""
    token = secrets.token_hex(32)
    if not encrypted:
        return Secrets(token, "", "")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "gompy cluster")])
    names: list[Any] = []
    for host in sorted(hosts):
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))  # clocks differ
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    text = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Secrets(token, made.public_bytes(pem).decode(), text.decode())


class DeviceServer:
    """The actor: a ``gompy device serve`` on a worker's machine, for as long as the actor is there."""

    def __init__(self, shared: tuple[str, str, str], kind: str) -> None:
        from distributed import get_worker

        worker = get_worker()
        self.host = str(worker.ip)
        folder = tempfile.mkdtemp(prefix="gompy-cluster-")
        try:
            self._start(folder, Secrets(*shared), kind, worker.state.nthreads)
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # the server has read its token and its key

    def _start(self, folder: str, shared: Secrets, kind: str, threads: int) -> None:
        token_file, port_file, log_file = (os.path.join(folder, name) for name in ("token", "port", "log"))
        tls_files = {name: os.path.join(folder, name) for name in ("certificate", "key") if shared.certificate}
        for path, text in (
            (token_file, shared.token),
            *((tls_files[name], getattr(shared, name)) for name in tls_files),
        ):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(f"{text}\n")
        words = [sys.executable, "-m", "gompy.cli", "device", "serve", "--port", "0", "--bind", self.host]
        words += ["--device", kind, "--token-file", token_file, "--port-file", port_file, "--until-eof"]
        if tls_files:
            words += ["--tls-cert", tls_files["certificate"], "--tls-key", tls_files["key"]]
        # Dask's nanny sets OMP_NUM_THREADS=1, for its own libraries' sake.
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        with open(log_file, "w") as log:
            process = subprocess.Popen(
                words,
                cwd=PACKAGE,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        self.process = process
        self.end = weakref.finalize(self, end_server, process)
        until = time.monotonic() + PATIENCE
        while not os.path.exists(port_file):
            if process.poll() is not None or time.monotonic() > until:
                self.end()
                said = Path(log_file).read_text(errors="replace").strip().splitlines()
                raise ClusterError(said[-1] if said else "gompy device serve has not started")
            time.sleep(0.01)
        self.port = int(Path(port_file).read_text())

    def address(self) -> str:
        """host:port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def used(self) -> float:
        """CPU seconds of the server's clients, workers and devices' processes; waits until they have ended, 5 s."""
        until = time.monotonic() + 5
        while time.monotonic() < until and any(
            path.read_text().split() for path in Path(f"/proc/{self.process.pid}/task").glob("*/children")
        ):
            time.sleep(0.02)
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[13]) + int(words[14])) / os.sysconf("SC_CLK_TCK")


def end_server(process: subprocess.Popen[bytes]) -> None:
    """End a server, which ends its workers."""
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


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
        with contextlib.ExitStack() as files:

            def written(text: str) -> str:
                file = files.enter_context(tempfile.NamedTemporaryFile("w", prefix="gompy-token-"))
                file.write(f"{text}\n")
                file.flush()
                return file.name

            found = {
                "GOMPY_PLUGINS": "remote",
                "GOMPY_REMOTE": ",".join(self.addresses),
                "GOMPY_REMOTE_TOKEN_FILE": written(self.shared.token),
            }
            if self.shared.certificate:
                found["GOMPY_REMOTE_CA"] = written(self.shared.certificate)
            yield found

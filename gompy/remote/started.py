"""Servers of devices that are started for one program: secrets, processes, what the program needs of them."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator, Mapping
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


class StartedServer:
    """A ``gompy device serve`` on this machine that ends with this process, or before."""

    def __init__(
        self, host: str, shared: Secrets, kind: str, threads: int, variables: Mapping[str, str] | None = None
    ) -> None:
        """host: the one address that it listens at; threads: of each device; variables: more of its environment.

        Raises ClusterError.
        """
        self.host = host
        self.variables = variables or {}
        folder = tempfile.mkdtemp(prefix="gompy-cluster-")
        try:
            self._start(folder, shared, kind, threads)
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
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), **self.variables}
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


def end_server(process: subprocess.Popen[bytes]) -> None:
    """End a server, which ends its workers."""
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def environment(shared: Secrets, addresses: list[str]) -> Iterator[dict[str, str]]:
    """The variables for a program that is to have these devices; the files with their secrets last as long."""
    with contextlib.ExitStack() as files:

        def written(text: str) -> str:
            file = files.enter_context(tempfile.NamedTemporaryFile("w", prefix="gompy-token-"))
            file.write(f"{text}\n")
            file.flush()
            return file.name

        found = {
            "GOMPY_PLUGINS": "remote",
            "GOMPY_REMOTE": ",".join(addresses),
            "GOMPY_REMOTE_TOKEN_FILE": written(shared.token),
        }
        if shared.certificate:
            found["GOMPY_REMOTE_CA"] = written(shared.certificate)
        yield found

"""Remote devices by TLS: the same results, nothing to be read on the way, a line for each certificate that is wrong."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from driver_tools import Tools, needs
from remote_tools import PATIENT, PROGRAMS, Relay, Served, children, eventually, gone, has_remote

TLS_LIBRARY = "libssl.so.3"


def no_library() -> bool:
    """Whether there is no OpenSSL 3."""
    import ctypes

    try:
        ctypes.CDLL(TLS_LIBRARY)
    except OSError:
        return True
    return False


pytestmark = [
    *has_remote,
    needs("openssl"),
    pytest.mark.skipif(no_library(), reason=f"not installed: {TLS_LIBRARY}"),
]


@pytest.fixture(scope="module")
def tools(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """The commands, and a certificate for 127.0.0.1 and localhost."""
    tools = Tools(bin_folder, tmp_path_factory.mktemp("tls"))
    tools.env |= {
        "GOMPY_PLUGINS": "remote",
        "GOMPY_REMOTE_CA": "cert.pem",
        "OMP_TARGET_OFFLOAD": "mandatory",
        **PATIENT,
    }
    for name in ("remote_maps", "remote_end", "remote_trips"):
        tools.ok("gompcc", "-O2", "-fopenmp", PROGRAMS / f"{name}.c", "-o", name)
    for name, extra in (("cert", "subjectAltName=IP:127.0.0.1,DNS:localhost"), ("other", "subjectAltName=DNS:other")):
        words = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
        files = ["-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}", "-addext", extra]
        tools.ok("openssl", "req", *words, *files)
    return tools


@pytest.fixture(scope="module")
def served(tools: Tools) -> Iterator[Served]:
    """A server with the certificate."""
    server = Served(tools, "token", "--tls-cert", "cert.pem", "--tls-key", "cert.key")
    yield server
    server.end()


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_all_is_as_without(tools: Tools, served: Served, host: str) -> None:
    """Maps of up to 12 MB, a burst of nowait, two connections; by address and by name."""
    where = f"{host}:{served.port}"
    assert tools.ok("./remote_maps", env={"GOMPY_REMOTE": f"{where},{where}"}) == "2 devices, 0 wrong, 29\n"
    eventually(lambda: served.workers() == [], "a worker is left")


def test_nothing_can_be_read_on_the_way(tools: Tools, served: Served) -> None:
    """Not the region's name, which stands in the image, nor the protocol's mark."""
    seen: list[bytes] = []

    def note(gone: int, data: bytes) -> bytes:
        seen.append(data)
        return data

    # A server of its own, which has no image yet.
    other = Served(tools, "token", "--tls-cert", "cert.pem", "--tls-key", "cert.key")
    with closing(Relay(other.port, down=note, up=note)) as relay:
        tools.ok("./remote_trips", "3", env={"GOMPY_REMOTE": f"127.0.0.1:{relay.port}"})
    other.end()
    data = b"".join(seen)
    assert len(data) > 10000 and b"omp_fn" not in data and b"gmpyrmt" not in data


def test_what_is_damaged_on_the_way_is_noticed(tools: Tools, served: Served) -> None:
    """A bit of data, too, which the bare protocol cannot tell."""

    def flip(gone: int, data: bytes) -> bytes:
        at = 4000 - gone
        return data if not 0 <= at < len(data) else data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]

    with closing(Relay(served.port, down=flip)) as relay:
        done = tools.run("./remote_trips", "100", env={"GOMPY_REMOTE": f"127.0.0.1:{relay.port}"})
        text = f"libgomp: remote device 0 (127.0.0.1:{relay.port}): lost: TLS: "
        assert done.returncode == 1 and done.stderr.strip().startswith(text), done
    eventually(lambda: served.workers() == [], "a worker is left")


@pytest.mark.parametrize(
    ("host", "ca", "text"),
    [
        ("127.0.0.1", "other.pem", "its certificate: self-signed certificate (GOMPY_REMOTE_CA)"),
        ("127.0.0.1", "none.pem", "GOMPY_REMOTE_CA=none.pem: No such file or directory"),
        ("127.0.0.1", "cert.key", "GOMPY_REMOTE_CA=cert.key: it holds no certificate"),
        ("127.0.0.1", "", "no answer: no gompy device serve there? If it is one with --tls-cert, set GOMPY_REMOTE_CA"),
    ],
)
def test_certificates_that_are_wrong(tools: Tools, served: Served, host: str, ca: str, text: str) -> None:
    """One line, and no device."""
    where = f"{host}:{served.port}"
    env = {"GOMPY_REMOTE": where, "GOMPY_REMOTE_CA": ca, **({} if ca else {"GOMPY_REMOTE_TIMEOUT": "0.5"})}
    done = tools.run("./remote_trips", "1", env=env)
    assert (done.returncode, done.stderr.count(f"remote device {where}: {text}")) == (1, 1), done
    eventually(lambda: served.workers() == [], "a worker was started")


def test_certificate_of_another_host(tools: Tools) -> None:
    """It is trusted, but is not this host's."""
    other = Served(tools, "token", "--tls-cert", "other.pem", "--tls-key", "other.key")
    for host, text in (("127.0.0.1", "IP address mismatch"), ("localhost", "hostname mismatch")):
        where = f"{host}:{other.port}"
        done = tools.run("./remote_trips", "1", env={"GOMPY_REMOTE": where, "GOMPY_REMOTE_CA": "other.pem"})
        assert f"remote device {where}: its certificate: {text} (GOMPY_REMOTE_CA)" in done.stderr, done
    other.end()


def test_server_without_tls(tools: Tools) -> None:
    """The program is told what may be missing, the server that a stranger has come."""
    plain = Served(tools, "token")
    done = tools.run("./remote_trips", "1", env={"GOMPY_REMOTE": f"127.0.0.1:{plain.port}"})
    assert f"remote device 127.0.0.1:{plain.port}: TLS: " in done.stderr, done
    assert "does it serve with --tls-cert?" in done.stderr
    eventually(lambda: "refused: " in plain.log.read_text(), "the server does not tell")
    plain.end()


@pytest.mark.parametrize("stranger", [b"", b"GET / HTTP/1.1\r\n\r\n" + bytes(200)])
def test_strangers_start_nothing(served: Served, stranger: bytes) -> None:
    """Whoever speaks no TLS is told nothing at all of the protocol."""
    with closing(socket.create_connection(("127.0.0.1", served.port), timeout=60)) as connection:
        found = b""
        with suppress(OSError):  # it may have closed the connection
            connection.sendall(stranger)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(4096):
                found += part
    assert b"gmpyrmt" not in found
    assert served.workers() == []


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("who", ["worker", "client", "server"])
def test_an_end_that_is_lost(tools: Tools, who: str) -> None:
    """As without TLS: one line, and nothing is left."""
    own = Served(tools, "token", "--tls-cert", "cert.pem", "--tls-key", "cert.key")
    env = {**tools.env, "GOMPY_REMOTE": f"127.0.0.1:{own.port}"}
    program = subprocess.Popen(
        ["./remote_end", "stay"], cwd=tools.work, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert program.stdout and program.stdout.readline() == "begun 1\n"
    (worker,) = own.workers()
    (device,) = children(worker)
    os.kill({"worker": worker, "client": program.pid, "server": own.process.pid}[who], signal.SIGKILL)
    _, stderr = program.communicate(timeout=100)
    if who != "client":
        assert "lost: its worker has closed the connection, in region main._omp_fn.1" in stderr
        assert stderr.count("\n") == 1 or not stderr.strip().count("\n"), stderr
    eventually(lambda: gone(worker) and gone(device), "worker or device is left")
    if who == "server":
        own.process.wait(60)
    else:
        own.end()

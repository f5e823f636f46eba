"""Devices of other machines, on this one: programs unchanged, the handshake, and every way in which an end is lost."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from driver_tools import Tools, needs
from remote_tools import PATIENT, PROGRAMS, Begun, Served, at, children, eventually, gone, has_remote, pretender

from gompy.remote import handshake

pytestmark = has_remote


@pytest.fixture(scope="module")
def tools(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """The commands; programs run on the devices of GOMPY_REMOTE."""
    tools = Tools(bin_folder, tmp_path_factory.mktemp("remote"))
    tools.env |= {"GOMPY_PLUGINS": "remote", "OMP_TARGET_OFFLOAD": "mandatory", **PATIENT}
    for name in ("remote_maps", "remote_threads", "remote_end", "remote_many"):
        tools.ok("gompcc", "-O2", "-fopenmp", PROGRAMS / f"{name}.c", "-o", name)
    return tools


@pytest.fixture(scope="module")
def served(tools: Tools) -> Iterator[Served]:
    """A server for all that leave it whole."""
    server = Served(tools, "token")
    yield server
    server.end()


@pytest.fixture
def own(tools: Tools) -> Iterator[Served]:
    """A server for a test that does it harm."""
    server = Served(tools, "token")
    yield server
    if server.process.poll() is None:
        server.end()


@pytest.mark.slow
def test_maps_on_several_devices(tools: Tools, served: Served) -> None:
    """Two connections to one server are two devices, with memory of their own."""
    assert tools.ok("./remote_maps", env=at(served, served)) == "2 devices, 0 wrong, 29\n"


def test_regions_of_threads_run_together(tools: Tools, served: Served) -> None:
    """They would wait for each other for ever if one came after the other."""
    assert tools.ok("./remote_threads", env=at(served)) == "1 2 3 4\n5 7\n"


def test_regions_of_threads_get_their_own_data(tools: Tools, served: Served) -> None:
    """What came back with one region's end is not taken for another's."""
    assert tools.ok("./remote_many", env=at(served)) == "0 wrong\n"


def test_openacc_and_a_device_that_is_started_again(tools: Tools, served: Served) -> None:
    """Shut down, its worker ends; the next use gets another one.  ACC_DEVICE_TYPE is that of the worker's device."""
    tools.ok("gompcc", "-O2", "-fopenacc", PROGRAMS / "remote_again.c", "-o", "remote_again")
    assert tools.ok("./remote_again", env={**at(served), "ACC_DEVICE_TYPE": "intelmic"}) == "15\n"


def test_checks(tools: Tools, served: Served) -> None:
    """GOMPY_CHECK: what a region does beyond its memory ends it, as on a device of this machine."""
    tools.ok("gompcc", "-g", "-O1", "-fopenmp", PROGRAMS / "remote_check.c", "-o", "remote_check")
    env = {**at(served), "GOMPY_CHECK": "1"}
    assert tools.ok("./remote_check", "50", env=env) == "49\n"
    for words, region in ((("51",), "0"), (("50", "late"), "2")):
        assert tools.run("./remote_check", *words, env=at(served)).returncode == 0
        done = tools.run("./remote_check", *words, env=env)
        line = next(line for line in done.stderr.splitlines() if line)
        assert done.returncode == 1 and line.startswith(f"libgomp: remote device 0 (127.0.0.1:{served.port}): "), done
        assert f"region main._omp_fn.{region} (remote_check.c:" in line and "signal 11" in line, line


def test_checks_on_a_gpu_are_the_server_s(tools: Tools) -> None:
    """Its driver has begun before the program comes: the program is told, and a server that checks checks."""
    options = ("-O1", "-fopenmp", "-foffload=nvptx-none")
    tools.ok("gompcc", *options, PROGRAMS / "remote_check.c", "-o", "gpu_check")
    found = []
    for check in ("0", "1"):
        tools.env |= {"GOMPY_CHECK": check, "GOMPY_CUDA": "emulated"}
        server = Served(tools, "token", "--device", "nvptx")
        del tools.env["GOMPY_CHECK"], tools.env["GOMPY_CUDA"]
        found.append(tools.run("./gpu_check", "51", env={**at(server), "GOMPY_CHECK": "1"}))
        server.end()
    assert (found[0].returncode, found[0].stdout) == (0, "49\n"), found[0]
    said = "): not checked: GOMPY_CHECK has to be set for its gompy device serve\n"
    assert found[0].stderr.count(said) == 1, found[0].stderr
    assert found[1].returncode == 1 and "not checked" not in found[1].stderr, found[1]
    assert "main._omp_fn.0" in found[1].stderr


def test_a_device_of_another_kind(tools: Tools, served: Served) -> None:
    """All are of one kind: the first one's."""
    tools.env["GOMPY_CUDA"] = "emulated"
    server = Served(tools, "token", "--device", "nvptx")
    del tools.env["GOMPY_CUDA"]
    done = tools.run("./remote_maps", env=at(served, server))
    server.end()
    said = f"\nlibgomp: remote device 127.0.0.1:{server.port}: its device is of another kind than the first one's\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 devices, 0 wrong, 14\n", said)


def test_too_many_devices(tools: Tools, served: Served) -> None:
    done = tools.run("./remote_end", "normal", env=at(*[served] * 65))
    said = f"\nlibgomp: remote device 127.0.0.1:{served.port}: more than 64 devices\n"
    assert (done.returncode, done.stderr) == (0, said)


@needs("gcc-14")
def test_calls_by_the_hosts_pointers(tools: Tools, served: Served) -> None:
    tools.ok("gompcc", "-fopenmp", PROGRAMS / "indirect.c", "-o", "indirect", env={"GOMPY_CC": "gcc-14"})
    done = tools.run("./indirect", env=at(served))
    said = f"libgomp: remote device 0 (127.0.0.1:{served.port}): declare target indirect is not implemented there\n"
    assert done.returncode == 1 and said in done.stderr, done.stderr


def test_token_and_images_are_private(tools: Tools, served: Served) -> None:
    """The token's file is its owner's; one that others may read is refused, by both ends."""
    assert (tools.work / "token").stat().st_mode & 0o777 == 0o600
    tools.write("open", "0123456789abcdef0123").chmod(0o644)
    done = tools.run("./remote_maps", env={**at(served), "GOMPY_REMOTE_TOKEN_FILE": "open"})
    assert done.returncode == 1 and "GOMPY_REMOTE_TOKEN_FILE=open: others than its owner may read" in done.stderr
    done = tools.run("gompy", "device", "serve", "--port", "0", "--token-file", "open")
    assert (done.returncode, done.stderr) == (
        1,
        "gompy device: error: open: others than its owner may read or write it: chmod 600 open\n",
    )


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"GOMPY_REMOTE": "127.0.0.1"}, "remote device 127.0.0.1: GOMPY_REMOTE needs host:port"),
        ({"GOMPY_REMOTE": "127.0.0.1:1"}, "remote device 127.0.0.1:1: cannot connect: Connection refused"),
        (
            {"GOMPY_REMOTE": "127.0.0.1:none"},
            "remote device 127.0.0.1:none: cannot look its name up: Servname not supported for ai_socktype\n",
        ),
        ({"GOMPY_REMOTE": ""}, "GOMPY_REMOTE is not set"),
        ({"GOMPY_REMOTE": "x:1", "GOMPY_REMOTE_TOKEN_FILE": ""}, "GOMPY_REMOTE_TOKEN_FILE is not set"),
        ({"GOMPY_REMOTE": "x:1", "GOMPY_REMOTE_TOKEN_FILE": "none"}, "GOMPY_REMOTE_TOKEN_FILE=none: No such file"),
    ],
)
def test_settings_that_give_no_device(tools: Tools, served: Served, changes: dict[str, str], text: str) -> None:
    """One line says why."""
    done = tools.run("./remote_maps", env=changes)
    assert done.returncode == 1 and done.stderr.count(text) == 1, done.stderr


def test_wrong_token(tools: Tools, served: Served) -> None:
    """The server starts nothing, and says so."""
    tools.write("wrong", "0123456789abcdef0123").chmod(0o600)
    done = tools.run("./remote_maps", env={**at(served), "GOMPY_REMOTE_TOKEN_FILE": "wrong"})
    host = at(served)["GOMPY_REMOTE"]
    assert f"remote device {host}: wrong token (GOMPY_REMOTE_TOKEN_FILE)" in done.stderr
    assert done.returncode == 1
    eventually(lambda: "refused: wrong token" in served.log.read_text(), "the server's log does not tell")
    assert served.workers() == []


def silent(connection: socket.socket) -> None:
    """Half-open: it waits for the client's end."""
    connection.recv(1)


def slow(connection: socket.socket) -> None:
    """A byte now and then."""
    for _ in range(400):
        connection.sendall(b"x")
        time.sleep(0.05)


def cut(connection: socket.socket) -> None:
    """It closes in the middle of the greeting."""
    connection.sendall(b"gm")


def garbage(connection: socket.socket) -> None:
    """A server of another kind."""
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    connection.recv(1)


def other_version(connection: socket.socket) -> None:
    """A gompy of another time."""
    connection.sendall(handshake.GREETING.pack(handshake.MAGIC, 99, 0, bytes(32)))
    connection.recv(1)


def older_version(connection: socket.socket) -> None:
    """A gompy whose proofs were made with SHA-256."""
    connection.sendall(handshake.GREETING.pack(handshake.MAGIC, 1, 0, bytes(32)))
    connection.recv(1)


def impostor(connection: socket.socket) -> None:
    """It does not know the token, but accepts everybody."""
    connection.sendall(handshake.GREETING.pack(handshake.MAGIC, handshake.VERSION, 0, bytes(32)))
    handshake.read_exactly(connection, handshake.CLAIM.size, time.monotonic() + 60)
    connection.sendall(handshake.VERDICT.pack(handshake.ACCEPTED, 0, bytes(32)))
    connection.recv(1)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (silent, "no answer: no gompy device serve there?"),
        (slow, "no answer: no gompy device serve there?"),
        (cut, "it closed the connection during the handshake"),
        (garbage, "what answers there is no gompy device serve"),
        (other_version, "its gompy speaks another version of the protocol"),
        (older_version, "its gompy speaks another version of the protocol"),
        (impostor, "it does not know the token (GOMPY_REMOTE_TOKEN_FILE)"),
    ],
)
def test_what_is_no_server(tools: Tools, served: Served, answer: Callable[[socket.socket], None], text: str) -> None:
    """The program says one line with the host, and goes on without the device."""
    timeout = "0.8" if answer in (silent, slow) else "60"  # the others answer, on a busy machine not at once
    with pretender(answer) as host:
        done = tools.run("./remote_maps", env={"GOMPY_REMOTE": host, "GOMPY_REMOTE_TIMEOUT": timeout})
    assert (done.returncode, done.stderr.count(f"remote device {host}: {text}")) == (1, 1), done.stderr


def proof_of(token: bytes, text: bytes) -> bytes:
    """BLAKE2b-256 with the token as its key, which has 64 bytes at most."""
    key = token if len(token) <= 64 else hashlib.blake2b(token, digest_size=32).digest()
    return hashlib.blake2b(text, digest_size=32, key=key).digest()


def authenticated(served: Served, token: bytes) -> socket.socket:
    """A connection behind the handshake, with the worker's introduction read."""
    connection = socket.create_connection(("127.0.0.1", served.port), timeout=60)
    until = time.monotonic() + 60
    _, _, _, theirs = handshake.GREETING.unpack(handshake.read_exactly(connection, handshake.GREETING.size, until))
    proof = proof_of(token, b"client" + theirs + bytes(32))
    connection.sendall(handshake.CLAIM.pack(handshake.MAGIC, handshake.VERSION, 0, bytes(32), proof))
    verdict = handshake.VERDICT.unpack(handshake.read_exactly(connection, handshake.VERDICT.size, until))
    assert verdict == (handshake.ACCEPTED, 0, proof_of(token, b"server" + theirs + bytes(32)))
    handshake.read_exactly(connection, 24 + 32, until)
    return connection


def rest(connection: socket.socket) -> bytes:
    """All until the other end closes."""
    found = b""
    try:
        while part := connection.recv(65536):
            found += part
    except OSError:
        pass
    return found


@pytest.mark.parametrize(
    "claim",
    [b"", b"GET / HTTP/1.1\r\n" + bytes(200), handshake.CLAIM.pack(handshake.MAGIC, 7, 0, bytes(32), bytes(32))],
)
def test_strangers_start_nothing(served: Served, claim: bytes) -> None:
    """Whoever has not shown that he knows the token is told nothing but the verdict."""
    with closing(socket.create_connection(("127.0.0.1", served.port), timeout=60)) as connection:
        connection.sendall(claim)
        if not claim:
            connection.shutdown(socket.SHUT_WR)
        found = rest(connection)
    assert found[: handshake.GREETING.size][:8] == handshake.MAGIC.to_bytes(8, "little")
    assert len(found) <= handshake.GREETING.size + handshake.VERDICT.size
    eventually(lambda: served.workers() == [], "a worker was started for a stranger")


def test_older_client_is_told(own: Served) -> None:
    """The verdict says why, and the server one line."""
    with closing(socket.create_connection(("127.0.0.1", own.port), timeout=60)) as connection:
        connection.sendall(handshake.CLAIM.pack(handshake.MAGIC, 1, 0, bytes(32), bytes(32)))
        verdict = rest(connection)[handshake.GREETING.size :]
    assert handshake.VERDICT.unpack(verdict) == (handshake.OTHER_VERSION, 0, bytes(32))
    line = f"it speaks version 1 of the protocol, not {handshake.VERSION}"
    eventually(lambda: line in own.log.read_text(), "the server does not tell")


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("size", [16, 63, 64, 65, 128, 129, 1000])
def test_tokens_of_any_length(tools: Tools, size: int) -> None:
    """Both ends make the same proof of it, also of more than a key of BLAKE2b has."""
    name = f"token-{size}"
    (tools.work / name).write_bytes(bytes(97 + i % 23 for i in range(size)) + b"\n")
    (tools.work / name).chmod(0o600)
    served = Served(tools, name)
    with closing(authenticated(served, (tools.work / name).read_bytes().strip())):
        pass
    assert tools.ok("./remote_maps", env={**at(served), "GOMPY_REMOTE_TOKEN_FILE": name}) == "1 devices, 0 wrong, 14\n"
    served.end()


@pytest.mark.parametrize(
    "frame",
    [
        bytes([255]) * 24,
        (4).to_bytes(4, "little") + bytes(12) + (1 << 60).to_bytes(8, "little"),
        (2).to_bytes(4, "little") + bytes(12) + (8).to_bytes(8, "little") + bytes(8),
        (1).to_bytes(4, "little") + bytes(12) + (1 << 40).to_bytes(8, "little"),
        (10).to_bytes(4, "little") + bytes(12) + (4).to_bytes(8, "little") + bytes(4),
    ],
)
def test_damaged_frames_end_the_worker(tools: Tools, frame: bytes, served: Served) -> None:
    """Also of a client that knows the token: one text, and nothing is left."""
    token = (tools.work / "token").read_bytes().strip()
    with closing(authenticated(served, token)) as connection:
        connection.sendall(frame)
        connection.shutdown(socket.SHUT_WR)
        found = rest(connection)
    assert b"its worker was sent" in found
    eventually(lambda: served.workers() == [], "a worker is left")


def test_worker_killed(tools: Tools, own: Served) -> None:
    """One line names region and host; the device's process ends with the worker."""
    begun = Begun(tools, own)
    (device,) = children(begun.worker)
    os.kill(begun.worker, signal.SIGKILL)
    host = at(own)["GOMPY_REMOTE"]
    text = f"remote device 0 ({host}): lost: its worker has closed the connection, in region main._omp_fn.1"
    assert begun.end() == f"libgomp: {text}"
    eventually(lambda: gone(device), "the device's process is left")


def test_worker_stopped(tools: Tools, own: Served) -> None:
    """A worker that is there but silent is lost, too."""
    begun = Begun(tools, own, silence=3)
    os.kill(begun.worker, signal.SIGSTOP)
    assert "lost: its worker does not answer, in region main._omp_fn.1" in begun.end()
    os.kill(begun.worker, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_client_killed(tools: Tools, own: Served, number: int) -> None:
    """Worker and device end with the client, also in the midst of a region."""
    begun = Begun(tools, own)
    (device,) = children(begun.worker)
    begun.process.send_signal(number)
    begun.process.communicate(timeout=60)
    eventually(lambda: gone(begun.worker) and gone(device), "worker or device is left")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_server_ended(tools: Tools, own: Served, number: int) -> None:
    """Its workers end with it, and their clients are told."""
    begun = Begun(tools, own)
    (device,) = children(begun.worker)
    own.process.send_signal(number)
    assert "lost: its worker has closed the connection, in region main._omp_fn.1" in begun.end()
    own.process.wait(60)
    eventually(lambda: gone(begun.worker) and gone(device), "worker or device is left")


@pytest.mark.parametrize(
    ("how", "text"),
    [("fault", "signal 11 (Segmentation fault)"), ("exit", "exit (3) called on the device")],
)
def test_region_that_ends_the_device(tools: Tools, served: Served, how: str, text: str) -> None:
    """The plugin's own words, and the host."""
    done = tools.run("./remote_end", how, env=at(served))
    assert done.returncode == 1 and done.stderr.count("libgomp:") == 1
    assert "region main._omp_fn.1: " + text in done.stderr.replace("in region", "region"), done.stderr
    assert at(served)["GOMPY_REMOTE"] in done.stderr


def test_images_are_sent_once(tools: Tools) -> None:
    """They are kept on the worker's machine by their hash while the server runs."""
    folder = tools.work / "images"
    folder.mkdir()
    tools.env["TMPDIR"] = str(folder)
    served = Served(tools, "token")
    del tools.env["TMPDIR"]
    kept = []
    for _ in range(2):
        tools.ok("./remote_maps", env=at(served))
        kept.append([(path.name, path.stat().st_mtime_ns) for path in folder.glob("gompy-images-*/*")])
    (name, _), (again, _) = kept[0][0], kept[1][0]
    path = next(folder.glob("gompy-images-*/*"))
    assert len(kept[0]) == 1 and kept[0] == kept[1] and name == again
    assert hashlib.blake2b(path.read_bytes(), digest_size=32).hexdigest() == name and path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
    served.end()
    assert not list(folder.glob("gompy-images-*"))


def test_what_cannot_serve(tools: Tools, served: Served) -> None:
    """One line each."""
    cases = {
        ("--port", str(served.port)): f"cannot listen at 127.0.0.1:{served.port}: Address already in use",
        ("--port", "0", "--tls-cert", "none"): "--tls-cert none: No such file or directory",
        ("--port", "0", "--tls-cert", "token"): "--tls-cert token, --tls-key token: no certificate, or no key",
        ("--port", "0", "--bind", "192.0.2.1"): "cannot listen at 192.0.2.1:0: Cannot assign requested address",
    }
    for words, text in cases.items():
        done = tools.run("gompy", "device", "serve", "--token-file", "token", *words)
        assert (done.returncode, done.stderr) == (1, f"gompy device: error: {text}\n")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_only_one_address_is_listened_at(served: Served) -> None:
    """127.0.0.1 without --bind."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [words[1] for words in lines if words[3] == "0A" and words[1].endswith(f":{served.port:04X}")]
    assert listening == [f"0100007F:{served.port:04X}"]

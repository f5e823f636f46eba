"""Help for the tests of remote devices: servers of their own, what is left of them, and what is no server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from driver_tools import ROOT, Tools, has_all

from gompy.remote import serve

sys.path.insert(0, str(ROOT / "benchmarks"))
try:
    from relay import Relay
finally:
    sys.path.remove(str(ROOT / "benchmarks"))

__all__ = ["Relay"]  # of the benchmarks, for these tests

PROGRAMS = ROOT / "tests" / "programs"
PLUGIN = ROOT / "gompy" / "_native" / "lib" / "libgomp-plugin-remote.so.1"

PATIENT = {"GOMPY_REMOTE_TOKEN_FILE": "token", "GOMPY_REMOTE_TIMEOUT": "60"}
"""For programs: on a busy machine a worker may need more than the usual three seconds for its first answer."""


def sockets_refused() -> bool:
    """Whether there is no loopback here."""
    try:
        with closing(socket.create_server(("127.0.0.1", 0))):
            return False
    except OSError:
        return True


has_remote = [
    has_all,
    pytest.mark.skipif(not PLUGIN.exists() or not serve.WORKER.exists(), reason="the remote plugin is not built"),
    pytest.mark.skipif(sockets_refused(), reason="no sockets at 127.0.0.1"),
]


def eventually(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that must happen, however busy the machine is."""
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.02)


class Served:
    """A `gompy device serve` of the test's own."""

    def __init__(self, tools: Tools, token: str, *options: str) -> None:
        port_file = tools.work / f"port-{token}-{len(os.listdir(tools.work))}"
        words = ["device", "serve", "--port", "0", "--token-file", token, "--port-file", str(port_file), *options]
        self.log = tools.work / f"{port_file.name}.log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [tools.bin / "gompy", *words], cwd=tools.work, env=tools.env, stdout=log, stderr=log
            )
        eventually(lambda: port_file.exists() or self.process.poll() is not None, "the server does not listen")
        assert self.process.poll() is None, self.log.read_text()
        self.port = int(port_file.read_text())

    def workers(self) -> list[int]:
        """Its children."""
        return children(self.process.pid)

    def end(self) -> None:
        """End it, and wait."""
        self.process.terminate()
        self.process.wait(60)


class Begun:
    """A program that is in a region of a server's device; `at` is where it goes to, if not to the server itself.

    After `silence` seconds it takes its worker for lost; after more, where a busy machine lets none begin in that time.
    """

    def __init__(self, tools: Tools, served: Served, how: str = "stay", *, at: str = "", silence: int = 60) -> None:
        env = {**tools.env, "GOMPY_REMOTE": at or f"127.0.0.1:{served.port}"}
        while True:
            self.process = subprocess.Popen(
                ["./remote_end", how],
                cwd=tools.work,
                env={**env, "GOMPY_REMOTE_TIMEOUT": str(silence)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            if self.process.stdout and self.process.stdout.readline() == "begun 1\n":
                break
            _, said = self.process.communicate(timeout=100)
            assert silence < 60, said
            silence *= 4
            eventually(lambda: served.workers() == [], "a worker is left")
        (self.worker,) = served.workers()

    def end(self) -> str:
        """Its last words, when it has ended."""
        _, stderr = self.process.communicate(timeout=100)
        assert self.process.returncode == 1
        return stderr.strip()


def children(pid: int) -> list[int]:
    """A process's children, of all its threads."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(word) for word in task.read_text().split()]
    return found


def gone(pid: int) -> bool:
    """Whether a process has ended, waited for or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def at(*servers: Served) -> dict[str, str]:
    """The environment for programs that use these servers."""
    return {"GOMPY_REMOTE": ",".join(f"127.0.0.1:{server.port}" for server in servers)}


@contextmanager
def pretender(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Something that listens and is no server; host:port."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def accept() -> None:
            try:
                connection, _ = listener.accept()
                with closing(connection):
                    answer(connection)
            except OSError:
                pass

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join(60)

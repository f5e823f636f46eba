"""Remote devices over a bad network: what is slow is waited for, what is broken ends in one line with the host."""

from __future__ import annotations

import random
import shutil
import signal
import struct
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from driver_tools import Tools
from remote_tools import PATIENT, PROGRAMS, Begun, Relay, Served, eventually, gone, has_remote

FRAME = struct.Struct("<IIQQ")
BEFORE_FRAMES = 48 + 40
"""Bytes of greeting and verdict."""
ANSWER, TABLE, OUTPUT, PONG = 66, 68, 69, 71
pytestmark = has_remote


@pytest.fixture(scope="module")
def tools(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """The commands; programs without a device fail."""
    tools = Tools(bin_folder, tmp_path_factory.mktemp("network"))
    tools.env |= {"GOMPY_PLUGINS": "remote", "OMP_TARGET_OFFLOAD": "mandatory", **PATIENT}
    for name in ("remote_maps", "remote_end", "remote_trips"):
        tools.ok("gompcc", "-O2", "-fopenmp", PROGRAMS / f"{name}.c", "-o", name)
    return tools


@pytest.fixture(scope="module")
def served(tools: Tools) -> Iterator[Served]:
    """A server."""
    server = Served(tools, "token")
    yield server
    server.end()


class Answers:
    """Counts the frames to a client that it has waited for."""

    def __init__(self) -> None:
        self.bytes = b""

    def __call__(self, gone: int, data: bytes) -> bytes:
        self.bytes += data
        return data

    def count(self) -> int:
        """Frames that answer something."""
        at, found = BEFORE_FRAMES, 0
        while at + FRAME.size <= len(self.bytes):
            kind, _, _, size = FRAME.unpack_from(self.bytes, at)
            found += kind not in (PONG, OUTPUT)
            at += FRAME.size + size
        assert at == len(self.bytes), "the frames' sizes do not add up"
        return found


def test_a_region_with_three_maps_is_one_round_trip(tools: Tools, served: Served) -> None:
    """Answers that the client waits for: those of 40 regions less those of 20."""
    found = []
    for regions in ("1", "20", "40"):  # the first sends the image, too
        answers = Answers()
        with closing(Relay(served.port, down=answers)) as relay:
            tools.ok("./remote_trips", regions, env={"GOMPY_REMOTE": f"127.0.0.1:{relay.port}"})
        found.append(answers.count())
    assert 20 <= found[2] - found[1] <= 1.3 * 20, found


def test_what_is_slow_is_waited_for(tools: Tools, served: Served) -> None:
    """Each way takes 20 ms, and bytes come in small pieces: the results are those of a good network."""
    with closing(Relay(served.port, delay=0.02, piece=61)) as relay:
        found = tools.ok("./remote_trips", "10", env={"GOMPY_REMOTE": f"127.0.0.1:{relay.port}"})
    assert found == "10 regions, 0 wrong\n"


@pytest.mark.parametrize("way", ["down", "up"])
def test_a_large_copy_that_is_cut(tools: Tools, served: Served, way: str) -> None:
    """Half of 16 MiB has come through, from the device or to it: one line, and no worker is left."""
    tools.ok("gompcc", "-O2", "-fopenmp", PROGRAMS / "remote_large.c", "-o", "remote_large")
    relay: Relay

    def stop(gone: int, data: bytes) -> bytes:
        if gone > 8 << 20:
            relay.cut()
        return data

    with closing(Relay(served.port, **{way: stop})) as relay:
        host = f"127.0.0.1:{relay.port}"
        done = tools.run("./remote_large", env={"GOMPY_REMOTE": host})
    lines = [line for line in done.stderr.splitlines() if line]
    assert done.returncode == 1 and lines == [
        f"libgomp: remote device 0 ({host}): lost: its worker has closed the connection"
    ], done
    eventually(lambda: served.workers() == [], "a worker is left")
    assert tools.ok("./remote_large", env={"GOMPY_REMOTE": f"127.0.0.1:{served.port}"}) == "0 wrong\n"


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("cut", "its worker has closed the connection"),
        ("reset", "its worker has closed the connection"),
        ("half-open", "its worker does not answer"),
    ],
)
def test_connection_that_breaks_in_a_region(tools: Tools, served: Served, how: str, text: str) -> None:
    """One line names host and region; the worker ends, too."""
    with closing(Relay(served.port)) as relay:
        silence = 1 if how == "half-open" else 60
        begun = Begun(tools, served, at=f"127.0.0.1:{relay.port}", silence=silence)
        if how == "half-open":
            relay.hold()
        else:
            relay.cut(reset=how == "reset")
        line = f"libgomp: remote device 0 (127.0.0.1:{relay.port}): lost: {text}, in region main._omp_fn.1"
        assert begun.end() == line
    eventually(lambda: gone(begun.worker), "the worker is left")


def test_garbage_in_a_region(tools: Tools, served: Served) -> None:
    """What is no frame is told, whoever it comes to."""
    spoilt = False

    def spoil(gone: int, data: bytes) -> bytes:
        return b"HTTP/1.1 400 Bad Request" if spoilt else data

    with closing(Relay(served.port, down=spoil)) as relay:
        begun = Begun(tools, served, at=f"127.0.0.1:{relay.port}")
        spoilt = True  # the next is a sign of life
        assert "lost: its worker has sent what is no frame of the protocol, in region main._omp_fn.1" in begun.end()
    eventually(lambda: gone(begun.worker), "the worker is left")


def told(
    tools: Tools, relay: Relay, served: Served, *words: str, timeout: str = "2"
) -> subprocess.CompletedProcess[str]:
    """Run a program behind a relay: it ends well, or one line says why not, and no worker is left."""
    host = f"127.0.0.1:{relay.port}"
    done = tools.run("./remote_trips", *words, env={"GOMPY_REMOTE": host, "GOMPY_REMOTE_TIMEOUT": timeout})
    if done.returncode and "1 wrong" not in done.stdout:  # a bit of data
        lines = [line for line in done.stderr.splitlines() if host in line]
        assert done.returncode == 1 and len(lines) == 1, done
        assert "signal" not in lines[0] or "region" in lines[0], done
    relay.close()
    eventually(lambda: served.workers() == [], "a worker is left")
    return done


@pytest.mark.parametrize("after", [0, 1, 47, 48, 60, 87, 88, 100, 120, 143, 144, 150, 176, 200, 230, 300, 400, 500])
def test_cut_at_any_byte(tools: Tools, served: Served, after: int) -> None:
    """In the handshake, between frames, within one, within what it carries."""
    done = told(tools, Relay(served.port, cut_after=after), served, "10", timeout="60")
    assert done.returncode == 1
    if after < BEFORE_FRAMES:
        assert "it closed the connection during the handshake" in done.stderr


@pytest.mark.parametrize("seed", range(16))
def test_damage_at_any_byte(tools: Tools, served: Served, seed: int) -> None:
    """A bit that changes on its way ends in a line, unless it is one of data, which the protocol cannot tell."""
    dice = random.Random(seed)
    place, bit = dice.randrange(600), 1 << dice.randrange(8)

    def flip(gone: int, data: bytes) -> bytes:
        at = place - gone
        return data if not 0 <= at < len(data) else data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]

    relay = Relay(served.port, down=flip) if seed % 2 else Relay(served.port, up=flip)
    told(tools, relay, served, "10")


@pytest.mark.parametrize(
    ("kind", "cause", "effect"),
    [
        (
            ANSWER,
            "remote device 0 ({host}): its worker does not start its device and does not say why",
            "device initialization failed",
        ),
        (
            TABLE,
            "remote device 0 ({host}): its worker refuses an image and does not say why",
            "device 0 (remote) could not load an image",
        ),
    ],
    ids=["start", "image"],
)
def test_a_refusal_without_a_word(tools: Tools, served: Served, kind: int, cause: str, effect: str) -> None:
    """The answer says that it cannot be, and nothing came before it."""
    good, bad = struct.pack("<II", kind, 0), struct.pack("<II", kind, 1)
    with closing(Relay(served.port, down=lambda gone, data: data.replace(good, bad))) as relay:
        host = f"127.0.0.1:{relay.port}"
        done = tools.run("./remote_trips", "10", env={"GOMPY_REMOTE": host})
    lines = [line for line in done.stderr.splitlines() if line]
    assert (done.returncode, lines) == (1, [f"libgomp: {cause.format(host=host)}", f"libgomp: {effect}"])
    eventually(lambda: served.workers() == [], "a worker is left")


def namespaces() -> str:
    """Why there can be no network of the test's own; empty if there can."""
    if not shutil.which("unshare") or not shutil.which("ip"):
        return "not installed: unshare, ip"
    done = subprocess.run(["unshare", "-rn", "ip", "link", "set", "lo", "up"], capture_output=True, text=True)
    return done.stderr.strip() or ("unshare -rn fails" if done.returncode else "")


PARTED = """\
ip link set lo up
gompy device serve --port 0 --token-file token --port-file parted-port > parted-log 2>&1 &
server=$!
until [ -s parted-port ]; do sleep 0.05; done
for silence in 1 4 16 64; do # a busy machine may let none begin in the first
  export GOMPY_REMOTE=127.0.0.1:$(cat parted-port) GOMPY_REMOTE_TIMEOUT=$silence
  ./remote_end stay > parted-out 2> parted-said &
  program=$!
  until [ -s parted-out ] || ! kill -0 $program 2> /dev/null; do sleep 0.05; done
  [ ! -s parted-out ] || break
done
worker=$(cat /proc/$server/task/*/children | tr -d ' ')
ip link set lo down
wait $program
status=$?
cat parted-said >&2
echo status $status >&2
while kill -0 $worker 2> /dev/null; do sleep 0.1; done
cat parted-log >&2
kill $server
wait $server
"""


@pytest.mark.slow
@pytest.mark.skipif(bool(namespaces()), reason=namespaces())
def test_machines_that_are_parted(tools: Tools) -> None:
    """The network goes down, and neither end is told by the other: both notice."""
    tools.ok("sh", "-c", "test -f token || gompy device serve --port 0 --token-file token --until-eof < /dev/null")
    done = tools.run("unshare", "-rn", "bash", "-c", PARTED)
    text = "lost: its worker does not answer, in region main._omp_fn.1\nstatus 1\n"
    assert text in done.stderr, done.stderr
    assert done.returncode in (0, -signal.SIGTERM, 143) and "has ended" in done.stderr, done.stderr

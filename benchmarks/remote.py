#!/usr/bin/env python3
"""What regions and copies cost on a remote device: on loopback beside a local device and plain sockets, and delayed.

The delay is made by a relay: 0.5 ms each way for both, the device's connection and the plain one, whose exchange of 24
bytes is the round trip that counts.  Writes benchmarks/out/remote.json.

Exit status: 0; 1 a program failed, or a region with three maps takes more than 1.3 round trips under the delay.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from common import BIN, GOMPCC, HERE, BenchError, checked, run_as_command, save
from relay import Relay

RUNS = 5
DELAY = 0.0005
MOST_TRIPS = 1.3
BYTES = 16 << 20
NAMES = {
    "empty": "empty region",
    "maps": "three small maps",
    "burst": "nowait, 60 in a burst, each",
    "team": "nowait, 200 by a team of 4, each",
    "plain": "plain sockets, there and back",
    "to": "16 MiB to the device",
    "plain_to": "the same by plain sockets",
    "from": "16 MiB from it",
    "plain_from": "the same by plain sockets",
}


@contextmanager
def served(directory: Path, environment: dict[str, str]) -> Any:
    """A server of this machine; its port."""
    (directory / "port").unlink(missing_ok=True)
    words = [str(BIN / "gompy"), "device", "serve", "--port", "0", "--token-file", "token", "--port-file", "port"]
    with subprocess.Popen(words, cwd=directory, env=environment, stdout=subprocess.DEVNULL, stderr=-3) as server:
        try:
            until = time.monotonic() + 60
            while not (directory / "port").exists():
                if server.poll() is not None or time.monotonic() > until:
                    raise BenchError("gompy device serve does not start")
                time.sleep(0.05)
            yield int((directory / "port").read_text())
        finally:
            server.terminate()


def delayed(program: str, port: int, directory: Path, environment: dict[str, str]) -> dict[str, Any]:
    """One run through relays; the program tells where its plain connection is to end."""
    plain = Relay(0, DELAY)
    with closing(Relay(port, DELAY)) as relay, closing(plain):
        environment = environment | {"GOMPY_REMOTE": f"127.0.0.1:{relay.port}"}
        with subprocess.Popen(
            [program, "20", str(plain.port)], cwd=directory, env=environment, stdout=-1, stderr=-1, text=True
        ) as process:
            assert process.stderr is not None
            plain.to = int(process.stderr.readline())
            output, _ = process.communicate(timeout=300)
        if process.returncode:
            raise BenchError(f"{program}: exit status {process.returncode} behind the relay")
    return dict(json.loads(output))


def iperf3(back: bool) -> float:
    """Seconds that iperf3 takes for 16 MiB over loopback: what a connection gives to who does nothing else.  0: none.

    back: from its server.  Raises BenchError.
    """
    if shutil.which("iperf3") is None:
        return 0.0
    words = ["iperf3", "-s", "-1", "-p", "0"]
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        words[-1] = str(free.getsockname()[1])
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            time.sleep(0.5)
            client = ["iperf3", "-J", "-t", "2", "-c", "127.0.0.1", "-p", words[-1], *(["-R"] if back else [])]
            told = json.loads(checked(client, Path(), dict(os.environ)))
            return float(8 * BYTES / told["end"]["sum_received"]["bits_per_second"])
        finally:
            server.terminate()


def best(runs: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Of several runs: the least mean, and the middle one of the medians."""
    names = [name for name in runs[0] if name != "on_host"]
    return {
        name: {
            "least": min(run[name]["least"] for run in runs),
            "median": sorted(run[name]["median"] for run in runs)[len(runs) // 2],
        }
        for name in names
    }


def measure(directory: Path) -> dict[str, Any]:
    """Local, remote and delayed.  Raises BenchError."""
    environment = dict(os.environ)
    program = str(directory / "remote")
    checked([GOMPCC, "-O2", "-fopenmp", str(HERE / "remote.c"), "-o", program], directory, environment)
    before = os.getloadavg()[0]
    with served(directory, environment) as port:
        remote = environment | {
            "GOMPY_PLUGINS": "remote",
            "GOMPY_REMOTE": f"127.0.0.1:{port}",
            "GOMPY_REMOTE_TOKEN_FILE": "token",
            "OMP_TARGET_OFFLOAD": "mandatory",
        }
        runs: dict[str, list[dict[str, Any]]] = {"local": [], "remote": [], "delayed": []}
        for _ in range(RUNS):
            runs["local"].append(json.loads(checked([program, "200"], directory, environment)))
            runs["remote"].append(json.loads(checked([program, "200"], directory, remote)))
            for name, back in (("iperf3_to", False), ("iperf3_from", True)):
                taken = iperf3(back)
                runs["remote"][-1][name] = {"least": taken, "median": taken}
        runs["delayed"] = [delayed(program, port, directory, remote) for _ in range(RUNS)]
    return {"name": "remote", "load": before, **{how: best(found) for how, found in runs.items()}}


def show(report: dict[str, Any]) -> bool:
    """The table; whether a region with three maps is near one round trip."""
    print(f"least and median of {RUNS} runs of batches, load {report['load']:.1f} before")
    print(f"  {'us':34} {'remote':>20} {'local':>20} {'delayed':>20}")
    for name, text in NAMES.items():
        cells = [
            f"{1e6 * report[how][name]['least']:.1f} / {1e6 * report[how][name]['median']:.1f}"
            for how in ("remote", "local", "delayed")
        ]
        print(f"  {text:34} " + " ".join(f"{cell:>20}" for cell in cells))
    if report["remote"]["iperf3_to"]["median"]:
        for way in ("to", "from"):
            ours, theirs = (report["remote"][name]["median"] for name in (way, f"iperf3_{way}"))
            print(f"16 MiB {way} the other end by iperf3: {1e6 * theirs:.1f} us, {theirs / ours:.2f} of ours")
    trips = report["delayed"]["maps"]["median"] / report["delayed"]["plain"]["median"]
    print(f"three small maps under {2e3 * DELAY:g} ms there and back: {trips:.2f} round trips (at most {MOST_TRIPS})")
    return bool(trips <= MOST_TRIPS)


def main() -> int:
    """Measure, show, save."""
    with tempfile.TemporaryDirectory() as directory:
        report = measure(Path(directory))
    save(report)
    return 0 if show(report) else 1


if __name__ == "__main__":
    run_as_command(main, "")

"""Devices on the workers of a Dask cluster: programs unchanged, a worker that is lost, and nothing that is left."""

from __future__ import annotations

import importlib
import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from driver_tools import ROOT, Tools, needs
from remote_tools import PROGRAMS, children, eventually, gone, has_remote

LACKING = [name for name in ("distributed", "cryptography") if importlib.util.find_spec(name) is None]
pytestmark = has_remote
has_dask = pytest.mark.skipif(bool(LACKING), reason=f"not installed: {' '.join(LACKING)}")


@pytest.fixture(scope="module")
def tools(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """The commands; programs without a device fail."""
    tools = Tools(bin_folder, tmp_path_factory.mktemp("cluster"))
    tools.env |= {"OMP_TARGET_OFFLOAD": "mandatory", "TMPDIR": str(tools.work), "GOMPY_REMOTE_TIMEOUT": "60"}
    for name in ("remote_maps", "remote_end"):
        tools.ok("gompcc", "-O2", "-fopenmp", PROGRAMS / f"{name}.c", "-o", name)
    return tools


def below(pid: int) -> list[int]:
    """All processes that a process has started, and they."""
    found = children(pid)
    return found + [other for child in found for other in below(child)]


def words_of(pid: int) -> list[str]:
    """A process's command line."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


def begin(tools: Tools, *command: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """Start a command whose program stays in a region; wait until it is there."""
    process = subprocess.Popen(
        ["gompy", "cluster", *command, "--", "./remote_end", "stay"],
        cwd=tools.work,
        env=tools.env | (env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line == "begun 1\n", process.communicate(timeout=60)
    return process


@has_dask
def test_a_device_for_each_worker(tools: Tools) -> None:
    """The program has as many as there are workers; nothing is left on the disk."""
    assert tools.ok("gompy", "cluster", "local", "2", "--", "./remote_maps") == "2 devices, 0 wrong, 29\n"
    assert not list(tools.work.glob("gompy-*"))


@has_dask
@needs("openssl")  # with it libssl.so.3, which the plugin loads
def test_devices_by_tls(tools: Tools) -> None:
    """A certificate for all workers, whose key they have from the scheduler; the program is given it."""
    script = 'test -s "$GOMPY_REMOTE_CA" && ./remote_maps'
    assert tools.ok("gompy", "cluster", "local", "2", "--tls", "--", "sh", "-c", script) == "2 devices, 0 wrong, 29\n"
    assert not list(tools.work.glob("gompy-*"))


@has_dask
def test_worker_lost(tools: Tools) -> None:
    """One line names region and host; servers, workers and devices end."""
    process = begin(tools, "local", "2")
    started = below(process.pid)
    servers = [pid for pid in started if "serve" in words_of(pid)]
    assert len(servers) == 2
    (used,) = [pid for pid in servers if any(map(children, children(pid)))]  # of its worker: the device
    (worker,) = [pid for pid in started if used in children(pid)]
    os.kill(worker, signal.SIGKILL)
    _, stderr = process.communicate(timeout=100)
    assert process.returncode == 1
    (line,) = stderr.strip().splitlines()
    assert line.startswith("libgomp: remote device 0 (127.0.0.1:"), line
    assert line.endswith("): lost: its worker has closed the connection, in region main._omp_fn.1"), line
    eventually(lambda: all(map(gone, started)), "a process is left")


@pytest.fixture
def scheduler(tools: Tools, tmp_path: Path) -> Iterator[str]:
    """Dask's scheduler with two workers of its own; host:port."""
    pytest.importorskip("distributed")
    log = open(tmp_path / "log", "w")

    def start(name: str, *words: str) -> subprocess.Popen[bytes]:
        text = f"from distributed.cli.dask_{name} import main; main()"
        return subprocess.Popen(
            [sys.executable, "-c", text, *words], cwd=tmp_path, env=tools.env, stdout=log, stderr=log
        )

    file = tmp_path / "scheduler.json"
    begun = [start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file), "--no-dashboard")]
    try:
        eventually(lambda: file.exists() and "tcp://" in file.read_text(), "the scheduler does not start")
        address = file.read_text().partition("tcp://")[2].partition('"')[0]
        begun += [start("worker", f"tcp://{address}", "--no-nanny", "--no-dashboard", "--nthreads", n) for n in "12"]
        yield address
    finally:
        for process in begun:
            process.kill()
        for process in begun:
            process.wait(60)
        log.close()


@has_dask
def test_another_scheduler_s_workers(tools: Tools, scheduler: str) -> None:
    """They are used by the option, and by GOMPY_CLUSTER; each may have several devices."""
    words = ["gompy", "cluster", "run", "--workers", "2"]
    found = tools.ok(*words, "--per-worker", "2", "--scheduler", scheduler, "--", "./remote_maps")
    assert found.startswith("4 devices, 0 wrong")
    found = tools.ok(*words, "--", "./remote_maps", env={"GOMPY_CLUSTER": scheduler})
    assert found == "2 devices, 0 wrong, 29\n"


@has_dask
def test_servers_end_with_the_command_also_when_it_is_killed(tools: Tools, scheduler: str) -> None:
    """The actors go with the client, and the servers with them; the workers stay."""
    process = begin(tools, "run", "--workers", "2", "--scheduler", scheduler)
    (program,) = [pid for pid in below(process.pid) if "./remote_end" in words_of(pid)]
    name = f"{tools.work}/gompy-cluster-"
    servers = [int(path.name) for path in Path("/proc").glob("[0-9]*") if name in " ".join(words_of(int(path.name)))]
    try:
        assert len(servers) == 2
        process.kill()
        process.communicate(timeout=100)
        eventually(lambda: all(map(gone, servers)), "a server is left")
        eventually(lambda: gone(program), "the program waits for a device that has gone")
    finally:
        with suppress(OSError):
            os.kill(program, signal.SIGKILL)
    assert tools.ok("gompy", "cluster", "run", "--scheduler", scheduler, "--workers", "2", "--", "./remote_maps")


@has_dask
def test_status_and_signals_are_the_program_s(tools: Tools) -> None:
    """A shell script is a program, too; SIGTERM is passed on."""
    assert tools.run("gompy", "cluster", "local", "1", "--", "sh", "-c", "exit 7").returncode == 7
    assert tools.run("gompy", "cluster", "local", "1", "--", "sh", "-c", "kill -9 $$").returncode == 137
    process = begin(tools, "local", "1")
    started = below(process.pid)
    process.terminate()
    process.communicate(timeout=100)
    assert process.returncode == 143
    eventually(lambda: all(map(gone, started)), "a process is left")


@pytest.mark.slow
def test_what_gives_no_devices(tools: Tools) -> None:
    """One line each."""
    (tools.work / "without").mkdir()
    tools.write("without/distributed.py", 'raise ImportError("none")\n')
    without = {"PYTHONPATH": str(tools.work / "without")}
    cases = [
        (["local", "1", "--", "./none"], {}, 127, "./none: No such file or directory"),
        (["local", "1", "./remote_maps"], {}, 2, "unrecognized arguments: ./remote_maps"),
        (["local", "1", "--tls"], {}, 2, "which program? Its name and its arguments follow --"),
        (["local", "0", "--", "./remote_maps"], {}, 2, "numbers of workers and devices are 1 or more"),
        (["run", "--", "./remote_maps"], {}, 2, "--scheduler or GOMPY_CLUSTER names Dask's scheduler, as host:port"),
        (["local", "1", "--", "./remote_maps"], without, 1, "Dask cannot be imported (none): pip install"),
    ]
    if not LACKING:
        nobody = ["run", "--scheduler", "127.0.0.1:1", "--", "./remote_maps"]
        cases.append((nobody, {}, 1, "scheduler 127.0.0.1:1: Timed out trying to connect"))
    for words, changes, status, text in cases:
        done = tools.run("gompy", "cluster", *words, env=changes)
        assert done.returncode == status, done.stderr
        assert f"error: {text}" in done.stderr.strip().splitlines()[-1], done.stderr
        assert status == 2 or done.stderr.count("\n") == 1, done.stderr


DICE = ROOT / "examples" / "cluster" / "dice.c"


def mixed(x: int) -> int:
    """SplitMix64 of a number."""
    ones = (1 << 64) - 1
    x = x + 0x9E3779B97F4A7C15 & ones
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & ones
    x = (x ^ x >> 27) * 0x94D049BB133111EB & ones
    return x ^ x >> 31


def test_dice_fall_the_same_on_any_devices(tools: Tools) -> None:
    """The example: its sum does not depend on how many devices share the work, and each chunk is drawn once."""
    tools.ok("gompcc", "-O2", "-fopenmp", DICE, "-o", "dice")
    points = [divmod(mixed(i), 1 << 32) for i in range(70000)]
    inside = sum(x * x + y * y < 1 << 64 for x, y in points)
    for count in ("1", "3"):
        lines = tools.ok("./dice", "7", "10000", "times", env={"OFFLOAD_EMUL_NUM": count}).splitlines()
        assert lines[0] == f"{count} devices, {inside} of 70000 points inside: pi is about {inside / 17500:.5f}"
        assert len(lines) == 1 + int(count)
        assert sum(int(line.split()[2]) for line in lines[1:]) == 7
    assert len((tools.work / "times").read_text().split()) == 7
    done = tools.run("./dice", "0", "1")
    assert (done.returncode, done.stderr) == (2, "usage: dice CHUNKS DRAWS [TIMES]\n")


def test_the_simulation_at_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing costs anything: all time is work; many devices and short regions: the host's processor is the limit."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    simulate = importlib.import_module("cluster").simulate
    free = {"start": 0.0, "host_region": 0.0, "region": 0.0}
    assert simulate(100, 0.01, 5, free, 0.0, True) == pytest.approx(1)
    assert simulate(1, 0.01, 5, free, 0.01, True) == pytest.approx(0.5)
    assert simulate(4, 0.01, 5, free | {"start": 0.0125}, 0.0, True) == pytest.approx(0.5)
    assert simulate(1000, 0.01, 100, free | {"host_region": 1e-4, "region": 1e-4}, 0.0, False) == pytest.approx(
        0.1, 0.05
    )

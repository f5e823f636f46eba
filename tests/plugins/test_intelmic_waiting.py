"""How host and device wait: without looking where they share a processor, without a thread of the host for nowait."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from driver_tools import for_preload
from intelmic_driver import PLUGIN, drive
from test_intelmic_programs import BIN, build

if not PLUGIN.exists() or not (BIN / "gompcc").exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that the tests run."""
    return build(tmp_path_factory.mktemp("waiting"), (PROGRAMS / "waiting.c").read_text(), "-O1", name="waiting.c")


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory, program: Path) -> str:
    """The library that counts calls, for LD_PRELOAD of the program."""
    library = tmp_path_factory.mktemp("counter") / "counter.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, PROGRAMS / "call_counter.c", "-ldl"], check=True)
    return for_preload(library, program.parent)


def ask(program: Path, what: str, number: int, *before: str, **env: str) -> str:
    """Run a part of the program on a device, for certain; its standard output."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OFFLOAD_EMUL", "OMP_", "GOMP_"))}
    env = clean | {"OMP_TARGET_OFFLOAD": "mandatory"} | env
    command = [*before, str(program), what, str(number)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=program.parent, timeout=100)
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


@pytest.mark.parametrize("what", ["launches", "teams"])
def test_no_looking_on_one_processor(program: Path, counter: str, tmp_path: Path, what: str) -> None:
    """Two who share a processor sleep and wake each other: at most a wait and a wake of each for a launch, no yield."""
    launches = 1000
    counts = tmp_path / "counts"
    counts.write_bytes(bytes(32))
    assert ask(program, what, launches, LD_PRELOAD=counter, CALL_COUNTS=str(counts)) == "right\n"
    yields, waits, wakes, _ = struct.unpack("4L", counts.read_bytes())
    # Host and slot's thread; that and its helper, which there is where the device was started with two processors.
    pairs = 2 if what == "teams" and len(os.sched_getaffinity(0)) > 1 else 1
    assert yields == 0
    assert pairs * launches <= waits <= 2.1 * pairs * launches + 100
    assert pairs * launches <= wakes <= 2.1 * pairs * launches + 100


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
def test_no_looking_beside_the_host_at_the_start(program: Path, counter: str, tmp_path: Path) -> None:
    """A device that is told of the host's processor looks for nothing there: not for its image, not for a region.

    Who looks asks where it runs, 130 times and more before it gives up; who does not, some 10 times in all.
    """
    counts = tmp_path / "counts"
    counts.write_bytes(bytes(40))
    env = {"LD_PRELOAD": counter, "CALL_COUNTS": str(counts), "ONE_PROCESSOR": "1"}
    assert ask(program, "launches", 1, **env) == "right\n"
    assert struct.unpack("5L", counts.read_bytes())[4] < 60


@pytest.mark.slow(sample=3)
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
@pytest.mark.parametrize(
    ("loadavg", "processors", "what", "moves"),
    [
        ("0.00 0.00 0.00 1/100 4000", "all", "apart", True),
        (f"0.00 0.00 0.00 {os.cpu_count()}00/900 4000", "all", "apart", True),
        (f"0.00 0.00 0.00 {os.cpu_count()}00/900 4000", "all", "work", False),
        ("", "all", "work", False),  # as where there is no /proc
        ("0.00 0.00 0.00 1/100 4000", "one", "apart", False),
    ],
    ids=["idle", "busy", "busy-with-work", "unknown-with-work", "no-other"],
)
def test_device_leaves_the_hosts_processor(
    program: Path, counter: str, tmp_path: Path, loadavg: str, processors: str, what: str, moves: bool
) -> None:
    """A device that shares the host's processor goes to one that it may use, and has its mask as before.

    It goes to an idle one, and to a busy one where its regions do hardly anything.
    The host's is the first processor.  A mask without it is what parts them: of 20 times some, as the device comes back
    in each rest, and at most one for each and the start's few.  Coming back itself, and having one's mask again, both
    have the first one in it: how often that is, the system decides, too, as it may part the two before the device does.
    """
    counts, idle = tmp_path / "counts", tmp_path / "loadavg"
    idle.write_text(loadavg)
    before = ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if processors == "one" else []
    env = [f"LD_PRELOAD={counter}", f"CALL_COUNTS={counts}", f"LOADAVG={idle}"]
    parted: list[int] = []
    while len(parted) < (5 if moves and max(parted, default=0) < 10 else 1):
        counts.write_bytes(bytes(48))
        assert ask(program, what, 20, *before, "env", *env) == "right\n"
        changes, left = struct.unpack("6L", counts.read_bytes())[3::2]
        parted.append(left)
    assert (max(parted) in range(10, 41)) if moves else max(parted) <= 8, parted
    if processors == "one":
        assert changes == 0


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
@pytest.mark.timeout(300)
def test_a_rhythm_needs_no_wake_ups(program: Path, counter: str, tmp_path: Path) -> None:
    """Who launches after rests of one length finds the device awake where a processor is idle, else wakes it each time.

    Where others want the processors, the program goes first if it may, and the quietest of some runs counts.
    Rests of one length are the system's to give: where it gave none in any run (a virtual machine whose processors
    its own host takes away), there was no rhythm to find.
    """
    rests, counts, loadavg = 200, tmp_path / "counts", tmp_path / "loadavg"
    first = ["chrt", "-f", "10"]
    if not shutil.which("chrt") or subprocess.run([*first, "true"], capture_output=True).returncode:
        first = []

    def wakes(*before: str) -> tuple[int, int]:
        counts.write_bytes(bytes(32))
        said = ask(program, "rests", rests, *before, "env", f"LD_PRELOAD={counter}", f"CALL_COUNTS={counts}",
                   f"LOADAVG={loadavg}")  # fmt: skip
        other = re.fullmatch(r"(\d+) other rests\nright\n", said)
        assert other
        return int(struct.unpack("4L", counts.read_bytes())[2]), int(other[1])

    loadavg.write_text(f"0.00 0.00 0.00 {os.cpu_count()}00/900 4000")
    busy, _ = wakes()
    loadavg.write_text("0.00 0.00 0.00 1/100 4000")
    assert busy >= rests
    runs: list[tuple[int, int]] = []
    while len(runs) < 12:
        runs.append(wakes(*first))
        if runs[-1][0] < 0.8 * rests:
            return
    if all(other > 0.05 * rests for _, other in runs):
        pytest.skip(f"the system gave no rests of one length: {runs}")
    raise AssertionError(runs)


def test_short_slices(program: Path) -> None:
    """The thread that a launch wakes asks for slices of 0.1 ms; what it starts has the system's, and its nice value."""
    usual = os.sched_getscheduler(0) in {os.SCHED_OTHER, os.SCHED_BATCH} and 0 <= os.nice(0) <= 16
    release = tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2])
    if not usual or release < (6, 12):
        pytest.skip("the system has no slices that a thread can choose")
    line = ask(program, "slices", 1, "nice", "-n", "3").splitlines()[0]
    own, started, *nice = (int(n) for n in re.findall(r"\d+", line))
    assert own == 100000 < started
    assert nice == [os.nice(0) + 3] * 2


def test_batch_needs_no_threads_of_the_host(program: Path) -> None:
    """nowait regions go into the device's queue."""
    assert ask(program, "batch", 2000) == "1 threads\nright\n"


def test_long_regions_of_a_batch_run_together(program: Path) -> None:
    """The device calls further workers, without the host."""
    assert ask(program, "together", 20) == "20 begun\nright\n"


@pytest.mark.parametrize("processors", ["all", "one"])
@pytest.mark.parametrize(("what", "number"), [("mixture", 12), ("full", 2000)])
def test_no_wake_up_is_lost(program: Path, what: str, number: int, processors: str) -> None:
    """Regions of all kinds from several threads, to the end and with the right results."""
    before = ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if processors == "one" else []
    assert ask(program, what, int(os.environ.get("GOMPY_TEST_STEPS", number)), *before) == "right\n"


def test_who_waits_for_a_queue_does_its_jobs(tmp_path: Path) -> None:
    """OpenACC: most jobs are done by the thread that waits for them, in order, without a switch to the queue's."""
    done = drive(
        tmp_path,
        """
p.init_device(0)
lib, pointer = p.lib, ctypes.c_void_p
job = ctypes.CFUNCTYPE(None, pointer)
lib.GOMP_OFFLOAD_openacc_async_construct.restype = pointer
lib.GOMP_OFFLOAD_openacc_async_destruct.restype = ctypes.c_bool
seen, own = [], 0
@job
def note(number):
    global own
    seen.append(number or 0)
    own += threading.get_native_id() == os.getpid()
queue = pointer(lib.GOMP_OFFLOAD_openacc_async_construct(0))
for i in range(300):
    lib.GOMP_OFFLOAD_openacc_async_queue_callback(queue, note, pointer(i))
    assert lib.GOMP_OFFLOAD_openacc_async_synchronize(queue)
for i in range(300, 600):
    lib.GOMP_OFFLOAD_openacc_async_queue_callback(queue, note, pointer(i))
assert lib.GOMP_OFFLOAD_openacc_async_destruct(queue)
print(seen == list(range(600)), own > 150 or own)
p.fini_device(0)
""",
    )
    assert (done.stdout, done.stderr, done.returncode) == ("True True\n", "", 0)

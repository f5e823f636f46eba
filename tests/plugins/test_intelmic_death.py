"""How regions, devices and hosts die: what is said, and that nothing stays behind."""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from driver_tools import for_preload
from intelmic_driver import PLUGIN, build_image, devices_of, drive, gone, scenario

if not PLUGIN.exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)

IMAGE = r"""int64_t sink; const int64_t constant[4] = { 1 };
void store (int64_t **p)
{
  p[0][0] = 1;
}
static __attribute__ ((noinline)) void helper (int64_t *q)
{
  *q = 2;
}
void nested (int64_t **p)
{
  helper (p[0]);
  sink++;
}
void divide (int64_t **p)
{
  sink = (sink + 5) / p[0][0];
}
void give_up (int64_t **p)
{
  if (p) abort ();
  sink++;
}
void leave (int64_t **p)
{
  printf ("last words\n");
  if (p) exit (3);
  sink++;
}
void trap (int64_t **p)
{
  if (p) __builtin_trap ();
  sink++;
}
void copy (int64_t **p)
{
  memcpy (p[0], (void *) p, 1 + (sink & 1) * 100000);
  sink++;
}
static int64_t deep (int64_t n)
{
  volatile char here[4000];
  here[n % 4000] = 1;
  return n ? deep (n - 1) + here[5] : 0;
}
void overflow (int64_t **p)
{
  sink = deep (1 << 20);
}
void threads (int64_t **p)
{
#pragma omp parallel num_threads (2)
  if (omp_get_thread_num () == 1)
    p[0][0] = 3;
}
void leave_quietly (int64_t **p)
{
  _exit (7);
}
void constant_store (int64_t **p)
{
  *(volatile int64_t *) &constant[sink] = 1;
}
void spin (int64_t **p)
{
  for (__atomic_store_n (p[0], 1, __ATOMIC_SEQ_CST);;) sink++;
}
void large (int64_t **p)
{
  volatile char here[1 << 28];
  here[1 << 27] = 1;
  sink++;
}
static void *f[] = { store, nested, divide, give_up, leave, trap, copy, overflow, threads, leave_quietly,
                     constant_store, spin, large };
static void *v[] = { };
TABLES (f, v)
"""

START = """
p.init_device(0)
(store, nested, divide, give_up, leave, trap, copy, overflow, threads, leave_quietly, constant_store, spin, large) = (
    s for s, e in p.load(0, folder + '/image.so'))
memory = ctypes.create_string_buffer(4096)
host = ctypes.addressof(memory)
zero = p.put(0, bytes(8))
"""

ADDRESS = r"0x[0-9a-f]+"
HOSTS = rf"address {ADDRESS} is not mapped on the device: it is the host's \([^)]+\); was a map clause forgotten\?"


@pytest.mark.slow(sample=4)
@pytest.mark.parametrize(
    ("function", "argument", "message"),
    [
        ("store", "host", rf"region store \(image\.c:4\): signal 11 \(Segmentation fault\): {HOSTS}"),
        (
            "store",
            "0",
            r"region store \(image\.c:4\): signal 11 \(Segmentation fault\): "
            r"address \(nil\) is not mapped on the device "
            r"\(a null pointer\)",
        ),
        (
            "store",
            "1 << 60",
            r"region store \(image\.c:4\): signal 11 \(Segmentation fault\): "
            r"an address that cannot exist \(not canonical\)",
        ),
        (
            "store",
            "0x123456789000",
            r"region store \(image\.c:4\): signal 11 \(Segmentation fault\): "
            r"address 0x123456789000 is not mapped on the device",
        ),
        ("nested", "host", rf"region nested, in helper \(image\.c:8\): signal 11 \(Segmentation fault\): {HOSTS}"),
        (
            "divide",
            "zero",
            r"region divide \(image\.c:17\): signal 8 \(Floating point exception\): integer division by zero",
        ),
        ("give_up", "zero", r"region give_up \(image\.c:21\): signal 6 \(Aborted\)"),
        ("leave", "zero", r"region leave \(image\.c:27\): exit \(3\) called on the device"),
        ("trap", "zero", r"region trap \(image\.c:32\): signal 4 \(Illegal instruction\)"),
        ("copy", "host", rf"region copy \(image\.c:3[78]\): signal 11 \(Segmentation fault\): {HOSTS}"),
        (
            "overflow",
            "zero",
            r"region overflow, in deep \(image\.c:4[1-5]\): signal 11 \(Segmentation fault\): "
            rf"address {ADDRESS} is beyond the end of the thread's stack; ulimit -s makes it larger",
        ),
        (
            "large",
            "zero",
            r"region large \(image\.c:71\): signal 11 \(Segmentation fault\): "
            rf"address {ADDRESS} is beyond the end of the thread's stack; ulimit -s makes it larger",
        ),
        (
            "threads",
            "host",
            r"region threads, in threads\._omp_fn\.0 \(image\.c:54\): "
            rf"signal 11 \(Segmentation fault\): {HOSTS}",
        ),
        (
            "constant_store",
            "zero",
            r"region constant_store \(image\.c:62\): signal 11 \(Segmentation fault\): "
            rf"address {ADDRESS} may not be accessed so \(read-only data or code of the image\)",
        ),
    ],
)
def test_region_that_dies(tmp_path: Path, function: str, argument: str, message: str) -> None:
    """The program ends with status 1 and says which region died, where and of what; its device is gone."""
    build_image(tmp_path, IMAGE)
    run = f"p.run(0, {function}, p.words(0, {argument}), None)\n"
    done = drive(tmp_path, START + "print('start', flush=True)\n" + run + "print('end')\n")
    assert re.fullmatch(rf"services: device 0 \(intelmic\): {message}\n", done.stderr), done.stderr
    assert done.returncode == 1
    assert done.stdout == ("start\nlast words\n" if function == "leave" else "start\n")


def test_without_debug_information(tmp_path: Path) -> None:
    """Without DWARF the region's name alone; stripped, its address."""
    image = build_image(tmp_path, IMAGE, "-g0")
    code = START + "p.run(0, store, p.words(0, 0), None)\n"
    done = drive(tmp_path, code)
    assert "(intelmic): region store: signal 11 " in done.stderr
    subprocess.run(["strip", "--strip-all", "-K", "__OFFLOAD_TARGET_TABLE__", image], check=True)
    done = drive(tmp_path, code)
    assert "(intelmic): region store: signal 11 " in done.stderr  # still in the dynamic symbols
    build_image(tmp_path, IMAGE.replace("void store", "static void store"), "-g0")
    subprocess.run(["strip", "--strip-all", image], check=True)
    done = drive(tmp_path, code)
    assert re.search(rf"\(intelmic\): region {ADDRESS}: signal 11 ", done.stderr)


def test_memory_of_another_device(tmp_path: Path) -> None:
    """A pointer into one device's memory used on another is told as that."""
    build_image(tmp_path, IMAGE)
    done = drive(
        tmp_path,
        START + "p.init_device(1)\nother = p.alloc(1, 8)\np.run(0, store, p.words(0, other), None)\n",
        {"OFFLOAD_EMUL_NUM": "2"},
    )
    assert "is not mapped on the device: it is memory of device 1\n" in done.stderr
    assert done.returncode == 1


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize("kind", ["stack", "heap", "global", "library", "anonymous"])
def test_host_addresses_fault(tmp_path: Path, kind: str) -> None:
    """Whatever the host has at an address, the device has nothing there: in repeated starts, with ASLR and without."""
    build_image(tmp_path, IMAGE)
    places = {
        "stack": "int([l for l in open('/proc/self/maps') if '[stack]' in l][0].split('-')[1].split()[0], 16) - 4096",
        "heap": "int([l for l in open('/proc/self/maps') if '[heap]' in l][0].split('-')[0], 16) + 64",
        "global": "int([l for l in open('/proc/self/maps') if 'python3' in l and ' rw-p ' in l][0].split('-')[0], 16)",
        "library": "int([l for l in open('/proc/self/maps') if 'libc.so' in l and ' rw-p ' in l][0].split('-')[0], 16)",
        "anonymous": "host",
    }
    code = START + f"p.run(0, store, p.words(0, {places[kind]}), None)\n"
    for tool in ([], ["setarch", "-R"], ["setarch", "-L"]):
        done = subprocess.run([*tool, *scenario(tmp_path, code)], capture_output=True, text=True, timeout=60)
        assert re.search(HOSTS, done.stderr), (tool, done.stderr)
        assert done.returncode == 1


def test_stream_of_the_host(tmp_path: Path) -> None:
    """`fprintf (stderr, ...)` in a region has the host's address of that: what a region has instead is named."""
    build_image(tmp_path, IMAGE)
    stream = "ctypes.addressof(ctypes.c_char.in_dll(ctypes.CDLL(None), '_IO_2_1_stderr_'))"
    done = drive(tmp_path, START + f"p.run(0, store, p.words(0, {stream}), None)\n")
    assert re.search(
        rf"address {ADDRESS} is not mapped on the device: it is a stream of the host's "
        r"\(its variable _IO_2_1_stderr_\); printf works in a region\n",
        done.stderr,
    ), done.stderr


def test_no_host_address_becomes_stack(tmp_path: Path) -> None:
    """The kernel grows a stack for any access below it: the device leaves 1 MiB for that, reserves the rest."""
    build_image(tmp_path, IMAGE)
    done = drive(
        tmp_path,
        START
        + """
(pid,) = intelmic_driver.devices_of(os.getpid())
before = 0
for line in open(f'/proc/{pid}/maps'):
    begin, end = (int(x, 16) for x in line.split()[0].split('-'))
    if '[stack]' in line:
        print(begin - before <= 1 << 20, rights)
    before, rights = end, line.split()[1]
finish()
""",
    )
    assert (done.stdout, done.stderr) == ("True ---p\n", "")


def test_device_killed_from_outside(tmp_path: Path) -> None:
    """The program says so and ends; it doesn't hang, whether it waited or not."""
    build_image(tmp_path, IMAGE)
    for region in "spin", "store":
        done = drive(
            tmp_path,
            START
            + f"""
(device,) = intelmic_driver.devices_of(os.getpid())
if {region!r} == 'spin':
    threading.Timer(0.2, os.kill, (device, signal.SIGKILL)).start()
else:
    os.kill(device, signal.SIGKILL)
p.run(0, {region}, p.words(0, zero), None)
""",
            timeout=60,
        )
        assert done.stderr == "services: device 0 (intelmic): its process was killed by signal 9 (Killed)\n"
        assert done.returncode == 1


@pytest.mark.parametrize(
    ("before", "region", "said"),
    [
        ("", "leave_quietly", "services: device 0 (intelmic): its process ended with status 7\n"),
        (
            "os.kill(device, signal.SIGKILL); os.waitpid(device, 0x40000000)",  # __WALL
            "store",
            "services: device 0 (intelmic): its process has ended\n",
        ),
    ],
    ids=["by _exit", "and another has waited for it"],
)
def test_device_that_ended_without_a_word(tmp_path: Path, before: str, region: str, said: str) -> None:
    build_image(tmp_path, IMAGE)
    device = "(device,) = intelmic_driver.devices_of(os.getpid())\n"
    done = drive(tmp_path, f"{START}{device}{before}\np.run(0, {region}, p.words(0, zero), None)\n", timeout=60)
    assert (done.returncode, done.stderr) == (1, said)


def test_exit_during_a_region(tmp_path: Path) -> None:
    """exit in one thread while another waits for an endless region: the program ends, the device too."""
    build_image(tmp_path, IMAGE)
    done = drive(
        tmp_path,
        START
        + """
threading.Thread(target=p.run, args=(0, spin, p.words(0, zero), None), daemon=True).start()
while not any(p.get(0, zero, 8)):
    time.sleep(0.001)
print(*intelmic_driver.devices_of(os.getpid()), flush=True)
finish()
ctypes.CDLL(None).exit(4)
""",
        timeout=60,
    )
    assert (done.stderr, done.returncode) == ("", 4)
    assert gone(int(done.stdout))


def test_orderly_end(tmp_path: Path) -> None:
    """fini_device has the process end by itself, and reaps it; the device can be started again.

    One that cannot end within two seconds is killed, a stopped one here.  Of the others the system may keep some.
    """
    build_image(tmp_path, IMAGE)
    library = tmp_path / "kills.so"
    source = Path(__file__).resolve().parents[1] / "programs" / "kills.c"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    done = drive(
        tmp_path,
        START
        + """
kills = ctypes.c_int.in_dll(ctypes.CDLL(None), 'kills')
(first,) = intelmic_driver.devices_of(os.getpid())
assert p.fini_device(0)
assert intelmic_driver.devices_of(os.getpid()) == [] and not os.path.exists(f'/proc/{first}')
assert p.init_device(0)
(second,) = intelmic_driver.devices_of(os.getpid())
assert second != first and p.fini_device(0)
open_files = len(os.listdir('/proc/self/fd'))
for i in range(3):
    assert p.init_device(0) and p.fini_device(0)
assert len(os.listdir('/proc/self/fd')) == open_files
orderly_kills = kills.value
assert p.init_device(0)
(last,) = intelmic_driver.devices_of(os.getpid())
os.kill(last, signal.SIGSTOP)
assert p.fini_device(0) and not os.path.exists(f'/proc/{last}')
assert orderly_kills < 5 and kills.value > orderly_kills
""",
        env={"LD_PRELOAD": for_preload(library, tmp_path)},
    )
    assert (done.stderr, done.returncode) == ("", 0)


def test_fork(tmp_path: Path) -> None:
    """A forked child leaves the device alone, whatever it does; in the child a region is a clear error."""
    build_image(tmp_path, IMAGE)
    done = drive(
        tmp_path,
        START
        + """
for use in (0, 1):
    child = os.fork()
    if child == 0:
        if use:
            p.run(0, store, p.words(0, zero), None)
        finish()
        os._exit(5)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (1 if use else 5)
    p.run(0, store, p.words(0, zero), None)
    assert p.get(0, zero, 8) == bytes([1] + [0] * 7)
finish()
""",
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "services: device 0 (intelmic) belongs to the parent of this forked process\n"


def test_host_dies_while_its_forked_child_lives(tmp_path: Path) -> None:
    """The child inherits the pipe that tells the device of the host's end; the device ends all the same."""
    build_image(tmp_path, IMAGE)
    program = subprocess.Popen(
        scenario(
            tmp_path,
            START
            + """
(device,) = intelmic_driver.devices_of(os.getpid())
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
print(device, child, flush=True)
time.sleep(60)
""",
        ),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    device, child = map(int, program.stdout.readline().split())
    try:
        program.kill()
        program.wait()
        assert gone(device)
        assert not gone(child, 0.05)
    finally:
        os.kill(child, signal.SIGKILL)
        program.stdout.close()


def test_interrupt_is_the_hosts_business(tmp_path: Path) -> None:
    """Ctrl-C reaches the whole process group: a host that handles it goes on with its device."""
    build_image(tmp_path, IMAGE)
    done = drive(
        tmp_path,
        START
        + """
signal.signal(signal.SIGINT, lambda *a: None)
os.setpgrp()
os.killpg(0, signal.SIGINT)
time.sleep(0.1)
p.run(0, store, p.words(0, zero), None)
print('alive')
finish()
""",
    )
    # the group was made after the device had started: signal the device itself, too
    assert done.stdout == "alive\n", done.stderr


KILLS = int(os.environ.get("GOMPY_TEST_KILLS", "30"))


@pytest.mark.slow
@pytest.mark.timeout(120 + 5 * KILLS)
def test_random_kills(tmp_path: Path) -> None:
    """SIGKILL for host or device in a random moment leaves no process, no folder, and never hangs.

    GOMPY_TEST_KILLS sets how often (30 by default).
    """
    build_image(tmp_path, IMAGE)
    command = scenario(
        tmp_path,
        START
        + """
block = p.put(0, bytes(8))
words = p.words(0, block)
while True:
    for i in range(50):
        p.run(0, store, words, None)
    p.fini_device(0)
    p.init_device(0)
    store = p.load(0, folder + '/image.so')[0][0]
    block = p.put(0, bytes(8))
    words = p.words(0, block)
""",
    )
    chance = random.Random(12)
    folder = tmp_path / "tmp"
    folder.mkdir()
    for number in range(KILLS):
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(folder)}
        ) as program:
            seen: set[int] = set()
            until = time.monotonic() + 60
            while number % 2 and not seen and time.monotonic() < until:  # else a busy machine has none to kill yet
                seen.update(devices_of(program.pid))
            end = time.monotonic() + 0.06 + chance.random() * 0.1
            while time.monotonic() < end:
                seen.update(devices_of(program.pid))
                time.sleep(0.003)
            victims = devices_of(program.pid) if number % 2 else []
            for victim in victims or [program.pid]:
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            if victims:
                time.sleep(0.3)
                program.terminate()  # a device that had just been replaced was killed: the program goes on
            seen.update(devices_of(program.pid))
            program.communicate(timeout=60)
        for device in seen:
            assert gone(device), f"kill {number}: device {device} lives on"
        assert devices_of(program.pid) == []
    end = time.monotonic() + 60  # a device that was started just before the last kill has to notice it
    while list(folder.iterdir()) and time.monotonic() < end:
        time.sleep(0.01)
    assert list(folder.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_under_valgrind(tmp_path: Path) -> None:
    """OFFLOAD_EMUL_RUN: the device runs under valgrind, which knows the image by file name and line."""
    build_image(
        tmp_path,
        r"""
void leak (int64_t **p)
{
  int64_t *q = malloc (16);
  p[0][0] = q[5];
  free (q);
}
static void *f[] = { leak }; static void *v[] = { }; TABLES (f, v)
""",
    )
    folder = tmp_path / "tmp"
    folder.mkdir()
    done = drive(
        tmp_path,
        """
p.init_device(0)
((leak, end),) = p.load(0, folder + '/image.so')
block = p.put(0, bytes(8))
p.run(0, leak, p.words(0, block), None)
print('ran')
finish()
""",
        {"OFFLOAD_EMUL_RUN": "valgrind --quiet", "TMPDIR": str(folder)},
        timeout=100,
    )
    assert done.stdout == "ran\n", done.stderr
    assert "Invalid read of size 8" in done.stderr
    assert "leak (image.c:5)" in done.stderr
    assert list(folder.iterdir()) == []


def test_tool_that_is_missing(tmp_path: Path) -> None:
    """A tool that can't be started is named."""
    done = drive(tmp_path, "print(p.init_device(0))\n", {"OFFLOAD_EMUL_RUN": "/none/no-such-tool --flag"})
    assert done.stdout == "False\n"
    assert done.stderr == (
        "services: device 0 (intelmic): cannot start /none/no-such-tool: No such file or directory\n"
    )


@pytest.mark.parametrize(
    ("words", "tool"),
    [
        (r'"/none/a\b"', r"/none/a\b"),
        (r'"/none/a\\b\"c\$d\`e"', r'/none/a\b"c$d`e'),
        (r"'/none/a\b\\c'", r"/none/a\b\\c"),
        (r"/none/a\ b\c", "/none/a bc"),
    ],
)
def test_words_of_a_tool_are_a_shells(tmp_path: Path, words: str, tool: str) -> None:
    assert shlex.split(words.replace(r"\$", "$").replace(r"\`", "`"))[0] == tool  # in Python $ is as any other
    done = drive(tmp_path, "print(p.init_device(0))\n", {"OFFLOAD_EMUL_RUN": f"{words} --flag"})
    assert done.stderr == f"services: device 0 (intelmic): cannot start {tool}: No such file or directory\n"


def test_tool_that_fails(tmp_path: Path) -> None:
    """A tool that ends without running the device is told with its status."""
    done = drive(tmp_path, "print(p.init_device(0))\n", {"OFFLOAD_EMUL_RUN": "false"})
    assert done.stdout == "False\n"
    assert done.stderr == "services: device 0 (intelmic): false ended at its start with status 1\n"

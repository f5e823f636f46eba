"""The emulated device by itself: copies, launches, images, control variables, threads."""

from __future__ import annotations

from pathlib import Path

import pytest
from intelmic_driver import PLUGIN, build_image, drive

if not PLUGIN.exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)

IMAGE = r"""
int scalar = 7; int array[1000];
void nothing (void *p) { (void) p; }
void add (int64_t **p) { for (int i = 0; i < 100; i++) p[0][i] += scalar; }
void who (int64_t **p)
{
  p[0][0] = omp_is_initial_device (); p[0][1] = omp_get_device_num (); p[0][2] = omp_get_num_devices ();
  p[0][3] = getpid (); p[0][4] = omp_get_level (); p[0][5] = (int64_t) p;
}
void change (void *p)
{
  omp_set_num_threads (7); omp_set_dynamic (1); omp_set_max_active_levels (5); omp_set_schedule (omp_sched_guided, 9);
}
void report (int64_t **p)
{
  omp_sched_t kind; int chunk;
  omp_get_schedule (&kind, &chunk);
  p[0][0] = omp_get_max_threads (); p[0][1] = omp_get_dynamic (); p[0][2] = omp_get_max_active_levels ();
  p[0][3] = kind; p[0][4] = chunk; p[0][5] = omp_get_thread_limit (); p[0][6] = omp_get_num_teams ();
  p[0][7] = omp_get_team_num ();
}
static int kept;
#pragma omp threadprivate (kept)
void keep (int64_t **p) { kept++; p[0][0] = kept; }
void parallel (int64_t **p)
{
  int64_t n = 0;
#pragma omp parallel num_threads (3) reduction (+: n)
  n++;
  p[0][0] = n;
}
void speak (int64_t **p) { (void) p; printf ("the region speaks, without a newline;"); }
/* Ends when p[0][1] regions have begun.  */
void meet (int64_t **p)
{
  __atomic_add_fetch (&p[0][0], 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n (&p[0][0], __ATOMIC_SEQ_CST) < __atomic_load_n (&p[0][1], __ATOMIC_SEQ_CST))
    usleep (100);
}
static void *f[] = { nothing, add, who, change, report, keep, parallel, speak, meet };
static void *v[] = { &scalar, (void *) (sizeof scalar | 1ul << 63), array, (void *) sizeof array };
TABLES (f, v)
"""

START = """
p.init_device(0)
pairs = p.load(0, folder + '/image.so')
nothing, add, who, change, report, keep, parallel, speak, meet = (s for s, e in pairs[:9])
(scalar, scalar_end), (array, array_end) = pairs[9:]
def call(fn, n=1, device=0, args=None):
    block = p.put(device, bytes(8 * n))
    words = p.words(device, block)
    p.run(device, fn, words, args)
    got = p.get(device, block, 8 * n)
    assert p.free(device, block) and p.free(device, words)
    return [int.from_bytes(got[i:i + 8], 'little', signed=True) for i in range(0, 8 * n, 8)]
"""


def test_regions_and_tables(tmp_path: Path) -> None:
    """Regions run in another process, at level 0, on the device they were launched on; the tables tell sizes."""
    build_image(tmp_path, IMAGE)
    done = drive(
        tmp_path,
        START
        + """
assert len(pairs) == 11 and scalar_end - scalar == 4 and array_end - array == 4000
assert call(add, 100) == [7] * 100
initial, number, devices, pid, level, words = call(who, 6)
assert (initial, number, devices, level) == (0, 0, 0, 0) and pid != os.getpid(), (initial, number)
assert call(parallel) == [3]
print('good')
finish()
""",
    )
    assert (done.stdout, done.stderr, done.returncode) == ("good\n", "", 0)


def test_copies_of_all_sizes(tmp_path: Path) -> None:
    """What goes to the device comes back, also within the device, to globals, and for no bytes at all."""
    build_image(tmp_path, IMAGE)
    done = drive(
        tmp_path,
        START
        + """
for size in (0, 1, 7, 64, 4095, 4096, 65537, 1 << 20, (3 << 20) + 5):
    content = os.urandom(size)
    a, b = p.put(0, content), p.alloc(0, size)
    assert p.get(0, a, size) == content
    assert p.dev2dev(0, b, a, size) and p.get(0, b, size) == content
    assert a % 64 == 0 and b % 64 == 0
    assert p.free(0, a) and p.free(0, b)
content = os.urandom(4000)
assert p.host2dev(0, array, content, 4000) and p.get(0, array, 4000) == content
a = p.alloc(0, 4000)
assert p.dev2dev(0, a, array, 4000) and p.get(0, a, 4000) == content
assert p.dev2dev(0, array, a, 4000) and p.dev2dev(0, array + 8, array, 80)
assert p.host2dev(0, scalar, b'\\5\\0\\0\\0', 4) and call(add, 100) == [5] * 100
print('good')
finish()
""",
    )
    assert (done.stdout, done.stderr, done.returncode) == ("good\n", "", 0)


def test_large_copy(tmp_path: Path) -> None:
    """256 MiB go and come."""
    done = drive(
        tmp_path,
        """
p.init_device(0)
n = 256 << 20
content = (ctypes.c_char * n)()
ctypes.memset(content, 0x5a, n)
content[0], content[n - 1], content[n // 2 + 1] = b'a', b'b', b'c'
block = p.alloc(0, n)
assert p.host2dev(0, block, content, n)
ctypes.memset(content, 0, n)
assert p.dev2host(0, content, block, n)
assert content[0] == b'a' and content[n - 1] == b'b' and content[n // 2 + 1] == b'c' and content[12345] == b'Z'
print('good')
finish()
""",
    )
    assert (done.stdout, done.stderr, done.returncode) == ("good\n", "", 0)


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("limit", [False, True])
def test_first_copies(tmp_path: Path, limit: bool) -> None:
    """Pieces of blocks without pages, in any order and again, whole blocks and reused ones: the memory is right.

    With a limit on the size of files, nothing may be written to the device's by write ().
    """
    done = drive(
        tmp_path,
        """
import random, resource
if @@:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
chance = random.Random(5)
assert p.init_device(0)
source = os.urandom(6 << 20)
blocks = []
for turn in range(60):
    if len(blocks) > 4 or (blocks and chance.random() < 0.2):
        assert p.free(0, blocks.pop(chance.randrange(len(blocks)))[0])
    size = chance.choice([300000, 1 << 20, (5 << 20) + 77])
    block = p.alloc(0, size)
    assert block
    if chance.random() < 0.3:
        p.host2dev(0, block, bytes(size), size)
        model = bytearray(size)
    else:
        model = None
    blocks.append((block, size, model))
    for piece in range(5):
        block, size, model = blocks[chance.randrange(len(blocks))]
        if model is None:
            model = bytearray(p.get(0, block, size)) if piece % 2 else bytearray(size)
            if piece % 2 == 0:
                p.host2dev(0, block, bytes(size), size)
            blocks[[b[0] for b in blocks].index(block)] = (block, size, model)
        at = chance.choice([0, 64, chance.randrange(size)])
        n = min(size - at, chance.choice([1, 100, 262144, 300001, size]))
        start = chance.randrange(len(source) - n)
        content = source[start:start + n]
        assert p.host2dev(0, block + at, content, n)
        model[at:at + n] = content
    for block, size, model in blocks:
        assert model is None or p.get(0, block, size) == bytes(model)
print('good')
finish()
""".replace("@@", str(limit)),
        {"OFFLOAD_EMUL_MEM": "512M"},
    )
    assert (done.stdout, done.stderr, done.returncode) == ("good\n", "", 0)


def test_copies_without_process_vm(tmp_path: Path) -> None:
    """Where process_vm_readv and _writev are forbidden, as in some containers, globals are still reached."""
    build_image(tmp_path, IMAGE)
    done = drive(
        tmp_path,
        r"""
libc = ctypes.CDLL(None, use_errno=True)
code = [(0x20, 0, 0, 0), (0x15, 0, 1, 310), (0x06, 0, 0, 0x50001), (0x15, 0, 1, 311), (0x06, 0, 0, 0x50001),
        (0x06, 0, 0, 0x7fff0000)]
program = b''.join(c.to_bytes(2, 'little') + bytes([t, f]) + k.to_bytes(4, 'little') for c, t, f, k in code)
text = ctypes.create_string_buffer(program)
class Filter(ctypes.Structure):
    _fields_ = [('n', ctypes.c_ushort), ('p', ctypes.c_void_p)]
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Filter(len(code), ctypes.addressof(text)))) == 0, ctypes.get_errno()
"""
        + START
        + """
content = os.urandom(4000)
assert p.host2dev(0, array, content, 4000) and p.get(0, array, 4000) == content
assert not p.host2dev(0, 4096, content, 10)
print('good')
finish()
""",
    )
    assert (done.stdout, done.returncode) == ("good\n", 0)
    assert done.stderr == (
        "services: device 0 (intelmic): copy to device: [0x1000..0x100a) is not memory of the device\n"
    )


def test_bad_addresses_are_refused(tmp_path: Path) -> None:
    """Copies to nowhere, beyond the arena and to host addresses; frees of what isn't a block; too much memory."""
    build_image(tmp_path, IMAGE)
    done = drive(
        tmp_path,
        START
        + """
buffer = ctypes.create_string_buffer(64)
block = p.alloc(0, 64)
assert not p.host2dev(0, 4096, buffer, 64)
assert not p.dev2host(0, buffer, 4096, 64)
assert not p.host2dev(0, ctypes.addressof(buffer), buffer, 64)
assert not p.dev2dev(0, block, 4096, 64)
assert not p.free(0, block + 64) and not p.free(0, 4096) and not p.free(0, array)
assert p.free(0, block) and not p.free(0, block)
assert not p.alloc(0, 1 << 50)
finish()
""",
    )
    lines = done.stderr.splitlines()
    assert done.returncode == 0, done.stderr
    assert len(lines) == 9
    assert lines[0].endswith("copy to device: [0x1000..0x1040) is not memory of the device")
    assert lines[1].endswith("copy from device: [0x1000..0x1040) is not memory of the device")
    assert all("is not an allocated block" in line for line in lines[4:8])
    assert "no 1125899906842624 bytes left" in lines[8]


def test_control_variables_are_fresh(tmp_path: Path) -> None:
    """A region's changes end with it; threadprivate data stays."""
    build_image(tmp_path, IMAGE)
    done = drive(
        tmp_path,
        START
        + """
before = call(report, 8)
call(change)
assert call(report, 8) == before, (before, call(report, 8))
assert call(report, 8, args=p.arguments(1, 5))[5] == 5
assert call(report, 8) == before
assert [call(keep) for i in range(3)] == [[1], [2], [3]]
print(before[0], before[3], before[4])
finish()
""",
        {"OMP_NUM_THREADS": "3", "OMP_SCHEDULE": "dynamic,4"},
    )
    assert (done.stdout.split()[0], done.stderr, done.returncode) == ("3", "", 0)
    assert done.stdout.split()[2] == "4"


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize(
    ("env", "threads"),
    [
        ({"OMP_NUM_THREADS": "3"}, ["3", "3"]),
        ({"OMP_NUM_THREADS": "3", "OMP_NUM_THREADS_DEV": "4"}, ["4", "4"]),
        ({"OMP_NUM_THREADS_DEV_1": "5", "OMP_NUM_THREADS_DEV": "4", "OMP_NUM_THREADS": "9"}, ["4", "5"]),
        ({"OMP_NUM_THREADS_ALL": "6"}, ["6", "6"]),
        ({"OMP_NUM_THREADS_ALL": "6", "OMP_NUM_THREADS_DEV_0": "2"}, ["2", "6"]),
    ],
)
def test_environment_of_devices(tmp_path: Path, env: dict[str, str], threads: list[str]) -> None:
    """OMP_*_DEV_<n>, OMP_*_DEV, OMP_*_ALL, OMP_*: the most specific one counts on the device."""
    build_image(tmp_path, IMAGE)
    done = drive(
        tmp_path,
        """
for n in (0, 1):
    p.init_device(n)
    report = p.load(n, folder + '/image.so')[4][0]
    block = p.put(n, bytes(64))
    p.run(n, report, p.words(n, block), None)
    print(int.from_bytes(p.get(n, block, 8), 'little'))
finish()
""",
        {"OFFLOAD_EMUL_NUM": "2", **env},
    )
    assert (done.stdout.split(), done.stderr, done.returncode) == (threads, "", 0)


def test_several_devices(tmp_path: Path) -> None:
    """Each device has its own process, memory and globals; their addresses differ."""
    build_image(tmp_path, IMAGE)
    done = drive(
        tmp_path,
        """
pids = set()
blocks = []
assert p.get_num_devices(0) == 3
for n in range(3):
    assert p.init_device(n)
for n in range(3):
    pairs = p.load(n, folder + '/image.so')
    block = p.put(n, bytes(48))
    words = p.words(n, block)
    p.run(n, pairs[2][0], words, None)
    got = [int.from_bytes(p.get(n, block, 48)[i:i + 8], 'little') for i in range(0, 48, 8)]
    assert got[1] == n
    pids.add(got[3])
    blocks.append(block)
    p.host2dev(n, pairs[9][0], bytes([n, 0, 0, 0]), 4)
assert len(pids) == 3 and len(set(blocks)) == 3
assert not p.dev2host(0, ctypes.create_string_buffer(8), blocks[1], 8)
finish()
""",
        {"OFFLOAD_EMUL_NUM": "3"},
    )
    assert done.returncode == 0, done.stderr
    assert "is not memory of the device" in done.stderr


def test_many_launching_threads(tmp_path: Path) -> None:
    """Eight host threads launch at once, and regions overlap in time: each ends when all have begun."""
    build_image(tmp_path, IMAGE)
    done = drive(
        tmp_path,
        START
        + """
bad = []
def work():
    block = p.put(0, bytes(800))
    words = p.words(0, block)
    for i in range(200):
        p.run(0, add, words, None)
    if p.get(0, block, 800) != (1400).to_bytes(8, 'little') * 100:
        bad.append(1)
threads = [threading.Thread(target=work) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()
words = p.words(0, p.words(0, 0, 8))
threads = [threading.Thread(target=p.run, args=(0, meet, words, None)) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(len(bad))
finish()
""",
    )
    assert (done.stdout, done.stderr, done.returncode) == ("0\n", "", 0)


def test_nowait(tmp_path: Path) -> None:
    """async_run returns while its region runs, and completion is told with the task's data."""
    build_image(tmp_path, IMAGE)
    done = drive(
        tmp_path,
        START
        + """
block = p.words(0, 0, 5)  # this thread is the fifth
words = p.words(0, block)
for i in range(4):
    p.async_run(0, meet, words, None, 100 + i)
while p.get(0, block, 8) != (4).to_bytes(8, 'little'):
    time.sleep(0.001)
last = ctypes.c_void_p.in_dll(p.services, 'last_completion')
assert last.value is None
assert p.host2dev(0, block, (5).to_bytes(8, 'little'), 8)
for i in range(4):
    p.services.await_completion()
assert last.value in (100, 101, 102, 103)
finish()
""",
    )
    assert (done.stderr, done.returncode) == ("", 0)


def test_output_comes_before_the_construct_ends(tmp_path: Path) -> None:
    """printf of a region is on stdout when the launch returns, though nothing ended the line."""
    build_image(tmp_path, IMAGE)
    done = drive(
        tmp_path,
        START
        + """
os.write(1, b'before ')
p.run(0, speak, None, None)
os.write(1, b' after')
p.run(0, speak, None, None)
finish()
""",
    )
    line = "the region speaks, without a newline;"
    assert done.stdout == f"before {line} after{line}"


def test_iostream_without_constructors(tmp_path: Path) -> None:
    """std::cout works in an image whose static constructors were left out."""
    build_image(
        tmp_path,
        r"""
#include <iostream>
void speak (void *p) { std::cout << "stream " << 42 << std::endl; }
static void *f[] = { (void *) speak };
static void *v[] = { };
extern "C" { TABLES (f, v) void *__dso_handle; }
""",
        "-nostartfiles",
        name="image.cc",
    )
    done = drive(tmp_path, "p.init_device(0)\np.run(0, p.load(0, folder + '/image.so')[0][0], None, None)\nfinish()\n")
    assert (done.stdout, done.stderr, done.returncode) == ("stream 42\n", "", 0)


def test_images_come_and_go(tmp_path: Path) -> None:
    """Several images, unloading, and loading again."""
    build_image(tmp_path, IMAGE)
    build_image(
        tmp_path,
        "void one (int64_t **p) { p[0][0] = 1; } static void *f[] = { one }; static void *v[] = { }; TABLES (f, v)",
        name="second.c",
    )
    done = drive(
        tmp_path,
        START
        + """
first = p.data
for i in range(20):
    (one, end), = p.load(0, folder + '/second.so')
    assert call(one) == [1]
    assert p.unload_image(0, 0, ctypes.addressof(p.data))
    assert call(parallel) == [3]
assert p.unload_image(0, 0, ctypes.addressof(first))
assert not p.unload_image(0, 0, ctypes.addressof(first))
finish()
""",
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "services: device 0 (intelmic): unload of an image that is not loaded\n"


def test_images_that_do_not_load(tmp_path: Path) -> None:
    """An undefined symbol, a missing table, no ELF file: a message each, and the device lives on."""
    build_image(
        tmp_path,
        "extern void nowhere (void); void one (void *p) { nowhere (); }"
        "static void *f[] = { one }; static void *v[] = { }; TABLES (f, v)",
        name="undefined.c",
    )
    build_image(tmp_path, "int x;", name="table.c")
    build_image(tmp_path, IMAGE)
    done = drive(
        tmp_path,
        START
        + """
for image in folder + '/undefined.so', folder + '/table.so', b'x' * 1000, b'':
    try:
        p.load(0, image)
        raise SystemExit('loaded')
    except ValueError:
        pass
assert call(parallel) == [3]
finish()
""",
    )
    lines = done.stderr.splitlines()
    assert done.returncode == 0, done.stderr
    assert "cannot load image: " in lines[0]
    assert "undefined symbol: nowhere" in lines[0]
    assert "it has no table (__OFFLOAD_TARGET_TABLE__)" in lines[1]
    assert "is not an ELF file" in lines[2]
    assert "is not an ELF file" in lines[3]


@pytest.mark.parametrize(("value", "count"), [("0", 0), ("3", 3), ("", 1), ("many", 1), ("-1", 1), ("65", 1)])
def test_number_of_devices(tmp_path: Path, value: str, count: int) -> None:
    """OFFLOAD_EMUL_NUM; rubbish is told once."""
    done = drive(
        tmp_path, "print(p.get_num_devices(0), p.get_num_devices(0), p.init_device(70))", {"OFFLOAD_EMUL_NUM": value}
    )
    assert done.stdout == f"{count} {count} False\n"
    message = "services: device 70 (intelmic) does not exist\n"
    if value in ("many", "-1", "65"):
        message = f"services: OFFLOAD_EMUL_NUM={value}: not a number from 0 to 64; using 1 device\n" + message
    assert done.stderr == message


def test_memory_size(tmp_path: Path) -> None:
    """OFFLOAD_EMUL_MEM bounds the device's memory."""
    done = drive(
        tmp_path,
        "p.init_device(0)\nprint(bool(p.alloc(0, 40 << 20)), bool(p.alloc(0, 70 << 20)))\nfinish()\n",
        {"OFFLOAD_EMUL_MEM": "64M"},
    )
    assert done.stdout == "True False\n", done.stderr

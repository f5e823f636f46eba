"""Where a device process starts: on the processor of the thread that waits for it, and what regions see of that."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from intelmic_driver import PLUGIN, PROGRAM, build_image, drive

pytestmark = [
    pytest.mark.skipif(not PLUGIN.exists(), reason="the plugin is not built"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor"),
]

IMAGE = r"""
#include <sched.h>
static long at_load[2];
static long
mask (void)
{
  cpu_set_t own;
  sched_getaffinity (0, sizeof own, &own);
  return *(long *) &own;
}
static void __attribute__ ((destructor))
end (void)
{
  const char *told = getenv ("TOLD");
  FILE *file = told ? fopen (told, "w") : NULL;
  if (file)
    fprintf (file, "%lu", mask ()), fclose (file);
}
static void __attribute__ ((constructor)) start (void) { at_load[0] = mask (); at_load[1] = omp_get_num_procs (); }
static void
region (void *p)
{
  long *to = *(long **) p;
  memcpy (to, at_load, sizeof at_load);
  to[2] = mask ();
  to[3] = omp_get_num_procs ();
  to[4] = omp_get_max_threads ();
}
static void *funcs[] = { region };
static void *vars[] = { };
TABLES (funcs, vars)
"""

STATE = """
def mask(pid):
    return os.sched_getaffinity(pid)
everywhere = mask(0)
word = sum(1 << n for n in everywhere if n < 64)  # what an image's mask () has
def start():
    p.init_device(0)
    return intelmic_driver.devices_of(os.getpid())[-1]
"""

PROMPT = """
# Among other programs a start may last longer than a device waits for its processor.
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
except PermissionError:
    pass
device = start()
for _ in range(100):
    if len(mask(device)) == 1:
        break
    p.fini_device(0)
    time.sleep(0.02)
    device = start()
"""

SLOW = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>
static void __attribute__ ((constructor)) wait_a_bit (void)
{
  if (strcmp (program_invocation_short_name, "offload_target_main") == 0)
    usleep (100000);
}
"""


def test_masks(tmp_path: Path) -> None:
    """The main thread stays where it was born until there is a thread for regions; neither an image's constructor nor
    a region sees of it, nor does any thread keep it, and the host's thread has its mask again after each step."""
    build_image(tmp_path, IMAGE, "-D_GNU_SOURCE")
    done = drive(
        tmp_path,
        STATE
        + PROMPT
        + """
assert len(mask(device)) == 1, mask(device)
assert mask(0) == everywhere
(function, _), = p.load(0, folder + '/image.so')
assert len(mask(device)) == 1 and mask(0) == everywhere
to = p.words(0, 0, 0, 0, 0, 0)
p.run(0, function, p.words(0, to), p.arguments(1, 0))
assert mask(0) == everywhere
end = time.monotonic() + 60
while mask(device) != everywhere and time.monotonic() < end:
    time.sleep(0.001)  # it takes its own once it has answered
assert [mask(int(t)) for t in os.listdir(f'/proc/{device}/task')] == [everywhere] * 3
seen = [int.from_bytes(p.get(0, to + 8 * i, 8), 'little') for i in range(5)]
assert seen == [word, len(everywhere), word, len(everywhere), len(everywhere)], seen
finish()
""",
    )
    assert (done.stderr, done.returncode) == ("", 0)


def test_a_large_copy_before_a_region(tmp_path: Path) -> None:
    """The main thread enters pages while the host's thread copies on: not on that one's processor."""
    build_image(tmp_path, IMAGE, "-D_GNU_SOURCE")
    done = drive(
        tmp_path,
        STATE
        + PROMPT
        + """
p.load(0, folder + '/image.so')
p.words(0, 1)
assert len(mask(device)) == 1, mask(device)
p.put(0, bytes(16 << 20))
assert mask(device) == everywhere, mask(device)
finish()
""",
    )
    assert (done.stderr, done.returncode) == ("", 0)


LONG = r"""
static void region (void *p)
{
  long *words = *(long **) p;
  words[0] = 1;
  while (!__atomic_load_n (&words[1], __ATOMIC_SEQ_CST))
    usleep (100);
}
static void *funcs[] = { region };
static void *vars[] = { };
TABLES (funcs, vars)
"""


def test_a_long_first_region(tmp_path: Path) -> None:
    """The host's thread stays beside it for a moment only: not for as long as the region runs, which the test ends."""
    build_image(tmp_path, LONG)
    done = drive(
        tmp_path,
        STATE
        + PROMPT
        + """
(function, _), = p.load(0, folder + '/image.so')
to = p.words(0, 0, 0)
ids = []
def run():
    ids.append(threading.get_native_id())
    p.run(0, function, p.words(0, to), p.arguments(1, 0))
one = threading.Thread(target=run)
one.start()
end = time.monotonic() + 50
while not any(p.get(0, to, 8)) and time.monotonic() < end:
    time.sleep(0.001)
while (seen := mask(ids[0])) != everywhere and time.monotonic() < end:
    time.sleep(0.001)
assert p.host2dev(0, to + 8, b'\\1', 1)
one.join()
assert seen == everywhere, seen
finish()
""",
    )
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize("end", ["finish()", "p.unload_image(0, 0, ctypes.addressof(p.data))\nos._exit(0)"])
def test_destructors(tmp_path: Path, end: str) -> None:
    """They see the program's processors, if no region ran before, too."""
    build_image(tmp_path, IMAGE, "-D_GNU_SOURCE")
    told = tmp_path / "told"
    code = STATE + PROMPT + f"p.load(0, folder + '/image.so')\nprint(word, flush=True)\n{end}"
    done = drive(tmp_path, code, {"TOLD": str(told)})
    assert (done.stderr, done.returncode) == ("", 0)
    assert told.read_text() == done.stdout.strip()


def test_signals(tmp_path: Path) -> None:
    """A device blocks none, whatever the thread that starts it blocks, but in the thread that watches the host; what
    the program ignores stays ignored; the program's own mask and descriptors are as before."""
    done = drive(
        tmp_path,
        STATE
        + """
import fcntl, re
def signals(pid, kind):
    return int(re.search(kind + ':[ \\t]*([0-9a-f]+)', open(f'/proc/{pid}/status').read())[1], 16)
signal.signal(signal.SIGUSR2, signal.SIG_IGN)
signal.signal(signal.SIGUSR1, lambda *_: None)
signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGUSR1, signal.SIGTERM})
before = signals('self', 'SigBlk'), signals('self', 'SigCgt')
device = start()
assert signals(device, 'SigBlk') == 0
assert signals(device, 'SigIgn') & 1 << signal.SIGUSR2 - 1
assert not signals(device, 'SigCgt') & 1 << signal.SIGUSR1 - 1
assert (signals('self', 'SigBlk'), signals('self', 'SigCgt')) == before
assert all(fcntl.fcntl(int(fd), fcntl.F_GETFD) for fd in os.listdir('/proc/self/fd')
           if int(fd) > 2 and os.path.exists(f'/proc/self/fd/{fd}'))
finish()
""",
    )
    assert (done.stderr, done.returncode) == ("", 0)


def test_started_by_somebody_else(tmp_path: Path) -> None:
    """It looks at no descriptor that nobody has named."""
    (tmp_path / "empty").touch()
    with (tmp_path / "empty").open("r+b") as empty:
        done = subprocess.run([PROGRAM], stdin=empty, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.count("\n") == 1


def test_slow_start(tmp_path: Path) -> None:
    """A device that is not ready soon shares the processor with another program: it may go to any."""
    source, library = tmp_path / "slow.c", tmp_path / "slow.so"
    source.write_text(SLOW)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    code = STATE + "device = start()\nassert mask(device) == mask(0) == everywhere, mask(device)\nfinish()\n"
    done = drive(tmp_path, code, {"LD_PRELOAD": "./slow.so"})
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize("processors", [1, 2])
def test_mask_of_the_program(tmp_path: Path, processors: int) -> None:
    """A program with fewer processors than there are: its devices have these."""
    some = sorted(os.sched_getaffinity(0))[-processors:]
    build_image(tmp_path, IMAGE, "-D_GNU_SOURCE")
    done = drive(
        tmp_path,
        f"os.sched_setaffinity(0, {some})\n"
        + STATE
        + """
start()
(function, _), = p.load(0, folder + '/image.so')
to = p.words(0, 0, 0, 0, 0, 0)
p.run(0, function, p.words(0, to), p.arguments(1, 0))
seen = [int.from_bytes(p.get(0, to + 8 * i, 8), 'little') for i in range(5)]
assert seen == [word, len(everywhere), word, len(everywhere), len(everywhere)], seen
finish()
""",
    )
    assert (done.stderr, done.returncode) == ("", 0)

"""Devices written in Python: whole programs on the example's device, and every way in which a class can be wrong."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from driver_tools import Tools, has_all, needs
from plugin_tools import MAPS, ROOT, SMALL, TRACER, build

from gompy.driver import paths
from gompy.plugins.python import Device, Image, Launch, Table, dispatch

LIBRARY = Path(paths.LIBDIR) / "libgomp-plugin-python.so.1"
pytestmark = [has_all, needs("gcc"), pytest.mark.skipif(not LIBRARY.exists(), reason="the plugin is not built")]

GOOD = """
import ctypes
from gompy.plugins.python import Device, Launch, Table
from gompy.plugins.python.images import LoadedImage

class Good(Device):
    name = "good"
    def __init__(self): self.blocks, self.images = {}, []
    def load_image(self, device, image):
        self.images.append(LoadedImage(image.data))
        return self.images[-1].table
    def alloc(self, device, size):
        block = ctypes.create_string_buffer(size)
        self.blocks[ctypes.addressof(block)] = block
        return ctypes.addressof(block)
    def free(self, device, address): del self.blocks[address]
    def host2dev(self, device, address, data): ctypes.memmove(address, bytes(data), len(data))
    def dev2host(self, device, data, address): data[:] = ctypes.string_at(address, len(data))
    def run(self, device, function, variables, launch): LoadedImage.call(function, variables)
"""
"""A device in the program's own process, with blocks of its own."""


@pytest.fixture(scope="module")
def small(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(Tools(bin_folder, tmp_path_factory.mktemp("small")), "small.c", SMALL)


@pytest.fixture(scope="module")
def maps(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(Tools(bin_folder, tmp_path_factory.mktemp("maps")), "maps.c", MAPS)


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    return Tools(bin_folder, tmp_path)


def on_python(
    tools: Tools, program: Path, device: str, *arguments: str, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a program with a class as its device."""
    return tools.run(program, *arguments, env={"GOMPY_PLUGINS": "python", "GOMPY_PYTHON_DEVICE": device, **env})


def good(tools: Tools, changes: str = "", name: str = "mine") -> str:
    """Write the class Mine, a Good with changes; returns what names it."""
    body = "\n".join(f"    {line}" for line in changes.splitlines()) or "    pass"
    return f"{tools.write(f'{name}.py', f'{GOOD}' + chr(10) + f'class Mine(Good):{chr(10)}{body}{chr(10)}')}:Mine"


def test_the_example_program(tools: Tools) -> None:
    folder = tools.work / "example"
    shutil.copytree(TRACER.parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    tools.ok("gompcc", "-O2", "-fopenmp", folder / "histogram.c", "-o", "histogram")
    done = on_python(
        tools, tools.work / "histogram", str(folder / "tracer.py") + ":Tracer", "to", "be", "or", "not", "to"
    )
    assert done.returncode == 0, done.stderr
    assert "o 4\n" in done.stdout and "t 3\n" in done.stdout and "\n0 regions on the host\n" in done.stdout
    assert done.stderr.count("tracer: run(") == 5 and done.stderr.count("tracer: load_image(") == 1
    assert done.stderr.count("tracer: alloc(") == done.stderr.count("tracer: free(") == 5
    code = [line for line in TRACER.read_text().splitlines() if line.strip() and not line.strip().startswith("#")]
    assert len(code) < 80, "the example is to be short"


def test_fruit_keeps_its_variables_on_the_device(tools: Tools) -> None:
    tools.ok("gompcc", "-O2", "-fopenmp", *sorted((ROOT / "examples/fruit").glob("*.c")), "-o", "fruit")
    done = on_python(tools, tools.work / "fruit", f"{TRACER}:Tracer", GOMPY_STATS="1")
    assert done.returncode == 0 and "WRONG" not in done.stdout, done.stdout
    assert "on the host: apple_pips 100, banana_bunch 200, citron_drops 300" in done.stdout
    assert "6 on device 0 (tracer), 0 on the host" in done.stderr


def test_maps_of_every_kind(tools: Tools, maps: Path) -> None:
    done = on_python(tools, maps, f"{TRACER}:Tracer", GOMPY_STATS="1")
    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stderr[-2000:]
    assert "18 on device 0 (tracer), 0 on the host" in done.stderr


def test_fortran(tools: Tools) -> None:
    text = "program p\ninteger :: a(100)\na = 1\n!$omp target map(tofrom: a)\na = a + 41\n!$omp end target\n"
    program = build(tools, "p.f90", text + "print *, sum(a)\nend program\n")
    done = on_python(tools, program, f"{TRACER}:Tracer", OMP_TARGET_OFFLOAD="mandatory")
    assert (done.returncode, done.stdout.strip()) == (0, "4200")


def test_output_of_a_region_comes_before_what_follows(tools: Tools) -> None:
    text = "#include <stdio.h>\nint main (void) { for (int i = 0; i < 3; i++) {\n#pragma omp target\n"
    program = build(
        tools, "p.c", text + 'printf ("in %d\\n", i);\nprintf ("after %d\\n", i); fflush (stdout); } return 0; }\n'
    )
    done = on_python(tools, program, f"{TRACER}:Tracer")
    assert done.stdout == "in 0\nafter 0\nin 1\nafter 1\nin 2\nafter 2\n"


def test_a_module_by_name(tools: Tools, small: Path) -> None:
    good(tools)
    beside = on_python(tools, small, "mine:Mine")
    tools.work.joinpath("sub").mkdir()
    shutil.move(tools.work / "mine.py", tools.work / "sub")
    by_path = on_python(tools, small, "mine:Mine", PYTHONPATH=str(tools.work / "sub"))
    assert (beside.stdout, by_path.stdout) == ("s 4\n", "s 4\n"), beside.stderr + by_path.stderr


def test_beside_another_plugin(tools: Tools, small: Path) -> None:
    for plugins, number, name in (("python,intelmic", "0", "good"), ("intelmic,python", "1", "good")):
        env = {"GOMPY_STATS": "1", "OMP_DEFAULT_DEVICE": number, "GOMPY_PLUGINS": plugins}
        done = on_python(tools, small, good(tools), **env)
        assert done.stdout == "s 4\n" and f"1 on device {number} ({name})" in done.stderr, done.stderr


def test_several_devices_of_a_class_and_what_a_launch_asks_for(tools: Tools) -> None:
    text = "#include <stdio.h>\nint main (void) { int s = 0; for (int d = 0; d < 3; d++) {\n"
    text += "#pragma omp target teams num_teams(d + 2) thread_limit(5) device(d) map(tofrom: s)\ns++;\n"
    program = build(tools, "p.c", text + 'printf ("%d\\n", s > 0); } return 0; }\n')
    changes = "num_devices = 3\ndef run(self, device, function, variables, launch):\n    print(device, launch)\n"
    done = on_python(tools, program, good(tools, changes + "    super().run(device, function, variables, launch)"))
    expected = "".join(f"{d} Launch(num_teams={d + 2}, thread_limit=5)\n" for d in range(3))
    assert [line for line in done.stdout.splitlines(True) if "Launch" in line] == expected.splitlines(True), done.stderr
    assert done.returncode == 0


def test_launch_without_teams_is_one_team(tools: Tools) -> None:
    """As gcc 12 says it, and as gcc 13 and later do: -2."""
    text = """#include <stddef.h>
typedef void ext (int, void (*) (void *), size_t, void **, size_t *, unsigned short *, unsigned, void **, void **);
extern ext __real_GOMP_target_ext;
void __wrap_GOMP_target_ext (int d, void (*fn) (void *), size_t n, void **h, size_t *s, unsigned short *k, unsigned f,
                             void **dep, void **args)
{
  static int launches;
  if (launches++)
    args[0] = (void *) ((-2l << 16) | 0x100);
  __real_GOMP_target_ext (d, fn, n, h, s, k, f, dep, args);
}
int main (void) { int s = 0; for (int i = 0; i < 2; i++) {
#pragma omp target map(tofrom: s)
s++;
} return s != 2; }
"""
    program = tools.work / "wrapped"
    source = tools.write("wrapped.c", text)
    tools.ok("gompcc", "-fopenmp", "-Wl,--wrap=GOMP_target_ext", source, "-o", program)
    changes = "def run(self, device, function, variables, launch):\n    print(launch)\n"
    done = on_python(tools, program, good(tools, changes + "    super().run(device, function, variables, launch)"))
    assert done.stdout.count("Launch(num_teams=1, ") == 2, done.stdout + done.stderr


def test_can_run_sends_regions_to_the_host(tools: Tools, small: Path) -> None:
    done = on_python(tools, small, good(tools, "def can_run(self, function): return False"), GOMPY_STATS="1")
    assert done.stdout == "s 4\n" and "1 on the host: the device cannot run the region" in done.stderr


@pytest.mark.slow(sample=13)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            "def alloc(self, device, size): raise ValueError(f'no room for {size > 4}')",
            "Mine.alloc: ValueError: no room for True",
        ),
        (
            "def alloc(self, device, size): return 'here'",
            "Mine.alloc: AnswerError: it returned 'here', which is not a device",
        ),
        ("def alloc(self, device, size): return -1", "Mine.alloc: AnswerError: it returned -1,"),
        ("def alloc(self, device, size): return 1 << 64", "Mine.alloc: AnswerError: it returned 18446744073709551616,"),
        ("def alloc(self): pass", "Mine.alloc: TypeError: Mine.alloc() takes 1 positional argument"),
        ("def alloc(self, device, size): import sys; sys.exit(7)", "Mine.alloc: SystemExit: 7"),
        ("def init(self, device): 1 / 0", "Mine.init: ZeroDivisionError: division by zero"),
        (
            "def load_image(self, device, image): raise OSError(2, 'gone')",
            "Mine.load_image: FileNotFoundError: [Errno 2] gone",
        ),
        (
            "def load_image(self, device, image): return None",
            "Mine.load_image: AnswerError: it returned None, which is not a T",
        ),
        (
            "def load_image(self, device, image): return Table([0], [])",
            "Mine.load_image: AnswerError: 0 is not a function's",
        ),
        (
            "def load_image(self, device, image): return Table([5], [(7, 'x')])",
            "AnswerError: 7, 'x' is not a variable's",
        ),
        (
            "def load_image(self, device, image): return Table([5] * 4, [])",
            "Cannot map target functions or variables",
        ),
        (
            "def load_image(self, device, image): return Table([5], [(64, 99)])",
            "Cannot map target variables (size mismatch)",
        ),
        (
            "def host2dev(self, device, address, data): data[0] = 1",
            "Mine.host2dev: TypeError: cannot modify read-only memory",
        ),
        (
            "def dev2host(self, device, data, address): data[:] = b'12'",
            "Mine.dev2host: ValueError: memoryview assignment: lv",
        ),
        ("def free(self, device, address): raise KeyError(1)", "Mine.free: KeyError: 1"),
        ("def run(self, *words): raise RuntimeError('two\\nlines')", "Mine.run: RuntimeError: two lines"),
        ("class E(Exception):\n    def __str__(self): raise TypeError\ndef run(self, *words): raise self.E", "run: E"),
        ("def fini(self, device): raise RuntimeError('late')", "Mine.fini: RuntimeError: late"),
    ],
)
def test_a_failing_method_ends_the_program_with_one_line(tools: Tools, small: Path, changes: str, message: str) -> None:
    done = on_python(tools, small, good(tools, changes))
    assert done.returncode == 1, done
    assert message in done.stderr and "Traceback" not in done.stderr, done.stderr
    if not message.startswith("Cannot"):
        assert 'libgomp: device plugin "python": ' in done.stderr


def test_debug_output_has_the_traceback(tools: Tools, small: Path) -> None:
    done = on_python(tools, small, good(tools, "def run(self, *words): raise RuntimeError('x')"), GOMP_DEBUG="1")
    assert "Traceback (most recent call last)" in done.stderr and 'mine.py", line' in done.stderr


@pytest.mark.slow(sample=8)
@pytest.mark.parametrize(
    ("device", "text", "message"),
    [
        (None, "", "GOMPY_PYTHON_DEVICE is not set; it names the device: module:Class or path/to/file.py:Class"),
        ("nothing", "", "GOMPY_PYTHON_DEVICE=nothing is not of the form module:Class or path/to/file.py:Class"),
        (
            "no_such_module:X",
            "",
            "there is no module no_such_module (put its folder into PYTHONPATH, or name the file)",
        ),
        ("folder/no.py:X", "", "folder/no.py"),
        ("bad.py:X", "", "bad.py has no class X"),
        ("bad.py:X", "X = 3", "bad.py:X is not a class derived from gompy.plugins.python.Device"),
        ("bad.py:X", "class X(", "cannot import bad.py: SyntaxError: '(' was never closed (bad.py, line 1)"),
        (
            "bad.py:X",
            "import no_such_thing",
            "cannot import bad.py: ModuleNotFoundError: No module named 'no_such_thing'",
        ),
        ("bad:X", "import no_such_thing", "cannot import bad: ModuleNotFoundError: No module named 'no_such_thing'"),
        ("bad.py:X", "import sys; sys.exit(3)", "cannot import bad.py: SystemExit: 3"),
        (
            "bad.py:X",
            "from gompy.plugins.python import *\nclass X(Device): pass",
            "does not define alloc, dev2host, free,",
        ),
        ("bad.py:Y", GOOD + "class Y(Good):\n  num_devices = -1", "Y.num_devices is not a number from 0 to 1024: -1"),
        ("bad.py:Y", GOOD + "class Y(Good):\n  name = 7", "Y.name is not a word: 7"),
        ("bad.py:Y", GOOD + "class Y(Good):\n  capabilities = 12", "Y.capabilities is not a number from 0 to 7: 12"),
        ("bad.py:Y", GOOD + "class Y(Good):\n  def __init__(self): {}[1]", "Y: KeyError: 1"),
        ("json.py:Y", GOOD + "class Y(Good): pass", "s 4"),
        ("sys.py:Y", "", "a module sys is in use already; rename the file"),
    ],
)
def test_a_class_that_cannot_be_used(tools: Tools, small: Path, device: str | None, text: str, message: str) -> None:
    tools.write("bad.py", text)
    tools.write("sys.py", text)
    tools.write("json.py", text)
    env = {"GOMPY_PLUGINS": "python"} | ({"GOMPY_PYTHON_DEVICE": device} if device else {})
    done = tools.run(small, env=env)
    assert (done.returncode, done.stdout) == (0, "s 4\n"), done.stderr  # on the host
    assert message in done.stderr + done.stdout and "Traceback" not in done.stderr, done.stderr
    if done.stderr:
        assert len(done.stderr.strip().splitlines()) == 1
        must = tools.run(small, env={**env, "OMP_TARGET_OFFLOAD": "mandatory"})
        assert must.returncode == 1 and "OMP_TARGET_OFFLOAD is set to MANDATORY, but device not found" in must.stderr


def test_the_interpreter_that_is_asked_for(tools: Tools, small: Path) -> None:
    where = good(tools, "def init(self, device):\n    import sys\n    print(sys.executable, sys.prefix)")
    done = on_python(tools, small, where, GOMPY_PYTHON=sys.executable)
    assert done.stdout == f"{sys.executable} {sys.prefix}\ns 4\n", done.stderr
    done = on_python(tools, small, where, GOMPY_PYTHON="/no/python")
    assert (done.returncode, done.stdout) == (0, "s 4\n")
    assert done.stderr.strip() == 'libgomp: device plugin "python": GOMPY_PYTHON=/no/python is not a program'
    done = on_python(tools, small, where, PYTHONHOME="/no/home", PYTHONPATH=f"/no/{tools.work}", PYTHONSTARTUP="x")
    assert done.stdout.endswith("\ns 4\n"), done.stderr


def test_a_peer_that_is_gone_is_an_exception_not_sigpipe(tools: Tools, small: Path) -> None:
    changes = "def run(self, *words):\n    import os\n    r, w = os.pipe(); os.close(r); os.write(w, b'x')"
    done = on_python(tools, small, good(tools, changes))
    assert done.returncode == 1 and "Mine.run: BrokenPipeError" in done.stderr


def test_the_programs_signals_and_locale_stay_its_own(tools: Tools) -> None:
    text = r"""
    #include <locale.h>
    #include <signal.h>
    #include <stdio.h>
    #include <string.h>
    #include <stdlib.h>
    int main (void)
    {
      int x = 0;
    #pragma omp target map(tofrom: x)
      x = 1;
      struct sigaction a, b; sigset_t mask;
      sigaction (SIGINT, NULL, &a); sigaction (SIGPIPE, NULL, &b); pthread_sigmask (SIG_BLOCK, NULL, &mask);
      printf ("%d %d %d %d %s\n", x, a.sa_handler == SIG_DFL, b.sa_handler == SIG_DFL, sigismember (&mask, SIGPIPE),
              setlocale (LC_ALL, NULL));
      return 0;
    }
    """
    done = on_python(tools, build(tools, "p.c", text), good(tools), LC_ALL="C.UTF-8")
    assert done.stdout == "1 1 1 0 C\n", done


def test_exit_handlers_of_python_run(tools: Tools, small: Path) -> None:
    changes = "def init(self, device):\n    import atexit\n    atexit.register(print, 'at exit')\n"
    changes += "def fini(self, device): print('fini')"
    done = on_python(tools, small, good(tools, changes))
    assert done.stdout == "s 4\nfini\nat exit\n" or done.stdout == "fini\nat exit\ns 4\n"  # C's buffer is written last


def test_a_forked_child_runs_on_the_host_and_says_so(tools: Tools) -> None:
    text = """
    #include <stdio.h>
    #include <sys/wait.h>
    #include <unistd.h>
    int f (void) { int x = 0;
    #pragma omp target map(tofrom: x)
    x = 1;
    return x; }
    int main (void)
    { int s, before = f (); if (fork () == 0) _exit (f () + 1);
      wait (&s); printf ("%d %d %d\\n", before, WEXITSTATUS (s), f ()); return 0; }
    """
    done = on_python(tools, build(tools, "p.c", text), good(tools), GOMPY_STATS="1")
    assert (done.returncode, done.stdout) == (0, "1 2 1\n"), done.stderr
    assert 'device plugin "python": not usable in a forked child' in done.stderr
    assert "2 on device 0 (good), 0 on the host" in done.stderr


def test_no_device_process_outlives_its_host(tools: Tools, maps: Path) -> None:
    env = {**tools.env, "GOMPY_PLUGINS": "python", "GOMPY_PYTHON_DEVICE": f"{TRACER}:Tracer", "MARK": str(tools.work)}
    host = subprocess.Popen([str(maps)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=tools.work)
    assert host.stderr is not None
    assert host.stderr.readline().startswith(b"tracer: load_image")
    workers = marked(tools.work) - {host.pid}
    assert workers
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stderr.close()
    end = time.monotonic() + 60
    while marked(tools.work) and time.monotonic() < end:
        time.sleep(0.05)
    assert not marked(tools.work)


def marked(folder: Path) -> set[int]:
    """Processes that have the mark in their environment."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if b"MARK=" + os.fsencode(folder) in path.read_bytes().split(b"\0"):
                found.add(int(path.parent.name))
        except OSError:
            pass
    return found


def test_in_a_process_that_has_an_interpreter(tools: Tools) -> None:
    """A Python program that calls a C library with regions: the plugin uses the interpreter that is there."""
    text = "int f (int x) {\n#pragma omp target map(tofrom: x)\nx *= 2;\nreturn x; }\n"
    tools.write("f.c", text)
    tools.ok("gompcc", "-O2", "-fopenmp", "-fPIC", "-shared", "f.c", "-o", "libf.so")
    script = "import ctypes, sys, mine; f = ctypes.CDLL('./libf.so').f; print(f(21)); print(mine.Mine.seen)\n"
    script += "import threading; t = threading.Thread(target=lambda: print(f(4))); t.start(); t.join()\n"
    tools.write("s.py", script)
    changes = "seen = []\ndef run(self, *words):\n    self.seen.append(1)\n    super().run(*words)\n"
    where = good(tools, changes + "def fini(self, device): print('fini')")
    env = {"GOMPY_PLUGINS": "python", "GOMPY_PYTHON_DEVICE": where, "PYTHONPATH": f"{tools.work}:{ROOT}"}
    done = tools.run(sys.executable, "s.py", env=env)
    assert (done.returncode, done.stdout) == (0, "42\n[1]\n8\nfini\n"), done.stderr


def test_a_region_behind_the_end_of_python(tools: Tools) -> None:
    """What Python calls at its end, the last first, may be registered before the first region, and have one."""
    tools.write("f.c", "int f (int x) {\n#pragma omp target map(tofrom: x)\nx *= 2;\nreturn x; }\n")
    tools.ok("gompcc", "-O2", "-fopenmp", "-fPIC", "-shared", "f.c", "-o", "libf.so")
    script = "import atexit, ctypes; f = ctypes.CDLL('./libf.so').f; atexit.register(f, 1); print(f(21), flush=True)\n"
    tools.write("s.py", script)
    env = {"GOMPY_PLUGINS": "python", "GOMPY_PYTHON_DEVICE": good(tools), "PYTHONPATH": str(ROOT)}
    done = tools.run(sys.executable, "s.py", env=env)
    said = 'libgomp: device plugin "python": not usable any more: the program\'s Python has ended\n'
    assert done.stdout == "42\n" and said in done.stderr, done.stderr


class Plain(Device):
    """A device of bytes in a dictionary, for the parts in Python."""

    def __init__(self) -> None:
        self.memory: dict[int, int] = {}

    def load_image(self, device: int, image: Image) -> Table:
        return Table([1, 2], [(16, 4)], 64)

    def alloc(self, device: int, size: int) -> int:
        return 4096

    def free(self, device: int, address: int) -> None:
        pass

    def host2dev(self, device: int, address: int, data: memoryview) -> None:
        self.memory.update(enumerate(data, address))

    def dev2host(self, device: int, data: memoryview, address: int) -> None:
        data[:] = bytes(self.memory[address + i] for i in range(len(data)))

    def run(self, device: int, function: int, variables: int, launch: Launch) -> None:
        pass


def test_dev2dev_goes_by_way_of_the_host_if_nothing_is_said() -> None:
    device = Plain()
    device.host2dev(0, 4096, memoryview(b"abcdef"))
    device.dev2dev(0, 4098, 4096, 4)  # overlapping
    block = bytearray(6)
    device.dev2host(0, memoryview(block), 4096)
    assert block == b"ababcd"


def test_pairs_of_a_table() -> None:
    pairs = dispatch.load_image(Plain(), 0, Image(1, 0, b""))
    assert pairs == [(1, 2), (2, 3), (16, 20), (64, 68)]

"""The command ``gompy run``: what becomes of its options, exit statuses, which programs it does not run."""

from __future__ import annotations

import fcntl
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from driver_tools import ROOT, Tools, has_all, needs
from llvm_tools import needs_clang

pytestmark = has_all

FRUITS = ("apple.c", "banana.c", "citron.c", "main.c")
ON_DEVICE = "on the host: apple_pips 100, banana_bunch 200, citron_drops 300"
ON_HOST = "on the host: apple_pips 111, banana_bunch 211, citron_drops 311"
has_nvptx = needs("x86_64-linux-gnu-accel-nvptx-none-gcc-12")
STOCK_LINK = ("-foffload=nvptx-none", "-foffload-options=nvptx-none=-Wa,--no-verify")
SIGNALS = r"""
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main (int argc, char **argv)
{
  int x = argc > 1 ? atoi (argv[1]) : 0;
#pragma omp target map(tofrom: x)
  x += 1;
  if (argc > 2)
    raise (x - 1);
  return x - 1;
}
"""


@pytest.fixture(scope="module")
def built(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Tools:
    tools = Tools(bin_folder, tmp_path_factory.mktemp("run"))
    tools.env |= {"LC_ALL": "C", "GOMPY_CUDA_MEMORY": "256M"}
    for path in (ROOT / "examples/fruit").iterdir():
        shutil.copy(path, tools.work)
    tools.ok("gompcc", "-g", "-fopenmp", *FRUITS, "-o", "fruit")
    tools.write("status.c", SIGNALS)
    tools.ok("gompcc", "-fopenmp", "status.c", "-o", "status")
    tools.ok("gcc", "-c", "-o", "object.o", "main.c")
    return tools


def gompy_run(tools: Tools, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return tools.run("gompy", "run", *words, env=env)


def ignored(status: str) -> int:
    """The signals that a process ignores, bit by bit."""
    return int(status.partition("SigIgn:\t")[2][:16], 16)


@pytest.mark.parametrize("words", [["run", "--any"], ["run", "--any", "--info"], ["cuda", "run"]], ids=" ".join)
def test_signals_are_as_usual(built: Tools, words: list[str]) -> None:
    """Python ignores SIGPIPE and SIGXFSZ; a program in its place is ended by them, as by a shell's."""
    shown = built.ok("gompy", *words, "cat", "/proc/self/status")
    assert ignored(shown) == ignored(built.ok("cat", "/proc/self/status"))
    assert not ignored(shown) & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)


@pytest.mark.parametrize(
    ("option", "file", "why"),
    [
        ("--trace", "/nodir/x", "No such file or directory"),
        ("--trace", "fruit/x", "Not a directory"),
        ("--trace", ".", "Is a directory"),
        ("--trace", "/dev/null", "it is no regular file"),
        ("--check-json", "/nodir/x", "No such file or directory"),
        ("--check-sarif", "nodir/x", "No such file or directory"),
    ],
)
def test_files_that_cannot_be_written(built: Tools, option: str, file: str, why: str) -> None:
    """That is seen before the program runs, and told by the option."""
    done = gompy_run(built, "--check", option, file, "./fruit")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"gompy run: error: {option} {file}: {why}\n"


def test_a_program_runs_as_it_is(built: Tools) -> None:
    done = gompy_run(built, "./fruit")
    assert (done.returncode, done.stderr, done.stdout.splitlines()[-1]) == (0, "", ON_DEVICE)
    assert gompy_run(built, "--", "./status", "7").returncode == 7
    path = f"{built.work}:{built.env['PATH']}"
    assert gompy_run(built, "fruit", PATH=path).stdout.splitlines()[-1] == ON_DEVICE


@pytest.mark.parametrize(("signal", "status"), [(11, 139), (15, 143), (2, 130)])
def test_a_signal_is_the_programs(built: Tools, signal: int, status: int) -> None:
    done = built.run("bash", "-c", f"gompy run ./status {signal} raise; echo $?")
    assert done.stdout.splitlines()[-1] == str(status)


WAITS = """
#include <stdio.h>
#include <unistd.h>
int main (void)
{
  int x = 1;
#pragma omp target enter data map(to: x)
  puts ("begun");
  fflush (stdout);
  pause ();
}
"""


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_for_the_command_is_the_programs(built: Tools, tmp_path: Path, number: signal.Signals) -> None:
    """Who ends ``gompy run`` ends the program, is told what was found until then, and no file is left."""
    built.write("waits.c", WAITS)
    built.ok("gompcc", "-g", "-fopenmp", "waits.c", "-o", "waits")
    words = ["gompy", "run", "--check", "--info", "./waits"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=built.work, env={**built.env, "TMPDIR": str(tmp_path)}, preexec_fn=lambda: signal.signal(number, 0),
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(number)
        said = process.stderr.read()  # to the end of what the program has it from, too
        assert process.wait() == 128 + number
    assert "x" in said and "waits.c:7" in said
    assert not list(tmp_path.iterdir())


def test_a_program_does_not_outlive_its_command(built: Tools) -> None:
    """As when a time limit kills the command, and waits for the end of the pipe that the program has open."""
    words = ["gompy", "run", "--any", "--info", "sh", "-c", "echo begun; exec sleep 1000"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=built.work, env=built.env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.kill()
        assert select.select([process.stdout], [], [], 100)[0] and process.stdout.read() == ""


COUNTS = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile sig_atomic_t times;
static void count (int number) { times++; }
int main (int argc, char **argv)
{
  sigset_t set;
  int number = atoi (argv[1]), before = 0, came;
  sigemptyset (&set);
  sigaddset (&set, SIGUSR1);
  sigprocmask (SIG_BLOCK, &set, NULL);
  signal (number, count);
  puts ("begun");
  fflush (stdout);
  while (times == 0)
    usleep (1000);
  puts ("came");
  fflush (stdout);
  sigwait (&set, &came);
  printf ("%d\n", times);
}
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_what_a_terminal_sends_comes_once(built: Tools, tmp_path: Path, number: signal.Signals) -> None:
    """Of a key the program has it from the terminal.  Of one that goes away the leader of the session has it alone.

    What is sent to the command alone, later, comes behind it.
    """
    built.write("counts.c", COUNTS)
    built.ok("gcc", "-w", "counts.c", "-o", "counts")
    terminal, theirs = os.openpty()
    words = ["gompy", "run", "--any", "--info", "./counts", str(number.value)]
    with subprocess.Popen(
        words, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        cwd=built.work, env=built.env, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        os.close(theirs)
        assert process.stdout.readline() == "begun\n"
        if number == signal.SIGINT:
            os.write(terminal, b"\x03")
        else:
            os.close(terminal)
        assert process.stdout.readline() == "came\n"
        process.send_signal(signal.SIGUSR1)
        assert process.stdout.read() == "1\n"
        assert process.wait() == 0
    if number == signal.SIGINT:
        os.close(terminal)


def test_a_status_where_ends_of_children_are_ignored() -> None:
    """Nobody would learn it, nor that the program has ended; the program ignores them as it would have."""
    script = (
        "import os, signal\n"
        "from gompy.tools.child import run_child\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "print(run_child(['sh', '-c', 'exit 3'], dict(os.environ)), flush=True)\n"
        "run_child(['cat', '/proc/self/status'], dict(os.environ))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.startswith("3\n") and ignored(done.stdout) & (1 << signal.SIGCHLD - 1)


def test_a_signal_that_may_not_be_sent_ends_nothing() -> None:
    """As to a program that sudo has started: it is waited for all the same."""
    script = (
        "import os\n"
        "from gompy.tools.child import run_child\n"
        "def refuse(child, number):\n"
        "    raise PermissionError(1, 'Operation not permitted')\n"
        "os.kill = refuse\n"
        "print(run_child(['sh', '-c', 'kill -TERM $PPID; exit 3'], dict(os.environ)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_is_ignored_stays_so(built: Tools, number: signal.Signals) -> None:
    """As by nohup, or for a job in the background."""
    shown = built.run("sh", "-c", f"trap '' {number.value}; exec gompy run --any --info cat /proc/self/status").stdout
    assert ignored(shown) & (1 << number - 1)


def test_device_and_mandatory(built: Tools) -> None:
    assert gompy_run(built, "--device", "host", "./fruit").stdout.splitlines()[-1] == ON_HOST
    assert gompy_run(built, "--device=intelmic", "--mandatory", "./fruit").stdout.splitlines()[-1] == ON_DEVICE
    done = gompy_run(built, "--devices", "0", "--mandatory", "./fruit")
    assert done.returncode == 1 and "OMP_TARGET_OFFLOAD is set to MANDATORY" in done.stderr
    done = gompy_run(built, "--device", "intelmic", "./fruit", OMP_TARGET_OFFLOAD="disabled")
    assert done.stdout.splitlines()[-1] == ON_DEVICE


def test_devices(built: Tools) -> None:
    done = gompy_run(built, "--info", "--devices", "3", "./fruit", OMP_DEFAULT_DEVICE="2")
    assert "6 on device 2 (intelmic)" in done.stderr


INFO = r"""
#include <stdlib.h>
int main (void)
{
  int x = 0, *a = calloc (100, sizeof *a);
#pragma omp target data map(to: a[0:100])
  for (int i = 0; i < 3; i++)
    {
#pragma omp target map(tofrom: x)
      x += a[0];
#pragma omp target update to(a[0:50])
    }
#pragma omp target if(0)
  x++;
  free (a);
  return x;
}
"""
INFO_TABLES = """\
libgompy: regions: 3 on device 0 (intelmic), 1 on the host: the host was asked for (if clause, or number of the \
initial device)

region          where      runs  ms  to device  from device  on
main._omp_fn.0  info.c:9   3     #   60         12           device 0
main._omp_fn.1  info.c:13  1     #   0          0            the host: the host was asked for (if clause, or \
number of the initial device)

variable  where     bytes  mapped  copies  to device  from device  redundant  bytes of these
a         info.c:6  400    1       4       1000       0            2          400
x         info.c:9  4      3       6       12         12           5          20
"""


def test_info_of_regions_and_variables(built: Tools) -> None:
    """Bytes of a region with those of its arguments; which copies changed nothing."""
    built.write("info.c", INFO)
    built.ok("gompcc", "-g", "-fopenmp", "info.c", "-o", "info")
    done = gompy_run(built, "--info", "./info")
    assert done.returncode == 0
    shown = re.sub(r"\d+\.\d{3}", "#", done.stderr)
    assert [line.split() for line in shown.splitlines()] == [line.split() for line in INFO_TABLES.splitlines()]
    both = gompy_run(built, "--info", "--check", "./info").stderr
    assert re.sub(r" +", " ", re.sub(r"\d+\.\d{3}", "#", both)) == re.sub(r" +", " ", shown)


ROWS = r"""#include <stdlib.h>
int part[4];
#pragma omp declare target (part)
static void twice (int *v, int n)
{
  #pragma omp target map(alloc: v[:n])
  for (int i = 0; i < n; i++) v[i] *= 2;
}
int main (void)
{
  int *a = calloc (100, sizeof *a);
  #pragma omp target data map(tofrom: a[:100])
  {
    twice (a, 100);
    #pragma omp target update from(a[50:10])
  }
  #pragma omp target update to(part)
  return a[3];
}
"""


@pytest.mark.slow
@needs_clang
def test_info_of_a_program_by_clang(built: Tools) -> None:
    """Memory has the name by which it was mapped, also where an update has a part of it, or a function a parameter."""
    built.write("rows.c", ROWS)
    built.ok("gompclang", "-g", "-O1", "-fopenmp", "rows.c", "-o", "rows")
    lines = gompy_run(built, "--info", "./rows").stderr.splitlines()
    assert [line.split() for line in lines[-2:]] == [
        ["a", "rows.c:12", "400", "1", "3", "400", "440", "2", "440"],
        ["part", "rows.c:17", "16", "0", "1", "16", "0", "0", "0"],
    ]
    lines = gompy_run(built, "--device", "host", "--info", "./rows").stderr.splitlines()
    assert lines[0] == "libgompy: regions: 1 on the host: OMP_TARGET_OFFLOAD is disabled"
    assert lines[-1].split()[1:3] == ["rows.c:6", "1"]
    assert lines[-1].endswith("the host: OMP_TARGET_OFFLOAD is disabled")


ACC = r"""#include <stdlib.h>
int main (void)
{
  int a[64] = {0}, b[8] = {0};
  #pragma acc parallel copy(a) copyin(b)
  a[3] = b[2];
  #pragma acc parallel copy(b) async(3)
  b[1] = 2;
  #pragma acc wait
  return a[3];
}
"""


@pytest.mark.slow
def test_info_of_openacc(built: Tools) -> None:
    """A region's bytes are those of the construct's clauses, and of its arguments; a queue's as well."""
    built.write("acc.c", ACC)
    built.ok("gompcc", "-g", "-fopenacc", "acc.c", "-o", "acc")
    done = gompy_run(built, "--info", "./acc")
    rows = sorted(line.split() for line in done.stderr.splitlines() if "_omp_fn" in line)
    assert [row[:3] + row[4:] for row in rows] == [
        ["main._omp_fn.0", "acc.c:5", "1", "288", "256", "device", "0"],
        ["main._omp_fn.1", "acc.c:7", "1", "32", "32", "device", "0"],
    ]
    told = gompy_run(built, "--show-maps", "./acc").stderr.splitlines()
    assert [line for line in told if "region" in line] == [
        "acc.c:5 region main._omp_fn.0 on device 0",
        "acc.c:7 region main._omp_fn.1 on device 0",
    ]
    lines = gompy_run(built, "--device", "host", "--info", "./acc").stderr.splitlines()
    assert lines[0] == "libgompy: regions: 2 on the host: the host is the thread's device"


def test_info_of_a_program_that_is_killed(built: Tools) -> None:
    done = gompy_run(built, "--info", "./status", "9", "raise")
    assert done.returncode == 137


def test_check(built: Tools) -> None:
    built.write(
        "over.c",
        "#include <stdlib.h>\nint main (void)\n{\n  int *a = calloc (4, 4), i = 4;\n"
        "#pragma omp target map(tofrom: a[:4])\n  a[i] = 1;\n  return 0;\n}\n",
    )
    built.ok("gompcc", "-g", "-fopenmp", "over.c", "-o", "over")
    assert gompy_run(built, "./over").returncode == 0
    for option in ("--check", "--check=memory"):
        done = gompy_run(built, option, "./over")
        assert done.returncode == 86 and "over.c:6" in done.stderr
        assert "0 bytes past the end of the 16 bytes" in done.stderr


def test_under_a_tool(built: Tools) -> None:
    """The device process runs under the command, the program does not.  Words are a shell's."""
    tool = built.write("a tool", '#!/bin/sh\nfor word; do echo "under: ${word##*/}" >&2; done\nshift 3\nexec "$@"\n')
    tool.chmod(0o755)
    done = gompy_run(built, "--under", f"""{shlex.quote(str(tool))} 'a  "b' "it's"\\ \\"x"" 'y'""", "./fruit")
    assert done.stdout.splitlines()[-1] == ON_DEVICE
    words = done.stderr.splitlines()
    assert words[:4] == ['under: a  "b', "under: it's \"x", "under: y", "under: offload_target_main"]


@pytest.mark.slow
@has_nvptx
def test_programs_of_stock_gcc(built: Tools) -> None:
    """libgompy is preloaded, the nvptx image runs on the emulated GPU."""
    built.ok("gcc", "-g", "-fopenmp", *STOCK_LINK, *FRUITS, "-o", "stock")
    done = gompy_run(built, "--info", "./stock", GOMPY_CUDA="emulated")
    assert done.stdout.splitlines()[-1] == ON_DEVICE
    assert "6 on device 0 (nvptx)" in done.stderr
    done = gompy_run(built, "--device", "nvptx", "./fruit")
    assert done.returncode == 126
    assert done.stderr == "gompy run: error: ./fruit: it has no code for nvptx, only for intelmic\n"
    done = gompy_run(built, "--device", "intelmic", "./stock")
    assert done.stderr == "gompy run: error: ./stock: it has no code for intelmic, only for nvptx\n"


def test_a_library_with_regions_counts(built: Tools) -> None:
    """The program was linked by gcc: libgomp comes before the library's libgompy, and must not be asked."""
    built.ok("gompcc", "-fopenmp", "-fPIC", "-shared", "apple.c", "banana.c", "citron.c", "-o", "libfruit.so")
    built.ok("gcc", "-fopenmp", "main.c", "-L.", "-lfruit", "-Wl,-rpath,$ORIGIN", "-o", "linked")
    assert gompy_run(built, "./linked").stdout.splitlines()[-1] == ON_DEVICE
    script = "import ctypes; ctypes.CDLL('./libfruit.so').apple_peel"
    assert gompy_run(built, "--any", sys.executable, "-c", script).returncode == 0


NOT_RUN = (
    ("./missing", 127, "./missing: No such file or directory"),
    ("no-such-program", 127, "no-such-program: No such file or directory"),
    ("fruit", 127, "fruit: No such file or directory in PATH; ./fruit is here"),
    ("./main.c", 126, "./main.c: Permission denied: it is not executable"),
    ("./", 126, "./: Is a directory"),
    ("./static", 126, "./static: it is static: devices come with a shared library; link it without -static"),
    ("./lib.so", 126, "./lib.so: it is no program, but a shared library"),
    ("./object", 126, "./object: it is no program, but a relocatable file"),
    ("./script", 126, "./script: it is no ELF program, so it has no regions; --any runs it all the same"),
    (
        "./plain",
        126,
        "./plain: it has no target regions, nor has a library that it is linked with (compiled without -fopenmp "
        "or -fopenacc?); --any runs it all the same",
    ),
)


@pytest.fixture(scope="module")
def strange(built: Tools) -> Tools:
    built.write("plain.c", "int main (void) { return 3; }\n")
    built.ok("gcc", "plain.c", "-o", "plain")
    built.run("gompcc", "-fopenmp", "-static", *FRUITS, "-o", "static")
    built.ok("gompcc", "-fopenmp", "-fPIC", "-shared", "apple.c", "-o", "lib.so")
    shutil.copy(built.work / "object.o", built.work / "object")
    (built.work / "object").chmod(0o755)
    built.write("script", "#!/bin/sh\nexit 5\n").chmod(0o755)
    return built


@pytest.mark.slow(sample=6)
@pytest.mark.parametrize(("program", "status", "line"), NOT_RUN, ids=[row[0] for row in NOT_RUN])
def test_what_is_not_run(strange: Tools, program: str, status: int, line: str) -> None:
    done = gompy_run(strange, program)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", f"gompy run: error: {line}\n")


def test_any_program(strange: Tools) -> None:
    assert gompy_run(strange, "--any", "./script").returncode == 5
    assert gompy_run(strange, "--any", "./plain").returncode == 3


DATA_ONLY = {
    "data": """
int main (void)
{
  int a[16] = { 1 };
#pragma omp target enter data map(to: a)
#pragma omp target exit data map(from: a)
  return a[0] + 2;
}
""",
    "acc": """
int main (void)
{
  int a[16] = { 1 };
#pragma acc data copy(a)
  a[1] = 2;
  return a[0] + 2;
}
""",
    "routines": """
#include <omp.h>
int main (void)
{
  void *p = omp_target_alloc (64, omp_get_default_device ());
  omp_target_free (p, omp_get_default_device ());
  return p != 0 ? 3 : 4;
}
""",
}


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("compiler", ["gompcc", "gcc"])
@pytest.mark.parametrize("name", DATA_ONLY)
def test_a_program_with_data_alone_runs(built: Tools, name: str, compiler: str) -> None:
    """No region, but directives or routines for a device's data: --any is not wanted, and --check sees them."""
    built.write(f"{name}.c", DATA_ONLY[name])
    kind = "-fopenacc" if name == "acc" else "-fopenmp"
    off = () if compiler == "gompcc" else ("-foffload=disable",)
    built.ok(compiler, "-g", kind, *off, f"{name}.c", "-o", f"{name}-{compiler}")
    done = gompy_run(built, f"./{name}-{compiler}")
    assert (done.returncode, done.stderr) == (3, "")
    assert gompy_run(built, "--check", f"./{name}-{compiler}").returncode == 3
    if name == "data":
        mapped = gompy_run(built, "--show-maps", f"./{name}-{compiler}").stderr
        assert "map(to: a[0:16])" in mapped or "64 bytes to" in mapped


def test_a_host_program_of_openmp_is_none_of_ours(built: Tools) -> None:
    built.write("parallel.c", "int main (void)\n{\n#pragma omp parallel\n  { }\n  return 3;\n}\n")
    built.ok("gompcc", "-fopenmp", "parallel.c", "-o", "parallel")
    done = gompy_run(built, "./parallel")
    assert done.returncode == 126 and "it has no target regions" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of others")
def test_privileged_programs(built: Tools) -> None:
    for mode, which in ((0o4755, "set-user-ID"), (0o2755, "set-group-ID")):
        shutil.copy(built.work / "fruit", built.work / "privileged")
        os.chown(built.work / "privileged", 1234, 1234)
        (built.work / "privileged").chmod(mode)
        done = gompy_run(built, "./privileged")
        assert (done.returncode, done.stderr) == (
            126,
            f"gompy run: error: ./privileged: it is {which}: its caller's variables, all that gompy run sets, do not "
            "count in it\n",
        )


def test_usage(built: Tools) -> None:
    for words, text in (
        ((), "which program? (gompy run [options] PROG [ARG...])"),
        (("--check",), "which program? (gompy run [options] PROG [ARG...])"),
        (("--devices", "many", "./fruit"), "argument --devices: 'many' is no number of devices from 0 to 64"),
        (("--device", "host", "--mandatory", "./fruit"), "--device host and --mandatory exclude each other"),
        (("--no-such", "./fruit"), "unrecognized arguments: --no-such"),
    ):
        done = gompy_run(built, *words)
        assert done.returncode == 2 and done.stderr.endswith(f"gompy run: error: {text}\n")
    assert "gompy run --device nvptx ./prog" in built.ok("gompy", "run", "--help")
    done = gompy_run(built, "--device", "nvptx", "--devices", "17", "./status")
    assert done.returncode in (2, 126)


def test_arguments_are_the_programs(built: Tools) -> None:
    """Options behind the program's name are its own, whatever they look like."""
    shown = gompy_run(built, "--any", "--check", "/bin/echo", "--check", "--device", "x").stdout
    assert shown == "--check --device x\n"


def test_under_rr(built: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program itself is recorded, with what it starts; without counters one line says so, and nothing runs."""
    from gompy.cli import run_rr
    from gompy.cli.run_program import RunError

    fake = tmp_path / "rr"
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    monkeypatch.setattr(run_rr, "reason_against", lambda: "")
    assert run_rr.rr_command([str(fake)], ["./a", "b"]) == [str(fake), "record", "./a", "b"]
    assert run_rr.rr_command([str(fake), "record", "-n"], ["./a"]) == [str(fake), "record", "-n", "./a"]
    assert run_rr.rr_command([str(fake), "-h"], ["./a"]) == [str(fake), "record", "-h", "./a"]
    with pytest.raises(RunError, match="not `rr replay`"):
        run_rr.rr_command([str(fake), "replay"], ["./a"])
    done = gompy_run(built, "--under", "/nonexistent/rr", "./fruit")
    assert (done.returncode, done.stderr) == (126, "gompy run: error: /nonexistent/rr: no such command: install rr\n")


def test_what_rr_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters of the processor, and leave to use them."""
    from gompy.cli.run_rr import reason_against

    counters, paranoid = tmp_path / "devices", tmp_path / "paranoid"
    counters.mkdir()
    (counters / "software").mkdir()
    paranoid.write_text("2\n")
    assert "no performance counters" in reason_against(str(counters), str(paranoid))
    assert "no performance counters" in reason_against(str(tmp_path / "none"), str(paranoid))
    (counters / "cpu_core").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert f"({paranoid} is 2): set it to 1" in reason_against(str(counters), str(paranoid))
    paranoid.write_text("1\n")
    assert reason_against(str(counters), str(paranoid)) == ""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    paranoid.write_text("4\n")
    assert reason_against(str(counters), str(paranoid)) == ""


@pytest.mark.skipif(not shutil.which("rr"), reason="not installed: rr")
def test_a_recording(built: Tools, tmp_path: Path) -> None:
    """Where rr works its replay prints the same; where it does not, our line says why, and rr says the same."""
    done = gompy_run(built, "--under", "rr", "./status", "7", _RR_TRACE_DIR=str(tmp_path))
    alone = built.run("rr", "record", "/bin/true", env={"_RR_TRACE_DIR": str(tmp_path / "alone")})
    if alone.returncode:
        assert done.returncode == 126 and done.stderr.startswith("gompy run: error: rr: "), done.stderr
        assert "performance counter" in alone.stderr
    else:
        assert done.returncode == 7

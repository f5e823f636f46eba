"""``gompy run --show-maps``: the words for each outcome.  docs/diagnosis.md shows OpenMP's, and a test compares it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from driver_tools import ROOT, Tools, has_all

pytestmark = has_all

OPENACC = r"""#include <openacc.h>
#include <stdlib.h>
struct pair { int first; double second; };
int main (int argc, char **argv)
{
  struct pair p = { 1, 2 };
  int grid[2][3] = { { 0 } };
  int *part = malloc (40 * sizeof *part);
#pragma acc data copy (grid) create (part[8:16])
  {
#pragma acc parallel present (grid) copyin (p)
    grid[1][1] = p.first;
#pragma acc update self (grid)
  }
  acc_copyin (part, 160);
  if (argc > 1)
    abort ();
  acc_delete (part, 160);
  return 3;
}
"""
LINES = """\
queue.c:9 map(alloc: part[8:16]) host # -> device #, new, count 1
queue.c:9 map(tofrom: grid) host # -> device #, new, count 1, 24 bytes to
queue.c:11 map(to: p) host # -> device #, new, count 1, 16 bytes to
queue.c:11 map(present: grid) host # -> device #, present, count 2
queue.c:11 region main._omp_fn.0 on device 0
queue.c:11 map(to: p) host # <- device #, removed
queue.c:11 map(present: grid) host # <- device #, kept, count 1
queue.c:13 update from(grid) host # <- device #, updated, count 1, 24 bytes from
queue.c:13 map(alloc: part[8:16]) host # <- device #, removed
queue.c:13 map(tofrom: grid) host # <- device #, removed, 24 bytes from
queue.c:15 map(to: part[0:40]) host # -> device #, new, count 1, 160 bytes to
queue.c:18 map(release: part[0:40]) host # <- device #, removed
"""


@pytest.fixture(scope="module")
def built(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Tools:
    tools = Tools(bin_folder, tmp_path_factory.mktemp("maps"))
    tools.env |= {"LC_ALL": "C"}
    tools.write("queue.c", OPENACC)
    tools.ok("gompcc", "-g", "-fopenacc", "queue.c", "-o", "queue")
    tools.ok("gompcc", "-fopenacc", "queue.c", "-o", "plain")
    return tools


def shown(tools: Tools, *words: str) -> tuple[int, list[str]]:
    done = tools.run("gompy", "run", "--show-maps", *words)
    return done.returncode, re.sub(r"0x[0-9a-f]+", "#", done.stderr).splitlines()


def test_openacc(built: Tools) -> None:
    """The exit status is the program's."""
    status, lines = shown(built, "./queue")
    assert (status, lines) == (3, LINES.splitlines())


PARTS = """\
acc_sections.c:6 map(tofrom: a[0:32]) host # -> device #, new, count 1, 128 bytes to
acc_sections.c:8 map(tofrom: a[0:32]) host # -> device #, present, count 2
acc_sections.c:8 region main._omp_fn.0 on device 0
acc_sections.c:8 map(tofrom: a[0:32]) host # <- device #, kept, count 1
acc_sections.c:11 update from(a[0:4]) host # <- device #, updated, count 1, 16 bytes from
acc_sections.c:11 map(tofrom: a[0:32]) host # <- device #, removed, 128 bytes from
acc_sections.c:13 map(to: a[0:8]) host # -> device #, new, count 1, 32 bytes to
acc_sections.c:14 map(release: a[0:8]) host # <- device #, removed
"""


def test_parts_of_one_array(built: Tools) -> None:
    """Each entry has its own section, also where the log has no record of it: OpenACC's update."""
    shutil.copy(ROOT / "tests" / "programs" / "acc_sections.c", built.work)
    built.ok("gompcc", "-g", "-fopenacc", "acc_sections.c", "-o", "parts")
    assert shown(built, "./parts") == (0, PARTS.splitlines())


@pytest.mark.slow
def test_what_a_member_points_to(built: Tools) -> None:
    """A class's own pointer, and in the tables of --info."""
    shutil.copy(ROOT / "tests" / "programs" / "member_pointer.cc", built.work)
    built.ok("gompc++", "-g", "-fopenmp", "member_pointer.cc", "-o", "member")
    status, lines = shown(built, "./member")
    assert status == 0
    assert lines[:4] == [
        "member_pointer.cc:10 map(tofrom: this[0:1]) host # -> device #, new, count 1, 16 bytes to",
        "member_pointer.cc:10 map(tofrom: this->p[0:10]) host # -> device #, new, count 1, 80 bytes to",
        "member_pointer.cc:10 map(attach: this->p) host # -> device #, attached, count 1",
        "member_pointer.cc:10 region values::twice._omp_fn.0 on device 0",
    ]
    table = built.run("gompy", "run", "--info", "./member").stderr
    assert re.search(r"\nthis->p +member_pointer\.cc:10 +80 +1 +2 +80 +80 ", table), table


REGISTERS = """\
held.c:7 map(tofrom: x[0:50]) host # -> device #, new, count 1, 200 bytes to
held.c:7 region main._omp_fn.0 on device 0
held.c:7 map(tofrom: x[0:50]) host # <- device #, removed, 200 bytes from
"""


def test_a_pointer_that_is_in_a_register(built: Tools) -> None:
    """At -O2 it is nowhere else."""
    built.write(
        "held.c",
        "#include <stdlib.h>\nint main (int argc, char **argv)\n{\n  (void) argv;\n"
        "  int *x = calloc (50, sizeof *x);\n  if (!x) return 1;\n#pragma omp target map(x[:50])\n  x[3] = 2;\n"
        "  argc += x[3];\n  free (x);\n  return argc;\n}\n",
    )
    built.ok("gompcc", "-g", "-O2", "-fopenmp", "held.c", "-o", "held")
    assert shown(built, "./held") == (3, REGISTERS.splitlines())


SHARED = """#include <stdio.h>
int main (void)
{
  int rounds = 2;
  for (int r = 0; r < rounds; r++)
    {
      int in[4][100] = { { r } }, sum[4] = { 0 };
      #pragma omp parallel for num_threads(4)
      for (int k = 0; k < 4; k++)
        {
          #pragma omp target map(to: in[k]) map(tofrom: sum[k:1])
          for (int i = 0; i < 100; i++) sum[k] += in[k][i];
        }
      if (sum[0] != r)
        return 1;
    }
  return 0;
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_what_the_threads_of_a_parallel_construct_share(built: Tools, level: str) -> None:
    """gcc hands it on by a structure in the enclosing frame, which is another thread's."""
    built.write("shared.c", SHARED)
    built.ok("gompcc", "-g", level, "-fopenmp", "shared.c", "-o", "shared")
    status, lines = shown(built, "./shared")
    made = [line.partition(" host")[0] for line in lines if ", new, " in line]
    assert status == 0 and len(made) == 16
    assert {line for line in made if "sum" not in line} == {"shared.c:11 map(to: in)"}
    assert {line for line in made if "sum" in line} <= {f"shared.c:11 map(tofrom: sum[{k}:1])" for k in range(4)} | {
        "shared.c:11 map(tofrom: sum)"
    }


DEFERRED = r"""
#include <stdlib.h>
int total;
__attribute__ ((noinline)) static void start (float *rows, int n)
{
  static double scale[4] = { 2, 2, 2, 2 };
  float *part = rows + 10;
#pragma omp target enter data map(to: rows[0:n]) nowait depend(out: total)
#pragma omp target map(to: scale) map(tofrom: part[0:5], total) nowait depend(inout: total)
  for (int i = 0; i < 5; i++)
    total += part[i] *= scale[i & 3];
#pragma omp target update from(rows[0:n]) nowait depend(inout: total)
#pragma omp target exit data map(delete: rows[0:n]) nowait depend(inout: total)
}
int main (void)
{
  float *heap = calloc (100, sizeof *heap);
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    start (heap, 100);
    volatile char other[400] = { 1 };
#pragma omp taskwait
    (void) other;
  }
  return total;
}
"""


def test_deferred_constructs(built: Tools) -> None:
    """Their function has returned when they run: the frame is that of then."""
    built.write("deferred.c", DEFERRED)
    built.ok("gompcc", "-g", "-fopenmp", "deferred.c", "-o", "deferred")
    done = built.run("gompy", "run", "--show-maps", "./deferred")
    shown = re.sub("0x[0-9a-f]+", "#", done.stderr)
    assert done.returncode == 0 and sorted(shown.splitlines()) == sorted(
        """\
deferred.c:8 map(to: rows[0:100]) host # -> device #, new, count 1, 400 bytes to
deferred.c:9 map(tofrom: total) host # -> device #, new, count 1, 4 bytes to
deferred.c:9 map(tofrom: part[0:5]) host # -> device #, present, count 2
deferred.c:9 map(to: scale[0:4]) host # -> device #, new, count 1, 32 bytes to
deferred.c:9 region start._omp_fn.0 on device 0
deferred.c:9 map(tofrom: total) host # <- device #, removed, 4 bytes from
deferred.c:9 map(tofrom: part[0:5]) host # <- device #, kept, count 1
deferred.c:9 map(to: scale[0:4]) host # <- device #, removed
deferred.c:12 update from(rows[0:100]) host # <- device #, updated, count 1, 400 bytes from
deferred.c:13 map(delete: rows[0:100]) host # <- device #, removed
""".splitlines()
    )


def test_what_came_before_a_fault(built: Tools) -> None:
    status, lines = shown(built, "./queue", "abort")
    assert status == 134
    assert lines[:5] == LINES.splitlines()[:5]


def test_without_debug_information(built: Tools) -> None:
    """Sizes instead of names, no places."""
    status, lines = shown(built, "./plain")
    assert (status, lines[0]) == (3, "map(alloc: 64 bytes) host # -> device #, new, count 1")


def test_a_program_without_a_device(built: Tools) -> None:
    built.write("none.c", "int main (void)\n{\n#pragma omp target if (0)\n;\nreturn 0; }")
    built.ok("gompcc", "-g", "-fopenmp", "none.c", "-o", "none")
    reason = "the host was asked for (if clause, or number of the initial device)"
    assert shown(built, "./none") == (0, [f"none.c:3 region main._omp_fn.0 on the host: {reason}"])


WAITS = """
#include <stdio.h>
#include <stdlib.h>
double *field;
int main (void)
{
  field = malloc (80);
#pragma omp target enter data map(alloc: field[0:10])
  getchar ();
#pragma omp target exit data map(delete: field[0:10])
#pragma omp target
  ;
  return 0;
}
"""


def test_a_directive_is_told_while_the_program_runs(built: Tools) -> None:
    """Also by the name of a global pointer, whose value is read in the program."""
    built.write("waits.c", WAITS)
    built.ok("gompcc", "-g", "-fopenmp", "waits.c", "-o", "waits")
    command = ["gompy", "run", "--show-maps", "./waits"]
    with subprocess.Popen(
        command, cwd=built.work, env=built.env, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None and child.stderr is not None
        line = child.stderr.readline()  # the program waits for us
        child.stdin.write("\n")
        child.stdin.close()
        rest = child.stderr.read()
    assert line.startswith("waits.c:8 map(alloc: field[0:10]) host 0x") and line.endswith("new, count 1\n")
    assert rest.startswith("waits.c:10 map(delete: field[0:10])") and child.returncode == 0


@pytest.mark.parametrize("option", ["--check", "--under=gdb"])
def test_what_it_does_not_go_with(built: Tools, option: str) -> None:
    status, lines = shown(built, option, "./queue")
    assert (status, lines[-1]) == (2, "gompy run: error: --show-maps goes with neither --check nor --under")


def alone(tools: Tools, value: str, *words: str, **env: str) -> tuple[int, list[str]]:
    """A program under GOMPY_TRACE, without `gompy run`."""
    done = tools.run(str(tools.work / "queue"), *words, env={"GOMPY_TRACE": value, "TMPDIR": str(tools.work), **env})
    assert not list(tools.work.glob("gompy-trace-*"))
    return done.returncode, re.sub(r"0x[0-9a-f]+", "#", done.stderr).splitlines()


def test_without_gompy_run(built: Tools) -> None:
    """GOMPY_TRACE tells the same before the program's end; it is no child that the program would wait for."""
    assert alone(built, "1") == (3, LINES.splitlines())
    file = built.work / "lines"
    assert alone(built, str(file)) == (3, [])
    assert re.sub(r"0x[0-9a-f]+", "#", file.read_text()) == LINES
    assert alone(built, "0") == (3, [])


def test_without_gompy_run_and_before_a_fault(built: Tools) -> None:
    """The program has ended by a signal; what reads its lines has them all when the last one has closed them."""
    env = built.env | {"GOMPY_TRACE": "1"}
    done = subprocess.run([built.work / "queue", "abort"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == -6
    assert re.sub(r"0x[0-9a-f]+", "#", done.stderr).splitlines()[:5] == LINES.splitlines()[:5]


def test_a_child_of_nobody(built: Tools) -> None:
    """wait () of the program's ends at once where it has no child of its own."""
    built.write(
        "lonely.c",
        "#include <sys/wait.h>\nint main (void)\n{\n  while (wait (0) > 0)\n    ;\n"
        "#pragma omp target if (0)\n  ;\n  return 0;\n}\n",
    )
    built.ok("gompcc", "-g", "-fopenmp", "lonely.c", "-o", "lonely")
    done = built.run(str(built.work / "lonely"), env={"GOMPY_TRACE": "1"})
    assert (done.returncode, done.stderr.partition(" on the host")[0]) == (0, "lonely.c:6 region main._omp_fn.0")


@pytest.mark.parametrize(
    ("value", "env", "said"),
    [
        ("yes", {}, "GOMPY_TRACE=yes: neither 1 nor an absolute path; nothing is told"),
        ("/none/file", {}, "GOMPY_TRACE=/none/file: cannot be written: No such file or directory"),
    ],
)
def test_what_is_refused(built: Tools, value: str, env: dict[str, str], said: str) -> None:
    assert alone(built, value, **env) == (3, [f"libgompy: {said}"])


def test_a_trace_that_cannot_be_read(built: Tools) -> None:
    """The lines' own file is not at fault, so another one is named."""
    built.write(
        "lost.c",
        "#include <stdlib.h>\n#include <sys/stat.h>\n#include <unistd.h>\nint main (void)\n{\n"
        '  const char *trace = getenv ("GOMPY_TRACE_FILE");\n#pragma omp target if (0)\n  ;\n'
        "  return unlink (trace) || mkdir (trace, 0700);\n}\n",
    )
    built.ok("gompcc", "-g", "-fopenmp", "lost.c", "-o", "lost")
    trace = built.work / "lost.trace"
    done = built.run(str(built.work / "lost"), env={"GOMPY_TRACE": "1", "GOMPY_TRACE_FILE": str(trace)})
    said = f"libgompy: GOMPY_TRACE=1: no more is told: {trace}: Is a directory"
    assert (done.returncode, done.stderr.splitlines()[-1:]) == (0, [said])


def test_without_python(built: Tools) -> None:
    status, lines = alone(built, "1", GOMPY_PYTHON="/none")
    said = "libgompy: GOMPY_TRACE: nothing is told: Python did not run (GOMPY_PYTHON names another one)"
    assert (status, lines[-1]) == (3, said)

"""Regions with sanitizers: what -fsanitize=address and -fsanitize=undefined find on the device, and who hears of it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from driver_tools import Tools, has_all, make_wrappers
from intelmic_driver import build_image, drive

LIBRARY = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
pytestmark = [has_all, pytest.mark.skipif("/" not in LIBRARY, reason="gcc has no libasan")]

FAULTS = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#pragma omp declare target
int table[4];
int other[4];
static int get (int *p, int i) { return p[i]; } /* 1 */
#pragma omp end declare target
int main (int argc, char **argv)
{
  int n = 4, s = 0, what = atoi (argv[1]), *h = malloc (n * sizeof *h);
  h[0] = 3;
  switch (what)
    {
    case 0:
#pragma omp target map(tofrom: s) map(to: h[:n])
      { int l[4] = { 1, 2, 3, 4 }, *p = malloc (8); p[0] = get (l, n - 1); s = p[0] + table[3] + h[0]; free (p); }
      break;
    case 1:
#pragma omp target map(tofrom: s)
      { int l[4] = { 1, 2, 3, 4 }; s = get (l, n); }
      break;
    case 2:
#pragma omp target map(tofrom: s)
      s = table[n]; /* 2 */
      break;
    case 3:
#pragma omp target map(tofrom: s)
      { int *p = malloc (n * sizeof *p); s = p[n]; free (p); } /* 3 */
      break;
    case 4:
#pragma omp target map(tofrom: s)
      { int *p = malloc (n * sizeof *p); free (p); s = p[0]; } /* 4 */
      break;
    case 5:
#pragma omp target teams distribute parallel for map(tofrom: s) reduction(+:s)
      for (int i = 0; i <= n; i++)
        s += other[i]; /* 5 */
      break;
    case 6:
#pragma omp target map(tofrom: s) map(to: h[:n])
      s = h[n]; /* 6 */
      break;
    case 7:
#pragma omp target map(tofrom: s) map(to: h[:n])
      s = h[-1]; /* 7 */
      break;
    case 8:
#pragma omp target map(tofrom: s)
      { memset (table, 1, (n + 1) * sizeof (int)); s = table[0]; } /* 8 */
      break;
    case 9:
#pragma omp target map(tofrom: s)
      s = h[0];
      break;
    }
  printf ("ok %d\\n", s);
  free (h);
}
"""
FOUND = {
    1: "stack-buffer-overflow",
    2: "global-buffer-overflow",
    3: "heap-buffer-overflow",
    4: "heap-use-after-free",
    5: "global-buffer-overflow",
    6: "use-after-poison",
    7: "use-after-poison",
    8: "global-buffer-overflow",
}
LINES = FAULTS.split("\n")
UNDEFINED = """
#include <stdio.h>
int main (int argc, char **argv)
{
  int n = argc + 3, s = 0x7fffffff;
#pragma omp target map(tofrom: s)
  { int a[4] = { 1, 2, 3, 4 };
    s += n;
    s ^= a[n & 7]; }
  printf ("ok\\n");
}
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    made = Tools(make_wrappers(tmp_path_factory.mktemp("bin")), tmp_path_factory.mktemp("work"))
    made.env |= {"LC_ALL": "C", "ASAN_OPTIONS": "detect_leaks=0"}
    made.write("faults.c", FAULTS)
    made.write("undefined.c", UNDEFINED)
    device = "-foffload-options=x86_64-intelmicemul-linux-gnu=-fsanitize=address"
    made.ok("gompcc", "-O1", "-g", "-fopenmp", device, "faults.c", "-o", "device")
    made.ok("gompcc", "-O1", "-g", "-fopenmp", "-fsanitize=address", "faults.c", "-o", "both")
    return made


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("program", ["device", "both"])
@pytest.mark.parametrize("case", FOUND)
def test_address(tools: Tools, program: str, case: int) -> None:
    done = tools.run(f"./{program}", str(case))
    kind = FOUND[case]
    place = 1 + next(number for number, line in enumerate(LINES) if f"/* {case} */" in line)
    assert done.returncode == 1 and done.stdout == ""
    assert f"ERROR: AddressSanitizer: {kind} on address" in done.stderr
    (line,) = [line for line in done.stderr.split("\n") if line.startswith("libgomp: ")]
    assert line.startswith("libgomp: device 0 (intelmic): region main._omp_fn.")
    assert f"(faults.c:{place}): AddressSanitizer: {kind}: " in line


@pytest.mark.parametrize("check", ["0", "1"])
def test_mapped_objects_are_named(tools: Tools, check: str) -> None:
    """Both ends of what was mapped are guarded, to the byte, with or without GOMPY_CHECK."""
    for case, where in ((6, "0 bytes past the end of"), (7, "4 bytes before")):
        done = tools.run("./device", str(case), env={"GOMPY_CHECK": check})
        assert f" is {where} the 16 bytes that are mapped from the host's 0x" in done.stderr
        assert "(its heap)" in done.stderr


@pytest.mark.parametrize("program", ["device", "both"])
def test_nothing_to_be_found(tools: Tools, program: str) -> None:
    done = tools.run(f"./{program}", "0")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok 7\n", "")
    done = tools.run(f"./{program}", "0", env={"OFFLOAD_EMUL_NUM": "2", "OMP_DEFAULT_DEVICE": "1"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok 7\n", "")


@pytest.mark.parametrize("program", ["device", "both"])
def test_unmapped_pointer_faults_as_ever(tools: Tools, program: str) -> None:
    """NULL where libasan is in both processes, for their heaps have the same addresses; else the host's pointer."""
    done = tools.run(f"./{program}", "9")
    assert done.returncode == 1
    address = r"\(nil\) is not" if program == "both" else r"0x[0-9a-f]+ is not mapped on the device: it is the host's"
    assert re.search(rf"signal 11 \(Segmentation fault\): address {address}", done.stderr)


@pytest.mark.slow
def test_program_at_low_addresses(tools: Tools) -> None:
    """A program that is not position-independent lies where libasan wants to be."""
    tools.ok(*["gompcc", "-g", "-no-pie", "-fno-pie", "-fopenmp", "-fsanitize=address", "faults.c", "-o", "low"])
    assert tools.ok("./low", "0") == "ok 7\n"
    assert "AddressSanitizer: stack-buffer-overflow" in tools.run("./low", "1").stderr


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("options", ["-flto", "-fopenacc -DACC", "-O0"])
def test_other_ways_to_link(tools: Tools, options: str) -> None:
    source = FAULTS
    if "acc" in options:
        source = source.replace("omp target teams distribute parallel for", "acc parallel loop")
        source = source.replace("omp target", "acc parallel").replace("map(tofrom: s)", "copy(s)")
        source = source.replace("map(to: h[:n])", "copyin(h[:n])").replace("omp declare target", "acc routine seq")
        source = source.replace("#pragma acc routine seq\n", "").replace("#pragma omp end declare target\n", "")
        source = source.replace("int table[4];", "int table[4];\n#pragma acc declare create(table)")
        source = source.replace("int other[4];", "int other[4];\n#pragma acc declare create(other)")
    tools.write("way.c", source)
    model = [] if "acc" in options else ["-fopenmp"]
    tools.ok("gompcc", *model, "-g", "-fsanitize=address", *options.split(), "way.c", "-o", "way")
    for case in (2, 3):
        assert f"AddressSanitizer: {FOUND[case]}: " in tools.run("./way", str(case)).stderr


def test_left_out_on_the_device(tools: Tools) -> None:
    options = ["-fsanitize=address", "-foffload-options=intelmic=-fno-sanitize=address"]
    tools.ok("gompcc", "-g", "-fopenmp", *options, "faults.c", "-o", "host-only")
    done = tools.run("./host-only", "2")
    assert done.returncode == 0 and "Sanitizer" not in done.stderr


def test_library_with_and_program_without(tools: Tools) -> None:
    """The device starts with libasan whichever image needs it."""
    tools.write("lib.c", "int lib (int x) {\n#pragma omp target map(tofrom: x)\n x++;\n return x; }\n")
    tools.write(
        "user.c",
        "#include <stdio.h>\nint lib (int); int main (void) { int x = lib (3);\n"
        '#pragma omp target map(tofrom: x)\n x *= 2;\n printf ("%d\\n", x); return 0; }\n',
    )
    sanitize = "-foffload-options=intelmic=-fsanitize=address"
    for lib, user in (([sanitize], []), ([], [sanitize])):
        tools.ok("gompcc", "-shared", "-fPIC", "-fopenmp", *lib, "lib.c", "-o", "libuser.so")
        tools.ok("gompcc", "-fopenmp", *user, "user.c", "-L.", "-luser", "-Wl,-rpath,$ORIGIN", "-o", "user")
        assert tools.ok("./user") == "8\n"


def test_library_that_comes_too_late(tools: Tools) -> None:
    """dlopen of an image that needs libasan, on a device that runs without."""
    tools.write("late.c", "void late (void) {\n int x = 1;\n#pragma omp target map(tofrom: x)\n x++;\n}\n")
    tools.write(
        "main.c",
        "#include <dlfcn.h>\n#include <stdio.h>\n"
        "int main (void) { int x = 1;\n#pragma omp target map(tofrom: x)\n x++;\n"
        ' void *l = dlopen ("./liblate.so", RTLD_NOW); if (!l) puts (dlerror ());\n'
        ' ((void (*) (void)) dlsym (l, "late")) (); return 0; }\n',
    )
    sanitize = "-foffload-options=intelmic=-fsanitize=address"
    tools.ok("gompcc", "-shared", "-fPIC", "-fopenmp", sanitize, "late.c", "-o", "liblate.so")
    tools.ok("gompcc", "-fopenmp", "main.c", "-ldl", "-o", "main")
    done = tools.run("./main")
    assert done.returncode == 1
    said = (
        "liblate.so was made with -fsanitize=address, and the device was started for images without it; make the "
        "program with it as well\n"
    )
    assert said in done.stderr, done.stderr


def test_undefined(tools: Tools) -> None:
    tools.ok(*["gompcc", "-O1", "-g", "-fopenmp", "-fsanitize=undefined", "undefined.c", "-o", "undefined"])
    done = tools.run("./undefined")
    assert done.returncode == 0 and done.stdout == "ok\n"
    assert "undefined.c:8:7: runtime error: signed integer overflow" in done.stderr
    assert "undefined.c:9:11: runtime error: index 4 out of bounds for type 'int [4]'" in done.stderr


DESCRIBED = """int main (void)
{
  int a[6] = {5, 0, 40, 0, -7, 0};
#pragma omp target map(tofrom: a)
  {
    for (int i = 0; i < 2; i++)
      a[3] = 1u << a[2];
    a[5] = a[0] << a[4];
    int c[a[1]];
    a[3] = ((long) &c & 7) + a[0] / a[1];
  }
  return a[3];
}
"""
"""Checks that gcc's front ends make, before there is a region: what describes them is mapped from the host."""


@pytest.mark.parametrize("more", ["", ",address"])
def test_undefined_that_the_host_describes(tools: Tools, more: str) -> None:
    tools.write("described.c", DESCRIBED)
    tools.ok("gompcc", "-O1", "-g", "-w", "-fopenmp", f"-fsanitize=undefined{more}", "described.c", "-o", "described")
    assert [line for line in tools.run("./described").stderr.splitlines() if "described.c:" in line] == [
        "described.c:7:17: runtime error: shift exponent 40 is too large for 32-bit type 'unsigned int'",
        "described.c:8:17: runtime error: shift exponent -7 is negative",
        "described.c:9:9: runtime error: variable length array bound evaluates to non-positive value 0",
        "described.c:10:35: runtime error: division by zero",
        "libgomp: device 0 (intelmic): region main._omp_fn.0 (described.c:10): signal 8 (Floating point exception): "
        "integer division by zero",
    ]


def test_what_the_host_describes_is_told_once(tools: Tools) -> None:
    """Each launch has a description of its own, and threads come to a place together."""
    text = """int main (int argc, char **argv)
{
  int b = argc - 1, r = 0;
  for (int k = 0; k < 3; k++)
#pragma omp target parallel num_threads(4) map(tofrom: b) reduction(+: r)
    r += (5 << (40 + b)) + (5 << (-1 - b));
  return r == 12345;
}
"""
    tools.write("told.c", text)
    tools.ok("gompcc", "-g", "-w", "-fopenmp", "-fsanitize=undefined", "told.c", "-o", "told")
    assert sorted(line for line in tools.run("./told").stderr.splitlines() if "told.c:" in line) == [
        "told.c:6:13: runtime error: shift exponent 40 is too large for 32-bit type 'int'",
        "told.c:6:31: runtime error: shift exponent -1 is negative",
    ]


@pytest.mark.parametrize("more", ["", ",address"])
def test_undefined_that_ends_the_program(tools: Tools, more: str) -> None:
    options = [f"-fsanitize=undefined{more}", "-fno-sanitize-recover=undefined"]
    tools.ok("gompcc", "-O1", "-g", "-fopenmp", *options, "undefined.c", "-o", "ends")
    done = tools.run("./ends")
    assert done.returncode == 1 and done.stdout == ""
    said = "region main._omp_fn.0 (undefined.c:8): UndefinedBehaviorSanitizer: runtime error: its report stands above"
    assert said in done.stderr


@pytest.mark.slow
def test_languages(tools: Tools) -> None:
    tools.write(
        "v.cc",
        "#include <vector>\nint main (int argc, char **) { int s = 0, n = argc + 3;\n"
        "#pragma omp target map(tofrom: s) map(to: n)\n"
        "{ std::vector<int> v (n); int *p = v.data (); v.push_back (3); s = p[0]; }\n return s; }\n",
    )
    tools.ok("gompc++", "-g", "-fopenmp", "-fsanitize=address", "v.cc", "-o", "v")
    assert "(v.cc:4): AddressSanitizer: heap-use-after-free" in tools.run("./v").stderr
    tools.write(
        "f.f90",
        "integer :: s, n, i, a(4)\nn = 5\ns = 0\n!$omp target map(tofrom: s) map(to: n) private(a)\n"
        "do i = 1, n\n  a(i) = i\nend do\ns = sum (a)\n!$omp end target\nprint *, s\nend\n",
    )
    tools.ok("gompfortran", "-g", "-fopenmp", "-fsanitize=address", "f.f90", "-o", "f")
    assert "(f.f90:6): AddressSanitizer: stack-buffer-overflow" in tools.run("./f").stderr


def test_under_a_tool(tools: Tools) -> None:
    if not shutil.which("env"):
        pytest.skip("not installed: env")
    assert tools.ok("./device", "0", env={"OFFLOAD_EMUL_RUN": "env TOOL=1"}) == "ok 7\n"
    done = tools.run("./device", "1", env={"OFFLOAD_EMUL_RUN": "env TOOL=1"})
    assert "AddressSanitizer: stack-buffer-overflow: its report stands above" in done.stderr


def test_library_that_is_not_there(tools: Tools, tmp_path: Path) -> None:
    """The image asks for one that the machine has not."""
    program = tmp_path / "other"
    data = (tools.work / "device").read_bytes()
    assert data.count(b"libasan.so.8\0") == 1
    program.write_bytes(data.replace(b"libasan.so.8\0", b"libasan.so.0\0"))
    program.chmod(0o755)
    done = tools.run(program, "0")
    assert done.returncode == 1
    assert (
        "device 0 (intelmic): cannot load libasan.so.0, which an image made with -fsanitize=address needs"
        in done.stderr
    )


def test_threads_cannot_be_watched(tools: Tools) -> None:
    done = tools.run("gompcc", "-fopenmp", "-foffload-options=-fsanitize=thread", "faults.c", "-o", "threads")
    assert done.returncode == 1
    said = "mkoffload: fatal error: -fsanitize=thread is not supported for x86_64-intelmicemul-linux-gnu: address and "
    assert said in done.stderr
    assert tools.ok("gompcc", "-fopenmp", "-fsanitize=thread", "faults.c", "-o", "threads") == ""


def test_runtime_that_does_not_tell_of_its_images(tmp_path: Path) -> None:
    """As with GCC's own libgomp: the device is started again when the first image turns out to need libasan."""
    source = """
      int values[4];
      static void region (void **a) { int *n = a[0]; n[0] += values[n[0]]; }
      void *funcs[] = { region };
      void *vars[] = { values, (void *) sizeof values };
      TABLES (funcs, vars)
    """
    plain = build_image(tmp_path, source, name="plain.c")
    checked = build_image(tmp_path, source, "-fsanitize=address", name="checked.c")
    run = (
        "def go(n):\n"
        "    block = p.put(0, n.to_bytes(4, 'little'))\n"
        "    p.run(0, f, p.words(0, block), p.arguments(1, 0))\n"
        "    print(int.from_bytes(p.get(0, block, 4), 'little'), flush=True)\n"
    )
    load = f"p.init_device(0)\nf = p.load(0, {str(checked)!r})[0][0]\n"
    done = drive(tmp_path, load + run + "go(3)\nfinish()\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")
    done = drive(tmp_path, load + run + "go(4)\n")
    assert done.returncode == 1 and done.stdout == ""
    assert "AddressSanitizer: global-buffer-overflow: its report stands above" in done.stderr
    done = drive(tmp_path, f"p.init_device(0)\np.load(0, {str(plain)!r})\np.load(0, {str(checked)!r})\n")
    assert "the device was started for images without it" in done.stderr

"""The nvptx mkoffload: the record in its host objects beside GCC's, any ptxas in PATH, and what PTX cannot do."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from cuda_tools import has_driver, has_executor
from driver_tools import Tools, has_all, make_wrappers, needs
from hypothesis import given
from hypothesis import strategies as st
from nvptx_tools import NVPTX, PTXAS, build_driver, has_compiler, has_stock_plugin, stock_file, under_stock

from gompy.driver import paths
from gompy.objects.naming import comparable, ptx_name
from gompy.tools.options import read
from gompy.tools.process import ToolError
from mkoffload import nvptx
from mkoffload.nvptx_alias import aliases_in, without_aliases
from mkoffload.nvptx_errata import mended
from mkoffload.nvptx_explain import problems, uses, wide_uses
from mkoffload.nvptx_ptx import PtxImage, missing_vtables, order_for, split

pytestmark = [has_all, needs("gcc")]
MODEL = {"omp": "-fopenmp", "acc": "-fopenacc"}

OMP = r"""
#pragma omp declare target
int big[100], other = 4;
static int hidden[3];
int *places[2] = { big, &other };
int get (int i) { return hidden[i]++; }
#pragma omp end declare target
int late[10];
#pragma omp declare target link (late)
int f (int n)
{
  int s = 0;
#pragma omp target map(tofrom: s)
  s = get (1) + late[2];
#pragma omp target teams distribute parallel for map(from: big) num_teams(3)
  for (int i = 0; i < 100; i++) big[i] = i * n;
#pragma omp target
  { float x = n, y = __builtin_sqrtf (x); late[0] = y / 3; }
  return s + big[n];
}
"""
ACC = r"""
int a[1000];
#pragma acc declare create (a)
int f (int n)
{
#pragma acc parallel loop gang worker vector num_gangs(7) num_workers(4) vector_length(128) copy(a)
  for (int i = 0; i < n; i++) a[i] = i;
#pragma acc parallel loop copy(a)
  for (int i = 0; i < n; i++) a[i] += i;
#pragma acc serial copy(a)
  a[0] = 1;
  return a[n - 1];
}
"""
RECORDER = r"""
/* In the place of libgomp: prints what the host object registers, each field.  */
#include <stdio.h>
struct ptx { const char *code; size_t size; };
struct fn { const char *name; unsigned short dim[3]; };
struct data
{ const struct ptx *ptx; unsigned nptx; const char **vars; unsigned nvars; const struct fn *fns; unsigned nfns; };
extern const void *const __OFFLOAD_TABLE__[] __attribute__ ((visibility ("hidden")));
static void show (const char *what, unsigned version, const void *table, int type, const struct data *d)
{
  printf ("%s %#x %d %d\n", what, version, table == __OFFLOAD_TABLE__, type);
  for (unsigned i = 0; i < d->nptx; i++)
    {
      unsigned long sum = 0;
      for (size_t j = 0; j < d->ptx[i].size; j++) sum = sum * 31 + (unsigned char) d->ptx[i].code[j];
      printf ("ptx %zu %lx\n", d->ptx[i].size, sum);
    }
  for (unsigned i = 0; i < d->nvars; i++) printf ("var %s\n", d->vars[i]);
  for (unsigned i = 0; i < d->nfns; i++)
    printf ("fn %s %d %d %d\n", d->fns[i].name, d->fns[i].dim[0], d->fns[i].dim[1], d->fns[i].dim[2]);
}
void GOMP_offload_register_ver (unsigned v, const void *table, int type, const void *d)
{ show ("on", v, table, type, d); }
void GOMP_offload_unregister_ver (unsigned v, const void *table, int type, const void *d)
{ show ("off", v, table, type, d); }
int f (int);
int main (int argc, char **argv) { return argc > 1 ? f (argc) : 0; }
"""


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_wrappers(tmp_path_factory.mktemp("bin"))
    (folder / "ptxas").write_text(PTXAS)
    (folder / "ptxas").chmod(0o755)
    return folder


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    """The commands, with a ptxas before all others that refuses what GCC writes."""
    work = tmp_path / "work"
    work.mkdir()
    made = Tools(bin_folder, work)
    made.env["LC_ALL"] = "C.UTF-8"
    made.env["GOMPY_CUDA"] = "real"
    return made


def recorded(tools: Tools, image: str, *objects: str) -> str:
    """What a program with that host object registers and takes back."""
    table = subprocess.run(["gcc", "-print-file-name=crtoffloadtable.o"], capture_output=True, text=True).stdout.strip()
    tools.write("recorder.c", RECORDER)
    tools.ok(
        "gcc",
        "-fopenmp",
        "-foffload=disable",
        "-w",
        "recorder.c",
        *objects,
        image,
        table,
        "-o",
        "rec",
        "-no-pie",
        "-lm",
    )
    return tools.ok(tools.work / "rec")


BARRIERS = (
    b"// BEGIN\n.visible .func gomp_team_barrier_wake (.param .u64 %in_ar0, .param .u32 %in_ar1)\n{\n"
    b".reg .u32 %ar1;\nld.param.u32 %ar1,[%in_ar1];\nret;\n}\n"
)
"""The beginning of libgomp's function, as far as it matters."""

# --- the record -------------------------------------------------------------------------------------------------------


@pytest.mark.slow(sample=1)
@has_compiler
@pytest.mark.parametrize(("model", "source"), [("omp", OMP), ("acc", ACC)])
@pytest.mark.parametrize("pie", [False, True])
def test_the_record_is_gccs(tools: Tools, model: str, source: str, pie: bool) -> None:
    tools.write("region.c", source)
    tools.write("main.c", "int f (int); int main (void) { return f (3); }\n")
    more = [] if pie else ["-no-pie", "-fno-pie"]
    for name in ("region.c", "main.c"):
        tools.ok("gcc", MODEL[model], "-O2", "-c", *more, name)
    objects = ["region.o", "main.o", "-save-temps", *more]
    shared = ["-foffload=nvptx-none", MODEL[model], "-w"]
    tools.ok("gcc", *shared, "-foffload=-Wa,--no-verify -lm", *objects, "-o", "theirs", "-lm")
    tools.ok("gompcc", *shared, *objects, "-o", "ours", "-lm")
    theirs = recorded(tools, "theirs.xnvptx-none.o", "region.o")
    ours = recorded(tools, "ours.xnvptx-none.o", "region.o")
    if pie:  # GCC passes -fPIC on, which changes code here and there but never the record
        theirs, ours = ("\n".join(x for x in t.split("\n") if not x.startswith("ptx ")) for t in (theirs, ours))
    lines = ours.split("\n")
    changed = [pair for pair in zip(theirs.split("\n"), lines, strict=True) if len(set(pair)) > 1]
    if changed and model == "omp" and not pie:  # the object whose barriers are mended is longer
        ((one, other),) = set(changed)  # registered and taken back
        assert int(other.split()[1]) - int(one.split()[1]) == len(mended(BARRIERS)) - len(BARRIERS)
    else:
        assert not changed
    assert lines[0] == "on 0x10001 1 5" and "off 0x10001 1 5" in lines
    if model == "acc":
        assert "fn f$_omp_fn$0 7 4 128" in lines and any(line.startswith("fn f$_omp_fn$2 1 1") for line in lines)
    else:
        assert "var late$linkptr" in lines and lines.count("fn f$_omp_fn$0 0 0 0") == 2


@has_compiler
def test_inspect_shows_launch_dimensions(tools: Tools) -> None:
    tools.write("a.c", ACC + "int main (void) { return f (1); }\n")
    tools.ok("gompcc", "-fopenacc", "-w", "-foffload=nvptx-none", "a.c", "-o", "a")
    out = tools.ok("gompy", "inspect", "--table", "images", "a")
    assert "f$_omp_fn$0 (gangs 7, workers 4, vector length 128)" in out
    report = json.loads(tools.ok("gompy", "inspect", "--json", "--table", "images", "a"))[0]
    (image,) = report["images"]
    assert image["target"] == "nvptx-none" and [e["name"] for e in image["vars"]] == ["a"]
    assert [entry["dims"] for entry in image["funcs"] if entry["name"] == "f$_omp_fn$0"] == [[7, 4, 128]]


@has_compiler
def test_names_of_intermediate_files(tools: Tools) -> None:
    tools.write("a.c", OMP + "int main (void) { return f (1); }\n")
    tools.ok("gompcc", "-fopenmp", "-foffload=nvptx-none", "-save-temps", "a.c", "-o", "prog", "-lm")
    found = {path.name for path in tools.work.glob("prog.xnvptx-none*")}
    assert {f"prog.xnvptx-none{end}" for end in (".o", ".s", ".ptx", ".mkoffload", ".mkoffload.s")} <= found
    before = set(tools.work.iterdir())
    tools.ok("gompcc", "-fopenmp", "-foffload=nvptx-none", "a.c", "-o", "prog", "-lm")
    assert set(tools.work.iterdir()) == before


@has_compiler
@pytest.mark.skipif(not has_stock_plugin(), reason="libgomp-plugin-nvptx1 is not installed")
@under_stock
def test_our_host_object_under_the_stock_libgomp(tools: Tools) -> None:
    """Objects, link and run by plain gcc, but for the tools in our folder."""
    program = """
    #include <stdio.h>
    int main (void) { int s = 0;
    #pragma omp target map(tofrom: s)
    s = 1;
    printf ("s %d\\n", s); return 0; }
    """
    tools.write("a.c", program)
    tools.ok("gcc", "-fopenmp", "-c", "a.c")
    env = {"OFFLOAD_TARGET_NAMES": "nvptx-none"}
    tools.ok("gcc", f"-B{paths.BDIR}", "-foffload=disable", "-fopenmp", "a.o", "-o", "a", env=env)
    assert "libgompy" not in tools.ok("readelf", "-d", "a")
    folder = build_driver(tools, tools.work / "cuda")
    log = tools.work / "log"
    run = {"LD_LIBRARY_PATH": str(folder), "FAKE_LOG": str(log)}
    assert tools.ok(tools.work / "a", env=run) == "s 77\n" and "launch main$_omp_fn$0" in log.read_text()


# --- programs of every kind -------------------------------------------------------------------------------------------

LINKS_FIRST = r"""
int first[10];
#pragma omp declare target link (first)
#pragma omp declare target
int second; double third;
#pragma omp end declare target
int main (void) {
#pragma omp target
  { second = first[0]; third = 1; }
  return 0; }
"""


@has_compiler
def test_entries_stand_in_the_hosts_order(tools: Tools) -> None:
    """nvptx-tools' assembler moves the marks of variables behind a ``link`` variable before its own."""
    tools.write("a.c", LINKS_FIRST)
    tools.ok("gompcc", "-fopenmp", "-foffload=nvptx-none", "a.c", "-o", "a")
    out = tools.ok("gompy", "inspect", "--check", "a")
    assert "1 function, 3 variables, 1 image: agree" in out
    shown = tools.ok("gompy", "inspect", "a")
    assert shown.index("first$linkptr") < shown.index("  second", shown.index("first$linkptr"))


@pytest.mark.slow(sample=1)
@has_compiler
@pytest.mark.parametrize("flags", [["-flto"], ["-flto", "-ffat-lto-objects"], []])
def test_several_objects_archives_and_lto(tools: Tools, flags: list[str]) -> None:
    part = """
    #pragma omp declare target
    static int same[4] = {{ {0} }}; int only{0};
    #pragma omp end declare target
    int f{0} (int x) {{
    #pragma omp target map(x)
    x += same[0] + only{0};
    return x; }}
    """
    for number in (1, 2, 3):
        tools.write(f"{number}.c", part.format(number))
        tools.ok("gompcc", "-fopenmp", "-O2", "-c", *(flags if number != 3 else []), f"{number}.c")
    tools.ok("gcc-ar" if shutil.which("gcc-ar") else "ar", "rc", "libpart.a", "2.o", "3.o")
    tools.write(
        "main.c", "int f1 (int), f2 (int), f3 (int); int main (void) { return f1 (1) + f2 (2) + f3 (3) - 12; }\n"
    )
    both = "-foffload=intelmic,nvptx-none"
    tools.ok("gompcc", "-fopenmp", both, *flags, "main.c", "1.o", "-L.", "-lpart", "-o", "all")
    assert "3 functions, 6 variables, 2 images: agree" in tools.ok("gompy", "inspect", "--check", "all")
    done = tools.run(tools.work / "all", env={"GOMPY_STATS": "1"})
    assert done.returncode == 0 and "3 on device 0 (intelmic)" in done.stderr


@has_compiler
def test_objects_of_both_compilers_joined_and_stripped(tools: Tools) -> None:
    """Names tell the order, whoever made the objects; where they are gone, nothing does."""
    part = """
    int v{0}[3];
    #pragma omp declare target to (v{0})
    int f{0} (int x) {{
    #pragma omp target map(x)
    x += {0} + v{0}[0];
    return x; }}
    """
    for number, command in (1, "gompcc"), (2, "gcc"):
        tools.write(f"{number}.c", part.format(number))
        tools.ok(command, "-fopenmp", "-c", f"{number}.c")
    tools.write("main.c", "int f1 (int), f2 (int); int main (void) { return f1 (1) + f2 (1) - 5; }\n")
    tools.ok("ld", "-r", "2.o", "1.o", "-o", "joined.o")
    command = ["gompcc", "-fopenmp", "-foffload=nvptx-none", "main.c", "joined.o", "-o", "all"]
    tools.ok("strip", "-g", "joined.o")
    tools.ok(*command)
    assert "2 functions, 2 variables, 1 image: agree" in tools.ok("gompy", "inspect", "--check", "all")
    tools.ok("strip", "--strip-unneeded", "joined.o")
    done = tools.run(*command)
    assert done.returncode == 1 and "joined.o: joins objects of gompcc and of gcc, and its symbols" in done.stderr


@pytest.mark.slow
@has_compiler
@needs("gfortran", "g++")
def test_libraries_of_the_device_are_found(tools: Tools) -> None:
    """GCC wants -foffload=-lm and -foffload=-lgfortran for these."""
    tools.write(
        "a.f90",
        "program a\n real :: x(3) = [1., 2., 3.]\n integer :: n = 2\n!$omp target map(x, n)\n x = sin (x) ** n\n"
        " if (any (matmul (reshape (x, [1, 3]), reshape (x, [3, 1])) > 5)) n = 1\n!$omp end target\n print *, n\nend\n",
    )
    assert tools.ok("gompfortran", "-fopenmp", "-foffload=nvptx-none", "a.f90", "-o", "a") == ""
    tools.write(
        "b.cc",
        "#include <cmath>\ntemplate <class T> struct S { T v; T twice () { return 2 * std::sin (v); } };\n"
        "int main () { S<double> s {2};\n#pragma omp target map(s)\n s.v = s.twice ();\n return s.v > 3; }\n",
    )
    assert tools.ok("gompc++", "-fopenmp", "-foffload=nvptx-none", "b.cc", "-o", "b") == ""


@pytest.mark.slow(sample=3)
@has_compiler
@pytest.mark.parametrize(
    ("clauses", "body"),
    [
        ("map(tofrom: s)", "{\n#pragma omp atomic\n s += 1; }"),
        ("map(tofrom: c)", "{\n#pragma omp atomic\n c += 1; }"),
        ("reduction(+: x) reduction(^: y)", "x++, y ^= i;"),
        ("map(tofrom: x) lastprivate(conditional: x)", "if (i == 7) x = i;"),
    ],
    ids=["two bytes", "one byte", "reduction of two variables", "conditional lastprivate"],
)
def test_atomic_operations_that_are_functions(tools: Tools, clauses: str, body: str) -> None:
    """GCC wants -foffload=-latomic for these."""
    tools.write(
        "a.c",
        "int main (void)\n{\n  short s = 0;\n  char c = 0;\n  int x = 0, y = 0;\n"
        f"#pragma omp target parallel for {clauses}\n  for (int i = 0; i < 9; i++)\n    {body}\n"
        "  return s + c + x + y;\n}\n",
    )
    assert tools.ok("gompcc", "-O1", "-fopenmp", "-foffload=nvptx-none", "a.c", "-o", "a") == ""


@has_compiler
def test_options_for_the_target_come_last(tools: Tools) -> None:
    tools.write("a.c", LINKS_FIRST)
    options = ["-fopenmp", "-O1", "-foffload=nvptx-none", "-foffload-options=nvptx-none=-O3 -misa=sm_35"]
    text = tools.run("gompcc", "-v", *options, "a.c", "-o", "a").stderr
    line = next(x for x in text.split("\n") if "accel-nvptx-none-gcc" in x and " -xlto " in x)
    assert line.index("-Wa,--no-verify") < line.index("-O1") < line.index("-O3") < line.index("-misa=sm_35")


@has_compiler
def test_verification_can_be_asked_for(tools: Tools) -> None:
    ptx = tools.write("a.s", ".version 3.1\n.target sm_30\n.address_size 64\n")
    alone = tools.run(stock_file(f"accel/{NVPTX}/as"), "--verify", ptx, "-o", "a.o")
    if alone.returncode == 0:
        pytest.skip("these nvptx-tools verify nothing")
    tools.write("a.c", LINKS_FIRST)
    done = tools.run("gompcc", "-fopenmp", "-foffload=nvptx-none", "-foffload=-Wa,--verify", "a.c", "-o", "a")
    assert done.returncode == 1 and "Value 'sm_35' is not defined" in done.stderr


# --- what PTX cannot do -----------------------------------------------------------------------------------------------

REGION = "int main (void)\n{\n  int r = 3;\n#pragma %s(r)\n  {\n%s\n  }\n  return r;\n}\n"
OMP_PRAGMA, ACC_PRAGMA = "omp target map", "acc parallel copy"
REFUSED = [
    (
        "computed goto",
        OMP_PRAGMA,
        "static void *t[] = { &&a, &&b };\n goto *t[r];\n a: r = 1;\n b: r = 2;",
        "a.c:4:9: target region ‘main._omp_fn.0’ needs computed goto",
    ),
    (
        "alloca",
        ACC_PRAGMA,
        'int *p = __builtin_alloca (r);\n asm volatile ("" :: "r" (p) : "memory");',
        "a.c:6:10: target region ‘main._omp_fn.0’ needs room of a size",
    ),
    (
        "setjmp",
        OMP_PRAGMA,
        '__builtin_printf ("");\n extern void longjmp (void *, int); static long b[50];\n longjmp (b, 1);',
        "a.c:8: target region ‘main._omp_fn.0’ uses ‘longjmp’: nvptx-none has no setjmp and longjmp",
    ),
    (
        "long double",
        OMP_PRAGMA,
        "\n long double x = r;\n r = x / 3;",
        "a.c:7:14: target region ‘main._omp_fn.0’ needs the host's 80-bit ‘long double’",
    ),
    (
        "half precision",
        OMP_PRAGMA,
        "\n _Float16 x = r;\n r = x + x;",
        "a.c:7:11: target region ‘main._omp_fn.0’ uses ‘_Float16’, on which GCC's nvptx compiler fails; use ‘float’",
    ),
    (
        "a function that the device lacks",
        OMP_PRAGMA,
        "extern int getppid (void);\n r = getppid ();",
        "a.c:7: target region ‘main._omp_fn.0’ uses ‘getppid’, which is not defined for nvptx-none",
    ),
    (
        "host's registers",
        OMP_PRAGMA,
        'asm volatile ("" : : : "rbx");',
        "a.c:6:1: target region ‘main._omp_fn.0’ cannot be compiled for nvptx-none: unknown register name ‘rbx’",
    ),
]


@pytest.mark.slow(sample=2)
@has_compiler
@pytest.mark.parametrize(("pragma", "body", "said"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_ptx_cannot_do_is_said_of_region_and_line(tools: Tools, pragma: str, body: str, said: str) -> None:
    tools.write("a.c", REGION % (pragma, body))
    command = ["gompcc", MODEL[pragma[:3]], "-O1", "-foffload=nvptx-none", "a.c", "-o", "a"]
    done = tools.run(*command)
    assert done.returncode == 1 and f"mkoffload: error: {said}" in done.stderr
    assert "-foffload-options=nvptx-none=-fhost-fallback links without this image" in done.stderr
    assert "mkoffload: fatal error: " in done.stderr and not (tools.work / "a").exists()
    done = tools.run(*command, "-foffload-options=nvptx-none=-fhost-fallback")
    assert done.returncode == 0 and (tools.work / "a").exists() and " error: " not in done.stderr
    assert f"mkoffload: warning: {said}" in done.stderr
    told = "a.c: no code for nvptx-none; ‘main._omp_fn.0’ will run on the host [-Woffload-host]"
    assert f"mkoffload: warning: {told}\n" in done.stderr


@has_compiler
@needs("g++")
def test_exceptions(tools: Tools) -> None:
    body = "try { if (r > 2) throw r; } catch (int i) { r = i; }"
    tools.write("a.cc", REGION.replace("(void)", "()") % (OMP_PRAGMA, body))
    done = tools.run("gompc++", "-fopenmp", "-foffload=nvptx-none", "a.cc", "-o", "a")
    assert "mkoffload: error: a.cc:4:9: target region ‘main._omp_fn.0’ needs exceptions" in done.stderr


@pytest.mark.slow
@has_compiler
@needs("gfortran", "g++")
def test_libraries_that_the_device_has_not(tools: Tools) -> None:
    code = REGION.replace("(void)", "()") % (OMP_PRAGMA, 'if (r == 9)\n std::__throw_range_error ("x");')
    tools.write("a.cc", "#include <stdexcept>\n" + code)
    done = tools.run("gompc++", "-fopenmp", "-foffload=nvptx-none", "a.cc", "-o", "a")
    said = "target region ‘main._omp_fn.0’ uses ‘std::__throw_range_error(char const*)’: nvptx-none has no C++ library"
    assert f"mkoffload: error: a.cc:8: {said}" in done.stderr
    tools.write("c.c", "#include <stdio.h>\n" + REGION % (OMP_PRAGMA, "putchar (r);"))
    done = tools.run("gompcc", "-O2", "-fopenmp", "-foffload=nvptx-none", "c.c", "-o", "c")
    assert "target region ‘main._omp_fn.0’ uses ‘stdout’: nvptx-none has no streams (printf and puts" in done.stderr
    tools.write("b.f90", "program b\n integer :: n = 2\n!$omp target map(n)\n print *, n\n!$omp end target\nend\n")
    done = tools.run("gompfortran", "-fopenmp", "-foffload=nvptx-none", "b.f90", "-o", "b")
    assert "mkoffload: error: b.f90:4: target region ‘MAIN__._omp_fn.0’ uses ‘_gfortran_st_write" in done.stderr
    assert "nvptx-none has no Fortran input and output" in done.stderr


@has_compiler
@needs("g++")
def test_virtual_functions(tools: Tools) -> None:
    """GCC's PTX names the vtable and nobody declares it: told by the link, not when the program runs."""
    tools.write(
        "a.cc",
        "struct A { int x; A (int i) : x (i) {} virtual int f () = 0; };\n"
        "struct B : A { B (int i) : A (i) {}\n int f () { return x; } };\n"
        "#pragma omp declare target\n__attribute__((noipa)) A *make (int i) { return new B (i); }\n"
        "#pragma omp end declare target\nint main () {\n int r = 3;\n#pragma omp target map(r)\n"
        " r = make (r)->f ();\n return r - 3; }\n",
    )
    command = ["gompc++", "-O1", "-fopenmp", "-foffload=nvptx-none", "a.cc", "-o", "a"]
    done = tools.run(*command)
    assert done.returncode == 1 and not (tools.work / "a").exists()
    assert "uses ‘vtable for B’: nvptx-none has no C++ virtual functions (GCC writes no vtables and" in done.stderr
    done = tools.run(*command, "-foffload-options=nvptx-none=-fhost-fallback")
    assert done.returncode == 0 and "‘main._omp_fn.0’ will run on the host" in done.stderr


@has_compiler
def test_virtual_functions_at_which_the_compiler_fails(tools: Tools) -> None:
    """GCC 12's looks for a vtable's contents and ends with a segmentation fault, without a word of the program's."""
    source = "struct A { double w = 2; virtual double f () const { return w; } };\n"
    source += "struct B : A { double f () const override { return w * w; } };\nint main ()\n{\n  double d;\n"
    source += "#pragma omp target map(from: d)\n  { B b; const A &a = b; d = a.f (); }\n  return d != 4;\n}\n"
    tools.write("fails.cc", source)
    done = tools.run("gompc++", "-O2", "-fopenmp", "-foffload=nvptx-none", "fails.cc", "-o", "fails")
    if "internal compiler error" not in done.stderr:
        pytest.skip("this release's compiler does not fail")
    assert done.returncode == 1
    assert "mkoffload: error: device code uses ‘vtable for B’: nvptx-none has no C++ virtual functions" in done.stderr


def test_vtables_may_be_there_without_what_they_name() -> None:
    """At -O0."""
    code = b"// BEGIN VAR DEF: _ZTV1B\n.const .align 8 .u64 _ZTV1B[3] =\n{0,generic(_ZTI1B),_ZN1B1fEv };\n"
    code += b"cvta.const.u64 %r22,_ZTV1B+16;\ncall a_ZTV1C, (%r1);\n"
    assert missing_vtables(PtxImage([code], [], [])) == ["_ZTI1B"]
    assert missing_vtables(PtxImage([code, b"// BEGIN VAR DEF: _ZTI1B\n"], [], [])) == []


@has_compiler
def test_the_other_targets_image_stays(tools: Tools) -> None:
    tools.write("a.c", REGION % (OMP_PRAGMA, "long double x = r; r = x / 3;"))
    options = ["-foffload=intelmic,nvptx-none", "-foffload-options=nvptx-none=-fhost-fallback"]
    done = tools.run("gompcc", "-fopenmp", *options, "a.c", "-o", "a")
    assert done.returncode == 0 and "will run on the host" in done.stderr
    done = tools.run(tools.work / "a", env={"GOMPY_STATS": "1"})
    assert done.returncode == 1 and "1 on device 0 (intelmic)" in done.stderr


@pytest.mark.parametrize(("release", "fakes"), [("14.2.0", False), ("15", True), ("16.2.0", True)])
def test_handlers_of_exceptions(monkeypatch: pytest.MonkeyPatch, release: str, fakes: bool) -> None:
    """From GCC 15 on the compiler takes them as never reached, as GCC's mkoffload has it: the C++ library has some."""
    monkeypatch.setattr(nvptx, "link_compiler", lambda: ("x86_64-linux-gnu", release))
    request = SimpleNamespace(save_temps=False, verbose=False, objects=["a.o"], dumpbase="")
    image = SimpleNamespace(
        options=SimpleNamespace(openmp=True, words=[]), request=request, reverse=False, gcc="accel-gcc"
    )
    words = nvptx.Image.command(image, "out", [])  # type: ignore[arg-type]
    assert ("-mfake-exceptions" in words) == fakes


def test_without_the_compiler_its_package_is_named(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLECT_GCC", "gcc-99")
    monkeypatch.setenv("COMPILER_PATH", "/usr/lib/gcc/x86_64-linux-gnu/99/:/usr/lib/gcc/x86_64-linux-gnu/")
    with pytest.raises(
        ToolError, match="x86_64-linux-gnu-accel-nvptx-none-gcc-99 not found: install the package gcc-99-"
    ):
        nvptx.find_compiler()


@pytest.mark.parametrize(("number", "taken"), [("98", False), ("99", True)])
def test_a_name_without_a_number_may_be_another_release_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: str, taken: bool
) -> None:
    """Debian's gcc-offload-nvptx links that name to its default release's, which reads no other's streams."""
    plain = tmp_path / "x86_64-linux-gnu-accel-nvptx-none-gcc"
    for path in (plain.with_name(f"{plain.name}-{number}.1"), tmp_path / "gcc-99"):
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    plain.symlink_to(f"{plain.name}-{number}.1")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("COLLECT_GCC", "gcc-99")
    monkeypatch.setenv("COMPILER_PATH", "/usr/lib/gcc/x86_64-linux-gnu/99/")
    if taken:
        assert nvptx.find_compiler() == str(plain)
        return
    with pytest.raises(ToolError, match="install the package gcc-99-"):
        nvptx.find_compiler()


def test_without_the_compiler_a_link_fails_with_its_package(tools: Tools) -> None:
    tools.write("a.c", LINKS_FIRST)
    tools.ok("gompcc", "-fopenmp", "-c", "a.c")
    env = {"COMPILER_PATH": "/usr/lib/gcc/x86_64-linux-gnu/99/", "COLLECT_GCC": "gcc-99", "COLLECT_GCC_OPTIONS": ""}
    tool = Path(paths.BDIR) / "accel" / "nvptx-none" / "mkoffload"
    words = ["-o", "x.o", "a.o", "-foffload-abi=lp64", "-fopenmp"]
    done = tools.run(tool, *words, env=env)
    assert done.returncode == 1 and "install the package gcc-99-offload-nvptx" in done.stderr
    done = tools.run(tool, *words, env={**env, "OFFLOAD_TARGET_DEFAULT": "1"})
    assert (done.returncode, done.stderr) == (0, "") and not (tools.work / "x.o").exists()


@pytest.mark.parametrize("words", [["-fopenmp", "-fopenacc"], []])
def test_one_model_is_needed(words: list[str]) -> None:
    with pytest.raises(ToolError, match="either ‘-fopenacc’ or ‘-fopenmp’ must be set"):
        nvptx.Options(read(words))


# --- the parts --------------------------------------------------------------------------------------------------------


def test_barriers_of_libgomp_are_mended() -> None:
    """gomp_team_barrier_wake: more threads than one are all of them (0); nothing else changes."""
    at = BARRIERS.index(b"ret;")
    rest = b"}\n.visible .func f (.param .u32 %in_ar1)\n{\n.reg .u32 %ar1;\nld.param.u32 %ar1,[%in_ar1];\nret;\n}\n"
    whole = BARRIERS.removesuffix(b"}\n") + rest
    result = mended(whole)
    assert result.startswith(whole[:at]) and result.endswith(whole[at:])
    added = result[at : at - len(whole)]
    assert added.startswith(b"{\n") and added.endswith(b"}\n")
    assert b"setp.gt.s32 %gompy_more,%ar1,1;\nselp.b32 %ar1,0,%ar1,%gompy_more;\n" in added
    for other in (b"", rest, whole.replace(b"_wake", b"_walk"), whole.replace(b"%ar1,[", b"%ar2,[")):
        assert mended(other) == other


@has_compiler
def test_the_barriers_of_this_libgomp_are_mended(tools: Tools) -> None:
    tools.write("a.c", "int main (void)\n{\n  int x = 1;\n#pragma omp target map(x)\n  x = 0;\n  return x;\n}\n")
    tools.ok("gompcc", "-fopenmp", "-foffload=nvptx-none", "-save-temps", "a.c", "-o", "a")
    assert (tools.work / "a.xnvptx-none.ptx").read_bytes().count(b"selp.b32 %ar1,0,%ar1,%gompy_more;") == 1


def test_split() -> None:
    data = (
        b'.version 6.0\r\n//:FUNC_MAP "a$_omp_fn$0"\n//:VAR_MAP "v"\ncode "\\\n//:FUNC_MAP "b", 0x7, 0x0, 0x20\n\0'
        b'//:VAR_MAP "first line"\nlibrary\n\0'
    )
    image = split(data, "x")
    assert image.objects == [b'.version 6.0\ncode "\\\n\0', b'//:VAR_MAP "first line"\nlibrary\n\0']
    assert image.functions == [("a$_omp_fn$0", (0, 0, 0)), ("b", (7, 0, 32))] and image.variables == ["v"]
    assert image.tables == (["a._omp_fn.0", "b"], ["v"])


@pytest.mark.parametrize(
    "mark",
    ['//:WHAT_MAP "a"\n', '//:FUNC_MAP "a", 0x1\n', '//:FUNC_MAP "a", x, y, z\n', '//:VAR_MAP "a"', "//:VAR_MAP \n"],
)
def test_damaged_marks(mark: str) -> None:
    with pytest.raises(ToolError, match="x: malformed ptx file"):
        split(b"\n" + mark.encode() + b"\0", "x")


def test_no_ptx() -> None:
    with pytest.raises(ToolError, match="no PTX"):
        split(b"", "x")


@given(
    st.lists(st.binary(min_size=1, max_size=30).map(lambda b: b.replace(b"\0", b" ").replace(b"\r", b"")), min_size=1)
)
def test_code_is_not_changed(objects: list[bytes]) -> None:
    whole = b"".join(code.replace(b"//:", b"// ") + b"\0" for code in objects)
    assert b"".join(split(whole, "x").objects) == whole


names = st.lists(st.sampled_from(["a", "b", "b.1", "c.linkptr", "main._omp_fn.0", "main._omp_fn.1"]), max_size=8)


@given(names, st.randoms())
def test_order_by_name(host: list[str], random: object) -> None:
    image = list(host)
    random.shuffle(image)  # type: ignore[attr-defined]
    order = order_for(list(host), list(image))
    if order is None:
        assert comparable(list(host), ptx_name) == comparable(list(image), ptx_name)
    else:
        assert sorted(order) == list(range(len(host)))
        assert [ptx_name(image[i]) for i in order] == [ptx_name(name) for name in host]


def test_problems_in_another_language() -> None:
    text = "a.c: In Funktion »f«:\na.c: In Funktion „f“:\na.c:3:4: Fehler: etwas\n"
    text += "a.c:5:6: nicht implementiert: target cannot support alloca\n"
    found = problems(text, lambda _: [], lambda _: [])
    assert [p.what.partition(" needs")[0] for p in found] == ["a.c:5:6: device function ‘f’"]


def test_failures_of_the_compiler() -> None:
    text = "during GIMPLE pass: x\na.c: In function ‘f’:\na.c:1:4: internal compiler error: in g, at h.cc:7\n"
    wanted = (
        "a.c:1:4: device function ‘f’ makes the accelerator compiler fail (internal compiler error: in g, at h.cc:7)"
    )
    assert [p.what for p in problems(text, lambda _: [], lambda _: [])] == [wanted]
    text = "unresolved symbol stdout\nunresolved symbol __printf_chk\nunresolved symbol stdouts\n"
    streams, checked, other = (p.what for p in problems(text, lambda _: [], lambda _: []))
    assert "nvptx-none has no streams" in streams and "-U_FORTIFY_SOURCE" in checked and "declare target" in other


SECOND_NAMES = """#include <cstdlib>
#pragma omp declare target
template <class T> struct S { T a; __attribute__ ((noinline)) S (T x) : a (x) { asm (""); } ~S () { asm (""); } };
struct Q { int a; Q (int x); ~Q (); };
Q::Q (int x) : a (x) { asm (""); }
Q::~Q () { asm (""); }
extern "C" int plain (int x) { asm (""); return 3 * x; }
extern "C" int other (int) __attribute__ ((alias ("plain")));
extern "C" int third (int) __attribute__ ((alias ("other")));
#pragma omp end declare target
int main ()
{
  int r = 0, t = 0;
#pragma omp target map(r, t)
  {
    S<int> s (5);
    Q q (4);
    int (*f) (int) = other;
    asm ("" : "+r" (f));
    r = s.a + q.a;
    t = f (4) + third (1);
  }
  return r != 9 || t != 15;
}
"""


@has_compiler
@has_driver
@has_executor
@needs("g++")
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_second_names_of_functions(tools: Tools, level: str) -> None:
    """GCC 12: alias definitions not supported in this configuration."""
    tools.write("two.cc", SECOND_NAMES)
    tools.ok("gompc++", level, "-fopenmp", "-foffload=nvptx-none", "-save-temps", "two.cc", "-o", "two")
    code = (tools.work / "two.xnvptx-none.mkoffload").read_bytes()
    assert b"plain" in code and b".alias" not in code and b"_ZN1QC1Ei" not in code
    done = tools.run("./two", env={"GOMPY_CUDA": "emulated", "OMP_TARGET_OFFLOAD": "mandatory"})
    assert done.returncode == 0, done.stderr


def test_first_names_are_put_for_others() -> None:
    text = """// BEGIN FUNCTION DECL: b
.func b (.param.u64 %in_ar0);
// BEGIN FUNCTION DEF: a
.func a (.param.u64 %in_ar0)
call b, (%x);
call bb, (%x);
// BEGIN FUNCTION DECL: c
.func c
(.param.u64 %in_ar0);
.alias c,b;
//:FUNC_MAP "c"
st.u64 [%r1], c$d;
call c$3; call d;"""
    assert without_aliases(text, {"b": "a", "d": "e"}).split("\n") == [
        "// BEGIN FUNCTION DEF: a",
        ".func a (.param.u64 %in_ar0)",
        "call a, (%x);",
        "call bb, (%x);",
        '//:FUNC_MAP "c"',
        "st.u64 [%r1], c$d;",
        "call c$3; call e;",
    ]
    dump = """f.x/3 (void f()) @0x1
  Type: function definition analyzed alias cpp_implicit_alias
  References: g/4 (alias)
g/4 (void g()) @0x2
  Type: function definition analyzed
  References: v/7 (read)
v/7 (v) @0x3
  Type: variable definition analyzed alias
  References: w/8 (alias)
h/5 (h) @0x4
  Type: function definition analyzed alias
  References: k/9 (alias) v/7 (read)
"""
    assert aliases_in(dump) == {"f$x": "g", "h": "k"}


@has_compiler
@needs("gfortran")
def test_functions_of_derived_type(tools: Tools) -> None:
    """GCC 12's accelerator compiler fails on them (tree-nrv.cc)."""
    tools.write(
        "nrv.f90",
        "module m\n type :: t\n  integer :: a, b\n end type\ncontains\n function f (x)\n !$omp declare target\n"
        "  type(t) :: x, f\n  f%a = x%a + 1\n  f%b = max (x%b, 7)\n end function\nend module\n"
        "program p\n use m\n type(t) :: v = t (1, 2)\n !$omp target map(v)\n v = f (v)\n !$omp end target\n"
        " if (v%a /= 2 .or. v%b /= 7) stop 1\nend program\n",
    )
    assert tools.ok("gompfortran", "-O2", "-fopenmp", "-foffload=nvptx-none", "nrv.f90", "-o", "nrv") == ""


def test_uses_of_a_symbol() -> None:
    text = (
        '// BEGIN FUNCTION DEF: f$_omp_fn$0$impl\n{\n\t.file 2 "x/a b.c"\n\t.loc 2 8 10\n\t\tcall (%v), thing, (%p);\n'
        "\t\tcall thing2;\n}\n// BEGIN GLOBAL FUNCTION DECL: thing\n.extern .func thing;\n"
        "// BEGIN GLOBAL FUNCTION DEF: g\n"
        "{\n\t.loc 2 9 1\n\t\tmov.u64 %r1, thing;\n\t.loc 2 10 1\n\t\tld.u32 %r2, [thing+4];\n}\n"
    )
    assert uses(text, "thing") == [("f._omp_fn.0", "x/a b.c:8"), ("g", "x/a b.c:9"), ("g", "x/a b.c:10")]


def test_uses_of_a_type() -> None:
    text = (
        ";; Function h (h, x)\n\nvoid h ()\n{\n  long double z;\n  [a.c:1:1] z_1 = 1;\n}\n"
        ";; Function f._omp_fn.0 (f._omp_fn.0, x)\n\n__attribute__((omp target entrypoint))\nvoid f ()\n"
        "{\n  long double z;\n\n"
        "  [a.c:12:9] _3 = 1;\n  [a.c:13:9] z_4 = _3;\n  [a.c:14:9] z_5 = z_4;\n}\n"
    )
    assert wide_uses(text, ("long double",)) == [("f._omp_fn.0", "a.c:13:9")]
    assert wide_uses(text, ("_Float128",)) == []

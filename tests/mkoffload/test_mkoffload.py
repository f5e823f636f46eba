"""The intelmic mkoffload: what it makes of objects of every kind, and what it says when it cannot."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import struct
from pathlib import Path

import pytest
from link_tools import BDIR, TARGET, Linked, Program, built, call, compile_c, elf, link, no_leftovers, section_names

from gompy.objects.elf import open_object
from gompy.objects.names import IMAGE_ABI, IMAGE_MAGIC
from gompy.tools.response import join
from mkoffload import imagelink
from mkoffload.earlydebug import debug_object

pytestmark = built
TOOL = BDIR / "accel" / TARGET / "mkoffload"
REGION = """
int {0}(int x)
{{
#pragma omp target map(tofrom: x)
  x += {1};
  return x;
}}
"""
MAIN = "int a(int); int main(void) { return a(41) - 42; }\n"


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("objects")
    made = {f"a-{m}": compile_c(REGION.format("a", 1), folder / f"a-{m}.o", m) for m in ("ours", "lto", "plain", "fat")}
    made["b-ours"] = compile_c(
        REGION.format("b", "b_help(x)").replace("int b(", "int b_help(int); int b("), folder / "b.o"
    )
    made["main"] = compile_c(MAIN, folder / "main.o", "ours")
    return made


def kinds(program: Program) -> list[int]:
    return [d.kind for d in program.described()]


# --- the host object --------------------------------------------------------------------------------------------------


def test_registration_structure(objects: dict[str, Path], tmp_path: Path) -> None:
    link([objects["main"], objects["a-ours"]], tmp_path / "my prog")
    program = Program(tmp_path / "my prog")
    words = [program.word(program.data + offset) for offset in range(0, 88, 8)]
    assert words[2] == IMAGE_MAGIC and program.read(program.data + 16, 8) == b"GOMPYMIC"
    assert struct.unpack("<II", program.read(program.data + 24, 8)) == (IMAGE_ABI, 1)
    assert words[4:6] == [1, 0] and words[9] == 1
    assert program.string(words[10]) == "my prog"
    assert words[6:8] == [
        program.symbols["__start_gompy_offload_objects"],
        program.symbols["__stop_gompy_offload_objects"],
    ]
    assert program.image()[:4] == b"\x7fELF" and words[0] % 64 == 0
    assert ".gnu.offload_images" in section_names(tmp_path / "my prog")


def test_constructor_and_destructor_register(objects: dict[str, Path], tmp_path: Path) -> None:
    """With a runtime that writes its arguments down: one call before main, one after it, with the same arguments."""
    source = tmp_path / "rt.c"
    source.write_text(
        "#include <stdio.h>\n"
        "static void *seen[3];\n"
        "void GOMP_offload_register_ver (unsigned v, void *t, int d, void *x)\n"
        "{ long *b = t; seen[0] = t; seen[1] = x;\n"
        '  printf ("register %#x %d %ld\\n", v, d, b[1] - b[0]); }\n'
        "void GOMP_offload_unregister_ver (unsigned v, void *t, int d, void *x)\n"
        '{ printf ("unregister %#x %d %d\\n", v, d, seen[0] == t && seen[1] == x); }\n'
    )
    call("gcc", "-shared", "-fPIC", source, "-o", tmp_path / "librt_.so")
    link(
        [objects["main"], objects["a-ours"]],
        tmp_path / "prog",
        "-L.",
        "-Wl,--no-as-needed",
        "-lrt_",
        "-Wl,-rpath,$ORIGIN",
    )
    assert call(tmp_path / "prog").stdout == "register 0x10000 6 8\nunregister 0x10000 6 1\n"


# --- kinds of objects -------------------------------------------------------------------------------------------------


def test_kinds(objects: dict[str, Path], tmp_path: Path) -> None:
    for mode, kind in (("ours", 0), ("lto", 1), ("fat", 1)):
        link([objects["main"], objects[f"a-{mode}"]], tmp_path / "prog")
        assert kinds(Program(tmp_path / "prog")) == [kind]
        call(tmp_path / "prog")


def test_object_of_plain_gcc_with_our_prefix_is_paired_by_position(tmp_path: Path) -> None:
    """Device code but no record (an object whose record was taken out): kind 3."""
    path = compile_c(REGION.format("a", 1), tmp_path / "a.o", "ours")
    call("objcopy", "--remove-section=gompy_offload_objects", path)
    link([compile_c(MAIN, tmp_path / "main.o"), path], tmp_path / "prog")
    program = Program(tmp_path / "prog")
    assert [(d.kind, d.id, d.nfuncs) for d in program.described()] == [(3, 0, 1)]
    assert program.image_tables() == program.host_tables()


def test_no_device_code_at_all(objects: dict[str, Path], tmp_path: Path) -> None:
    """A warning, no image, and the program still runs."""
    done = link([objects["main"], objects["a-plain"]], tmp_path / "prog")
    assert "mkoffload: warning: " in done.stderr and "a-plain.o: no device code for" in done.stderr
    assert "gompy_target_data" not in Linked(tmp_path / "prog").symbols
    call(tmp_path / "prog")


def test_bundles_of_ours(objects: dict[str, Path], tmp_path: Path) -> None:
    other = compile_c(REGION.format("other", 5), tmp_path / "other.o", "ours")
    call("ld", "-r", objects["a-ours"], other, "-o", tmp_path / "both.o")
    link([objects["main"], tmp_path / "both.o"], tmp_path / "prog")
    program = Program(tmp_path / "prog")
    assert [(d.kind, d.nfuncs, d.name) for d in program.described()] == [
        (0, 1, "both.o(a-ours.c)"),
        (0, 1, "both.o(other.c)"),
    ]
    assert [d.id for d in program.described()] == [r[0] for r in program.records()]
    assert program.image_tables() == program.host_tables() == (["a._omp_fn.0", "other._omp_fn.0"], [])


def test_bundle_of_ours_and_plain_is_refused(objects: dict[str, Path], tmp_path: Path) -> None:
    other = compile_c(REGION.format("other", 5), tmp_path / "other.o", "plain")
    call("ld", "-r", objects["a-ours"], other, "-o", tmp_path / "both.o")
    done = link([objects["main"], tmp_path / "both.o"], tmp_path / "prog", check=False)
    assert done.returncode and "both.o: only 1 of the 2 translation units joined in it have device code" in done.stderr


def test_archive_member_that_is_offered_but_not_linked(tmp_path: Path) -> None:
    """GCC PR109128: ld offers a member because of a common symbol, and does not take it.

    The image has its entries, the host has not; the records tell which are whose.
    """
    common = "int shared_common;\n"
    main = compile_c(
        common + REGION.format("first", 2) + "int last(int); int main(void) { return first(1) + last(0) - 6; }",
        tmp_path / "main.o",
        "ours",
        "-fcommon",
    )
    offered = compile_c(common + REGION.format("offered", 7), tmp_path / "offered.o", "ours", "-fcommon")
    last = compile_c(REGION.format("last", 3), tmp_path / "last.o", "ours")
    call("ar", "rcs", tmp_path / "lib.a", offered)
    link([main, tmp_path / "lib.a", last], tmp_path / "prog")
    program = Program(tmp_path / "prog")
    assert program.host_tables()[0] == ["first._omp_fn.0", "last._omp_fn.0"]
    assert program.image_tables()[0] == ["first._omp_fn.0", "offered._omp_fn.0", "last._omp_fn.0"]
    assert kinds(program) == [0, 0, 0]
    linked = {r[0] for r in program.records()}
    assert [d.id in linked for d in program.described()] == [True, False, True]
    call(tmp_path / "prog")


# --- the image --------------------------------------------------------------------------------------------------------

CXX = """
#include <cstdio>
#include <vector>
#include <iostream>
#include <stdexcept>
#pragma omp declare target
struct Base { virtual int f(int x) const { return x; } virtual ~Base() {} };
struct Derived : Base { int f(int x) const override { return x * 2; } };
template <class T> T twice(T x) { return x + x; }
int work(int zero)
{
  Base *b = zero ? new Base : new Derived;
  auto twice_and_one = [=](int x) { return b->f(x) + 1; };
  int r = 0;
  try { if (zero == 0) throw std::runtime_error("x"); } catch (const std::exception &) { r = twice_and_one(20); }
  delete b;
  std::vector<int> v(10, 1);
  for (int i : v) r += i;
  return r;
}
#pragma omp end declare target
struct Loud { Loud() { std::puts("constructed"); } ~Loud() { std::puts("destroyed"); } } loud;
int host_only(int x) { std::cout << x; return x; }
int main()
{
  long r[2] = { 0, 0 };
#pragma omp target map(tofrom: r)
  {
    r[0] = work(0);
    r[1] = twice(1.5);
  }
  std::printf("%ld %ld\\n", r[0], r[1]);
  return r[0] != 51;
}
"""


def load(program: Program, path: Path) -> ctypes.CDLL:
    """The image, loaded with every symbol bound."""
    path.write_bytes(program.image())
    return ctypes.CDLL(str(path), mode=2)


def first_function(library: ctypes.CDLL) -> int:
    return int(ctypes.c_uint64.from_address((ctypes.c_uint64 * 4).in_dll(library, "__OFFLOAD_TARGET_TABLE__")[0]).value)


@pytest.mark.slow
def test_cxx_image_has_no_constructors_and_runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Virtual calls, exceptions, lambdas, templates, containers; called here as the device process will."""
    path = compile_c(CXX, tmp_path / "x.o", "ours", gcc="g++", suffix=".cc")
    link([path], tmp_path / "prog", gcc="g++")
    assert call(tmp_path / "prog").stdout == "constructed\n51 3\ndestroyed\n"
    program = Program(tmp_path / "prog")
    image = Linked(program.image())
    tags = {t.entry.d_tag for t in image.file.get_section_by_name(".dynamic").iter_tags()}
    assert not tags & {"DT_INIT_ARRAY", "DT_FINI_ARRAY", "DT_INIT", "DT_FINI", "DT_PREINIT_ARRAY", "DT_TEXTREL"}
    assert not any("host_only" in n or n == "main" or "loud" in n for n in image.symbols)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(first_function(load(program, tmp_path / "image.so")))
    result = (ctypes.c_long * 2)(0, 0)
    function(ctypes.addressof((ctypes.c_void_p * 1)(ctypes.addressof(result))))
    assert list(result) == [51, 3]
    assert capfd.readouterr().out == ""


@pytest.mark.skipif(not shutil.which("gfortran"), reason="no gfortran")
def test_fortran_image_loads(tmp_path: Path) -> None:
    text = """
module m
  implicit none
  integer :: k = 3
  !$omp declare target(k)
contains
  subroutine scale(a)
    !$omp declare target
    real, intent(inout) :: a(:)
    a = a * k
  end subroutine
end module
program p
  use m
  implicit none
  real, allocatable :: x(:)
  allocate(x(10))
  x = 1
  !$omp target map(tofrom: x)
  call scale(x)
  x(1) = sum(x(2:))
  !$omp end target
  print '(f6.1)', x(1)
end program
"""
    path = compile_c(text, tmp_path / "x.o", "ours", gcc="gfortran", suffix=".f90")
    link([path], tmp_path / "prog", gcc="gfortran")
    assert call(tmp_path / "prog").stdout == "  27.0\n"
    program = Program(tmp_path / "prog")
    assert program.host_tables() == program.image_tables() == (["MAIN__._omp_fn.0"], ["__m_MOD_k"])
    load(program, tmp_path / "image.so")


def test_link_variables_keep_their_size_in_the_image(tmp_path: Path) -> None:
    """``declare target link``: an entry in both tables, the host's with the link bit."""
    text = """
int big[100];
#pragma omp declare target link(big)
int main(void)
{
#pragma omp target map(tofrom: big)
  big[1] = 2;
  return big[1] - 2;
}
"""
    link([compile_c(text, tmp_path / "x.o")], tmp_path / "prog")
    program = Program(tmp_path / "prog")
    assert program.host_tables()[1] == program.image_tables()[1] == ["big"]
    assert program.word(program.symbols["__offload_var_table"] + 8) == 400 | 1 << 63
    call(tmp_path / "prog")


LINKED = """module m
  integer :: a(9), b(9), c(9) = 5
  !$omp declare target %s(a, b)
contains
  subroutine twice
    !$omp declare target
    a = 2 * b + c
  end subroutine
end module
program p
  use m
  b = 3
  !$omp target map(always, to: b) map(always, from: a)
  call twice
  !$omp end target
  if (any(a /= 11)) stop 1
end program
"""


@pytest.mark.slow(sample=1)
@pytest.mark.skipif(not shutil.which("gfortran"), reason="no gfortran")
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_copies_that_no_map_reaches_are_warned_of(tmp_path: Path, level: str) -> None:
    """gfortran 12 makes no device variables of ``declare target link``: the regions' work would be lost unsaid."""
    path = compile_c(LINKED % "link", tmp_path / "l.o", "ours", level, gcc="gfortran", suffix=".f90")
    done = link([path], tmp_path / "prog", gcc="gfortran")
    assert "l.o: no map or update reaches ‘a’ (module m), ‘b’ (module m) on the device, which has its" in done.stderr
    path = compile_c(LINKED % "to", tmp_path / "t.o", "ours", level, gcc="gfortran", suffix=".f90")
    assert link([path], tmp_path / "prog", gcc="gfortran").stderr == ""


def test_copies_of_what_the_host_sets(tmp_path: Path) -> None:
    """A variable of another file: taken along; a warning only if functions with regions use it, too."""
    definition = "int seen = 7, quiet = 8;\n#pragma omp declare target\nint there;\n#pragma omp end declare target\n%s"
    region = "\nvoid run (void) {\n#pragma omp target\n there = 1;\n%s}\n"
    user = (
        "#pragma omp declare target\nextern int seen, quiet;\nint get (void) { return ++seen + ++quiet; }\n"
        "#pragma omp end declare target\nvoid run (void);\n"
        "int main (void) {\n int r;\n run ();\n#pragma omp target map(from: r)\n r = get ();\n return r - 17; }\n"
    )
    main = compile_c(user, tmp_path / "main.o")
    quiet = compile_c(definition % (region % ""), tmp_path / "quiet.o")
    assert link([main, quiet], tmp_path / "prog").stderr == ""
    call(tmp_path / "prog")
    loud = compile_c(definition % (region % "seen++;\n"), tmp_path / "loud.o")
    done = link([main, loud], tmp_path / "prog")
    assert "mkoffload: warning: loud.o: no map or update reaches ‘seen’ on the device, which" in done.stderr


def test_copies_that_no_region_reaches(tmp_path: Path) -> None:
    """A declare target function with a region brings the host's functions along, not into the image."""
    text = (
        "int mapped = -1;\n#pragma omp declare target\nstruct S { virtual int f () { return 1; }\n"
        " int g () { int r = 0;\n#pragma omp target map(r)\n r = f () + 1;\n return r; } };\n"
        "#pragma omp end declare target\nint main () {\n#pragma omp target map(from: mapped)\n mapped = 1;\n"
        " S s; return s.g () + mapped - 3; }\n"
    )
    path = compile_c(text, tmp_path / "x.o", "ours", "-O0", gcc="g++", suffix=".cc")
    assert link([path], tmp_path / "prog", gcc="g++").stderr == ""


def test_calling_conventions_are_warned_of_once(tmp_path: Path) -> None:
    """-Wno-psabi of a compilation holds for the device, too (libgomp.oacc-c-c++-common/firstprivate-mappings-1.c)."""
    text = """typedef int wide __attribute__((vector_size (32)));
    __attribute__((noipa)) wide twice (wide x) { return x + x; }
    #pragma omp declare target (twice)
    int main (void) { int r = 0;
    #pragma omp target map(tofrom: r)
    { wide w = {1}; r = twice (w)[0]; }
    return r != 2; }
    """
    built = link([compile_c(text, tmp_path / "x.o", "ours", "-Wno-psabi")], tmp_path / "prog")
    assert built.stderr == ""
    call(tmp_path / "prog")


def test_dumps_of_the_device_compiler(tmp_path: Path) -> None:
    """-fdump- options for the device leave their dumps beside the output, under GCC's name (scanoffload.exp)."""
    text = "int main(void){int x=0;\n#pragma omp target map(tofrom:x)\n x=1; return !x;}\n"
    link([compile_c(text, tmp_path / "x.o", "ours")], tmp_path / "prog", "-foffload-options=-fdump-tree-optimized")
    (dump,) = tmp_path.glob("*.optimized")
    assert re.fullmatch(r"prog\.xx86_64-intelmicemul-linux-gnu\.mkoffload\.\d+t\.optimized", dump.name)
    assert "main._omp_fn.0" in dump.read_text()


def test_device_lines_in_the_debug_information(tmp_path: Path) -> None:
    """-g: addr2line on the image tells the source line of a region; without -g there is no debug information."""
    text = "int main(void)\n{\n  int x = 0;\n#pragma omp target map(tofrom: x)\n  x = x * 3 + 1;\n  return x - 1;\n}\n"
    link([compile_c(text, tmp_path / "deb.o", "ours", "-g")], tmp_path / "prog", "-save-temps")
    image = tmp_path / f"prog.x{TARGET}.mkoffload"
    address = Linked(image).symbols["main._omp_fn.0"]
    found = call("addr2line", "-e", image, *(f"{address + i:#x}" for i in range(0, 24, 2))).stdout
    assert str(tmp_path / "deb.c:5") in found and "<artificial>" not in found
    link([compile_c(text, tmp_path / "no.o", "ours")], tmp_path / "prog", "-save-temps")
    assert not any(n.startswith(".debug_") for n in section_names(image))


def test_debug_object_of_a_unit_with_much_bss(tmp_path: Path) -> None:
    """What is left of .bss must not reach beyond the end of the file: ld warns of it."""
    (tmp_path / "big.c").write_text("static int big[1 << 20]; int *f (int i) { return &big[i]; }\n")
    call("gcc", "-c", "-g", "-flto", "-ffat-lto-objects", tmp_path / "big.c", "-o", tmp_path / "big.o")
    data = debug_object(open_object(str(tmp_path / "big.o")))
    assert data is not None
    (tmp_path / "debug.o").write_bytes(data)
    linked = call("ld", "-r", tmp_path / "debug.o", "-o", tmp_path / "out.o")
    assert linked.stderr == ""
    assert ".debug_info" in section_names(tmp_path / "out.o")


def test_debug_information_of_bundles_archives_and_lto(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    one = compile_c(REGION.format("a", 1), tmp_path / "one.o", "ours", "-g")
    two = compile_c(REGION.format("b", 2), tmp_path / "two.o", "lto", "-g")
    call("ar", "rcs", tmp_path / "lib.a", one)
    main = compile_c(
        "int a(int), b(int); int main(void) { return a(1) + b(1) - 5; }", tmp_path / "main.o", "ours", "-g"
    )
    link([main, tmp_path / "lib.a", two], tmp_path / "prog", "-g", TMPDIR=str(scratch))
    program = Program(tmp_path / "prog")
    assert program.host_tables() == program.image_tables()
    (tmp_path / "image").write_bytes(program.image())
    listed = call("readelf", "--debug-dump=decodedline", tmp_path / "image").stdout
    assert "one.c" in listed and "two.c" in listed
    call(tmp_path / "prog")
    no_leftovers(scratch)


def test_optimisation_and_options_reach_the_image(objects: dict[str, Path], tmp_path: Path) -> None:
    """-foffload-options come last; what they ask of the linker is asked of the image's."""
    call(
        "gcc",
        "-B",
        BDIR,
        "-fopenmp",
        "-foffload=disable",
        "-foffload-options=-O0 -Wl,-soname,mine -lm",
        objects["main"],
        objects["a-ours"],
        "-o",
        "prog",
        cwd=tmp_path,
        OFFLOAD_TARGET_NAMES=TARGET,
    )
    image = elf(Program(tmp_path / "prog").image())
    sonames = [t.soname for t in image.get_section_by_name(".dynamic").iter_tags() if t.entry.d_tag == "DT_SONAME"]
    assert sonames == ["mine"]


def test_same_inputs_same_image(objects: dict[str, Path], tmp_path: Path) -> None:
    seen = set()
    for _ in range(2):
        link([objects["main"], objects["a-ours"]], tmp_path / "prog")
        seen.add(Program(tmp_path / "prog").image())
    assert len(seen) == 1


# --- errors -----------------------------------------------------------------------------------------------------------


def test_undefined_function_is_explained(objects: dict[str, Path], tmp_path: Path) -> None:
    """The symbol, who uses it, where, and the mend; then GCC's chain of messages."""
    helper = compile_c("int b_help(int x) { return x; }", tmp_path / "help.o", "plain")
    main = compile_c("int b(int); int main(void) { return b(0); }", tmp_path / "main.o", "ours")
    done = link([main, objects["b-ours"], helper], tmp_path / "prog", check=False)
    assert done.returncode == 1
    first, *rest = done.stderr.split("\n")
    assert first.startswith("mkoffload: error: ") and "b.c:5: target region ‘b._omp_fn.0’ uses ‘b_help’" in first
    assert "declare target" in first and "compile that file with gompcc" in first
    assert rest[0].startswith("mkoffload: fatal error: ") and rest[0].endswith("ld returned 1 exit status")
    assert rest[1] == "compilation terminated."
    assert rest[2].startswith("lto-wrapper: fatal error: ") and rest[2].endswith("mkoffload returned 1 exit status")
    assert rest[4].endswith("ld: error: lto-wrapper failed")


def test_function_of_an_object_without_device_code_is_named(objects: dict[str, Path], tmp_path: Path) -> None:
    helper = compile_c("int b_help(int x) { return x; }\n" + REGION.format("a", 1), tmp_path / "help.o", "plain")
    main = compile_c("int b(int); int main(void) { return b(0); }", tmp_path / "main.o", "ours")
    done = link([main, objects["b-ours"], helper], tmp_path / "prog", check=False)
    assert (
        "‘b_help’, which is not defined for the device; it is defined in help.o, which has no device code"
        in done.stderr
    )


def test_libraries_of_the_device_are_named_by_option(objects: dict[str, Path], tmp_path: Path) -> None:
    helper = compile_c("int b_help(int x) { return x + 1; }", tmp_path / "help.o", "plain", "-fPIC")
    call("gcc", "-shared", helper, "-o", tmp_path / "libhelp.so")
    main = compile_c("int b(int); int main(void) { return b(0) - 1; }", tmp_path / "main.o", "ours")
    link(
        [main, objects["b-ours"]],
        tmp_path / "prog",
        f"-foffload-options=-L../{tmp_path.name} -lhelp",  # no blank of TMPDIR's: gcc divides the words there
        "-L.",
        "-Wl,--no-as-needed,-lhelp,-rpath,$ORIGIN",
    )
    call(tmp_path / "prog")


def test_the_c_library_is_opened_only_where_it_may_be_needed() -> None:
    """Symbols of libgomp alone do without; whoever has another one gets all that each image got."""
    assert imagelink.few_libraries([]) == []
    assert imagelink.few_libraries(["GOMP_parallel", "omp_get_thread_num"]) == ["gomp"]
    for undefined in (["memcpy"], ["GOMP_parallel", "memcpy"], ["_Znwm", "_Unwind_Resume"]):
        assert imagelink.few_libraries(undefined) == imagelink.wanted_libraries(undefined)
        assert imagelink.few_libraries(undefined)[-1] == "c"


def run_tool(*words: str | Path, cwd: Path, **env: str) -> tuple[int, str]:
    values = {"COLLECT_GCC": "gcc", "LIBRARY_PATH": "/usr/lib/gcc/x86_64-linux-gnu/12/:/usr/lib/x86_64-linux-gnu/"}
    done = call(TOOL, *words, cwd=cwd, check=False, **{k: v for k, v in {**values, **env}.items() if v})
    assert "Traceback" not in done.stderr and not done.stdout
    return done.returncode, done.stderr


def test_alone_it_makes_a_host_object(objects: dict[str, Path], tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    words = [objects["a-ours"], "-O2", "-fopenmp", "-foffload-abi=lp64", "-o", "x.o"]
    assert run_tool(*words, cwd=tmp_path, TMPDIR=str(scratch)) == (0, "")
    names = call("nm", "-u", tmp_path / "x.o").stdout.split()[1::2]
    assert {"GOMP_offload_register_ver", "GOMP_offload_unregister_ver", "__OFFLOAD_TABLE__"} <= set(names)
    (tmp_path / "words").write_text(join([str(w) for w in words]))
    assert run_tool(f"@{tmp_path / 'words'}", cwd=tmp_path) == (0, "")
    no_leftovers(scratch)


@pytest.mark.parametrize(
    ("words", "env", "message"),
    [
        (["A", "-o", "x.o"], {"COLLECT_GCC": ""}, "COLLECT_GCC must be set."),
        (["A"], {}, "output file not specified"),
        (["A", "-foffload-abi=weird", "-o", "x.o"], {}, "unrecognizable argument of option -foffload-abi="),
        (["A", "-foffload-abi=ilp32", "-o", "x.o"], {}, "-foffload-abi=ilp32 is not supported: the device is 64-bit"),
        (["gone.o", "-o", "x.o"], {}, "cannot read gone.o: No such file or directory"),
        (["/dev/null", "-o", "x.o"], {}, "cannot read /dev/null: not an ELF file"),
        (["A", "-fno-such-option", "-o", "x.o"], {}, "gcc returned 1 exit status"),
        (
            ["A", "-o", "x.o"],
            {"COLLECT_GCC": "/nonexistent/gcc"},
            "cannot run /nonexistent/gcc: No such file or directory",
        ),
        (["A", "-o", "/nonexistent/x.o"], {}, "cannot write /nonexistent/x.o: No such file or directory"),
        pytest.param(
            *(["A", "-o", "x.o"], {"TMPDIR": "/proc"}, "cannot create /proc/"),
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="others may not write there, and take another folder"),
        ),
    ],
)
def test_fatal_errors(
    objects: dict[str, Path], tmp_path: Path, words: list[str], env: dict[str, str], message: str
) -> None:
    status, errors = run_tool(*(objects["a-ours"] if w == "A" else w for w in words), cwd=tmp_path, **env)
    assert (status == 1 and f"mkoffload: fatal error: {message}" in errors) or f"/{message}" in errors
    assert errors.endswith("compilation terminated.\n")


def test_tables_that_differ_are_named(objects: dict[str, Path], tmp_path: Path) -> None:
    """An object whose host table was tampered with: the entries are named, the link fails."""
    path = compile_c(REGION.format("a", 1) + REGION.format("c", 2), tmp_path / "x.o", "ours")
    data = bytearray(path.read_bytes())
    rela = elf(path).get_section_by_name(".rela.gnu.offload_funcs")
    at = rela["sh_offset"]
    first, second = data[at + 8 : at + 24], data[at + 32 : at + 48]
    data[at + 8 : at + 24], data[at + 32 : at + 48] = second, first
    path.write_bytes(data)
    status, errors = run_tool(path, "-O1", "-fopenmp", "-o", "out.o", cwd=tmp_path)
    assert status == 1
    assert "the function tables of host and image differ (2 and 2 entries)" in errors
    assert "entry 0: host has c._omp_fn.0, image has a._omp_fn.0" in errors
    assert not (tmp_path / "out.o").exists()


def test_record_that_disagrees_with_its_tables_is_an_error(tmp_path: Path) -> None:
    path = compile_c(REGION.format("a", 1), tmp_path / "x.o", "ours")
    data = bytearray(path.read_bytes())
    at = elf(path).get_section_by_name("gompy_offload_objects")["sh_offset"]
    data[at + 8] = 5
    path.write_bytes(data)
    status, errors = run_tool(path, "-o", "out.o", cwd=tmp_path)
    assert status == 1 and "x.o: its offload tables have 1 functions" in errors

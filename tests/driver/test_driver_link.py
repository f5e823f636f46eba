"""Links by gompcc: programs whose regions run on the device, and links that must stay gcc's own."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from driver_samples import C_SAMPLES
from driver_tools import Tools, has_all, needs

from gompy.driver import paths
from gompy.objects.names import TARGET_INTELMIC

pytestmark = [has_all, needs("gcc", "readelf", "ar")]

WHERE = """
#include <stdio.h>
#include <omp.h>
int helper (int);
int main (void) { int host = 1, x = 1;
#pragma omp target map(tofrom: host, x)
  { host = omp_is_initial_device (); x += 41; }
  printf ("%s %d\\n", host ? "host" : "device", x);
  return 0; }
"""
HELPER = """
#include <omp.h>
int helper (int a) { int host = 1;
#pragma omp target map(tofrom: host) firstprivate(a)
  host = omp_is_initial_device () + a - a;
  return host; }
"""
USES_HELPER = """
#include <stdio.h>
int helper (int);
int main (void) { printf ("%s\\n", helper (3) ? "host" : "device"); return 0; }
"""


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    work = tmp_path / "work"
    work.mkdir()
    made = Tools(bin_folder, work)
    made.write("where.c", WHERE)
    made.write("helper.c", HELPER)
    made.write("user.c", USES_HELPER)
    made.env["LC_ALL"] = "C"
    return made


def needed(tools: Tools, name: str) -> list[str]:
    """The shared libraries that a file asks for, in order."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", tools.ok("readelf", "-dW", name))


def quiet(tools: Tools, *command: str | Path) -> None:
    """A command that must succeed and say nothing."""
    done = tools.run(*command)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_one_command(tools: Tools) -> None:
    quiet(tools, "gompcc", "-fopenmp", "where.c", "-o", "prog")
    assert tools.ok("./prog") == "device 42\n"
    assert needed(tools, "prog")[0] == "libgompy.so.1"
    assert paths.LIBDIR in tools.ok("readelf", "-dW", "prog")


OPTIONS = ["-O2", "-O0 -g", "-no-pie", "-fno-lto", "-flto", "-flto -ffat-lto-objects", "-pipe"]


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("options", OPTIONS)
def test_compile_and_link_apart(tools: Tools, options: str) -> None:
    flags = options.split()
    quiet(tools, "gompcc", "-fopenmp", *flags, "-c", "where.c")
    quiet(tools, "gompcc", "-fopenmp", *flags, "where.o", "-o", "prog")
    assert tools.ok("./prog") == "device 42\n"
    quiet(tools, "gompcc", "-fopenmp", *flags, "where.c", "-o", "prog")
    assert tools.ok("./prog") == "device 42\n"


def test_lto_and_other_objects_on_one_line(tools: Tools) -> None:
    """A source without -flto beside a user's LTO object: only the latter goes through LTO."""
    quiet(tools, "gompcc", "-fopenmp", "-flto", "-c", "helper.c")
    done = tools.run("gompcc", "-fopenmp", "user.c", "helper.o", "-o", "prog", "-save-temps")
    assert done.returncode == 0, done.stderr
    assert tools.ok("./prog") == "device\n"
    resolution = (tools.work / "prog.res").read_text().splitlines()
    assert resolution[0] == "1"
    assert resolution[1].startswith("helper.o ")


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("kind", ["archive", "thin", "shared", "joined", "stripped", "script"])
def test_kinds_of_input(tools: Tools, kind: str) -> None:
    flags = ["-fPIC"] if kind == "shared" else []
    quiet(tools, "gompcc", "-fopenmp", *flags, "-c", "helper.c")
    quiet(tools, "gompcc", "-fopenmp", "-c", "user.c")
    inputs = ["user.o", "helper.o"]
    if kind == "archive":
        quiet(tools, "ar", "rcs", "libhelper.a", "helper.o")
        inputs = ["user.o", "-L.", "-lhelper"]
    elif kind == "thin":
        quiet(tools, "ar", "rcsT", "libhelper.a", "helper.o")
        inputs = ["user.o", "libhelper.a"]
    elif kind == "shared":
        quiet(tools, "gompcc", "-fopenmp", "-shared", "helper.o", "-o", "libhelper.so")
        assert "libgompy.so.1" in needed(tools, "libhelper.so")
        inputs = ["user.o", "-L.", "-lhelper", "-Wl,-rpath,$ORIGIN"]
    elif kind == "joined":
        done = tools.run("gompcc", "-fopenmp", "-r", "user.o", "helper.o", "-o", "joined.o")
        assert done.returncode == 0
        tools.ok("gcc", "-fopenmp", "-c", "user.c", "-o", "stock1.o")
        tools.ok("gcc", "-fopenmp", "-c", "helper.c", "-o", "stock2.o")
        stock = tools.run("gcc", "-fopenmp", "-foffload=disable", "-r", "stock1.o", "stock2.o", "-o", "stock.o")
        assert (done.stdout, done.stderr) == (stock.stdout, stock.stderr)  # ld warns of LTO with both
        assert ".gompyir_.opts" in tools.ok("readelf", "-SW", "joined.o")
        assert " U GOMP_target_ext" in tools.ok("nm", "joined.o")  # gcc -r -fopenmp would have joined libgomp.a too
        inputs = ["joined.o"]
    elif kind == "stripped":
        quiet(tools, "strip", "-g", "helper.o")
    else:
        tools.write("inputs.ld", "INPUT(user.o helper.o)\n")
        inputs = ["inputs.ld"]
    quiet(tools, "gompcc", "-fopenmp", *inputs, "-o", "prog")
    assert tools.ok("./prog") == "device\n"


def test_standard_input_to_program(tools: Tools) -> None:
    done = tools.run("gompcc", "-fopenmp", "-x", "c", "-", "-o", "prog", stdin=WHERE)
    assert (done.returncode, done.stderr) == (0, "")
    assert tools.ok("./prog") == "device 42\n"


def test_default_output_name_and_response_file(tools: Tools) -> None:
    tools.write("line", "-fopenmp where.c -fno-lto -foffload=intelmic")
    quiet(tools, "gompcc", "@line")
    assert tools.ok("./a.out") == "device 42\n"


def test_assembler_text_linked_without_fopenmp(tools: Tools) -> None:
    quiet(tools, "gompcc", "-fopenmp", "-S", "where.c")
    quiet(tools, "gompcc", "where.s", "-o", "prog", "-lgomp")
    assert tools.ok("./prog") == "device 42\n"


def test_absolute_libgomp_is_an_openmp_link(tools: Tools) -> None:
    """As CMake's FindOpenMP writes it: no -fopenmp, the library by its path."""
    quiet(tools, "gompcc", "-fopenmp", "-c", "where.c")
    library = tools.ok("gcc", "-print-file-name=libgomp.so").strip()
    quiet(tools, "gompcc", "where.o", "-o", "prog", library)
    assert needed(tools, "prog")[0] == "libgompy.so.1"
    assert tools.ok("./prog") == "device 42\n"


def test_libgomp_does_not_make_openmp_of_a_source(tools: Tools) -> None:
    text = "#ifdef _OPENMP\n#error\n#endif\n#include <omp.h>\nint main (void) { return omp_in_parallel (); }\n"
    tools.write("plain.c", text)
    quiet(tools, "gompcc", "plain.c", "-lgomp", "-o", "prog")
    assert tools.ok("gompcc", "-show", "plain.c", "-lgomp") == "gcc plain.c -lgomp\n"


def test_wrapper_around_the_compiler(tools: Tools) -> None:
    """GOMPY_CC may be another wrapper, as those of MPI libraries are."""
    path = tools.write("mpicc", '#!/bin/sh\nexec gcc -I/nosuch/include -L/nosuch/lib "$@" -lm\n')
    path.chmod(0o755)
    tools.ok("gompcc", "-fopenmp", "-c", "where.c", env={"GOMPY_CC": str(path)})
    tools.ok("gompcc", "-fopenmp", "where.o", "-o", "prog", env={"GOMPY_CC": str(path)})
    assert tools.ok("./prog") == "device 42\n"


def test_forgotten_fopenmp_is_explained(tools: Tools) -> None:
    quiet(tools, "gompcc", "-fopenmp", "-c", "where.c")
    done = tools.run("gompcc", "where.o", "-o", "prog")
    assert done.returncode == 1
    assert done.stderr.startswith("gompcc: note: 'where.o' has offloaded regions, and this link has no '-fopenmp'\n")
    assert "undefined reference" in done.stderr and "mkoffload" not in done.stderr


@pytest.mark.parametrize("lto", [(), ("-flto",)])
def test_links_without_fopenmp_ask_for_no_image_of_gccs(tools: Tools, lto: tuple[str, ...]) -> None:
    """gcc's driver asks for its own devices in each link: with CUDA 13's ptxas in PATH, an error about sm_35."""
    tools.write("stock/ptxas", "#!/bin/sh\necho fatal >&2; exit 255\n").chmod(0o755)
    env = {"PATH": f"{tools.work}/stock:{tools.env['PATH']}"}
    quiet(tools, "gompcc", "-fopenmp", *lto, "-c", "where.c")
    joined = tools.run("gompcc", "-r", "where.o", "-o", "joined.o", env=env)
    assert (joined.returncode, joined.stderr) == (0, "")
    shared = tools.run("gompcc", "-shared", "-fPIC", "where.o", "-o", "where.so", env=env)
    note = "gompcc: note: 'where.o' has offloaded regions, and this link has no '-fopenmp': they will run on the host\n"
    assert (shared.returncode, shared.stderr) == (0, note)
    if not lto:  # host LTO has ended its device code in that link, as gcc's does
        tools.ok("gompcc", "-fopenmp", "joined.o", "-o", "prog", env=env)
        assert tools.ok("./prog") == "device 42\n"


def test_static_program_runs_on_the_host(tools: Tools) -> None:
    done = tools.run("gompcc", "-fopenmp", "-static", "where.c", "-o", "prog")
    assert done.returncode == 0
    lines = [line for line in done.stderr.splitlines() if line.startswith("gompcc: ")]
    assert len(lines) == 1
    assert "its regions will run on the host" in lines[0]
    assert tools.ok("./prog") == "host 42\n"


def test_linkers_without_gcc_s_plugin_are_told(tools: Tools) -> None:
    tools.write("none.c", "int none;\n")
    quiet(tools, "gompcc", "-fopenmp", "-c", "where.c", "none.c")
    nothing = "does not hand objects to gcc's linker plugin, so no device code is linked: regions will run on the host"
    some = "hands only objects of -flto to gcc's linker plugin (2.30 and later, all): the regions of others have no "
    for linker, text in (("lld", nothing), ("mold", some + "device code and will run on the host")):
        for name in ("where.c", "where.o"):
            done = tools.run("gompcc", "-fopenmp", f"-fuse-ld={linker}", name, "-###")
            assert f"gompcc: warning: '{linker}' {text} [-Woffload-host]\n" in done.stderr
        # No regions, no link, another linker after all: nothing to say.
        for words in (["none.o"], ["-c", "where.c"], ["where.o", "-fuse-ld=bfd"]):
            assert "warning" not in tools.run("gompcc", "-fopenmp", f"-fuse-ld={linker}", *words, "-###").stderr


def test_libgomp_as_an_archive_in_a_dynamic_program_is_told(tools: Tools) -> None:
    tools.write("team.c", "void team (int *x) {\n#pragma omp critical\n  *x = 1;\n}\n")
    words = ("where.c", "team.c", "-Wl,-Bstatic", "-lgomp", "-Wl,-Bdynamic", "-o", "prog")
    done = tools.run("gompcc", "-fopenmp", *words)
    assert done.returncode == 0 and tools.ok("./prog") == "host 42\n"
    text = "libgomp.a in a program that is not static may replace libgompy.so: regions may run on the host"
    assert done.stderr == f"gompcc: warning: {text} [-Woffload-host]\n"
    quiet(tools, "gompcc", "-fopenmp", "where.c", "-Wl,-Bstatic", "-lm", "-Wl,-Bdynamic", "-o", "prog")
    assert tools.ok("./prog") == "device 42\n"


def test_disabled(tools: Tools) -> None:
    quiet(tools, "gompcc", "-fopenmp", "where.c", "-foffload=disable", "-o", "prog")
    assert tools.ok("./prog") == "host 42\n"
    assert "libgompy.so.1" not in needed(tools, "prog")
    quiet(tools, "gompcc", "-fopenmp", "-c", "where.c")
    quiet(tools, "gompcc", "-fopenmp", "where.o", "-foffload=intelmic=-O1", "-foffload=disable", "-o", "prog")
    assert tools.ok("./prog") == "host 42\n"


def test_inherited_variables_do_not_disturb(tools: Tools) -> None:
    env = {"OFFLOAD_TARGET_NAMES": "nonsense", "OFFLOAD_TARGET_DEFAULT": "1", "GOMPY_AS": "keep"}
    env["GOMPY_OFFLOAD_OPTIONS"] = "-nonsense"
    for options in ([], ["-foffload=disable"], ["-r"]):
        done = tools.run("gompcc", "-fopenmp", *options, "where.c", "-o", "prog", env=env)
        assert (done.returncode, done.stderr) == (0, "")


def show(tools: Tools, *options: str) -> dict[str, str]:
    """The environment that -show prints, and the command under ""."""
    words = shlex.split(tools.ok("gompcc", "-show", *options))
    found = {}
    while "=" in words[0] and not words[0].startswith("-"):
        name, _, value = words.pop(0).partition("=")
        found[name] = value
    found[""] = shlex.join(words)
    return found


def test_targets_reach_lto_wrapper(tools: Tools) -> None:
    shown = show(tools, "-fopenmp", "a.o", "-foffload=nvptx-none,intelmic", "-foffload=amdgcn-amdhsa")
    assert shown["OFFLOAD_TARGET_NAMES"] == f"nvptx-none:{TARGET_INTELMIC}:amdgcn-amdhsa"
    assert "-foffload=disable" in shown[""]
    assert "nvptx" not in shown[""]
    assert show(tools, "-fopenmp", "a.o")["OFFLOAD_TARGET_NAMES"] == TARGET_INTELMIC
    assert show(tools, "-fopenmp", "a.o", "-foffload=-O3")["OFFLOAD_TARGET_NAMES"] == TARGET_INTELMIC
    assert "disable" not in show(tools, "-fopenmp", "-c", "a.c")[""]
    assert "OFFLOAD_TARGET_NAMES" not in show(tools, "-fopenmp", "-r", "a.o")


def test_lto_options_at_the_link(tools: Tools) -> None:
    """-fno-lto would switch the plugin off; the others speak of objects that are LTO whatever this line says."""
    words = show(tools, "-fopenmp", "a.o", "-flto-partition=none", "-fno-lto")[""].split()
    assert "-flto-partition=none" in words
    assert "-fno-lto" not in words
    assert "-flto=2" in show(tools, "-fopenmp", "a.o", "-flto=2")[""].split()


def test_options_reach_only_their_target(tools: Tools) -> None:
    options = ["-foffload-options=-O1", "-foffload=intelmic=-DX='a b' -lm", "-foffload-options=nvptx-none=-O3"]
    shown = show(tools, "-fopenmp", "a.o", *options)
    assert shown["GOMPY_OFFLOAD_OPTIONS"] == f"{TARGET_INTELMIC}=-DX='a b' -lm"
    assert "intelmic" not in shown[""].replace(paths.BDIR, "")
    assert shlex.split(shown[""])[-2:] == ["-foffload-options=-O1", "-foffload-options=nvptx-none=-O3"]


def test_options_come_last_in_mkoffload_s_line(tools: Tools) -> None:
    quiet(tools, "gompcc", "-fopenmp", "-c", "-O2", "-foffload-options=intelmic=-fno-inline -lm", "where.c")
    done = tools.run(
        *("gompcc", "-fopenmp", "-v", "where.o", "-o", "prog"),
        *("-foffload-options=intelmic=-O1 -ffast-math", "-foffload-options=-fno-peephole"),
    )
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if re.match(r" \S+/mkoffload ", line)]
    words = line.split()
    assert words.index("-O2") < words.index("-fno-inline") < words.index("-lm") < words.index("-O1")
    assert words[-3:] == ["-O1", "-ffast-math", "-fno-peephole"]
    assert tools.ok("./prog") == "device 42\n"


def test_unknown_target_at_link(tools: Tools) -> None:
    quiet(tools, "gompcc", "-fopenmp", "-c", "where.c")
    done = tools.run("gompcc", "-fopenmp", "where.o", "-foffload=intelmic,sparc", "-o", "prog")
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first == "gompcc: error: GCC is not configured to support 'sparc' as '-foffload=' argument"
    assert TARGET_INTELMIC in second


def test_save_temps_names(tools: Tools) -> None:
    """Inputs that the driver adds must not change how gcc names its files."""
    for folder, command in (("stock", ["gcc", "-foffload=disable"]), ("ours", ["gompcc"])):
        work = tools.work / folder
        work.mkdir()
        (work / "where.c").write_text(WHERE)
        done = tools.run(*command, "-fopenmp", "-save-temps", "where.c", cwd=work)
        assert done.returncode == 0
    stock = {path.name for path in (tools.work / "stock").iterdir()}
    ours = {path.name for path in (tools.work / "ours").iterdir()}
    assert stock <= ours
    assert all(name.startswith(("a.", "a-where.")) for name in ours - {"where.c"})


def test_show_is_what_would_be_run(tools: Tools) -> None:
    line = tools.ok("gompcc", "-fopenmp", "where.c", "-o", "prog", "--showme")
    assert not (tools.work / "prog").exists()
    done = tools.run("sh", "-c", line)
    assert (done.returncode, done.stderr) == (0, "")
    assert tools.ok("./prog") == "device 42\n"


def test_showme_parts(tools: Tools) -> None:
    assert tools.ok("gompcc", "--showme:command") == "gcc\n"
    assert tools.ok("gompc++", "-showme:command") == "g++\n"
    assert tools.ok("gompfortran", "--showme:command", env={"GOMPY_FC": "gfortran -pipe"}) == "gfortran -pipe\n"
    assert tools.ok("gompcc", "--showme:libdirs").strip() == paths.LIBDIR
    assert (Path(tools.ok("gompcc", "--showme:incdirs").strip()) / "omp.h").exists()
    assert "-lgompy" in tools.ok("gompcc", "--showme:link")
    assert "-ffat-lto-objects" in tools.ok("gompcc", "--showme:compile")
    done = tools.run("gompcc", "--showme:nonsense")
    assert done.returncode == 1
    assert done.stderr.startswith("gompcc: error: --showme: no 'nonsense'")


def test_no_input(tools: Tools) -> None:
    assert tools.run("gompcc", "-fopenmp").stderr == tools.run("gcc", "-fopenmp").stderr
    done = tools.run("gompcc")
    assert (done.returncode, done.stderr) == (1, tools.run("gcc").stderr)


def test_link_errors_are_gcc_s(tools: Tools) -> None:
    tools.write("bad.c", "int nothing (void);\nint main (void) { return nothing (); }\n")
    for name in ("gcc", "gompcc"):
        tools.ok(name, "-fopenmp", "-c", "bad.c", "-o", f"{name}.o")
    theirs = tools.run("gcc", "-fopenmp", "-foffload=disable", "gcc.o", "-o", "prog")
    ours = tools.run("gompcc", "-fopenmp", "gompcc.o", "-o", "prog")
    assert (ours.returncode, ours.stderr.replace("gompcc.o", "gcc.o")) == (theirs.returncode, theirs.stderr)


@pytest.mark.slow
def test_c_plus_plus_and_fortran(tools: Tools) -> None:
    tools.write("w.cc", "#include <iostream>\n" + WHERE)
    quiet(tools, "gompc++", "-fopenmp", "-O1", "w.cc", "-o", "prog")
    assert tools.ok("./prog") == "device 42\n"
    tools.write(
        "w.f90",
        "program w\nuse omp_lib\nlogical :: host\nhost = .true.\n!$omp target map(tofrom: host)\n"
        "host = omp_is_initial_device ()\n!$omp end target\nprint '(A)', "
        "trim (merge ('host  ', 'device', host))\nend\n",
    )
    quiet(tools, "gompfortran", "-fopenmp", "w.f90", "-o", "prog")
    assert tools.ok("./prog") == "device\n"


def test_plain_gcc_with_config(tools: Tools) -> None:
    """What docs/driver.md says of gcc -B."""
    cflags, libs, env = tools.ok("gompy", "config", "--cflags", "--libs", "--env").splitlines()
    tools.ok("env", *shlex.split(env), "gcc", *shlex.split(cflags), "-c", "where.c")
    tools.ok("env", *shlex.split(env), "gcc", *shlex.split(libs), "where.o", "-o", "prog")
    assert tools.ok("./prog") == "device 42\n"


def test_openacc_program(tools: Tools) -> None:
    tools.write("acc.c", C_SAMPLES["region"].replace("omp target map(x)", "acc parallel copy(x)"))
    done = tools.run("gompcc", "-fopenacc", "acc.c", "-o", "prog")
    assert done.returncode == 0, done.stderr
    assert tools.ok("./prog") == "42\n"


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize(
    "option", ["-fsanitize=undefined", "-fsanitize=address", "--coverage", "-fprofile-generate", "-pg"]
)
def test_instrumented_programs_run_on_the_device(tools: Tools, option: str) -> None:
    """What the instrumentation calls comes from its own library, in the image as in the program."""
    done = tools.run("gompcc", "-O1", "-fopenmp", option, "where.c", "-o", "where")
    assert done.returncode == 0, done.stderr
    assert tools.run("./where").stdout == "device 42\n"


@needs("strip")
def test_objects_without_their_debug_information(tools: Tools) -> None:
    """What a distribution does to its static libraries: the code of the image referred to what strip -g takes out."""
    for name in ("user", "helper"):
        tools.ok("gompcc", "-g", "-O1", "-fopenmp", "-c", f"{name}.c")
    tools.ok("ar", "rc", "libhelper.a", "helper.o")
    tools.ok("strip", "-g", "libhelper.a")
    quiet(tools, "gompcc", "-g", "-fopenmp", "user.o", "libhelper.a", "-o", "prog")
    assert tools.ok("./prog") == "device\n"
    tools.ok("ld", "-r", "--whole-archive", "libhelper.a", "-o", "bundle.o")
    quiet(tools, "gompcc", "-fopenmp", "user.o", "bundle.o", "-o", "bundled")
    assert tools.ok("./bundled") == "device\n"

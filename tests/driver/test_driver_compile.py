"""Objects by gompcc -c are those of gcc -c, with the device's code beside them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from driver_samples import ACC, C_SAMPLES, MISTAKEN, SAMPLES
from driver_tools import STOCK, Tools, has_as, needs

pytestmark = [has_as, needs("gcc", "g++", "gfortran", "objdump", "readelf")]

WRAPPER_OF = {".c": "gompcc", ".cc": "gompc++", ".f90": "gompfortran"}


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    work = tmp_path / "work"
    work.mkdir()
    return Tools(bin_folder, work)


def sections(tools: Tools, name: str) -> list[str]:
    """Names of the sections of an object."""
    text = tools.ok("readelf", "-SW", name)
    return re.findall(r"^ +\[ *\d+\] (\S+)", text, re.MULTILINE)


def code(tools: Tools, name: str) -> str:
    """Disassembly with relocations, less the file's name."""
    return tools.ok("objdump", "-dr", name).split("file format", 1)[1]


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize(("wrapper", "name", "text"), SAMPLES, ids=[name for _, name, _ in SAMPLES])
def test_host_code_is_gcc_s(tools: Tools, wrapper: str, name: str, text: str) -> None:
    tools.write(name, text)
    for level in ("-O0", "-O2"):
        tools.ok(STOCK[wrapper], "-fopenmp", level, "-c", name, "-o", "stock.o")
        tools.ok(wrapper, "-fopenmp", level, "-c", name, "-o", "ours.o")
        assert code(tools, "ours.o") == code(tools, "stock.o")
        assert tools.ok("nm", "ours.o").replace("ours.o", "") == tools.ok("nm", "stock.o").replace("stock.o", "")
        data = tools.ok("objdump", "-s", "-j", ".data", "-j", ".rodata", "ours.o").splitlines()[3:]
        assert data == tools.ok("objdump", "-s", "-j", ".data", "-j", ".rodata", "stock.o").splitlines()[3:]


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize(("wrapper", "name", "text"), SAMPLES, ids=[name for _, name, _ in SAMPLES])
def test_objects_are_the_same_from_run_to_run(tools: Tools, wrapper: str, name: str, text: str) -> None:
    tools.write(name, text)
    options = ["-g", "-O1", *(["-flto"] if len(name) % 3 == 0 else [])]
    tools.ok(wrapper, "-fopenmp", *options, "-c", name, "-o", "x.o")
    first = (tools.work / "x.o").read_bytes()
    tools.ok(wrapper, "-fopenmp", *options, "-c", name, "-o", "x.o")
    assert (tools.work / "x.o").read_bytes() == first


@pytest.mark.slow(sample=6)
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize("name", MISTAKEN)
def test_diagnostics_and_status_are_gcc_s(tools: Tools, name: str, locale: str) -> None:
    tools.write(name, MISTAKEN[name])
    wrapper = WRAPPER_OF[Path(name).suffix]
    options = ["-fopenmp", "-Wall", "-Wextra", "-O2", "-c", name]
    theirs = tools.run(STOCK[wrapper], *options, env={"LC_ALL": locale})
    ours = tools.run(wrapper, *options, env={"LC_ALL": locale})
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)
    assert theirs.stderr


def test_quotes_with_no_locale_at_all(tools: Tools) -> None:
    """Python's own change of LC_CTYPE must not reach gcc."""
    tools.write("a.c", MISTAKEN["include.c"] + "int y = z;\n#error no\n")
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        tools.env.pop(name, None)
    for env in ({}, {"LANG": "C"}, {"LC_CTYPE": "C.UTF-8"}):
        theirs = tools.run("gcc", "-fopenmp", "-c", "a.c", "-fnonsense", env=env)
        assert tools.run("gompcc", "-fopenmp", "-c", "a.c", "-fnonsense", env=env).stderr == theirs.stderr


@pytest.mark.slow(sample=7)
@pytest.mark.parametrize(
    "options",
    [
        "-c",
        "-c -o o.o",
        "-S",
        "-c -save-temps",
        "-c -save-temps=obj -o sub/o.o",
        "-c -pipe",
        "-c -MD",
        "-c -MMD -MF q.d -MT x -MP",
        "-c -Wp,-MD,w.d",
        "-c -dumpdir zz- -fdump-tree-original",
        "-c --coverage",
        "-c -g",
        "-c -fno-lto",
        "-E",
        "-E -dM -o m",
        "-M",
        "-MM -MF d",
        "-fsyntax-only",
        "-fsyntax-only -MD",
        "--version",
        "-dumpversion",
        "-dumpmachine",
        "-print-search-dirs",
        "-print-file-name=libgomp.so",
        "-c -o",
        "-c nosuch.c",
        "-c -x c nosuch",
        "-c -nonsense",
        "-c -Wa,--nonsense",
        "-c -o nosuch/a.o",
        "-c a.c -o two.o",
        "-S -o -",
    ],
)
def test_files_output_and_status_are_gcc_s(tools: Tools, options: str) -> None:
    results = []
    for command in ("gcc", "gompcc"):
        work = tools.work / command
        (work / "sub").mkdir(parents=True)
        (work / "a.c").write_text(C_SAMPLES["region"])
        done = tools.run(command, "-fopenmp", "-O1", "a.c", *options.split(), cwd=work)
        text = [done.stdout, done.stderr]
        if "-S -o -" in options:
            text[0] = ""
        names = sorted(str(path.relative_to(work)) for path in work.rglob("*"))
        same = {path.name: path.read_text() for path in work.rglob("*") if path.suffix in (".d", ".i", ".original")}
        if "-save-temps" in options:  # "# 0" lines name no options, but be sure
            assert "a.i" in names or "sub/o.i" in names or any(name.endswith(".i") for name in names)
        results.append((done.returncode, text, names, same))
    assert results[0] == results[1]


def test_without_a_model_nothing_is_added(tools: Tools) -> None:
    for options in ("-c a.c", "a.c", "-S a.c", "-fopenmp-simd -c a.c", "-fopenmp -fno-openmp a.c", "-o x y.o -lm"):
        assert tools.ok("gompcc", "-show", *options.split()) == f"gcc {options}\n"


def test_verbose_shows_gcc_alone(tools: Tools) -> None:
    tools.write("a.c", C_SAMPLES["region"])
    for option in ("-v", "-###"):
        text = tools.run("gompcc", "-fopenmp", option, "-c", "a.c").stderr
        assert text.startswith("Using built-in specs.\nCOLLECT_GCC=gcc\n")
        assert "gompcc" not in text.replace(str(tools.bin), "")
    assert tools.run("gompcc", "-v").stderr == tools.run("gcc", "-v").stderr


def test_device_code_stands_beside_the_host_code(tools: Tools) -> None:
    tools.write("a.c", C_SAMPLES["region"])
    tools.ok("gompcc", "-fopenmp", "-c", "a.c")
    names = sections(tools, "a.o")
    assert any(name.startswith(".gompyir_") for name in names)
    assert any(name.startswith(".gnu.offload_lto_") for name in names)
    assert not any(name.startswith(".gnu.lto_") for name in names)
    assert "gompy_offload_objects" in names


def test_users_lto_stays_lto(tools: Tools) -> None:
    tools.write("a.c", C_SAMPLES["region"])
    tools.ok("gompcc", "-fopenmp", "-flto", "-c", "a.c")
    names = sections(tools, "a.o")
    assert any(name.startswith(".gnu.lto_") for name in names)
    assert not any(name.startswith(".gompyir_") for name in names)
    assert ".gnu.offload_funcs" not in names  # slim, as the user asked
    tools.ok("gompcc", "-fopenmp", "-flto", "-ffat-lto-objects", "-c", "a.c")
    assert ".gnu.offload_funcs" in sections(tools, "a.o")
    tools.ok("gompcc", "-fopenmp", "-flto", "-fno-lto", "-fno-fat-lto-objects", "-c", "a.c")
    assert any(name.startswith(".gompyir_") for name in sections(tools, "a.o"))


def test_disabled_is_plain_gcc(tools: Tools) -> None:
    tools.write("a.c", C_SAMPLES["region"])
    tools.ok("gompcc", "-fopenmp", "-foffload=disable", "-frandom-seed=1", "-c", "a.c", "-o", "ours.o")
    tools.ok("gcc", "-fopenmp", "-foffload=disable", "-frandom-seed=1", "-c", "a.c", "-o", "stock.o")
    assert (tools.work / "ours.o").read_bytes() == (tools.work / "stock.o").read_bytes()


def test_openacc_too(tools: Tools) -> None:
    tools.write("a.c", ACC)
    tools.ok("gompcc", "-fopenacc", "-c", "a.c")
    assert any(name.startswith(".gompyir_") for name in sections(tools, "a.o"))


@pytest.mark.parametrize(
    ("targets", "call"), [("intelmic", True), ("intelmic,nvptx-none", True), ("nvptx-none", False)]
)
def test_acc_on_device_stays_a_call_where_the_stock_compiler_makes_images(
    tools: Tools, targets: str, call: bool
) -> None:
    """GCC's testsuite (acc-on-device.c) wants it folded for the other targets, whose own compilers do it right."""
    tools.write("on.c", "#include <openacc.h>\nint on (acc_device_t x) { return acc_on_device (x); }\n")
    tools.ok("gompcc", "-fopenacc", "-O2", f"-foffload={targets}", "-S", "on.c", "-o", "on.s")
    assert ("acc_on_device" in (tools.work / "on.s").read_text()) is call


@pytest.mark.parametrize("fopenmp", [["-fopenmp"], []])
def test_assembler_text_on_its_way(tools: Tools, fopenmp: list[str]) -> None:
    """-S, then -c of the result, gives the object that -c gives; the second command may leave -fopenmp out."""
    tools.write("a.c", C_SAMPLES["declare_target"])
    tools.ok("gompcc", "-fopenmp", "-O2", "-c", "a.c", "-o", "one.o")
    tools.ok("gompcc", "-fopenmp", "-O2", "-S", "a.c")
    tools.ok("gompcc", *fopenmp, "-c", "a.s", "-o", "two.o")
    assert sections(tools, "two.o") == sections(tools, "one.o")
    assert code(tools, "two.o") == code(tools, "one.o")


def test_slim_assembler_text_stays_lto(tools: Tools) -> None:
    tools.write("a.c", C_SAMPLES["region"])
    tools.ok("gompcc", "-fopenmp", "-flto", "-S", "a.c")
    tools.ok("gompcc", "-fopenmp", "-c", "a.s")
    assert any(name.startswith(".gnu.lto_") for name in sections(tools, "a.o"))


def test_source_on_standard_input(tools: Tools) -> None:
    text = C_SAMPLES["region"]
    tools.ok("gompcc", "-fopenmp", "-x", "c", "-c", "-", "-o", "in.o", stdin=text)
    assert any(name.startswith(".gompyir_") for name in sections(tools, "in.o"))
    options = ["-fopenmp", "-E", "-dM", "-"]
    assert tools.ok("gompcc", *options, stdin="") == tools.ok("gcc", *options, stdin="")


def test_pipes_between_the_programs(tools: Tools) -> None:
    tools.write("a.c", C_SAMPLES["region"])
    tools.ok("gompcc", "-fopenmp", "-c", "a.c", "-o", "one.o")
    tools.ok("gompcc", "-fopenmp", "-pipe", "-c", "a.c", "-o", "two.o")
    assert (tools.work / "one.o").read_bytes() == (tools.work / "two.o").read_bytes()


def test_response_file(tools: Tools) -> None:
    tools.write("a.c", C_SAMPLES["region"])
    tools.write("line", "-fopenmp -fno-lto\n-c 'a.c' \"-o\" a\\.o -DX='a b'")
    tools.ok("gompcc", "@line")
    assert any(name.startswith(".gompyir_") for name in sections(tools, "a.o"))


def test_precompiled_header(tools: Tools) -> None:
    tools.write("x.h", "static inline int one (void) { return 1; }\n")
    tools.write("x.c", '#include "x.h"\nint f (void) { return one (); }\n')
    tools.ok("gompcc", "-fopenmp", "-O1", "x.h")
    done = tools.run("gompcc", "-fopenmp", "-O1", "-Winvalid-pch", "-H", "-c", "x.c")
    assert (done.returncode, done.stderr.splitlines()) == (0, ["! x.h.gch", " x.c"])


def test_objects_are_ordinary(tools: Tools) -> None:
    """nm, strip, objcopy, ar, ld -r take them; plain gcc links them, and the regions run on the host."""
    tools.write("a.c", C_SAMPLES["region"])
    tools.write("b.c", C_SAMPLES["teams"])
    for name in "ab":
        tools.ok("gompcc", "-fopenmp", "-O2", "-c", f"{name}.c")
    assert " T main" in tools.ok("nm", "a.o")
    tools.ok("objcopy", "a.o", "copy.o")
    tools.ok("strip", "-g", "-o", "stripped.o", "a.o")
    tools.ok("ar", "rcs", "libb.a", "b.o")
    tools.ok("ld", "-r", "a.o", "b.o", "-o", "joined.o")
    for inputs in (["a.o"], ["copy.o"], ["stripped.o"], ["a.o", "libb.a"], ["joined.o"], ["a.o", "b.o"]):
        done = tools.run("gcc", "-fopenmp", "-foffload=disable", *inputs, "-o", "prog")
        assert (done.returncode, done.stderr) == (0, "")
        assert tools.ok("./prog") == "42\n"


def test_options_for_the_device_are_kept_in_the_object(tools: Tools) -> None:
    tools.write("a.c", C_SAMPLES["region"])
    tools.write("p.f90", SAMPLES[-4][2])
    target = "x86_64-intelmicemul-linux-gnu"
    for wrapper, name in (("gompcc", "a.c"), ("gompfortran", "p.f90")):
        options = ["-foffload-options=-O1", "-foffload-options=intelmic=-O2 -lm", "-foffload-options=-ffast-math"]
        tools.ok(wrapper, "-fopenmp", "-save-temps", *options, "-c", name, "-o", "o.o")
        dump = tools.ok("objdump", "-s", "-j", ".gnu.offload_lto_.opts", "o.o")
        opts = bytes.fromhex("".join(re.findall(r"^ \w{4} (.{35}) ", dump, re.M)).replace(" ", "")).decode()
        kept = re.findall(r"'(-foffload-options=.*?)'", opts)
        assert kept[:2] == ["-foffload-options=-O1", "-foffload-options=-ffast-math"]
        assert kept[2] == f'-foffload-options={target}=-O2 -lm -ffast-math""'
    done = tools.run("gompcc", "-fopenmp", "-foffload=nosuch", "-c", "a.c", env={"LC_ALL": "C"})
    assert done.returncode == 1
    assert done.stderr.startswith("gompcc: error: GCC is not configured to support 'nosuch' as '-foffload=' argument\n")


def test_options_that_lto_refuses(tools: Tools) -> None:
    tools.write("a.c", C_SAMPLES["region"])
    done = tools.run("gompcc", "-fopenmp", "-flive-patching", "-c", "a.c", env={"LC_ALL": "C"})
    assert done.returncode == 0
    warning = "'-flive-patching' and device code exclude each other: these regions will run on the host"
    assert done.stderr == f"gompcc: warning: {warning} [-Woffload-host]\n"


def test_signals_reach_gcc_as_they_were(tools: Tools) -> None:
    """Python ignores SIGPIPE; the gcc it becomes must not."""
    path = tools.write("fake/gcc", "#!/bin/sh\nexec grep SigIgn /proc/self/status\n")
    path.chmod(0o755)
    wanted = tools.ok("grep", "SigIgn", "/proc/self/status")
    assert tools.ok("gompcc", "a.c", env={"GOMPY_CC": str(path)}) == wanted

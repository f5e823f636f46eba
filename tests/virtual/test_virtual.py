"""The virtual device: where implementations come from; OpenCL kernels made of regions, against the host."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from pathlib import Path

import pytest
from driver_tools import ROOT, Tools, has_all, needs
from opencl_tools import opencl_obstacle

PLUGIN = ROOT / "gompy" / "_native" / "lib" / "libgomp-plugin-python.so.1"
pytestmark = [
    has_all,
    pytest.mark.skipif(not PLUGIN.exists(), reason="the python plugin is not built: no libpython"),
]
PROGRAM = ROOT / "docs" / "programs" / "scale.c"
KERNELS = ROOT / "tests" / "programs" / "kernels.c"
GRAMMARS = ("tree_sitter", "tree_sitter_c")
has_text = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in GRAMMARS), reason="not installed: the extra 'regions'"
)


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    """The commands; programs run on the virtual device."""
    tools = Tools(bin_folder, tmp_path)
    tools.env |= {
        "GOMPY_PLUGINS": "python",
        "GOMPY_PYTHON_DEVICE": "gompy.virtual:Virtual",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}",
        "POCL_CACHE_DIR": str(tmp_path / "pocl"),
        "GOMPY_STATS": "1",
    }
    return tools


def how(stderr: str) -> list[str]:
    """What ran the regions, in their order."""
    told = [line for line in stderr.splitlines() if line.startswith("gompy: virtual")]
    lines = [line for line in told if line.endswith((" time", " times"))]
    return [line.split(": ", 3)[3] for line in sorted(lines)]


@pytest.mark.slow
def test_files_of_a_folder(tools: Tools, tmp_path: Path) -> None:
    """Python and C files come before the image's code; one that can't be used is told, and the image runs."""
    tools.ok("gompcc", "-fopenmp", PROGRAM, "-o", "scale")
    done = tools.run("./scale")
    assert (done.stdout, how(done.stderr)) == ("-1 3 1999\n", ["the image's code, 1 time"] * 2)
    folder = tmp_path / "k"
    folder.mkdir()
    (folder / "main._omp_fn.0.py").write_text("def run(words, launch):\n    pass\n")
    (folder / "main._omp_fn.2.py").write_text("syntax error")
    done = tools.run("./scale", env={"GOMPY_KERNELS": f"none:{folder}"})
    assert done.stdout == "-1 1 999\n"
    assert how(done.stderr) == [f"{folder}/main._omp_fn.0.py, 1 time", "the image's code, 1 time"]
    assert "main._omp_fn.2.py: SyntaxError: " in done.stderr
    (tmp_path / "r.c").write_text("void gompy_region (void **words) { *(float *) words[0] = 5; }\n")
    (folder / "main._omp_fn.2.py").unlink()
    tools.ok("gcc", "-shared", "-fPIC", "r.c", "-o", folder / "main._omp_fn.2.so")
    assert tools.run("./scale", env={"GOMPY_KERNELS": str(folder)}).stdout == "5 1 999\n"


def test_entry_points(tools: Tools, tmp_path: Path) -> None:
    """A package brings a backend that shares no memory, and a region for it; other regions go to the host."""
    (tmp_path / "mydevice.py").write_text(
        "from gompy.virtual import Backend, Implementation, Memory\n"
        "class Far(Memory):\n    identifier = 'far'\n    shares_memory = False\n"
        "region = Implementation('main._omp_fn.2', 'far', lambda variables, launch: print('ran', flush=True))\n"
        "others = [Implementation('main._omp_fn.0', 'elsewhere', lambda variables, launch: None)]\n"
    )
    info = tmp_path / "mydevice-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mydevice\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[gompy.devices]\nfar = mydevice:Far\n[gompy.regions]\none = mydevice:region\ntwo = mydevice:others\n"
    )
    tools.ok("gompcc", "-fopenmp", PROGRAM, "-o", "scale")
    done = tools.run("./scale", env={"GOMPY_VIRTUAL": "far"})
    assert done.stdout == "ran\n1 3 1999\n"
    assert how(done.stderr) == ["the host, 1 time", "an installed implementation, 1 time"]
    assert "1 on device 0 (virtual far), 1 on the host" in done.stderr


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("name", ["nothing", "gompy.virtual:Nothing", "nowhere:Class", "gompy.virtual:Virtual"])
def test_a_wrong_backend_is_one_line(tools: Tools, name: str) -> None:
    """The program runs on the host."""
    tools.ok("gompcc", "-fopenmp", PROGRAM, "-o", "scale")
    done = tools.run("./scale", env={"GOMPY_VIRTUAL": name, "GOMPY_STATS": ""})
    assert (done.stdout, done.returncode) == ("-1 3 1999\n", 0)
    assert "Traceback" not in done.stderr


@has_text
def test_kernels_on_opencl(tools: Tools, tmp_path: Path) -> None:
    """Regions as kernels give what the host gives; what is refused has a reason; work by hand stays."""
    if reason := opencl_obstacle():
        pytest.skip(reason)
    tools.ok("gompcc", "-w", "-O1", "-fopenmp", "--save-regions=json", KERNELS, "-o", "kernels", "-lm")
    made = tools.ok("gompy", "regions", "--kernels", "cl", "json")
    assert made.count("no kernel: ") == 2
    assert "no kernel: 'target parallel' without a loop" in made
    settings = {"GOMPY_VIRTUAL": "opencl", "GOMPY_KERNELS": str(tmp_path / "cl")}
    done = tools.run("./kernels", env=settings)
    assert done.stdout == tools.ok("./kernels", env={"OMP_TARGET_OFFLOAD": "disabled"}), done.stderr
    assert sum(line.endswith(".cl, 1 time") for line in how(done.stderr)) == 4
    hand = tmp_path / "cl" / "main._omp_fn.5.cl"
    hand.write_text("kernel void main__omp_fn_5 (ulong at) { broken }\n")
    assert "written by hand" in tools.ok("gompy", "regions", "--kernels", "cl", "json")
    again = tools.run("./kernels", env=settings)
    assert again.stdout == done.stdout
    assert f"{hand}: " in again.stderr


@has_text
def test_kernels_of_c_plus_plus(tools: Tools, tmp_path: Path) -> None:
    """Regions that are written as C, with templates' instances and references; others have a reason."""
    tools.ok("gompc++", "-O1", "-fopenmp", "--save-regions=json", ROOT / "tests/programs/kernels_plus.cc", "-o", "plus")
    made = tools.ok("gompy", "regions", "--kernels", "cl", "json").splitlines()
    reasons = sorted(line.partition("no kernel: ")[2] for line in made if "no kernel: " in line)
    assert reasons == [
        "'ptr' is a reference to a pointer",
        "several functions have the name 'pick'",
        "several functions have the name 'sqrt'",
        "type 'T' is a template's, a class, or declared in another file",
        "type 'box' is a class, or declared in another file",
    ]
    if reason := opencl_obstacle():
        pytest.skip(reason)
    done = tools.run("./plus", env={"GOMPY_VIRTUAL": "opencl", "GOMPY_KERNELS": "cl"})
    assert done.stdout == tools.ok("./plus", env={"OMP_TARGET_OFFLOAD": "disabled"}), done.stderr
    assert sum(".cl, " in line for line in how(done.stderr)) == len(made) - len(reasons) == 9


@needs("gfortran")
def test_a_kernel_by_hand_for_fortran(tools: Tools, tmp_path: Path) -> None:
    """None is made, but one that somebody has written runs, whatever the region's language is."""
    if reason := opencl_obstacle():
        pytest.skip(reason)
    text = "integer :: i, x(100)\n!$omp target teams distribute parallel do map(from: x)\n"
    text += "do i = 1, 100\n  x(i) = i\nend do\nprint *, sum (x)\nend\n"
    (tmp_path / "f.f90").write_text(text)
    tools.ok("gompfortran", "-fopenmp", "--save-regions=json", "f.f90", "-o", "f")
    assert "no kernel: it is fortran" in tools.ok("gompy", "regions", "--kernels", "cl", "json")
    (tmp_path / "cl").mkdir(exist_ok=True)
    (tmp_path / "cl" / "MAIN__._omp_fn.0.cl").write_text(
        "kernel void MAIN____omp_fn_0 (ulong at)\n{\n"
        "  global int *x = *(global int **) at;\n"
        "  for (int i = get_global_id (0); i < 100; i += get_global_size (0))\n    x[i] = 2 * (i + 1);\n}\n"
    )
    done = tools.run("./f", env={"GOMPY_VIRTUAL": "opencl", "GOMPY_KERNELS": "cl"})
    assert (done.returncode, done.stdout.split()) == (0, ["10100"]), done.stderr
    assert [line.partition(",")[0] for line in how(done.stderr)] == ["cl/MAIN__._omp_fn.0.cl"]


@has_text
def test_reasons_against_a_kernel(tools: Tools, tmp_path: Path) -> None:
    """What the generator does not know is refused, not guessed."""
    head = "int v;\nvoid g (int *);\nvoid f (int *a, int k)\n{\n#pragma omp target "
    loop = "for (int i = 0; i < 9; i++)"
    cases = {
        f"parallel for map(a[:9]) private(v)\n{loop} a[i] = v;": "private",
        "parallel for map(a[:9])\nfor (k = 0; k < 9; k++) a[k] = 1;": "outside",
        f"parallel for map(a[:9])\n{loop} {{\n#pragma omp atomic\na[0]++; }}": "directive",
        f"parallel for map(a[k:9])\n{loop} a[i + k]++;": "is not known",
        f"teams map(a[:9])\n{loop} a[i]++;": "without a loop",
        "map(a[:9])\ng (a);": "another file",
    }
    for number, (source, reason) in enumerate(cases.items()):
        (tmp_path / f"c{number}.c").write_text(f"{head}{source}\n}}\n")
        tools.ok("gompcc", "-w", "-fopenmp", "-c", f"c{number}.c", "--save-regions=j")
        made = tools.ok("gompy", "regions", "--kernels", "cl", f"j/c{number}.regions.json")
        assert "no kernel: " in made, source
        assert reason in made


@has_text
def test_kernels_of_canny(tools: Tools) -> None:
    """All stages but one get kernels: with a constant of the unit, pointers to constants, omp_is_initial_device."""
    sources = sorted((ROOT / "examples" / "canny").glob("*.c"))
    tools.ok("gompcc", "-O2", "-fopenmp", "--save-regions=json", *sources, "-o", "canny", "-lm")
    made = tools.ok("gompy", "regions", "--kernels", "cl", "json").splitlines()
    refused = [line for line in made if "no kernel: " in line]
    assert len(made) == 7
    assert refused == ["hysteresis_sweep._omp_fn.0: no kernel: a directive within the loop"]
    text = (tools.work / "cl" / "blur_stage._omp_fn.0.cl").read_text()
    assert "\nconstant int k_gauss[5][5] = {\n" in text and "k_gauss[j + 2][i + 2]" in text
    assert "global const uint8_t *pixel = " in (tools.work / "cl" / "grey_stage._omp_fn.0.cl").read_text()
    if reason := opencl_obstacle():
        pytest.skip(reason)
    photo = ROOT / "examples" / "canny" / "dandelion.jpg"
    done = tools.run("./canny", photo, "edges.png", env={"GOMPY_VIRTUAL": "opencl", "GOMPY_KERNELS": "cl"})
    assert "equal to the host's" in done.stdout, done.stderr
    assert sum(line.endswith(".cl, 1 time") for line in how(done.stderr)) == 6


@has_text
def test_constants_that_are_none(tools: Tools, tmp_path: Path) -> None:
    """Pointers, strings and what another name gives stay outside; a local of the same name is the local."""
    (tmp_path / "k.c").write_text(
        "#pragma omp declare target\nconst int a = 3, b = 4;\n"
        "const char *const t = 0;\nstatic const int c = sizeof (int), d[2] = { 1, 2 };\n"
        "static const long e = 7;\n#pragma omp end declare target\nint f (int *x)\n{\n"
        "#pragma omp target parallel for map(x[:9])\nfor (int i = 0; i < 9; i++) { int e = 2; x[i] = e; }\n"
        "#pragma omp target parallel for map(x[:9])\nfor (int i = 0; i < 9; i++) x[i] = e;\n"
        "#pragma omp target parallel for map(x[:9])\nfor (int i = 0; i < 9; i++) x[i] = a;\nreturn 0;\n}\n"
    )
    tools.ok("gompcc", "-w", "-fopenmp", "-c", "k.c", "--save-regions=j")
    made = tools.ok("gompy", "regions", "--kernels", "cl", "j/k.regions.json").splitlines()
    assert ["'a' is declared outside" in line for line in made] == [False, False, True]
    first, second = ((tmp_path / "cl" / f"f._omp_fn.{n}.cl").read_text() for n in (0, 2))
    assert "v_x[i] = e;" in first
    assert "constant long k_e = 7;" in second and "= k_e;" in second


LIBRARY = ROOT / "examples" / "virtual_device"
INCLUDE = f"-I{ROOT / 'gompy' / 'virtual' / 'include'}"


def shared(tools: Tools, source: Path | str, target: str) -> None:
    """Compile a shared library for the virtual device."""
    tools.ok("gcc", "-Wall", "-Werror", "-shared", "-fPIC", INCLUDE, source, "-o", target)


@pytest.fixture
def squares(tools: Tools) -> Tools:
    """The example's program and library."""
    tools.ok("gompcc", "-fopenmp", LIBRARY / "squares.c", "-o", "squares")
    (tools.work / "devices").mkdir()
    shared(tools, LIBRARY / "pool.c", "devices/pool.so")
    return tools


@pytest.mark.parametrize(
    "settings", [{"GOMPY_VIRTUAL": "devices/pool.so"}, {"GOMPY_VIRTUAL": "pool", "GOMPY_KERNELS": "devices"}]
)
def test_device_of_a_library(squares: Tools, settings: dict[str, str]) -> None:
    """By its path or its name; a region without a function there goes to the host, as memory is not shared."""
    done = squares.run("./squares", env=settings)
    assert (done.stdout, done.returncode) == ("1 devices: 9 998001, second region on the host\n", 0), done.stderr
    assert how(done.stderr) == ["devices/pool.so, 1 time", "the host, 1 time"]
    assert squares.ok("gompy", "config", "--virtual-incdir").strip() == INCLUDE.removeprefix("-I")


def test_regions_of_a_library_on_shared_memory(tools: Tools) -> None:
    """They are joined with each device that shares memory where they name none; a file of the function comes before."""
    tools.ok("gompcc", "-fopenmp", PROGRAM, "-o", "scale")
    (tools.work / "k").mkdir()
    tools.write(
        "regions.c",
        "#include <gompy_virtual.h>\n"
        "static int run (int device, uint64_t words, uint32_t teams, uint32_t limit)\n"
        "{ void **at = (void **) words; *(float *) at[0] = 7 + device; return 0; }\n"
        'const struct gompy_region gompy_regions[] = { { GOMPY_REGION_HEAD, "main._omp_fn.2", 0, run },\n'
        '  { GOMPY_REGION_HEAD, "main._omp_fn.0", "another", run }, { 0 } };\n',
    )
    shared(tools, "regions.c", "k/regions.so")
    done = tools.run("./scale", env={"GOMPY_KERNELS": "k"})
    assert done.stdout == "7 3 1999\n", done.stderr
    assert how(done.stderr) == ["the image's code, 1 time", "k/regions.so, 1 time"]
    tools.write("k/main._omp_fn.2.py", "def run(words, launch):\n    pass\n")
    assert "k/main._omp_fn.2.py, 1 time" in tools.run("./scale", env={"GOMPY_KERNELS": "k"}).stderr


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{ 7, sizeof gompy_device }", "gompy_device is of version 7 of gompy_virtual.h, not 1"),
        ("{ 1, 8 }", "gompy_device says that it has 8 bytes, not 72"),
        ('{ GOMPY_DEVICE_HEAD, "x", 1 }', "gompy_device has no alloc, free, write, read"),
        ("{ GOMPY_DEVICE_HEAD, 0, 1, 0, 0, 0, a, f, w, r }", "gompy_device has no identifier"),
        ('{ GOMPY_DEVICE_HEAD, "x", 0, 0, 0, 0, a, f, w, r }', "gompy_device has no devices"),
        ("", "it exports no gompy_device"),
    ],
)
def test_libraries_that_cannot_be_used(squares: Tools, text: str, line: str) -> None:
    """One line with the file, and the program runs on the host."""
    functions = (
        "uint64_t a (int d, uint64_t s) { return 0; }\nvoid f (int d, uint64_t at) { }\n"
        "int w (int d, uint64_t to, const void *p, uint64_t s) { return 0; }\n"
        "int r (int d, void *p, uint64_t from, uint64_t s) { return 0; }\n"
    )
    device = f"const struct gompy_device gompy_device = {text};\n" if text else ""
    squares.write("bad.c", f"#include <gompy_virtual.h>\n{functions}{device}")
    shared(squares, "bad.c", "bad.so")
    done = squares.run("./squares", env={"GOMPY_VIRTUAL": "./bad.so", "GOMPY_STATS": ""})
    assert (done.stdout, done.returncode) == ("0 devices: 9 998001, second region on the host\n", 0)
    assert done.stderr.count(line) == 1 and "./bad.so" in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_a_library_s_failure_is_one_line(squares: Tools) -> None:
    """Functions that do not return 0 end the program with file, function and status."""
    text = (LIBRARY / "pool.c").read_text()
    squares.write("broken.c", text.replace("x[i] *= x[i];\n  return 0;", "x[i] *= x[i];\n  return 9;"))
    shared(squares, "broken.c", "broken.so")
    done = squares.run("./squares", env={"GOMPY_VIRTUAL": "./broken.so"})
    assert done.returncode == 1 and "./broken.so: main._omp_fn.0: status 9" in done.stderr, done.stderr


def test_the_header_has_the_structures_of_the_module(tools: Tools) -> None:
    """Offsets and sizes, as a C compiler sees them."""
    from gompy.virtual import library

    pairs = [("gompy_device", library.DeviceStruct), ("gompy_region", library.RegionStruct)]
    lines = [
        f'printf ("%zu\\n", offsetof (struct {name}, {field[0]}));' for name, kind in pairs for field in kind._fields_
    ]
    lines += [f'printf ("%zu\\n", sizeof (struct {name}));' for name, _ in pairs]
    lines += ['printf ("%d\\n", GOMPY_VIRTUAL_VERSION);']
    body = "\n  ".join(lines)
    tools.write("offsets.c", f"#include <gompy_virtual.h>\n#include <stdio.h>\nint main (void)\n{{\n  {body}\n}}\n")
    tools.ok("gcc", INCLUDE, "offsets.c", "-o", "offsets")
    wanted = [getattr(kind, field[0]).offset for _, kind in pairs for field in kind._fields_]
    wanted += [ctypes.sizeof(kind) for _, kind in pairs] + [library.VERSION]
    assert [int(word) for word in tools.ok("./offsets").split()] == wanted

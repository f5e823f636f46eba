"""``gompy record``, ``gompy replay``, ``gompy bisect`` with programs of each language on each device."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from driver_tools import ROOT, Tools, has_all, needs
from nvptx_tools import has_compiler

from gompy.replay.recording import Recording

pytestmark = has_all
SAMPLES = Path(__file__).parent / "programs"
GPU = {"GOMPY_CUDA": "emulated", "GOMPY_CUDA_MEMORY": "256M"}
BOTH = "-foffload=intelmic,nvptx-none"
LANGUAGES = [
    pytest.param("lists.cc", "-fopenmp", id="cxx", marks=needs("g++")),
    pytest.param("sums.f90", "-fopenmp", id="fortran", marks=needs("gfortran")),
    pytest.param("queue.c", "-fopenacc", id="openacc"),
]
COMPILERS = {".c": "gompcc", ".cc": "gompc++", ".f90": "gompfortran"}


def build(tools: Tools, name: str, *options: str) -> Path:
    """Compile one of the programs; the program."""
    source = tools.work / name
    shutil.copy(SAMPLES / name, source)
    tools.ok(COMPILERS[source.suffix], "-g", *options, source, "-o", source.with_suffix(""))
    return source.with_suffix("")


@pytest.fixture(scope="module")
def made(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with the regions of most tests."""
    return build(Tools(bin_folder, tmp_path_factory.mktemp("steps")), "steps.c", "-fopenmp")


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path, made: Path) -> Tools:
    """The commands, and the program `steps` in their folder."""
    shutil.copy(made, tmp_path)
    return Tools(bin_folder, tmp_path)


def record(tools: Tools, *words: str, status: int = 0) -> tuple[str, str]:
    """What gompy record prints."""
    done = tools.run("gompy", "record", *words)
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr


@pytest.mark.slow
def test_a_recording_replays_as_recorded(tools: Tools) -> None:
    """In an emulated MIC and in a process of this machine, without the program."""
    out, told = record(tools, "-o", "r", "./steps")
    assert out == "6 12\n" and told.startswith("gompy record: r: 3 regions, ")
    (tools.work / "steps").unlink()
    for where in ("intelmic", "host"):
        lines = tools.ok("gompy", "replay", "--on", where, "r").splitlines()
        wanted = [
            f"steps.c:21: region 0 main._omp_fn.0 on {where}: as recorded",
            f"steps.c:24: region 1 main._omp_fn.1 on {where}: as recorded",
            f"steps.c:12: region 2 add_up._omp_fn.0 on {where}: as recorded",
        ]
        assert lines == wanted


def test_a_recording_names_its_variables(tools: Tools) -> None:
    record(tools, "./steps")
    lines = tools.ok("gompy", "replay", "--list", "--region", "2", "steps.recording").splitlines()
    assert lines[0] == "steps.c:12: region 2 add_up._omp_fn.0 on intelmic"
    assert {line.partition(":")[0].strip() for line in lines[1:]} == {"factor", "x", "sum"}


def test_what_differs_is_named(tools: Tools) -> None:
    """A result that is changed in the file is one that the replay does not give."""
    record(tools, "-o", "r", "./steps")
    path = tools.work / "r"
    recording = Recording(str(path))
    region = recording.regions[0]
    assert region.after is not None
    item = next(item for item in region.objects if region.names[item.host].name == "x")
    span = next(span for span in region.after if span.start <= item.target < span.start + span.size)
    at = recording.blobs[span.blob][0] + item.target - span.start + 8
    content = bytearray(path.read_bytes())
    content[at : at + 8] = b"\0" * 8
    path.write_bytes(content)
    done = tools.run("gompy", "replay", "--region", "0", "r")
    assert done.returncode == 1 and done.stderr == ""
    assert done.stdout.splitlines() == [
        "steps.c:21: region 0 main._omp_fn.0 on intelmic: differs",
        "  x[1]: recorded 0, now 2; 1 of 3 elements of x differ",
    ]
    assert tools.run("gompy", "replay", "--region", "0", "--tolerance", "2", "r").returncode == 0


@pytest.mark.slow
def test_regions_are_chosen(tools: Tools) -> None:
    _, told = record(tools, "-o", "r", "--only", "add_up", "./steps")
    assert told.startswith("gompy record: r: 1 region, ")
    assert tools.ok("gompy", "replay", "r") == "steps.c:12: region 0 add_up._omp_fn.0 on intelmic: as recorded\n"
    _, told = record(tools, "-o", "r", "--first", "2", "./steps")
    assert told.startswith("gompy record: r: 2 regions, ")
    before = (tools.work / "r").read_bytes()
    _, told = record(tools, "-o", "r", "--only", "nothing", "./steps", status=2)
    why = "nothing was recorded: no region or kernel that is wanted was launched on a device"
    assert told == f"gompy record: error: {why}\n"
    assert (tools.work / "r").read_bytes() == before


def test_a_recording_ends_at_its_limit(tools: Tools) -> None:
    _, told = record(tools, "-o", "r", "--first", "1", "./steps")
    limit = (tools.work / "r").stat().st_size
    out, told = record(tools, "-o", "r", "--max-bytes", str(limit), "./steps")
    assert out == "6 12\n"
    assert told.splitlines()[0] == f"gompy record: r: ended at its limit of {limit} bytes"
    assert (tools.work / "r").stat().st_size <= limit + 1000
    assert "region 0 main._omp_fn.0 on intelmic: as recorded" in tools.run("gompy", "replay", "r").stdout


def test_a_region_that_ends_the_program_is_in_the_recording(tools: Tools) -> None:
    """With its memory before; it ends the replay, and the regions after it are run all the same."""
    _, told = record(tools, "-o", "r", "./steps", "x", status=1)
    assert "gompy record: r: region 2 add_up._omp_fn.0 has not ended\n" in told
    assert len(Recording(str(tools.work / "r")).regions) == 3
    done = tools.run("gompy", "replay", "--region", "2", "--region", "0", "r")
    lines = done.stdout.splitlines()
    assert done.returncode == 2
    assert lines[0].startswith("steps.c:12: region 2 add_up._omp_fn.0 on intelmic: not run: the region ended its proc")
    assert lines[1] == "steps.c:21: region 0 main._omp_fn.0 on intelmic: as recorded"


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("record", "./nothing"), 127, "gompy record: error: ./nothing: "),
        (("record", "-o", "no/r", "./steps"), 2, "gompy record: error: "),
        (("record", "--first", "0", "./steps"), 2, "'0' is no number of regions"),
        (("record", "--max-bytes", "1T", "./steps"), 2, "'1T' is no number of bytes"),
        (("replay", "steps"), 2, "gompy replay: error: steps: no recording of gompy record"),
        (("replay", "nothing"), 2, "gompy replay: error: nothing: No such file or directory"),
        (("replay", "."), 2, "gompy replay: error: .: "),
        (("replay", "--tolerance", "-1", "steps"), 2, "'-1' is no tolerance"),
        (("bisect", "--on", "host", "--against", "host", "./steps"), 2, "--on and --against are the same"),
        (("bisect", "--on", "nvptx", "--against", "host", "./steps"), 126, "it has no code for nvptx, only for intel"),
    ],
    ids=["none", "folder", "first", "bytes", "foreign", "missing", "dir", "tolerance", "same", "no-code"],
)
def test_errors_are_one_line(tools: Tools, words: tuple[str, ...], status: int, text: str) -> None:
    done = tools.run("gompy", *words)
    assert text in done.stderr and "Traceback" not in done.stderr
    assert done.returncode == status


def test_a_program_without_regions_leaves_no_file(tools: Tools) -> None:
    source = tools.write("plain.c", "int main (void) { return 0; }")
    tools.ok("gompcc", "-fopenmp", source, "-o", "plain")
    assert tools.run("gompy", "record", "-o", "r", "./plain").returncode != 0
    assert not (tools.work / "r").exists()
    assert [path.name for path in tools.work.iterdir() if path.name.startswith(".gompy")] == []


LACKING = (
    "  not implemented: recording what the device's C library keeps (its image calls malloc, rand): this may be why"
)


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("kind", ["intelmic", pytest.param("nvptx", marks=has_compiler)])
def test_what_the_library_keeps_is_not_implemented(tools: Tools, kind: str) -> None:
    """Blocks of the device's malloc and its random numbers: the replay differs, or dies, and says why."""
    build(tools, "keeps.c", "-fopenmp", *([BOTH] if kind == "nvptx" else ()))
    env = GPU if kind == "nvptx" else {}
    done = tools.run("gompy", "record", "--device", kind, "-o", "r", "./keeps", env=env)
    assert done.returncode == 0 and done.stdout == "45\n", done.stderr
    for number, status, what in ((1, 2, "not run: the region ended its process: "), (3, 1, "differs")):
        for where in (kind, "host"):
            done = tools.run("gompy", "replay", "--on", where, "--region", str(number), "r", env=env)
            lines = done.stdout.splitlines()
            assert f": region {number} main._omp_fn." in lines[0] and f" on {where}: {what}" in lines[0]
            assert done.returncode == status and lines[-1] == LACKING and lines.count(LACKING) == 1
    done = tools.run("gompy", "bisect", "--on", kind, "--against", "host", "./keeps", env=env)
    assert done.returncode == 1 and LACKING in done.stdout.splitlines()


BACK = r"""
#pragma omp declare target
extern void GOMP_target_ext (int, void (*) (void *), unsigned long, void **, unsigned long *, unsigned short *,
                             unsigned, void **, void **);
void nobody (void *p) {}
#pragma omp end declare target
int main (void)
{
  int x = 1;
#pragma omp target map(tofrom: x)
  x = 2;
#pragma omp target map(tofrom: x)
  { GOMP_target_ext (-2, nobody, 0, 0, 0, 0, 0, 0, 0); __builtin_trap (); }
}
"""


def test_reverse_offload_is_not_implemented(tools: Tools) -> None:
    """A region that ends, and whose image calls what reverse offload calls: gcc 12 has no syntax for it."""
    tools.write("back.c", BACK)
    tools.ok("gompcc", "-g", "-fopenmp", "back.c", "-o", "back")
    tools.run("gompy", "record", "-o", "r", "./back")
    done = tools.run("gompy", "replay", "r")
    lines = done.stdout.splitlines()
    assert done.returncode == 2 and len(lines) == 3
    assert lines[0].endswith("region 0 main._omp_fn.0 on intelmic: as recorded")
    assert "region 1 main._omp_fn.1 on intelmic: not run: the region ended its process: " in lines[1]
    wanted = "reverse offload in a replayed region (its image calls GOMP_target_ext)"
    assert lines[2] == f"  not implemented: {wanted}: this may be why"


@pytest.mark.slow
def test_kernels_of_cuda_have_no_other_device(tools: Tools) -> None:
    """So `gompy bisect` has nothing to compare; and it offers no --any, which it has not."""
    fat = '__attribute__ ((section (".nv_fatbin"))) const char fat[8] = "kernels";\n'
    for name, text in (("kernels", fat), ("plain", "")):
        source = tools.write(f"{name}.c", f"{text}int main (void) {{ return 0; }}")
        tools.ok("gcc", source, "-o", name)
    tools.write("script", "#!/bin/sh\n").chmod(0o755)
    both = ("--on", "intelmic", "--against", "host")
    done = tools.run("gompy", "bisect", *both, "./kernels")
    start = "gompy bisect: error: "
    assert done.returncode == 126 and done.stderr == (
        f"{start}./kernels: it has no target regions, but kernels of CUDA: no other device runs them\n"
    )
    for command, options, offered in (("bisect", both, False), ("record", (), True)):
        for name in ("plain", "script"):
            done = tools.run("gompy", command, *options, f"./{name}")
            assert done.returncode == 126 and done.stderr.startswith(f"gompy {command}: error: ./{name}: it ")
            assert ("--any" in done.stderr) == offered and len(done.stderr.splitlines()) == 1
    done = tools.run("gompy", "run", "./kernels")
    assert done.returncode == 126
    assert done.stderr.endswith(", but kernels of CUDA: gompy cuda run -- ./kernels runs it\n")


def test_two_devices_agree(tools: Tools) -> None:
    done = tools.run("gompy", "bisect", "--on", "intelmic", "--against", "host", "./steps")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("gompy bisect: 3 regions, none differs between intelmic and host\n")


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize(("name", "flag"), LANGUAGES)
def test_each_language_replays(tools: Tools, name: str, flag: str) -> None:
    """Pointers, lists on the device, descriptors, queues, nowait."""
    program = build(tools, name, flag)
    record(tools, "-o", "r", f"./{program.name}")
    for where in ("intelmic", "host"):
        lines = tools.ok("gompy", "replay", "--on", where, "r").splitlines()
        assert lines and all(line.endswith(f" on {where}: as recorded") for line in lines)


def test_threads_that_map_and_launch_at_once_are_recorded(tools: Tools) -> None:
    """Their regions wait for each other, their mappings do not stand in the way."""
    program = build(tools, "threads.c", "-fopenmp")
    out, told = record(tools, "-o", "r", f"./{program.name}")
    assert out == "0\n" and told.startswith("gompy record: r: 16 regions, ")
    lines = tools.ok("gompy", "replay", "r").splitlines()
    assert len(lines) == 16 and all(line.endswith(": as recorded") for line in lines)


@pytest.mark.slow(sample=1)
@has_compiler
@pytest.mark.parametrize(("name", "flag"), [pytest.param("steps.c", "-fopenmp", id="c"), *LANGUAGES])
def test_recordings_go_from_device_to_device(tools: Tools, name: str, flag: str) -> None:
    """A region of the MIC runs on the emulated GPU and the other way round; pointers go along."""
    tools.env |= GPU
    program = build(tools, name, flag, BOTH)
    for device in ("intelmic", "nvptx"):
        record(tools, "-o", device, "--device", device, f"./{program.name}")
        for where in ("nvptx", "intelmic", "host"):
            lines = tools.ok("gompy", "replay", "--on", where, "--tolerance", "1e-5", device).splitlines()
            assert lines and all(f" on {where}: as recorded" in line for line in lines)


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize(
    "words",
    [
        ("./steps", "--on", "intelmic", "--against", "host"),
        ("./steps", "--on=intelmic", "--against=host"),
        ("--on", "intelmic", "--against", "host", "--", "./steps"),
    ],
)
def test_the_devices_may_stand_behind_the_program(tools: Tools, words: tuple[str, ...]) -> None:
    """Only where none is named before it: what else is there is the program's own."""
    done = tools.run("gompy", "bisect", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("gompy bisect: 3 regions, none differs between intelmic and host\n")


@pytest.mark.parametrize(
    ("words", "lacking"),
    [
        (("./steps",), "--on, --against"),
        (("./steps", "--on", "host"), "--against"),
        (("--against", "host", "./steps", "--on", "intelmic"), "--on"),
        (("--", "./steps", "--on", "intelmic", "--against", "host"), "--on, --against"),
    ],
)
def test_a_device_that_is_not_named(tools: Tools, words: tuple[str, ...], lacking: str) -> None:
    done = tools.run("gompy", "bisect", *words)
    assert done.returncode == 2
    assert done.stderr.endswith(f"gompy bisect: error: the following arguments are required: {lacking}\n")


@pytest.mark.slow
@has_compiler
def test_bisect_names_the_first_element(tools: Tools) -> None:
    """A GPU rounds once where the MIC rounds twice."""
    tools.env |= GPU
    shutil.copy(ROOT / "docs" / "programs" / "thirds.c", tools.work)
    tools.ok("gompcc", "-O2", "-g", "-fopenmp", BOTH, "thirds.c", "-o", "thirds")
    done = tools.run("gompy", "bisect", "--on", "nvptx", "--against", "intelmic", "./thirds")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()[2:]
    assert lines[:2] + lines[3:] == [
        "thirds.c:14: region 1 main._omp_fn.2: the first difference is after it",
        "  y[1]: nvptx 0.0333333313, intelmic 0.0333333015; 956 of 1000 elements of y differ",
        "gompy bisect: 1 region before it does not differ",
    ]


@pytest.mark.slow
@has_compiler
def test_pointers_to_memory_of_the_program_are_the_same_on_two_devices(tools: Tools) -> None:
    """What omp_target_alloc gave, and a list in it."""
    tools.env |= GPU
    program = build(tools, "lists.cc", "-fopenmp", BOTH)
    done = tools.run("gompy", "bisect", "--on", "nvptx", "--against", "intelmic", f"./{program.name}")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("how", [(), ("update",)], ids=["region", "copy"])
def test_a_region_that_waits_for_another_thread(tools: Tools, how: tuple[str, ...]) -> None:
    """It runs beside the others, in the end, and is left out; what comes before and behind is recorded."""
    program = build(tools, "meets.c", "-fopenmp")
    out, told = record(tools, "-o", "r", "--wait", "0.5", f"./{program.name}", *how)
    assert out == "3 1 2\n"
    lost = "region main._omp_fn.2 is not recorded: others have waited for its end for 0.5 s, and it may wait for them"
    first, last = told.splitlines()
    assert first == f"libgompy: {lost} (gompy record --wait)" and last.startswith("gompy record: r: ")
    lines = tools.ok("gompy", "replay", "r").splitlines()
    assert all(line.endswith(" on intelmic: as recorded") for line in lines)
    found = {line.split()[3] for line in lines}
    assert {"main._omp_fn.0", "main._omp_fn.4"} - found == set() and "main._omp_fn.2" not in found
    number = next(region.number for region in Recording(str(tools.work / "r")).regions if region.dropped)
    done = tools.run("gompy", "replay", "--region", str(number), "r")
    why = f"gompy replay: error: r: region {number} main._omp_fn.2 ran beside others: not recorded\n"
    assert (done.returncode, done.stderr) == (2, why)


def test_a_region_that_is_left_out_does_not_count(tools: Tools) -> None:
    program = build(tools, "meets.c", "-fopenmp")
    out, told = record(tools, "-o", "r", "--wait", "0.5", "--first", "2", f"./{program.name}")
    assert out == "3 1 2\n" and told.splitlines()[-1].startswith("gompy record: r: 2 regions, ")


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("device", ["intelmic", pytest.param("nvptx", marks=has_compiler)])
def test_a_region_in_a_queue_that_waits_for_another_queue(tools: Tools, device: str) -> None:
    """The program's thread waits for each queue while it is recorded: it goes on in the end, and the region with it."""
    tools.env |= GPU
    program = build(tools, "waits.c", "-fopenacc", BOTH if device == "nvptx" else "-foffload=intelmic")
    out, told = record(tools, "-o", "r", "--device", device, "--wait", "0.5", f"./{program.name}")
    assert out == "3 7 2\n"
    why = "the program has waited for its end for 0.5 s, and it may wait for what is behind it (gompy record --wait)"
    first, last = told.splitlines()
    assert first == f"libgompy: region main._omp_fn.1 is not recorded: {why}"
    assert last.startswith("gompy record: r: 2 regions, ")
    regions = Recording(str(tools.work / "r")).regions
    assert [(region.function, region.dropped) for region in regions] == [
        ("main._omp_fn.0", False),
        ("main._omp_fn.1", True),
        ("main._omp_fn.3", False),
    ]
    lines = tools.ok("gompy", "replay", "r").splitlines()
    assert len(lines) == 2 and all(f" on {device}: as recorded" in line for line in lines)


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("device", ["intelmic", pytest.param("nvptx", marks=has_compiler)])
def test_a_region_that_waits_for_what_is_behind_it(tools: Tools, device: str) -> None:
    """The program's thread goes on, as without a recording."""
    tools.env |= GPU
    program = build(tools, "behind.c", "-fopenmp", BOTH if device == "nvptx" else "-foffload=intelmic")
    out, told = record(tools, "-o", "r", "--device", device, f"./{program.name}")
    assert out == "2\n" and told.startswith("gompy record: r: 1 region, ")
    assert f" on {device}: as recorded" in tools.ok("gompy", "replay", "r")


def test_a_time_to_wait(tools: Tools) -> None:
    for text in ("never", "0", "1000000", "nan"):
        done = tools.run("gompy", "record", "--wait", text, "./steps")
        told = f"argument --wait: '{text}' is no number of seconds above 0 and below 1000000\n"
        assert done.returncode == 2 and done.stderr.endswith(f"gompy record: error: {told}")

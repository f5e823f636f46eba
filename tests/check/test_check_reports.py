"""`gompy run --check`: the exact text of each kind of report (reports.txt), by programs of testsuite/check and ours."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from gompy.check.findings import KINDS

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "testsuite" / "check"
PROGRAMS = ROOT / "tests" / "programs"
BIN = ROOT / ".venv" / "bin"
REPORTS = Path(__file__).with_name("reports.txt")
COMPILERS = {".c": "gompcc", ".cc": "gompc++", ".f90": "gompfortran"}


def expected() -> dict[str, str]:
    """The reports by program: sections that begin with `== PROGRAM`, with -foffload-check `== PROGRAM exact`."""
    found = {}
    for part in REPORTS.read_text().split("== ")[1:]:
        name, _, text = part.partition("\n")
        found[name] = text
    return found


def checked(folder: Path, name: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Build and run a program of the corpus on the emulated MIC; `PROGRAM exact`: with -foffload-check."""
    name, _, exact = name.partition(" ") if not (folder / name).exists() else (name, "", "")
    if name.endswith(".f90") and shutil.which("gfortran") is None:
        pytest.skip("no gfortran")
    source = next(place / name for place in (folder, CORPUS, PROGRAMS) if (place / name).exists())
    kind = "-fopenacc" if re.search(r"#pragma acc|!\$acc", source.read_text()) else "-fopenmp"
    env = {**os.environ, "GOMPY_ACCEL": "gcc", "OFFLOAD_EMUL_MEM": "64M"}
    compiler = str(BIN / COMPILERS[Path(name).suffix])
    words = [compiler, "-g", kind, *(["-foffload-check"] if exact else []), str(source), "-o", "program"]
    subprocess.run(words, check=True, cwd=folder, env=env)
    command = [str(BIN / "gompy"), "run", "--device", "intelmic", "--check", *options, "./program"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=env)


def told(text: str) -> str:
    """The report, without what the runtime said before, and with ``0x…`` for addresses of the host."""
    lines = "".join(line for line in text.splitlines(True) if "libgomp: " not in line and line.strip())
    return re.sub("0x[0-9a-f]+", "0x…", lines)


def test_every_kind_has_its_text() -> None:
    shown = "".join(expected().values())
    assert {kind for kind in KINDS if f" [{kind}]\n" not in shown} == set()


def sees_system_calls() -> bool:
    """PR_SET_SYSCALL_USER_DISPATCH, here off: what the host reads is watched where the kernel has it (Linux 5.11)."""
    return ctypes.CDLL(None).prctl(59, 0, 0, 0, 0) == 0


WATCHED = (
    "stale-host",
    "unset-host",
    "race-acc-",
    "race-depend",
    "race-taskgroup",
    "check_acc_half",
    "check_acc_stale",
)
"""Programs whose fault is an access of the host's, or some of them."""


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("name", sorted(expected()))
def test_the_report_of_a_wrong_program(tmp_path: Path, name: str) -> None:
    watched = name.startswith(WATCHED) and not name.endswith("exact")
    if watched and not sees_system_calls():
        pytest.skip("the kernel does not tell a process of its system calls")
    done = checked(tmp_path, name)
    assert told(done.stderr) == expected()[name]
    assert done.returncode == (0 if "advice" in expected()[name] else 86)


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize(
    "name",
    [
        *("right-scratch.c", "right-double-buffer.c", "right-overwritten.c", "stale-host-to-right.c"),
        *("unset-host-half-right.c", "unset-host-update-right.c exact", "right-padding.c", "right-padding.c exact"),
        *("race-threads-right.c exact", "race-critical-right.c exact", "race-single-right.c exact"),
        *(
            "race-hidden-right.c exact",
            "past-odd-right.c exact",
            "unset-hole-right.c exact",
            "stale-host-threads-right.c exact",
        ),
        *("race-teams-right.c exact", "race-stencil-right.c exact", "race-host-right.c exact"),
        *(
            "race-taskgroup-right.c",
            "race-depend-right.c",
            "race-depend-right.c exact",
            "race-depend-read-right.c exact",
        ),
        *("right-depend-enter.c exact", "right-depend-flag.c exact", "check_depend_detach.c exact"),
        *("right-depend-nested.c", "right-depend-nested.c exact", "right-nowait.c exact"),
        *("race-acc-host-right.c", "race-acc-update-right.c", "past-block-right.c", "past-block-acc-right.c"),
        "past-block-right.f90",
        *("right-associated.c", "mapping-acc-map-right.c", "stale-device-associated-right.c"),
    ],
)
def test_a_right_program_has_none(tmp_path: Path, name: str) -> None:
    done = checked(tmp_path, name)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("name", ["right-depend-flag.c", "right-depend-flag.c exact"])
def test_a_program_that_waits_for_a_task_needs_no_second_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("OMP_THREAD_LIMIT", "1")
    done = checked(tmp_path, name)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 7\n", "")


LIMITED = 3 << 30


@pytest.mark.parametrize(
    ("memory", "told"),
    [(None, "nothing says which is first"), ("2G", "no race is found: set OFFLOAD_EMUL_MEM to less")],
)
def test_a_limit_on_addresses_takes_no_check_away_in_silence(tmp_path: Path, memory: str | None, told: str) -> None:
    """By itself a device is so small that what is kept of its memory has room; where it may not be, that is told."""
    env = {**os.environ, "GOMPY_ACCEL": "gcc", "GOMPY_CHECK": "1"}
    env.pop("OFFLOAD_EMUL_MEM", None)
    if memory is not None:
        env["OFFLOAD_EMUL_MEM"] = memory
    words = ["-g", "-fopenmp", "-foffload-check", str(CORPUS / "race-single.c"), "-o", "program"]
    subprocess.run([str(BIN / "gompcc"), *words], check=True, cwd=tmp_path, env=env)
    done = subprocess.run(
        ["./program"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=env,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMITED, LIMITED)),
    )
    assert (done.returncode, done.stdout) == (0, "0\n")
    assert told in done.stderr


def corpus() -> ModuleType:
    """testsuite/check/run.py."""
    spec = importlib.util.spec_from_file_location("check_corpus", CORPUS / "run.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_corpus"] = module
    spec.loader.exec_module(module)
    return module


def test_the_table_of_the_page_has_the_programs_that_are_there() -> None:
    """What is found of them `make check-corpus` knows: it takes minutes."""
    run = corpus()
    programs = run.programs([])
    everything = {(p, d): run.QUIET if p.right else run.FOUND for p in programs for d in run.WAYS}
    lines, begin, end = run.table_of((ROOT / "docs" / "diagnosis.md").read_text(encoding="utf-8"))
    shown = [line.split("|")[1:3] for line in lines[begin:end]]
    assert shown == [line.split("|")[1:3] for line in run.rows(everything)]
    assert sum(p.right for p in programs) >= 50 and sum(not p.right for p in programs) >= 45
    for line in lines[begin + 2 : end - 1]:
        _, count, mic, exact, gpu = (cell.strip() for cell in line.strip("|").split("|"))
        assert int(mic) <= int(exact) <= int(count) >= int(gpu)


NVPTX = shutil.which("x86_64-linux-gnu-accel-nvptx-none-gcc-12") or shutil.which("nvptx-none-as")


@pytest.mark.slow
@pytest.mark.skipif(NVPTX is None, reason="no compiler for nvptx")
def test_a_stale_read_on_the_emulated_gpu(tmp_path: Path) -> None:
    """The same report as on the MIC, and another one for what is never written; a right program has none."""
    env = {**os.environ, "GOMPY_ACCEL": "gcc", "GOMPY_CUDA": "emulated"}
    for name in ("stale-device-update.c", "unset-create.c", "stale-device-update-right.c"):
        flags = ["-fopenacc" if "#pragma acc" in (CORPUS / name).read_text() else "-fopenmp"]
        flags += ["-foffload=nvptx-none", str(CORPUS / name), "-o", "program"]
        subprocess.run([str(BIN / "gompcc"), "-g", *flags], check=True, cwd=tmp_path, env=env)
        command = [str(BIN / "gompy"), "run", "--device", "nvptx", "--check", "./program"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=env)
        shown = "".join(line for line in done.stderr.splitlines(True) if "libcuda (gompy)" not in line)
        if name == "stale-device-update.c":
            assert shown == expected()[name]
        assert done.returncode == (0 if "right" in name else 86)
        assert ("[unset]" in shown) == (name == "unset-create.c")


@pytest.mark.slow(sample=1)
@pytest.mark.skipif(NVPTX is None, reason="no compiler for nvptx")
@pytest.mark.parametrize("name", ["race-depend.c", "race-host.c exact", "race-depend-right.c"])
def test_the_host_beside_a_region_with_nowait_on_the_emulated_gpu(tmp_path: Path, name: str) -> None:
    """As on the MIC; race-host.c is there found by chance without -foffload-check, so its text is that of `exact`."""
    if not sees_system_calls():
        pytest.skip("the kernel does not tell a process of its system calls")
    env = {**os.environ, "GOMPY_ACCEL": "gcc", "GOMPY_CUDA": "emulated"}
    source = CORPUS / name.partition(" ")[0]
    words = [str(BIN / "gompcc"), "-g", "-fopenmp", "-foffload=nvptx-none", str(source), "-o", "program"]
    subprocess.run(words, check=True, cwd=tmp_path, env=env)
    command = [str(BIN / "gompy"), "run", "--device", "nvptx", "--check", "./program"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=env)
    shown = "".join(line for line in done.stderr.splitlines(True) if "libcuda (gompy)" not in line)
    assert (done.returncode, shown) == ((0, "") if "right" in name else (86, expected()[name]))


ENDS = {
    "check_abort.c": "check_abort.c:5: error: region main._omp_fn.0 on device 0: trap [fault]\n",
    "check_recursion.c": "check_recursion.c:5: error: region main._omp_fn.0 on device 0: address 0x…: the stack of a "
    "warp, 131072 bytes, is exhausted [fault]\ncheck_recursion.c:12: note: region main._omp_fn.0 begins here\n",
}


def checked_on_the_gpu(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    """Build and run a program on the emulated GPU."""
    env = {**os.environ, "GOMPY_CUDA": "emulated"}
    words = ["-g", "-fopenmp", "-foffload=nvptx-none", source, "-o", "program"]
    subprocess.run([str(BIN / "gompcc"), *words], check=True, cwd=folder, env=env)
    command = [str(BIN / "gompy"), "run", "--device", "nvptx", "--check", "./program"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=env)


@pytest.mark.slow(sample=1)
@pytest.mark.skipif(NVPTX is None, reason="no compiler for nvptx")
@pytest.mark.parametrize("name", sorted(ENDS))
def test_a_kernel_that_ends_by_itself_is_a_fault(tmp_path: Path, name: str) -> None:
    done = checked_on_the_gpu(tmp_path, str(PROGRAMS / name))
    assert done.returncode == 86
    assert ENDS[name] in re.sub("0x[0-9a-f]+", "0x…", done.stderr)


@pytest.mark.slow
@pytest.mark.skipif(NVPTX is None, reason="no compiler for nvptx")
def test_lines_of_a_kernel_whose_source_has_another_place_or_blanks(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    head = "int main (void)\n{\n  int n = 3;\n#pragma omp target map(tofrom: n)\n"
    (tmp_path / "a trap.c").write_text(f"{head}  if (++n == 4)\n    __builtin_trap ();\n}}\n")
    done = checked_on_the_gpu(tmp_path / "build", "../a trap.c")
    assert "\na trap.c:6: error: region main._omp_fn.0 on device 0: trap [fault]\n" in done.stderr
    shutil.copy(CORPUS / "unmapped-heap.c", tmp_path / "not mapped.c")
    done = checked_on_the_gpu(tmp_path, "not mapped.c")
    assert "\nnot mapped.c:11: error: b is used in region main._omp_fn.0 on device 0, but " in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(NVPTX is None, reason="no compiler for nvptx")
def test_a_stale_read_of_the_host_with_the_emulated_gpu(tmp_path: Path) -> None:
    """Its driver's threads must sleep; on a busy machine they may not at once, so one run of five must find it."""
    if not sees_system_calls():
        pytest.skip("the kernel does not tell a process of its system calls")
    env = {**os.environ, "GOMPY_ACCEL": "gcc", "GOMPY_CUDA": "emulated"}
    flags = ["-g", "-fopenmp", "-foffload=nvptx-none", str(CORPUS / "stale-host-update.c"), "-o", "program"]
    subprocess.run([str(BIN / "gompcc"), *flags], check=True, cwd=tmp_path, env=env)
    command = [str(BIN / "gompy"), "run", "--device", "nvptx", "--check", "./program"]
    runs = (
        subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=env) for _ in "12345"
    )
    assert any(done.stderr == expected()["stale-host-update.c"] and done.returncode == 86 for done in runs)


def test_json_sarif_and_another_status(tmp_path: Path) -> None:
    done = checked(tmp_path, "not-present-exit.c", "--check-json", "j", "--check-sarif", "s", "--check-status", "3")
    assert done.returncode == 3
    (finding,) = json.loads((tmp_path / "j").read_text())["findings"]
    assert (finding["kind"], finding["variable"], finding["line"], finding["size"]) == ("not-present", "b", 11, 256)
    (result,) = json.loads((tmp_path / "s").read_text())["runs"][0]["results"]
    assert result["ruleId"] == "not-present"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 11


@pytest.mark.parametrize(
    ("option", "status"), [("--check-json=file", 86), ("--check-sarif=file", 86), ("--check-status=4", 4)]
)
def test_its_options_ask_for_the_check(tmp_path: Path, option: str, status: int) -> None:
    """Each alone was taken for nothing, in silence."""
    source = (CORPUS / "not-present-exit.c").read_text()
    (tmp_path / "prog.c").write_text(source)
    subprocess.run([BIN / "gompcc", "-g", "-fopenmp", "prog.c", "-o", "prog"], check=True, cwd=tmp_path)
    command = [str(BIN / "gompy"), "run", "--device", "intelmic", option, "./prog"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert "prog.c:11: error: exit data of b (256 bytes)" in done.stderr
    assert (tmp_path / "file").exists() == (option.endswith("file"))


def test_names_with_blanks(tmp_path: Path) -> None:
    """A source's name has blanks, a number, a letter beyond ASCII: its lines are found; SARIF has a URI."""
    name = "a 12 0x3 \u00fc.c"
    shutil.copy(CORPUS / "unmapped-heap.c", tmp_path / name)
    done = checked(tmp_path, name, "--check-sarif", "s")
    assert told(done.stderr) == expected()["unmapped-heap.c"].replace("unmapped-heap.c:", told(f"{name}:\n")[:-1])
    (result,) = json.loads((tmp_path / "s").read_text())["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "a%2012%200x3%20%C3%BC.c"}, "region": {"startLine": 11}}


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize(
    ("program", "line"),
    [("unmapped-heap.c", 11), ("unset-alloc.c exact", 11), ("race-teams.c exact", 8)],
)
def test_names_with_parentheses(tmp_path: Path, program: str, line: int) -> None:
    """As copies of a file have them."""
    old, _, exact = program.partition(" ")
    shutil.copy(CORPUS / old, tmp_path / "p(1).c")
    done = checked(tmp_path, f"p(1).c {exact}".strip())
    assert told(done.stderr).startswith(f"p(1).c:{line}: error: "), done.stderr
    assert done.returncode == 86


TEMPLATES = """
#include <iostream>
template <class T, class U> __attribute__ ((noinline)) void bump (T *p, U x) { *p += x; }
template <class T, class U> T unset (T *p, U x)
{
  T r = 0;
#pragma omp target map(alloc: p[:2]) map(from: r)
  r = *p + x;
  return r;
}
template <class T, class U> void fault (T *p, U x)
{
  T *q = new T[100]();
#pragma omp target map(tofrom: p[:2])
  p[0] += q[x];
}
int main (int argc, char **)
{
  long z[2] = {0};
#pragma omp target parallel num_threads(4) map(tofrom: z)
  bump<long, unsigned long> (z, 2);
  if (unset<long, unsigned long> (z, 2) != 1)
    fault<long, unsigned long> (z, 3);
  std::cout << z[0] << std::endl;
}
"""


@pytest.mark.slow
def test_cxx_names_with_blanks(tmp_path: Path) -> None:
    """`bump<long, unsigned long>`, of functions and of regions: a program with libstdc++ has such in its messages."""
    (tmp_path / "t.cc").write_text(TEMPLATES)
    done = checked(tmp_path, "t.cc exact")
    assert "in bump<long, unsigned long> (t.cc:3)" in done.stderr
    assert "\nt.cc:3: error: z (byte 0 of 16) is written in region main._omp_fn.0 on device 0, and " in done.stderr
    assert "\nt.cc:8: error: region unset<long, unsigned long>._omp_fn.0 on device 0 reads " in done.stderr
    assert "\nt.cc:15: error: q is used in region fault<long, unsigned long>._omp_fn.0 on device 0, " in done.stderr


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """Not the program, which has run; what was found is on stderr before."""
    done = checked(tmp_path, "not-present-exit.c", "--check-json", "/dev/full")
    assert "[not-present]" in done.stderr
    assert done.stderr.splitlines()[-1] == "gompy run: error: /dev/full: No space left on device"
    done = checked(tmp_path, "not-present-exit.c", "--check-json", "no/j")
    assert done.stderr == "gompy run: error: --check-json no/j: No such file or directory\n"


def test_an_argument_that_is_absent(tmp_path: Path) -> None:
    done = checked(tmp_path, "absent_argument.f90")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_block_has_no_other_pointers_name(tmp_path: Path) -> None:
    """With -O1 nothing says where b points to when step maps it: it is not a, which points to the block before."""
    source = PROGRAMS / "check_other_block.c"
    command = [str(BIN / "gompcc"), "-g", "-O1", "-fopenmp", str(source), "-o", "program"]
    subprocess.run(command, check=True, cwd=tmp_path)
    command = [str(BIN / "gompy"), "run", "--device", "intelmic", "--check", "./program"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 86
    assert re.search(r"goes beyond what is mapped of (b|memory) \(16384 bytes\), to the byte behind", done.stderr)


@pytest.mark.slow(sample=1)
@pytest.mark.skipif(NVPTX is None, reason="no compiler for nvptx")
@pytest.mark.parametrize("name", ["fault-host.c", "fault-host-acc.c", "fault-host-pointer.c", "fault-host-right.c"])
def test_the_host_uses_memory_of_the_emulated_gpu(tmp_path: Path, name: str) -> None:
    """It has no access to that while no kernel runs: the same report as on the MIC."""
    env = {**os.environ, "GOMPY_ACCEL": "gcc", "GOMPY_CUDA": "emulated"}
    kind = "-fopenacc" if "#pragma acc" in (CORPUS / name).read_text() else "-fopenmp"
    words = ["-g", kind, "-foffload=nvptx-none", str(CORPUS / name), "-o", "program"]
    subprocess.run([str(BIN / "gompcc"), *words], check=True, cwd=tmp_path, env=env)
    command = [str(BIN / "gompy"), "run", "--device", "nvptx", "--check", "./program"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=env)
    assert done.stderr == expected().get(name, "")
    assert done.returncode == (0 if "right" in name else 86)

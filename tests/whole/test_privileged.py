"""Programs with rights that their caller has not: the caller's environment gets nobody at those rights."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver_tools import FRONTS, ROOT, Tools, has_all, make_wrappers
from nvptx_tools import NVPTX, has_compiler

NATIVE = ROOT / "gompy" / "_native"
SET_USER = 0o4755
AS_OTHER_USER = {"user": 65534, "group": 65534, "extra_groups": []}

PROGRAM = r"""
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main (int argc, char **argv)
{
  int sum = 0, host = 1, seen = 0;
  const char *how = argc > 1 ? argv[1] : "";
  if (strstr (how, "become") && setreuid (geteuid (), geteuid ()) != 0)
    return 3;
#ifdef MIC
  #pragma omp target map (from: seen)
  seen = getenv ("PYTHONPATH") != NULL;
#endif
  #pragma omp target map (tofrom: sum) map (from: host)
  {
    host = omp_is_initial_device ();
    for (int i = 0; i <= 100; i++)
      sum += i;
  }
  printf ("%d %s %d\n", sum, host ? "host" : "device", seen);
  fflush (stdout);
#ifdef MIC
  if (strstr (how, "fault"))
    {
      #pragma omp target
      *(volatile int *) 8 = 1;
    }
#endif
  return 0;
}
"""
WHO = r"""
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>
int main (void)
{
  uid_t real, now, kept;
  gid_t real_group, now_group, kept_group;
  getresuid (&real, &now, &kept);
  getresgid (&real_group, &now_group, &kept_group);
  printf ("%d %d %d, %d %d %d, %lu\n", real, now, kept, real_group, now_group, kept_group, getauxval (AT_SECURE));
}
"""
EVIL = r"""
#include <fcntl.h>
__attribute__ ((constructor)) static void planted (void) { creat (MARK, 0644); }
"""


@pytest.fixture(scope="module")
def work() -> Iterator[Path]:
    """A folder that another user reaches, unlike pytest's own."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a program that another user starts with root's rights")
    folder = Path(tempfile.mkdtemp(prefix="gompy-privileged-"))
    try:
        if os.statvfs(folder).f_flag & os.ST_NOSUID:
            pytest.skip("the folder for temporary files is mounted nosuid")
        folder.chmod(0o755)
        (folder / "open").mkdir()
        (folder / "open").chmod(0o1777)
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def tools(work: Path) -> Tools:
    """The compilers, working in that folder."""
    return Tools(make_wrappers(work / "bin"), work)


def compiled(tools: Tools, name: str, *options: str) -> Path:
    """The program with its owner's rights for everybody.  Skips where another user cannot run it at all."""
    source = tools.write("program.c", PROGRAM)
    tools.ok("gompcc", "-O1", "-g", "-fopenmp", *options, source, "-o", name)
    program = tools.work / name
    if run(program, env={"OMP_TARGET_OFFLOAD": "disabled"}).returncode != 0:
        pytest.skip("another user cannot reach this installation")
    program.chmod(SET_USER)
    return program


def run(program: Path, *arguments: str, env: dict[str, str], other: bool = True) -> subprocess.CompletedProcess[str]:
    """Run it with exactly these variables, as another user or as ourselves."""
    who = AS_OTHER_USER if other else {}
    return subprocess.run(
        [program, *arguments],
        env={"PATH": "/usr/bin:/bin", **env},
        cwd=program.parent / "open",
        capture_output=True,
        text=True,
        timeout=100,
        **who,  # type: ignore[call-overload]
    )


@pytest.fixture(scope="module")
def program(tools: Tools) -> Path:
    """For the emulated MIC."""
    return compiled(tools, "mic", "-DMIC")


@pytest.fixture(scope="module")
def gpu_program(tools: Tools) -> Path:
    """For a GPU, real or emulated."""
    return compiled(tools, "gpu", f"-foffload={NVPTX}")


def attacks(work: Path) -> dict[str, dict[str, str]]:
    """The environments that name code, a command or a file; each would make the file `mark`."""
    mine = work / "open"
    mark = mine / "mark"
    (mine / "script").write_text(f'#!/bin/sh\nid -u >>{shlex.quote(str(mark))}\nexec "$@"\n')
    (mine / "readelf").write_text(f"#!/bin/sh\nid -u >>{shlex.quote(str(mark))}\n")
    (mine / "script").chmod(0o755)
    (mine / "readelf").chmod(0o755)
    (mine / "evil.c").write_text(EVIL)
    (mine / "libgomp-plugin-x").mkdir(exist_ok=True)
    library = mine / "libgomp-plugin-evil.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", f'-DMARK="{mark}"', mine / "evil.c", "-o", library], check=True)
    (mine / "evil.py").write_text(f"open({str(mark)!r}, 'w').close()\nclass Evil: pass\n")
    return {
        "OFFLOAD_EMUL_RUN": {"OFFLOAD_EMUL_RUN": shlex.quote(str(mine / "script"))},
        "LD_LIBRARY_PATH": {"GOMPY_PLUGINS": "evil", "LD_LIBRARY_PATH": str(mine)},
        "GOMPY_PYTHON_DEVICE": {"GOMPY_PLUGINS": "python", "GOMPY_PYTHON_DEVICE": f"{mine}/evil.py:Evil"},
        "GOMPY_STATS": {"GOMPY_STATS": str(mark)},
        "GOMPY_TRACE_FILE": {"GOMPY_TRACE_FILE": str(mark)},
        "GOMPY_TRACE": {"GOMPY_TRACE": str(mark)},
        "OMP_TOOL_LIBRARIES": {"OMP_TOOL_LIBRARIES": str(library)},
        "OMP_TOOL_VERBOSE_INIT": {"OMP_TOOL_VERBOSE_INIT": str(mark)},
        "PATH": {"PATH": f"{mine}:/usr/bin:/bin"},
    }


ATTACKS = (
    *("OFFLOAD_EMUL_RUN", "LD_LIBRARY_PATH", "GOMPY_PYTHON_DEVICE", "GOMPY_STATS", "GOMPY_TRACE_FILE", "PATH"),
    *("OMP_TOOL_LIBRARIES", "OMP_TOOL_VERBOSE_INIT", "GOMPY_TRACE"),
)


@pytest.mark.slow(sample=5)
@has_all
@pytest.mark.parametrize("name", ATTACKS)
def test_environment_names_nothing_that_a_privileged_program_runs_or_writes(
    work: Path, program: Path, name: str
) -> None:
    """What works in one's own program does nothing in another's, which runs its regions on the device."""
    mark = work / "open" / "mark"
    how = "fault" if name == "PATH" else ""
    env = attacks(work)[name]
    mark.unlink(missing_ok=True)
    run(program, how, env=env, other=False)
    if name != "GOMPY_PYTHON_DEVICE" or (NATIVE / "lib/libgomp-plugin-python.so.1").exists():
        assert mark.exists(), "the test shows nothing"
    mark.unlink(missing_ok=True)
    for before in ("", "become "):
        done = run(program, before + how, env=env)
        assert done.stdout == "5050 device 0\n", done.stderr
        assert done.returncode == (1 if how else 0)
        assert not mark.exists()


@has_all
def test_plugin_is_named_not_pathed(work: Path, program: Path) -> None:
    """GOMPY_PLUGINS takes no path, in nobody's program."""
    attacks(work)
    mark = work / "open" / "mark"
    mark.unlink(missing_ok=True)
    (work / "open" / "evil.so.1").write_bytes((work / "open" / "libgomp-plugin-evil.so.1").read_bytes())
    env = {"GOMPY_PLUGINS": "x/../evil"}
    assert run(program, env=env).stdout == "5050 device 0\n"
    done = run(program, env=env, other=False)
    assert done.stdout == "5050 host 0\n"
    assert "GOMPY_PLUGINS: x/../evil: not the name of a plugin but a path" in done.stderr
    assert not mark.exists()


@has_all
def test_device_process_has_nothing_of_the_callers_environment(program: Path) -> None:
    """Neither while the program runs with two users' numbers, nor when it has made them one."""
    env = {"PYTHONPATH": "/evil", "GOMPY_CHECK": "1"}
    assert run(program, env=env, other=False).stdout == "5050 device 1\n"
    assert run(program, env=env).stdout == "5050 device 0\n"
    assert run(program, "become", env=env).stdout == "5050 device 0\n"


@has_all
def test_line_of_a_fault_in_a_privileged_program(program: Path) -> None:
    """The tools that messages need are the system's."""
    if not Path("/usr/bin/readelf").exists():
        pytest.skip("no readelf in /usr/bin")
    done = run(program, "fault", env={"PATH": "/nowhere"})
    assert re.search(r"region main\._omp_fn\.\d \(program\.c:\d+\): signal 11", done.stderr), done.stderr


@has_all
def test_privileged_program_of_a_user_who_is_not_root(work: Path, program: Path) -> None:
    """Its device may not look at its host by /proc, and works."""
    copy = work / "daemons"
    shutil.copy(program, copy)
    os.chown(copy, 1, 1)
    copy.chmod(SET_USER)
    done = run(copy, env={})
    assert (done.stdout, done.stderr, done.returncode) == ("5050 device 0\n", "", 0)


@has_all
@has_compiler
def test_privileged_program_for_nvptx(work: Path, gpu_program: Path) -> None:
    """Neither the Python that compiles PTX nor the folder of its results is the caller's choice."""
    mine = work / "open"
    attacks(work)
    (mine / "cache").mkdir()
    (mine / "cache").chmod(0o777)
    mark = mine / "mark"
    env = {"GOMPY_PYTHON": str(mine / "script"), "XDG_CACHE_HOME": str(mine / "cache"), "GOMPY_CUDA_STATS": str(mark)}
    mark.unlink(missing_ok=True)
    run(gpu_program, env={**env, "GOMPY_CUDA": "emulated"}, other=False)
    assert mark.exists(), "the test shows nothing"
    mark.unlink()
    shutil.rmtree(mine / "cache")
    (mine / "cache").mkdir()
    (mine / "cache").chmod(0o777)
    done = run(gpu_program, env=env)
    assert done.stdout == "5050 device 0\n", done.stderr
    assert not mark.exists()
    assert not list((mine / "cache").iterdir())


def test_statistics_follow_nobodys_link(work: Path, program: Path) -> None:
    """A link where GOMPY_STATS is to write may be somebody else's."""
    mine = work / "open"
    (mine / "victim").write_text("")
    (mine / "link").symlink_to(mine / "victim")
    done = run(program, env={"GOMPY_STATS": str(mine / "link")}, other=False)
    assert done.stdout == "5050 device 0\n"
    assert f"libgompy: GOMPY_STATS={mine}/link: cannot be written: Too many levels of symbolic links" in done.stderr
    assert (mine / "victim").read_text() == ""
    assert "regions: 2 on device 0" in run(program, env={"GOMPY_STATS": "/dev/stderr"}, other=False).stderr


# --- commands ---


@pytest.fixture(scope="module")
def command(work: Path) -> Path:
    """A gompcc that finds a Python which tells whose rights it has."""
    if not (FRONTS / "gompcc").exists():
        pytest.skip("the commands are not built")
    folder = work / "commands"
    (folder / "open").mkdir(parents=True)
    shutil.copy(FRONTS / "gompcc", folder)
    subprocess.run(["gcc", "-x", "c", "-", "-o", folder / "python3"], input=WHO, text=True, check=True)
    return folder / "gompcc"


@pytest.mark.parametrize("owner", [(0, 0), (1, 1), (1, 0), (65534, 1)])
def test_command_gives_up_the_rights_that_its_caller_has_not(command: Path, owner: tuple[int, int]) -> None:
    """As a script would have: for the effective, the real and the saved numbers are the caller's."""
    os.chown(command, *owner)
    command.chmod(0o6755)
    assert run(command, "-c", "a.c", env={}).stdout == "65534 65534 65534, 65534 65534 65534, 0\n"


def test_command_with_others_rights_has_no_cache(work: Path, command: Path) -> None:
    """It neither reads nor makes entries: the folder would be the caller's choice, and what it believes the owner's."""
    caches = [work / "open" / name for name in ("ours", "theirs")]
    for folder, mode in zip(caches, (0o755, 0o6755), strict=True):
        os.chown(command, 0, 0)
        command.chmod(mode)
        run(command, "-c", "a.c", env={"XDG_CACHE_HOME": str(folder)})
    assert [folder.exists() for folder in caches] == [True, False]


# --- the sources ---

NATIVE_SOURCES = sorted(
    path
    for kind in ("pyx", "pxi", "pxd", "h", "c")
    for path in (ROOT / "gompy").rglob(f"*.{kind}")
    if "_native" not in path.parts
)
COMMENT = re.compile(r"/\*.*?\*/|#(?! *include).*|//.*", re.DOTALL | re.MULTILINE)


def products() -> list[Path]:
    """What the build made that is linked dynamically."""
    found = [*NATIVE.glob("lib/*"), *NATIVE.glob("cuda/*")]
    return [path for path in found if path.is_file() and not path.is_symlink()]


@pytest.mark.slow
def test_every_variable_is_read_securely() -> None:
    """No plain getenv, neither in the sources nor in what was made of them."""
    assert len(NATIVE_SOURCES) > 50
    wrong = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in NATIVE_SOURCES
        for line in path.read_text().splitlines()
        if re.search(r"(?<![A-Za-z_])_*getenv\b", line)
    ]
    assert not wrong
    for path in products():
        symbols = subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True).stdout
        assert not re.search(r" getenv\b", symbols), path


def test_environ_is_handed_on_in_one_place() -> None:
    """Children get gompy_child_environ; whoever else looks at environ is listed with what for."""
    known = {
        "gompy/native/environment.h",  # gompy_child_environ
        "gompy/runtime/doors/openmp/display.pxi",  # prints variables
        "gompy/driver/as_filter.pyx",  # the assembler filter is run by gcc only
        "gompy/driver/front_entry.h",  # becomes the compiler; with rights of others it gives them up first
        "gompy/plugins/intelmic/libc.pxi",
        "gompy/plugins/intelmic/device_layout.pxi",  # executes itself once more
    }
    found = {
        str(path.relative_to(ROOT))
        for path in NATIVE_SOURCES
        if re.search(r"(?<!gompy_child_)\benviron\b", COMMENT.sub("", path.read_text()))
    }
    assert found <= known

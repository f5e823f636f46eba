"""Wheel and source distribution: whole, without a trace of the builder, at work in a path with blanks.

The parts that this tree has compiled already are taken over, so that only Python works here; one product is compiled
from the source distribution's own files.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import sysconfig
import tarfile
import time
import zipfile
from importlib.machinery import PathFinder
from pathlib import Path

import pytest
from driver_tools import DISTURBING, ROOT, has_all, needs
from nvptx_tools import has_compiler

from gompy.native import wheel_tag

PACKAGES = ("gompy", "crtoffload", "lto_wrapper", "mkoffload")
SOURCES = (".py", ".pyi", ".pyx", ".pxi", ".pxd", ".h", ".specs", ".typed", ".a")
COMPILED = (".so", ".so.1", ".o", ".pyc", "bdir/as", "offload_target_main")
SITE = Path(sysconfig.get_path("platlib"))
"""Where the tools that build and the packages that gompy needs are."""
NEEDED = ("llvmlite", "elftools", "networkx", "rich", "zstandard", "pygments", "markdown_it", "mdurl")
PROGRAM = r"""
#include <omp.h>
#include <stdio.h>
int main (void)
{
  int sum = 0, host = 1;
#pragma omp target teams distribute parallel for reduction(+: sum) map(tofrom: sum)
  for (int i = 0; i < 100; i++)
    sum += i;
#pragma omp target map(tofrom: host)
  host = omp_is_initial_device ();
  printf ("%d %d\n", sum, host);
}
"""
pytestmark = [has_all, needs("gcc"), pytest.mark.timeout(300)]
# Not importlib's find_spec: setuptools' hook takes a look for pip as a sign that the old distutils is wanted.
has_pip = PathFinder.find_spec("pip") and PathFinder.find_spec("setuptools")
pytestmark.append(pytest.mark.skipif(not has_pip, reason="pip or setuptools is not installed"))


def checked(*command: str | Path, **options: object) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return str(done.stdout)


def environment_of_a_stranger(home: Path) -> dict[str, str]:
    """Without the developer's variables; PATH has no Python of this tree."""
    env = {name: value for name, value in os.environ.items() if not name.startswith((*DISTURBING, "PYTHON", "PIP_"))}
    folders = [f for f in env["PATH"].split(os.pathsep) if Path(f) != Path(sys.executable).parent]
    return env | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "PATH": os.pathsep.join(folders)}


def virtual_environment(folder: Path, packages: tuple[str, ...]) -> Path:
    """A virtual environment with these packages, linked to; returns its Python."""
    checked(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    site = next(folder.glob("lib/python3.*/site-packages"))
    for path in [path for package in packages for path in SITE.glob(f"{package}*")]:
        (site / path.name).symlink_to(path)
    return python


def install(folder: Path, wheel: Path) -> Path:
    """A virtual environment with the wheel installed; returns the folder of its commands."""
    python = virtual_environment(folder, NEEDED)
    pip = ("-m", "pip", "--python", python, "--disable-pip-version-check", "install", "--quiet")
    checked(sys.executable, *pip, "--no-index", "--no-deps", wheel)
    return python.parent


def copy_of_tree(folder: Path) -> Path:
    """This tree's sources, and what was compiled of them, taken for up to date."""
    folder.mkdir()
    for name in (*PACKAGES, "build/native"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs" / "learn", folder / "docs" / "learn")
    shutil.copy2(ROOT / "docs" / "environment.md", folder / "docs")
    for name in ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, folder / name)
    now = time.time()
    for path in [*folder.glob("build/native/*"), *folder.glob("gompy/_native/**/*"), *folder.glob("gompy/*/*.so")]:
        os.utime(path, (now, now), follow_symlinks=False)
    return folder


def built(python: Path, tree: Path, what: str, output: Path) -> Path:
    """Have the build backend make a distribution; its file."""
    output.mkdir(exist_ok=True)
    code = f"from setuptools import build_meta; print(build_meta.build_{what}({str(output)!r}))"
    name = checked(python, "-c", code, cwd=tree).splitlines()[-1]
    return output / name


class Built:
    """A wheel and a source distribution whose builder is gone."""

    def __init__(self, folder: Path) -> None:
        self.builder = folder / "builder"
        python = virtual_environment(self.builder / "venv", ("setuptools", "Cython", "cython", "_distutils_hack"))
        self.tree = copy_of_tree(self.builder / "tree")
        mask = os.umask(0o077)  # what one builder may not show to others, an installation still must
        try:
            self.wheel = built(python, self.tree, "wheel", folder / "wheel")
            self.sdist = built(python, self.tree, "sdist", folder / "sdist")
        finally:
            os.umask(mask)
        shutil.rmtree(self.builder)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def installed(made: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands, in a path with blanks."""
    return install(tmp_path_factory.mktemp("of mine") / "my venv", made.wheel)


def compile_and_run(commands: Path, work: Path, *options: str, **changes: str) -> str:
    """Build the program in two steps with the installation's gompcc, run it on the device."""
    work.mkdir(exist_ok=True)
    (work / "a.c").write_text(PROGRAM)
    env = environment_of_a_stranger(work) | changes
    checked(commands / "gompcc", "-fopenmp", "-O1", *options, "-c", "a.c", cwd=work, env=env)
    checked(commands / "gompcc", "-fopenmp", *options, "a.o", "-o", "a", cwd=work, env=env)
    return checked(work / "a", cwd=work, env=env)


FOR_USERS = ("gompy/_native/cudart/include/", "gompy/virtual/include/", "gompy/accel/hooks/")
"""Headers that programs and libraries of users include, and those of plugins that are compiled for a user's gcc."""


@pytest.mark.slow
def test_wheel_knows_nothing_of_its_builder(made: Built) -> None:
    with zipfile.ZipFile(made.wheel) as wheel:
        names = wheel.namelist()
        for name in names:
            data = wheel.read(name)
            assert os.fsencode(made.builder) not in data and os.fsencode(ROOT) not in data, name
            assert os.fsencode(SITE.parents[2]) not in data, name
    assert not {"gompy/_native/python", "gompy/_native/libpython"} & set(names)
    sources = [name for name in names if name.endswith((".pyx", ".pxi", ".pxd", ".h", ".pyc"))]
    assert not [name for name in sources if not name.startswith(FOR_USERS)]
    assert "gompy/_native/bdir/lto-wrapper" in names


def test_source_distribution_has_all_sources_and_nothing_else(made: Built) -> None:
    wanted = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.suffix in SOURCES and "_native" not in path.parts
    }
    wanted |= {
        f"gompy/driver/scripts/{name}"
        for name in ("gompcc", "gompc++", "gompfortran", "gompclang", "gompclang++", "gompy")
    }
    headers = ROOT / "gompy/cudart/include"  # libcu++'s have no suffix
    wanted |= {str(path.relative_to(ROOT)) for path in headers.rglob("*") if path.is_file()}
    with tarfile.open(made.sdist) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert wanted - names == set()
    assert not [name for name in names if name.endswith(COMPILED) or "_native/" in name]


@pytest.mark.slow
def test_source_distribution_builds(made: Built, tmp_path: Path) -> None:
    """A product with headers of its own and shared ones, by the unpacked files alone."""
    checked("tar", "-xf", made.sdist, cwd=tmp_path)
    (tree,) = tmp_path.iterdir()
    code = (
        "import setuptools; setuptools.setup = lambda **ignored: None\n"
        "import setup; setup.build_product(next(p for p in setup.PRODUCTS if p.output == 'bdir/as'))"
    )
    checked(sys.executable, "-c", code, cwd=tree)
    assert (tree / "gompy/_native/bdir/as").stat().st_mode & stat.S_IXUSR


@pytest.mark.slow
def test_installation_in_a_path_with_blanks(installed: Path, tmp_path: Path) -> None:
    assert compile_and_run(installed, tmp_path / "a b") == "4950 0\n"
    env = environment_of_a_stranger(tmp_path)
    words = checked(installed / "gompy", "config", "--cflags", "--libdir", env=env)
    assert str(installed.parent) in words
    done = subprocess.run([installed / "gompy", "doctor"], capture_output=True, text=True, env=env)
    assert done.returncode == 0 and "all that is needed is here" in done.stdout, done.stdout + done.stderr


def test_lessons_are_in_an_installation(installed: Path, tmp_path: Path) -> None:
    env = environment_of_a_stranger(tmp_path) | {"PATH": f"{installed}{os.pathsep}{os.environ['PATH']}"}
    told = checked(installed / "gompy", "learn", "1", cwd=tmp_path, env=env)
    assert {path.name for path in tmp_path.iterdir()} > {"1-map.md", "map.c", "forgot.c"}
    (line,) = [line for line in told.splitlines() if line.endswith("-o map && ./map")]
    assert checked("sh", "-c", line, cwd=tmp_path, env=env) == "10 20 30 40, on the device\n"


def test_manual_pages_and_completions_are_in_an_installation(installed: Path) -> None:
    share = installed.parent / "share"
    names = {path.stem for path in (share / "man" / "man1").iterdir()}
    assert {"gompy", "gompy-run", "gompy-inspect", "gompcc", "gompc++", "gompfortran"} <= names
    for name in (
        "bash-completion/completions/gompcc",
        "zsh/site-functions/_gompy",
        "fish/vendor_completions.d/gompy.fish",
    ):
        assert "gompcc" in (share / name).read_text()


@pytest.mark.slow
@has_compiler
def test_nvptx_of_an_installation(installed: Path, tmp_path: Path) -> None:
    """The PTX compiler runs by the installation's own Python."""
    options = ("-foffload=nvptx-none",)
    assert compile_and_run(installed, tmp_path / "a b", *options, GOMPY_CUDA="emulated") == "4950 0\n"


@pytest.mark.parametrize("language", ["gompc++", "gompfortran"])
def test_the_other_compilers(installed: Path, tmp_path: Path, language: str) -> None:
    if not shutil.which({"gompc++": "g++", "gompfortran": "gfortran"}[language]):
        pytest.skip(f"no compiler for {language}")
    text = PROGRAM
    if language == "gompfortran":
        text = (
            "program p\ninteger :: s\ns = 1\n!$omp target map(tofrom: s)\ns = 4950\n!$omp end target\nprint *, s\nend\n"
        )
    source = tmp_path / ("a.cc" if language == "gompc++" else "a.f90")
    source.write_text(text)
    env = environment_of_a_stranger(tmp_path)
    checked(installed / language, "-fopenmp", source.name, "-o", "a", cwd=tmp_path, env=env)
    assert checked(tmp_path / "a", env=env).split()[0] == "4950"


def test_installation_of_somebody_else(installed: Path, tmp_path: Path) -> None:
    """Copied elsewhere, all of it read-only, for a user without HOME; no compiled Python modules."""
    if os.geteuid():
        pytest.skip("needs root")
    folder = Path("/tmp") / f"gompy of others {os.getpid()}"
    try:
        without = shutil.ignore_patterns("__pycache__")
        shutil.copytree(installed.parent, folder / "venv", symlinks=True, ignore=without)
        work = folder / "work"
        work.mkdir()
        (work / "a.c").write_text(PROGRAM)
        checked("chmod", "-R", "a+rX,a-w", folder / "venv")
        checked("chown", "nobody", work)
        gompcc = folder / "gompcc"
        gompcc.symlink_to(folder / "venv/bin/gompcc")
        env = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C"}
        checked(
            gompcc, "-fopenmp", "a.c", "-o", "a", cwd=work, env=env, user="nobody", group="nogroup", extra_groups=[]
        )
        assert checked(work / "a", cwd=work, env=env, user="nobody", group="nogroup", extra_groups=[]) == "4950 0\n"
    finally:
        shutil.rmtree(folder)


def spoilt(folder: Path) -> dict[str, str]:
    """Settings of a Python of the user's that would break every other one."""
    folder.mkdir()
    for name in ("os", "gompy", "encodings", "sitecustomize", "usercustomize"):
        (folder / f"{name}.py").write_text("raise SystemExit('the user\\'s own')\n")
    env = {name: str(folder) for name in ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONPLATLIBDIR")}
    return env | {"PYTHONCOERCECLOCALE": "warn", "PYTHONOPTIMIZE": "2", "PYTHONINSPECT": "1", "PYTHONVERBOSE": "1"}


@pytest.mark.slow
def test_settings_of_the_users_python(installed: Path, tmp_path: Path) -> None:
    """They are for the user's programs; the compilers, the link tools and gompy are none."""
    settings = spoilt(tmp_path / "mine")
    assert compile_and_run(installed, tmp_path / "work", **settings) == "4950 0\n"
    env = environment_of_a_stranger(tmp_path) | settings
    for command in ("gompc++", "gompfortran", "gompy"):
        done = subprocess.run([installed / command, "--version"], capture_output=True, text=True, env=env)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
    done = subprocess.run([installed / "gompy", "doctor"], capture_output=True, text=True, env=env)
    assert done.returncode == 0 and "all that is needed is here" in done.stdout, done.stdout + done.stderr


def test_commands_that_find_their_package_by_PYTHONPATH(installed: Path, tmp_path: Path) -> None:
    """As ``pip install --target`` leaves them: no environment is theirs."""
    shutil.copytree(installed, tmp_path / "bin", symlinks=True, ignore=shutil.ignore_patterns("python*", "activate*"))
    (tmp_path / "bin" / "python3").symlink_to(Path(sys.executable).resolve())
    (packages,) = installed.parent.glob("lib/python3.*/site-packages")
    env = environment_of_a_stranger(tmp_path) | {"PYTHONPATH": f"/none:{packages}"}
    for command in ("gompcc", "gompy"):
        assert command in ("gompcc", checked(tmp_path / "bin" / command, "--version", env=env).split()[0])


@pytest.mark.parametrize("command", ["gompcc", "gompy"])
def test_ctrl_c_while_python_starts(installed: Path, tmp_path: Path, command: str) -> None:
    """It ends the command as any other: no traceback of what Python was doing."""
    (packages,) = installed.parent.glob("lib/python3.*/site-packages")
    hook = packages / "slow.pth"
    hook.write_text("import os, time; os.environ.get('SLOW') and (os.write(1, b'!'), time.sleep(60))\n")
    env = environment_of_a_stranger(tmp_path) | {"SLOW": "1"}
    try:
        with subprocess.Popen(
            [installed / command, "--version"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
        ) as running:
            assert running.stdout is not None
            assert running.stdout.read(1) == b"!"
            running.send_signal(signal.SIGINT)
            assert (running.communicate(), running.returncode) == ((b"", b""), -signal.SIGINT)
    finally:
        hook.unlink()


def test_wheel_runs_on_the_glibc_that_its_name_says(made: Built) -> None:
    """Of its files' references the newest one: pyelftools reads them, objdump has named the wheel."""
    from elftools.elf.elffile import ELFFile

    needed = set()
    with zipfile.ZipFile(made.wheel) as wheel:
        for name in wheel.namelist():
            data = wheel.read(name)
            if data[:4] != b"\x7fELF":
                continue
            section = ELFFile(io.BytesIO(data)).get_section_by_name(".gnu.version_r")
            for _, references in section.iter_versions() if section else ():
                needed |= {reference.name for reference in references if reference.name.startswith("GLIBC_2.")}
    newest = max(int(name.split(".")[1]) for name in needed)
    assert newest >= 17
    assert made.wheel.name.endswith(f"-manylinux_2_{newest}_{os.uname().machine}.whl")


def test_platform_of_files_without_glibc(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no ELF file")
    assert wheel_tag.manylinux("linux_x86_64", tmp_path) == "linux_x86_64"
    shutil.copy(shutil.which("gcc") or "", tmp_path / "gcc")
    assert re.fullmatch(r"manylinux_2_\d+_x86_64", wheel_tag.manylinux("linux_x86_64", tmp_path))
    assert wheel_tag.manylinux("macosx_14_0_arm64", tmp_path) == "macosx_14_0_arm64"


@pytest.mark.parametrize("command", ["gompcc", "gompclang", "gompy"])
@pytest.mark.parametrize("there", [False, True])
def test_command_whose_environment_has_lost_its_python(
    installed: Path, tmp_path: Path, command: str, there: bool
) -> None:
    """As after an upgrade of the system, or with a Python that nobody may run; the one in PATH has no gompy."""
    shutil.copy2(installed / command, tmp_path)
    if there:
        (tmp_path / "python3").write_bytes(b"")
    other = tmp_path / "other" / "python{}.{}".format(*sys.version_info[:2])
    checked(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    other.parent.mkdir()
    other.symlink_to(tmp_path / "venv" / "bin" / "python")
    env = environment_of_a_stranger(tmp_path)
    env["PATH"] = f"{other.parent}{os.pathsep}{env['PATH']}"
    done = subprocess.run([tmp_path / command, "--version"], capture_output=True, text=True, env=env)
    assert done.returncode == 1
    assert re.fullmatch(
        rf"{command}: error: {re.escape(str(other))} has no package gompy; "
        r"if the environment's own Python is gone or cannot be run, install again\n",
        done.stderr,
    ), done.stderr

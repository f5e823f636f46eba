"""What an installation has to stand: another user without HOME, closed descriptors, each compiler, two versions."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from .places import PROGRAM, ROOT, WANTED, Places, Wrong

NOBODY = 65534
CLOSED = ("", "0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-")
"""As a shell writes what a program is started without."""


def lines(commands: Path) -> Iterator[tuple[str, str, str]]:
    """A command that makes a program, the command that runs it, and what that says; those whose compiler is here."""
    yield "gompcc -O2 -fopenmp hello.c -o made", "./made", WANTED
    if shutil.which("g++"):
        yield "gompc++ -O2 -fopenmp -x c++ hello.c -o made", "./made", WANTED
    if shutil.which("gfortran"):
        yield "gompfortran -O2 -fopenmp saxpy.f90 -o made", "./made", "   7.0   7.0\n"
    if shutil.which("clang-16") or shutil.which("clang"):
        yield "gompclang -O2 -fopenmp hello.c -o made", "./made", WANTED
    if shutil.which("clang++-16") or shutil.which("clang++"):
        yield "gompy cuda cc vector_add.cu -o made", "gompy cuda run ./made", "vector add: 100003 sums are right\n"


def sources(work: Path) -> None:
    """What the lines above compile."""
    gpu = ROOT / "examples" / "gpu"
    headers = (*gpu.glob("*.h"), *gpu.glob("*.cuh"))
    for path in (PROGRAM, ROOT / "docs/learn/5-fortran/saxpy.f90", gpu / "vector_add.cu", *headers):
        shutil.copy(path, work)


def as_another(commands: Path, work: Path, line: str) -> subprocess.CompletedProcess[str]:
    """A shell's line, as a user without a home who owns nothing of the installation; as oneself if not root."""
    env = {"PATH": f"{commands}:/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    words = ["sh", "-c", line]
    return subprocess.run(words, cwd=work, env=env, capture_output=True, text=True, **user)  # type: ignore[call-overload]


def stands(places: Places, commands: Path, what: str) -> str:
    """Each command as another user, with descriptors closed; says how many were tried.  Raises Wrong."""
    work = places.folder / f"others work of {what}"
    work.mkdir()
    sources(work)
    for path in (places.folder, work):
        path.chmod(0o777)
    tried = 0
    for make, run, wanted in lines(commands):
        for closed in CLOSED:
            (work / "made").unlink(missing_ok=True)
            made = as_another(commands, work, f"{make} {closed}")
            if made.returncode or made.stderr:
                raise Wrong(f"{make} {closed}: status {made.returncode}: {made.stderr[-1000:]}")
            silent = "1" in closed
            ran = as_another(commands, work, f"{run} {closed}")
            if ran.returncode or ran.stdout != ("" if silent else wanted):
                raise Wrong(f"{make}; {run} {closed}: status {ran.returncode}: {ran.stdout!r} {ran.stderr[-1000:]}")
            tried += 1
        tried += 1
        if left := [path.name for path in work.iterdir() if path.name in ("~", ".cache")]:
            raise Wrong(f"{make}: made {left[0]} in the current folder")
    for name in ("gompy inspect made", "gompy env", "gompy --version", "gompcc --version"):
        for closed in CLOSED:
            done = as_another(commands, work, f"{name} {closed}")
            if "Traceback" in done.stderr:
                raise Wrong(f"{name} {closed}: {done.stderr[-1000:]}")
            tried += 1
    return f"{tried} commands"


def of_version(places: Places, wheel: Path, version: str) -> Path:
    """The same wheel under another version."""
    folder = places.folder / f"as {version}"
    places.run(places.builder, "-m", "wheel", "unpack", "--dest", folder, wheel)
    (tree,) = folder.iterdir()
    (info,) = tree.glob("*.dist-info")
    metadata = info / "METADATA"
    old = wheel.name.split("-")[1]
    metadata.write_text(metadata.read_text().replace(f"\nVersion: {old}\n", f"\nVersion: {version}\n", 1))
    info.rename(tree / info.name.replace(old, version))
    for data in tree.glob("*.data"):
        data.rename(tree / data.name.replace(old, version))
    out = places.folder / f"wheel {version}"
    out.mkdir()
    places.run(places.builder, "-m", "wheel", "pack", "--dest-dir", out, tree)
    (made,) = out.glob("*.whl")
    return made


def side_by_side(places: Places, here: Path, other: Path, versions: tuple[str, str]) -> None:
    """Two versions in two places: each its own, programs of both, one program of objects of both.  Raises Wrong."""
    work = places.folder / "work of two versions"
    work.mkdir()
    shutil.copy(ROOT / "docs/learn/5-fortran/saxpy.f90", work)
    shutil.copy(PROGRAM, work)
    for commands, version in zip((here, other), versions, strict=True):
        # The other one's commands come first in PATH: what is called by its path is its own all the same.
        env = places.env | {"PATH": f"{other if commands == here else here}:{places.env['PATH']}"}
        said = places.run(commands / "gompy", "--version", env=env)
        if said.split()[-1] != version:
            raise Wrong(f"{commands}: version {said.strip()}, not {version}")
        name = f"hello-{version}"
        places.run(commands / "gompcc", "-O2", "-fopenmp", "-c", "hello.c", "-o", f"{name}.o", cwd=work, env=env)
        places.run(commands / "gompcc", "-fopenmp", f"{name}.o", "-o", name, cwd=work, env=env)
        if places.run(work / name, cwd=work, env=env) != WANTED:
            raise Wrong(f"a program of {version} says something else")
        maps = places.run("ldd", work / name, env=env)
        if str(commands.parent) not in maps:
            raise Wrong(f"a program of {version} does not take its own libraries:\n{maps}")
    # An object of one, linked by the other.
    places.run(other / "gompcc", "-fopenmp", f"hello-{versions[0]}.o", "-o", "mixed", cwd=work)
    if places.run(work / "mixed", cwd=work) != WANTED:
        raise Wrong("an object of one version, linked by the other: the program says something else")

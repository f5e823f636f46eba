#!/usr/bin/env python3
"""``make check-deb``: the Debian package, made, judged by lintian, installed in a fresh tree, used and removed there.

The tree is the smallest system of this machine's own release (testsuite/matrix); making it needs root.
Exit status: 0 all that ran is right, 1 not.  What cannot be tried here is named.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [path for path in (str(HERE.parent),) if path not in sys.path]

from matrix import tree  # noqa: E402

PLACE = "usr/lib/gompy"
OWN_ADDRESS = "bogus-mail-host,bogus-mail-host-in-debian-changelog,root-in-contact"
"""Tags about who maintains it: the builder says that by DEBEMAIL."""
USES = (
    ("compile", "gompcc -O2 -fopenmp hello.c -o hello"),
    ("run", "./hello"),
    ("another user", "chmod 755 . && setpriv --reuid=65534 --regid=65534 --clear-groups env -u HOME ./hello"),
    ("check", "gompcc -g -fopenmp hello.c -o checked && gompy run --check ./checked"),
    ("manual", "gzip -t /usr/share/man/man1/gompcc.1.gz /usr/share/man/man1/gompclang.1.gz"),
    ("nothing written", f"! find /{PLACE} -newer hello.c ! -name __pycache__ ! -name '*.pyc' | grep ."),
)
INSTALL = ("apt-get", "install", "-y", "-qq", "--no-install-recommends")


def made(folder: Path) -> Path:
    """The package's file."""
    done = subprocess.run(
        [sys.executable, ROOT / "recipes/debian/build.py", "--to", folder], stdout=subprocess.PIPE, text=True
    )
    if done.returncode:
        sys.exit(1)
    return Path(done.stdout.strip())


def judged(package: Path) -> bool:
    """What lintian says, in a line; whether it has nothing against it."""
    if shutil.which("lintian") is None:
        print("lintian      not installed here")
        return True
    words = ["lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", OWN_ADDRESS, str(package)]
    done = subprocess.run(words, capture_output=True, text=True)
    said = done.stdout.strip()
    print(f"lintian      {'ok' if done.returncode == 0 else 'WRONG:'}{said and chr(10) + said}", flush=True)
    return done.returncode == 0


def release() -> str:
    """The name of this machine's release."""
    found = re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.MULTILINE)
    return found[1] if found else ""


def used(here: tree.Tree, package: Path, log: Path) -> bool:
    """Install, use and remove it in a tree; a line for each."""
    work = here.root / "srv/try"
    work.mkdir(parents=True)
    shutil.copy(package, work)
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    steps: list[tuple[str, list[str]]] = [
        ("lists", ["apt-get", "update", "-qq"]),
        ("install", [*INSTALL, f"/srv/try/{package.name}"]),
    ]
    for title, command in steps:
        if here.run(command, log, quiet):
            print(f"{title:<12} WRONG: {log.read_text(errors='replace').strip()[-2000:]}")
            return False
    shutil.copyfile(ROOT / "docs/programs/hello.c", work / "hello.c")
    right = True
    for title, line in USES:
        status = here.run(["sh", "-c", line], log, folder="/srv/try")
        said = log.read_text(errors="replace").strip()
        good = status == 0 and (title not in ("run", "another user") or said.endswith("on the device"))
        print(f"{title:<12} {'ok' if good else f'WRONG: status {status}: {said[-2000:]}'}", flush=True)
        right &= good
    status = here.run(["apt-get", "purge", "-y", "-qq", "gompy"], log, quiet)
    left = [path for path in ("usr/bin/gompcc", PLACE, "usr/share/doc/gompy") if (here.root / path).exists()]
    good = status == 0 and not left
    print(f"{'purge':<12} {'ok' if good else f'WRONG: status {status}, left: {left}'}", flush=True)
    return right and good


def main() -> int:
    """All of it."""
    with tempfile.TemporaryDirectory(prefix="gompy-deb-") as folder:
        package = made(Path(folder))
        print(f"package      {package.name}, {package.stat().st_size >> 20} MiB", flush=True)
        right = judged(package)
        try:
            tree.check(release())
            with tree.made(release()) as here:
                right &= used(here, package, Path(folder, "log"))
        except tree.NoTree as reason:
            print(f"tree         not tried: {reason}")
        except tree.TreeError as error:
            print(f"tree         WRONG: {error}")
            right = False
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())

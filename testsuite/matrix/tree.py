"""A tree: the smallest system of a release in a folder, made by debootstrap, thrown away afterwards.

What debootstrap made is kept as an archive, so that each tree is fresh and only the first one of a week takes minutes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from . import settings

HERE = Path(__file__).resolve().parent
NEWCOMER = ("make", "git", "ca-certificates")
"""All that is there beside a release's smallest system."""
KEPT_SECONDS = 7 * 86400
NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
_INSIDE = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}


class TreeError(Exception):
    """A tree cannot be made; the text says why."""


class NoTree(TreeError):
    """Trees cannot be made on this machine or by this user; the text says what is missing."""


def check(suite: str) -> None:
    """Raise NoTree unless a tree of a release can be made here."""
    if os.geteuid() != 0:
        raise NoTree("only root can make a system's tree")
    for program in ("debootstrap", "unshare", "git", "tar"):
        if shutil.which(program) is None:
            raise NoTree(f"{program} is not installed")
    if not Path("/usr/share/debootstrap/scripts", suite).exists():
        raise NoTree(f"this debootstrap does not know {suite}")
    if subprocess.run([*NAMESPACES, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode:
        raise NoTree("mounting is not allowed here (unshare --mount --pid)")


def storage() -> Path:
    """Where archives, downloaded packages and trees are: a disk, which ``/tmp`` need not be."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gompy/matrix"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _archive(suite: str, mirror: str) -> Path:
    """The archive of a release's smallest system; made if there is none, or only an old one.  Raises TreeError."""
    archive = storage() / f"{suite}.tar"
    if archive.exists() and time.time() - archive.stat().st_mtime < KEPT_SECONDS:
        return archive
    with tempfile.TemporaryDirectory(dir=storage(), prefix=f"{suite}-new-") as folder:
        log = storage() / f"{suite}.log"
        command = ["debootstrap", "--variant=minbase", f"--include={','.join(NEWCOMER)}", suite, f"{folder}/root"]
        print(f"$ {' '.join([*command, *([mirror] if mirror else [])])}", flush=True)
        with log.open("w") as output:
            done = subprocess.run(
                [*command, *([mirror] if mirror else [])],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**settings.proxies(), **os.environ},
            )
        if done.returncode:
            lines = log.read_text(errors="replace").splitlines()
            raise TreeError(f"debootstrap: {lines[-1] if lines else 'no word'} ({log})")
        part = Path(folder, "tar")
        packages = "--exclude=./var/cache/apt/archives/*.deb"
        subprocess.run(["tar", "-C", f"{folder}/root", "--numeric-owner", packages, "-cf", part, "."], check=True)
        part.replace(archive)
    return archive


class Tree:
    """A system in a folder.  ``seen``: paths of this machine that are there as well; ``kept``: folder to place."""

    def __init__(self, root: Path, seen: Sequence[Path], kept: Mapping[Path, str]) -> None:
        self.root = root
        self._seen = seen
        self._kept = kept

    def run(
        self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None, folder: str = "/"
    ) -> int:
        """Run a command as root in the tree, its output in a file.  Returns its exit status."""
        kept = [f"{path}={place}" for path, place in self._kept.items()]
        words = {**_INSIDE, **settings.environment(), **(environment or {})}
        with log.open("w") as output:
            return subprocess.run(
                [
                    *(*NAMESPACES, "sh", str(HERE / "enter.sh"), str(self.root)),
                    *(*map(str, self._seen), "--", *kept, "--"),
                    *("env", "-i", "-C", folder, *(f"{name}={value}" for name, value in words.items()), *command),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            ).returncode

    def answer(self, command: str, environment: Mapping[str, str] | None = None, folder: str = "/") -> str:
        """What a shell's command in the tree prints, less blanks at the ends; "" if it fails."""
        with tempfile.TemporaryDirectory() as name:
            log = Path(name, "log")
            status = self.run(["sh", "-c", command], log, environment, folder)
            return "" if status else log.read_text(errors="replace").strip()


def _kept(suite: str) -> dict[Path, str]:
    """Folders that outlive a tree: what apt and pip have fetched, so that it is fetched once."""
    places = {
        storage() / f"{suite}-packages": "var/cache/apt/archives",
        storage() / f"{suite}-wheels": "root/.cache/pip",
    }
    for path in places:
        path.mkdir(exist_ok=True)
    return places


@contextmanager
def made(suite: str, mirror: str = "", keep: bool = False) -> Iterator[Tree]:
    """A fresh tree of a release, with this machine's ways to the network.  Raises TreeError."""
    archive = _archive(suite, mirror)
    folder = Path(tempfile.mkdtemp(dir=storage(), prefix=f"{suite}-tree-"))
    root = folder / "root"
    try:
        root.mkdir()
        subprocess.run(["tar", "-C", root, "--numeric-owner", "-xpf", archive], check=True)
        tree = Tree(root, settings.put_into(root), _kept(suite))
        log = folder / "certificates.log"
        if tree.run(["update-ca-certificates"], log):
            raise TreeError(f"update-ca-certificates: {log.read_text(errors='replace').strip()}")
        yield tree
    finally:
        if keep:
            print(f"kept: {root}")
        else:
            shutil.rmtree(folder)


def put_sources(source: Path, tree: Tree, place: str) -> None:
    """Copy a working tree as git would have it, changes that are not committed included.  Raises TreeError."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=source,
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        raise TreeError(f"git ls-files: {listed.stderr.strip()}")
    target = tree.root / place
    for name in filter(None, listed.stdout.split("\0")):
        if not (source / name).is_symlink() and not (source / name).is_file():
            continue  # removed, and that is not committed
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / name, target / name, follow_symlinks=False)
    for command in (["init", "-q", "-b", "main"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=target, check=True, capture_output=True)

"""The compiler's source: unpacked from the distribution's package, patched to the release that is installed.

Debian's gcc-N-source has the upstream release, a diff from it to the snapshot of the branch that the package was made
of (git-updates), and GNU Modula-2 apart; the rest of Debian's patches does not touch what an accelerator's lto1 is made
of.  Only the folders that lto1 needs are taken.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from gompy.accel import tags
from gompy.accel.errors import AccelError
from gompy.accel.host import Host
from gompy.objects.names import TARGET_INTELMIC

FOLDERS = ("gcc", "include", "libiberty", "libbacktrace", "libcpp", "libdecnumber", "config")
SCRIPTS = (
    *("config.guess", "config.sub", "config-ml.in", "config.rpath", "install-sh", "missing", "compile", "depcomp"),
    *("mkdep", "move-if-change", "mkinstalldirs", "ltmain.sh", "libtool-ldflags"),
)
"""Scripts at the top that the configure scripts of the folders use."""
LEFT_OUT = ("*/gcc/testsuite", "*/ChangeLog*", "*/gcc/po", "*/gcc/ada/*.ad[bs]", "*/gcc/ada/lib*")
NOT_PATCHED = re.compile(r"/testsuite/|ChangeLog|/po/|/doc/|^gcc/ada/.*\.ad[bs]$|^gcc/ada/lib")
HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
REQUIRED = ("gcc/configure", "gcc/BASE-VER", "gcc/lto/lto.cc", "libiberty/configure")
INTELMIC = "gcc/config/i386/intelmic-offload.h"
"""Where the release has the target's files: its tm.h."""


def required(host: Host) -> tuple[str, ...]:
    """Files that the source of a compiler has to have."""
    return (*REQUIRED, INTELMIC) if host.has_target else REQUIRED


def is_source_tree(folder: Path, host: Host) -> bool:
    """Whether it holds GCC's source, with the emulated device's target in it where the release has that."""
    return all((folder / name).exists() for name in required(host))


def version(folder: Path) -> str:
    """The version in BASE-VER.  AccelError if there is none."""
    try:
        return (folder / "gcc" / "BASE-VER").read_text().strip()
    except OSError as error:
        raise AccelError(f"{error.filename}: {error.strerror}; is {folder} a GCC source tree?") from None


def wanted_parts(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a unified diff that change files we have (names as ``a/src/gcc/tree.cc``)."""
    before: bytes | None = None
    wanted = False
    old = new = 0  # lines that the hunk still has
    for line in lines:
        if old > 0 or new > 0:
            old -= line[:1] in b"- \n"
            new -= line[:1] in b"+ \n"
        elif line.startswith(b"--- "):
            before, wanted = line, False
            continue
        elif line.startswith(b"+++ ") and before is not None:
            name = _path(line) or _path(before)
            wanted = name.split("/")[0] in FOLDERS and not NOT_PATCHED.search(name)
            if wanted:
                yield before
            before = None
        elif found := HUNK.match(line):
            old, new = int(found[1] or 1), int(found[2] or 1)
        elif not line.startswith(b"\\"):
            wanted = False
        if wanted:
            yield line


def _path(line: bytes) -> str:
    name = line[4:].split(b"\t")[0].strip().decode("utf-8", "replace")
    return "" if name == "/dev/null" else name.split("/", 2)[-1]


def run(command: list[str], what: str, log: Path, stdin: bytes | None = None) -> None:
    """A step's command, its output into the log.  AccelError if it fails."""
    done = subprocess.run(command, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    with log.open("ab") as file:
        file.write(f"$ {' '.join(command)}\n".encode() + done.stdout)
    if done.returncode:
        raise AccelError(f"{what} failed: {tags.first_line(done.stdout.decode('utf-8', 'replace'))} (see {log})")


def unpack(archive: Path, target: Path, log: Path) -> None:
    """Unpack what is needed of the package's source into ``target``, patched; whole or not at all."""
    part = target.with_name(target.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    with tarfile.open(archive) as file:
        first = file.next()
    top = first.name.split("/")[0] if first else ""
    command = ["tar", "-xf", str(archive), "-C", str(part), "--strip-components=1", "--no-same-owner"]
    command += [f"--exclude={pattern}" for pattern in LEFT_OUT]
    command += [f"{top}/{name}" for name in (*FOLDERS, *SCRIPTS)]
    run(command, f"unpacking {archive}", log)
    updates = archive.parent / "patches" / "git-updates.diff"
    if updates.exists():
        with updates.open("rb") as file:
            text = b"".join(wanted_parts(file))
        run(["patch", "-d", str(part), "-p2", "-s", "-f"], f"applying {updates}", log, text)
    part.rename(target)


def add_modula2(archive: Path, target: Path, log: Path) -> bool:
    """Put GNU Modula-2's front end into the tree, where the package has it apart.  False if there is none."""
    extra = next(iter(sorted(archive.parent.glob("gm2-*.tar.xz"))), None)
    if extra is None or (target / "gcc" / "m2").exists():
        return False
    part = target.with_name(target.name + ".gm2")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    run(["tar", "-xf", str(extra), "-C", str(part), "--no-same-owner", "gm2/gcc/m2"], f"unpacking {extra}", log)
    (part / "gm2" / "gcc" / "m2").rename(target / "gcc" / "m2")
    shutil.rmtree(part)
    return True


def check(folder: Path, host: Host, tag: int) -> None:
    """Whether a compiler built from this tree will read the host's streams.  AccelError says why not."""
    lacking = [name for name in required(host) if not (folder / name).exists()]
    if lacking:
        raise AccelError(
            f"{folder}: no {lacking[0]}: not a source tree of GCC {host.major}"
            + (f" with the target {TARGET_INTELMIC}" if host.has_target else "")
        )
    if version(folder) != host.version:
        raise AccelError(
            f"{folder}: is the source of gcc {version(folder)}, the compiler is {host.title}",
            "an accelerator compiler reads the streams of its own version only: take the source of that version",
        )
    found = tags.source_tag(folder)
    if found != tag:
        raise AccelError(tags.explain(host, tag, folder, found))

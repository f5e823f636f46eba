"""Where LLVM's tests come from: the tarball of Debian's source package; its tests are kept in the cache."""

from __future__ import annotations

import re
import subprocess
import tarfile
import tempfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import suite_source
from suite_source import SourceError as SourceError

RELEASE: Final = 16
LLVM: Final = Path(f"/usr/lib/llvm-{RELEASE}")
_TOOLS: Final = re.compile(
    r"[^/]+/(?:clang/test/Driver/(linker-wrapper[^/]*\.c)|llvm/test/tools/llvm-objdump/Offloading/(.+))$"
)


@dataclass(frozen=True)
class Release:
    """A release of LLVM whose tests of libomptarget are run."""

    number: int
    folder: str
    """Where its sources have them."""
    beside: bool = False
    """Its libomp is unpacked into the cache: Debian's packages of two releases exclude each other."""

    @property
    def llvm(self) -> Path:
        """Where its packages are installed."""
        return Path(f"/usr/lib/llvm-{self.number}")

    @property
    def libomp(self) -> Path:
        """Where its libraries and omp.h are."""
        return unpacked(self.number) / str(self.llvm)[1:] if self.beside else self.llvm

    @property
    def tests(self) -> Path:
        """Where its tests are kept."""
        return suite_source.cache_folder() / f"libomptarget-{self.number}"

    def missing(self) -> list[str]:
        """The packages that are not installed."""
        files = {
            f"clang-{self.number}": "bin/clang",
            f"clang-tools-{self.number}": "bin/clang-linker-wrapper",
            f"llvm-{self.number}-tools": "build/utils/lit/lit.py",
            f"lld-{self.number}": "bin/ld.lld",
        }
        if not self.beside:
            files[f"libomp-{self.number}-dev"] = "lib/libomptarget.so"
        return [package for package, file in files.items() if not (self.llvm / file).exists()]


RELEASES: Final = {
    16: Release(16, "openmp/libomptarget/test"),
    19: Release(19, "offload/test", beside=True),
}


def unpacked(number: int) -> Path:
    """Where a release's libomp is unpacked."""
    return suite_source.cache_folder() / f"libomp-{number}"


def fetch_libomp(release: Release) -> None:
    """Unpack a release's libomp beside the system's.  Raises SourceError."""
    folder = unpacked(release.number)
    if not release.beside or (folder / ".complete").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"libomp-{release.number}-dev", f"libomp5-{release.number}"]
    with tempfile.TemporaryDirectory() as place:
        commands = [["apt-get", "download", "-q", *names]]
        commands += [["sh", "-c", 'for file in *.deb; do dpkg-deb -x "$file" "$1" || exit 1; done', "sh", str(folder)]]
        for command in commands:
            done = subprocess.run(command, cwd=place, capture_output=True, text=True)
            if done.returncode:
                raise SourceError(f"{' '.join(command)}: {done.stderr.strip()}")
    (folder / ".complete").touch()


def tarball_address(release: Release) -> str:
    """Where Debian has the sources that its package was made of: beside the package.  Raises SourceError."""
    command = ["apt-get", "download", "--print-uris", f"libomp-{release.number}-dev"]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"'(http[^']*/)libomp-[^']*_([0-9.]+)-[^']*'", done.stdout)
    if found is None:
        raise SourceError(f"{' '.join(command)}: no address; {done.stderr.strip() or done.stdout.strip()}")
    return f"{found[1]}llvm-toolchain-{release.number}_{found[2]}.orig.tar.xz"


def tools_folder(release: Release) -> Path:
    """Where the tests of clang's linker wrapper and of llvm-objdump are kept."""
    return suite_source.cache_folder() / f"llvm-tools-{release.number}"


def _place(release: Release, member: str) -> str | None:
    """Where a member goes, below the cache."""
    found = re.match(rf"[^/]+/{release.folder}/(.+)$", member)
    if found is not None:
        return f"{release.tests.name}/{found[1]}"
    found = _TOOLS.match(member)
    return f"{tools_folder(release).name}/{found[1] or found[2]}" if found is not None else None


def fetch(release: Release) -> Path:
    """The folder of libomptarget's tests, unpacked once from the stream (130 MB, a minute).  Raises SourceError."""
    fetch_libomp(release)
    folders = [release.tests, tools_folder(release)]
    if all((folder / ".complete").exists() for folder in folders):
        return release.tests
    address = tarball_address(release)
    try:
        with (
            urllib.request.urlopen(address) as response,
            tarfile.open(fileobj=response, mode="r|xz") as archive,
        ):
            suite_source.take_out(archive, suite_source.cache_folder(), lambda member: _place(release, member))
        for folder in folders:
            (folder / ".complete").touch()
    except (OSError, tarfile.TarError) as error:
        raise SourceError(f"{address}: {error}") from None
    return release.tests

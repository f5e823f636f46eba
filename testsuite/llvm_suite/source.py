"""Where LLVM's tests come from: the tarball of Debian's source package; its tests are kept in the cache."""

from __future__ import annotations

import re
import subprocess
import tarfile
import urllib.request
from pathlib import Path
from typing import Final

import suite_source
from suite_source import SourceError as SourceError

RELEASE: Final = 16
LLVM: Final = Path(f"/usr/lib/llvm-{RELEASE}")
TOOLS: Final = {
    f"clang-{RELEASE}": LLVM / "bin/clang",
    f"clang-tools-{RELEASE}": LLVM / "bin/clang-linker-wrapper",
    f"libomp-{RELEASE}-dev": LLVM / "lib/libomptarget.so",
    f"llvm-{RELEASE}-tools": LLVM / "build/utils/lit/lit.py",
    f"lld-{RELEASE}": LLVM / "bin/ld.lld",
}
"""Package: a file of it that is needed."""
_MEMBER = re.compile(r"[^/]+/openmp/libomptarget/test/(.+)$")
_TOOLS = re.compile(
    r"[^/]+/(?:clang/test/Driver/(linker-wrapper[^/]*\.c)|llvm/test/tools/llvm-objdump/Offloading/(.+))$"
)


def missing() -> list[str]:
    """The packages that are not installed."""
    return [package for package, file in TOOLS.items() if not file.exists()]


def cache_folder() -> Path:
    """Where the tests are kept."""
    return suite_source.cache_folder() / f"libomptarget-{RELEASE}"


def tarball_address() -> str:
    """Where Debian has the sources that its package was made of: beside the package.  Raises SourceError."""
    command = ["apt-get", "download", "--print-uris", f"libomp-{RELEASE}-dev"]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"'(http[^']*/)libomp-[^']*_([0-9.]+)-[^']*'", done.stdout)
    if found is None:
        raise SourceError(f"{' '.join(command)}: no address; {done.stderr.strip() or done.stdout.strip()}")
    return f"{found[1]}llvm-toolchain-{RELEASE}_{found[2]}.orig.tar.xz"


def tools_folder() -> Path:
    """Where the tests of clang's linker wrapper and of llvm-objdump are kept."""
    return suite_source.cache_folder() / f"llvm-tools-{RELEASE}"


def _place(member: str) -> str | None:
    """Where a member goes, below the cache."""
    found = _MEMBER.match(member)
    if found is not None:
        return f"{cache_folder().name}/{found[1]}"
    found = _TOOLS.match(member)
    return f"{tools_folder().name}/{found[1] or found[2]}" if found is not None else None


def fetch() -> Path:
    """The folder of libomptarget's tests, unpacked once from the stream (130 MB, a minute).  Raises SourceError."""
    folder = cache_folder()
    if (folder / ".complete").exists() and (tools_folder() / ".complete").exists():
        return folder
    address = tarball_address()
    try:
        with (
            urllib.request.urlopen(address) as response,
            tarfile.open(fileobj=response, mode="r|xz") as archive,
        ):
            suite_source.take_out(archive, suite_source.cache_folder(), _place)
        (folder / ".complete").touch()
        (tools_folder() / ".complete").touch()
    except (OSError, tarfile.TarError) as error:
        raise SourceError(f"{address}: {error}") from None
    return folder

"""Where the suite comes from, and which of its tests use offloading.

DejaGnu and GCC's source are Debian packages: installed by apt-get where that may be done, else named in one line.  Of
the source only what the suite reads is unpacked, once, into the user's cache; its files stay as they are.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from gcc_suite import source

PACKAGES = {"runtest": "dejagnu", "source": "gcc-12-source"}
_MEMBERS = re.compile(
    r"[^/]+/(include/(cuda/)?[^/]*\.h|libgomp/[^/]*\.h|libgomp/testsuite/.*|gcc/testsuite/lib/.*"
    r"|gcc/testsuite/(c-c\+\+-common|g\+\+\.dg|gfortran\.dg)/goacc/.*"
    r"|contrib/(dg-extract-results\.(py|sh)|compare_tests|test_summary)|COPYING3?)$"
)
_MARK = ".dejagnu-complete-3"


class SuiteError(Exception):
    """The suite cannot be run; the text says what is missing and the line that mends it."""


@dataclass(frozen=True)
class Driver:
    """A directory with an .exp file: suffixes of its own files, and the directory of common C files, if any."""

    directory: str
    suffixes: re.Pattern[str]
    common: str = ""

    @property
    def openacc(self) -> bool:
        """Whether it tests OpenACC."""
        return "oacc" in self.directory


_C = re.compile(r"\.c$")
_CXX = re.compile(r"\.C$")
_FORTRAN = re.compile(r"\.[fF](90|95|03|08)?$")
DRIVERS = (
    Driver("libgomp.c", _C, "libgomp.c-c++-common"),
    Driver("libgomp.c++", _CXX, "libgomp.c-c++-common"),
    Driver("libgomp.fortran", _FORTRAN),
    Driver("libgomp.graphite", _C),
    Driver("libgomp.oacc-c", _C, "libgomp.oacc-c-c++-common"),
    Driver("libgomp.oacc-c++", _CXX, "libgomp.oacc-c-c++-common"),
    Driver("libgomp.oacc-fortran", _FORTRAN),
)


def missing_packages(need_source: bool) -> list[str]:
    """Debian packages that are needed and not there."""
    missing = [] if shutil.which("runtest") else [PACKAGES["runtest"]]
    if need_source and not (source.archive().exists() or unpacked()):
        missing.append(PACKAGES["source"])
    return missing


def install(packages: list[str]) -> None:
    """Install Debian packages, or raise SuiteError with the line to type."""
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise SuiteError(f"packages are missing; type:  sudo {' '.join(command)}")
    print(f"installing {', '.join(packages)}", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["apt-get", "update", "-qq"], [*command, "-qq"]):
        done = subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise SuiteError(f"{' '.join(command)} failed: {last}")


def unpacked() -> bool:
    """Whether the cache holds the suite with all that DejaGnu reads."""
    return (source.cache_directory() / _MARK).exists()


def root() -> Path:
    """The unpacked part of GCC's source, unpacked from Debian's archive at the first use.  Raises SuiteError."""
    cache = source.cache_directory()
    if unpacked():
        return cache
    print(f"unpacking the suite into {cache}", flush=True)
    try:
        with tarfile.open(source.archive(), "r|xz") as file:
            for member in file:
                if not member.isfile() or not _MEMBERS.match(member.name):
                    continue
                stream = file.extractfile(member)
                if stream is None:
                    continue
                target = cache / member.name.split("/", 1)[1]
                target.parent.mkdir(parents=True, exist_ok=True)
                # Written beside and renamed: another run may be reading the suite.
                beside = target.with_name(f"{target.name}.{os.getpid()}")
                beside.write_bytes(stream.read())
                beside.chmod(0o755 if member.mode & 0o100 else 0o644)
                beside.replace(target)
        (cache / _MARK).touch()
        (cache / ".complete").touch()
    except (OSError, tarfile.TarError) as error:
        raise SuiteError(f"{source.archive()}: cannot be unpacked into {cache}: {error}") from None
    return cache


def root_of(directory: Path) -> Path:
    """The GCC source tree in or above a directory that the user named.  Raises SuiteError."""
    try:
        found = source.testsuite_of(directory).parent.parent
    except source.SourceError as error:
        raise SuiteError(str(error)) from None
    for part in ("gcc/testsuite/lib/gcc-dg.exp", "contrib/dg-extract-results.py"):
        if not (found / part).exists():
            raise SuiteError(f"{found}: not a whole GCC source tree: no {part}")
    return found


def tests_of(root_: Path, driver: Driver) -> list[Path]:
    """Every file that the driver takes for a test, as normalized paths."""
    suite = root_ / "libgomp" / "testsuite"
    own = [p for p in (suite / driver.directory).rglob("*") if driver.suffixes.search(p.name)]
    if driver.common:
        own += (suite / driver.common).rglob("*.c")
    return sorted(p for p in own if p.is_file())


def offloads(driver: Driver, path: Path) -> bool:
    """Whether a test has target constructs or device API calls, itself or in a file it includes; OpenACC's all have."""
    return driver.openacc or source.uses_offloading(path, path.read_text(encoding="latin-1"))

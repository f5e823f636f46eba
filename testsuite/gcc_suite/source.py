"""Where GCC's tests come from: a directory, or Debian's gcc-N-source unpacked into the user's cache.

Each function takes the release, 12 unless given.
"""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from pathlib import Path

import suite_source
from suite_source import SourceError as SourceError

from gompy.dg.program import TestFile

from . import expected

OLDEST = 12
PACKAGE = f"gcc-{OLDEST}-source"
SOURCES = Path("/usr/src")
"""Where packages put archives: gcc-12/gcc-12.2.0-dfsg.tar.xz on Debian 12, gcc-14/gcc-14.2.0-dfsg.tar.xz on 13."""
_MEMBERS = re.compile(
    r"[^/]+/(include/(gomp-constants|cuda/cuda)\.h|libgomp/[^/]*\.h|libgomp/testsuite/.*"
    r"|gcc/testsuite/((c-c\+\+-common|g\+\+\.dg|gfortran\.dg)/goacc/(cache|firstprivate-mappings)-1\..*"
    r"|gfortran\.fortran-torture/execute/math\.f90))$"
)
"""libgomp's own, and what its tests include of the compilers' tests."""
_MARK = ".complete-2"
"""Made, beside `.complete`, when all is unpacked; another name when more is unpacked than before."""

DIRECTORIES = (
    *("libgomp.c", "libgomp.c++", "libgomp.fortran"),
    *("libgomp.oacc-c", "libgomp.oacc-c++", "libgomp.oacc-fortran"),
)
"""The drivers; those for C and C++ also run libgomp.c-c++-common or libgomp.oacc-c-c++-common."""
_COMMON = "libgomp.c-c++-common"
_OFFLOADING = re.compile(
    r"omp\b.*\btarget\b|omp_(target_|get_num_devices|[sg]et_default_device|is_initial_device|get_device_num"
    r"|get_initial_device)",
    re.IGNORECASE,
)
_INCLUDE = re.compile(r'^[ \t]*(?:#[ \t]*include|include)[ \t]+["\']([^"\']+)["\']', re.MULTILINE)
_SOURCES = re.compile(r"dg-additional-sources[ \t]+([^}\n]+)")


OPENMP_50 = Path(__file__).resolve().parent.parent / "expected" / "openmp-5.0.txt"


def openmp_50_tests() -> frozenset[str]:
    """File names of the tests that run with GOMPY_UNMAPPED=null."""
    return frozenset(expected.read(OPENMP_50))


def package(release: int = OLDEST) -> str:
    """Debian's package of a release's source."""
    return f"gcc-{release}-source"


def archive(release: int = OLDEST) -> Path:
    """The installed archive; a name that is not there if the package is not installed."""
    folder = SOURCES / f"gcc-{release}"
    return next(iter(sorted(folder.glob(f"gcc-{release}.*.tar.xz"))), folder / f"gcc-{release}.tar.xz")


def cache_directory(release: int = OLDEST) -> Path:
    """Where the unpacked tests are kept: below $XDG_CACHE_HOME/gompy or ~/.cache/gompy, a folder for each release."""
    folder = suite_source.cache_folder()
    if not archive(release).exists():  # the package may have gone since
        return next(iter(sorted(folder.glob(f"gcc-{release}.*.*"))), folder / f"gcc-{release}")
    return folder / archive(release).name.removesuffix(".tar.xz").removesuffix("-dfsg")


def _install(release: int) -> None:
    command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", package(release)]
    if os.geteuid() != 0:
        where = f"GCC's tests are in Debian's package {package(release)}"
        raise SourceError(f"{where}; install it: sudo {' '.join(command)}")
    if subprocess.run(command, stdout=subprocess.DEVNULL).returncode or not archive(release).exists():
        raise SourceError(f"{archive(release)}: not there after: {' '.join(command)}")


def at_hand(release: int = OLDEST) -> bool:
    """Whether the tests need not be fetched."""
    return archive(release).exists() or (cache_directory(release) / _MARK).exists()


def is_of_the_tests(member: str) -> bool:
    """Whether a file of the archive is one that the tests need."""
    return _MEMBERS.match(member) is not None


def default_tests(release: int = OLDEST) -> Path:
    """libgomp/testsuite of the installed GCC source, unpacked once (half a minute).  Raises SourceError."""
    if not archive(release).exists() and not (cache_directory(release) / _MARK).exists():
        _install(release)
    cache = cache_directory(release)
    tests = cache / "libgomp" / "testsuite"
    if (cache / _MARK).exists():
        return tests
    try:
        with tarfile.open(archive(release), "r|xz") as file:
            suite_source.take_out(file, cache, lambda name: name.split("/", 1)[1] if is_of_the_tests(name) else None)
        for mark in (".complete", _MARK):
            (cache / mark).touch()
    except (OSError, tarfile.TarError) as error:
        raise SourceError(f"{archive(release)}: cannot be unpacked into {cache}: {error}") from None
    return tests


def testsuite_of(directory: Path) -> Path:
    """The libgomp/testsuite in or above a directory that the user named.  Raises SourceError."""
    directory = directory.resolve()
    candidates = (directory, directory / "libgomp/testsuite", directory / "testsuite", *directory.parents)
    for candidate in candidates:
        if (candidate / "libgomp.c").is_dir() and (candidate / _COMMON).is_dir():
            return candidate
    raise SourceError(f"{directory}: no libgomp/testsuite of GCC (with libgomp.c and {_COMMON}) there")


def uses(what: re.Pattern[str], path: Path, text: str, seen: frozenset[Path] = frozenset()) -> bool:
    """Whether a pattern is in a file's text, in that of a file it includes, or of a source that it is linked with."""
    if what.search(text):
        return True
    sources = " ".join(_SOURCES.findall(text)).replace('"', " ").split()
    for name in [*_INCLUDE.findall(text), *sources]:
        included = (path.parent / name).resolve()
        if included in seen or not included.is_file():
            continue
        if uses(what, included, included.read_text(encoding="latin-1"), seen | {path.resolve(), included}):
            return True
    return False


def uses_offloading(path: Path, text: str) -> bool:
    """Whether a test has a target construct or calls the device API, itself or in another file of it."""
    return uses(_OFFLOADING, path, text)


def find(tests: Path, directory: str) -> list[TestFile]:
    """The test files of one driver in DejaGnu's order (lsort of the full paths)."""
    language = re.split(r"\.(?:oacc-)?", directory, maxsplit=1)[1]
    pattern = {"c": r"\.c$", "c++": r"\.C$", "fortran": r"\.[fF](90|95|03|08)?$"}[language]
    own = [p for p in (tests / directory).rglob("*") if re.search(pattern, p.name)]
    pairs = [(f"{directory}/{p.relative_to(tests / directory)}", p) for p in own]
    if language != "fortran":
        name = _COMMON.replace(".", ".oacc-") if ".oacc-" in directory else _COMMON
        common = tests / name
        pairs += [(f"{directory}/../{name}/{p.relative_to(common)}", p) for p in common.rglob("*.c")]
    pairs.sort()
    return [TestFile(directory, n, p, language, p.read_text(encoding="latin-1")) for n, p in pairs]

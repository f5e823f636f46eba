"""What ``gompy doctor`` tells of versions: of libgomp, of each gcc in the PATH and what it lacks, of the PTX cache.

Each finding is (fine or not, text, mend).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from gompy import plural
from gompy.abi import targets
from gompy.abi.gcc import major_of, offload_package
from gompy.driver import compiler, paths
from gompy.tools.cache_base import cache_base

Finding = tuple[bool, str, str]
LOADED = "import ctypes; ctypes.CDLL('libgomp.so.1'); print(open('/proc/self/maps').read())"
SYMBOLS = re.compile(r"(GOMP|OMP|OACC|GOACC)_([0-9.]+)$")


def libgomp() -> list[Finding]:
    """The stock library that libgompy asks for all that is no offloading: its file, and what it has."""
    done = subprocess.run([sys.executable, "-I", "-c", LOADED], capture_output=True, text=True, timeout=60)
    found = re.search(r"(/\S*libgomp\.so\S*)", done.stdout)
    if done.returncode or not found:
        return [(False, "libgomp.so.1: the loader does not find it", "apt-get install libgomp1")]
    path = os.path.realpath(found[1])
    try:
        newest = newest_symbols(path)
    except (OSError, ValueError) as error:
        return [(False, f"libgomp.so.1: {path}: {error}", "")]
    return [(True, f"libgomp.so.1: {path}, symbols up to {', '.join(newest)}", "")]


def newest_symbols(path: str) -> list[str]:
    """The highest version of each family of symbols that a library defines."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile
    from elftools.elf.gnuversions import GNUVerDefSection

    highest: dict[str, tuple[int, ...]] = {}
    try:
        with open(path, "rb") as file:
            section = ELFFile(file).get_section_by_name(".gnu.version_d")
            for _, names in section.iter_versions() if isinstance(section, GNUVerDefSection) else ():
                match = SYMBOLS.match(next(iter(names)).name)
                if match:
                    number = tuple(int(part) for part in match[2].split(".") if part)
                    highest[match[1]] = max(highest.get(match[1], ()), number)
    except ELFError as error:
        raise ValueError(str(error)) from None
    return [f"{name}_{'.'.join(map(str, number))}" for name, number in sorted(highest.items())]


def compilers() -> list[Finding]:
    """Every ``gcc`` and ``gcc-N`` of the PATH: its version, whether it will do, and what it lacks."""
    seen: set[str] = set()
    found: list[Finding] = []
    names = {name for folder in os.environ.get("PATH", "").split(os.pathsep) for name in listed(folder)}
    for name in sorted(names, key=lambda name: int(name.partition("-")[2] or 0)):
        path = compiler.which(name)
        if not path or os.path.realpath(path) in seen:
            continue
        seen.add(os.path.realpath(path))
        found.append(one_compiler(name, path))
    return found


def listed(folder: str) -> list[str]:
    """The names of C compilers in a folder."""
    try:
        return [name for name in os.listdir(folder or ".") if re.fullmatch(r"gcc(-\d+)?", name)]
    except OSError:
        return []


def one_compiler(name: str, path: str) -> Finding:
    """What one of them is good for."""
    known = compiler.facts(compiler.Compiler(path, [name]))
    what = f"{path}: gcc {known.version}" if known.version else path
    if known.problem:
        return False, f"{what}: no device code by it: it {known.problem}", ""
    major = major_of(known.version)
    lacking = [
        language.default
        for language in (compiler.CXX, compiler.FORTRAN)
        if not compiler.which(f"{language.default}-{major}")
    ]
    wanted = [target for target in targets.TARGETS if target.packaged and target.maker]
    devices = [target.name for target in wanted if not has_device_compiler(path, target)]
    packages = [f"{default}-{major}" for default in lacking] + [offload_package(name, major) for name in devices]
    if not packages:
        return True, f"{what}: lacks nothing", ""
    lacks = [f"{default}-{major}" for default in lacking] + [f"the device compiler for {name}" for name in devices]
    return False, f"{what}: lacks {', '.join(lacks)}", f"apt-get install {' '.join(packages)}"


def has_device_compiler(path: str, target: targets.Target) -> bool:
    """Whether a gcc finds its mkoffload for a target."""
    name = f"accel/{target.name}/mkoffload"
    done = subprocess.run([path, f"-print-prog-name={name}"], capture_output=True, text=True, timeout=60)
    return os.path.isabs(done.stdout.strip())


def clangs() -> list[Finding]:
    """Each clang whose programs run on libgompy, and what its offloading lacks."""
    from gompy.abi import llvm
    from gompy.driver import clang

    found: list[Finding] = []
    for number in llvm.CLANGS:
        path = compiler.which(f"clang-{number}")
        if not path:
            continue
        lacking = clang.lacking(path, number)
        gpu = "" if beside(path, "llvm-link") else "; for nvptx64 also llvm-link"
        if lacking:
            found.append((False, f"{path}: its programs do not link without {' '.join(lacking)}", apt(lacking)))
        elif gpu:
            found.append((True, f"{path}: lacks nothing for gompclang{gpu} (apt-get install llvm-{number})", ""))
        else:
            found.append((True, f"{path}: lacks nothing for gompclang", ""))
    if not found:
        first = next(iter(llvm.CLANGS))
        found.append((False, "gompclang: no clang that it works with", apt([f"clang-{first}", f"libomp-{first}-dev"])))
    return found


def apt(packages: list[str]) -> str:
    """How to get Debian's packages."""
    return f"apt-get install {' '.join(packages)}"


def beside(path: str, name: str) -> bool:
    """Whether a program is in the folder of another."""
    return os.path.exists(os.path.join(os.path.dirname(os.path.realpath(path)), name))


def caches() -> list[Finding]:
    """The folder of compiled PTX: how much is kept, and of how many versions of its compiler."""
    # The libraries do not look for a home in the password file.
    known = "HOME" in os.environ or os.path.isabs(os.environ.get("XDG_CACHE_HOME", ""))
    base = cache_base() if known else ""
    if not base:
        return [(False, "PTX cache: in memory only", "set HOME or XDG_CACHE_HOME")]
    folder = Path(base, "gompy", "ptx")
    kept: dict[str, list[int]] = {}
    for entry in folder.glob("*/*") if folder.is_dir() else ():
        try:
            kept.setdefault(entry.parent.name, []).append(entry.stat().st_size)
        except OSError:
            continue  # another process has removed it
    if not kept:
        return [(True, f"PTX cache: {folder}: empty", "")]
    mine = identity()
    current = [name for name in kept if mine and name.startswith(mine)]
    others = [name for name in kept if name not in current]
    found: list[Finding] = []
    stale = f"of {plural(len(others), 'other version')}: {'it' if len(others) == 1 else 'they'} may be removed"
    for names, which in ((current, "of this version"), (others, stale)):
        if sizes := [size for name in names for size in kept[name]]:
            size = f"{plural(len(sizes), 'file')}, {sum(sizes) // 1024} KiB"
            found.append((True, f"PTX cache: {folder}: {size}, {which}", ""))
    return found


def identity() -> str:
    """The number that this version's PTX compiler puts before its folder's name; empty where it is not built."""
    library = os.path.join(paths.LIBDIR, "libgompy-ptx.so.1")
    try:
        data = Path(library).read_bytes()
    except OSError:
        return ""
    found = re.search(rb"\0([0-9a-f]{32})\0", data)
    return found[1][:16].decode() if found else ""

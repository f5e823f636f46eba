"""Which clang to run, and what it gets so that target regions run on our devices.

The targets where the line chooses none, our linker wrapper, and the folder of our libomptarget, which the program finds
first.
"""

from __future__ import annotations

import os

from gompy.abi import llvm
from gompy.driver import paths
from gompy.driver.compiler import Compiler, Language, which
from gompy.driver.errors import DriverError, quote

C = Language("gompclang", "GOMPY_CLANG", "clang")
CXX = Language("gompclang++", "GOMPY_CLANGXX", "clang++")
TARGET = "x86_64-pc-linux-gnu"
GPU = "nvptx64-nvidia-cuda"
GPU_ARCH = "sm_70"
"""The oldest with threads of their own; each later GPU compiles its PTX."""
QUIET = ("--start-no-unused-arguments", "--end-no-unused-arguments")
"""What stands between is no cause of warnings in a command that does not link."""
VIA_LLVM = "-foffload-via-llvm"
"""CUDA's kernels launched by libomptarget (clang 20)."""
SHOW = ("-show", "--show", "-showme", "--showme")
PARTS = ("command", "compile", "link", "libdirs", "help")


def release(path: str) -> int:
    """The release of a clang: by the folder it is in, as Debian and LLVM's own packages have it, else by asking it."""
    real = os.path.realpath(path)
    for part in reversed(real.split("/")):
        number = part.rpartition("-")[2]
        if part.startswith(("llvm-", "clang-", "clang++-")) and number.isdecimal():
            return int(number)
    import re
    import subprocess

    try:
        done = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.search(rb"clang version (\d+)", done.stdout)
    return int(found[1]) if found else 0


def lacking(path: str, number: int) -> list[str]:
    """Debian's packages without which a clang cannot link programs with regions; LIBRARY_PATH may have their files."""
    root = os.path.dirname(os.path.dirname(os.path.realpath(path)))
    system = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")
    folders = [os.path.join(root, "lib"), os.path.join(root, "lib64"), *system]
    folders += [*filter(None, os.environ.get("LIBRARY_PATH", "").split(":"))]
    library = "libomp.so" if number >= llvm.WITHOUT_LIBOMPTARGET else "libomptarget.so"
    there = any(os.path.exists(os.path.join(folder, library)) for folder in folders)
    tools = number in llvm.WITH_OFFLOAD_WRAPPER and not has_tool(path, "clang-offload-wrapper")
    return ([] if there else [f"libomp-{number}-dev"]) + ([f"clang-tools-{number}"] if tools else [])


def has_tool(path: str, tool: str) -> bool:
    """Whether a clang finds a tool of LLVM's: beside it, else in PATH."""
    beside = os.path.join(os.path.dirname(os.path.realpath(path)), tool)
    return os.access(beside, os.X_OK) or bool(which(tool))


def _given(language: Language) -> Compiler | None:
    """What the environment names.  Raises DriverError."""
    given = os.environ.get(language.variable, "").strip()
    if not given:
        return None
    path = which(given)
    if not path:
        raise DriverError(f"{language.variable}: no such compiler: {quote(given)}")
    return Compiler(path, [given])


def chosen(language: Language, offloading: bool, cuda: bool = False) -> Compiler:
    """The clang to run: the environment's, else PATH's, of a release that our libomptarget is for.  Raises DriverError.

    ``offloading``: it must have all that a program with regions needs.  ``cuda``: all that -foffload-via-llvm needs.
    """
    named = _given(language)
    names = [language.default, *(f"{language.default}-{number}" for number in llvm.CLANGS)]
    candidates = [named] if named else [Compiler(path, [name]) for name in names if (path := which(name))]
    if not offloading and candidates:
        return candidates[0]
    missing = ""
    for candidate in candidates:
        number = release(candidate.path)
        if number not in llvm.CLANGS:
            continue
        if cuda and number < llvm.WITHOUT_LIBOMPTARGET:
            missing = missing or f"{quote(candidate.words[0])} is clang {number}: {VIA_LLVM} is of 20 and later"
            continue
        packages = [] if cuda else lacking(candidate.path, number)
        if not packages:
            return candidate
        missing = missing or f"{quote(candidate.words[0])} lacks {' '.join(packages)}: install it"
    first = next(iter(llvm.CLANGS))
    releases = ", ".join(str(number) for number in sorted(llvm.CLANGS))
    mend = f"install clang-{first} and libomp-{first}-dev, or set {language.variable}"
    if missing:
        raise DriverError(missing)
    if named:
        what = f"{quote(named.words[0])} is no clang" if not release(named.path) else f"is clang {release(named.path)}"
        raise DriverError(f"{language.variable}: {what}; gompy works with clang {releases}")
    if candidates:
        number = release(candidates[0].path)
        raise DriverError(f"{quote(candidates[0].words[0])} is clang {number}; gompy works with {releases}: {mend}")
    raise DriverError(f"no {language.default} in PATH: {mend}")


def compile_words(words: list[str]) -> list[str]:
    """What clang gets besides the user's words, as far as it compiles: targets, if the line names none; for GPUs what
    makes do without CUDA."""
    if VIA_LLVM in words:
        return cuda_words(words)
    named = [word for word in words if word.startswith(("-fopenmp-targets=", "--offload-arch=", "--offload="))]
    if not named:
        return [f"-fopenmp-targets={TARGET}"]
    return gpu_words(words) if any("nvptx" in word or "=sm_" in word for word in named) else []


def gpu_words(words: list[str]) -> list[str]:
    """For nvptx64: objects with LLVM IR, which needs no ptxas, and whose link adds the device's libraries.

    Who names a CUDA installation, or wants machine code in objects, gets clang's own way.
    """
    if any(word.startswith(("--cuda-path=", "-fno-offload-lto", "-nogpulib")) for word in words):
        return []
    found = ["-foffload-lto", "--cuda-path=/nonexistent", f"-Xopenmp-target={GPU}", "-nogpulib"]
    chosen = any(word.startswith(("-march=sm_", "--offload-arch=", "--cuda-gpu-arch=")) for word in words)
    return found if chosen else [*found, f"-Xopenmp-target={GPU}", f"-march={GPU_ARCH}"]


def cuda_words(words: list[str]) -> list[str]:
    """For CUDA's kernels that libomptarget launches: the same."""
    if any(word.startswith(("--cuda-path=", "-fno-offload-lto", "-nogpulib")) for word in words):
        return []
    found = ["-foffload-lto", "--cuda-path=/nonexistent", "-nogpulib", "-nogpuinc", "--cuda-feature=+ptx70"]
    chosen = any(word.startswith(("--offload-arch=", "--cuda-gpu-arch=")) for word in words)
    return found if chosen else [*found, f"--offload-arch={GPU_ARCH}"]


def link_words(path: str) -> list[str]:
    """What the link gets by that clang, and where it makes objects: tools of ours, its own packager if it has one."""
    number = release(path)
    found = [f"-B{os.path.join(paths.NATIVE, 'clang')}", f"-Wl,-rpath,{paths.LLVMLIBDIR}"]
    if number not in llvm.WITH_OFFLOAD_WRAPPER and not has_tool(path, "clang-offload-packager"):
        found.append(f"-B{os.path.join(paths.NATIVE, 'clang', 'packager')}")
    if number >= llvm.WITHOUT_LIBOMPTARGET:
        found.append(f"-L{os.path.join(paths.NATIVE, f'llvm-{number}')}")
    return found


def words_for_gcc(linker: str) -> tuple[list[str], list[str]]:
    """What gcc's link of objects by clang gets, before and behind the user's words.  Raises DriverError.

    Our linker wrapper stands in gcc's way to its linker; libomp is the clang's that compiled.
    """
    if linker not in ("", "bfd"):
        raise DriverError(f"objects by clang with regions are linked by ld.bfd only, not by {quote(linker)}")
    root = os.path.dirname(os.path.dirname(os.path.realpath(chosen(C, True).path)))
    folders = [paths.LLVMLIBDIR, os.path.join(root, "lib")]
    before = [f"-B{os.path.join(paths.NATIVE, 'clang', 'gcc')}/", *(f"-Wl,-rpath,{folder}" for folder in folders)]
    return before, [f"-L{folders[1]}", "-lomptarget", "-lomp"]


def offloads(words: list[str]) -> bool:
    """Whether regions of the line get device code; the last of -fopenmp and -fno-openmp counts."""
    on = False
    for word in words:
        if word in ("-fopenmp", "-fopenmp=libomp", VIA_LLVM):
            on = True
        elif word == "-fno-openmp" or word.startswith("-fopenmp=") or word == "-fopenmp-targets=":
            on = False
        elif word == "--offload-link":
            on = True
    return on and "-static" not in words

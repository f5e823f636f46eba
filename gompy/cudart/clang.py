"""Which clang compiles CUDA C++, and what it gets so that it needs nothing of NVIDIA's."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from typing import Final

from gompy.driver import clang, paths
from gompy.driver.compiler import Compiler, which
from gompy.driver.errors import DriverError, quote

OLDEST: Final = 14
RELEASES: Final = range(22, OLDEST - 1, -1)
FOLDER: Final = os.path.join(paths.NATIVE, "cudart")
"""libcudart, and the headers below it."""
INCLUDE: Final = os.path.join(FOLDER, "include")
SDK: Final = "11.5"
"""The CUDA version that clang is told: its code then launches by cudaLaunchKernel, and ends each registration."""
PTX: Final = "+ptx70"
"""The version of PTX that it writes: the newest that all these releases know and sm_90 does not need to exceed."""
NEWER_PTX: Final = ((89, "+ptx78"), (87, "+ptx74"), (86, "+ptx71"))
"""Architectures that came later, with the first version of PTX for them."""
NO_SDK: Final = ("-nocudainc", "-nocudalib", "--cuda-path=/nonexistent")
HEADERS: Final = ("-isystem", INCLUDE, "-include", "cuda_runtime.h")


def chosen() -> Compiler:
    """GOMPY_CLANGXX, else PATH's clang++, plain or of a release.  Raises DriverError."""
    variable = clang.CXX.variable
    given = os.environ.get(variable, "").strip()
    mend = f"install clang (Debian: apt-get install clang), or set {variable}"
    names = [given] if given else ["clang++", *(f"clang++-{number}" for number in RELEASES)]
    found = [(name, path) for name in names if (path := which(name))]
    if not found:
        raise DriverError(f"{variable}: no such compiler: {quote(given)}" if given else f"no clang++ in PATH: {mend}")
    for name, path in found:
        if clang.release(path) >= OLDEST:
            return Compiler(path, [name])
    raise DriverError(f"{quote(found[0][0])} is no clang from {OLDEST} on: {mend}")


def release(path: str) -> int:
    """Of a clang."""
    return clang.release(path)


def ptx_feature(architecture: int) -> str:
    """The version of PTX for an architecture."""
    return next((version for first, version in NEWER_PTX if architecture >= first), PTX)


def library_folders(path: str) -> list[str]:
    """Where the linker looks for libraries that no -L names: LIBRARY_PATH's folders, and a clang's own."""
    try:
        done = subprocess.run([path, "-print-search-dirs"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise DriverError(f"{path}: {error.strerror}") from None
    own = [line.removeprefix("libraries: =") for line in done.stdout.splitlines() if line.startswith("libraries: =")]
    return [folder for words in (os.environ.get("LIBRARY_PATH", ""), *own) for folder in words.split(":") if folder]


UNSET: Final = ((15, "-no-enable-noundef-analysis"), (14, "-disable-noundef-analysis"))
"""For device code, by the first release that has it.  `int x; if (leader) x = atomicAdd (…); x = __shfl_sync (mask, x,
leader)` is how CUDA programs are written: other lanes pass a variable that has no value.  clang takes a function's
argument without a value for a case that cannot be, and dropped the condition.  CUDA's own compiler does not."""
KNOWS_FEATURE: Final = 15
"""The first release that has --cuda-feature."""


def feature_words(architecture: int, release: int) -> list[str]:
    """What has clang write the version of PTX."""
    feature = ptx_feature(architecture)
    if release >= KNOWS_FEATURE:
        return [f"--cuda-feature={feature}"]
    return ["-Xclang", "-target-feature", "-Xclang", feature]


def device_words(architecture: int, source: str, output: str, release: int) -> list[str]:
    """What makes PTX of a source, before the user's words, by a release of clang."""
    return [
        *("-Xclang", next(option for first, option in UNSET if release >= first)),
        *("-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch=sm_{architecture}", *NO_SDK),
        *(*feature_words(architecture, release), *HEADERS, "-fno-crash-diagnostics", "-S", source, "-o", output),
    ]


def host_words(architecture: int, source: str, container: str, output: str) -> list[str]:
    """What makes an object of it that carries the container."""
    return [
        *("-x", "cuda", "--cuda-host-only", f"--cuda-gpu-arch=sm_{architecture}", *NO_SDK, *HEADERS),
        *("-Xclang", "-fcuda-include-gpubinary", "-Xclang", container, "-Xclang", f"-target-sdk-version={SDK}"),
        *("-S" if output.endswith(".s") else "-c", source, "-o", output),
    ]


def relocatable_words(source: str, output: str) -> list[str]:
    """What a source's device code and its host code both get, where the device code is linked with other files'.

    By the id both call a file's static variables alike, and otherwise than other files' of the same name.
    """
    place = f"{os.path.abspath(source)}\0{os.path.abspath(output)}"
    cuid = f"-cuid={hashlib.sha256(place.encode()).hexdigest()[:16]}"
    return ["-fgpu-rdc", cuid, "-Xclang", cuid]  # clang's own front end hands it to the device's half only


REGISTRATION: Final = re.compile(rb"\b__cudaRegisterLinkedBinary\w+")
WRAPPER: Final = re.compile(rb"^\s*\.globl\s+__fatbinwrap\w+.*$", re.MULTILINE)
RENAMED_STATIC: Final = re.compile(rb"\b(\w+)__static__[0-9a-f_]+\b")
USED: Final = re.compile(rb"^.*\b__clang_gpu_used_external\[.*$", re.MULTILINE)


def registered_here(assembly: bytes) -> bytes:
    """Relocatable host code that calls libcudart: clang's calls what nvlink makes, by a name for each file."""
    return WRAPPER.sub(b"", REGISTRATION.sub(b"__gompyRegisterLinkedBinary", assembly))


def linkable(source: str, ptx: bytes) -> bytes:
    """Relocatable device code with the source's name in front (linked.pxi), and without clang's list of what the host
    uses: other files' kernels are in it, which are no functions.

    A static variable that a kernel uses before the host does has two names in clang's code: that of the definition is
    the right one, for the host has it, too.
    """
    text = USED.sub(b"", ptx)
    for name, full in {(found[1], found[0]) for found in RENAMED_STATIC.finditer(text)}:
        text = re.sub(rb"^\.extern\b[^;]*\b%s\b[^;]*;$" % name, b"", text, flags=re.MULTILINE)
        text = re.sub(rb"\b%s\b" % name, full, text)
    return b"// %s.ptx\n%s" % (os.fsencode(os.path.basename(source)), text)


HOST_SOURCES: Final = (".c", ".cc", ".cpp", ".cxx", ".C", ".c++")
"""Files that clang compiles without CUDA."""


def host_source_words(words: list[str]) -> list[str]:
    """What lets host sources on a command line include the interfaces' headers."""
    return ["-isystem", INCLUDE] if any(word.endswith(HOST_SOURCES) for word in words) else []


def link_words(words: list[str]) -> list[str]:
    """What a link gets behind the user's words: the runtime, found where it lies now; a driver to link to, if asked
    for one.  Which driver a program gets is decided when it starts."""
    driver = [f"-L{paths.CUDALIBDIR}"] if "-lcuda" in words else []
    return [*driver, f"-L{FOLDER}", f"-Wl,-rpath,{FOLDER}", "-lcudart"]

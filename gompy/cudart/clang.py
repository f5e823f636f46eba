"""Which clang compiles CUDA C++, and what it gets so that it needs nothing of NVIDIA's."""

from __future__ import annotations

import os
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


UNSET: Final = ("-Xclang", "-no-enable-noundef-analysis")
"""For device code.  `int x; if (leader) x = atomicAdd (…); x = __shfl_sync (mask, x, leader)` is how CUDA programs are
written: other lanes pass a variable that has no value.  clang takes a function's argument without a value for a case
that cannot be, and dropped the condition.  CUDA's own compiler does not."""
KNOWS_UNSET: Final = 15
"""The first release that does so, and has the option."""
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
        *(UNSET if release >= KNOWS_UNSET else ()),
        *("-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch=sm_{architecture}", *NO_SDK),
        *(*feature_words(architecture, release), *HEADERS, "-S", source, "-o", output),
    ]


def host_words(architecture: int, source: str, container: str, output: str) -> list[str]:
    """What makes an object of it that carries the container."""
    return [
        *("-x", "cuda", "--cuda-host-only", f"--cuda-gpu-arch=sm_{architecture}", *NO_SDK, *HEADERS),
        *("-Xclang", "-fcuda-include-gpubinary", "-Xclang", container, "-Xclang", f"-target-sdk-version={SDK}"),
        *("-c", source, "-o", output),
    ]


def link_words() -> list[str]:
    """What a link gets behind the user's words: the runtime, found where it lies now."""
    return [f"-L{FOLDER}", f"-Wl,-rpath,{FOLDER}", "-lcudart"]

"""An image for nvptx64 without anything of NVIDIA's: PTX, made of the objects' LLVM IR and clang's device runtime.

Two images are made.  libgompy takes the PTX, on a GPU as on the emulated one; LLVM's own library, which takes no PTX,
the LLVM IR.
"""

from __future__ import annotations

import glob
import os
import subprocess

from gompy import NATIVE
from gompy.tools.process import ToolError, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gompy.tools.process import Temps

TRIPLE = "nvptx64-nvidia-cuda"
DATA_LAYOUT = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
SETTINGS = (
    "debug_kind",
    "assume_teams_oversubscription",
    "assume_threads_oversubscription",
    "assume_no_thread_state",
    "assume_no_nested_parallelism",
)
"""Of the device runtime's behaviour, all 0; clang defines them where it is not told -nogpulib."""

OF_DRIVER = {"free", "malloc", "vprintf", "__assertfail"}
"""What device code needs and the CUDA driver has: CUDA's kernels by `-foffload-via-llvm` need no more."""


INTRODUCED = (
    "__kmpc_get_hardware_thread_id_in_block",
    "__kmpc_get_hardware_num_threads_in_block",
    "__kmpc_get_warp_size",
    "__kmpc_barrier_simple_spmd",
    "__kmpc_barrier_simple_generic",
    "__kmpc_kernel_parallel",
    "__kmpc_kernel_end_parallel",
    "__kmpc_is_spmd_exec_mode",
)
"""Functions of the device runtime that LLVM's OpenMPOpt calls, whether the objects did or not."""


def calls(names: list[str]) -> str:
    """LLVM IR that asks for those functions: the compilation of the whole may call them."""
    lines = [f'target datalayout = "{DATA_LAYOUT}"', f'target triple = "{TRIPLE}"']
    lines += [f"declare void @{name}()" for name in names]
    used = ", ".join(f"ptr @{name}" for name in names)
    lines.append(f'@llvm.compiler.used = appending global [{len(names)} x ptr] [{used}], section "llvm.metadata"')
    return "\n".join(lines) + "\n"


def settings() -> str:
    """LLVM IR that defines what the objects leave open."""
    lines = [f'target datalayout = "{DATA_LAYOUT}"', f'target triple = "{TRIPLE}"']
    lines += [f"@__omp_rtl_{name} = weak_odr hidden constant i32 0" for name in SETTINGS]
    return "\n".join(lines) + "\n"


def release_of(clang: str) -> str:
    """clang's release, by Debian's folder of it."""
    return os.path.basename(os.path.dirname(os.path.dirname(os.path.realpath(clang)))).rpartition("-")[2]


def device_runtime(clang: str, arch: str) -> str:
    """The file of clang's device runtime for an architecture: in LIBRARY_PATH or beside clang, as clang looks for it.

    Raises ToolError.
    """
    root = os.path.dirname(os.path.dirname(os.path.realpath(clang)))
    folders = [*filter(None, os.environ.get("LIBRARY_PATH", "").split(":")), os.path.join(root, "lib")]
    for folder in folders:
        path = os.path.join(folder, f"libomptarget-nvptx-{arch}.bc")
        if os.path.exists(path):
            return path
    found = [name for folder in folders for name in glob.glob(os.path.join(folder, "libomptarget-nvptx-*"))]
    there = sorted({name.partition("nvptx-")[2][:-3] for name in found})
    if there:
        raise ToolError(f"no device runtime for {arch} beside {clang}: it has {', '.join(there)}")
    raise ToolError(f"no device runtime beside {clang}: install libomp-{release_of(clang)}-dev")


def ptx_version(clang: str, arch: str) -> list[str]:
    """Without a CUDA installation clang 20 and later take PTX 4.2 for the module, and refuse newer architectures."""
    release = release_of(clang)
    if not release.isdecimal() or int(release) < 20:
        return []
    number = int("".join(letter for letter in arch if letter.isdecimal()) or 0)
    return ["-Xclang", "-target-feature", "-Xclang", "+ptx78" if number > 86 else "+ptx70"]


class PtxLink:
    """The steps; ``run``: shows and runs a command."""

    def __init__(
        self,
        clang: str,
        arch: str,
        level: list[str],
        tool: Callable[[str], str],
        command: Callable[[list[str]], None],
        temps: Temps,
    ) -> None:
        self.clang = clang
        self.arch = arch
        self.level = level
        self.tool = tool
        self.run = command
        self.temps = temps

    def symbols(self, file: str, which: str) -> set[str]:
        """The symbols that a file of LLVM IR needs (-u) or defines (-U).  Raises ToolError."""
        done = subprocess.run([self.tool("llvm-nm"), which, "-j", file], capture_output=True, text=True)
        if done.returncode:
            raise ToolError(f"{file}: {done.stderr.strip()}")
        return {*done.stdout.split()}

    def needs_runtime(self, files: list[str]) -> bool:
        """Whether objects leave open more than math and what the driver has: kernels of CUDA do not."""
        names = {name for file in files for name in self.symbols(file, "-u")}
        return not all(name.startswith("__nv_") or name in OF_DRIVER for name in names)

    def math(self) -> str:
        """Our device functions, as LLVM IR (gompy/cudart/include/gompy_libdevice.h)."""
        source, output = self.temps.name(".cu"), self.temps.name(".libdevice.bc")
        write_file(source, "#include <cuda_runtime.h>\n")
        function = 'extern "C" __attribute__ ((device))'
        words = [f"--cuda-gpu-arch={self.arch}", "-nocudainc", "-nocudalib", "--cuda-path=/nonexistent"]
        words += ["--cuda-feature=+ptx70", "-isystem", os.path.join(NATIVE, "cudart", "include")]
        words += ["-include", "cuda_runtime.h", f"-DGOMPY_NV={function}", f"-DGOMPY_NVI={function}"]
        self.run(
            [self.clang, "-x", "cuda", "--cuda-device-only", *words, "-O2", "-emit-llvm", "-c", source, "-o", output]
        )
        return output

    def introduced(self, runtime: str) -> list[str]:
        """A file that asks for what the compilation may call; LLVM 14 reads none with pointers of no type."""
        if release_of(self.clang) == "14":
            return []
        there = self.symbols(runtime, "-U")
        asked = self.temps.name(".calls.ll")
        write_file(asked, calls([name for name in INTRODUCED if name in there]))
        return [asked]

    def joined(self, output: str, files: list[str], dry: bool, openmp: bool) -> None:
        """One file of LLVM IR that needs nothing but what the driver has.  Raises ToolError.

        openmp: with the device runtime that OpenMP's regions need.
        """
        first = self.temps.name(".objects.bc")
        runtime: list[str] = []
        if openmp and (dry or self.needs_runtime(files)):
            runtime = [device_runtime(self.clang, self.arch), self.temps.name(".settings.ll")]
            write_file(runtime[1], settings())
            files = [*files, *self.introduced(runtime[0])]
        self.run([self.tool("llvm-link"), "-o", first, *files])
        needs_math = not dry and any(name.startswith("__nv_") for name in self.symbols(first, "-u"))
        more = [*([self.math()] if needs_math else []), *runtime]
        self.run([self.tool("llvm-link"), "-o", output, first, "--only-needed", "--internalize", *more])

    def ptx(self, output: str, joined: str) -> None:
        """PTX of it.  Raises ToolError."""
        # Since 20 clang has its -foffload-lto handed on, with which -S would make LLVM IR.
        level = [word for word in self.level if not word.startswith("-flto")]
        words = [f"--target={TRIPLE}", f"-march={self.arch}", *level, "-nocudalib", "--cuda-path=/nonexistent"]
        words += ptx_version(self.clang, self.arch)
        self.run([self.clang, *words, "-Wno-unknown-cuda-version", "-S", "-x", "ir", joined, "-o", output])

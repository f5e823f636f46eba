"""LLVM, through the C functions of llvmlite's library.

llvmlite's own Python modules are not imported: they take several times as long to load as LLVM itself, and the compiler
is started anew for each image.  The functions used are those that `llvmlite.binding` calls (llvmlite 0.46 and later).
"""

from __future__ import annotations

import ctypes
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TRIPLE = b"x86_64-unknown-linux-gnu"
INPLACE = os.path.join("llvmlite", "binding", "libllvmlite.so")


class BackendError(Exception):
    """LLVM refuses what it was given: a mistake of the compiler's own."""


def find_library() -> str:
    """The path of llvmlite's library; raises ModuleNotFoundError."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    top = os.path.dirname(os.path.dirname(sys.executable))
    path = os.path.join(top, "lib", version, "site-packages", INPLACE)
    if os.path.exists(path):
        return path
    if sys.flags.no_site:
        import site

        site.main()
    for folder in sys.path:
        if os.path.exists(os.path.join(folder, INPLACE)):
            return os.path.join(folder, INPLACE)
    raise ModuleNotFoundError("No module named 'llvmlite'", name="llvmlite")


class Backend:
    """LLVM for one CPU.  `name` and `features` describe it in LLVM's words."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(find_library())
        self.call("InitializeNativeTarget")
        self.call("InitializeNativeAsmPrinter")
        self.name = os.environ.get("GOMPY_PTX_CPU", "")
        self.features = ""
        if not self.name:
            text = ctypes.c_char_p()
            self.call("GetHostCPUName", ctypes.byref(text))
            self.name = (text.value or b"").decode()
            if self.call("GetHostCPUFeatures", ctypes.byref(text), result=ctypes.c_int):
                self.features = (text.value or b"").decode()
        self.machines: dict[int, Any] = {}

    def call(self, name: str, *arguments: Any, result: Any = ctypes.c_void_p) -> Any:
        """Call `LLVMPY_<name>`; results are pointers if nothing else is said."""
        function = getattr(self.library, f"LLVMPY_{name}")
        function.restype = result
        return function(*[ctypes.c_void_p(a) if isinstance(a, int) and a > 0xFFFF else a for a in arguments])

    def machine(self, level: int) -> Any:
        """The target machine; `level`: 0 quick to compile, 2 quick to run."""
        if level not in self.machines:
            error = ctypes.c_char_p()
            target = self.call("GetTargetFromTriple", TRIPLE, ctypes.byref(error))
            self.machines[level] = self.call(
                "CreateTargetMachine", target, TRIPLE, self.name.encode(), self.features.encode(), level,
                b"pic", b"small", 0, 0, b"",
            )  # fmt: skip
            if not self.machines[level]:
                raise BackendError(f"no target machine for CPU '{self.name}'")
        return self.machines[level]

    def compile(self, text: str, level: int, passes: tuple[str, ...]) -> bytes:
        """An ELF object of a module's text.  `passes`: LLVM's in order; `O1`, `O2` stand for its own pipelines."""
        error = ctypes.c_char_p()
        machine = self.machine(level)
        context = self.call("GetGlobalContext")
        module = self.call("ParseAssembly", context, text.encode("utf-8", "surrogateescape"), ctypes.byref(error))
        if error.value:
            raise BackendError(error.value.decode("utf-8", "replace").strip().replace("\n", " "))
        options = self.call("CreatePipelineTuningOptions")
        self.call("PTOSetLoopVectorization", options, False)
        self.call("PTOSetSLPVectorization", options, False)
        builder = self.call("CreatePassBuilder", machine, options)
        if passes[0] in ("O1", "O2"):
            manager = self.call("buildPerModuleDefaultPipeline", builder, int(passes[0][1]), 0)
        else:
            manager = self.call("CreateNewModulePassManager")
            for name in passes:
                self.call(f"module_Add{name}Pass", manager)
        self.call("RunNewModulePassManager", manager, module, builder)
        buffer = self.call("TargetMachineEmitToMemory", machine, module, 1, ctypes.byref(error))
        if not buffer:
            raise BackendError((error.value or b"no object").decode("utf-8", "replace"))
        elf = ctypes.string_at(
            self.call("GetBufferStart", buffer), self.call("GetBufferSize", buffer, result=ctypes.c_size_t)
        )
        self.call("DisposeMemoryBuffer", buffer)
        self.call("DisposeModule", module)
        return elf

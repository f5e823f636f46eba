"""LLVM beside the rest of the compiler: it is loaded, and compiles, on threads while Python goes on."""

from __future__ import annotations

import _thread
import os
import sys

from . import llvm
from .native import cpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Generic, TypeVar

    T = TypeVar("T")
else:  # the module typing takes as long to load as a kernel takes to parse
    T = None
    Generic = {T: object}

INPLACE = os.path.join("llvmlite", "binding", "libllvmlite.so")


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


class Running(Generic[T]):
    """A function at work on a thread; with one processor, one that is called when its result is wanted."""

    def __init__(self, work: Callable[..., T], *arguments: object) -> None:
        self.work = work
        self.arguments = arguments
        self.found: list[T] = []
        self.error: BaseException | None = None
        self.lock = _thread.allocate_lock()
        self.threaded = len(os.sched_getaffinity(0)) > 1
        if self.threaded:
            self.lock.acquire()
            try:
                _thread.start_new_thread(self.run, ())
            except RuntimeError:  # the user's processes are limited, and there are as many as that
                self.threaded = False
                self.lock.release()

    def run(self) -> None:
        """The thread."""
        try:
            self.found.append(self.work(*self.arguments))
        except BaseException as error:  # raised where the result is wanted
            self.error = error
        finally:
            if self.threaded:
                self.lock.release()

    def result(self) -> T:
        """Wait; returns what the function returned, or raises what it raised."""
        with self.lock:
            if not self.found and self.error is None:
                self.run()
        if self.error is not None:
            raise self.error
        return self.found[0]


class Backend:
    """LLVM for one CPU.  `name` and `features` describe it in LLVM's words."""

    def __init__(self) -> None:
        try:
            llvm.load(find_library())
        except llvm.BackendError as error:
            if "failed to map segment" in str(error) or "annot allocate memory" in str(error):
                raise MemoryError from None
            raise
        self.name = os.environ.get("GOMPY_PTX_CPU", "")
        self.features = ""
        if not self.name:
            self.name, self.features = llvm.host_cpu()

    def compile(self, text: str, level: int, passes: tuple[str, ...]) -> bytes:
        """An ELF object of a module's text; see llvm.compile."""
        return llvm.compile(text.encode("utf-8", "surrogateescape"), self.name, self.features, level, passes)


backends: list[Running[Backend]] = []


SLOW_GATHERS = ("znver",)
"""How LLVM's names of processors begin whose gathers are microcode: AMD's Zen, where an element costs about a cycle,
whether its lane is on or off.  Intel's take half of that, or less."""


def gathers_slowly() -> bool:
    """Whether a scalar load takes the processor no longer than a gather does for the same lane."""
    return start().result().name.startswith(SLOW_GATHERS)


WITH_MASKS = (
    "x86-64-v4", "skylake-avx512", "skx", "cascadelake", "cooperlake", "cannonlake", "icelake", "rocketlake",
    "tigerlake", "sapphirerapids", "emeraldrapids", "graniterapids", "diamondrapids", "knl", "knm", "znver4", "znver5",
)  # fmt: skip
"""How LLVM's names of processors begin that have AVX-512, for GOMPY_PTX_CPU."""
AVX512F, KEPT = 1 << 16, 0xE0
"""Of the words that cpu.h has: in EBX of leaf 7, and what of AVX-512's registers the system keeps (XCR0)."""
masks: list[bool] = []


def has_masks() -> bool:
    """Whether the processor has registers for masks (AVX-512).  It is asked itself: LLVM may not be loaded yet."""
    name = os.environ.get("GOMPY_PTX_CPU", "")
    if name:
        return name.startswith(WITH_MASKS)
    if not masks:
        _, _, features, *_, system = (int(word, 16) for word in cpu().split("-"))
        masks.append(features & AVX512F != 0 and system & KEPT == KEPT)
    return masks[0]


def start() -> Running[Backend]:
    """Begin to load LLVM, if nobody has yet."""
    if not backends:
        backends.append(Running(Backend))
    return backends[0]

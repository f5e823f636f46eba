"""The program of ``gompy run``: found as a shell would, and looked at before it starts."""

from __future__ import annotations

import errno
import os

from gompy import UserError
from gompy.abi import llvm, targets
from gompy.objects.names import OFFLOAD_FUNC_SECTION
from gompy.tools.child import output_of

TYPE_CHECKING = False  # what this module imports each program waits for
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from gompy.objects.view import ElfView

NOT_FOUND: Final = 127
NOT_RUN: Final = 126
"""Exit statuses of a shell for a command that is not there, and for one that cannot be executed."""
LOADER_SECONDS: Final = 20
"""How long the loader may look for a program's libraries."""

CLANG_TARGETS: Final = {"x86_64": targets.INTELMIC.name, "nvptx64": targets.NVPTX.name}
"""The kind of device that runs an image of clang's, by the begin of its triple."""

CUDA_SECTION: Final = ".nv_fatbin"
"""Where nvcc and clang put the kernels of CUDA C++."""
ALL_THE_SAME: Final = "; --any runs it all the same"

DATA_CALLS: Final = ("GOMP_target_", "GOACC_", "omp_target_", "acc_", "__tgt_target_data_")
"""How the names of functions begin by which a program maps data, or asks for a device's memory, without a region."""


class RunError(UserError):
    """Why a program is not started; ``status`` is the exit status that says so."""

    def __init__(self, text: str, status: int = NOT_RUN) -> None:
        super().__init__(text)
        self.status = status


class Program:
    """A program that can be started: its path, whether libgompy must be preloaded, its regions' targets.

    stock_clang: it would take LLVM's libomptarget, in whose place gompy's has to be found.
    cuda: it has no regions, but kernels of CUDA.
    maps_data: it has no regions, but directives or routines for a device's data.
    """

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path
        self.preload = False
        self.stock_clang = False
        self.cuda = False
        self.maps_data = False
        self.later: list[Callable[[], None]] = []  # reads images and tables, if somebody asks: most runs do not
        self._targets: set[str] = set()
        self._regions: list[str] = []

    @property
    def targets(self) -> set[str]:
        """The names of its images' targets."""
        self._read()
        return self._targets

    @property
    def regions(self) -> list[str]:
        """The names of its regions."""
        self._read()
        return self._regions

    def add(self, regions: list[str], images: set[str]) -> None:
        """A file of it has these regions, and images for these targets."""
        self._regions += regions
        self._targets |= images

    def _read(self) -> None:
        later, self.later = self.later, []
        for step in later:
            step()


def find(name: str) -> str:
    """The path of a program; RunError if there is none that may be executed."""
    path: str | None = name
    if "/" not in name:
        import shutil

        path = shutil.which(name)
    if path is None or not os.path.exists(path):
        hint = f" in PATH; ./{name} is here" if "/" not in name and os.path.isfile(name) else ""
        raise RunError(f"{name}: {os.strerror(errno.ENOENT)}{hint}", NOT_FOUND)
    if os.path.isdir(path):
        raise RunError(f"{name}: {os.strerror(errno.EISDIR)}")
    if not os.access(path, os.X_OK):
        raise RunError(f"{name}: {os.strerror(errno.EACCES)}: it is not executable")
    return path


def look_at(
    name: str, any_program: bool, recorded: bool = False, cuda: bool = False, offer_any: bool = True
) -> Program:
    """Find a program and see what it is; RunError where gompy's settings would not count in it, or for nothing.

    ``any_program``: it may be one without regions (an interpreter that loads libraries, a script); ``recorded``: it is
    run for a recording of its regions; ``cuda``: kernels of CUDA will do; ``offer_any``: the command has ``--any``.
    """
    path = find(name)
    program = Program(name, path)
    mode = os.stat(path)
    users, groups = mode.st_mode & 0o4000 and mode.st_uid != os.geteuid(), mode.st_mode & 0o2000
    if users or (groups and mode.st_gid != os.getegid()):
        which = "set-user-ID" if users else "set-group-ID"
        raise RunError(f"{name}: it is {which}: its caller's variables, all that gompy run sets, do not count in it")
    if _has_capabilities(path):
        raise RunError(f"{name}: it has file capabilities: its caller's variables do not count in it")
    elf = _elf(path, name)
    if elf is None:
        if not any_program:
            raise RunError(f"{name}: it is no ELF program, so it has no regions{ALL_THE_SAME if offer_any else ''}")
        program.preload = True
        return program
    has_regions = _linked(program, elf) or (program.maps_data and not recorded)
    if cuda and not has_regions and CUDA_SECTION in elf.by_name:
        program.cuda, program.preload = True, False
    elif not has_regions and not any_program:
        raise RunError(f"{name}: {_lacking(elf, name, offer_any)}")
    return program


def _lacking(elf: ElfView, name: str, offer_any: bool) -> str:
    """What to say of a program without regions."""
    if CUDA_SECTION in elf.by_name:
        how = f"gompy cuda run -- {name} runs it" if offer_any else "no other device runs them"
        return f"it has no target regions, but kernels of CUDA: {how}"
    what = "it has no target regions, nor has a library that it is linked with"
    return f"{what} (compiled without -fopenmp or -fopenacc?){ALL_THE_SAME if offer_any else ''}"


def _has_capabilities(path: str) -> bool:
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False


def _elf(path: str, name: str) -> ElfView | None:
    from gompy.objects.view import Damaged, ElfView

    with open(path, "rb") as file:
        data = file.read()
    if not data.startswith(b"\x7fELF"):
        return None
    try:
        return ElfView(data, name)
    except Damaged as error:
        raise RunError(str(error)) from None


def _linked(program: Program, elf: ElfView) -> bool:
    """Fill in what an ELF program is: its regions and images, and those of the libraries that it is linked with.

    Whether there are regions.
    """
    from gompy.objects import dynamic

    name = program.name
    if elf.kind != "executable":
        raise RunError(f"{name}: it is no program, but a {elf.kind}{' library' if elf.kind == 'shared' else ' file'}")
    if dynamic.is_static(elf):
        raise RunError(f"{name}: it is static: devices come with a shared library; link it without -static")
    libraries = _libraries(program.path)
    # The first library in the loader's order that has GOMP_target_ext is asked: libgomp, too, has it.
    runtimes = [library for library in libraries if library.startswith(("libgomp.so", "libgompy.so"))]
    program.preload = not runtimes or not runtimes[0].startswith("libgompy")
    ours = any(name.startswith("libgompy") for name in libraries)
    program.stock_clang = not ours and any(name.startswith("libomptarget.so") for name in libraries)
    if program.stock_clang and not runtimes:
        program.preload = False
    clang = ours or program.stock_clang
    has_regions = _take(program, elf) | (clang and _take_clang(program, elf))
    files = [elf]
    for path in libraries.values():
        if path and not path.startswith(("/lib/", "/lib64/", "/usr/lib/")) and "libgomp" not in os.path.basename(path):
            library = _elf(path, path)
            if library is not None:
                has_regions |= _take(program, library) | (clang and _take_clang(program, library))
                files.append(library)
    program.maps_data = not has_regions and any(map(_calls_for_data, files))
    return has_regions


def _calls_for_data(elf: ElfView) -> bool:
    """Whether a linked file calls the runtime for a device's data."""
    from gompy.objects.elf import SHT_DYNSYM
    from gompy.objects.view import Damaged

    try:
        symbols = [s for table in elf.sections if table.type == SHT_DYNSYM for s in elf.symbols(table)]
    except Damaged:
        return False
    return any(symbol.shndx == 0 and symbol.name.startswith(DATA_CALLS) for symbol in symbols)


def _take_clang(program: Program, elf: ElfView) -> bool:
    """The same of regions by clang."""
    entries = (llvm.ENTRIES_SECTION, llvm.NEWER_ENTRIES_SECTION)
    if not any(section.name in entries and section.size for section in elf.sections):
        return False
    program.later.append(lambda: _read_clang(program, elf))
    return True


def _read_clang(program: Program, elf: ElfView) -> None:
    from gompy.objects import clang_images
    from gompy.objects.view import Damaged

    try:
        found = clang_images.read_clang(elf)
    except Damaged:
        return
    program.add([entry.name for entry in found.entries if entry.is_region and entry.name], set())
    for image in found.images:
        triple = image.target if image.binary.triple or image.extension != "so" else "x86_64"
        program.add([], {name for start, name in CLANG_TARGETS.items() if triple.startswith(start)})


def _take(program: Program, elf: ElfView) -> bool:
    """Note a file with regions; whether it has some."""
    if not any(section.name == OFFLOAD_FUNC_SECTION and section.size for section in elf.sections):
        return False
    program.later.append(lambda: _read(program, elf))
    return True


def _read(program: Program, elf: ElfView) -> None:
    """Note a file's regions and the targets of its images."""
    from gompy.objects import images, tables
    from gompy.objects.view import Damaged

    try:
        program.add([entry.name for entry in tables.read_tables(elf).funcs if entry.name], set())
        program.add([], {image.target for image in images.find_images(elf)})
    except Damaged:
        pass  # the program may run all the same; gompy verify tells


def _libraries(path: str) -> dict[str, str]:
    """The libraries that the loader would take, by name, with their paths; the loader itself is asked, as ldd does."""
    env = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1", "LC_ALL": "C"}
    found = {}
    for line in output_of(path, env, LOADER_SECONDS).decode("utf-8", "surrogateescape").splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        path = (rest if arrow else name).rpartition(" (")[0]
        # One that is linked by its path has that alone, the kernel's own (linux-vdso.so.1) no path.
        found[name if arrow else os.path.basename(path)] = path if arrow or "/" in path else ""
    return found

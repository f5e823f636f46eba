"""The accelerator compiler: an lto1 that ``gompy accel build`` has built, run by the host's gcc (docs/accel.md)."""

from __future__ import annotations

import os

from gompy.abi.gcc import REQUIRES_FILE
from gompy.objects.names import ACCEL_TRUE
from gompy.tools import accelstore as store
from gompy.tools.linkcompiler import search_folders
from gompy.tools.process import Child, child_failed, write_file
from mkoffload.accel import VARIABLE, Compilation, Compiler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mkoffload.inputs import Input

CLASSES_CUT = (
    "GCC 12 streams only parts of classes with virtual functions to accelerator compilers; gcc's own lto1 can make "
    f"this image: {VARIABLE}=gcc, or auto, which takes it where the other fails"
)


class TrueCompiler(Compiler):
    """An lto1 of the user's (or the system's) data folder.

    The host's gcc runs it: with its folder first (-B) the driver finds it before its own, and translates options as
    for the host, whose instruction set the device has.  (GCC's own way, a driver of the accelerator's, would need its
    specs to be built as well.)
    """

    accel = ACCEL_TRUE

    def __init__(self, found: store.Installed) -> None:
        self.folder = found.path
        self.takes_plugins = found.conf.get("plugins") == "yes"  # else it was built by an older gompy
        self.title = f"{found.lto1} ({found.conf.get('compiler', '')})"

    def missing(self, item: Input) -> tuple[str, str]:
        """Its offload streams were taken out, or never written."""
        why = "has offload tables but no .gnu.offload_lto_ sections (taken out by strip or objcopy?)"
        return why, "compile it again"

    def compile(self, given: Compilation) -> list[str]:
        """As GCC's intelmic mkoffload calls its compiler, but that linking is done apart."""
        log = given.job.log
        given.job.env[REQUIRES_FILE] = given.job.path(
            ".mkoffload.omp_requires"
        )  # written; our own reading is registered
        output = given.job.path(".o", ".mkoffload.o")
        command = self.command(given, output, [])
        status, errors = given.job.compile(command)
        log.text(errors)
        if status and any(name in errors for name in ("'_ZT", "‘_ZT", "*.LTHUNK")):
            log.error(CLASSES_CUT)
        if status:
            raise child_failed(command[0], status)
        return [output, *(self._debug_objects(given) if given.debug_wanted() else [])]

    def flags(self, given: Compilation) -> list[str]:
        """Its lto1 is found before the host's."""
        return [f"-B{self.folder}/", "-foffload-abi=lp64", "-fno-semantic-interposition"]

    def _debug_objects(self, given: Compilation) -> list[str]:
        """What the objects have of early debug information, each in a file of its own for the linker."""
        from mkoffload.earlydebug import debug_object

        names = []
        for index, item in enumerate(given.inputs):
            data = debug_object(item.elf) if item.debug else None
            if data is not None:
                names.append(os.path.join(given.job.folder, f"debug{index}.o"))
                write_file(names[-1], data)
        return names


def host_lto1(gcc: str, env: dict[str, str]) -> str:
    """The host's lto1: that in COMPILER_PATH, else where the compiler says it is."""
    lto1 = store.host_lto1(search_folders())
    if not lto1:
        text = Child([gcc, "-print-prog-name=lto1"], env, capture_stdout=True).wait()[1]
        lto1 = text.decode("utf-8", "surrogateescape").strip()
    return lto1


def host_identity(gcc: str, env: dict[str, str]) -> str:
    """The identity of the host's lto1."""
    return store.identity(host_lto1(gcc, env))

"""The emulated device's compilers behind one interface: device code of objects in table order in, relocatables out.

``StockCompiler``: gcc's own lto1, from the host LTO streams; always there.  ``TrueCompiler``: an lto1 configured as an
accelerator (docs/accel.md), from the streams made for accelerators, those in plain gcc's objects included; taken where
it is built (truecompiler.py).  Which, GOMPY_ACCEL says (intelmic.py).
"""

from __future__ import annotations

import os

from gompy.objects.lto import resolution_text, resolve
from gompy.objects.names import ACCEL_STOCK, TARGET_INTELMIC
from gompy.objects.naming import rule_for
from gompy.tools.linkcompiler import find_stock_wrapper
from gompy.tools.process import Child, ToolError, child_failed
from mkoffload.inputs import asks_for_debug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gompy.objects.naming import Rule
    from gompy.tools.messages import Log
    from mkoffload.inputs import Input
    from mkoffload.job import Job

VARIABLE = "GOMPY_ACCEL"
PASS_NOTE = "disable pass ipa-cdtor for functions"
IMAGE_FLAGS = ("-fPIC", "-ffunction-sections", "-fdata-sections", "-flto-partition=none", "-Wno-psabi")
"""Options of every image.  Of calling conventions the host's compilation has warned already, where it was to."""

DYNAMIC = "-flinker-output=dyn"
"""The image is a shared object."""


class Compilation:
    """What a compiler is given.

    ``words``: options; ``inputs``: the objects that it can read, in table order; ``exported``: vtables and type
    information that it has to keep; ``dumpbase``: beginning of dumps' names; ``accel_only``: an object was compiled for
    accelerator compilers alone.
    """

    def __init__(self, job: Job, gcc: str, words: list[str], dumpbase: str, accel_only: bool) -> None:
        self.job = job
        self.gcc = gcc
        self.words = words
        self.dumpbase = dumpbase
        self.accel_only = accel_only
        self.inputs: list[Input] = []
        self.exported: list[str] = []

    @property
    def files(self) -> list[str]:
        """What the compiler reads."""
        return [item.device_file for item in self.inputs]

    def debug_wanted(self) -> bool:
        """Whether an option asks for debug information, and each object has what lto1's would refer to."""
        return asks_for_debug(self.words) and not any(item.lost_debug for item in self.inputs)


class Compiler:
    """What both have.

    ``accel``: the number in the image's description; ``title``: what -v shows; ``takes_plugins``: whether it loads any.
    """

    accel: int
    title: str
    takes_plugins = True

    @property
    def rule(self) -> Rule:
        """What of the names of table entries host and image must agree in."""
        return rule_for(TARGET_INTELMIC, self.accel == ACCEL_STOCK)

    def missing(self, item: Input) -> tuple[str, str]:
        """What an object without the streams that this compiler reads lacks, and what to do about it."""
        raise NotImplementedError

    def compile(self, given: Compilation) -> list[str]:
        """Compile; the relocatable with the image's code and tables comes first.  Raises ToolError."""
        raise NotImplementedError

    def flags(self, given: Compilation) -> list[str]:
        """Options of this compiler alone."""
        raise NotImplementedError

    def assembly(self, given: Compilation) -> str:
        """The image's code as assembly with line numbers, after ``compile`` has succeeded; empty if that fails."""
        output = os.path.join(given.job.folder, "lines.s")
        words = self.command(given, output, ["-g1"])
        words = [w for w in words if not w.startswith(("-save-temps", "-fdump-")) and w != "-v"]
        words[words.index("-c")] = "-S"
        if not given.job.ask(words):
            return ""
        with open(output, encoding="utf-8", errors="replace") as file:
            return file.read()

    def command(self, given: Compilation, output: str, more: list[str]) -> list[str]:
        """gcc as the device's compiler."""
        save_temps = bool(given.job.base)
        no_debug = ["-g0"] if asks_for_debug(given.words) and not given.debug_wanted() else []
        words = [given.gcc, "-xlto", "-c", *given.words, *IMAGE_FLAGS, *self.flags(given), *no_debug, *more]
        words.append("-save-temps" if save_temps else "-pipe")
        if save_temps or any(word.startswith("-fdump-") for word in given.words):
            # Dumps lie beside the output by GCC's name: OUTPUT.xTARGET.mkoffload.NNNt.PASS.
            words += ["-dumpdir", "", "-dumpbase", given.dumpbase + ".mkoffload", "-dumpbase-ext", ""]
        words += ["-v"] if given.job.log.verbose else []
        return [*words, *given.files, "-o", output]


class StockCompiler(Compiler):
    """gcc's own lto1."""

    accel = ACCEL_STOCK

    def __init__(self, note: str = "") -> None:
        self.title = f"gcc's own lto1{note}"

    def missing(self, item: Input) -> tuple[str, str]:
        """Both mends: the object compiled again, or a compiler that reads what it has."""
        or_else = ", or take it as it is: gompy accel build" if item.has_offload_streams else ""
        return f"no device code for {TARGET_INTELMIC}", f"compile it with gompcc{or_else}"

    def compile(self, given: Compilation) -> list[str]:
        """With a resolution file, as the linker plugin would write one for the image's link."""
        if given.accel_only:
            raise ToolError(
                f"objects compiled with {VARIABLE}=true are for the accelerator compiler alone (their acc_on_device "
                f"is folded): link them with {VARIABLE}=true, or compile them again"
            )
        resolved = resolve([i.symbols for i in given.inputs], given.exported)
        given.job.write(self._resolution(given), resolution_text(given.files, resolved))
        if given.debug_wanted() and any(i.debug for i in given.inputs):
            return self._compile_with_debug(given)
        output = given.job.path(".o", ".mkoffload.o")
        command = self.command(given, output, [])
        status, errors = given.job.compile(command)
        say_notes(given.job.log, errors)
        if status:
            raise child_failed(command[0], status)
        return [output]

    def flags(self, given: Compilation) -> list[str]:
        """With the resolution file that ``compile`` has written."""
        return [f"-fresolution={self._resolution(given)}", DYNAMIC]

    def _resolution(self, given: Compilation) -> str:
        return given.job.path(".res", ".mkoffload.res")

    def _compile_with_debug(self, given: Compilation) -> list[str]:
        """With early debug information in the objects, GCC's own lto-wrapper: it makes objects of that, too.

        lto1's debug information refers to what the front ends wrote (``.gnu.debuglto_*``).
        """
        job = given.job
        flags = [*given.words, *IMAGE_FLAGS, "-o", job.path(".o", ".mkoffload.o")]
        flags += ["-v"] if job.log.verbose else []
        env = dict(job.env)
        env["COLLECT_GCC"] = given.gcc
        if not job.base:
            env["TMPDIR"] = job.folder  # told to end, it leaves its files where they are
        env["COLLECT_GCC_OPTIONS"] = " ".join("'" + word.replace("'", "'\\''") + "'" for word in flags)
        command = [self._stock_wrapper(given), *self.flags(given), *given.files]
        job.log.command(command)
        status, names, captured = job.start(command, env, True).wait()
        say_notes(job.log, captured.decode("utf-8", "replace"))
        if status:
            raise child_failed(command[0], status)
        objects = names.decode("utf-8", "surrogateescape").split("\n")[:-1]
        job.temps.paths += objects
        if not objects:
            raise ToolError(f"{command[0]} made no object")
        return objects

    def _stock_wrapper(self, given: Compilation) -> str:
        """GCC's own lto-wrapper: in COMPILER_PATH, else where the compiler says it is."""
        found = find_stock_wrapper()
        if found is None:
            text = Child([given.gcc, "-print-prog-name=lto-wrapper"], given.job.env, capture_stdout=True).wait()[1]
            found = text.decode("utf-8", "surrogateescape").strip()
        return found


def say_notes(log: Log, errors: str) -> None:
    """The compiler's messages, without the note of what it was told itself (mkoffload/initialisers.py)."""
    log.text("".join(line for line in errors.splitlines(keepends=True) if PASS_NOTE not in line))

"""The emulated device's compilers behind one interface: device code of objects in table order in, relocatables out.

``StockCompiler``: gcc's own lto1, from the host LTO streams; always there.  ``TrueCompiler``: an lto1 configured as an
accelerator (docs/accel.md), from the streams made for accelerators, those in plain gcc's objects included; taken where
it is built.  ``choose`` picks by GOMPY_ACCEL.
"""

from __future__ import annotations

import os
import sys

from gompy.accel import store
from gompy.objects.lto import resolution_text, resolve
from gompy.objects.names import ACCEL_STOCK, ACCEL_TRUE, TARGET_INTELMIC
from gompy.objects.naming import rule_for
from gompy.tools.process import Child, ToolError, child_failed, echo, same, write_file
from mkoffload.earlydebug import debug_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gompy.objects.naming import Rule
    from mkoffload.inputs import Input
    from mkoffload.intelmic import Image

BDIR = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "gompy", "_native", "bdir")
VARIABLE = "GOMPY_ACCEL"
CHOICES = ("auto", "gcc", "true")
CLASSES_CUT = (
    "GCC 12 streams only parts of classes with virtual functions to accelerator compilers; gcc's own lto1 can make "
    f"this image: {VARIABLE}=gcc, or auto, which takes it where the other fails"
)
PASS_NOTE = "disable pass ipa-cdtor for functions"
IMAGE_FLAGS = ("-fPIC", "-ffunction-sections", "-fdata-sections", "-flto-partition=none", "-Wno-psabi")
"""Options of every image.  Of calling conventions the host's compilation has warned already, where it was to."""


def search_folders() -> list[str]:
    """Where the compiler of the link looks for its parts."""
    return os.environ.get("COMPILER_PATH", "").split(":")


def link_compiler() -> tuple[str, str]:
    """(triplet, version) of the compiler of the link, from the folder of its parts, ``…/gcc/x86_64-linux-gnu/12/``.

    Those of the oldest that we work with, where no folder tells.
    """
    for folder in search_folders():
        head, version = os.path.split(os.path.normpath(folder))
        triplet = os.path.basename(head)
        if version[:1].isdigit() and triplet.count("-") >= 2:
            return triplet, version
    from gompy.objects.releases import SUPPORTED

    return "x86_64-linux-gnu", str(SUPPORTED[0])


def find_stock_wrapper() -> str | None:
    """GCC's own lto-wrapper in COMPILER_PATH: the first that is not in our folder."""
    for directory in search_folders():
        path = os.path.join(directory, "lto-wrapper")
        if directory and os.access(path, os.X_OK) and not same(directory, BDIR):
            return path
    return None


class Compiler:
    """What both have: ``accel`` is the number in the image's description, ``title`` what -v shows."""

    accel: int
    title: str

    @property
    def rule(self) -> Rule:
        """What of the names of table entries host and image must agree in."""
        return rule_for(TARGET_INTELMIC, self.accel == ACCEL_STOCK)

    def missing(self, item: Input) -> str:
        """The warning for an object without the streams that this compiler reads."""
        raise NotImplementedError

    def compile(self, image: Image, usable: list[Input]) -> list[str]:
        """Compile; the relocatable with the image's code and tables comes first.  Raises ToolError."""
        raise NotImplementedError

    def flags(self, image: Image) -> list[str]:
        """Options of this compiler alone."""
        raise NotImplementedError

    def assembly(self, image: Image) -> str:
        """The image's code as assembly with line numbers, after ``compile`` has succeeded; empty if that fails."""
        output = os.path.join(image.folder, "lines.s")
        words = self.command(image, [i for i in image.inputs if i.has_ir], output, [*self.flags(image), "-g1"])
        words = [w for w in words if not w.startswith(("-save-temps", "-fdump-")) and w != "-v"]
        words[words.index("-c")] = "-S"
        if Child(words, image.env, capture_stderr=True).wait()[0]:
            return ""
        with open(output, encoding="utf-8", errors="replace") as file:
            return file.read()

    def command(self, image: Image, usable: list[Input], output: str, flags: list[str]) -> list[str]:
        """gcc as the device's compiler."""
        words = [image.gcc, "-xlto", "-c", *image.options.compile, *IMAGE_FLAGS, *flags]
        words.append("-save-temps" if image.options.save_temps else "-pipe")
        if image.options.save_temps or any(word.startswith("-fdump-") for word in image.options.compile):
            # Dumps lie beside the output by GCC's name: OUTPUT.xTARGET.mkoffload.NNNt.PASS.
            words += ["-dumpdir", "", "-dumpbase", image.options.dumpbase + ".mkoffload", "-dumpbase-ext", ""]
        words += ["-v"] if image.options.verbose else []
        return [*words, *[i.device_file for i in usable], "-o", output]


class StockCompiler(Compiler):
    """gcc's own lto1."""

    accel = ACCEL_STOCK

    def __init__(self, note: str = "") -> None:
        self.title = f"gcc's own lto1{note}"

    def missing(self, item: Input) -> str:
        """Both mends: the object compiled again, or a compiler that reads what it has."""
        text = f"{item.shown}: no device code for {TARGET_INTELMIC}; its regions run on the host"
        text += "; compile it with gompcc"
        return text + (", or take it as it is: gompy accel build" if item.has_offload_streams else "")

    def compile(self, image: Image, usable: list[Input]) -> list[str]:
        """With a resolution file, as the linker plugin would write one for the image's link."""
        if image.options.accel_only:
            raise ToolError(
                f"objects compiled with {VARIABLE}=true are for the accelerator compiler alone (their acc_on_device "
                f"is folded): link them with {VARIABLE}=true, or compile them again"
            )
        resolution = self._resolution(image)
        resolved = resolve([i.symbols for i in usable], image.exported)
        write_file(resolution, resolution_text([i.device_file for i in usable], resolved))
        if debug_wanted(image) and any(i.debug for i in usable):
            return self._compile_with_debug(image, usable, resolution)
        output = image.path(".o", ".mkoffload.o")
        command = self.command(image, usable, output, self.flags(image))
        echo(command, image.options.verbose)
        status, _, captured = Child(command, image.env, capture_stderr=True).wait()
        write_notes(captured)
        if status:
            raise child_failed(command[0], status)
        return [output]

    def flags(self, image: Image) -> list[str]:
        """With the resolution file that ``compile`` has written."""
        return [f"-fresolution={self._resolution(image)}", "-flinker-output=dyn"]

    def _resolution(self, image: Image) -> str:
        return image.path(".res", ".mkoffload.res")

    def _compile_with_debug(self, image: Image, usable: list[Input], resolution: str) -> list[str]:
        """With early debug information in the objects, GCC's own lto-wrapper: it makes objects of that, too.

        lto1's debug information refers to what the front ends wrote (``.gnu.debuglto_*``).
        """
        verbose = image.options.verbose
        flags = [*image.options.compile, *IMAGE_FLAGS, "-o", image.path(".o", ".mkoffload.o")]
        flags += ["-v"] if verbose else []
        env = dict(image.env)
        env["COLLECT_GCC"] = image.gcc
        env["COLLECT_GCC_OPTIONS"] = " ".join("'" + word.replace("'", "'\\''") + "'" for word in flags)
        command = [self._stock_wrapper(image), f"-fresolution={resolution}", "-flinker-output=dyn"]
        command += [i.device_file for i in usable]
        echo(command, verbose)
        status, names, captured = Child(command, env, capture_stdout=True, capture_stderr=True).wait()
        write_notes(captured)
        if status:
            raise child_failed(command[0], status)
        objects = names.decode("utf-8", "surrogateescape").split("\n")[:-1]
        image.temps.paths += objects
        if not objects:
            raise ToolError(f"{command[0]} made no object")
        return objects

    def _stock_wrapper(self, image: Image) -> str:
        """GCC's own lto-wrapper: in COMPILER_PATH, else where the compiler says it is."""
        found = find_stock_wrapper()
        if found is None:
            text = Child([image.gcc, "-print-prog-name=lto-wrapper"], image.env, capture_stdout=True).wait()[1]
            found = text.decode("utf-8", "surrogateescape").strip()
        return found


class TrueCompiler(Compiler):
    """An lto1 of the user's (or the system's) data folder.

    The host's gcc runs it: with its folder first (-B) the driver finds it before its own, and translates options as
    for the host, whose instruction set the device has.  (GCC's own way, a driver of the accelerator's, would need its
    specs to be built as well.)
    """

    accel = ACCEL_TRUE

    def __init__(self, found: store.Installed) -> None:
        self.folder = found.path
        self.title = f"{found.lto1} ({found.conf.get('compiler', '')})"

    def missing(self, item: Input) -> str:
        """Its offload streams were taken out, or never written."""
        return (
            f"{item.shown}: has offload tables but no .gnu.offload_lto_ sections (taken out by strip or objcopy?); "
            "its regions run on the host; compile it again"
        )

    def compile(self, image: Image, usable: list[Input]) -> list[str]:
        """As GCC's intelmic mkoffload calls its compiler, but that linking is done apart."""
        output = image.path(".o", ".mkoffload.o")
        command = self.command(image, usable, output, self.flags(image))
        echo(command, image.options.verbose)
        status, _, captured = Child(command, image.env, capture_stderr=True).wait()
        errors = captured.decode("utf-8", "replace")
        sys.stderr.write(errors)
        if status and any(name in errors for name in ("'_ZT", "‘_ZT", "*.LTHUNK")):
            sys.stderr.write(f"mkoffload: error: {CLASSES_CUT}\n")
        if status:
            raise child_failed(command[0], status)
        return [output, *(self._debug_objects(image, usable) if debug_wanted(image) else [])]

    def flags(self, image: Image) -> list[str]:
        """Its lto1 is found before the host's."""
        return [f"-B{self.folder}/", "-foffload-abi=lp64", "-fno-semantic-interposition"]

    def _debug_objects(self, image: Image, usable: list[Input]) -> list[str]:
        """What the objects have of early debug information, each in a file of its own for the linker."""
        names = []
        for index, item in enumerate(usable):
            data = debug_object(item.elf) if item.debug else None
            if data is not None:
                names.append(os.path.join(image.folder, f"debug{index}.o"))
                write_file(names[-1], data)
        return names


def write_notes(captured: bytes) -> None:
    """The compiler's messages, without the note of what it was told itself (mkoffload/initialisers.py)."""
    text = captured.decode("utf-8", "replace")
    sys.stderr.write("".join(line for line in text.splitlines(keepends=True) if PASS_NOTE not in line))


def debug_wanted(image: Image) -> bool:
    """Whether the last -g option asks for debug information."""
    words = [w for w in image.options.compile if w.startswith("-g") and not w.startswith("-gno-")]
    return bool(words) and words[-1] != "-g0"


def host_identity(gcc: str, env: dict[str, str]) -> str:
    """Identity of the host's lto1: that in COMPILER_PATH, else where the compiler says it is."""
    lto1 = store.host_lto1(search_folders())
    if not lto1:
        text = Child([gcc, "-print-prog-name=lto1"], env, capture_stdout=True).wait()[1]
        lto1 = text.decode("utf-8", "surrogateescape").strip()
    return store.identity(lto1)


def another(compiler: Compiler, inputs: list[Input]) -> Compiler | None:
    """The compiler to try where this one failed: gcc's own, if the choice is free and all objects have its streams."""
    left_open = (os.environ.get(VARIABLE) or "auto") == "auto"
    if compiler.accel != ACCEL_TRUE or not left_open or not inputs or not all(i.prefix for i in inputs if i.has_ir):
        return None
    return StockCompiler("; the accelerator compiler cannot make this image")


def choose(gcc: str, env: dict[str, str]) -> Compiler:
    """The device's compiler for this link, as GOMPY_ACCEL says.  ToolError if it asks for what is not there."""
    choice = os.environ.get(VARIABLE) or "auto"
    if choice not in CHOICES:
        raise ToolError(f"{VARIABLE}: ‘{choice}’ is not one of {', '.join(CHOICES)}")
    if choice == "gcc":
        return StockCompiler()
    built = store.installed()
    if built:
        identity = host_identity(gcc, env)
        found = next((item for item in built if item.fits(identity)), None)
        if found is not None:
            return TrueCompiler(found)
        note = f"; {built[0].path} was built for another compiler: {built[0].conf.get('compiler', '')}"
    else:
        note = ""
    if choice == "true":
        raise ToolError(f"{VARIABLE}=true, but no accelerator compiler is built for {gcc}: gompy accel build{note}")
    return StockCompiler(note)

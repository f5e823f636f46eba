"""What every mkoffload has: what it is asked for, the run's means, and what comes out.

Nothing here knows a target.
"""

from __future__ import annotations

import os

from gompy import BDIR
from gompy.objects.elf import open_object
from gompy.objects.naming import Names, base_name, differences
from gompy.tools.options import INPUT
from gompy.tools.process import Child, Temps, ToolError, find_tool, run, write_file
from mkoffload.assembler import Unknown, assemble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gompy.objects.elf import Elf
    from gompy.objects.naming import Rule
    from gompy.tools.messages import Log
    from gompy.tools.options import Option

POSITION_INDEPENDENCE = (
    *("-fPIC", "-fpic", "-fPIE", "-fpie", "-fno-pic", "-fno-PIC", "-fno-pie", "-fno-PIE", "-pie", "-no-pie"),
)
CLEARED = (
    "COLLECT_GCC",
    "COLLECT_GCC_OPTIONS",
    "COLLECT_AS_OPTIONS",
    "COLLECT_LTO_WRAPPER",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "GOMPY_AS",
    "LD_RUN_PATH",
    "LIBRARY_PATH",
    "OFFLOAD_TARGET_DEFAULT",
    "OFFLOAD_TARGET_NAMES",
)
"""Variables of the host's link that must not reach the compiler of the image."""


def device_environment() -> dict[str, str]:
    """The environment without the host link's variables."""
    return {name: value for name, value in os.environ.items() if name not in CLEARED}


class Request:
    """What is asked for, by words or by lto-wrapper in the same process: what all targets understand, and the rest.

    ``output``: the host object to make; ``dumpbase``: beginning of the names of files that are left beside it;
    ``objects``: in table order; ``options``: the rest, in order; ``open``: reads an object.  Raises ToolError.
    """

    def __init__(self, options: Iterable[Option], reader: Callable[[str], Elf] = open_object) -> None:
        self.open = reader
        self.output = ""
        self.dumpbase = ""
        self.verbose = False
        self.save_temps = False
        self.objects: list[str] = []
        self.options: list[Option] = []
        for option in options:
            key = option.key
            if key == INPUT:
                self.objects.append(option.arg)
            elif key == "o":
                self.output = option.arg
            elif key == "dumpbase":
                self.dumpbase = option.arg
            elif key in ("dumpdir", "dumpbase-ext"):
                pass
            elif key == "v":
                self.verbose = True
            elif key in ("save-temps", "save-temps="):
                self.save_temps = True
            else:
                self.options.append(option)
        if not self.output:
            raise ToolError("output file not specified")
        self.dumpbase = self.dumpbase or self.output

    @property
    def kept(self) -> str:
        """Beginning of the names of intermediate files that stay; empty where none is to."""
        return self.dumpbase if self.save_temps else ""

    def program(self, target: str) -> str:
        """What the runtime's messages call the program or library."""
        return self.dumpbase.rpartition("/")[2].removesuffix("x" + target).rstrip(".")


class Job:
    """Where an image is made: what its steps run in, write to and say.

    ``base``: beginning of the names of the files that -save-temps leaves; empty without it.
    """

    def __init__(self, base: str, temps: Temps, log: Log) -> None:
        self.base = base
        self.temps = temps
        self.log = log
        self.env = device_environment()
        self.folder = temps.folder()

    def path(self, suffix: str, kept: str = "") -> str:
        """Name of an intermediate file: beside the output with -save-temps, else in the temporary folder."""
        return self.base + (kept or suffix) if self.base else os.path.join(self.folder, "x" + suffix)

    def write(self, path: str, data: bytes | str) -> None:
        """Write a file for the compiler, unless the command that was begun for us reads the same one."""
        begun = self.temps.begun
        if begun is not None and begun.good:
            if begun.has(path, data if isinstance(data, bytes) else data.encode("utf-8", "surrogateescape")):
                return
            begun.end()
        write_file(path, data)

    def run(self, words: Sequence[str], stdin: bytes | None = None) -> None:
        """Run a command, shown with -v.  Raises ChildFailed."""
        self.log.command(words)
        run(words, self.env, stdin=stdin)

    def assemble(self, text: str, output: str) -> None:
        """Make the host object; its source stays with -save-temps."""
        if not self.base:
            try:
                write_file(output, assemble(text))
            except Unknown:
                pass
            else:
                return
        command = [find_tool("as", BDIR), "--64", "-o", output]
        if self.base:
            write_file(self.base + ".s", text)
            self.run([*command, self.base + ".s"])
        else:
            self.run([*command, "-"], text.encode())

    def start(self, words: Sequence[str], env: Mapping[str, str], capture_stdout: bool = False) -> Child:
        """The compiler's process, which may have been begun for us; what it says is captured."""
        begun = self.temps.begun
        if begun is not None and begun.good:
            child = begun.child(words, env, {1, 2} if capture_stdout else {2})
            if child is not None:
                return child
        return Child(words, env, capture_stdout=capture_stdout, capture_stderr=True)

    def compile(self, words: Sequence[str]) -> tuple[int, str]:
        """Run a command, shown with -v: its exit status, and what it says."""
        self.log.command(words)
        status, _, captured = self.start(words, self.env).wait()
        return status, captured.decode("utf-8", "replace")

    def ask(self, words: Sequence[str]) -> bool:
        """Run a command of which nobody hears; whether it succeeds."""
        return not Child(words, self.env, capture_stderr=True).wait()[0]


class Made:
    """An image that was made: names of its table entries, and of those among them that host LTO must come out with."""

    def __init__(self, tables: tuple[Names, Names], rule: Rule = base_name) -> None:
        self.tables = tables
        self.rule = rule  # what of the names host and image must agree in
        self.lto: tuple[Names, Names] = ([], [])
        self.classes: list[str] = []  # symbols of the host that the host object refers to
        self.parts: list[str] | None = None  # files that it came of besides the objects; None: others, too


def complain(output: str, what: str, host: Names, image: Names, rule: Rule) -> None:
    """ToolError naming the entries in which two tables differ, if they do."""
    found = differences(host, image, rule)
    if found:
        shown = "; ".join(f"entry {index}: host has {one}, image has {other}" for index, one, other in found[:8])
        more = f"; and {len(found) - 8} more" if len(found) > 8 else ""
        raise ToolError(
            f"{output}: the {what} tables of host and image differ "
            f"({len(host)} and {len(image)} entries): {shown}{more}"
        )

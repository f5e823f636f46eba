"""The command line of clang-linker-wrapper: its own options, and behind ``--`` the host's link.

Options of its own count behind the ``--``, too (clang's -Wl,--save-temps).
Since LLVM 17 clang leaves the ``--`` out: the first word that is none of the wrapper's begins the link.  Source: the
--help of clang-linker-wrapper 16 and 19.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gompy.tools.process import ToolError

FLAGS = (
    *("--device-debug", "--dry-run", "--embed-bitcode", "--print-wrapped-module", "--save-temps"),
    "--wrapper-verbose",
)
VALUES = (
    *("--bitcode-library", "--cuda-path", "--device-linker", "--host-triple", "--linker-path", "--opt-level"),
    *("--device-compiler", "--ptxas-arg", "--wrapper-jobs"),
)
"""Written ``--name=value``; ``--wrapper-jobs`` changes nothing here."""
NOT_IMPLEMENTED = (
    *("--pass-remarks", "--pass-remarks-missed", "--pass-remarks-analysis"),
    *("--wrapper-time-trace", "--wrapper-time-trace-granularity", "--builtin-bitcode", "--clang-backend", "--compress"),
    *("--compression-level", "--override-image", "--relocatable", "--emit-fatbin-only", "--should-extract"),
)
HELP = """\
usage: clang-linker-wrapper [option...] -- linker-argument...

Links the device images of a clang program, registers them, and runs the host's linker.

  --host-triple=TRIPLE       the host's target
  --linker-path=PATH         the host's linker
  --device-linker=[TRIPLE=]ARGUMENT
                             for the link of the images, or of one target's
  --device-compiler=[TRIPLE=]ARGUMENT
                             for clang, where it compiles or links images
  --bitcode-library=KIND-TRIPLE-ARCH=PATH
                             LLVM IR for the link of that target's image
  --opt-level=O0|O1|O2|O3    of images linked from LLVM IR (default O2)
  --cuda-path=DIR, --ptxas-arg=ARGUMENT
                             for nvptx64
  -mllvm ARGUMENT            for LLVM, where it compiles
  --device-debug             with debug information
  --embed-bitcode            images are LLVM IR
  --dry-run                  print the commands
  --print-wrapped-module     print the text of the objects that register images: assembly
  --save-temps               keep images and objects beside the output
  --wrapper-verbose          print the commands that run
"""


@dataclass
class Options:
    """What the command line says; ``link``: the host's link, without the linker's name."""

    flags: set[str] = field(default_factory=set)
    values: dict[str, list[str]] = field(default_factory=dict)
    link: list[str] = field(default_factory=list)

    def last(self, name: str, default: str = "") -> str:
        """An option's last value."""
        return self.values.get(name, [default])[-1]

    @property
    def verbose(self) -> bool:
        """Whether commands are shown."""
        return "--wrapper-verbose" in self.flags

    @property
    def dry(self) -> bool:
        """Whether commands are shown and not run."""
        return "--dry-run" in self.flags

    @property
    def save_temps(self) -> bool:
        """Whether what lies between is kept."""
        return "--save-temps" in self.flags

    @property
    def output(self) -> str:
        """The program's name."""
        return following(self.link, "-o") or "a.out"


def following(words: list[str], option: str) -> str:
    """The word behind an option, or joined to it; the last one counts."""
    found = ""
    for number, word in enumerate(words):
        if word == option and number + 1 < len(words):
            found = words[number + 1]
        elif word.startswith("--output=") and option == "-o":
            found = word.partition("=")[2]
    return found


def parse(words: list[str]) -> Options:
    """Read the command line.  Raises ToolError."""
    options = Options()
    bar = words.index("--") if "--" in words else -1
    follows = ""
    for number, word in enumerate(words):
        if number == bar:
            continue
        name, equals, value = word.partition("=")
        if follows:
            options.values.setdefault(follows, []).append(word)
            follows = ""
            continue
        if word == "-mllvm" and (number < bar or bar < 0):
            follows = word
            continue
        if name in FLAGS and not equals:
            options.flags.add(name)
        elif name in VALUES and equals:
            options.values.setdefault(name, []).append(value)
        elif name in NOT_IMPLEMENTED:
            raise ToolError(f"{name} is not implemented")
        elif number < bar and not word.startswith(("-l", "-L", "-O")):
            raise ToolError(f"unknown argument ‘{word}’")
        else:
            options.link.append(word)
    if not options.last("--linker-path"):
        raise ToolError("no linker: --linker-path= must be given")
    if options.last("--opt-level", "O2") not in ("O0", "O1", "O2", "O3"):
        raise ToolError(f"--opt-level={options.last('--opt-level')}: it must be O0, O1, O2 or O3")
    return options

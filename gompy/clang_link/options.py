"""The command line of clang-linker-wrapper: its own options, and behind ``--`` the host's link.

Options of its own count behind the ``--``, too (clang's -Wl,--save-temps).
Since LLVM 17 clang leaves the ``--`` out: the first word that is none of the wrapper's begins the link.  Source: the
--help-hidden of clang-linker-wrapper 16, 19 and 22.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gompy.abi.llvm import OFFLOAD_KINDS
from gompy.tools.process import ToolError

FLAGS = (
    *("--device-debug", "--dry-run", "--embed-bitcode", "--print-wrapped-module", "--save-temps"),
    *("--wrapper-verbose", "--clang-backend", "--compress", "--emit-fatbin-only", "--whole-program"),
)
"""``--clang-backend`` (19) asks for what is done anyway, ``--whole-program`` for what LTO of an image does anyway."""
VALUES = (
    *("--bitcode-library", "--cuda-path", "--device-linker", "--host-triple", "--linker-path", "--opt-level"),
    *("--device-compiler", "--ptxas-arg", "--wrapper-jobs", "--wrapper-time-trace", "--offload-opt"),
    *("--wrapper-time-trace-granularity", "--builtin-bitcode", "--compression-level", "--override-image"),
    *("--should-extract", "--pass-remarks", "--pass-remarks-missed", "--pass-remarks-analysis"),
)
"""Written ``--name=value``."""
INTERNAL = ("--arch", "--triple", "--linker-arg", "--compiler-arg")
"""LLVM's wrapper gives these to itself, for one image at a time."""
LINKERS = ("-l", "-L", "-O", "-o", "--output", "--library", "--library-path", "--sysroot")
"""The host linker's, which the wrapper's part of a line may have, too."""
JOINED = ("-l", "-L", "-O")
LINKERS_WITH_VALUE = ("-o", "-l", "-L", "--output", "--library", "--library-path", "--sysroot")
REMARKS = {
    "--pass-remarks": "-Rpass",
    "--pass-remarks-missed": "-Rpass-missed",
    "--pass-remarks-analysis": "-Rpass-analysis",
}
"""clang's words for LLVM's."""
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
  --builtin-bitcode=TRIPLE=PATH
                             LLVM IR of which what is needed becomes internal
  --opt-level=O0|O1|O2|O3    of images linked from LLVM IR (default O2)
  --cuda-path=DIR, --ptxas-arg=ARGUMENT
                             for nvptx64
  -mllvm ARGUMENT, --offload-opt=ARGUMENT
                             for LLVM, where it compiles
  --pass-remarks=REGEX, --pass-remarks-missed=REGEX, --pass-remarks-analysis=REGEX
                             tell what LLVM's passes do to images of LLVM IR
  --device-debug             with debug information
  --embed-bitcode            images are LLVM IR
  --override-image=KIND=FILE an image that is there already, for openmp, cuda or hip
  --should-extract=ARCH      take members of archives for it, if no object is
  --compress, --compression-level=NUMBER
                             of HIP's container
  --relocatable              make an object with linked and registered images
  --emit-fatbin-only         the output is what would be registered
  --dry-run                  print the commands
  --print-wrapped-module     print the text of the objects that register images: assembly
  --save-temps               keep images and objects beside the output
  --wrapper-jobs=NUMBER|jobserver
                             link so many targets at once
  --wrapper-time-trace=FILE, --wrapper-time-trace-granularity=MICROSECONDS
                             how long each step took, for Chrome's trace viewer
  --wrapper-verbose          print the commands that run
  --v, --version             print the version
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

    @property
    def relocatable(self) -> bool:
        """Whether the output is an object."""
        return "-r" in self.link or "--relocatable" in self.link

    def remarks(self) -> list[tuple[str, str]]:
        """LLVM's options of that name, each with its regular expression; clang 16 to 19 have them in --offload-opt."""
        found = [(name, value) for name in REMARKS for value in self.values.get(name, [])]
        for value in self.values.get("--offload-opt", []):
            name, equals, expression = value.partition("=")
            if equals and f"-{name}" in REMARKS:
                found.append((f"-{name}", expression))
        return found

    def for_llvm(self) -> list[str]:
        """The other options for LLVM."""
        given = self.values.get("--offload-opt", [])
        return [*self.values.get("-mllvm", []), *(v for v in given if f"-{v.partition('=')[0]}" not in REMARKS)]

    def overriding(self) -> dict[str, str]:
        """The image files that take the place of a link, by language.  Raises ToolError."""
        found = {}
        for value in self.values.get("--override-image", []):
            kind, equals, path = value.partition("=")
            if not equals or kind not in OFFLOAD_KINDS[1:]:
                raise ToolError(f"--override-image={value}: it must be openmp=FILE, cuda=FILE or hip=FILE")
            found[kind] = path
        return found


def following(words: list[str], option: str) -> str:
    """The word behind an option, or joined to it; the last one counts."""
    found = ""
    for number, word in enumerate(words):
        if word in (option, "--output" if option == "-o" else option) and number + 1 < len(words):
            found = words[number + 1]
        elif word.startswith("--output=") and option == "-o":
            found = word.partition("=")[2]
    return found


def _is_linkers(word: str, name: str) -> bool:
    """Whether it is a word of the host linker's that LLVM's wrapper knows, too."""
    return name in LINKERS or word.startswith(JOINED)


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
            if follows == "-mllvm":
                options.values.setdefault(follows, []).append(word)
            else:
                options.link.append(word)
            follows = ""
            continue
        if word == "-mllvm" and (number < bar or bar < 0):
            follows = word
            continue
        if name in FLAGS and not equals:
            options.flags.add(name)
        elif name in VALUES and equals:
            options.values.setdefault(name, []).append(value)
        elif name in INTERNAL and equals and (number < bar or bar < 0):
            raise ToolError(
                f"{name} is not implemented: LLVM's wrapper gives it to itself; --device-compiler= is for you"
            )
        elif number < bar and word in ("-r", "--relocatable"):
            options.link.append(word)
        elif number < bar and not _is_linkers(word, name):
            raise ToolError(f"unknown argument ‘{word}’")
        else:
            options.link.append(word)
            if word in LINKERS_WITH_VALUE:
                follows = word
    check(options)
    return options


def check(options: Options) -> None:
    """Raise ToolError for what is missing, and for values that are none."""
    if not options.last("--linker-path") and "--emit-fatbin-only" not in options.flags:
        raise ToolError("no linker: --linker-path= must be given")
    if options.last("--opt-level", "O2") not in ("O0", "O1", "O2", "O3"):
        raise ToolError(f"--opt-level={options.last('--opt-level')}: it must be O0, O1, O2 or O3")
    for value in options.values.get("--builtin-bitcode", []):
        if not re.fullmatch(r"[^=]+=.+", value):
            raise ToolError(f"--builtin-bitcode={value}: it must be TRIPLE=PATH")
    options.overriding()

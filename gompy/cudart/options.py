"""The command line of ``gompy cuda cc``: clang's, with those of nvcc's options that programs' makefiles have."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Final

from gompy.driver.errors import DriverError, quote

DEFAULT: Final = 70
ARCHITECTURES: Final = ("-arch", "--gpu-architecture", "--cuda-gpu-arch", "--offload-arch")
CODES: Final = ("-gencode", "--generate-code")
SEPARATE: Final = ("-I", "-D", "-U", "-L", "-l", "-isystem", "-include", "-Xlinker", "-Xclang", "-MF", "-MT", "-MQ")
"""Options of clang whose value may be the next word."""
LINK_ONLY: Final = ("-L", "-l", "-Wl,", "-Xlinker", "-shared", "-static", "-rdynamic", "-pie", "-no-pie")
STRIP: Final = "-s"
"""For the link, too; other options begin with these letters."""
DROPPED: Final = (
    *("--expt-relaxed-constexpr", "-expt-relaxed-constexpr", "--expt-extended-lambda", "-expt-extended-lambda"),
    *("--extended-lambda", "-extended-lambda", "-cudart=shared", "--cudart=shared", "-cudart=static", "-m64"),
    *("--cudart=static", "-dlto", "-forward-unknown-to-host-compiler"),
)
"""What needs nothing here."""
DROPPED_WITH_VALUE: Final = ("-Xptxas", "--ptxas-options", "-cudart", "--cudart", "-ccbin", "-maxrregcount", "-t")
RENAMED: Final = {
    "-use_fast_math": ["-ffast-math", "-fcuda-approx-transcendentals"],
    "--use_fast_math": ["-ffast-math", "-fcuda-approx-transcendentals"],
    "-lineinfo": ["-g1"],
    "--generate-line-info": ["-g1"],
    "--debug": ["-g"],
    "--device-debug": ["-g"],
    "-G": ["-g"],
    "--shared": ["-shared"],
    "--compile": ["-c"],
}
RELOCATABLE: Final = ("-rdc", "--relocatable-device-code")
"""Whether device code may use what other files have; the value is true or false."""
DEVICE_OBJECTS: Final = ("-dc", "--device-c")
DEVICE_LINK: Final = ("-dlink", "--device-link")
REFUSED: Final = ("-cubin", "--cubin", "-fatbin", "--fatbin")


@dataclass
class Line:
    """What a command line asks for."""

    sources: list[str] = field(default_factory=list)
    """CUDA C++."""
    objects: list[str] = field(default_factory=list)
    """What else is compiled by clang itself or linked, with the options among them in their order."""
    words: list[str] = field(default_factory=list)
    """Options of compiles."""
    device_words: list[str] = field(default_factory=list)
    host_words: list[str] = field(default_factory=list)
    architectures: list[int] = field(default_factory=list)
    output: str = ""
    compile_only: bool = False
    ptx: bool = False
    relocatable: bool = False
    device_link: bool = False
    show: bool = False

    @property
    def optimises(self) -> bool:
        """Whether the line says how much."""
        return any(word.startswith("-O") for word in self.words)


def architecture(text: str) -> int:
    """The number in sm_70, compute_70, 70.  Raises DriverError."""
    found = re.fullmatch(r"(?:sm_|compute_)?(\d\d\d?)a?", text)
    if not found:
        raise DriverError(f"{quote(text)} is no architecture such as sm_{DEFAULT}")
    return int(found[1])


def _generated(text: str) -> list[int]:
    """The architecture that -gencode names."""
    found = re.search(r"arch=(?:compute_|sm_)?(\d+)", text)
    if not found:
        raise DriverError(f"-gencode {quote(text)}: no arch=compute_{DEFAULT} in it")
    return [int(found[1])]


def truth(name: str, text: str) -> bool:
    """An option's true or false.  Raises DriverError."""
    if text not in ("true", "false"):
        raise DriverError(f"{name}={text}: neither true nor false")
    return text == "true"


def parse(arguments: list[str]) -> Line:
    """Sort the words.  Raises DriverError."""
    line, rest = Line(), list(arguments)

    def value(name: str, joined: str) -> str:
        if joined:
            return joined
        if not rest:
            raise DriverError(f"{name}: no value")
        return rest.pop(0)

    while rest:
        word = rest.pop(0)
        name, _, joined = word.partition("=")
        if word in REFUSED:
            raise DriverError(f"{word}: not implemented: device code is PTX (--ptx), there is no machine code")
        if not word.startswith("-") or word == "-":
            _input(line, word)
        elif name in ARCHITECTURES:
            line.architectures.append(architecture(value(name, joined)))
        elif name in CODES:
            line.architectures += _generated(joined or value(name, ""))
        elif word in DROPPED:
            continue
        elif name in DROPPED_WITH_VALUE:
            value(name, joined)
        elif name in ("-Xcompiler", "--compiler-options"):
            line.host_words += value(name, joined).split(",")
        elif word.startswith("-o") and not word.startswith("-openmp"):
            line.output = value("-o", word[2:])
        elif word in ("--ptx", "-ptx"):
            line.ptx = True
        elif word in ("--showme", "-show", "--dryrun", "-dryrun"):
            line.show = True
        elif name in RELOCATABLE:
            line.relocatable = truth(name, value(name, joined))
        elif word == "-fgpu-rdc":
            line.relocatable = True
        elif word in DEVICE_LINK:
            line.device_link = True
        elif word in DEVICE_OBJECTS:
            line.compile_only = line.relocatable = True
        elif word == "-c" or RENAMED.get(word) == ["-c"]:
            line.compile_only = True
        else:
            taken = [*RENAMED.get(word, [word]), *([rest.pop(0)] if word in SEPARATE and rest else [])]
            if taken[0] == STRIP or taken[0].startswith(LINK_ONLY):
                line.objects += taken
            else:
                line.words += taken
    line.architectures = sorted(set(line.architectures)) or [DEFAULT]
    return line


def _input(line: Line, word: str) -> None:
    """A file: CUDA C++ by its name, else clang's own matter."""
    if word.endswith(".cu"):
        if not os.path.exists(word):
            raise DriverError(f"{word}: No such file or directory")
        line.sources.append(word)
    line.objects.append(word)

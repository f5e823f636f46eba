"""The options of nvrtcCompileProgram, as clang's words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from gompy.abi import nvrtc
from gompy.cudart import options as command
from gompy.driver.errors import DriverError

JOINED: Final = {"-I": "-I", "-D": "-D", "-U": "-U"}
"""Options whose value follows at once, behind a blank, or as the next option."""
VALUES: Final = {
    "-include-path": "-I",
    "-define-macro": "-D",
    "-undefine-macro": "-U",
    "-include": "-include",
    "-pre-include": "-include",
}
"""Options with a value behind `=`, a blank, or as the next option: what clang calls them.  Here and below with one `-`;
programs write one or two."""
STANDARDS: Final = ("c++03", "c++11", "c++14", "c++17", "c++20")
SWITCHES: Final = {
    "-ftz": ("-fgpu-flush-denormals-to-zero", "-fno-gpu-flush-denormals-to-zero"),
    "-fmad": ("-ffp-contract=fast", "-ffp-contract=off"),
}
"""Options that are true or false: clang's words for each."""
PLAIN: Final = {
    "-device-debug": ("-g",),
    "-G": ("-g",),
    "-generate-line-info": ("-g1",),
    "-lineinfo": ("-g1",),
    "-use_fast_math": tuple(command.RENAMED["--use_fast_math"]),
    "-disable-warnings": ("-w",),
    "-w": ("-w",),
    **dict.fromkeys(("-restrict", "-device-int128", "-display-error-number", "-err-no", "-no-err-no", "-no-cache"), ()),
    **dict.fromkeys(("-no-display-error-number", "-extra-device-vectorization", "-m64", "-minimal"), ()),
}
"""Options without a value: clang's words; none where nothing has to change."""
IGNORED: Final = (
    *("-maxrregcount", "-ptxas-options", "-Xptxas", "-diag-error", "-diag-suppress", "-diag-warn"),
    *("-optimization-info",),
    *("-opt-info", "-split-compile", "-jump-table-density", "-dopt", "-version-ident", "-brief-diagnostics"),
    *("-brief-diag", "-prec-sqrt", "-prec-div", "-modify-stack-limit", "-builtin-move-forward"),
    *("-builtin-initializer-list",),
)
"""Options with a value that change nothing: precision is always the full one."""
LINKED: Final = ("-relocatable-device-code", "-rdc")
REFUSED: Final = ("-device-c", "-dc", "-dlink-time-opt", "-dlto", "-gen-opt-lto", "-ltoir", "-optix-ir", "-time")


class OptionError(Exception):
    """An option that is not known or not implemented, or has no such value: NVRTC_ERROR_INVALID_OPTION."""


@dataclass
class Options:
    """What a list of options asks for."""

    words: list[str] = field(default_factory=list)
    """Clang's."""
    folders: list[str] = field(default_factory=list)
    """-I, in its order."""
    architecture: int = command.DEFAULT
    machine: bool = False
    """Whether that is one of machines (sm_70), not a virtual one (compute_70)."""
    default_device: bool = False
    own_folder: bool = True
    """Whether the source's folder is searched."""

    def set_architecture(self, text: str) -> None:
        """-arch.  Raises OptionError."""
        try:
            self.architecture = command.architecture(text)
        except DriverError:
            self.architecture = 0
        if self.architecture not in nvrtc.ARCHITECTURES or not text.startswith(("sm_", "compute_")):
            raise OptionError(f"invalid value '{text}' for --gpu-architecture (-arch)")
        self.machine = text.startswith("sm_")

    def set_value(self, clangs: str, value: str) -> None:
        """An option that clang has, too."""
        if clangs == "-I":
            self.folders.append(value)
        else:
            self.words += [clangs, value]

    def set_plain(self, name: str, written: str) -> None:
        """An option without a value.  Raises OptionError."""
        if name in ("-device-as-default-execution-space", "-default-device"):
            self.default_device = True
        elif name == "-no-source-include":
            self.own_folder = False
        elif name in PLAIN:
            self.words += PLAIN[name]
        elif name in REFUSED:
            raise OptionError(f"'{written}' is not implemented by gompy")
        else:
            raise OptionError(f"unrecognized option '{written}' found")


def parse(given: list[str]) -> Options:
    """Sort the options.  Raises OptionError."""
    found, rest = Options(words=["-std=c++17"]), [word.strip() for word in given]

    def value(name: str, joined: str) -> str:
        text = joined or (rest.pop(0) if rest else "")
        if not text:
            raise OptionError(f"no value for '{name}'")
        return text

    def choice(name: str, joined: str, choices: tuple[str, ...]) -> int:
        text = value(name, joined)
        if text not in choices:
            raise OptionError(f"invalid value '{text}' for '{name}'")
        return choices.index(text)

    while rest:
        word = rest.pop(0)
        if word[:2] in JOINED:
            found.set_value(JOINED[word[:2]], value(word[:2], word[2:].lstrip("= ")))
            continue
        parts = re.fullmatch(r"-?(-[^-=\s][^=\s]*)(?:(?:=|\s+)(.*))?", word, re.DOTALL)
        if not parts:
            raise OptionError(f"unrecognized option '{word}' found")
        name, joined = parts[1], (parts[2] or "").strip()
        if name in ("-arch", "-gpu-architecture"):
            found.set_architecture(value(name, joined))
        elif name in VALUES:
            found.set_value(VALUES[name], value(name, joined))
        elif name == "-std":
            found.words.append(f"-std={STANDARDS[choice(name, joined, STANDARDS)]}")
        elif name in SWITCHES:
            found.words.append(SWITCHES[name][choice(name, joined, ("true", "false"))])
        elif name in IGNORED:
            value(name, joined or ("on" if name == "-dopt" else ""))
        elif name in LINKED:
            if choice(name, joined, ("false", "true")):
                raise OptionError(f"'{word}' is not implemented by gompy: device code is not linked")
        elif joined:
            raise OptionError(f"unrecognized option '{word}' found")
        else:
            found.set_plain(name, word)
    return found

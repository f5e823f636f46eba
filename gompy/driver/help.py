"""What ``gompcc --help`` says before gcc's own help, and what the compilers' man pages are made of."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gompy.driver.compiler import Language

ABOUT = "is {stock} with offloading: regions of -fopenmp and -fopenacc get device code, and a device to run on."
OPTIONS: tuple[tuple[str, str], ...] = (
    ("-foffload=intelmic", "device code for the emulated MIC: the default"),
    ("-foffload=nvptx-none", "for GPUs, real or emulated; needs gcc-12-offload-nvptx"),
    ("-foffload=A,B", "for several kinds of devices"),
    ("-foffload=disable", "plain {stock}: regions run on the host"),
    ("-foffload-options=[TARGET=]OPTION", "an option for the device compilers, or for one of them"),
    ("-show, --showme", "print the command that would be run, and run nothing"),
    ("--showme:PART", "PART: command, compile, link, incdirs, libdirs or help"),
)
"""Options that are ours, or that gcc's help does not tell of."""
VARIABLES: tuple[tuple[str, str], ...] = (
    ("{variable}", "which {stock} is run"),
    ("GOMPY_ACCEL", "gcc or true: which compiler makes images for the emulated MIC"),
)
EXAMPLES: tuple[tuple[str, str], ...] = (
    ("{program} -g -O2 -fopenmp prog{suffix} -o prog", "compile and link; ./prog runs its regions on the device"),
    ("{program} -fopenmp -foffload=nvptx-none prog{suffix}", "for GPUs"),
    ("{program} -show -fopenmp prog{suffix}", "what gcc is told"),
)
MORE = "'gompy learn' is a tutorial, 'gompy doctor' tells what is missing, 'gompy env' lists the variables."


def words(language: Language) -> dict[str, str]:
    """What stands for the names in braces."""
    suffix = {"gompcc": ".c", "gompc++": ".cc"}.get(language.program, ".f90")
    return {"program": language.program, "stock": language.default, "variable": language.variable, "suffix": suffix}


def rows(table: tuple[tuple[str, str], ...], names: dict[str, str]) -> list[str]:
    """A table as aligned lines."""
    cells = [(left.format(**names), right.format(**names)) for left, right in table]
    width = max(len(left) for left, _ in cells)
    return [f"  {left:<{width}}  {right}" for left, right in cells]


def text(language: Language) -> str:
    """All of it."""
    names = words(language)
    lines = [f"{language.program} {ABOUT.format(**names)}", "", "Options, besides gcc's:"]
    lines += [*rows(OPTIONS, names), "", "Environment:", *rows(VARIABLES, names)]
    lines += ["", "Examples:", *rows(EXAMPLES, names), "", MORE]
    return "\n".join([*lines, "", f"What {language.default} itself says:", ""])

"""What ``gompcc --help`` says before gcc's own help, gompclang's before clang's, and what man pages are made of."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gompy.driver.compiler import Language

Table = tuple[tuple[str, str], ...]


class Texts:
    """What is said of one kind of compilers, with names in braces (``words``).

    ``options`` are those that are ours, or that the compiler's own help does not tell of.
    """

    __slots__ = ("about", "examples", "options", "stock", "variables")

    def __init__(self, stock: str, about: str, options: Table, variables: Table, examples: Table) -> None:
        self.stock = stock
        self.about = about
        self.options = options
        self.variables = variables
        self.examples = examples


GCC = Texts(
    "gcc",
    "is {stock} with offloading: regions of -fopenmp and -fopenacc get device code, and a device to run on.",
    (
        ("-foffload=intelmic", "device code for the emulated MIC: the default"),
        ("-foffload=nvptx-none", "for GPUs, real or emulated; needs gcc-12-offload-nvptx"),
        ("-foffload=A,B", "for several kinds of devices"),
        ("-foffload=disable", "plain {stock}: regions run on the host"),
        ("-foffload-check", "calls at each access, for 'gompy run --check': races, exact bytes"),
        ("-Woffload-lost", "warn of what a region assigns to a copy and loses; -foffload-check does, too"),
        ("-Wno-offload-host", "no warning of regions that have no device code; -Werror=offload-host: an error"),
        ("-foffload-options=[TARGET=]OPTION", "an option for the device compilers, or for one of them"),
        ("-show, --showme", "print the command that would be run, and run nothing"),
        ("--showme:PART", "PART: command, compile, link, incdirs, libdirs or help"),
    ),
    (
        ("{variable}", "which {stock} is run"),
        ("GOMPY_ACCEL", "gcc or true: which compiler makes images for the emulated MIC"),
    ),
    (
        ("{program} -g -O2 -fopenmp prog{suffix} -o prog", "compile and link; ./prog runs its regions on the device"),
        ("{program} -fopenmp -foffload=nvptx-none prog{suffix}", "for GPUs"),
        ("{program} -show -fopenmp prog{suffix}", "what gcc is told"),
    ),
)
CLANG = Texts(
    "clang",
    "is {stock} with offloading: regions of -fopenmp get device code, and run on the emulated device.",
    (
        ("-fopenmp-targets=x86_64-pc-linux-gnu", "device code for the emulated device: the default with -fopenmp"),
        ("-show, --showme", "print the command that would be run, and run nothing"),
        ("--showme:PART", "PART: command, compile, link, libdirs or help"),
    ),
    (("{variable}", "which {stock} is run"),),
    (
        ("{program} -g -O2 -fopenmp prog{suffix} -o prog", "compile and link; ./prog runs its regions on the device"),
        ("{program} -show -fopenmp prog{suffix}", "what {stock} is told"),
    ),
)
MORE = "'gompy learn' is a tutorial, 'gompy doctor' tells what is missing, 'gompy env' lists the variables."


def texts(language: Language) -> Texts:
    """Those of its kind."""
    return CLANG if language.default.startswith(CLANG.stock) else GCC


def words(language: Language) -> dict[str, str]:
    """What stands for the names in braces."""
    suffix = ".f90" if language.program == "gompfortran" else ".cc" if language.program.endswith("++") else ".c"
    return {"program": language.program, "stock": language.default, "variable": language.variable, "suffix": suffix}


def rows(table: Table, names: dict[str, str]) -> list[str]:
    """A table as aligned lines."""
    cells = [(left.format(**names), right.format(**names)) for left, right in table]
    width = max(len(left) for left, _ in cells)
    return [f"  {left:<{width}}  {right}" for left, right in cells]


def text(language: Language) -> str:
    """All of it."""
    names, said = words(language), texts(language)
    lines = [f"{language.program} {said.about.format(**names)}", "", f"Options, besides {said.stock}'s:"]
    lines += [*rows(said.options, names), "", "Environment:", *rows(said.variables, names)]
    lines += ["", "Examples:", *rows(said.examples, names), "", MORE]
    return "\n".join([*lines, "", f"What {language.default} itself says:", ""])

"""The NVPTX image: device code of all objects, compiled by GCC's own nvptx compiler to PTX.

Objects in table order go in; a host object comes out that registers the image as GCC's mkoffload has it
(config/nvptx/mkoffload.cc).  What differs: no C file goes through the host's compiler, the assembler does not ask the
installed ptxas about architectures that it may have forgotten, libraries that the code calls for are named, tables are
compared by name, and what PTX cannot do is said of the region.  docs/nvptx.md describes it for users.
"""

from __future__ import annotations

import os
import sys

from gompy.objects.elf import SHN_UNDEF, ElfError
from gompy.objects.names import ACCEL_TRUE, OFFLOAD_FUNC_SECTION, OFFLOAD_VAR_SECTION, TARGET_NVPTX
from gompy.objects.naming import Names, host_spelling, ptx_name
from gompy.tools.process import (
    Child,
    Temps,
    ToolError,
    child_failed,
    echo,
    find_in,
    find_tool,
    run,
    same,
    write_file,
)
from gompy.tools.response import join
from mkoffload import nvptx_alias as alias
from mkoffload.accel import BDIR, link_compiler, search_folders
from mkoffload.initialisers import in_objects, warnings
from mkoffload.inputs import Described, Input
from mkoffload.intelmic import CLEARED, POSITION_INDEPENDENCE, Made, complain
from mkoffload.nvptx_explain import UNRESOLVED, problems, uses, wide_types, wide_uses
from mkoffload.nvptx_host import host_object_text, ptx_file
from mkoffload.nvptx_library import NAME as LIBRARY
from mkoffload.nvptx_library import archive
from mkoffload.nvptx_ptx import PtxImage, missing_vtables, order_for, split
from mkoffload.undefined import demangled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

TOOL_FOLDER = os.path.join(BDIR, "accel", TARGET_NVPTX)
HOST_FALLBACK = "-fhost-fallback"
"""mkoffload's own option: no image instead of an error where the device code cannot be compiled."""
NO_VERIFY = "-Wa,--no-verify"
"""nvptx-tools' assembler asks a ptxas in PATH whether it likes the code, and CUDA 13's no longer knows the sm_30 and
sm_35 that GCC 12 writes for.  The driver compiles PTX of any age.  First on the line: a user's -Wa,--verify wins."""
NRV_FAILED = "internal compiler error: in execute, at tree-nrv.cc:"
"""GCC 12's accelerator compiler fails in that pass on Fortran functions of a derived type."""
NO_NRV, NRV_NOTE = "-fdisable-tree-nrv", "disable pass tree-nrv for functions"
_FOR_LINKING = ("-m", "-l", "-L", "-Wa,", "-Wl,", "-fopenmp", "-fopenacc", "-static", "-B")
LONGEST_LINE = 1 << 16
"""Bytes of a command line beyond which its words go into a file."""
SHARED = (
    "‘{}’: all lanes of a ‘simd’ loop may share the variable that is written here, which GCC's nvptx compiler keeps in "
    "memory of the warp; if it is declared in the loop's body, put the body into a function, or ‘private’ on the loop"
)
FALLBACK_NOTE = (
    f"-foffload-options={TARGET_NVPTX}={HOST_FALLBACK} links without this image: all regions run on the host then"
)


class Options:
    """mkoffload's command line: what is its own, and the words for the accelerator compiler.  May raise ToolError."""

    def __init__(self, words: Sequence[str]) -> None:
        self.output = ""
        self.dumpbase = ""
        self.verbose = False
        self.save_temps = False
        self.fallback = False
        self.ilp32 = False
        self.openmp = False
        self.openacc = False
        self.words: list[str] = []
        self.objects: list[str] = []
        rest = iter(words)
        for word in rest:
            if word == "-o":
                self.output = next(rest, "")
            elif word == "-dumpbase":
                self.dumpbase = next(rest, "")
            elif word in ("-dumpdir", "-dumpbase-ext"):
                next(rest, "")
            elif word == "-v":
                self.verbose = True
            elif word == "-save-temps":
                self.save_temps = True
            elif word in POSITION_INDEPENDENCE:
                pass  # there is none in PTX, and the compiler would give functions second names for it
            elif word in (HOST_FALLBACK, "-fno-host-fallback"):
                self.fallback = word == HOST_FALLBACK
            elif word in ("-Xassembler", "-Xlinker", "-include", "-I", "-D", "-U", "-x", "--param", "-l", "-L"):
                self.words += [word, next(rest, "")]
            else:
                self.openmp |= word == "-fopenmp"
                self.openacc |= word == "-fopenacc"
                if word.startswith("-foffload-abi="):
                    if word not in ("-foffload-abi=lp64", "-foffload-abi=ilp32"):
                        raise ToolError("unrecognizable argument of option -foffload-abi=")
                    self.ilp32 = word == "-foffload-abi=ilp32"
                self.words.append(word)
                if not word.startswith("-"):
                    self.objects.append(word)
        if not self.output:
            raise ToolError("output file not specified")
        self.dumpbase = self.dumpbase or self.output
        if self.openmp == self.openacc:
            both = " (both are: leave one out, or nvptx-none)"
            raise ToolError("either ‘-fopenacc’ or ‘-fopenmp’ must be set" + (both if self.openmp else ""))


def installed_names() -> tuple[list[str], str]:
    """Names under which GCC installs the accelerator compiler for the compiler of this link, and its Debian package."""
    from gompy.objects.releases import major_of, offload_package

    triplet, version = link_compiler()
    base = f"{triplet}-accel-{TARGET_NVPTX}-gcc"
    return [f"{base}-{version}", base], offload_package(TARGET_NVPTX, major_of(version))


def find_compiler() -> str:
    """The accelerator compiler's driver: beside the link's compiler, in PATH or COMPILER_PATH.  Raises ToolError."""
    gcc = os.environ.get("COLLECT_GCC")
    if not gcc:
        raise ToolError("COLLECT_GCC must be set.")
    names, package = installed_names()
    folders = [os.path.dirname(gcc)] if "/" in gcc else []
    folders += [f for f in os.environ.get("PATH", "").split(":") if f] + [f for f in search_folders() if f]
    for name in names:
        found = find_in([*folders, "/usr/bin"], name)
        if found is not None:
            return found
    raise CompilerMissing(
        f"offload compiler {names[0]} not found: install the package {package}, "
        f"or leave {TARGET_NVPTX} out of -foffload= (consider using ‘-B’ if it is elsewhere)"
    )


class CompilerMissing(ToolError):
    """GCC's nvptx compiler is not installed."""


class Object(Input):
    """An object of the link.  ``by_position``: it cannot be described to the runtime, entries pair by position then."""

    by_position = False

    def __init__(self, name: str) -> None:
        super().__init__(name, ACCEL_TRUE)
        self.check_order()

    def _describe(self) -> list[Described]:
        self.by_position = self.lto
        try:
            return super()._describe()
        except ToolError:
            self.by_position = True  # names may still tell the order (check_order)
            return []

    def check_order(self) -> None:
        """ToolError if nothing tells the order of the tables' entries.

        ld -r joins sections of like flags, and gompcc's tables alone are retained ones: where both are, names have to
        tell whether the tables stand in the order of the streams.
        """
        names = self.host_names()
        for label, found in ((OFFLOAD_FUNC_SECTION, names[0]), (OFFLOAD_VAR_SECTION, names[1])):
            if None in found and sum(section.name == label for section in self.elf.sections) > 1:
                raise ToolError(
                    f"{self.shown}: joins objects of gompcc and of gcc, and its symbols, which tell them apart, are "
                    "gone; compile all of them with gompcc, or join them without stripping"
                )


class Image:
    """One image being made."""

    def __init__(self, options: Options, temps: Temps) -> None:
        self.options = options
        self.temps = temps
        self.gcc = find_compiler()
        self.env = {name: value for name, value in os.environ.items() if name not in CLEARED}
        self.folder = temps.folder()
        self.aliases: list[str] = []  # options for them, once they are needed
        self.inputs = [Object(name) for name in options.objects]

    def path(self, suffix: str) -> str:
        """Name of an intermediate file: beside the output with -save-temps, else in the temporary folder."""
        return (self.options.dumpbase if self.options.save_temps else os.path.join(self.folder, "x")) + suffix

    def libraries(self) -> list[str]:
        """Fortran's library if the objects call for it, the mathematical one, that of the atomic operations, and ours.

        The linker takes what it needs.  Nothing in the objects tells that libatomic is needed: one- and two-byte
        operations are instructions of the host's, and GOMP_atomic_start, which a reduction of two variables calls,
        calls libatomic in nvptx-none's libgomp alone (GCC's testsuite names -foffload=-latomic for them).
        """
        fortran = any(
            symbol.shndx == SHN_UNDEF and symbol.name.startswith("_gfortran_")
            for item in self.inputs
            for symbol in item.elf.symbols()
        )
        write_file(os.path.join(self.folder, f"lib{LIBRARY}.a"), archive())
        return [*(["-lgfortran"] if fortran else []), "-lm", "-latomic", f"-L{self.folder}", f"-l{LIBRARY}"]

    def command(self, output: str, more: list[str]) -> list[str]:
        """The accelerator compiler's command line."""
        options = self.options
        words = [
            *(["-save-temps"] if options.save_temps else []),
            *(["-v"] if options.verbose else []),
            "-xlto",
            "-m64",
        ]
        words += ["-mgomp"] if options.openmp else []
        words += [NO_VERIFY, "-fno-pic", *options.words, *more]
        if options.save_temps or any(word.startswith("-fdump-") for word in options.words):
            words += ["-dumpdir", "", "-dumpbase", options.dumpbase + ".mkoffload", "-dumpbase-ext", ""]
        words += ["-o", output]
        if sum(len(word) + 1 for word in words) < LONGEST_LINE:
            return [self.gcc, *words]
        arguments = self.path(".gcc_args")
        write_file(arguments, join(words))
        return [self.gcc, f"@{arguments}"]

    def compile(self) -> PtxImage | None:
        """Run it; None if the code cannot be compiled and the user wants the link to go on."""
        output = self.path(".mkoffload")
        command = self.command(output, self.libraries())
        verbose = self.options.verbose
        echo(command, verbose)
        status, _, captured = Child(command, self.env, capture_stderr=True).wait()
        errors = captured.decode("utf-8", "replace")
        if status and NRV_FAILED in errors:
            command = self.command(output, [*self.libraries(), NO_NRV])
            echo(command, verbose)
            status, _, captured = Child(command, self.env, capture_stderr=True).wait()
            lines = captured.decode("utf-8", "replace").splitlines(keepends=True)
            errors = "".join(line for line in lines if NRV_NOTE not in line)
        if status and alias.REFUSED in errors:
            status, errors = self.compile_with_aliases(output)
        if status:
            self.explain(errors, command[0], status)
            return None
        sys.stderr.write(errors)
        with open(output, "rb") as file:
            image = split(file.read(), output)
        for shared in image.shared:
            place = f"{shared.place}: " if shared.place else ""
            print(f"mkoffload: warning: {place}{SHARED.format(host_spelling(shared.function))}", file=sys.stderr)
        missing = missing_vtables(image)
        if missing:
            self.explain("".join(f"{UNRESOLVED}{name}\n" for name in missing), command[0], 1)
            return None
        return image

    def compile_with_aliases(self, output: str) -> tuple[int, str]:
        """Compile to PTX, where functions have second names, and link that without them; status and standard error."""
        text = self.path(".mkoffload.alias.s")
        version = [] if any(word.startswith("-mptx=") for word in self.options.words) else [alias.VERSION]
        dumps = {name: os.path.join(self.folder, f"{name}.dump") for name in alias.DUMPS}
        lists = [f"-fdump-ipa-{name}={file}" for name, file in dumps.items()]
        self.aliases = [alias.OPTION, *version]
        command = self.command(text, ["-S", *self.aliases, *lists])
        echo(command, self.options.verbose)
        status, _, captured = Child(command, self.env, capture_stderr=True).wait()
        errors = captured.decode("utf-8", "replace")
        if status:
            return status, errors
        known: dict[str, str] = {}
        for name in filter(os.path.exists, dumps.values()):
            with open(name, encoding="utf-8", errors="surrogateescape") as file:
                known.update(alias.aliases_in(file.read()))
        with open(text, encoding="utf-8", errors="surrogateescape") as file:
            code = file.read()
        write_file(text, alias.without_aliases(code, known))
        words = [
            *(["-v"] if self.options.verbose else []),
            "-m64",
            *(["-mgomp"] if self.options.openmp else []),
            NO_VERIFY,
        ]
        words += [word for word in self.options.words if word.startswith(_FOR_LINKING)]
        command = [self.gcc, *words, "-x", "assembler", text, "-x", "none", *self.libraries(), "-o", output]
        echo(command, self.options.verbose)
        status, _, captured = Child(command, self.env, capture_stderr=True).wait()
        return status, errors + captured.decode("utf-8", "replace")

    def explain(self, errors: str, program: str, status: int) -> None:
        """Say of regions and lines what is wrong.  Raises ToolError unless the link is to go on."""
        found = problems(errors, self.users, self.wide)
        fallback = self.options.fallback
        if not (fallback and found):
            sys.stderr.write(errors)
        kind = "warning" if fallback else "error"
        for what in demangled([problem.what for problem in found], self.env):
            sys.stderr.write(f"mkoffload: {kind}: {what}\n")
        if not fallback:
            if found:
                sys.stderr.write(f"mkoffload: note: {FALLBACK_NOTE}\n")
            raise child_failed(program, status)
        for item in self.inputs:
            names = ", ".join(f"‘{name}’" for name in item.host_names()[0] if name is not None)
            sys.stderr.write(
                f"mkoffload: warning: {item.shown}: no code for {TARGET_NVPTX}: "
                f"{names or 'its regions'} will run on the host\n"
            )

    def users(self, symbol: str) -> list[tuple[str, str]]:
        """Who uses an undefined symbol: the compiler is asked again, for PTX with line numbers."""
        output = os.path.join(self.folder, f"users{os.urandom(2).hex()}.s")
        words = [w for w in self.command(output, ["-S", "-g", *self.aliases]) if w not in ("-save-temps", "-v")]
        status, _, _ = Child(words, self.env, capture_stderr=True).wait()
        if status:
            return []
        with open(output, encoding="utf-8", errors="replace") as file:
            return uses(file.read(), symbol)

    def wide(self, message: str) -> list[tuple[str, str]]:
        """Where device code uses the floating-point types of that message: gcc's own lto1 reads the host's streams."""
        types = wide_types(message)
        found: list[tuple[str, str]] = []
        for index, item in enumerate(self.inputs):
            try:
                mine = Input(item.name)
            except ToolError:
                continue
            if not types or not mine.has_ir:
                continue
            mine.extract(self.folder, index)
            dump = os.path.join(self.folder, f"{index}.dump")
            words = [os.environ["COLLECT_GCC"], "-xlto", "-c", mine.device_file, "-o", dump + ".o"]
            words += ["-w", f"-fdump-tree-optimized-lineno={dump}"]
            if not Child(words, self.env, capture_stderr=True).wait()[0]:
                with open(dump, encoding="utf-8", errors="replace") as file:
                    found += wide_uses(file.read(), types)
        return found

    def host_names(self, table: int, image: Names) -> tuple[Names, Names]:
        """Names of the host's entries, and of those that host LTO makes.

        LTO objects stand together.  Where one of them is slim its names are not known before host LTO: the image's
        entries between those of the others are taken as theirs, and compared later (``Made.lto``).
        """
        known = [(item, item.host_names()[table]) for item in self.inputs]
        unknown = any(item.lto and not item.has_tables for item, _ in known)
        missing = len(image) - sum(len(names) for item, names in known if not item.lto)
        host: Names = []
        lto: Names = []
        started = False
        for item, names in known:
            if item.lto and unknown and not started:
                lto = image[len(host) : len(host) + max(missing, 0)]
                host += lto
                started = True
            elif not (item.lto and unknown):
                host += names
                lto += names if item.lto else []
        return host, lto

    def check(self, image: PtxImage) -> Made:
        """Put the image's entries into the host's order, as far as names tell, and compare.  May raise ToolError."""
        made = Made(image.tables, ptx_name)
        functions, made.lto[0][:] = self.host_names(0, made.tables[0])
        variables, made.lto[1][:] = self.host_names(1, made.tables[1])
        order = order_for(functions, made.tables[0])
        if order is not None:
            image.functions = [image.functions[i] for i in order]
        order = order_for(variables, made.tables[1])
        if order is not None:
            image.variables = [image.variables[i] for i in order]
        for what, host, names in zip(("function", "variable"), (functions, variables), image.tables, strict=True):
            complain(self.options.output, what, host, names, made.rule)
        return made

    def output_name(self) -> str:
        """What to call the program or library in the runtime's messages."""
        return os.path.basename(self.options.dumpbase).removesuffix("x" + TARGET_NVPTX).rstrip(".")

    def pack(self, image: PtxImage) -> None:
        """The host object."""
        code = self.path(".ptx")
        write_file(code, ptx_file(image))
        # LTO objects' entries stand together in the image, wherever the objects stand in the link: those are paired by
        # position, as by other runtimes.
        described = [d for item in self.inputs for d in item.described]
        if any(item.by_position for item in self.inputs):
            described = []
        text = host_object_text(image, code, described, self.output_name())
        command = [find_tool("as", BDIR), "--64", "-o", self.options.output]
        if self.options.save_temps:
            write_file(self.options.dumpbase + ".s", text)
            run([*command, self.options.dumpbase + ".s"], self.env, self.options.verbose)
        else:
            run([*command, "-"], self.env, self.options.verbose, text.encode("ascii"))


def is_ours(program: str) -> bool:
    """Whether that mkoffload is this one."""
    return same(os.path.dirname(program), TOOL_FOLDER)


def build(words: Sequence[str], temps: Temps) -> Made | None:
    """Make the host object that the command line (without the program's name) asks for.

    None: nothing was made, and the link goes on without.  Raises ToolError.
    """
    options = Options(words)
    if options.ilp32:
        return None
    try:
        image = Image(options, temps)
        compiled = image.compile()
        if compiled is None:
            return None
        made = image.check(compiled)
        units = in_objects(image.inputs, made.tables[1], image.folder, image.env)
        for message in demangled(warnings(units, TARGET_NVPTX), image.env):
            sys.stderr.write(f"mkoffload: warning: {message}\n")
        image.pack(compiled)
    except CompilerMissing:
        if "OFFLOAD_TARGET_DEFAULT" in os.environ:
            return None  # nobody asked for this target
        raise
    except ElfError as error:
        raise ToolError(f"cannot read {error}") from None
    return made

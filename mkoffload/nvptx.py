"""The NVPTX image: device code of all objects, compiled by GCC's own nvptx compiler to PTX.

Objects in table order go in; a host object comes out that registers the image as GCC's mkoffload has it
(config/nvptx/mkoffload.cc).  What differs: no C file goes through the host's compiler, the assembler does not ask the
installed ptxas about architectures that it may have forgotten, libraries that the code calls for are named, tables are
compared by name, and what PTX cannot do is said of the region.  docs/nvptx.md describes it for users.
"""

from __future__ import annotations

import os

from gompy.abi.gcc import HOST_LIBRARY, REQUIRES_FILE, major_of
from gompy.abi.gomp_newer import GOMP_REQUIRES_REVERSE_OFFLOAD
from gompy.objects.elf import SHN_UNDEF, ElfError
from gompy.objects.names import ACCEL_TRUE, OFFLOAD_FUNC_SECTION, OFFLOAD_VAR_SECTION, TARGET_NVPTX
from gompy.objects.naming import Names, host_spelling, ptx_name
from gompy.tools.linkcompiler import host_compiler, link_compiler, search_folders
from gompy.tools.messages import Log
from gompy.tools.process import Temps, ToolError, child_failed, find_in, write_file
from gompy.tools.response import join
from mkoffload.hostobject import registration
from mkoffload.inputs import Described, Input
from mkoffload.job import POSITION_INDEPENDENCE, Job, Made, Request, complain
from mkoffload.nvptx_host import host_object_text, ptx_file
from mkoffload.nvptx_library import NAME as LIBRARY
from mkoffload.nvptx_library import archive
from mkoffload.nvptx_ptx import (
    FUNCTION_TABLE,
    INDIRECT_TABLE,
    PtxImage,
    missing_vtables,
    order_for,
    split,
    table_object,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gompy.objects.elf import Elf
    from gompy.tools.options import Option

HOST_FALLBACK = "-fhost-fallback"
"""mkoffload's own option: no image instead of an error where the device code cannot be compiled."""
NO_VERIFY = "-Wa,--no-verify"
"""nvptx-tools' assembler asks a ptxas in PATH whether it likes the code, and CUDA 13's no longer knows the sm_30 and
sm_35 that GCC 12 writes for.  The driver compiles PTX of any age.  First on the line: a user's -Wa,--verify wins."""
FAKE_EXCEPTIONS, FAKES_SINCE = "-mfake-exceptions", 15
"""GCC's mkoffload has its nvptx compiler take handlers of exceptions as never reached, from that release on: code of
the C++ library has them (config/nvptx/mkoffload.cc)."""
REVERSE_TARGET = "-march=sm_35"
"""What reverse offload needs at least; the compilers of GCC 13 and 14 write for less by default."""
TOO_OLD_TARGET = "sm_30"
TOO_OLD = (
    "'omp requires reverse_offload' requires at least 'sm_35' for "
    f"'-foffload-options={TARGET_NVPTX}=-march=' - disabling offload-code generation for this device type"
)
"""As GCC's mkoffload says it in the C locale (config/nvptx/mkoffload.cc); its tests look for that."""
NRV_FAILED = "internal compiler error: in execute, at tree-nrv.cc:"
"""GCC 12's accelerator compiler fails in that pass on Fortran functions of a derived type."""
ALIAS_REFUSED = "error: alias definitions not supported in this configuration"
NO_NRV, NRV_NOTE = "-fdisable-tree-nrv", "disable pass tree-nrv for functions"
_FOR_LINKING = ("-m", "-l", "-L", "-Wa,", "-Wl,", "-fopenmp", "-fopenacc", "-static", "-B")
LONGEST_LINE = 1 << 16
"""Bytes of a command line beyond which its words go into a file."""
SHARED = (
    "‘{}’: all lanes of a ‘simd’ loop may share the variable that is written here, which GCC's nvptx compiler keeps in "
    "memory of the warp; if it is declared in the loop's body, put the body into a function, or ‘private’ on the loop"
)
NESTED = (
    "‘{}’: a ‘simd’ or ‘loop’ construct runs inside of another one here: GCC's nvptx compiler gives both to the same "
    "lanes, so that only one in 32 of the inner one's iterations runs; leave the inner construct out, or write "
    "‘parallel for’ (‘do’) for the outer ‘loop’"
)
FOR_THE_HOST = ("-fcf-protection", "-Xassembler")
"""Beginnings of the host's options that the accelerator compiler or its assembler refuses; that one's come as -Wa."""
FALLBACK_NOTE = (
    f"-foffload-options={TARGET_NVPTX}={HOST_FALLBACK} links without this image: all regions run on the host then"
)


class Options:
    """The options that are this target's: its own, and the words for the accelerator compiler.  Raises ToolError."""

    def __init__(self, options: Iterable[Option]) -> None:
        self.fallback = False
        self.ilp32 = False
        self.openmp = False
        self.openacc = False
        self.words: list[str] = []
        for option in options:
            word = option.words[0]
            if word in POSITION_INDEPENDENCE or word.startswith(FOR_THE_HOST):
                continue  # there is none in PTX, and the compiler would give functions second names for it
            if word in (HOST_FALLBACK, "-fno-host-fallback"):
                self.fallback = word == HOST_FALLBACK
                continue
            self.openmp |= word == "-fopenmp"
            self.openacc |= word == "-fopenacc"
            if option.key == "foffload-abi=":
                if option.arg not in ("lp64", "ilp32"):
                    raise ToolError("unrecognizable argument of option -foffload-abi=")
                self.ilp32 = option.arg == "ilp32"
            if word.startswith(HOST_LIBRARY):
                self.words.append("-l" + word[len(HOST_LIBRARY) :])
            else:
                self.words += option.words
        if self.openmp == self.openacc:
            both = " (both are: leave one out, or nvptx-none)"
            raise ToolError("either ‘-fopenacc’ or ‘-fopenmp’ must be set" + (both if self.openmp else ""))


def installed_names() -> tuple[list[str], str]:
    """Names under which GCC installs the accelerator compiler for the compiler of this link, and its Debian package."""
    from gompy.abi.gcc import offload_package

    triplet, version = link_compiler()
    base = f"{triplet}-accel-{TARGET_NVPTX}-gcc"
    return [f"{base}-{version}", base], offload_package(TARGET_NVPTX, major_of(version))


def is_of_another_release(path: str) -> bool:
    """Whether a driver is a link to another release's: Debian's gcc-offload-nvptx has one to its default's."""
    number = os.path.basename(os.path.realpath(path)).rpartition("-gcc-")[2]
    return number[:1].isdigit() and major_of(number) != major_of(link_compiler()[1])


def find_compiler() -> str:
    """The accelerator compiler's driver: beside the link's compiler, in PATH or COMPILER_PATH.  Raises ToolError."""
    gcc = host_compiler()
    names, package = installed_names()
    folders = [os.path.dirname(gcc)] if "/" in gcc else []
    folders += [f for f in os.environ.get("PATH", "").split(":") if f] + [f for f in search_folders() if f]
    for name in names:
        found = find_in([*folders, "/usr/bin"], name)
        if found is not None and not is_of_another_release(found):
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

    def __init__(self, name: str, elf: Elf) -> None:
        super().__init__(name, elf, ACCEL_TRUE)
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

    def __init__(self, request: Request, options: Options, temps: Temps) -> None:
        self.request = request
        self.options = options
        self.gcc = find_compiler()
        self.log = Log("mkoffload", request.verbose)
        self.job = Job(request.kept, temps, self.log)
        self.aliases: list[str] = []  # options for them, once they are needed
        self.inputs = [Object(name, request.open(name)) for name in request.objects]
        self.registered = registration(self.inputs)
        self.job.env[REQUIRES_FILE] = self.job.path(".mkoffload.omp_requires")  # written; our own reading is registered

    @property
    def reverse(self) -> bool:
        """Whether regions call functions of the host's."""
        return bool(self.registered.requires & GOMP_REQUIRES_REVERSE_OFFLOAD)

    def too_old(self) -> bool:
        """Whether the architecture that is asked for cannot call the host, and regions of the program do; told."""
        words = self.options.words
        asked = [word.partition("=")[2] for word in words if word.startswith(("-march=", "-misa="))]
        if not (self.reverse and asked and asked[-1] == TOO_OLD_TARGET):
            return False
        self.log.warning(TOO_OLD)
        return True

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
        write_file(os.path.join(self.job.folder, f"lib{LIBRARY}.a"), archive())
        return [*(["-lgfortran"] if fortran else []), "-lm", "-latomic", f"-L{self.job.folder}", f"-l{LIBRARY}"]

    def command(self, output: str, more: list[str]) -> list[str]:
        """The accelerator compiler's command line."""
        options, request = self.options, self.request
        words = [
            *(["-save-temps"] if request.save_temps else []),
            *(["-v"] if request.verbose else []),
            "-xlto",
            "-m64",
        ]
        words += ["-mgomp"] if options.openmp else []
        words += [NO_VERIFY, "-fno-pic", *([REVERSE_TARGET] if self.reverse else [])]
        words += [FAKE_EXCEPTIONS] if major_of(link_compiler()[1]) >= FAKES_SINCE else []
        words += [*request.objects, *options.words, *more]
        if request.save_temps or any(word.startswith("-fdump-") for word in options.words):
            words += ["-dumpdir", "", "-dumpbase", request.dumpbase + ".mkoffload", "-dumpbase-ext", ""]
        words += ["-o", output]
        if sum(len(word) + 1 for word in words) < LONGEST_LINE:
            return [self.gcc, *words]
        arguments = self.job.path(".gcc_args")
        write_file(arguments, join(words))
        return [self.gcc, f"@{arguments}"]

    def compile(self) -> PtxImage | None:
        """Run it; None if the code cannot be compiled and the user wants the link to go on."""
        output = self.job.path(".mkoffload")
        command = self.command(output, self.libraries())
        status, errors = self.job.compile(command)
        if status and NRV_FAILED in errors:
            command = self.command(output, [*self.libraries(), NO_NRV])
            status, errors = self.job.compile(command)
            errors = "".join(line for line in errors.splitlines(keepends=True) if NRV_NOTE not in line)
        if status and ALIAS_REFUSED in errors:
            status, errors = self.compile_with_aliases(output)
        if status:
            self.explain(errors, command[0], status)
            return None
        self.log.text(errors)
        with open(output, "rb") as file:
            image = split(file.read(), output)
        for mistake in image.mistakes:
            place = f"{mistake.place}: " if mistake.place else ""
            text = NESTED if mistake.nested else SHARED
            self.log.warning(f"{place}{text.format(host_spelling(mistake.function))}")
        missing = missing_vtables(image)
        if missing:
            from mkoffload.nvptx_explain import UNRESOLVED

            self.explain("".join(f"{UNRESOLVED}{name}\n" for name in missing), command[0], 1)
            return None
        return image

    def compile_with_aliases(self, output: str) -> tuple[int, str]:
        """Compile to PTX, where functions have second names, and link that without them; status and standard error."""
        from mkoffload import nvptx_alias as alias

        text = self.job.path(".mkoffload.alias.s")
        version = [] if any(word.startswith("-mptx=") for word in self.options.words) else [alias.VERSION]
        dumps = {name: os.path.join(self.job.folder, f"{name}.dump") for name in alias.DUMPS}
        lists = [f"-fdump-ipa-{name}={file}" for name, file in dumps.items()]
        self.aliases = [alias.OPTION, *version]
        command = self.command(text, ["-S", *self.aliases, *lists])
        status, errors = self.job.compile(command)
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
            *(["-v"] if self.log.verbose else []),
            "-m64",
            *(["-mgomp"] if self.options.openmp else []),
            NO_VERIFY,
        ]
        words += [word for word in self.options.words if word.startswith(_FOR_LINKING)]
        command = [self.gcc, *words, "-x", "assembler", text, "-x", "none", *self.libraries(), "-o", output]
        status, more = self.job.compile(command)
        return status, errors + more

    def explain(self, errors: str, program: str, status: int) -> None:
        """Say of regions and lines what is wrong.  Raises ToolError unless the link is to go on."""
        from mkoffload.nvptx_explain import CRASH, UNRESOLVED, problems
        from mkoffload.undefined import demangled

        found = problems(errors, self.users, self.wide)
        if not found and CRASH in errors:
            found = problems("".join(f"{UNRESOLVED}{name}\n" for name in self.vtables()), lambda _: [], self.wide)
        fallback = self.options.fallback
        if not (fallback and found):
            self.log.text(errors)
        say = self.log.warning if fallback else self.log.error
        for what in demangled([problem.what for problem in found], self.job.env):
            say(what)
        if not fallback:
            if found:
                self.log.note(FALLBACK_NOTE)
            raise child_failed(program, status)
        from mkoffload.hostregions import HostRegions

        told = HostRegions(self.log)
        for item in self.inputs:
            names = ", ".join(f"‘{name}’" for name in item.host_names()[0] if name is not None)
            told.tell(item, f"no code for {TARGET_NVPTX}", whole=f"{names or 'its regions'} will run on the host")
        told.end()

    def vtables(self) -> list[str]:
        """Those that regions get from the host, as far as objects have host code.  At -O1 and above the compiler ends
        with a segmentation fault where it looks for what they hold (ipa-cp)."""
        hosts = []
        for item in self.inputs:
            try:
                hosts.append(item.for_host())
            except ToolError:
                continue
        from mkoffload.vtables import of_device_classes

        return of_device_classes(hosts)

    def users(self, symbol: str) -> list[tuple[str, str]]:
        """Who uses an undefined symbol: the compiler is asked again, for PTX with line numbers."""
        output = os.path.join(self.job.folder, f"users{os.urandom(2).hex()}.s")
        words = [w for w in self.command(output, ["-S", "-g", *self.aliases]) if w not in ("-save-temps", "-v")]
        if not self.job.ask(words):
            return []
        from mkoffload.nvptx_explain import uses

        with open(output, encoding="utf-8", errors="replace") as file:
            return uses(file.read(), symbol)

    def wide(self, message: str) -> list[tuple[str, str]]:
        """Where device code uses the floating-point types of that message: gcc's own lto1 reads the host's streams."""
        from mkoffload.nvptx_explain import wide_types, wide_uses

        types = wide_types(message)
        found: list[tuple[str, str]] = []
        for index, item in enumerate(self.inputs):
            try:
                mine = item.for_host()
            except ToolError:
                continue
            if not types or not mine.has_ir:
                continue
            mine.extract(self.job.folder, index)
            dump = os.path.join(self.job.folder, f"{index}.dump")
            words = [os.environ["COLLECT_GCC"], "-xlto", "-c", mine.device_file, "-o", dump + ".o"]
            words += ["-w", f"-fdump-tree-optimized-lineno={dump}"]
            if self.job.ask(words):
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
            complain(self.request.output, what, host, names, made.rule)
        return made

    def add_tables(self, image: PtxImage) -> None:
        """Objects with the addresses of functions, in the order of the tables as the host has them.

        May raise ToolError.
        """
        names = [name for name, _ in image.functions]
        nohost: list[str | None] = [n if n.endswith("$nohost") or "$nohost$" in n else None for n in names]
        if self.reverse and any(nohost):
            image.objects.append(table_object(image, FUNCTION_TABLE, nohost))
        if image.indirect:
            image.objects.append(table_object(image, INDIRECT_TABLE, [*image.indirect]))

    def pack(self, image: PtxImage) -> None:
        """The host object."""
        code = self.job.path(".ptx")
        write_file(code, ptx_file(image))
        # LTO objects' entries stand together in the image, wherever the objects stand in the link: those are paired by
        # position, as by other runtimes.
        described = [d for item in self.inputs for d in item.described]
        if any(item.by_position for item in self.inputs):
            described = []
        text = host_object_text(image, code, described, self.request.program(TARGET_NVPTX), self.registered)
        self.job.assemble(text, self.request.output)


def build(request: Request, temps: Temps) -> Made | None:
    """Make the host object that is asked for.

    None: nothing was made, and the link goes on without.  Raises ToolError.
    """
    options = Options(request.options)
    if options.ilp32:
        return None
    try:
        image = Image(request, options, temps)
        if image.too_old():
            return None
        compiled = image.compile()
        if compiled is None:
            return None
        made = image.check(compiled)
        image.add_tables(compiled)
        if not compiled.constructs and any(item.has_initialisers for item in image.inputs):
            from mkoffload.initialisers import in_objects, warnings

            units = in_objects(image.inputs, made.tables[1], image.job.folder, image.job.env)
            for message in warnings(units, TARGET_NVPTX, image.job.env):
                image.log.warning(message)
        image.pack(compiled)
    except CompilerMissing:
        if "OFFLOAD_TARGET_DEFAULT" in os.environ:
            return None  # nobody asked for this target
        raise
    except ElfError as error:
        raise ToolError(f"cannot read {error}") from None
    return made

"""The emulated device's image: device code of all objects, linked into one shared object.

Objects in table order go in; a host object comes out that registers the image.  The route: an lto1 (mkoffload/accel.py)
compiles all translation units in one partition (what no region or device symbol reaches falls away), ld makes the DSO
without host constructors, and the host object takes it in.  docs/internals.md has the contracts.
"""

from __future__ import annotations

import os

from gompy import BDIR, access
from gompy.abi.gcc import HOST_LIBRARY
from gompy.abi.gomp_newer import GOMP_REQUIRES_REVERSE_OFFLOAD
from gompy.objects.elf import SHT_FINI_ARRAY, SHT_INIT_ARRAY, Elf, ElfError, open_object
from gompy.objects.entrynames import table_names
from gompy.objects.names import ACCEL_ONLY, ACCEL_STOCK, ACCEL_TRUE, TARGET_INTELMIC, TARGET_TABLE
from gompy.objects.naming import Names
from gompy.tools.linkcompiler import accel_folders, host_compiler
from gompy.tools.messages import Log
from gompy.tools.process import Temps, ToolError, child_failed, find_tool, linker_appends, write_file
from mkoffload.accel import VARIABLE, Compilation, Compiler, StockCompiler
from mkoffload.hostobject import host_object_text, registration
from mkoffload.imagelink import (
    all_libraries,
    few_libraries,
    library_arguments,
    neutralised,
    undefined_symbols,
    wanted_libraries,
)
from mkoffload.inputs import Input
from mkoffload.job import POSITION_INDEPENDENCE, Job, Made, Request, complain
from mkoffload.owncopies import own_copies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gompy.tools import accelstore as store
    from gompy.tools.options import Option
    from mkoffload.listing import Initialiser
    from mkoffload.vtables import Candidates, Vtables

FALLEN_BACK = (
    "the accelerator compiler cannot make this image (-v shows why), gcc's own lto1 has: ‘declare variant’ goes by the "
    "host there; GOMPY_ACCEL=gcc asks for that, and no more is said"
)
CHOICES = ("auto", "gcc", "true")
UNSANITARY = {"thread", "hwaddress", "kernel-address", "kernel-hwaddress"}
"""Sanitizers whose runtime has to be the program's, or the kernel."""


class Options:
    """The options that are this target's.

    ``compile``: words for the compiler; ``link``: words for ld.  Raises ToolError for those that cannot be.
    """

    def __init__(self, options: Iterable[Option]) -> None:
        self.accel_only = False
        self.tells = False  # -foffload-check: of each access
        self.compile: list[str] = []
        self.link: list[str] = []
        for option in options:
            word = option.words[0]
            if option.key == "foffload-abi=":
                if option.arg != "lp64":
                    raise ToolError(
                        "unrecognizable argument of option -foffload-abi="
                        if option.arg != "ilp32"
                        else "-foffload-abi=ilp32 is not supported: the device is 64-bit"
                    )
            elif word in ("-l", "-L"):
                self.link.append(word + option.arg)
            elif option.key == "Xlinker":
                self.link.append(option.arg)
            elif word.startswith(HOST_LIBRARY):
                pass  # the device has the host's, which the image is linked with as far as it needs them
            elif word.startswith(("-l", "-L")):
                self.link.append(word)
            elif word.startswith("-Wl,"):
                self.link += word[4:].split(",")
            elif word == access.OPTION:
                self.tells = True
            elif word == ACCEL_ONLY:
                self.accel_only = True
            elif word.startswith("-fsanitize=") and UNSANITARY & set(word[len("-fsanitize=") :].split(",")):
                raise ToolError(f"{word} is not supported for {TARGET_INTELMIC}: address and undefined are")
            elif word in POSITION_INDEPENDENCE:
                pass  # the image is a shared object whatever the host is
            elif word.startswith("-flto") or word == "-shared":
                pass
            else:
                self.compile += option.words


class Image:
    """One image being made: the steps, in order, and what they leave behind."""

    def __init__(
        self, request: Request, options: Options, temps: Temps, log: Log, compiler: Compiler | None = None
    ) -> None:
        self.request = request
        self.link_words = options.link
        self.tells = options.tells
        gcc = host_compiler()
        self.log = log
        self.job = job = Job(request.kept, temps, log)
        self.compiler: Compiler = compiler or choose(gcc, job.env)
        words = [*options.compile, *access.DEVICE_WORDS] if options.tells else list(options.compile)
        plugin = openacc_plugin(gcc, job.env, words) if self.compiler.takes_plugins else ""
        words += [f"-fplugin={plugin}"] if plugin else []
        words += loops_plugin(gcc, job.env) if options.tells and self.compiler.takes_plugins else []
        self.given = Compilation(job, gcc, words, request.dumpbase, options.accel_only)
        self.inputs: list[Input] = []
        self.classes: Candidates | None = None  # in C++ alone
        self.initialisers: set[str] = set()  # functions of the host's that run when the image is loaded
        self.functions: set[str] = set()  # constructor and destructor functions that are the device's own
        self.units: list[Initialiser] = []

    def read_inputs(self) -> bool:
        """Open all objects, and have those with device code ready for lto1; whether there is one.  Warns of others."""
        self.log.detail(f"accelerator compiler: {self.compiler.title}")
        self.inputs = [Input(name, self.request.open(name), self.compiler.accel) for name in self.request.objects]
        usable = self.given.inputs
        without: list[Input] = []
        for index, item in enumerate(self.inputs):
            if item.has_ir:
                item.extract(self.job.folder, index, self.job.write)
                usable.append(item)
            else:
                without.append(item)
        if without:
            from mkoffload.hostregions import HostRegions

            told = HostRegions(self.log)
            for item in without:
                told.tell(item, *self.compiler.missing(item))
            told.end()
        if any(item.names_classes for item in usable):
            from mkoffload.vtables import candidates

            self.classes = candidates(usable)
            if self.compiler.accel == ACCEL_STOCK:
                self.given.exported = self.classes.names  # the accelerator compiler has no IR of them
        return bool(usable)

    def classes_without_ir(self) -> list[str]:
        """Vtables and type information that regions get from the host, and that gcc's own compiler would have.

        Where the choice of the compiler is not free: the vtables that are surely the device's.
        """
        if self.compiler.accel == ACCEL_STOCK or not any(item.names_classes for item in self.inputs):
            return []
        from mkoffload.vtables import candidates, of_device_classes

        if not another(self.compiler, self.inputs):
            return of_device_classes(self.inputs)
        try:
            return candidates([item for item in map(Input.for_host, self.inputs) if item.has_ir]).names
        except ToolError:
            return []  # gcc's own cannot read them all (a bundle with objects of plain gcc)

    def check(self, compiled: Elf) -> Made:
        """Compare the image's tables with the host's, by name.  ToolError names the entries that differ.

        LTO objects stand together in the order of the tables.  Where one of them is slim, their names are known only
        after host LTO: the image's entries between those of the others are taken as theirs (``Made.lto``).
        """
        image = table_names(compiled)
        made = Made(image, self.compiler.rule)
        for table, what in enumerate(("function", "variable")):
            known = [(i, i.host_names()[table]) for i in self.inputs if i.has_ir]
            missing = len(image[table]) - sum(len(names) for item, names in known if not item.lto)
            unknown = any(item.lto and not item.has_tables for item, _ in known)
            host: Names = []
            started = False
            for item, names in known:
                if not item.lto:
                    host += names
                elif not unknown:
                    made.lto[table].extend(names)
                    host += names
                elif not started:
                    started = True
                    made.lto[table].extend(image[table][len(host) : len(host) + max(missing, 0)])
                    host += made.lto[table]
                    if table == 0:
                        item.described[0].nfuncs = len(made.lto[table])
                    else:
                        item.described[0].nvars = len(made.lto[table])
                elif table == 0:
                    item.described[0].nfuncs = 0
                else:
                    item.described[0].nvars = 0
            complain(self.request.output, what, host, image[table], made.rule)
        return made

    def compile_with_listing(self, device: Names) -> list[str]:
        """Compile again, each unit's initialisers apart and listed; choose those that the device runs."""
        from mkoffload.initialisers import LISTING, NO_MERGING, concerned, of_image

        listing = os.path.join(self.job.folder, "listing")
        self.given.words += [] if NO_MERGING in self.given.words else [NO_MERGING]
        # The user's own dump of that pass is there from before; its options would change the listing.
        own_dump = LISTING.partition("-lineno")[0]
        self.given.words[:] = [word for word in self.given.words if not word.startswith(own_dump)]
        self.given.words.append(f"{LISTING}={listing}")
        compiled = self.compiler.compile(self.given)
        from mkoffload.listing import reader

        elf = open_object(compiled[0])
        with open(listing, encoding="utf-8", errors="replace") as file:
            read = reader(file.read(), elf, device)
        own = of_image(elf, self.functions)
        self.units = [read.read(name) for name in concerned(elf, device) if name not in own]
        done = {variable for name in own for variable in read.read(name).variables}
        for unit in self.units:  # what GCC 15's part for the device does is not done twice
            unit.variables = {variable: place for variable, place in unit.variables.items() if variable not in done}
        self.units = [unit for unit in self.units if unit.variables]
        self.initialisers = {unit.name for unit in self.units if not unit.cause}
        return compiled

    def drop_initialisers(self, symbol: str) -> None:
        """None of them runs: there is no device code for what they call."""
        self.initialisers = set()
        for unit in self.units:
            unit.cause = unit.cause or f"what initialises it needs ‘{symbol}’, of which there is no device code"

    def relocatable(self, compiled: Elf) -> bytes:
        """The compiled code as ld gets it."""
        own: set[str] = set()
        if self.functions:
            from mkoffload.initialisers import of_image

            own = of_image(compiled, self.functions)
        data = neutralised(compiled, self.initialisers | own)
        if not registration(self.inputs).requires & GOMP_REQUIRES_REVERSE_OFFLOAD:
            return data
        from mkoffload.ancestors import without_code

        return without_code(data, compiled)

    def link(self, compiled: Elf, more: list[str], vtables: Vtables | None) -> str:
        """ld: the image, a DSO that exports its tables.  ToolError after a message for every undefined symbol.

        Vtables that need what the device has not are taken out of ``vtables``.
        """
        relocatable = self.relocatable(compiled)
        write_file(compiled.name, relocatable)
        job = self.job
        image = job.path(".so", ".mkoffload")
        script = job.path(".map", ".mkoffload.map")
        write_file(script, f"{{ global: {TARGET_TABLE}; local: *; }};\n")
        command = [find_tool("ld", BDIR), "-m", "elf_x86_64", "-shared", "--gc-sections", "--eh-frame-hdr"]
        command += ["-z", "defs", "-z", "noexecstack", "--no-demangle", "--hash-style=gnu", "--build-id"]
        command += ["--version-script", script, "-o", image]
        command += [os.path.join(BDIR, "imgbegin.o"), compiled.name, *more]
        places = compiled.find(".debug_info") is not None
        command += ["--print-gc-sections"] if places else []
        undefined = [*undefined_symbols(compiled.symbols()), *(self.classes.foreign if self.classes else ())]
        if self.tells:
            command += [os.path.join(BDIR, access.HOOKS), *access.wrap_words()]
            undefined.append("GOMP_parallel")  # the hooks may call for libgomp
            if access.is_ordered_unseen(undefined):
                command += ["--defsym", "gompy_access_unordered=1"]
        alone = not (self.tells or self.initialisers or self.functions or more or vtables or self.link_words)
        few = few_libraries(undefined) if alone else wanted_libraries(undefined)
        status, text = 1, ""
        libraries: list[str] | tuple[str, ...] = few
        while True:
            last = [self._vtable_object(vtables)] if vtables else []
            last += [os.path.join(BDIR, "imgfini.o")] if self.initialisers or self.functions else []
            whole = [*command, *last, os.path.join(BDIR, "imgend.o"), *self.link_words]
            whole += library_arguments(os.environ.get("LIBRARY_PATH", ""), libraries)
            status, text = job.compile(whole)
            if not status or "undefined reference" not in text:
                break
            if libraries is few:
                libraries = all_libraries(undefined)
                continue
            from mkoffload.undefined import parse_undefined

            if self.initialisers:
                self.drop_initialisers(next(iter(parse_undefined(text)), ""))
                relocatable = self.relocatable(compiled)
                write_file(compiled.name, relocatable)
            elif not vtables or not vtables.drop(compiled, set(parse_undefined(text))):
                break
        if status:
            self.explain(text)
            raise child_failed(command[0], status)
        if places:
            from mkoffload import dropped

            gone, text = dropped.removed(text, compiled.name)
            again = dropped.with_places(relocatable, compiled, gone)
            if again is not None:
                write_file(compiled.name, again)
                job.run([word for word in whole if word != "--print-gc-sections"])
        job.log.text(text)
        return image

    def explain(self, errors: str) -> None:
        """Say what ld's complaints mean."""
        from mkoffload.undefined import demangled, explain_undefined, parse_undefined

        log = self.log
        assembly = self.compiler.assembly(self.given) if "undefined reference" in errors else ""
        messages = explain_undefined(errors, assembly, self.inputs)
        for message in demangled(messages, self.job.env):
            log.error(message)
        if not messages:
            log.text("".join(t for t in errors.splitlines(keepends=True) if "removing unused section" not in t))
        elif self.compiler.accel == ACCEL_TRUE:
            from mkoffload.truecompiler import CLASSES_CUT
            from mkoffload.vtables import PREFIXES

            if any(symbol.startswith(PREFIXES) for symbol in parse_undefined(errors)):
                log.error(CLASSES_CUT)

    def make(self) -> Made | None:
        """All the steps.  None: no object has device code.  Raises ToolError."""
        try:
            if not self.read_inputs():
                return None
            missing = self.classes_without_ir()
            if missing:
                # Regions would work on copies of the host's, whose way back faults: they are read-only there.
                from mkoffload.truecompiler import CLASSES_CUT
                from mkoffload.undefined import demangled

                names = demangled([", ".join(missing)], self.job.env)[0]
                raise ToolError(f"regions get {names} from the host: {CLASSES_CUT}")
            if any(s.type in (SHT_INIT_ARRAY, SHT_FINI_ARRAY) for item in self.inputs for s in item.elf.sections):
                from mkoffload.initialisers import NO_MERGING, device_functions

                self.functions = device_functions(self.inputs)
                self.given.words += [NO_MERGING] if self.functions else []
            compiled, *more = self.compiler.compile(self.given)
            elf = open_object(compiled)
            made = self.check(elf)
            if self.compiler.accel == ACCEL_STOCK:
                if any(section.type == SHT_INIT_ARRAY for section in elf.sections):
                    from mkoffload.initialisers import concerned

                    if concerned(elf, made.tables[1]):
                        compiled, *more = self.compile_with_listing(made.tables[1])
                        elf = open_object(compiled)
            elif any(item.has_initialisers for item in self.inputs):
                from mkoffload.initialisers import in_objects

                self.units = in_objects(self.inputs, made.tables[1], self.job.folder, self.job.env)
            vtables: Vtables | None = None
            if self.classes is not None:
                from mkoffload.vtables import Vtables

                vtables = Vtables(self.given.exported, elf, self.classes)
            image = self.link(elf, more, vtables)
            for item, message in own_copies(self.inputs, open_object(image), made.tables[1]):
                self.log.warning(f"{item.shown}: {message}")
            if self.units:
                from mkoffload.initialisers import warnings

                for message in warnings(self.units, TARGET_INTELMIC, self.job.env):
                    self.log.warning(message)
            self.pack(image, made.tables, vtables)
        except ElfError as error:
            raise ToolError(f"cannot read {error}") from None
        made.classes = [name for name, _ in vtables.entries] if vtables else []
        if self.compiler.accel == ACCEL_STOCK and not (self.job.base or self.link_words):
            from mkoffload.imageparts import parts_of_image

            made.parts = parts_of_image(self.given.gcc, self.given.words)
        return made

    def _vtable_object(self, vtables: Vtables) -> str:
        """The image's table entries of the vtables."""
        output = self.job.path(".vtables.o", ".mkoffload.vtables.o")
        text = vtables.table_text() + '\t.section .note.GNU-stack,"",@progbits\n'
        self.job.run([find_tool("as", BDIR), "--64", "-o", output, "-"], text.encode())
        return output

    def pack(self, image: str, tables: tuple[Names, Names], vtables: Vtables | None) -> None:
        """The host object."""
        described = [d for item in self.inputs for d in item.described]
        described += [vtables.described()] if vtables else []
        output = self.request.program(TARGET_INTELMIC)
        lengths = len(tables[0]), len(tables[1]) + (len(vtables.entries) if vtables else 0)
        accel, appended = self.compiler.accel, linker_appends()
        text = host_object_text(image, described, *lengths, output, accel, vtables, appended, registration(self.inputs))
        self.job.assemble(text, self.request.output)


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
    built: list[store.Installed] = []
    if any(map(os.path.isdir, accel_folders())):
        from gompy.tools import accelstore as store

        built = store.installed()
    if built:
        from mkoffload.truecompiler import TrueCompiler, host_identity

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


def openacc_plugin(gcc: str, env: dict[str, str], words: list[str]) -> str:
    """The plugin that gives OpenACC's regions gangs, where it is built for this compiler; "" without OpenACC."""
    if "-fopenacc" not in words or not any(map(os.path.isdir, accel_folders())):
        return ""
    from gompy.tools import accelstore as store
    from mkoffload.truecompiler import host_identity

    if not store.installed(program=store.OPENACC):
        return ""
    found = store.find(host_identity(gcc, env), program=store.OPENACC)
    return found.openacc if found is not None else ""


def loops_plugin(gcc: str, env: dict[str, str]) -> list[str]:
    """The option for the plugin by which -foffload-check asks about loops, where it is built for this compiler."""
    from gompy.tools import accelstore as store
    from mkoffload.truecompiler import host_lto1

    return store.loops_words(lambda: host_lto1(gcc, env))


def build(request: Request, temps: Temps) -> Made | None:
    """Make the host object that is asked for.

    None: no object has device code, nothing was made.  Raises ToolError.
    """
    options = Options(request.options)
    log = Log("mkoffload", request.verbose)
    image = Image(request, options, temps, log)
    if image.compiler.accel == ACCEL_STOCK:
        return image.make()
    # What the accelerator compiler has no IR of (vtables), or fails on, gcc's own may yet compile: until that is known,
    # the messages of the first are kept.
    log.keep()
    try:
        made = image.make()
    except ToolError as error:
        second = another(image.compiler, image.inputs)
        if second is None:
            log.show()
            raise
        log.detail(f"{error}; trying the other compiler")
        if not log.verbose:
            log.forget()
        log.show()
    else:
        log.show()
        return made
    made = Image(request, options, temps, log, second).make()
    if made is not None:
        log.note(FALLEN_BACK)
    return made

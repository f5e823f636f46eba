"""From a command line to the gcc command that carries it out.

One command of the user becomes one run of gcc, with words and environment variables added (docs/internals.md, "Compile"
and "Link").  Nothing is run here, so that ``-show`` and the tests see exactly what would be.
"""

from __future__ import annotations

import os

from gompy import access
from gompy.abi import warnings
from gompy.abi.gcc import major_of, release
from gompy.driver import compiler, offload, options, paths
from gompy.driver.errors import DriverError, quote
from gompy.driver.searches import begin_contains, contains
from gompy.objects.names import ACCEL_ONLY

TARGET_NAMES = "OFFLOAD_TARGET_NAMES"
TARGET_DEFAULT = "OFFLOAD_TARGET_DEFAULT"
OPTIONS = "GOMPY_OFFLOAD_OPTIONS"
AS = "GOMPY_AS"

_LTO_WORDS = ("-flto", "-fno-lto", "--no-lto", "-fno-fat-lto-objects", "--no-fat-lto-objects")
"""Left out where LTO is not in effect: -fno-lto would win over ours, and at a link switch the linker plugin off."""
_AGAINST_LTO = ("-flive-patching", "-fvtable-verify=std", "-fvtable-verify=preinit")
"""gcc refuses these beside -flto, without which stock gcc cannot make device code of ours."""
_SILENT_WITH_LTO = ("-fstack-usage", "-fcallgraph-info")
"""gcc takes these beside -flto and writes nothing (toplev.cc)."""


_HOST_SANITIZERS = ("thread", "leak", "hwaddress", "kernel-address", "kernel-hwaddress")


class Plan:
    """One gcc command.

    argv: the whole command; its arguments begin at ``start``.  environment: variables to set, or with None to remove.
    messages: (kind, text) to print before.  errors: if there are any, nothing is to be run.
    line: what was read of the user's command; None if it did not have to be read.
    """

    def __init__(
        self, command: compiler.Compiler, arguments: list[str], line: options.CommandLine | None = None
    ) -> None:
        self.path = command.path
        self.argv = [*command.words, *arguments]
        self.start = len(command.words)
        self.environment: dict[str, str | None] = {}
        self.messages: list[tuple[str, str]] = []
        self.errors: list[DriverError] = []
        self.line = line


def interesting(arguments: list[str]) -> bool:
    """Whether a line could concern offloading at all; most lines that do not are told apart by this alone."""
    for word in arguments:
        if word[:1] == "@" or word.endswith((".o", ".a", ".s", ".S", ".sx")):
            return True
        if "open" in word or "offload" in word or "gomp" in word:
            return True
    return False


def make(language: compiler.Language, arguments: list[str]) -> Plan:
    """Plan a command; ``errors`` of the result are for the caller to print.  Raises DriverError."""
    if not interesting(arguments):
        return Plan(compiler.chosen(language), arguments)
    line = options.parse(arguments)
    if line.query or line.preprocess_only or not (line.compiles or line.links):
        plan = Plan(compiler.chosen(language), _without_ours(line), line)
        if line.offloads and not line.query and not line.preprocess_only:
            _name_targets(plan, language, line)
        return plan
    checks = any(word.text == access.OPTION for word in line.words)
    if not line.offloads:
        if checks:
            raise DriverError(f"{quote(access.OPTION)} without {quote('-fopenmp')} or {quote('-fopenacc')}")
        return _without_model(language, line)
    words = [word.text for word in line.words]
    configured: list[str] = []

    def targets() -> list[str]:
        if not configured:
            configured.extend(compiler.targets(language))
        return configured

    chosen = offload.select(words, targets)
    if chosen.errors:
        plan = Plan(compiler.chosen(language), arguments, line)
        plan.errors = chosen.errors
        return plan
    if (chosen.disabled and not chosen.names) or line.not_lp64:
        plan = Plan(compiler.chosen(language), _without_ours(line), line)
        plan.environment = {TARGET_NAMES: None}
        return plan
    return _offloading(language, line, chosen)


def _name_targets(plan: Plan, language: compiler.Language, line: options.CommandLine) -> None:
    """Let ``-v -fopenmp`` without inputs tell of the targets of a link.

    GCC's testsuite asks so which targets are compiled for (check_effective_target_offload_target_nvptx); the stock
    compiler's own list would be the wrong answer.
    """
    words = [word.text for word in line.words]
    chosen = offload.select(words, lambda: compiler.targets(language))
    if not chosen.errors and any(name in offload.OURS for name in chosen.names):
        plan.argv.append("-foffload=disable")
        plan.environment = {TARGET_NAMES: ":".join(chosen.names) or None, TARGET_DEFAULT: None}


def _without_ours(line: options.CommandLine) -> list[str]:
    """The line less the targets that gcc does not know; everything else as typed, mistakes included."""
    words = [word.text for word in line.words]
    if not any(_names_ours(word) or word == access.OPTION or warnings.is_ours(word) for word in words):
        return line.original
    kept: list[str | None] = list(words)
    for index, word in enumerate(words):
        if word == access.OPTION or warnings.is_ours(word):
            kept[index] = None
        if not _names_ours(word):
            continue
        head, _, value = word.partition("=")
        listed, equals, rest = value.partition("=")
        others = [name for name in listed.split(",") if offload.full_name(name) not in offload.OURS]
        kept[index] = f"{head}={','.join(others)}{equals}{rest}" if others else None
    return options.rebuild(line, kept)


def _names_ours(word: str) -> bool:
    """Whether a word is an offload option that mentions a target of ours."""
    if not word.startswith(("-foffload", "--offload")):
        return False
    names = word.partition("=")[2].partition("=")[0].split(",")
    return any(offload.full_name(name) in offload.OURS for name in names)


def _without_model(language: compiler.Language, line: options.CommandLine) -> Plan:
    """A command without -fopenmp and -fopenacc: gcc's own, but for three cases.

    Assembler text that ``gompcc -S`` wrote is assembled as ``gompcc -c`` would have.  A link that names libgomp itself
    (CMake's FindOpenMP writes it so) is an OpenMP link.  A link of objects with regions and without libgomp will fail.
    """
    pure_link = line.links and not line.sources and not line.headers
    if pure_link and line.names_libgomp and not line.static and not line.relocatable:
        words = [word.text for word in line.words]
        chosen = offload.select(words, lambda: compiler.targets(language))
        if not chosen.errors and chosen.names:
            plan = _offloading(language, line, chosen)
            plan.argv.insert(plan.start, "-fopenmp")
            return plan
    plan = Plan(compiler.chosen(language), _without_ours(line), line)
    if line.assembler and not line.lto and any(streams_in(name) == "fat" for name in line.assembler):
        plan.argv.insert(plan.start, _b_option(True))
        plan.environment = {AS: "rename"}
    objects = (name for name in line.linker_inputs if name.endswith((".o", ".a"))) if line.links else ()
    holder = next((name for name in objects if _has_device_code(name)), "")
    if holder and not any(word.text.startswith(("-foffload", "--offload")) for word in line.words):
        # gcc's driver would ask for images all the same, for the devices that it knows: errors about those.
        plan.argv.insert(plan.start, "-foffload=disable")
        plan.environment[TARGET_NAMES] = None
    if holder and not (line.relocatable or line.names_libgomp):
        text = f"{quote(holder)} has offloaded regions, and this link has no {quote('-fopenmp')}"
        plan.messages.append(("note", f"{text}: they will run on the host" if line.shared else text))
    return plan


def _offloading(language: compiler.Language, line: options.CommandLine, chosen: offload.Selection) -> Plan:
    """A command with an offloading model in effect."""
    command, known = compiler.fit(language)
    chosen_warnings = [word.text for word in line.words if warnings.is_ours(word.text)]
    kept = [None if word in chosen_warnings else word for word in chosen.kept]
    before: list[str] = []
    environment: dict[str, str | None] = {TARGET_NAMES: None, TARGET_DEFAULT: None, OPTIONS: None, AS: None}
    inhibited = [word.text for word in line.words if word.text == warnings.NONE]
    environment[warnings.VARIABLE] = " ".join(chosen_warnings + inhibited) or None
    messages: list[tuple[str, str]] = []
    on_host: list[str] = []
    after: list[str] = []
    user_lto = bool(line.lto)
    for index, word in enumerate(kept):
        if not user_lto and word and (word in _LTO_WORDS or word.startswith("-flto=")):
            kept[index] = None
    rename = line.compiles and not user_lto and not any(streams_in(name) == "slim" for name in line.assembler)
    environment[AS] = "rename" if rename else "keep"
    before.append(_b_option(rename))
    device_code = bool(line.sources or line.headers)
    if device_code and not user_lto:
        against, texts = _beside_device_code(line)
        on_host += against
        messages += texts
        device_code = not against
    device_options = [*_sanitizers(line), *chosen.device_options]
    asked = environment[warnings.VARIABLE] or ""
    if access.OPTION in kept:
        messages += _check_accesses(command, line, kept, before, after, device_options, asked)
    elif line.compiles and warnings.asked_for(asked, warnings.LOST):
        messages += _warn_of_lost(command, before, asked)
    folds = line.openacc and (line.c_family or not line.fortran)
    if device_code and folds and any(name in offload.OURS for name in chosen.names):
        if os.environ.get("GOMPY_ACCEL") == "true":
            device_options.append(ACCEL_ONLY)
        else:
            # The stock compiler makes device code too, where it folds acc_on_device to "the host"; a call has it right.
            option = "-fno-builtin-acc_on_device"  # which Fortran's compiler warns of
            before.append(f"-specs={paths.OPENACC_SPECS}" if line.fortran else option)
    if device_code and any(name in offload.OURS for name in chosen.names):
        before += _unfolded(known, line)
    if device_code and line.fortran and line.openmp:
        from gompy.driver import lost_depend

        messages += [("warning", text) for text in lost_depend.warnings(line.sources)]
    if device_options and offload.OURS[0] in chosen.names:
        environment[OPTIONS] = f"{offload.OURS[0]}={' '.join(device_options)}"
        if line.sources:
            before.append(f"-specs={paths.SPECS}")
    if device_code and not user_lto:
        before += compile_words()[1:]
    if line.links and line.relocatable:
        before += ["-foffload=disable", f"-L{paths.RELOCATABLE}"]
    elif line.links and line.static:
        before.append("-foffload=disable")
        text = "a static program cannot load devices (libgompy is a shared library): its regions will run on the host"
        on_host.append(text)
    else:
        environment[TARGET_NAMES] = ":".join(chosen.names)
        if line.links:
            if any(_brought_by_clang(name) for name in line.linker_inputs):
                from gompy.driver import clang

                first, last = clang.words_for_gcc(line.linker)
                before += first
                after += last
            before += link_words()  # with -nodefaultlibs and -nostdlib too: gcc adds -lgomp even then
            on_host += _host_only(line)
        else:
            # A compile keeps gcc's own choice of targets: cc1 makes its code ready for nvptx when that is among them.
            theirs = [name for name in chosen.names if name not in offload.OURS]
            if theirs:
                before.append(f"-foffload={','.join(theirs)}")
    plan = Plan(command, [*before, *options.rebuild(line, kept), *after], line)
    plan.environment = environment
    plan.messages = messages
    _tell_of_host(plan, on_host)
    return plan


def _beside_device_code(line: options.CommandLine) -> tuple[list[str], list[tuple[str, str]]]:
    """Options that leave no device code: what is to be said; and messages about those that have no effect beside it."""
    against, messages = [], []
    for given in (word.text for word in line.words):
        if given.startswith(_AGAINST_LTO):
            against.append(f"{quote(given)} and device code exclude each other: these regions will run on the host")
        elif given.startswith(_SILENT_WITH_LTO):
            text = f"{quote(given)} writes nothing beside device code; {quote('-foffload=disable')} leaves that out"
            messages.append(("warning", text))
    return against, messages


def _tell_of_host(plan: Plan, texts: list[str]) -> None:
    """Say which regions will run on the host, as -Woffload-host has it."""
    level = warnings.setting(plan.environment[warnings.VARIABLE] or "", warnings.HOST)
    if level == "error":
        plan.errors = [DriverError(f"{text} [-Werror={warnings.HOST}]") for text in texts]
    elif level:
        plan.messages += [("warning", f"{text} [-W{warnings.HOST}]") for text in texts]


def _check_accesses(
    command: compiler.Compiler,
    line: options.CommandLine,
    kept: list[str | None],
    before: list[str],
    after: list[str],
    device_options: list[str],
    chosen_warnings: str,
) -> list[tuple[str, str]]:
    """-foffload-check: calls at each access, and what is called.  Returns messages; raises DriverError."""
    from gompy.driver import check_plugin

    for word in line.words:
        option, _, names = word.text.partition("=")
        if option == "-fsanitize" and {"thread", "address"} & set(names.split(",")):
            raise DriverError(f"{quote(access.OPTION)} and {quote(word.text)} exclude each other")
    for index, text in enumerate(kept):
        if text == access.OPTION:
            kept[index] = None
    device_options.append(access.OPTION)
    words, messages = check_plugin.find(command, line.links)
    if line.compiles:
        chosen = check_plugin.words_of_lost(chosen_warnings) if words else []
        before += [f"-specs={paths.CHECK_SPECS}", *words, *chosen]
    if line.links and not line.relocatable:
        # For the linker alone: behind -x a file would be source.
        after += ["-Xlinker", os.path.join(paths.BDIR, access.HOOKS), f"-Wl,{','.join(access.wrap_words())}"]
    return messages


def _warn_of_lost(command: compiler.Compiler, before: list[str], asked: str) -> list[tuple[str, str]]:
    """-Woffload-lost alone: the plugin, and no calls.  Returns messages."""
    from gompy.driver import check_plugin

    words, messages = check_plugin.find_for_lost(command, asked)
    before += words
    return messages


def _unfolded(known: compiler.Facts, line: options.CommandLine) -> list[str]:
    """Options by which calls stay calls that the release's compilers would answer for the host."""
    folded = release(major_of(known.version)).folded
    return [f"-fno-builtin-{name}" for name in (folded[:1] if line.fortran else folded)]


def _sanitizers(line: options.CommandLine) -> list[str]:
    """The host's sanitizers, for the emulated device's image, which is another program of the same kind.

    The front ends put marks of -fsanitize=undefined into the code, and the image's compiler has to make checks of them;
    -fsanitize=address is all its.  -fsanitize=thread and -fsanitize=leak stay the host's.
    """
    words = []
    for word in line.words:
        option, _, names = word.text.partition("=")
        if option in ("-fsanitize", "-fno-sanitize"):
            names = ",".join(name for name in names.split(",") if name not in _HOST_SANITIZERS)
            words += [f"{option}={names}"] if names else []
        elif option.startswith(("-fsanitize-", "-fno-sanitize-")):
            words.append(word.text)
    return words


def _host_only(line: options.CommandLine) -> list[str]:
    """Why the link's regions will run on the host, if they will; empty without regions."""
    reasons = []
    objects = [name for name in line.linker_inputs if name.endswith((".o", ".a"))]
    acc = " (OpenACC's with ACC_DEVICE_TYPE=host)" if line.openacc else ""
    if line.linker == "lld":
        text = f"{quote(line.linker)} does not hand objects to gcc's linker plugin, so no device code is linked"
        reasons.append(f"{text}: regions will run on the host{acc}")
    elif line.linker == "mold" and not (line.lto and not any(_ordinary_regions(name) for name in objects)):
        text = f"{quote(line.linker)} hands only objects of -flto to gcc's linker plugin (2.30 and later, all)"
        reasons.append(f"{text}: the regions of others have no device code and will run on the host{acc}")
    if line.libgomp_archive:
        # Its target.o comes along with some of the others, such as that of host teams, and defines GOMP_target_ext.
        reasons.append("libgomp.a in a program that is not static may replace libgompy.so: regions may run on the host")
    return reasons if reasons and (line.sources or any(has_regions(name) for name in objects)) else []


def _brought_by_clang(name: str) -> bool:
    """Whether an object or archive has device code of clang's."""
    return name.endswith((".o", ".a")) and begin_contains(name, b".llvm.offloading\0")


def _b_option(rename: bool) -> str:
    """Where gcc finds the assembler filter and the rest.

    The slash tells the two ways of the filter apart for a ccache beneath us, which looks at words and not at GOMPY_AS.
    """
    return f"-B{paths.BDIR}/" if rename else f"-B{paths.BDIR}"


def link_words() -> list[str]:
    """What a link gets, before the user's words.

    --no-as-needed and first of all: CMake puts an absolute libgomp.so among the objects, which would otherwise satisfy
    every reference and have libgompy dropped.
    """
    return [
        "-foffload=disable",
        "-Wl,--push-state,--no-as-needed",
        f"-L{paths.LIBDIR}",
        "-lgompy",
        "-Wl,--pop-state",
        f"-Wl,-rpath,{paths.LIBDIR}",
    ]


def library_words() -> list[str]:
    """What a link by plain gcc needs, before the objects."""
    return [_b_option(False), *link_words()]


def compile_words() -> list[str]:
    """What a compile gets, before the user's words."""
    return [_b_option(True), "-flto", "-ffat-lto-objects"]


def streams_in(name: str) -> str:
    """Which LTO streams an assembler source has beside its offload streams: "fat", "slim" or ""."""
    if name == "-":
        return ""
    lto, offloads, slim = contains(name, b".gnu.lto_.", b".gnu.offload_", b"__gnu_lto_slim")
    if not lto or not (offloads or slim):
        return ""
    return "slim" if slim else "fat"


def has_regions(name: str) -> bool:
    """Whether an object or archive has entries for the offload tables (by the name of the section, without parsing)."""
    funcs, variables = contains(name, b".gnu.offload_funcs\0", b".gnu.offload_vars\0")
    return funcs or variables


def _has_device_code(name: str) -> bool:
    """Whether an object or archive has regions, those included that -flto alone has made."""
    return any(contains(name, b".gnu.offload_funcs\0", b".gnu.offload_vars\0", b".gnu.offload_lto_"))


def _ordinary_regions(name: str) -> bool:
    """Whether an object has regions and is no LTO object, or an archive has members of that kind."""
    funcs, ours = contains(name, b".gnu.offload_funcs\0", b".gompyir_.symtab.")
    (lto,) = contains(name, b".gnu.lto_.symtab.")
    return ours or (funcs and not lto)


def environment_of(plan: Plan) -> dict[str, str]:
    """The environment to run the plan in."""
    env = dict(os.environ)
    for name, value in plan.environment.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env

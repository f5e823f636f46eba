"""lto-wrapper's run: options, offload images, host LTO, and the list of objects for the linker.

Sources: GCC 12 lto-wrapper.cc (run_gcc and what it calls) for the protocol, docs/lto.md for what is done otherwise.
Everything written to standard output is a file name that the linker adds, so messages go to standard error.
"""

from __future__ import annotations

import os
import sys

from gompy import BDIR, UserError
from gompy.abi import targets
from gompy.abi.gcc import NAMED, SUPPORTED, major_of
from gompy.objects.elf import Elf, ElfError, open_object, split_member
from gompy.objects.lto import parse_opts, split_quoted, stream_versions
from gompy.objects.names import LTO_OPTS_SECTION, OFFLOAD_OPTS_SECTION
from gompy.tools.linkcompiler import link_compiler, link_release
from gompy.tools.options import Option, given, inputs, words_of
from gompy.tools.process import (
    ChildFailed,
    Temps,
    ToolError,
    discard,
    echo,
    find_in,
    hold_signals,
    is_temporary,
    linker_appends,
    run,
    same,
    write_file,
    write_output,
)
from lto_wrapper.options import Merger, compiler_options, decode, diagnostic_options, offload_options
from mkoffload.inputs import shown
from mkoffload.job import Made, Request, complain

STORE = "--store="
"""A first word of front.c's: where what comes out is kept (lto_wrapper/entry.py)."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def warn(text: str) -> None:
    """A warning in lto-wrapper's name."""
    sys.stderr.write(f"lto-wrapper: warning: {text}\n")


class Link:
    """What the environment and the plugin's argument list say of this link.  ToolError if they say too little."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        gcc = os.environ.get("COLLECT_GCC")
        if gcc is None:
            raise ToolError("environment variable ‘COLLECT_GCC’ must be set")
        text = os.environ.get("COLLECT_GCC_OPTIONS")
        if text is None:
            raise ToolError("environment variable ‘COLLECT_GCC_OPTIONS’ must be set")
        self.gcc = gcc
        line = split_quoted(text)
        for word in split_quoted(os.environ.get("COLLECT_AS_OPTIONS", "")):
            line += ["-Xassembler", word]
        # Options for targets that gcc's driver does not know; last, so that they win (docs/internals.md, "Link").
        own = os.environ.get("GOMPY_OFFLOAD_OPTIONS", "")
        line += [f"-foffload-options={entry}" for entry in own.split("\n") if entry]
        self.options: list[Option] = decode(line)
        self.output = ""
        self.dumpdir: str | None = None
        self.verbose = False
        self.save_temps = False
        for option in self.options:
            if option.key == "o":
                self.output = option.arg
            elif option.key == "dumpdir":
                self.dumpdir = option.arg
            elif option.key == "v":
                self.verbose = True
            elif option.key.startswith("save-temps"):
                self.save_temps = True
        self.offload_list: str | None = None
        self.arguments: list[str] = []  # not files: for the compiler
        self.objects: list[str] = []  # claimed by the plugin
        self.read: dict[str, Elf] = {}  # objects with device code
        for word in words:
            if word.startswith("-foffload-objects="):
                self.offload_list = word.partition("=")[2]
            elif not os.path.isfile(split_member(word)[0]):
                self.arguments.append(word)
            elif self._is_lto(word):
                self.objects.append(word)

    def open(self, name: str) -> Elf:
        """An object of the link; those with device code are read once.  Raises ElfError."""
        elf = self.read.get(name)
        if elf is None:
            elf = open_object(name)
            if elf.find(OFFLOAD_OPTS_SECTION) is not None:
                self.read[name] = elf
        return elf

    def _is_lto(self, name: str) -> bool:
        """Whether that file is an LTO object."""
        try:
            elf = self.open(name)
            found = elf.find(LTO_OPTS_SECTION)
            if found is not None:
                elf.contents(found)  # is it all there?
        except ElfError:
            return False
        return found is not None

    @property
    def prefix(self) -> str:
        """Start of the names of intermediate files (GCC's dumppfx), with a folder in it."""
        prefix = self.dumpdir
        if prefix is None:
            prefix = "a."
            if self.output and self.output != "/dev/null":
                base = os.path.basename(self.output)
                stem = self.output[: -len(".out")] if base == "a.out" else self.output.removesuffix(".exe")
                prefix = stem + "."
        return prefix if "/" in prefix else "./" + prefix

    def offload_objects(self) -> list[str]:
        """Names in the plugin's list, in table order.

        It is deleted unless temporaries are kept.  With -save-temps=obj the plugin puts it into TMPDIR all the same.
        """
        assert self.offload_list is not None
        try:
            with open(self.offload_list, encoding="utf-8", errors="surrogateescape", newline="") as file:
                lines = file.read().split("\n")
        except OSError as error:
            raise ToolError(f"cannot open {self.offload_list}: {error.strerror}") from None
        if not self.save_temps or is_temporary(self.offload_list):
            discard(self.offload_list)
        if not lines[0].strip().isdigit():
            raise ToolError(f"cannot read {self.offload_list}: no number of files in its first line")
        count = int(lines[0])
        names = lines[1 : 1 + count]
        if len(names) != count or (count and len(lines) <= count + 1):
            raise ToolError(f"invalid format of {self.offload_list}")
        if len(lines) > count + 2:  # the plugin does not quote them
            raise ToolError(f"the name of an object has a line break, near ‘{lines[count]}’: rename it")
        if linker_appends():
            claimed = set(self.objects)
            names.sort(key=lambda name: name in claimed)  # the others keep their order
        return names

    def wants_images(self, offload: list[str]) -> bool:
        """Whether this link makes images: not one whose output is linked again with the device code still in it.

        Such is ``-r`` (stock GCC makes an image there, too, and the final link then has a second one), unless host LTO
        turns LTO objects into ordinary ones, which ends their device code.
        """
        output = next((a.partition("=")[2] for a in self.arguments if a.startswith("-flinker-output=")), "")
        line = next((o.words[0].partition("=")[2] for o in self.options if o.key.startswith("flinker-output=")), output)
        return not (line == "rel" or (line == "nolto-rel" and not set(self.objects) & set(offload)))

    def merged(self, names: list[str]) -> Merger:
        """The offload options of those objects, merged in order."""
        merger = Merger(self.options, warn)
        mine = link_release()
        for name in names:
            try:
                elf = self.open(name)
            except ElfError as error:
                raise ToolError(f"cannot open {split_member(name)[0]}: {error.cause}") from None
            versions = stream_versions(elf)
            mine = mine or next(iter(versions), 0)
            others = [version for version in versions if version != mine]
            if others:
                raise ToolError(f"{shown(name, elf)}: compiled by gcc {others[0]}; {_mend(others[0], mine)}")
            section = elf.find(OFFLOAD_OPTS_SECTION)
            if section is None:
                raise ToolError(f"cannot read {name}: no section {OFFLOAD_OPTS_SECTION}")
            for unit in parse_opts(elf.contents(section)):
                merger.merge(decode(unit))
        return merger


def _mend(theirs: int, mine: int) -> str:
    """What to do about an object whose streams are another release's than the link's, which reads only its own."""
    if theirs not in SUPPORTED:
        return f"gompy links and runs device code of {NAMED} only: compile it with gompcc, or with gcc-{SUPPORTED[-1]}"
    return f"this link is gcc {mine}'s, which reads no other's device code: compile all objects with one gcc"


def _package_of(target: str) -> str:
    """What to do about a device compiler that is not there."""
    known = targets.find(target)
    if known is None or not known.packaged:
        return ""
    from gompy.abi.gcc import offload_package

    package = offload_package(target, major_of(link_compiler()[1]))
    return f": install the package {package}, or leave {target} out of -foffload="


class Images:
    """The host objects with the images, one per target."""

    def __init__(self, link: Link, temps: Temps) -> None:
        self.link = link
        self.temps = temps
        self.made: list[Made] = []

    def build(self, names: list[str]) -> list[str]:
        """Build what OFFLOAD_TARGET_NAMES asks for; names of the objects for the linker, without the table's."""
        merger = self.link.merged(names)
        targets = os.environ.get("OFFLOAD_TARGET_NAMES")
        compiler_path = os.environ.get("COMPILER_PATH")
        if targets is None or compiler_path is None:
            return []
        built: list[str] = []
        for target in targets.split(":"):
            output = self._build_one(target, compiler_path, names, merger)
            if output is not None:
                built.append(output)
        return built

    def _build_one(self, target: str, compiler_path: str, names: list[str], merger: Merger) -> str | None:
        """One target's object; None if there is none to add."""
        link = self.link
        relative = f"accel/{target}/mkoffload"  # of any target that gcc names
        # GCC joins with a slash although the entries end in one; the paths that it shows have two.
        program = find_in([f"{entry}/" for entry in compiler_path.split(":") if entry], relative)
        if program is None:
            if "OFFLOAD_TARGET_DEFAULT" in os.environ:
                return None
            tried = compiler_path
            raise ToolError(f"could not find {relative} in {tried} (consider using ‘-B’){_package_of(target)}")
        base = f"{link.prefix}x{target}"
        output = base + ".o" if link.save_temps else self.temps.name(".target.o")
        options = [Option("save-temps", ["-save-temps"])] if link.save_temps else []
        options += [Option("v", ["-v"])] if link.verbose else []
        options += [given("o", output), *inputs(names), *compiler_options(merger), *diagnostic_options(link.options)]
        options += [given("dumpbase", base), *offload_options(merger.options or [], target)]
        options += offload_options(link.options, target)
        build = self._ours(target, program)
        if build is not None:
            if link.verbose:
                echo([program, *words_of(options)], True)
            try:
                made = build(Request(options, link.open), self.temps)
            except (UserError, OSError) as error:
                from gompy.tools.toolmain import described

                sys.stderr.write(f"mkoffload: fatal error: {described(error)}\ncompilation terminated.\n")
                raise ChildFailed(f"{program} returned 1 exit status", 1) from None
            if made is None:
                return None
            self.made.append(made)
            return output
        from gompy.tools.response import join

        arguments = link.prefix + "offload_args" if link.save_temps else self.temps.name("")
        write_file(arguments, join(words_of(options)))
        run([program, "@" + arguments], os.environ, link.verbose)
        return output if os.path.exists(output) and os.path.getsize(output) else None

    @staticmethod
    def _ours(target: str, program: str) -> Callable[[Request, Temps], Made | None] | None:
        """The function that does that mkoffload's work, if it is one of ours: no further Python is started."""
        known = targets.find(target)
        if known is None or not known.maker or not same(program, os.path.join(BDIR, known.tool)):
            return None
        build: Callable[[Request, Temps], Made | None] = __import__(known.maker, fromlist=["build"]).build
        return build

    def table(self) -> list[str]:
        """A copy of crtoffloadtable.o, which the linker plugin deletes after the link."""
        if linker_appends():
            return [self._copy(os.path.join(BDIR, "crtoffloadlast.o"))]
        library_path = os.environ.get("LIBRARY_PATH")
        if library_path is None:
            return []
        for directory in library_path.split(":"):
            source = os.path.join(directory, "crtoffloadtable.o")
            if directory and os.access(source, os.R_OK):
                return [self._copy(source)]
        raise ToolError("installation error, cannot find ‘crtoffloadtable.o’")

    def _copy(self, source: str) -> str:
        name = ".crtoffloadtable.o"
        copy = self.link.prefix + name[1:] if self.link.save_temps else self.temps.name(name)
        with open(source, "rb") as old:
            write_file(copy, old.read())
        return copy


def wrap(words: list[str], temps: Temps) -> list[str]:
    """The whole run; the file names for the linker.  Raises ToolError."""
    store = words.pop(0) if words and words[0].startswith(STORE) else ""
    if store:
        os.set_inheritable(int(store.split(":")[1]), False)
    link = Link(words)
    echo([os.environ.get("COLLECT_LTO_WRAPPER", "lto-wrapper"), *words], link.verbose)
    added: list[str] = []
    table: list[str] = []
    offload: list[str] = []
    images: Images | None = None
    if link.offload_list is not None:
        offload = link.offload_objects()
        images = Images(link, temps)
        if link.wants_images(offload):
            added += images.build(offload)
            table = images.table() if added else []
    if link.offload_list is None and not link.objects:
        raise ToolError("no LTO objects and no list of offload objects: device images need the linker plugin")
    if link.objects:
        from lto_wrapper.host import HostLto

        lto = HostLto(link.gcc, link.arguments, link.objects, link.save_temps, link.verbose, temps)
        made_images = images.made if images is not None else []
        referred = {name for made in made_images for name in made.classes}
        added += lto.build(bool(set(link.objects) & set(offload)), referred)
        for made in made_images:
            for what, host, image in zip(("function", "variable"), lto.table, made.lto, strict=True):
                complain(link.output or "a.out", what, host, image, made.rule)
    files = [*added, *table] if linker_appends() else [*table, *added]
    if store and images is not None and not link.objects and not getattr(sys.stderr, "said", True):
        _keep(store, offload, images.made, files)
    return files


def _keep(store: str, offload: list[str], made: list[Made], files: list[str]) -> None:
    """Have the next link of the same objects answered by front.c, where the files that went into this one are known."""
    from gompy.tools.entries import own_parts
    from lto_wrapper.entry import Store

    where = Store(store)
    parts = [image.parts for image in made]
    if parts and len(parts) == len(os.environ["OFFLOAD_TARGET_NAMES"].split(":")) and None not in parts:
        known = [path for paths in parts for path in paths or ()]
        where.keep_link(offload, [*own_parts(), *known], files)


def work(words: list[str], temps: Temps) -> None:
    """Run with those words, and tell the linker what there is to link.  Raises ToolError."""
    added = wrap(words, temps)
    hold_signals()
    write_output("".join(f"{name}\n" for name in added))
    for name in added:
        if name in temps.paths:
            temps.release(name)

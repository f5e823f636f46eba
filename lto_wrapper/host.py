"""Host LTO, handed on to the compiler's own lto-wrapper, and two mends to what GCC 12 makes of offload tables there.

GCC writes the joint table of all LTO objects into the first LTRANS partition (lto-cgraph.cc, output_offload_tables).
(a) A variable or region that WPA placed in another partition stays local there, and the table's reference to it is
undefined: here it becomes a hidden global of a name of its own, or, where the name alone does not tell which one is
meant, the link is done once more in one partition.  (b) With ``-flto=N`` the partitions are streamed by several
processes, each with a first partition of its own, and the table comes out several times: here the streaming is kept to
one process (the LTRANS jobs stay parallel).  docs/lto.md tells the whole story.
"""

from __future__ import annotations

import os
import sys

from gompy import BDIR
from gompy.objects.elf import (
    SHN_UNDEF,
    SHT_SYMTAB,
    STB_LOCAL,
    STT_FILE,
    STT_SECTION,
    STV_HIDDEN,
    SYM,
    Elf,
    ElfError,
    Symbol,
    open_object,
)
from gompy.objects.entrynames import table_names
from gompy.objects.names import OFFLOAD_FUNC_SECTION, OFFLOAD_VAR_SECTION
from gompy.objects.naming import Names
from gompy.tools.linkcompiler import find_stock_wrapper
from gompy.tools.process import Child, Temps, ToolError, child_failed, discard, echo, find_tool, run, write_file

SERIAL_STREAMING = "'--param=lto-max-streaming-parallelism=1'"
ONE_PARTITION = "'-flto-partition=one'"


class Partition:
    """One object that host LTO made."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.elf: Elf = open_object(name)
        self.symbols: list[Symbol] = self.elf.symbols()
        self.defined: dict[str, Symbol] = {
            s.name: s for s in self.symbols if s.name and s.shndx != SHN_UNDEF and s.type not in (STT_FILE, STT_SECTION)
        }

    def table_symbols(self) -> list[Symbol]:
        """Targets of the relocations of its offload tables, in table order, functions first."""
        found: list[Symbol] = []
        for label in (OFFLOAD_FUNC_SECTION, OFFLOAD_VAR_SECTION):
            for section in self.elf.sections:
                if section.name == label and section.size:
                    found += [self.symbols[r[2]] for r in sorted(self.elf.relocations(section))]
        return found

    @property
    def has_tables(self) -> bool:
        """Whether it has offload tables with entries."""
        return any(s.name in (OFFLOAD_FUNC_SECTION, OFFLOAD_VAR_SECTION) and s.size for s in self.elf.sections)


class Plan:
    """What the partitions need: ``exports`` maps a partition's index to the local names that the table refers to."""

    def __init__(self) -> None:
        self.exports: dict[int, list[str]] = {}
        self.ambiguous: str = ""


def plan(partitions: list[Partition], prevailing: set[str]) -> Plan:
    """Find the table's symbols that other partitions keep to themselves.

    ``prevailing``: names that the LTO objects define for the program.  A name that several partitions define, or
    that none defines though one should, makes the plan ambiguous (its name is in ``ambiguous``).
    """
    result = Plan()
    for index, partition in enumerate(partitions):
        for symbol in partition.table_symbols():
            if symbol.type == STT_SECTION or not symbol.name:
                # A local of this partition by section and offset: the assembler does so, and only for symbols it saw
                # defined.  Another partition's symbol of that name cannot have been meant unless there is one.
                continue
            name = symbol.name
            holders = [i for i, other in enumerate(partitions) if name in other.defined]
            if len(holders) > 1 or (not holders and name in prevailing):
                result.ambiguous = name
                return result
            if holders and holders[0] != index and partitions[holders[0]].defined[name].bind == STB_LOCAL:
                names = result.exports.setdefault(holders[0], [])
                if name not in names:
                    names.append(name)
    return result


def shadowed(partition: Partition, others: list[Partition]) -> str:
    """A symbol of the table that this partition defines and another one, too; or one that two entries refer to.

    Then the assembler may have taken the one for the other.  Empty if there is none.
    """
    functions, variables = table_names(partition.elf)
    for names in (functions, variables):
        seen: set[str] = set()
        for name in names:
            if name is None:
                continue
            if name in seen or (name in partition.defined and any(name in other.defined for other in others)):
                return name
            seen.add(name)
    return ""


class HostLto:
    """One link-time optimisation of the host side.

    ``arguments``: the plugin's arguments that are no files; ``objects``: the LTO objects in the linker's order.
    """

    def __init__(
        self, gcc: str, arguments: list[str], objects: list[str], save_temps: bool, verbose: bool, temps: Temps
    ) -> None:
        self.gcc = gcc
        self.arguments = arguments
        self.objects = objects
        self.save_temps = save_temps
        self.verbose = verbose
        self.temps = temps
        self.table: tuple[Names, Names] = ([], [])

    def environment(self, more: list[str]) -> dict[str, str]:
        """The host link's environment without the offload part, with further options at the end of the link line's."""
        env = {k: v for k, v in os.environ.items() if k not in ("OFFLOAD_TARGET_NAMES", "OFFLOAD_TARGET_DEFAULT")}
        env["GOMPY_AS"] = "keep"
        env["COLLECT_GCC_OPTIONS"] = " ".join([env.get("COLLECT_GCC_OPTIONS", ""), *more])
        if self.save_temps:
            env["TMPDIR"] = self.temps.folder()  # what it keeps has other places; its makefile would stay
        return env

    def build(self, offload: bool, referred: set[str]) -> list[str]:
        """Run it; names of the objects for the linker.  ``offload``: some of the LTO objects have offload tables.

        ``referred``: symbols that the images' host objects refer to, which host LTO must not make local or drop.
        ``table`` has the names in the joint table afterwards.  Raises ToolError.
        """
        self._keep(referred)
        if not offload:
            return self._run([])
        names = self._run([SERIAL_STREAMING])
        try:
            partitions = [Partition(name) for name in names]
            found = plan(partitions, self._prevailing())
            if not found.ambiguous:
                for index, partition in enumerate(partitions):
                    if partition.has_tables:
                        found.ambiguous = shadowed(partition, partitions[:index] + partitions[index + 1 :])
            if found.ambiguous and len([p for p in partitions if p.defined]) > 1:
                if self.verbose:
                    sys.stderr.write(
                        f"lto-wrapper: ‘{found.ambiguous}’ of the offload tables is in several partitions: "
                        "doing the link in one\n"
                    )
                for name in names:
                    discard(name)
                    if name in self.temps.paths:
                        self.temps.release(name)
                names = self._run([SERIAL_STREAMING, ONE_PARTITION])
                partitions = [Partition(name) for name in names]
            elif found.exports:
                self._export(partitions, found)
                partitions = [Partition(name) for name in names]
            for partition in partitions:
                if partition.has_tables:
                    self.table = table_names(partition.elf)
        except ElfError as error:
            raise ToolError(f"cannot read {error}") from None
        return names

    def _run(self, more: list[str]) -> list[str]:
        found = find_stock_wrapper()
        if found is None:
            where = os.environ.get("COMPILER_PATH", "(COMPILER_PATH is not set)")
            raise ToolError(f"cannot find GCC's own lto-wrapper in {where}")
        command = [found, *self.arguments, *self.objects]
        echo(command, self.verbose)
        child = Child(command, self.environment(more), capture_stdout=True)
        try:
            status = child.wait()[0]
        finally:
            names = child.captured[1].decode("utf-8", "surrogateescape").split("\n")[:-1]
            if not self.save_temps:
                self.temps.paths += names  # ours until the linker has their names
        if status:
            raise child_failed(command[0], status)
        return names

    def _keep(self, referred: set[str]) -> None:
        """Tell host LTO, in a resolution file of its own, that the program refers to these symbols."""
        at = next((i for i, word in enumerate(self.arguments) if word.startswith("-fresolution=")), None)
        if at is None or not referred:
            return
        try:
            name = self.arguments[at].partition("=")[2]
            with open(name, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
                lines = file.readlines()
        except OSError:
            return
        for index, line in enumerate(lines):
            words = line.split()
            if len(words) == 4 and words[2] == "PREVAILING_DEF_IRONLY" and words[3] in referred:
                lines[index] = f"{words[0]} {words[1]} PREVAILING_DEF {words[3]}\n"
        path = self.temps.name(".res")
        write_file(path, "".join(lines))
        self.arguments = [*self.arguments]
        self.arguments[at] = f"-fresolution={path}"

    def _prevailing(self) -> set[str]:
        """Names that the resolution file gives to LTO objects."""
        path = next((a.partition("=")[2] for a in self.arguments if a.startswith("-fresolution=")), None)
        if path is None:
            return set()
        try:
            with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
                words = [line.split() for line in file]
        except OSError:
            return set()
        return {w[3] for w in words if len(w) == 4 and w[2].startswith("PREVAILING")}

    def _export(self, partitions: list[Partition], found: Plan) -> None:
        """Make those locals hidden globals, under a name that nothing else in the link can have."""
        objcopy = find_tool("objcopy", BDIR)
        renames: dict[str, str] = {}
        for names in found.exports.values():
            for name in names:
                renames[name] = f"{name}.gompy_priv.{len(renames)}"
        for index, partition in enumerate(partitions):
            exported = found.exports.get(index, [])
            referring = [s.name for s in partition.symbols if s.name in renames and s.shndx == SHN_UNDEF]
            if not exported and not referring:
                continue
            lines = [f"--redefine-sym {name}={renames[name]}" for name in dict.fromkeys(exported + referring)]
            lines += [f"--globalize-symbol={renames[name]}" for name in exported]  # renaming comes first
            response = self.temps.name(".objcopy")
            write_file(response, "\n".join(lines) + "\n")
            run([objcopy, f"@{response}", partition.name], os.environ, self.verbose)
            hide(partition.name, {renames[name] for name in exported})


def hide(path: str, names: set[str]) -> None:
    """Give those symbols of an object hidden visibility, in place."""
    elf = open_object(path)
    table = next(s for s in elf.sections if s.type == SHT_SYMTAB)
    with open(path, "r+b") as file:
        for symbol in elf.symbols():
            if symbol.name in names and symbol.shndx != SHN_UNDEF:
                file.seek(table.offset + symbol.number * SYM.size + 5)
                file.write(bytes([STV_HIDDEN]))

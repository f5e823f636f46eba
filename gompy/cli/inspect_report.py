"""What ``gompy inspect`` knows of a file, as plain dictionaries: the JSON form, and the source of the text form.

``docs/inspect.md`` documents the keys.  Damage in one part is noted in ``problems`` and the other parts are still read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from gompy.abi import llvm
from gompy.abi.gomp_newer import requires_names
from gompy.cli import inspect_clang
from gompy.objects import archive, clang_images, fatbin, images, names, offload_binary, streams, tables
from gompy.objects.decode import TableRef, decode_opts
from gompy.objects.elf import Section
from gompy.objects.lines import Lines
from gompy.objects.lto import StreamError
from gompy.objects.pairing import KIND_NAMES
from gompy.objects.view import MACHINES, Damaged, ElfView, flag_letters

SCHEMA: Final = 1
PIPELINE_PREFIXES: Final = (
    ".gnu.offload_",
    names.LTO_SECTION_PREFIX,
    names.DEVICE_IR_SECTION_PREFIX,
    names.DEBUG_LTO_SECTION_PREFIX,
    names.OBJECT_RECORD_SECTION,
    llvm.OFFLOADING_SECTION,
    llvm.ENTRIES_SECTION,
    llvm.NEWER_ENTRIES_SECTION,
)
IR_OPTS_SECTION: Final = names.DEVICE_IR_SECTION_PREFIX + ".opts"
SECTION_TYPES: Final[dict[int, str]] = {1: "PROGBITS", 4: "RELA", 7: "NOTE", 8: "NOBITS"}
ACCELS: Final[dict[int, str]] = {0: "", names.ACCEL_STOCK: "stock", names.ACCEL_TRUE: "true"}


Report = dict[str, Any]
AnyImage = images.Image | clang_images.ClangImage | fatbin.CudaImage


@dataclass
class Inspected:
    """One file or archive member: its report, and what the checks, the graph and --extract need besides."""

    report: Report
    elf: ElfView | None = None
    host: tables.Tables = field(default_factory=tables.Tables)
    records: list[tables.ObjectRecord] = field(default_factory=list)
    images: list[images.Image] = field(default_factory=list)
    clang: clang_images.ClangTables = field(default_factory=clang_images.ClangTables)
    cuda: list[fatbin.CudaImage] = field(default_factory=list)
    units: list[tuple[streams.Unit, list[TableRef]]] = field(default_factory=list)
    members: list[Inspected] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    """Files that a thin archive names and that cannot be read."""

    @property
    def problems(self) -> list[str]:
        """Damage found, of members too."""
        own: list[str] = self.report["problems"]
        return own + [line for member in self.members for line in member.problems]

    @property
    def empty(self) -> bool:
        """Whether there is no offload data at all."""
        keys = ("sections", "units", "opts", "funcs", "vars", "objects", "images", "entries", "binaries", "fatbins")
        if self.report["kind"] == "ptx":
            return False
        return not any(self.report[key] for key in keys) and all(member.empty for member in self.members)

    @cached_property
    def lines(self) -> Lines | None:
        """Places in the sources of a linked file's code."""
        return Lines(self.elf) if self.elf is not None and not self.elf.relocatable else None

    @property
    def all_images(self) -> list[AnyImage]:
        """gcc's images, then clang's, then CUDA's: as ``gompy images`` numbers them."""
        return [*self.images, *self.clang.images, *self.cuda]

    def parts(self) -> list[Inspected]:
        """The file itself, or an archive's members."""
        return self.members if self.report["kind"] == "archive" else [self]


def _new_report(file: str, kind: str, size: int) -> Report:
    report: Report = {"schema": SCHEMA, "file": file, "kind": kind, "size": size}
    return (
        report
        | {"machine": "", "source": "", "sections": [], "units": [], "opts": [], "funcs": [], "vars": []}
        | {"indirect": []}
        | {
            "objects": [],
            "images": [],
            "entries": [],
            "binaries": [],
            "fatbins": [],
            "problems": [],
        }
    )


def inspect_bytes(data: bytes, file: str, decode: bool = False) -> Inspected:
    """Inspect one file; never raises Damaged.

    ``decode``: ask GCC's reader for names that only its tree stream has (streams.name_with_gcc).
    """
    if archive.is_archive(data):
        return _inspect_archive(data, file, decode)
    if images.is_ptx(data):
        return _inspect_ptx(data, file)
    if data.startswith(offload_binary.MAGIC):
        return _inspect_binaries(data, file)
    result = Inspected(_new_report(file, "unknown", len(data)))
    report = result.report
    try:
        elf = result.elf = ElfView(data, file)
    except Damaged as error:
        report["problems"].append(str(error))
        return result
    report["kind"] = elf.kind
    report["machine"] = MACHINES.get(elf.machine, f"machine {elf.machine}")
    report["sections"] = [_section(s) for s in elf.sections if s.name.startswith(PIPELINE_PREFIXES)]

    def attempt(read: Callable[[], None]) -> None:
        try:
            read()
        except Damaged as error:
            if str(error) not in report["problems"]:
                report["problems"].append(str(error))

    def read_tables() -> None:
        if images.is_device_image(elf) or clang_images.is_clang_image(elf):
            report["kind"] = "device image"
        result.host = tables.read_tables(elf)
        report["source"] = result.host.source
        report["funcs"] = func_entries(result.host.funcs)
        report["vars"] = var_entries(result.host.vars)
        report["indirect"] = func_entries(result.host.indirect)

    def read_records() -> None:
        result.records = tables.read_records(elf)
        report["objects"] = [
            {"id": f"{r.id:016x}", "name": r.name, "funcs": r.funcs, "vars": r.vars} for r in result.records
        ]
        wrong = tables.check_records(elf, result.host, result.records)
        if wrong and not any(".gnu.offload_" in line for line in report["problems"]):
            raise elf.damaged(elf.by_name.get(names.OBJECT_RECORD_SECTION), 0, wrong)

    def read_images() -> None:
        result.images = images.find_images(elf)
        for index, image in enumerate(result.images):
            report["images"].append(_image(index, image, result))
            report["problems"] += image.problems

    def read_clang() -> None:
        result.clang = clang_images.read_clang(elf)
        report["entries"] = inspect_clang.entry_reports(result.clang.entries)
        first, problems = len(result.images), report["problems"]
        report["binaries"] = inspect_clang.image_reports(result.clang, first, problems, file)

    def read_cuda() -> None:
        result.cuda = fatbin.read_fatbins(elf)
        first = len(result.images) + len(result.clang.images)
        report["fatbins"] = [
            {"index": first + index, "kind": image.kind, "arch": f"sm_{image.architecture}"}
            | {"address": f"{image.address:#x}", "size": image.size, "compressed": image.packed}
            | {"kernels": image.kernels}
            for index, image in enumerate(result.cuda)
        ]

    attempt(read_tables)
    attempt(read_records)
    for section in elf.sections:
        if section.name in (names.OFFLOAD_OPTS_SECTION, names.LTO_OPTS_SECTION, IR_OPTS_SECTION):
            attempt(lambda section=section: _opts(elf, section, report))  # type: ignore[misc]
    for unit in streams.units(elf):
        attempt(lambda unit=unit: _unit(elf, unit, result, decode))  # type: ignore[misc]
    attempt(read_images)
    attempt(read_clang)
    attempt(read_cuda)
    return result


def _inspect_archive(data: bytes, file: str, decode: bool) -> Inspected:
    result = Inspected(_new_report(file, "archive", len(data)))
    try:
        for member in archive.members(data, file):
            if member.data.startswith((b"\x7fELF", offload_binary.MAGIC)) or images.is_ptx(member.data):
                part = inspect_bytes(member.data, f"{file}({member.name})", decode)
                part.report["member"] = member.name
                part.report["member_offset"] = f"{member.offset:#x}"
                result.members.append(part)
    except Damaged as error:
        result.report["problems"].append(str(error))
    except OSError as error:
        result.unreadable.append(f"{error.filename or file}: {error.strerror or error}")
    result.report["members"] = [part.report for part in result.members]
    return result


def _inspect_ptx(data: bytes, file: str) -> Inspected:
    result = Inspected(_new_report(file, "ptx", len(data)))
    result.host = images.ptx_tables(data)
    report = result.report
    report["machine"], report["source"] = "nvptx", result.host.source
    report["funcs"], report["vars"] = func_entries(result.host.funcs), var_entries(result.host.vars)
    report["ptx"] = images.ptx_objects(data)
    return result


def _inspect_binaries(data: bytes, file: str) -> Inspected:
    """A file by clang-offload-packager: nothing but images."""
    result = Inspected(_new_report(file, "offload binary", len(data)))
    problems: list[str] = result.report["problems"]
    try:
        result.clang = clang_images.read_binaries(data, file)
    except Damaged as error:
        problems.append(str(error))
    result.report["binaries"] = inspect_clang.image_reports(result.clang, 0, problems, file)
    return result


def _section(section: Section) -> Report:
    return {
        "name": section.name,
        "type": SECTION_TYPES.get(section.type, f"{section.type:#x}"),
        "size": section.size,
        "flags": flag_letters(section),
        "offset": f"{section.offset:#x}",
        "address": f"{section.address:#x}",
    }


def func_entries(entries: Iterable[tables.Entry]) -> list[Report]:
    """Functions as dictionaries."""
    return [
        {"index": index, "name": name, "address": None if address is None else hex(address), "section": section}
        for index, (name, address, section, _size, _link) in enumerate(entries)
    ]


def var_entries(entries: Iterable[tables.Entry]) -> list[Report]:
    """Variables as dictionaries."""
    return [
        {
            "index": index,
            "name": name,
            "address": None if address is None else hex(address),
            "section": section,
            "size": size,
            "link": link,
        }
        for index, (name, address, section, size, link) in enumerate(entries)
    ]


def _opts(elf: ElfView, section: Section, report: Report) -> None:
    try:
        lists = decode_opts(elf.contents(section))
    except StreamError as error:
        raise elf.damaged(section, error.offset, error.cause) from None
    report["opts"] += [{"section": section.name, "options": options} for options in lists]


def _unit(elf: ElfView, unit: streams.Unit, result: Inspected, decode: bool) -> None:
    entry: Report = {"family": unit.family, "id": unit.id, "sections": unit.sections, "size": unit.size}
    entry |= {"version": "", "slim": None, "compression": "", "offload_table": []}
    result.report["units"].append(entry)
    refs: list[TableRef] = []
    result.units.append((unit, refs))
    header = streams.unit_header(elf, unit)
    if header is not None:
        entry["version"] = f"{header.major}.{header.minor}"
        entry["slim"], entry["compression"] = header.slim, header.compression
    table = streams.unit_table(elf, unit)
    refs += table.entries
    if table.requires is not None:
        entry["requires"] = requires_names(table.requires)
    if decode and any(ref.name is None for ref in refs):
        try:
            refs[:] = streams.name_with_gcc(elf, unit, refs)
        except streams.DecodeError as error:
            section = unit.streams["offload_table"]
            raise elf.damaged(section, 0, f"--decode: {error}") from None
    entry["offload_table"] = [
        {"index": index, "kind": ref.kind, "name": ref.name, "decl": ref.decl} for index, ref in enumerate(refs)
    ]


def _image(index: int, image: images.Image, host: Inspected) -> Report:
    pairing = image.pair(host.host, host.records)
    image_funcs, image_vars = func_entries(image.tables.funcs), var_entries(image.tables.vars)
    for entry, dims in zip(image_funcs, image.dims, strict=False):
        entry["dims"] = list(dims)
    for entries, pairs in ((image_funcs, pairing.funcs), (image_vars, pairing.vars)):
        for entry in entries:
            entry["host"] = None
        for mine, theirs in pairs:
            if theirs is not None and theirs < len(entries):
                entries[theirs]["host"] = mine
    return {
        "index": index,
        "target": image.target,
        "device_type": image.device_type,
        "address": f"{image.address:#x}",
        "size": image.size,
        "files": len(image.files),
        "name": image.name,
        "abi": image.abi,
        "accel": ACCELS.get(image.accel, str(image.accel)),
        "source": image.tables.source,
        "objects": [
            {"id": f"{id_:016x}", "name": name, "funcs": funcs, "vars": vars_, "kind": KIND_NAMES.get(kind, "?")}
            for id_, funcs, vars_, kind, name in image.objects
        ],
        "skipped": pairing.skipped,
        "funcs": image_funcs,
        "vars": image_vars,
    }

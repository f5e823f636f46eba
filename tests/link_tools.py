"""Help for the tests of the link tools: compile, link with stock gcc and our -B folder, read tables with pyelftools."""

from __future__ import annotations

import io
import os
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

ROOT = Path(__file__).resolve().parent.parent
BDIR = ROOT / "gompy" / "_native" / "bdir"
TARGET = "x86_64-intelmicemul-linux-gnu"
DROPPED = ("GOMPY_", "OFFLOAD_", "COLLECT_", "COMPILER_PATH", "LIBRARY_PATH", "GCC_EXEC_PREFIX", "MAKE", "MFLAGS")

sys.path.insert(0, str(ROOT))
from gompy.objects.naming import base_name  # noqa: E402

built = pytest.mark.skipif(not (BDIR / "lto-wrapper").exists(), reason="gompy/_native is not built")


def environment(**changes: str) -> dict[str, str]:
    """The environment less what would disturb, with changes."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(DROPPED)}
    env["LC_ALL"] = "C.UTF-8"
    env["GOMPY_ACCEL"] = "gcc"  # the compiler that is always there; others have tests of their own
    env["GOMPY_ACCEL"] = os.environ.get("GOMPY_TEST_ACCEL", "gcc")
    env.update(changes)
    return env


def call(
    *words: str | Path, cwd: Path | None = None, check: bool = True, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a command; with ``check``, its failure fails the test with what it said."""
    done = subprocess.run(
        [str(w) for w in words], cwd=cwd, env=environment(**env), capture_output=True, text=True, timeout=100
    )
    if check and done.returncode:
        pytest.fail(f"{' '.join(map(str, words))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done


STREAMS = ("-flto", "-ffat-lto-objects")
MODES: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "ours": ("rename", STREAMS),  # as gompcc compiles
    "lto": ("keep", ("-flto",)),  # slim, as gompcc -flto compiles
    "fat": ("keep", STREAMS),
    "plain": (None, ()),  # stock gcc, no device IR for us
    "stock-lto": (None, ("-flto",)),
    "stock-fat": (None, STREAMS),
}
"""How an object is made: GOMPY_AS (None: without our -B folder), and options."""


def compile_c(text: str, output: Path, mode: str = "ours", *options: str, gcc: str = "gcc", suffix: str = ".c") -> Path:
    """Compile a source text in one of MODES; the source is left beside the object."""
    source = output.with_suffix(suffix)
    source.write_text(text)
    how, streams = MODES[mode]
    command = [gcc, "-O1", "-fopenmp", *streams, *options, "-c", source.name, "-o", output.name]
    env = {}
    if how is not None:
        command[1:1] = ["-B", str(BDIR)]
        env["GOMPY_AS"] = how
    call(*command, cwd=output.parent, **env)
    return output


RUNTIME = ("-Wl,--push-state,--no-as-needed", "-lgomp", "-Wl,--pop-state")
"""Debian's gcc links with --as-needed; an image's constructor needs the runtime where no object does."""


def link(
    objects: list[Path | str], output: Path, *options: str, gcc: str = "gcc", check: bool = True, **env: str
) -> subprocess.CompletedProcess[str]:
    """Link with an image for the emulated device, as gompcc does but for the runtime library."""
    names = [os.path.relpath(o, output.parent) if isinstance(o, Path) else o for o in objects]
    return call(
        *(gcc, "-B", BDIR, "-foffload=disable", "-fopenmp", *options, *RUNTIME, *names, "-o", output.name),
        cwd=output.parent,
        check=check,
        OFFLOAD_TARGET_NAMES=TARGET,
        **env,
    )


def elf(data: bytes | Path) -> ELFFile:
    """An ELF file, by the library's reader."""
    return ELFFile(io.BytesIO(data.read_bytes() if isinstance(data, Path) else data))


def symbols(file: ELFFile) -> list[tuple[str, int, int | str, str]]:
    """(name, value, section, type) of the symbol table."""
    table = file.get_section_by_name(".symtab")
    if table is None:
        return []
    return [(s.name, s["st_value"], s["st_shndx"], s["st_info"]["type"]) for s in table.iter_symbols()]


def section_names(path: Path) -> list[str]:
    """Names of all sections."""
    return [s.name for s in elf(path).iter_sections()]


def object_tables(path: Path) -> tuple[list[str], list[str]]:
    """Names of the entries in a relocatable's own tables."""
    file = elf(path)
    names: dict[tuple[int | str, int], str] = {}
    for name, value, index, kind in symbols(file):
        if name and kind in ("STT_FUNC", "STT_OBJECT") and not name.startswith(".offload_"):
            names[index, value] = name
    table = file.get_section_by_name(".symtab")
    result: tuple[list[str], list[str]] = ([], [])
    for found, label in zip(result, ("funcs", "vars"), strict=True):
        rela = file.get_section_by_name(f".rela.gnu.offload_{label}")
        for entry in rela.iter_relocations() if rela is not None else ():
            symbol = table.get_symbol(entry["r_info_sym"])
            if symbol["st_info"]["type"] == "STT_SECTION":
                found.append(names[symbol["st_shndx"], symbol["st_value"] + entry["r_addend"]])
            else:
                found.append(symbol.name)
    return [base_name(n) for n in result[0]], [base_name(n) for n in result[1]]


class Linked:
    """A linked ELF file's memory as it will be: bytes, with relative relocations applied at load address 0."""

    def __init__(self, data: bytes | Path) -> None:
        self.file = elf(data)
        self.relative: dict[int, int] = {}
        for label in (".rela.dyn", ".rela.plt"):
            section = self.file.get_section_by_name(label)
            for entry in section.iter_relocations() if section is not None else ():
                if entry["r_info_type"] == 8:
                    self.relative[entry["r_offset"]] = entry["r_addend"]
        self.symbols: dict[str, int] = {}
        self.names: dict[int, str] = {}
        for name, value, index, kind in symbols(self.file):
            if index == "SHN_UNDEF" or not name:
                continue
            self.symbols[name] = value
            if kind in ("STT_FUNC", "STT_OBJECT") and not name.startswith((".offload_", "__offload_")):
                self.names.setdefault(value, name)

    def word(self, address: int, size: int = 8) -> int:
        """An unsigned number in memory."""
        if size == 8 and address in self.relative:
            return self.relative[address]
        return int.from_bytes(self.read(address, size), "little")

    def read(self, address: int, size: int) -> bytes:
        """Bytes in memory."""
        for segment in self.file.iter_segments("PT_LOAD"):
            start = segment["p_vaddr"]
            if start <= address and address + size <= start + segment["p_memsz"]:
                data = segment.data()[address - start : address - start + size]
                return data + bytes(size - len(data))
        raise AssertionError(f"{address:#x} is not mapped")

    def string(self, address: int) -> str:
        """A C string in memory."""
        data = self.read(address, 1)
        while data[-1]:
            data += self.read(address + len(data), 1)
        return data[:-1].decode()

    def tables(self, bounds: list[int]) -> tuple[list[str], list[str]]:
        """Names of the entries between begin and end of the functions and of the variables."""
        functions = [self.names[self.word(a)] for a in range(bounds[0], bounds[1], 8)]
        variables = [self.names[self.word(a)] for a in range(bounds[2], bounds[3], 16)]
        return [base_name(n) for n in functions], [base_name(n) for n in variables]


@dataclass
class Described:
    """One ``object_desc``."""

    id: int
    nfuncs: int
    nvars: int
    kind: int
    name: str


class Program(Linked):
    """A program with an image: its host tables, its target data, its records, its image's tables."""

    def host_tables(self) -> tuple[list[str], list[str]]:
        """Between the crtoffload symbols."""
        names = ("__offload_func_table", "__offload_funcs_end", "__offload_var_table", "__offload_vars_end")
        return self.tables([self.symbols[n] for n in names])

    @property
    def data(self) -> int:
        """Address of target_data."""
        return self.symbols["gompy_target_data"]

    def image(self) -> bytes:
        """The image file."""
        start, end = self.word(self.data), self.word(self.data + 8)
        return self.read(start, end - start)

    def image_tables(self) -> tuple[list[str], list[str]]:
        """What the image's own exported table spans."""
        image = Linked(self.image())
        table = image.symbols["__OFFLOAD_TARGET_TABLE__"]
        return image.tables([image.word(table + 8 * i) for i in range(4)])

    def described(self) -> list[Described]:
        """The objects of the image, as the runtime sees them."""
        at, count = self.word(self.data + 64), self.word(self.data + 72)
        result = []
        for index in range(count):
            base = at + 32 * index
            ident, nfuncs, nvars, kind, _ = struct.unpack("<QIIII", self.read(base, 24))
            result.append(Described(ident, nfuncs, nvars, kind, self.string(self.word(base + 24))))
        return result

    def records(self) -> list[tuple[int, int, int, str]]:
        """The linked objects' records: id, functions, variables, source."""
        at, end = self.word(self.data + 48), self.word(self.data + 56)
        data = self.read(at, end - at) if at else b""
        return [(i, f, v, n.rstrip(b"\0").decode()) for i, f, v, n in struct.iter_unpack("<QII48s", data)]


def textrel(path: Path) -> bool:
    """Whether the dynamic section has DT_TEXTREL or the flag for it."""
    dynamic = elf(path).get_section_by_name(".dynamic")
    return any(
        t.entry.d_tag == "DT_TEXTREL" or (t.entry.d_tag == "DT_FLAGS" and t.entry.d_val & 4)
        for t in dynamic.iter_tags()
    )


def no_leftovers(folder: Path) -> None:
    """Fail if a temporary file was left in a folder that the test used as TMPDIR."""
    left = sorted(p.name for p in folder.iterdir())
    shutil.rmtree(folder)
    assert not left, f"temporary files left: {left}"

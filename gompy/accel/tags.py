"""Do a host compiler and a source tree number the tags of LTO streams alike?

Tags count on from the tree codes, and the tree codes include those of every front end whose ``…-tree.def`` lay in the
source tree when the compiler was built, configured or not (GCC 12: lto-streamer.h, enum LTO_tags; gcc/Makefile.in,
all-tree.def; gcc/configure.ac, lang_tree_files).  One front end more or less, and every stream is misread.  So the tag
of a function is read from a probe object, and counted in the source, before minutes of building are spent.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import zlib
from pathlib import Path

import zstandard

from gompy.accel.errors import AccelError
from gompy.accel.host import Host
from gompy.objects.elf import Elf, ElfError, open_object
from gompy.objects.names import OFFLOAD_LTO_SECTION_PREFIX

PROBE = """\
#pragma omp declare target
int gompy_probe_variable;
#pragma omp end declare target
void gompy_probe (int *p)
{
  #pragma omp target map(tofrom: p[0:1])
  p[0] += ++gompy_probe_variable;
}
"""
REGION = OFFLOAD_LTO_SECTION_PREFIX + "gompy_probe._omp_fn.0."
HEADER_SIZE = 12
"""struct lto_function_header: i32 size of the main stream, of the strings, of the cfg (which comes first)."""


def probe_object(host: Host, folder: Path, *options: str) -> Path:
    """An object made by the host compiler with one region and one variable.  AccelError if it does not compile."""
    source, output = folder / "probe.c", folder / "probe.o"
    source.write_text(PROBE)
    done = subprocess.run(
        [*host.command, "-fopenmp", "-O2", *options, "-c", str(source), "-o", str(output)],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise AccelError(f"{host.command[0]}: cannot compile a target region: {first_line(done.stderr)}")
    return output


def first_line(text: str) -> str:
    """The first line of a tool's output that says anything."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "(no message)")


def function_tag(elf: Elf) -> int:
    """The number of LTO_function, from the body of the probe's region.  AccelError if the object has none."""
    section = next((s for s in elf.sections if s.name.startswith(REGION)), None)
    if section is None:
        raise AccelError(f"{elf.name}: has no offload stream: the compiler was configured without offload targets")
    body = decompress(elf.contents(section))
    cfg_size = int.from_bytes(body[8:12], "little")
    value = shift = 0
    for byte in body[HEADER_SIZE + cfg_size :][:5]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value
    raise AccelError(f"{elf.name}: {section.name}: damaged stream")


def decompress(content: bytes) -> bytes:
    """A compressed stream: zstd, else zlib (GCC 12: lto-compress.cc)."""
    try:
        if content[:4] == b"\x28\xb5\x2f\xfd":
            return zstandard.ZstdDecompressor().decompressobj().decompress(content)
        return zlib.decompress(content)
    except (zstandard.ZstdError, zlib.error) as error:
        raise AccelError(f"cannot decompress a stream of the probe object: {error}") from None


def host_tag(host: Host) -> int:
    """The number of LTO_function in the host compiler's streams."""
    with tempfile.TemporaryDirectory(prefix="gompy-") as name:
        try:
            return function_tag(open_object(str(probe_object(host, Path(name)))))
        except ElfError as error:
            raise AccelError(f"cannot read {error}") from None


def tree_code_files(source: Path) -> dict[str, Path]:
    """The files of tree codes, by front end ("" for the common ones), as GCC's configure finds them."""
    gcc = source / "gcc"
    files = {"": gcc / "tree.def", "c-family": gcc / "c-family" / "c-common.def"}
    for config in sorted(gcc.glob("*/config-lang.in")):
        subdir = config.parent.name
        found = re.search(r"^gcc_subdir=[\"']?([^\"'\s]+)", config.read_text(errors="replace"), re.M)
        file = gcc / (found[1] if found else subdir) / f"{subdir}-tree.def"
        if file.exists():
            files[subdir] = file
    return files


def count(file: Path, macro: str) -> int:
    """How many lines of a .def file begin with that macro."""
    try:
        return len(re.findall(rf"^{macro}\s*\(", file.read_text(errors="replace"), re.M))
    except OSError as error:
        raise AccelError(f"{file}: {error.strerror}; is this a GCC source tree?") from None


def tree_codes(file: Path) -> int:
    """Number of tree codes that a file defines."""
    return count(file, "DEFTREECODE")


def tags_around(header: str) -> tuple[int, int]:
    """How many tags enum LTO_tags has before the tree codes and between the gimple codes and LTO_function."""
    body = re.search(r"enum LTO_tags\s*\{(.*?)\};", header, re.S)
    text = re.sub(r"/\*.*?\*/", "", body[1] if body else "", flags=re.S)
    names = re.findall(r"\b(LTO_\w+)\s*(?:=[^,]*)?,", text)
    try:
        return names.index("LTO_first_tree_tag"), names.index("LTO_function") - names.index("LTO_bb0")
    except ValueError:
        raise AccelError("gcc/lto-streamer.h: no tag LTO_function found; is this GCC 12's source?") from None


def source_tag(source: Path) -> int:
    """The number that LTO_function will have in a compiler built from this tree.

    One more code than the files define: the mark between the common ones and those of the front ends.
    """
    gcc = source / "gcc"
    try:
        before, after = tags_around((gcc / "lto-streamer.h").read_text(errors="replace"))
    except OSError as error:
        raise AccelError(f"{gcc / 'lto-streamer.h'}: {error.strerror}; is this a GCC source tree?") from None
    trees = 1 + sum(tree_codes(file) for file in tree_code_files(source).values())
    return before + trees + count(gcc / "gimple.def", "DEFGSCODE") + after


def explain(host: Host, expected: int, source: Path, found: int) -> str:
    """Why the tags differ, in one sentence."""
    more = found - expected
    have = {name: tree_codes(file) for name, file in tree_code_files(source).items() if name and name != "c-family"}
    text = f"{source}: its LTO tags differ from those of {host.title}: it has {abs(more)} tree code"
    text += "s" if abs(more) != 1 else ""
    text += " too many" if more > 0 else " too few"
    if more < 0:
        with_codes = ("ada", "d", "m2", "objc", "rust", "cobol")
        lacking = ", ".join(name for name in host.languages if name in with_codes and name not in have)
        text += f"; the compiler was configured with {lacking}, whose front end is missing" if lacking else ""
    else:
        alone = [name for name, number in have.items() if number == more]
        text += f"; the front end {' or '.join(alone)} has that many: remove its folder in gcc/" if alone else ""
    return text

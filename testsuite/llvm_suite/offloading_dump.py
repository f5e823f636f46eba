"""llvm-objdump --offloading FILE, by gompy's reader: for LLVM's tests of it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gompy.abi import llvm
from gompy.objects.offload_binary import MAGIC, OffloadBinary, read_all
from gompy.objects.view import Damaged, ElfView


def images(file: str) -> list[OffloadBinary]:
    """The images of an OffloadBinary or an ELF file.  Raises Damaged."""
    data = Path(file).read_bytes()
    if data.startswith(MAGIC):
        return list(read_all(data, file))
    elf = ElfView(data, file)
    print(f"\n{file}:\tfile format elf64-unknown")
    sections = [section for section in elf.sections if section.type == llvm.SHT_LLVM_OFFLOADING]
    return [b for s in sections for b in read_all(elf.contents(s), file, s.name, s.offset)]


def main() -> int:
    """Print what llvm-objdump prints."""
    file = sys.argv[2]
    try:
        found = images(file)
    except Damaged as error:
        print(f"offloading_dump: error: {error}", file=sys.stderr)
        return 1
    for number, binary in enumerate(found):
        print(f"\nOFFLOADING IMAGE [{number}]:\nkind            {binary.kind}\narch            {binary.arch}")
        print(f"triple          {binary.triple}\nproducer        {binary.producer}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

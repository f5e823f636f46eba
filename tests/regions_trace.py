"""What a program asks of the runtime, beside what its JSON says: functions, and kinds in their order."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from gompy.objects.elf import SHT_SYMTAB
from gompy.objects.view import ElfView

SOURCE = Path(__file__).resolve().parent / "programs" / "kinds_trace.c"
DATA_NAMES = {
    "target data": "data",
    "target update": "update",
    "target enter data": "enter",
    "target exit data": "exit",
    "oacc_data": "acc-data",
    "oacc_data_kernels": "acc-data",
    "oacc_host_data": "acc-data",
    "oacc_update": "acc-update",
    "oacc_enter_data": "acc-enter",
    "oacc_exit_data": "acc-exit",
}


def build(folder: Path) -> Path:
    """The library to be preloaded."""
    output = folder / "kinds_trace.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-w", str(SOURCE), "-o", str(output)], check=True)
    return output


def documents(folder: Path, suffix: str) -> list[dict[str, Any]]:
    """All documents of a kind in a folder."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob(f"*{suffix}"))]


def _names(program: Path) -> dict[int, str]:
    elf = ElfView(program.read_bytes(), str(program))
    # With -flto static functions of a name are told apart by what follows it.
    return {
        symbol.value: symbol.name.partition(".lto_priv.")[0]
        for table in elf.sections
        if table.type == SHT_SYMTAB
        for symbol in elf.symbols(table)
        if "._omp_fn." in symbol.name
    }


def compare(program: Path, folder: Path, trace: str) -> tuple[int, int, list[str]]:
    """Constructs that ran and were compared, regions and others; what disagrees."""
    names = _names(program)
    regions: dict[str, list[dict[str, Any]]] = {}
    for document in documents(folder, ".regions.json"):
        for region in document["regions"]:
            regions.setdefault(region["function"], []).append(region)
    others: dict[str, list[list[list[int]]]] = {}
    for document in documents(folder, ".data.json"):
        for item in document["data"]:
            kinds = [parameter.get("numbers", []) for parameter in item["parameters"]]
            others.setdefault(DATA_NAMES.get(item["construct"], ""), []).append(kinds)
    wrong: list[str] = []
    counts = [0, 0]
    for line in dict.fromkeys(trace.splitlines()):
        if not line.startswith("trace: "):
            continue
        _, what, file, place, *words = line.split()
        asked = [int(word) & 0xFF for word in words]
        if what == "target":
            name = names.get(int(place, 16), f"{file}+{place}")
            candidates = [[p.get("numbers", []) for p in region["parameters"]] for region in regions.get(name, [])]
            counts[0] += 1
        else:
            name, candidates = what, others.get(what, [])
            counts[1] += 1
        if not any(agree(asked, candidate) for candidate in candidates):
            wrong.append(f"{name}: asked {asked}, JSON {candidates}")
    return counts[0], counts[1], wrong


def agree(asked: list[int], said: list[list[int]]) -> bool:
    """Whether each kind that was asked is the one that was said, or one of two."""
    return len(asked) == len(said) and all(kind in kinds for kind, kinds in zip(asked, said, strict=True))

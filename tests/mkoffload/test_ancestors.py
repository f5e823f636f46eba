"""Functions of the image that only the host runs, as GCC 13 and later write them; the objects are C's own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from gompy.objects.elf import SHT_RELA, Elf, open_object
from mkoffload.ancestors import without_code

SOURCE = """
extern int only_host (int);
#define NAMED(f, name) int f (int) __asm__ (name); int f (int x)
NAMED (host, "f._omp_fn.1.lto_priv.0") { return x ? only_host (x) : 0; }
NAMED (twin, "f._omp_fn.1.nohost.0.lto_priv.3") { return 0; }
NAMED (region, "f._omp_fn.0") { return only_host (x) + 1; }
NAMED (one, "g._omp_fn.0") { return only_host (x) + 2; }
NAMED (other, "g._omp_fn.0.lto_priv.0") { return only_host (x) + 3; }
NAMED (twin_of_one, "g._omp_fn.0.nohost.0") { return 0; }
"""


def referring(elf: Elf) -> set[str]:
    """Code sections with relocations."""
    return {
        elf.sections[s.info].name.removeprefix(".text.")
        for s in elf.sections
        if s.type == SHT_RELA and s.size and elf.sections[s.info].name.startswith(".text.")
    }


def test_what_the_host_runs_refers_to_nothing(tmp_path: Path) -> None:
    """Those beside which GCC's empty one stands; where that is not sure, code stays."""
    (tmp_path / "a.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O2", "-ffunction-sections", "-c", "a.c"], cwd=tmp_path, check=True)
    elf = open_object(str(tmp_path / "a.o"))
    assert "f._omp_fn.1.lto_priv.0" in referring(elf)
    (tmp_path / "b.o").write_bytes(without_code(elf.data, elf))
    left = referring(open_object(str(tmp_path / "b.o")))
    assert left == {"f._omp_fn.0", "g._omp_fn.0", "g._omp_fn.0.lto_priv.0"}

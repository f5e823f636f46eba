"""GOMPY_CHECK: blocks of argument words alone are given out again, and nothing else is (gompy_alloc_words)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from intelmic_driver import PLUGIN, build_image, drive

BIN = Path(sys.executable).parent
if not PLUGIN.exists() or not (BIN / "gompcc").exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)

IMAGE = """
static int64_t scalar;
void set (int64_t *p) { scalar = p[0]; }
static void *f[] = { set };
static void *v[] = { &scalar, (void *) sizeof scalar };
TABLES (f, v)
"""

START = """
p.init_device(0)
(fn, _), (scalar, _) = p.load(0, folder + '/image.so')
p.lib.gompy_alloc_words.restype = ctypes.c_void_p
p.lib.gompy_alloc_words.argtypes = [ctypes.c_int, ctypes.c_size_t]
take = lambda size: p.lib.gompy_alloc_words(0, size)
"""


def test_they_are_given_out_again(tmp_path: Path) -> None:
    """A block, its reuse, all of them at once, one that is too large, freeing twice; a region reads its words."""
    build_image(tmp_path, IMAGE)
    code = """
first = take(64)
for n in range(300):
    word = n.to_bytes(8, 'little')
    assert p.host2dev(0, first, word, 8)
    p.run(0, fn, first, None)
    assert p.get(0, scalar, 8) == word
    assert p.free(0, first) and take(64) == first
assert p.free(0, first) and not p.free(0, first) and not p.free(0, first + 8)
many = [take(1024) for n in range(64)]
assert len(set(many)) == 64 and all(many) and not take(8)
assert not take(1025)
assert all(p.free(0, block) for block in many)
assert take(8) in many
other = p.alloc(0, 64)
assert p.free(0, other) and p.alloc(0, 64) != other
print('good')
finish()
"""
    done = drive(tmp_path, START + code, {"GOMPY_CHECK": "1"})
    assert (done.stdout, done.returncode) == ("good\n", 0), done.stderr
    assert done.stderr.count("is not an allocated block") == 2


def test_without_the_check_there_are_none(tmp_path: Path) -> None:
    """The runtime asks GOMP_OFFLOAD_alloc then."""
    build_image(tmp_path, IMAGE)
    done = drive(tmp_path, START + "print(take(64))\nfinish()\n")
    assert (done.stdout, done.stderr, done.returncode) == ("None\n", "", 0)


def test_the_gpu_allocates_no_more_for_more_launches(tmp_path: Path) -> None:
    """As many blocks for 40 launches as for 2, none of them new for the words."""
    (tmp_path / "a.c").write_text(
        "#include <stdlib.h>\nint main (int argc, char **argv)\n{\n  int a[100];\n"
        "  #pragma omp target data map(from: a)\n  for (int i = 0; i < atoi (argv[1]); i++)\n"
        "    #pragma omp target\n    a[i] = i;\n  return a[1] != 1;\n}\n"
    )
    subprocess.run([BIN / "gompcc", "-fopenmp", "-foffload=nvptx-none", "-o", "a", "a.c"], check=True, cwd=tmp_path)
    allocated = []
    for launches in ("2", "40"):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "GOMPY_"))}
        clean |= {"GOMPY_CUDA": "emulated", "GOMPY_CHECK": "1", "GOMPY_CUDA_TRACE": str(tmp_path / launches)}
        subprocess.run(["./a", launches], check=True, cwd=tmp_path, env=clean, timeout=100)
        allocated.append(len(re.findall("cuMemAlloc", (tmp_path / launches).read_text())))
    assert allocated[0] == allocated[1] > 0

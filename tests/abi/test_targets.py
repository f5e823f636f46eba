"""The registry of targets: what it says, and that what differs by target is taken from it."""

from __future__ import annotations

import importlib
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from gompy.abi import gomp, targets
from gompy.driver import offload, paths
from gompy.native import generate

ROOT = Path(__file__).resolve().parents[2]
PROBE = """\
# cython: language_level=3
from gompy.native.targets cimport TARGETS, targets

def rows():
    cdef int i
    return [(targets[i].type, targets[i].plugin.decode(), targets[i].name.decode()) for i in range(TARGETS)]
"""


def test_each_name_is_one_target_s() -> None:
    """Names and aliases, GCC's numbers and plugins are told apart; nothing is found under no name."""
    words = [word for target in targets.TARGETS for word in (target.name, target.alias) if word]
    assert len(words) == len(set(words))
    assert len({target.type for target in targets.TARGETS}) == len(targets.TARGETS)
    assert len({target.plugin for target in targets.TARGETS}) == len(targets.TARGETS)
    for target in targets.TARGETS:
        assert targets.find(target.name) is target and targets.of_type(target.type) is target
    assert targets.find("") is None and targets.find("hsa") is None and targets.of_type(gomp.GOMP_DEVICE_HOST) is None


@pytest.mark.parametrize("target", [t for t in targets.TARGETS if t.maker], ids=lambda target: target.plugin)
def test_what_makes_images_is_there(target: targets.Target) -> None:
    """The module, and the mkoffload that GCC's lto-wrapper would start."""
    assert callable(importlib.import_module(target.maker).build)
    assert f"bdir/{target.tool}" in paths.NEEDED


def test_a_further_target_is_known_to_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """-foffload= takes a new record's name and alias, and gcc does not see them."""
    new = targets.Target("abc-none", "HSA", "abc", "so", alias="abc", maker="mkoffload.abc", emulated=True)
    monkeypatch.setattr(targets, "TARGETS", (*targets.TARGETS, new))
    monkeypatch.setattr(offload, "OURS", (*offload.OURS, new.name))
    chosen = offload.select(["-foffload=abc", "-foffload=nvptx-none"], lambda: ["nvptx-none"])
    assert (chosen.names, chosen.kept, chosen.errors) == (["abc-none", "nvptx-none"], [None, None], [])


def test_a_mkoffload_without_a_target_says_so() -> None:
    """The script names it; by hand it may be wrong."""
    for words in ([], ["amdgcn-amdhsa", "-o", "x"]):
        done = subprocess.run(
            [sys.executable, "-I", "-S", ROOT / "mkoffload" / "__main__.py", *words], capture_output=True, text=True
        )
        first = f"mkoffload: fatal error: ‘{words[0] if words else ''}’ is no target that gompy makes images for"
        assert (done.returncode, done.stderr.splitlines()[0]) == (1, first)


@pytest.mark.slow
def test_compiled_parts_have_the_same_rows(tmp_path: Path) -> None:
    """targets.pxd, as a compiled part would use it."""
    (tmp_path / "probe.pyx").write_text(PROBE)
    run = {"check": True, "cwd": tmp_path}
    subprocess.run([sys.executable, "-m", "cython", "-3", "-Werror", "-I", ROOT, "probe.pyx"], **run)  # type: ignore[call-overload]
    headers = sysconfig.get_path("include")
    subprocess.run(["gcc", "-shared", "-fPIC", f"-I{ROOT}", f"-I{headers}", "probe.c", "-o", "probe.so"], **run)  # type: ignore[call-overload]
    code = "import probe; print(probe.rows())"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == str([(t.type, t.plugin, t.name) for t in targets.TARGETS]), done.stderr
    assert (generate.HERE / "targets.h").read_text() == generate.targets_h()

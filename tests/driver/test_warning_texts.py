"""What `-Woffload-host` and the warnings of a link without device code say, from the code, against what tests hold."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from text_pieces import held, pieces, printed

from gompy.driver import check_plugin, plan
from gompy.tools.messages import Log
from mkoffload import hostregions

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
FILES = ("mkoffload/hostregions.py", "gompy/driver/plan.py", "gompy/driver/check_plugin.py")
PROGRAMS = {"import sys; sys.path[:] = eval (sys.argv[1])", "import main; sys.exit (main (sys.argv[2:]))"}
"""What is no message: a program of Python."""


@pytest.mark.slow
def test_each_text_is_held_by_a_test() -> None:
    known = held(sorted(TESTS.rglob("*.py"))) + printed([ROOT / "docs" / "diagnosis.md"])
    said = pieces(ROOT / name for name in FILES)
    assert len(said) > 15
    assert {piece: file for piece, file in said.items() if piece not in known and piece not in PROGRAMS} == {}


def test_many_regions_of_one_object(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Some are named, the others counted."""
    names = [f"f{i}" for i in range(hostregions.MOST_SHOWN + 3)]
    monkeypatch.setattr(hostregions, "region_places", lambda _: ["a.c:1:9"] * len(names))
    monkeypatch.delenv(hostregions.VARIABLE, raising=False)
    item: Any = SimpleNamespace(shown="a.o", elf=None, host_names=lambda: (names, []))
    log = Log("mkoffload")
    log.kept = []
    hostregions.HostRegions(log).tell(item, "no device code")
    assert log.kept[-1] == "a.o: note: and 3 more regions\n"
    assert len(log.kept) == hostregions.MOST_SHOWN + 1


def test_options_without_effect_beside_device_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "quote", lambda text: f"'{text}'")  # whatever the locale
    line: Any = SimpleNamespace(words=[SimpleNamespace(text=plan._SILENT_WITH_LTO[0])])
    given = plan._SILENT_WITH_LTO[0]
    assert plan._beside_device_code(line) == (
        [],
        [("warning", f"'{given}' writes nothing beside device code; '-foffload=disable' leaves that out")],
    )


def test_linkers_that_leave_regions_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "quote", lambda text: f"'{text}'")
    line: Any = SimpleNamespace(
        linker_inputs=[], linker="mold", lto=False, openacc=True, libgomp_archive=False, sources=["a.c"]
    )
    assert plan._host_only(line) == [
        "'mold' hands only objects of -flto to gcc's linker plugin (2.30 and later, all): the regions of others have "
        "no device code and will run on the host (OpenACC's with ACC_DEVICE_TYPE=host)"
    ]


def test_a_plugin_whose_builder_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(subprocess, "run", refused)
    command: Any = SimpleNamespace(path="gcc", words=["gcc"])
    text = "-foffload-check costs much, as its plugin for gcc is not built: Cannot allocate memory"
    assert check_plugin._build(command) == text

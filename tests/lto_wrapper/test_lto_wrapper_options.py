"""Option merging: our lto-wrapper and the stock one, given the same objects, call mkoffload with the same words."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from link_tools import call, environment

from gompy.tools.options import words_of
from gompy.tools.process import ToolError
from lto_wrapper.options import Merger, compiler_options, decode, offload_options

STOCK = call("gcc", "-print-prog-name=lto-wrapper").stdout.strip()
TARGETS = ("fake-one", "fake-two")
BASE = ["-fno-openacc", "-fPIC", "-fcf-protection=none", "-foffload-abi=lp64", "-O2", "-fopenmp"]


class Recorder:
    """Runs the stock wrapper with mkoffloads that write their words down."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for target in TARGETS:
            tool = folder / "accel" / target / "mkoffload"
            tool.parent.mkdir(parents=True)
            words = shlex.quote(f"{folder}/{target}.words")
            tool.write_text(
                f'#!/bin/sh\ncase $1 in @*) cp "${{1#@}}" {words};; *) printf "%s\\n" "$@" > {words};; esac\n'
            )
            tool.chmod(0o755)
        self.made: dict[tuple[tuple[str, ...], ...], str] = {}

    def object(self, units: list[list[str]]) -> str:
        """An object whose .opts section has these units' options."""
        key = tuple(map(tuple, units))
        if key not in self.made:
            text = b"".join(
                " ".join("'" + w.replace("'", "'\\''") + "'" for w in unit).encode() + b"\0" for unit in units
            )
            name = str(self.folder / f"o{len(self.made)}.o")
            numbers = ",".join(map(str, text))
            source = f'.section .gnu.offload_lto_.opts,"e"\n.byte {numbers}\n'
            subprocess.run(["as", "-o", name, "-"], input=source.encode(), check=True)
            self.made[key] = name
        return self.made[key]

    def run(self, wrapper: str, objects: list[str], line: list[str]) -> tuple[int, str, dict[str, list[str]]]:
        """(status, error lines, words by target) of a run of the wrapper."""
        listing = self.folder / "list"
        listing.write_text("".join(f"{n}\n" for n in [len(objects), *objects]))
        for target in TARGETS:
            (self.folder / f"{target}.words").unlink(missing_ok=True)
        quoted = " ".join("'" + w.replace("'", "'\\''") + "'" for w in line)
        env = environment(
            COLLECT_GCC="gcc",
            COLLECT_GCC_OPTIONS=quoted,
            COMPILER_PATH=f"{self.folder}/",
            OFFLOAD_TARGET_NAMES=":".join(TARGETS),
            TMPDIR=str(self.folder),
        )
        if wrapper == "ours":
            status, errors = self._ours(env, [f"-foffload-objects={listing}"])
        else:
            done = subprocess.run([wrapper, f"-foffload-objects={listing}"], env=env, capture_output=True, text=True)
            status, errors = done.returncode, done.stderr
        words = {}
        for target in TARGETS:
            path = self.folder / f"{target}.words"
            if path.exists():
                found = path.read_text().split("\n")[:-1]
                at = found.index("-o")
                words[target] = found[:at] + found[at + 2 :]
        return status, errors, words

    @staticmethod
    def _ours(env: dict[str, str], words: list[str]) -> tuple[int, str]:
        import contextlib
        import io

        from gompy.tools.process import Temps
        from lto_wrapper.main import wrap

        before = dict(os.environ)
        temps, errors = Temps(), io.StringIO()
        os.environ.clear()
        os.environ.update(env)
        try:
            with contextlib.redirect_stderr(errors):
                wrap(words, temps)
        except ToolError as error:
            return 1, f"{errors.getvalue()}lto-wrapper: fatal error: {error}\ncompilation terminated.\n"
        finally:
            os.environ.clear()
            os.environ.update(before)
            temps.remove()
        return 0, errors.getvalue()

    def compare(self, units: list[list[str]], line: list[str], several: bool = True) -> dict[str, list[str]]:
        """Both wrappers, same input: same words, same status, same message.  The words."""
        objects = [self.object([u]) for u in units] if several else [self.object(units)]
        stock = self.run(STOCK, objects, line)
        ours = self.run("ours", objects, line)
        assert ours == stock
        return ours[2]


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    return Recorder(tmp_path_factory.mktemp("record"))


LINE = ["-O3", "-fopenmp", "-o", "prog", "-mtune=generic", "-march=x86-64", "-pthread", "-dumpdir", "prog."]
UNITS: dict[str, list[list[str]]] = {
    "one": [BASE],
    "same": [BASE, BASE],
    "levels": [["-O2"], ["-Os"]],
    "levels-same-kind": [["-Os"], ["-Os"]],
    "levels-fast": [["-O1"], ["-Ofast"], ["-Og"]],
    "levels-plain-o": [["-O"], ["-Og"]],
    "levels-none": [[], ["-O3"], ["-O1"]],
    "levels-z": [["-Oz"], ["-Oz"], ["-O0"]],
    "pic": [["-fPIC"], ["-fpic"]],
    "pic-no": [["-fPIC"], ["-fno-pic"]],
    "pic-nothing": [["-fPIC"], ["-O2"]],
    "nothing-pic": [["-O2"], ["-fPIC"]],
    "pic-pie": [["-fPIC"], ["-fPIE"]],
    "small-pic-pie": [["-fpic"], ["-fPIE"]],
    "pic-small-pie": [["-fPIC"], ["-fpie"]],
    "pie-pic": [["-fPIE"], ["-fPIC"]],
    "pie-small-pic": [["-fPIE"], ["-fpic"]],
    "pie-no": [["-fPIE"], ["-fno-pie"]],
    "pie-nothing": [["-fPIE"], []],
    "pie-pie": [["-fPIE"], ["-fpie"]],
    "pie-no-pic": [["-fPIE"], ["-fno-pic"]],
    "pic-no-pie": [["-fPIC"], ["-fno-pie"]],
    "models": [["-fno-openacc", "-fopenmp"], ["-fopenacc", "-fno-openmp"]],
    "models-off": [["-fno-openmp"], ["-fno-openmp"]],
    "dim": [["-fopenacc-dim=1:2:3"], ["-fopenacc-dim=1:2:3"], []],
    "dim-differs": [["-fopenacc-dim=1:2:3"], ["-fopenacc-dim=1:2:4"]],
    "abi-differs": [["-foffload-abi=lp64"], ["-foffload-abi=ilp32"]],
    "protection": [["-fcf-protection=full"], ["-fcf-protection=branch"]],
    "protection-none": [["-fcf-protection=return"], ["-fcf-protection=branch"], ["-fcf-protection=full"]],
    "g": [["-O2"], ["-g"], ["-g3"]],
    "common": [["-fcommon"], ["-fgnu-tm"], ["-fno-common"]],
    "diagnostics": [["-fno-diagnostics-show-caret"], ["-fdiagnostics-show-option", "-fno-show-column"]],
    "dropped": [["-funroll-loops", "-ffast-math", "-fno-inline", "-ffunction-sections"], ["-fwrapv"]],
    "target": [["-mavx2", "-march=haswell"], ["-march=skylake", "-msse4"]],
    "assembler": [["-Xassembler", "-x"], ["-Xassembler", "-x"]],
    "assembler-differs": [["-Xassembler", "-x"], ["-Xassembler", "-y"]],
    "assembler-extra": [["-Xassembler", "-x"], []],
    "assembler-more": [[], ["-Xassembler", "-z"]],
    "offload-options": [
        ["-foffload-options=-lm"],
        ["-foffload-options=fake-two=-O1 -ffast-math", "-foffload-options=-lm"],
    ],
    "offload-both": [["-foffload-options=fake-one,fake-two=-DX='a b'"], ["-foffload-options=other=-O3"]],
}


@pytest.mark.slow(sample=24)
@pytest.mark.parametrize("name", UNITS)
def test_known_cases(recorder: Recorder, name: str) -> None:
    words = recorder.compare(UNITS[name], LINE)
    if name == "levels":
        assert "-O2" in words["fake-one"] and "-Os" not in words["fake-one"]
    if name == "dim-differs":
        assert not words


@pytest.mark.parametrize("name", ["same", "levels-fast", "pic-pie", "offload-both", "assembler-extra"])
def test_units_of_one_bundle_merge_the_same_way(recorder: Recorder, name: str) -> None:
    recorder.compare(UNITS[name], LINE, several=False)


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["-o", "dir/prog"],
        ["-o", "a.out"],
        ["-o", "x/a.out"],
        ["-o", "prog.exe"],
        ["-o", "p.q"],
        ["-o", "/dev/null"],
        ["-dumpdir", "d/", "-o", "q"],
        ["-foffload-options=-lm -lc", "-foffload-options=fake-two=-ffast-math", "-O1"],
        ["-foffload-options=fake-one,fake-two=-Wl,-z,now"],
        ["-fdiagnostics-color=never", "-fdiagnostics-format=text", "-fno-show-column"],
        ["-fcf-protection=branch"],
        ["-lm", "-Ldir", "-shared", "-g", "-flto"],
    ],
    ids=lambda line: " ".join(line).replace("/", "|") or "empty",
)
def test_link_lines(recorder: Recorder, line: list[str]) -> None:
    recorder.compare([["-fcf-protection=full", "-fPIC", "-O2"], ["-g", *BASE]], line)


POOL = [
    *("-O", "-O0", "-O1", "-O2", "-O3", "-Os", "-Og", "-Oz", "-Ofast"),
    *("-fPIC", "-fpic", "-fPIE", "-fpie", "-fno-pic", "-fno-PIC", "-fno-pie", "-fno-PIE"),
    *(
        "-fopenmp",
        "-fno-openmp",
        "-fopenacc",
        "-fno-openacc",
        "-g",
        "-g1",
        "-g0",
        "-fcommon",
        "-fno-common",
        "-fgnu-tm",
    ),
    *("-fcf-protection=none", "-fcf-protection=full", "-fcf-protection=branch", "-fcf-protection=return"),
    *("-foffload-abi=lp64", "-foffload-abi=ilp32", "-fopenacc-dim=1:2:3", "-fopenacc-dim=4:5:6"),
    *("-mavx", "-mno-avx", "-march=haswell", "-mtune=generic", "-funroll-loops", "-fno-inline"),
    *("-foffload-options=-lm", "-foffload-options=fake-two=-lc", "-fno-show-column", "-fdiagnostics-show-option"),
]


def conflicting(units: list[list[str]]) -> bool:
    """Whether one unit has two options of a kind of which the compiler writes only one into an object."""
    kinds = [
        {w for w in POOL if w.startswith("-O")},
        {"-g", "-g1", "-g0"},
        {"-foffload-abi=lp64", "-foffload-abi=ilp32"},
        {"-fopenacc-dim=1:2:3", "-fopenacc-dim=4:5:6"},
        {w for w in POOL if w.startswith("-fcf-protection")},
    ]
    return any(len([w for w in unit if w in kind]) > 1 for unit in units for kind in kinds)


@pytest.mark.slow
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(
    st.lists(st.lists(st.sampled_from(POOL), max_size=5, unique=True), min_size=1, max_size=4).filter(
        lambda units: not conflicting(units)
    ),
    st.lists(st.sampled_from(POOL[:9] + POOL[-4:]), max_size=3),
)
def test_random_option_sets(recorder: Recorder, units: list[list[str]], line: list[str]) -> None:
    recorder.compare(units, line)


def test_first_of_a_kind_and_bundles_without_gcc() -> None:
    merger = Merger([], lambda text: None)
    for unit in (["-march=a", "-O1"], ["-march=b", "-O3"]):
        merger.merge(decode(unit))
    assert words_of(compiler_options(merger)) == ["-march=a", "-O3"]


def test_offload_words_are_split_like_a_shell_does() -> None:
    options = decode(['-foffload-options=t1=-DX="a b" -O3', "-foffload-options=-l'm m'"])
    assert words_of(offload_options(options, "t1")) == ["-DX=a b", "-O3", "-lm m"]
    assert words_of(offload_options(options, "t2")) == ["-lm m"]

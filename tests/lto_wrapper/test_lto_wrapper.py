"""lto-wrapper's protocol with the plugin, the driver and the mkoffloads, beside the stock one where both can do it."""

from __future__ import annotations

import os
import shlex
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest
from link_tools import BDIR, TARGET, Program, built, call, compile_c, elf, environment, link, no_leftovers

from gompy.abi.gcc import NAMED, SUPPORTED
from gompy.tools.response import join

pytestmark = built

OURS = BDIR / "lto-wrapper"
STOCK_MAJOR = int(call("gcc", "-dumpversion").stdout.partition(".")[0])
STOCK = call("gcc", "-print-prog-name=lto-wrapper").stdout.strip()
REGION = """
int {0}(int x)
{{
#pragma omp target map(tofrom: x)
  x += 1;
  return x;
}}
"""
MAIN = "int a(int); int main(void) { return a(41) - 42; }\n"


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("objects")
    made = {f"a-{m}": compile_c(REGION.format("a"), folder / f"a-{m}.o", m) for m in ("ours", "lto", "plain")}
    made["main-ours"] = compile_c(MAIN, folder / "main-ours.o", "ours")
    made["main-lto"] = compile_c(MAIN, folder / "main-lto.o", "lto")
    made["none"] = compile_c("int unused;\n", folder / "none.o", "plain")
    return made


def recorder(folder: Path, target: str, body: str = 'while [ "$1" != -o ]; do shift; done; echo x > "$2"') -> None:
    """A mkoffload that leaves its words in the folder and makes its output."""
    tool = folder / "accel" / target / "mkoffload"
    tool.parent.mkdir(parents=True)
    words = shlex.quote(f"{folder}/{target}.words")
    tool.write_text(
        f'#!/bin/bash\ncase $1 in @*) mapfile -t w < "${{1#@}}"; set -- "${{w[@]//\\\\/}}";; esac\n'
        f'printf "%s\\n" "$@" > {words}\n{body}\n'
    )
    tool.chmod(0o755)


def raw(
    program: Path | str, words: list[str], folder: Path, check: bool = False, **env: str
) -> subprocess.CompletedProcess[str]:
    """The wrapper as the plugin starts it; a variable given as an empty string is unset."""
    values = {
        "COLLECT_GCC": "gcc",
        "COLLECT_GCC_OPTIONS": "'-O2' '-fopenmp' '-o' 'prog' '-dumpdir' 'prog.'",
        "COMPILER_PATH": f"{folder}/",
        "LIBRARY_PATH": f"{BDIR}/:/usr/lib/x86_64-linux-gnu/",
        "OFFLOAD_TARGET_NAMES": "fake",
        "TMPDIR": str(folder),  # nobody takes over what it makes for the linker
    }
    values.update(env)
    return call(program, *words, cwd=folder, check=check, **{k: v for k, v in values.items() if v})


def listing(folder: Path, *names: str | Path) -> str:
    path = folder / "list"
    path.write_text("".join(f"{n}\n" for n in [len(names), *names]))
    return f"-foffload-objects={path}"


def shape(text: str, folder: Path) -> str:
    """Output with our own names made alike."""
    return text.replace(str(OURS), "W").replace(STOCK, "W").replace(str(folder), "F")


CASES: dict[str, tuple[list[str], dict[str, str]]] = {
    "no-collect-gcc": (["x.o"], {"COLLECT_GCC": ""}),
    "no-options": (["x.o"], {"COLLECT_GCC_OPTIONS": ""}),
    "no-list": (["-foffload-objects=/nonexistent/list"], {}),
    "no-compiler-path": (["LIST"], {"COMPILER_PATH": ""}),
    "no-targets": (["LIST"], {"OFFLOAD_TARGET_NAMES": ""}),
    "not-found": (["LIST"], {"OFFLOAD_TARGET_NAMES": "other", "COMPILER_PATH": "/nonexistent/x/:/nonexistent/y/"}),
    "not-found-default": (["LIST"], {"OFFLOAD_TARGET_NAMES": "other", "OFFLOAD_TARGET_DEFAULT": "1"}),
    "no-table": (["LIST"], {"LIBRARY_PATH": "/nonexistent/"}),
    "failing": (["LIST"], {"OFFLOAD_TARGET_NAMES": "failing"}),
    "failing-second": (["LIST"], {"OFFLOAD_TARGET_NAMES": "fake:failing"}),
}


@pytest.mark.parametrize("name", CASES)
def test_messages_and_status_are_those_of_the_stock_one(objects: dict[str, Path], tmp_path: Path, name: str) -> None:
    words, env = CASES[name]
    recorder(tmp_path, "fake")
    recorder(tmp_path, "failing", "echo 'the tool says no' >&2; exit 3")
    results = []
    for program in (STOCK, OURS):
        given = [listing(tmp_path, objects["a-plain"]) if w == "LIST" else w for w in words]
        done = raw(program, given, tmp_path, **env)
        results.append((done.returncode, shape(done.stdout, tmp_path), shape(done.stderr, tmp_path)))
        for line in done.stdout.split():
            Path(line).unlink()
    # Debian 13's gcc 12 looks for another file where it makes position independent programs.
    expected = (*results[0][:2], results[0][2].replace("crtoffloadtableS.o", "crtoffloadtable.o"))
    assert expected == results[1]


@pytest.mark.parametrize(("target", "package"), [("amdgcn-amdhsa", "amdgcn"), ("nvptx-none", "nvptx")])
def test_the_package_of_a_missing_device_compiler_is_named(
    objects: dict[str, Path], tmp_path: Path, target: str, package: str
) -> None:
    """That of the release that links."""
    folder = f"/nonexistent/gcc/x86_64-linux-gnu/{STOCK_MAJOR}/"
    words = [listing(tmp_path, objects["a-plain"])]
    done = raw(OURS, words, tmp_path, OFFLOAD_TARGET_NAMES=target, COMPILER_PATH=folder)
    text = f"could not find accel/{target}/mkoffload in {folder} (consider using ‘-B’): install the package "
    text += f"gcc-{STOCK_MAJOR}-offload-{package}, or leave {target} out of -foffload=\n"
    assert (done.returncode, done.stderr.splitlines(keepends=True)[0]) == (1, f"lto-wrapper: fatal error: {text}")


@pytest.mark.parametrize(
    "text",
    ["", "x\n", "2\none.o\n", "1\n", "3\na\nb\nc", "0\n"],
    ids=["empty", "word", "few", "none", "no-newline", "zero"],
)
def test_damaged_lists(tmp_path: Path, text: str) -> None:
    """One clear line; where there are no objects at all, nothing is made."""
    (tmp_path / "list").write_text(text)
    done = raw(OURS, [f"-foffload-objects={tmp_path / 'list'}"], tmp_path)
    assert "Traceback" not in done.stderr
    if text != "0\n":
        assert done.returncode == 1 and done.stderr.startswith("lto-wrapper: fatal error: ")
        assert str(tmp_path / "list") in done.stderr or "no such file" in done.stderr.lower()


def test_object_without_options_is_named(objects: dict[str, Path], tmp_path: Path) -> None:
    done = raw(OURS, [listing(tmp_path, objects["none"])], tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"lto-wrapper: fatal error: cannot read {objects['none']}: ")
    gone = raw(OURS, [listing(tmp_path, "gone.o")], tmp_path)
    assert (
        gone.stderr
        == "lto-wrapper: fatal error: cannot open gone.o: No such file or directory\ncompilation terminated.\n"
    )


def test_standard_output_order(objects: dict[str, Path], tmp_path: Path) -> None:
    """The table, images in the order of the targets, then what LTO made; nothing else."""
    recorder(tmp_path, "one")
    recorder(tmp_path, "two")
    path = f"{tmp_path}/:{os.path.dirname(STOCK)}/"
    words = ["-flinker-output=exec", listing(tmp_path, objects["a-lto"])]
    done = raw(
        OURS,
        [*words, str(objects["a-lto"])],
        tmp_path,
        check=True,
        COMPILER_PATH=path,
        OFFLOAD_TARGET_NAMES="two:one",
        TMPDIR=str(tmp_path),
    )
    lines = done.stdout.split("\n")
    assert [line.rpartition("/")[2].partition(".")[2] for line in lines] == [
        *("crtoffloadtable.o", "target.o", "target.o", "ltrans0.ltrans.o", "")
    ]
    assert Path(lines[0]).read_bytes() == (BDIR / "crtoffloadtable.o").read_bytes()
    two, one = ((tmp_path / f"{t}.words").read_text().split("\n") for t in ("two", "one"))
    assert lines[1] == two[1] and lines[2] == one[1]
    assert not (tmp_path / "list").exists()
    left = {p.name for p in tmp_path.iterdir()} - {"accel", "two.words", "one.words"}
    assert left == {Path(line).name for line in lines if line}


def test_response_file_and_verbose(objects: dict[str, Path], tmp_path: Path) -> None:
    recorder(tmp_path, "fake")
    (tmp_path / "args").write_text(join([listing(tmp_path, objects["a-plain"])]))
    done = raw(OURS, [f"@{tmp_path / 'args'}"], tmp_path, True, COLLECT_GCC_OPTIONS="'-v' '-fopenmp' '-o' 'p'")
    assert "-foffload-objects=" in done.stderr and "/accel/fake/mkoffload @" in done.stderr.replace('"', "")
    assert "-v" in (tmp_path / "fake.words").read_text().split("\n")


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("how", ["-save-temps", "-save-temps=obj", "-save-temps=cwd"])
def test_kept_files(objects: dict[str, Path], tmp_path: Path, how: str) -> None:
    """GCC's names, and the program runs; the plugin keeps its own files with the plain word only.

    Nothing stays in TMPDIR: by stock gcc the plugin's list does with =obj and =cwd, and make's file with -flto=2.
    """
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    lto = [objects["main-lto"], objects["a-lto"]]
    link(lto, tmp_path / "lto", how, "-flto=2", TMPDIR=str(scratch))
    call(tmp_path / "lto")
    link([objects["main-ours"], objects["a-ours"]], tmp_path / "prog", how, TMPDIR=str(scratch))
    no_leftovers(scratch)
    names = {p.name for p in tmp_path.iterdir()}
    for name in (f"x{TARGET}.s", f"x{TARGET}.mkoffload"):
        assert f"prog.{name}" in names
    if how == "-save-temps":
        assert {"prog.crtoffloadtable.o", f"prog.x{TARGET}.o", "prog.ofldlist", "prog.lto_wrapper_args"} <= names
    call(tmp_path / "prog")


def test_nothing_is_left_behind(objects: dict[str, Path], tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    for names in (("main-ours", "a-ours"), ("main-lto", "a-lto"), ("main-ours", "a-plain")):
        link([objects[n] for n in names], tmp_path / "prog", TMPDIR=str(scratch))
    link([objects["main-ours"]], tmp_path / "prog", check=False, TMPDIR=str(scratch))
    bad = compile_c("int nothere(int); " + REGION.format("a").replace("x += 1", "x += nothere(x)"), tmp_path / "b.o")
    failed = link([objects["main-ours"], bad], tmp_path / "prog", check=False, TMPDIR=str(scratch))
    assert failed.returncode
    no_leftovers(scratch)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_it_cleans_up_and_dies_of_the_signal(objects: dict[str, Path], tmp_path: Path, number: int) -> None:
    """While a mkoffload runs: it is ended too, and no file stays."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    pid = shlex.quote(str(tmp_path / "pid"))
    recorder(tmp_path, "slow", f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 60")
    env = environment(
        COLLECT_GCC="gcc",
        COLLECT_GCC_OPTIONS="'-o' 'prog'",
        COMPILER_PATH=f"{tmp_path}/",
        OFFLOAD_TARGET_NAMES="slow",
        TMPDIR=str(scratch),
    )
    words = [str(OURS), listing(tmp_path, objects["a-plain"])]
    process = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    deadline = time.monotonic() + 50
    while not (tmp_path / "pid").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    child = int((tmp_path / "pid").read_text())
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == -number and output == b"" and b"Traceback" not in errors
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    no_leftovers(scratch)


def test_host_lto_keeps_stock_names_and_options(objects: dict[str, Path], tmp_path: Path) -> None:
    """-save-temps of an LTO link: GCC's names, and our records in the first partition."""
    link([objects["main-lto"], objects["a-lto"]], tmp_path / "prog", "-flto", "-save-temps", "-O2")
    names = {p.name for p in tmp_path.iterdir()}
    assert {"prog.ltrans0.ltrans.o", "prog.ltrans.out", "prog.res", f"prog.x{TARGET}.o"} <= names
    assert [r[:3] for r in Program(tmp_path / "prog").records()] == [(0, 1, 0)]


def test_relocatable_output_makes_no_image(objects: dict[str, Path], tmp_path: Path) -> None:
    """-r: the device code stays in the output, and the image comes with the final link (once)."""
    whole = tmp_path / "whole.o"
    call(
        "gcc",
        "-B",
        BDIR,
        "-foffload=disable",
        "-nostdlib",
        "-r",
        objects["a-ours"],
        objects["main-ours"],
        "-o",
        whole,
        OFFLOAD_TARGET_NAMES=TARGET,
    )
    assert "GOMP_offload_register_ver" not in call("nm", whole).stdout
    link([whole], tmp_path / "prog")
    program = Program(tmp_path / "prog")
    assert program.host_tables() == program.image_tables() == (["a._omp_fn.0"], [])
    call(tmp_path / "prog")


def test_options_for_a_target_reach_that_target_only(objects: dict[str, Path], tmp_path: Path) -> None:
    """The emulated device beside another target, whose mkoffload is a program of its own."""
    recorder(tmp_path, "fake")
    line = f"'-v' '-fopenmp' '-o' 'prog' '-foffload-options=fake=-lfake' '-foffload-options={TARGET}=-O3 -lm'"
    done = raw(
        OURS,
        [listing(tmp_path, objects["a-ours"])],
        tmp_path,
        True,
        COLLECT_GCC_OPTIONS=line,
        COMPILER_PATH=f"{BDIR}/:{tmp_path}/",
        OFFLOAD_TARGET_NAMES=f"fake:{TARGET}",
    )
    words = (tmp_path / "fake.words").read_text().split("\n")
    assert "-lfake" in words and "-O3" not in words
    shown = next(x for x in done.stderr.split("\n") if f"{TARGET}/mkoffload" in x and " -o " in x)
    assert shown.split()[-2:] == ["-O3", "-lm"] and "-lfake" not in shown
    assert len(done.stdout.splitlines()) == 3
    for name in done.stdout.splitlines():
        Path(name).unlink()


def test_without_the_plugin_it_says_so(tmp_path: Path) -> None:
    done = raw(OURS, [], tmp_path)
    assert done.returncode == 1 and "need the linker plugin" in done.stderr


def test_stock_wrapper_calls_our_mkoffload(objects: dict[str, Path], tmp_path: Path) -> None:
    """Without our lto-wrapper in the way: the mkoffload is a program of its own."""
    folder = tmp_path / "b"
    folder.mkdir()
    (folder / "accel").symlink_to(BDIR / "accel")
    for name in ("crtoffloadbegin.o", "crtoffloadend.o", "crtoffloadtable.o"):
        (folder / name).symlink_to(BDIR / name)
    call(
        "gcc",
        "-B",
        folder,
        "-foffload=disable",
        "-fopenmp",
        objects["main-ours"],
        objects["a-ours"],
        "-o",
        "prog",
        cwd=tmp_path,
        OFFLOAD_TARGET_NAMES=TARGET,
    )
    program = Program(tmp_path / "prog")
    assert program.image_tables() == (["a._omp_fn.0"], [])
    call(tmp_path / "prog")


def mends(release: int) -> str:
    """What the message about an object of that release ends in."""
    if release in SUPPORTED:
        return f"this link is gcc {STOCK_MAJOR}'s, which reads no other's device code: compile all objects with one gcc"
    last = f"or with gcc-{SUPPORTED[-1]}"
    return f"gompy links and runs device code of {NAMED} only: compile it with gompcc, {last}"


@pytest.mark.slow(sample=13)
@pytest.mark.parametrize("release", [11, *(n for n in SUPPORTED if n != STOCK_MAJOR), 99])
@pytest.mark.parametrize("mode", ["ours", "lto", "plain"])
def test_object_of_another_gcc_is_refused(objects: dict[str, Path], tmp_path: Path, mode: str, release: int) -> None:
    """Its streams tell the release; nothing reads on in a form that it does not know."""
    data = bytearray(objects[f"a-{mode}"].read_bytes())
    file = elf(bytes(data))
    for section in file.iter_sections():
        if ".lto." in section.name:
            struct.pack_into("<h", data, section["sh_offset"], release)
    other = tmp_path / "other.o"
    other.write_bytes(data)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = link([other, objects["main-ours"]], tmp_path / "prog", check=False, TMPDIR=str(scratch))
    assert done.returncode != 0
    text = f"lto-wrapper: fatal error: other.o: compiled by gcc {release}; {mends(release)}\n"
    assert done.stderr.startswith(text), done.stderr
    assert not (tmp_path / "prog").exists()
    no_leftovers(scratch)

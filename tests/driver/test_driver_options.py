"""The command line as gcc reads it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from driver_tools import ROOT, Tools, environment, has_all, needs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gompy.abi.gcc import NAMED, SUPPORTED
from gompy.driver import offload, options, plan
from gompy.driver.compiler import (
    C,
    Compiler,
    Facts,
    Unanswered,
    ask,
    chosen,
    fit,
    read_version,
    targets,
    together,
    which,
)
from gompy.driver.errors import DriverError
from gompy.driver.main import response_file
from gompy.objects.names import TARGET_INTELMIC
from gompy.tools.response import split

FEW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize(
    ("line", "sources", "inputs", "stop"),
    [
        ("-c a.c", ["a.c"], [], "-c"),
        ("-o x.c a.o", [], ["a.o"], ""),
        ("-I a.c -include b.c -D c.c -x c d.o", ["d.o"], [], ""),
        ("-x c a -x none b.o c.f90", ["a", "c.f90"], ["b.o"], ""),
        ("-xc - -S", ["-"], [], "-S"),
        ("-S -c a.c", ["a.c"], [], "-S"),
        ("-c -S a.c", ["a.c"], [], "-S"),
        ("a.c -lm -l gomp libx.a", ["a.c"], ["-lm", "-lgomp", "libx.a"], ""),
        ("-MF a.c -MT b.c -MQ c.c -MD d.cc", ["d.cc"], [], ""),
        ("--language c++ x --output y.c", ["x"], [], ""),
        ("-L a.c -B b.c -T c.ld -u main -z now -Xlinker a.c d.F90", ["d.F90"], [], ""),
        ("-wrapper a.c,b.c --param x=1 -aux-info i.c e.c", ["e.c"], [], ""),
    ],
)
def test_inputs(line: str, sources: list[str], inputs: list[str], stop: str) -> None:
    parsed = options.parse(line.split())
    assert (parsed.sources, parsed.linker_inputs, parsed.stop) == (sources, inputs, stop)


def test_models_last_one_wins() -> None:
    assert options.parse(["-fopenmp", "a.c"]).openmp
    assert not options.parse(["-fopenmp", "-fno-openmp", "a.c"]).offloads
    assert options.parse(["-fno-openmp", "--openmp", "a.c"]).openmp
    assert not options.parse(["-fopenmp-simd", "a.c"]).offloads
    assert options.parse(["-fno-openmp", "-fopenacc", "a.c"]).openacc
    assert not options.parse(["-Xpreprocessor", "-fopenmp", "a.c"]).offloads


def test_assembler_and_headers() -> None:
    line = options.parse(["a.s", "b.S", "x.h", "-x", "assembler", "-"])
    assert line.assembler == ["a.s", "b.S", "-"]
    assert line.headers == ["x.h"]
    assert not options.parse(["-fopenmp", "x.h"]).links
    assert options.parse(["-x", "c++-header", "y"]).headers == ["y"]


def test_lto_and_kinds_of_link() -> None:
    assert options.parse(["-flto=4", "a.c"]).lto is True
    assert options.parse(["-flto", "-fno-lto"]).lto is False
    assert options.parse(["-c", "a.c"]).lto is None
    assert options.parse(["-r", "a.o"]).relocatable
    assert options.parse(["-Wl,-z,now,-r", "a.o"]).relocatable
    assert not options.parse(["-Wl,-rpath,x", "a.o"]).relocatable
    assert options.parse(["-static-pie", "a.o"]).static
    assert not options.parse(["-static-libgcc", "a.o"]).static


def test_libgomp_archive() -> None:
    for words in (["-Wl,-Bstatic", "-lgomp"], ["-Wl,-Bstatic,-lm", "-l", "gomp"], ["-Xlinker", "-dn", "-lgomp"]):
        assert options.parse(["a.o", *words]).libgomp_archive
    assert options.parse(["-l:libgomp.a"]).libgomp_archive and options.parse(["/x/libgomp.a"]).libgomp_archive
    for words in (["-Wl,-Bstatic", "-lm", "-Wl,-Bdynamic", "-lgomp"], ["-lgomp"], ["libgomp.so.1"]):
        assert not options.parse(["a.o", *words]).libgomp_archive


@pytest.mark.parametrize("word", ["--version", "-dumpmachine", "-print-search-dirs", "--print-file-name=x", "--help=x"])
def test_queries(word: str) -> None:
    assert options.parse(["-fopenmp", word]).query


WORD = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=8)


@needs("gcc")
@FEW
@given(st.lists(st.text("ab '\"\\\n\t", min_size=1, max_size=6).map(lambda text: "w" + text), min_size=1, max_size=5))
def test_response_files_as_gcc_reads_them(tmp_path: Path, pieces: list[str]) -> None:
    """gcc names each input of its @file that does not exist: its libiberty's view of the words (binutils' differs)."""
    text = " ".join(pieces)
    words = split(text)
    if any("\n" in word or word.startswith(("-", "@")) or not word for word in words):
        return
    (tmp_path / "rsp").write_text(text)
    done = subprocess.run(
        ["gcc", "-c", "@rsp"], cwd=tmp_path, env=environment(LC_ALL="C"), capture_output=True, text=True
    )
    said = [line for line in done.stderr.splitlines() if line.startswith("gcc: error: ")]
    assert said == [f"gcc: error: {word}: linker input file not found: No such file or directory" for word in words]


def test_response_files_nested_and_missing(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.write_text("-fopenmp 'a b.c'")
    outer.write_text(f"-c '@{inner}' '@{tmp_path}/none'\n")
    line = options.parse(["-O2", f"@{outer}"])
    assert [word.text for word in line.words] == ["-O2", "-c", "-fopenmp", "a b.c", f"@{tmp_path}/none"]
    assert line.openmp
    assert line.sources == ["a b.c"]


def test_response_file_that_names_itself_ends(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.write_text(f"-c @{loop}")
    assert options.parse([f"@{loop}"]).stop == "-c"


def test_rebuild_keeps_response_files_that_do_not_change(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("a.c b.c")
    two.write_text("-fno-lto c.c")
    line = options.parse([f"@{one}", "-c", f"@{two}"])
    kept = [None if word.text == "-fno-lto" else word.text for word in line.words]
    assert options.rebuild(line, kept) == [f"@{one}", "-c", "c.c"]


# --- -foffload= -------------------------------------------------------------------------------------------------------

STOCK = ["nvptx-none", "amdgcn-amdhsa"]


def select(*words: str) -> offload.Selection:
    return offload.select(list(words), lambda: STOCK)


def stock_facts() -> Facts:
    return ask(Compiler(which("gcc"), ["gcc"]))


def test_no_choice_is_the_emulated_device() -> None:
    assert select("-c").names == [TARGET_INTELMIC]
    assert select("-foffload=nvptx-none", "-foffload=default").names == [TARGET_INTELMIC]


def test_targets_in_order_of_first_mention() -> None:
    chosen = select("-foffload=intelmic,nvptx-none", f"-foffload={TARGET_INTELMIC}", "-foffload=amdgcn-amdhsa")
    assert chosen.names == [TARGET_INTELMIC, "nvptx-none", "amdgcn-amdhsa"]
    assert chosen.kept == [None, None, None]


def test_options_for_all_stay_with_gcc() -> None:
    chosen = select("-foffload=-lm", "-foffload-options=-O3 -ffast-math")
    assert chosen.kept == ["-foffload-options=-lm", "-foffload-options=-O3 -ffast-math"]
    assert chosen.device_options == []
    assert chosen.names == [TARGET_INTELMIC]


def test_options_for_one_target() -> None:
    chosen = select("-foffload=nvptx-none,intelmic=-O1 -lm", "-foffload-options=nvptx-none=-misa=sm_35")
    assert chosen.kept == ["-foffload-options=nvptx-none=-O1 -lm", "-foffload-options=nvptx-none=-misa=sm_35"]
    assert chosen.device_options == ["-O1 -lm"]
    assert chosen.names == ["nvptx-none", TARGET_INTELMIC]


def test_later_options_for_all_come_after_those_for_the_device() -> None:
    chosen = select("-foffload-options=-O1", "-foffload-options=intelmic=-O2", "-foffload-options=-O3")
    assert chosen.device_options == ["-O2", "-O3"]


def test_disable() -> None:
    assert select("-foffload=disable").names == []
    assert select("-foffload=intelmic", "-foffload=disable,nonsense").names == []
    assert select("-foffload=disable", "-foffload=intelmic").names == [TARGET_INTELMIC]


@needs("gcc")
@FEW
@given(st.lists(st.lists(st.sampled_from([*STOCK, "default", "disable"]), min_size=1, max_size=4), max_size=4))
def test_lists_as_gcc_reads_them(tmp_path: Path, lists: list[list[str]]) -> None:
    known = stock_facts().targets
    if not set(STOCK) <= set(known):
        pytest.skip("gcc is not configured for these targets")
    words = [f"-foffload={','.join(names)}" for names in lists]
    command = ["gcc", "-v", "-###", "-fopenmp", "none.o", *words]
    done = subprocess.run(command, cwd=tmp_path, env=environment(LC_ALL="C"), capture_output=True, text=True)
    line = [text for text in done.stderr.splitlines() if text.startswith("OFFLOAD_TARGET_NAMES=")][-1:]
    theirs = [name for name in line[0].split("=")[1].split(":") if name] if line else []
    chosen = offload.select(words, lambda: known)
    if chosen.targets is None and not chosen.disabled:
        assert theirs == known  # gcc's default is all, ours is the emulated device
    else:
        assert chosen.names == theirs


MISTAKES = [
    "-foffload=foo",
    "-foffload=nvptx",
    "-foffload=nvptx_none",
    "-foffload=nvptx-noen",
    "-foffload=NVPTX-NONE",
    "-foffload=amdgcn",
    "-foffload=disabel",
    "-foffload=nvptx-none,,amdgcn-amdhsa",
    "-foffload=foo=-O2",
    "-foffload-options=foo=-O2",
    "-foffload-options=foo,bar=-O2",
    "-foffload-options=default=-O2",
    "-foffload-options=nvptx-none",
]


@needs("gcc")
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize("word", MISTAKES)
def test_mistakes_in_gcc_s_words(tmp_path: Path, word: str, locale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same lines, the emulated device added to the list of what there is."""
    monkeypatch.setenv("LC_ALL", locale)
    command = ["gcc", "-fopenmp", "-c", "-x", "c", "/dev/null", "-o", "/dev/null", word]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=tmp_path)
    assert done.returncode == 1
    chosen = offload.select([word], lambda: stock_facts().targets)
    ours = []
    for error in chosen.errors:
        ours += [f"gcc: error: {error.message}", *(f"gcc: note: {note}" for note in error.notes)]
    text = "\n".join(ours).replace(f" {TARGET_INTELMIC} ", " ")
    assert text.splitlines() == done.stderr.splitlines()


def test_hint_for_our_target() -> None:
    (error,) = select("-foffload=x86_64-intelmicemul-linux-gun").errors
    assert f"did you mean {TARGET_INTELMIC!r}" in error.notes[0].replace("‘", "'").replace("’", "'")


# --- which compiler ---------------------------------------------------------------------------------------------------


def fake(folder: Path, name: str, version: str, targets: str) -> Path:
    """A compiler that answers -v."""
    path = folder / name
    lines = [f"gcc version {version} (Fake)"] if version else ["clang version 14.0.0"]
    if targets:
        lines.insert(0, f"OFFLOAD_TARGET_NAMES={targets}")
    path.write_text("#!/bin/sh\n" + "".join(f"echo '{line}' >&2\n" for line in lines))
    path.chmod(0o755)
    return path


@pytest.fixture
def path_of_fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("GOMPY_CC", raising=False)
    return folder


def test_default_compiler_is_taken_if_it_will_do(path_of_fakes: Path) -> None:
    fake(path_of_fakes, "gcc", "12.3.0", "nvptx-none")
    fake(path_of_fakes, "gcc-12", "12.2.0", "nvptx-none")
    command, known = fit(C)
    assert (command.words, known.version, known.targets) == (["gcc"], "12.3.0", ["nvptx-none"])


def test_a_home_that_is_not_there_is_not_made(path_of_fakes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what looks for one, as useradd does with /nonexistent, finds it there after root's first compilation."""
    fake(path_of_fakes, "gcc", "12.3.0", "nvptx-none")
    monkeypatch.delenv("XDG_CACHE_HOME")
    home = path_of_fakes.parent / "home"
    monkeypatch.setenv("HOME", str(home))
    assert fit(C)[1].version == "12.3.0"
    assert not home.exists()
    home.mkdir()
    assert fit(C)[1].version == "12.3.0"
    assert (home / ".cache/gompy/compilers").is_file()


@pytest.mark.parametrize("version", ["17.0.1", "18.2.0"])
def test_newer_default_gives_way(path_of_fakes: Path, version: str) -> None:
    fake(path_of_fakes, "gcc", version, "nvptx-none")
    fake(path_of_fakes, "gcc-12", "12.4.0", "nvptx-none")
    assert fit(C)[0].words == ["gcc-12"]
    assert chosen(C).words == ["gcc-12"]  # all commands of a build go to one compiler


@pytest.mark.parametrize("release", SUPPORTED)
def test_each_supported_release_is_taken(path_of_fakes: Path, release: int) -> None:
    """As the default one; and of several with numbers, where the default one will not do, the newest."""
    fake(path_of_fakes, "gcc", f"{release}.2.0", "nvptx-none")
    fake(path_of_fakes, "gcc-12", "12.4.0", "nvptx-none")
    assert fit(C)[0].words == chosen(C).words == ["gcc"]
    fake(path_of_fakes, "gcc", "99.1.0", "nvptx-none")
    fake(path_of_fakes, f"gcc-{release}", f"{release}.1.0", "nvptx-none")
    assert fit(C)[0].words == [f"gcc-{release}"]


def test_newer_default_behind_ccache_gives_way(path_of_fakes: Path) -> None:
    """Every compiler is a link to ccache there: their files are one."""
    (path_of_fakes / "ccache").write_text(
        "#!/bin/sh\ncase $0 in *-12) version=12.4.0;; *) version=17.2.0;; esac\n"
        'echo OFFLOAD_TARGET_NAMES=nvptx-none >&2\necho "gcc version $version (Fake)" >&2\n'
    )
    (path_of_fakes / "ccache").chmod(0o755)
    for name in ("gcc", "gcc-12"):
        (path_of_fakes / name).symlink_to("ccache")
    assert fit(C)[0].words == ["gcc-12"]


def test_release_is_in_the_name(path_of_fakes: Path, tmp_path: Path) -> None:
    """A file named as distributions do is not asked for its version: plain commands cost no process."""
    log = tmp_path / "log"
    path = fake(path_of_fakes, "x86_64-linux-gnu-gcc-17", "17.2.0", "nvptx-none")
    path.write_text(path.read_text() + f"echo asked >> '{log}'\n")
    (path_of_fakes / "gcc").symlink_to(path.name)
    assert chosen(C).words == ["gcc"]
    fake(path_of_fakes, "gcc-12", "12.4.0", "nvptx-none")
    assert chosen(C).words == ["gcc-12"]
    assert not log.exists()


def test_newer_compiler_alone_is_refused(path_of_fakes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(path_of_fakes, "gcc", "17.2.0", "nvptx-none")
    assert chosen(C).words == ["gcc"]  # what does not offload is compiled by it
    text = rf"gcc. is gcc 17\.2\.0, .*; offloading needs {NAMED}, .*: install gcc-{SUPPORTED[-1]}, or"
    with pytest.raises(DriverError, match=text):
        fit(C)
    fake(path_of_fakes, "gcc-12", "12.4.0", "nvptx-none")
    monkeypatch.setenv("GOMPY_CC", "gcc")
    with pytest.raises(DriverError, match=r"is gcc 17\.2\.0, .*: set GOMPY_CC to one, or unset it"):
        fit(C)


@pytest.mark.parametrize(("version", "targets"), [("11.4.0", "nvptx-none"), ("", ""), ("12.3.0", "")])
def test_versioned_compiler_steps_in(path_of_fakes: Path, version: str, targets: str) -> None:
    fake(path_of_fakes, "gcc", version, targets)
    fake(path_of_fakes, "gcc-12", "12.2.0", "nvptx-none")
    assert fit(C)[0].words == ["gcc-12"]
    assert chosen(C).words == ["gcc"]  # for all that is not offloading


@pytest.mark.parametrize(
    ("version", "targets", "words"),
    [("11.4.0", "a", "is gcc 11.4.0"), ("", "", "is not gcc"), ("12.3.0", "", "without --enable-offload-targets")],
)
def test_compiler_that_will_not_do_is_named(path_of_fakes: Path, version: str, targets: str, words: str) -> None:
    fake(path_of_fakes, "gcc", version, targets)
    with pytest.raises(DriverError, match=words):
        fit(C)


def test_named_compiler_is_not_replaced(path_of_fakes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(path_of_fakes, "gcc-12", "12.2.0", "nvptx-none")
    monkeypatch.setenv("GOMPY_CC", str(fake(path_of_fakes, "old", "9.1.0", "nvptx-none")))
    with pytest.raises(DriverError, match=r"is gcc 9\.1\.0"):
        fit(C)


def test_named_compiler_with_arguments(path_of_fakes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fake(path_of_fakes, "mygcc", "12.1.0", "nvptx-none")
    monkeypatch.setenv("GOMPY_CC", "mygcc -pipe '-DA=b c'")
    command = chosen(C)
    assert command.words == ["mygcc", "-pipe", "-DA=b c"]
    assert command.path == str(path)


def test_nothing_there(path_of_fakes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"no gcc and no gcc-12 to gcc-{SUPPORTED[-1]} in PATH: install gcc, or set GOMPY_CC"
    with pytest.raises(DriverError, match=text):
        chosen(C)
    monkeypatch.setenv("GOMPY_CC", "nosuch")
    with pytest.raises(DriverError, match="GOMPY_CC: no such compiler"):
        chosen(C)


def test_wrappers_do_not_find_themselves(path_of_fakes: Path) -> None:
    (path_of_fakes / "gompcc").write_text("#!/bin/sh\n")
    (path_of_fakes / "gompcc").chmod(0o755)
    (path_of_fakes / "gcc").symlink_to("gompcc")
    assert which("gcc") == ""


def test_answers_are_kept_until_the_compiler_changes(path_of_fakes: Path, tmp_path: Path) -> None:
    path = fake(path_of_fakes, "gcc", "12.2.0", "nvptx-none")
    assert fit(C)[1].version == "12.2.0"
    cache = tmp_path / "cache/gompy/compilers"
    assert "12.2.0\tnvptx-none" in cache.read_text()
    cache.write_text(cache.read_text().replace("12.2.0\t", "12.9.9\t"))
    assert fit(C)[1].version == "12.9.9"
    fake(path_of_fakes, "gcc", "12.20.0", "nvptx-none")
    assert path.exists()
    assert fit(C)[1].version == "12.20.0"
    assert len(cache.read_text().splitlines()) == 1
    cache.write_bytes(b"\xff\0garbage\n")
    assert fit(C)[1].version == "12.20.0"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("", "cannot be run: Exec format error"),
        ("#!/bin/sh\nkill -9 $$\n", "has ended by signal 9 when asked -v"),
        (
            "#!/bin/sh\necho 'gcc: 1: exec: gcc-99: not found' >&2\nexit 127\n",
            r"has ended with status 127 \(gcc: 1: exec: gcc-99: not found\) when asked -v",
        ),
        ("#!/bin/sh\nexit 126\n", "has ended with status 126 when asked -v"),
    ],
)
def test_compiler_that_says_nothing_is_asked_again(path_of_fakes: Path, script: str, told: str) -> None:
    """What it lacked, another run may have, as a process more, or memory."""
    path = path_of_fakes / "gcc"
    path.write_text(script or "no program")
    path.chmod(0o755)
    before = path.stat()
    with pytest.raises(DriverError, match=f"^‘gcc’ {told}$"):
        fit(C)
    fake(path_of_fakes, "gcc", "12.2.0", "nvptx-none")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert fit(C)[1].version == "12.2.0"


@pytest.mark.parametrize("how", ["kill -9 $$", "exit 127", "exit 1"])
def test_no_other_release_steps_in_for_one_that_fails(path_of_fakes: Path, how: str) -> None:
    """Killed once, for lack of memory: the objects of this command would be another release's than those before."""
    for name, version in (("gcc", "13.2.0"), ("gcc-12", "12.2.0")):
        fake(path_of_fakes, name, version, "nvptx-none")
    (path_of_fakes / "gcc").write_text(f"#!/bin/sh\n{how}\n")
    for question in (lambda: fit(C), lambda: chosen(C), lambda: targets(C), together):
        with pytest.raises(Unanswered) as told:
            question()
        assert told.value.notes == ("try again, or set GOMPY_CC",)


def test_one_that_fails_is_asked_once(path_of_fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command has several questions; each would wait for an answer as long again."""
    log = tmp_path / "log"
    path = fake(path_of_fakes, "gcc", "", "")
    path.write_text(f"#!/bin/sh\necho asked >> '{log}'\nexit 3\n")
    for _ in range(2):
        with pytest.raises(Unanswered):
            targets(C)
        with pytest.raises(Unanswered):
            fit(C)
    assert log.read_text() == "asked\n"
    monkeypatch.setenv("GOMPY_CC", "gcc")
    with pytest.raises(Unanswered) as told:
        fit(C)
    assert told.value.notes == ("try again, or change GOMPY_CC",)


@needs("gcc")
def test_real_gcc_s_answer() -> None:
    text = subprocess.run(["gcc", "-v"], capture_output=True, text=True, env=environment(LC_ALL="C")).stderr
    known = read_version(text)
    full = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True).stdout.strip()
    assert known.version == full


# --- long lines -------------------------------------------------------------------------------------------------------


@FEW
@given(st.lists(st.text("ab '\"\\\n\t-@é", max_size=8), max_size=8))
def test_words_survive_the_response_file_in_memory(words: list[str]) -> None:
    name = response_file(words)
    handle = int(name.rpartition("/")[2])
    try:
        with open(name[1:], "rb") as file:
            assert split(file.read().decode()) == words
    finally:
        os.close(handle)


def test_start_imports_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these would cost every compile milliseconds."""
    script = (
        "import os, sys; before = set(sys.modules); from gompy.driver import compiler, main, plan\n"
        "plan.make(compiler.C, ['-fopenmp', '-O2', '-c', 'a.c', '-foffload=intelmic=-O1']); "
        "plan.make(compiler.C, ['-fopenmp', 'a.o', '-o', 'prog', '-lm'])\n"
        "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('gompy')))"
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # who has no home has none
    plain = [sys.executable, "-I", "-S", "-c"]
    subprocess.run([*plain, f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{script}"], check=True)  # fills the cache
    done = subprocess.run(
        [*plain, f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{script}"], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) <= {"__future__"}


def test_version_with_a_model_does_not_name_the_stock_targets() -> None:
    """GCC's check_effective_target_offload_target_nvptx reads ``-v`` with all options and no source."""
    text = "import sys; sys.argv = ['gompcc', '-v', '-fopenmp']; from gompy.driver.main import gompcc; gompcc()"
    ours = subprocess.run(
        [sys.executable, "-c", text], env=environment(LC_ALL="C", PYTHONPATH=str(ROOT)), capture_output=True, text=True
    )
    assert ours.returncode == 0
    assert not [line for line in ours.stderr.splitlines() if line.startswith("OFFLOAD_TARGET_NAMES=")]
    stock = subprocess.run(["gcc", "-v", "-fopenmp"], env=environment(LC_ALL="C"), capture_output=True, text=True)
    assert stock.stderr.splitlines()[-1] == ours.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("release", "source", "options"),
    [
        (12, "x.c", []),
        (14, "x.c", []),
        (15, "x.c", ["-fno-builtin-omp_is_initial_device"]),
        (15, "x.f90", ["-fno-builtin-omp_is_initial_device"]),
        (16, "x.f90", ["-fno-builtin-omp_is_initial_device"]),
    ],
)
def test_calls_that_a_release_would_answer_stay_calls(
    path_of_fakes: Path, release: int, source: str, options: list[str]
) -> None:
    """GCC 15's compilers fold omp_is_initial_device to the host's answer in an image made from host streams."""
    fake(path_of_fakes, "gcc", f"{release}.2.0", "nvptx-none")
    words = plan.make(C, ["-fopenmp", "-c", source]).argv
    assert [word for word in words if word.startswith("-fno-builtin-omp")] == options
    words = plan.make(C, ["-fopenmp", "-foffload=nvptx-none", "-c", source]).argv
    assert not any("fno-builtin" in word for word in words)


def test_one_gcc_for_three_languages(path_of_fakes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The defaults; where one is missing or of another release, the newest release that has all three."""
    for variable in ("GOMPY_CXX", "GOMPY_FC"):
        monkeypatch.delenv(variable, raising=False)
    fake(path_of_fakes, "gcc", "14.2.0", "nvptx-none")
    fake(path_of_fakes, "g++", "14.2.0", "nvptx-none")
    with pytest.raises(DriverError, match=r"no gfortran and no gfortran-12 to gfortran-16"):
        together()
    for name in ("gcc", "g++", "gfortran"):
        fake(path_of_fakes, f"{name}-13", "13.3.0", "nvptx-none")
    version, variables = together()
    assert version == "13.3.0"
    assert variables["GOMPY_FC"] == str(path_of_fakes / "gfortran-13")
    fake(path_of_fakes, "gfortran", "14.2.0", "nvptx-none")
    assert together() == ("14.2.0", {})


@has_all
@needs("gcc", "g++", "gfortran")
@pytest.mark.parametrize(("program", "stock"), [("gompcc", "gcc"), ("gompc++", "g++"), ("gompfortran", "gfortran")])
def test_help_says_what_is_ours_and_then_what_gcc_says(
    bin_folder: Path, tmp_path: Path, program: str, stock: str
) -> None:
    tools = Tools(bin_folder, tmp_path)
    said = tools.ok(program, "--help")
    assert said.startswith(f"{program} is {stock} with offloading")
    assert "-foffload=intelmic" in said.partition("itself says:")[0] and "Usage: " in said.partition("itself says:")[2]

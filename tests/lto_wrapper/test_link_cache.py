"""Links that were made before: answered without a Python, and only if nothing that had a part in them has changed."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from driver_tools import ROOT, environment
from link_tools import built, compile_c, link

from gompy.accel import host, loops, packages
from gompy.tools import entries
from lto_wrapper import entry

pytestmark = built

REGION = """
int {0}(int x)
{{
#pragma omp target map(tofrom: x)
  x += {1};
  return x;
}}
"""
LOOP = """
int a(int n)
{
  int x[50] = { 0 };
#pragma omp target map(tofrom: x)
  for (int i = 0; i < n; i++)
    x[i] = 1 + i;
  return x[n - 1];
}
"""
GOMPCC = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from gompy.driver.main import gompcc; sys.exit(gompcc())"
MAIN = "int a(int); int main(void) { return a(41) - 42; }\n"


class Links:
    """Links of two objects in a folder, with a cache of their own and a Python that counts its starts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache" / "gompy" / "links"
        self.log = folder / "starts"
        self.python = folder / "python"
        log, python = shlex.quote(str(self.log)), shlex.quote(sys.executable)
        self.python.write_text(f'#!/bin/sh\necho >>{log}\nexec {python} "$@"\n')
        self.python.chmod(0o755)
        self.first = folder / "bin"
        self.first.mkdir()
        self.objects = [compile_c(MAIN, folder / "main.o"), compile_c(REGION.format("a", 1), folder / "a.o")]
        self.settle()

    def settle(self) -> None:
        """Let what is there become older than a tick of the clock."""
        time.sleep(2 * entries.SETTLED / 1e9)

    def starts(self) -> int:
        """How many Pythons have been started for links."""
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def entries(self) -> list[Path]:
        """What is kept."""
        return sorted(self.cache.iterdir()) if self.cache.exists() else []

    def link(self, *options: str, check: bool = True, **env: str) -> tuple[bool, bytes, str]:
        """Link: whether a Python was started, the program, and what was said."""
        before, output = self.starts(), self.folder / "prog"
        output.unlink(missing_ok=True)
        env.setdefault("XDG_CACHE_HOME", str(self.folder / "cache"))
        env |= {"GOMPY_PYTHON": str(self.python), "PATH": f"{self.first}:{os.environ['PATH']}"}
        env |= {"XDG_DATA_HOME": str(self.folder), "XDG_DATA_DIRS": str(self.folder), "TMPDIR": str(self.folder)}
        done = link(list(self.objects), output, *options, check=check, **env)
        return self.starts() > before, output.read_bytes(), done.stderr


@pytest.fixture
def links(tmp_path: Path) -> Links:
    """Links in an empty folder."""
    return Links(tmp_path)


def test_the_same_link_starts_no_python(links: Links) -> None:
    """Its output is the same, byte by byte, and no file is left."""
    first, program, _ = links.link()
    names = set(os.listdir(links.folder))
    assert first and len(links.entries()) == 1
    assert links.link() == (False, program, "")
    assert set(os.listdir(links.folder)) == names
    assert links.cache.stat().st_mode & 0o777 == 0o700 and links.entries()[0].stat().st_mode & 0o777 == 0o600


def test_a_link_with_a_blank_in_tmpdir(tmp_path: Path) -> None:
    """It is kept as any other."""
    folder = tmp_path / "a b"
    folder.mkdir()
    links = Links(folder)
    first, program, _ = links.link()
    assert first and links.link() == (False, program, "")


def test_another_object_another_link(links: Links) -> None:
    """By contents, not by time: what comes back is found again."""
    source = links.folder / "a.c"
    _, program, _ = links.link()
    compile_c(REGION.format("a", 2), links.objects[1])
    links.settle()
    again, other, _ = links.link()
    assert again and other != program
    compile_c(REGION.format("a", 1), links.objects[1])
    assert source.exists() and links.link() == (False, program, "")


def test_other_options_another_link(links: Links) -> None:
    """The device code is compiled by them."""
    links.link("-O1")
    assert links.link("-O3")[0] and not links.link("-O1")[0] and not links.link("-O3")[0]


def assembler(links: Links) -> None:
    """Another assembler comes first in the PATH."""
    (links.first / "as").write_text('#!/bin/sh\nexec /usr/bin/as "$@"\n')
    (links.first / "as").chmod(0o755)


def accelerator(links: Links) -> None:
    """There is a folder with accelerator compilers."""
    (links.folder / "gompy" / "accel").mkdir(parents=True)


@pytest.mark.parametrize("change", [assembler, accelerator])
def test_a_part_has_changed(links: Links, change: Callable[[Links], None]) -> None:
    """What was missing, and is there now, would have been taken."""
    links.link()
    assert not links.link()[0]
    change(links)
    assert links.link()[0]


def plugin_store(folder: Path) -> Path:
    """A store with the plugin for -foffload-check; its file."""
    if not packages.plugin_headers(host.choose()) or not packages.cxx():
        pytest.skip("no headers for plugins of this gcc")
    store = folder / "gompy" / "accel"
    return Path(loops.build(host.choose(), store, lambda text: None).loops)


@pytest.mark.slow
def test_a_plugin_of_the_store_is_a_part(links: Links) -> None:
    """Links that take it are kept; another one in its place, and none, are other links."""
    check = "-foffload-options=-foffload-check"
    plugin = plugin_store(links.folder)
    compile_c(LOOP, links.objects[1])
    links.settle()
    _, program, _ = links.link(check)
    assert links.link(check) == (False, program, "")
    assert links.link()[0] and not links.link()[0]
    data = plugin.read_bytes()
    plugin.unlink()
    links.settle()
    assert links.link(check)[0]  # with the plugin that make has built
    again, without, _ = links.link(check, GOMPY_CHECK_PLUGIN="0")
    assert again and without != program
    plugin.write_bytes(data)
    plugin.chmod(0o755)
    links.settle()
    assert links.link(check)[:2] == (True, program)


def test_a_link_that_says_something_says_it_again(links: Links) -> None:
    """Warnings are not lost."""
    links.objects.append(compile_c(REGION.format("b", 1), links.folder / "b.o", "plain"))
    links.settle()
    said = [links.link()[::2] for _ in range(2)]
    assert said[0] == said[1] and "no device code" in said[0][1] and not links.entries()


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize(
    "options", [("-v",), ("-save-temps",), ("-foffload-options=-ldl",), ("-foffload-options=-march=native",)]
)
def test_links_that_do_more_are_not_kept(links: Links, options: tuple[str, ...]) -> None:
    """What they leave and say, and what more they read, is in no entry."""
    links.link(*options)
    assert not links.entries() and links.link(*options)[0]


def test_not_wanted(links: Links) -> None:
    """GOMPY_LINK_CACHE=0."""
    assert links.link(GOMPY_LINK_CACHE="0")[0] and links.link(GOMPY_LINK_CACHE="0")[0] and not links.entries()


def damaged(path: Path) -> None:
    """A bit is wrong."""
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    """Its end is missing."""
    path.write_bytes(path.read_bytes()[:90])


def strangers(path: Path) -> None:
    """Anybody can write it."""
    path.chmod(0o666)


def linked(path: Path) -> None:
    """It is a link to one that is in order."""
    path.rename(path.parent.parent / "moved")
    path.symlink_to("../moved")


def exchanged(path: Path) -> None:
    """It is a whole entry, of another key."""
    data = bytearray(path.read_bytes())
    data[8] ^= 1
    path.write_bytes(data)


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("change", [damaged, cut, strangers, linked, exchanged])
def test_entries_that_are_not_believed(links: Links, change: Callable[[Path], None]) -> None:
    """They are made again."""
    _, program, _ = links.link()
    change(links.entries()[0])
    assert links.link()[0]
    assert links.link() == (False, program, "")


def test_a_folder_that_others_can_write(links: Links) -> None:
    """Nothing is read there, nothing written."""
    links.link()
    links.cache.chmod(0o777)
    assert links.link()[0]
    links.cache.chmod(0o700)
    assert not links.link()[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's file can be made by root alone")
def test_an_entry_of_another_user(links: Links) -> None:
    """It is not believed."""
    links.link()
    os.chown(links.entries()[0], 65534, 65534)
    assert links.link()[0]


@pytest.mark.parametrize("home", ["/proc/none", ""])
def test_no_place_for_entries(links: Links, home: str) -> None:
    """The link is made as ever."""
    assert links.link(XDG_CACHE_HOME=home, HOME=home)[0]


def compiled_and_linked(links: Links, tmp: Path, *sources: Path) -> tuple[bool, bytes]:
    """Compile and link by one command, as Links.link: gcc's temporary objects have other names each time."""
    tmp.mkdir(exist_ok=True)
    before, output = links.starts(), links.folder / "prog"
    env = environment(XDG_CACHE_HOME=str(links.folder / "cache"), GOMPY_PYTHON=str(links.python), TMPDIR=str(tmp))
    command = [sys.executable, "-c", GOMPCC, "-O1", "-g", "-fopenmp", *sources, "-o", output]
    subprocess.run(command, cwd=links.folder, env=env, check=True)
    assert not list(tmp.iterdir())
    return links.starts() > before, output.read_bytes()


@pytest.mark.slow
def test_compiled_and_linked_in_one_go(links: Links) -> None:
    """The objects' names do not count, what is in them does."""
    sources = [links.folder / "main.c", links.folder / "a.c"]
    tmp = links.folder / "tmp"
    first, program = compiled_and_linked(links, tmp, *sources)
    assert first and len(links.entries()) == 1
    assert compiled_and_linked(links, tmp, *sources) == (False, program)
    assert compiled_and_linked(links, links.folder / "tmp2", *sources) == (False, program)
    sources[1].write_text(REGION.format("a", 2))
    again, other = compiled_and_linked(links, tmp, *sources)
    assert again and other != program


def test_objects_that_are_named_like_temporary_ones(links: Links) -> None:
    """Elsewhere they are the user's: their names are in messages, and they may change."""
    folder = links.folder / "objects"
    folder.mkdir()
    names = [folder / "ccabcdef.o", folder / "ccabcdeg.o"]
    programs = []
    for name in names:
        name.write_bytes(links.objects[1].read_bytes())
        links.objects[1] = name
        links.settle()
        first, program, _ = links.link()
        programs.append(program)
        assert first and not links.link()[0]
    assert programs[0] != programs[1]


def store(folder: Path, key: str, began: int) -> entry.Store:
    """As front.c asks for it."""
    return entry.Store(f"--store={key}:{os.open(folder, os.O_RDONLY)}:{began}")


def test_what_is_too_young_is_not_kept(tmp_path: Path) -> None:
    """An object, or a part, may have changed after it was read."""
    cache, file, part = tmp_path / "cache", tmp_path / "a.o", tmp_path / "part"
    cache.mkdir()
    for path in (file, part):
        path.write_bytes(b"x")
    now, later = time.time_ns(), time.time_ns() + 10**9
    store(cache, "00" * 32, now).keep_link([str(file)], [], [str(file)])
    store(cache, "00" * 32, now).keep_link([], [str(part)], [str(file)])
    assert not list(cache.iterdir())
    store(cache, "00" * 32, later).keep_link([str(file)], [str(part), str(tmp_path / "gone")], [str(file)])
    assert [path.name for path in cache.iterdir()] == ["00" * 32]


def test_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All entries together are within their bound; files that were not finished go, too."""
    cache, file = tmp_path / "cache", tmp_path / "a.o"
    cache.mkdir()
    file.write_bytes(bytes(1000))
    monkeypatch.setattr(entry, "LIMIT", 3000)
    (cache / ".left").write_bytes(b"")
    os.utime(cache / ".left", (1, 1))
    for number in range(4):
        store(cache, f"{number:02x}" * 32, time.time_ns() + 10**9).keep_link([], [], [str(file)])
        os.utime(cache / (f"{number:02x}" * 32), (100 + number, 100 + number))
    assert sorted(path.name[:2] for path in cache.iterdir()) == ["02", "03"]

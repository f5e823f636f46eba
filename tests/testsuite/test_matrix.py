"""``make check-matrix``: what a tree takes from this machine, how it is entered, what is said about it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from driver_tools import ROOT, needs

sys.path.insert(0, str(ROOT / "testsuite"))

from matrix import run, settings, suites, tree
from matrix.systems import OWN, SYSTEMS, of_release


def test_variables_of_the_network_only() -> None:
    """Proxies, certificates and pip's variables; nothing that steers make, Python or gompy."""
    network = {"http_proxy": "a", "HTTPS_PROXY": "b", "no_proxy": "c", "SSL_CERT_FILE": "d", "PIP_INDEX_URL": "e"}
    other = ("PATH", "MAKEFLAGS", "VIRTUAL_ENV", "GOMPY_CC", "PIP_CACHE_DIR", "PIP_CONFIG_FILE", "my_proxy")
    assert settings.environment({**network, **dict.fromkeys(other, "x")}) == network


def test_paths_in_settings(tmp_path: Path) -> None:
    """Paths and file: addresses that are there; no part of another address."""
    (tmp_path / "wheels and more").mkdir()
    (tmp_path / "index").mkdir()
    (tmp_path / "pypi/simple").mkdir(parents=True)
    values = [
        f"file://{tmp_path}/index file://{tmp_path}/pypi/simple/ https://host{tmp_path}/index-not",
        f"file://{tmp_path}/wheels%20and%20more",
        "/nowhere/at/all",
        "/",
    ]
    assert settings.named_paths(values) == [tmp_path / "index", tmp_path / "pypi", tmp_path / "wheels and more"]


def test_settings_of_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are where the tree's pip looks, and what they name is to be seen there, but for what it has itself."""
    wheels, own, index = tmp_path / "wheels", tmp_path / "home", tmp_path / "index"
    for folder in (wheels, index, own / ".config/pip", tmp_path / "tree/etc"):
        folder.mkdir(parents=True)
    text = (
        f"[global]\nfind-links = {wheels}\nextra-index-url = file://{index}\n  https://host/simple\ncert = /etc/hosts\n"
    )
    (own / ".config/pip/pip.conf").write_text(text)
    for name in ("PIP_CONFIG_FILE", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(own))
    found = settings.put_into(tmp_path / "tree")
    assert {wheels, index} <= set(found)
    assert Path("/etc/hosts") not in found
    assert (tmp_path / "tree/root/.config/pip/pip.conf").read_text() == text


def test_pip_files_that_cannot_be_looked_for() -> None:
    """As in another user's home: there are none."""
    home = "/" + "x" * 300  # of no file: ENAMETOOLONG, to root, too
    found = settings.pip_files({"HOME": home, "XDG_CONFIG_DIRS": home})
    assert [path for path, _ in found if str(path).startswith(home)] == []


@needs("apt-config")
def test_settings_of_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How apt fetches goes into the tree, and debootstrap is told the proxy; hooks and folders stay here."""
    (tmp_path / "conf").write_text(
        'Acquire::http::Proxy "http://proxy:3128";\nAcquire::https::Proxy "DIRECT";\nAcquire::Check-Date "false";\n'
        'DPkg::Post-Invoke { "touch /hooked"; };\nDir::Cache "/elsewhere";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "conf"))
    (tmp_path / "tree/etc/apt/apt.conf.d").mkdir(parents=True)
    settings.put_into(tmp_path / "tree")
    text = (tmp_path / "tree/etc/apt/apt.conf.d/90host").read_text()
    assert text.startswith('Acquire::Retries "3";\n')
    assert 'Acquire::http::Proxy "http://proxy:3128";\n' in text
    assert 'Acquire::Check-Date "false";\n' in text
    assert "Invoke" not in text and "Dir::" not in text
    assert settings.proxies() == {"http_proxy": "http://proxy:3128"}


@needs("git")
def test_sources_are_the_working_tree(tmp_path: Path) -> None:
    """Also changes and files that are not committed; nothing that git ignores or that was removed."""
    source = tmp_path / "source"
    source.mkdir()
    for name in ("same", "changed", "removed"):
        (source / name).write_text("first\n")
    (source / ".gitignore").write_text("built\n")
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=source, check=True, capture_output=True)
    (source / "changed").write_text("second\n")
    (source / "removed").unlink()
    (source / "built").touch()
    (source / "folder").mkdir()
    (source / "folder/new").symlink_to("../same")
    tree.put_sources(source, tree.Tree(tmp_path / "tree", [], {}), "root/copy")
    copy = tmp_path / "tree/root/copy"
    names = sorted(str(path.relative_to(copy)) for path in copy.rglob("*") if ".git/" not in f"{path}/")
    assert names == [".gitignore", "changed", "folder", "folder/new", "same"]
    assert (copy / "changed").read_text() == "second\n"
    assert (copy / "folder/new").readlink() == Path("../same")


def small_tree(root: Path, programs: tuple[str, ...]) -> None:
    """A tree of a few programs of this machine and the libraries that they need."""
    for program in programs:
        path = shutil.which(program)
        assert path is not None
        words = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout.split()
        for name in {path, *(word for word in words if word.startswith("/"))}:
            (root / name[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, root / name[1:])
    for name in ("proc", "sys", "dev", "tmp"):
        (root / name).mkdir()


@needs("unshare", "ldd")
def test_a_tree_is_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has processes and devices of its own, sees what it shall see and writes where it may; no mount is left."""
    if subprocess.run([*tree.NAMESPACES, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode:
        pytest.skip("mounting is not allowed")
    root, seen, kept = tmp_path / "root", tmp_path / "seen", tmp_path / "kept"
    small_tree(root, ("sh", "env", "cat", "echo", "unshare"))
    seen.mkdir()
    kept.mkdir()
    (seen / "file").write_text("seen\n")
    monkeypatch.setenv("PIP_INDEX_URL", "http://index/")
    monkeypatch.setenv("MAKEFLAGS", "-k")
    to = shlex.quote(f"{seen}/file")
    script = (
        f"cat {to}; (echo spoilt >{to}) 2>/dev/null || echo refused; echo kept >/here/file; "
        "echo $PIP_INDEX_URL,$MAKEFLAGS,$MORE; [ -c /dev/null ] && [ -c /dev/ptmx ] && [ -d /proc/$$ ] && echo $PWD; "
        f"[ -e /proc/{os.getpid()} ] || echo alone; unshare -m echo inside; exit 5"
    )
    log = tmp_path / "log"
    there = tree.Tree(root, [seen], {kept: "here"})
    assert there.run(["sh", "-c", script], log, {"MORE": "more"}, "/tmp") == 5
    assert log.read_text() == "seen\nrefused\nhttp://index/,,more\n/tmp\nalone\ninside\n"
    assert (kept / "file").read_text() == "kept\n"
    assert str(root) not in Path("/proc/self/mountinfo").read_text()
    assert there.answer("echo '  answer '") == "answer"
    assert there.answer("echo spoilt; exit 1") == ""


def test_reasons_for_no_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who cannot make one is told why, and that is no failure; a name that is none is."""
    monkeypatch.setattr(run, "OUT", tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", ["run.py", "--system", "trixie"])
    assert run.main() == 0
    assert capsys.readouterr().out == "Debian 13: skipped: only root can make a system's tree\n"
    for words in (["--system", "potato"], ["--steps", "run,walk"], ["--compiler", "gcc-2"]):
        with pytest.raises(SystemExit) as wrong:
            run.arguments(words)
        assert wrong.value.code == 2
        assert ": not of " in capsys.readouterr().err


def test_table() -> None:
    """What a step says of itself stands in its cell, with its status if that is not 0."""
    samples = "all   70   69   1   0   98.6 %   52\nmake: ***\nall   40   40   0   0   100 %   38\n"
    cells = {
        "run": run.summary(
            run.STEPS["run"], "x\n4 examples: all regions meant for the device ran on it (6 s)\n", 0, 61.4
        ),
        "samples": run.summary(run.STEPS["samples"], samples, 2, 60),
        "check": run.summary(run.STEPS["check"], "5 failed, 3001 passed, 90 skipped in 600.0s\n", 2, 700),
    }
    assert cells == {
        "run": "4 examples, 61 s",
        "samples": "69/1, 40/0, exit status 2, 60 s",
        "check": "5 failed, 3001 passed, exit status 2, 700 s",
    }
    row = run.Row("Debian 13.1", "gcc-12", {"compiler": "12.4.0", "libgomp": "14.2.0"}, cells)
    lines = run.table([row], ["run", "check"]).splitlines()
    assert [re.split("  +", line)[1:4] for line in lines] == [
        ["compiler", "libgomp", "Python"],
        ["gcc-12 (12.4.0)", "14.2.0", "-"],
    ]


def test_what_is_typed_for_compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers that are named are installed first; for a system's own nothing is, until its tests are wanted."""
    typed: list[str] = []

    class Recorded(tree.Tree):
        def run(self, command, log, environment=None, folder="/"):  # type: ignore[no-untyped-def]
            log.write_text("")
            typed.append(" ".join([*(f"{key}={word}" for key, word in (environment or {}).items()), *command]))
            return 0

    @contextmanager
    def made(*_: object) -> Iterator[tree.Tree]:
        (tmp_path / "etc").mkdir(exist_ok=True)
        (tmp_path / "etc/debian_version").write_text("13.1\n")
        yield Recorded(tmp_path, [], {})

    monkeypatch.setattr(tree, "made", made)
    monkeypatch.setattr(tree, "put_sources", lambda *_: None)
    monkeypatch.setattr(run, "OUT", tmp_path)
    monkeypatch.setattr(run, "ROOT", tmp_path)
    trixie = next(system for system in SYSTEMS if system.suite == "trixie")
    own = next(compilers for compilers in trixie.compilers if compilers.name == OWN)
    apt = "DEBIAN_FRONTEND=noninteractive apt-get"
    install = f"{apt} install -y -qq --no-install-recommends"
    row = run.try_one(trixie, own, run.arguments([]))
    assert row.right
    assert typed[:4] == ["make run", f"{apt} update -qq", f"{install} gcc-14-source", "make sample GCC=14"]
    typed.clear()
    chosen = of_release(13)
    run.try_one(trixie, chosen, run.arguments(["--steps", "run"]))
    assert typed[1] == f"{install} gcc-13 g++-13 gfortran-13 gcc-13-offload-nvptx"
    assert typed[2] == "GOMPY_CC=gcc-13 GOMPY_CXX=g++-13 GOMPY_FC=gfortran-13 make run"


SUITE = """\
directory                        run tests   pass   fail  unsupp.  pass/supp.   on device
libgomp.c                              283    236     15       32      94.0 %         231
all                                    800    687     31       82      95.7 %         650

unexpected: FAIL: libgomp.c/target-3.c execution test
expected to fail (a reason), but good: libgomp.c/target-5.c execution test
bad results: 33 on the list, 1 unexpected; good though on the list: 1
testsuite/out/libgomp.sum, libgomp.log; 700 s
"""


class OneTree(tree.Tree):
    """A tree whose commands print a suite's end and have its status."""

    def run(self, command, log, environment=None, folder="/"):  # type: ignore[no-untyped-def]
        log.write_text(SUITE if "OFFLOAD_TARGET=nvptx" in command else "make: *** no rule\n")
        return 1


def test_rows_of_suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers and what was not expected as the suite says them; a suite that did not end has no numbers."""
    monkeypatch.setattr(suites, "OUT", tmp_path)
    monkeypatch.setattr(suites, "ROOT", tmp_path)
    facts = {"compiler": "15.3.0", "libgomp": "16.2.0"}
    here = OneTree(tmp_path, [], {})
    rows = [suites.try_one(here, of_release(15), device, facts, "-j 2") for device in ("nvptx", "intelmic")]
    out = capsys.readouterr().out.splitlines()
    assert out == [
        "make check-target-libgomp GCC=15 OFFLOAD_TARGET=nvptx 'TESTS=-j 2' (gcc-15-nvptx.log)",
        "unexpected: FAIL: libgomp.c/target-3.c execution test",
        "expected to fail (a reason), but good: libgomp.c/target-5.c execution test",
        "make check-target-libgomp GCC=15 OFFLOAD_TARGET=intelmic 'TESTS=-j 2' (gcc-15-intelmic.log)",
        "make: *** no rule",
    ]
    assert [row.cells[:-1] for row in rows] == [("800", "687", "31", "33", "1", "1"), ("-",) * 6]
    assert not any(row.right for row in rows)
    head, *lines = suites.table(rows).splitlines()
    assert re.split("  +", head) == list(suites.HEAD)
    assert [line.split()[:6] for line in lines] == [
        ["15.3.0", "16.2.0", "nvptx", "800", "687", "31"],
        ["15.3.0", "16.2.0", "intelmic", "-", "-", "-"],
    ]


def test_choice_of_suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """All releases but the oldest, both devices; only the systems of compilers that are named; wrong ones are told."""
    options = suites.arguments([])
    assert (options.gcc, options.devices) == (["13", "14", "15", "16"], ["intelmic", "nvptx"])
    chosen = [compilers for system in SYSTEMS for compilers in suites._chosen(system, options)]
    assert [str(compilers.release) for compilers in chosen] == options.gcc
    assert all(compilers.packages for compilers in chosen)
    assert suites.arguments(["--devices", "nvptx-stock"]).devices == ["nvptx-stock"]
    assert suites.command(of_release(16), "nvptx-stock", "")[2:] == ("GCC=16", "OFFLOAD_TARGET=nvptx", "STOCK=1")
    for words in (["--gcc", "12"], ["--devices", "gcn"], ["--devices", "intelmic-stock"]):
        with pytest.raises(SystemExit) as wrong:
            suites.arguments(words)
        assert wrong.value.code == 2
        assert ": not of " in capsys.readouterr().err
    monkeypatch.setattr(suites, "OUT", tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", ["suites.py", "--gcc", "16"])
    assert suites.main() == 0
    assert capsys.readouterr().out == "Debian sid: skipped: only root can make a system's tree\n"

"""The source of the accelerator compiler: which parts, which tree codes, and whether they are the host's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gompy.accel import host, packages, source, tags
from gompy.accel.errors import AccelError

LTO_STREAMER = """
enum LTO_tags
{
  LTO_null = 0,
  /* A comment, with a comma.  */
  LTO_tree_pickle_reference,
  LTO_first_tree_tag,
  LTO_first_gimple_tag = LTO_first_tree_tag + MAX_TREE_CODES,
  LTO_bb0 = LTO_first_gimple_tag + LAST_AND_UNUSED_GIMPLE_CODE,
  LTO_bb1,
  LTO_eh_region,
  LTO_function,
  LTO_NUM_TAGS
};
"""
DEBIAN = """\
Using built-in specs.
Target: x86_64-linux-gnu
Configured with: ../src/configure -v --with-pkgversion='Debian 12.2.0-14+deb12u1' --enable-languages=c,ada,c++,m2 --prefix=/usr
Thread model: posix
gcc version 12.2.0 (Debian 12.2.0-14+deb12u1)
"""  # noqa: E501
UPSTREAM = """\
Target: x86_64-pc-linux-gnu
Configured with: ./configure --enable-languages=c,c++,lto
gcc version 12.3.0 (GCC)
"""


def tree(folder: Path, front_ends: dict[str, int], version: str = "12.2.0") -> Path:
    """A source tree as far as its tree codes go: 5 common ones, 2 of the C family, 3 gimple codes."""
    gcc = folder / "gcc"
    for name in ("c-family", "lto", "config/i386"):
        (gcc / name).mkdir(parents=True)
    (gcc / "BASE-VER").write_text(version + "\n")
    (gcc / "lto-streamer.h").write_text(LTO_STREAMER)
    (gcc / "tree.def").write_text("".join(f"DEFTREECODE (T{i}, x)\n" for i in range(5)))
    (gcc / "c-family" / "c-common.def").write_text("/* DEFTREECODE (no) */\nDEFTREECODE (A, x)\nDEFTREECODE (B, x)\n")
    (gcc / "gimple.def").write_text("".join(f"DEFGSCODE(G{i}, x)\n" for i in range(3)))
    for name, number in front_ends.items():
        place = gcc / name
        place.mkdir(parents=True)
        codes = place
        config = f'language="{name}"\n'
        if name == "ada":
            codes = place / "gcc-interface"
            codes.mkdir()
            config += f'gcc_subdir="{name}/gcc-interface"\n'
        (place / "config-lang.in").write_text(config)
        if number:
            (codes / f"{name}-tree.def").write_text("".join(f"DEFTREECODE (F{i}, x)\n" for i in range(number)))
    for name in (*source.REQUIRED, source.INTELMIC):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text("")
    return folder


def compiler(version: str = "12.2.0", languages: tuple[str, ...] = ("c", "m2")) -> host.Host:
    return host.Host(
        ("gcc",), "/usr/bin/gcc", version, "Debian", f"{version}-14", "x86_64-linux-gnu", languages, "/lto1"
    )


def test_source_tag_counts_all_front_ends(tmp_path: Path) -> None:
    """2 tags, 5 + 1 + 2 tree codes and those of the front ends, 3 gimple codes, 3 tags: then LTO_function."""
    assert tags.source_tag(tree(tmp_path / "a", {})) == 3 - 1 + 8 + 3 + 3
    assert tags.source_tag(tree(tmp_path / "b", {"ada": 4, "cp": 9, "fortran": 0})) == 16 + 13


def test_check_names_the_missing_front_end(tmp_path: Path) -> None:
    folder = tree(tmp_path, {"cp": 4})
    source.check(folder, compiler(), 20)
    with pytest.raises(AccelError, match=r"1 tree code too few; the compiler was configured with m2, whose front end"):
        source.check(folder, compiler(), 21)
    with pytest.raises(AccelError, match=r"4 tree codes too many; the front end cp has that many: remove its folder"):
        source.check(folder, compiler(), 16)


def test_check_wants_the_same_version(tmp_path: Path) -> None:
    with pytest.raises(AccelError, match=r"is the source of gcc 12.3.0, the compiler is gcc 12.2.0 .Debian 12.2.0-14."):
        source.check(tree(tmp_path, {}, "12.3.0"), compiler(), 16)


def test_check_wants_the_target(tmp_path: Path) -> None:
    """GCC 12 has files of it, later ones need none."""
    folder = tree(tmp_path, {})
    (folder / source.INTELMIC).unlink()
    assert not source.is_source_tree(folder, compiler())
    with pytest.raises(AccelError, match=r"no gcc/config/i386/intelmic-offload.h: not a source tree of GCC 12 with"):
        source.check(folder, compiler(), 16)
    (folder / "gcc/BASE-VER").write_text("14.2.0\n")
    assert source.is_source_tree(folder, compiler("14.2.0"))
    source.check(folder, compiler("14.2.0"), 16)


def test_diff_is_cut_to_what_is_unpacked() -> None:
    """New and deleted files, and a removed line that looks like a header."""
    diff = b"""# a comment
--- a/src/gcc/ChangeLog
+++ b/src/gcc/ChangeLog
@@ -1,1 +1,1 @@
-a
+b
--- a/src/gcc/tree.cc
+++ b/src/gcc/tree.cc
@@ -1,2 +1,2 @@
--- not a header
+++ neither
 x
--- /dev/null
+++ b/src/libcpp/new.cc
@@ -0,0 +1 @@
+new
--- a/src/libgo/go.go
+++ b/src/libgo/go.go
@@ -1 +1 @@
-go
+GO
--- a/src/gcc/testsuite/gcc.dg/x.c
+++ /dev/null
@@ -1 +0,0 @@
-x
"""
    kept = b"".join(source.wanted_parts(diff.splitlines(keepends=True)))
    assert b"gcc/tree.cc" in kept and b"libcpp/new.cc" in kept and b"+new\n" in kept and b" x\n" in kept
    for gone in (b"ChangeLog", b"libgo", b"testsuite", b"comment"):
        assert gone not in kept


def test_facts_of_gcc_v() -> None:
    facts = host.read_v(DEBIAN)
    assert facts == {
        "version": "12.2.0",
        "vendor": "Debian",
        "package": "12.2.0-14+deb12u1",
        "machine": "x86_64-linux-gnu",
        "languages": "c,ada,c++,m2",
    }
    assert host.read_v(UPSTREAM)["package"] == "" and host.read_v(UPSTREAM)["version"] == "12.3.0"
    assert host.read_v("clang version 14")["version"] == ""


@pytest.mark.parametrize(
    ("version", "machine", "lto1", "message"),
    [
        ("17.1.0", "x86_64-linux-gnu", "/lto1", "is gcc 17.1.0; gompy works with gcc 12 to 16"),
        ("11.4.0", "x86_64-linux-gnu", "/lto1", "is gcc 11.4.0; gompy works with gcc 12 to 16"),
        ("12.2.0", "aarch64-linux-gnu", "/lto1", "the emulated device is an x86-64 one"),
        ("12.2.0", "x86_64-linux-gnu", "lto1", "has no lto1"),
    ],
)
def test_compilers_that_will_not_do(tmp_path: Path, version: str, machine: str, lto1: str, message: str) -> None:
    gcc = tmp_path / "gcc"
    facts = f"echo 'Target: {machine}'; echo 'gcc version {version} (GCC)'"
    gcc.write_text(f"#!/bin/sh\ncase $1 in -v) {facts};; *) echo {lto1};; esac\n")
    gcc.chmod(0o755)
    with pytest.raises(AccelError, match=message):
        host.examine([str(gcc)], str(gcc))


def test_probe_of_the_real_compiler(tmp_path: Path) -> None:
    """The tag from a probe object is one after 7 + at least the 239 common tree codes, and the same every time."""
    real = host.choose()
    first = tags.host_tag(real)
    assert 250 < first < 1000 and first == tags.host_tag(real)


@pytest.mark.slow
def test_probe_of_the_installed_source(tmp_path: Path) -> None:
    """Where the compiler's source package is there: its tag, with Modula-2's code, is the compiler's."""
    real = host.choose()
    archive = packages.source_archive(real)
    if archive is None:
        pytest.skip(f"gcc-{real.major}-source {real.package} is not installed")
    if lacking := [name for name in ("xz", "patch") if shutil.which(name) is None]:
        pytest.skip(f"not installed: {' '.join(lacking)}")
    target, log = tmp_path / "source", tmp_path / "log"
    source.unpack(archive, target, log)
    if tags.source_tag(target) < tags.host_tag(real):
        assert source.add_modula2(archive, target, log)
    source.check(target, real, tags.host_tag(real))
    assert not (target / "gcc" / "testsuite").exists()


def test_missing_packages_are_one_line_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without root and without sudo nothing is installed."""
    monkeypatch.setattr(packages, "missing_headers", lambda _: ["gmp.h", "zstd.h"])
    monkeypatch.setattr(packages, "source_archive", lambda _: None)
    monkeypatch.setattr(packages.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(packages.shutil, "which", lambda name: None if name == "sudo" else f"/usr/bin/{name}")
    with pytest.raises(AccelError) as caught:
        packages.provide(compiler(), True, print, tmp_path / "log")
    assert caught.value.notes == (
        "sudo apt-get install -y --no-install-recommends libgmp-dev libzstd-dev gcc-12-source=12.2.0-14",
    )


def test_no_network_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """apt-get update succeeds with warnings when there is no network; its text tells."""
    apt = tmp_path / "apt-get"
    apt.write_text("#!/bin/sh\necho \"W: Failed to fetch x  Temporary failure resolving 'deb.example.org'\"\n")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(packages, "missing_headers", lambda _: ["gmp.h"])
    monkeypatch.setattr(packages.os, "geteuid", lambda: 0)
    with pytest.raises(AccelError, match=r"no network: .*libgmp-dev.* must be fetched"):
        packages.provide(compiler(), False, lambda _: None, tmp_path / "log")
    assert "Temporary failure" in (tmp_path / "log").read_text()


def test_without_apt_the_headers_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "missing_headers", lambda _: ["mpc.h"])
    monkeypatch.setattr(packages.shutil, "which", lambda name: None if "apt" in name else f"/usr/bin/{name}")
    with pytest.raises(AccelError, match=r"building needs mpc.h"):
        packages.provide(compiler(), True, print, tmp_path / "log")
    monkeypatch.setattr(packages, "missing_headers", lambda _: [])
    with pytest.raises(AccelError, match=r"no apt-get") as caught:
        packages.provide(compiler(), True, print, tmp_path / "log")
    assert "--source DIR" in caught.value.notes[0]


def test_a_numbered_compiler_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's g++-14 has no g++ beside it."""
    (tmp_path / "g++-14").write_text("#!/bin/sh\n")
    (tmp_path / "g++-14").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("GOMPY_CXX", raising=False)
    assert packages.cxx() == ["g++-14"]

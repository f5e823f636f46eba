"""What the emulated device's mkoffload says of undefined symbols: the source line, and never a temporary object."""

from __future__ import annotations

from pathlib import Path

import pytest
from link_tools import BDIR, RUNTIME, TARGET, built, call, compile_c, link

from gompy.objects.elf import member_name
from gompy.tools.process import is_temporary
from mkoffload.undefined import parse_undefined, uses

pytestmark = built
FUNCTION = """
#pragma omp declare target
int missing (int);
#pragma omp end declare target
int main (void)
{
  int x = 1;
#pragma omp target map(tofrom: x)
  x = missing (x);
  return x;
}
"""
VARIABLE = FUNCTION.replace("int missing (int)", "extern int missing").replace("missing (x)", "missing")
ERROR = "mkoffload: error: "
SAYS = ": target region ‘main._omp_fn.0’ uses ‘missing’, which is not defined for the device; "


def at_once(source: str, folder: Path, *options: str) -> str:
    """Compile and link in one step, so that the object is a temporary one; what was said."""
    (folder / "tmp").mkdir()
    (folder / "one.c").write_text(source)
    words = ("gcc", "-B", BDIR, "-foffload=disable", "-fopenmp", *options, *RUNTIME, "one.c", "-o", "prog")
    env = {"OFFLOAD_TARGET_NAMES": TARGET, "TMPDIR": str(folder / "tmp"), "GOMPY_AS": "keep"}
    if "-flto" not in options:
        env["GOMPY_AS"] = "rename"
        words = (*words[:4], "-flto", "-ffat-lto-objects", *words[4:])
    done = call(*words, cwd=folder, check=False, **env)
    assert done.returncode == 1
    return done.stderr


def errors(text: str) -> list[str]:
    return [line.removeprefix(ERROR) for line in text.split("\n") if line.startswith(ERROR)]


@pytest.mark.slow(sample=4)
@pytest.mark.parametrize("source", [FUNCTION, VARIABLE], ids=["function", "variable"])
@pytest.mark.parametrize("options", [("-O2",), ("-O2", "-g"), ("-O0",), ("-O2", "-flto")], ids=" ".join)
def test_source_line_of_a_temporary_object(source: str, options: tuple[str, ...], tmp_path: Path) -> None:
    (said,) = errors(at_once(source, tmp_path, *options))
    assert said.startswith("one.c:9" + SAYS)
    assert "/cc" not in said


def test_initialiser_of_a_device_variable(tmp_path: Path) -> None:
    text = FUNCTION.replace("int missing (int);", "int missing (int); int (*pointer) (int) = missing;")
    text = text.replace("x = missing", "x = pointer")
    (said,) = errors(at_once(text, tmp_path))
    assert said.startswith("one.c: device variable ‘pointer’ uses ‘missing’, which is not defined")


def test_every_place_is_told(tmp_path: Path) -> None:
    text = FUNCTION.replace("int missing (int);", "int missing (int);\nint f (int y) { return missing (y); }")
    text = text.replace("x = missing (x);", "{ x = missing (x);\n x += f (x);\n x += missing (x); }")
    said = errors(at_once(text, tmp_path, "-fno-inline"))
    places = [line.partition(": ")[0] for line in said]
    assert sorted(places) == ["one.c:10", "one.c:12", "one.c:4"]
    assert any("device function ‘f’ uses ‘missing’" in line for line in said)


@pytest.mark.parametrize("mode", ["ours", "lto", "fat"])
def test_archive_member(mode: str, tmp_path: Path) -> None:
    compile_c(FUNCTION, tmp_path / "member.o", mode)
    call("ar", "rc", "libx.a", "member.o", cwd=tmp_path)
    (said,) = errors(link(["libx.a"], tmp_path / "prog", check=False).stderr)
    assert said.startswith("member.c:9" + SAYS)


def test_object_without_device_code_by_its_source(tmp_path: Path) -> None:
    """One command compiles both; the second as plain gcc does."""
    (tmp_path / "tmp").mkdir()
    compile_c("int main (void) { return 0; }", tmp_path / "main.o")
    plain = compile_c(FUNCTION.replace("main", "other"), tmp_path / "tmp" / "ccAbCdEf.o", "plain")
    done = link([tmp_path / "main.o", str(plain)], tmp_path / "prog", TMPDIR=str(tmp_path / "tmp"), check=False)
    assert "mkoffload: warning: ccAbCdEf.c: no device code for" in done.stderr


def test_member_of_an_archive_without_device_code(tmp_path: Path) -> None:
    name = "a-name-that-needs-the-table-of-long-names.o"
    compile_c("int x;", tmp_path / "another-name-that-needs-that-table.o")
    region = FUNCTION.replace("main", "other").replace("x = missing (x)", "x++")
    compile_c(region, tmp_path / name, "plain")
    call("ar", "rc", "libx.a", "another-name-that-needs-that-table.o", name, cwd=tmp_path)
    main = compile_c("int other (void); int main (void) { return other (); }", tmp_path / "main.o")
    assert f"warning: libx.a({name}): no device code for" in link([main, "libx.a"], tmp_path / "prog").stderr


def test_member_names(tmp_path: Path) -> None:
    for name in ("short.o", "a-name-of-more-than-sixteen-letters.o", "odd.o"):
        (tmp_path / name).write_bytes(b"contents of " + name.encode())
        call("ar", "rc", "lib.a", name, cwd=tmp_path)
    data = (tmp_path / "lib.a").read_bytes()
    for name in ("short.o", "a-name-of-more-than-sixteen-letters.o", "odd.o"):
        assert member_name(str(tmp_path / "lib.a"), data.index(b"contents of " + name.encode())) == name
    assert member_name(str(tmp_path / "short.o"), 100) == ""
    assert member_name(str(tmp_path / "none"), 100) == ""


def test_temporary_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert is_temporary(f"{tmp_path}/ccAb12Cd.o") and is_temporary(f"{tmp_path}/ccAb12Cd.lto.o")
    assert not is_temporary(f"{tmp_path}/cclient1.o".replace("cclient1", "cc-abcde"))
    assert not is_temporary("ccAb12Cd.o") and not is_temporary("/ccAb12Cd.o") and not is_temporary(f"{tmp_path}/abc.o")


def test_functions_that_ld_names() -> None:
    text = (
        "ld: x.o: in function `f._omp_fn.0':\n<artificial>:(.text.f._omp_fn.0+0x9): undefined reference to `one'\n"
        "ld: a.c:9: undefined reference to `one'\nld: x.o: in function `g':\na.c:10: undefined reference to `one'\n"
        "ld: x.o:(.data.rel.p+0x0): undefined reference to `two'\n"
    )
    assert parse_undefined(text) == {"one": ["f._omp_fn.0", "g"], "two": [""]}


def test_uses_in_assembly() -> None:
    text = (
        '\t.file 1 "a b.c"\nf._omp_fn.0.lto_priv.0:\n.LFB0:\n\t.loc 1 7 3 view .LVU1\n\tcall\tone@PLT\n'
        "\tmovq\tone2@GOTPCREL(%rip), %rax\n\t.loc 1 8 3\n\tmovl\ttwo+4(%rip), %eax\n"
        "\t.size\tone, 3\np:\n\t.quad\tone\n"
    )
    assert uses(text, {"one", "two", "three"}) == {
        "one": [("f._omp_fn.0", "a b.c:7"), ("p", "")],
        "two": [("f._omp_fn.0", "a b.c:8")],
    }

"""The command ``gompy verify``: what it says of files whose tables agree, and of those whose tables do not."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from driver_tools import ROOT, Tools, has_all, needs

pytestmark = has_all

FRUITS = ("apple", "banana", "citron", "main")
STOCK_LINK = ("-foffload=nvptx-none", "-foffload-options=nvptx-none=-Wa,--no-verify")
MIC = "x86_64-intelmicemul-linux-gnu"
has_nvptx = needs("x86_64-linux-gnu-accel-nvptx-none-gcc-12")
NO_CODE = "compile it again, with gompcc, without -foffload=disable, and do not strip it before the link"
ALL = "apple_peel._omp_fn.0, apple_core._omp_fn.0, banana_peel._omp_fn.0, banana_slice._omp_fn.0 and 2 more"


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    made = Tools(bin_folder, tmp_path)
    for path in (ROOT / "examples/fruit").iterdir():
        shutil.copy(path, tmp_path)
    made.env["LC_ALL"] = "C"
    return made


def sources(*without: str) -> list[str]:
    return [f"{name}.c" for name in FRUITS if name not in without]


def verify(tools: Tools, *words: str) -> tuple[int, list[str], list[str]]:
    done = tools.run("gompy", "verify", *words)
    return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()


def test_what_agrees(tools: Tools) -> None:
    tools.ok("gompcc", "-fopenmp", *sources(), "-o", "fruit")
    tools.ok("gompcc", "-fopenmp", "-shared", "-fPIC", "apple.c", "-o", "libapple.so")
    tools.ok("gompcc", "-fopenmp", "-c", "apple.c")
    tools.ok("strip", "-o", "bare", "fruit")
    assert verify(tools, "fruit", "libapple.so", "apple.o", "bare") == (
        0,
        [
            f"fruit: 6 regions and 3 variables, 1 image ({MIC}): names and order agree",
            f"libapple.so: 2 regions and 1 variable, 1 image ({MIC}): names and order agree",
            "apple.o: relocatable, 2 regions and 1 variable: fine",
            f"bare: 6 regions and 3 variables, 1 image ({MIC}): lengths (no names: stripped) agree",
        ],
        [],
    )


@pytest.mark.slow
@has_nvptx
def test_two_images_and_a_stock_program(tools: Tools) -> None:
    tools.ok("gompcc", "-fopenmp", "-foffload=nvptx-none,intelmic", *sources(), "-o", "both")
    tools.ok("gcc", "-fopenmp", *STOCK_LINK, *sources(), "-o", "stock")
    status, out, err = verify(tools, "both", "stock")
    assert (status, err) == (0, [])
    assert out == [
        f"both: 6 regions and 3 variables, 2 images (nvptx-none, {MIC}): names and order agree",
        "stock: 6 regions and 3 variables, 1 image (nvptx-none): names and order agree",
    ]


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("compiler", [("gcc", "-g"), ("gompcc", "-g", "-foffload=disable"), ("gcc",)])
def test_an_object_without_device_code(tools: Tools, compiler: tuple[str, ...]) -> None:
    """Regions that will run on the host, by name and place, with why; the file alone where there is no -g."""
    tools.ok(*compiler, "-fopenmp", "-c", "banana.c")
    tools.ok("gompcc", "-fopenmp", "banana.o", *sources("banana"), "-o", "fruit")
    status, out, err = verify(tools, "fruit")
    places = ("banana.c:15", "banana.c:29") if "-g" in compiler else ("banana.c", "banana.c")
    assert (status, out) == (1, [])
    assert err == [
        f"fruit: error: image 0 ({MIC}): no device code of banana.o, so its 2 regions and 1 variable are the host's "
        "alone (plain gcc compiled it, or gompcc with -foffload=disable): "
        f"banana_peel._omp_fn.0 ({places[0]}), banana_slice._omp_fn.0 ({places[1]}) [host-only]",
        f"fruit: note: {NO_CODE}; or take it as it is: gompy accel build",
    ]
    status, _, err = verify(tools, "--allow-host", "fruit")
    assert status == 0 and err[0].startswith("fruit: warning: image 0 ")


def test_objects_before_the_link(tools: Tools) -> None:
    """-foffload= was not the same for all objects; members of an archive count."""
    tools.ok("gompcc", "-fopenmp", "-c", "apple.c")
    tools.ok("gcc", "-fopenmp", "-c", "banana.c")
    tools.ok("gompcc", "-fopenmp", "-c", "citron.c")
    tools.ok("objcopy", "-w", "-R", ".gompyir_*", "-R", ".gnu.offload_lto_*", "citron.o")
    tools.ok("ar", "rc", "libcitron.a", "citron.o")
    status, out, err = verify(tools, "apple.o", "banana.o", "libcitron.a")
    assert (status, out) == (1, ["apple.o: relocatable, 2 regions and 1 variable: fine"])
    assert err == [
        "banana.o: error: no device code for the emulated MIC for its 2 regions and 1 variable, which other objects "
        "have: plain gcc compiled it, or gompcc with -foffload=disable [mixed]",
        f"banana.o: note: {NO_CODE}",
        "libcitron.a(citron.o): error: no device code for its 2 regions and 1 variable: it has no streams [mixed]",
        f"libcitron.a(citron.o): note: {NO_CODE}",
    ]
    assert verify(tools, "banana.o")[0] == 0  # stock objects alone are as stock gcc wants them


@pytest.mark.parametrize(
    ("words", "why", "mend"),
    [
        (
            ("gompcc", "-static"),
            "the program is static, and devices come with a shared library",
            "link without -static",
        ),
        (
            ("gompcc", "-foffload=disable"),
            "it was linked by a gcc that makes no device code, or with -foffload=disable",
            "link with gompcc -fopenmp or -fopenacc, and without -static and -foffload=disable",
        ),
    ],
)
def test_no_image(tools: Tools, words: tuple[str, ...], why: str, mend: str) -> None:
    tools.ok(*words, "-fopenmp", *sources(), "-o", "fruit")
    assert verify(tools, "fruit") == (
        1,
        [],
        [
            f"fruit: error: no device image for its 6 regions and 3 variables: {why} [no-image]",
            f"fruit: note: {mend}",
        ],
    )


def test_no_image_of_stock_objects(tools: Tools) -> None:
    for name in FRUITS:
        tools.ok("gcc", "-fopenmp", "-c", f"{name}.c")
    tools.ok("gompcc", "-fopenmp", *(f"{name}.o" for name in FRUITS), "-o", "fruit")
    assert verify(tools, "fruit")[2] == [
        "fruit: error: no device image for its 6 regions and 3 variables: gompcc linked it, but no object brought "
        "device code, or its image was removed [no-image]",
        "fruit: note: compile with gompcc -fopenmp, link without -foffload=disable and not by lld (docs/driver.md)",
    ]


@needs("mold")
def test_no_image_by_mold(tools: Tools) -> None:
    """Before 2.30 it hands only -flto objects to the plugin."""
    done = tools.run("gompcc", "-fopenmp", "-fuse-ld=mold", *sources(), "-o", "fruit")
    if "hands only objects" not in done.stderr:
        pytest.skip("this mold hands all objects to the plugin")
    first, second = verify(tools, "fruit")[2]
    assert re.fullmatch(
        r"fruit: error: no device image for its 6 regions and 3 variables: mold [0-9.]+ linked it, and gave gcc's "
        r"plugin no object with device code, or its image was removed \[no-image\]",
        first,
    )
    assert second == "fruit: note: link by ld.bfd or gold, or compile with -flto, too (docs/driver.md)"


@has_nvptx
def test_a_linker_that_drops_the_tables(tools: Tools) -> None:
    """Stock gcc's objects do not mark their tables as kept."""
    tools.ok("gcc", "-fopenmp", *STOCK_LINK, "-Wl,--gc-sections", *sources(), "-o", "fruit")
    mend = "the linker dropped the tables (--gc-sections): link without it, or compile with gompcc"
    assert verify(tools, "fruit") == (
        1,
        [],
        [
            "fruit: error: image 0 (nvptx-none): 6 regions in the image, the program's table has none; "
            f"not in the program: {ALL} [dropped]",
            f"fruit: note: {mend}",
            "fruit: error: image 0 (nvptx-none): 3 variables in the image, the program's table has none; "
            "not in the program: apple_pips, banana_bunch, citron_drops [dropped]",
        ],
    )


@has_nvptx
def test_variables_in_another_order(tools: Tools) -> None:
    """A defect of nvptx-tools, at which GCC pairs one variable with another in silence."""
    tools.write(
        "link.c",
        "#pragma omp declare target\nint a = 1;\n#pragma omp end declare target\nint pips[10], b = 2;\n"
        "#pragma omp declare target link(pips)\n#pragma omp declare target (b)\nint main (void)\n{\n  int x = 0;\n"
        "#pragma omp target map(x) map(pips)\n  x = a + b + pips[1];\n  return x;\n}\n",
    )
    tools.ok("gcc", "-fopenmp", *STOCK_LINK, "link.c", "-o", "link")
    status, _, err = verify(tools, "link")
    if status == 0:
        pytest.skip("this nvptx-tools keeps the order")
    assert err == [
        "link: error: image 0 (nvptx-none): the 3 variables stand in another order: "
        "entry 0: a on the host, b in the image (entry 0); and 2 more [order]",
        "link: note: nvptx's assembler moves the marks of 'declare target link' variables: "
        "link with gompcc, which orders them by name",
    ]
    tools.ok("gompcc", "-fopenmp", "-foffload=nvptx-none", "link.c", "-o", "link")
    assert verify(tools, "link")[0] == 0


MARKS = """
.section .rodata
.balign 8
.globl __OFFLOAD_TABLE__
.hidden __OFFLOAD_TABLE__
.globl __offload_func_table, __offload_funcs_end, __offload_var_table, __offload_vars_end
.hidden __offload_func_table, __offload_funcs_end, __offload_var_table, __offload_vars_end
__offload_func_table: __offload_funcs_end: __offload_var_table: __offload_vars_end: .quad 0
.section .data.rel.ro, "aw"
__OFFLOAD_TABLE__: .quad __offload_func_table, __offload_funcs_end, __offload_var_table, __offload_vars_end
.section .comment, "MS", @progbits, 1
.asciz "{}"
.section .note.GNU-stack, "", @progbits
"""


@pytest.mark.parametrize(
    ("signed", "name"), [("mold 1.10.1 (compatible with GNU ld)", "mold 1.10.1"), ("", "the linker")]
)
def test_entries_outside_of_the_marks(tools: Tools, signed: str, name: str) -> None:
    """As mold leaves stock objects: sections of one name and other flags stay apart, the marks bound the empty one."""
    tools.write("marks.s", MARKS.format(signed or "GCC: (Debian) 12.2.0"))
    tools.ok("gcc", "-fopenmp", "-fPIC", "-c", "apple.c")
    link = ("gcc", "-shared", "-nostdlib", "-foffload=disable", "-Wl,--no-warnings")
    tools.ok(*link, "apple.o", "marks.s", "-o", "libapple.so")
    assert verify(tools, "libapple.so")[2] == [
        f"libapple.so: error: 2 regions and 1 variable outside of the tables' marks: {name} did not keep the sections "
        "together [outside]",
        "libapple.so: note: compile and link with gompcc, or link by ld.bfd",
    ]


@has_nvptx
@needs("mold")
def test_mold_and_stock_objects(tools: Tools) -> None:
    """Before 2.30 mold hands only -flto objects to the plugin, and bounds the tables wrongly in any case."""
    lto = ("-flto", "-ffat-lto-objects")
    tools.ok("gcc", "-fopenmp", "-O1", *lto, *STOCK_LINK, "-fuse-ld=mold", *sources(), "-o", "fruit")
    status, _, err = verify(tools, "fruit")
    if status == 0:
        pytest.skip("this mold keeps the tables together")
    assert "6 regions and 3 variables outside of the tables' marks: mold " in err[0]


def test_names_that_differ(tools: Tools) -> None:
    """Another program's image in place of the own."""
    tools.ok("gompcc", "-fopenmp", *sources(), "-o", "fruit")
    data = (tools.work / "fruit").read_bytes()
    start = data.index(b"\x7fELF", 64)
    broken = data[:start] + data[start:].replace(b"\0apple_pips\0", b"\0apple_tree\0", 1)
    (tools.work / "broken").write_bytes(broken)
    assert verify(tools, "broken")[2] == [
        f"broken: error: image 0 ({MIC}): variables: entry 0: apple_pips on the host, apple_tree in the image "
        "(entry 0) [name]",
        "broken: note: the image belongs to other objects than the program: link it again, or put the right image in",
    ]
    done = tools.run("gompy", "inspect", "--check", "broken")
    assert done.stderr == (
        f"gompy inspect: error: broken: image 0 ({MIC}): variables: entry 0: apple_pips on the host, apple_tree in "
        "the image (entry 0)\n"
    )


@has_nvptx
def test_an_object_without_nvptx_code(tools: Tools) -> None:
    """GCC's tables have one length on the host and another in the image: one object's device code was lost."""
    tools.ok("gcc", "-fopenmp", "-c", "banana.c")
    tools.ok("objcopy", "-w", "-R", ".gnu.offload_lto_*", "banana.o")
    tools.ok("gcc", "-fopenmp", *STOCK_LINK, "apple.c", "banana.o", "citron.c", "main.c", "-o", "fruit")
    assert verify(tools, "fruit") == (
        1,
        [],
        [
            "fruit: error: image 0 (nvptx-none): 2 of the program's 6 regions not in the image: "
            "banana_peel._omp_fn.0 (banana.c), banana_slice._omp_fn.0 (banana.c) [missing]",
            "fruit: note: compile and link every object with the same -foffload=; "
            "gompcc names those without device code",
            "fruit: error: image 0 (nvptx-none): 1 of the program's 3 variables not in the image: banana_bunch "
            "[missing]",
        ],
    )


def test_an_object_that_the_image_does_not_know(tools: Tools) -> None:
    """The program's record of apple.c has another id than the image's objects."""
    tools.ok("gompcc", "-fopenmp", *sources(), "-o", "fruit")
    tools.ok("objcopy", "--dump-section", "gompy_offload_objects=records", "fruit", "whole")
    records = bytearray((tools.work / "records").read_bytes())
    records[0] ^= 1
    (tools.work / "records").write_bytes(records)
    tools.ok("objcopy", "--update-section", "gompy_offload_objects=records", "fruit", "broken")
    status, out, err = verify(tools, "broken")
    assert (status, out) == (1, [])
    number = int.from_bytes(records[:8], "little")
    assert err[:2] == [
        f"broken: error: image 0 ({MIC}): object apple.c (id {number:016x}) is not in the image [object]",
        "broken: note: an object has lost its device code after it was compiled, or another linker has left one out: "
        "compile it again and link with gompcc",
    ]


def test_a_region_that_objcopy_renamed(tools: Tools) -> None:
    """Its symbol has another name; the streams, of which the device code is made, keep the first one."""
    tools.ok("gompcc", "-fopenmp", "-c", "apple.c")
    tools.ok("objcopy", "--redefine-sym", "apple_core._omp_fn.0=apple_heart._omp_fn.0", "apple.o")
    told = "functions: entry 1: apple_core._omp_fn.0 in the stream, apple_heart._omp_fn.0 in the table [stream]"
    assert verify(tools, "apple.o") == (
        1,
        [],
        [
            f"apple.o: error: .gnu.offload_lto_.offload_table: {told}",
            "apple.o: note: compile it again",
            f"apple.o: error: .gompyir_.offload_table: {told}",
        ],
    )


def test_json(tools: Tools) -> None:
    tools.ok("gcc", "-fopenmp", "-g", "-c", "banana.c")
    tools.ok("gompcc", "-fopenmp", "banana.o", *sources("banana"), "-o", "fruit")
    done = tools.run("gompy", "verify", "--json", "fruit")
    (report,) = json.loads(done.stdout)
    (finding,) = report.pop("findings")
    assert (done.returncode, done.stderr) == (1, "")
    assert report == {
        "schema": 1,
        "file": "fruit",
        "kind": "executable",
        "regions": 6,
        "vars": 3,
        "images": [{"index": 0, "target": MIC, "regions": 4, "vars": 2}],
    }
    assert (finding["severity"], finding["kind"]) == ("error", "host-only")
    assert finding["regions"] == ["banana_peel._omp_fn.0 (banana.c:15)", "banana_slice._omp_fn.0 (banana.c:29)"]


def test_what_is_no_input(tools: Tools) -> None:
    tools.ok("gcc", "-c", "main.c", "-o", "plain.o")
    status, out, err = verify(tools, "missing", "plain.o", "main.c")
    assert (status, out) == (2, [])
    assert err == [
        "gompy verify: error: missing: No such file or directory",
        "plain.o: error: no offload data [empty]",
        "plain.o: note: compile with -fopenmp or -fopenacc",
        "main.c: error: offset 0x0: not an ELF file [damaged]",
    ]
    assert tools.run("gompy", "verify").returncode == 2
    assert "gompy verify *.o libpart.a" in tools.ok("gompy", "verify", "--help")


def test_other_formats_are_named(tools: Tools) -> None:
    begins = {"c.obj": b"\x64\x86\x01\x00", "c.exe": b"MZ\x90\x00", "m.o": b"\xcf\xfa\xed\xfe", "lto.o": b"BC\xc0\xde"}
    for name, begin in begins.items():
        (tools.work / name).write_bytes(begin + bytes(100))
    _, _, err = verify(tools, *begins)
    assert err == [
        "c.obj: error: offset 0x0: not an ELF file but an object of Windows (COFF) [damaged]",
        "c.exe: error: offset 0x0: not an ELF file but a program of Windows (PE) [damaged]",
        "m.o: error: offset 0x0: not an ELF file but Mach-O [damaged]",
        "lto.o: error: offset 0x0: not an ELF file but LLVM IR [damaged]",
    ]


def test_every_kind_is_described() -> None:
    """Each kind that the code makes is in the table of kinds."""
    from gompy.cli import findings

    text = Path(findings.__file__).read_text()
    used = set(re.findall(r'(?:Finding\(\s*(?:file|part\.report\["file"\]),\s*|_made\(|kind = )"([a-z-]+)"', text))
    used |= set(re.findall(r'"([a-z-]+)" if [a-zC]', text))
    assert used == set(findings.KINDS)


def test_every_kind_has_its_text() -> None:
    """A test of this file has the line of each kind, to its end: ``cause [kind]``."""
    from gompy.cli.findings import KINDS

    shown = Path(__file__).read_text(encoding="utf-8")
    assert {kind for kind in KINDS if not re.search(rf"\S ?\[{kind}\]\"", shown)} == set()

"""The command ``gompy images``: images listed, taken out, replaced and removed; the programs run, tools accept them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from driver_tools import ROOT, Tools, has_all, needs

from gompy.objects.view import ElfView

pytestmark = has_all

MIC = "x86_64-intelmicemul-linux-gnu"
FRUITS = ("apple.c", "banana.c", "citron.c", "main.c")
ON_DEVICE = "on the host: apple_pips 100, banana_bunch 200, citron_drops 300"
ON_HOST = "on the host: apple_pips 111, banana_bunch 211, citron_drops 311"
has_nvptx = needs("x86_64-linux-gnu-accel-nvptx-none-gcc-12")


@pytest.fixture(scope="module")
def built(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """Programs and images in one folder; tests write other names."""
    tools = Tools(bin_folder, tmp_path_factory.mktemp("images"))
    tools.env |= {"LC_ALL": "C", "GOMPY_CUDA_MEMORY": "256M", "GOMPY_CUDA": "emulated"}
    for path in (ROOT / "examples/fruit").iterdir():
        shutil.copy(path, tools.work)
    tools.ok("gompcc", "-g", "-fopenmp", *FRUITS, "-o", "fruit")
    tools.ok("gompcc", "-O2", "-g3", "-fopenmp", *FRUITS, "-o", "other")
    tools.ok("gompy", "images", "extract", "other", "--to", "other.d")
    image = tools.work / "other.d" / f"other.0.{MIC}.so"
    (tools.work / "same.so").write_bytes(image.read_bytes())
    (tools.work / "large.so").write_bytes(image.read_bytes() + bytes(100_000))
    return tools


def sound(tools: Tools, before: str, after: str) -> None:
    """Every section of the old file is in the new one, at its address; readelf has nothing to remark."""
    old, new = (ElfView((tools.work / name).read_bytes(), name) for name in (before, after))
    for one, other in zip(old.sections, new.sections, strict=False):
        assert (one.name, one.type, one.flags, one.address, one.offset, one.size) == (
            other.name,
            other.type,
            other.flags,
            other.address,
            other.offset,
            other.size,
        )
    done = tools.run("readelf", "-aW", after)
    assert (done.returncode, done.stderr) == (0, "") and "arning" not in done.stdout


@pytest.mark.slow
def test_list_and_extract(built: Tools) -> None:
    size = (built.work / "same.so").stat().st_size
    assert built.ok("gompy", "images", "list", "other") == (
        f"  image  target                         bytes  files  regions  vars  name\n"
        f"      0  {MIC}  {size}      1        6     3  other\n"
    )
    assert built.ok("gompy", "images", "extract", "other", "--to", "out") == f"out/other.0.{MIC}.so\n"
    assert "device image" in built.ok("gompy", "inspect", f"out/other.0.{MIC}.so")


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("link", [(), ("-no-pie",), ("-s",), ("-Wl,-z,pack-relative-relocs",), ("-O2", "-fno-plt")])
def test_a_larger_image(built: Tools, link: tuple[str, ...]) -> None:
    """It gets a segment of its own, which strip and gdb know of; the program's regions run from it."""
    done = built.run("gompcc", "-g", "-fopenmp", *link, *FRUITS, "-o", "prog")
    if done.returncode:
        pytest.skip(f"this linker has no {link[0]}")
    said = built.ok("gompy", "images", "replace", "prog", "large.so", "-o", "replaced")
    assert said == f"replaced: image 0 ({MIC}) replaced by large.so\n"
    sound(built, "prog", "replaced")
    assert built.ok("./replaced").splitlines()[-1] == ON_DEVICE
    assert built.run("gompy", "verify", "replaced").returncode == 0
    (row,) = built.ok("gompy", "images", "list", "replaced").splitlines()[1:]
    assert int(row.split()[2]) == (built.work / "large.so").stat().st_size
    built.ok("strip", "-o", "bare", "replaced")
    assert built.ok("./bare").splitlines()[-1] == ON_DEVICE
    built.ok("gompy", "images", "replace", "replaced", "same.so")
    assert built.ok("./replaced").splitlines()[-1] == ON_DEVICE


@needs("gdb")
def test_gdb_finds_lines_and_variables_in_the_result(built: Tools) -> None:
    built.ok("gompy", "images", "replace", "fruit", "large.so", "-o", "replaced")
    for name in ("fruit", "replaced"):
        asked = ("-ex", "info line main", "-ex", "info symbol main", "-ex", "print apple_pips")
        said = built.ok("gdb", "-nx", "-batch", *asked, name)
        assert said.startswith('Line 12 of "main.c" starts at address ') and said.endswith("$1 = 100\n")


def test_an_image_of_a_library(built: Tools) -> None:
    """A library that a program opens; the image is one with another function body."""
    text = "int work (int x)\n{\n#pragma omp target map(x)\n  x += {};\n  return x;\n}\n"
    for name, number in (("one", "1"), ("two", "2")):
        built.write("work.c", text.replace("{}", number))
        built.ok("gompcc", "-fopenmp", "-shared", "-fPIC", "work.c", "-o", f"{name}.so")
    built.ok("gompy", "images", "extract", "two.so", "--to", "two.d")
    built.ok("gompy", "images", "replace", "one.so", f"two.d/two.so.0.{MIC}.so", "-o", "mixed.so")
    sound(built, "one.so", "mixed.so")
    script = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).work(40))"
    results = [built.ok(sys.executable, "-c", script, f"./{name}.so") for name in ("one", "two", "mixed")]
    assert results == ["41\n", "42\n", "42\n"]


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("link", [(), ("-no-pie",), ("-s",)])
def test_strip(built: Tools, link: tuple[str, ...]) -> None:
    built.ok("gompcc", "-g", "-fopenmp", *link, *FRUITS, "-o", "prog")
    assert built.ok("gompy", "images", "strip", "prog") == f"prog: 1 image removed ({MIC})\n"
    done = built.run("./prog", env={"GOMPY_STATS": "1"})
    assert done.stdout.splitlines()[-1] == ON_HOST
    assert done.stderr.endswith("6 on the host: no image for the device has the region's code\n")
    assert built.run("gompy", "images", "list", "prog").stderr == "gompy images: error: prog: no device image\n"
    assert "no device image for its 6 regions" in built.run("gompy", "verify", "prog").stderr


@pytest.mark.slow
@has_nvptx
def test_ptx(built: Tools) -> None:
    """One of two images removed; PTX longer than before put in; a stock program's image removed."""
    built.ok("gompcc", "-fopenmp", "-foffload=nvptx-none,intelmic", *FRUITS, "-o", "both")
    done = built.run("gompy", "images", "replace", "both", "same.so")
    assert done.stderr == (
        f"gompy images: error: both: which image? --image or --target says; there are 0 (nvptx-none), 1 ({MIC})\n"
    )
    files = built.ok("gompy", "images", "extract", "both", "--target", "nvptx", "--to", "ptx").split()
    with open(built.work / files[0], "a", encoding="ascii") as file:
        file.write("// longer\n" * 1000)
    assert len(files) > 10 and files == sorted(files), "a shell's *.ptx has them in order"
    built.ok("gompy", "images", "replace", "both", *files, "--target", "nvptx", "-o", "longer")
    sound(built, "both", "longer")
    done = built.run("./longer", env={"GOMPY_PLUGINS": "nvptx", "GOMPY_STATS": "1"})
    assert done.stdout.splitlines()[-1] == ON_DEVICE and "6 on device 0 (nvptx)" in done.stderr
    done = built.run("gompy", "images", "replace", "both", *files[1:], "--target", "nvptx")
    assert done.stderr == (f"gompy images: error: both: the image has {len(files)} files, {len(files) - 1} are given\n")
    done = built.run("gompy", "images", "replace", "both", files[0], "--target", "nvptx")
    assert done.stderr == f"gompy images: error: both: the image has {len(files)} files, 1 is given\n"
    done = built.run("gompy", "images", "replace", "both", *[files[1]] * len(files), "--target", "nvptx")
    assert done.stderr == "gompy images: error: the PTX has no entry for region apple_peel._omp_fn.0\n"
    assert built.ok("gompy", "images", "strip", "both", "--target", "nvptx") == "both: 1 image removed (nvptx-none)\n"
    done = built.run("./both", env={"GOMPY_STATS": "1"})
    assert done.stderr == "libgompy: regions: 6 on device 0 (intelmic), 0 on the host\n"
    done = built.run("./both", env={"GOMPY_STATS": "1", "GOMPY_PLUGINS": "nvptx"})
    assert "6 on the host: no image for the device has the region's code" in done.stderr
    stock = ("-foffload=nvptx-none", "-foffload-options=nvptx-none=-Wa,--no-verify")
    built.ok("gcc", "-fopenmp", *stock, *FRUITS, "-o", "stock")
    built.ok("gompy", "images", "strip", "stock")
    assert built.ok("./stock").splitlines()[-1] == ON_HOST


@pytest.mark.slow
def test_what_is_refused(built: Tools) -> None:
    built.ok("gompcc", "-fopenmp", "-shared", "-fPIC", "apple.c", "-o", "apple.so")
    built.ok("gompcc", "-fopenmp", "-c", "apple.c")
    built.ok("ar", "rc", "apple.a", "apple.o")
    before = (built.work / "fruit").read_bytes()
    for name, data in (("empty", b""), ("cut", before[:30]), ("narrow", before[:4] + b"\1" + before[5:])):
        (built.work / name).write_bytes(data)
    only = "only 64-bit little-endian ones are supported"
    for words, line in (
        (("list", "missing"), "missing: No such file or directory"),
        (("list", "apple.o"), "apple.o: no executable and no shared library, but an object"),
        (("list", "apple.a"), "apple.a: no executable and no shared library, but an archive"),
        (("strip", "same.so"), "same.so: no executable and no shared library, but a device image"),
        (("list", "main.c"), "main.c: offset 0x0: not an ELF file"),
        (("list", "empty"), "empty: offset 0x0: the file is empty"),
        (("list", "cut"), "cut: offset 0x1e: the file ends within the ELF header"),
        (("list", "narrow"), f"narrow: offset 0x4: a 32-bit little-endian ELF file; {only}"),
        (("list", "."), ".: Is a directory"),
        (("list", "/dev/zero"), "/dev/zero: it is a device, and no file"),
        (("list", "fruit", "--image", "3"), f"fruit: no image is meant by --image 3; there are 0 ({MIC})"),
        (("strip", "fruit", "--target", "gcn"), f"fruit: no image is meant by --target gcn; there are 0 ({MIC})"),
        (("replace", "fruit", "none.so"), "none.so: No such file or directory"),
        (("replace", "fruit", "main.c"), f"what is to be put in is no image for {MIC}"),
        (("replace", "fruit", "same.so", "same.so"), "fruit: the image has 1 file, 2 are given"),
        (("replace", "fruit", "other"), f"what is to be put in is no image for {MIC}"),
        (("strip", "fruit", "-o", "no/such"), "no/such: No such file or directory"),
    ):
        done = built.run("gompy", "images", *words)
        assert done.returncode in (1, 2) and done.stderr == f"gompy images: error: {line}\n"
    built.ok("gompy", "images", "extract", "apple.so", "--to", ".")
    done = built.run("gompy", "images", "replace", "fruit", f"apple.so.0.{MIC}.so")
    assert done.returncode == 1
    assert done.stderr.startswith(f"gompy images: error: apple.so.0.{MIC}.so does not fit fruit: ")
    assert done.stderr.endswith("6 functions and 3 variables announced, the image has 2 and 1\n")
    assert (built.work / "fruit").read_bytes() == before
    assert "examples:" in built.ok("gompy", "images", "--help")
    assert built.run("gompy", "images").returncode == 2


@needs("ld.gold")
def test_a_file_without_room_is_refused(built: Tools) -> None:
    """gold leaves no header that could be spared; an image that fits goes in."""
    built.ok("gompcc", "-O2", "-g3", "-fopenmp", "-fuse-ld=gold", *FRUITS, "-o", "gold")
    size = (built.work / "large.so").stat().st_size
    done = built.run("gompy", "images", "replace", "gold", "large.so")
    assert done.stderr == (
        f"gompy images: error: gold: no program header to spare for the image's {size} bytes (gold and mold leave "
        "none, nor do many libraries); put in one that is not larger than the present one, or link again\n"
    )
    built.ok("gompy", "images", "replace", "gold", "same.so")
    assert built.ok("./gold").splitlines()[-1] == ON_DEVICE


def test_the_result_is_written_at_once(built: Tools) -> None:
    """Mode and name stay, through a link too; the old file is there until the new one is whole."""
    shutil.copy(built.work / "fruit", built.work / "target")
    (built.work / "target").chmod(0o751)
    (built.work / "link").symlink_to("target")
    built.ok("gompy", "images", "strip", "link")
    assert (built.work / "link").is_symlink() and (built.work / "target").stat().st_mode & 0o777 == 0o751
    assert built.ok("./target").splitlines()[-1] == ON_HOST
    assert not [path for path in built.work.iterdir() if path.name.startswith(".")]

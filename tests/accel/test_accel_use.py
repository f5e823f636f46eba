"""Links that use the accelerator compiler: plain gcc's objects on the device, link variables, variants, mixtures."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from accel_tools import COMPILER, call, needs_accel
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gompy.accel import host, probe
from gompy.objects.images import find_images
from gompy.objects.names import ACCEL_TRUE
from gompy.objects.view import ElfView
from gompy.tools import accelstore as store

pytestmark = needs_accel

GCC = "gcc-12" if shutil.which("gcc-12") else "gcc"
MUST = {"OMP_TARGET_OFFLOAD": "mandatory", "OMP_DEFAULT_DEVICE": "0"}
UNIT = """
int omp_is_initial_device(void);
#pragma omp declare target
static int seen_{n};
int state_{n} = {n};
#pragma omp end declare target
int unit_{n}(int x)
{{
#pragma omp target map(tofrom: x)
  {{ seen_{n}++; x += omp_is_initial_device() ? -1000 : state_{n} + seen_{n} - 1; }}
#pragma omp target map(tofrom: x)
  x += seen_{n} == 1 ? 0 : -1000;
  return x;
}}
"""
KINDS = {
    "ours": ("gompcc", ()),
    "ours-lto": ("gompcc", ("-flto",)),
    "plain": (GCC, ()),
    "stock-lto": (GCC, ("-flto",)),
    "stock-fat": (GCC, ("-flto", "-ffat-lto-objects")),
}


def compile_unit(folder: Path, number: int, kind: str) -> Path:
    """An object with two regions and two variables, made once per kind."""
    output = folder / f"u{number}-{kind}.o"
    if not output.exists():
        source = folder / f"u{number}.c"
        source.write_text(UNIT.format(n=number))
        compiler, options = KINDS[kind]
        call(compiler, "-O2", "-fopenmp", *options, "-c", source.name, "-o", output.name, cwd=folder)
    return output


def compile_main(folder: Path, numbers: list[int], kind: str = "plain") -> Path:
    """The program that calls these units; it prints the sum of their numbers if all regions ran on the device."""
    calls = "0"
    for number in numbers:
        calls = f"unit_{number}({calls})"
    stem = "main-" + "-".join(map(str, numbers))
    text = "#include <stdio.h>\n" + "".join(f"int unit_{n}(int);\n" for n in numbers)
    text += f'int main(void) {{ printf("%d\\n", {calls}); return 0; }}\n'
    (folder / f"{stem}.c").write_text(text)
    compiler, options = KINDS[kind]
    call(compiler, "-O2", "-fopenmp", *options, "-c", f"{stem}.c", "-o", f"{stem}.o", cwd=folder)
    return folder / f"{stem}.o"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("accel")


def run(program: Path) -> str:
    """What it prints when every region must run on the device."""
    return call(program, **MUST).stdout.strip()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_object(shop: Path, tmp_path: Path, kind: str) -> None:
    objects = [compile_main(shop, [3, 4]), compile_unit(shop, 3, kind), compile_unit(shop, 4, kind)]
    done = call("gompcc", "-fopenmp", *objects, "-o", tmp_path / "prog")
    assert done.stderr == ""
    assert run(tmp_path / "prog") == "7"


@pytest.mark.parametrize("program", probe.PROGRAMS, ids=lambda p: p.suffix[1:])
def test_programs_of_plain_compilers(tmp_path: Path, program: probe.Program) -> None:
    """declare target link has a pointer in the image, declare variant is the device's; C++ and Fortran."""
    compiler = probe.compiler_of(program, host.choose())
    if not compiler:
        pytest.skip(f"no {program.compiler} of the host compiler's version")
    (tmp_path / f"t{program.suffix}").write_text(program.text)
    call(compiler, "-O2", "-fopenmp", "-c", f"t{program.suffix}", cwd=tmp_path)
    call(program.wrapper, "-fopenmp", "t.o", "-o", "t", cwd=tmp_path, **{program.variable: compiler})
    assert run(tmp_path / "t") == program.expected


def test_image_says_which_compiler_made_it(shop: Path, tmp_path: Path) -> None:
    """accel in the description is 2, the objects are of kinds 3 (plain) and 0 (ours)."""
    objects = [compile_main(shop, [1, 2]), compile_unit(shop, 1, "plain"), compile_unit(shop, 2, "ours")]
    call("gompcc", "-fopenmp", *objects, "-o", tmp_path / "prog")
    images = find_images(ElfView((tmp_path / "prog").read_bytes(), "prog"))
    assert [image.accel for image in images] == [ACCEL_TRUE]
    assert [d.kind for d in images[0].objects] == [3, 0]


def test_bundle_of_ours_and_plain(shop: Path, tmp_path: Path) -> None:
    """ld -r of objects with and without a record: the records' objects are known by id, the others by place."""
    units = [compile_unit(shop, 1, "ours"), compile_unit(shop, 2, "ours"), compile_unit(shop, 5, "plain")]
    call("ld", "-r", *units, "-o", tmp_path / "bundle.o")
    call("gompcc", "-fopenmp", compile_main(shop, [5, 1, 2]), tmp_path / "bundle.o", "-o", tmp_path / "prog")
    assert run(tmp_path / "prog") == "8"


def test_bundle_in_turn_is_refused_by_name(shop: Path, tmp_path: Path) -> None:
    """ld -r sorts retained tables apart from others: positions would be wrong, so the link says so."""
    units = [compile_unit(shop, 1, "plain"), compile_unit(shop, 2, "ours"), compile_unit(shop, 5, "plain")]
    call("ld", "-r", *units, "-o", tmp_path / "bundle.o")
    command = ("gompcc", "-fopenmp", compile_main(shop, [5, 1, 2]), "bundle.o", "-o", "prog")
    done = call(*command, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "mkoffload: fatal error: bundle.o: ld -r joined objects of gompcc and of gcc in turn" in done.stderr


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    units=st.lists(
        st.tuples(st.integers(1, 6), st.sampled_from(sorted(KINDS)), st.booleans()),
        min_size=1,
        max_size=5,
        unique_by=lambda unit: unit[0],
    ),
    main=st.sampled_from(sorted(KINDS)),
)
def test_any_mixture(shop: Path, units: list[tuple[int, str, bool]], main: str) -> None:
    """Objects of all kinds, alone or in an archive, in any order: every region is the one meant, on the device."""
    words: list[Path] = [compile_main(shop, [n for n, _, _ in units], main)]
    members = [compile_unit(shop, n, kind) for n, kind, archived in units if archived]
    words += [compile_unit(shop, n, kind) for n, kind, archived in units if not archived]
    if members:
        archive = shop / "lib.a"
        archive.unlink(missing_ok=True)
        call("ar", "rcs", archive, *members)
        words.append(archive)
    call("gompcc", "-O2", "-fopenmp", *words, "-o", shop / "prog")
    assert run(shop / "prog") == str(sum(n for n, _, _ in units))


def test_v_names_the_compiler(shop: Path, tmp_path: Path) -> None:
    assert COMPILER is not None
    words = ("-v", "-fopenmp", compile_main(shop, [1]), compile_unit(shop, 1, "ours"), "-o", tmp_path / "prog")
    shown = call("gompcc", *words).stderr
    assert f"mkoffload: accelerator compiler: {COMPILER.lto1}" in shown
    assert f"{COMPILER.lto1} -quiet" in shown
    shown = call("gompcc", *words, GOMPY_ACCEL="gcc").stderr
    assert "mkoffload: accelerator compiler: gcc's own lto1" in shown
    assert COMPILER.lto1 not in shown


def test_options_reach_it(shop: Path, tmp_path: Path) -> None:
    """-foffload=intelmic=… comes after the objects' own options."""
    words = ("-v", "-fopenmp", "-foffload=intelmic=-O3 -fno-ipa-icf", compile_main(shop, [1]))
    shown = call("gompcc", *words, compile_unit(shop, 1, "plain"), "-o", tmp_path / "prog").stderr
    line = next(line for line in shown.splitlines() if " -xlto -c" in line)
    assert line.index(" -O2 ") < line.index(" -O3 ") and " -fno-ipa-icf " in line


def test_plain_object_without_it_warns(shop: Path, tmp_path: Path) -> None:
    """GOMPY_ACCEL=gcc: the object is named, and both mends."""
    objects = [compile_main(shop, [1]), compile_unit(shop, 1, "plain")]
    done = call("gompcc", "-fopenmp", *objects, "-o", tmp_path / "prog", GOMPY_ACCEL="gcc")
    assert "u1-plain.o: no device code" in done.stderr
    assert "compile it with gompcc, or take it as it is: gompy accel build" in done.stderr
    assert call(tmp_path / "prog").stdout == "-2000\n" or call(tmp_path / "prog").stdout.startswith("-")


def test_streams_taken_out_warn(shop: Path, tmp_path: Path) -> None:
    """objcopy -R of the streams, but not of the options: tables without device code."""
    objects = [compile_main(shop, [1, 2]), compile_unit(shop, 1, "plain"), tmp_path / "bare.o"]
    patterns = [word for what in ("symtab", "decls", "lto") for word in ("-R", f".gnu.offload_lto_.{what}.*")]
    call("objcopy", "--wildcard", *patterns, compile_unit(shop, 2, "plain"), objects[2])
    done = call("gompcc", "-fopenmp", *objects, "-o", tmp_path / "prog")
    assert "mkoffload: warning: " in done.stderr
    assert "bare.o: has offload tables but no .gnu.offload_lto_ sections" in done.stderr


def test_choice_must_be_known(shop: Path, tmp_path: Path) -> None:
    command = ("gompcc", "-fopenmp", compile_main(shop, [1]), compile_unit(shop, 1, "ours"), "-o", tmp_path / "prog")
    done = call(*command, check=False, GOMPY_ACCEL="yes")
    assert "GOMPY_ACCEL: ‘yes’ is not one of auto, gcc, true" in done.stderr


def test_another_compilers_is_not_taken(shop: Path, tmp_path: Path) -> None:
    """An accelerator compiler that was built for another host compiler: stock for auto, an error for true."""
    assert COMPILER is not None
    place = tmp_path / "data" / "gompy" / "accel" / "gcc-12.1.0"
    place.mkdir(parents=True)
    (place / "lto1").symlink_to(COMPILER.lto1)
    conf = {**COMPILER.conf, "host_identity": "0123", "compiler": "gcc 12.1.0"}
    store.write_conf(str(place / store.CONF), conf)
    changes = {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_DATA_DIRS": str(tmp_path / "none")}
    command = ("gompcc", "-v", "-fopenmp", compile_main(shop, [1]), compile_unit(shop, 1, "ours"))
    done = call(*command, "-o", tmp_path / "prog", **changes)
    assert (
        "accelerator compiler: gcc's own lto1; " in done.stderr
        and "built for another compiler: gcc 12.1.0" in done.stderr
    )
    done = call(*command, "-o", tmp_path / "prog", check=False, GOMPY_ACCEL="true", **changes)
    assert "GOMPY_ACCEL=true, but no accelerator compiler is built" in done.stderr


def test_debug_information(shop: Path, tmp_path: Path) -> None:
    """-g at compile time: the image has line numbers of the regions."""
    (tmp_path / "g.c").write_text(UNIT.format(n=9))
    call(GCC, "-g", "-O1", "-fopenmp", "-c", "g.c", cwd=tmp_path)
    call("gompcc", "-save-temps", "-fopenmp", compile_main(shop, [9]), "g.o", "-o", "prog", cwd=tmp_path)
    assert run(tmp_path / "prog") == "9"
    image = next(tmp_path.glob("*.mkoffload"))
    assert "g.c" in call("readelf", "--debug-dump=decodedline", image).stdout


ON_DEVICE = """
#include <openacc.h>
#include <stdio.h>
int folded (acc_device_t x) { return acc_on_device (x); }
#pragma acc routine nohost
static int twice (int n) { return n * 2; }
int main (void)
{
  int where = -1, x = 0;
#pragma acc parallel copyout (where, x)
  {
    where = acc_on_device (acc_device_not_host) + 2 * acc_on_device (acc_device_host);
    x = acc_on_device ((int) acc_device_not_host) ? twice (21) : 0;
  }
  printf ("%d %d %d\\n", where, x, folded (acc_device_host));
}
"""


def test_acc_on_device_is_folded_for_this_compiler_alone(tmp_path: Path) -> None:
    """GOMPY_ACCEL=true at the compilation: a constant, so `nohost` routines link; gcc's own is refused."""
    (tmp_path / "a.c").write_text(ON_DEVICE)
    call("gompcc", "-fopenacc", "-O2", "-c", "a.c", cwd=tmp_path, GOMPY_ACCEL="true")
    assert "acc_on_device" not in call("nm", "a.o", cwd=tmp_path).stdout
    for choice in ("true", "auto"):
        call("gompcc", "-fopenacc", "a.o", "-o", "prog", cwd=tmp_path, GOMPY_ACCEL=choice)
        assert call("./prog", cwd=tmp_path).stdout == "1 42 1\n"
    done = call("gompcc", "-fopenacc", "a.o", "-o", "prog", cwd=tmp_path, check=False, GOMPY_ACCEL="gcc")
    assert done.returncode and "link them with GOMPY_ACCEL=true, or compile them again" in done.stderr
    call("gompcc", "-fopenacc", "-O2", "-c", "a.c", cwd=tmp_path)
    assert "acc_on_device" in call("nm", "a.o", cwd=tmp_path).stdout

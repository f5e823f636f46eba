"""The examples: each program built by gompy's compilers, run on the emulated device, and its results checked."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A copy of examples/ whose out/ is this test's own."""
    target = tmp_path / "examples"
    shutil.copytree(EXAMPLES, target, ignore=shutil.ignore_patterns("out", "__pycache__"))
    return target


def run(examples: Path, *words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, str(examples / "run.py"), *words], capture_output=True, text=True, timeout=110
    )
    return done.returncode, done.stdout, done.stderr


def pixels(path: Path) -> tuple[int, int, int, bytes]:
    """Width, height, channels and the bytes of a PNG whose rows are unfiltered; checks the checksums."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, []
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert int.from_bytes(data[at + 8 + size : at + 12 + size], "big") == zlib.crc32(kind + body)
        chunks.append((kind, body))
        at += 12 + size
    assert [kind for kind, _ in chunks] == [b"IHDR", b"IDAT", b"IEND"]
    header = chunks[0][1]
    width, height = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:8], "big")
    channels = 3 if header[9] == 2 else 1
    raw, line = zlib.decompress(chunks[1][1]), width * channels + 1
    assert len(raw) == line * height and set(raw[::line]) == {0}
    return width, height, channels, b"".join(raw[i * line + 1 : (i + 1) * line] for i in range(height))


def test_fruit_tables_are_in_link_order(examples: Path) -> None:
    status, output, errors = run(examples, "fruit")
    assert status == 0, errors
    lines = [line.split() for line in output.splitlines() if line.startswith(("funcs ", "vars "))]
    order = ["apple_peel", "apple_core", "banana_peel", "banana_slice", "citron_peel", "citron_juice"]
    assert [line[2] for line in lines[:6]] == [f"{name}._omp_fn.0" for name in order]
    assert [line[2] for line in lines[6:]] == ["apple_pips", "banana_bunch", "citron_drops"]
    assert all(line[2] == line[4] for line in lines)
    assert "6 on device 0 (intelmic)" in output and "WRONG" not in output


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("name", ["cxx", "fortran"])
def test_results_equal_the_hosts(examples: Path, name: str) -> None:
    status, output, errors = run(examples, name)
    assert status == 0, errors
    assert "regions run on the device" in output
    assert output.count("  equal") >= 3 and "DIFFERENT" not in output


@pytest.mark.slow
def test_canny_on_the_device(examples: Path) -> None:
    status, output, errors = run(examples, "canny")
    assert status == 0, errors
    assert "equal to the host's" in output
    stages = [
        line for line in output.splitlines() if "device 0 " in line and not line.startswith(("libgompy", "canny:"))
    ]
    assert len(stages) == 6
    width, height, channels, edges = pixels(examples / "out/edges.png")
    assert (width, height, channels) == (1280, 960, 1)
    assert set(edges) == {0, 255}
    assert 20_000 < edges.count(255) < 200_000
    assert pixels(examples / "out/canny.png")[:3] == (1280, 480, 3)


def canny_on_host(tmp_path: Path) -> Path:
    sources = [str(EXAMPLES / "canny" / name) for name in ("main.c", "canny.c", "jpeg.c", "png.c")]
    program = tmp_path / "canny"
    subprocess.run(["gcc", "-O1", "-fopenmp", "-foffload=disable", *sources, "-lm", "-o", str(program)], check=True)
    return program


@pytest.mark.slow
def test_canny_says_that_it_ran_on_the_host(tmp_path: Path) -> None:
    program = canny_on_host(tmp_path)
    photo = EXAMPLES / "canny/dandelion.jpg"
    done = subprocess.run([program, photo, tmp_path / "e.png"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.count("the host") >= 6 and "device 0" not in done.stdout


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda data: b"", "the file ends too early"),
        (lambda data: b"P6 1 1 255 ", "not a JPEG file"),
        (lambda data: data[: len(data) // 2], "the file ends too early"),
        (lambda data: data.replace(b"\xff\xc0", b"\xff\xc2", 1), "only baseline files are read"),
        (None, "cannot be read"),
    ],
)
def test_damaged_photographs_get_one_line(tmp_path: Path, damage: object, why: str) -> None:
    program = canny_on_host(tmp_path)
    photo = tmp_path / "photo.jpg"
    if damage is not None:
        assert callable(damage)
        photo.write_bytes(damage((EXAMPLES / "canny/dandelion.jpg").read_bytes()))
    done = subprocess.run([program, photo, tmp_path / "e.png"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"canny: error: {photo}: ") and why in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_wrong_result_fails_the_run(examples: Path) -> None:
    source = examples / "fruit/banana.c"
    source.write_text(source.read_text().replace("b.number = 22", "b.number = 23"))
    status, _, errors = run(examples, "fruit")
    assert status == 1
    assert errors.startswith("run.py: error: out/fruit/fruit: exit status 1") and "WRONG" in errors


def test_a_program_that_does_not_compile_fails_the_run(examples: Path) -> None:
    source = examples / "fruit/banana.c"
    source.write_text(source.read_text().replace("int banana_bunch", "nit banana_bunch"))
    status, _, errors = run(examples, "fruit")
    assert status == 1 and "gompcc" in errors and "unknown type name" in errors and "Traceback" not in errors


def test_a_region_on_the_host_fails_the_run(examples: Path) -> None:
    source = examples / "fruit/banana.c"
    source.write_text(source.read_text().replace("map(tofrom: b)", "map(tofrom: b) if(0)"))
    status, _, errors = run(examples, "fruit")
    assert status == 1 and "2 regions ran on the host, not 0" in errors


def test_no_such_example(examples: Path) -> None:
    status, _, errors = run(examples, "durian")
    assert status == 2 and errors == "run.py: error: no such example: durian\n"


def test_the_picture_is_the_same_compressed(tmp_path: Path) -> None:
    sys.path.insert(0, str(EXAMPLES))
    try:
        from run import recompress
    finally:
        sys.path.remove(str(EXAMPLES))
    width, height = 5, 3
    rows = [bytes((x * 40 + y * 7) % 256 for x in range(width * 3)) for y in range(height)]
    chunks = [
        (b"IHDR", width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\0\0\0"),
        (b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows), 0)),
        (b"IEND", b""),
    ]
    body = b"".join(len(b).to_bytes(4, "big") + k + b + zlib.crc32(k + b).to_bytes(4, "big") for k, b in chunks)
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + body)
    recompress(tmp_path / "a.png", tmp_path / "b.png")
    data = (tmp_path / "b.png").read_bytes()
    size = int.from_bytes(data[33:37], "big")
    raw = zlib.decompress(data[41 : 41 + size])
    previous = bytes(width * 3)
    for y, row in enumerate(rows):
        line = raw[y * (width * 3 + 1) :][: width * 3 + 1]
        assert line[0] == 4
        got = bytearray()
        for i, value in enumerate(line[1:]):
            a, b, c = (got[i - 3] if i > 2 else 0), previous[i], (previous[i - 3] if i > 2 else 0)
            pa, pb, pc = abs(b - c), abs(a - c), abs(a + b - 2 * c)
            got.append((value + (a if pa <= pb and pa <= pc else b if pb <= pc else c)) & 255)
        assert bytes(got) == row
        previous = bytes(got)

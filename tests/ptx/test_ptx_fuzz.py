"""Random structured programs (ptx_programs.py) on the executor and in an interpreter: all registers and memory agree.

By hand, for long: `PYTHONPATH=tests python tests/ptx/test_ptx_fuzz.py FIRST LAST`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_programs import CELLS, KINDS, LOCAL, PREFIX, Maker, Program, Writer, expected, record_size

from gompy.ptx.device import CHECK_MEMORY, CHECK_SYNC, LIBRARY, Device, Module

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")

HEAD = ".version 7.0\n.target sm_80\n.address_size 64\n.global .u64 globals;\n"
SHAPES = ((32, 1), (64, 1), (8, 9), (20, 3))
SEEDS = range(16)
BLOCKS = 2


def text_of(programs: list[Program]) -> str:
    return HEAD + "\n".join(Writer(p).text() for p in programs)


def same(have: bytes, want: object, kind: str) -> bool:
    if kind in ("f32", "f64"):
        number = np.frombuffer(have[: 4 if kind == "f32" else 8], dtype=np.float32 if kind == "f32" else np.float64)[0]
        return bool(
            number.tobytes() == np.asarray(want, dtype=number.dtype).tobytes() or (number != number and want != want)
        )
    return int.from_bytes(have, "little") == int(want)  # type: ignore[call-overload]


def compare(device: Device, module: Module, program: Program, shape: tuple[int, int]) -> None:
    """Run a program, and hold what it leaves against what it should."""
    threads, size = shape[0] * shape[1], record_size()
    out, cells = device.upload(bytes(size * threads * BLOCKS)), device.upload(bytes(12 * CELLS))
    module.function(f"k{program.seed}").launch((BLOCKS, 1, 1), (*shape, 1), [out, cells, threads])
    data = device.download(out, size * threads * BLOCKS)
    sums = np.frombuffer(device.download(cells, 12 * CELLS), dtype=np.uint32).tolist()
    frames, wanted = expected(program, BLOCKS, threads)
    thread = 0
    for frame in frames:
        for lane in range(frame.lanes):
            record = data[size * thread : size * (thread + 1)]
            thread += 1
            where = f"seed {program.seed}, blocks of {shape}, thread {thread - 1}"
            if lane in frame.ended:
                assert record == bytes(size), where
                continue
            at = 0
            for kind, count in KINDS.items():
                for index in range(count):
                    name = f"%{PREFIX[kind]}{index}"
                    want = frame.registers[name][lane]
                    assert same(record[at : at + 8], want, kind), (
                        f"{where}: {name}: {record[at : at + 8].hex()}, not {want}"
                    )
                    at += 8
            assert record[at : at + LOCAL] == bytes(frame.local[lane]), f"{where}: local memory"
    assert sums == wanted, f"seed {program.seed}, blocks of {shape}: atomics"


@pytest.fixture(scope="module", params=[0, CHECK_MEMORY | CHECK_SYNC], ids=["plain", "checked"])
def compiled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Device, Module, list[Program]]]:
    seeds = SEEDS if request.param == 0 else SEEDS[::4]
    programs = [Maker(seed).program() for seed in seeds]
    with pytest.MonkeyPatch.context() as patch, Device(1 << 24, request.param) as device:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield device, device.load(text_of(programs)), programs


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("shape", SHAPES, ids=[f"{x}x{y}" for x, y in SHAPES])
def test_programs(compiled: tuple[Device, Module, list[Program]], shape: tuple[int, int]) -> None:
    device, module, programs = compiled
    for program in programs:
        compare(device, module, program, shape)


def test_the_interpreter_notices() -> None:
    """A lane's result that is not the model's is an error."""
    assert not same((5).to_bytes(8, "little"), 6, "u32")
    assert not same(np.float32(1).tobytes() + bytes(4), np.float32(2), "f32")


if __name__ == "__main__":
    first, last = int(sys.argv[1]), int(sys.argv[2])
    bad = 0
    for start in range(first, last, 20):
        batch = [Maker(seed).program() for seed in range(start, min(start + 20, last))]
        for check in (0, CHECK_MEMORY | CHECK_SYNC) if start % 100 == 0 else (0,):
            with Device(1 << 24, check) as made:
                loaded = made.load(text_of(batch))
                for one in batch:
                    for form in SHAPES:
                        try:
                            compare(made, loaded, one, form)
                        except Exception as error:
                            bad += 1
                            print(f"seed {one.seed} {form} check {check}: {str(error)[:300]}", flush=True)
                            break
        print(f"{start + len(batch)} done, {bad} bad", flush=True)

"""Shared memory counts for the kernels that use it (shared.pxi), as ptxas gives it to them."""

from __future__ import annotations

import itertools
import os
import random
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import CHECK_MEMORY, LIBRARY, Device, ExecutorError

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")

HEAD = ".version 6.0\n.target sm_70\n.address_size 64\n"
LIMIT = 49152


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with Device(1 << 24) as found:
        yield found


def writer(variable: str, size: int, name: str = "", space: str = ".shared") -> str:
    """A kernel: each thread writes its number into the variable's end, then gives back what its neighbour wrote."""
    return f"""
    {f".shared .align 4 .b8 {variable}[{size}];" if size else ""}
    .visible .entry {name or variable}_k(.param .u64 out) {{
      .reg .u64 %d<4>; .reg .u32 %r<4>;
      mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4;
      mov.u64 %d2, {variable}; add.u64 %d2, %d2, %d1; st.shared.u32 [%d2+{max(size - 128, 0)}], %r0;
      bar.sync 0;
      xor.b32 %r1, %r0, 1; mul.wide.u32 %d3, %r1, 4;
      mov.u64 %d2, {variable}; add.u64 %d2, %d2, %d3; ld.shared.u32 %r2, [%d2+{max(size - 128, 0)}];
      ld.param.u64 %d0, [out]; add.u64 %d0, %d0, %d1; st.global.u32 [%d0], %r2; ret;
    }}"""


def run(device: Device, module: object, name: str, shared: int = 0) -> None:
    out = device.upload(bytes(128))
    module.function(name).launch((1, 1, 1), (32, 1, 1), [out], shared)  # type: ignore[attr-defined]
    assert list(array("i", device.download(out, 128))) == [n ^ 1 for n in range(32)]


def sizes(device: Device, text: str, *names: str) -> list[int]:
    module = device.load(HEAD + text)
    return [module.function(name).attributes().shared_bytes for name in names]


def test_each_kernel_has_its_own(device: Device) -> None:
    module = device.load(HEAD + "".join(writer(f"v{n}", 40000 + 4 * n) for n in range(8)))
    for n in range(8):
        assert module.function(f"v{n}_k").attributes().shared_bytes == 40000 + 4 * n
        run(device, module, f"v{n}_k")


CALLEE = """
.shared .align 4 .b8 deep[200];
.func helper { .reg .u64 %d; mov.u64 %d, deep; st.shared.u32 [%d], 1; ret; }
.func unused { .reg .u64 %d; mov.u64 %d, never; st.shared.u32 [%d], 1; ret; }
"""


def test_functions_that_are_called_count(device: Device) -> None:
    text = (
        ".shared .align 4 .b8 never[30000];\n" + CALLEE + ".shared .align 4 .b8 own[10];"
        ".visible .entry a { .reg .u64 %d; mov.u64 %d, own; call helper; ret; }"
        ".visible .entry b { call helper; ret; } .visible .entry c { ret; }"
    )
    assert sizes(device, text, "a", "b", "c") == [210, 200, 0]


def test_functions_by_pointer_count(device: Device) -> None:
    """Who calls what it does not name has the variables of all functions whose address is taken."""
    text = (
        ".shared .align 4 .b8 never[30000];\n" + CALLEE + ".global .align 8 .u64 table[1] = { helper };\n"
        ".visible .entry a { .reg .u64 %d; ld.global.u64 %d, [table]; proto: .callprototype _ ();"
        " call %d, (), proto; ret; }"
        ".visible .entry b(.param .u64 f) { .reg .u64 %d; ld.param.u64 %d, [f]; proto: .callprototype _ ();"
        " call %d, (), proto; ret; }"
        ".visible .entry c { ret; }"
    )
    assert sizes(device, text, "a", "b", "c") == [200, 200, 0]


def test_too_much_is_told_with_its_line(device: Device) -> None:
    """ptxas: "Entry function 'v_k' uses too much shared data (0xc004 bytes, 0xc000 max)"; the driver: 218."""
    assert sizes(device, writer("v", LIMIT), "v_k") == [LIMIT]
    with pytest.raises(ExecutorError) as caught:
        device.load(HEAD + writer("w", 64) + writer("v", LIMIT + 4), names=["big.ptx"])
    assert caught.value.code == 218
    assert caught.value.log.startswith(
        "big.ptx:16: error: entry function 'v_k' uses too much shared data (0xc004 bytes, 0xc000 max)"
    )


def test_dynamic_shared_memory_is_beyond_them(device: Device) -> None:
    """It begins behind the variables of the kernel with most, where its alignment wants it."""
    text = writer("v", 40000) + ".extern .shared .align 128 .b8 room[];\n" + writer("room", 0)
    module = device.load(HEAD + text)
    run(device, module, "room_k", 128)
    run(device, module, "v_k")
    assert module.function("room_k").attributes().shared_bytes == 0


def test_names_of_other_objects(device: Device) -> None:
    one = HEAD + ".visible .shared .align 4 .b8 v[300]; .extern .func f; .visible .entry a { call f; ret; }"
    two = (
        HEAD + ".extern .shared .align 4 .b8 v[300]; .visible .shared .align 4 .b8 other[500];"
        ".visible .func f { .reg .u64 %d; mov.u64 %d, v; st.shared.u32 [%d], 1; ret; }"
    )
    module = device.load(one, two)
    assert module.function("a").attributes().shared_bytes == 300


def test_checks_know_whose_a_variable_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another kernel's variable is no memory of this one's, and the line names this one's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = writer("mine", 128) + writer("long", 4096)
    with Device(1 << 24, check=CHECK_MEMORY) as device:
        run(device, device.load(HEAD + text), "mine_k")
        over = text.replace("mov.u64 %d2, mine;", "mov.u64 %d2, mine; add.u64 %d2, %d2, 64;")
        with pytest.raises(ExecutorError) as caught:
            run(device, device.load(HEAD + over), "mine_k")
        assert caught.value.log.endswith("0 bytes past the end of the shared variable 'mine' of 128 bytes")


@pytest.mark.parametrize("seed", range(int(os.environ.get("GOMPY_FUZZ", "4"))))
def test_no_two_of_a_kernel_meet(device: Device, seed: int) -> None:
    """Random programs: the places that a kernel's variables have, seen by the kernel itself, are apart; the size is the
    sum with alignments."""
    any_of = random.Random(seed)
    count = any_of.choice((3, 70))
    variables = [(f"v{n}", any_of.randint(1, 40), any_of.choice((1, 4, 16))) for n in range(count)]
    calls = [any_of.sample(range(n), min(n, any_of.randint(0, 2))) for n in range(6)]
    named = [any_of.sample(range(count), any_of.randint(0, min(5, count))) for _ in range(6)]
    text = "".join(f".shared .align {align} .b8 {name}[{size}];\n" for name, size, align in variables)
    for n in range(6):
        uses = "".join(f"mov.u64 %d, v{v};" for v in named[n]) + "".join(f"call f{c};" for c in calls[n])
        text += f".func f{n} {{ .reg .u64 %d; {uses} ret; }}\n"

    def whole(n: int) -> set[int]:
        return set(named[n]).union(*(whole(c) for c in calls[n]))

    for n in range(6):
        places = "".join(f"mov.u64 %e, v{v}; st.global.u64 [%d+{8 * i}], %e;" for i, v in enumerate(sorted(whole(n))))
        text += f".visible .entry k{n}(.param .u64 out) {{ .reg .u64 %d, %e; ld.param.u64 %d, [out]; {places}"
        text += f" call f{n}; ret; }}\n"
    module = device.load(HEAD + text)
    for n in range(6):
        mine = [variables[v] for v in sorted(whole(n))]
        out = device.upload(bytes(8 * len(mine) + 8))
        module.function(f"k{n}").launch((1, 1, 1), (1, 1, 1), [out])
        places = sorted(zip(array("Q", device.download(out, 8 * len(mine))), mine, strict=True))
        for (here, (_, size, _)), (there, _) in itertools.pairwise(places):
            assert here + size <= there
        assert all(place % align == 0 for place, (_, _, align) in places)
        top = 0
        for _, size, align in mine:
            top = -(-top // align) * align + size
        assert module.function(f"k{n}").attributes().shared_bytes == top

"""Memory of the program's own that is registered: kernels use it at its address."""

from __future__ import annotations

import ctypes
from array import array
from ctypes import byref, c_uint64, c_void_p
from pathlib import Path

import pytest
from cuda_tools import ILLEGAL_ADDRESS, INVALID_VALUE, SUCCESS, Driver, has_driver, has_executor

pytestmark = [has_driver, has_executor, pytest.mark.usefixtures("plain")]
POINTER_ATTRIBUTES = {"type": 2, "device": 3, "host": 4, "ordinal": 9, "start": 11, "size": 12, "mapped": 13}

TEXT = """
.version 7.0 .target sm_70 .address_size 64
.visible .entry triple(.param .u64 of, .param .u64 to, .param .u64 sum, .param .u32 n)
{
  .reg .u64 %a<9>; .reg .u32 %r<9>; .reg .pred %p0;
  ld.param.u64 %a0, [of]; ld.param.u64 %a1, [to]; ld.param.u64 %a2, [sum]; ld.param.u32 %r0, [n];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %p0, %r4, %r0;
  @%p0 ret;
  mul.wide.u32 %a3, %r4, 4;
  add.u64 %a4, %a0, %a3; add.u64 %a5, %a1, %a3;
  ld.global.u32 %r5, [%a4];
  mad.lo.u32 %r5, %r5, 3, 1;
  st.global.u32 [%a5], %r5;
  red.global.add.u32 [%a2], %r5;
  st.global.u32 [%a2+4], 77;
  ld.global.v2.u32 {%r6, %r7}, [%a2];
  ret;
}
"""


@pytest.fixture(params=["plain", "checked"])
def cuda(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Driver:
    if request.param == "checked":
        monkeypatch.setenv("GOMPY_CHECK", "1")
    driver = Driver(tmp_path / "driver").typed()
    driver.context()
    return driver


def run(cuda: Driver, *words: int) -> int:
    """Launch `triple` for 1000 elements."""
    module = cuda.handle("cuModuleLoadData", TEXT.encode())
    function = cuda.handle("cuModuleGetFunction", module, b"triple")
    values = [*(c_uint64(word) for word in words), ctypes.c_uint32(1000)]
    parameters = (c_void_p * 4)(*(ctypes.addressof(value) for value in values))
    cuda.cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, None, parameters, None)
    return int(cuda.cuCtxSynchronize())


def registered(cuda: Driver, values: array[int]) -> int:
    address, _ = values.buffer_info()
    cuda.ok("cuMemHostRegister_v2", address, len(values) * 4, 0)
    return address


def test_a_kernel_reads_and_writes_it(cuda: Driver) -> None:
    of, to, total = array("I", range(1000)), array("I", [0] * 1000), array("I", [0, 0])
    assert run(cuda, registered(cuda, of), registered(cuda, to), registered(cuda, total)) == SUCCESS
    assert list(to) == [3 * n + 1 for n in range(1000)]
    assert list(total) == [sum(to), 77]


def test_read_by_all_lanes_while_other_blocks_write(cuda: Driver) -> None:
    """Lanes that see two numbers at one address saw another block's work, and no local memory."""
    of, to, total = array("I", range(1000)), array("I", [0] * 1000), array("I", [0, 0])
    words = [registered(cuda, values) for values in (of, to, total)]
    assert {run(cuda, *words) for _ in range(50)} == {SUCCESS}
    assert total[0] == 50 * sum(to) % 2**32


def test_past_its_end(cuda: Driver, capfd: pytest.CaptureFixture[str]) -> None:
    of, to, total = array("I", range(1000)), array("I", [0] * 1000), array("I", [0, 0])
    cuda.ok("cuMemHostRegister_v2", of.buffer_info()[0], 4 * 999 + 3, 0)
    assert run(cuda, of.buffer_info()[0], registered(cuda, to), registered(cuda, total)) == ILLEGAL_ADDRESS
    address = of.buffer_info()[0] + 4 * 999
    assert f"illegal address {address:#x} read (4 bytes) in 'triple'" in capfd.readouterr().err


def test_not_any_more(cuda: Driver) -> None:
    of, to, total = array("I", range(1000)), array("I", [0] * 1000), array("I", [0, 0])
    words = registered(cuda, of), registered(cuda, to), registered(cuda, total)
    cuda.ok("cuMemHostUnregister", words[1])
    assert run(cuda, *words) == ILLEGAL_ADDRESS


def test_places_are_used_again(cuda: Driver) -> None:
    """Many ranges one after the other, and some at once."""
    memory = ctypes.create_string_buffer(1 << 16)
    for _ in range(2000):
        cuda.ok("cuMemHostRegister_v2", memory, 4096, 0)
        cuda.ok("cuMemHostUnregister", memory)
    first = ctypes.addressof(memory)
    for n in range(1024):
        cuda.ok("cuMemHostRegister_v2", first + 64 * n, 64, 0)
    assert cuda.cuMemHostRegister_v2(ctypes.create_string_buffer(64), 64, 0) == 2
    for n in range(1024):
        cuda.ok("cuMemHostUnregister", first + 64 * n)


def test_what_it_is(cuda: Driver) -> None:
    memory = ctypes.create_string_buffer(100)
    address, found = ctypes.addressof(memory), {}
    device = c_uint64()
    assert cuda.cuPointerGetAttribute(byref(device), 2, address) == INVALID_VALUE
    cuda.ok("cuMemHostRegister_v2", memory, 100, 2)
    for name, which in POINTER_ATTRIBUTES.items():
        word = c_uint64()
        cuda.ok("cuPointerGetAttribute", byref(word), which, address + 8)
        found[name] = word.value
    assert found == {
        "type": 1,
        "device": address + 8,
        "host": address + 8,
        "ordinal": 0,
        "start": address,
        "size": 100,
        "mapped": 1,
    }


def test_copies_and_fills_take_it_as_the_devices(cuda: Driver) -> None:
    """Its address is one on the device, as far as it goes: also where a call wants the device's side."""
    values, other = array("I", range(64)), array("I", [5] * 64)
    at, plain = registered(cuda, values), other.buffer_info()[0]
    cuda.ok("cuMemcpyHtoD_v2", at + 8, plain, 8)
    cuda.ok("cuMemcpyDtoH_v2", plain, at, 16)
    cuda.ok("cuMemcpyDtoD_v2", at + 128, at, 12)
    cuda.ok("cuMemsetD32_v2", at + 240, 7, 4)
    cuda.ok("cuMemsetD2D8_v2", at + 64, 16, 1, 4, 2)
    assert (list(other[:4]), list(values[:5])) == ([0, 1, 5, 5], [0, 1, 5, 5, 4])
    assert (list(values[32:36]), list(values[59:])) == ([0, 1, 5, 35], [59, 7, 7, 7, 7])
    assert list(values[16:22]) == [0x01010101, 17, 18, 19, 0x01010101, 21]
    assert cuda.cuMemsetD32_v2(at + 240, 8, 5) == INVALID_VALUE
    assert cuda.cuMemcpyHtoD_v2(at + 240, plain, 17) == INVALID_VALUE
    assert cuda.cuMemcpyDtoH_v2(plain, at - 4, 8) == INVALID_VALUE
    cuda.ok("cuMemHostUnregister", at)
    assert cuda.cuMemsetD32_v2(at, 8, 1) == cuda.cuMemcpyHtoD_v2(at, plain, 4) == INVALID_VALUE
    assert values[63] == 7

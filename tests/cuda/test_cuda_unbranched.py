"""What a lane by itself would load if it came to an arm is not accessed when it does not (gompy/ptx/unbranched.py)."""

from __future__ import annotations

import struct
from ctypes import addressof, c_uint64, c_void_p

import pytest
from cuda_tools import ILLEGAL_ADDRESS, SUCCESS, Driver, has_driver, has_executor

pytestmark = [has_driver, has_executor, pytest.mark.usefixtures("plain")]

WALK = """.version 7.0
.target sm_70
.address_size 64
.visible .entry walk(.param .u64 starts, .param .u64 edges, .param .u64 some)
{ .reg .u64 %s, %e, %x, %at, %to, %n; .reg .u32 %t, %k, %end, %v, %w; .reg .pred %p;
  ld.param.u64 %s, [starts]; ld.param.u64 %e, [edges]; ld.param.u64 %n, [some];
  mov.u32 %t, %tid.x; mul.wide.u32 %x, %t, 4; add.u64 %s, %s, %x;
  ld.global.u32 %k, [%s]; ld.global.u32 %end, [%s+4]; setp.ge.u32 %p, %k, %end; @%p bra done;
  mul.wide.u32 %x, %k, 16; add.u64 %at, %e, %x;
  turn: ld.global.u64 %to, [%at]; ld.global.u32 %v, [%at+8];
  setp.lt.s32 %p, %v, 0; @%p bra skip;
  ld.global.u32 %w, [%n]; st.global.u32 [%to], %w;
  skip: add.u32 %k, %k, 1; add.u64 %at, %at, 16; setp.lt.u32 %p, %k, %end; @%p bra turn;
  done: ret; }
"""


@pytest.mark.parametrize(("value", "answer"), [(-1, SUCCESS), (1, ILLEGAL_ADDRESS)])
def test_device_memory_without_pages(cuda: Driver, value: int, answer: int) -> None:
    cuda.context()
    kernel = cuda.handle("cuModuleGetFunction", cuda.handle("cuModuleLoadData", WALK.encode()), b"walk")
    to = cuda.put(bytes(4))
    starts = cuda.put(struct.pack("<33I", *range(0, 99, 3)))
    edges = cuda.put(struct.pack("<QiI", to, value, 0) * 99)
    values = [c_uint64(one) for one in (starts, edges, to + (128 << 20))]
    cuda.ok("cuLaunchKernel", kernel, 1, 1, 1, 32, 1, 1, 0, None, (c_void_p * 3)(*map(addressof, values)), None)
    assert cuda.cuCtxSynchronize() == answer

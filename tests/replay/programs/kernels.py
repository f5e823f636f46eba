"""Launches kernels by the CUDA driver: ``kernels.py all | peers | unload | wait | fail``."""

import sys
from ctypes import CDLL, addressof, byref, c_char_p, c_float, c_int, c_size_t, c_uint64, c_void_p

PTX = rb"""
.version 7.0
.target sm_70
.address_size 64
.global .align 4 .u32 total = 64;
.extern .shared .align 4 .b8 dynamic[];

.visible .entry scale(.param .u64 x, .param .f32 by, .param .u32 n)
{
  .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [x]; ld.param.f32 %f1, [by]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1; @%p1 bra done;
  mul.wide.u32 %rd2, %r5, 4; add.s64 %rd3, %rd1, %rd2;
  ld.global.f32 %f2, [%rd3]; mul.f32 %f3, %f2, %f1; st.global.f32 [%rd3], %f3;
done: ret;
}
.visible .entry count(.param .u32 n)
{
  .reg .b32 %r<5>;
  ld.param.u32 %r1, [n]; ld.global.u32 %r2, [total];
  add.s32 	%r4, %r2, %r1; st.global.u32 [total], %r4;
  ret;
}
// of a list: each element's next, then its number
.visible .entry follow(.param .u64 first)
{
  .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [first]; mov.u32 %r1, 7;
next:
  ld.global.u64 %rd2, [%rd1]; st.global.u32 [%rd1+8], %r1; mov.u64 %rd1, %rd2;
  setp.ne.u64 %p1, %rd1, 0; @%p1 bra next;
  ret;
}
// of the host's memory, by shared memory
.visible .entry turn(.param .u64 x)
{
  .reg .b32 %r<6>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x;
  mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; ld.global.u32 %r3, [%rd3];
  shl.b32 %r4, %r1, 2; mov.u32 %r5, dynamic; add.s32 %r4, %r4, %r5; st.shared.u32 [%r4], %r3;
  bar.sync 0;
  sub.s32 %r2, %r2, %r1; sub.s32 %r2, %r2, 1; shl.b32 %r2, %r2, 2; add.s32 %r2, %r2, %r5;
  ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd3], %r3;
  ret;
}
.visible .entry wait_for(.param .u64 flag, .param .u64 begun)
{
  .reg .pred %p<2>; .reg .f32 %f<2>; .reg .b32 %r<2>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [flag]; ld.param.u64 %rd2, [begun]; mov.u32 %r1, 1; st.volatile.global.u32 [%rd2], %r1;
again:
  ld.volatile.global.f32 %f1, [%rd1]; setp.eq.f32 %p1, %f1, 0f3F800000; @%p1 bra again;
  ret;
}
.visible .entry fail() { trap; }
"""

driver = CDLL("libcuda.so.1")


def call(name, *arguments):
    """A call that must be right."""
    code = getattr(driver, name)(*arguments)
    assert code == 0, (name, code)


def launch(name, block, shared, stream, *parameters):
    """A kernel of one block."""
    function = c_void_p()
    call("cuModuleGetFunction", byref(function), module, name.encode())
    words = (c_void_p * (len(parameters) + 1))(*map(addressof, parameters))
    call("cuLaunchKernel", function, 1, 1, 1, block, 1, 1, shared, stream, words, None)


def block(data):
    """Device memory with some contents."""
    address = c_uint64()
    call("cuMemAlloc_v2", byref(address), c_size_t(len(data)))
    call("cuMemcpyHtoD_v2", address, c_char_p(data), c_size_t(len(data)))
    return address


device, context, module = c_int(), c_void_p(), c_void_p()
call("cuInit", 0)
call("cuDeviceGet", byref(device), 0)
call("cuCtxCreate_v2", byref(context), 0, device)
call("cuModuleLoadData", byref(module), c_char_p(PTX))
x = block(bytes((c_float * 64)(*[1] * 64)))
pinned = c_void_p()
call("cuMemHostAlloc", byref(pinned), c_size_t(128), 0)
host = (c_int * 32).from_address(pinned.value)
if sys.argv[1] == "all":
    second = block(bytes(16))
    first = block(second.value.to_bytes(8, "little") + bytes(8))
    host[:] = range(32)
    launch("scale", 64, 0, None, x, c_float(2), c_int(50))
    launch("count", 1, 0, None, c_int(1))
    launch("follow", 1, 0, None, first)
    launch("turn", 32, 128, None, c_uint64(pinned.value))
    call("cuCtxSynchronize")
    assert host[:] == [*reversed(range(32))]
elif sys.argv[1] == "peers":  # a list through two devices, and memory of the host that the other one has asked for
    peer, other = c_int(), c_void_p()
    call("cuDeviceGet", byref(peer), 1)
    call("cuCtxCreate_v2", byref(other), 0, peer)
    there = block(bytes(16))
    call("cuMemHostAlloc", byref(pinned), c_size_t(128), 0)
    call("cuCtxSetCurrent", context)
    call("cuCtxEnablePeerAccess", other, 0)
    launch("follow", 1, 0, None, block(there.value.to_bytes(8, "little") + bytes(8)))
    launch("turn", 32, 128, None, c_uint64(pinned.value))
    call("cuCtxSynchronize")
elif sys.argv[1] == "unload":
    other, table, size, again = c_void_p(), c_uint64(), c_size_t(), c_uint64()
    call("cuModuleLoadData", byref(other), c_char_p(PTX.replace(b"total = 64", b"total = 64, table[16]")))
    call("cuModuleGetGlobal_v2", byref(table), byref(size), other, b"table")
    call("cuModuleUnload", other)
    for _ in range(20):
        if again.value != table.value:
            call("cuMemAlloc_v2", byref(again), c_size_t(256))
    assert again.value == table.value
    call("cuMemsetD8_v2", again, 1, c_size_t(256))
    launch("scale", 64, 0, None, again, c_float(2), c_int(64))
    call("cuCtxSynchronize")
elif sys.argv[1] == "wait":
    streams = [c_void_p(), c_void_p()]
    for stream in streams:
        call("cuStreamCreate", byref(stream), 1)
    launch("wait_for", 1, 0, streams[0], x, c_uint64(pinned.value))
    while not host[0]:
        pass
    launch("scale", 64, 0, streams[1], x, c_float(3), c_int(64))
    call("cuCtxSynchronize")
    launch("scale", 64, 0, streams[1], x, c_float(5), c_int(64))
    call("cuCtxSynchronize")
else:
    launch("fail", 1, 0, None)
    assert driver.cuCtxSynchronize()
    call("cuCtxDestroy_v2", context)
    call("cuCtxCreate_v2", byref(context), 0, device)
    call("cuModuleLoadData", byref(module), c_char_p(PTX))
    launch("scale", 64, 0, None, block(bytes(256)), c_float(2), c_int(64))
    call("cuCtxSynchronize")

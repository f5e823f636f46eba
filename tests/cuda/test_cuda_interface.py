"""The emulated CUDA driver's entry points: their table, traces, and what later CUDA versions have."""

from __future__ import annotations

import ctypes
import re
import struct
import subprocess
from ctypes import Structure, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path

import pytest
from cuda_tools import (
    ASSERT,
    INVALID_CONTEXT,
    INVALID_HANDLE,
    INVALID_VALUE,
    LIBRARY,
    NO_BINARY_FOR_GPU,
    NOT_FOUND,
    NOT_SUPPORTED,
    OUT_OF_MEMORY,
    SUCCESS,
    Driver,
    has_driver,
    has_executor,
)

from gompy.abi import cuda_calls
from gompy.native import generate_cuda_calls

pytestmark = [has_driver, pytest.mark.usefixtures("plain")]
PAGE = Path(__file__).parents[2] / "docs" / "cuda-coverage.md"
CALLS = cuda_calls.all_calls()

HEAD = ".version 7.0\n.target sm_70\n.address_size 64\n"
STORE = (
    HEAD
    + """
.visible .global .align 4 .u32 seen = 7;
.visible .entry store(.param .u64 to, .param .u32 value)
{
  .reg .u64 %rd0; .reg .u32 %r0;
  ld.param.u64 %rd0, [to];
  ld.param.u32 %r0, [value];
  st.u32 [%rd0], %r0;
  ret;
}
"""
)


def symbols() -> set[str]:
    """What the library exports."""
    done = subprocess.run(["nm", "-D", "--defined-only", str(LIBRARY)], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in done.stdout.splitlines()}


def test_the_table_is_what_is_exported() -> None:
    suffixes = cuda_calls.OWN_SUFFIX
    names = {name for call in CALLS for name in (call.name, call.name + suffixes.get(call.own, ""))}
    assert {name for name in symbols() if name.startswith("cu")} == names
    assert len(CALLS) == len({call.name for call in CALLS})


def test_every_function_of_the_sources_is_in_the_table() -> None:
    folder = Path(generate_cuda_calls.__file__).parents[1] / "cuda"
    text = "".join(path.read_text() for path in folder.glob("*.pxi"))
    names = set(re.findall(r"^cdef public int (cu\w+)", text, re.MULTILINE))
    assert names == {call.name for call in CALLS if call.here}


def test_nothing_is_left_open() -> None:
    done = subprocess.run(["nm", "-D", "-u", str(LIBRARY)], capture_output=True, text=True, check=True)
    assert "driver_cu" not in done.stdout and "find_cuda_call" not in done.stdout


def test_the_page_is_the_tables() -> None:
    assert PAGE.read_text() == generate_cuda_calls.coverage_md()


def test_what_is_not_there_says_so_once(cuda: Driver, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert cuda.library.cuCtxGetExecAffinity(0) == NOT_SUPPORTED
    assert cuda.library.cuArrayGetPlane() == NOT_SUPPORTED
    assert capfd.readouterr().err == (
        "libcuda (gompy): error: cuCtxGetExecAffinity is not implemented\n"
        "libcuda (gompy): error: cuArrayGetPlane is not implemented\n"
    )
    p, status = c_void_p(), c_int()
    assert cuda.library.cuGetProcAddress_v2(b"cuCtxGetExecAffinity", byref(p), 13000, 0, byref(status)) == SUCCESS
    assert p.value is None and status.value == 1


def test_functions_by_version_and_stream(cuda: Driver) -> None:
    p, status = c_void_p(), c_int()

    def found(name: str, version: int, flags: int = 0) -> int | None:
        cuda.ok("cuGetProcAddress_v2", name.encode(), byref(p), version, flags, byref(status))
        return p.value

    def address(name: str) -> int | None:
        return ctypes.cast(getattr(cuda.library, name), c_void_p).value

    assert found("cuMemAlloc", 2000) is None and status.value == 2
    assert found("cuLibraryLoadData", 11080) is None and status.value == 2
    assert found("cuNonsense", 13000) is None and status.value == 1
    assert found("cuMemcpyHtoD", 12000) == address("cuMemcpyHtoD_v2") and status.value == 0
    assert found("cuMemcpyHtoD", 12000, 2) == address("cuMemcpyHtoD_v2_ptds")
    assert found("cuLaunchKernel", 12000, 2) == address("cuLaunchKernel_ptsz")
    assert found("cuLaunchKernel", 12000, 1) == address("cuLaunchKernel")
    assert found("cuMemAlloc", 12000, 2) == address("cuMemAlloc_v2")
    assert cuda.library.cuGetProcAddress_v2(b"cuInit", byref(p), 12000, 3, byref(status)) == INVALID_VALUE


def test_the_threads_own_stream(cuda: Driver) -> None:
    cuda.context()
    one, other = c_uint64(), c_uint64()
    cuda.ok("cuStreamGetId", None, byref(one))
    cuda.library.cuStreamGetId_ptsz.argtypes = [c_void_p, c_void_p]
    cuda.ok("cuStreamGetId_ptsz", None, byref(other))
    assert one.value != other.value
    cuda.ok("cuStreamGetId", 2, byref(one))
    assert one.value == other.value
    cuda.ok("cuStreamGetId_ptsz", 1, byref(one))
    assert one.value != other.value  # CU_STREAM_LEGACY is the default stream whatever the form


@pytest.mark.parametrize(("text", "version"), [("", 13000), ("12.4", 12040), ("11", 11000)])
def test_the_version_can_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, version: int) -> None:
    monkeypatch.setenv("GOMPY_CUDA_VERSION", text)
    number = c_int()
    Driver(tmp_path / "driver").ok("cuDriverGetVersion", byref(number))
    assert number.value == version


@pytest.mark.parametrize(("version", "answer"), [("12.9", SUCCESS), ("13.0", INVALID_CONTEXT)])
def test_before_cuda_13_some_forms_take_no_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, answer: int
) -> None:
    """numba 0.61 calls the name with the highest number with the parameters that it knows."""
    monkeypatch.setenv("GOMPY_CUDA_VERSION", version)
    cuda = Driver(tmp_path / "driver")
    cuda.context()
    assert cuda.cuCtxGetDevice_v2(byref(c_int()), c_void_p(0x1234)) == answer
    assert cuda.cuCtxSynchronize_v2(c_void_p(0x1234)) == answer


def test_a_version_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GOMPY_CUDA_VERSION", "new")
    assert Driver(tmp_path / "driver").cuInit(0) == INVALID_VALUE
    assert capfd.readouterr().err == (
        "libcuda (gompy): error: GOMPY_CUDA_VERSION='new': not a version of CUDA such as 12.4\n"
    )


def test_a_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMPY_CUDA_TRACE", str(tmp_path / "trace"))
    cuda = Driver(tmp_path / "driver")
    cuda.context()
    address = cuda.alloc(400)
    cuda.cuMemFree_v2(address + 4)
    cuda.library.cuGreenCtxCreate()
    lines = (tmp_path / "trace").read_text().splitlines()
    assert lines[0] == "libcuda (gompy): cuInit(Flags=0) = CUDA_SUCCESS"
    assert lines[2:] == [
        f"libcuda (gompy): cuMemAlloc_v2(dptr->{address:#x}, bytesize=400) = CUDA_SUCCESS",
        f"libcuda (gompy): cuMemFree_v2(dptr={address + 4:#x}) = CUDA_ERROR_INVALID_VALUE",
        "libcuda (gompy): cuGreenCtxCreate() = CUDA_ERROR_NOT_SUPPORTED",
    ]


def test_cooperative_launches(cuda: Driver) -> None:
    """As many blocks as the device holds at a time."""
    cuda.context()
    module = cuda.handle("cuModuleLoadData", STORE.encode())
    store, each, processors = cuda.handle("cuModuleGetFunction", module, b"store"), c_int(), cuda.attribute(16)
    to, value = c_uint64(cuda.put(bytes(4))), c_int(5)
    params = (c_void_p * 2)(ctypes.addressof(to), ctypes.addressof(value))
    cuda.ok("cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(each), store, 1024, 0)
    most = each.value * processors
    assert cuda.attribute(95) == 1
    cuda.ok("cuLaunchCooperativeKernel", store, most, 1, 1, 1024, 1, 1, 0, None, params)
    assert cuda.cuLaunchCooperativeKernel(store, most + 1, 1, 1, 1024, 1, 1, 0, None, params) == 720
    cuda.ok("cuCtxSynchronize")
    assert cuda.get(to.value, 4) == b"\5\0\0\0"


def test_launches_with_attributes(cuda: Driver) -> None:
    """Attributes that only tell what is quick have no effect, as a cluster of one block; others are refused."""
    cuda.context()
    store = cuda.handle("cuModuleGetFunction", cuda.handle("cuModuleLoadData", STORE.encode()), b"store")
    to, value, each = c_uint64(cuda.put(bytes(4))), c_int(), c_int()
    params = (c_void_p * 2)(ctypes.addressof(to), ctypes.addressof(value))
    cuda.ok("cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(each), store, 1024, 0)
    too_many = each.value * cuda.attribute(16) + 1

    def launch(kind: int, *words: int, blocks: int = 1) -> int:
        attribute = ctypes.create_string_buffer(struct.pack(f"<ii{len(words)}I", kind, 0, *words).ljust(72, b"\0"))
        config = struct.pack("<7I4xQQI4x", blocks, 1, 1, 32, 1, 1, 0, 0, ctypes.addressof(attribute), 1)
        status: int = cuda.cuLaunchKernelEx(config, store, params, None)
        return status

    assert [launch(2, flag, blocks=too_many * 32) for flag in (1, 0)] == [720, SUCCESS]
    for value.value, kind in enumerate((0, 1, 3, 4, 5, 6, 8, 9, 10, 11, 14, 16), 100):
        assert launch(kind, 1, 1, 1) == SUCCESS, kind
        cuda.ok("cuCtxSynchronize")
        assert cuda.get(to.value, 4) == struct.pack("<i", value.value)
    for cluster in ((2, 1, 1), (1, 2, 1), (1, 1, 2)):
        assert launch(4, *cluster, blocks=2) == NOT_SUPPORTED
    assert [launch(kind, 1) for kind in (7, 12, 13, 99)] == [NOT_SUPPORTED] * 4


def test_memory_is_freed_without_a_context(cuda: Driver) -> None:
    cuda.context()
    address, pinned = cuda.alloc(64), cuda.handle("cuMemAllocHost_v2", 64)
    cuda.ok("cuCtxPopCurrent_v2", byref(c_void_p()))
    assert cuda.cuMemAlloc_v2(byref(c_uint64()), 16) == INVALID_CONTEXT
    cuda.ok("cuMemFree_v2", address)
    cuda.ok("cuMemFreeHost", pinned)
    assert cuda.cuMemFree_v2(address) == INVALID_CONTEXT  # nobody's now
    assert cuda.cuMemFreeHost(pinned) == INVALID_CONTEXT


def test_nothing_is_captured(cuda: Driver) -> None:
    cuda.context()
    status = c_int(9)
    cuda.ok("cuStreamIsCapturing", None, byref(status))
    assert status.value == 0
    status.value = 9
    cuda.ok("cuStreamGetCaptureInfo_v2", None, byref(status), None, None, None, None)
    assert status.value == 0
    mode = c_int(2)
    cuda.ok("cuThreadExchangeStreamCaptureMode", byref(mode))
    assert mode.value == 0
    cuda.ok("cuThreadExchangeStreamCaptureMode", byref(mode))
    assert mode.value == 2


def test_attributes_of_an_address(cuda: Driver) -> None:
    context = cuda.context()
    address = cuda.alloc(100)
    which = (c_int * 4)(1, 2, 9, 12)  # context, memory type, ordinal, size
    answers = (c_uint64 * 4)()
    places = (c_void_p * 4)(*[ctypes.addressof(answers) + 8 * n for n in range(4)])
    cuda.ok("cuPointerGetAttributes", 4, which, places, address + 8)
    assert list(answers) == [context.value, 2, 0, 100]
    cuda.ok("cuPointerGetAttributes", 4, which, places, ctypes.addressof(which))  # the host's
    assert list(answers) == [0, 0, 0xFFFFFFFE, 0]
    assert cuda.library.cuPointerGetAttributes(1, (c_int * 1)(99), places, address) == NOT_SUPPORTED


class Location(Structure):
    """CUmemLocation."""

    _fields_ = (("kind", c_int), ("number", c_int))


class Properties(Structure):
    """CUmemPoolProps."""

    _fields_ = (
        *(("kind", c_int), ("handles", c_int), ("location", Location), ("security", c_void_p)),
        *(("limit", c_size_t), ("usage", ctypes.c_ushort), ("reserved", ctypes.c_ubyte * 54)),
    )


def used(cuda: Driver, pool: c_void_p, which: int = 7) -> int:
    """CU_MEMPOOL_ATTR_USED_MEM_CURRENT, or another."""
    to = c_uint64()
    cuda.ok("cuMemPoolGetAttribute", pool, which, byref(to))
    return to.value


def test_pools(cuda: Driver) -> None:
    cuda.context()
    wanted = Properties(kind=1, location=Location(1, 0), limit=4096)
    pool = cuda.handle("cuMemPoolCreate", byref(wanted))
    address, other = c_uint64(), c_uint64()
    cuda.ok("cuMemAllocFromPoolAsync", byref(address), 3000, pool, None)
    assert cuda.library.cuMemAllocFromPoolAsync(byref(other), 3000, pool, None) == OUT_OF_MEMORY
    assert used(cuda, pool) == 3000
    cuda.ok("cuMemFreeAsync", address, None)
    cuda.ok("cuStreamSynchronize", None)
    assert (used(cuda, pool), used(cuda, pool, 8)) == (0, 3000)
    cuda.ok("cuMemPoolSetAttribute", pool, 8, byref(c_uint64(0)))
    assert used(cuda, pool, 8) == 0
    cuda.ok("cuMemPoolSetAttribute", pool, 4, byref(c_uint64(77)))
    assert used(cuda, pool, 4) == 77
    own = cuda.handle("cuDeviceGetDefaultMemPool", 0)
    assert cuda.handle("cuDeviceGetMemPool", 0).value == own.value != pool.value
    cuda.ok("cuDeviceSetMemPool", 0, pool)
    cuda.ok("cuMemAllocAsync", byref(address), 1000, None)
    assert used(cuda, pool) == 1000 and used(cuda, own) == 0
    cuda.ok("cuMemPoolDestroy", pool)
    assert cuda.library.cuMemPoolDestroy(pool) == INVALID_VALUE == cuda.library.cuMemPoolDestroy(own)
    assert cuda.gompy_cuda_living(8) == 2  # it waits for what is allocated
    cuda.ok("cuMemFree_v2", address)
    assert cuda.gompy_cuda_living(8) == 1
    assert cuda.handle("cuDeviceGetMemPool", 0).value == own.value
    wanted.handles = 1
    assert cuda.library.cuMemPoolCreate(byref(c_void_p()), byref(wanted)) == NOT_SUPPORTED


def library(cuda: Driver, text: str) -> c_void_p:
    """A library of PTX."""
    return cuda.handle("cuLibraryLoadData", text.encode(), None, None, 0, None, None, 0)


def launch(cuda: Driver, kernel: c_void_p, to: int, value: int, entry: str = "cuLaunchKernel") -> None:
    """One thread of a kernel that stores a value."""
    values = (c_uint64(to), c_int(value))
    parameters = (c_void_p * 2)(*[ctypes.addressof(v) for v in values])
    getattr(cuda.library, entry).argtypes = cuda.library.cuLaunchKernel.argtypes
    cuda.ok(entry, kernel, 1, 1, 1, 1, 1, 1, 0, None, parameters, None)
    cuda.ok("cuCtxSynchronize")


@has_executor
def test_a_library_serves_two_contexts(cuda: Driver) -> None:
    cuda.context()
    code = library(cuda, STORE)
    kernel = cuda.handle("cuLibraryGetKernel", code, b"store")
    assert cuda.handle("cuLibraryGetKernel", code, b"store").value == kernel.value
    assert cuda.library.cuLibraryGetKernel(byref(c_void_p()), code, b"none") == NOT_FOUND
    assert cuda.library.cuLibraryGetKernel(byref(c_void_p()), kernel, b"store") == INVALID_HANDLE
    to = cuda.alloc(4)
    launch(cuda, kernel, to, 5)
    assert cuda.get(to, 4) == b"\5\0\0\0"
    first = cuda.handle("cuKernelGetFunction", kernel)
    seen = c_uint64()
    cuda.ok("cuLibraryGetGlobal", byref(seen), None, code, b"seen")
    assert cuda.get(seen.value, 4) == b"\7\0\0\0"
    cuda.context()
    assert cuda.handle("cuKernelGetFunction", kernel).value != first.value
    to = cuda.alloc(4)
    launch(cuda, kernel, to, 6, "cuLaunchKernel_ptsz")
    assert cuda.get(to, 4) == b"\6\0\0\0"
    name = c_char_p()
    cuda.ok("cuKernelGetName", byref(name), kernel)
    assert name.value == b"store"
    assert cuda.handle("cuKernelGetLibrary", kernel).value == code.value
    number, offset, size = c_int(), c_size_t(), c_size_t()
    cuda.ok("cuKernelGetAttribute", byref(number), 0, kernel, 0)
    assert number.value == 1024
    cuda.ok("cuKernelGetParamInfo", kernel, 1, byref(offset), byref(size))
    assert (offset.value, size.value) == (8, 4)
    assert cuda.library.cuKernelGetParamInfo(kernel, 2, byref(offset), byref(size)) == INVALID_VALUE
    cuda.ok("cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(number), kernel, 64, 0)
    assert number.value > 0
    assert cuda.living()[3] == 2
    cuda.ok("cuLibraryUnload", code)
    assert cuda.living()[3:5] == [0, 0] and [cuda.gompy_cuda_living(kind) for kind in (6, 7)] == [0, 0]
    assert cuda.library.cuLibraryUnload(code) == INVALID_HANDLE
    assert cuda.library.cuKernelGetFunction(byref(c_void_p()), kernel) == INVALID_HANDLE


@has_executor
def test_kernels_are_counted_and_listed(cuda: Driver) -> None:
    """Of a module and of a library: kernels alone, in the order of the text, the handles that go by name."""
    function = ".func (.reg .u32 %a) called(.reg .u32 %b) { mov.u32 %a, %b; ret; }\n"
    others = "".join(f".visible .entry k{number}() {{ ret; }}\n" for number in range(3))
    text = HEAD + function + others + STORE.removeprefix(HEAD)
    cuda.context()
    names = [b"k0", b"k1", b"k2", b"store"]
    code, module = library(cuda, text), cuda.handle("cuModuleLoadData", text.encode())
    for kind, owner, what in (("Library", code, "Kernel"), ("Module", module, "Function")):
        count, list_of = f"cu{kind}Get{what}Count", f"cu{kind}Enumerate{what}s"
        number = c_uint()
        cuda.ok(count, byref(number), owner)
        assert number.value == 4
        wanted = [cuda.handle(f"cu{kind}Get{what}", owner, name).value for name in names]
        for room in (4, 2, 0, 7):
            found = (c_void_p * 8)()
            cuda.ok(list_of, found, room, owner)
            assert list(found)[:room] == [*wanted[:room], None, None, None][:room], room
            assert found[7] is None
        assert getattr(cuda.library, count)(None, owner) == INVALID_VALUE
        assert getattr(cuda.library, list_of)(None, 1, owner) == INVALID_VALUE
        other = module if owner is code else code
        assert getattr(cuda.library, count)(byref(number), other) == INVALID_HANDLE
        assert getattr(cuda.library, list_of)(found, 1, other) == INVALID_HANDLE


@has_executor
def test_a_library_that_is_none(cuda: Driver) -> None:
    cuda.context()
    to = c_void_p()
    for text, answer in ((b"\x7fELF\2\1\1", NO_BINARY_FOR_GPU), (b"", 200)):
        assert cuda.library.cuLibraryLoadData(byref(to), text, None, None, 0, None, None, 0) == answer
    assert cuda.gompy_cuda_living(6) == 0


@has_executor
def test_a_context_ends_before_its_library(cuda: Driver, tmp_path: Path) -> None:
    (tmp_path / "code.ptx").write_text(STORE)
    context = cuda.context()
    path = str(tmp_path / "code.ptx").encode()
    code = cuda.handle("cuLibraryLoadFromFile", path, None, None, 0, None, None, 0)
    kernel = cuda.handle("cuLibraryGetKernel", code, b"store")
    cuda.ok("cuCtxDestroy_v2", context)
    cuda.context()
    to = cuda.alloc(4)
    launch(cuda, kernel, to, 3)
    assert cuda.get(to, 4) == b"\3\0\0\0"
    cuda.ok("cuLibraryUnload", code)


ASSERTS = (
    HEAD
    + """
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 text[6] = {120, 32, 62, 32, 50, 0};
.global .align 1 .b8 file[7] = {112, 114, 46, 99, 117, 0, 0};
.global .align 1 .b8 name[2] = {107, 0};
.visible .entry k()
{
  .reg .pred %p; .reg .u32 %r0; .reg .u64 %rd<4>;
  mov.u32 %r0, %tid.x;
  setp.gt.u32 %p, %r0, 2;
  @%p bra good;
  mov.u64 %rd0, text; cvta.global.u64 %rd0, %rd0;
  mov.u64 %rd1, file; cvta.global.u64 %rd1, %rd1;
  mov.u64 %rd2, name; cvta.global.u64 %rd2, %rd2;
  mov.u64 %rd3, 1;
  mov.u32 %r0, 12;
  {
    .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
    st.param.b64 [a], %rd0; st.param.b64 [b], %rd1; st.param.b32 [c], %r0; st.param.b64 [d], %rd2;
    st.param.b64 [e], %rd3;
    call __assertfail, (a, b, c, d, e);
  }
good:
  ret;
}
"""
)


@has_executor
def test_a_failed_assertion_of_each_thread(cuda: Driver, capfd: pytest.CaptureFixture[str]) -> None:
    cuda.context()
    kernel = cuda.handle("cuLibraryGetKernel", library(cuda, ASSERTS), b"k")
    cuda.ok("cuLaunchKernel", kernel, 1, 1, 1, 8, 1, 1, 0, None, None, None)
    assert cuda.cuCtxSynchronize() == ASSERT == cuda.cuCtxSynchronize()
    assert capfd.readouterr().err == "".join(
        f"pr.cu:12: k: block: [0,0,0], thread: [{n},0,0] Assertion `x > 2` failed.\n" for n in range(3)
    )

"""The emulated CUDA driver: linking and loading PTX, functions, launches, faults."""

from __future__ import annotations

import ctypes
import re
from ctypes import byref, c_char, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path

import pytest
from cuda_tools import (
    FILE_NOT_FOUND,
    FUNCTIONS,
    ILLEGAL_ADDRESS,
    INVALID_HANDLE,
    INVALID_IMAGE,
    INVALID_PTX,
    INVALID_VALUE,
    LAUNCH_FAILED,
    LINKS,
    MODULES,
    NO_BINARY_FOR_GPU,
    NOT_FOUND,
    SUCCESS,
    SYMBOL_NOT_FOUND,
    Driver,
    has_driver,
    has_executor,
)

from gompy.abi import cuda as abi

pytestmark = [has_driver, has_executor, pytest.mark.usefixtures("plain")]


@pytest.fixture
def cuda(tmp_path: Path) -> Driver:
    driver = Driver(tmp_path / "driver")
    driver.context()
    return driver


HEAD = """
.version 6.0
.target sm_35
.address_size 64
"""
COMPILER_NOT_FOUND = 221
IS_MANAGED = abi.CU_POINTER_ATTRIBUTE_IS_MANAGED
KERNELS = (
    HEAD
    + """
.visible .global .align 8 .u64 counter[4] = { 5, 6, 7, 8 };
.visible .entry fill(.param .u64 to, .param .u32 value, .param .u32 n)
{
  .reg .u64 %rd<4>; .reg .u32 %r<8>; .reg .pred %p;
  ld.param.u64 %rd0, [to];
  ld.param.u32 %r0, [value];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p, %r5, %r1;
  @%p bra end;
  mul.wide.u32 %rd1, %r5, 4;
  add.u64 %rd2, %rd0, %rd1;
  add.u32 %r6, %r0, %r5;
  st.u32 [%rd2], %r6;
end:
  ret;
}
.visible .entry bump()
{
  .reg .u64 %rd<3>;
  mov.u64 %rd0, counter;
  cvta.global.u64 %rd0, %rd0;
  ld.u64 %rd1, [%rd0];
  add.u64 %rd1, %rd1, 1;
  st.u64 [%rd0], %rd1;
  ret;
}
.visible .entry die()
{
  trap;
  exit;
}
"""
)
USES = (
    HEAD
    + ".extern .func (.param .u32 %out) answer;\n"
    + """
.visible .entry ask(.param .u64 to)
{
  .reg .u64 %rd<2>; .reg .u32 %r<2>;
  ld.param.u64 %rd0, [to];
  {
    .param .u32 %back;
    call (%back), answer;
    ld.param.u32 %r0, [%back];
  }
  st.u32 [%rd0], %r0;
  ret;
}
"""
)
GIVES = (
    HEAD
    + """
.visible .func (.param .u32 %out) answer
{
  .reg .u32 %r0;
  mov.u32 %r0, 42;
  st.param.u32 [%out], %r0;
  ret;
}
"""
)


def load(cuda: Driver, text: str = KERNELS) -> c_void_p:
    """A module of PTX text."""
    return cuda.handle("cuModuleLoadData", text.encode() + b"\0")


def launch(cuda: Driver, function: c_void_p, *arguments: object, grid: int = 1, block: int = 1) -> int:
    """Launch a kernel with ctypes values; the answer of cuLaunchKernel."""
    pointers = (c_void_p * len(arguments))(*(ctypes.addressof(a) for a in arguments))  # type: ignore[arg-type]
    answer: int = cuda.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, None, pointers, None)
    return answer


def words(data: bytes) -> list[int]:
    """32-bit words."""
    return [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]


def test_a_kernel_runs(cuda: Driver) -> None:
    function = cuda.handle("cuModuleGetFunction", load(cuda), b"fill")
    address = cuda.put(bytes(400))
    assert launch(cuda, function, c_uint64(address), c_int(1000), c_int(90), grid=3, block=32) == SUCCESS
    cuda.ok("cuCtxSynchronize")
    assert words(cuda.get(address, 400)) == [*range(1000, 1090), *[0] * 10]


def test_parameters_as_a_block(cuda: Driver) -> None:
    function = cuda.handle("cuModuleGetFunction", load(cuda), b"fill")
    address = cuda.put(bytes(16))
    block = address.to_bytes(8, "little") + (7).to_bytes(4, "little") + (4).to_bytes(4, "little")
    buffer, size = ctypes.create_string_buffer(block, len(block)), c_size_t(len(block))
    extra = (c_void_p * 5)(1, ctypes.addressof(buffer), 2, ctypes.addressof(size), 0)
    cuda.ok("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, None, extra)
    assert words(cuda.get(address, 16)) == [7, 8, 9, 10]
    size.value = 8
    assert cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, None, extra) == INVALID_VALUE
    assert cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, None, None) == INVALID_VALUE


def test_variables(cuda: Driver) -> None:
    module = load(cuda)
    address, size = c_uint64(), c_size_t()
    cuda.ok("cuModuleGetGlobal_v2", byref(address), byref(size), module, b"counter")
    assert size.value == 32
    assert cuda.get(address.value, 32) == b"".join(n.to_bytes(8, "little") for n in (5, 6, 7, 8))
    cuda.ok("cuModuleGetGlobal_v2", byref(address), None, module, b"counter")
    assert cuda.cuModuleGetGlobal_v2(byref(address), None, module, b"nothing") == NOT_FOUND
    base = c_uint64()
    cuda.ok("cuMemGetAddressRange_v2", byref(base), byref(size), address.value + 9)
    assert (base.value, size.value) == (address.value, 32)
    function = cuda.handle("cuModuleGetFunction", module, b"bump")
    for _ in range(10):
        assert launch(cuda, function) == SUCCESS
    assert cuda.get(address.value, 8)[0] == 15
    assert cuda.cuMemFree_v2(address.value) == INVALID_VALUE
    cuda.ok("cuModuleUnload", module)
    assert cuda.cuMemGetAddressRange_v2(byref(base), byref(size), address.value) == NOT_FOUND


def test_handles_of_modules_and_functions(cuda: Driver) -> None:
    module = load(cuda)
    first = cuda.handle("cuModuleGetFunction", module, b"fill")
    assert cuda.handle("cuModuleGetFunction", module, b"fill").value == first.value
    to = c_void_p()
    assert cuda.cuModuleGetFunction(byref(to), module, b"absent") == NOT_FOUND
    assert cuda.cuModuleGetFunction(byref(to), None, b"fill") == INVALID_HANDLE
    assert cuda.living()[MODULES] == 1 == cuda.living()[FUNCTIONS]
    cuda.ok("cuModuleUnload", module)
    assert cuda.living()[MODULES] == 0 == cuda.living()[FUNCTIONS]
    assert cuda.cuModuleUnload(module) == INVALID_HANDLE
    assert launch(cuda, first) == INVALID_HANDLE


def test_attributes_and_occupancy(cuda: Driver) -> None:
    function = cuda.handle("cuModuleGetFunction", load(cuda), b"fill")
    value, grid, block = c_int(), c_int(), c_int()
    cuda.ok("cuFuncGetAttribute", byref(value), 0, function)
    assert value.value == 1024
    cuda.ok("cuFuncGetAttribute", byref(value), 4, function)
    registers = value.value
    assert registers > 0
    cuda.ok("cuFuncGetAttribute", byref(value), 5, function)
    assert value.value == 60
    assert cuda.cuFuncGetAttribute(byref(value), 99, function) == INVALID_VALUE
    cuda.ok("cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(value), function, 256, 0)
    assert value.value == min(8, 65536 // (registers * 256))
    cuda.ok("cuOccupancyMaxPotentialBlockSize", byref(grid), byref(block), function, None, 0, 0)
    assert (block.value, grid.value) == (32, cuda.attribute(16))
    cuda.ok("cuOccupancyMaxPotentialBlockSize", byref(grid), byref(block), function, None, 0, 20)
    assert (block.value, grid.value) == (20, cuda.attribute(16))


@pytest.mark.parametrize(
    "shape",
    [(0, 1, 1, 1, 1, 1), (1, 1, 1, 0, 1, 1), (1, 70000, 1, 1, 1, 1), (1, 1, 1, 2048, 1, 1), (1, 1, 1, 1, 1, 65)],
)
def test_limits_of_a_launch(cuda: Driver, shape: tuple[int, ...]) -> None:
    function = cuda.handle("cuModuleGetFunction", load(cuda), b"bump")
    assert cuda.cuLaunchKernel(function, *shape, 0, None, None, None) == INVALID_VALUE
    assert cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 50000, None, None, None) == INVALID_VALUE
    cuda.ok("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
    cuda.ok("cuCtxSynchronize")


class Link:
    """A link state with logs."""

    def __init__(self, cuda: Driver) -> None:
        self.cuda = cuda
        self.info, self.error = (c_char * 1000)(), (c_char * 1000)()
        self.options = (c_int * 5)(3, 4, 5, 6, 12)
        values = (ctypes.addressof(self.info), 1000, ctypes.addressof(self.error), 1000, 1)
        self.values = (c_void_p * 5)(*values)
        self.state = cuda.handle_last("cuLinkCreate_v2", 5, self.options, self.values)

    def add(self, text: str, name: str | None = None, kind: int = 1) -> int:
        """Add PTX text."""
        data = text.encode() + b"\0"
        given = name.encode() if name else None
        answer: int = self.cuda.cuLinkAddData_v2(self.state, kind, data, len(data), given, 0, None, None)
        return answer

    def complete(self) -> tuple[int, c_void_p, int]:
        """The answer, the image and its size."""
        image, size = c_void_p(), c_size_t()
        answer = self.cuda.cuLinkComplete(self.state, byref(image), byref(size))
        return answer, image, size.value


def ask(cuda: Driver, module: c_void_p) -> int:
    """What the kernel of USES gets from the function of GIVES."""
    address = cuda.put(bytes(4))
    assert launch(cuda, cuda.handle("cuModuleGetFunction", module, b"ask"), c_uint64(address)) == SUCCESS
    return words(cuda.get(address, 4))[0]


def test_objects_are_linked(cuda: Driver) -> None:
    link = Link(cuda)
    assert link.add(USES) == SUCCESS == link.add(GIVES, "gives.o")
    answer, image, size = link.complete()
    assert answer == SUCCESS and size > len(USES) + len(GIVES)
    assert re.match(rb"gompy: 2 PTX objects linked in [\d.]+ ms", link.info.value) and not link.error.value
    assert link.values[1] == len(link.info.value) and not link.values[3]
    module = cuda.handle("cuModuleLoadData", image)
    copy = ctypes.string_at(image, size)
    cuda.ok("cuLinkDestroy", link.state)
    assert cuda.living()[LINKS] == 0
    assert ask(cuda, module) == 42
    assert ask(cuda, cuda.handle("cuModuleLoadData", copy)) == 42  # an image is complete in itself


def test_what_a_link_lacks_is_told(cuda: Driver) -> None:
    link = Link(cuda)
    assert link.add(USES, "uses.o") == SUCCESS
    answer, _, _ = link.complete()
    assert answer == SYMBOL_NOT_FOUND
    assert b"uses.o" in link.error.value and b"answer" in link.error.value
    assert cuda.cuLinkComplete(link.state, None, None) == INVALID_VALUE
    cuda.ok("cuLinkDestroy", link.state)
    assert cuda.cuLinkComplete(link.state, byref(c_void_p()), None) == INVALID_HANDLE


@pytest.mark.parametrize("change", ["mul.wild.u32 %rd1", "ld.global.u32 %rd1; mul.wide.u32 %rd1"])
def test_bad_ptx_is_told_with_its_line(cuda: Driver, capfd: pytest.CaptureFixture[str], change: str) -> None:
    link = Link(cuda)
    bad = KERNELS.replace("mul.wide.u32 %rd1", change)
    line = bad[: bad.index(change)].count("\n") + 1
    answer = link.add(bad, "bad.o")
    if answer == SUCCESS:
        answer, _, _ = link.complete()
    assert answer == INVALID_PTX
    assert f"bad.o:{line}: error: " in link.error.value.decode()
    assert cuda.cuModuleLoadData(byref(c_void_p()), bad.encode() + b"\0") == INVALID_PTX
    assert f":{line}: error: " in capfd.readouterr().err  # no log given: on stderr


def sharing(*sizes: int) -> bytes:
    """A kernel for each size, with so many bytes of shared memory of its own."""
    return (
        HEAD
        + "".join(
            f".visible .entry k{n} {{ .shared .align 4 .b8 v{n}[{size}]; .reg .u64 %d; mov.u64 %d, v{n};"
            " st.shared.u32 [%d], 1; ret; }\n"
            for n, size in enumerate(sizes)
        )
    ).encode() + b"\0"


def test_shared_memory_of_several_kernels(cuda: Driver, capfd: pytest.CaptureFixture[str]) -> None:
    """Each kernel has 48 KiB; what is more is refused where the module is loaded, as by ptxas."""
    module = cuda.handle("cuModuleLoadData", sharing(40000, 49152, 40))
    size = ctypes.c_int()
    for n, wanted in enumerate((40000, 49152, 40)):
        kernel = cuda.handle("cuModuleGetFunction", module, b"k%d" % n)
        cuda.ok("cuFuncGetAttribute", byref(size), 1, kernel)
        assert size.value == wanted
        left = 49152 - wanted
        cuda.ok("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, left, None, None, None)
        assert cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, left + 1, None, None, None) == INVALID_VALUE
    cuda.ok("cuCtxSynchronize")
    assert cuda.cuModuleLoadData(byref(c_void_p()), sharing(40, 49153)) == INVALID_PTX
    line = "entry function 'k1' uses too much shared data (0xc001 bytes, 0xc000 max)"
    assert line in capfd.readouterr().err


@pytest.mark.parametrize(("arch", "block", "processor"), [(70, 96, 96), (75, 64, 64), (80, 163, 164), (86, 99, 100)])
def test_more_shared_memory_by_consent(
    arch: int, block: int, processor: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sizes of CUDA's programming guide; a kernel has more than 48 KiB once it has asked."""
    monkeypatch.setenv("GOMPY_CUDA_DEVICES", f"sm_{arch}")
    cuda = Driver(tmp_path / "driver")
    cuda.context()
    value, most = ctypes.c_int(), block * 1024
    for which, wanted in ((97, most), (81, processor * 1024), (8, 49152)):
        cuda.ok("cuDeviceGetAttribute", byref(value), which, 0)
        assert value.value == wanted
    kernel = cuda.handle("cuModuleGetFunction", cuda.handle("cuModuleLoadData", sharing(4096)), b"k0")
    launch = (kernel, 1, 1, 1, 32, 1, 1)
    assert cuda.cuLaunchKernel(*launch, 49152, None, None, None) == INVALID_VALUE
    assert cuda.cuFuncSetAttribute(kernel, 8, most - 4095) == INVALID_VALUE
    cuda.ok("cuFuncSetAttribute", kernel, 8, most - 4096)
    cuda.ok("cuLaunchKernel", *launch, most - 4096, None, None, None)
    assert cuda.cuLaunchKernel(*launch, most - 4095, None, None, None) == INVALID_VALUE
    cuda.ok("cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(value), kernel, 32, c_size_t(most - 4096))
    assert value.value == 1
    cuda.ok("cuCtxSynchronize")


def test_images_of_other_kinds(cuda: Driver, tmp_path: Path) -> None:
    to = c_void_p()
    assert cuda.cuModuleLoadData(byref(to), b"\x7fELF" + bytes(60)) == NO_BINARY_FOR_GPU
    assert cuda.cuModuleLoadData(byref(to), b"GIF89a") == INVALID_IMAGE
    assert cuda.cuModuleLoadData(byref(to), None) == INVALID_VALUE
    assert cuda.cuModuleLoad(byref(to), b"/nowhere/at/all") == FILE_NOT_FOUND
    (tmp_path / "k.ptx").write_text(KERNELS)
    cuda.ok("cuModuleLoad", byref(to), str(tmp_path / "k.ptx").encode())
    cuda.handle("cuModuleGetFunction", to, b"fill")
    link = Link(cuda)
    assert link.add("\x7fELF", kind=0) == NO_BINARY_FOR_GPU
    newer = Link(cuda)
    assert newer.add(KERNELS.replace("sm_35", "sm_999"), "new.o") == INVALID_PTX
    assert b"new.o: .target sm_999 is newer than the device, sm_80" in newer.error.value


def test_a_compiler_that_does_not_start_is_told_in_one_line(
    cuda: Driver, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("GOMPY_PYTHON", "/no/python")
    assert cuda.cuModuleLoadData(byref(c_void_p()), (KERNELS + "// not compiled before").encode()) == COMPILER_NOT_FOUND
    assert capfd.readouterr().err == (
        "libcuda (gompy): error: the PTX compiler needs Python, which did not start: /no/python (set GOMPY_PYTHON): "
        "No such file or directory\n"
    )


def test_a_host_pointer_on_the_device(cuda: Driver, capfd: pytest.CaptureFixture[str]) -> None:
    function = cuda.handle("cuModuleGetFunction", load(cuda), b"fill")
    cuda.alloc(1234)
    host = ctypes.create_string_buffer(400)
    address = ctypes.addressof(host)
    assert launch(cuda, function, c_uint64(address), c_int(1), c_int(4), block=32) == SUCCESS
    assert cuda.cuCtxSynchronize() == ILLEGAL_ADDRESS
    assert host.raw == bytes(400)
    err = capfd.readouterr().err
    assert err.startswith("libcuda (gompy): error: ") and err.count("\n") == 1
    assert "fill" in err and f"{address:x}" in err and "not device memory" in err
    assert "nearest: block of 1234 bytes at 0x" in err
    # The error stays with the context.
    assert cuda.cuMemAlloc_v2(byref(c_uint64()), 10) == ILLEGAL_ADDRESS
    assert cuda.cuCtxSynchronize() == ILLEGAL_ADDRESS
    assert cuda.cuStreamQuery(None) == ILLEGAL_ADDRESS
    assert launch(cuda, function, c_uint64(0), c_int(1), c_int(4)) == ILLEGAL_ADDRESS
    context = c_void_p()
    cuda.ok("cuCtxGetCurrent", byref(context))
    cuda.ok("cuCtxDestroy_v2", context)
    cuda.context()
    address = cuda.alloc(400)
    function = cuda.handle("cuModuleGetFunction", load(cuda), b"fill")
    assert launch(cuda, function, c_uint64(address), c_int(1), c_int(4)) == SUCCESS
    cuda.ok("cuCtxSynchronize")


def test_unused_device_memory_faults(cuda: Driver, capfd: pytest.CaptureFixture[str]) -> None:
    function = cuda.handle("cuModuleGetFunction", load(cuda), b"fill")
    address = cuda.alloc(400) + (128 << 20)
    assert launch(cuda, function, c_uint64(address), c_int(1), c_int(4)) == SUCCESS
    assert cuda.cuCtxSynchronize() == ILLEGAL_ADDRESS
    assert "bytes past the end of a block of 400 bytes" in capfd.readouterr().err


def test_small_steps_below_a_block(cuda: Driver) -> None:
    """They end in pages that are there, as on a GPU: GCC's tests do it."""
    function = cuda.handle("cuModuleGetFunction", load(cuda), b"fill")
    address = cuda.alloc(400)
    assert launch(cuda, function, c_uint64(address - 4), c_int(1), c_int(2)) == SUCCESS
    cuda.ok("cuCtxSynchronize")


def test_checked_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """With GOMPY_CHECK=1 the first store beyond a block faults; so does one to a freed block."""
    monkeypatch.setenv("GOMPY_CHECK", "1")
    cuda = Driver(tmp_path / "checked")
    context = cuda.context()
    function = cuda.handle("cuModuleGetFunction", load(cuda), b"fill")
    address = cuda.alloc(400)
    assert launch(cuda, function, c_uint64(address), c_int(1), c_int(100), block=128) == SUCCESS
    cuda.ok("cuCtxSynchronize")
    assert launch(cuda, function, c_uint64(address), c_int(1), c_int(101), block=128) == SUCCESS
    assert cuda.cuCtxSynchronize() == ILLEGAL_ADDRESS
    assert "0 bytes past the end of a block of 400 bytes" in capfd.readouterr().err
    cuda.ok("cuCtxDestroy_v2", context)
    cuda.context()
    function = cuda.handle("cuModuleGetFunction", load(cuda), b"fill")
    address = cuda.alloc(4000)
    cuda.ok("cuMemFree_v2", address)
    assert launch(cuda, function, c_uint64(address + 40), c_int(1), c_int(1)) == SUCCESS
    assert cuda.cuCtxSynchronize() == ILLEGAL_ADDRESS
    assert "40 bytes into a freed block of 4000 bytes" in capfd.readouterr().err


@pytest.mark.parametrize("checked", [False, True])
def test_trap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], checked: bool
) -> None:
    """Its place is told with GOMPY_CHECK only: programs end so on purpose."""
    monkeypatch.setenv("GOMPY_CHECK", str(int(checked)))
    cuda = Driver(tmp_path / "trap")
    cuda.context()
    function = cuda.handle("cuModuleGetFunction", load(cuda), b"die")
    stream = cuda.handle("cuStreamCreate", 0)
    cuda.ok("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, stream, None, None)
    assert cuda.cuStreamSynchronize(stream) == LAUNCH_FAILED
    err = capfd.readouterr().err
    assert ("trap in 'die'" in err) if checked else err == ""


def test_a_launch_without_a_current_context(cuda: Driver) -> None:
    """GCC's plugin launches so from threads that have mapped nothing."""
    function = cuda.handle("cuModuleGetFunction", load(cuda), b"bump")
    context = c_void_p()
    cuda.ok("cuCtxPopCurrent_v2", byref(context))
    assert launch(cuda, function) == SUCCESS
    cuda.ok("cuCtxSynchronize")
    cuda.ok("cuCtxPushCurrent_v2", context)


def test_a_function_of_another_context(cuda: Driver) -> None:
    function = cuda.handle("cuModuleGetFunction", load(cuda), b"bump")
    cuda.context()
    assert launch(cuda, function) == INVALID_HANDLE


def test_the_heaps_size_is_chosen_before_it_is_used(cuda: Driver) -> None:
    """cuCtxSetLimit after a kernel that allocates: CUDA_ERROR_INVALID_VALUE, until another context begins."""
    text = """.version 6.0
.target sm_60
.address_size 64
.extern .func (.param .u64 r) malloc (.param .u64 n);
.visible .entry k () { .reg .u64 %n; { .param .u64 n; .param .u64 r; mov.u64 %n, 64; st.param.u64 [n], %n;
call (r), malloc, (n); } ret; }
"""
    cuda.context()
    cuda.ok("cuCtxSetLimit", 2, 16 << 20)
    module, function = c_void_p(), c_void_p()
    cuda.ok("cuModuleLoadData", byref(module), text.encode())
    cuda.ok("cuModuleGetFunction", byref(function), module, b"k")
    cuda.ok("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, None, None)
    cuda.ok("cuCtxSynchronize")
    assert cuda.cuCtxSetLimit(2, 32 << 20) == 1
    cuda.ok("cuCtxSetLimit", 2, 16 << 20)  # as it is
    cuda.context()
    cuda.ok("cuCtxSetLimit", 2, 32 << 20)


DENSE = (
    '.version 6.0.target sm_35.file 2 "<dummy>", 12, 34.func __dummy$func ( );.func __dummy$func ( ){}'
    ".visible .func (.param .u32 %value_out) twice (.param .u32 %in_ar0){.reg .u32 %r<2>;ld.param.u32 %r0,[%in_ar0];"
    "add.u32 %r0,%r0,%r0;st.param.u32 [%value_out],%r0;ret;}"
    ".visible .global .align 8 .u64 $offload_ind_func_table[] = {twice};"
)
"""As GCC's mkoffload writes its table of functions: no newline at all."""


def test_text_without_newlines_and_functions_that_are_no_kernels(cuda: Driver) -> None:
    module = load(cuda, DENSE)
    function = cuda.handle("cuModuleGetFunction", module, b"twice")
    value, size, address = c_int(), c_size_t(), c_uint64()
    cuda.ok("cuFuncGetAttribute", byref(value), 4, function)
    assert value.value > 0
    cuda.ok("cuModuleGetGlobal_v2", byref(address), byref(size), module, b"$offload_ind_func_table")
    assert size.value == 8 and any(cuda.get(address.value, 8))
    to = c_void_p()
    assert cuda.cuModuleGetFunction(byref(to), module, b"__dummy$func") == NOT_FOUND
    launch(cuda, function, c_int(1))  # refused in the stream's order
    assert cuda.cuCtxSynchronize() == INVALID_VALUE


MANAGED = (
    HEAD
    + """
.visible .global .attribute(.managed) .align 4 .u32 counter = 5;
.visible .global .attribute(.managed) .align 8 .u64 place = counter;
.visible .global .align 4 .u32 other = 1;
.visible .entry add(.param .u32 n)
{
  .reg .u32 %r<3>; .reg .u64 %d<2>;
  ld.param.u32 %r0, [n];
  ld.global.u64 %d0, [place];
  ld.global.u32 %r1, [%d0];
  add.u32 %r1, %r1, %r0;
  st.global.u32 [counter], %r1;
  ret;
}
"""
)


@pytest.mark.parametrize("check", ["", "1"])
def test_managed_variables_are_the_hosts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    """.attribute(.managed): the program reads and writes them at the address that the driver tells."""
    monkeypatch.setenv("GOMPY_CHECK", check)
    cuda = Driver(tmp_path / "driver")
    cuda.context()
    library, address, size = c_void_p(), c_uint64(), c_size_t()
    cuda.ok("cuLibraryLoadData", byref(library), MANAGED.encode(), None, None, 0, None, None, 0)
    cuda.ok("cuLibraryGetManaged", byref(address), byref(size), library, b"counter")
    assert size.value == 4
    counter = ctypes.c_uint32.from_address(address.value)
    assert counter.value == 5
    counter.value = 30
    n = ctypes.c_uint32(7)
    words = (c_void_p * 1)(ctypes.addressof(n))
    add = cuda.handle("cuKernelGetFunction", cuda.handle("cuLibraryGetKernel", library, b"add"))
    cuda.ok("cuLaunchKernel", add, 1, 1, 1, 1, 1, 1, 0, None, words, None)
    cuda.ok("cuCtxSynchronize")
    assert counter.value == 37
    managed = c_int()
    cuda.ok("cuPointerGetAttribute", byref(managed), IS_MANAGED, address)
    assert managed.value & 255 == 1
    cuda.ok("cuLibraryGetGlobal", byref(address), None, library, b"counter")
    assert address.value == ctypes.addressof(counter)
    assert cuda.cuMemFree_v2(address) == INVALID_VALUE
    assert cuda.cuLibraryGetManaged(byref(address), byref(size), library, b"other") == NOT_FOUND
    assert cuda.cuLibraryGetManaged(byref(address), byref(size), library, b"none") == NOT_FOUND
    cuda.ok("cuLibraryUnload", library)
    assert cuda.cuPointerGetAttribute(byref(managed), IS_MANAGED, address) == INVALID_VALUE


def test_managed_variables_are_global_ones(cuda: Driver) -> None:
    text = HEAD + ".const .attribute(.managed) .u32 fixed = 5;\n"
    log = ctypes.create_string_buffer(400)
    options, values = (c_int * 2)(5, 6), (c_void_p * 2)(ctypes.addressof(log), 400)
    found = cuda.cuModuleLoadDataEx(byref(c_void_p()), text.encode(), 2, options, values)
    assert found == INVALID_PTX
    assert b"PTX:5: error: '.attribute(.managed)' is for .global variables, not for .const ones" in log.value

"""What the plugins say, from their code, against what tests hold: each piece of a message, or why none has it."""

from __future__ import annotations

from pathlib import Path

from text_pieces import all_held, compiled_files, compiled_pieces

TESTS = Path(__file__).resolve().parents[1]
MEMORY = "malloc or mmap fails"
KERNEL = "the kernel has no process, thread, pipe or lock left"
DRIVER = "a CUDA driver that is older, or real, or fails"
CALLER = "a runtime that calls a plugin wrongly, or an older one"
IMAGE = "an image of another version, or one whose tables do not fit it"
PEER = "a peer that does not keep the protocol, or runs out of memory"
UNTRIED = "a program can bring it about; none of the tests does yet"
UNHELD = {
    MEMORY: (
        *("(intelmic): out of memory", "(intelmic): no memory for", "(intelmic): cannot make its memory"),
        *("nvptx: out of memory", "(nvptx): out of memory", "nvptx: no room for the arguments of a construct"),
        *("): no memory for an image", "): out of memory", "(shared): out of memory", "bytes for"),
        *("(intelmic): no room for what GOMPY_CHECK keeps of",),
        "no stale or unset data, no race is found: set OFFLOAD_EMUL_MEM to less",
    ),
    KERNEL: (
        *("(intelmic): cannot start a thread for a queue", "(intelmic): cannot start a thread"),
        *("(intelmic): cannot make a pipe", "(shared): cannot start a thread", "its worker cannot start a thread"),
        *("was ended at its start by signal", "no random numbers", "(intelmic): GOMPY_CHECK: no more guards"),
        *("(intelmic): GOMPY_CHECK", "(vm.max_map_count is the limit of guarded blocks)"),
    ),
    DRIVER: (
        *("nvptx: GOMPY_CUDA=emulated, but there is no", "nvptx: GOMPY_CUDA=emulated", "cuModuleGetGlobal ("),
        *("Only warp size 32 is supported", "nvptx: the driver has no cuMemsetD8_v2"),
        *("nvptx: the driver has no cuMemHostAlloc", "cannot go on with a region"),
    ),
    CALLER: (
        *("(intelmic) is not initialised", "(nvptx) does not exist", "is not usable", "is not initialised"),
        *(
            "interop: device",
            "(nvptx) is not in use",
            "No target arguments provided",
            "nvptx: the thread has no device",
        ),
        *("(intelmic): a region calls the host, which this runtime cannot serve", "too many images"),
        *("(nvptx): a region calls the host, which this runtime cannot serve", "cannot run a region"),
        *("Offload data incompatible with PTX plugin (expected", "(intelmic): the image registered at"),
        *("(intelmic): no stream for an interoperability object", "(shared): an image for the host itself"),
        "(intelmic): a copy in an interoperability object's stream failed",
    ),
    IMAGE: (
        *("(intelmic): the image is of version", "this plugin takes version 0", "functions were registered"),
        *("nvptx: the image's table of indirect functions has", "it has no variable", "device (shared): cannot load"),
        "nvptx: the image's table of functions for the host has",
        *("(llvm): the image has no", "(llvm): the image of", "has no variable"),
        *("(llvm): LLVM's plugin cannot load the image of", "(llvm): LLVM's plugin cannot load an image by gcc"),
        *("(llvm): LLVM's plugin cannot load an image for GPUs", "(llvm): LLVM's plugin has failed to run a region"),
    ),
    PEER: (
        *("it cannot start a worker; its own output tells why", "its worker was sent a damaged frame"),
        *("a copy to the device has failed", "its worker is out of memory", "a copy within the device has failed"),
        *("its worker was sent what is no frame of the protocol", "its worker was sent a damaged image"),
        "its worker was sent an image that it has not asked for",
    ),
    UNTRIED: ("CUDA's kernels are not launched by plugins of LLVM 14 to 18",),
}
"""Why no test has a piece."""


def test_each_text_is_held_by_a_test() -> None:
    said = compiled_pieces(compiled_files(TESTS.parent / "gompy" / "plugins"))
    texts = all_held(TESTS, Path(__file__).resolve())
    unheld = {piece for group in UNHELD.values() for piece in group}
    assert len(said) > 150
    assert {piece: file for piece, file in said.items() if piece not in texts and piece not in unheld} == {}
    assert unheld <= set(said)

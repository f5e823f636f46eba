"""What the runtime says, from its code, against what tests hold: each piece of a message, or why none has it."""

from __future__ import annotations

from pathlib import Path

from text_pieces import all_held, compiled_files, compiled_pieces

TESTS = Path(__file__).resolve().parents[1]
NO_MEMORY = "malloc fails"
PLUGIN = "a plugin whose operation fails, which none of ours does"
OLD = "images of another version of gompy"
UNHELD = {
    "nothing was written": "write returns 0 for a file",
    "atexit failed": NO_MEMORY,
    "Out of memory allocating": NO_MEMORY,
    "Out of memory for the index of mapped ranges": NO_MEMORY,
    "Python cannot be started": "the kernel has no process left",
    "no room on the device for the arguments of a region": "the device's memory is full to the last bytes",
    "no device memory for the": "the same",
    "bytes of a kernel's arguments": "the same",
    "no device memory for [": "the same, for a map of clang's",
    "the device image has ABI": OLD,
    "this libgompy reads": OLD,
    "link the program again": OLD,
    "in the image; link the program again from objects that are up to date": "tables that disagree in length only",
    "offload plugin managed 'device_num' not of expected format": PLUGIN,
    "image unload fail": PLUGIN,
    "ordering of two queues failed": PLUGIN,
    "ordering of async ids": PLUGIN,
    "wait all failed": PLUGIN,
    "wait all async(": PLUGIN,
    "omp_target_memset failed": PLUGIN,
    "error in freeing managed memory block at": PLUGIN,
    "is not the beginning of such memory on device": PLUGIN,
    "no devices of type": "a plugin that has a type and no device",
    "invalid plugin function": "of GCC 5's plugins",
    "Dynamic reference counting assert fail": "counts that do not agree: a mistake of the runtime's own",
    "outer struct not mapped for attach": "an order of entries that no GCC makes",
    "firstprivate: the descriptor at": "the same",
    "is not part of the construct": "the same",
    "a kernel of": "more arguments than clang passes",
    "words; there may be": "the same",
    "no image for the GPU has it": "a CUDA kernel by clang in a program for another GPU",
    "no image for device": "a region by clang in a program for another device",
    ") has the region's code": "the same",
    "with size": "behind 'present clause: no corresponding data', which is held",
    "what runs beside": "before 'region … is not recorded: others have waited', which is held",
    "the trace ends here: it has": "a trace of 256 MiB",
}
"""Why no test brings a piece about."""


def test_each_text_is_held_by_a_test() -> None:
    said = compiled_pieces(compiled_files(TESTS.parent / "gompy" / "runtime"))
    texts = all_held(TESTS, Path(__file__).resolve())
    assert len(said) > 150 and {"shutdown in 'acc data' region", "gomp_map_vars: unhandled kind 0x"} <= set(said)
    assert {piece: file for piece, file in said.items() if piece not in texts and piece not in UNHELD} == {}
    assert set(UNHELD) <= set(said)

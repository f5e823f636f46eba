"""The words of `gompy_cuda_status` in libcuda.so.1, by which another process reads what the emulated GPUs do (NVML).

An address is the process's; an offset is that of a field in its structure.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

CUDA_STATUS_MAGIC: Final = 0x67706375
"""The first word, once the driver is initialised."""

CUDA_STATUS_WORDS: Final = 32

# --- the index of each word ---
CUDA_STATUS_MAGIC_WORD: Final = 0
CUDA_STATUS_GPUS: Final = 1
CUDA_STATUS_GPU_COUNT: Final = 2
CUDA_STATUS_GPU_SIZE: Final = 3
CUDA_STATUS_GPU_MEMORY: Final = 4
CUDA_STATUS_GPU_HEAP: Final = 5
CUDA_STATUS_STREAMS: Final = 6
CUDA_STATUS_STREAM_SIZE: Final = 7
CUDA_STATUS_STREAM_NEXT: Final = 8
CUDA_STATUS_STREAM_CONTEXT: Final = 9
CUDA_STATUS_STREAM_RUNNING: Final = 10
CUDA_STATUS_STREAM_FIRST: Final = 11
CUDA_STATUS_CONTEXT_DEVICE: Final = 12
CUDA_STATUS_OP_KIND: Final = 13
CUDA_STATUS_KIND_LAUNCH: Final = 14
CUDA_STATUS_KIND_COPY: Final = 15
CUDA_STATUS_KIND_FILL: Final = 16

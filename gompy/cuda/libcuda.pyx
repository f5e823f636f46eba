# cython: language_level=3, cdivision=True, boundscheck=False, wraparound=False, initializedcheck=False
"""libcuda.so.1: the CUDA driver API (docs/cuda.md) for GPUs that are emulated on the host's processors.

Names and numbers are the API's own; behaviour follows the CUDA Driver API reference.  PTX is run by the executor of
gompy/ptx; here are devices, contexts, memory, streams, events, modules and launches.
"""

cdef extern from "gompy/native/cuda_names.h":
    pass

include "libc.pxi"
include "sizes.pxi"
include "executor.pxi"
include "handles.pxi"
include "blocks.pxi"
include "devices.pxi"
include "settings.pxi"
include "pools.pxi"
include "gate.pxi"
include "memory.pxi"
include "registered.pxi"
include "addresses.pxi"
include "services.pxi"
include "contexts.pxi"
include "sharing.pxi"
include "transfers.pxi"
include "node_lists.pxi"
include "shared_events.pxi"
include "events.pxi"
include "kernels.pxi"
include "operations.pxi"
include "places.pxi"
include "stream_order.pxi"
include "graph_memory.pxi"
include "conditions.pxi"
include "user_objects.pxi"
include "graphs.pxi"
include "captures.pxi"
include "streams.pxi"
include "link.pxi"
include "modules.pxi"
include "arrays.pxi"
include "leaks.pxi"
include "lifetimes.pxi"
include "libraries.pxi"
include "watching.pxi"
include "start.pxi"
include "context_calls.pxi"
include "stream_calls.pxi"
include "event_calls.pxi"
include "host_memory.pxi"
include "copies.pxi"
include "launch.pxi"
include "allocation.pxi"
include "device_calls.pxi"
include "kernel_calls.pxi"
include "pool_calls.pxi"
include "graph_launches.pxi"
include "capture_calls.pxi"
include "graph_calls.pxi"
include "node_calls.pxi"
include "condition_calls.pxi"
include "graph_memory_calls.pxi"
include "user_object_calls.pxi"
include "executable_calls.pxi"
include "queries.pxi"
include "sharing_calls.pxi"
include "texture_calls.pxi"
include "array_calls.pxi"
include "stats.pxi"


cdef public size_t gompy_cuda_living(int kind) noexcept nogil:
    """How many handles of a kind are alive (tests look for leaks): 0 contexts, 1 streams, 2 events, 3 modules, 4
    functions, 5 link states, 6 libraries, 7 kernels, 8 memory pools, 9 graphs, 10 nodes, 11 executable graphs, 12
    arrays, 13 user objects."""
    return handle_ranges[kind].alive if 0 <= kind < HANDLE_KINDS else 0

# For monitors (gompy/nvml): what GPUs there are, without cuInit, and where another process reads what they do.

from gompy.native.cuda_status cimport *
from gompy.native.gpu_description cimport gpu_description

cdef extern from *:
    """
    __attribute__ ((visibility ("default"))) uint64_t gompy_cuda_status[32];
    """
    uint64_t gompy_cuda_status[32]


cdef void publish_status() noexcept nogil:
    """Fill the table: the driver is initialised."""
    cdef gpu *g = &gpus[0]
    cdef stream s  # of these three only the distances of members are taken
    cdef context c
    cdef op o
    gompy_cuda_status[CUDA_STATUS_GPUS] = <uint64_t>g
    gompy_cuda_status[CUDA_STATUS_GPU_COUNT] = gpu_count
    gompy_cuda_status[CUDA_STATUS_GPU_SIZE] = sizeof(gpu)
    gompy_cuda_status[CUDA_STATUS_GPU_MEMORY] = <uint64_t>&g.memory.in_use - <uint64_t>g
    gompy_cuda_status[CUDA_STATUS_GPU_HEAP] = <uint64_t>&g.heap.in_use - <uint64_t>g
    gompy_cuda_status[CUDA_STATUS_STREAMS] = <uint64_t>&all_streams
    gompy_cuda_status[CUDA_STATUS_STREAM_SIZE] = sizeof(stream)
    gompy_cuda_status[CUDA_STATUS_STREAM_NEXT] = <uint64_t>&s.next_all - <uint64_t>&s
    gompy_cuda_status[CUDA_STATUS_STREAM_CONTEXT] = <uint64_t>&s.of - <uint64_t>&s
    gompy_cuda_status[CUDA_STATUS_STREAM_RUNNING] = <uint64_t>&s.running - <uint64_t>&s
    gompy_cuda_status[CUDA_STATUS_STREAM_FIRST] = <uint64_t>&s.first - <uint64_t>&s
    gompy_cuda_status[CUDA_STATUS_CONTEXT_DEVICE] = <uint64_t>&c.device - <uint64_t>&c
    gompy_cuda_status[CUDA_STATUS_OP_KIND] = <uint64_t>&o.kind - <uint64_t>&o
    gompy_cuda_status[CUDA_STATUS_KIND_LAUNCH] = LAUNCH_OP
    gompy_cuda_status[CUDA_STATUS_KIND_COPY] = COPY_OP
    gompy_cuda_status[CUDA_STATUS_KIND_FILL] = FILL_OP
    gompy_cuda_status[CUDA_STATUS_MAGIC_WORD] = CUDA_STATUS_MAGIC


cdef public int gompy_gpu_count() noexcept nogil:
    """How many GPUs the environment asks for, whatever CUDA_VISIBLE_DEVICES shows of them; -1 after a message for a
    setting that makes no sense.  Not part of CUDA."""
    cdef int count
    pthread_mutex_lock(&driver_lock)
    count = gpu_count if initialised or read_settings() else -1
    pthread_mutex_unlock(&driver_lock)
    return count


cdef public void gompy_describe_gpu(int ordinal, gpu_description *to) noexcept nogil:
    """What a GPU is, of those that gompy_gpu_count has counted.  Not part of CUDA."""
    cdef gpu *g = &gpus[ordinal]
    memset(to, 0, sizeof(gpu_description))
    to.arch = g.arch
    to.bytes = g.bytes
    to.bus = 0
    to.slot = gpu_slot(ordinal)
    to.driver_version = driver_version
    device_attribute(g, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &to.clock)
    device_attribute(g, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &to.memory_clock)
    device_attribute(g, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &to.bus_width)
    name_gpu(g, to.name, sizeof(to.name))
    write_uuid(ordinal, to.uuid)

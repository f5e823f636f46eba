# Where another process finds what this one does: `gompy top` reads it from /proc/PID/mem (gompy/cli/top_process.py).
# The counters are the runtime's own; nothing is done for a reader but this table of their places, once.

from gompy.native.status cimport *

cdef extern from *:
    """
    /* Words, in the order of gompy/abi/status.py.  */
    GOMPY_EXPORT uint64_t gompy_status[32];
    """
    uint64_t gompy_status[32]


cdef void publish_status() noexcept nogil:
    cdef DeviceDescr dev
    cdef FunctionTable table
    cdef FunctionSlot slot
    gompy_status[STATUS_DEVICES] = <uint64_t> &devices
    gompy_status[STATUS_DEVICE_COUNT] = <uint64_t> &num_devices
    gompy_status[STATUS_HOST_REGIONS] = <uint64_t> &host_regions
    gompy_status[STATUS_DEVICE_SIZE] = sizeof(DeviceDescr)
    gompy_status[STATUS_DEVICE_NAME] = <uint64_t> &dev.name - <uint64_t> &dev
    gompy_status[STATUS_DEVICE_STATE] = <uint64_t> &dev.state - <uint64_t> &dev
    gompy_status[STATUS_DEVICE_LAUNCHES] = <uint64_t> &dev.launches - <uint64_t> &dev
    gompy_status[STATUS_DEVICE_MAPPINGS] = <uint64_t> &dev.mem_map.count - <uint64_t> &dev
    gompy_status[STATUS_DEVICE_TO] = <uint64_t> &dev.bytes_to - <uint64_t> &dev
    gompy_status[STATUS_DEVICE_FROM] = <uint64_t> &dev.bytes_from - <uint64_t> &dev
    gompy_status[STATUS_DEVICE_FUNCTIONS] = <uint64_t> &dev.functions - <uint64_t> &dev
    gompy_status[STATUS_TABLE_MASK] = <uint64_t> &table.mask - <uint64_t> &table
    gompy_status[STATUS_TABLE_SLOTS] = <uint64_t> &table.slots - <uint64_t> &table
    gompy_status[STATUS_SLOT_SIZE] = sizeof(FunctionSlot)
    gompy_status[STATUS_SLOT_HOST] = <uint64_t> &slot.host - <uint64_t> &slot
    gompy_status[STATUS_SLOT_CALLS] = <uint64_t> &slot.calls - <uint64_t> &slot
    gompy_status[STATUS_MAGIC_WORD] = STATUS_MAGIC  # last: the rest is there

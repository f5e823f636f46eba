# A device in this process for the classes of python_view.pxi: its memory is malloc'ed and full of a pattern at first,
# its copies are counted and can be made to fail.

cdef enum:
    MAX_TEST_DEVICES = 64
    FRESH_BYTE = 0xA5

cdef struct TestMemory:
    bint used
    size_t live_blocks
    size_t to_device
    size_t to_host
    bint alloc_fails
    bint copy_fails

cdef TestMemory test_memory[MAX_TEST_DEVICES]


cdef void *test_alloc(int n, size_t size) noexcept nogil:
    cdef void *ptr = NULL if test_memory[n].alloc_fails else malloc(size)
    if ptr != NULL:
        memset(ptr, FRESH_BYTE, size)
        test_memory[n].live_blocks += 1
    return ptr


cdef c_bool test_free(int n, void *ptr) noexcept nogil:
    free(ptr)
    test_memory[n].live_blocks -= 1
    return True


cdef c_bool test_host2dev(int n, void *dst, const void *src, size_t size) noexcept nogil:
    if test_memory[n].copy_fails:
        return False
    memcpy(dst, src, size)
    test_memory[n].to_device += 1
    return True


cdef c_bool test_dev2host(int n, void *dst, const void *src, size_t size) noexcept nogil:
    if test_memory[n].copy_fails:
        return False
    memcpy(dst, src, size)
    test_memory[n].to_host += 1
    return True


cdef int open_test_device(DeviceDescr *dev) noexcept nogil:
    """Make a device ready, outside the device list; -1 if there are too many."""
    cdef int n
    for n in range(MAX_TEST_DEVICES):
        if not test_memory[n].used:
            break
    else:
        return -1
    memset(&test_memory[n], 0, sizeof(TestMemory))
    test_memory[n].used = True
    dev.target_id = n
    dev.name = b"test"
    dev.capabilities = GOMP_OFFLOAD_CAP_OPENMP_400
    dev.state = DEVICE_INITIALIZED
    dev.ops.alloc = test_alloc
    dev.ops.free = test_free
    dev.ops.host2dev = test_host2dev
    dev.ops.dev2host = test_dev2host
    dev.ops.dev2dev = test_host2dev
    gompy_lock_init(&dev.lock)
    return 0


cdef void close_test_device(DeviceDescr *dev) noexcept nogil:
    """Give back what is mapped still."""
    cdef SplayNode *node
    while dev.mem_map.count:
        node = count_owner(node_from(&dev.mem_map, 0))
        remove_key(dev, node)
    gompy_slabs_end(&dev.records, NULL)
    free(dev.spare)
    dev.spare = NULL
    free(dev.stage_room)
    dev.stage_room = NULL
    dev.stage_room_size = 0
    gompy_index_end(&dev.mem_map)
    test_memory[dev.target_id].used = False
    free(dev.links)

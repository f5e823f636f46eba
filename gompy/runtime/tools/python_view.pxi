# The runtime's tree and mapping functions as Python classes: what a program runs on is what the tests run on.  A Device
# is a device in this process (test_device.pxi), outside the program's device list.

from cpython.bytes cimport PyBytes_FromStringAndSize

from gompy.abi import gomp

MAP_KINDS = {
    name.partition("_MAP_")[2].lower(): value for name, value in vars(gomp).items()
    if "_MAP_" in name and "_MAP_FLAG_" not in name
}


class MappingError(RuntimeError):
    """What would end a program: the text is the program's last message."""


cdef python_failure():
    return MappingError((<bytes> gompy_failure).decode(errors="replace"))


cdef class RangeIndexView:
    """The tree of mapped ranges, alone."""

    cdef RangeIndex tree

    def __dealloc__(self):
        cdef SplayNode *node
        while self.tree.count:
            node = node_from(&self.tree, 0)
            range_remove(&self.tree, node)
            free(node)
        gompy_index_end(&self.tree)

    def __len__(self):
        return self.tree.count

    def insert(self, uintptr_t start, uintptr_t end):
        """Add a range; MappingError if it overlaps one that is there."""
        cdef SplayNode *node = <SplayNode *> calloc(1, sizeof(SplayNode))
        if node == NULL:
            raise MemoryError
        node.host_start = start
        node.host_end = end
        if range_insert(&self.tree, node):
            free(node)
            raise python_failure()

    def lookup(self, uintptr_t start, uintptr_t end):
        """A range that overlaps [start, end), or None."""
        cdef SplayNode *node = range_lookup(&self.tree, start, end)
        return None if node == NULL else (node.host_start, node.host_end)

    def lookup_pointer(self, uintptr_t p):
        """The range that a general pointer means, or None."""
        cdef SplayNode *node = lookup_pointer(&self.tree, p)
        return None if node == NULL else (node.host_start, node.host_end)

    def lookup_section(self, uintptr_t start, uintptr_t end):
        """The range of a section that may be empty, or None."""
        cdef SplayNode *node = lookup_section(&self.tree, start, end)
        return None if node == NULL else (node.host_start, node.host_end)

    def remove(self, uintptr_t start, uintptr_t end):
        """Remove the range that is exactly [start, end); KeyError if there is none."""
        cdef SplayNode *node = range_lookup(&self.tree, start, end)
        if node == NULL or node.host_start != start or node.host_end != end:
            raise KeyError((start, end))
        range_remove(&self.tree, node)
        free(node)

    def ranges(self):
        """All ranges, in the tree's order."""
        found = []
        in_order(&self.tree, found)
        return [(start, end) for start, end, _, _ in found]


cdef int in_order(RangeIndex *index, list found) except -1:
    cdef RangeCursor at = all_ranges(index)
    cdef SplayNode *node = next_range(&at)
    cdef SplayNode *owner
    while node != NULL:
        owner = count_owner(node)
        found.append((node.host_start, node.host_end,
                      0 if node.tgt == NULL else device_address(node, node.host_start),
                      None if node.ref_kind in (REF_INFINITY, REF_LINK) else owner.refcount))
        node = next_range(&at)
    return 0


cdef class Lists:
    """A construct's entries as the compiler passes them: (address, size, kind[, log2 of the alignment])."""

    cdef MapList maps

    def __cinit__(self, entries):
        cdef size_t i
        cdef uintptr_t address
        cdef size_t n = len(entries)
        cdef unsigned short *kinds = <unsigned short *> calloc(n + 1, sizeof(unsigned short))
        self.maps = map_list(
            n, <void **> calloc(n + 1, sizeof(void *)), <size_t *> calloc(n + 1, sizeof(size_t)), kinds
        )
        if self.maps.hostaddrs == NULL or self.maps.sizes == NULL or kinds == NULL:
            raise MemoryError
        for i, entry in enumerate(entries):
            address = entry[0]
            self.maps.hostaddrs[i] = <void *> address
            self.maps.sizes[i] = entry[1]
            kinds[i] = entry[2] | (entry[3] if len(entry) > 3 else 3) << 8

    def __dealloc__(self):
        free(self.maps.hostaddrs)
        free(self.maps.sizes)
        free(self.maps.kinds)


cdef class Device:
    """A device with memory of its own in this process, and its mapping table."""

    cdef DeviceDescr dev
    cdef list constructs

    def __cinit__(self):
        if open_test_device(&self.dev):
            raise RuntimeError("too many test devices")
        self.constructs = []

    def __dealloc__(self):
        self.close()

    def close(self):
        """Give back what is mapped still, and the device."""
        if self.dev.ops.alloc != NULL:
            close_test_device(&self.dev)
            self.dev.ops.alloc = NULL

    cdef size_t begin(self, Lists lists, int pragma) except? 0:
        cdef int failed = 0
        cdef TargetMem *tgt = map_vars(&self.dev, &lists.maps, new_stamp(&self.dev), pragma, &failed)
        if failed:
            raise python_failure()
        return <size_t> tgt

    cdef int finish(self, size_t handle) except -1:
        cdef TargetMem *tgt = <TargetMem *> handle
        if tgt.lasting.list_count == 0:
            free(tgt)
        elif unmap_vars(tgt, new_stamp(&self.dev)):
            raise python_failure()
        return 0

    def target(self, entries, region=None):
        """A target construct; region is called with its argument words, read from the device."""
        cdef Lists lists = Lists(entries)
        cdef size_t handle = self.begin(lists, VARS_TARGET)
        cdef TargetMem *tgt = <TargetMem *> handle
        cdef uintptr_t *words = <uintptr_t *> tgt.tgt_start
        try:
            if region is not None:
                region([words[i] for i in range(lists.maps.mapnum)])
        finally:
            self.finish(handle)

    def begin_data(self, entries):
        """Begin of target data; the entries' addresses as use_device_ptr left them."""
        cdef Lists lists = Lists(entries)
        self.constructs.append(self.begin(lists, VARS_DATA))
        return [<uintptr_t> lists.maps.hostaddrs[i] for i in range(lists.maps.mapnum)]

    def end_data(self):
        """End of the innermost target data."""
        self.finish(self.constructs.pop())

    def enter_data(self, entries):
        """target enter data."""
        cdef Lists lists = Lists(entries)
        if enter_data(&self.dev, &lists.maps):
            raise python_failure()

    def exit_data(self, entries):
        """target exit data."""
        cdef Lists lists = Lists(entries)
        if exit_data(&self.dev, &lists.maps):
            raise python_failure()

    def update(self, entries):
        """target update."""
        cdef Lists lists = Lists(entries)
        if update_data(&self.dev, &lists.maps):
            raise python_failure()

    def declare(self, uintptr_t host, uintptr_t address, size_t size):
        """A declare target variable: host range, device address."""
        self.add_key(host, address, size, REF_INFINITY)

    def declare_link(self, uintptr_t host, uintptr_t pointer, size_t size):
        """A declare target link variable whose device pointer is at `pointer`."""
        self.add_key(host, pointer, size, REF_LINK)

    def declare_link_storage(self, uintptr_t host, uintptr_t address, size_t size):
        """A declare target link variable with storage in the image."""
        if add_link(&self.dev, host, size, address, NULL):
            raise python_failure()

    cdef int add_key(self, uintptr_t host, uintptr_t address, size_t size, int ref_kind) except -1:
        cdef TargetMem *tgt = new_target_mem(&self.dev)
        cdef SplayNode *node
        if tgt == NULL:
            raise MemoryError
        tgt.refcount = 1
        node = nodes_of(tgt)
        node.host_start = host
        node.host_end = host + size
        node.tgt = tgt
        node.tgt_offset = address
        node.ref_kind = ref_kind
        node.null_pointer = 1
        if range_insert(&self.dev.mem_map, node):
            free_target_mem(&self.dev, tgt)
            raise python_failure()
        return 0

    def mappings(self):
        """(host start, host end, device address, reference count or None) of all that is mapped, in order."""
        found = []
        in_order(&self.dev.mem_map, found)
        return found

    def address(self, uintptr_t host, size_t size=1):
        """Device address of a host range, or None."""
        cdef SplayNode *node = lookup_mapped(&self.dev.mem_map, host, host + size)
        return None if node == NULL else device_address(node, host)

    def attach_count(self, uintptr_t pointer):
        """How often a pointer is attached."""
        cdef SplayNode *node = lookup_mapped(&self.dev.mem_map, pointer, pointer + sizeof(void *))
        cdef AttachedPointer *counter = NULL if node == NULL else find_attached(node, pointer, False)
        return 0 if counter == NULL else counter.count

    def read(self, uintptr_t address, size_t size):
        """Bytes of the device's memory."""
        return PyBytes_FromStringAndSize(<char *> address, size)

    def write(self, uintptr_t address, bytes data):
        """Change the device's memory."""
        memcpy(<void *> address, <const char *> data, len(data))

    def fail(self, bint alloc=False, bint copy=False):
        """Make allocations or copies fail from now on."""
        test_memory[self.dev.target_id].alloc_fails = alloc
        test_memory[self.dev.target_id].copy_fails = copy

    @property
    def live_blocks(self):
        """Blocks of device memory that are allocated."""
        return test_memory[self.dev.target_id].live_blocks

    @property
    def copies(self):
        """Copies so far, (to the device, to the host)."""
        return test_memory[self.dev.target_id].to_device, test_memory[self.dev.target_id].to_host


def pair(records, objects, host, image, program="program"):
    """Pair host and image tables: records are (id, functions, variables, name), objects the same and a kind.

    host, image: (functions, variables) in the tables.  The lists of image indices of the host's functions and of its
    variables, -1 for none.  MappingError if they disagree.
    """
    cdef Pairing p
    cdef HostRecord *host_records = <HostRecord *> calloc(len(records) + 1, sizeof(HostRecord))
    cdef ObjectDesc *descs = <ObjectDesc *> calloc(len(objects) + 1, sizeof(ObjectDesc))
    cdef long *index = <long *> calloc(host[0] + host[1] + 1, sizeof(long))
    cdef size_t i
    cdef bytes name = program.encode()
    cdef bytes label
    names = [o[3].encode() for o in objects]
    try:
        if host_records == NULL or descs == NULL or index == NULL:
            raise MemoryError
        memset(&p, 0, sizeof(p))
        for i, (ident, nfuncs, nvars, text) in enumerate(records):
            host_records[i].id = ident
            host_records[i].nfuncs = nfuncs
            host_records[i].nvars = nvars
            label = text.encode()[:47]
            memcpy(host_records[i].name, <const char *> label, len(label))
        for i, (ident, nfuncs, nvars, text, kind) in enumerate(objects):
            descs[i].id = ident
            descs[i].nfuncs = nfuncs
            descs[i].nvars = nvars
            descs[i].kind = kind
            descs[i].name = <bytes> names[i]
        p.records = host_records
        p.num_records = len(records)
        p.objects = descs
        p.num_objects = len(objects)
        p.host_funcs = host[0]
        p.host_vars = host[1]
        p.image_funcs = image[0]
        p.image_vars = image[1]
        p.program = name
        p.funcs = index
        p.vars = index + p.host_funcs
        if pair_tables(&p):
            raise python_failure()
        return [p.funcs[i] for i in range(p.host_funcs)], [p.vars[i] for i in range(p.host_vars)]
    finally:
        free(host_records)
        free(descs)
        free(index)

# GOMPY_CUDA_STORES, with GOMPY_CHECK=race: stores to memory that is watched are told (stores.h), races are not.
# As races' launches, those of watched stores run one at a time, in one thread.

cdef extern from "stores.h" nogil:
    struct gompy_stores:
        pass
    bint gompy_stores_open(gompy_stores *, const char *path)
    void gompy_stores_close(gompy_stores *)
    bint gompy_stores_meet(const gompy_stores *, uint64_t address, uint64_t size)
    void gompy_stores_tell(gompy_stores *, uint64_t address, uint32_t size, const char *place, int line,
                           const uint32_t *block, const uint32_t *thread)

cdef struct pending_store:              # the compiled code does it behind the call that notes it
    uint64_t address
    uint32_t size, line
    code_unit *unit
    ptx_module *module
    uint32_t block[3]
    uint32_t thread[3]

cdef gompy_stores watched_stores
cdef bint stores_watched                # of the launch that runs
cdef pending_store pending_stores[32]
cdef int num_pending_stores


cdef void begin_stores() noexcept nogil:
    """A launch begins; race_lock is held."""
    global stores_watched, num_pending_stores
    cdef const char *path = secure_getenv(b"GOMPY_CUDA_STORES")
    num_pending_stores = 0
    stores_watched = path != NULL and path[0] and gompy_stores_open(&watched_stores, path)


cdef void settle_stores() noexcept nogil:
    """The stores that were noted have been done: tell them."""
    global num_pending_stores
    cdef pending_store *store
    cdef ptx_error e
    cdef int i
    for i in range(num_pending_stores):
        store = &pending_stores[i]
        e.source[0] = e.object[0] = 0
        e.line = <int> store.line
        describe_place(store.module, store.unit, store.line, &e)
        if e.source[0]:
            gompy_stores_tell(&watched_stores, store.address, store.size, e.source, e.source_line, store.block,
                              store.thread)
        else:
            gompy_stores_tell(&watched_stores, store.address, store.size, e.object, e.line, store.block, store.thread)
    num_pending_stores = 0


cdef void end_stores() noexcept nogil:
    """The launch is over; race_lock is held."""
    global stores_watched
    if stores_watched:
        settle_stores()
        gompy_stores_close(&watched_stores)
        stores_watched = False


cdef void note_store(gompy_warp *w, int lane, uint64_t address, uint32_t size, code_unit *unit,
                     uint32_t line) noexcept nogil:
    """A store of one lane that is about to be done."""
    global num_pending_stores
    cdef pending_store *store
    cdef int i
    if not gompy_stores_meet(&watched_stores, address, size) or num_pending_stores == 32:
        return
    store = &pending_stores[num_pending_stores]
    store.address, store.size, store.unit, store.line = address, size, unit, line
    store.module = (<run *> w.launch).module
    for i in range(3):
        store.block[i], store.thread[i] = w.ctaid[i], w.tid[i][lane]
    num_pending_stores += 1


cdef void note_stores(gompy_warp *w, uint32_t mask, const uint64_t *a, uint64_t address, uint32_t size, bint writes,
                      code_unit *unit, uint32_t line) noexcept nogil:
    """An access of some lanes, each at its address, or (a: NULL) all at one, where the last lane's value stays."""
    cdef int lane
    if num_pending_stores:
        settle_stores()
    if not writes or not mask:
        return
    if a == NULL:
        note_store(w, gompy_lowest(mask), address, size, unit, line)
        return
    for lane in range(32):
        if mask >> lane & 1:
            note_store(w, lane, a[lane], size, unit, line)

# Interop objects of clang's programs: those of gcc's `interop` directive, made by the plugins
# (doors/openmp/interop.pxi).  The omp_get_ routines are the same functions (gompy/abi/llvm.py, ALIASES).  LLVM:
# OpenMP/InteropAPI.cpp.

cdef enum:
    TGT_INTEROP_TARGETSYNC = 2  # clang's OMPInteropType
    TGT_INTEROP_GET_TARGETSYNC = 1  # of __tgt_interop_get (kmp_interop_type_t of LLVM 22)
    TGT_INTEROP_IMPLICIT = 1  # of TgtInteropContext.flags: of `dispatch`, kept for the thread
    TGT_INTEROP_NOWAIT = 2

cdef struct TgtInteropContext:
    # interop_ctx_t of LLVM 22.
    unsigned version
    unsigned flags
    int thread

cdef struct TgtDependencePack:
    # dep_pack_t of LLVM 22.
    int count
    int more
    TgtDependence *list
    TgtDependence *more_list

ctypedef void (*interop_done_fn)(InteropObject *interop, void *data) noexcept nogil

cdef struct TgtInteropNote:
    # A function to call when an object's work is done; or an object that a thread keeps.
    TgtInteropNote *next
    InteropObject *interop
    interop_done_fn done
    void *data
    int thread
    int device
    int type

cdef TgtInteropNote *interop_calls
cdef TgtInteropNote *interop_kept
cdef pthread_mutex_t interop_notes_lock  # zeros: PTHREAD_MUTEX_INITIALIZER


cdef TgtInteropNote *take_note(TgtInteropNote **list, const InteropObject *interop) noexcept nogil:
    """Take an object's oldest note from a list, or NULL."""
    cdef TgtInteropNote **at = list
    cdef TgtInteropNote *note
    pthread_mutex_lock(&interop_notes_lock)
    while at[0] != NULL and at[0].interop != interop:
        at = &at[0].next
    note = at[0]
    if note != NULL:
        at[0] = note.next
    pthread_mutex_unlock(&interop_notes_lock)
    return note


cdef TgtInteropNote *add_note(TgtInteropNote **list, InteropObject *interop) noexcept nogil:
    """A new note behind the others."""
    cdef TgtInteropNote **at = list
    cdef TgtInteropNote *note = <TgtInteropNote *> calloc(1, sizeof(TgtInteropNote))
    if note == NULL:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(TgtInteropNote))
    note.interop = interop
    pthread_mutex_lock(&interop_notes_lock)
    while at[0] != NULL:
        at = &at[0].next
    at[0] = note
    pthread_mutex_unlock(&interop_notes_lock)
    return note


cdef void await_before_interop(int count, void *list, int more, void *more_list) noexcept nogil:
    """Have libomp wait for a directive's dependences: arrays of kmp_depend_info_t."""
    cdef thread_number_fn thread_number = <thread_number_fn> dlsym(NULL, b"__kmpc_global_thread_num")
    cdef wait_deps_fn wait_deps = <wait_deps_fn> dlsym(NULL, b"__kmpc_omp_wait_deps")
    if count + more > 0 and thread_number != NULL and wait_deps != NULL:
        wait_deps(NULL, thread_number(NULL), count, <TgtDependence *> list, more, <TgtDependence *> more_list)


cdef inline void await_pack(const TgtDependencePack *pack) noexcept nogil:
    if pack != NULL:
        await_before_interop(pack.count, pack.list, pack.more, pack.more_list)


cdef void sync_interop(InteropObject *interop) noexcept nogil:
    """Wait for what an object's stream holds, then call what was asked for."""
    cdef InteropWork work
    cdef TgtInteropNote *note
    memset(&work, 0, sizeof(work))
    work.used = &interop
    work.num_used = 1
    finish_interop(&work)
    note = take_note(&interop_calls, interop)
    while note != NULL:
        note.done(interop, note.data)
        free(note)
        note = take_note(&interop_calls, interop)


cdef void end_interop(InteropObject **interop) noexcept nogil:
    """The same, then the object ends."""
    cdef InteropWork work
    if interop[0] == NULL:
        return
    sync_interop(interop[0])
    free(take_note(&interop_kept, interop[0]))
    memset(&work, 0, sizeof(work))
    work.ended = &interop
    work.num_ended = 1
    finish_interop(&work)


cdef public void tgt_interop_init "gompy_llvm___tgt_interop_init"(
        const TgtIdent *where, int thread, InteropObject **interop, int type, int device, int64_t deps, void *dep_list,
        int nowait) noexcept nogil:
    """`omp interop init`: an object of the device's foreign runtime; of the host omp_interop_none."""
    await_before_interop(<int> deps, dep_list, 0, NULL)
    make_interop(tgt_device(device, where), interop,
                 GOMP_INTEROP_TARGETSYNC if type == TGT_INTEROP_TARGETSYNC else GOMP_INTEROP_TARGET, NULL)


cdef public void tgt_interop_use "gompy_llvm___tgt_interop_use"(
        const TgtIdent *where, int thread, InteropObject **interop, int device, int deps, void *dep_list,
        int nowait) noexcept nogil:
    """`use`: waits for what the stream holds; a `nowait` is not made use of."""
    await_before_interop(deps, dep_list, 0, NULL)
    sync_interop(interop[0])


cdef public void tgt_interop_destroy "gompy_llvm___tgt_interop_destroy"(
        const TgtIdent *where, int thread, InteropObject **interop, int device, int deps, void *dep_list,
        int nowait) noexcept nogil:
    """`destroy`: the same, then the object ends."""
    await_before_interop(deps, dep_list, 0, NULL)
    end_interop(interop)


# --- the forms of LLVM 22
# ---------------------------------------------------------------------------------------------------------------------

cdef InteropObject *find_kept(int thread, int device, int type) noexcept nogil:
    """The object that a thread keeps for a device, or NULL."""
    cdef TgtInteropNote *note
    cdef InteropObject *found = NULL
    pthread_mutex_lock(&interop_notes_lock)
    note = interop_kept
    while note != NULL and found == NULL:
        if note.thread == thread and note.device == device and note.type == type:
            found = note.interop
        note = note.next
    pthread_mutex_unlock(&interop_notes_lock)
    return found


cdef public void *tgt_interop_get "gompy_llvm___tgt_interop_get"(
        const TgtIdent *where, int type, int64_t device, int num_preferred, const void *preferred,
        const TgtInteropContext *context, const TgtDependencePack *pack) noexcept nogil:
    """An object: a new one, or for `dispatch` the thread's own.  A device here has one foreign runtime: what is
    preferred makes no difference, as with LLVM's plugins.
    """
    cdef bint sync = type == TGT_INTEROP_GET_TARGETSYNC
    cdef bint kept = context.flags & TGT_INTEROP_IMPLICIT != 0
    cdef DeviceDescr *dev
    cdef InteropObject *interop = NULL
    cdef TgtInteropNote *note
    if sync:
        await_pack(pack)
    dev = tgt_device(device, where)
    if kept and dev != NULL:
        interop = find_kept(context.thread, dev.number, type)
        if interop != NULL:
            return interop
    make_interop(dev, &interop, GOMP_INTEROP_TARGETSYNC if sync else GOMP_INTEROP_TARGET, NULL)
    if kept and interop != NULL:
        note = add_note(&interop_kept, interop)
        note.device = dev.number
        note.type = type
        note.thread = context.thread
    return interop


cdef public int tgt_interop_use60 "gompy_llvm___tgt_interop_use60"(
        const TgtIdent *where, InteropObject *interop, const TgtInteropContext *context,
        const TgtDependencePack *pack) noexcept nogil:
    """`use`.  With `nowait` the program waits by the stream itself; 0, or -1 for omp_interop_none."""
    if interop == NULL:
        return -1
    await_pack(pack)
    if not context.flags & TGT_INTEROP_NOWAIT or pack != NULL:
        sync_interop(interop)
    return 0


cdef public int tgt_interop_release "gompy_llvm___tgt_interop_release"(
        const TgtIdent *where, InteropObject *interop, const TgtInteropContext *context,
        const TgtDependencePack *pack) noexcept nogil:
    """`destroy`.  0, or -1 for omp_interop_none."""
    if interop == NULL:
        return -1
    await_pack(pack)
    end_interop(&interop)
    return 0


cdef public int tgt_interop_callback "gompy_llvm_ompx_interop_add_completion_callback"(
        InteropObject *interop, void (*done)(InteropObject *, void *) noexcept nogil, void *data) noexcept nogil:
    """Call a function once when what the object's stream holds is done, and somebody has waited for it."""
    cdef TgtInteropNote *note
    if interop == NULL or done == NULL:
        return OMP_IRC_OTHER
    note = add_note(&interop_calls, interop)
    note.done = done
    note.data = data
    return 0


cdef public void tgt_target_sync "gompy_llvm___tgt_target_sync"(
        const TgtIdent *where, int thread, void *task, void *event) noexcept nogil:
    """libomp is where a thread waits: so do the objects that were made for its `dispatch`."""
    cdef TgtInteropNote *note
    cdef InteropObject *found[64]
    cdef int i, count = 0
    if gompy_load_ptr(&interop_kept) == NULL:
        return
    pthread_mutex_lock(&interop_notes_lock)
    note = interop_kept
    while note != NULL and count < 64:
        if note.thread == thread:
            found[count] = note.interop
            count += 1
        note = note.next
    pthread_mutex_unlock(&interop_notes_lock)
    for i in range(count):
        sync_interop(found[i])

# cuUserObject*, cuGraphRetainUserObject: objects of the program that graphs hold.


cdef public int cuUserObjectCreate(void **to, void *data, host_function destroy, unsigned count,
                                   unsigned flags) noexcept nogil:
    """An object with references of the program's own.  The last one's end has a thread of the driver destroy it, which
    nothing waits for: the flag that says so is a must."""
    cdef user_object *u
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or destroy == NULL or count == 0 or count > 2147483647:
        return CUDA_ERROR_INVALID_VALUE
    if flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC:
        return CUDA_ERROR_INVALID_VALUE
    u = <user_object *>new_handle(USER_OBJECT)
    if u == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    u.destroy, u.data, u.references = destroy, data, count
    to[0] = u
    return CUDA_SUCCESS


cdef int enter_object(void *p, unsigned count) noexcept nogil:
    """What a call about an object begins with; with work_lock held if it succeeds."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&work_lock)
    if count and count <= 2147483647 and is_handle(USER_OBJECT, p):
        return CUDA_SUCCESS
    pthread_mutex_unlock(&work_lock)
    return CUDA_ERROR_INVALID_VALUE


cdef public int cuUserObjectRetain(void *p, unsigned count) noexcept nogil:
    """More references of the program's own."""
    cdef int r = enter_object(p, count)
    if r == CUDA_SUCCESS:
        (<user_object *>p).references += count
        pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuUserObjectRelease(void *p, unsigned count) noexcept nogil:
    """Fewer of them."""
    cdef int r = enter_object(p, count)
    if r == CUDA_SUCCESS:
        if count > (<user_object *>p).references:
            r = CUDA_ERROR_INVALID_VALUE
        else:
            drop_references(<user_object *>p, count)
        pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphRetainUserObject(void *g, void *p, unsigned count, unsigned flags) noexcept nogil:
    """References of a graph: more, or those of the program's own (CU_GRAPH_USER_OBJECT_MOVE)."""
    cdef user_object *u = <user_object *>p
    cdef bint move = (flags & CU_GRAPH_USER_OBJECT_MOVE) != 0
    cdef int r = enter_object(p, count)
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(GRAPH, g) or flags & ~<unsigned>CU_GRAPH_USER_OBJECT_MOVE or (move and count > u.references):
        r = CUDA_ERROR_INVALID_VALUE
    elif not add_reference(&(<graph *>g).objects, u, count):
        r = CUDA_ERROR_OUT_OF_MEMORY
    elif not move:
        u.references += count
    pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphReleaseUserObject(void *g, void *p, unsigned count) noexcept nogil:
    """Fewer references of a graph."""
    cdef reference **place
    cdef reference *gone
    cdef int r = enter_object(p, count)
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(GRAPH, g):
        r = CUDA_ERROR_INVALID_VALUE
    else:
        place = find_reference(&(<graph *>g).objects, <user_object *>p)
        gone = place[0]
        if gone == NULL or gone.count < count:
            r = CUDA_ERROR_INVALID_VALUE
        else:
            gone.count -= count
            if gone.count == 0:
                place[0] = gone.next
                free(gone)
            drop_references(<user_object *>p, count)
    pthread_mutex_unlock(&work_lock)
    return r

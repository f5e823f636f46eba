# User objects: what the program wants to be destroyed when no graph needs it any more.
#
# References are the program's own, or a graph's.  The last one's end has a thread call the program's function.  Guarded
# by work_lock.

cdef struct user_object:
    handle_head head
    user_object *next_dead
    host_function destroy
    void *data
    size_t references

cdef struct reference:         # of a graph
    reference *next
    user_object *to
    size_t count

cdef user_object *dead_objects
cdef bint destroying


cdef void *destroy_objects(void *unused) noexcept nogil:
    """The thread that calls the program's functions; it ends when there is nothing left to destroy."""
    global dead_objects, destroying
    cdef user_object *u
    pthread_mutex_lock(&work_lock)
    while dead_objects != NULL:
        u = dead_objects
        dead_objects = u.next_dead
        pthread_mutex_unlock(&work_lock)
        cuda_thread.in_callback = 1
        u.destroy(u.data)
        cuda_thread.in_callback = 0
        free_handle(USER_OBJECT, u)
        pthread_mutex_lock(&work_lock)
    destroying = False
    pthread_mutex_unlock(&work_lock)
    return NULL


cdef void drop_references(user_object *u, size_t count) noexcept nogil:
    """So many references fewer."""
    global dead_objects, destroying
    cdef pthread_t thread
    cdef pthread_attr_t attributes
    u.references -= count
    if u.references:
        return
    bury_handle(USER_OBJECT, u)
    u.next_dead = dead_objects
    dead_objects = u
    if destroying:
        return
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED)
    destroying = pthread_create(&thread, &attributes, destroy_objects, NULL) == 0
    pthread_attr_destroy(&attributes)


cdef reference **find_reference(reference **list, const user_object *u) noexcept nogil:
    """Where a graph's reference to an object is, or its list's end."""
    while list[0] != NULL and list[0].to != u:
        list = &list[0].next
    return list


cdef bint add_reference(reference **list, user_object *u, size_t count) noexcept nogil:
    """A graph has so many more, which are counted already.  False: no memory."""
    cdef reference **place = find_reference(list, u)
    if place[0] == NULL:
        place[0] = <reference *>calloc(1, sizeof(reference))
        if place[0] == NULL:
            return False
        place[0].to = u
    place[0].count += count
    return True


cdef bint copy_references(reference **to, const reference *of) noexcept nogil:
    """A graph like another holds what that holds.  False: no memory."""
    while of != NULL:
        of.to.references += 1
        if not add_reference(to, of.to, 1):
            of.to.references -= 1
            return False
        of = of.next
    return True


cdef void leave_references(reference *of) noexcept nogil:
    """A graph goes."""
    cdef reference *after
    while of != NULL:
        after = of.next
        drop_references(of.to, of.count)
        free(of)
        of = after

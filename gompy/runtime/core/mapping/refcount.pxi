# Reference counts.  OpenMP 5.0 changes a count at most once for each construct; libgomp keeps a set of the counts that
# a construct has touched.  Here a construct has a number, the device's `stamp`, and a count remembers the last one
# that changed it: the device is locked over the whole construct, so this tells the same, without a set.
#
# OpenACC counts every entry of every construct: its stamp is EVERY_ENTRY.

cdef enum:
    EVERY_ENTRY = 0


cdef inline SplayNode *count_owner(SplayNode *key) noexcept nogil:
    """What has the count of a range: the first one of a struct's elements."""
    return key + key.siblings if key.siblings < 0 else key


cdef inline uint64_t new_stamp(DeviceDescr *dev) noexcept nogil:
    """Begin the counting of a construct, or of the end of one.  The device is locked."""
    dev.stamp += 1
    return dev.stamp


cdef inline void increment_refcount(SplayNode *key, uint64_t stamp) noexcept nogil:
    cdef SplayNode *owner
    if key == NULL or key.ref_kind == REF_INFINITY or key.ref_kind == REF_LINK:
        return
    owner = count_owner(key)
    if owner.stamp == stamp and stamp != EVERY_ENTRY:
        return
    owner.stamp = stamp
    owner.refcount += 1


cdef inline void decrement_refcount(SplayNode *key, uint64_t stamp, bint delete, bint *do_copy,
                                    bint *do_remove) noexcept nogil:
    """Lower a count, or make it 0.

    do_copy: it became 0 now or earlier in this construct, so data goes back; do_remove: it became 0 now.
    """
    cdef SplayNode *owner
    do_copy[0] = False
    do_remove[0] = False
    if key == NULL or key.ref_kind == REF_INFINITY or key.ref_kind == REF_LINK:
        return
    owner = count_owner(key)
    if owner.stamp == stamp and stamp != EVERY_ENTRY:
        do_copy[0] = owner.refcount == 0
        return
    owner.stamp = stamp
    if owner.refcount == 0:
        return
    owner.refcount = 0 if delete else owner.refcount - 1
    if owner.refcount == 0:
        do_copy[0] = True
        do_remove[0] = True


cdef inline SplayNode *next_removed(const SplayNode *key) noexcept nogil:
    """What goes after a range that goes, or NULL."""
    return <SplayNode *> key.dynamic_refcount


cdef inline void chain_removed(SplayNode *key, SplayNode *next) noexcept nogil:
    """A range that nobody counts any more goes, before another one or NULL."""
    key.dynamic_refcount = <uintptr_t> next

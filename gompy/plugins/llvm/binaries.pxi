# An image on a device of LLVM's plugin, and where its entries are.

cdef struct LoadedBinary:
    # An image on a device.
    TgtDeviceImage image
    RtlHandle handle  # 18
    TgtTable *table  # up to 17
    TgtEntry *entries  # what it was asked for


cdef LoadedBinary *new_binary(const char *start, const char *end, size_t count) noexcept nogil:
    """A record of an image with room for so many entries, which are to be filled before ask_for; or NULL."""
    cdef LoadedBinary *loaded = <LoadedBinary *> calloc(1, sizeof(LoadedBinary))
    if loaded == NULL:
        return NULL
    loaded.entries = <TgtEntry *> calloc(count + 1, sizeof(TgtEntry))
    if loaded.entries == NULL:
        free(loaded)
        return NULL
    loaded.image.start = start
    loaded.image.end = end
    loaded.image.entries = loaded.entries
    loaded.image.entries_end = loaded.entries + count
    return loaded


cdef bint ask_for(int n, LoadedBinary *loaded) noexcept nogil:
    """Have LLVM's plugin load an image; False: it cannot."""
    cdef void *answer
    if not rtl.is_valid_binary(&loaded.image):
        return False
    answer = rtl.load_binary(n, &loaded.image, &loaded.handle)
    remove_files()
    loaded.table = NULL if rtl_by_name else <TgtTable *> answer
    return answer == NULL if rtl_by_name else answer != NULL


cdef void *where_is(LoadedBinary *loaded, const TgtEntry *entry) noexcept nogil:
    """Where an entry is on the device, or NULL."""
    cdef const TgtEntry *found
    cdef void *address = NULL
    if rtl_by_name:
        if entry.size:
            rtl.get_global(loaded.handle, entry.size, entry.name, &address)
        else:
            rtl.get_function(loaded.handle, entry.name, &address)
        return address
    found = loaded.table.entries
    while found < loaded.table.entries_end:
        if found.name != NULL and strcmp(found.name, entry.name) == 0:
            return found.address
        found += 1
    return NULL

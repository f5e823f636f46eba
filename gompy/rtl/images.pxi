# Images: libomptarget gives one at a time and asks where its entries are; the core gets each as if a program had
# registered it, without what libomptarget itself calls: constructors and destructors are plain kernels here.

cdef enum:
    GOOD = 0  # OFFLOAD_SUCCESS
    BAD = ~0  # OFFLOAD_FAIL

cdef struct RtlLoaded:
    # An image on one device; since 18 libomptarget's handle of it.
    TgtTable table  # the answer
    RtlImage *image

cdef struct RtlImage:
    RtlImage *next
    TgtDescriptor descriptor  # what the core knows
    TgtDeviceImage image  # with entries of our own
    const TgtEntry *host_entries  # libomptarget's
    RtlLoaded *loaded  # one for each device
    int num_loaded

cdef RtlImage *rtl_images  # under rtl_lock
cdef int64_t rtl_requires
cdef bint rtl_by_name  # libomptarget is that of 18


cdef bint for_this_machine(const char *start, const char *end) noexcept nogil:
    """Whether an image is an ELF library of x86_64."""
    return (end - start >= 64 and memcmp(start, b"\x7fELF\x02\x01", 6) == 0 and start[18] == 62 and start[19] == 0)


cdef public int32_t rtl_is_valid_binary "__tgt_rtl_is_valid_binary"(const TgtDeviceImage *image) noexcept nogil:
    """Whether our devices can run an image."""
    return for_this_machine(image.start, image.end)


cdef void drop_image(RtlImage *image) noexcept nogil:
    cdef int i
    core_unregister(&image.descriptor)
    for i in range(image.num_loaded):
        free(image.loaded[i].table.entries)
    free(image.loaded)
    free(image.image.entries)
    free(image)


cdef void forget_image(const RtlImage *image) noexcept nogil:
    """Take an image from the list and from the core."""
    cdef RtlImage **at = &rtl_images
    while at[0] != NULL and at[0] != image:
        at = &at[0].next
    if at[0] != NULL:
        at[0] = image.next
        drop_image(<RtlImage *> image)


cdef RtlImage *known_image(const TgtDeviceImage *image) noexcept nogil:
    cdef RtlImage *known = rtl_images
    while known != NULL and (known.image.start != image.start or known.host_entries != image.entries):
        known = known.next
    return known


cdef RtlImage *enter_image(const TgtDeviceImage *image) noexcept nogil:
    """Tell the core of an image; NULL: there is no memory."""
    global rtl_images
    cdef size_t count = <size_t> (image.entries_end - image.entries)
    cdef size_t i
    cdef RtlImage *entered = <RtlImage *> calloc(1, sizeof(RtlImage))
    cdef TgtEntry *entries = <TgtEntry *> calloc(count + 1, sizeof(TgtEntry))
    cdef int devices = core_num_devices()
    cdef RtlLoaded *loaded = <RtlLoaded *> calloc(<size_t> devices + 1, sizeof(RtlLoaded))
    if entered == NULL or entries == NULL or loaded == NULL:
        free(entered)
        free(entries)
        free(loaded)
        return NULL
    for i in range(count):
        entries[i] = image.entries[i]
        entries[i].flags &= ~(TGT_ENTRY_CTOR | TGT_ENTRY_DTOR)
    entered.image.start = image.start
    entered.image.end = image.end
    entered.image.entries = entered.descriptor.entries = entries
    entered.image.entries_end = entered.descriptor.entries_end = entries + count
    entered.descriptor.num_images = 1
    entered.descriptor.images = &entered.image
    entered.host_entries = image.entries
    entered.loaded = loaded
    entered.num_loaded = devices
    entered.next = rtl_images
    rtl_images = entered
    core_register(&entered.descriptor)
    return entered


cdef RtlLoaded *place_on(int32_t device, const TgtDeviceImage *image) noexcept nogil:
    """Where an image's answer for a device goes; NULL: there is no memory.

    One that the device has already gets another record: the library that it was in has been closed and opened again
    at the same addresses (18 does not tell of the first).
    """
    cdef RtlImage *known = known_image(image)
    if known != NULL and known.loaded[device].image != NULL:
        forget_image(known)
        known = NULL
    if known == NULL:
        known = enter_image(image)
    if known == NULL:
        return NULL
    known.loaded[device].image = known
    return &known.loaded[device]


cdef void *address_of(int32_t device, const TgtEntry *entry) noexcept nogil:
    """A variable's address on a device; a region is named by its host address in a launch."""
    return core_mapped(entry.address, device) if entry.size else entry.address


cdef bint fill_table(RtlLoaded *place, int32_t device) noexcept nogil:
    """Make the answer, which stays.  False: there is no memory.

    With unified_shared_memory variables are pointers on a device: they get the host's values.
    """
    cdef const RtlImage *image = place.image
    cdef size_t count = <size_t> (image.image.entries_end - image.image.entries)
    cdef size_t i
    place.table.entries = <TgtEntry *> calloc(count + 1, sizeof(TgtEntry))
    if place.table.entries == NULL:
        return False
    place.table.entries_end = place.table.entries + count
    for i in range(count):
        place.table.entries[i] = image.host_entries[i]
        place.table.entries[i].address = address_of(device, &image.image.entries[i])
        if rtl_requires & TGT_REQUIRES_UNIFIED_SHARED_MEMORY and image.host_entries[i].size:
            core_copy(place.table.entries[i].address, image.host_entries[i].address, image.host_entries[i].size, 0, 0,
                      device, core_initial_device())
    return True


cdef bint asks_by_name(const void *caller) noexcept nogil:
    """Whether libomptarget is that of 18: it gets a handle of an image, and asks for entries one by one."""
    cdef Dl_info info
    cdef void *library
    cdef bint found
    if not dladdr(caller, &info) or info.dli_fname == NULL:
        return False
    library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
    if library == NULL:
        return False
    found = dlsym(library, b"__tgt_activate_record_replay") != NULL  # 18 is the first to have it
    dlclose(library)
    return found


cdef public void *rtl_load_binary "__tgt_rtl_load_binary"(int32_t device, const TgtDeviceImage *image,
                                                         void **handle) noexcept nogil:
    """Load an image on a device.  Up to 17: the table of its entries, or NULL.  18: a status, and *handle.

    An image that our device refuses ends the program with libgompy's own message.
    """
    global rtl_by_name
    cdef RtlLoaded *place
    cdef bint good = False
    rtl_by_name = asks_by_name(rtl_caller())
    if device < 0 or device >= core_num_devices():
        return <void *> <ptrdiff_t> BAD if rtl_by_name else NULL
    pthread_mutex_lock(&rtl_lock)
    place = place_on(device, image)
    if place != NULL:
        core_begin_data(device, 0, NULL, NULL, NULL, NULL)  # the device starts, and loads
        good = fill_table(place, device)
    pthread_mutex_unlock(&rtl_lock)
    if not rtl_by_name:
        return &place.table if good else NULL
    handle[0] = place
    return NULL if good else <void *> <ptrdiff_t> BAD


cdef int32_t find_entry(const RtlLoaded *place, const char *name, bint variable, void **found) noexcept nogil:
    """Where an entry of an image is on its device."""
    cdef const TgtEntry *entry = place.table.entries
    while entry < place.table.entries_end and (strcmp(entry.name, name) or (entry.size != 0) != variable):
        entry += 1
    found[0] = entry.address if entry < place.table.entries_end else NULL
    return GOOD if found[0] != NULL else BAD


cdef public int32_t rtl_get_global "__tgt_rtl_get_global"(const RtlLoaded *place, uint64_t size, const char *name,
                                                          void **found) noexcept nogil:
    """18: a variable's address."""
    return find_entry(place, name, True, found)


cdef public int32_t rtl_get_function "__tgt_rtl_get_function"(const RtlLoaded *place, const char *name,
                                                              void **found) noexcept nogil:
    """18: a region's."""
    return find_entry(place, name, False, found)


cdef public int32_t rtl_register_lib "__tgt_rtl_register_lib"(const TgtDescriptor *descriptor) noexcept nogil:
    """A program or library has registered: its images come when a device is to load them."""
    return GOOD


cdef public int32_t rtl_unregister_lib "__tgt_rtl_unregister_lib"(const TgtDescriptor *descriptor) noexcept nogil:
    """A program ends, or a library goes (up to 17)."""
    cdef RtlImage *image
    cdef RtlImage *next
    pthread_mutex_lock(&rtl_lock)
    image = rtl_images
    while image != NULL:
        next = image.next
        if image.host_entries == descriptor.entries:
            forget_image(image)
        image = next
    pthread_mutex_unlock(&rtl_lock)
    return GOOD

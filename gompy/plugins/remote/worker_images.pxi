# A worker's images: unpacked as the plugin wants them, kept on the machine by their hash.

from libc.stdio cimport rename
from gompy.native.descriptors cimport O_CREAT, O_EXCL, O_RDONLY, O_WRONLY, gompy_open

cdef struct Held:
    # An image that has come.
    char *bytes
    uint64_t size
    unsigned char hash[32]

cdef struct Served:
    # One that is loaded.
    uint64_t number
    unsigned version
    void *data
    Served *next

cdef struct Cursor:
    # A packed image being read.
    char *at
    uint64_t left

cdef Held held
cdef Served *served
cdef uint64_t next_number
cdef const char *cache_folder


cdef char *take_bytes(Cursor *cursor, uint64_t n) noexcept nogil:
    """NULL: there are not so many."""
    cdef char *at = cursor.at
    if n > cursor.left:
        return NULL
    cursor.at += n
    cursor.left -= n
    return at


cdef char *take_name(Cursor *cursor) noexcept nogil:
    """A text with its NUL, or NULL."""
    cdef uint64_t n = 0
    while n < cursor.left and cursor.at[n]:
        n += 1
    return take_bytes(cursor, n + 1)


cdef void *unpack_mic(remote_packed *head, Cursor *cursor) noexcept nogil:
    """NULL: damaged, or no memory."""
    cdef remote_mic_data *data = <remote_mic_data *>calloc(1, sizeof(remote_mic_data))
    cdef remote_mic_symbol *symbols = <remote_mic_symbol *>calloc(
        (head.symbols if head.symbols <= cursor.left else 0) + 1, sizeof(remote_mic_symbol))
    cdef uint64_t i
    cdef char *at = take_bytes(cursor, head.bytes)
    if data == NULL or symbols == NULL or at == NULL or head.symbols > cursor.left:
        return NULL
    data.image_start = at
    data.image_end = at + head.bytes
    if head.named:
        data.magic = REMOTE_MIC_MAGIC
    data.abi = head.abi
    data.accel = head.accel
    data.image_funcs = head.functions
    data.image_vars = head.variables
    data.objects = symbols
    data.num_objects = head.symbols
    if head.named == 2:
        data.name = take_name(cursor)
        if data.name == NULL:
            return NULL
    for i in range(head.symbols):
        at = take_bytes(cursor, sizeof(uint64_t))
        if at == NULL:
            return NULL
        memcpy(&symbols[i].size, at, sizeof(uint64_t))
        symbols[i].name = take_name(cursor)
        if symbols[i].name == NULL:
            return NULL
    return data if head.functions + head.variables <= head.symbols or head.symbols == 0 else NULL


cdef void *unpack_ptx(remote_packed *head, Cursor *cursor) noexcept nogil:
    """NULL: damaged, or no memory."""
    cdef remote_ptx_data *data = <remote_ptx_data *>calloc(1, sizeof(remote_ptx_data))
    cdef remote_ptx_object *objects
    cdef remote_ptx_function *functions
    cdef const char **names
    cdef uint64_t i
    cdef char *at
    if head.objects > cursor.left or head.variables > cursor.left or head.functions > cursor.left:
        return NULL
    objects = <remote_ptx_object *>calloc(head.objects + 1, sizeof(remote_ptx_object))
    names = <const char **>calloc(head.variables + 1, sizeof(char *))
    functions = <remote_ptx_function *>calloc(head.functions + 1, sizeof(remote_ptx_function))
    if data == NULL or objects == NULL or names == NULL or functions == NULL:
        return NULL
    for i in range(head.objects):
        at = take_bytes(cursor, sizeof(uint64_t))
        if at == NULL:
            return NULL
        memcpy(&objects[i].size, at, sizeof(uint64_t))
        at = take_bytes(cursor, objects[i].size)
        if at == NULL or objects[i].size == 0 or at[objects[i].size - 1]:
            return NULL
        objects[i].code = at
    for i in range(head.variables):
        names[i] = take_name(cursor)
        if names[i] == NULL:
            return NULL
    for i in range(head.functions):
        at = take_bytes(cursor, 3 * sizeof(uint16_t))
        if at == NULL:
            return NULL
        memcpy(functions[i].dim, at, 3 * sizeof(uint16_t))
        functions[i].name = take_name(cursor)
        if functions[i].name == NULL:
            return NULL
    data.objects = objects
    data.num_objects = head.objects
    data.variables = names
    data.num_variables = <unsigned>head.variables
    data.functions = functions
    data.num_functions = <unsigned>head.functions
    data.num_indirect = head.indirect
    return data


cdef void *unpack_image(char *bytes, uint64_t size) noexcept nogil:
    """What the plugin takes; NULL: damaged, or for another kind of device."""
    cdef remote_packed head
    cdef Cursor cursor
    cdef char *at
    cursor.at = bytes
    cursor.left = size
    at = take_bytes(&cursor, sizeof(head))
    if at == NULL:
        return NULL
    memcpy(&head, at, sizeof(head))
    if <int>head.type != driven.get_type():
        return NULL
    return unpack_ptx(&head, &cursor) if head.type == <uint32_t>GOMP_DEVICE_NVIDIA_PTX else unpack_mic(&head, &cursor)


cdef void cache_path(const unsigned char *hash, const char *suffix, char *path, size_t room) noexcept nogil:
    cdef int i, n = snprintf(path, room, b"%s/", cache_folder)
    for i in range(32):
        n += snprintf(path + n, room - n, b"%02x", hash[i])
    snprintf(path + n, room - n, b"%s", suffix)


cdef bint hash_fits(const Held *image) noexcept nogil:
    """Whether the bytes are those of the hash."""
    cdef unsigned char found[32]
    gompy_blake(image.bytes, image.size, found)
    return memcmp(found, image.hash, 32) == 0


cdef void keep_image() noexcept nogil:
    """Leave the image that has come to the machine's other workers.  It does no harm if that fails."""
    cdef char path[4200]
    cdef char part[4200]
    cdef char suffix[32]
    cdef int fd
    cdef uint64_t done = 0
    cdef ssize_t n = 1
    snprintf(suffix, sizeof(suffix), b".%d", getpid())
    cache_path(held.hash, b"", path, sizeof(path))
    cache_path(held.hash, suffix, part, sizeof(part))
    fd = gompy_open(part, O_WRONLY | O_CREAT | O_EXCL, 0o600)
    if fd < 0:
        return
    while done < held.size and n > 0:
        n = write(fd, held.bytes + done, held.size - done)
        done += n if n > 0 else 0
    close(fd)
    if done != held.size or rename(part, path) != 0:
        unlink(part)


cdef bint find_image(const remote_image *wanted) noexcept nogil:
    """Whether an image is here: it has just come, or another worker has left it."""
    cdef char path[4200]
    cdef int fd
    cdef uint64_t done = 0
    cdef ssize_t n = 1
    if held.bytes != NULL and held.size == wanted.size and memcmp(held.hash, wanted.hash, 32) == 0:
        return hash_fits(&held)
    held.bytes = <char *>malloc(wanted.size + 1)
    held.size = wanted.size
    memcpy(held.hash, wanted.hash, 32)
    cache_path(held.hash, b"", path, sizeof(path))
    fd = gompy_open(path, O_RDONLY, 0)
    if held.bytes == NULL or fd < 0:
        return False
    while done < held.size and n > 0:
        n = read(fd, held.bytes + done, held.size - done)
        done += n if n > 0 else 0
    close(fd)
    return done == held.size and hash_fits(&held)


cdef void load_image(uint64_t id, const remote_image *wanted, const uint64_t *indirect) noexcept nogil:
    """Load an image and answer: its table; status 1: it can't be, 2: it has to be sent first."""
    global next_number, served
    cdef remote_frame frame
    cdef AddrPair *pairs = NULL
    cdef uint64_t *words
    cdef Served *record
    cdef int count = -1
    if not find_image(wanted):
        send_word(id, 2, 0)
        return
    record = <Served *>calloc(1, sizeof(Served))
    if record != NULL:
        record.data = unpack_image(held.bytes, held.size)
    if record == NULL or record.data == NULL:
        pass_on(0, b"its worker cannot read the image", 32)
        send_word(id, 1, 0)
        return
    held.bytes = NULL  # the plugin's now
    count = driven.load_image(device, wanted.version, record.data, &pairs, NULL, indirect if wanted.indirect else NULL)
    words = <uint64_t *>malloc((2 + 2 * <size_t>count) * sizeof(uint64_t)) if count >= 0 else NULL
    if words == NULL or 16 + <uint64_t>count * sizeof(AddrPair) > REMOTE_PAIRS_MOST:
        send_word(id, 1, 0)
        return
    next_number += 1
    record.number = next_number
    record.version = wanted.version
    record.next = served
    served = record
    words[0] = record.number
    words[1] = <uint64_t>count
    memcpy(words + 2, pairs, <size_t>count * sizeof(AddrPair))
    frame.kind = REMOTE_TABLE
    frame.status = 0
    frame.id = id
    send_answer(&frame, words, 16 + <size_t>count * sizeof(AddrPair))
    free(words)
    free(pairs)


cdef bint unload_image(uint64_t number) noexcept nogil:
    """Drop an image.  What was unpacked stays: a plugin may still refer to it."""
    cdef Served **link = &served
    cdef Served *found
    while link[0] != NULL and link[0].number != number:
        link = &link[0].next
    found = link[0]
    if found == NULL:
        return False
    link[0] = found.next
    return driven.unload_image(device, found.version, found.data)

# Copies from, and to, memory that the program does not have: told in a line, not by SIGSEGV; on the device by
# GOMPY_CHECK.

cdef extern from *:
    """
    #include "gompy/native/descriptors.h"
    #include "gompy/native/mappings.h"
    #include <fcntl.h>
    #include <unistd.h>
    /* Whether a range may be read, or (WRITES) written; -1: that is not to be had, or some is a file's, which may end
       before.  One call to the kernel for each mapping; what it looks at page by page takes as long as the copy.  */
    static int gompy_maps_have (size_t page, size_t end, int writes)
    {
      struct gompy_mapping_query query;
      uint64_t want = writes ? GOMPY_MAPPING_WRITE : GOMPY_MAPPING_READ;
      int error = errno, fd = gompy_open ("/proc/self/maps", O_RDONLY, 0), have = fd < 0 ? -1 : 1;
      size_t begin = page;
      while (have == 1 && page < end)
        {
          if (!gompy_ask_mapping (fd, page, &query))
            have = errno == ENOENT ? 0 : -1;
          else if (!(query.flags & want))
            have = 0;
          else if (query.inode != 0 || query.flags & GOMPY_MAPPING_SHARED)
            have = -1;
          page = query.end;
        }
      if (fd >= 0)
        close (fd);
      if (have == 1 && gompy_has_guards (begin))
        {
          fd = gompy_open ("/proc/self/pagemap", O_RDONLY, 0);
          if (gompy_may_be_guarded (fd, begin, end))
            have = -1;
          if (fd >= 0)
            close (fd);
        }
      errno = error;
      return have;
    }
    /* How many bytes from an address on the program has memory for, of N.  WRITES: that may be written.  A call for
       each guess that halves what is left, and one if all is well.  */
    static int gompy_has_pages (size_t page, size_t end, int writes, int closely)
    {
    #ifdef MADV_POPULATE_WRITE
      if (closely)
        {
          int r, error = errno, have = end - page >= 16 * 4096 ? gompy_maps_have (page, end, writes) : -1;
          if (have >= 0)
            return have;
          do
            r = madvise ((void *) page, end - page, writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
          while (r != 0 && errno == EINTR);
          if (r == 0 || errno == EFAULT || errno == ENOMEM)
            return r == 0 ? 1 : (errno = error, 0);
          errno = error;  /* memory without access, or of another kind; or Linux before 5.14 */
          if ((have = gompy_maps_have (page, end, writes)) >= 0)
            return have;
        }
    #endif
      /* Where a sandbox has no such call the copy itself tells.  */
      int error = errno, missing = msync ((void *) page, end - page, MS_ASYNC) != 0 && errno == ENOMEM;
      errno = error;
      return !missing;
    }
    static size_t gompy_host_bytes (size_t address, size_t n, int writes, int closely)
    {
      size_t page = address & -(size_t) 4096, end = (address + n + 4095) & -(size_t) 4096, low = page, high = end;
      if (gompy_has_pages (page, end, writes, closely))
        return n;
      while (high - low > 4096)
        {
          size_t middle = low + ((high - low) / 2 & -(size_t) 4096);
          if (gompy_has_pages (low, middle, writes, closely))
            low = middle;
          else
            high = middle;
        }
      return low > address ? low - address : 0;
    }
    """
    size_t gompy_host_bytes(size_t address, size_t n, int writes, int closely) nogil

cdef enum:
    WORTH_A_LOOK = 16384       # bytes of a copy


cdef bint is_there(const char *p, size_t extent, bint writes, const copy_shape *shape) noexcept nogil:
    """Whether the program has the memory of one side of a copy: else a line says what is missing.  Without GOMPY_CHECK
    small copies are not looked at.  Between lines there may be none."""
    cdef char place[320]
    cdef char name[160]
    cdef char words[170]
    cdef size_t have
    cdef uint64_t asked[2]
    if gpu_of(<uint64_t>p) != NULL or (extent < WORTH_A_LOOK and not checking and <uint64_t>p >= 4096):
        return True
    have = gompy_host_bytes(<size_t>p, extent, writes, checking != 0)
    if have >= extent or (have >= shape.width and gompy_host_bytes(
            <size_t>p + extent - shape.width, shape.width, writes, checking != 0) == shape.width):
        return True
    find_callers(asked)
    name_caller(asked, place, sizeof(place))
    name_variable(<uint64_t>p, name, sizeof(name))
    words[0] = 0
    if name[0]:
        snprintf(words, sizeof(words), b" (%s)", name)
    fprintf(stderr, b"libcuda (gompy): error: copy of %zu bytes %s the device%s%s: the %s, %p in the host's memory%s, "
            b"has %zu bytes up to the end of memory that can be %s, not %zu\n",
            shape.width * shape.height * shape.depth, pick_text(writes, b"from", b"to"),
            pick_text(place[0] != 0, b" at ", b""), place, pick_text(writes, b"destination", b"source"),
            <const void *>p, words, have, pick_text(writes, b"written", b"read"), extent)
    return False


cdef bint tell_device_side(const char *p, size_t extent, unsigned kind, bint writes, const char *what,
                           size_t bytes) noexcept nogil:
    """Say what is missing on a side of a refused copy, or fill, that is to be device memory; False: all is there."""
    cdef char place[320]
    cdef char name[160]
    cdef uint64_t asked[2]
    cdef char lacking[160]
    cdef uint64_t have = 0
    cdef uint64_t into = 0
    cdef block *n
    cdef block *part = NULL
    if p == NULL or (kind != CU_MEMORYTYPE_DEVICE and gpu_of(<uint64_t>p) == NULL):
        return False
    pthread_mutex_lock(&memory_lock)
    n = block_at(<uint64_t>p, NULL, NULL)
    if n != NULL:
        have = n.start + n.length - <uint64_t>p if n.use != MAPPED else mapped_from(n, <uint64_t>p)
    if have < extent:
        part = part_at(<uint64_t>p + have)
    if part != NULL:
        into = <uint64_t>p + have - part.start
        block_words(part, lacking, sizeof(lacking))
    pthread_mutex_unlock(&memory_lock)
    if have >= extent:
        return False
    find_callers(asked)
    name_caller(asked, place, sizeof(place))
    fprintf(stderr, b"libcuda (gompy): error: %s of %zu bytes %s the device%s%s: the %s, %p", what, bytes,
            pick_text(writes, b"to", b"from"), pick_text(place[0] != 0, b" at ", b""), place,
            pick_text(writes, b"destination", b"source"), <const void *>p)
    if n != NULL:
        fprintf(stderr, b" in device memory, has %llu bytes up to the end of its %s, not %zu%s%s\n",
                <unsigned long long>have, pick_text(n.use == MAPPED, b"mapping", b"block"), extent,
                pick_text(part != NULL, b"; behind them is a ", b""), pick_text(part != NULL, lacking, b""))
        return True
    if part != NULL:
        fprintf(stderr, b", is %llu bytes into a %s\n", <unsigned long long>into, lacking)
        return True
    name_variable(<uint64_t>p, name, sizeof(name))
    if name[0]:
        fprintf(stderr, b" (%s)", name)
    fprintf(stderr, b", is no device memory%s\n",
            pick_text(gpu_of(<uint64_t>p) != NULL, b" that is allocated", b""))
    return True


cdef void tell_refused_copy(const copy_shape *shape, unsigned to_kind, unsigned of_kind,
                            const size_t *extents) noexcept nogil:
    """GOMPY_CHECK: what a copy that is refused lacks."""
    cdef size_t bytes = shape.width * shape.height * shape.depth
    if checking & PTX_CHECK_MEMORY and not tell_device_side(shape.to, extents[0], to_kind, True, b"copy", bytes):
        tell_device_side(shape.of, extents[1], of_kind, False, b"copy", bytes)

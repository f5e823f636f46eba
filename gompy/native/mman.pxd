# Mappings of memory.

cdef extern from "<sys/mman.h>" nogil:
    int PROT_NONE, PROT_READ, PROT_WRITE, PROT_EXEC
    int MAP_SHARED, MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE, MAP_FIXED, MAP_FIXED_NOREPLACE
    int MREMAP_MAYMOVE, MREMAP_FIXED
    void *MAP_FAILED
    int MADV_DONTNEED, MADV_DONTDUMP, MADV_HUGEPAGE, MADV_DONTFORK, MADV_POPULATE_READ, MADV_REMOVE
    void *mmap(void *where, size_t n, int prot, int flags, int fd, long offset)
    void *mremap(void *p, size_t n, size_t new_n, int flags, void *where)
    int munmap(void *p, size_t n)
    int munlock(const void *p, size_t n)
    int mprotect(void *p, size_t n, int prot)
    int madvise(void *p, size_t n, int advice)

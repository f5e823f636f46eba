# LLVM's door: what clang's programs call of libomptarget, in the core's terms.  Structures and signatures: LLVM 16,
# openmp/libomptarget/include/omptarget.h; numbers: gompy/abi/llvm.py; what plugins see, too:
# gompy/native/omptarget.pxd.

from gompy.native.omptarget cimport (
    TgtDescriptor,
    TgtDeviceImage,
    TgtEntry,
    TgtIdent,
    TgtKernelArgs,
    TgtNewerEntry,
    TgtNonContig,
)

cdef extern from *:
    """
    /* Messages begin with another word since 18.  */
    static int gompy_tgt_release;

    /* A message of libomptarget's, in one piece.  */
    __attribute__ ((format (printf, 1, 2)))
    static void
    tgt_print (const char *format, ...)
    {
      char text[4096];
      size_t used = (size_t) snprintf (text, sizeof text, "%s ",
                                       gompy_tgt_release >= 18 ? "omptarget" : "Libomptarget");
      va_list values;
      va_start (values, format);
      vsnprintf (text + used, sizeof text - used, format, values);
      va_end (values);
      fputs (text, stderr);
    }
    """
    int tgt_release "gompy_tgt_release"  # of the newest that the program asks for; those before 17 are 0
    void tgt_print(const char *format, ...) noexcept nogil

cdef struct TgtAttach:
    # A pointer that is attached when all of a construct is mapped.
    uintptr_t pointer  # its host address
    uintptr_t begin  # of what it points to
    size_t size  # of the pointer, or of the descriptor that begins with it
    bint always
    TgtAttach *next

cdef struct TgtPending:
    # What the begin of a construct leaves for its end.
    uint64_t serial  # TgtNotes.born of what it maps
    uintptr_t pad  # bytes before the next mapping on the device
    TgtAttach *first
    TgtAttach *last

cdef struct TgtRemoved:
    # What goes at a construct's end, in order: chained by next_removed.
    SplayNode *first
    SplayNode *last

cdef struct TgtMaps:
    # The entries of a construct.
    int count
    void **bases
    void **begins
    int64_t *sizes
    int64_t *types
    void **names  # ";name;file;line;column;;" or NULL
    void **mappers
    TgtPending *pending  # of the construct that begins
    TgtRemoved *removed  # of a mapper's: what goes at the construct's end
    bint from_mapper  # these are the components that a mapper has pushed

cdef struct TgtNotes:
    # What is known of a mapping beside its node (MoreOfNode.notes).
    uintptr_t base  # host address of what it is a section of
    const void *name
    uint64_t born  # number of the construct that has made it
    int64_t ended  # bytes of the entry that has taken the last reference

ctypedef void (*mapper_fn)(void *handle, void *base, void *begin, int64_t size, int64_t type,
                           void *name) noexcept nogil


cdef inline TgtMaps tgt_maps(int count, void **bases, void **begins, int64_t *sizes, int64_t *types, void **names,
                             void **mappers) noexcept nogil:
    """A call's arrays together."""
    cdef TgtMaps maps
    maps.count = count
    maps.bases = bases
    maps.begins = begins
    maps.sizes = sizes
    maps.types = types
    maps.names = names
    maps.mappers = mappers
    maps.pending = NULL
    maps.removed = NULL
    maps.from_mapper = False
    return maps


cdef inline int parent_of(int64_t type) noexcept nogil:
    """The index of the struct that an entry is a member of; -1: of none."""
    return <int> ((<uint64_t> type) >> TGT_MAP_MEMBER_SHIFT) - 1


cdef inline bint has_no_mapping(int64_t type) noexcept nogil:
    """Whether an entry is the region's alone."""
    return (type & (TGT_MAP_LITERAL | TGT_MAP_PRIVATE)) != 0


cdef inline const void *name_at(const TgtMaps *maps, int i) noexcept nogil:
    return maps.names[i] if maps.names != NULL else NULL


cdef inline bint is_combined(const TgtMaps *maps, int i) noexcept nogil:
    """Whether an entry is that of a whole struct, which its first member follows."""
    return parent_of(maps.types[i]) < 0 and i + 1 < maps.count and parent_of(maps.types[i + 1]) == i


cdef void struct_range(const TgtMaps *maps, int i, uintptr_t *begin, int64_t *size) noexcept nogil:
    """Where an entry's host range begins, and its size.

    Before 17 the combined entry of a struct begins at a multiple of 8 (LLVM: Alignment).
    """
    cdef uintptr_t over
    begin[0] = <uintptr_t> maps.begins[i]
    size[0] = maps.sizes[i]
    if tgt_release < 17 and is_combined(maps, i):
        over = begin[0] % 8
        begin[0] -= over
        size[0] += over

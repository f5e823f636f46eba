# Kernels of GCC's OpenMP whose first warp does all: the others wait for work, get none, and end.
#
# gomp_nvptx_main (GCC, libgomp/config/nvptx/team.c) runs the region in warp 0.  The other warps wait at barrier 0 until
# a `parallel` gives them a function, which it does by way of a barrier, or until the region is over.  If nothing that
# the region can reach has a barrier or an `exit`, or calls what it has not named, they need not be started: each
# barrier of warp 0 counts them as there.  The region sees the block as it was launched (%ntid, and what libgomp makes
# of it).
#
# gomp_fatal of libgomp, which all that allocates can reach, prints a line and ends its warp.  Where the others are
# there, they wait for ever then: op_exit says so.

cdef enum:
    ALONE_UNKNOWN
    ALONE
    NOT_ALONE


cdef bint add_named(ptx_module *module, descriptor *d, uint32_t *found, uint32_t *count, uint8_t *seen) noexcept nogil:
    """Add the functions that one names to those that were found.  False if it may wait for other warps, or if one of
    them is not known."""
    cdef obj *o = &module.image.objects[d.object]
    cdef function_record *f = function_of(o, d.number)
    cdef ref_record *refs = <ref_record *> section_of(o.index, SECTION_REFS) + f.first_ref
    cdef const char *name
    cdef uint64_t value
    cdef uint32_t i
    cdef bint known = False
    if f.meets:
        return False
    for i in range(f.refs):
        name = string_of(o.index, refs[i].name)
        if (f.entry and strcmp(name, "gomp_nvptx_main") == 0) or strcmp(name, "gomp_fatal") == 0:
            continue
        value = symbol_value(module, d.object, name, &known)
        if not known:
            return False
        value = number_of_function(module, value)  # printf, malloc and their like wait for nobody
        if value < module.image.nfunctions and not seen[value]:
            seen[value] = 1
            found[count[0]] = <uint32_t> value
            count[0] += 1
    return True


cdef bint reaches_barrier(ptx_module *module, descriptor *kernel) noexcept nogil:
    """Whether a kernel, or what it can reach but for gomp_nvptx_main, may wait for other warps."""
    cdef uint32_t *found = <uint32_t *> malloc((module.image.nfunctions + 1) * sizeof(uint32_t))
    cdef uint8_t *seen = <uint8_t *> calloc(module.image.nfunctions + 1, 1)
    cdef uint32_t count = 0, i = 0
    cdef bint waits = found == NULL or seen == NULL or not add_named(module, kernel, found, &count, seen)
    while not waits and i < count:
        waits = not add_named(module, &module.descriptors[found[i]], found, &count, seen)
        i += 1
    free(found)
    free(seen)
    return waits


cdef bint names_function(obj *o, const function_record *f, const char *wanted) noexcept nogil:
    """Whether a function's code has a name."""
    cdef ref_record *refs = <ref_record *> section_of(o.index, SECTION_REFS) + f.first_ref
    cdef uint32_t i
    for i in range(f.refs):
        if strcmp(string_of(o.index, refs[i].name), wanted) == 0:
            return True
    return False


cdef int look_for_company(ptx_module *module, descriptor *kernel) noexcept nogil:
    """ALONE or NOT_ALONE, of a kernel: GCC's entries have three parameters (nvptx.cc, write_omp_entry)."""
    cdef obj *o = &module.image.objects[kernel.object]
    cdef function_record *f = function_of(o, kernel.number)
    if module.image.check or not o.info.openmp or f.params != 3 or f.param_bytes != 24:
        return NOT_ALONE
    if not names_function(o, f, "gomp_nvptx_main") or reaches_barrier(module, kernel):
        return NOT_ALONE
    return ALONE

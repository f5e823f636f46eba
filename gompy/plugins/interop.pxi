# Questions about interoperability objects (libgomp-plugin.h: interop; GCC 15).  What is included before says what a
# property is: interop_value () and interop_type ().

from gompy.native.interop cimport (
    OMP_IRC_SUCCESS, OMP_IRC_TYPE_INT, OMP_IRC_TYPE_PTR, OMP_IRC_TYPE_STR,
)


cdef intptr_t interop_answer(InteropObject *object, int property, int wanted, int *code) noexcept nogil:
    """A property as the type that a routine is for; a pointer is given as an integer, too, as GCC's plugins do."""
    cdef intptr_t word = 0
    cdef int kind = interop_value(object, property, &word)
    cdef bint fits = kind == wanted or (kind == OMP_IRC_TYPE_PTR and wanted == OMP_IRC_TYPE_INT)
    if code != NULL:
        code[0] = OMP_IRC_SUCCESS if fits else kind
    return word if fits else 0


cdef public intptr_t GOMP_OFFLOAD_get_interop_int(InteropObject *object, int property, int *code) noexcept nogil:
    return interop_answer(object, property, OMP_IRC_TYPE_INT, code)


cdef public void *GOMP_OFFLOAD_get_interop_ptr(InteropObject *object, int property, int *code) noexcept nogil:
    return <void *> interop_answer(object, property, OMP_IRC_TYPE_PTR, code)


cdef public const char *GOMP_OFFLOAD_get_interop_str(InteropObject *object, int property, int *code) noexcept nogil:
    return <const char *> interop_answer(object, property, OMP_IRC_TYPE_STR, code)


cdef public const char *GOMP_OFFLOAD_get_interop_type_desc(InteropObject *object, int property) noexcept nogil:
    return interop_type(object, property)

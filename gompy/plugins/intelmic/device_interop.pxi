# What routines for interoperability objects and uids answer in a region: both are the host's (libgomp of GCC 15:
# config/nvptx/target.c).

from libc.string cimport strlen

from gompy.native.interop cimport OMP_IPR_FIRST, OMP_IRC_EMPTY, OMP_IRC_OTHER, OMP_IRC_OUT_OF_RANGE
from gompy.native.interop_texts cimport gompy_interop_code, gompy_interop_name


cdef void *no_property(void *object, int property, int *code) noexcept nogil:
    if code != NULL:
        code[0] = OMP_IRC_OUT_OF_RANGE if not OMP_IPR_FIRST <= property < 0 else (
            OMP_IRC_EMPTY if object == NULL else OMP_IRC_OTHER)
    return NULL


cdef public int omp_get_num_interop_properties(void *object) noexcept nogil:
    return 0


cdef public size_t omp_get_interop_int(void *object, int property, int *code) noexcept nogil:
    return <size_t>no_property(object, property, code)


cdef public void *omp_get_interop_ptr(void *object, int property, int *code) noexcept nogil:
    return no_property(object, property, code)


cdef public const char *omp_get_interop_str(void *object, int property, int *code) noexcept nogil:
    return <const char *>no_property(object, property, code)


cdef public const char *omp_get_interop_name(void *object, int property) noexcept nogil:
    return gompy_interop_name(property)


cdef public const char *omp_get_interop_type_desc(void *object, int property) noexcept nogil:
    return NULL


cdef public const char *omp_get_interop_rc_desc(void *object, int code) noexcept nogil:
    return gompy_interop_code(code, OMP_IRC_OTHER)


# --- Fortran: a pointer to the characters, and how many
# -------------------------------------------------------------------------------------------

cdef void fortran_text(const char **result, size_t *length, const char *text) noexcept nogil:
    result[0] = text
    length[0] = strlen(text) if text != NULL else 0


cdef public void omp_get_interop_str_(const char **result, size_t *length, void *object, int property,
                                      int *code) noexcept nogil:
    fortran_text(result, length, omp_get_interop_str(object, property, code))


cdef public void omp_get_interop_name_(const char **result, size_t *length, void *object, int property) noexcept nogil:
    fortran_text(result, length, omp_get_interop_name(object, property))


cdef public void omp_get_interop_type_desc_(const char **result, size_t *length, void *object,
                                            int property) noexcept nogil:
    fortran_text(result, length, omp_get_interop_type_desc(object, property))


cdef public void omp_get_interop_rc_desc_(const char **result, size_t *length, void *object, int code) noexcept nogil:
    fortran_text(result, length, omp_get_interop_rc_desc(object, code))


# --- uids, of which a device has none
# -------------------------------------------------------------------------------------------------

cdef public const char *omp_get_uid_from_device(int number) noexcept nogil:
    return NULL


cdef public int omp_get_device_from_uid(const char *uid) noexcept nogil:
    """omp_invalid_device."""
    return -4


cdef public void omp_get_uid_from_device_(const char **result, size_t *length, int number) noexcept nogil:
    """Fortran."""
    fortran_text(result, length, NULL)


cdef public int omp_get_device_from_uid_(const char *uid, size_t length) noexcept nogil:
    """Fortran."""
    return -4

# BLAKE2b-256: gompy/native/blake2b.h.

from libc.stdint cimport uint8_t

cdef extern from "gompy/native/blake2b.h" nogil:
    enum:
        GOMPY_DIGEST, GOMPY_BLAKE_KEY
    void gompy_blake(const void *data, size_t size, uint8_t *out)
    void gompy_keyed_blake(const void *key, size_t key_size, const void *data, size_t size, uint8_t *out)
    bint gompy_codes_equal(const unsigned char *a, const unsigned char *b, size_t size)

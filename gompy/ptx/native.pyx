# cython: language_level=3
"""What the compiler's process needs of C: the hashes of cache files (hash.h), and to end with the process that made
it."""

from libc.signal cimport SIGKILL
from libc.stdint cimport uint8_t, uint64_t
from posix.unistd cimport getppid

from gompy.native.blake2b cimport GOMPY_DIGEST, gompy_blake

cdef extern from "hash.h":
    void gompy_text_key(const char *text, size_t size, char *key)
    void gompy_content(const char *text, size_t size, uint64_t *out)

cdef extern from "cpu.h":
    void gompy_cpu(char *text, size_t size)

cdef extern from "<sys/prctl.h>":
    int PR_SET_PDEATHSIG
    int prctl(int option, unsigned long value)


def digest(bytes data not None):
    """32 bytes: BLAKE2b-256."""
    cdef uint8_t found[GOMPY_DIGEST]
    gompy_blake(<const char *> data, len(data), found)
    return (<char *> found)[:GOMPY_DIGEST]


def text_key(bytes text not None):
    """The key of a PTX text, 64 letters."""
    cdef char key[2 * GOMPY_DIGEST + 1]
    gompy_text_key(text, len(text), key)
    return key.decode()


def content(bytes data not None):
    """16 bytes that tell contents from damaged ones."""
    cdef uint64_t found[2]
    gompy_content(data, len(data), found)
    return (<char *> found)[:16]


def cpu():
    """This processor in words, as a folder of the cache has them."""
    cdef char text[128]
    gompy_cpu(text, sizeof(text))
    return text.decode()


def end_with(int parent):
    """Have the kernel end this process when that one ends, which made it; False if it has already."""
    prctl(PR_SET_PDEATHSIG, SIGKILL)
    return getppid() == parent

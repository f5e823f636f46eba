# cython: language_level=3, boundscheck=False, wraparound=False
"""Stores of this process to memory that is watched (watch.h): for the worker of a replay, on x86-64."""

from libc.stdint cimport uint64_t

cdef extern from "watch.h" nogil:
    enum:
        GOMPY_STORE_PAGES
        GOMPY_STORES_MOST
    struct gompy_store:
        uint64_t pc, address
        unsigned size
        unsigned char before[64]
        unsigned char after[64]
    uint64_t GOMPY_STORE_PAGE
    gompy_store *gompy_stores
    unsigned gompy_store_count
    uint64_t gompy_store_pages[1]
    unsigned gompy_store_page_count
    int gompy_stores_begin()
    void gompy_stores_end()


def begin(ranges):
    """Watch the pages of some (address, bytes).  OSError: that cannot be; ValueError: too many pages."""
    global gompy_store_page_count
    pages = sorted({page for start, size in ranges
                    for page in range(start & -GOMPY_STORE_PAGE, start + size, GOMPY_STORE_PAGE)})
    if len(pages) > GOMPY_STORE_PAGES:
        raise ValueError(f"{len(pages)} pages are too many to watch")
    for number, page in enumerate(pages):
        gompy_store_pages[number] = page
    gompy_store_page_count = len(pages)
    if gompy_stores_begin():
        raise OSError("these pages cannot be watched")


def end():
    """Watch no longer.  What was stored, in order: address of the code, address, contents before and after."""
    cdef gompy_store *store
    cdef unsigned i
    gompy_stores_end()
    found = []
    for i in range(min(gompy_store_count, GOMPY_STORES_MOST)):
        store = &gompy_stores[i]
        found.append((store.pc, store.address, store.before[:store.size], store.after[:store.size]))
    return found

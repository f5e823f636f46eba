# Which entry of the image belongs to which entry of the host's tables (docs/internals.md, "Link").  Pure: arrays in,
# index arrays out.

cdef struct HostRecord:
    # The record beside an object's tables (objects/names.py, OBJECT_RECORD).
    uint64_t id
    uint32_t nfuncs
    uint32_t nvars
    char name[48]

cdef struct ObjectDesc:
    uint64_t id
    uint32_t nfuncs
    uint32_t nvars
    uint32_t kind  # OBJECT_KIND_*
    uint32_t reserved
    const char *name

cdef struct TargetData:
    # What an intelmic image of ours registers.
    const void *image_start
    const void *image_end
    uint64_t magic
    uint32_t abi
    uint32_t accel
    uint64_t image_funcs
    uint64_t image_vars
    const HostRecord *host_begin
    const HostRecord *host_end
    const ObjectDesc *objects
    uint64_t num_objects
    const char *name

cdef struct Pairing:
    const HostRecord *records
    size_t num_records
    const ObjectDesc *objects
    size_t num_objects
    size_t host_funcs
    size_t host_vars
    size_t image_funcs
    size_t image_vars
    const char *program
    # Results: for each host entry the index of the image's, or -1.
    long *funcs
    long *vars
    # Work: how far both sides have been paired; which objects have a host record.
    size_t host_func
    size_t host_var
    unsigned char *linked


cdef int tables_disagree(Pairing *p, const char *what, const char *name, size_t f, size_t v, size_t image_f,
                  size_t image_v) noexcept nogil:
    return gompy_fail(b"libgompy: %s: offload tables of the host and of the device image disagree: %s%s has %lu "
                      b"functions and %lu variables on the host, %lu and %lu in the image; link the program again from "
                      b"objects that are up to date",
                      or_text(p.program, b"program"), what, name,
                      <unsigned long> f, <unsigned long> v, <unsigned long> image_f, <unsigned long> image_v)


cdef inline const char *object_name(const ObjectDesc *o) noexcept nogil:
    return or_text(o.name, b"(no name)")


cdef int take_object(Pairing *p, size_t nfuncs, size_t nvars, long image_func, long image_var) noexcept nogil:
    """Pair the next host entries with an object's (-1: it has none in the image); 1 if there are not so many."""
    cdef size_t i
    if nfuncs > p.host_funcs - p.host_func or nvars > p.host_vars - p.host_var:
        return 1
    for i in range(nfuncs):
        p.funcs[p.host_func + i] = -1 if image_func < 0 else image_func + <long> i
    for i in range(nvars):
        p.vars[p.host_var + i] = -1 if image_var < 0 else image_var + <long> i
    p.host_func += nfuncs
    p.host_var += nvars
    return 0


cdef void image_place(Pairing *p, size_t object, size_t *func, size_t *var) noexcept nogil:
    """Where an object's entries begin in the image."""
    cdef size_t i
    func[0] = 0
    var[0] = 0
    for i in range(object):
        if p.objects[i].kind != OBJECT_KIND_HOST_ONLY:
            func[0] += p.objects[i].nfuncs
            var[0] += p.objects[i].nvars


cdef inline bint has_record(const ObjectDesc *o) noexcept nogil:
    """Whether a program with this object has a record of it: it may be an archive's member that was not linked."""
    return o.id != 0 and (o.kind == OBJECT_KIND_ID or o.kind == OBJECT_KIND_HOST_ONLY)


cdef int find_records(Pairing *p, size_t *object_of) noexcept nogil:
    """Find each record's object by id (num_objects: none), beginning after the one before it."""
    cdef size_t i, j, at
    cdef size_t next = 0
    cdef const HostRecord *r
    cdef const ObjectDesc *o
    for i in range(p.num_records):
        r = &p.records[i]
        object_of[i] = p.num_objects
        if r.id == 0:
            continue
        for j in range(p.num_objects):
            at = next + j
            if at >= p.num_objects:
                at -= p.num_objects
            o = &p.objects[at]
            if has_record(o) and o.id == r.id and not p.linked[at]:
                object_of[i] = at
                p.linked[at] = 1
                next = at + 1
                break
        if object_of[i] == p.num_objects:
            return gompy_fail(
                    b"libgompy: %s: object %s has regions or device variables and is not in the device image: "
                    b"the linker plugin did not get it, or not its device code. If that was taken out (strip "
                    b"or objcopy, sections .gnu.offload_lto_*), compile it again; if the linker is mold before "
                    b"2.30, link with -fuse-ld=bfd, or compile it with -flto, too",
                    or_text(p.program, b"program"), r.name)
        if o.nfuncs != r.nfuncs or o.nvars != r.nvars:
            return tables_disagree(p, b"object ", r.name, r.nfuncs, r.nvars, o.nfuncs, o.nvars)
    return 0


cdef int pair_joint(Pairing *p, const HostRecord *r) noexcept nogil:
    """The record of the joint table of all objects that went through host LTO."""
    cdef size_t i
    cdef size_t f = 0
    cdef size_t v = 0
    cdef size_t image_f = 0
    cdef size_t image_v = 0
    cdef const ObjectDesc *o
    for i in range(p.num_objects):
        if p.objects[i].kind == OBJECT_KIND_LTO:
            f += p.objects[i].nfuncs
            v += p.objects[i].nvars
    if f != r.nfuncs or v != r.nvars:
        return tables_disagree(p, b"the joint LTO object ", r.name, r.nfuncs, r.nvars, f, v)
    for i in range(p.num_objects):
        o = &p.objects[i]
        if o.kind == OBJECT_KIND_LTO and take_object(p, o.nfuncs, o.nvars, <long> image_f, <long> image_v):
            return tables_disagree(p, b"object ", object_name(o), o.nfuncs, o.nvars, o.nfuncs, o.nvars)
        if o.kind != OBJECT_KIND_HOST_ONLY:
            image_f += o.nfuncs
            image_v += o.nvars
    return 0


cdef int pair_by_record(Pairing *p, const size_t *object_of) noexcept nogil:
    cdef size_t i, f, v
    cdef bint joint = False
    cdef const HostRecord *r
    for i in range(p.num_records):
        r = &p.records[i]
        if r.id == 0:
            if r.nfuncs == 0 and r.nvars == 0:
                continue
            if joint:
                return tables_disagree(p, b"a second joint LTO object ", r.name, r.nfuncs, r.nvars, 0, 0)
            joint = True
            if pair_joint(p, r):
                return -1
            continue
        image_place(p, object_of[i], &f, &v)
        if take_object(p, r.nfuncs, r.nvars, <long> f, <long> v):
            return tables_disagree(
                p, b"object ", r.name, p.host_funcs - p.host_func, p.host_vars - p.host_var, r.nfuncs, r.nvars
            )
    return 0


cdef int pair_by_position(Pairing *p) noexcept nogil:
    cdef size_t i
    cdef size_t f = 0
    cdef size_t v = 0
    cdef bint in_image
    cdef const ObjectDesc *o
    for i in range(p.num_objects):
        o = &p.objects[i]
        in_image = o.kind != OBJECT_KIND_HOST_ONLY
        if not has_record(o) or p.linked[i]:
            if take_object(p, o.nfuncs, o.nvars, <long> f if in_image else -1, <long> v if in_image else -1):
                return tables_disagree(
                    p, b"object ", object_name(o), p.host_funcs - p.host_func, p.host_vars - p.host_var,
                    o.nfuncs, o.nvars)
        if in_image:
            f += o.nfuncs
            v += o.nvars
    return 0


cdef int pair_tables(Pairing *p) noexcept nogil:
    """Fill p.funcs and p.vars; -1 with a failure text that names the object."""
    cdef size_t i, f, v
    cdef size_t *object_of = <size_t *> malloc((p.num_records + 1) * sizeof(size_t) + p.num_objects + 1)
    cdef bint by_position = False
    cdef int rc
    if object_of == NULL:
        return gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> (p.num_records * sizeof(size_t)))
    p.linked = <unsigned char *> (object_of + p.num_records + 1)
    memset(p.linked, 0, p.num_objects + 1)
    p.host_func = 0
    p.host_var = 0
    for i in range(p.num_objects):
        if p.objects[i].kind == OBJECT_KIND_HOST_ONLY or p.objects[i].kind == OBJECT_KIND_STOCK:
            by_position = True
    image_place(p, p.num_objects, &f, &v)
    if f != p.image_funcs or v != p.image_vars:
        rc = tables_disagree(p, b"the list of objects", b"", f, v, p.image_funcs, p.image_vars)
    else:
        rc = find_records(p, object_of)
        if rc == 0:
            rc = pair_by_position(p) if by_position else pair_by_record(p, object_of)
        if rc == 0 and (p.host_func != p.host_funcs or p.host_var != p.host_vars):
            rc = tables_disagree(p, b"an object after the last that is known", b"", p.host_funcs - p.host_func,
                          p.host_vars - p.host_var, 0, 0)
    free(object_of)
    return rc

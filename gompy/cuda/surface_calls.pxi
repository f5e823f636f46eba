# cuSurfObject*, cuSurfRef*: what kernels read and write arrays by.  The record is a texture's, of an array that was
# made for it (texture_calls.pxi).

cdef bint for_surfaces(void *p) noexcept nogil:
    """Whether an array may be written so."""
    return (<array *>p).flags & CUDA_ARRAY3D_SURFACE_LDST != 0


cdef public int cuSurfObjectCreate(uint64_t *to, const resource_description *r) noexcept nogil:
    """What kernels read and write an array by; the array has CUDA_ARRAY3D_SURFACE_LDST."""
    cdef context *c
    cdef texture_description d
    cdef ptx_texture t
    cdef uint64_t address
    cdef int answer = current_context(&c)
    if answer != CUDA_SUCCESS:
        return answer
    if to == NULL or r == NULL or r.kind != CU_RESOURCE_TYPE_ARRAY:
        return CUDA_ERROR_INVALID_VALUE
    memset(&d, 0, sizeof(d))
    answer = describe_array_texture(&t, <void *>r.address, &d)
    if answer == CUDA_SUCCESS and not for_surfaces(<void *>r.address):
        answer = CUDA_ERROR_INVALID_VALUE
    if answer != CUDA_SUCCESS:
        return answer
    t.flags = PTX_TEXTURE_SURFACE
    address = alloc_in(c.device, &c.device.memory, OBJECT_BYTES, 512, SURFACE, c, NULL, 0)
    if address == 0:
        return CUDA_ERROR_OUT_OF_MEMORY
    memcpy(<void *>address, &t, sizeof(t))
    memcpy(<char *>address + KEPT_RESOURCE, r, sizeof(resource_description))
    mark_shadow(address, OBJECT_BYTES, SHADOW_WRITTEN)
    to[0] = address
    return CUDA_SUCCESS


cdef public int cuSurfObjectDestroy(uint64_t object) noexcept nogil:
    """The array stays."""
    cdef int r = api_state()
    return r if r != CUDA_SUCCESS else free_block_at(object, SURFACE, SURFACE)


cdef public int cuSurfObjectGetResourceDesc(resource_description *to, uint64_t object) noexcept nogil:
    """As it was given."""
    cdef int r = enter_texture(object, SURFACE, to)
    if r == CUDA_SUCCESS:
        memcpy(to, <char *>object + KEPT_RESOURCE, sizeof(resource_description))
    return r


cdef public int cuModuleGetSurfRef(void **to, void *p, const char *name) noexcept nogil:
    """A module's surface reference."""
    return module_reference(to, p, name, PTX_TEXTURE_SURFACE)


cdef public int cuSurfRefSetArray(void *p, void *q, unsigned flags) noexcept nogil:
    """Bind an array; there are no flags."""
    cdef ptx_texture *t = NULL
    cdef int r = enter_reference(p, &t, PTX_TEXTURE_SURFACE)
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(ARRAY, q):
        return CUDA_ERROR_INVALID_HANDLE
    if flags != 0 or not for_surfaces(q):
        return CUDA_ERROR_INVALID_VALUE
    bind_array(t, <array *>q)
    return CUDA_SUCCESS


cdef public int cuSurfRefGetArray(void **to, void *p) noexcept nogil:
    """The array that is bound."""
    cdef ptx_texture *t = NULL
    cdef context *c
    cdef array *a
    cdef int r = enter_reference(p, &t, PTX_TEXTURE_SURFACE)
    if r == CUDA_SUCCESS:
        r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&work_lock)
    a = c.arrays
    while a != NULL and (a.address != t.address or t.address == 0):
        a = a.next
    pthread_mutex_unlock(&work_lock)
    if to == NULL or a == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = a
    return CUDA_SUCCESS

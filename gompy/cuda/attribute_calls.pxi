# Attributes of kernel nodes: whether the blocks run together, and those that only tell what is quick, which are kept.


cdef bint node_keeps(int kind) noexcept nogil:
    """Whether kernel nodes have an attribute that is without effect on an emulated device."""
    return kind in (
        CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
        CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, CU_LAUNCH_ATTRIBUTE_PRIORITY,
        CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
        CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
    )


cdef int set_together(node *n, bint together) noexcept nogil:
    """Let a kernel's blocks wait for each other, or not.  With work_lock held."""
    cdef function *f = n.work.kernel
    if not is_handle(FUNCTION, f) or f.head.serial != n.serial:
        return CUDA_ERROR_INVALID_HANDLE
    if together and not fits_together(f, n.work.config.grid, n.work.config.block, n.work.config.shared_bytes):
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
    n.work.config.together = together
    return CUDA_SUCCESS


cdef public int cuGraphKernelNodeSetAttribute(void *p, int kind, const void *value) noexcept nogil:
    """Set an attribute.  CUDA_ERROR_NOT_SUPPORTED: clusters of more than a block."""
    cdef const unsigned *words = <const unsigned *>value
    cdef node *n = NULL
    cdef int r = enter_node(p, CU_GRAPH_NODE_TYPE_KERNEL, &n) if value != NULL else CUDA_ERROR_INVALID_VALUE
    if r != CUDA_SUCCESS:
        return r
    if kind == CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        r = set_together(n, words[0] != 0)
    elif kind == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION and is_cluster(words):
        r = CUDA_ERROR_NOT_SUPPORTED
    elif not node_keeps(kind):
        r = CUDA_ERROR_INVALID_VALUE
    elif told_attributes(n) == NULL:
        r = CUDA_ERROR_OUT_OF_MEMORY
    else:
        memcpy(n.told.value[kind], value, sizeof(n.told.value[kind]))
    pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphKernelNodeGetAttribute(void *p, int kind, void *value) noexcept nogil:
    """The attribute that was set, or zeros."""
    cdef node *n = NULL
    cdef int r = enter_node(p, CU_GRAPH_NODE_TYPE_KERNEL, &n) if value != NULL else CUDA_ERROR_INVALID_VALUE
    if r != CUDA_SUCCESS:
        return r
    if not node_keeps(kind) and kind != CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        r = CUDA_ERROR_INVALID_VALUE
    elif node_keeps(kind) and n.told != NULL:
        memcpy(value, n.told.value[kind], sizeof(n.told.value[kind]))
    else:
        memset(value, 0, sizeof(n.told.value[0]))
    if r == CUDA_SUCCESS and kind == CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        (<int *>value)[0] = n.work.config.together != 0
    pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphKernelNodeCopyAttributes(void *to, void *of) noexcept nogil:
    """Give a kernel node the attributes of another one."""
    cdef node *n = NULL
    cdef node *m = NULL
    cdef int r = enter_node(to, CU_GRAPH_NODE_TYPE_KERNEL, &n)
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(NODE, of) or (<node *>of).kind != CU_GRAPH_NODE_TYPE_KERNEL:
        r = CUDA_ERROR_INVALID_VALUE
    else:
        m = <node *>of
        r = set_together(n, m.work.config.together != 0)
    if r == CUDA_SUCCESS and m.told != NULL and told_attributes(n) == NULL:
        r = CUDA_ERROR_OUT_OF_MEMORY
    if r == CUDA_SUCCESS and m.told != NULL:
        n.told[0] = m.told[0]
    elif r == CUDA_SUCCESS and n.told != NULL:
        memset(n.told, 0, sizeof(node_attributes))
    pthread_mutex_unlock(&work_lock)
    return r

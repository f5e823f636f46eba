# Interoperability objects: the program gets the device's CUDA handles and a stream, for its own calls of the driver, of
# the CUDA runtime or of HIP.  Which property is what: OpenMP's additional definitions, as GCC 15's plugin has them.

from gompy.native.interop cimport (
    GOMP_INTEROP_FLAG_DESTROY, GOMP_INTEROP_FLAG_USE, GOMP_INTEROP_IFR_SEPARATOR, OMP_IFR_CUDA, OMP_IFR_CUDA_DRIVER,
    OMP_IFR_HIP, OMP_IPR_DEVICE, OMP_IPR_DEVICE_CONTEXT, OMP_IPR_DEVICE_NUM, OMP_IPR_FR_ID, OMP_IPR_FR_NAME,
    OMP_IPR_TARGETSYNC, OMP_IPR_VENDOR, OMP_IPR_VENDOR_NAME, OMP_IRC_NO_VALUE, OMP_IRC_TYPE_INT, OMP_IRC_TYPE_PTR,
    OMP_IRC_TYPE_STR, VENDOR_NVIDIA,
)
from gompy.native.interop_texts cimport gompy_interop_choice
from gompy.native.plugin_types cimport InteropObject


cdef int serves_runtime(int fr) noexcept nogil:
    return fr == OMP_IFR_CUDA or fr == OMP_IFR_CUDA_DRIVER or fr == OMP_IFR_HIP


cdef CUstream open_stream(Device *d) noexcept nogil:
    """A stream in the device's context.  A context that the program has made current stays so."""
    cdef CUcontext current = NULL
    cdef CUstream stream = NULL
    must_succeed(cuda.ctx_current(&current), b"cuCtxGetCurrent")
    if current == d.context:
        must_succeed(cuda.stream_create(&stream, 0), b"cuStreamCreate")
        return stream
    must_succeed(cuda.ctx_push(d.context), b"cuCtxPushCurrent")
    must_succeed(cuda.stream_create(&stream, 0), b"cuStreamCreate")
    if current != NULL:
        must_succeed(cuda.ctx_pop(&current), b"cuCtxPopCurrent")
    return stream


cdef public void GOMP_OFFLOAD_interop(InteropObject *object, int n, int action, c_bool targetsync,
                                      const char *preferred) noexcept nogil:
    """Make an object, wait for what its stream holds, or end it."""
    cdef Device *d
    if action == GOMP_INTEROP_FLAG_USE:
        if object.stream != NULL:
            must_succeed(cuda.stream_synchronize(<CUstream> object.stream), b"cuStreamSynchronize")
        return
    if action == GOMP_INTEROP_FLAG_DESTROY:
        if object.stream != NULL:
            must_succeed(cuda.stream_synchronize(<CUstream> object.stream), b"cuStreamSynchronize")
            must_succeed(cuda.stream_destroy(<CUstream> object.stream), b"cuStreamDestroy")
        object.stream = NULL
        return
    d = device_of(n)
    if d == NULL:
        GOMP_PLUGIN_fatal(b"interop: device %d (nvptx) is not in use", n)
    object.fr = gompy_interop_choice(preferred, GOMP_INTEROP_IFR_SEPARATOR, serves_runtime)
    if object.fr == 0:
        object.fr = OMP_IFR_CUDA
    object.device_data = d
    if targetsync:
        object.stream = open_stream(d)


cdef int interop_value(InteropObject *object, int property, intptr_t *word) noexcept nogil:
    """A property: what it is (OMP_IRC_TYPE_*, OMP_IRC_NO_VALUE), and its value."""
    cdef Device *d = <Device *> object.device_data
    if property == OMP_IPR_FR_ID:
        word[0] = object.fr
    elif property == OMP_IPR_VENDOR:
        word[0] = VENDOR_NVIDIA
    elif property == OMP_IPR_DEVICE_NUM:
        word[0] = object.device_num
    elif property == OMP_IPR_DEVICE:
        word[0] = d.handle
    elif property == OMP_IPR_FR_NAME:
        word[0] = <intptr_t> <const char *> (b"cuda" if object.fr == OMP_IFR_CUDA else
                                             b"cuda_driver" if object.fr == OMP_IFR_CUDA_DRIVER else b"hip")
        return OMP_IRC_TYPE_STR
    elif property == OMP_IPR_VENDOR_NAME:
        word[0] = <intptr_t> <const char *> b"nvidia"
        return OMP_IRC_TYPE_STR
    elif property == OMP_IPR_DEVICE_CONTEXT and object.fr != OMP_IFR_CUDA:
        word[0] = <intptr_t> d.context
        return OMP_IRC_TYPE_PTR
    elif property == OMP_IPR_TARGETSYNC and object.stream != NULL:
        word[0] = <intptr_t> object.stream
        return OMP_IRC_TYPE_PTR
    else:
        return OMP_IRC_NO_VALUE
    return OMP_IRC_TYPE_INT


cdef const char *interop_type(InteropObject *object, int property) noexcept nogil:
    """The type of device, device_context or targetsync in the foreign runtime's language; of others "N/A"."""
    cdef bint plain = object.fr == OMP_IFR_CUDA, hip = object.fr == OMP_IFR_HIP
    if property == OMP_IPR_DEVICE:
        return b"int" if plain else b"hipDevice_t" if hip else b"CUdevice"
    if property == OMP_IPR_DEVICE_CONTEXT and not plain:
        return b"hipCtx_t" if hip else b"CUcontext"
    if property == OMP_IPR_TARGETSYNC:
        return b"cudaStream_t" if plain else b"hipStream_t" if hip else b"CUstream"
    return b"N/A"

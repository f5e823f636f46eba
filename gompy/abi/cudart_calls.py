"""The calls of the CUDA runtime: those of libcudart, those of them that are the driver's, those that are not there.

Source: CUDA Runtime API reference, "Modules".  The header, the library's exports and the tables of
docs/cuda-runtime.md are made of it.
"""

from __future__ import annotations

CALLS = {
    "Devices": {
        "cudaGetDeviceCount": "int *count",
        "cudaGetDevice": "int *device",
        "cudaSetDevice": "int device",
        "cudaSetDeviceFlags": "unsigned flags",
        "cudaGetDeviceFlags": "unsigned *flags",
        "cudaGetDeviceProperties_v2": "struct cudaDeviceProp *to, int device",
        "cudaDeviceGetAttribute": "int *value, enum cudaDeviceAttr attribute, int device",
        "cudaChooseDevice": "int *device, const struct cudaDeviceProp *wanted",
        "cudaDeviceGetPCIBusId": "char *to, int size, int device",
        "cudaDeviceGetByPCIBusId": "int *device, const char *id",
        "cudaDeviceSynchronize": "void",
        "cudaDeviceReset": "void",
        "cudaDeviceSetLimit": "enum cudaLimit limit, size_t value",
        "cudaDeviceGetLimit": "size_t *value, enum cudaLimit limit",
        "cudaDeviceGetCacheConfig": "enum cudaFuncCache *config",
        "cudaDeviceSetCacheConfig": "enum cudaFuncCache config",
        "cudaDeviceGetSharedMemConfig": "enum cudaSharedMemConfig *config",
        "cudaDeviceSetSharedMemConfig": "enum cudaSharedMemConfig config",
        "cudaDeviceGetStreamPriorityRange": "int *least, int *greatest",
        "cudaDeviceCanAccessPeer": "int *can, int device, int peer",
        "cudaDeviceEnablePeerAccess": "int peer, unsigned flags",
        "cudaDeviceDisablePeerAccess": "int peer",
        "cudaDeviceGetP2PAttribute": "int *value, enum cudaDeviceP2PAttr attribute, int device, int peer",
        "cudaInitDevice": "int device, unsigned device_flags, unsigned flags",
        "cudaCtxResetPersistingL2Cache": "void",
        "cudaThreadSynchronize": "void",
        "cudaThreadExit": "void",
    },
    "Errors and versions": {
        "cudaGetLastError": "void",
        "cudaPeekAtLastError": "void",
        "cudaGetErrorName": "cudaError_t error",
        "cudaGetErrorString": "cudaError_t error",
        "cudaDriverGetVersion": "int *version",
        "cudaGetDriverEntryPoint": (
            "const char *symbol, void **to, unsigned long long flags, enum cudaDriverEntryPointQueryResult *result"
        ),
        "cudaRuntimeGetVersion": "int *version",
        "cudaProfilerStart": "void",
        "cudaProfilerStop": "void",
    },
    "Memory": {
        "cudaMalloc": "void **to, size_t size",
        "cudaMallocPitch": "void **to, size_t *pitch, size_t width, size_t height",
        "cudaMallocManaged": "void **to, size_t size, unsigned flags",
        "cudaMallocHost": "void **to, size_t size",
        "cudaHostAlloc": "void **to, size_t size, unsigned flags",
        "cudaHostGetDevicePointer": "void **to, void *host, unsigned flags",
        "cudaHostGetFlags": "unsigned *flags, void *host",
        "cudaHostRegister": "void *host, size_t size, unsigned flags",
        "cudaHostUnregister": "void *host",
        "cudaFree": "void *device",
        "cudaFreeHost": "void *host",
        "cudaMallocAsync": "void **to, size_t size, cudaStream_t stream",
        "cudaFreeAsync": "void *device, cudaStream_t stream",
        "cudaMemGetInfo": "size_t *free, size_t *total",
        "cudaPointerGetAttributes": "struct cudaPointerAttributes *to, const void *pointer",
        "cudaMemPrefetchAsync": "const void *device, size_t size, int to, cudaStream_t stream",
        "cudaMemAdvise": "const void *device, size_t size, enum cudaMemoryAdvise advice, int of",
        "cudaMemRangeGetAttribute": (
            "void *to, size_t to_size, enum cudaMemRangeAttribute attribute, const void *device, size_t size"
        ),
        "cudaMemRangeGetAttributes": (
            "void **to, size_t *to_sizes, enum cudaMemRangeAttribute *attributes, size_t count, const void *device, "
            "size_t size"
        ),
        "cudaMalloc3D": "struct cudaPitchedPtr *to, struct cudaExtent extent",
    },
    "Copies and fills": {
        "cudaMemcpy": "void *to, const void *from, size_t size, enum cudaMemcpyKind kind",
        "cudaMemcpyAsync": "void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream",
        "cudaMemcpyPeer": "void *to, int to_device, const void *from, int from_device, size_t size",
        "cudaMemcpyPeerAsync": (
            "void *to, int to_device, const void *from, int from_device, size_t size, cudaStream_t stream"
        ),
        "cudaMemcpy2D": (
            "void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, "
            "enum cudaMemcpyKind kind"
        ),
        "cudaMemcpy2DAsync": (
            "void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, "
            "enum cudaMemcpyKind kind, cudaStream_t stream"
        ),
        "cudaMemcpyToSymbol": (
            "const void *symbol, const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind"
        ),
        "cudaMemcpyFromSymbol": "void *to, const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind",
        "cudaMemcpyToSymbolAsync": (
            "const void *symbol, const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind, "
            "cudaStream_t stream"
        ),
        "cudaMemcpyFromSymbolAsync": (
            "void *to, const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream"
        ),
        "cudaMemcpy3D": "const struct cudaMemcpy3DParms *params",
        "cudaMemcpy3DAsync": "const struct cudaMemcpy3DParms *params, cudaStream_t stream",
        "cudaMemcpy3DPeer": "const struct cudaMemcpy3DPeerParms *params",
        "cudaMemcpy3DPeerAsync": "const struct cudaMemcpy3DPeerParms *params, cudaStream_t stream",
        "cudaGetSymbolAddress": "void **to, const void *symbol",
        "cudaGetSymbolSize": "size_t *size, const void *symbol",
        "cudaMemset": "void *device, int value, size_t size",
        "cudaMemsetAsync": "void *device, int value, size_t size, cudaStream_t stream",
        "cudaMemset2D": "void *device, size_t pitch, int value, size_t width, size_t height",
        "cudaMemset2DAsync": (
            "void *device, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream"
        ),
        "cudaMemset3D": "struct cudaPitchedPtr device, int value, struct cudaExtent extent",
        "cudaMemset3DAsync": ("struct cudaPitchedPtr device, int value, struct cudaExtent extent, cudaStream_t stream"),
    },
    "Streams": {
        "cudaStreamCreate": "cudaStream_t *to",
        "cudaStreamCreateWithFlags": "cudaStream_t *to, unsigned flags",
        "cudaStreamCreateWithPriority": "cudaStream_t *to, unsigned flags, int priority",
        "cudaStreamDestroy": "cudaStream_t stream",
        "cudaStreamQuery": "cudaStream_t stream",
        "cudaStreamSynchronize": "cudaStream_t stream",
        "cudaStreamWaitEvent": "cudaStream_t stream, cudaEvent_t event, unsigned flags",
        "cudaStreamAddCallback": "cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned flags",
        "cudaLaunchHostFunc": "cudaStream_t stream, cudaHostFn_t function, void *data",
        "cudaStreamGetFlags": "cudaStream_t stream, unsigned *flags",
        "cudaStreamGetPriority": "cudaStream_t stream, int *priority",
        "cudaStreamGetId": "cudaStream_t stream, unsigned long long *id",
        "cudaStreamGetDevice": "cudaStream_t stream, int *device",
        "cudaStreamSetAttribute": (
            "cudaStream_t stream, enum cudaLaunchAttributeID attribute, const cudaLaunchAttributeValue *value"
        ),
        "cudaStreamGetAttribute": (
            "cudaStream_t stream, enum cudaLaunchAttributeID attribute, cudaLaunchAttributeValue *value"
        ),
        "cudaStreamCopyAttributes": "cudaStream_t to, cudaStream_t from",
        "cudaStreamAttachMemAsync": "cudaStream_t stream, void *device, size_t size, unsigned flags",
    },
    "Events": {
        "cudaEventCreate": "cudaEvent_t *to",
        "cudaEventCreateWithFlags": "cudaEvent_t *to, unsigned flags",
        "cudaEventDestroy": "cudaEvent_t event",
        "cudaEventRecord": "cudaEvent_t event, cudaStream_t stream",
        "cudaEventRecordWithFlags": "cudaEvent_t event, cudaStream_t stream, unsigned flags",
        "cudaEventQuery": "cudaEvent_t event",
        "cudaEventSynchronize": "cudaEvent_t event",
        "cudaEventElapsedTime": "float *milliseconds, cudaEvent_t start, cudaEvent_t end",
    },
    "Kernels": {
        "cudaLaunchKernel": (
            "const void *function, struct dim3 grid, struct dim3 block, void **arguments, size_t shared, "
            "cudaStream_t stream"
        ),
        "cudaLaunchCooperativeKernel": (
            "const void *function, struct dim3 grid, struct dim3 block, void **arguments, size_t shared, "
            "cudaStream_t stream"
        ),
        "cudaLaunchKernelExC": "const cudaLaunchConfig_t *how, const void *function, void **arguments",
        "cudaFuncGetName": "const char **name, const void *function",
        "cudaGetFuncBySymbol": "cudaFunction_t *to, const void *function",
        "cudaFuncGetAttributes": "struct cudaFuncAttributes *to, const void *function",
        "cudaFuncSetAttribute": "const void *function, enum cudaFuncAttribute attribute, int value",
        "cudaFuncSetCacheConfig": "const void *function, enum cudaFuncCache config",
        "cudaFuncSetSharedMemConfig": "const void *function, enum cudaSharedMemConfig config",
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor": (
            "int *blocks, const void *function, int threads, size_t shared"
        ),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": (
            "int *blocks, const void *function, int threads, size_t shared, unsigned flags"
        ),
        "cudaOccupancyAvailableDynamicSMemPerBlock": "size_t *size, const void *function, int blocks, int threads",
    },
    "Capture": {
        "cudaStreamBeginCapture": "cudaStream_t stream, enum cudaStreamCaptureMode mode",
        "cudaStreamBeginCaptureToGraph": (
            "cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *before, const cudaGraphEdgeData *edges, "
            "size_t count, enum cudaStreamCaptureMode mode"
        ),
        "cudaStreamEndCapture": "cudaStream_t stream, cudaGraph_t *to",
        "cudaStreamIsCapturing": "cudaStream_t stream, enum cudaStreamCaptureStatus *status",
        "cudaStreamGetCaptureInfo_v2": (
            "cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t "
            "*graph, const cudaGraphNode_t **before, size_t *count"
        ),
        "cudaStreamUpdateCaptureDependencies": (
            "cudaStream_t stream, cudaGraphNode_t *before, size_t count, unsigned flags"
        ),
        "cudaThreadExchangeStreamCaptureMode": "enum cudaStreamCaptureMode *mode",
    },
    "Graphs": {
        "cudaGraphCreate": "cudaGraph_t *to, unsigned flags",
        "cudaGraphDestroy": "cudaGraph_t graph",
        "cudaGraphClone": "cudaGraph_t *to, cudaGraph_t graph",
        "cudaGraphNodeFindInClone": "cudaGraphNode_t *to, cudaGraphNode_t node, cudaGraph_t clone",
        "cudaGraphNodeGetType": "cudaGraphNode_t node, enum cudaGraphNodeType *type",
        "cudaGraphGetNodes": "cudaGraph_t graph, cudaGraphNode_t *to, size_t *count",
        "cudaGraphGetRootNodes": "cudaGraph_t graph, cudaGraphNode_t *to, size_t *count",
        "cudaGraphGetEdges": "cudaGraph_t graph, cudaGraphNode_t *first, cudaGraphNode_t *then, size_t *count",
        "cudaGraphNodeGetDependencies": "cudaGraphNode_t node, cudaGraphNode_t *to, size_t *count",
        "cudaGraphNodeGetDependentNodes": "cudaGraphNode_t node, cudaGraphNode_t *to, size_t *count",
        "cudaGraphAddDependencies": (
            "cudaGraph_t graph, const cudaGraphNode_t *first, const cudaGraphNode_t *then, size_t count"
        ),
        "cudaGraphRemoveDependencies": (
            "cudaGraph_t graph, const cudaGraphNode_t *first, const cudaGraphNode_t *then, size_t count"
        ),
        "cudaGraphDestroyNode": "cudaGraphNode_t node",
        "cudaGraphDebugDotPrint": "cudaGraph_t graph, const char *path, unsigned flags",
        "cudaGraphInstantiate": "cudaGraphExec_t *to, cudaGraph_t graph, unsigned long long flags",
        "cudaGraphInstantiateWithFlags": "cudaGraphExec_t *to, cudaGraph_t graph, unsigned long long flags",
        "cudaGraphInstantiateWithParams": ("cudaGraphExec_t *to, cudaGraph_t graph, cudaGraphInstantiateParams *how"),
        "cudaGraphConditionalHandleCreate": (
            "cudaGraphConditionalHandle *to, cudaGraph_t graph, unsigned first, unsigned flags"
        ),
        "cudaUserObjectCreate": (
            "cudaUserObject_t *to, void *data, cudaHostFn_t destroy, unsigned references, unsigned flags"
        ),
        "cudaUserObjectRetain": "cudaUserObject_t object, unsigned count",
        "cudaUserObjectRelease": "cudaUserObject_t object, unsigned count",
        "cudaGraphRetainUserObject": "cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags",
        "cudaGraphReleaseUserObject": "cudaGraph_t graph, cudaUserObject_t object, unsigned count",
        "cudaGraphExecGetFlags": "cudaGraphExec_t graph, unsigned long long *flags",
        "cudaGraphUpload": "cudaGraphExec_t graph, cudaStream_t stream",
        "cudaGraphLaunch": "cudaGraphExec_t graph, cudaStream_t stream",
        "cudaGraphExecDestroy": "cudaGraphExec_t graph",
        "cudaGraphExecUpdate": "cudaGraphExec_t graph, cudaGraph_t other, struct cudaGraphExecUpdateResultInfo *result",
    },
    "Graphs' nodes": {
        "cudaGraphAddNode": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, "
            "struct cudaGraphNodeParams *params"
        ),
        "cudaGraphAddEmptyNode": "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count",
        "cudaGraphAddKernelNode": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, const struct "
            "cudaKernelNodeParams *params"
        ),
        "cudaGraphKernelNodeGetParams": "cudaGraphNode_t node, struct cudaKernelNodeParams *params",
        "cudaGraphKernelNodeSetParams": "cudaGraphNode_t node, const struct cudaKernelNodeParams *params",
        "cudaGraphKernelNodeCopyAttributes": "cudaGraphNode_t to, cudaGraphNode_t from",
        "cudaGraphKernelNodeGetAttribute": (
            "cudaGraphNode_t node, enum cudaLaunchAttributeID attribute, cudaLaunchAttributeValue *value"
        ),
        "cudaGraphKernelNodeSetAttribute": (
            "cudaGraphNode_t node, enum cudaLaunchAttributeID attribute, const cudaLaunchAttributeValue *value"
        ),
        "cudaGraphAddMemcpyNode": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, const struct "
            "cudaMemcpy3DParms *params"
        ),
        "cudaGraphAddMemcpyNode1D": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, void *target,"
            " const void *from, size_t size, enum cudaMemcpyKind kind"
        ),
        "cudaGraphAddMemcpyNodeToSymbol": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, const void "
            "*symbol, const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind"
        ),
        "cudaGraphAddMemcpyNodeFromSymbol": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, void *target,"
            " const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind"
        ),
        "cudaGraphMemcpyNodeGetParams": "cudaGraphNode_t node, struct cudaMemcpy3DParms *params",
        "cudaGraphMemcpyNodeSetParams": "cudaGraphNode_t node, const struct cudaMemcpy3DParms *params",
        "cudaGraphMemcpyNodeSetParams1D": (
            "cudaGraphNode_t node, void *target, const void *from, size_t size, enum cudaMemcpyKind kind"
        ),
        "cudaGraphAddMemsetNode": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, const struct "
            "cudaMemsetParams *params"
        ),
        "cudaGraphMemsetNodeGetParams": "cudaGraphNode_t node, struct cudaMemsetParams *params",
        "cudaGraphMemsetNodeSetParams": "cudaGraphNode_t node, const struct cudaMemsetParams *params",
        "cudaGraphAddHostNode": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, const struct "
            "cudaHostNodeParams *params"
        ),
        "cudaGraphHostNodeGetParams": "cudaGraphNode_t node, struct cudaHostNodeParams *params",
        "cudaGraphHostNodeSetParams": "cudaGraphNode_t node, const struct cudaHostNodeParams *params",
        "cudaGraphAddChildGraphNode": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, cudaGraph_t child"
        ),
        "cudaGraphChildGraphNodeGetGraph": "cudaGraphNode_t node, cudaGraph_t *to",
        "cudaGraphAddEventRecordNode": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, cudaEvent_t event"
        ),
        "cudaGraphEventRecordNodeGetEvent": "cudaGraphNode_t node, cudaEvent_t *to",
        "cudaGraphEventRecordNodeSetEvent": "cudaGraphNode_t node, cudaEvent_t event",
        "cudaGraphAddEventWaitNode": (
            "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count, cudaEvent_t event"
        ),
        "cudaGraphEventWaitNodeGetEvent": "cudaGraphNode_t node, cudaEvent_t *to",
        "cudaGraphEventWaitNodeSetEvent": "cudaGraphNode_t node, cudaEvent_t event",
        "cudaGraphExecKernelNodeSetParams": (
            "cudaGraphExec_t graph, cudaGraphNode_t node, const struct cudaKernelNodeParams *params"
        ),
        "cudaGraphExecMemcpyNodeSetParams": (
            "cudaGraphExec_t graph, cudaGraphNode_t node, const struct cudaMemcpy3DParms *params"
        ),
        "cudaGraphExecMemcpyNodeSetParams1D": (
            "cudaGraphExec_t graph, cudaGraphNode_t node, void *target, const void *from, size_t size, enum "
            "cudaMemcpyKind kind"
        ),
        "cudaGraphExecMemsetNodeSetParams": (
            "cudaGraphExec_t graph, cudaGraphNode_t node, const struct cudaMemsetParams *params"
        ),
        "cudaGraphExecHostNodeSetParams": (
            "cudaGraphExec_t graph, cudaGraphNode_t node, const struct cudaHostNodeParams *params"
        ),
        "cudaGraphExecChildGraphNodeSetParams": "cudaGraphExec_t graph, cudaGraphNode_t node, cudaGraph_t child",
        "cudaGraphExecEventRecordNodeSetEvent": "cudaGraphExec_t graph, cudaGraphNode_t node, cudaEvent_t event",
        "cudaGraphExecEventWaitNodeSetEvent": "cudaGraphExec_t graph, cudaGraphNode_t node, cudaEvent_t event",
        "cudaGraphAddMemAllocNode": "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, "
        "size_t count, struct cudaMemAllocNodeParams *how",
        "cudaGraphMemAllocNodeGetParams": "cudaGraphNode_t node, struct cudaMemAllocNodeParams *how",
        "cudaGraphAddMemFreeNode": "cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, "
        "size_t count, void *device",
        "cudaGraphMemFreeNodeGetParams": "cudaGraphNode_t node, void *device",
        "cudaDeviceGraphMemTrim": "int device",
        "cudaDeviceGetGraphMemAttribute": "int device, enum cudaGraphMemAttributeType attribute, void *value",
        "cudaDeviceSetGraphMemAttribute": "int device, enum cudaGraphMemAttributeType attribute, void *value",
        "cudaGraphNodeSetEnabled": "cudaGraphExec_t graph, cudaGraphNode_t node, unsigned enabled",
        "cudaGraphNodeGetEnabled": "cudaGraphExec_t graph, cudaGraphNode_t node, unsigned *enabled",
    },
    "Textures": {
        "cudaCreateTextureObject": (
            "cudaTextureObject_t *to, const struct cudaResourceDesc *resource, const struct cudaTextureDesc *texture, "
            "const struct cudaResourceViewDesc *view"
        ),
        "cudaGetTextureObjectResourceDesc": "struct cudaResourceDesc *to, cudaTextureObject_t texture",
        "cudaGetTextureObjectTextureDesc": "struct cudaTextureDesc *to, cudaTextureObject_t texture",
        "cudaDestroyTextureObject": "cudaTextureObject_t texture",
        "cudaBindTexture": (
            "size_t *offset, const struct textureReference *texture, const void *device, "
            "const struct cudaChannelFormatDesc *format, size_t size"
        ),
        "cudaBindTexture2D": (
            "size_t *offset, const struct textureReference *texture, const void *device, "
            "const struct cudaChannelFormatDesc *format, size_t width, size_t height, size_t pitch"
        ),
        "cudaUnbindTexture": "const struct textureReference *texture",
        "cudaBindTextureToArray": (
            "const struct textureReference *texture, cudaArray_const_t array, "
            "const struct cudaChannelFormatDesc *format"
        ),
    },
    "Arrays": {
        "cudaMallocArray": (
            "cudaArray_t *to, const struct cudaChannelFormatDesc *format, size_t width, size_t height, unsigned flags"
        ),
        "cudaMalloc3DArray": (
            "cudaArray_t *to, const struct cudaChannelFormatDesc *format, struct cudaExtent extent, unsigned flags"
        ),
        "cudaFreeArray": "cudaArray_t array",
        "cudaArrayGetInfo": (
            "struct cudaChannelFormatDesc *format, struct cudaExtent *extent, unsigned *flags, cudaArray_t array"
        ),
        "cudaGetChannelDesc": "struct cudaChannelFormatDesc *format, cudaArray_const_t array",
        "cudaMallocMipmappedArray": (
            "cudaMipmappedArray_t *to, const struct cudaChannelFormatDesc *format, struct cudaExtent extent, "
            "unsigned levels, unsigned flags"
        ),
        "cudaGetMipmappedArrayLevel": "cudaArray_t *to, cudaMipmappedArray_const_t array, unsigned level",
        "cudaFreeMipmappedArray": "cudaMipmappedArray_t array",
        "cudaMemcpyToArray": (
            "cudaArray_t to, size_t x, size_t y, const void *from, size_t size, enum cudaMemcpyKind kind"
        ),
        "cudaMemcpyFromArray": (
            "void *to, cudaArray_const_t from, size_t x, size_t y, size_t size, enum cudaMemcpyKind kind"
        ),
        "cudaMemcpy2DToArray": (
            "cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height, "
            "enum cudaMemcpyKind kind"
        ),
        "cudaMemcpy2DToArrayAsync": (
            "cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height, "
            "enum cudaMemcpyKind kind, cudaStream_t stream"
        ),
        "cudaMemcpy2DFromArray": (
            "void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height, "
            "enum cudaMemcpyKind kind"
        ),
        "cudaMemcpy2DFromArrayAsync": (
            "void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height, "
            "enum cudaMemcpyKind kind, cudaStream_t stream"
        ),
        "cudaMemcpy2DArrayToArray": (
            "cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t x, size_t y, size_t width, "
            "size_t height, enum cudaMemcpyKind kind"
        ),
    },
    "Surfaces": {
        "cudaCreateSurfaceObject": "cudaSurfaceObject_t *to, const struct cudaResourceDesc *resource",
        "cudaGetSurfaceObjectResourceDesc": "struct cudaResourceDesc *to, cudaSurfaceObject_t surface",
        "cudaDestroySurfaceObject": "cudaSurfaceObject_t surface",
        "cudaBindSurfaceToArray": (
            "const struct surfaceReference *surface, cudaArray_const_t array, "
            "const struct cudaChannelFormatDesc *format"
        ),
    },
    "Memory pools": {
        "cudaDeviceGetDefaultMemPool": "cudaMemPool_t *pool, int device",
        "cudaDeviceGetMemPool": "cudaMemPool_t *pool, int device",
        "cudaDeviceSetMemPool": "int device, cudaMemPool_t pool",
        "cudaMemPoolCreate": "cudaMemPool_t *pool, const struct cudaMemPoolProps *properties",
        "cudaMemPoolDestroy": "cudaMemPool_t pool",
        "cudaMemPoolSetAttribute": "cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value",
        "cudaMemPoolGetAttribute": "cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value",
        "cudaMemPoolSetAccess": "cudaMemPool_t pool, const struct cudaMemAccessDesc *access, size_t count",
        "cudaMemPoolGetAccess": (
            "enum cudaMemAccessFlags *flags, cudaMemPool_t pool, struct cudaMemLocation *location"
        ),
        "cudaMemPoolTrimTo": "cudaMemPool_t pool, size_t keep",
        "cudaMallocFromPoolAsync": "void **to, size_t size, cudaMemPool_t pool, cudaStream_t stream",
    },
    "Other processes": {
        "cudaIpcGetMemHandle": "cudaIpcMemHandle_t *handle, void *device",
        "cudaIpcOpenMemHandle": "void **to, cudaIpcMemHandle_t handle, unsigned flags",
        "cudaIpcCloseMemHandle": "void *device",
        "cudaIpcGetEventHandle": "cudaIpcEventHandle_t *handle, cudaEvent_t event",
        "cudaIpcOpenEventHandle": "cudaEvent_t *to, cudaIpcEventHandle_t handle",
    },
}
"""What libcudart has: subject, name, parameters.  All return a cudaError_t but for those of TEXTS."""
DEFAULTS = {
    **dict.fromkeys(
        (
            *("cudaMemPrefetchAsync", "cudaMemcpyAsync", "cudaMemcpyPeerAsync", "cudaMemcpy2DAsync"),
            *("cudaMemcpy3DAsync", "cudaMemsetAsync", "cudaMemset2DAsync", "cudaMemset3DAsync", "cudaEventRecord"),
            *("cudaMemcpy2DToArrayAsync", "cudaMemcpy2DFromArrayAsync", "cudaMemcpy3DPeerAsync", "cudaStreamWaitEvent"),
            *(
                "cudaMalloc3DArray",
                "cudaMallocMipmappedArray",
                "cudaGraphInstantiate",
                "cudaStreamUpdateCaptureDependencies",
            ),
        ),
        ("0",),
    ),
    "cudaEventRecordWithFlags": ("0", "0"),
    "cudaGetDriverEntryPoint": ("0",),
    "cudaGraphConditionalHandleCreate": ("0", "0"),
    "cudaUserObjectRetain": ("1",),
    "cudaUserObjectRelease": ("1",),
    "cudaGraphRetainUserObject": ("1", "0"),
    "cudaGraphReleaseUserObject": ("1",),
    "cudaMallocArray": ("0", "0"),
    "cudaStreamAttachMemAsync": ("0", "cudaMemAttachSingle"),
    "cudaMemcpy2DArrayToArray": ("cudaMemcpyDeviceToDevice",),
    "cudaStreamGetCaptureInfo_v2": ("0", "0", "0", "0"),
}
"""What C++ may leave out: the last parameters' values.  Source: the signatures of the API reference."""
PASSED = {
    "cudaIpcGetMemHandle": "cuIpcGetMemHandle",
    "cudaIpcCloseMemHandle": "cuIpcCloseMemHandle",
    "cudaIpcGetEventHandle": "cuIpcGetEventHandle",
    "cudaDeviceGetDefaultMemPool": "cuDeviceGetDefaultMemPool",
    "cudaDeviceGetMemPool": "cuDeviceGetMemPool",
    "cudaDeviceSetMemPool": "cuDeviceSetMemPool",
    "cudaMemPoolCreate": "cuMemPoolCreate",
    "cudaMemPoolDestroy": "cuMemPoolDestroy",
    "cudaMemPoolSetAttribute": "cuMemPoolSetAttribute",
    "cudaMemPoolGetAttribute": "cuMemPoolGetAttribute",
    "cudaMemPoolTrimTo": "cuMemPoolTrimTo",
    "cudaMemPoolSetAccess": "cuMemPoolSetAccess",
    "cudaMemPoolGetAccess": "cuMemPoolGetAccess",
    "cudaDeviceGetP2PAttribute": "cuDeviceGetP2PAttribute",
    "cudaCtxResetPersistingL2Cache": "cuCtxResetPersistingL2Cache",
    "cudaStreamGetId": "cuStreamGetId",
    "cudaStreamGetDevice": "cuStreamGetDevice",
    "cudaStreamSetAttribute": "cuStreamSetAttribute",
    "cudaStreamGetAttribute": "cuStreamGetAttribute",
    "cudaStreamCopyAttributes": "cuStreamCopyAttributes",
    "cudaStreamBeginCaptureToGraph": "cuStreamBeginCaptureToGraph",
    "cudaGraphInstantiateWithParams": "cuGraphInstantiateWithParams",
    "cudaUserObjectCreate": "cuUserObjectCreate",
    "cudaUserObjectRetain": "cuUserObjectRetain",
    "cudaUserObjectRelease": "cuUserObjectRelease",
    "cudaGraphRetainUserObject": "cuGraphRetainUserObject",
    "cudaGraphReleaseUserObject": "cuGraphReleaseUserObject",
    "cudaMallocFromPoolAsync": "cuMemAllocFromPoolAsync",
    "cudaGraphCreate": "cuGraphCreate",
    "cudaGraphDestroy": "cuGraphDestroy",
    "cudaGraphClone": "cuGraphClone",
    "cudaGraphNodeFindInClone": "cuGraphNodeFindInClone",
    "cudaGraphNodeGetType": "cuGraphNodeGetType",
    "cudaGraphGetNodes": "cuGraphGetNodes",
    "cudaGraphGetRootNodes": "cuGraphGetRootNodes",
    "cudaGraphGetEdges": "cuGraphGetEdges",
    "cudaGraphNodeGetDependencies": "cuGraphNodeGetDependencies",
    "cudaGraphNodeGetDependentNodes": "cuGraphNodeGetDependentNodes",
    "cudaGraphAddDependencies": "cuGraphAddDependencies",
    "cudaGraphRemoveDependencies": "cuGraphRemoveDependencies",
    "cudaGraphDestroyNode": "cuGraphDestroyNode",
    "cudaGraphDebugDotPrint": "cuGraphDebugDotPrint",
    "cudaGraphInstantiate": "cuGraphInstantiateWithFlags",
    "cudaGraphInstantiateWithFlags": "cuGraphInstantiateWithFlags",
    "cudaGraphExecGetFlags": "cuGraphExecGetFlags",
    "cudaGraphUpload": "cuGraphUpload",
    "cudaGraphLaunch": "cuGraphLaunch",
    "cudaGraphExecDestroy": "cuGraphExecDestroy",
    "cudaGraphExecUpdate": "cuGraphExecUpdate_v2",
    "cudaGraphAddEmptyNode": "cuGraphAddEmptyNode",
    "cudaGraphKernelNodeCopyAttributes": "cuGraphKernelNodeCopyAttributes",
    "cudaGraphKernelNodeGetAttribute": "cuGraphKernelNodeGetAttribute",
    "cudaGraphKernelNodeSetAttribute": "cuGraphKernelNodeSetAttribute",
    "cudaGraphMemsetNodeGetParams": "cuGraphMemsetNodeGetParams",
    "cudaGraphMemsetNodeSetParams": "cuGraphMemsetNodeSetParams",
    "cudaGraphAddHostNode": "cuGraphAddHostNode",
    "cudaGraphHostNodeGetParams": "cuGraphHostNodeGetParams",
    "cudaGraphHostNodeSetParams": "cuGraphHostNodeSetParams",
    "cudaGraphAddChildGraphNode": "cuGraphAddChildGraphNode",
    "cudaGraphChildGraphNodeGetGraph": "cuGraphChildGraphNodeGetGraph",
    "cudaGraphAddEventRecordNode": "cuGraphAddEventRecordNode",
    "cudaGraphEventRecordNodeGetEvent": "cuGraphEventRecordNodeGetEvent",
    "cudaGraphEventRecordNodeSetEvent": "cuGraphEventRecordNodeSetEvent",
    "cudaGraphAddEventWaitNode": "cuGraphAddEventWaitNode",
    "cudaGraphEventWaitNodeGetEvent": "cuGraphEventWaitNodeGetEvent",
    "cudaGraphEventWaitNodeSetEvent": "cuGraphEventWaitNodeSetEvent",
    "cudaGraphExecHostNodeSetParams": "cuGraphExecHostNodeSetParams",
    "cudaGraphExecChildGraphNodeSetParams": "cuGraphExecChildGraphNodeSetParams",
    "cudaGraphExecEventRecordNodeSetEvent": "cuGraphExecEventRecordNodeSetEvent",
    "cudaGraphExecEventWaitNodeSetEvent": "cuGraphExecEventWaitNodeSetEvent",
    "cudaGraphAddMemAllocNode": "cuGraphAddMemAllocNode",
    "cudaGraphMemAllocNodeGetParams": "cuGraphMemAllocNodeGetParams",
    "cudaGraphAddMemFreeNode": "cuGraphAddMemFreeNode",
    "cudaGraphMemFreeNodeGetParams": "cuGraphMemFreeNodeGetParams",
    "cudaDeviceGraphMemTrim": "cuDeviceGraphMemTrim",
    "cudaDeviceGetGraphMemAttribute": "cuDeviceGetGraphMemAttribute",
    "cudaDeviceSetGraphMemAttribute": "cuDeviceSetGraphMemAttribute",
    "cudaGraphNodeSetEnabled": "cuGraphNodeSetEnabled",
    "cudaGraphNodeGetEnabled": "cuGraphNodeGetEnabled",
    "cudaStreamBeginCapture": "cuStreamBeginCapture_v2",
    "cudaStreamEndCapture": "cuStreamEndCapture",
    "cudaStreamIsCapturing": "cuStreamIsCapturing",
    "cudaStreamGetCaptureInfo_v2": "cuStreamGetCaptureInfo_v2",
    "cudaStreamUpdateCaptureDependencies": "cuStreamUpdateCaptureDependencies",
    "cudaThreadExchangeStreamCaptureMode": "cuThreadExchangeStreamCaptureMode",
    "cudaEventRecordWithFlags": "cuEventRecordWithFlags",
}
"""Calls that are the driver's own with the same parameters: its name there."""
TEXTS = ("cudaGetErrorName", "cudaGetErrorString")
"""Those that return a text."""
OLD_NAMES = {"cudaGetDeviceProperties": "struct cudaDeviceProp *to, int device"}
"""Exported beside CALLS; the header's macros lead to the newer name."""

COMPILER_CALLS = {
    "__cudaRegisterFatBinary": "a translation unit's device code; it is loaded when a device first needs it",
    "__gompyRegisterLinkedBinary": "the same for `-rdc=true`; linked when a device first needs it",
    "__cudaRegisterFatBinaryEnd": "nothing more comes",
    "__cudaUnregisterFatBinary": "the program or library goes",
    "__cudaRegisterFunction": "a kernel: the host's address, the name in the device code",
    "__cudaRegisterVar": "a variable, likewise",
    "__cudaRegisterManagedVar": "a managed variable: not supported, the program ends with a line",
    "__cudaRegisterTexture": "a texture reference",
    "__cudaRegisterSurface": "a surface reference",
    "__cudaInitModule": "always 1",
    "__cudaPushCallConfiguration": "what stands between <<< and >>>",
    "__cudaPopCallConfiguration": "the same, for the kernel's stub",
}
"""What a compiler's code calls."""

ABSENT = {
    "Launches of several devices or with clusters": (
        "cudaLaunchCooperativeKernelMultiDevice",
        "cudaOccupancyMaxActiveClusters",
        "cudaOccupancyMaxPotentialClusterSize",
    ),
    "Graphics": (
        "cudaGraphicsMapResources",
        "cudaGraphicsUnmapResources",
        "cudaGraphicsResourceGetMappedPointer",
        "cudaGraphicsUnregisterResource",
    ),
}
"""What is exported, writes a line and returns cudaErrorNotSupported."""

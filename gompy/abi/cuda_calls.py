"""The CUDA driver interface's entry points: one row for each, from which all that lists them is made.

A row: name, the first version that has it (11020: CUDA 11.2), ``d`` or ``z`` where there is also a form for the
thread's own default stream (``_ptds``, ``_ptsz``), and its parameters as ``name:kind`` (``KINDS``).  ``ABSENT`` are
those that are not implemented, ``name@version``: they are exported, say so once, and answer CUDA_ERROR_NOT_SUPPORTED.

Made of it: the exported functions and cuGetProcAddress's table (gompy/native/cuda_calls.h), GOMPY_CUDA_TRACE's words,
and docs/cuda-coverage.md.  Source: CUDA Driver API reference, CUDA 12.9 and 13.0; 32-bit forms from before CUDA 3.2 are
left out, but for two that LLVM's plugins look for, and one that Dr.Jit does, which also wants the two of cudaGL.h.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    class Call(NamedTuple):
        """An entry point."""

        area: str
        name: str
        since: int
        own: str
        parameters: tuple[tuple[str, str], ...]
        here: bool

else:
    from collections import namedtuple

    Call = namedtuple("Call", "area name since own parameters here")

KINDS = {
    "i": "int",
    "u": "unsigned",
    "s": "size or 64-bit number",
    "p": "pointer or handle",
    "t": "text",
    "n": "pointer to an int that is answered",
    "o": "pointer to a word that is answered",
    "h": "64 bytes, by value",
}

HERE = {
    "errors, start, functions by name": """
        cuGetErrorString 6000 error:i pStr:p
        cuGetErrorName 6000 error:i pStr:p
        cuInit 2000 Flags:u
        cuDriverGetVersion 2020 driverVersion:n
        cuGetExportTable 3000 ppExportTable:p pExportTableId:p
        cuGetProcAddress 11030 symbol:t pfn:o driverVersion:i flags:s
        cuGetProcAddress_v2 12000 symbol:t pfn:o driverVersion:i flags:s symbolFound:n
    """,
    "primary contexts": """
        cuDevicePrimaryCtxRetain 7000 pctx:o dev:i
        cuDevicePrimaryCtxRelease_v2 11000 dev:i
        cuDevicePrimaryCtxSetFlags_v2 11000 dev:i flags:u
        cuDevicePrimaryCtxGetState 7000 dev:i flags:n active:n
        cuDevicePrimaryCtxReset_v2 11000 dev:i
        cuDevicePrimaryCtxRelease 7000 dev:i
        cuDevicePrimaryCtxReset 7000 dev:i
        cuDevicePrimaryCtxSetFlags 7000 dev:i flags:u
    """,
    "memory pools": """
        cuDeviceSetMemPool 11020 dev:i pool:p
        cuDeviceGetMemPool 11020 pool:o dev:i
        cuDeviceGetDefaultMemPool 11020 pool_out:o dev:i
        cuMemPoolTrimTo 11020 pool:p minBytesToKeep:s
        cuMemPoolSetAttribute 11020 pool:p attr:i value:p
        cuMemPoolGetAttribute 11020 pool:p attr:i value:p
        cuMemPoolSetAccess 11020 pool:p map:p count:s
        cuMemPoolGetAccess 11020 flags:p memPool:p location:p
        cuMemPoolCreate 11020 pool:o poolProps:p
        cuMemPoolDestroy 11020 pool:p
        cuMemAllocFromPoolAsync 11020z dptr:o bytesize:s pool:p hStream:p
    """,
    "virtual memory": """
        cuMemAddressReserve 10020 ptr:o size:s alignment:s addr:s flags:s
        cuMemAddressFree 10020 ptr:s size:s
        cuMemCreate 10020 handle:o size:s prop:p flags:s
        cuMemRelease 10020 handle:p
        cuMemMap 10020 ptr:s size:s offset:s handle:p flags:s
        cuMemUnmap 10020 ptr:s size:s
        cuMemSetAccess 10020 ptr:s size:s desc:p count:s
        cuMemGetAccess 10020 flags:o location:p ptr:s
        cuMemExportToShareableHandle 10020 shareableHandle:p handle:p handleType:i flags:s
        cuMemImportFromShareableHandle 10020 handle:o osHandle:p shHandleType:i
        cuMemGetAllocationGranularity 10020 granularity:o prop:p option:i
        cuMemGetAllocationPropertiesFromHandle 10020 prop:p handle:p
        cuMemRetainAllocationHandle 11000 handle:o addr:p
    """,
    "devices": """
        cuDeviceGet 2000 device:n ordinal:i
        cuDeviceGetCount 2000 count:n
        cuDeviceGetName 2000 name:p len:i dev:i
        cuDeviceGetUuid 9020 uuid:p dev:i
        cuDeviceGetUuid_v2 11040 uuid:p dev:i
        cuDeviceTotalMem 2000 bytes:n dev:i
        cuDeviceTotalMem_v2 3020 bytes:o dev:i
        cuDeviceGetAttribute 2000 pi:n attrib:i dev:i
        cuDeviceGetProperties 2000 prop:p dev:i
        cuDeviceComputeCapability 2000 major:n minor:n dev:i
        cuDeviceGetByPCIBusId 4010 dev:n pciBusId:t
        cuDeviceGetPCIBusId 4010 pciBusId:p len:i dev:i
        cuDeviceCanAccessPeer 4000 canAccessPeer:n dev:i peerDev:i
        cuDeviceGetP2PAttribute 8000 value:n attrib:i srcDevice:i dstDevice:i
    """,
    "peers": """
        cuCtxEnablePeerAccess 4000 peerContext:p Flags:u
        cuCtxDisablePeerAccess 4000 peerContext:p
    """,
    "contexts": """
        cuCtxCreate 2000 pctx:o flags:u dev:i
        cuCtxCreate_v2 3020 pctx:o flags:u dev:i
        cuCtxCreate_v3 11040 pctx:o paramsArray:p numParams:i flags:u dev:i
        cuCtxCreate_v4 12050 pctx:o ctxCreateParams:p flags:u dev:i
        cuCtxGetId 12000 ctx:p ctxId:o
        cuCtxDestroy 2000 ctx:p
        cuCtxDestroy_v2 4000 ctx:p
        cuCtxPushCurrent 2000 ctx:p
        cuCtxPushCurrent_v2 4000 ctx:p
        cuCtxPopCurrent 2000 pctx:o
        cuCtxPopCurrent_v2 4000 pctx:o
        cuCtxSetCurrent 4000 ctx:p
        cuCtxGetCurrent 4000 pctx:o
        cuCtxGetDevice 2000 device:n
        cuCtxGetDevice_v2 13000 device:n ctx:p
        cuCtxGetFlags 7000 flags:n
        cuCtxSetFlags 12010 flags:u
        cuCtxSynchronize 2000
        cuCtxSynchronize_v2 13000 ctx:p
        cuCtxSetLimit 3010 limit:i value:s
        cuCtxResetPersistingL2Cache 11000
        cuCtxGetLimit 3010 pvalue:o limit:i
        cuCtxGetCacheConfig 3020 pconfig:p
        cuCtxSetCacheConfig 3020 config:i
        cuCtxGetSharedMemConfig 4020 pConfig:p
        cuCtxSetSharedMemConfig 4020 config:i
        cuCtxGetApiVersion 3020 ctx:p version:n
        cuCtxGetStreamPriorityRange 5050 leastPriority:n greatestPriority:n
        cuCtxAttach 2000 pctx:o flags:u
        cuCtxDetach 2000 ctx:p
    """,
    "libraries and kernels": """
        cuLibraryLoadData 12000 library:o code:p jitOptions:p jitOptionsValues:p numJitOptions:u
            libraryOptions:p libraryOptionValues:p numLibraryOptions:u
        cuLibraryLoadFromFile 12000 library:o fileName:t jitOptions:p jitOptionsValues:p numJitOptions:u
            libraryOptions:p libraryOptionValues:p numLibraryOptions:u
        cuLibraryUnload 12000 library:p
        cuLibraryGetKernel 12000 pKernel:o library:p name:t
        cuLibraryGetKernelCount 12040 count:n lib:p
        cuLibraryEnumerateKernels 12040 kernels:p numKernels:u lib:p
        cuLibraryGetModule 12000 pMod:o library:p
        cuKernelGetFunction 12000 pFunc:o kernel:p
        cuKernelGetLibrary 12050 pLib:o kernel:p
        cuLibraryGetGlobal 12000 dptr:o bytes:o library:p name:t
        cuLibraryGetManaged 12000 dptr:o bytes:o library:p name:t
        cuKernelGetAttribute 12000 pi:n attrib:i kernel:p dev:i
        cuKernelSetAttribute 12000 attrib:i val:i kernel:p dev:i
        cuKernelSetCacheConfig 12000 kernel:p config:i dev:i
        cuKernelGetName 12030 name:p hfunc:p
        cuKernelGetParamInfo 12040 kernel:p paramIndex:s paramOffset:o paramSize:o
    """,
    "modules, linker": """
        cuModuleLoad 2000 module:o fname:t
        cuModuleLoadData 2000 module:o image:p
        cuModuleLoadDataEx 2010 module:o image:p numOptions:u options:p optionValues:p
        cuModuleLoadFatBinary 2000 module:o fatCubin:p
        cuModuleUnload 2000 hmod:p
        cuModuleGetFunction 2000 hfunc:o hmod:p name:t
        cuModuleGetFunctionCount 12040 count:n mod:p
        cuModuleEnumerateFunctions 12040 functions:p numFunctions:u mod:p
        cuModuleGetGlobal_v2 3020 dptr:o bytes:o hmod:p name:t
        cuLinkCreate 5050 numOptions:u options:p optionValues:p stateOut:o
        cuLinkCreate_v2 6050 numOptions:u options:p optionValues:p stateOut:o
        cuLinkAddData 5050 state:p type:i data:p size:s name:t numOptions:u options:p optionValues:p
        cuLinkAddData_v2 6050 state:p type:i data:p size:s name:t numOptions:u options:p optionValues:p
        cuLinkAddFile 5050 state:p type:i path:t numOptions:u options:p optionValues:p
        cuLinkAddFile_v2 6050 state:p type:i path:t numOptions:u options:p optionValues:p
        cuLinkComplete 5050 state:p cubinOut:o sizeOut:o
        cuLinkDestroy 5050 state:p
        cuModuleGetLoadingMode 11070 mode:p
    """,
    "graphs": """
        cuThreadExchangeStreamCaptureMode 10010 mode:p
        cuStreamBeginCapture 10000z hStream:p
        cuStreamBeginCapture_v2 10010z hStream:p mode:i
        cuStreamBeginCaptureToGraph 12030z hStream:p hGraph:p dependencies:p dependencyData:p numDependencies:s
            mode:i
        cuStreamEndCapture 10000z hStream:p phGraph:o
        cuStreamUpdateCaptureDependencies 11030z hStream:p dependencies:p numDependencies:s flags:u
        cuStreamUpdateCaptureDependencies_v2 12030z hStream:p dependencies:p dependencyData:p numDependencies:s
            flags:u
        cuGraphCreate 10000 phGraph:o flags:u
        cuGraphAddKernelNode 10000 phGraphNode:o hGraph:p dependencies:p numDependencies:s nodeParams:p
        cuGraphAddKernelNode_v2 12000 phGraphNode:o hGraph:p dependencies:p numDependencies:s nodeParams:p
        cuGraphKernelNodeGetParams 10000 hNode:p nodeParams:p
        cuGraphKernelNodeGetParams_v2 12000 hNode:p nodeParams:p
        cuGraphKernelNodeSetParams 10000 hNode:p nodeParams:p
        cuGraphKernelNodeCopyAttributes 11000 dst:p src:p
        cuGraphKernelNodeGetAttribute 11000 hNode:p attr:i value_out:p
        cuGraphKernelNodeSetAttribute 11000 hNode:p attr:i value:p
        cuGraphKernelNodeSetParams_v2 12000 hNode:p nodeParams:p
        cuGraphAddMemcpyNode 10000 phGraphNode:o hGraph:p dependencies:p numDependencies:s copyParams:p ctx:p
        cuGraphMemcpyNodeGetParams 10000 hNode:p nodeParams:p
        cuGraphMemcpyNodeSetParams 10000 hNode:p nodeParams:p
        cuGraphAddMemsetNode 10000 phGraphNode:o hGraph:p dependencies:p numDependencies:s memsetParams:p ctx:p
        cuGraphMemsetNodeGetParams 10000 hNode:p nodeParams:p
        cuGraphMemsetNodeSetParams 10000 hNode:p nodeParams:p
        cuGraphAddHostNode 10000 phGraphNode:o hGraph:p dependencies:p numDependencies:s nodeParams:p
        cuGraphHostNodeGetParams 10000 hNode:p nodeParams:p
        cuGraphHostNodeSetParams 10000 hNode:p nodeParams:p
        cuGraphAddChildGraphNode 10000 phGraphNode:o hGraph:p dependencies:p numDependencies:s childGraph:p
        cuGraphChildGraphNodeGetGraph 10000 hNode:p phGraph:o
        cuGraphAddEmptyNode 10000 phGraphNode:o hGraph:p dependencies:p numDependencies:s
        cuGraphAddEventRecordNode 11010 phGraphNode:o hGraph:p dependencies:p numDependencies:s event:p
        cuGraphEventRecordNodeGetEvent 11010 hNode:p event_out:o
        cuGraphEventRecordNodeSetEvent 11010 hNode:p event:p
        cuGraphAddEventWaitNode 11010 phGraphNode:o hGraph:p dependencies:p numDependencies:s event:p
        cuGraphEventWaitNodeGetEvent 11010 hNode:p event_out:o
        cuGraphEventWaitNodeSetEvent 11010 hNode:p event:p
        cuGraphAddMemAllocNode 11040 phGraphNode:o hGraph:p dependencies:p numDependencies:s nodeParams:p
        cuGraphMemAllocNodeGetParams 11040 hNode:p params_out:p
        cuGraphAddMemFreeNode 11040 phGraphNode:o hGraph:p dependencies:p numDependencies:s dptr:p
        cuGraphMemFreeNodeGetParams 11040 hNode:p dptr_out:o
        cuDeviceGraphMemTrim 11040 device:i
        cuDeviceGetGraphMemAttribute 11040 device:i attr:i value:o
        cuDeviceSetGraphMemAttribute 11040 device:i attr:i value:p
        cuGraphAddNode 12020 phGraphNode:o hGraph:p dependencies:p numDependencies:s nodeParams:p
        cuGraphAddNode_v2 12030 phGraphNode:o hGraph:p dependencies:p dependencyData:p numDependencies:s
            nodeParams:p
        cuGraphNodeSetParams 12020 hNode:p nodeParams:p
        cuGraphExecNodeSetParams 12020 hGraphExec:p hNode:p nodeParams:p
        cuGraphClone 10000 phGraphClone:o originalGraph:p
        cuGraphNodeFindInClone 10000 phNode:o hOriginalNode:p hClonedGraph:p
        cuGraphNodeGetType 10000 hNode:p type:n
        cuGraphGetNodes 10000 hGraph:p nodes:p numNodes:o
        cuGraphGetRootNodes 10000 hGraph:p rootNodes:p numRootNodes:o
        cuGraphGetEdges 10000 hGraph:p from:p to:p numEdges:o
        cuGraphGetEdges_v2 12030 hGraph:p from:p to:p edgeData:p numEdges:o
        cuGraphNodeGetDependencies 10000 hNode:p dependencies:p numDependencies:o
        cuGraphNodeGetDependencies_v2 12030 hNode:p dependencies:p edgeData:p numDependencies:o
        cuGraphNodeGetDependentNodes 10000 hNode:p dependentNodes:p numDependentNodes:o
        cuGraphNodeGetDependentNodes_v2 12030 hNode:p dependentNodes:p edgeData:p numDependentNodes:o
        cuGraphAddDependencies 10000 hGraph:p from:p to:p numDependencies:s
        cuGraphAddDependencies_v2 12030 hGraph:p from:p to:p edgeData:p numDependencies:s
        cuGraphRemoveDependencies 10000 hGraph:p from:p to:p numDependencies:s
        cuGraphRemoveDependencies_v2 12030 hGraph:p from:p to:p edgeData:p numDependencies:s
        cuGraphDestroyNode 10000 hNode:p
        cuGraphInstantiate 10000 phGraphExec:o hGraph:p phErrorNode:o logBuffer:p bufferSize:s
        cuGraphInstantiate_v2 11000 phGraphExec:o hGraph:p phErrorNode:o logBuffer:p bufferSize:s
        cuGraphInstantiateWithFlags 11040 phGraphExec:o hGraph:p flags:s
        cuGraphInstantiateWithParams 12000z phGraphExec:o hGraph:p instantiateParams:p
        cuGraphExecGetFlags 12000 hGraphExec:p flags:o
        cuGraphExecKernelNodeSetParams 10010 hGraphExec:p hNode:p nodeParams:p
        cuGraphExecKernelNodeSetParams_v2 12000 hGraphExec:p hNode:p nodeParams:p
        cuGraphExecMemcpyNodeSetParams 10020 hGraphExec:p hNode:p copyParams:p ctx:p
        cuGraphExecMemsetNodeSetParams 10020 hGraphExec:p hNode:p memsetParams:p ctx:p
        cuGraphExecHostNodeSetParams 10020 hGraphExec:p hNode:p nodeParams:p
        cuGraphExecChildGraphNodeSetParams 11010 hGraphExec:p hNode:p childGraph:p
        cuGraphExecEventRecordNodeSetEvent 11010 hGraphExec:p hNode:p event:p
        cuGraphExecEventWaitNodeSetEvent 11010 hGraphExec:p hNode:p event:p
        cuGraphNodeSetEnabled 11060 hGraphExec:p hNode:p isEnabled:u
        cuGraphNodeGetEnabled 11060 hGraphExec:p hNode:p isEnabled:n
        cuGraphUpload 11010z hGraphExec:p hStream:p
        cuGraphLaunch 10000z hGraphExec:p hStream:p
        cuGraphExecDestroy 10000 hGraphExec:p
        cuGraphDestroy 10000 hGraph:p
        cuGraphExecUpdate 10020 hGraphExec:p hGraph:p hErrorNode_out:o updateResult_out:n
        cuGraphExecUpdate_v2 12000 hGraphExec:p hGraph:p resultInfo:p
        cuGraphDebugDotPrint 11030 hGraph:p path:t flags:u
        cuGraphConditionalHandleCreate 12030 pHandle_out:o hGraph:p ctx:p defaultLaunchValue:u flags:u
        cuUserObjectCreate 11030 object_out:o ptr:p destroy:p initialRefcount:u flags:u
        cuUserObjectRetain 11030 object:p count:u
        cuUserObjectRelease 11030 object:p count:u
        cuGraphRetainUserObject 11030 graph:p object:p count:u flags:u
        cuGraphReleaseUserObject 11030 graph:p object:p count:u
    """,
    "functions, launches, occupancy": """
        cuFuncGetAttribute 2020 pi:n attrib:i hfunc:p
        cuFuncSetAttribute 9000 hfunc:p attrib:i value:i
        cuFuncSetCacheConfig 3000 hfunc:p config:i
        cuFuncSetSharedMemConfig 4020 hfunc:p config:i
        cuFuncGetName 12030 name:p hfunc:p
        cuFuncGetParamInfo 12040 func:p paramIndex:s paramOffset:o paramSize:o
        cuFuncIsLoaded 12040 state:p hfunc:p
        cuFuncLoad 12040 hfunc:p
        cuLaunchKernel 4000z f:p gridDimX:u gridDimY:u gridDimZ:u blockDimX:u blockDimY:u blockDimZ:u
            sharedMemBytes:u hStream:p kernelParams:p extra:p
        cuLaunchKernelEx 11060z config:p f:p kernelParams:p extra:p
        cuLaunchCooperativeKernel 9000z f:p gridDimX:u gridDimY:u gridDimZ:u blockDimX:u blockDimY:u blockDimZ:u
            sharedMemBytes:u hStream:p kernelParams:p
        cuLaunchHostFunc 10000z hStream:p fn:p userData:p
        cuOccupancyMaxActiveBlocksPerMultiprocessor 6050 numBlocks:n func:p blockSize:i dynamicSMemSize:s
        cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags 7000 numBlocks:n func:p blockSize:i
            dynamicSMemSize:s flags:u
        cuOccupancyMaxPotentialBlockSize 6050 minGridSize:n blockSize:n func:p blockSizeToDynamicSMemSize:p
            dynamicSMemSize:s blockSizeLimit:i
        cuOccupancyMaxPotentialBlockSizeWithFlags 7000 minGridSize:n blockSize:n func:p
            blockSizeToDynamicSMemSize:p dynamicSMemSize:s blockSizeLimit:i flags:u
        cuOccupancyAvailableDynamicSMemPerBlock 10020 dynamicSmemSize:o func:p numBlocks:i blockSize:i
        cuFuncGetModule 11000 hmod:o hfunc:p
    """,
    "copies, fills": """
        cuMemcpy 4000d dst:p src:p ByteCount:s
        cuMemcpyPeer 4000d dstDevice:p dstContext:p srcDevice:p srcContext:p ByteCount:s
        cuMemcpyHtoD_v2 3020d dstDevice:p srcHost:p ByteCount:s
        cuMemcpyDtoH_v2 3020d dstHost:p srcDevice:p ByteCount:s
        cuMemcpyDtoD_v2 3020d dstDevice:p srcDevice:p ByteCount:s
        cuMemcpy2D_v2 3020d pCopy:p
        cuMemcpy2DUnaligned_v2 3020d pCopy:p
        cuMemcpy3D_v2 3020d pCopy:p
        cuMemcpy3DPeer 4000d pCopy:p
        cuMemcpy3DPeerAsync 4000z pCopy:p hStream:p
        cuMemcpyPeerAsync 4000z dstDevice:p dstContext:p srcDevice:p srcContext:p ByteCount:s hStream:p
        cuMemcpyHtoDAsync_v2 3020z dstDevice:p srcHost:p ByteCount:s hStream:p
        cuMemcpyDtoHAsync_v2 3020z dstHost:p srcDevice:p ByteCount:s hStream:p
        cuMemcpyDtoDAsync_v2 3020z dstDevice:p srcDevice:p ByteCount:s hStream:p
        cuMemcpy2DAsync_v2 3020z pCopy:p hStream:p
        cuMemcpy3DAsync_v2 3020z pCopy:p hStream:p
        cuMemsetD8_v2 3020d dstDevice:p uc:u N:s
        cuMemsetD16_v2 3020d dstDevice:p us:u N:s
        cuMemsetD32_v2 3020d dstDevice:p ui:u N:s
        cuMemsetD2D8_v2 3020d dstDevice:p dstPitch:s uc:u Width:s Height:s
        cuMemsetD2D16_v2 3020d dstDevice:p dstPitch:s us:u Width:s Height:s
        cuMemsetD2D32_v2 3020d dstDevice:p dstPitch:s ui:u Width:s Height:s
        cuMemsetD8Async 3020z dstDevice:p uc:u N:s hStream:p
        cuMemsetD16Async 3020z dstDevice:p us:u N:s hStream:p
        cuMemsetD32Async 3020z dstDevice:p ui:u N:s hStream:p
        cuMemsetD2D8Async 3020z dstDevice:p dstPitch:s uc:u Width:s Height:s hStream:p
        cuMemsetD2D16Async 3020z dstDevice:p dstPitch:s us:u Width:s Height:s hStream:p
        cuMemsetD2D32Async 3020z dstDevice:p dstPitch:s ui:u Width:s Height:s hStream:p
        cuMemcpyAsync 4000z dst:p src:p ByteCount:s hStream:p
        cuMemcpyBatchAsync 12080z dsts:p srcs:p sizes:p count:s attrs:p attrsIdxs:p numAttrs:s failIdx:p hStream:p
        cuMemcpyBatchAsync_v2 13000z dsts:p srcs:p sizes:p count:s attrs:p attrsIdxs:p numAttrs:s hStream:p
    """,
    "memory": """
        cuMemGetInfo_v2 3020 free:o total:o
        cuMemAlloc_v2 3020 dptr:o bytesize:s
        cuMemAllocPitch_v2 3020 dptr:o pPitch:o WidthInBytes:s Height:s ElementSizeBytes:u
        cuMemFree_v2 3020 dptr:p
        cuMemGetAddressRange_v2 3020 pbase:o psize:o dptr:p
        cuMemAllocHost 2000 pp:o bytesize:u
        cuMemAllocHost_v2 3020 pp:o bytesize:s
        cuMemFreeHost 2000 p:p
        cuMemHostAlloc 2020 pp:o bytesize:s Flags:u
        cuMemHostGetDevicePointer_v2 3020 pdptr:o p:p Flags:u
        cuMemHostGetFlags 2030 pFlags:n p:p
        cuMemAllocManaged 6000 dptr:o bytesize:s flags:u
        cuMemHostRegister 4000 p:p bytesize:s Flags:u
        cuMemHostRegister_v2 6050 p:p bytesize:s Flags:u
        cuMemHostUnregister 4000 p:p
        cuMemFreeAsync 11020z dptr:p hStream:p
        cuMemAllocAsync 11020z dptr:o bytesize:s hStream:p
        cuPointerGetAttribute 4000 data:p attribute:i ptr:p
        cuMemPrefetchAsync 8000z devPtr:p count:s dstDevice:i hStream:p
        cuMemPrefetchAsync_v2 12020z devPtr:p count:s location:s flags:u hStream:p
        cuMemAdvise 8000 devPtr:p count:s advice:i device:i
        cuMemAdvise_v2 12020 devPtr:p count:s advice:i location:s
        cuMemRangeGetAttribute 8000 data:p dataSize:s attribute:i devPtr:p count:s
        cuMemRangeGetAttributes 8000 data:p dataSizes:p attributes:p numAttributes:s devPtr:p count:s
        cuPointerSetAttribute 6000 value:p attribute:i ptr:p
        cuPointerGetAttributes 7000 numAttributes:u attributes:p data:o ptr:p
    """,
    "events": """
        cuEventCreate 2000 phEvent:o Flags:u
        cuEventRecord 2000z hEvent:p hStream:p
        cuEventRecordWithFlags 11010z hEvent:p hStream:p flags:u
        cuEventQuery 2000 hEvent:p
        cuEventSynchronize 2000 hEvent:p
        cuEventDestroy 2000 hEvent:p
        cuEventDestroy_v2 4000 hEvent:p
        cuEventElapsedTime 2000 pMilliseconds:p hStart:p hEnd:p
        cuEventElapsedTime_v2 12080 pMilliseconds:p hStart:p hEnd:p
    """,
    "streams": """
        cuStreamCreate 2000 phStream:o Flags:u
        cuStreamCreateWithPriority 5050 phStream:o flags:u priority:i
        cuStreamGetId 12000z hStream:p streamId:o
        cuStreamGetPriority 5050z hStream:p priority:n
        cuStreamGetDevice 12080z hStream:p device:n
        cuStreamSetAttribute 11000z hStream:p attr:i value:p
        cuStreamGetAttribute 11000z hStream:p attr:i value_out:p
        cuStreamCopyAttributes 11000z dst:p src:p
        cuStreamGetFlags 5050z hStream:p flags:n
        cuStreamGetCtx 9020z hStream:p pctx:o
        cuStreamWaitEvent 3020z hStream:p hEvent:p Flags:u
        cuStreamAddCallback 5000z hStream:p callback:p userData:p flags:u
        cuStreamIsCapturing 10000z hStream:p captureStatus:n
        cuStreamGetCaptureInfo 10010z hStream:p captureStatus_out:n id_out:o
        cuStreamGetCaptureInfo_v2 11030z hStream:p captureStatus_out:n id_out:o graph_out:o
            dependencies_out:p numDependencies_out:o
        cuStreamGetCaptureInfo_v3 12030z hStream:p captureStatus_out:n id_out:o graph_out:o
            dependencies_out:p edgeData_out:p numDependencies_out:o
        cuStreamAttachMemAsync 6000z hStream:p dptr:p length:s flags:u
        cuStreamWaitValue32 8000z stream:p addr:p value:u flags:u
        cuStreamWaitValue64 9000z stream:p addr:p value:s flags:u
        cuStreamWriteValue32 8000z stream:p addr:p value:u flags:u
        cuStreamWriteValue64 9000z stream:p addr:p value:s flags:u
        cuStreamWaitValue32_v2 11070z stream:p addr:p value:u flags:u
        cuStreamWaitValue64_v2 11070z stream:p addr:p value:s flags:u
        cuStreamWriteValue32_v2 11070z stream:p addr:p value:u flags:u
        cuStreamWriteValue64_v2 11070z stream:p addr:p value:s flags:u
        cuStreamBatchMemOp 8000z stream:p count:u paramArray:p flags:u
        cuStreamBatchMemOp_v2 11070z stream:p count:u paramArray:p flags:u
        cuStreamQuery 2000z hStream:p
        cuStreamSynchronize 2000z hStream:p
        cuStreamDestroy 2000 hStream:p
        cuStreamDestroy_v2 4000 hStream:p
    """,
    "arrays": """
        cuArrayCreate_v2 3020 pHandle:o pAllocateArray:p
        cuArray3DCreate_v2 3020 pHandle:o pAllocateArray:p
        cuArrayDestroy 2000 hArray:p
        cuArrayGetDescriptor_v2 3020 pArrayDescriptor:p hArray:p
        cuArray3DGetDescriptor_v2 3020 pArrayDescriptor:p hArray:p
        cuMipmappedArrayCreate 5000 pMipmappedArray:o pMipmappedArrayDesc:p numMipmapLevels:u
        cuMipmappedArrayGetLevel 5000 pLevelArray:o hMipmappedArray:p level:u
        cuMipmappedArrayDestroy 5000 hMipmappedArray:p
        cuMemcpyDtoA_v2 3020d dstArray:p dstOffset:s srcDevice:p ByteCount:s
        cuMemcpyAtoD_v2 3020d dstDevice:p srcArray:p srcOffset:s ByteCount:s
        cuMemcpyHtoA_v2 3020d dstArray:p dstOffset:s srcHost:p ByteCount:s
        cuMemcpyAtoH_v2 3020d dstHost:p srcArray:p srcOffset:s ByteCount:s
        cuMemcpyAtoA_v2 3020d dstArray:p dstOffset:s srcArray:p srcOffset:s ByteCount:s
        cuMemcpyHtoAAsync_v2 3020z dstArray:p dstOffset:s srcHost:p ByteCount:s hStream:p
        cuMemcpyAtoHAsync_v2 3020z dstHost:p srcArray:p srcOffset:s ByteCount:s hStream:p
    """,
    "textures, surfaces": """
        cuTexObjectCreate 5000 pTexObject:o pResDesc:p pTexDesc:p pResViewDesc:p
        cuTexObjectDestroy 5000 texObject:p
        cuTexObjectGetResourceDesc 5000 pResDesc:p texObject:p
        cuTexObjectGetTextureDesc 5000 pTexDesc:p texObject:p
        cuModuleGetTexRef 2000 pTexRef:o hmod:p name:t
        cuTexRefSetAddress_v2 3020 ByteOffset:o hTexRef:p dptr:p bytes:s
        cuTexRefSetAddress2D_v3 4010 hTexRef:p desc:p dptr:p Pitch:s
        cuTexRefSetFormat 2000 hTexRef:p fmt:u NumPackedComponents:i
        cuTexRefSetAddressMode 2000 hTexRef:p dim:i am:i
        cuTexRefSetFilterMode 2000 hTexRef:p fm:i
        cuTexRefSetFlags 2000 hTexRef:p Flags:u
        cuTexRefSetArray 2000 hTexRef:p hArray:p Flags:u
        cuSurfObjectCreate 5000 pSurfObject:o pResDesc:p
        cuSurfObjectDestroy 5000 surfObject:s
        cuSurfObjectGetResourceDesc 5000 pResDesc:p surfObject:s
        cuModuleGetSurfRef 3000 pSurfRef:o hmod:p name:t
        cuSurfRefSetArray 3000 hSurfRef:p hArray:p Flags:u
        cuSurfRefGetArray 3000 phArray:o hSurfRef:p
    """,
    "profiler": """
        cuProfilerStart 4000
        cuProfilerStop 4000
    """,
    "interprocess handles": """
        cuIpcGetMemHandle 4010 pHandle:p dptr:s
        cuIpcOpenMemHandle 4010 pdptr:o handle:h Flags:u
        cuIpcOpenMemHandle_v2 11000 pdptr:o handle:h Flags:u
        cuIpcCloseMemHandle 4010 dptr:s
        cuIpcGetEventHandle 4010 pHandle:p event:p
        cuIpcOpenEventHandle 4010 phEvent:o handle:h
    """,
}

ABSENT = {
    "memory pools": """
        cuMemPoolExportToShareableHandle@11020 cuMemPoolImportFromShareableHandle@11020 cuMemPoolExportPointer@11020
        cuMemPoolImportPointer@11020 cuMemGetDefaultMemPool@13000 cuMemGetMemPool@13000 cuMemSetMemPool@13000
    """,
    "devices": """
        cuDeviceGetLuid@10000 cuDeviceGetTexture1DLinearMaxWidth@11010 cuDeviceGetExecAffinitySupport@11040
        cuDeviceGetDevResource@12040 cuDeviceGetHostAtomicCapabilities@13000
        cuDeviceGetP2PAtomicCapabilities@13000
    """,
    "green contexts, resources": """
        cuGreenCtxCreate@12040 cuGreenCtxDestroy@12040 cuCtxGetDevResource@12040 cuGreenCtxGetDevResource@12040
        cuGreenCtxRecordEvent@12040 cuGreenCtxWaitEvent@12040 cuDevResourceGenerateDesc@12040
        cuStreamGetGreenCtx@12040 cuCtxFromGreenCtx@12040 cuCtxRecordEvent@12050 cuCtxWaitEvent@12050
        cuGreenCtxStreamCreate@12050 cuGreenCtxGetId@12090
    """,
    "contexts": """
        cuCtxGetExecAffinity@11040
    """,
    "libraries and kernels": """
        cuLibraryGetUnifiedFunction@12000
    """,
    "graphs": """
        cuGraphAddExternalSemaphoresSignalNode@11020 cuGraphExternalSemaphoresSignalNodeGetParams@11020
        cuGraphExternalSemaphoresSignalNodeSetParams@11020 cuGraphAddExternalSemaphoresWaitNode@11020
        cuGraphExternalSemaphoresWaitNodeGetParams@11020 cuGraphExternalSemaphoresWaitNodeSetParams@11020
        cuGraphAddBatchMemOpNode@11070 cuGraphBatchMemOpNodeGetParams@11070 cuGraphBatchMemOpNodeSetParams@11070
        cuGraphExecBatchMemOpNodeSetParams@11070 cuGraphExecExternalSemaphoresSignalNodeSetParams@11020
        cuGraphExecExternalSemaphoresWaitNodeSetParams@11020
    """,
    "functions, launches, occupancy": """
        cuLaunchCooperativeKernelMultiDevice@9000 cuFuncSetBlockShape@2000
        cuFuncSetSharedSize@2000 cuParamSetSize@2000 cuParamSeti@2000 cuParamSetf@2000 cuParamSetv@2000
        cuLaunch@2000 cuLaunchGrid@2000 cuLaunchGridAsync@2000 cuParamSetTexRef@2000
        cuOccupancyMaxPotentialClusterSize@11070 cuOccupancyMaxActiveClusters@11070
    """,
    "external memory and semaphores": """
        cuImportExternalMemory@10000 cuExternalMemoryGetMappedBuffer@10000
        cuExternalMemoryGetMappedMipmappedArray@10000 cuDestroyExternalMemory@10000 cuImportExternalSemaphore@10000
        cuSignalExternalSemaphoresAsync@10000z cuWaitExternalSemaphoresAsync@10000z cuDestroyExternalSemaphore@10000
    """,
    "graphics": """
        cuGraphicsUnregisterResource@3000 cuGraphicsSubResourceGetMappedArray@3000
        cuGraphicsResourceGetMappedMipmappedArray@5000 cuGraphicsResourceGetMappedPointer_v2@3020
        cuGraphicsResourceSetMapFlags_v2@6050 cuGraphicsMapResources@3000z cuGraphicsUnmapResources@3000z
        cuGraphicsGLRegisterBuffer@3000 cuGraphicsGLRegisterImage@3000
        cuGraphicsResourceGetMappedPointer@3000
    """,
    "arrays": """
        cuArrayGetSparseProperties@11010 cuMipmappedArrayGetSparseProperties@11010
        cuArrayGetMemoryRequirements@11060 cuMipmappedArrayGetMemoryRequirements@11060 cuArrayGetPlane@11020
        cuMemMapArrayAsync@11010z
    """,
    "textures, surfaces": """
        cuTexRefSetMipmappedArray@5000 cuTexRefSetAddress2D_v2@3020
        cuTexRefSetMipmapFilterMode@5000 cuTexRefSetMipmapLevelBias@5000 cuTexRefSetMipmapLevelClamp@5000
        cuTexRefSetMaxAnisotropy@5000 cuTexRefSetBorderColor@8000 cuTexRefGetAddress_v2@3020
        cuTexRefGetArray@2000 cuTexRefGetMipmappedArray@5000 cuTexRefGetAddressMode@2000 cuTexRefGetFilterMode@2000
        cuTexRefGetFormat@2000 cuTexRefGetMipmapFilterMode@5000 cuTexRefGetMipmapLevelBias@5000
        cuTexRefGetMipmapLevelClamp@5000 cuTexRefGetMaxAnisotropy@5000 cuTexRefGetBorderColor@8000
        cuTexRefGetFlags@2000 cuTexRefCreate@2000 cuTexRefDestroy@2000
        cuTexObjectGetResourceViewDesc@5000
        cuTensorMapEncodeTiled@12000
        cuTensorMapEncodeIm2col@12000 cuTensorMapReplaceAddress@12000 cuTensorMapEncodeIm2colWide@12080
    """,
    "virtual memory, multicast": """
        cuMulticastCreate@12010 cuMulticastAddDevice@12010 cuMulticastBindMem@12010 cuMulticastBindAddr@12010
        cuMulticastUnbind@12010 cuMulticastGetGranularity@12010 cuMemGetHandleForAddressRange@11070
    """,
    "copies, fills": """
        cuMemcpy3DBatchAsync@12080z cuMemcpy3DBatchAsync_v2@13000z cuMemBatchDecompressAsync@12060z
        cuMemPrefetchBatchAsync@13000z cuMemDiscardBatchAsync@13000z cuMemDiscardAndPrefetchBatchAsync@13000z
    """,
    "streams": """
        cuStreamGetCtx_v2@12050z
    """,
    "others": """
        cuDeviceGetNvSciSyncAttributes@10020 cuFlushGPUDirectRDMAWrites@11030 cuCoredumpGetAttribute@12010
        cuCoredumpGetAttributeGlobal@12010 cuCoredumpSetAttribute@12010 cuCoredumpSetAttributeGlobal@12010
        cuDeviceRegisterAsyncNotification@12040 cuDeviceUnregisterAsyncNotification@12040
        cuDevSmResourceSplitByCount@12040 cuLogsRegisterCallback@12090 cuLogsUnregisterCallback@12090
        cuLogsCurrent@12090 cuLogsDumpToFile@12090 cuLogsDumpToMemory@12090
        cuCheckpointProcessGetRestoreThreadId@12080 cuCheckpointProcessGetState@12080 cuCheckpointProcessLock@12080
        cuCheckpointProcessCheckpoint@12080 cuCheckpointProcessRestore@12080 cuCheckpointProcessUnlock@12080
    """,
}

NEWER = {"cuGraphInstantiate": ("cuGraphInstantiateWithFlags", 12000)}
"""Names that lead to another call from a version on, in cuda.h and so in cuGetProcAddress."""


def split_version(word: str) -> tuple[int, str]:
    """11020z: 11020 and the letter."""
    return int(word.rstrip("dz")), word[len(word.rstrip("dz")) :]


def rows_of(text: str) -> list[list[str]]:
    """The rows of an area; a line that begins with a parameter goes on with the row before."""
    found: list[list[str]] = []
    for word in text.split():
        if ":" not in word and word.startswith("cu"):
            found.append([word])
        else:
            found[-1].append(word)
    return found


def all_calls() -> list[Call]:
    """Every entry point, area by area."""
    found = []
    for area, text in HERE.items():
        for name, version, *parameters in rows_of(text):
            pairs = tuple((word.partition(":")[0], word.partition(":")[2]) for word in parameters)
            found.append(Call(area, name, *split_version(version), pairs, True))
    for area, text in ABSENT.items():
        for word in text.split():
            name, _, version = word.partition("@")
            found.append(Call(area, name, *split_version(version), (), False))
    return found


def base_name(name: str) -> str:
    """A name without the number of its form: what cuGetProcAddress is asked for."""
    return name[:-3] if name[-3:-1] == "_v" and name[-1].isdigit() else name


OWN_SUFFIX = {"d": "_ptds", "z": "_ptsz"}
"""The suffix of the form for the thread's own default stream."""

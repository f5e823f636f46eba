"""The types of the CUDA driver interface's parameters: what a program's cuda.h needs beside the table of the calls.

A parameter's type goes by its name (``TYPES``); where a call has another one, ``EXCEPTIONS`` has it.  A parameter that
is answered (kinds ``n`` and ``o`` of cuda_calls.py) is a pointer to it.  Source: CUDA Driver API reference, CUDA 13.0.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

TYPES: Final = {
    "const char*": "fileName fname name path pciBusId symbol",
    "char*": "logBuffer",
    "const char**": "pStr",
    "CUaddress_mode": "am",
    "CUarray": "dstArray hArray pHandle pLevelArray phArray srcArray",
    "CUarray_format": "fmt",
    "CUcontext": "ctx dstContext pctx peerContext srcContext",
    "CUctxCreateParams*": "ctxCreateParams",
    "const CUDA_ARRAY_DESCRIPTOR*": "pAllocateArray",
    "CUDA_ARRAY_DESCRIPTOR*": "pArrayDescriptor",
    "CUDA_GRAPH_INSTANTIATE_PARAMS*": "instantiateParams",
    "CUDA_MEM_ALLOC_NODE_PARAMS*": "params_out",
    "const CUDA_MEMCPY2D*": "pCopy",
    "const CUDA_MEMCPY3D*": "copyParams",
    "const CUDA_MEMSET_NODE_PARAMS*": "memsetParams",
    "const CUDA_RESOURCE_DESC*": "pResDesc",
    "const CUDA_RESOURCE_VIEW_DESC*": "pResViewDesc",
    "const CUDA_TEXTURE_DESC*": "pTexDesc",
    "CUdevice": "dev device peerDev",
    "CUdeviceptr": "addr devPtr dptr dptr_out dst dstDevice pbase pdptr ptr src srcDevice",
    "CUdeviceptr*": "dsts srcs",
    "CUdriverProcAddressQueryResult": "symbolFound",
    "CUevent": "event event_out hEnd hEvent hStart phEvent",
    "CUexecAffinityParam*": "paramsArray",
    "CUfilter_mode": "fm",
    "CUfunc_cache": "config",
    "CUfunc_cache*": "pconfig",
    "CUfunction": "f func hfunc pFunc",
    "CUfunction*": "functions",
    "CUfunction_attribute": "attrib",
    "CUgraph": "childGraph graph graph_out hClonedGraph hGraph originalGraph phGraph phGraphClone",
    "CUgraphConditionalHandle": "pHandle_out",
    "const CUgraphEdgeData*": "dependencyData",
    "CUgraphEdgeData*": "edgeData",
    "const CUgraphEdgeData**": "edgeData_out",
    "CUgraphExec": "hGraphExec phGraphExec",
    "CUgraphExecUpdateResult": "updateResult_out",
    "CUgraphExecUpdateResultInfo*": "resultInfo",
    "CUgraphNode": "hErrorNode_out hNode hOriginalNode phErrorNode phGraphNode phNode",
    "const CUgraphNode*": "dependencies from to",
    "CUgraphNode*": "dependentNodes nodes rootNodes",
    "const CUgraphNode**": "dependencies_out",
    "CUgraphNodeParams*": "nodeParams",
    "CUhostFn": "destroy fn",
    "CUjit_option*": "jitOptions options",
    "CUjitInputType": "type",
    "CUkernel": "kernel pKernel",
    "CUkernel*": "kernels",
    "CUlibrary": "lib library pLib",
    "CUlibraryOption*": "libraryOptions",
    "CUlimit": "limit",
    "CUlinkState": "state stateOut",
    "CUmem_advise": "advice",
    "const CUmemAccessDesc*": "desc map",
    "CUmemAllocationGranularity_flags": "option",
    "CUmemAllocationHandleType": "handleType shHandleType",
    "const CUmemAllocationProp*": "prop",
    "CUmemcpyAttributes*": "attrs",
    "CUmemGenericAllocationHandle": "handle",
    "CUmemLocation": "location",
    "CUmemoryPool": "memPool pool pool_out",
    "CUmemPool_attribute": "attr",
    "const CUmemPoolProps*": "poolProps",
    "CUmipmappedArray": "hMipmappedArray pMipmappedArray",
    "CUmodule": "hmod mod module pMod",
    "CUoccupancyB2DSize": "blockSizeToDynamicSMemSize",
    "CUpointer_attribute": "attribute",
    "CUpointer_attribute*": "attributes",
    "CUresult": "error",
    "CUsharedconfig*": "pConfig",
    "CUstream": "hStream phStream stream",
    "CUstreamAttrValue*": "value_out",
    "CUstreamBatchMemOpParams*": "paramArray",
    "CUstreamCallback": "callback",
    "CUstreamCaptureMode": "mode",
    "CUstreamCaptureStatus": "captureStatus captureStatus_out",
    "CUsurfObject": "pSurfObject surfObject",
    "CUsurfref": "hSurfRef pSurfRef",
    "CUtexObject": "pTexObject texObject",
    "CUtexref": "hTexRef pTexRef",
    "cuuint64_t": "id_out",
    "CUuserObject": "object object_out",
    "const CUuuid*": "pExportTableId",
    "CUuuid*": "uuid",
    "float*": "pMilliseconds",
    "int": (
        "NumPackedComponents active blockSize blockSizeLimit canAccessPeer dim driverVersion greatestPriority "
        "leastPriority len major minGridSize minor numBlocks numParams ordinal pi priority val"
    ),
    "size_t*": "attrsIdxs failIdx sizes",
    "size_t": (
        "numAttrs "
        "ByteCount ByteOffset Height N Pitch Width WidthInBytes alignment bufferSize bytes bytesize count "
        "dstOffset dstPitch dynamicSMemSize dynamicSmemSize free granularity length minBytesToKeep "
        "numDependencies numDependencies_out numDependentNodes numEdges numNodes numRootNodes offset pPitch "
        "paramIndex paramOffset paramSize psize pvalue size sizeOut srcOffset total"
    ),
    "unsigned": (
        "ElementSizeBytes Flags blockDimX blockDimY blockDimZ defaultLaunchValue flags gridDimX gridDimY gridDimZ "
        "initialRefcount isEnabled level numAttributes numFunctions numJitOptions numKernels numLibraryOptions "
        "numMipmapLevels numOptions pFlags sharedMemBytes ui version"
    ),
    "unsigned char": "uc",
    "unsigned long long": "ctxId streamId",
    "unsigned short": "us",
    "const void*": "code fatCubin image srcHost",
    "void*": "cubinOut data dstHost osHandle p pfn pp shareableHandle userData value",
    "void**": "extra jitOptionsValues kernelParams libraryOptionValues optionValues",
    "const void**": "ppExportTable",
}
"""A type: the names of the parameters that have it."""

EXCEPTIONS: Final = {
    "const void*": "cuPointerSetAttribute.value",
    "char*": "cuDeviceGetName.name cuDeviceGetPCIBusId.pciBusId",
    "const char**": "cuKernelGetName.name cuFuncGetName.name",
    "const CUDA_ARRAY3D_DESCRIPTOR*": "cuArray3DCreate_v2.pAllocateArray cuMipmappedArrayCreate.pMipmappedArrayDesc",
    "CUDA_ARRAY3D_DESCRIPTOR*": "cuArray3DGetDescriptor_v2.pArrayDescriptor",
    "const CUDA_ARRAY_DESCRIPTOR*": "cuTexRefSetAddress2D_v3.desc",
    "const CUDA_HOST_NODE_PARAMS*": (
        "cuGraphAddHostNode.nodeParams cuGraphHostNodeSetParams.nodeParams cuGraphExecHostNodeSetParams.nodeParams"
    ),
    "CUDA_HOST_NODE_PARAMS*": "cuGraphHostNodeGetParams.nodeParams",
    "const CUDA_KERNEL_NODE_PARAMS*": (
        "cuGraphAddKernelNode_v2.nodeParams cuGraphKernelNodeSetParams_v2.nodeParams "
        "cuGraphExecKernelNodeSetParams_v2.nodeParams"
    ),
    "CUDA_KERNEL_NODE_PARAMS*": "cuGraphKernelNodeGetParams_v2.nodeParams",
    "const CUDA_KERNEL_NODE_PARAMS_v1*": (
        "cuGraphAddKernelNode.nodeParams cuGraphKernelNodeSetParams.nodeParams "
        "cuGraphExecKernelNodeSetParams.nodeParams"
    ),
    "CUDA_KERNEL_NODE_PARAMS_v1*": "cuGraphKernelNodeGetParams.nodeParams",
    "CUDA_MEM_ALLOC_NODE_PARAMS*": "cuGraphAddMemAllocNode.nodeParams",
    "CUDA_MEMCPY3D*": "cuGraphMemcpyNodeGetParams.nodeParams",
    "const CUDA_MEMCPY3D*": "cuGraphMemcpyNodeSetParams.nodeParams cuMemcpy3D_v2.pCopy cuMemcpy3DAsync_v2.pCopy",
    "const CUDA_MEMCPY3D_PEER*": "cuMemcpy3DPeer.pCopy cuMemcpy3DPeerAsync.pCopy",
    "CUDA_MEMSET_NODE_PARAMS*": "cuGraphMemsetNodeGetParams.nodeParams",
    "const CUDA_MEMSET_NODE_PARAMS*": "cuGraphMemsetNodeSetParams.nodeParams",
    "CUDA_RESOURCE_DESC*": "cuTexObjectGetResourceDesc.pResDesc cuSurfObjectGetResourceDesc.pResDesc",
    "CUDA_TEXTURE_DESC*": "cuTexObjectGetTextureDesc.pTexDesc",
    "CUdevice": "cuDeviceGetP2PAttribute.srcDevice cuDeviceGetP2PAttribute.dstDevice cuMemPrefetchAsync.dstDevice",
    "CUdevice_attribute": "cuDeviceGetAttribute.attrib",
    "CUdevice_P2PAttribute": "cuDeviceGetP2PAttribute.attrib",
    "CUdevprop*": "cuDeviceGetProperties.prop",
    "CUfunctionLoadingState*": "cuFuncIsLoaded.state",
    "const CUgraphEdgeData*": "cuGraphAddDependencies_v2.edgeData cuGraphRemoveDependencies_v2.edgeData",
    "CUgraphMem_attribute": "cuDeviceGetGraphMemAttribute.attr cuDeviceSetGraphMemAttribute.attr",
    "CUgraphNode*": (
        "cuStreamUpdateCaptureDependencies.dependencies cuStreamUpdateCaptureDependencies_v2.dependencies "
        "cuGraphGetEdges.from cuGraphGetEdges.to cuGraphGetEdges_v2.from cuGraphGetEdges_v2.to "
        "cuGraphNodeGetDependencies.dependencies cuGraphNodeGetDependencies_v2.dependencies"
    ),
    "CUgraphNodeType": "cuGraphNodeGetType.type",
    "CUipcEventHandle": "cuIpcOpenEventHandle.handle",
    "CUipcEventHandle*": "cuIpcGetEventHandle.pHandle",
    "CUipcMemHandle": "cuIpcOpenMemHandle.handle cuIpcOpenMemHandle_v2.handle",
    "CUipcMemHandle*": "cuIpcGetMemHandle.pHandle",
    "CUkernel": "cuKernelGetName.hfunc",
    "const CUlaunchConfig*": "cuLaunchKernelEx.config",
    "CUmemAccess_flags*": "cuMemPoolGetAccess.flags",
    "CUmem_range_attribute": "cuMemRangeGetAttribute.attribute",
    "CUmem_range_attribute*": "cuMemRangeGetAttributes.attributes",
    "CUmemAllocationProp*": "cuMemGetAllocationPropertiesFromHandle.prop",
    "CUmemLocation*": "cuMemPoolGetAccess.location",
    "const CUmemLocation*": "cuMemGetAccess.location",
    "CUmoduleLoadingMode*": "cuModuleGetLoadingMode.mode",
    "CUsharedconfig": "cuCtxSetSharedMemConfig.config cuFuncSetSharedMemConfig.config",
    "CUgraphNode": "cuGraphKernelNodeCopyAttributes.dst cuGraphKernelNodeCopyAttributes.src",
    "CUstream": "cuStreamCopyAttributes.dst cuStreamCopyAttributes.src",
    "CUstreamAttrID": (
        "cuStreamSetAttribute.attr cuStreamGetAttribute.attr "
        "cuGraphKernelNodeSetAttribute.attr cuGraphKernelNodeGetAttribute.attr"
    ),
    "const CUstreamAttrValue*": "cuStreamSetAttribute.value cuGraphKernelNodeSetAttribute.value",
    "CUstreamCaptureMode*": "cuThreadExchangeStreamCaptureMode.mode",
    "cuuint32_t": (
        "cuStreamWaitValue32.value cuStreamWriteValue32.value cuStreamWaitValue32_v2.value "
        "cuStreamWriteValue32_v2.value"
    ),
    "cuuint64_t": (
        "cuGetProcAddress.flags cuGetProcAddress_v2.flags cuGraphExecGetFlags.flags "
        "cuStreamWaitValue64.value cuStreamWriteValue64.value cuStreamWaitValue64_v2.value "
        "cuStreamWriteValue64_v2.value"
    ),
    "int": "cuDeviceGetCount.count cuDeviceGetP2PAttribute.value cuFuncSetAttribute.value",
    "size_t": "cuCtxSetLimit.value cuMemRangeGetAttribute.dataSize cuMemRangeGetAttributes.numAttributes",
    "size_t*": "cuMemRangeGetAttributes.dataSizes",
    "unsigned": (
        "cuDeviceTotalMem.bytes cuLibraryGetKernelCount.count cuModuleGetFunctionCount.count "
        "cuUserObjectRetain.count cuUserObjectRelease.count cuGraphRetainUserObject.count "
        "cuGraphReleaseUserObject.count cuMemAllocHost.bytesize cuStreamBatchMemOp.count cuStreamBatchMemOp_v2.count"
    ),
    "unsigned long long": (
        "cuMemAddressReserve.flags cuMemCreate.flags cuMemMap.flags cuMemGetAccess.flags "
        "cuMemExportToShareableHandle.flags cuGraphInstantiateWithFlags.flags"
    ),
    "void": "cuDeviceGetGraphMemAttribute.value",
    "void**": "cuMemRangeGetAttributes.data",
    "void*": "cuMemRetainAllocationHandle.addr cuUserObjectCreate.ptr",
}
"""A type: CALL.PARAMETER that have it in spite of their name."""

BY_NAME_ONLY: Final = ("cuCtxCreate_v3", "cuDeviceGetUuid_v2")
"""Newer forms that cuda.h of CUDA 12 does not put behind the plain name."""

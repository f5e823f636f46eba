/* Types of the CUDA runtime: vectors, launches, handles (CUDA Runtime API reference, CUDA C++ Programming Guide).  */
#ifndef GOMPY_CUDA_TYPES_H
#define GOMPY_CUDA_TYPES_H

#include <stddef.h>

#ifdef __CUDA__
#define GOMPY_ON_BOTH __attribute__ ((host)) __attribute__ ((device))
#else
#define GOMPY_ON_BOTH
#endif

#define GOMPY_VECTOR(type, name, align2, align4) \
  struct name##1 { type x; }; \
  struct __attribute__ ((aligned (align2))) name##2 { type x, y; }; \
  struct name##3 { type x, y, z; }; \
  struct __attribute__ ((aligned (align4))) name##4 { type x, y, z, w; }; \
  typedef struct name##1 name##1; \
  typedef struct name##2 name##2; \
  typedef struct name##3 name##3; \
  typedef struct name##4 name##4; \
  static inline GOMPY_ON_BOTH name##1 make_##name##1 (type x) { name##1 v = { x }; return v; } \
  static inline GOMPY_ON_BOTH name##2 make_##name##2 (type x, type y) { name##2 v = { x, y }; return v; } \
  static inline GOMPY_ON_BOTH name##3 make_##name##3 (type x, type y, type z) { name##3 v = { x, y, z }; return v; } \
  static inline GOMPY_ON_BOTH name##4 make_##name##4 (type x, type y, type z, type w) \
  { name##4 v = { x, y, z, w }; return v; }

GOMPY_VECTOR (signed char, char, 2, 4)
GOMPY_VECTOR (unsigned char, uchar, 2, 4)
GOMPY_VECTOR (short, short, 4, 8)
GOMPY_VECTOR (unsigned short, ushort, 4, 8)
GOMPY_VECTOR (int, int, 8, 16)
GOMPY_VECTOR (unsigned, uint, 8, 16)
GOMPY_VECTOR (long, long, 16, 16)
GOMPY_VECTOR (unsigned long, ulong, 16, 16)
GOMPY_VECTOR (long long, longlong, 16, 16)
GOMPY_VECTOR (unsigned long long, ulonglong, 16, 16)
GOMPY_VECTOR (float, float, 8, 16)
GOMPY_VECTOR (double, double, 16, 16)
#undef GOMPY_VECTOR

struct dim3
{
  unsigned x, y, z;
#ifdef __cplusplus
  GOMPY_ON_BOTH constexpr dim3 (unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x (vx), y (vy), z (vz) {}
  GOMPY_ON_BOTH constexpr dim3 (uint3 v) : x (v.x), y (v.y), z (v.z) {}
  GOMPY_ON_BOTH constexpr operator uint3 () const { return uint3 { x, y, z }; }
#endif
};
typedef struct dim3 dim3;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
#define cudaStreamLegacy ((cudaStream_t) 0x1)
#define cudaStreamPerThread ((cudaStream_t) 0x2)
typedef void (*cudaStreamCallback_t) (cudaStream_t stream, cudaError_t status, void *data);
typedef void (*cudaHostFn_t) (void *data);

typedef struct CUuserObject_st *cudaUserObject_t;
typedef struct CUfunc_st *cudaFunction_t;
typedef unsigned long long cudaGraphConditionalHandle;
typedef struct cudaGraphEdgeData_st { unsigned char from_port, to_port, type, reserved[5]; } cudaGraphEdgeData;

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
typedef struct cudaArray *cudaArray_t;
typedef const struct cudaArray *cudaArray_const_t;
typedef struct cudaMipmappedArray *cudaMipmappedArray_t;
typedef const struct cudaMipmappedArray *cudaMipmappedArray_const_t;
typedef struct CUmemPoolHandle_st *cudaMemPool_t;
typedef struct cudaIpcMemHandle_st { char reserved[64]; } cudaIpcMemHandle_t;
typedef struct cudaIpcEventHandle_st { char reserved[64]; } cudaIpcEventHandle_t;

struct cudaMemLocation { enum cudaMemLocationType type; int id; };

struct cudaMemPoolProps
{
  enum cudaMemAllocationType allocType;
  enum cudaMemAllocationHandleType handleTypes;
  struct cudaMemLocation location;
  void *win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};

struct cudaMemAccessDesc { struct cudaMemLocation location; enum cudaMemAccessFlags flags; };

struct cudaMemAllocNodeParams
{
  struct cudaMemPoolProps poolProps;
  const struct cudaMemAccessDesc *accessDescs;
  size_t accessDescCount;
  size_t bytesize;
  void *dptr;
};

struct cudaChannelFormatDesc { int x, y, z, w; enum cudaChannelFormatKind f; };

struct cudaResourceDesc
{
  enum cudaResourceType resType;
  union
  {
    struct { struct cudaArray *array; } array;
    struct { struct cudaMipmappedArray *mipmap; } mipmap;
    struct { void *devPtr; struct cudaChannelFormatDesc desc; size_t sizeInBytes; } linear;
    struct { void *devPtr; struct cudaChannelFormatDesc desc; size_t width, height, pitchInBytes; } pitch2D;
  } res;
};

struct cudaTextureDesc
{
  enum cudaTextureAddressMode addressMode[3];
  enum cudaTextureFilterMode filterMode;
  enum cudaTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned maxAnisotropy;
  enum cudaTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization, seamlessCubemap;
};

struct cudaResourceViewDesc;

struct surfaceReference { struct cudaChannelFormatDesc channelDesc; };

struct textureReference
{
  int normalized;
  enum cudaTextureFilterMode filterMode;
  enum cudaTextureAddressMode addressMode[3];
  struct cudaChannelFormatDesc channelDesc;
  int sRGB;
  unsigned maxAnisotropy;
  enum cudaTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization;
  enum cudaTextureReadMode gompyReadMode; /* of texture<>: CUDA hands it over in another way */
  int reserved[13];
};

static inline struct cudaChannelFormatDesc
cudaCreateChannelDesc (int x, int y, int z, int w, enum cudaChannelFormatKind f)
{
  struct cudaChannelFormatDesc format = { x, y, z, w, f };
  return format;
}

struct cudaPitchedPtr { void *ptr; size_t pitch, xsize, ysize; };
struct cudaExtent { size_t width, height, depth; };
struct cudaPos { size_t x, y, z; };

struct cudaMemcpy3DParms
{
  struct cudaArray *srcArray;
  struct cudaPos srcPos;
  struct cudaPitchedPtr srcPtr;
  struct cudaArray *dstArray;
  struct cudaPos dstPos;
  struct cudaPitchedPtr dstPtr;
  struct cudaExtent extent;
  enum cudaMemcpyKind kind;
};

struct cudaMemcpy3DPeerParms
{
  struct cudaArray *srcArray;
  struct cudaPos srcPos;
  struct cudaPitchedPtr srcPtr;
  int srcDevice;
  struct cudaArray *dstArray;
  struct cudaPos dstPos;
  struct cudaPitchedPtr dstPtr;
  int dstDevice;
  struct cudaExtent extent;
};

struct cudaMemsetParams
{
  void *dst;
  size_t pitch;
  unsigned value, elementSize;
  size_t width, height;
};

struct cudaHostNodeParams { cudaHostFn_t fn; void *userData; };

struct cudaKernelNodeParams
{
  void *func;
  struct dim3 gridDim, blockDim;
  unsigned sharedMemBytes;
  void **kernelParams, **extra;
};

/* --- What a launch or a stream is told beside its parameters.  --- */
struct cudaAccessPolicyWindow
{
  void *base_ptr;
  size_t num_bytes;
  float hitRatio;
  enum cudaAccessProperty hitProp, missProp;
};

typedef union cudaLaunchAttributeValue
{
  char pad[64];
  struct cudaAccessPolicyWindow accessPolicyWindow;
  int cooperative;
  enum cudaSynchronizationPolicy syncPolicy;
  struct { unsigned x, y, z; } clusterDim;
  int programmaticStreamSerializationAllowed, priority;
} cudaLaunchAttributeValue;

typedef struct cudaLaunchAttribute_st
{
  enum cudaLaunchAttributeID id;
  char pad[4];
  cudaLaunchAttributeValue val;
} cudaLaunchAttribute;

typedef struct cudaLaunchConfig_st
{
  struct dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute *attrs;
  unsigned numAttrs;
} cudaLaunchConfig_t;

typedef cudaLaunchAttributeValue cudaKernelNodeAttrValue;
typedef enum cudaLaunchAttributeID cudaKernelNodeAttrID;
#define cudaKernelNodeAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow
#define cudaKernelNodeAttributeCooperative cudaLaunchAttributeCooperative
#define cudaKernelNodeAttributePriority cudaLaunchAttributePriority
#define cudaKernelNodeAttributeClusterDimension cudaLaunchAttributeClusterDimension
typedef cudaLaunchAttributeValue cudaStreamAttrValue;
typedef enum cudaLaunchAttributeID cudaStreamAttrID;
#define cudaStreamAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow
#define cudaStreamAttributeSynchronizationPolicy cudaLaunchAttributeSynchronizationPolicy

/* --- A node of any kind.  --- */
struct cudaConditionalNodeParams
{
  cudaGraphConditionalHandle handle;
  enum cudaGraphConditionalNodeType type;
  unsigned size;
  cudaGraph_t *phGraph_out;
  void *ctx;
};

struct cudaGraphNodeParams
{
  enum cudaGraphNodeType type;
  int reserved0[3];
  union
  {
    long long reserved1[29];
    struct cudaKernelNodeParams kernel;
    struct { int flags, reserved[3]; struct cudaMemcpy3DParms copyParams; } memcpy;
    struct cudaMemsetParams memset;
    struct cudaHostNodeParams host;
    struct { cudaGraph_t graph; } graph;
    struct { cudaEvent_t event; } eventWait;
    struct { cudaEvent_t event; } eventRecord;
    struct cudaMemAllocNodeParams alloc;
    struct { void *dptr; } free;
    struct cudaConditionalNodeParams conditional;
  };
  long long reserved2;
};

typedef struct cudaGraphInstantiateParams_st
{
  unsigned long long flags;
  cudaStream_t uploadStream;
  cudaGraphNode_t errNode_out;
  enum cudaGraphInstantiateResult result_out;
} cudaGraphInstantiateParams;

struct cudaGraphExecUpdateResultInfo
{
  enum cudaGraphExecUpdateResult result;
  cudaGraphNode_t errorNode, errorFromNode;
};

struct cudaPointerAttributes
{
  enum cudaMemoryType type;
  int device;
  void *devicePointer, *hostPointer;
};

struct cudaFuncAttributes
{
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
  int preferredShmemCarveout, clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight, requiredClusterDepth;
  int clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed, reserved[16];
};

#ifndef __cplusplus
typedef struct cudaPitchedPtr cudaPitchedPtr;
typedef struct cudaChannelFormatDesc cudaChannelFormatDesc;
typedef struct cudaResourceDesc cudaResourceDesc;
typedef struct cudaTextureDesc cudaTextureDesc;
typedef struct textureReference textureReference;
typedef struct cudaExtent cudaExtent;
typedef struct cudaPos cudaPos;
typedef struct cudaMemcpy3DParms cudaMemcpy3DParms;
typedef struct cudaMemcpy3DPeerParms cudaMemcpy3DPeerParms;
typedef struct cudaMemsetParams cudaMemsetParams;
typedef struct cudaHostNodeParams cudaHostNodeParams;
typedef struct cudaKernelNodeParams cudaKernelNodeParams;
typedef struct cudaGraphExecUpdateResultInfo cudaGraphExecUpdateResultInfo;
typedef struct cudaPointerAttributes cudaPointerAttributes;
typedef struct cudaMemLocation cudaMemLocation;
typedef struct cudaMemAccessDesc cudaMemAccessDesc;
typedef struct cudaMemAllocNodeParams cudaMemAllocNodeParams;
typedef struct cudaFuncAttributes cudaFuncAttributes;
typedef struct cudaAccessPolicyWindow cudaAccessPolicyWindow;
typedef struct cudaConditionalNodeParams cudaConditionalNodeParams;
typedef struct cudaGraphNodeParams cudaGraphNodeParams;
#endif

static inline struct cudaPos
make_cudaPos (size_t x, size_t y, size_t z)
{
  struct cudaPos pos = { x, y, z };
  return pos;
}

/* How host functions are called that streams call.  */
#define CUDART_CB

static inline struct cudaPitchedPtr
make_cudaPitchedPtr (void *ptr, size_t pitch, size_t xsize, size_t ysize)
{
  struct cudaPitchedPtr pitched = { ptr, pitch, xsize, ysize };
  return pitched;
}

static inline struct cudaExtent
make_cudaExtent (size_t width, size_t height, size_t depth)
{
  struct cudaExtent extent = { width, height, depth };
  return extent;
}

#endif

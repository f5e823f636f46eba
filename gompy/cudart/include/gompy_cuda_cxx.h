/* The runtime's calls for C++: pointers of any type, defaults, kernels by name.  */
#ifndef GOMPY_CUDA_CXX_H
#define GOMPY_CUDA_CXX_H

/* What they call has the line of the program that calls them, by any -O: messages name it.  */
#ifdef __clang__
#define GOMPY_CALL static inline __attribute__ ((always_inline, nodebug))
#else
#define GOMPY_CALL static inline
#endif

template <typename T>
GOMPY_CALL cudaError_t
cudaMalloc (T **to, size_t size)
{
  return ::cudaMalloc (reinterpret_cast<void **> (to), size);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaMallocPitch (T **to, size_t *pitch, size_t width, size_t height)
{
  return ::cudaMallocPitch (reinterpret_cast<void **> (to), pitch, width, height);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaMallocManaged (T **to, size_t size, unsigned flags = cudaMemAttachGlobal)
{
  return ::cudaMallocManaged (reinterpret_cast<void **> (to), size, flags);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaMallocHost (T **to, size_t size, unsigned flags = 0)
{
  return ::cudaHostAlloc (reinterpret_cast<void **> (to), size, flags);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaHostAlloc (T **to, size_t size, unsigned flags)
{
  return ::cudaHostAlloc (reinterpret_cast<void **> (to), size, flags);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaMallocAsync (T **to, size_t size, cudaStream_t stream)
{
  return ::cudaMallocAsync (reinterpret_cast<void **> (to), size, stream);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaMallocFromPoolAsync (T **to, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
  return ::cudaMallocFromPoolAsync (reinterpret_cast<void **> (to), size, pool, stream);
}

/* From a pool of the program's.  */
template <typename T>
GOMPY_CALL cudaError_t
cudaMallocAsync (T **to, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
  return ::cudaMallocFromPoolAsync (reinterpret_cast<void **> (to), size, pool, stream);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaHostGetDevicePointer (T **to, void *host, unsigned flags)
{
  return ::cudaHostGetDevicePointer (reinterpret_cast<void **> (to), host, flags);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaMemcpyToSymbol (const T &symbol, const void *from, size_t size, size_t offset = 0,
                    cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
  return ::cudaMemcpyToSymbol (reinterpret_cast<const void *> (&symbol), from, size, offset, kind);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaMemcpyFromSymbol (void *to, const T &symbol, size_t size, size_t offset = 0,
                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
  return ::cudaMemcpyFromSymbol (to, reinterpret_cast<const void *> (&symbol), size, offset, kind);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaMemcpyToSymbolAsync (const T &symbol, const void *from, size_t size, size_t offset = 0,
                         cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                         cudaStream_t stream = 0)
{
  return ::cudaMemcpyToSymbolAsync (reinterpret_cast<const void *> (&symbol), from, size, offset, kind, stream);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaMemcpyFromSymbolAsync (void *to, const T &symbol, size_t size, size_t offset = 0,
                           cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                           cudaStream_t stream = 0)
{
  return ::cudaMemcpyFromSymbolAsync (to, reinterpret_cast<const void *> (&symbol), size, offset, kind, stream);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaGetSymbolAddress (void **to, const T &symbol)
{
  return ::cudaGetSymbolAddress (to, reinterpret_cast<const void *> (&symbol));
}

template <typename T>
GOMPY_CALL cudaError_t
cudaGetSymbolSize (size_t *to, const T &symbol)
{
  return ::cudaGetSymbolSize (to, reinterpret_cast<const void *> (&symbol));
}

template <typename T>
GOMPY_CALL cudaError_t
cudaLaunchKernel (T *function, dim3 grid, dim3 block, void **arguments, size_t shared = 0, cudaStream_t stream = 0)
{
  return ::cudaLaunchKernel (reinterpret_cast<const void *> (function), grid, block, arguments, shared, stream);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaLaunchCooperativeKernel (T *function, dim3 grid, dim3 block, void **arguments, size_t shared = 0,
                             cudaStream_t stream = 0)
{
  return ::cudaLaunchCooperativeKernel (reinterpret_cast<const void *> (function), grid, block, arguments, shared,
                                        stream);
}

/* A launch with attributes; the arguments become what the kernel takes.  */
template <typename... Takes, typename... Given>
GOMPY_CALL cudaError_t
cudaLaunchKernelEx (const cudaLaunchConfig_t *how, void (*function) (Takes...), Given &&...given)
{
  return [&] (Takes... taken) {
    void *arguments[] = { &taken..., nullptr };
    return ::cudaLaunchKernelExC (how, reinterpret_cast<const void *> (function), arguments);
  }(static_cast<Given &&> (given)...);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaFuncGetName (const char **name, T *function)
{
  return ::cudaFuncGetName (name, reinterpret_cast<const void *> (function));
}

template <typename T>
GOMPY_CALL cudaError_t
cudaGetFuncBySymbol (cudaFunction_t *to, T *function)
{
  return ::cudaGetFuncBySymbol (to, reinterpret_cast<const void *> (function));
}

template <typename T>
GOMPY_CALL cudaError_t
cudaFuncGetAttributes (cudaFuncAttributes *to, T *function)
{
  return ::cudaFuncGetAttributes (to, reinterpret_cast<const void *> (function));
}

template <typename T>
GOMPY_CALL cudaError_t
cudaFuncSetAttribute (T *function, cudaFuncAttribute attribute, int value)
{
  return ::cudaFuncSetAttribute (reinterpret_cast<const void *> (function), attribute, value);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaFuncSetCacheConfig (T *function, cudaFuncCache config)
{
  return ::cudaFuncSetCacheConfig (reinterpret_cast<const void *> (function), config);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessor (int *blocks, T *function, int threads, size_t shared)
{
  return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor (blocks, reinterpret_cast<const void *> (function), threads,
                                                          shared);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags (int *blocks, T *function, int threads, size_t shared,
                                                        unsigned flags)
{
  return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags (blocks, reinterpret_cast<const void *> (function),
                                                                   threads, shared, flags);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaOccupancyAvailableDynamicSMemPerBlock (size_t *size, T *function, int blocks, int threads)
{
  return ::cudaOccupancyAvailableDynamicSMemPerBlock (size, reinterpret_cast<const void *> (function), blocks, threads);
}

/* The block size that keeps most threads busy, and the grid that fills the device with such blocks; shared memory by
   the size of the block.  */
template <typename Shared, typename T>
GOMPY_CALL cudaError_t
cudaOccupancyMaxPotentialBlockSizeVariableSMem (int *grid, int *block, T *function, Shared shared, int limit = 0)
{
  cudaFuncAttributes needs;
  int device, processors, most = 0;
  cudaError_t error = cudaGetDevice (&device);
  if (!error)
    error = cudaDeviceGetAttribute (&processors, cudaDevAttrMultiProcessorCount, device);
  if (!error)
    error = ::cudaFuncGetAttributes (&needs, reinterpret_cast<const void *> (function));
  if (error)
    return error;
  int top = limit > 0 && limit < needs.maxThreadsPerBlock ? limit : needs.maxThreadsPerBlock;
  *grid = *block = 0;
  for (int threads = top - top % 32 ? top - top % 32 : top; threads > 0; threads -= 32)
    {
      int blocks = 0;
      error = ::cudaOccupancyMaxActiveBlocksPerMultiprocessor (&blocks, reinterpret_cast<const void *> (function),
                                                               threads, shared (threads));
      if (error)
        return error;
      if (blocks * threads > most)
        {
          most = blocks * threads;
          *block = threads;
          *grid = blocks * processors;
        }
    }
  return cudaSuccess;
}

/* The same amount for all sizes.  */
template <typename T>
GOMPY_CALL cudaError_t
cudaOccupancyMaxPotentialBlockSize (int *grid, int *block, T *function, size_t shared = 0, int limit = 0)
{
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem (grid, block, function, [=] (int) { return shared; }, limit);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaOccupancyMaxPotentialBlockSizeWithFlags (int *grid, int *block, T *function, size_t shared = 0, int limit = 0,
                                             unsigned = 0)
{
  return cudaOccupancyMaxPotentialBlockSize (grid, block, function, shared, limit);
}

/* What an element of a texture is.  */
template <class T> static inline cudaChannelFormatDesc cudaCreateChannelDesc ();
#define GOMPY_FORMAT(T, kind, x, y, z, w) \
  template <> inline cudaChannelFormatDesc cudaCreateChannelDesc<T> () \
  { return ::cudaCreateChannelDesc (x, y, z, w, cudaChannelFormatKind##kind); }
#define GOMPY_FORMATS(scalar, name, kind, bits) \
  GOMPY_FORMAT (scalar, kind, bits, 0, 0, 0) \
  GOMPY_FORMAT (name##1, kind, bits, 0, 0, 0) \
  GOMPY_FORMAT (name##2, kind, bits, bits, 0, 0) \
  GOMPY_FORMAT (name##4, kind, bits, bits, bits, bits)
GOMPY_FORMATS (float, float, Float, 32)
GOMPY_FORMATS (int, int, Signed, 32)
GOMPY_FORMATS (unsigned, uint, Unsigned, 32)
GOMPY_FORMATS (short, short, Signed, 16)
GOMPY_FORMATS (unsigned short, ushort, Unsigned, 16)
GOMPY_FORMATS (signed char, char, Signed, 8)
GOMPY_FORMATS (unsigned char, uchar, Unsigned, 8)
GOMPY_FORMAT (char, Signed, 8, 0, 0, 0)
#undef GOMPY_FORMATS
#undef GOMPY_FORMAT

GOMPY_CALL cudaError_t
cudaEventCreate (cudaEvent_t *to, unsigned flags)
{
  return ::cudaEventCreateWithFlags (to, flags);
}

/* Graphs: the form of CUDA 11.  */
GOMPY_CALL cudaError_t
cudaGraphInstantiate (cudaGraphExec_t *to, cudaGraph_t graph, cudaGraphNode_t *wrong, char *log, size_t size)
{
  if (wrong)
    *wrong = 0;
  if (log && size)
    *log = 0;
  return ::cudaGraphInstantiate (to, graph, 0);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaGraphAddMemcpyNodeToSymbol (cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count,
                                const T &symbol, const void *from, size_t size, size_t offset, cudaMemcpyKind kind)
{
  return ::cudaGraphAddMemcpyNodeToSymbol (to, graph, before, count, reinterpret_cast<const void *> (&symbol), from,
                                           size, offset, kind);
}

template <typename T>
GOMPY_CALL cudaError_t
cudaGraphAddMemcpyNodeFromSymbol (cudaGraphNode_t *to, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count,
                                  void *target, const T &symbol, size_t size, size_t offset, cudaMemcpyKind kind)
{
  return ::cudaGraphAddMemcpyNodeFromSymbol (to, graph, before, count, target,
                                             reinterpret_cast<const void *> (&symbol), size, offset, kind);
}

#undef GOMPY_CALL

#endif

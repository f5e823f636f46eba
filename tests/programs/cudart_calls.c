/* libcudart from C, with what a compiler would write done by hand: a fat binary, its registration, kernels' stubs.  */
#include "cudart_checks.h"

static char add_stub, bad_stub, amount;

static cudaError_t
add (int *array, int n, int threads, cudaStream_t stream)
{
  dim3 grid = { (n + 31) / 32, 1, 1 }, block = { threads, 1, 1 };
  size_t shared = 99;
  void *arguments[] = { &array, &n };
  if (__cudaPushCallConfiguration (grid, block, 0, stream))
    return cudaErrorUnknown;
  OK (__cudaPopCallConfiguration (&grid, &block, &shared, &stream));
  HOLDS (shared == 0);
  return cudaLaunchKernel (&add_stub, grid, block, arguments, shared, stream);
}

static void
devices (void)
{
  int n = -1, value = 0;
  struct cudaDeviceProp p;
  OK (cudaGetDeviceCount (&n));
  HOLDS (n == 1);
  OK (cudaGetDevice (&n));
  HOLDS (n == 0);
  OK (cudaSetDevice (0));
  IS (cudaSetDevice (7), cudaErrorInvalidDevice);
  IS (cudaPeekAtLastError (), cudaErrorInvalidDevice);
  IS (cudaGetLastError (), cudaErrorInvalidDevice);
  OK (cudaGetLastError ());
  OK (cudaGetDeviceProperties (&p, 0));
  HOLDS (p.warpSize == 32 && p.maxThreadsPerBlock == 1024 && p.major == 8 && p.totalGlobalMem == 64 << 20);
  HOLDS (p.maxThreadsDim[2] == 64 && p.name[0] && p.unifiedAddressing);
  OK (cudaDeviceGetAttribute (&value, cudaDevAttrWarpSize, 0));
  HOLDS (value == 32);
  OK (cudaRuntimeGetVersion (&value));
  HOLDS (value == CUDART_VERSION);
  OK (cudaDriverGetVersion (&value));
  HOLDS (value >= 12000);
  HOLDS (!strcmp (cudaGetErrorName (cudaErrorNotReady), "cudaErrorNotReady"));
  HOLDS (!strcmp (cudaGetErrorString (cudaErrorMemoryAllocation), "out of memory"));
  HOLDS (!strcmp (cudaGetErrorString ((cudaError_t) 12345), "unrecognized error code"));
}

static void
copies (void)
{
  int a[64], b[64], *d, *e;
  size_t pitch = 0, size = 0, unused = 0;
  void *symbol = NULL;
  struct cudaPointerAttributes whose;
  for (int i = 0; i < 64; i++)
    a[i] = i;
  OK (cudaMalloc ((void **) &d, sizeof a));
  OK (cudaMalloc ((void **) &e, sizeof a));
  OK (cudaMemcpy (d, a, sizeof a, cudaMemcpyHostToDevice));
  OK (cudaMemcpy (e, d, sizeof a, cudaMemcpyDeviceToDevice));
  OK (cudaMemcpy (b, e, sizeof a, cudaMemcpyDeviceToHost));
  HOLDS (!memcmp (a, b, sizeof a));
  OK (cudaMemset (e, 1, 8));
  OK (cudaMemcpy (b, e, sizeof a, cudaMemcpyDefault));
  HOLDS (b[0] == 0x01010101 && b[1] == 0x01010101 && b[2] == 2);
  IS (cudaMemcpy (b, e, sizeof a, (enum cudaMemcpyKind) 9), cudaErrorInvalidMemcpyDirection);
  IS (cudaMemcpy (a, b, sizeof a, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  IS (cudaMemcpy (b, d, 1 << 20, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  IS (cudaMalloc ((void **) &symbol, (size_t) 1 << 40), cudaErrorMemoryAllocation);
  HOLDS (symbol == NULL);
  OK (cudaFree (e));
  IS (cudaFree (e), cudaErrorInvalidValue);
  OK (cudaFree (NULL));
  OK (cudaMallocPitch ((void **) &e, &pitch, 20, 4));
  HOLDS (pitch >= 20);
  OK (cudaMemcpy2D (e, pitch, a, 40, 20, 4, cudaMemcpyHostToDevice));
  OK (cudaMemcpy2D (b, 20, e, pitch, 20, 4, cudaMemcpyDeviceToHost));
  HOLDS (b[0] == 0 && b[5] == 10 && b[19] == 34);
  OK (cudaMemset2D (e, pitch, 0, 4, 2));
  OK (cudaMemcpy2D (b, 20, e, pitch, 20, 4, cudaMemcpyDefault));
  HOLDS (b[0] == 0 && b[1] == 1 && b[5] == 0 && b[10] == 20);
  OK (cudaMemcpyToSymbol (&amount, &a[7], 4, 0, cudaMemcpyHostToDevice));
  OK (cudaMemcpyFromSymbol (b, &amount, 4, 0, cudaMemcpyDeviceToHost));
  HOLDS (b[0] == 7);
  OK (cudaGetSymbolAddress (&symbol, &amount));
  OK (cudaGetSymbolSize (&size, &amount));
  HOLDS (symbol && size == 4);
  IS (cudaMemcpyToSymbol (&amount, a, 4, 2, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  IS (cudaMemcpyToSymbol (&add_stub, a, 4, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
  OK (cudaMemGetInfo (&unused, &size));
  HOLDS (size == 64 << 20 && unused < size);
  OK (cudaPointerGetAttributes (&whose, d));
  HOLDS (whose.type == cudaMemoryTypeDevice && whose.devicePointer == d && whose.device == 0);
  OK (cudaPointerGetAttributes (&whose, a));
  HOLDS (whose.type == cudaMemoryTypeUnregistered);
  OK (cudaHostAlloc (&symbol, 4096, cudaHostAllocMapped));
  OK (cudaPointerGetAttributes (&whose, symbol));
  HOLDS (whose.type == cudaMemoryTypeHost && whose.hostPointer == symbol);
  OK (cudaFreeHost (symbol));
  OK (cudaMallocManaged (&symbol, 4096, cudaMemAttachGlobal));
  OK (cudaPointerGetAttributes (&whose, symbol));
  HOLDS (whose.type == cudaMemoryTypeManaged);
  OK (cudaFree (symbol));
  OK (cudaFree (d));
  OK (cudaFree (e));
  cudaGetLastError ();
}

/* cudaMemset3D, of boxes within 20 x 5 x 4 bytes: compared with a host's loop.  */
static void
boxes (void)
{
  enum { w = 20, h = 5, d = 4 };
  struct cudaPitchedPtr p;
  OK (cudaMalloc3D (&p, (struct cudaExtent){w, h, d}));
  HOLDS (p.pitch >= w && p.xsize == w && p.ysize == h);
  for (int way = 0; way < 2; way++)
    for (size_t x = 0; x <= w; x += 5)
      for (size_t y = 0; y <= h; y++)
        for (size_t z = 0; z <= d; z++)
          {
            unsigned char now[d][h][w], wanted[d][h][w];
            struct cudaExtent box = {x, y, z};
            memset (wanted, 9, sizeof wanted);
            OK (cudaMemset (p.ptr, 9, p.pitch * h * d));
            OK (way ? cudaMemset3DAsync (p, 300 + (int) z, box, 0) : cudaMemset3D (p, 300 + (int) z, box));
            for (size_t k = 0; k < z; k++)
              for (size_t j = 0; j < y; j++)
                memset (wanted[k][j], 300 + (int) z, x);
            OK (cudaMemcpy2D (now, w, p.ptr, p.pitch, w, h * d, cudaMemcpyDeviceToHost));
            HOLDS (!memcmp (now, wanted, sizeof now));
          }
  IS (cudaMemset3D (p, 0, (struct cudaExtent){p.pitch + 1, 1, 1}), cudaErrorInvalidValue);
  IS (cudaMemset3D (p, 0, (struct cudaExtent){1, h + 1, 2}), cudaErrorInvalidValue);
  OK (cudaFree (p.ptr));
  cudaGetLastError ();
}

static void
said (cudaStream_t stream, cudaError_t status, void *data)
{
  *(int *) data = status == cudaSuccess ? 5 : 6;
}

static void
kernels (void)
{
  enum { n = 100 };
  int a[n], b[n], seven = 7, flag = 0, blocks = 0, *d;
  float time = -1;
  cudaStream_t stream;
  cudaEvent_t start, end;
  struct cudaFuncAttributes needs;
  for (int i = 0; i < n; i++)
    a[i] = i;
  OK (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking));
  OK (cudaEventCreate (&start));
  OK (cudaEventCreateWithFlags (&end, cudaEventDefault));
  OK (cudaMalloc ((void **) &d, sizeof a));
  OK (cudaMemcpyToSymbol (&amount, &seven, 4, 0, cudaMemcpyHostToDevice));
  OK (cudaMemcpyAsync (d, a, sizeof a, cudaMemcpyHostToDevice, stream));
  OK (cudaEventRecord (start, stream));
  OK (add (d, n, 32, stream));
  OK (add (d, n, 32, stream));
  OK (cudaEventRecord (end, stream));
  OK (cudaStreamAddCallback (stream, said, &flag, 0));
  OK (cudaMemcpyAsync (b, d, sizeof a, cudaMemcpyDeviceToHost, stream));
  OK (cudaStreamSynchronize (stream));
  OK (cudaStreamQuery (stream));
  OK (cudaEventQuery (end));
  OK (cudaEventSynchronize (end));
  OK (cudaEventElapsedTime (&time, start, end));
  HOLDS (time >= 0 && flag == 5);
  for (int i = 0; i < n; i++)
    HOLDS (b[i] == i + 14);
  IS (add (d, n, 2000, stream), cudaErrorInvalidConfiguration);
  IS (add (d, 0, 32, 0), cudaErrorInvalidConfiguration);
  IS (cudaPeekAtLastError (), cudaErrorInvalidConfiguration);
  IS (cudaLaunchKernel (&amount, (dim3) { 1, 1, 1 }, (dim3) { 1, 1, 1 }, NULL, 0, 0), cudaErrorInvalidDeviceFunction);
  IS (cudaLaunchKernel (&bad_stub, (dim3) { 1, 1, 1 }, (dim3) { 1, 1, 1 }, NULL, 0, 0), cudaErrorInvalidDeviceFunction);
  IS (cudaGetLastError (), cudaErrorInvalidDeviceFunction);
  OK (cudaFuncGetAttributes (&needs, &add_stub));
  HOLDS (needs.maxThreadsPerBlock == 1024 && needs.sharedSizeBytes == 0);
  OK (cudaOccupancyMaxActiveBlocksPerMultiprocessor (&blocks, &add_stub, 128, 0));
  HOLDS (blocks > 0);
  OK (cudaStreamDestroy (stream));
  IS (cudaStreamSynchronize (stream), cudaErrorInvalidResourceHandle);
  OK (cudaEventDestroy (start));
  OK (cudaEventDestroy (end));
  OK (cudaFree (d));
  cudaGetLastError ();
}

static void
broken (void)
{
  int a[4] = { 0 }, *d;
  OK (add (a, 4, 32, 0)); /* the host's memory */
  IS (cudaDeviceSynchronize (), cudaErrorIllegalAddress);
  IS (cudaMalloc ((void **) &d, 4), cudaErrorIllegalAddress);
  IS (cudaGetLastError (), cudaErrorIllegalAddress);
  OK (cudaDeviceReset ());
  OK (cudaMalloc ((void **) &d, sizeof a));
  OK (cudaMemcpy (d, a, sizeof a, cudaMemcpyHostToDevice));
  OK (add (d, 4, 32, 0));
  OK (cudaMemcpy (a, d, sizeof a, cudaMemcpyDeviceToHost));
  HOLDS (a[3] == 3); /* the variable is as the program has it again */
}

int
main (void)
{
  extern cudaError_t cudaOccupancyMaxActiveClusters (void);
  void **handle = __cudaRegisterFatBinary (&wrapper);
  __cudaRegisterFunction (handle, &add_stub, "add", "add", -1, NULL, NULL, NULL, NULL, NULL);
  __cudaRegisterFunction (handle, &bad_stub, "bad", "bad", -1, NULL, NULL, NULL, NULL, NULL);
  __cudaRegisterVar (handle, &amount, "amount", "amount", 0, 4, 0, 0);
  __cudaRegisterFatBinaryEnd (handle);
  devices ();
  copies ();
  kernels ();
  IS (cudaOccupancyMaxActiveClusters (), cudaErrorNotSupported);
  IS (cudaGetLastError (), cudaErrorNotSupported);
  broken ();
  boxes ();
  puts ("all is well");
}

/* Textures of linear memory and of rows, as objects and as references: prints what is read.  */
#include <cstdio>

texture<float, cudaTextureType1D, cudaReadModeElementType> numbers;
texture<uchar4, 1, cudaReadModeNormalizedFloat> colours;
texture<float, cudaTextureType2D> picture;

__global__ void
reference (float *out)
{
  int i = threadIdx.x;
  out[i] = tex1Dfetch (numbers, i - 2);
  float4 c = tex1Dfetch (colours, i);
  out[16 + i] = c.x + 10 * c.w;
}

__global__ void
object (float *out, cudaTextureObject_t linear, cudaTextureObject_t rows)
{
  int i = threadIdx.x;
  out[i] = tex1Dfetch<int> (linear, 15 - i) + tex2D<float> (rows, i % 4 + 0.5f, i / 4 + 0.5f);
}

__global__ void
between (float *out, cudaTextureObject_t rows)
{
  int i = threadIdx.x;
  out[i] = tex2D<float> (rows, i * 0.125f, 0.5f);
  out[16 + i] = tex2D (picture, i % 4 - 1, i / 4);
}

#define CHECK(call) \
  if (cudaError_t e = call) \
    { \
      printf ("%s: %s\n", #call, cudaGetErrorName (e)); \
      return 1; \
    }

static void
show (const char *name, const float *device, int n)
{
  float host[32];
  cudaMemcpy (host, device, n * sizeof *host, cudaMemcpyDeviceToHost);
  printf ("%s:", name);
  for (int i = 0; i < n; i++)
    printf (" %g", host[i]);
  printf ("\n");
}

int
main ()
{
  float a[16], *device, *out, *rows;
  int b[16], *integers;
  uchar4 c[16], *bytes;
  size_t pitch, offset = 1;
  for (int i = 0; i < 16; i++)
    {
      a[i] = i * 1.5f;
      b[i] = 100 * i;
      c[i] = make_uchar4 (i * 17, 0, 0, i & 1 ? 255 : 0);
    }
  CHECK (cudaMalloc (&device, sizeof a));
  CHECK (cudaMalloc (&integers, sizeof b));
  CHECK (cudaMalloc (&bytes, sizeof c));
  CHECK (cudaMalloc (&out, 128));
  CHECK (cudaMallocPitch (&rows, &pitch, 4 * sizeof (float), 4));
  CHECK (cudaMemcpy (device, a, sizeof a, cudaMemcpyHostToDevice));
  CHECK (cudaMemcpy (integers, b, sizeof b, cudaMemcpyHostToDevice));
  CHECK (cudaMemcpy (bytes, c, sizeof c, cudaMemcpyHostToDevice));
  CHECK (cudaMemcpy2D (rows, pitch, a, 16, 16, 4, cudaMemcpyHostToDevice));

  CHECK (cudaBindTexture (&offset, numbers, device, 10 * sizeof (float)));
  CHECK (cudaBindTexture (0, colours, bytes));
  reference<<<1, 16>>> (out);
  show ("reference", out, 32);

  cudaResourceDesc linear = {}, pitched = {};
  cudaTextureDesc plain = {}, smooth = {};
  linear.resType = cudaResourceTypeLinear;
  linear.res.linear.devPtr = integers;
  linear.res.linear.desc = cudaCreateChannelDesc<int> ();
  linear.res.linear.sizeInBytes = sizeof b;
  pitched.resType = cudaResourceTypePitch2D;
  pitched.res.pitch2D.devPtr = rows;
  pitched.res.pitch2D.desc = cudaCreateChannelDesc<float> ();
  pitched.res.pitch2D.width = pitched.res.pitch2D.height = 4;
  pitched.res.pitch2D.pitchInBytes = pitch;
  smooth.normalizedCoords = 1;
  smooth.filterMode = cudaFilterModeLinear;
  smooth.addressMode[0] = cudaAddressModeWrap;
  smooth.addressMode[1] = cudaAddressModeClamp;
  cudaTextureObject_t one, two, three;
  CHECK (cudaCreateTextureObject (&one, &linear, &plain, 0));
  CHECK (cudaCreateTextureObject (&two, &pitched, &plain, 0));
  CHECK (cudaCreateTextureObject (&three, &pitched, &smooth, 0));
  object<<<1, 16>>> (out, one, two);
  show ("object", out, 16);

  picture.addressMode[0] = cudaAddressModeBorder;
  CHECK (cudaBindTexture2D (0, picture, rows, picture.channelDesc, 4, 4, pitch));
  between<<<1, 16>>> (out, three);
  show ("between", out, 32);

  printf ("%d %d %d\n", cudaDestroyTextureObject (one), cudaDestroyTextureObject (one), cudaUnbindTexture (numbers));
  reference<<<1, 16>>> (out);
  printf ("%s\n", cudaGetErrorName (cudaDeviceSynchronize ()));
}

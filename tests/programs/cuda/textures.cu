/* Textures of arrays: every address mode, filter and kind of coordinates, in one to three dimensions and in layers,
   against the formulas of the CUDA C++ Programming Guide ("Texture Fetching"), computed in doubles.  */
#include "check.h"
#include <algorithm>
#include <vector>

const int POINTS = 96, W = 7, H = 5, D = 3;

template <class T>
__global__ void
fetch (T *to, cudaTextureObject_t t, const float *at, int dimensions)
{
  int i = threadIdx.x;
  float x = at[3 * i], y = at[3 * i + 1], z = at[3 * i + 2];
  if (dimensions == 1)
    to[i] = tex1D<T> (t, x);
  else if (dimensions == 2)
    to[i] = tex2D<T> (t, x, y);
  else if (dimensions == 3)
    to[i] = tex3D<T> (t, x, y, z);
  else
    to[i] = tex2DLayered<T> (t, x, y, (int) z);
}

/* An index along N elements; -1: the border.  Wrapping and mirroring are of normalized coordinates only.  */
static int
index (cudaTextureAddressMode mode, bool normalized, long at, int n)
{
  if (at >= 0 && at < n)
    return at;
  if (mode == cudaAddressModeBorder)
    return -1;
  if (normalized && mode == cudaAddressModeWrap)
    return (at % n + n) % n;
  if (normalized && mode == cudaAddressModeMirror)
    {
      at = (at % (2 * n) + 2 * n) % (2 * n);
      return at < n ? at : 2 * n - 1 - at;
    }
  return at < 0 ? 0 : n - 1;
}

/* What is read, by the guide's formula; a weight has 8 bits behind the point on the device.  */
static double
model (const std::vector<double> &data, const int *sizes, int filtered, const cudaTextureDesc &how, const float *point)
{
  double sum = 0;
  long low[3] = { 0, 0, 0 };
  double part[3] = { 0, 0, 0 };
  bool linear = how.filterMode == cudaFilterModeLinear;
  for (int d = 0; d < filtered; d++)
    {
      double x = how.normalizedCoords ? (double) point[d] * sizes[d] : point[d];
      x -= linear ? 0.5 : 0;
      low[d] = (long) std::floor (x);
      part[d] = linear ? x - std::floor (x) : 0;
    }
  for (int corner = 0; corner < 1 << filtered; corner++)
    {
      double weight = 1;
      long place = 0, step = 1;
      bool outside = false;
      for (int d = 0; d < 3; d++)
        {
          int upper = d < filtered ? corner >> d & 1 : 0;
          int at = d < filtered ? index (how.addressMode[d], how.normalizedCoords, low[d] + upper, sizes[d])
                                : std::min (std::max ((int) point[d], 0), sizes[d] - 1);
          if (d < filtered)
            weight *= upper ? part[d] : 1 - part[d];
          outside = outside || at < 0;
          place += at * step;
          step *= sizes[d];
        }
      if (weight)
        sum += weight * (outside ? how.borderColor[0] : data[place]);
    }
  return sum;
}

template <class T, class E>
static void
compare (int dimensions, cudaTextureReadMode reading, int factor, double scale, bool exact)
{
  bool layers = dimensions == 4;
  int sizes[3] = { W, dimensions > 1 ? H : 1, dimensions > 2 ? D : 1 };
  int count = sizes[0] * sizes[1] * sizes[2];
  std::vector<E> elements (count);
  std::vector<double> data (count);
  for (int i = 0; i < count; i++)
    {
      elements[i] = E ((i * 37 % 101 + 20) * factor);
      data[i] = (double) elements[i] * scale;
    }
  cudaChannelFormatDesc format = cudaCreateChannelDesc<E> ();
  cudaArray_t array;
  cudaExtent extent = { (size_t) W, (size_t) (dimensions > 1 ? H : 0), (size_t) (dimensions > 2 ? D : 0) };
  CHECK (cudaMalloc3DArray (&array, &format, extent, layers ? cudaArrayLayered : 0));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr (elements.data (), W * sizeof (E), W, sizes[1]);
  copy.dstArray = array, copy.kind = cudaMemcpyHostToDevice;
  copy.extent = { (size_t) W, (size_t) sizes[1], (size_t) sizes[2] };
  CHECK (cudaMemcpy3D (&copy));
  T *to, found[POINTS];
  float *at;
  CHECK (cudaMalloc (&to, sizeof found));
  CHECK (cudaMalloc (&at, 3 * POINTS * sizeof (float)));
  for (int mode = 0; mode < 4; mode++)
    for (int filter = 0; filter < 2; filter++)
      for (int normalized = 0; normalized < 2; normalized++)
        {
          if (filter && reading == cudaReadModeElementType && exact)
            continue;  /* integers are not filtered */
          cudaTextureDesc how = {};
          for (auto &m : how.addressMode)
            m = (cudaTextureAddressMode) mode;
          how.filterMode = (cudaTextureFilterMode) filter;
          how.readMode = reading, how.normalizedCoords = normalized;
          how.borderColor[0] = exact ? 0 : 0.75f;
          cudaResourceDesc of = {};
          of.resType = cudaResourceTypeArray, of.res.array.array = array;
          cudaTextureObject_t t;
          CHECK (cudaCreateTextureObject (&t, &of, &how, nullptr));
          std::vector<float> points (3 * POINTS);
          for (int i = 0; i < POINTS; i++)
            for (int d = 0; d < 3; d++)
              {
                /* From two sizes below to two above; in steps that meet no edge between two elements.  */
                float x = ((i * (7 + 4 * d) + d) % (5 * 64) - 128 + 0.3125f) / 64 * sizes[d];
                points[3 * i + d] = layers && d == 2 ? i % (D + 2) - 1 : normalized ? x / sizes[d] : x;
              }
          CHECK (cudaMemcpy (at, points.data (), points.size () * sizeof (float), cudaMemcpyHostToDevice));
          fetch<T><<<1, POINTS>>> (to, t, at, dimensions);
          CHECK (cudaMemcpy (found, to, sizeof found, cudaMemcpyDeviceToHost));
          for (int i = 0; i < POINTS; i++)
            {
              double want = model (data, sizes, layers ? 2 : dimensions, how, &points[3 * i]);
              double allowed = filter ? std::max (121 * factor * scale, 0.75) * 3 / 512 : 1e-6 * std::fabs (want);
              if (!(std::fabs ((double) found[i] - want) <= allowed))
                {
                  std::printf ("%d dimensions, mode %d, filter %d, normalized %d, point %d (%g %g %g): %g, not %g\n",
                               dimensions, mode, filter, normalized, i, points[3 * i], points[3 * i + 1],
                               points[3 * i + 2], (double) found[i], want);
                  std::exit (1);
                }
            }
          CHECK (cudaDestroyTextureObject (t));
        }
  CHECK (cudaFreeArray (array));
  CHECK (cudaFree (to));
  CHECK (cudaFree (at));
}

int
main ()
{
  for (int dimensions = 1; dimensions <= 4; dimensions++)
    {
      compare<float, float> (dimensions, cudaReadModeElementType, 1, 1, false);
      compare<float, unsigned char> (dimensions, cudaReadModeNormalizedFloat, 2, 1 / 255.0, false);
      compare<float, short> (dimensions, cudaReadModeNormalizedFloat, 270, 1 / 32767.0, false);
      compare<int, int> (dimensions, cudaReadModeElementType, 1, 1, true);
      compare<unsigned short, unsigned short> (dimensions, cudaReadModeElementType, 1, 1, true);
    }
  std::puts ("textures: right");
}

/* Floats of 8 bits: all codes, and rounding as the device's instructions round; marks for profilers are taken.  */
#include "check.h"
#include <cuda_fp8.h>
#include <nvtx3/nvToolsExt.h>

__global__ void
round_by (unsigned short *by_header, unsigned short *by_instruction, const float *from, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float2 pair = make_float2 (from[i], -from[n - 1 - i]);
  by_header[i] = __nv_fp8x2_e4m3 (pair).__x;
  by_header[n + i] = __nv_fp8x2_e5m2 (pair).__x;
#if __CUDA_ARCH__ >= 890
  asm ("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h" (by_instruction[i]) : "f" (pair.y), "f" (pair.x));
  asm ("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h" (by_instruction[n + i]) : "f" (pair.y), "f" (pair.x));
#else
  by_instruction[i] = by_header[i];
  by_instruction[n + i] = by_header[n + i];
#endif
}

__global__ void
widen (float *to)
{
  unsigned code = threadIdx.x;
  __nv_fp8_e4m3 a;
  __nv_fp8_e5m2 b;
  a.__x = b.__x = (unsigned char) code;
  to[code] = float (a);
  to[256 + code] = __half2float (__half (b));
}

int
main ()
{
  const int n = 20000;
  unsigned short *codes;
  float *values;
  nvtxRangePushA ("eighths");
  CHECK (cudaMallocManaged (&codes, 4 * n * sizeof *codes));
  CHECK (cudaMallocManaged (&values, n * sizeof *values));
  unsigned bits = 1;
  for (int i = 0; i < n; i++)
    {
      bits = bits * 1664525u + 1013904223u;
      unsigned word = i < 512 ? (unsigned) i << 23 : (bits & 0x807fffff) | (100 + (bits >> 16) % 48) << 23;
      values[i] = i % 3 == 0 && i > 512 ? (float) (int) (bits >> 20) / 512 : __builtin_bit_cast (float, word);
    }
  round_by<<<(n + 127) / 128, 128>>> (codes, codes + 2 * n, values, n);
  CHECK (cudaDeviceSynchronize ());
  for (int i = 0; i < n; i++)
    {
      float2 pair = make_float2 (values[i], -values[n - 1 - i]);
      SAME (codes[i], __nv_fp8x2_e4m3 (pair).__x);
      SAME (codes[n + i], __nv_fp8x2_e5m2 (pair).__x);
      SAME (codes[i], codes[2 * n + i]);
      SAME (codes[n + i], codes[3 * n + i]);
    }
  widen<<<1, 256>>> (values);
  CHECK (cudaDeviceSynchronize ());
  for (int code = 0; code < 256; code++)
    {
      __nv_fp8_storage_t byte = (__nv_fp8_storage_t) code;
      bool number = values[code] == values[code], other = values[256 + code] == values[256 + code];
      SAME (number, (code & 0x7f) != 0x7f);
      SAME (other, (code & 0x7f) < 0x7d);
      if (number)
        SAME (__nv_cvt_float_to_fp8 (values[code], __NV_NOSAT, __NV_E4M3), byte);
      if (other)
        SAME (__nv_cvt_float_to_fp8 (values[256 + code], __NV_NOSAT, __NV_E5M2), byte);
    }
  SAME (values[0x7e], 448);
  SAME (values[256 + 0x7b], 57344);
  SAME (values[256 + 0x7c], INFINITY);
  SAME (values[1], 0.001953125f);
  SAME (__nv_cvt_float_to_fp8 (1e9f, __NV_NOSAT, __NV_E4M3), 0x7f);
  SAME (__nv_cvt_float_to_fp8 (-1e9f, __NV_NOSAT, __NV_E5M2), 0xfc);
  SAME (__nv_cvt_float_to_fp8 (-1e9f, __NV_SATFINITE, __NV_E5M2), 0xfb);
  SAME (__nv_cvt_double_to_fp8 (1.0625 + 1e-12, __NV_NOSAT, __NV_E4M3), 0x39); /* twice rounded: 0x38 */
  SAME (float (__nv_fp8_e4m3 (17)), 16);
  SAME (float4 (__nv_fp8x4_e5m2 (make_float4 (1, -2, 3, -4))).w, -4);
  SAME (bool (__nv_fp8_e4m3 (-0.0)), false);
  SAME (nvtxRangePop (), NVTX_NO_PUSH_POP_TRACKING);
  std::printf ("eighths: right\n");
  return 0;
}

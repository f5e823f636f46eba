/* Textures for device code (CUDA C++ Programming Guide, "Texture Functions"): objects, and references, which CUDA 12
   has no more.  */
#ifndef GOMPY_CUDA_TEXTURE_H
#define GOMPY_CUDA_TEXTURE_H

/* What an element is: the four components that an instruction gives, and the value that is made of them.  */
template <class T> struct gompy_texel;

#define GOMPY_TEXEL(T, quad_type, ...) \
  template <> struct gompy_texel<T> \
  { \
    typedef quad_type quad; \
    static __inline__ __attribute__ ((device, always_inline, nodebug)) T of (quad v) \
    { \
      T found = { __VA_ARGS__ }; \
      return found; \
    } \
  };
#define GOMPY_TEXELS(scalar, name, quad_type) \
  GOMPY_TEXEL (scalar, quad_type, (scalar) v.x) \
  GOMPY_TEXEL (name##1, quad_type, (scalar) v.x) \
  GOMPY_TEXEL (name##2, quad_type, (scalar) v.x, (scalar) v.y) \
  GOMPY_TEXEL (name##4, quad_type, (scalar) v.x, (scalar) v.y, (scalar) v.z, (scalar) v.w)
GOMPY_TEXELS (float, float, float4)
GOMPY_TEXELS (int, int, int4)
GOMPY_TEXELS (unsigned, uint, uint4)
GOMPY_TEXELS (short, short, int4)
GOMPY_TEXELS (unsigned short, ushort, uint4)
GOMPY_TEXELS (signed char, char, int4)
GOMPY_TEXELS (unsigned char, uchar, uint4)
GOMPY_TEXEL (char, int4, (char) v.x)
#undef GOMPY_TEXELS
#undef GOMPY_TEXEL

/* The instructions; the last parameter is for the type only.  */
#define GOMPY_RESULT(letter) "=" letter (v.x), "=" letter (v.y), "=" letter (v.z), "=" letter (v.w)
#define GOMPY_FETCHES(quad, kind, letter) \
  GOMPY_DEVICE quad gompy_fetch (cudaTextureObject_t t, int x, quad v) \
  { \
    asm ("tex.1d.v4." kind ".s32 {%0, %1, %2, %3}, [%4, {%5}];" : GOMPY_RESULT (letter) : "l" (t), "r" (x)); \
    return v; \
  } \
  GOMPY_DEVICE quad gompy_fetch (cudaTextureObject_t t, float x, quad v) \
  { \
    asm ("tex.1d.v4." kind ".f32 {%0, %1, %2, %3}, [%4, {%5}];" : GOMPY_RESULT (letter) : "l" (t), "f" (x)); \
    return v; \
  } \
  GOMPY_DEVICE quad gompy_fetch (cudaTextureObject_t t, float x, float y, quad v) \
  { \
    asm ("tex.2d.v4." kind ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}];" \
         : GOMPY_RESULT (letter) : "l" (t), "f" (x), "f" (y)); \
    return v; \
  } \
  GOMPY_DEVICE quad gompy_fetch (cudaTextureObject_t t, float x, float y, float z, quad v) \
  { \
    asm ("tex.3d.v4." kind ".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];" \
         : GOMPY_RESULT (letter) : "l" (t), "f" (x), "f" (y), "f" (z)); \
    return v; \
  } \
  GOMPY_DEVICE quad gompy_fetch_layer (cudaTextureObject_t t, int layer, float x, quad v) \
  { \
    asm ("tex.a1d.v4." kind ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}];" \
         : GOMPY_RESULT (letter) : "l" (t), "r" (layer), "f" (x)); \
    return v; \
  } \
  GOMPY_DEVICE quad gompy_fetch_layer (cudaTextureObject_t t, int layer, float x, float y, quad v) \
  { \
    asm ("tex.a2d.v4." kind ".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];" \
         : GOMPY_RESULT (letter) : "l" (t), "r" (layer), "f" (x), "f" (y)); \
    return v; \
  }
/* A direction to a face of a cube.  */
#define GOMPY_FETCHES_CUBE(quad, kind, letter) \
  GOMPY_DEVICE quad gompy_fetch_cube (cudaTextureObject_t t, float x, float y, float z, quad v) \
  { \
    asm ("tex.cube.v4." kind ".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];" \
         : GOMPY_RESULT (letter) : "l" (t), "f" (x), "f" (y), "f" (z)); \
    return v; \
  } \
  GOMPY_DEVICE quad gompy_fetch_cube (cudaTextureObject_t t, int layer, float x, float y, float z, quad v) \
  { \
    asm ("tex.acube.v4." kind ".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %8}];" \
         : GOMPY_RESULT (letter) : "l" (t), "r" (layer), "f" (x), "f" (y), "f" (z)); \
    return v; \
  }
GOMPY_FETCHES_CUBE (float4, "f32", "f")
GOMPY_FETCHES_CUBE (int4, "s32", "r")
GOMPY_FETCHES_CUBE (uint4, "u32", "r")
#undef GOMPY_FETCHES_CUBE
GOMPY_FETCHES (float4, "f32", "f")
GOMPY_FETCHES (int4, "s32", "r")
GOMPY_FETCHES (uint4, "u32", "r")
#undef GOMPY_FETCHES
/* Of a level of a mipmapped array.  */
#define GOMPY_FETCHES_LEVEL(quad, kind, letter) \
  GOMPY_DEVICE quad gompy_fetch_level (cudaTextureObject_t t, float level, float x, quad v) \
  { \
    asm ("tex.level.1d.v4." kind ".f32 {%0, %1, %2, %3}, [%4, {%5}], %6;" \
         : GOMPY_RESULT (letter) : "l" (t), "f" (x), "f" (level)); \
    return v; \
  } \
  GOMPY_DEVICE quad gompy_fetch_level (cudaTextureObject_t t, float level, float x, float y, quad v) \
  { \
    asm ("tex.level.2d.v4." kind ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}], %7;" \
         : GOMPY_RESULT (letter) : "l" (t), "f" (x), "f" (y), "f" (level)); \
    return v; \
  } \
  GOMPY_DEVICE quad gompy_fetch_level (cudaTextureObject_t t, float level, float x, float y, float z, quad v) \
  { \
    asm ("tex.level.3d.v4." kind ".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}], %8;" \
         : GOMPY_RESULT (letter) : "l" (t), "f" (x), "f" (y), "f" (z), "f" (level)); \
    return v; \
  } \
  GOMPY_DEVICE quad gompy_fetch_level_layer (cudaTextureObject_t t, float level, int layer, float x, float y, quad v) \
  { \
    asm ("tex.level.a2d.v4." kind ".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}], %8;" \
         : GOMPY_RESULT (letter) : "l" (t), "r" (layer), "f" (x), "f" (y), "f" (level)); \
    return v; \
  } \
  GOMPY_DEVICE quad gompy_fetch_level_cube (cudaTextureObject_t t, float level, float x, float y, float z, quad v) \
  { \
    asm ("tex.level.cube.v4." kind ".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}], %8;" \
         : GOMPY_RESULT (letter) : "l" (t), "f" (x), "f" (y), "f" (z), "f" (level)); \
    return v; \
  } \
  GOMPY_DEVICE quad gompy_fetch_steps (cudaTextureObject_t t, float right, float down, float x, quad v) \
  { \
    asm ("tex.grad.1d.v4." kind ".f32 {%0, %1, %2, %3}, [%4, {%5}], {%6}, {%7};" \
         : GOMPY_RESULT (letter) : "l" (t), "f" (x), "f" (right), "f" (down)); \
    return v; \
  } \
  GOMPY_DEVICE quad gompy_fetch_steps (cudaTextureObject_t t, float2 right, float2 down, float x, float y, quad v) \
  { \
    asm ("tex.grad.2d.v4." kind ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}], {%7, %8}, {%9, %10};" \
         : GOMPY_RESULT (letter) \
         : "l" (t), "f" (x), "f" (y), "f" (right.x), "f" (right.y), "f" (down.x), "f" (down.y)); \
    return v; \
  }
GOMPY_FETCHES_LEVEL (float4, "f32", "f")
GOMPY_FETCHES_LEVEL (int4, "s32", "r")
GOMPY_FETCHES_LEVEL (uint4, "u32", "r")
#undef GOMPY_FETCHES_LEVEL
/* A component of the four elements that linear filtering would mix.  */
#define GOMPY_GATHER(quad, kind, letter, component) \
  asm ("tld4." component ".2d.v4." kind ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}];" \
       : GOMPY_RESULT (letter) : "l" (t), "f" (x), "f" (y)); \
  return v;
#define GOMPY_GATHERS(quad, kind, letter) \
  GOMPY_DEVICE quad gompy_gather (cudaTextureObject_t t, float x, float y, int component, quad v) \
  { \
    if (component == 1) \
      { GOMPY_GATHER (quad, kind, letter, "g") } \
    if (component == 2) \
      { GOMPY_GATHER (quad, kind, letter, "b") } \
    if (component == 3) \
      { GOMPY_GATHER (quad, kind, letter, "a") } \
    GOMPY_GATHER (quad, kind, letter, "r") \
  }
GOMPY_GATHERS (float4, "f32", "f")
GOMPY_GATHERS (int4, "s32", "r")
GOMPY_GATHERS (uint4, "u32", "r")
#undef GOMPY_GATHERS
#undef GOMPY_GATHER
#undef GOMPY_RESULT

template <class T>
GOMPY_DEVICE T
tex1Dfetch (cudaTextureObject_t t, int x)
{
  return gompy_texel<T>::of (gompy_fetch (t, x, typename gompy_texel<T>::quad ()));
}

template <class T>
GOMPY_DEVICE T
tex1D (cudaTextureObject_t t, float x)
{
  return gompy_texel<T>::of (gompy_fetch (t, x, typename gompy_texel<T>::quad ()));
}

template <class T>
GOMPY_DEVICE T
tex2D (cudaTextureObject_t t, float x, float y)
{
  return gompy_texel<T>::of (gompy_fetch (t, x, y, typename gompy_texel<T>::quad ()));
}

template <class T>
GOMPY_DEVICE T
tex3D (cudaTextureObject_t t, float x, float y, float z)
{
  return gompy_texel<T>::of (gompy_fetch (t, x, y, z, typename gompy_texel<T>::quad ()));
}

template <class T>
GOMPY_DEVICE T
tex1DLayered (cudaTextureObject_t t, float x, int layer)
{
  return gompy_texel<T>::of (gompy_fetch_layer (t, layer, x, typename gompy_texel<T>::quad ()));
}

template <class T>
GOMPY_DEVICE T
tex2DLayered (cudaTextureObject_t t, float x, float y, int layer)
{
  return gompy_texel<T>::of (gompy_fetch_layer (t, layer, x, y, typename gompy_texel<T>::quad ()));
}

template <class T>
GOMPY_DEVICE T
texCubemap (cudaTextureObject_t t, float x, float y, float z)
{
  return gompy_texel<T>::of (gompy_fetch_cube (t, x, y, z, typename gompy_texel<T>::quad ()));
}

template <class T>
GOMPY_DEVICE T
texCubemapLayered (cudaTextureObject_t t, float x, float y, float z, int layer)
{
  return gompy_texel<T>::of (gompy_fetch_cube (t, layer, x, y, z, typename gompy_texel<T>::quad ()));
}

template <class T>
GOMPY_DEVICE T
tex1DLod (cudaTextureObject_t t, float x, float level)
{
  return gompy_texel<T>::of (gompy_fetch_level (t, level, x, typename gompy_texel<T>::quad ()));
}

template <class T>
GOMPY_DEVICE T
tex2DLod (cudaTextureObject_t t, float x, float y, float level)
{
  return gompy_texel<T>::of (gompy_fetch_level (t, level, x, y, typename gompy_texel<T>::quad ()));
}

template <class T>
GOMPY_DEVICE T
tex3DLod (cudaTextureObject_t t, float x, float y, float z, float level)
{
  return gompy_texel<T>::of (gompy_fetch_level (t, level, x, y, z, typename gompy_texel<T>::quad ()));
}

template <class T>
GOMPY_DEVICE T
tex2DLayeredLod (cudaTextureObject_t t, float x, float y, int layer, float level)
{
  return gompy_texel<T>::of (gompy_fetch_level_layer (t, level, layer, x, y, typename gompy_texel<T>::quad ()));
}

template <class T>
GOMPY_DEVICE T
texCubemapLod (cudaTextureObject_t t, float x, float y, float z, float level)
{
  return gompy_texel<T>::of (gompy_fetch_level_cube (t, level, x, y, z, typename gompy_texel<T>::quad ()));
}

template <class T>
GOMPY_DEVICE T
tex1DGrad (cudaTextureObject_t t, float x, float right, float down)
{
  return gompy_texel<T>::of (gompy_fetch_steps (t, right, down, x, typename gompy_texel<T>::quad ()));
}

template <class T>
GOMPY_DEVICE T
tex2DGrad (cudaTextureObject_t t, float x, float y, float2 right, float2 down)
{
  return gompy_texel<T>::of (gompy_fetch_steps (t, right, down, x, y, typename gompy_texel<T>::quad ()));
}

template <class T>
GOMPY_DEVICE T
tex2Dgather (cudaTextureObject_t t, float x, float y, int component = 0)
{
  return gompy_texel<T>::of (gompy_gather (t, x, y, component, typename gompy_texel<T>::quad ()));
}

/* The same, to a pointer.  */
template <class T>
GOMPY_DEVICE void
tex2Dgather (T *to, cudaTextureObject_t t, float x, float y, int component = 0)
{
  *to = tex2Dgather<T> (t, x, y, component);
}
template <class T>
GOMPY_DEVICE void
texCubemap (T *to, cudaTextureObject_t t, float x, float y, float z)
{
  *to = texCubemap<T> (t, x, y, z);
}
template <class T>
GOMPY_DEVICE void
texCubemapLayered (T *to, cudaTextureObject_t t, float x, float y, float z, int layer)
{
  *to = texCubemapLayered<T> (t, x, y, z, layer);
}
template <class T>
GOMPY_DEVICE void
tex3D (T *to, cudaTextureObject_t t, float x, float y, float z)
{
  *to = tex3D<T> (t, x, y, z);
}
template <class T> GOMPY_DEVICE void tex1Dfetch (T *to, cudaTextureObject_t t, int x) { *to = tex1Dfetch<T> (t, x); }
template <class T> GOMPY_DEVICE void tex1D (T *to, cudaTextureObject_t t, float x) { *to = tex1D<T> (t, x); }
template <class T>
GOMPY_DEVICE void
tex2D (T *to, cudaTextureObject_t t, float x, float y)
{
  *to = tex2D<T> (t, x, y);
}

/* --- References: clang makes the variable a .texref, and a value of it in device code its address.  --- */

/* What a fetch gives: the element, or floats of as many components.  */
template <class T, cudaTextureReadMode mode> struct gompy_fetched { typedef T type; };
#define GOMPY_FETCHED(scalar, name) \
  template <> struct gompy_fetched<scalar, cudaReadModeNormalizedFloat> { typedef float type; }; \
  template <> struct gompy_fetched<name##2, cudaReadModeNormalizedFloat> { typedef float2 type; }; \
  template <> struct gompy_fetched<name##4, cudaReadModeNormalizedFloat> { typedef float4 type; };
GOMPY_FETCHED (signed char, char)
GOMPY_FETCHED (unsigned char, uchar)
GOMPY_FETCHED (short, short)
GOMPY_FETCHED (unsigned short, ushort)
#undef GOMPY_FETCHED

template <class T, int dimensions = cudaTextureType1D, cudaTextureReadMode mode = cudaReadModeElementType>
struct __attribute__ ((device_builtin_texture_type)) texture : public textureReference
{
  texture (int normal = 0, cudaTextureFilterMode filter = cudaFilterModePoint,
           cudaTextureAddressMode beyond = cudaAddressModeClamp)
      : textureReference ()
  {
    normalized = normal;
    filterMode = filter;
    addressMode[0] = addressMode[1] = addressMode[2] = beyond;
    channelDesc = cudaCreateChannelDesc<T> ();
    gompyReadMode = mode;
  }
};

template <class R>
GOMPY_DEVICE cudaTextureObject_t
gompy_texture_object (R reference)
{
  cudaTextureObject_t t;
  asm ("mov.b64 %0, %1;" : "=l" (t) : "l" (reference));
  return t;
}

template <class T, cudaTextureReadMode mode>
GOMPY_DEVICE typename gompy_fetched<T, mode>::type
tex1Dfetch (texture<T, cudaTextureType1D, mode> t, int x)
{
  return tex1Dfetch<typename gompy_fetched<T, mode>::type> (gompy_texture_object (t), x);
}

template <class T, cudaTextureReadMode mode>
GOMPY_DEVICE typename gompy_fetched<T, mode>::type
tex1D (texture<T, cudaTextureType1D, mode> t, float x)
{
  return tex1D<typename gompy_fetched<T, mode>::type> (gompy_texture_object (t), x);
}

template <class T, cudaTextureReadMode mode>
GOMPY_DEVICE typename gompy_fetched<T, mode>::type
tex2D (texture<T, cudaTextureType2D, mode> t, float x, float y)
{
  return tex2D<typename gompy_fetched<T, mode>::type> (gompy_texture_object (t), x, y);
}

template <class T, int dimensions, cudaTextureReadMode mode>
static inline cudaError_t
cudaBindTexture (size_t *offset, const texture<T, dimensions, mode> &t, const void *device,
                 const cudaChannelFormatDesc &format, size_t size = 0xffffffff)
{
  return ::cudaBindTexture (offset, &t, device, &format, size);
}

template <class T, int dimensions, cudaTextureReadMode mode>
static inline cudaError_t
cudaBindTexture (size_t *offset, const texture<T, dimensions, mode> &t, const void *device, size_t size = 0xffffffff)
{
  return ::cudaBindTexture (offset, &t, device, &t.channelDesc, size);
}

template <class T, int dimensions, cudaTextureReadMode mode>
static inline cudaError_t
cudaBindTexture2D (size_t *offset, const texture<T, dimensions, mode> &t, const void *device,
                   const cudaChannelFormatDesc &format, size_t width, size_t height, size_t pitch)
{
  return ::cudaBindTexture2D (offset, &t, device, &format, width, height, pitch);
}

template <class T, int dimensions, cudaTextureReadMode mode>
static inline cudaError_t
cudaBindTexture2D (size_t *offset, const texture<T, dimensions, mode> &t, const void *device, size_t width,
                   size_t height, size_t pitch)
{
  return ::cudaBindTexture2D (offset, &t, device, &t.channelDesc, width, height, pitch);
}

template <class T, int dimensions, cudaTextureReadMode mode>
static inline cudaError_t
cudaBindTextureToArray (const texture<T, dimensions, mode> &t, cudaArray_const_t array,
                        const cudaChannelFormatDesc &format)
{
  return ::cudaBindTextureToArray (&t, array, &format);
}

template <class T, int dimensions, cudaTextureReadMode mode>
static inline cudaError_t
cudaBindTextureToArray (const texture<T, dimensions, mode> &t, cudaArray_const_t array)
{
  cudaChannelFormatDesc format;
  cudaError_t result = cudaGetChannelDesc (&format, array);
  return result == cudaSuccess ? ::cudaBindTextureToArray (&t, array, &format) : result;
}

template <class T, int dimensions, cudaTextureReadMode mode>
static inline cudaError_t
cudaUnbindTexture (const texture<T, dimensions, mode> &t)
{
  return ::cudaUnbindTexture (&t);
}

#endif

/* Surfaces for device code (CUDA C++ Programming Guide, "Surface Functions"): objects.  x is in bytes.  */
#ifndef GOMPY_CUDA_SURFACE_H
#define GOMPY_CUDA_SURFACE_H

/* The three instructions; the mode is a constant wherever the call is inlined.  */
#define GOMPY_BY_MODE(DO, ...) \
  if (mode == cudaBoundaryModeZero) \
    { \
      DO ("zero", __VA_ARGS__) \
    } \
  else if (mode == cudaBoundaryModeClamp) \
    { \
      DO ("clamp", __VA_ARGS__) \
    } \
  else \
    { \
      DO ("trap", __VA_ARGS__) \
    }
#define GOMPY_SULD(mode, geometry, type, letter, place, ...) \
  asm volatile ("suld.b." geometry "." type "." mode " {%[v]}, [%[s], " place "];" \
                : [v] "=" letter (v) : [s] "l" (s), __VA_ARGS__ : "memory");
#define GOMPY_SULD_2(mode, geometry, place, ...) \
  asm volatile ("suld.b." geometry ".v2.b64." mode " {%[v], %[w]}, [%[s], " place "];" \
                : [v] "=l" (v.x), [w] "=l" (v.y) : [s] "l" (s), __VA_ARGS__ : "memory");
#define GOMPY_SUST(mode, geometry, type, letter, place, ...) \
  asm volatile ("sust.b." geometry "." type "." mode " [%[s], " place "], {%[v]};" \
                : : [v] letter (v), [s] "l" (s), __VA_ARGS__ : "memory");
#define GOMPY_SUST_2(mode, geometry, place, ...) \
  asm volatile ("sust.b." geometry ".v2.b64." mode " [%[s], " place "], {%[v], %[w]};" \
                : : [v] "l" (v.x), [w] "l" (v.y), [s] "l" (s), __VA_ARGS__ : "memory");

/* An element of any size, and the integer of as many bytes.  */
#define GOMPY_READ_AS(bits_type, ...) \
  { \
    bits_type v; \
    GOMPY_BY_MODE (__VA_ARGS__) \
    __builtin_memcpy (&found, &v, sizeof (T)); \
  }
#define GOMPY_WRITE_AS(bits_type, ...) \
  { \
    bits_type v = {}; \
    __builtin_memcpy (&v, &value, sizeof (T)); \
    GOMPY_BY_MODE (__VA_ARGS__) \
  }
#define GOMPY_SURFACE(name, geometry, parameters, place, ...) \
  template <class T> GOMPY_DEVICE T name##read parameters \
  { \
    static_assert (sizeof (T) == 1 || sizeof (T) == 2 || sizeof (T) == 4 || sizeof (T) == 8 || sizeof (T) == 16, ""); \
    T found; \
    if (sizeof (T) == 1) \
      GOMPY_READ_AS (unsigned short, GOMPY_SULD, geometry, "b8", "h", place, __VA_ARGS__) \
    else if (sizeof (T) == 2) \
      GOMPY_READ_AS (unsigned short, GOMPY_SULD, geometry, "b16", "h", place, __VA_ARGS__) \
    else if (sizeof (T) == 4) \
      GOMPY_READ_AS (unsigned, GOMPY_SULD, geometry, "b32", "r", place, __VA_ARGS__) \
    else if (sizeof (T) == 8) \
      GOMPY_READ_AS (unsigned long long, GOMPY_SULD, geometry, "b64", "l", place, __VA_ARGS__) \
    else \
      GOMPY_READ_AS (ulonglong2, GOMPY_SULD_2, geometry, place, __VA_ARGS__) \
    return found; \
  }
#define GOMPY_SURFACE_WRITE(name, geometry, parameters, place, ...) \
  template <class T> GOMPY_DEVICE void name##write parameters \
  { \
    static_assert (sizeof (T) == 1 || sizeof (T) == 2 || sizeof (T) == 4 || sizeof (T) == 8 || sizeof (T) == 16, ""); \
    if (sizeof (T) == 1) \
      GOMPY_WRITE_AS (unsigned short, GOMPY_SUST, geometry, "b8", "h", place, __VA_ARGS__) \
    else if (sizeof (T) == 2) \
      GOMPY_WRITE_AS (unsigned short, GOMPY_SUST, geometry, "b16", "h", place, __VA_ARGS__) \
    else if (sizeof (T) == 4) \
      GOMPY_WRITE_AS (unsigned, GOMPY_SUST, geometry, "b32", "r", place, __VA_ARGS__) \
    else if (sizeof (T) == 8) \
      GOMPY_WRITE_AS (unsigned long long, GOMPY_SUST, geometry, "b64", "l", place, __VA_ARGS__) \
    else \
      GOMPY_WRITE_AS (ulonglong2, GOMPY_SUST_2, geometry, place, __VA_ARGS__) \
  }

#define GOMPY_MODE cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap
GOMPY_SURFACE (surf1D, "1d", (cudaSurfaceObject_t s, int x, GOMPY_MODE), "{%[x]}", [x] "r" (x))
GOMPY_SURFACE (surf2D, "2d", (cudaSurfaceObject_t s, int x, int y, GOMPY_MODE), "{%[x], %[y]}", [x] "r" (x),
               [y] "r" (y))
GOMPY_SURFACE (surf3D, "3d", (cudaSurfaceObject_t s, int x, int y, int z, GOMPY_MODE), "{%[x], %[y], %[z], %[z]}",
               [x] "r" (x), [y] "r" (y), [z] "r" (z))
GOMPY_SURFACE (surf1DLayered, "a1d", (cudaSurfaceObject_t s, int x, int layer, GOMPY_MODE), "{%[n], %[x]}",
               [x] "r" (x), [n] "r" (layer))
GOMPY_SURFACE (surf2DLayered, "a2d", (cudaSurfaceObject_t s, int x, int y, int layer, GOMPY_MODE),
               "{%[n], %[x], %[y], %[y]}", [x] "r" (x), [y] "r" (y), [n] "r" (layer))
GOMPY_SURFACE_WRITE (surf1D, "1d", (T value, cudaSurfaceObject_t s, int x, GOMPY_MODE), "{%[x]}", [x] "r" (x))
GOMPY_SURFACE_WRITE (surf2D, "2d", (T value, cudaSurfaceObject_t s, int x, int y, GOMPY_MODE), "{%[x], %[y]}",
                     [x] "r" (x), [y] "r" (y))
GOMPY_SURFACE_WRITE (surf3D, "3d", (T value, cudaSurfaceObject_t s, int x, int y, int z, GOMPY_MODE),
                     "{%[x], %[y], %[z], %[z]}", [x] "r" (x), [y] "r" (y), [z] "r" (z))
GOMPY_SURFACE_WRITE (surf1DLayered, "a1d", (T value, cudaSurfaceObject_t s, int x, int layer, GOMPY_MODE),
                     "{%[n], %[x]}", [x] "r" (x), [n] "r" (layer))
GOMPY_SURFACE_WRITE (surf2DLayered, "a2d", (T value, cudaSurfaceObject_t s, int x, int y, int layer, GOMPY_MODE),
                     "{%[n], %[x], %[y], %[y]}", [x] "r" (x), [y] "r" (y), [n] "r" (layer))
#undef GOMPY_SURFACE
#undef GOMPY_SURFACE_WRITE
#undef GOMPY_READ_AS
#undef GOMPY_WRITE_AS
#undef GOMPY_SULD
#undef GOMPY_SULD_2
#undef GOMPY_SUST
#undef GOMPY_SUST_2
#undef GOMPY_BY_MODE

/* A cube's faces are layers.  */
template <class T> GOMPY_DEVICE T surfCubemapread (cudaSurfaceObject_t s, int x, int y, int face, GOMPY_MODE)
{
  return surf2DLayeredread<T> (s, x, y, face, mode);
}
template <class T>
GOMPY_DEVICE void surfCubemapwrite (T value, cudaSurfaceObject_t s, int x, int y, int face, GOMPY_MODE)
{
  surf2DLayeredwrite (value, s, x, y, face, mode);
}

/* The same, to a pointer.  */
template <class T> GOMPY_DEVICE void surf1Dread (T *to, cudaSurfaceObject_t s, int x, GOMPY_MODE)
{
  *to = surf1Dread<T> (s, x, mode);
}
template <class T> GOMPY_DEVICE void surf2Dread (T *to, cudaSurfaceObject_t s, int x, int y, GOMPY_MODE)
{
  *to = surf2Dread<T> (s, x, y, mode);
}
template <class T> GOMPY_DEVICE void surf3Dread (T *to, cudaSurfaceObject_t s, int x, int y, int z, GOMPY_MODE)
{
  *to = surf3Dread<T> (s, x, y, z, mode);
}
/* --- References, which CUDA 12 has no more: clang makes the variable a .surfref.  --- */

template <class T, int dimensions = cudaSurfaceType1D> struct __attribute__ ((device_builtin_surface_type)) surface;
template <int dimensions>
struct __attribute__ ((device_builtin_surface_type)) surface<void, dimensions> : public surfaceReference {};

template <int dimensions>
GOMPY_DEVICE cudaSurfaceObject_t
gompy_surface_object (surface<void, dimensions> reference)
{
  cudaSurfaceObject_t s;
  asm ("mov.b64 %0, %1;" : "=l" (s) : "l" (reference));
  return s;
}

#define GOMPY_REFERENCE(name, dimensions, parameters, place) \
  template <class T> GOMPY_DEVICE T name##read (surface<void, dimensions> s, GOMPY_EACH parameters, GOMPY_MODE) \
  { \
    return name##read<T> (gompy_surface_object (s), GOMPY_EACH place, mode); \
  } \
  template <class T> \
  GOMPY_DEVICE void name##read (T *to, surface<void, dimensions> s, GOMPY_EACH parameters, GOMPY_MODE) \
  { \
    *to = name##read<T> (gompy_surface_object (s), GOMPY_EACH place, mode); \
  } \
  template <class T> \
  GOMPY_DEVICE void name##write (T value, surface<void, dimensions> s, GOMPY_EACH parameters, GOMPY_MODE) \
  { \
    name##write (value, gompy_surface_object (s), GOMPY_EACH place, mode); \
  }
#define GOMPY_EACH(...) __VA_ARGS__
GOMPY_REFERENCE (surf1D, cudaSurfaceType1D, (int x), (x))
GOMPY_REFERENCE (surf2D, cudaSurfaceType2D, (int x, int y), (x, y))
GOMPY_REFERENCE (surf3D, cudaSurfaceType3D, (int x, int y, int z), (x, y, z))
#undef GOMPY_EACH
#undef GOMPY_REFERENCE
#undef GOMPY_MODE

template <int dimensions>
static inline cudaError_t
cudaBindSurfaceToArray (const surface<void, dimensions> &s, cudaArray_const_t array,
                        const cudaChannelFormatDesc &format)
{
  return ::cudaBindSurfaceToArray (&s, array, &format);
}

template <int dimensions>
static inline cudaError_t
cudaBindSurfaceToArray (const surface<void, dimensions> &s, cudaArray_const_t array)
{
  cudaChannelFormatDesc format;
  cudaError_t result = cudaGetChannelDesc (&format, array);
  return result == cudaSuccess ? ::cudaBindSurfaceToArray (&s, array, &format) : result;
}

#endif

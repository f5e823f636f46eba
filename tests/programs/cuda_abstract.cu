// Classes with pure and deleted virtual functions on the device; with an argument, one is called that is pure.
#include <cstdio>
#include <cuda_runtime.h>
#include <new>

struct Shape
{
  __device__ Shape () {}
  __device__ virtual ~Shape () {}
  __device__ virtual int area () const = 0;
  __device__ virtual void scale () = delete;
};

struct Square : Shape
{
  int side;
  __device__ explicit Square (int n) : side (n) {}
  __device__ int area () const override { return side * side; }
  __device__ void scale () override = delete;
};

struct Line : Shape
{
  int length;
  __device__ explicit Line (int n) : length (n) {}
  __device__ int area () const override { return 0; }
  __device__ void scale () override = delete;
};

__device__ __noinline__ int
area_of (const Shape *shape)
{
  return shape->area ();
}

__global__ void
areas (int *out, int n)
{
  Shape *shape = n % 2 != 0 ? static_cast<Shape *> (new Square (n)) : new Line (n);
  *out = area_of (shape);
  delete shape;
}

/* The constructor of the base calls what only the derived class has.  */
struct Early
{
  __device__ explicit Early (int *out) { call (out); }
  __device__ __noinline__ void call (int *out) { *out = value (); }
  __device__ virtual int value () = 0;
};

struct Late : Early
{
  __device__ explicit Late (int *out) : Early (out) {}
  __device__ int value () override { return 1; }
};

__global__ void
too_early (int *out)
{
  Late late (out);
  *out = late.value ();
}

int
main (int count, char **)
{
  int *at, odd = 0, even = 0;
  cudaMalloc (&at, sizeof *at);
  if (count > 1)
    {
      too_early<<<1, 1>>> (at);
      puts (cudaGetErrorName (cudaDeviceSynchronize ()));
      return 0;
    }
  areas<<<1, 1>>> (at, 7);
  cudaMemcpy (&odd, at, sizeof odd, cudaMemcpyDeviceToHost);
  areas<<<1, 1>>> (at, 8);
  cudaMemcpy (&even, at, sizeof even, cudaMemcpyDeviceToHost);
  printf ("%d %d\n", odd, even);
}

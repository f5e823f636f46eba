#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>
#define CHECK(call)                                                                                                  \
  do                                                                                                                 \
    {                                                                                                                \
      cudaError_t e_ = (call);                                                                                       \
      if (e_ != cudaSuccess)                                                                                         \
        {                                                                                                            \
          std::printf ("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString (e_));                       \
          std::exit (1);                                                                                             \
        }                                                                                                            \
    }                                                                                                                \
  while (0)
#define SAME(a, b)                                                                                                   \
  do                                                                                                                 \
    {                                                                                                                \
      auto a_ = (a);                                                                                                 \
      auto b_ = (b);                                                                                                 \
      if (!(a_ == b_))                                                                                               \
        {                                                                                                            \
          std::printf ("%s:%d: %s differs from %s: %g, %g\n", __FILE__, __LINE__, #a, #b, (double)a_, (double)b_);   \
          std::exit (1);                                                                                             \
        }                                                                                                            \
    }                                                                                                                \
  while (0)

/* What the examples share: a call that fails ends the program with its name.  */
#include <cstdio>
#include <cstdlib>

#define CHECK(call) check (call, #call, __LINE__)

static inline void
check (cudaError_t error, const char *call, int line)
{
  if (error == cudaSuccess)
    return;
  std::fprintf (stderr, "line %d: %s: %s\n", line, call, cudaGetErrorString (error));
  std::exit (1);
}

/* clang's __clang_cuda_intrinsics.h includes this name for what CUDA adds to it.  */
#include "../gompy_match.h"

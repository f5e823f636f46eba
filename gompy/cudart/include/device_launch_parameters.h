/* threadIdx and its like are there without this file, which programs include.  */
#include "cuda_runtime.h"

/* NVTX by its name of version 2.  */
#include "nvtx3/nvToolsExt.h"

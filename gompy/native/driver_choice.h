/* Which CUDA driver is used (GOMPY_CUDA), and where the emulated one lies: nvptx plugin and libcudart choose alike.  */
#ifndef GOMPY_NATIVE_DRIVER_CHOICE_H
#define GOMPY_NATIVE_DRIVER_CHOICE_H

#include "gompy/native/environment.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum gompy_driver_choice
{
  GOMPY_DRIVER_AUTO,
  GOMPY_DRIVER_REAL,
  GOMPY_DRIVER_EMULATED,
  GOMPY_DRIVER_UNKNOWN /* none of these words */
};

/* What GOMPY_CUDA says.  */
static inline int
gompy_driver_choice (void)
{
  const char *word = secure_getenv ("GOMPY_CUDA");
  if (!word || !*word || !strcmp (word, "auto"))
    return GOMPY_DRIVER_AUTO;
  if (!strcmp (word, "real"))
    return GOMPY_DRIVER_REAL;
  return strcmp (word, "emulated") ? GOMPY_DRIVER_UNKNOWN : GOMPY_DRIVER_EMULATED;
}

/* Where the emulated driver lies: in a folder of its own beside that of the library which has this code.  0 if it is
   not there; PATH says then where it should be.  */
static inline int
gompy_emulated_driver (char *path, size_t size)
{
  Dl_info info;
  const char *slash = NULL;
  if (dladdr ((const void *) &gompy_emulated_driver, &info) && info.dli_fname)
    slash = strrchr (info.dli_fname, '/');
  if (!slash)
    {
      snprintf (path, size, "cuda/libcuda.so.1 of gompy's");
      return 0;
    }
  snprintf (path, size, "%.*s/../cuda/libcuda.so.1", (int) (slash - info.dli_fname), info.dli_fname);
  return access (path, F_OK) == 0;
}

#endif

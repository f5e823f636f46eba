/* Where the package `gompy` is that this library is a file of: its tools lie there, wherever it was moved to.  */
#ifndef GOMPY_NATIVE_PACKAGE_ROOT_H
#define GOMPY_NATIVE_PACKAGE_ROOT_H

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The folder that has the package, into ROOT, PATH_MAX bytes; 0 if the library lies in none.  */
static inline int
gompy_package_root (char *root)
{
  Dl_info info;
  char *tail;
  if (!dladdr ((void *) gompy_package_root, &info) || !info.dli_fname || !realpath (info.dli_fname, root)
      || (tail = strstr (root, "/gompy/_native/")) == NULL)
    return 0;
  *tail = 0;
  return 1;
}

#endif

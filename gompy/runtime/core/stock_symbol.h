/* What stands behind a function of libgompy's.  */
#ifndef GOMPY_STOCK_SYMBOL_H
#define GOMPY_STOCK_SYMBOL_H

#include <dlfcn.h>

/* The stock libgomp's function of a name that libgompy has too, or NULL.  */
static void *
gompy_stock_symbol (const char *name)
{
  void *fn = dlsym (RTLD_NEXT, name), *handle;
  if (fn == NULL && (handle = dlopen ("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD)) != NULL)
    fn = dlsym (handle, name);
  return fn;
}

#endif

/* Which file has an address: cheaper than dladdr, which looks through all of the file's symbols for the nearest.
   Included once, by places.pxi.  */
#ifndef GOMPY_CUDA_PLACES_H
#define GOMPY_CUDA_PLACES_H

#include <dlfcn.h>
#include <link.h>
#include <string.h>

/* A path without its folder.  */
static const char *
gompy_leaf (const char *path)
{
  const char *leaf = strrchr (path, '/');
  return leaf != NULL ? leaf + 1 : path;
}

/* The name of the file that has an address, without its folder; "" if there is none, or it is the program's own.  */
static const char *
gompy_file_with (const void *address)
{
  const char *name = "";
#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35; looked up, as a library for older ones needs no newer version's symbol */
  static int (*find) (void *, struct dl_find_object *);
  static int looked;
  struct dl_find_object found;
  if (!__atomic_load_n (&looked, __ATOMIC_ACQUIRE))
    {
      __atomic_store_n (&find, dlsym (RTLD_DEFAULT, "_dl_find_object"), __ATOMIC_RELAXED);
      __atomic_store_n (&looked, 1, __ATOMIC_RELEASE);
    }
  if (find != NULL)
    {
      if (find ((void *) address, &found) == 0)
	name = found.dlfo_link_map->l_name;
    }
  else
#endif
    {
      Dl_info info;
      if (dladdr (address, &info) != 0 && info.dli_fname != NULL)
	name = info.dli_fname;
    }
  return gompy_leaf (name);
}

#endif

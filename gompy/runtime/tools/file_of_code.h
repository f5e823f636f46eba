/* The file that code is of, for who reads its DWARF later.  */
#ifndef GOMPY_TOOLS_FILE_OF_CODE_H
#define GOMPY_TOOLS_FILE_OF_CODE_H

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Its whole path, PATH_MAX bytes, and what the address is there.  The loader knows a library by the word that it was
   asked for with, which may begin in the folder of then; and the program by none.  0: not known.  */
static int
gompy_file_of_code (const void *at, char *path, uintptr_t *there)
{
  struct link_map *map = NULL;
  Dl_info info;
  ssize_t length;
  if (at == NULL || dladdr1 (at, &info, (void **) &map, RTLD_DL_LINKMAP) == 0 || map == NULL)
    return 0;
  *there = (uintptr_t) at - map->l_addr;
  if (map->l_name[0] == '/')
    return snprintf (path, PATH_MAX, "%s", map->l_name) < PATH_MAX;
  if (map->l_name[0] != 0)
    return realpath (map->l_name, path) != NULL;
  length = readlink ("/proc/self/exe", path, PATH_MAX - 1);
  path[length > 0 ? length : 0] = 0;
  return length > 0;
}

#endif

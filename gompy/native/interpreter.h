/* The Python that this installation runs by, found at run time: the library may have been built elsewhere, by another
   one.  The shell scripts of setup.py (PYTHON_TOOL) look in the same places, in the same order.  */
#ifndef GOMPY_NATIVE_INTERPRETER_H
#define GOMPY_NATIVE_INTERPRETER_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <patchlevel.h>

#include "descriptors.h"

#define GOMPY_TEXT_OF(number) #number
#define GOMPY_TEXT(number) GOMPY_TEXT_OF (number)
/* The name under which every installation of this release has it: compiled modules are for one release.  */
#define GOMPY_PYTHON_NAME "python" GOMPY_TEXT (PY_MAJOR_VERSION) "." GOMPY_TEXT (PY_MINOR_VERSION)

/* Put the path of the Python for the package in the folder `root` into `path`, or, where none lies beside it, the name
   to look for in PATH.  In a source tree it is the one that built it (gompy/_native/python has its path), in an
   installation the one of <prefix>/lib/python3.x/site-packages.  Nonzero if it is a path.  */
static inline int
gompy_python_of (const char *root, char *path, size_t size)
{
  char *last;
  int record;
  record = snprintf (path, size, "%s/gompy/_native/python", root) < (int) size ? gompy_open (path, O_RDONLY, 0) : -1;
  if (record >= 0)
    {
      ssize_t length = read (record, path, size - 1);
      close (record);
      path[length < 0 ? 0 : length] = 0;
      path[strcspn (path, "\n")] = 0;
      if (path[0] == '/' && access (path, X_OK) == 0)
        return 1;
    }
  last = strrchr (root, '/');
  if (last != NULL && (strcmp (last, "/site-packages") == 0 || strcmp (last, "/dist-packages") == 0)
      && snprintf (path, size, "%.*s", (int) (last - root), root) < (int) size)
    for (int up = 0; up < 2 && (last = strrchr (path, '/')) != NULL; up++)  /* from <prefix>/lib/python3.x */
      {
        last[0] = 0;
        if (up == 1 && (size_t) (last - path) + sizeof "/bin/" GOMPY_PYTHON_NAME <= size)
          {
            strcpy (last, "/bin/" GOMPY_PYTHON_NAME);
            if (access (path, X_OK) == 0)
              return 1;
          }
      }
  snprintf (path, size, "%s", GOMPY_PYTHON_NAME);
  return 0;
}

#endif

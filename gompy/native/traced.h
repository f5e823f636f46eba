/* Whether a debugger has the process: faults and single steps are its business then.  */
#ifndef GOMPY_TRACED_H
#define GOMPY_TRACED_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "gompy/native/descriptors.h"

/* proc(5), status: TracerPid.  Without /proc: no.  */
static inline int
gompy_is_traced (void)
{
  char text[4096];
  const char *line;
  ssize_t n;
  int fd = gompy_open ("/proc/self/status", O_RDONLY, 0);
  if (fd < 0)
    return 0;
  n = read (fd, text, sizeof text - 1);
  close (fd);
  text[n > 0 ? n : 0] = 0;
  line = strstr (text, "\nTracerPid:");
  return line != NULL && atoi (line + strlen ("\nTracerPid:")) != 0;
}

#endif

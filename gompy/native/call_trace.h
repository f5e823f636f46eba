/* A line for each call of a library's functions (GOMPY_CUDA_TRACE): libcuda.so.1 and libnvidia-ml.so.1 tell alike.

   All parameters are integers and pointers, so each is passed on as a word: the calling conventions of x86-64 and
   AArch64 give every one of them a register or eight bytes of the stack.  */
#ifndef GOMPY_NATIVE_CALL_TRACE_H
#define GOMPY_NATIVE_CALL_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gompy/native/descriptors.h"
#include "gompy/native/environment.h"

typedef uint64_t call_word;

/* Where GOMPY_CUDA_TRACE's lines go; NULL: nowhere.  LIBRARY is told when it cannot be opened.  */
static inline FILE *open_call_trace (const char *library)
{
  const char *text = secure_getenv ("GOMPY_CUDA_TRACE");
  FILE *to = NULL;
  int fd;
  if (text == NULL || *text == 0 || strcmp (text, "0") == 0)
    return NULL;
  if (strcmp (text, "1") == 0)
    to = stderr;
  else if ((fd = gompy_open_to_append (text)) >= 0)
    to = fdopen (fd, "a");
  if (to == NULL)
    fprintf (stderr, "%s (gompy): error: GOMPY_CUDA_TRACE='%s': %m: calls are not traced\n", library, text);
  return to;
}

/* One parameter, as NAME=VALUE; one that is answered as NAME->VALUE, if there is an answer.  Returns the number of
   characters.  */
static inline int tell_call_word (char *to, size_t room, const char *name, int length, char kind, call_word word,
                                  int failed)
{
  if ((kind == 'o' || kind == 'n') && (word == 0 || failed))
    kind = 'p';
  switch (kind)
    {
    case 'i':
      return snprintf (to, room, "%.*s=%d", length, name, (int) word);
    case 'u':
      return snprintf (to, room, "%.*s=%u", length, name, (unsigned) word);
    case 's':
      return snprintf (to, room, "%.*s=%llu", length, name, (unsigned long long) word);
    case 't':
      return snprintf (to, room, word ? "%.*s=\"%.80s\"" : "%.*s=%s", length, name,
                       word ? (const char *) word : "NULL");
    case 'n':
      return snprintf (to, room, "%.*s->%d", length, name, *(int *) word);
    case 'o':
      return snprintf (to, room, "%.*s->0x%llx", length, name, *(unsigned long long *) word);
    default:
      return snprintf (to, room, "%.*s=0x%llx", length, name, (unsigned long long) word);
    }
}

/* A line: PARAMETERS are NAME:KIND, each with a comma; RESULT in words, or NULL.  */
static inline void tell_call (FILE *to, const char *library, const char *name, const char *parameters,
                              const call_word *words, int failed, const char *result)
{
  char line[2048];
  int used = snprintf (line, sizeof line, "%s(", name);
  while (*parameters)
    {
      const char *colon = strchr (parameters, ':');
      used += tell_call_word (line + used, sizeof line - used, parameters, (int) (colon - parameters), colon[1],
                              *words++, failed);
      parameters = colon + 2; /* a comma */
      if (*++parameters)
        {
          used += snprintf (line + used, sizeof line - used, ", ");
        }
    }
  fprintf (to, "%s (gompy): %s) = %s\n", library, line, result ? result : "?");
  fflush (to);
}

#endif

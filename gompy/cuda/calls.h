/* The exported functions of libcuda.so.1: what comes before and after each, and the way to them by name.

   All parameters are integers and pointers, so each is passed on as a word: the calling conventions of x86-64 and
   AArch64 give every one of them a register or eight bytes of the stack.  */
#ifndef GOMPY_CUDA_CALLS_H
#define GOMPY_CUDA_CALLS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gompy/native/cuda.h"
#include "gompy/native/descriptors.h"

typedef uint64_t cuda_word;

struct cuda_form
{
  const char *name; /* without _v2 */
  int since;        /* 11020: CUDA 11.2 */
  void *call, *own; /* and the form for the thread's own default stream, or NULL */
};

/* Whether this thread is in a call of the form for its own default stream. */
__thread int own_stream_calls;

/* Where GOMPY_CUDA_TRACE's lines go. */
static FILE *cuda_tracing;

__attribute__ ((constructor)) static void open_cuda_trace (void)
{
  const char *text = secure_getenv ("GOMPY_CUDA_TRACE");
  int fd;
  if (text == NULL || *text == 0 || strcmp (text, "0") == 0)
    return;
  if (strcmp (text, "1") == 0)
    cuda_tracing = stderr;
  else if ((fd = gompy_open_to_append (text)) >= 0)
    cuda_tracing = fdopen (fd, "a");
  if (cuda_tracing == NULL)
    fprintf (stderr, "libcuda (gompy): error: GOMPY_CUDA_TRACE='%s': %m: calls are not traced\n", text);
}

/* One parameter, as NAME=VALUE; one that is answered as NAME->VALUE, if there is an answer.  Returns the number of
   characters.  */
static int tell_cuda_word (char *to, size_t room, const char *name, int length, char kind, cuda_word word, int result)
{
  if ((kind == 'o' || kind == 'n') && (word == 0 || result != CUDA_SUCCESS))
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

/* A line of GOMPY_CUDA_TRACE: PARAMETERS are NAME:KIND, each with a comma.  */
static void tell_cuda_call (const char *name, const char *parameters, const cuda_word *words, int result)
{
  char line[2048];
  const char *text = cuda_error_name (result);
  int used = snprintf (line, sizeof line, "%s(", name);
  while (*parameters)
    {
      const char *colon = strchr (parameters, ':');
      used += tell_cuda_word (line + used, sizeof line - used, parameters, (int) (colon - parameters), colon[1],
                              *words++, result);
      parameters = colon + 2; /* a comma */
      if (*++parameters)
        {
          used += snprintf (line + used, sizeof line - used, ", ");
        }
    }
  fprintf (cuda_tracing, "libcuda (gompy): %s) = %s\n", line, text ? text : "?");
  fflush (cuda_tracing);
}

/* A call of what is not there: a line for each name, once.  */
static int lacking_cuda_call (const char *name)
{
  static const char *told[512];
  for (size_t i = 0; i < sizeof told / sizeof *told; i++)
    {
      const char *before = NULL;
      if (__atomic_compare_exchange_n (&told[i], &before, name, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        {
          fprintf (stderr, "libcuda (gompy): error: %s is not implemented\n", name);
          break;
        }
      if (before == name)
        break;
    }
  if (cuda_tracing)
    tell_cuda_call (name, "", NULL, CUDA_ERROR_NOT_SUPPORTED);
  return CUDA_ERROR_NOT_SUPPORTED;
}

#include "gompy/native/cuda_calls.h"

/* The newest form of a name that a version of the interface has; OWN: for the thread's own default stream.  STATUS:
   CUdriverProcAddressQueryResult: 0 found, 1 not found, 2 only in later versions.  */
void *find_cuda_call (const char *name, int version, int own, int *status)
{
  void *found = NULL;
  *status = 1;
  for (size_t i = 0; i < sizeof cuda_forms / sizeof *cuda_forms; i++)
    if (strcmp (cuda_forms[i].name, name) == 0)
      {
        if (cuda_forms[i].since > version)
          {
            *status = found ? 0 : 2;
            break;
          }
        found = own && cuda_forms[i].own ? cuda_forms[i].own : cuda_forms[i].call;
        *status = 0;
      }
  return found;
}

#endif

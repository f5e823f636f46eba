/* The exported functions of libcuda.so.1: what comes before and after each, and the way to them by name.  */
#ifndef GOMPY_CUDA_CALLS_H
#define GOMPY_CUDA_CALLS_H

#include "gompy/native/call_trace.h"
#include "gompy/native/cuda.h"

typedef call_word cuda_word;
typedef struct { char bytes[64]; } cuda_handle;

struct cuda_form
{
  const char *name; /* without _v2 */
  int since;        /* 11020: CUDA 11.2 */
  void *call, *own; /* and the form for the thread's own default stream, or NULL */
};

/* Whether this thread is in a call of the form for its own default stream. */
__thread int own_stream_calls;

/* Where GOMPY_CUDA_TRACE's lines go.  */
static FILE *cuda_tracing;

__attribute__ ((constructor)) static void open_cuda_trace (void) { cuda_tracing = open_call_trace ("libcuda"); }

/* A line of GOMPY_CUDA_TRACE: PARAMETERS are NAME:KIND, each with a comma.  */
static void tell_cuda_call (const char *name, const char *parameters, const cuda_word *words, int result)
{
  tell_call (cuda_tracing, "libcuda", name, parameters, words, result != CUDA_SUCCESS, cuda_error_name (result));
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

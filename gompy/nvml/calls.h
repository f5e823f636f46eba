/* The exported functions of libnvidia-ml.so.1: arguments are checked and calls told here.  */
#ifndef GOMPY_NVML_CALLS_H
#define GOMPY_NVML_CALLS_H

#include "gompy/native/call_trace.h"
#include "gompy/native/nvml.h"

extern int nvml_started (void);
extern int nvml_device_or_error (call_word device);

/* Where GOMPY_CUDA_TRACE's lines go.  */
static FILE *nvml_tracing;

__attribute__ ((constructor)) static void open_nvml_trace (void) { nvml_tracing = open_call_trace ("libnvidia-ml"); }

static void tell_nvml_call (const char *name, const char *parameters, const call_word *words, int result)
{
  tell_call (nvml_tracing, "libnvidia-ml", name, parameters, words, result != NVML_SUCCESS, nvml_result_name (result));
}

/* nvmlErrorString: a text for every number.  */
static const char *nvml_words (int result)
{
  const char *text = nvml_result_text (result);
  return text ? text : "Unknown Error";
}

/* A call about what an emulated GPU has not.  */
static int lacking_nvml (const char *name)
{
  int r = nvml_started ();
  if (r == NVML_SUCCESS)
    r = NVML_ERROR_NOT_SUPPORTED;
  if (nvml_tracing)
    tell_nvml_call (name, "", NULL, r);
  return r;
}

#include "gompy/native/nvml_calls.h"

#endif

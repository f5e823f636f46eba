/* device.h by OpenCL: the first device of type CPU.  */
#define CL_TARGET_OPENCL_VERSION 120
#include "device.h"
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static cl_context context;
static cl_command_queue queue;
static cl_program program;

static void
check (cl_int status, const char *what)
{
  if (status == CL_SUCCESS)
    return;
  fprintf (stderr, "%s: OpenCL error %d\n", what, (int) status);
  exit (1);
}

void
device_begin (const char *source)
{
  cl_platform_id platforms[8];
  cl_uint count = 0;
  cl_device_id device = NULL;
  cl_int status;
  check (clGetPlatformIDs (8, platforms, &count), "platforms");
  for (cl_uint i = 0; i < count && !device; i++)
    clGetDeviceIDs (platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL);
  if (!device)
    check (CL_DEVICE_NOT_FOUND, "a device of type CPU");
  context = clCreateContext (NULL, 1, &device, NULL, NULL, &status);
  check (status, "context");
  queue = clCreateCommandQueue (context, device, 0, &status);
  check (status, "queue");
  static char text[1 << 16];
  FILE *file = fopen (source, "r");
  if (!file)
    check (CL_INVALID_PROGRAM, source);
  size_t size = fread (text, 1, sizeof text, file);
  fclose (file);
  const char *lines = text;
  program = clCreateProgramWithSource (context, 1, &lines, &size, &status);
  check (status, "program");
  check (clBuildProgram (program, 1, &device, "", NULL, NULL), "build");
}

void *
device_new (size_t size, const void *from)
{
  cl_int status;
  cl_mem memory = clCreateBuffer (context, CL_MEM_COPY_HOST_PTR, size, (void *) from, &status);
  check (status, "memory");
  return memory;
}

void
device_read (void *to, void *from, size_t size)
{
  check (clEnqueueReadBuffer (queue, from, CL_TRUE, 0, size, to, 0, NULL, NULL), "read");
}

void
device_write (void *to, const void *from, size_t size)
{
  check (clEnqueueWriteBuffer (queue, to, CL_TRUE, 0, size, from, 0, NULL, NULL), "write");
}

void
device_free (void *memory)
{
  clReleaseMemObject (memory);
}

int
device_launch (const char *name, int gx, int gy, int bx, int by, int count, const struct argument *arguments)
{
  cl_int status;
  cl_kernel kernel = clCreateKernel (program, name, &status);
  if (status == CL_INVALID_KERNEL_NAME)
    return 0;
  check (status, name);
  for (int i = 0; i < count; i++)
    if (arguments[i].size)
      check (clSetKernelArg (kernel, i, arguments[i].size, arguments[i].place), name);
    else
      check (clSetKernelArg (kernel, i, sizeof (cl_mem), &arguments[i].place), name);
  size_t global[2] = { (size_t) gx * bx, (size_t) gy * by }, local[2] = { bx, by };
  check (clEnqueueNDRangeKernel (queue, kernel, 2, NULL, global, local, 0, NULL, NULL), name);
  clReleaseKernel (kernel);
  return 1;
}

void
device_wait (void)
{
  check (clFinish (queue), "finish");
}

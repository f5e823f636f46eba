/* What libomp has for libomptarget from LLVM 17 on, with a tool that has all callbacks: libomp has answered it that those
   of maps are never called.  To be preloaded.  */
#include <omp-tools.h>
#include <stdio.h>
#include <string.h>

static ompt_start_tool_result_t *library;
static ompt_data_t task, target_task;

static void
on_map (ompt_data_t *target, unsigned items, void **host, void **device, size_t *bytes, unsigned *flags, const void *ra)
{
  printf ("map\n");
}

static void
on_target (ompt_target_t kind, ompt_scope_endpoint_t endpoint, int device, ompt_data_t *where, ompt_data_t *own,
           ompt_data_t *data, const void *ra)
{
  printf ("target %d, task %s, target task %s\n", kind, where == &task ? "libomp's" : "another",
          own == &target_task ? "libomp's" : "another");
}

static int
get_callback (ompt_callbacks_t which, ompt_callback_t *callback)
{
  *callback = which == ompt_callback_target_map_emi ? (ompt_callback_t) on_map
              : which == ompt_callback_target_emi   ? (ompt_callback_t) on_target
                                                    : NULL;
  return *callback != NULL;
}

static ompt_data_t *
get_task_data (void)
{
  return &task;
}

static ompt_data_t *
get_target_task_data (void)
{
  return &target_task;
}

static ompt_interface_fn_t
lookup (const char *name)
{
  return strcmp (name, "ompt_get_callback") == 0           ? (ompt_interface_fn_t) get_callback
         : strcmp (name, "ompt_get_task_data") == 0        ? (ompt_interface_fn_t) get_task_data
         : strcmp (name, "ompt_get_target_task_data") == 0 ? (ompt_interface_fn_t) get_target_task_data
                                                           : NULL;
}

void
ompt_libomp_connect (ompt_start_tool_result_t *result)
{
  library = result;
  result->initialize (lookup, 0, NULL);
}

/* A program with a tool of its own: the routines' operations with where they were called, and a construct's target task,
   which tools written for LLVM's runtime read without a look whether there is one.  */
#include <omp-tools.h>
#include <omp.h>
#include <stdio.h>

static int device_of_program;

static void
on_data_op (ompt_scope_endpoint_t endpoint, ompt_data_t *task, ompt_data_t *target, ompt_id_t *id,
            ompt_target_data_op_t op, void *src, int src_device, void *dest, int dest_device, size_t bytes,
            const void *ra)
{
  if (endpoint != ompt_scope_end)
    printf ("operation %d, %s -> %s, code %s, target task %s\n", op,
            src_device == device_of_program ? "device" : "host", dest_device == device_of_program ? "device" : "host",
            ra ? "known" : "unknown", task ? "known" : "none");
}

static void
on_target (ompt_target_t kind, ompt_scope_endpoint_t endpoint, int device, ompt_data_t *task, ompt_data_t *target_task,
           ompt_data_t *data, const void *ra)
{
  printf ("target %s, target task %lu\n", endpoint == ompt_scope_begin ? "begin" : "end", target_task->value);
  target_task->value = 7;
}

static int
initialize (ompt_function_lookup_t lookup, int initial, ompt_data_t *data)
{
  ompt_set_callback_t set = (ompt_set_callback_t) lookup ("ompt_set_callback");
  set (ompt_callback_target_data_op_emi, (ompt_callback_t) on_data_op);
  set (ompt_callback_target_emi, (ompt_callback_t) on_target);
  return 1;
}

static void
finalize (ompt_data_t *data)
{
}

ompt_start_tool_result_t *
ompt_start_tool (unsigned version, const char *runtime)
{
  static ompt_start_tool_result_t result = { initialize, finalize, { 0 } };
  return &result;
}

int
main (void)
{
  int host[2] = { 1, 2 }, here = omp_get_initial_device ();
  void *p = omp_target_alloc (sizeof host, 0);
  omp_target_memcpy (p, host, sizeof host, 0, 0, 0, here);
  omp_target_memcpy (p, p, 4, 4, 0, 0, 0);
  omp_target_memcpy (host, p, sizeof host, 0, 0, here, 0);
  omp_target_associate_ptr (host, p, sizeof host, 0, 0);
  omp_target_disassociate_ptr (host, 0);
  omp_target_free (p, 0);
#pragma omp target enter data map(to: host)
#pragma omp target exit data map(release: host)
  printf ("%d %d\n", host[0], host[1]);
}

/* A tool of OMPT, compiled against LLVM's omp-tools.h: prints each event of the target part.  In a program, or a library
   for OMP_TOOL_LIBRARIES.  OMPT_TRY: what it tries besides.  */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp-tools.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ompt_set_callback_t set_callback;
static ompt_get_target_info_t get_target_info;
static ompt_get_num_devices_t get_num_devices;
static ompt_function_lookup_t runtime;
static uint64_t targets, operations;
static const char *try_what = "";

/* Lines of a program's source: what codeptr_ra leads to is resolved by the test.  */
static const char *
code (const void *ra)
{
  static char text[32];
  Dl_info where;
  if (ra == NULL || !dladdr (ra, &where))
    return "-";
  snprintf (text, sizeof text, "%#lx", (unsigned long) ((const char *) ra - (const char *) where.dli_fbase));
  return text;
}

static const char *
endpoint_word (int endpoint)
{
  return endpoint == ompt_scope_begin ? "begin" : "end";
}

static const char *
target_word (int kind)
{
  static const char *const names[] = { [1] = "target", "enter_data", "exit_data", "update", [9] = "target_nowait" };
  return names[kind];
}

static void
on_target_emi (ompt_target_t kind, ompt_scope_endpoint_t endpoint, int device, ompt_data_t *task, ompt_data_t *target_task,
               ompt_data_t *data, const void *ra)
{
  uint64_t number = 99, id = 0, op = 0;
  if (endpoint == ompt_scope_begin)
    data->value = ++targets;
  if (get_target_info && (!get_target_info (&number, &id, &op) || id == 0 || number != (uint64_t) device))
    printf ("ompt_get_target_info: %lu %lu\n", number, id);
  printf ("target %s %s device %d, number %lu, task %s, at %s\n", target_word (kind), endpoint_word (endpoint), device,
          data->value, task ? "known" : "unknown", code (ra));
}

static void
on_target (ompt_target_t kind, ompt_scope_endpoint_t endpoint, int device, ompt_data_t *task, ompt_id_t id, const void *ra)
{
  printf ("target (old) %s %s device %d, id %s\n", target_word (kind), endpoint_word (endpoint), device, id ? "yes" : "no");
}

static const char *
operation_word (int op)
{
  static const char *const names[] = { "?", "alloc", "to_device", "from_device", "delete", "associate", "disassociate" };
  return names[op];
}

static void
on_data_op_emi (ompt_scope_endpoint_t endpoint, ompt_data_t *task, ompt_data_t *target, ompt_id_t *id,
                ompt_target_data_op_t op, void *src, int src_device, void *dest, int dest_device, size_t bytes,
                const void *ra)
{
  if (endpoint == ompt_scope_begin)
    *id = ++operations;
  printf ("data_op %s %s %d -> %d, %zu bytes, number %lu of target %lu%s%s\n", operation_word (op),
          endpoint_word (endpoint), src_device, dest_device, bytes, *id, target ? target->value : 0, src ? "" : ", no source",
          dest ? "" : ", no destination");
}

static void
on_data_op (ompt_id_t target, ompt_id_t id, ompt_target_data_op_t op, void *src, int src_device, void *dest,
            int dest_device, size_t bytes, const void *ra)
{
  printf ("data_op (old) %s %d -> %d, %zu bytes\n", operation_word (op), src_device, dest_device, bytes);
}

static void
on_submit_emi (ompt_scope_endpoint_t endpoint, ompt_data_t *target, ompt_id_t *id, unsigned teams)
{
  if (endpoint == ompt_scope_begin)
    *id = ++operations;
  printf ("submit %s number %lu of target %lu, teams %u\n", endpoint_word (endpoint), *id, target->value, teams);
}

static void
on_submit (ompt_id_t target, ompt_id_t id, unsigned teams)
{
  printf ("submit (old) teams %u\n", teams);
}

static void
on_map_emi (ompt_data_t *target, unsigned items, void **host, void **device, size_t *bytes, unsigned *flags,
            const void *ra)
{
  for (unsigned i = 0; i < items; i++)
    printf ("map %zu bytes, flags %#x, of target %lu\n", bytes[i], flags[i], target->value);
}

/* --- traces of a device --- */

static ompt_advance_buffer_cursor_t advance;
static ompt_get_record_type_t record_type;
static ompt_get_record_ompt_t get_record;
static ompt_flush_trace_t flush_trace;
static ompt_device_t *traced;

static void
on_request (int device, ompt_buffer_t **buffer, size_t *bytes)
{
  *bytes = 3 * sizeof (ompt_record_ompt_t);
  *buffer = malloc (*bytes);
}

static void
print_record (const ompt_record_ompt_t *r)
{
  if (r->type == ompt_callback_target)
    printf ("record target %s %s of target %lu\n", target_word (r->record.target.kind),
            endpoint_word (r->record.target.endpoint), r->target_id);
  else if (r->type == ompt_callback_target_data_op)
    printf ("record data_op %s %zu bytes, number %lu of target %lu%s\n", operation_word (r->record.target_data_op.optype),
            r->record.target_data_op.bytes, r->record.target_data_op.host_op_id, r->target_id,
            r->record.target_data_op.end_time < r->time ? ", ends before it begins" : "");
  else if (r->type == ompt_callback_target_submit)
    printf ("record kernel teams %u, number %lu of target %lu%s\n", r->record.target_kernel.requested_num_teams,
            r->record.target_kernel.host_op_id, r->target_id,
            r->record.target_kernel.end_time < r->time ? ", ends before it begins" : "");
}

static void
on_complete (int device, ompt_buffer_t *buffer, size_t bytes, ompt_buffer_cursor_t begin, int owned)
{
  ompt_buffer_cursor_t at = begin;
  printf ("buffer of device %d: %zu records%s\n", device, bytes / sizeof (ompt_record_ompt_t), owned ? ", owned" : "");
  if (bytes)
    do
      if (record_type (buffer, at) == ompt_record_ompt)
        print_record (get_record (buffer, at));
    while (advance (traced, buffer, bytes, at, &at));
  if (owned)
    free (buffer);
}

static void
begin_trace (ompt_device_t *device, ompt_function_lookup_t lookup)
{
  ompt_set_trace_ompt_t set_trace = (ompt_set_trace_ompt_t) lookup ("ompt_set_trace_ompt");
  ompt_start_trace_t start = (ompt_start_trace_t) lookup ("ompt_start_trace");
  advance = (ompt_advance_buffer_cursor_t) lookup ("ompt_advance_buffer_cursor");
  record_type = (ompt_get_record_type_t) lookup ("ompt_get_record_type");
  get_record = (ompt_get_record_ompt_t) lookup ("ompt_get_record_ompt");
  flush_trace = (ompt_flush_trace_t) lookup ("ompt_flush_trace");
  traced = device;
  printf ("trace: set %d, set work %d, start %d\n", set_trace (device, 1, 0), set_trace (device, 1, ompt_callback_work),
          start (device, on_request, on_complete));
}

static void
on_device_initialize (int device, const char *type, ompt_device_t *handle, ompt_function_lookup_t lookup,
                      const char *documentation)
{
  printf ("device %d begins: %s\n", device, type);
  if (strcmp (try_what, "trace") == 0)
    begin_trace (handle, lookup);
}

static void
on_device_finalize (int device)
{
  printf ("device %d ends\n", device);
}

static void
on_device_load (int device, const char *filename, int64_t offset, void *vma, size_t bytes, void *host, void *target,
                uint64_t module)
{
  const char *slash = filename ? strrchr (filename, '/') : NULL;
  printf ("device %d loads an image of %s: %s, module %s\n", device, slash ? slash + 1 : "?",
          bytes && memcmp (host, "\177ELF", 4) == 0 ? "ELF" : "?", module ? "yes" : "no");
}

static void
set (ompt_callbacks_t which, void *callback)
{
  ompt_set_result_t result = set_callback (which, (ompt_callback_t) callback);
  if (strcmp (try_what, "results") == 0)
    printf ("set %d: %d\n", which, result);
}

static void
set_all (int emi)
{
  set (ompt_callback_target, on_target);
  set (ompt_callback_target_data_op, on_data_op);
  set (ompt_callback_target_submit, on_submit);
  if (emi)
    {
      set (ompt_callback_target_emi, on_target_emi);
      set (ompt_callback_target_data_op_emi, on_data_op_emi);
      set (ompt_callback_target_submit_emi, on_submit_emi);
      set (ompt_callback_target_map_emi, on_map_emi);
    }
  set (ompt_callback_device_initialize, on_device_initialize);
  set (ompt_callback_device_finalize, on_device_finalize);
  set (ompt_callback_device_load, on_device_load);
}

static void
ask_routines (void)
{
  ompt_enumerate_states_t states = (ompt_enumerate_states_t) runtime ("ompt_enumerate_states");
  ompt_get_callback_t get = (ompt_get_callback_t) runtime ("ompt_get_callback");
  ompt_get_unique_id_t unique = (ompt_get_unique_id_t) runtime ("ompt_get_unique_id");
  ompt_callback_t found = NULL;
  const char *name;
  int state = ompt_state_undefined, known = get (ompt_callback_target_emi, &found);
  uint64_t first = unique ();
  while (states (state, &state, &name))
    printf ("state %#x %s\n", state, name);
  printf ("callback %d %d, other %d\n", known, found == (ompt_callback_t) on_target_emi,
          get (ompt_callback_work, &found));
  printf ("ids %s, devices %d\n", unique () != first ? "differ" : "same", get_num_devices ());
  printf ("unknown routine: %s, work: %d\n", runtime ("ompt_no_such") ? "found" : "none",
          set_callback (ompt_callback_work, (ompt_callback_t) on_target));
}

static int
initialize (ompt_function_lookup_t lookup, int initial_device, ompt_data_t *tool)
{
  runtime = lookup;
  set_callback = (ompt_set_callback_t) lookup ("ompt_set_callback");
  get_target_info = strcmp (tool->ptr, "gompy") == 0 ? (ompt_get_target_info_t) lookup ("ompt_get_target_info") : NULL;
  get_num_devices = (ompt_get_num_devices_t) lookup ("ompt_get_num_devices");
  printf ("tool begins\n");
  set_all (strcmp (try_what, "old") != 0);
  if (strcmp (try_what, "results") == 0)
    ask_routines ();
  return strcmp (try_what, "decline") != 0;
}

static void
finalize (ompt_data_t *tool)
{
  printf ("tool ends\n");
}

ompt_start_tool_result_t *
ompt_start_tool (unsigned omp_version, const char *runtime_version)
{
  static ompt_start_tool_result_t result = { initialize, finalize, { 0 } };
  const char *word = getenv ("OMPT_TRY");
  try_what = word ? word : "";
  result.tool_data.ptr = strncmp (runtime_version, "gompy", 5) == 0 ? "gompy" : "other";
  if (strcmp (try_what, "none") == 0)
    return NULL;
  if (strcmp (result.tool_data.ptr, "gompy") == 0)
    printf ("OpenMP %u, %s\n", omp_version, runtime_version);
  return &result;
}

/* Events of the OpenACC profiling interface that a plugin dispatches.

   Types: gcc's acc_prof.h.  The head of libgomp's thread data: libgomp/oacc-int.h, struct goacc_thread.  */
#ifndef GOMPY_NATIVE_PROFILING_H
#define GOMPY_NATIVE_PROFILING_H

#include <acc_prof.h>
#include <stddef.h>
#include <stdint.h>

struct goacc_thread_head
{
  void *base_dev, *dev, *saved_bound_dev, *mapped_data;
  acc_prof_info *prof_info;
  acc_api_info *api_info;
};

/* Weak: a runtime may do OpenMP alone.  */
extern struct goacc_thread_head *GOMP_PLUGIN_goacc_thread (void) __attribute__ ((weak));
extern void GOMP_PLUGIN_goacc_profiling_dispatch (acc_prof_info *, acc_event_info *, acc_api_info *)
  __attribute__ ((weak));

/* The calling thread's data if its construct is being profiled, else NULL.  */
static inline struct goacc_thread_head *
profiled (void)
{
  struct goacc_thread_head *thread = GOMP_PLUGIN_goacc_thread ? GOMP_PLUGIN_goacc_thread () : NULL;
  return thread && thread->prof_info ? thread : NULL;
}

/* Work for somebody else begins: what happens in it is no event of the calling thread's construct.  Returns what
   profile_resume takes at its end.  */
static inline acc_prof_info *
profile_pause (void)
{
  struct goacc_thread_head *thread = profiled ();
  acc_prof_info *info = thread ? thread->prof_info : NULL;
  if (thread)
    thread->prof_info = NULL;
  return info;
}

static inline void
profile_resume (acc_prof_info *info)
{
  if (info)
    GOMP_PLUGIN_goacc_thread ()->prof_info = info;
}

static inline void
profile_event (struct goacc_thread_head *thread, acc_device_api api, acc_event_info *info)
{
  thread->prof_info->event_type = info->event_type;
  thread->api_info->device_api = api;
  GOMP_PLUGIN_goacc_profiling_dispatch (thread->prof_info, info, thread->api_info);
}

/* Device memory (acc_ev_alloc, acc_ev_free) or the copy of an argument block (acc_ev_enqueue_upload_*).  */
static inline void
profile_data (struct goacc_thread_head *thread, acc_device_api api, acc_event_t type, uint64_t device, const void *host,
              size_t bytes)
{
  acc_event_info info;
  info.data_event.event_type = type;
  info.data_event.valid_bytes = _ACC_DATA_EVENT_INFO_VALID_BYTES;
  info.data_event.parent_construct = acc_construct_parallel;
  info.data_event.implicit = 1;
  info.data_event.tool_info = NULL;
  info.data_event.var_name = NULL;
  info.data_event.bytes = bytes;
  info.data_event.host_ptr = host;
  info.data_event.device_ptr = (const void *) (uintptr_t) device;
  profile_event (thread, api, &info);
}

/* A launch.  INFO is the caller's for both events: a tool may leave something in it.  */
static inline void
profile_launch (struct goacc_thread_head *thread, acc_device_api api, acc_event_info *info, const char *kernel,
                const unsigned *dims)
{
  info->launch_event.event_type = kernel ? acc_ev_enqueue_launch_start : acc_ev_enqueue_launch_end;
  if (kernel)
    {
      info->launch_event.valid_bytes = _ACC_LAUNCH_EVENT_INFO_VALID_BYTES;
      info->launch_event.parent_construct = acc_construct_parallel;
      info->launch_event.implicit = 1;
      info->launch_event.tool_info = NULL;
      info->launch_event.kernel_name = kernel;
      info->launch_event.num_gangs = dims[0];
      info->launch_event.num_workers = dims[1];
      info->launch_event.vector_length = dims[2];
    }
  profile_event (thread, api, info);
}

#endif

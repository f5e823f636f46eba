/* cuda::pipeline (libcu++ documentation).  Copies are done at once, so a thread's own pipeline has nothing to wait for;
   that of a block has barriers for each stage: filled, and emptied.  */
#ifndef GOMPY_CUDA_PIPELINE_H
#define GOMPY_CUDA_PIPELINE_H

#include "gompy_cuda_barrier.h"

namespace cuda
{

enum class pipeline_role
{
  producer,
  consumer
};

template <thread_scope Scope, unsigned char Stages>
struct pipeline_shared_state
{
  barrier<Scope> filled[Stages], emptied[Stages];
};

template <thread_scope Scope>
class pipeline
{
  barrier<Scope> *filled = nullptr, *emptied = nullptr;
  unsigned stages = 0, head = 0, tail = 0;
  bool head_parity = true, tail_parity = false;

public:
  pipeline () = default;
  GOMPY_EITHER pipeline (barrier<Scope> *fill, barrier<Scope> *empty, unsigned count)
      : filled (fill), emptied (empty), stages (count)
  {
  }
  GOMPY_EITHER void producer_acquire ()
  {
    if (stages)
      emptied[head].wait_parity (head_parity);
  }
  GOMPY_EITHER void producer_commit ()
  {
    if (!stages)
      return;
    filled[head].arrive ();
    head = head + 1 == stages ? 0 : head + 1;
    head_parity ^= head == 0;
  }
  GOMPY_EITHER void consumer_wait ()
  {
    if (stages)
      filled[tail].wait_parity (tail_parity);
  }
  GOMPY_EITHER void consumer_release ()
  {
    if (!stages)
      return;
    emptied[tail].arrive ();
    tail = tail + 1 == stages ? 0 : tail + 1;
    tail_parity ^= tail == 0;
  }
  GOMPY_EITHER bool quit () { return true; }
};

GOMPY_EITHER pipeline<thread_scope_thread>
make_pipeline ()
{
  return pipeline<thread_scope_thread> ();
}

template <typename Group, thread_scope Scope, unsigned char Stages>
GOMPY_EITHER pipeline<Scope>
gompy_pipeline (const Group &group, pipeline_shared_state<Scope, Stages> *state, unsigned producers, unsigned consumers)
{
  if (group.thread_rank () == 0)
    for (unsigned at = 0; at < Stages; at++)
      {
        init (&state->filled[at], producers);
        init (&state->emptied[at], consumers);
      }
  group.sync ();
  return pipeline<Scope> (state->filled, state->emptied, Stages);
}

/* All threads fill and use; or so many fill, or each says what it does.  */
template <typename Group, thread_scope Scope, unsigned char Stages>
GOMPY_EITHER pipeline<Scope>
make_pipeline (const Group &group, pipeline_shared_state<Scope, Stages> *state)
{
  return gompy_pipeline (group, state, group.size (), group.size ());
}

template <typename Group, thread_scope Scope, unsigned char Stages>
GOMPY_EITHER pipeline<Scope>
make_pipeline (const Group &group, pipeline_shared_state<Scope, Stages> *state, ::std::size_t producers)
{
  return gompy_pipeline (group, state, producers, group.size () - producers);
}

#ifdef __CUDA__
template <typename Group, thread_scope Scope, unsigned char Stages>
__inline__ __attribute__ ((device, always_inline)) pipeline<Scope>
make_pipeline (const Group &group, pipeline_shared_state<Scope, Stages> *state, pipeline_role role)
{
  unsigned producers = (unsigned) __syncthreads_count (role == pipeline_role::producer);
  return gompy_pipeline (group, state, producers, group.size () - producers);
}
#endif

template <unsigned char Prior, thread_scope Scope>
GOMPY_EITHER void
pipeline_consumer_wait_prior (pipeline<Scope> &)
{
  static_assert (Scope == thread_scope_thread, "a thread's own pipeline");
}

template <typename T, typename Size, thread_scope Scope>
GOMPY_EITHER void
memcpy_async (T *to, const T *from, Size size, pipeline<Scope> &)
{
  gompy_copy (to, from, size, 0, 1);
}

template <typename Group, typename T, typename Size, thread_scope Scope>
GOMPY_EITHER void
memcpy_async (const Group &group, T *to, const T *from, Size size, pipeline<Scope> &)
{
  gompy_copy (to, from, size, group.thread_rank (), group.size ());
}

}

#endif

/* `gompy run --check`: what OpenACC's asynchronous queues copy from or to the host.

   From the directive that puts such a copy into a queue until the program has waited for that, the program is not to
   write the host's side, nor to read what is copied there: each is a flight (check_flight.h).  One that waits for a
   queue has waited for what that queue was told to wait for before, too.

   A program that has the streams behind the queues may wait for these: nothing is told of it then.
   Included once, by check_flight.h.  */
#ifndef GOMPY_CHECK_QUEUES_H
#define GOMPY_CHECK_QUEUES_H

#define GOMPY_QUEUES 64u
#define GOMPY_QUEUED_SCALAR 32u      /* GCC maps scalars that should be firstprivate; complex (16) is the largest */
#define GOMPY_QUEUED_CAPTURED 65536u /* the same of larger ones in a region: they are read when it is queued */

static struct
{
  void *queue;
  int device;
} gompy_queues[GOMPY_QUEUES];
static int gompy_queues_shared;
static int gompy_queues_used;

/* A queue's bit; 0: there are too many.  */
static uint64_t
gompy_queue_bit (int device, void *queue)
{
  unsigned i, none = GOMPY_QUEUES;
  for (i = 0; i < GOMPY_QUEUES; i++)
    {
      if (gompy_queues[i].queue == queue)
        return 1ull << i;
      if (gompy_queues[i].queue == NULL && none == GOMPY_QUEUES)
        none = i;
    }
  if (none == GOMPY_QUEUES)
    return 0;
  gompy_queues[none].queue = queue;
  gompy_queues[none].device = device;
  return 1ull << none;
}

/* The program has functions by which it may wait for streams that it has not asked for.  */
static int
gompy_has_streams (void)
{
  static int known;
  if (!known)
    known = dlsym (RTLD_DEFAULT, "cudaDeviceSynchronize") != NULL || dlsym (RTLD_DEFAULT, "cuCtxSynchronize") != NULL
              ? 1 : -1;
  return known > 0;
}

/* [HOST, HOST + SIZE) is copied by a queue, BACK to the host or from there.  IN_REGION: by a region's directive, as the
   compiler has it also of what is firstprivate.  */
static void
gompy_flight_queued (int device, void *queue, uintptr_t host, uintptr_t target, size_t size, int back, int in_region)
{
  struct gompy_flight *f;
  uint64_t bit;
  if (size <= GOMPY_QUEUED_SCALAR || (in_region && !back && size <= GOMPY_QUEUED_CAPTURED) || gompy_queues_shared
      || gompy_has_streams () || (bit = gompy_queue_bit (device, queue)) == 0)
    return;
  for (unsigned i = 0; i < gompy_flight_count; i++)
    {
      f = &gompy_flights[i];
      if (f->queues == bit && f->host == host && f->size == size && f->back == back && f->device == device)
        return;
    }
  if (gompy_flight_count == GOMPY_FLIGHTS)
    return;
  f = &gompy_flights[gompy_flight_count++];
  memset (f, 0, sizeof *f);
  f->host = host;
  f->target = target;
  f->size = size;
  f->device = device;
  f->back = back;
  f->begun = 1;
  f->queues = bit;
  gompy_queues_used = 1;
  gompy_log_frame ();
  gompy_log (GOMPY_EVENT_QUEUED, back, device, NULL, NULL, host, size, target, 0, 0);
}

/* The program has waited for a queue, or knows that it is empty.  */
static void
gompy_flight_waited (int device, void *queue)
{
  uint64_t bit = gompy_flight_count ? gompy_queue_bit (device, queue) : 0;
  for (unsigned i = gompy_flight_count; i-- > 0;)
    if (gompy_flights[i].queues & bit)
      gompy_flight_drop (i);
}

/* Queue THEN waits for what FIRST has now.  */
static void
gompy_flight_ordered (int device, void *first, void *then)
{
  uint64_t bit = gompy_flight_count ? gompy_queue_bit (device, first) : 0;
  for (unsigned i = 0; i < gompy_flight_count; i++)
    if (gompy_flights[i].queues & bit)
      gompy_flights[i].queues |= gompy_queue_bit (device, then);
}

/* A queue has ended; another one may come to be at its address.  */
static void
gompy_queue_ended (int device, void *queue)
{
  gompy_flight_waited (device, queue);
  for (unsigned i = 0; i < GOMPY_QUEUES; i++)
    if (gompy_queues[i].queue == queue)
      gompy_queues[i].queue = NULL;
}

/* The program has a queue's stream, or the context of all of them.  */
static void
gompy_flight_shared (void)
{
  gompy_queues_shared = 1;
  for (unsigned i = gompy_flight_count; i-- > 0;)
    if (gompy_flights[i].queues)
      gompy_flight_drop (i);
}

/* A queue of a device's that has copies the program has not waited for, from the Nth on; NULL: there is none.  */
static void *
gompy_queue_in_flight (int device, unsigned *n)
{
  for (; *n < GOMPY_QUEUES; ++*n)
    for (unsigned i = 0; gompy_queues[*n].queue != NULL && i < gompy_flight_count; i++)
      if (gompy_flights[i].device == device && gompy_flights[i].queues & 1ull << *n)
        return gompy_queues[(*n)++].queue;
  return NULL;
}

#endif

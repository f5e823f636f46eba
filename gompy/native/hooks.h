/* What happens in the runtime, for those who want to know: traces, checks, the tools' interfaces of OpenMP and OpenACC.

   A subscriber is called with each event of the kinds that it asked for, in the thread that does it and at times with a
   device's lock held: it calls nothing of OpenMP or OpenACC.  Most kinds come twice, when something begins and when it
   has ended, with the same structure: what a subscriber left in own[slot] is there again.  */
#ifndef GOMPY_NATIVE_HOOKS_H
#define GOMPY_NATIVE_HOOKS_H

#include <stddef.h>
#include <stdint.h>

enum { GOMPY_SUBSCRIBERS = 8 };

/* Kinds of events, a bit each.  */
enum
{
  GOMPY_HOOK_CONSTRUCT = 1,  /* a directive or a routine of the program */
  GOMPY_HOOK_FALLBACK = 2,   /* a region runs on the host: `reason` */
  GOMPY_HOOK_MAP = 4,        /* an entry of a directive and what became of it; once */
  GOMPY_HOOK_ALLOC = 8,      /* device memory */
  GOMPY_HOOK_FREE = 16,
  GOMPY_HOOK_COPY = 32,
  GOMPY_HOOK_LAUNCH = 64,    /* a region on the device */
  GOMPY_HOOK_IMAGE = 128,
  GOMPY_HOOK_DEVICE = 256,
  GOMPY_HOOK_QUEUE = 512,    /* an asynchronous queue, or the wait for a region */
  GOMPY_HOOK_ALL = ~0  /* also what comes to be */
};

/* gompy_event.phase */
enum { GOMPY_BEGIN, GOMPY_END, GOMPY_ONCE };

/* gompy_event.detail */
enum
{
  GOMPY_COPY_TO_DEVICE,
  GOMPY_COPY_TO_HOST,
  GOMPY_COPY_WITHIN,  /* the device: `host` is the source's device address */

  GOMPY_MAP_NEW,      /* a mapping was made */
  GOMPY_MAP_PRESENT,  /* there was one: its count is as `count` says */
  GOMPY_MAP_KEPT,     /* the end of a construct, or exit data: it stays */
  GOMPY_MAP_REMOVED,
  GOMPY_MAP_UPDATED,
  GOMPY_MAP_OWN,      /* firstprivate: a copy of the region's own */
  GOMPY_MAP_ATTACHED, /* a pointer */
  GOMPY_MAP_ABSENT,   /* nothing is mapped there, and nothing was done */

  GOMPY_LAUNCH_NOW,   /* its end is the region's end */
  GOMPY_LAUNCH_LATER, /* it was started, or put into a queue */

  GOMPY_IMAGE_LOAD,
  GOMPY_IMAGE_UNLOAD,
  GOMPY_DEVICE_INIT,
  GOMPY_DEVICE_FINI,
  GOMPY_QUEUE_MAKE,
  GOMPY_QUEUE_DROP,
  GOMPY_QUEUE_WAIT,   /* for all that is in a queue, or without one for a region that was launched */
  GOMPY_QUEUE_ORDER   /* `host` is the queue that waits for the other */
};

/* What the program asked for.  */
struct gompy_construct
{
  int on;  /* hooks were on when it began */
  uint64_t number;
  const char *what;     /* `target`, `target enter data`, `acc_copyin`, ... */
  const void *where;    /* its call in the program; NULL: not known */
  const void *region;   /* the host's function of a region, or NULL */
  int code;             /* a door's own number for its begin, 0: none; the end's is one more */
  void *door;           /* and what belongs to it */
  int device;           /* its device's number in the program; -1: the host */
  unsigned teams;       /* how many a region of clang's asks for; 0: it does not say */
  struct gompy_construct *outer;  /* the one in the same thread in which it stands, or NULL */
  uint64_t own[GOMPY_SUBSCRIBERS];
  const char *place;    /* of clang's: `;file;function;line;column;;`, or NULL */
  unsigned entries;     /* of clang's: how many it maps */
  uint64_t rounds;      /* of the loop of a region of clang's; 0: not known */
};

struct gompy_event
{
  int kind, phase, detail;
  int good;                 /* at the end: whether it was done */
  int device;               /* its number in the program; -1: the host */
  const char *device_name;
  struct gompy_construct *construct;  /* the calling thread's innermost, or NULL */
  uintptr_t host, target;   /* addresses on the host and on the device */
  size_t size;
  size_t bytes;             /* of a map: how many went either way */
  uintptr_t count;          /* of a map: references after it; 0 where it is for ever, or has gone */
  int map_kind;             /* GOMP_MAP_*, -1: none */
  const char *map_words;    /* in OpenMP's words */
  size_t entry;             /* which of the directive's list */
  const void *region;       /* the host's function */
  const char *reason;
  void *queue;
  const void *image;        /* target data */
  unsigned teams;           /* of a launch: how many it asks for; 0: it does not say */
  uintptr_t function;       /* of a launch: the device's word for the region */
  size_t words;             /* and its argument words, which are on the device at `target`, or here in `arguments` */
  void *const *arguments;
  void *const *limits;      /* and what GOMP_target_ext was given of teams and threads, or NULL */
  const unsigned *dims;     /* and OpenACC's three numbers, or NULL */
  const void *shape;        /* of a kernel by clang on a GPU: struct KernelLaunch (launch_words.pxd), or NULL */
  const void *pairs;        /* of an image that is loaded: `count` pairs of device addresses, begin and end */
  uint64_t own[GOMPY_SUBSCRIBERS];
};

typedef void (*gompy_hook_fn) (struct gompy_event *event, int slot);

/* Have FN called for the events of KINDS.  Returns a slot, or -1 if all are taken.  */
extern int gompy_subscribe (unsigned kinds, gompy_hook_fn fn);
extern void gompy_unsubscribe (int slot);

#endif

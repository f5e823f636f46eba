/* A device plugin for the tests: memory of its own in this process, at addresses of its own; regions are the host's
   functions (NATIVE_EXEC), or, with images, what the program registered.  FAKE_LOG=file gets a line for each call.
   Compile-time variants: VERSION, CAPS, NDEV, NO_RUN, ASYNC, SHARED, REFUSES, FULFILS, CAN_RUN, INIT_FAILS, ALLOC_FAILS, COPY_FAILS.  */
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef REFUSES
#define REFUSES 0
#endif
#ifndef VERSION
#define VERSION 1
#endif
#ifndef CAPS
#define CAPS (4 | 2)
#endif
#ifndef NDEV
#define NDEV 1
#endif

struct addr_pair { uintptr_t start, end; };
/* What a program registers for this plugin: pairs, ready made.  */
struct image { struct addr_pair *pairs; int count; };

extern void *GOMP_PLUGIN_malloc (size_t);
extern void GOMP_PLUGIN_fatal (const char *, ...);
extern void GOMP_PLUGIN_target_task_completion (void *);

static void __attribute__ ((format (printf, 1, 2)))
note (const char *fmt, ...)
{
  const char *file = getenv ("FAKE_LOG");
  if (!file)
    return;
  FILE *f = fopen (file, "a");
  va_list ap;
  va_start (ap, fmt);
  vfprintf (f, fmt, ap);
  va_end (ap);
  fclose (f);
}

unsigned GOMP_OFFLOAD_version (void) { return VERSION; }
const char *GOMP_OFFLOAD_get_name (void) { return "fake"; }
unsigned GOMP_OFFLOAD_get_caps (void) { return CAPS; }
int GOMP_OFFLOAD_get_type (void) { return 6; }
#if VERSION < 2
int GOMP_OFFLOAD_get_num_devices (void) { return NDEV; }
#else
int
GOMP_OFFLOAD_get_num_devices (unsigned requires)
{
  note ("asked 0x%x\n", requires);
  return requires & REFUSES ? -1 : NDEV;
}
#endif

bool
GOMP_OFFLOAD_init_device (int n)
{
  note ("init %d pid %d\n", n, (int) getpid ());
#ifdef INIT_FAILS
  return false;
#elif defined INIT_ENDS
  GOMP_PLUGIN_fatal ("no %s", "device");
#elif defined NO_CHILD
  static int parent;
  if (parent && parent != getpid ())
    return false;
  parent = getpid ();
  return true;
#else
  return true;
#endif
}

static volatile int finalised;

bool
GOMP_OFFLOAD_fini_device (int n)
{
  note ("fini %d pid %d\n", n, (int) getpid ());
  finalised = 1;
  return true;
}

int
GOMP_OFFLOAD_load_image (int n, unsigned version, const void *data, struct addr_pair **table
#if VERSION >= 2
                         , uint64_t **reverse
#endif
#if VERSION >= 3
                         , const uint64_t *indirect
#endif
                         )
{
  const struct image *image = data;
#if VERSION >= 2
  note ("reverse %d\n", reverse != NULL);
  if (reverse)
    {
      *reverse = GOMP_PLUGIN_malloc (image->count * sizeof **reverse);
      for (int i = 0; i < image->count; i++)
        (*reverse)[i] = image->pairs[i].start;
    }
#endif
#if VERSION >= 3
  note ("indirect 0x%lx\n", indirect ? (unsigned long) indirect[0] : 0ul);
#endif
  note ("load %d version 0x%x\n", n, version);
  *table = GOMP_PLUGIN_malloc (image->count * sizeof **table);
  memcpy (*table, image->pairs, image->count * sizeof **table);
  return image->count;
}

bool
GOMP_OFFLOAD_unload_image (int n, unsigned version, const void *data)
{
  (void) version, (void) data;
  note ("unload %d\n", n);
  return true;
}

void *
GOMP_OFFLOAD_alloc (int n, size_t size)
{
  note ("alloc %d %zu\n", n, size);
#ifdef ALLOC_ENDS
  GOMP_PLUGIN_fatal ("no more %s", "memory");
#endif
#ifdef ALLOC_FAILS
  return NULL;
#else
  char *p = malloc (size + 1);
  memset (p, 0xA5, size);
  return p;
#endif
}

bool GOMP_OFFLOAD_free (int n, void *p) { note ("free %d\n", n); free (p); return true; }

static bool
copy (const char *what, int n, void *dst, const void *src, size_t size)
{
  note ("%s %d %zu\n", what, n, size);
#ifdef COPY_FAILS
  return false;
#else
  memcpy (dst, src, size);
  return true;
#endif
}

bool GOMP_OFFLOAD_host2dev (int n, void *d, const void *s, size_t z) { return copy ("host2dev", n, d, s, z); }
bool GOMP_OFFLOAD_dev2host (int n, void *d, const void *s, size_t z) { return copy ("dev2host", n, d, s, z); }
bool GOMP_OFFLOAD_dev2dev (int n, void *d, const void *s, size_t z) { return copy ("dev2dev", n, d, s, z); }

#ifdef FULFILS
unsigned gompy_fulfils (void) { return FULFILS; }
#endif

#ifdef CAN_RUN
bool GOMP_OFFLOAD_can_run (void *fn) { (void) fn; return false; }
#endif

#ifndef NO_RUN
void
GOMP_OFFLOAD_run (int n, void *fn, void *vars, void **args)
{
  note ("run %d args %#lx %#lx\n", n, args ? (unsigned long) args[0] : 0, args && args[0] ? (unsigned long) args[1] : 0);
  ((void (*) (void *)) fn) (vars);
#ifdef DIES_AT_EXIT
  while (!finalised)
    usleep (1000);
  GOMP_PLUGIN_fatal ("device is gone");
#endif
}
#endif

#ifdef ASYNC
struct job { int n; void *fn, *vars, *data; };

static void *
worker (void *p)
{
  struct job *job = p;
  ((void (*) (void *)) job->fn) (job->vars);
  note ("completion %d\n", job->n);
  GOMP_PLUGIN_target_task_completion (job->data);
  free (job);
  return NULL;
}

void
GOMP_OFFLOAD_async_run (int n, void *fn, void *vars, void **args, void *data)
{
  pthread_t thread;
  struct job *job = malloc (sizeof *job);
  (void) args;
  *job = (struct job) { n, fn, vars, data };
  note ("async_run %d\n", n);
  if (getenv ("FAKE_EARLY"))
    worker (job);
  else
    {
      pthread_create (&thread, NULL, worker, job);
      pthread_detach (thread);
    }
}
#endif

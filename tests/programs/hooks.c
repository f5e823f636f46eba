/* A subscriber: prints each event of the runtime.  Built with a program of OpenMP or OpenACC.  */
#include "gompy/native/hooks.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const details[] = { "to device", "to host", "within", "new", "present", "kept", "removed", "updated", "own",
  "attached", "absent", "now", "later", "load", "unload", "init", "fini", "make", "drop", "wait", "order" };

static const char *
kind_name (int kind)
{
  static const char *const names[] = { "construct", "fallback", "map", "alloc", "free", "copy", "launch", "image", "device",
    "queue" };
  return names[__builtin_ctz (kind)];
}

static void
listen (struct gompy_event *event, int slot)
{
  static const char *const phases[] = { "{", "}", "-" };
  if (event->phase == GOMPY_BEGIN)
    event->own[slot] = 42;
  else if (event->phase == GOMPY_END && event->own[slot] != 42)
    printf ("own[%d] is lost\n", slot);
  printf ("%s %s", phases[event->phase], kind_name (event->kind));
  if (event->kind & (GOMPY_HOOK_MAP | GOMPY_HOOK_COPY | GOMPY_HOOK_LAUNCH | GOMPY_HOOK_IMAGE | GOMPY_HOOK_DEVICE
                     | GOMPY_HOOK_QUEUE))
    printf (" %s", details[event->detail]);
  if (event->kind == GOMPY_HOOK_MAP)
    printf (" %s %zu bytes, count %lu, %zu copied", event->map_words, event->size, (unsigned long) event->count, event->bytes);
  if (event->kind == GOMPY_HOOK_COPY)
    printf (" %zu", event->size);
  if (event->kind == GOMPY_HOOK_FALLBACK)
    printf (": %s", event->reason);
  if (event->kind == GOMPY_HOOK_CONSTRUCT)
    printf (" %s%s", event->construct->what, event->construct->where ? "" : " from nowhere");
  else if (event->construct)
    printf (" of %s", event->construct->what);
  printf (", %s\n", event->device_name);
}

static void __attribute__ ((constructor))
subscribe (void)
{
  const char *kinds = getenv ("HOOKS");
  if (gompy_subscribe (kinds ? atoi (kinds) : GOMPY_HOOK_ALL, listen) < 0)
    abort ();
}

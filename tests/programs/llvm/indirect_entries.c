/* Preloaded: registers the entry `reference` as clang 19 does a function of `declare target indirect` (flag 8).  */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
struct entry { void *address; const char *name; unsigned long size; int flags, reserved; };
struct descriptor { int images; void *list; struct entry *entries, *end; };
void
__tgt_register_lib (struct descriptor *d)
{
  for (struct entry *e = d->entries; e < d->end; e++)
    if (strcmp (e->name, "reference") == 0)
      {
        e->address = *(void **) e->address;
        e->flags = 8;
      }
  ((void (*) (struct descriptor *)) dlsym (RTLD_NEXT, "__tgt_register_lib")) (d);
}

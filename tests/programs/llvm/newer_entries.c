/* Preloaded into a program by clang 16: it registers its entries in the form of clang 20 and later.  */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct Entry
{
  void *address;
  const char *name;
  uint64_t size;
  int32_t flags, reserved;
};
struct Newer
{
  uint64_t reserved;
  uint16_t version, kind;
  uint32_t flags;
  void *address;
  const char *name;
  uint64_t size, data;
  void *more;
};
struct Descriptor
{
  int32_t num_images;
  void *images, *begin, *end;
};

static struct Newer entries[64];
static struct Descriptor descriptor;

static void call(const char *name, struct Descriptor *what)
{
  ((void (*)(struct Descriptor *))dlsym(RTLD_NEXT, name))(what);
}

void __tgt_register_lib(struct Descriptor *given)
{
  int n = 1;
  entries[0] = (struct Newer){0, 1, 2, 0, entries, "of CUDA", 0, 0, 0};
  for (struct Entry *e = given->begin; e != given->end && n < 64; e++, n++)
    entries[n] = (struct Newer){0, 1, 1, e->flags, e->address, e->name, e->size, e->reserved, 0};
  descriptor = *given;
  descriptor.begin = entries;
  descriptor.end = entries + n;
  call("__tgt_register_lib", &descriptor);
  fprintf(stderr, "%d entries\n", n);
}

void __tgt_unregister_lib(struct Descriptor *given)
{
  (void)given;
  call("__tgt_unregister_lib", &descriptor);
}

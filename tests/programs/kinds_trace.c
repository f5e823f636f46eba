/* Preloaded: one line on stderr for each construct that a program asks of the runtime, with its arguments' kinds.
   A function is shown as its file and its place in it.  */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stddef.h>
#include <string.h>

static void show (const char *what, void *fn, size_t count, unsigned short *kinds)
{
  Dl_info info = { 0 };
  if (fn)
    dladdr (fn, &info);
  flockfile (stderr);
  const char *slash = fn ? strrchr (info.dli_fname, '/') : NULL; /* folders may have blanks */
  fprintf (stderr, "trace: %s %s %lx", what, slash ? slash + 1 : fn ? info.dli_fname : "-",
	   fn ? (long) ((char *) fn - (char *) info.dli_fbase) : 0L);
  for (size_t i = 0; i < count; i++)
    fprintf (stderr, " %u", kinds[i]);
  fputc ('\n', stderr);
  funlockfile (stderr);
}

#define NEXT(name) ((__typeof__ (&name)) dlsym (RTLD_NEXT, #name))

void GOMP_target_ext (int device, void (*fn) (void *), size_t count, void **hosts, size_t *sizes,
		      unsigned short *kinds, unsigned flags, void **depend, void **args)
{
  show ("target", (void *) fn, count, kinds);
  NEXT (GOMP_target_ext) (device, fn, count, hosts, sizes, kinds, flags, depend, args);
}

void GOMP_target_data_ext (int device, size_t count, void **hosts, size_t *sizes, unsigned short *kinds)
{
  show ("data", 0, count, kinds);
  NEXT (GOMP_target_data_ext) (device, count, hosts, sizes, kinds);
}

void GOMP_target_update_ext (int device, size_t count, void **hosts, size_t *sizes, unsigned short *kinds,
			     unsigned flags, void **depend)
{
  show ("update", 0, count, kinds);
  NEXT (GOMP_target_update_ext) (device, count, hosts, sizes, kinds, flags, depend);
}

void GOMP_target_enter_exit_data (int device, size_t count, void **hosts, size_t *sizes, unsigned short *kinds,
				  unsigned flags, void **depend)
{
  show (flags & 2 ? "exit" : "enter", 0, count, kinds);
  NEXT (GOMP_target_enter_exit_data) (device, count, hosts, sizes, kinds, flags, depend);
}

/* OpenACC's have arguments without a prototype behind these: they are passed on as they came.  */
#define PASS_ON(name) __builtin_return (__builtin_apply ((void (*) ()) NEXT (name), __builtin_apply_args (), 256))

void GOACC_parallel_keyed (int flags, void (*fn) (void *), size_t count, void **hosts, size_t *sizes,
			   unsigned short *kinds, ...)
{
  show ("target", (void *) fn, count, kinds);
  PASS_ON (GOACC_parallel_keyed);
}

void GOACC_data_start (int flags, size_t count, void **hosts, size_t *sizes, unsigned short *kinds)
{
  show ("acc-data", 0, count, kinds);
  NEXT (GOACC_data_start) (flags, count, hosts, sizes, kinds);
}

void GOACC_update (int flags, size_t count, void **hosts, size_t *sizes, unsigned short *kinds, int async, int waits,
		   ...)
{
  show ("acc-update", 0, count, kinds);
  PASS_ON (GOACC_update);
}

void GOACC_enter_data (int flags, size_t count, void **hosts, size_t *sizes, unsigned short *kinds, int async,
		       int waits, ...)
{
  show ("acc-enter", 0, count, kinds);
  PASS_ON (GOACC_enter_data);
}

void GOACC_exit_data (int flags, size_t count, void **hosts, size_t *sizes, unsigned short *kinds, int async,
		      int waits, ...)
{
  show ("acc-exit", 0, count, kinds);
  PASS_ON (GOACC_exit_data);
}

/* The least that a program takes whose device is another process: two starts.

   bare IMAGE: starts itself once more, on the same processor, by vfork.  That process opens IMAGE, calls its function, says so by
   one futex, and ends; this one waits for both.  There is no memory for data, no queue, no table: those are what a runtime adds.
   Both have the libraries that a device needs, libgomp and libm.
   gcc -O2 -fopenmp -foffload=disable bare.c -lm -o bare; gcc -O2 -shared -fPIC -DIMAGE bare.c -o image.so  */

#ifdef IMAGE

int
region (void)
{
  return 0;
}

#else

#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <omp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, FILE_NUMBER = 3 /* the descriptor that both have */ };

static uint32_t *
shared_word (int file)
{
  void *p = mmap (NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return p == MAP_FAILED ? NULL : p;
}

static int
device (const char *image)
{
  uint32_t *done = shared_word (FILE_NUMBER);
  void *opened = dlopen (image, RTLD_NOW | RTLD_LOCAL);
  int (*region) (void) = opened ? (int (*) (void)) dlsym (opened, "region") : NULL;
  if (!done || !region || region ())
    return 1;
  __atomic_store_n (done, 1, __ATOMIC_SEQ_CST);
  syscall (SYS_futex, done, FUTEX_WAKE, 1, NULL, NULL, 0);
  return 0;
}

static int
host (const char *self, const char *image)
{
  int status = 1, file = memfd_create ("bare", 0);
  uint32_t *done;
  cpu_set_t here;
  pid_t child;
  if (file < 0 || ftruncate (file, PAGE) || (file != FILE_NUMBER && dup2 (file, FILE_NUMBER) < 0))
    return 1;
  done = shared_word (FILE_NUMBER);
  CPU_ZERO (&here);
  CPU_SET (sched_getcpu (), &here);
  child = vfork ();
  if (child == 0)
    {
      sched_setaffinity (0, sizeof here, &here);
      execl (self, self, image, "device", (char *) NULL);
      _exit (127);
    }
  /* A device that fails does not say so: then its end is waited for only.  */
  struct timespec limit = { 10, 0 };
  while (done && child > 0 && __atomic_load_n (done, __ATOMIC_SEQ_CST) == 0)
    if (syscall (SYS_futex, done, FUTEX_WAIT, 0, &limit, NULL, 0) && waitpid (child, &status, WNOHANG))
      return 1;
  return child < 0 || waitpid (child, &status, 0) != child || status;
}

int
main (int argc, char **argv)
{
  if (omp_get_level ()) /* needs libgomp */
    return 1;
  if (argc == 3)
    return device (argv[1]);
  return argc != 2 || host (argv[0], argv[1]);
}

#endif

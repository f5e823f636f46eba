/* Whether this is the process in which something was set up, or a forked child of it: asked often, without a system
   call.  The page of the mark is zeros in a child (madvise, MADV_WIPEONFORK), however that was forked.  */
#ifndef GOMPY_NATIVE_PROCESS_MARK_H
#define GOMPY_NATIVE_PROCESS_MARK_H

#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

struct gompy_process_mark
{
  pid_t pid;                    /* the process that has set it, 0: none has */
  const volatile char *page;    /* or NULL: the kernel cannot do so */
};

/* The calling process is the one.  */
static inline void
gompy_mark_process (struct gompy_process_mark *mark)
{
  char *page = mmap (NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mark->pid = getpid ();
  mark->page = NULL;
  if (page == MAP_FAILED)
    return;
  if (madvise (page, (size_t) sysconf (_SC_PAGESIZE), MADV_WIPEONFORK) != 0)
    {
      munmap (page, 1);
      return;
    }
  *page = 1;
  mark->page = page;
}

/* Whether it is.  */
static inline int
gompy_is_marked (const struct gompy_process_mark *mark)
{
  return mark->page != NULL ? *mark->page != 0 : mark->pid == getpid ();
}

#endif

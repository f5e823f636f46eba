/* A core of the device's process, where the user wants cores (ulimit -c): what a debugger needs beside it.

   The images are files in memory that end with us: copies are left in the current folder, and the loader's list, by
   which a debugger finds them, names the copies.  Of the arena, which is mostly holes, the used pages are dumped.
   Called by the thread that dies, in its signal handler.  Included once, by device_core.pxi.  */
#ifndef GOMPY_DEVICE_CORE_H
#define GOMPY_DEVICE_CORE_H

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gompy/native/descriptors.h"

#define MIC_CORE_IMAGES 8
#define MIC_CORE_PATH 600

static char mic_core_paths[MIC_CORE_IMAGES][MIC_CORE_PATH];

static int
mic_core_is_wanted (void)
{
  struct rlimit r;
  return getrlimit (RLIMIT_CORE, &r) == 0 && r.rlim_cur != 0;
}

static int
mic_copy_file (int from, const char *path)
{
  struct stat s;
  off_t at = 0;
  int fd;
  if (fstat (from, &s) != 0)
    return 0;
  unlink (path);
  fd = gompy_open (path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (fd < 0)
    return 0;
  while (at < s.st_size && sendfile (fd, from, &at, (size_t) (s.st_size - at)) > 0)
    ;
  if (close (fd) == 0 && at == s.st_size)
    return 1;
  unlink (path);
  return 0;
}

/* Leave a copy of image NUMBER, which HANDLE is of, and the descriptor FD.  */
static void
mic_keep_image (int number, void *handle, int fd)
{
  struct link_map *loaded = NULL;
  char *path = mic_core_paths[number % MIC_CORE_IMAGES];
  if (number >= MIC_CORE_IMAGES || fd < 0 || dlinfo (handle, RTLD_DI_LINKMAP, &loaded) != 0
      || syscall (SYS_getcwd, path, MIC_CORE_PATH - 40) < 0)
    return;
  snprintf (path + strlen (path), 40, "/core.%d.image%d.so", (int) getpid (), number);
  if (mic_copy_file (fd, path))
    loaded->l_name = path;
}

/* Have the pages of the file dumped that are in use; its byte START is mapped at BASE.  */
static void
mic_dump_used (int memory, off_t start, char *base, uint64_t size)
{
  char name[40];
  off_t at = start, end = start + (off_t) size, hole;
  int fd;
  snprintf (name, sizeof name, "/proc/self/fd/%d", memory);  /* a position of its own */
  fd = gompy_open (name, O_RDONLY, 0);
  if (fd < 0)
    return;
  while ((at = lseek (fd, at, SEEK_DATA)) >= start && at < end)
    {
      hole = lseek (fd, at, SEEK_HOLE);
      if (hole <= at)
        break;
      madvise (base + (at - start), (size_t) ((hole < end ? hole : end) - at), MADV_DODUMP);
      at = hole;
    }
  close (fd);
}

/* End by the signal's own action: at once, or when the instruction that has failed runs again (AGAIN).  */
static void
mic_end_by_signal (int signo, int again)
{
  struct sigaction a;
  sigset_t one;
  memset (&a, 0, sizeof a);
  a.sa_handler = SIG_DFL;
  sigaction (signo, &a, NULL);
  if (again)
    return;
  sigemptyset (&one);
  sigaddset (&one, signo);
  pthread_sigmask (SIG_UNBLOCK, &one, NULL);
  syscall (SYS_tgkill, getpid (), syscall (SYS_gettid), signo);
}

#endif

/* Descriptors, for code that ends up in other people's programs.

   A program may have been started with standard descriptors closed (./a.out 1>&-).  What we open must not become its
   standard output, which it would then write into, nor be inherited by what it starts: every descriptor that we make
   is made here, is 3 or more, and is closed by exec.  */
#ifndef GOMPY_NATIVE_DESCRIPTORS_H
#define GOMPY_NATIVE_DESCRIPTORS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Another descriptor, LEAST or above, for the same, closed by exec.  Returns -1 with errno set if there is none.  */
static inline int
gompy_again (int fd, int least)
{
  int other = fcntl (fd, F_DUPFD_CLOEXEC, least);
  if (other < 0 && errno == EINVAL)
    errno = EMFILE;  /* so the kernel calls a least number that the limit on open files excludes */
  return other;
}

/* The same for one below LEAST that was just made, which is closed.  */
static inline int
gompy_raised (int fd, int least)
{
  int high, error;
  if (fd < 0 || fd >= least)
    return fd;
  high = gompy_again (fd, least);
  error = errno;
  close (fd);
  errno = error;
  return high;
}

/* Another descriptor for a standard one that was just made.  */
static inline int
gompy_not_standard (int fd)
{
  return gompy_raised (fd, STDERR_FILENO + 1);
}

/* open.  `mode` counts where flags have O_CREAT.  */
static inline int
gompy_open (const char *path, int flags, unsigned mode)
{
  return gompy_not_standard (open (path, flags | O_CLOEXEC | O_NOCTTY, mode));
}

/* openat.  */
static inline int
gompy_openat (int folder, const char *path, int flags, unsigned mode)
{
  return gompy_not_standard (openat (folder, path, flags | O_CLOEXEC | O_NOCTTY, mode));
}

/* fopen for reading.  */
static inline FILE *
gompy_fopen (const char *path)
{
  int fd = gompy_open (path, O_RDONLY, 0);
  FILE *file = fd < 0 ? NULL : fdopen (fd, "r");
  if (fd >= 0 && file == NULL)
    close (fd);
  return file;
}

/* opendir.  */
static inline DIR *
gompy_opendir (const char *path)
{
  int fd = gompy_open (path, O_RDONLY | O_DIRECTORY, 0);
  DIR *directory = fd < 0 ? NULL : fdopendir (fd);
  if (fd >= 0 && directory == NULL)
    close (fd);
  return directory;
}

/* memfd_create.  It is empty, even if another thread has written to its first, standard number.  */
static inline int
gompy_memfd (const char *name)
{
  int first = memfd_create (name, MFD_CLOEXEC), fd = gompy_not_standard (first);
  if (fd != first && fd >= 0 && (ftruncate (fd, 0) != 0 || lseek (fd, 0, SEEK_SET) != 0))
    {
      close (fd);
      return -1;
    }
  return fd;
}

/* Two new descriptors, neither of which is to be a standard one.  Returns 0, or -1 with errno set, both closed.  */
static inline int
gompy_pair_not_standard (int ends[2])
{
  int error;
  ends[0] = gompy_not_standard (ends[0]);
  ends[1] = gompy_not_standard (ends[1]);
  if (ends[0] >= 0 && ends[1] >= 0)
    return 0;
  error = errno;
  for (int i = 0; i < 2; i++)
    if (ends[i] >= 0)
      close (ends[i]);
  errno = error;
  return -1;
}

/* pipe.  Returns 0, or -1 with errno set.  */
static inline int
gompy_pipe (int ends[2])
{
  return pipe2 (ends, O_CLOEXEC) == 0 ? gompy_pair_not_standard (ends) : -1;
}

/* The path of a descriptor's file: by the process's number, so that a debugger of it opens the same; as our own where
   /proc is another namespace's, which has another process of that number, or none.  */
static inline void
gompy_path_of (int fd, char *path, size_t size)
{
  struct stat ours, there;
  snprintf (path, size, "/proc/%d/fd/%d", (int) getpid (), fd);
  if (fstat (fd, &ours) != 0 || stat (path, &there) != 0 || ours.st_dev != there.st_dev || ours.st_ino != there.st_ino)
    snprintf (path, size, "/proc/self/fd/%d", fd);
}

/* Whether there is a descriptor of that number.  */
static inline int
gompy_is_open (int fd)
{
  return fcntl (fd, F_GETFD) >= 0;
}

/* From now on all that is written is appended.  */
static inline int
gompy_appends (int fd)
{
  return fcntl (fd, F_SETFL, O_APPEND);
}

/* In a child that is about to become another program: FD, or the null device for -1, under a number of that program's,
   which inherits it.  */
static inline int
gompy_place_for_child (int fd, int number)
{
  int from = fd >= 0 ? fd : open ("/dev/null", O_RDWR | O_CLOEXEC);
  return from < 0 ? -1 : from == number ? fcntl (fd, F_SETFD, 0) : dup2 (from, number);
}

/* socket.  */
static inline int
gompy_socket (int family, int type)
{
  return gompy_not_standard (socket (family, type | SOCK_CLOEXEC, 0));
}

/* Two connected sockets.  Returns 0, or -1 with errno set.  */
static inline int
gompy_socketpair (int ends[2])
{
  return socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 ? gompy_pair_not_standard (ends) : -1;
}

/* pidfd_open.  */
static inline int
gompy_pidfd (int pid)
{
  return gompy_not_standard ((int) syscall (SYS_pidfd_open, pid, 0));
}

/* Have a descriptor closed by exec that was handed to us open.  */
static inline void
gompy_close_on_exec (int fd)
{
  fcntl (fd, F_SETFD, FD_CLOEXEC);
}

/* A descriptor that we keep while the program runs.  The program may close it (closefrom) and then have a file of its
   own by that number, which is none of our business.  */
struct gompy_kept
{
  int fd;
  dev_t device;
  ino_t inode;
};

static inline void
gompy_keep (struct gompy_kept *kept, int fd)
{
  struct stat status;
  memset (kept, 0, sizeof *kept);
  kept->fd = -1;
  if (fd >= 0 && fstat (fd, &status) == 0)
    {
      kept->fd = fd;
      kept->device = status.st_dev;
      kept->inode = status.st_ino;
    }
}

/* Whether the descriptor still is the file that it was.  */
static inline int
gompy_still_ours (const struct gompy_kept *kept)
{
  struct stat status;
  return kept->fd >= 0 && fstat (kept->fd,
                                 &status) == 0 && status.st_dev == kept->device && status.st_ino == kept->inode;
}

static inline void
gompy_close_kept (struct gompy_kept *kept)
{
  if (gompy_still_ours (kept))
    close (kept->fd);
  kept->fd = -1;
}

/* A file that has a name, and that we write while the program runs.  */
struct gompy_written
{
  struct gompy_kept kept;
  char *path;
  int flags;
};

/* FD is open, by FLAGS, for the file of that name.  Returns 0 with errno set if it is not, or memory is short.  */
static inline int
gompy_begin_written (struct gompy_written *file, const char *path, int fd, int flags)
{
  file->path = fd >= 0 ? strdup (path) : NULL;
  file->flags = flags | O_NOFOLLOW;
  if (file->path != NULL)
    gompy_keep (&file->kept, fd);
  return file->path != NULL;
}

/* Its descriptor, another one where the program has closed it.  -1 with errno set: it is no longer there.  */
static inline int
gompy_fd_of_written (struct gompy_written *file)
{
  struct gompy_kept again;
  if (gompy_still_ours (&file->kept))
    return file->kept.fd;
  gompy_keep (&again, gompy_open (file->path, file->flags, 0));
  file->kept.fd = again.fd;
  if (again.fd >= 0 && again.device == file->kept.device && again.inode == file->kept.inode)
    return again.fd;
  file->kept.fd = -1;
  if (again.fd >= 0)
    close (again.fd);
  errno = EBADF;
  return -1;
}

/* Open a file that the user named, to append to it; made if there is none.  A link that stands there is not followed,
   for somebody else may have put it there; below /dev and /proc (/dev/stderr) only the system can.  */
static inline int
gompy_open_to_append (const char *path)
{
  int follow = (strncmp (path, "/dev/", 5) == 0 && strncmp (path, "/dev/shm/", 9) != 0) || strncmp (path, "/proc/",
          6) == 0;
  int flags = O_WRONLY | O_APPEND | (follow ? 0 : O_NOFOLLOW), fd = -1;
  for (int attempt = 0; attempt < 8 && fd < 0; attempt++)
    {
      fd = gompy_open (path, flags, 0);
      if (fd >= 0 || errno != ENOENT)
        break;
      fd = gompy_open (path, flags | O_CREAT | O_EXCL, 0666);
      if (fd < 0 && errno != EEXIST)
        break;
    }
  return fd;
}

/* Open a regular file that the user named, to write it anew; made if there is none.  A link that stands there is not
   followed.  */
static inline int
gompy_open_to_replace (const char *path)
{
  struct stat status;
  int fd = gompy_open (path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666), error = 0;
  if (fd < 0)
    return fd;
  if (fstat (fd, &status) != 0)
    error = errno;
  else if (!S_ISREG (status.st_mode))
    error = ESPIPE;
  else if (ftruncate (fd, 0) != 0)
    error = errno;
  if (!error)
    return fd;
  close (fd);
  errno = error;
  return -1;
}

#endif

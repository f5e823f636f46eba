/* Folders of caches, whose files are believed: what anybody but the user (or root) could have put there is not used.

   A folder is looked at after it has been opened, and opened below the one before, so that nothing can be exchanged in
   between.  */
#ifndef GOMPY_NATIVE_OWN_FOLDERS_H
#define GOMPY_NATIVE_OWN_FOLDERS_H

#include <stdio.h>
#include <stdlib.h>

#include "descriptors.h"

/* Whether what has been opened belongs to the user or to root, and nobody else can write it.  */
static inline int
gompy_is_ours (const struct stat *status)
{
  return (status->st_uid == geteuid () || status->st_uid == 0) && !(status->st_mode & 022);
}

/* A folder of ours below another, made if it is not there; -1 if it cannot be trusted.  Closes the other.  */
static int
gompy_own_folder (int above, const char *name, int last)
{
  struct stat status;
  int made = 0, flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW, fd = gompy_openat (above, name, flags, 0);
  /* Nothing is made in somebody else's folder: the user could not get rid of it.  */
  if (fd < 0 && errno == ENOENT && fstat (above, &status) == 0
      && (status.st_uid == geteuid () || status.st_uid == 0))
    {
      made = mkdirat (above, name, 0700) == 0;
      fd = gompy_openat (above, name, flags, 0);
      if (fd < 0 && fchmodat (above, name, 0700, 0) == 0)  /* a umask that takes even that */
        fd = gompy_openat (above, name, flags, 0);
    }
  close (above);
  if (fd < 0)
    return -1;
  if (fstat (fd, &status) != 0)
    {
      close (fd);
      return -1;
    }
  if (made || (!last && status.st_uid == geteuid () && status.st_mode & 022))
    {
      if (fchmod (fd, 0700) == 0)  /* whatever the umask, to which older versions left it */
        fstat (fd, &status);
    }
  if (!gompy_is_ours (&status))
    {
      close (fd);
      return -1;
    }
  return fd;
}

/* The folder of all caches, made with at most so many of those that lead to it if they are not there; -1 if there can
   be none.  It may be a link, and anybody's: what lies below it is looked at.  */
static int
gompy_base_folder (char *path, int most)
{
  char *ends[64];
  int count = 0, fd = gompy_open (path, O_RDONLY | O_DIRECTORY, 0);
  while (fd < 0 && errno == ENOENT && count < most)
    {
      char *slash = strrchr (path, '/');
      if (slash == NULL)
        break;
      slash[0] = 0;
      ends[count++] = slash;
      fd = gompy_open (path[0] ? path : "/", O_RDONLY | O_DIRECTORY, 0);
    }
  while (fd >= 0 && count)
    {
      count--;
      if (ends[count][1])
        fd = gompy_own_folder (fd, ends[count] + 1, 0);
      ends[count][0] = '/';
    }
  return fd;
}

/* $XDG_CACHE_HOME/gompy/NAME, of the user's own; -1 if there can be none.  A home that is not there is not made.  */
static int
gompy_cache_folder (const char *name, int last)
{
  char path[4096];
  const char *home = secure_getenv ("XDG_CACHE_HOME"), *below = "";
  int most = 64, fd;
  if (home == NULL || home[0] != '/')
    {
      home = secure_getenv ("HOME");
      below = "/.cache";
      most = 1;
      if (home == NULL || home[0] != '/')
        return -1;
    }
  if ((size_t) snprintf (path, sizeof path, "%s%s", home, below) >= sizeof path)
    return -1;
  fd = gompy_base_folder (path, most);
  if (fd >= 0)
    fd = gompy_own_folder (fd, "gompy", 0);
  return fd >= 0 ? gompy_own_folder (fd, name, last) : -1;
}

#endif

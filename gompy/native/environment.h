/* The environment, for code that ends up in other people's programs.

   Such a program may have rights that its caller has not (set-user-ID, set-group-ID, file capabilities).  Its
   environment is the caller's, who must not get at those rights by it: every variable is read by secure_getenv, which
   finds none there, and a child gets child_environ.  */
#ifndef GOMPY_NATIVE_ENVIRONMENT_H
#define GOMPY_NATIVE_ENVIRONMENT_H

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Whether the program has rights that its caller has not.  It stays so when the program changes its user later on.  */
static inline int
gompy_privileged (void)
{
  return getauxval (AT_SECURE) != 0;
}

/* The environment to derive a child's from: ours, in a privileged program next to nothing.  */
static inline char **
gompy_child_environ (void)
{
  static char *safe[] = { "PATH=/usr/bin:/bin", NULL };
  return gompy_privileged () ? safe : environ;
}

/* The environment of a child without the variables whose names begin with one of COUNT beginnings, such as those that
   make a program load its caller's libraries.  The caller frees it; NULL without memory.  */
static inline char **
gompy_child_environ_without (const char *const *beginnings, size_t count)
{
  char **given = gompy_child_environ (), **kept;
  size_t all = 0, n = 0;
  while (given[all] != NULL)
    all++;
  kept = (char **) malloc ((all + 1) * sizeof *kept);
  for (size_t i = 0; kept != NULL && i < all; i++)
    {
      int drop = 0;
      for (size_t j = 0; j < count; j++)
        drop |= strncmp (given[i], beginnings[j], strlen (beginnings[j])) == 0;
      if (!drop)
        kept[n++] = given[i];
    }
  if (kept != NULL)
    kept[n] = NULL;
  return kept;
}

/* The program that we need by its name: itself, in a privileged program its path in the system's folders, written into
   PATH.  NULL with errno set if it is not there.  */
static inline const char *
gompy_program (const char *program, char *path, size_t size)
{
  static const char *const folders[] = { "/usr/bin", "/bin" };
  if (strchr (program, '/') != NULL || !gompy_privileged ())
    return program;
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
    {
      snprintf (path, size, "%s/%s", folders[i], program);
      if (access (path, X_OK) == 0)
        return path;
    }
  errno = ENOENT;
  return NULL;
}

/* posix_spawnp for the programs that we need; a privileged program takes them from the system's folders only.  */
static inline int
gompy_spawnp (pid_t *pid, const char *program, const posix_spawn_file_actions_t *actions,
              const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
  char path[4096];
  const char *found = gompy_program (program, path, sizeof path);
  return found != NULL ? posix_spawnp (pid, found, actions, attributes, argv, envp) : ENOENT;
}

#endif

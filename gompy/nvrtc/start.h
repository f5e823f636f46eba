/* Starting the process that compiles (gompy/nvrtc/__main__.py): request and answer are files in memory.  */
#ifndef GOMPY_NVRTC_START_H
#define GOMPY_NVRTC_START_H

#include "gompy/native/descriptors.h"
#include "gompy/native/environment.h"
#include "gompy/native/interpreter.h"
#include "gompy/native/package_root.h"
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

/* Above the descriptors that they get in the child.  */
#define GOMPY_NVRTC_FIRST_FD 10

static pthread_mutex_t nvrtc_lock = PTHREAD_MUTEX_INITIALIZER;  /* the list of programs, and who uses them */

/* Nothing that makes Python and clang load the program's libraries, or other modules, gets there.  */
static const char *const nvrtc_dropped[] = { "LD_", "OMP_", "PYTHON" };

/* Start Python on the script with the two files; an error's number, or 0.  */
static int
gompy_nvrtc_spawn (char *python, char *script, int request, int answer, pid_t *child)
{
  char *argv[] = { python, "-I", "-S", script, NULL };
  char **environment = gompy_child_environ_without (nvrtc_dropped, sizeof nvrtc_dropped / sizeof nvrtc_dropped[0]);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, usual;
  int error;
  if (environment == NULL)
    return ENOMEM;
  posix_spawn_file_actions_init (&actions);
  posix_spawnattr_init (&attributes);
  posix_spawn_file_actions_adddup2 (&actions, request, 0);
  posix_spawn_file_actions_adddup2 (&actions, answer, 1);
  if (secure_getenv ("GOMPY_TRACEBACK") == NULL)
    posix_spawn_file_actions_addopen (&actions, 2, "/dev/null", O_WRONLY, 0);
  sigemptyset (&none);
  sigemptyset (&usual);
  sigaddset (&usual, SIGCHLD);  /* Python waits for clang */
  sigaddset (&usual, SIGPIPE);
  posix_spawnattr_setsigmask (&attributes, &none);
  posix_spawnattr_setsigdefault (&attributes, &usual);
  posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  error = gompy_spawnp (child, python, &actions, &attributes, argv, environment);
  posix_spawn_file_actions_destroy (&actions);
  posix_spawnattr_destroy (&attributes);
  free (environment);
  return error;
}

/* Run it, and wait for its end; the program may have waited for it meanwhile, or ignore its children.  WHY gets a line
   where nothing was started.  */
static int
gompy_nvrtc_run (int request, int answer, char *why, size_t size)
{
  char root[PATH_MAX], script[PATH_MAX + 32], python[PATH_MAX - 16];
  const char *asked = secure_getenv ("GOMPY_PYTHON");
  int error, cancel;
  pid_t child;
  if (!gompy_package_root (root))
    {
      snprintf (why, size, "the compiler (gompy/nvrtc) is not beside this library");
      return 0;
    }
  if (asked != NULL && asked[0])
    snprintf (python, sizeof python, "%s", asked);
  else
    gompy_python_of (root, python, sizeof python);
  snprintf (script, sizeof script, "%s/gompy/nvrtc/__main__.py", root);
  pthread_setcancelstate (PTHREAD_CANCEL_DISABLE, &cancel);
  error = gompy_nvrtc_spawn (python, script, request, answer, &child);
  while (!error && waitpid (child, NULL, 0) < 0 && errno == EINTR)
    ;
  pthread_setcancelstate (cancel, NULL);
  if (error)
    snprintf (why, size, "Python did not start: %.300s (set GOMPY_PYTHON): %s", python, strerror (error));
  return !error;
}

#endif

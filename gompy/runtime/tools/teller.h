/* GOMPY_TRACE: a process of Python's beside the program that tells what each directive does, from the trace and the log
   of checks, as `gompy run --show-maps` does (gompy/cli/run_alone.py).

   It is no child of the program's, which may wait for all that it has.  Between the two is a socket: the program ends
   its half when it ends, and waits for the end of the other.  A byte on it is the number of the error that writing the
   lines had; behind a zero comes the text of another error.  Included once, by libgompy.pyx.  */
#ifndef GOMPY_TELLER_H
#define GOMPY_TELLER_H

#include "gompy/native/descriptors.h"
#include "gompy/native/environment.h"
#include "gompy/native/interpreter.h"
#include "gompy/native/package_root.h"
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

#define GOMPY_TELLER_SOCKET 3
#define GOMPY_TELLER_MEMORY 4

static char gompy_told_folder[400], gompy_told_trace[420], gompy_told_log[420];
static char gompy_told_where[400];  /* the variable's value: the program may take it away */
static pid_t gompy_teller_program;
static struct gompy_kept gompy_teller_socket;

/* Nothing that makes Python load libgompy, or other modules, gets there.  */
static const char *const gompy_teller_dropped[] = { "LD_", "OMP_", "GOMP", "ACC_", "PYTHON" };

/* Start it with its end of the socket; OUT: where its lines go, -1: standard error.  An error's number, or 0.  */
static int
gompy_teller_spawn (int socket, int memory, int out, const char *trace, const char *log)
{
  static const char in_background[] = "\"$@\" <&3 3<&- &";  /* GOMPY_TELLER_SOCKET */
  char root[PATH_MAX], script[PATH_MAX + 32], python[PATH_MAX], pid[16];
  const char *asked = secure_getenv ("GOMPY_PYTHON");
  char *argv[] = { "/bin/sh", "-c", (char *) in_background, "sh", python, "-I", script, (char *) trace, (char *) log,
                   pid, NULL };
  char **environment;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none;
  pid_t shell;
  int error;
  if (!gompy_package_root (root))
    return ENOENT;
  if (asked != NULL && asked[0])
    snprintf (python, sizeof python, "%s", asked);
  else
    gompy_python_of (root, python, sizeof python);
  snprintf (script, sizeof script, "%s/gompy/cli/run_alone.py", root);
  snprintf (pid, sizeof pid, "%d", (int) getpid ());
  if ((environment = gompy_child_environ_without (gompy_teller_dropped, sizeof gompy_teller_dropped
                                                                         / sizeof gompy_teller_dropped[0])) == NULL)
    return ENOMEM;
  posix_spawn_file_actions_init (&actions);
  posix_spawnattr_init (&attributes);
  posix_spawn_file_actions_adddup2 (&actions, socket, GOMPY_TELLER_SOCKET);
  if (memory >= 0)
    posix_spawn_file_actions_adddup2 (&actions, memory, GOMPY_TELLER_MEMORY);
  if (out >= 0)
    posix_spawn_file_actions_adddup2 (&actions, out, 2);
  posix_spawn_file_actions_addopen (&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen (&actions, 1, "/dev/null", O_WRONLY, 0);
  sigemptyset (&none);
  posix_spawnattr_setsigmask (&attributes, &none);
  posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETSIGMASK);
  error = posix_spawn (&shell, argv[0], &actions, &attributes, argv, environment);
  while (!error && waitpid (shell, NULL, 0) < 0 && errno == EINTR)
    ;
  posix_spawn_file_actions_destroy (&actions);
  posix_spawnattr_destroy (&attributes);
  free (environment);
  return error;
}

/* Whether a run is to be told of, and its folder is there.  */
static int
gompy_teller_wanted (const char *where)
{
  const char *below = secure_getenv ("TMPDIR");
  if (where == NULL || where[0] == 0 || strcmp (where, "0") == 0)
    return 0;
  if (strcmp (where, "1") != 0 && where[0] != '/')
    {
      gompy_note ("GOMPY_TRACE=%s: neither 1 nor an absolute path; nothing is told", where);
      return 0;
    }
  snprintf (gompy_told_folder, sizeof gompy_told_folder, "%.300s/gompy-trace-XXXXXX",
            below != NULL && below[0] == '/' ? below : "/tmp");
  if (mkdtemp (gompy_told_folder) == NULL)
    {
      gompy_note ("GOMPY_TRACE=%s: %s: cannot be made: %s", where, gompy_told_folder, strerror (errno));
      return 0;
    }
  snprintf (gompy_told_trace, sizeof gompy_told_trace, "%s/trace", gompy_told_folder);
  snprintf (gompy_told_log, sizeof gompy_told_log, "%s/log", gompy_told_folder);
  return 1;
}

/* Nobody has read them.  */
static void
gompy_teller_clean (void)
{
  unlink (gompy_told_trace);
  unlink (gompy_told_log);
  rmdir (gompy_told_folder);
}

static void
gompy_teller_unwritten (int error)
{
  gompy_note ("GOMPY_TRACE=%s: cannot be written: %s", gompy_told_where, strerror (error));
}

/* TRACE and LOG are there; tell what will be in them.  */
static void
gompy_teller_begin (const char *where, const char *trace, const char *log)
{
  int ends[2] = { -1, -1 }, out = -1, memory = -1, error = 0;
  snprintf (gompy_told_where, sizeof gompy_told_where, "%s", where);
  if (where[0] == '/' && (out = gompy_open_to_append (where)) < 0)
    {
      gompy_teller_unwritten (errno);
      gompy_teller_clean ();
      return;
    }
  if (gompy_socketpair (ends) != 0)
    error = errno;
  else
    {
      /* Above the numbers that they get in the child, one after the other.  */
      ends[0] = gompy_raised (ends[0], GOMPY_TELLER_MEMORY + 1);
      ends[1] = gompy_raised (ends[1], GOMPY_TELLER_MEMORY + 1);
      memory = gompy_raised (gompy_open ("/proc/self/mem", O_RDONLY, 0), GOMPY_TELLER_MEMORY + 1);
      out = gompy_raised (out, GOMPY_TELLER_MEMORY + 1);
      error = ends[0] < 0 || ends[1] < 0 ? EMFILE : gompy_teller_spawn (ends[1], memory, out, trace, log);
    }
  if (memory >= 0)
    close (memory);
  if (out >= 0)
    close (out);
  if (ends[1] >= 0)
    close (ends[1]);
  if (error)
    {
      gompy_note ("GOMPY_TRACE=%s: Python cannot be started: %s", where, strerror (error));
      if (ends[0] >= 0)
        close (ends[0]);
      gompy_teller_clean ();
      return;
    }
  gompy_keep (&gompy_teller_socket, ends[0]);
  gompy_teller_program = getpid ();
}

/* The program ends: wait until all has been told.  */
static void
gompy_teller_end (void)
{
  unsigned char error;
  char text[400];
  size_t used = 0;
  int other = 0;
  ssize_t n;
  if (gompy_teller_program != getpid () || !gompy_still_ours (&gompy_teller_socket))
    return;
  shutdown (gompy_teller_socket.fd, SHUT_WR);
  while ((n = read (gompy_teller_socket.fd, &error, 1)) > 0 || (n < 0 && errno == EINTR))
    if (n <= 0)
      continue;
    else if (other && used < sizeof text)
      text[used++] = (char) error;
    else if (!other && error)
      gompy_teller_unwritten (error);
    else
      other = 1;
  if (used)
    gompy_note ("GOMPY_TRACE=%s: no more is told: %.*s", gompy_told_where, (int) used, text);
  gompy_close_kept (&gompy_teller_socket);
  if (access (gompy_told_folder, F_OK) == 0)
    {
      gompy_note ("GOMPY_TRACE: nothing is told: Python did not run (GOMPY_PYTHON names another one)");
      gompy_teller_clean ();
    }
}

#endif

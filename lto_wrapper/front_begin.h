/* The device's compiler of a plain link, started before Python is.  Included by front.c.

   Python takes 15 ms to begin with, the compiler as long to be done: side by side they take half of it.  What is begun
   here is a guess at mkoffload's first command (mkoffload/intelmic.py, accel.py).  Python compares files and words with
   its own, and does it again if they differ (gompy/tools/begun.py).  So nothing depends on the guess but time, and
   whatever is unusual is not begun.  */
#include <sys/wait.h>

#include "front_plain.h"
#include "front_command.h"
#include "front_guard.h"

static struct begun ahead;

/* Start the compiler.  Its errors are for Python to tell.  */
static int
start (struct begun *begun, const sigset_t *before)
{
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  sigset_t usual;
  char **variables = device_environment (begun->variables, COUNT (begun->variables));
  int ends[2], output[2] = { -1, -1 }, good;
  if (variables == NULL || gompy_pipe (ends) != 0 || (begun->debug && gompy_pipe (output) != 0))
    return 0;
  sigemptyset (&usual);
  sigaddset (&usual, SIGPIPE);
  sigaddset (&usual, SIGXFSZ);
  sigaddset (&usual, SIGCHLD);
  signal (SIGCHLD, SIG_DFL);            /* ignored, it could not be waited for */
  posix_spawnattr_init (&attributes);
  posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask (&attributes, before);
  posix_spawnattr_setsigdefault (&attributes, &usual);
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_adddup2 (&actions, ends[1], STDERR_FILENO);
  if (begun->debug)
    posix_spawn_file_actions_adddup2 (&actions, output[1], STDOUT_FILENO);
  good = posix_spawnp (&begun->pid, begun->words[0], &actions, &attributes, begun->words, variables) == 0;
  posix_spawn_file_actions_destroy (&actions);
  posix_spawnattr_destroy (&attributes);
  free (variables);
  close (ends[1]);
  begun->errors = ends[0];
  begun->output = output[0];
  if (begun->debug)
    close (output[1]);
  if (good)
    {
      fcntl (ends[0], F_SETFD, 0);
      if (begun->debug)
        fcntl (output[0], F_SETFD, 0);
    }
  return good;
}

/* There is no Python: let the compiler end, and delete what was made.  */
static void
give_up (void)
{
  int status;
  close (ahead.errors);
  if (ahead.output >= 0)
    close (ahead.output);
  while (waitpid (ahead.pid, &status, 0) < 0 && errno == EINTR)
    ;
  delete_files (&ahead);
  end_guard (&ahead);
}

/* Begin the link of the objects in the plugin's list, if it is a plain one; the word for Python, or NULL.  The signals
   that end a link are blocked then.  */
static const char *
begin (const struct link *link)
{
  static char word[sizeof ahead.folder + 96];
  sigset_t block, before;
  if (!is_plain () || !read_objects (&ahead, link->objects) || !add_units (&ahead)
      || !add_options (&ahead, getenv ("COLLECT_GCC_OPTIONS"), strlen (getenv ("COLLECT_GCC_OPTIONS")), 0))
    return NULL;
  sigemptyset (&block);
  for (size_t i = 0; i < COUNT (ending); i++)
    sigaddset (&block, ending[i]);
  sigprocmask (SIG_BLOCK, &block, &before);
  signal (SIGXFSZ, SIG_IGN);            /* as Python does: the write fails */
  if (make_folder (&ahead))
    {
      if (write_files (&ahead) && compose (&ahead) && start (&ahead, &before))
        {
          start_guard (&ahead);
          snprintf (word, sizeof word, BEGUN_OPTION "%d:%d:%d:%d:%d:%s", (int) ahead.pid, ahead.errors, ahead.output,
                    (int) ahead.guard, ahead.watched, ahead.folder);
          return word;
        }
      delete_files (&ahead);
    }
  sigprocmask (SIG_SETMASK, &before, NULL);
  return NULL;
}

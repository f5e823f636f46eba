/* gompcc, gompc++ and gompfortran, as the user starts them: become the gcc that such a command has become before, and
   else Python, which decides (gompy/driver/main.py).

   A command is such a one if its words are the same but for the names of its files: front_key.h has what makes up the
   name of an entry, memory.py what an entry has.  Nothing here fails: whatever is unusual is Python's matter, and so
   are all messages.  docs/internals.md, "Compile".  */
#include <signal.h>

#include "gompy/native/environment.h"
#include "gompy/native/interpreter.h"
#include "gompy/native/kept_entries.h"

#include FRONT_TABLES
#include "front_key.h"
#include "front_entry.h"

/* The program as it was started, where that is no link; else what it leads to.  */
static const char *
own_path (void)
{
  const char *given = (const char *) getauxval (AT_EXECFN);
  struct stat status;
  char *real = NULL;
  if (given != NULL && lstat (given, &status) == 0 && S_ISLNK (status.st_mode))
    real = realpath (given, NULL);
  return real != NULL ? real : given != NULL ? given : PROGRAM;
}

/* Become Python, which gets the words, and where it is to leave an entry if KEEP is not empty.  Returns only with an
   exit status.  */
static int
become_python (int argc, char **argv, const char *own, const char *keep)
{
  const char *slash = strrchr (own, '/');
  size_t room = strlen (own) + sizeof "./python3", size = sizeof SCRIPT + sizeof CALL + strlen (keep) + 16;
  char **words = calloc ((size_t) argc + 7, sizeof *words), *python = malloc (room), *script = malloc (size);
  int count = 0;
  if (words == NULL || python == NULL || script == NULL)
    {
      fputs (PROGRAM ": error: out of memory\n", stderr);
      return 1;
    }
  snprintf (python, room, "%.*s/python3", slash != NULL ? (int) (slash - own) : 1, slash != NULL ? own : ".");
  snprintf (script, size, "%s%s(\"%s\")\n", SCRIPT, CALL, keep);
  words[count++] = access (python, X_OK) == 0 ? python : (char *) GOMPY_PYTHON_NAME;
  /* -E: the user's PYTHONHOME and the like are for the user's programs.  -S: Ctrl-C is seen to before packages are
     looked for.  */
  words[count++] = (char *) "-E";
  words[count++] = (char *) "-P";
  words[count++] = (char *) "-S";
  words[count++] = (char *) "-c";
  words[count++] = script;
  for (int i = 1; i < argc; i++)
    words[count++] = argv[i];
  execvp (words[0], words);
  if (errno == ENOENT)
    fprintf (stderr, PROGRAM ": error: no python3 beside it and no " GOMPY_PYTHON_NAME " in PATH; if the environment's "
             "own Python is gone or cannot be run, install again\n");
  else
    fprintf (stderr, PROGRAM ": error: cannot run %s: %s\n", words[0], strerror (errno));
  return 1;
}

int
main (int argc, char **argv)
{
  static char keep[MOST_PLACES + 300];
  const char *own = own_path ();
  char name[2 * GOMPY_DIGEST + 1];
  uint8_t key[GOMPY_DIGEST];
  struct timespec now;
  struct text places = { 0 };
  int folder;
  if (gompy_privileged () && (setgid (getgid ()) != 0 || setuid (getuid ()) != 0))  /* as a shell does for a script */
    return 1;
  clock_gettime (CLOCK_REALTIME, &now);
  if (!is_ordinary () || !line_key (argc, argv, own, key, &places)
      || (folder = gompy_cache_folder ("commands", 1)) < 0)
    return become_python (argc, argv, own, "");
  entry_name (key, name);
  if (!become_compiler (folder, name, key, argc, argv))
    {
      entry_word (name, folder, &now, keep, sizeof keep);
      snprintf (keep + strlen (keep), sizeof keep - strlen (keep), ":%s", places.data != NULL ? places.data : "");
    }
  return become_python (argc, argv, own, keep);
}

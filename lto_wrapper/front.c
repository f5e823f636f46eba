/* lto-wrapper, as the linker plugin starts it: answers from the cache of links where it can, and else becomes Python,
   which does the work (lto_wrapper/__main__.py).

   A link is in the cache if the same device code was linked before by the same tools: front_key.h has what makes up an
   entry's name, front_entry.h what is looked at before an entry is believed.  Nothing here fails: whatever is unusual
   is Python's matter, and so are all messages.  docs/internals.md, "Link".  */
#include "front.h"

#include <signal.h>

#include "gompy/native/environment.h"
#include "gompy/native/interpreter.h"

#include "front_key.h"
#include "front_entry.h"
#include "front_begin.h"

#define MARK "/gompy/_native/"

/* The folder that the package gompy lies in, of the path that we were started by, or of where that leads to.  */
static int
find_root (const char *self, char *root, size_t size)
{
  char *real = strstr (self, MARK) == NULL ? realpath (self, NULL) : strdup (self), *end = NULL, *next = real;
  while (next != NULL && (next = strstr (next, MARK)) != NULL)
    end = next++;
  if (end != NULL)
    *end = 0;
  int found = end != NULL && (size_t) snprintf (root, size, "%s", real) < size;
  free (real);
  return found;
}

/* Become Python, which gets the words, before them what has BEGUN for it, and where it is to leave an entry (STORE).
   Returns only with an exit status.  */
static int
become_python (int argc, char **argv, const char *begun, const char *store)
{
  static char root[4096], python[4096], script[4200];
  const char *asked = getenv ("GOMPY_PYTHON");
  char **words = calloc ((size_t) argc + 7, sizeof *words);
  int count = 0;
  if (words == NULL)
    {
      fputs ("lto-wrapper: fatal error: out of memory\ncompilation terminated.\n", stderr);
      return 1;
    }
  if (!find_root (argv[0], root, sizeof root))
    {
      fprintf (stderr, "lto-wrapper: fatal error: %s is not in an installation of gompy\n", argv[0]);
      return 1;
    }
  if (asked != NULL && asked[0])
    snprintf (python, sizeof python, "%s", asked);
  else
    gompy_python_of (root, python, sizeof python);
  snprintf (script, sizeof script, "%s/lto_wrapper/__main__.py", root);
  /* -I -S: neither the user's PYTHONPATH nor site-packages' start-up hooks get into a link, or cost it time.  */
  words[count++] = python;
  words[count++] = (char *) "-I";
  words[count++] = (char *) "-S";
  words[count++] = script;
  if (begun != NULL)
    words[count++] = (char *) begun;
  if (store != NULL)
    words[count++] = (char *) store;
  for (int i = 1; i < argc; i++)
    words[count++] = argv[i];
  execvp (python, words);
  if (asked != NULL && asked[0])
    fprintf (stderr, "lto-wrapper: fatal error: cannot run %s: %s\n", asked, strerror (errno));
  else
    {
      words[0] = (char *) "python3";
      execvp (words[0], words);
      fprintf (stderr, "lto-wrapper: fatal error: no %s in PATH: set GOMPY_PYTHON to a Python\n", GOMPY_PYTHON_NAME);
    }
  return 1;
}

/* Have Python do it, which gets what has BEGUN.  */
static int
finish (int argc, char **argv, const char *begun, const char *store)
{
  int status = become_python (argc, argv, begun, store);
  if (begun != NULL)
    give_up ();
  return status;
}

int
main (int argc, char **argv)
{
  static const char option[] = "--store=";
  static char store[200] = "--store=";
  uint8_t key[GOMPY_DIGEST];
  char name[2 * GOMPY_DIGEST + 1];
  const char *begun;
  struct link link = { 0 };
  struct timespec now;
  int folder = -1, plain;
  clock_gettime (CLOCK_REALTIME, &now);
  plain = argc == 2 && read_link (argv[1], &link);
  if (plain && is_wanted () && link_key (&link, key))
    folder = gompy_cache_folder ("links", 1);
  if (folder < 0)
    return finish (argc, argv, plain ? begin (&link) : NULL, NULL);
  entry_name (key, name);
  if (answer (folder, name, key))
    {
      unlink (link.list);
      return 0;
    }
  begun = begin (&link);                /* before Python's descriptor of the folder can be inherited */
  entry_word (name, folder, &now, store + sizeof option - 1, sizeof store - sizeof option);
  return finish (argc, argv, begun, store);
}

/* Names of C++ functions in messages.  The program's own libstdc++ knows them; a program without one has none.  */
#ifndef GOMPY_CXX_NAMES_H
#define GOMPY_CXX_NAMES_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the parameters begin: the parenthesis that the last one closes; NULL if there are none.  */
static char *
gompy_parameters (char *name)
{
  char *last = strrchr (name, ')');
  int depth = 0;
  for (char *p = last; p && p > name; p--)
    {
      depth += (*p == ')') - (*p == '(');
      if (depth == 0)
        return p;
    }
  return NULL;
}

/* Behind a template's return type: the last blank that no bracket encloses, but for `operator new' and its like.  */
static char *
gompy_behind_type (char *name)
{
  char *found = name;
  int depth = 0;
  for (char *p = name; *p; p++)
    {
      if (strchr ("<([{", *p))
        depth++;
      else if (strchr (">)]}", *p))
        depth--;
      else if (*p == ' ' && depth == 0)
        found = p + 1;
    }
  return strstr (name, "operator") ? name : found;
}

/* Make `_Z5scaleIfEvPT_._omp_fn.0' `scale<float>._omp_fn.0'.  Any other name, and one that would be longer than the
   room, stays as it is.  */
static void
gompy_readable_name (char *name, size_t room)
{
  char *(*demangle) (const char *, char *, size_t *, int *);
  char stem[1024], *suffix, *plain;
  if (strncmp (name, "_Z", 2) || strlen (name) >= sizeof stem
      || !(*(void **) &demangle = dlsym (RTLD_DEFAULT, "__cxa_demangle")))
    return;
  suffix = strchr (name, '.');
  if (!suffix)
    suffix = name + strlen (name);
  snprintf (stem, sizeof stem, "%.*s", (int) (suffix - name), name);
  plain = demangle (stem, NULL, NULL, NULL);
  if (plain)
    {
      char *end = gompy_parameters (plain), *last = end ? strrchr (end, ')') : NULL;
      if (last && strncmp (last + 1, "::", 2) == 0)     /* a variable of the function's */
        memmove (end, last + 1, strlen (last));
      else if (end)
        *end = 0;
      snprintf (stem, sizeof stem, "%s", suffix);
      end = gompy_behind_type (plain);
      if (strlen (end) + strlen (stem) < room)
        strcat (strcpy (name, end), stem);
    }
  free (plain);
}

#endif

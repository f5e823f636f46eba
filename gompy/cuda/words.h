/* Messages in the program's own words: '_Z7reversePi' is 'reverse' where the program has the C++ library's demangler.
   The runtime, which looks through messages for names, gets them as they are.  */
#ifndef GOMPY_CUDA_WORDS_H
#define GOMPY_CUDA_WORDS_H

#include "../plugins/cxx_names.h"

enum { GOMPY_WORDS_ROOM = 8192, GOMPY_WORDS_NAME = 1024 };

/* Write a message with each name of C++'s in quotes made readable, in one piece.  */
static void
gompy_say (const char *kind, const char *text)
{
  char all[GOMPY_WORDS_ROOM], name[GOMPY_WORDS_NAME];
  size_t used = 0;
  const char *quote, *end, *stem;
  while (used < sizeof all && (quote = strstr (text, "'_Z")) != NULL && (end = strchr (quote + 1, '\'')) != NULL)
    {
      stem = quote + 1 + strcspn (quote + 1, "$'");     /* PTX has $ for the dot of GCC's own names */
      if ((size_t) (stem - quote) > sizeof name)
        stem = quote + 1;
      snprintf (name, sizeof name, "%.*s", (int) (stem - quote - 1), quote + 1);
      gompy_readable_name (name, sizeof name);
      used += (size_t) snprintf (all + used, sizeof all - used, "%.*s%s%.*s", (int) (quote + 1 - text), text, name,
                                 (int) (end - stem), stem);
      text = end;
    }
  if (used < sizeof all)
    snprintf (all + used, sizeof all - used, "%s", text);
  fprintf (stderr, "libcuda (gompy): %s: %s\n", kind, all);
}

#endif

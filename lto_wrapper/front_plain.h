/* What the front knows of a link whose device's compiler it may start: objects, options, and whether all is plain.
   Included by front_begin.h.  */
#include FRONT_TABLES
#include "front_streams.h"

#define OBJECTS_LIMIT 512
#define BYTES_LIMIT (32u << 20)
#define COUNT(table) (sizeof (table) / sizeof (table)[0])
static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

struct begun
{
  char folder[4096];
  pid_t pid;
  int errors, output;                   /* our ends of what it says; -1: not taken */
  pid_t guard;                          /* front_guard.h */
  int watched;                          /* by it; -1: there is none */
  int debug;                            /* the objects ask for debug information, and have it */
  struct object objects[OBJECTS_LIMIT];
  char *files[OBJECTS_LIMIT];           /* as the compiler gets them */
  size_t count;
  char *options[128];                   /* of the objects and the link */
  size_t given;
  char *words[OBJECTS_LIMIT + 160];
  size_t used;
  char *variables[3];                   /* with debug information: what is added to the environment */
};

static int
is_among (const char *text, const char *const *table, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (strcmp (text, table[i]) == 0)
      return 1;
  return 0;
}

/* Whether an accelerator compiler may be there: another one would be started then.  */
static int
has_accelerator (void)
{
  const char *home = getenv ("XDG_DATA_HOME"), *folders = getenv ("XDG_DATA_DIRS"), *user = getenv ("HOME");
  char path[4096], *list, *rest, *folder;
  int found;
  if (home != NULL && home[0])
    snprintf (path, sizeof path, "%s/" ACCEL_FOLDER, home);
  else if (user != NULL && user[0])
    snprintf (path, sizeof path, "%s/" USER_DATA "/" ACCEL_FOLDER, user);
  else
    return 1;                           /* the password file has it */
  found = access (path, F_OK) == 0;
  list = rest = strdup (folders != NULL && folders[0] ? folders : SYSTEM_DATA);
  while (!found && rest != NULL && (folder = strsep (&rest, ":")) != NULL)
    {
      snprintf (path, sizeof path, "%s/" ACCEL_FOLDER, folder);
      found = access (path, F_OK) == 0;
    }
  free (list);
  return found;
}

/* Whether this link is one of our images alone, with nothing that makes another command of it.  */
static int
is_plain (void)
{
  const char *options = getenv ("COLLECT_GCC_OPTIONS"), *targets = getenv ("OFFLOAD_TARGET_NAMES");
  const char *wanted = getenv ("GOMPY_LINK_AHEAD"), *accel = getenv ("GOMPY_ACCEL");
  const char *more = getenv ("GOMPY_OFFLOAD_OPTIONS"), *assembler = getenv ("COLLECT_AS_OPTIONS");
  char linker[64], path[4096];
  ssize_t length;
  sigset_t blocked;
  if (options == NULL || targets == NULL || strcmp (targets, INTELMIC_NAME) != 0 || getenv ("COLLECT_GCC") == NULL
      || getenv ("COMPILER_PATH") == NULL || (wanted != NULL && strcmp (wanted, "0") == 0)
      || (accel != NULL && accel[0] && strcmp (accel, "gcc") != 0 && strcmp (accel, "auto") != 0)
      || (more != NULL && more[0]) || (assembler != NULL && assembler[0]))
    return 0;
  for (size_t i = 0; i < COUNT (unusual); i++)
    if (strstr (options, unusual[i]) != NULL)
      return 0;
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl (fd, F_GETFD) < 0)
      return 0;
  sigprocmask (SIG_SETMASK, NULL, &blocked);
  for (size_t i = 0; i < COUNT (ending); i++)
    if (sigismember (&blocked, ending[i]))
      return 0;
  snprintf (linker, sizeof linker, "/proc/%d/exe", (int) getppid ());
  length = readlink (linker, path, sizeof path - 1);
  path[length > 0 ? length : 0] = 0;
  return strstr (path, "mold") == NULL && ((accel != NULL && strcmp (accel, "gcc") == 0) || !has_accelerator ());
}

static void
add_option (struct begun *begun, const char *word)
{
  if (begun->given < COUNT (begun->options))
    begun->options[begun->given++] = strdup (word);
}

/* The key by which options are told apart (gompy/tools/options.py), in so far as it is looked for here.  */
static void
key_of (const char *word, char *key, size_t size)
{
  const char *equals = strchr (word, '=');
  if (begins (word, "-O") && strspn (word + 2, "0123456789") == strlen (word + 2))
    snprintf (key, size, "O");
  else if (begins (word, "-g") && strspn (word + 2, "0123456789") == strlen (word + 2))
    snprintf (key, size, "g");
  else if (begins (word, "-fno-") || begins (word, "-mno-"))
    snprintf (key, size, "%c%s", word[1], word + 5);
  else
    snprintf (key, size, "%.*s", equals != NULL ? (int) (equals - word) : (int) strlen (word + 1), word + 1);
}

/* Take the options of a list in quotes that the compiler gets: an object's, if UNIT, or those of the link about
   messages.  0 if there is one of which more depends.  */
static int
add_options (struct begun *begun, const char *list, size_t size, int unit)
{
  char *text = strndup (list, size), *rest = text, *word, key[256];
  int levels_seen = 0, debug_seen = 0;
  int good = text != NULL && strlen (text) + 1 >= size && strchr (text, '\\') == NULL;
  while (good && rest != NULL && (word = strsep (&rest, " ")) != NULL)
    {
      size_t length = strlen (word);
      if (length == 0)
        continue;
      if (length < 2 || word[0] != '\'' || word[length - 1] != '\'')
        {
          good = !unit;                 /* a name with a blank, say */
          continue;
        }
      word[length - 1] = 0;
      word++;
      key_of (word, key, sizeof key);
      for (size_t i = 0; unit && good && i < COUNT (unusual_unit); i++)
        good = !begins (word, unusual_unit[i]);
      if (word[0] != '-' || key[0] == 0)
        continue;
      levels_seen += is_among (key, levels, COUNT (levels));
      if (unit && (levels_seen > 1 || strcmp (word, "-O") == 0))
        good = 0;                       /* merged, they become another one */
      debug_seen += unit && strcmp (key, "g") == 0;
      if (debug_seen > 1 || strcmp (word, "-g0") == 0)
        good = 0;
      if (!unit ? is_among (key, diagnostics, COUNT (diagnostics))
          : (key[0] == 'm' || is_among (key, passed, COUNT (passed))) && !is_among (word, dropped, COUNT (dropped))
            && strcmp (key, "foffload-abi=") != 0)
        add_option (begun, strcmp (word, "-fcf-protection") == 0 ? "-fcf-protection=full" : word);
    }
  free (text);
  begun->debug |= debug_seen;
  return good;
}

/* The options of all objects, which have to be the same.  */
static int
add_units (struct begun *begun)
{
  const char *first = NULL;
  size_t first_size = 0;
  int all_have_debug = 1;
  for (size_t i = 0; i < begun->count; i++)
    {
      const struct object *object = &begun->objects[i];
      const char *content = NULL;
      size_t size = 0;
      for (size_t section = 0; section < object->count && content == NULL; section++)
        if (strcmp (section_name (object, section), OPTS_SECTION) == 0)
          content = section_data (object, section, &size);
      all_have_debug &= object->debug;
      if (content == NULL || size == 0 || memchr (content, 0, size) != content + size - 1)
        return 0;
      if (first != NULL && (size != first_size || memcmp (content, first, size) != 0))
        return 0;
      first = content;
      first_size = size;
    }
  return first != NULL && add_options (begun, first, first_size, 1) && (!begun->debug || all_have_debug);
}

/* Read the objects of the plugin's list.  */
static int
read_objects (struct begun *begun, char *names)
{
  char *name = strsep (&names, "\n");
  unsigned long count = name != NULL ? strtoul (name, NULL, 10) : 0;
  size_t bytes = 0;
  if (count == 0 || count > OBJECTS_LIMIT)
    return 0;
  for (; begun->count < count; begun->count++)
    {
      if ((name = strsep (&names, "\n")) == NULL || name[0] == 0 || strchr (name, '@') != NULL)
        return 0;
      for (const char *byte = name; *byte; byte++)
        if (*byte < ' ' || *byte > '~')
          return 0;
      if (!read_object (&begun->objects[begun->count], name))
        return 0;
      if ((bytes += begun->objects[begun->count].size) > BYTES_LIMIT)
        return 0;
    }
  return 1;
}

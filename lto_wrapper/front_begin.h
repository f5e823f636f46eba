/* The device's compiler of a plain link, started before Python is.  Included by front.c.

   Python takes 15 ms to begin with, the compiler as long to be done: side by side they take half of it.  What is begun
   here is a guess at mkoffload's first command (mkoffload/intelmic.py, accel.py).  Python compares files and words with
   its own, and does it again if they differ (gompy/tools/begun.py).  So nothing depends on the guess but time, and
   whatever is unusual is not begun.  */
#include <sys/random.h>
#include <sys/wait.h>

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

static struct begun ahead;

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
add_word (struct begun *begun, const char *word)
{
  if (begun->used < COUNT (begun->words) - 1)
    begun->words[begun->used++] = strdup (word);
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

/* Make the folder, named as process.py names it.  */
static int
make_folder (struct begun *begun)
{
  const char *root = temporary_root ();
  unsigned number;
  for (int attempt = 0; attempt < 8; attempt++)
    {
      if (getrandom (&number, sizeof number, 0) != sizeof number
          || (size_t) snprintf (begun->folder, sizeof begun->folder, "%s%sgompy%08x", root,
                                root[strlen (root) - 1] == '/' ? "" : "/", number) >= sizeof begun->folder - 300)
        break;
      if (mkdir (begun->folder, 0700) == 0)
        return 1;
      if (errno != EEXIST)
        break;
    }
  begun->folder[0] = 0;
  return 0;
}

static int
write_below (const struct begun *begun, const char *name, const char *data, size_t size)
{
  char path[4096];
  int fd = (size_t) snprintf (path, sizeof path, "%s/%s", begun->folder, name) < sizeof path
           ? gompy_open (path, O_WRONLY | O_CREAT | O_EXCL, 0600) : -1;
  ssize_t count = 1;
  if (fd < 0)
    return 0;
  while (size > 0 && count > 0)
    {
      count = write (fd, data, size);
      if (count > 0)
        {
          data += count;
          size -= (size_t) count;
        }
    }
  return (close (fd) == 0) & (size == 0);
}

/* Write what the compiler reads, and the words of its command.  */
static int
write_files (struct begun *begun)
{
  struct ir_symbols symbols = { 0 };
  struct text text = { 0 };
  char file[4096];
  int good = 1;
  for (size_t i = 0; good && i < begun->count; i++)
    {
      struct object *object = &begun->objects[i];
      const char *slash = strrchr (object->name, '/');
      int from = snprintf (file, sizeof file, "%s/", begun->folder);
      good = (size_t) snprintf (file + from, sizeof file - (size_t) from, "%zu.%s", i,
                                slash != NULL ? slash + 1 : object->name) < 250
             && add_symbols (&symbols, object, (uint32_t) i);
      restore (object);
      good = good && write_below (begun, file + from, object->data, object->size);
      begun->files[i] = strdup (file);
      good = good && begun->files[i] != NULL;
    }
  return good && resolution (&symbols, begun->files, begun->count, &text)
         && write_below (begun, "x.res", text.data, text.used);
}

/* The first lto-wrapper in COMPILER_PATH that is not in our folder (linkcompiler.py, find_stock_wrapper).  */
static int
stock_wrapper (char *path, size_t size)
{
  char own[4096], *list = strdup (getenv ("COMPILER_PATH")), *rest = list, *folder;
  ssize_t length = readlink ("/proc/self/exe", own, sizeof own - 1);
  struct stat ours, status;
  int found = 0;
  own[length > 0 ? length : 0] = 0;
  if (strrchr (own, '/') != NULL)
    *strrchr (own, '/') = 0;
  if (stat (own, &ours) == 0)
    while (!found && rest != NULL && (folder = strsep (&rest, ":")) != NULL)
      found = (folder[0] && stat (folder, &status) == 0 && (status.st_dev != ours.st_dev || status.st_ino != ours.st_ino)
               && (size_t) snprintf (path, size, "%s%slto-wrapper", folder,
                                     folder[strlen (folder) - 1] == '/' ? "" : "/") < size
               && access (path, X_OK) == 0);
  free (list);
  return found;
}

/* The command for objects with debug information: GCC's own lto-wrapper, which gets the options by the environment
   (accel.py, _compile_with_debug).  */
static int
debug_command (struct begun *begun, const char *resolution_word, const char *output)
{
  struct text flags = { 0 };
  char path[4096];
  if (!stock_wrapper (path, sizeof path)
      || asprintf (&begun->variables[0], "COLLECT_GCC=%s", getenv ("COLLECT_GCC")) < 0)
    return 0;
  text_add (&flags, "COLLECT_GCC_OPTIONS=", strlen ("COLLECT_GCC_OPTIONS="));
  add_option (begun, "-o");
  add_option (begun, output);
  for (size_t i = 0; i < begun->given; i++)
    {
      if (begun->options[i] == NULL || strchr (begun->options[i], '\'') != NULL)
        return 0;
      text_add (&flags, i ? " '" : "'", i ? 2 : 1);
      text_add (&flags, begun->options[i], strlen (begun->options[i]));
      text_add (&flags, "'", 1);
    }
  text_add (&flags, "", 1);
  begun->variables[1] = flags.data;
  if (asprintf (&begun->variables[2], "TMPDIR=%s", begun->folder) < 0)  /* told to end, it leaves its files */
    return 0;
  add_word (begun, path);
  add_word (begun, resolution_word);
  add_word (begun, DYNAMIC_OUTPUT);
  for (size_t i = 0; i < begun->count; i++)
    add_word (begun, begun->files[i]);
  return flags.data != NULL;
}

/* The words of the command, and a file with them.  */
static int
compose (struct begun *begun)
{
  struct text words = { 0 };
  char resolution_word[sizeof begun->folder + 32], output[sizeof begun->folder + 8];
  snprintf (resolution_word, sizeof resolution_word, "-fresolution=%s/x.res", begun->folder);
  snprintf (output, sizeof output, "%s/x.o", begun->folder);
  for (size_t i = 0; i < COUNT (image_flags); i++)
    add_option (begun, image_flags[i]);
  if (begun->debug)
    {
      if (!debug_command (begun, resolution_word, output))
        return 0;
    }
  else
    {
      const char *const first[] = { getenv ("COLLECT_GCC"), "-xlto", "-c" };
      const char *const last[] = { resolution_word, DYNAMIC_OUTPUT, "-pipe" };
      for (size_t i = 0; i < COUNT (first); i++)
        add_word (begun, first[i]);
      for (size_t i = 0; i < begun->given; i++)
        add_word (begun, begun->options[i]);
      for (size_t i = 0; i < COUNT (last); i++)
        add_word (begun, last[i]);
      for (size_t i = 0; i < begun->count; i++)
        add_word (begun, begun->files[i]);
      add_word (begun, "-o");
      add_word (begun, output);
    }
  for (size_t i = 0; i < begun->used; i++)
    if (begun->words[i] != NULL)
      text_add_string (&words, begun->words[i]);
  for (size_t i = 0; i < COUNT (begun->variables); i++)
    if (begun->variables[i] != NULL)
      text_add_string (&words, begun->variables[i]);
  return words.data != NULL && write_below (begun, BEGUN_WORDS, words.data, words.used);
}

/* The environment of the device's compiler (job.py, device_environment); NULL without memory.  */
static char **
device_environment (char *const *more, size_t more_count)
{
  size_t count = 0, used = 0;
  char **kept;
  while (environ[count] != NULL)
    count++;
  kept = calloc (count + more_count + 1, sizeof *kept);
  for (size_t i = 0; kept != NULL && i < count; i++)
    {
      size_t length = strcspn (environ[i], "=");
      int goes = more[0] != NULL && length == strlen ("TMPDIR") && begins (environ[i], "TMPDIR");
      for (size_t at = 0; at < COUNT (cleared); at++)
        goes |= strlen (cleared[at]) == length && strncmp (environ[i], cleared[at], length) == 0;
      if (!goes)
        kept[used++] = environ[i];
    }
  for (size_t i = 0; kept != NULL && i < more_count; i++)
    if (more[i] != NULL)
      kept[used++] = more[i];
  return kept;
}

/* Delete what was made.  */
static void
delete_files (struct begun *begun)
{
  struct text path = { 0 };
  DIR *folder = begun->folder[0] ? gompy_opendir (begun->folder) : NULL;
  for (struct dirent *entry; folder != NULL && (entry = readdir (folder)) != NULL;)
    {
      path.used = 0;
      text_add (&path, begun->folder, strlen (begun->folder));
      text_add (&path, "/", 1);
      text_add_string (&path, entry->d_name);
      if (path.data != NULL && strcmp (entry->d_name, ".") != 0 && strcmp (entry->d_name, "..") != 0)
        unlink (path.data);
    }
  if (folder != NULL)
    closedir (folder);
  if (begun->folder[0])
    rmdir (begun->folder);
  free (path.data);
}

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
}

/* Begin the link of the objects in the plugin's list, if it is a plain one; the word for Python, or NULL.  The signals
   that end a link are blocked then.  */
static const char *
begin (const struct link *link)
{
  static char word[sizeof ahead.folder + 64];
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
          snprintf (word, sizeof word, BEGUN_OPTION "%d:%d:%d:%s", (int) ahead.pid, ahead.errors, ahead.output,
                    ahead.folder);
          return word;
        }
      delete_files (&ahead);
    }
  sigprocmask (SIG_SETMASK, &before, NULL);
  return NULL;
}

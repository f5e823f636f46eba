/* The device's compiler's command for a plain link: the folder, the files that it reads, its words and environment.
   Included by front_begin.h.  */
#include <sys/random.h>

static void
add_word (struct begun *begun, const char *word)
{
  if (begun->used < COUNT (begun->words) - 1)
    begun->words[begun->used++] = strdup (word);
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

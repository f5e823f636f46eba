/* The answer that an entry of the cache of links gives.  Included by front.c.

   What had a part in it: the compiler, linkers, assembler, libraries' folders, our own modules and objects.  */

/* Write a temporary file of that suffix; its name with a line's end into NAMES.  0 if that fails.  */
static int
write_object (const char *root, const char *suffix, const char *data, uint64_t size, struct text *names)
{
  char path[4096];
  size_t length = (size_t) snprintf (path, sizeof path, "%s/ccXXXXXX%s", root, suffix);
  int fd = length < sizeof path ? mkostemps (path, (int) strlen (suffix), O_CLOEXEC) : -1;
  if (fd < 0)
    return 0;
  text_add (names, path, length);
  text_add (names, "\n", 1);
  while (size > 0)
    {
      ssize_t count = write (fd, data, size);
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        break;
      data += count;
      size -= (uint64_t) count;
    }
  return (close (fd) == 0) & (size == 0);
}

/* Delete the files of those names.  */
static void
delete_all (struct text *names)
{
  text_add (names, "", 1);
  for (char *name = names->data != NULL ? strtok (names->data, "\n") : NULL; name != NULL; name = strtok (NULL, "\n"))
    unlink (name);
}

/* Have the objects, and tell the linker their names; whether all of that was done, else nothing is.  */
static int
give (struct reader *reader, uint64_t objects)
{
  const char *root = temporary_root ();
  struct text names = { 0 };
  sigset_t ending;
  int good = 1;
  size_t told = 0;
  sigemptyset (&ending);
  sigaddset (&ending, SIGINT);
  sigaddset (&ending, SIGTERM);
  sigaddset (&ending, SIGHUP);
  sigaddset (&ending, SIGQUIT);
  sigprocmask (SIG_BLOCK, &ending, NULL);  /* files of ours are not left over; a moment later they are the linker's */
  for (uint64_t i = 0; good && i < objects; i++)
    {
      const char *suffix = take_string (reader), *data;
      uint64_t size = take_number (reader);
      data = take (reader, size);
      good = suffix != NULL && strchr (suffix, '/') == NULL && data != NULL
             && write_object (root, suffix, data, size, &names);
    }
  while (good && names.data != NULL && told < names.used)
    {
      ssize_t count = write (STDOUT_FILENO, names.data + told, names.used - told);
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        break;
      told += (size_t) count;
    }
  good = good && names.data != NULL && told == names.used;
  if (!good)
    {
      delete_all (&names);
      sigprocmask (SIG_UNBLOCK, &ending, NULL);
    }
  free (names.data);
  return good;
}

/* Answer by the entry of that key, if there is one and all is as it was.  */
static int
answer (int folder, const char *name, const uint8_t key[GOMPY_DIGEST])
{
  struct reader reader;
  uint64_t objects;
  char *data = kept_entry (folder, name, ENTRY_MAGIC, key, &reader, &objects);
  int good = data != NULL && give (&reader, objects);
  free (data);
  return good;
}

/* An entry of the cache of links, and the answer that it gives.  Included by front.c.

   It is believed if it is whole, the key is its own, and each file that had a part in it is as it was: the compiler,
   linkers, assembler, libraries' folders, our own modules and objects.  */

struct reader
{
  const char *at, *end;
};

/* That many bytes of the entry, NULL if there are not as many.  */
static const char *
take (struct reader *reader, uint64_t size)
{
  const char *at = reader->at;
  if (size > (uint64_t) (reader->end - at))
    return NULL;
  reader->at += size;
  return at;
}

/* A number; all ones if there is none.  */
static uint64_t
take_number (struct reader *reader)
{
  uint64_t number = ~0ull;
  const char *at = take (reader, sizeof number);
  if (at != NULL)
    memcpy (&number, at, sizeof number);
  return number;
}

/* A string with its end, NULL if there is none.  */
static const char *
take_string (struct reader *reader)
{
  uint64_t length = take_number (reader);
  const char *at = length < 65536 ? take (reader, length + 1) : NULL;
  return at != NULL && at[length] == 0 && strlen (at) == length ? at : NULL;
}

/* Whether a file is as it was when the entry was written.  */
static int
is_as_it_was (const char *path, const struct state *was)
{
  struct stat status;
  if (stat (path, &status) != 0)
    return errno == ENOENT && was->inode == 0;
  return (status.st_ino == was->inode && (uint64_t) status.st_size == was->size
          && (uint64_t) status.st_ctim.tv_sec * 1000000000 + (uint64_t) status.st_ctim.tv_nsec == was->changed
          && (uint64_t) status.st_mtim.tv_sec * 1000000000 + (uint64_t) status.st_mtim.tv_nsec == was->modified);
}

/* Where temporary files go, as GCC chooses it (libiberty's make-temp-file.c).  */
static const char *
temporary_root (void)
{
  const char *folders[] = { getenv ("TMPDIR"), getenv ("TMP"), getenv ("TEMP"), "/tmp", "/var/tmp", "/usr/tmp" };
  struct stat status;
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
    if (folders[i] != NULL && folders[i][0] && access (folders[i], R_OK | W_OK | X_OK) == 0
        && stat (folders[i], &status) == 0 && S_ISDIR (status.st_mode))
      return folders[i];
  return ".";
}

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
  struct entry head;
  struct stat status;
  uint8_t check[GOMPY_DIGEST];
  size_t size;
  char *data;
  int good, fd = gompy_openat (folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
  if (fd < 0)
    return 0;
  if (fstat (fd, &status) != 0 || !gompy_is_ours (&status))
    {
      close (fd);
      return 0;
    }
  futimens (fd, NULL);                  /* in use: entry.py removes those that have not been for longest */
  data = whole_file (fd, &size);
  if (data == NULL)
    return 0;
  good = size >= sizeof head;
  if (good)
    {
      const size_t from = offsetof (struct entry, dependencies);
      memcpy (&head, data, sizeof head);
      gompy_blake (data + from, size - from, check);
      good = memcmp (head.magic, ENTRY_MAGIC, sizeof head.magic) == 0 && memcmp (head.key, key, sizeof head.key) == 0
             && memcmp (head.check, check, sizeof check) == 0;
    }
  reader.at = data + sizeof head;
  reader.end = data + size;
  for (uint64_t i = 0; good && i < head.dependencies; i++)
    {
      struct state state;
      const char *was = take (&reader, sizeof state), *path = take_string (&reader);
      if (was != NULL)
        memcpy (&state, was, sizeof state);
      good = was != NULL && path != NULL && is_as_it_was (path, &state);
    }
  good = good && give (&reader, head.objects);
  free (data);
  return good;
}

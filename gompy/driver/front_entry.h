/* What an entry tells, and becoming it.  Included by front.c; gompy/driver/memory.py writes entries:

   the compiler's path; the number of its words, then each: its number in the command, or all ones and the word;
   the number of variables, then each: its name, 0 where it is to be removed, else 1 and its value;
   the number of searches, then each: the number of a word that names a file, and the length of what must not be in that
   file, with its bytes.  */

/* Whether a file is not there, or has not got those bytes in it: of no other is known what Python would say.  */
static int
is_without (const char *name, const char *bytes, size_t length)
{
  static const char *last;
  static char *data;
  static size_t size;
  struct stat status;
  if (last != name)
    {
      free (data);
      data = NULL;
      last = name;
      if (stat (name, &status) != 0)
        {
          last = NULL;
          return errno == ENOENT;
        }
      if (S_ISREG (status.st_mode) && status.st_size <= LARGEST_SEARCHED)
        data = whole_file (gompy_open (name, O_RDONLY | O_NONBLOCK, 0), &size);
    }
  return data != NULL && memmem (data, size, bytes, length) == NULL;
}

/* The words that the entry tells; NULL if it is not to be believed.  */
static char **
told_words (struct reader *reader, int argc, char **argv)
{
  uint64_t count = take_number (reader);
  char **words = count <= (uint64_t) argc + 1000 ? calloc (count + 1, sizeof *words) : NULL;
  for (uint64_t i = 0; words != NULL && i < count; i++)
    {
      uint64_t place = take_number (reader);
      words[i] = place == ~0ull ? (char *) take_string (reader) : place < (uint64_t) argc ? argv[place] : NULL;
      if (words[i] == NULL)
        return NULL;
    }
  return words;
}

/* The environment that the entry tells, made of ours; NULL if there is none.  */
static char **
told_environment (struct reader *reader)
{
  uint64_t changes = take_number (reader);
  size_t count = 0;
  char **all;
  while (environ[count] != NULL)
    count++;
  all = changes < 1000 ? calloc (count + changes + 1, sizeof *all) : NULL;
  if (all == NULL)
    return NULL;
  memcpy (all, environ, count * sizeof *all);
  for (; changes; changes--)
    {
      const char *name = take_string (reader), *value = NULL;
      uint64_t set = take_number (reader);
      char *text = NULL;
      size_t length = name != NULL ? strlen (name) : 0, at = 0;
      if (name == NULL || set > 1 || (set && (value = take_string (reader)) == NULL)
          || (set && asprintf (&text, "%s=%s", name, value) < 0))
        return NULL;
      while (at < count && !(strncmp (all[at], name, length) == 0 && all[at][length] == '='))
        at++;
      if (text != NULL)
        {
          count += at == count;
          all[at] = text;
        }
      else if (at < count)
        memmove (all + at, all + at + 1, (count-- - at) * sizeof *all);
    }
  return all;
}

/* Whether the command's files are without what would make it another one.  */
static int
files_are_alike (struct reader *reader, int argc, char **argv)
{
  uint64_t count = take_number (reader);
  int good = count < 1u << 24;
  for (uint64_t i = 0; good && i < count; i++)
    {
      uint64_t place = take_number (reader), length = take_number (reader);
      const char *bytes = take (reader, length);
      good = bytes != NULL && place < (uint64_t) argc && is_without (argv[place], bytes, length);
    }
  return good;
}

/* Become what the entry of that key tells.  0 if there is none, 1 if this command is not like those that it is for.  */
static int
become_compiler (int folder, const char *name, const uint8_t key[GOMPY_DIGEST], int argc, char **argv)
{
  struct reader reader;
  uint64_t items;
  char **words = NULL, **all = NULL;
  const char *path;
  if (kept_entry (folder, name, ENTRY_MAGIC, key, &reader, &items) == NULL)
    return 0;
  path = take_string (&reader);
  if (path == NULL || (words = told_words (&reader, argc, argv)) == NULL
      || (all = told_environment (&reader)) == NULL || !files_are_alike (&reader, argc, argv))
    return 1;
  /* As Python leaves them, which cannot know how they were.  */
  signal (SIGPIPE, SIG_DFL);
  signal (SIGXFSZ, SIG_DFL);
  execve (path, words, all);
  return 1;
}

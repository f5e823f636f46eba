/* The name of a command's entry: a hash of its words, of which the names of files count by their kinds alone, of the
   program's path and of the environment as far as a plan depends on it.  Included by front.c.

   FRONT_TABLES (gompy/driver/front_tables.py) says which options take the next word, and what a file's kind is.  */

#define MOST_PLACES 60000               /* bytes; a word to Python has at most 128 KiB */
#define COUNT(array) (sizeof array / sizeof array[0])

/* Whether a command may be answered here: with rights that its caller has not, or with a standard descriptor that is
   closed, it may not.  */
static int
is_ordinary (void)
{
  const char *choice = secure_getenv ("GOMPY_COMMAND_CACHE");
  for (int fd = 0; fd <= STDERR_FILENO; fd++)
    if (!gompy_is_open (fd))
      return 0;
  return !gompy_privileged () && (choice == NULL || strcmp (choice, "0") != 0);
}

static int
is_one_of (const char *word, const char *const *words, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (words[i][1] == word[1] && strcmp (words[i], word) == 0)
      return 1;
  return 0;
}

/* The suffix of an input that is like all others with that suffix; NULL if it is not.  As os.path.splitext.  */
static const char *
kind_of (const char *name)
{
  const char *slash = strrchr (name, '/'), *base = slash != NULL ? slash + 1 : name, *dot = strrchr (base, '.');
  if (dot == NULL || strspn (base, ".") >= (size_t) (dot - base))
    return NULL;
  if (strncmp (base, NOT_ALIKE, sizeof NOT_ALIKE - 1) == 0)
    return NULL;
  return is_one_of (dot, inputs, COUNT (inputs)) ? dot : NULL;
}

/* A word of that sort into the key.  */
static void
add_word (struct text *text, char sort, const char *word)
{
  text_add (text, &sort, 1);
  text_add_string (text, word);
}

/* Note that the word of that number counts by its kind: the negative number, if it has none.  */
static void
add_place (struct text *places, int number)
{
  char digits[16];
  text_add (places, digits, (size_t) snprintf (digits, sizeof digits, "%s%d", places->used ? "," : "", number));
}

/* The key of a command; whether it has one.  PLACES are the numbers of the words that count by their kinds.  */
static int
line_key (int argc, char **argv, const char *own, uint8_t key[GOMPY_DIGEST], struct text *places)
{
  struct text text = { 0 };
  const char *option = NULL;
  char *folder = own[0] == '/' ? NULL : getcwd (NULL, 0);
  int good = own[0] == '/' || folder != NULL;
  text_add_string (&text, PROGRAM);
  text_add_string (&text, folder != NULL ? folder : "");
  text_add_string (&text, own);
  for (int i = 1; good && i < argc; i++)
    {
      const char *word = argv[i], *before = option, *kind;
      option = NULL;
      good = word[0] != '@' && strchr (word, MARK) == NULL;
      if (before != NULL && is_one_of (before, names, COUNT (names)))
        {
          add_word (&text, 'n', "");
          add_place (places, -i);
        }
      else if (before != NULL)
        add_word (&text, 'w', word);
      else if (word[0] == '-' && word[1])
        {
          add_word (&text, 'w', word);
          option = is_one_of (word, separate, COUNT (separate)) ? word : NULL;
        }
      else if ((kind = kind_of (word)) != NULL)
        {
          add_word (&text, 'i', kind);
          add_place (places, i);
        }
      else
        add_word (&text, 'w', word);
    }
  text_add (&text, "", 1);
  text_add_environment (&text, concerned, COUNT (concerned));
  text_add (places, "", 1);
  good = good && text.data != NULL && places->data != NULL && places->used < MOST_PLACES;
  if (good)
    gompy_blake (text.data, text.used, key);
  free (text.data);
  free (folder);
  return good;
}

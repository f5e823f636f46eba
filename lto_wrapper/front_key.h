/* The name of a link's entry: a hash of all that the images are made of but for the tools, which the entry itself names
   (front_entry.h).  Included by front.c.

   Those are the words of the call, the objects with device code, byte by byte and by their names, the folder, and the
   environment as far as compilers, linkers and we read it.  */
#include <ctype.h>

/* Variables by the beginning of their names.  PATH, HOME and the XDG folders lead to tools.  */
static const char *const concerned[] = {
  "COLLECT_", "COMPILER_PATH=", "GCC_", "GNUTARGET=", "GOMPY_", "HOME=", "LANG", "LC_", "LD", "LIBRARY_PATH=", "NIX_",
  "OFFLOAD_", "PATH=", "SOURCE_DATE_EPOCH=", "XDG_DATA_" };

struct link
{
  char *words;                          /* of the plugin's file, a line each */
  char *list;                           /* the file with the names of objects */
  char *names;                          /* its text */
  char *objects;                        /* the same once more */
};

/* Whether links are looked up and kept: GOMPY_LINK_CACHE=0 says no.  */
static int
is_wanted (void)
{
  const char *choice = getenv ("GOMPY_LINK_CACHE");
  return choice == NULL || strcmp (choice, "0") != 0;
}

/* Take out, in place, the backslashes that the plugin sets before blanks and quotes (libiberty's writeargv).  Whether
   each line is one word then, which it is not with quotes or a newline of its own.  */
static int
unescape (char *text)
{
  char *to = text;
  for (; *text; text++)
    {
      if (*text == '\\' ? *++text == 0 || *text == '\n' : strchr ("'\" \t\v\f\r", *text) != NULL)
        return 0;
      *to++ = *text;
    }
  *to = 0;
  return 1;
}

/* Read the plugin's words and list; whether there is nothing in them but a link of objects that are not LTO's.  */
static int
read_link (const char *word, struct link *link)
{
  static const char list[] = "-foffload-objects=";
  size_t size;
  char *rest;
  if (word[0] != '@' || (link->words = whole_file (gompy_open (word + 1, O_RDONLY, 0), &size)) == NULL
      || strlen (link->words) != size || !unescape (link->words))
    return 0;
  rest = strdup (link->words);
  for (char *line = rest != NULL ? strtok (rest, "\n") : NULL; line != NULL; line = strtok (NULL, "\n"))
    if (strncmp (line, list, sizeof list - 1) == 0)
      link->list = line + sizeof list - 1;
    else if (strncmp (line, "-fresolution=", 13) != 0 && strcmp (line, "-flinker-output=pie") != 0
             && strcmp (line, "-flinker-output=exec") != 0 && strcmp (line, "-flinker-output=dyn") != 0)
      return 0;
  if (link->list == NULL || (link->names = whole_file (gompy_open (link->list, O_RDONLY, 0), &size)) == NULL)
    return 0;
  link->objects = strdup (link->names);
  return strlen (link->names) == size && link->objects != NULL;
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

/* Whether that is an object which gcc makes and deletes when it compiles and links at once.  As process.py's.  */
static int
is_temporary (const char *name)
{
  const char *slash = strrchr (name, '/'), *base = slash != NULL ? slash + 1 : name;
  struct stat folder, root;
  char path[4096];
  if (slash == NULL || strncmp (base, "cc", 2) != 0 || strcspn (base, ".") != 8 || strchr (base, '@') != NULL
      || (size_t) (base - name) >= sizeof path)
    return 0;
  for (int i = 2; i < 8; i++)
    if (!isalnum ((unsigned char) base[i]))
      return 0;
  memcpy (path, name, (size_t) (base - name));
  path[base - name] = 0;
  return (stat (path, &folder) == 0 && stat (temporary_root (), &root) == 0 && folder.st_dev == root.st_dev
          && folder.st_ino == root.st_ino);
}

/* The object's name and contents into the text; archives whole, and once for all members that follow one another.
   gcc's temporary objects have another name each time, by which nothing goes: messages have the source's.  */
static int
add_object (struct text *text, const char *name, char **last)
{
  uint8_t digest[GOMPY_DIGEST];
  const char *at = strrchr (name, '@');
  char *data, *path = strdup (name);
  size_t size;
  text_add_string (text, is_temporary (name) ? "" : name);
  if (path == NULL)
    return 0;
  if (at != NULL && strncmp (at, "@0x", 3) == 0)
    path[at - name] = 0;
  if (*last != NULL && strcmp (*last, path) == 0)
    {
      free (path);
      return 1;
    }
  free (*last);
  *last = path;
  if ((data = whole_file (gompy_open (path, O_RDONLY | O_NONBLOCK, 0), &size)) == NULL)
    return 0;
  gompy_blake (data, size, digest);
  free (data);
  text_add (text, digest, sizeof digest);
  return 1;
}

/* The key of a link; whether it has one.  */
static int
link_key (struct link *link, uint8_t key[GOMPY_DIGEST])
{
  struct text text = { 0 };
  char path[4096], linker[64], *last = NULL, *names = link->names, *words = link->words;
  const char *name = strsep (&names, "\n"), *line;
  ssize_t length;
  int good = name != NULL && getcwd (path, sizeof path) != NULL;
  text_add_string (&text, good ? path : "");
  text_add_string (&text, name != NULL ? name : "");  /* how many objects there are */
  snprintf (linker, sizeof linker, "/proc/%d/exe", (int) getppid ());  /* it decides on the order */
  length = readlink (linker, path, sizeof path - 1);
  path[length > 0 ? length : 0] = 0;
  text_add_string (&text, path);
  while ((line = strsep (&words, "\n")) != NULL)
    if (strncmp (line, "-flinker-output=", 16) == 0)
      text_add_string (&text, line);
  text_add_environment (&text, concerned, sizeof concerned / sizeof concerned[0]);
  while (good && (name = strsep (&names, "\n")) != NULL)
    good = name[0] == 0 || add_object (&text, name, &last);
  free (last);
  good = good && text.data != NULL;
  if (good)
    gompy_blake (text.data, text.used, key);
  free (text.data);
  return good;
}

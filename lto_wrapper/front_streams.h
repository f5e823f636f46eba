/* Objects with device code as gcc's own lto1 reads them: what gompy/objects/lto.py does to them.  Included by
   front_begin.h.

   An object that is not as objects of gompcc are, or is damaged, is none; Python says what is wrong with it.  */
#include <elf.h>

struct object
{
  const char *name;
  char *data;
  size_t size;
  const Elf64_Shdr *sections;
  size_t count;
  const char *names;                    /* of sections, with an end */
  size_t names_size;
  int debug;                            /* it has what debug information of the compiler's refers to */
};

/* One entry of a stream of symbols.  */
struct ir_symbol
{
  const char *name, *stream;            /* the unit's id, as hexadecimal digits */
  uint64_t size;
  uint32_t slot, object;
  int kind;
};

struct ir_symbols
{
  struct ir_symbol *all;
  size_t used, room;
  struct ir_symbol **chosen;            /* by the names' hash; NULL: free */
  size_t places;
};

static const char *
section_name (const struct object *object, size_t index)
{
  uint32_t at = object->sections[index].sh_name;
  return at < object->names_size ? object->names + at : "";
}

/* The bytes of a section; NULL if they are not all there.  */
static const char *
section_data (const struct object *object, size_t index, size_t *size)
{
  const Elf64_Shdr *section = &object->sections[index];
  *size = section->sh_size;
  if (section->sh_type == SHT_NOBITS || section->sh_offset > object->size
      || section->sh_size > object->size - section->sh_offset)
    return NULL;
  return object->data + section->sh_offset;
}

static int
begins (const char *text, const char *beginning)
{
  return strncmp (text, beginning, strlen (beginning)) == 0;
}

/* Read an object; whether it is one that the compiler will read as it is, but for the names of streams.  */
static int
read_object (struct object *object, const char *name)
{
  const Elf64_Ehdr *head;
  int streams = 0;
  object->name = name;
  object->data = whole_file (gompy_open (name, O_RDONLY | O_NONBLOCK, 0), &object->size);
  head = (const Elf64_Ehdr *) object->data;
  if (head == NULL || object->size < sizeof *head || memcmp (head->e_ident, ELFMAG, SELFMAG) != 0
      || head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_ident[EI_DATA] != ELFDATA2LSB || head->e_type != ET_REL
      || head->e_shentsize != sizeof (Elf64_Shdr) || head->e_shnum == 0 || head->e_shoff % 8 != 0
      || head->e_shoff > object->size || head->e_shnum > (object->size - head->e_shoff) / sizeof (Elf64_Shdr)
      || head->e_shstrndx >= head->e_shnum)
    return 0;
  object->sections = (const Elf64_Shdr *) (object->data + head->e_shoff);
  object->count = head->e_shnum;
  object->names = section_data (object, head->e_shstrndx, &object->names_size);
  if (object->names == NULL || object->names_size == 0 || object->names[object->names_size - 1] != 0)
    return 0;
  for (size_t i = 0; i < object->count; i++)
    {
      uint32_t type = object->sections[i].sh_type;
      if (type == SHT_INIT_ARRAY || type == SHT_FINI_ARRAY || begins (section_name (object, i), STOCK_PREFIX))
        return 0;
      object->debug |= begins (section_name (object, i), DEBUG_PREFIX);
      streams += begins (section_name (object, i), OUR_PREFIX ".symtab.");
    }
  return streams > 0 && memmem (object->data, object->size, "_ZT", 3) == NULL;  /* C++'s classes */
}

/* Give the streams GCC's names, in place.  */
static void
restore (struct object *object)
{
  char *names = (char *) object->names;
  for (size_t i = 0; i < object->count; i++)
    if (begins (section_name (object, i), OUR_PREFIX))
      memcpy (names + object->sections[i].sh_name, STOCK_PREFIX, sizeof STOCK_PREFIX - 1);
}

/* Whether that is a stream's id.  */
static int
is_id (const char *text)
{
  size_t length = strlen (text);
  return length > 0 && length <= 16 && strspn (text, "0123456789abcdef") == length;
}

/* Take the symbols of an object in, before its streams have GCC's names; whether that can be done.  */
static int
add_symbols (struct ir_symbols *symbols, const struct object *object, uint32_t number)
{
  static const char start[] = OUR_PREFIX ".symtab.";
  for (size_t i = 0; i < object->count; i++)
    {
      const char *stream = section_name (object, i) + sizeof start - 1, *at, *end;
      size_t size;
      if (!begins (section_name (object, i), start) || !is_id (stream))
        continue;
      if ((at = section_data (object, i, &size)) == NULL)
        return 0;
      for (end = at + size; at < end;)
        {
          const char *name_end = memchr (at, 0, (size_t) (end - at));
          const char *tail = name_end != NULL ? memchr (name_end + 1, 0, (size_t) (end - name_end - 1)) : NULL;
          struct ir_symbol symbol = { .name = at, .stream = stream, .object = number };
          if (tail == NULL || end - tail - 1 < SYMBOL_TAIL)
            return 0;
          symbol.kind = (unsigned char) tail[1];
          memcpy (&symbol.size, tail + 3, sizeof symbol.size);
          memcpy (&symbol.slot, tail + 11, sizeof symbol.slot);
          at = tail + 1 + SYMBOL_TAIL;
          if (symbols->used == symbols->room)
            {
              struct ir_symbol *more;
              symbols->room = 2 * symbols->room + 64;
              more = reallocarray (symbols->all, symbols->room, sizeof *more);
              if (more == NULL)
                return 0;
              symbols->all = more;
            }
          symbols->all[symbols->used++] = symbol;
        }
    }
  return 1;
}

/* The place of a symbol's name among those that are chosen.  */
static struct ir_symbol **
place_of (struct ir_symbols *symbols, const char *name)
{
  uint64_t hash = 14695981039346656037ull;
  size_t at;
  for (const char *byte = name; *byte; byte++)
    hash = (hash ^ (unsigned char) *byte) * 1099511628211ull;
  for (at = hash & (symbols->places - 1); symbols->chosen[at] != NULL; at = (at + 1) & (symbols->places - 1))
    if (strcmp (symbols->chosen[at]->name, name) == 0)
      break;
  return &symbols->chosen[at];
}

static int
rank_of (const struct ir_symbol *symbol)
{
  return (size_t) symbol->kind < sizeof ranks / sizeof ranks[0] ? ranks[symbol->kind] : -1;
}

/* Choose of each symbol's definitions the one that the linker takes (lto.py, prevailing); whether there is memory.  */
static int
choose (struct ir_symbols *symbols)
{
  for (symbols->places = 64; symbols->places < 2 * symbols->used; symbols->places *= 2)
    ;
  symbols->chosen = calloc (symbols->places, sizeof *symbols->chosen);
  if (symbols->chosen == NULL)
    return 0;
  for (size_t i = 0; i < symbols->used; i++)
    {
      struct ir_symbol *symbol = &symbols->all[i], **place;
      if (rank_of (symbol) < 0)
        continue;
      place = place_of (symbols, symbol->name);
      if (*place == NULL || rank_of (symbol) > rank_of (*place)
          || (symbol->kind == KIND_COMMON && (*place)->kind == KIND_COMMON && symbol->size > (*place)->size))
        *place = symbol;
    }
  return 1;
}

/* The resolution file's text (lto.py, resolution_text).  FILES: the objects' names for the compiler.  */
static int
resolution (struct ir_symbols *symbols, char *const *files, size_t count, struct text *text)
{
  char line[64];
  size_t at = 0;
  if (!choose (symbols))
    return 0;
  text_add (text, line, (size_t) snprintf (line, sizeof line, "%zu\n", count));
  for (size_t file = 0; file < count; file++)
    {
      size_t end = at;
      while (end < symbols->used && symbols->all[end].object == file)
        end++;
      text_add (text, files[file], strlen (files[file]));
      text_add (text, line, (size_t) snprintf (line, sizeof line, " %zu\n", end - at));
      for (; at < end; at++)
        {
          const struct ir_symbol *symbol = &symbols->all[at], *winner = *place_of (symbols, symbol->name);
          const char *answer = winner == symbol ? PREVAILS : rank_of (symbol) >= 0 ? PREEMPTED
                               : winner != NULL ? RESOLVED : UNDEFINED;
          text_add (text, line, (size_t) snprintf (line, sizeof line, "%u %s %s ", symbol->slot, symbol->stream, answer));
          text_add (text, symbol->name, strlen (symbol->name));
          text_add (text, "\n", 1);
        }
    }
  return text->data != NULL;
}

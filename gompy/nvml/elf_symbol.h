/* Where a shared library has a symbol.  */
#ifndef GOMPY_NVML_ELF_SYMBOL_H
#define GOMPY_NVML_ELF_SYMBOL_H

#include "gompy/native/descriptors.h"
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The value of a symbol in the dynamic table of an ELF file that lies in memory, 0: it has none.  Nothing in the file
   is trusted.  */
static inline uint64_t
elf_symbol_in (const unsigned char *file, uint64_t size, const char *name)
{
  const Elf64_Ehdr *head = (const Elf64_Ehdr *) file;
  const Elf64_Shdr *sections = (const Elf64_Shdr *) (file + head->e_shoff);
  size_t length = strlen (name) + 1;
  if (memcmp (file, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_shoff > size
      || head->e_shoff % 8 || (size - head->e_shoff) / sizeof *sections < head->e_shnum)
    return 0;
  for (int i = 0; i < head->e_shnum; i++)
    {
      const Elf64_Shdr *table = &sections[i], *texts;
      if (table->sh_type != SHT_DYNSYM || table->sh_link >= head->e_shnum || table->sh_offset > size
          || table->sh_offset % 8 || table->sh_size > size - table->sh_offset)
        continue;
      texts = &sections[table->sh_link];
      if (texts->sh_offset > size || texts->sh_size > size - texts->sh_offset)
        continue;
      for (uint64_t n = 0; n < table->sh_size / sizeof (Elf64_Sym); n++)
        {
          const Elf64_Sym *symbol = (const Elf64_Sym *) (file + table->sh_offset) + n;
          if (symbol->st_shndx != SHN_UNDEF && texts->sh_size >= length && symbol->st_name <= texts->sh_size - length
              && memcmp (file + texts->sh_offset + symbol->st_name, name, length) == 0)
            return symbol->st_value;
        }
    }
  return 0;
}

/* The same for a file; 0, too, where it cannot be read.  It is not mapped: it may be cut off meanwhile.  */
static inline uint64_t
elf_symbol (const char *path, const char *name)
{
  uint64_t found = 0;
  struct stat about;
  unsigned char *file = NULL;
  int fd = gompy_open (path, O_RDONLY | O_NONBLOCK, 0);
  if (fd < 0)
    return 0;
  if (fstat (fd, &about) == 0 && S_ISREG (about.st_mode) && about.st_size > (off_t) sizeof (Elf64_Ehdr)
      && about.st_size < (off_t) 1 << 28 && (file = malloc (about.st_size)) != NULL
      && read (fd, file, about.st_size) == about.st_size)
    found = elf_symbol_in (file, about.st_size, name);
  free (file);
  close (fd);
  return found;
}

#endif

/* Names of what is at an address of the program or of a library, from that file's symbol table.  For messages: the file
   is opened and searched each time.  */
#ifndef GOMPY_NATIVE_HOST_SYMBOLS_H
#define GOMPY_NATIVE_HOST_SYMBOLS_H

#include "descriptors.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Whether n bytes at a file offset are inside a file of that size: it may be damaged.  */
static int
gompy_file_holds (uint64_t size, uint64_t offset, uint64_t n)
{
  return offset <= size && n <= size - offset;
}

/* The function or variable (kind: STT_*) that covers a link-time address in a symbol table of an ELF file, or NULL.  */
static const char *
gompy_symbol_in (const char *bytes, uint64_t size, uint64_t value, unsigned table_type, int kind, uint64_t *offset)
{
  const Elf64_Ehdr *elf = (const Elf64_Ehdr *) bytes;
  if (size < sizeof *elf || elf->e_shentsize != sizeof (Elf64_Shdr)
      || !gompy_file_holds (size, elf->e_shoff, (uint64_t) elf->e_shnum * sizeof (Elf64_Shdr)))
    return NULL;
  const Elf64_Shdr *sections = (const Elf64_Shdr *) (bytes + elf->e_shoff);
  for (unsigned i = 0; i < elf->e_shnum; i++)
    {
      if (sections[i].sh_type != table_type || sections[i].sh_link >= elf->e_shnum)
        continue;
      const Elf64_Shdr *strings = &sections[sections[i].sh_link];
      if (!gompy_file_holds (size, sections[i].sh_offset, sections[i].sh_size)
          || !gompy_file_holds (size, strings->sh_offset, strings->sh_size) || strings->sh_size == 0
          || bytes[strings->sh_offset + strings->sh_size - 1] != 0)
        continue;
      const Elf64_Sym *symbols = (const Elf64_Sym *) (bytes + sections[i].sh_offset);
      for (uint64_t j = 0; j < sections[i].sh_size / sizeof (Elf64_Sym); j++)
        if (ELF64_ST_TYPE (symbols[j].st_info) == kind && symbols[j].st_shndx != SHN_UNDEF
            && symbols[j].st_name < strings->sh_size && value >= symbols[j].st_value
            && (value - symbols[j].st_value < symbols[j].st_size || value == symbols[j].st_value))
          {
            *offset = value - symbols[j].st_value;
            return bytes + strings->sh_offset + symbols[j].st_name;
          }
    }
  return NULL;
}

/* The file that an address is in, open for reading, and the address as the file has it; -1 if there is none.  */
static int
gompy_file_of_host (uint64_t address, uint64_t *value)
{
  struct link_map *map = NULL;
  Dl_info info;
  Elf64_Ehdr elf;
  if (dladdr1 ((void *) address, &info, (void **) &map, RTLD_DL_LINKMAP) == 0 || map == NULL)
    return -1;
  /* For the program the loader has no name; dli_fname is the word that it was called with.  */
  int fd = gompy_open (map->l_name[0] ? map->l_name : "/proc/self/exe", O_RDONLY, 0);
  if (fd < 0)
    return -1;
  if (pread (fd, &elf, sizeof elf, 0) != sizeof elf || memcmp (elf.e_ident, ELFMAG, SELFMAG) != 0)
    {
      close (fd);
      return -1;
    }
  *value = elf.e_type == ET_EXEC ? address : address - (uint64_t) info.dli_fbase;
  return fd;
}

/* The function or variable at an address: its name and how far behind its begin the address is.  0: there is none, or
   the file is stripped.  */
static int
gompy_symbol_of_host (uint64_t address, int kind, char *name, size_t room, uint64_t *offset)
{
  uint64_t value;
  const char *found = NULL;
  int fd = gompy_file_of_host (address, &value);
  if (fd < 0)
    return 0;
  off_t size = lseek (fd, 0, SEEK_END);
  void *bytes = size > 0 ? mmap (NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  close (fd);
  if (bytes == MAP_FAILED)
    return 0;
  found = gompy_symbol_in (bytes, size, value, SHT_SYMTAB, kind, offset);
  if (found == NULL)
    found = gompy_symbol_in (bytes, size, value, SHT_DYNSYM, kind, offset);
  if (found != NULL)
    snprintf (name, room, "%s", found);
  munmap (bytes, size);
  return found != NULL;
}

#endif

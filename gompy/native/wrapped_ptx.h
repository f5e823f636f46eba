/* PTX that looks like machine code: plugins of LLVM 14 to 18 for CUDA take ELF files only, and hand them to the driver.
   gompy's emulated driver finds the text behind the header.  */

#ifndef GOMPY_WRAPPED_PTX_H
#define GOMPY_WRAPPED_PTX_H

#include <elf.h>
#include <string.h>

#define GOMPY_WRAPPED_PTX_HEAD sizeof (Elf64_Ehdr)
#define GOMPY_WRAPPED_PTX_MARK "GOMPY"

/* Make the header; the text follows, and ends with a NUL.  */
static inline void
gompy_wrap_ptx (void *to)
{
  Elf64_Ehdr head;
  memset (&head, 0, sizeof head);
  memcpy (head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_ident[EI_VERSION] = EV_CURRENT;
  memcpy (head.e_ident + EI_PAD, GOMPY_WRAPPED_PTX_MARK, sizeof GOMPY_WRAPPED_PTX_MARK);
  head.e_type = ET_EXEC;
  head.e_machine = EM_CUDA;
  head.e_version = EV_CURRENT;
  head.e_ehsize = sizeof head;
  head.e_phentsize = sizeof (Elf64_Phdr);
  head.e_shentsize = sizeof (Elf64_Shdr);
  memcpy (to, &head, sizeof head);
}

/* The text behind such a header, or NULL.  */
static inline const char *
gompy_wrapped_ptx (const void *image)
{
  const char *p = (const char *) image;
  if (memcmp (p, ELFMAG, SELFMAG) || memcmp (p + EI_PAD, GOMPY_WRAPPED_PTX_MARK, sizeof GOMPY_WRAPPED_PTX_MARK))
    return NULL;
  return p + GOMPY_WRAPPED_PTX_HEAD;
}

#endif

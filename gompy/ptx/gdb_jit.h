/* Compiled code told to gdb ("JIT Compilation Interface" of its manual): objects with lines of the source, for
   GOMPY_CUDA_DEBUG.  gdb finds the two symbols by their names.  */
#ifndef GOMPY_PTX_GDB_JIT_H
#define GOMPY_PTX_GDB_JIT_H

#include <elf.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { GOMPY_JIT_NONE, GOMPY_JIT_REGISTER, GOMPY_JIT_UNREGISTER };

struct jit_code_entry
{
  struct jit_code_entry *next_entry, *prev_entry;
  const char *symfile_addr;
  uint64_t symfile_size;
  const void *text;                     /* ours: of which code it is */
};

struct jit_descriptor
{
  uint32_t version, action_flag;
  struct jit_code_entry *relevant_entry, *first_entry;
};

struct jit_descriptor __jit_debug_descriptor __attribute__ ((used)) = { 1, GOMPY_JIT_NONE, NULL, NULL };

void __attribute__ ((noinline, used))
__jit_debug_register_code (void)
{
  __asm__ volatile ("" ::: "memory");   /* gdb has a breakpoint here */
}

static pthread_mutex_t gompy_jit_lock = PTHREAD_MUTEX_INITIALIZER;

/* Tell of the objects of a code file, which lies at TEXT: each of SIZE bytes at DATA behind its size.  */
static void
gompy_jit_add (const char *data, uint64_t size, const char *text)
{
  uint64_t at = 0, length;
  while (at + 8 < size)
    {
      memcpy (&length, data + at, 8);
      if (length < sizeof (Elf64_Ehdr) || length > size - at - 8)
	return;
      struct jit_code_entry *entry = calloc (1, sizeof *entry + length);
      if (!entry)
	return;
      char *copy = (char *) (entry + 1);
      memcpy (copy, data + at + 8, length);
      Elf64_Ehdr *head = (Elf64_Ehdr *) copy;
      if (head->e_shoff > length || (uint64_t) head->e_shnum * sizeof (Elf64_Shdr) > length - head->e_shoff)
	{
	  free (entry);
	  return;
	}
      Elf64_Shdr *sections = (Elf64_Shdr *) (copy + head->e_shoff);
      for (unsigned i = 0; i < head->e_shnum; i++)
	if (sections[i].sh_flags & SHF_ALLOC)
	  sections[i].sh_addr += (uint64_t) (uintptr_t) text;
      entry->symfile_addr = copy;
      entry->symfile_size = length;
      entry->text = text;
      pthread_mutex_lock (&gompy_jit_lock);
      entry->next_entry = __jit_debug_descriptor.first_entry;
      if (entry->next_entry)
	entry->next_entry->prev_entry = entry;
      __jit_debug_descriptor.first_entry = __jit_debug_descriptor.relevant_entry = entry;
      __jit_debug_descriptor.action_flag = GOMPY_JIT_REGISTER;
      __jit_debug_register_code ();
      pthread_mutex_unlock (&gompy_jit_lock);
      at += 8 + length;
    }
}

/* The code at TEXT goes.  */
static void
gompy_jit_drop (const char *text)
{
  pthread_mutex_lock (&gompy_jit_lock);
  for (struct jit_code_entry *next, *entry = __jit_debug_descriptor.first_entry; entry; entry = next)
    {
      next = entry->next_entry;
      if (entry->text != text)
	continue;
      *(entry->prev_entry ? &entry->prev_entry->next_entry : &__jit_debug_descriptor.first_entry) = next;
      if (next)
	next->prev_entry = entry->prev_entry;
      __jit_debug_descriptor.relevant_entry = entry;
      __jit_debug_descriptor.action_flag = GOMPY_JIT_UNREGISTER;
      __jit_debug_register_code ();
      free (entry);
    }
  pthread_mutex_unlock (&gompy_jit_lock);
}

#endif

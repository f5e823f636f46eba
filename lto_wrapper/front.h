/* What the parts of front.c share: how an entry of the cache of links is laid out (lto_wrapper/entry.py writes it).  */
#ifndef LTO_WRAPPER_FRONT_H
#define LTO_WRAPPER_FRONT_H

#include "gompy/native/kept_entries.h"

/* An item is an object: the length of its suffix, the suffix with its end, the bytes' number, the bytes.  */
#define ENTRY_MAGIC "gompylk1"

#endif

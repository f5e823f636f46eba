/* What is mapped at an address of this process.  */
#ifndef GOMPY_NATIVE_MAPPINGS_H
#define GOMPY_NATIVE_MAPPINGS_H

#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

/* From Linux 6.11 on the mapping at an address can be asked for: uapi/linux/fs.h, struct procmap_query.  */
struct gompy_mapping_query
{
  uint64_t size, query, address, begin, end, flags, page_size, offset, inode;
  uint32_t major, minor, name_size, build_id_size;
  uint64_t name, build_id;
};
#define GOMPY_MAPPING_QUERY _IOWR ('f', 17, struct gompy_mapping_query)
#define GOMPY_MAPPING_READ 1  /* of the flags */
#define GOMPY_MAPPING_WRITE 2
#define GOMPY_MAPPING_RW_PRIVATE 3 /* to be read and written, neither executable nor shared */
#define GOMPY_MAPPING_SHARED 8

/* FD: /proc/self/maps.  */
static inline int
gompy_ask_mapping (int fd, uintptr_t address, struct gompy_mapping_query *query)
{
  memset (query, 0, sizeof *query);
  query->size = sizeof *query;
  query->address = address;
  return ioctl (fd, GOMPY_MAPPING_QUERY, query) == 0;
}

/* From Linux 6.13 on pages of a mapping may be guards, without access, which the mapping does not tell.  Source:
   uapi/linux/fs.h, struct pm_scan_arg.  */
struct gompy_page_scan
{
  uint64_t size, flags, start, end, walked, found, room, most, inverted, all_of, any_of, told;
};
#define GOMPY_PAGE_SCAN _IOWR ('f', 16, struct gompy_page_scan)
#define GOMPY_PAGE_IS_GUARD (1u << 8)  /* from 6.15 on */
#define GOMPY_GUARD_INSTALL 102        /* MADV_GUARD_INSTALL */

/* Whether this system has guards.  */
static inline int
gompy_has_guards (uintptr_t page)
{
  return madvise ((void *) page, 0, GOMPY_GUARD_INSTALL) == 0;
}

/* Whether some page of a range is one, or may be.  FD: /proc/self/pagemap, or negative.  */
static inline int
gompy_may_be_guarded (int fd, uintptr_t page, uintptr_t end)
{
  uint64_t found[3];
  struct gompy_page_scan scan = { .size = sizeof scan, .start = page, .end = end, .found = (uint64_t) (uintptr_t) found,
                                  .room = 1, .most = 1, .all_of = GOMPY_PAGE_IS_GUARD, .told = GOMPY_PAGE_IS_GUARD };
  return ioctl (fd, GOMPY_PAGE_SCAN, &scan) != 0;
}

#endif

/* What is mapped at an address of this process.  */
#ifndef GOMPY_NATIVE_MAPPINGS_H
#define GOMPY_NATIVE_MAPPINGS_H

#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

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

#endif

# What the library uses of the C library, and of gompy's.

from libc.errno cimport EPERM, errno
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdio cimport FILE, fclose, fprintf, snprintf, sscanf, stderr
from libc.stdlib cimport free, strtol
from libc.string cimport memcpy, memset, strchr, strcmp, strlen, strncmp, strrchr

from gompy.native.clock cimport now_ns
from gompy.native.cuda_status cimport *
from gompy.native.descriptors cimport gompy_fopen
from gompy.native.dlfcn cimport Dl_info, RTLD_LOCAL, RTLD_NOW, dladdr, dlerror, dlopen, dlsym
from gompy.native.gpu_description cimport gpu_description
from gompy.native.nvml cimport *
from gompy.native.pthread cimport pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock

cdef extern from *:
    """
    #include "gompy/native/descriptors.h"
    #include "gompy/nvml/elf_symbol.h"
    #include <dirent.h>
    #include <sys/uio.h>
    #include <time.h>
    #include <unistd.h>

    static pthread_mutex_t nvml_lock = PTHREAD_MUTEX_INITIALIZER;

    /* Bytes of another process's memory.  Returns 1, or 0 with errno set.  */
    static inline int read_process (int pid, uint64_t address, void *to, size_t size)
    {
      struct iovec here = { to, size }, there = { (void *) address, size };
      ssize_t n = process_vm_readv (pid, &here, 1, &there, 1, 0);
      if (n >= 0 && (size_t) n != size)
        errno = EFAULT;
      return n >= 0 && (size_t) n == size;
    }

    static inline uint64_t microseconds_since_1970 (void)
    {
      struct timespec now;
      clock_gettime (CLOCK_REALTIME, &now);
      return now.tv_sec * UINT64_C (1000000) + now.tv_nsec / 1000;
    }

    static inline void sleep_ns (long ns)
    {
      struct timespec until = { 0, ns };
      nanosleep (&until, NULL);
    }
    """
    ctypedef struct DIR:
        pass
    struct dirent:
        char *d_name
    DIR *gompy_opendir(const char *path) nogil
    dirent *readdir(DIR *folder) nogil
    int closedir(DIR *folder) nogil
    ssize_t getline(char **line, size_t *room, FILE *f) nogil
    ssize_t readlink(const char *path, char *to, size_t size) nogil
    pthread_mutex_t nvml_lock
    uint64_t elf_symbol(const char *path, const char *name) nogil
    bint read_process(int pid, uint64_t address, void *to, size_t size) nogil
    void sleep_ns(long ns) nogil
    uint64_t microseconds_since_1970() nogil

# How descriptors are made: gompy/native/descriptors.h.

from libc.stdio cimport FILE

cdef extern from "gompy/native/descriptors.h" nogil:
    int O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_NOFOLLOW, O_DIRECTORY, O_NONBLOCK
    int gompy_raised(int fd, int least)
    int gompy_open(const char *path, int flags, unsigned mode)
    int gompy_openat(int folder, const char *path, int flags, unsigned mode)
    int gompy_open_to_append(const char *path)
    int gompy_open_to_replace(const char *path)
    FILE *gompy_fopen(const char *path)
    int gompy_memfd(const char *name)
    int gompy_pipe(int *ends)
    int gompy_socket(int family, int type)
    int gompy_place_for_child(int fd, int number)
    int gompy_again(int fd, int least)
    void gompy_path_of(int fd, char *path, size_t size)
    int gompy_appends(int fd)
    int gompy_pidfd(int pid)
    void gompy_close_on_exec(int fd)
    struct gompy_kept:
        int fd
    void gompy_keep(gompy_kept *kept, int fd)
    bint gompy_still_ours(const gompy_kept *kept)
    void gompy_close_kept(gompy_kept *kept)
    struct gompy_written:
        pass
    bint gompy_begin_written(gompy_written *file, const char *path, int fd, int flags)
    int gompy_fd_of_written(gompy_written *file)

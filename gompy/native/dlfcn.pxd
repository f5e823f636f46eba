# The dynamic linker's functions.

cdef extern from "<dlfcn.h>" nogil:
    ctypedef struct Dl_info:
        const char *dli_fname
        void *dli_fbase
        const char *dli_sname
        void *dli_saddr
    int RTLD_LAZY, RTLD_NOW, RTLD_NOLOAD, RTLD_LOCAL, RTLD_GLOBAL
    void *RTLD_DEFAULT
    void *RTLD_NEXT
    void *dlopen(const char *file, int flags)
    void *dlsym(void *handle, const char *name)
    int dlclose(void *handle)
    char *dlerror()
    int dladdr(const void *address, Dl_info *info)

# The environment and what children get of it: gompy/native/environment.h.

cdef extern from "<spawn.h>" nogil:
    ctypedef struct posix_spawn_file_actions_t:
        pass

cdef extern from "gompy/native/environment.h" nogil:
    char *secure_getenv(const char *name)
    bint gompy_privileged()
    char **gompy_child_environ()
    char **gompy_child_environ_without(const char **beginnings, size_t count)
    const char *gompy_program(const char *program, char *path, size_t size)
    int gompy_spawnp(int *pid, const char *program, const posix_spawn_file_actions_t *actions, const void *attributes,
                     char **argv, char **envp)

# Threads, mutexes, thread-local keys.

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_cond_t:
        pass
    ctypedef struct pthread_attr_t:
        pass
    ctypedef unsigned long pthread_t
    int pthread_mutex_init(pthread_mutex_t *, void *)
    int pthread_mutex_lock(pthread_mutex_t *)
    int pthread_mutex_trylock(pthread_mutex_t *)
    int pthread_mutex_unlock(pthread_mutex_t *)
    int pthread_mutex_destroy(pthread_mutex_t *)
    int pthread_cond_destroy(pthread_cond_t *)
    int pthread_cond_init(pthread_cond_t *, void *)
    int pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *)
    int pthread_cond_signal(pthread_cond_t *)
    int pthread_cond_broadcast(pthread_cond_t *)
    int pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *) noexcept nogil, void *)
    int pthread_join(pthread_t, void **)
    int pthread_detach(pthread_t)
    pthread_t pthread_self()
    int pthread_setname_np(pthread_t, const char *)
    bint pthread_equal(pthread_t, pthread_t)
    int PTHREAD_CREATE_DETACHED
    int pthread_attr_init(pthread_attr_t *)
    int pthread_attr_destroy(pthread_attr_t *)
    int pthread_attr_getstacksize(const pthread_attr_t *, size_t *)
    int pthread_attr_setstacksize(pthread_attr_t *, size_t)
    int pthread_attr_setdetachstate(pthread_attr_t *, int)
    ctypedef unsigned pthread_key_t
    int pthread_key_create(pthread_key_t *, void (*)(void *) noexcept nogil)
    int pthread_setspecific(pthread_key_t, const void *)
    int pthread_atfork(void (*)() noexcept nogil, void (*)() noexcept nogil, void (*)() noexcept nogil)
    int PTHREAD_CANCEL_DISABLE
    int pthread_setcancelstate(int, int *)

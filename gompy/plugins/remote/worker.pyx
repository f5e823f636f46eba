# cython: language_level=3, cdivision=True, boundscheck=False, wraparound=False, initializedcheck=False
"""gompy-worker: drives one device for one client, on a connection that `gompy device serve` has accepted.

    gompy-worker SOCKET KIND FOLDER

SOCKET: a descriptor, after the handshake.  KIND: the plugin.  FOLDER: where images are kept by their hash.
docs/cluster.md describes the whole.
"""

include "libc.pxi"
include "packed.pxi"

from libc.stdio cimport fputs, stderr
from posix.stdlib cimport putenv, setenv
from posix.unistd cimport getpid, readlink, unlink

from gompy.native.atomics cimport add32, cas32, sub32

include "worker_talk.pxi"
include "worker_plugin.pxi"
include "worker_images.pxi"
include "worker_serve.pxi"


cdef void introduce_device() noexcept nogil:
    """The first frame: what the device is, or why there is none."""
    global introduced
    cdef remote_frame frame
    cdef remote_info info
    memset(&info, 0, sizeof(info))
    info.type = <uint32_t>driven.get_type()
    info.caps = driven.get_caps()
    frame.kind = REMOTE_INFO
    frame.status = 0
    frame.id = 0
    send_answer(&frame, &info, sizeof(info))
    introduced = True


cdef bint start_thread(void *(*run)(void *) noexcept nogil) noexcept nogil:
    cdef pthread_t thread
    return pthread_create(&thread, NULL, run, NULL) == 0 and pthread_detach(thread) == 0


cdef bint find_folder(char *folder, size_t room) noexcept nogil:
    """Where this program lies: its plugins are there."""
    cdef ssize_t n = readlink(b"/proc/self/exe", folder, room - 1)
    cdef char *slash
    if n <= 0:
        return False
    folder[n] = 0
    slash = strrchr(folder, c'/')
    slash[0] = 0
    return True


cdef public int main(int argc, char **argv) noexcept nogil:
    global client, cache_folder, chunk, last_later, runners
    cdef char folder[4096]
    if argc != 4:
        fputs(b"gompy-worker: error: started by gompy device serve only\n", stderr)
        return 1
    client = atoi(argv[1])
    cache_folder = argv[3]
    gompy_close_on_exec(client)
    tune_socket(client, 10000)
    pthread_mutex_init(&talk_lock, NULL)
    pthread_mutex_init(&print_lock, NULL)
    pthread_cond_init(&lead_news, NULL)
    pthread_mutex_init(&count_lock, NULL)
    pthread_mutex_init(&later_lock, NULL)
    pthread_cond_init(&later_news, NULL)
    pthread_mutex_init(&finish_lock, NULL)
    pthread_cond_init(&finish_news, NULL)
    last_later = &first_later
    chunk = <char *>malloc(CHUNK)
    setenv(b"OFFLOAD_EMUL_NUM", b"64", 1)  # the device has the number that the client gives it
    if chunk == NULL or not open_streams() or not find_folder(folder, sizeof(folder)) or \
            not open_plugin(folder, argv[2]) or driven.get_num_devices(0) <= 0:
        if reasons[0] == 0:
            snprintf(reasons, sizeof(reasons), b"it has no device of kind %s", argv[2])
        send_text(REMOTE_FAILED, 0, reasons, strlen(reasons))
        take_leave(1)
    introduce_device()
    on_exit(tell_exit, NULL)
    if not start_thread(pump_printed) or not start_thread(send_beats) or not start_thread(watch_threads) or \
            not start_thread(tell_slowly):
        refuse_frame(b"its worker cannot start a thread")
    runners = 1
    serve_frames(NULL)
    return 0

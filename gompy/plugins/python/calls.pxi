# Calls into the user's object, with the interpreter lock.  Nothing gets out of these as an exception.

import atexit as atexit_of_python

from gompy.plugins.python import dispatch
from gompy.plugins.python.device import Device, Image, Launch

cdef object device_object  # of the user's class
cdef dict images = {}  # (device, address of the target data): Image
cdef set active = set()  # initialised devices
cdef bytes device_name = b""


cdef void say_error(str text) noexcept:
    """One line through the runtime's error service."""
    cdef bytes line = f'device plugin "python": {text}'.encode("utf-8", "replace")
    GOMP_PLUGIN_error(b"%s", <const char *> line)


cdef void complain_method(str method, object error) noexcept:
    """A method failed."""
    try:
        say_error(dispatch.failure(device_object, method, error))
    except BaseException:  # its own __str__ may fail
        say_error(f"{method}: {type(error).__name__}")


cdef bint open_class(bint own, DeviceFacts *facts) noexcept with gil:
    """Make the user's object and read what does not change."""
    global device_object, device_name
    try:
        device_object = dispatch.open_device(own)
        device_name = device_object.name.encode()
        facts.name = <const char *> device_name
        facts.type = device_object.type
        facts.count = device_object.num_devices
        facts.capabilities = device_object.capabilities
        facts.asks_can_run = type(device_object).can_run is not Device.can_run
        if not own:
            atexit_of_python.register(finish)
        return True
    except BaseException as error:
        say_error(dispatch.text_of(error))
        return False


cdef bint call_init(int n) noexcept with gil:
    try:
        device_object.init(n)
        active.add(n)
        return True
    except BaseException as error:
        complain_method("init", error)
        return False


cdef bint call_fini(int n) noexcept with gil:
    try:
        active.discard(n)
        device_object.fini(n)
        for key in [key for key in images if key[0] == n]:
            del images[key]
        return True
    except BaseException as error:
        complain_method("fini", error)
        return False


cdef int call_load_image(int n, unsigned version, const void *target_data, AddrPair **table) noexcept with gil:
    cdef const ImageRange *image = <const ImageRange *> target_data
    cdef AddrPair *pairs
    cdef bytes data = b""
    cdef Py_ssize_t i
    try:
        if device_object.type == GOMP_DEVICE_INTEL_MIC:
            data = image.start[:image.end - image.start]
        made = Image(<uintptr_t> target_data, version & 0xFFFF, data)
        answer = dispatch.load_image(device_object, n, made)
        images[n, <uintptr_t> target_data] = made
        pairs = <AddrPair *> GOMP_PLUGIN_malloc((len(answer) + 1) * sizeof(AddrPair))
        for i in range(len(answer)):
            pairs[i].start, pairs[i].end = answer[i]
        pairs[len(answer)].start = pairs[len(answer)].end = 0  # it has no place for the device's number
        table[0] = pairs
        return <int> len(answer) + 1
    except BaseException as error:
        complain_method("load_image", error)
        return -1


cdef bint call_unload_image(int n, const void *target_data) noexcept with gil:
    try:
        image = images.pop((n, <uintptr_t> target_data), None)
        if image is not None:
            device_object.unload_image(n, image)
        return True
    except BaseException as error:
        complain_method("unload_image", error)
        return False


cdef void *call_alloc(int n, size_t size) noexcept with gil:
    try:
        return <void *> <uintptr_t> dispatch.alloc(device_object, n, size)
    except BaseException as error:
        complain_method("alloc", error)
        return NULL


cdef bint call_free(int n, void *address) noexcept with gil:
    try:
        device_object.free(n, <uintptr_t> address)
        return True
    except BaseException as error:
        complain_method("free", error)
        return False


cdef bint call_host2dev(int n, void *to, const void *data, size_t size) noexcept with gil:
    try:
        view = PyMemoryView_FromMemory(<char *> data, size, PyBUF_READ)
        device_object.host2dev(n, <uintptr_t> to, view)
        end_view(view)
        return True
    except BaseException as error:
        complain_method("host2dev", error)
        return False


cdef bint call_dev2host(int n, void *to, const void *address, size_t size) noexcept with gil:
    try:
        view = PyMemoryView_FromMemory(<char *> to, size, PyBUF_WRITE)
        device_object.dev2host(n, view, <uintptr_t> address)
        end_view(view)
        return True
    except BaseException as error:
        complain_method("dev2host", error)
        return False


cdef void end_view(object view) noexcept:
    """Make a view of the host's memory unusable, so that a use after the call raises ValueError."""
    try:
        view.release()
    except BufferError:  # an array on it is alive: documented as wrong, but the copy itself has been done
        pass


cdef bint call_dev2dev(int n, void *to, const void *address, size_t size) noexcept with gil:
    try:
        device_object.dev2dev(n, <uintptr_t> to, <uintptr_t> address, size)
        return True
    except BaseException as error:
        complain_method("dev2dev", error)
        return False


cdef bint call_can_run(void *function) noexcept with gil:
    try:
        return bool(device_object.can_run(<uintptr_t> function))
    except BaseException as error:
        complain_method("can_run", error)
        return False


cdef bint call_run(int n, void *function, void *variables, int64_t teams, int64_t threads,
                   char *reason) noexcept with gil:
    """Whether the region ran; if not, why."""
    cdef bytes line
    try:
        device_object.run(n, <uintptr_t> function, <uintptr_t> variables, Launch(teams, threads))
        return True
    except BaseException as error:
        try:
            line = dispatch.failure(device_object, "run", error).encode("utf-8", "replace")
        except BaseException:
            line = b"run: " + type(error).__name__.encode()
        snprintf(reason, REASON_SIZE, b"%s", <const char *> line)
        return False


def finish():
    """The interpreter is somebody else's and about to end, before the runtime finalises its devices."""
    global ended
    for n in sorted(active):
        call_fini(n)
    ended = 1


cdef void call_at_exit() noexcept with gil:
    try:
        dispatch.at_exit()
    except BaseException as error:
        say_error(dispatch.text_of(error))

# An interpreter for the process, if it has none.
#
# It is started without what would be seen in the user's program: no signal handlers, no locale, no environment variable
# but PYTHONPATH (dispatch.py), unbuffered streams.  It is never taken apart, as threads may be in it at exit.

cdef extern from "Python.h" nogil:
    ctypedef struct PyObject:
        pass
    ctypedef struct PyThreadState:
        pass
    ctypedef struct PyStatus:
        const char *err_msg
    ctypedef struct PyPreConfig:
        int utf8_mode
    ctypedef struct PyConfig:
        int install_signal_handlers
        int buffered_stdio
        wchar_t *executable
        wchar_t *program_name
    ctypedef enum PyGILState_STATE:
        pass
    int Py_file_input
    const char *PY_VERSION
    int PY_MAJOR_VERSION, PY_MINOR_VERSION
    int Py_IsInitialized()
    void PyPreConfig_InitIsolatedConfig(PyPreConfig *)
    void PyConfig_InitIsolatedConfig(PyConfig *)
    void PyConfig_Clear(PyConfig *)
    PyStatus Py_PreInitialize(const PyPreConfig *)
    PyStatus PyConfig_SetBytesString(PyConfig *, wchar_t **, const char *)
    PyStatus Py_InitializeFromConfig(const PyConfig *)
    int PyStatus_Exception(PyStatus)
    PyThreadState *PyEval_SaveThread()
    PyGILState_STATE PyGILState_Ensure()
    void PyGILState_Release(PyGILState_STATE)
    PyObject *PyDict_New()
    int PyDict_SetItemString(PyObject *, const char *, PyObject *)
    PyObject *PyDict_GetItemString(PyObject *, const char *)
    PyObject *PyEval_GetBuiltins()
    PyObject *PyUnicode_DecodeFSDefault(const char *)
    const char *PyUnicode_AsUTF8(PyObject *)
    PyObject *PyRun_String(const char *, int, PyObject *, PyObject *)
    void PyErr_Clear()
    void Py_XDECREF(PyObject *)

cdef enum:
    PATH_ROOM = 4300

cdef extern from *:
    """
    /* Runs in the namespace {library, root}; leaves why it failed in "error".  The plugin's own Python side is an
       extension module of the very file that is loaded already.  */
    static const char gompy_boot_script[] =
      "import sys\\n"
      "error = ''\\n"
      "sys.path.insert(0, root)\\n"
      "try:\\n"
      "    from importlib.machinery import ExtensionFileLoader\\n"
      "    from importlib.util import module_from_spec, spec_from_file_location\\n"
      "    import gompy.plugins.python.dispatch\\n"
      "    name = 'gompy.plugins.python.plugin'\\n"
      "    spec = spec_from_file_location(name, library, loader=ExtensionFileLoader(name, library))\\n"
      "    spec.loader.exec_module(module_from_spec(spec))\\n"
      "except BaseException as problem:\\n"
      "    error = f'{type(problem).__name__}: {problem}'\\n"
      "finally:\\n"
      "    sys.path.remove(root)\\n"
      "    if root not in sys.path:\\n"
      "        sys.path.append(root)\\n";
    """
    const char *gompy_boot_script

cdef bint own_interpreter


cdef const char *or_unknown(const char *text) noexcept nogil:
    if text == NULL:
        return b"unknown error"
    return text


cdef bint own_files(char *library, char *root) noexcept nogil:
    """The plugin's path, and the folder that has the package gompy: both 4096 bytes."""
    cdef Dl_info info
    cdef char *slash
    cdef int up
    if not dladdr(<void *> &own_files, &info) or realpath(info.dli_fname, library) == NULL:
        return False
    strcpy(root, library)
    for up in range(4):  # gompy/_native/lib/file
        slash = strrchr(root, c'/')
        if slash == NULL:
            return False
        slash[0] = 0
    return True


cdef bint fits_python(const char *prefix) noexcept nogil:
    """Whether a folder is a virtual environment of this version of Python."""
    cdef char path[PATH_ROOM]
    snprintf(path, sizeof(path), b"%s/lib/python%d.%d", prefix, PY_MAJOR_VERSION, PY_MINOR_VERSION)
    if access(path, X_OK) != 0:
        return False
    snprintf(path, sizeof(path), b"%s/pyvenv.cfg", prefix)
    return access(path, F_OK) == 0


cdef bint choose_python(const char *root, char *path) noexcept nogil:
    """The python that the interpreter is to be like: its packages are found.  path: PATH_ROOM bytes.

    GOMPY_PYTHON, else the active virtual environment, else the one that gompy is installed in or was built by.
    False if there is none: Python then takes what it was compiled for.
    """
    cdef char prefix[4200]
    cdef const char *value = secure_getenv(b"GOMPY_PYTHON")
    if value != NULL and value[0]:
        snprintf(path, PATH_ROOM, b"%s", value)
        return True
    value = secure_getenv(b"VIRTUAL_ENV")
    if value != NULL and fits_python(value):
        snprintf(path, PATH_ROOM, b"%s/bin/python", value)
        return True
    return gompy_python_of(root, path, PATH_ROOM)


cdef bint start_python(const char *root, char *reason) noexcept nogil:
    """Start the interpreter; afterwards no thread holds its lock."""
    cdef PyPreConfig before
    cdef PyConfig config
    cdef PyStatus status
    cdef Dl_info info
    cdef char path[PATH_ROOM]
    cdef const char *asked = secure_getenv(b"GOMPY_PYTHON")
    if asked != NULL and asked[0] and access(asked, X_OK) != 0:
        snprintf(reason, REASON_SIZE, b"GOMPY_PYTHON=%s is not a program", asked)
        return False
    # Extension modules look for Python's functions in the global scope, which a library of a plugin is not in.
    if dladdr(<void *> &Py_IsInitialized, &info) and info.dli_fname != NULL:
        dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL)
    PyPreConfig_InitIsolatedConfig(&before)
    before.utf8_mode = 1
    status = Py_PreInitialize(&before)
    if not PyStatus_Exception(status):
        PyConfig_InitIsolatedConfig(&config)
        config.install_signal_handlers = 0
        config.buffered_stdio = 0
        if choose_python(root, path):
            status = PyConfig_SetBytesString(&config, &config.executable, path)
            if not PyStatus_Exception(status):
                status = PyConfig_SetBytesString(&config, &config.program_name, path)
        if not PyStatus_Exception(status):
            status = Py_InitializeFromConfig(&config)
        PyConfig_Clear(&config)
    if PyStatus_Exception(status):
        snprintf(reason, REASON_SIZE, b"cannot start Python %s: %s", PY_VERSION,
                 or_unknown(status.err_msg))
        return False
    PyEval_SaveThread()
    return True


cdef bint import_own_side(const char *library, const char *root, char *reason) noexcept nogil:
    """Run the body of this very module, which makes the functions below that take the lock usable."""
    cdef PyGILState_STATE state = PyGILState_Ensure()
    cdef PyObject *names = PyDict_New()
    cdef PyObject *text = PyUnicode_DecodeFSDefault(library)
    cdef PyObject *folder = PyUnicode_DecodeFSDefault(root)
    cdef PyObject *result = NULL
    cdef const char *error = b"out of memory"
    if names != NULL and text != NULL and folder != NULL:
        PyDict_SetItemString(names, b"__builtins__", PyEval_GetBuiltins())
        PyDict_SetItemString(names, b"library", text)
        PyDict_SetItemString(names, b"root", folder)
        result = PyRun_String(gompy_boot_script, Py_file_input, names, names)
        error = NULL
        text_of_error(names, &error)
    if error == NULL or error[0]:
        snprintf(reason, REASON_SIZE, b"cannot load its Python side: %s", or_unknown(error))
    PyErr_Clear()
    Py_XDECREF(result)
    Py_XDECREF(text)
    Py_XDECREF(folder)
    # the namespace stays: what was imported from it may be in use
    PyGILState_Release(state)
    return error != NULL and error[0] == 0


cdef void text_of_error(PyObject *names, const char **error) noexcept nogil:
    """The boot script's verdict."""
    cdef PyObject *value = PyDict_GetItemString(names, b"error")
    if value != NULL:
        error[0] = PyUnicode_AsUTF8(value)


cdef bint boot_python(char *reason) noexcept nogil:
    """An interpreter, and the Python side of this plugin in it."""
    global own_interpreter
    cdef char library[4096]
    cdef char root[4096]
    if gompy_privileged():
        snprintf(reason, REASON_SIZE, b"not in a program with rights that its caller has not (set-user-ID)")
        return False
    if not own_files(library, root):
        snprintf(reason, REASON_SIZE, b"cannot tell where it is installed")
        return False
    if not Py_IsInitialized():
        own_interpreter = True
        if not start_python(root, reason):
            return False
    return import_own_side(library, root, reason)

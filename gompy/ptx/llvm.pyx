# cython: language_level=3
"""LLVM, through the C functions of llvmlite's library, without the GIL: loading it and compiling go on beside Python.

llvmlite's own Python modules are not imported: they take several times as long to load as LLVM itself, and the compiler
is started anew for each image.  The functions used are those that `llvmlite.binding` calls (llvmlite 0.46 and later).
"""

from libc.stdio cimport snprintf
from posix.dlfcn cimport RTLD_LOCAL, RTLD_NOW, dlerror, dlopen, dlsym

ctypedef void *(*pointer_0)() noexcept nogil
ctypedef void *(*pointer_1)(void *) noexcept nogil
ctypedef void *(*pointer_2)(void *, void *) noexcept nogil
ctypedef void *(*pointer_3)(void *, void *, void *) noexcept nogil
ctypedef void (*set_flag)(void *, bint) noexcept nogil
ctypedef void (*set_option)(const char *, const char *) noexcept nogil
ctypedef void *(*pipeline)(void *, int, int) noexcept nogil
ctypedef void *(*emit)(void *, void *, int, const char **) noexcept nogil
ctypedef int (*host_text)(const char **) noexcept nogil
ctypedef size_t (*size_of)(void *) noexcept nogil
ctypedef void *(*create_machine)(
    void *, const char *, const char *, const char *, int, const char *, const char *, int, int, const char *
) noexcept nogil

cdef const char *TRIPLE = "x86_64-unknown-linux-gnu"

cdef enum:
    MOST_PASSES = 16
    OBJECT = 1  # what TargetMachineEmitToMemory makes: machine code, not assembly

cdef struct functions:
    pointer_0 InitializeNativeTarget
    pointer_0 InitializeNativeAsmPrinter
    set_option SetCommandLine
    host_text GetHostCPUName
    host_text GetHostCPUFeatures
    pointer_2 GetTargetFromTriple
    create_machine CreateTargetMachine
    pointer_1 DisposeTargetMachine
    pointer_0 ContextCreate
    pointer_1 ContextDispose
    pointer_3 ParseAssembly
    pointer_1 DisposeModule
    pointer_0 CreatePipelineTuningOptions
    set_flag PTOSetLoopVectorization
    set_flag PTOSetSLPVectorization
    pointer_1 DisposePipelineTuningOptions
    pointer_2 CreatePassBuilder
    pointer_1 DisposePassBuilder
    pipeline buildPerModuleDefaultPipeline
    pointer_0 CreateNewModulePassManager
    pointer_1 DisposeNewModulePassManger  # as llvmlite spells it
    pointer_3 RunNewModulePassManager
    emit TargetMachineEmitToMemory
    pointer_1 GetBufferStart
    size_of GetBufferSize
    pointer_1 DisposeMemoryBuffer


class BackendError(Exception):
    """LLVM refuses what it was given: a mistake of the compiler's own."""


cdef void *handle = NULL
cdef functions llvm


cdef void *symbol(const char *name) noexcept nogil:
    """A function of llvmlite's library; NULL if it has none of this name."""
    cdef char full[128]
    snprintf(full, sizeof(full), "LLVMPY_%s", name)
    return dlsym(handle, full)


cdef object needed(const char *name, void **place):
    """Fill in one function's address; raises BackendError."""
    place[0] = symbol(name)
    if place[0] == NULL:
        raise BackendError(f"llvmlite's library has no function LLVMPY_{name.decode()}: 0.46 or later is needed")


def load(str path not None):
    """Load the library and set LLVM up for this processor; raises BackendError."""
    global handle
    cdef bytes place = path.encode("utf-8", "surrogateescape")
    cdef const char *file = place
    if handle != NULL:
        return
    with nogil:
        handle = dlopen(file, RTLD_NOW | RTLD_LOCAL)
    if handle == NULL:
        raise BackendError((dlerror() or b"").decode("utf-8", "replace"))
    needed("InitializeNativeTarget", <void **> &llvm.InitializeNativeTarget)
    needed("InitializeNativeAsmPrinter", <void **> &llvm.InitializeNativeAsmPrinter)
    needed("SetCommandLine", <void **> &llvm.SetCommandLine)
    needed("GetHostCPUName", <void **> &llvm.GetHostCPUName)
    needed("GetHostCPUFeatures", <void **> &llvm.GetHostCPUFeatures)
    needed("GetTargetFromTriple", <void **> &llvm.GetTargetFromTriple)
    needed("CreateTargetMachine", <void **> &llvm.CreateTargetMachine)
    needed("DisposeTargetMachine", <void **> &llvm.DisposeTargetMachine)
    needed("ContextCreate", <void **> &llvm.ContextCreate)
    needed("ContextDispose", <void **> &llvm.ContextDispose)
    needed("ParseAssembly", <void **> &llvm.ParseAssembly)
    needed("DisposeModule", <void **> &llvm.DisposeModule)
    needed("CreatePipelineTuningOptions", <void **> &llvm.CreatePipelineTuningOptions)
    needed("PTOSetLoopVectorization", <void **> &llvm.PTOSetLoopVectorization)
    needed("PTOSetSLPVectorization", <void **> &llvm.PTOSetSLPVectorization)
    needed("DisposePipelineTuningOptions", <void **> &llvm.DisposePipelineTuningOptions)
    needed("CreatePassBuilder", <void **> &llvm.CreatePassBuilder)
    needed("DisposePassBuilder", <void **> &llvm.DisposePassBuilder)
    needed("buildPerModuleDefaultPipeline", <void **> &llvm.buildPerModuleDefaultPipeline)
    needed("CreateNewModulePassManager", <void **> &llvm.CreateNewModulePassManager)
    needed("DisposeNewModulePassManger", <void **> &llvm.DisposeNewModulePassManger)
    needed("RunNewModulePassManager", <void **> &llvm.RunNewModulePassManager)
    needed("TargetMachineEmitToMemory", <void **> &llvm.TargetMachineEmitToMemory)
    needed("GetBufferStart", <void **> &llvm.GetBufferStart)
    needed("GetBufferSize", <void **> &llvm.GetBufferSize)
    needed("DisposeMemoryBuffer", <void **> &llvm.DisposeMemoryBuffer)
    with nogil:
        llvm.InitializeNativeTarget()
        llvm.InitializeNativeAsmPrinter()
        # Loops' counters stay as the program has them.  LLVM would count each address and each test of one by itself,
        # too many for the registers.
        llvm.SetCommandLine("gompy", "-disable-lsr")
        # Of two loops with one sum (spans.py), NewGVN would make operations of phis, and these again, until it aborts.
        llvm.SetCommandLine("gompy", "-enable-phi-of-ops=false")


def host_cpu():
    """This processor's name and features in LLVM's words."""
    cdef const char *text = NULL
    llvm.GetHostCPUName(&text)
    name = text.decode()
    if not llvm.GetHostCPUFeatures(&text):
        return name, ""
    return name, text.decode()


cdef str said(const char *error):
    """LLVM's message on one line."""
    return error.decode("utf-8", "replace").strip().replace("\n", " ")


def compile(bytes text not None, str cpu not None, str features not None, int level, tuple passes not None):
    """An ELF object of a module's text; raises BackendError.

    `level` of the code generator: 0 quick to compile, 2 quick to run.  `passes`: LLVM's in order; `O1`, `O2` stand for
    its own pipelines.  Several threads may compile at a time: each call has an LLVM of its own.
    """
    cdef bytes name = cpu.encode(), words = features.encode()
    cdef const char *source = text
    cdef const char *cpu_name = name
    cdef const char *feature_words = words
    cdef const char *error = NULL
    cdef void *machine = NULL
    cdef void *module = NULL
    cdef void *context
    cdef void *options
    cdef void *builder
    cdef void *manager
    cdef void *buffer = NULL
    cdef pointer_1 add[MOST_PASSES]
    cdef int count = 0, speed = 0, i
    if passes[0] in ("O1", "O2"):
        speed = int(passes[0][1])
    else:
        for word in passes:
            needed(f"module_Add{word}Pass".encode(), <void **> &add[count])
            count += 1
    with nogil:
        machine = llvm.CreateTargetMachine(
            llvm.GetTargetFromTriple(<void *> TRIPLE, <void *> &error), TRIPLE, cpu_name, feature_words, level,
            "pic", "small", 0, 0, "",
        )
    if machine == NULL:
        raise BackendError(f"no target machine for CPU '{cpu}'")
    context = llvm.ContextCreate()
    try:
        with nogil:
            error = NULL
            module = llvm.ParseAssembly(context, <void *> source, <void *> &error)
        if module == NULL or (error != NULL and error[0]):
            raise BackendError(said(error) if error != NULL else "no module")
        with nogil:
            options = llvm.CreatePipelineTuningOptions()
            llvm.PTOSetLoopVectorization(options, False)
            llvm.PTOSetSLPVectorization(options, False)
            builder = llvm.CreatePassBuilder(machine, options)
            if speed:
                manager = llvm.buildPerModuleDefaultPipeline(builder, speed, 0)
            else:
                manager = llvm.CreateNewModulePassManager()
                for i in range(count):
                    add[i](manager)
            llvm.RunNewModulePassManager(manager, module, builder)
            error = NULL
            buffer = llvm.TargetMachineEmitToMemory(machine, module, OBJECT, &error)
            llvm.DisposeNewModulePassManger(manager)
            llvm.DisposePassBuilder(builder)
            llvm.DisposePipelineTuningOptions(options)
        if buffer == NULL:
            raise BackendError(said(error) if error != NULL else "no object")
        elf = (<const char *> llvm.GetBufferStart(buffer))[:llvm.GetBufferSize(buffer)]
        llvm.DisposeMemoryBuffer(buffer)
    finally:
        if module != NULL:
            llvm.DisposeModule(module)
        llvm.ContextDispose(context)
        llvm.DisposeTargetMachine(machine)
    return elf

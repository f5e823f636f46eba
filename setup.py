"""Build of the compiled parts.

Cython makes C of each ``.pyx``; the object's references to the Python API are made weak (objcopy), so that the same
library runs in a process without an interpreter and is importable in one that has it.  The products land in
``gompy/_native`` (docs/internals.md lists them).
"""

from __future__ import annotations

import compileall
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from distutils.command.build_scripts import build_scripts  # setuptools', which has it under its old name only
from distutils.command.install_data import install_data
from pathlib import Path

from setuptools import Command, Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
NATIVE = ROOT / "gompy" / "_native"
SHARED = ROOT / "gompy" / "native"  # headers and .pxd files of all products
CACHE = ROOT / "build" / "native"
CC = os.environ.get("CC", "gcc")

os.environ.setdefault("SOURCE_DATE_EPOCH", "315619200")  # wheels: the same bytes whenever built


@dataclass(frozen=True)
class Product:
    """One compiled file: its Cython source, where it goes, and what it exports."""

    source: str
    output: str
    kind: str  # "shared", "program", "static-program", or "extension": a module that Python imports
    exports: tuple[str, ...] = ()
    libs: tuple[str, ...] = ()
    needs: tuple[str, ...] = field(default=())  # outputs of other products that it links to
    python: bool = False  # linked to libpython; the others run where there is no interpreter
    units: tuple[str, ...] = ()  # further sources, compiled by themselves, linked into the same file
    llvm: bool = False  # its functions have the names, too, that libomptarget's lead to


CUDA_LIBS = ("-ldl", "-lpthread", "-Wl,-z,nodelete")  # its threads may still be ending when a program closes it

PRODUCTS = (
    Product(
        "gompy/runtime/libgompy.pyx",
        "lib/libgompy.so.1",
        "shared",
        (
            *("GOMP_*", "GOACC_*", "omp_*", "acc_*", "gompy_*", "ompt_start_tool", "_gfortran_st_write*"),
            *("nvtx*", "roctx*", "PyInit_*"),
        ),
        ("-l:libgomp.so.1", "-ldl", "-lpthread"),
        llvm=True,
    ),
    Product(
        "gompy/plugins/intelmic/plugin.pyx",
        "lib/libgomp-plugin-intelmic.so.1",
        "shared",
        ("GOMP_OFFLOAD_*", "gompy_*"),
        ("-ldl", "-lpthread"),
        ("lib/libgompy.so.1",),
    ),
    Product(
        "gompy/plugins/null/plugin.pyx",
        "lib/libgomp-plugin-null.so.1",
        "shared",
        ("GOMP_OFFLOAD_*",),
        (),
        ("lib/libgompy.so.1",),
    ),
    Product(
        "gompy/plugins/shared/plugin.pyx",
        "lib/libgomp-plugin-shared.so.1",
        "shared",
        ("GOMP_OFFLOAD_*", "gompy_*"),
        ("-l:libgomp.so.1", "-ldl", "-lpthread"),
        ("lib/libgompy.so.1",),
    ),
    Product(
        "gompy/plugins/llvm/plugin.pyx",
        "lib/libgomp-plugin-llvm.so.1",
        "shared",
        ("GOMP_OFFLOAD_*", "gompy_*"),
        ("-ldl", "-lpthread"),
        ("lib/libgompy.so.1",),
    ),
    Product(
        "gompy/plugins/nvptx/plugin.pyx",
        "lib/libgomp-plugin-nvptx.so.1",
        "shared",
        ("GOMP_OFFLOAD_*", "gompy_*"),
        ("-ldl", "-lpthread"),
        ("lib/libgompy.so.1",),
    ),
    Product(
        "gompy/plugins/python/plugin.pyx",
        "lib/libgomp-plugin-python.so.1",
        "shared",
        ("GOMP_OFFLOAD_*", "PyInit_*"),
        ("-ldl", "-lpthread"),
        ("lib/libgompy.so.1",),
        python=True,
    ),
    Product(
        "gompy/plugins/python/image_runtime.pyx", "lib/libgompy-image.so.1", "shared", ("omp_*", "acc_*", "gompy_*")
    ),
    Product(
        "gompy/plugins/intelmic/target_main.pyx",
        "lib/offload_target_main",
        "program",
        (),
        ("-l:libgomp.so.1", "-ldl", "-lpthread", "-lm"),
    ),
    Product(
        "gompy/profiler/profiler.pyx",
        "lib/libgompy-prof.so.1",
        "shared",
        ("acc_register_library",),
        ("-ldl", "-lpthread"),
    ),
    Product(
        "gompy/plugins/remote/plugin.pyx",
        "lib/libgomp-plugin-remote.so.1",
        "shared",
        ("GOMP_OFFLOAD_*", "gompy_*"),
        ("-lpthread",),
        ("lib/libgompy.so.1",),
    ),
    Product("gompy/plugins/remote/worker.pyx", "lib/gompy-worker", "program", (), ("-ldl", "-lpthread")),
    Product(
        "gompy/rtl/plugin.pyx",
        "llvm-rtl/libomptarget.rtl.x86_64.so",
        "shared",
        ("__tgt_rtl_*",),
        # LLVM closes its plugins at exit, and calls them after that.
        ("-ldl", "-lpthread", "-Wl,-rpath,$ORIGIN/../lib", "-Wl,-z,nodelete"),
        ("lib/libgompy.so.1",),
    ),
    Product("gompy/driver/as_filter.pyx", "bdir/as", "static-program"),
    Product(
        "gompy/ptx/executor.pyx",
        "lib/libgompy-ptx.so.1",
        "shared",
        ("ptx_*",),
        ("-ldl", "-lpthread", "-lm", "-Wl,-z,nodelete"),
        units=("gompy/ptx/race_soon.c",),
    ),
    Product(
        "gompy/cuda/libcuda.pyx",
        "cuda/libcuda.so.1",
        "shared",
        ("cu*", "gompy_*"),
        CUDA_LIBS,
        units=("gompy/cuda/calls.pyx",),
    ),
    Product(
        "gompy/nvml/libnvml.pyx",
        "cuda/libnvidia-ml.so.1",
        "shared",
        ("nvml*",),
        ("-ldl", "-lpthread"),
        units=("gompy/nvml/calls.pyx",),
    ),
    Product(
        "gompy/cudart/libcudart.pyx",
        "cudart/libcudart.so.12",
        "shared",
        ("cuda*", "__cuda*", "__gompyRegister*"),
        ("-ldl", "-lpthread", "-Wl,-z,nodelete"),
    ),
    Product(
        "gompy/nvrtc/libnvrtc.pyx",
        "cudart/libnvrtc.so.12",
        "shared",
        ("nvrtc*",),
        ("-ldl", "-lpthread", "-Wl,-z,nodelete"),
    ),
)

EXTENSIONS = (
    Product("gompy/ptx/words.pyx", "words", "extension", ("PyInit_*",)),
    Product("gompy/ptx/llvm.pyx", "llvm", "extension", ("PyInit_*",), ("-ldl",)),
    Product("gompy/ptx/native.pyx", "native", "extension", ("PyInit_*",)),
    Product("gompy/replay/watch.pyx", "watch", "extension", ("PyInit_*",)),
)
"""Modules beside their sources; `output` is the module's name."""

PYTHON = "python{}.{}".format(*sys.version_info[:2])
"""The name under which every installation of this release has it: compiled modules are for one release."""

PYTHON_TOOL = """\
#!/bin/sh
# Starts Python, found as gompy/native/interpreter.h finds it.
case $0 in */gompy/_native/*) me=$0;; *) me=$(readlink -f -- "$0");; esac
root=${me%/gompy/_native/*}
python=${GOMPY_PYTHON-}
if [ -z "$python" ]; then
  record=$root/gompy/_native/python
  if [ -r "$record" ]; then IFS= read -r python <"$record"; fi
  if ! [ -x "$python" ]; then
    python=
    case $root in */site-packages|*/dist-packages) python=${root%/*/*/*}/bin/VERSION;; esac
    [ -x "$python" ] || python=$(command -v VERSION || command -v python3) || {
      echo "NAME: fatal error: no VERSION in PATH: set GOMPY_PYTHON to a Python" >&2
      exit 1
    }
  fi
fi
# -I -S: neither the user's PYTHONPATH nor site-packages' start-up hooks get into a link, or cost it time.
exec "$python" -I -S "$root/SCRIPT"WORDS "$@"
"""


def python_tools() -> dict[str, tuple[str, str]]:
    """What is Python behind a script: its place, the file to start, and the words that come first."""
    from gompy.abi.targets import TARGETS

    tools = {f"bdir/{target.tool}": ("mkoffload/__main__.py", f" {target.name}") for target in TARGETS if target.maker}
    wrapper = "gompy/clang_link/__main__.py"
    clang = {
        "clang/clang-linker-wrapper": (wrapper, ""),
        "clang/gcc/ld": (wrapper, " --as-ld"),
        "clang/packager/clang-offload-packager": (wrapper, " --as-packager"),
    }
    return {**clang, **tools}


def run(*command: str | Path) -> None:
    """Run a build step; its failure ends the build with the command shown."""
    words = [str(word) for word in command]
    done = subprocess.run(words)
    if done.returncode:
        raise SystemExit(f"setup.py: error: {' '.join(words)}: exit status {done.returncode}")


def newer(sources: list[Path], target: Path) -> bool:
    """Whether any source is newer than the target."""
    return not target.exists() or max(s.stat().st_mtime for s in sources) > target.stat().st_mtime


@contextmanager
def making(output: Path) -> Iterator[Path]:
    """A path to make a file at; it becomes the output, as old as its beginning: what is edited meanwhile is newer."""
    output.parent.mkdir(parents=True, exist_ok=True)
    part = output.with_name(output.name + ".new")
    part.touch()
    began = part.stat().st_mtime_ns  # the file system's time, as that of an edit
    part.unlink()
    yield part
    os.utime(part, ns=(began, began))
    part.replace(output)


def libpython() -> Path | None:
    """The shared library of the Python that builds, if it has one."""
    name, folder = sysconfig.get_config_var("INSTSONAME"), sysconfig.get_config_var("LIBDIR")
    path = Path(folder or "", name or "")
    return path if name and name.startswith("libpython") and ".so" in name and path.exists() else None


def copy_texts(folder: Path) -> None:
    """The pages that commands show; in a source tree they are read where they lie (gompy/cli/texts.py)."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs" / "learn", folder / "learn")
    shutil.copy2(ROOT / "docs" / "environment.md", folder)


def record_python() -> None:
    """Leave the path of this Python, and a link to its library's folder, to the commands of a source tree.

    Neither is in a wheel: an installation finds its own.
    """
    record, text = NATIVE / "python", f"{sys.executable}\n"
    if not record.exists() or record.read_text() != text:
        record.write_text(text)
    link, library = NATIVE / "libpython", libpython()
    wanted = str(library.parent) if library is not None else None
    if (os.readlink(link) if link.is_symlink() else None) != wanted:
        link.unlink(missing_ok=True)
        if wanted is not None:
            link.symlink_to(wanted)


IDENTITY = NATIVE / "lib" / "ptx-identity"
"""What code in the PTX cache is thrown away by when it changes: for the executor a macro, for the compiler a file."""


def write_identity() -> str:
    """The hash of all that makes PTX into code and runs it, written if it is another than before."""
    from gompy.abi import ptx as abi

    found = hashlib.blake2b(digest_size=16)
    folder = ROOT / "gompy" / "ptx"
    table = ROOT / "gompy" / "abi" / "ptx.py"
    for source in [table, *sorted(path for kind in ("py", "pyx", "pxi", "h") for path in folder.glob(f"*.{kind}"))]:
        found.update(f"{source.name} {source.stat().st_size}\n".encode() + source.read_bytes())
    if not IDENTITY.exists() or IDENTITY.read_text() != found.hexdigest():
        IDENTITY.parent.mkdir(parents=True, exist_ok=True)
        IDENTITY.write_text(found.hexdigest())
        (ROOT / abi.SOURCES).write_text(abi.compiler_sources())
    return found.hexdigest()


def sanitized() -> str:
    """`debug`: AddressSanitizer and UndefinedBehaviorSanitizer (`make debug`); `thread`: ThreadSanitizer; or ""."""
    asked = os.environ.get("GOMPY_BUILD", "")
    return asked if asked in ("debug", "thread") else ""


def sanitizers(product: Product) -> tuple[str, ...]:
    """The options for them; a static program and a module of an uninstrumented Python cannot have all of them."""
    if not sanitized() or product.kind == "static-program":
        return ()
    if sanitized() == "thread":  # a device's process keeps the host's addresses free, where its shadow would be
        return ("-fsanitize=thread",) if product.kind == "shared" else ()
    return ("-fsanitize=undefined",) if product.kind == "extension" else ("-fsanitize=address,undefined",)


def flags(product: Product) -> tuple[str, ...]:
    """Options of the C compiler."""
    level = ("-O1", "-g", "-fno-omit-frame-pointer") if sanitized() else ("-O2", "-g1")
    # A program's thread-local variables are its own: no call, nor anything that stands for one, finds them.
    local = ("-ftls-model=local-exec",) if product.kind == "program" else ()
    return (*level, "-fPIC", *local, "-fno-strict-aliasing", *sanitizers(product), *WARNINGS)


WARNINGS = ("-Wall", "-Wno-unused-function")


def stamp(name: str, text: str) -> Path:
    """A file as old as the last change of the text: what depends on the text is older, and made again."""
    path = CACHE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return path


def sources_of(product: Product) -> list[Path]:
    """Every file that goes into a product: those of its room, the shared ones, those that a room includes by path."""
    folder = (ROOT / product.source).parent
    room = [path for kind in ("pyx", "pxi", "pxd", "h", "c") for path in folder.rglob(f"*.{kind}")]
    units = [ROOT / unit for unit in (product.source, *product.units)]
    room = [path for path in room if path.suffix not in (".pyx", ".c") or path in units]
    found = [*room, Path(__file__), stamp("python", f"{sysconfig.get_config_var('SOABI')} {libpython()}\n")]
    found += [stamp("flags", f"{CC} {sanitized()}\n"), *(NATIVE / need for need in product.needs)]
    found += [path for path in SHARED.iterdir() if path.suffix in (".h", ".pxd")]
    shared = re.compile(r'^(?:include|cdef extern from) "(\.\./[^"]+)"', re.MULTILINE)
    for text in (path for path in room if path.suffix in (".pyx", ".pxi")):
        names = shared.findall(text.read_text())
        found += [path for name in names for at in {folder, text.parent} if (path := at / name).exists()]
    return found


def compile_keeper(source: str) -> Path:
    """A C source to an object whose functions use no registers but the general ones, nor what sanitizers would call."""
    obj = CACHE / f"{source.replace('/', '_')}.o"
    run(
        *(CC, "-O2", "-g1", "-fPIC", "-fno-strict-aliasing", "-mgeneral-regs-only", *WARNINGS, "-D_GNU_SOURCE"),
        *(f"-I{(ROOT / source).parent}", f"-I{ROOT}", f"-ffile-prefix-map={ROOT}=."),
        *("-c", ROOT / source, "-o", obj),
    )
    return obj


def compile_unit(product: Product, source: str, identity: tuple[str, ...]) -> Path:
    """One Cython source to an object whose references to the Python API are weak."""
    if source.endswith(".c"):
        return compile_keeper(source)
    pyx = ROOT / source
    stem, module = source.removesuffix(".pyx").replace("/", "_"), source.removesuffix(".pyx").replace("/", ".")
    c_file, raw, obj = CACHE / f"{stem}.c", CACHE / f"{stem}.raw.o", CACHE / f"{stem}.o"
    trace = ("-X", "linetrace=True") if sanitized() == "debug" and product.kind == "extension" else ()
    run(
        *(sys.executable, "-m", "cython", "-3", "-Werror", "--line-directives", *trace, "-I", pyx.parent, "-I", ROOT),
        *("--module-name", module, pyx, "-o", c_file),
    )
    run(
        *(CC, *flags(product), "-D_GNU_SOURCE", "-DCYTHON_USE_PYLONG_INTERNALS=0"),
        *(("-DCYTHON_TRACE=1",) if trace else ()),
        *(f"-I{pyx.parent}", f"-I{ROOT}", f"-I{sysconfig.get_path('include')}"),
        f"-ffile-prefix-map={ROOT}=.",  # an installation does not tell where it was built
        *identity,
        *("-c", c_file, "-o", raw),
    )
    weaken = () if product.python else ("--weaken-symbol=Py*", "--weaken-symbol=_Py*")
    run("objcopy", "--wildcard", *weaken, raw, obj)
    return obj


def output_of(product: Product) -> Path:
    """The file that a product is."""
    if product.kind == "extension":
        return (ROOT / product.source).with_name(product.output + sysconfig.get_config_var("EXT_SUFFIX"))
    return NATIVE / product.output


def build_product(product: Product) -> None:
    """Compile one product if its sources changed."""
    output, library = output_of(product), libpython()
    if product.python and library is None:
        print(f"skipping {output.relative_to(ROOT)}: this Python has no shared library", flush=True)
        return
    sources = sources_of(product)
    identity: tuple[str, ...] = ()
    if product.source == "gompy/ptx/executor.pyx":
        identity = (f'-DGOMPY_PTX_IDENTITY="{write_identity()}"',)
        sources.append(IDENTITY)
    if not newer(sources, output):
        return
    print(f"building {output.relative_to(ROOT)}", flush=True)
    with making(output) as part:
        objects = [compile_unit(product, source, identity) for source in (product.source, *product.units)]
        link: list[str | Path] = [CC, *sanitizers(product), *objects, "-o", part, "-Wl,-z,lazy", "-Wl,-z,noexecstack"]
        if product.kind in ("shared", "extension"):
            script = objects[0].with_suffix(".map")
            script.write_text("{ global: " + " ".join(f"{e};" for e in product.exports) + " local: *; };\n")
            link += ["-shared", f"-Wl,-soname,{output.name}", f"-Wl,--version-script,{script}", "-Wl,-rpath,$ORIGIN"]
        elif product.kind == "program":
            # Without -rpath, for which the loader would look into twenty folders before it takes the system's library.
            link += ["-pie", "-rdynamic"]
        else:
            link += ["-static"]
        link += [NATIVE / need for need in product.needs]
        if product.llvm:
            from gompy.abi import llvm

            link += [f"-Wl,--defsym={llvm.DOOR}{name}={ours}" for name, ours in llvm.ALIASES.items()]
        if product.python and library is not None:
            link += [library, "-Wl,-rpath,$ORIGIN/../libpython"]
        run(*link, "-Wl,--no-as-needed", *product.libs)


STUB = """\
	.globl {name}
	.type {name}, @function
{name}:
	endbr64
	jmp *{door}@GOTPCREL(%rip)
	.size {name}, .-{name}
"""


def build_llvm_doors() -> None:
    """libomptarget.so.N: libomptarget's names in its version node, each a jump into libgompy."""
    from gompy.abi import llvm

    core = NATIVE / "lib" / "libgompy.so.1"
    for soname in llvm.SONAMES:
        exports = llvm.exports(soname)
        stubs = "\t.text\n" + "".join(STUB.format(name=name, door=llvm.door(soname, name)) for name in exports)
        source = stamp(f"{soname}.s", stubs + '\t.section .note.GNU-stack,"",@progbits\n')
        names = " ".join(f"{name};" for name in exports)
        script = stamp(f"{soname}.map", f"{llvm.VERSION_NODE} {{ global: {names} local: *; }};\n")
        output = NATIVE / "llvm" / soname
        if not newer([source, script, core], output):
            continue
        with making(output) as part:
            run(
                *(CC, "-shared", source, "-o", part, f"-Wl,-soname,{soname}", f"-Wl,--version-script,{script}"),
                *("-nostdlib", core, "-Wl,-rpath,$ORIGIN/../lib", "-Wl,-z,noexecstack"),
            )
    for number, soname in llvm.CLANGS.items():
        if number >= llvm.WITHOUT_LIBOMPTARGET:  # for -lomptarget
            link = NATIVE / f"llvm-{number}" / "libomptarget.so"
            link.parent.mkdir(exist_ok=True)
            if not link.is_symlink():
                link.symlink_to(f"../llvm/{soname}")


def build_front() -> None:
    """lto-wrapper: a program that answers links from a cache, and else starts the compiler, and Python."""
    from lto_wrapper import front_tables

    tables = stamp("lto-wrapper.h", front_tables.header())
    folder, output = ROOT / "lto_wrapper", NATIVE / "bdir" / "lto-wrapper"
    shared = [path for path in SHARED.iterdir() if path.suffix == ".h"]
    flags_of = stamp("flags", f"{CC} {sanitized()}\n")
    if newer([*folder.glob("front*"), *shared, tables, Path(__file__), flags_of], output):
        include = (f"-I{ROOT}", f"-I{sysconfig.get_path('include')}", f"-ffile-prefix-map={ROOT}=.")
        words = ("-static", "-O2", "-g1", "-D_GNU_SOURCE", f'-DFRONT_TABLES="{tables}"', *WARNINGS, *include)
        with making(output) as part:
            run(CC, *words, folder / "front.c", "-o", part, "-Wl,-z,noexecstack")


DRIVERS = ("gompcc", "gompc++", "gompfortran")
"""Commands that are compiled; their scripts go into them."""
SCRIPTS = ROOT / "gompy" / "driver" / "scripts"


def script_of(name: str) -> str:
    """A command's script, for this release of Python."""
    return (SCRIPTS / name).read_text().replace("=VERSION\n", f"={PYTHON}\n")


def build_drivers() -> dict[str, Path]:
    """gompcc and the like: programs that become the compiler where they did so before, and else start Python."""
    from gompy.driver import front_tables

    folder = ROOT / "gompy" / "driver"
    shared = [path for path in SHARED.iterdir() if path.suffix == ".h"]
    outputs = {name: CACHE / "drivers" / name for name in DRIVERS}
    for name, output in outputs.items():
        tables = stamp(f"{name}.h", front_tables.header(name, script_of(name)))
        flags_of = stamp("flags", f"{CC} {sanitized()}\n")
        if newer([*folder.glob("front*.[ch]"), *shared, tables, Path(__file__), flags_of], output):
            include = (f"-I{ROOT}", f"-I{sysconfig.get_path('include')}", f"-ffile-prefix-map={ROOT}=.")
            words = ("-static", "-O2", "-g1", "-D_GNU_SOURCE", f'-DFRONT_TABLES="{tables}"', *WARNINGS, *include)
            with making(output) as part:
                run(CC, *words, folder / "front.c", "-o", part, "-Wl,-z,noexecstack")
    return outputs


def build_hooks() -> None:
    """access.o: what -foffload-check puts into programs and images."""
    source, output = ROOT / "gompy" / "access" / "hooks.c", NATIVE / "bdir" / "access.o"
    headers = [SHARED / "access.h", *source.parent.glob("*.h")]
    if newer([source, *headers, Path(__file__), stamp("flags", f"{CC} {sanitized()}\n")], output):
        words = ("-O2", "-fPIC", "-fvisibility=hidden", "-ffunction-sections", "-fno-lto", *WARNINGS)
        with making(output) as part:
            run(CC, *words, f"-I{ROOT}", f"-ffile-prefix-map={ROOT}=.", "-c", source, "-o", part)


def copy_cuda_headers() -> None:
    """What CUDA programs include: the headers of gompy/cudart, and those that are made of the table."""
    from gompy.native import generate_cudart

    source, folder = ROOT / "gompy" / "cudart" / "include", NATIVE / "cudart" / "include"
    texts = {str(path.relative_to(source)): path.read_text() for path in source.rglob("*") if path.is_file()}
    texts |= generate_cudart.headers()
    for name, text in texts.items():
        target = folder / name
        if not target.exists() or target.read_text() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)


def build_products(products: tuple[Product, ...]) -> None:
    """Build all, as many at a time as there are processors; each after those that it links to."""
    todo, unmade = list(products), {product.output for product in products}
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        running: dict[Future[None], Product] = {}
        while todo or running:
            for product in [p for p in todo if not unmade & {*p.needs}]:
                todo.remove(product)
                running[pool.submit(build_product, product)] = product
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                unmade.discard(running.pop(future).output)
                try:
                    future.result()
                except BaseException:  # the message is out: nothing more is begun
                    pool.shutdown(cancel_futures=True)
                    raise


def build_native() -> None:
    """Make everything in gompy/_native that is out of date."""
    sys.path.insert(0, str(ROOT))
    from gompy.native import generate  # here, not at the top: setup.py must load before the sources are complete

    generate.write_all()
    build_products((*PRODUCTS, *EXTENSIONS))
    build_llvm_doors()
    copy_cuda_headers()
    lib = NATIVE / "lib"
    links = {lib / "libgompy.so": 1, NATIVE / "cuda" / "libcuda.so": 1, NATIVE / "cudart" / "libcudart.so": 12}
    links[NATIVE / "cudart" / "libnvrtc.so"] = 12
    for link, version in links.items():  # for -lgompy, -lcuda, -lcudart, -lnvrtc
        if not link.is_symlink():
            link.symlink_to(f"{link.name}.{version}")
    newer_name = NATIVE / "llvm-rtl" / "libomptarget.rtl.x86_64.nextgen.so"  # which LLVM 16 looks for first
    if not newer_name.is_symlink():
        newer_name.symlink_to("libomptarget.rtl.x86_64.so")
    extension = ROOT / "gompy/runtime" / f"libgompy{sysconfig.get_config_var('EXT_SUFFIX')}"
    if newer([lib / "libgompy.so.1"], extension):
        part = extension.with_name(extension.name + ".new")
        shutil.copy2(lib / "libgompy.so.1", part)
        part.replace(extension)
    for name, (script, words) in python_tools().items():
        tool = NATIVE / name
        tool.parent.mkdir(parents=True, exist_ok=True)
        text = PYTHON_TOOL.replace("VERSION", PYTHON).replace("SCRIPT", script).replace("NAME", tool.name)
        text = text.replace("WORDS", words)
        if not tool.exists() or tool.read_text() != text:
            tool.write_text(text)
        tool.chmod(0o755)
    from crtoffload import write_all

    write_all(NATIVE / "bdir")
    build_front()
    build_hooks()
    for package in ("gompy", "crtoffload", "lto_wrapper", "mkoffload"):  # every compile and link starts a Python
        compileall.compile_dir(str(ROOT / package), quiet=2)
    if not sanitized():
        ahead = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from mkoffload.nvptx_ahead import ship; ship()"
        subprocess.run([sys.executable, "-c", ahead])  # programs do without it


class BuildNative(Command):
    """``python setup.py build_native``: the compiled parts, in the source tree."""

    description = "build gompy/_native"
    user_options: list[tuple[str, str, str]] = []  # noqa: RUF012

    def initialize_options(self) -> None:
        """No options."""

    def finalize_options(self) -> None:
        """No options."""

    def run(self) -> None:
        """Build."""
        build_native()
        record_python()


class BuildPy(build_py):
    """The Python modules, after the compiled parts that are their package data."""

    def run(self) -> None:
        """Build both."""
        build_native()
        if self.editable_mode:
            record_python()
        self.__dict__.pop("data_files", None)  # listed again, now that the files are there
        build_py.run(self)
        if not self.editable_mode:
            copy_texts(Path(self.build_lib) / "gompy" / "_docs")

    def find_data_files(self, package: str, src_dir: str) -> list[str]:
        """Those of build_py less the modules that another release of Python left in the tree."""
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        found: list[str] = super().find_data_files(package, src_dir)  # type: ignore[no-untyped-call]
        return [name for name in found if not (".cpython-" in name and not name.endswith(suffix))]


class BuildScripts(build_scripts):
    """The commands: scripts for this release of Python, and what is compiled in their places."""

    def run(self) -> None:
        """Copy them, and put in the name of Python."""
        super().run()
        sys.path.insert(0, str(ROOT))
        compiled = build_drivers()
        for name in map(os.path.basename, self.scripts):
            command = Path(self.build_dir, name)
            if name in compiled:
                shutil.copyfile(compiled[name], command)
            else:
                command.write_text(script_of(name))


class InstallData(install_data):
    """Man pages and completions of shells, made from the commands' parsers."""

    def run(self) -> None:
        """Make them, and install them below ``share``."""
        sys.path.insert(0, str(ROOT))
        from gompy.cli import completion, man

        share = ROOT / "build" / "share"
        shutil.rmtree(share, ignore_errors=True)
        made = [*man.write_all(share / "man"), *completion.write_all(share)]
        self.data_files = [(str(path.parent.relative_to(share.parent)), [str(path)]) for path in made]
        super().run()


class Wheel(bdist_wheel):
    """A wheel whose name says which glibc it needs, unless --plat-name says something else."""

    def get_tag(self) -> tuple[str, str, str]:
        """As setuptools has it, for manylinux."""
        python, abi, platform = super().get_tag()
        if not self.plat_name_supplied:
            sys.path.insert(0, str(ROOT))
            from gompy.native import wheel_tag

            platform = wheel_tag.manylinux(platform, Path(self.get_finalized_command("build").build_lib))
        return python, abi, platform


class BinaryDistribution(Distribution):
    """A distribution with compiled parts, so that the wheel gets a platform tag."""

    def has_ext_modules(self) -> bool:
        """Always."""
        return True


setup(
    distclass=BinaryDistribution,
    cmdclass={
        "bdist_wheel": Wheel,
        "build_native": BuildNative,
        "build_py": BuildPy,
        "build_scripts": BuildScripts,
        "install_data": InstallData,
    },
    data_files=[("share/man/man1", [])],  # what there is InstallData says
)

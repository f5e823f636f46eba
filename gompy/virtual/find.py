"""Where backends and implementations come from: entry points, and files of a folder."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Iterator
from importlib import metadata

from gompy.plugins.python import Launch
from gompy.virtual import library
from gompy.virtual.backend import Backend, Implementation, Memory, RefusedError, Run

DEVICES, REGIONS = "gompy.devices", "gompy.regions"
"""Groups of entry points."""
OURS = {Memory.identifier: "gompy.virtual.backend:Memory", "opencl": "gompy.opencl.device:OpenCL"}
BACKEND, FOLDERS = "GOMPY_VIRTUAL", "GOMPY_KERNELS"


def backend() -> Backend:
    """The backend that GOMPY_VIRTUAL names: of a library, one of ours, an entry point, module:Class, a library's path.

    Raises RefusedError.
    """
    name = os.environ.get(BACKEND, "") or Memory.identifier
    if "/" in name:
        found = library.device_of(name)
        if found is None:
            raise RefusedError(f"{BACKEND}={name}: it exports no gompy_device")
        return found
    for path in libraries():
        try:
            found = library.device_of(path)
        except RefusedError:
            continue  # told with its regions
        if found is not None and found.identifier == name:
            return found
    points = {point.name: point for point in metadata.entry_points(group=DEVICES)}
    points |= {own: metadata.EntryPoint(own, value, DEVICES) for own, value in OURS.items()}
    point = metadata.EntryPoint(name, name, DEVICES) if ":" in name else points.get(name)
    if point is None:
        raise RefusedError(f"{BACKEND}={name}: no such device; there are {', '.join(sorted(points))}")
    made: object = _load(point)()
    if not isinstance(made, Backend) or not made.identifier:
        raise RefusedError(f"{BACKEND}={name}: it is not a gompy.virtual.Backend with an identifier")
    return made


def _load(point: metadata.EntryPoint) -> type:
    try:
        found = point.load()
    except (ImportError, AttributeError, ValueError) as error:
        raise RefusedError(f"{point.value}: {error}") from None
    if not callable(found):
        raise RefusedError(f"{point.value} is no class")
    return found  # type: ignore[no-any-return]


def implementations(which: Backend) -> Iterator[Implementation]:
    """Those of installed packages that fit a backend: an entry point is an Implementation, or a list of them."""
    for point in metadata.entry_points(group=REGIONS):
        try:
            found = point.load()
        except (ImportError, AttributeError) as error:
            raise RefusedError(f"{point.value}: {error}") from None
        for item in [found] if isinstance(found, Implementation) else found:
            if not isinstance(item, Implementation):
                raise RefusedError(f"{point.value}: it has what is no gompy.virtual.Implementation")
            if item.device == which.identifier or (not item.device and which.shares_memory):
                yield item


def libraries() -> list[str]:
    """The shared libraries in the folders of GOMPY_KERNELS, in the order of their names."""
    found = []
    for folder in filter(None, os.environ.get(FOLDERS, "").split(os.pathsep)):
        try:
            found += [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".so")]
        except OSError:
            continue
    return found


def library_regions(which: Backend) -> dict[str, library.LibraryRegion]:
    """Those of libraries that fit a backend, by their functions; a library that can't be used is told."""
    found: dict[str, library.LibraryRegion] = {}
    own = [which.path] if isinstance(which, library.Library) else []
    for path in dict.fromkeys([*own, *libraries()]):
        try:
            library.device_of(path)
            for region in library.regions_of(path):
                if region.device == which.identifier or (not region.device and which.shares_memory):
                    found.setdefault(region.function, region)
        except RefusedError as error:
            print(f"gompy: {error}", file=sys.stderr)
    return found


def files(function: str, which: Backend) -> list[str]:
    """A region's files in the folders of GOMPY_KERNELS: FUNCTION.SUFFIX, the backend's own suffixes first."""
    found = []
    for folder in os.environ.get(FOLDERS, "").split(os.pathsep):
        for suffix in (*which.suffixes, *((".py", ".so") if which.shares_memory else ())):
            path = os.path.join(folder, function + suffix)
            if folder and os.path.isfile(path):
                found.append(path)
    return found


def load(path: str, function: str, which: Backend, device: int) -> Run:
    """Make a file ready to run.  Raises RefusedError."""
    suffix = os.path.splitext(path)[1]
    if suffix in which.suffixes:
        return which.load(device, function, path)
    return _python(path) if suffix == ".py" else _library(path)


def _python(path: str) -> Run:
    """A module with ``run(words, launch)``; words: the arguments, of which JSON tells value and address."""
    spec = importlib.util.spec_from_file_location(f"gompy_region_{abs(hash(path))}", path)
    if spec is None or spec.loader is None:
        raise RefusedError(f"{path} is not a file of Python source")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        function = module.run
    except Exception as error:
        raise RefusedError(f"{path}: {type(error).__name__}: {error}") from None

    def run(variables: int, launch: Launch) -> None:
        function(ctypes.cast(variables, ctypes.POINTER(ctypes.c_uint64)), launch)

    return run


def _library(path: str) -> Run:
    """A library with ``void gompy_region (void **words)``."""
    try:
        function = ctypes.CDLL(os.path.abspath(path)).gompy_region  # not gompy_regions: those are library.py's
    except (OSError, AttributeError) as error:
        raise RefusedError(f"{path}: {error}") from None
    function.argtypes, function.restype = [ctypes.c_void_p], None
    return lambda variables, launch: function(variables)

"""Plugins that are missing, of the wrong version, incomplete, or whose functions fail: a message, never a crash."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from driver_tools import Tools, for_preload, has_all, needs
from plugin_tools import SMALL, build

from gompy.driver import paths

pytestmark = [has_all, needs("gcc")]

OPENACC = [
    "openacc_exec",
    "openacc_create_thread_data",
    "openacc_destroy_thread_data",
    "openacc_async_construct",
    "openacc_async_destruct",
    "openacc_async_test",
    "openacc_async_synchronize",
    "openacc_async_serialize",
    "openacc_async_queue_callback",
    "openacc_async_exec",
    "openacc_async_dev2host",
    "openacc_async_host2dev",
    "openacc_get_property",
]
BODY = {
    "version": "unsigned F(version) (void) { return 1; }",
    "get_name": 'const char *F(get_name) (void) { return "broken"; }',
    "get_caps": "unsigned F(get_caps) (void) { return 4; }",
    "get_type": "int F(get_type) (void) { return 6; }",
    "get_num_devices": "int F(get_num_devices) (void) { return 1; }",
    "init_device": "bool F(init_device) (int n) { return true; }",
    "fini_device": "bool F(fini_device) (int n) { return true; }",
    "load_image": """int F(load_image) (int n, unsigned v, const void *data, struct pair **table)
    { *table = calloc (3, sizeof **table); (*table)[0] = (struct pair) { 64, 65 };
      (*table)[1] = (struct pair) { (uintptr_t) memory, (uintptr_t) memory + 4 }; return 2; }""",
    "unload_image": "bool F(unload_image) (int n, unsigned v, const void *data) { return true; }",
    "alloc": "void *F(alloc) (int n, size_t size) { return malloc (size); }",
    "free": "bool F(free) (int n, void *p) { free (p); return true; }",
    "dev2host": "bool F(dev2host) (int n, void *d, const void *s, size_t z) { memcpy (d, s, z); return true; }",
    "host2dev": "bool F(host2dev) (int n, void *d, const void *s, size_t z) { memcpy (d, s, z); return true; }",
    "dev2dev": "bool F(dev2dev) (int n, void *d, const void *s, size_t z) { memmove (d, s, z); return true; }",
    "run": "void F(run) (int n, void *f, void *v, void **a) { **(int **) v = 77; }",
}
"""A plugin of one device that is right as it stands: its memory is the host's, its regions set their variable to 77."""
HEAD = """
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define F(x) GOMP_OFFLOAD_##x
struct pair { uintptr_t start, end; };
static int memory[4];
"""


@pytest.fixture(scope="module")
def small(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(Tools(bin_folder, tmp_path_factory.mktemp("small")), "small.c", SMALL)


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    return Tools(bin_folder, tmp_path)


def plugin(tools: Tools, *more: str, without: tuple[str, ...] = (), **instead: str) -> None:
    """Compile libgomp-plugin-broken.so.1: functions left out, or with other bodies, and further text."""
    bodies = [text for name, text in {**BODY, **instead}.items() if name not in without]
    source = tools.write("broken.c", "\n".join([HEAD, *bodies, *more]))
    tools.ok("gcc", "-shared", "-fPIC", "-w", source, "-o", tools.work / "libgomp-plugin-broken.so.1")


def run(tools: Tools, program: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a program with the plugin that was compiled as its only one."""
    return tools.run(
        program, env={"GOMPY_PLUGINS": "broken", "LD_LIBRARY_PATH": str(tools.work), "GOMPY_STATS": "1", **env}
    )


def refused(tools: Tools, program: Path, message: str) -> None:
    """The plugin is refused with one message, the region runs on the host; under MANDATORY the program ends."""
    done = run(tools, program)
    assert (done.returncode, done.stdout) == (0, "s 4\n"), done
    assert done.stderr.count("while loading libgomp-plugin-broken.so.1: ") == 1 and message in done.stderr, done.stderr
    done = run(tools, program, OMP_TARGET_OFFLOAD="mandatory")
    assert (done.returncode, done.stdout) == (1, "")
    assert "OMP_TARGET_OFFLOAD is set to MANDATORY, but device not found" in done.stderr
    assert f"no device of plugin broken: {message}" in done.stderr


def test_the_plugin_is_right_as_it_stands(tools: Tools, small: Path) -> None:
    plugin(tools)
    done = run(tools, small)
    assert (done.returncode, done.stdout) == (0, "s 77\n") and "1 on device 0 (broken)" in done.stderr, done.stderr


def test_missing(tools: Tools, small: Path) -> None:
    refused(tools, small, "libgomp-plugin-broken.so.1: cannot open shared object file: No such file or directory")


def test_not_a_library(tools: Tools, small: Path) -> None:
    tools.write("libgomp-plugin-broken.so.1", "this is no library " * 100)
    done = run(tools, small)
    assert done.stdout == "s 4\n" and "invalid ELF header" in done.stderr


def test_needs_what_is_not_there(tools: Tools, small: Path) -> None:
    tools.write("gone.c", "int gone;")
    tools.ok("gcc", "-shared", "-fPIC", "gone.c", "-o", "libgone.so")
    tools.ok(
        "gcc", "-shared", "-fPIC", "-Wl,--no-as-needed", "gone.c", "-o", "libgomp-plugin-broken.so.1", "-L.", "-lgone"
    )
    tools.work.joinpath("libgone.so").unlink()
    refused(tools, small, "libgone.so: cannot open shared object file: No such file or directory")


@pytest.mark.parametrize("version", ["0", "4", "4294967295u"])
def test_other_version(tools: Tools, small: Path, version: str) -> None:
    plugin(tools, version=f"unsigned F(version) (void) {{ return {version}; }}")
    refused(tools, small, "plugin version mismatch")


@pytest.mark.slow(sample=10)
@pytest.mark.parametrize("name", BODY)
def test_a_function_is_missing(tools: Tools, small: Path, name: str) -> None:
    plugin(tools, without=(name,))
    refused(tools, small, f"undefined symbol: GOMP_OFFLOAD_{name}")


@pytest.mark.parametrize("name", [OPENACC[0], OPENACC[7], OPENACC[-1]])
def test_openacc_is_incomplete(tools: Tools, small: Path, name: str) -> None:
    functions = [f"void F({other}) (void) {{ }}" for other in OPENACC if other != name]
    plugin(tools, *functions, get_caps="unsigned F(get_caps) (void) { return 12; }")
    refused(tools, small, "plugin missing OpenACC handler function")
    assert name in run(tools, small).stderr


def test_cuda_functions_all_or_none(tools: Tools, small: Path) -> None:
    functions = [f"void F({name}) (void) {{ }}" for name in [*OPENACC, "openacc_cuda_get_stream"]]
    plugin(tools, *functions, get_caps="unsigned F(get_caps) (void) { return 12; }")
    refused(tools, small, "plugin missing OpenACC CUDA handler function")


@pytest.mark.parametrize("count", ["0", "-1", "-2147483647 - 1"])
def test_no_device(tools: Tools, small: Path, count: str) -> None:
    plugin(tools, get_num_devices=f"int F(get_num_devices) (void) {{ return {count}; }}")
    done = run(tools, small)
    assert done.stdout == "s 4\n" and done.stderr.strip() == "libgompy: regions: 1 on the host: there is no device"
    done = run(tools, small, OMP_TARGET_OFFLOAD="mandatory")
    assert done.returncode == 1 and "no device of plugin broken: it finds no device" in done.stderr


def test_no_name(tools: Tools, small: Path) -> None:
    plugin(tools, get_name="const char *F(get_name) (void) { return 0; }")
    refused(tools, small, "GOMP_OFFLOAD_get_name gives no name")


def test_a_name_longer_than_names_are(tools: Tools, small: Path) -> None:
    done = run(tools, small, GOMPY_PLUGINS="x" * 70)
    assert done.stdout == "s 4\n" and "no plugin has a name that long" in done.stderr


def test_one_broken_plugin_leaves_the_others(tools: Tools, small: Path) -> None:
    plugin(tools, without=("run",))
    done = run(tools, small, GOMPY_PLUGINS=",broken,,intelmic,")
    assert done.stdout == "s 4\n" and "1 on device 0 (intelmic)" in done.stderr
    assert "undefined symbol: GOMP_OFFLOAD_run" in done.stderr


def test_without_openmp_its_devices_are_not_for_openmp(tools: Tools, small: Path) -> None:
    plugin(tools, without=("run", "dev2dev"), get_caps="unsigned F(get_caps) (void) { return 0; }")
    done = run(tools, small)
    assert (done.returncode, done.stdout) == (0, "s 4\n")


TABLE = "int F(load_image) (int n, unsigned v, const void *data, struct pair **table) "


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("init_device", "bool F(init_device) (int n) { return false; }", "device initialization failed"),
        ("load_image", TABLE + "{ return -1; }", "device 0 (broken) could not load an image"),
        ("load_image", TABLE + "{ return 2; }", "device 0 (broken) loaded an image, but gives no table of it"),
        (
            "load_image",
            TABLE + "{ *table = calloc (9, sizeof **table); return 9; }",
            "Cannot map target functions or variables (expected 2, have 9)",
        ),
        (
            "load_image",
            TABLE + "{ *table = calloc (2, sizeof **table); (*table)[1].end = 5; return 2; }",
            "Cannot map target variables (size mismatch)",
        ),
        ("alloc", "void *F(alloc) (int n, size_t size) { return 0; }", "device memory allocation fail"),
        (
            "host2dev",
            "bool F(host2dev) (int n, void *d, const void *s, size_t z) { return false; }",
            "Copying of host object [",
        ),
        (
            "dev2host",
            "bool F(dev2host) (int n, void *d, const void *s, size_t z) { return false; }",
            "Copying of dev object [",
        ),
        ("free", "bool F(free) (int n, void *p) { return false; }", "error in freeing device memory block at 0x"),
        ("fini_device", "bool F(fini_device) (int n) { return false; }", "device finalization failed"),
        (
            "run",
            """void GOMP_PLUGIN_fatal (const char *, ...);
            void F(run) (int n, void *f, void *v, void **a) { GOMP_PLUGIN_fatal ("%s: %d", "the end", 5); }""",
            "the end: 5",
        ),
    ],
)
def test_a_failing_function_ends_the_program(tools: Tools, small: Path, name: str, text: str, message: str) -> None:
    plugin(tools, **{name: text})
    done = run(tools, small)
    assert done.returncode == 1 and f"libgomp: {message}" in done.stderr, done


def test_only_the_low_byte_of_a_bool_counts(tools: Tools, small: Path) -> None:
    """The ABI leaves the upper bytes of a returned _Bool undefined."""
    text = 'bool F(init_device) (int n) { long r = 0xabcdef01; asm volatile ("" : : "a" (r)); return true; }'
    plugin(tools, init_device=text)
    assert run(tools, small).stdout == "s 77\n"
    text = "int zero; long F(init_device) (int n) { return 0xabcdef00 + zero; }"
    plugin(tools, init_device=text)
    assert "device initialization failed" in run(tools, small).stderr


def test_a_plugin_beside_libgompy_comes_first(tools: Tools, small: Path, tmp_path: Path) -> None:
    lib = tmp_path / "lib"
    lib.mkdir()
    for path in Path(paths.LIBDIR).glob("lib*.so*"):
        shutil.copy2(path, lib / path.name)
    plugin(tools)
    shutil.move(tools.work / "libgomp-plugin-broken.so.1", lib)
    tools.write("libgomp-plugin-broken.so.1", "not this one")
    done = run(tools, small, LD_PRELOAD=for_preload(lib / "libgompy.so.1", tools.work))
    assert done.stdout == "s 77\n", done.stderr


@pytest.mark.slow
def test_doctor_says_why(tools: Tools, small: Path) -> None:
    plugin(tools, without=("run",))
    done = tools.run("gompy", "doctor", env={"GOMPY_PLUGINS": "broken,gone", "LD_LIBRARY_PATH": str(tools.work)})
    text = done.stdout[done.stdout.index("device plugins\n") :]
    assert "  ok  intelmic: 1 device\n" in text and "  ok  null: 1 device\n" in text
    assert "undefined symbol: GOMP_OFFLOAD_run\n" in text
    assert "  --  gone: while loading libgomp-plugin-gone.so.1: libgomp-plugin-gone.so.1: cannot open shared" in text

"""What libgompy.so.1 exports, what it needs, and that it takes no interpreter to run."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from page_faults import page_faults
from runtime_tools import LIBGOMPY, compile_program, run

from gompy.abi import llvm

CONSTRUCTS = """
GOMP_offload_register GOMP_offload_register_ver GOMP_offload_unregister GOMP_offload_unregister_ver
GOMP_target_ext GOMP_target_data_ext GOMP_target_end_data GOMP_target_update_ext GOMP_target_enter_exit_data
GOMP_target GOMP_target_data GOMP_target_update
"""
API = """
omp_target_alloc omp_target_free omp_target_is_present omp_target_memcpy omp_target_memcpy_rect
omp_target_associate_ptr omp_target_disassociate_ptr
omp_get_num_devices omp_is_initial_device omp_set_default_device omp_get_default_device omp_get_initial_device
omp_get_device_num omp_pause_resource omp_pause_resource_all omp_display_env
"""
NEWER = """
omp_target_is_accessible omp_get_mapped_ptr omp_target_memcpy_async omp_target_memcpy_rect_async
omp_get_device_from_uid omp_get_device_from_uid_ omp_get_uid_from_device omp_get_uid_from_device_
omp_get_uid_from_device_8_ omp_target_memset omp_target_memset_async GOMP_PLUGIN_target_rev
GOMP_interop omp_get_num_interop_properties omp_get_interop_int omp_get_interop_ptr omp_get_interop_str
omp_get_interop_name omp_get_interop_type_desc omp_get_interop_rc_desc omp_get_interop_str_ omp_get_interop_name_
omp_get_interop_type_desc_ omp_get_interop_rc_desc_ acc_memcpy_device acc_memcpy_device_async
"""
"""Of GCC 13, 15 and 16."""
TASKS = "GOMP_task GOMP_taskloop GOMP_taskloop_ull"
"""To know whether an explicit task is being run outside of teams (host_tasks.pxi)."""
LOOPS = "static dynamic guided nonmonotonic_dynamic nonmonotonic_guided"
RUNTIME_LOOPS = "runtime nonmonotonic_runtime maybe_nonmonotonic_runtime"
WAITS = " ".join(
    [
        "GOMP_taskwait GOMP_taskwait_depend GOMP_taskyield GOMP_taskgroup_start GOMP_taskgroup_end",
        "GOMP_workshare_task_reduction_unregister GOMP_barrier GOMP_barrier_cancel GOMP_loop_end GOMP_loop_end_cancel",
        "GOMP_sections_end GOMP_sections_end_cancel GOMP_single_copy_start GOMP_single_copy_end GOMP_teams_reg",
        "GOMP_parallel GOMP_parallel_reductions GOMP_parallel_sections",
        *(f"GOMP_parallel_loop_{kind}" for kind in f"{LOOPS} {RUNTIME_LOOPS}".split()),
    ]
)
"""For the checks: what a task has waited for (host_waits.h)."""
ALLOCATORS = """
omp_alloc omp_aligned_alloc omp_calloc omp_aligned_calloc omp_realloc omp_free omp_init_allocator omp_destroy_allocator
omp_init_allocator_ omp_init_allocator_8_ omp_destroy_allocator_ GOMP_alloc GOMP_free
"""
"""For the memory that host and device share; all else of theirs is the stock library's (allocators.pxi)."""
FORTRAN = """
omp_get_num_devices_ omp_is_initial_device_ omp_get_initial_device_ omp_get_device_num_ omp_get_default_device_
omp_set_default_device_ omp_set_default_device_8_ omp_pause_resource_ omp_pause_resource_all_
omp_display_env_ omp_display_env_8_
"""
SERVICES = """
GOMP_PLUGIN_malloc GOMP_PLUGIN_malloc_cleared GOMP_PLUGIN_realloc GOMP_PLUGIN_debug GOMP_PLUGIN_error
GOMP_PLUGIN_fatal GOMP_PLUGIN_target_task_completion
GOMP_PLUGIN_acc_thread GOMP_PLUGIN_acc_default_dim GOMP_PLUGIN_goacc_thread GOMP_PLUGIN_async_unmap_vars
GOMP_PLUGIN_goacc_profiling_dispatch
"""
OPENACC = """
GOACC_parallel_keyed GOACC_parallel GOACC_data_start GOACC_data_end GOACC_enter_data GOACC_exit_data
GOACC_enter_exit_data GOACC_update GOACC_wait GOACC_declare GOACC_get_num_threads GOACC_get_thread_num
acc_get_num_devices acc_set_device_type acc_get_device_type acc_set_device_num acc_get_device_num acc_get_property
acc_get_property_string acc_init acc_shutdown acc_on_device acc_async_test acc_async_test_all acc_wait acc_async_wait
acc_wait_async acc_wait_all acc_async_wait_all acc_wait_all_async acc_malloc acc_free acc_memcpy_to_device
acc_memcpy_to_device_async acc_memcpy_from_device acc_memcpy_from_device_async acc_deviceptr acc_hostptr acc_is_present
acc_map_data acc_unmap_data acc_copyin acc_present_or_copyin acc_pcopyin acc_copyin_async acc_create
acc_present_or_create acc_pcreate acc_create_async acc_copyout acc_copyout_async acc_copyout_finalize
acc_copyout_finalize_async acc_delete acc_delete_async acc_delete_finalize acc_delete_finalize_async acc_update_device
acc_update_device_async acc_update_self acc_update_self_async acc_attach acc_attach_async acc_detach acc_detach_async
acc_detach_finalize acc_detach_finalize_async acc_get_current_cuda_device acc_get_current_cuda_context
acc_get_cuda_stream acc_set_cuda_stream acc_prof_register acc_prof_unregister acc_prof_lookup acc_register_library
"""
FOR_PLUGINS = """
gompy_has_image gompy_image_data gompy_nearest_object gompy_check_text gompy_check_thread gompy_own_threads
gompy_target_rev gompy_enter_device
"""
"""What gompy's own plugins ask of libgompy beside libgomp's services."""
FOR_DEBUGGERS = "gompy_describe_offload gompy_describe_and_trap gompy_described"
"""What gdb calls for `info offload` (gompy/gdb), and what it lets a thread run where it cannot call."""
FOR_TOOLS = "gompy_subscribe gompy_unsubscribe ompt_start_tool gompy_status"
"""Events of the runtime (gompy/native/hooks.h); what gompy top reads; the name by which ld exports a program's tool."""
FOR_STREAMS = "gompy_interop_call gompy_interop_copy"
"""What a program puts into a stream of the emulated MIC."""
FOR_RANGES = "nvtxRangePushA nvtxRangePop nvtxMarkA roctxRangePushA roctxRangePop roctxMarkA"
"""NVTX's and ROC-TX's functions: ranges of the program's in its trace."""
FOR_CHECKS = "gompy_access"
"""Where the hooks of gompcc -foffload-check find what looks at each access."""
FOR_LLVM = "gompy_copy_memory gompy_is_present gompy_mapped_pointer"
"""Routines of OpenMP as libomptarget's names of them call them, which stand before libgompy's own."""
FOR_IMAGES = "gompy_offload_register"
"""What host objects of gompy's mkoffload call if it is there."""


OUTPUT = "_gfortran_st_write _gfortran_st_write_done"
"""Fortran's write statements, which stand before libgfortran's: a launch inside of one must not flush the unit."""

LATER = "GOMP_target_map_indirect_ptr"
"""What else libgomp of gcc 13 to 16 has: gcc 12 neither declares nor calls it."""


def defined(library: Path | str) -> set[str]:
    """Dynamic symbols that a library defines, without versions."""
    nm = subprocess.run(["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True)
    return {line.split()[-1].split("@")[0] for line in nm.stdout.splitlines()}


def test_the_list_of_entry_points() -> None:
    """Exactly these: a name too many would take something away from the stock libgomp."""
    ours = f"{CONSTRUCTS} {TASKS} {WAITS} {API} {NEWER} {ALLOCATORS} {FORTRAN} {SERVICES} {OPENACC} {OUTPUT}"
    ours += (
        f" {FOR_PLUGINS} {FOR_IMAGES} {FOR_DEBUGGERS} {FOR_TOOLS} {FOR_STREAMS} {FOR_RANGES} {FOR_CHECKS} {FOR_LLVM}"
    )
    expected = {
        *ours.split(),
        "PyInit_libgompy",
        *(llvm.door(s, name) for s in llvm.SONAMES for name in llvm.exports(s)),
    }
    assert defined(LIBGOMPY) == expected


def test_all_but_the_new_ones_are_in_the_stock_library() -> None:
    """No name is misspelt: libgomp of GCC 12 has each, and no omp_target_ or device function that is missing here."""
    path = subprocess.run(["gcc", "-print-file-name=libgomp.so.1"], check=True, capture_output=True, text=True)
    stock = defined(path.stdout.strip())
    ours = set(f"{CONSTRUCTS} {TASKS} {WAITS} {API} {FORTRAN} {SERVICES} {OPENACC}".split())
    assert ours | set(ALLOCATORS.split()) <= stock
    names = r"GOMP_(target|offload)|omp_target_|omp_(get|set)_\w*device|omp_is_initial|omp_pause|omp_display_env"
    offload = re.compile(rf"{names}|GOACC_[a-z]|acc_\w+(?<!_h_)$")
    assert {name for name in stock - set(f"{NEWER} {LATER}".split()) if offload.match(name)} == {
        name for name in ours - set(WAITS.split()) if not name.startswith(("GOMP_PLUGIN", "GOMP_task"))
    }


def test_python_is_weak() -> None:
    """The library needs libgomp and libc; no libpython, and no strong reference to it."""
    text = subprocess.run(["readelf", "-d", str(LIBGOMPY)], check=True, capture_output=True, text=True).stdout
    assert set(re.findall(r"NEEDED.*\[(.*)\]", text)) <= {"libgomp.so.1", "libc.so.6", "ld-linux-x86-64.so.2"}
    nm = subprocess.run(["nm", "-D", "--undefined-only", str(LIBGOMPY)], check=True, capture_output=True, text=True)
    assert not [line for line in nm.stdout.splitlines() if re.search(r"\bU _?Py", line)]


@pytest.mark.parametrize("plugins", ["", "null"])
def test_start_costs_little(tmp_path: Path, plugins: str) -> None:
    """A whole program, device found and region run, takes some 100 pages, 80 of them without us."""
    program = compile_program(tmp_path, "int main (void) {\n#pragma omp target\n;\nreturn 0; }")
    assert run(tmp_path, program, plugins=plugins).rc == 0
    assert page_faults([program], os.environ | {"LD_PRELOAD": str(LIBGOMPY), "GOMPY_PLUGINS": plugins}) < 200

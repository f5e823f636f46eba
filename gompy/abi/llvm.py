"""Numbers and names of LLVM's offloading interface, libomptarget's, as clang 12 to 19 use it.

Sources: openmp/libomptarget/include/omptarget.h, libomptarget's exports, llvm/Object/OffloadBinary.h of LLVM 16.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# --- bits of a map's type (tgt_map_type) ---
TGT_MAP_TO: Final = 0x1
TGT_MAP_FROM: Final = 0x2
TGT_MAP_ALWAYS: Final = 0x4
TGT_MAP_DELETE: Final = 0x8
TGT_MAP_PTR_AND_OBJ: Final = 0x10
TGT_MAP_TARGET_PARAM: Final = 0x20
TGT_MAP_RETURN_PARAM: Final = 0x40
TGT_MAP_PRIVATE: Final = 0x80
TGT_MAP_LITERAL: Final = 0x100
TGT_MAP_IMPLICIT: Final = 0x200
TGT_MAP_CLOSE: Final = 0x400
TGT_MAP_PRESENT: Final = 0x1000
TGT_MAP_HOLD: Final = 0x2000
TGT_MAP_ATTACH: Final = 0x4000
"""Since 21: base is the address of a pointer, begin what it points to; with PRIVATE a pointer of the region's own."""
TGT_MAP_FB_NULLIFY: Final = 0x8000
"""Since 22, with RETURN_PARAM: what is not mapped gives NULL, not the host's pointer."""
TGT_MAP_NON_CONTIG: Final = 0x100000000000
TGT_MAP_MEMBER_SHIFT: Final = 48

# --- flags of an entry (OpenMPOffloadingDeclareTargetFlags) ---
TGT_ENTRY_LINK: Final = 0x1
TGT_ENTRY_CTOR: Final = 0x2
TGT_ENTRY_DTOR: Final = 0x4
TGT_ENTRY_INDIRECT: Final = 0x8
TGT_ENTRY_REQUIRES: Final = 0x10

# --- omp requires (OpenMPOffloadingRequiresDirFlags) ---
TGT_REQUIRES_REVERSE_OFFLOAD: Final = 0x2
TGT_REQUIRES_UNIFIED_ADDRESS: Final = 0x4
TGT_REQUIRES_UNIFIED_SHARED_MEMORY: Final = 0x8
TGT_REQUIRES_DYNAMIC_ALLOCATORS: Final = 0x10

# --- the kernel's arguments (KernelArgsTy) ---
TGT_KERNEL_ARGS_NEWEST: Final = 3
TGT_KERNEL_ARGS_NEWEST_16: Final = 2
"""That of clang 16 to 18."""
TGT_KERNEL_ARGS_DYN_PTR: Final = 3
"""From this version on a kernel's first word is one of the runtime's."""

# --- LIBOMPTARGET_INFO (OpenMPInfoType) ---
TGT_INFO_ARGS: Final = 0x1
TGT_INFO_EXISTS: Final = 0x2
TGT_INFO_TABLE: Final = 0x4
TGT_INFO_CHANGED: Final = 0x8
TGT_INFO_KERNEL: Final = 0x10
TGT_INFO_COPIES: Final = 0x20
TGT_INFO_EMPTY: Final = 0x40

# --- OffloadBinary ---
OFFLOAD_BINARY_MAGIC: Final = 0xAD10FF10
OFFLOAD_BINARY_VERSION: Final = 1
IMAGE_KINDS: Final = ("<none>", "elf", "llvm ir", "cubin", "fatbinary", "ptx")
"""Of an image, by number (ImageKind), in llvm-objdump's words."""
IMAGE_EXTENSIONS: Final = ("", "o", "bc", "cubin", "fatbin", "s")
OFFLOAD_KINDS: Final = ("none", "openmp", "cuda", "hip")
"""Who made an image (OffloadKind)."""
IMG_OBJECT: Final = 1
IMG_BITCODE: Final = 2
IMG_PTX: Final = 5
OFK_OPENMP: Final = 1
OFK_CUDA: Final = 2
OFK_HIP: Final = 3

# --- sections ---
SHT_LLVM_OFFLOADING: Final = 0x6FFF4C0B
OFFLOADING_SECTION: Final = ".llvm.offloading"
LINKED_SECTION: Final = ".llvm.offloading.relocatable"
"""Since 19: images that are registered already, in an object (--relocatable of the linker wrapper)."""
ENTRIES_SECTION: Final = "omp_offloading_entries"
CUDA_ENTRIES_SECTION: Final = "cuda_offloading_entries"
HIP_ENTRIES_SECTION: Final = "hip_offloading_entries"
ENTRY_SIZE: Final = 32
"""Address, name, size, flags (i32), reserved (i32): __tgt_offload_entry up to LLVM 19."""
NEWER_ENTRIES_SECTION: Final = "llvm_offload_entries"
ENTRY_SECTIONS: Final = (ENTRIES_SECTION, NEWER_ENTRIES_SECTION, CUDA_ENTRIES_SECTION, HIP_ENTRIES_SECTION)
NEWER_ENTRY_SIZE: Final = 56
"""From LLVM 20 on: reserved (u64), version (u16), kind (u16), flags (u32), address, name, size, data, more."""

# --- ours: what an image is made by (TargetData.accel; gompy/objects/names.py has the others) ---
ACCEL_LLVM: Final = 3

CLANGS: Final = {
    16: "libomptarget.so.16",
    19: "libomptarget.so.19.1",
    18: "libomptarget.so.18.1",
    17: "libomptarget.so.17",
    15: "libomptarget.so.15",
    22: "libomptarget.so.22.1",
    14: "libomptarget.so",
}
"""Releases of clang whose programs run on libgompy, with the library that they ask for; the best tried one first."""

WITHOUT_LIBOMPTARGET: Final = 20
"""From this release on Debian's packages have no libomptarget to link with: programs are linked with ours."""

WITH_OFFLOAD_WRAPPER: Final = (14,)
"""Releases that register images by clang-offload-wrapper; later ones pack them into objects, and link by a wrapper."""

SONAMES: Final = tuple(CLANGS.values())
"""Names under which programs ask for libomptarget."""

VERSION_NODE: Final = "VERS1.0"

_DATA: Final = ("begin", "end", "update")
EXPORTS: Final = (
    "__kmpc_push_target_tripcount",
    "__kmpc_push_target_tripcount_mapper",
    "__tgt_init_all_rtls",
    "__tgt_interop_destroy",
    "__tgt_interop_init",
    "__tgt_interop_use",
    "__tgt_mapper_num_components",
    "__tgt_print_device_info",
    "__tgt_push_mapper_component",
    "__tgt_register_lib",
    "__tgt_register_requires",
    "__tgt_set_info_flag",
    "__tgt_target",
    *(f"__tgt_target_data_{what}{how}" for what in _DATA for how in ("", "_mapper", "_nowait", "_nowait_mapper")),
    "__tgt_target_kernel",
    "__tgt_target_kernel_nowait",
    "__tgt_target_kernel_replay",
    "__tgt_target_mapper",
    "__tgt_target_nowait",
    "__tgt_target_nowait_mapper",
    "__tgt_target_nowait_query",
    "__tgt_target_teams",
    "__tgt_target_teams_mapper",
    "__tgt_target_teams_nowait",
    "__tgt_target_teams_nowait_mapper",
    "__tgt_unregister_lib",
    *(f"llvm_omp_target_{what}_{kind}" for what in ("alloc", "free") for kind in ("device", "host", "shared")),
    "llvm_omp_target_dynamic_shared_alloc",
    "llvm_omp_target_lock_mem",
    "llvm_omp_target_unlock_mem",
    "omp_get_device_num",
    "omp_get_initial_device",
    "omp_get_interop_int",
    "omp_get_interop_name",
    "omp_get_interop_ptr",
    "omp_get_interop_str",
    "omp_get_interop_type_desc",
    "omp_get_mapped_ptr",
    "omp_get_num_devices",
    "omp_target_alloc",
    "omp_target_associate_ptr",
    "omp_target_disassociate_ptr",
    "omp_target_free",
    "omp_target_is_present",
    "omp_target_memcpy",
    "omp_target_memcpy_rect",
)
"""What libomptarget.so.16 exports, all in one version node."""

NEWER_EXPORTS: Final = {
    17: ("omp_target_memcpy_async", "omp_target_memcpy_rect_async"),
    18: ("__tgt_activate_record_replay", "omp_target_memset", "omp_target_memset_async"),
    19: ("__tgt_rtl_deinit", "__tgt_rtl_init", "ompx_dump_mapping_tables"),
    22: (
        "__llvmPopCallConfiguration",
        "__llvmPushCallConfiguration",
        "__tgt_interop_get",
        "__tgt_interop_release",
        "__tgt_interop_use60",
        "__tgt_target_sync",
        "llvmLaunchKernel",
        "omp_get_device_from_uid",
        "omp_get_uid_from_device",
        "omp_target_is_accessible",
        "ompx_interop_add_completion_callback",
    ),
}
"""What a release has besides, but for ompt_libomptarget_connect of 17, which only its own plugins call."""


def exports(soname: str) -> tuple[str, ...]:
    """What one of SONAMES exports; those before 16 have all of its names."""
    release = next(number for number, name in CLANGS.items() if name == soname)
    newer = (names for number, names in NEWER_EXPORTS.items() if number <= release)
    return EXPORTS + tuple(name for names in newer for name in names)


ALL_EXPORTS: Final = EXPORTS + tuple(name for names in NEWER_EXPORTS.values() for name in names)

DOOR: Final = "gompy_llvm_"
"""Prefix of the functions of libgompy that these names lead to."""

DOORS_OF: Final = {
    name: {"__tgt_register_lib": "gompy_llvm_18___tgt_register_lib"} for number, name in CLANGS.items() if number >= 18
}
DOORS_OF[CLANGS[22]] = {"__tgt_register_lib": "gompy_llvm_22___tgt_register_lib"}
DOORS_OF[CLANGS[17]] = {"__tgt_register_lib": "gompy_llvm_17___tgt_register_lib"}
DOORS_OF[CLANGS[18]]["__tgt_target_kernel"] = "gompy_llvm_18___tgt_target_kernel"
"""Of a library: names that lead to functions of their own.

Since 17 a struct keeps its alignment on the device only; since 18 messages begin with another word.  18's kernels have
the runtime's word first, though its kernel arguments have the version that says otherwise.  22 leaves use_device_ptr
the value of what is not mapped.
"""


def door(soname: str, name: str) -> str:
    """The function of libgompy that a name of a library leads to."""
    return DOORS_OF.get(soname, {}).get(name, DOOR + name)


TOLD: Final = ("omp_get_mapped_ptr", "omp_target_disassociate_ptr", "omp_target_is_present", "omp_target_memcpy")
"""Those that say what they do, or why they fail, as libomptarget's do."""

ALIASES: Final = {name: name for name in EXPORTS if name.startswith("omp_") and name not in TOLD} | {
    "llvm_omp_target_alloc_device": "omp_target_alloc",
    "llvm_omp_target_free_device": "omp_target_free",
    "omp_target_memset": "omp_target_memset",
    "omp_get_device_from_uid": "omp_get_device_from_uid",
    "omp_get_uid_from_device": "omp_get_uid_from_device",
    "omp_target_is_accessible": "omp_target_is_accessible",
}
"""Those that are a function which libgompy has for gcc's programs, too: one for both."""

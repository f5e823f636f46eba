"""Names, numbers and layouts that the toolchain, the runtime and the tools must agree on.

Everything here mirrors something else: GCC's include/gomp-constants.h, lto-section-names.h, the linker plugin, or the
records that the assembler filter, mkoffload and libgompy exchange (docs/internals.md).  No other module repeats them.
"""

from __future__ import annotations

from gompy.abi import targets

TYPE_CHECKING = False  # typing's own, without the 10 ms that importing typing costs every compile
if TYPE_CHECKING:
    from typing import Final

# --- sections (GCC 12: lto-section-names.h, omp-offload.cc) ---------------------------------------------------------

LTO_SECTION_PREFIX: Final = ".gnu.lto_"
"""Prefix of the host LTO streams; the linker plugin claims a file that has ``.gnu.lto_.symtab*``."""
OFFLOAD_LTO_SECTION_PREFIX: Final = ".gnu.offload_lto_"
"""Prefix of the streams for GCC's accelerator compilers."""
DEVICE_IR_SECTION_PREFIX: Final = ".gompyir_"
"""The host LTO streams of an object that its user did not ask to be LTO, under a name the linker plugin ignores.

Exactly as long as LTO_SECTION_PREFIX, so that renaming is a patch of the section name table in place.
"""
DEBUG_LTO_SECTION_PREFIX: Final = ".gnu.debuglto_"
OFFLOAD_OPTS_SECTION: Final = ".gnu.offload_lto_.opts"
LTO_OPTS_SECTION: Final = ".gnu.lto_.opts"

OFFLOAD_FUNC_SECTION: Final = ".gnu.offload_funcs"
OFFLOAD_VAR_SECTION: Final = ".gnu.offload_vars"
OFFLOAD_IND_FUNC_SECTION: Final = ".gnu.offload_ind_funcs"
"""Functions of ``declare target indirect`` (GCC 14), entries as of functions."""
FUNC_ENTRY_SIZE: Final = 8
VAR_ENTRY_SIZE: Final = 16
LINK_BIT: Final = 1 << 63
"""Set in the size of a variable's entry: ``declare target link``."""
SIZE_UNKNOWN: Final = 1 << 62
"""Size in the entry of an object that a library defines: known when the program runs."""

# --- symbols ---------------------------------------------------------------------------------------------------------

FUNC_TABLE_BEGIN: Final = "__offload_func_table"
FUNC_TABLE_END: Final = "__offload_funcs_end"
VAR_TABLE_BEGIN: Final = "__offload_var_table"
VAR_TABLE_END: Final = "__offload_vars_end"
IND_FUNC_TABLE_BEGIN: Final = "__offload_ind_func_table"
IND_FUNC_TABLE_END: Final = "__offload_ind_funcs_end"
TABLE_BOUNDS: Final = (
    *(FUNC_TABLE_BEGIN, FUNC_TABLE_END, VAR_TABLE_BEGIN, VAR_TABLE_END),
    *(IND_FUNC_TABLE_BEGIN, IND_FUNC_TABLE_END),
)
"""In the order of HOST_TABLE, which has the last two from GOMP_VERSION 3 on."""
HOST_TABLE: Final = "__OFFLOAD_TABLE__"
GOMPY_HOST_TABLE: Final = "gompy_host_table"
"""The table that our host object registers in place of HOST_TABLE when it adds entries of its own (C++ vtables)."""
TARGET_TABLE: Final = "__OFFLOAD_TARGET_TABLE__"
"""In an intelmic image: four pointers, as HOST_TABLE (GCC: config/i386/intelmic-mkoffload.cc)."""

# --- targets ---------------------------------------------------------------------------------------------------------

TARGET_INTELMIC: Final = targets.INTELMIC.name
TARGET_NVPTX: Final = targets.NVPTX.name

# --- the record beside each object's tables, and the description mkoffload gives of the image -------------------------

OBJECT_RECORD_SECTION: Final = "gompy_offload_objects"
"""A C identifier, so that ld supplies ``__start_`` and ``__stop_`` symbols; SHF_ALLOC | SHF_GNU_RETAIN, align 8."""
OBJECT_RECORD: Final = "<QII48s"
"""u64 id (0: an LTRANS object, which joins several), u32 functions, u32 variables, source file name (NUL padded)."""
OBJECT_RECORD_SIZE: Final = 64

IMAGE_MAGIC: Final = int.from_bytes(b"GOMPYMIC", "little")
IMAGE_ABI: Final = 1
ACCEL_STOCK: Final = 1
"""The image was compiled by the stock lto1 from host streams."""
ACCEL_TRUE: Final = 2
"""The image was compiled by a true accelerator compiler from the offload streams.  3 is clang's (abi/llvm.py)."""
ACCEL_ONLY: Final = "-faccelerator-only"
"""Offload option in the streams of an object that was compiled for the true one alone (GOMPY_ACCEL=true): there each
compiler folds acc_on_device for the device that it compiles for, and the stock lto1 would take that for the host."""

OBJECT_KIND_ID: Final = 0
"""Object with a record of ours, device code in the image: paired by id."""
OBJECT_KIND_LTO: Final = 1
"""Object that goes through host LTO: its entries are in the joint table, whose record has id 0."""
OBJECT_KIND_HOST_ONLY: Final = 2
"""Object without device code: its entries stand in the host table only, its regions run on the host."""
OBJECT_KIND_STOCK: Final = 3
"""Object without a record (made by plain gcc), device code in the image: paired by position."""

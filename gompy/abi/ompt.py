"""Numbers and records of the target part of OMPT, OpenMP 5.1's interface for tools.

Sources: the OpenMP 5.1 specification, chapter 4; omp-tools.h of LLVM 16.  A name is that of the standard, in capitals.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# --- callbacks (ompt_callbacks_t) ---
OMPT_CALLBACK_TARGET: Final = 8
OMPT_CALLBACK_TARGET_DATA_OP: Final = 9
OMPT_CALLBACK_TARGET_SUBMIT: Final = 10
OMPT_CALLBACK_DEVICE_INITIALIZE: Final = 12
OMPT_CALLBACK_DEVICE_FINALIZE: Final = 13
OMPT_CALLBACK_DEVICE_LOAD: Final = 14
OMPT_CALLBACK_DEVICE_UNLOAD: Final = 15
OMPT_CALLBACK_TARGET_MAP: Final = 22
OMPT_CALLBACK_TARGET_EMI: Final = 33
OMPT_CALLBACK_TARGET_DATA_OP_EMI: Final = 34
OMPT_CALLBACK_TARGET_SUBMIT_EMI: Final = 35
OMPT_CALLBACK_TARGET_MAP_EMI: Final = 36
OMPT_CALLBACK_ERROR: Final = 37
"""The last one."""

# --- what asking for one leads to (ompt_set_result_t) ---
OMPT_SET_ERROR: Final = 0
OMPT_SET_NEVER: Final = 1
OMPT_SET_SOMETIMES: Final = 3
OMPT_SET_ALWAYS: Final = 5

# --- ompt_scope_endpoint_t ---
OMPT_SCOPE_BEGIN: Final = 1
OMPT_SCOPE_END: Final = 2

# --- ompt_target_t ---
OMPT_TARGET: Final = 1
OMPT_TARGET_ENTER_DATA: Final = 2
OMPT_TARGET_EXIT_DATA: Final = 3
OMPT_TARGET_UPDATE: Final = 4
OMPT_TARGET_NOWAIT: Final = 9

# --- ompt_target_data_op_t ---
OMPT_TARGET_DATA_ALLOC: Final = 1
OMPT_TARGET_DATA_TRANSFER_TO_DEVICE: Final = 2
OMPT_TARGET_DATA_TRANSFER_FROM_DEVICE: Final = 3
OMPT_TARGET_DATA_DELETE: Final = 4
OMPT_TARGET_DATA_ASSOCIATE: Final = 5
OMPT_TARGET_DATA_DISASSOCIATE: Final = 6

# --- ompt_target_map_flag_t ---
OMPT_TARGET_MAP_FLAG_TO: Final = 0x01
OMPT_TARGET_MAP_FLAG_FROM: Final = 0x02
OMPT_TARGET_MAP_FLAG_ALLOC: Final = 0x04
OMPT_TARGET_MAP_FLAG_RELEASE: Final = 0x08
OMPT_TARGET_MAP_FLAG_DELETE: Final = 0x10

# --- ompt_record_t ---
OMPT_RECORD_OMPT: Final = 1
OMPT_RECORD_INVALID: Final = 3

# --- ompt_state_t ---
OMPT_STATE_WORK_SERIAL: Final = 0x000
OMPT_STATE_WAIT_TARGET: Final = 0x080
OMPT_STATE_WAIT_TARGET_MAP: Final = 0x081
OMPT_STATE_WAIT_TARGET_UPDATE: Final = 0x082
OMPT_STATE_UNDEFINED: Final = 0x102

# --- of libgompy's answer to a tool ---
OMPT_OPENMP_VERSION: Final = 202011
"""_OPENMP of OpenMP 5.1."""

RECORDS: Final[dict[str, str]] = {
    "ompt_start_tool_result_t": "void *initialize, void *finalize, uint64_t tool_data",
    "ompt_record_target_t": "int kind, int endpoint, int device_num, uint64_t task_id, uint64_t target_id, "
    "const void *codeptr_ra",
    "ompt_record_target_data_op_t": "uint64_t host_op_id, int optype, void *src_addr, int src_device_num, "
    "void *dest_addr, int dest_device_num, size_t bytes, uint64_t end_time, const void *codeptr_ra",
    "ompt_record_target_kernel_t": "uint64_t host_op_id, unsigned requested_num_teams, unsigned granted_num_teams, "
    "uint64_t end_time",
    "ompt_record_ompt_t": "int type, uint64_t time, uint64_t thread_id, uint64_t target_id, uint64_t record[9]",
}
"""Fields in C, in their order; `record` stands for a union of the other records, of which the data op's is largest."""

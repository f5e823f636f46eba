"""NVRTC: results, calls, and what goes between libnvrtc and the process that compiles (docs/nvrtc.md).

Names and numbers are those of NVIDIA's NVRTC documentation.
"""

from __future__ import annotations

from typing import Final

from gompy.abi import cudart

SONAME: Final = "libnvrtc.so.12"
VERSION: Final = (cudart.CUDART_VERSION // 1000, cudart.CUDART_VERSION % 1000 // 10)
"""nvrtcVersion: the runtime's, with which a program is built."""

ARCHITECTURES: Final = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90)
"""nvrtcGetSupportedArchs: those that clang 16 knows.  An older clang says itself what it does not know."""

RESULTS: Final = {
    "NVRTC_SUCCESS": 0,
    "NVRTC_ERROR_OUT_OF_MEMORY": 1,
    "NVRTC_ERROR_PROGRAM_CREATION_FAILURE": 2,
    "NVRTC_ERROR_INVALID_INPUT": 3,
    "NVRTC_ERROR_INVALID_PROGRAM": 4,
    "NVRTC_ERROR_INVALID_OPTION": 5,
    "NVRTC_ERROR_COMPILATION": 6,
    "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE": 7,
    "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION": 8,
    "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION": 9,
    "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID": 10,
    "NVRTC_ERROR_INTERNAL_ERROR": 11,
    "NVRTC_ERROR_TIME_FILE_WRITE_FAILED": 12,
}
"""nvrtcResult."""

_GET: Final = "nvrtcProgram prog, char *"
_SIZE: Final = "nvrtcProgram prog, size_t *"
CALLS: Final = {
    "nvrtcVersion": "int *major, int *minor",
    "nvrtcGetNumSupportedArchs": "int *numArchs",
    "nvrtcGetSupportedArchs": "int *supportedArchs",
    "nvrtcCreateProgram": (
        "nvrtcProgram *prog, const char *src, const char *name, int numHeaders, const char *const *headers, "
        "const char *const *includeNames"
    ),
    "nvrtcDestroyProgram": "nvrtcProgram *prog",
    "nvrtcCompileProgram": "nvrtcProgram prog, int numOptions, const char *const *options",
    "nvrtcGetPTXSize": f"{_SIZE}ptxSizeRet",
    "nvrtcGetPTX": f"{_GET}ptx",
    "nvrtcGetCUBINSize": f"{_SIZE}cubinSizeRet",
    "nvrtcGetCUBIN": f"{_GET}cubin",
    "nvrtcGetProgramLogSize": f"{_SIZE}logSizeRet",
    "nvrtcGetProgramLog": f"{_GET}log",
    "nvrtcAddNameExpression": "nvrtcProgram prog, const char *const name_expression",
    "nvrtcGetLoweredName": "nvrtcProgram prog, const char *const name_expression, const char **lowered_name",
}
"""The calls that are there, with their parameters; nvrtcGetErrorString returns a text."""

ABSENT: Final = {
    "nvrtcGetNVVMSize": f"{_SIZE}nvvmSizeRet",
    "nvrtcGetNVVM": f"{_GET}nvvm",
    "nvrtcGetLTOIRSize": f"{_SIZE}LTOIRSizeRet",
    "nvrtcGetLTOIR": f"{_GET}LTOIR",
    "nvrtcGetOptiXIRSize": f"{_SIZE}optixirSizeRet",
    "nvrtcGetOptiXIR": f"{_GET}optixir",
}
"""Those that say that they are not implemented, and return NVRTC_ERROR_INTERNAL_ERROR."""

RECORDS: Final = {
    "SOURCE": "s",
    "NAME": "n",
    "OPTION": "o",
    "HEADER_NAME": "h",
    "HEADER": "H",
    "EXPRESSION": "e",
    "PTX": "p",
    "LOG": "l",
    "LOWERED": "x",
    "MACHINE": "m",
    "RESULT": "r",
}
"""Letters of the records that libnvrtc and its process exchange, each followed by the length and the bytes.

Asked: the name and the source; options, headers (name, then text) and name expressions in their order.  Answered: the
log, the PTX, a lowered name for each expression, MACHINE if an architecture of machines (sm_70) was asked for, and at
the end the result as a decimal number.
"""
LENGTH_BYTES: Final = 8
"""Of a record's length, little end first."""

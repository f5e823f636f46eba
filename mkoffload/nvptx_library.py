"""Functions that device code for nvptx calls and GCC 12's libraries for it lack, as an archive of PTX objects.

C++'s ``new`` and ``delete`` (GCC 12 builds no libstdc++ for nvptx; there are no exceptions, so ``new`` without memory
or with a wrong length ends the program), and what glibc's ``assert`` calls when it fails (newlib's has another name).
The linker takes what the code calls for.  Calls of newlib's functions need no care for -muniform-simt, under which all
threads of a warp run the same code: those functions take it themselves.  Form of the objects: what GCC's nvptx.cc
writes and nvptx-tools' nvptx-ld reads.
"""

from __future__ import annotations

NAME = "gompynvptx"
_PREAMBLE = "// BEGIN PREAMBLE\n.version 6.0\n.target sm_30\n.address_size 64\n// END PREAMBLE\n"
_TAKE = "(.param .u64 %value_out) {0} (.param .u64 %in_ar0)"
_GIVE = "{0} (.param .u64 %in_ar0)"
_GIVE_SIZED = "{0} (.param .u64 %in_ar0, .param .u64 %in_ar1)"
_NEW = """{
.reg .u64 %ar0;
.reg .u64 %r0;
.reg .pred %p0;
ld.param.u64 %ar0,[%in_ar0];
setp.eq.u64 %p0,%ar0,0;
selp.u64 %ar0,1,%ar0,%p0;
{
.param .u64 %value_in;
.param .u64 %out_arg1;
st.param.u64 [%out_arg1],%ar0;
call (%value_in),__nvptx_malloc,(%out_arg1);
ld.param.u64 %r0,[%value_in];
}
setp.ne.u64 %p0,%r0,0;
@ %p0 bra $L1;
call abort;
trap;
$L1:
st.param.u64 [%value_out],%r0;
ret;
}
"""
_ABORT = """{
call abort;
trap;
ret;
}
"""
_DELETE = """{
.reg .u64 %ar0;
ld.param.u64 %ar0,[%in_ar0];
{
.param .u64 %out_arg1;
st.param.u64 [%out_arg1],%ar0;
call __nvptx_free,(%out_arg1);
}
ret;
}
"""
_FAIL = """{
.local .align 8 .b8 %args[32];
.reg .u64 %ar0;
.reg .u64 %ar1;
.reg .u32 %ar2;
.reg .u64 %ar3;
.reg .u64 %r0;
.reg .u64 %r1;
ld.param.u64 %ar0,[%in_ar0];
ld.param.u64 %ar1,[%in_ar1];
ld.param.u32 %ar2,[%in_ar2];
ld.param.u64 %ar3,[%in_ar3];
cvta.local.u64 %r0,%args;
st.u64 [%r0],%ar1;
st.u32 [%r0+8],%ar2;
st.u64 [%r0+16],%ar3;
st.u64 [%r0+24],%ar0;
cvta.global.u64 %r1,$text;
{
.param .u32 %value_in;
.param .u64 %out_arg1;
.param .u64 %out_arg2;
st.param.u64 [%out_arg1],%r1;
st.param.u64 [%out_arg2],%r0;
call (%value_in),printf,(%out_arg1,%out_arg2);
}
call abort;
trap;
ret;
}
"""
_TEXT = "%s:%u: %s: Assertion `%s' failed.\n"


def _declared(name: str, signature: str) -> str:
    return f"// BEGIN GLOBAL FUNCTION DECL: {name}\n.extern .func {signature.format(name)};\n"


def _function(name: str, signature: str, body: str) -> str:
    head = f".visible .func {signature.format(name)}"
    return f"// BEGIN GLOBAL FUNCTION DECL: {name}\n{head};\n// BEGIN GLOBAL FUNCTION DEF: {name}\n{head}\n" + body


def _objects() -> dict[str, str]:
    """Member name → PTX."""
    out = _declared("abort", "{0}")
    new = _PREAMBLE + _declared("__nvptx_malloc", _TAKE) + out
    free = _PREAMBLE + _declared("__nvptx_free", _GIVE)
    text = ",".join(str(byte) for byte in _TEXT.encode() + b"\0")
    fail = "{0} (.param .u64 %in_ar0, .param .u64 %in_ar1, .param .u32 %in_ar2, .param .u64 %in_ar3)"
    said = f"// BEGIN VAR DEF: $text\n.global .align 1 .u8 $text[{len(_TEXT) + 1}] = {{{text}}};\n"
    printf = _declared("printf", "(.param .u32 %value_out) {0} (.param .u64 %in_ar0, .param .u64 %in_ar1)")
    return {
        "new.o": new + _function("_Znwm", _TAKE, _NEW),
        "newarray.o": new + _function("_Znam", _TAKE, _NEW),
        "delete.o": free + _function("_ZdlPv", _GIVE, _DELETE),
        "deletearray.o": free + _function("_ZdaPv", _GIVE, _DELETE),
        "deletesized.o": free + _function("_ZdlPvm", _GIVE_SIZED, _DELETE),
        "deletearrays.o": free + _function("_ZdaPvm", _GIVE_SIZED, _DELETE),
        "badlength.o": _PREAMBLE + out + _function("__cxa_throw_bad_array_new_length", "{0}", _ABORT),
        "assert.o": _PREAMBLE + printf + out + said + _function("__assert_fail", fail, _FAIL),
    }


def archive() -> bytes:
    """The archive, as ar would write it, without an index: nvptx-ld reads the members."""
    result = b"!<arch>\n"
    for name, text in _objects().items():
        content = text.encode()
        result += f"{name + '/':<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode() + content
        result += b"\n" * (len(content) % 2)
    return result

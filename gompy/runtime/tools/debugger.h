/* An entry for debuggers, which works where they cannot call functions, and past breakpoints.

   gdb before 15 reads the extended state of a processor with AMX in part and cannot write it back, so that each call of
   a function in the program ends with "Couldn't write extended state status"; a breakpoint ends a call by any gdb.
   Single general registers it can write everywhere: it points the program counter of a thread at this entry, with a
   stack pointer that is a multiple of 64, and lets the thread run to gompy_described, where rax has what
   gompy_describe_offload returned.  Vector registers are kept here, by FXSAVE where CPUID.1:ECX.OSXSAVE (bit 27) is
   clear.  */

#ifndef GOMPY_DEBUGGER_H
#define GOMPY_DEBUGGER_H

/* 0xe7: x87, SSE, AVX, AVX-512; an area of 2696 bytes (Intel's manual, volume 1, chapter 13), its header cleared
   first.  */
__asm__ (".pushsection .text\n"
	 "	.globl	gompy_describe_and_trap\n"
	 "	.type	gompy_describe_and_trap, @function\n"
	 "gompy_describe_and_trap:\n"
	 "	cld\n"
	 "	sub	$4096, %rsp\n"
	 "	mov	$1, %eax\n"
	 "	xor	%ecx, %ecx\n"
	 "	cpuid\n"
	 "	mov	%ecx, %r12d\n"
	 "	and	$0x8000000, %r12d\n"
	 "	jz	1f\n"
	 "	lea	512(%rsp), %rdi\n"
	 "	xor	%eax, %eax\n"
	 "	mov	$8, %ecx\n"
	 "	rep stosq\n"
	 "	mov	$0xe7, %eax\n"
	 "	xor	%edx, %edx\n"
	 "	xsave64	(%rsp)\n"
	 "	jmp	2f\n"
	 "1:	fxsave64 (%rsp)\n"
	 "2:\n"
	 "	call	gompy_describe_offload\n"
	 "	mov	%rax, %rbx\n"
	 "	test	%r12d, %r12d\n"
	 "	jz	3f\n"
	 "	mov	$0xe7, %eax\n"
	 "	xor	%edx, %edx\n"
	 "	xrstor64 (%rsp)\n"
	 "	jmp	4f\n"
	 "3:	fxrstor64 (%rsp)\n"
	 "4:\n"
	 "	mov	%rbx, %rax\n"
	 "	.globl	gompy_described\n"
	 "gompy_described:\n"
	 "	int3\n"
	 "	.size	gompy_describe_and_trap, . - gompy_describe_and_trap\n"
	 ".popsection");

#endif

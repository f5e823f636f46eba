/* libgompy's functions that this plugin uses, by the names of its door for clang's programs (gompy/abi/llvm.py, DOOR):
   a program has other omp_target_* before them.  */

#ifndef GOMPY_RTL_CORE_H
#define GOMPY_RTL_CORE_H

#include <stddef.h>
#include <stdint.h>

int gompy_llvm_omp_get_num_devices (void);
int gompy_llvm_omp_get_initial_device (void);
void *gompy_llvm_omp_target_alloc (size_t, int);
void gompy_llvm_omp_target_free (void *, int);
void *gompy_llvm_llvm_omp_target_alloc_host (size_t, int);
void *gompy_llvm_llvm_omp_target_alloc_shared (size_t, int);
void gompy_llvm_llvm_omp_target_free_host (void *, int);
void gompy_llvm_llvm_omp_target_free_shared (void *, int);
void *gompy_llvm_omp_get_mapped_ptr (const void *, int);
int gompy_llvm_omp_target_memcpy (void *, const void *, size_t, size_t, size_t, int, int);
void gompy_llvm___tgt_register_lib (const void *);
void gompy_llvm___tgt_unregister_lib (const void *);
void gompy_llvm___tgt_set_info_flag (uint32_t);
int gompy_llvm___tgt_print_device_info (int64_t);
void gompy_llvm___tgt_target_data_begin (int64_t, int32_t, void **, void **, int64_t *, int64_t *);
int gompy_llvm___tgt_target_kernel (const void *, int64_t, int, int, const void *, void *);
int gompy_llvm_18___tgt_target_kernel (const void *, int64_t, int, int, const void *, void *);

#endif

/* The type that the runtime's and the driver's interface share.  */
#ifndef GOMPY_CUDA_UUID_H
#define GOMPY_CUDA_UUID_H
struct CUuuid_st { char bytes[16]; };
#endif

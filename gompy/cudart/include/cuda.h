/* The version of CUDA whose interface the headers here follow.  The driver's own interface is not declared.  */
#ifndef GOMPY_CUDA_H
#define GOMPY_CUDA_H
#define CUDA_VERSION 12000
#endif

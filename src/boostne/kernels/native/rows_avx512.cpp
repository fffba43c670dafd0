#define BOOSTNE_ISA avx512
#define BOOSTNE_BYTES 64
#include "row_kernels.inl"
#include "product_kernels.inl"
#include "strip_kernels.inl"
#include "skipgram.inl"

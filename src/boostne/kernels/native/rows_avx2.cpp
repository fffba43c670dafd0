#define BOOSTNE_ISA avx2
#define BOOSTNE_BYTES 32
#include "row_kernels.inl"
#include "product_kernels.inl"
#include "strip_kernels.inl"
#include "skipgram.inl"

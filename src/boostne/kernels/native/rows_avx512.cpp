#define BOOSTNE_ISA avx512
#define BOOSTNE_BYTES 64
#include "product_kernels.inl"
#include "skipgram.inl"
#include "strip_kernels.inl"
#include "walk_kernels.inl"

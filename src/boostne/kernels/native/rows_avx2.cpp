#define BOOSTNE_ISA avx2
#define BOOSTNE_BYTES 32
#include "product_kernels.inl"
#include "skipgram.inl"
#include "strip_kernels.inl"
#include "walk_kernels.inl"

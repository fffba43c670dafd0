#define BOOSTNE_ISA baseline
#define BOOSTNE_BYTES 16
#include "row_kernels.inl"
#include "product_kernels.inl"
#include "strip_kernels.inl"
#include "skipgram.inl"

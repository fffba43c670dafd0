#define BOOSTNE_ISA baseline
#define BOOSTNE_BYTES 16
#include "product_kernels.inl"
#include "skipgram.inl"
#include "strip_kernels.inl"
#include "walk_kernels.inl"

// The hot loops over a residual in strips, for factors that outgrow the cache.
//
// Rows are in blocks, columns in strips of 2^bits; the entries of a block lie strip by strip, and those of a strip row
// by row. Their "places" are the row in the block and, in the last bits, the column in the strip. While a strip is
// treated, its rows of V, or of C, stay in the second-level cache, and the rows of the block are passed once.
#pragma once

#include <cstdint>

#include "row_kernels.h"

namespace boostne {

struct Strips {  // the blocks of one shard
  int64_t blocks;
  const int64_t* rows;  // the first of each block, and the one behind the last
  int64_t strips;
  int bits;
};

template <class T>
struct SweepStrips {
  Strips where;
  const int64_t* starts;  // of the strips of each block in places and data, with the end: strips + 1 a block
  const uint32_t* places;
  const T* data;
  SweepFactors<T> factors;
  T* scratch;  // strip_scratch_size(rows of the largest block, width) numbers
};

template <class T>
struct DeflateStrips {  // R <- max(R - U V, 0), compacted towards the shard's start
  Strips where;
  int64_t* starts;  // rewritten
  uint32_t* places;
  T* data;
  int64_t width;
  const T* U;
  const T* V;
  double* norm2;  // += ||R||^2 of what is left
};

template <class T>
struct StripKernels {
  void (*sweep)(const SweepStrips<T>&);
  void (*deflate)(const DeflateStrips<T>&);
};

constexpr int64_t strip_scratch_size(int64_t rows, int64_t width) {
  return (rows + 2 * kLaneRows + width) * width;
}

namespace baseline { template <class T> StripKernels<T> strip_kernels(); }
namespace avx2 { template <class T> StripKernels<T> strip_kernels(); }
namespace avx512 { template <class T> StripKernels<T> strip_kernels(); }

}  // namespace boostne

// The hot loops over a column-blocked residual, for factors larger than the cache.
//
// Rows are grouped into blocks and columns into strips of 2^bits. The entries of a block are stored strip by strip, and
// row by row within a strip. A packed index holds the row within the block and, in the lowest bits, the column within
// the strip. While a strip is processed, its rows of V or C stay in the L2 cache and the rows of the block are read
// sequentially.
#pragma once

#include <cstdint>

#include "row_kernels.h"

namespace boostne {

struct Strips {  // blocks of one shard
  int64_t blocks;
  const int64_t* rows;  // first row of each block, and the end of the last
  int64_t strips;
  int bits;
};

template <class T> struct StripEntries {
  Strips layout;
  const int64_t* starts;  // offsets of the strips in packed_indices and data: strips + 1 values per block
  const uint32_t* packed_indices;
  const T* data;
};

template <class T> struct UpdateStrips {  // HALS on the rows of U given p = R V; C is not computed
  StripEntries<T> entries;
  SweepFactors<T> factors;
  T* scratch;  // strip_scratch_size(rows of the largest block, width) values
};

template <class T> struct ScatterStrips {  // C += R^T U over a range of strips
  StripEntries<T> entries;
  int64_t first, last;  // strips
  int64_t n_columns;    // of these strips
  int64_t width;
  const T* U;
  T* C;  // tiled, as in row_kernels.h, with the rows of these strips only
};

template <class T> struct DeflateStrips {  // R <- max(R - U V, 0), compacted towards the start of the shard
  Strips layout;
  int64_t* starts;  // updated
  uint32_t* packed_indices;
  T* data;
  int64_t width;
  const T* U;
  const T* V;
  double* norm2;  // += ||R||^2 of the new R
};

template <class T> struct StripKernels {
  void (*update)(const UpdateStrips<T>&);
  void (*scatter)(const ScatterStrips<T>&);
  void (*deflate)(const DeflateStrips<T>&);
};

constexpr int64_t strip_scratch_size(int64_t rows, int64_t width) { return (rows + 2 * kLaneRows + width) * width; }

BOOSTNE_DECLARE_FOR_EACH_ISA(template <class T> StripKernels<T> strip_kernels())

}  // namespace boostne

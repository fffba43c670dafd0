// The hot loops of the factorization, as one function table per instruction set and value type.
//
// Conventions: factors are row-major and 64-byte aligned, with rows of `width` values, zero-padded to kPad values or to
// a multiple of kTile. `indptr` holds absolute offsets into `indices` and `data`. A tiled factor is divided into tiles
// of tile_width(width) columns that are stored one after the other: a tile of a wide factor fits in the L2 cache where
// the whole factor does not.
#pragma once

#include <cstdint>

#include "isa.h"

namespace boostne {

template <class T> struct SweepFactors {  // factors in the fused pass over a shard of the residual R
  int64_t n_columns;
  int64_t width;
  int inner;         // HALS sweeps per row
  const T* V;        // context factor, transposed (columns of R by width) and tiled
  const T* gram_v;   // V V^T
  const T* inverse;  // 1 / diagonal of gram_v, 0 for dead components
  T* U;              // all rows; this shard's rows are updated
  T* C;              // += R^T U over this shard, tiled; null if not needed
  double* gram_u;    // += U^T U over this shard; null if not needed
};

template <class T> struct SweepRows {  // one shard
  const int64_t* indptr;
  const int32_t* indices;
  const T* data;
  int64_t first, last;  // rows of this shard
  SweepFactors<T> factors;
  T* scratch;  // scratch_size(width) values
};

template <class T> struct HalsRows {  // rows of V, given C = R^T U and U^T U
  int64_t first, last;
  int64_t width;
  int inner;
  const T* C;
  const T* gram_u;
  const T* inverse;
  T* V;
  double* gram_v;         // += V V^T over these rows
  double* inner_product;  // += <C, V> over these rows
  T* scratch;
};

template <class T> struct ExtrapolateRows {  // W <- max(V + step (V - W), 0)
  int64_t first, last;
  int64_t width;
  T step;
  const T* V;
  T* W;
  double* gram_w;  // += W W^T over these rows
  T* scratch;
};

template <class T> struct DeflateRows {  // R <- max(R - U V, 0), compacted towards the start of the shard
  int64_t* indptr;                       // of this shard: last - first + 1 offsets, updated
  int32_t* indices;
  T* data;
  int64_t first, last;
  int64_t width;
  const T* U;
  const T* V;
  double* norm2;  // += ||R||^2 of the new R
};

template <class T> struct RowKernels {
  void (*sweep)(const SweepRows<T>&);
  void (*hals)(const HalsRows<T>&);
  void (*extrapolate)(const ExtrapolateRows<T>&);
  void (*deflate)(const DeflateRows<T>&);
};

constexpr int64_t kPad = 8;                                   // values in a row of a narrow factor
template <class T> constexpr int64_t kTile = 64 / sizeof(T);  // values in a cache line
template <class T> constexpr int64_t tile_width(int64_t width) { return width % kTile<T> == 0 ? kTile<T> : kPad; }

constexpr int64_t kLaneRows = 16;           // rows that HALS updates in parallel
constexpr int64_t kBlockRows = 256;         // maximum number of rows gathered before they are scattered
constexpr int64_t kBlockEntries = 1 << 19;  // maximum number of entries in those rows
constexpr int64_t kGramRows = 64;           // rows summed in the factor's precision before conversion to double
constexpr int kSquares = 32;                // registers summed likewise for the norm of the residual

constexpr int64_t scratch_size(int64_t width) { return (kBlockRows + 2 * kLaneRows + width) * width; }

BOOSTNE_DECLARE_FOR_EACH_ISA(template <class T> RowKernels<T> row_kernels())

}  // namespace boostne

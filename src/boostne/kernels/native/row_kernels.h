// The hot loops, one table of functions per instruction set and number type.
//
// Conventions: factors are row-major with `width` numbers a row, padded with zeros to kPad numbers or to a multiple
// of kTile, and 64-byte aligned; `indptr` holds absolute offsets into `indices` and `data`. "Tiled" is a factor cut
// into tiles of tile_width(width) columns, one tile after the other: a tile of a wide factor fits the second-level
// cache where the factor would not.
#pragma once

#include <cstdint>

namespace boostne {

template <class T>
struct SweepFactors {  // what the fused pass over a shard of the residual R needs beside R
  int64_t n_columns;
  int64_t width;
  int inner;         // HALS sweeps a row
  const T* V;        // context factor, transposed (columns of R by width) and tiled
  const T* gram_v;   // V V^T
  const T* inverse;  // 1 / diagonal of gram_v, 0 where the component is dead
  T* U;              // all rows; this shard's are updated
  T* C;              // += R^T U over this shard, tiled
  double* gram_u;    // += U^T U over this shard
};

template <class T>
struct SweepRows {  // one shard
  const int64_t* indptr;
  const int32_t* indices;
  const T* data;
  int64_t first, last;  // rows of this shard
  SweepFactors<T> factors;
  T* scratch;  // scratch_size(width) numbers
};

template <class T>
struct HalsRows {  // rows of the other factor: V against C = R^T U and U^T U
  int64_t first, last;
  int64_t width;
  int inner;
  const T* C;
  const T* gram_u;
  const T* inverse;
  T* V;
  double* gram_v;  // += V V^T over these rows
  double* inner_product;  // += <C, V> over these rows
  T* scratch;
};

template <class T>
struct ExtrapolateRows {  // W <- max(V + step (V - W), 0)
  int64_t first, last;
  int64_t width;
  T step;
  const T* V;
  T* W;
  double* gram_w;  // += W W^T over these rows
  T* scratch;
};

template <class T>
struct DeflateRows {  // R <- max(R - U V, 0), compacted towards the shard's start
  int64_t* indptr;  // of this shard: last - first + 1 offsets, rewritten
  int32_t* indices;
  T* data;
  int64_t first, last;
  int64_t width;
  const T* U;
  const T* V;
  double* norm2;  // += ||R||^2 of what is left
};

template <class T>
struct WalkColumns {  // `columns` columns of S + S^2 + ... + S^T, by Horner's rule, or of S^T alone; S = D^-1 A
  const int64_t* indptr;
  const int32_t* indices;
  const T* weights;  // nullptr: every edge weighs 1
  const T* inverse_degree;
  int64_t n;
  int64_t first, columns;
  int window;     // T
  bool shorter;   // whether walks shorter than T count
  T* block;   // n by block_columns, the result
  T* buffer;  // the same size
};

template <class T>
struct KeepColumns {  // column c of the block becomes row c of X: log(scale * entry) where that is positive
  const T* block;
  int64_t n;
  int64_t columns;
  const T* scale;
  const T* row_scale;  // of the block's rows, on top of it; nullptr: 1
  int32_t* indices;  // columns by n
  T* data;
  int64_t* counts;
};

template <class T>
struct RowKernels {
  void (*sweep)(const SweepRows<T>&);
  void (*hals)(const HalsRows<T>&);
  void (*extrapolate)(const ExtrapolateRows<T>&);
  void (*deflate)(const DeflateRows<T>&);
  void (*walk)(const WalkColumns<T>&);
  void (*keep)(const KeepColumns<T>&);
};

constexpr int64_t kPad = 8;  // numbers in a narrow factor's row
template <class T>
constexpr int64_t kTile = 64 / sizeof(T);  // numbers in a cache line
template <class T>
constexpr int64_t tile_width(int64_t width) { return width % kTile<T> == 0 ? kTile<T> : kPad; }

constexpr int64_t kLaneRows = 16;         // rows that HALS treats side by side
constexpr int64_t kBlockRows = 256;       // most rows of the residual gathered before they are scattered
constexpr int64_t kBlockEntries = 1 << 19;  // most entries in those rows
constexpr int64_t kGramRows = 64;         // rows summed in the factor's own precision before going to double
constexpr int kSquares = 32;              // registers likewise, for the norm of the residual
constexpr int64_t kBlockColumns = 16;     // columns of X built together: one 64-byte line of float32

constexpr int64_t scratch_size(int64_t width) { return (kBlockRows + 2 * kLaneRows + width) * width; }

namespace baseline { template <class T> RowKernels<T> kernels(); }
namespace avx2 { template <class T> RowKernels<T> kernels(); }
namespace avx512 { template <class T> RowKernels<T> kernels(); }

}  // namespace boostne

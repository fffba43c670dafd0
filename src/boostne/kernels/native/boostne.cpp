// The C ABI: shards to threads, sums in a fixed order, the widest instruction set that this machine has.

#include <cstring>

#include "api.h"
#include "isa.h"
#include "parallel.h"
#include "row_kernels.h"

namespace boostne {
namespace {

int best_isa() {
#if defined(__x86_64__) || defined(_M_X64)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
    return kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kAvx2;
#endif
  return kBaseline;
}

template <class T>
RowKernels<T> kernels_for(int isa) {
#if defined(__x86_64__) || defined(_M_X64)
  if (isa == kAvx512) return avx512::kernels<T>();
  if (isa == kAvx2) return avx2::kernels<T>();
#endif
  (void)isa;
  return baseline::kernels<T>();
}

// A Gram matrix in the factors' precision, with the reciprocals of its diagonal (0: a dead component).
template <class T>
struct Gram {
  std::vector<T> matrix, inverse;
  Gram(const double* gram, int64_t width) : matrix(gram, gram + width * width), inverse(width) {
    double largest = 0;
    for (int64_t c = 0; c < width; ++c)
      if (gram[c * width + c] > largest) largest = gram[c * width + c];
    for (int64_t c = 0; c < width; ++c) {
      const double g = gram[c * width + c];
      inverse[c] = g > 1e-12 * largest ? static_cast<T>(1.0 / g) : T(0);
    }
  }
};

// Sums the parts, each `size` numbers, in their order.
void add_up(const std::vector<double>& parts, int64_t size, double* total) {
  for (int64_t i = 0; i < size; ++i) total[i] = 0;
  for (size_t i = 0; i < parts.size(); ++i) total[i % size] += parts[i];
}

// tiles = factor, the one tiled, the other row-major.
template <class T>
void copy_tiled(const T* factor, int64_t rows, int64_t width, T* tiles) {
  const int64_t tile = tile_width<T>(width);
  for (int64_t at = 0; at < width; at += tile)
    for (int64_t i = 0; i < rows; ++i)
      std::memcpy(tiles + at * rows + i * tile, factor + i * width + at, sizeof(T) * tile);
}

// factor += tiles, the one row-major, the other tiled.
template <class T>
void add_tiled(const T* tiles, int64_t rows, int64_t width, T* factor) {
  const int64_t tile = tile_width<T>(width);
  for (int64_t at = 0; at < width; at += tile)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t c = 0; c < tile; ++c) factor[i * width + at + c] += tiles[at * rows + i * tile + c];
}

template <class T>
void sweep(int isa, int threads, int64_t shards, const int64_t* cuts, const int64_t* indptr,
           const int32_t* indices, const T* data, int64_t n_columns, int64_t width, int inner, const T* V,
           const double* gram_v, T* U, T* C, double* gram_u, T* scratch) {
  const Gram<T> gram(gram_v, width);
  const RowKernels<T> kernels = kernels_for<T>(isa);
  T* tiled_v = scratch;
  T* accumulators = scratch + n_columns * width;  // one a thread
  copy_tiled(V, n_columns, width, tiled_v);
  std::memset(C, 0, sizeof(T) * n_columns * width);
  std::memset(gram_u, 0, sizeof(double) * width * width);
  Turnstile turnstile;
  parallel_for(shards, threads, [&](int64_t shard, int thread) {
    T* mine = accumulators + thread * n_columns * width;
    std::vector<double> my_gram(width * width);
    std::vector<T> rows(scratch_size(width));
    std::memset(mine, 0, sizeof(T) * n_columns * width);
    kernels.sweep({indptr + cuts[shard] + shard, indices, data, cuts[shard], cuts[shard + 1], n_columns, width,
                   inner, tiled_v, gram.matrix.data(), gram.inverse.data(), U, mine, my_gram.data(), rows.data()});
    turnstile.in_turn(shard, [&] {
      add_tiled(mine, n_columns, width, C);
      for (int64_t i = 0; i < width * width; ++i) gram_u[i] += my_gram[i];
    });
  });
}

template <class T>
void hals(int isa, int threads, int64_t chunks, int64_t n_rows, int64_t width, int inner, const T* C,
          const double* gram_u, T* V, double* gram_v, double* inner_product) {
  const Gram<T> gram(gram_u, width);
  const RowKernels<T> kernels = kernels_for<T>(isa);
  std::vector<double> grams(chunks * width * width), products(chunks);
  parallel_for(chunks, threads, [&](int64_t chunk, int) {
    std::vector<T> scratch(scratch_size(width));
    kernels.hals({n_rows * chunk / chunks, n_rows * (chunk + 1) / chunks, width, inner, C, gram.matrix.data(),
                  gram.inverse.data(), V, grams.data() + chunk * width * width, products.data() + chunk,
                  scratch.data()});
  });
  add_up(grams, width * width, gram_v);
  add_up(products, 1, inner_product);
}

template <class T>
void extrapolate(int isa, int threads, int64_t chunks, int64_t n_rows, int64_t width, double step, const T* V,
                 T* W, double* gram_w) {
  const RowKernels<T> kernels = kernels_for<T>(isa);
  std::vector<double> grams(chunks * width * width);
  parallel_for(chunks, threads, [&](int64_t chunk, int) {
    std::vector<T> scratch(scratch_size(width));
    kernels.extrapolate({n_rows * chunk / chunks, n_rows * (chunk + 1) / chunks, width, static_cast<T>(step), V,
                         W, grams.data() + chunk * width * width, scratch.data()});
  });
  add_up(grams, width * width, gram_w);
}

template <class T>
void deflate(int isa, int threads, int64_t shards, const int64_t* cuts, int64_t* indptr, int32_t* indices,
             T* data, int64_t width, const T* U, const T* V, double* norm2) {
  const RowKernels<T> kernels = kernels_for<T>(isa);
  parallel_for(shards, threads, [&](int64_t shard, int) {
    norm2[shard] = 0;
    kernels.deflate({indptr + cuts[shard] + shard, indices, data, cuts[shard], cuts[shard + 1], width, U, V,
                     norm2 + shard});
  });
}

// Columns [first, last) of X, kBlockColumns at a time. Slot b of indices and data holds block b's columns, n
// numbers each, of which counts[column - first] are filled.
template <class T>
void walk_columns(int isa, int threads, int64_t first, int64_t last, int64_t n, const int64_t* indptr,
                      const int32_t* indices_a, const T* weights, const T* inverse_degree, const T* scale,
                      int window, T* work, int32_t* indices, T* data, int64_t* counts) {
  const RowKernels<T> kernels = kernels_for<T>(isa);
  const int64_t blocks = (last - first + kBlockColumns - 1) / kBlockColumns;
  parallel_for(blocks, threads, [&](int64_t b, int thread) {
    const int64_t begin = first + b * kBlockColumns;
    const int64_t columns = last - begin < kBlockColumns ? last - begin : kBlockColumns;
    T* block = work + 2 * thread * n * kBlockColumns;
    kernels.walk({indptr, indices_a, weights, inverse_degree, n, begin, columns, window, block,
                  block + n * kBlockColumns});
    const int64_t slot = b * kBlockColumns;
    kernels.keep({block, n, columns, scale + begin, indices + slot * n, data + slot * n, counts + slot});
  });
}

}  // namespace
}  // namespace boostne

BOOSTNE_API int boostne_best_isa() { return boostne::best_isa(); }

#define BOOSTNE_FOR_TYPE(T, SUFFIX)                                                                             \
  BOOSTNE_API void boostne_sweep_##SUFFIX(                                                                      \
      int isa, int threads, int64_t shards, const int64_t* cuts, const int64_t* indptr, const int32_t* indices, \
      const T* data, int64_t n_columns, int64_t width, int inner, const T* V, const double* gram_v, T* U, T* C, \
      double* gram_u, T* scratch) {                                                                             \
    boostne::sweep(isa, threads, shards, cuts, indptr, indices, data, n_columns, width, inner, V, gram_v, U, C, \
                   gram_u, scratch);                                                                            \
  }                                                                                                             \
  BOOSTNE_API void boostne_hals_##SUFFIX(int isa, int threads, int64_t chunks, int64_t n_rows, int64_t width,   \
                                         int inner, const T* C, const double* gram_u, T* V, double* gram_v,     \
                                         double* inner_product) {                                               \
    boostne::hals(isa, threads, chunks, n_rows, width, inner, C, gram_u, V, gram_v, inner_product);             \
  }                                                                                                             \
  BOOSTNE_API void boostne_extrapolate_##SUFFIX(int isa, int threads, int64_t chunks, int64_t n_rows,            \
                                                int64_t width, double step, const T* V, T* W, double* gram_w) { \
    boostne::extrapolate(isa, threads, chunks, n_rows, width, step, V, W, gram_w);                              \
  }                                                                                                             \
  BOOSTNE_API void boostne_deflate_##SUFFIX(int isa, int threads, int64_t shards, const int64_t* cuts,          \
                                            int64_t* indptr, int32_t* indices, T* data, int64_t width,          \
                                            const T* U, const T* V, double* norm2) {                            \
    boostne::deflate(isa, threads, shards, cuts, indptr, indices, data, width, U, V, norm2);                    \
  }                                                                                                             \
  BOOSTNE_API void boostne_walk_columns_##SUFFIX(                                                           \
      int isa, int threads, int64_t first, int64_t last, int64_t n, const int64_t* indptr,                      \
      const int32_t* indices_a, const T* weights, const T* inverse_degree, const T* scale, int window, T* work, \
      int32_t* indices, T* data, int64_t* counts) {                                                             \
    boostne::walk_columns(isa, threads, first, last, n, indptr, indices_a, weights, inverse_degree, scale,  \
                              window, work, indices, data, counts);                                             \
  }

BOOSTNE_FOR_TYPE(float, f32)
BOOSTNE_FOR_TYPE(double, f64)

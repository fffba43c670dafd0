// C interface of the factorization: work is distributed to threads, and results are added in a fixed order.

#include <algorithm>
#include <vector>

#include "api.h"
#include "cpu_features.h"
#include "isa.h"
#include "parallel.h"
#include "row_kernels.h"
#include "sweep_shards.h"

namespace boostne {
namespace {

template <class T>
void sweep(int isa, const int64_t* cuts, const int64_t* indptr, const int32_t* indices, const T* data,
           const SweepArguments<T>& arguments, T* accumulators) {
  const RowKernels<T> kernels = BOOSTNE_FOR_ISA(isa, row_kernels<T>());
  sweep_shards(arguments, accumulators, [&](int64_t shard, const SweepFactors<T>& factors) {
    std::vector<T> scratch(scratch_size(factors.width));
    kernels.sweep({indptr + cuts[shard] + shard, indices, data, cuts[shard], cuts[shard + 1], factors, scratch.data()});
  });
}

// The half of sweep() that updates U. `tiles` has the size of V, or is null if V has a single tile.
template <class T>
void solve_rows(int isa, int threads, int64_t shards, const int64_t* cuts, const int64_t* indptr,
                const int32_t* indices, const T* data, int64_t n_columns, int64_t width, int inner, double dead,
                const T* V, const double* gram_v, T* U, T* tiles) {
  const Gram<T> gram(gram_v, width, dead);
  const RowKernels<T> kernels = BOOSTNE_FOR_ISA(isa, row_kernels<T>());
  if (tiles) copy_tiled(V, n_columns, width, tiles);
  parallel_for(shards, threads, [&](int64_t shard, int) {
    std::vector<T> scratch(scratch_size(width));
    const SweepFactors<T> factors{
        n_columns, width, inner, tiles ? tiles : V, gram.matrix.data(), gram.inverse.data(), U, nullptr, nullptr};
    kernels.sweep({indptr + cuts[shard] + shard, indices, data, cuts[shard], cuts[shard + 1], factors, scratch.data()});
  });
}

// Chunk i holds rows cuts[i] to cuts[i + 1]; `grams` and `products` have the sums of each chunk.
template <class T>
void hals(int isa, int threads, int64_t chunks, const int64_t* cuts, int64_t width, int inner, double dead, const T* C,
          const double* gram_u, T* V, double* grams, double* products) {
  const Gram<T> gram(gram_u, width, dead);
  const RowKernels<T> kernels = BOOSTNE_FOR_ISA(isa, row_kernels<T>());
  std::fill(grams, grams + chunks * width * width, 0.0);
  std::fill(products, products + chunks, 0.0);
  parallel_for(chunks, threads, [&](int64_t chunk, int) {
    std::vector<T> scratch(scratch_size(width));
    kernels.hals({cuts[chunk], cuts[chunk + 1], width, inner, C, gram.matrix.data(), gram.inverse.data(), V,
                  grams + chunk * width * width, products + chunk, scratch.data()});
  });
}

template <class T>
void extrapolate(int isa, int threads, int64_t chunks, const int64_t* cuts, int64_t width, double step, const T* V,
                 T* W, double* grams) {
  const RowKernels<T> kernels = BOOSTNE_FOR_ISA(isa, row_kernels<T>());
  std::fill(grams, grams + chunks * width * width, 0.0);
  parallel_for(chunks, threads, [&](int64_t chunk, int) {
    std::vector<T> scratch(scratch_size(width));
    kernels.extrapolate({cuts[chunk], cuts[chunk + 1], width, static_cast<T>(step), V, W, grams + chunk * width * width,
                         scratch.data()});
  });
}

template <class T>
void deflate(int isa, int threads, int64_t shards, const int64_t* cuts, int64_t* indptr, int32_t* indices, T* data,
             int64_t width, const T* U, const T* V, double* norm2) {
  const RowKernels<T> kernels = BOOSTNE_FOR_ISA(isa, row_kernels<T>());
  parallel_for(shards, threads, [&](int64_t shard, int) {
    norm2[shard] = 0;
    kernels.deflate(
        {indptr + cuts[shard] + shard, indices, data, cuts[shard], cuts[shard + 1], width, U, V, norm2 + shard});
  });
}

}  // namespace
}  // namespace boostne

BOOSTNE_API int boostne_best_isa() { return boostne::best_isa(); }

#define BOOSTNE_FOR_TYPE(T, SUFFIX)                                                                                    \
  BOOSTNE_API int boostne_sweep_##SUFFIX(                                                                              \
      int isa, int threads, int64_t first, int64_t shards, const int64_t* cuts, const int64_t* indptr,                 \
      const int32_t* indices, const T* data, int64_t n_columns, int64_t width, int inner, double dead, const T* V,     \
      const double* gram_v, T* U, T* partials, double* grams, T* tiles, int64_t buffers, T* accumulators) {            \
    return boostne::guarded([&] {                                                                                      \
      boostne::sweep<T>(                                                                                               \
          isa, cuts, indptr, indices, data,                                                                            \
          {threads, first, shards, n_columns, width, inner, dead, V, gram_v, U, partials, grams, tiles, buffers},      \
          accumulators);                                                                                               \
    });                                                                                                                \
  }                                                                                                                    \
  BOOSTNE_API int boostne_solve_rows_##SUFFIX(int isa, int threads, int64_t shards, const int64_t* cuts,               \
                                              const int64_t* indptr, const int32_t* indices, const T* data,            \
                                              int64_t n_columns, int64_t width, int inner, double dead, const T* V,    \
                                              const double* gram_v, T* U, T* tiles) {                                  \
    return boostne::guarded([&] {                                                                                      \
      boostne::solve_rows(isa, threads, shards, cuts, indptr, indices, data, n_columns, width, inner, dead, V, gram_v, \
                          U, tiles);                                                                                   \
    });                                                                                                                \
  }                                                                                                                    \
  BOOSTNE_API int boostne_hals_##SUFFIX(int isa, int threads, int64_t chunks, const int64_t* cuts, int64_t width,      \
                                        int inner, double dead, const T* C, const double* gram_u, T* V, double* grams, \
                                        double* products) {                                                            \
    return boostne::guarded(                                                                                           \
        [&] { boostne::hals(isa, threads, chunks, cuts, width, inner, dead, C, gram_u, V, grams, products); });        \
  }                                                                                                                    \
  BOOSTNE_API int boostne_extrapolate_##SUFFIX(int isa, int threads, int64_t chunks, const int64_t* cuts,              \
                                               int64_t width, double step, const T* V, T* W, double* grams) {          \
    return boostne::guarded([&] { boostne::extrapolate(isa, threads, chunks, cuts, width, step, V, W, grams); });      \
  }                                                                                                                    \
  BOOSTNE_API int boostne_deflate_##SUFFIX(int isa, int threads, int64_t shards, const int64_t* cuts, int64_t* indptr, \
                                           int32_t* indices, T* data, int64_t width, const T* U, const T* V,           \
                                           double* norm2) {                                                            \
    return boostne::guarded(                                                                                           \
        [&] { boostne::deflate(isa, threads, shards, cuts, indptr, indices, data, width, U, V, norm2); });             \
  }

BOOSTNE_FOR_TYPE(float, f32)
BOOSTNE_FOR_TYPE(double, f64)

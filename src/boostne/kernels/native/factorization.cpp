// C interface of the factorization: work is distributed to threads, and results are added in a fixed order.

#include "api.h"
#include "cpu_features.h"
#include "isa.h"
#include "parallel.h"
#include "row_kernels.h"
#include "sweep_shards.h"

namespace boostne {
namespace {

// Adds the parts, `size` values each, in order.
void add_parts(const std::vector<double>& parts, int64_t size, double* total) {
  for (int64_t i = 0; i < size; ++i) total[i] = 0;
  for (size_t i = 0; i < parts.size(); ++i) total[i % size] += parts[i];
}

template <class T>
void sweep(int isa, const int64_t* cuts, const int64_t* indptr, const int32_t* indices, const T* data,
           const SweepArguments<T>& arguments) {
  const RowKernels<T> kernels = BOOSTNE_FOR_ISA(isa, row_kernels<T>());
  sweep_shards(arguments, [&](int64_t shard, const SweepFactors<T>& factors) {
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

template <class T>
void hals(int isa, int threads, int64_t chunks, int64_t n_rows, int64_t width, int inner, double dead, const T* C,
          const double* gram_u, T* V, double* gram_v, double* inner_product) {
  const Gram<T> gram(gram_u, width, dead);
  const RowKernels<T> kernels = BOOSTNE_FOR_ISA(isa, row_kernels<T>());
  std::vector<double> grams(chunks * width * width), products(chunks);
  parallel_for(chunks, threads, [&](int64_t chunk, int) {
    std::vector<T> scratch(scratch_size(width));
    kernels.hals({n_rows * chunk / chunks, n_rows * (chunk + 1) / chunks, width, inner, C, gram.matrix.data(),
                  gram.inverse.data(), V, grams.data() + chunk * width * width, products.data() + chunk,
                  scratch.data()});
  });
  add_parts(grams, width * width, gram_v);
  add_parts(products, 1, inner_product);
}

template <class T>
void extrapolate(int isa, int threads, int64_t chunks, int64_t n_rows, int64_t width, double step, const T* V, T* W,
                 double* gram_w) {
  const RowKernels<T> kernels = BOOSTNE_FOR_ISA(isa, row_kernels<T>());
  std::vector<double> grams(chunks * width * width);
  parallel_for(chunks, threads, [&](int64_t chunk, int) {
    std::vector<T> scratch(scratch_size(width));
    kernels.extrapolate({n_rows * chunk / chunks, n_rows * (chunk + 1) / chunks, width, static_cast<T>(step), V, W,
                         grams.data() + chunk * width * width, scratch.data()});
  });
  add_parts(grams, width * width, gram_w);
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
      const double* gram_v, T* U, T* partials, double* grams, int64_t buffers, T* scratch) {                           \
    return boostne::guarded([&] {                                                                                      \
      boostne::sweep<T>(                                                                                               \
          isa, cuts, indptr, indices, data,                                                                            \
          {threads, first, shards, n_columns, width, inner, dead, V, gram_v, U, partials, grams, buffers, scratch});   \
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
  BOOSTNE_API int boostne_hals_##SUFFIX(int isa, int threads, int64_t chunks, int64_t n_rows, int64_t width,           \
                                        int inner, double dead, const T* C, const double* gram_u, T* V,                \
                                        double* gram_v, double* inner_product) {                                       \
    return boostne::guarded([&] {                                                                                      \
      boostne::hals(isa, threads, chunks, n_rows, width, inner, dead, C, gram_u, V, gram_v, inner_product);            \
    });                                                                                                                \
  }                                                                                                                    \
  BOOSTNE_API int boostne_extrapolate_##SUFFIX(int isa, int threads, int64_t chunks, int64_t n_rows, int64_t width,    \
                                               double step, const T* V, T* W, double* gram_w) {                        \
    return boostne::guarded([&] { boostne::extrapolate(isa, threads, chunks, n_rows, width, step, V, W, gram_w); });   \
  }                                                                                                                    \
  BOOSTNE_API int boostne_deflate_##SUFFIX(int isa, int threads, int64_t shards, const int64_t* cuts, int64_t* indptr, \
                                           int32_t* indices, T* data, int64_t width, const T* U, const T* V,           \
                                           double* norm2) {                                                            \
    return boostne::guarded(                                                                                           \
        [&] { boostne::deflate(isa, threads, shards, cuts, indptr, indices, data, width, U, V, norm2); });             \
  }

BOOSTNE_FOR_TYPE(float, f32)
BOOSTNE_FOR_TYPE(double, f64)

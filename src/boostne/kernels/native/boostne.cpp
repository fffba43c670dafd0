// The C ABI: shards to threads, sums in a fixed order, the widest instruction set that this machine has.

#include "api.h"
#include "isa.h"
#include "parallel.h"
#include "row_kernels.h"
#include "sweep_shards.h"

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

// Sums the parts, each `size` numbers, in their order.
void add_up(const std::vector<double>& parts, int64_t size, double* total) {
  for (int64_t i = 0; i < size; ++i) total[i] = 0;
  for (size_t i = 0; i < parts.size(); ++i) total[i % size] += parts[i];
}

template <class T>
void sweep(int isa, const int64_t* cuts, const int64_t* indptr, const int32_t* indices, const T* data,
           const SweepArguments<T>& arguments) {
  const RowKernels<T> kernels = kernels_for<T>(isa);
  sweep_shards(arguments, [&](int64_t shard, const SweepFactors<T>& factors) {
    std::vector<T> scratch(scratch_size(factors.width));
    kernels.sweep({indptr + cuts[shard] + shard, indices, data, cuts[shard], cuts[shard + 1], factors,
                   scratch.data()});
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
                      const T* row_scale, int window, bool shorter, T* work, int32_t* indices, T* data,
                      int64_t* counts) {
  const RowKernels<T> kernels = kernels_for<T>(isa);
  const int64_t blocks = (last - first + kBlockColumns - 1) / kBlockColumns;
  parallel_for(blocks, threads, [&](int64_t b, int thread) {
    const int64_t begin = first + b * kBlockColumns;
    const int64_t columns = last - begin < kBlockColumns ? last - begin : kBlockColumns;
    T* block = work + 2 * thread * n * kBlockColumns;
    kernels.walk({indptr, indices_a, weights, inverse_degree, n, begin, columns, window, shorter,
                  block, block + n * kBlockColumns});
    const int64_t slot = b * kBlockColumns;
    kernels.keep({block, n, columns, scale + begin, row_scale, indices + slot * n, data + slot * n, counts + slot});
  });
}

}  // namespace
}  // namespace boostne

BOOSTNE_API int boostne_best_isa() { return boostne::best_isa(); }

#define BOOSTNE_FOR_TYPE(T, SUFFIX)                                                                             \
  BOOSTNE_API void boostne_sweep_##SUFFIX(                                                                      \
      int isa, int threads, int64_t first, int64_t shards, const int64_t* cuts, const int64_t* indptr,          \
      const int32_t* indices, const T* data, int64_t n_columns, int64_t width, int inner, const T* V,           \
      const double* gram_v, T* U, T* parts, double* grams, int64_t buffers, T* scratch) {                       \
    boostne::sweep<T>(isa, cuts, indptr, indices, data,                                                         \
                      {threads, first, shards, n_columns, width, inner, V, gram_v, U, parts, grams, buffers,    \
                       scratch});                                                                               \
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
    boostne::walk_columns<T>(isa, threads, first, last, n, indptr, indices_a, weights, inverse_degree, scale,   \
                             nullptr, window, true, work, indices, data, counts);                               \
  }                                                                                                             \
  BOOSTNE_API void boostne_step_rows_##SUFFIX(                                                                  \
      int isa, int threads, int64_t first, int64_t last, int64_t n, const int64_t* indptr,                      \
      const int32_t* indices_a, const T* weights, const T* inverse_degree, const T* from, const T* to,          \
      int steps, T* work, int32_t* indices, T* data, int64_t* counts) {                                         \
    boostne::walk_columns<T>(isa, threads, first, last, n, indptr, indices_a, weights, inverse_degree, from, to, \
                             steps, false, work, indices, data, counts);                                        \
  }

BOOSTNE_FOR_TYPE(float, f32)
BOOSTNE_FOR_TYPE(double, f64)

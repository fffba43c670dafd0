// C interface of the dense walk kernels: columns of the DeepWalk matrix and rows of the GraRep matrices.

#include "api.h"
#include "isa.h"
#include "parallel.h"
#include "walk_kernels.h"

namespace boostne {
namespace {

// Computes columns [first, last) of X, kBlockColumns at a time. Each column has n slots in indices and data, of which
// counts[column - first] are used.
template <class T>
void walk_columns(int isa, int threads, int64_t first, int64_t last, int64_t n, const WalkEdges<T>& edges,
                  const WalkEdges<T>& reversed, const T* inverse_degree, const T* scale, const T* row_scale, int window,
                  bool cumulative, T* scratch, int32_t* indices, T* data, int64_t* counts) {
  const WalkKernels<T> kernels = BOOSTNE_FOR_ISA(isa, walk_kernels<T>());
  const int64_t blocks = (last - first + kBlockColumns - 1) / kBlockColumns;
  parallel_for(blocks, threads, [&](int64_t b, int thread) {
    const int64_t begin = first + b * kBlockColumns;
    const int64_t columns = last - begin < kBlockColumns ? last - begin : kBlockColumns;
    T* block = scratch + 2 * thread * n * kBlockColumns;
    kernels.walk_columns(
        {edges, reversed, inverse_degree, n, begin, columns, window, cumulative, block, block + n * kBlockColumns});
    const int64_t slot = b * kBlockColumns;
    kernels.truncated_log(
        {block, n, columns, scale + begin, row_scale, indices + slot * n, data + slot * n, counts + slot});
  });
}

}  // namespace
}  // namespace boostne

#define BOOSTNE_FOR_TYPE(T, SUFFIX)                                                                                  \
  BOOSTNE_API int boostne_walk_columns_##SUFFIX(                                                                     \
      int isa, int threads, int64_t first, int64_t last, int64_t n, const int64_t* indptr, const int32_t* adjacent,  \
      const T* weights, const T* inverse_degree, const int64_t* reversed_indptr, const int32_t* reversed_adjacent,   \
      const T* reversed_weights, const T* scale, const T* row_scale, int window, T* scratch, int32_t* indices,       \
      T* data, int64_t* counts) {                                                                                    \
    return boostne::guarded([&] {                                                                                    \
      boostne::walk_columns<T>(isa, threads, first, last, n, {indptr, adjacent, weights},                            \
                               {reversed_indptr, reversed_adjacent, reversed_weights}, inverse_degree, scale,        \
                               row_scale, window, true, scratch, indices, data, counts);                             \
    });                                                                                                              \
  }                                                                                                                  \
  BOOSTNE_API int boostne_step_rows_##SUFFIX(int isa, int threads, int64_t first, int64_t last, int64_t n,           \
                                             const int64_t* indptr, const int32_t* adjacent, const T* weights,       \
                                             const T* inverse_degree, const T* scale, const T* row_scale, int steps, \
                                             T* scratch, int32_t* indices, T* data, int64_t* counts) {               \
    return boostne::guarded([&] {                                                                                    \
      const boostne::WalkEdges<T> edges{indptr, adjacent, weights};                                                  \
      boostne::walk_columns<T>(isa, threads, first, last, n, edges, edges, inverse_degree, scale, row_scale, steps,  \
                               false, scratch, indices, data, counts);                                               \
    });                                                                                                              \
  }

BOOSTNE_FOR_TYPE(float, f32)
BOOSTNE_FOR_TYPE(double, f64)

// C interface of the products of a sparse matrix and a dense block; see product_kernels.h.

#include "api.h"
#include "isa.h"
#include "parallel.h"
#include "product_kernels.h"
#include "tiles.h"

namespace boostne {
namespace {

// Computes U = R V and, unless C is null, C = R^T U in the same pass over R.
template <class D>
void product(int isa, int threads, int64_t shards, const int64_t* cuts, const int64_t* indptr, const int32_t* indices,
             const D* data, int64_t n_columns, int64_t width, const double* V, double* U, double* C, double* scratch) {
  const ProductKernel<D> kernel = BOOSTNE_FOR_ISA(isa, product_kernel<D>());
  const int64_t size = n_columns * width;
  double* tiled_v = scratch;
  double* accumulators = scratch + size;  // one per thread
  const int64_t tile = tile_width<double>(width);
  parallel_for(width / tile, threads, [&](int64_t t, int) {
    copy_tile(V + t * tile, n_columns, width, tile, tiled_v + t * tile * n_columns);
  });
  if (C) std::memset(C, 0, sizeof(double) * size);
  parallel_for_in_order(shards, threads, [&](int64_t shard, int thread, Tasks& tasks) {
    double* accumulator = C ? accumulators + thread * size : nullptr;
    if (C) std::memset(accumulator, 0, sizeof(double) * size);
    kernel({indptr + cuts[shard] + shard, indices, data, cuts[shard], cuts[shard + 1], n_columns, width, tiled_v, U,
            accumulator});
    if (C) tasks.run_in_order(shard, [&] { add_tiled(accumulator, n_columns, width, C); });
  });
}

template <class D>
void average(int isa, int threads, int64_t shards, const int64_t* cuts, const int64_t* indptr, const int32_t* indices,
             const D* data, const double* own, const double* neighbors, const double* V, double* averages) {
  const AverageKernel<D> kernel = BOOSTNE_FOR_ISA(isa, average_kernel<D>());
  parallel_for(shards, threads, [&](int64_t shard, int) {
    kernel({indptr + cuts[shard] + shard, indices, data, cuts[shard], cuts[shard + 1], own, neighbors, V, averages});
  });
}

}  // namespace
}  // namespace boostne

#define BOOSTNE_FOR_TYPE(D, SUFFIX)                                                                                 \
  BOOSTNE_API int boostne_average_##SUFFIX(                                                                         \
      int isa, int threads, int64_t shards, const int64_t* cuts, const int64_t* indptr, const int32_t* indices,     \
      const D* data, const double* own, const double* neighbors, const double* V, double* averages) {               \
    return boostne::guarded(                                                                                        \
        [&] { boostne::average(isa, threads, shards, cuts, indptr, indices, data, own, neighbors, V, averages); }); \
  }                                                                                                                 \
  BOOSTNE_API int boostne_product_##SUFFIX(                                                                         \
      int isa, int threads, int64_t shards, const int64_t* cuts, const int64_t* indptr, const int32_t* indices,     \
      const D* data, int64_t n_columns, int64_t width, const double* V, double* U, double* C, double* scratch) {    \
    return boostne::guarded([&] {                                                                                   \
      boostne::product(isa, threads, shards, cuts, indptr, indices, data, n_columns, width, V, U, C, scratch);      \
    });                                                                                                             \
  }

BOOSTNE_FOR_TYPE(float, f32)
BOOSTNE_FOR_TYPE(double, f64)

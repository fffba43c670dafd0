// The C ABI of the products of a sparse matrix and a dense block; see product_kernels.h.

#include "api.h"
#include "isa.h"
#include "parallel.h"
#include "product_kernels.h"
#include "tiles.h"

namespace boostne {
namespace {

template <class D>
ProductKernel<D> product_kernel_for(int isa) {
#if defined(__x86_64__) || defined(_M_X64)
  if (isa == kAvx512) return avx512::product_kernel<D>();
  if (isa == kAvx2) return avx2::product_kernel<D>();
#endif
  (void)isa;
  return baseline::product_kernel<D>();
}

// U = R V and, unless C is null, C = R^T U, which costs no second reading of R.
template <class D>
void product(int isa, int threads, int64_t shards, const int64_t* cuts, const int64_t* indptr,
             const int32_t* indices, const D* data, int64_t n_columns, int64_t width, const double* V, double* U,
             double* C, double* scratch) {
  const ProductKernel<D> kernel = product_kernel_for<D>(isa);
  const int64_t size = n_columns * width;
  double* tiled_v = scratch;
  double* accumulators = scratch + size;  // one a thread
  const int64_t tile = tile_width<double>(width);
  parallel_for(width / tile, threads, [&](int64_t t, int) {
    copy_tile(V + t * tile, n_columns, width, tile, tiled_v + t * tile * n_columns);
  });
  if (C) std::memset(C, 0, sizeof(double) * size);
  Turnstile turnstile;
  parallel_for(shards, threads, [&](int64_t shard, int thread) {
    double* mine = C ? accumulators + thread * size : nullptr;
    if (C) std::memset(mine, 0, sizeof(double) * size);
    kernel({indptr + cuts[shard] + shard, indices, data, cuts[shard], cuts[shard + 1], n_columns, width, tiled_v,
            U, mine});
    if (C) turnstile.in_turn(shard, [&] { add_tiled(mine, n_columns, width, C); });
  });
}

}  // namespace
}  // namespace boostne

#define BOOSTNE_PRODUCT(D, SUFFIX)                                                                              \
  BOOSTNE_API void boostne_product_##SUFFIX(int isa, int threads, int64_t shards, const int64_t* cuts,          \
                                            const int64_t* indptr, const int32_t* indices, const D* data,       \
                                            int64_t n_columns, int64_t width, const double* V, double* U,       \
                                            double* C, double* scratch) {                                       \
    boostne::product(isa, threads, shards, cuts, indptr, indices, data, n_columns, width, V, U, C, scratch);    \
  }

BOOSTNE_PRODUCT(float, f32)
BOOSTNE_PRODUCT(double, f64)

// Products of a sparse matrix R and a dense block: R in float or double, the block in double.
//
// Blocks are row-major and their width is a multiple of kTile<double>; "tiled" is as in row_kernels.h.
#pragma once

#include <cstdint>

namespace boostne {

template <class D>
struct ProductRows {  // one shard of R
  const int64_t* indptr;
  const int32_t* indices;
  const D* data;
  int64_t first, last;  // rows of this shard
  int64_t n_columns;
  int64_t width;
  const double* V;  // tiled
  double* U;        // all rows, row-major; this shard's become R V
  double* C;        // += R^T U over this shard, tiled; nullptr: not wanted
};

template <class D>
using ProductKernel = void (*)(const ProductRows<D>&);

namespace baseline { template <class D> ProductKernel<D> product_kernel(); }
namespace avx2 { template <class D> ProductKernel<D> product_kernel(); }
namespace avx512 { template <class D> ProductKernel<D> product_kernel(); }

}  // namespace boostne

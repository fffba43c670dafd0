// Products of a sparse matrix R in float or double with a dense block in double.
//
// Blocks are row-major with a width that is a multiple of kTile<double>; row_kernels.h defines the tiled layout.
#pragma once

#include <cstdint>

#include "isa.h"

namespace boostne {

template <class D> struct ProductRows {  // one shard of R
  const int64_t* indptr;
  const int32_t* indices;
  const D* data;
  int64_t first, last;  // rows of this shard
  int64_t n_columns;
  int64_t width;
  const double* V;  // tiled
  double* U;        // all rows, row-major; this shard's rows are set to R V
  double* C;        // += R^T U over this shard, tiled; nullptr: not computed
};

template <class D> using ProductKernel = void (*)(const ProductRows<D>&);

BOOSTNE_DECLARE_FOR_EACH_ISA(template <class D> ProductKernel<D> product_kernel())

}  // namespace boostne

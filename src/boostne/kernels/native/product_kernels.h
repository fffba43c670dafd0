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

// Averages: row i of the output is own[i] V_i + neighbors[i] (R V)_i, for a V with kTile<double> columns.
template <class D> struct AverageRows {  // one shard of R, which is square
  const int64_t* indptr;
  const int32_t* indices;
  const D* data;
  int64_t first, last;
  const double* own;
  const double* neighbors;
  const double* V;
  double* averages;
};

template <class D> using ProductKernel = void (*)(const ProductRows<D>&);
template <class D> using AverageKernel = void (*)(const AverageRows<D>&);

BOOSTNE_DECLARE_FOR_EACH_ISA(template <class D> ProductKernel<D> product_kernel())
BOOSTNE_DECLARE_FOR_EACH_ISA(template <class D> AverageKernel<D> average_kernel())

}  // namespace boostne

// Product kernels, compiled once per instruction set.
#pragma once

#include "product_kernels.h"

#include "row_kernels.inl"

namespace boostne {
namespace BOOSTNE_ISA {
namespace {

// Returns the number of rows to process before moving to the next tile: enough to amortize loading a tile of V into the
// L2 cache.
inline int64_t rows_by_entries(const int64_t* indptr, int64_t rows) {
  int64_t count = 1;
  while (count < rows && indptr[count + 1] - indptr[0] <= kBlockEntries) ++count;
  return count;
}

template <class D> void product_rows(const ProductRows<D>& s) {
  constexpr int64_t Tile = kTile<double>;
  constexpr int L = kWide<double>;
  constexpr int K = Tile / L;
  for (int64_t i = s.first, count; i < s.last; i += count) {
    const int64_t* indptr = s.indptr + (i - s.first);
    count = rows_by_entries(indptr, s.last - i);
    double* u = s.U + i * s.width;
    for (int64_t at = 0; at < s.width; at += Tile)
      for (int64_t r = 0; r < count; ++r)
        gather<double, L, K>(s.indices + indptr[r], s.data + indptr[r], indptr[r + 1] - indptr[r],
                             s.V + at * s.n_columns, u + r * s.width + at);
    if (!s.C) continue;
    for (int64_t at = 0; at < s.width; at += Tile)
      for (int64_t r = 0; r < count; ++r)
        scatter<double, L, K>(s.indices + indptr[r], s.data + indptr[r], indptr[r + 1] - indptr[r],
                              u + r * s.width + at, s.C + at * s.n_columns);
  }
}

template <class D> void average_rows(const AverageRows<D>& s) {
  using Vec = typename Lanes<double, kWide<double>>::type;
  constexpr int64_t Tile = kTile<double>;
  constexpr int L = kWide<double>;
  constexpr int K = Tile / L;
  constexpr int64_t Ahead = 4;  // rows whose neighbors are requested before they are needed
  for (int64_t i = s.first; i < s.last; ++i) {
    const int64_t* indptr = s.indptr + (i - s.first);
    if (i + Ahead < s.last)
      for (int64_t q = indptr[Ahead]; q < indptr[Ahead + 1]; ++q) __builtin_prefetch(s.V + s.indices[q] * Tile);
    double* out = s.averages + i * Tile;
    gather<double, L, K>(s.indices + indptr[0], s.data + indptr[0], indptr[1] - indptr[0], s.V, out);
    for (int k = 0; k < K; ++k)
      store(out + k * L, s.own[i] * load<Vec>(s.V + i * Tile + k * L) + s.neighbors[i] * load<Vec>(out + k * L));
  }
}

}  // namespace

template <> AverageKernel<float> average_kernel<float>() { return average_rows<float>; }
template <> AverageKernel<double> average_kernel<double>() { return average_rows<double>; }
template <> ProductKernel<float> product_kernel<float>() { return product_rows<float>; }
template <> ProductKernel<double> product_kernel<double>() { return product_rows<double>; }

}  // namespace BOOSTNE_ISA
}  // namespace boostne

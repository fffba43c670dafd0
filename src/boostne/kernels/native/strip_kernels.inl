// Loops over strips, compiled once per instruction set.
#pragma once

#include "strip_kernels.h"

#include "row_kernels.inl"

namespace boostne {
namespace BOOSTNE_ISA {
namespace {

constexpr int64_t kStripPrefetchDistance = 16;  // entries

// p[row] += data * V[column] over the entries of a strip in a block, for a tile of K registers
template <class T, int L, int K>
inline void gather_strip(const uint32_t* packed, const T* data, int64_t count, int bits, const T* V, T* p,
                         int64_t width) {
  using Vec = typename Lanes<T, L>::type;
  const uint32_t mask = (uint32_t(1) << bits) - 1;
  for (int64_t q = 0; q < count; ++q) {
    if (q + kStripPrefetchDistance < count)
      __builtin_prefetch(V + int64_t(packed[q + kStripPrefetchDistance] & mask) * (K * L));
    const T* v = V + int64_t(packed[q] & mask) * (K * L);
    T* row = p + int64_t(packed[q] >> bits) * width;
    for (int k = 0; k < K; ++k) store(row + k * L, load<Vec>(row + k * L) + data[q] * load<Vec>(v + k * L));
  }
}

// C[column] += data * u[row], likewise
template <class T, int L, int K>
inline void scatter_strip(const uint32_t* packed, const T* data, int64_t count, int bits, const T* u, int64_t width,
                          T* C) {
  using Vec = typename Lanes<T, L>::type;
  const uint32_t mask = (uint32_t(1) << bits) - 1;
  for (int64_t q = 0; q < count; ++q) {
    if (q + kStripPrefetchDistance < count)
      __builtin_prefetch(C + int64_t(packed[q + kStripPrefetchDistance] & mask) * (K * L), 1);
    T* c = C + int64_t(packed[q] & mask) * (K * L);
    const T* row = u + int64_t(packed[q] >> bits) * width;
    for (int k = 0; k < K; ++k) store(c + k * L, load<Vec>(c + k * L) + data[q] * load<Vec>(row + k * L));
  }
}

template <class T, int L, int K> void update_strips_tiled(const UpdateStrips<T>& s) {
  constexpr int64_t Tile = K * L;
  const StripEntries<T>& e = s.entries;
  const SweepFactors<T>& f = s.factors;
  const int bits = e.layout.bits;
  for (int64_t b = 0; b < e.layout.blocks; ++b) {
    const int64_t* starts = e.starts + b * (e.layout.strips + 1);
    const int64_t first = e.layout.rows[b], count = e.layout.rows[b + 1] - first;
    T* p = s.scratch;
    memset(p, 0, sizeof(T) * count * f.width);
    for (int64_t at = 0; at < f.width; at += Tile)
      for (int64_t t = 0; t < e.layout.strips; ++t)
        gather_strip<T, L, K>(e.packed_indices + starts[t], e.data + starts[t], starts[t + 1] - starts[t], bits,
                              f.V + at * f.n_columns + (t << bits) * Tile, p + at, f.width);
    update_rows<T, L>(f, p, f.U + first * f.width, count, p + count * f.width);
  }
}

template <class T, int L, int K> void scatter_strips_tiled(const ScatterStrips<T>& s) {
  constexpr int64_t Tile = K * L;
  const StripEntries<T>& e = s.entries;
  const int bits = e.layout.bits;
  for (int64_t b = 0; b < e.layout.blocks; ++b) {
    const int64_t* starts = e.starts + b * (e.layout.strips + 1);
    const T* u = s.U + e.layout.rows[b] * s.width;
    for (int64_t at = 0; at < s.width; at += Tile)
      for (int64_t t = s.first; t < s.last; ++t)
        scatter_strip<T, L, K>(e.packed_indices + starts[t], e.data + starts[t], starts[t + 1] - starts[t], bits,
                               u + at, s.width, s.C + at * s.n_columns + ((t - s.first) << bits) * Tile);
  }
}

// u[row] . V[column] for L entries
template <class T, int L>
inline typename Lanes<T, L>::type dot_products(const uint32_t* packed, int bits, const T* u, const T* V,
                                               int64_t width) {
  using Vec = typename Lanes<T, L>::type;
  const uint32_t mask = (uint32_t(1) << bits) - 1;
  Vec products[L];
  for (int i = 0; i < L; ++i) {
    const T *v = V + int64_t(packed[i] & mask) * width, *row = u + int64_t(packed[i] >> bits) * width;
    Vec sum = load<Vec>(row) * load<Vec>(v);
    for (int64_t k = L; k < width; k += L) sum += load<Vec>(row + k) * load<Vec>(v + k);
    products[i] = sum;
  }
  return SumLanes<T, L, L / 2>::of(products);
}

template <class T, int L> void deflate_strips_lanes(const DeflateStrips<T>& s) {
  using Vec = typename Lanes<T, L>::type;
  const int bits = s.layout.bits;
  const uint32_t mask = (uint32_t(1) << bits) - 1;
  int64_t out = s.starts[0];
  for (int64_t b = 0; b < s.layout.blocks; ++b) {
    int64_t* starts = s.starts + b * (s.layout.strips + 1);
    const T* u = s.U + s.layout.rows[b] * s.width;
    int64_t q = starts[0];
    starts[0] = out;
    for (int64_t t = 0; t < s.layout.strips; ++t) {
      const int64_t end = starts[t + 1], begin = out;
      const T* V = s.V + (t << bits) * s.width;
      for (; q + L <= end; q += L) {
        T left[L];
        store(left, load<Vec>(s.data + q) - dot_products<T, L>(s.packed_indices + q, bits, u, V, s.width));
        for (int j = 0; j < L; ++j) out = keep_entry(s.packed_indices, s.data, q + j, left[j], out);
      }
      for (; q < end; ++q) {
        const T *v = V + int64_t(s.packed_indices[q] & mask) * s.width,
                *row = u + int64_t(s.packed_indices[q] >> bits) * s.width;
        T left = s.data[q];
        for (int64_t k = 0; k < s.width; ++k) left -= row[k] * v[k];
        out = keep_entry(s.packed_indices, s.data, q, left, out);
      }
      starts[t + 1] = out;
      *s.norm2 += sum_of_squares<T, L>(s.data + begin, out - begin);
    }
  }
}

template <class T> void update_strips(const UpdateStrips<T>& s) {
  if (s.factors.width % kTile<T> == 0)
    update_strips_tiled<T, kWide<T>, kTile<T> / kWide<T>>(s);
  else
    update_strips_tiled<T, kNarrow<T>, kPad / kNarrow<T>>(s);
}

template <class T> void scatter_strips(const ScatterStrips<T>& s) {
  if (s.width % kTile<T> == 0)
    scatter_strips_tiled<T, kWide<T>, kTile<T> / kWide<T>>(s);
  else
    scatter_strips_tiled<T, kNarrow<T>, kPad / kNarrow<T>>(s);
}

template <class T> void deflate_strips(const DeflateStrips<T>& s) {
  if (s.width % kWide<T> == 0)
    deflate_strips_lanes<T, kWide<T>>(s);
  else
    deflate_strips_lanes<T, kNarrow<T>>(s);
}

}  // namespace

template <class T> StripKernels<T> strip_table() { return {update_strips<T>, scatter_strips<T>, deflate_strips<T>}; }

template <> StripKernels<float> strip_kernels<float>() { return strip_table<float>(); }
template <> StripKernels<double> strip_kernels<double>() { return strip_table<double>(); }

}  // namespace BOOSTNE_ISA
}  // namespace boostne

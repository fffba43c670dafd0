// Hot loops of the factorization, compiled once per instruction set.
#pragma once

#include <string.h>

#include "row_kernels.h"
#include "vectors.inl"

namespace boostne {
namespace BOOSTNE_ISA {
namespace {

constexpr int64_t kCachedFactorBytes = 1 << 20;  // larger factors do not fit in the cache of a core
constexpr int64_t kPrefetchDistance = 24;        // entries

// out = sum over a row's entries of data * V[column], for a tile of K registers; `data` may have another type. `Unroll`
// independent sums hide the latency of the multiply-add.
template <class T, int L, int K, bool Prefetch = false, class D>
inline void gather(const int32_t* indices, const D* data, int64_t count, const T* V, T* out) {
  using Vec = typename Lanes<T, L>::type;
  constexpr int Unroll = 8 / K;
  Vec acc[Unroll][K];
  for (int u = 0; u < Unroll; ++u)
    for (int k = 0; k < K; ++k) acc[u][k] = Vec{};
  int64_t q = 0;
  for (; q + Unroll <= count; q += Unroll)
    for (int u = 0; u < Unroll; ++u) {
      if (Prefetch && q + u + kPrefetchDistance < count)
        __builtin_prefetch(V + int64_t(indices[q + u + kPrefetchDistance]) * (K * L));
      const T* v = V + int64_t(indices[q + u]) * (K * L);
      for (int k = 0; k < K; ++k) acc[u][k] += T(data[q + u]) * load<Vec>(v + k * L);
    }
  for (; q < count; ++q) {
    const T* v = V + int64_t(indices[q]) * (K * L);
    for (int k = 0; k < K; ++k) acc[0][k] += T(data[q]) * load<Vec>(v + k * L);
  }
  for (int k = 0; k < K; ++k) {
    for (int step = 1; step < Unroll; step *= 2)
      for (int u = 0; u + step < Unroll; u += 2 * step) acc[u][k] += acc[u + step][k];
    store(out + k * L, acc[0][k]);
  }
}

// C[column] += data * u over a row's entries, likewise
template <class T, int L, int K, bool Prefetch = false, class D>
inline void scatter(const int32_t* indices, const D* data, int64_t count, const T* u, T* C) {
  using Vec = typename Lanes<T, L>::type;
  Vec row[K];
  for (int k = 0; k < K; ++k) row[k] = load<Vec>(u + k * L);
  for (int64_t q = 0; q < count; ++q) {
    if (Prefetch && q + kPrefetchDistance < count)
      __builtin_prefetch(C + int64_t(indices[q + kPrefetchDistance]) * (K * L), 1);
    T* c = C + int64_t(indices[q]) * (K * L);
    const T value = T(data[q]);
    for (int k = 0; k < K; ++k) store(c + k * L, load<Vec>(c + k * L) + value * row[k]);
  }
}

// HALS on kLaneRows rows in parallel, one row per lane; `x` and `p` are width by kLaneRows. Updates one coordinate
// after the other: x_c <- max(0, x_c + (p_c - sum_k gram_ck x_k) / gram_cc).
template <class T, int L>
inline void hals_block(int64_t width, int inner, const T* p, const T* gram, const T* inverse, T* x) {
  using Vec = typename Lanes<T, L>::type;
  constexpr int B = kLaneRows / L;
  for (int sweep = 0; sweep < inner; ++sweep)
    for (int64_t c = 0; c < width; ++c) {
      T* xc = x + c * kLaneRows;
      if (inverse[c] == 0) {  // a dead component is cleared, so that reseeding it does not change the product
        for (int b = 0; b < B; ++b) store(xc + b * L, Vec{});
        continue;
      }
      constexpr int Unroll = B >= 4 ? 1 : 4 / B;  // kPad is a multiple of 4
      Vec sum[Unroll][B];
      for (int u = 0; u < Unroll; ++u)
        for (int b = 0; b < B; ++b) sum[u][b] = Vec{};
      const T* row = gram + c * width;
      for (int64_t k = 0; k < width; k += Unroll)
        for (int u = 0; u < Unroll; ++u)
          for (int b = 0; b < B; ++b) sum[u][b] += row[k + u] * load<Vec>(x + (k + u) * kLaneRows + b * L);
      for (int b = 0; b < B; ++b) {
        Vec total = sum[0][b];
        for (int u = 1; u < Unroll; ++u) total += sum[u][b];
        Vec next = load<Vec>(xc + b * L) + (load<Vec>(p + c * kLaneRows + b * L) - total) * inverse[c];
        store(xc + b * L, next < Vec{} ? Vec{} : next);  // propagates NaN
      }
    }
}

template <class T> inline void transpose_in(const T* rows, int64_t count, int64_t width, T* lanes) {
  for (int64_t c = 0; c < width; ++c)
    for (int64_t r = 0; r < kLaneRows; ++r) lanes[c * kLaneRows + r] = r < count ? rows[r * width + c] : T(0);
}

template <class T> inline void transpose_out(const T* lanes, int64_t count, int64_t width, T* rows) {
  for (int64_t r = 0; r < count; ++r)
    for (int64_t c = 0; c < width; ++c) rows[r * width + c] = lanes[c * kLaneRows + r];
}

// gram += x x^T over `count` rows
template <class T, int L> inline void add_gram(const T* rows, int64_t count, int64_t width, T* gram) {
  using Vec = typename Lanes<T, L>::type;
  for (int64_t c = 0; c < width; ++c)
    for (int64_t k = 0; k < width; k += L) {
      Vec sum = load<Vec>(gram + c * width + k);
      for (int64_t r = 0; r < count; ++r) sum += rows[r * width + c] * load<Vec>(rows + r * width + k);
      store(gram + c * width + k, sum);
    }
}

template <class T> inline void flush_gram(T* gram, int64_t width, double* total) {
  for (int64_t i = 0; i < width * width; ++i) {
    total[i] += gram[i];
    gram[i] = 0;
  }
}

// Returns the number of rows to gather before they are scattered: the factor and the accumulator do not fit in the L2
// cache together, so they use it alternately.
inline int64_t rows_in_block(const int64_t* indptr, int64_t rows) {
  int64_t count = 1;
  while (count < kBlockRows && count < rows && indptr[count + 1] - indptr[0] <= kBlockEntries) ++count;
  return count;
}

// HALS on `count` rows of U given p = R V, and their Gram matrix; scratch holds (2 kLaneRows + width) width values.
template <class T, int L> void update_rows(const SweepFactors<T>& s, const T* p, T* u, int64_t count, T* scratch) {
  T* p_lanes = scratch;
  T* u_lanes = p_lanes + kLaneRows * s.width;
  T* gram = u_lanes + kLaneRows * s.width;
  for (int64_t r = 0; r < count; r += kLaneRows) {
    const int64_t lanes = count - r < kLaneRows ? count - r : kLaneRows;
    transpose_in(p + r * s.width, lanes, s.width, p_lanes);
    transpose_in(u + r * s.width, lanes, s.width, u_lanes);
    hals_block<T, kWide<T>>(s.width, s.inner, p_lanes, s.gram_v, s.inverse, u_lanes);
    transpose_out(u_lanes, lanes, s.width, u + r * s.width);
  }
  if (!s.gram_u) return;
  memset(gram, 0, sizeof(T) * s.width * s.width);
  for (int64_t r = 0; r < count; r += kBlockRows) {
    add_gram<T, L>(u + r * s.width, count - r < kBlockRows ? count - r : kBlockRows, s.width, gram);
    flush_gram(gram, s.width, s.gram_u);
  }
}

template <class T, int L, int K, bool Prefetch> void sweep_rows_tiled(const SweepRows<T>& s) {
  constexpr int64_t Tile = K * L;
  const SweepFactors<T>& f = s.factors;
  T* p = s.scratch;
  for (int64_t i = s.first, count; i < s.last; i += count) {
    const int64_t* indptr = s.indptr + (i - s.first);
    count = rows_in_block(indptr, s.last - i);
    T* u = f.U + i * f.width;
    for (int64_t at = 0; at < f.width; at += Tile)
      for (int64_t r = 0; r < count; ++r)
        gather<T, L, K, Prefetch>(s.indices + indptr[r], s.data + indptr[r], indptr[r + 1] - indptr[r],
                                  f.V + at * f.n_columns, p + r * f.width + at);
    update_rows<T, L>(f, p, u, count, p + kBlockRows * f.width);
    if (!f.C) continue;
    for (int64_t at = 0; at < f.width; at += Tile)
      for (int64_t r = 0; r < count; ++r)
        scatter<T, L, K, Prefetch>(s.indices + indptr[r], s.data + indptr[r], indptr[r + 1] - indptr[r],
                                   u + r * f.width + at, f.C + at * f.n_columns);
  }
}

template <class T, int L, int K> void sweep_rows(const SweepRows<T>& s) {
  if (s.factors.n_columns * s.factors.width * int64_t(sizeof(T)) > kCachedFactorBytes)
    sweep_rows_tiled<T, L, K, true>(s);
  else
    sweep_rows_tiled<T, L, K, false>(s);
}

template <class T, int L> void hals_rows(const HalsRows<T>& s) {
  T* c_lanes = s.scratch;
  T* v_lanes = c_lanes + kLaneRows * s.width;
  T* gram = v_lanes + kLaneRows * s.width;
  memset(gram, 0, sizeof(T) * s.width * s.width);
  double inner_product = 0;
  for (int64_t i = s.first; i < s.last; i += kLaneRows) {
    const int64_t count = s.last - i < kLaneRows ? s.last - i : kLaneRows;
    T* v = s.V + i * s.width;
    transpose_in(s.C + i * s.width, count, s.width, c_lanes);
    transpose_in(v, count, s.width, v_lanes);
    hals_block<T, kWide<T>>(s.width, s.inner, c_lanes, s.gram_u, s.inverse, v_lanes);
    transpose_out(v_lanes, count, s.width, v);
    for (int64_t j = 0; j < count * s.width; ++j) inner_product += double(s.C[i * s.width + j]) * v[j];
    add_gram<T, L>(v, count, s.width, gram);
    if ((i - s.first) % kGramRows == kGramRows - kLaneRows) flush_gram(gram, s.width, s.gram_v);
  }
  flush_gram(gram, s.width, s.gram_v);
  *s.inner_product += inner_product;
}

template <class T, int L> void extrapolate_rows(const ExtrapolateRows<T>& s) {
  memset(s.scratch, 0, sizeof(T) * s.width * s.width);
  for (int64_t i = s.first; i < s.last; i += kGramRows) {
    const int64_t count = s.last - i < kGramRows ? s.last - i : kGramRows;
    const T* v = s.V + i * s.width;
    T* w = s.W + i * s.width;
    for (int64_t j = 0; j < count * s.width; ++j) {
      const T next = v[j] + s.step * (v[j] - w[j]);
      w[j] = next < 0 ? T(0) : next;
    }
    add_gram<T, L>(w, count, s.width, s.scratch);
    flush_gram(s.scratch, s.width, s.gram_w);
  }
}

// Prefetches V[column] for L entries.
template <class T, int L> inline void prefetch(const int32_t* indices, const T* V, int64_t width) {
  for (int i = 0; i < L; ++i)
    for (int64_t k = 0; k < width; k += kTile<T>) __builtin_prefetch(V + indices[i] * width + k);
}

// data - u . V[column] for L entries of one row
template <class T, int L>
inline typename Lanes<T, L>::type subtract_product(const int32_t* indices, typename Lanes<T, L>::type data, const T* u,
                                                   const T* V, int64_t width) {
  using Vec = typename Lanes<T, L>::type;
  Vec products[L];
  for (int i = 0; i < L; ++i) {
    const T* v = V + indices[i] * width;
    Vec sum = load<Vec>(u) * load<Vec>(v);
    for (int64_t k = L; k < width; k += L) sum += load<Vec>(u + k) * load<Vec>(v + k);
    products[i] = sum;
  }
  return data - SumLanes<T, L, L / 2>::of(products);
}

template <class T, int L> inline double sum_of_squares(const T* data, int64_t count) {
  using Vec = typename Lanes<T, L>::type;
  double total = 0;
  int64_t q = 0;
  while (q + L <= count) {
    Vec sum{};
    for (int n = 0; n < kSquares && q + L <= count; ++n, q += L) sum += load<Vec>(data + q) * load<Vec>(data + q);
    for (int i = 0; i < L; ++i) total += sum[i];
  }
  for (; q < count; ++q) total += double(data[q]) * data[q];
  return total;
}

// Moves an entry if its new value is positive or NaN (which must show in the norm); returns the next free position.
template <class Index, class T> inline int64_t keep_entry(Index* indices, T* data, int64_t from, T value, int64_t to) {
  indices[to] = indices[from];
  data[to] = value;
  return to + !(value <= 0);
}

template <class T, int L> void deflate_rows(const DeflateRows<T>& s) {
  using Vec = typename Lanes<T, L>::type;
  const int64_t shard_end = s.indptr[s.last - s.first];
  int64_t out = s.indptr[0], q = out;
  for (int64_t i = s.first; i < s.last; ++i) {
    const int64_t end = s.indptr[i - s.first + 1], row_begin = out;
    const T* u = s.U + i * s.width;
    for (; q + L <= end; q += L) {
      if (q + kPrefetchDistance + L <= shard_end) prefetch<T, L>(s.indices + q + kPrefetchDistance, s.V, s.width);
      T left[L];
      store(left, subtract_product<T, L>(s.indices + q, load<Vec>(s.data + q), u, s.V, s.width));
      for (int j = 0; j < L; ++j) out = keep_entry(s.indices, s.data, q + j, left[j], out);
    }
    for (; q < end; ++q) {
      const T* v = s.V + s.indices[q] * s.width;
      T left = s.data[q];
      for (int64_t k = 0; k < s.width; ++k) left -= u[k] * v[k];
      out = keep_entry(s.indices, s.data, q, left, out);
    }
    s.indptr[i - s.first + 1] = out;
    *s.norm2 += sum_of_squares<T, L>(s.data + row_begin, out - row_begin);
  }
}

template <class T> void sweep(const SweepRows<T>& s) {
  if (s.factors.width % kTile<T> == 0)
    sweep_rows<T, kWide<T>, kTile<T> / kWide<T>>(s);
  else
    sweep_rows<T, kNarrow<T>, kPad / kNarrow<T>>(s);
}

template <class T> void hals(const HalsRows<T>& s) {
  if (s.width % kWide<T> == 0)
    hals_rows<T, kWide<T>>(s);
  else
    hals_rows<T, kNarrow<T>>(s);
}

template <class T> void extrapolate(const ExtrapolateRows<T>& s) {
  if (s.width % kWide<T> == 0)
    extrapolate_rows<T, kWide<T>>(s);
  else
    extrapolate_rows<T, kNarrow<T>>(s);
}

template <class T> void deflate(const DeflateRows<T>& s) {
  if (s.width % kWide<T> == 0)
    deflate_rows<T, kWide<T>>(s);
  else
    deflate_rows<T, kNarrow<T>>(s);
}

template <class T> RowKernels<T> table() { return {sweep<T>, hals<T>, extrapolate<T>, deflate<T>}; }

}  // namespace

template <> RowKernels<float> row_kernels<float>() { return table<float>(); }
template <> RowKernels<double> row_kernels<double>() { return table<double>(); }

}  // namespace BOOSTNE_ISA
}  // namespace boostne

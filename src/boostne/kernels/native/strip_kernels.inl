// Body of the loops over strips, compiled once per instruction set right after row_kernels.inl, whose loops it uses.

#include "strip_kernels.h"

namespace boostne {
namespace BOOSTNE_ISA {
namespace {

constexpr int64_t kStripAhead = 16;  // entries that are asked for before they are needed

// p[row] += data * V[column] over the entries of a strip in a block, for a tile of K registers.
template <class T, int L, int K>
inline void gather_strip(const uint32_t* places, const T* data, int64_t count, int bits, const T* V, T* p,
                         int64_t width) {
  using Vec = typename Lanes<T, L>::type;
  const uint32_t mask = (uint32_t(1) << bits) - 1;
  for (int64_t q = 0; q < count; ++q) {
    if (q + kStripAhead < count) __builtin_prefetch(V + int64_t(places[q + kStripAhead] & mask) * (K * L));
    const T* v = V + int64_t(places[q] & mask) * (K * L);
    T* row = p + int64_t(places[q] >> bits) * width;
    for (int k = 0; k < K; ++k) store(row + k * L, load<Vec>(row + k * L) + data[q] * load<Vec>(v + k * L));
  }
}

// C[column] += data * u[row], likewise.
template <class T, int L, int K>
inline void scatter_strip(const uint32_t* places, const T* data, int64_t count, int bits, const T* u, int64_t width,
                          T* C) {
  using Vec = typename Lanes<T, L>::type;
  const uint32_t mask = (uint32_t(1) << bits) - 1;
  for (int64_t q = 0; q < count; ++q) {
    if (q + kStripAhead < count) __builtin_prefetch(C + int64_t(places[q + kStripAhead] & mask) * (K * L), 1);
    T* c = C + int64_t(places[q] & mask) * (K * L);
    const T* row = u + int64_t(places[q] >> bits) * width;
    for (int k = 0; k < K; ++k) store(c + k * L, load<Vec>(c + k * L) + data[q] * load<Vec>(row + k * L));
  }
}

template <class T, int L, int K>
void sweep_strips_at(const SweepStrips<T>& s) {
  constexpr int64_t Tile = K * L;
  const SweepFactors<T>& f = s.factors;
  const int bits = s.where.bits;
  for (int64_t b = 0; b < s.where.blocks; ++b) {
    const int64_t* starts = s.starts + b * (s.where.strips + 1);
    const int64_t first = s.where.rows[b], count = s.where.rows[b + 1] - first;
    T *p = s.scratch, *u = f.U + first * f.width;
    memset(p, 0, sizeof(T) * count * f.width);
    for (int64_t at = 0; at < f.width; at += Tile)
      for (int64_t t = 0; t < s.where.strips; ++t)
        gather_strip<T, L, K>(s.places + starts[t], s.data + starts[t], starts[t + 1] - starts[t], bits,
                              f.V + at * f.n_columns + (t << bits) * Tile, p + at, f.width);
    update_rows<T, L>(f, p, u, count, p + count * f.width);
    for (int64_t at = 0; at < f.width; at += Tile)
      for (int64_t t = 0; t < s.where.strips; ++t)
        scatter_strip<T, L, K>(s.places + starts[t], s.data + starts[t], starts[t + 1] - starts[t], bits, u + at,
                               f.width, f.C + at * f.n_columns + (t << bits) * Tile);
  }
}

// u[row] . V[column] for L entries.
template <class T, int L>
inline typename Lanes<T, L>::type products_of(const uint32_t* places, int bits, const T* u, const T* V,
                                              int64_t width) {
  using Vec = typename Lanes<T, L>::type;
  const uint32_t mask = (uint32_t(1) << bits) - 1;
  Vec products[L];
  for (int i = 0; i < L; ++i) {
    const T *v = V + int64_t(places[i] & mask) * width, *row = u + int64_t(places[i] >> bits) * width;
    Vec sum = load<Vec>(row) * load<Vec>(v);
    for (int64_t k = L; k < width; k += L) sum += load<Vec>(row + k) * load<Vec>(v + k);
    products[i] = sum;
  }
  return SumLanes<T, L, L / 2>::of(products);
}

// Keeps what is positive, and a NaN, so that it is seen in the norm.
template <class T>
inline int64_t keep_place(const DeflateStrips<T>& s, int64_t from, T left, int64_t to) {
  s.places[to] = s.places[from];
  s.data[to] = left;
  return to + !(left <= 0);
}

template <class T, int L>
void deflate_strips_at(const DeflateStrips<T>& s) {
  using Vec = typename Lanes<T, L>::type;
  const int bits = s.where.bits;
  const uint32_t mask = (uint32_t(1) << bits) - 1;
  int64_t out = s.starts[0];
  for (int64_t b = 0; b < s.where.blocks; ++b) {
    int64_t* starts = s.starts + b * (s.where.strips + 1);
    const T* u = s.U + s.where.rows[b] * s.width;
    int64_t q = starts[0];
    starts[0] = out;
    for (int64_t t = 0; t < s.where.strips; ++t) {
      const int64_t end = starts[t + 1], begin = out;
      const T* V = s.V + (t << bits) * s.width;
      for (; q + L <= end; q += L) {
        T left[L];
        store(left, load<Vec>(s.data + q) - products_of<T, L>(s.places + q, bits, u, V, s.width));
        for (int j = 0; j < L; ++j) out = keep_place(s, q + j, left[j], out);
      }
      for (; q < end; ++q) {
        const T *v = V + int64_t(s.places[q] & mask) * s.width, *row = u + int64_t(s.places[q] >> bits) * s.width;
        T left = s.data[q];
        for (int64_t k = 0; k < s.width; ++k) left -= row[k] * v[k];
        out = keep_place(s, q, left, out);
      }
      starts[t + 1] = out;
      *s.norm2 += sum_of_squares<T, L>(s.data + begin, out - begin);
    }
  }
}

template <class T>
void sweep_strips(const SweepStrips<T>& s) {
  if (s.factors.width % kTile<T> == 0)
    sweep_strips_at<T, kWide<T>, kTile<T> / kWide<T>>(s);
  else
    sweep_strips_at<T, kNarrow<T>, kPad / kNarrow<T>>(s);
}

template <class T>
void deflate_strips(const DeflateStrips<T>& s) {
  if (s.width % kWide<T> == 0)
    deflate_strips_at<T, kWide<T>>(s);
  else
    deflate_strips_at<T, kNarrow<T>>(s);
}

}  // namespace

template <>
StripKernels<float> strip_kernels<float>() { return {sweep_strips<float>, deflate_strips<float>}; }
template <>
StripKernels<double> strip_kernels<double>() { return {sweep_strips<double>, deflate_strips<double>}; }

}  // namespace BOOSTNE_ISA
}  // namespace boostne
